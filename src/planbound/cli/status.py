"""`planbound status`, and where a plan is, for people and for programs."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import asdict

from planbound.approval.remind import remind_waiting, still_waits
from planbound.cells.stages import spoken
from planbound.cli.named_plans import read_own_plan
from planbound.cli.person import QuestionAsked, question_asked, question_lines
from planbound.cli.progress import money
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.journal.event import EventKind, Result, RunOutcome, SessionOutcome, VerdictKind
from planbound.journal.fields import ControlResult
from planbound.journal.words import Failed, ToolStatus
from planbound.plan.model import PlanStatus, StepStatus
from planbound.run.people import questions, run_state
from planbound.session.people import SessionView, session_view
from planbound.session.shown import ItemData, agenda_data, heading_of, show
from planbound.source import visible
from planbound.state.place import TeamState
from planbound.state.plan import known_of, plan_states
from planbound.state.question import Question
from planbound.state.run import MET, RunState
from planbound.state.step import StepState, held, tally, trouble_words
from planbound.workspace.context import Context
from planbound.workspace.overview import look

# -- where a plan is, for people and for programs ------------------------------------------------


_MARKS = {
    StepStatus.PENDING: " ",
    StepStatus.IN_PROGRESS: "…",
    StepStatus.WAITING: "?",
    StepStatus.DONE: "✓",
    StepStatus.HOLDS: "=",
    StepStatus.ATTESTED: "✓",
    StepStatus.WAIVED: "~",
    StepStatus.SKIPPED: "-",
    StepStatus.FAILED: "✗",
    StepStatus.BLOCKED: "!",
    StepStatus.CLAIMED: "☑",
}


class Known(NamedTuple):
    """What every other view tells of a plan, too."""

    status: PlanStatus
    waiting: Sequence[Question]
    """What is in the inbox."""


class SpentSoFar(JsonObject, frozen=True):
    """What a run has used."""

    tokens: int
    dollars: str
    unmetered_attempts: int
    """Attempts of agents that say nothing of what they use."""
    estimated_tokens: int
    seconds: float


class StepNow(JsonObject, frozen=True):
    """Where a step of a run is."""

    number: str
    id: str
    title: str
    status: StepStatus
    attempts: int
    verdict: VerdictKind | None
    """Of the last attempt; null where nothing was judged yet."""
    failed: Failed | None
    """What failed before it could be judged."""
    error: str | None
    result: Result | None
    """`proved`, `holds` and so on, once it is settled."""
    baseline: VerdictKind | None
    """The verdict before the work."""
    approved_baseline: VerdictKind | None
    """The verdict when the plan was approved."""
    controls: dict[str, ControlResult]
    """What its contract said then with each change that it has to fail with (`rejects`)."""
    reason: str | None
    not_before: str | None
    """When it is tried again, UTC."""


class ConditionNow(JsonObject, frozen=True):
    """Where a postcondition of a run is."""

    number: int
    verdict: VerdictKind | None
    result: Result | None


class RunNow(JsonObject, frozen=True):
    """Where a run is."""

    slug: str
    status: PlanStatus
    revision: int
    run: str | None
    ended: RunOutcome | None
    """How the run ended; null while it goes on."""
    paused: str | None
    anyway: str | None
    """The plans that it depends on and that were not proved when it began."""
    steps: list[StepNow]
    postconditions: list[ConditionNow]
    waiting: list[QuestionAsked]
    """What is in the inbox for this plan."""
    proved: int
    holds: int
    attested: int
    recoveries: int
    spent: SpentSoFar


def run_now(slug: str, state: RunState, known: Known) -> RunNow:
    """Return where a plan is, for programs."""
    return RunNow(
        slug=slug,
        status=known.status,
        revision=state.revision,
        run=state.run,
        ended=state.ended,
        paused=state.paused,
        anyway=state.anyway,
        steps=[
            StepNow(
                number=slot.label,
                id=slot.id,
                title=slot.title,
                status=step.status,
                attempts=step.attempts,
                verdict=step.verdict,
                failed=step.trouble.failed if step.trouble else None,
                error=step.trouble.error if step.trouble else None,
                result=step.result,
                baseline=step.baseline.verdict if step.baseline else None,
                approved_baseline=step.approved.verdict if step.approved else None,
                controls=dict(step.approved.controls) if step.approved else {},
                reason=step.reason,
                not_before=step.not_before,
            )
            for slot, step in zip(state.layout.slots, state.steps, strict=True)
        ],
        postconditions=[
            ConditionNow(
                number=each.number,
                verdict=state.conditions.get(str(each.number)),
                result=state.condition_results.get(str(each.number)),
            )
            for each in state.layout.conditions
        ],
        waiting=[question_asked(question) for question in known.waiting],
        proved=state.count(StepStatus.DONE),
        holds=state.count(StepStatus.HOLDS),
        attested=state.count(StepStatus.ATTESTED),
        recoveries=state.recoveries,
        spent=SpentSoFar(
            tokens=state.spent.tokens,
            dollars=str(state.spent.dollars),
            unmetered_attempts=state.spent.unmetered,
            estimated_tokens=state.spent.estimated,
            seconds=round(state.session_seconds(), 3),
        ),
    )


def _found(step: StepState, verdict: VerdictKind) -> str:
    """Return what came of the last attempt: its verdict, or what failed before that."""
    words = trouble_words(*step.trouble) if step.trouble is not None else ""
    return visible(words) or visible(verdict.value)


def status_lines(
    slug: str, state: RunState, terminal: Terminal, status: PlanStatus
) -> Iterator[str]:
    """Yield where a plan is, for people."""
    paused = f" ({state.paused})" if state.paused and state.ended is None else ""
    run = f", run {state.run}" if state.run else ""
    yield terminal.style(f"{slug}: {status.value}{paused}, revision {state.revision}{run}", "bold")
    if state.why_ended and state.ended is not None and not state.ended.is_complete:
        yield f"  {state.ended.value}: {visible(state.why_ended)}"
    if state.anyway:
        yield f"  run although this was not proved: {visible(state.anyway)}"
    for slot, step in zip(state.layout.slots, state.steps, strict=True):
        said = held(step.reason) if step.status is StepStatus.HOLDS else step.status.value
        if step.attempts:
            said += f", attempt {step.attempts}"
        if step.verdict and step.status is not StepStatus.IN_PROGRESS:
            said += f", {_found(step, step.verdict)}"
        if step.not_before and step.status is StepStatus.PENDING:
            said += f", again after {step.not_before}"
        if step.status is StepStatus.DONE and step.reason:
            said += f", {step.reason}"
        yield f"  [{_MARKS[step.status]}] {slot.label}. {visible(slot.title)}: {said}"
    met = sum(state.conditions.get(str(each.number)) in MET for each in state.layout.conditions)
    if state.layout.conditions:
        yield f"  {met}/{len(state.layout.conditions)} postconditions hold"
    if state.run:
        proved, holds = state.count(StepStatus.DONE), state.count(StepStatus.HOLDS)
        yield f"  {tally(proved, len(state.steps), holds, state.count(StepStatus.ATTESTED))}"
        recovered = f"{state.recoveries} recover{'y' if state.recoveries == 1 else 'ies'}"
        used = [f"{state.spent.tokens:,} tokens"] if state.spent.tokens else []
        used += [money(float(state.spent.dollars))] if state.spent.dollars else []
        yield f"  {', '.join([recovered, *used, spoken(state.session_seconds())])} at work"


# -- where a plan's work is, for people and for programs -----------------------------------------


class MergedAs(JsonObject, frozen=True):
    """Where a plan's work was merged."""

    into: str
    commit: str


