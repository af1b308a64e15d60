"""What an agent's cell looks like: its workspace to write to, and nothing that judges it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from typing import NamedTuple

from planbound.engine.judging.case import Case
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.judges import Judges
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.manifest import EntryType, path_text
from planbound.plan.glob import parse_glob
from planbound.ports.agent import Dispatch
from planbound.ports.cell import Request
from planbound.ports.tree import Vault
from planbound.usecases.frozen_judges import judges_of, read_frozen

ALWAYS = (".harness", "planbound.toml", ".git/config", ".git/hooks", ".git/info")
"""What no agent writes to, whatever `touches` says."""
# A mask looks like an empty file that is none. Python and pytest pass such a thing by; make, node
# and cargo would stumble over it, so what they would read is only looked at afterwards.
_MASKABLE = frozenset(
    "conftest.py sitecustomize.py usercustomize.py pytest.py pytest.ini .pytest.ini tox.ini "
    ".envrc planbound.toml".split()
)
_MAX_MOUNTS = 400


class Protected(NamedTuple):
    """The part of a workspace that an agent may read and not write."""

    read_only: tuple[str, ...]
    absent: tuple[str, ...]
    """What is not there, and must not come to be."""


def protected(cases: Iterable[Case], frozen: Frozen, scope: Scope, vault: Vault) -> Protected:
    """Return what must stay as it is while an agent works on a step."""
    entries = frozen.manifest.entries
    judges = judges_of(cases, frozen.manifest, partial(read_frozen, frozen.manifest, vault))
    existing = {path_text(path) for path in entries}
    read_only = [path for path in ALWAYS if path in existing or path == ".harness"]
    if (pointer := entries.get(b".git")) is not None and pointer.type is EntryType.FILE:
        read_only.append(".git")  # says whose worktree this is
    read_only += _covering(judges, scope)
    named = {path for path in judges.names if path.rpartition("/")[2] in _MASKABLE}
    absent = named - existing
    return Protected(
        read_only=tuple(dict.fromkeys(read_only))[:_MAX_MOUNTS],
        absent=tuple(
            sorted(
                path for path in absent if not covers(scope, path) and _has_folder(path, existing)
            )
        )[:_MAX_MOUNTS],
    )


def agent_request(
    dispatch: Dispatch,
    workspace: str,
    keep: Protected,
    masked: Sequence[str],
    exposed: Sequence[str],
) -> Request:
    """Return what the cell of an agent is asked to run."""
    return Request(
        command=dispatch.command,
        workspace=workspace,
        environment=dispatch.environment,
        limits=dispatch.limits,
        network=dispatch.network,
        writable=True,
        read_only=keep.read_only,
        absent=keep.absent,
        masked=tuple(path for path in masked if path not in dispatch.unmasked),
        exposed=(*exposed, *dispatch.exposed),
        home=dispatch.home,
        kept_home=dispatch.kept_home,
        stdin=dispatch.stdin,
    )


def _covering(judges: Judges, scope: Scope) -> list[str]:
    """Return folders and files that together hold the judges which may not be touched."""
    folders = sorted(each for each in judges.directories if not _may_touch_below(each, scope))
    outer = [each for each in folders if not any(each.startswith(f"{other}/") for other in folders)]
    files = sorted(
        path
        for path in judges.files
        if not covers(scope, path) and not any(path.startswith(f"{each}/") for each in outer)
    )
    return [*outer, *files]


def _may_touch_below(folder: str, scope: Scope) -> bool:
    """Say whether something in a folder could be named by what may be changed."""
    told = scope.told
    patterns = (*told.named, *told.added) if scope.patterns is None else scope.patterns
    if not patterns:
        return False
    try:
        below = parse_glob(f"./{folder}/**")
    except ValueError:
        return True
    limits = (patterns,) if scope.also is None else (patterns, scope.also)
    return all(any(glob.intersects(below) for glob in limit) for limit in limits)


def _has_folder(path: str, existing: set[str]) -> bool:
    folder = path.rpartition("/")[0]
    return not folder or folder in existing
