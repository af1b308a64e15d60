"""A run as lines: `[Task N/M] ✓ title: detail`. Made from events, so that anybody can follow."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planbound.cli.terminal import Terminal
from planbound.engine.blocked import SAYS_BLOCKED
from planbound.engine.judging.proof import held, tally, why_held
from planbound.engine.recovery.failure import trouble_words
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Record
from planbound.plan.model import Plan
from planbound.source.visible import visible

_STYLES = {"✓": "green", "=": "green", "✗": "red", "↻": "yellow", "…": "dim"}
_MOST_LINES = 20
"""So many lines are shown of what a condition printed that does not hold."""
_CLASSES = {
    "agent": "the agent broke down",
    "logic": "logic error",
    "transient": "transient failure",
    "invalid-input": "invalid input",
    "hung": "ran past its limit",
    "tampered": "judges were edited and put back",
    "out-of-scope": "files out of scope were put back",
}


class ProgressReport:
    """Turns the events of one plan into lines."""

    def __init__(self, terminal: Terminal) -> None:
        self.terminal = terminal
        self.steps = 0
        self._titles: dict[tuple[str, str], str] = {}
        self._verdicts: dict[str, Mapping[str, Json]] = {}
        self._troubles: dict[str, str] = {}
        """By step what was wrong the last time."""
        self._failing: dict[str, Record] = {}
        """By step a verdict of its run that is no pass, until it is told what failed."""

    def know(self, plan: Plan) -> None:
        """Take notice of what events do not say: how many steps there are, what is a condition."""
        self.steps = len(plan.steps)
        for kind, conditions in (
            ("precondition", plan.preconditions),
            ("postcondition", plan.postconditions),
        ):
            for each in conditions:
                self._titles[kind, str(each.number)] = each.statement

    def lines(self, record: Record) -> Iterator[str]:
        """Yield what is to be said about an event."""
        kind, details = record.draft.event, record.draft.details
        count = details.get("task_count")
        if kind is EventKind.EXECUTION_STARTED and isinstance(count, int):
            self.steps = count
        elif kind is EventKind.CONTRACT_EVALUATED:
            yield from self._evaluated(record)
        elif kind is EventKind.FAILURE_DETECTED:
            yield from self._detected(record)
        elif kind is EventKind.EXECUTION_COMPLETE:
            yield summary(details, self.steps)
        else:
            yield from self._other(record)

    def _other(self, record: Record) -> Iterator[str]:
        kind, details = record.draft.event, record.draft.details
        if kind is EventKind.TASK_STARTED:
            agent = details.get("agent")
            by = f", {agent}" if agent else ""
            yield self._line("…", record, f"attempt {details.get('attempt')}{by}")
        elif kind is EventKind.TASK_COMPLETED:
            mark = "=" if details.get("result") == "holds" else "✓"
            yield self._line(mark, record, self._passed(record))
        elif kind is EventKind.ATTESTED and record.draft.task_id is not None:
            yield self._line("✓", record, f"attested by {details.get('by')}")
        elif kind is EventKind.WAIVED and record.draft.task_id is not None:
            yield self._line("✓", record, f"waived by {details.get('by')}: {details.get('reason')}")
        elif kind is EventKind.TASK_FAILED:
            yield self._line("✗", record, f"failed: {details.get('error_message')}")
        elif kind is EventKind.TASK_SKIPPED:
            yield self._line("…", record, f"skipped by {details.get('by')}")
        elif kind is EventKind.RECOVERY_APPLIED:
            yield self._line("↻", record, _retry(details, self._trouble(record)))
        elif kind is EventKind.ATTEMPT_ENDED:
            yield from self._ended(record)
        elif kind is EventKind.RECOVERY_ESCALATION and details.get("user_decision") is None:
            asked = f"question {details.get('escalation')}"
            yield self._line("…", record, f"waits for a person, {asked}: {details.get('reason')}")
        elif kind is EventKind.BUDGET_RAISED:
            yield f"budget raised by {visible(str(details.get('by')))}"
        elif kind is EventKind.LEASE_RELEASED:
            yield _released(details)

    def _ended(self, record: Record) -> Iterator[str]:
        details = record.draft.details
        mended = details.get("mended")
        if details.get("ending") == "interrupted":
            yield self._line("…", record, "interrupted")
        if isinstance(mended, list):
            yield self._line("…", record, f"put back: {', '.join(map(str, mended))}")

    def _evaluated(self, record: Record) -> Iterator[str]:
        details = record.draft.details
        verdict = details.get("verdict")
        subject = str(details.get("subject"))
        if subject == "step":
            if record.draft.task_id is not None:
                self._verdicts[record.draft.task_id] = details
            if details.get("final") and verdict != "pass":
                yield self._line("✗", record, f"regressed: {details.get('reason')}")
            elif verdict != "pass" and details.get("run") is not None:
                self._failing[record.draft.task_id or ""] = record
            elif verdict != "pass":
                yield self._line("✗", record, _verdict(details))
            return
        number = str(details.get("number"))
        mark = "✓" if verdict == "pass" else "✗"
        title = self._titles.get((subject, number))
        found = _verdict(details)
        if details.get("result") == "holds":
            found = f"{held(why_held(details.get('baseline')))}, {found}"
        said = f"{title}: {found}" if title else found
        place = f"[{subject.capitalize()} {number}]"
        yield self._painted(mark, f"{place} {mark} {visible(_one_line(said))}")
        if verdict != "pass":
            lines = str(details.get("output_tail") or "").rstrip().splitlines()
            yield from (f"    {visible(line)}" for line in lines[-_MOST_LINES:])

    def _detected(self, record: Record) -> Iterator[str]:
        """Yield what failed: the agent, a time limit, or the contract."""
        details, task = record.draft.details, record.draft.task_id or ""
        error = str(details.get("error_message") or "")
        self._troubles[task] = error
        judged = self._failing.pop(task, None)
        if judged is not None:
            words = trouble_words(details.get("failed"), error, details.get("exit_code"))
            yield self._line("✗", judged, words or _verdict(judged.draft.details, error))

    def _passed(self, record: Record) -> str:
        said = record.draft.details
        details = self._verdicts.get(record.draft.task_id or "", {})
        parts = [held(said.get("reason"))] if said.get("result") == "holds" else []
        parts += [_verdict(details)] if details else []
        parts.append(f"attempt {said.get('attempt')}")
        # Proved by what was seen at the gate: that is said, since nobody saw it red since.
        if said.get("result") == "proved" and said.get("reason"):
            parts.append(str(said.get("reason")))
        return ", ".join(parts)

    def _trouble(self, record: Record) -> str:
        return self._troubles.get(record.draft.task_id or "", "")

    def _line(self, mark: str, record: Record, detail: str) -> str:
        number = record.draft.details.get("number")
        place = f"[Task {number}/{self.steps}]" if number and self.steps else "[Plan]"
        if record.draft.task_id is None:
            place = "[Plan]"
        title = visible(record.draft.task_name or record.draft.plan)
        return self._painted(mark, f"{place} {mark} {title}: {visible(_one_line(detail))}")

    def _painted(self, mark: str, line: str) -> str:
        painted = self.terminal.style(mark, _STYLES[mark])
        return line.replace(mark, painted, 1)


def summary(details: Mapping[str, Json], steps: int) -> str:
    """Return the last line of a run."""
    parts = [
        tally(details.get("completed"), steps, details.get("holds"), details.get("attested") or 0),
        f"{details.get('waived')} waived",
    ]
    if details.get("skipped"):
        parts.append(f"{details.get('skipped')} skipped")
    if details.get("failed"):
        parts.append(f"{details.get('failed')} failed")
    if details.get("conditions"):
        parts.append(f"{details.get('postconditions')}/{details.get('conditions')} postconditions")
    recoveries = details.get("recoveries")
    recovered = f"{recoveries} recover{'y' if recoveries == 1 else 'ies'}"
    status = details.get("status")
    end = "" if status == "done" else f" {str(status).capitalize()}"
    if end and details.get("reason"):
        end += f": {visible(_one_line(str(details.get('reason'))))}"
    return f"{', '.join(parts)}. {recovered}. {_spent(details)}.{end + '.' if end else ''}"


def _spent(details: Mapping[str, Json]) -> str:
    tokens, dollars, unmetered = (details.get(key) for key in ("tokens", "dollars", "unmetered"))
    duration = details.get("duration")
    took = spoken(float(duration) if isinstance(duration, int | float) else 0.0)
    known = []
    if isinstance(tokens, int) and tokens:
        guessed = details.get("estimated")
        how = f" ({guessed:,} of them estimated)" if isinstance(guessed, int) and guessed else ""
        known.append(f"{tokens:,} tokens{how}")
    if isinstance(dollars, str) and dollars not in {"0", ""}:
        known.append(money(float(dollars)))
    if isinstance(unmetered, int) and unmetered:
        attempts = f"{unmetered} attempt{'' if unmetered == 1 else 's'}"
        known.append(f"cost unknown for {attempts}")
    return ", ".join([*known, took])


def spoken(seconds: float) -> str:
    """Return a duration as people say it: `6 min 12 s`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if hours else f"{minutes} min {rest} s"


