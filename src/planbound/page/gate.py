"""`/plan/X/gate`: what would be approved, and the buttons that decide about it."""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import tempfile
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from planbound.approval.approve import (
    Consent,
    Shown,
    approve,
    check_consent,
    choose_method,
    lay_before,
    reject,
)
from planbound.approval.modify import refuse_needed
from planbound.approval.record import last_text
from planbound.approval.sheet import NAMESPACE, refuse_missing, refuse_unnoticed, statement
from planbound.errors import Refused, UsageError
from planbound.journal.words import Method
from planbound.page.decide import (
    ChangedMeanwhile,
    PlanAtHand,
    decision,
    plan_now,
    refuse_stale,
    stale,
    the_person,
    who_field,
)
from planbound.page.forms import button, form, text_area, text_field
from planbound.page.gate_sheet import approval_of, decided_before, sheet_of
from planbound.page.looks import LookJob
from planbound.page.named_gates import (
    gate_boxes,
    gate_choice,
    kept_gates,
    named_gates,
    statement_query,
)
from planbound.page.nonce import ShownState, judge_differences, judges_digest
from planbound.page.parts import plan_links
from planbound.page.visit import (
    GoTo,
    NoSuchPage,
    PageAnswer,
    PageRoute,
    PlainFile,
    ShownPage,
    Visit,
    address,
)
from planbound.plan.limits import LimitError, parse_duration
from planbound.receipts.html import Content, Html, element, join, served, text
from planbound.receipts.pieces import heading, said, word
from planbound.source import visible
from planbound.workspace.context import Context

_MISSING = "missing_tools"
_MOST_SIGNATURE = 64 << 10


# -- what is shown -------------------------------------------------------------------------------


def show_gate(visit: Visit) -> PageAnswer:
    """Show what would be approved, or that somebody has to look at it first."""
    now = plan_now(visit)
    job = visit.board.looks.last(now.slug)
    given = decided_before(visit, now)
    content: Content
    if job is not None and job.result is None:
        content = _under_way(now, job)
    elif job is not None and job.result is not None and job.result.shown is None:
        content = join(_problem(job), _look_form(visit, now), _other_answers(visit, now))
    elif job is not None and job.result is not None and job.result.shown is not None:
        shown = job.result.shown
        if shown.candidate.data != now.candidate.data:
            content = join(
                element("p", "The plan was changed since its contracts were looked at.",
                        role="status"),
                _look_form(visit, now), _other_answers(visit, now),
            )  # fmt: skip
        else:
            content = _decidable(visit, now, shown)
    else:
        content = _before_a_look(visit, now)
    return ShownPage(
        f"The gate of {now.slug}",
        (heading(1, "The gate of ", now.slug), _ways(now), given, content),
        at="/",
    )


def _ways(now: PlanAtHand) -> Html:
    return plan_links(now.slug, address("plan", now.slug, "gate"))


def _before_a_look(visit: Visit, now: PlanAtHand) -> Html:
    """Return the way to an approval; folded away where this text has one."""
    explained = element(
        "p", "Before somebody approves, every contract is run once: so it shows which are red now,"
             " and which prove nothing. ",
        served("a", "The sheet", href=address("plan", now.slug, "sheet")), " has every command.",
    )  # fmt: skip
    approval = approval_of(visit, now)
    if approval is None or approval.digest != now.shown.digest:
        return join(explained, _look_form(visit, now), _other_answers(visit, now))
    again = element("details", element("summary", "Approve it anew"),
                    explained, _look_form(visit, now))  # fmt: skip
    return join(again, _other_answers(visit, now))


def _under_way(now: PlanAtHand, job: LookJob) -> Html:
    here = address("plan", now.slug, "gate")
    return element(
        "section",
        element("p", "Every contract is run once now. ", said(job.stage, 200) if job.stage else "",
                role="status"),
        element("p", served("a", "See how far it is", href=here)),
        _poll(here),
        id="looking",
    )  # fmt: skip


def _poll(here: str) -> Html:
    """Return what asks again every second, where there are scripts.

    It asks for the whole content, so that a refusal is put there, too.
    """
    refused = {f"hx-status:{codes}": "swap:outerHTML" for codes in ("40x", "50x")}
    return served("div", hx_get=here, hx_trigger="load delay:1s", hx_target="#content",
                  hx_select="#content", hx_swap="outerHTML", **refused)  # fmt: skip


def _problem(job: LookJob) -> Html:
    found = job.result
    assert found is not None
    return element("p", word("not ready"), " ", said(visible(found.problem)),
                   join("; ", said(found.hint)) if found.hint else None, role="status")  # fmt: skip


def _look_form(visit: Visit, now: PlanAtHand) -> Html:
    return form(
        visit,
        address("plan", now.slug, "look"),
        now.shown,
        served("label", served("input", type="checkbox", name=_MISSING, value="yes"),
               " look at it although programs of contracts are missing"),
        button("Run every contract once", class_="first"),
        label="Look at every contract",
    )  # fmt: skip


