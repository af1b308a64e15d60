"""`planbound fleet`, as a table that is drawn anew, and as lines that stay."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from planbound.approval.remind import Reminder
from planbound.cells.isolation import refuse_in_cell
from planbound.cells.stages import spoken
from planbound.cli.interrupt import signals
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.source import visible
from planbound.state.step import tally
from planbound.team.fleet import Fleet, make_fleet
from planbound.team.fleet_decision import FleetRow, FleetState, exit_code_of
from planbound.workspace.context import Context

# -- A fleet as a table that is drawn anew, and as lines that stay -------------------------------


Paint = Callable[[str, str], str]
"""Returns a text in a style, such as `green`."""

_STYLES = {
    FleetState.STARTING: "cyan",
    FleetState.RUNNING: "cyan",
    FleetState.DONE: "green",
    FleetState.ASKING: "yellow",
    FleetState.FAILED: "red",
    FleetState.REFUSED: "red",
    FleetState.INTERRUPTED: "yellow",
    FleetState.ELSEWHERE: "cyan",
    FleetState.HELD: "dim",
}
_AT_WORK = frozenset({FleetState.STARTING, FleetState.RUNNING})
_BAD = frozenset({FleetState.FAILED, FleetState.REFUSED})
_NARROWEST = 20
_SHORTEST = 3


def table_lines(rows: Sequence[FleetRow], *, width: int, height: int, paint: Paint) -> list[str]:
    """Return the table, none of it wider or longer than the terminal."""
    width, height = max(width - 1, _NARROWEST), max(height - 1, _SHORTEST)
    shown = rows if len(rows) <= height else _weightiest(rows, height - 1)
    columns = [(visible(row.plan), row.state.value, _count(row), _time(row)) for row in shown]
    sizes = [max((len(each[at]) for each in columns), default=0) for at in range(4)]
    sizes[0] = min(sizes[0], max(8, width // 3))
    lines = []
    for row, (name, state, count, seconds) in zip(shown, columns, strict=True):
        start = f"{_cut(name, sizes[0]):{sizes[0]}}  "
        text = f"{count:>{sizes[2]}}  {seconds:>{sizes[3]}}  {_about(row)}".rstrip()
        line = _cut(f"{start}{state:{sizes[1]}}  {text}".rstrip(), width)
        # Painted when it is cut: what styles a text takes no room.
        at, end = len(start), len(start) + len(state)
        lines.append(line[:at] + paint(line[at:end], _STYLES[row.state]) + line[end:])
    if len(shown) < len(rows):
        lines.append(_cut(_rest(rows, shown), width))
    return lines


def change_lines(before: Sequence[FleetRow], after: Sequence[FleetRow]) -> Iterator[str]:
    """Yield what happened between two moments, a line for each."""
    known = {row.plan: row for row in before}
    for row in after:
        old = known.get(row.plan)
        name = visible(row.plan)
        is_new = old is None or old.state is not row.state
        if row.state is FleetState.RUNNING and is_new:
            yield f"{name}: started in {visible(row.worktree or '')}"
        if old is not None and _settled(row) > _settled(old):
            yield f"{name}: {tally(row.proved, row.steps, row.holds, row.attested)}"
        if row.state not in _AT_WORK and is_new:
            reason = f": {visible(row.reason)}" if row.reason else ""
            yield f"{name}: {row.state.value}{reason}"


def end_lines(rows: Sequence[FleetRow], *, stopped: bool) -> Iterator[str]:
    """Yield what a person should know at the end, and what to do next."""
    for row in rows:
        if row.state in _BAD:
            yield f"`{visible(row.plan)}` {_ended(row)}"
            yield from (f"    {visible(line)}" for line in row.tail)
        elif row.state is FleetState.HELD:
            yield f"`{visible(row.plan)}` is held back: {visible(row.reason)}"
    asking = [row.plan for row in rows if row.state is FleetState.ASKING]
    if asking:
        yield f"{_quoted(asking)} wait{'s' if len(asking) == 1 else ''} for you: `planbound inbox`"
    done = sum(row.state is FleetState.DONE for row in rows)
    if stopped:
        yield "interrupted; go on with `planbound fleet`"
    elif done:
        yield f"{done} of {len(rows)} done: `planbound integrate` brings them together"


class FleetPlan(JsonObject, frozen=True):
    """A plan of a fleet."""

    plan: str
    state: FleetState
    reason: str | None
    worktree: str | None
    branch: str | None
    proved: int
    holds: int
    attested: int
    steps: int
    exit_code: int | None
    """How its own process ended."""
    log: str | None
    """The file with what it said."""


class FleetEnd(JsonObject, frozen=True):
    plans: list[FleetPlan]
    exit_code: int


def fleet_plans(rows: Sequence[FleetRow]) -> list[FleetPlan]:
    """Return the plans of a fleet for programs."""
    return [
        FleetPlan(
            plan=row.plan,
            state=row.state,
            reason=row.reason or None,
            worktree=row.worktree,
            branch=row.branch,
            proved=row.proved,
            holds=row.holds,
            attested=row.attested,
            steps=row.steps,
            exit_code=row.exit_code,
            log=row.log,
        )
        for row in rows
    ]


def _ended(row: FleetRow) -> str:
    reason = f": {visible(row.reason)}" if row.reason else ""
    verb = "failed" if row.state is FleetState.FAILED else "was refused"
    return f"{verb}{reason}" + (f"; all it said is in {visible(row.log)}" if row.log else "")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{visible(name)}`" for name in names)


def _count(row: FleetRow) -> str:
    holds = f", {row.holds} hold{'s' if row.holds == 1 else ''}" if row.holds else ""
    holds += f", {row.attested} attested" if row.attested else ""
    return f"{row.proved}/{row.steps}{holds}" if row.steps else ""


def _settled(row: FleetRow) -> tuple[int, int, int]:
    return row.proved, row.holds, row.attested


def _time(row: FleetRow) -> str:
    return spoken(row.seconds) if row.seconds else ""


def _about(row: FleetRow) -> str:
    return visible(" ".join((row.current or row.reason).split()))


def _weightiest(rows: Sequence[FleetRow], most: int) -> list[FleetRow]:
    """Return those that a person wants to see, in their order: what is done is known."""
    least = {FleetState.DONE: 2, FleetState.HELD: 1}
    ranked = sorted(rows, key=lambda row: least.get(row.state, 0))[:most]
    return [row for row in rows if row in ranked]


def _rest(rows: Sequence[FleetRow], shown: Sequence[FleetRow]) -> str:
    hidden = Counter(row.state for row in rows if row not in shown)
    said = ", ".join(f"{count} {state.value}" for state, count in hidden.items())
    return f"… and {sum(hidden.values())} more: {said}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


# -- `planbound fleet` ---------------------------------------------------------------------------


_MOST_JOBS = 64
_GRANTS = "grants"
_EVERY = 0.2


def configure_fleet(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plans",
        nargs="*",
        metavar="NAME",
        help="the plans (default: all that are not done); the word `grants` instead prints the SQL"
        " for a role of workers in the database",
    )
    parser.add_argument(
        "--role", metavar="NAME", help="with `grants`: the role (default: planbound_worker)"
    )
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="how many plans at once (default: `[worktrees] jobs`)"
    )
    parser.add_argument(
        "--no-input", action="store_true", help="accepted as for `run`; a fleet never asks here"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_fleet(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Spawn and run all plans that are safe together, and the next ones as these are proved."""
    refuse_in_cell()
    gc.enable()  # it lives for hours
    context = Context(workspace=arguments.workspace, state=arguments.state)
    if arguments.plans == [_GRANTS]:
        return _print_grants(context, arguments, terminal)
    if arguments.role is not None:
        raise UsageError("`--role` is for `planbound fleet grants`")
    jobs = arguments.jobs
    if jobs is None:
        jobs = context.configuration.worktrees.jobs
    if not 1 <= jobs <= _MOST_JOBS:
        raise UsageError(f"`--jobs` is {jobs}, expected 1 to {_MOST_JOBS}")
    face = _FleetScreen(terminal, silent=arguments.json)
    fleet = face.fleet = make_fleet(context, arguments.plans, jobs=jobs, watch=face.watch)
    with signals(face), Reminder(context, face.say):
        rows = fleet.run()
    code = exit_code_of(rows, started=fleet.started, stopped=fleet.is_stopped)
    face.end(rows)
    if arguments.json:
        terminal.json(FleetEnd(plans=fleet_plans(rows), exit_code=int(code)))
        return code
    for line in end_lines(rows, stopped=fleet.is_stopped):
        terminal.note(line)
    return code


