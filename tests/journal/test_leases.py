"""One suite for the leases of every journal: the fake, SQLite and PostgreSQL."""

from __future__ import annotations

import contextlib
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import psycopg
import pytest

from planbound.disk.lock import this_process
from planbound.errors import Claimed, LeaseLost, Refused
from planbound.journal.anchored import AnchoredJournal, AnchorFile
from planbound.journal.leases import Claim, Leases, collision
from planbound.journal.record import HeldLease, Query
from planbound.workspace.context import Context
from tests.journal.child import ROOT, OpenJournal, Place, claim, draft

FIRST, SECOND = "process 1 on `box`", "process 2 on `box`"
LOST = f"the lease of `round` was lost to {SECOND}; nothing was written"
LONG = 600.0


def ids(journal: OpenJournal) -> list[str]:
    return [record.draft.id for record in journal.read(Query())]


def refused(leases: Leases, asked: Claim) -> str:
    with pytest.raises(Refused) as caught:
        leases.acquire(asked, seconds=LONG)
    return caught.value.message


def lost(attempt: Callable[[], object]) -> str:
    with pytest.raises(LeaseLost) as caught:
        attempt()
    return caught.value.message


def acquired_when_expired(leases: Leases, asked: Claim) -> HeldLease:
    end = time.monotonic() + 30
    while True:
        try:
            return leases.acquire(asked, seconds=LONG)
        except Refused:
            assert time.monotonic() < end
            time.sleep(0.01)


# -- one plan, one runner ----------------------------------------------------------------------


@pytest.mark.requirement("lease.one-runner")
def test_a_second_runner_is_refused_with_the_name_of_the_holder(journal: OpenJournal) -> None:
    leases = journal.leases()
    first = claim(FIRST, touches=("src/**",), process=this_process().mark)
    assert leases.acquire(first, seconds=LONG) == HeldLease("round", 1)
    assert refused(leases, claim(SECOND)) == f"`round` is run by {FIRST} already"
    (held,) = leases.held()
    assert (held.claim, held.number, held.expired) == (first, 1, False)
    assert LONG - 30 < held.expires_in <= LONG


def test_another_worktree_does_not_give_a_plan_a_second_runner(journal: OpenJournal) -> None:
    leases = journal.leases()
    leases.acquire(claim(FIRST), seconds=LONG)
    assert FIRST in refused(leases, claim(SECOND, worktree="/elsewhere"))


def test_a_lease_that_was_given_back_is_free(journal: OpenJournal) -> None:
    leases = journal.leases()
    first = leases.acquire(claim(FIRST), seconds=LONG)
    leases.release(first)
    assert list(leases.held()) == []
    message = lost(lambda: journal.append([draft("a")], held_lease=first))
    assert message == "the lease of `round` was given back; nothing was written"
    lost(lambda: leases.renew(first, seconds=LONG))
    assert leases.acquire(claim(SECOND), seconds=LONG) == HeldLease("round", 2)
    assert ids(journal) == []


def test_the_number_grows_with_every_acquisition_of_a_plan(journal: OpenJournal) -> None:
    leases = journal.leases()
    for number in range(1, 6):
        held_lease = leases.acquire(claim(), seconds=0 if number % 2 else LONG)
        assert held_lease == HeldLease("round", number)
        if number % 2 == 0:
            leases.release(held_lease)
    other = claim(plan="other", worktree="/elsewhere")
    assert leases.acquire(other, seconds=LONG) == HeldLease("other", 1)
    assert [held.claim.plan for held in leases.held()] == ["other", "round"]
    assert [held.claim.plan for held in leases.held(beside="round")] == ["other"]
    assert [held.claim.plan for held in leases.held(beside="third")] == ["other", "round"]


# -- taking over -------------------------------------------------------------------------------


def test_a_lease_is_taken_over_when_its_time_is_up(journal: OpenJournal) -> None:
    leases = journal.leases()
    held_lease = leases.acquire(claim(FIRST), seconds=LONG)
    assert FIRST in refused(leases, claim(SECOND))
    leases.renew(held_lease, seconds=0.1)
    assert acquired_when_expired(leases, claim(SECOND)) == HeldLease("round", 2)


def test_who_renews_its_lease_in_time_keeps_it(journal: OpenJournal) -> None:
    leases = journal.leases()
    held_lease = leases.acquire(claim(FIRST), seconds=0)
    assert [held.expired for held in leases.held()] == [True]
    leases.renew(held_lease, seconds=LONG)
    assert [held.expired for held in leases.held()] == [False]
    assert FIRST in refused(leases, claim(SECOND))


