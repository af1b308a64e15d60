"""What programs read: every command's `--json` is as the reference says, and so is its error."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from planbound.cli.commands import COMMANDS
from planbound.cli.main import main
from planbound.cli.parser import parser_of
from planbound.cli.shape import ErrorPrinted
from planbound.errors import PlanboundError
from planbound.session.tools import open_tools
from tests.needs import need
from tests.page.browser import serving
from tests.program import Outcome
from tests.run.bench import Bench, Step
from tools.json_reference import WITHOUT, shapes_of


def test_every_command_that_reads_or_decides_has_json_and_says_which() -> None:
    for name in COMMANDS:
        options = parser_of(name).format_help()
        assert ("--json" in options) == (name not in WITHOUT) == bool(shapes_of(name)), name


# -- one scene for each shape ------------------------------------------------------------------


def _words(*words: str) -> Callable[[Bench], Outcome]:
    """Return the scene of a command on a plan that nobody has begun."""

    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one"))
        return bench.run(*words, "--json")

    return scene


def _approved(*words: str) -> Callable[[Bench], Outcome]:
    def scene(bench: Bench) -> Outcome:
        bench.prepare(Step("make one"))
        return bench.run(*words, "--json")

    return scene


def _done(*words: str) -> Callable[[Bench], Outcome]:
    def scene(bench: Bench) -> Outcome:
        bench.prepare(Step("make one"))
        bench.goes("run")
        return bench.run(*words, "--json")

    return scene


def _asking(*words: str) -> Callable[[Bench], Outcome]:
    """Return the scene of a command where a question waits; `ID` is the question."""

    def scene(bench: Bench) -> Outcome:
        bench.prepare(
            Step("make one", work="false"),
            Step("sign it", attest="it is good"),
            settings="[recipes]\n",
        )
        bench.goes("run", "--no-input", code=4)
        known = bench.question()["id"] if "ID" in words else ""
        given = [known if word == "ID" else word for word in words]
        return bench.run(*given, "--json")

    return scene


def _amended(bench: Bench) -> Outcome:
    bench.prepare(Step("make one"), Step("make two", work="false"))
    bench.goes("run", "--no-input", code=4)
    bench.answer("revise")
    bench.lay(Step("make one"), Step("make three"))
    return bench.run("amend", "--as", "tester", "--json")


def _signed(bench: Bench) -> Outcome:
    bench.prepare(Step("sign it", attest="it is good"))
    bench.goes("run", "--no-input", code=4)
    return bench.run("attest", "PLAN", "1", "--as", "tester", "--json")


def _given_by_digest(bench: Bench) -> Outcome:
    bench.lay(Step("make one"))
    digest = bench.run("show", "--json").json["digest"]
    return bench.run("approve", "--digest", digest[:16], "--as", "tester", "--json")


def _worked(bench: Bench) -> Outcome:
    bench.prepare(Step("make one"))
    bench.goes("submit")
    return bench.run("worker", "--once", "--json")


def _decided(said: str) -> Callable[[Bench], Outcome]:
    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one"), Step("make two"))
        return bench.run("decide", "PLAN", said, "--as", "tester", "--json")

    return scene


def _checked(bench: Bench) -> Outcome:
    bench.prepare(Step("make one"))
    bench.goes("run")
    bench.goes("receipt", "PLAN", "--unsigned", "-o", "it.jsonl")
    return bench.run("check-receipt", "it.jsonl", "--json")


def _with_a_page(bench: Bench) -> Outcome:
    with serving(bench):
        return bench.run("page", "--url", "--json")


def _in_the_loop(*words: str) -> Callable[[Bench], Outcome]:
    def scene(bench: Bench) -> Outcome:
        state = str(bench.folder / "state")
        loop = open_tools(workspace=str(bench.workspace), state=state, session="s", name="mine")
        steps = [{"title": "make one", "contract": "test -e one"}]
        loop.plan_create("say it", steps, ["it is there"])
        return bench.run(*words, "--json")

    return scene


def _with_a_reviewer(bench: Bench) -> Outcome:
    bench.lay(Step("make one"))
    agent = bench.folder / "agents" / "reviewer"
    agent.write_text("#!/bin/sh\ncat >/dev/null\necho 'it is fine'\n")
    agent.chmod(0o755)
    bench.write("planbound.toml", f'[agents.reviewer]\ncommand = ["{agent}"]\n')
    return bench.run("review", "--json")


def _told(bench: Bench) -> Outcome:
    bench.lay(Step("make one"))
    bench.write("planbound.toml", '[[notify]]\ncommand = ["true"]\nevents = ["PLAN_CREATED"]\n')
    bench.run("notify")
    bench.goes("new", "another")
    return bench.run("notify", "--json")


def _with_defects(bench: Bench) -> Outcome:
    bench.write("src/calc.py", "def one():\n    return 1\n")
    contract = "cd src && python3 -c 'import calc; calc.one()'"
    bench.lay(Step("make one", contract=contract, touches="src/calc.py"))
    return bench.run("control", "--all", "--json")


def _in_a_repository(*before: tuple[str, ...]) -> Callable[[Bench], Outcome]:
    """Return the scene of the last command, after the others, where git is."""

    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one", target="coder-one"), name="one")
        shutil.rmtree(bench.workspace / ".git")
        bench.write(".gitignore", ".harness/\n")
        for git in ("init -q -b main", "add -A", "commit -q -m begin"):
            subprocess.run(
                ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *git.split()],
                cwd=bench.workspace, check=True, capture_output=True,
            )  # fmt: skip
        bench.approve("one")
        for words in before[:-1]:
            bench.goes(*words)
        return bench.run(*before[-1], "--json")

    return scene


DRAFT = """---
type: plan
status: draft
owner: planner
---

