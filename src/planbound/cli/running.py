"""What `run` and `resume` share: the face of a run on a terminal, on a pipe, or for programs."""

from __future__ import annotations

import argparse
import contextlib
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Protocol

from planbound import __version__
from planbound.cli.asking import ask_one
from planbound.cli.live import live_line
from planbound.cli.person import is_terminal
from planbound.cli.reports.progress import ProgressReport
from planbound.cli.reports.question import question_lines
from planbound.cli.reports.status import Known, state_data
from planbound.cli.terminal import Terminal
from planbound.engine.run.layout import Slot
from planbound.errors import ExitCode, UsageError
from planbound.journal.record import Record
from planbound.ports.files import PlanFile
from planbound.ports.motor import Again, Asking, Ended, Halted, Later, Next
from planbound.source.visible import visible
from planbound.usecases.answer import questions
from planbound.usecases.run.session import Session
from planbound.usecases.run.start import Started
from planbound.wiring.marking import look
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import Reminding
from planbound.wiring.running import INTERRUPTED, Execution, Hooks, Options

_GOOD = frozenset({"done", "done with skips"})
_MOST_JOBS = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what both have."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--jobs", type=int, metavar="N", help="how many steps may run at once (default 1)"
    )
    waiting = parser.add_mutually_exclusive_group()
    waiting.add_argument(
        "--wait",
        action="store_const",
        const=True,
        help="wait for others who are in the way, in the same worktree too",
    )
    waiting.add_argument(
        "--no-wait",
        dest="wait",
        action="store_const",
        const=False,
        help="wait for nobody: without this, plans in other worktrees are waited for",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="although a plan that it depends on is not proved; is recorded",
    )
    parser.add_argument("--detach", action="store_true", help="go to the background")
    parser.add_argument(
        "--no-input", action="store_true", help="ask nothing here: what waits goes to the inbox"
    )
    parser.add_argument(
        "--stay", action="store_true", help="wait here for answers that come by other ways"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="show what agents print and do, as it comes"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


class Face:
    """Shows one run, and asks what it has to ask."""

    def __init__(
        self, arguments: argparse.Namespace, parts: Parts, file: PlanFile, terminal: Terminal
    ) -> None:
        self.arguments = arguments
        self.parts = parts
        self.file = file
        self.terminal = terminal
        self.report = ProgressReport(terminal)
        self.live = live_line(quiet=arguments.json)
        parts.told = self.live.judging
        self.session: Session | None = None

    def execute(self) -> ExitCode:
        """Run the plan, and say how it ended."""
        jobs = self.arguments.jobs
        if jobs is None:
            jobs = self.parts.configuration.run.jobs
        if not 1 <= jobs <= _MOST_JOBS:
            raise UsageError(f"`--jobs` is {jobs}, expected 1 to {_MOST_JOBS}")
        hooks = Hooks(saw=self._saw, started=self._started, say=self._say, ask=self._ask)
        options = Options(
            jobs=jobs,
            wait=self.arguments.wait,
            stay=self.arguments.stay,
            anyway=self.arguments.anyway,
        )
        execution = Execution(self.parts, self.file, options, hooks)
        with signals(execution), self.live, self._reminding():
            said = execution.execute()
        return self._end(said)

    def _reminding(self) -> contextlib.AbstractContextManager[None]:
        """Ask again for approvals meanwhile, where somebody hears of it."""
        heard = not self.arguments.no_input or bool(self.parts.configuration.notify)
        return Reminding(self.parts, self._note) if heard else contextlib.nullcontext()

    def _note(self, text: str) -> None:
        """Say something on standard error, whoever reads standard output."""
        self.live.clear()
        self.terminal.note(text)

    # -- hooks ---------------------------------------------------------------------------------

    def _started(self, started: Started) -> None:
        self.session = started.session
        started.session.listeners.append(self._noted)
        self.report.know(started.session.layout.plan)
        state = started.session.state
        if started.resumed:
            settled = len(state.steps) - state.unsettled
            self._say(f"going on with run {state.run}: {settled}/{len(state.steps)} settled")
            if state.begun_by not in {None, __version__}:
                self._say(f"note: it was begun by planbound {state.begun_by}")
        if state.anyway:
            self._say(f"note: runs all the same: not proved is {visible(state.anyway)}")
        for path in started.edited[:20]:
            self._say(f"note: somebody changed {visible(path)} since the run stopped")
        if started.session.is_bare:
            self._say("note: no cell (`judging.bare`): contracts run in the workspace, evidence E1")

    def _saw(self, records: Sequence[Record]) -> None:
        if self.arguments.json:
            return
        for record in records:
            for line in self.report.lines(record):
                self.live.clear()
                self.terminal.out(line)
            self.live.saw(record)
        sys.stdout.flush()

    def _noted(self, slot: Slot, text: str) -> None:
        if self.arguments.verbose and not self.arguments.json:
            self.live.clear()
            self.terminal.note(f"step {slot.label}: {visible(text)}")
        else:
            self.live.note(slot.id, text)

    def _say(self, text: str) -> None:
        if not self.arguments.json:
            self._note(text)

    def _ask(self, session: Session) -> bool:
        if self.arguments.stay:
            return self._await_answer(session)
        if self.arguments.no_input or self.arguments.json or not is_terminal():
            return False
        waiting = [each for each in session.state.questions.values() if each.choices]
        for question in waiting:
            self.live.clear()
            if question.id in session.state.questions and not ask_one(session, question):
                return False
            session.refresh(at_once=True)
        return bool(waiting)

    def _await_answer(self, session: Session) -> bool:
        """Wait for as long as it takes; the lease is kept, the clock of the budget stands."""
        if session.state.paused is None:
            session.note_pause("waiting")
        before = session.state.seq
        journal = session.desk.journal
        while session.control.reason is None and session.state.seq == before:
            # Beyond the head, not beyond the last event of this plan: others write, too.
            journal.wait(journal.head().seq, 1.0)
            session.refresh(at_once=True)
        return True

    # -- the end -------------------------------------------------------------------------------

    def _end(self, said: Next) -> ExitCode:
        session = self.session
        assert session is not None
        code = _exit_code(said)
        if self.arguments.json:
            seen = look(self.parts, self.file, self.parts.reader.read(self.file.path))
            known = Known(seen.status.value, tuple(session.state.questions.values()))
            about = state_data(self.file.slug, session.state, known)
            self.terminal.json(about | {"exit_code": int(code)})
            return code
        slug = self.file.slug
        if isinstance(said, Asking):
            for question in questions(session.desk.journal, slug):
                for line in question_lines(question):
                    self.terminal.note(line)
            self.terminal.note(f"then go on with `planbound resume {shlex.quote(slug)}`")
        elif isinstance(said, Halted):
            what = "interrupted" if said.reason == INTERRUPTED else f"stopped: {said.reason}"
            self.terminal.note(f"{what}; go on with `planbound resume {shlex.quote(slug)}`")
        elif isinstance(said, Ended) and said.status == "failed":
            self.terminal.note(
                f"when it is mended, go on from here: `planbound resume {shlex.quote(slug)}`"
            )
        elif isinstance(said, Ended) and said.status == "revised":
            self.terminal.note(f"change the plan, then `planbound amend {shlex.quote(slug)}`")
        return code


def _exit_code(said: Next) -> ExitCode:
    match said:
        case Ended():
            return ExitCode.DONE if said.status in _GOOD else ExitCode.FAILED
        case Asking() | Later() | Again():
            return ExitCode.WAITING
        case Halted():
            if said.reason == INTERRUPTED:
                return ExitCode.INTERRUPTED
            return ExitCode.USAGE


class Stoppable(Protocol):
    """What works until it is told to end."""

    def stop(self, reason: str) -> None:
        """Ask it to end."""


@contextlib.contextmanager
def signals(work: Stoppable) -> Iterator[None]:
    """Let the first signal end the work in peace, and the second one at once."""
    seen: list[int] = []

    def handle(number: int, _frame: FrameType | None) -> None:
        if seen:
            raise KeyboardInterrupt
        seen.append(number)
        os.write(2, b"\nstopping; once more stops at once\n")
        work.stop(INTERRUPTED)

    wanted = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in wanted}
    for number in wanted:
        # Whoever starts us with a signal ignored, as `nohup` does, wants it to stay so.
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            if handler is not None:
                signal.signal(number, handler)
