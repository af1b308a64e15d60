"""Begin: a new plan, a new workspace."""

from __future__ import annotations

from typing import Protocol

from planbound.errors import AlreadyExists, NothingToDo, UsageError
from planbound.plan.skeleton import skeleton
from planbound.plan.slug import UNNAMED
from planbound.ports.files import Files, PlanFile, Workspace
from planbound.source.visible import INVISIBLE


class Folders(Protocol):
    """Making folders."""

    def make_folder(self, path: str) -> bool:
        """Make a folder with its parents; return whether it was not there."""


CONFIGURATION = """\
# Configuration of Planbound for this repository. Everything here has a default.

# profile = "strict"      # warnings about the shape of a plan become errors

# [agents.coder]          # a step's `target` names one of these; none: the shipped roles
"""

FOLDERS = ("topics", "queued-plans", "archive")


def create_plan(
    name: str, objective: str | None, *, workspace: Workspace, files: Files, folders: Folders
) -> PlanFile:
    """Write a new draft with steps to fill in; never over anything."""
    planned = workspace.planned_path(name)
    text = skeleton(_objective(objective, planned.slug))
    folders.make_folder(planned.path.rsplit("/", 1)[0])
    files.create(planned.path, text.encode())
    return planned


def initialise(root: str, *, workspace: Workspace, files: Files, folders: Folders) -> list[str]:
    """Make the harness folder, a first plan and a configuration; return what was made."""
    harness = workspace.planned_path(UNNAMED).path.rsplit("/", 1)[0]
    made = [f".harness/{name}/" for name in FOLDERS if folders.make_folder(f"{harness}/{name}")]
    if not workspace.plans():
        create_plan(UNNAMED, None, workspace=workspace, files=files, folders=folders)
        made.append(".harness/PLAN.md")
    if _create_absent(files, f"{root}/planbound.toml", CONFIGURATION):
        made.append("planbound.toml")
    if not made:
        raise NothingToDo("everything is there already")
    return made


def _create_absent(files: Files, path: str, text: str) -> bool:
    try:
        files.create(path, text.encode())
    except AlreadyExists:
        return False
    return True


def _objective(objective: str | None, slug: str) -> str:
    if objective is None:
        name = "this plan" if slug == UNNAMED else slug
        return f"TODO: what {name} is to reach"
    text = " ".join(objective.split())
    if not text or INVISIBLE.search(text):
        raise UsageError("the objective is empty, or holds characters that cannot be seen")
    return text
