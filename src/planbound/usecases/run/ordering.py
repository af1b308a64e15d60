"""Puts together what an attempt needs, and records that it begins before anything happens."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from functools import partial

from planbound.engine.bounds import AGENT_SECONDS
from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.judging.case import Case
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.level import Isolation
from planbound.engine.judging.proof import Before, Look
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.manifest import EntryType, Manifest, decode, path_text
from planbound.engine.prompt import Context, Given, write_prompt
from planbound.engine.run.budget import room
from planbound.engine.run.layout import Slot
from planbound.engine.run.step_state import StepState
from planbound.errors import FileProblem
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.command import FileUse, read_script
from planbound.plan.digest import contract_digest
from planbound.plan.glob import Glob, parse_glob
from planbound.plan.model import Command
from planbound.ports.agent import Agent
from planbound.usecases.baseline import freeze, observe
from planbound.usecases.bench import Bench
from planbound.usecases.differences import changed_since
from planbound.usecases.frozen_judges import judges_of, read_frozen
from planbound.usecases.judge import Setting
from planbound.usecases.run.approved_judges import with_approved_judges
from planbound.usecases.run.attempt import Brief, Order
from planbound.usecases.run.control import ControlledCell
from planbound.usecases.run.screen import ScreenedTree
from planbound.usecases.run.session import Session
from planbound.usecases.run.staffing import Staffing, limit
from planbound.usecases.run.subscriptions import read_inside, read_judges, read_subscriptions
from planbound.usecases.unkept import unkept

_LEAST = 0.1
_DIFF = 6000
_JUDGING = frozenset({FileUse.TESTED, FileUse.EXECUTED, FileUse.CONFIGURED})
_LOOK_EVERY = 0.5
"""How many seconds apart others in the worktree are looked for."""


class Ordering:
    """Makes the orders of a run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.staffing = Staffing(session)
        self._manifests: dict[str, Manifest] = {}
        self._beside: tuple[Glob, ...] = ()
        self._looked = -_LOOK_EVERY

    def begin(self, slot: Slot, *, alone: bool) -> Order | None:
        """Freeze the tree, record the beginning, look at the contract; return the order.

        None where somebody decided something meanwhile: then nothing began.
        """
        session = self.session
        step = session.state.steps[slot.place]
        number = step.attempts + 1
        copy = None
        # Without a cell nothing is known of a tree, so that nothing could be brought home.
        beside = not alone or (self._has_neighbours() and not slot.is_attested)
        if beside and not session.is_bare:
            copy = _copy_of(session.notes.run, slot)
        anew = self._begins_anew(step, copy)
        bench = self._bench(copy, fresh=anew)
        frozen, key = self._reference(slot, bench, anew=anew)
        details: dict[str, Json] = {
            "attempt": number,
            "revision": session.state.revision,
            "digest": session.digest,
        }
        agent = self.staffing.agent_for(slot)
        sealed: tuple[str, ...] = ()
        if agent is not None:
            nested = None if frozen is None else _nested(frozen.manifest)
            sealed = session.desk.guard.keep(bench.tree.root, nested, session.notes.run)
            details["agent"] = agent.name
        if slot.step.target is not None:
            details["target"] = slot.step.target.value
        if frozen is not None and key is not None:
            details |= {"tree": frozen.manifest.digest, "manifest": key}
        if copy is not None:
            details["copy"] = copy
        known = self._known_baseline(slot, step, frozen)
        if known is not None:
            details["baseline"] = known
        begun = session.notes.about(EventKind.TASK_STARTED, slot, details)
        if not session.append_decided([begun]):
            session.desk.guard.settle(bench.tree.root, ended=agent is not None)
            return None
        if known is None and isinstance(slot.step.contract, Command):
            known = self._observe(slot, bench, number)
        return self._order(slot, number, bench, frozen, known, agent)._replace(sealed=sealed)

    def left(self, slot: Slot) -> Order | None:
        """Return the order to judge what an attempt left; None where nothing is left of it."""
        session = self.session
        step = session.state.steps[slot.place]
        if step.copy is not None and session.desk.copies.find(step.copy) is None:
            return None
        bench = self._bench(step.copy, fresh=False)
        frozen = self._frozen(step.manifest) if step.manifest else None
        known = step.baseline.verdict if step.baseline else None
        return self._order(slot, step.attempts, bench, frozen, known, None)

    def sweep(self) -> None:
        """Remove the copies in which there is nothing left to do."""
        session = self.session
        copies, state = session.desk.copies, session.state
        # A run that failed can go on in them.
        over = state.ended not in {None, "failed"}
        names = [
            step.copy
            for step in state.steps
            if step.copy is not None and (over or step.phase.is_settled)
        ]
        # A kill may leave a copy that no event names: of a run that is over all of them go.
        for run in set(state.used.values()) - ({state.run} if not over else set()):
            names.extend(_copy_of(run, slot) for slot in session.layout.slots)
        for name in names:
            path = copies.find(name)
            if path is not None:
                copies.remove(path)
        copies.sweep(_Named())
        for slot, step in zip(session.layout.slots, state.steps, strict=True):
            if over or step.phase.is_settled:
                self.staffing.send_home(slot)

    # -- parts ---------------------------------------------------------------------------------

    def _bench(self, copy: str | None, *, fresh: bool) -> Bench:
        session = self.session
        if copy is None:
            return session.bench
        desk = session.desk
        path = desk.copies.find(copy)
        if path is not None and fresh:
            desk.copies.remove(path)
            path = None
        if path is None:
            path = desk.copies.make(session.bench.tree.root, copy)
        shown = session.bench.tree.root
        return session.bench._replace(
            tree=ScreenedTree(desk.tree_at(path)),
            cell=ControlledCell(desk.bench.cell, session.control, shown),
        )

    def _has_neighbours(self) -> bool:
        return bool(self._neighbours())

    def _neighbours(self) -> tuple[Glob, ...]:
        """Return what other plans may change in this worktree while this one runs."""
        now = time.monotonic()
        if now - self._looked < _LOOK_EVERY:
            return self._beside
        self._looked = now
        desk = self.session.desk
        root = desk.bench.tree.root
        self._beside = tuple(
            parse_glob(text)
            for held in desk.leases.held()
            if held.claim.worktree == root and held.claim.plan != desk.slug and not held.expired
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
        if copy is not None and session.desk.copies.find(copy) is None:
            return True
        if step.retries:
            return False
        # A person answered, and may have changed something before: that is not the agent's doing.
        # In a copy it would not be seen, and what was done there would not fit any more.
        if copy is None:
            return True
        now = session.bench.tree.manifest(session.bench.rules)
        return now.digest != self._frozen(step.manifest).manifest.digest

    def _reference(
        self, slot: Slot, bench: Bench, *, anew: bool
    ) -> tuple[Frozen | None, str | None]:
        """Return the tree that the step is compared with: as it was before the first attempt."""
        session = self.session
        if session.is_bare:
            return None, None
        step = session.state.steps[slot.place]
        if not anew and step.manifest is not None:
            return self._frozen(step.manifest), step.manifest
        spared = unkept(bench, session.layout.plan)
        tree = freeze(bench.tree, bench.vault, bench.rules, spared)
        manifest = with_approved_judges(session, session.case(slot.place), tree.manifest)
        key = tree.key if manifest is tree.manifest else session.keep(manifest)
        self._manifests = {key: manifest}
        return self._frozen(key), key

    def _frozen(self, key: str) -> Frozen:
        manifest = self._manifests.get(key)
        if manifest is None:
            manifest = self._manifests[key] = self._kept(key)
        return Frozen(
            id=key,
            manifest=manifest,
            plan=self.session.digest,
            configuration=configuration_digest(self.session.desk.configuration),
            verdicts={},
        )

    def _kept(self, key: str) -> Manifest:
        try:
            data = self.session.bench.vault.content(bytes.fromhex(key))
            if data is not None:
                return decode(data)
        except ValueError as error:
            raise FileProblem(f"the frozen tree cannot be used: {error}") from error
        raise FileProblem(
            "the frozen tree is not in the vault any more",
            hint="approve the plan again, and run it anew",
        )

    # -- the baseline --------------------------------------------------------------------------

    def _known_baseline(self, slot: Slot, step: StepState, frozen: Frozen | None) -> str | None:
        """Return what the contract is known to say on this very tree."""
        if step.attempts or frozen is None:
            # Of the first attempt; without trees that of the gate.
            look = step.baseline or (step.approved if frozen is None else None)
            return look.verdict if look else None
        contract = slot.step.contract
        if not isinstance(contract, Command):
            return None
        approved = self.session.approved
        name = contract_digest(contract)
        seen = self.session.state.earlier.get((name, frozen.manifest.digest), set())
        if approved is not None and approved.manifest.digest == frozen.manifest.digest:
            seen = {approved.verdicts[name]} if name in approved.verdicts else set()
        known = next(iter(seen)) if len(seen) == 1 else None
        return known if known is not None and Look(known).is_seen else None

    def _observe(self, slot: Slot, bench: Bench, number: int) -> str | None:
        session = self.session
        for verdict in observe(bench, [session.case(slot.place)]):
            if session.control.reason is not None:
                return None
            extra: dict[str, Json] = {"attempt": number}
            kind = EventKind.BASELINE_OBSERVED
            session.append([session.notes.verdict(kind, verdict, slot, extra)])
            return verdict.kind.value
        return None

    def _before(self, case: Case) -> Before:
        slot = self.session.layout.find(case.number)
        return self.session.state.steps[slot.place].before if slot is not None else Before()

    # -- the order -----------------------------------------------------------------------------

    def _order(
        self,
        slot: Slot,
        number: int,
        bench: Bench,
        frozen: Frozen | None,
        baseline: str | None,
        agent: Agent | None,
    ) -> Order:
        session = self.session
        step = session.state.steps[slot.place]
        contract = slot.step.contract
        if frozen is not None and baseline is not None and isinstance(contract, Command):
            frozen = frozen._replace(verdicts={contract_digest(contract): baseline})
        in_place = bench.tree.root == session.bench.tree.root
        prompt, brief = "", Brief()
        left, seconds = room(session.state, slot), AGENT_SECONDS
        if agent is not None:
            given = self._given(slot, frozen, bench, number)
            role = self.staffing.role(slot)
            prompt = write_prompt(slot, step, given, attempt=number, role=role)
            left, seconds = self.staffing.room(slot, agent), self.staffing.seconds(slot, agent)
            brief = self.staffing.brief(slot, agent, given, number)
        earlier = session.state.earlier
        return Order(
            slot=slot,
            number=number,
            case=session.case(slot.place),
            bench=bench,
            setting=Setting(
                frozen=frozen,
                scope=self._scope(slot, in_place=in_place),
                plan_changed=session.changed_plan(),
                earlier=lambda name, tree: frozenset(earlier.get((name, tree), ())),
                before=self._before,
                tests=session.state.tests.get,
            ),
            agent=agent,
            prompt=prompt,
            seconds=min(seconds, max(_LEAST, left.seconds)),
            budget_seconds=left.seconds < seconds,
            masked=session.desk.agent_masked,
            control=session.control,
            over=limit(left, self.staffing.max_cost(agent), brief.role),
            brief=brief,
            shown_at=None if in_place else session.bench.tree.root,
            stamp=partial(session.stamp, bench.tree.root) if session.is_bare else None,
            watch=self._watch(slot),
            guard=session.desk.guard,
        )

    def _watch(self, slot: Slot) -> Callable[[], Callable[[], tuple[str, ...]]] | None:
        """Return what watches other worktrees; None where the cell keeps the agent out of them."""
        session = self.session
        touches = slot.touches
        if touches is None or not session.desk.place.is_bound:
            return None
        if session.bench.cell.isolation.reaches(Isolation.I1):
            return None
        return lambda: session.desk.place.watch(lambda path: covers(Scope(touches), path))

    def _given(self, slot: Slot, frozen: Frozen | None, bench: Bench, number: int) -> Given:
        diff = changed_since(frozen, bench, _DIFF) if number > 1 else None
        return Given(
            contexts=self._contexts(slot),
            judges=self._judges(slot, frozen),
            diff=None if diff is None else self.session.clean(diff),
        )

    def _contexts(self, slot: Slot) -> list[Context]:
        wanted = [item.value for item in slot.step.subscriptions]
        desk = self.session.desk
        root = self.session.bench.tree.root
        harness = desk.file.path.rpartition("/")[0]
        return read_subscriptions(wanted, root, harness, desk.files, self.session.clean)

    def _judges(self, slot: Slot, frozen: Frozen | None) -> list[Context]:
        """Return what a step is judged by, as far as it lies in the workspace.

        Judges that are held out are nowhere in a frozen tree.
        """
        contract = slot.step.contract
        if not isinstance(contract, Command):
            return []
        session = self.session
        root, masked = session.bench.tree.root, session.desk.agent_masked
        script = read_script(contract.text)
        named = [file.path.split("::")[0] for file in script.files]
        if frozen is None:
            read = partial(read_inside, root, session.desk.files)
            found = {
                path
                for path, file in zip(named, script.files, strict=True)
                if file.use in _JUDGING and read(path) is not None
            }
        else:
            read = partial(read_frozen, frozen.manifest, session.bench.vault)
            found = {*judges_of([session.case(slot.place)], frozen.manifest, read).files}
        hidden = tuple(f"{place}/" for place in masked)
        shown = [path for path in found if not os.path.join(root, path, "").startswith(hidden)]
        return read_judges(shown, named, read, session.clean)

    def _scope(self, slot: Slot, *, in_place: bool) -> Scope:
        return self.staffing.scope(slot, self._neighbours() if in_place else ())


def _copy_of(run: str, slot: Slot) -> str:
    """Return the name of the copy of the workspace that a step of a run works in."""
    return f"{run}-{slot.label}"


def _nested(manifest: Manifest) -> list[str]:
    """Return the folders of a workspace that are repositories of their own."""
    return [
        path_text(path.removesuffix(b"/.git"))
        for path, entry in manifest.entries.items()
        if entry.type is EntryType.SUMMARY and path.endswith(b"/.git")
    ]


class _Named:
    """Every copy that was made whole: only what a crash left half-made is swept."""

    def __contains__(self, path: object) -> bool:
        return True
