"""Telling others while something else goes on, and never at its cost."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from planbound.errors import JournalProblem
from planbound.journal.event import EventKind
from planbound.journal.record import Details, Draft, Head, Journal, Query, Record
from planbound.journal.redact import Redactor
from planbound.testing.journal import MemoryJournal
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context
from planbound.workspace.notify import (
    BACKOFF,
    Cursor,
    Deliveries,
    Fate,
    Message,
    Messenger,
    Notify,
    NotifyCommand,
    Reception,
    Response,
    Webhook,
    identity,
)
from planbound.workspace.receivers import CursorFile, DeliveryThreads, Sender, make_courier
from tests.program import Program
from tests.receiver import PATIENCE, receiving, wait_until, wait_until_gone

LONG = 60.0
ANY = Notify(NotifyCommand(("any",)), seconds=LONG)


def draft(name: str) -> Draft:
    return Draft(
        id=name,
        timestamp="2026-11-15T09:10:11.000000Z",
        kind=EventKind.EXECUTION_COMPLETE,
        plan="rounding",
        details=Details.of({"completed": 3, "failed": 0, "skipped": 0, "waived": 0}),
    )


class Scripted(Sender):
    """A sender that answers as it is told, and remembers what it was asked."""

    def __init__(self, *answers: Reception) -> None:
        self.answers = list(answers)
        self.taken: list[str] = []
        self.tried: list[str] = []
        self.changed = threading.Condition()

    def send(self, entry: Notify, message: Message, is_stopped: Callable[[], bool]) -> Response:
        assert entry.target == ANY.target
        assert not is_stopped()
        with self.changed:
            self.tried.append(message.id)
            reception = self.answers.pop(0) if self.answers else Reception.TAKEN
            if reception is Reception.TAKEN:
                self.taken.append(message.id)
            self.changed.notify_all()
        return Response(reception, "as told" if reception is Reception.REFUSED else "")

    def wait_for(self, count: int) -> None:
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.tried) >= count, PATIENCE)


class Office:
    """A journal, a clock, and the file of cursors."""

    def __init__(self, folder: Path) -> None:
        self.journal: Journal = MemoryJournal()
        self.cursors = CursorFile(str(folder / "state/notify.json"), locks=str(folder / "locks"))
        self.time = 1_000_000.0
        self.workspace = folder / "workspace"
        self.workspace.mkdir()

    def deliveries(
        self, sender: Scripted | Sender, entries: Sequence[Notify] = (ANY,), place: str = ""
    ) -> Deliveries:
        messenger = Messenger(sender, Redactor({}), "project-1")
        made = Deliveries(self.journal, self.cursors, messenger, now=lambda: self.time, place=place)
        made.enter(entries)
        return made

    def sender(self, **extra: str) -> Sender:
        return Sender(str(self.workspace), {**os.environ, **extra}, Configuration())

    def happen(self, *names: str) -> None:
        self.journal.append([draft(name) for name in names])

    def cursor(self, entry: Notify = ANY) -> Cursor:
        found = self.cursors.read(identity(entry, ""))
        assert found is not None
        return found


@pytest.fixture
def office(tmp_path: Path) -> Office:
    return Office(tmp_path)


def attempt(deliveries: Deliveries, entry: Notify = ANY) -> Fate | None:
    with deliveries.alone(entry) as alone:
        assert alone
        tried = deliveries.attempt(entry)
    return tried.fate if tried else None


# -- one try after the other ---------------------------------------------------------------------


def test_pauses_grow_and_then_it_is_given_up(office: Office) -> None:
    entry = replace(ANY, retries=6)
    deliveries = office.deliveries(Scripted(*[Reception.REFUSED] * 7), [entry])
    office.happen("a", "b")
    pauses = []
    for _ in range(6):
        assert attempt(deliveries, entry) is Fate.FAILED
        pause = deliveries.wait(entry)
        assert pause is not None
        pauses.append(pause)
        office.time += pause - 0.5
        assert attempt(deliveries, entry) is None  # not yet
        office.time += 0.5
    assert pauses == [*BACKOFF, BACKOFF[-1]]
    assert attempt(deliveries, entry) is Fate.GIVEN_UP
    (missed,) = office.cursor(entry).given_up
    assert (missed.id, missed.seq, missed.event) == ("a", 1, "EXECUTION_COMPLETE")
    assert (missed.reason, missed.at) == ("as told", office.time)
    assert attempt(deliveries, entry) is Fate.DELIVERED
    assert deliveries.wait(entry) is None


def test_the_next_process_goes_on_where_the_last_one_was(office: Office) -> None:
    office.happen("old")
    first = office.deliveries(Scripted(Reception.TAKEN, Reception.REFUSED))
    office.happen("a", "b", "c")
    assert [attempt(first) for _ in range(2)] == [Fate.DELIVERED, Fate.FAILED]
    sender = Scripted()
    second = office.deliveries(sender)
    assert attempt(second) is None
    office.time += BACKOFF[0]
    assert [attempt(second) for _ in range(3)] == [Fate.DELIVERED, Fate.DELIVERED, None]
    assert sender.taken == ["b", "c"]


def test_a_clock_that_was_set_back_delays_no_longer_than_a_pause(office: Office) -> None:
    deliveries = office.deliveries(Scripted(Reception.REFUSED))
    office.happen("a")
    attempt(deliveries)
    office.time -= 10_000_000
    assert deliveries.wait(ANY) == BACKOFF[-1]


def test_another_journal_begins_at_its_end(office: Office) -> None:
    office.happen("a", "b", "c")
    sender = Scripted()
    office.deliveries(sender)
    office.journal = MemoryJournal()
    office.happen("x")
    deliveries = office.deliveries(sender)
    assert attempt(deliveries) is None
    office.happen("y")
    assert attempt(deliveries) is Fate.DELIVERED
    elsewhere = office.deliveries(sender, place="postgresql://elsewhere")
    assert attempt(elsewhere) is None
    assert sender.taken == ["y"]


def test_a_long_walk_past_what_nobody_asked_for_is_written_down(office: Office) -> None:
    entry = replace(ANY, events=(EventKind.TASK_FAILED,))
    deliveries = office.deliveries(Scripted(), [entry])
    office.happen(*map(str, range(499)))
    assert attempt(deliveries, entry) is None
    assert office.cursor(entry).seq == 0
    office.happen("one more")
    assert attempt(deliveries, entry) is None
    assert office.cursor(entry).seq == 500


# -- the courier ---------------------------------------------------------------------------------


def test_events_are_delivered_while_the_run_goes_on(office: Office) -> None:
    sender = Scripted()
    courier = DeliveryThreads(office.deliveries(sender), [ANY])
    courier.start()
    office.happen("a")
    courier.nudge()
    sender.wait_for(1)
    office.happen("b", "c")
    courier.nudge()
    sender.wait_for(3)
    assert courier.finish(LONG)
    assert sender.taken == ["a", "b", "c"]


def test_what_happened_last_is_delivered_before_the_end(office: Office) -> None:
    sender = Scripted()
    for number in range(50):
        courier = DeliveryThreads(office.deliveries(sender), [ANY])
        courier.start()
        office.happen(f"{number}")  # and nobody says so
        assert courier.finish(LONG)
        assert sender.taken[-1:] == [f"{number}"]


def test_the_end_is_not_taken_for_the_one_before_the_last_event(office: Office) -> None:
    class Slow(MemoryJournal):
        """Answers the second question with what was true when it was asked."""

        questions = 0
        reached = threading.Event()
        gate = threading.Event()

        def read(self, query: Query) -> Iterator[Record]:
            found = list(super().read(query))
            self.questions += 1
            if self.questions == 2:
                self.reached.set()
                assert self.gate.wait(PATIENCE)
            return iter(found)

    journal = Slow()
    office.journal = journal
    sender = Scripted()
    courier = DeliveryThreads(office.deliveries(sender), [ANY])
    courier.start()
    assert journal.reached.wait(PATIENCE)  # nothing has happened, says the journal
    office.happen("a")
    ending = threading.Thread(target=courier.finish, args=(LONG,))
    ending.start()
    wait_until(lambda: courier._end is not None)
    journal.gate.set()
    ending.join()
    assert sender.taken == ["a"]


def test_the_end_does_not_wait_for_a_pause(office: Office) -> None:
    sender = Scripted(*[Reception.REFUSED] * 9)
    courier = DeliveryThreads(office.deliveries(sender), [ANY])
    courier.start()
    office.happen("a")
    courier.nudge()
    sender.wait_for(1)
    assert courier.finish(0.5)  # the clock of these deliveries stands still: it is never due
    assert sender.tried == ["a"]
    assert office.cursor().tries == 1


@pytest.mark.requirement("notify.never-blocks")
def test_a_receiver_that_hangs_holds_up_neither_the_end_nor_the_others(office: Office) -> None:
    with receiving() as receiver:
        receiver.held = threading.Event()
        hook = Notify(
            Webhook(
                secure=False,
                host="127.0.0.1",
                port=receiver.port,
                path="/",
                secret_env="HOOK_SECRET",
            ),
            seconds=LONG,
        )
        touch = office.cursors._path + ".touched"
        other = Notify(NotifyCommand(("touch", touch)), seconds=LONG)
        sender = office.sender(HOOK_SECRET="s")
        deliveries = office.deliveries(sender, [hook, other])
        courier = DeliveryThreads(deliveries, [hook, other])
        courier.start()
        office.happen("a")
        courier.nudge()
        receiver.wait_for(1)
        wait_until(lambda: office.cursor(other).seq == 1)
        assert not courier.finish(0.2)
        assert not receiver.held.is_set()
        assert not receiver.left_alone
        assert os.path.exists(touch)
        assert office.cursor(hook).seq == 0


def test_a_command_that_hangs_is_not_left_behind(office: Office, tmp_path: Path) -> None:
    number = tmp_path / "number"
    script = f"sleep 1000 & echo $$ $! > {number}.new; mv {number}.new {number}; wait"
    entry = Notify(NotifyCommand(("sh", "-c", script)), seconds=LONG)
    courier = DeliveryThreads(office.deliveries(office.sender(), [entry]), [entry])
    courier.start()
    office.happen("a")
    courier.nudge()
    wait_until(number.exists)
    assert courier.finish(0.0)
    for each in number.read_text().split():
        wait_until_gone(int(each))
    assert office.cursor(entry) == Cursor(seq=0, target="sh")  # neither delivered nor counted


def test_two_couriers_deliver_everything_once(office: Office) -> None:
    sender = Scripted()
    couriers = [DeliveryThreads(office.deliveries(sender), [ANY]) for _ in range(2)]
    for courier in couriers:
        courier.start()
    names = [f"{number}" for number in range(40)]
    for name in names:
        office.happen(name)
        for courier in couriers:
            courier.nudge()
    for courier in couriers:
        assert courier.finish(LONG)
    assert sender.tried == names


def test_a_courier_whose_journal_is_away_goes_on_when_it_is_back(office: Office) -> None:
    class Away(MemoryJournal):
        away = True
        asked = threading.Semaphore(0)

        def head(self) -> Head:
            if self.away:
                self.asked.release()
                raise JournalProblem("the journal is away")
            return super().head()

    journal = Away()
    journal.away = False
    office.journal = journal
    sender = Scripted()
    deliveries = office.deliveries(sender)
    office.happen("a")
    journal.away = True
    courier = DeliveryThreads(deliveries, [ANY])
    courier.start()
    assert journal.asked.acquire(timeout=PATIENCE)
    journal.away = False
    courier.nudge()
    sender.wait_for(1)
    assert courier.finish(LONG)
    assert sender.taken == ["a"]


# -- as a run makes it -----------------------------------------------------------------------------


def test_a_run_has_a_courier_where_somebody_is_to_be_told(
    program: Program, tmp_path_factory: pytest.TempPathFactory
) -> None:
    told = tmp_path_factory.mktemp("told") / "events"
    command = f"echo $PLANBOUND_EVENT $PLANBOUND_PLAN >> {told}"
    program.write(
        "planbound.toml",
        f'[[notify]]\nevents = ["PLAN_CREATED"]\ncommand = ["sh", "-c", "{command}"]\n'
        '[[notify]]\nevents = ["*"]\nurl = "https://example.org"\n'
        'secret_env = "NOT_SET_ANYWHERE"\n',
    )
    state = tmp_path_factory.mktemp("state")
    courier = make_courier(Context(workspace=str(program.workspace), state=str(state)))
    assert courier is not None
    (obstacle,) = courier.obstacles
    assert obstacle.startswith(
        "`NOT_SET_ANYWHERE`, which signs what is sent to `https://example.org`"
    )
    courier.start()
    assert program.run("--state", str(state), "new", "a").code == 0
    assert courier.finish(LONG)
    assert told.read_text() == "PLAN_CREATED a\n"


def test_without_receivers_nothing_is_loaded(program: Program) -> None:
    script = """
import sys
from planbound.cli.main import main
main(["run"])
print([name for name in sys.modules if "receivers" in name or "webhook" in name or name == "ssl"])
"""
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=program.workspace,
        env=program.environment(),
        capture_output=True,
        text=True,
        timeout=300,
        check=True,
    )
    assert done.stdout == "[]\n"
