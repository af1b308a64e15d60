"""Every plan of a workspace: what its file says, and what the journal knows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from msgspec import Struct

from planbound.disk.files import ConflictCopy, Files, PlanFile, Shelf
from planbound.errors import JournalProblem, PlanboundError
from planbound.journal.record import Journal, Query
from planbound.plan.digest import digest
from planbound.plan.model import Judged, Plan, PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.plan.slug import UNNAMED, SlugError, file_name, parse_slug, progress_name
from planbound.plan.vocabulary import placeholder_in
from planbound.source import BOM
from planbound.state.plan import PlanState, fold, plan_states, plan_status
from planbound.workspace.configuration import Require
from planbound.workspace.context import Context
from planbound.workspace.locate import resolve_active_plan
from planbound.workspace.marks import PlanView, is_news, look_at, notice, put_right, show_status
from planbound.workspace.readiness import (
    FINISHED,
    FileStatus,
    PlanInfo,
    Readiness,
    ScopeKind,
    readiness,
    why_unproved,
)

if TYPE_CHECKING:
    from planbound.workspace.tree import Workspace

# -- every plan of a workspace: what its file says, and what the journal knows ------------------


OpenJournal = Callable[[], Journal | None]
"""Opens the journal to read; None where nothing was ever written. It must not make one."""

HOLDS_NOTHING = "the file holds no plan"
NO_JOURNAL = "there is no journal: the status of each plan is what its file says"
_ARCHIVED = re.compile(r"PLAN\.archive\.(?P<date>[0-9]{8})-(?P<slug>.+?)(?:-(?P<number>\d+))?\.md")
_BEFORE_START = frozenset({PlanStatus.DRAFT, PlanStatus.VERIFIED, PlanStatus.APPROVED})


class PlanLine(Struct, frozen=True):
    """What there is to say about a plan in one line."""

    file: PlanFile
    shelf: Shelf = Shelf.ACTIVE
    plan: Plan | None = None
    data: bytes = b""
    """What the plan was read from."""
    status: PlanStatus | None = None
    """Where it is; None where the file is empty, or unknown to the journal and not readable."""
    state: PlanState | None = None
    """What the journal knows; None where it knows nothing, or speaks of a newer plan."""
    bound: bool = False
    """Whether it is this worktree's own plan."""
    conflicts: tuple[str, ...] = ()
    """Conflict copies of it, or of its progress."""
    problem: str | None = None
    """Why the file could not be read."""

    @property
    def objective(self) -> str | None:
        """What the plan is to reach."""
        return self.plan.objective.value if self.plan and self.plan.objective else None

    @property
    def look(self) -> PlanView | None:
        """The plan in work with what the journal knows of it; None where it cannot be read."""
        if self.plan is None or self.status is None or self.shelf is not Shelf.ACTIVE:
            return None
        return PlanView(self.file, self.data, self.plan, self.state, self.status)

    @property
    def is_empty(self) -> bool:
        """Whether the file holds nothing that could be a plan."""
        return self.plan is not None and _is_blank(self.plan)

    @property
    def shown(self) -> PlanStatus | FileStatus | None:
        """Where it is, as every view tells it."""
        return FileStatus.EMPTY if self.is_empty else self.status

    @property
    def word(self) -> str | None:
        """The same as a word."""
        return self.shown.value if self.shown else None

    @property
    def steps(self) -> int:
        """How many steps there are."""
        return len(self.plan.steps) if self.plan else 0

    @property
    def templates(self) -> int:
        """How many of them stand for steps that are still to be written out."""
        return sum(step.is_template for step in self.plan.steps) if self.plan else 0

    @property
    def done(self) -> int:
        """How many steps are proved: by the journal, else by the marks in the file."""
        return self._count(StepStatus.DONE)

    @property
    def holds(self) -> int:
        """How many steps hold and are not proved."""
        return self._count(StepStatus.HOLDS)

    @property
    def attested(self) -> int:
        """How many steps a person answers for."""
        return self._count(StepStatus.ATTESTED)

    def _count(self, status: StepStatus) -> int:
        steps = self.plan.steps if self.plan else ()
        if self.state is None:
            return sum(step.status is not None and step.status.value is status for step in steps)
        known = self.state.steps
        return sum(step.id in known and known[step.id].status is status for step in steps)


class PlanOverview(Struct, frozen=True):
    """The plans, and what could not be found out."""

    lines: tuple[PlanLine, ...]
    """Active ones first, then staged, then archived."""
    has_journal: bool
    conflicts: tuple[ConflictCopy, ...]
    """Conflict copies of nothing that is listed."""
    unbound: str | None
    """Why this worktree's own plan cannot be told."""
    warnings: tuple[str, ...]
    """What could not be found out about the plans."""


