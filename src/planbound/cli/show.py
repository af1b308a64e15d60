"""`planbound show`: a plan for people, and as programs read it."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import assert_never

from planbound.cli.named_plans import (
    read_plan,
)
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import PlanFile
from planbound.errors import (
    ExitCode,
    PlanboundError,
)
from planbound.plan.check import read_table, say_table
from planbound.plan.contract import DEFAULT_TARGET, expectation_text, on_fail_text
from planbound.plan.digest import digest
from planbound.plan.limits import Budget, format_budget, format_duration
from planbound.plan.model import (
    Attest,
    CaseTable,
    Command,
    Condition,
    Contract,
    OnFail,
    Plan,
    PlanStatus,
    Rejected,
    Step,
    StepStatus,
    named_controls,
)
from planbound.source import Located, visible
from planbound.workspace.context import Context
from planbound.workspace.marks import PlanView, look_at
from planbound.workspace.overview import (
    look,
)

_DEFAULT_TIMEOUT = "10m"
_DEFAULT_CONTRACT_TIMEOUT = "5m"


class BudgetShown(JsonObject, frozen=True):
    """What may be spent; null where there is no limit."""

    tokens: int | None
    dollars: float | None
    seconds: float | None


class CommandShown(JsonObject, frozen=True, tag_field="kind", tag="command"):
    """A contract that the harness runs; its `kind` is `command`."""

    command: str
    language: str
    expectations: list[str]


class AttestShown(JsonObject, frozen=True, tag_field="kind", tag="attest"):
    """A statement that a person attests; its `kind` is `attest`."""

    statement: str


class CheckShown(JsonObject, frozen=True, tag_field="kind", tag="check"):
    """A table of cases, compared outside the product's process; its `kind` is `check`."""

    table: str
    starts: str
    """The command, the service's command, or `module:function`."""
    cases: int
    """How many stand in the plan."""
    held_out: str | None
    """The file with more of them, which is held out."""
    expectations: list[str]


class ConditionShown(JsonObject, frozen=True):
    """A precondition or postcondition."""

    number: int
    statement: str
    contract: CommandShown | CheckShown | AttestShown | None
    rejects: list[str]
    """What the contract has to fail with: the path of a diff, or the diff itself."""


class StepShown(JsonObject, frozen=True):
    """A step; what the plan leaves out has its default."""

    number: int | str | None
    """A text where it is a template, such as `3–N`."""
    id: str
    title: str
    template: bool
    target: str
    status: StepStatus
    """What the mark in the file says."""
    depends: list[int | str]
    subscriptions: list[str]
    touches: list[str]
    judges: list[str]
    timeout: str
    contract_timeout: str
    budget: BudgetShown | None
    baseline: str
    evidence: str | None
    repeat: int
    task: str | None
    contract: CommandShown | CheckShown | AttestShown | None
    rejects: list[str]
    """What the contract has to fail with: the path of a diff, or the diff itself."""
    on_fail: str


class PlanShown(JsonObject, frozen=True):
    slug: str
    path: str
    status: PlanStatus
    revision: int
    digest: str
    objective: str | None
    context: str | None
    owner: str | None
    priority: str | None
    budget: BudgetShown | None
    depends_on: list[str]
    touches: list[str]
    expected_artifacts: list[str]
    preconditions: list[ConditionShown]
    steps: list[StepShown]
    postconditions: list[ConditionShown]


SHAPES: dict[str, Shapes] = {"show": {"": PlanShown}}


def plan_shown(plan: Plan, file: PlanFile, *, status: PlanStatus, revision: int) -> PlanShown:
    """Return a plan for programs."""
    front = plan.frontmatter
    return PlanShown(
        slug=file.slug,
        path=file.path,
        status=status,
        revision=revision,
        digest=digest(plan),
        objective=plan.objective.value if plan.objective else None,
        context=plan.context.text if plan.context else None,
        owner=front.owner.value if front.owner else None,
        priority=plan.priority.value.value if plan.priority else None,
        budget=_budget_shown(plan.budget),
        depends_on=[item.value for item in front.depends_on],
        touches=[item.value for item in front.touches],
        expected_artifacts=[item.value for item in front.expected_artifacts],
        preconditions=[_condition_shown(condition) for condition in plan.preconditions],
        steps=[
            _step_shown(step, labels, plan.touches_of(step))
            for step, labels in zip(plan.steps, plan.dependencies(), strict=True)
        ],
        postconditions=[_condition_shown(condition) for condition in plan.postconditions],
    )


