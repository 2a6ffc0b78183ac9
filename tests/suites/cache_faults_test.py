# SPDX-License-Identifier: Apache-2.0
"""What may happen to the cache on disk, with real programs: damage, loss, kills, full disks, lowered limits, strange
files. No request fails, nothing wrong is served, nothing is left behind. Counters and sizes only."""

import os
import pathlib
import random
import resource
import shutil
import signal
import subprocess
import threading
import time

import pytest

from machine import DONE

PAGE = 4096


def python_file(functions, name):
    return "".join(f"def {name}_{i}(first, second):\n    '''Adds {i} to the product of both.'''\n"
                   f"    product = first * second\n    return product + {i}\n\n\n" for i in range(functions))


def python_files(files, functions=12, folder="part"):
    return {f"{folder}/{folder}_{i}.py": python_file(functions, f"{folder}_{i}") for i in range(files)}


def folder_of(machine):
    return machine.home / ".cache/kvboost"


def data_file(machine):
    return folder_of(machine) / "kv-v1/data.mdb"


def warm(machine, root, *arguments):
    finished = machine.kvboost("warm", "--json", *arguments, cwd=root)
    assert finished.code == DONE, (finished, machine.log_text())
    return finished.json()


def cache(machine, root, *arguments):
    finished = machine.kvboost("cache", *arguments, "--json", cwd=root)
    assert finished.code == DONE, (finished, machine.log_text())
    return finished.json()


def tier(machine, name):
    return next(one for one in machine.status()["tiers"] if one["name"] == name)


def disk_use(folder):
    """As du counts it; files may come and go meanwhile."""
    total = 0
    for where, _, files in os.walk(folder):
        for file in files:
            try:
                total += os.lstat(os.path.join(where, file)).st_blocks * 512
            except OSError:
                pass
    return total


def files_below(folder):
    return {str(path) for path in folder.rglob("*")}