def test_a_holder_whose_time_is_up_may_write_until_somebody_takes_over(
    journal: OpenJournal,
) -> None:
    held_lease = journal.leases().acquire(claim(), seconds=0)
    journal.append([draft("a")], held_lease=held_lease)
    journal.append([draft("b")], held_lease=held_lease)
    journal.append([draft("c"), draft("d")], held_lease=held_lease)
    assert ids(journal) == ["a", "b", "c", "d"]


@pytest.mark.requirement("lease.fenced")
def test_who_was_overtaken_can_write_nothing(journal: OpenJournal) -> None:
    leases = journal.leases()
    old = leases.acquire(claim(FIRST), seconds=0)
    journal.append([draft("a")], held_lease=old)
    new = leases.acquire(claim(SECOND), seconds=LONG)
    before = journal.head()
    attempts: list[Callable[[], object]] = [
        lambda: journal.append([draft("b")], held_lease=old),
        lambda: journal.append([draft("b"), draft("c")], held_lease=old),
        lambda: journal.append([draft("a")], held_lease=old),
        lambda: journal.append([draft("b")], held_lease=old, expected=before),
        lambda: leases.renew(old, seconds=LONG),
    ]
    for attempt in attempts:
        assert lost(attempt) == LOST
    assert journal.head() == before
    leases.release(old)
    assert [(held.claim.holder, held.number) for held in leases.held()] == [(SECOND, 2)]
    journal.append([draft("b")], held_lease=new)
    leases.release(new)
    assert lost(attempts[0]) == LOST
    assert ids(journal) == ["a", "b"]


def test_a_fence_that_nobody_was_given_opens_nothing(journal: OpenJournal) -> None:
    for held_lease in (HeldLease("round", 1), HeldLease("round", 7)):
        message = lost(partial(journal.append, [draft("a")], held_lease=held_lease))
        assert message == "the lease of `round` is not known to this journal; nothing was written"
        journal.leases().release(held_lease)
    journal.leases().acquire(claim(), seconds=LONG)
    lost(lambda: journal.append([draft("a")], held_lease=HeldLease("round", 7)))
    lost(lambda: journal.append([draft("a")], held_lease=HeldLease("other", 1)))
    assert ids(journal) == []


@contextlib.contextmanager
def process_and_its_mark() -> Iterator[tuple[subprocess.Popen[str], str]]:
    text = "from planbound.disk.lock import this_process as me; print(me().mark, flush=True)"
    with subprocess.Popen(
        [sys.executable, "-c", f"{text}; input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    ) as process:
        assert process.stdout is not None
        yield process, process.stdout.readline().strip()
        process.kill()


@pytest.mark.requirement("lease.dead-holder")
def test_the_lease_of_a_dead_process_is_taken_over_at_once(journal: OpenJournal) -> None:
    leases = journal.leases()
    with process_and_its_mark() as (process, mark):
        old = leases.acquire(claim(FIRST, process=mark), seconds=LONG)
        assert FIRST in refused(leases, claim(SECOND))
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert [held.expired for held in leases.held()] == [True]
        assert leases.acquire(claim(SECOND), seconds=LONG) == HeldLease("round", 2)
    assert lost(lambda: journal.append([draft("a")], held_lease=old)) == LOST


@pytest.mark.parametrize(
    "mark", ["", "{}", '["box", "realm", 1, "0"]', '["a", 1]', "[1, 2, 3, null]"]
)
def test_a_process_that_cannot_be_seen_from_here_is_not_taken_for_dead(
    journal: OpenJournal, mark: str
) -> None:
    leases = journal.leases()
    leases.acquire(claim(FIRST, process=mark), seconds=LONG)
    assert FIRST in refused(leases, claim(SECOND))


# -- plans side by side ------------------------------------------------------------------------


@pytest.mark.requirement("lease.worktree")
def test_plans_with_disjoint_touches_run_together(journal: OpenJournal) -> None:
    leases = journal.leases()
    one = leases.acquire(claim(FIRST, plan="one", touches=("src/a/**",)), seconds=LONG)
    two = leases.acquire(claim(SECOND, plan="two", touches=("src/b/**", "docs/*")), seconds=LONG)
    nothing = leases.acquire(claim(SECOND, plan="nothing", touches=()), seconds=LONG)
    for held_lease in (one, two, nothing):
        journal.append([draft(held_lease.plan, plan=held_lease.plan)], held_lease=held_lease)
    assert ids(journal) == ["one", "two", "nothing"]


@pytest.mark.requirement("lease.worktree")
@pytest.mark.parametrize(
    ("mine", "theirs", "reason"),
    [
        (("docs/*", "src/**"), ("src/a.py",), "`src/**` meets `src/a.py`"),
        (None, ("src/a.py",), "`two` has no `touches`, so nobody can tell whether it is safe"),
        (("src/a.py",), None, "`one` has no `touches`, so nobody can tell whether it is safe"),
        (None, None, "`two` has no `touches`, so nobody can tell whether it is safe"),
        (("../a",), ("src/**",), "`touches` of `two` cannot be read: "),
    ],
)
def test_plans_that_could_change_the_same_files_do_not_run_in_one_worktree(
    journal: OpenJournal,
    mine: tuple[str, ...] | None,
    theirs: tuple[str, ...] | None,
    reason: str,
) -> None:
    leases = journal.leases()
    leases.acquire(claim(FIRST, plan="one", touches=theirs), seconds=LONG)
    asked = claim(SECOND, plan="two", touches=mine)
    message = refused(leases, asked)
    beside = f"`two` cannot run beside `one`, which {FIRST} runs in the same worktree: {reason}"
    assert message.startswith(beside)
    assert message == collision(asked, leases.held()[0].claim)
    assert [held.claim.plan for held in leases.held()] == ["one"]


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (("docs/*", "lib/**"), ("src/a.py",)),
        (None, ("src/a.py",)),
        (("src/a.py",), None),
        (None, None),
        ((), ("**",)),
        (("../a",), ("src/**",)),
    ],
)
def test_plans_in_two_worktrees_run_together_unless_both_say_that_they_meet(
    journal: OpenJournal, mine: tuple[str, ...] | None, theirs: tuple[str, ...] | None
) -> None:
    leases = journal.leases()
    leases.acquire(claim(FIRST, plan="one", touches=theirs), seconds=LONG)
    asked = claim(SECOND, plan="two", touches=mine, worktree="/elsewhere")
    leases.acquire(asked, seconds=LONG)
    assert [held.claim.plan for held in leases.held()] == ["one", "two"]


