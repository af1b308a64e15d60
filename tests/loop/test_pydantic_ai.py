"""The capability for agents of pydantic-ai."""

from __future__ import annotations

import asyncio
import os
import pickle
from collections import Counter
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import (
    Agent,
    DeferredToolRequests,
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    UsageLimits,
)
from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.models.function import AgentInfo, FunctionModel

import planbound
from planbound.loop.pydantic_ai import PlanCapability
from tests.forked import Place, Started
from tests.program import Outcome, outcome

HELD = "holds (it was green before the work)"
STEP = {"title": "Write the greeting", "check": {"file_exists": {"path": "hello.txt"}}}
FALSE_DONE = ["All done!", "really done, trust me", "now it is there"]


class Report(BaseModel):
    text: str


class Model:
    """A scripted model: says its words one by one, the last one for ever; works in time or not."""

    def __init__(self, folder: Path, words: list[str], works_at: int | None = None) -> None:
        self.folder = folder
        self.words = words
        self.works_at = works_at
        self.requests = 0
        self.read: list[str] = []
        """The last thing that it read each time."""
        self.instructions = ""

    def __call__(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        word = self.words[min(self.requests, len(self.words) - 1)]
        self.requests += 1
        self.read.append(str(getattr(messages[-1].parts[-1], "content", "")))
        self.instructions = info.instructions or ""
        if self.requests == self.works_at:
            (self.folder / "hello.txt").write_text("hello\n")
        if info.output_tools:
            part = ToolCallPart(info.output_tools[0].name, {"text": word})
            return ModelResponse(parts=[part])
        return ModelResponse(parts=[TextPart(word)] if word else [])

    async def stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[str]:
        for part in self(messages, info).parts:
            assert isinstance(part, TextPart)
            yield part.content[:4]
            yield part.content[4:]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANBOUND_STATE", str(tmp_path / "state"))
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def session(folder: Path) -> planbound.Session:
    opened = planbound.open_session(str(folder))
    assert opened.call("plan_create", objective="Say hello", steps=[STEP]).ok
    return opened


def held(model: Model, session: planbound.Session, **more: Any) -> Agent[None, Any]:
    return Agent(
        FunctionModel(model, stream_function=model.stream),
        capabilities=[PlanCapability(session)],
        **more,
    )


def go(agent: Agent[None, Any], **more: Any) -> Any:
    return asyncio.run(agent.run("Say hello.", **more)).output


def events(session: planbound.Session) -> Counter[str]:
    found = session.call("plan_log", last=200).data["events"]
    assert isinstance(found, list)
    return Counter(str(each["event"]) for each in found if isinstance(each, dict))


def decided(session: planbound.Session) -> tuple[int, int, int]:
    found = events(session)
    kinds = ("FINALIZATION_REJECTED", "FINALIZATION_ACCEPTED", "FINALIZATION_CAPPED")
    refused, accepted, capped = (found[kind] for kind in kinds)
    return refused, accepted, capped


# -- the last word ---------------------------------------------------------------------------------


@pytest.mark.requirement("loop.pydantic-ai")
@pytest.mark.parametrize("retries", [0, 1, 9])
def test_false_done_is_refused_twice_and_the_fix_is_accepted_whatever_the_retries(
    folder: Path, session: planbound.Session, retries: int
) -> None:
    model = Model(folder, FALSE_DONE, works_at=3)
    agent = held(model, session, retries={"output": retries})
    assert go(agent) == "now it is there"
    assert model.requests == 3
    assert all("“Write the greeting” is not proved" in each for each in model.read[1:])
    assert decided(session) == (2, 1, 0)


def test_an_output_that_is_a_tool_call_is_gated_too(
    folder: Path, session: planbound.Session
) -> None:
    model = Model(folder, FALSE_DONE, works_at=3)
    agent = held(model, session, output_type=Report)
    assert go(agent) == Report(text="now it is there")
    assert decided(session) == (2, 1, 0)


@pytest.mark.requirement("loop.pydantic-ai")
def test_an_agent_that_never_does_it_ends_incomplete_within_the_bound(
    folder: Path, session: planbound.Session
) -> None:
    model = Model(folder, ["All done!"])
    with pytest.raises(planbound.IncompletePlan) as caught:
        go(held(model, session))
    assert "Write the greeting" in caught.value.missing[0]
    assert model.requests == 6
    assert decided(session) == (5, 0, 1)


def test_an_empty_answer_does_not_slip_past(folder: Path, session: planbound.Session) -> None:
    with pytest.raises(planbound.IncompletePlan) as caught:
        go(held(Model(folder, [""]), session))
    assert isinstance(caught.value.__cause__, UnexpectedModelBehavior)
    assert caught.value.missing
    assert decided(session) == (1, 0, 0)


def test_an_empty_answer_that_is_allowed_is_gated(folder: Path, session: planbound.Session) -> None:
    model = Model(folder, [""], works_at=3)
    go(held(model, session, output_type=[str, type(None)]))
    assert decided(session) == (2, 1, 0)


def test_a_run_that_a_limit_ends_is_not_complete(folder: Path, session: planbound.Session) -> None:
    agent = held(Model(folder, ["All done!"]), session)
    with pytest.raises(planbound.IncompletePlan, match="request_limit") as caught:
        go(agent, usage_limits=UsageLimits(request_limit=2))
    assert caught.value.missing


def test_a_failure_stays_what_it_is_where_the_plan_is_done(
    folder: Path, session: planbound.Session
) -> None:
    (folder / "hello.txt").write_text("hello\n")
    with pytest.raises(UnexpectedModelBehavior):
        go(held(Model(folder, [""]), session))


def test_a_capped_plan_stays_incomplete_in_the_next_run(
    folder: Path, session: planbound.Session
) -> None:
    for _ in range(6):
        session.call("plan_finish", summary="All done!")
    model = Model(folder, ["All done!"])
    with pytest.raises(planbound.IncompletePlan):
        go(held(model, session))
    assert model.requests == 1


def test_without_a_plan_an_agent_is_left_alone(folder: Path) -> None:
    agent = held(Model(folder, ["Hi."]), planbound.open_session(str(folder)))
    assert go(agent) == "Hi."


def test_a_run_that_waits_for_approval_is_not_at_its_end(
    folder: Path, session: planbound.Session
) -> None:
    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[ToolCallPart("publish", {})])

    agent = Agent(
        FunctionModel(model),
        capabilities=[PlanCapability[None](session)],
        output_type=[str, DeferredToolRequests],
    )

    @agent.tool_plain(requires_approval=True)
    def publish() -> str:
        return "published"

    assert isinstance(go(agent), DeferredToolRequests)
    assert decided(session) == (0, 0, 0)


