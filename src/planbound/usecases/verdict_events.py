"""Verdicts as events."""

from __future__ import annotations

import os
from collections.abc import Mapping

from planbound.engine.judging.proof import Proof, Result
from planbound.engine.judging.verdict import Verdict
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.usecases.record import Recorder

_TAIL = 4000
_NAMES = 50


def note_verdict(
    recorder: Recorder,
    kind: EventKind,
    slug: str,
    verdict: Verdict,
    extra: Mapping[str, Json] | None = None,
) -> None:
    """Put a verdict with its evidence into the journal."""
    recorder.journal.append([verdict_draft(recorder, kind, slug, verdict, extra)])


def verdict_draft(
    recorder: Recorder,
    kind: EventKind,
    slug: str,
    verdict: Verdict,
    extra: Mapping[str, Json] | None = None,
) -> Draft:
    """Return a verdict with its evidence as an event that is to be appended."""
    details = {**_common(verdict, recorder), **(extra or {})}
    if kind is EventKind.CONTRACT_EVALUATED:
        details |= _judged(verdict)
    task = None
    if verdict.id:
        task = (recorder.step_id(verdict.id, verdict.number, verdict.title), verdict.title)
    return recorder.draft(kind, slug, details, key=os.urandom(16).hex(), task=task)


def _common(verdict: Verdict, recorder: Recorder) -> dict[str, Json]:
    details: dict[str, Json] = {
        "verdict": verdict.kind.value,
        "exit_code": verdict.outcome.exit_code if verdict.outcome else None,
        "reason": verdict.reason,
        "subject": verdict.subject.value,
        "number": verdict.number,
        "contract": verdict.contract,
        "tree": verdict.tree,
        "evidence": verdict.evidence.value,
        "isolation": verdict.isolation.value,
    }
    if verdict.tests is not None:
        passed, failed, skipped, key = verdict.tests
        details["tests"] = {"passed": passed, "failed": failed, "skipped": skipped, "list": key}
    outcome = verdict.outcome
    if outcome is not None:
        details["duration"] = round(outcome.duration, 3)
        details["output_digest"] = f"{outcome.stdout.sha256} {outcome.stderr.sha256}"
        # Before it is cut: half a secret would not be recognised.
        text = recorder.redactor.redact(outcome.stdout.text() + outcome.stderr.text()).text
        details["output_tail"] = text[-_TAIL:]
    return details


def proof_details(proof: Proof) -> dict[str, Json]:
    """Return what a pass shows about the work, as details of an event."""
    details: dict[str, Json] = {"result": proof.result.value}
    if proof.baseline is not None:
        details |= {"baseline": proof.baseline, "baseline_at": proof.at}
    # What was red right before the work, and is green now, needs no more words.
    if proof.result is not Result.PROVED or proof.at != "attempt":
        details["reason"] = proof.reason
    return details


def _judged(verdict: Verdict) -> dict[str, Json]:
    named: dict[str, Json] = {}
    if verdict.new_failures:
        named["new_failures"] = list(verdict.new_failures[:_NAMES])
    if verdict.disappeared:
        named["disappeared"] = list(verdict.disappeared[:_NAMES])
    return named | {
        "canary": verdict.canary.value,
        "tampered": [item.path for item in verdict.tampered[:_NAMES]],
        "outside": list(verdict.outside[:_NAMES]),
        "leftovers": verdict.outcome.leftovers if verdict.outcome else 0,
    }
