"""One plan on its way into the branch: merged beside everything, judged, then moved."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.engine.team.integration import (
    Landed,
    Result,
    StopKind,
    Stopped,
    conflict_reason,
    kind_of,
    merge_subject,
)
from planbound.engine.team.state import Integration
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.usecases.team.commit import trailers
from planbound.usecases.team.judge_merge import Demand, Judged, charges, describe, judge_merge
from planbound.usecases.team.landing import Landing

_TAIL = 4000


class Attempt:
    """One plan on its way into the branch."""

    def __init__(
        self,
        landing: Landing,
        own: Demand,
        others: Sequence[Demand],
        tip: str,
        digest: str | None,
    ) -> None:
        self.landing = landing
        self.desk = landing.desk
        self.repository = landing.desk.commits.repository
        self.plan = own.plan
        self.tip = tip
        self.wanted = charges(own, others)
        subject = merge_subject(own.plan, own.objective)
        self.message = f"{subject}\n\n{trailers(own.plan, digest)}\n"

    def on(self, target: str) -> Result | None:
        """Merge with what the branch leads to; None where it moved, or everything was stopped."""
        landing = self.landing
        place: dict[str, Json] = {"into": landing.into, "target": target, "tip": self.tip}
        landing.record(EventKind.INTEGRATION_STARTED, self.plan, place)
        merged = self.repository.merge(self.desk.scratch.show(target), target, self.tip)
        if merged.conflicts:
            reason = conflict_reason(landing.into, merged.conflicts)
            return landing.stop(
                Stopped(
                    *(self.plan, StopKind.CONFLICT, reason, target, self.tip),
                    files=merged.conflicts,
                    output=merged.said[-_TAIL:],
                    tree=merged.tree,
                )
            )
        author = self.desk.commits.rules.author
        commit = self.repository.commit(merged.tree, [target, self.tip], self.message, author)
        self.desk.scratch.show(commit)
        control = self.desk.control
        judged = judge_merge(
            self.desk.scratch.bench(), self.wanted, lambda: control.reason is not None
        )
        if judged is None or control.reason is not None:
            return None
        stopped = self._verdict(judged, target)
        if stopped is not None:
            return landing.stop(stopped)
        verdicts: dict[str, Json] = dict(judged.verdicts(self.plan))
        place |= {"commit": commit, "verdicts": verdicts, "duration": judged.seconds}
        landing.record(EventKind.INTEGRATION_JUDGED, self.plan, place)
        return self._land(target, commit)

    def _verdict(self, judged: Judged, target: str) -> Stopped | None:
        kind = kind_of([verdict.kind for _, verdict in judged.found])
        worst = judged.worst()
        if kind is None or worst is None:
            return None
        plan, verdict = worst
        text = ""
        if verdict.outcome is not None:
            # Before it is cut: half a secret would not be recognised.
            said = verdict.outcome.stdout.text() + verdict.outcome.stderr.text()
            text = self.desk.commits.recorder.redactor.redact(said).text[-_TAIL:]
        return Stopped(
            *(self.plan, kind, describe(plan, verdict, self.plan), target, self.tip),
            verdicts=judged.verdicts(self.plan),
            about=plan if plan != self.plan else None,
            output=text,
        )

    def _land(self, target: str, commit: str) -> Result | None:
        found = self.landing.in_the_way(target, commit)
        if found is not None:
            reason, files = found
            kind = StopKind.IN_THE_WAY
            return self.landing.stop(
                Stopped(self.plan, kind, reason, target, self.tip, files=files)
            )
        merge = Integration(self.landing.into, target, commit, self.tip)
        note = self.landing.land(self.plan, merge)
        if note is None:
            return None
        return Landed(self.plan, commit, len(self.wanted), note.removeprefix("; "))
