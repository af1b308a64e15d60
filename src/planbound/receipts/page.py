"""A plan with all of its evidence as a page: what is not proved first, then everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.event import ContractEvaluated, Event, kind_of
from planbound.journal.record import Record
from planbound.plan.limits import format_budget
from planbound.receipts.conversation import about_words
from planbound.receipts.costs import AttemptCost, total
from planbound.receipts.deviation_words import plain, words_of
from planbound.receipts.fragments import ItemBeside, item, room_for
from planbound.receipts.html import Content, Html, document, element, identity, join, text
from planbound.receipts.page_costs import spending, spent_words
from planbound.receipts.page_gate import gate, questions
from planbound.receipts.page_style import STYLE
from planbound.receipts.pieces import (
    ROWS,
    colour_of,
    cut,
    facts,
    fold_away,
    heading,
    listed,
    moment,
    said,
    table,
    word,
)
from planbound.receipts.predicate import Deviation, HeldItem, UnsettledItem
from planbound.receipts.story import ItemStory, PlanStory
from planbound.receipts.tree_changes import TreeDiff
from planbound.workspace.progress import ProgressLines

_LINKS = 60
_TITLE = 300
_TEXT = 300_000


class PageOf(NamedTuple):
    """A plan's story with what else a page of it needs."""

    story: PlanStory
    source: str
    """The plan's text, word for word."""
    diffs: Mapping[str, TreeDiff]
    """By the number of a step what it changed."""
    judges: TreeDiff
    """Which judges are not as they were when the plan was approved."""


class Made(NamedTuple):
    """When and by what a page was made."""

    when: str
    version: str
    seq: int
    hash: str
    """The head of the journal."""


def report(pages: Sequence[PageOf], made: Made) -> Html:
    """Return one page of all these plans."""
    count = sum(len(each.story.items) for each in pages)
    if len(pages) == 1:
        story = pages[0].story
        return document(
            f"Report: {title_of(story)}",
            STYLE,
            element("header", element("p", f"Planbound report of {story.slug}", class_="dim"),
                    heading(1, text(title_of(story)))),
            element("main", plan_sections(pages[0], count, 2)),
            footer(made),
        )  # fmt: skip
    return document(
        "Report: all plans",
        STYLE,
        element("header", heading(1, f"Report: {len(pages)} plans")),
        element("nav", heading(2, "Plans"), index(pages), aria_label="Plans"),
        element(
            "main",
            (
                element(
                    "section",
                    heading(2, text(title_of(each.story)), id=_place(each.story)),
                    plan_sections(each, count, 3),
                    aria_label=f"All about {each.story.slug}",
                )
                for each in pages
            )
            if pages
            else element("p", "There is no plan, and the journal knows of none."),
        ),
        footer(made),
    )


def summary_page(page: PageOf, made: Made) -> Html:
    """Return one page of what a plan came to: what is not proved, each item in a line, the yes."""
    story = page.story
    return document(
        f"Receipt: {title_of(story)}",
        STYLE,
        element("header", element("p", f"Planbound, what {story.slug} came to", class_="dim"),
                heading(1, text(title_of(story)))),
        element(
            "main",
            overview(story),
            deviations(story, 2, linked=False),
            heading(2, "Steps and conditions"),
            items_table(story),
            gate(story, page.judges, 2, brief=True),
        ),
        footer(made),
    )  # fmt: skip


def title_of(story: PlanStory) -> str:
    """Return what a plan is called on a page."""
    title = story.plan.objective.value if story.plan.objective else story.slug
    return title if len(title) <= _TITLE else f"{title[:_TITLE]}…"


def _place(story: PlanStory, *parts: object) -> str:
    return identity("plan", story.slug, *parts)


def item_place(story: PlanStory, each: ItemStory) -> str:
    """Return the id of a step or condition in a page."""
    again = (f"again-{each.twin}",) if each.twin else ()
    return _place(story, each.subject.value, each.number, *again)


