"""This machine and what is kept on it: `planbound doctor`, `gc` and `selftest`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from msgspec import UNSET, UnsetType

from planbound.cells.choose import CellTrial, trials
from planbound.cells.host import unheard
from planbound.cells.isolation import Isolation, refuse_in_cell
from planbound.cli.progress import waiting
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.space import size_text
from planbound.doctor.doctor import Health, doctor, is_well
from planbound.doctor.gc import Cleared, clear_out
from planbound.errors import ExitCode, PlanboundError
from planbound.judging.context import hide_harness, scratch
from planbound.source import visible
from planbound.workspace.context import Context
from planbound.workspace.overview import put_all_right

# -- `planbound doctor` --------------------------------------------------------------------------


_COLOURS = {Health.OK: "green", Health.WARN: "yellow", Health.FAIL: "red"}


class DoctorCheck(JsonObject, frozen=True):
    """Something that `doctor` looked at."""

    name: str
    health: Health
    message: str
    cure: str | None


class DoctorReport(JsonObject, frozen=True):
    ok: bool
    """Whether nothing is wrong; a warning does not count."""
    checks: list[DoctorCheck]
    mended: list[str] | UnsetType = UNSET
    """With `--fix`: the marks that were put right."""
    failed: list[str] | UnsetType = UNSET
    """With `--fix`: what could not be."""


def configure_doctor(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--fix", action="store_true", help="correct the marks in plan files from the journal"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_doctor(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Look at everything; repair nothing but marks, and those only if told to."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    mended, failed = _fix(context) if arguments.fix else ([], [])
    with waiting("looking at", "the workspace, the state home and the hosts", quiet=arguments.json):
        checks = doctor(context)
    if arguments.json:
        terminal.json(
            DoctorReport(
                ok=is_well(checks),
                checks=[DoctorCheck(*check) for check in checks],
                mended=mended if arguments.fix else UNSET,
                failed=failed if arguments.fix else UNSET,
            )
        )
    else:
        for what in mended:
            terminal.out(f"mended  {visible(what)}")
        for what in failed:
            terminal.out(f"cannot mend  {visible(what)}")
        for check in checks:
            health = terminal.style(check.health.value.ljust(4), _COLOURS[check.health])
            terminal.out(f"{health}  {check.name}: {visible(check.message)}")
            if check.cure:
                terminal.out(f"      cure: {visible(check.cure)}")
    return ExitCode.DONE if is_well(checks) else ExitCode.FAILED


def _fix(context: Context) -> tuple[list[str], list[str]]:
    try:
        return put_all_right(context)
    except PlanboundError as error:  # the checks say what is wrong with it
        return [], [error.message]


# -- `planbound gc` ------------------------------------------------------------------------------


class GcItem(JsonObject, frozen=True):
    """One thing that nobody needs."""

    kind: str
    path: str
    size: int
    """In bytes, as every size here."""


class GcReport(JsonObject, frozen=True):
    items: list[GcItem]
    contents: int
    """How many kept contents nobody needs."""
    contents_size: int
    kept: int
    """How many kept contents somebody needs."""
    busy: bool
    """Whether somebody uses the kept contents now, so that they stay."""
    size: int
    """How large the state home is afterwards."""
    elsewhere: bool
    """Whether a journal that cannot be read from here may need kept contents, so that they stay."""
    dry_run: bool


def configure_gc(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--dry-run", action="store_true", help="only say what would be removed")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_gc(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Remove what no run, approval or receipt needs."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    with waiting("looking for", "what nobody needs", quiet=arguments.json):
        cleared = clear_out(context, dry=arguments.dry_run)
    if arguments.json:
        items = [GcItem(kind.value, path, size) for kind, path, size in cleared.items]
        about = cleared._replace(items=())._asdict() | {"items": items}
        terminal.json(GcReport(**about, dry_run=arguments.dry_run))
        return ExitCode.DONE
    _tell(cleared, terminal, dry=arguments.dry_run)
    return ExitCode.DONE


def _tell(cleared: Cleared, terminal: Terminal, *, dry: bool) -> None:
    verb = "would remove" if dry else "removed"
    for item in cleared.items:
        terminal.out(f"{verb} {item.kind.value}: {visible(item.path)}, {size_text(item.size)}")
    if cleared.contents:
        of_all = f"{cleared.contents} of {cleared.contents + cleared.kept} kept contents"
        shown = "leaves" if cleared.busy and not dry else verb
        terminal.out(f"{shown} {of_all}, {size_text(cleared.contents_size)}")
    if cleared.busy:
        terminal.note("note: a planbound that works here may need kept contents: try again later")
    if cleared.elsewhere:
        terminal.note(
            "note: kept contents belong to a journal on PostgreSQL, too, and stay:"
            " say where it is by `PLANBOUND_DATABASE_URL`"
        )
    if not cleared.items and not cleared.contents:
        terminal.out("nothing to remove")
    terminal.out(f"the state home has {size_text(cleared.size)}")


# -- `planbound selftest` ------------------------------------------------------------------------


_WHOSE = {False: "contract", True: "agent"}


class CellCheck(JsonObject, frozen=True):
    """One attempt to break out of a cell."""

    check: str
    held: bool
    promised: bool
    """Whether a cell of this level is to hold."""


class CellReport(JsonObject, frozen=True, rename={"whose": "for"}):
    """A kind of cell, tried on this machine."""

    cell: str
    whose: str
    """`contract` or `agent`."""
    isolation: Isolation
    works: bool
    reason: str | None
    """Why it does not work."""
    checks: list[CellCheck]


class CellsTried(JsonObject, frozen=True):
    isolation: Isolation | None
    """Of the strongest cell that works; null where there is none."""
    cell: str | None
    demanded: Isolation
    cells: list[CellReport]


def configure_selftest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_selftest(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Try every kind of cell on this machine."""
    refuse_in_cell()
    hide_harness()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    found: dict[str, list[CellTrial]] = {}
    for writable, whose in _WHOSE.items():
        with waiting("trying", f"the cells of {_article(whose)}", quiet=arguments.json):
            found[whose] = list(trials(scratch(context), writable=writable))
    demanded = context.configuration.judging.isolation
    best = next((trial for trial in found["contract"] if trial.works), None)
    enough = best is not None and best.cell.isolation.reaches(demanded)
    if arguments.json:
        terminal.json(
            CellsTried(
                isolation=best.cell.isolation if best else None,
                cell=best.cell.name if best else None,
                demanded=demanded,
                cells=[_tried(trial, whose) for whose, tried in found.items() for trial in tried],
            )
        )
    else:
        for line in _lines(found, terminal):
            terminal.out(line)
        level = f"{best.cell.isolation.value} ({best.cell.name})" if best else "no cell at all"
        terminal.out(f"contracts are judged at {level}; {demanded.value} is demanded")
        if why := unheard():
            terminal.out(f"nothing runs side by side: cells could meet, and none is heard ({why})")
    return ExitCode.DONE if enough else ExitCode.FAILED


