"""A step or a condition on a page: what the plan says, its verdicts, and their evidence.

Reports are made of such pieces, and so is whatever else shows a plan in a browser.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from msgspec import UnsetType

from planbound.journal.event import (
    Attested,
    BaselineObserved,
    ContractEvaluated,
    FailureDetected,
    JudgeTampered,
    RecoveryEscalation,
    Result,
    ScopeViolated,
    TaskCompleted,
    TaskSkipped,
    VerdictKind,
    Waived,
)
from planbound.plan.check import say_table
from planbound.plan.contract import expectation_text, on_fail_text
from planbound.plan.limits import format_budget, format_duration
from planbound.plan.model import Attest, CaseTable, Command, Condition, Plan, Step
from planbound.receipts.conversation import decision_words
from planbound.receipts.costs import AttemptCost
from planbound.receipts.html import Content, Html, element, identity, join, text
from planbound.receipts.pieces import (
    amount,
    colour_of,
    cut,
    diff,
    facts,
    fold_away,
    heading,
    moment,
    output,
    said,
    tree_diff,
    word,
)
from planbound.receipts.story import (
    AttemptStory,
    ItemStory,
    TellingEvent,
    said_of,
)
from planbound.receipts.tree_changes import TreeDiff


class Room(NamedTuple):
    """How much of a report each thing may take."""

    output: int = 3_000
    """Characters of one output, both ends together."""
    attempts: int = 20
    """Attempts of one step."""


def room_for(items: int) -> Room:
    """Return how much there is for each of so many steps and conditions."""
    if items <= 100:
        return Room()
    return Room(output=max(300, 300_000 // items), attempts=max(3, 2_000 // items))


# -- what is to be done, as the plan has it ------------------------------------------------------


def contract(item: Step | Condition) -> Html:
    """Return what an item is judged by, word for word."""
    match item.contract:
        case None:
            return element("p", "No contract: nobody can judge it, and it can only be claimed.")
        case Attest() as found:
            return element("p", "A person attests: ", said(found.statement))
        case Command() | CaseTable() as found:
            table = say_table(found.text) if isinstance(found, CaseTable) else None
            told = [expectation_text(each.value) for each in found.expectations]
            begin, left_out, end = cut(found.text, 20_000)
            gap = f"\n[… {left_out:,} characters left out …]\n" if left_out else None
            return join(
                element("p", table) if table else None,
                element("pre", element("code", text(begin), gap, text(end))),
                element("p", "Expects ", element("code", ", ".join(told) or "exit_code == 0")),
            )
        case _:
            assert_never(item.contract)


def demands(plan: Plan, item: Step | Condition) -> Html | None:
    """Return what a plan demands of an item besides its contract."""
    judges = ", ".join(each.value for each in item.judges)
    level = item.evidence.value.value if item.evidence else None
    limit = format_duration(item.contract_timeout.value) if item.contract_timeout else None
    common: tuple[tuple[str, Content], ...] = (
        ("judges", judges),
        ("evidence demanded", level),
        ("contract timeout", limit),
    )
    if isinstance(item, Condition):
        return facts(*common)
    touches = ", ".join(each.value for each in plan.touches_of(item))
    reads = (f"{each.value.kind.value}:{each.value.name}" for each in item.subscriptions)
    depends = None if item.depends is None else ", ".join(each.value for each in item.depends)
    return facts(
        ("for", item.target.value if item.target else None),
        ("depends on", "nothing" if depends == "" else depends),
        ("reads", ", ".join(reads)),
        ("may touch", touches or ("anything" if item.touches is None else "nothing")),
        *common,
        ("baseline demanded", item.baseline.value.value if item.baseline else None),
        ("budget", format_budget(item.budget.value) if item.budget else None),
        ("timeout", format_duration(item.timeout.value) if item.timeout else None),
        ("on failure", on_fail_text(item.on_fail.value) if item.on_fail else None),
    )


# -- what was found ------------------------------------------------------------------------------


def verdict(told: TellingEvent, room: Room) -> Html:
    """Return a verdict with all of its evidence."""
    event = told.event
    assert isinstance(event, BaselineObserved | ContractEvaluated)
    is_end = isinstance(event, ContractEvaluated) and event.final
    when = "Before the work" if isinstance(event, BaselineObserved) else "Judged"
    if isinstance(event, BaselineObserved) and event.baseline is not None:
        when = "When it was approved"
    printed = output(event.output_head, event.output_tail, event.output_size, room.output)
    why = event.reason if event.reason != f"exit {event.exit_code}" else None
    pairs: list[tuple[str, Content]] = [("why", said(why) if why else None)]
    if isinstance(event, ContractEvaluated):
        pairs += _more(event)
    return element(
        "div",
        element(
            "p",
            f"{when}{' once more at the end' if is_end else ''}: ",
            word(event.verdict.value),
            f" {' · '.join(measured(event))} ",
            moment(told.when),
            element("span", f" event #{told.seq}", class_="dim"),
        ),
        facts(*pairs),
        fold_away("Output", printed, open=event.verdict is not VerdictKind.PASS)
        if printed is not None
        else element("p", "It printed nothing.", class_="dim"),
    )


def measured(event: BaselineObserved | ContractEvaluated) -> Iterator[str]:
    """Yield the short facts of a verdict."""
    code = None if isinstance(event.exit_code, UnsetType) else event.exit_code
    yield "no exit code" if code is None else f"exit {code}"
    if tests := _tests(event):
        yield tests
    if event.evidence:
        yield f"evidence {event.evidence}"
    if event.isolation:
        yield f"isolation {event.isolation}"
    if isinstance(event, ContractEvaluated) and event.canary:
        yield f"canary {event.canary}"
    if isinstance(event, ContractEvaluated) and event.mutated is not None:
        found = event.mutated
        yield f"other expected values: {found.sensitive} of {found.tests} noticed"
    if event.duration is not None:
        yield f"{event.duration:g} s"
    if event.tree:
        yield f"tree {event.tree[:12]}"
    if event.reused:
        yield f"nothing was run again: it rests on event #{event.reused}"


def _tests(event: BaselineObserved | ContractEvaluated) -> str | None:
    found = event.tests
    if found is None:
        return None
    return f"{found.passed} passed, {found.failed} failed, {found.skipped} skipped"


def _more(event: ContractEvaluated) -> Iterator[tuple[str, Content]]:
    blind = event.mutated.blind if event.mutated is not None else ()
    for name, found in (
        ("blind to other expected values", blind),
        ("judges not as they were frozen", event.tampered),
        ("changed outside of what it may touch", event.outside),
        ("new failures", event.new_failures),
        ("tests that disappeared", event.disappeared),
        ("not seen by the contract", event.left_out),
    ):
        if found:
            yield name, said(", ".join(found))
    if event.leftovers:
        yield "processes left running, and ended", str(event.leftovers)


def attempt(each: AttemptStory, cost: AttemptCost | None, room: Room, level: int) -> Html:
    """Return an attempt: who worked, what came of it, what was found."""
    ended = each.ended
    pairs: list[tuple[str, Content]] = [
        ("agent", each.agent),
        ("began", moment(each.begun)),
        ("used", _used(cost) if cost is not None else None),
    ]
    if ended is not None:
        pairs += [
            ("ended", join(ended.ending.value, " ", moment(each.when) if each.when else None)),
            ("model", ended.model),
            ("error of the agent", said(ended.error) if ended.error else None),
            ("why", said(ended.reason) if ended.reason else None),
            ("changed", said(", ".join(ended.changed)) if ended.changed else None),
            ("mended", said(", ".join(ended.mended)) if ended.mended else None),
        ]
    words = output(None, ended.output_tail, None, room.output) if ended else None
    return element(
        "section",
        heading(level, f"Attempt {each.number}"),
        facts(*pairs),
        fold_away("What the agent said, which nobody checked", words) if words else None,
        (_told(found, room) for found in each.told),
    )


def _used(cost: AttemptCost) -> str:
    return f"{amount(cost.tokens, cost.dollars)} ({cost.source.value})"


def _told(each: TellingEvent, room: Room) -> Html | None:
    match each.event:
        case ContractEvaluated() | BaselineObserved():
            return verdict(each, room)
        case FailureDetected(error_message=str(words)):
            return element("p", "Failed: ", said(words))
        case ScopeViolated() | JudgeTampered() as event:
            what = "Out of scope" if isinstance(event, ScopeViolated) else "Judges changed"
            back = "put back" if event.restored else "not put back"
            return element("p", f"{what}, {back}: ", said(", ".join(event.files)))
        case TaskCompleted() as event if event.evidence:
            return element("p", "Claimed: ", said(event.evidence))
        case _:
            words = said_of(each)
            return element("p", said(words), class_="dim") if words else None


def decision(each: TellingEvent) -> Html | None:
    """Return what a person decided about an item."""
    match each.event:
        case Waived() | Attested() | TaskSkipped() as event:
            who = f" by {event.by}" if event.by else ""
            return element(
                "p", said(decision_words(event)), text(who), " ", moment(each.when),
                element("span", f" event #{each.seq}", class_="dim"),
            )  # fmt: skip
        case _:
            return None


# -- a step or a condition -----------------------------------------------------------------------


class ItemBeside(NamedTuple):
    """What is known of an item from elsewhere."""

    plan: Plan
    costs: dict[int, AttemptCost]
    diff: TreeDiff | None
    room: Room
    level: int
    place: str
    """Its id in the page."""


def item(story: ItemStory, beside: ItemBeside) -> Html:
    """Return a step or a condition as the plan has it, with its verdict and its evidence."""
    found = story.item
    name = f"{story.number}. {story.title}"
    kind = "" if isinstance(found, Step) else f"{story.subject.value.capitalize()} "
    title = identity(beside.place, "title")
    given = found.task if isinstance(found, Step) else None
    task = element("pre", text(cut(given.text, 20_000)[0])) if given else None
    asked = demands(beside.plan, found)
    return element(
        "article",
        heading(beside.level, word(story.word), f" {kind}", said(name, 500), id=title),
        element("p", _in_short(story)),
        element("p", "Why: ", said(story.reason)) if story.reason else None,
        (decision(each) for each in story.later),
        fold_away("What the plan says", task, asked, open=True) if task or asked else None,
        contract(found),
        _evidence(story, beside),
        id=beside.place,
        class_=f"is-{colour_of(story.word)}",
        aria_labelledby=title,
    )


def _in_short(story: ItemStory) -> str:
    """Return in a line what its word rests on."""
    last = story.verdict
    count = len(story.attempts)
    parts = [f"{count} attempt{'' if count == 1 else 's'}"] if count else []
    if last is not None and isinstance(last.event, ContractEvaluated):
        event = last.event
        parts += [f"verdict {event.verdict.value}"]
        parts += [] if event.exit_code is None else [f"exit {event.exit_code}"]
        parts += [part for part in (_tests(event), event.evidence, event.isolation) if part]
        before = event.baseline or _before(story)
        parts += [f"before the work: {before.value}"] if before is not None else []
        if event.result is Result.HOLDS:
            parts.append("nobody saw the work make it so")
    elif story.attempts or story.is_settled:
        parts.append("no contract was judged")
    return " · ".join(parts) or "Nothing was done about it yet."


def _before(story: ItemStory) -> VerdictKind | None:
    looks = [each.event for each in story.looks]
    last = looks[-1] if looks else None
    return last.verdict if isinstance(last, BaselineObserved) else None


def _evidence(story: ItemStory, beside: ItemBeside) -> Html | None:
    room, level = beside.room, beside.level + 1
    shown, left_out = story.attempts, 0
    if len(shown) > room.attempts:
        left_out = len(shown) - room.attempts
        shown = (shown[0], *shown[left_out + 1 :])
    later = [
        verdict(each, room)
        for each in story.later
        if isinstance(each.event, ContractEvaluated | BaselineObserved)
    ]
    asked = [each for each in story.later if isinstance(each.event, RecoveryEscalation)]
    parts = [
        *(verdict(each, room) for each in story.looks),
        *(attempt(each, beside.costs.get(each.number), room, level) for each in shown),
        *later,
    ]
    changed = tree_diff(beside.diff, level) if beside.diff is not None else None
    if changed is None and (so_far := _so_far(asked)):
        changed = fold_away("Changed when a person was asked", diff(so_far))
    if not parts and changed is None:
        return None
    skipped = f" ({left_out} attempts in between are left out)" if left_out else ""
    return fold_away(f"Evidence{skipped}", parts, changed, open=not story.is_pass and bool(parts))


def _so_far(asked: Sequence[TellingEvent]) -> str:
    for each in reversed(asked):
        if isinstance(each.event, RecoveryEscalation) and each.event.diff:
            return cut(each.event.diff, 8_000)[0]
    return ""
