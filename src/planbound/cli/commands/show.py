"""`planbound show`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.inputs import read_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, PlanboundError
from planbound.plan.digest import digest
from planbound.plan.limits import format_budget, format_duration
from planbound.plan.model import Attest, Command, Condition, Contract, Step
from planbound.plan.render import as_data, expectation_text, on_fail_text
from planbound.ports.files import PlanFile
from planbound.source.visible import visible
from planbound.usecases.marks import Look, look_at
from planbound.wiring.marking import look
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show the plan."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, parts)
    seen = _look(parts, file, data, terminal)
    plan = seen.plan
    if arguments.json:
        revision = seen.state.revision if seen.state else 1
        shown = as_data(plan, slug=file.slug, path=file.path, revision=revision)
        terminal.json(shown | {"status": seen.status.value})
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


def _look(parts: Parts, file: PlanFile, data: bytes, terminal: Terminal) -> Look:
    """Return where the plan is; what it says is shown whatever is wrong with the journal."""
    try:
        return look(parts, file, data)
    except PlanboundError as error:
        terminal.note(f"warning: {visible(error.message)}: the status is what the file says")
        return look_at(None, file, data)


def _lines(seen: Look, terminal: Terminal) -> Iterator[str]:
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


def _contract(contract: Contract | None, indent: str, terminal: Terminal) -> Iterator[str]:
    match contract:
        case None:
            yield indent + terminal.style("no contract", "yellow")
        case Attest():
            yield f"{indent}{terminal.style('attested by a person:', 'dim')} " + visible(
                contract.statement
            )
        case Command():
            for number, line in enumerate(contract.text.split("\n")):
                prompt = terminal.style("$" if number == 0 else " ", "green")
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
