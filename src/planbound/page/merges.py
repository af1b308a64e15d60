"""Merges that were begun on the page: they go on in a thread while people look elsewhere."""

from __future__ import annotations

import threading
import traceback
from collections.abc import Iterator, Sequence

from planbound.cells.cell import Stage
from planbound.cells.stages import stage_line
from planbound.errors import INTERRUPTED, PlanboundError, Refused
from planbound.receipts.keep import keep_landed
from planbound.team.integrate import Integrator
from planbound.team.merge import Integrated, MergeResult, Note
from planbound.workspace.context import Context


class MergeJob:
    """One integration, in a thread of its own."""

    def __init__(self, context: Context, plans: Sequence[str], into: str) -> None:
        self.plans = tuple(plans)
        self.into = into
        self.stage = ""
        """What is judged now."""
        self.results: list[MergeResult] = []
        """What became of each plan so far."""
        self.notes: list[str] = []
        self.done: Integrated | None = None
        """None while it goes on, and where it broke down."""
        self.problem = ""
        """Why it broke down."""
        self.ended = threading.Event()
        self._integrator: Integrator | None = None
        self._stopped: str | None = None
        """Why it was asked to end."""
        self._context = context
        context.on_stage = self._on_stage
        self._thread = threading.Thread(target=self._run, name="integrate", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, reason: str) -> None:
        """Ask it to end, as Ctrl-C does on the command line: in peace, with what is done kept."""
        self._stopped = reason
        if self._integrator is not None:
            self._integrator.stop(reason)

    def _on_stage(self, stage: Stage | None) -> None:
        self.stage = "" if stage is None else stage_line(stage, 0.0)

    def _tell(self, told: MergeResult | Note) -> None:
        if isinstance(told, Note):
            self.notes.append(told.text)
        else:
            self.results.append(told)

    def _run(self) -> None:
        try:
            integrator = Integrator(self._context, self.plans, self.into, self._tell)
            self._integrator = integrator
            if self._stopped is not None:
                integrator.stop(self._stopped)
            self.done = integrator.execute()
            landed = [(each.plan, each.commit) for each in self.done.landed
                      if each.commit is not None]  # fmt: skip
            self.notes += keep_landed(self._context, landed)
        except PlanboundError as error:
            self.problem = f"{error.message}. {error.hint or ''}".strip()
        except KeyboardInterrupt:  # it was asked to end while somebody else integrated
            self.problem = "it was stopped before it began"
        except Exception as error:  # noqa: BLE001 - a thread must not end without a word
            traceback.print_exception(error)
            self.problem = "something went wrong; the terminal of the page says what"
        finally:
            self._context.close()
            self.ended.set()


class MergeDesk:
    """The last integration that was begun here: there is one at a time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.last: MergeJob | None = None

    def begin(self, context: Context, plans: Sequence[str], into: str) -> MergeJob:
        """Begin to merge; refuse where it goes on already."""
        with self._lock:
            if self.last is not None and not self.last.ended.is_set():
                raise Refused("plans are merged here already", hint="wait until that is over")
            self.last = MergeJob(context, plans, into)
            self.last.start()
            return self.last

    def end(self) -> Iterator[str]:
        """End an integration that goes on, and wait until it is over; yield that it is waited."""
        job = self.last
        if job is None or job.ended.is_set():
            return
        job.stop(INTERRUPTED)
        yield f"stopping to merge into `{job.into}`; once more stops at once"
        job.ended.wait()