def index(pages: Sequence[PageOf]) -> Html:
    """Return the table of several plans."""
    rows = (
        element(
            "tr",
            element("th", element("a", text(title_of(each.story)), href=f"#{_place(each.story)}"),
                    f" ({each.story.slug})",
                    scope="row"),
            element("td", word(each.story.status)),
            element("td", tally_words(each.story)),
        )
        for each in pages
    )  # fmt: skip
    return table("Plans", ("plan", "status", "steps"), list(rows))


def footer(made: Made) -> Html:
    """Return by what a page was made."""
    return element(
        "footer",
        element("p", f"Made by Planbound {made.version} ", moment(made.when),
                f", from the journal up to event #{made.seq} ({made.hash[:16]})."),
        element(
            "p",
            "This page is a rendering for people. It is not signed: a receipt"
            " (planbound receipt) is what another machine can check.",
        ),
    )  # fmt: skip


# -- one plan ------------------------------------------------------------------------------------


def plan_sections(page: PageOf, count: int, level: int) -> Html:
    """Return everything about a plan; `count` is how many items the whole page has."""
    story = page.story
    return join(
        overview(story),
        _contents(story),
        deviations(story, level),
        the_plan(page, count, level),
        gate(story, page.judges, level),
        questions(story, level),
        spending(story, level),
        timeline(story, level),
    )


def tally_words(story: PlanStory) -> str:
    """Return how many of the steps and conditions are where, each by its own word."""
    parts = []
    for name, items in (("steps", story.steps), ("postconditions", story.postconditions)):
        if items:
            found = Counter(each.word for each in items)
            said = ", ".join(f"{count} {each}" for each, count in found.most_common())
            parts.append(f"{len(items)} {name if len(items) > 1 else name[:-1]}: {said}")
    return "; ".join(parts) or "no steps"


def overview(story: PlanStory) -> Html:
    """Return in a few lines where a plan is."""
    state, spent = story.state, total(story.costs)
    digest = state.approval.given.digest if state.approval.given else state.digest
    return join(
        element("p", word(story.status), f" {tally_words(story)}."),
        facts(
            ("plan", story.slug),
            ("revision", str(state.revision)),
            ("digest", element("code", digest) if digest else None),
            ("shown", story.text_is),
            ("owner", story.plan.frontmatter.owner.value if story.plan.frontmatter.owner else None),
            ("run", state.run.run),
            ("ended", said(state.run.why_ended) if state.run.why_ended else None),
            ("first event", moment(state.first) if state.first else None),
            ("last event", moment(state.last) if state.last else None),
            ("used", spent_words(spent) if spent.attempts else None),
            ("budget of the plan", format_budget(story.plan.budget.value)
             if story.plan.budget else None),
        ),
    )  # fmt: skip


def _contents(story: PlanStory) -> Html | None:
    if not story.items or len(story.items) > _LINKS:
        return None
    links = (
        join(
            element("a", f"{each.subject.value} {each.number}", href=f"#{item_place(story, each)}"),
            " ",
            word(each.word),
            " ",
            said(each.title, 120),
        )
        for each in story.items
    )
    return element("nav", listed(links), aria_label=f"Steps and conditions of {story.slug}")


def deviations(story: PlanStory, level: int, *, linked: bool = True) -> Html:
    """Return what must not be overlooked, first of all what is not done."""
    found = story.deviations
    if not found:
        return element("p", "Nothing deviates: everything is proved, by passes of contracts.")
    items = {each.name: each for each in reversed(story.items)} if linked else {}
    lines = [_deviation(story, each, items) for each in found[:ROWS]]
    more = len(found) - len(lines)
    place = _place(story, "deviations")
    return element(
        "section",
        heading(level, "What is not proved, and what deviates", id=place),
        listed(lines),
        element("p", f"{more:,} more are left out here; each stands at its step.")
        if more
        else None,
        class_="notice",
        aria_label=f"What deviates in {story.slug}",
    )


