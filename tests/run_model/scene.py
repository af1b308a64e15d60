"""A run with a script, for what the model has found: the same world, one thing after the other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from planbound.journal.event import EventKind
from planbound.run.loop import Again, Halted, Next, RunEnded
from tests.run_model.people import People
from tests.run_model.plans import PlanShape, StepShape
from tests.run_model.world import FILE, SLUG, Attempt, Driver, Judged, Work, World

CLOCKED = ("session", "order", "ending")


class Scene:
    """A plan that is approved, and a runner that does what it is told."""

    def __init__(self, patch: pytest.MonkeyPatch, *steps: StepShape, **fields: Any) -> None:
        self.shape = PlanShape(steps or (StepShape("a"),), **fields)
        self.world = World(self.shape.text())
        for module in CLOCKED:
            patch.setattr(f"planbound.run.{module}.time", self.world.clock)
        self.people = People(self.world)
        self.world.recorder.created(SLUG, self.people.plan(), path=FILE.shown, origin="new")
        self.people.approve()

    def start(self, jobs: int = 1) -> Driver:
        """Start a runner; whoever was there before is gone."""
        self.world.gone |= {driver.holder for driver in self.world.drivers}
        return self.world.start(jobs)

    def go(
        self,
        driver: Driver,
        *works: Work,
        verdicts: Sequence[Judged] = (),
        meanwhile: Sequence[tuple[int, Callable[[], None]]] = (),
    ) -> Next:
        """Let the runner go on until there is nothing to do; return what it says."""
        self.world.attempts.extend(Attempt(work) for work in works)
        self.world.verdicts.extend(verdicts)
        with self.world.meanwhile(meanwhile):
            for _ in range(100):
                said = driver.turn()
                if isinstance(said, Again):
                    continue
                if isinstance(said, RunEnded):
                    driver.end()
                elif isinstance(said, Halted):
                    driver.pause(said.reason)
                return said
        raise AssertionError("the run does not come to an end")

    def edit_plan(self, shape: PlanShape) -> None:
        """Write another plan into the file."""
        self.world.disk.write(FILE.path, shape.text())

    def events(self, *kinds: EventKind) -> list[dict[str, Any]]:
        """Return what was told by events of some kinds, with the step as `task`."""
        return [
            {**record.draft.details.json(), "task": record.draft.task_id, "kind": record.kind}
            for record in self.world.records()
            if record.kind in kinds
        ]

    def verdicts(self, step: str) -> list[str]:
        """Return the verdicts about a step."""
        found = self.events(EventKind.CONTRACT_EVALUATED)
        return [event["verdict"] for event in found if event["task"] == step]
