"""Begin: a new plan, a new workspace."""

from __future__ import annotations

from planbound.errors import AlreadyExists, NothingToDo
from planbound.plan.skeleton import objective_line, skeleton
from planbound.plan.slug import UNNAMED
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace
from planbound.usecases.stage import refuse_taken

CONFIGURATION = """\
# Configuration of Planbound for this repository. Everything here has a default.

# profile = "strict"      # warnings about the shape of a plan become errors

# [agents.coder]          # who does the steps whose `target` is `coder`: any program
# command = ["my-agent", "--prompt", "{prompt}"]   # without {prompt} it is on standard input
# env = ["MY_AGENT_KEY"]  # names of variables that it gets; everything else stays out

# [contracts]             # how contracts are run
# path = [".venv/bin"]    # where they find their tools, before the system's folders
# env = []                # names of variables that they get; everything else stays out
# network = false

# [judging]               # what a pass must rest on
# isolation = "I2"        # with less nothing runs; `planbound selftest` says what there is
# evidence = "E3"
"""

FOLDERS = ("topics", "queued-plans", "archive")


def create_plan(
    name: str, objective: str | None, *, workspace: Workspace, files: Files, folders: Folders
) -> PlanFile:
    """Write a new draft with steps to fill in; never over anything."""
    text = skeleton(objective_line(objective, workspace.planned_path(name).slug))
    return write_plan(name, text.encode(), workspace=workspace, files=files, folders=folders)


def write_plan(
    name: str, data: bytes, *, workspace: Workspace, files: Files, folders: Folders
) -> PlanFile:
    """Write a new plan; never over anything."""
    planned = workspace.planned_path(name)
    refuse_taken(planned.slug, Shelf.ACTIVE, workspace)
    folders.make_folder(planned.path.rsplit("/", 1)[0])
    files.create(planned.path, data)
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
