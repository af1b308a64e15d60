"""What each event of a run changes in what is known of its steps.

It answers to every event about a step or a condition, to the beginning, the pauses and the end of
runs, and to failures and their answers.
"""

from __future__ import annotations

from collections import deque
from decimal import Decimal

from planbound.journal.event import (
    AttemptEnded,
    Attested,
    BaselineObserved,
    BudgetRaised,
    ContractEvaluated,
    Event,
    EventKind,
    ExecutionCancelled,
    ExecutionComplete,
    ExecutionPaused,
    ExecutionStarted,
    FailureClassified,
    FailureDetected,
    RecoveryApplied,
    RecoveryEscalation,
    Result,
    RunOutcome,
    TaskBlocked,
    TaskCompleted,
    TaskFailed,
    TaskReopened,
    TaskSkipped,
    TaskStarted,
    VerdictKind,
    Waived,
    number_of,
    run_of,
)
from planbound.journal.fields import was_redacted
from planbound.journal.record import Record
from planbound.journal.words import Choice, FailureClass, QuestionKind, SubjectKind
from planbound.plan.model import StepStatus
from planbound.state.question import Questions
from planbound.state.run_facts import RunFacts, moment, recovery_of
from planbound.state.step import (
    Feedback,
    Look,
    NotedFailure,
    Raised,
    StepState,
    completed_as,
    decimal_of,
    dollars_of,
    raised_limits,
    tokens_of,
    used_in,
)

BLOCKED_RULE = "agent-blocked"
"""The rule that says that an agent calls itself blocked."""
_REMEMBERED = 50
"""So many of the last attempts of a role say what the next one is likely to use."""
_CLASSES = frozenset(FailureClass)
_NO_WORK = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_CANCELLED,
        EventKind.WAIVED,
        EventKind.ATTESTED,
    }
)
"""Events that do not show that somebody was at work until then."""
_TELLING = frozenset(
    {
        EventKind.RECOVERY_OUTCOME,
        EventKind.RECOVERY_ESCALATION,
        EventKind.TASK_COMPLETED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.WAIVED,
        EventKind.ATTESTED,
    }
)
"""Events about a step after which it is known what came of its recovery."""


# -- applying ------------------------------------------------------------------------------


def apply(facts: RunFacts, record: Record, event: Event, questions: Questions) -> None:
    """Add one event of the plan; `questions` are what was open before it."""
    draft = record.draft
    if facts.session is not None:
        if not facts.working and questions.of_run:
            facts.stand_still(draft.timestamp)
        if draft.kind not in _NO_WORK:
            facts.note_time(draft.timestamp, run_of(event))
    _work(facts, record, event, questions)
    if facts.recovering and draft.kind in _TELLING:
        # Older journals do not say what came of a recovery, only what happened then.
        facts.recovering.pop(draft.task_id or "", None)


def _work(facts: RunFacts, record: Record, event: Event, questions: Questions) -> None:
    match event:
        case ContractEvaluated():
            _evaluated(facts, record, event)
        case TaskStarted():
            _started(facts, record, event)
        case TaskCompleted():
            _done(facts, record, event)
        case BaselineObserved():
            _baseline(facts, record, event)
        case AttemptEnded():
            _ended(facts, record, event)
        case TaskFailed() | TaskSkipped() | TaskBlocked() | TaskReopened():
            _told(facts, record, event)
        case Waived() | Attested():
            _by_person(facts, record, event)
        case _:
            _went_on(facts, record, event, questions)


def _went_on(facts: RunFacts, record: Record, event: Event, questions: Questions) -> None:
    match event:
        case ExecutionStarted():
            _begun(facts, record, event)
        case ExecutionPaused():
            facts.stop_clock()
            facts.paused = event.reason
            facts.see(event.tree, event.manifest)
        case ExecutionCancelled():
            facts.cancelled = True
        case ExecutionComplete():
            _completed_run(facts, event)
        case FailureDetected():
            _detected(facts, record, event)
        case FailureClassified():
            if event.rule == BLOCKED_RULE and (step := facts.step_of(record)) is not None:
                step.blocked += 1
        case RecoveryApplied():
            _recovered(facts, record, event)
        case RecoveryEscalation():
            _escalated(facts, record, event, questions)
        case BudgetRaised():
            _raised(facts, event, questions)


