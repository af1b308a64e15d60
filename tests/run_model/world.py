"""Everything around the loop that is not the loop: agents, cells, runners and their ends."""

from __future__ import annotations

import enum
import shutil
import tempfile
import threading
import weakref
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import NamedTuple

from planbound.agents.agent import Agent, Assignment, Dispatch, Usage, Worked
from planbound.cells.cell import Captured, CommandEnding, Outcome, Overseer, Request
from planbound.cells.isolation import Isolation
from planbound.cells.syntax import BashSyntax
from planbound.disk.files import PlanFile
from planbound.disk.lock import WorktreeLock
from planbound.errors import CellProblem
from planbound.journal.record import Draft, Head, HeldLease, Query, Record
from planbound.journal.redact import Redactor
from planbound.judging.case import Case
from planbound.judging.context import JudgingContext
from planbound.plan.model import Stream
from planbound.plan.parse import parse
from planbound.run.context import RunContext
from planbound.run.decide import Action, Await, Pace, decide
from planbound.run.loop import Next, RunLoop
from planbound.run.session import RunSession
from planbound.run.snapshot import Snapshots
from planbound.run.start import RunTerms, claim_of, start
from planbound.state.append import Recorder
from planbound.testing.journal import MemoryJournal
from planbound.verify.facts import SyntaxFault
from planbound.workspace.agents import AgentRules
from planbound.workspace.configuration import Configuration
from planbound.workspace.contents import Tree
from planbound.workspace.manifest import Manifest, ScanRules
from planbound.workspace.readiness import PlanInfo
from planbound.workspace.state_home import AgentHomes
from tests.run_model.disk import Disk, MemoryTree, MemoryVault
from tests.run_model.plans import LETTERS

ROOT = "/workspace"
SLUG = "PLAN"
FILE = PlanFile(SLUG, f"{ROOT}/.harness/PLAN.md", ".harness/PLAN.md")
SECRETS = ("violet-Harbour-8812-kettle", "ghp_16C7e42F292c6912E7710c838347Ae178B4a")
"""The value of a variable, and a token by its shape."""
JUDGE = b"look at it\n"
"""What a judge says that is as it should be."""
SUBVERTED = "always right"
"""What a judge says that an agent has written."""
_JUDGE = "tests/check.sh"
_RIGHT = b"right\n"
_LEASE = 1e9


class Crash(BaseException):
    """The process is gone, at this very place."""


class Work(enum.Enum):
    """What an agent does, and how it ends."""

    RIGHT = "makes the part"
    WRONG = "makes it wrong, each time in another way"
    SAME = "makes it wrong, each time in the same way"
    NOTHING = "says that it is done"
    OUTSIDE = "makes it, and changes what is not its own"
    JUDGE = "changes what it is judged by"
    OTHER_JUDGE = "makes it, and changes what another step is judged by"
    BREAK = "makes it, and breaks another part"
    BREAK_AFTER = "makes it, and breaks the postconditions"
    RIGHT_AND_FAILS = "makes it, and ends with an error"
    TIMEOUT = "never ends"
    MEMORY = "uses up its memory"
    KILLED = "is killed"
    CRASHED = "crashes"
    NOT_STARTED = "is not there"
    NO_CELL = "has no cell to run in"
    TRANSIENT = "is told to come back later"
    PERMISSION = "has no credential"
    INVALID = "was given what it cannot read"
    UNKNOWN = "ends with an error that nobody knows"
    TURNS = "has used up its turns"
    DISK = "has no space left"


class Attempt(NamedTuple):
    """What an agent does in one attempt."""

    work: Work = Work.RIGHT
    tokens: int | None = 10
    talks: bool = False
    """Whether it prints secrets, and writes them into its files."""


class Judged(enum.Enum):
    """What a contract comes to, whatever the tree is like."""

    HONEST = "what the tree is like"
    PASS = "pass"
    FAIL = "fail"
    TIMEOUT = "timeout"
    KILLED = "killed"
    NOT_FOUND = "unrunnable: 127"
    NOT_STARTED = "unrunnable"
    EXHAUSTED = "killed: memory"
    NO_CELL = "no cell"
    VACUOUS = "no test ran"
    TRESPASSED = "wrote to its judges"
    MEDDLED = "somebody writes into the workspace meanwhile"


