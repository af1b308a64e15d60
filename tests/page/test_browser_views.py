"""Each page in a real browser: light, dark, in forced colours, on a phone, without scripts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.browser import PLAIN, VIEWS, Chromium, Window
from tests.needs import need
from tests.page.billing import PAGES, served
from tests.page.browser import RunningServer
from tests.page.golden import changes, steady
from tests.page.visitor import visiting


@pytest.fixture(scope="module")
def billing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    need("bwrap", "the golden files tell of the strongest cell")
    with served(tmp_path_factory.mktemp("views")) as running:
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
    path, said = PAGES[name], {}
    for view in (*VIEWS, PLAIN):
        with visiting(chromium, billing, view, path) as window:
            window.picture(f"{name}-{view.name}")
            said[view.name] = steady(window.page.locator("main").aria_snapshot())
            assert window.overflow() <= 0, view.name
            window.unfold()
            assert window.overflow() <= 0, f"{view.name}, all unfolded"
            # Without scripts axe cannot wait for anything.
            assert not view.scripts or window.faults() == [], f"{view.name}, all unfolded"
            assert _complaints(window, path) == [], view.name
            assert [each for each in window.asked if not each.startswith(billing.address)] == []
    assert [view for view, words in said.items() if words != said["light"]] == []
    assert changes(name, said["light"]) == []