def _verdict(details: Mapping[str, Json], error: str = "") -> str:
    """Return a verdict in words; `error` is what the journal says that was wrong."""
    verdict, code = details.get("verdict"), details.get("exit_code")
    duration, reason = details.get("duration"), _one_line(str(details.get("reason") or ""))
    took = f", {duration:.1f} s" if isinstance(duration, int | float) else ""
    if verdict == "pass":
        end = reason if reason and not reason.startswith("exit") else f"exit {code}{took}"
        return f"contract passed ({end})"
    if verdict == "fail":
        if reason.startswith(f"exit {code},"):
            return f"contract failed ({reason})"
        said = _complaint(details, reason, error)
        return f"contract failed (exit {code})" + (f": {said}" if said else "")
    if reason.startswith("destructive: "):
        return reason
    return f"{verdict}: {reason}"


def _complaint(details: Mapping[str, Json], reason: str, error: str) -> str:
    """Return why a contract failed, without the exit code, which is said once.

    `exit 1: 1 failed, 11 passed` says more than the last line of the output; `exit 1`, and what
    the harness adds to it (`exit 1; phantom completion`), says less.
    """
    code = f"exit {details.get('exit_code')}"
    if reason != code and not reason.startswith(f"{code}; "):
        return reason.removeprefix(f"{code}: ")
    if error.startswith(f"{code}: "):
        return error.removeprefix(f"{code}: ")
    added = reason.removeprefix(code).removeprefix("; ")
    return "; ".join(part for part in (_last_line(details), added) if part)


