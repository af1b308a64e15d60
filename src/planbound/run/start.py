"""Begins a run, goes on with one, or ends one that a person decided to end."""

from __future__ import annotations

import shlex
from functools import partial
from typing import NamedTuple

from planbound.approval.sheet import judge_digests
from planbound.disk.files import PlanFile
from planbound.errors import NotApproved, NothingToDo, Refused
from planbound.git.place import at_worktree
from planbound.journal.event import ExecutionStarted, Result, RunOutcome, TaskSkipped
from planbound.journal.fields import Allowed
from planbound.journal.leases import Claim, hold_lease
from planbound.journal.record import HeldLease
from planbound.journal.words import MotorKind
from planbound.judging.case import cases, plan_touches
from planbound.judging.reference import approved_tree, freeze_for, judges_of, read_frozen
from planbound.plan.model import Plan, StepStatus
from planbound.plan.parse import write
from planbound.run.budget import allowance
from planbound.run.context import RunContext
from planbound.run.decide import Finish, Pace, decide
from planbound.run.ending import Projection, RunEnding
from planbound.run.order import Orders
from planbound.run.people import Person, cancel, decided_state
from planbound.run.session import RunSession, names
from planbound.run.staff import Staff
from planbound.state.approval import Approval, CurrentPlan, mismatch
from planbound.state.plan import known_plan
from planbound.state.run import RunState, lay_out
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.context import Context
from planbound.workspace.manifest import Manifest, changes, related
from planbound.workspace.measured import screened
from planbound.workspace.overview import dependencies_of
from planbound.workspace.readiness import PlanInfo, blockers

# -- begin a run, or go on with one: under a lease, with an approval that holds ------------------


_MOST_BLOCKERS = 5


class StartedRun(NamedTuple):
    """A run that this process may drive."""

    session: RunSession
    resumed: bool
    edited: tuple[str, ...]
    """Files that somebody changed since the run stopped."""


class Ready(NamedTuple):
    """A run that may begin or go on."""

    session: RunSession
    approval: Approval
    manifest: Manifest
    resumed: bool
    edited: tuple[str, ...]
    unproved: str = ""
    """What it depends on and is not proved, where it is run all the same."""


class RunTerms(NamedTuple):
    """How it is to be run."""

    jobs: int = 1
    motor: MotorKind = MotorKind.INLINE
    anyway: bool = False
    """Whether to run it although a plan that it depends on is not proved."""


def read_state(context: RunContext, plan: Plan) -> RunState:
    """Return where the plan is, by the journal."""
    known = context.snapshots.fold(context.journal) or known_plan(context.journal, context.slug)
    return RunState(lay_out(plan, context.recorder.step_ids(plan)), known)


def claim_of(context: RunContext, plan: Plan) -> Claim:
    """Return what a run of the plan claims."""
    touches = plan_touches(plan)
    return Claim(
        plan=context.slug,
        worktree=context.judging.tree.root,
        touches=None if touches is None else tuple(glob.text for glob in touches),
        holder=context.holder,
        process=context.process,
    )


def start(
    context: RunContext, terms: RunTerms, held_lease: HeldLease, data: bytes, plan: Plan
) -> StartedRun:
    """Look whether the run may begin or go on, and record that it does. The lease is held.

    `plan` is what `data` says.
    """
    session = open_session(context, read_state(context, plan), held_lease, data)
    _tidy(session)
    ready = make_ready(session, anyway=terms.anyway)
    session.append([session.notes.about(_begun(ready, terms), None)])
    _skip(session)
    return StartedRun(session, ready.resumed, ready.edited)


def open_session(
    context: RunContext, state: RunState, held_lease: HeldLease, data: bytes
) -> RunSession:
    """Return the session of a run: of the one that was begun, or of a new one."""
    return RunSession(context, state, held_lease, data=data, run=state.run or context.nonce())


