"""A run as lines: `[Task N/M] ✓ title: detail`. Made from events, so that anybody can follow."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Self

from planbound.cells.cell import Stage
from planbound.cells.stages import Stages, spoken
from planbound.cli.terminal import Terminal
from planbound.journal.event import (
    AttemptEnded,
    AttemptEnding,
    Attested,
    BudgetRaised,
    ContractEvaluated,
    Event,
    EventKind,
    ExecutionComplete,
    ExecutionStarted,
    FailureDetected,
    LeaseReleased,
    RecoveryApplied,
    RecoveryEscalation,
    Result,
    RunOutcome,
    TaskCompleted,
    TaskFailed,
    TaskSkipped,
    TaskStarted,
    VerdictKind,
    Waived,
    number_of,
)
from planbound.journal.record import Record
from planbound.journal.words import FailureClass, SubjectKind
from planbound.plan.model import Plan
from planbound.source import fitting, visible
from planbound.state.question import SAYS_BLOCKED
from planbound.state.step import held, tally, trouble_words, why_held

# -- A run as lines: `[Task N/M] ✓ title: detail`. Made from events, so that anybody can follow --


_STYLES = {"✓": "green", "=": "green", "✗": "red", "↻": "yellow", "…": "dim"}
_MOST_LINES = 20
"""So many lines are shown of what a condition printed that does not hold."""
_CLASSES = {
    FailureClass.AGENT: "the agent broke down",
    FailureClass.LOGIC: "logic error",
    FailureClass.TRANSIENT: "transient failure",
    FailureClass.INVALID_INPUT: "invalid input",
    FailureClass.HUNG: "ran past its limit",
    FailureClass.OUT_OF_SCOPE: "files out of scope were put back",
}


_UNSEEN = (
    "left out for the contract, because git ignores it: name it in `touches`, or let the contract"
    " make it"
)


class ProgressReport:
    """Turns the events of one plan into lines."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.steps = 0
        self._titles: dict[tuple[SubjectKind | None, str], str] = {}
        self._verdicts: dict[str, ContractEvaluated] = {}
        self._troubles: dict[str, str] = {}
        """By step what was wrong the last time."""
        self._failing: dict[str, tuple[Record, ContractEvaluated]] = {}
        """By step a verdict of its run that is no pass, until it is told what failed."""

    def know(self, plan: Plan) -> None:
        """Take notice of what events do not say: how many steps there are, what is a condition."""
        self.steps = len(plan.steps)
        for kind, conditions in (
            (SubjectKind.PRECONDITION, plan.preconditions),
            (SubjectKind.POSTCONDITION, plan.postconditions),
        ):
            for each in conditions:
                self._titles[kind, str(each.number)] = each.statement

    def lines(self, record: Record) -> Iterator[str]:
        """Yield what is to be said about an event."""
        match record.event:
            case ExecutionStarted(task_count=int(count)):
                self.steps = count
            case ContractEvaluated() as event:
                yield from self._evaluated(record, event)
            case FailureDetected() as event:
                yield from self._detected(record, event)
            case ExecutionComplete() as event:
                yield summary(event, self.steps)
            case AttemptEnded() as event:
                yield from self._ended(record, event)
            case BudgetRaised(by=by):
                yield f"budget raised by {visible(by)}"
            case LeaseReleased() as event:
                yield _released(event)
            case event:
                yield from self._of_step(record, event)

    def _of_step(self, record: Record, event: Event) -> Iterator[str]:
        of_step = record.draft.task_id is not None
        match event:
            case TaskStarted(attempt=attempt, agent=agent):
                by = f", {agent}" if agent else ""
                yield self._line("…", record, f"attempt {attempt}{by}")
            case TaskCompleted(result=result):
                mark = "=" if result is Result.HOLDS else "✓"
                yield self._line(mark, record, self._passed(record, event))
            case Attested(by=by) if of_step:
                yield self._line("✓", record, f"attested by {by}")
            case Waived(by=by, reason=reason) if of_step:
                yield self._line("✓", record, f"waived by {by}: {reason}")
            case TaskFailed(error_message=message):
                yield self._line("✗", record, f"failed: {message}")
            case TaskSkipped(by=by):
                yield self._line("…", record, f"skipped by {by}")
            case RecoveryApplied():
                retry = _retry(event, self._trouble(record), edited=self._edited(record))
                yield self._line("↻", record, retry)
            case RecoveryEscalation(user_decision=None, escalation=key, reason=reason):
                yield self._line("…", record, f"waits for a person, question {key}: {reason}")

    def _ended(self, record: Record, event: AttemptEnded) -> Iterator[str]:
        if event.ending is AttemptEnding.INTERRUPTED:
            yield self._line("…", record, "interrupted")
        if event.mended is not None:
            yield self._line("…", record, f"put back: {', '.join(event.mended)}")

    def _evaluated(self, record: Record, event: ContractEvaluated) -> Iterator[str]:
        verdict, subject = event.verdict, event.subject
        if subject is SubjectKind.STEP:
            if record.draft.task_id is not None:
                self._verdicts[record.draft.task_id] = event
            if event.left_out and verdict is not VerdictKind.PASS:
                names = ", ".join(map(visible, event.left_out))
                yield self._line("…", record, f"{names}: {_UNSEEN}")
            if event.final and verdict is not VerdictKind.PASS:
                yield self._line("✗", record, f"regressed: {event.reason}")
            elif verdict is not VerdictKind.PASS and event.run is not None:
                self._failing[record.draft.task_id or ""] = record, event
            elif verdict is not VerdictKind.PASS:
                yield self._line("✗", record, _verdict(event))
            return
        number = str(event.number)
        mark = "✓" if verdict is VerdictKind.PASS else "✗"
        title = self._titles.get((subject, number))
        found = _verdict(event)
        if event.result is Result.HOLDS:
            found = f"{held(why_held(event.baseline))}, {found}"
        said = f"{title}: {found}" if title else found
        place = f"[{str(subject).capitalize()} {number}]"
        yield self._painted(mark, f"{place} {mark} {visible(_one_line(said))}")
        if verdict is not VerdictKind.PASS:
            lines = (event.output_tail or "").rstrip().splitlines()
            yield from (f"    {visible(line)}" for line in lines[-_MOST_LINES:])

    def _detected(self, record: Record, event: FailureDetected) -> Iterator[str]:
        """Yield what failed: the agent, a time limit, or the contract."""
        task, error = record.draft.task_id or "", event.error_message or ""
        self._troubles[task] = error
        failing = self._failing.pop(task, None)
        if failing is not None:
            judged, verdict = failing
            words = trouble_words(event.failed, error, event.exit_code)
            yield self._line("✗", judged, words or _verdict(verdict, error))

    def _passed(self, record: Record, event: TaskCompleted) -> str:
        verdict = self._verdicts.get(record.draft.task_id or "")
        parts = [held(event.reason)] if event.result is Result.HOLDS else []
        parts += [_verdict(verdict)] if verdict is not None else []
        parts.append(f"attempt {event.attempt}")
        # Proved by what was seen at the gate: that is said, since nobody saw it red since.
        if event.result is Result.PROVED and event.reason:
            parts.append(event.reason)
        return ", ".join(parts)

    def _edited(self, record: Record) -> bool:
        """Say whether judges were edited, and not only found to be fooled."""
        verdict = self._verdicts.get(record.draft.task_id or "")
        return verdict is not None and bool(verdict.tampered)

    def _trouble(self, record: Record) -> str:
        return self._troubles.get(record.draft.task_id or "", "")

    def _line(self, mark: str, record: Record, detail: str) -> str:
        number = number_of(record.event)
        place = f"[Task {number}/{self.steps}]" if number and self.steps else "[Plan]"
        if record.draft.task_id is None:
            place = "[Plan]"
        title = visible(record.draft.task_name or record.draft.plan)
        return self._painted(mark, f"{place} {mark} {title}: {visible(_one_line(detail))}")

    def _painted(self, mark: str, line: str) -> str:
        painted = self.terminal.style(mark, _STYLES[mark])
        return line.replace(mark, painted, 1)


