"""Judges that are kept outside the workspace."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence

from planbound.engine.configuration import HeldOut
from planbound.errors import ConfigurationError
from planbound.plan.command import FileUse, Script
from planbound.ports.cell import Laid

_MAX_BYTES = 16 << 20


def held_out_files(
    root: str, configured: Sequence[HeldOut]
) -> Callable[[Script], tuple[Laid, ...]]:
    """Return what says which files are laid for a contract; refuse what cannot be used."""
    sources = [(_source(root, item), item) for item in configured]

    def for_script(script: Script) -> tuple[Laid, ...]:
        return tuple(
            laid for source, item in sources for laid in _laid(source, item, _tested(script))
        )

    return for_script


def held_out_sources(root: str, configured: Sequence[HeldOut]) -> tuple[str, ...]:
    """Return where they are: an agent's cell must not show them."""
    return tuple(_source(root, item) for item in configured)


def _source(root: str, item: HeldOut) -> str:
    path = os.path.realpath(os.path.join(root, os.path.expanduser(item.source)))
    real = os.path.realpath(root)
    if path == real or path.startswith(real + os.sep):
        raise ConfigurationError(
            f"`judging.held_out` names `{item.source}`, which lies in the workspace",
            hint="an agent can read what is in the workspace: keep it elsewhere",
        )
    if not os.path.exists(path):
        raise ConfigurationError(f"`judging.held_out` names `{item.source}`, which is not there")
    return path


def _tested(script: Script) -> str:
    """Return the folder that a contract's runner is given, empty for the root."""
    for file in script.files:
        if file.use is FileUse.TESTED:
            name = file.path.split("::")[0]
            return os.path.dirname(name) if "." in os.path.basename(name) else name
    return ""


def _laid(source: str, item: HeldOut, folder: str) -> Iterator[Laid]:
    if not os.path.isdir(source):
        target = item.target or os.path.join(folder, os.path.basename(source))
        yield _file(source, target)
        return
    for parent, folders, names in os.walk(source):
        folders.sort()
        for name in sorted(names):
            path = os.path.join(parent, name)
            # A folder is laid over the root, each file where the folder has it.
            yield _file(path, os.path.join(item.target or "", os.path.relpath(path, source)))


def _file(path: str, target: str) -> Laid:
    try:
        with open(path, "rb") as file:
            content = file.read(_MAX_BYTES + 1)
            mode = stat.S_IMODE(os.fstat(file.fileno()).st_mode)
    except OSError as error:
        raise ConfigurationError(
            f"a judge that is held out cannot be read: {path}: {error.strerror}"
        ) from error
    if len(content) > _MAX_BYTES:
        raise ConfigurationError(f"a judge that is held out is over {_MAX_BYTES >> 20} MB: {path}")
    return Laid(target, content, mode)
