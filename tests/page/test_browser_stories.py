"""What people do on the page, in a real browser: one server and one project for all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from planbound.page.gate import _poll
from tests.browser import LIGHT, PLAIN, Chromium
from tests.page.browser import RunningServer, serving
from tests.page.visitor import visiting
from tests.run.bench import Bench, Step, until

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

pytestmark = pytest.mark.thorough

NAMES = ("moved", "tabs", "keys", "plain", "asks", "late")
HELD = (
    "echo 'I read the callers'; echo begun > src/begun-late;"
    " until [ -e src/begun-more ]; do sleep 0.05; done; echo 'I write <b>c</b>';"
    " until [ -e src/go ]; do sleep 0.05; done; echo right > src/c"
)
"""The work of an agent that waits until the test lets it go on."""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    bench = Bench(tmp_path_factory.mktemp("stories"))
    for name in NAMES:
        work: str | tuple[str, ...] = f"echo right > src/{name}"
        steps = [Step(f"Make {name}", work=work, target=f"coder-{name}")]
        if name == "asks":
            asked = f"told 'the blue one' && echo right > src/{name} || echo wrong > src/{name}"
            fields = "**on_fail:** escalate"
            steps = [Step(f"Make {name}", work=asked, target="coder-asks", fields=fields)]
        if name == "late":
            steps += [
                Step("Make b", target="coder-late", touches="src/b"),
                Step("Make c", target="coder-late", work=HELD, touches="src/c src/go src/begun-*"),
            ]
        bench.lay(*steps, name=name)
    return bench


@pytest.fixture(scope="module")
def page(bench: Bench) -> Iterator[RunningServer]:
    with serving(bench, "--decide-anyway") as running:
        running.enter()
        yield running


def looked_at(page: Page) -> None:
    """Let every contract be run, and wait for the sheet."""
    page.get_by_role("button", name="Run every contract once").click()
    page.get_by_role("button", name="Approve").wait_for()


def chip(page: Page, word: str) -> Locator:
    """Return the first word that says where something is, if it is this one."""
    return page.locator("main .word", has_text=re.compile(f"^{word}$")).first


def approved(bench: Bench, name: str) -> list[dict[str, Any]]:
    lines = bench.goes("log", name, "--json").out.splitlines()
    return [each for each in map(json.loads, lines) if each["event"] == "GATE_APPROVED"]


def change(bench: Bench, name: str) -> None:
    """Change what a plan means, as an editor does."""
    file = Path(bench.workspace, ".harness", f"PLAN-{name}.md")
    file.write_text(file.read_text().replace(f"grep -qx right src/{name}", f"test -e src/{name}"))


# -- the gate ------------------------------------------------------------------------------------


@pytest.mark.requirement("page.decides")
def test_a_plan_that_was_changed_meanwhile_is_not_approved(
    chromium: Chromium, page: RunningServer, bench: Bench
) -> None:
    with visiting(chromium, page, LIGHT, "/plan/moved/gate") as window:
        looked_at(window.page)
        change(bench, "moved")
        with window.page.expect_response("**/approve") as answer:
            window.page.get_by_role("button", name="Approve").click()
        assert answer.value.status == 409
        difference = window.page.locator("main").inner_text()
        assert "-grep -qx right src/moved" in difference
        assert "+test -e src/moved" in difference
        assert approved(bench, "moved") == []
        assert [each for each in window.messages if "409" not in each] == []
        window.page.get_by_role("link", name="as it is now").click()
        window.page.get_by_role("link", name="Gate").click()
        looked_at(window.page)
        window.page.get_by_label("Who decides").first.fill("mara")
        window.page.get_by_role("button", name="Approve").click()
        chip(window.page, "approved").wait_for()
    (given,) = approved(bench, "moved")
    assert (given["details"]["by"], given["details"]["method"]) == ("mara", "page")


@pytest.mark.requirement("page.decides")
def test_of_two_tabs_that_decide_at_once_one_wins(
    chromium: Chromium, page: RunningServer, bench: Bench
) -> None:
    with visiting(chromium, page, LIGHT, "/plan/tabs/gate") as window:
        looked_at(window.page)
        other = window.context.new_page()
        other.goto(f"{page.address}/plan/tabs/gate")
        other.get_by_text("Reject it").click()
        other.get_by_label("Why").fill("not like this")
        with (
            other.expect_response("**/reject") as refused,
            window.page.expect_response("**/approve") as given,
        ):
            window.page.get_by_role("button", name="Approve").click(no_wait_after=True)
            other.get_by_role("button", name="Reject").click(no_wait_after=True)
        assert sorted((refused.value.status, given.value.status)) == [303, 409]
        loser = window.page if given.value.status == 409 else other
        loser.wait_for_load_state()
        assert "nothing was decided" in loser.locator("main").inner_text().lower()
    kinds = [each.kind for each in bench.log("tabs")]
    assert len([kind for kind in kinds if kind in {"GATE_APPROVED", "GATE_REJECTED"}]) == 1


@pytest.mark.requirement("page.readable")
@pytest.mark.requirement("page.decides")
def test_the_whole_gate_is_done_by_keyboard(
    chromium: Chromium, page: RunningServer, bench: Bench
) -> None:
    with visiting(chromium, page, LIGHT, "/") as window:
        press = window.page.keyboard.press
        focused = "document.activeElement.textContent"
        press("j")
        while "keys" not in window.page.evaluate(focused):
            press("j")
        press("Enter")
        window.page.wait_for_url("**/plan/keys")
        _tab_to(window.page, "Gate")
        press("Enter")
        window.page.wait_for_url("**/plan/keys/gate")
        _tab_to(window.page, "Run every contract once")
        press("Enter")
        approve = window.page.get_by_role("button", name="Approve")
        approve.wait_for()
        _tab_to(window.page, approve.inner_text())
        press("Enter")
        chip(window.page, "approved").wait_for()
        window.page.wait_for_load_state()  # keys are heard from then on
        press("g")
        press("i")
        window.page.wait_for_url("**/inbox")
        press("?")
        assert window.page.get_by_role("heading", name="Keys", exact=True).is_visible()
        press("Escape")
        assert not window.page.get_by_role("heading", name="Keys", exact=True).is_visible()
        assert window.messages == []
    assert len(approved(bench, "keys")) == 1


def _tab_to(page: Page, name: str) -> None:
    """Go on with Tab until something with this name has the focus."""
    for _ in range(60):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent").startswith(name):
            return
    raise AssertionError(f"Tab never reached {name}")


@pytest.mark.requirement("page.decides")
def test_the_gate_needs_no_scripts(chromium: Chromium, page: RunningServer, bench: Bench) -> None:
    with visiting(chromium, page, PLAIN, "/plan/plain/gate") as window:
        window.page.get_by_role("button", name="Run every contract once").click()
        approve = window.page.get_by_role("button", name="Approve")
        while not approve.is_visible():
            window.page.get_by_role("link", name="See how far it is").click()
        window.page.get_by_label("Who decides").first.fill("ann")
        approve.click()
        assert window.messages == []
    (given,) = approved(bench, "plain")
    assert given["details"]["by"] == "ann"


# -- questions -----------------------------------------------------------------------------------


@pytest.mark.requirement("page.inbox")
def test_a_question_is_answered_while_the_run_waits(
    chromium: Chromium, page: RunningServer, bench: Bench
) -> None:
    bench.approve("asks")
    bench.goes("run", "asks", "--no-input", code=4)
    with visiting(chromium, page, LIGHT, "/plan/asks/run") as window:
        window.page.get_by_role("link", name="a person is asked").click()
        question = window.page.get_by_role("article").filter(has_text="Make asks")
        question.get_by_label("Guidance for the next attempt").fill("Take the blue one.")
        question.get_by_label("Who decides").first.fill("mara")
        question.get_by_role("button", name="Try it again").click()
        question.wait_for(state="detached")
        window.page.goto(f"{page.address}/plan/asks/run")
        bench.goes("resume", "asks", "--no-input")
        chip(window.page, "proved").wait_for()  # without a reload
        assert window.messages == []
    given = bench.log("asks").one("RECOVERY_ESCALATION", by="mara")
    assert given["guidance"] == "Take the blue one."


# -- what follows the journal ----------------------------------------------------------------------


@pytest.mark.requirement("page.live")
def test_a_page_follows_the_journal_each_time_that_it_is_loaded(
    chromium: Chromium, page: RunningServer
) -> None:
    with visiting(chromium, page) as window:
        for _ in range(12):
            with window.page.expect_response("**/live?*"):
                window.page.goto(f"{page.address}/")
        assert window.messages == []


@pytest.mark.requirement("page.live")
def test_who_joins_late_sees_a_run_from_its_beginning_and_a_server_that_comes_back(
    chromium: Chromium, bench: Bench
) -> None:
    bench.approve("late")
    with serving(bench) as first:
        first.enter()
        with bench.start("run", "late", "--no-input") as run, visiting(chromium, first) as window:
            begun = Path(bench.workspace, "src/begun-late")
            until(begun.exists)
            with window.page.expect_response("**/live?*"):
                window.page.goto(f"{first.address}/plan/late/run")
            events = window.page.locator("#events > li")
            before = events.count()
            assert before == len(bench.log("late"))
            summary = window.page.locator("details.item summary").first
            summary.click()  # what somebody reads stays open while the page goes on
            assert not window.page.locator("#cut-off").is_visible()
            window.page.get_by_text("Its agent says: I read the callers").wait_for()
            Path(bench.workspace, "src/begun-more").write_text("more\n")
            window.page.get_by_text("Its agent says: I write <b>c</b>").wait_for()
            assert events.count() == before  # what it says is no event
            first.process.kill()
            first.process.wait()
            window.page.locator("#cut-off", has_text="may be old").wait_for()
            with serving(bench, "--port", str(first.port)) as second:
                Path(bench.workspace, "src/go").write_text("go\n")
                run.wait()
                last = bench.log("late").last.seq
                window.page.locator(f"#event-{last}").wait_for()  # it found the new server
                told = [each.get_attribute("id") for each in events.all()]
                assert told == [f"event-{each.seq}" for each in bench.log("late")]
                chip(window.page, "done").wait_for()
                assert not window.page.locator("#cut-off").is_visible()
                assert window.page.get_by_text("Its agent says").count() == 0
                assert window.page.locator("details.item").first.evaluate("(one) => one.open")
                assert summary.evaluate("(one) => one === document.activeElement")
                window.page.reload()
                assert events.count() == len(told)
                assert second.port == first.port
                # The browser and the stream say that the server was gone, and nothing else.
                lost = ("ERR_", "network error", "Failed to fetch")
                assert [each for each in window.messages if not any(map(each.count, lost))] == []


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.requirement("page.decides")
def test_the_check_while_somebody_types_goes_on_after_an_empty_text(
    chromium: Chromium, page: RunningServer, bench: Bench
) -> None:
    bench.lay(Step("Make typed", target="coder-typed"), name="typed")
    with visiting(chromium, page, LIGHT, "/plan/typed/edit") as window:
        area, found = (
            window.page.get_by_label("The text of the plan"),
            window.page.locator("#found"),
        )
        text = area.input_value()
        area.fill("")
        found.get_by_text("the text is empty").wait_for()
        area.fill(text.replace("**target:**", "**taget:**"))
        found.get_by_text("**taget:**").first.wait_for()
        assert window.page.locator("main main, form header").count() == 0
        assert window.messages == []


@pytest.mark.requirement("page.live")
def test_a_live_part_that_is_refused_stays_says_so_and_recovers(
    chromium: Chromium, page: RunningServer
) -> None:
    with visiting(chromium, page, LIGHT, "/inbox") as window:
        part, old = window.page.locator("#waiting-now"), window.page.locator("#cut-off")
        part.wait_for()
        before, known = part.inner_html(), window.context.cookies()
        changed = "document.getElementById('live').dispatchEvent(new CustomEvent('changed'))"
        window.context.clear_cookies()
        window.page.evaluate(changed)
        window.page.locator("#cut-off", has_text="cannot show this page anew").wait_for()
        assert part.inner_html() == before
        window.context.add_cookies([
            {"name": each["name"], "value": each["value"], "url": page.address} for each in known
        ])  # fmt: skip
        window.page.evaluate(changed)
        old.wait_for(state="hidden")
        assert window.page.locator("main main").count() == 0


@pytest.mark.requirement("page.decides")
def test_a_gate_that_asks_how_far_it_is_shows_why_it_is_refused(
    chromium: Chromium, page: RunningServer
) -> None:
    with visiting(chromium, page, LIGHT, "/inbox") as window:
        window.page.evaluate(
            "(asks) => { const main = document.getElementById('content');"
            " main.insertAdjacentHTML('beforeend', asks); htmx.process(main); }",
            str(_poll("/plan/nobody/gate")),
        )
        window.page.get_by_text("There is no plan `nobody`").wait_for()
        assert window.page.locator("main").count() == 1
