"""What contracts find on a machine is listed again only where it may have changed."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from planbound.judging import machine
from planbound.judging.machine import Machine, UnsureError

MINUTE = 60 * 10**9


@pytest.fixture
def prefix(tmp_path: Path) -> Path:
    for folder in ("bin", "lib/python3.11/site-packages/known"):
        (tmp_path / "prefix" / folder).mkdir(parents=True)
    (tmp_path / "prefix/bin/tool").write_text("first\n")
    return tmp_path / "prefix"


def much_later(prefix: Path, root: str = "/nowhere") -> Machine:
    """Return a machine whose places were all left alone for a while before they were listed."""
    folders = [str(prefix / "bin"), "/usr/bin"]
    return Machine(folders, root, now=lambda: time.time_ns() + MINUTE)


def test_what_looks_as_before_is_not_listed_again(prefix: Path) -> None:
    known = much_later(prefix)
    assert known.look() is known.look()


def test_what_changed_a_moment_before_it_was_listed_is_listed_again(prefix: Path) -> None:
    fresh = Machine([str(prefix / "bin")], "/nowhere")
    assert fresh.look() is not fresh.look()
    assert fresh.look() == fresh.look()


@pytest.mark.requirement("judging.reuse")
@pytest.mark.parametrize(
    "change",
    [
        "echo two > bin/tool",
        "echo other > other; mv other bin/tool",
        "touch bin/newer",
        "rm bin/tool",
        "touch lib/python3.11/site-packages/helper.py",
        "touch lib/python3.11/site-packages/known/more.py",
        "rmdir lib/python3.11/site-packages/known",
        "mkdir -p lib/python3.12/site-packages/known",
        "mkdir lib/python3.11/dist-packages",
        "mkdir -p lib/node_modules/left",
        "chmod 700 bin/tool",
    ],
)
def test_what_comes_goes_or_is_replaced_is_seen(prefix: Path, change: str) -> None:
    known = much_later(prefix)
    before = known.look()
    assert os.system(f"cd {prefix} && {change}") == 0
    after = known.look()
    assert after.digest != before.digest
    assert after == much_later(prefix).look()


@pytest.mark.parametrize("root", ["/nowhere", "around"])
def test_a_package_that_is_only_linked_is_found_when_it_comes(prefix: Path, root: str) -> None:
    known = much_later(prefix, str(prefix) if root == "around" else root)
    assert known.look().linked == ()
    link = prefix / "lib/python3.11/site-packages/elsewhere.pth"
    link.write_text("/somewhere/else\n")
    assert known.look().linked == ("/somewhere/else",)
    link.write_text("/another/place\n")
    assert known.look().linked == ("/another/place",)


def test_packages_that_are_reached_twice_are_looked_at_once(prefix: Path, tmp_path: Path) -> None:
    other = tmp_path / "other"
    (other / "bin").mkdir(parents=True)
    (other / "lib").symlink_to(prefix / "lib")
    folders = [str(prefix / "bin"), str(other / "bin")]
    known = Machine(folders, "/nowhere", now=lambda: time.time_ns() + MINUTE)
    known.look()
    # It leads to another place from now on, in which there is more.
    before = known.look()
    (tmp_path / "third/python3.11/site-packages/more").mkdir(parents=True)
    (other / "lib").unlink()
    (other / "lib").symlink_to(tmp_path / "third")
    after = known.look()
    assert after.digest != before.digest
    (tmp_path / "third/python3.11/site-packages/more/new.py").touch()
    assert known.look().digest != after.digest


def test_programs_of_the_tree_itself_are_none_of_the_machine(prefix: Path) -> None:
    known = much_later(prefix, str(prefix))
    before = known.look()
    (prefix / "bin/newer").touch()
    assert known.look() == before


def test_a_pipe_among_programs_lets_nobody_know_anything(prefix: Path) -> None:
    known = much_later(prefix)
    known.look()
    os.mkfifo(prefix / "bin/pipe")
    with pytest.raises(UnsureError):
        known.look()
    (prefix / "bin/pipe").unlink()
    assert known.look() == much_later(prefix).look()


def test_more_programs_than_can_be_looked_at_are_refused(
    prefix: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "_MOST_PROGRAMS", 1)
    (prefix / "bin/newer").touch()
    with pytest.raises(UnsureError):
        much_later(prefix).look()
