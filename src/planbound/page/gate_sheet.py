"""The sheet of a plan on a page: everything that an approval binds, what becomes weaker first."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.approval.approve import Shown
from planbound.approval.sheet import Sheet, controls_of, unnoticed
from planbound.approval.weakening import weakenings
from planbound.journal.event import VerdictKind
from planbound.journal.fields import ControlResult
from planbound.judging.restore import difference
from planbound.judging.verdict import Verdict
from planbound.page.decide import PlanAtHand
from planbound.page.named_gates import gate_doubts
from planbound.page.visit import Visit
from planbound.plan.limits import format_budget
from planbound.plan.model import Condition, Step
from planbound.plan.parse import parse
from planbound.receipts.fragments import contract, demands
from planbound.receipts.html import Content, Html, element, join, text
from planbound.receipts.pieces import diff, facts, fold_away, heading, listed, said, table, word
from planbound.state.approval import Approval

_DIGITS = 12


def sheet_of(shown: Shown, before: bytes | None) -> Html:
    """Return what would be approved; `before` is the text that was approved last."""
    sheet, cell = shown.sheet, shown.judging.cell
    return element(
        "section",
        heading(2, "What would be approved", id="sheet"),
        _weaker(shown, before),
        _doubts(sheet),
        facts(
            ("objective", sheet.plan.objective.value if sheet.plan.objective else None),
            ("digest", element("code", sheet.digest[:_DIGITS])),
            ("tree", element("code", sheet.tree[:_DIGITS])),
            ("configuration", element("code", sheet.configuration[:_DIGITS])),
            ("budget", format_budget(sheet.plan.budget.value) if sheet.plan.budget else
             "none is set: the usual limits hold"),
            ("contracts run in", f"isolation {cell.isolation.value} ({cell.name})"),
            ("the last approval", f"does not hold: {shown.overruled}" if shown.overruled else None),
        ),
        _contracts(sheet),
        _judges(sheet),
        _tools(sheet),
        aria_label="What would be approved",
    )  # fmt: skip


def _weaker(shown: Shown, before: bytes | None) -> Html | None:
    """Return what is different from the last approval, what became weaker first."""
    data = shown.candidate.data
    if before is None or before == data:
        return None
    clean = shown.candidate.context.redactor.redact
    weaker = weakenings(parse(before, path="approved"), shown.sheet.plan)
    lines = clean(difference(shown.candidate.file.shown, before, data)).text
    return element(
        "section",
        heading(3, "Different from the last approval"),
        listed(join(word("weaker"), " ", said(clean(each).text)) for each in weaker)
        or element("p", "Nothing became weaker."),
        fold_away("The difference", diff(lines),
                  open=not weaker),
    )  # fmt: skip


def _doubts(sheet: Sheet) -> Html | None:
    found = [
        *(f"{each.code}, line {each.line}: {each.message}" for each in sheet.warnings),
        *(f"a contract needs `{name}`: it is not there, and no step brings it"
          for name in sheet.missing),
        *unnoticed(sheet),
        *gate_doubts(sheet),
        *(f"{name}: `{run.name}` shows nothing: {run.reason}"
          for name, run in controls_of(sheet) if run.result is ControlResult.SAME),
        *(f"a contract reads `{path}`, which git ignores: unless the contract makes it itself, name"
          " it in `touches`" for path in sheet.left_out),
    ]  # fmt: skip
    if not found:
        return None
    return element("section", heading(3, "To be seen first"), listed(map(said, found)))


def _contracts(sheet: Sheet) -> Html:
    found = {(each.subject.value, each.number): each for each in sheet.baseline}
    plan = sheet.plan
    rows = [
        *(_condition(sheet, each, "precondition", found.get(("precondition", str(each.number))))
          for each in plan.preconditions),
        *(_step(sheet, each, found.get(("step", each.label))) for each in plan.steps),
        *(_condition(sheet, each, "postcondition", found.get(("postcondition", str(each.number))))
          for each in plan.postconditions),
    ]  # fmt: skip
    titles = ("what", "is judged by", "before the work")
    return table("Contracts, each run once just now", titles, rows)


def _step(sheet: Sheet, step: Step, verdict: Verdict | None) -> Html:
    return element(
        "tr",
        element("th", f"step {step.label}: ", said(step.title), scope="row"),
        element("td", contract(step), demands(sheet.plan, step)),
        element("td", _now(verdict, _GREEN["step"])),
    )


def _condition(sheet: Sheet, condition: Condition, kind: str, verdict: Verdict | None) -> Html:
    return element(
        "tr",
        element("th", f"{kind} {condition.number}: ", said(condition.statement), scope="row"),
        element("td", contract(condition), demands(sheet.plan, condition)),
        element("td", _now(verdict, _GREEN[kind])),
    )


_GREEN = {
    "step": "green: it proves nothing if it stays so",
    "precondition": "green: it has to be green when the run begins",
    "postcondition": "green: it has to be green at the end, too",
}


def _now(verdict: Verdict | None, green: str) -> Content:
    if verdict is None:
        return "not run"
    words = green if verdict.kind is VerdictKind.PASS else said(verdict.reason, 300)
    reach = verdict.reachable.level.value if verdict.reachable else None
    return join(
        word(verdict.kind.value), " ", words, f"; can reach {reach}" if reach else None,
        _controls(verdict),
    )  # fmt: skip


def _controls(verdict: Verdict) -> Html | None:
    return listed(f"with `{run.name}`: {run.result.value}" for run in verdict.controls)


def _judges(sheet: Sheet) -> Html:
    if not sheet.judges:
        return element("p", "No file judges this plan.")
    rows = [
        element("tr", element("th", text(path), scope="row"),
                element("td", element("code", content[:_DIGITS])))
        for path, content in sheet.judges.items()
    ]  # fmt: skip
    count = len(rows)
    title = f"Judged by {count} file{'' if count == 1 else 's'}"
    return fold_away(title, table("Files that judge it", ("path", "SHA-256"), rows),
                     open=count <= _FEW)  # fmt: skip


_FEW = 8


def _tools(sheet: Sheet) -> Html | None:
    found = list(_programs(sheet))
    return fold_away("Programs of the contracts", listed(found)) if found else None


def _programs(sheet: Sheet) -> Iterator[str]:
    for tool in sheet.tools:
        yield str(tool)


# -- what was decided already ----------------------------------------------------------------------


def approval_of(visit: Visit, now: PlanAtHand) -> Approval | None:
    """Return the approval that was given, of this text or another one."""
    state = visit.board.states.get(now.slug)
    return state.approval.given if state is not None else None


def _refused(visit: Visit, now: PlanAtHand) -> Html | None:
    """Return who refused this text, and why."""
    state = visit.board.states.get(now.slug)
    no = state.approval.rejected if state is not None else None
    if no is None or no.digest not in {None, now.shown.digest}:
        return None
    by = join(", by ", said(no.by)) if no.by else None
    why = join(": ", said(no.reason)) if no.reason.strip() else ", without a reason."
    return element("p", word("rejected"), " this text", by, why)


def decided_before(visit: Visit, now: PlanAtHand) -> Html | None:
    """Return what was decided about this plan already."""
    approval = approval_of(visit, now)
    if approval is None:
        return _refused(visit, now)
    same = "this text" if approval.digest == now.shown.digest else "another text"
    return element("p", word("approved"), f" {same}, by ", said(approval.by),
                   f" ({approval.method.value}; {approval.method.caution}).")  # fmt: skip
