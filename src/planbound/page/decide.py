"""What every decision on the page goes through: who decides, what they saw, and what is there now.

Of two who decide at once one wins; the other is shown what became different. What is done is done
by the same functions as on the command line.
"""

from __future__ import annotations

import getpass
import hashlib
import os
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from planbound.approval.approve import Candidate, bring
from planbound.cells.isolation import refuse_in_cell
from planbound.disk.files import PlanFile
from planbound.errors import PlanboundError, UsageError
from planbound.git.place import at_worktree
from planbound.journal.event import EventKind
from planbound.journal.record import Query
from planbound.journal.words import PersonMethod
from planbound.judging.restore import difference
from planbound.page.forms import text_field
from planbound.page.nonce import Difference, ShownState, differences
from planbound.page.story_line import event_line
from planbound.page.visit import NoSuchPage, PageAnswer, ShownPage, Visit, address
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.pieces import diff, heading, table
from planbound.run.people import Person
from planbound.session.hosts.hand import refuse_agents
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.locate import locate
from planbound.workspace.vault import open_vault

DECISIONS = (
    EventKind.PLAN_CREATED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.PLAN_ARCHIVED,
    EventKind.GATE_APPROVED,
    EventKind.GATE_REJECTED,
    EventKind.GATE_CLARIFICATION_ASKED,
    EventKind.EXECUTION_STARTED,
    EventKind.EXECUTION_CANCELLED,
    EventKind.EXECUTION_COMPLETE,
)
"""The events after which a decision about a plan is another one than before."""
BY = "by"
"""The field in which a form says who decides."""
_LONGEST_NAME = 200
_TOLD = 20


class ChangedMeanwhile(Exception):  # noqa: N818 - it is an answer, not an error
    """What a decision was about is not there any more; `content` shows what became different."""

    def __init__(self, title: str, *content: Content) -> None:
        super().__init__(title)
        self.title = title
        self.content = content


def decision(answer: Callable[[Visit], PageAnswer]) -> Callable[[Visit], PageAnswer]:
    """Let one decide at a time, and no agent; who comes too late is shown the difference."""
    by_person = by_a_person(answer)

    def decided(visit: Visit) -> PageAnswer:
        with visit.board.deciding:
            return by_person(visit)

    return decided


def by_a_person(answer: Callable[[Visit], PageAnswer]) -> Callable[[Visit], PageAnswer]:
    """Let no agent do something that has a lock of its own, and may take long."""

    def done(visit: Visit) -> PageAnswer:
        refuse_in_cell()
        refuse_agents(visit.context.root, visit.context.given_state, os.environ)
        try:
            return answer(visit)
        except ChangedMeanwhile as changed:
            content = join(heading(1, changed.title), *changed.content)
            return ShownPage(changed.title, content, status=409)

    return done


# -- who decides ---------------------------------------------------------------------------------


def who_field(label: str = "Who decides", *, given: str | None = None) -> Html:
    """Return the field for the name of whoever decides; a name that was given stays."""
    name = _login() if given is None else given
    return text_field(BY, label, value=name, required=True, most=_LONGEST_NAME)


def the_person(visit: Visit) -> Person:
    """Return who decides; refuse nobody."""
    name = visit.form.get(BY, "").strip()
    if not name or len(name) > _LONGEST_NAME:
        raise UsageError("it is not said who decides", hint="write a name beside the button")
    return Person(name, PersonMethod.PAGE)


def _login() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""


# -- what is decided about -----------------------------------------------------------------------


class PlanAtHand(NamedTuple):
    """A plan as it is at this moment, and what a decision about it is bound to."""

    candidate: Candidate
    shown: ShownState

    @property
    def slug(self) -> str:
        """Return its name."""
        return self.candidate.file.slug


def find_plan(visit: Visit) -> PlanFile:
    """Return the plan that an address names."""
    slug = visit.path["plan"]
    try:
        return locate(slug, visit.context.tree)
    except PlanboundError as error:
        state = visit.board.states.get(slug)
        if state is not None and state.archived:
            raise NoSuchPage(
                f"`{slug}` was put away: nothing is decided about it any more."
            ) from error
        raise NoSuchPage(f"There is no plan `{slug}`.") from error


