"""The sheet: everything that somebody approves, from the very bytes that will run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple, assert_never

from msgspec import UNSET, UnsetType

from planbound.agents.kind import destinations, shown_of
from planbound.approval.sheet import Sheet, controls_of, unnoticed
from planbound.approval.weakening import say_expectation, weakenings
from planbound.cells.cell import evidence_reaches
from planbound.cli.judging import ControlShown, control_lines, controls_shown
from planbound.cli.shape import JsonObject
from planbound.cli.terminal import Terminal
from planbound.journal.event import VerdictKind
from planbound.journal.fields import ControlResult
from planbound.journal.words import Method, Strength, SubjectKind
from planbound.judging.case import Scope, covers, demands_red
from planbound.judging.restore import difference
from planbound.judging.verdict import Verdict
from planbound.plan.check import say_table
from planbound.plan.glob import parse_glob
from planbound.plan.limits import Budget, format_budget
from planbound.plan.model import (
    USUAL_TARGET,
    Attest,
    CaseTable,
    Command,
    Condition,
    Contract,
    Evidence,
    Plan,
    Step,
)
from planbound.plan.parse import parse
from planbound.receipts.costs import PastCost, range_words
from planbound.run.budget import SAFE
from planbound.source import Diagnostic, visible
from planbound.state.approval import Approval
from planbound.state.step import foretold
from planbound.verify.task_scope import task_scope
from planbound.workspace.agents import AgentRules
from planbound.workspace.configuration import Configuration

DIGITS = 12
"""How many digits of a digest are shown."""
_SHOWN = 8
_GREEN_CONDITION = {
    SubjectKind.PRECONDITION: "green now: it has to be green when the run begins",
    SubjectKind.POSTCONDITION: "green now: it has to be green at the end, too",
}

_Baseline = Mapping[tuple[SubjectKind, str], Verdict]


class View(NamedTuple):
    """What the sheet is made of."""

    sheet: Sheet
    shown: str
    """How the plan's file is called."""
    data: bytes
    before: bytes | None
    """The text that was approved last."""
    configuration: Configuration
    cell: str
    """What contracts run in."""
    method: Method
    """How it would be approved."""
    home: tuple[str, ...] = ()
    """What every cell shows of the home."""
    skipped: tuple[str, ...] = ()
    """Steps that stay in the plan and are not done."""
    past: tuple[PastCost, ...] = ()
    """What steps of the same roles cost before."""
    gates: tuple[str, ...] = ()
    """What it is said that the plan may change of the gates of a branch."""


