# SPDX-License-Identifier: Apache-2.0
"""`kvboost warm` and `kvboost cache` from end to end: what is computed, what is kept, and what survives an edit, a
switch of branches, a restart and a kill. Counters only. The real model where an answer counts, or a warm must last."""

import json
import os
import signal
import subprocess

import pytest

from machine import CANCELLED, DONE, FAILED, MODEL, USAGE


def python_file(functions, name="f"):
    """Functions of about 40 tokens each, so that a few make a chunk."""
    return "".join(f"def {name}_{i}(first, second):\n    '''Adds {i} to the product of both.'''\n"
                   f"    product = first * second\n    return product + {i}\n\n\n" for i in range(functions))


FILES = {
    "prices.py": python_file(12, "price"),
    "shop/basket.py": python_file(20, "basket"),
    "shop/orders.c": "".join(f"/* Order {i}. */\nint order_{i}(int a, int b) {{\n  int sum = a + b;\n  return sum * {i};\n}}\n\n"
                             for i in range(15)),
    "README.md": "# A shop\n\nAdds up prices, keeps baskets and orders.\n",
    ".env": "PASSWORD=hunter2\n",
}


def warm(machine, root, *arguments):
    finished = machine.kvboost("warm", "--json", *arguments, cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def cache(machine, root, *arguments):
    finished = machine.kvboost("cache", *arguments, "--json", cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def tier(machine, name):
    return next(one for one in machine.status()["tiers"] if one["name"] == name)


def ask(machine, root, *arguments):
    finished = machine.kvboost("ask", "--json", "--max-tokens", "8", *arguments, cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def git(machine, root, *arguments):
    subprocess.run(["git", *arguments], cwd=root, env=machine.env, check=True, capture_output=True)


def test_warm_computes_once_and_status_tells_of_it(real):
    root = real.repository(FILES)
    first = warm(real, root)
    assert first["root"] == str(root) and first["files"] == 4
    assert first["computed_chunks"] == first["chunks"] > 4
    assert 0 < first["computed_tokens"] <= first["tokens"]
    assert first["stored_bytes"] > 0 and first["later_chunks"] == 0
    assert first["skipped"] == [{"path": ".env", "reason": "secret"}]
    again = warm(real, root)
    assert again["computed_chunks"] == again["computed_tokens"] == again["stored_bytes"] == 0
    assert (again["chunks"], again["tokens"]) == (first["chunks"], first["tokens"])
    stats = cache(real, root, "stats")
    assert [(one["root"], one["files"], one["chunks"]) for one in stats["roots"]] == [(str(root), 4, first["chunks"])]
    assert [model["current"] for model in stats["models"]] == [True]
    assert stats["unreferenced_bytes"] == 0 and stats["queue_bytes"] == 0
    disk = tier(real, "disk")
    assert disk["records"] == stats["models"][0]["records"] >= first["chunks"]
    assert disk["corrupt"] == disk["failures"] == 0 and disk["problem"] == ""
    status = real.status()
    assert status["warming"]["root"] == "" and status["cached_kv_bytes"] > 0
    shown = real.kvboost("warm", cwd=root)
    assert shown.code == DONE and "all there already" in shown.out and ".env (secret)" in shown.err, shown


def test_an_edit_costs_the_chunks_that_it_touches(real):
    root = real.repository(FILES)
    warm(real, root)
    text = FILES["shop/basket.py"]
    (root / "shop/basket.py").write_text(text.replace("product + 10\n", "product + 10 * first\n"))
    assert warm(real, root, "--dry-run")["computed_chunks"] in (1, 2)
    edited = warm(real, root)
    assert edited["computed_chunks"] in (1, 2)
    # What stands behind the edit is found by its content, and renewed when there is nothing else to do.
    real.wait_for("renewed blocks", lambda: all(
        chunk["left"] == "exact" for chunk in cache(real, root, "inspect", "shop/basket.py")["chunks"]))
    assert warm(real, root)["computed_chunks"] == 0


def test_a_branch_and_back_is_warm(tiny):
    root = tiny.repository(FILES)
    warm(tiny, root)
    git(tiny, root, "checkout", "-q", "-b", "other")
    (root / "prices.py").write_text(python_file(12, "cost"))
    git(tiny, root, "commit", "-q", "-am", "Rename")
    assert warm(tiny, root)["computed_chunks"] > 0
    git(tiny, root, "checkout", "-q", "main")
    assert warm(tiny, root)["computed_chunks"] == 0
    git(tiny, root, "checkout", "-q", "other")
    assert warm(tiny, root)["computed_chunks"] == 0


def test_changed_and_since_narrow_it_down(tiny):
    root = tiny.repository(FILES)
    assert warm(tiny, root, "--changed")["files"] == 0
    (root / "prices.py").write_text(python_file(2, "edited"))
    (root / "shop/new.py").write_text(python_file(1, "new"))
    changed = warm(tiny, root, "--changed")
    assert changed["files"] == 2 and changed["computed_chunks"] > 0
    assert warm(tiny, root, "--changed", "shop")["files"] == 1
    git(tiny, root, "add", "-A")
    git(tiny, root, "commit", "-q", "-m", "Two")
    assert warm(tiny, root, "--changed")["files"] == 0
    assert warm(tiny, root, "--since", "HEAD~1")["files"] == 2
    bad = tiny.kvboost("warm", "--since", "nonsense", cwd=root)
    assert bad.code == FAILED and "nonsense" in bad.err, bad
    plain = tiny.make_folder("plain")
    (plain / "a.py").write_text("a = 1\n")
    none = tiny.kvboost("warm", "--changed", cwd=plain)
    assert none.code == FAILED and "no git repository" in none.err, none


def test_a_dry_run_computes_nothing(tiny):
    root = tiny.repository(FILES)
    dry = warm(tiny, root, "--dry-run")
    assert dry["dry_run"] and dry["computed_chunks"] == dry["chunks"] > 0 and dry["stored_bytes"] == 0
    assert [one["records"] for one in tiny.status()["tiers"]] == [0, 0]
    assert warm(tiny, root)["computed_chunks"] == dry["computed_chunks"]


def test_what_is_warm_outlives_the_daemon(tiny):
    root = tiny.repository(FILES)
    chunks = warm(tiny, root)["chunks"]
    assert tiny.kvboost("daemon", "restart").code == DONE
    again = warm(tiny, root)
    assert again["computed_chunks"] == 0 and again["chunks"] == chunks
    assert cache(tiny, root, "verify") == {"checked": tier(tiny, "disk")["records"], "corrupt": 0, "problem": ""}


def test_ask_loads_what_was_warmed(real):
    root = real.repository(FILES)
    cold = ask(real, root, "What does price_3 return?", "prices.py")
    real.kvboost("daemon", "stop")
    warm(real, root)
    real.kvboost("daemon", "restart")
    before = real.status()["reuse"]
    warmed = ask(real, root, "What does price_3 return?", "prices.py")
    after = real.status()["reuse"]
    assert after["exact"] > before["exact"] and after["missed"] == before["missed"] == 0
    assert warmed["reused_tokens"] > warmed["prompt_tokens"] // 2
    assert warmed["text"] == cold["text"]


def test_a_kill_in_the_middle_costs_no_more_than_what_was_running(real):
    root = real.repository({f"part_{i}.py": python_file(18, f"part_{i}") for i in range(8)})
    process = real.start("warm", cwd=root)
    real.wait_for("stored blocks", lambda: real.socket.exists() and tier(real, "disk")["records"] >= 8)
    os.kill(real.only_daemon(), signal.SIGKILL)
    process.communicate(timeout=120)
    assert process.returncode not in (DONE, None)
    stored = cache(real, root, "verify")
    assert stored["checked"] >= 1 and stored["corrupt"] == 0
    rest = warm(real, root)
    assert 0 < rest["computed_chunks"] < rest["chunks"]
    assert warm(real, root)["computed_chunks"] == 0
    temporary = [path for path in real.home.rglob("*") if path.suffix in (".tmp", ".new", ".part")]
    assert temporary == []


def test_ctrl_c_keeps_what_is_done(real):
    root = real.repository({f"part_{i}.py": python_file(18, f"part_{i}") for i in range(8)})
    process = real.start("warm", cwd=root)
    real.wait_for("stored blocks", lambda: real.socket.exists() and tier(real, "disk")["records"] >= 8)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=120)
    assert process.returncode == CANCELLED and "kept" in err, err
    real.wait_for("the end of the warm", lambda: real.status()["warming"]["root"] == "")
    rest = warm(real, root)
    assert 0 < rest["computed_chunks"] < rest["chunks"]


def test_background_goes_on_without_its_client(tiny):
    root = tiny.repository(FILES)
    started = warm(tiny, root, "--background")
    assert started["background"] and started["files"] == 4
    tiny.wait_for("the end of the warm", lambda: len(cache(tiny, root, "stats")["roots"]) == 1
                  and tiny.status()["warming"]["root"] == "")
    assert warm(tiny, root)["computed_chunks"] == 0


def test_inspect_shows_each_chunk(tiny):
    root = tiny.repository(FILES)
    chunks = warm(tiny, root, "prices.py")["chunks"]
    file = cache(tiny, root / "shop", "inspect", "../prices.py")
    assert file["path"] == "prices.py" and file["current"] and len(file["chunks"]) == chunks
    lines = [(chunk["first_line"], chunk["last_line"]) for chunk in file["chunks"]]
    assert lines[0][0] == 1 and all(before[1] <= after[0] for before, after in zip(lines, lines[1:]))
    for chunk in file["chunks"]:
        assert chunk["where"] in ("memory", "disk") and chunk["left"] == "exact" and chunk["codec"] == "bf16", chunk
        assert chunk["bytes"] > 0 and chunk["tokens"] > 0 and len(chunk["content"]) == len(chunk["prefix"]) == 64
    (root / "prices.py").write_text("changed = 1\n")
    assert not cache(tiny, root, "inspect", "prices.py")["current"]
    for path, word in (("README.md", "warm"), ("missing.py", "no such file"), ("../outside", "outside")):
        finished = tiny.kvboost("cache", "inspect", path, cwd=root)
        assert finished.code == FAILED and word in finished.err, finished


def test_evict_takes_what_fits_and_leaves_pins(tiny):
    root = tiny.repository(FILES)
    warm(tiny, root)
    records = tier(tiny, "disk")["records"]
    assert cache(tiny, root, "evict", "--older-than", "1d")["records"] == 0
    assert cache(tiny, root, "evict", "--stale")["records"] == 0
    dry = cache(tiny, root, "evict", "shop", "--dry-run")
    assert 0 < dry["records"] < records and dry["dry_run"]
    assert cache(tiny, root, "pin", "shop/orders.c")["pins"] == ["shop/orders.c"]
    assert cache(tiny, root, "evict", "shop")["records"] < dry["records"]
    where = lambda path: {chunk["where"] for chunk in cache(tiny, root, "inspect", path)["chunks"]}
    assert where("shop/basket.py") == {"absent"} and "absent" not in where("shop/orders.c")
    assert "absent" not in where("prices.py")
    assert cache(tiny, root / "shop", "unpin", "orders.c")["pins"] == []
    assert cache(tiny, root, "evict", "shop")["records"] > 0
    assert where("shop/orders.c") == {"absent"}
    fingerprint = cache(tiny, root, "stats")["models"][0]["fingerprint"]
    assert cache(tiny, root, "evict", "--namespace", fingerprint[:8].upper(), "--dry-run")["records"] > 0
    assert tiny.kvboost("cache", "evict", "--namespace", "0123456789abcdef0", cwd=root).code == FAILED
    assert tiny.kvboost("cache", "evict", cwd=root).code == USAGE
    assert warm(tiny, root)["computed_chunks"] > 0


def test_stale_is_what_no_work_tree_has(tiny):
    root = tiny.repository(FILES)
    warm(tiny, root)
    (root / "prices.py").unlink()
    warm(tiny, root)
    unreferenced = cache(tiny, root, "stats")["unreferenced_bytes"]
    assert unreferenced > 0
    assert cache(tiny, root, "evict", "--stale")["bytes"] == unreferenced
    assert cache(tiny, root, "stats")["unreferenced_bytes"] == 0
    other = tiny.repository({"only_here.py": python_file(6, "other")}, "other")
    warm(tiny, other)
    subprocess.run(["rm", "-r", other], check=True)
    dry = cache(tiny, root, "evict", "--stale", "--dry-run")
    assert dry["records"] > 0
    assert cache(tiny, root, "evict", "--stale")["records"] == dry["records"]
    assert [one["root"] for one in cache(tiny, root, "stats")["roots"]] == [str(root)]
    assert warm(tiny, root)["computed_chunks"] == 0


def test_clear_removes_everything(tiny):
    root = tiny.repository(FILES)
    warm(tiny, root)
    records = tier(tiny, "disk")["records"]
    assert cache(tiny, root, "pin", ".")["pins"] == [""]
    assert tiny.kvboost("cache", "clear", cwd=root).code == USAGE
    assert cache(tiny, root, "clear", "--dry-run")["records"] == records
    assert cache(tiny, root, "clear", "--yes")["records"] == records
    assert [one["records"] for one in tiny.status()["tiers"]] == [0, 0]
    assert warm(tiny, root)["computed_chunks"] > 0
    assert cache(tiny, root, "stats")["roots"][0]["pinned"] == [""]


def test_a_daemon_that_leaves_does_not_wait_for_a_warm(real):
    root = real.repository({f"part_{i}.py": python_file(18, f"part_{i}") for i in range(8)})
    process = real.start("warm", cwd=root)
    real.wait_for("stored blocks", lambda: real.socket.exists() and tier(real, "disk")["records"] >= 4)
    assert real.kvboost("daemon", "stop").code == DONE
    _, err = process.communicate(timeout=120)
    assert process.returncode == FAILED and "leaving" in err and "kept" in err, err
    rest = warm(real, root)
    assert 0 < rest["computed_chunks"] < rest["chunks"]


def test_clients_that_are_killed_leave_no_reader_behind(tiny):
    """KVBOOST_TEST_KILLS is how many."""
    root = tiny.repository(FILES)
    warm(tiny, root)
    used = tier(tiny, "disk")["used"]
    for _ in range(int(os.environ.get("KVBOOST_TEST_KILLS", "20"))):
        process = tiny.start("cache", "inspect", "shop/basket.py", cwd=root)
        process.kill()
        process.communicate()
    for _ in range(3):
        cache(tiny, root, "evict", "shop")
        warm(tiny, root)
    assert tier(tiny, "disk")["used"] <= used * 1.25


def test_without_a_model_it_says_so(machine):
    finished = machine.kvboost("warm", cwd=machine.repository(FILES))
    assert finished.code == MODEL and "model" in finished.err and finished.out == "", finished


def test_a_secret_is_never_warmed(tiny):
    root = tiny.repository(FILES)
    warm(tiny, root)
    assert tiny.kvboost("cache", "inspect", ".env", cwd=root).code == FAILED
    named = tiny.kvboost("warm", ".env", cwd=root)
    assert named.code == FAILED and "secret" in named.err, named
    stored = list(tiny.home.rglob("*.mdb"))
    assert stored and all(b"hunter2" not in path.read_bytes() for path in stored)
    shown = tiny.kvboost("status", "--skipped", "--json", cwd=root).json()
    assert shown["root"] == str(root) and {"path": ".env", "reason": "secret"} in shown["skipped"]


@pytest.mark.parametrize("words", [["warm", "missing.py"], ["warm", "/"], ["cache", "pin", "missing.py"],
                                   ["cache", "unpin", "README.md"]])
def test_what_is_not_there_is_named(tiny, words):
    root = tiny.repository({"README.md": "# Nothing\n"})
    finished = tiny.kvboost(*words, cwd=root)
    assert finished.code == FAILED and words[-1] in finished.err and finished.out == "", finished


def test_a_cache_that_cannot_be_on_disk_is_in_memory(tiny):
    (tiny.home / ".cache").mkdir()
    (tiny.home / ".cache/kvboost").write_text("no folder")
    root = tiny.repository(FILES)
    assert warm(tiny, root)["computed_chunks"] > 0 and warm(tiny, root)["computed_chunks"] == 0
    assert tier(tiny, "disk")["problem"] and tier(tiny, "memory")["records"] > 0
    checks = {check["name"]: check for check in tiny.kvboost("doctor", "--json").json()["checks"]}
    assert checks["cache"]["verdict"] == "warning" and checks["cache"]["remedy"], checks["cache"]


def test_names_of_any_bytes(tiny):
    odd = os.fsdecode(b"caf\xe9 \n'\".py")
    root = tiny.repository({"a.py": python_file(3)})
    (root / odd).write_text(python_file(3, "odd"))
    assert warm(tiny, root)["files"] == 2
    finished = tiny.kvboost("cache", "inspect", "--json", odd, cwd=root)
    assert finished.code == DONE, finished
    assert set(json.loads(finished.out)["path"]) == {"base64"}


def test_blocks_stand_behind_neighbours_where_moved_blocks_may_be_used(tiny):
    root = tiny.repository({f"src/part{i:02}.py": python_file(8, f"part{i}") for i in range(18)})
    tiny.env["KVBOOST_REUSE"] = "exact"
    warm(tiny, root)
    named = ["What?", "src/part01.py", "src/part10.py"]
    assert ask(tiny, root, *named)["policy"] == "exact"
    assert tiny.kvboost("daemon", "stop", cwd=root).code == DONE
    tiny.env["KVBOOST_REUSE"] = "none"
    assert warm(tiny, root)["computed_chunks"] == 0  # all have a block already: these are renewed when nobody waits
    tiny.wait_for("the renewal", lambda: warm(tiny, root, "--dry-run")["later_chunks"] == 0)
    asked = ask(tiny, root, *named)
    assert asked["policy"] == "none" and asked["reuse"]["missed"] == 0, asked["reuse"]
    assert warm(tiny, root)["computed_chunks"] == 0
