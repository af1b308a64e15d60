"""`/inbox`: what waits for a person, with the evidence beside it and the answers as buttons."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.errors import NothingToDo, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Query
from planbound.journal.words import QuestionKind
from planbound.page import question as asked
from planbound.page.decide import ChangedMeanwhile, decision, the_person, who_field
from planbound.page.forms import button, form, text_area
from planbound.page.nonce import differences
from planbound.page.parts import kept_live
from planbound.page.plans import can_go_on, drivers, resume_command
from planbound.page.question import bound_to, place_of
from planbound.page.story_line import event_line
from planbound.page.visit import (
    GoTo,
    PageAnswer,
    PageRoute,
    PartOfPage,
    ShownPage,
    Visit,
    address,
)
from planbound.receipts.html import Content, Html, element, join, served
from planbound.receipts.pieces import heading, listed, said, word
from planbound.run.people import Person, attest, decided_state, questions, waive
from planbound.run.reply import PersonsAnswer, reply
from planbound.session.people import release_plan
from planbound.state.question import Question
from planbound.workspace.locate import locate
from planbound.workspace.overview import show
from planbound.workspace.told import deliveries

_TOLD = 10
_ANSWERS = (
    EventKind.RECOVERY_ESCALATION,
    EventKind.GATE_APPROVED,
    EventKind.GATE_REJECTED,
    EventKind.GATE_CLARIFICATION_ASKED,
    EventKind.BUDGET_RAISED,
    EventKind.WAIVED,
    EventKind.ATTESTED,
    EventKind.TASK_SKIPPED,
    EventKind.TASK_COMPLETED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.SESSION_RELEASED,
    EventKind.EXECUTION_CANCELLED,
    EventKind.EXECUTION_COMPLETE,
)


# -- what is shown -------------------------------------------------------------------------------


def show_inbox(visit: Visit) -> PageAnswer:
    """Show every question that is open, the oldest first."""
    plan = visit.query.get("plan") or None
    waiting = [each for each in visit.board.waiting if plan in {None, each.plan}]
    own = address("inbox", plan=plan)
    # What somebody writes into a field stays: only the line above says that there is more.
    part = kept_live("waiting-now", own, _waits(waiting, plan, own), _standing_still(visit, plan))
    if visit.accepts_part:
        return PartOfPage(part)
    content = join(
        heading(1, "Inbox"),
        part,
        element("p", served("a", "All questions", href="/inbox")) if plan else None,
        (shown_question(visit, each) for each in waiting),
    )
    live = address("live", plan=plan, after=visit.board.head.seq, quiet=1)
    return ShownPage("Inbox", content, at="/inbox", live=live)


def _waits(waiting: Sequence[Question], plan: str | None, own: str) -> Html:
    count = len(waiting)
    words = "Nothing waits" if not count else f"{count} question{'' if count == 1 else 's'} wait"
    words += "s" if count == 1 else ""
    about = f" about {plan}" if plan else ""
    last = f", the last since {waiting[-1].since[11:19]} UTC" if count else ""
    return element("p", f"{words} for a person{about}{last}. ",
                   served("a", "Look again", href=own), role="status")  # fmt: skip


def _standing_still(visit: Visit, plan: str | None) -> Html | None:
    """Return which runs have every answer, and wait only for somebody to go on with them."""
    held = drivers(visit.context)
    found = [slug for slug, state in sorted(visit.board.states.items())
             if plan in {None, slug} and can_go_on(state, held.get(slug))]  # fmt: skip
    if not found:
        return None
    return join(
        element("p", "Nobody drives these runs now, and nothing holds them up:"),
        listed(element("code", said(resume_command(slug))) for slug in found),
    )


def shown_question(visit: Visit, question: Question) -> Html:
    """Return a question with its evidence and its answers."""
    place = f"question-{question.id}"
    return element(
        "article",
        heading(2, served("a", question.plan, href=address("plan", question.plan)),
                f", {place_of(question)} ", word("waiting"), f" {question.kind.value}", id=place),
        asked.evidence(visit, question),
        _told(visit, question),
        asked.ways_on(question),
        *_forms(visit, question),
        class_="item is-waiting",
        aria_labelledby=place,
    )  # fmt: skip


def _told(visit: Visit, question: Question) -> Html | None:
    """Return whether those who are to be told of a question were."""
    found = deliveries(visit.context, [question])
    if not found:
        return None
    return element(
        "p",
        "Notifications: ",
        *(join("; " if place else "", said(each.target), " ", word(each.arrival.value),
               join(" ", said(each.reason, 300)) if each.reason else None)
          for place, each in enumerate(found)),
    )  # fmt: skip


def _forms(visit: Visit, question: Question) -> Iterator[Content]:
    if not visit.rights.decides:
        yield element(
            "p", element("code", f"planbound inbox {question.id}"), " shows how to answer."
        )
        return
    yield from asked.answers(visit, question, address("inbox", question.id), who=who_field())
    if question.kind is QuestionKind.INCOMPLETE:
        yield form(
            visit, address("inbox", question.id, "release"), bound_to(question),
            text_area("reason", "Why the plan is taken from its agent", required=True, rows=2),
            who_field(), button("Release the plan"),
            label=f"Release {question.plan}",
        )  # fmt: skip
    yield asked.waive_form(visit, question)


# -- what is decided -----------------------------------------------------------------------------


def still_open(visit: Visit) -> Question:
    """Return the question that was shown; refuse where it does not wait as it did."""
    journal = visit.context.existing_journal()
    waiting = questions(journal, visit.shown.plan or None) if journal is not None else []
    name = visit.shown.question
    found = next((each for each in waiting if each.id == name), None)
    if found is None:
        raise ChangedMeanwhile(
            "This question does not wait any more: nothing was done",
            _since(visit),
            element("p", served("a", "What waits now", href="/inbox")),
        )
    if different := differences(visit.shown, bound_to(found)):
        what = ", ".join(each.what for each in different)
        raise ChangedMeanwhile(
            "This question is not as it was shown: nothing was done",
            element("p", f"Another one is {what}."),
            _since(visit),
            element("p", served("a", "What waits now", href="/inbox")),
        )
    return found


def _since(visit: Visit) -> Html | None:
    journal = visit.context.existing_journal()
    if journal is None:
        return None
    query = Query(plan=visit.shown.plan, events=_ANSWERS, after=visit.shown.seq)
    records = list(journal.read(query))[-_TOLD:]
    if not records:
        return None
    return element("section", heading(2, "What happened meanwhile"),
                   element("ol", map(event_line, records), class_="plain timeline"))  # fmt: skip


def give_answer(visit: Visit) -> PageAnswer:
    """Put an answer on record."""
    question = _named(visit)
    settle(visit, question, the_person(visit))
    return GoTo("/inbox")


def settle(visit: Visit, question: Question, who: Person) -> str:
    """Answer a question as its form says; return the answer in a word."""
    choice = visit.form.get(asked.CHOICE)
    if choice == "attest":
        return _attested(visit, question, who)
    given = PersonsAnswer(
        choice,
        guidance=visit.form.get(asked.GUIDANCE, "").strip(),
        budget=visit.form.get(asked.BUDGET, "").strip(),
        text=visit.form.get(asked.TEXT, ""),
    )
    return reply(visit.context, question, given, who)


def _attested(visit: Visit, question: Question, who: Person) -> str:
    context = visit.context
    file = locate(question.plan, context.tree)
    state = decided_state(context, file, context.reader.read(file.path))
    subject = asked.subject_of(question)
    return attest(context.recorder(), file.slug, state, subject, who)


def _named(visit: Visit) -> Question:
    if visit.path["question"] != visit.shown.question:
        raise NothingToDo("that form is of another question")
    return still_open(visit)


def give_waiver(visit: Visit) -> PageAnswer:
    """Go on without a pass, once the reason was written twice."""
    question = _named(visit)
    reason = visit.form.get(asked.REASON, "").strip()
    if not reason:
        raise UsageError("the reason is empty", hint="say why it goes on without a pass")
    again = visit.form.get(asked.AGAIN)
    if again is None or again.split() != reason.split():
        return _asked_again(visit, question, reason, wrong=again is not None)
    context, who = visit.context, the_person(visit)
    file = locate(question.plan, context.tree)
    state = decided_state(context, file, context.reader.read(file.path))
    waive(context.recorder(), file.slug, state, asked.subject_of(question), reason, who)
    return GoTo("/inbox")


def _asked_again(visit: Visit, question: Question, reason: str, *, wrong: bool) -> PageAnswer:
    """Show the question once more, and ask for the reason a second time."""
    with visit.board.lock:
        visit.board.refresh()
        evidence = asked.evidence(visit, question)
    content = join(
        heading(1, "Waive ", place_of(question), " of ", question.plan),
        element("p", word("not the same"), " The two reasons are not the same.",
                role="alert") if wrong else None,
        evidence,
        asked.waive_form(visit, question, reason=reason),
        element("p", served("a", "Do not waive it", href="/inbox")),
    )  # fmt: skip
    return ShownPage("Waive", content, status=422 if wrong else 200, at="/inbox")


def give_release(visit: Visit) -> PageAnswer:
    """Take a plan from an agent that stopped."""
    question = _named(visit)
    reason = visit.form.get("reason", "").strip()
    if not reason:
        raise UsageError("the reason is empty", hint="say why it is taken away")
    file = locate(question.plan, visit.context.tree)
    release_plan(visit.context, file, the_person(visit), reason)
    show(visit.context, file)
    return GoTo("/inbox")


def _beside(visit: Visit, slug: str) -> Content:
    """Return what of a plan waits for a person, for its own pages."""
    waiting = [each for each in visit.board.waiting if each.plan == slug]
    if not waiting:
        return None
    return element(
        "section",
        heading(2, "Waits for a person"),
        element("ul", (
            element("li", served("a", place_of(each), href=f"/inbox#question-{each.id}"), ": ",
                    said(each.reason, 300))
            for each in waiting
        )),
        class_="notice",
        aria_label="Waits for a person",
    )  # fmt: skip


ROUTES = [
    PageRoute("GET", "/inbox", show_inbox),
    PageRoute("POST", "/inbox/{question}", decision(give_answer)),
    PageRoute("POST", "/inbox/{question}/waive", decision(give_waiver)),
    PageRoute("POST", "/inbox/{question}/release", decision(give_release)),
]
BESIDE = {"plan": _beside, "run": _beside}
