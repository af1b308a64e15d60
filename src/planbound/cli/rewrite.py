"""Changing how a plan is written: `planbound fmt` and `expand`."""

from __future__ import annotations

import argparse
import difflib
import sys
from functools import partial

from planbound.cli.named_plans import STANDARD_INPUT, read_plan, references
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import PlanFile
from planbound.drafting.format import Formatted, expand_file, format_file, format_text
from planbound.errors import ExitCode, UsageError
from planbound.plan.expand import MAX_STEPS, PLACEHOLDERS, Batch, Expansion, expand, read_batches
from planbound.plan.model import Plan
from planbound.plan.parse import parse, write
from planbound.source import visible
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

# -- `planbound fmt` -----------------------------------------------------------------------------


class RepairedPlan(JsonObject, frozen=True):
    """A plan that was looked at."""

    path: str
    changed: bool
    repairs: list[str]
    """What was repaired, or would be with `--check`."""
    text: str | None
    """The plan as it is then, where it came from standard input."""


class RepairsMade(JsonObject, frozen=True):
    changed: bool
    """Whether any of them needed a repair."""
    plans: list[RepairedPlan]


def configure_fmt(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plans", nargs="*", metavar="PLAN", help="a name or a file; `-` writes to standard output"
    )
    parser.add_argument("--all", action="store_true", help="every plan of the workspace")
    parser.add_argument("--check", action="store_true", help="only say what would change")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_fmt(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Repair the plans, or say that they need it."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    found: list[RepairedPlan] = []
    for reference in references(arguments, context):
        if reference == STANDARD_INPUT:
            file, data = read_plan(reference, context)
            formatted = format_text(data, path=file.shown)
            if not arguments.check and not arguments.json:
                terminal.raw(formatted.after.source.text)
        else:
            file = locate(reference, context.tree)
            formatted = format_file(file, files=context.files, check=arguments.check)
            if not arguments.json:
                _report(formatted, terminal, check=arguments.check)
        found.append(_repaired(file, formatted))
    changed = any(each.changed for each in found)
    if arguments.json:
        terminal.json(RepairsMade(changed=changed, plans=found))
    return ExitCode.FAILED if arguments.check and changed else ExitCode.DONE


def _repaired(file: PlanFile, formatted: Formatted) -> RepairedPlan:
    is_given = file.path == STANDARD_INPUT
    return RepairedPlan(
        path=file.path,
        changed=formatted.changed,
        repairs=list(formatted.mended),
        text=formatted.after.source.text if is_given else None,
    )


def _report(formatted: Formatted, terminal: Terminal, *, check: bool) -> None:
    path = formatted.before.source.path
    if not formatted.changed:
        terminal.note(f"{path}: nothing to repair")
        return
    for line in _difference(formatted.before, formatted.after):
        terminal.out(_coloured(line, terminal))
    verb = "would repair" if check else "repaired"
    terminal.note(f"{path}: {verb} {', '.join(formatted.mended)}")


def _difference(before: Plan, after: Plan) -> list[str]:
    path = before.source.path
    old, new = (_difference_lines(plan) for plan in (before, after))
    return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _difference_lines(plan: Plan) -> list[str]:
    # Line ends are part of what is compared: a carriage return is shown as one.
    return plan.source.text.split("\n")


def _coloured(line: str, terminal: Terminal) -> str:
    text = visible(line)
    if line.startswith(("+++", "---")):
        return terminal.style(text, "bold")
    if line.startswith("@@"):
        return terminal.style(text, "cyan")
    if line.startswith("+"):
        return terminal.style(text, "green")
    return terminal.style(text, "red") if line.startswith("-") else text


# -- `planbound expand` --------------------------------------------------------------------------


_MOST_WORDS = 5


class StepsWrittenOut(JsonObject, frozen=True):
    slug: str
    path: str
    template: str
    steps: list[int]
    """The numbers of the steps that it is now."""
    unknown: list[str]
    """Words in braces that nothing was put in for."""
    text: str | None
    """The plan, with `--print`: nothing was written then."""


def configure_expand(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--step", required=True, metavar="LABEL", help="the template, `3-N`")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--batches",
        metavar="FILE",
        help="one batch a line, or one a group of lines between blank lines; `-` for stdin",
    )
    source.add_argument("--count", type=int, metavar="K", help="make this many steps")
    source.add_argument(
        "--draft",
        metavar="FILE",
        help="let a model make the batches from a file such as an inventory",
    )
    parser.add_argument(
        "--size", type=int, metavar="K", help="with --batches: put K lines into each batch"
    )
    parser.add_argument("--print", action="store_true", help="print the plan, write nothing")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_expand(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write the template out."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file = locate(arguments.plan, context.tree)
    if arguments.draft is not None:
        expansion = _drafted(arguments, context, file, terminal)
    else:
        batches = _batches(arguments, context)
        expansion = expand_file(
            file, arguments.step, batches, files=context.files, dry=arguments.print
        )
    _warn(expansion, terminal)
    text = expansion.plan.source.text if arguments.print else None
    if arguments.json:
        terminal.json(
            StepsWrittenOut(
                slug=file.slug,
                path=file.path,
                template=arguments.step,
                steps=list(expansion.numbers),
                unknown=list(expansion.unknown),
                text=text,
            )
        )
        return ExitCode.DONE
    if text is not None:
        terminal.raw(text)
        return ExitCode.DONE
    first, last = expansion.numbers[0], expansion.numbers[-1]
    steps = f"step {first}" if first == last else f"steps {first} to {last}"
    terminal.out(f"{file.shown}: `{arguments.step}` is now {steps}")
    return ExitCode.DONE


def _warn(expansion: Expansion, terminal: Terminal) -> None:
    """Say what nothing was put in for: most often a placeholder by another name."""
    if expansion.unknown:
        words = ", ".join(f"`{{{word}}}`" for word in expansion.unknown[:_MOST_WORDS])
        known = ", ".join(f"`{{{word}}}`" for word in PLACEHOLDERS)
        stays = "stays as it is" if len(expansion.unknown) == 1 else "stay as they are"
        terminal.note(f"warning: {words} {stays}: the placeholders are {known}")


def _drafted(
    arguments: argparse.Namespace, context: Context, file: PlanFile, terminal: Terminal
) -> Expansion:
    from planbound.cells.isolation import refuse_in_cell  # noqa: PLC0415 - seldom
    from planbound.cli import drafting  # noqa: PLC0415 - only where a model is asked
    from planbound.drafting.draft import fill_template  # noqa: PLC0415 - the same

    if arguments.size is not None:
        raise UsageError("`--size` goes with `--batches`")
    refuse_in_cell()
    source = drafting.read_context(arguments.draft, context, drafting.cleaner(context))
    data = context.files.read(file.path)
    plan = parse(data, path=file.shown)
    expand(plan, arguments.step, [("probe",)])  # before anybody is paid: is there a template?
    with drafting.drafter_for(context, drafting.PLANNER, terminal) as drafter:
        said = partial(drafting.tell, terminal)
        expansion = fill_template(context, drafter, plan, arguments.step, source, said)
    if not arguments.print:
        context.files.replace(file.path, write(expansion.plan), expected=data)
    return expansion


def _batches(arguments: argparse.Namespace, context: Context) -> list[Batch]:
    if arguments.count is not None:
        if arguments.size is not None:
            raise UsageError("`--size` goes with `--batches`")
        if not 1 <= arguments.count <= MAX_STEPS:
            raise UsageError(f"`--count` is {arguments.count}, expected 1 to {MAX_STEPS:,}")
        return [()] * arguments.count
    if arguments.size is not None and arguments.size < 1:
        raise UsageError(f"`--size` is {arguments.size}, expected at least 1")
    if arguments.batches == "-":
        data = sys.stdin.buffer.read()
    else:
        data = context.files.read(arguments.batches)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{arguments.batches}` is not UTF-8 text") from error
    batches = read_batches(text, size=arguments.size)
    if not batches:
        raise UsageError(f"`{arguments.batches}` names no batch")
    return batches


SHAPES: dict[str, Shapes] = {"fmt": {"": RepairsMade}, "expand": {"": StepsWrittenOut}}
