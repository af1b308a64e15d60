"""`/plan/X/edit`: the text of a plan, and what is wrong with it while somebody types."""

from __future__ import annotations

from contextlib import suppress
from typing import NamedTuple

from planbound.approval.approve import FaultyText, amend, change_text
from planbound.approval.modify import NotUnderWay
from planbound.approval.record import last_text
from planbound.errors import NothingToDo, UsageError
from planbound.page.decide import (
    BY,
    PlanAtHand,
    decision,
    plan_now,
    refuse_stale,
    the_person,
    who_field,
    with_text,
)
from planbound.page.forms import button, form, text_field
from planbound.page.nonce import ShownState
from planbound.page.parts import plan_links
from planbound.page.visit import (
    GoTo,
    PageAnswer,
    PageRoute,
    PartOfPage,
    ShownPage,
    Visit,
    address,
)
from planbound.plan.digest import digest
from planbound.plan.parse import MAX_BYTES
from planbound.receipts.html import Content, Html, element, join, raw_text, served, text
from planbound.receipts.pieces import facts, heading, said, word
from planbound.run.people import Person
from planbound.source import Diagnostic, Severity, Source, excerpt
from planbound.verify.examine import Verified
from planbound.workspace.surroundings import verify
from planbound.workspace.vault import open_vault

_FOUND = "found"
_SHOWN = 50


class EditedText(NamedTuple):
    """A text that somebody typed, and what is wrong with it."""

    data: bytes
    verified: Verified


def show_editor(visit: Visit) -> PageAnswer:
    """Show the text in an editor."""
    now = with_text(plan_now(visit))
    if visit.context.redactor.redact(now.candidate.plan.source.text).redactions:
        words = "Its text holds what looks like a secret, which no page shows: edit the file."
        content = join(heading(1, "Edit ", now.slug), element("p", words))
        return ShownPage(f"Edit {now.slug}", content, at="/")
    return _editor(visit, now, _read(now, now.candidate.data))


def _read(now: PlanAtHand, data: bytes) -> EditedText:
    candidate = now.candidate
    surroundings = candidate.context.surroundings()
    return EditedText(data, verify(data, path=candidate.file.shown, surroundings=surroundings))


def _editor(visit: Visit, now: PlanAtHand, edited: EditedText, *, first: Content = None,
            status: int = 200, shown: ShownState | None = None) -> PageAnswer:  # fmt: skip
    here = address("plan", now.slug, "edit")
    area = served(
        "label",
        element("span", "The text of the plan"),
        served(
            "textarea",
            raw_text(edited.data.decode("utf-8", "surrogateescape")),
            name="text", rows=30, spellcheck="false", autocapitalize="off", wrap="off",
            aria_describedby=_FOUND, hx_post=here,
            hx_trigger="input changed delay:400ms", hx_target=f"#{_FOUND}", hx_swap="outerHTML",
        ),
    )  # fmt: skip
    content = join(
        heading(1, "Edit ", now.slug),
        plan_links(now.slug, address("plan", now.slug, "edit")),
        first,
        form(
            visit, here, shown or now.shown, area, findings(now, edited),
            who_field(given=visit.form.get(BY)),
            text_field("reason", "Why", value=visit.form.get("reason", ""), most=2000),
            element("p", button("Check it", name="do", value="check"), " ",
                    button("Save it as the plan", name="do", value="save", class_="first")),
            label="Edit the plan",
        ),
    )  # fmt: skip
    return ShownPage(f"Edit {now.slug}", content, status=status, at="/")


