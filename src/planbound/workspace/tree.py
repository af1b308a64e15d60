"""Which plans are in a workspace."""

from __future__ import annotations

import errno
import os
from functools import cached_property

from planbound.disk.files import ConflictCopy, PlanFile, Shelf
from planbound.errors import AlreadyExists, BindingError, FileProblem, UsageError
from planbound.plan.slug import (
    UNNAMED,
    SlugError,
    conflict_of,
    file_name,
    is_plan_file,
    parse_slug,
    slug_of,
)
from planbound.workspace.root import HARNESS, MARKER, MAX_POINTER, chunks, plans_root


class Workspace:
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
            data = next(chunks(path, MAX_POINTER + 1), b"")
        except OSError as error:
            raise BindingError(f"the marker `{shown}` cannot be read: {error.strerror}") from error
        if len(data) > MAX_POINTER:
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
            return any(
                chunk.removeprefix(b"\xef\xbb\xbf").strip()
                for chunk in chunks(file.path, 64 * 1024)
            )
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
