#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dequantise.bin beside itself: for every tensor type that kvboost reads, blocks of random bytes and
the numbers that the PyPI package "gguf" makes of them (gguf.quants, independent of kvboost).

A record is: u32 type, u32 bytes, u32 values, the bytes, the values as float32; all little-endian.
Random bytes cover odd scales too: negative, subnormal, infinite and NaN halves.

Run: pip install gguf numpy; python3 make_dequantise.py"""
import pathlib
import struct

import gguf
import numpy as np

TYPES = "F32 F16 BF16 Q4_0 Q4_1 Q5_0 Q5_1 Q8_0 Q2_K Q3_K Q4_K Q5_K Q6_K".split()
VALUES = 768  # 3 blocks of 256, 24 blocks of 32

rng = np.random.default_rng(20240607)
records = bytearray()
with np.errstate(all="ignore"):
    for name in TYPES:
        kind = gguf.GGMLQuantizationType[name]
        elements, size = gguf.GGML_QUANT_SIZES[kind]
        blocks = rng.integers(0, 256, VALUES // elements * size, dtype=np.uint8)
        values = gguf.quants.dequantize(blocks.reshape(1, -1), kind).astype(np.float32).reshape(-1)
        records += struct.pack("<III", int(kind), blocks.size, values.size) + blocks.tobytes() + values.tobytes()
pathlib.Path(__file__).with_name("dequantise.bin").write_bytes(records)
