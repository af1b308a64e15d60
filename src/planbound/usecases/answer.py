"""What people decide about a run: answers, waivers, attestations, more budget, the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from planbound.engine.inbox import KINDS, open_questions
from planbound.engine.loop.owner import TOOLS
from planbound.engine.loop.state import INCOMPLETE, LoopState
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.run.layout import Slot, lay_out
from planbound.engine.run.question import Choice, Question
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.errors import NothingToDo, Refused, Stale, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.plan.limits import Budget
from planbound.plan.model import Attest
from planbound.plan.parse import parse
from planbound.ports.journal import Journal, Query
from planbound.ports.tree import Vault
from planbound.usecases.gate import last_text
from planbound.usecases.record import Recorder

_TRIES = 20


class Person(NamedTuple):
    """Who decides, and how that is known."""

    name: str
    method: str


def state_of(recorder: Recorder, vault: Vault, slug: str, data: bytes) -> RunState:
    """Return where a plan is; of a run by the text that was approved, whatever its file says."""
    state = None
    for text in (last_text(recorder.journal, vault, slug), data):
        if text is None or (state is not None and state.run is not None):
            continue
        plan = parse(text, path=slug)
        state = RunState(lay_out(plan, recorder.step_ids(plan)))
        state.apply_all(recorder.journal.read(Query(plan=slug)))
    assert state is not None
    return state


def questions(journal: Journal, plan: str | None = None) -> list[Question]:
    """Return what waits for a person."""
    return open_questions(journal.read(Query(plan=plan, events=KINDS)))


def find_question(journal: Journal, name: str) -> Question:
    """Return the question with an id that begins so, or the only one of the plan of that name."""
    waiting = questions(journal)
    found = [each for each in waiting if name and (each.id.startswith(name) or each.plan == name)]
    if len(found) == 1:
        return found[0]
    if found:
        listed = ", ".join(each.id for each in found)
        raise UsageError(f"`{name}` is not one question: {listed}")
    raise UsageError(
        f"nothing waits under `{name}`: it was answered, or never asked",
        hint="`planbound inbox` lists what waits",
    )


def answer(
    recorder: Recorder,
    question: Question,
    choice: Choice,
    person: Person,
    guidance: str = "",
    state: RunState | None = None,
) -> None:
    """Answer a question of a run, once; to skip a step, `state` is where the run is."""
    if choice.value not in question.choices:
        named = ", ".join(question.choices) or "nothing"
        raise Refused(
            f"`{question.id}` cannot be answered with `{choice.value}`", hint=f"choices: {named}"
        )

    def drafts() -> list[Draft]:
        if question.id not in {each.id for each in questions(recorder.journal, question.plan)}:
            raise NothingToDo(f"`{question.id}` is answered already")
        held: tuple[Slot, ...] = ()
        if choice is Choice.SKIP:
            assert state is not None
            # The run may have gone on since somebody looked.
            state.apply_all(recorder.journal.read(Query(plan=question.plan, after=state.seq)))
            index = state.layout.by_id.get(question.task_id or "")
            held = () if index is None else state.left_out_with(index)
        return [
            *_answered(recorder, question, choice, person, guidance),
            *_left_out(recorder, question, person, held),
        ]

    _append(recorder, drafts)


def _answered(
    recorder: Recorder, question: Question, choice: Choice, person: Person, guidance: str
) -> Iterable[Draft]:
    about = _About(recorder, question)
    details: dict[str, Json] = {
        "reason": question.reason,
        "user_decision": choice.value,
        "escalation": question.id,
        "kind": question.kind.value,
        "by": person.name,
    }
    if guidance:
        details["guidance"] = guidance
    yield about.draft(EventKind.RECOVERY_ESCALATION, details)
    if choice is Choice.SKIP:
        reason: dict[str, Json] = {"reason": guidance or question.reason, "by": person.name}
        yield about.draft(EventKind.TASK_SKIPPED, reason)
    elif choice is Choice.ABORT and question.task_id is not None:
        message = f"aborted by {person.name}: {question.reason}"
        yield about.draft(EventKind.TASK_FAILED, {"error_message": message})
        kind = question.failure_type or FailureClass.UNRECOVERABLE.value
        yield about.draft(
            EventKind.FAILURE_CLASSIFIED, {"failure_type": kind, "rule": "aborted-by-a-person"}
        )


def _left_out(
    recorder: Recorder, question: Question, person: Person, held: Iterable[Slot]
) -> Iterable[Draft]:
    """Yield that what depends on a skipped step is skipped with it."""
    for slot in held:
        details: dict[str, Json] = {
            "reason": f"depends on step {question.number}, which is skipped",
            "by": person.name,
            "number": slot.label,
        }
        key = f"{question.id} skips {slot.id} {recorder.now()}"
        yield recorder.draft(
            EventKind.TASK_SKIPPED, question.plan, details, key=key, task=(slot.id, slot.title)
        )


class _About:
    """Makes events about what a question is about."""

    def __init__(self, recorder: Recorder, question: Question) -> None:
        self.recorder = recorder
        self.question = question

    def draft(self, kind: EventKind, details: dict[str, Json]) -> Draft:
        question = self.question
        task = None
        if question.task_id is not None:
            task = (question.task_id, question.title or question.task_id)
        if question.number is not None:
            details["number"] = question.number
        key = f"{question.id} {kind.value} {self.recorder.now()}"
        return self.recorder.draft(kind, question.plan, details, key=key, task=task)


def clarify(recorder: Recorder, question: Question, person: Person, text: str) -> None:
    """Answer what somebody asked before deciding about a plan."""
    details: dict[str, Json] = {"question": question.reason, "answer": text, "by": person.name}
    recorder.record(EventKind.GATE_CLARIFICATION_ASKED, question.plan, details)


def raise_budget(recorder: Recorder, question: Question, person: Person, more: Budget) -> None:
    """Allow more to be spent."""
    details: dict[str, Json] = {"by": person.name}
    if more.tokens is not None:
        details["tokens"] = more.tokens
    if more.dollars is not None:
        details["dollars"] = str(more.dollars)
    if more.seconds is not None:
        details["seconds"] = float(more.seconds)

    def drafts() -> list[Draft]:
        if question.id not in {each.id for each in questions(recorder.journal, question.plan)}:
            raise NothingToDo(f"`{question.id}` is answered already")
        decided: dict[str, Json] = {
            "reason": question.reason,
            "user_decision": Choice.RAISE.value,
            "escalation": question.id,
            "kind": question.kind.value,
            "by": person.name,
        }
        about = _About(recorder, question)
        raised = recorder.draft(EventKind.BUDGET_RAISED, question.plan, details)
        return [raised, about.draft(EventKind.RECOVERY_ESCALATION, decided)]

    _append(recorder, drafts)


def waive(
    recorder: Recorder, slug: str, state: RunState, subject: str, reason: str, person: Person
) -> str:
    """Go on without a pass; return what was waived."""
    slot, condition = _subject(state, subject)
    details: dict[str, Json] = {
        "by": person.name,
        "method": person.method,
        "reason": reason,
    }
    return _settle(recorder, slug, state, (slot, condition), EventKind.WAIVED, details)


def attest(recorder: Recorder, slug: str, state: RunState, subject: str, person: Person) -> str:
    """Sign a statement; return it."""
    slot, condition = _subject(state, subject)
    statement = _statement(state, slot, condition)
    details: dict[str, Json] = {
        "by": person.name,
        "method": person.method,
        "statement": statement,
    }
    _settle(recorder, slug, state, (slot, condition), EventKind.ATTESTED, details)
    return statement


def _run(recorder: Recorder, slug: str, state: RunState) -> dict[str, Json]:
    if state.run is None and _is_in_the_loop(recorder, slug):
        return {}
    if state.run is None or state.ended in {"done", "done with skips"}:
        raise Refused("there is no run that waits for this", hint="`planbound status` says more")
    details: dict[str, Json] = {"run": state.run, "revision": state.revision}
    if state.tree:
        details["tree"] = state.tree
    return details


def _is_in_the_loop(recorder: Recorder, slug: str) -> bool:
    """Say whether an agent works on a plan by itself, which is no run."""
    loop = LoopState()
    loop.apply_all(recorder.journal.read(Query(plan=slug)))
    # An approved plan may be worked off by either; what a person says of its start counts for both.
    known = loop.origin == TOOLS or loop.is_known or loop.preconditions
    return bool(known) and loop.outcome in {None, INCOMPLETE}


def _statement(state: RunState, slot: Slot | None, condition: tuple[str, str] | None) -> str:
    if slot is not None:
        if not isinstance(slot.step.contract, Attest):
            raise Refused(
                f"step {slot.label} has a contract that the harness runs: nobody attests it",
                hint="`planbound waive` goes on without a pass",
            )
        return slot.step.contract.statement
    assert condition is not None
    kind, number = condition
    plan = state.layout.plan
    conditions = plan.preconditions if kind == "precondition" else plan.postconditions
    found = next(each for each in conditions if str(each.number) == number)
    if found.contract is not None and not isinstance(found.contract, Attest):
        raise Refused(
            f"{kind} {number} has a contract that the harness runs: nobody attests it",
            hint="`planbound waive` goes on without a pass",
        )
    return found.contract.statement if found.contract is not None else found.statement


def _subject(state: RunState, text: str) -> tuple[Slot | None, tuple[str, str] | None]:
    word, _, number = text.replace(":", " ").partition(" ")
    plan = state.layout.plan
    known = {"precondition": plan.preconditions, "postcondition": plan.postconditions}
    if word in known:
        if number.strip() not in {str(each.number) for each in known[word]}:
            raise UsageError(f"the plan has no {word} `{number.strip()}`")
        return None, (word, number.strip())
    slot = state.layout.find(number.strip() if word == "step" else text)
    if slot is None:
        labels = ", ".join(each.label for each in state.layout.slots[:20])
        raise UsageError(f"the plan has no step `{text}`", hint=f"it has the steps {labels}")
    return slot, None


def _settle(
    recorder: Recorder,
    slug: str,
    state: RunState,
    subject: tuple[Slot | None, tuple[str, str] | None],
    kind: EventKind,
    details: dict[str, Json],
) -> str:
    slot, condition = subject
    if slot is not None:
        task: tuple[str, str] | None = (slot.id, slot.title)
        about = ("step", slot.label)
    else:
        assert condition is not None
        task, about = None, condition

    def drafts() -> list[Draft]:
        # The run may have gone on since somebody looked.
        state.apply_all(recorder.journal.read(Query(plan=slug, after=state.seq)))
        if slot is not None and state.run is not None:
            _refuse_settled(state, slot)
        named: dict[str, Json] = {"subject": about[0], "number": about[1]}
        about_it = {**details, **_run(recorder, slug, state), **named}
        decided = [recorder.draft(kind, slug, about_it, task=task)]
        return recorder.with_outcomes(slug, state.recovering, decided)

    _append(recorder, drafts)
    return f"{about[0]} {about[1]}"


def _refuse_settled(state: RunState, slot: Slot) -> None:
    phase = state.steps[slot.place].phase
    if phase.is_settled and slot.place not in state.regressed:
        raise NothingToDo(f"step {slot.label} is {phase.value} already")
    if phase is Phase.STARTED:
        raise Refused(f"step {slot.label} is being worked on", hint="wait, or cancel the run")


def cancel(recorder: Recorder, slug: str, state: RunState, person: Person, reason: str) -> None:
    """End a run; whoever drives it stops."""
    if state.run is None or state.ended is not None:
        raise NothingToDo(f"no run of `{slug}` is under way")
    details: dict[str, Json] = {"by": person.name, "run": state.run}
    if reason:
        details["reason"] = reason
    recorder.record(EventKind.EXECUTION_CANCELLED, slug, details)


def _append(recorder: Recorder, drafts: Callable[[], list[Draft]]) -> None:
    """Append what was decided on what is known now; look again where somebody was faster."""
    for _ in range(_TRIES):
        head = recorder.journal.head()
        wanted = drafts()
        try:
            recorder.journal.append(wanted, expected=head)
        except Stale:
            continue
        return
    raise Refused("others write to the journal all the time", hint="try again")
