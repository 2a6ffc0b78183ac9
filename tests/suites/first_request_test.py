# SPDX-License-Identifier: Apache-2.0
"""The first request after a start: `status` tells that the model is loading, and "ready" means warmed up."""

from machine import DONE
from wire import Wire


def test_a_load_is_called_loading_until_the_model_is_ready(real):
    real.kvboost("daemon", "start")
    real.wait_for("a ready model", lambda: real.status()["state"] == "ready")
    with Wire(real.socket) as wire:
        wire.initialize(real.status()["build"])
        for _ in range(50):  # a load may be over before we look, but not each time
            assert "result" in wire.call("model/use", {"model": str(real.env["KVBOOST_MODEL"])})
            states = []
            while not states or states[-1] != "ready":
                states.append(wire.call("status")["result"]["state"])
            assert set(states) <= {"loading", "ready"}, states
            if "loading" in states:
                return
    raise AssertionError("the model was loaded fifty times, and status never said so")


def test_ready_means_that_the_weights_are_in_memory_and_were_used(real):
    real.kvboost("daemon", "start")
    ready = real.wait_for("a ready model", lambda: (s := real.status())["state"] == "ready" and s)
    before = real.resident_bytes()
    assert ready["requests"] == 0 and before > ready["weight_bytes"] > 0 and ready["resident_bytes"] > 0
    # The kernels have run: what they allocate is there, so that the first answer brings nothing but its own KV.
    root = real.repository({"a.py": "def add(a, b):\n    return a + b\n"})
    assert real.kvboost("ask", "--max-tokens", "4", "What does add return?", "a.py", cwd=root).code == DONE
    after = real.status()
    grown = real.resident_bytes() - before - after["live_kv_bytes"] - after["cached_kv_bytes"]
    assert grown < ready["weight_bytes"] / 4, f"the first request brought {grown} bytes into memory"


def test_who_asks_while_it_loads_is_told_and_answered(real):
    root = real.repository({"a.py": "def add(a, b):\n    return a + b\n"})
    real.kvboost("daemon", "start")
    with Wire(real.socket) as wire:
        request = wire.send("ask", {"directory": str(root), "question": "What does add return?", "max_tokens": 4})
        stages = []
        while "id" not in (message := wire.receive()):
            if message["method"] == "ask/progress":
                stages.append(message["params"]["stage"])
    assert message["id"] == request and message["result"]["answer_tokens"] > 0
    assert {"choosing", "prefill"} <= set(stages) and stages == sorted(stages, key=["reading", "loading", "choosing", "queued", "prefill"].index)
