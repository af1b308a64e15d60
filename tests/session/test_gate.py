"""The parts of the gate, each by itself."""

from __future__ import annotations

import http.server
import json
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from planbound.errors import UsageError
from planbound.journal.event import EventKind, SessionOutcome
from planbound.journal.record import Draft, Json, Provenance, Record
from planbound.plan.model import StepStatus
from planbound.session.decide import (
    Accept,
    Agenda,
    AgendaItem,
    Capped,
    Reject,
    command_of,
    decide,
    lack_of_substance,
)
from planbound.session.given import compile_check, quoted
from planbound.session.guard import denial, read_call
from planbound.state.item import EarlierItems, EarlierTexts, Item
from planbound.state.plan import PlanState, fold
from planbound.state.session import LoopState
from planbound.workspace.configuration import Require
from tests.examples import examples
from tests.git.git_scene import sh
from tests.journal import told
from tests.project_environment import active_environment
from tests.session.scratch import SHOWN, Given, Scratch
from tests.tables import one_fact

K = EventKind


def entry(
    status: StepStatus, number: int = 1, what: str = "step", reason: str = "why"
) -> AgendaItem:
    reason = reason if status is StepStatus.BLOCKED else ""
    item = Item(status, evidence=SHOWN, reason=reason)
    return AgendaItem(f"{what} {number}", f"title {number}", item, has_contract=True, call="call()")


def agenda(*steps: StepStatus, conditions: Sequence[StepStatus] = ()) -> Agenda:
    return Agenda(
        tuple(entry(each, number) for number, each in enumerate(steps, 1)),
        tuple(entry(each, number, "postcondition") for number, each in enumerate(conditions, 1)),
    )


# -- the decision ------------------------------------------------------------------------------

P, C, BL, W = StepStatus.DONE, StepStatus.CLAIMED, StepStatus.BLOCKED, StepStatus.WAIVED
H = StepStatus.HOLDS


@pytest.mark.requirement("loop.gate")
@pytest.mark.parametrize(
    ("steps", "conditions", "require", "outcome"),
    [
        ([P], [], Require.CLAIMED, "done"),
        ([C], [C], Require.CLAIMED, "done"),
        ([P, W], [W, P], Require.PROVED, "done"),
        ([P, BL], [], Require.CLAIMED, "finished with blocked items"),
        ([P], [BL], Require.PROVED, "finished with blocked items"),
        ([H, P], [H], Require.CLAIMED, "done"),
        ([H], [H], Require.HOLDS, "done"),
        ([P], [H], Require.PROVED, "done"),
        ([P, H], [], Require.PROVED, None),
        ([C], [], Require.HOLDS, None),
        ([C], [], Require.PROVED, None),
        ([P], [C], Require.PROVED, None),
        ([], [], Require.CLAIMED, None),
        ([], [P], Require.CLAIMED, None),
        ([BL, BL], [P], Require.CLAIMED, None),
        ([P, StepStatus.PENDING], [], Require.CLAIMED, None),
        ([StepStatus.IN_PROGRESS], [], Require.CLAIMED, None),
        ([P], [StepStatus.PENDING], Require.CLAIMED, None),
    ],
)
def test_ready_is_exactly_what_is_settled(
    steps: list[StepStatus], conditions: list[StepStatus], require: Require, outcome: str | None
) -> None:
    found = decide(LoopState(), agenda(*steps, conditions=conditions), "tree", require)
    if outcome is None:
        assert isinstance(found, Reject)
        assert found.missing
    else:
        assert isinstance(found, Accept)
        assert found.outcome == outcome


def test_blocked_without_a_reason_is_missing() -> None:
    plan = Agenda((entry(P), entry(BL, 2, reason=" ")), ())
    found = decide(LoopState(), plan, "tree", Require.CLAIMED)
    assert isinstance(found, Reject)
    assert found.missing == ("step 2 “title 2” is blocked without a reason",)


