"""`/plan/X/run`: a run as it goes on; what is not a pass is open, attempts stand side by side."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise

from planbound.cells.stages import spoken
from planbound.journal.event import ContractEvaluated
from planbound.page.differences import text_difference
from planbound.page.parts import again, bar, kept_live, plan_links
from planbound.page.plans import can_go_on, drivers, resume_command
from planbound.page.story_line import event_line
from planbound.page.visit import PageAnswer, PageRoute, PartOfPage, ShownPage, Visit, address
from planbound.plan.limits import Budget
from planbound.plan.model import StepStatus
from planbound.receipts.costs import AttemptCost, CostSource, total
from planbound.receipts.html import Content, Html, element, identity, join, served, text
from planbound.receipts.page import title_of
from planbound.receipts.page_costs import spent_words
from planbound.receipts.pieces import cut, facts, heading, moment, output, said, word
from planbound.receipts.story import AttemptStory, ItemStory, PlanStory
from planbound.run.doing import DoingNow, doing_now

_EVENTS = 100
"""So many of the last events are there at once; the journal has all of them."""
_ATTEMPTS = 6
"""So many attempts stand side by side; each has a page of its own."""
_OUTPUT = 1_200


def show_run(visit: Visit) -> PageAnswer:
    """Show where a run is, and what happens in it."""
    slug = visit.path["plan"]
    story = visit.board.page(visit.context, slug).story
    own = address("plan", slug, "run")
    part = kept_live("now", own, run_now(visit, story))
    if visit.accepts_part:
        return PartOfPage(part)
    content = join(
        heading(1, text(title_of(story))),
        plan_links(slug, own),
        *visit.more("run", slug),
        part,
        happened(story),
    )  # fmt: skip
    stream = address("live", plan=slug, after=story.state.seq)
    return ShownPage(f"Run of {slug}", content, at="/", live=stream, tells=True)


def run_now(visit: Visit, story: PlanStory) -> Html:
    """Return where a run is: what it used, and every step, the first that is no pass open."""
    driver = drivers(visit.context).get(story.slug)
    doing: Mapping[str, DoingNow] = {}
    if driver is not None:
        doing = doing_now(visit.context.state.folder, story.slug)
    first = next((each for each in story.items if not each.is_settled), None)
    open_one = next((each for each in story.items if not each.is_pass and each.attempts), first)
    return join(
        element("p", _where(story, driver), role="status"),
        _bars(story),
        (_item(story, each, doing, is_open=each is open_one) for each in story.items),
        # What an agent says is no event, so nothing tells of it.
        again("now", address("plan", story.slug, "run")) if driver is not None else None,
    )


def _where(story: PlanStory, driver: str | None) -> Html:
    run = story.state.run
    settled = sum(each.is_settled for each in story.steps)
    parts: list[Content] = [
        word(story.status),
        f" {settled} of {len(story.steps)} steps are settled",
        f"; run {run.run}" if run.run else "; no run has begun",
    ]
    if driver is not None:
        parts += ["; driven by ", said(driver, 80)]
    elif run.run is not None and run.ended is None:
        parts += ["; nobody drives it now"]
    if run.paused and run.ended is None:
        parts += ["; paused: ", said(run.paused, 200)]
    if story.state.waiting is not None:
        asked = address("inbox", plan=story.slug)
        parts += ["; ", served("a", f"a person is asked: {story.state.waiting}", href=asked)]
    if can_go_on(story.state, driver):
        parts += ["; ", element("code", resume_command(story.slug)), " goes on"]
    if run.why_ended:
        parts += ["; ended: ", said(run.why_ended, 300)]
    return join(*parts)


def _bars(story: PlanStory) -> Html:
    run = story.state.run
    limit = story.budget if run.run else _planned(story)
    spent, seconds = run.spent, run.session_seconds()
    found = total(story.costs)
    silent = max(found.no_tokens, found.no_dollars)
    quiet = f"{silent} attempt{'' if silent == 1 else 's'}"
    unknown = f" (and what {quiet} did not say)" if silent else ""
    tokens, dollars = f"{spent.tokens:,}", f"${spent.dollars:.4f}"
    of_tokens = None if limit is None else limit.tokens
    of_dollars = None if limit is None or limit.dollars is None else float(limit.dollars)
    of_seconds = None if limit is None or limit.seconds is None else float(limit.seconds)
    return element(
        "div",
        bar("Tokens", _of(tokens, None if of_tokens is None else f"{of_tokens:,}") + unknown,
            float(spent.tokens), of_tokens),
        bar("Dollars", _of(dollars, None if of_dollars is None else f"${of_dollars:.2f}") + unknown,
            float(spent.dollars), of_dollars),
        bar("Time at work", _of(spoken(seconds), None if of_seconds is None else
                                spoken(of_seconds)), seconds, of_seconds),
        class_="bars",
    )  # fmt: skip


def _planned(story: PlanStory) -> Budget | None:
    """Return what a run that did not begin yet may spend, as the plan says."""
    return story.plan.budget.value if story.plan.budget is not None else None


def _of(used: str, limit: str | None) -> str:
    return used if limit is None else f"{used} of {limit}"


# -- one step or condition -------------------------------------------------------------------------


def _item(
    story: PlanStory, each: ItemStory, doing: Mapping[str, DoingNow], *, is_open: bool
) -> Html:
    count = len(each.attempts)
    attempts = f" · {count} attempt{'' if count == 1 else 's'}" if count else ""
    return element(
        "details",
        element("summary", word(each.word), f" {each.name}: ", said(each.title, 200), attempts),
        element("p", "Why: ", said(each.reason)) if each.reason else None,
        _doing(story, each, doing.get(each.id)),
        _attempts(story, each),
        open=is_open,
        # Where another one is to be open, it is another element: a script leaves `open` alone.
        id=identity("run", each.subject.value, each.number, each.twin, "first" if is_open else ""),
        class_="item",
    )


def _doing(story: PlanStory, each: ItemStory, now: DoingNow | None) -> Html | None:
    """Return what is being done about a step now, and what its agent said last."""
    step = story.state.steps.get(each.id)
    if step is None or not each.attempts:
        return None
    last, running = each.attempts[-1], step.status is StepStatus.IN_PROGRESS
    ended = [attempt.ended for attempt in each.attempts if attempt.ended is not None]
    notes = ended[-1].agent_plan if ended and ended[-1].agent_plan else ()
    spoke = _last_lines(step.said or "")
    return join(
        element("p", f"Attempt {last.number} is under way, with ", said(last.agent or "its agent"),
                ", since ", moment(last.begun), ".") if running else None,
        element("p", "Its agent says: ", said(now.text), f" ({_ago(now)}; nobody checked it)")
        if running and now is not None and now.is_since(last.begun) else None,
        element("p", "What its agent noted as its plan, which nobody checked: ",
                said("; ".join(notes))) if notes else None,
        element("p", "What its agent said last, which nobody checked:") if spoke else None,
        element("pre", text(spoke)) if spoke else None,
    )  # fmt: skip


def _ago(now: DoingNow) -> str:
    return f"{spoken(max(0.0, time.time() - now.at))} ago"


def _last_lines(value: str) -> str:
    lines = [line for line in value.splitlines() if line.strip()]
    return cut("\n".join(lines[-6:]), 1_000)[0]


def _attempts(story: PlanStory, each: ItemStory) -> Html | None:
    if not each.attempts:
        return None
    shown = each.attempts[-_ATTEMPTS:]
    left_out = len(each.attempts) - len(shown)
    costs = {cost.attempt: cost for cost in story.costs if cost.step == each.id}
    columns = (_attempt(story, each, attempt, costs.get(attempt.number)) for attempt in shown)
    return join(
        element("p", f"{left_out} earlier attempts have pages of their own.") if left_out else None,
        element("div", columns, class_="side-by-side"),
        _between(shown),
    )


def _attempt(
    story: PlanStory, each: ItemStory, attempt: AttemptStory, cost: AttemptCost | None
) -> Html:
    verdict = last_verdict(attempt)
    ended = attempt.ended
    page = address("plan", story.slug, "step", each.number, "attempt", attempt.number)
    printed = None
    if verdict is not None:
        printed = output(verdict.output_head, verdict.output_tail, verdict.output_size, _OUTPUT)
    return element(
        "section",
        heading(2, served("a", f"Attempt {attempt.number}", href=page)),
        element("p", word(verdict.verdict.value) if verdict is not None else
                ("under way" if ended is None else "not judged")),
        facts(
            ("exit", _exit(verdict)),
            ("why", said(verdict.reason, 300) if verdict is not None and verdict.reason else None),
            ("agent", said(attempt.agent) if attempt.agent else None),
            ("ended", ended.ending.value if ended is not None else None),
            ("changed", said(", ".join(ended.changed), 300)
             if ended is not None and ended.changed else None),
            ("used", _used(cost) if cost is not None and cost.ended else None),
        ),
        printed,
        aria_label=f"Attempt {attempt.number} at {each.name}",
    )  # fmt: skip


def _used(cost: AttemptCost) -> str:
    return "not said" if cost.source is CostSource.UNKNOWN else spent_words(total([cost]))


def last_verdict(attempt: AttemptStory) -> ContractEvaluated | None:
    """Return what the contract said after an attempt."""
    found = [each.event for each in attempt.told if isinstance(each.event, ContractEvaluated)]
    return found[-1] if found else None


def _exit(verdict: ContractEvaluated | None) -> str | None:
    return None if verdict is None or verdict.exit_code is None else str(verdict.exit_code)


def _between(attempts: Sequence[AttemptStory]) -> Html | None:
    """Return what each attempt has that the one before has not, as far as the journal tells."""
    found = [each for pair in pairwise(attempts) for each in _difference(*pair)]
    if not found:
        return None
    return element("details", element("summary", "What differs between attempts"), *found)


def _difference(before: AttemptStory, after: AttemptStory) -> Iterator[Html]:
    names = (f"attempt {before.number}", f"attempt {after.number}")
    old, new = last_verdict(before), last_verdict(after)
    if old is not None and new is not None:
        yield element("h3", f"What the contract printed: {names[0]}, then {names[1]}")
        yield text_difference(printed_by(old), printed_by(new), names)
    if before.ended is None or after.ended is None:
        return
    one, other = before.ended.changed or (), after.ended.changed or ()
    yield element("h3", f"Files that changed: {names[0]}, then {names[1]}")
    yield text_difference("\n".join(one), "\n".join(other), names)


def printed_by(verdict: ContractEvaluated) -> str:
    """Return what the journal has of what a contract printed."""
    head, tail = verdict.output_head, verdict.output_tail or ""
    return f"{head}\n[...]\n{tail}" if head else tail


# -- what happened -------------------------------------------------------------------------------


def happened(story: PlanStory) -> Html:
    """Return the last events; whoever follows adds to them."""
    records = story.records[-_EVENTS:]
    left_out = len(story.records) - len(records)
    more = served("a", f"{left_out:,} earlier events are in the journal",
                  href=address("journal", plan=story.slug))  # fmt: skip
    return element(
        "section",
        heading(2, "What happened"),
        element("p", more) if left_out else None,
        element("ol", *map(event_line, records), id="events", class_="plain timeline"),
        aria_label="What happened",
    )


ROUTES = [PageRoute("GET", "/plan/{plan}/run", show_run)]
