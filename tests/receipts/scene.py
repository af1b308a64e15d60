"""Receipts of plans that ran, as they were made, and as somebody else would rather have them."""

from __future__ import annotations

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from planbound.receipts.check import CheckLine, CheckRules, Doors, check
from planbound.receipts.doors import plan_meaning
from planbound.receipts.envelope import (
    Envelope,
    EnvelopeSignature,
    canonical_json,
    envelope_line,
    read_envelopes,
)
from planbound.receipts.raw_signature import raw_verifier
from tests.run.bench import NOTHING, Bench, Step

ONE_FILE = Path(__file__).parents[2] / "planbound-check-receipt.py"
SIGNED = (
    Step("Make a"),
    Step("Make b", touches="src/b tests/b.sh", contract="sh tests/b.sh", work="echo ok > src/b"),
)
HELD = Step("Check the lint", work=NOTHING, contract="test -f src/readme")
RED = Step("Fail c", work=NOTHING, fields="**on_fail:** abort")


class Receipts:
    """A bench, and the receipts of its plans."""

    def __init__(self, bench: Bench) -> None:
        self.bench = bench
        bench.write("tests/b.sh", "grep -q ok src/b\n")

    def make(self, slug: str, *more: str) -> bytes:
        """Return the receipt of a plan."""
        path = self.bench.folder / f"{slug}.receipt.jsonl"
        self.bench.goes("receipt", slug, "-o", str(path), *more)
        return path.read_bytes()

    def path(self, data: bytes, name: str = "given.jsonl") -> Path:
        """Write a receipt to a file."""
        path = self.bench.folder / name
        path.write_bytes(data)
        return path

    def signers(self) -> Path:
        """Write the list of those who may sign: the harness."""
        path = self.bench.folder / "signers"
        path.write_text(self.bench.goes("keys", "export").out)
        return path


def run_of(data: bytes) -> dict[str, Any]:
    """Return the predicate of the first line."""
    found: dict[str, Any] = json.loads(read_envelopes(data)[0].payload)["predicate"]
    return found


def kinds_of(data: bytes) -> list[str]:
    """Return the kinds of deviations."""
    return [each["deviation"] for each in run_of(data)["deviations"]]


Change = Callable[[list[dict[str, Any]]], object]


def rewritten(data: bytes, change: Change, *, own: bool = True) -> bytes:
    """Return a receipt with other statements, whose digests fit; signatures stay where `own`."""
    envelopes = read_envelopes(data)
    statements = [json.loads(each.payload) for each in envelopes]
    change(statements)
    payloads = [canonical_json(each) for each in statements]
    if "statements" in statements[0]["predicate"]:
        digests = [hashlib.sha256(each).hexdigest() for each in payloads[1:]]
        statements[0]["predicate"]["statements"] = digests
        payloads[0] = canonical_json(statements[0])
    kept = [*envelopes, *[Envelope(b"", ())] * len(payloads)]
    return b"".join(
        envelope_line(Envelope(payload, each.signatures if own else ()))
        for payload, each in zip(payloads, kept, strict=False)
    )


def unsigned(data: bytes, change: Change = lambda _: None) -> bytes:
    """Return a receipt that nobody signed, changed by somebody who makes the rest fit."""

    def with_no_key(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["harness"]["key"] = None
        change(statements)

    return rewritten(data, with_no_key, own=False)


DOORS = Doors(meaning=plan_meaning, verify=raw_verifier())


def checked(data: bytes, **rules: Any) -> dict[str, CheckLine]:
    """Return each check by its name; OpenSSH and git are not asked."""
    return {line.name: line for line in check(data, DOORS, CheckRules(**rules))}


def failing(data: bytes, **rules: Any) -> list[str]:
    """Return the names of the checks that fail."""
    return [name for name, line in checked(data, **rules).items() if line.holds is False]


def one_file(*arguments: str | Path, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run the checker of one file, with the interpreter alone."""
    command = [sys.executable, "-I", "-S", str(ONE_FILE), *map(str, arguments)]
    return subprocess.run(
        command, capture_output=True, text=True, cwd=cwd, check=False, stdin=subprocess.DEVNULL
    )


def with_signature(data: bytes, place: int, sig: bytes) -> bytes:
    """Return a receipt with another signature on its first line."""
    first, *others = read_envelopes(data)
    signed = list(first.signatures)
    signed[place] = EnvelopeSignature(signed[place].keyid, sig)
    lines = [Envelope(first.payload, tuple(signed)), *others]
    return b"".join(map(envelope_line, lines))


def decoded(text: str) -> bytes:
    """Return what base64 stands for."""
    return base64.b64decode(text)
