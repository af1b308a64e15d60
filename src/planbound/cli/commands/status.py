"""`planbound status`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from planbound.cli.inputs import read_own_plan
from planbound.cli.reports.loop import loop_data, loop_lines
from planbound.cli.reports.question import question_lines
from planbound.cli.reports.status import Known, state_data, status_lines
from planbound.cli.reports.team import team_data, team_lines
from planbound.cli.terminal import Terminal
from planbound.engine.loop.state import INCOMPLETE
from planbound.engine.run.question import Question
from planbound.errors import ExitCode
from planbound.usecases.answer import questions
from planbound.usecases.team.bindings import known_of
from planbound.wiring.looped import loop_view
from planbound.wiring.marking import look
from planbound.wiring.parts import Parts
from planbound.wiring.people import run_state
from planbound.wiring.reminding import remind_waiting, still_waits


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say where a plan is: its steps, what waits, who drives it."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    for slug in remind_waiting(parts):
        terminal.note(f"note: {still_waits(slug)}")
    file, data = read_own_plan(arguments.plan, parts)
    seen = look(parts, file, data)
    data = seen.data
    state = run_state(parts, file, data)
    loop = loop_view(parts, file, data) if state.run is None else None
    holder = next(
        (
            held.claim.holder
            for held in (parts.leases().held() if parts.existing_journal() else ())
            if held.claim.plan == file.slug and not held.expired
        ),
        None,
    )
    known = Known(seen.status.value, _questions(parts, file.slug))
    team = known_of(parts.existing_journal(), file.slug)
    # An agent that was refused too often did not come to its end: whoever asks is told so.
    capped = loop is not None and loop.state.outcome == INCOMPLETE
    code = ExitCode.FAILED if capped else ExitCode.DONE
    if arguments.json:
        about = state_data(file.slug, state, known) | {"holder": holder} | team_data(team)
        terminal.json(about if loop is None else about | loop_data(loop))
        return code
    lines = status_lines(file.slug, state, terminal, known.status)
    for line in lines if loop is None else loop_lines(file.slug, loop, terminal):
        terminal.out(line)
    for line in team_lines(team):
        terminal.out(line)
    if holder is not None:
        terminal.out(f"  driven by {holder}")
    elif state.run is not None and state.ended is None and not known.waiting:
        terminal.out(
            f"  nobody drives it now: go on with `planbound resume {shlex.quote(file.slug)}`"
        )
    for question in known.waiting or ():
        for line in question_lines(question):
            terminal.out(line)
    return code


def _questions(parts: Parts, slug: str) -> Sequence[Question]:
    """Return what the inbox has of the plan."""
    journal = parts.existing_journal()
    return questions(journal, slug) if journal is not None else ()
