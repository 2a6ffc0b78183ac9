# SPDX-License-Identifier: Apache-2.0
"""`kvboost hook` with the real git: what git changes is read ahead, hooks that are there go on as they were, and no git
command fails or waits because of it."""

import os
import pathlib
import shutil
import subprocess

import pytest

from machine import DONE, FAILED

HOOKS = ["post-checkout", "post-merge", "post-commit", "post-rewrite"]


def source(name):
    return "".join(f"def {name}_{i}(first, second):\n    return first * second + {i}\n\n\n" for i in range(8))


FILES = {"prices.py": source("price"), "shop/basket.py": source("basket")}


@pytest.fixture(autouse=True)
def hooks_have_ended(machine):
    """What git left running in the background may be about to start a daemon."""
    yield
    machine.wait_for("the end of all hooks", lambda: set(machine.processes().values()) <= {"kvboostd"})


def git(machine, root, *arguments, fails=False):
    """Runs git to its end, which includes that nobody holds its output open."""
    ran = subprocess.run(["git", *arguments], cwd=root, env=machine.env, capture_output=True, text=True, timeout=60)
    assert (ran.returncode != 0) == fails, ran
    return ran


def hook(machine, root, *arguments):
    finished = machine.kvboost("hook", *arguments, cwd=root)
    assert finished.code == DONE, finished
    return finished


def states(machine, root):
    status = hook(machine, root, "status", "--json").json()
    return [one["state"] for one in status["hooks"]]


def commit(machine, root, path, text, message="Change"):
    (root / path).write_text(text)
    git(machine, root, "add", "-A")
    return git(machine, root, "commit", "-q", "-m", message)


def is_warm(machine, root, path):
    inspected = machine.kvboost("cache", "inspect", path, "--json", cwd=root)
    if inspected.code != DONE:
        return False  # nothing of it is known yet
    file = inspected.json()
    return file["current"] and file["chunks"] and all(one["where"] != "absent" for one in file["chunks"])


def becomes_warm(machine, root, path):
    machine.wait_for(f"a warm {path}", lambda: is_warm(machine, root, path))


def script(file, text, mode=0o755):
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def snapshot(folder):
    """What stands in a folder: names, targets of links, bytes, modes."""
    return {path.name: (os.readlink(path) if path.is_symlink() else path.read_bytes(), path.lstat().st_mode)
            for path in folder.iterdir()}


def test_what_git_changes_is_read_ahead(tiny):
    root = tiny.repository(FILES, name="it's \"my\" shop")
    assert "4 hooks installed" in hook(tiny, root, "install").out
    assert states(tiny, root) == ["installed"] * 4
    assert tiny.daemons() == []
    git(tiny, root, "checkout", "-q", "-b", "other")  # the same commit: nothing to do
    commit(tiny, root, "prices.py", source("cost"))
    tiny.wait_for("a daemon", tiny.daemons)
    becomes_warm(tiny, root, "prices.py")
    assert not is_warm(tiny, root, "shop/basket.py")  # nobody touched it
    git(tiny, root, "checkout", "-q", "main")
    becomes_warm(tiny, root, "prices.py")
    commit(tiny, root, "shop/basket.py", source("cart"))
    becomes_warm(tiny, root, "shop/basket.py")
    tiny.kvboost("cache", "clear", "--yes")
    git(tiny, root, "merge", "-q", "-m", "Merge", "other")
    becomes_warm(tiny, root, "prices.py")


def test_a_rebase_is_read_ahead_when_it_is_done(tiny):
    root = tiny.repository(FILES)
    git(tiny, root, "checkout", "-q", "-b", "other")
    commit(tiny, root, "shop/new.py", source("new"))
    git(tiny, root, "checkout", "-q", "main")
    commit(tiny, root, "prices.py", source("cost"))
    git(tiny, root, "checkout", "-q", "other")
    hook(tiny, root, "install")
    git(tiny, root, "rebase", "-q", "main")
    becomes_warm(tiny, root, "prices.py")
    git(tiny, root, "checkout", "-q", "-b", "behind", "main~1")
    git(tiny, root, "rebase", "-q", "other")  # only goes forward: git calls post-checkout alone
    becomes_warm(tiny, root, "shop/new.py")


def test_installing_twice_changes_nothing_and_uninstalling_leaves_nothing(machine):
    root = machine.repository(FILES)
    before = snapshot(root / ".git/hooks")
    hook(machine, root, "install")
    installed = snapshot(root / ".git/hooks")
    assert set(installed) - set(before) == set(HOOKS)
    assert "already" in hook(machine, root / "shop", "install").out
    assert snapshot(root / ".git/hooks") == installed
    hook(machine, root, "uninstall")
    assert snapshot(root / ".git/hooks") == before
    assert "no hooks were installed" in hook(machine, root, "uninstall").out
    shutil.rmtree(root / ".git/hooks")  # as with an empty template
    hook(machine, root, "install")
    assert states(machine, root) == ["installed"] * 4


