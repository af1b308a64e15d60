"""`planbound mcp` on a real workspace, with the real judge."""

import json
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp_types import CallToolResult, TextResourceContents

from tests.program import WITHOUT_WALLS, Program
from tests.session.mcp.raw import NEWEST, RawClient, serving, spoken_to
from tests.tables import first_always

STEPS = [
    {"title": "Write one", "contract": "grep -qx right one.txt", "touches": ["one.txt"]},
    {"title": "Write two", "check": {"file_exists": {"path": "two.txt", "contains": "right"}}},
]
POSTCONDITIONS = [{"statement": "Both say the same", "contract": "cmp one.txt two.txt"}]
PLAN = {"objective": "Say it twice", "steps": STEPS, "postconditions": POSTCONDITIONS}
SEEN = "wrote the file and read it again with cat"

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def client(program: Program, *arguments: str, mode: str = "auto") -> AsyncIterator[Client]:
    server = spoken_to(serving(program, *arguments))
    async with Client(server, mode=mode, read_timeout_seconds=60) as connected:
        yield connected


@contextmanager
def raw(program: Program, *arguments: str, **extra: str) -> Iterator[RawClient]:
    with RawClient(serving(program, *arguments, **extra)) as server:
        server.greet()
        yield server


def events(program: Program, *kinds: str) -> list[dict[str, Any]]:
    found = [json.loads(line) for line in program.run("log", "--json").out.splitlines()]
    return [event for event in found if not kinds or event["event"] in kinds]


