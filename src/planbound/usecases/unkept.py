"""Which contents of a tree need no copy: what git ignores, and no contract speaks of."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial

from planbound.engine.judging.case import cases
from planbound.engine.manifest import EntryType, Manifest, path_text
from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.model import Command, Plan
from planbound.usecases.bench import Bench
from planbound.usecases.frozen_judges import judges_of

Unkept = Callable[[Manifest], set[bytes]]
"""Returns which contents of a tree need no copy."""


def unkept(bench: Bench, plan: Plan) -> Unkept:
    """Return what says which contents need no copy for a plan.

    A change of them is seen like any other, but it cannot be put back.
    """
    return partial(_unkept, bench, plan)


def _unkept(bench: Bench, plan: Plan, manifest: Manifest) -> set[bytes]:
    folders = tuple(each + b"/" for each in bench.ignored() if not names(plan, path_text(each)))
    if not folders:
        return set()
    asked: set[str] = set()

    def read(path: str) -> bytes | None:
        asked.add(path)
        entry = manifest.entry(path)
        return bench.tree.content(path, entry) if entry is not None else None

    # What a contract judges by, and what tells that, is kept wherever it lies.
    asked |= judges_of(cases(plan), manifest, read).files
    spared: set[bytes] = set()
    needed: set[bytes] = set()
    for path, entry in manifest.entries.items():
        if entry.type is EntryType.FILE:
            inside = path.startswith(folders) and path_text(path) not in asked
            (spared if inside else needed).add(entry.content)
    return spared - needed


def names(plan: Plan, folder: str) -> bool:
    """Say whether a contract, or what may be changed or judges, speaks of a folder."""
    word = re.compile(rf"(?<![\w.-]){re.escape(folder)}(?![\w-])")
    if any(word.search(text) for text in _commands(plan)):
        return True
    parts = tuple(folder.split("/"))
    return any(_literal(glob)[: len(parts)] == parts for glob in _globs(plan))


def _commands(plan: Plan) -> Iterator[str]:
    for case in cases(plan):
        if isinstance(case.contract, Command):
            yield case.contract.text


def _globs(plan: Plan) -> Iterator[str]:
    for step in plan.steps:
        yield from (item.value for item in plan.touches_of(step))
    for case in cases(plan):
        yield from case.judges


def _literal(text: str) -> tuple[str, ...]:
    try:
        return parse_glob(text).literal_prefix
    except GlobError:
        return ()
