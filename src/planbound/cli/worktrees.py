"""`planbound spawn`, `integrate` and `prune`: a worktree for a plan, and its way back."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec import UNSET, UnsetType

from planbound.cells.isolation import refuse_in_cell
from planbound.cli.named_plans import read_plan
from planbound.cli.progress import live_line
from planbound.cli.run import signals
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo
from planbound.journal.event import StopKind, VerdictKind
from planbound.source import visible
from planbound.state.place import Binding
from planbound.team.integrate import Integrator
from planbound.team.merge import (
    Integrated,
    Landed,
    MergeNotTried,
    MergeResult,
    Note,
    Stopped,
)
from planbound.team.removal import Pruned, Removed, prune_worktrees
from planbound.team.spawn import AlreadySpawned, spawn_plan
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.team.conflict import Resolution

# -- `planbound spawn` ---------------------------------------------------------------------------


class WorktreeMade(JsonObject, frozen=True):
    plan: str
    worktree: str
    workspace: str
    """Where the plan's files are in it."""
    branch: str
    base: str
    """The commit that it begins with."""
    spawned: bool
    """Whether it was made now; else it was there."""
    notes: list[str] | UnsetType = UNSET


def configure_spawn(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="NAME", help="the plan")
    parser.add_argument(
        "--base",
        metavar="REV",
        help="the commit that it begins with (default: the main worktree's)",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_spawn(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Make a worktree and a branch for a plan."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, _ = read_plan(arguments.plan, context)
    context.demand_own(file)
    try:
        spawned = spawn_plan(context, file, arguments.base)
    except AlreadySpawned as there:
        if arguments.json:
            terminal.json(_made(there.binding, spawned=False))
        else:
            terminal.out(there.binding.path)
            terminal.note(f"nothing to do: {there.message}")
        return ExitCode.NOTHING_TO_DO
    if arguments.json:
        notes = list(spawned.notes)
        terminal.json(_made(spawned.binding, spawned=True, notes=notes))
        return ExitCode.DONE
    for note in spawned.notes:
        terminal.note(f"note: {visible(note)}")
    terminal.out(spawned.binding.path)
    branch, base = spawned.binding.branch, spawned.binding.base[:12]
    terminal.note(
        f"on `{visible(branch)}`, from {base}; run it with `planbound run {shlex.quote(file.slug)}`"
    )
    return ExitCode.DONE


def _made(binding: Binding, *, spawned: bool, notes: list[str] | UnsetType = UNSET) -> WorktreeMade:
    return WorktreeMade(
        plan=binding.plan,
        worktree=binding.path,
        workspace=binding.workspace,
        branch=binding.branch,
        base=binding.base,
        spawned=spawned,
        notes=notes,
    )


# -- `planbound integrate` -----------------------------------------------------------------------


class MergedPlan(JsonObject, frozen=True):
    """A plan that was merged, or with `--dry-run` would be."""

    plan: str
    commit: str | None
    note: str | UnsetType = UNSET


class StoppedPlan(JsonObject, frozen=True):
    """A plan that was not merged; its branch stays."""

    plan: str
    kind: StopKind
    reason: str
    files: list[str] | UnsetType = UNSET
    """Those that conflict."""
    verdicts: dict[str, VerdictKind] | UnsetType = UNSET
    """What the contracts said on the merged files."""
    about: str | UnsetType = UNSET
    """The plan whose contract did not pass, where it is another one."""


class NotMerged(JsonObject, frozen=True):
    """A plan that was not tried."""

    plan: str
    reason: str


class ResolutionPlan(JsonObject, frozen=True):
    """A plan that resolves a conflict."""

    plan: str
    of: str
    """The plan whose conflict it is."""
    worktree: str
    is_new: bool


class MergeMade(JsonObject, frozen=True):
    into: str
    before: str
    """Where the branch was, and where it is now."""
    after: str
    merged: list[MergedPlan]
    stopped: list[StoppedPlan]
    held_back: list[NotMerged]
    interrupted: bool
    resolutions: list[ResolutionPlan]
    """With `--resolve`: the plans that were made of conflicts."""


def configure_integrate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plans", nargs="*", metavar="NAME", help="the plans (default: all that are proved)"
    )
    parser.add_argument(
        "--into",
        metavar="BRANCH",
        help="the branch to merge into (default: `[worktrees] into`, else the main worktree's)",
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say what would be merged; nothing is judged"
    )
    parser.add_argument(
        "--resolve",
        action="store_true",
        help="turn every conflict into a plan of one step, with the same judges, for an agent",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_integrate(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Merge proved plans, each judged once more on the merged files."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    context.on_stage = live_line(quiet=arguments.json).judging
    face = _MergeScreen(
        terminal,
        quiet=arguments.json,
        foreseen=arguments.dry_run,
        resolves=arguments.resolve,
    )
    integrator = Integrator(context, arguments.plans or None, arguments.into, face.show)
    if arguments.dry_run:
        done = integrator.foresee()
        for result in done.results:
            face.show(result)
        if not done.results and not arguments.json:
            raise NothingToDo(f"no proved plan waits to be merged into `{done.into}`")
    else:
        with signals(integrator):
            try:
                done = integrator.execute()
            except NothingToDo as nothing:
                if not arguments.json:
                    raise
                branch = integrator.branch()
                terminal.note(f"nothing to do: {nothing.message}")
                done = Integrated(branch.name, branch.commit, branch.commit, ())
        _keep_receipts(context, done, terminal, quiet=arguments.json)
    resolutions = _hand_over(context, done) if arguments.resolve and not arguments.dry_run else []
    if arguments.json:
        terminal.json(_merge(done, resolutions))
    else:
        face.end(done)
        face.handed_over(resolutions)
    if len(resolutions) == len(done.stopped) > 0 and not done.interrupted:
        return ExitCode.WAITING
    return _exit_code(done)


def _keep_receipts(context: Context, done: Integrated, terminal: Terminal, *, quiet: bool) -> None:
    """Keep the receipts of merged plans, where the configuration asks for it."""
    if not context.configuration.receipts.are_kept:
        return
    from planbound.receipts.keep import keep_landed  # noqa: PLC0415 - seldom

    landed = [(each.plan, each.commit) for each in done.landed if each.commit is not None]
    for line in keep_landed(context, landed):
        if not quiet:
            terminal.note(f"note: {visible(line)}")


def _hand_over(context: Context, done: Integrated) -> list[Resolution]:
    from planbound.team.conflict import plan_resolution  # noqa: PLC0415 - seldom

    stopped = [each for each in done.stopped if each.kind is StopKind.CONFLICT]
    return [plan_resolution(context, each, done.into) for each in stopped]


class _MergeScreen:
    """Shows one integration as it goes."""

    def __init__(self, terminal: Terminal, *, quiet: bool, foreseen: bool, resolves: bool) -> None:
        self.terminal = terminal
        self.resolves = resolves
        self.quiet = quiet
        self.foreseen = foreseen

    def show(self, result: MergeResult | Note) -> None:
        """Show what became of a plan, or what else is to be known."""
        if isinstance(result, Note):
            self.terminal.note(visible(result.text))
            return
        if self.quiet:
            return
        style = self.terminal.style
        name = style(visible(result.plan), "bold")
        match result:
            case Landed():
                self.terminal.out(f"{style('✓', 'green')} {name}  {self._landed(result)}")
            case Stopped():
                said = f"{result.kind.value}: {visible(result.reason)}"
                self.terminal.out(f"{style('✗', 'red')} {name}  {said}")
            case MergeNotTried():
                self.terminal.out(f"{style('…', 'yellow')} {name}  {visible(result.reason)}")
        sys.stdout.flush()

    def _landed(self, landed: Landed) -> str:
        note = visible(landed.note)
        if self.foreseen:
            return note or "merges cleanly; nothing was judged"
        if not landed.contracts and note:
            return f"{note}: {(landed.commit or '')[:12]}"
        count = f"{landed.contracts} contract{'' if landed.contracts == 1 else 's'}"
        said = f"merged as {(landed.commit or '')[:12]} ({count})"
        return f"{said}; {note}" if note else said

    def end(self, done: Integrated) -> None:
        """Say what to do now."""
        if done.interrupted:
            self.terminal.note("interrupted; go on with `planbound integrate`")
        elif done.stopped and not self.foreseen:
            self.terminal.note(
                f"nothing moved for what was stopped, and its branch stays: `planbound inbox`"
                f" shows more; when it is mended,"
                f" `planbound integrate {shlex.quote(done.stopped[0].plan)}`"
            )
            if any(each.kind is StopKind.CONFLICT for each in done.stopped) and not self.resolves:
                self.terminal.note("`planbound integrate --resolve` hands conflicts to an agent")
        elif done.landed and not self.foreseen:
            self.terminal.note(f"`{visible(done.into)}` is at {done.after[:12]} now")

    def handed_over(self, resolutions: Sequence[Resolution]) -> None:
        """Say who resolves conflicts, and what a person has to do for that."""
        for each in resolutions:
            name = self.terminal.style(visible(each.plan), "bold")
            self.terminal.out(f"→ {name}  resolves the conflict of {visible(each.of)}")
            self.terminal.note(
                f"look at it, then let it run: `planbound approve {shlex.quote(each.plan)}`,"
                f" `planbound run {shlex.quote(each.plan)}`, `planbound integrate`"
            )


def _exit_code(done: Integrated) -> ExitCode:
    if done.interrupted:
        return ExitCode.INTERRUPTED
    if done.stopped or (done.not_tried and done.landed):
        return ExitCode.FAILED
    if done.not_tried:
        return ExitCode.USAGE
    return ExitCode.DONE if done.landed else ExitCode.NOTHING_TO_DO


def _merge(done: Integrated, resolutions: Sequence[Resolution]) -> MergeMade:
    return MergeMade(
        into=done.into,
        before=done.before,
        after=done.after,
        merged=[
            MergedPlan(plan=each.plan, commit=each.commit, note=each.note or UNSET)
            for each in done.landed
        ],
        stopped=[_stopped(each) for each in done.stopped],
        held_back=[NotMerged(*each) for each in done.not_tried],
        interrupted=done.interrupted,
        resolutions=[ResolutionPlan(*each) for each in resolutions],
    )


def _stopped(stopped: Stopped) -> StoppedPlan:
    return StoppedPlan(
        plan=stopped.plan,
        kind=stopped.kind,
        reason=stopped.reason,
        files=list(stopped.files) or UNSET,
        verdicts=dict(stopped.verdicts) or UNSET,
        about=UNSET if stopped.about is None else stopped.about,
    )


# -- `planbound prune` ---------------------------------------------------------------------------


class RemovedWorktree(JsonObject, frozen=True):
    """A worktree that was removed."""

    plan: str
    worktree: str
    branch: str | None
    """The branch that was removed with it."""
    tip: str | None
    """Where the branch was."""


class KeptWorktree(JsonObject, frozen=True):
    """A worktree that stays."""

    plan: str
    worktree: str
    reason: str


class PruneMade(JsonObject, frozen=True):
    removed: list[RemovedWorktree]
    kept: list[KeptWorktree]


def configure_prune(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plans", metavar="NAME", nargs="*", help="a plan (default: every plan with a worktree here)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would happen")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_prune(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Remove worktrees and branches whose work is all merged, and say why the rest stays."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    try:
        pruned = prune_worktrees(context, arguments.plans, dry_run=arguments.dry_run)
    except NothingToDo:
        if arguments.json:
            terminal.json(_pruning(Pruned()))
        raise
    if arguments.json:
        terminal.json(_pruning(pruned))
    else:
        verb = "would remove" if arguments.dry_run else "removed"
        for gone in pruned.removed:
            name = terminal.style(visible(gone.plan), "bold")
            terminal.out(f"{verb} {name}  {visible(_what(gone))}")
        for kept in pruned.kept:
            terminal.out(
                f"kept {terminal.style(visible(kept.plan), 'bold')}  {visible(kept.reason)}"
            )
    if not pruned.removed and not pruned.kept:  # somebody else was quicker
        return ExitCode.NOTHING_TO_DO
    return ExitCode.FAILED if arguments.plans and pruned.kept else ExitCode.DONE


def _what(gone: Removed) -> str:
    if gone.branch is not None:
        return f"{gone.path}, branch {gone.branch}"
    if gone.tip is not None:
        return f"{gone.path}; its branch moved meanwhile, and stays"
    return f"{gone.path}; its branch was gone"


def _pruning(pruned: Pruned) -> PruneMade:
    return PruneMade(
        removed=[
            RemovedWorktree(plan=gone.plan, worktree=gone.path, branch=gone.branch, tip=gone.tip)
            for gone in pruned.removed
        ],
        kept=[
            KeptWorktree(plan=kept.plan, worktree=kept.path, reason=kept.reason)
            for kept in pruned.kept
        ],
    )


SHAPES: dict[str, Shapes] = {
    "spawn": {"": WorktreeMade},
    "integrate": {"": MergeMade},
    "prune": {"": PruneMade},
}