# -- streaming -------------------------------------------------------------------------------------


async def by_events(agent: Agent[None, Any]) -> None:
    async with agent.run_stream_events("Say hello.") as stream:
        async for _ in stream:
            pass


async def by_handler(agent: Agent[None, Any]) -> None:
    async def handle(_: object, stream: Any) -> None:
        async for _ in stream:
            pass

    await agent.run("Say hello.", event_stream_handler=handle)


async def by_nodes(agent: Agent[None, Any]) -> None:
    async with agent.iter("Say hello.") as run:
        async for node in run:
            if agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream.stream_output():
                        pass
            elif agent.is_call_tools_node(node):
                async with node.stream(run.ctx) as handled:
                    async for _ in handled:
                        pass


@pytest.mark.requirement("loop.pydantic-ai.streaming")
@pytest.mark.parametrize("way", [by_events, by_handler, by_nodes])
def test_a_streamed_run_is_sent_back(
    folder: Path, session: planbound.Session, way: Callable[[Agent[None, Any]], Any]
) -> None:
    model = Model(folder, FALSE_DONE, works_at=3)
    asyncio.run(way(held(model, session)))
    assert model.requests == 3
    assert decided(session) == (2, 1, 0)


async def by_text(agent: Agent[None, Any]) -> None:
    async with agent.run_stream("Say hello.") as result:
        async for _ in result.stream_text():
            pass


