"""One question to a person on a page: its evidence, and its answers as buttons."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.journal.words import Choice, QuestionKind
from planbound.page.decide import BY, who_field
from planbound.page.forms import button, form, text_area, text_field
from planbound.page.nonce import ShownState
from planbound.page.visit import Visit, address
from planbound.plan.model import StepStatus
from planbound.receipts.html import Content, Html, element, join, served, text
from planbound.receipts.pieces import diff, facts, fold_away, listed, moment, output, said, word
from planbound.state.question import Question
from planbound.state.step import held

_OUTPUT = 4_000
_WORDS = {
    Choice.RETRY: "Try it again",
    Choice.SKIP: "Skip it",
    Choice.ABORT: "End the run",
    Choice.REVISE: "Send the plan back",
    Choice.RAISE: "Allow more",
}
CHOICE, GUIDANCE, BUDGET, TEXT, REASON, AGAIN = (
    "choice", "guidance", "budget", "text", "reason", "again",
)  # fmt: skip
"""The fields of a question's forms."""


def bound_to(question: Question) -> ShownState:
    """Return what an answer is bound to: this very question, as it was asked."""
    return ShownState(
        plan=question.plan, digest=question.digest or "", seq=question.seq, question=question.id
    )


def subject_of(question: Question) -> str:
    """Return what `planbound waive` calls what a question is about."""
    if question.task_id is not None:
        return question.number or question.task_id
    return f"{question.subject}:{question.number}"


# -- what it is about ----------------------------------------------------------------------------


def place_of(question: Question) -> str:
    """Return what a question is about, in words."""
    if question.task_id is not None:
        return f"step {question.number}"
    if question.line is not None:
        return f"line {question.line}"
    if question.number is not None:
        return f"{question.subject} {question.number}"
    return "the plan"


def evidence(visit: Visit, question: Question) -> Html:
    """Return what there is to decide by."""
    return join(
        element("p", said(question.reason)),
        element("pre", text(question.quoted)) if question.quoted.strip() else None,
        facts(
            ("about", said(question.title) if question.title else None),
            ("kind of failure", question.failure_type.value if question.failure_type else None),
            ("tries", "all that the recipe allows are used" if question.exhausted else None),
            ("since", moment(question.since)),
            ("asked again", f"{question.reminders} times" if question.reminders else None),
        ),
        listed(_holds(visit, question)),
        _printed("The last output", question.output_tail, is_open=True),
        _printed("What the agent printed", question.agent_tail),
        _changed(question.diff),
    )


def _printed(title: str, tail: str, *, is_open: bool = False) -> Html | None:
    shown = output(None, tail.strip(), None, _OUTPUT) if tail.strip() else None
    return fold_away(title, shown, open=is_open) if shown is not None else None


def _changed(lines: str) -> Html | None:
    return fold_away("What was changed so far", diff(lines)) if lines.strip() else None


def _holds(visit: Visit, question: Question) -> Iterator[Content]:
    """Yield the steps that hold: who decides should not take them for more."""
    state = visit.board.states.get(question.plan)
    for step in state.steps.values() if state is not None else ():
        if step.status is StepStatus.HOLDS:
            yield join(word("holds"), " ", said(step.name or step.id), f": {held(step.reason)}")


# -- its answers ---------------------------------------------------------------------------------


def answers(visit: Visit, question: Question, action: str, *, who: Content) -> Iterator[Content]:
    """Yield the forms that answer a question; `who` says who does."""
    shown = bound_to(question)
    match question.kind:
        case QuestionKind.CLARIFICATION:
            yield form(visit, action, shown, text_area(TEXT, "The answer", required=True, rows=2),
                       who, button("Answer", class_="first"),
                       label=f"Answer {question.id}")  # fmt: skip
        case QuestionKind.ATTESTATION:
            yield form(visit, action, shown, who,
                       button("I attest that this is so", name=CHOICE, value="attest",
                              class_="first"),
                       label=f"Attest {question.id}")  # fmt: skip
        case _:
            pass
    if question.choices:
        yield _choices(visit, question, action, who)


def _choices(visit: Visit, question: Question, action: str, who: Content) -> Html:
    raises = Choice.RAISE in question.choices
    out = ", ".join(question.leaves_out)
    return form(
        visit,
        action,
        bound_to(question),
        text_area(GUIDANCE, "Guidance for the next attempt", rows=2),
        text_field(BUDGET, "With “Allow more”: how much, such as 100k tokens, $2, 1h", most=100)
        if raises else None,
        who,
        element("p", f"To skip it leaves out step {out}, too.") if out else None,
        element("p", *(
            join(button(_WORDS.get(each, each.value), name=CHOICE, value=each.value,
                        class_="first" if place == 0 else None), " ")
            for place, each in enumerate(question.choices)
        )),
        label=f"Answer {question.id}",
    )  # fmt: skip


def ways_on(question: Question) -> Html | None:
    """Return where a question is answered that is not answered by a button here."""
    slug = question.plan
    match question.kind:
        case QuestionKind.APPROVAL:
            return element("p", served("a", "Look at its gate, and decide",
                                       href=address("plan", slug, "gate")))  # fmt: skip
        case QuestionKind.CLARIFICATION:
            return element("p", served("a", "All comments on the plan",
                                       href=address("plan", slug, "review")))  # fmt: skip
        case QuestionKind.INTEGRATION:
            return element("p", "Its cause has to be removed; then it is merged again from ",
                           served("a", "the team's page", href="/team"), ".")  # fmt: skip
        case _:
            return None


def waive_form(visit: Visit, question: Question, *, reason: str = "") -> Html | None:
    """Return the form that goes on without a pass; it asks for the reason, and then once more."""
    if question.kind in _NOTHING_TO_WAIVE or (question.task_id is None and not question.number):
        return None
    action = address("inbox", question.id, "waive")
    place = place_of(question)
    if reason:
        return form(
            visit, action, bound_to(question),
            element("p", f"{place} of {question.plan} goes on without a pass, for ever on record:"
                         " ", said(reason)),
            served("input", type="hidden", name=REASON, value=reason),
            text_area(AGAIN, "Write the reason once more, word for word", required=True, rows=2),
            who_field(given=visit.form.get(BY)), button("Waive it"),
            label=f"Waive {place}, once more",
        )  # fmt: skip
    return fold_away(
        f"Go on without a pass: waive {place}",
        form(
            visit, action, bound_to(question),
            text_area(REASON, "Why it may go on without a pass", required=True, rows=2),
            who_field(), button("Go on to waive it"),
            label=f"Waive {place}",
        ),
    )  # fmt: skip


_NOTHING_TO_WAIVE = frozenset(
    {
        QuestionKind.APPROVAL,
        QuestionKind.CLARIFICATION,
        QuestionKind.INCOMPLETE,
        QuestionKind.INTEGRATION,
        QuestionKind.BUDGET,
    }
)
