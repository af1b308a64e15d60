"""A small billing project whose plans stand at different places: what all pages are looked at with.

Agents are scripted, everything else is real. `rounding` waits for a person after an agent that
cheated, `numbers` is proved, `tax` was given up, `export` waits for another plan, `currency`
was changed after it was approved and became weaker, and nobody looked at `reminders` yet.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo import run as demo
from tests.page.browser import RunningServer, serving
from tests.run.bench import Bench, until

PAGES = {
    "plans": "/",
    "plan": "/plan/rounding",
    "changed": "/plan/currency",
    "sheet": "/plan/rounding/sheet",
    "gate": "/plan/currency/gate",
    "before": "/plan/reminders/gate",
    "comments": "/plan/currency/review",
    "edit": "/plan/currency/edit",
    "run": "/plan/rounding/run",
    "failed": "/plan/tax/run",
    "proved": "/plan/numbers/run",
    "evidence": "/plan/rounding/step/3/attempt/2",
    "inbox": "/inbox",
    "team": "/team",
    "integrate": "/team/integrate",
    "prune": "/team/prune",
    "journal": "/journal",
    "event": "/journal/12",
    "costs": "/costs",
    "nowhere": "/plan/nowhere",
}
"""Each kind of page, by a name for its picture and its golden file."""

PLAN = """\
---
type: plan
status: draft
owner: mara
{fields}---

# {title}

**Context:** {context}
**Budget:** {budget}

## Steps
{steps}"""
STEP = """
### {number}. {title}

**target:** {target}
**touches:**
- {touches}

**task:**
{task}

**contract:**
```shell
{contract}
```
{more}"""


def step(number: int, title: str, target: str, touches: str, **texts: str) -> str:
    """Return a step as it stands in a plan."""
    given = {"task": f"{title}, as `docs/billing.md` says.", "more": "", **texts}
    given["more"] = given["more"] and f"{given['more']}\n"
    return STEP.format(number=number, title=title, target=target, touches=touches, **given)


def plan(title: str, context: str, *steps: str, fields: str = "", **texts: str) -> str:
    """Return a plan."""
    budget = texts.get("budget", "max 60k tokens, $1, 10 minutes wall clock")
    return PLAN.format(
        title=title, context=context, steps="".join(steps), fields=fields, budget=budget
    )


NUMBERS = plan(
    "Give every invoice a number of its own",
    "Two invoices of one day have the same number since the import of March.",
    step(
        1,
        "Count within a year",
        "counter",
        "billing/numbers.py",
        task="Write `number(year, count)`: the year, a hyphen, the count with five digits.",
        contract="python3 -m unittest tests.test_numbers",
        more="tests >= 2\n**on_fail:** retry(2), then escalate",
    ),
    step(
        2,
        "Tell it in the manual (depends on 1)",
        "writer",
        "docs/numbers.md",
        task="Say in `docs/numbers.md` what a number looks like, with an example.",
        contract="grep -qx 'Example: 2026-00042' docs/numbers.md",
    ),
)
TAX = plan(
    "Know the reduced rate of tax",
    "Books and bread are taxed at seven per cent, and all else at nineteen.",
    step(
        1,
        "Look up the rate of a good",
        "guesser",
        "billing/tax.py",
        task="Write `rate(good)`: 7 for books and bread, 19 for everything else.",
        contract="python3 -m unittest tests.test_tax",
        more="tests >= 2\n**on_fail:** retry(1), then abort",
    ),
    step(
        2,
        "Show it on the invoice (depends on 1)",
        "writer",
        "docs/tax.md",
        contract="grep -q '7 %' docs/tax.md",
    ),
)
EXPORT = plan(
    "Write invoices for the tax adviser",
    "She wants one file a month, with commas.",
    step(
        1,
        "Write a month as CSV",
        "coder",
        "billing/export.py",
        contract="python3 -m unittest tests.test_export",
        more="tests >= 3",
    ),
    fields="depends_on: [rounding]\n",
)
CURRENCY = plan(
    "Keep the currency beside each amount",
    "Customers in Zurich pay in francs.",
    step(
        1,
        "Add a field for the currency",
        "coder",
        "billing/money.py",
        task="Let `Money` hold an amount and a currency, and refuse to add two of them.",
        contract="python3 -m unittest tests.test_money",
        more="tests >= 4\n**on_fail:** retry(2), then escalate",
    ),
    step(
        2,
        "Print it behind the amount (depends on 1)",
        "coder",
        "billing/invoice.py",
        contract="python3 -c 'from billing.money import *; print(Money(1, \"CHF\"))'",
        more='stdout contains "1.00 CHF"',
    ),
)
WEAKER = (
    ("tests >= 4", "tests >= 1"),
    ("billing/money.py", "billing/**"),
    ('stdout contains "1.00 CHF"', 'stdout contains "CHF"'),
)
REMINDERS = plan(
    "Remind of what is overdue",
    "Half of the customers pay only when they are asked.",
    step(
        1,
        "List what is overdue",
        "coder",
        "billing/overdue.py",
        contract="python3 -m unittest tests.test_overdue",
        more="tests >= 2",
    ),
)
TESTS = """\
import unittest

