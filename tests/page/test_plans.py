"""`/`: every plan."""

from __future__ import annotations

from tests.page.browser import RunningServer


def test_the_page_shows_every_plan_with_its_state(page: RunningServer) -> None:
    answer = page.get("/")
    assert answer.status == 200
    assert 'href="/plan/hello"' in answer.text
    assert "draft" in answer.text


def test_a_place_that_is_not_there_says_so(page: RunningServer) -> None:
    assert page.get("/nowhere").status == 404
