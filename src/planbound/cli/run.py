"""`planbound run`, `resume`, `attach` and `cancel`."""

from __future__ import annotations

import argparse
import contextlib
import gc
import os
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from planbound import __version__
from planbound.approval.remind import Reminder
from planbound.cells.isolation import refuse_in_cell
from planbound.cells.processes import StartedApart
from planbound.cli.asking import ask_one
from planbound.cli.interrupt import signals
from planbound.cli.named_plans import excuse, read_bound_plan, read_plan
from planbound.cli.parser import configure_fresh
from planbound.cli.person import is_terminal, question_lines
from planbound.cli.progress import ProgressReport, live_line
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.status import Known, RunNow, note_pending, pending, run_now
from planbound.cli.terminal import Terminal
from planbound.disk.files import PlanFile
from planbound.errors import INTERRUPTED, ExitCode, NothingToDo, PlanboundError, UsageError
from planbound.git.guard import heal
from planbound.journal.event import EventKind, ExecutionPaused, RunOutcome
from planbound.journal.record import Query, Record
from planbound.run.execution import Execution, RunOptions, RunWatcher
from planbound.run.loop import Again, Asking, Halted, Later, Next, RunEnded
from planbound.run.people import questions
from planbound.run.session import RunSession
from planbound.run.start import StartedRun
from planbound.source import visible
from planbound.state.run import Slot
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.overview import look

if TYPE_CHECKING:
    from planbound.receipts.keep import KeptNow

