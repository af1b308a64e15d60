"""`planbound resolve-active-plan`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.usecases.resolve import resolve_active_plan
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--plan", metavar="NAME", help="the plan, instead of the marker's")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the paths of the session's own plan and of its progress."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    binding = resolve_active_plan(arguments.plan, parts.tree)
    if binding is None:
        terminal.problem(
            f"there is no `.harness/` for {visible(parts.root)}",
            "make one with `planbound init`",
        )
        return ExitCode.FAILED
    if arguments.json:
        terminal.json(
            {
                "slug": binding.plan.slug,
                "plan_path": binding.plan.path,
                "progress_path": binding.progress.path,
                "bound_by": binding.by.value,
            }
        )
    else:
        terminal.out(f"{binding.plan.path}\t{binding.progress.path}")
    return ExitCode.DONE
