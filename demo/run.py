"""`make demo`: a plan is approved and run; agents cheat and are caught; a killed run goes on.

Everything is the real program in a scratch repository; the agents are scripted.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

PROGRAM = Path(sys.executable).with_name("planbound")
PLAN = """\
---
type: plan
status: draft
owner: mara
---

# Round invoices to whole cents

**Context:** Totals differ from the bank's by a cent on invoices with many lines.
**Budget:** max 50k tokens, $1, 10 minutes wall clock

## Steps

### 1. Find where rounding happens

**target:** scout
**touches:**
- docs/rounding.md

**task:**
List every place that rounds an amount, with file and line, in `docs/rounding.md`.

**contract:**
```shell
grep -q '^- billing/invoice.py:[0-9]' docs/rounding.md
```

### 2. Round once, at the end

**target:** coder
**touches:**
- billing/invoice.py

**task:**
Let `total` in `billing/invoice.py` add up the exact amounts, and round only the sum.

**contract:**
```shell
python3 -m unittest tests.test_total
```
tests >= 2

### 3. Round halves to the even cent

**target:** intern
**touches:**
- billing/invoice.py

**task:**
Let `round_cents` in `billing/invoice.py` round halves to the even cent, as the bank does.

**contract:**
```shell
python3 -m unittest tests.test_cents
```
tests >= 2
**on_fail:** retry(1), then escalate

### 4. Leave the code tidy

**target:** janitor
**touches:**
- billing/**

**task:**
Take blanks at the ends of lines out of `billing/`, where there are any.

**contract:**
```shell
! grep -rnE '[[:blank:]]$' billing --include='*.py'
```

## Postconditions

1. The hundred-line invoice adds up to what the bank says
   ```shell
   python3 -c 'from billing.invoice import *; print(total([Decimal("0.33325")] * 100))'
   ```
   stdout contains "33.32"
"""
FILES = {
    ".harness/PLAN-rounding.md": PLAN,
    "planbound.toml": """\
[agents.scout]
command = ["~/agents/honest.sh"]

[agents.coder]
command = ["~/agents/idle.sh"]

[agents.intern]
command = ["~/agents/cheat.sh"]

[agents.janitor]
command = ["true"]
""",
    "billing/__init__.py": "",
    "billing/invoice.py": """\
from decimal import ROUND_HALF_UP, Decimal


def round_cents(amount):
    return amount.quantize(Decimal("0.01"), ROUND_HALF_UP)


def total(amounts):
    return sum((round_cents(amount) for amount in amounts), Decimal(0))
""",
    "tests/__init__.py": "",
    "tests/test_total.py": """\
import unittest
from decimal import Decimal

from billing.invoice import total


class Total(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(total([]), 0)

    def test_a_hundred_lines(self):
        self.assertEqual(total([Decimal("0.333")] * 100), Decimal("33.30"))
""",
    "tests/test_cents.py": """\
import unittest
from decimal import Decimal

from billing.invoice import round_cents


class Cents(unittest.TestCase):
    def test_half_a_cent_goes_to_the_even_one(self):
        self.assertEqual(round_cents(Decimal("0.125")), Decimal("0.12"))

    def test_more_than_half_goes_up(self):
        self.assertEqual(round_cents(Decimal("0.126")), Decimal("0.13"))
""",
}
USAGE = """echo 'planbound-usage: {"tokens": %d, "dollars": %.2f}'\n"""
AGENTS = {
    "honest.sh": """\
#!/bin/sh
# Does what the task says.
mkdir -p docs
grep -Hn quantize billing/*.py | sed 's/^\\([^:]*:[0-9]*\\):.*/- \\1/' > docs/rounding.md
echo "Done: every place is listed."
"""
    + USAGE % (1800, 0.02),
    "idle.sh": """\
#!/bin/sh
# Says "done" and did nothing; works when it is told that it was seen.
case "$(cat)" in
*"The last attempt did not pass"*)
    if [ "$PLANBOUND_ATTEMPT" = 2 ]; then
        echo "half of a thought" >> billing/invoice.py
        sleep 60
    fi
    sed -i -e '/half of a thought/d' \\
        -e 's/return sum.*/return round_cents(sum(amounts, Decimal(0)))/' billing/invoice.py
    ;;
esac
echo "Done: totals are right now."
"""
    + USAGE % (5200, 0.06),
    "cheat.sh": """\
#!/bin/sh
# Makes the tests easier, in one way or the other, until a person says something.
case "$(cat)" in
*"A person says"*)
    sed -i 's/ROUND_HALF_UP/ROUND_HALF_EVEN/' billing/invoice.py ;;
*)
    if [ "$PLANBOUND_ATTEMPT" = 2 ]; then
        echo "import unittest; unittest.TestCase.assertEqual = print" > tests/__init__.py
    else
        sed -i 's/"0.12")/"0.13")/' tests/test_cents.py
    fi ;;
