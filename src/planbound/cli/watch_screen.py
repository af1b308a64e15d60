"""What `planbound watch` shows: lines for a terminal of any size, from values alone."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from planbound.journal.event import ContractEvaluated, VerdictKind, number_of, subject_of
from planbound.journal.record import Record
from planbound.journal.words import QuestionKind, SubjectKind
from planbound.source import columns_of, fitting, visible
from planbound.state.question import Question
from planbound.team.lanes import Lane, LanePlan

Paint = Callable[[str, str], str]
"""Returns a text in a style, such as `green`."""

NARROWEST, LOWEST = 20, 5
_NARROW = 60
_BAR = 8
_STYLES = {
    Lane.RUNNING: "cyan",
    Lane.WAITING: "yellow",
    Lane.READY: "blue",
    Lane.HELD: "dim",
    Lane.DONE: "green",
    Lane.MERGED: "green",
}
_ORDER = (Lane.RUNNING, Lane.WAITING, Lane.HELD, Lane.READY, Lane.DONE, Lane.MERGED)
_MOST_VERDICTS = 50
_PART = 4
KEYS = (
    "n next that waits · e its evidence · q quit",
    "n next  e evidence  q quit",
    "n, e, q",
)


class Watched(NamedTuple):
    """All that is shown, at one moment."""

    title: str
    """Of the workspace, or of the plan that is watched."""
    now: str
    """UTC, as the journal writes it."""
    plans: Sequence[LanePlan]
    waiting: Sequence[Question]
    """The oldest first."""
    verdicts: Sequence[Record]
    """The newest first."""
    steps: Sequence[str] | None = None
    """Where each step is, of one plan that is watched; None: all plans are."""
    warnings: Sequence[str] = ()
    chosen: str | None = None
    """The id of the question that is chosen."""


def frame(seen: Watched, width: int, height: int, paint: Paint) -> list[str]:
    """Return the screen: never more lines than the terminal has, none wider than it."""
    width, height = max(width, NARROWEST), max(height, LOWEST)
    head = _head(seen, width, paint)
    room = height - len(head) - 1
    # Where there is little room some parts are left out: a title alone says nothing.
    parts = _shared(_parts(seen, width, paint)[: max(1, room // _PART)], room)
    body = [line for part in parts for line in part][:room]
    body += [""] * (room - len(body))
    keys = next((each for each in KEYS if columns_of(each) <= width), KEYS[-1])
    return [*head, *body, paint(keys, "dim")]


def plain_lines(seen: Watched, paint: Paint, width: int = 120) -> Iterator[str]:
    """Yield all of it once, for where nothing can be drawn."""
    yield from _head(seen, width, paint)
    for part in _parts(seen, width, paint):
        yield from part


def cut(text: str, width: int) -> str:
    """Return a line that fits, with a mark where something is left out."""
    return text if columns_of(text) <= width else f"{fitting(text, width - 1)}…"


def _padded(text: str, width: int) -> str:
    shown = cut(text, width)
    return shown + " " * (width - columns_of(shown))


def _head(seen: Watched, width: int, paint: Paint) -> list[str]:
    lanes = Counter(plan.lane for plan in seen.plans)
    counts = [f"{lanes[Lane.RUNNING]} running", f"{len(seen.waiting)} waiting"]
    clock = seen.now[11:19]
    right = f"{', '.join(counts)}  {clock}Z" if width >= _NARROW else f"{clock}Z"
    left = cut(visible(seen.title), max(1, width - columns_of(right) - 2))
    gap = " " * max(1, width - columns_of(left) - columns_of(right))
    return [paint(left, "bold") + gap + paint(right, "dim")]


# -- the parts of the screen ---------------------------------------------------------------------


def _parts(seen: Watched, width: int, paint: Paint) -> list[list[str]]:
    """Return what there is to show, each with its title and the most important line first."""
    parts = []
    if seen.steps is not None:
        parts.append(["", *(cut(visible(line), width) for line in seen.steps)])
    else:
        parts.append(["", paint("plans", "bold"), *_plans(seen, width, paint)])
    title = f"waits for a person ({len(seen.waiting)})"
    parts.append(["", paint(cut(title, width), "bold"), *_questions(seen, width, paint)])
    verdicts = [_verdict(each, seen, width, paint) for each in seen.verdicts[:_MOST_VERDICTS]]
    nothing = [paint("  nothing was judged yet", "dim")]
    parts.append(["", paint("last verdicts", "bold"), *(verdicts or nothing)])
    if seen.warnings:
        parts.append(["", *(cut(f"warning: {visible(each)}", width) for each in seen.warnings)])
    return parts


def _shared(parts: list[list[str]], room: int) -> list[list[str]]:
    """Return the parts, each as long as there is room for it; none takes all of it from others."""
    given = [0] * len(parts)
    left = room
    while left > 0 and any(len(part) > count for part, count in zip(parts, given, strict=True)):
        for at, part in enumerate(parts):
            if left > 0 and given[at] < len(part):
                given[at] += 1
                left -= 1
    shown = []
    for part, count in zip(parts, given, strict=True):
        if count < len(part) and count > 2:
            part = [*part[: count - 1], f"  … and {len(part) - count + 1} more"]  # noqa: PLW2901
        shown.append(part[:count] if count > 2 else [])
    return shown


def _plans(seen: Watched, width: int, paint: Paint) -> list[str]:
    if not seen.plans:
        return [paint(cut("  no plan is here: `planbound new NAME` writes one", width), "dim")]
    ordered = sorted(seen.plans, key=lambda plan: (_ORDER.index(plan.lane), plan.slug))
    name = min(max(columns_of(visible(plan.slug)) for plan in ordered), max(8, width // 4))
    lane = max(len(plan.lane.value) for plan in ordered)
    return [_plan(plan, (name, lane), width, paint) for plan in ordered]


def _plan(plan: LanePlan, sizes: tuple[int, int], width: int, paint: Paint) -> str:
    name = f"  {_padded(visible(plan.slug), sizes[0])}  "
    if width < _NARROW:
        line = f"{name}{plan.lane.value}  {_short_count(plan)}".rstrip()
        end = columns_of(name) + len(plan.lane.value)
    else:
        lane = f"{plan.lane.value:{sizes[1]}}"
        line = f"{name}{lane}  {_bar(plan)}  {_about(plan)}".rstrip()
        end = columns_of(name) + len(plan.lane.value)
    line = cut(line, width)
    at = len(name)
    # Painted when it is cut: what styles a text takes no room.
    stop = at + max(0, end - columns_of(name))
    return line[:at] + paint(line[at:stop], _STYLES[plan.lane]) + line[stop:]


def _bar(plan: LanePlan) -> str:
    if not plan.steps:
        return f"{' ' * _BAR}  "
    full = round(_BAR * min(1.0, plan.settled / plan.steps))
    return f"{'█' * full}{'░' * (_BAR - full)}  {plan.tally}"


def _short_count(plan: LanePlan) -> str:
    return f"{plan.settled}/{plan.steps}" if plan.steps else ""


def _about(plan: LanePlan) -> str:
    """Return what is done for a plan, by whom, or why nothing is."""
    said = [*plan.at_work, *([plan.about] if plan.about else [])]
    if plan.holder is not None:
        said.append(plan.holder)
    return visible(" · ".join(" ".join(each.split()) for each in said))


def _questions(seen: Watched, width: int, paint: Paint) -> list[str]:
    if not seen.waiting:
        return [paint("  nothing waits", "dim")]
    found: list[str] = []
    ordered = sorted(seen.waiting, key=lambda each: each.id != seen.chosen)
    chosen = next((each for each in seen.waiting if each.id == seen.chosen), None)
    # From the chosen one on, so that it is seen however many there are.
    if chosen is not None:
        at = list(seen.waiting).index(chosen)
        ordered = [*seen.waiting[at:], *seen.waiting[:at]]
    for question in ordered:
        found += _question(question, seen, width, paint)
    return found


def _question(question: Question, seen: Watched, width: int, paint: Paint) -> Iterator[str]:
    is_chosen = question.id == seen.chosen
    mark = ">" if is_chosen else " "
    place = f"step {question.number} of " if question.task_id is not None else ""
    since = age(question.since, seen.now)
    text = f"{place}{question.plan}: {question.reason}"
    line = cut(f"{mark} {question.id}  {visible(' '.join(text.split()))}", width)
    yield paint(line, "yellow") if is_chosen else line
    if is_chosen:
        how = f"    {question.kind.value}, since {since}: {way_to_answer(question)}"
        yield paint(cut(how, width), "dim")


def way_to_answer(question: Question) -> str:
    """Return the shortest command that answers a question."""
    if question.kind is QuestionKind.APPROVAL:
        return f"`planbound gate {shlex.quote(visible(question.plan))}`"
    return f"`planbound inbox --next {question.id}`"


def age(then: str, now: str) -> str:
    """Return how long ago something was: `40 s`, `12 min`, `3 h`, `2 d`."""
    seconds = (datetime.fromisoformat(now) - datetime.fromisoformat(then)).total_seconds()
    for size, unit in ((86_400, "d"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{max(0, int(seconds))} s"


def _verdict(record: Record, seen: Watched, width: int, paint: Paint) -> str:
    event = record.event
    if not isinstance(event, ContractEvaluated):
        return ""
    subject = subject_of(event)
    about = f"{number_of(event)}. {record.draft.task_name or ''}".strip()
    if subject is not None and subject is not SubjectKind.STEP:
        about = f"{subject.value} {number_of(event)}"
    ago = f"{age(record.draft.timestamp, seen.now):>6}"
    word = event.verdict.value
    plan = "" if seen.steps is not None else f"{visible(record.draft.plan)}  "
    reason = event.reason or (f"exit {event.exit_code}" if event.exit_code is not None else "")
    start = f"  {ago}  "
    rest = visible(" ".join(f"{plan}{about}: {reason}".split()))
    line = cut(f"{start}{word:<9}  {rest}", width)
    style = "green" if event.verdict is VerdictKind.PASS else "red"
    at, end = len(start), len(start) + len(word)
    return line[:at] + paint(line[at:end], style) + line[end:]
