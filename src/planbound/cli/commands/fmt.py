"""`planbound fmt`."""

from __future__ import annotations

import argparse
import difflib

from planbound.cli.inputs import STANDARD_INPUT, read_plan, references
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.plan.model import Plan
from planbound.source.visible import visible
from planbound.usecases.format import Formatted, format_file, format_text
from planbound.usecases.locate import locate
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "plans", nargs="*", metavar="PLAN", help="a name or a file; `-` writes to standard output"
    )
    parser.add_argument("--all", action="store_true", help="every plan of the workspace")
    parser.add_argument("--check", action="store_true", help="only say what would change")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Repair the plans, or say that they need it."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    changed = False
    for reference in references(arguments, parts):
        if reference == STANDARD_INPUT:
            file, data = read_plan(reference, parts)
            formatted = format_text(data, path=file.shown)
            if not arguments.check:
                terminal.raw(formatted.after.source.text)
        else:
            file = locate(reference, parts.tree)
            formatted = format_file(file, files=parts.files, check=arguments.check)
            _report(formatted, terminal, check=arguments.check)
        changed |= formatted.changed
    return ExitCode.FAILED if arguments.check and changed else ExitCode.DONE


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
    old, new = (_lines(plan) for plan in (before, after))
    return list(difflib.unified_diff(old, new, f"a/{path}", f"b/{path}", lineterm=""))


def _lines(plan: Plan) -> list[str]:
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
