"""Begin: a new plan, a new workspace."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import AlreadyExists, NothingToDo
from planbound.plan.skeleton import objective_line, skeleton
from planbound.plan.slug import UNNAMED
from planbound.ports.files import Files, Folders, PlanFile, Shelf, Workspace
from planbound.usecases.stage import refuse_taken

_CONFIGURATION = """\
# Configuration of Planbound for this repository. Everything here has a default.

# profile = "strict"      # warnings about the shape of a plan become errors

# [agents.coder]          # who does the steps whose `target` is `coder`: any program
# command = ["my-agent", "--prompt", "{prompt}"]   # without {prompt} it is on standard input
# env = ["MY_AGENT_KEY"]  # names of variables that it gets; everything else stays out

{contracts}

# [judging]               # what a pass must rest on
# isolation = "I2"        # with less nothing runs; `planbound selftest` says what there is
# evidence = "E3"
"""

_CONTRACTS = """\
# [contracts]             # how contracts are run
# path = ["tools/bin"]    # where they find their tools, before what is found by itself
# env = []                # names of variables that they get; everything else stays out
# network = false"""

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


def configuration_text(path: Sequence[str], timeout: str | None) -> str:
    """Return a first configuration: what was found out, and the rest as comments."""
    import json  # noqa: PLC0415 - a text of JSON is one of TOML

    found: list[str] = []
    if path:
        found.append(
            f"path = {json.dumps(list(path))}".ljust(23) + " # where they find their tools"
        )
    if timeout:
        found.append(f'timeout = "{timeout}"'.ljust(23) + " # the tests take their time")
    contracts = _CONTRACTS
    if found:
        lines = ["[contracts]             # how contracts are run", *found]
        rest = [line for line in _CONTRACTS.split("\n")[1:] if not (path and " path =" in line)]
        contracts = "\n".join([*lines, *rest])
    return _CONFIGURATION.replace("{contracts}", contracts)


class Lacking(NamedTuple):
    """What a workspace does not have yet."""

    plan: bool
    configuration: bool


def lacking(root: str, *, workspace: Workspace, files: Files, configured: bool) -> Lacking:
    """Say what is to be made; `configured` where another file holds the configuration."""
    own = files.stamp(f"{root}/planbound.toml") is not None
    return Lacking(plan=not workspace.plans(), configuration=not own and not configured)


def initialise(
    root: str,
    *,
    workspace: Workspace,
    files: Files,
    folders: Folders,
    plan: str | None,
    configuration: str | None,
) -> list[str]:
    """Make the harness folder and the texts that are given; return what was made."""
    harness = workspace.planned_path(UNNAMED).path.rsplit("/", 1)[0]
    made = [f".harness/{name}/" for name in FOLDERS if folders.make_folder(f"{harness}/{name}")]
    if plan is not None:
        write_plan(UNNAMED, plan.encode(), workspace=workspace, files=files, folders=folders)
        made.append(".harness/PLAN.md")
    if configuration is not None and _create_absent(files, f"{root}/planbound.toml", configuration):
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
