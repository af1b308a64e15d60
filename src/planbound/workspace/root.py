"""Where the workspace is, and its repository: found by reading files, git is not asked.

A hook that finds no plan needs this and nothing else, so it imports little.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from typing import NamedTuple

from planbound.errors import BindingError, Refused

# -- where the workspace is, and where its plans are ---------------------------------------------


HARNESS = ".harness"
MARKER = "active-plan"
_SIGNS = (HARNESS, "planbound.toml", ".git")
MAX_POINTER = 16 * 1024
"""A marker or a file of git's is one short line; anything longer is something else."""
_MAX_SETTINGS = 4 * 1024 * 1024


def find_root(start: str) -> str:
    """Return the nearest folder upwards that has a `.harness/`, a configuration or a `.git`."""
    folder = os.path.realpath(start)
    for candidate in upwards(folder):
        if any(os.path.lexists(os.path.join(candidate, sign)) for sign in _SIGNS):
            return candidate
    return folder


def plans_root(root: str) -> str:
    """Return the folder whose `.harness/` holds the plans: in a linked worktree the main one's."""
    top = next((f for f in upwards(root) if os.path.lexists(os.path.join(f, ".git"))), None)
    if top is None:
        return root
    main = main_worktree(top)
    if top == root:
        return main
    # A workspace that is a folder of the repository has its counterpart in the main worktree,
    # unless git does not know the folder.
    counterpart = os.path.join(main, os.path.relpath(root, top))
    return counterpart if os.path.isdir(counterpart) else root


def main_worktree(top: str) -> str:
    """Return the main worktree of a linked one, found by reading git's files.

    Anything else is its own main worktree: a submodule, a clone with its `.git` elsewhere, and
    a linked worktree of a bare repository, which has no main one.
    """
    if not os.path.isfile(os.path.join(top, ".git")):
        return top
    common = _linked_to(top)
    if common is None:
        return top
    settings = _core_settings(common)
    if settings.get("bare", "").lower() in {"true", "yes", "on", "1"}:
        return top
    if settings.get("worktree"):
        return os.path.realpath(os.path.join(common, settings["worktree"]))
    return os.path.dirname(common) if os.path.basename(common) == ".git" else top


def has_worktree_setting(common: str) -> bool:
    """Say whether a repository names its main worktree."""
    return bool(_core_settings(common).get("worktree"))


def git_folder(top: str) -> str | None:
    """Return where the repository of a worktree keeps what all of them share."""
    pointer = os.path.join(top, ".git")
    if os.path.isdir(pointer):
        return os.path.realpath(pointer)
    return _linked_to(top) or _pointed_at(top)


def _linked_to(top: str) -> str | None:
    """Return the common directory of a linked worktree; None where it is none."""
    folder = _pointed_at(top)
    if folder is None:
        return None
    link = os.path.join(folder, "commondir")
    if not os.path.isfile(link):
        if os.path.basename(os.path.dirname(folder)) == "worktrees":
            raise _broken(top, folder)
        return None
    common = os.path.realpath(os.path.join(folder, _read_text(link)))
    if not os.path.isdir(common):
        raise _broken(top, common)
    return common


def _pointed_at(top: str) -> str | None:
    words = _read_text(os.path.join(top, ".git")).partition("gitdir:")
    if words[0] or not words[2].strip():
        return None
    return os.path.realpath(os.path.join(top, words[2].strip()))


def upwards(folder: str) -> Iterator[str]:
    """Yield a folder and all that it is in."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        yield parent
        folder = parent


def is_below(root: str, path: str) -> bool:
    """Say whether a path is a folder or lies in it, as it is written or by where its links lead."""
    inside = os.path.realpath(root)
    return any(
        os.path.commonpath([inside, place]) == inside
        for place in (os.path.normpath(path), os.path.realpath(path))
    )


def path_outside(root: str, path: str) -> str:
    """Return a `PATH` without the folders of a workspace: agents write there."""
    folders = path.split(os.pathsep)
    return os.pathsep.join(f for f in folders if os.path.isabs(f) and not is_below(root, f))


def chunks(path: str, size: int) -> Iterator[bytes]:
    """Yield the content of a regular file."""
    # Not blocking: a FIFO must give an answer and not a wait.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        with open(descriptor, "rb", closefd=False) as file:
            while chunk := file.read(size):
                yield chunk
    finally:
        os.close(descriptor)


def _read_text(path: str, limit: int = MAX_POINTER) -> str:
    try:
        return os.fsdecode(next(chunks(path, limit), b"")).strip()
    except OSError as error:
        raise BindingError(f"cannot read `{path}`: {error.strerror}") from error


def _broken(top: str, lost: str) -> BindingError:
    return BindingError(
        f"`{top}` is a linked worktree, and `{lost}` of its repository is not there",
        hint="run `git worktree repair` in the main worktree",
    )


def _core_settings(common: str) -> dict[str, str]:
    """Return what the repository's configuration says about its main worktree."""
    settings: dict[str, str] = {}
    for name in ("config", "config.worktree"):
        path = os.path.join(common, name)
        if not os.path.isfile(path):
            continue
        section = ""
        for line in _read_text(path, _MAX_SETTINGS).splitlines():
            if head := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
                section = head[1].lower()
            elif section == "core" and (
                pair := re.match(r"\s*(bare|worktree)\s*(?:=\s*([^#;]*))?$", line, re.IGNORECASE)
            ):
                value = "true" if pair[2] is None else pair[2]  # a key alone is a yes
                settings[pair[1].lower()] = value.strip().strip('"')
    return settings


# -- where the repository of a workspace is ------------------------------------------------------


class GitPlace(NamedTuple):
    """The repository that a workspace is in."""

    top: str
    """The top of the worktree that the workspace is in."""
    main: str
    """The top of the main worktree."""
    common: str
    """Where the repository keeps what its worktrees share."""
    inside: str
    """The workspace as seen from the top; `.` where it is the top."""

    @property
    def is_linked(self) -> bool:
        """Whether this is another worktree than the main one."""
        return self.top != self.main


def refuse_lost(place: GitPlace) -> None:
    """Refuse a repository whose linked worktrees could not find the main one, and so no plan."""
    if os.path.isdir(os.path.join(place.main, ".git")) or has_worktree_setting(place.common):
        return
    raise Refused(
        f"the repository keeps its files in {place.common}, and does not say where its main"
        " worktree is: no other worktree could find the plans",
        hint=f"say it: `git config core.worktree {place.main}`",
    )


def find_git(root: str) -> GitPlace | None:
    """Return the place of the repository around a folder; None where there is none."""
    real = os.path.realpath(root)
    top = next((f for f in upwards(real) if os.path.lexists(os.path.join(f, ".git"))), None)
    if top is None:
        return None
    common = git_folder(top)
    if common is None:
        return None
    return GitPlace(top, main_worktree(top), common, os.path.relpath(real, top))


def demand_git(root: str) -> GitPlace:
    """Return the place of the repository; refuse where there is none."""
    place = find_git(root)
    if place is None:
        raise Refused(
            f"`{root}` is in no git repository, and worktrees are git's",
            hint="`git init`, and commit something first",
        )
    return place
