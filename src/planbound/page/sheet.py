"""`/plan/X/sheet`: everything that an approval would bind now; no contract is run for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.approval.approve import Candidate, lay_before
from planbound.approval.sheet import Sheet
from planbound.cells.isolation import Isolation
from planbound.journal.words import SubjectKind
from planbound.judging.context import hide_harness
from planbound.page.parts import plan_links, say
from planbound.page.plan import since_approval
from planbound.page.visit import NoSuchPage, PageAnswer, PageRoute, ShownPage, Visit, address
from planbound.plan.limits import format_budget
from planbound.plan.model import Condition, Plan, Step
from planbound.receipts.fragments import contract, demands
from planbound.receipts.html import Content, Html, element, join
from planbound.receipts.pieces import ROWS, facts, heading, listed, said, table, word
from planbound.state.plan import PlanState
from planbound.state.step import Look
from planbound.workspace.configuration import Configuration


def show_sheet(visit: Visit) -> PageAnswer:
    """Show what would be approved, as it is now."""
    slug = visit.path["plan"]
    with visit.board.lock:
        visit.board.refresh()
        line = visit.board.line(visit.context, slug)
        state = visit.board.states.get(slug)
        changed = since_approval(visit, line)
    if line is None or line.plan is None:
        raise NoSuchPage(f"There is no plan `{slug}` that could be approved.")
    hide_harness()
    candidate = Candidate(visit.context, line.file, line.data, line.plan)
    found = candidate.verified()
    sheet = lay_before(candidate, found).sheet
    content = join(
        heading(1, f"The gate's sheet of {slug}"),
        plan_links(slug, address("plan", slug, "sheet")),
        changed,
        *sheet_parts(sheet, state, visit.context.configuration),
        *visit.more("sheet", slug),
    )  # fmt: skip
    return ShownPage(f"Sheet of {slug}", content, at="/")


def sheet_parts(
    sheet: Sheet, state: PlanState | None, configuration: Configuration
) -> Iterator[Content]:
    """Yield what an approval binds: what keeps it from one first, then commands and judges."""
    for name in sheet.missing:
        yield say(f"A contract needs `{name}`: it is not there, and no step brings it.")
    for path in sheet.left_out:
        yield say(f"A contract reads `{path}`, which git ignores, and no `touches` names.")
    for warning in sheet.warnings:
        yield element("p", word("warning"), " ", said(f"{warning.code}: {warning.message}"),
                      f" (line {warning.line})")  # fmt: skip
    yield _bound(sheet, configuration)
    yield heading(2, "Commands")
    yield from _items(sheet.plan, state)
    yield _judges(sheet)
    if sheet.tools:
        yield heading(2, "Programs of the contracts")
        yield listed(said(str(each)) for each in sheet.tools)


def _bound(sheet: Sheet, configuration: Configuration) -> Html | None:
    budget = sheet.plan.budget.value if sheet.plan.budget else None
    contracts = configuration.contracts
    return facts(
        ("digest", element("code", sheet.digest)),
        ("tree", element("code", sheet.tree)),
        ("configuration", element("code", sheet.configuration)),
        ("budget", format_budget(budget) if budget is not None else "the plan sets none"),
        ("passed to contracts", said(", ".join(contracts.env)) if contracts.env else "nothing"),
        ("network of contracts", "on" if contracts.network else "off"),
        ("isolation demanded", _isolation(configuration.judging.isolation)),
    )


def _isolation(level: Isolation) -> str:
    return level.value


def _items(plan: Plan, state: PlanState | None) -> Iterator[Content]:
    for each in plan.preconditions:
        yield _item(f"Precondition {each.number}: {each.statement}", plan, each,
                    _look(state, SubjectKind.PRECONDITION, str(each.number)))  # fmt: skip
    for step in plan.steps:
        yield _item(f"{step.label}. {step.title}", plan, step,
                    _look(state, SubjectKind.STEP, step.id))  # fmt: skip
    for each in plan.postconditions:
        yield _item(f"Postcondition {each.number}: {each.statement}", plan, each,
                    _look(state, SubjectKind.POSTCONDITION, str(each.number)))  # fmt: skip


def _item(title: str, plan: Plan, each: Step | Condition, look: Look | None) -> Html:
    return element(
        "article",
        heading(3, said(title, 300)),
        element("p", "At the last look before the work: ", word(look.verdict.value),
                " red" if look.is_red else " green: it proves nothing yet")
        if look is not None else element("p", "Nobody looked at it yet.", class_="dim"),
        contract(each),
        demands(plan, each),
        class_="is-none",
    )  # fmt: skip


def _look(state: PlanState | None, subject: SubjectKind, name: str) -> Look | None:
    """Return what a contract said when somebody looked last, before the work."""
    if state is None:
        return None
    found = state.run.colours.get((subject, name))
    if found is not None:
        return found[0]
    if subject is SubjectKind.POSTCONDITION:
        return state.run.condition_looks.get(name)
    step = state.steps.get(name) if subject is SubjectKind.STEP else None
    return step.approved if step is not None else None


def _judges(sheet: Sheet) -> Html:
    title = heading(2, "Judges")
    if not sheet.judges:
        return join(title, element("p", "It is judged by no file: only by its commands."))
    count = len(sheet.judges)
    files = f"{count:,} file{'' if count == 1 else 's'}"
    return join(title, table(files, ("file", "SHA-256"), _rows(sheet)))


def _rows(sheet: Sheet) -> Sequence[Html]:
    return [
        element("tr", element("th", said(path, 400), scope="row"),
                element("td", element("code", digest)))
        for path, digest in list(sheet.judges.items())[:ROWS]
    ]  # fmt: skip


ROUTES = [PageRoute("GET", "/plan/{plan}/sheet", show_sheet, reads_fold=False)]
