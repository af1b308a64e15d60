"""What a check asks outside of the receipt, as the installed program can."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

from planbound.cells.signatures import has_keygen, ssh_keygen
from planbound.errors import PlanboundError, UsageError
from planbound.git.repository import read_git
from planbound.judging.case import cases
from planbound.plan.digest import contract_digest, digest
from planbound.plan.parse import parse
from planbound.receipts.check import Doors, PlanMeaning
from planbound.receipts.claims import item_name
from planbound.receipts.envelope import MOST_BYTES
from planbound.receipts.raw_signature import raw_verifier


def doors(folder: str) -> Doors:
    """Return the doors of this machine; revisions are those of the repository around a folder."""

    def git(words: Sequence[str]) -> bytes | None:
        return read_git(folder, tuple(words))

    return Doors(
        keygen=_keygen if has_keygen() else None,
        git=git if read_git(folder, ("rev-parse", "--git-dir")) is not None else None,
        meaning=plan_meaning,
        verify=raw_verifier(),
    )


def _keygen(words: Sequence[str], message: bytes, signature: str) -> tuple[int, str]:
    with tempfile.TemporaryDirectory(prefix="planbound-check-") as folder:
        path = os.path.join(folder, "signature")
        with open(path, "w", encoding="ascii") as file:
            file.write(signature)
        try:
            said = ssh_keygen([*words, "-s", path], message)
        except PlanboundError as error:
            return 255, error.message
    return said.code, f"{said.out}\n{said.error}".strip()


def plan_meaning(text: str) -> PlanMeaning:
    """Return what the text of a plan means."""
    from planbound.receipts.items import facts_of  # noqa: PLC0415 - loads the kinds of events

    plan = parse(text.encode("utf-8", "surrogateescape"), path="the plan")
    found = {
        item_name({"kind": each.subject.value, "number": each.number}): each for each in cases(plan)
    }
    contracts = {
        name: contract_digest(case.contract) if case.contract is not None else None
        for name, case in found.items()
    }
    facts = {name: facts_of(case) for name, case in found.items()}
    return PlanMeaning(digest(plan), contracts, facts)


def read_receipt_file(path: str) -> bytes:
    """Return what is in a file, up to a byte more than a receipt may have; `-` is standard input.

    The rest is refused by who reads it.
    """
    if path == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    if not os.path.isfile(path):
        what = "is a directory" if os.path.isdir(path) else "is not there"
        raise UsageError(f"`{path}` {what}, expected a receipt")
    try:
        with open(path, "rb") as file:
            return file.read(MOST_BYTES + 1)
    except OSError as error:
        raise UsageError(f"cannot read `{path}`: {error.strerror}") from error
