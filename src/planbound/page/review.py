"""`/plan/X/review`: comments beside the lines of a plan, sent as one, each with its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.approval.approve import Candidate
from planbound.approval.review import KINDS, LineComment, ReviewComment, comments_of, send_review
from planbound.errors import NothingToDo, UsageError
from planbound.journal.record import Query
from planbound.page.decide import (
    decision,
    plan_now,
    refuse_stale,
    the_person,
    who_field,
    with_text,
)
from planbound.page.forms import button, form, text_area
from planbound.page.inbox import still_open
from planbound.page.parts import plan_links
from planbound.page.question import bound_to
from planbound.page.visit import GoTo, PageAnswer, PageRoute, ShownPage, Visit, address
from planbound.receipts.html import Html, element, join, text
from planbound.receipts.pieces import heading, listed, moment, said, word
from planbound.run.people import clarify
from planbound.state.question import Question

_FIELD = "line-"
_MOST_DIGITS = 9
_MOST_LINES = 2_000
"""Of a longer plan the rest has no fields: nobody comments on that by hand."""


def comments_on(candidate: Candidate) -> tuple[ReviewComment, ...]:
    """Return what was asked about a plan, with the answers."""
    journal = candidate.context.existing_journal()
    if journal is None:
        return ()
    return comments_of(journal.read(Query(plan=candidate.file.slug, events=KINDS)))


# -- what is shown -------------------------------------------------------------------------------


def show_review(visit: Visit) -> PageAnswer:
    """Show the plan line by line, with what was said about each, and a field for more."""
    now = with_text(plan_now(visit))
    lines = _lines(now.candidate)
    found = comments_on(now.candidate)
    placed: dict[int, list[ReviewComment]] = {}
    others: list[ReviewComment] = []
    for each in found:
        place = each.place(lines)
        if place is None:
            others.append(each)
        else:
            placed.setdefault(place, []).append(each)
    waiting = sum(each.is_open for each in found)
    count = f"{waiting} comment{'' if waiting == 1 else 's'} wait{'s' if waiting == 1 else ''}"
    decides = visit.rights.decides
    clean = [visit.context.redactor.redact(line).text for line in lines]
    rows = element("ol", _rows(clean, placed, fields=decides), class_="lines")
    return ShownPage(
        f"Comments on {now.slug}",
        join(
            heading(1, "Comments on ", now.slug),
            plan_links(now.slug, address("plan", now.slug, "review")),
            element("p", f"{count} for an answer."),
            _others(others),
            form(
                visit, address("plan", now.slug, "review"), now.shown,
                element("p", "Open a line to write beside it. All comments are sent as one review;"
                             " the plan waits until each has an answer, or is another text."),
                rows, who_field("Who asks"), button("Send the review", class_="first"),
                label="Comments on lines",
            ) if decides else rows,
            _answers(visit, found),
        ),
        at="/",
    )  # fmt: skip


def _lines(candidate: Candidate) -> list[str]:
    lines = candidate.plan.source.lines
    return lines[:-1] if lines and not lines[-1] else lines


def _rows(
    lines: Sequence[str], placed: dict[int, list[ReviewComment]], *, fields: bool
) -> Iterator[Html]:
    for number, line in enumerate(lines, 1):
        mark = element("span", number, class_="line-number")
        code = element("code", text(line) if line else " ")
        there = placed.get(number, ())
        can = fields and number <= _MOST_LINES and line.strip()
        yield element(
            "li",
            element(
                "details",
                element("summary", mark, code),
                text_area(f"{_FIELD}{number}", f"Comment on line {number}", rows=2),
            )
            if can
            else element("div", mark, code),
            element("ul", map(_comment, there), class_="plain comments") if there else None,
            id=f"line-{number}",
        )


def _comment(comment: ReviewComment) -> Html:
    state = word("waiting") if comment.is_open else None
    return element(
        "li",
        element("p", element("strong", comment.by), ": ", said(comment.words), " ",
                moment(comment.at), join(" ", state) if state is not None else None),
        listed(
            join("changed: " if each.is_change else "", said(each.words),
                 f" by {each.by} " if each.by else " ", moment(each.at))
            for each in comment.replies
        ),
        id=f"comment-{comment.id}",
    )  # fmt: skip


def _others(found: Sequence[ReviewComment]) -> Html | None:
    """Return questions about the whole plan, and comments whose line is gone."""
    if not found:
        return None
    items = (
        join(element("pre", text(each.quoted)) if each.quoted.strip() else None,
             element("ul", _comment(each), class_="plain comments"))
        for each in found
    )  # fmt: skip
    return element(
        "section", heading(2, "About the whole plan, or about lines that are gone"), listed(items)
    )


def _answers(visit: Visit, found: Sequence[ReviewComment]) -> Html | None:
    """Return a form for the answer to each comment that waits."""
    asked = {each.id: each for each in visit.board.waiting}
    waiting = [each for each in found if each.is_open and each.id in asked]
    if not waiting:
        return None
    return element(
        "section",
        heading(2, "Answer", id="answer"),
        element("p", "A word answers one comment. A change of the plan's text answers all."),
        (_answer_form(visit, asked[each.id], each) for each in waiting),
    )


def _answer_form(visit: Visit, question: Question, comment: ReviewComment) -> Html:
    """Return the form that answers a comment by a word."""
    where = f"Line {comment.line}: " if comment.line is not None else ""
    return form(
        visit,
        address("comment", question.id),
        bound_to(question),
        element("p", where, said(comment.words)),
        text_area("text", "The answer", required=True, rows=2),
        who_field("Who answers"),
        button("Answer"),
        label=f"Answer {question.id}",
    )


# -- what is decided -----------------------------------------------------------------------------


def send(visit: Visit) -> PageAnswer:
    """Send all comments as one review."""
    now = with_text(plan_now(visit))
    refuse_stale(visit, now)
    person = the_person(visit)
    found = [
        LineComment(_line_of(name), words)
        for name, words in visit.form.items()
        if name.startswith(_FIELD) and name.removeprefix(_FIELD).isdecimal() and words.strip()
    ]
    send_review(now.candidate, found, by=person.name, method=person.method)
    return GoTo(address("plan", now.slug, "review"))


def _line_of(name: str) -> int:
    """Return which line a field is about; the number of none of ours is so long."""
    digits = name.removeprefix(_FIELD)
    if len(digits) > _MOST_DIGITS:
        raise UsageError(f"the plan has no line {digits[:_MOST_DIGITS]}...")
    return int(digits)


def answer(visit: Visit) -> PageAnswer:
    """Answer one comment by a word."""
    if visit.shown.question != visit.path["question"]:
        raise NothingToDo("that form is of another question")
    question = still_open(visit)
    clarify(visit.context.recorder(), question, the_person(visit), visit.form.get("text", ""))
    return GoTo(address("plan", question.plan, "review"))


ROUTES = [
    PageRoute("GET", "/plan/{plan}/review", show_review),
    PageRoute("POST", "/plan/{plan}/review", decision(send)),
    PageRoute("POST", "/comment/{question}", decision(answer)),
]
