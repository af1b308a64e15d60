"""`planbound expand`."""

from __future__ import annotations

import argparse
import sys

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.plan.expand import MAX_STEPS, PLACEHOLDERS, Batch, Expansion, expand, read_batches
from planbound.ports.files import PlanFile
from planbound.usecases.expand import expand_file
from planbound.usecases.locate import locate
from planbound.wiring.parts import Parts

_MOST_WORDS = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--step", required=True, metavar="LABEL", help="the template, `3-N`")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--batches",
        metavar="FILE",
        help="one batch a line, or groups of lines with blank lines between them; `-` for stdin",
    )
    source.add_argument("--count", type=int, metavar="K", help="so many steps")
    source.add_argument(
        "--draft", metavar="FILE", help="let a model make the batches from a file, an inventory"
    )
    parser.add_argument(
        "--size", type=int, metavar="K", help="with --batches: deal the lines out, K to a batch"
    )
    parser.add_argument("--print", action="store_true", help="print the plan, write nothing")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write the template out."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file = locate(arguments.plan, parts.tree)
    if arguments.draft is not None:
        expansion = _drafted(arguments, parts, file, terminal)
    else:
        batches = _batches(arguments, parts)
        expansion = expand_file(
            file, arguments.step, batches, files=parts.files, dry=arguments.print
        )
    _warn(expansion, terminal)
    if arguments.print:
        terminal.raw(expansion.plan.source.text)
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
    arguments: argparse.Namespace, parts: Parts, file: PlanFile, terminal: Terminal
) -> Expansion:
    from planbound.cli import drafting  # noqa: PLC0415 - only where a model is asked
    from planbound.plan.parse import parse, write  # noqa: PLC0415
    from planbound.usecases.fill import fill_template  # noqa: PLC0415
    from planbound.wiring.judging import refuse_in_cell  # noqa: PLC0415

    if arguments.size is not None:
        raise UsageError("`--size` goes with `--batches`")
    refuse_in_cell()
    source = drafting.read_context(arguments.draft, parts, drafting.cleaner(parts))
    data = parts.files.read(file.path)
    plan = parse(data, path=file.shown)
    expand(plan, arguments.step, [("probe",)])  # before anybody is paid: is there a template?
    with drafting.drafter_for(parts, drafting.PLANNER, terminal) as drafter:
        desk = drafting.make_desk(parts, drafter, terminal, tries=False)
        expansion = fill_template(desk, plan, arguments.step, source)
    if not arguments.print:
        parts.files.replace(file.path, write(expansion.plan), expected=data)
    return expansion


def _batches(arguments: argparse.Namespace, parts: Parts) -> list[Batch]:
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
        data = parts.files.read(arguments.batches)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{arguments.batches}` is not UTF-8 text") from error
    batches = read_batches(text, size=arguments.size)
    if not batches:
        raise UsageError(f"`{arguments.batches}` names no batch")
    return batches
