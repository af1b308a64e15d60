"""What was measured: one line of JSON each, kept as soon as it is known, and the table of them."""

from __future__ import annotations

import re
import statistics
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from evals.agents import AGENTS
from evals.harnesses import HARNESSES

PAGE = Path(__file__).parents[1] / "docs" / "concepts" / "trust.md"
_TABLE = re.compile(r"(<!-- evals -->\n).*?(<!-- /evals -->)", re.DOTALL)


class Result(msgspec.Struct, frozen=True):
    """What one harness said of one agent's work on one exercise."""

    exercise: str
    agent: str
    harness: str
    seed: int
    program: str
    """The digest of Planbound's sources, where it judged."""
    done: bool | None
    """Whether the harness took it for done; None: the trick cannot be done there."""
    verdict: str = ""
    reason: str = ""
    seconds: float = 0.0
    evidence: str = ""
    """The level that Planbound says it reached."""

    @property
    def key(self) -> tuple[str, str, str, int, str]:
        """What is measured once."""
        return (self.exercise, self.agent, self.harness, self.seed, self.program)


class Results:
    """A file of results; what is in it is not measured again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._known = {result.key: result for result in _read(path)}

    def known(self, wanted: Result) -> Result | None:
        """Return a result with the same key."""
        return self._known.get(wanted.key)

    def add(self, result: Result) -> None:
        """Keep a result."""
        with self._lock:
            self._known[result.key] = result
            torn = self._path.exists() and self._path.read_bytes()[-1:] not in (b"", b"\n")
            with self._path.open("ab") as file:
                file.write((b"\n" if torn else b"") + msgspec.json.encode(result) + b"\n")


def _read(path: Path) -> Iterator[Result]:
    if not path.exists():
        return
    for line in path.read_bytes().splitlines():
        try:
            yield msgspec.json.decode(line, type=Result)
        except msgspec.MsgspecError:  # a run was killed while it wrote this line
            continue


class Cell(msgspec.Struct, frozen=True):
    """How often a harness was wrong about an agent."""

    agent: str
    harness: str
    wrong: int
    """Honest work that was refused, or a trick that was taken for done."""
    of: int
    seconds: float
    """The median of a verdict."""
    exercises: tuple[str, ...]
    """Where it was wrong."""


def cells(results: Iterable[Result]) -> list[Cell]:
    """Count, for each agent and each harness.

    Exercises that show nothing are left out.
    """
    results = list(results)
    broken = unsound(results)
    found: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        if result.done is not None and result.exercise not in broken:
            found.setdefault((result.agent, result.harness), []).append(result)
    return [
        _cell(agent, harness, found[agent, harness])
        for agent in AGENTS
        for harness in HARNESSES
        if (agent, harness) in found
    ]


def unsound(results: Iterable[Result]) -> set[str]:
    """Return the exercises that show nothing.

    The bare command fails with the reference solution, so the tests do not run on this machine; or
    it passes before the work, so there is nothing to prove.
    """
    shown = {("honest", False), ("does-nothing", True)}
    return {
        result.exercise
        for result in results
        if (result.harness == "exit-code" and (result.agent, result.done) in shown)
        or result.verdict == "holds"
    }


def _cell(agent: str, harness: str, results: Sequence[Result]) -> Cell:
    wrong = [each.exercise for each in results if each.done is not (agent == "honest")]
    seconds = statistics.median(each.seconds for each in results)
    return Cell(agent, harness, len(wrong), len(results), seconds, tuple(sorted(wrong)))


def table(counted: Sequence[Cell], facts: Mapping[str, str]) -> str:
    """Return the table, in Markdown."""
    harnesses = [name for name in HARNESSES if any(cell.harness == name for cell in counted)]
    by_place = {(cell.agent, cell.harness): cell for cell in counted}
    lines = [
        "| agent | " + " | ".join(HARNESSES[name].title for name in harnesses) + " |",
        "| --- |" + " ---: |" * len(harnesses),
    ]
    for agent in AGENTS:
        row = [by_place.get((agent, name)) for name in harnesses]
        if any(row):
            words = (f"{cell.wrong} / {cell.of}" if cell else "" for cell in row)
            what = "honest: wrongly refused" if agent == "honest" else f"{agent}: fooled"
            lines.append(f"| {what} | " + " | ".join(words) + " |")
    times = (
        statistics.median(cell.seconds for cell in counted if cell.harness == name)
        for name in harnesses
    )
    lines.append("| seconds per verdict | " + " | ".join(f"{time:.1f}" for time in times) + " |")
    said = ", ".join(f"{name} {value}" for name, value in facts.items())
    return "\n".join(lines) + f"\n\n{said}\n"


def write_table(text: str, page: Path) -> None:
    """Put the table between its markers."""
    content = page.read_text(encoding="utf-8")
    page.write_text(_TABLE.sub(lambda match: match[1] + text + match[2], content), encoding="utf-8")
