"""Where plans are kept: new, staged, active, archived; each move is done and recorded here."""

from __future__ import annotations

import json
import os
import re
import shlex
import time
from collections.abc import Sequence
from itertools import count
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from planbound.disk.files import Files, PlanFile, Shelf
from planbound.errors import (
    AlreadyExists,
    JournalProblem,
    NoSuchPlan,
    NothingToDo,
    Refused,
    UsageError,
)
from planbound.journal.event import PlanActivated, PlanArchived, PlanStaged
from planbound.journal.words import StatusThen
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import MAX_BYTES, parse
from planbound.plan.skeleton import objective_line, skeleton
from planbound.plan.slug import (
    UNNAMED,
    SlugError,
    file_name,
    look_alikes,
    parse_slug,
    progress_name,
)
from planbound.plan.vocabulary import nearest
from planbound.state.plan import plan_state, plan_status
from planbound.workspace.locate import refuse_ambiguous

if TYPE_CHECKING:
    from planbound.journal.event import Event
    from planbound.workspace.context import Context
    from planbound.workspace.tree import Workspace

# -- put a plan on the shelf of plans that wait for their turn -----------------------------------


class Staged(NamedTuple):
    """A plan that waits now."""

    file: PlanFile
    plan: Plan
    unrecorded: str | None = None
    """Why the journal does not know of it; None: it does."""


def stage_draft(context: Context, name: str, objective: str | None) -> Staged:
    """Stage a new draft with steps to fill in."""
    slug = context.tree.planned_path(name).slug
    return _stage(context, slug, skeleton(objective_line(objective, slug)).encode())


def stage_copy(context: Context, name: str, source: str) -> Staged:
    """Stage a copy of a file, byte for byte; the file stays where it is."""
    data = context.files.read(source)
    if not data.strip():
        raise UsageError(f"`{source}` is empty, expected a plan")
    if len(data) > MAX_BYTES:
        raise UsageError(f"`{source}` is larger than a plan may be ({MAX_BYTES:,} bytes)")
    return _stage(context, name, data)


def refuse_taken(slug: str, shelf: Shelf, workspace: Workspace) -> None:
    """Raise AlreadyExists where the name, or one that looks like it, is taken on a shelf."""
    file, names = file_name(slug), workspace.names(shelf)
    taken = [file] if file in names else look_alikes(file, names)
    if taken:
        raise AlreadyExists(
            f"`{workspace.place(shelf, taken[0]).shown}` is there already",
            hint="nothing is overwritten: choose another name, or archive that one",
        )


def _stage(context: Context, name: str, data: bytes) -> Staged:
    file = context.tree.planned_path(name, Shelf.STAGED)
    if file.slug == UNNAMED:
        raise UsageError("a plan that waits needs a name", hint="such as `rounding`")
    # A plan that is active by that name could never be joined by this one.
    for shelf in (Shelf.ACTIVE, Shelf.STAGED):
        refuse_taken(file.slug, shelf, context.tree)
    context.real_files.make_folder(file.path.rsplit("/", 1)[0])
    context.files.create(file.path, data)
    plan = parse(data, path=file.shown)
    event = PlanStaged(digest=digest(plan), path=context.relative(file.path))
    return Staged(file, plan, _record(context, event, file.slug))


def _record(context: Context, event: Event, slug: str) -> str | None:
    """Record what was done; return why it is not on record, for it is done all the same."""
    try:
        context.recorder().record(event, slug)
    except JournalProblem as error:
        return error.message
    return None


# -- begin: a new plan, a new workspace ----------------------------------------------------------


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


class NewPlan(NamedTuple):
    """A plan that was written for the first time."""

    file: PlanFile
    plan: Plan
    unrecorded: str | None = None
    """Why the journal does not know of it; None: it does."""


def create_plan(context: Context, name: str, objective: str | None) -> NewPlan:
    """Write a new draft with steps to fill in; never over anything."""
    text = skeleton(objective_line(objective, context.tree.planned_path(name).slug))
    return add_plan(context, name, text.encode(), origin="new")