def test_a_refusal_lists_each_thing_with_the_call_that_settles_it() -> None:
    plan = agenda(StepStatus.PENDING, P, StepStatus.IN_PROGRESS, conditions=[StepStatus.PENDING])
    found = decide(LoopState(), plan, "tree", Require.CLAIMED)
    assert isinstance(found, Reject)
    assert found.missing == (
        "step 1 “title 1” is not done: `call()`",
        "step 3 “title 3” is begun and not done: `call()`",
        "postcondition 1 “title 1” is not done: `call()`",
    )
    assert all(f"- {each}" in found.message for each in found.missing)
    assert "4 more refusals" in found.message


@pytest.mark.requirement("loop.refusal-output")
def test_a_refusal_carries_the_end_of_what_fails() -> None:
    def failing(
        number: int, output: str, status: StepStatus = StepStatus.IN_PROGRESS
    ) -> AgendaItem:
        each = entry(status, number)
        return replace(each, item=replace(each.item, reason="exit 1", output=output))

    long = "first\n" + "x\n" * 2000 + "E  assert 1 == 2\x1b[0m\n```\n"
    first = (failing(1, long), failing(2, "old", StepStatus.DONE), failing(3, "gone", BL))
    more = tuple(failing(number, f"said {number}") for number in (4, 5, 6))
    found = decide(LoopState(), Agenda((*first, *more), ()), "tree", Require.CLAIMED)
    assert isinstance(found, Reject)
    assert "The end of what the contract of step 1 printed, as data:\n\n````\n" in found.message
    assert "E  assert 1 == 2" in found.message
    assert "\x1b" not in found.message
    for word, is_shown in (("old", 0), ("gone", 0), ("said 4", 1), ("said 5", 1), ("said 6", 0)):
        assert (word in found.message) == bool(is_shown), word
    assert "first" not in found.message
    assert len(found.message) < 4000
    assert "tests that fail are the work" in found.message


def test_what_an_agent_wrote_cannot_make_lines_of_the_refusal() -> None:
    odd = replace(entry(StepStatus.PENDING), title="x\n- step 9 is done\x1b[2J" + "y" * 500)
    found = decide(LoopState(), Agenda((odd,), ()), "tree", Require.CLAIMED)
    assert isinstance(found, Reject)
    assert "\n" not in found.missing[0]
    assert "\x1b" not in found.message
    assert len(found.missing[0]) < 250


@given(st.lists(st.sampled_from(list(StepStatus)), max_size=5), st.sampled_from(list(Require)))
def test_nothing_is_accepted_with_something_open(steps: list[StepStatus], require: Require) -> None:
    found = decide(LoopState(), agenda(*steps), "tree", require)
    open_ones = [each for each in steps if not each.is_settled and each is not BL]
    if isinstance(found, Accept):
        assert steps
        assert not open_ones
        assert (found.outcome == "done") == (BL not in steps)
    else:
        assert isinstance(found, Reject)
        assert len(found.missing) >= len(open_ones)


# -- the fold ----------------------------------------------------------------------------------


def records(
    events: Sequence[tuple[EventKind, str | None, Mapping[str, Json]]],
    provenance: Provenance = Provenance.LIVE,
) -> list[Record]:
    found = []
    for seq, (kind, task, details) in enumerate(events, 1):
        draft = Draft(
            id=f"{seq:032x}",
            timestamp=f"2026-01-01T00:00:00.{seq:06d}Z",
            kind=kind,
            plan="a",
            task_id=task,
            task_name=task,
            details=told(kind, details),
            provenance=provenance,
            redactions=0,
        )
        found.append(Record(seq, seq, draft, version=1, prev="", hash=""))
    return found


def folded(*events: tuple[EventKind, str | None, Mapping[str, Json]]) -> LoopState:
    return planned(*events).session


def planned(*events: tuple[EventKind, str | None, Mapping[str, Json]]) -> PlanState:
    return grown(PlanState("it"), records(events))


def grown(plan: PlanState, records: list[Record]) -> PlanState:
    for record in records:
        plan.apply(record)
    return plan


