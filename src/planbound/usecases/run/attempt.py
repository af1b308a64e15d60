"""One attempt at one step: the agent works, everything of it is dead, the harness judges."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from planbound.engine.judging.case import Case
from planbound.engine.judging.judges import Judges
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.protection import protect
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.judging.verdict import Verdict
from planbound.engine.manifest import (
    Change,
    ChangeKind,
    EntryType,
    Manifest,
    ScanRules,
    changes,
    path_text,
)
from planbound.engine.roles import Role
from planbound.engine.run.layout import Slot
from planbound.errors import CellProblem
from planbound.plan.model import Command
from planbound.ports.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.ports.git import Damage, Guard, NoGuard
from planbound.ports.tree import Tree
from planbound.usecases.bench import Bench
from planbound.usecases.confine import Protected, agent_request, protected
from planbound.usecases.judge import Setting, judge
from planbound.usecases.restore import Restored, restore
from planbound.usecases.run.control import Control, Watch

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


class Order(NamedTuple):
    """Everything that an attempt needs."""

    slot: Slot
    number: int
    case: Case
    bench: Bench
    """Its tree is the workspace, or a copy of it."""
    setting: Setting
    agent: Agent | None
    """None: the agent has been at work already, only what it left is judged."""
    prompt: str
    seconds: float
    masked: tuple[str, ...]
    control: Control
    over: Callable[[Usage], str | None]
    """Says which limit of the budget is reached by what was used so far."""
    budget_seconds: bool = False
    """Whether the time is limited by what is left of the budget."""
    shown_at: str | None = None
    stamp: Callable[[], str] | None = None
    """What the tree looks like, where nothing is frozen."""
    brief: Brief = Brief()
    watch: Callable[[], Callable[[], tuple[str, ...]]] | None = None
    """Begins to watch the other worktrees, where nothing walls them off."""
    guard: Guard = NoGuard()
    sealed: tuple[str, ...] = ()
    """What the guard wants to be read-only: files of the repository that it keeps no copy of."""


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
        """Return what is there now."""
        self.last = self.tree.manifest(rules)
        return self.last


def perform(order: Order) -> Attempted:
    """Do all of it; nothing is recorded here."""
    strayed = order.watch() if order.watch is not None and order.agent is not None else tuple
    before = order.stamp() if order.stamp is not None and order.agent is not None else None
    worked = _work(order) if order.agent is not None else None
    # Before anything else, also where everything has to end: until then it is lost.
    root, bare = order.bench.tree.root, order.stamp is not None
    stopped = order.control.stopped()
    damage = order.guard.look(root, last=not bare or stopped is not None)
    if stopped is not None:
        return Attempted(worked, None, stopped=stopped)
    done = _judged(order, worked, damage)
    if bare:
        # Without a cell the contract has run code of the agent's in the workspace itself.
        done = done._replace(damage=order.guard.look(root))
    if order.stamp is not None and done.verdict is not None and order.number == 1:
        done = done._replace(idle=done.verdict.tree == before)
    return done._replace(strayed=strayed())


def _judged(order: Order, worked: Worked | None, damage: Damage) -> Attempted:
    if not isinstance(order.case.contract, Command):
        return _unjudged(order, worked, damage)
    tree = RememberingTree(order.bench.tree)
    bench = order.bench._replace(tree=tree)
    verdict = next(judge(bench, [order.case], order.setting))
    if order.control.stopped() is not None:
        return Attempted(worked, None, stopped=order.control.stopped())
    frozen = order.setting.frozen
    if order.stamp is not None:
        verdict = verdict._replace(tree=order.stamp())
    if frozen is None or tree.last is None:
        return Attempted(worked, verdict, damage=damage)
    found = changes(frozen.manifest, tree.last)
    changed = tuple(change.path for change in found)
    wrong = {item.path for item in verdict.tampered} | set(verdict.outside)
    damage = _with_wiped(damage, frozen.manifest, found, wrong)
    restored = _put_back(order, wrong, found, damage)
    if restored is not None:
        tree.manifest(bench.rules)
    idle = not any(covers(order.setting.scope, path) for path in changed)
    return Attempted(worked, verdict, changed, restored, tree.last, idle=idle, damage=damage)


def _unjudged(order: Order, worked: Worked | None, damage: Damage) -> Attempted:
    """Look at what a step changed that a person will judge; put back what it may not."""
    frozen, bench = order.setting.frozen, order.bench
    if frozen is None:
        return Attempted(worked, None, damage=damage)
    found = changes(frozen.manifest, bench.tree.manifest(bench.rules))
    nobody = Judges(frozenset(), frozenset(), frozenset())
    beyond = protect(found, nobody, order.setting.scope).outside
    damage = _with_wiped(damage, frozen.manifest, found, set(beyond))
    restored = _put_back(order, set(beyond), found, damage)
    changed = tuple(change.path for change in found)
    return Attempted(worked, None, changed, restored, outside=beyond, damage=damage)


def _work(order: Order) -> Worked:
    assert order.agent is not None
    brief, control = order.brief, order.control
    try:
        worked = order.agent.work(
            Assignment(
                prompt=order.prompt,
                workspace=order.shown_at or order.bench.tree.root,
                attempt=order.number,
                seconds=order.seconds,
                launch=lambda dispatch: _launch(order, dispatch),
                follow_up=brief.follow_up,
                session=brief.session,
                session_usage=brief.session_usage,
                home=brief.home,
                spend=order.over,
                stopped=control.stopped,
                limit=brief.limit,
                note=brief.note,
                printed=brief.note,
                role=brief.role,
            )
        )
    except CellProblem as problem:
        return Worked(Outcome(Ending.NOT_STARTED, reason=problem.message), error="no-cell")
    if worked.outcome.ending is Ending.TIMED_OUT and brief.overtime is not None:
        outcome = worked.outcome._replace(ending=Ending.STOPPED, reason=brief.overtime)
        return worked._replace(outcome=outcome)
    return worked


def _launch(order: Order, dispatch: Dispatch) -> Outcome:
    bench, frozen = order.bench, order.setting.frozen
    keep = Protected((), ())
    if frozen is not None:
        keep = protected([order.case], frozen, order.setting.scope, bench.vault)
    keep = keep._replace(read_only=(*keep.read_only, *order.sealed))
    request = agent_request(dispatch, bench.tree.root, keep, order.masked, bench.exposed)
    watch = Watch(order.control, dispatch.hear, order.over)
    try:
        return bench.cell.run(request, watch)
    finally:
        watch.finish()


def _put_back(
    order: Order, wrong: set[str], found: Iterable[Change], damage: Damage
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
        return None
    restored = restore(order.bench.tree, order.bench.vault, undo)
    order.guard.unstage(order.bench.tree.root, restored.back)
    return restored


def _with_wiped(
    damage: Damage, before: Manifest, found: Iterable[Change], wrong: set[str]
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


def _is_file(change: Change) -> bool:
    return change.before is not None and change.before.type in {EntryType.FILE, EntryType.LINK}