def findings(now: PlanAtHand, edited: EditedText) -> Html:
    """Return what is wrong with a text, and what it means: before and after."""
    found = edited.verified
    before, after = now.shown.digest, digest(found.plan)
    errors = sum(each.severity is Severity.ERROR for each in found.diagnostics)
    warnings = len(found.diagnostics) - errors
    same = "the meaning is the same" if before == after else "the meaning is another one"
    return element(
        "section",
        element("p", f"{errors} error{'' if errors == 1 else 's'}, "
                     f"{warnings} warning{'' if warnings == 1 else 's'}; {same}.", role="status"),
        facts(("digest of the plan", element("code", before[:12])),
              ("digest of this text", element("code", after[:12]))),
        element("ol", (diagnostic_item(found.plan.source, each)
                       for each in found.diagnostics[:_SHOWN]), class_="plain"),
        id=_FOUND,
        aria_label="What was found",
    )  # fmt: skip


def _not_checked(error: UsageError) -> Html:
    """Return why there is nothing to find in what was typed; the next letters may mend it."""
    hint = f"; {error.hint}" if error.hint else ""
    words = element("p", f"{error.message}{hint}.", role="status")
    return element("section", words, id=_FOUND, aria_label="What was found")


def diagnostic_item(source: Source, found: Diagnostic) -> Html:
    """Return one diagnostic: its place, the quoted line with a caret, the cure."""
    kind = "fail" if found.severity is Severity.ERROR else "waiting"
    return element(
        "li",
        element("p", element("span", found.severity.value, class_=f"word {_COLOURS[kind]}"),
                f" {found.code}, line {found.line}, column {found.column}: ", said(found.message)),
        element("pre", text("\n".join(excerpt(source, found)))),
        element("p", "hint: ", said(found.hint)) if found.hint else None,
    )  # fmt: skip


_COLOURS = {"fail": "bad", "waiting": "warn"}


# -- what is sent --------------------------------------------------------------------------------


def _typed(visit: Visit, now: PlanAtHand) -> bytes:
    """Return what was typed, with the line ends of the plan: a browser sends its own."""
    written = visit.form.get("text", "").replace("\r\n", "\n").replace("\r", "\n")
    newline = now.candidate.plan.source.newline
    data = written.replace("\n", newline).encode("utf-8", "surrogateescape")
    if len(data) > MAX_BYTES:
        raise UsageError(f"the text is longer than {MAX_BYTES:,} bytes")
    if not data.strip():
        raise UsageError("the text is empty", hint="a plan has an objective and steps")
    return data


def take(visit: Visit) -> PageAnswer:
    """Check a text, or save it as the plan."""
    if visit.form.get("do") == "save":
        return decision(_save)(visit)
    now = with_text(plan_now(visit._replace(is_change=False)))
    try:
        edited = _read(now, _typed(visit, now))
    except UsageError as error:
        if not visit.accepts_part:
            raise
        return PartOfPage(_not_checked(error))
    if visit.accepts_part:
        return PartOfPage(findings(now, edited))
    # The form goes on to be about what was shown first: to check something decides nothing.
    return _editor(visit, now, edited, shown=visit.shown)


def _save(visit: Visit) -> PageAnswer:
    now = with_text(plan_now(visit))
    refuse_stale(visit, now)
    person = the_person(visit)
    data = _typed(visit, now)
    try:
        _write(now, data, person, visit.form.get("reason", "").strip())
    except FaultyText as fault:
        first = element("p", word("not saved"), " ", said(fault.message), ".", role="alert")
        return _editor(visit, now, _read(now, data), first=first, status=422)
    visit.board.looks.forget(now.slug)
    return GoTo(address("plan", now.slug, "gate"))


def _write(now: PlanAtHand, data: bytes, person: Person, reason: str) -> None:
    """Take a text as the plan's: of a run that is under way as its next revision."""
    context, file, before, _ = now.candidate
    journal = context.existing_journal()
    if journal is not None and last_text(journal, open_vault(context), file.slug) is not None:
        with suppress(NotUnderWay, NothingToDo):
            amend(context, file, (before, data), by=person.name, reason=reason,
                  method=person.method)  # fmt: skip
            return
    change_text(now.candidate, data, by=person.name, method=person.method)


ROUTES = [
    PageRoute("GET", "/plan/{plan}/edit", show_editor),
    PageRoute("POST", "/plan/{plan}/edit", take),
]