def _tried(trial: CellTrial, whose: str) -> CellReport:
    return CellReport(
        cell=trial.cell.name,
        whose=whose,
        isolation=trial.cell.isolation,
        works=trial.works,
        reason=trial.reason,
        checks=[
            CellCheck(
                check=item.probe.name,
                held=item.held,
                promised=trial.cell.isolation.reaches(item.probe.needed),
            )
            for item in trial.findings
        ],
    )


def _article(whose: str) -> str:
    return f"{'an' if whose == 'agent' else 'a'} {whose}"


def _lines(found: dict[str, list[CellTrial]], terminal: Terminal) -> Iterator[str]:
    for whose, tried in found.items():
        yield terminal.style(f"The cell of {_article(whose)}", "bold")
        for trial in tried:
            held = sum(item.held for item in trial.findings)
            level = trial.cell.isolation.value
            if not trial.works:
                yield f"  {terminal.style('✗', 'yellow')} {level} {trial.cell.name}: {trial.reason}"
                continue
            count = f"{held} of {len(trial.findings)} attempts held"
            if trial.cell.isolation is Isolation.I0:
                yield f"  {terminal.style('✓', 'green')} {level} {trial.cell.name}: no walls at all"
                continue
            yield f"  {terminal.style('✓', 'green')} {level} {trial.cell.name}: {count}"
            for item in trial.findings:
                if not item.held:
                    yield f"      open: a program in it {item.probe.name}"
        yield ""


SHAPES: dict[str, Shapes] = {
    "doctor": {"": DoctorReport},
    "gc": {"": GcReport},
    "selftest": {"": CellsTried},
}