@pytest.mark.requirement("lease.touches")
def test_plans_whose_touches_meet_do_not_run_at_once_in_two_worktrees(
    journal: OpenJournal,
) -> None:
    leases = journal.leases()
    first = leases.acquire(claim(FIRST, plan="one", touches=("src/a.py",)), seconds=LONG)
    asked = claim(SECOND, plan="two", touches=("docs/*", "src/**"), worktree="/elsewhere")
    with pytest.raises(Claimed) as caught:
        leases.acquire(asked, seconds=LONG)
    where = f"`two` waits for `one`, which {FIRST} runs in /repository"
    assert caught.value.message == f"{where}: `src/**` meets `src/a.py`"
    assert (caught.value.plan, caught.value.worktree) == ("one", "/repository")
    leases.release(first)
    leases.acquire(asked, seconds=LONG)


def test_a_plan_is_never_in_its_own_way_as_another_one_is(journal: OpenJournal) -> None:
    leases = journal.leases()
    # By name the others come first: what is refused at once counts nevertheless.
    leases.acquire(claim(FIRST, plan="a", touches=("x",), worktree="/elsewhere"), seconds=LONG)
    leases.acquire(claim(FIRST, plan="c", touches=("y",)), seconds=LONG)
    asked = claim(SECOND, plan="d", touches=("x", "y"))
    with pytest.raises(Claimed) as caught:
        leases.acquire(asked, seconds=LONG)
    assert caught.value.plan == "c"
    leases.acquire(claim(FIRST, plan="d", worktree="the gate of d"), seconds=LONG)
    with pytest.raises(Refused) as own:
        leases.acquire(asked, seconds=LONG)
    assert not isinstance(own.value, Claimed)


def test_an_expired_lease_elsewhere_is_lost_only_to_a_plan_that_it_meets(
    journal: OpenJournal,
) -> None:
    leases = journal.leases()
    slow = leases.acquire(claim(FIRST, touches=("src/a",)), seconds=0)
    unknown = leases.acquire(claim(FIRST, plan="unknown", worktree="/third"), seconds=0)
    leases.acquire(claim(SECOND, plan="b", touches=("src/b",), worktree="/other"), seconds=LONG)
    journal.append([draft("a")], held_lease=slow)
    leases.acquire(claim(SECOND, plan="c", touches=("src/a",), worktree="/other"), seconds=LONG)
    assert lost(lambda: journal.append([draft("b")], held_lease=slow)) == LOST
    journal.append([draft("c", plan="unknown")], held_lease=unknown)
    assert ids(journal) == ["a", "c"]


