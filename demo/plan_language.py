"""`make demo-language`: a plan is drafted, found faulty, repaired, verified and shown.

Everything is the real program in a scratch repository; nothing is faked.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = str(Path(sys.executable).with_name("planbound"))

# What a model made of the draft: right in the main, sloppy in the details.
FROM_A_MODEL = """\
---
type: plan
status: draft
owner: orchestrator
---
# Round invoices to whole cents

**Context:** Totals differ from the bank's by a cent on invoices with many lines.
**Budget:** max 150k tokens, $1.20, 25 minutes wall clock

## Steps
## Step 1: Find where rounding happens
- **Target:** coder
- **Task:** List every place that rounds an amount, with file and line, in `docs/rounding.md`.
- **Contract:** bash: test "$(grep -c '^- src/' docs/rounding.md)" -ge 1

### 2. Round once, at the end
**target:** coder
**task:** Clean up the code.
**contract:**
```console
$ python3 -m pytest -q tests/billing || true
```
exit_code == 0

### 3. Have somebody look at it (depends on 2, 4)
**targt:** reviewer
**task:** Read the difference and write APPROVED or CHANGES_REQUESTED to `docs/review.md`.
**contract:** `grep -q "APPROVED" docs/review.md`

## Postconditions
1. The suite passes
```shell
python3 -m pytest -q tests
```
"""

BY_HAND = (
    (
        "**task:** Clean up the code.",
        "**task:** Remove every rounding but the last one in `src/billing/invoice.py`.",
    ),
    ("tests/billing || true", "tests/billing"),
    ("(depends on 2, 4)", "(depends on 2)"),
    ("**targt:**", "**target:**"),
)


def main() -> int:
    """Run the demonstration; 0 where every command ended as it should."""
    with tempfile.TemporaryDirectory(prefix="planbound-demo-") as folder:
        demo = Demo(Path(folder))
        demo.lay_out()
        demo.say("A new plan is a draft with everything still to be said.")
        demo.planbound("new", "rounding", "--objective", "Round invoices to whole cents")
        demo.say("A draft is not a plan yet, and verify says so.")
        demo.planbound("verify", "rounding", expect=1, keep=12)
        demo.say("A model fills it in. This is what came back:")
        demo.plan.write_text(FROM_A_MODEL, encoding="utf-8")
        demo.quote(FROM_A_MODEL, start="## Steps", lines=12)
        demo.say("Verify says everything that is wrong, in one pass.")
        demo.planbound("verify", "rounding", expect=1)
        demo.say("What is only written badly, fmt repairs.")
        demo.planbound("fmt", "rounding")
        demo.say("What is meant badly, a person repairs: a real task, a contract that can fail, …")
        text = demo.plan.read_text(encoding="utf-8")
        for old, new in BY_HAND:
            print(f"    {old}\n  → {new}")
            text = text.replace(old, new)
        demo.plan.write_text(text, encoding="utf-8")
        demo.planbound("verify", "rounding")
        demo.say("The plan as everybody will read it.")
        demo.planbound("show", "rounding")
        demo.say("And every diagnostic explains itself.")
        demo.planbound("explain", "cannot-fail", keep=14)
    return 1 if demo.failed else 0


class Demo:
    """A scratch repository and a person at its keyboard."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.plan = folder / ".harness/PLAN-rounding.md"
        self.failed = False

    def lay_out(self) -> None:
        """Make the repository that the plan is about."""
        for name in ("src/billing/invoice.py", "tests/billing/test_invoice.py"):
            path = self.folder / name
            path.parent.mkdir(parents=True)
            path.write_text("", encoding="utf-8")
        subprocess.run(["git", "init", "--quiet"], cwd=self.folder, check=True)

    def say(self, text: str) -> None:
        """Print what comes next."""
        print(f"\n── {text}\n", flush=True)

    def quote(self, text: str, *, start: str, lines: int) -> None:
        """Print a part of a file."""
        rest = text[text.index(start) :].split("\n")[:lines]
        print("\n".join(f"    {line}" for line in rest) + "\n    …", flush=True)

    def planbound(self, *arguments: str, expect: int = 0, keep: int | None = None) -> None:
        """Run a command, show what it prints, and check how it ends."""
        print(f"$ planbound {' '.join(_quoted(word) for word in arguments)}", flush=True)
        done = subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
            env={**os.environ, **({"FORCE_COLOR": "1"} if sys.stdout.isatty() else {})},
        )
        lines = done.stdout.splitlines()
        print("\n".join(lines[:keep]))
        if keep is not None and len(lines) > keep:
            print(f"… {len(lines) - keep} more lines")
        print(f"(exit code {done.returncode})", flush=True)
        if done.returncode != expect:
            print(f"!! expected {expect}", flush=True)
            self.failed = True


def _quoted(word: str) -> str:
    return f'"{word}"' if " " in word else word


if __name__ == "__main__":
    sys.exit(main())