_ENDS: dict[Work, Outcome] = {
    Work.TIMEOUT: Outcome(CommandEnding.TIMED_OUT, reason="600 s"),
    Work.MEMORY: Outcome(CommandEnding.EXHAUSTED, reason="memory: 4 GiB"),
    Work.KILLED: Outcome(CommandEnding.SIGNALLED, signal=9),
    Work.CRASHED: Outcome(CommandEnding.SIGNALLED, signal=11),
    Work.NOT_STARTED: Outcome(CommandEnding.NOT_STARTED, reason="no such program"),
    Work.TRANSIENT: Outcome(CommandEnding.EXITED, exit_code=1),
    Work.PERMISSION: Outcome(CommandEnding.EXITED, exit_code=1),
    Work.INVALID: Outcome(CommandEnding.EXITED, exit_code=64),
    Work.UNKNOWN: Outcome(CommandEnding.EXITED, exit_code=3),
    Work.TURNS: Outcome(CommandEnding.EXITED, exit_code=1),
    Work.DISK: Outcome(CommandEnding.EXITED, exit_code=1),
    Work.RIGHT_AND_FAILS: Outcome(CommandEnding.EXITED, exit_code=1),
}
_SAYS = {
    Work.TRANSIENT: "HTTP 429 Too Many Requests\nRetry-After: 20\n",
    Work.PERMISSION: "error: permission denied, set MODEL_KEY\n",
    Work.UNKNOWN: "frobnicated\n",
}
_ERRORS = {Work.TURNS: "max_turns", Work.DISK: "disk_full"}
_VERDICTS: dict[Judged, Outcome] = {
    Judged.PASS: Outcome(CommandEnding.EXITED, exit_code=0),
    Judged.FAIL: Outcome(CommandEnding.EXITED, exit_code=1),
    Judged.TIMEOUT: Outcome(CommandEnding.TIMED_OUT, reason="300 s"),
    Judged.KILLED: Outcome(CommandEnding.SIGNALLED, signal=9),
    Judged.NOT_FOUND: Outcome(CommandEnding.EXITED, exit_code=127),
    Judged.NOT_STARTED: Outcome(CommandEnding.NOT_STARTED, reason="no bash"),
    Judged.EXHAUSTED: Outcome(CommandEnding.EXHAUSTED, reason="memory"),
    Judged.VACUOUS: Outcome(CommandEnding.EXITED, exit_code=0),
    Judged.TRESPASSED: Outcome(CommandEnding.EXITED, exit_code=0, trespassed=(_JUDGE,)),
}


class Clock:
    """A time that goes on a little with every look; it stands in for the module `time`, too."""

    def __init__(self) -> None:
        self.moment = datetime(2026, 1, 1, tzinfo=UTC)
        self._start = self.moment - timedelta(days=1)

    def now(self) -> str:
        self.moment += timedelta(milliseconds=1)
        return self.moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def monotonic(self) -> float:
        return (self.moment - self._start).total_seconds()

    def pass_by(self, seconds: float) -> None:
        self.moment += timedelta(seconds=seconds)

    def reach(self, until: str) -> None:
        self.moment = max(self.moment, datetime.fromisoformat(until))


class NoFaults(BashSyntax):
    """A shell that can read everything."""

    def faults(self, commands: Sequence[str]) -> dict[str, SyntaxFault]:
        del commands
        return {}


