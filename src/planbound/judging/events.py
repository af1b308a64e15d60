"""Verdicts as events."""

from __future__ import annotations

import os
from typing import NamedTuple

from planbound.cells.cell import Outcome
from planbound.journal.event import BaselineObserved, ContractEvaluated, Result, VerdictKind
from planbound.journal.fields import ControlSeen, MutatedJudges, NamedTests
from planbound.journal.record import Draft
from planbound.journal.redact import Redactor
from planbound.journal.words import BaselineMoment
from planbound.judging.verdict import ControlRun, Verdict
from planbound.state.append import Recorder
from planbound.state.step import StepProof

_TAIL = 4000
_HEAD = 1000
_NAMES = 50


def note_verdict(
    recorder: Recorder, slug: str, verdict: Verdict, event: BaselineObserved | ContractEvaluated
) -> None:
    """Put a verdict with its evidence into the journal."""
    recorder.journal.append([verdict_draft(recorder, slug, verdict, event)])


def verdict_draft(
    recorder: Recorder, slug: str, verdict: Verdict, event: BaselineObserved | ContractEvaluated
) -> Draft:
    """Return a verdict, told as an event, as it is to be appended."""
    task = None
    if verdict.id:
        task = (recorder.step_id(verdict.id, verdict.number, verdict.title), verdict.title)
    return recorder.draft(event, slug, key=os.urandom(16).hex(), task=task)


def observed(verdict: Verdict, redactor: Redactor) -> BaselineObserved:
    """Return what a contract said before any work."""
    outcome, ends = verdict.outcome, _ends(verdict.outcome, redactor)
    return BaselineObserved(
        verdict=verdict.kind,
        exit_code=outcome.exit_code if outcome else None,
        reason=verdict.reason,
        subject=verdict.subject,
        number=verdict.number,
        contract=verdict.contract,
        tree=verdict.tree,
        evidence=verdict.evidence.value,
        isolation=verdict.isolation.value,
        tests=_tests(verdict),
        duration=round(outcome.duration, 3) if outcome else None,
        output_digest=_digest(outcome),
        output_size=None if outcome is None else outcome.stdout.length + outcome.stderr.length,
        output_tail=ends.tail,
        output_head=ends.head,
        controls=tuple(_control(each, redactor) for each in verdict.controls) or None,
        measured=verdict.measured,
        reused=verdict.reused,
    )


def _control(run: ControlRun, redactor: Redactor) -> ControlSeen:
    return ControlSeen(
        name=run.name,
        patch=run.patch,
        result=run.result,
        verdict=run.verdict,
        reason=run.reason,
        exit_code=run.outcome.exit_code if run.outcome else None,
        output_digest=_digest(run.outcome),
        output_tail=_ends(run.outcome, redactor).tail,
    )


def evaluated(verdict: Verdict, redactor: Redactor) -> ContractEvaluated:
    """Return what a contract said after the work."""
    outcome, ends = verdict.outcome, _ends(verdict.outcome, redactor)
    return ContractEvaluated(
        verdict=verdict.kind,
        exit_code=outcome.exit_code if outcome else None,
        reason=verdict.reason,
        subject=verdict.subject,
        number=verdict.number,
        contract=verdict.contract,
        tree=verdict.tree,
        evidence=verdict.evidence.value,
        isolation=verdict.isolation.value,
        tests=_tests(verdict),
        duration=round(outcome.duration, 3) if outcome else None,
        output_digest=_digest(outcome),
        output_size=None if outcome is None else outcome.stdout.length + outcome.stderr.length,
        output_tail=ends.tail,
        output_head=ends.head,
        new_failures=verdict.new_failures[:_NAMES] or None,
        disappeared=verdict.disappeared[:_NAMES] or None,
        canary=verdict.canary.value,
        tampered=tuple(item.path for item in verdict.tampered[:_NAMES]),
        outside=verdict.outside[:_NAMES],
        left_out=verdict.left_out[:_NAMES] or None,
        leftovers=outcome.leftovers if outcome else 0,
        mutated=_mutated(verdict),
        measured=verdict.measured,
        reused=verdict.reused,
        beyond=verdict.beyond,
    )


def _mutated(verdict: Verdict) -> MutatedJudges | None:
    found = verdict.mutated
    if found is None:
        return None
    return MutatedJudges(len(found.sensitive), found.total, found.blind[:_NAMES])


def _tests(verdict: Verdict) -> NamedTests | None:
    found = verdict.tests
    if found is None:
        return None
    return NamedTests(found.passed, found.failed, found.skipped, found.key)


def _digest(outcome: Outcome | None) -> str | None:
    return None if outcome is None else f"{outcome.stdout.sha256} {outcome.stderr.sha256}"


class _OutputEnds(NamedTuple):
    """What events keep of an output."""

    tail: str | None = None
    head: str | None = None
    """None where the other end is all of it."""


def _ends(outcome: Outcome | None, redactor: Redactor) -> _OutputEnds:
    if outcome is None:
        return _OutputEnds()
    # Before it is cut: half a secret would not be recognised.
    text = redactor.redact(outcome.stdout.text() + outcome.stderr.text()).text
    return _OutputEnds(
        text[-_TAIL:], text[: min(_HEAD, len(text) - _TAIL)] if len(text) > _TAIL else None
    )


class ShownProof(NamedTuple):
    """What a pass shows about the work, as events tell it."""

    result: Result
    baseline: VerdictKind | None
    baseline_at: BaselineMoment | None
    reason: str | None


def shown_proof(proof: StepProof) -> ShownProof:
    """Return what a pass shows about the work."""
    seen = proof.baseline is not None
    # What was red right before the work, and is green now, needs no more words.
    plain = proof.result is Result.PROVED and proof.at is BaselineMoment.ATTEMPT
    return ShownProof(
        result=proof.result,
        baseline=proof.baseline,
        baseline_at=proof.at if seen else None,
        reason=None if plain else proof.reason,
    )
