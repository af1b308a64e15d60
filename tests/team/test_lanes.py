"""The board: one lane for each plan, and the same reasons as in every other view."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.team.lanes import Lane, PlanLanes, find_lanes
from planbound.workspace.context import Context
from planbound.workspace.overview import overview
from tests.page.team_scene import lay_team
from tests.run.bench import Step, until
from tests.team.repo import Team

pytestmark = pytest.mark.requirement("page.team")


def lanes_of(team: Team) -> PlanLanes:
    context = Context(workspace=str(team.workspace), state=str(team.folder / "state"))
    try:
        seen = overview(context.tree, context.files, context.existing_journal)
        held = context.leases().held() if context.existing_journal() is not None else ()
        return find_lanes(seen, held, context.now())
    finally:
        context.close()


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Team:
    return lay_team(Path(tmp_path_factory.mktemp("lanes")))


def test_every_plan_is_in_one_lane(scene: Team) -> None:
    found = {plan.slug: plan.lane for plan in lanes_of(scene).plans}
    assert found == {
        "money": Lane.MERGED,
        "round": Lane.DONE,
        "rates": Lane.WAITING,
        "export": Lane.READY,
        "report": Lane.HELD,
        "site": Lane.HELD,
    }


def test_the_reasons_are_those_of_ready_and_standup(scene: Team) -> None:
    plans = {plan.slug: plan for plan in lanes_of(scene).plans}
    ready = scene.goes("ready", "--json").json
    told = {each["slug"]: each["reason"] for each in ready["held_back"]}
    assert plans["report"].about == told["report"]
    standup = scene.goes("standup", "--json").json
    assert [each["slug"] for each in standup["waiting"]] == ["rates"]
    assert [each["slug"] for each in standup["mergeable"]] == ["round"]
    assert plans["site"].about == "not approved yet: `planbound approve site`"


def test_what_is_done_says_how_much_of_it_is_proved(scene: Team) -> None:
    plans = {plan.slug: plan for plan in lanes_of(scene).plans}
    assert (plans["round"].tally, plans["round"].settled) == ("1/1 proved", 1)
    assert plans["round"].branch == "planbound/round"
    assert [question.plan for question in plans["rates"].questions] == ["rates"]


def test_who_runs_a_plan_and_where_is_told(team: Team) -> None:
    begun = team.folder / "begun"
    work = f"touch {begun}; read -r _ < {team.folder}/gate; echo right > src/slow"
    team.named("slow", Step("make slow", work=work, touches="src/slow"))
    team.goes("spawn", "slow")
    with team.start("run", "slow"):
        until(lambda: any(plan.lane is Lane.RUNNING for plan in lanes_of(team).plans))
        until(lambda: bool(lanes_of(team).plans[0].at_work))
        (plan,) = lanes_of(team).plans
        assert plan.holder is not None
        assert plan.holder.startswith("process ")
        assert plan.worktree == str(team.worktree("slow"))
        assert plan.at_work == ("make slow",)
    until(lambda: lanes_of(team).plans[0].lane is Lane.HELD)
    assert lanes_of(team).plans[0].about == (
        "its run stopped before its end: `planbound resume slow`"
    )


def test_a_plan_that_is_held_back_says_first_what_it_lacks_itself(team: Team) -> None:
    team.named("ready", approve=True)
    team.named("draft", Step("make draft", touches="src/draft"), approve=False, touches="")
    (plan,) = (each for each in lanes_of(team).plans if each.slug == "draft")
    assert plan.lane is Lane.HELD
    assert plan.about.startswith("not approved yet: `planbound approve draft`; its frontmatter")


def test_without_a_journal_nothing_is_guessed(team: Team) -> None:
    team.named("draft", approve=False)
    found = lanes_of(team)
    assert [plan.lane for plan in found.plans] == [Lane.HELD]
    assert any("there is no journal" in each for each in found.warnings)
