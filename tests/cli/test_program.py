"""The program as a whole: help, ends, places."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from planbound import __version__
from planbound.cli.commands import COMMANDS, FIRST_HOUR, GROUPS, commands_in
from planbound.cli.main import main
from tests.program import SOUND, Program


def test_version_and_help(program: Program) -> None:
    assert program.run("--version").out == f"planbound {__version__}\n"
    overview = program.run("--help")
    assert (overview.code, overview.err) == (0, "")
    assert program.run().err == overview.out


@pytest.mark.requirement("cli.help")
def test_the_help_is_one_screen_with_every_command_in_its_group(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert main(["--help"]) == 0
    page = capsys.readouterr().out
    lines = page.splitlines()
    assert len(lines) < 24
    assert max(map(len, lines)) <= 80
    words = page.replace(",", " ").split()
    assert set(COMMANDS) <= set(words)
    assert [words.count(name) >= 2 for name in FIRST_HOUR] == [True] * 6
    assert [group for group in GROUPS if f"\n  {group}" in page] == list(GROUPS)
    assert sorted(name for group in GROUPS for name in commands_in(group)) == sorted(COMMANDS)
    assert main(["help"]) == 0
    assert capsys.readouterr().out == page


@pytest.mark.requirement("command.help", "cli.help")
@pytest.mark.parametrize("name", COMMANDS)
def test_help_of_a_command_is_its_own_help(capsys: pytest.CaptureFixture[str], name: str) -> None:
    assert main([name, "--help"]) == 0
    page = capsys.readouterr().out
    assert page.startswith(f"usage: planbound {name}")
    assert main(["help", name]) == 0
    said = capsys.readouterr().out
    if name in GROUPS:
        assert f"`planbound {name} --help`" in said
    else:
        assert said == page


@pytest.mark.requirement("command.help")
@pytest.mark.parametrize("group", GROUPS)
def test_help_of_a_group_has_a_sentence_for_each_of_its_commands(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, group: str
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["help", group]) == 0
    page = capsys.readouterr().out
    for name in commands_in(group):
        row = next(line for line in page.splitlines() if line.startswith(f"  {name} "))
        assert row.endswith(COMMANDS[name].sentence)


@pytest.mark.requirement("cli.honest-ends")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "usage: planbound"),
        (["nonsense"], "there is no command `nonsense`"),
        (["--nonsense"], "unrecognized arguments: --nonsense"),
        (["verify", "--nonsense"], "unrecognized arguments: --nonsense"),
        (["verify", "--form", "json"], "unrecognized arguments: --form"),
        (["verify", "--format", "xml"], "`--format` is `xml`, expected one of text, json, "),
        (["show", "a", "b"], "`b` is too much: `planbound show` takes only `PLAN` ("),
        (["--workspace", "/proc/nowhere", "list"], "`/proc/nowhere` is not a directory"),
        (
            ["help", "run", "plans"],
            "`plans` is too much: `planbound help` takes only `TOPIC` (a group",
        ),
        (["ready", "now"], "`now` is too much: `planbound ready` takes nothing but options"),
        (["new"], "`NAME` is missing"),
        (["completion"], "`shell` is missing, expected one of bash, zsh, fish"),
        (["completion", "tcsh"], "`shell` is `tcsh`, expected one of bash, zsh, fish"),
        (["waive"], "is missing"),
        (["run", "--jobs", "two"], "`--jobs` is `two`, expected a whole number"),
        (["show", "nothing"], "there is no plan `nothing`"),
        (["show"], "there is no plan here"),
        (["verify", "--all"], "there is no plan here"),
    ],
)
def test_wrong_usage_is_told_and_ends_with_2(
    program: Program, arguments: list[str], message: str
) -> None:
    done = program.run(*arguments)
    assert (done.code, done.out) == (2, "")
    assert message in done.err


@pytest.mark.requirement("cli.did-you-mean")
@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("verfiy", "did you mean `verify`?"),
        ("Aprove", "did you mean `approve`?"),
        ("queuestatus", "did you mean `queue-status`?"),
        ("sta", "did you mean `stage` or `status` or `standup`?"),
        ("res", "did you mean `resolve-active-plan` or `resume`?"),
        ("\x1b[31m", ""),
        ("", ""),
        ("x" * 5000, ""),
        ("überprüfen", ""),
    ],
)
def test_a_mistyped_command_gets_the_likely_one_and_no_list(
    capsys: pytest.CaptureFixture[str], word: str, meant: str
) -> None:
    assert main(["--state", "x", word, "rounding"]) == 2
    said = capsys.readouterr().err
    assert meant in said
    assert "`planbound --help` lists the commands" in said
    assert ("did you mean" in said) == bool(meant)
    assert "\x1b" not in said
    assert sum(f"`{name}`" in said for name in COMMANDS) <= 3


@pytest.mark.requirement("cli.did-you-mean")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "--jsno"], "did you mean `--json`?"),
        (["approve", "x", "--diggest", "1"], "did you mean `--digest`?"),
        (["list", "--worksapce", "x"], "did you mean `--workspace`?"),
        (["list", "--frobnicate"], "`planbound list --help` tells what it takes"),
        (["--verison"], "did you mean `--version`?"),
        (["--worksapce", "x", "status"], "did you mean `--workspace`?"),
        (["answer", "x", "retyr"], "did you mean `retry`?"),
        (["verify", "--format", "jsn"], "did you mean `json`?"),
        (["help", "aprove"], "did you mean `approve`?"),
        (["peple"], "did you mean `help people`?"),
        (["plans"], "it is a group: `planbound help plans` lists its commands"),
    ],
)
def test_a_mistyped_option_or_group_gets_the_likely_one(
    capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    assert main(words) == 2
    got = capsys.readouterr()
    assert got.out == ""
    assert f"hint: {said}" in got.err


@pytest.mark.requirement("cli.anywhere")
def test_commands_find_the_workspace_from_a_subdirectory(program: Program) -> None:
    program.plan("hello")
    below = program.workspace / "src/deep"
    below.mkdir(parents=True)
    assert "no problems" in program.run("verify", "hello", cwd=below).out
    assert program.run("list", "--json", cwd=below).json[0]["slug"] == "hello"
    done = program.run("--workspace", str(program.workspace), "list", cwd=program.workspace.parent)
    assert done.out.startswith("hello")
    done = program.run("list", "--workspace", str(program.workspace), cwd=program.workspace.parent)
    assert done.out.startswith("hello")


@pytest.mark.requirement("cli.anywhere")
def test_colours_are_for_terminals_and_respect_no_color(program: Program) -> None:
    program.plan("hello")

    def on_a_terminal(**extra: str) -> str:
        master, slave = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "planbound", "show", "hello"],
            cwd=program.workspace, stdin=subprocess.DEVNULL, stdout=slave, stderr=slave,
            env=program.environment(TERM="xterm", **extra),
        )  # fmt: skip
        os.close(slave)
        output = b""
        while True:
            try:
                chunk = os.read(master, 65536)
            except OSError:
                break
            if not chunk:
                break
            output += chunk
        assert process.wait(30) == 0
        os.close(master)
        return output.decode()

    assert "\x1b[1m" in on_a_terminal()
    assert "\x1b" not in on_a_terminal(NO_COLOR="1")


@pytest.mark.requirement("invariant.bind-loudly")
def test_which_plan_is_meant_is_never_guessed(program: Program) -> None:
    program.plan("one")
    program.plan("two")
    done = program.run("show")
    assert done.code == 2
    assert "name one of `one`, `two`" in done.err
    program.write(".harness/active-plan", "two\n")
    assert program.run("show", "--json").json["slug"] == "two"
    for marker in ("", "  \n", "../x", "a/b", "three", "one\ntwo", "..", "\0"):
        program.write(".harness/active-plan", marker)
        program.write(".harness/PLAN.md", SOUND)
        done = program.run("show", "--json")
        assert (done.code, done.json["error"]["code"]) == (2, "no-plan-bound"), marker
        assert "active-plan" in done.err
    (program.workspace / ".harness/active-plan").unlink()
    assert program.run("show", "--json").json["slug"] == "PLAN"


@pytest.mark.requirement("cli.honest-ends")
def test_a_reader_that_goes_away_is_no_error(program: Program) -> None:
    program.plan("hello", SOUND + "\n## Notes\n" + "x\n" * 10)
    done = subprocess.run(
        ["bash", "-c", f"{sys.executable} -m planbound explain | head -1; echo ${{PIPESTATUS[0]}}"],
        cwd=program.workspace, capture_output=True, text=True, check=False,
        env=program.environment(),
    )  # fmt: skip
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.requirement("cli.honest-ends")
def test_output_that_cannot_be_written_is_told(program: Program) -> None:
    program.plan("hello")
    with open("/dev/full", "w", encoding="utf-8") as full:
        done = subprocess.run(
            [sys.executable, "-m", "planbound", "show", "hello"],
            cwd=program.workspace, stdout=full, stderr=subprocess.PIPE, text=True, check=False,
            env=program.environment(),
        )  # fmt: skip
    assert done.returncode == 2
    assert "No space left" in done.stderr


@pytest.mark.requirement("cli.honest-ends")
def test_an_interrupt_ends_with_130(program: Program) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "verify", "-"],
        cwd=program.workspace, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, env=program.environment(PYTHONUNBUFFERED="1"),
    )  # fmt: skip
    assert process.stdin
    # The program reads standard input once it is ready: its own start closes no file before.
    while "pipe" not in os.readlink(f"/proc/{process.pid}/fd/0"):
        pass
    wait_until_reading(process.pid)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert process.returncode == 130
    assert err == b"interrupted\n"


def wait_until_reading(pid: int) -> None:
    """Wait until a process sits in a read of its standard input."""
    for _ in range(10_000):
        with open(f"/proc/{pid}/syscall", encoding="ascii") as file:
            words = file.read().split()
        if words[:2] == ["0", "0x0"]:
            return
        os.sched_yield()
        signal.sigtimedwait([], 0.005)
    raise AssertionError("the program never read its input")


@pytest.mark.requirement("cli.honest-ends")
@pytest.mark.parametrize(
    ("toml", "message"),
    [
        ("profil = 'strict'\n", "did you mean `profile`?"),
        ("profile = 'loose'\n", 'write "default" or "strict"'),
        ("[verify\n", "not valid TOML"),
        ("agents = 3\n", "`agents` is not a table"),
        ("[verify]\nx = 1\n", "unknown key `verify.x`"),
    ],
)
def test_a_bad_configuration_is_told(program: Program, toml: str, message: str) -> None:
    program.plan("hello")
    program.write("planbound.toml", toml)
    done = program.run("verify", "hello")
    assert done.code == 2
    assert message in done.err


def test_configured_agents_are_the_roles(program: Program) -> None:
    program.plan("hello")
    program.write("pyproject.toml", '[tool.planbound.agents.coder]\nkind = "command"\n')
    found = program.run("verify", "hello", "--json").json
    assert [(item["code"], item["line"]) for item in found] == [("PB204", 45)]


@pytest.mark.requirement("cli.honest-ends")
def test_a_bug_of_ours_leaves_a_report(program: Program, tmp_path: Path) -> None:
    program.write("sitecustomize.py", "from planbound.plan import digest\ndigest.digest = None\n")
    program.plan("hello")
    done = program.run("show", "hello", PYTHONPATH=str(program.workspace), TMPDIR=str(tmp_path))
    assert done.code == 70
    assert "this is a bug in Planbound" in done.err
    (report,) = tmp_path.glob("planbound-bug-*.txt")
    assert "Traceback" in report.read_text()


def test_a_locale_without_unicode_does_not_crash(program: Program) -> None:
    program.plan("hello", SOUND.replace("Say it in French", "Dis-le en français ✓ 修"))
    done = program.run("show", "hello", LC_ALL="C", PYTHONIOENCODING="ascii", PYTHONUTF8="0")
    assert done.code == 0
    assert "fran\\xe7ais" in done.out
