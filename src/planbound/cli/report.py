"""`planbound report`: plans with all of their evidence, as one page."""

from __future__ import annotations

import argparse
import sys

from planbound.cli.costs import plan_names
from planbound.cli.progress import waiting
from planbound.cli.terminal import Terminal
from planbound.disk.files import write_whole
from planbound.errors import ExitCode, UsageError
from planbound.receipts.html import Html
from planbound.receipts.report import report_page
from planbound.source import visible
from planbound.workspace.context import Context


def configure_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plans", nargs="*", metavar="PLAN", help="plans by name (default: all)")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="where the page goes (default: standard output)"
    )


def run_report(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write one page of HTML that loads and runs nothing."""
    refuse_terminal(arguments.output)
    context = Context(workspace=arguments.workspace, state=arguments.state)
    names = plan_names(arguments.plans, context, context.existing_journal())
    with waiting("collecting", "what happened", quiet=arguments.output is None):
        page = report_page(context, names)
    return write_page(page, arguments.output, terminal)


def refuse_terminal(output: str | None) -> None:
    """Refuse to print a page where people read."""
    if output is None and sys.stdout.isatty():
        raise UsageError(
            "a page is nothing for a terminal", hint="`-o run.html` writes it into a file"
        )


def write_page(page: Html, output: str | None, terminal: Terminal) -> ExitCode:
    """Write a page to standard output, or whole or not at all to a file."""
    if output is None:
        terminal.raw(str(page))
        return ExitCode.DONE
    data = str(page).encode("utf-8")
    write_whole(output, data)
    terminal.note(f"wrote {visible(output)}: {len(data):,} bytes")
    return ExitCode.DONE