HOOKS_OF_OTHERS = {
    "shell": "#!/bin/sh\nset -eu\nwait\n{ echo \"$0|$@\"; cat; } > SEEN\nexit 3\n",
    "env": "#!/usr/bin/env -S bash -eu\n{ echo \"$0|$@\"; cat; } > SEEN\nexit 3\n",
    "python": "#!/usr/bin/env python3\nimport sys\n"
              "open('SEEN', 'w').write(sys.argv[0] + '|' + ' '.join(sys.argv[1:]) + '\\n' + sys.stdin.read())\nsys.exit(3)\n",
    "no first line": "{ echo \"$0|$@\"; cat; } > SEEN\nexit 3\n",
}


@pytest.mark.parametrize("kind", HOOKS_OF_OTHERS)
def test_a_hook_that_is_there_runs_as_it_did(machine, kind):
    root = machine.repository(FILES)
    seen = machine.home / "seen"
    for name in HOOKS:
        script(root / ".git/hooks" / name, HOOKS_OF_OTHERS[kind].replace("SEEN", str(seen)))
    before = snapshot(root / ".git/hooks")
    old = git(machine, root, "rev-parse", "HEAD").stdout.strip()
    hook(machine, root, "install")
    git(machine, root, "checkout", "-q", "-b", "other", fails=True)  # as git does when its hook fails
    assert seen.read_text().splitlines()[0].split("|")[1] == f"{old} {old} 1"
    (root / "prices.py").write_text(source("cost"))
    git(machine, root, "commit", "-q", "-am", "Cost")
    git(machine, root, "commit", "-q", "--amend", "-m", "Costs")
    words, *given = seen.read_text().splitlines()
    assert words.split("|")[1] == "amend"
    assert len(given) == 1 and given[0].split()[1] == git(machine, root, "rev-parse", "HEAD").stdout.strip()
    assert subprocess.run([root / ".git/hooks/post-merge", "0"], cwd=root, env=machine.env, input=b"").returncode == 3
    hook(machine, root, "uninstall")
    assert snapshot(root / ".git/hooks") == before


def test_a_link_and_a_hook_that_is_switched_off_come_back(machine):
    root = machine.repository(FILES)
    seen = machine.home / "seen"
    hooks = root / ".git/hooks"
    script(root / "tools/hook.sh", f"#!/bin/sh\necho linked >> {seen}\n")
    (hooks / "post-commit").symlink_to("../../tools/hook.sh")
    script(hooks / "post-checkout", f"#!/bin/sh\necho never >> {seen}\n", mode=0o644)
    before, tool = snapshot(hooks), (root / "tools/hook.sh").read_text()
    hook(machine, root, "install")
    git(machine, root, "checkout", "-q", "-b", "other")
    commit(machine, root, "prices.py", source("cost"))
    assert seen.read_text() == "linked\n"
    assert (root / "tools/hook.sh").read_text() == tool
    hook(machine, root, "uninstall")
    assert snapshot(hooks) == before


def test_what_was_edited_meanwhile_stays(machine):
    root = machine.repository(FILES)
    hooks = root / ".git/hooks"
    theirs = script(hooks / "post-merge", "#!/bin/sh\necho one\n")
    script(hooks / "post-rewrite", "#!/usr/bin/env python3\nprint('moved')\n")
    hook(machine, root, "install")
    for name in ("post-commit", "post-merge", "post-rewrite"):
        with open(hooks / name, "a") as file:
            file.write("echo added\n")
    script(hooks / "post-checkout", "#!/bin/sh\necho instead\n")  # another tool wrote it anew
    assert states(machine, root) == ["other", "installed", "installed", "installed"]
    hook(machine, root, "uninstall")
    assert states(machine, root) == ["other"] * 4
    assert theirs.read_text() == "#!/bin/sh\necho one\necho added\n"
    assert (hooks / "post-checkout").read_text() == "#!/bin/sh\necho instead\n"
    assert (hooks / "post-commit").read_text().endswith("echo added\n")
    assert "exec \"$0.before-kvboost\"" in (hooks / "post-rewrite").read_text()
    assert "moved" in (hooks / "post-rewrite.before-kvboost").read_text()
    for name in HOOKS:
        assert "hook run" not in (hooks / name).read_text()