def _step_shown(
    step: Step, depends: tuple[str, ...], touches: tuple[Located[str], ...]
) -> StepShown:
    timeout = step.contract_timeout
    return StepShown(
        number=step.number if step.number is not None else step.label or None,
        id=step.id,
        title=step.title,
        template=step.is_template,
        target=step.target.value if step.target else DEFAULT_TARGET,
        status=step.status.value if step.status else StepStatus.PENDING,
        depends=[int(label) if label.isdecimal() else label for label in depends],
        subscriptions=[f"{item.value.kind.value}:{item.value.name}" for item in step.subscriptions],
        touches=[item.value for item in touches],
        judges=[item.value for item in step.judges],
        timeout=format_duration(step.timeout.value) if step.timeout else _DEFAULT_TIMEOUT,
        contract_timeout=format_duration(timeout.value) if timeout else _DEFAULT_CONTRACT_TIMEOUT,
        budget=_budget_shown(step.budget),
        baseline=step.baseline.value.value if step.baseline else "any",
        evidence=step.evidence.value.value if step.evidence else None,
        repeat=step.repeat.value if step.repeat else 1,
        task=step.task.text if step.task else None,
        contract=_contract_shown(step.contract),
        rejects=[each.path or each.text for each in step.rejects],
        on_fail=on_fail_text(step.on_fail.value if step.on_fail else OnFail()),
    )


def _condition_shown(condition: Condition) -> ConditionShown:
    return ConditionShown(
        number=condition.number,
        statement=condition.statement,
        contract=_contract_shown(condition.contract),
        rejects=[each.path or each.text for each in condition.rejects],
    )


def _contract_shown(contract: Contract | None) -> CommandShown | CheckShown | AttestShown | None:
    match contract:
        case None:
            return None
        case Attest():
            return AttestShown(statement=contract.statement)
        case CaseTable():
            table = read_table(contract.text)
            return CheckShown(
                table=contract.text,
                starts=table.start,
                cases=len(table.cases),
                held_out=table.held_out,
                expectations=[expectation_text(item.value) for item in contract.expectations],
            )
        case Command():
            return CommandShown(
                command=contract.text,
                language=contract.language,
                expectations=[expectation_text(item.value) for item in contract.expectations]
                or ["exit_code == 0"],
            )
        case _:
            assert_never(contract)


def _budget_shown(given: Located[Budget] | None) -> BudgetShown | None:
    if given is None:
        return None
    budget = given.value
    return BudgetShown(
        tokens=budget.tokens,
        dollars=float(budget.dollars) if budget.dollars is not None else None,
        seconds=float(budget.seconds) if budget.seconds is not None else None,
    )


