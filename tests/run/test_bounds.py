"""Which number wins, as the reference says it: its table is read here, line by line."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from planbound.journal.words import FailureClass
from planbound.judging.case import cases
from planbound.plan.limits import parse_duration
from planbound.plan.parse import parse
from planbound.run.classify import Classified
from planbound.run.recovery import Abort, Escalate, FailureHistory, Retry, answer, recipe_for
from planbound.state.run import lay_out
from planbound.workspace.agents import agent_seconds, retries
from planbound.workspace.configuration_file import read_configuration
from tests.run.bench import Step, plan_text

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "recovery.md"
HEAD = "| the step says | the configuration says | agent | contract |"
KINDS = (FailureClass.HUNG, FailureClass.LOGIC, FailureClass.TRANSIENT)


def rows() -> list[list[str]]:
    """Return the table of the page, without its head."""
    _, _, table = PAGE.read_text(encoding="utf-8").partition(HEAD)
    lines = table.partition("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


@pytest.mark.requirement("recovery.bounds")
@pytest.mark.parametrize("row", rows(), ids=" / ".join)
def test_the_number_wins_that_the_reference_says(row: list[str]) -> None:
    said, configured, agent, contract, *counts = row
    fields = "\n".join(
        f"**{name}:** {value}" for name, value in re.findall(r"`(\w+): ([^`]+)`", said)
    )
    toml = "\n".join(re.findall(r"`([^`]+)`", configured))
    usual = '[agents.coder]\ncommand = ["true"]\n'
    document = tomllib.loads(f"agents.coder.command = ['true']\n{toml}" if toml else usual)
    configuration = read_configuration(document, path="planbound.toml")
    plan = parse(plan_text(Step("make a", fields=fields), after=()).encode(), path="PLAN.md")
    (slot,) = lay_out(plan).slots
    (case,) = cases(plan)

    assert agent_seconds(slot.step, configuration.agents["coder"]) == parse_duration(agent)
    assert configuration.contracts.seconds_for(case.seconds) == parse_duration(contract)
    for kind, count in zip(KINDS, counts, strict=True):
        found = Classified(kind, "test")
        assert retries(recipe_for(found, configuration.recipes), slot.on_fail) == int(count)
        # So often it is tried again, and then no more.
        for used in range(int(count) + 1):
            decision = answer(
                found, FailureHistory({kind: used}), slot.on_fail, configuration.recipes, 0
            )
            assert isinstance(decision, Retry if used < int(count) else Escalate | Abort)


def test_the_table_is_there() -> None:
    assert len(rows()) >= 9