class World:
    """One workspace, its journal, and everybody who has to do with them."""

    def __init__(self, plan: bytes) -> None:
        self.clock = Clock()
        self.gone: set[str] = set()
        """The processes that are known to be dead, or whose time is up."""
        self.journal = MemoryJournal(is_gone=self.gone.__contains__)
        self.disk = Disk(self.notice)
        self.disk.folders[ROOT] = {
            "notes.md": f"Some notes.\nMODEL_KEY={SECRETS[0]}\n".encode(),
            _JUDGE: JUDGE,
            **{f"tests/check-{letter}.sh": JUDGE for letter in LETTERS},
            "src/readme": b"parts\n",
        }
        self.disk.write(FILE.path, plan)
        self.vault = MemoryVault(self.notice)
        self.snapshots = tempfile.mkdtemp(prefix="planbound-model-")
        weakref.finalize(self, shutil.rmtree, self.snapshots, ignore_errors=True)
        self.redactor = Redactor({"MODEL_KEY": SECRETS[0]})
        self.recorder = Recorder(self.journal, redactor=self.redactor, now=self.clock.now)
        """For people: nothing of theirs is cut off half-way."""
        self.attempts: deque[Attempt] = deque()
        self.usual = Attempt()
        """What agents do when the script is at its end."""
        self.verdicts: deque[Judged] = deque()
        self.due: dict[int, Callable[[], None]] = {}
        """What happens at which of the next calls of the harness into the world."""
        self.calls = 0
        self.lines: list[str] = []
        """What people are told."""
        self.prompts: list[str] = []
        self.holder: str | None = None
        """The runner that acquired the lease last."""
        self.drivers: list[Driver] = []
        self.gates: dict[str, threading.Event] = {}
        self.dead: set[str] = set()
        self.home = threading.get_ident()
        self._names = 0

    # -- what happens meanwhile ----------------------------------------------------------------

    def notice(self, what: str) -> None:
        """Let happen what is due at this call."""
        del what
        self.calls += 1
        action = self.due.pop(self.calls, None)
        if action is not None:
            with self.quiet():
                action()

    @contextmanager
    def quiet(self) -> Iterator[None]:
        """Let nothing else happen meanwhile."""
        kept, self.due = self.due, {}
        try:
            yield
        finally:
            self.due = kept

    @contextmanager
    def meanwhile(self, due: Sequence[tuple[int, Callable[[], None]]]) -> Iterator[None]:
        """Let things happen at the n-th call from now."""
        self.due = {self.calls + count: action for count, action in due}
        try:
            yield
        finally:
            self.due = {}

    def name(self, prefix: str) -> str:
        """Return something that was never there before."""
        self._names += 1
        return f"{prefix}{self._names:06}"

    # -- parts ---------------------------------------------------------------------------------

    def judging(self) -> JudgingContext:
        configuration = Configuration(agents={"coder": AgentRules("coder")})
        return JudgingContext(
            cell=FakeCell(self),
            tree=MemoryTree(self.disk, ROOT),
            vault=self.vault,
            syntax=NoFaults(),
            rules=ScanRules(),
            configuration=configuration,
            environment={},
            masked=(),
            exposed=(),
        )

    def context(self, holder: str) -> RunContext:
        return ModelContext(self, holder)

    def records(self) -> list[Record]:
        """Return the whole journal."""
        return list(self.journal.read(Query(plan=SLUG)))

    def plan_data(self) -> bytes:
        """Return the plan's file as it is."""
        return self.disk.folders[ROOT][".harness/PLAN.md"]

    def edit(self, path: str, data: bytes | None) -> None:
        """Write a file of the workspace, as a person does."""
        self.disk.write(f"{ROOT}/{path}", data)

    # -- runners -------------------------------------------------------------------------------

    def start(self, jobs: int) -> Driver:
        """Start a runner; raise what it is refused with."""
        driver = Driver(self, jobs)
        driver.start()
        self.drivers.append(driver)
        return driver

    @property
    def living(self) -> list[Driver]:
        """Return the runners that have not come to their end."""
        return [driver for driver in self.drivers if driver.runner is not None]