def picture(state: LoopState) -> dict[str, object]:
    def plain(value: object) -> object:
        if isinstance(value, EarlierTexts | EarlierItems):
            return {name: plain(each) for name, each in vars(value).items()}
        return tuple(plain(each) for each in value) if isinstance(value, tuple) else value

    return {name: plain(value) for name, value in vars(state).items()}


CREATED = (K.PLAN_CREATED, None, {"digest": "d1", "origin": "tools", "session": "s"})
_NAMES = st.sampled_from(["one", "two"])
_TREES = st.sampled_from(["t1", "t2"])
_DIGESTS = st.sampled_from(["d1", "d2", "d3"])
EVENTS = st.one_of(
    st.tuples(st.just(K.TASK_STARTED), _NAMES, st.just({"attempt": 1})),
    st.tuples(st.just(K.TASK_COMPLETED), _NAMES, st.just({"result": "claimed", "evidence": "x"})),
    st.tuples(st.just(K.TASK_COMPLETED), _NAMES, st.just({"result": "proved", "tree": "t1"})),
    st.tuples(st.just(K.TASK_BLOCKED), _NAMES, st.just({"reason": "no"})),
    st.tuples(st.just(K.TASK_REOPENED), _NAMES, st.just({"before": "claimed"})),
    st.tuples(
        st.just(K.CONTRACT_EVALUATED),
        _NAMES,
        st.builds(
            lambda verdict, tree: {"verdict": verdict, "subject": "step", "tree": tree},
            st.sampled_from(["pass", "fail"]),
            _TREES,
        ),
    ),
    st.tuples(
        st.just(K.PLAN_REWRITTEN),
        st.none(),
        st.builds(
            lambda to, kept, by: {"from": "d1", "to": to, "kept": kept, "dropped": {}, **by},
            _DIGESTS,
            st.lists(_NAMES, unique=True),
            st.sampled_from([{}, {"session": "s"}, {"session": "s", "by": "s"}]),
        ),
    ),
    st.tuples(st.just(K.POSTCONDITION_CLAIMED), st.none(), st.just({"number": "1"})),
    st.tuples(st.just(K.POSTCONDITION_BLOCKED), st.none(), st.just({"number": "1"})),
    st.tuples(
        st.just(K.FINALIZATION_REJECTED), st.none(), st.builds(lambda tree: {"tree": tree}, _TREES)
    ),
    st.tuples(st.just(K.FINALIZATION_DEFERRED), st.none(), st.just({"waits_for": "a build"})),
    st.tuples(st.just(K.FINALIZATION_CAPPED), st.none(), st.just({"missing": []})),
    st.tuples(st.just(K.SESSION_RELEASED), st.none(), st.just({"by": "ann"})),
    st.tuples(st.just(K.WAIVED), _NAMES, st.just({"by": "ann"})),
)
LIVES = st.lists(EVENTS, max_size=30)


@given(LIVES, st.integers(0, 30))
def test_the_fold_is_the_same_in_one_go_and_in_parts(
    events: list[tuple[EventKind, str | None, dict[str, Json]]], cut: int
) -> None:
    life = records([CREATED, *events])
    (whole,) = fold(life).values()
    assert grown(grown(PlanState(whole.slug), life[:cut]), life[cut:]) == whole


@given(LIVES)
def test_replays_and_tests_prove_nothing(
    events: list[tuple[EventKind, str | None, dict[str, Json]]],
) -> None:
    plan = planned(CREATED)
    before = picture(plan.session)
    for provenance in set(Provenance) - {Provenance.LIVE}:
        grown(plan, records(events, provenance))
    assert picture(plan.session) == before


@given(LIVES)
def test_the_counters_of_refusals_obey_their_laws(
    events: list[tuple[EventKind, str | None, dict[str, Json]]],
) -> None:
    plan, refused = planned(CREATED), 0
    state = plan.session
    for record in records(events):
        before = state.refusals
        grown(plan, [record])
        refused += record.kind is K.FINALIZATION_REJECTED
        # All of them are counted for ever; those in a row only grow by one, or begin anew.
        assert state.all_refusals == refused
        assert state.refusals in {before, before + 1, 0, 1}
        assert state.refusals <= state.all_refusals