# -- the run -------------------------------------------------------------------------------


def _begun(facts: RunFacts, record: Record, event: ExecutionStarted) -> None:
    facts.moves += 1
    if facts.stale:
        # What an agent in the loop showed before the approval is not what a run has to show.
        for name in facts.stale:
            facts.steps[name] = StepState(name, approved=facts.steps[name].approved)
        facts.replace_steps(facts.steps)
        facts.stale = set()
    facts.run = event.run
    facts.begun_by = facts.begun_by or event.version
    facts.anyway = event.anyway or facts.anyway
    ended, facts.ended, facts.paused = facts.ended, None, None
    facts.preconditions = {}
    # What a person decided before the run came to its end still holds.
    if ended is not None:
        facts.aborted = None
    for step in facts.steps.values():
        if ended is not None and step.status is StepStatus.FAILED:
            step.reset_recovery()
            facts.settle(step, StepStatus.PENDING)
        elif step.status is StepStatus.BLOCKED:
            facts.settle(step, StepStatus.PENDING)  # a run tries it itself
    facts.see(event.tree, event.manifest)
    now = moment(record.draft.timestamp)
    facts.before_session = facts.session_seconds()
    facts.session = (now, now)


def _completed_run(facts: RunFacts, event: ExecutionComplete) -> None:
    facts.moves += 1
    facts.stop_clock()
    facts.ended = event.status or RunOutcome.FAILED
    facts.why_ended = event.reason
    facts.cancelled = False
    facts.recovering.clear()
    for step in facts.steps.values():
        if step.status is StepStatus.WAITING:
            step.status, step.question = StepStatus.FAILED, None
    facts.see(event.tree, event.manifest)


# -- attempts ------------------------------------------------------------------------------


def _started(facts: RunFacts, record: Record, event: TaskStarted) -> None:
    step = facts.step_of(record)
    if step is None:
        return
    if facts.session is None and facts.run is not None:
        # It waited for a person in this very process.
        now = moment(record.draft.timestamp)
        facts.session, facts.paused = (now, now), None
    step.attempts = event.attempt
    step.ended, step.question, step.not_before = None, None, None
    step.manifest, step.copy = event.manifest, event.copy
    baseline, tree = event.baseline, event.tree
    # Without a tree it is what was seen at the gate, which is known already.
    if baseline is not None and step.baseline is None and (tree or step.approved is None):
        step.baseline = Look(baseline, tree or "")
    facts.forget_end()
    facts.settle(step, StepStatus.IN_PROGRESS)


def _ended(facts: RunFacts, record: Record, event: AttemptEnded) -> None:
    step = facts.step_of(record)
    tokens, cost, guessed = tokens_of(event), dollars_of(event), event.estimated or 0
    if step is not None:
        step.ended = event.ending
        step.said = event.output_tail
        step.tokens += tokens or 0
        step.dollars += cost or Decimal(0)
        step.seconds += event.duration or 0.0
        # What was estimated may be in what the session reports the next time.
        told = max(0, (tokens or 0) - guessed)
        _follow(step, event, told, cost or Decimal(0))
        if not event.ending.is_cut_off:
            step.covered = frozenset()
    ended = used_in(event)
    if ended is not None:
        role, use = ended
        facts.uses.setdefault(role, deque(maxlen=_REMEMBERED)).append(use)
    facts.spent = facts.spent._replace(
        estimated=facts.spent.estimated + guessed,
        tokens=facts.spent.tokens + (tokens or 0),
        dollars=facts.spent.dollars + (cost or Decimal(0)),
        unmetered=facts.spent.unmetered + (tokens is None or cost is None),
    )


