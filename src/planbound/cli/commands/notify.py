"""`planbound notify`."""

from __future__ import annotations

import argparse
import time
from typing import TYPE_CHECKING

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo
from planbound.source.visible import visible
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.usecases.notify import Attempt


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--once", action="store_true", help="try each only once, and do not wait")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Deliver what is outstanding, and say what became of it."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    if not parts.configuration.notify:
        raise NothingToDo("the configuration has no `[[notify]]`")
    from planbound.usecases.notify import Fate, deliver  # noqa: PLC0415 - start-up time
    from planbound.wiring.judging import refuse_in_cell  # noqa: PLC0415
    from planbound.wiring.notify import make_outbox  # noqa: PLC0415
    from planbound.wiring.reminding import remind_waiting, still_waits  # noqa: PLC0415

    refuse_in_cell()
    outbox = make_outbox(parts)
    for slug in remind_waiting(parts, deliver=False):
        terminal.note(f"note: {still_waits(slug)}")
    for entry in outbox.new:
        terminal.note(f"note: `{entry.target.shown}` is told of what happens from now on")
    for obstacle in outbox.obstacles:
        terminal.problem(obstacle)
    attempts = []
    for attempt in deliver(
        outbox.deliveries, outbox.entries, once=arguments.once, sleep=time.sleep
    ):
        attempts.append(attempt)
        if not arguments.json:
            terminal.out(_line(attempt))
    if arguments.json:
        terminal.json(
            {
                "deliveries": [_data(attempt) for attempt in attempts],
                "obstacles": list(outbox.obstacles),
            }
        )
    ends = {(attempt.entry, attempt.record.seq): attempt.fate for attempt in attempts}
    if outbox.obstacles or any(fate is not Fate.DELIVERED for fate in ends.values()):
        return ExitCode.FAILED
    if not attempts:
        left = any(outbox.deliveries.wait(entry) is not None for entry in outbox.entries)
        why = "another process delivers just now" if left else "everybody was told of everything"
        terminal.note(f"nothing to do: {why}")
        return ExitCode.NOTHING_TO_DO
    return ExitCode.DONE


def _line(attempt: Attempt) -> str:
    draft = attempt.record.draft
    about = f"{draft.plan or '-'}/{draft.task_id}" if draft.task_id else draft.plan or "-"
    line = f"{attempt.fate.value}: {draft.event.value} {about} to {attempt.entry.target.shown}"
    if attempt.reason:
        line += f": {attempt.reason} (try {attempt.tries} of {attempt.entry.retries + 1})"
    return visible(line)


def _data(attempt: Attempt) -> dict[str, object]:
    draft = attempt.record.draft
    return {
        "fate": attempt.fate.value.replace(" ", "-"),
        "target": attempt.entry.target.shown,
        "event": draft.event.value,
        "plan": draft.plan,
        "task_id": draft.task_id,
        "id": draft.id,
        "seq": attempt.record.seq,
        "tries": attempt.tries,
        "reason": attempt.reason or None,
    }