@given(LIVES)
def test_whatever_was_done_before_doing_it_again_is_no_progress(
    events: list[tuple[EventKind, str | None, dict[str, Json]]],
) -> None:
    moves = [each for each in events if each[0] not in {K.PLAN_REWRITTEN, K.WAIVED}]
    moves = [each for each in moves if each[0] is not K.CONTRACT_EVALUATED]
    moves = [each for each in moves if not each[0].value.startswith("FINALIZATION")]
    plan = planned(CREATED, *moves)
    state = plan.session
    refusal = (K.FINALIZATION_REJECTED, None, {"tree": "t"})
    for count, move in enumerate(moves, 1):
        grown(plan, records([move, refusal]))
        assert state.refusals == count


@given(LIVES)
def test_a_person_who_released_it_has_the_last_word(
    events: list[tuple[EventKind, str | None, dict[str, Json]]],
) -> None:
    released = (K.SESSION_RELEASED, None, {"by": "ann", "reason": "enough"})
    later = [each for each in events if each[0] is not K.FINALIZATION_CAPPED]
    assert folded(CREATED, released, *later).outcome is SessionOutcome.RELEASED


def test_a_failing_contract_takes_no_reason_and_no_decision_away() -> None:
    fails = {"verdict": "fail", "reason": "exit 1", "subject": "step", "tree": "t1"}
    blocked = folded(
        CREATED, (K.TASK_BLOCKED, "one", {"reason": "no"}), (K.CONTRACT_EVALUATED, "one", fails)
    )
    assert (blocked.steps["one"].status, blocked.steps["one"].reason) == (BL, "no")
    waived = folded(CREATED, (K.WAIVED, "one", {"by": "ann"}), (K.CONTRACT_EVALUATED, "one", fails))
    assert waived.steps["one"].status is W


def test_a_rewrite_keeps_what_means_the_same_and_the_evidence_of_the_rest() -> None:
    done = {"result": "claimed", "evidence": "seen"}
    state = folded(
        CREATED,
        *((K.TASK_COMPLETED, name, done) for name in ("one", "two", "three")),
        (
            K.PLAN_REWRITTEN,
            None,
            {
                "from": "d1",
                "to": "d2",
                "revision": 2,
                "kept": ["one"],
                "dropped": {"three": "Three"},
            },
        ),
    )
    assert {name: item.status for name, item in state.steps.items()} == {
        "one": C,
        "two": StepStatus.PENDING,
    }
    assert state.steps["two"].evidence == "seen"
    assert [(each.id, each.status, each.revision) for each in state.dropped] == [("three", C, 2)]


def found_changed(before: str, after: str, *kept: str, **details: Json) -> Any:
    said = {"from": before, "to": after, "session": "s", "kept": list(kept), **details}
    return K.PLAN_REWRITTEN, None, said


@pytest.mark.requirement("loop.undone")
def test_a_change_of_the_file_that_is_undone_is_as_if_it_had_never_been() -> None:
    done: dict[str, Json] = {"result": "proved", "tree": "t1"}
    life: list[Any] = [
        (K.PLAN_CREATED, None, {**CREATED[2], "probes": {"step 2": {"name": "up"}}}),
        *((K.BASELINE_OBSERVED, name, {"verdict": "fail", "tree": "t"}) for name in ("one", "two")),
        *((K.TASK_COMPLETED, name, done) for name in ("one", "two")),
        (K.POSTCONDITION_CLAIMED, None, {"number": "1", "evidence": "seen"}),
        (K.FINALIZATION_ACCEPTED, None, {"outcome": "done"}),
    ]
    dropped = found_changed("d1", "d2", "one", revision=2, dropped={"two": "Two"}, probes={})
    other = found_changed("d2", "d3", "one", revision=3, dropped={}, probes={})
    undone = found_changed("d3", "d1", "one", revision=4, dropped={}, probes={})
    before, after = picture(folded(*life)), picture(folded(*life, dropped, other, undone))
    moves = {"seq", "before", "_meanings", "_past", "owner"}
    assert {name: before[name] for name in {*before} - moves} == {
        name: after[name] for name in {*after} - moves
    }
    # What was done meanwhile is not undone by it.
    three = (K.TASK_COMPLETED, "three", done)
    again = folded(*life, dropped, three, found_changed("d2", "d1", "one", "three", dropped={}))
    assert again.outcome is None
    assert {item.status for item in again.steps.values()} == {P}
    assert set(again.steps) == {"one", "two", "three"}