def _deviation(story: PlanStory, deviation: Deviation, items: Mapping[str, ItemStory]) -> Html:
    told = words_of(deviation)
    about: Html | str | None = told.item
    if told.item is not None and told.item in items:
        about = element("a", told.item, href=f"#{item_place(story, items[told.item])}")
    seq = element("span", f" event #{told.seq}", class_="dim") if told.seq is not None else None
    colour = {HeldItem: colour_of("holds"), UnsettledItem: "bad"}.get(type(deviation), "warn")
    kind = element("span", plain(told.kind), class_=f"word {colour}")
    words = plain(told.said)
    gap = " " if words.startswith(" ") else ": "
    shown = said(words.removeprefix(": ").strip()) if words else None
    return join(kind, " " if about else None, about, gap if shown else None, shown, seq)


def items_table(story: PlanStory) -> Html:
    """Return a line for each step and condition."""
    rows = [
        element(
            "tr",
            element("th", f"{each.name} ", said(each.title, 200), scope="row"),
            element("td", word(each.word)),
            element("td", _verdict_words(each)),
        )
        for each in story.items
    ]
    return table(f"Each of {story.slug}", ("what", "where it is", "last verdict"), rows)


def _verdict_words(each: ItemStory) -> str:
    last = each.verdict
    if last is None or not isinstance(last.event, ContractEvaluated):
        return "not judged"
    event = last.event
    return " ".join(part for part in (event.verdict.value, event.evidence, event.isolation) if part)


def the_plan(page: PageOf, count: int, level: int) -> Html:
    """Return the plan as written, each item with its verdict and evidence."""
    story = page.story
    room = room_for(count)
    costs: dict[str, dict[int, AttemptCost]] = {}
    for cost in story.costs:
        costs.setdefault(cost.step, {})[cost.attempt] = cost
    parts: list[Content] = []
    for title, items in (
        ("Preconditions", story.preconditions),
        ("Steps", story.steps),
        ("Postconditions", story.postconditions),
    ):
        if not items:
            continue
        parts.append(heading(level + 1, title))
        for each in items:
            diffs = page.diffs.get(each.number) if items is story.steps else None
            beside = ItemBeside(story.plan, costs.get(each.id, {}), diffs, room, level + 2,
                            item_place(story, each))  # fmt: skip
            parts.append(item(each, beside))
    context = story.plan.context
    begin, left_out, end = cut(page.source, _TEXT)
    gap = f"\n[… {left_out:,} characters left out …]\n" if left_out else None
    return element(
        "section",
        heading(level, "The plan", id=_place(story, "plan")),
        element("p", f"The text is shown {story.text_is}."),
        element("pre", text(cut(context.text, 20_000)[0])) if context else None,
        *parts,
        fold_away(
            "The text of the plan, word for word", element("pre", text(begin), gap, text(end))
        ),
        aria_label=f"The plan {story.slug}",
    )


# -- everything that happened ----------------------------------------------------------------------


_FIRST, _LAST = 100, 300


def timeline(story: PlanStory, level: int) -> Html:
    """Return what the journal says, in its order; of very much the beginning and the end."""
    place, records = _place(story, "timeline"), story.records
    gap = None
    first, last = records, records[:0]
    if len(records) > _FIRST + _LAST:
        first, last = records[:_FIRST], records[-_LAST:]
        left_out = len(records) - _FIRST - _LAST
        gap = element("li", element("em", f"{left_out:,} events are left out"))
    lines = ProgressLines()
    found = [*_events(first, lines), gap, *_events(last, lines)]
    return element(
        "section",
        heading(level, "What happened", id=place),
        fold_away(f"{len(records):,} events", element("ol", *found, class_="plain timeline")),
        aria_label=f"What happened to {story.slug}",
    )


def _events(records: Sequence[Record], lines: ProgressLines) -> Iterator[Html]:
    for record in records:
        line = lines.line(record) or about_words(record) + _verdict_of(record.event)
        yield element(
            "li",
            moment(record.draft.timestamp),
            element("span", f" #{record.seq} {kind_of(type(record.event)).value} ", class_="mono"),
            said(line, 400),
        )


def _verdict_of(event: Event) -> str:
    verdict = getattr(event, "verdict", None)
    return f": {verdict.value}" if verdict is not None else ""