def add_plan(context: Context, name: str, data: bytes, *, origin: str) -> NewPlan:
    """Write a new plan, never over anything, and record where it comes from."""
    file = write_plan(context, name, data)
    plan = parse(data, path=file.shown)
    try:
        context.recorder().created(file.slug, plan, path=context.relative(file.path), origin=origin)
    except JournalProblem as error:
        return NewPlan(file, plan, error.message)
    return NewPlan(file, plan)


def write_plan(context: Context, name: str, data: bytes) -> PlanFile:
    """Write a new plan; never over anything."""
    planned = context.tree.planned_path(name)
    refuse_taken(planned.slug, Shelf.ACTIVE, context.tree)
    context.real_files.make_folder(planned.path.rsplit("/", 1)[0])
    context.files.create(planned.path, data)
    return planned


def configuration_text(path: Sequence[str], timeout: str | None) -> str:
    """Return a first configuration: what was found out, and the rest as comments."""
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


class Missing(NamedTuple):
    """What a workspace does not have yet."""

    plan: bool
    configuration: bool


def find_missing(context: Context) -> Missing:
    """Return what is to be made; a configuration may also stand in another file."""
    from planbound.workspace.configuration import Configuration  # noqa: PLC0415 - only `init`

    own = context.files.stamp(f"{context.root}/planbound.toml") is not None
    configured = context.configuration != Configuration()
    return Missing(plan=not context.tree.plans(), configuration=not own and not configured)


class Initialised(NamedTuple):
    """What a workspace has now that it did not have."""

    made: tuple[str, ...]
    """Paths, as seen from the workspace."""
    plan: NewPlan | None
    """None: there was one."""


def initialise(context: Context, plan: str | None, configuration: str | None) -> Initialised:
    """Make the harness folder, and the plan and configuration whose texts are given."""
    harness = context.tree.planned_path(UNNAMED).path.rsplit("/", 1)[0]
    folders = context.real_files
    made = [f".harness/{name}/" for name in FOLDERS if folders.make_folder(f"{harness}/{name}")]
    written = None
    if plan is not None:
        written = add_plan(context, UNNAMED, plan.encode(), origin="init")
        made.append(".harness/PLAN.md")
    path = f"{context.root}/planbound.toml"
    if configuration is not None and _create_absent(context.files, path, configuration):
        made.append("planbound.toml")
    if not made:
        raise NothingToDo("everything is there already")
    return Initialised(tuple(made), written)


def _create_absent(files: Files, path: str, text: str) -> bool:
    try:
        files.create(path, text.encode())
    except AlreadyExists:
        return False
    return True


# -- take a staged plan into work ----------------------------------------------------------------


class Activated(NamedTuple):
    """A plan that is active now."""

    file: PlanFile
    staged: PlanFile
    """Where it was copied from; that file stays."""
    plan: Plan
    unrecorded: str | None = None
    """Why the journal does not know of it; None: it does."""


def activate_plan(context: Context, name: str) -> Activated:
    """Copy a staged plan beside the active ones, never over anything.

    Raises NothingToDo where everything that the plan is to produce is there.
    """
    workspace, files = context.tree, context.files
    staged = workspace.planned_path(name, Shelf.STAGED)
    names = list(workspace.names(Shelf.STAGED))
    if file_name(staged.slug) not in names:
        waiting = [plan.slug for plan in workspace.plans(Shelf.STAGED)]
        near = nearest(staged.slug, waiting)
        known = f"staged plans: {', '.join(waiting[:8])}" if waiting else None
        raise NoSuchPlan(
            f"there is no staged plan `{staged.slug}`",
            hint=f"did you mean `{near}`?"
            if near
            else known or "stage one with `planbound stage NAME`",
        )
    refuse_ambiguous(file_name(staged.slug), names, subject=f"`{staged.slug}` is to be activated")
    data = files.read(staged.path)
    if not data.strip() or len(data) > MAX_BYTES:
        size = "empty" if len(data) <= MAX_BYTES else "too large"
        raise UsageError(f"`{staged.shown}` is {size}, expected a plan")
    active = workspace.planned_path(staged.slug)
    refuse_taken(staged.slug, Shelf.ACTIVE, workspace)
    plan = parse(data, path=staged.shown)
    artifacts = [item.value for item in plan.frontmatter.expected_artifacts]
    if artifacts and all(workspace.has_artifact(artifact) for artifact in artifacts):
        raise NothingToDo(
            f"{_listed(artifacts)} of `{staged.slug}` is there already",
            hint="remove what is to be made anew, or the staged plan",
        )
    files.create(active.path, data)
    plan = parse(data, path=active.shown)
    event = PlanActivated(digest=digest(plan), path=context.relative(active.path))
    return Activated(active, staged, plan, _record(context, event, active.slug))


