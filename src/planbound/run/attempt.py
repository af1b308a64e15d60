"""One attempt at one step: the agent works, all that it started is ended, the harness judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import NamedTuple

from planbound.agents.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.agents.control import AgentWatch, Protected, StopSignal, agent_request, protected
from planbound.cells.cell import CommandEnding, Outcome
from planbound.cells.egress import Traffic, together
from planbound.errors import CellProblem
from planbound.git.guard import Damage, Guard, NoGuard
from planbound.git.place import PlanPlace
from planbound.journal.event import VerdictKind
from planbound.judging.case import Case, Scope, covers
from planbound.judging.context import JudgingContext
from planbound.judging.contract import Setting
from planbound.judging.judges import Judges
from planbound.judging.protection import protect
from planbound.judging.restore import Restored, restore
from planbound.judging.together import judge_with_next
from planbound.judging.verdict import Verdict
from planbound.plan.limits import Budget, format_budget
from planbound.plan.model import Judged
from planbound.run.budget import Allowance
from planbound.state.run import Slot
from planbound.workspace.agents import Role
from planbound.workspace.contents import Tree
from planbound.workspace.manifest import (
    ChangeKind,
    EntryType,
    Manifest,
    ScanRules,
    TreeChange,
    changes,
    path_text,
)

_WIPED = 2
"""So many files at least are more than a slip."""


class Brief(NamedTuple):
    """What else the agent of an attempt gets, and what is noted of that."""

    follow_up: str = ""
    session: str | None = None
    session_usage: Usage = Usage()
    home: Callable[[], str] = lambda: ""
    limit: Usage = Usage()
    note: Callable[[str], None] = lambda text: None  # noqa: ARG005 - nobody looks
    role: Role | None = None
    overtime: str | None = None
    """What it means that the time is up, where that is a limit of the role."""
    subscriptions: tuple[str, ...] = ()
    """Each with its digest, or that it is missing."""


OVER_MAX_COST = "budget: the agent's own"
"""How the reason begins for which an agent is stopped that costs more than it may."""
OVER_ROLE = "budget: the role"
"""How the reason begins for which an agent is stopped that uses more than its role may."""


class AttemptLimits(NamedTuple):
    """What an attempt may use."""

    left: Allowance
    own: Decimal | None = None
    """The most that an attempt of this agent may cost."""
    role: Role | None = None

    def over(self, usage: Usage) -> str | None:
        """Say which limit is reached by what was used so far."""
        left, most = self.left, Budget() if self.role is None else self.role.budget
        if usage.tokens is not None and usage.tokens > left.tokens:
            if left.tokens == most.tokens:
                return over_role(self.role, Budget(tokens=most.tokens))
            return "budget: tokens"
        if usage.dollars is None or usage.dollars <= left.dollars:
            return None
        if left.dollars == most.dollars:
            return over_role(self.role, Budget(dollars=most.dollars))
        if self.own is not None and left.dollars == self.own:
            return f"{OVER_MAX_COST} `max_cost` of ${self.own} an attempt"
        return "budget: cost"


def over_role(role: Role | None, part: Budget) -> str:
    assert role is not None
    return f"{OVER_ROLE} `{role.name}` has {format_budget(part)} for an attempt"


class WorkOrder(NamedTuple):
    """Everything that an attempt needs."""

    slot: Slot
    number: int
    case: Case
    judging: JudgingContext
    """Its tree is the workspace, or a copy of it."""
    setting: Setting
    agent: Agent | None
    """None: nobody works now; a person answers for the step, or it is judged as it was left."""
    prompt: str
    seconds: float
    masked: tuple[str, ...]
    control: StopSignal
    limits: AttemptLimits
    budget_seconds: bool = False
    """Whether the time is limited by what is left of the budget."""
    shown_at: str | None = None
    brief: Brief = Brief()
    watched: PlanPlace | None = None
    """By what the other worktrees are watched, where nothing walls them off."""
    guard: Guard = NoGuard()
    sealed: tuple[str, ...] = ()
    """What the guard wants to be read-only: files of the repository that it keeps no copy of."""
    left: bool = False
    """Whether its runner is gone, and only what it left is judged."""
    upcoming: Case | None = None
    """The contract that is looked at next, on the tree that this attempt leaves."""


class Attempted(NamedTuple):
    """What came of an attempt."""

    worked: Worked | None
    verdict: Verdict | None
    """None: it was stopped before it could be judged, or a person has to judge."""
    changed: tuple[str, ...] = ()
    """What changed since the step began."""
    restored: Restored | None = None
    manifest: Manifest | None = None
    """The tree as it was left."""
    stopped: str | None = None
    """Why everything had to end."""
    outside: tuple[str, ...] = ()
    """What changed out of scope, where no verdict says so."""
    strayed: tuple[str, ...] = ()
    """What changed meanwhile in other worktrees, of that which the step may change in its own."""
    idle: bool = False
    """Whether nothing changed that the step may change."""
    damage: Damage = Damage()
    """What the agent destroyed, and is back."""
    upcoming: Verdict | None = None
    """What the next contract says on the tree as it was left."""

    @property
    def is_clean(self) -> bool:
        """Whether it passed, and nobody touched the tree after it was seen for the last time."""
        passed = self.verdict is not None and self.verdict.kind is VerdictKind.PASS
        untouched = self.restored is None and self.damage == Damage()
        return passed and untouched and self.manifest is not None and not self.strayed


class RememberingTree:
    """A tree that knows what it looked like last."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.last: Manifest | None = None
        self.root = tree.root
        self.contents = tree.contents
        self.content = tree.content
        self.put_back = tree.put_back

    def manifest(self, rules: ScanRules) -> Manifest:
        self.last = self.tree.manifest(rules)
        return self.last


