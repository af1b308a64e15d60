"""The checker of the model sees every invariant that is broken: journals that lie."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from planbound.journal.event import EventKind as Kind
from planbound.journal.event import RunOutcome
from planbound.journal.record import Details, Record
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.run.loop import RunEnded
from tests.run_model.checker import BrokenInvariantError, Checker
from tests.run_model.plans import StepShape
from tests.run_model.scene import Scene
from tests.run_model.world import SECRETS, SUBVERTED, Work

Lie = Callable[[list[Record]], list[Record]]


def without(*kinds: Kind) -> Lie:
    return lambda records: [record for record in records if record.kind not in kinds]


def told(kind: Kind, **details: object) -> Lie:
    """Let every event of a kind tell something else."""

    def lie(records: list[Record]) -> list[Record]:
        return [
            record._replace(
                draft=record.draft._replace(
                    details=Details.of({**record.draft.details.json(), **details})  # type: ignore[dict-item]
                )
            )
            if record.kind is kind
            else record
            for record in records
        ]

    return lie


def swapped(kind: Kind) -> Lie:
    """Let the first two events of a kind be about each other's step."""

    def lie(records: list[Record]) -> list[Record]:
        found = [index for index, record in enumerate(records) if record.kind is kind]
        first, second = found[0], found[1]
        names = [records[index].draft.task_id for index in (first, second)]
        changed = list(records)
        for index, name in zip((first, second), reversed(names), strict=True):
            changed[index] = records[index]._replace(
                draft=records[index].draft._replace(task_id=name)
            )
        return changed

    return lie


def twice(kind: Kind) -> Lie:
    """Let the last event of a kind happen again, right after itself."""

    def lie(records: list[Record]) -> list[Record]:
        last = max(index for index, record in enumerate(records) if record.kind is kind)
        return [*records[: last + 1], records[last], *records[last + 1 :]]

    return lie


def green_before(records: list[Record]) -> list[Record]:
    """Let every look before the work have found the contract green."""
    changed = []
    for record in records:
        details = record.draft.details.json()
        if record.kind is Kind.BASELINE_OBSERVED:
            details["verdict"] = "pass"
        elif record.kind is Kind.TASK_STARTED:
            details["baseline"] = "pass"
        changed.append(record._replace(draft=record.draft._replace(details=Details.of(details))))
    return changed


LIES: dict[str, tuple[int, Lie]] = {
    "no verdict": (1, without(Kind.CONTRACT_EVALUATED)),
    "an inconclusive verdict": (1, told(Kind.CONTRACT_EVALUATED, verdict="timeout")),
    "a verdict of another run": (7, told(Kind.CONTRACT_EVALUATED, run="another")),
    "a claim": (1, told(Kind.TASK_COMPLETED, result="claimed")),
    "proved by nothing": (10, green_before),
    "held although red": (10, told(Kind.TASK_COMPLETED, result="holds")),
    "a judge of the agent's": (1, told(Kind.CONTRACT_EVALUATED, output_tail=SUBVERTED)),
    "no approval": (2, without(Kind.GATE_APPROVED)),
    "the approval of another": (2, told(Kind.EXECUTION_STARTED, nonce="another")),
    "another plan": (2, told(Kind.TASK_STARTED, digest="0" * 64)),
    "no run": (7, without(Kind.EXECUTION_STARTED)),
    "another order": (3, swapped(Kind.TASK_STARTED)),
    "a step again": (10, twice(Kind.TASK_STARTED)),
    "no type": (5, without(Kind.FAILURE_CLASSIFIED)),
    "no answer": (5, without(Kind.RECOVERY_APPLIED)),
    "a secret": (8, told(Kind.ATTEMPT_ENDED, output_tail=f"it is {SECRETS[0]}")),
    "a wrong summary": (9, told(Kind.EXECUTION_COMPLETE, completed=1)),
    "another tree": (9, told(Kind.EXECUTION_COMPLETE, tree="another")),
    "a cancellation by nobody": (9, told(Kind.EXECUTION_COMPLETE, status="cancelled")),
    "too little for a step": (9, told(Kind.ATTEMPT_ENDED, tokens=1_500_000)),
    "skips that are none": (9, told(Kind.EXECUTION_COMPLETE, status="done with skips")),
}


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch) -> Scene:
    scene = Scene(monkeypatch, StepShape("a"), StepShape("b"), after=(False,))
    assert scene.go(scene.start(), Work.RIGHT, Work.WRONG, Work.RIGHT) == RunEnded(RunOutcome.DONE)
    return scene


def check(scene: Scene, records: list[Record]) -> None:
    shapes = {digest(parse(scene.shape.text())): scene.shape}
    checker = Checker(shapes, SECRETS, subverted=SUBVERTED)
    for number, record in enumerate(records, 1):
        checker.read(record._replace(plan_seq=number))


def test_what_happened_breaks_nothing(scene: Scene) -> None:
    check(scene, scene.world.records())


@pytest.mark.parametrize("name", LIES)
def test_a_journal_that_lies_is_found_out(scene: Scene, name: str) -> None:
    number, lie = LIES[name]
    with pytest.raises(BrokenInvariantError, match=f"invariant {number}:"):
        check(scene, lie(scene.world.records()))
