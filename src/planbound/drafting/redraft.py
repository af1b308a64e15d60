"""Talks with a model about a plan, and lets it write one anew; what is proved stays as it is."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from planbound.agents.conversation import Conversation, TalkPlace
from planbound.agents.kind import make_agents
from planbound.agents.probe import talk_at, talk_name
from planbound.approval import record as gate
from planbound.approval.modify import Amendment, NotUnderWay, examine, record_amendment
from planbound.approval.record import approved_state
from planbound.cells.copies import WorkspaceCopies
from planbound.cells.isolation import Isolation
from planbound.disk.files import Files, PlanFile
from planbound.drafting.answer import Remark, Weight
from planbound.drafting.draft import Proposal, Trial, Wanted
from planbound.drafting.prompt import Settled
from planbound.errors import CellProblem, Refused, UsageError
from planbound.journal.event import (
    EventKind,
    GateClarificationAsked,
    GateRejected,
    RecoveryEscalation,
)
from planbound.journal.leases import Leases, while_nobody_runs
from planbound.journal.record import Journal, Query
from planbound.journal.words import Choice
from planbound.judging.case import Case
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.judge import observe
from planbound.judging.verdict import Verdict
from planbound.plan.digest import digest
from planbound.plan.model import Plan, StepStatus
from planbound.plan.parse import parse, write
from planbound.state.append import Recorder
from planbound.state.approval import is_noticed
from planbound.state.question import ID_LENGTH
from planbound.state.run import RunState, Slot
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context
from planbound.workspace.state_home import AgentHomes

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault


# -- lets a model write a plan anew, for a reason; what is proved stays as it is -----------------


_REASONS = (
    EventKind.GATE_REJECTED,
    EventKind.GATE_CLARIFICATION_ASKED,
    EventKind.RECOVERY_ESCALATION,
    EventKind.GATE_APPROVED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_CREATED,
)


class Present(NamedTuple):
    """A plan as it is, and what of it must stay."""

    file: PlanFile
    data: bytes
    plan: Plan
    approved: Plan | None
    """The plan that was approved last."""
    settled: tuple[Slot, ...] = ()

    @property
    def names(self) -> list[Settled]:
        """Return what is settled, for a prompt."""
        return [Settled(slot.label, slot.title) for slot in self.settled]


class Origin(NamedTuple):
    """Who wrote a plan anew, and why."""

    by: str
    reason: str


def last_reason(journal: Journal, slug: str) -> str | None:
    """Return why a plan was sent back, where nothing has been made of that yet; perhaps empty.

    Comments on its lines that nobody answered are a reason, too.
    """
    reason: str | None = None
    comments: dict[str, str] = {}
    for record in journal.read(Query(plan=slug, events=_REASONS)):
        event = record.event
        match event:
            case GateRejected():
                reason = event.reason
            case GateClarificationAsked():
                _hear_comment(comments, record.draft.id[:ID_LENGTH], event)
            case RecoveryEscalation(user_decision=Choice.REVISE):
                about = f"step {event.number}: " if event.number is not None else ""
                said = f"\nThe person says: {event.guidance}" if event.guidance else ""
                reason = f"{about}{event.reason}{said}"
            case RecoveryEscalation():
                pass
            case _ if not is_noticed(event):
                reason, comments = None, {}
    if comments:
        return "\n".join(filter(None, (reason, *comments.values())))
    return reason


def _hear_comment(comments: dict[str, str], name: str, event: GateClarificationAsked) -> None:
    if event.answer is not None:
        for asked in [event.answers] if event.answers is not None else list(comments):
            comments.pop(asked, None)
    elif event.line is not None:
        line = (event.quoted or "").strip()
        quoted = f" (`{line}`)" if line else ""
        comments[name] = f"line {event.line}{quoted}: {event.question}"


def reason_for(journal: Journal | None, slug: str, given: str | None) -> str:
    """Return why a plan is written anew: what is given, else why it was sent back."""
    hint = 'say what is wrong with it: `--reason "..."`'
    if given is not None:
        if not given.strip():
            raise UsageError("the reason is empty", hint='write `--reason "..."`')
        return given.strip()
    reason = last_reason(journal, slug) if journal is not None else None
    if reason is None:
        raise UsageError(
            f"nobody sent `{slug}` back: it was not rejected, and no question of its run was"
            " answered with `revise`",
            hint=hint,
        )
    if not reason:
        raise UsageError(f"`{slug}` was rejected without a reason", hint=hint)
    return reason


def find_present(recorder: Recorder, vault: Vault, file: PlanFile, data: bytes) -> Present:
    """Return a plan with what is settled of it; refuse one that is done."""
    state = approved_state(recorder, vault, file.slug, data)
    if state.ended is not None and state.ended.is_complete:
        raise Refused(
            f"`{file.slug}` is done, so it is not drafted anew",
            hint="draft a plan for what is still wanted: `planbound draft`",
        )
    before = gate.last_text(recorder.journal, vault, file.slug)
    return Present(
        file=file,
        data=data,
        plan=parse(data, path=file.shown),
        approved=parse(before, path="approved") if before is not None else None,
        settled=_settled(state),
    )


def _settled(state: RunState) -> tuple[Slot, ...]:
    if state.run is None and state.amended is None:
        return ()
    slots = state.layout.slots
    return tuple(slot for slot in slots if state.steps[slot.place].status.is_settled)


def demands(recorder: Recorder, present: Present) -> Wanted:
    """Return what a new text of the plan is held to."""
    ids = frozenset(slot.id for slot in present.settled)
    shown = {step.id: step.status.value for step in present.plan.steps if step.status}
    marks = tuple((name, shown.get(name, StepStatus.DONE)) for name in sorted(ids))
    now = digest(present.plan)

    def objections(wanted: Plan) -> Iterator[Remark]:
        if digest(wanted) == now:
            yield Remark("the plan means exactly what it meant before", Weight.OPEN)
            return
        try:
            _amendment(recorder, present, wanted)
        except Refused as refusal:
            hint = f"; {refusal.hint}" if refusal.hint else ""
            yield Remark(f"{refusal.message}{hint}", Weight.OPEN)

    return Wanted(settled=ids, marks=marks, objections=objections)


def _amendment(recorder: Recorder, present: Present, wanted: Plan) -> Amendment | None:
    """Return what a new text means for the run that is under way; None where none is."""
    if present.approved is None:
        return None
    try:
        return examine(recorder, present.file.slug, present.approved, wanted)
    except NotUnderWay:
        return None


def is_placeable(proposal: Proposal, wanted: Wanted) -> bool:
    """Say whether a proposal may be put in the place of the plan: never one that is worse."""
    return not proposal.errors and not list(wanted.objections(proposal.plan))


def put_in_place(
    recorder: Recorder,
    present: Present,
    wanted: Plan,
    origin: Origin,
    *,
    files: Files,
    leases: Leases,
) -> Amendment | None:
    """Write the new text over the old one, as a draft; return the amendment of a run, if it is one.

    Nothing is written where the plan, or what is settled of it, changed meanwhile.
    """
    slug = present.file.slug
    with while_nobody_runs(leases, slug):
        amendment = _amendment(recorder, present, wanted)
        files.replace(present.file.path, write(wanted), expected=present.data)
        if amendment is None:
            said = gate.Rewriting(origin.by, f"redraft: {origin.reason}")
            gate.record_change(recorder, slug, digest(present.plan), digest(wanted), said)
        else:
            assert present.approved is not None
            plans = (present.approved, wanted)
            said = gate.Rewriting(origin.by, origin.reason)
            record_amendment(recorder, slug, plans, amendment, said)
    return amendment


# -- puts the parts together for talking with an agent about the workspace -----------------------


_SECONDS = 600.0


@contextlib.contextmanager
def open_drafter(
    context: Context,
    role: str,
    note: Callable[[str], None] = lambda text: None,  # noqa: ARG005
) -> Iterator[Conversation]:
    """Yield a talk with the agent of a role; raise Refused where there is none."""
    configuration = context.configuration
    name = find_agent(configuration, role)
    agent = make_agents(configuration, context.root).get(name or "")
    if agent is None:
        raise Refused(
            f"no agent is configured for `{role}`",
            hint=f"name one in planbound.toml, such as `[agents.{role}]`, `kind = "
            '"model"`, `model = "anthropic:claude-sonnet-4-5"`; `planbound agents` lists what there'
            " is",
        )
    rules = configuration.agents[agent.name]
    judging = judging_context(context)
    folder = context.state.folder
    copies = WorkspaceCopies(os.path.join(folder, "copies"))
    homes = AgentHomes(os.path.join(folder, "homes"))
    name = talk_name()
    copy = copies.make(judging.tree.root, name)
    with talk_at(copies, homes, copy):
        place = TalkPlace(
            cell=judging.cell,
            copy=copy,
            shown_at=judging.tree.root,
            homes=homes,
            masked=judging.hidden_from_agents,
            exposed=judging.exposed,
            view=judging.view,
            seconds=rules.seconds or _SECONDS,
            max_cost=rules.max_cost,
        )
        yield Conversation(agent, place, redactor=context.redactor, note=note)


def find_agent(configuration: Configuration, role: str) -> str | None:
    """Return who is asked in a role; None where nobody can be."""
    agents = configuration.agents
    able = [name for name, rules in agents.items() if rules.command or rules.kind != "command"]
    for name in configuration.agents_for(role):
        if name in able:
            return name
    if configuration.run.agent in able:
        return configuration.run.agent
    models = [name for name in able if agents[name].kind == "model"]
    return next(iter(models or (able if len(able) == 1 else [])), None)


# -- puts together what judges the plans that models propose -------------------------------------


_TALK_SECONDS = 120.0
"""For one contract: a draft is only looked at."""


def open_trial(context: Context) -> tuple[Trial | None, str]:
    """Return what runs contracts of a draft; None, with the reason, where that cannot be.

    A model wrote them and no person has read them: they run behind walls or not at all.
    """
    try:
        judging = _guarded(judging_context(context))
    except CellProblem as problem:
        return None, problem.message
    if not judging.cell.isolation.reaches(Isolation.I1):
        return None, f"the cells here ({judging.cell.name}) have no walls"

    def trial(wanted: Sequence[Case]) -> Iterator[Verdict]:
        short = (
            case._replace(seconds=min(case.seconds or _TALK_SECONDS, _TALK_SECONDS), repeat=1)
            for case in wanted
        )
        yield from observe(judging, short)

    return trial, ""


def _guarded(judging: JudgingContext) -> JudgingContext:
    """Return what judging takes, without what an approved contract is trusted with.

    What it prints goes back to the model: no credentials, no network, no judges that are held out.
    """
    contracts = judging.configuration.contracts
    passed = {name: text for name, text in judging.environment.items() if name not in contracts.env}
    kept = replace(contracts, env=(), network=False)
    return judging._replace(
        configuration=replace(judging.configuration, contracts=kept),
        environment=passed,
        held_out=(),
    )
