"""Every byte of a receipt and of its signatures counts, and other tools agree."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from securesystemslib.dsse import Envelope as OtherEnvelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer._key import SSlibKey

from planbound.receipts.envelope import ReceiptError, pae, read_envelopes
from planbound.receipts.ssh_signature import (
    NAMESPACE,
    armored,
    ed25519_part,
    is_signed_raw,
    raw_key,
    raw_keyid,
    read_key,
    read_signature,
    signed_bytes,
)
from tests.receipts.scene import checked, failing, run_of, with_signature

pytestmark = pytest.mark.requirement("receipt.bytes")


def is_refused(data: bytes) -> bool:
    try:
        return bool(failing(data))
    except ReceiptError:
        return True


def test_the_receipt_holds_as_it_is(signed: bytes) -> None:
    assert failing(signed) == []
    assert checked(signed)["raw-signatures"].holds


@pytest.mark.thorough
def test_every_byte_that_is_flipped_is_noticed(signed: bytes) -> None:
    # One bit of each byte, another one each time: digits, letters, line ends, all signatures.
    held = []
    for place in range(len(signed)):
        flipped = bytes([signed[place] ^ (1 << (place % 8))])
        if not is_refused(signed[:place] + flipped + signed[place + 1 :]):
            held.append(place)
    assert held == []


@pytest.mark.thorough
def test_every_bit_of_the_ssh_signature_is_noticed(signed: bytes) -> None:
    sig = read_envelopes(signed)[0].signatures[0].sig
    held = [
        (place, bit)
        for place in range(len(sig))
        for bit in range(8)
        if not is_refused(
            with_signature(
                signed, 0, sig[:place] + bytes([sig[place] ^ (1 << bit)]) + sig[place + 1 :]
            )
        )
    ]
    assert held == []


def test_what_is_cut_off_repeated_or_put_elsewhere_is_noticed(signed: bytes) -> None:
    lines = signed.splitlines(keepends=True)
    assert len(lines) > 3
    for wrong in (
        b"".join(lines[:-1]),
        b"".join([*lines, lines[-1]]),
        b"".join([lines[0], lines[2], lines[1], *lines[3:]]),
        b"".join(lines[1:]),
        signed[:-1],
        signed + b"\n",
        b"\n" + signed,
        b"",
    ):
        assert is_refused(wrong)


def keygen(tmp_path: Path, sig: bytes, message: bytes) -> int:
    path = tmp_path / "sig"
    path.write_text(armored(sig))
    command = ["ssh-keygen", "-Y", "check-novalidate", "-n", NAMESPACE, "-s", str(path)]
    return subprocess.run(command, input=message, capture_output=True, check=False).returncode


def test_openssh_agrees_about_the_signature_and_about_each_of_its_fields(
    signed: bytes, tmp_path: Path
) -> None:
    first = read_envelopes(signed)[0]
    sig, message = first.signatures[0].sig, pae(first.payload)
    assert keygen(tmp_path, sig, message) == 0
    assert keygen(tmp_path, sig, message + b" ") != 0
    # A place in each field: magic, key, namespace, hash, and both halves of the signature. Of the
    # version OpenSSH takes an older one, too, and we do not.
    for place in (0, 13, 20, 33, 64, 70, 90, 104, 110, len(sig) - 70, len(sig) - 40, -1):
        flipped = bytearray(sig)
        flipped[place] ^= 1
        assert keygen(tmp_path, bytes(flipped), message) != 0
        assert is_refused(with_signature(signed, 0, bytes(flipped)))


def test_another_tool_of_dsse_verifies_every_line(signed: bytes) -> None:
    key = raw_key(read_key(run_of(signed)["harness"]["key"]["public"]))
    assert key is not None
    known = SSlibKey(raw_keyid(key), "ed25519", "ed25519", {"public": key.hex()})
    for line in signed.splitlines():
        theirs = OtherEnvelope.from_dict(json.loads(line))
        assert list(theirs.verify([known], 1)) == [known.keyid]
        theirs.payload = theirs.payload.replace(b"planbound", b"Planbound", 1) + b" "
        with pytest.raises(VerificationError):
            theirs.verify([known], 1)


def test_our_own_ed25519_agrees_with_the_library(signed: bytes) -> None:
    for envelope in read_envelopes(signed):
        *_, raw = envelope.signatures
        key = raw_key(read_key(run_of(signed)["harness"]["key"]["public"]))
        assert key is not None
        message = pae(envelope.payload)
        assert is_signed_raw(key, raw.sig, message)
        for place in range(0, 64, 5):
            flipped = bytearray(raw.sig)
            flipped[place] ^= 1
            assert not is_signed_raw(key, bytes(flipped), message)
        assert not is_signed_raw(key, raw.sig, message + b" ")
        assert not is_signed_raw(key[:-1], raw.sig, message)
        # A second writing of the same number is no signature (RFC 8032, 5.1.7).
        order = 2**252 + 27742317777372353535851937790883648493
        number = int.from_bytes(raw.sig[32:], "little") + order
        again = raw.sig[:32] + number.to_bytes(32, "little")
        assert not is_signed_raw(key, again, message)
    found = read_signature(read_envelopes(signed)[0].signatures[0].sig)
    part = ed25519_part(found)
    assert part is not None
    assert is_signed_raw(
        found.key[-32:], part, signed_bytes(found, pae(read_envelopes(signed)[0].payload))
    )
