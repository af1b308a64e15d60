"""There is no judging without a cell any more, and a configuration that asks for it is told so."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.cells.cell import CommandEnding, Outcome, Request
from planbound.errors import ConfigurationError
from planbound.journal.event import VerdictKind
from planbound.judging.meaning import meaning
from planbound.plan.model import Stream
from planbound.testing.cell import ScriptedCell
from planbound.workspace.configuration import Configuration
from planbound.workspace.configuration_file import read_configuration
from tests.cli.test_judge import Project, plan_text

pytestmark = pytest.mark.requirement("judging.bare")


@pytest.mark.thorough
def test_who_asks_for_no_cell_is_told_what_to_do(tmp_path: Path) -> None:
    project = Project(tmp_path)
    project.write("planbound.toml", "[judging]\nbare = true\n")
    project.plan("it", plan_text("true"))
    done = project.run("judge", "it")
    assert done.code == 2
    assert "`judging.bare` is true in " in done.err
    assert "hint: remove the line: every contract runs in a cell now" in done.err


def test_who_said_that_there_is_a_cell_was_right() -> None:
    found = read_configuration({"judging": {"bare": False}}, path="planbound.toml")
    assert found.judging == Configuration().judging
    with pytest.raises(ConfigurationError, match=r"`judging\.bare` is 1 in"):
        read_configuration({"judging": {"bare": 1}}, path="planbound.toml")


def test_a_stopped_contract_is_killed() -> None:
    finding = meaning(Outcome(ending=CommandEnding.STOPPED, reason="the budget is spent"), [], None)
    assert finding.kind is VerdictKind.KILLED
    assert "the budget is spent" in finding.reason


class Impatient:
    """Ends everything at once."""

    def saw(self, stream: Stream, data: bytes) -> None:
        raise AssertionError(f"nothing was printed, and not {data!r} to {stream}")

    def stop(self) -> str | None:
        return "enough"


def test_the_public_fake_answers_without_a_process(tmp_path: Path) -> None:
    request = Request(command=("/bin/false",), workspace=str(tmp_path), environment={})
    assert ScriptedCell().run(request).exit_code == 0
    fails = ScriptedCell(lambda _: Outcome(CommandEnding.EXITED, exit_code=7))
    assert fails.run(request).exit_code == 7
    stopped = fails.run(request, Impatient())
    assert (stopped.ending, stopped.reason) == (CommandEnding.STOPPED, "enough")