class WorkPlace(NamedTuple):
    """Where a plan's work is; nothing where it has no worktree."""

    worktree: str | None
    branch: str | None
    commit: str | None
    integrated: MergedAs | None


def work_place(state: TeamState) -> WorkPlace:
    """Return where a plan's work is, for programs."""
    binding, merge = state.binding, state.integrated
    return WorkPlace(
        worktree=binding.path if binding else None,
        branch=binding.branch if binding else None,
        commit=state.commit,
        integrated=MergedAs(into=merge.into, commit=merge.commit) if merge else None,
    )


def team_lines(state: TeamState) -> Iterator[str]:
    """Yield where a plan's work is, for people."""
    if state.binding is not None:
        half = "" if state.binding.is_whole else ", half-made"
        path, branch = visible(state.binding.path), visible(state.binding.branch)
        yield f"  worktree {path}, branch `{branch}`{half}"
    if state.integrated is not None:
        into, commit = visible(state.integrated.into), state.integrated.commit[:12]
        yield f"  merged into `{into}` as {commit}"
    elif state.stop is not None:
        yield f"  not merged: {state.stop.kind.value}: {visible(state.stop.reason)}"


# -- where a plan is that an agent works on by itself, for people and for programs ---------------


_CHANGED = "the file is not as the journal knows it: somebody changed it, not by the plan tools"


