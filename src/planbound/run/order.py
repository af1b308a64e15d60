"""What an attempt needs: its tree, agent, prompt with its files, and limits; recorded first."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import NamedTuple

from planbound.agents.agent import Agent
from planbound.agents.control import ControlledCell
from planbound.cells.isolation import Isolation
from planbound.disk.files import Files
from planbound.errors import FileProblem
from planbound.git.place import PlanPlace
from planbound.journal.event import RunOutcome, TaskStarted, VerdictKind
from planbound.judging.case import Case, Scope, covers
from planbound.judging.context import JudgingContext
from planbound.judging.contract import Setting
from planbound.judging.judge import observe
from planbound.judging.reference import (
    Frozen,
    as_it_is,
    before_attempt,
    judges_of,
    kept_tree,
    read_frozen,
    reference_of,
)
from planbound.judging.restore import diff_since
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest
from planbound.plan.glob import Glob, parse_glob
from planbound.plan.model import Command, Judged, Subscription, SubscriptionKind
from planbound.run.attempt import AttemptLimits, Brief, WorkOrder
from planbound.run.budget import room
from planbound.run.prompt import Excerpt, Given, write_prompt
from planbound.run.session import RunSession
from planbound.run.staff import Staff
from planbound.script import read_script
from planbound.state.run import Slot
from planbound.state.step import Before, Look, StepState
from planbound.workspace.agents import AGENT_SECONDS
from planbound.workspace.manifest import EntryType, Manifest, path_text
from planbound.workspace.measured import ScreenedTree

# -- what a step's prompt shows of files: what it asks for, and what it is judged by -------------


_LONGEST_CONTENT = 20_000
_MOST_TOPICS = 5
_MOST_JUDGES = 30
_JUDGES_TEXT = 12_000
"""So many characters of all judges together are shown."""
_JUDGE_TEXT = 8_000
"""So many of one judge: the next one is shown, too."""
_WORTH = 200
_SETTINGS = (".toml", ".cfg", ".ini", ".json", ".lock", ".yaml", ".yml")


def read_subscriptions(
    wanted: Sequence[Subscription],
    root: str,
    harness: str,
    files: Files,
    clean: Callable[[str], str],
) -> list[Excerpt]:
    """Return the content of each subscription without secrets; one that is missing says so.

    A topic is looked for in the workspace, where a step may have written it, then in `harness`,
    the folder of the plans: in a linked worktree that is another one.
    """
    found: list[Excerpt] = []
    topics = 0
    for item in wanted:
        topics += item.kind is SubscriptionKind.TOPIC
        if item.kind is SubscriptionKind.TOPIC and topics > _MOST_TOPICS:
            found.append(Excerpt(f"{item.kind.value}:{item.name}", None, left_out=True))
        else:
            places = [(root, item.name)]
            if item.kind is SubscriptionKind.TOPIC:
                topic = f"topics/{item.name}.md"
                places = [(root, f".harness/{topic}"), (harness, topic)]
            found.append(_read_excerpt(item, places, files, clean))
    return found


def _read_excerpt(
    item: Subscription,
    places: Sequence[tuple[str, str]],
    files: Files,
    clean: Callable[[str], str],
) -> Excerpt:
    name = f"{item.kind.value}:{item.name}"
    data = next(
        (
            found
            for place in places
            if (found := read_inside(place[0], files, place[1])) is not None
        ),
        None,
    )
    if data is None:
        return Excerpt(name, None)
    # Before it is cut: half a secret would not be recognised.
    text = clean(data.decode("utf-8", "replace"))
    return Excerpt(
        name,
        text[:_LONGEST_CONTENT],
        hashlib.sha256(data).hexdigest(),
        cut=len(text) > _LONGEST_CONTENT,
    )


def read_inside(root: str, files: Files, inside: str) -> bytes | None:
    """Return a file below a folder; None where there is none, or a link leads out of it."""
    path = os.path.realpath(os.path.join(root, inside))
    if not path.startswith(os.path.realpath(root) + os.sep):
        return None
    try:
        return files.read(path)
    except FileProblem:
        return None


def read_judges(
    paths: Sequence[str],
    named: Sequence[str],
    read: Callable[[str], bytes | None],
    clean: Callable[[str], str],
) -> list[Excerpt]:
    """Return the judges of a step without secrets: so many paths, and of those so much text.

    Those that its command names come first, and settings of tools last.
    """
    found: list[Excerpt] = []
    room = _JUDGES_TEXT
    for path in sorted(paths, key=lambda each: _rank(each, named))[:_MOST_JUDGES]:
        data = read(path) if room >= _WORTH else None
        if data is None or b"\0" in data:
            found.append(Excerpt(path, None))
            continue
        text = clean(data.decode("utf-8", "replace"))
        digest = hashlib.sha256(data).hexdigest()
        most = min(room, _JUDGE_TEXT)
        found.append(Excerpt(path, text[:most], digest, cut=len(text) > most))
        room -= min(len(text), most)
    return found


def _rank(path: str, named: Sequence[str]) -> tuple[int, int, str]:
    if path in named:
        return (0, named.index(path), path)
    if path.endswith(_SETTINGS):
        return (3, 0, path)
    return (1 if any(path.startswith(f"{each}/") for each in named) else 2, 0, path)


# -- what an attempt needs: its tree, agent, prompt and limits; its beginning is recorded first --


_LEAST = 0.1
_DIFF = 6000
_QUICK = 1.0
"""A contract that takes less than so many seconds may have the next one beside it."""
_LOOK_EVERY = 0.5
"""How many seconds apart others in the worktree are looked for."""


class Left(NamedTuple):
    """What a step left in the workspace for the next one."""

    manifest: Manifest
    upcoming: Verdict | None
    """What the contract of the next one says on it."""


def _is_about(verdict: Verdict, case: Case, tree: Manifest) -> bool:
    """Say whether a verdict is on this contract of this step, on this tree."""
    same_step = (verdict.subject, verdict.number) == (case.subject, case.number)
    assert isinstance(case.contract, Judged)
    same_contract = verdict.contract == contract_digest(case.contract)
    return same_step and same_contract and verdict.tree == tree.digest


class Orders:
    """Makes the orders of a run."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self.staff = Staff(session)
        self._trees: dict[str, Frozen] = {}
        self._took: dict[int, float] = {}
        """How long contracts took before the work, by the places of their steps."""
        self._beside: tuple[Glob, ...] = ()
        self._looked = -_LOOK_EVERY

    def look_at_contracts(self) -> None:
        """Let bash read all contracts that are left at once, and not each when it is judged."""
        session = self.session
        left = [
            slot.step.contract.text
            for slot, step in zip(session.layout.slots, session.state.steps, strict=True)
            if isinstance(slot.step.contract, Command) and not step.status.is_settled
        ]
        with suppress(FileProblem):  # told where one is judged
            session.judging.syntax.faults(left)

    def begin(self, slot: Slot, *, alone: bool, left: Left | None = None) -> WorkOrder | None:
        """Freeze the tree, record the beginning, look at the contract; return the order.

        None where somebody decided something meanwhile: then nothing began. `left` is what the
        step before left, where nothing was alive since.
        """
        session = self.session
        step = session.state.steps[slot.place]
        number = step.attempts + 1
        copy = None
        # Somebody may have come since the last step ended, however quickly that was.
        self._looked = -_LOOK_EVERY
        if not alone or (self._neighbours() and not slot.is_attested):
            copy = _copy_of(session.notes.run, slot)
        anew = self._begins_anew(step, copy)
        judging = self._judging(copy, fresh=anew)
        if copy is not None:
            left = None
        now = as_it_is(judging, left and left.manifest) if anew else None
        frozen, key = self._reference(slot, judging, now)
        agent = self.staff.agent_for(slot)
        sealed: tuple[str, ...] = ()
        if agent is not None:
            nested = _nested(frozen.manifest)
            sealed = session.context.guard.keep(
                judging.tree.root, nested, session.notes.run, _may_move(slot)
            )
        known = self._known_baseline(slot, step, frozen)
        target = slot.step.target
        begun = TaskStarted(
            attempt=number,
            revision=session.state.revision,
            digest=session.digest,
            tree=frozen.manifest.digest,
            manifest=key,
            agent=agent.name if agent is not None else None,
            target=target.value if target is not None else None,
            copy=copy,
            baseline=known,
        )
        if not session.append_decided([session.notes.about(begun, slot)]):
            session.context.guard.settle(judging.tree.root, ended=agent is not None)
            return None
        if known is None and isinstance(slot.step.contract, Judged):
            looked = left.upcoming if left is not None and left.manifest is now else None
            known = self._observe(slot, judging, number, now, looked)
        return self._order(slot, number, judging, frozen, known, agent)._replace(sealed=sealed)

    @property
    def has_neighbours(self) -> bool:
        """Whether another plan is at work in this worktree, or waits to be."""
        self._looked = -_LOOK_EVERY
        return bool(self._neighbours())

    def left(self, slot: Slot) -> WorkOrder | None:
        """Return the order to judge what an attempt left; None where nothing is left of it."""
        session = self.session
        step = session.state.steps[slot.place]
        if step.copy is not None and session.context.copies.find(step.copy) is None:
            return None
        judging = self._judging(step.copy, fresh=False)
        frozen = self._frozen(step.manifest) if step.manifest else None
        known = step.baseline.verdict if step.baseline else None
        order = self._order(slot, step.attempts, judging, frozen, known, None)
        return order._replace(left=True)

    def sweep(self) -> None:
        """Remove the copies in which there is nothing left to do."""
        session = self.session
        copies, state = session.context.copies, session.state
        # A run that failed can go on in them.
        over = state.ended not in {None, RunOutcome.FAILED}
        names = [
            step.copy
            for step in state.steps
            if step.copy is not None and (over or step.status.is_settled)
        ]
        # A kill may leave a copy that no event names: of a run that is over all of them go.
        for run in set(state.used.values()) - ({state.run} if not over else set()):
            names.extend(_copy_of(run, slot) for slot in session.layout.slots)
        for name in names:
            path = copies.find(name)
            if path is not None:
                copies.remove(path)
        copies.sweep(_WholeCopies())
        self.staff.remove_homes(
            slot
            for slot, step in zip(session.layout.slots, state.steps, strict=True)
            if over or step.status.is_settled
        )

    # -- parts ---------------------------------------------------------------------------------

    def _judging(self, copy: str | None, *, fresh: bool) -> JudgingContext:
        session = self.session
        if copy is None:
            return session.judging
        context = session.context
        path = context.copies.find(copy)
        if path is not None and fresh:
            context.copies.remove(path)
            path = None
        if path is None:
            path = context.copies.make(session.judging.tree.root, copy)
        shown = session.judging.tree.root
        return session.judging._replace(
            tree=ScreenedTree(context.tree_at(path)),
            cell=ControlledCell(context.judging.cell, session.control, shown),
        )

    def _neighbours(self) -> tuple[Glob, ...]:
        """Return what other plans may change in this worktree while this one runs."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return self._beside
        self._looked = now
        context = self.session.context
        root = context.judging.tree.root
        self._beside = tuple(
            parse_glob(text)
            for held in context.leases.held(beside=context.slug)
            if held.claim.worktree == root and not held.expired
            for text in held.claim.touches or ()
        )
        return self._beside

    def _begins_anew(self, step: StepState, copy: str | None) -> bool:
        """Say whether a step is compared with the tree as it is now, in a new copy if in any.

        Otherwise it goes on from where its last attempt ended.
        """
        session = self.session
        if not step.attempts or step.manifest is None or step.copy != copy:
            return True
        if copy is not None and session.context.copies.find(copy) is None:
            return True
        if step.retries:
            return False
        # A person answered, and may have changed something before: that is not the agent's doing.
        # In a copy it would not be seen, and what was done there would not fit any more.
        if copy is None:
            return True
        now = session.judging.tree.manifest(session.judging.rules)
        return now.digest != self._frozen(step.manifest).manifest.digest

    def _reference(
        self, slot: Slot, judging: JudgingContext, now: Manifest | None
    ) -> tuple[Frozen, str]:
        """Return the tree that the step is compared with: as it was before the first attempt.

        That is now, where `now` is given.
        """
        session = self.session
        step = session.state.steps[slot.place]
        if now is None:
            assert step.manifest is not None
            return self._frozen(step.manifest), step.manifest
        case, plan = session.case(slot.place), session.layout.plan
        tree = before_attempt(judging, plan, case, session.approved, now)
        frozen = reference_of(tree, session.digest, session.context.configuration)
        self._trees = {tree.key: frozen}
        return frozen, tree.key

    def _frozen(self, key: str) -> Frozen:
        session = self.session
        if key not in self._trees:
            configuration = session.context.configuration
            found = kept_tree(session.judging.vault, key, session.digest, configuration)
            if found is None:
                raise FileProblem(
                    "the frozen tree is not in the vault any more",
                    hint="approve the plan again, and run it anew",
                )
            self._trees[key] = found
        return self._trees[key]

    # -- the baseline --------------------------------------------------------------------------

    def _known_baseline(self, slot: Slot, step: StepState, frozen: Frozen) -> VerdictKind | None:
        """Return what the contract is known to say on this very tree."""
        if step.attempts:
            return step.baseline.verdict if step.baseline else None
        contract = slot.step.contract
        if not isinstance(contract, Judged):
            return None
        approved = self.session.approved
        name = contract_digest(contract)
        seen = self.session.state.earlier.get((name, frozen.manifest.digest), set())
        if approved is not None and approved.manifest.digest == frozen.manifest.digest:
            seen = {approved.verdicts[name]} if name in approved.verdicts else set()
        known = next(iter(seen)) if len(seen) == 1 else None
        return known if known is not None and Look(known).is_seen else None

    def _observe(
        self,
        slot: Slot,
        judging: JudgingContext,
        number: int,
        seen: Manifest | None,
        looked: Verdict | None,
    ) -> VerdictKind | None:
        session, case = self.session, self.session.case(slot.place)
        found: Iterable[Verdict] = observe(judging, [case], seen)
        if looked is not None and seen is not None and _is_about(looked, case, seen):
            found = [looked]
        for verdict in found:
            if session.control.reason is not None:
                return None
            session.append([session.notes.observed(verdict, slot, number)])
            if verdict.outcome is not None:
                self._took[slot.place] = verdict.outcome.duration
            return verdict.kind
        return None

    def upcoming(self, slot: Slot) -> Case | None:
        """Return the contract that is probably looked at next, beside the one of this step.

        Only where that one took a moment: what is looked at in vain costs not much more.
        """
        session = self.session
        if self._took.get(slot.place, _QUICK) >= _QUICK:
            return None
        for after in session.layout.slots[slot.place + 1 :]:
            step = session.state.steps[after.place]
            if not step.status.is_settled:
                is_new = not step.attempts and isinstance(after.step.contract, Judged)
                return session.case(after.place) if is_new else None
        return None

    def _before(self, case: Case) -> Before:
        slot = self.session.layout.find(case.number)
        return self.session.state.steps[slot.place].before if slot is not None else Before()

    # -- the order -----------------------------------------------------------------------------

    def _order(
        self,
        slot: Slot,
        number: int,
        judging: JudgingContext,
        frozen: Frozen | None,
        baseline: VerdictKind | None,
        agent: Agent | None,
    ) -> WorkOrder:
        session = self.session
        step = session.state.steps[slot.place]
        contract = slot.step.contract
        if frozen is not None and baseline is not None and isinstance(contract, Judged):
            frozen = frozen._replace(verdicts={contract_digest(contract): baseline})
        in_place = judging.tree.root == session.judging.tree.root
        prompt, brief = "", Brief()
        left, seconds = room(session.state, slot), AGENT_SECONDS
        if agent is not None:
            given = self._given(slot, frozen, judging, number)
            role = self.staff.role(slot)
            prompt = write_prompt(slot, step, given, attempt=number, role=role)
            left, seconds = self.staff.room(slot, agent), self.staff.seconds(slot, agent)
            brief = self.staff.brief(slot, agent, given, number)
        return WorkOrder(
            slot=slot,
            number=number,
            case=session.case(slot.place),
            judging=judging,
            setting=Setting(
                frozen=frozen,
                scope=self.staff.scope(slot, self._neighbours() if in_place else ()),
                plan_changed=session.changed_plan(),
                earlier=session.state.earlier,
                before=self._before,
                tests=session.state.tests,
            ),
            agent=agent,
            prompt=prompt,
            seconds=min(seconds, max(_LEAST, left.seconds)),
            budget_seconds=left.seconds < seconds,
            masked=session.context.agent_masked,
            control=session.control,
            limits=AttemptLimits(left, self.staff.max_cost(agent), brief.role),
            brief=brief,
            shown_at=None if in_place else session.judging.tree.root,
            watched=self._watched(slot),
            guard=session.context.guard,
        )

    def _watched(self, slot: Slot) -> PlanPlace | None:
        """Return what watches other worktrees; None where the cell keeps the agent out of them."""
        place = self.session.context.place
        if slot.touches is None or not place.is_bound:
            return None
        return None if self.session.judging.cell.isolation.reaches(Isolation.I1) else place

    def _given(
        self, slot: Slot, frozen: Frozen | None, judging: JudgingContext, number: int
    ) -> Given:
        diff = diff_since(frozen, judging, _DIFF) if number > 1 else None
        return Given(
            excerpts=self._excerpts(slot),
            judges=self._judges(slot, frozen),
            diff=None if diff is None else self.session.clean(diff),
        )

    def _excerpts(self, slot: Slot) -> list[Excerpt]:
        wanted = [item.value for item in slot.step.subscriptions]
        context = self.session.context
        root = self.session.judging.tree.root
        harness = context.file.path.rpartition("/")[0]
        return read_subscriptions(wanted, root, harness, context.files, self.session.clean)

    def _judges(self, slot: Slot, frozen: Frozen | None) -> list[Excerpt]:
        """Return what a step is judged by, as far as it lies in the workspace.

        Judges that are held out are nowhere in a frozen tree.
        """
        contract = slot.step.contract
        if not isinstance(contract, Judged) or frozen is None:
            return []
        session = self.session
        root, masked = session.judging.tree.root, session.context.agent_masked
        script = read_script(contract.text if isinstance(contract, Command) else "")
        named = [file.path.split("::")[0] for file in script.files]
        read = partial(read_frozen, frozen.manifest, session.judging.vault)
        found = judges_of([session.case(slot.place)], frozen.manifest, read).files
        hidden = tuple(f"{place}/" for place in masked)
        shown = [path for path in found if not os.path.join(root, path, "").startswith(hidden)]
        return read_judges(shown, named, read, session.clean)


def _may_move(slot: Slot) -> Callable[[str], bool] | None:
    """Return what says which branches a step may move, apart from those that are checked out."""
    if slot.touches is None:
        return None
    scope = Scope(slot.touches)
    return lambda path: covers(scope, path)


def _copy_of(run: str, slot: Slot) -> str:
    """Return the name of the copy of the workspace that a step of a run works in."""
    return f"{run}-{slot.label}"


def _nested(manifest: Manifest) -> list[str]:
    """Return the folders of a workspace that are repositories of their own."""
    return [
        path_text(path.removesuffix(b"/.git"))
        for path, entry in manifest.others()
        if entry.type is EntryType.SUMMARY and path.endswith(b"/.git")
    ]


class _WholeCopies:
    """Every copy that was made whole: only what a crash left half-made is swept."""

    def __contains__(self, path: object) -> bool:
        return True