def make_ready(session: RunSession, *, anyway: bool = False) -> Ready:
    """Look whether the run may begin or go on; refuse it, or say on what ground it may."""
    context, state = session.context, session.state
    plan = state.layout.plan
    approval = _approved(context, state)
    # Who ran it all the same decided that for the whole run, however often it is cut off.
    unproved = _unproved(context, plan, anyway=anyway or state.anyway is not None)
    resumed = state.run is not None
    with session.occupancy.inside():
        whole = freeze_for(context.judging, plan).manifest
    manifest = screened(whole)
    now = whole if context.place.is_linked else None
    approved = approved_tree(context.journal, context.judging.vault, context.slug, now, whole)
    if approved is not None and now is not None:
        approved = approved._replace(manifest=related(approved.manifest, whole))
    session.approve_tree(approved)
    edited = _edited(session, manifest) if resumed else ()
    judges, tools = approval.judges, None
    if not resumed:
        found = tuple(cases(plan))
        judges = judge_digests(found, whole, context.judging.vault)
        tools = context.tools(found, whole)
    current = CurrentPlan(
        digest=session.digest,
        judges=judges,
        configuration=configuration_digest(context.configuration, like=approval.configuration),
        # An approval that expires does not end a run that has begun.
        now="" if resumed else session.now(),
        project=context.project,
        tools=tools,
    )
    reason = mismatch(approval, current) or _edited_judge(session, manifest, edited)
    if reason is not None:
        slug = context.slug
        again = f"look at the plan again: `planbound approve {shlex.quote(slug)}`"
        if resumed and reason.startswith("digest changed"):
            again = f"put it back, or keep what is proved: `planbound amend {shlex.quote(slug)}`"
        raise Refused(f"the approval of `{slug}` does not hold: {reason}", hint=again)
    _refuse_without_agents(session)
    return Ready(session, approval, manifest, resumed, edited, unproved)


def _unproved(context: RunContext, plan: Plan, *, anyway: bool) -> str:
    """Return which plans are to be proved first; refuse, unless it is to be run all the same."""
    depends = dependencies_of(plan)
    if not depends:
        return ""
    slug = context.slug
    own = PlanInfo(slug, depends_on=depends)
    found = blockers(slug, [*(info for info in context.plans() if info.slug != slug), own])
    shown = "; ".join(each.shown for each in found[:_MOST_BLOCKERS])
    if len(found) > _MOST_BLOCKERS:
        shown += f"; and {len(found) - _MOST_BLOCKERS} more"
    if found and not anyway:
        first = found[0].way[-1]
        raise Refused(
            f"`{slug}` depends on what is not proved: {shown}",
            hint=f"`planbound status {shlex.quote(first)}` says where that is; "
            "`--anyway` runs this one all the same, and is recorded",
        )
    return shown


def _tidy(session: RunSession) -> None:
    """Do what a run that was killed could not do any more after its last event."""
    state = session.state
    if state.run is None:
        return
    Orders(session).sweep()
    if state.ended is not None and state.approval is not None:
        Projection(session).finish()


def _approved(context: RunContext, state: RunState) -> Approval:
    """Return the approval that this run has or may have; say why there is none."""
    slug = context.slug
    if state.approval is None:
        raise NotApproved(
            f"`{slug}` is not approved",
            hint=f"look at it and decide: `planbound approve {shlex.quote(slug)}`",
        )
    if state.ended is not None and state.ended.is_complete:
        raise NothingToDo(f"`{slug}` is {state.ended.value} already, by run {state.run}")
    if state.ended is RunOutcome.CANCELLED:
        raise Refused(
            f"the approval of `{slug}` is already used: run {state.run} was cancelled",
            hint=f"to run it again: `planbound approve {shlex.quote(slug)}`",
        )
    if state.ended is RunOutcome.REVISED:
        raise Refused(
            f"`{slug}` went back to its draft",
            hint=f"change the plan, then `planbound amend {shlex.quote(slug)}`",
        )
    other = state.used.get(state.approval.nonce)
    if other is not None and other != state.run:
        raise Refused(f"the approval of `{slug}` is already used: run {other} has it")
    return state.approval


