"""`/plan/X`: a plan as it is written, each step with its verdict; the gate; what became weaker."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from planbound.approval.record import last_text
from planbound.approval.weakening import weakenings
from planbound.judging.restore import difference
from planbound.page.parts import kept_live, links, plan_links
from planbound.page.visit import PageAnswer, PageRoute, PartOfPage, ShownPage, Visit, address
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.receipts.fragments import ItemBeside, item, room_for
from planbound.receipts.html import Content, Html, element, join, served, text
from planbound.receipts.page import PageOf, deviations, item_place, overview, title_of
from planbound.receipts.page_costs import spending
from planbound.receipts.page_gate import gate, questions
from planbound.receipts.pieces import diff, fold_away, heading, listed, said, word
from planbound.receipts.story import ItemStory, PlanStory
from planbound.source import Source
from planbound.workspace.overview import PlanLine
from planbound.workspace.vault import open_vault

_MOST_LINES = 5_000


def show_plan(visit: Visit) -> PageAnswer:
    """Show a plan, to be read."""
    slug = visit.path["plan"]
    page = visit.board.page(visit.context, slug)
    own, story = address("plan", slug), page.story
    part = kept_live("plan-now", own, *plan_now(visit, page))
    if visit.accepts_part:
        return PartOfPage(part)
    content = join(
        heading(1, text(title_of(story))),
        plan_links(slug, own),
        *visit.more("plan", slug),
        part,
    )  # fmt: skip
    live = address("live", plan=slug, after=story.state.seq, quiet=1)
    return ShownPage(title_of(story), content, at="/", live=live)


def plan_now(visit: Visit, page: PageOf) -> Iterator[Content]:
    """Yield all that is known of a plan now."""
    story = page.story
    line = visit.board.line(visit.context, story.slug)
    yield overview(story)
    yield since_approval(visit, line)
    yield deviations(story, 2)
    yield from _items(page)
    yield written(line, page)
    yield gate(story, page.judges, 2)
    yield questions(story, 2)
    yield spending(story, 2)


# -- what is different from what was approved ------------------------------------------------------


def since_approval(visit: Visit, line: PlanLine | None) -> Html | None:
    """Return what the file says otherwise than the text that was approved, weaker demands first."""
    journal = visit.context.existing_journal()
    if line is None or line.plan is None or journal is None:
        return None
    with closing(open_vault(visit.context)) as vault:
        approved = last_text(journal, vault, line.file.slug)
    if approved is None:
        return None
    before = parse(approved, path="approved")
    if digest(before) == digest(line.plan):
        return None
    return different(visit, approved, line)


def different(visit: Visit, approved: bytes, line: PlanLine) -> Html:
    """Return the difference between an approved text and a plan's file."""
    clean = visit.context.redactor.redact
    plan = line.plan if line.plan is not None else parse(line.data, path=line.file.shown)
    weaker = weakenings(parse(approved, path="approved"), plan)
    shown = clean(difference(line.file.shown, approved, line.data)).text
    return element(
        "section",
        heading(2, "Not as it was approved"),
        element("p", "What it demands less than the text that was approved, or allows more:")
        if weaker else element("p", "It demands nothing less than the text that was approved."),
        listed(join(word("weaker"), " ", said(clean(each).text)) for each in weaker),
        fold_away("The difference, line by line", diff(shown), open=True),
        class_="notice",
        aria_label="What is different since the approval",
    )  # fmt: skip


# -- steps and conditions --------------------------------------------------------------------------


def _items(page: PageOf) -> Iterator[Content]:
    story = page.story
    room = room_for(len(story.items))
    for title, found in (
        ("Preconditions", story.preconditions),
        ("Steps", story.steps),
        ("Postconditions", story.postconditions),
    ):
        if found:
            yield heading(2, title)
        for each in found:
            costs = {cost.attempt: cost for cost in story.costs if cost.step == each.id}
            diffs = page.diffs.get(each.number) if found is story.steps else None
            beside = ItemBeside(story.plan, costs, diffs, room, 3, item_place(story, each))
            yield element("div", item(each, beside), _attempts(story, each), class_="item")


def _attempts(story: PlanStory, each: ItemStory) -> Html | None:
    if not each.attempts:
        return None
    return links(
        f"Attempts at {each.name}",
        *(
            (
                f"Attempt {attempt.number}",
                address("plan", story.slug, "step", each.number, "attempt", attempt.number),
            )
            for attempt in each.attempts
        ),
    )


# -- the text, line by line ------------------------------------------------------------------------


def written(line: PlanLine | None, page: PageOf) -> Html:
    """Return the text as it is written, each line with its number and its place in the page."""
    story = page.story
    source = Source(path=story.slug, text=page.source)
    chips = _chips(story) if page.source == story.plan.source.text else {}
    lines = source.lines[:_MOST_LINES]
    rows = (
        element(
            "li",
            text(each) if each else " ",
            join(" ", served("a", word(chips[number].word),
                             href=f"#{item_place(story, chips[number])}"))
            if number in chips else None,
            id=f"line-{number}",
        )
        for number, each in enumerate(lines, 1)
    )  # fmt: skip
    left_out = len(source.lines) - len(lines)
    file = f" ({line.file.shown})" if line is not None else ""
    return element(
        "section",
        heading(2, "As it is written", id="written"),
        element("p", f"The text is shown {story.text_is}{file}."),
        element("ol", rows, class_="source", tabindex=0, aria_label="The text of the plan"),
        element("p", f"{left_out:,} more lines are left out.") if left_out else None,
        aria_label="The plan as it is written",
    )


def _chips(story: PlanStory) -> dict[int, ItemStory]:
    """Return by line which step or condition begins there."""
    place = story.plan.source.position
    return {place(each.item.heading.start)[0]: each for each in reversed(story.items)}


ROUTES = [PageRoute("GET", "/plan/{plan}", show_plan)]