# Say hello

## Steps

### 1. Say it

**target:** planner
**touches:**
- hello

**task:**
Write hello into the file `hello`.

**contract:**
```shell
test -s hello
```
exit_code == 0

## Postconditions

1. It is said
   ```shell
   test -s hello
   ```
   exit_code == 0
"""


def _with_a_planner(*words: str) -> Callable[[Bench], Outcome]:
    """Return the scene of a command that asks a model for a plan."""

    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one"), name="one")
        answer = bench.folder / "agents" / "answer"
        answer.write_text(f"````markdown\n{DRAFT}````\n")
        agent = bench.folder / "agents" / "planner"
        agent.write_text(f"#!/bin/sh\ncat >/dev/null\ncat '{answer}'\n")
        agent.chmod(0o755)
        bench.write("planbound.toml", f'[agents.planner]\ncommand = ["{agent}"]\n')
        return bench.run(*words, "--json")

    return scene


def _files(*words: str, **content: str) -> Callable[[Bench], Outcome]:
    """Return the scene of a command in a workspace with some files."""

    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one"), name="one")
        for name, text in content.items():
            bench.write(name.replace("_", "."), text)
        return bench.run(*words, "--json")

    return scene


def _queued(bench: Bench) -> Outcome:
    bench.lay(Step("make one"), name="one")
    bench.goes("stage", "two")
    return bench.run("activate", "two", "--json")


def _begun(bench: Bench) -> Outcome:
    bench.write("test_one.py", "import unittest\n\nclass T(unittest.TestCase):\n"
                "    def test_it(self):\n        pass\n")  # fmt: skip
    shutil.rmtree(bench.workspace / ".harness", ignore_errors=True)
    return bench.run("init", "--json")


def _set_up(*words: str) -> Callable[[Bench], Outcome]:
    def scene(bench: Bench) -> Outcome:
        bench.lay(Step("make one"))
        return bench.run("install", "claude", *words, "--json")

    return scene


def _of_a_receipt(*words: str) -> Callable[[Bench], Outcome]:
    """Return the scene of a command on the receipt `one.jsonl` of a plan in a repository."""

    def scene(bench: Bench) -> Outcome:
        need("ssh-keygen", "receipts are signed by it")
        shutil.rmtree(bench.workspace / ".git")
        for step in (["init", "-q"], ["add", "src"], ["commit", "-qm", "base"]):
            named = ["-c", "user.name=a", "-c", "user.email=a@b"]
            subprocess.run(["git", *named, *step], cwd=bench.workspace, check=True)
        bench.prepare(Step("make one"), settings="[receipts]\nkeep = true\n")
        bench.goes("run")
        bench.goes("receipt", "-o", "one.jsonl")
        return bench.run(*words, "--json")

    return scene


TEMPLATE = DRAFT.replace("### 1. Say it", "### 1–N. Say {name}")


SCENES: dict[tuple[str, str], Callable[[Bench], Outcome]] = {
    ("init", ""): _begun,
    ("new", ""): _words("new", "another"),
    ("draft", ""): _with_a_planner("draft", "say hello"),
    ("draft", "--print-prompt"): _words("draft", "say hello", "--print-prompt"),
    ("redraft", ""): _with_a_planner("redraft", "one", "--reason", "it says nothing"),
    ("import", ""): _files("import", "todo.md", todo_md="# Things\n\n- [ ] say hello\n"),
    ("fmt", ""): _words("fmt"),
    ("expand", ""): _files(
        "expand", "plan.md", "--step", "1-N", "--count", "2", "--print", plan_md=TEMPLATE
    ),
    ("stage", ""): _words("stage", "another"),
    ("activate", ""): _queued,
    ("archive", ""): _files("archive", "one"),
    ("install", ""): _set_up(),
    ("install", "--print"): _set_up("--print"),
    ("review", ""): _with_a_reviewer,
    ("show", ""): _words("show"),
    ("list", ""): _done("list"),
    ("verify", ""): _words("verify"),
    ("explain", ""): _words("explain"),
    ("explain", "CODE"): _words("explain", "PB101"),
    ("resolve-active-plan", ""): _words("resolve-active-plan"),
    ("baseline", ""): _words("baseline"),
    ("judge", ""): _done("judge"),
    ("approve", ""): _given_by_digest,
    ("reject", ""): _words("reject", "--reason", "no", "--as", "tester"),
    ("ask", ""): _words("ask", "PLAN", "why?", "--as", "tester"),
    ("decide", "approved"): _decided("approved"),
    ("decide", "rejected"): _decided("rejected: too large"),
    ("decide", "a question"): _decided("why is it one step?"),
    ("decide", "a change"): _decided("remove step 2"),
    ("decide", "anything else"): _decided("perhaps on Tuesday"),
    ("amend", ""): _amended,
    ("run", ""): _approved("run"),
    ("run", "--detach"): _approved("run", "--detach"),
    ("resume", ""): _asking("resume", "--no-input"),
    ("resume", "--detach"): _asking("resume", "--detach"),
    ("submit", ""): _approved("submit"),
    ("worker", "a line each"): _worked,
    ("status", ""): _asking("status"),
    ("status", "of a plan in the loop"): _in_the_loop("status", "mine"),
    ("attach", "a line each"): _done("attach"),
    ("cancel", ""): _asking("cancel", "--as", "tester"),
    ("log", "a line each"): _asking("log"),
    ("log", "--verify"): _done("log", "--verify"),
    ("log", "--anchor"): _done("log", "--anchor"),
    ("inbox", ""): _asking("inbox"),
    ("inbox", "ID"): _asking("inbox", "ID"),
    ("answer", ""): _asking("answer", "ID", "retry", "--as", "tester"),
    ("waive", ""): _asking("waive", "PLAN", "1", "--reason", "no need", "--as", "tester"),
    ("attest", ""): _signed,
    ("release", ""): _in_the_loop("release", "mine", "--reason", "enough", "--as", "tester"),
    ("notify", ""): _told,
    ("claims", ""): _words("claims"),
    ("ready", ""): _approved("ready"),
    ("spawn", ""): _in_a_repository(("spawn", "one")),
    ("fleet", ""): _in_a_repository(("fleet",)),
    ("integrate", ""): _in_a_repository(("spawn", "one"), ("run", "one"), ("integrate",)),
    ("prune", ""): _in_a_repository(
        ("spawn", "one"), ("run", "one"), ("integrate",), ("prune",)
    ),
    ("merge-order", ""): _done("merge-order"),
    ("queue-status", ""): _done("queue-status"),
    ("standup", ""): _asking("standup"),
    ("agents", ""): _words("agents"),
    ("agents", "--probe"): _words("agents", "--probe"),
    ("control", ""): _with_defects,
    ("costs", ""): _done("costs", "--by", "step"),
    ("publish", ""): _in_a_repository(
        ("spawn", "one"),
        ("run", "one"),
        ("publish", "one", "--github", "--repository", "octo/lending", "--dry-run"),
    ),
    ("page", "--url"): _with_a_page,
    ("receipt", "--kept"): _of_a_receipt("receipt", "--kept"),
    ("replay", ""): _of_a_receipt("replay", "one.jsonl", "--tree", "HEAD"),
    ("selftest", ""): _words("selftest"),
    ("gc", ""): _done("gc"),
    ("receipt", ""): _done("receipt", "PLAN", "--unsigned", "-o", "it.jsonl"),
    ("check-receipt", ""): _checked,
    ("keys", ""): _words("keys"),
    ("doctor", ""): _words("doctor", "--fix"),
}  # fmt: skip


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _documents(text: str, how: str) -> list[Any]:
    return [json.loads(line) for line in text.splitlines()] if "line" in how else [json.loads(text)]


def _forms() -> list[tuple[str, str]]:
    return [(command, how) for command in COMMANDS for how in shapes_of(command)]


def test_there_is_a_scene_for_every_shape() -> None:
    assert sorted(SCENES) == sorted(_forms())


@pytest.mark.thorough
@pytest.mark.requirement("cli.json")
@pytest.mark.parametrize(("command", "how"), SCENES)
def test_json_is_as_the_reference_says(bench: Bench, command: str, how: str) -> None:
    done = SCENES[command, how](bench)
    try:
        documents = _documents(done.out, how)
        assert documents
        for document in documents:
            msgspec.convert(document, shapes_of(command)[how], strict=True)
    except (msgspec.ValidationError, ValueError, AssertionError) as error:
        pytest.fail(f"{error}\n{done.out}\n{done.err}")
    finally:
        bench.ends_all()


@pytest.mark.requirement("cli.json")
@pytest.mark.parametrize("command", sorted(set(COMMANDS) - set(WITHOUT)))
def test_an_error_is_json_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str
) -> None:
    known = {kind.code for kind in _kinds(PlanboundError)}
    for words in (["--nonsense"], ["--workspace", str(tmp_path / "nowhere")]):
        needed = [
            action.metavar if isinstance(action.metavar, str) else "x"
            for action in parser_of(command)._actions
            if not action.option_strings and action.nargs is None
        ]
        reason = ["--reason", "x"] if command == "waive" else []
        code = main([command, *needed, *reason, "--as", "x", *words, "--json"])
        said = capsys.readouterr()
        found = msgspec.json.decode(said.out, type=ErrorPrinted).error
        assert (code, found.code in known) == (2, True), said
        assert f"error: {found.message}" in said.err
        assert said.out.count("\n") == 1


def _kinds(kind: type[PlanboundError]) -> list[type[PlanboundError]]:
    return [kind, *(each for below in kind.__subclasses__() for each in _kinds(below))]


@pytest.mark.requirement("cli.json")
@pytest.mark.parametrize(
    ("words", "code", "exit_code"),
    [
        (("show", "nothing"), "no-such-plan", 2),
        (("archive", "nothing"), "no-such-plan", 2),
        (("activate", "nothing"), "no-such-plan", 2),
        (("status",), "no-plan-bound", 2),
        (("run", "one"), "not-approved", 2),
        (("resume",), "nothing-to-do", 3),
        (("approve", "two"), "faulty-plan", 1),
        (("verify", "--format", "json", "nothing"), "no-such-plan", 2),
        (("explain", "PB9999"), "usage", 2),
    ],
)
def test_the_code_of_an_error_tells_what_it_is(
    bench: Bench, words: tuple[str, ...], code: str, exit_code: int
) -> None:
    bench.lay(Step("make one"), name="one")
    bench.lay(Step("make two", target="nobody"), name="two")
    done = bench.run(*words, "--json")
    assert (done.json["error"]["code"], done.code) == (code, exit_code), done


@pytest.mark.requirement("cli.json")
def test_who_may_not_approve_a_faulty_plan_is_told_what_names_its_faults(bench: Bench) -> None:
    bench.lay(Step("make two", target="nobody"), name="two")
    error = bench.goes("approve", "two", "--json", code=1).json["error"]
    assert error["hint"] == "mend what `planbound verify two --json` reports"
    assert bench.goes("verify", "two", "--json", code=1).json
    said = bench.goes("approve", "two", code=1).err
    assert "hint: mend what `planbound verify two` reports\n" in said