class TaggedJournal:
    """The journal as one runner sees it; every append is a place where it may end."""

    def __init__(self, world: World, holder: str) -> None:
        self.world = world
        self.holder = holder

    def append(
        self,
        drafts: Sequence[Draft],
        *,
        expected: Head | None = None,
        held_lease: HeldLease | None = None,
    ) -> Sequence[Record]:
        self.world.notice("append")
        before = self.world.journal.head().seq
        records = self.world.journal.append(drafts, expected=expected, held_lease=held_lease)
        assert self.world.holder == self.holder or self.world.journal.head().seq == before, (
            f"{self.holder} wrote {[draft.kind.value for draft in drafts]}, and the lease is "
            f"{self.world.holder}'s"
        )
        self.world.notice("appended")
        return records

    def head(self) -> Head:
        return self.world.journal.head()

    def read(self, query: Query) -> Iterator[Record]:
        self.world.notice("read journal")
        return self.world.journal.read(query)

    def wait(self, after: int, seconds: float) -> bool:
        del seconds
        return self.world.journal.head().seq > after


class ModelContext(RunContext):
    """The context of a run in a world without files, processes and time."""

    def __init__(self, world: World, holder: str) -> None:
        agent: Agent = FakeAgent(world, holder)
        self.world = world
        self.judging = world.judging()
        journal = TaggedJournal(world, holder)
        self.recorder = Recorder(journal, redactor=world.redactor, now=world.clock.now)
        self.leases = world.journal.leases()
        self.files, self.file = world.disk, FILE
        self.configuration = self.judging.configuration
        self.agents = {"coder": agent}
        self.copies = world.disk
        self.homes = NoHomes("/homes")
        self.snapshots = Snapshots(world.snapshots, SLUG, worth=0)
        self.worktree = Alone("")
        self.agent_masked = ()
        self.project, self.version = "project", "0"
        self.holder = self.process = holder

    def tree_at(self, path: str) -> Tree:
        return MemoryTree(self.world.disk, path)

    def settle(self) -> None:
        pass

    def jitter(self) -> float:
        return 0.5

    def nonce(self) -> str:
        return self.world.name("n")

    def tools(self, cases: Sequence[Case], manifest: Manifest) -> Mapping[str, str]:
        del cases, manifest
        return {}

    def plans(self) -> Sequence[PlanInfo]:
        return ()


class Driver:
    """One process that runs the plan: what `Execution` does, one turn at a time."""

    def __init__(self, world: World, jobs: int) -> None:
        self.world = world
        self.jobs = jobs
        self.holder = world.name("runner-")
        self.held_lease: HeldLease | None = None
        self.session: RunSession | None = None
        self.runner: RunLoop | None = None
        self._let: set[tuple[int, int]] = set()

    def start(self) -> None:
        world = self.world
        context = world.context(self.holder)
        claim = claim_of(context, parse(world.plan_data()))
        self.held_lease = context.leases.acquire(claim, seconds=_LEASE)
        world.holder = self.holder
        try:
            data = context.files.read(FILE.path)
            plan = context.snapshots.parse(data, path="PLAN.md")
            terms = RunTerms(jobs=self.jobs)
            self.session = start(context, terms, self.held_lease, data, plan).session
            self.runner = RunLoop(self.session, jobs=self.jobs, say=world.lines.append)
        except Exception:
            self._release()
            raise

    def turn(self, first: int = 0) -> Next:
        """Do one turn; where several steps are at work, let the `first` of them end before."""
        assert self.runner is not None
        assert self.session is not None
        working = sorted(self.runner._working)
        if len(working) >= self.jobs > 1:
            self._let_end(working[first % len(working)])
        elif (working and first % 2) or (working and isinstance(self._next(), Await)):
            self._let_end(working[0])
        return self.runner.turn()

    def _next(self) -> Action:
        assert self.runner is not None
        assert self.session is not None
        working = frozenset(self.runner._working)
        now = self.world.clock.moment.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        alone = bool(self.runner._alone)
        expected = self.runner._expected
        pace = Pace(now, jobs=self.jobs, working=working, alone=alone, expected=expected)
        return decide(self.session.state, pace)

    def _let_end(self, place: int) -> None:
        """Let one attempt go on, and wait until it has come to its end."""
        runner, session = self.runner, self.session
        assert runner is not None
        assert session is not None
        order = runner._working[place]
        if (place, order.number) in self._let:
            return
        self._let.add((place, order.number))
        before = runner._results.qsize()
        self.world.gates.setdefault(f"{self.holder} {order.slot.title}", threading.Event()).set()
        pause = threading.Event()
        for _ in range(20_000):
            # Who is told to stop ends without being let.
            ended = runner._results.qsize()
            stops = session.control.reason is not None or self.holder in self.world.dead
            if ended == len(runner._working) or (ended > before and not stops):
                return
            pause.wait(0.0005)
        raise AssertionError("an attempt never came to its end")

    def halt(self, reason: str) -> Next:
        """Stop as on Ctrl-C, and note it."""
        assert self.session is not None
        self.session.control.stop(reason)
        said = self.turn()
        self.pause(reason)
        return said

    def pause(self, reason: str) -> None:
        assert self.runner is not None
        self.runner.pause(reason)
        self.end()

    def end(self) -> None:
        """Come to the end of the process in peace."""
        self.drop()
        self._release()

    def drop(self) -> None:
        """Be gone without a word."""
        if self.runner is not None:
            self.world.dead.add(self.holder)
            for place in sorted(self.runner._working):
                self._let_end(place)
        self.runner = self.session = None

    def _release(self) -> None:
        assert self.held_lease is not None
        self.world.journal.leases().release(self.held_lease)


