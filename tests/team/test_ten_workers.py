"""Ten workers at once on one repository of 2,000 files: nothing is lost in the merge."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.run.bench import Step
from tests.team.repo import Team

FILES = 2000
SINGLE = ("alpha", "beta", "gamma")
MEETING = ("north", "south", "west")
EVERY = (*SINGLE, *MEETING, "first", "second", "keeper", "breaker")


def _land(folder: Path, files: int = FILES, names: tuple[str, ...] = EVERY) -> Team:
    """Return a large repository with approved plans."""
    team = Team(folder)
    for number in range(files):
        path = team.workspace / "data" / f"{number % 40:02}" / f"file{number}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"line of {number}\n" * 5)
    team.commit("much")
    for name in names:
        _lay(team, name)
    return team


def _lay(team: Team, name: str) -> None:
    if name in MEETING:
        # They may change the same folder, and change different files in it.
        proof = [f"grep -qx right area/{name}"]
        team.named(name, _step(name, touches="area/**"), touches='"area/**"', after=proof)
    elif name == "second":
        team.named(name, _step(name, needs="first"), depends_on="first")
    elif name == "keeper":
        team.named(name, _step(name), after=["! grep -rq forbidden src"])
    elif name == "breaker":
        more = "echo right > src/breaker; echo forbidden > src/broken"
        team.named(name, _step(name, touches="src/breaker src/broken", more=more))
    else:
        team.named(name, _step(name))


def _step(name: str, *, touches: str | None = None, needs: str = "", more: str = "") -> Step:
    place = f"area/{name}" if touches == "area/**" else f"src/{name}"
    work = more or f"mkdir -p {place.partition('/')[0]}; echo right > {place}"
    if needs:
        work = f"grep -qx right src/{needs} && {work}"
    return Step(
        f"make {name}",
        work=work,
        contract=f"grep -qx right {place}",
        touches=touches if touches is not None else place,
    )


@pytest.mark.requirement("fleet.ten-workers", "fleet.overlap")
def test_plans_that_meet_in_a_folder_are_merged_once_each(tmp_path: Path) -> None:
    plans = ("north", "south")
    team = _land(tmp_path, files=40, names=plans)
    before = team.tip()
    done = team.goes("fleet", "--jobs", "10", "--json").json
    assert {each["plan"]: each["state"] for each in done["plans"]} == dict.fromkeys(plans, "done")
    _ran_one_after_the_other(team, plans)
    merged = team.goes("integrate", "--json").json
    assert sorted(each["plan"] for each in merged["merged"]) == sorted(plans)
    for event in team.log().of("WORK_COMMITTED"):
        assert team.contains("main", event["commit"]), event.plan
    assert len(team.git("log", "--merges", "--format=%H", f"{before}..main").split()) == 2
    changed = team.git("diff", "--name-only", f"{before}..main").split()
    assert sorted(changed) == ["area/north", "area/south"]


@pytest.mark.thorough
@pytest.mark.requirement("fleet.ten-workers")
def test_every_proved_plan_is_merged_once_and_nothing_is_lost(tmp_path: Path) -> None:
    team = _land(tmp_path)
    before = team.tip()
    plans = EVERY
    done = team.goes("fleet", "--jobs", "10", "--json").json
    assert {each["plan"]: each["state"] for each in done["plans"]} == dict.fromkeys(plans, "done")
    commits = {event.plan: event["commit"] for event in team.log().of("WORK_COMMITTED")}
    assert sorted(commits) == sorted(plans)
    _ran_one_after_the_other(team, MEETING)
    _ran_one_after_the_other(team, ("first", "second"))

    merged = team.goes("integrate", "--json", code=1).json
    good = sorted(set(plans) - {"breaker"})
    assert sorted(each["plan"] for each in merged["merged"]) == good
    (stopped,) = merged["stopped"]
    assert (stopped["plan"], stopped["kind"]) == ("breaker", "red")
    assert "keeper" in stopped["reason"]
    assert team.goes("inbox", "--json").json["waiting"][0]["plan"] == "breaker"

    for name in good:
        assert team.contains("main", commits[name]), name
        merges = team.git("log", "--merges", "--format=%H", f"--grep=Planbound-Plan: {name}$")
        assert len(merges.split()) == 1, name
    assert not team.contains("main", commits["breaker"])
    assert team.tip("planbound/breaker") == commits["breaker"]
    changed = team.git("diff", "--name-only", f"{before}..main").split()
    assert sorted(changed) == sorted(
        [f"src/{name}" for name in (*SINGLE, "first", "second", "keeper")]
        + [f"area/{name}" for name in MEETING]
    )
    assert team.git("status", "--porcelain") == ""
    assert (team.workspace / "src/second").read_text() == "right\n"
    assert team.verifies()
    team.ends_all()

    nothing = team.goes("integrate", "alpha", code=3)
    assert "alpha" in nothing.err
    pruned = team.goes("prune", "--json").json
    assert sorted(each["plan"] for each in pruned["removed"]) == good
    assert [each["plan"] for each in pruned["kept"]] == ["breaker"]
    for name in good:
        assert team.contains("main", commits[name]), name
    assert team.worktrees() == [str(team.workspace), str(team.worktree("breaker"))]


def _ran_one_after_the_other(team: Team, names: tuple[str, ...]) -> None:
    spans = []
    for name in names:
        events = team.log(name)
        begun = events.of("EXECUTION_STARTED")[0].seq
        spans.append((begun, events.of("EXECUTION_COMPLETE")[-1].seq))
    spans.sort()
    for (_, end), (begun, _) in pairwise(spans):
        assert end < begun, (names, spans)
