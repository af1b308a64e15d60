"""Where the workspace is, and which plans are in it."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterator
from functools import cached_property

from planbound.errors import AlreadyExists, BindingError, FileProblem, UsageError
from planbound.plan.slug import UNNAMED, SlugError, file_name, is_plan_file, parse_slug, slug_of
from planbound.ports.files import ConflictCopy, PlanFile, Shelf

HARNESS = ".harness"
MARKER = "active-plan"
_SIGNS = (HARNESS, "planbound.toml", ".git")
_MAX_POINTER = 16 * 1024
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


class WorkspaceTree:
    """A workspace on this machine."""

    def __init__(self, root: str, *, current: str) -> None:
        self.root = root
        self.current = current

    @cached_property
    def harness(self) -> str:
        """The folder of the plans; raises BindingError in a worktree whose main one is lost."""
        return os.path.join(plans_root(self.root), HARNESS)

    @property
    def own_harness(self) -> str:
        """The folder of the marker."""
        return os.path.join(self.root, HARNESS)

    def has_harness(self) -> bool:
        """Say whether there is a folder for plans."""
        return os.path.isdir(self.harness)

    def plans(self, shelf: Shelf = Shelf.ACTIVE) -> list[PlanFile]:
        """Return the plans on a shelf, the unnamed one first; conflict copies are none."""
        from planbound.plan.conflict_copy import conflict_of  # noqa: PLC0415 - large patterns

        names = self.names(shelf)
        all_names = frozenset(names)
        found = [
            self.place(shelf, name)
            for name in names
            if is_plan_file(name) and conflict_of(name, all_names) is None
        ]
        return sorted(found, key=lambda file: (file.slug != UNNAMED, file.slug))

    def conflicts(self) -> list[ConflictCopy]:
        """Return the conflict copies on all shelves and beside the marker."""
        from planbound.plan.conflict_copy import conflict_of  # noqa: PLC0415 - large patterns

        folders = [os.path.join(self.harness, shelf.value) for shelf in Shelf]
        if os.path.realpath(self.own_harness) != os.path.realpath(self.harness):
            folders.append(self.own_harness)
        found = []
        for folder in folders:
            names = frozenset(self._list(folder))
            for name in sorted(names):
                original = conflict_of(name, names)
                if original is not None:
                    path = os.path.normpath(os.path.join(folder, name))
                    found.append(ConflictCopy(path, self.shown(path), original))
        return found

    def names(self, shelf: Shelf) -> list[str]:
        """Return the names of everything in the folder; none where there is no folder."""
        return sorted(self._list(os.path.join(self.harness, shelf.value)))

    def find(self, reference: str) -> PlanFile | None:
        """Return the plan that a path or a slug means."""
        path = os.path.join(self.current, reference)
        if os.path.isfile(path) or (os.path.lexists(path) and not os.path.isdir(path)):
            return self._file(path)
        if os.path.isdir(path) and (os.sep in reference or reference in {".", ".."}):
            raise UsageError(f"`{reference}` is a directory, expected a plan")
        if os.sep in reference:
            return None
        planned = self.planned_path(reference)
        # By the listing, not by the path: where case is ignored, `FOO` must not find `foo`.
        return planned if os.path.basename(planned.path) in self.names(Shelf.ACTIVE) else None

    def marker(self) -> str | None:
        """Return the content of the marker, None where there is none."""
        path = os.path.join(self.own_harness, MARKER)
        if not os.path.lexists(path):
            return None
        shown = self.shown(path)
        try:
            data = next(_chunks(path, _MAX_POINTER + 1), b"")
        except OSError as error:
            raise BindingError(f"the marker `{shown}` cannot be read: {error.strerror}") from error
        if len(data) > _MAX_POINTER:
            raise BindingError(f"the marker `{shown}` is too long for a plan's name")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            raise BindingError(f"the marker `{shown}` is not text in UTF-8") from error

    def planned_path(self, slug: str, shelf: Shelf = Shelf.ACTIVE) -> PlanFile:
        """Return where a plan of that name belongs."""
        try:
            return self.place(shelf, file_name(parse_slug(slug)))
        except SlugError as error:
            raise UsageError(
                f"not a plan's name: {error}",
                hint="a name is one path component, such as `rounding`",
            ) from error

    def place(self, shelf: Shelf, name: str) -> PlanFile:
        """Return the file of that name on a shelf, there or not."""
        return self._file(os.path.normpath(os.path.join(self.harness, shelf.value, name)))

    def has_content(self, file: PlanFile) -> bool:
        """Say whether a file holds more than white space and a byte order mark."""
        try:
            chunks = _chunks(file.path, 64 * 1024)
            return any(chunk.removeprefix(b"\xef\xbb\xbf").strip() for chunk in chunks)
        except OSError as error:
            raise FileProblem(f"cannot read `{file.shown}`: {error.strerror}") from error

    def has_artifact(self, pattern: str) -> bool:
        """Say whether a path or glob below the workspace's root names something that is there."""
        from planbound.plan.glob import GlobError, parse_glob  # noqa: PLC0415 - seldom needed

        try:
            glob = parse_glob(pattern)
        except GlobError:  # outside of the workspace, or unreadable: `verify` tells
            return False
        if os.path.exists(os.path.join(self.root, pattern)):
            return True
        if glob.is_literal:
            return False
        start = os.path.join(self.root, *glob.literal_prefix)
        for folder, below, files in os.walk(start):
            if ".git" in below:
                below.remove(".git")
            relative = os.path.relpath(folder, self.root)
            if any(
                glob.matches(os.path.normpath(os.path.join(relative, name)))
                for name in (*files, *below)
            ):
                return True
        return False

    def move(self, source: str, target: str) -> None:
        """Give a file its new name, then take the old one: a crash leaves one or both names."""
        try:
            if os.path.islink(source):
                raise FileProblem(f"`{self.shown(source)}` is a symbolic link, expected a file")
            try:
                # A hard link fails where anything is, a dangling symbolic link included.
                os.link(source, target, follow_symlinks=False)
            except FileExistsError as error:
                if not self.is_same(source, target):
                    raise AlreadyExists(f"`{self.shown(target)}` is there already") from error
            _sync(target)
            _sync(os.path.dirname(target))
            os.unlink(source)
            _sync(os.path.dirname(source))
        except OSError as error:
            shown = self.shown(source)
            raise FileProblem(f"cannot move `{shown}`: {error.strerror}") from error

    def is_same(self, path: str, other: str) -> bool:
        """Say whether two names are of one file, as a move that was cut off leaves them."""
        try:
            return os.path.samestat(os.lstat(path), os.lstat(other))
        except OSError:
            return False

    def _list(self, folder: str) -> list[str]:
        try:
            return os.listdir(folder)
        except FileNotFoundError:
            return []
        except OSError as error:
            shown = self.shown(os.path.normpath(folder))
            raise FileProblem(f"cannot list `{shown}`: {error.strerror}") from error

    def _file(self, path: str) -> PlanFile:
        return PlanFile(slug=slug_of(os.path.basename(path)), path=path, shown=self.shown(path))

    def shown(self, path: str) -> str:
        """Return a path as a person in the current folder would write it."""
        relative = os.path.relpath(path, self.current)
        return path if relative.startswith(os.path.join("..", "..", "..")) else relative


def upwards(folder: str) -> Iterator[str]:
    """Yield a folder and all that it is in."""
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        yield parent
        folder = parent


def _chunks(path: str, size: int) -> Iterator[bytes]:
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


def _sync(path: str) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
    except OSError as error:
        # Some file systems cannot sync a folder; a disk that fails is another matter.
        if error.errno not in {errno.EINVAL, errno.ENOTSUP, errno.EACCES}:
            raise


def _read_text(path: str, limit: int = _MAX_POINTER) -> str:
    try:
        return os.fsdecode(next(_chunks(path, limit), b"")).strip()
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