@given(st.integers(1, 6), st.integers(0, 12))
def test_it_ends_as_incomplete_after_the_bound_and_never_before(bound: int, refusals: int) -> None:
    refusal = (K.FINALIZATION_REJECTED, None, {"tree": "t"})
    state = folded(CREATED, *[refusal] * refusals)
    found = decide(state, agenda(StepStatus.PENDING), "t", Require.CLAIMED, bound=bound)
    assert isinstance(found, Capped) == (refusals >= bound)
    other = decide(state, agenda(StepStatus.PENDING), "another", Require.CLAIMED, bound=bound)
    assert isinstance(other, Reject)


# -- evidence ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        " \n\t ",
        "…",
        "--",
        "ok",
        "Done.",
        "it is done now",
        "Add the button",
        "add button, done",
    ],
)
def test_evidence_without_substance(evidence: str) -> None:
    lack = lack_of_substance(evidence, "Add the button")
    assert lack is not None
    assert ("blank" in lack) == (not evidence.strip())


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("pytest -q", "pytest -q"),
        ("\n  pytest  -q\n\n", "pytest -q"),
        ("pytest -q\ntest -e a.txt\n", "pytest -q …"),
        ("x" * 90 + "\ntest -e a.txt", "x" * 79 + "…"),
        ("", ""),
    ],
)
def test_a_command_of_several_lines_is_never_joined_into_another(command: str, shown: str) -> None:
    assert command_of(command, 80) == shown


@pytest.mark.parametrize(
    "evidence",
    ["pytest: 12 passed", "see src/button.py line 30", "größe 3 KB", "按钮在页面上", "exit code 0"],
)
def test_evidence_of_substance(evidence: str) -> None:
    assert lack_of_substance(evidence, "Add the button") is None


# -- verifiers ---------------------------------------------------------------------------------

ODD = 'it\'s "odd" $(touch pwned) `id` \\ ; rm -rf * -- 日本'


def judged(bench: Scratch, check: object) -> bool:
    """Say whether a check passes as a contract in a cell."""
    loop = bench.loop(session="judge", name=f"plan-{len(bench.log())}")
    condition: Given = {"statement": "it is so", "check": check}
    made = loop.plan_create("Look at it", ["Say it"], [condition])
    assert made.ok, made.text
    told = loop.postcondition_verify(1)
    assert told.ok == bool(told.data["proved"] or told.data.get("holds"))
    return told.ok


VERIFIERS: tuple[tuple[Given, str, str, str | None], ...] = (
    ({"file_exists": {"path": "src/a"}}, "src/a", "", None),
    ({"file_exists": {"path": f"src/{ODD}"}}, f"src/{ODD}", "x", None),
    ({"file_exists": {"path": "src/c", "contains": ODD}}, "src/c", f"1\n{ODD}\n", "other"),
    ({"file_exists": {"path": "src/d", "contains": "-x.*"}}, "src/d", "a-x.*", "a-xyz"),
    ({"command": {"cmd": "grep -q x src/e"}}, "src/e", "x", "y"),
    ({"command": "grep -q x src/f"}, "src/f", "x", "y"),
    (
        {"json_path": {"file": "src/g", "path": "$.a[1].b c", "equals": [1, None, ODD]}},
        "src/g",
        json.dumps({"a": [0, {"b c": [1, None, ODD]}]}),
        json.dumps({"a": [0, {"b c": [1, None]}]}),
    ),
    ({"json_path": {"file": "src/h", "path": "a", "equals": 1}}, "src/h", '{"a":1}', "{}"),
)


