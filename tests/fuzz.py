"""Throws malformed plans at `verify`: `make fuzz` for 100,000 inputs, a few in the suite.

Inputs are mutations of real plans, of each other, and plain noise. Each goes through parse,
write, digest, every rule, and every repair; the shell is asked about one in fifty, since starting
it costs more than all the rest.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path

from planbound.cells.syntax import BashSyntax
from planbound.cli import verify as data
from planbound.cli.annotations import as_sarif, render_annotation
from planbound.cli.show import plan_shown
from planbound.cli.verify import sarif_rules
from planbound.disk.files import PlanFile
from planbound.plan.digest import digest
from planbound.plan.parse import parse, write
from planbound.plan.repair import repair
from planbound.source import excerpt
from planbound.verify.examine import Verified
from planbound.verify.facts import SyntaxFault
from planbound.verify.rules import RULES
from planbound.workspace.configuration import Configuration
from planbound.workspace.surroundings import Surroundings, verify

HERE = Path(__file__).parent
TOKENS = [
    "\r\n", "\r", "\t", "    ", "```", "~~~", "````markdown\n", "\n\n", "### ", "## Steps\n", "# ",
    "**contract:**", "**task:**", "**depends:** ", "**", "__", "<!--", "-->", "> ", "- ", "1. ",
    "---\n", "\ufeff", "\0", "\u202e", "\udc80", "\ud800", "### 3–N. x\n", "### N+1. y\n", "N+1",
    "(depends on 1, 9-3, N)", "exit_code == ", 'stdout contains "', "**status: done**", "✅", "[x]",
    "[", "{", "]", "}", "*", "_", "`", "|", "&", "\\", "\u2028", "\x0b", "\x85", "|| true\n", "$(",
    "<<EOF\n", "'", '"', "touches: [", "file:../x", "topic:/", "**/", "{a,b}", "[!a-z]", "99999999",
    "$1e9", "max 9k tokens", "retry(", 'attest "', "bash: ", "$ ", "## Postconditions\n",
    "步骤 1：",
    "if true; then", "&a [*a]", ": ", "? ", "!!python/object:os.system x", "%YAML 9\n", "…", "–",
]  # fmt: skip


class NoShell(BashSyntax):
    """Says nothing about any command."""

    def faults(self, commands: Sequence[str]) -> Mapping[str, SyntaxFault]:
        """Return no fault."""
        del commands
        return {}


def seeds() -> list[str]:
    """Return the plans that mutations start from."""
    plans = [path.read_text(encoding="utf-8") for path in (HERE / "fixtures/plans").glob("*.md")]
    rules = [path.read_text(encoding="utf-8") for path in (HERE / "verify").glob("PB*.md")]
    return plans * 5 + rules + [rule.page.replace("```", "") for rule in RULES] + ["", "# x"]


def mutate(text: str, others: list[str], dice: random.Random) -> str:
    """Return a text with a few changes."""
    for _ in range(dice.randint(1, 8)):
        start = dice.randint(0, len(text))
        end = min(len(text), start + int(dice.expovariate(1 / 12)))
        kind = dice.randint(0, 6)
        if kind == 0:
            text = text[:start] + text[end:]
        elif kind == 1:
            text = text[:start] + dice.choice(TOKENS) + text[start:]
        elif kind == 2:
            text = text[:end] + text[start:]
        elif kind == 3:
            text = text[:start] + dice.choice(TOKENS) + text[end:]
        elif kind == 4:
            other = dice.choice(others)
            cut = dice.randint(0, len(other))
            text = text[:start] + other[cut : cut + dice.randint(0, 300)] + text[end:]
        elif kind == 5:
            text = text[:start] + chr(dice.randint(0, 0x2FFF)) + text[start:]
        else:
            text = text[: dice.randint(0, len(text))]
    return text[:20_000]


def examine(content: bytes, surroundings: Surroundings) -> None:
    """Put one input through everything that reads plans."""
    plan = parse(content)
    if write(plan) != content:
        raise AssertionError("write(parse(x)) != x")
    digest(plan)
    plan_shown(plan, PlanFile(slug="x", path="x", shown="x"), status=plan.status, revision=1)
    result: Verified = verify(content, path="PLAN.md", surroundings=surroundings)
    for item in result.diagnostics:
        excerpt(result.plan.source, item)
        render_annotation(item)
    data.as_data(result.diagnostics)
    as_sarif(result.diagnostics, sarif_rules())
    once = repair(plan).plan
    if repair(once).plan.source.text != once.source.text:
        raise AssertionError("fmt is not done after one run")


def fuzz(inputs: int, seed: int, *, shell_every: int = 50) -> int:
    """Return how many inputs broke something; print each of them."""
    dice = random.Random(seed)
    pool = seeds()
    broken = 0
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        quiet, real = (
            Surroundings(root=folder, harness=folder, configuration=Configuration(), syntax=syntax)
            for syntax in (NoShell(), BashSyntax())
        )
        for number in range(inputs):
            text = mutate(dice.choice(pool), pool, dice)
            content = text.encode("utf-8", "surrogatepass")
            if dice.random() < 0.1:
                place = dice.randint(0, len(content))
                content = content[:place] + dice.randbytes(dice.randint(1, 8)) + content[place:]
            try:
                examine(content, real if number % shell_every == 0 else quiet)
            except Exception:  # noqa: BLE001 - any exception is a finding
                broken += 1
                print(f"input {number} of seed {seed}: {content!r}")
                traceback.print_exc()
                if broken >= 10:
                    break
            if len(pool) < 2000 and dice.random() < 0.05:
                pool.append(text)
            if (number + 1) % 10_000 == 0:
                rate = (number + 1) / (time.monotonic() - started)
                print(f"{number + 1:,} inputs, {rate:.0f} a second, {broken} broken", flush=True)
    return broken


def main() -> int:
    """Fuzz as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--inputs", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=None)
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.SystemRandom().randrange(10**9)
    print(f"seed {seed}", flush=True)
    broken = fuzz(arguments.inputs, seed)
    print(f"{arguments.inputs:,} inputs, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