def _baseline(facts: RunFacts, record: Record, event: BaselineObserved) -> None:
    _remember(facts, event)
    key = event.tests.names if event.tests is not None else None
    if event.contract and key:
        facts.tests[event.contract] = key
        if event.baseline is not None:  # of all contracts at once, at the gate
            facts.approved_tests[event.contract] = key
    look, name = _look(event), record.draft.task_id
    if event.baseline is not None:
        about = (event.subject, str(event.number)) if name is None else (SubjectKind.STEP, name)
        facts.colours[about] = (look, event.plan_digest)
    elif (step := facts.step_of(record)) is not None:
        step.baseline = look


def _evaluated(facts: RunFacts, record: Record, event: ContractEvaluated) -> None:
    _remember(facts, event)
    verdict, step = event.verdict, facts.step_of(record)
    if step is not None:
        step.verdict = verdict
        if event.run is None and verdict is not VerdictKind.PASS and step.status.is_green:
            facts.settle(step, StepStatus.IN_PROGRESS)  # an agent in the loop broke it
    if event.run != facts.run:
        return
    if step is not None:
        step.judged_tree = event.tree
        step.beyond = event.beyond
        is_unseen = step.approved is None or not step.approved.is_seen
        if step.baseline is None and is_unseen and verdict is not VerdictKind.PASS:
            step.baseline = _look(event)  # the first time that anybody saw anything
        step.feedback = Feedback(
            verdict=verdict,
            reason=event.reason or "",
            exit_code=event.exit_code,
            output=event.output_tail or "",
            outside=event.outside or (),
            tampered=event.tampered or (),
            left_out=event.left_out or (),
        )
        if event.final and verdict is VerdictKind.PASS:
            facts.final[step.id] = step.judged_tree or ""
    elif event.subject is SubjectKind.POSTCONDITION:
        number = str(event.number)
        facts.conditions[number] = verdict
        facts.condition_results.pop(number, None)
        if event.result is not None:
            facts.condition_results[number] = event.result
        facts.condition_trees[number] = "" if event.beyond else event.tree or ""
    elif event.subject is SubjectKind.PRECONDITION:
        facts.preconditions[str(event.number)] = verdict


def _remember(facts: RunFacts, event: BaselineObserved | ContractEvaluated) -> None:
    if event.contract and event.tree:
        verdicts = facts.earlier.setdefault((event.contract, event.tree), set())
        verdicts.add(event.verdict)


def _done(facts: RunFacts, record: Record, event: TaskCompleted) -> None:
    step = facts.step_of(record)
    if step is not None:
        step.question, step.trouble = None, None
        step.result, step.reason = event.result, event.reason
        facts.settle(step, completed_as(event))
        facts.regressed.discard(step.id)
    facts.see(event.tree, event.manifest)


def _told(facts: RunFacts, record: Record, event: Event) -> None:
    """Note where a step is that did not come to its end by itself."""
    step = facts.step_of(record)
    if step is None:
        return
    step.question = None
    _leave_in(facts, event)
    match event:
        case TaskSkipped():
            step.result = Result.SKIPPED
            facts.settle(step, StepStatus.SKIPPED)
        case TaskFailed():
            facts.settle(step, StepStatus.FAILED)
        case TaskBlocked():
            facts.settle(step, StepStatus.BLOCKED)
        case TaskReopened():
            facts.settle(step, StepStatus.PENDING)


def _by_person(facts: RunFacts, record: Record, event: Waived | Attested) -> None:
    verdict = VerdictKind.ATTESTED if isinstance(event, Attested) else VerdictKind.WAIVED
    step = facts.step_of(record)
    if step is None:
        facts.answered[f"{event.subject} {event.number}"] = verdict
        if event.subject is SubjectKind.POSTCONDITION:
            facts.conditions[str(event.number)] = verdict
        return
    step.question = None
    _leave_in(facts, event)
    if verdict is VerdictKind.ATTESTED:
        step.result, step.verdict = Result.ATTESTED, verdict
        facts.settle(step, StepStatus.ATTESTED)
    else:
        facts.regressed.discard(step.id)
        facts.settle(step, StepStatus.WAIVED)