def summary(event: ExecutionComplete, steps: int) -> str:
    """Return the last line of a run."""
    parts = [
        tally(event.completed, steps, event.holds, event.attested or 0),
        f"{event.waived} waived",
    ]
    if event.skipped:
        parts.append(f"{event.skipped} skipped")
    if event.failed:
        parts.append(f"{event.failed} failed")
    if event.conditions:
        parts.append(f"{event.postconditions}/{event.conditions} postconditions")
    recovered = f"{event.recoveries} recover{'y' if event.recoveries == 1 else 'ies'}"
    status = event.status or RunOutcome.FAILED
    end = "" if status is RunOutcome.DONE else f" {status.value.capitalize()}"
    if end and event.reason:
        end += f": {visible(_one_line(event.reason))}"
    return f"{', '.join(parts)}. {recovered}. {_spent(event)}.{end + '.' if end else ''}"


def _spent(event: ExecutionComplete) -> str:
    known = []
    if event.tokens:
        guessed = event.estimated
        how = f" ({guessed:,} of them estimated)" if guessed else ""
        known.append(f"{event.tokens:,} tokens{how}")
    if event.dollars and event.dollars != "0":
        known.append(money(float(event.dollars)))
    if event.unmetered:
        attempts = f"{event.unmetered} attempt{'' if event.unmetered == 1 else 's'}"
        known.append(f"cost unknown for {attempts}")
    return ", ".join([*known, spoken(float(event.duration or 0))])