class LoopEntry(JsonObject, frozen=True):
    """A step or condition of a plan that an agent works on by itself."""

    id: str
    number: str
    title: str
    status: ToolStatus
    """What the plan tools say."""
    has_contract: bool
    evidence: str | None
    """What the agent said for it."""
    reason: str | None
    notes: str | None
    proof: str | None
    """What the harness saw."""


class DroppedStep(JsonObject, frozen=True):
    """A step that a later revision left out."""

    id: str
    title: str
    was: ToolStatus
    revision: int


class RunStatus(RunNow, frozen=True):
    """Of a plan that is run, or that nobody has begun."""

    holder: str | None
    """Who runs it now."""
    worktree: str | None
    branch: str | None
    commit: str | None
    """Where its work is committed; null where it has no worktree, as for the two before."""
    integrated: MergedAs | None


class LoopStatus(JsonObject, frozen=True):
    """Of a plan that an agent works on by itself."""

    slug: str
    status: PlanStatus
    revision: int
    run: None
    ended: None
    paused: str | None
    anyway: str | None
    steps: list[LoopEntry]
    postconditions: list[LoopEntry]
    waiting: list[QuestionAsked]
    proved: int
    holds: int
    attested: int
    recoveries: int
    spent: SpentSoFar
    holder: str | None
    worktree: str | None
    branch: str | None
    commit: str | None
    integrated: MergedAs | None
    outcome: SessionOutcome | None
    """How the agent ended; null while it works."""
    preconditions: list[LoopEntry]
    dropped: list[DroppedStep]
    session: str | None
    """Which session the plan belongs to."""
    refusals: int
    """How often the agent was refused to end."""
    changed: bool
    """Whether somebody changed the file otherwise than by the plan tools."""


def loop_status(view: SessionView, run: RunStatus) -> LoopStatus:
    """Return where it is, for programs."""
    agenda = agenda_data(view.agenda, view.state)
    return LoopStatus(
        slug=run.slug,
        status=view.status,
        revision=agenda.revision,
        run=None,
        ended=None,
        paused=run.paused,
        anyway=run.anyway,
        steps=_entries(agenda.steps),
        postconditions=_entries(agenda.postconditions),
        waiting=run.waiting,
        proved=run.proved,
        holds=run.holds,
        attested=run.attested,
        recoveries=run.recoveries,
        spent=run.spent,
        holder=run.holder,
        worktree=run.worktree,
        branch=run.branch,
        commit=run.commit,
        integrated=run.integrated,
        outcome=agenda.outcome,
        preconditions=_entries(agenda.preconditions),
        dropped=[DroppedStep(**asdict(each)) for each in agenda.dropped],
        session=view.state.session,
        refusals=view.state.all_refusals,
        changed=view.is_changed,
    )


def _entries(items: Sequence[ItemData]) -> list[LoopEntry]:
    return [LoopEntry(**asdict(each)) for each in items]


