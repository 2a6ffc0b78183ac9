# SPDX-License-Identifier: Apache-2.0
"""Following a repository from end to end: edits, branches, stash and rebase, with the daemon up or down; odd
repositories, encodings, names and files; watching and its limits. Counters and names only, with the tiny model."""

import base64
import json
import os
import shutil
import socket
import subprocess

import pytest

from machine import DONE, FAILED


def functions(n, name="f", lines=4):
    return "".join(f"def {name}_{i}(first, second):\n    '''Adds {i} to the product of both.'''\n"
                   + "".join(f"    step_{j} = first * {j} + second\n" for j in range(lines - 3))
                   + f"    return first * second + {i}\n\n" for i in range(n))


def warm(machine, root, *arguments):
    finished = machine.kvboost("warm", "--json", *arguments, cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def git(machine, root, *arguments, fails=False):
    finished = subprocess.run(["git", *map(str, arguments)], cwd=root, env=machine.env, capture_output=True, text=True)
    assert (finished.returncode != 0) == fails, finished
    return finished.stdout.strip()


def commit(machine, root, message="More"):
    git(machine, root, "add", "-A")
    git(machine, root, "commit", "-q", "-m", message)


def state_of(machine, root):
    return next(one for one in machine.status()["repositories"] if one["root"] == str(root))


def inspect(machine, root, path):
    finished = machine.kvboost("cache", "inspect", "--json", path, cwd=root)
    assert finished.code == DONE, finished
    return finished.json()


def is_warm(machine, root, path):
    file = inspect(machine, root, path)
    return file["current"] and all(chunk["left"] == "exact" for chunk in file["chunks"])


def wait_until_idle(machine):
    machine.wait_for("the end of the warm", lambda: machine.status()["warming"]["root"] == "")


@pytest.fixture
def watching(tiny):
    del tiny.env["KVBOOST_WATCH_FILES"]
    return tiny


# ---- edits and branches -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [3, 60, 118])
def test_an_edit_in_a_file_of_a_thousand_lines_costs_one_or_two_chunks(tiny, at):
    text = functions(120, lines=8)
    assert text.count("\n") > 1000
    root = tiny.repository({"long.py": text})
    assert warm(tiny, root)["chunks"] > 50
    (root / "long.py").write_text(text.replace(f"first * second + {at}\n", f"first - second * {at}\n"))
    assert warm(tiny, root)["computed_chunks"] in (1, 2)


def test_what_git_did_while_the_daemon_was_down(tiny):
    root = tiny.repository({"same.py": functions(20, "same"), "other.py": functions(20, "other")})
    first = warm(tiny, root)
    assert state_of(tiny, root)["head"] == git(tiny, root, "rev-parse", "HEAD")
    assert state_of(tiny, root)["branch"] == "main"
    tiny.kvboost("daemon", "stop")
    git(tiny, root, "checkout", "-q", "-b", "topic")
    (root / "other.py").write_text(functions(20, "another"))
    commit(tiny, root)
    second = warm(tiny, root)
    assert 0 < second["computed_chunks"] < first["chunks"]
    assert inspect(tiny, root, "same.py")["current"]
    assert state_of(tiny, root)["head"] == git(tiny, root, "rev-parse", "HEAD")
    assert state_of(tiny, root)["branch"] == "topic"
    tiny.kvboost("daemon", "stop")
    git(tiny, root, "checkout", "-q", "main")
    assert warm(tiny, root)["computed_chunks"] == 0
    git(tiny, root, "checkout", "-q", "topic")
    assert warm(tiny, root)["computed_chunks"] == 0


def test_a_stash_and_back(tiny):
    root = tiny.repository({"a.py": functions(20)})
    warm(tiny, root)
    (root / "a.py").write_text(functions(20, "edited"))
    assert warm(tiny, root)["computed_chunks"] > 0
    git(tiny, root, "stash")
    assert warm(tiny, root)["computed_chunks"] == 0
    git(tiny, root, "stash", "pop")
    assert warm(tiny, root)["computed_chunks"] == 0


def test_a_rebase_in_progress(tiny):
    root = tiny.repository({"a.py": functions(20), "b.py": functions(20, "b")})
    warm(tiny, root)
    git(tiny, root, "checkout", "-q", "-b", "topic")
    (root / "a.py").write_text(functions(20, "topic"))
    commit(tiny, root)
    warm(tiny, root)
    git(tiny, root, "checkout", "-q", "main")
    (root / "a.py").write_text(functions(20, "moved"))
    commit(tiny, root)
    git(tiny, root, "checkout", "-q", "topic")
    git(tiny, root, "rebase", "main", fails=True)
    during = warm(tiny, root)  # a.py has marks of a conflict
    assert during["files"] == 2 and during["computed_chunks"] > 0
    state = state_of(tiny, root)
    assert state["head"] == git(tiny, root, "rev-parse", "HEAD") and state["branch"] == ""
    git(tiny, root, "rebase", "--abort")
    assert warm(tiny, root)["computed_chunks"] == 0
    assert state_of(tiny, root)["branch"] == "topic"


def test_worktrees_share_what_is_warm(tiny):
    root = tiny.repository({"a.py": functions(20), "b.py": functions(20, "b")})
    warm(tiny, root)
    second = tiny.folder / "second"
    git(tiny, root, "worktree", "add", "-q", "-b", "second", second)
    assert warm(tiny, second)["computed_chunks"] == 0
    (second / "b.py").write_text(functions(20, "c"))
    assert warm(tiny, second)["computed_chunks"] > 0
    assert warm(tiny, root)["computed_chunks"] == 0


def test_twenty_branches_cost_little_more_than_one(tiny):
    # Each branch edits a function in 2 of 40 files; 38 are the same in all.
    names = [f"part_{i}.py" for i in range(40)]
    root = tiny.repository({name: functions(16, name[:-3]) for name in names})
    disk = lambda: next(one for one in tiny.status()["tiers"] if one["name"] == "disk")["bytes"]
    warm(tiny, root)
    wait_until_idle(tiny)
    tiny.kvboost("cache", "stats")  # all is on disk
    one_branch = disk()
    for branch in range(20):
        git(tiny, root, "checkout", "-q", "-b", f"branch_{branch}", "main")
        for name in names[:2]:
            text = (root / name).read_text()
            (root / name).write_text(text.replace("first * second + 8\n", f"first * second - {branch + 100}\n"))
        commit(tiny, root)
        assert warm(tiny, root)["computed_chunks"] <= 4
        wait_until_idle(tiny)
    tiny.kvboost("cache", "stats")
    assert disk() <= 1.25 * one_branch
    for branch in (0, 19, 7):
        git(tiny, root, "checkout", "-q", f"branch_{branch}")
        assert warm(tiny, root)["computed_chunks"] == 0


# ---- watching -----------------------------------------------------------------------------------------------------


def test_an_edit_is_computed_when_there_is_nothing_else_to_do(watching):
    root = watching.repository({"src/a.py": functions(30), "src/b.py": functions(5, "b"), "c.md": "# Text\n"})
    warm(watching, root, "src")
    watching.wait_for("watched folders", lambda: state_of(watching, root)["watched_folders"] == 2)
    (root / "src/a.py").write_text(functions(30).replace("second + 17\n", "second - 17\n"))
    (root / "src/new.py").write_text(functions(5, "new"))  # was never warm, and is left alone
    watching.wait_for("the edit's blocks", lambda: is_warm(watching, root, "src/a.py"))
    git(watching, root, "checkout", "-q", "src/a.py")
    watching.wait_for("the old file's row", lambda: is_warm(watching, root, "src/a.py"))
    wait_until_idle(watching)
    assert watching.kvboost("cache", "inspect", "src/new.py", cwd=root).code == FAILED
    assert warm(watching, root, "src/a.py")["computed_chunks"] == 0


def test_a_question_is_enough_to_be_followed_after_a_restart(watching):
    root = watching.repository({"a.py": functions(30)})
    warm(watching, root)
    watching.kvboost("daemon", "restart")
    assert watching.status()["repositories"] == []
    assert watching.kvboost("ask", "--max-tokens", "1", "What?", cwd=root).code == DONE
    watching.wait_for("a watched folder", lambda: state_of(watching, root)["watched_folders"] == 1)
    (root / "a.py").write_text(functions(30, "edited"))
    watching.wait_for("the edit's blocks", lambda: is_warm(watching, root, "a.py"))


def test_watching_can_be_switched_off(tiny):
    root = tiny.repository({"a.py": functions(5)})
    warm(tiny, root)
    ask = tiny.kvboost("ask", "--max-tokens", "1", "What?", cwd=root)
    assert ask.code == DONE, ask
    assert state_of(tiny, root)["watched_folders"] == 0 and state_of(tiny, root)["note"] == ""


def test_where_no_more_can_be_watched_it_says_so_once_and_finds_edits_all_the_same(watching):
    limited = ["unshare", "-Ur", "sh", "-c", 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"', "sh"]
    if subprocess.run([*limited, "true"], capture_output=True).returncode != 0:
        pytest.skip("no user namespace of our own with a limit of its own")
    tree = {f"folder_{i}/a.py": functions(5, f"f{i}") for i in range(5)}
    roots = [watching.repository(tree, name) for name in ("one", "two")]
    started = subprocess.run([*limited, watching.programs / "kvboost", "status"], env=watching.env, capture_output=True)
    assert started.returncode == DONE, started
    for root in roots:
        warm(watching, root)
        watching.wait_for("the reason", lambda root=root: "max_user_watches" in state_of(watching, root)["note"])
        assert state_of(watching, root)["watched_folders"] == 0
    shown = watching.kvboost("status")
    assert shown.code == DONE and shown.out.count("max_user_watches") == 1, shown.out
    (roots[0] / "folder_3/a.py").write_text(functions(5, "edited"))
    assert warm(watching, roots[0])["computed_chunks"] > 0


# ---- odd repositories ---------------------------------------------------------------------------------------------


FILES = {"a.py": functions(6), "src/b.py": functions(6, "b")}


def clone(machine, *options):
    root = machine.repository(FILES, "origin")
    copy = machine.folder / "copy"
    git(machine, machine.folder, "clone", "-q", *options, f"file://{root}", copy)
    return copy


def detached(machine):
    root = machine.repository(FILES)
    git(machine, root, "checkout", "-q", "--detach")
    return root


def initialised_only(machine):
    root = machine.make_folder("new")
    git(machine, root, "init", "-q")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    return root


def with_worktree_config(machine):
    root = machine.repository(FILES)
    git(machine, root, "config", "extensions.worktreeConfig", "true")
    git(machine, root, "config", "--worktree", "core.abbrev", "9")
    return root


def relative_worktree(machine):
    root = machine.repository(FILES)
    git(machine, root, "worktree", "add", "-q", "-b", "second", "../second")
    second = machine.folder / "second"
    (second / ".git").write_text(f"gitdir: ../{root.name}/.git/worktrees/second\n")
    return second


def with_submodule(machine):
    inner = machine.repository({"a.py": functions(6)}, "inner")
    root = machine.repository({"b.py": functions(6, "b")})
    git(machine, root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "inner")
    commit(machine, root)
    return root


def sparse(machine):
    root = machine.repository({**FILES, "left/out.py": functions(6)})
    git(machine, root, "sparse-checkout", "set", "--cone", "src")
    return root


def sha256(machine):
    root = machine.make_folder("sha256")
    git(machine, root, "init", "-q", "--object-format=sha256")
    for path, text in FILES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text)
    commit(machine, root)
    return root


def no_repository(machine):
    root = initialised_only(machine)
    shutil.rmtree(root / ".git")
    return root


def of_another_owner(machine):
    if os.getuid() != 0:
        pytest.skip("only root can give files away")
    root = machine.repository(FILES)
    for path in [root, *root.rglob("*")]:
        os.lchown(path, 12345, 12345)
    return root


@pytest.mark.parametrize("make, note", [
    (lambda machine: clone(machine), ""), (lambda machine: clone(machine, "--depth", "1"), ""),
    (lambda machine: clone(machine, "--filter=blob:none"), ""), (detached, ""), (initialised_only, ""),
    (with_worktree_config, None), (relative_worktree, None), (with_submodule, ""), (sparse, ""), (sha256, None),
    (no_repository, "no git repository"), (of_another_owner, "safe.directory")],
    ids=["clone", "shallow", "partial", "detached", "initialised_only", "worktree_config", "relative_worktree",
         "submodule", "sparse", "sha256", "no_repository", "other_owner"])
def test_odd_repositories_are_warmed(tiny, make, note):
    """`note`: what the one line has to name; None: it depends on libgit2 whether there is one."""
    root = make(tiny)
    result = warm(tiny, root)
    assert result["files"] >= 2 and result["computed_chunks"] == result["chunks"] > 0
    paths = [path for path in ("a.py", "b.py", "src/b.py", "inner/a.py") if (root / path).exists()]
    assert len(paths) == 2 and all(is_warm(tiny, root, path) for path in paths)
    assert "\n" not in result["note"]
    if note is not None:
        assert (note in result["note"]) if note else result["note"] == "", result["note"]
    assert warm(tiny, root)["computed_chunks"] == 0


def test_a_bare_repository_is_refused_by_name(tiny):
    root = tiny.repository(FILES)
    git(tiny, tiny.folder, "clone", "-q", "--bare", root, "bare")
    finished = tiny.kvboost("warm", cwd=tiny.folder / "bare")
    assert finished.code == FAILED and "bare" in finished.err, finished


# ---- odd files ----------------------------------------------------------------------------------------------------


def test_encodings(tiny):
    text = "# Grüße, 価格\n" + functions(6)
    root = tiny.repository({
        "plain.py": text, "bom.py": "\ufeff" + text, "utf16.py": text.encode("utf-16"),
        "latin.py": "# Grüße\n".encode("cp1252") + functions(6).encode(), "japanese.py": "# 価格\n".encode("shift-jis"),
        "nul.py": b"a = 1\n\0\n", "emoji.py": "# " + "🍒" * 256 + "\n" + functions(6), "empty.py": ""})
    result = warm(tiny, root)
    reasons = {one["path"]: one["reason"] for one in result["skipped"]}
    assert set(reasons) == {"latin.py", "japanese.py", "nul.py"}, reasons
    assert "UTF-8" in reasons["latin.py"] and "UTF-8" in reasons["japanese.py"] and "NUL" in reasons["nul.py"]
    contents = lambda path: [chunk["content"] for chunk in inspect(tiny, root, path)["chunks"]]
    assert contents("plain.py") == contents("bom.py") == contents("utf16.py") != []
    # Its functions are those of another file, so that they are renewed behind its own beginning afterwards.
    tiny.wait_for("the renewal of emoji.py", lambda: is_warm(tiny, root, "emoji.py"))


def test_names(tiny):
    names = [b"a b.py", b"it's \"it\".py", b"two\nlines.py", "ü.py".encode(), "u\u0308.py".encode(), b"\xff.py", b"-x.py",
             b"n" * 252 + b".py"]
    root = tiny.repository({os.fsdecode(name): functions(3, f"f{i}") for i, name in enumerate(names)})
    assert warm(tiny, root)["files"] == len(names)
    for name in names:
        finished = tiny.kvboost("cache", "inspect", "--json", "--", os.fsdecode(name), cwd=root)
        assert finished.code == DONE, finished
        path = json.loads(finished.out)["path"]
        if isinstance(path, dict):
            assert base64.b64decode(path["base64"]) == name
        else:
            assert path.encode() == name
    shown = tiny.kvboost("warm", cwd=root)
    assert shown.code == DONE and "all there already" in shown.out, shown


def test_links_and_special_files_are_listed_and_never_opened(tiny):
    root = tiny.repository({"a.py": functions(6), "closed/b.py": functions(6, "b")})
    outside = tiny.folder / "outside.py"
    outside.write_text("password = 'hunter2'\n")
    (root / "loop").symlink_to("loop")
    (root / "around").symlink_to(".")
    (root / "dangling.py").symlink_to("nowhere.py")
    (root / "outside.py").symlink_to(outside)
    os.mkfifo(root / "pipe.py")
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.relpath(root / "socket.py"))
    (root / "closed").chmod(0)
    try:
        result = warm(tiny, root)
    finally:
        (root / "closed").chmod(0o755)
        listening.close()
    reasons = {one["path"]: one["reason"] for one in result["skipped"]}
    for link in ("loop", "around", "dangling.py", "outside.py"):
        assert reasons[link] == "symbolic link", reasons
    assert "regular" in reasons["pipe.py"] and "regular" in reasons["socket.py"], reasons
    closed = [reason for path, reason in reasons.items() if path.startswith("closed")]
    assert result["files"] == (2 if os.getuid() == 0 else 1) and (os.getuid() == 0 or "ermission" in closed[0]), reasons
    assert all(b"hunter2" not in path.read_bytes() for path in tiny.home.rglob("*.mdb"))
