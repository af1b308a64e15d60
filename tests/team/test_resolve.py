"""`planbound integrate --resolve`: a conflict goes to an agent, through the gate."""

from __future__ import annotations

import pytest

from tests.run.bench import Step
from tests.team.repo import Team

BOTH = "one\nleft\nright\nthree\n"


def _conflict(team: Team, work: str) -> None:
    """Let two proved plans change the same line; the agent of the second does this then."""
    team.write("src/list", "one\ntwo\nthree\n")
    team.commit("a list")
    for name in ("left", "right"):
        steps = [
            Step(f"put {name}", f"sed -i s/two/{name}/ src/list", f"grep -qx {name} src/list",
                 touches="src/list"),
        ]  # fmt: skip
        if name == "right":
            steps.append(Step("Resolve the conflict", work, "true", touches="src/list"))
            team.agent("coder-right", *steps)
        team.named(name, steps[0], after=[f"grep -qx {name} src/list"])
        if name == "right":
            team.agent("coder-right", *steps)
        team.goes("spawn", name)
        team.goes("run", name)


@pytest.mark.requirement("integrate.resolve")
def test_a_conflict_becomes_a_plan_and_is_merged_when_that_is_proved(team: Team) -> None:
    _conflict(team, f"printf '{BOTH}' > src/list")
    left, right = (team.tip(f"planbound/{name}") for name in ("left", "right"))
    done = team.goes("integrate", "--resolve", "--json", code=4).json
    assert [each["plan"] for each in done["merged"]] == ["left"]
    assert done["stopped"][0]["kind"] == "conflict"
    (resolution,) = done["resolutions"]
    assert (resolution["plan"], resolution["of"]) == ("resolve-right", "right")
    marked = (team.worktree("resolve-right") / "src/list").read_text()
    assert "<<<<<<<" in marked
    waiting = {each["plan"]: each["kind"] for each in team.goes("inbox", "--json").json["waiting"]}
    assert waiting == {"right": "integration", "resolve-right": "approval"}

    assert "is not approved" in team.goes("run", "resolve-right", code=2).err
    again = team.goes("integrate", "--resolve", code=2)
    assert "waits for `resolve-right`" in again.out
    team.approve("resolve-right")
    team.goes("run", "resolve-right")
    merge = team.tip("planbound/resolve-right")
    assert team.git("rev-list", "--parents", "-1", merge).split()[2] == right

    merged = team.goes("integrate", "--json").json["merged"]
    assert [each["plan"] for each in merged] == ["resolve-right", "right"]
    assert (team.workspace / "src/list").read_text() == BOTH
    assert team.contains("main", left)
    assert team.contains("main", right)
    assert team.log("right").one("PLAN_INTEGRATED")["with"] == "resolve-right"
    assert team.goes("inbox", "--json", code=0).json["waiting"] == []
    team.goes("integrate", code=3)
    pruned = team.goes("prune", "--json").json
    assert len(pruned["removed"]) == 3


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("work", "why"),
    [
        ("true", "phantom completion"),
        ("sed -i '/<<<<\\|====\\|>>>>/d' src/list; sed -i /right/d src/list", "postcondition"),
        ("printf 'one\\nleft\\nright\\nthree\\n' > src/list; echo x > src/other", "out"),
    ],
)  # fmt: skip
def test_an_agent_that_resolves_it_wrongly_is_held_to_the_same_judges(
    team: Team, work: str, why: str
) -> None:
    _conflict(team, work)
    before = team.goes("integrate", "--resolve", "--json", code=4).json["after"]
    team.approve("resolve-right")
    done = team.run("run", "resolve-right", "--no-input")
    assert done.code == 4, done.out + done.err
    assert why in done.out + done.err
    team.goes("integrate", code=2)
    assert team.tip() == before