def perform(order: WorkOrder) -> Attempted:
    """Do all of it; nothing is recorded here."""
    scope = Scope(order.slot.touches)
    strayed: Callable[[], tuple[str, ...]] = tuple
    if order.watched is not None and order.agent is not None:
        strayed = order.watched.watch(lambda path: covers(scope, path))
    worked = _work(order) if order.agent is not None else None
    # Before anything else, also where everything has to end: until then it is lost.
    damage = order.guard.look(order.judging.tree.root)
    stopped = order.control.stopped()
    if stopped is not None:
        return Attempted(worked, None, stopped=stopped)
    return _judged(order, worked, damage)._replace(strayed=strayed())


def _judged(order: WorkOrder, worked: Worked | None, damage: Damage) -> Attempted:
    if not isinstance(order.case.contract, Judged):
        return _unjudged(order, worked, damage)
    tree = RememberingTree(order.judging.tree)
    judging = order.judging._replace(tree=tree)
    verdict, upcoming = judge_with_next(judging, order.case, order.setting, order.upcoming)
    verdict = _with_strayed(verdict, damage)
    if order.control.stopped() is not None:
        return Attempted(worked, None, stopped=order.control.stopped())
    frozen = order.setting.frozen
    if frozen is None or tree.last is None:
        return Attempted(worked, verdict, damage=damage)
    found = changes(frozen.manifest, tree.last)
    changed = tuple(change.path for change in found)
    wrong = {item.path for item in verdict.tampered} | set(verdict.outside)
    damage = _with_wiped(damage, frozen.manifest, found, wrong)
    restored = _put_back(order, wrong, found, damage)
    if restored is not None:
        tree.manifest(judging.rules)
    idle = not any(covers(order.setting.scope, path) for path in changed)
    return Attempted(
        worked,
        verdict,
        changed,
        restored,
        tree.last,
        idle=idle,
        damage=damage,
        upcoming=upcoming,
    )


def _with_strayed(verdict: Verdict, damage: Damage) -> Verdict:
    """Return a verdict on an agent that let other branches lead on: that is out of its scope."""
    if not damage.strayed:
        return verdict
    outside = (*verdict.outside, *damage.strayed)
    if verdict.kind is VerdictKind.TAMPERED:
        return verdict._replace(outside=outside)
    reason = f"changed outside `touches`: {', '.join(outside)}"
    return verdict._replace(kind=VerdictKind.OUT_OF_SCOPE, reason=reason, outside=outside)