def test_lines_without_their_end_are_left_alone(machine):
    root = machine.repository(FILES)
    hook(machine, root, "install")
    file = root / ".git/hooks/post-commit"
    file.write_text(file.read_text().replace("# <<< kvboost <<<\n", ""))
    broken = file.read_text()
    assert "broken" in states(machine, root)
    for step in ("install", "uninstall"):
        finished = machine.kvboost("hook", step, cwd=root)
        assert finished.code == FAILED and "by hand" in finished.err, finished
    assert file.read_text() == broken


def test_core_hooks_path_worktrees_and_submodules(tiny):
    root = tiny.repository(FILES)
    part = tiny.repository({"part.py": source("part")}, name="part")
    git(tiny, root, "worktree", "add", "-q", "-b", "side", "../side")
    side = root.parent / "side"
    hook(tiny, side, "install")
    assert states(tiny, root) == ["installed"] * 4  # a work tree's hooks are the repository's
    git(tiny, root, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(part), "part")
    git(tiny, root, "commit", "-q", "-m", "Part")
    assert states(tiny, root / "part") == ["absent"] * 4
    hook(tiny, root / "part", "install")
    assert (root / ".git/modules/part/hooks/post-commit").exists()
    commit(tiny, root / "part", "part.py", source("piece"))
    becomes_warm(tiny, root / "part", "part.py")
    commit(tiny, side, "prices.py", source("aside"))
    becomes_warm(tiny, side, "prices.py")

    git(tiny, root, "config", "core.hooksPath", "our hooks")
    assert states(tiny, root / "shop") == ["absent"] * 4
    finished = hook(tiny, root / "shop", "install")
    assert "core.hooksPath" in finished.err
    assert sorted(file.name for file in (root / "our hooks").iterdir()) == sorted(HOOKS)
    commit(tiny, root, "shop/basket.py", source("cart"))
    becomes_warm(tiny, root, "shop/basket.py")


def test_no_git_command_fails_or_waits(tiny):
    root = tiny.repository(FILES)
    programs = tiny.make_folder("programs")
    copy = pathlib.Path(shutil.copy(tiny.programs / "kvboost", programs / "kvboost"))
    subprocess.run([copy, "hook", "install"], cwd=root, env=tiny.env, check=True, capture_output=True)
    # A program that never ends, and writes what nobody should see.
    fifo = tiny.home / "fifo"
    os.mkfifo(fifo)
    script(copy, f"#!/bin/sh\necho loud; echo loud >&2; read line < {fifo}; echo \"$@\" > {tiny.home}/ended\n")
    ran = commit(tiny, root, "prices.py", source("cost"))
    assert "loud" not in ran.stdout + ran.stderr
    fifo.write_text("go\n")
    tiny.wait_for("the end of the hook's program", (tiny.home / "ended").exists)
    copy.unlink()
    assert commit(tiny, root, "prices.py", source("price")).stderr == ""
    hook(tiny, root, "install")  # the suite's own program again
    tiny.env["XDG_RUNTIME_DIR"] = str(tiny.home / "fifo")  # here no daemon can start
    assert commit(tiny, root, "prices.py", source("fee")).stderr == ""
    assert git(tiny, root, "checkout", "-q", "HEAD~1").stderr == ""
    tiny.env["XDG_RUNTIME_DIR"] = str(tiny.runtime)


def test_errors_name_their_cause(machine):
    outside = machine.make_folder("outside")
    for step in ("install", "uninstall", "status"):
        finished = machine.kvboost("hook", step, cwd=outside)
        assert finished.code == FAILED and "not a git repository" in finished.err, finished
    git(machine, outside, "init", "-q", "--bare", "bare.git")
    finished = machine.kvboost("hook", "install", cwd=outside / "bare.git")
    assert finished.code == FAILED and "bare repository" in finished.err, finished
    root = machine.repository(FILES)
    hooks = root / ".git/hooks"
    shutil.rmtree(hooks)
    hooks.write_text("in the way")
    finished = machine.kvboost("hook", "install", cwd=root)
    assert finished.code == FAILED and str(hooks) in finished.err, finished
    if os.geteuid() != 0:
        hooks.unlink()
        hooks.mkdir(mode=0o500)
        finished = machine.kvboost("hook", "install", cwd=root)
        assert finished.code == FAILED and "ermission" in finished.err, finished
        hooks.chmod(0o700)
    git(machine, root, "config", "core.hooksPath", "/dev/null")  # how hooks are switched off
    assert states(machine, root) == ["absent"] * 4
    finished = machine.kvboost("hook", "install", cwd=root)
    assert finished.code == FAILED and "/dev/null" in finished.err, finished
    finished = machine.kvboost("hook", "status", cwd=root, env={"PATH": str(outside)})
    assert finished.code == FAILED and "git is not installed" in finished.err, finished
