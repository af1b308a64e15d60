"""Where a plan is, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from planbound.cli.reports.progress import money, spoken
from planbound.cli.terminal import Terminal
from planbound.engine.judging.proof import held, tally
from planbound.engine.recovery.failure import trouble_words
from planbound.engine.run.decide import MET
from planbound.engine.run.question import Question
from planbound.engine.run.state import RunState
from planbound.engine.run.step_state import Phase, StepState
from planbound.source.visible import visible

_MARKS = {
    Phase.PENDING: " ",
    Phase.STARTED: "…",
    Phase.WAITING: "?",
    Phase.PROVED: "✓",
    Phase.HOLDS: "=",
    Phase.ATTESTED: "✓",
    Phase.WAIVED: "~",
    Phase.SKIPPED: "-",
    Phase.FAILED: "✗",
}


class Known(NamedTuple):
    """What every other view tells of a plan, too."""

    status: str
    waiting: Sequence[Question]
    """What is in the inbox."""


def state_data(slug: str, state: RunState, known: Known) -> dict[str, object]:
    """Return where a plan is, for programs."""
    return {
        "slug": slug,
        "status": known.status,
        "revision": state.revision,
        "run": state.run,
        "ended": state.ended,
        "paused": state.paused,
        "anyway": state.anyway,
        "steps": [
            {
                "number": slot.label,
                "id": slot.id,
                "title": slot.title,
                "status": step.phase.value,
                "attempts": step.attempts,
                "verdict": step.verdict,
                "failed": step.trouble.failed if step.trouble else None,
                "error": step.trouble.error if step.trouble else None,
                "result": step.result,
                "baseline": step.baseline.verdict if step.baseline else None,
                "approved_baseline": step.approved.verdict if step.approved else None,
                "reason": step.reason,
                "not_before": step.not_before,
            }
            for slot, step in zip(state.layout.slots, state.steps, strict=True)
        ],
        "postconditions": [
            {
                "number": each.number,
                "verdict": state.conditions.get(str(each.number)),
                "result": state.condition_results.get(str(each.number)) or None,
            }
            for each in state.layout.conditions
        ],
        "waiting": [question_data(question) for question in known.waiting],
        "proved": state.count(Phase.PROVED),
        "holds": state.count(Phase.HOLDS),
        "attested": state.count(Phase.ATTESTED),
        "recoveries": state.recoveries,
        "spent": {
            "tokens": state.spent.tokens,
            "dollars": str(state.spent.dollars),
            "unmetered_attempts": state.spent.unmetered,
            "estimated_tokens": state.spent.estimated,
            "seconds": round(state.session_seconds(), 3),
        },
    }


def question_data(question: Question) -> dict[str, object]:
    """Return a question for programs."""
    return question._asdict() | {"kind": question.kind.value, "choices": list(question.choices)}


def _found(step: StepState) -> str:
    """Return what came of the last attempt: its verdict, or what failed before that."""
    words = trouble_words(*step.trouble) if step.trouble is not None else ""
    return visible(words) or str(step.verdict)


def status_lines(slug: str, state: RunState, terminal: Terminal, status: str) -> Iterator[str]:
    """Yield where a plan is, for people."""
    paused = f" ({state.paused})" if state.paused and state.ended is None else ""
    run = f", run {state.run}" if state.run else ""
    yield terminal.style(f"{slug}: {status}{paused}, revision {state.revision}{run}", "bold")
    if state.why_ended and state.ended not in {None, "done", "done with skips"}:
        yield f"  {state.ended}: {visible(state.why_ended)}"
    if state.anyway:
        yield f"  runs all the same: not proved is {visible(state.anyway)}"
    for slot, step in zip(state.layout.slots, state.steps, strict=True):
        said = held(step.reason) if step.phase is Phase.HOLDS else step.phase.value
        if step.attempts:
            said += f", attempt {step.attempts}"
        if step.verdict and step.phase is not Phase.STARTED:  # else that of the one before
            said += f", {_found(step)}"
        if step.not_before and step.phase is Phase.PENDING:
            said += f", again after {step.not_before}"
        if step.phase is Phase.PROVED and step.reason:
            said += f", {step.reason}"
        yield f"  [{_MARKS[step.phase]}] {slot.label}. {visible(slot.title)}: {said}"
    met = sum(state.conditions.get(str(each.number)) in MET for each in state.layout.conditions)
    if state.layout.conditions:
        yield f"  {met}/{len(state.layout.conditions)} postconditions hold"
    if state.run:
        proved, holds = state.count(Phase.PROVED), state.count(Phase.HOLDS)
        yield f"  {tally(proved, len(state.steps), holds, state.count(Phase.ATTESTED))}"
        recovered = f"{state.recoveries} recover{'y' if state.recoveries == 1 else 'ies'}"
        used = [f"{state.spent.tokens:,} tokens"] if state.spent.tokens else []
        used += [money(float(state.spent.dollars))] if state.spent.dollars else []
        yield f"  {', '.join([recovered, *used, spoken(state.session_seconds())])} at work"
