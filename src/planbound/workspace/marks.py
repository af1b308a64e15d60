"""The status in a plan's file, for people and `grep`: it follows the journal, never leads it."""

from collections.abc import Iterator
from contextlib import suppress
from typing import NamedTuple

from planbound.disk.files import Files, PlanFile
from planbound.errors import PlanboundError
from planbound.journal.event import PlanEdited
from planbound.journal.record import Journal
from planbound.journal.words import StatusThen
from planbound.plan.digest import digest
from planbound.plan.edit import mark_progress, set_plan_status
from planbound.plan.model import Plan, PlanStatus, Step, StepStatus
from planbound.plan.parse import parse, write
from planbound.state.append import Recorder
from planbound.state.plan import PlanState, plan_state, plan_status


class PlanView(NamedTuple):
    """A plan's file, and what the journal knows of it."""

    file: PlanFile
    data: bytes
    plan: Plan
    state: PlanState | None
    status: PlanStatus
    """Where the plan is, in the word that every view has for it."""


def look_at(
    journal: Journal | None, file: PlanFile, data: bytes, plan: Plan | None = None
) -> PlanView:
    """Return where a plan is; without a journal what its file says is all that there is.

    `plan` is what the data say, where that was read already.
    """
    plan = plan or parse(data, path=file.shown)
    if journal is None:
        return PlanView(file, data, plan, None, plan.status)
    state = plan_state(journal, file.slug)
    return PlanView(file, data, plan, state, plan_status(state, digest(plan)))


def is_news(look: PlanView) -> bool:
    """Say whether somebody changed a plan, or undid that, and its file does not show it yet."""
    state, found = look.state, digest(look.plan)
    if state is None or state.digest is None or state.archived:
        return False
    if found == state.digest:
        return state.approval.edited and look.plan.status is not look.status
    # What an agent made by the tools is its own until other hands are seen on it.
    return state.looped or look.status is not state.status


def notice(recorder: Recorder, files: Files, look: PlanView) -> PlanView:
    """Put on record, and into the file, that somebody changed a plan, or undid that.

    It is for whoever looks first. Where nothing can be written, nothing is: every view tells it
    all the same, by what the file means now.
    """
    with suppress(PlanboundError):
        _record(recorder, look)
        return look._replace(data=show_status(files, look))
    return look


def _record(recorder: Recorder, look: PlanView) -> None:
    state, found = look.state, digest(look.plan)
    if state is None or state.digest is None or state.digest == found:
        return
    event = PlanEdited(from_=state.digest, to=found, status=StatusThen(look.status.value))
    # Two who see the same change at once put it on record once.
    key = f"{state.digest} {found} {state.approval.seen}"
    recorder.record(event, look.file.slug, key=key)


def show_status(files: Files, look: PlanView) -> bytes:
    """Write where a plan is into its file as it was read; return what is in it then."""
    if look.plan.status is look.status:
        return look.data
    data = write(set_plan_status(look.plan, look.status))
    files.replace(look.file.path, data, expected=look.data)
    return data


def wrong_marks(look: PlanView) -> Iterator[str]:
    """Say where the marks in a file are not what the journal knows."""
    mark = look.plan.status
    if mark is not look.status:
        if look.state is None:
            yield f"the file says `{mark.value}`, the journal knows nothing of the plan"
        else:
            yield f"the file says `{mark.value}`, and its status is `{look.status.value}`"
    for step, known in zip(look.plan.steps, _steps(look), strict=True):
        shown = step.status.value if step.status else StepStatus.PENDING
        if shown is not known:
            label = step.label or step.title
            yield f"step {label} is `{shown.value}` in the file, `{known.value}` in the journal"


def put_right(files: Files, look: PlanView) -> list[str]:
    """Write the marks as they should be; return what was wrong with them."""
    wrong = list(wrong_marks(look))
    if wrong:
        data = mark_progress(look.plan, look.status, _steps(look)).to_bytes()
        files.replace(look.file.path, data, expected=look.data)
    return wrong


def _steps(look: PlanView) -> list[StepStatus]:
    """Return how each step is to be marked."""
    return [_step(step, look.state) for step in look.plan.steps]


def _step(step: Step, state: PlanState | None) -> StepStatus:
    shown = step.status.value if step.status else StepStatus.PENDING
    if state is not None and state.looped:
        return shown  # the plan tools mark what they know of it
    found = state.steps.get(step.id) if state else None
    known = found.status.in_file if found else StepStatus.PENDING
    # Blocked is also a step that waits for others: no event says it.
    return shown if shown is StepStatus.BLOCKED and known in _WAITING else known


_WAITING = frozenset({StepStatus.PENDING, StepStatus.IN_PROGRESS})
