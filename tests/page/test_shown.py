"""What the pages show of plans that ran: the same that the journal tells, first what is no pass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from planbound.journal.record import Query
from planbound.journal.sqlite import SqliteJournal
from tests.page.browser import RunningServer, serving
from tests.page.scene import lay_scene
from tests.run.bench import Bench

pytestmark = pytest.mark.requirement("page.shows")


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return lay_scene(tmp_path_factory.mktemp("scene"))


@pytest.fixture(scope="module")
def shown(scene: Bench) -> Iterator[RunningServer]:
    with serving(scene) as running:
        running.enter()
        yield running


@pytest.fixture(scope="module")
def journal(scene: Bench) -> SqliteJournal:
    return SqliteJournal(str(scene.folder / "state" / "journal.sqlite"))


def opened(shown: RunningServer, target: str) -> str:
    answer = shown.get(target)
    assert answer.status == 200, answer.text
    return answer.text


def plain(page: str) -> str:
    """Return what a page says, without its elements."""
    return " ".join(re.sub(r"<[^>]*>", " ", page).split())


# -- all plans -------------------------------------------------------------------------------------


def test_every_plan_has_its_state_and_what_it_waits_for(shown: RunningServer) -> None:
    page = plain(opened(shown, "/"))
    assert "3 plans, 0 running, 1 waiting for a person" in page
    assert "again Do the work in-progress 1 of 3 proved a person: escalation" in page
    assert "fine Do the work done 1 of 1 proved" in page
    assert "hello Say hello in three languages draft" in page


def test_plans_are_filtered(shown: RunningServer) -> None:
    def plans(show: str) -> set[str]:
        return set(re.findall(r'href="/plan/(\w+)"', opened(shown, f"/?show={show}")))

    assert plans("open") == {"again", "hello"}
    assert plans("waiting") == {"again"}
    assert plans("live") == set()
    assert plans("nonsense") == {"again", "fine", "hello"}


def test_a_part_alone_is_given_to_our_script(shown: RunningServer) -> None:
    for target, place in (("/", "plans"), ("/plan/again", "plan-now"), ("/plan/again/run", "now")):
        part = shown.get(target, **{"HX-Request": "true"}).text
        assert part.startswith(f'<div id="{place}"'), target
        assert part in opened(shown, target)


# -- one plan --------------------------------------------------------------------------------------


def test_a_plan_is_shown_as_it_is_written_with_verdicts_and_places(shown: RunningServer) -> None:
    page = opened(shown, "/plan/again")
    written = page.partition('class="source"')[2].partition("</ol>")[0]
    lines = re.findall(r'<li id="line-\d+">(.*?)</li>', written, re.DOTALL)
    assert lines[0] == "---"
    (heading,) = [each for each in lines if "2. " in each and "Make b" in each]
    assert "waiting" in heading
    place = re.search(r'href="#([^"]+)"', heading)
    assert place is not None
    assert f'id="{place[1]}"' in page
    for attempt in (1, 2, 3, 4):
        assert f'href="/plan/again/step/2/attempt/{attempt}"' in page


def test_what_became_weaker_since_the_approval_comes_first(
    scene: Bench, shown: RunningServer
) -> None:
    file = scene.workspace / ".harness" / "PLAN-fine.md"
    before = file.read_text()
    file.write_text(before.replace("grep -qx right src/d", "true").replace("- src/d", "- src/**"))
    try:
        for target in ("/plan/fine", "/plan/fine/sheet"):
            page = plain(opened(shown, target))
            found = page.partition("Not as it was approved")[2]
            assert "weaker the contract of step 1 is another" in found
            assert "weaker step 1 may touch `src/**` now" in found
            assert found.index("is another") < found.index("line by line") < found.index("+true")
    finally:
        file.write_text(before)
    assert "Not as it was approved" not in opened(shown, "/plan/fine")


def test_the_sheet_has_what_an_approval_binds_and_runs_nothing(
    scene: Bench, shown: RunningServer, journal: SqliteJournal
) -> None:
    head = journal.head()
    page = plain(opened(shown, "/plan/again/sheet"))
    assert scene.digest("again") in page
    assert "cat src/b; grep -qx right src/b" in page
    assert "At the last look before the work: fail red" in page
    assert "green: it proves nothing yet" in page
    assert "It is judged by no file" in page
    assert journal.head() == head


# -- a run -----------------------------------------------------------------------------------------


def test_before_a_run_begins_the_limits_are_those_of_the_plan(shown: RunningServer) -> None:
    page = plain(opened(shown, "/plan/hello/run"))
    assert "Tokens: 0 of 20,000" in page
    assert "Dollars: $0.0000, no limit" in page
    assert "Time at work: 0.0 s of 10 min 0 s" in page


def test_the_words_of_a_line_stand_apart(shown: RunningServer) -> None:
    page = re.sub(r"<[^>]*>", "", opened(shown, "/plan/again/run"))
    assert "step 1 pass" in page
    assert "step 1pass" not in page


def test_the_first_step_that_is_no_pass_is_open(shown: RunningServer) -> None:
    page = opened(shown, "/plan/again/run")
    details = re.findall(r"<details([^>]*class=\"item\"[^>]*)>(.*?)</summary>", page, re.DOTALL)
    opens = [plain(summary) for attributes, summary in details if " open" in attributes]
    assert len(details) == 4
    assert opens == ["waiting step 2: Make b · 4 attempts"]


def test_attempts_stand_side_by_side_with_what_differs(shown: RunningServer) -> None:
    page = opened(shown, "/plan/again/run")
    beside = page.partition('class="side-by-side"')[2]
    assert [beside.index(f"Attempt {each}</a>") for each in (1, 2, 3, 4)] == sorted(
        beside.index(f"Attempt {each}</a>") for each in (1, 2, 3, 4)
    )
    found = plain(beside.partition("What differs between attempts")[2])
    assert "-wrong" in found
    assert "+nearly" in found
    assert "-src/stray" in found


def test_a_run_says_what_was_used_of_what_may_be_used(shown: RunningServer) -> None:
    page = opened(shown, "/plan/again/run")
    said = plain(page)
    assert "Tokens: 0 of 2,000,000 (and what 5 attempts did not say)" in said
    assert "Dollars: $0.0000 of $20.00" in said
    assert "Time at work:" in said
    assert page.count("<progress") == 3


def test_what_an_agent_says_is_text_and_said_to_be_unchecked(shown: RunningServer) -> None:
    for target in ("/plan/again/run", "/plan/again/step/2/attempt/2"):
        page = opened(shown, target)
        assert "<script>alert" not in page
        assert "<img" not in page
        assert "\u202e" not in page
        assert "which nobody checked" in page or target.endswith("run")
    page = plain(opened(shown, "/plan/again/step/2/attempt/2"))
    assert "I look at src/b" in page
    assert "U+202E" in page


# -- evidence --------------------------------------------------------------------------------------


def test_evidence_has_everything_that_was_found(shown: RunningServer) -> None:
    page = plain(opened(shown, "/plan/again/step/2/attempt/2"))
    assert "cat src/b; grep -qx right src/b" in page
    assert "Expects exit_code == 0" in page
    assert "When it was approved: fail exit 1" in page
    assert "Judged: fail exit 1" in page
    assert "nearly" in page
    assert "What it was told otherwise than in attempt 1" in page
    assert "Write what the contract of this step asks for" in page
    first = plain(opened(shown, "/plan/again/step/2/attempt/1"))
    assert "outside of what it may touch src/stray" in first
    last = plain(opened(shown, "/plan/again/step/2/attempt/4"))
    assert "As it was when a person was asked" in last
    proved = plain(opened(shown, "/plan/fine/step/1/attempt/1"))
    assert "Changed files: 1 within what it may touch, 0 outside" in proved
    assert "+right" in proved


def test_the_whole_output_is_plain_text(shown: RunningServer, journal: SqliteJournal) -> None:
    page = opened(shown, "/plan/again/step/2/attempt/2")
    (seq,) = re.findall(r'href="/output/(\d+)"', page)
    answer = shown.get(f"/output/{seq}")
    assert answer.header("content-type") == "text/plain; charset=utf-8"
    assert "nearly" in answer.text
    assert "not kept any more" not in answer.text, "a small output is there as a whole"
    for wrong in ("1", "999999", "x", "9" * 30):
        assert shown.get(f"/output/{wrong}").status == 404
    assert journal.head().seq > int(seq)


@pytest.mark.parametrize(
    "target",
    [
        *("/plan/nobody", "/plan/nobody/run", "/plan/nobody/sheet", "/plan/again/step/9/attempt/1"),
        *("/plan/again/step/2/attempt/99", "/plan/again/step/2/attempt/x", "/journal/0"),
        *("/journal/99999", "/journal/x", "/plan/..%2fx", "/plan/%ff"),
    ],
)
def test_what_is_not_there_is_said(shown: RunningServer, target: str) -> None:
    answer = shown.get(target)
    assert answer.status in {400, 404}
    assert "Traceback" not in answer.text


# -- the journal -----------------------------------------------------------------------------------


def events(page: str) -> list[int]:
    return [int(each) for each in re.findall(r'<li id="event-(\d+)"', page)]


def test_the_journal_is_read_page_by_page(shown: RunningServer, journal: SqliteJournal) -> None:
    head = journal.head().seq
    assert events(opened(shown, "/journal")) == list(range(head, 0, -1))[:100]
    assert events(opened(shown, "/journal?before=10")) == list(range(9, 0, -1))
    own = [record.seq for record in journal.read(Query(plan="fine"))]
    assert events(opened(shown, "/journal?plan=fine")) == own[::-1]
    started = events(opened(shown, "/journal?plan=again&event=task-started"))
    assert len(started) == 5
    assert "Did you mean `TASK_STARTED`?" in opened(shown, "/journal?event=TASK_STARTE")


def test_the_journal_is_searched(shown: RunningServer, journal: SqliteJournal) -> None:
    found = events(opened(shown, "/journal?q=src%2Fstray"))
    wanted = [r.seq for r in journal.read(Query()) if "src/stray" in r.draft.details.text]
    assert found == wanted[::-1]
    assert events(opened(shown, "/journal?q=STRAY+scope_violated"))
    assert "There is no such event." in opened(shown, "/journal?q=nothing-is-called-that")


def test_an_event_has_a_page_with_all_that_it_tells(
    shown: RunningServer, journal: SqliteJournal
) -> None:
    (record,) = [r for r in journal.read(Query()) if r.kind.value == "SCOPE_VIOLATED"]
    page = plain(opened(shown, f"/journal/{record.seq}"))
    assert record.hash in page
    assert "src/stray" in page


def test_the_head_of_the_journal_says_whether_the_chain_is_whole(
    shown: RunningServer, journal: SqliteJournal
) -> None:
    opened(shown, "/")
    page = plain(opened(shown, "/journal"))
    assert f"whole {journal.head().seq} events" in page
    assert "the hash of each was checked" in page
    assert "it still holds what was noted apart from it" in page


def test_costs_are_drawn_and_what_nobody_said_is_no_zero(shown: RunningServer) -> None:
    page = opened(shown, "/costs")
    assert page.count("<svg") == 2
    said = plain(page)
    assert "hatched: 6 of 6 attempts, unknown" in said
    assert "again 5 attempts ? tokens $? 5 unknown" in said
    for by in ("step", "agent", "model", "week"):
        assert (
            plain(opened(shown, f"/costs?by={by}")).count("total 6 attempts ? tokens $? 6 unknown")
            == 1
        )


@pytest.mark.thorough
def test_a_journal_that_somebody_changed_is_said_to_be_broken(tmp_path: Path, scene: Bench) -> None:
    import shutil  # noqa: PLC0415 - only here
    import sqlite3  # noqa: PLC0415 - the same

    state = tmp_path / "state"
    shutil.copytree(scene.folder / "state", state, ignore=shutil.ignore_patterns("page"))
    with sqlite3.connect(state / "journal.sqlite") as database:
        for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            database.execute(f'DROP TRIGGER "{name}"')
        database.execute("UPDATE journal SET details = replace(details, 'src/stray', 'src/other')")
    with serving(scene, PLANBOUND_STATE=str(state)) as running:
        running.enter()
        opened(running, "/")
        page = plain(opened(running, "/journal"))
        assert "broken" in page
        assert "these are not as they were written" in page
