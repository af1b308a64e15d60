"""Pages in a real browser: nothing runs, nothing is asked for, everybody can read them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser import LIGHT, VIEWS, Chromium
from tests.receipts.hostile_plan import play
from tests.run.bench import Step

_SHOWN = """() => [...document.querySelectorAll("details:not([open]) > :not(summary)")].filter(
    (each) => each.checkVisibility() && each.getBoundingClientRect().height > 0).length"""


@pytest.fixture(scope="module")
def pages(chromium: Chromium, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("browser")
    bench = play(folder)
    texts = {
        "report": bench.goes("report", "PLAN").out,
        "receipt": bench.goes("receipt", "--html", "PLAN").out,
    }
    bench.lay(Step("make two"), name="two")  # of the same title
    texts["all"] = bench.goes("report").out
    for name, text in texts.items():
        (folder / f"{name}.html").write_text(text)
    return {name: folder / f"{name}.html" for name in texts}


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
@pytest.mark.requirement("receipts.escaped")
@pytest.mark.parametrize("name", ["report", "receipt", "all"])
def test_a_page_runs_nothing_and_everybody_can_read_it(
    chromium: Chromium, pages: dict[str, Path], name: str
) -> None:
    address = pages[name].as_uri()
    for view in VIEWS:
        with chromium.window(view) as window:
            window.page.goto(address)
            window.picture(f"{name}-{view.name}")
            assert window.faults() == [], view.name
            window.unfold()
            assert window.faults() == [], view.name
            assert window.messages == [], view.name
            assert window.asked == [address], view.name
            assert window.overflow() <= 0, view.name


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_with_its_own_policy_a_page_says_nothing_and_prints_all(
    chromium: Chromium, pages: dict[str, Path]
) -> None:
    with chromium.window(LIGHT) as window:
        page = window.page
        page.goto(pages["report"].as_uri())
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.tagName") == "A"  # what the keyboard reaches
        closed = page.evaluate("document.querySelectorAll('details:not([open])').length")
        assert closed > 5
        assert page.evaluate(_SHOWN) == 0
        page.emulate_media(media="print")
        assert page.evaluate(_SHOWN) >= closed
        page.emulate_media(media="null")
        assert len(page.pdf(format="A4")) > 20_000
        assert window.messages == []
        assert window.asked == [pages["report"].as_uri()]