def lines(view: View, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of the sheet."""
    sheet, plan = view.sheet, view.sheet.plan
    title = visible(plan.objective.value) if plan.objective else sheet.slug
    yield from _missing(sheet, terminal)
    yield from _unnoticed(sheet, terminal)
    for path in sheet.left_out:
        kind = terminal.style("warning", "bold", "yellow")
        yield (
            f"{kind}: a contract reads `{visible(path)}`, which git ignores: unless the contract"
            " makes it itself, name it in `touches`, or it is left out"
        )
    yield terminal.style(title, "bold")
    yield f"digest {sheet.digest[:DIGITS]}, tree {sheet.tree[:DIGITS]}"
    yield from _differences(view, terminal)
    yield ""
    found = {(item.subject, item.number): item for item in sheet.baseline}
    wanted = view.configuration.judging.evidence
    yield from _conditions(SubjectKind.PRECONDITION, plan.preconditions, found, terminal, wanted)
    for step in plan.steps:
        red = demands_red(
            step.baseline.value if step.baseline else None, view.configuration.baseline
        )
        verdict = found.get((SubjectKind.STEP, step.label))
        yield from _step(step, view, verdict, terminal, red=red)
        if step.label in view.skipped:
            yield f"   {terminal.style('skipped: it stays in the plan and is not done', 'yellow')}"
    yield from _conditions(SubjectKind.POSTCONDITION, plan.postconditions, found, terminal, wanted)
    yield ""
    yield _judges(sheet)
    yield from _gates(view, terminal)
    if sheet.tools:
        yield f"contracts use {visible(', '.join(map(str, sheet.tools)))}"
    contracts = view.configuration.contracts
    yield f"passed to contracts: {_names(contracts.env)}; network {_switch(on=contracts.network)}"
    yield from _agents(plan, view.configuration)
    if view.home:
        yield f"shown of the home to contracts and agents: {_names(view.home)}"
    yield _budget(plan)
    for past in view.past:
        whose = f"{visible(past.role)} ({visible(past.agent)})"
        yield f"a step of {whose} cost so far: {range_words(past)}"
    usual = "E3 where a failing test can be added, else what can be reached"
    yield f"{view.cell}, evidence {wanted.value if wanted else usual}"
    yield f"approval by {view.method.value}: {_worth(view.method.strength)}"
    yield ""


class SheetWarning(JsonObject, frozen=True):
    """What whoever approves should have seen."""

    code: str
    line: int
    message: str
    hint: str | None


class SheetVerdict(JsonObject, frozen=True):
    """What a contract said when the sheet was made."""

    subject: SubjectKind
    number: str
    title: str
    verdict: VerdictKind
    reason: str
    reachable: Evidence | None
    """The level of evidence that a pass can have; null where that is not known."""
    short_of: list[str]
    """What keeps it from the next level."""
    controls: list[ControlShown]
    """What it said with each change that it has to fail with."""


class CostBefore(JsonObject, frozen=True):
    """What steps of a role cost agents of the same kind before."""

    role: str
    agent: str
    kind: str
    runs: int
    steps: int
    tokens: tuple[int, int] | None
    """The least and the most for a step, with all its attempts; null where nobody said."""
    dollars: tuple[str, str] | None
    silent: int
    """How many of the steps are left out: an attempt did not say what it used."""


class ApprovalSheet(JsonObject, frozen=True):
    """What is approved, or waits for it."""

    slug: str
    digest: str
    tree: str
    warnings: list[SheetWarning]
    missing_tools: list[str]
    left_out: list[str]
    """What contracts read and would not see if a step made it: git ignores it, and `touches` does
    not name it."""
    gate_files: list[str]
    """What gates of the branch judge by, and steps may change by their `touches`."""
    gates: list[str]
    """What of it the approval names, in patterns."""
    baseline: list[SheetVerdict]
    judges: dict[str, str]
    """By path the digest of every file that contracts judge by."""
    tools: dict[str, str]
    """By name the version and place of every program that contracts use."""
    cost_before: list[CostBefore]
    """By role and agent what steps cost in earlier runs; nothing where there were none. It is no
    part of what is approved."""
    approved: bool
    by: str | UnsetType = UNSET
    """This and what follows: once it is approved."""
    method: Method | UnsetType = UNSET
    expires: str | UnsetType | None = UNSET
    modifications: list[str] | UnsetType = UNSET


def sheet_shown(
    sheet: Sheet, approval: Approval | None = None, past: Sequence[PastCost] = ()
) -> ApprovalSheet:
    """Return the sheet for programs, with the yes where there is one."""
    return ApprovalSheet(
        slug=sheet.slug,
        digest=sheet.digest,
        tree=sheet.tree,
        warnings=[
            SheetWarning(code=item.code, line=item.line, message=item.message, hint=item.hint)
            for item in sheet.warnings
        ],
        missing_tools=list(sheet.missing),
        left_out=list(sheet.left_out),
        gate_files=list(sheet.gate_files),
        gates=list(approval.gates) if approval else [],
        baseline=[
            SheetVerdict(
                subject=item.subject,
                number=item.number,
                title=item.title,
                verdict=item.kind,
                reason=item.reason,
                reachable=item.reachable.level if item.reachable else None,
                short_of=list(item.reachable.short_of) if item.reachable else [],
                controls=controls_shown(item.controls),
            )
            for item in sheet.baseline
        ],
        judges=dict(sheet.judges),
        tools={tool.name: tool.said for tool in sheet.tools},
        cost_before=[
            CostBefore(
                role=each.role,
                agent=each.agent,
                kind=each.kind,
                runs=each.runs,
                steps=each.steps,
                tokens=each.tokens,
                dollars=None if each.dollars is None else _dollars(each.dollars),
                silent=each.silent,
            )
            for each in past
        ],
        approved=approval is not None,
        by=approval.by if approval else UNSET,
        method=approval.method if approval else UNSET,
        expires=approval.expires if approval else UNSET,
        modifications=list(approval.modifications) if approval else UNSET,
    )


def _dollars(amounts: tuple[Decimal, Decimal]) -> tuple[str, str]:
    low, high = amounts
    return f"{low:f}", f"{high:f}"


def doubts(warnings: Iterable[Diagnostic], terminal: Terminal) -> Iterator[str]:
    """Yield what comes before everything else: what nobody approves without having seen it."""
    for item in warnings:
        kind = terminal.style(f"warning[{item.code}]", "bold", "yellow")
        yield f"{kind}: {visible(item.message)} (line {item.line})"


def _missing(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    for name in sheet.missing:
        kind = terminal.style("error[PB602]", "bold", "red")
        yield f"{kind}: a contract needs `{visible(name)}`: it is not there, and no step brings it"


def _unnoticed(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    """Yield what was wrong with controls, before everything else."""
    for line in unnoticed(sheet):
        yield f"{terminal.style('error', 'bold', 'red')}: {visible(line)}"
    for name, run in controls_of(sheet):
        if run.result is ControlResult.SAME:
            kind = terminal.style("warning", "bold", "yellow")
            said = f"{name}: `{run.name}` shows nothing: {run.reason}"
            yield f"{kind}: {visible(said)}"


def _differences(view: View, terminal: Terminal) -> Iterator[str]:
    if view.before is None or view.before == view.data:
        return
    for line in weakenings(parse(view.before, path="approved"), view.sheet.plan):
        yield terminal.style(visible(line), "red")
    for line in difference(view.shown, view.before, view.data).splitlines():
        yield f"  {visible(line)}"


def _step(
    step: Step, view: View, found: Verdict | None, terminal: Terminal, *, red: bool
) -> Iterator[str]:
    sheet, plan = view.sheet, view.sheet.plan
    target = f" ({visible(step.target.value)})" if step.target else ""
    yield f"{step.label}. {terminal.style(visible(step.title), 'bold')}{target}"
    touches = _names(item.value for item in plan.touches_of(step))
    anything = step.touches is None and not plan.touches_of(step)
    yield f"   may touch {_anything(step, sheet) if anything else touches}"
    if step.budget:
        yield f"   may spend {format_budget(step.budget.value)}"
    now = _now(found, terminal, foretold(red=red)) if found else None
    yield from _contract(step.contract, _demands(step, red=red), now)
    yield from control_lines(found, "   ", terminal)
    yield from _reachable(found, step, view.configuration.judging.evidence)


def _anything(step: Step, sheet: Sheet) -> str:
    """Say what a step without touches may change of what judges it: what its task tells it to."""
    scope = Scope(None, by_task=task_scope(step))
    named = [path for path in sheet.judges if covers(scope, path)]
    if not named:
        return "anything"
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"anything, and judges that its task tells it to change: {_names(named[:_SHOWN])}{more}"


def _conditions(
    kind: SubjectKind,
    conditions: Sequence[Condition],
    found: _Baseline,
    terminal: Terminal,
    usual: Evidence | None,
) -> Iterator[str]:
    when = "before the start" if kind is SubjectKind.PRECONDITION else "at the end"
    for condition in conditions:
        yield f"{when}: {visible(condition.statement)}"
        verdict = found.get((kind, str(condition.number)))
        now = _now(verdict, terminal, _GREEN_CONDITION[kind]) if verdict else None
        yield from _contract(condition.contract, _demands(condition), now)
        yield from control_lines(verdict, "   ", terminal)
        yield from _reachable(verdict, condition, usual)


def _contract(contract: Contract | None, demands: list[str], now: str | None) -> Iterator[str]:
    match contract:
        case None:
            yield "   no contract"
        case Attest():
            yield f"   attested by a person: {visible(contract.statement)}"
        case Command() | CaseTable():
            mark = "$" if isinstance(contract, Command) else "="
            if isinstance(contract, CaseTable):
                yield f"   {say_table(contract.text)}"
            for number, line in enumerate(contract.text.split("\n")):
                yield f"   {mark if number == 0 else ' '} {visible(line)}"
            expected = [say_expectation(item.value) for item in contract.expectations]
            told = [visible(item) for item in expected if item != "exit_code == 0"]
            if told + demands:
                yield f"   expects {', '.join(told + demands)}"
            if now is not None:
                yield f"   {now}"
        case _:
            assert_never(contract)


def _demands(item: Step | Condition, *, red: bool = False) -> list[str]:
    """Return what is demanded of a verdict besides the expectations."""
    demands = [f"evidence {item.evidence.value.value}"] if item.evidence else []
    if red:
        demands.append("a red baseline")
    if item.repeat and item.repeat.value > 1:
        demands.append(f"{item.repeat.value} passes")
    return demands


def _now(found: Verdict, terminal: Terminal, green: str) -> str:
    if found.kind is VerdictKind.PASS:
        return terminal.style(green, "yellow")
    if found.kind in {VerdictKind.FAIL, VerdictKind.VACUOUS}:
        return terminal.style(f"red now: {visible(found.reason)}", "dim")
    return terminal.style(f"{found.kind.value} now: {visible(found.reason)}", "yellow")


def _reachable(
    found: Verdict | None, item: Step | Condition, usual: Evidence | None
) -> Iterator[str]:
    """Yield the level of evidence that a pass can have, and why not more."""
    if found is None or found.reachable is None:
        return
    level, short_of = found.reachable
    wanted = item.evidence.value if item.evidence else usual
    lacks = wanted is not None and not evidence_reaches(level, wanted)
    # What keeps a contract from E4 is the same for all, and seldom wanted.
    why = "; ".join(short_of) if lacks or not evidence_reaches(level, Evidence.E3) else ""
    yield f"   can reach {level.value}{f': {visible(why)}' if why else ''}"
    if wanted is not None and lacks:
        yield f"   {wanted.value} is demanded: no pass will do"


def _judges(sheet: Sheet) -> str:
    judges = list(sheet.judges)
    if not judges:
        return "judged by no file"
    more = f" and {len(judges) - _SHOWN} more" if len(judges) > _SHOWN else ""
    count = f"{len(judges)} file{'' if len(judges) == 1 else 's'}"
    return f"judged by {count}: {_names(judges[:_SHOWN])}{more}"


def _gates(view: View, terminal: Terminal) -> Iterator[str]:
    """Yield what the plan may do to the gates of the branch that it is merged into."""
    if view.gates:
        said = f"may change what gates of the branch judge by: {_names(view.gates)}"
        yield terminal.style(said, "yellow")
    allowed = Scope(tuple(map(parse_glob, view.gates)))
    left = [path for path in view.sheet.gate_files if not covers(allowed, path)]
    if left:
        more = f" and {len(left) - _SHOWN} more" if len(left) > _SHOWN else ""
        yield (
            f"gates of the branch judge by {_names(left[:_SHOWN])}{more}: if a step changes that,"
            " `integrate` refuses the plan, unless `--gate FILE` names it here"
        )


def _agents(plan: Plan, configuration: Configuration) -> Iterator[str]:
    """Yield what the agents get that the plan's steps go to."""
    targets = dict.fromkeys(step.target.value for step in plan.steps if step.target)
    names = dict.fromkeys(name for target in targets for name in _agents_of(target, configuration))
    for name in names:
        agent = configuration.agents.get(name)
        if agent is not None:
            passed = f"{_names(agent.env)}; network {_network(agent)}; home {agent.home.value}"
            yield f"passed to the agent `{visible(agent.name)}`: {passed}"
            shown = shown_of(agent)
            if shown:
                yield f"shown to the agent `{visible(agent.name)}`: {_names(shown)}"


def _network(agent: AgentRules) -> str:
    listed = destinations(agent)
    if listed is None:
        return _switch(on=agent.network)
    return f"to {_names([str(each) for each in listed])} only" if listed else "off"


def _agents_of(target: str, configuration: Configuration) -> tuple[str, ...]:
    usual = configuration.run.agent
    found = configuration.agents_for(target)
    return found or (() if usual is None else (usual,))


def staff_of(plan: Plan, configuration: Configuration) -> Iterator[tuple[str, str, str]]:
    """Yield the roles that the plan's steps go to, each with an agent that may get them."""
    targets = dict.fromkeys(step.target.value if step.target else None for step in plan.steps)
    for target in targets:
        found = _agents_of(target or USUAL_TARGET, configuration)
        if not found and target is None and len(configuration.agents) == 1:
            found = tuple(configuration.agents)
        for name in found:
            if name in configuration.agents:
                yield target or USUAL_TARGET, name, configuration.agents[name].kind


def _budget(plan: Plan) -> str:
    given = plan.budget.value if plan.budget else Budget()
    whole = Budget(
        tokens=SAFE.tokens if given.tokens is None else given.tokens,
        dollars=SAFE.dollars if given.dollars is None else given.dollars,
        seconds=SAFE.seconds if given.seconds is None else given.seconds,
    )
    unset = [
        name
        for name, value in zip(("tokens", "dollars", "time"), given, strict=True)
        if value is None
    ]
    said = "none" if len(unset) == len(given) else f"no {' and no '.join(unset)}"
    note = f"; the plan sets {said}" if unset else ""
    return f"budget: {format_budget(whole)}{note}"


def _worth(strength: Strength) -> str:
    match strength:
        case Strength.PROOF:
            return "a proof of who it was"
        case Strength.WORD:
            return "somebody's word, and no proof of who it was"
        case Strength.RULE:
            return "a rule of the configuration; nobody looks at the plan"
        case _:
            assert_never(strength)


def _names(names: Iterator[str] | Sequence[str]) -> str:
    return ", ".join(visible(name) for name in names) or "nothing"


def _switch(*, on: bool) -> str:
    return "on" if on else "off"
