"""The events of a run, as drafts that are appended together."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.engine.judging.outcome import Outcome
from planbound.engine.judging.verdict import Verdict
from planbound.engine.recovery.classified import Classified
from planbound.engine.run.layout import Slot
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.ports.agent import Worked
from planbound.usecases.record import Recorder
from planbound.usecases.verdict_events import verdict_draft

_TAIL = 4000
_NAMES = 200
_PLAN = 50
_ERROR = 500


class Notes:
    """Makes the drafts of one run."""

    def __init__(self, recorder: Recorder, slug: str, run: str) -> None:
        self.recorder = recorder
        self.slug = slug
        self.run = run
        self._count = 0

    def about(self, kind: EventKind, slot: Slot | None, details: dict[str, Json]) -> Draft:
        """Return an event about a step, or about the plan."""
        details["run"] = self.run
        task = None
        if slot is not None:
            details["number"] = slot.label
            task = (slot.id, slot.title)
        return self.recorder.draft(kind, self.slug, details, key=self._key(), task=task)

    def _key(self) -> str:
        # The time alone is not enough: several events may be made within a microsecond.
        self._count += 1
        return f"{self.run} {self.recorder.now()} {self._count}"

    def verdict(
        self, kind: EventKind, verdict: Verdict, slot: Slot | None, extra: dict[str, Json]
    ) -> Draft:
        """Return a verdict with its evidence."""
        if slot is not None:
            verdict = verdict._replace(id=slot.id)
        return verdict_draft(self.recorder, kind, self.slug, verdict, {**extra, "run": self.run})

    def ended(self, slot: Slot, attempt: int, worked: Worked, extra: dict[str, Json]) -> Draft:
        """Return how the agent's part of an attempt ended."""
        outcome, usage = worked.outcome, worked.usage
        details: dict[str, Json] = {
            "attempt": attempt,
            "ending": outcome.ending.value,
            "exit_code": outcome.exit_code,
            "duration": round(outcome.duration, 3),
            "tokens": usage.tokens,
            "dollars": None if usage.dollars is None else str(usage.dollars),
            "output_digest": f"{outcome.stdout.sha256} {outcome.stderr.sha256}",
            "output_tail": self.said(worked),
            **extra,
        }
        if usage.estimated:
            details["estimated"] = usage.estimated
        if worked.told is not None:
            details["prompt"] = worked.told
        if worked.plan:
            details["agent_plan"] = list(worked.plan[:_PLAN])
        if worked.error:
            details["error"] = worked.error[:_ERROR]
        if outcome.leftovers:
            details["leftovers"] = outcome.leftovers
        if outcome.reason:
            details["reason"] = outcome.reason
        if worked.session:
            details["session"] = worked.session
        return self.about(EventKind.ATTEMPT_ENDED, slot, details)

    def said(self, worked: Worked) -> str:
        """Return the end of what an agent said, without its secrets."""
        if worked.said is None:
            return self.tail(worked.outcome)
        return self._end(f"{worked.said}\n{worked.outcome.stderr.text()}".strip())

    def tail(self, outcome: Outcome) -> str:
        """Return the end of what was printed, without its secrets."""
        return self._end(outcome.stdout.text() + outcome.stderr.text())

    def _end(self, text: str) -> str:
        # Before it is cut: half a secret would not be recognised.
        return self.recorder.redactor.redact(text).text[-_TAIL:] if text else ""

    def failure(
        self, slot: Slot | None, attempt: int, found: Classified, details: dict[str, Json]
    ) -> list[Draft]:
        """Return that something went wrong, and its type."""
        return [
            self.about(EventKind.FAILURE_DETECTED, slot, {**details, "attempt": attempt}),
            self.classified(slot, attempt, found),
        ]

    def classified(self, slot: Slot | None, attempt: int, found: Classified) -> Draft:
        """Return the type of a failure."""
        details: dict[str, Json] = {
            "attempt": attempt,
            "failure_type": found.kind.value,
            "rule": found.rule,
        }
        return self.about(EventKind.FAILURE_CLASSIFIED, slot, details)


def names(paths: Sequence[str]) -> list[Json]:
    """Return names for an event, not too many of them."""
    return list(paths[:_NAMES])