def loop_lines(slug: str, view: SessionView, terminal: Terminal) -> Iterator[str]:
    """Yield where it is, for people."""
    count = view.state.all_refusals
    refused = f", refused {count} time{'' if count == 1 else 's'}" if count else ""
    session = f" (session {view.state.session})" if view.state.session else ""
    where = view.status.value
    outcome = view.state.outcome
    if outcome is not None and outcome.value != where:
        where += f" ({outcome.value})"
    yield terminal.style(f"{slug}: {where}, in the loop{session}{refused}", "bold")
    heading = heading_of(slug, view.plan, view.status)
    shown = show(heading, view.state, view.agenda, only_open=False)
    yield from (f"  {line}" for line in shown.splitlines())
    if view.is_changed:
        yield f"  {_CHANGED}"


# -- `planbound status` --------------------------------------------------------------------------


def configure_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_status(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say where a plan is: its steps, what waits, who drives it."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    for slug in remind_waiting(context):
        terminal.note(f"note: {still_waits(slug)}")
    file, data = read_own_plan(arguments.plan, context)
    seen = look(context, file, data)
    data = seen.data
    state = run_state(context, file, data)
    loop = session_view(context, file, data) if state.run is None else None
    holder = context.holder_of(file.slug) if context.existing_journal() else None
    known = Known(seen.status, _questions(context, file.slug))
    team = known_of(context.existing_journal(), file.slug)
    # An agent that was refused too often did not come to its end: whoever asks is told so.
    capped = loop is not None and loop.state.outcome is SessionOutcome.INCOMPLETE
    code = ExitCode.FAILED if capped else ExitCode.DONE
    if arguments.json:
        run = asdict(run_now(file.slug, state, known))
        about = RunStatus(**run, holder=holder, **work_place(team)._asdict())
        terminal.json(about if loop is None else loop_status(loop, about))
        return code
    lines = status_lines(file.slug, state, terminal, known.status)
    for line in lines if loop is None else loop_lines(file.slug, loop, terminal):
        terminal.out(line)
    for line in team_lines(team):
        terminal.out(line)
    if holder is not None:
        terminal.out(f"  driven by {holder}")
    elif state.run is not None and state.ended is None and not known.waiting:
        terminal.out(
            f"  nobody drives it now: go on with `planbound resume {shlex.quote(file.slug)}`"
        )
    for question in known.waiting or ():
        for line in question_lines(question):
            terminal.out(line)
    return code


def _questions(context: Context, slug: str) -> Sequence[Question]:
    """Return what the inbox has of the plan."""
    journal = context.existing_journal()
    return questions(journal, slug) if journal is not None else ()


SHAPES: dict[str, Shapes] = {
    "status": {"": RunStatus, "of a plan in the loop": LoopStatus},
}


# -- runs of this repository that were stopped before their end, and what they wait for ----------


_KINDS = (
    EventKind.EXECUTION_STARTED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_CREATED,
    EventKind.PLAN_ARCHIVED,
)


def pending(context: Context) -> list[str]:
    """Return the plans here whose run has begun and not ended, and that nobody drives."""
    journal = context.existing_journal()
    if journal is None:
        return []
    begun = [slug for slug, state in plan_states(journal, _KINDS).items() if state.is_under_way]
    if not begun:
        return []
    held = {each.claim.plan for each in context.leases().held() if not each.expired}
    here = {file.slug for file in context.tree.plans()}
    return [plan for plan in begun if plan in here and plan not in held]


def note_pending(context: Context, slug: str, terminal: Terminal) -> None:
    """Say which other runs could go on."""
    for other in pending(context):
        if other != slug:
            terminal.note(f"note: {_stands(other, _question(context, other))}")


def _stands(plan: str, question: str | None) -> str:
    if question is not None:
        return f"a run of `{plan}` waits for a person (question {question}): `planbound inbox`"
    return f"a run of `{plan}` stopped before its end: `planbound resume {shlex.quote(plan)}`"


def _question(context: Context, plan: str) -> str | None:
    """Return what a person is asked about a plan, the oldest question first."""
    journal = context.existing_journal()
    found = questions(journal, plan) if journal else []
    return found[0].id if found else None


def note_next(context: Context, slug: str, terminal: Terminal) -> None:
    """Say how a run goes on after a person decided something."""
    holder = context.holder_of(slug)
    if holder is None:
        terminal.note(f"go on with `planbound resume {shlex.quote(slug)}`")
    else:
        terminal.note(f"{holder} goes on with it")