def _verdict(event: ContractEvaluated, error: str = "") -> str:
    """Return a verdict in words; `error` is what the journal says that was wrong."""
    verdict, code = event.verdict, event.exit_code
    reason = _one_line(event.reason or "")
    took = f", {event.duration:.1f} s" if event.duration is not None else ""
    if verdict is VerdictKind.PASS:
        end = reason if reason and not reason.startswith("exit") else f"exit {code}{took}"
        return f"contract passed ({end})"
    if verdict is VerdictKind.FAIL:
        if reason.startswith(f"exit {code},"):
            return f"contract failed ({reason})"
        said = _complaint(event, reason, error)
        return f"contract failed (exit {code})" + (f": {said}" if said else "")
    if reason.startswith("destructive: "):
        return reason
    return f"{verdict.value}: {reason}"


def _complaint(event: ContractEvaluated, reason: str, error: str) -> str:
    """Return why a contract failed, without the exit code, which is said once.

    `exit 1: 1 failed, 11 passed` says more than the last line of the output; `exit 1`, and what
    the harness adds to it (`exit 1; phantom completion`), says less.
    """
    code = f"exit {event.exit_code}"
    if reason != code and not reason.startswith(f"{code}; "):
        return reason.removeprefix(f"{code}: ")
    if error.startswith(f"{code}: "):
        return error.removeprefix(f"{code}: ")
    added = reason.removeprefix(code).removeprefix("; ")
    return "; ".join(part for part in (_last_line(event), added) if part)


def _last_line(event: ContractEvaluated) -> str:
    lines = (event.output_tail or "").strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def _retry(event: RecoveryApplied, trouble: str, *, edited: bool) -> str:
    kind = event.failure_type
    if event.recipe_name == "resume":
        return "the last attempt was cut off; tried again"
    text = _CLASSES[kind] if kind in _CLASSES else str(kind)
    if kind is FailureClass.TAMPERED:
        text = "judges were edited and put back" if edited else trouble or kind.value
    if trouble.startswith(SAYS_BLOCKED):
        text = trouble
    if event.retry:
        text += f", retry {event.retry} of {event.of}"
    if event.backoff:
        text += f" in {event.backoff:.0f} s"
    return f"{text} with the failure in the prompt" if kind is FailureClass.LOGIC else text


def _released(event: LeaseReleased) -> str:
    holder = visible(event.holder or "whoever had it")
    line = f"taken from {holder} by {visible(event.by)}"
    return f"{line}: {visible(event.reason)}" if event.reason else line


def _one_line(text: str) -> str:
    return " ".join(text.split())


def money(dollars: float) -> str:
    """Return an amount; one that would round to nothing keeps some digits."""
    return f"${dollars:.2f}" if dollars == 0 or dollars >= 0.01 else f"${dollars:.4f}"


# -- lines at the bottom of a terminal that say what is being worked on, and judged --------------


