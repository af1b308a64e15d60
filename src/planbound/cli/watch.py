"""`planbound watch`: what runs, what waits for whom and what was found, on one screen."""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planbound.cells.processes import page_text
from planbound.cli.evidence import evidence_lines, evidence_of, verdict_text
from planbound.cli.named_plans import read_own_plan
from planbound.cli.person import question_lines
from planbound.cli.progress import waiting
from planbound.cli.status import loop_lines, status_lines
from planbound.cli.terminal import Terminal
from planbound.cli.watch_screen import Watched, frame, plain_lines
from planbound.errors import ExitCode, PlanboundError
from planbound.journal.event import EventKind
from planbound.journal.record import Query, Record
from planbound.page.board import Board
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.session.people import session_view
from planbound.source import visible
from planbound.state.plan import PlanState, plan_status
from planbound.state.question import Question
from planbound.state.run import RunState, lay_out
from planbound.team.lanes import find_lanes
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.cli.full_screen import FullScreen

_EVERY = 1.0
"""In seconds: so often it is looked whether something happened."""
_FILES_EVERY = 5.0
"""In seconds: so often the files are read where nothing happened."""
_MOST_VERDICTS = 50
_AT_ONCE = 0.5
"""A pager that ends within so many seconds did not wait for who reads."""


def configure_watch(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="only this plan, with its steps")


def run_watch(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show where everything is, as it changes, until somebody leaves."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    view = _WatchView(context, arguments.plan)
    with waiting("reading", "the journal"):
        seen = view.look()
    dumb = os.environ.get("TERM", "dumb") in {"", "dumb"}
    if dumb or not (sys.stdin.isatty() and sys.stdout.isatty()):
        for line in plain_lines(seen, terminal.style):
            terminal.out(line)
        return ExitCode.DONE
    gc.enable()  # it lives for hours
    from planbound.cli.full_screen import FullScreen  # noqa: PLC0415 - only on a terminal

    with FullScreen() as screen:
        return _WatchSession(view, screen, terminal).hold()


class _WatchView:
    """What there is to see: the journal is folded once, and then only what is new."""

    def __init__(self, context: Context, plan: str | None) -> None:
        self.context = context
        self.slug = read_own_plan(plan, context)[0].slug if plan is not None else None
        self.board = Board(context.existing_journal)
        self._seen: Watched | None = None
        self._head = -1
        self._at = 0.0

    def look(self) -> Watched:
        """Return what is seen now."""
        now = time.monotonic()
        try:
            self.board.refresh()
            is_new = self.board.head.seq != self._head or now - self._at >= _FILES_EVERY
            if self._seen is None or is_new:
                self._seen, self._at, self._head = self._whole(), now, self.board.head.seq
        except PlanboundError as error:
            if self._seen is None:
                raise
            return self._seen._replace(now=self.context.now(), warnings=(error.message,))
        finally:
            self.context.close()
        return self._seen._replace(now=self.context.now())

    def _whole(self) -> Watched:
        context, board = self.context, self.board
        seen = board.overview(context)
        held = context.leases().held() if board.has_journal else ()
        require = context.configuration.gate.require
        lanes = find_lanes(seen, held, context.now(), require)
        steps = None
        if self.slug is not None:
            steps = tuple(self._steps(self.slug, board.states.get(self.slug)))
        name = os.path.basename(context.root.rstrip("/")) or context.root
        return Watched(
            title=f"planbound watch · {self.slug or name}",
            now=context.now(),
            plans=[each for each in lanes.plans if self.slug in {None, each.slug}],
            waiting=[each for each in board.waiting if self.slug in {None, each.plan}],
            verdicts=self._verdicts(),
            steps=steps,
            warnings=lanes.warnings,
        )

    def _verdicts(self) -> list[Record]:
        journal = self.context.existing_journal()
        if journal is None:
            return []
        kinds = (EventKind.CONTRACT_EVALUATED,)
        query = Query(plan=self.slug, events=kinds, last=_MOST_VERDICTS)
        return list(journal.read(query))[::-1]

    def _steps(self, slug: str, known: PlanState | None) -> Iterable[str]:
        file, data = read_own_plan(slug, self.context)
        plan = parse(data, path=file.shown)
        state = RunState(
            lay_out(plan, self.context.recorder().step_ids(plan)), known or PlanState(slug)
        )
        without_colour = Terminal()
        without_colour.colour = False
        loop = session_view(self.context, file, data) if state.run is None else None
        if loop is not None:
            return loop_lines(slug, loop, without_colour)
        return status_lines(slug, state, without_colour, plan_status(known, digest(plan)))


class _WatchSession:
    """Somebody who watches."""

    def __init__(self, view: _WatchView, screen: FullScreen, terminal: Terminal) -> None:
        self.view = view
        self.screen = screen
        self.terminal = terminal
        self.chosen: str | None = None
        self.note = ""

    def hold(self) -> ExitCode:
        """Draw what is seen, and do what is typed, until somebody leaves."""
        while self.screen.ended is None:
            seen = self._choose(self.view.look())
            lines = frame(seen, *self.screen.size, self.terminal.style)
            if self.note:
                lines[-1] = self.terminal.style(self.note, "yellow")
            self.screen.draw(lines)
            typed = self.screen.key(_EVERY)
            if typed is None:
                continue
            self.note = ""
            if typed in {"", "\x04"} or "q" in typed.lower():
                return ExitCode.DONE
            self._do(typed, seen)
        return ExitCode.INTERRUPTED

    def _choose(self, seen: Watched) -> Watched:
        """Keep what is chosen for as long as it waits; then it is the oldest."""
        ids = [each.id for each in seen.waiting]
        if self.chosen not in ids:
            self.chosen = ids[0] if ids else None
        return seen._replace(chosen=self.chosen)

    def _do(self, typed: str, seen: Watched) -> None:
        match typed[0]:
            case "n" | "\t" | "j":
                self._next(seen)
            case "e" | "\r" | "\n":
                self._evidence(seen)
            case _:
                pass

    def _next(self, seen: Watched) -> None:
        ids = [each.id for each in seen.waiting]
        if self.chosen in ids:
            self.chosen = ids[(ids.index(self.chosen) + 1) % len(ids)]
        else:
            self.note = "nothing waits"

    def _evidence(self, seen: Watched) -> None:
        chosen = next((each for each in seen.waiting if each.id == self.chosen), None)
        if chosen is None and not seen.verdicts:
            self.note = "nothing was judged yet"
            return
        try:
            lines = self._of(chosen) if chosen is not None else verdict_text(seen.verdicts[0])
            text = "\n".join(lines) + "\n"
            with self.screen.lent():
                began = time.monotonic()
                page_text(text)
                if time.monotonic() - began < _AT_ONCE:
                    self._stay()
        except PlanboundError as error:
            self.note = visible(error.message)

    def _stay(self) -> None:
        """Leave on the terminal what a program printed that did not wait for its reader."""
        sys.stdout.write("enter: back to the plans ")
        sys.stdout.flush()
        while self.screen.ended is None and self.screen.key(_FILES_EVERY) is None:
            pass

    def _of(self, question: Question) -> Iterable[str]:
        yield from question_lines(question)
        journal = self.view.context.existing_journal()
        if journal is not None:
            yield from evidence_lines(evidence_of(self.view.context, journal, question))
