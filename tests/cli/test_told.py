"""The desktop as a receiver, and whether the word of a question has arrived."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.page.browser import serving
from tests.program import Program
from tests.run.bench import until

ASKING = 'events = ["GATE_CLARIFICATION_ASKED"]\n'


@pytest.fixture
def shown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return where a `notify-send` of ours writes what it is told."""
    folder = tmp_path_factory.mktemp("desktop")
    log = folder / "shown"
    script = folder / "bin" / "notify-send"
    script.parent.mkdir()
    lines = ("#!/bin/sh", f'printf "%s|" "$@" "$DISPLAY" >> {log}', f'exit "$(cat {log}.code)"')
    script.write_text("\n".join(lines))
    script.chmod(0o755)
    Path(f"{log}.code").write_text("0")
    return log


def path_with(log: Path) -> str:
    return f"{log.parent / 'bin'}:{os.environ['PATH']}"


def ask(program: Program, words: str) -> None:
    done = program.run("ask", "sound", words, "--as", "mara")
    assert done.code == 0, done.err


def configured(program: Program, shown: Path, entry: str = "desktop = true\n") -> None:
    program.plan("sound")
    program.write("planbound.toml", f"[[notify]]\n{ASKING}{entry}retries = 1\n")
    assert program.run("notify", PATH=path_with(shown)).code == 3  # from now on


@pytest.mark.requirement("notify.desktop")
def test_the_desktop_shows_a_question_as_text_and_never_as_markup(
    program: Program, shown: Path
) -> None:
    configured(program, shown)
    ask(program, "why <b>three</b> files?")
    waiting = program.run("inbox").out
    assert "the desktop waits" in waiting
    done = program.run("notify", PATH=path_with(shown), DISPLAY=":7")
    assert done.code == 0, done.err
    said = shown.read_text().split("|")
    assert said[:3] == ["--app-name=Planbound", "--", "Planbound: sound"]
    assert said[3] == "question by mara: why &lt;b&gt;three&lt;/b&gt; files?"
    assert said[4] == ":7"
    assert "the desktop told" in program.run("inbox").out


@pytest.mark.requirement("notify.desktop", "page.links")
def test_no_link_that_decides_stands_in_a_command_line(program: Program, shown: Path) -> None:
    program.plan("sound")
    entry = f"[[notify]]\n{ASKING}desktop = true\nperson = 'mara'\n"
    program.write("planbound.toml", f"[page]\nlinks = true\n{entry}")
    assert program.run("notify", PATH=path_with(shown)).code == 3  # from now on
    with serving(program, "--decide-anyway", PATH=path_with(shown)) as page:
        ask(program, "why?")
        until(shown.exists)  # the page tells
        until(lambda: "|" in shown.read_text())
        said = shown.read_text()
        assert f"{page.address}/inbox#question-" in said
        assert "/d/" not in said


@pytest.mark.requirement("notify.desktop")
def test_the_inbox_says_which_word_never_arrived(program: Program, shown: Path) -> None:
    configured(program, shown)
    Path(f"{shown}.code").write_text("1")
    ask(program, "why?")
    assert program.run("notify", "--once", PATH=path_with(shown)).code == 1
    (told,) = program.run("inbox", "--json").json["deliveries"]
    assert (told["target"], told["arrival"]) == ("the desktop", "waits")
    assert "exit code 1" in told["reason"]
    assert program.run("notify", "--once", PATH=path_with(shown)).code == 1
    (told,) = program.run("inbox", "--json").json["deliveries"]
    assert told["arrival"] == "given up"
    assert "the desktop given up: exit code 1" in program.run("inbox").out


@pytest.mark.requirement("notify.desktop")
def test_a_question_that_was_there_before_the_receiver_is_not_said_to_be_told(
    program: Program, shown: Path
) -> None:
    program.plan("sound")
    ask(program, "why?")
    configured(program, shown)
    (told,) = program.run("inbox", "--json").json["deliveries"]
    assert told["arrival"] == "before its time"


@pytest.mark.requirement("notify.desktop")
def test_a_machine_that_shows_nothing_says_so(program: Program, tmp_path: Path) -> None:
    program.plan("sound")
    program.write("planbound.toml", f"[[notify]]\n{ASKING}desktop = true\n")
    (tmp_path / "empty").mkdir()
    done = program.run("notify", PATH=str(tmp_path / "empty"))
    assert done.code == 1
    assert "there is no `notify-send`" in done.out + done.err