def _last_line(details: Mapping[str, Json]) -> str:
    lines = str(details.get("output_tail") or "").strip().splitlines()
    return lines[-1].strip()[:200] if lines else ""


def _retry(details: Mapping[str, Json], trouble: str) -> str:
    kind = str(details.get("failure_type"))
    if details.get("recipe_name") == "resume":
        return "the last attempt was cut off; tried again"
    text = _CLASSES.get(kind, kind)
    if trouble.startswith(SAYS_BLOCKED):
        text = trouble
    if details.get("retry"):
        text += f", retry {details.get('retry')} of {details.get('of')}"
    if details.get("backoff"):
        text += f" in {details['backoff']:.0f} s"
    return f"{text} with the failure in the prompt" if kind == "logic" else text


def _released(details: Mapping[str, Json]) -> str:
    holder = visible(str(details.get("holder") or "whoever had it"))
    line = f"taken from {holder} by {visible(str(details.get('by')))}"
    reason = details.get("reason")
    return f"{line}: {visible(str(reason))}" if reason else line


def _one_line(text: str) -> str:
    return " ".join(text.split())


def money(dollars: float) -> str:
    """Return an amount; one that would round to nothing keeps some digits."""
    return f"${dollars:.2f}" if dollars == 0 or dollars >= 0.01 else f"${dollars:.4f}"
