"""Each page in a real browser: light, dark, in forced colours, on a phone, without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import LIGHT, PHONE, PLAIN, VIEWS, Chromium, Window
from tests.page.billing import play
from tests.page.browser import RunningServer, serving
from tests.page.golden import golden, steady
from tests.page.visitor import visiting

PAGES = {
    "plans": "/",
    "plan": "/plan/rounding",
    "changed": "/plan/currency",
    "sheet": "/plan/rounding/sheet",
    "gate": "/plan/currency/gate",
    "run": "/plan/rounding/run",
    "failed": "/plan/tax/run",
    "proved": "/plan/numbers/run",
    "evidence": "/plan/rounding/step/3/attempt/2",
    "journal": "/journal",
    "event": "/journal/12",
    "costs": "/costs",
    "nowhere": "/plan/nowhere",
}


@pytest.fixture(scope="module")
def billing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    bench = play(tmp_path_factory.mktemp("views"))
    with serving(bench, "--decide-anyway") as running:
        running.enter()
        yield running


def _complaints(window: Window, path: str) -> list[str]:
    """Return what the console said, but for the answer that nothing is there."""
    missing = "404 (Not Found)" if path.endswith("/nowhere") else "nothing"
    return [each for each in window.messages if missing not in each]


@pytest.mark.thorough
@pytest.mark.requirement("page.readable")
@pytest.mark.parametrize("name", PAGES)
def test_everybody_can_read_a_page_and_its_policy_stops_nothing(
    chromium: Chromium, billing: RunningServer, name: str
) -> None:
    path = PAGES[name]
    for view in VIEWS:
        with visiting(chromium, billing, view, path) as window:
            window.picture(f"{name}-{view.name}")
            assert window.overflow() <= 0, view.name
            window.unfold()
            assert window.overflow() <= 0, f"{view.name}, all unfolded"
            assert window.faults() == [], f"{view.name}, all unfolded"
            assert _complaints(window, path) == [], view.name
            assert [each for each in window.asked if not each.startswith(billing.address)] == []


@pytest.mark.thorough
@pytest.mark.requirement("page.readable")
@pytest.mark.parametrize("name", PAGES)
def test_a_page_says_the_same_without_scripts(
    chromium: Chromium, billing: RunningServer, name: str
) -> None:
    said = []
    for view in (LIGHT, PLAIN, PHONE):
        with visiting(chromium, billing, view, PAGES[name]) as window:
            said.append(steady(window.page.locator("main").aria_snapshot()))
    assert said[0] == said[1], "without scripts"
    assert said[0] == said[2], "on a phone"
    assert said[0] == golden(name, said[0])