def overview(workspace: Workspace, files: Files, open_journal: OpenJournal) -> PlanOverview:
    """Return a line for each plan on every shelf; one that cannot be read says why."""
    warnings: list[str] = []
    states = journal_states(open_journal, warnings)
    return overview_with(workspace, states, partial(read_plan_file, files=files), warnings)


def overview_with(
    workspace: Workspace,
    states: Mapping[str, PlanState] | None,
    read: Callable[[PlanFile], tuple[Plan | None, bytes, str | None]],
    warnings: Sequence[str],
) -> PlanOverview:
    """Return the same for who knows the states, and how to read a plan, already."""
    bound, unbound = _bound(workspace)
    conflicts = list(workspace.conflicts())
    lines = []
    # The journal speaks of the plan in work; a staged or archived copy of it is only a file.
    spoken: set[str] = set()
    for shelf, file in _files(workspace, states or {}):
        own = [copy for copy in conflicts if _is_copy_of(copy, file, shelf)]
        conflicts = [copy for copy in conflicts if copy not in own]
        plan, data, problem = read(file)
        state = (states or {}).get(file.slug) if file.slug not in spoken else None
        status = _status(plan, state, shelf, has_journal=states is not None)
        lines.append(
            PlanLine(
                file=file,
                shelf=shelf,
                plan=plan,
                data=data,
                status=status,
                state=state,
                bound=shelf is Shelf.ACTIVE and file.slug == bound,
                conflicts=tuple(copy.shown for copy in own),
                problem=problem,
            )
        )
        spoken.add(file.slug)
    has_journal = states is not None
    return PlanOverview(tuple(lines), has_journal, tuple(conflicts), unbound, tuple(warnings))


def glimpse(
    workspace: Workspace, files: Files, open_journal: OpenJournal, most: int
) -> tuple[list[PlanLine], int]:
    """Return the first plans in work, and how many more there are; reads nothing else."""
    found = [file for file in workspace.plans() if _may_hold(file, workspace)]
    try:
        journal = open_journal()
    except JournalProblem:
        journal = None
    lines = []
    for file in found[:most]:
        plan, data, problem = read_plan_file(file, files)
        records = journal.read(Query(plan=file.slug)) if journal is not None else ()
        state = fold(records).get(file.slug)
        status = _status(plan, state, Shelf.ACTIVE, has_journal=journal is not None)
        lines.append(PlanLine(file, Shelf.ACTIVE, plan, data, status, state, problem=problem))
    return lines, len(found) - len(lines)


def _status(
    plan: Plan | None, state: PlanState | None, shelf: Shelf, *, has_journal: bool
) -> PlanStatus | None:
    if plan is not None and _is_blank(plan):
        return None
    if plan is None or shelf is Shelf.ARCHIVE:
        # What is put away is history: it stays what it was.
        known = state.status if state else None
        return known or (plan.status if plan else None)
    is_copy = shelf is not Shelf.ACTIVE and state is None
    if not has_journal or is_copy:
        return plan.status
    return plan_status(state, digest(plan))


def journal_states(open_journal: OpenJournal, warnings: list[str]) -> dict[str, PlanState] | None:
    """Return the journal's states; None, and a warning, where there is no journal to read."""
    try:
        journal = open_journal()
        if journal is not None:
            return plan_states(journal)
    except JournalProblem as error:
        warnings.append(f"{error.message}: the status of each plan is what its file says")
        return None
    warnings.append(NO_JOURNAL)
    return None


def plan_infos(
    seen: PlanOverview, warnings: list[str], require: Require = Require.CLAIMED
) -> list[PlanInfo]:
    """Return what the plans are to each other, one for each slug."""
    by_slug: dict[str, list[PlanLine]] = {}
    for line in seen.lines:
        by_slug.setdefault(line.file.slug, []).append(line)
    infos = [
        _info(lines, has_journal=seen.has_journal, warnings=warnings) for lines in by_slug.values()
    ]
    demanded = require is Require.PROVED
    return [
        info._replace(unproved=why_unproved(by_slug[info.slug][0].holds, demanded=demanded))
        for info in infos
    ]