# -- what `run` and `resume` share: the face of a run on a terminal, on a pipe, or for programs --


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
        help="wait for plans that are in the way, also in the same worktree",
    )
    waiting.add_argument(
        "--no-wait",
        dest="wait",
        action="store_const",
        const=False,
        help="do not wait for plans in other worktrees",
    )
    parser.add_argument(
        "--anyway",
        action="store_true",
        help="run although a plan that it depends on is not proved; recorded",
    )
    configure_fresh(parser)
    parser.add_argument("--detach", action="store_true", help="go to the background")
    parser.add_argument(
        "--no-input", action="store_true", help="ask nothing here; questions wait in the inbox"
    )
    parser.add_argument(
        "--stay", action="store_true", help="keep running, and wait for answers from elsewhere"
    )
    parser.add_argument(
        "--verbose", action="store_true", help="show what agents print and do, as it comes"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


class RunEnd(RunNow, frozen=True):
    """Where the run is when this process ends."""

    exit_code: int


class InBackground(JsonObject, frozen=True):
    slug: str
    pid: int
    log: str
    """The file with what it says."""


def keep_asked(context: Context, slug: str, say: Callable[[str], None]) -> KeptNow | None:
    """Keep a receipt of a plan that is done, where the configuration asks for it."""
    if not context.configuration.receipts.are_kept:
        return None
    from planbound.receipts.keep import keep_done  # noqa: PLC0415 - seldom

    try:
        kept = keep_done(context, slug)
    except PlanboundError as problem:
        say(f"note: no receipt is kept: {problem.message}")
        return None
    for line in kept.lines:
        say(f"note: {line}")
    return kept


def send_asked(context: Context, kept: KeptNow, say: Callable[[str], None]) -> None:
    """Send a receipt to the remote, where that is asked for; what fails is told, and no more."""
    if not context.configuration.receipts.push:
        return
    from planbound.receipts.keep import send_kept  # noqa: PLC0415 - seldom

    say(f"note: {send_kept(context, kept.refs)}")


class Face(RunWatcher):
    """Shows one run, and asks what it has to ask."""

    def __init__(
        self, arguments: argparse.Namespace, context: Context, file: PlanFile, terminal: Terminal
    ) -> None:
        self.arguments = arguments
        self.context = context
        self.file = file
        self.terminal = terminal
        self.report = ProgressReport(terminal)
        self.live = live_line(quiet=arguments.json)
        context.on_stage = self.live.judging
        self.session: RunSession | None = None
        self.kept: KeptNow | None = None
        """The receipt of the plan, once it is done."""

    def execute(self) -> ExitCode:
        """Run the plan, and say how it ended."""
        jobs = self.arguments.jobs
        if jobs is None:
            jobs = self.context.configuration.run.jobs
        if not 1 <= jobs <= _MOST_JOBS:
            raise UsageError(f"`--jobs` is {jobs}, expected 1 to {_MOST_JOBS}")
        options = RunOptions(
            jobs=jobs,
            wait=self.arguments.wait,
            stay=self.arguments.stay,
            anyway=self.arguments.anyway,
        )
        execution = Execution(self.context, self.file, options, self)
        with signals(execution), self.live, self._reminding():
            said = execution.execute()
        if self.kept is not None:
            send_asked(self.context, self.kept, self.say)
        return self._end(said)

    def _reminding(self) -> contextlib.AbstractContextManager[None]:
        """Ask again for approvals meanwhile, where somebody hears of it."""
        heard = not self.arguments.no_input or bool(self.context.configuration.notify)
        return Reminder(self.context, self._note) if heard else contextlib.nullcontext()

    def _note(self, text: str) -> None:
        """Say something on standard error, whoever reads standard output."""
        self.live.clear()
        self.terminal.note(text)

    # -- what it hears of the run -----------------------------------------------------------------

    def started(self, run: StartedRun) -> None:
        """Say that it began, or goes on."""
        # It lives for hours, and what it has read so far stays until its end.
        gc.freeze()
        gc.enable()
        self.session = run.session
        run.session.listeners.append(self._noted)
        self.report.know(run.session.layout.plan)
        state = run.session.state
        if run.resumed:
            settled = len(state.steps) - state.unsettled
            self.say(f"going on with run {state.run}: {settled}/{len(state.steps)} settled")
            if state.begun_by not in {None, __version__}:
                self.say(f"note: it was begun by planbound {state.begun_by}")
        if state.anyway:
            self.say(f"note: it runs although this is not proved: {visible(state.anyway)}")
        for path in run.edited[:20]:
            self.say(f"note: somebody changed {visible(path)} since the run stopped")

    def saw(self, records: Sequence[Record]) -> None:
        """Show every event."""
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

    def say(self, text: str) -> None:
        """Say what is no event."""
        if not self.arguments.json:
            self._note(text)

    def vouch(self, context: Context, slug: str) -> str | None:
        """Keep a receipt of the plan, where the configuration asks for it."""
        self.kept = keep_asked(context, slug, self.say)
        return self.kept.sha256 if self.kept is not None else None

    def ask(self, session: RunSession) -> bool:
        """Ask what waits for an answer, where somebody sits at a terminal."""
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

    def _await_answer(self, session: RunSession) -> bool:
        """Wait for as long as it takes; the lease is kept, the clock of the budget stands."""
        if session.state.paused is None:
            session.note_pause(ExecutionPaused.WAITING)
        before = session.state.seq
        journal = session.context.journal
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
            seen = look(self.context, self.file, self.context.reader.read(self.file.path))
            known = Known(seen.status, tuple(session.state.questions.values()))
            about = asdict(run_now(self.file.slug, session.state, known))
            self.terminal.json(RunEnd(**about, exit_code=int(code)))
            return code
        slug = self.file.slug
        if isinstance(said, Asking):
            for question in questions(session.context.journal, slug):
                for line in question_lines(question):
                    self.terminal.note(line)
            self.terminal.note(f"then go on with `planbound resume {shlex.quote(slug)}`")
        elif isinstance(said, Halted):
            what = "interrupted" if said.reason == INTERRUPTED else f"stopped: {said.reason}"
            self.terminal.note(f"{what}; go on with `planbound resume {shlex.quote(slug)}`")
        elif isinstance(said, RunEnded) and said.status is RunOutcome.FAILED:
            self.terminal.note(
                f"when it is mended, go on from here: `planbound resume {shlex.quote(slug)}`"
            )
        elif isinstance(said, RunEnded) and said.status is RunOutcome.REVISED:
            self.terminal.note(f"change the plan, then `planbound amend {shlex.quote(slug)}`")
        return code


def _exit_code(said: Next) -> ExitCode:
    match said:
        case RunEnded():
            return ExitCode.DONE if said.status.is_complete else ExitCode.FAILED
        case Asking() | Later() | Again():
            return ExitCode.WAITING
        case Halted():
            if said.reason == INTERRUPTED:
                return ExitCode.INTERRUPTED
            return ExitCode.USAGE


# -- A run that goes to the background -----------------------------------------------------------


_PATIENCE = 20.0
_PAUSE = 0.05


def detach(
    arguments: argparse.Namespace, context: Context, file: PlanFile, terminal: Terminal
) -> ExitCode:
    """Start the run apart from this process; return when it has begun, or why it has not."""
    journal = context.journal()
    before = journal.head().seq
    log = os.path.join(context.state.folder, "runs", f"{file.slug}.log")
    background = StartedApart(_words(arguments, context, file), log=log)
    end = time.monotonic() + _PATIENCE
    begun = Query(plan=file.slug, events=(EventKind.EXECUTION_STARTED,), after=before)
    while time.monotonic() < end:
        if any(True for _ in journal.read(begun)):
            break
        code = background.exit_code()
        if code is not None:
            terminal.note(background.said().rstrip())
            return ExitCode(code)
        time.sleep(_PAUSE)
    if arguments.json:
        terminal.json(InBackground(slug=file.slug, pid=background.pid, log=log))
    else:
        terminal.out(f"`{file.slug}` runs in the background, process {background.pid}")
        terminal.note(f"follow it with `planbound attach {shlex.quote(file.slug)}`")
    return ExitCode.DONE


def _words(arguments: argparse.Namespace, context: Context, file: PlanFile) -> list[str]:
    words = ["--workspace", context.root]
    if arguments.state:
        words += ["--state", os.path.abspath(arguments.state)]
    words += ["run", file.path, "--stay", "--no-input"]
    if arguments.jobs:
        words += ["--jobs", str(arguments.jobs)]
    if arguments.wait is not None:
        words.append("--wait" if arguments.wait else "--no-wait")
    if arguments.anyway:
        words.append("--anyway")
    if arguments.fresh:
        words.append("--fresh")
    return words


# -- `planbound run` -----------------------------------------------------------------------------


def configure_run(parser: argparse.ArgumentParser) -> None:
    configure(parser)
    parser.add_argument(
        "--stage",
        action="store_true",
        help="first take in a file from elsewhere, as `stage --from` and `activate` do",
    )


def run_run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Run an approved plan, or go on where the proof ends."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    context.fresh = arguments.fresh
    heal(context)
    if getattr(arguments, "stage", False):  # `resume` has no such option
        arguments.plan = _taken_in(arguments.plan, context, terminal)
    context, file, _ = read_bound_plan(arguments.plan, context)
    context.demand_own(file)
    note_pending(context, file.slug, terminal)
    if arguments.detach:
        return detach(arguments, context, file, terminal)
    return Face(arguments, context, file, terminal).execute()


def _taken_in(reference: str | None, context: Context, terminal: Terminal) -> str | None:
    """Take a file in that is no plan of the workspace yet; return where the plan is then."""
    file = locate(reference, context.tree)
    if context.holds(file.path):
        return reference
    from planbound.workspace.shelves import take_in  # noqa: PLC0415 - seldom

    taken = take_in(context, file)
    for move in taken.moves:
        excuse(move.unrecorded, terminal)
        terminal.note(f"wrote {visible(move.file.shown)}")
    return taken.file.path


# -- `planbound resume` --------------------------------------------------------------------------


def configure_resume(parser: argparse.ArgumentParser) -> None:
    configure(parser)


def run_resume(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Go on with a run that was stopped, cut off, or failed."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    context.fresh = arguments.fresh
    heal(context)
    if arguments.plan is None:
        found = pending(context)
        if len(found) > 1:
            raise UsageError(
                f"several runs can go on: {', '.join(found)}",
                hint=f"`planbound resume {shlex.quote(found[0])}`",
            )
        # Without one that was stopped: that of the plan which this place is bound to.
        arguments.plan = found[0] if found else None
        if not found and not _has_begun(context):
            raise NothingToDo("there is no run that could go on")
    return run_run(arguments, terminal)


def _has_begun(context: Context) -> bool:
    """Say whether the plan that this place is bound to was ever run."""
    journal = context.existing_journal()
    if journal is None:
        return False
    file, _ = read_plan(None, context)
    query = Query(plan=file.slug, events=(EventKind.EXECUTION_STARTED,), last=1)
    return any(True for _ in journal.read(query))


_ENDS: Shapes = {"": RunEnd, "--detach": InBackground}
SHAPES: dict[str, Shapes] = {
    "run": _ENDS,
    "resume": _ENDS,
}
