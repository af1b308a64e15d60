"""`/d/...`: a link that decides one question, once, for one person. To open it decides nothing."""

from __future__ import annotations

import time
from functools import partial

from planbound.approval.approve import Consent, approve, bring, reject
from planbound.cells.isolation import refuse_in_cell
from planbound.errors import Refused, UsageError
from planbound.git.place import at_worktree
from planbound.journal.words import Method, PersonMethod, QuestionKind
from planbound.page import question as asked
from planbound.page.decide import ChangedMeanwhile, decision
from planbound.page.forms import button, form, text_area
from planbound.page.gate_sheet import sheet_of
from planbound.page.inbox import settle
from planbound.page.looks import LookJob
from planbound.page.question import bound_to, place_of
from planbound.page.visit import PageAnswer, PageRoute, ShownPage, Visit, address
from planbound.receipts.html import Content, Html, element, join, text
from planbound.receipts.pieces import heading, listed, moment, said, word
from planbound.run.people import Person, questions
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.links import NOT_BY_LINK, DecisionLink, read_link
from planbound.workspace.locate import locate
from planbound.workspace.page_home import PageFolder
from planbound.workspace.vault import open_vault

_OVER = "This link is over"
_NONE = "This is no link of ours"


# -- whether a link holds ------------------------------------------------------------------------


def _opened(visit: Visit) -> tuple[DecisionLink, Question]:
    """Return what a link is about; refuse one that is none, is over, or is not wanted here."""
    rules = visit.context.configuration
    link = read_link(_key(visit), visit.path["token"])
    if link is None or not rules.page.links:
        raise ChangedMeanwhile(_NONE)
    if rules.gate.signed:
        raise ChangedMeanwhile(
            "Links decide nothing here",
            element("p", "Only a signature approves in this project (",
                    element("code", "gate.signed"), ")."),
        )  # fmt: skip
    if time.time() >= link.until:
        raise ChangedMeanwhile(
            _OVER, element("p", "Its ten minutes are over. The inbox of the page has the question.")
        )
    journal = visit.context.existing_journal()
    waiting = questions(journal, link.plan) if journal is not None else []
    found = next((each for each in waiting if link.is_about(each)), None)
    if found is None or found.kind in NOT_BY_LINK:
        raise ChangedMeanwhile(
            _OVER, element("p", "The question was decided, or is another one now.")
        )
    if visit.is_change and visit.shown != bound_to(found):
        raise ChangedMeanwhile(_OVER, element("p", "The form was of another question."))
    return link, found


def _gone(changed: ChangedMeanwhile) -> PageAnswer:
    content = join(heading(1, changed.title), *changed.content)
    status = 404 if changed.title == _NONE else 410
    return ShownPage(changed.title, content, status=status, is_alone=True)


# -- what is shown -------------------------------------------------------------------------------


def show_link(visit: Visit) -> PageAnswer:
    """Show a question to the person of a link, with its answers; nothing is decided by that."""
    try:
        link, question = _opened(visit)
    except ChangedMeanwhile as changed:
        return _gone(changed)
    return ShownPage("Decide", _question(visit, link, question), is_alone=True)


def _question(visit: Visit, link: DecisionLink, question: Question) -> Html:
    until = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(link.until))
    return join(
        heading(1, question.plan, ", ", place_of(question)),
        element("p", "For ", element("strong", link.person), ", until ", moment(until),
                ". Whoever has this address can decide as them, once."),
        asked.evidence(visit, question),
        *_forms(visit, question),
    )  # fmt: skip


def _forms(visit: Visit, question: Question) -> list[Content]:
    action = address("d", visit.path["token"])
    if question.kind is not QuestionKind.APPROVAL:
        return list(asked.answers(visit, question, action, who=None))
    return [
        _asked_for(visit.context, question),
        form(visit, action, bound_to(question),
             element("p", "Every contract is run once more before the approval is on record. That"
                          " may take minutes."),
             button("Approve", name=asked.CHOICE, value="approve", class_="first"),
             label="Approve by this link"),
        form(visit, action, bound_to(question), text_area("reason", "Why", rows=2),
             button("Reject", name=asked.CHOICE, value="reject"), label="Reject by this link"),
    ]  # fmt: skip