esac
echo "Done: all tests are green."
"""
    + USAGE % (3100, 0.04),
}


def main() -> int:
    """Run the demonstration; 0 where every command ended as it should."""
    with tempfile.TemporaryDirectory(prefix="planbound-demo-") as folder:
        demo = Demo(Path(folder))
        approve(demo)
        kill(demo)
        answer(demo)
        look_back(demo)
    return 1 if demo.failed else 0


def approve(demo: Demo) -> None:
    """Show what would run, and let a person approve exactly that."""
    demo.say(
        "A plan of four steps for four agents. Nothing runs before somebody approved it;",
        "what is approved is shown from the very bytes that will run. The contract of step 4 is",
        "green before any work: whatever its agent does, that will never be called proved.",
    )
    demo.shell("planbound approve rounding", expect=4)
    digest = json.loads(demo.read("planbound show rounding --json"))["digest"][:12]
    demo.say("A person has looked at it, and says so by its digest.")
    demo.shell(f"planbound approve rounding --digest {digest} --as mara | tail -1")


def kill(demo: Demo) -> None:
    """Run the plan, and kill the run with an agent at work; go on with it."""
    demo.say(
        "The agent of step 1 is honest. The one of step 2 says that it is done and did nothing:",
        "its contract is red, and the failure goes into the next prompt.",
        "While it works on that, with a file half-written, the run is killed.",
    )
    demo.killed("planbound run rounding")
    demo.say("Its agent died with it. What was proved is proved.")
    demo.shell("planbound status rounding")
    demo.say(
        "The run goes on. What the dead attempt left is judged first, and is no pass.",
        "Step 3 has an agent that edits the tests: the one that judges it is read-only (or put",
        "back, on a machine without namespaces), every other file is put back.",
        "When its retries are used up, a person is asked.",
    )
    demo.shell("planbound resume rounding", expect=4)


def answer(demo: Demo) -> None:
    """Look at the question, answer it, and see the run to its end."""
    demo.say("The question waits in the inbox, for days if need be.")
    waiting = json.loads(demo.read("planbound inbox --json"))["waiting"]
    demo.shell("planbound inbox")
    demo.shell(
        f"planbound answer {waiting[0]['id']} retry --as mara"
        " --guidance 'Leave the tests alone. Change how round_cents rounds.'"
    )
    demo.shell("planbound resume rounding")


def look_back(demo: Demo) -> None:
    """Show what was changed, what is on record, and what it came to."""
    demo.say("The tests are as they were.")
    demo.shell("git status --short -- billing docs tests")
    demo.say("Everything is on record: this is what happened to step 2.")
    demo.shell("planbound log rounding --task 2")
    demo.shell("planbound log --verify")
    demo.say(
        "And this is what it came to: three steps were red before and are green now. The fourth",
        "was green before: it holds, and its agent, which is `true`, proved nothing.",
    )
    demo.shell("planbound status rounding")
    demo.shell("planbound log rounding --event EXECUTION_COMPLETE")


class Demo:
    """A scratch repository, with a home and a state home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "repository"
        self.home = folder / "home"
        self.failed = False
        for name, content in FILES.items():
            _write(self.folder / name, content)
        for name, content in AGENTS.items():
            path = self.home / "agents" / name
            _write(path, content)
            path.chmod(0o755)
        self.environment = {
            "PATH": f"{PROGRAM.parent}{os.pathsep}{os.environ['PATH']}",
            "HOME": str(self.home),
            "PLANBOUND_STATE": str(folder / "state"),
            "LC_ALL": "C.UTF-8",
            "TERM": os.environ.get("TERM", "dumb"),
            # As on a terminal: what is written first is seen first, on both streams.
            "PYTHONUNBUFFERED": "1",
            **({"FORCE_COLOR": "1"} if sys.stdout.isatty() else {}),
        }
        for command in ("init --quiet", "add --all", "commit --quiet --message Begin"):
            who = "-c user.name=mara -c user.email=mara@example.org"
            self.read(f"git {who} -c init.defaultBranch=main {command}")

    def say(self, *lines: str) -> None:
        """Print what comes next."""
        print("\n── " + "\n   ".join(lines) + "\n", flush=True)

    def read(self, command: str) -> str:
        """Return what a command prints, without showing it."""
        return subprocess.run(
            shlex.split(command),
            cwd=self.folder,
            env=self.environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    def shell(self, command: str, *, expect: int = 0) -> None:
        """Run a command, show what it prints, and check how it ends."""
        print(f"$ {command}", flush=True)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
            check=False,
        )
        self._ended(done.returncode, expect)

    def killed(self, command: str) -> None:
        """Run a command, and kill it when its agent has half of a file written."""
        print(f"$ {command}", flush=True)
        process = subprocess.Popen(
            shlex.split(command),
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.STDOUT,
        )
        self._until(lambda: "half of" in (self.folder / "billing/invoice.py").read_text())
        print(f"$ kill -KILL {process.pid}", flush=True)
        process.kill()
        self._ended(process.wait(), -signal.SIGKILL)
        self._until(lambda: not self._agents())

    def _agents(self) -> list[Path]:
        """Return the processes that run a program of the agents."""
        agents = str(self.home / "agents").encode()
        found = []
        for path in Path("/proc").glob("[0-9]*/cmdline"):
            try:
                if agents in path.read_bytes():
                    found.append(path.parent)
            except OSError:
                continue  # gone meanwhile
        return found

    def _until(self, holds: Callable[[], bool]) -> None:
        end = time.monotonic() + 20
        while not holds():
            if time.monotonic() > end:
                self.failed = True
                print("!! waited in vain", flush=True)
                return
            time.sleep(0.02)

    def _ended(self, code: int, expect: int) -> None:
        if code:
            print(f"(exit code {code})", flush=True)
        if code != expect:
            print(f"!! expected {expect}", flush=True)
            self.failed = True


def _write(path: Path, content: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content, encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