def _listed(artifacts: list[str]) -> str:
    more = f" and {len(artifacts) - 3} more" if len(artifacts) > 3 else ""
    return ", ".join(f"`{artifact}`" for artifact in artifacts[:3]) + more


# -- put a plan away when it is over -------------------------------------------------------------


class Archived(NamedTuple):
    """A plan that is over."""

    slug: str
    plan: Plan
    status: PlanStatus
    """Where it was in its life."""
    file: PlanFile
    """Where the plan is now."""
    progress: PlanFile | None
    """Where its progress is now; None where it had none."""
    still_marked: bool
    """Whether the worktree's marker still names it."""
    unrecorded: str | None = None
    """Why the journal does not know of it; None: it does."""


def archive_plan(context: Context, name: str, date: str | None = None) -> Archived:
    """Move an active plan and its progress to the archive; `date`, else today, is `YYYYMMDD`."""
    date = time.strftime("%Y%m%d", time.gmtime()) if date is None else date
    if not re.fullmatch(r"[0-9]{8}", date):
        raise ValueError(date)
    workspace, files = context.tree, context.files
    source = workspace.planned_path(name)
    names = list(workspace.names(Shelf.ACTIVE))
    if file_name(source.slug) not in names:
        known = [plan.slug for plan in workspace.plans()]
        near = nearest(source.slug, known)
        hint = f"plans here: {', '.join(known[:8])}" if known else None
        raise NoSuchPlan(
            f"there is no plan `{source.slug}`", hint=f"did you mean `{near}`?" if near else hint
        )
    refuse_ambiguous(file_name(source.slug), names, subject=f"`{source.slug}` is to be archived")
    plan = parse(files.read(source.path), path=source.shown)
    journal = context.existing_journal()
    state = plan_state(journal, source.slug) if journal is not None else None
    # A run that has begun is under way, whatever somebody made of the text since.
    if (state.decided_status if state else plan.status) is PlanStatus.IN_PROGRESS:
        raise Refused(
            f"`{source.slug}` is in progress",
            hint=f"let it end, or cancel its run;"
            f" `planbound show {shlex.quote(source.slug)}` tells more",
        )
    notes = progress_name(source.slug)
    pairs = [(source.path, "PLAN")]
    if notes in names:
        # The progress goes first: a move that is cut off leaves the plan to be archived again.
        pairs.insert(0, (workspace.place(Shelf.ACTIVE, notes).path, "progress"))
    context.real_files.make_folder(workspace.place(Shelf.ARCHIVE, "x").path.rsplit("/", 1)[0])
    targets = _targets(f"{date}-{source.slug}", pairs, workspace)
    for (path, _), target in zip(pairs, targets, strict=True):
        workspace.move(path, target.path)
    status = plan_status(state, digest(plan)) if state else plan.status
    path = context.relative(targets[-1].path)
    event = PlanArchived(digest=digest(plan), path=path, status=StatusThen(status.value))
    return Archived(
        slug=source.slug,
        plan=plan,
        status=status,
        file=targets[-1]._replace(slug=source.slug),
        progress=targets[0] if len(targets) > 1 else None,
        still_marked=_is_marked(source.slug, workspace),
        unrecorded=_record(context, event, source.slug),
    )


def _targets(wanted: str, pairs: list[tuple[str, str]], workspace: Workspace) -> list[PlanFile]:
    """Return a free name in the archive for each file, all with the same number."""
    taken = {name.casefold() for name in workspace.names(Shelf.ARCHIVE)}
    for number in count(1):
        suffix = wanted if number == 1 else f"{wanted}-{number}"
        targets = [
            workspace.place(Shelf.ARCHIVE, f"{kind}.archive.{suffix}.md") for _, kind in pairs
        ]
        if all(
            target.path.rsplit("/", 1)[1].casefold() not in taken
            or workspace.is_same(path, target.path)
            for (path, _), target in zip(pairs, targets, strict=True)
        ):
            return targets
    raise AssertionError(wanted)