def _asked_for(context: Context, question: Question) -> Html:
    """Return what the person was asked to approve: the text, and what judges it."""
    event = question.request.event if question.request is not None else None
    kept = event.text if event is not None else None
    data = open_vault(context).content(bytes.fromhex(kept)) if kept else None
    plain = data.decode("utf-8", "replace") if data is not None else "The text was not kept."
    judges = (event.judges or {}) if event is not None else {}
    return join(
        element("p", "Digest ", element("code", (question.digest or "")[:12])),
        element("pre", text(context.redactor.redact(plain).text)),
        listed(join(element("code", text(path)), f" {content[:12]}")
               for path, content in judges.items()),
    )  # fmt: skip


# -- what is decided -----------------------------------------------------------------------------


def decide_by_link(visit: Visit) -> PageAnswer:
    """Decide what the link is for, as its person and nobody else."""
    try:
        link, question = _opened(visit)
    except ChangedMeanwhile as changed:
        return _gone(changed)
    if visit.form.get("by", link.person) != link.person:
        raise Refused("this link is another person's", hint="decide in the inbox of the page")
    if question.kind is not QuestionKind.APPROVAL:
        return decision(_answer)(visit)
    match visit.form.get(asked.CHOICE):
        case "approve":
            # Before anybody else has to wait: contracts may take minutes.
            refuse_in_cell()
            return decision(partial(_approve, question=question, job=_look(visit, question)))(visit)
        case "reject":
            return decision(_reject)(visit)
        case _:
            raise UsageError("no answer", hint="approve or reject")


def _answer(visit: Visit) -> PageAnswer:
    try:
        link, question = _opened(visit)
    except ChangedMeanwhile as changed:  # somebody else was faster
        return _gone(changed)
    who = Person(link.person, PersonMethod.PAGE)
    return _done(question, settle(visit, question, who), who)


def _reject(visit: Visit) -> PageAnswer:
    try:
        link, question = _opened(visit)
    except ChangedMeanwhile as changed:
        return _gone(changed)
    who = Person(link.person, PersonMethod.PAGE)
    file = locate(question.plan, visit.context.tree)
    context = at_worktree(visit.context, file)
    candidate = bring(context, file, context.reader.read(file.path))
    reason = visit.form.get("reason", "").strip()
    reject(candidate, by=who.name, reason=reason, method=who.method)
    visit.board.looks.forget(file.slug)
    return _done(question, "rejected", who)


def _done(question: Question, words: str, who: Person) -> PageAnswer:
    content = join(
        heading(1, "It is decided"),
        element("p", f"{question.plan}, {place_of(question)}: ", word(words), " by ",
                said(who.name), ". The link is used up."),
    )  # fmt: skip
    return ShownPage("Decided", content, is_alone=True)


def _look(visit: Visit, question: Question) -> LookJob:
    """Run every contract once more."""
    context = Context(workspace=visit.context.root, state=visit.context.given_state)
    file = locate(question.plan, context.tree)
    job = visit.board.looks.begin(context, file, missing_tools=False)
    job.ended.wait()
    return job


def _approve(visit: Visit, *, question: Question, job: LookJob) -> PageAnswer:
    """Approve, where everything that was asked about is as it was, and nobody decided meanwhile."""
    link, result = read_link(_key(visit), visit.path["token"]), job.result
    assert link is not None
    assert result is not None
    visit.board.looks.forget(question.plan)
    if result.shown is None:
        raise Refused(result.problem, hint=result.hint)
    journal = visit.context.existing_journal()
    waiting = questions(journal, link.plan) if journal is not None else []
    if not any(each.kind is QuestionKind.APPROVAL and each.digest == link.digest
               for each in waiting):  # fmt: skip
        return _gone(ChangedMeanwhile(_OVER, element("p", "The question was decided meanwhile.")))
    sheet = result.shown.sheet
    asked_for = question.request.event if question.request is not None else None
    judges = dict(asked_for.judges or {}) if asked_for is not None else None
    if sheet.digest != link.digest or dict(sheet.judges) != judges:
        raise ChangedMeanwhile(
            "Something changed since you were asked: nothing was decided",
            element("p", "This is how it is now. It is approved at the gate of the page."),
            sheet_of(result.shown, None),
        )
    who = Person(link.person, PersonMethod.PAGE)
    approve(result.shown, Consent(who.name, Method.PAGE, digest=sheet.digest))
    return _done(question, "approved", who)


def _key(visit: Visit) -> bytes:
    return PageFolder(visit.context.state.folder).key()


ROUTES = [
    PageRoute("GET", "/d/{token}", show_link, is_open=True),
    PageRoute("POST", "/d/{token}", decide_by_link, is_open=True),
]
