"""Which receipts may be judged again: those that check, and for others a word and walls."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from planbound.disk.decoders import json_decoder
from planbound.errors import UsageError
from planbound.receipts.check import CheckLine, CheckRules, check, read_receipt
from planbound.receipts.doors import doors
from planbound.receipts.envelope import ReceiptError, canonical_json
from planbound.receipts.predicate import PlanRun
from planbound.receipts.replayed import ReplayedReceipt


class Replayable(NamedTuple):
    """A receipt that can be read, and what is wrong with it."""

    data: bytes
    run: PlanRun
    subjects: tuple[Mapping[str, Any], ...]
    checks: tuple[CheckLine, ...]
    unsigned: bool
    """Whether it is to be judged although it does not check."""

    @property
    def failing(self) -> tuple[str, ...]:
        """Return the names of the checks that do not hold."""
        return tuple(line.name for line in self.checks if line.holds is False)

    @property
    def is_signed(self) -> bool:
        """Whether a signature was seen to hold, whoever made it."""
        return self._holds("signature")

    @property
    def is_vouched(self) -> bool:
        """Whether it checks, and is signed by somebody who may sign."""
        return not self.failing and self.is_signed and self._holds("signer")

    @property
    def may_run(self) -> bool:
        """Whether anything of it is run."""
        return self.unsigned or (not self.failing and self.is_signed)

    @property
    def keys(self) -> tuple[str, ...]:
        """Return the keys that were seen to sign it, where nothing speaks against it."""
        key = self.run.harness.key
        is_good = self.is_signed and not self.failing
        return (key.fingerprint,) if key is not None and is_good else ()

    def said(self) -> ReplayedReceipt:
        """Return what the receipt of a replay says of it."""
        return ReplayedReceipt(
            sha256=hashlib.sha256(self.data).hexdigest(),
            key=next(iter(self.keys), None),
            unsigned=not (not self.failing and self.is_signed),
            refused=self.failing,
        )

    def _holds(self, name: str) -> bool:
        return any(line.name == name and line.holds is True for line in self.checks)


def open_receipt(data: bytes, folder: str, rules: CheckRules, *, unsigned: bool) -> Replayable:
    """Read a receipt and check it; refuse what is none. Nothing is run."""
    try:
        read = read_receipt(data)
        lines = check(data, doors(folder), rules)
        run = None if read.is_replay else json_decoder(PlanRun).decode(canonical_json(read.run))
    except (ReceiptError, msgspec.ValidationError) as error:
        raise UsageError(str(error)) from error
    if run is None:
        raise UsageError("it tells of a replay: judge the receipt that it was about")
    subjects: Sequence[Mapping[str, Any]] = read.statements[0]["subject"]
    return Replayable(data, run, tuple(subjects), tuple(lines), unsigned)
