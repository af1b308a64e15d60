"""In which order finished plans are merged."""

from __future__ import annotations

from planbound.plan.model import PlanStatus
from planbound.team.merge import describe_cycle, merge_order
from planbound.workspace.readiness import FileStatus, PlanInfo


def done(slug: str, *depends_on: str, **known: object) -> PlanInfo:
    base = PlanInfo(slug, status=PlanStatus.DONE, started=True, depends_on=depends_on)
    return base._replace(**known)  # type: ignore[arg-type]  # fields by name


def slugs(*plans: PlanInfo, **sizes: int | None) -> list[str]:
    return [turn.slug for turn in merge_order(plans, sizes).turns]


def test_only_finished_plans_that_are_not_archived_are_merged() -> None:
    assert slugs(
        done("a"),
        done("b", archived=True),
        done("c", status=PlanStatus.DONE_WITH_SKIPS),
        done("d", status=FileStatus.CLAIMED),
        done("e", status=PlanStatus.IN_PROGRESS),
        PlanInfo("f"),
    ) == ["a", "c"]


def test_what_others_build_on_comes_first_then_the_small_then_the_name() -> None:
    order = merge_order(
        [done("a", "z"), done("b"), done("c"), done("d"), done("z")],
        {"a": 1, "b": 50, "c": 7, "z": 900},
    )
    assert [(turn.slug, turn.level) for turn in order.turns] == [
        ("c", 0),
        ("b", 0),
        ("z", 0),
        ("d", 0),
        ("a", 1),
    ]
    reasons = {turn.slug: turn.reason for turn in order.turns}
    assert reasons["c"] == "level 0, builds on none of these; 7 changed lines"
    assert reasons["d"] == "level 0, builds on none of these; size of its diff not known"
    assert reasons["a"] == "level 1, after `z`; 1 changed line"


def test_an_empty_diff_is_smaller_than_an_unknown_one() -> None:
    assert slugs(done("a"), done("b"), a=None, b=0) == ["b", "a"]


def test_skips_are_told() -> None:
    turn = merge_order([done("a", status=PlanStatus.DONE_WITH_SKIPS)], {}).turns[0]
    assert turn.reason.endswith("; done with skips")


def test_the_order_holds_through_plans_that_are_not_in_it() -> None:
    assert slugs(done("a", "mid"), done("mid", "z", archived=True), done("z")) == ["z", "a"]


def test_unknown_dependencies_do_not_stop_a_merge() -> None:
    assert slugs(done("a", "gone")) == ["a"]


def test_a_cycle_is_told_with_its_path() -> None:
    order = merge_order([done("a", "b"), done("b", "c"), done("c", "a"), done("d")], {})
    assert (order.turns, order.cycle) == ((), ("a", "b", "c", "a"))
    assert describe_cycle(order.cycle).endswith("a → b → c → a")
    assert merge_order([done("a", "a")], {}).cycle == ("a", "a")


def test_a_cycle_of_plans_that_nobody_merges_is_no_matter() -> None:
    drafts = [PlanInfo("x", depends_on=("y",)), PlanInfo("y", depends_on=("x",))]
    assert slugs(*drafts, done("a")) == ["a"]
    assert merge_order([*drafts, done("a", "x")], {}).cycle == ("x", "y", "x")


def test_a_long_chain_is_no_trouble() -> None:
    plans = [done(f"p{n:04}", f"p{n + 1:04}") for n in range(2000)]
    assert slugs(*plans) == [f"p{n:04}" for n in reversed(range(2000))]
