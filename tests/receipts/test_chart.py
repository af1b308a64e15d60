"""The drawing of what was used: sums to scale, the limit where it is, and the unknown as such."""

from __future__ import annotations

import re

from planbound.receipts.chart import Used, chart
from tests.receipts.pages import Page


def drawn(used: list[Used], limit: float | None) -> str:
    made = str(chart("c", "a <b> in words", used, limit))
    page = Page(made)
    assert page.wrong == []
    assert page.text == "a <b> in words"
    return made


def heights(made: str) -> list[float]:
    return [float(each) for each in re.findall(r"V([\d.]+)", made)]


def test_a_sum_grows_step_by_step_and_the_limit_is_drawn_to_scale() -> None:
    made = drawn([Used(0, 10, 25.0), Used(10, 20, 25.0)], 100.0)
    first, second = heights(made)
    (limit,) = re.findall(r'y1="([\d.]+)"', made)
    ground = 154.0
    assert abs((ground - second) - 2 * (ground - first)) < 1
    assert abs((ground - float(limit)) - 2 * (ground - second)) < 1


def test_a_limit_far_above_is_not_drawn_where_it_is_not() -> None:
    assert "chart-limit" not in drawn([Used(0, 10, 1.0)], 21.0)
    assert "chart-limit" in drawn([Used(0, 10, 1.0)], 19.0)
    assert "chart-limit" in drawn([Used(0, 10, 0.0)], 21.0)


def test_what_nobody_knows_is_hatched_and_adds_nothing() -> None:
    made = drawn([Used(0, 10, 5.0), Used(10, 20, None), Used(20, 30, 5.0)], None)
    assert made.count("chart-unknown") == 1
    assert "url(#c-hatch)" in made
    assert len(heights(made)) == 2
    assert "chart-line" not in drawn([Used(0, 1, None)], 10.0)


def test_attempts_that_took_no_time_or_came_at_once_are_drawn() -> None:
    for used in ([Used(5, 5, 1.0)], [Used(5, 5, None)], [Used(5, 5, 1.0), Used(5, 5, None)], []):
        assert "NaN" not in drawn(used, 1.0)
