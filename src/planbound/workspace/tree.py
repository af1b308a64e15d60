"""Where the workspace is, and which plans are in it."""

from __future__ import annotations

import os

from planbound.errors import BindingError, FileProblem, UsageError
from planbound.plan.slug import SlugError, file_name, is_plan_file, parse_slug, slug_of
from planbound.ports.files import PlanFile

HARNESS = ".harness"
_SIGNS = (HARNESS, "planbound.toml", ".git")


def find_root(start: str) -> str:
    """Return the nearest folder upwards that has a `.harness/`, a configuration or a `.git`."""
    folder = os.path.realpath(start)
    home = folder
    while True:
        if any(os.path.lexists(os.path.join(folder, sign)) for sign in _SIGNS):
            return folder
        parent = os.path.dirname(folder)
        if parent == folder:
            return home
        folder = parent


class WorkspaceTree:
    """A workspace on this machine."""

    def __init__(self, root: str, *, current: str) -> None:
        self.root = root
        self.current = current
        self.harness = os.path.join(root, HARNESS)

    def plans(self) -> list[PlanFile]:
        """Return the plans in `.harness/`, the unnamed one first."""
        try:
            names = sorted(os.listdir(self.harness))
        except FileNotFoundError:
            return []
        except OSError as error:
            raise FileProblem(
                f"cannot list `{self.shown(self.harness)}`: {error.strerror}"
            ) from error
        found = [self._file(os.path.join(self.harness, n)) for n in names if is_plan_file(n)]
        return sorted(found, key=lambda file: (file.slug != "PLAN", file.slug))

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
        return planned if os.path.lexists(planned.path) else None

    def marker(self) -> str | None:
        """Return the content of the marker, None where there is none."""
        path = os.path.join(self.harness, "active-plan")
        if not os.path.lexists(path):
            return None
        try:
            with open(path, "rb") as file:
                return file.read(1000).decode("utf-8", "replace")
        except OSError as error:
            raise BindingError(
                f"the marker `{self.shown(path)}` cannot be read: {error.strerror}"
            ) from error

    def planned_path(self, slug: str) -> PlanFile:
        """Return where a plan of that name belongs."""
        if slug in {"PLAN", "PLAN.md"}:
            return self._file(os.path.join(self.harness, "PLAN.md"))
        try:
            return self._file(os.path.join(self.harness, file_name(parse_slug(slug))))
        except SlugError as error:
            raise UsageError(
                f"not a plan's name: {error}",
                hint="a name is one path component, such as `rounding`",
            ) from error

    def _file(self, path: str) -> PlanFile:
        return PlanFile(slug=slug_of(os.path.basename(path)), path=path, shown=self.shown(path))

    def shown(self, path: str) -> str:
        """Return a path as a person in the current folder would write it."""
        relative = os.path.relpath(path, self.current)
        return path if relative.startswith(os.path.join("..", "..", "..")) else relative
