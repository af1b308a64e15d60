"""A person approves in the client of the agent, where the configuration allows that."""

import json
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from mcp import Client
from mcp.client import ClientRequestContext
from mcp_types import ElicitRequestFormParams, ElicitRequestParams, ElicitResult

from tests.program import Program
from tests.session.mcp.raw import NEWEST, serving, spoken_to
from tests.tables import first_always

ALLOWED = "[gate]\napproval = true\nelicitation = true\n"
PLAN = {"objective": "Say it", "name": "once"}
BEGIN = {"step": 1, "status": "in_progress"}
Answer = Callable[[str], ElicitResult]

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


def yes(text: str) -> ElicitResult:
    found = re.search(r"Its digest is ([0-9a-f]{6})", text)
    assert found
    return ElicitResult(action="accept", content={"digest": found[1], "name": "ada"})


def no(_text: str) -> ElicitResult:
    return ElicitResult(action="decline")


def thoughtless(_text: str) -> ElicitResult:
    return ElicitResult(action="accept", content={"digest": "yes", "name": "ada"})


class Person:
    """Answers every question alike, and remembers what was asked."""

    def __init__(self, answer: Answer) -> None:
        self.answer = answer
        self.asked: list[str] = []

    async def __call__(
        self, context: ClientRequestContext, params: ElicitRequestParams
    ) -> ElicitResult:
        del context
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return self.answer(params.message)


@asynccontextmanager
async def client(
    program: Program, person: Person | None, mode: str = NEWEST, contract: str = "sh check.sh"
) -> AsyncIterator[Client]:
    program.write("check.sh", "grep -qx right one.txt\n")
    server = spoken_to(serving(program, "--plan", "once"))
    async with Client(
        server, mode=mode, elicitation_callback=person, read_timeout_seconds=60
    ) as connected:
        plan = {**PLAN, "steps": [{"title": "Write one", "contract": contract}]}
        assert not (await connected.call_tool("plan_create", plan)).is_error
        yield connected


def approvals(program: Program) -> list[dict[str, Any]]:
    log = program.run("log", "--json", "--event", "GATE_APPROVED").out
    return [json.loads(line)["details"] for line in log.splitlines()]


@pytest.mark.thorough
@pytest.mark.requirement("gate.elicitation", "gate.warnings-seen")
@pytest.mark.parametrize("mode", first_always(["legacy", NEWEST]))
async def test_a_person_who_types_the_digest_approves_what_was_shown(
    program: Program, mode: str
) -> None:
    program.write("planbound.toml", ALLOWED)
    person = Person(yes)
    async with client(program, person, mode) as connected:
        assert (await connected.call_tool("step_update", BEGIN)).is_error
        asked = await connected.call_tool("plan_request_approval", {})
        assert asked.structured_content["approved"] is True
        assert not (await connected.call_tool("step_update", BEGIN)).is_error
    assert len(person.asked) == 1
    for words in ("Write one", "runs: sh check.sh", "judged by check.sh"):
        assert words in person.asked[0]
    assert person.asked[0].splitlines()[1].startswith("warning PB206, line ")
    [approval] = approvals(program)
    assert approval["seen"] == ["PB206"]
    assert (approval["method"], approval["strength"]) == ("elicitation", "word")
    assert approval["by"] == "ada"
    assert approval["judges"].keys() == {"check.sh"}


@pytest.mark.thorough
@pytest.mark.requirement("gate.elicitation")
@pytest.mark.parametrize("answer", first_always([no, thoughtless]))
@pytest.mark.parametrize("mode", first_always(["legacy", NEWEST]))
async def test_anything_else_approves_nothing(program: Program, mode: str, answer: Answer) -> None:
    program.write("planbound.toml", ALLOWED)
    async with client(program, Person(answer), mode) as connected:
        asked = await connected.call_tool("plan_request_approval", {})
        assert asked.structured_content["approved"] is False
        assert "`planbound approve once`" in asked.structured_content["text"]
        assert (await connected.call_tool("step_update", BEGIN)).is_error
    assert approvals(program) == []


REFUSING = {
    "the configuration does not allow it": "[gate]\napproval = true\n",
    "only signatures count": f"{ALLOWED}signed = true\n",
}


@pytest.mark.requirement("gate.elicitation")
@pytest.mark.parametrize("configuration", first_always(list(REFUSING.values())), ids=REFUSING)
async def test_nobody_is_asked_where(program: Program, configuration: str) -> None:
    program.write("planbound.toml", configuration)
    person = Person(yes)
    async with client(program, person) as connected:
        # What an agent writes into the configuration later opens nothing.
        program.write("planbound.toml", ALLOWED)
        asked = await connected.call_tool("plan_request_approval", {})
        assert "`planbound approve once`" in asked.structured_content["text"]
    assert person.asked == []
    assert approvals(program) == []


@pytest.mark.thorough
async def test_a_client_without_forms_is_told_the_command(program: Program) -> None:
    program.write("planbound.toml", ALLOWED)
    async with client(program, None) as connected:
        asked = await connected.call_tool("plan_request_approval", {})
        assert not asked.is_error
        assert "`planbound approve once`" in asked.structured_content["text"]


@pytest.mark.thorough
async def test_a_plan_that_changes_while_it_is_shown_is_not_approved(program: Program) -> None:
    program.write("planbound.toml", ALLOWED)

    def meddling(text: str) -> ElicitResult:
        program.write("check.sh", "true\n")
        return yes(text)

    async with client(program, Person(meddling), "legacy") as connected:
        asked = await connected.call_tool("plan_request_approval", {})
        assert asked.is_error
        assert "nothing was approved" in asked.structured_content["text"]
    assert approvals(program) == []


@pytest.mark.thorough
@pytest.mark.requirement("gate.missing-tool")
async def test_nobody_is_asked_to_approve_over_a_program_that_is_not_there(
    program: Program,
) -> None:
    program.write("planbound.toml", ALLOWED)
    person = Person(yes)
    async with client(program, person, contract="grepp -q one src/one") as connected:
        asked = await connected.call_tool("plan_request_approval", {})
    assert asked.structured_content["approved"] is False
    assert person.asked == []
    digest = program.run("show", "once", "--json").json["digest"]
    refused = program.run("approve", "once", "--digest", digest[:12], "--as", "ada")
    assert "need `grepp`, which is not there" in refused.err
    assert approvals(program) == []
