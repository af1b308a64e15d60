"""DSSE envelopes around in-toto statements, written in one way only.

There is one text for a value: whoever changes a byte of it changes the value, or makes it none.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

PAYLOAD_TYPE = "application/vnd.in-toto+json"
STATEMENT_TYPE = "https://in-toto.io/Statement/v1"
MOST_BYTES = 64 << 20
"""A larger receipt is refused."""
MOST_LINES = 20_000
MOST_DEPTH = 40


class ReceiptError(ValueError):
    """A text that is no receipt; says why."""


class EnvelopeSignature(NamedTuple):
    """One signature of an envelope."""

    keyid: str
    sig: bytes


class Envelope(NamedTuple):
    """A payload with its signatures."""

    payload: bytes
    signatures: tuple[EnvelopeSignature, ...]

    @property
    def sha256(self) -> str:
        """Return the digest of the payload."""
        return hashlib.sha256(self.payload).hexdigest()


def pae(payload: bytes, kind: str = PAYLOAD_TYPE) -> bytes:
    """Return what is signed: DSSE's pre-authentication encoding."""
    name = kind.encode("utf-8")
    return b"DSSEv1 %d %b %d %b" % (len(name), name, len(payload), payload)


# -- writing --------------------------------------------------------------------------------------


def canonical_json(value: object) -> bytes:
    """Return the one text of a value: sorted keys, no spaces, ASCII."""
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.encode("ascii")


def statement_json(
    kind: str, subjects: Sequence[Mapping[str, object]], predicate: Mapping[str, object]
) -> bytes:
    """Return the text of an in-toto statement."""
    return canonical_json(
        {
            "_type": STATEMENT_TYPE,
            "subject": list(subjects),
            "predicateType": kind,
            "predicate": predicate,
        }
    )


def envelope_line(envelope: Envelope) -> bytes:
    """Return an envelope as one line, with its end."""
    said = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(envelope.payload).decode("ascii"),
        "signatures": [
            {"keyid": each.keyid, "sig": base64.b64encode(each.sig).decode("ascii")}
            for each in envelope.signatures
        ],
    }
    return json.dumps(said, separators=(",", ":")).encode("ascii") + b"\n"


# -- reading --------------------------------------------------------------------------------------


def read_envelopes(data: bytes) -> list[Envelope]:
    """Return the envelopes of a receipt; raise ReceiptError where it is none."""
    if not data:
        raise ReceiptError("the file is empty")
    if len(data) > MOST_BYTES:
        raise ReceiptError(f"the file is larger than {MOST_BYTES:,} bytes")
    if not data.startswith(b"{"):
        raise ReceiptError("this is no receipt: line 1 is no JSON object")
    if not data.endswith(b"\n"):
        raise ReceiptError("the receipt is cut off in its last line")
    lines = data.split(b"\n")[:-1]
    if len(lines) > MOST_LINES:
        raise ReceiptError(f"there are more than {MOST_LINES:,} lines")
    return [_envelope(number, line) for number, line in enumerate(lines, 1)]


def _envelope(number: int, line: bytes) -> Envelope:
    where = f"line {number}"
    said = read_json(line, where)
    _only_keys(said, ("payloadType", "payload", "signatures"), where)
    if said["payloadType"] != PAYLOAD_TYPE:
        raise ReceiptError(f"{where}: `payloadType` is not `{PAYLOAD_TYPE}`")
    if not isinstance(said["signatures"], list):
        raise ReceiptError(f"{where}: `signatures` is no list")
    signatures = []
    for each in said["signatures"]:
        _only_keys(each, ("keyid", "sig"), f"{where}, a signature")
        if not isinstance(each["keyid"], str):
            raise ReceiptError(f"{where}: `keyid` is no text")
        signatures.append(EnvelopeSignature(each["keyid"], read_base64(each["sig"], where)))
    found = Envelope(read_base64(said["payload"], where), tuple(signatures))
    if envelope_line(found) != line + b"\n":
        raise ReceiptError(f"{where}: it is not written as receipts are: somebody has changed it")
    return found


def _only_keys(value: object, keys: Sequence[str], where: str) -> None:
    if not isinstance(value, dict):
        raise ReceiptError(f"{where}: expected an object")
    for key in value:
        if key not in keys:
            raise ReceiptError(f"{where}: there is an unknown key `{key}`")
    for key in keys:
        if key not in value:
            raise ReceiptError(f"{where}: there is no `{key}`")


def read_base64(text: object, where: str) -> bytes:
    """Return what a text stands for in base64; raise ReceiptError where it is not the one text."""
    if not isinstance(text, str):
        raise ReceiptError(f"{where}: expected base64")
    try:
        found = base64.b64decode(text.encode("ascii"), validate=True)
    except ValueError as error:
        raise ReceiptError(f"{where}: expected base64") from error
    if base64.b64encode(found).decode("ascii") != text:
        raise ReceiptError(f"{where}: base64 with something at its end")
    return found


def read_json(data: bytes, where: str) -> Any:
    """Return a JSON value; raise ReceiptError for what has two readings, or none."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ReceiptError(f"{where}: it is no text: {error.reason}") from error
    try:
        found = json.loads(text, object_pairs_hook=_refuse_twice, parse_constant=_refuse_constant)
    except RecursionError as error:
        raise ReceiptError(f"{where}: it is nested too deep") from error
    except ReceiptError as error:
        raise ReceiptError(f"{where}: {error}") from error
    except ValueError as error:
        raise ReceiptError(f"{where}: it is not JSON: {error}") from error
    _refuse_deep(found, where)
    try:
        # Names of files may have bytes that are no text; half of a character is nothing.
        json.dumps(found, ensure_ascii=False, allow_nan=False).encode("utf-8", "surrogateescape")
    except ValueError as error:
        raise ReceiptError(f"{where}: it holds what is no text or no number") from error
    return found


def _refuse_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ReceiptError("an object has the same key twice")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ReceiptError(f"`{name}` is not JSON")


def _refuse_deep(value: object, where: str) -> None:
    level = [value]
    for _ in range(MOST_DEPTH):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return
    raise ReceiptError(f"{where}: it is nested too deep")


def read_statement(envelope: Envelope, number: int) -> dict[str, Any]:
    """Return the in-toto statement of a line."""
    where = f"line {number}, the payload"
    said = read_json(envelope.payload, where)
    _only_keys(said, ("_type", "subject", "predicateType", "predicate"), where)
    if said["_type"] != STATEMENT_TYPE:
        raise ReceiptError(f"{where}: `_type` is not `{STATEMENT_TYPE}`")
    if not isinstance(said["predicateType"], str) or not isinstance(said["predicate"], dict):
        raise ReceiptError(f"{where}: it is no in-toto statement")
    subjects = said["subject"]
    if not isinstance(subjects, list) or not subjects:
        raise ReceiptError(f"{where}: it has no subject")
    for each in subjects:
        _only_keys(each, ("name", "digest"), f"{where}, a subject")
        digests = each["digest"]
        if not isinstance(each["name"], str) or not isinstance(digests, dict) or not digests:
            raise ReceiptError(f"{where}: a subject has a name and digests")
        if not all(isinstance(digest, str) for digest in digests.values()):
            raise ReceiptError(f"{where}: a digest of a subject is no text")
    if canonical_json(said) != envelope.payload:
        raise ReceiptError(f"{where}: it is not written as receipts are: somebody has changed it")
    typed: dict[str, Any] = said
    return typed