def _decidable(visit: Visit, now: PlanAtHand, shown: Shown) -> Html:
    journal = now.candidate.context.existing_journal()
    before = last_text(journal, shown.judging.vault, now.slug) if journal is not None else None
    signed = now.candidate.context.configuration.gate.signed
    bound = bound_to(now, shown)
    return join(
        sheet_of(shown, before),
        heading(2, "Decide", id="decide"),
        _sign_form(visit, now, shown, bound) if signed else _approve_form(visit, now, shown, bound),
        _other_answers(visit, now),
        element("details", element("summary", "Run the contracts again"), _look_form(visit, now)),
    )


def bound_to(now: PlanAtHand, shown: Shown) -> ShownState:
    """Return what a yes to this sheet is bound to."""
    sheet = shown.sheet
    return ShownState(
        plan=now.slug,
        digest=sheet.digest,
        judges=judges_digest(sheet.judges),
        configuration=sheet.configuration,
        look=_look_digest(shown),
        seq=now.shown.seq,
    )


def _look_digest(shown: Shown) -> str:
    """Return a digest of the colours: who saw red does not say yes to what was looked at again."""
    found = [(each.subject.value, each.number, each.kind.value) for each in shown.sheet.baseline]
    return hashlib.sha256(json.dumps(found).encode("ascii")).hexdigest()


def _approve_form(visit: Visit, now: PlanAtHand, shown: Shown, bound: ShownState) -> Html:
    return form(
        visit,
        address("plan", now.slug, "approve"),
        bound,
        who_field(),
        _skips(shown),
        text_field("expires", "How long it holds, such as 7d; empty: without an end", most=20),
        _in_spite(shown),
        gate_boxes(shown.sheet, visit.query),
        element("p", f"{Method.PAGE.value}: {Method.PAGE.caution}.", class_="dim"),
        button(f"Approve {shown.sheet.digest[:12]}", class_="first"),
        label="Approve this plan",
    )


def _skips(shown: Shown) -> Html:
    boxes = (
        served("label", served("input", type="checkbox", name=f"skip-{place}", value=step.label),
               f" step {step.label}: ", said(step.title, 120))
        for place, step in enumerate(shown.sheet.plan.steps)
    )  # fmt: skip
    return element("details", element("summary", "Approve, but skip some steps"), boxes)


def _in_spite(shown: Shown) -> Html | None:
    if not shown.sheet.missing:
        return None
    names = ", ".join(shown.sheet.missing)
    return served("label", served("input", type="checkbox", name=_MISSING, value="yes"),
                  " approve although there is no ", said(names))  # fmt: skip


def _sign_form(visit: Visit, now: PlanAtHand, shown: Shown, bound: ShownState) -> Html:
    """Return what has to be signed, how, and the field for the signature."""
    project = now.candidate.context.state.project
    missing = bool(shown.sheet.missing)
    gates = named_gates(shown.sheet, visit.query)
    to_sign = statement(shown.sheet, project, missing=missing, gates=gates).decode("ascii")
    file = address("plan", now.slug, "statement", **statement_query(shown.sheet, visit.query))
    name = f"{now.slug}.json"
    command = f"ssh-keygen -Y sign -f ~/.ssh/id_ed25519 -n {NAMESPACE} {shlex.quote(name)}"
    return join(
        gate_choice(now.slug, shown.sheet, visit.query),
        element("p", "Only a signature approves here (", element("code", "gate.signed"),
                "). Save this statement as ", element("code", text(name)),
                " outside of the project, with its last line end:"),
        element("pre", text(to_sign), id="statement"),
        element("p", served("a", "The statement as a file", href=file)),
        element("p", "Sign it with your own key:"),
        element("pre", text(command)),
        form(
            visit,
            address("plan", now.slug, "approve"),
            bound,
            who_field("Who signs, as in the list of allowed signers"),
            text_area("signature", f"The signature: what stands in {name}.sig", required=True,
                      rows=8),
            _in_spite(shown),
            kept_gates(shown.sheet, visit.query),
            button("Approve with this signature", class_="first"),
            label="Approve with a signature",
        ),
    )  # fmt: skip


def _other_answers(visit: Visit, now: PlanAtHand) -> Html:
    return element(
        "details",
        element("summary", "Reject it"),
        form(
            visit,
            address("plan", now.slug, "reject"),
            now.shown,
            who_field(),
            text_area("reason", "Why", required=True, rows=3),
            button("Reject"),
            label="Reject this plan",
        ),
    )


# -- what is decided -----------------------------------------------------------------------------


def show_statement(visit: Visit) -> PageAnswer:
    """Return the statement that is signed, byte for byte."""
    now = plan_now(visit)
    job = visit.board.looks.last(now.slug)
    shown = job.result.shown if job is not None and job.result is not None else None
    if shown is None:
        raise NoSuchPage("The contracts of this plan were not looked at yet.")
    if shown.candidate.data != now.candidate.data:
        raise NoSuchPage("The plan was changed since its contracts were looked at.")
    project = now.candidate.context.state.project
    gates = named_gates(shown.sheet, visit.query)
    missing = bool(shown.sheet.missing)
    said_all = statement(shown.sheet, project, missing=missing, gates=gates)
    return PlainFile(said_all, f"{now.slug}.json", is_to_keep=True)


