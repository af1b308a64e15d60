"""Puts together what judging needs."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING

from planbound.engine.configuration import Configuration
from planbound.engine.manifest import CACHES, SUMMARISED, ScanRules
from planbound.errors import BindingError, Refused
from planbound.journal.event import EventKind
from planbound.ports.cell import Cell
from planbound.ports.journal import Query
from planbound.shell.git.ignored import ignored_folders
from planbound.shell.syntax import BashSyntax
from planbound.store.vault import Vault
from planbound.usecases.bench import Bench
from planbound.wiring.parts import Parts
from planbound.workspace.frozen_tree import RealTree
from planbound.workspace.git_place import find_git
from planbound.workspace.held_out import held_out_files
from planbound.workspace.project_environment import (
    SYSTEM_PATH,
    ProjectEnvironment,
    cure_of,
    find_environment,
    hidden_fault,
    without_ours,
)
from planbound.workspace.secret_places import secret_places

if TYPE_CHECKING:
    from planbound.shell.cell.scratch import Scratch

__all__ = ["SYSTEM_PATH", "make_bench", "refuse_in_cell", "scratch", "vault"]
_CELL_MARK = "/run/planbound-cell"
DATABASE = "PLANBOUND_DATABASE_URL"
AGENT_MARK = "PLANBOUND_ATTEMPT"
"""What every agent finds in its environment."""


def refuse_in_cell() -> None:
    """Refuse to decide anything from inside a cell."""
    # Where there is no cell an agent could take the variable away: no wall, only a sign.
    if os.path.exists(_CELL_MARK) or os.environ.get(AGENT_MARK):
        raise Refused(
            "this is the inside of a cell: nothing is judged, approved or answered from here",
            hint="run it where the harness runs",
        )


def scratch(parts: Parts) -> Scratch:
    """Return where cells have their folders."""
    from planbound.shell.cell.scratch import Scratch  # noqa: PLC0415 - not without a cell

    return Scratch(os.path.join(parts.state.folder, "cells"))


def vault(parts: Parts) -> Vault:
    """Return where copies of files are kept."""
    if os.environ.get(DATABASE):
        # The journal is not beside it: without this nobody could tell what is still needed.
        with contextlib.suppress(OSError):
            os.makedirs(parts.state.folder, mode=0o700, exist_ok=True)
            os.close(os.open(_elsewhere(parts), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600))
    return Vault(os.path.join(parts.state.folder, "vault.sqlite"))


def elsewhere(parts: Parts) -> bool:
    """Say whether kept contents belong to a journal that is not at hand."""
    return os.path.exists(_elsewhere(parts)) and not os.environ.get(DATABASE)


def _elsewhere(parts: Parts) -> str:
    return os.path.join(parts.state.folder, "journal.elsewhere")


def make_bench(parts: Parts, cell: Cell | None = None) -> Bench:
    """Return the parts for judging; the strongest cell unless one is given."""
    refuse_in_cell()
    hide_harness()
    configuration = parts.configuration
    tree = RealTree(os.path.realpath(parts.root))
    own = (parts.state.folder, os.path.dirname(parts.state.anchor))
    bare = cell is None and configuration.judging.bare
    masked = (*secret_places(os.environ), *own)
    project = find_environment(configuration, tree.root)
    return Bench(
        cell=cell or _cell(parts),
        tree=tree,
        vault=vault(parts),
        syntax=BashSyntax(),
        rules=scan_rules(configuration, tree.root, own),
        configuration=configuration,
        environment=contract_environment(configuration, tree.root, project),
        masked=masked,
        exposed=(
            *exposed_places(configuration, tree.root),
            *project.shown,
            *_shared_git(tree.root),
        ),
        held_out=held_out_files(tree.root, configuration.judging.held_out),
        told=parts.told,
        ignored=partial(ignored_folders, tree.root),
        bare=bare,
        cure=cure_of(project),
        fault=project.fault or (None if bare else hidden_fault(project, masked)),
    )


def _cell(parts: Parts) -> Cell:
    judging = parts.configuration.judging
    if judging.bare:
        from planbound.shell.cell.bare import BareCell  # noqa: PLC0415 - one or the other

        return BareCell()
    from planbound.shell.cell.choose import choose  # noqa: PLC0415

    return choose(scratch(parts), demanded=judging.isolation)


def hide_harness() -> None:
    """Let no process of the same user look into this one."""
    if sys.platform.startswith("linux"):
        from planbound.shell.cell.inside.kernel import hide_memory  # noqa: PLC0415 - loads ctypes

        with contextlib.suppress(OSError):
            hide_memory()


def scan_rules(configuration: Configuration, root: str, own: Sequence[str]) -> ScanRules:
    """Return which folders are not looked at file by file."""
    tree = configuration.tree
    within = (os.path.relpath(os.path.realpath(path), root) for path in own)
    # What the harness itself writes, where somebody's home is the workspace.
    caches = (*tree.caches, *(path for path in within if not path.startswith("..")))
    return ScanRules(
        summarised=SUMMARISED,
        summarised_paths=tuple(os.fsencode(path) for path in tree.summarise),
        caches=CACHES,
        cache_paths=tuple(os.fsencode(path) for path in caches),
    )


def contract_environment(
    configuration: Configuration, root: str, project: ProjectEnvironment
) -> dict[str, str]:
    """Return what a contract finds in its environment."""
    given = without_ours(os.environ, root)
    environment = {name: given[name] for name in configuration.contracts.env if name in given}
    environment |= project.variables
    environment |= {
        "CI": "1",
        "LC_ALL": "C.UTF-8",
        "HOME": "{home}",
        "SHELL": "/bin/bash",
        "TERM": "dumb",
    }
    environment["PATH"] = os.pathsep.join(project.path)
    # Compiled files that lie where an agent can write are not trusted.
    environment["PYTHONPYCACHEPREFIX"] = "{home}/.pycache"
    return environment


def exposed_places(configuration: Configuration, root: str) -> tuple[str, ...]:
    """Return what a contract can read although it may lie in a folder that a cell has anew."""
    contracts = configuration.contracts
    named = [
        os.path.join(root, os.path.expanduser(path)) for path in (*contracts.path, *contracts.read)
    ]
    # This package too: who starts it in a cell is to be told why it will not work there.
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return (sys.prefix, sys.base_prefix, package, *named)


def _shared_git(root: str) -> tuple[str, ...]:
    """Return what git needs in a linked worktree that is not in the worktree itself."""
    try:
        place = find_git(root)
    except BindingError:  # told by who looks for the plans
        return ()
    return (place.common,) if place is not None and place.is_linked else ()


def earlier_verdicts(parts: Parts, slug: str) -> Callable[[str, str], frozenset[str]]:
    """Return what says which verdicts a contract had on a tree before."""

    @cache
    def known() -> dict[tuple[str, str], set[str]]:
        found: dict[tuple[str, str], set[str]] = {}
        journal = parts.existing_journal()
        if journal is None:
            return found
        kinds = (EventKind.CONTRACT_EVALUATED, EventKind.BASELINE_OBSERVED)
        for record in journal.read(Query(plan=slug, events=kinds)):
            details = record.draft.details
            key = (str(details.get("contract")), str(details.get("tree")))
            found.setdefault(key, set()).add(str(details.get("verdict")))
        return found

    return lambda contract, tree: frozenset(known().get((contract, tree), ()))
