# SPDX-License-Identifier: Apache-2.0
"""Copies a GGUF file with every tensor as F32: the same numbers, without their packing.

llama.cpp rounds what it multiplies with quantised weights to 8 bits, which moves its logits more than all that kvboost
does differently. Reading the copy it rounds nothing. Needs the PyPI package gguf.
"""

import argparse

import gguf
import numpy as np


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source")
    parser.add_argument("copy")
    options = parser.parse_args()
    reader = gguf.GGUFReader(options.source)
    writer = gguf.GGUFWriter(options.copy, reader.get_field("general.architecture").contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        kind = field.types[0]
        elements = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
        value = 0 if field.name == "general.file_type" else field.contents()
        writer.add_key_value(field.name, value, kind, sub_type=elements)
    for tensor in reader.tensors:
        values = gguf.dequantize(tensor.data, tensor.tensor_type)
        writer.add_tensor(tensor.name, values.astype(np.float32).reshape(tensor.shape[::-1]))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main()