def plan_now(visit: Visit) -> PlanAtHand:
    """Return the plan that an address names, as its file and the journal have it now."""
    file = find_plan(visit)
    context = at_worktree(visit.context, file)
    data = context.reader.read(file.path)
    candidate = Candidate(context, file, data, parse(data, path=file.shown))
    shown = shown_now(candidate)
    # To look at a plan puts nothing on record; that it is seen is no decision.
    return PlanAtHand(bring(context, file, data) if visit.is_change else candidate, shown)


def with_text(now: PlanAtHand) -> PlanAtHand:
    """Return a plan whose lines a decision is bound to, and not only what they mean."""
    text = hashlib.sha256(now.candidate.data).hexdigest()
    return now._replace(shown=msgspec.structs.replace(now.shown, text=text))


def shown_now(candidate: Candidate) -> ShownState:
    """Return what a decision about a plan is bound to, before its judges were looked at."""
    return ShownState(
        plan=candidate.file.slug,
        digest=digest(candidate.plan),
        configuration=configuration_digest(candidate.context.configuration),
        seq=last_decision(candidate),
    )


def last_decision(candidate: Candidate) -> int:
    """Return the number of the last event after which a plan is decided about anew."""
    journal = candidate.context.existing_journal()
    if journal is None:
        return 0
    last = Query(plan=candidate.file.slug, events=DECISIONS, last=1)
    return next((record.seq for record in journal.read(last)), 0)


# -- whether it is still what was shown ----------------------------------------------------------


def refuse_stale(visit: Visit, now: PlanAtHand, current: ShownState | None = None) -> None:
    """Refuse a decision about something that is not any more as it was shown."""
    found = differences(visit.shown, current or now.shown)
    if found:
        raise stale(visit, now, found)


def stale(
    visit: Visit, now: PlanAtHand, found: tuple[Difference, ...], *more: Content
) -> ChangedMeanwhile:
    """Return what is shown to who decided about something that is not so any more."""
    return ChangedMeanwhile(
        "Something changed since this was shown: nothing was decided",
        element("p", "Look at what became different, then decide again."),
        difference_table(found),
        *more,
        _text_difference(visit, now),
        _events_since(visit, now),
        element("p", served("a", "Look at the plan as it is now",
                            href=address("plan", now.slug, "gate"))),
    )  # fmt: skip


def difference_table(found: tuple[Difference, ...]) -> Html:
    """Return what is different, as it was and as it is."""
    return table("What is different", ("what", "when it was shown", "now"), [
        element("tr", element("th", each.what, scope="row"),
                element("td", element("code", each.then)), element("td", element("code", each.now)))
        for each in found
    ])  # fmt: skip


def _text_difference(visit: Visit, now: PlanAtHand) -> Html | None:
    """Return what is different in the text, where the text that was shown is known."""
    if visit.shown.digest == now.shown.digest:
        return None
    before = kept_text(now.candidate, visit.shown.digest)
    if before is None:
        return None
    lines = difference(now.candidate.file.shown, before, now.candidate.data)
    clean = visit.context.redactor.redact(lines).text
    return element("section", heading(2, "The text"), diff(clean))


def kept_text(candidate: Candidate, wanted: str) -> bytes | None:
    """Return a text of a plan that somebody was asked about, by its digest."""
    journal = candidate.context.existing_journal()
    if journal is None:
        return None
    key = None
    for record in journal.read(Query(plan=candidate.file.slug, events=_WITH_TEXT)):
        event = record.event
        for name, kept in (("digest", "text"), ("from_", "text_before"), ("to", "text")):
            if getattr(event, name, None) == wanted and getattr(event, kept, None):
                key = getattr(event, kept)
    return open_vault(candidate.context).content(bytes.fromhex(key)) if key is not None else None


_WITH_TEXT = (
    EventKind.GATE_APPROVAL_REQUESTED,
    EventKind.GATE_APPROVED,
    EventKind.PLAN_REWRITTEN,
)


def _events_since(visit: Visit, now: PlanAtHand) -> Html | None:
    """Return what was decided meanwhile."""
    journal = now.candidate.context.existing_journal()
    if journal is None:
        return None
    asked = Query(plan=now.slug, events=DECISIONS, after=visit.shown.seq)
    records = list(journal.read(asked))[-_TOLD:]
    if not records:
        return None
    return element(
        "section",
        heading(2, "What happened meanwhile"),
        element("ol", map(event_line, records), class_="timeline"),
    )