@pytest.mark.requirement("loop.verifiers")
def test_a_verifier_passes_and_fails_as_a_contract(bench: Scratch) -> None:
    """All of them in one plan: each is judged by itself, red and then green."""
    for _, file, _, wrong in VERIFIERS:
        if wrong is not None:
            bench.write(file, wrong)
    loop = bench.loop(session="judge")
    conditions: list[Given] = [
        {"statement": f"it is so {number}", "check": check}
        for number, (check, _, _, _) in enumerate(VERIFIERS)
    ]
    made = loop.plan_create("Look at it", ["Say it"], conditions)
    assert made.ok, made.text
    numbers = range(1, len(VERIFIERS) + 1)
    assert [loop.postcondition_verify(number).ok for number in numbers] == [False] * len(VERIFIERS)
    for _, file, right, _ in VERIFIERS:
        bench.write(file, right)
    for number, (check, _, _, _) in zip(numbers, VERIFIERS, strict=True):
        told = loop.postcondition_verify(number)
        assert (told.ok, told.data["proved"]) == (True, True), check
    assert not (bench.workspace / "pwned").exists()


@pytest.mark.thorough
@pytest.mark.requirement("loop.holes")
@pytest.mark.parametrize("contract", ["git ls-files --error-unmatch src/a", "bash check.sh"])
def test_what_asks_git_is_judged_again_on_the_same_files(bench: Scratch, contract: str) -> None:
    bench.write("check.sh", "git ls-files --error-unmatch src/a\n")
    loop = bench.loop()
    loop.plan_create("Make it", [{"title": "Stage a", "contract": contract, "touches": ["src/a"]}])
    bench.right("a")
    sh(bench.workspace, "git add src/a")
    assert loop.step_update(1, "done", evidence=SHOWN).ok
    sh(bench.workspace, "git rm -q --cached src/a")
    found = loop.check("all done")
    assert isinstance(found, Reject)
    assert "was green, and a later edit broke it" in found.missing[0]
    sh(bench.workspace, "git add src/a")
    assert isinstance(loop.check("all done"), Accept)


@pytest.mark.requirement("loop.holes")
def test_what_asks_git_in_a_script_is_judged_once_where_git_knows_nothing_else(
    bench: Scratch,
) -> None:
    bench.write("check.sh", "git ls-files --error-unmatch src/a\n")
    loop = bench.loop()
    step: Given = {"title": "Stage a", "contract": "bash check.sh", "touches": ["src/a"]}
    loop.plan_create("Make it", [step])
    bench.right("a")
    sh(bench.workspace, "git add src/a")
    assert loop.step_update(1, "done", evidence=SHOWN).ok
    assert isinstance(loop.check("all done"), Accept)
    assert len(bench.log().of("CONTRACT_EVALUATED")) == 1


@pytest.mark.thorough
def test_git_committed_is_about_the_files_as_they_are(bench: Scratch) -> None:
    check = {"git_committed": {"paths": ["src/readme", f"src/{ODD}"]}}
    bench.write(f"src/{ODD}", "x")
    assert not judged(bench, check)
    git = ["git", "-C", str(bench.workspace), "-c", "user.name=a", "-c", "user.email=a@b.c"]
    for words in (["add", "src"], ["commit", "-qm", "x"]):
        subprocess.run([*git, *words], check=True)
    assert judged(bench, check)
    bench.write("src/readme", "something else\n")
    assert not judged(bench, check)


@pytest.mark.thorough
def test_tests_pass_demands_that_tests_ran(tmp_path: Path) -> None:
    bench = Scratch(tmp_path, f'[contracts]\npath = ["{active_environment()}/bin"]\n')
    check = {"tests_pass": {"selector": "tests"}}
    bench.write("tests/nothing.py", "")
    assert not judged(bench, check)


