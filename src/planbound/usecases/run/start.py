"""Begin a run, or go on with one: under a lease, with an approval that holds."""

from __future__ import annotations

import shlex
from functools import partial
from typing import NamedTuple

from planbound.engine.claims import Claim
from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.fence import Fence
from planbound.engine.gate.approval import Approval, Standing, mismatch
from planbound.engine.judging.case import cases, plan_scope
from planbound.engine.judging.frozen import relocated
from planbound.engine.manifest import Manifest, changes, decode
from planbound.engine.readiness import PlanInfo, blockers
from planbound.engine.run.budget import allowance
from planbound.engine.run.layout import lay_out
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase
from planbound.errors import NothingToDo, Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Plan
from planbound.ports.journal import Query
from planbound.usecases.baseline import freeze, last_baseline
from planbound.usecases.frozen_judges import judges_of, read_frozen
from planbound.usecases.gate import judge_digests
from planbound.usecases.overview import dependencies_of
from planbound.usecases.run.desk import Desk
from planbound.usecases.run.notes import names
from planbound.usecases.run.ordering import Ordering
from planbound.usecases.run.projection import Projection
from planbound.usecases.run.screen import screened
from planbound.usecases.run.session import Session
from planbound.usecases.run.staffing import Staffing
from planbound.usecases.unkept import unkept

_DONE = frozenset({"done", "done with skips"})
_MOST_BLOCKERS = 5


class Started(NamedTuple):
    """A run that this process may drive."""

    session: Session
    resumed: bool
    edited: tuple[str, ...]
    """Files that somebody changed since the run stopped."""


class Ready(NamedTuple):
    """A run that may begin or go on."""

    session: Session
    approval: Approval
    manifest: Manifest
    resumed: bool
    edited: tuple[str, ...]
    unproved: str = ""
    """What it depends on and is not proved, where it is run all the same."""


class Wish(NamedTuple):
    """How it is to be run."""

    jobs: int = 1
    motor: str = "inline"
    anyway: bool = False
    """Whether to run it although a plan that it depends on is not proved."""


def read_state(desk: Desk, plan: Plan) -> RunState:
    """Return where the plan is, by the journal."""
    state = RunState(lay_out(plan, desk.recorder.step_ids(plan)))
    state.apply_all(desk.journal.read(Query(plan=desk.slug)))
    return state


def claim_of(desk: Desk, plan: Plan) -> Claim:
    """Return what a run of the plan claims."""
    scope = plan_scope(plan)
    return Claim(
        plan=desk.slug,
        worktree=desk.bench.tree.root,
        touches=None if scope.patterns is None else tuple(glob.text for glob in scope.patterns),
        holder=desk.holder,
        process=desk.process,
    )


def start(desk: Desk, wish: Wish, fence: Fence, data: bytes, plan: Plan) -> Started:
    """Look whether the run may begin or go on, and record that it does. The lease is held.

    `plan` is what `data` says.
    """
    state = read_state(desk, plan)
    _tidy(desk, state, fence, data)
    ready = make_ready(desk, state, fence, data, anyway=wish.anyway)
    session = ready.session
    session.append([session.notes.about(EventKind.EXECUTION_STARTED, None, _details(ready, wish))])
    _skip(session)
    return Started(session, ready.resumed, ready.edited)


def make_ready(
    desk: Desk, state: RunState, fence: Fence, data: bytes, *, anyway: bool = False
) -> Ready:
    """Look whether the run may begin or go on; refuse it, or say on what ground it may."""
    plan = state.layout.plan
    approval = _approved(desk, state)
    # Who ran it all the same decided that for the whole run, however often it is cut off.
    unproved = _unproved(desk, plan, anyway=anyway or state.anyway is not None)
    resumed = state.run is not None
    run = state.run or desk.nonce()
    session = Session(desk, state, fence, data=data, run=run)
    with session.occupancy.inside():
        whole = freeze(
            desk.bench.tree, desk.bench.vault, desk.bench.rules, unkept(desk.bench, plan)
        ).manifest
    manifest = screened(whole)
    frozen = last_baseline(desk.journal, desk.bench.vault, desk.slug)
    if frozen is not None and desk.place.is_linked and not session.is_bare:
        # It may have been approved in the main worktree, before it got its own.
        frozen = relocated(frozen, whole)
    session.approve_tree(frozen)
    edited = _edited(session, manifest) if resumed else ()
    judges, tools = approval.judges, None
    if not resumed:
        found = tuple(cases(plan))
        judges = judge_digests(found, whole, desk.bench.vault)
        tools = desk.tools(found, whole)
    standing = Standing(
        digest=session.digest,
        judges=judges,
        configuration=configuration_digest(desk.configuration, like=approval.configuration),
        # An approval that expires does not end a run that has begun.
        now="" if resumed else session.now(),
        project=desk.project,
        tools=tools,
    )
    reason = mismatch(approval, standing) or _edited_judge(session, manifest, edited)
    if reason is not None:
        again = f"look at the plan again: `planbound approve {shlex.quote(desk.slug)}`"
        if resumed and reason.startswith("digest changed"):
            again = (
                f"put it back, or keep what is proved: `planbound amend {shlex.quote(desk.slug)}`"
            )
        raise Refused(f"the approval of `{desk.slug}` does not hold: {reason}", hint=again)
    _refuse_without_agents(session)
    return Ready(session, approval, manifest, resumed, edited, unproved)


