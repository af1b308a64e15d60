"""What is told of a plan, of every event that there ever was."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.journal.record import Record, decode
from planbound.plan.parse import parse
from planbound.receipts.page import Made, PageOf, report, summary_page
from planbound.receipts.story import PlanText, begun_anew, story_of
from planbound.receipts.tree_changes import FileDifference, TreeDiff
from tests.receipts.hostile_plan import HOSTILE
from tests.receipts.pages import look_at

GOLDEN = sorted((Path(__file__).parents[1] / "fixtures" / "journal").glob("*.jsonl"))
PLAN = b"# Do <it>\n\n## Steps\n\n### 1. One\n\n### 3. Three\n\n## Postconditions\n\n1. Well\n"
MADE = Made("2026-11-15T09:00:00.000000Z", "1", 1, "0" * 64)


def page_of(slug: str, records: list[Record]) -> PageOf:
    text = PlanText(parse(PLAN, path=slug), "as it was", "done", {})
    changed = FileDifference(f"src/{HOSTILE}", "changed", f"-{HOSTILE}\n+{HOSTILE}\n@@ {HOSTILE}")
    return PageOf(
        story=story_of(slug, text, records),
        source=PLAN.decode(),
        diffs={"1": TreeDiff((changed,), (changed,), 7), "3": TreeDiff(unknown="it is lost")},
        judges=TreeDiff((changed,)),
    )


@pytest.mark.requirement("command.report")
@pytest.mark.parametrize("file", GOLDEN, ids=[file.name for file in GOLDEN])
def test_every_event_that_was_ever_written_is_told(file: Path) -> None:
    records = [decode(line) for line in file.read_text(encoding="ascii").splitlines()]
    plans: dict[str, list[Record]] = {}
    for record in records:
        plans.setdefault(record.draft.plan, []).append(record)
    pages = [page_of(slug, found) for slug, found in plans.items()]
    text = look_at(str(report(pages, MADE))).text
    for page in pages:
        for record in page.story.records:
            assert f"#{record.seq} {record.kind.value} " in text
        look_at(str(summary_page(page, MADE)))
    assert text.count("alert(1)") >= 10 * len(pages)


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_each_event_alone_is_told_as_the_first_of_a_plan() -> None:
    for file in GOLDEN:
        for line in file.read_text(encoding="ascii").splitlines():
            record = decode(line)
            look_at(str(report([page_of(record.draft.plan, [record])], MADE)))


def test_another_plan_that_had_the_name_is_told_apart() -> None:
    known = [decode(line) for file in GOLDEN for line in file.read_text("ascii").splitlines()]
    created, archived, staged, begun = (
        next(record for record in known if record.kind.value == kind)
        for kind in ("PLAN_CREATED", "PLAN_ARCHIVED", "PLAN_STAGED", "TASK_STARTED")
    )
    assert begun_anew([]) == 0
    assert begun_anew([created, begun, archived]) == 0
    assert begun_anew([created, archived, created, begun]) == 2
    assert begun_anew([created, archived, staged, begun]) == 2
    assert begun_anew([created, begun, staged]) == 0