def open_dependencies(
    workspace: Workspace, files: Files, wanted: Iterable[str]
) -> dict[str, tuple[str, ...]]:
    """Return every plan there is, and what those that are wanted wait for, and so on.

    By the files alone. What is done or archived waits for nothing.
    """
    places: dict[str, PlanFile] = {}
    found: dict[str, tuple[str, ...]] = {}
    for shelf, file in _files(workspace, {}):
        found[file.slug] = ()
        if shelf is not Shelf.ARCHIVE:
            places.setdefault(file.slug, file)
        elif match := _ARCHIVED.fullmatch(file.path.rpartition("/")[2]):
            # The second `foo` that was archived on a day may as well be a plan `foo-2`.
            found |= {} if match["number"] is None else {f"{match['slug']}-{match['number']}": ()}
    pending, seen = list(wanted), set(wanted)
    while pending:
        slug = pending.pop()
        plan = read_plan_file(places[slug], files)[0] if slug in places else None
        if plan is not None and not plan.status.is_finished:
            found[slug] = dependencies_of(plan)
            pending += [other for other in found[slug] if other not in seen]
            seen.update(found[slug])
    return found


def _info(lines: Sequence[PlanLine], *, has_journal: bool, warnings: list[str]) -> PlanInfo:
    first, plan, state = lines[0], lines[0].plan, lines[0].state
    slug = first.file.slug
    status: PlanStatus | FileStatus = first.status or PlanStatus.DRAFT
    if first.is_empty:
        status = FileStatus.EMPTY
    started = state.started if state else plan is not None and plan.status not in _BEFORE_START
    if state is None:
        if has_journal and plan is not None and plan.status.is_finished:
            warnings.append(f"`{slug}` is done by its file, and the journal knows nothing of it")
            status = FileStatus.CLAIMED
        elif first.shelf is Shelf.STAGED and not has_journal:
            # The copy that was staged stays behind when the plan is archived.
            archived = next((line for line in lines if line.shelf is Shelf.ARCHIVE), None)
            if archived is not None and not archived.is_empty and archived.status in FINISHED:
                status = archived.status
    return PlanInfo(
        slug=slug,
        status=status,
        started=started or status in FINISHED,
        staged=first.shelf is Shelf.STAGED,
        archived=first.shelf is Shelf.ARCHIVE,
        integrated=state is not None and state.integrated,
        depends_on=dependencies_of(plan) if plan else (),
        touches=_touches(plan) if plan else (),
        scope=_scope(plan),
        last_event=state.last_event.value if state and state.last_event else None,
        last=state.last if state else None,
        waiting=state.waiting if state else None,
        open_questions=state.questions.words if state else (),
        unwritten=_unwritten(plan) if plan else None,
        rejected=_rejected(plan, state),
        problem=first.problem,
    )


def _rejected(plan: Plan | None, state: PlanState | None) -> str | None:
    if plan is None or state is None or state.approval.rejected is None:
        return None
    found = state.approval.rejection(digest(plan))
    return found.words if found is not None else None


def _is_blank(plan: Plan) -> bool:
    return not plan.source.text.removeprefix(BOM).strip()


def _unwritten(plan: Plan) -> str | None:
    """Return why nobody could do a plan yet, as `planbound new` leaves it."""
    if _is_blank(plan):
        return HOLDS_NOTHING
    for step in plan.steps:
        command = step.contract.text if isinstance(step.contract, Judged) else ""
        texts = (step.title, step.task.text if step.task else "", command)
        word = next((word for text in texts if (word := placeholder_in(text))), None)
        if word is not None:
            return f"step {step.label} still says `{word}`"
        if step.is_template:
            return f"step {step.label} is a template, to be written out"
    return None


def dependencies_of(plan: Plan) -> tuple[str, ...]:
    """Return the slugs of the plans that one depends on."""
    found = []
    for item in plan.frontmatter.depends_on:
        try:
            found.append(parse_slug(item.value))
        except SlugError:
            found.append(item.value)
    return tuple(dict.fromkeys(found))


def _touches(plan: Plan) -> tuple[str, ...]:
    """Return all that a plan may change: a step may name more than the plan does."""
    found = [item.value for item in plan.frontmatter.touches]
    for step in plan.steps:
        found += [item.value for item in step.touches or ()]
    return tuple(dict.fromkeys(found))


def _scope(plan: Plan | None) -> ScopeKind:
    if plan is None:
        return ScopeKind.OPEN
    if plan.frontmatter.touches:
        return ScopeKind.DECLARED
    by_steps = plan.steps and all(step.touches is not None for step in plan.steps)
    return ScopeKind.BY_STEPS if by_steps else ScopeKind.OPEN


