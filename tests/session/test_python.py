"""The plan tools and the gate in a loop of one's own."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Literal, get_args, get_origin, get_type_hints

import pytest

import planbound
from planbound.errors import UsageError
from planbound.session.decide import LoopOutcome

STEP = {"title": "Write the greeting", "check": {"file_exists": {"path": "hello.txt"}}}
SHOWN = "I ran `cat hello.txt` and saw the greeting"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PLANBOUND_STATE", str(tmp_path / "state"))
    (tmp_path / "workspace").mkdir()
    return tmp_path / "workspace"


@pytest.fixture
def session(folder: Path) -> planbound.Session:
    return planbound.open_session(str(folder))


def tool(session: planbound.Session, name: str) -> Callable[..., str]:
    return next(each for each in planbound.tools(session) if each.__name__ == name)


def plan(session: planbound.Session, *steps: object, **more: object) -> None:
    told = session.call("plan_create", objective="Say hello", steps=list(steps or (STEP,)), **more)
    assert told.ok, told.text


def events(session: planbound.Session) -> Counter[str]:
    found = session.call("plan_log", last=200).data["events"]
    assert isinstance(found, list)
    return Counter(str(each["event"]) for each in found if isinstance(each, dict))


# -- the last word ---------------------------------------------------------------------------------


@pytest.mark.requirement("loop.python")
def test_false_done_is_refused_twice_and_the_fix_is_accepted(
    folder: Path, session: planbound.Session
) -> None:
    plan(session)
    words = iter(["All done!", "really done, trust me", "now it is there"])
    told: list[str | None] = []

    def turn(refusal: str | None) -> str:
        told.append(refusal)
        if len(told) == 3:
            (folder / "hello.txt").write_text("hello\n")
        return next(words)

    ending = planbound.run_gated(turn, planbound.gate(session))
    assert (ending.outcome, ending.turns, ending.is_done) == ("done", 3, True)
    assert told[0] is None
    assert all("“Write the greeting” is not proved" in (each or "") for each in told[1:])
    found = events(session)
    assert (found["FINALIZATION_REJECTED"], found["FINALIZATION_ACCEPTED"]) == (2, 1)


@pytest.mark.requirement("loop.python")
def test_an_agent_that_never_does_it_ends_incomplete_after_the_bound(
    session: planbound.Session,
) -> None:
    plan(session)
    ending = planbound.run_gated(lambda _: "All done!", planbound.gate(session))
    assert (ending.outcome, ending.turns) == ("incomplete", 6)
    assert isinstance(ending.decision, planbound.Capped)
    assert "Write the greeting" in ending.missing[0]
    assert not ending.is_done


@pytest.mark.requirement("loop.python.capped")
def test_turns_that_are_used_up_are_never_complete(session: planbound.Session) -> None:
    plan(session)
    ending = planbound.run_gated(lambda _: "All done!", planbound.gate(session), max_turns=2)
    assert (ending.outcome, ending.turns, ending.is_done) == ("incomplete", 2, False)
    assert ending.missing


@pytest.mark.requirement("loop.python.empty")
@pytest.mark.parametrize("nothing", ["", "  \n", None])
def test_an_empty_last_message_does_not_slip_past(
    session: planbound.Session, nothing: str | None
) -> None:
    plan(session)
    assert isinstance(planbound.gate(session).check(nothing), planbound.Reject)


@pytest.mark.requirement("loop.python.capped")
def test_a_plan_that_was_capped_by_a_tool_is_not_complete_at_the_end(
    folder: Path, session: planbound.Session
) -> None:
    plan(session)
    finish = tool(session, "plan_finish")
    said = [finish("All done!") for _ in range(6)]
    assert "NOT DONE" in said[-1]
    assert planbound.run_gated(lambda _: "Bye.", planbound.gate(session)).outcome == "incomplete"
    another = planbound.open_session(str(folder))
    assert isinstance(planbound.gate(another).check("Bye."), planbound.Capped)


def test_what_a_tool_accepted_is_accepted_at_the_end(
    folder: Path, session: planbound.Session
) -> None:
    plan(session, STEP, "Look at it")
    (folder / "hello.txt").write_text("hello\n")
    session.call("step_update", step=2, status="done", evidence=SHOWN)
    assert "Accepted: done" in tool(session, "plan_finish")("It is written.")
    decision = planbound.gate(session).check("Bye.")
    assert decision == planbound.Accept(LoopOutcome.DONE, claimed=("step 2 “Look at it”",))


def test_what_is_blocked_is_not_done(folder: Path, session: planbound.Session) -> None:
    plan(session, STEP, "Publish it")
    (folder / "hello.txt").write_text("hello\n")
    session.call("step_update", step=2, status="blocked", evidence="there is no server to reach")
    ending = planbound.run_gated(lambda _: "Done.", planbound.gate(session))
    assert ending.outcome == "finished with blocked items"
    assert not ending.is_done


def test_nothing_is_decided_without_a_plan_or_while_something_runs(
    session: planbound.Session,
) -> None:
    assert planbound.run_gated(lambda _: "Hi.", planbound.gate(session)).outcome == "undecided"
    plan(session)
    decision = planbound.gate(session).check("Hi.", waiting="a build runs")
    assert decision == planbound.Silent("a build runs")
    assert events(session)["FINALIZATION_REJECTED"] == 0


# -- the tools -------------------------------------------------------------------------------------


@pytest.mark.requirement("loop.python.tools")
def test_tools_are_plain_functions_whose_schema_can_be_derived(session: planbound.Session) -> None:
    found = planbound.tools(session)
    assert [each.__name__ for each in found] == [
        *("plan_create", "plan_show", "step_update", "postcondition_verify"),
        *("postcondition_block", "plan_amend", "plan_request_approval", "plan_finish"),
        *("plan_status", "plan_log"),
    ]
    for each in found:
        assert inspect.isfunction(each)
        hints = get_type_hints(each)
        assert hints.pop("return") is str
        parameters = inspect.signature(each).parameters
        assert list(parameters) == list(hints)
        documented = inspect.getdoc(each) or ""
        assert all(f"    {name}: " in documented for name in parameters), each.__name__
    status = get_type_hints(tool(session, "step_update"))["status"]
    assert get_origin(status) is Literal
    assert get_args(status) == ("pending", "in_progress", "done", "blocked")


def wrong_calls() -> Iterator[tuple[str, dict[str, object]]]:
    yield "plan_create", {}
    yield "plan_create", {"objective": 1, "steps": ["a"]}
    yield "plan_create", {"objective": "x", "steps": "a"}
    yield "plan_create", {"objective": "x", "steps": [{"titel": "a"}]}
    yield "plan_create", {"objective": "x", "steps": []}
    yield "plan_show", {"nonsense": True}
    yield "plan_show", {"only": "closed"}
    yield "step_update", {"step": 9, "status": "done", "evidence": SHOWN}
    yield "step_update", {"step": 1, "status": "finished"}
    yield "step_update", {"step": 1, "status": "blocked", "evidence": "   "}
    yield "step_update", {"step": 1, "status": "done", "evidence": ["a"]}
    yield "step_update", {"step": [1], "status": "done", "evidence": SHOWN}
    yield "postcondition_verify", {"postcondition": 4}
    yield "postcondition_block", {"postcondition": None, "reason": None}
    yield "plan_amend", {"reason": "", "remove": ["1"]}
    yield "plan_amend", {"reason": "wrong", "edit": ["1"]}
    yield "plan_log", {"last": "many"}


@pytest.mark.requirement("loop.python.tools")
@pytest.mark.parametrize(("name", "arguments"), list(wrong_calls()))
def test_a_wrong_call_is_answered_and_never_raises(
    session: planbound.Session, name: str, arguments: dict[str, object]
) -> None:
    plan(session)
    before = events(session)
    answer = tool(session, name)(**arguments)
    assert isinstance(answer, str)
    assert answer.strip()
    assert events(session) == before


def test_objects_that_a_model_wrote_as_text_are_objects(
    folder: Path, session: planbound.Session
) -> None:
    written = '[{"title": "Write it", "check": {"file_exists": {"path": "hello.txt"}}}]'
    tool(session, "plan_create")("Say hello", written, None)
    (folder / "hello.txt").write_text("hello\n")
    assert "is proved" in tool(session, "step_update")(1, "done", SHOWN, None)


def test_calls_of_many_threads_come_one_after_the_other(session: planbound.Session) -> None:
    plan(session, *(f"Part {number}" for number in range(1, 9)))
    update = tool(session, "step_update")
    with ThreadPoolExecutor(max_workers=8) as pool:
        said = list(pool.map(lambda number: update(number, "done", SHOWN), range(1, 9)))
    assert all("is claimed" in each for each in said), said
    assert isinstance(planbound.gate(session).check("Done."), planbound.Accept)


# -- verifiers of one's own ------------------------------------------------------------------------


def failing() -> None:
    raise RuntimeError("the scale is broken")


async def asynchronous() -> None:
    """Nobody waits for this."""


@pytest.mark.requirement("loop.python.verifiers")
@pytest.mark.parametrize(
    ("verifier", "shown"),
    [
        (lambda: None, "holds (it was green before the work)"),
        (lambda: True, "holds (it was green before the work)"),
        (lambda: False, "`own` does not hold"),
        (lambda: "3 of 4 scales", "3 of 4 scales"),
        (lambda: "", "`own` does not hold"),
        (failing, "RuntimeError: the scale is broken"),
        (lambda: 0, "answered with a int"),
    ],
)
def test_a_verifier_of_ones_own_judges(
    folder: Path, verifier: planbound.Verifier, shown: str
) -> None:
    session = planbound.open_session(str(folder), verifiers={"own": verifier})
    plan(session, {"title": "Weigh it", "check": {"own": {}}})
    assert shown in tool(session, "step_update")(1, "done", "I weighed it, 3 kg")
    accepted = isinstance(planbound.gate(session).check("Done."), planbound.Accept)
    assert accepted == shown.startswith("holds")


def test_a_verifier_that_nobody_waits_for_proves_nothing(folder: Path) -> None:
    given: dict[str, Callable[[], object]] = {"own": asynchronous}
    session = planbound.open_session(str(folder), verifiers=given)  # type: ignore[arg-type]
    with pytest.warns(RuntimeWarning, match="never awaited"):  # it is looked at before the work
        plan(session, {"title": "Weigh it", "check": {"own": {}}})
    with pytest.warns(RuntimeWarning, match="never awaited"):
        assert "is not proved" in tool(session, "step_update")(1, "done", "I weighed it, 3 kg")


@pytest.mark.parametrize("name", ["file_exists", "http_ok", "two words"])
def test_a_verifier_cannot_take_a_name_that_means_something(folder: Path, name: str) -> None:
    with pytest.raises(UsageError):
        planbound.open_session(str(folder), verifiers={name: lambda: True})


# -- the package -----------------------------------------------------------------------------------


def test_importing_the_package_loads_nothing_of_it() -> None:
    code = (
        "import sys, planbound\n"
        "assert not [name for name in sys.modules if name.startswith('planbound.')]\n"
        "assert callable(planbound.tools) and 'tools' in dir(planbound)\n"
        "assert not [name for name in sys.modules if name.startswith('pydantic')]\n"
        "assert not hasattr(planbound, 'nonsense')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300)
