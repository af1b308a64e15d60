"""Looks at plans before their gate: every contract is run once, while the person waits elsewhere.

What was looked at is kept until it is decided about, or the page ends: an approval is one of
exactly what was shown.
"""

from __future__ import annotations

import threading
import traceback
from typing import NamedTuple

from planbound.approval.approve import Shown, bring, present
from planbound.approval.sheet import find_faults
from planbound.cells.cell import Stage
from planbound.disk.files import PlanFile
from planbound.errors import NothingToDo, PlanboundError, Refused
from planbound.git.place import at_worktree
from planbound.workspace.context import Context


class LookResult(NamedTuple):
    """What came of a look at every contract of a plan."""

    shown: Shown | None
    problem: str = ""
    """Why there is nothing to approve."""
    hint: str = ""


class LookJob:
    """One look, in a thread of its own."""

    def __init__(self, context: Context, file: PlanFile, *, missing_tools: bool) -> None:
        self.stage = ""
        """What is run now."""
        self.result: LookResult | None = None
        """None while it goes on."""
        self.ended = threading.Event()
        self._lock = threading.Lock()
        self._is_forgotten = False
        self._file = file
        self._missing_tools = missing_tools
        self._context = context
        context.on_stage = self._on_stage
        self._thread = threading.Thread(target=self._run, name=f"look at {file.slug}", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Let go of what it has opened."""
        self._context.close()
        if self.result is not None and self.result.shown is not None:
            self.result.shown.candidate.context.close()

    def forget(self) -> None:
        """Let go of what it has opened, or will have opened when it ends."""
        with self._lock:
            self._is_forgotten = True
            if self.ended.is_set():
                self.close()

    def _on_stage(self, stage: Stage | None) -> None:
        if stage is not None:
            of = f" of {stage.total}" if stage.total else ""
            self.stage = f"{stage.doing} {stage.place}{of}: {stage.command}"

    def _run(self) -> None:
        try:
            self.result = self._look()
        except NothingToDo as refusal:
            self.result = LookResult(None, refusal.message, refusal.hint or "")
        except PlanboundError as error:
            self.result = LookResult(None, error.message, error.hint or "")
        except Exception as error:  # noqa: BLE001 - a thread must not end without a word
            traceback.print_exception(error)
            self.result = LookResult(
                None, "something went wrong; the terminal of the page says what"
            )
        finally:
            with self._lock:
                if self._is_forgotten:
                    self.close()
                self.ended.set()

    def _look(self) -> LookResult:
        file = self._file
        context = at_worktree(self._context, file)
        context.on_stage = self._on_stage
        candidate = bring(context, file, context.reader.read(file.path))
        found = candidate.verified()
        faults = find_faults(found, missing_tools=self._missing_tools)
        if faults.templates:
            raise Refused(f"step {faults.templates[0]} is a template", hint="write it out first")
        if faults.errors:
            first = faults.errors[0]
            why = f"line {first.line}: {first.message}"
            raise Refused(
                f"the plan has errors, so it cannot be approved: {why}",
                hint="the editor shows each of them",
            )
        return LookResult(present(candidate, found))


class LookDesk:
    """The last look at each plan."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._jobs: dict[str, LookJob] = {}

    def begin(self, context: Context, file: PlanFile, *, missing_tools: bool) -> LookJob:
        """Begin to look at a plan; who asks while somebody else looks waits for the same look."""
        with self._lock:
            job = self._jobs.get(file.slug)
            if job is None or job.ended.is_set():
                if job is not None:
                    job.close()
                job = LookJob(context, file, missing_tools=missing_tools)
                self._jobs[file.slug] = job
                job.start()
            return job

    def last(self, slug: str) -> LookJob | None:
        """Return the last look at a plan; None before the first one."""
        with self._lock:
            return self._jobs.get(slug)

    def forget(self, slug: str) -> None:
        """Forget it: it was decided about."""
        with self._lock:
            job = self._jobs.pop(slug, None)
        if job is not None:
            job.forget()
