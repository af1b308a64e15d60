"""A scratch repository with a plan, agents that follow a script, and the program as a process."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from planbound.journal.record import Journal, Query
from planbound.journal.sqlite import SqliteJournal
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from tests.forked import Started
from tests.program import Outcome, Program, caller

HEAD = """\
---
type: plan
status: draft
owner: tester
{touches}---

# Do the work

{fields}
{preconditions}
## Steps
"""
STEP = """
### {number}. {title}{depends}

**target:** {target}
{fields}
**task:** Write what the contract of this step asks for into the files that it names.

**contract:** {contract}
"""
CONDITION = """
{number}. Condition {number} holds
   ```shell
   {command}
   ```
"""
AGENT = """\
#!/bin/bash
prompt=$(cat)
title=${{prompt%%$'\\n'*}}
title=${{title#\\# }}
attempt=$PLANBOUND_ATTEMPT
told() {{ [[ $prompt == *"$1"* ]]; }}
work() {{
case "$title/$attempt" in
{cases}
esac
}}
work
"""
PATIENCE = 30.0


@dataclass(frozen=True)
class Step:
    """One step of a plan, and what the agent does when it gets it."""

    title: str
    work: str | tuple[str, ...] = ""
    """For bash; several: by attempt, the last one also for all that follow."""
    contract: str = ""
    expect: str = ""
    fence: str = "shell"
    touches: str | None = None
    depends: str | None = None
    fields: str = ""
    target: str = "coder"
    attest: str = ""

    @property
    def file(self) -> str:
        """Return the file that a step makes which says nothing else."""
        return f"src/{self.title.rsplit(' ', 1)[-1]}"

    def text(self, number: int) -> str:
        """Return it as it stands in a plan."""
        command = self.contract or f"grep -qx right {self.file}"
        contract = f"\n```{self.fence}\n{command}\n```\n{self.expect}"
        if self.attest:
            contract = f'attest "{self.attest}"'
        touches = self.touches if self.touches is not None else self.file
        listed = "".join(f"- {glob}\n" for glob in touches.split())
        fields = f"**touches:**\n{listed}" if listed else ""
        return STEP.format(
            number=number,
            title=self.title,
            depends=f" (depends on {self.depends})" if self.depends else "",
            target=self.target,
            fields=fields + (f"{self.fields}\n" if self.fields else ""),
            contract=contract,
        )

    def cases(self) -> str:
        """Return what the agent does, as branches of a `case` of bash."""
        works = (self.work,) if isinstance(self.work, str) else self.work
        works = works if any(works) else (f"echo right > {self.file}",)
        found = [
            f'"{self.title}/{number}")\n{work or ":"}\n;;'
            for number, work in enumerate(works[:-1], 1)
        ]
        return "\n".join([*found, f'"{self.title}/"*)\n{works[-1] or ":"}\n;;'])


NOTHING = "true"
"""The work of an agent that does nothing."""


def plan_text(
    *steps: Step,
    before: Sequence[str] = (),
    after: Sequence[str] = ("test -d src",),
    touches: str = "",
    depends_on: str = "",
    fields: str = "",
) -> str:
    """Return a plan."""
    listed = f"touches: [{touches}]\n" if touches else ""
    return (
        HEAD.format(
            touches=listed + (f"depends_on: [{depends_on}]\n" if depends_on else ""),
            fields=fields,
            preconditions=_conditions("Preconditions", before),
        )
        + "".join(step.text(number) for number, step in enumerate(steps, 1))
        + _conditions("Postconditions", after)
    )


def _conditions(title: str, commands: Sequence[str]) -> str:
    if not commands:
        return ""
    listed = (
        CONDITION.format(number=number, command=command)
        for number, command in enumerate(commands, 1)
    )
    return f"\n## {title}\n{''.join(listed)}"


@dataclass(frozen=True)
class Event:
    """One line of the log."""

    seq: int
    kind: str
    plan: str
    task: str | None
    details: dict[str, Any]
    id: str

    @property
    def number(self) -> str | None:
        """Return the number of the step, or of the condition."""
        found = self.details.get("number")
        return None if found is None else str(found)

    def __getitem__(self, name: str) -> Any:
        return self.details[name]


class Log(list[Event]):
    """The events of a journal, in their order."""

    def of(self, *kinds: str, number: str | None = None, **details: Any) -> Log:
        """Return those of some kinds, about one step, with some details."""
        return Log(
            event
            for event in self
            if (not kinds or event.kind in kinds)
            and (number is None or (event.number == number and event.task is not None))
            and all(event.details.get(name) == value for name, value in details.items())
        )

    def one(self, *kinds: str, number: str | None = None, **details: Any) -> Event:
        """Return the only one of those."""
        found = self.of(*kinds, number=number, **details)
        assert len(found) == 1, (kinds, number, details, [event.kind for event in self])
        return found[0]

    @property
    def kinds(self) -> list[str]:
        """Return what happened."""
        return [event.kind for event in self]

    @property
    def last(self) -> Event:
        """Return what happened last."""
        return self[-1]


def read_log(journal: Journal, plan: str | None = None) -> Log:
    """Return what `log --json` prints."""
    return Log(
        Event(
            record.seq,
            record.kind.value,
            record.draft.plan,
            record.draft.task_id,
            record.draft.details.json(),
            record.draft.id,
        )
        for record in journal.read(Query(plan=plan))
    )


class Bench(Program):
    """A repository, its agents, and the program."""

    def __init__(self, folder: Path, *, settings: str = "", name: str = "repo") -> None:
        super().__init__(folder / name)
        self.folder = folder
        self.settings = settings
        self.extra: dict[str, str] = {}
        """Further variables that the program sees."""
        (self.workspace / "src").mkdir(parents=True, exist_ok=True)
        (self.workspace / ".git").mkdir(exist_ok=True)
        (self.workspace / "src" / "readme").write_text("some sources\n")
        for part in ("home", "agents"):
            (folder / part).mkdir(exist_ok=True)

    def environment(self, **extra: str) -> dict[str, str]:
        """Return what the process sees."""
        return {
            **caller(),
            "HOME": str(self.folder / "home"),
            "PLANBOUND_STATE": str(self.folder / "state"),
            **self.extra,
            **extra,
        }

    # -- before the run ------------------------------------------------------------------------

    def prepare(
        self, *steps: Step, name: str | None = None, settings: str = "", **plan: Any
    ) -> str:
        """Write the plan, the agent and the configuration, and approve; return the slug."""
        slug = self.lay(*steps, name=name, settings=settings, **plan)
        self.approve(slug)
        return slug

    def lay(self, *steps: Step, name: str | None = None, settings: str = "", **plan: Any) -> str:
        """Write the plan, the agent and the configuration; return the slug."""
        agent = self.agent("coder" if name is None else f"coder-{name}", *steps)
        target = "coder" if name is None else f"coder-{name}"
        table = f'[agents.{target}]\nkind = "command"\ncommand = ["{agent}"]\n'
        self.settings = table + (settings or self.settings).replace(table, "")
        self.write("planbound.toml", self.settings)
        file = "PLAN.md" if name is None else f"PLAN-{name}.md"
        self.write(f".harness/{file}", plan_text(*steps, **plan))
        return name or "PLAN"

    def agent(self, name: str, *steps: Step) -> Path:
        """Write the program of an agent."""
        path = self.folder / "agents" / name
        path.write_text(AGENT.format(cases="\n".join(step.cases() for step in steps)))
        path.chmod(0o755)
        return path

    def approve(self, slug: str = "PLAN", *terms: str) -> None:
        """Approve the plan as it is."""
        seen = self.digest(slug)
        done = self.run("approve", slug, "--digest", seen[:16], "--as", "tester", *terms)
        assert done.code == 0, f"exit {done.code}\n{done.out}\n{done.err}"

    def digest(self, slug: str = "PLAN") -> str:
        """Return the digest of the plan as it is."""
        name = "PLAN.md" if slug == "PLAN" else f"PLAN-{slug}.md"
        file = self.workspace / ".harness" / name
        if file.exists():
            return digest(parse(file.read_bytes(), path=name))
        found: str = self.run("show", slug, "--json").json["digest"]  # by a name of its own
        return found

    @property
    def plan_file(self) -> Path:
        """Return where the plan is."""
        return self.workspace / ".harness" / "PLAN.md"

    # -- the run -------------------------------------------------------------------------------

    @contextlib.contextmanager
    def start(self, *arguments: str, **extra: str) -> Iterator[subprocess.Popen[bytes]]:
        """Start the program in a process group of its own; it does not outlive the block."""
        environment = self.environment(**extra)
        with self._started(arguments, environment) as process:
            try:
                yield process
            finally:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGCONT)
                process.kill()

    def _started(
        self, arguments: Sequence[str], environment: dict[str, str]
    ) -> subprocess.Popen[bytes]:
        if self.forks(environment):
            return Started(arguments, self.place(self.workspace, environment), session=True)
        return subprocess.Popen(
            [sys.executable, *self.program, *arguments],
            cwd=self.workspace,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )

    def goes(self, *arguments: str, code: int = 0, process: bool = False, **extra: str) -> Outcome:
        """Run the program, which ends with this code."""
        done = self.run(
            *arguments, stdin=b"", cwd=None, obeys_permissions=False, process=process, **extra
        )
        assert done.code == code, f"exit {done.code}\n{done.out}\n{done.err}"
        return done

    def log(self, plan: str | None = None) -> Log:
        """Return the journal; without a process where it is a file, for it is done often."""
        file = self.folder / "state" / "journal.sqlite"
        environment = self.environment()
        elsewhere = environment.get("PLANBOUND_STATE") != str(file.parent)
        if not elsewhere and "PLANBOUND_DATABASE_URL" not in environment and file.exists():
            journal = SqliteJournal(str(file))
            try:
                return read_log(journal, plan)
            finally:
                journal.close()
        done = self.run("log", "--json", *([] if plan is None else [plan]))
        assert done.code == 0, done.err
        return Log(
            Event(
                line["seq"],
                line["event"],
                line["plan"],
                line["task_id"],
                line["details"],
                line["id"],
            )
            for line in map(json.loads, done.out.splitlines())
        )

    def verifies(self) -> bool:
        """Say whether the chain of the journal is whole."""
        return self.run("log", "--verify").code == 0

    def status(self, plan: str = "PLAN") -> Any:
        """Return where the plan is."""
        return self.goes("status", plan, "--json").json

    def phases(self, plan: str = "PLAN") -> list[str]:
        """Return where each step is."""
        return [step["status"] for step in self.status(plan)["steps"]]

    def question(self, plan: str = "PLAN") -> Any:
        """Return the only thing that waits."""
        (found,) = self.status(plan)["waiting"]
        return found

    def answer(self, choice: str, *more: str, code: int = 0) -> Outcome:
        """Answer the only thing that waits."""
        return self.goes(
            "answer", self.question()["id"], choice, "--as", "tester", *more, code=code
        )

    def read(self, name: str) -> str:
        """Return a file of the workspace."""
        return (self.workspace / name).read_text()

    # -- processes -----------------------------------------------------------------------------

    def agents(self) -> list[str]:
        """Return the command lines of what agents of this bench have started and is alive."""
        mark = os.fsencode(self.folder / "agents")
        found = []
        for entry in os.scandir("/proc"):
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError):
                command = Path(entry.path, "cmdline").read_bytes()
                state = Path(entry.path, "stat").read_bytes().rpartition(b")")[2].split()[0]
                if mark in command and state not in {b"Z", b"X"}:
                    found.append(f"{entry.name} {command.decode(errors='replace')}")
        return found

    def ends_all(self) -> None:
        """Wait until nothing of any agent is alive."""
        until(lambda: not self.agents(), what=lambda: f"these live: {self.agents()}")


def until(
    condition: Callable[[], bool], *, what: Callable[[], str] | str = "", seconds: float = PATIENCE
) -> None:
    """Wait until something is so."""
    began = time.monotonic()
    while not condition():
        if time.monotonic() > began + seconds:
            raise AssertionError(what() if callable(what) else what or "it never came to be")
        # Who waits for long looks less often: a look may be a command.
        time.sleep(min(0.01 + (time.monotonic() - began) / 20, 0.1))
