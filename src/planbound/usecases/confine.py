"""What an agent's cell looks like: its workspace to write to, and nothing that judges it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.judging.case import Case
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.judges import Judges, judge_paths
from planbound.engine.judging.scope import Scope
from planbound.engine.manifest import EntryType
from planbound.plan.command import read_script
from planbound.plan.glob import parse_glob
from planbound.plan.model import Command
from planbound.ports.cell import Limits, Request
from planbound.ports.tree import Vault

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


class Dispatch(NamedTuple):
    """A command that does a step, and what it gets."""

    command: tuple[str, ...]
    environment: Mapping[str, str]
    limits: Limits = Limits(seconds=600.0)
    network: bool = True
    home: str | None = None
    """A home that is passed; None: an empty one."""


def protected(cases: Iterable[Case], frozen: Frozen, scope: Scope, vault: Vault) -> Protected:
    """Return what must stay as it is while an agent works on a step."""
    commands = [case for case in cases if isinstance(case.contract, Command)]
    scripts = [
        read_script(case.contract.text) for case in commands if isinstance(case.contract, Command)
    ]
    globs = [parse_glob(text) for case in commands for text in case.judges]
    entries = frozen.manifest.entries

    def read(path: str) -> bytes | None:
        entry = entries.get(path.encode("utf-8", "surrogateescape"))
        is_file = entry is not None and entry.type is EntryType.FILE
        return vault.content(entry.content) if entry is not None and is_file else None

    judges = judge_paths(scripts, globs, frozen.paths(), read)
    existing = {path.decode("utf-8", "surrogateescape") for path in entries}
    read_only = [path for path in ALWAYS if path in existing or path == ".harness"]
    read_only += _covering(judges, scope)
    named = {path for path in judges.names if path.rpartition("/")[2] in _MASKABLE}
    absent = {*named, *_MASKABLE} - existing
    return Protected(
        read_only=tuple(dict.fromkeys(read_only))[:_MAX_MOUNTS],
        absent=tuple(
            sorted(
                path
                for path in absent
                if not _may_touch(path, scope) and _has_folder(path, existing)
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
        masked=tuple(masked),
        exposed=tuple(exposed),
        home=dispatch.home,
    )


def _covering(judges: Judges, scope: Scope) -> list[str]:
    """Return folders and files that together hold the judges which may not be touched."""
    folders = sorted(each for each in judges.directories if not _may_touch_below(each, scope))
    outer = [each for each in folders if not any(each.startswith(f"{other}/") for other in folders)]
    files = sorted(
        path
        for path in judges.files
        if not _may_touch(path, scope) and not any(path.startswith(f"{each}/") for each in outer)
    )
    return [*outer, *files]


def _may_touch(path: str, scope: Scope) -> bool:
    return scope.patterns is not None and any(glob.matches(path) for glob in scope.patterns)


def _may_touch_below(folder: str, scope: Scope) -> bool:
    """Say whether a pattern could match something in a folder."""
    if scope.patterns is None:
        return False
    try:
        below = parse_glob(f"./{folder}/**")
    except ValueError:
        return True
    return any(glob.intersects(below) for glob in scope.patterns)


def _has_folder(path: str, existing: set[str]) -> bool:
    folder = path.rpartition("/")[0]
    return not folder or folder in existing
