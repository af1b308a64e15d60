"""The sheet: everything that somebody approves, from the very bytes that will run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, assert_never

from planbound.cli.terminal import Terminal
from planbound.engine.configuration import Configuration
from planbound.engine.gate.approval import Approval, Method, Strength
from planbound.engine.gate.weakening import say_expectation, weakenings
from planbound.engine.judging.case import demands_red
from planbound.engine.judging.proof import foretold
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.judging.verdict import Verdict, VerdictKind
from planbound.engine.run.budget import SAFE
from planbound.plan.limits import Budget, format_budget
from planbound.plan.model import Attest, Command, Condition, Contract, Plan, Step
from planbound.plan.parse import parse
from planbound.source import Diagnostic
from planbound.source.visible import visible
from planbound.usecases.differences import difference
from planbound.usecases.gate import Sheet
from planbound.verify.told_to_change import told_by

DIGITS = 12
"""How many digits of a digest are shown."""
_SHOWN = 8
_GREEN_CONDITION = "green now: it has to be green at the end, too"

_Baseline = Mapping[tuple[str, str], Verdict]


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
    skipped: tuple[str, ...] = ()
    """Steps that stay in the plan and are not done."""


def lines(view: View, terminal: Terminal) -> Iterator[str]:
    """Yield the lines of the sheet."""
    sheet, plan = view.sheet, view.sheet.plan
    title = visible(plan.objective.value) if plan.objective else sheet.slug
    yield from _missing(sheet, terminal)
    yield terminal.style(title, "bold")
    yield f"digest {sheet.digest[:DIGITS]}, tree {sheet.tree[:DIGITS]}"
    yield from _differences(view, terminal)
    yield ""
    found = {(item.subject.value, item.number): item for item in sheet.baseline}
    yield from _conditions("before the start", "precondition", plan.preconditions, found, terminal)
    for step in plan.steps:
        red = demands_red(
            step.baseline.value if step.baseline else None, view.configuration.baseline
        )
        verdict = found.get(("step", step.label))
        yield from _step(step, sheet, verdict, terminal, red=red)
        if step.label in view.skipped:
            yield f"   {terminal.style('skipped: it stays in the plan and is not done', 'yellow')}"
    yield from _conditions("at the end", "postcondition", plan.postconditions, found, terminal)
    yield ""
    yield _judges(sheet)
    if sheet.tools:
        yield f"contracts use {visible(', '.join(map(str, sheet.tools)))}"
    contracts = view.configuration.contracts
    yield f"passed to contracts: {_names(contracts.env)}; network {_switch(on=contracts.network)}"
    yield from _agents(plan, view.configuration)
    yield _budget(plan)
    wanted = view.configuration.judging.evidence
    yield f"{view.cell}, evidence {wanted.value if wanted else 'as it comes'}"
    yield f"approval by {view.method.value}: {_worth(view.method.strength)}"
    yield ""


def as_json(sheet: Sheet) -> dict[str, object]:
    """Return the sheet for programs."""
    return {
        "slug": sheet.slug,
        "digest": sheet.digest,
        "tree": sheet.tree,
        "warnings": [
            {"code": item.code, "line": item.line, "message": item.message, "hint": item.hint}
            for item in sheet.warnings
        ],
        "missing_tools": list(sheet.missing),
        "baseline": [
            {
                "subject": item.subject.value,
                "number": item.number,
                "title": item.title,
                "verdict": item.kind.value,
                "reason": item.reason,
            }
            for item in sheet.baseline
        ],
        "judges": dict(sheet.judges),
        "tools": {tool.name: tool.said for tool in sheet.tools},
        "approved": False,
    }


def yes_as_json(approval: Approval) -> dict[str, object]:
    """Return what the yes adds to it."""
    return {
        "approved": True,
        "by": approval.by,
        "method": approval.method,
        "expires": approval.expires,
        "modifications": list(approval.modifications),
    }


def doubts(warnings: Iterable[Diagnostic], terminal: Terminal) -> Iterator[str]:
    """Yield what comes before everything else: what nobody approves without having seen it."""
    for item in warnings:
        kind = terminal.style(f"warning[{item.code}]", "bold", "yellow")
        yield f"{kind}: {visible(item.message)} (line {item.line})"


def _missing(sheet: Sheet, terminal: Terminal) -> Iterator[str]:
    for name in sheet.missing:
        kind = terminal.style("error[PB602]", "bold", "red")
        yield f"{kind}: a contract needs `{visible(name)}`: it is not there, and no step brings it"


def _differences(view: View, terminal: Terminal) -> Iterator[str]:
    if view.before is None or view.before == view.data:
        return
    for line in weakenings(parse(view.before, path="approved"), view.sheet.plan):
        yield terminal.style(visible(line), "red")
    for line in difference(view.shown, view.before, view.data).splitlines():
        yield f"  {visible(line)}"


def _step(
    step: Step, sheet: Sheet, found: Verdict | None, terminal: Terminal, *, red: bool
) -> Iterator[str]:
    plan = sheet.plan
    target = f" ({visible(step.target.value)})" if step.target else ""
    yield f"{step.label}. {terminal.style(visible(step.title), 'bold')}{target}"
    touches = _names(item.value for item in plan.touches_of(step))
    anything = step.touches is None and not plan.touches_of(step)
    yield f"   may touch {_anything(step, sheet) if anything else touches}"
    if step.budget:
        yield f"   may spend {format_budget(step.budget.value)}"
    now = _now(found, terminal, foretold(red=red)) if found else None
    yield from _contract(step.contract, _demands(step, red=red), now)


def _anything(step: Step, sheet: Sheet) -> str:
    """Say what a step without touches may change of what judges it: what its task tells it to."""
    scope = Scope(None, told=told_by(step))
    named = [path for path in sheet.judges if covers(scope, path)]
    if not named:
        return "anything"
    more = f" and {len(named) - _SHOWN} more" if len(named) > _SHOWN else ""
    return f"anything, and judges that its task tells it to change: {_names(named[:_SHOWN])}{more}"


def _conditions(
    when: str, kind: str, conditions: Sequence[Condition], found: _Baseline, terminal: Terminal
) -> Iterator[str]:
    for condition in conditions:
        yield f"{when}: {visible(condition.statement)}"
        verdict = found.get((kind, str(condition.number)))
        now = _now(verdict, terminal, _GREEN_CONDITION) if verdict else None
        yield from _contract(condition.contract, _demands(condition), now)


def _contract(contract: Contract | None, demands: list[str], now: str | None) -> Iterator[str]:
    match contract:
        case None:
            yield "   no contract"
        case Attest():
            yield f"   attested by a person: {visible(contract.statement)}"
        case Command():
            for number, line in enumerate(contract.text.split("\n")):
                yield f"   {'$' if number == 0 else ' '} {visible(line)}"
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


def _judges(sheet: Sheet) -> str:
    judges = list(sheet.judges)
    if not judges:
        return "judged by no file"
    more = f" and {len(judges) - _SHOWN} more" if len(judges) > _SHOWN else ""
    count = f"{len(judges)} file{'' if len(judges) == 1 else 's'}"
    return f"judged by {count}: {_names(judges[:_SHOWN])}{more}"


def _agents(plan: Plan, configuration: Configuration) -> Iterator[str]:
    """Yield what the agents get that the plan's steps go to."""
    targets = dict.fromkeys(step.target.value for step in plan.steps if step.target)
    names = dict.fromkeys(name for target in targets for name in _agents_of(target, configuration))
    for name in names:
        agent = configuration.agents.get(name)
        if agent is not None:
            network, home = _switch(on=agent.network), agent.home.value
            passed = f"{_names(agent.env)}; network {network}; home {home}"
            yield f"passed to the agent `{visible(agent.name)}`: {passed}"


def _agents_of(target: str, configuration: Configuration) -> tuple[str, ...]:
    from planbound.engine.agents import seats_of  # noqa: PLC0415 - start-up

    usual = configuration.run.agent
    found = seats_of(target, configuration.agents, configuration.seats)
    return found or (() if usual is None else (usual,))


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