def _is_marked(slug: str, workspace: Workspace) -> bool:
    try:
        return parse_slug(workspace.marker() or "") == slug
    except (SlugError, Refused):
        return False


# -- A file that is no plan of the workspace: what to do with it, and taking it in ---------------


_NO_NAMES = frozenset({UNNAMED, UNNAMED.lower(), "README", "readme"})
"""Names that say nothing: the name of the folder says more."""


class TakenIn(NamedTuple):
    """A file from elsewhere as a plan of the workspace."""

    file: PlanFile
    moves: tuple[Staged | Activated, ...]
    """What was written for that; nothing where it had been taken in before."""


def refuse_outside(file: PlanFile, harness: str) -> NoReturn:
    """Raise UsageError: the file is not where the plans are, and this is what to do."""
    if file.path == "-":
        raise UsageError(
            "only a plan in `.harness/` is approved, run and followed, not standard input",
            hint="write it to a file, then `planbound stage NAME --from FILE`",
        )
    folder = os.path.dirname(os.path.abspath(file.path))
    shown, name = shlex.quote(file.shown), shlex.quote(name_for(file))
    staging = f"`planbound stage {name} --from {shown}`"
    if os.path.realpath(folder) == os.path.realpath(os.path.join(harness, Shelf.STAGED.value)):
        raise UsageError(
            f"`{file.shown}` waits in the queue: it is not worked on yet",
            hint=f"take it into work: `planbound activate {shlex.quote(file.slug)}`",
        )
    if os.path.realpath(folder) == os.path.realpath(os.path.join(harness, Shelf.ARCHIVE.value)):
        raise UsageError(
            f"`{file.shown}` is archived: it is not worked on any more",
            hint="to begin with it anew: `planbound stage NAME --from " + f"{shown}`",
        )
    is_link = os.path.realpath(folder) == os.path.realpath(harness)
    where = "leads outside" if is_link else "is outside"
    raise UsageError(
        f"`{file.shown}` {where} of `.harness/`, where the plans are that are approved and run",
        hint=f"take it in: {staging}, then `planbound activate {name}`"
        f" (`planbound run {shown} --stage` does both);"
        f" a task list of another tool: `planbound import {shown}`",
    )


def name_for(file: PlanFile) -> str:
    """Return the name that a file gets as a plan: its own, or its folder's where that says more."""
    folder = os.path.basename(os.path.dirname(os.path.abspath(file.path)))
    for name in (file.slug, folder):
        if name in _NO_NAMES:
            continue
        try:
            return parse_slug(name)
        except SlugError:
            continue
    return "NAME"


def take_in(context: Context, file: PlanFile) -> TakenIn:
    """Stage and activate a file from elsewhere; one that was taken in before is found again."""
    workspace, files = context.tree, context.files
    name = name_for(file)
    if name == "NAME":
        raise UsageError(
            f"`{file.shown}` has no name that a plan could have",
            hint=f"give it one: `planbound stage NAME --from {shlex.quote(file.shown)}`",
        )
    planned = workspace.planned_path(name)
    if file_name(name) in workspace.names(Shelf.ACTIVE):
        theirs, ours = (
            digest(parse(files.read(each.path), path=each.shown)) for each in (file, planned)
        )
        if theirs != ours:
            raise AlreadyExists(
                f"`{planned.shown}` is there already, and is another plan than `{file.shown}`",
                hint=f"run that one: `planbound run {shlex.quote(planned.shown)}`; or give this"
                f" another name: `planbound stage NAME --from {shlex.quote(file.shown)}`",
            )
        return TakenIn(planned, ())
    moves: list[Staged | Activated] = []
    waiting = workspace.planned_path(name, Shelf.STAGED)
    is_staged = file_name(name) in workspace.names(Shelf.STAGED)
    if not is_staged or files.read(waiting.path) != files.read(file.path):
        moves.append(stage_copy(context, name, file.path))
    activated = activate_plan(context, name)
    return TakenIn(activated.file, (*moves, activated))