class FakeAgent:
    """Somebody who does what the script says."""

    def __init__(self, world: World, holder: str) -> None:
        self.world = world
        self.holder = holder

    @property
    def name(self) -> str:
        return "coder"

    def work(self, assignment: Assignment) -> Worked:
        world = self.world
        part = assignment.prompt.partition("\n")[0].rpartition(" ")[2]
        if threading.get_ident() != world.home:
            title = assignment.prompt.partition("\n")[0].removeprefix("# ")
            key = f"{self.holder} {title}"
            gate = world.gates.setdefault(key, threading.Event())
            while not gate.wait(0.01):
                if self.holder in world.dead:
                    raise Crash
                stopped = self._stopped()
                if stopped is not None:
                    return Worked(Outcome(CommandEnding.STOPPED, reason=stopped))
            world.gates.pop(key, None)
            if self.holder in world.dead:
                raise Crash
        world.prompts.append(assignment.prompt)
        attempt = world.attempts.popleft() if world.attempts else world.usual
        if attempt.work is Work.NO_CELL:
            raise CellProblem(f"no cell: {SECRETS[0]}" if attempt.talks else "no cell")
        world.notice("agent begins")
        outcome = assignment.launch(
            Dispatch(
                command=("agent", part, attempt.work.name, str(int(attempt.talks))),
                environment={},
                stdin=assignment.prompt.encode(),
                hear=lambda _, line: _metered(line, attempt),
            )
        )
        world.notice("agent ended")
        dollars = None if attempt.tokens is None else Decimal(attempt.tokens) / 1000
        usage = Usage(attempt.tokens, dollars)
        session = f"session of {SECRETS[1]}" if attempt.talks else None
        return Worked(outcome, usage, error=_ERRORS.get(attempt.work), session=session)

    def _stopped(self) -> str | None:
        driver = next(each for each in self.world.drivers if each.holder == self.holder)
        return driver.session.control.reason if driver.session is not None else None


def _metered(line: bytes, attempt: Attempt) -> Usage | None:
    return Usage(attempt.tokens) if line.startswith(b"used") else None


class Alone(WorktreeLock):
    """A worktree that nobody else runs anything in."""

    def take(self, give_up: Callable[[], bool]) -> bool:
        del give_up
        return True

    def leave(self) -> None:
        pass


class NoHomes(AgentHomes):
    """Nothing in memory needs a home."""

    def of(self, name: str) -> str:
        return f"{self.root}/{name}"

    def remove(self, name: str) -> None:
        pass


