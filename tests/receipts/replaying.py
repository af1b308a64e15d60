"""A receipt, the repository that it is of, and another machine with a clone of it."""

from __future__ import annotations

import copy
import json
import shutil
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

from planbound.receipts.envelope import Envelope, envelope_line, read_envelopes
from tests.needs import need
from tests.program import WITHOUT_WALLS, Outcome, Program
from tests.run.bench import Step
from tests.team.repo import Team

TOTAL = Step("sum up total", "echo 42 > src/total", "sh tests/check.sh", touches="src/total")
CHECK = '#!/bin/sh\ntest "$(cat src/total)" = 42\n'


class Origin(Team):
    """Where a plan was run, and its receipt was made."""

    def __init__(self, folder: Path) -> None:
        need("ssh-keygen", "receipts are signed by it")
        super().__init__(folder)
        self.write("tests/check.sh", CHECK)
        self.commit("a judge")

    @property
    def receipt(self) -> Path:
        """Return where the receipt is."""
        return self.folder / "alpha.receipt.jsonl"

    def done(self, *steps: Step, signed: bool = True, **more: Any) -> str:
        """Run a plan, write its receipt, and commit the work; return the commit."""
        steps = steps or (TOTAL, Step("make b"))
        more.setdefault("after", ["test -f src/total"])
        self.named("alpha", *steps, **more)
        self.goes("run", "alpha", "--no-input")
        self.write_receipt(*([] if signed else ["--unsigned"]))
        return self.commit("work")

    def write_receipt(self, *words: str) -> None:
        """Write the receipt as it would be now."""
        self.goes("receipt", "alpha", "-o", str(self.receipt), *words)

    def copied(self, folder: Path) -> Origin:
        """Return a copy of it, in a folder where nothing is, that may be changed."""
        shutil.copytree(self.folder, folder, symlinks=True)
        there = copy.copy(self)
        there.folder = folder
        there.workspace = folder / self.workspace.name
        return there

    def signers(self) -> Path:
        """Return a list of who may sign, with the key of this machine."""
        path = self.folder / "signers"
        path.write_text(self.goes("keys", "export").out)
        return path


ELSEWHERE = "elsewhere-{}"


class Elsewhere(Program):
    """Another machine: a clone, a home, and nothing of the first one."""

    def __init__(self, origin: Origin, *, walls: bool = True) -> None:
        name = next(
            each for each in map(ELSEWHERE.format, count()) if not (origin.folder / each).exists()
        )
        folder = origin.folder / name
        super().__init__(folder / "clone")
        self.home = folder / "home"
        self.home.mkdir(parents=True)
        # Over a protocol: who copies a folder has what no commit leads to, too.
        origin.git("clone", "--quiet", f"file://{origin.workspace}", str(self.workspace))
        self.git = origin.git
        if not walls:
            self.program = WITHOUT_WALLS

    def environment(self, **extra: str) -> dict[str, str]:
        """Return what the process sees."""
        return {**super().environment(), "HOME": str(self.home), **extra}

    def replay(self, receipt: Path, *words: str, **extra: Any) -> Outcome:
        """Judge a receipt again."""
        return self.run("replay", str(receipt), *words, **extra)

    def replayed(self, receipt: Path, *words: str, code: int = 0, **extra: Any) -> Any:
        """Judge a receipt again, and return what a program is told."""
        done = self.replay(receipt, *words, "--json", **extra)
        told = done.out[done.out.find('"ran"') :]
        assert done.code == code, f"exit {done.code}\n{told}\n{done.err}"
        return done.json

    def commit(self, message: str) -> str:
        """Commit everything in the clone."""
        self.git("add", "--all", cwd=self.workspace)
        self.git("commit", "--quiet", "-m", message, cwd=self.workspace)
        return self.git("rev-parse", "HEAD", cwd=self.workspace)


def outcomes(said: Mapping[str, Any]) -> dict[str, str]:
    """Return what became of each item."""
    return {f"{item['kind']} {item['number']}": item["outcome"] for item in said["items"]}


def item_of(said: Mapping[str, Any], name: str) -> Any:
    """Return an item by its name, such as `step 1`."""
    kind, number = name.split()
    return next(item for item in said["items"] if (item["kind"], item["number"]) == (kind, number))


# -- receipts as values ---------------------------------------------------------------------------


def statement(data: bytes) -> dict[str, Any]:
    """Return what the first line of a receipt says."""
    said: dict[str, Any] = json.loads(read_envelopes(data)[0].payload)
    return said


def stripped(data: bytes) -> bytes:
    """Return a receipt with all signatures taken away."""
    return b"".join(envelope_line(Envelope(each.payload, ())) for each in read_envelopes(data))