def _files(
    workspace: Workspace, states: Mapping[str, PlanState]
) -> Iterator[tuple[Shelf, PlanFile]]:
    for shelf in (Shelf.ACTIVE, Shelf.STAGED):
        for file in workspace.plans(shelf):
            yield shelf, file
    names = frozenset(workspace.names(Shelf.ARCHIVE))
    copies = {copy.path for copy in workspace.conflicts()}
    found = []
    for name in names:
        match = _ARCHIVED.fullmatch(name)
        file = workspace.place(Shelf.ARCHIVE, name)
        if match and file.path not in copies:
            slug, number = match["slug"], match["number"]
            first = f"PLAN.archive.{match['date']}-{slug}.md"
            # `foo-2` is a plan of that name, or the second `foo` that was archived on a day.
            if number and (f"{slug}-{number}" in states or first not in names):
                slug, number = f"{slug}-{number}", None
            found.append((match["date"], int(number or 1), file._replace(slug=slug)))
    for _, _, file in sorted(found, reverse=True):
        yield Shelf.ARCHIVE, file


def _may_hold(file: PlanFile, workspace: Workspace) -> bool:
    """Say whether a file may hold a plan; one that cannot be read may."""
    try:
        return workspace.has_content(file)
    except PlanboundError:
        return True


def read_plan_file(file: PlanFile, files: Files) -> tuple[Plan | None, bytes, str | None]:
    """Return a plan with what it was read from, or why it cannot be read."""
    try:
        data = files.read(file.path)
        return parse(data, path=file.shown), data, None
    except PlanboundError as error:
        return None, b"", error.message


def _is_copy_of(copy: ConflictCopy, file: PlanFile, shelf: Shelf) -> bool:
    if copy.path.rsplit("/", 1)[0] != file.path.rsplit("/", 1)[0]:
        return False
    names = {file.path.rsplit("/", 1)[1]}
    if shelf is not Shelf.ARCHIVE:
        names |= {file_name(file.slug), progress_name(file.slug)}
    return copy.original in names


def _bound(workspace: Workspace) -> tuple[str | None, str | None]:
    """Return the worktree's own plan, or why it cannot be told; only named plans are no fault."""
    try:
        if workspace.marker() is None and all(f.slug != UNNAMED for f in workspace.plans()):
            return None, None
        binding = resolve_active_plan(None, workspace)
    except PlanboundError as error:
        return None, error.message
    return (binding.plan.slug, None) if binding else (None, None)


# -- ready: which plans may begin now, and which of them side by side ----------------------------


def ready(seen: PlanOverview, require: Require = Require.CLAIMED) -> Readiness:
    """Return what is ready; the warnings also tell what could not be found out."""
    warnings = list(seen.warnings)
    found = readiness(plan_infos(seen, warnings, require))
    return found._replace(warnings=(*warnings, *found.warnings))


# -- where plans are, for whoever looks at them; who is the first to see one changed says so -----


def look(context: Context, file: PlanFile, data: bytes) -> PlanView:
    """Return where a plan is, by the journal and by what its file means now."""
    journal = context.existing_journal() if context.holds(file.path) else None
    found = look_at(journal, file, data)
    if found.state is None:
        see(context, file, found.plan)
    return notice(context.recorder(), context.files, found) if is_news(found) else found


def show(context: Context, file: PlanFile) -> None:
    """Write where a plan is into its file, after it was decided about."""
    with suppress(PlanboundError):  # the journal has it, and `doctor` says where they disagree
        journal = context.existing_journal()
        show_status(context.files, look_at(journal, file, context.reader.read(file.path)))


def put_all_right(context: Context) -> tuple[list[str], list[str]]:
    """Write the marks of every plan in work as they should be; return what was wrong with them.

    The second list is what could not be written.
    """
    mended, failed = [], []
    look_at_all(context)
    # Read again: to see a plan changed writes its mark.
    for line in overview(context.tree, context.files, context.existing_journal).lines:
        found = line.look
        try:
            wrong = put_right(context.files, found) if found is not None else []
            mended += [f"`{line.file.slug}`: {what}" for what in wrong]
        except PlanboundError as error:
            failed.append(f"`{line.file.slug}`: {error.message}")
    return mended, failed


def look_at_all(context: Context) -> PlanOverview:
    """Return where all plans are."""
    seen = overview(context.tree, context.files, context.existing_journal)
    notice_lines(context, seen.lines)
    return seen


def see(context: Context, file: PlanFile, plan: Plan) -> None:
    """Note a plan that was written by hand, where that can be written: who looks goes on."""
    with suppress(PlanboundError):
        context.see(file, plan, only_look=True)


def notice_lines(context: Context, lines: Iterable[PlanLine]) -> None:
    """Put on record, and into the files, which plans somebody wrote or changed."""
    for line in lines:
        found = line.look
        if line.shelf is Shelf.ACTIVE and line.plan is not None and line.state is None:
            see(context, line.file, line.plan)
        if found is not None and is_news(found):
            notice(context.recorder(), context.files, found)