def configure_show(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_show(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show the plan."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, context)
    seen = _look(context, file, data, terminal)
    plan = seen.plan
    if arguments.json:
        revision = seen.state.revision if seen.state else 1
        terminal.json(plan_shown(plan, file, status=seen.status, revision=revision))
        return ExitCode.DONE
    for line in _lines(seen, terminal):
        terminal.out(line)
    if plan.faults:
        count = len(plan.faults)
        terminal.note(
            f"note: {count} thing{'s' if count > 1 else ''} in this plan could not be read as "
            "meant; `planbound verify` says which"
        )
    return ExitCode.DONE


def _look(context: Context, file: PlanFile, data: bytes, terminal: Terminal) -> PlanView:
    """Return where the plan is; what it says is shown whatever is wrong with the journal."""
    try:
        return look(context, file, data)
    except PlanboundError as error:
        terminal.note(f"warning: {visible(error.message)}: the status shown is the one in the file")
        return look_at(None, file, data)


def _lines(seen: PlanView, terminal: Terminal) -> Iterator[str]:
    plan, slug = seen.plan, visible(seen.file.slug)
    title = visible(plan.objective.value) if plan.objective else "(no objective)"
    yield terminal.style(title, "bold")
    yield terminal.style(f"{slug} · {seen.status.value} · digest {digest(plan)[:12]}", "dim")
    about = [
        f"owner {visible(plan.frontmatter.owner.value)}" if plan.frontmatter.owner else "",
        f"priority {plan.priority.value.value}" if plan.priority else "",
        f"budget {format_budget(plan.budget.value)}" if plan.budget else "",
    ]
    if any(about):
        yield terminal.style(" · ".join(part for part in about if part), "dim")
    if plan.frontmatter.depends_on:
        yield f"depends on {_joined(item.value for item in plan.frontmatter.depends_on)}"
    if plan.frontmatter.touches:
        yield f"touches {_joined(item.value for item in plan.frontmatter.touches)}"
    if plan.context:
        yield ""
        yield from _wrapped(plan.context.text, "")
    yield from _conditions("Preconditions", plan.preconditions, terminal)
    yield ""
    yield terminal.style(f"Steps ({len(plan.steps)})", "bold")
    width = max((len(step.label) for step in plan.steps), default=1)
    for place, (step, labels) in enumerate(zip(plan.steps, plan.dependencies(), strict=True)):
        implied = (plan.steps[place - 1].label,) if place else ()
        yield from _step(step, labels if labels != implied else None, width, terminal)
    yield from _conditions("Postconditions", plan.postconditions, terminal)
    if plan.notes:
        yield ""
        yield terminal.style(f"Notes, not part of the plan: {_joined(plan.notes)}", "dim")


def _step(
    step: Step, depends: tuple[str, ...] | None, width: int, terminal: Terminal
) -> Iterator[str]:
    mark = step.status.value.mark if step.status else ""
    title = terminal.style(visible(step.title), "bold")
    extra = [visible(step.target.value)] if step.target else []
    if depends is not None:
        extra.append(f"after {_joined(depends)}" if depends else "after nothing")
    if step.is_template:
        extra.append("a template: expand it")
    about = terminal.style(f"({', '.join(extra)})", "dim") if extra else ""
    number = (step.label or "?").rjust(width)
    yield f"  {number}. {mark + ' ' if mark else ''}{title} {about}".rstrip()
    indent = " " * (width + 4)
    if step.task:
        yield from _wrapped(step.task.text, indent)
    if step.subscriptions:
        names = (f"{item.value.kind.value}:{item.value.name}" for item in step.subscriptions)
        yield f"{indent}{terminal.style('reads', 'dim')} {_joined(names)}"
    if step.touches is not None:
        patterns = _joined(item.value for item in step.touches) or "nothing"
        yield f"{indent}{terminal.style('touches', 'dim')} {patterns}"
    yield from _contract(step.contract, indent, terminal)
    yield from _rejects(step.rejects, indent, terminal)
    limits = []
    if step.timeout:
        limits.append(f"timeout {format_duration(step.timeout.value)}")
    if step.contract_timeout:
        limits.append(f"contract timeout {format_duration(step.contract_timeout.value)}")
    if step.budget:
        limits.append(f"budget {format_budget(step.budget.value)}")
    if step.on_fail:
        limits.append(f"on failure {on_fail_text(step.on_fail.value)}")
    if limits:
        yield indent + terminal.style(" · ".join(limits), "dim")


def _conditions(title: str, conditions: tuple[Condition, ...], terminal: Terminal) -> Iterator[str]:
    if not conditions:
        return
    yield ""
    yield terminal.style(f"{title} ({len(conditions)})", "bold")
    for condition in conditions:
        yield f"  {condition.number}. {visible(condition.statement)}"
        if condition.contract is None:
            yield f"{' ' * 5}{terminal.style('no contract: claimed with evidence', 'yellow')}"
        else:
            yield from _contract(condition.contract, " " * 5, terminal)
            yield from _rejects(condition.rejects, " " * 5, terminal)


def _rejects(rejects: tuple[Rejected, ...], indent: str, terminal: Terminal) -> Iterator[str]:
    if rejects:
        names = _joined(name for name, _ in named_controls(rejects))
        yield f"{indent}{terminal.style('rejects', 'dim')} {names}"


def _contract(contract: Contract | None, indent: str, terminal: Terminal) -> Iterator[str]:
    match contract:
        case None:
            yield indent + terminal.style("no contract", "yellow")
        case Attest():
            yield f"{indent}{terminal.style('attested by a person:', 'dim')} " + visible(
                contract.statement
            )
        case Command() | CaseTable():
            sign = "$" if isinstance(contract, Command) else "="
            if isinstance(contract, CaseTable):
                yield f"{indent}{terminal.style(say_table(contract.text), 'dim')}"
            for number, line in enumerate(contract.text.split("\n")):
                prompt = terminal.style(sign if number == 0 else " ", "green")
                yield f"{indent}{prompt} {visible(line)}"
            expected = [visible(expectation_text(item.value)) for item in contract.expectations]
            if expected and expected != ["exit_code == 0"]:
                yield f"{indent}  {terminal.style('expects ' + ', '.join(expected), 'dim')}"


def _wrapped(text: str, indent: str) -> Iterator[str]:
    """Yield a task as it is written, moved in."""
    for line in text.split("\n"):
        yield f"{indent}{visible(line)}".rstrip()


def _joined(items: object) -> str:
    return ", ".join(visible(str(item)) for item in items)  # type: ignore[attr-defined]  # any iterable
