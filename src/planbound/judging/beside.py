"""Runs beside each other: a contract with those that follow its pass, and looks at the gate.

What follows a pass begins while the contract still runs, where a core is free. It is stopped as
soon as the contract does not pass, and thrown away wherever a neighbour may be the reason for how
it ended, and where a run made calls by which it could find out what runs beside it: then it is run
again, by itself. So a verdict is what it is without this.

All of them have the same priority: a product that could tell its contract's run from the others
would behave in these.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Self, TypeVar

from msgspec.structs import replace

from planbound.cells.cell import Cell, CommandEnding, Outcome, Overseer, Request, Stage
from planbound.cells.host import unheard
from planbound.cells.isolation import Isolation
from planbound.journal.event import VerdictKind
from planbound.plan.model import Stream

if TYPE_CHECKING:
    from types import TracebackType

    from planbound.judging.case import Case
    from planbound.judging.context import JudgingContext
    from planbound.judging.verdict import Verdict

_T = TypeVar("_T")

_MOMENT = 0.25
"""What ends within so many seconds has no companions: to begin and stop them would take longer."""
_SHARED = 0.5
"""The part of its time limit that a contract may have neighbours; then it is alone."""
_MOST_LOST = 1 + 2 / 3 * _SHARED
"""How many times its limit a contract takes at most that keeps to it alone, and gets a third of the
machine while it has neighbours."""
_FREE = 0.25
"""How much of a core has to be free for a companion to begin."""
_HERTZ = 100.0
"""How often the kernel counts in a second, in what it shows."""


def jobs(judging: JudgingContext) -> int:
    """Return how many runs may go on at once.

    Only behind walls of their own: on one network or in one `/tmp` they would meet. And only where
    it is heard when they meet anyway, at what the host shows to all of them.
    """
    apart = judging.cell.isolation.reaches(Isolation.I2) and not unheard()
    if not apart or judging.configuration.contracts.network:
        return 1
    # With one core, too: who waits leaves it to others.
    return judging.configuration.judging.jobs or max(2, len(os.sched_getaffinity(0)))


def in_turn(judging: JudgingContext) -> JudgingContext:
    """Return the same, but that runs go one after the other."""
    rules = replace(judging.configuration.judging, jobs=1)
    return judging._replace(configuration=replace(judging.configuration, judging=rules))


class UnclearError(Exception):
    """Something beside others came to an end that says nothing: it is run again by itself."""


# -- cells that can be stopped -------------------------------------------------------------------


class _Until:
    """Ends a command when nobody needs it any more."""

    def __init__(self, over: threading.Event) -> None:
        self._over = over

    def saw(self, stream: Stream, data: bytes) -> None:
        """Take no notice."""

    def stop(self) -> str | None:
        """Return why it has to end now."""
        return "nobody needs it any more" if self._over.is_set() else None


class StoppableCell:
    """A cell whose commands end when nobody needs them any more."""

    def __init__(self, cell: Cell, over: threading.Event) -> None:
        self._cell = cell
        self._over = over
        self.could_meet = False
        """Whether one of its commands made calls by which it could find out what runs beside it."""

    @property
    def name(self) -> str:
        """Return what it is made of."""
        return self._cell.name

    @property
    def isolation(self) -> Isolation:
        """Return the level that it reaches."""
        return self._cell.isolation

    def run(self, request: Request, _overseer: Overseer | None = None) -> Outcome:
        """Run a command; see `Cell`."""
        if self._over.is_set():
            return Outcome(CommandEnding.STOPPED, reason="nobody needs it any more")
        outcome = self._cell.run(request, _Until(self._over))
        if outcome.could_meet:
            self.could_meet = True
        return outcome


class _CompanionCell(StoppableCell):
    """The same, for commands that have to come to their own end."""

    def run(self, request: Request, _overseer: Overseer | None = None) -> Outcome:
        """Run a command to its own end; raise UnclearError where it has none."""
        outcome = super().run(request)
        # Time or memory may have been short because of a neighbour.
        if outcome.ending is not CommandEnding.EXITED or outcome.could_meet:
            raise UnclearError
        return outcome


# -- what runs beside a contract -----------------------------------------------------------------


class Companion(Generic[_T]):
    """Something that is found out in a thread of its own, if it is begun at all."""

    def __init__(self, find: Callable[[], _T]) -> None:
        self._find = find
        self._found: tuple[_T] | None = None
        self._thread = threading.Thread(target=self._run, name="companion")

    def _run(self) -> None:
        try:
            self._found = (self._find(),)
        except Exception:  # noqa: BLE001 - run again by itself it says the same, to who asks
            self._found = None

    def begin(self) -> None:
        """Begin."""
        self._thread.start()

    def wait(self, seconds: float) -> None:
        """Wait so long for it at most."""
        self._thread.join(seconds)

    def found(self) -> tuple[_T] | None:
        """Return what was found, when it is there; None: nobody can say."""
        if self._thread.ident is not None:
            self._thread.join()
        return self._found


class Beside:
    """Begins companions a moment after their contract, and ends with all of them dead."""

    def __init__(self, cell: Cell, seconds: float) -> None:
        self._over = threading.Event()
        self._ended = threading.Event()
        self._seconds = seconds
        self._companions: list[Companion[object]] = []
        self._starter = threading.Thread(target=self._start, name="beside")
        self.cell: StoppableCell = _CompanionCell(cell, self._over)
        self.has_begun = False

    def add(self, companion: Companion[_T]) -> Companion[_T]:
        """Let something begin with the others."""
        self._companions.append(companion)  # type: ignore[arg-type]  # only begun and joined here
        return companion

    def __enter__(self) -> Self:
        self._starter.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._over.set()
        self.contract_ended()
        for companion in self._companions:
            companion.found()

    def lenient(self, request: Request) -> Request:
        """Return the contract's request with as much time as it may lose to its neighbours."""
        limits = request.limits
        return request._replace(limits=limits._replace(seconds=limits.seconds * _MOST_LOST))

    def kept_apart(self) -> bool:
        """Wait for the companions; say whether no one of them could have met another run."""
        for companion in self._companions:
            companion.found()
        return not self.cell.could_meet

    def contract_ended(self) -> None:
        """Begin nothing more; what runs has the machine to itself."""
        self._ended.set()
        self._starter.join()

    def _start(self) -> None:
        until = time.monotonic() + self._seconds * _SHARED
        before = idle_seconds()
        while not self._ended.wait(_MOMENT) and time.monotonic() < until:
            now = idle_seconds()
            if now - before < _FREE * _MOMENT:
                before = now
                continue
            self.has_begun = True
            for companion in self._companions:
                companion.begin()
            if not self._ended.wait(max(0.0, until - time.monotonic())):
                self._over.set()
            return