def told(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    content: dict[str, Any] = result.structured_content
    return content


@pytest.mark.requirement("loop.mcp")
@pytest.mark.parametrize("mode", first_always(["legacy", NEWEST]))
async def test_a_false_done_is_refused_twice_and_the_work_is_accepted(
    program: Program, mode: str
) -> None:
    async with client(program, "--session", "s-1", mode=mode) as connected:

        async def call(name: str, **arguments: Any) -> dict[str, Any]:
            return told(await connected.call_tool(name, arguments))

        assert (await call("plan_create", **PLAN))["ok"]
        for lie in ("All done!", "really done, trust me"):
            refusal = await call("plan_finish", summary=lie)
            assert (refusal["ok"], refusal["accepted"]) == (False, False)
            assert "Write two" in refusal["text"]
        false = await call("step_update", step=1, status="done", evidence=SEEN)
        assert (false["ok"], false["proved"]) == (False, False)
        program.write("one.txt", "right\n")
        program.write("two.txt", "right\n")
        for step in (1, 2):
            assert (await call("step_update", step=step, status="done", evidence=SEEN))["proved"]
        assert (await call("postcondition_verify", postcondition=1))["proved"]
        assert "FINALIZATION_REJECTED" in (await call("plan_log"))["text"]
        assert "2/2 steps" in (await call("plan_status"))["text"]
        end = await call("plan_finish", summary="Both files say right.")
        assert (end["ok"], end["accepted"], end["outcome"]) == (True, True, "done")
    finals = [event["event"] for event in events(program) if "FINAL" in event["event"]]
    assert finals == ["FINALIZATION_REJECTED"] * 2 + ["FINALIZATION_ACCEPTED"]
    accepted = events(program, "FINALIZATION_ACCEPTED")[0]
    assert accepted["details"]["session"] == "s-1"


@pytest.mark.thorough
async def test_a_wrong_call_says_what_is_wrong_and_changes_nothing(program: Program) -> None:
    async with client(program) as connected:
        nothing = await connected.call_tool("plan_show", {})
        assert nothing.is_error
        assert "plan_create" in nothing.structured_content["text"]
        told(await connected.call_tool("plan_create", PLAN))
        before = len(events(program))
        for arguments in (
            {"step": 9, "status": "done", "evidence": SEEN},
            {"step": 1, "status": "blocked"},
        ):
            assert (await connected.call_tool("step_update", arguments)).is_error
        assert len(events(program)) == before


@pytest.mark.thorough
async def test_a_process_lets_the_plan_and_its_journal_be_read(program: Program) -> None:
    process = StdioServerParameters(
        command=sys.executable,
        args=["-m", "planbound", "mcp"],
        cwd=program.workspace,
        env=program.environment(),
    )
    async with Client(process, mode="auto", read_timeout_seconds=60) as connected:
        name = told(await connected.call_tool("plan_create", PLAN))["plan"]
        listed = [str(each.uri) for each in (await connected.list_resources()).resources]
        assert listed == [f"plan://{name}", f"journal://{name}"]
        [plan] = (await connected.read_resource(f"plan://{name}")).contents
        assert isinstance(plan, TextResourceContents)
        assert "# Say it twice" in plan.text
        [journal] = (await connected.read_resource(f"journal://{name}")).contents
        assert isinstance(journal, TextResourceContents)
        kinds = [json.loads(line)["event"] for line in journal.text.splitlines()]
        assert kinds == [event["event"] for event in events(program)]


@pytest.mark.requirement("loop.mcp.resources")
async def test_documents_have_an_end(program: Program) -> None:
    long = "".join(f"{line}: {'word ' * 30}\n" for line in range(3000))
    program.plan("long", f"# Long\n\n{long}")
    async with client(program) as connected:
        [plan] = (await connected.read_resource("plan://long")).contents
    assert isinstance(plan, TextResourceContents)
    assert len(plan.text) < 200_100
    assert "[cut: " in plan.text[-40:]


@pytest.mark.thorough
async def test_a_document_outside_the_plans_is_not_read(program: Program) -> None:
    program.write("secret.md", "# Secret\n")
    with raw(program) as server:
        for uri in ("plan://secret.md", "plan://..%2Fsecret.md", "plan://../secret.md"):
            assert "error" in server.ask("resources/read", {"uri": uri}), uri


@pytest.mark.thorough
async def test_where_approval_is_demanded_the_text_says_what_a_person_runs(
    program: Program,
) -> None:
    program.write("planbound.toml", "[gate]\napproval = true\n")
    async with client(program, "--plan", "twice") as connected:
        told(await connected.call_tool("plan_create", {**PLAN, "name": "twice"}))
        early = await connected.call_tool("step_update", {"step": 1, "status": "in_progress"})
        assert "approve" in early.structured_content["text"]
        asked = told(await connected.call_tool("plan_request_approval", {}))
        assert "`planbound approve twice`" in asked["text"]
        assert asked["approved"] is False
        digest = program.run("show", "twice", "--json").json["digest"]
        done = program.run("approve", "twice", "--digest", digest, "--as", "ada")
        assert done.code == 0, done.err
        begun = await connected.call_tool("step_update", {"step": 1, "status": "in_progress"})
        assert told(begun)["ok"]


@pytest.mark.requirement("loop.mcp.two")
async def test_two_servers_on_one_plan_come_one_after_the_other(program: Program) -> None:
    slow = [{"title": "Write one", "contract": "sleep 1; grep -qx right one.txt"}]
    with raw(program, "--session", "a") as one, raw(program, "--session", "b") as other:
        assert one.call("plan_create", objective="Say it", steps=slow)["structuredContent"]["ok"]
        program.write("one.txt", "right\n")
        call = {
            "name": "step_update",
            "arguments": {"step": 1, "status": "done", "evidence": SEEN},
        }
        first, second = one.send("tools/call", call), other.send("tools/call", call)
        for server, number in ((one, first), (other, second)):
            assert server.answer(number)["result"]["structuredContent"]["proved"] is True
    judged = events(program, "CONTRACT_EVALUATED")
    assert [event["details"]["verdict"] for event in judged] == ["pass", "pass"]
    assert program.run("log", "--verify").code == 0


def lines_in(path: Path) -> int:
    return len(path.read_text().splitlines())


KILLS = {
    "before:CONTRACT_EVALUATED:1": 0,
    "after:CONTRACT_EVALUATED:1": 1,
    "after:TASK_COMPLETED:1": 1,
}
"""Where the server is killed, and how many verdicts are on record then.

The contract ran twice: before the work, and for the call that was killed.
"""


@pytest.mark.requirement("loop.mcp.kill")
@pytest.mark.parametrize(("point", "recorded"), first_always(list(KILLS.items()), fields=2))
async def test_a_server_that_is_killed_before_it_answers_goes_on_right(
    program: Program, tmp_path_factory: pytest.TempPathFactory, point: str, recorded: int
) -> None:
    count: Path = tmp_path_factory.mktemp("count") / "runs"
    program.program = WITHOUT_WALLS  # so that a contract can count how often it runs
    # No comparison that would be run once more with another value.
    contract = f"echo x >> {count}; case $(cat one.txt) in righ[t]) ;; *) exit 1 ;; esac"
    steps = [{"title": "Write one", "contract": contract}]
    done = {"step": 1, "status": "done", "evidence": SEEN}
    with raw(program, PLANBOUND_FAILPOINT=point) as server:
        server.call("plan_create", objective="Say it", steps=steps)
        program.write("one.txt", "right\n")
        server.send("tools/call", {"name": "step_update", "arguments": done})
        assert server.process.wait(timeout=30) == -9
    assert len(events(program, "CONTRACT_EVALUATED")) == recorded
    assert lines_in(count) == 2
    with raw(program) as server:
        assert server.call("step_update", **done)["structuredContent"]["proved"] is True
        end = server.call("plan_finish", summary="It says right.")["structuredContent"]
        assert end["accepted"] is True
    # Nothing ran since then without being recorded.
    assert len(events(program, "CONTRACT_EVALUATED")) - recorded == lines_in(count) - 2
    assert len(events(program, "TASK_COMPLETED")) == 1
    assert program.run("log", "--verify").code == 0