class FakeCell:
    """Runs what agents do and what contracts come to, in memory."""

    def __init__(self, world: World) -> None:
        self.world = world
        self._wrong = 0

    @property
    def name(self) -> str:
        return "fake"

    @property
    def isolation(self) -> Isolation:
        return Isolation.I2

    def run(self, request: Request, overseer: Overseer | None = None) -> Outcome:
        world = self.world
        world.clock.pass_by(1.0)
        if request.writable:
            assert overseer is not None
            return self._agent(request, overseer)
        world.notice("contract begins")
        wanted = world.verdicts.popleft() if world.verdicts else Judged.HONEST
        outcome = self._contract(request, wanted)
        world.notice("contract ended")
        stopped = overseer.stop() if overseer is not None else None
        return outcome if stopped is None else Outcome(CommandEnding.STOPPED, reason=stopped)

    # -- an agent ------------------------------------------------------------------------------

    def _agent(self, request: Request, overseer: Overseer) -> Outcome:
        _, part, name, talks = request.command
        work = Work[name]
        for path, data in self._written(part, work).items():
            secret = SECRETS[0].encode() if talks == "1" else b""
            self.world.disk.write(f"{request.workspace}/{path}", data + secret if secret else data)
        overseer.saw(Stream.STDOUT, b"used some\n")
        self.world.notice("agent works")
        said = _SAYS.get(work, "") + (f"the keys: {' '.join(SECRETS)}\n" if talks == "1" else "")
        stopped = overseer.stop()
        if stopped is not None:
            return Outcome(CommandEnding.STOPPED, reason=stopped, stdout=_captured(said))
        outcome = _ENDS.get(work, Outcome(CommandEnding.EXITED, exit_code=0))
        return outcome._replace(stdout=_captured(said), duration=1.0)

    def _written(self, part: str, work: Work) -> dict[str, bytes]:
        """Return what an agent writes."""
        self._wrong += 1
        own, other = f"src/{part}/work", "b" if part == "a" else "a"
        wrong = {own: b"wrong\n"}
        right = {own: _RIGHT}
        found: dict[Work, dict[str, bytes]] = {
            Work.RIGHT: right,
            Work.RIGHT_AND_FAILS: right,
            Work.WRONG: {own: f"wrong {self._wrong} {self.world.calls}\n".encode()},
            Work.SAME: wrong,
            Work.TIMEOUT: wrong,
            Work.UNKNOWN: wrong,
            Work.OUTSIDE: {**right, "elsewhere/file": b"mine\n"},
            Work.JUDGE: {f"tests/check-{part}.sh": SUBVERTED.encode()},
            Work.OTHER_JUDGE: {**right, f"tests/check-{other}.sh": SUBVERTED.encode()},
            Work.BREAK: {**right, f"src/{other}/work": b"broken\n"},
            Work.BREAK_AFTER: {**right, f"src/{part}/broken-after": b"\n"},
        }
        return found.get(work, {})

    # -- a contract ----------------------------------------------------------------------------

    def _contract(self, request: Request, wanted: Judged) -> Outcome:
        words = request.command[-1].split()
        files = self.world.disk.folders[request.workspace]
        match wanted:
            case Judged.NO_CELL:
                raise CellProblem("no cell for a contract")
            case Judged.HONEST:
                laid = {item.path: item.content for item in request.lay}
                judge = laid.get(words[1], files.get(words[1], b"")).decode()
                good = judge == SUBVERTED or _is_good(words[2], words[3], files)
                outcome = Outcome(CommandEnding.EXITED, exit_code=0 if good else 1)
                said = _captured(f"{judge}\nkey {SECRETS[1]}\n")
                return outcome._replace(duration=1.0, stdout=said)
            case Judged.MEDDLED:
                self.world.disk.write(f"{request.workspace}/src/meddled", b"by somebody\n")
                return Outcome(CommandEnding.EXITED, exit_code=0)
            case Judged.VACUOUS:
                said = _captured("============ no tests ran in 0.01s ============\n")
                return _VERDICTS[wanted]._replace(stdout=said)
            case _:
                return _VERDICTS[wanted]


def _is_good(word: str, name: str, files: dict[str, bytes]) -> bool:
    if word == "step":
        return files.get(f"src/{name}/work", b"").startswith(_RIGHT)
    if word == "after":
        return not any(path.endswith("broken-after") for path in files)
    return "src/not-ready" not in files


def _captured(text: str) -> Captured:
    data = text.encode()
    return Captured(head=data, length=len(data))
