"""`/plan/X/step/N/attempt/K`: everything that was found about one attempt at a step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing

from planbound.errors import PlanboundError
from planbound.journal.event import BaselineObserved, ContractEvaluated
from planbound.judging.corroborate import kept
from planbound.judging.measurement import measured_outcome
from planbound.page.differences import text_difference
from planbound.page.parts import links
from planbound.page.run import last_verdict
from planbound.page.visit import (
    NoSuchPage,
    PageAnswer,
    PageRoute,
    PlainFile,
    ShownPage,
    Visit,
    address,
)
from planbound.receipts.fragments import Room, attempt, contract, decision, demands, verdict
from planbound.receipts.html import Content, Html, element, join, text
from planbound.receipts.page import PageOf
from planbound.receipts.pieces import (
    ROWS,
    cut,
    diff,
    facts,
    fold_away,
    heading,
    listed,
    said,
    table,
    tree_diff,
    word,
)
from planbound.receipts.predicate import ItemJudge
from planbound.receipts.story import AttemptStory, ItemStory
from planbound.receipts.trees import first_manifest, item_judges
from planbound.workspace.vault import open_vault

_ROOM = Room(output=40_000, attempts=1)
_PROMPT = 60_000
_GAP = "\n[...]\n"


def show_evidence(visit: Visit) -> PageAnswer:
    """Show one attempt with all of its evidence."""
    slug, number = visit.path["plan"], visit.path["attempt"]
    page = visit.board.page(visit.context, slug)
    step = find_step(page, visit.path["step"])
    place = next((at for at, each in enumerate(step.attempts) if str(each.number) == number), None)
    if place is None:
        raise NoSuchPage(f"{step.name} of `{slug}` has no attempt {number}.")
    this = step.attempts[place]
    before = step.attempts[place - 1] if place else None
    cost = next((each for each in page.story.costs
                 if each.step == step.id and each.attempt == this.number), None)  # fmt: skip
    content = join(
        heading(1, word(step.word), f" {step.name}, attempt {this.number}: ",
                said(step.title, 300)),
        _around(slug, step, place),
        element("p", "Why: ", said(step.reason)) if step.reason else None,
        (decision(each) for each in step.later),
        heading(2, "What has to hold"),
        contract(step.item),
        demands(page.story.plan, step.item),
        heading(2, "Before the work"),
        [verdict(each, _ROOM) for each in step.looks]
        or element("p", "Nobody looked at it before the work."),
        attempt(this, cost, _ROOM, 2),
        _whole_output(this),
        _tests(visit, this),
        _judges(visit, page, step),
        _changed(page, step, this),
        _prompt(this, before),
        element("h2", "What was found later") if _later(step) else None,
        _later(step),
    )  # fmt: skip
    return ShownPage(f"{step.name}, attempt {this.number}, of {slug}", content, at="/")


def find_step(page: PageOf, label: str) -> ItemStory:
    """Return a step by its number in the plan; raise NoSuchPage where there is none."""
    found = next((each for each in page.story.steps if each.number == label), None)
    if found is None:
        raise NoSuchPage(f"`{page.story.slug}` has no step {label}.")
    return found


def _around(slug: str, step: ItemStory, place: int) -> Html:
    def at(attempt: AttemptStory) -> str:
        return address("plan", slug, "step", step.number, "attempt", attempt.number)

    others = [(f"Attempt {each.number}", at(each)) for each in step.attempts]
    others.pop(place)
    return links("About this step", ("Plan", address("plan", slug)),
                 ("Run", address("plan", slug, "run")), *others)  # fmt: skip


def _later(step: ItemStory) -> list[Html]:
    return [
        verdict(each, _ROOM)
        for each in step.later
        if isinstance(each.event, ContractEvaluated | BaselineObserved)
    ]


# -- what was printed, and the tests ---------------------------------------------------------------


def _whole_output(this: AttemptStory) -> Html | None:
    """Return the links to all that is kept of what contracts printed."""
    told = [each for each in this.told if isinstance(each.event, ContractEvaluated)]
    rows = [
        (f"All that is kept of what the contract printed, event #{each.seq}",
         address("output", each.seq))
        for each in told
    ]  # fmt: skip
    return links("Outputs", *rows) if rows else None


def _tests(visit: Visit, this: AttemptStory) -> Html | None:
    """Return the tests of the last verdict by their names, failures first."""
    found = last_verdict(this)
    if found is None or found.tests is None:
        return None
    with closing(open_vault(visit.context)) as vault:
        names = kept(vault, found.tests.names)
    title = heading(2, "Tests by name")
    if names is None:
        return join(title, element("p", "The names of the tests are not kept any more."))
    rows = sorted(((each.outcome.value, each.id) for each in names), key=_failures_first)
    shown = [
        element("tr", element("td", word(result)), element("td", said(name, 400)))
        for result, name in rows
    ]
    return join(title, table(f"{len(rows):,} tests", ("result", "test"), shown))


def _failures_first(row: tuple[str, str]) -> tuple[bool, bool, str]:
    return row[0] == "passed", row[0] == "skipped", row[1]


# -- judges and files ------------------------------------------------------------------------------


def _judges(visit: Visit, page: PageOf, step: ItemStory) -> Html:
    """Return the files that the step is judged by, with the digests as they were frozen."""
    title = heading(2, "Judges")
    try:
        with closing(open_vault(visit.context)) as vault:
            base = first_manifest(vault, page.story.records)
            judges = item_judges(page.story.plan, base, vault)
    except PlanboundError as error:
        return join(title, element("p", f"The judges cannot be read: {error.message}."))
    at = page.story.items.index(step)
    if not judges:
        return join(title, element("p", "The files of that time are not kept any more."))
    rows = [_judge(each) for each in judges[at][:ROWS]]
    if not rows:
        return join(title, element("p", "No file judges it: the command does by itself."))
    changed = {each.path for each in page.judges.within}
    more = [each.path for each in judges[at] if each.path in changed]
    return join(
        title,
        element("p", "Not as they were approved: ", said(", ".join(more))) if more else None,
        table(f"Judges of {step.name}", ("file", "SHA-256", "may the plan change it"), rows),
    )


def _judge(each: ItemJudge) -> Html:
    return element(
        "tr",
        element("th", said(each.path, 400), scope="row"),
        element("td", element("code", each.sha256)),
        element("td", "yes" if each.editable else "no"),
    )


def _changed(page: PageOf, step: ItemStory, this: AttemptStory) -> Html:
    """Return what the step changed, within and outside of what it may touch."""
    title, found = heading(2, "Changed files"), page.diffs.get(step.number)
    if found is not None and this is step.attempts[-1]:
        shown = tree_diff(found, 3)
        return join(title, shown or element("p", "No file is another one."))
    ended = this.ended
    asked = _asked_with(step) if this is step.attempts[-1] else ""
    names = list(ended.changed or ()) if ended is not None else []
    outside = [path for each in this.told for path in getattr(each.event, "outside", None) or ()]
    return join(
        title,
        facts(
            ("outside of what it may touch", said(", ".join(dict.fromkeys(outside))))
            if outside else ("outside of what it may touch", "nothing"),
            ("changed", said(", ".join(names)) if names else "nothing that is on record"),
        ),
        fold_away("As it was when a person was asked", diff(asked), open=True) if asked else
        element("p", "The lines are kept of the attempt with which a step is settled.",
                class_="dim"),
    )  # fmt: skip


def _asked_with(step: ItemStory) -> str:
    found = [getattr(each.event, "diff", None) for each in step.later]
    for attempt_ in step.attempts:
        found += [getattr(each.event, "diff", None) for each in attempt_.told]
    return next((cut(each, 20_000)[0] for each in reversed(found) if each), "")


# -- what the agent was told -----------------------------------------------------------------------


def _prompt(this: AttemptStory, before: AttemptStory | None) -> Html:
    """Return what the agent was told, and what more than the time before."""
    return join(heading(2, "What the agent was told"), *_prompt_parts(this, before))


def _prompt_parts(this: AttemptStory, before: AttemptStory | None) -> Iterator[Content]:
    ended = this.ended
    if ended is None or not ended.prompt:
        yield element("p", "It is on record once the attempt has ended.")
        return
    context = ended.subscriptions or ()
    if context:
        yield element("p", "Context that it got:")
        yield listed(said(each, 400) for each in context)
    if before is not None and before.ended is not None and before.ended.prompt:
        names = (f"attempt {before.number}", f"attempt {this.number}")
        yield element("p", f"What it was told otherwise than in {names[0]}:")
        yield text_difference(before.ended.prompt, ended.prompt, names)
    begin, left_out, end = cut(ended.prompt, _PROMPT)
    gap = f"\n[… {left_out:,} characters left out …]\n" if left_out else None
    yield fold_away("All of it", element("pre", text(begin), gap, text(end)))


# -- the whole output ------------------------------------------------------------------------------


def show_output(visit: Visit) -> PageAnswer:
    """Show all that is kept of what a contract printed, as plain text."""
    seq = visit.path["seq"]
    event = visit.board.event(int(seq)) if seq.isdecimal() and len(seq) < 19 else None
    if not isinstance(event, ContractEvaluated | BaselineObserved):
        raise NoSuchPage(f"Event {seq} is no verdict.")
    clean = visit.context.redactor.redact
    folder = visit.context.state.folder
    outcome = measured_outcome(folder, event.measured) if event.measured is not None else None
    if outcome is not None:
        parts = ((name, stream.text()) for name, stream in
                 (("stdout", outcome.stdout), ("stderr", outcome.stderr)))  # fmt: skip
        whole = "".join(f"--- {name}\n{clean(said_).text}\n" for name, said_ in parts if said_)
    else:
        whole = _of_the_journal(event)
    return PlainFile(whole.encode("utf-8", "replace"), f"output-{seq}.txt")


def _of_the_journal(event: ContractEvaluated | BaselineObserved) -> str:
    """Return what the journal has of an output: all of a small one, of a large one both ends."""
    head, tail, size = event.output_head or "", event.output_tail or "", event.output_size
    if not head and size is not None and len(tail.encode("utf-8", "surrogateescape")) >= size:
        return f"{tail}\n"
    return (
        f"--- both ends, as the journal has them; {size if size is not None else 'unknown'}"
        " bytes in all, of which the rest is not kept any more\n"
        f"{head}{_GAP if head else ''}{tail}\n"
    )


ROUTES = [
    PageRoute("GET", "/plan/{plan}/step/{step}/attempt/{attempt}", show_evidence),
    PageRoute("GET", "/output/{seq}", show_output),
]
