"""What a command loads before it does anything: start-up is paid by every call.

`benchmarks/start.py` and `benchmarks/hook.py` measure it; here it cannot come back unseen.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from tests.program import SOUND
from tests.session.hooks.session import Session
from tests.tables import one_fact

LOADED = """
import sys
compiled = []
sys.addaudithook(lambda name, given: compiled.append(given[0]) if name == "compile" else None)
from planbound.cli.main import main
main(sys.argv[1:])
modules = list(sys.modules)
import json, re
words = [each.decode() for each in compiled if isinstance(each, bytes)]
patterns = [key[1] for key in re._cache if isinstance(key[1], str)]
print(json.dumps([modules, words, patterns]), file=sys.stderr)
"""
JUDGING = ("judging", "cells.host", "cells.choose", "git", "agents", "run.decide")
READING_SCRIPTS = ("script", "verify.rules", "verify.examine", "tree_sitter")
JOURNAL = ("journal", "state", "msgspec", "sqlite3")
LIBRARIES = ("yaml", "ctypes", "asyncio", "ssl", "mcp", "acp", "pydantic_ai", "dbos", "psycopg")


class Loaded(NamedTuple):
    """What a command left behind in its process."""

    modules: set[str]
    compiled: list[str]
    """What was compiled of texts: annotations, and the constructors of named tuples."""
    patterns: list[str]


class Start(NamedTuple):
    """A command, and what it must not load."""

    name: str
    words: tuple[str, ...]
    without: tuple[str, ...]
    fields: Mapping[str, object] = MappingProxyType({})


def hook(moment: str, *without: str, **fields: object) -> Start:
    return Start(moment, ("hook", moment, "--host", "claude"), without, fields)


WRITE: dict[str, object] = {"tool_name": "Write", "tool_input": {"file_path": "src/one.txt"}}
READS = (*JUDGING, *READING_SCRIPTS, "drafting")
SUBSCRIBED = SOUND.replace(
    "### 2. Say it in French\n", "### 2. Say it in French\n\n**subscriptions:** file:hello.txt\n"
)
"""A file that is not there yet, and that the touches of another step name."""
LONGEST_PATTERN = 1000
"""Longer ones are lists of words, and take milliseconds to compile."""
STARTS = (
    Start("version", ("--version",), (*READS, *JOURNAL, "plan.model", "workspace", "json")),
    Start("verify", ("verify", "plan.md"), (*JUDGING, "state", "sqlite3", "subprocess", "xml")),
    Start("list", ("list",), (*READS, "difflib", "subprocess", "session", "run", "approval")),
    Start("status", ("status", "make-one-right"), (*READS, "subprocess")),
    Start("fmt", ("fmt", "--check", "plan.md"), (*JUDGING, "verify.rules", "state", "sqlite3")),
    Start("standup", ("standup",), (*READS, "subprocess")),
    Start("ready", ("ready",), (*READS, "subprocess")),
    Start("queue-status", ("queue-status",), (*READS, "subprocess")),
    Start("inbox", ("inbox",), (*READS, "subprocess")),
    Start("log", ("log",), (*READS, "plan.parse")),
    hook("session-start", *READS, "subprocess", "workspace.overview"),
    hook("pre-tool-use", *READS, "plan.parse", "pyromark", "workspace.configuration", **WRITE),
    hook("user-prompt-submit", *READS, "plan.parse", "pyromark"),
)


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> Session:
    """Return a workspace in which an agent owes a plan."""
    session = Session(tmp_path_factory.mktemp("start"))
    session.create()
    session.write("plan.md", SUBSCRIBED)
    session.ask("pre-tool-use", "claude", **WRITE)  # the first call keeps what the others need
    return session


@pytest.mark.thorough
@one_fact("start", STARTS)
def test_a_command_loads_nothing_that_it_does_not_use(planned: Session, start: Start) -> None:
    found = loaded(planned, planned.workspace, start)
    assert not unwanted(found.modules, (*start.without, *LIBRARIES)), start.name
    assert not [each for each in found.patterns if len(each) > LONGEST_PATTERN], start.name


def test_a_hook_without_a_plan_loads_only_what_finds_plans(
    planned: Session, tmp_path: Path
) -> None:
    found = loaded(planned, tmp_path, hook("stop"))
    unused = ("plan", "source", "disk", "workspace.tree", "workspace.context", "typing_extensions")
    assert not unwanted(found.modules, (*READS, *JOURNAL, *LIBRARIES, *unused))
    # Python compiles an annotation of a named tuple that is a text, and first prepares for that.
    assert [each for each in found.compiled if not each.startswith("lambda _cls")] == []


@pytest.mark.thorough
def test_a_process_that_is_to_die_at_an_append_loads_no_fakes(tmp_path: Path) -> None:
    session = Session(tmp_path)
    start = Start("new", ("new", "hello"), ())
    found = loaded(session, session.workspace, start, PLANBOUND_FAILPOINT="before:1000")
    assert "planbound.journal.sqlite" in found.modules
    assert not unwanted(found.modules, ("testing",))


@pytest.mark.thorough
def test_a_stop_on_a_judged_tree_prepares_no_judging(tmp_path: Path) -> None:
    session = Session(tmp_path)
    session.create()
    session.write("one.txt", "right\n")
    session.finish_step()
    # The same files as at the verdict: nothing is run, so no cell is chosen and tried.
    found = loaded(session, session.workspace, hook("stop"))
    judging = ("context", "contract", "judge", "judges", "reference", "reproduction", "verdict")
    assert not unwanted(
        found.modules,
        (
            *(f"judging.{name}" for name in judging),
            *("cells.host", "cells.choose", "cells.probe", "cells.cell", "script"),
            *("git", "agents", "approval", "run"),
            *("verify.rules", "verify.examine", "verify.subject", "tree_sitter", "subprocess"),
            *LIBRARIES,
        ),
    )
    (accepted,) = session.events("FINALIZATION_ACCEPTED")
    assert accepted["details"]["outcome"] == "done"
    assert len(session.events("CONTRACT_EVALUATED")) == 1


def loaded(session: Session, folder: Path, start: Start, **extra: str) -> Loaded:
    """Return what is loaded and compiled when a command is at its end."""
    event = {"session_id": "s-1", "cwd": str(folder), **start.fields}
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *start.words],
        cwd=folder,
        env=session.environment() | extra,
        input=json.dumps(event),
        capture_output=True,
        text=True,
        check=True,
    )
    modules, compiled, patterns = json.loads(done.stderr.splitlines()[-1])
    return Loaded(set(modules), compiled, patterns)


def unwanted(found: set[str], names: tuple[str, ...]) -> set[str]:
    """Return what was loaded of some features, modules and libraries."""
    roots = {prefix + name for name in names for prefix in ("", "planbound.")}
    return {each for each in found for root in roots if f"{each}.".startswith(f"{root}.")}