def _unjudged(order: WorkOrder, worked: Worked | None, damage: Damage) -> Attempted:
    """Look at what a step changed that a person will judge; put back what it may not."""
    frozen, judging = order.setting.frozen, order.judging
    if frozen is None:
        return Attempted(worked, None, damage=damage)
    found = changes(frozen.manifest, judging.tree.manifest(judging.rules))
    nobody = Judges(frozenset(), frozenset(), frozenset())
    beyond = protect(found, nobody, order.setting.scope).outside
    damage = _with_wiped(damage, frozen.manifest, found, set(beyond))
    restored = _put_back(order, set(beyond), found, damage)
    changed = tuple(change.path for change in found)
    outside = (*beyond, *damage.strayed)
    return Attempted(worked, None, changed, restored, outside=outside, damage=damage)


def _work(order: WorkOrder) -> Worked:
    assert order.agent is not None
    brief, control = order.brief, order.control
    traffic: list[Traffic] = []
    try:
        worked = order.agent.work(
            Assignment(
                prompt=order.prompt,
                workspace=order.shown_at or order.judging.tree.root,
                attempt=order.number,
                seconds=order.seconds,
                launch=lambda dispatch: _launch(order, dispatch, traffic),
                follow_up=brief.follow_up,
                session=brief.session,
                session_usage=brief.session_usage,
                home=brief.home,
                spend=order.limits.over,
                stopped=control.stopped,
                limit=brief.limit,
                note=brief.note,
                printed=brief.note,
                role=brief.role,
            )
        )
    except CellProblem as problem:
        return Worked(Outcome(CommandEnding.NOT_STARTED, reason=problem.message), error="no-cell")
    # An agent may start several commands, and return what came of one.
    worked = worked._replace(outcome=worked.outcome._replace(traffic=together(traffic)))
    if worked.outcome.ending is CommandEnding.TIMED_OUT and brief.overtime is not None:
        outcome = worked.outcome._replace(ending=CommandEnding.STOPPED, reason=brief.overtime)
        return worked._replace(outcome=outcome)
    return worked


def _launch(order: WorkOrder, dispatch: Dispatch, traffic: list[Traffic]) -> Outcome:
    judging, frozen = order.judging, order.setting.frozen
    keep = Protected((), ())
    if frozen is not None:
        keep = protected([order.case], frozen, order.setting.scope, judging.vault)
    keep = keep._replace(read_only=(*keep.read_only, *order.sealed))
    request = agent_request(
        dispatch, judging.tree.root, keep, order.masked, judging.exposed, judging.view
    )
    watch = AgentWatch(order.control, dispatch.hear, order.limits.over)
    try:
        outcome = judging.cell.run(request, watch)
        traffic += outcome.traffic
        return outcome
    finally:
        watch.finish()


def _put_back(
    order: WorkOrder, wrong: set[str], found: Iterable[TreeChange], damage: Damage
) -> Restored | None:
    """Put back judges and files out of scope, in the tree and in the index.

    What the step may change stays as it was left; but of one that destroys things nothing stays
    removed.
    """
    scope: Scope = order.setting.scope
    undo = [
        item
        for item in found
        if (item.path in wrong and not covers(scope, item.path))
        or (damage.destroyed and _is_file(item) and item.kind is ChangeKind.REMOVED)
    ]
    if not undo:
        return Restored(damage.strayed, ()) if damage.strayed else None
    restored = restore(order.judging.tree, order.judging.vault, undo)
    order.guard.unstage(order.judging.tree.root, restored.back)
    return restored._replace(back=(*restored.back, *damage.strayed))


def _with_wiped(
    damage: Damage, before: Manifest, found: Iterable[TreeChange], wrong: set[str]
) -> Damage:
    """Return the damage with the files, where most of those went that the step may not touch."""
    gone = [
        item.path
        for item in found
        if item.kind is ChangeKind.REMOVED and item.path in wrong and _is_file(item)
    ]
    if len(gone) < _WIPED:
        return damage
    touched = {item.path for item in found}
    stayed = sum(
        1
        for path, entry in before.entries.items()
        if entry.type is EntryType.FILE
        and not path.startswith((b".git/", b".harness/"))
        and path_text(path) not in touched
    )
    if len(gone) <= stayed:
        return damage
    what = f"{len(gone)} of {len(gone) + stayed} files that it may not touch"
    return damage._replace(destroyed=(*damage.destroyed, what))


def _is_file(change: TreeChange) -> bool:
    return change.before is not None and change.before.type in {EntryType.FILE, EntryType.LINK}