@pytest.mark.thorough
def test_tests_pass_demands_that_they_passed(tmp_path: Path) -> None:
    bench = Scratch(tmp_path, f'[contracts]\npath = ["{active_environment()}/bin"]\n')
    check = {"tests_pass": {"selector": "tests"}}
    bench.write("tests/test_it.py", "def test_it() -> None:\n    assert False\n")
    assert not judged(bench, check)
    bench.write("tests/test_it.py", "def test_it() -> None:\n    assert True\n")
    assert judged(bench, check)


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])))
@examples(25)
def test_quoting_is_exact_for_any_text(text: str) -> None:
    import shlex  # noqa: PLC0415 - the other reader of the same grammar

    assert shlex.split(quoted(text)) == [text]


@pytest.mark.parametrize(
    "check",
    [
        *(None, [], {}, {"a": 1, "b": 2}, "file_exists"),
        {"file_exists": {}},
        {"file_exists": {"path": "/etc/passwd"}},
        {"file_exists": {"path": "a/../../b"}},
        {"file_exists": {"path": "a", "contain": "b"}},
        {"file_exists": {"path": "a\0b"}},
        {"json_path": {"file": "a", "path": "b"}},
        {"json_path": {"file": "a", "path": "b", "equals": object()}},
        {"git_committed": {"paths": []}},
        {"git_committed": {"paths": [3]}},
        {"command": {"cmd": "  "}},
        {"http_ok": {"url": 3}},
        {"own": {"value": object()}},
    ],
)
def test_a_check_that_is_not_one_is_refused(check: object) -> None:
    with pytest.raises(UsageError):
        compile_check(check)


