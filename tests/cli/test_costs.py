"""`planbound costs`, and what the sheet of `approve` tells of earlier runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.run.bench import Bench, Step


def said(tokens: int, dollars: float, file: str) -> str:
    usage = json.dumps({"tokens": tokens, "dollars": dollars})
    return f"echo right > {file}\necho 'planbound-usage: {usage}'"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def lay_two(bench: Bench) -> None:
    """Approve a plan whose first step says what it used, and whose second does not."""
    bench.prepare(
        Step("make one", work=said(1200, 0.02, "src/one")),
        Step("make two"),
        fields="**Budget:** max 9k tokens, $1.50\n",
    )


@pytest.mark.thorough
@pytest.mark.requirement("command.costs")
def test_costs_says_what_was_spent_and_what_nobody_knows(bench: Bench) -> None:
    assert "nothing was spent yet" in bench.goes("costs").out
    lay_two(bench)
    bench.goes("run")
    out = bench.goes("costs").out.splitlines()
    assert out[0].split() == ["plan", "attempts", "tokens", "dollars", "how", "sure"]
    row = "PLAN          2  1,200 + ?  $0.02 + ?  1 claimed, 1 unknown"
    assert out[1] == row
    assert out[2] == row.replace("PLAN ", "total")
    assert out[3] == (
        "budget of the last run of PLAN: 1,200 + ? of 9,000 tokens, $0.02 + ? of $1.50"
    )
    steps = bench.goes("costs", "--by", "step").out
    assert "PLAN/1 make one         1      1,200      $0.02  1 claimed" in steps
    assert "PLAN/2 make two         1          ?          ?  1 unknown" in steps


@pytest.mark.thorough
@pytest.mark.requirement("command.costs")
def test_costs_for_programs_has_null_for_what_nobody_knows(bench: Bench) -> None:
    lay_two(bench)
    bench.goes("run")
    found = bench.goes("costs", "--by", "step", "--json").json
    assert [(each["tokens"], each["dollars"]) for each in found["groups"]] == [
        (1200, "0.02"),
        (None, None),
    ]
    assert (found["total"]["unknown"], found["total"]["claimed"]) == (1, 1)
    (budget,) = found["budgets"]
    assert (budget["tokens"], budget["dollars"], budget["spent"]["tokens"]) == (9000, "1.50", 1200)


@pytest.mark.requirement("command.costs")
def test_costs_are_known_of_plans_that_were_put_away(bench: Bench) -> None:
    lay_two(bench)
    bench.goes("run")
    bench.goes("archive", "PLAN")
    assert "1,200 + ?" in bench.goes("costs").out
    assert "1,200 + ?" in bench.goes("costs", "PLAN").out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("costs", "nobody"), "there is no plan `nobody`"),
        (("costs", "no\x1b[31mbody"), "not a plan's name"),
        (("costs", "--by", "moon"), "moon"),
    ],
)
def test_costs_refuses_what_it_does_not_know(
    bench: Bench, words: tuple[str, ...], said: str
) -> None:
    bench.lay(Step("make one"))
    done = bench.goes(*words, code=2)
    assert said in done.err
    assert "\x1b" not in done.err


@pytest.mark.thorough
@pytest.mark.requirement("gate.cost-before")
def test_the_sheet_says_what_steps_cost_before_and_binds_nothing_of_it(bench: Bench) -> None:
    lay_two(bench)
    bench.goes("run")
    bench.lay(Step("make three"), Step("make four"))
    before = bench.goes("approve", "--statement", code=4).out
    sheet = bench.goes("approve", code=4).out
    assert (
        "a step of coder (coder) cost so far: 1 run: 1.2k tokens, $0.02 a step;"
        " 1 of 2 steps did not say\n" in sheet
    )
    (known,) = bench.goes("approve", "--json", code=4).json["cost_before"]
    assert (known["runs"], known["tokens"], known["dollars"]) == (1, [1200, 1200], ["0.02", "0.02"])
    assert bench.goes("approve", "--statement", code=4).out == before
    assert "1.2k" not in before


@pytest.mark.requirement("gate.cost-before")
def test_the_sheet_says_nothing_where_nothing_is_known(bench: Bench) -> None:
    bench.lay(Step("make one"))
    assert "cost so far" not in bench.goes("approve", code=4).out
    assert bench.goes("approve", "--json", code=4).json["cost_before"] == []
