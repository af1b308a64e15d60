"""`planbound prune`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo
from planbound.source.visible import visible
from planbound.usecases.team.prune import Kept, Pruned, Removed
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.pruning import prune_worktrees


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "plans", metavar="NAME", nargs="*", help="a plan (default: every plan with a worktree here)"
    )
    parser.add_argument("--dry-run", action="store_true", help="only say what would happen")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Remove worktrees and branches whose work is all merged, and say why the rest stays."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    try:
        pruned = prune_worktrees(parts, arguments.plans, dry_run=arguments.dry_run)
    except NothingToDo:
        if arguments.json:
            terminal.json(_data(Pruned()))
        raise
    if arguments.json:
        terminal.json(_data(pruned))
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


def _data(pruned: Pruned) -> dict[str, object]:
    return {
        "removed": [_removed(each) for each in pruned.removed],
        "kept": [_kept(each) for each in pruned.kept],
    }


def _removed(gone: Removed) -> dict[str, object]:
    return {"plan": gone.plan, "worktree": gone.path, "branch": gone.branch, "tip": gone.tip}


def _kept(kept: Kept) -> dict[str, object]:
    return {"plan": kept.plan, "worktree": kept.path, "reason": kept.reason}
