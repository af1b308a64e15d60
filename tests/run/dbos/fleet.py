"""Many plans in one workspace, and workers that take them while they are killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from planbound.journal.event import EventKind
from planbound.journal.postgres import PostgresJournal
from planbound.journal.record import Query
from planbound.journal.repository import RepositoryName
from planbound.journal.sqlite import SqliteJournal
from planbound.workspace.state_home import find_state_home
from tests.forked import Started
from tests.program import WITHOUT_WALLS
from tests.run.bench import Bench, Log, Step, plan_text

# Whoever is named `slow` waits until the file `go` is there.
AGENT = """\
#!/bin/bash
prompt=$(cat)
title=${{prompt%%$'\\n'*}}
name=${{title##* }}
echo "$name $PLANBOUND_ATTEMPT" >> {folder}/calls
sleep {seconds}
if [[ $name == slow* ]]; then until test -e {folder}/go; do sleep 0.05; done; fi
if [[ $name == wrong* && $prompt != *"A person says"* ]]; then exit 0; fi
echo right > "src/$name"
"""
SETTINGS = '[run]\nmotor = "dbos"\nlease = "2s"\n'


class Fleet(Bench):
    """A workspace with many approved plans, whose files have nothing to do with each other."""

    def __init__(self, folder: Path, *, address: str | None, name: str = "repo") -> None:
        super().__init__(folder, name=name)
        self.libraries = "models"
        self.program = WITHOUT_WALLS  # agents say outside their cells that they were called
        self.journal: PostgresJournal | SqliteJournal
        if address is not None:
            self.extra["PLANBOUND_DATABASE_URL"] = address
            home = find_state_home(str(self.workspace), given=None, environment=self.environment())
            self.journal = PostgresJournal(address, RepositoryName(home.project, home.project))
        else:
            self.journal = SqliteJournal(str(folder / "state" / "journal.sqlite"))
        self.let_agents_take(0.0)
        agent = folder / "agents" / "coder"
        tables = "".join(
            f'[agents.{role}]\nkind = "command"\ncommand = ["{agent}"]\n'
            for role in ("coder", "reviewer")
        )
        self.write("planbound.toml", tables + SETTINGS)
        self.plans: list[str] = []

    def let_agents_take(self, seconds: float) -> None:
        """Let every call of an agent take so long."""
        agent = self.folder / "agents" / "coder"
        agent.write_text(AGENT.format(folder=self.folder, seconds=seconds))
        agent.chmod(0o755)

    def add(self, name: str, steps: int = 1, *, target: str = "coder", priority: str = "") -> str:
        """Write and approve a plan."""
        fields = "**on_fail:** escalate"
        made = (
            Step(f"Make {name}-{number}", target=target, fields=fields)
            for number in range(1, steps + 1)
        )
        self.plan(name, plan_text(*made, fields=f"**Priority:** {priority}" if priority else ""))
        self.approve(name)
        self.plans.append(name)
        return name

    def submit(
        self, name: str, steps: int = 1, *, target: str = "coder", priority: str = ""
    ) -> str:
        """Write and approve a plan, and put it on the queue."""
        self.goes("submit", self.add(name, steps, target=target, priority=priority))
        return name

    def submit_many(self, plans: int, steps: int) -> None:
        """Put so many plans on the queue."""
        for number in range(plans):
            self.submit(f"p{number}", steps)

    # -- workers -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def worker(self, *options: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start a worker, which does not outlive the block."""
        with (self.folder / "workers.log").open("ab") as log:
            place = self.place(self.workspace, self.environment())
            with open(os.devnull, "rb") as nothing:
                streams = [nothing.fileno(), log.fileno(), log.fileno()]
                process = Started(["worker", *options], place, streams, session=True)
        try:
            yield process
        finally:
            process.send_signal(signal.SIGCONT)
            process.kill()
            process.wait()

    def storm(self, workers: int, *options: str, every: float, seconds: float) -> int:
        """Let workers work until all is over, and kill one now and then; return how often."""
        dice = random.Random(7)
        deadline = time.monotonic() + seconds
        kills = 0
        with contextlib.ExitStack() as stack:
            alive = [stack.enter_context(self.worker(*options)) for _ in range(workers)]
            while self._works(every):
                assert time.monotonic() < deadline, self.standing()
                place = dice.randrange(workers)
                alive[place].kill()
                alive[place].wait()
                kills += 1
                alive[place] = stack.enter_context(self.worker(*options))
        return kills

    def _works(self, seconds: float) -> bool:
        """Say whether there is still something to do after so many seconds."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            if self.is_over():
                return False
            time.sleep(0.2)
        return True

    # -- what came of it -----------------------------------------------------------------------

    def ended(self) -> Counter[str]:
        """Return how often each plan came to an end."""
        query = Query(events=(EventKind.EXECUTION_COMPLETE,))
        return Counter(record.draft.plan for record in self.journal.read(query))

    def is_over(self) -> bool:
        """Say whether every plan has come to an end."""
        return len(self.ended()) == len(self.plans)

    def standing(self) -> str:
        """Return where everything is that has not ended, for whoever wonders."""
        ended = self.ended()
        events = list(self.log())
        return "\n".join(
            f"{event.plan}: {event.kind} {event.details}"
            for plan in self.plans
            if plan not in ended
            for event in [each for each in events if each.plan == plan][-12:]
        )

    def said(self) -> str:
        """Return all that the workers have said."""
        return (self.folder / "workers.log").read_text()

    def calls(self) -> list[tuple[str, int]]:
        """Return the steps and attempts for which an agent was called, in that order."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(name, int(attempt)) for name, attempt in map(str.split, lines)]

    def check(self, steps: int) -> None:
        """Look that every plan was proved once, step by step, and that nothing was lost."""
        log = self.log()
        assert self.ended() == Counter(self.plans)
        assert {event["status"] for event in log.of("EXECUTION_COMPLETE")} == {"done"}
        by_plan: dict[str, Log] = {plan: Log() for plan in self.plans}
        for event in log:
            by_plan[event.plan].append(event)
        for of_plan in by_plan.values():
            for number in range(1, steps + 1):
                check_step(of_plan, str(number))
        repeated = {call: times for call, times in Counter(self.calls()).items() if times > 1}
        assert repeated == {}, "an attempt was dispatched twice"
        assert self.verifies()
        self.ends_all()


def check_step(log: Log, number: str) -> None:
    """Look at the attempts of one step: each began once, was seen to its end, and one proved it."""
    started = log.of("TASK_STARTED", number=number)
    ended = log.of("ATTEMPT_ENDED", number=number)
    completed = log.one("TASK_COMPLETED", number=number)
    assert [event["attempt"] for event in started] == list(range(1, len(started) + 1))
    assert [event["attempt"] for event in ended] == [event["attempt"] for event in started]
    assert started[-1].seq < completed.seq, "a step was dispatched after it was proved"
    assert completed["attempt"] == len(started)
