"""Plans that a command names: they are read, noted in the journal, and what waits is told."""

from __future__ import annotations

import argparse
import shlex
import sys
from typing import TYPE_CHECKING

from planbound.cli.shape import JsonObject
from planbound.cli.terminal import Terminal
from planbound.disk.files import PlanFile
from planbound.errors import ConcurrentModification, FileProblem, JournalProblem, UsageError
from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.plan.parse import MAX_BYTES, write
from planbound.workspace.context import Context
from planbound.workspace.locate import first_plan, locate

if TYPE_CHECKING:
    from planbound.verify.examine import Verified


# -- plans named on the command line -------------------------------------------------------------


STANDARD_INPUT = "-"


def references(arguments: argparse.Namespace, context: Context) -> list[str | None]:
    """Return the plans that were named, every plan for `--all`, None for the bound one."""
    if not arguments.all:
        return arguments.plans or [None]
    if arguments.plans:
        raise UsageError("`--all` and names of plans do not go together")
    plans = context.tree.plans()
    if not plans:
        raise UsageError("there is no plan here", hint=first_plan(context.tree))
    return [plan.path for plan in plans]


def mend(name: str, *, json: bool) -> str:
    """Return what names everything that keeps a plan from being taken as it is."""
    return f"mend what `planbound verify {shlex.quote(name)}{' --json' if json else ''}` reports"


def read_bound_plan(reference: str | None, context: Context) -> tuple[Context, PlanFile, bytes]:
    """Return a plan, and the context for the worktree that it is bound to."""
    file, data = read_plan(reference, context)
    if file.path == STANDARD_INPUT:
        return context, file, data
    from planbound.git.place import at_worktree  # noqa: PLC0415 - not where files are read only

    return at_worktree(context, file), file, data


def read_own_plan(reference: str | None, context: Context) -> tuple[PlanFile, bytes]:
    """Return a plan of the workspace; refuse any other file, and say what to do with it."""
    file, data = read_plan(reference, context)
    context.demand_own(file)
    return file, data


def read_plan(reference: str | None, context: Context) -> tuple[PlanFile, bytes]:
    """Return a plan's file and content; `-` is standard input."""
    if reference == STANDARD_INPUT:
        data = sys.stdin.buffer.read(MAX_BYTES + 1)
        return PlanFile(slug="stdin", path=STANDARD_INPUT, shown="<stdin>"), data
    file = locate(reference, context.tree)
    return file, context.reader.read(file.path)


# -- noting in the journal what a command did ----------------------------------------------------


def note_verified(context: Context, file: PlanFile, result: Verified, terminal: Terminal) -> bytes:
    """Note that a plan of this workspace was verified, and mark its file so; return its text."""
    data = write(result.plan)
    if not context.holds(file.path):
        return data
    from planbound.workspace.marks import look_at, show_status  # noqa: PLC0415 - only for plans here

    try:
        context.see(file, result.plan)
        if result.errors:
            return data
        recorder = context.recorder()
        recorder.verified(
            file.slug, result.plan, path=context.relative(file.path), warnings=result.warnings
        )
        return show_status(context.files, look_at(recorder.journal, file, data))
    except JournalProblem as error:
        excuse(error.message, terminal)
    except (ConcurrentModification, FileProblem) as error:
        # Whoever changed it meanwhile has a text that nobody verified yet.
        terminal.note(f"note: the file does not show that it is verified: {error.message}")
    return data


class PlanWritten(JsonObject, frozen=True):
    """A plan that was written to a place of its own."""

    slug: str
    path: str
    digest: str


def plan_written(file: PlanFile, plan: Plan) -> PlanWritten:
    """Return what programs are told of a plan that was written."""
    return PlanWritten(slug=file.slug, path=file.path, digest=digest(plan))


def excuse(unrecorded: str | None, terminal: Terminal) -> None:
    """Say why the journal does not know of something; what was asked for is done all the same."""
    if unrecorded is not None:
        terminal.note(f"note: this is not in the journal: {unrecorded}")