async def by_output(agent: Agent[None, Any]) -> None:
    async with agent.run_stream("Say hello.") as result:
        await result.get_output()


@pytest.mark.requirement("loop.pydantic-ai.streaming")
@pytest.mark.parametrize("way", [by_text, by_output])
def test_run_stream_cannot_send_back_and_says_incomplete(
    folder: Path, session: planbound.Session, way: Callable[[Agent[None, Any]], Any]
) -> None:
    with pytest.raises(planbound.IncompletePlan):
        asyncio.run(way(held(Model(folder, ["All done!"]), session)))
    assert decided(session) == (1, 0, 0)
    (folder / "hello.txt").write_text("hello\n")
    asyncio.run(way(held(Model(folder, ["All done!"]), session)))
    assert decided(session) == (1, 1, 0)


# -- what the model is given -----------------------------------------------------------------------


def test_the_model_reads_how_and_where_the_plan_is(
    folder: Path, session: planbound.Session
) -> None:
    model = Model(folder, FALSE_DONE, works_at=3)
    go(held(model, session))
    assert planbound.instructions().strip() in model.instructions
    assert "This session works on the plan `say-hello`." in model.instructions


def test_the_tools_take_what_a_model_gives(folder: Path) -> None:
    session = planbound.open_session(str(folder))
    (folder / "hello.txt").write_text("hello\n")
    evidence = {"step": 1, "status": "done", "evidence": "cat hello.txt shows hello"}
    script: list[list[ToolCallPart | TextPart]] = [
        [
            ToolCallPart("plan_create", {"objective": "Say hello", "steps": [STEP, "Look"]}),
            ToolCallPart("step_update", evidence),
            ToolCallPart("step_update", {**evidence, "step": "2"}),
        ],
        [ToolCallPart("plan_finish", {"summary": "Written."})],
        [TextPart("Written.")],
    ]
    read: list[str] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        read.extend(str(getattr(part, "content", "")) for part in messages[-1].parts)
        return ModelResponse(parts=[*script.pop(0)])

    go(Agent(FunctionModel(model), capabilities=[PlanCapability[None](session)]))
    assert [text.splitlines()[0] for text in read[1:]] == [
        "plan created with 2 steps: `" + read[1].split("`")[1] + "`",
        "step 1 → done",
        "step 2 → done",
        "Accepted: done.",
    ]
    assert f"step 1 “Write the greeting” {HELD}: it is settled, and not proved" in read[2]
    assert "step 2 “Look” is claimed, which nobody has proved." in read[3]


# -- durable ---------------------------------------------------------------------------------------


def test_incomplete_plans_can_be_stored() -> None:
    found = pickle.loads(pickle.dumps(planbound.IncompletePlan("not done", ("step 1",))))
    assert (found.message, found.missing) == ("not done", ("step 1",))


@pytest.mark.requirement("loop.pydantic-ai.durable")
def test_a_crashed_workflow_goes_on_and_the_gate_is_not_asked_twice(
    folder: Path, tmp_path: Path
) -> None:
    def run(*arguments: str) -> Outcome:
        words = ["tests.loop.durable_agent", str(tmp_path), *arguments]
        place = Place(tmp_path, os.environ, libraries="models")
        with Started(words, place, module=True) as process:
            out, err = process.communicate(timeout=120)
        return outcome(process.wait(), out, err)

    assert run("crash").code == 9
    done = run()
    assert done.code == 0, done.out + done.err
    assert done.out.splitlines()[0] == "done 3"
    assert done.out.count("planbound.check") == 3
    assert (tmp_path / "requests").read_text().split() == ["0", "1", "2", "3", "3"]
    session = planbound.open_session(str(folder), session="durable", plan="say-hello")
    assert decided(session) == (2, 1, 0)