def test_an_expired_lease_in_the_way_of_another_plan_is_lost_to_it(journal: OpenJournal) -> None:
    leases = journal.leases()
    slow = leases.acquire(claim(FIRST), seconds=0)
    apart = leases.acquire(claim(FIRST, plan="apart", worktree="/elsewhere"), seconds=0)
    leases.acquire(claim(SECOND, plan="other"), seconds=LONG)
    assert lost(lambda: leases.renew(slow, seconds=LONG)) == LOST
    assert lost(lambda: journal.append([draft("a")], held_lease=slow)) == LOST
    assert FIRST not in refused(leases, claim(FIRST))
    leases.renew(apart, seconds=LONG)
    assert [held.claim.plan for held in leases.held()] == ["apart", "other"]
    assert ids(journal) == []


# -- taken away --------------------------------------------------------------------------------


@pytest.mark.requirement("lease.fenced")
def test_who_had_its_lease_taken_away_can_write_nothing(journal: OpenJournal) -> None:
    leases = journal.leases()
    asked = claim(FIRST, touches=("src/**",))
    old = leases.acquire(asked, seconds=LONG)
    leases.acquire(claim(FIRST, plan="other", worktree="/elsewhere"), seconds=LONG)
    journal.append([draft("a")], held_lease=old)
    taken = leases.revoke("round", by="ann")
    assert taken is not None
    assert (taken.claim, taken.number, taken.expired) == (asked, 1, False)
    assert [held.claim.plan for held in leases.held()] == ["other"]
    for attempt in (
        lambda: journal.append([draft("b")], held_lease=old),
        lambda: leases.renew(old, seconds=LONG),
    ):
        message = lost(attempt)
        assert message == "the lease of `round` was lost to ann; nothing was written"
    leases.release(old)
    new = leases.acquire(claim(SECOND), seconds=LONG)
    assert new.number > old.number + 1
    assert lost(lambda: journal.append([draft("b")], held_lease=old)) == LOST
    journal.append([draft("b")], held_lease=new)
    assert ids(journal) == ["a", "b"]


def test_what_nobody_holds_cannot_be_taken_away(journal: OpenJournal) -> None:
    leases = journal.leases()
    assert leases.revoke("round", by="ann") is None
    held_lease = leases.acquire(claim(FIRST), seconds=LONG)
    leases.release(held_lease)
    assert leases.revoke("round", by="ann") is None
    assert leases.acquire(claim(FIRST), seconds=0) == HeldLease("round", 2)
    expired = leases.revoke("round", by="ann")
    assert expired is not None
    assert expired.expired


@pytest.mark.requirement("lease.revoked")
def test_a_lease_is_taken_away_over_another_connection(place: Place) -> None:
    journal, other = place.open(), place.open()
    held_lease = journal.leases().acquire(claim(FIRST), seconds=LONG)
    taken = other.leases().revoke("round", by="ann")
    assert taken is not None
    assert taken.claim.holder == FIRST
    assert "was lost to ann" in lost(lambda: journal.append([draft("a")], held_lease=held_lease))
    assert "was lost to ann" in lost(lambda: journal.leases().renew(held_lease, seconds=LONG))
    assert (ids(other), list(journal.leases().held())) == ([], [])
    journal.close()
    other.close()


# -- several processes -------------------------------------------------------------------------


@pytest.mark.requirement("lease.fenced")
def test_a_paused_process_that_was_overtaken_writes_nothing_any_more(place: Place) -> None:
    journal = place.open()
    with place.start("overtaken") as child:
        assert child.stdin is not None
        assert child.stdout is not None
        assert child.stdout.readline() == "holds it\n"
        child.send_signal(signal.SIGSTOP)
        held_lease = acquired_when_expired(journal.leases(), claim(SECOND))
        child.send_signal(signal.SIGCONT)
        child.stdin.write("\n")
        child.stdin.flush()
        assert child.stdout.read().splitlines() == [LOST, LOST, LOST, "done"]
    assert ids(journal) == ["paused-1", "paused-2"]
    assert [held.number for held in journal.leases().held()] == [held_lease.number]
    journal.append([draft("mine")], held_lease=held_lease)
    journal.close()


@pytest.mark.requirement("lease.one-runner")
def test_of_two_processes_exactly_one_wins_every_time(place: Place) -> None:
    with place.start("contend", "one") as one, place.start("contend", "two") as two:
        for child in (one, two):
            assert answer(child) == "ready"
        for round_ in range(1, 51):
            tell(one)
            tell(two)
            answers = {"one": answer(one), "two": answer(two)}
            (winner,) = (name for name, text in answers.items() if text == f"won {round_}")
            (loser,) = answers.keys() - {winner}
            assert answers[loser] == f"refused `round` is run by {winner} already"
            holder = one if winner == "one" else two
            tell(holder)
            assert answer(holder) == "released"


