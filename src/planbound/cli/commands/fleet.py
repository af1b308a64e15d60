"""`planbound fleet`."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Sequence

from planbound.cli.reports.fleet import change_lines, end_lines, fleet_data, table_lines
from planbound.cli.running import signals
from planbound.cli.terminal import Terminal
from planbound.engine.team.row import Row, exit_code_of
from planbound.errors import ExitCode, UsageError
from planbound.usecases.team.fleet import Fleet
from planbound.wiring.fleet import make_fleet
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import Reminding

_MOST_JOBS = 64
_EVERY = 0.2


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "plans", nargs="*", metavar="NAME", help="the plans (default: all that are not done)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="how many plans at once (default: `[worktrees] jobs`)"
    )
    parser.add_argument(
        "--no-input", action="store_true", help="as for `run`; a fleet asks nothing here anyway"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Spawn and run all plans that are safe together, and the next ones as these are proved."""
    refuse_in_cell()
    gc.enable()  # it lives for hours
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    jobs = arguments.jobs
    if jobs is None:
        jobs = parts.configuration.worktrees.jobs
    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"`--jobs` is {jobs}, expected 1 to {_MOST_JOBS}")
    face = _Face(terminal, silent=arguments.json)
    fleet = face.fleet = make_fleet(parts, arguments.plans, jobs=jobs, watch=face.watch)
    with signals(face), Reminding(parts, face.say):
        rows = fleet.run()
    code = exit_code_of(rows, started=fleet.started, stopped=fleet.is_stopped)
    face.end(rows)
    if arguments.json:
        terminal.json({"plans": fleet_data(rows), "exit_code": int(code)})
        return code
    for line in end_lines(rows, stopped=fleet.is_stopped):
        terminal.note(line)
    return code


class _Face:
    """Shows a fleet: a table on a terminal, lines where there is none to draw on."""

    def __init__(self, terminal: Terminal, *, silent: bool) -> None:
        self.terminal = terminal
        self.draws = not silent and sys.stderr.isatty()
        self.writes = not silent and not (self.draws and sys.stdout.isatty())
        self.fleet: Fleet | None = None
        self._rows: Sequence[Row] = ()
        self._drawn = 0
        self._at = 0.0

    def watch(self, rows: Sequence[Row]) -> None:
        """Take notice of where the plans are."""
        if self.writes:
            for line in change_lines(self._rows, rows):
                self.terminal.out(line)
            sys.stdout.flush()
        self._rows = rows
        now = time.monotonic()
        if self.draws and now - self._at >= _EVERY:
            self._at = now
            self._draw(rows)

    def say(self, text: str) -> None:
        """Say something above the next table."""
        self._drawn = 0
        self.terminal.note(text)

    def stop(self, reason: str) -> None:
        """Let the fleet end; somebody has just written below the table, so the next is new."""
        self._drawn = 0
        if self.fleet is not None:
            self.fleet.stop(reason)

    def end(self, rows: Sequence[Row]) -> None:
        """Leave the table as it is at last."""
        if self.draws:
            self._draw(rows)

    def _draw(self, rows: Sequence[Row]) -> None:
        width, height = _size()
        lines = table_lines(rows, width=width, height=height, paint=self.terminal.error_style)
        up = f"\x1b[{self._drawn}A" if self._drawn else ""
        text = "".join(f"{line}\x1b[K\n" for line in lines)
        sys.stderr.write(f"\r{up}{text}\x1b[J")
        sys.stderr.flush()
        self._drawn = len(lines)


def _size() -> tuple[int, int]:
    try:
        size = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24  # some terminals do not know how large they are