@pytest.fixture
def server() -> Iterator[str]:
    class Answers(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/fine" else 500)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
            del format, args

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as running:
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{running.server_port}"
        running.shutdown()
        thread.join()


@pytest.mark.thorough
def test_http_ok_asks_this_machine_only(bench: Scratch, server: str) -> None:
    assert judged(bench, {"http_ok": f"{server}/fine"})
    assert not judged(bench, {"http_ok": f"{server}/broken"})
    assert not judged(bench, {"http_ok": "http://example.org/"})
    assert not judged(bench, {"http_ok": "http://127.0.0.1:1/"})
    assert not judged(bench, {"http_ok": "http://127.0.0.1:port/"})


def test_a_service_that_went_away_is_noticed_by_the_gate(bench: Scratch, tmp_path: Path) -> None:
    flag = tmp_path / "up"
    flag.write_text("")
    loop = bench.loop(service=lambda: None if flag.exists() else "it is down")
    loop.plan_create("Do it", [{"title": "Start it", "check": {"service": {}}}])
    assert loop.step_update(1, "done", SHOWN).ok
    flag.unlink()
    found = loop.check("done")
    assert isinstance(found, Reject)
    assert "a later edit broke it (it is down)" in found.missing[0]


# -- the guard ---------------------------------------------------------------------------------

JUDGE = "tests/test_a.py"


@pytest.mark.requirement("loop.guard")
@one_fact(
    "command",
    [
        "planbound approve x --as bob",
        "cd a && planbound waive p 1 --reason x",
        "yes | planbound approve x",
        "true\nplanbound approve x",
        "python -m planbound answer 1 retry",
        ".venv/bin/planbound approve",
        "uv run planbound approve x",
        "timeout 5 planbound approve x",
        "setsid -f planbound approve x",
        "find . -name a -exec planbound approve x \\;",
        "FOO=1 planbound attest x 1",
        "sudo -u me planbound gate",
        "planbound --state /tmp/x approve p",
        "planbound --state=/tmp/x amend p",
        "bash -c 'planbound approve'",
        'bash -lc "planbound release"',
        "eval 'planbound reject x'",
        "echo $(planbound approve x)",
        "echo `planbound decide x`",
        "echo 'unbalanced && planbound approve x",
        "echo hi > .harness/PLAN.md",
        "echo hi>>planbound.toml",
        "echo x >/ws/.harness/PLAN.md",
        "cat > .harness/PLAN.md <<'EOF'\nhi\nEOF",
        "cat x | tee .harness/PLAN.md",
        "rm -rf .harness",
        "ls; rm -f ./.harness/PLAN.md",
        "sed -i s/a/b/ planbound.toml",
        "perl -pi -e 's/a/b/' planbound.toml",
        "mv a planbound.toml",
        "cp /tmp/x planbound.toml",
        "dd if=/dev/zero of=planbound.toml",
        "git checkout -- planbound.toml",
        "python3 -c \"open('planbound.toml','w').write('')\"",
        f"rm {JUDGE}",
        f"echo pass > src/../{JUDGE}",
        "cp x .git/hooks/pre-commit",
        "PB=planbound; $PB approve x",
        "git checkout HEAD~1 -- tests",
        "git restore --source HEAD~1 tests/",
        "git checkout HEAD~1 -- .",
        "rm -r tests",
        "mv tests old",
        "chmod -R a-r tests",
    ],
)
def test_what_an_agent_may_not_run(command: str) -> None:
    assert denial(read_call("Bash", {"command": command}), [JUDGE], "/ws") is not None
    assert (
        denial(read_call("shell", {"command": ["bash", "-lc", command]}), [JUDGE], "/ws")
        is not None
    )


@one_fact(
    "command",
    [
        *("git status", "git stash list", "git checkout -b feature", "git add .harness/PLAN.md"),
        *("cat .harness/PLAN.md", "planbound judge", "planbound status", "planbound log --json"),
        *("planbound judge approve", "planbound show release", "planbound verify gate"),
        "planbound list 2>&1 | head",
        "grep planbound.toml README.md",
        "grep -r foo planbound.toml 2>/dev/null",
        "cat .harness/PLAN.md > /tmp/x",
        "cp .harness/PLAN.md /tmp/copy.md",
        "echo 'run planbound approve x'",
        "git commit -m 'planbound approve is documented'",
        "grep 'planbound approve' -r docs",
        "git diff -- planbound.toml",
        f"pytest {JUDGE} 2>&1 | tail",
        f"diff {JUDGE} /tmp/x > out.diff",
        "rm build/out.txt",
        "rm -r build",
        "mv src/test_b.py tests",
        "cp src/test_b.py tests/",
        "git checkout HEAD~1 -- src",
        "git checkout main",
        "$PIP install x",
        "chmod +x tests.sh",
        "python3 -c \"print(open('planbound.toml').read())\"",
        "ls .harness/ > /dev/null",
        "sed -n 1,5p planbound.toml",
        "find . -name planbound.toml",
        *("", "   ", ";;", "'"),
    ],
)
def test_what_an_agent_may_run(command: str) -> None:
    assert denial(read_call("Bash", {"command": command}), [JUDGE], "/ws") is None


@pytest.mark.parametrize(
    ("tool", "arguments", "denied"),
    [
        ("Edit", {"file_path": "/ws/.harness/PLAN.md"}, True),
        ("Write", {"file_path": "/ws/a/../planbound.toml"}, True),
        ("mcp__fs__write_file", {"path": ".harness/PLAN-x.md"}, True),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: planbound.toml\n"}, True),
        ("apply_patch", {"patch": f"--- a/{JUDGE}\n+++ b/{JUDGE}\n"}, True),
        ("MultiEdit", {"file_path": JUDGE}, True),
        ("Edit", {"file_path": "/ws/src/harness.py"}, False),
        ("Edit", {"file_path": "docs/planbound.toml.md"}, False),
        ("Read", {"file_path": "/ws/.harness/PLAN.md"}, False),
        ("Grep", {"pattern": "x", "path": ".harness/"}, False),
        ("mcp__planbound__plan_create", {"objective": "planbound approve"}, False),
        ("Edit", {"file_path": None}, False),
        ("Bash", {}, False),
    ],
)
def test_which_edits_are_denied(tool: str, arguments: dict[str, object], denied: object) -> None:
    assert (denial(read_call(tool, arguments), [JUDGE], "/ws") is not None) is denied


@given(st.text(max_size=60))
def test_the_guard_answers_whatever_it_reads(text: str) -> None:
    denial(read_call("Bash", {"command": text}), [JUDGE], "/ws")
    denial(read_call("Edit", {"file_path": text, "input": text}), [JUDGE], "/ws")
