"""What people decide about a run: answers, waivers, attestations, more budget, the end."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from planbound.approval.record import approved_state
from planbound.disk.files import PlanFile
from planbound.errors import NothingToDo, Refused, Stale, UsageError
from planbound.journal.event import (
    Attested,
    BudgetRaised,
    Event,
    ExecutionCancelled,
    FailureClassified,
    GateClarificationAsked,
    RecoveryEscalation,
    TaskFailed,
    TaskSkipped,
    Waived,
    kind_of,
    replaced,
)
from planbound.journal.record import Draft, Journal, Query
from planbound.journal.words import Choice, FailureClass, PersonMethod, SubjectKind
from planbound.plan.digest import digest
from planbound.plan.limits import Budget
from planbound.plan.model import Attest, StepStatus
from planbound.plan.parse import parse
from planbound.state.append import Recorder
from planbound.state.owner import TOOLS
from planbound.state.plan import fold, known_plan, questions_of
from planbound.state.question import KINDS, Question
from planbound.state.run import RunState, Slot, lay_out
from planbound.workspace.context import Context
from planbound.workspace.vault import open_vault

_TRIES = 20
_Condition = tuple[SubjectKind, str]
"""Which kind it is of, and its number."""


class Person(NamedTuple):
    """Who decides, and how that is known."""

    name: str
    method: PersonMethod


def questions(journal: Journal, plan: str | None = None) -> list[Question]:
    """Return what waits for a person."""
    return questions_of(fold(journal.read(Query(plan=plan, events=KINDS))).values())


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
    if choice not in question.choices:
        named = ", ".join(map(str, question.choices)) or "nothing"
        raise Refused(
            f"`{question.id}` cannot be answered with `{choice.value}`", hint=f"choices: {named}"
        )

    def drafts() -> list[Draft]:
        _refuse_answered(recorder, question)
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
    yield about.decided(choice, person, guidance)
    if choice is Choice.SKIP:
        yield about.draft(TaskSkipped(reason=guidance or question.reason, by=person.name))
    elif choice is Choice.ABORT and question.task_id is not None:
        message = f"aborted by {person.name}: {question.reason}"
        yield about.draft(TaskFailed(error_message=message))
        kind = question.failure_type or FailureClass.UNRECOVERABLE
        yield about.draft(FailureClassified(failure_type=kind, rule="aborted-by-a-person"))


def _left_out(
    recorder: Recorder, question: Question, person: Person, held: Iterable[Slot]
) -> Iterable[Draft]:
    """Yield that what depends on a skipped step is skipped with it."""
    for slot in held:
        event = TaskSkipped(
            reason=f"depends on step {question.number}, which is skipped",
            by=person.name,
            number=slot.label,
        )
        key = f"{question.id} skips {slot.id} {recorder.now()}"
        yield recorder.draft(event, question.plan, key=key, task=(slot.id, slot.title))


class _About:
    """Makes events about what a question is about."""

    def __init__(self, recorder: Recorder, question: Question) -> None:
        self.recorder = recorder
        self.question = question

    def decided(self, choice: Choice, person: Person, guidance: str = "") -> Draft:
        question = self.question
        event = RecoveryEscalation(
            reason=question.reason,
            user_decision=choice,
            escalation=question.id,
            kind=question.kind,
            by=person.name,
            guidance=guidance or None,
            method=person.method,
        )
        return self.draft(event)

    def draft(self, event: Event) -> Draft:
        question = self.question
        task = None
        if question.task_id is not None:
            task = (question.task_id, question.title or question.task_id)
        if question.number is not None:
            event = replaced(event, number=question.number)
        key = f"{question.id} {kind_of(event).value} {self.recorder.now()}"
        return self.recorder.draft(event, question.plan, key=key, task=task)


def clarify(recorder: Recorder, question: Question, person: Person, text: str) -> None:
    """Answer what somebody asked before deciding about a plan; others wait on."""
    if not text.strip():
        raise UsageError("the answer is empty", hint="say it with `--text '...'`")
    event = GateClarificationAsked(
        question=question.reason,
        answer=text.strip(),
        by=person.name,
        method=person.method,
        line=question.line,
        quoted=question.quoted or None,
        answers=question.id,
    )

    def drafts() -> list[Draft]:
        _refuse_answered(recorder, question)
        return [recorder.draft(event, question.plan)]

    _append(recorder, drafts)


def _refuse_answered(recorder: Recorder, question: Question) -> None:
    if question.id not in {each.id for each in questions(recorder.journal, question.plan)}:
        raise NothingToDo(f"`{question.id}` is answered already")


def raise_budget(recorder: Recorder, question: Question, person: Person, more: Budget) -> None:
    """Allow more to be spent."""
    event = BudgetRaised(
        by=person.name,
        tokens=more.tokens,
        dollars=None if more.dollars is None else str(more.dollars),
        seconds=None if more.seconds is None else float(more.seconds),
        method=person.method,
    )

    def drafts() -> list[Draft]:
        _refuse_answered(recorder, question)
        raised = recorder.draft(event, question.plan)
        return [raised, _About(recorder, question).decided(Choice.RAISE, person)]

    _append(recorder, drafts)


def waive(
    recorder: Recorder, slug: str, state: RunState, subject: str, reason: str, person: Person
) -> str:
    """Go on without a pass; return what was waived."""
    slot, condition = _subject(state, subject)
    event = Waived(by=person.name, method=person.method, reason=reason)
    return _settle(recorder, slug, state, (slot, condition), event)


def attest(recorder: Recorder, slug: str, state: RunState, subject: str, person: Person) -> str:
    """Sign a statement; return it."""
    slot, condition = _subject(state, subject)
    statement = _statement(state, slot, condition)
    event = Attested(by=person.name, method=person.method, statement=statement)
    _settle(recorder, slug, state, (slot, condition), event)
    return statement


def _in_run(
    recorder: Recorder, slug: str, state: RunState, event: Waived | Attested
) -> Waived | Attested:
    """Return what a person decided, as a decision about this run."""
    if state.run is None and _is_in_the_loop(recorder, slug):
        approved = known_plan(recorder.journal, slug).session.approved
        if approved is not None and digest(state.layout.plan) != approved:
            raise Refused(
                "the plan was changed since it was approved", hint="approve it as it is now, first"
            )
        return event
    if state.run is None or (state.ended and state.ended.is_complete):
        raise Refused("there is no run that waits for this", hint="`planbound status` says more")
    return replaced(event, run=state.run, revision=state.revision, tree=state.tree or None)


def _is_in_the_loop(recorder: Recorder, slug: str) -> bool:
    """Say whether an agent works on a plan by itself, which is no run."""
    loop = known_plan(recorder.journal, slug).session
    # An approved plan may be worked off by either; what a person says of its start counts for both.
    is_begun = loop.session is not None or bool(loop.preconditions)
    known = loop.origin == TOOLS or loop.approved is not None or is_begun
    return known and not loop.is_over


def _statement(state: RunState, slot: Slot | None, condition: _Condition | None) -> str:
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
    conditions = plan.preconditions if kind is SubjectKind.PRECONDITION else plan.postconditions
    found = next(each for each in conditions if str(each.number) == number)
    if found.contract is not None and not isinstance(found.contract, Attest):
        raise Refused(
            f"{kind.value} {number} has a contract that the harness runs: nobody attests it",
            hint="`planbound waive` goes on without a pass",
        )
    return found.contract.statement if found.contract is not None else found.statement


def _subject(state: RunState, text: str) -> tuple[Slot | None, _Condition | None]:
    word, _, number = text.replace(":", " ").partition(" ")
    plan = state.layout.plan
    known = {
        SubjectKind.PRECONDITION: plan.preconditions,
        SubjectKind.POSTCONDITION: plan.postconditions,
    }
    kind = SubjectKind(word)
    if kind in known:
        if number.strip() not in {str(each.number) for each in known[kind]}:
            raise UsageError(f"the plan has no {word} `{number.strip()}`")
        return None, (kind, number.strip())
    slot = state.layout.find(number.strip() if kind is SubjectKind.STEP else text)
    if slot is None:
        labels = ", ".join(each.label for each in state.layout.slots[:20])
        raise UsageError(f"the plan has no step `{text}`", hint=f"it has the steps {labels}")
    return slot, None


def _settle(
    recorder: Recorder,
    slug: str,
    state: RunState,
    subject: tuple[Slot | None, _Condition | None],
    event: Waived | Attested,
) -> str:
    slot, condition = subject
    if slot is not None:
        task: tuple[str, str] | None = (slot.id, slot.title)
        about = (SubjectKind.STEP, slot.label)
    else:
        assert condition is not None
        task, about = None, condition

    def drafts() -> list[Draft]:
        # The run may have gone on since somebody looked.
        state.apply_all(recorder.journal.read(Query(plan=slug, after=state.seq)))
        if slot is not None and state.run is not None:
            _refuse_settled(state, slot)
        decided_event = _in_run(recorder, slug, state, event)
        decided_event = replaced(decided_event, subject=about[0], number=about[1])
        decided = [recorder.draft(decided_event, slug, task=task)]
        return recorder.with_outcomes(slug, state.recovering, decided)

    _append(recorder, drafts)
    return f"{about[0].value} {about[1]}"


def _refuse_settled(state: RunState, slot: Slot) -> None:
    status = state.steps[slot.place].status
    if status.is_settled and slot.id not in state.regressed:
        raise NothingToDo(f"step {slot.label} is {status.value} already")
    if status is StepStatus.IN_PROGRESS:
        raise Refused(f"step {slot.label} is being worked on", hint="wait, or cancel the run")


def cancel(recorder: Recorder, slug: str, state: RunState, person: Person, reason: str) -> None:
    """End a run; whoever drives it stops."""
    if state.run is None or state.ended is not None:
        raise NothingToDo(f"no run of `{slug}` is under way")
    event = ExecutionCancelled(
        by=person.name, run=state.run, reason=reason or None, method=person.method
    )
    recorder.record(event, slug)


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


# -- where a run is, for who decides about it ----------------------------------------------------


def run_state(context: Context, file: PlanFile, data: bytes) -> RunState:
    """Return where a plan is, by the journal."""
    plan = parse(data, path=file.shown)
    journal = context.existing_journal()
    layout = lay_out(plan, context.recorder().step_ids(plan))
    return RunState(layout, known_plan(journal, file.slug))


def decided_state(context: Context, file: PlanFile, data: bytes) -> RunState:
    """Return what people decide about: the run as it was approved, whatever the file says now."""
    return approved_state(context.recorder(), open_vault(context), file.slug, data)