def _leave_in(facts: RunFacts, event: Event) -> None:
    """Go by what is on record about a step that the approval leaves out."""
    if facts.left_out:
        facts.left_out -= {number_of(event) or ""}


# -- failures and their answers ------------------------------------------------------------


def _detected(facts: RunFacts, record: Record, event: FailureDetected) -> None:
    step = facts.step_of(record)
    if step is None:
        return
    signature, code = event.signature, event.exit_code
    step.repeated = step.repeated + 1 if signature and signature == step.signature else 1
    step.signature = signature
    step.trouble = NotedFailure(
        event.failed, event.error_message or "", code if isinstance(code, int) else None
    )
    if event.is_regression:
        facts.regressed.add(step.id)
        facts.settle(step, StepStatus.PENDING)


def _recovered(facts: RunFacts, record: Record, event: RecoveryApplied) -> None:
    facts.recoveries += 1
    step = facts.step_of(record)
    if step is None:
        return
    facts.recovering[step.id] = recovery_of(record, event)
    if event.failure_type in _CLASSES:
        known = event.failure_type
        step.recovered = {**step.recovered, known: step.recovered.get(known, 0) + 1}
    if event.reason is not None:
        step.feedback = (step.feedback or Feedback())._replace(warning=event.reason)
    step.retries += 1
    step.not_before = event.until
    facts.settle(step, StepStatus.PENDING)


def _escalated(
    facts: RunFacts, record: Record, event: RecoveryEscalation, questions: Questions
) -> None:
    step, decision = facts.step_of(record), event.user_decision
    if decision is None:
        if step is not None:
            step.question = event.escalation or ""
            facts.settle(step, StepStatus.WAITING)
        return
    if (event.escalation or "") not in questions.open:
        return  # it was settled by another way: an answer to it means nothing any more
    if decision is Choice.RETRY:
        if step is not None:
            step.reset_recovery()
            step.question = None
            if event.guidance:
                step.guidance = (*step.guidance, event.guidance)
            facts.settle(step, StepStatus.PENDING)
        facts.forget_end()
    elif decision is Choice.ABORT:
        facts.aborted = f"aborted by {event.by}"
    elif decision is Choice.REVISE:
        facts.revised = True


def _raised(facts: RunFacts, event: BudgetRaised, questions: Questions) -> None:
    facts.moves += 1
    facts.raised = Raised(
        tokens=facts.raised.tokens + (event.tokens or 0),
        dollars=facts.raised.dollars + (decimal_of(event.dollars) or Decimal(0)),
        seconds=facts.raised.seconds + float(event.seconds or 0),
    )
    covered = raised_limits(event)
    for question in questions.open.values():
        step = facts.steps.get(question.task_id or "")
        if question.kind is QuestionKind.BUDGET and step is not None:
            step.covered |= covered
            step.reset_recovery()
            facts.settle(step, StepStatus.PENDING)


def _follow(step: StepState, event: AttemptEnded, tokens: int, cost: Decimal) -> None:
    """Take notice of the session that the agent of an attempt was in."""
    agent, session = event.agent, event.session
    if agent is None or session is None or was_redacted(session):
        step.session = None
        return
    if step.session != (agent, session):
        step.session = (agent, session)
        step.session_tokens, step.session_dollars = 0, Decimal(0)
    step.session_tokens += tokens
    step.session_dollars += cost


def _look(event: BaselineObserved | ContractEvaluated) -> Look:
    look = Look(event.verdict, event.tree or "", event.contract or "")
    tried = event.controls if isinstance(event, BaselineObserved) else None
    return look._replace(controls=tuple((each.name, each.result) for each in tried or ()))
