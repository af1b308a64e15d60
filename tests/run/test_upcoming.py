"""A contract that is looked at beside the one of the step before says what it says by itself."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from planbound.disk.decoders import msgpack_decoder
from planbound.judging.measurement import Measured
from tests.run.bench import NOTHING, Bench, Event, Step

pytestmark = pytest.mark.requirement("judging.beside")

A, B, E = Step("Make a"), Step("Make b"), Step("Make e")


def looks(bench: Bench) -> list[Event]:
    """Return what contracts said before the work, in the run."""
    return [event for event in bench.log().of("BASELINE_OBSERVED") if "attempt" in event.details]


def began_before_its_step(bench: Bench, look: Event) -> bool:
    """Say whether a contract was looked at before the beginning of its step was told."""
    files = Path(bench.folder, "state").rglob("measured/*")
    (data,) = (
        data
        for data in map(Path.read_bytes, files)
        if hashlib.sha256(data).hexdigest() == look["measured"]
    )
    begun = bench.log().one("TASK_STARTED", number=look["number"])
    return msgpack_decoder(Measured).decode(data).after < begun.seq


@pytest.mark.thorough
@pytest.mark.parametrize("jobs", [1, 2])
def test_what_is_proved_and_what_holds_is_the_same_beside_and_one_after_the_other(
    bench: Bench, jobs: int
) -> None:
    # What the third one makes is what the fourth one is asked for: that is green before its work.
    more = Step("Make c", "echo right > src/c; echo right > src/d", touches="src/c src/d")
    bench.lay(A, B, more, Step("Make d", NOTHING), E, settings=f"[judging]\njobs = {jobs}\n")
    bench.approve()
    bench.goes("run", "PLAN")
    done = bench.log().of("TASK_COMPLETED")
    assert [event["result"] for event in done] == ["proved"] * 5
    found = looks(bench)
    said = [(look["number"], look["verdict"]) for look in found]
    assert said == [("2", "fail"), ("3", "fail"), ("4", "pass"), ("5", "fail")]
    trees = [event["tree"] for event in done]
    assert [look["tree"] for look in found] == trees[:4]
    beside = [began_before_its_step(bench, look) for look in found]
    assert beside == [False, jobs > 1, jobs > 1, jobs > 1]


def test_what_a_failed_attempt_left_is_no_baseline_of_the_next_step(bench: Bench) -> None:
    first = "echo right > src/d; echo wrong > src/c"
    second = "rm src/d; echo right > src/c"
    swapped = Step("Make c", (first, second), touches="src/c src/d")
    bench.lay(A, B, swapped, Step("Make d"), settings="[judging]\njobs = 2\n")
    bench.approve()
    bench.goes("run", "PLAN")
    look = looks(bench)[-1]
    assert (look["number"], look["verdict"]) == ("4", "fail")
    assert began_before_its_step(bench, look)
    done = bench.log().of("TASK_COMPLETED")
    assert done[3]["result"] == "proved"
    assert look["tree"] == done[2]["tree"]
