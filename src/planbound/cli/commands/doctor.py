"""`planbound doctor`."""

from __future__ import annotations

import argparse
import os
import stat
from collections.abc import Sequence

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, FileProblem, PlanboundError
from planbound.plan.model import Plan
from planbound.source.visible import visible
from planbound.store.files import RealFiles
from planbound.usecases.doctor import (
    Check,
    ContractTools,
    Health,
    Probes,
    StateFolder,
    doctor,
    is_well,
)
from planbound.usecases.hosts.health import HookReport
from planbound.usecases.team.health import Finding
from planbound.wiring.parts import Parts

TOOLS = ("git", "bash", "bwrap")
_COLOURS = {Health.OK: "green", Health.WARN: "yellow", Health.FAIL: "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--fix", action="store_true", help="put the marks in plan files right, by the journal"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Look at everything; repair nothing but marks, and those only if told to."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    mended, failed = _fix(parts) if arguments.fix else ([], [])
    # Files without locks: those of a broken workspace may have no place.
    checks = doctor(parts.tree, RealFiles(), parts.existing_journal, _probes(parts))
    if arguments.json:
        about = {"ok": is_well(checks), "checks": [_data(check) for check in checks]}
        terminal.json(about | ({"mended": mended, "failed": failed} if arguments.fix else {}))
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


def _fix(parts: Parts) -> tuple[list[str], list[str]]:
    from planbound.wiring.marking import put_all_right  # noqa: PLC0415 - only here

    try:
        return put_all_right(parts)
    except PlanboundError as error:  # the checks say what is wrong with it
        return [], [error.message]


def _data(check: Check) -> dict[str, object]:
    return check._asdict() | {"health": check.health.value}


def _probes(parts: Parts) -> Probes:
    return Probes(
        anchors=parts.anchors,
        guarded=parts.guards_stand,
        state=lambda: _state(parts.state.folder),
        configuration=lambda: parts.configuration.path,
        receivers=(lambda: _troubles(parts)) if _has_receivers(parts) else None,
        tools={tool: _is_there(tool) for tool in TOOLS},
        environment=lambda plans: _environment(parts, plans),
        hooks=lambda: _hooks(parts),
        worktrees=lambda: _worktrees(parts),
        disks=lambda: _disks(parts),
        left=lambda: _left(parts),
    )


def _has_receivers(parts: Parts) -> bool:
    try:
        return bool(parts.configuration.notify)
    except PlanboundError:  # told by another check
        return False


def _troubles(parts: Parts) -> list[str]:
    from planbound.wiring.notify import receiver_troubles  # noqa: PLC0415 - most have no receivers

    return receiver_troubles(parts)


def _environment(parts: Parts, plans: Sequence[Plan]) -> ContractTools:
    from planbound.wiring.tools import tools_of_plans  # noqa: PLC0415 - only here

    return tools_of_plans(parts, plans)


def _hooks(parts: Parts) -> HookReport:
    from planbound.wiring.hosts import hook_findings  # noqa: PLC0415 - only here

    return hook_findings(parts.root, os.environ)


def _worktrees(parts: Parts) -> list[Finding]:
    from planbound.wiring.pruning import worktree_findings  # noqa: PLC0415 - only here

    return worktree_findings(parts)


def _disks(parts: Parts) -> list[Finding]:
    from planbound.wiring.storage import disk_findings  # noqa: PLC0415 - only here

    return disk_findings(parts)


def _left(parts: Parts) -> list[Finding]:
    from planbound.wiring.storage import left_findings  # noqa: PLC0415 - only here

    return left_findings(parts)


def _is_there(tool: str) -> bool:
    import shutil  # noqa: PLC0415 - only here

    return shutil.which(tool) is not None


def _state(folder: str) -> StateFolder:
    try:
        found = os.stat(folder)
    except FileNotFoundError:
        return StateFolder(folder, None)
    except OSError as error:
        raise FileProblem(f"cannot look at {folder}: {error.strerror}") from error
    from planbound.store.disk import size_text  # noqa: PLC0415 - only here
    from planbound.wiring.storage import size_of  # noqa: PLC0415

    own = found.st_uid == os.geteuid()
    return StateFolder(folder, stat.S_IMODE(found.st_mode), own, size_text(size_of(folder)))
