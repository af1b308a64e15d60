"""The judges of contracts, found in a tree that was frozen."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from planbound.engine.judging.case import Case
from planbound.engine.judging.judges import Judges, judge_paths
from planbound.engine.manifest import Manifest
from planbound.plan.command import read_script
from planbound.plan.glob import parse_glob
from planbound.plan.model import Command
from planbound.ports.tree import Vault


def read_frozen(manifest: Manifest, vault: Vault, path: str) -> bytes | None:
    """Return the kept copy of a file of the tree."""
    entry = manifest.entry(path)
    return vault.content(entry.content) if entry is not None else None


def judges_of(
    cases: Iterable[Case], manifest: Manifest, read: Callable[[str], bytes | None]
) -> Judges:
    """Return what the contracts of the cases judge by."""
    given = [case for case in cases if isinstance(case.contract, Command)]
    scripts = [
        read_script(case.contract.text) for case in given if isinstance(case.contract, Command)
    ]
    globs = [parse_glob(text) for case in given for text in case.judges]
    return judge_paths(scripts, globs, manifest.files(), read)
