"""Puts together what a fleet needs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence

from planbound.engine.readiness import PlanInfo
from planbound.engine.run.layout import lay_out
from planbound.engine.run.state import RunState
from planbound.engine.team.fleet import asked_for, builds_on
from planbound.engine.team.row import Row
from planbound.engine.team.state import Binding
from planbound.errors import NothingToDo
from planbound.plan.model import Plan
from planbound.ports.children import Child
from planbound.shell.children import ChildProcess
from planbound.usecases.locate import locate
from planbound.usecases.overview import overview, plan_infos
from planbound.usecases.team.base import base_of
from planbound.usecases.team.bindings import known_team
from planbound.usecases.team.fleet import Fleet, FleetDesk, Sight
from planbound.usecases.team.following import Following
from planbound.usecases.team.spawn import AlreadySpawned
from planbound.wiring.marking import notice_lines
from planbound.wiring.parts import Parts
from planbound.wiring.team import git_place, make_commit_desk, spawn_plan
from planbound.workspace.tree import plans_root

_BY_EVENTS = frozenset({"approved", "in-progress", "failed"})


def make_fleet(
    parts: Parts, names: Sequence[str], *, jobs: int, watch: Callable[[Sequence[Row]], None]
) -> Fleet:
    """Return a fleet for the plans that are named, for all that are not done where none are."""
    # Plans, configuration and journal are those of the main worktree, wherever we are called.
    main = parts.at(plans_root(parts.root))
    git_place(main)
    named = tuple(dict.fromkeys(_slug_of(main, name) for name in names))
    works = _Works(main)
    asked = named or asked_for(works.look().plans)
    if not asked:
        raise NothingToDo("no plan waits to be run")
    return Fleet(works.desk(), asked, jobs=jobs, watch=watch)


def _slug_of(parts: Parts, name: str) -> str:
    file = locate(name, parts.tree)
    parts.demand_own(file)
    return file.slug


class _Works:
    """The parts of a fleet, over one connection to the journal."""

    def __init__(self, parts: Parts) -> None:
        self.parts = parts
        self.journal = parts.journal()
        self.leases = parts.leases()
        self.recorder = parts.recorder(self.journal)
        self._plans: dict[str, Plan] = {}

    def desk(self) -> FleetDesk:
        return FleetDesk(
            look=self.look,
            holders=self.holders,
            following=Following(self.journal, self.fresh_state),
            place=self.place,
            start=self.start,
            log_of=self.log_of,
            clock=time.monotonic,
        )

    def look(self) -> Sight:
        seen = overview(self.parts.tree, self.parts.files, lambda: self.journal)
        notice_lines(self.parts, seen.lines)
        spoken = {line.file.slug for line in seen.lines if line.state is not None}
        self._plans = {}
        for line in seen.lines:
            if line.plan is not None:
                self._plans.setdefault(line.file.slug, line.plan)
        infos = plan_infos(seen, [], self.parts.configuration.gate.require)
        plans = {info.slug: _trusted(info, known=info.slug in spoken) for info in infos}
        return Sight(plans, known_team(self.journal))

    def holders(self) -> dict[str, str]:
        return {
            held.claim.plan: held.claim.holder for held in self.leases.held() if not held.expired
        }

    def fresh_state(self, slug: str) -> RunState | None:
        plan = self._plans.get(slug)
        return None if plan is None else RunState(lay_out(plan, self.recorder.step_ids(plan)))

    def place(self, plan: PlanInfo, sight: Sight) -> Binding:
        state = sight.team.get(plan.slug)
        binding = state.binding if state is not None else None
        if binding is not None and binding.is_whole and os.path.isdir(binding.path):
            return binding
        base: str | None = None
        before: tuple[str, ...] = ()
        if binding is None or not binding.is_whole:
            desk = make_commit_desk(self.parts)
            before = builds_on(sight.plans, plan)
            base = base_of(desk, plan.slug, before, sight.team, self._objective)
        file = locate(plan.slug, self.parts.tree)
        try:
            return spawn_plan(self.parts, file, base, builds_on=before).binding
        except AlreadySpawned as there:
            return there.binding

    def start(self, slug: str) -> Child:
        words = ["--workspace", self.parts.root]
        if self.parts.given_state:
            words += ["--state", os.path.abspath(self.parts.given_state)]
        # By its path: a file of the plan's name may be in the current folder.
        path = self.parts.tree.planned_path(slug).path
        return ChildProcess([*words, "run", path, "--no-input"], log=self.log_of(slug))

    def log_of(self, slug: str) -> str:
        return os.path.join(self.parts.state.folder, "runs", f"{slug}.log")

    def _objective(self, slug: str) -> str:
        plan = self._plans.get(slug)
        return plan.objective.value if plan is not None and plan.objective else slug


def _trusted(info: PlanInfo, *, known: bool) -> PlanInfo:
    """Return what is known of a plan; what only its file says approves nothing."""
    return info if known or info.status not in _BY_EVENTS else info._replace(status="draft")