def _print_grants(context: Context, arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the SQL that gives a role of workers what it needs, and no more."""
    from planbound.journal.postgres_grants import WORKER_ROLE, check_role  # noqa: PLC0415 - seldom

    if arguments.json or arguments.jobs is not None:
        raise UsageError("`planbound fleet grants` prints SQL, and takes `--role` alone")
    role = WORKER_ROLE if arguments.role is None else arguments.role
    check_role(role)
    grants = context.shared_journal().grants(role)
    for line in grants.lines():
        terminal.out(line)
    if not grants.has_queue:
        terminal.note("note: the queue has no tables yet, so these rights leave it out")
    return ExitCode.DONE


class _FleetScreen:
    """Shows a fleet: a table on a terminal, lines where there is none to draw on."""

    def __init__(self, terminal: Terminal, *, silent: bool) -> None:
        self.terminal = terminal
        self.draws = not silent and sys.stderr.isatty()
        self.writes = not silent and not (self.draws and sys.stdout.isatty())
        self.fleet: Fleet | None = None
        self._rows: Sequence[FleetRow] = ()
        self._drawn = 0
        self._at = 0.0

    def watch(self, rows: Sequence[FleetRow]) -> None:
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

    def end(self, rows: Sequence[FleetRow]) -> None:
        """Leave the table as it is at last."""
        if self.draws:
            self._draw(rows)

    def _draw(self, rows: Sequence[FleetRow]) -> None:
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


SHAPES: dict[str, Shapes] = {
    "fleet": {"": FleetEnd},
}