def _unproved(desk: Desk, plan: Plan, *, anyway: bool) -> str:
    """Return which plans are to be proved first; refuse, unless it is to be run all the same."""
    depends = dependencies_of(plan)
    if not depends:
        return ""
    slug = desk.slug
    own = PlanInfo(slug, depends_on=depends)
    found = blockers(slug, [*(info for info in desk.plans() if info.slug != slug), own])
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


def _tidy(desk: Desk, state: RunState, fence: Fence, data: bytes) -> None:
    """Do what a run that was killed could not do any more after its last event."""
    if state.run is None:
        return
    session = Session(desk, state, fence, data=data, run=state.run)
    Ordering(session).sweep()
    if state.ended is not None and state.approval is not None:
        Projection(session).finish()


def _approved(desk: Desk, state: RunState) -> Approval:
    """Return the approval that this run has or may have; say why there is none."""
    slug = desk.slug
    if state.approval is None:
        raise Refused(
            f"`{slug}` is not approved",
            hint=f"look at it and decide: `planbound approve {shlex.quote(slug)}`",
        )
    if state.ended in _DONE:
        raise NothingToDo(f"`{slug}` is {state.ended} already, by run {state.run}")
    if state.ended == "cancelled":
        raise Refused(
            f"the approval of `{slug}` is already used: run {state.run} was cancelled",
            hint=f"to run it again: `planbound approve {shlex.quote(slug)}`",
        )
    if state.ended == "revised":
        raise Refused(
            f"`{slug}` went back to its draft",
            hint=f"change the plan, then `planbound amend {shlex.quote(slug)}`",
        )
    other = state.used.get(state.approval.nonce)
    if other is not None and other != state.run:
        raise Refused(f"the approval of `{slug}` is already used: run {other} has it")
    return state.approval


def _details(ready: Ready, wish: Wish) -> dict[str, Json]:
    session, manifest = ready.session, ready.manifest
    desk, plan = session.desk, session.layout.plan
    allowed = allowance(plan.budget.value if plan.budget else None, session.state.raised)
    details: dict[str, Json] = {
        "nonce": ready.approval.nonce,
        "resumed": ready.resumed,
        "task_count": len(plan.steps),
        "motor": wish.motor,
        "holder": desk.holder,
        "jobs": wish.jobs,
        "budget": {
            "tokens": allowed.tokens,
            "dollars": str(allowed.dollars),
            "seconds": allowed.seconds,
        },
        "version": desk.version,
        "digest": session.digest,
        "revision": session.state.revision,
    }
    if session.is_bare:
        details |= session.seen()
    else:
        details |= {"tree": manifest.digest, "manifest": session.keep(manifest)}
    if ready.edited:
        details["edited"] = names(ready.edited)
    if ready.unproved:
        details["anyway"] = ready.unproved
    return details


def _edited(session: Session, manifest: Manifest) -> tuple[str, ...]:
    """Return what somebody changed since the run stopped; nothing where an attempt is open."""
    state = session.state
    if any(step.phase is Phase.STARTED and step.copy is None for step in state.steps):
        return ()  # what changed is the agent's, and is judged before anything else
    now = session.stamp(session.bench.tree.root) if session.is_bare else manifest.digest
    if state.tree is None or state.tree == now:
        return ()
    before = _kept(session, state.manifest)
    if before is None:
        return ("(the files that were changed are not known)",)
    return tuple(change.path for change in changes(before, manifest))


def _kept(session: Session, key: str | None) -> Manifest | None:
    if key is None:
        return None
    try:
        data = session.bench.vault.content(bytes.fromhex(key))
        return decode(data) if data is not None else None
    except ValueError:
        return None


def _edited_judge(session: Session, manifest: Manifest, edited: tuple[str, ...]) -> str | None:
    approved = session.approved
    if not edited or approved is None:
        return None
    found = judges_of(
        tuple(cases(session.layout.plan)),
        approved.manifest,
        partial(read_frozen, approved.manifest, session.bench.vault),
    ).files
    for path in edited:
        # Who puts a judge back as it was approved changes nothing.
        if path in found and manifest.entry(path) != approved.manifest.entry(path):
            return f"judge changed: {path}"
    return None


def _refuse_without_agents(session: Session) -> None:
    """Look for everybody who is needed before the first step, not at the fourth."""
    staffing = Staffing(session)
    for slot in session.layout.slots:
        if not session.state.steps[slot.place].phase.is_settled:
            staffing.agent_for(slot)


def _skip(session: Session) -> None:
    """Record the steps that the approval leaves out."""
    state = session.state
    approval = state.approval
    drafts = []
    for slot in session.layout.slots:
        step = state.steps[slot.place]
        if step.phase is Phase.SKIPPED and step.result is None and approval is not None:
            details: dict[str, Json] = {"reason": "left out by the approval", "by": approval.by}
            drafts.append(session.notes.about(EventKind.TASK_SKIPPED, slot, details))
    session.append(drafts)
