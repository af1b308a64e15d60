"""The shell's own opinion of commands that it does not run."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from planbound.cells.syntax import BashSyntax
from planbound.errors import FileProblem

FAULTY = ["fi", "if true; then", "echo 'a", "a\nb )", "}", "case x in", "x() {", "a && && b"]
SOUND = [
    "true", "a \\", "! grep x y", "if a; then\n  b\nfi", "cat <<'E'\nfi )\nE", "# comment", "",
    "x() { a; }; x", "[[ a =~ ^b$ ]]", "for ((i=0;i<3;i++)); do :; done", "printf '%s' \"$(a)\"",
]  # fmt: skip


@pytest.mark.requirement("verify.one-shell")
def test_every_fault_is_found_among_sound_commands() -> None:
    found = BashSyntax().faults([*SOUND, *FAULTY, *SOUND[:3]])
    assert set(found) == set(FAULTY)
    assert found["a\nb )"].line == 1


def test_a_fault_that_stops_bash_does_not_hide_the_others() -> None:
    stopping = ["echo $(a", 'echo "${x', "echo `a", "x=$((1"]
    found = BashSyntax().faults([*stopping, *FAULTY, *SOUND])
    assert set(FAULTY) | {"echo $(a"} <= set(found)
    assert not set(SOUND) & set(found)
    assert found["a\nb )"].line == 1


def test_nothing_is_run_either_way(tmp_path: Path) -> None:
    target = tmp_path / "pwned"
    attacks = [
        f"touch {target}",
        f"}}; touch {target}; x() {{ :",
        f"$(touch {target})",
        f"set +n\ntouch {target}",
        f"trap 'touch {target}' EXIT ERR DEBUG",
        f"eval 'touch {target}'",
        f"fi\ntouch {target}",
        f"<(touch {target})",
        f": ${{x:=$(touch {target})}}",
    ]
    syntax = BashSyntax()
    syntax.faults(attacks)
    syntax.faults(["echo $(a", *attacks])
    assert not target.exists()


def test_commands_that_no_environment_can_hold_are_left_out() -> None:
    assert dict(
        BashSyntax().faults(["a\0b", "\ud800", "x" * 200_000, "fi"])
    ) == BashSyntax().faults(["fi"])


def test_many_commands_take_few_processes() -> None:
    commands = [f"test -s {'x' * 200}{number}" for number in range(3000)]
    assert BashSyntax().faults([*commands, "fi"]).keys() == {"fi"}


def test_a_command_is_asked_about_once_and_again_when_it_is_another_bash(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    spawn = os.posix_spawn

    def count(path: str, *rest: Any, **more: Any) -> int:
        asked.append(path)
        return spawn(path, *rest, **more)

    monkeypatch.setattr(os, "posix_spawn", count)
    bash = tmp_path / "bash"
    shutil.copy("/bin/bash", bash)
    syntax = BashSyntax(str(bash))
    first = syntax.faults(["true", "fi"])
    assert syntax.faults(["fi", "true"]) == first
    assert syntax.faults(["true"]) == {}
    assert len(asked) == 1
    assert syntax.faults(["case x in", "fi"]).keys() == {"case x in", "fi"}
    assert len(asked) == 2
    shutil.copy("/bin/bash", tmp_path / "other")
    os.replace(tmp_path / "other", bash)
    assert syntax.faults(["fi"]) == {"fi": first["fi"]}
    assert len(asked) == 3
    bash.unlink()
    with pytest.raises(FileProblem):
        syntax.faults(["fi"])


@pytest.mark.parametrize("bash", ["/nowhere/bash", "/bin/true", "/bin/false"])
def test_a_shell_that_cannot_tell_is_an_error_not_silence(bash: str) -> None:
    with pytest.raises(FileProblem):
        BashSyntax(bash).faults(["true"])
