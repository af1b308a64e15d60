"""A plan with all of its evidence as a page: what is not proved first, then everything."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.journal.event import (
    BaselineObserved,
    ContractEvaluated,
    Event,
    GateApprovalRequested,
    GateApproved,
    GateRejected,
    kind_of,
)
from planbound.journal.record import Record
from planbound.plan.limits import format_budget
from planbound.receipts.chart import Used, chart, is_far, moments
from planbound.receipts.costs import AttemptCost, CostSum, RunBudget, total
from planbound.receipts.fragments import (
    Beside,
    colour_of,
    cut,
    diff,
    facts,
    fold_away,
    heading,
    item,
    listed,
    moment,
    room_for,
    said,
    word,
)
from planbound.receipts.html import Content, Html, document, element, identity, join, text
from planbound.receipts.page_style import STYLE
from planbound.receipts.remarks import Remark, name_of, remarks
from planbound.receipts.story import ItemStory, PlanStory, QuestionStory, about_words
from planbound.receipts.tree_changes import TreeDiff
from planbound.workspace.progress import ProgressLines

_ROWS = 400
"""So many rows of a table or a list are shown."""
_LINKS = 60
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
                    aria_labelledby=_place(each.story),
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
            gate(page, 2, brief=True),
        ),
        footer(made),
    )  # fmt: skip


def title_of(story: PlanStory) -> str:
    """Return what a plan is called on a page."""
    return story.plan.objective.value if story.plan.objective else story.slug


def _place(story: PlanStory, *parts: object) -> str:
    return identity("plan", story.slug, *parts)


def item_place(story: PlanStory, each: ItemStory) -> str:
    """Return the id of a step or condition in a page."""
    return _place(story, each.subject.value, each.number)


def index(pages: Sequence[PageOf]) -> Html:
    """Return the table of several plans."""
    rows = (
        element(
            "tr",
            element("th", element("a", text(title_of(each.story)), href=f"#{_place(each.story)}"),
                    scope="row"),
            element("td", word(each.story.status)),
            element("td", tally_words(each.story)),
        )
        for each in pages
    )  # fmt: skip
    return table("Plans", ("plan", "status", "steps"), list(rows))


def table(caption: str, titles: Sequence[str], rows: Sequence[Content]) -> Html:
    """Return a table that can be moved where it is too wide; very long ones are cut with a word."""
    left_out = max(0, len(rows) - _ROWS)
    head = element("tr", (element("th", each, scope="col") for each in titles))
    more = element("p", f"{left_out:,} more rows are left out.") if left_out else None
    return join(
        element(
            "div",
            element(
                "table",
                element("caption", caption),
                element("thead", head),
                element("tbody", join(*rows[:_ROWS])),
            ),
            class_="scroll",
            tabindex=0,
            role="region",
            aria_label=caption,
        ),
        more,
    )


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
        gate(page, level),
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
            parts.append(f"{len(items)} {name}: {said}")
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
            ("used", _spent(spent) if spent.attempts else None),
            ("budget of the plan", format_budget(story.plan.budget.value)
             if story.plan.budget else None),
        ),
    )  # fmt: skip


def _spent(found: CostSum) -> str:
    tokens = "? tokens" if found.tokens is None else f"{found.tokens:,} tokens"
    dollars = "$?" if found.dollars is None else f"${found.dollars:.4f}".rstrip("0").rstrip(".")
    silent = max(found.no_tokens, found.no_dollars)
    more = f", and what {silent} of {found.attempts} attempts did not say" if silent else ""
    return f"{tokens}, {dollars}{more}"


def _contents(story: PlanStory) -> Html | None:
    if not story.items or len(story.items) > _LINKS:
        return None
    links = (
        join(
            element("a", f"{each.subject.value} {each.number}", href=f"#{item_place(story, each)}"),
            " ",
            word(each.word),
        )
        for each in story.items
    )
    return element("nav", listed(links), aria_label=f"Steps and conditions of {story.slug}")


def deviations(story: PlanStory, level: int, *, linked: bool = True) -> Html:
    """Return what must not be overlooked, first of all what is not done."""
    found = remarks(story)
    if not found:
        return element("p", "Nothing deviates: everything is proved, by passes of contracts.")
    lines = [_remark(story, each, linked=linked) for each in found[:_ROWS]]
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
        aria_labelledby=place,
    )


def _remark(story: PlanStory, each: Remark, *, linked: bool) -> Html:
    about: Html | str = each.about
    if linked and each.item is not None:
        about = element("a", each.about, href=f"#{item_place(story, each.item)}")
    seq = element("span", f" event #{each.seq}", class_="dim") if each.seq is not None else None
    colours = {"not done": "bad", "holds": colour_of("holds")}
    kind = element("span", each.word, class_=f"word {colours.get(each.word, 'warn')}")
    return join(kind, " ", about, ": ", said(each.said), seq)


def items_table(story: PlanStory) -> Html:
    """Return a line for each step and condition."""
    rows = [
        element(
            "tr",
            element("th", f"{name_of(each)} ", said(each.title, 200), scope="row"),
            element("td", word(each.word)),
            element("td", _verdict_words(each)),
        )
        for each in story.items
    ]
    return table("Steps and conditions", ("what", "where it is", "last verdict"), rows)


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
    for each in story.costs:
        costs.setdefault(each.step, {})[each.attempt] = each
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
            beside = Beside(story.plan, costs.get(each.id, {}), diffs, room, level + 2,
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
        aria_labelledby=_place(story, "plan"),
    )


# -- the gate, questions -------------------------------------------------------------------------


def gate(page: PageOf, level: int, *, brief: bool = False) -> Html:
    """Return what was approved, by whom, and whether it still is what it was."""
    story, judges = page.story, page.judges
    place = _place(story, "gate")
    told = [each for each in story.gate if not brief or isinstance(each.event, GateApproved)]
    changed = [
        join(element("p", element("code", text(each.path)), f" {each.how}"), diff(each.lines))
        for each in judges.within
    ]
    approval = story.state.approval.given
    return element(
        "section",
        heading(level, "The gate", id=place),
        None if told else element("p", "Nobody was asked to approve this plan."),
        (_at_gate(each.event, each.when, each.seq, brief=brief) for each in told[-_ROWS:]),
        None if approval is not None or not told else element("p", "No approval holds now."),
        element("p", f"Whether judges changed is not known: {judges.unknown}.")
        if judges.unknown
        else None,
        fold_away(f"Judges that changed since the approval: {len(changed)}", changed, open=True)
        if changed and not brief
        else None,
        None if brief else _first_looks(story),
        aria_labelledby=place,
    )


def _at_gate(event: Event, when: str, seq: int, *, brief: bool) -> Html | None:
    number = element("span", f" event #{seq}", class_="dim")
    match event:
        case GateApprovalRequested():
            again = f", reminder {event.reminder}" if event.reminder else ""
            return element("p", f"Approval asked for{again} ", moment(when), number)
        case GateRejected():
            who = f" by {event.by}" if event.by else ""
            why = event.reason or "without a reason"
            return element("p", word("rejected"), who, ": ", said(why), " ", moment(when), number)
        case GateApproved():
            return join(
                element("p", word("approved"), f" by {event.by} ", moment(when), number),
                _sheet(event, brief=brief),
            )
        case _:
            return None


def _sheet(event: GateApproved, *, brief: bool) -> Html:
    method = event.method
    judges, tools = event.judges or {}, event.tools or {}
    worth = f"{method.value}: {method.caution}" if method is not None else None
    return join(
        facts(
            ("digest", element("code", event.digest) if event.digest else None),
            ("how", worth),
            ("strength", event.strength.value if event.strength else None),
            ("policy", event.policy),
            ("holds until", moment(event.expires) if event.expires else None),
            ("changed on the way", said(", ".join(event.modifications))
             if event.modifications else None),
            ("in spite of", ", ".join((*(event.seen or ()), *(event.missing_tools or ()))) or None),
            ("why", said(event.reason) if event.reason else None),
            ("judged by", f"{len(judges)} file{'' if len(judges) == 1 else 's'}"),
            ("tree", element("code", event.tree[:16]) if event.tree else None),
            ("configuration", element("code", event.configuration[:16])
             if event.configuration else None),
        ),
        None if brief or not judges else fold_away(
            "Judges, as they were approved",
            table("Judges", ("path", "SHA-256"), [
                element("tr", element("th", text(path), scope="row"),
                        element("td", element("code", digest)))
                for path, digest in judges.items()
            ]),
        ),
        None if brief or not tools else fold_away(
            "Programs of the contracts",
            listed(f"{name} {found}" for name, found in tools.items()),
        ),
    )  # fmt: skip


def _first_looks(story: PlanStory) -> Html | None:
    """Return what every contract said when the plan was approved."""
    rows = []
    for each in story.items:
        looks = [told for told in each.looks if isinstance(told.event, BaselineObserved)
                 and told.event.baseline is not None]  # fmt: skip
        if looks and isinstance(event := looks[-1].event, BaselineObserved):
            green = "green: it proves nothing yet" if event.verdict.value == "pass" else "red"
            controls = ", ".join(f"{run.name}: {run.result.value}" for run in event.controls or ())
            rows.append(
                element(
                    "tr",
                    element("th", name_of(each), scope="row"),
                    element("td", word(event.verdict.value), f" {green}"),
                    element("td", said(event.reason or "", 300)),
                    element("td", text(controls) if controls else "none"),
                )
            )
    if not rows:
        return None
    titles = ("what", "before the work", "why", "wrong work that it has to reject")
    return fold_away("What the contracts said at the gate", table("At the gate", titles, rows))


def questions(story: PlanStory, level: int) -> Html:
    """Return what people were asked and what they said."""
    place = _place(story, "questions")
    found = story.questions[-_ROWS:]
    return element(
        "section",
        heading(level, "Questions and decisions", id=place),
        element("ol", (element("li", _question(each)) for each in found), class_="plain")
        if found
        else element("p", "Nobody was asked anything."),
        aria_labelledby=place,
    )


def _question(each: QuestionStory) -> Html:
    answers = [
        join(said(words), f" by {who} " if who else " ", moment(when))
        for when, who, words in each.answers
    ]
    if not answers:
        answers = [element("span", "waits for a person" if each.open else
                           "not answered: it was settled in another way")]  # fmt: skip
    return join(
        element("p", element("strong", f"{each.kind}, {each.about}"), " ", moment(each.when)),
        element("p", said(each.asked)) if each.asked else None,
        listed(answers),
    )


# -- costs, and everything that happened ---------------------------------------------------------


def spending(story: PlanStory, level: int) -> Html:
    """Return what was used over time, against the limit, and how sure the numbers are."""
    place, found = _place(story, "costs"), total(story.costs)
    parts: list[Content] = [heading(level, "Cost", id=place)]
    if not story.costs:
        parts.append(element("p", "No agent was paid for: no attempt is on record."))
    else:
        budget = story.budget
        parts.append(element("p", _spent(found), ". ", _sure(found)))
        tokens: _Amounts = [(each, each.tokens) for each in story.costs]
        dollars: _Amounts = [
            (each, None if each.dollars is None else float(each.dollars)) for each in story.costs
        ]
        of_tokens = None if budget is None else budget.tokens
        parts.append(_drawn(story, "tokens", tokens, of_tokens, lambda value: f"{value:,.0f}"))
        parts.append(
            _drawn(story, "dollars", dollars, _dollars(budget), lambda value: f"${value:.2f}")
        )
        parts.append(fold_away("Attempts one by one", _attempts(story)))
    return element("section", *parts, aria_labelledby=place)


_Amounts = list[tuple[AttemptCost, float | None]]


def _dollars(budget: RunBudget | None) -> float | None:
    return None if budget is None or budget.dollars is None else float(budget.dollars)


def _sure(found: CostSum) -> str:
    words = (
        (found.measured, "measured by our own loop"),
        (found.claimed, "claimed by the agent itself"),
        (found.unknown, "unknown"),
    )
    said = ", ".join(f"{count} {each}" for count, each in words if count)
    guessed = f" {found.estimated:,} tokens are estimated." if found.estimated else ""
    return f"Attempts: {said}.{guessed}"


def _drawn(
    story: PlanStory, unit: str, amounts: _Amounts, limit: float | None, say: Callable[[float], str]
) -> Html:
    used = [
        Used(*moments(each.when, each.seconds), None if amount is None else float(amount))
        for each, amount in amounts
    ]
    known = sum(each.amount or 0.0 for each in used)
    unknown = sum(each.amount is None for each in used)
    far = ", far above the drawing" if is_far(known, limit) else ""
    bound = (
        f"the dashed line is the limit of {say(limit)}{far}" if limit is not None else "no limit"
    )
    sums = say(known) if unknown < len(used) else "nothing known"
    hatched = f"; hatched: {unknown} of {len(used)} attempts, unknown" if unknown else ""
    summary = f"{unit} over time: {sums} in the end; {bound}{hatched}"
    whens = sorted(each.when for each, _ in amounts)
    return join(
        element("p", element("strong", unit.capitalize()), f": {summary.partition(': ')[2]}."),
        chart(_place(story, "chart", unit), summary, used, limit),
        element("p", "from ", moment(whens[0]), " to ", moment(whens[-1]), class_="dim"),
    )


def _attempts(story: PlanStory) -> Html:
    rows = [
        element(
            "tr",
            element("th", f"step {each.number}, attempt {each.attempt}", scope="row"),
            element("td", text(each.agent or "not said")),
            element("td", "?" if each.tokens is None else f"{each.tokens:,}", class_="number"),
            element("td", "?" if each.dollars is None else f"${each.dollars}", class_="number"),
            element("td", each.source.value + ("" if each.ended else ", no end on record")),
        )
        for each in story.costs
    ]
    titles = ("attempt", "agent", "tokens", "dollars", "how sure")
    return table(f"Attempts of {story.slug}", titles, rows)


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
        aria_labelledby=place,
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