from billing.{module} import {name}


class {title}(unittest.TestCase):
{cases}"""
CASE = "    def test_{what}(self):\n        self.assertEqual({call}, {value})\n"
FILES = {
    **{name: text for name, text in demo.FILES.items() if not name.startswith(".harness")},
    "billing/numbers.py": "def number(year, count):\n    return str(count)\n",
    "billing/tax.py": "def rate(good):\n    return 19\n",
    "docs/billing.md": "# Billing\n\nAmounts are rounded once, at the end.\n",
    "tests/test_numbers.py": TESTS.format(
        module="numbers",
        name="number",
        title="Numbers",
        cases=CASE.format(what="first", call="number(2026, 1)", value="'2026-00001'")
        + CASE.format(what="year", call="number(2027, 1)", value="'2027-00001'"),
    ),
    "tests/test_tax.py": TESTS.format(
        module="tax",
        name="rate",
        title="Tax",
        cases=CASE.format(what="books", call="rate('book')", value="7")
        + CASE.format(what="wine", call="rate('wine')", value="19"),
    ),
}
AGENTS = {
    **demo.AGENTS,
    "idle.sh": """\
#!/bin/sh
# Says "done" and did nothing; works when it is told that it was seen.
case "$(cat)" in
*"The last attempt did not pass"*)
    sed -i 's/return sum.*/return round_cents(sum(amounts, Decimal(0)))/' billing/invoice.py ;;
esac
echo "Done: totals are right now."
"""
    + demo.USAGE % (5200, 0.06),
    "counter.sh": """\
#!/bin/sh
echo "I read tests/test_numbers.py, and write the year in front."
printf 'def number(year, count):\\n    return f"{year}-{count:05d}"\\n' > billing/numbers.py
"""
    + demo.USAGE % (4100, 0.05),
    "writer.sh": """\
#!/bin/sh
mkdir -p docs
printf '# Numbers\\n\\nExample: 2026-00042\\n' > docs/numbers.md
echo "The manual has an example now."
"""
    + demo.USAGE % (900, 0.01),
    "guesser.sh": """\
#!/bin/sh
# Guesses another rate each time.
printf 'def rate(good):\\n    return %s\\n' "$PLANBOUND_ATTEMPT" > billing/tax.py
echo "The rate is right now: I am sure."
""",
}
TARGETS = {"scout": "honest", "coder": "idle", "intern": "cheat", "janitor": ""}


def lay(folder: Path) -> Bench:
    """Write the project, its plans and its agents; nothing has happened yet."""
    bench = Bench(folder, name="billing")
    (bench.workspace / ".git").rmdir()
    (bench.workspace / "src/readme").unlink()
    (bench.workspace / "src").rmdir()
    for name, text in AGENTS.items():
        (folder / "agents" / name).write_text(text)
        (folder / "agents" / name).chmod(0o755)
    for name, text in FILES.items():
        bench.write(name, text)
    targets = {**TARGETS, **{name: name for name in ("counter", "writer", "guesser")}}
    bench.write(
        "planbound.toml",
        "\n".join(
            f'[agents.{target}]\nkind = "command"\ncommand = ["{folder / "agents" / program}.sh"]\n'
            if program
            else f'[agents.{target}]\nkind = "command"\ncommand = ["true"]\n'
            for target, program in targets.items()
        ),
    )
    for name, text in (
        ("rounding", demo.PLAN),
        ("numbers", NUMBERS),
        ("tax", TAX),
        ("export", EXPORT),
        ("currency", CURRENCY),
        ("reminders", REMINDERS),
    ):
        bench.write(f".harness/PLAN-{name}.md", text)
    who = ["-c", "user.name=mara", "-c", "user.email=mara@example.org"]
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "Begin"]):
        subprocess.run(["git", *who, *words], cwd=bench.workspace, check=True)
    return bench


def play(folder: Path) -> Bench:
    """Let everything happen that the pages tell of."""
    bench = lay(folder)
    for name in ("numbers", "tax", "rounding", "export", "currency"):
        bench.goes("approve", name, "--digest", bench.digest(name)[:16], "--as", "mara")
    bench.goes("run", "numbers", "--no-input")
    bench.run("run", "tax", "--no-input")
    bench.goes("run", "rounding", "--no-input", code=4)
    text = bench.read(".harness/PLAN-currency.md")
    for before, after in WEAKER:
        assert before in text
        text = text.replace(before, after)
    bench.write(".harness/PLAN-currency.md", text)
    return bench


@contextmanager
def served(folder: Path) -> Iterator[RunningServer]:
    """Serve all of it to somebody who may decide, and who has looked at one gate."""
    bench = play(folder)
    with serving(bench, "--decide-anyway", LOGNAME="mara") as running:
        running.enter()
        running.submit("/plan/currency/gate", "/plan/currency/look")
        until(lambda: "/plan/currency/approve" in running.get("/plan/currency/gate").text)
        yield running
