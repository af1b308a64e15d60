"""One pass, one state: whatever happens in whatever order, all views say the same of a plan."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planbound.journal.event import EventKind, PlanRewritten, run_of
from planbound.journal.record import Draft, Json, Provenance, Record
from planbound.plan.model import StepStatus
from planbound.plan.parse import parse
from planbound.state import approval, place, question
from planbound.state.plan import PlanState, fold
from planbound.state.run import RunState, lay_out
from tests.journal import told

E = EventKind
PLAN = parse(
    b"""# Plan: It

## Steps

### 1. one

**contract:** `true`

### 2. two

**depends:** none

**contract:** `true`
""",
    path="PLAN.md",
)
LAYOUT = lay_out(PLAN)
NAMES = [slot.id for slot in LAYOUT.slots]
Told = tuple[EventKind, str | None, dict[str, Json]]

_STEPS = st.sampled_from(NAMES)
_DIGESTS = st.sampled_from(["d1", "d2", "d3"])
_RUNS = st.sampled_from([None, "r1", "r2"])
_HANDS: list[dict[str, Json]] = [{}, {"session": "s"}, {"session": "s", "by": "s"}]


def about(kind: EventKind, *details: dict[str, Json]) -> st.SearchStrategy[Told]:
    """Return an event of a step, in a run or without one."""

    def made(name: str, run: str | None, chosen: dict[str, Json]) -> Told:
        return kind, name, chosen | ({} if run is None else {"run": run})

    return st.builds(made, _STEPS, _RUNS, st.sampled_from(details or ({},)))


def plain(kind: EventKind, *details: dict[str, Json]) -> st.SearchStrategy[Told]:
    """Return an event of the plan."""
    return st.builds(lambda chosen: (kind, None, chosen), st.sampled_from(details or ({},)))


def _rewritten(to: str, kept: list[str] | None, by: dict[str, Json]) -> Told:
    named: dict[str, Json] = {} if kept is None else {"kept": list(kept), "dropped": {}}
    return E.PLAN_REWRITTEN, None, {"from": "d1", "to": to, **named, **by}


_ASKED: dict[str, Json] = {"reason": "stuck", "user_decision": None, "kind": "failure"}
_WRONG: dict[str, Json] = {"error_message": "no"}
_COUNTS: dict[str, Json] = {"completed": 2, "failed": 0, "skipped": 0, "waived": 0}
_MERGE: dict[str, Json] = {"into": "main", "before": "0", "commit": "1", "tip": "2"}
EVENTS = st.one_of(
    about(E.TASK_STARTED, {"attempt": 1}, {"attempt": 2}),
    about(E.TASK_COMPLETED, {"result": "proved"}, {"result": "holds"}, {"result": "claimed"}),
    about(
        E.CONTRACT_EVALUATED,
        {"verdict": "pass", "subject": "step"},
        {"verdict": "fail", "subject": "step"},
    ),
    about(E.BASELINE_OBSERVED, {"verdict": "fail", "subject": "step"}),
    about(E.TASK_FAILED, _WRONG),
    about(E.TASK_SKIPPED, {"by": "ann"}),
    about(E.TASK_BLOCKED, {"reason": "no"}),
    about(E.TASK_REOPENED, {"before": "claimed"}),
    about(E.WAIVED, {"by": "ann", "subject": "step"}),
    about(E.ATTESTED, {"by": "ann", "subject": "step"}),
    about(E.FAILURE_DETECTED, _WRONG, _WRONG | {"reason": "regressed"}),
    about(E.RECOVERY_APPLIED, {"recipe_name": "retry", "failure_type": "logic"}),
    about(
        E.RECOVERY_ESCALATION,
        *(_ASKED | {"escalation": key} for key in ("q1", "q2")),
        *(_ASKED | {"escalation": "q1", "user_decision": said} for said in ("retry", "abort")),
    ),
    plain(E.BUDGET_RAISED, {"tokens": 5, "by": "ann"}),
    st.builds(
        lambda run, text: (E.EXECUTION_STARTED, None, {"run": run, "nonce": run, "digest": text}),
        st.sampled_from(["r1", "r2"]),
        _DIGESTS,
    ),
    plain(E.EXECUTION_COMPLETE, _COUNTS | {"status": "done"}, _COUNTS | {"status": "failed"}),
    plain(E.PLAN_CREATED, {"digest": "d1", "origin": "file"}),
    plain(E.PLAN_CREATED, {"digest": "d1", "origin": "tools"}),
    plain(E.GATE_APPROVAL_REQUESTED, {"plan_id": "it", "digest": "d1"}),
    st.builds(
        lambda text: (E.GATE_APPROVED, None, {"modifications": [], "digest": text}), _DIGESTS
    ),
    plain(E.GATE_REJECTED, {"reason": "no"}),
    st.builds(
        _rewritten, _DIGESTS, st.none() | st.lists(_STEPS, unique=True), st.sampled_from(_HANDS)
    ),
    st.builds(
        lambda to, kept: (E.PLAN_AMENDED, None, {"from": "d1", "to": to, "kept": kept}),
        _DIGESTS,
        st.lists(_STEPS, unique=True),
    ),
    plain(E.PLAN_VERIFIED, {"digest": "d1"}, {"digest": "d2", "errors": 1}),
    plain(E.PLAN_ARCHIVED),
    plain(E.PLAN_STAGED),
    plain(E.PLAN_ACTIVATED),
    plain(E.FINALIZATION_CAPPED, {"missing": []}),
    plain(E.FINALIZATION_ACCEPTED, {"tree": "t", "digest": "d1"}),
    plain(E.SESSION_RELEASED, {"by": "ann"}),
    plain(E.INTEGRATION_STOPPED, {"into": "main", "kind": "red", "reason": "no"}),
    plain(E.PLAN_INTEGRATED, _MERGE),
    plain(E.WORKTREE_SPAWNED, {"path": "/a", "branch": "b", "base": "0"}),
)


def records(events: list[Told], plan: str = "it") -> list[Record]:
    found = []
    for seq, (kind, task, details) in enumerate(events, 1):
        stamp = f"2026-11-15T09:{seq // 60:02}:{seq % 60:02}.000000Z"
        live = Provenance.LIVE
        draft = Draft(f"{seq:032x}", stamp, kind, plan, task, task, told(kind, details), live)
        found.append(Record(seq, seq, draft, version=1, prev="", hash=""))
    return found


OF_RUNS = {
    E.PLAN_AMENDED,
    E.EXECUTION_STARTED,
    E.EXECUTION_COMPLETE,
    E.TASK_FAILED,
    E.TASK_SKIPPED,
    E.FAILURE_DETECTED,
    E.RECOVERY_APPLIED,
    E.RECOVERY_ESCALATION,
    E.BUDGET_RAISED,
}
LIVES = st.lists(EVENTS, min_size=1, max_size=40).map(records)


@given(LIVES)
def test_folding_at_once_and_record_by_record_is_the_same(life: list[Record]) -> None:
    plan, run = PlanState("it"), RunState(LAYOUT, PlanState("it"))
    for number, record in enumerate(life, 1):
        plan.apply(record)
        run.apply(record)
        assert fold(life[:number]) == {"it": plan}
        again = RunState(LAYOUT, plan)
        assert run.plan == plan
        assert (run.steps, run.open, run.unmet) == (again.steps, again.open, again.unmet)


@given(LIVES)
def test_a_part_is_told_by_the_events_that_it_names(life: list[Record]) -> None:
    whole = fold(life)["it"]

    def of(kinds: tuple[EventKind, ...]) -> PlanState:
        return fold(each for each in life if each.kind in kinds).get("it") or PlanState("it")

    assert of(approval.KINDS).approval == whole.approval
    assert of(question.KINDS).questions == whole.questions
    assert of(place.KINDS).place == whole.place


@given(LIVES)
def test_the_views_never_disagree_about_a_step_of_a_run(life: list[Record]) -> None:
    plan = PlanState("it")
    for record in life:
        plan.apply(record)
        run = RunState(LAYOUT, plan)
        for slot, seen in zip(LAYOUT.slots, run.steps, strict=True):
            # No run builds upon what was settled before its approval: it will begin anew.
            stale = slot.id in plan.run.stale
            assert seen.status is (StepStatus.PENDING if stale else status_of(plan, slot.id))


@given(LIVES)
def test_the_views_never_disagree_about_a_step_of_an_agent_in_the_loop(life: list[Record]) -> None:
    plan = PlanState("it")
    for record in life:
        event = record.event
        if record.kind in OF_RUNS or run_of(event) is not None:
            continue
        if isinstance(event, PlanRewritten) and not is_from(event, plan.session.digest):
            continue
        plan.apply(record)
        for name in NAMES:
            item = plan.session.steps.get(name)
            seen = item.status if item is not None else StepStatus.PENDING
            assert seen is status_of(plan, name)


def is_from(event: PlanRewritten, digest: str | None) -> bool:
    """Say whether a change could have happened to a text."""
    return event.from_ == digest and event.to != digest


def status_of(plan: PlanState, name: str) -> StepStatus:
    step = plan.steps.get(name)
    return step.status if step is not None else StepStatus.PENDING
