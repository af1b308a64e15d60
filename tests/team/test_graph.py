"""Where plans stand in the drawing of what waits for what."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.team.graph import PlanGraph, lay_out_graph
from tests.examples import examples

pytestmark = pytest.mark.requirement("page.team")


def spots(graph: PlanGraph) -> dict[str, tuple[int, int]]:
    return {plan.slug: plan.spot for plan in graph.plans}


def lines(graph: PlanGraph) -> set[tuple[str, str]]:
    return {(edge.before, edge.after) for edge in graph.edges}


def test_a_plan_stands_right_of_what_it_waits_for() -> None:
    graph = lay_out_graph({"c": ["b"], "b": ["a"], "d": ["a"]})
    assert {slug: column for slug, (column, _) in spots(graph).items()} == {
        "a": 0, "b": 1, "c": 2, "d": 1,
    }  # fmt: skip
    assert (graph.columns, graph.rows) == (3, 2)


def test_a_line_that_a_longer_way_replaces_is_left_out() -> None:
    graph = lay_out_graph({"c": ["b", "a"], "b": ["a"]})
    assert lines(graph) == {("a", "b"), ("b", "c")}


def test_a_line_over_a_column_goes_through_a_free_spot() -> None:
    graph = lay_out_graph({"d": ["c", "x"], "c": ["b"], "b": ["a"], "x": []})
    (long,) = [edge for edge in graph.edges if edge.before == "x"]
    assert len(long.way) == 4
    assert not set(long.way[1:-1]) & set(spots(graph).values())


def test_plans_that_wait_for_each_other_are_named_and_stand_somewhere() -> None:
    graph = lay_out_graph({"a": ["b"], "b": ["a"], "c": ["a"], "d": ["d"]})
    assert graph.knotted == {"a", "b", "d"}
    assert lines(graph) == {("a", "c")}
    assert set(spots(graph)) == {"a", "b", "c", "d"}


def test_nothing_is_drawn_of_nothing() -> None:
    assert lay_out_graph({}) == PlanGraph((), (), 0, 0, frozenset())


_NAMES = st.sampled_from("abcdefghij")


@examples(200)
@given(st.dictionaries(_NAMES, st.lists(_NAMES, max_size=4), max_size=10))
def test_no_two_plans_meet_and_every_line_goes_right(waits: dict[str, list[str]]) -> None:
    graph = lay_out_graph(waits)
    places = spots(graph)
    assert set(places) == {*waits, *(other for others in waits.values() for other in others)}
    bends = [spot for edge in graph.edges for spot in edge.way[1:-1]]
    taken = [*places.values(), *bends]
    assert len(taken) == len(set(taken))
    for edge in graph.edges:
        assert edge.way[0] == places[edge.before]
        assert edge.way[-1] == places[edge.after]
        assert all(other[0] == one[0] + 1 for one, other in pairwise(edge.way))
        assert edge.before in waits[edge.after]