def look(visit: Visit) -> PageAnswer:
    """Begin to look at every contract."""
    now = plan_now(visit)
    refuse_stale(visit, now)
    context = Context(workspace=visit.context.root, state=visit.context.given_state)
    missing = visit.form.get(_MISSING) == "yes"
    visit.board.looks.begin(context, now.candidate.file, missing_tools=missing)
    return GoTo(address("plan", now.slug, "gate"))


def give_approval(visit: Visit) -> PageAnswer:
    """Record the approval of exactly what was shown."""
    now = plan_now(visit)
    shown = _still_shown(visit, now)
    person = the_person(visit)
    configuration = now.candidate.context.configuration
    missing = visit.form.get(_MISSING) == "yes"
    consent = Consent(
        by=person.name,
        method=Method.PAGE,
        digest=shown.sheet.digest,
        expires=_until(visit.form.get("expires", "")),
        modifications=_modifications(visit, shown),
        missing_tools=missing,
        gates=named_gates(shown.sheet, visit.form),
    )
    if configuration.gate.signed:
        consent = consent._replace(digest="")
    if not missing:
        refuse_missing(shown.sheet)
    refuse_unnoticed(shown.sheet)
    signature = visit.form.get("signature", "").replace("\r\n", "\n")
    if configuration.gate.signed and not signature.strip():
        raise Refused(
            "only a signature approves here (`gate.signed`)", hint="put it into its field"
        )
    with tempfile.TemporaryDirectory(prefix="planbound-page-") as folder:
        if configuration.gate.signed:
            path = os.path.join(folder, "signature")
            with open(path, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(signature[:_MOST_SIGNATURE])
            consent = consent._replace(signature=path, through=person.method)
            consent = consent._replace(method=choose_method(consent, configuration.gate))
        check_consent(consent, shown.sheet.plan, configuration)
        approve(shown, consent)
    visit.board.looks.forget(now.slug)
    return GoTo(address("plan", now.slug, "gate"))


def _still_shown(visit: Visit, now: PlanAtHand) -> Shown:
    """Return the sheet that was shown; refuse where anything that it binds is another now."""
    job = visit.board.looks.last(now.slug)
    shown = job.result.shown if job is not None and job.result is not None else None
    if shown is None or judges_digest(shown.sheet.judges) != visit.shown.judges:
        refuse_stale(visit, now, now.shown)
        raise ChangedMeanwhile(
            "The contracts have to be looked at again: nothing was decided",
            element("p", served("a", "Look at it again", href=address("plan", now.slug, "gate"))),
        )
    # Of another text the judges are not known yet: that they are others is not said.
    current = replace(now.shown, judges=visit.shown.judges)
    if now.candidate.data == shown.candidate.data:
        fresh = lay_before(now.candidate, now.candidate.verified()).sheet
        current = ShownState(
            plan=now.slug,
            digest=fresh.digest,
            judges=judges_digest(fresh.judges),
            configuration=fresh.configuration,
            look=_look_digest(shown),
            seq=now.shown.seq,
        )
        changed = judge_differences(shown.sheet.judges, fresh.judges)
        if changed:
            raise stale(visit, now, changed)
    refuse_stale(visit, now, current)
    return shown


def _until(written: str) -> str | None:
    if not written.strip():
        return None
    try:
        seconds = float(parse_duration(written.strip()))
    except LimitError as error:
        raise UsageError(f"how long it holds: {error.reason}", hint=error.hint) from error
    end = datetime.now(UTC) + timedelta(seconds=seconds)
    return end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _modifications(visit: Visit, shown: Shown) -> tuple[str, ...]:
    plan = shown.sheet.plan
    chosen = [
        step.label
        for place, step in enumerate(plan.steps)
        if visit.form.get(f"skip-{place}") == step.label
    ]
    refuse_needed(plan, chosen)
    return tuple(f"skip {label}" for label in chosen)


def give_refusal(visit: Visit) -> PageAnswer:
    """Record that somebody refuses the plan."""
    now = plan_now(visit)
    refuse_stale(visit, now)
    person = the_person(visit)
    reason = visit.form.get("reason", "").strip()
    if not reason:
        raise Refused("a no on the page has a reason", hint="say what is to be different")
    reject(now.candidate, by=person.name, reason=reason, method=person.method)
    visit.board.looks.forget(now.slug)
    return GoTo(address("plan", now.slug, "gate"))


ROUTES = [
    PageRoute("GET", "/plan/{plan}/gate", show_gate),
    PageRoute("GET", "/plan/{plan}/statement", show_statement),
    PageRoute("POST", "/plan/{plan}/look", decision(look)),
    PageRoute("POST", "/plan/{plan}/approve", decision(give_approval)),
    PageRoute("POST", "/plan/{plan}/reject", decision(give_refusal)),
]