def damage(file, chance):
    """Noise at the starts of some pages, in their midst, or a shorter file."""
    size = file.stat().st_size
    kind = chance.randrange(4)
    if kind == 3:
        os.truncate(file, chance.randrange(size))
        return
    with open(file, "r+b") as opened:
        for _ in range(chance.randrange(1, 12)):
            page = chance.randrange(2) if kind == 2 else chance.randrange(size // PAGE)
            opened.seek(page * PAGE + (0 if kind == 0 else chance.randrange(PAGE - 16)))
            opened.write(chance.randbytes(16))


@pytest.mark.parametrize("running", [True, False], ids=["running", "stopped"])
def test_damage_costs_what_was_stored_and_no_request(tiny, running):
    root = tiny.repository(python_files(6))
    chunks = warm(tiny, root)["chunks"]
    for seed in range(5):
        if not running:
            assert tiny.kvboost("daemon", "stop").code == DONE
        before = tiny.daemons() if running else None
        damage(data_file(tiny), random.Random(seed))
        assert tiny.kvboost("ask", "--max-tokens", "1", "What is this?", "part/part_1.py", cwd=root).code == DONE
        assert warm(tiny, root)["chunks"] == chunks
        assert cache(tiny, root, "verify")["checked"] >= chunks
        assert cache(tiny, root, "verify")["corrupt"] == 0, "the second one finds nothing more"
        assert not before or tiny.daemons() == before, f"seed {seed}: it died\n{tiny.log_text()}"


@pytest.mark.parametrize("harm", ["flipped", "emptied", "halved"])
def test_a_damaged_record_is_a_miss_and_no_more(tiny, harm):
    root = tiny.repository({"asked.py": python_file(6, "asked"), "other.py": python_file(6, "other")})
    answers = lambda: [tiny.kvboost("ask", "--json", "--max-tokens", "8", "What is it?", name, cwd=root).json()["text"]
                       for name in ("asked.py", "other.py")]
    cold = answers()
    cache(tiny, root, "clear", "--yes")
    warm(tiny, root)
    record = cache(tiny, root, "inspect", "asked.py")["chunks"][0]
    assert tiny.kvboost("daemon", "stop").code == DONE
    file = bytearray(data_file(tiny).read_bytes())
    key, start = bytes.fromhex(record["prefix"]), file.find(b"KVBR")
    while key not in file[start:start + 200]:  # a record's header
        start = file.index(b"KVBR", start + 1)
    size = record["bytes"]
    if harm == "flipped":
        file[start + size // 2] ^= 1
    else:
        first = 0 if harm == "emptied" else size // 2
        file[start + first:start + size] = bytes(size - first)
    data_file(tiny).write_bytes(file)
    assert answers() == cold
    assert tier(tiny, "disk")["corrupt"] == 1 and tier(tiny, "disk")["problem"] == ""
    assert cache(tiny, root, "verify")["corrupt"] == 0, "it was removed, and has been stored again"
    assert cache(tiny, root, "inspect", "asked.py")["chunks"][0]["where"] != "absent"


def test_other_weights_under_the_same_name_and_time_hit_nothing(tiny):
    model = tiny.folder / "model.gguf"
    shutil.copy(tiny.env["KVBOOST_MODEL"], model)
    tiny.use_model(model)
    root = tiny.repository(python_files(2))
    chunks = warm(tiny, root)["chunks"]
    assert tiny.kvboost("daemon", "stop").code == DONE
    before = model.stat()
    with open(model, "r+b") as opened:
        opened.seek(-8, os.SEEK_END)
        last = opened.read(1)[0]
        opened.seek(-8, os.SEEK_END)
        opened.write(bytes([last ^ 1]))
    os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (model.stat().st_size, model.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    assert warm(tiny, root)["computed_chunks"] == chunks
    assert tier(tiny, "disk")["hits"] == 0
    assert sorted(one["current"] for one in cache(tiny, root, "stats")["models"]) == [False, True]


def test_a_cut_file_is_told_and_filled_again(tiny):
    root = tiny.repository(python_files(4))
    warm(tiny, root)
    os.truncate(data_file(tiny), data_file(tiny).stat().st_size // 2)
    verified = tiny.kvboost("cache", "verify", cwd=root)
    assert verified.code == DONE and "cut short" in verified.err, verified
    assert warm(tiny, root)["computed_chunks"] == 0, "memory has it"
    assert tiny.kvboost("daemon", "restart").code == DONE
    assert warm(tiny, root)["computed_chunks"] == 0, "and the disk again"


def test_a_removed_folder_is_filled_again(tiny):
    root = tiny.repository(python_files(4))
    stored = warm(tiny, root)["stored_bytes"]
    shutil.rmtree(folder_of(tiny) / "kv-v1")
    again = warm(tiny, root)
    assert again["computed_chunks"] == 0 and again["stored_bytes"] >= stored
    assert tiny.kvboost("daemon", "restart").code == DONE
    assert warm(tiny, root)["computed_chunks"] == 0


def test_a_full_disk_is_told_and_made_up_for(tiny):
    root = tiny.repository(python_files(2))
    warm(tiny, root)
    for path, text in python_files(8, folder="more").items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    daemon = tiny.only_daemon()
    before = resource.prlimit(daemon, resource.RLIMIT_FSIZE)
    resource.prlimit(daemon, resource.RLIMIT_FSIZE, (data_file(tiny).stat().st_size + 9 * PAGE, before[1]))
    shown = tiny.kvboost("warm", cwd=root)
    assert shown.code == DONE and "could not be stored" in shown.err and "max_disk" in shown.err, shown
    assert tier(tiny, "disk")["problem"] and tier(tiny, "disk")["failures"] > 0
    refused = warm(tiny, root)
    assert refused["computed_chunks"] == 0 and refused["refused_bytes"] > 0 and refused["stored_bytes"] == 0, refused
    resource.prlimit(daemon, resource.RLIMIT_FSIZE, before)
    tiny.wait_for("blocks on disk", lambda: warm(tiny, root)["refused_bytes"] == 0)
    assert tier(tiny, "disk")["problem"] == ""
    assert tiny.daemons() == [daemon]
    assert tiny.kvboost("daemon", "restart").code == DONE
    assert warm(tiny, root)["computed_chunks"] == 0


def test_a_disk_without_room(tiny):
    """A real one, of 12 MB: 8 of them are another's. In a namespace of its own, so that nobody has to be root."""
    folder = folder_of(tiny)
    folder.mkdir(parents=True, mode=0o700)
    mount = f"mount -t tmpfs -o size=12m,mode=0700 none {folder} && head -c 8m /dev/zero > {folder}/others && exec \"$@\""
    if subprocess.run(["unshare", "-Urm", "sh", "-c", mount, "sh", "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespace of our own in which a disk can be mounted")
    tiny.env["KVBOOST_MIN_FREE_DISK"] = "0"
    root = tiny.repository(python_files(16, functions=16))
    assert subprocess.run(["unshare", "-Urm", "sh", "-c", mount, "sh", tiny.programs / "kvboost", "status"], env=tiny.env,
                          capture_output=True).returncode == DONE
    daemon = tiny.only_daemon()
    shown = tiny.kvboost("warm", cwd=root)
    assert shown.code == DONE and "could not be stored" in shown.err and "max_disk" in shown.err, shown
    assert tier(tiny, "disk")["records"] > 0 and tier(tiny, "disk")["failures"] > 0
    assert tiny.kvboost("ask", "--max-tokens", "1", "What is this?", "part/part_1.py", cwd=root).code == DONE
    pathlib.Path(f"/proc/{daemon}/root{folder}/others").unlink()
    tiny.wait_for("blocks on disk", lambda: warm(tiny, root)["refused_bytes"] == 0)
    assert tier(tiny, "disk")["problem"] == ""
    assert cache(tiny, root, "verify")["corrupt"] == 0
    assert tiny.daemons() == [daemon]


def test_clear_gives_the_disk_back(tiny):
    root = tiny.repository(python_files(8))
    stored = warm(tiny, root)["stored_bytes"]
    assert disk_use(folder_of(tiny)) > stored
    cache(tiny, root, "clear", "--yes")
    assert disk_use(folder_of(tiny)) < stored // 4
    assert all(one["chunks"] == 0 for one in cache(tiny, root, "stats")["roots"])
    assert warm(tiny, root)["computed_chunks"] > 0


def test_kills_in_the_middle_lose_nothing_that_was_stored(request):
    """KVBOOST_TEST_KILLS is how many, KVBOOST_TEST_KILLED=real of a daemon with the real model."""
    machine = request.getfixturevalue(os.environ.get("KVBOOST_TEST_KILLED", "tiny"))
    kills = int(os.environ.get("KVBOOST_TEST_KILLS", "5"))
    machine.env["TMPDIR"] = str(machine.make_folder("tmp"))
    chance = random.Random(1)
    root = machine.repository({"asked.py": python_file(6, "asked"), **python_files(kills + 3, functions=20)})
    names = ["asked.py", *(f"part/part_{i}.py" for i in range(kills + 3))]
    question = ("ask", "--json", "--max-tokens", "8", "What does asked_3 return?", "asked.py")
    cold = machine.kvboost(*question, cwd=root).json()
    chunks = warm(machine, root, "asked.py")["chunks"]
    complete = lambda *paths: warm(machine, root, "--dry-run", *paths)["computed_chunks"] == 0
    used = lambda: data_file(machine).stat().st_mtime_ns
    warmed, files, hits, checked, interrupted = {"asked.py"}, None, None, 0, 0

    for number in range(kills):
        before = used()
        process = machine.start("warm", *names[:number + 5], cwd=root)
        machine.wait_for("a write", lambda: process.poll() is not None or used() != before)
        time.sleep(3 * chance.random() ** 3)  # any moment will do: most often while blocks are being written
        for daemon in machine.daemons():
            os.kill(daemon, signal.SIGKILL)
        process.communicate(timeout=120)
        interrupted += process.returncode != DONE

        answer = machine.kvboost(*question, cwd=root).json()
        assert answer["text"] == cold["text"]
        assert answer["reused_tokens"] == (hits := hits or answer["reused_tokens"]) > 0
        verified = cache(machine, root, "verify")
        assert verified["corrupt"] == 0 and verified["problem"] == "" and verified["checked"] >= checked, verified
        checked = verified["checked"]
        assert complete(*warmed)
        warmed |= {name for name in names[:number + 5] if complete(name)}
        files = files or files_below(machine.folder)
        assert files_below(machine.folder) == files
    assert interrupted > 0 and checked > chunks
    warm(machine, root)
    assert warm(machine, root)["computed_chunks"] == 0


def test_budgets_hold_at_all_times(tiny):
    limit = 2 << 20
    tiny.env.update(KVBOOST_MAX_DISK=str(limit), KVBOOST_MAX_MEMORY=str(2 * limit), KVBOOST_MIN_FREE_DISK="0")
    root = tiny.repository({path: text for i in range(6) for path, text in python_files(4, folder=f"f{i}", functions=16).items()})
    most = 0
    ended = threading.Event()

    def sample():
        nonlocal most
        while not ended.is_set():
            most = max(most, disk_use(folder_of(tiny)))

    sampler = threading.Thread(target=sample)
    sampler.start()
    try:
        stored = 0
        for i in range(6):
            stored += warm(tiny, root, f"f{i}")["stored_bytes"]
            memory = tier(tiny, "memory")
            assert memory["used"] <= memory["limit"] == limit * 3 // 4, "the rest is for live prompts and what waits"
        chunk = max(one["bytes"] for i in range(4) for one in cache(tiny, root, "inspect", f"f5/f5_{i}.py")["chunks"])
        assert chunk > 0
        assert stored > 5 * limit > 50 * chunk
        assert tier(tiny, "disk")["evictions"] > 0
        tiny.env["KVBOOST_MAX_DISK"] = str(limit // 2)
        assert tiny.kvboost("daemon", "restart").code == DONE
        assert tier(tiny, "disk")["records"] > 0
        assert disk_use(folder_of(tiny)) <= limit // 2 + chunk
    finally:
        ended.set()
        sampler.join()
    assert most <= limit + chunk
    assert cache(tiny, root, "verify")["corrupt"] == 0


def test_strange_files_are_neither_followed_nor_believed(tiny):
    root = tiny.repository(python_files(2))
    outside = tiny.make_folder("outside")
    (outside / "precious").write_bytes(b"precious" * 10000)
    folder = folder_of(tiny) / "kv-v1"
    folder.mkdir(parents=True, mode=0o700)
    folder.parent.chmod(0o700)

    def link(name):
        (folder / name).symlink_to(outside / "precious")

    links = (lambda: link("data.mdb"), lambda: link("lock.mdb"), lambda: link("data.mdb.damaged"),
             lambda: (folder / "compact").symlink_to(outside))
    pipes = (lambda: os.mkfifo(folder / "data.mdb"), lambda: os.mkfifo(folder / "lock.mdb"))
    others = (lambda: (folder / "data.mdb").write_bytes(b"\xde\xc0\xef\xbe" * PAGE),
              lambda: (folder / "lock.mdb").write_bytes(random.Random(1).randbytes(8192)))
    for prepare in (links, pipes, others, (lambda: (folder / "data.mdb").mkdir(),)):
        shutil.rmtree(folder)
        folder.mkdir(mode=0o700)
        for one in prepare:
            one()
        assert warm(tiny, root)["refused_bytes"] == 0
        assert tier(tiny, "disk")["records"] > 0
        assert tiny.kvboost("daemon", "stop").code == DONE
        assert (outside / "precious").read_bytes() == b"precious" * 10000
        assert pathlib.Path(data_file(tiny)).is_file() and not data_file(tiny).is_symlink()


def test_another_formats_folder_is_listed_left_alone_and_removed(tiny):
    root = tiny.repository(python_files(1))
    other = folder_of(tiny) / "kv-v0"
    other.mkdir(parents=True, mode=0o700)
    folder_of(tiny).chmod(0o700)
    (other / "data.mdb").write_bytes(b"another format" * 1000)
    assert warm(tiny, root)["computed_chunks"] > 0
    assert cache(tiny, root, "stats")["other_formats"] == [{"name": "kv-v0", "bytes": 14000}]
    assert "kv-v0" in tiny.kvboost("cache", "stats", cwd=root).out
    assert (other / "data.mdb").read_bytes() == b"another format" * 1000
    cache(tiny, root, "clear", "--yes")
    assert not other.exists() and cache(tiny, root, "stats")["other_formats"] == []
