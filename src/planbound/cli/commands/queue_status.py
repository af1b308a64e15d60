"""`planbound queue-status`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, PlanboundError
from planbound.source.visible import visible
from planbound.store.progress import last_line
from planbound.usecases.queue_status import Queue, queue_status
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print one line for each plan; whatever is broken, the exit code is 0."""
    try:
        parts = Parts(workspace=arguments.workspace, state=arguments.state)
        queue = queue_status(parts.tree, parts.files, parts.existing_journal, last_line)
    except PlanboundError as error:
        queue = Queue((), (error.message,))
    if arguments.json:
        terminal.json(
            {
                "plans": [line._asdict() for line in queue.lines],
                "degrade_warnings": list(queue.warnings),
            }
        )
        return ExitCode.DONE
    for warning in queue.warnings:
        terminal.note(f"warning: {visible(warning)}")
    for line in queue.lines:
        terminal.out(f"{visible(line.slug)} [{line.status}] {line.progress}".rstrip())
    return ExitCode.DONE
