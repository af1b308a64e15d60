"""Verdicts for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.cli.terminal import Terminal
from planbound.engine.judging.case import Case
from planbound.engine.judging.outcome import Captured
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.journal.redact import Redactor
from planbound.plan.model import Attest
from planbound.source.visible import visible

_TAIL_LINES = 12
_SHOWN_BYTES = 8_000
_COLOURS = {VerdictKind.PASS: "green", VerdictKind.FAIL: "red", VerdictKind.TAMPERED: "red"}
_NAMES = {Subject.PRECONDITION: "precondition ", Subject.POSTCONDITION: "postcondition "}


def as_data(verdict: Verdict, redactor: Redactor) -> dict[str, object]:
    """Return a verdict for programs."""
    outcome = verdict.outcome
    return {
        "step": int(verdict.number) if _is_numbered_step(verdict) else None,
        "subject": verdict.subject.value,
        "number": verdict.number,
        "id": verdict.id,
        "title": verdict.title,
        "verdict": verdict.kind.value,
        "reason": verdict.reason,
        "exit_code": outcome.exit_code if outcome else None,
        "signal": outcome.signal if outcome else None,
        "duration": round(outcome.duration, 3) if outcome else 0.0,
        "evidence": verdict.evidence.value,
        "short_of": list(verdict.short_of),
        "isolation": verdict.isolation.value,
        "contract": verdict.contract,
        "tree": verdict.tree,
        "baseline": verdict.baseline,
        "result": verdict.proof.result.value if verdict.proof and verdict.baseline else None,
        "runs": verdict.runs,
        "canary": verdict.canary.value,
        "tests": verdict.summary._asdict() if verdict.summary else None,
        "leftovers": outcome.leftovers if outcome else 0,
        "written": list(outcome.written) if outcome else [],
        "written_count": outcome.written_count if outcome else 0,
        "stdout": _stream(outcome.stdout, redactor) if outcome else None,
        "stderr": _stream(outcome.stderr, redactor) if outcome else None,
        "tampered": [item._asdict() for item in verdict.tampered],
        "outside": list(verdict.outside),
        "new_failures": list(verdict.new_failures),
        "disappeared": list(verdict.disappeared),
        "notes": list(verdict.notes),
    }


def _is_numbered_step(verdict: Verdict) -> bool:
    return verdict.subject is Subject.STEP and verdict.number.isdigit()


def _stream(captured: Captured, redactor: Redactor) -> dict[str, object]:
    text = redactor.redact(captured.text()).text
    return {
        "length": captured.length,
        "sha256": captured.sha256,
        "head": text[:_SHOWN_BYTES],
        "tail": text[_SHOWN_BYTES:][-_SHOWN_BYTES:],
    }


def unjudged(case: Case) -> dict[str, object]:
    """Return for programs what has no command to run."""
    return {
        "subject": case.subject.value,
        "number": case.number,
        "title": case.title,
        "reason": why_unjudged(case),
    }


def why_unjudged(case: Case) -> str:
    """Return why there is no verdict."""
    return "a person attests it" if isinstance(case.contract, Attest) else "it has no contract"


def render(verdict: Verdict, terminal: Terminal, redactor: Redactor) -> Iterator[str]:
    """Yield a verdict for people."""
    mark = "✓" if verdict.kind is VerdictKind.PASS else "✗"
    name = f"{_NAMES.get(verdict.subject, '')}{verdict.number}. {visible(verdict.title)}"
    colour = _COLOURS.get(verdict.kind, "yellow")
    found = terminal.style(f"{mark} {verdict.kind.value}", colour)
    yield f"{found} {terminal.style(name, 'bold')}"
    seconds = f", {verdict.outcome.duration:.1f} s" if verdict.outcome else ""
    yield f"    {visible(verdict.reason)}{seconds}"
    about = [f"evidence {verdict.evidence.value}", f"isolation {verdict.isolation.value}"]
    if verdict.canary.value != "none":
        about.append(f"canary {verdict.canary.value}")
    if verdict.baseline:
        about.append(f"before the work: {verdict.baseline}")
    if verdict.outcome and verdict.outcome.leftovers:
        about.append(f"{verdict.outcome.leftovers} processes left running, now ended")
    yield f"    {terminal.style(' · '.join(about), 'dim')}"
    for note in verdict.notes:
        yield f"    {terminal.style(f'note: {visible(note)}', 'dim')}"
    if verdict.kind is VerdictKind.PASS:
        return
    for item in verdict.tampered:
        yield f"    {visible(item.path)}: {visible(item.what)}"
        yield from (f"      {visible(line)}" for line in item.diff.splitlines())
    yield from _tail(verdict, redactor)


def _tail(verdict: Verdict, redactor: Redactor) -> Iterator[str]:
    if verdict.outcome is None:
        return
    for captured in (verdict.outcome.stdout, verdict.outcome.stderr):
        lines = redactor.redact(captured.text()).text.splitlines()
        if len(lines) > _TAIL_LINES:
            hidden = len(lines) - _TAIL_LINES
            yield f"    | ... {hidden} line{'' if hidden == 1 else 's'} before"
        # What a contract prints is not to be trusted with a terminal.
        yield from (f"    | {visible(line)[:400]}" for line in lines[-_TAIL_LINES:])


def conclusion(verdicts: Sequence[Verdict], waiting: int, terminal: Terminal) -> str:
    """Return one line about all of them."""
    passed = sum(item.kind is VerdictKind.PASS for item in verdicts)
    text = f"{passed} of {len(verdicts)} contract{'' if len(verdicts) == 1 else 's'} pass"
    if waiting:
        text += f", {waiting} not for the harness to judge"
    return terminal.style(text, "green" if passed == len(verdicts) and not waiting else "red")