_EVERY, _EVERY_PLAIN = 1.0, 0.25
"""So many seconds lie between two looks; a line that stays is to be said when it is due."""
_ENDS = frozenset(
    {
        EventKind.TASK_COMPLETED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.RECOVERY_APPLIED,
        EventKind.RECOVERY_ESCALATION,
    }
)


class LiveLine:
    """Written over and over on standard error; gone when there is something to say.

    What is judged beside each other has a line each.

    Elsewhere than on a terminal only what is judged for long is said, in plain lines.
    """

    def __init__(self, *, enabled: bool, plain: bool = False) -> None:
        self.enabled = enabled
        self.plain = plain and not enabled
        self._working: dict[str, tuple[str, float]] = {}
        self._notes: dict[str, str] = {}
        self._stages = Stages()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._shown = 0
        """How many lines are shown."""
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self.enabled:
            self._begin()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join(timeout=2)
        self.clear()

    def _begin(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._tick, name="live", daemon=True)
            self._thread.start()

    def saw(self, record: Record) -> None:
        """Take notice of what begins and ends."""
        draft = record.draft
        with self._lock:
            if draft.kind is EventKind.TASK_STARTED and draft.task_id is not None:
                self._working[draft.task_id] = (visible(draft.task_name or ""), time.monotonic())
            elif draft.kind in _ENDS:
                self._working.pop(draft.task_id or "", None)
                self._notes.pop(draft.task_id or "", None)

    def note(self, step: str, text: str) -> None:
        """Take notice of what the agent of a step does now."""
        with self._lock:
            self._notes[step] = visible(" ".join(text.split()))

    def judging(self, stage: Stage | None) -> None:
        """Take notice of what is judged now in this thread, or for one that is known already."""
        if not self.enabled and not self.plain:
            return
        self._stages.notice(stage)
        with self._lock:
            if stage is not None:
                self._begin()
            elif not self._working:
                self._clear()

    def clear(self) -> None:
        """Make room for a line that stays."""
        with self._lock:
            self._clear()

    def _clear(self) -> None:
        if self._shown:
            sys.stderr.write(_wiped(self._shown))
            sys.stderr.flush()
            self._shown = 0

    def _tick(self) -> None:
        while not self._over.wait(_EVERY_PLAIN if self.plain else _EVERY):
            with self._lock:
                if self.plain:
                    self._say_plainly()
                else:
                    self._show(time.monotonic())

    def _show(self, now: float) -> None:
        parts = []
        if self._working:
            listed = [
                f"{title} ({spoken(now - at)}){self._note(step)}"
                for step, (title, at) in self._working.items()
            ]
            parts.append(f"at work: {', '.join(listed)}")
        parts.extend(self._stages.lines())
        if not parts:
            self._clear()
            return
        columns, rows = _size()
        # What scrolled out of sight could not be written over.
        lines = [fitting(f"  {part}", columns - 1) for part in parts[: max(1, rows // 2)]]
        sys.stderr.write(_wiped(self._shown) + "\n".join(lines))
        sys.stderr.flush()
        self._shown = len(lines)

    def _say_plainly(self) -> None:
        for line in self._stages.due():
            sys.stderr.write(line + "\n")
            sys.stderr.flush()

    def _note(self, step: str) -> str:
        note = self._notes.get(step)
        return f": {note}" if note else ""


def live_line(*, quiet: bool = False) -> LiveLine:
    """Return what says which contract is judged, for as long as this process lives."""
    is_terminal = sys.stderr.isatty()
    return LiveLine(enabled=is_terminal and not quiet, plain=not quiet)


@contextmanager
def waiting(doing: str, what: str, *, quiet: bool = False) -> Iterator[None]:
    """Say on a terminal what takes longer than a second."""
    with LiveLine(enabled=sys.stderr.isatty() and not quiet) as live:
        live.judging(Stage(0, 0, what, doing=doing))
        yield


def _wiped(lines: int) -> str:
    """Return what takes so many lines away, and stands where the first one began."""
    return "\r\x1b[K" + "\x1b[A\x1b[K" * (lines - 1)


def _size() -> os.terminal_size:
    usual = os.terminal_size((80, 24))
    try:
        found = os.get_terminal_size(sys.stderr.fileno())
    except OSError:
        return usual
    return found if all(found) else usual
