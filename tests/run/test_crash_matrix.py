"""Kill a run at every append and at random times: it goes on, and nothing is lost or done twice."""

from __future__ import annotations

import pytest

from tests.run.matrix import (
    APPENDS,
    FOLD,
    Ordeal,
    Point,
    Rig,
    call,
    fold_of,
    points,
    survive,
    survive_random,
)

ALWAYS = {
    Point("run", "before", 3),
    Point("run", "after", 8),
    Point("run", "before", 13),
    Point("run", "before", 17),
    Point("answer", "before", 1),
    Point("answer", "after", 1),
    Point("resume", "before", 3),
    Point("resume", "after", 5),
}
"""What was done and is not on record, and what is on record and was not cleared away: for
`make test`, which has no time for all of them."""
EVERY = [
    pytest.param(point, marks=() if point in ALWAYS else pytest.mark.thorough, id=str(point))
    for point in points()
]


@pytest.fixture(name="rig", scope="session")
def _rig(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("sqlite"))


@pytest.fixture(scope="session")
def on_postgres(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Rig:
    return Rig(tmp_path_factory.mktemp("postgres"), postgres)


@pytest.mark.thorough
def test_a_run_that_nobody_disturbs_has_every_append_and_comes_to_the_fold_of_all(
    rig: Rig,
) -> None:
    with rig.approved() as bench:
        ends = [
            call(bench, command, PLANBOUND_FAILPOINT=f"before:{most + 1}").code
            for command, most in APPENDS.items()
        ]
        assert ends == [4, 0, 0]
        assert fold_of(bench.log(), bench.status()) == FOLD
        Ordeal(rig, bench).is_sound()


@pytest.mark.requirement("run.survives-kills", "cell.dies-with-harness")
@pytest.mark.requirement("invariant.no-event-no-state")
@pytest.mark.parametrize("point", EVERY)
def test_a_run_survives_a_kill_at_any_append(rig: Rig, point: Point) -> None:
    survive(rig, point)


@pytest.mark.requirement("run.survives-kills")
@pytest.mark.parametrize("point", points(), ids=str)
def test_a_run_on_postgresql_survives_a_kill(on_postgres: Rig, point: Point) -> None:
    survive(on_postgres, point)


# With these a copy was left half-made, or half-removed, for ever.
@pytest.mark.thorough
@pytest.mark.parametrize("seed", [1, 9])
def test_a_run_survives_kills_anywhere(rig: Rig, seed: int) -> None:
    survive_random(rig, seed, kills=2)


def test_a_failpoint_that_cannot_be_read_is_refused(rig: Rig) -> None:
    with rig.approved() as bench:
        for text in (
            "sometimes",
            "before:",
            "after:NOTHING:1",
            "before:CONTRACT_EVALUATED",
            "change:x",
        ):
            refused = bench.goes("run", "PLAN", code=2, PLANBOUND_FAILPOINT=text)
            assert "PLANBOUND_FAILPOINT" in refused.err
        assert not bench.log().of("EXECUTION_STARTED")
