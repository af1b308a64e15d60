"""The plans of a workspace: `planbound new`, `list`, and where they are kept."""

from __future__ import annotations

import argparse
import enum
import shlex
import sys

from msgspec.structs import asdict

from planbound.cli.named_plans import STANDARD_INPUT, PlanWritten, excuse, plan_written
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import Shelf
from planbound.errors import (
    ExitCode,
    NothingBound,
    UsageError,
)
from planbound.plan.model import PlanStatus
from planbound.plan.parse import MAX_BYTES
from planbound.source import visible
from planbound.workspace.context import Context
from planbound.workspace.locate import resolve_active_plan
from planbound.workspace.overview import (
    HOLDS_NOTHING,
    NO_JOURNAL,
    PlanLine,
    PlanOverview,
    look_at_all,
)
from planbound.workspace.shelves import (
    activate_plan,
    archive_plan,
    create_plan,
    stage_copy,
    stage_draft,
)

# -- `planbound new` -----------------------------------------------------------------------------


def configure_new(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="one path component, such as `rounding`")
    parser.add_argument("--objective", metavar="TEXT", help="what the plan is to reach")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_new(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft to fill in."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    made = create_plan(context, arguments.name, arguments.objective)
    excuse(made.unrecorded, terminal)
    if arguments.json:
        terminal.json(plan_written(made.file, made.plan))
        return ExitCode.DONE
    terminal.out(f"wrote {made.file.shown}")
    slug = shlex.quote(made.file.slug)
    terminal.note(f"next: fill in what says TODO, then `planbound verify {slug}`")
    return ExitCode.DONE


# -- `planbound import` --------------------------------------------------------------------------


class ImportMade(JsonObject, frozen=True):
    slug: str
    path: str | None
    """Null with `--stdout`: nothing was written then."""
    format: str
    """Which tool's task list it was read as."""
    steps: int
    unproved: int
    """How many of them have no contract."""
    remarks: list[str]
    text: str | None
    """The draft, with `--stdout`."""


def configure_import(parser: argparse.ArgumentParser) -> None:
    from planbound.drafting.importers import Format  # noqa: PLC0415 - `list` does without

    parser.add_argument(
        "file", metavar="FILE", help="a task list, or a folder that holds one; `-` for stdin"
    )
    parser.add_argument(
        "--from",
        dest="kind",
        choices=[kind.value for kind in Format],
        help="the format (default: recognised from the file)",
    )
    parser.add_argument(
        "--name", metavar="NAME", help="name of the plan (default: by the file's name)"
    )
    parser.add_argument("--tag", metavar="TAG", help="taskmaster: the tag to read")
    parser.add_argument("--stdout", action="store_true", help="print the draft, write nothing")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_import(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft with a step for each task; none of them counts as done."""
    from planbound.drafting.adopt import (  # noqa: PLC0415 - `list` does without
        adopt,
        find_task_list,
        piped_task_list,
        write_adopted,
    )
    from planbound.drafting.importers import Format  # noqa: PLC0415 - the same

    context = Context(workspace=arguments.workspace, state=arguments.state)
    if arguments.file == STANDARD_INPUT:
        foreign = piped_task_list(sys.stdin.buffer.read(MAX_BYTES + 1))
    else:
        foreign = find_task_list(arguments.file, context.reader)
    adopted = adopt(
        foreign,
        kind=Format(arguments.kind) if arguments.kind else None,
        name=arguments.name,
        tag=arguments.tag,
    )
    for remark in adopted.draft.remarks:
        terminal.note(f"note: {visible(remark)}")
    draft, file = adopted.draft, None
    if not arguments.stdout:
        file, _, unrecorded = write_adopted(context, adopted)
        excuse(unrecorded, terminal)
    if arguments.json:
        terminal.json(
            ImportMade(
                slug=adopted.name,
                path=None if file is None else file.path,
                format=adopted.kind.value,
                steps=draft.steps,
                unproved=draft.unproved,
                remarks=list(draft.remarks),
                text=draft.text if file is None else None,
            )
        )
    elif file is None:
        terminal.raw(draft.text)
    else:
        steps = "1 step" if draft.steps == 1 else f"{draft.steps} steps"
        made = f"{steps} from {adopted.kind.value}, {draft.unproved} without a contract"
        terminal.out(f"wrote {file.shown}: {made}")
        terminal.note(
            f"next: `planbound verify {shlex.quote(file.slug)}` says what each step still needs"
        )
    return ExitCode.DONE


# -- `planbound list` ----------------------------------------------------------------------------


_SHELVES = {Shelf.ACTIVE: "active", Shelf.STAGED: "staged", Shelf.ARCHIVE: "archived"}


class StatusSource(enum.Enum):
    """Who says where a plan is."""

    JOURNAL = "journal"
    FILE = "file"


class ListedPlan(JsonObject, frozen=True):
    """A plan of the workspace."""

    slug: str
    path: str
    status: str | None
    """[Where it is](language.md#status), or `empty`; null where it cannot be read."""
    objective: str | None
    steps: int
    done: int
    """How many of them are proved."""
    holds: int
    attested: int
    templates: int
    """Steps that have to be written out."""
    problem: str | None
    """Why it cannot be read."""
    shelf: str
    """`active`, `staged` or `archived`."""
    status_from: StatusSource
    """`file` where the journal knows nothing of it."""
    last_event: str | None
    last_event_at: str | None
    waiting: str | None
    bound: bool
    """Whether this worktree is bound to it."""
    conflicts: list[str]
    """Copies that a synchroniser left."""


def configure_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="list the archived plans, too")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_list(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """List the plans of the workspace."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    seen = look_at_all(context)
    lines = [line for line in seen.lines if arguments.all or line.shelf is not Shelf.ARCHIVE]
    _notes(seen, terminal)
    if arguments.json:
        terminal.json([_listed(line) for line in lines])
        return ExitCode.DONE
    if not lines:
        terminal.note(f"no plans in {context.root}/.harness")
        terminal.note("hint: begin one with `planbound new NAME`")
        return ExitCode.DONE
    width = max(len(visible(line.file.slug)) for line in lines)
    for line in lines:
        terminal.out(_text(line, width, terminal))
    return ExitCode.DONE


def _notes(seen: PlanOverview, terminal: Terminal) -> None:
    for warning in seen.warnings:
        if warning != NO_JOURNAL:  # the list of a workspace in which nothing ran needs no excuse
            terminal.note(f"warning: {visible(warning)}")
    if seen.unbound is not None:
        terminal.note(f"warning: {visible(seen.unbound)}")
    for copy in seen.conflicts:
        terminal.note(f"warning: `{visible(copy.shown)}` is a conflict copy")


def _text(line: PlanLine, width: int, terminal: Terminal) -> str:
    name = terminal.style(visible(line.file.slug).ljust(width), "bold")
    if line.problem is not None:
        return f"{name}  {terminal.style('unreadable', 'red')}  {visible(line.problem)}"
    about = HOLDS_NOTHING if line.is_empty else _about(line)
    text = f"{name}  [{line.word}]  {about}"
    if line.shelf is not Shelf.ACTIVE:
        text += f"  ({_SHELVES[line.shelf]})"
    if line.bound:
        text += terminal.style("  (bound here)", "cyan")
    if line.state is not None and line.state.waiting is not None:
        asked = ", ".join(line.state.questions.words) or line.state.waiting
        text += terminal.style(f"  (waits for a person: {visible(asked)})", "yellow")
    if line.state and line.state.last_event and line.state.last:
        when = line.state.last[:16].replace("T", " ")
        text += terminal.style(f"  {line.state.last_event.value} {when}", "dim")
    if line.conflicts:
        copies = ", ".join(f"`{visible(shown)}`" for shown in line.conflicts)
        text += terminal.style(f"  conflict copy: {copies}", "yellow")
    return text


def _about(line: PlanLine) -> str:
    steps = f"{line.done}/{line.steps} steps"
    if line.holds:
        steps += f", {line.holds} hold{'s' if line.holds == 1 else ''}"
    if line.attested:
        steps += f", {line.attested} attested"
    if line.templates:
        steps += f", {line.templates} to expand"
    objective = visible(line.objective) if line.objective else "(no objective)"
    return f"{steps}  {objective}"


def _listed(line: PlanLine) -> ListedPlan:
    state = line.state
    by_file = line.is_empty or (
        state is None and line.plan is not None and line.status is line.plan.status
    )
    return ListedPlan(
        slug=line.file.slug,
        path=line.file.path,
        status=line.word,
        objective=line.objective,
        steps=line.steps,
        done=line.done,
        holds=line.holds,
        attested=line.attested,
        templates=line.templates,
        problem=line.problem,
        shelf=_SHELVES[line.shelf],
        status_from=StatusSource.FILE if by_file else StatusSource.JOURNAL,
        last_event=state.last_event.value if state and state.last_event else None,
        last_event_at=state.last if state else None,
        waiting=state.waiting if state else None,
        bound=line.bound,
        conflicts=list(line.conflicts),
    )


# -- `planbound stage` ---------------------------------------------------------------------------


def configure_stage(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="one path component, such as `rounding`")
    parser.add_argument("--objective", metavar="TEXT", help="what the plan is to reach")
    parser.add_argument("--from", metavar="FILE", dest="source", help="a plan to copy")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_stage(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Write a draft, or a copy of a file, where plans wait."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    if arguments.source is None:
        staged = stage_draft(context, arguments.name, arguments.objective)
    elif arguments.objective is not None:
        raise UsageError("`--objective` and `--from` do not go together")
    else:
        staged = stage_copy(context, arguments.name, arguments.source)
    excuse(staged.unrecorded, terminal)
    if arguments.json:
        terminal.json(plan_written(staged.file, staged.plan))
        return ExitCode.DONE
    terminal.out(f"wrote {staged.file.shown}")
    terminal.note(f"next: `planbound activate {shlex.quote(staged.file.slug)}` takes it into work")
    return ExitCode.DONE


# -- `planbound activate` ------------------------------------------------------------------------


class ActivatedPlan(PlanWritten, frozen=True):
    staged: str
    """The path that it was copied from; that file stays."""


def configure_activate(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="a staged plan")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_activate(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Copy a staged plan beside the active ones."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    activated = activate_plan(context, arguments.name)
    excuse(activated.unrecorded, terminal)
    if arguments.json:
        written = plan_written(activated.file, activated.plan)
        terminal.json(ActivatedPlan(**asdict(written), staged=activated.staged.path))
        return ExitCode.DONE
    terminal.out(f"wrote {activated.file.shown}")
    terminal.note(f"note: {activated.staged.shown} stays as it is")
    return ExitCode.DONE


# -- `planbound archive` -------------------------------------------------------------------------


class ArchivedPlan(PlanWritten, frozen=True):
    status: PlanStatus
    """Where it was in its life."""
    progress: str | None
    """The path of its progress file now; null where it had none."""
    still_marked: bool
    """Whether the marker `.harness/active-plan` still names it."""


def configure_archive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an active plan that is not in progress")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_archive(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Move a plan and its progress to the archive."""
    from planbound.session.people import refuse_owed  # noqa: PLC0415 - `list` does without sessions

    context = Context(workspace=arguments.workspace, state=arguments.state)
    refuse_owed(context, context.tree.planned_path(arguments.name).slug)
    archived = archive_plan(context, arguments.name)
    excuse(archived.unrecorded, terminal)
    if arguments.json:
        terminal.json(
            ArchivedPlan(
                **asdict(plan_written(archived.file, archived.plan)),
                status=archived.status,
                progress=archived.progress.path if archived.progress else None,
                still_marked=archived.still_marked,
            )
        )
        return ExitCode.DONE
    terminal.out(f"moved to {archived.file.shown}")
    if archived.progress is not None:
        terminal.out(f"moved to {archived.progress.shown}")
    if archived.still_marked:
        terminal.note(
            f"note: the marker `.harness/active-plan` still names `{archived.slug}`; "
            "correct it, or remove it"
        )
    return ExitCode.DONE


# -- `planbound resolve-active-plan` -------------------------------------------------------------


class PlanBound(JsonObject, frozen=True):
    slug: str
    plan_path: str
    progress_path: str
    """There or not."""
    bound_by: str
    """`argument`, `marker`, or `unnamed`."""


def configure_resolve_active_plan(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--plan", metavar="NAME", help="this plan instead of the one that the marker names"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_resolve_active_plan(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the paths of the session's own plan and of its progress."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    binding = resolve_active_plan(arguments.plan, context.tree)
    if binding is None:
        raise NothingBound(
            f"there is no `.harness/` for {visible(context.root)}",
            hint="make one with `planbound init`",
        )
    if arguments.json:
        terminal.json(
            PlanBound(
                slug=binding.plan.slug,
                plan_path=binding.plan.path,
                progress_path=binding.progress.path,
                bound_by=binding.by.value,
            )
        )
    else:
        terminal.out(f"{binding.plan.path}\t{binding.progress.path}")
    return ExitCode.DONE


SHAPES: dict[str, Shapes] = {
    "new": {"": PlanWritten},
    "import": {"": ImportMade},
    "stage": {"": PlanWritten},
    "activate": {"": ActivatedPlan},
    "archive": {"": ArchivedPlan},
    "list": {"": list[ListedPlan]},
    "resolve-active-plan": {"": PlanBound},
}