def idle_seconds() -> float:
    """Return for how long the usable cores had nothing to do, all together, since they run."""
    cores = {f"cpu{number}" for number in os.sched_getaffinity(0)}
    try:
        with open("/proc/stat", encoding="ascii") as file:
            rows = [line.split() for line in file if line.startswith("cpu")]
    except OSError:
        return time.monotonic()  # as if one was always free
    return sum(int(row[4]) + int(row[5]) for row in rows if row[0] in cores) / _HERTZ


# -- several contracts at once, told in their order ----------------------------------------------


_STARVED = frozenset({VerdictKind.TIMEOUT, VerdictKind.KILLED})


def judged_together(
    judging: JudgingContext,
    cases: Sequence[Case],
    judge_one: Callable[[JudgingContext, Case], Verdict],
) -> Iterator[Verdict]:
    """Yield a verdict for every case, in their order, with as many at work as may be.

    All of them are over when this is, however it ends. One that lacked time or memory is judged
    again by itself, and so is one that could have met another.
    """
    from concurrent.futures import ThreadPoolExecutor, wait  # noqa: PLC0415 - start-up

    over = threading.Event()

    def find(place: int) -> tuple[Verdict, bool]:
        cell = StoppableCell(judging.cell, over)

        def told(stage: Stage | None) -> None:
            judging.on_stage(stage and stage._replace(place=place, total=len(cases)))

        verdict = judge_one(judging._replace(cell=cell, on_stage=told), cases[place - 1])
        return verdict, cell.could_meet

    with ThreadPoolExecutor(jobs(judging), thread_name_prefix="together") as pool:
        try:
            looks = [pool.submit(find, place) for place in range(1, len(cases) + 1)]
            for place, look in enumerate(looks, 1):
                verdict, could_meet = look.result()
                if could_meet or is_starved(verdict):
                    wait(looks)
                    verdict, _ = find(place)
                yield verdict
        finally:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)


def is_starved(verdict: Verdict) -> bool:
    """Say whether neighbours may be the reason for a verdict: it is asked for again, alone."""
    return verdict.kind in _STARVED or verdict.outcome is None


def found_together(
    judging: JudgingContext, places: Iterable[int], find: Callable[[JudgingContext, int], _T]
) -> list[tuple[_T, bool]]:
    """Return what is found at each place, with as many at work as may be, and if it could meet.

    All of them are over when this is, however it ends. Each runs what follows its pass in turn.
    """
    from concurrent.futures import ThreadPoolExecutor  # noqa: PLC0415 - start-up

    over = threading.Event()
    there = in_turn(judging)

    def look(place: int) -> tuple[_T, bool]:
        cell = StoppableCell(judging.cell, over)
        return find(there._replace(cell=cell), place), cell.could_meet

    with ThreadPoolExecutor(jobs(judging), thread_name_prefix="together") as pool:
        try:
            looks = [pool.submit(look, place) for place in places]
            return [each.result() for each in looks]
        finally:
            over.set()
            pool.shutdown(wait=False, cancel_futures=True)


# -- what is told meanwhile ----------------------------------------------------------------------


class StageTeller:
    """Tells who waits what is known of a contract so far, from any thread."""

    def __init__(self, judging: JudgingContext, stage: Stage) -> None:
        self._on_stage = judging.on_stage
        self._stage = stage
        self._parts: dict[str, str] = {}
        self._lock = threading.Lock()

    def tell(self, part: str, what: str) -> None:
        """Say what is known of a part; empty: nothing is to be said of it."""
        with self._lock:
            self._parts[part] = what
            text = ", ".join(filter(None, self._parts.values()))
            self._on_stage(self._stage._replace(part=text))
