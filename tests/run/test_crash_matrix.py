"""Kill a run at every append and at random times: it goes on, and nothing is lost or done twice."""

from __future__ import annotations

import pytest

from tests.run.matrix import (
    APPENDS,
    FOLD,
    GUIDANCE,
    Ordeal,
    Point,
    Rig,
    fold_of,
    points,
    survive,
    survive_random,
)

IN_A_CELL = [
    *(Point("run", "before", append) for append in (3, 8, 13, 17)),
    Point("run", "after", 14),
    Point("resume", "before", 3),
    Point("resume", "after", 5),
]
"""What was done and is not on record, and what is on record and was not cleared away."""
ON_POSTGRES = [
    Point("run", "before", 3),
    Point("run", "after", 11),
    Point("answer", "after", 1),
    Point("resume", "before", 4),
    Point("resume", "after", 5),
]


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("bare"), "bare")


@pytest.fixture(scope="session")
def cell(tmp_path_factory: pytest.TempPathFactory) -> Rig:
    return Rig(tmp_path_factory.mktemp("cell"), "cell")


@pytest.fixture(scope="session")
def on_postgres(tmp_path_factory: pytest.TempPathFactory, postgres: str) -> Rig:
    return Rig(tmp_path_factory.mktemp("postgres"), "bare", postgres)


@pytest.mark.parametrize("kind", ["bare", "cell"])
def test_a_run_that_nobody_disturbs_comes_to_the_fold_that_all_others_must(
    request: pytest.FixtureRequest, kind: str
) -> None:
    rig: Rig = request.getfixturevalue(kind)
    with rig.approved() as bench:
        ordeal = Ordeal(rig, bench)
        ordeal.to_the_end()
        assert fold_of(bench.log(), bench.status()) == FOLD
        ordeal.is_sound()


@pytest.mark.parametrize("kind", ["bare", "cell"])
def test_the_matrix_has_every_append(request: pytest.FixtureRequest, kind: str) -> None:
    rig: Rig = request.getfixturevalue(kind)
    with rig.approved() as bench:

        def beyond(command: str) -> str:
            return f"before:{APPENDS[kind, command] + 1}"

        run = ("run", "PLAN", "--jobs", "2")
        bench.goes(*run, code=4, PLANBOUND_FAILPOINT=beyond("run"))
        answer = ("answer", bench.question()["id"], "retry", "--as", "tester", *GUIDANCE)
        bench.goes(*answer, PLANBOUND_FAILPOINT=beyond("answer"))
        bench.goes("resume", *run[1:], PLANBOUND_FAILPOINT=beyond("resume"))


@pytest.mark.requirement("run.survives-kills")
@pytest.mark.requirement("invariant.no-event-no-state")
# Before one append and after the next; `make crashes` has all of them.
@pytest.mark.parametrize(
    "point", [point for i, point in enumerate(points("bare")) if i % 4 in {0, 3}], ids=str
)
def test_a_run_survives_a_kill_at_any_append(bare: Rig, point: Point) -> None:
    survive(bare, point)


@pytest.mark.requirement("cell.dies-with-harness")
@pytest.mark.parametrize("point", IN_A_CELL, ids=str)
def test_a_run_with_cells_and_copies_survives_a_kill(cell: Rig, point: Point) -> None:
    survive(cell, point)


@pytest.mark.requirement("run.survives-kills")
@pytest.mark.parametrize("point", ON_POSTGRES, ids=str)
def test_a_run_on_postgresql_survives_a_kill(on_postgres: Rig, point: Point) -> None:
    survive(on_postgres, point)


# With these a copy was left half-made, or half-removed, for ever.
@pytest.mark.parametrize("seed", [1, 9])
def test_a_run_survives_kills_anywhere(cell: Rig, seed: int) -> None:
    survive_random(cell, seed, kills=2)


def test_a_failpoint_that_cannot_be_read_is_refused(bare: Rig) -> None:
    with bare.approved() as bench:
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
