"""Puts together what bringing plans together needs, one integration at a time."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, cached_property
from typing import NamedTuple

from planbound.engine.claims import Claim
from planbound.engine.fence import Fence
from planbound.engine.merge_order import describe_cycle, merge_order
from planbound.engine.team.integration import (
    LEASE,
    HeldBack,
    Integrated,
    Result,
    choose,
    fold_heading,
)
from planbound.engine.team.resolution import after_its_base
from planbound.engine.team.state import Binding, TeamState
from planbound.errors import LeaseLost, NothingToDo, PlanboundError, Refused, UsageError
from planbound.plan.slug import UNNAMED, progress_name
from planbound.ports.lease import Leases
from planbound.runtime.heartbeat import Heartbeat
from planbound.shell.git.repository import GitRepository
from planbound.store.lock import this_process
from planbound.store.progress import ProgressAppender
from planbound.usecases.answer import state_of
from planbound.usecases.locate import locate
from planbound.usecases.overview import overview, plan_infos
from planbound.usecases.run.control import Control
from planbound.usecases.team.bindings import known_team
from planbound.usecases.team.containment import Branch
from planbound.usecases.team.foresee import foresee
from planbound.usecases.team.integrate import Integrator
from planbound.usecases.team.judge_merge import Demand, demand_of
from planbound.usecases.team.landing import IntegrateDesk
from planbound.wiring.judging import vault
from planbound.wiring.merge_scratch import MergeScratch, quietly_close
from planbound.wiring.merging import find_target, plan_sizes
from planbound.wiring.parts import Parts
from planbound.wiring.running import INTERRUPTED
from planbound.wiring.team import git_place, machine, make_commit_desk, make_repository

_PAUSE = 0.2


class Hooks(NamedTuple):
    """What the face of an integration does."""

    saw: Callable[[Result], None]
    say: Callable[[str], None]


class _Chosen(NamedTuple):
    order: list[str]
    held: list[HeldBack]
    depends_on: Mapping[str, Sequence[str]]
    team: Mapping[str, TeamState]


class Integrating:
    """One integration in this process, from the lease to its release."""

    def __init__(
        self, parts: Parts, names: Sequence[str] | None, into: str | None, hooks: Hooks
    ) -> None:
        self.parts = parts
        self.names = names
        self.given = into
        self.hooks = hooks
        self.control = Control()
        self.repository: GitRepository = make_repository(parts)
        self.seconds = parts.configuration.run.lease

    @cached_property
    def leases(self) -> Leases:
        """Who works on what; whoever only looks needs none."""
        return self.parts.leases()

    def stop(self, reason: str) -> None:
        """Ask it to end; from any thread or signal handler."""
        self.control.stop(reason)

    # -- both ways -----------------------------------------------------------------------------

    def foresee(self) -> Integrated:
        """Return what would come of it; nothing is judged, moved or recorded."""
        branch = self.branch()
        chosen = self._choose(branch)
        if not chosen.order:
            held = tuple(chosen.held)
            return Integrated(branch.name, branch.commit, branch.commit, held)
        seen = foresee(
            make_commit_desk(self.parts),
            branch,
            chosen.order,
            chosen.depends_on,
            chosen.team,
            main=git_place(self.parts).main,
        )
        return seen._replace(results=(*chosen.held, *seen.results))

    def execute(self) -> Integrated:
        """Bring plans together, when nobody else does; raise NothingToDo where there is nothing."""
        self.branch()  # what cannot be is said before anybody is waited for
        fence = self._acquire()
        scratch = MergeScratch(self.parts, self.repository, self.control)
        try:
            with self._beating(fence):
                scratch.sweep()
                return self._execute(fence, scratch)
        finally:
            left = quietly_close(scratch)
            if left is not None:
                self.hooks.say(f"note: {left}")
            self.leases.release(fence)

    def _execute(self, fence: Fence, scratch: MergeScratch) -> Integrated:
        branch = self.branch()
        desk = self._desk(fence, scratch)
        first = Integrator(desk, branch.name, {})
        first.finish_cut_off()
        chosen = self._choose(branch)
        for each in chosen.held:
            self.hooks.saw(each)
        integrator = Integrator(desk, branch.name, chosen.depends_on)
        done = integrator.run(chosen.order)
        lost = self.control.reason
        if lost is not None and lost != INTERRUPTED:
            raise LeaseLost(lost)
        results = (*first.results, *chosen.held, *done.results)
        if not results and not done.interrupted:
            raise NothingToDo(self._nothing(branch))
        return done._replace(before=branch.commit, results=results)

    def _nothing(self, branch: Branch) -> str:
        if not self.names:
            return f"no proved plan waits to be merged into `{branch.name}`"
        named = ", ".join(f"`{name}`" for name in self.names)
        return f"{named} {'is' if len(self.names) == 1 else 'are'} in `{branch.name}` already"

    # -- which ---------------------------------------------------------------------------------

    def branch(self) -> Branch:
        """Return the branch that plans are brought together in."""
        branch = find_target(self.parts, self.repository, self.given)
        for state in known_team(self.parts.existing_journal()).values():
            if state.binding is not None and state.binding.branch == branch.name:
                raise UsageError(f"`{branch.name}` is the branch of `{state.plan}` itself")
        return branch

    def _choose(self, branch: Branch) -> _Chosen:
        parts = self.parts
        team = known_team(parts.existing_journal())
        infos = [
            after_its_base(info, team)
            for info in plan_infos(
                overview(parts.tree, parts.files, parts.existing_journal),
                [],
                parts.configuration.gate.require,
            )
        ]
        ordered = merge_order(infos, plan_sizes(parts), merged=True)
        if ordered.cycle:
            raise Refused(
                describe_cycle(ordered.cycle), hint="take one of them out of a `depends_on`"
            )
        slugs, held = self._named()
        turns = [turn.slug for turn in ordered.turns]
        unproved = {info.slug: info.unproved for info in infos if info.unproved is not None}
        order, unfit = choose(slugs, team, turns, branch.name, unproved)
        depends_on = {info.slug: info.depends_on for info in infos}
        return _Chosen(order, [*held, *unfit], depends_on, team)

    def _named(self) -> tuple[list[str] | None, list[HeldBack]]:
        """Return the plans that were named, and the names of none."""
        if self.names is None:
            return None, []
        slugs, held = [], []
        for name in self.names:
            try:
                file = locate(name, self.parts.tree)
                self.parts.demand_own(file)
                slugs.append(file.slug)
            except PlanboundError as problem:
                hint = f"; {problem.hint}" if problem.hint else ""
                held.append(HeldBack(name, problem.message + hint))
        return slugs, held

    # -- leases --------------------------------------------------------------------------------

    def _acquire(self) -> Fence:
        """Wait until nobody else integrates."""
        me, told = this_process(), False
        claim = Claim(
            plan=LEASE,
            worktree=os.path.join(self.parts.state.folder, "scratch"),
            touches=None,
            holder=me.name,
            process=me.mark,
        )
        while True:
            try:
                return self.leases.acquire(claim, seconds=self.seconds)
            except Refused:
                if not told:
                    holders = (held for held in self.leases.held() if held.claim.plan == LEASE)
                    who = next((held.claim.holder for held in holders), "somebody else")
                    self.hooks.say(f"note: waits for {who}, which integrates now")
                told = True
            if self.control.reason is not None:
                raise KeyboardInterrupt
            time.sleep(_PAUSE)

    def _busy(self, path: str) -> str | None:
        """Return the plan that is run in a worktree now."""
        for held in self.leases.held():
            inside = f"{held.claim.worktree}/".startswith(f"{path}/")
            if inside and not held.expired and held.claim.plan != LEASE:
                return held.claim.plan
        return None

    @contextmanager
    def _held(self, binding: Binding) -> Iterator[None]:
        """Keep everybody from running a plan."""
        me = this_process()
        claim = Claim(
            plan=binding.plan,
            worktree=binding.workspace,
            # Nothing there is changed: whoever touches the same elsewhere is not in the way.
            touches=None,
            holder=me.name,
            process=me.mark,
        )
        fence = self.leases.acquire(claim, seconds=self.seconds)
        try:
            with self._beating(fence):
                yield
        finally:
            self.leases.release(fence)

    @contextmanager
    def _beating(self, fence: Fence) -> Iterator[None]:
        beat = Heartbeat(
            self.parts.leases(),
            fence,
            seconds=self.seconds,
            lost=self.control.stop,
            look=lambda: None,
        )
        beat.start()
        try:
            yield
        finally:
            beat.end()

    # -- the desk ------------------------------------------------------------------------------

    def _desk(self, fence: Fence, scratch: MergeScratch) -> IntegrateDesk:
        return IntegrateDesk(
            commits=make_commit_desk(self.parts),
            fence=fence,
            control=self.control,
            scratch=scratch,
            machine=machine(),
            demand=cache(self._demand),
            lease=self._held,
            busy=self._busy,
            fold_in=self._fold_in,
            report=self.hooks.saw,
        )

    def _demand(self, slug: str) -> Demand | None:
        file = next((each for each in self.parts.tree.plans() if each.slug == slug), None)
        if file is None:
            return None
        data = self.parts.reader.read(file.path)
        return demand_of(slug, state_of(self.parts.recorder(), vault(self.parts), slug, data))

    def _fold_in(self, slug: str, commit: str) -> None:
        if slug == UNNAMED:  # its progress is that of all
            return
        harness = self.parts.tree.harness
        try:
            ProgressAppender(os.path.join(harness, progress_name(UNNAMED))).fold_in(
                fold_heading(slug, commit), os.path.join(harness, progress_name(slug))
            )
        except PlanboundError as problem:
            self.hooks.say(
                f"note: the progress of `{slug}` is not in that of all: {problem.message}"
            )
