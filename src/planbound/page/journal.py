"""`/journal`: what happened, searched and paged on the server, with the state of the chain."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.errors import JournalProblem
from planbound.journal.chain import Anchor, AnchorState, compare
from planbound.journal.event import EventKind
from planbound.journal.record import CodecError, Journal, Query, Record
from planbound.page.parts import older_newer, say
from planbound.page.story_line import event_line
from planbound.page.visit import NoSuchPage, PageAnswer, PageRoute, ShownPage, Visit, address
from planbound.plan.vocabulary import nearest
from planbound.receipts.html import Content, Html, element, join, served, text
from planbound.receipts.pieces import cut, facts, heading, moment, said, table, word

PAGE = 100
"""So many events are on a page."""
LOOKED_AT = 10_000
"""So many events are looked at for what somebody searches, before they are asked to go on."""


class EventSearch(NamedTuple):
    """Which events somebody asks for."""

    plan: str | None
    kind: EventKind | None
    words: str
    before: int | None
    """Only events with a lower number: an older page."""

    def at(self, before: int | None) -> str:
        """Return the address of another page of the same."""
        kind = self.kind.value if self.kind is not None else None
        return address("journal", plan=self.plan, event=kind, q=self.words or None, before=before)


class EventPage(NamedTuple):
    """A page of events, the last first."""

    records: Sequence[Record]
    older: int | None
    """Before which number there may be more."""
    looked_at: int | None = None
    """How far a search came that did not fill its page."""


def show_journal(visit: Visit) -> PageAnswer:
    """Show events, the last ones first."""
    wanted, problem = _wanted(visit.query)
    journal = visit.context.existing_journal()
    found = EventPage((), None) if journal is None else find(journal, wanted)
    content = join(
        heading(1, "Journal"),
        element("p", *_chain(visit, journal), role="status"),
        _search(wanted),
        say(problem) if problem else None,
        _listed(found),
        element("p", f"Nothing more was found back to event #{found.looked_at}; "
                "older events were not looked at yet.") if found.looked_at else None,
        older_newer(
            wanted.at(found.older) if found.older else None,
            wanted.at(None) if wanted.before is not None else None,
            newer_says="Newest",
        ),
    )  # fmt: skip
    return ShownPage("Journal", content, at="/journal")


def _wanted(query: Mapping[str, str]) -> tuple[EventSearch, str | None]:
    """Return what is asked for, and what of it makes no sense."""
    name = query.get("event", "").strip().upper().replace("-", "_")
    kind = EventKind.__members__.get(name)
    problem = None
    if name and kind is None:
        near = nearest(name, EventKind.__members__)
        meant = f" Did you mean `{near}`?" if near else ""
        problem = f"There is no event `{name[:60]}`.{meant} All events are shown."
    before = query.get("before", "")
    number = int(before) if before.isdecimal() and len(before) <= 18 else None
    plan = query.get("plan", "").strip() or None
    return EventSearch(plan, kind, query.get("q", "").strip()[:200], number), problem


def find(journal: Journal, wanted: EventSearch) -> EventPage:
    """Return a page of events; a search looks at so many, from the last one backwards."""
    kinds = () if wanted.kind is None else (wanted.kind,)
    query = Query(plan=wanted.plan, events=kinds, before=wanted.before)
    if not wanted.words:
        records = _last(journal, query, PAGE + 1)
        more = len(records) > PAGE
        return EventPage(records[:PAGE], records[PAGE - 1].seq if more else None)
    matching: list[Record] = []
    looked = 0
    while looked < LOOKED_AT:
        records = _last(journal, query, 2_000)
        for record in records:
            if is_about(record, wanted.words):
                matching.append(record)
            if len(matching) == PAGE:
                return EventPage(matching, record.seq)
        if len(records) < 2_000:
            return EventPage(matching, None)
        looked += len(records)
        query = Query(plan=wanted.plan, events=kinds, before=records[-1].seq)
    return EventPage(matching, query.before, query.before)


def _last(journal: Journal, query: Query, count: int) -> list[Record]:
    whole = Query(plan=query.plan, events=query.events, before=query.before, last=count)
    return list(journal.read(whole))[::-1]


def is_about(record: Record, words: str) -> bool:
    """Say whether an event has all of some words in it, in small or large letters."""
    draft = record.draft
    names = f"{draft.plan}\n{draft.kind.value}\n{draft.task_id}\n{draft.task_name}"
    everything = f"{names}\n{draft.details.text}".lower()
    wanted = [(each, json.dumps(each)[1:-1]) for each in words.lower().split()]
    if all(each in everything or written in everything for each, written in wanted):
        return True
    # Details are kept as JSON of nothing but ASCII: large letters in it that are escaped are
    # made small only where somebody looks for one.
    if words.isascii() or "\\u" not in draft.details.text:
        return False
    try:
        everything += "\n" + json.dumps(draft.details.json(), ensure_ascii=False).lower()
    except CodecError:  # an event that nobody can read is found by what stands there
        return False
    return all(each in everything or written in everything for each, written in wanted)


def _search(wanted: EventSearch) -> Html:
    kinds = [served("option", "all events", value="", selected=wanted.kind is None)]
    kinds += [
        served("option", each.value, value=each.value, selected=each is wanted.kind)
        for each in EventKind
    ]
    return served(
        "form",
        served("label", element("span", "Search for"),
               served("input", type="search", name="q", value=wanted.words, maxlength=200,
                      data_key="/")),
        served("label", element("span", "Plan"),
               served("input", type="text", name="plan", value=wanted.plan or "", maxlength=100)),
        served("label", element("span", "Event"), served("select", kinds, name="event")),
        served("button", "Search", type="submit"),
        method="get", action="/journal", role="search", class_="in-a-row",
    )  # fmt: skip


def _listed(found: EventPage) -> Html:
    if not found.records:
        return element("p", "There is no such event.")
    lines = (event_line(each, with_plan=True) for each in found.records)
    return element("ol", lines, class_="plain timeline", aria_label="Events, the last first")


# -- the chain -------------------------------------------------------------------------------------


_ANCHOR = {
    AnchorState.INTACT: "it still holds what was noted apart from it",
    AnchorState.UNANCHORED: "nothing was noted apart from it yet",
}


def _chain(visit: Visit, journal: Journal | None) -> Iterator[Content]:
    """Yield whether the journal is as it was written, as far as that was checked."""
    if journal is None:
        yield "Nothing has happened yet: there is no journal."
        return
    head, board = journal.head(), visit.board
    try:
        state, noted = _anchor(visit, journal)
    except JournalProblem as error:
        state, noted = None, error.message
    upto = board.head.seq
    if board.faults or state not in _ANCHOR:
        yield word("broken")
    elif upto > 0:
        yield word("whole")
    yield f" {head.seq:,} events, the last one "
    yield element("code", head.hash[:16])
    checked = f"; the hashes up to event #{upto:,} were checked" if upto else "; not checked yet"
    yield "; the hash of each was checked" if 0 < head.seq <= upto else checked
    if board.faults:
        places = ", ".join(f"#{seq}" for seq in board.faults[:5])
        yield f", and these are not as they were written: {places}"
    yield f"; {noted}. "
    yield element("code", "planbound log --verify")
    yield " checks all of it anew."


def _anchor(visit: Visit, journal: Journal) -> tuple[AnchorState, str]:
    """Return how the journal stands to what was noted of it elsewhere."""
    anchor: Anchor | None = visit.context.anchors().read()
    at_anchor = None
    if anchor is not None and anchor.seq > 0:
        found = next(iter(journal.read(Query(after=anchor.seq - 1, before=anchor.seq + 1))), None)
        at_anchor = found if found is not None and found.seq == anchor.seq else None
    state = compare(anchor, journal.head(), at_anchor)
    return state, _ANCHOR.get(state, f"it is {state.value}, by what was noted apart from it")


# -- one event -------------------------------------------------------------------------------------


_LONGEST = 20_000


def show_event(visit: Visit) -> PageAnswer:
    """Show all that one event tells."""
    given = visit.path["seq"]
    seq = int(given) if given.isdecimal() and len(given) <= 18 else 0
    journal = visit.context.existing_journal()
    read = () if journal is None else journal.read(Query(after=seq - 1, before=seq + 1))
    record = next(iter(read), None) if seq else None
    if journal is None or record is None:
        raise NoSuchPage(f"There is no event {given}.")
    draft = record.draft
    rows = [
        element("tr", element("th", name, scope="row"), element("td", _value(value)))
        for name, value in draft.details.json().items()
    ]
    content = join(
        heading(1, f"Event #{record.seq}: {draft.kind.value}"),
        facts(
            ("when", moment(draft.timestamp)),
            ("plan", served("a", draft.plan, href=address("plan", draft.plan))
             if draft.plan else None),
            ("step", said(draft.task_name or draft.task_id or "") or None),
            ("id", element("code", draft.id)),
            ("version", str(record.version)),
            ("provenance", draft.provenance.value),
            ("secrets taken out", str(draft.redactions)),
            ("hash", element("code", record.hash)),
            ("hash before", element("code", record.prev)),
        ),
        table("What it tells", ("name", "value"), rows) if rows else None,
        older_newer(
            address("journal", record.seq - 1) if record.seq > 1 else None,
            address("journal", record.seq + 1) if record.seq < journal.head().seq else None,
        ),
    )  # fmt: skip
    return ShownPage(f"Event #{record.seq}", content, at="/journal")


def _value(value: object) -> Html:
    if isinstance(value, str) and "\n" in value:
        begin, left_out, end = cut(value, _LONGEST)
        gap = f"\n[… {left_out:,} characters left out …]\n" if left_out else None
        return element("pre", text(begin), gap, text(end))
    shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return join(said(shown, _LONGEST))


ROUTES = [
    PageRoute("GET", "/journal", show_journal, reads_fold=False),
    PageRoute("GET", "/journal/{seq}", show_event, reads_fold=False),
]
