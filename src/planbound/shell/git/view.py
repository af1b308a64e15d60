"""The harness's own view of a repository: its objects and branches, and nothing that runs code.

Git runs programs that a repository's configuration names (hooks, filters, merge drivers, the file
system monitor, signing), and an agent may have written that configuration. So git is given a
common directory of ours: a configuration and no hooks, attributes or exclusions, with links to
where the repository keeps its objects and refs. See docs/decisions/018.
"""

from __future__ import annotations

import os
import re

from planbound.errors import GitProblem

_SHARED = ("objects", "refs", "packed-refs", "worktrees", "logs", "shallow", "reftable")
_CONFIGURATION = """\
[core]
\trepositoryformatversion = {version}
\tbare = true
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlogAllRefUpdates = true
\tquotePath = false
\tprecomposeUnicode = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol]
\tallow = never
[submodule]
\trecurse = false
[merge]
\trenames = true
[checkout]
\tworkers = 2
\tthresholdForParallelism = 500
[advice]
\tdetachedHead = false
"""
_MAX_SETTINGS = 4 << 20


def make_view(common: str, view: str, *, to_write: bool = True) -> None:
    """Make the view of the repository whose common directory is given, in a folder of ours."""
    try:
        os.makedirs(view, mode=0o700, exist_ok=True)
        # A link to nothing would be in the way of git's making it.
        for name in ("worktrees", "logs") if to_write else ():
            os.makedirs(os.path.join(common, name), exist_ok=True)
        for name in _SHARED:
            _link(os.path.join(common, name), os.path.join(view, name))
        _write(os.path.join(view, "config"), _configuration(common))
        _write(os.path.join(view, "HEAD"), "ref: refs/heads/planbound-has-none\n")
    except OSError as error:
        raise GitProblem(f"cannot make the view of `{common}`: {error.strerror}") from error


def _link(source: str, target: str) -> None:
    try:
        if os.readlink(target) == source:
            return
        os.unlink(target)
    except FileNotFoundError:
        pass
    try:
        os.symlink(source, target)
    except FileExistsError:
        if os.readlink(target) != source:  # otherwise another process was quicker
            raise


def _write(path: str, text: str) -> None:
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)


def _configuration(common: str) -> str:
    extensions = _extensions(common)
    text = _CONFIGURATION.format(version=1 if extensions else 0)
    if extensions:
        text += "[extensions]\n" + "".join(f"\t{key} = {name}\n" for key, name in extensions)
    return text


def _extensions(common: str) -> list[tuple[str, str]]:
    """Return how the repository stores its objects and refs: nothing of that runs a program."""
    try:
        with open(os.path.join(common, "config"), encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_SETTINGS).splitlines()
    except FileNotFoundError:
        return []
    found, section = [], ""
    for line in lines:
        if head := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
            section = head[1].lower()
        elif section == "extensions" and (
            pair := re.match(
                r"\s*(objectformat|refstorage)\s*=\s*([a-z0-9]+)\s*$", line, re.IGNORECASE
            )
        ):
            found.append((pair[1], pair[2]))
    return found