def tell(child: subprocess.Popen[str]) -> None:
    assert child.stdin is not None
    child.stdin.write("\n")
    child.stdin.flush()


def answer(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


OVERTAKE = "UPDATE {}lease SET number = number + 1, holder = 'process 2 on `box`'"


def append_while(journal: OpenJournal, held_lease: HeldLease, overtake: Callable[[], None]) -> None:
    """Append when another is in the middle of taking the lease over."""
    messages = []
    thread = threading.Thread(
        target=lambda: messages.append(
            lost(lambda: journal.append([draft("b")], held_lease=held_lease))
        )
    )
    thread.start()
    overtake()
    thread.join(30)
    assert messages == [LOST]
    assert ids(journal) == ["a"]


def test_who_waits_for_sqlite_while_being_overtaken_is_fenced_off(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    held_lease = journal.leases().acquire(claim(FIRST), seconds=LONG)
    journal.append([draft("a")], held_lease=held_lease)
    with contextlib.closing(sqlite3.connect(sqlite_place.address, isolation_level=None)) as raw:
        raw.execute("BEGIN IMMEDIATE")

        def overtake() -> None:
            raw.execute(OVERTAKE.format(""))
            raw.execute("COMMIT")

        append_while(journal, held_lease, overtake)
    journal.close()


@pytest.mark.parametrize("isolation", ["", "serializable"])
def test_who_waits_for_postgres_while_being_overtaken_is_fenced_off(
    postgres_place: Place, isolation: str
) -> None:
    url, schema = postgres_place.address, postgres_place.schema
    if isolation:
        option = f"options=-cdefault_transaction_isolation%3D{isolation}"
        url += ("&" if "?" in url else "?") + option
    journal = Place("postgres", url, postgres_place.name).open()
    held_lease = journal.leases().acquire(claim(FIRST), seconds=LONG)
    journal.append([draft("a")], held_lease=held_lease)
    with psycopg.connect(postgres_place.address) as raw:
        lock = "SELECT pg_advisory_xact_lock(%s, hashtext(%s))"
        raw.execute(lock, (0x706C616E, schema))

        def overtake() -> None:
            end = time.monotonic() + 30
            text = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
            while raw.execute(text).fetchone() == (0,):
                assert time.monotonic() < end
                time.sleep(0.01)
            raw.execute(OVERTAKE.format(f"{schema}.").encode())
            raw.commit()

        append_while(journal, held_lease, overtake)
    journal.close()


# -- around the journal ------------------------------------------------------------------------


def test_a_journal_with_an_anchor_is_fenced_too(sqlite_place: Place, tmp_path: Path) -> None:
    journal = sqlite_place.open()
    anchor = AnchorFile(str(tmp_path / "anchor"))
    anchored = AnchoredJournal(journal, anchor, project="p")
    old = journal.leases().acquire(claim(FIRST), seconds=0)
    anchored.append([draft("a")], held_lease=old)
    journal.leases().acquire(claim(SECOND), seconds=LONG)
    assert lost(lambda: anchored.append([draft("b")], held_lease=old)) == LOST
    noted = anchor.read()
    assert noted is not None
    assert noted.seq == 1
    journal.close()


def test_a_lease_of_an_earlier_start_of_the_machine_is_dead(sqlite_place: Place) -> None:
    journal = sqlite_place.open()
    leases = journal.leases()
    leases.acquire(claim(FIRST), seconds=LONG)
    with contextlib.closing(sqlite3.connect(sqlite_place.address)) as raw:
        raw.execute("UPDATE lease SET boot = 'an earlier one', expires = expires + 1000000")
        raw.commit()
    assert [(held.expires_in, held.expired) for held in leases.held()] == [(0, True)]
    assert leases.acquire(claim(SECOND), seconds=LONG).number == 2
    journal.close()


def test_the_leases_of_a_workspace_are_in_its_journal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PLANBOUND_DATABASE_URL", raising=False)
    (tmp_path / "work" / ".harness").mkdir(parents=True)
    context = Context(workspace=str(tmp_path / "work"), state=str(tmp_path / "state"))
    assert list(context.leases().held()) == []
    old = context.leases().acquire(claim(FIRST), seconds=0)
    context.leases().acquire(claim(SECOND), seconds=LONG)
    assert lost(lambda: context.journal().append([draft("a")], held_lease=old)) == LOST
    assert context.guards_stand() is True