def _begun(ready: Ready, terms: RunTerms) -> ExecutionStarted:
    session, manifest = ready.session, ready.manifest
    context, plan = session.context, session.layout.plan
    allowed = allowance(plan.budget.value if plan.budget else None, session.state.raised)
    return ExecutionStarted(
        run=session.notes.run,
        nonce=ready.approval.nonce,
        resumed=ready.resumed,
        task_count=len(plan.steps),
        motor=terms.motor,
        holder=context.holder,
        jobs=terms.jobs,
        budget=Allowed(allowed.tokens, str(allowed.dollars), allowed.seconds),
        version=context.version,
        digest=session.digest,
        revision=session.state.revision,
        tree=manifest.digest,
        manifest=session.keep(manifest),
        edited=names(ready.edited) or None,
        anyway=ready.unproved or None,
    )


def _edited(session: RunSession, manifest: Manifest) -> tuple[str, ...]:
    """Return what somebody changed since the run stopped; nothing where an attempt is open."""
    state = session.state
    if any(step.status is StepStatus.IN_PROGRESS and step.copy is None for step in state.steps):
        return ()  # what changed is the agent's, and is judged before anything else
    if state.tree is None or state.tree == manifest.digest:
        return ()
    before = _kept(session, state.manifest)
    if before is None:
        return ("(the files that were changed are not known)",)
    return tuple(change.path for change in changes(before, manifest))


def _kept(session: RunSession, key: str | None) -> Manifest | None:
    if key is None:
        return None
    try:
        return session.judging.vault.manifest(key)
    except ValueError:
        return None


def _edited_judge(session: RunSession, manifest: Manifest, edited: tuple[str, ...]) -> str | None:
    approved = session.approved
    if not edited or approved is None:
        return None
    found = judges_of(
        session.cases,
        approved.manifest,
        partial(read_frozen, approved.manifest, session.judging.vault),
    ).files
    for path in edited:
        # Who puts a judge back as it was approved changes nothing.
        if path in found and manifest.entry(path) != approved.manifest.entry(path):
            return f"judge changed: {path}"
    return None


def _refuse_without_agents(session: RunSession) -> None:
    """Look for everybody who is needed before the first step, not at the fourth."""
    staff = Staff(session)
    for slot in session.layout.slots:
        if not session.state.steps[slot.place].status.is_settled:
            staff.agent_for(slot)


def _skip(session: RunSession) -> None:
    """Record the steps that the approval leaves out."""
    state = session.state
    approval = state.approval
    drafts = []
    for slot in session.layout.slots:
        step = state.steps[slot.place]
        if step.status is StepStatus.SKIPPED and step.result is not Result.SKIPPED and approval:
            event = TaskSkipped(reason="left out by the approval", by=approval.by)
            drafts.append(session.notes.about(event, slot))
    session.append(drafts)


# -- ends a run that a person decided to end, whether or not somebody drives it ------------------


def cancel_run(
    context: Context, file: PlanFile, data: bytes, person: Person, reason: str
) -> str | None:
    """End a run; return who drives it and has to stop, None where nobody did."""
    recorder = context.recorder()
    cancel(recorder, file.slug, decided_state(context, file, data), person, reason)
    return end_run(context, file, data)


def end_run(context: Context, file: PlanFile, data: bytes) -> str | None:
    """Write the end of a run that a person decided; return who drives it and will do that.

    Where nobody drives it, it is written here, under the lease.
    """
    holder = context.holder_of(file.slug)
    if holder is not None:
        return holder

    run_context = RunContext(at_worktree(context, file), file)
    state = decided_state(context, file, data)
    action = decide(state, Pace(now=context.now()))
    if not isinstance(action, Finish):
        return None
    seconds = context.configuration.run.lease
    # To write the end changes nothing that the plan touches, so nobody elsewhere is in the way.
    claim = claim_of(run_context, state.layout.plan)._replace(touches=())
    plan = state.layout.plan
    with hold_lease(run_context.leases, claim, seconds=seconds) as held_lease:
        try:
            session = RunSession(
                run_context, state, held_lease, data=write(plan), run=state.run or ""
            )
            session.append(RunEnding(session).drafts(action, session.seen()))
            Projection(session).finish()
        finally:
            run_context.settle()
    return None
