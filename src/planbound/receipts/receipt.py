"""Makes the receipt of a plan: what is said of it, in signed lines."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from planbound.cells.isolation import refuse_in_cell
from planbound.cells.signatures import sign
from planbound.errors import Refused
from planbound.receipts.claims import is_tested, test_result
from planbound.receipts.collect import collect
from planbound.receipts.envelope import (
    MOST_BYTES,
    Envelope,
    EnvelopeSignature,
    envelope_line,
    pae,
    statement_json,
)
from planbound.receipts.journal_proof import JournalProof
from planbound.receipts.keys import PERSON, Signer, signer_of
from planbound.receipts.predicate import PLAN_RUN, TEST_RESULT, PlanRun
from planbound.receipts.raw_signature import raw_signer
from planbound.receipts.ssh_signature import NAMESPACE, dearmored, fingerprint, raw_key, raw_keyid
from planbound.workspace.context import Context


class MadeReceipt(NamedTuple):
    """A receipt, and what it says."""

    data: bytes
    """The lines of the file."""
    run: PlanRun
    subjects: tuple[Mapping[str, object], ...]
    signer: Signer | None
    """Who signed it; None where nobody did."""
    raw: bool
    """Whether other tools of DSSE find signatures that they can check."""
    proof: JournalProof

    @property
    def sha256(self) -> str:
        """Return the digest of the file, by which a commit can name it."""
        return hashlib.sha256(self.data).hexdigest()

    def note(self) -> None:
        """Note that it is written, so that the next one continues it."""
        self.proof.note()


def make_receipt(context: Context, slug: str, *, unsigned: bool = False) -> MadeReceipt:
    """Make the receipt of a plan, signed by the key that is configured, else by the harness's.

    Whoever has written `data` calls `note()`.
    """
    refuse_in_cell()
    signer = None if unsigned else signer_of(context)
    found = collect(context, slug, signer.said if signer is not None else None)
    items = [msgspec.to_builtins(item) for item in found.run.items]
    results = [
        statement_json(TEST_RESULT, found.subjects[:1], test_result(item))
        for item in items
        if is_tested(item)
    ]
    digests = tuple(hashlib.sha256(payload).hexdigest() for payload in results)
    run = msgspec.structs.replace(found.run, statements=digests)
    payloads = (statement_json(PLAN_RUN, found.subjects, msgspec.to_builtins(run)), *results)
    signatures, raw = line_signatures(payloads, signer)
    data = b"".join(
        envelope_line(Envelope(payload, tuple(signed)))
        for payload, signed in zip(payloads, signatures, strict=True)
    )
    if len(data) > MOST_BYTES:
        raise Refused(
            f"the receipt of `{slug}` would have {len(data):,} bytes, more than anybody reads",
            hint=f"at most {MOST_BYTES:,} are allowed: a smaller plan has a smaller receipt",
        )
    return MadeReceipt(data, run, found.subjects, signer, raw, found.proof)


def line_signatures(
    payloads: Sequence[bytes], signer: Signer | None
) -> tuple[list[list[EnvelopeSignature]], bool]:
    """Return the signatures of each line: OpenSSH's on the first, raw ones on all."""
    found: list[list[EnvelopeSignature]] = [[] for _ in payloads]
    if signer is None:
        return found, False
    person = signer.owner == PERSON
    armored = sign(pae(payloads[0]), key=signer.path, namespace=NAMESPACE, person=person)
    found[0].append(EnvelopeSignature(fingerprint(signer.key), dearmored(armored)))
    key = raw_key(signer.key)
    raw = raw_signer(signer.path) if key is not None else None
    if raw is None or key is None:
        return found, False
    for payload, signed in zip(payloads, found, strict=True):
        signed.append(EnvelopeSignature(raw_keyid(key), raw(pae(payload))))
    return found, True
