#!/usr/bin/env python3
# ruff: noqa
# mypy: ignore-errors
"""Checks a receipt of planbound: this one file, Python 3.11 or newer, and nothing else.

    python3 planbound-check-receipt.py FILE [--signers FILE] [--tree REV] [--require WORDS]

It ends with 0 where all holds, 1 where something does not, 2 where the file is no receipt. Nothing
of the receipt is run. `ssh-keygen` is asked who may sign, `git` for the files of a revision.

What it cannot do: reckon the digest of a plan from its text. It compares the text with its
SHA-256, and says so; `planbound check-receipt` does both.

Made from `src/planbound/receipts/` by `python -m tools.receipt_files`: read it from the end, where
`main` is, then `check`, which names all checks in their order.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable
from collections.abc import Iterable
from collections.abc import Iterator
from collections.abc import Mapping
from collections.abc import Sequence
from typing import Any
from typing import NamedTuple
from typing import NoReturn


# ======== envelope =================================================================================

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


# ======== ssh_signature ============================================================================

NAMESPACE = "planbound-receipt@v1"
"""What the signature of a receipt is for: one that was made for something else proves nothing."""
APPROVAL_NAMESPACE = "planbound-approval@v1"
_MAGIC = b"SSHSIG"
_BEGIN, _END = "-----BEGIN SSH SIGNATURE-----", "-----END SSH SIGNATURE-----"
ED25519 = "ssh-ed25519"


class SshSignature(NamedTuple):
    """What stands in an SSHSIG."""

    key: bytes
    """The public key, as OpenSSH encodes it."""
    namespace: str
    hash: str
    signature: bytes


def dearmored(text: str) -> bytes:
    """Return the bytes of an armored signature; raise ValueError where it is none."""
    lines = text.strip().split("\n")
    if len(lines) < 3 or lines[0] != _BEGIN or lines[-1] != _END:
        raise ValueError("it is no SSH signature")
    return base64.b64decode("".join(lines[1:-1]).encode("ascii"), validate=True)


def armored(data: bytes) -> str:
    """Return a signature as ssh-keygen reads it."""
    text = base64.b64encode(data).decode("ascii")
    lines = [text[start : start + 70] for start in range(0, len(text), 70)]
    return "\n".join((_BEGIN, *lines, _END)) + "\n"


def read_signature(data: bytes) -> SshSignature:
    """Return what stands in an SSHSIG; raise ValueError where it is none, or has something more."""
    if not data.startswith(_MAGIC) or data[6:10] != b"\0\0\0\1":
        raise ValueError("it is no SSH signature of version 1")
    parts = _strings(data[10:])
    if len(parts) != 5:
        raise ValueError("an SSH signature has five parts")
    key, namespace, reserved, name, signature = parts
    if reserved or name not in {b"sha256", b"sha512"} or len(_strings(signature)) < 2:
        raise ValueError("it is no SSH signature of version 1")
    key_type(key)
    return SshSignature(key, namespace.decode("utf-8"), name.decode("ascii"), signature)


def signed_bytes(signature: SshSignature, message: bytes) -> bytes:
    """Return what the key has signed, for a message."""
    digest = hashlib.new(signature.hash, message).digest()
    parts = (signature.namespace.encode("utf-8"), b"", signature.hash.encode("ascii"), digest)
    return _MAGIC + b"".join(len(part).to_bytes(4, "big") + part for part in parts)


def ed25519_part(signature: SshSignature) -> bytes | None:
    """Return the 64 bytes of a plain ed25519 signature; None for every other one."""
    parts = _strings(signature.signature)
    plain = len(parts) == 2 and parts[0] == ED25519.encode("ascii") and len(parts[1]) == 64
    return parts[1] if plain else None


def _strings(data: bytes) -> list[bytes]:
    found: list[bytes] = []
    while data:
        size = int.from_bytes(data[:4], "big")
        if len(data) < 4 + size:
            raise ValueError("it is cut off")
        found.append(data[4 : 4 + size])
        data = data[4 + size :]
    return found


# -- public keys ----------------------------------------------------------------------------------


def key_line(key: bytes) -> str:
    """Return a public key as `TYPE BASE64`."""
    return f"{key_type(key)} {base64.b64encode(key).decode('ascii')}"


def key_type(key: bytes) -> str:
    """Return the type of a public key; raise ValueError where it is none."""
    parts = _strings(key)
    if not parts:
        raise ValueError("it is no public key")
    return parts[0].decode("ascii")


def fingerprint(key: bytes) -> str:
    """Return `SHA256:...`, as ssh-keygen prints it."""
    digest = base64.b64encode(hashlib.sha256(key).digest()).decode("ascii")
    return f"SHA256:{digest.rstrip('=')}"


def raw_key(key: bytes) -> bytes | None:
    """Return the 32 bytes of a plain ed25519 key; None for every other one."""
    parts = _strings(key)
    plain = len(parts) == 2 and parts[0] == ED25519.encode("ascii") and len(parts[1]) == 32
    return parts[1] if plain else None


def raw_keyid(key: bytes) -> str:
    """Return how a key is called whose signature stands there raw, for tools of DSSE.

    SHA-256 over its DER (SubjectPublicKeyInfo), as several of them do.
    """
    return hashlib.sha256(bytes.fromhex("302a300506032b6570032100") + key).hexdigest()


# -- ed25519 without a library: RFC 8032, section 5.1.7 --------------------------------------------


_P = 2**255 - 19
_L = 2**252 + 27742317777372353535851937790883648493
_D = -121665 * pow(121666, -1, _P) % _P
_ROOT = pow(2, (_P - 1) // 4, _P)
_Point = tuple[int, int, int, int]
_BASE_Y = 4 * pow(5, -1, _P) % _P


def is_signed_raw(key: bytes, signature: bytes, message: bytes) -> bool:
    """Say whether an ed25519 signature holds."""
    if len(key) != 32 or len(signature) != 64:
        return False
    public, committed = _point(key), _point(signature[:32])
    number = int.from_bytes(signature[32:], "little")
    if public is None or committed is None or number >= _L:
        return False
    said = hashlib.sha512(signature[:32] + key + message).digest()
    challenge = int.from_bytes(said, "little") % _L
    base = _point(_BASE_Y.to_bytes(32, "little"))
    assert base is not None
    return _same(_times(number, base), _plus(committed, _times(challenge, public)))


def _point(data: bytes) -> _Point | None:
    number = int.from_bytes(data, "little")
    sign, y = number >> 255, number & ((1 << 255) - 1)
    if y >= _P:
        return None
    square = (y * y - 1) * pow(_D * y * y + 1, -1, _P) % _P
    x = pow(square, (_P + 3) // 8, _P)
    if (x * x - square) % _P:
        x = x * _ROOT % _P
    if (x * x - square) % _P or (x == 0 and sign):
        return None
    x = _P - x if x & 1 != sign else x
    return x, y, 1, x * y % _P


def _plus(one: _Point, other: _Point) -> _Point:
    a = (one[1] - one[0]) * (other[1] - other[0]) % _P
    b = (one[1] + one[0]) * (other[1] + other[0]) % _P
    c = 2 * one[3] * other[3] * _D % _P
    d = 2 * one[2] * other[2] % _P
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % _P, g * h % _P, f * g % _P, e * h % _P


def _times(number: int, point: _Point) -> _Point:
    found: _Point = (0, 1, 1, 0)
    while number:
        if number & 1:
            found = _plus(found, point)
        point = _plus(point, point)
        number >>= 1
    return found


def _same(one: _Point, other: _Point) -> bool:
    across = (one[0] * other[2] - other[0] * one[2]) % _P
    up = (one[1] * other[2] - other[1] * one[2]) % _P
    return across == 0 and up == 0


# ======== merkle ===================================================================================

# -- reckoning ------------------------------------------------------------------------------------


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of a leaf: of nothing that could be taken for a node."""
    return hashlib.sha256(b"\0" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return hashlib.sha256(b"\1" + left + right).digest()


# -- checking: RFC 9162, sections 2.1.3.2 and 2.1.4.2 ---------------------------------------------


def root_by_path(leaf: bytes, index: int, size: int, path: Sequence[bytes]) -> bytes | None:
    """Return the root that an audit path leads to; None where there can be no such path."""
    if not 0 <= index < size:
        return None
    first, last, found = index, size - 1, leaf_hash(leaf)
    for node in path:
        if last == 0:
            return None
        if first & 1 or first == last:
            found = node_hash(node, found)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            found = node_hash(found, node)
        first, last = first >> 1, last >> 1
    return found if last == 0 else None


def is_consistent(
    earlier: tuple[int, bytes], later: tuple[int, bytes], proof: Sequence[bytes]
) -> bool:
    """Say whether a proof shows that a tree is the beginning of another one: size and root each."""
    (first_size, first_root), (second_size, second_root) = earlier, later
    if not 0 < first_size <= second_size:
        return False
    if first_size == second_size:
        return not proof and first_root == second_root
    nodes = list(proof)
    if first_size & (first_size - 1) == 0:
        nodes.insert(0, first_root)
    if not nodes:
        return False
    first, last = first_size - 1, second_size - 1
    while first & 1:
        first, last = first >> 1, last >> 1
    old = new = nodes[0]
    for node in nodes[1:]:
        if last == 0:
            return False
        if first & 1 or first == last:
            old, new = node_hash(node, old), node_hash(node, new)
            while first and not first & 1:
                first, last = first >> 1, last >> 1
        else:
            new = node_hash(new, node)
        first, last = first >> 1, last >> 1
    return last == 0 and old == first_root and new == second_root


# -- the text of a checkpoint, as in C2SP's tlog-checkpoint ----------------------------------------


def read_checkpoint(text: str) -> tuple[str, int, bytes]:
    """Return origin, size and root; raise ValueError where a text is no checkpoint."""
    lines = text.split("\n")
    if len(lines) != 4 or lines[3] or not lines[0]:
        raise ValueError("a checkpoint has three lines: origin, size, root")
    if not (lines[1].isascii() and lines[1].isdigit()) or str(int(lines[1])) != lines[1]:
        raise ValueError("the size of a checkpoint is a number")
    root = base64.b64decode(lines[2], validate=True)
    if len(root) != 32 or base64.b64encode(root).decode("ascii") != lines[2]:
        raise ValueError("the root of a checkpoint is the base64 of 32 bytes")
    return lines[0], int(lines[1]), root


# ======== git_tree =================================================================================

FILE, PROGRAM, LINK, FOLDER = "100644", "100755", "120000", "40000"


def object_id(kind: str, content: bytes, form: str = "sha1") -> str:
    """Return the id of an object; `form` is the repository's: `sha1` or `sha256`."""
    head = f"{kind} {len(content)}\0".encode("ascii")
    return hashlib.new(form, head + content, usedforsecurity=False).hexdigest()


def blob_id(content: bytes, form: str = "sha1") -> str:
    """Return the id of a file's content."""
    return object_id("blob", content, form)


def tree_id(files: Mapping[bytes, tuple[str, str]], form: str = "sha1") -> str:
    """Return the id of a folder with these files: by path the mode and the id of each."""
    here: dict[bytes, tuple[str, str]] = {}
    below: dict[bytes, dict[bytes, tuple[str, str]]] = {}
    for path, entry in files.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = entry
        else:
            here[name] = entry
    for name, inner in below.items():
        here[name] = (FOLDER, tree_id(inner, form))
    return object_id("tree", b"".join(_entries(here)), form)


def _entries(here: Mapping[bytes, tuple[str, str]]) -> Iterable[bytes]:
    # git sorts a folder as if its name ended with a slash.
    def place(name: bytes) -> bytes:
        return name + b"/" if here[name][0] == FOLDER else name

    for name in sorted(here, key=place):
        mode, found = here[name]
        yield mode.encode("ascii") + b" " + name + b"\0" + bytes.fromhex(found)


# ======== shape ====================================================================================

SHAPES = {
    "PlanRun": (
        "version:str made:str outcome:str status:str archived:bool loop:bool "
        "plan:RunPlan approval:RunApproval? base:RunBase tree:RunTree "
        "settings:RunSettings items:[RunItem] counts:RunCounts deviations:[Deviation] "
        "agents:[RunAgent] harness:RunHarness journal:RunJournal statements:[str]"
    ),
    "RunPlan": (
        "slug:str path:str? revision:int digest:str text:str? sha256:str? git_blob:str? "
        "redacted:bool"
    ),
    "RunApproval": (
        "by:str method:str strength:str at:str expires:str? policy:str? nonce:str "
        "project:str? digest:str configuration:str tree:str? judges:{str} tools:{str} "
        "modifications:[str] statement:str? signature:str? seq:int"
    ),
    "RunBase": "tree:str? git_tree:str? commit:str? folder:str",
    "RunTree": "tree:str? git_tree:str? no_git_tree:str? removed:[str]",
    "RunSettings": (
        "digest:str env:[str] path:[str] network:bool seconds:number memory:int "
        "processes:int file_size:int temporary:int canary:bool mutate:bool held_out:int "
        "summarise:[str] caches:[str]"
    ),
    "RunItem": (
        "kind:str number:str id:str? title:str form:str contract:str? command:str? "
        "expectations:[str] timeout:number? repeat:int demanded_evidence:str? "
        "demanded_baseline:str? touches:[str] judges:[ItemJudge] result:str "
        "verdict:str? reason:str? evidence:str? isolation:str? exit_code:int? "
        "seconds:number? baseline:ItemBaseline? canary:str? tests:ItemTests? "
        "mutated:ItemMutated? tree:str? output:ItemOutput? attempts:int reused:int? "
        "seq:int? settled_by:int?"
    ),
    "ItemJudge": "path:str sha256:str git_blob:str? editable:bool",
    "ItemBaseline": "verdict:str red:bool at:str seq:int?",
    "ItemTests": "passed:int failed:int skipped:int",
    "ItemMutated": "tests:int sensitive:int blind:[str]",
    "ItemOutput": "bytes:int? stdout_sha256:str stderr_sha256:str begin:str? end:str",
    "RunCounts": (
        "items:int proved:int holds:int claimed:int attested:int waived:int skipped:int open:int"
    ),
    "RunAgent": (
        "name:str kind:str? model:str? attempts:int unknown:int tokens:int dollars:str claimed:bool"
    ),
    "RunHarness": "version:str digest:str python:str system:str key:SigningKey?",
    "SigningKey": "owner:str type:str fingerprint:str public:str",
    "RunJournal": "checkpoint:str nodes:[str] events:[CitedEvent] earlier:EarlierCheckpoint?",
    "CitedEvent": "seq:int event:str hash:str path:[int]",
    "EarlierCheckpoint": "size:int root:str proof:[str]",
    "PlanReplay": (
        "version:str made:str slug:str revision:int digest:str receipt:ReplayedReceipt "
        "tree:ReplayedTree whole:bool same:bool independent:bool items:[ReplayedItem] "
        "settings:RunSettings? not_given:[str] tools:[str] harness:RunHarness"
    ),
    "ReplayedReceipt": "sha256:str key:str? unsigned:bool refused:[str]",
    "ReplayedTree": "git_tree:str folder:str recorded:str? revision:str? commit:str? base:str?",
    "ReplayedItem": (
        "kind:str number:str title:str contract:str? recorded:str "
        "recorded_evidence:str? recorded_isolation:str? outcome:str reason:str "
        "verdict:str? evidence:str? short_of:[str] isolation:str? "
        "baseline:ItemBaseline? exit_code:int? seconds:number? canary:str? "
        "tests:ItemTests? mutated:ItemMutated? judges:[ReplayedJudge] "
        "output:ItemOutput?"
    ),
    "ReplayedJudge": "path:str sha256:str found:bool laid:bool",
}
"""By part its keys with types: `T?` may be null, `[T]` a list, `{T}` by name."""
DEVIATIONS = {
    "waived": "item:str by:str reason:str seq:int",
    "attested": "item:str by:str statement:str seq:int",
    "skipped": "item:str by:str? reason:str? seq:int?",
    "claimed": "item:str evidence:str? seq:int?",
    "unsettled": "item:str result:str reason:str?",
    "holds": "item:str reason:str?",
    "amended": "revision:int? by:str? reason:str? seq:int",
    "edited": "seq:int",
    "without-approval": "",
    "approved-by-policy": "policy:str seq:int",
    "approved-in-spite": "warnings:[str] missing_tools:[str] seq:int",
    "approved-gates": "gates:[str] seq:int",
    "approved-with-changes": "changes:[str] seq:int",
    "editable-judge": "item:str? path:str",
    "tampered": "item:str? files:[str] restored:bool seq:int",
    "out-of-scope": "item:str? files:[str] restored:bool seq:int",
    "bare-run": "item:str isolation:str",
    "little-evidence": "item:str evidence:str?",
    "reused": "item:str of:int",
    "anyway": "what:str seq:int",
    "edited-meanwhile": "files:[str] seq:int",
    "budget-raised": "by:str tokens:int? dollars:str? seconds:number? seq:int",
    "unknown-cost": "attempts:int",
    "late": "item:str seq:int",
    "earlier-plan": "events:int",
    "not-kept": "what:str",
}
"""The same by the word that stands in `deviation`."""
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "number": (int, float),
}


def faults_of(run: object, kind: str = "PlanRun") -> Iterator[str]:
    """Yield where a predicate has not its shape: unknown keys, missing ones, other types."""
    yield from _misshapen(run, kind, "the predicate")


def _misshapen(value: object, kind: str, where: str) -> Iterator[str]:
    if kind.endswith("?"):
        if value is not None:
            yield from _misshapen(value, kind[:-1], where)
    elif kind[0] in "[{":
        yield from _several(value, kind, where)
    elif kind in _PLAIN:
        if not isinstance(value, _PLAIN[kind]) or isinstance(value, bool) != (kind == "bool"):
            yield f"{where} is not of type `{kind}`"
    elif not isinstance(value, dict):
        yield f"{where} is no object"
    else:
        yield from _part(value, kind, where)


def _several(value: object, kind: str, where: str) -> Iterator[str]:
    if kind[0] == "[" and isinstance(value, list):
        for place, each in enumerate(value):
            yield from _misshapen(each, kind[1:-1], f"{where}[{place}]")
    elif kind[0] == "{" and isinstance(value, dict):
        for name, each in value.items():
            yield from _misshapen(each, kind[1:-1], f"{where}.{name}")
    else:
        yield f"{where} is no {'list' if kind[0] == '[' else 'object'}"


def _part(value: dict[str, object], kind: str, where: str) -> Iterator[str]:
    said = SHAPES.get(kind, "")
    if kind == "Deviation":
        word = value.get("deviation")
        if not isinstance(word, str) or word not in DEVIATIONS:
            yield f"{where} is an unknown deviation"
            return
        said = f"deviation:str {DEVIATIONS[word]}"
    keys = dict(each.split(":") for each in said.split())
    for name in value:
        if name not in keys:
            yield f"{where} has an unknown key `{name}`: a newer version may know it"
    for name, inner in keys.items():
        if name in value:
            yield from _misshapen(value[name], inner, f"{where}.{name}")
        else:
            yield f"{where} has no `{name}`"


# ======== claims ===================================================================================

Checked = tuple[str, bool | None, str]
"""A check: its name, what it comes to, and why."""
OK, FAILS, OPEN = True, False, None
"""What a check comes to; the last: it cannot be told, or there is nothing to tell."""
GREEN = ("proved", "holds")
BY_WORD = ("claimed", "attested", "waived", "skipped")
"""Results that no contract shows."""
SETTLED = (*GREEN, *BY_WORD)
_DONE = ("done", "done with skips", "finished with blocked items")


def item_name(item: Mapping[str, Any]) -> str:
    """Return how an item is called: `step 2`."""
    return f"{item['kind']} {item['number']}"


def counts_of(items: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Return how many items there are of each result."""
    results = [item["result"] for item in items]
    found = {name: results.count(name) for name in SETTLED}
    return {"items": len(items), **found, "open": len(items) - sum(found.values())}


def outcome_of(status: str, items: Sequence[Mapping[str, Any]]) -> str:
    """Return what all of it comes to: `proved`, `holds`, `settled` or `unfinished`."""
    results = [item["result"] for item in items]
    if status not in _DONE or not all(result in SETTLED for result in results) or not items:
        return "unfinished"
    if not all(result in GREEN for result in results):
        return "settled"
    steps = [item["result"] for item in items if item["kind"] == "step"]
    return "proved" if all(result == "proved" for result in steps) else "holds"


# -- the other lines of a receipt ------------------------------------------------------------------


def is_tested(item: Mapping[str, Any]) -> bool:
    """Say whether an item has a test result of its own: its contract was judged, or a person did.

    What nobody has come to yet has none.
    """
    if item["contract"] is None:
        return False
    return item["verdict"] is not None or item["result"] in ("waived", "attested")


def test_result(item: Mapping[str, Any]) -> dict[str, object]:
    """Return the predicate `test-result/v0.1` of an item, for tools that know only that."""
    name = item_name(item)
    if item["result"] in GREEN:
        result, where = "PASSED", "passedTests"
    elif item["result"] in ("waived", "attested"):
        result, where = "WARNED", "warnedTests"
    else:
        result, where = "FAILED", "failedTests"
    contract = {"name": f"{name}: contract", "digest": {"sha256": item["contract"]}}
    judges = [
        {"name": judge["path"], "digest": {"sha256": judge["sha256"]}} for judge in item["judges"]
    ]
    return {"result": result, "configuration": [contract, *judges], where: [name]}


# ======== check_journal ============================================================================

def check_journal(run: Mapping[str, Any]) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    journal = run["journal"]
    try:
        origin, size, root = read_checkpoint(journal["checkpoint"])
        nodes = [_node(node) for node in journal["nodes"]]
    except ValueError as error:
        yield "journal", FAILS, str(error)
        return
    yield "journal", OK, f"{origin}, {size} events"
    yield "events", *_cited_events(journal["events"], nodes, size, root)
    yield "earlier", *_earlier_checkpoint(journal["earlier"], size, root)


def _node(text: str) -> bytes:
    found = base64.b64decode(text.encode("ascii"), validate=True)
    if len(found) != 32 or base64.b64encode(found).decode("ascii") != text:
        raise ValueError("a hash is not the base64 of 32 bytes")
    return found


def _cited_events(
    events: list[Mapping[str, Any]], nodes: list[bytes], size: int, root: bytes
) -> tuple[bool, str]:
    used: set[int] = set()
    numbers = [event["seq"] for event in events]
    if numbers != sorted(set(numbers)):
        return FAILS, "they are not in their order"
    for event in events:
        if not all(0 <= place < len(nodes) for place in event["path"]):
            return FAILS, f"the proof of event {event['seq']} is not whole"
        try:
            leaf = bytes.fromhex(event["hash"])
        except ValueError:
            leaf = b""
        path = [nodes[place] for place in event["path"]]
        if len(leaf) != 32 or root_by_path(leaf, event["seq"] - 1, size, path) != root:
            return FAILS, f"event {event['seq']} is not in the journal of the checkpoint"
        used.update(event["path"])
    if len(used) != len(nodes):
        return FAILS, "there are hashes that no proof uses"
    return OK, f"{len(events)} that are cited are in the journal of the checkpoint"


def _earlier_checkpoint(
    earlier: Mapping[str, Any] | None, size: int, root: bytes
) -> tuple[bool | None, str]:
    if earlier is None:
        return OPEN, "no receipt was made before this one"
    try:
        before = (earlier["size"], _node(earlier["root"]))
        proof = [_node(node) for node in earlier["proof"]]
    except ValueError as error:
        return FAILS, str(error)
    if is_consistent(before, (size, root), proof):
        return OK, f"the {before[0]} events of the receipt before are still what they were"
    return FAILS, "the journal is not the one of the receipt before"


# ======== check_tree ===============================================================================

Git = Callable[[Sequence[str]], bytes | None]
"""Runs git in the repository here, only to read: what it printed, None where it failed."""
OWN_FOLDER = b".harness"
_SHOWN = 5


def check_tree(
    run: Mapping[str, Any], subjects: Sequence[Mapping[str, Any]], revision: str, git: Git | None
) -> Checked:
    """Return whether the files of a revision are those that were judged, and how they differ."""
    files = _files(run["base"]["folder"], revision, git)
    if isinstance(files, str):
        return "tree", FAILS, files
    wanted = run["tree"]["git_tree"]
    form = "sha256" if any(len(name) == 64 for _, name in files.values()) else "sha1"
    if wanted is not None and tree_id(files, form) == wanted:
        return "tree", OK, "same tree: all files are those that were judged"
    other = [each for each in _judges(run) if _blob(files, each[0], links=False) != each[1]]
    if other:
        return "tree", FAILS, f"judges changed: {_listed([path for path, _ in other])}"
    touched = {
        each["name"]: each["digest"].get("gitBlob")
        for each in subjects
        if each["name"] not in ("tree", "commit")
    }
    differ = [path for path, blob in touched.items() if blob is None or _blob(files, path) != blob]
    differ += [path for path in run["tree"]["removed"] if _blob(files, path) is not None]
    if differ:
        return "tree", FAILS, f"another tree; not as they were judged: {_listed(differ)}"
    if not touched and not run["tree"]["removed"]:
        return "tree", FAILS, "another tree, and the receipt names no file that the work changed"
    count = len(touched) + len(run["tree"]["removed"])
    return "tree", OK, f"another tree; the {count} files of this work are the judged ones"


def check_replayed_tree(run: Mapping[str, Any], revision: str, git: Git | None) -> Checked:
    """Return whether a replay judged the files of a revision: exactly these, or it says nothing."""
    files = _files(run["tree"]["folder"], revision, git)
    if isinstance(files, str):
        return "tree", FAILS, files
    form = "sha256" if any(len(name) == 64 for _, name in files.values()) else "sha1"
    same = tree_id(files, form) == run["tree"]["git_tree"]
    words = "same tree: all files are those that were judged again"
    return "tree", same, words if same else "another tree than the one that was judged again"


def _files(folder: str, revision: str, git: Git | None) -> dict[bytes, tuple[str, str]] | str:
    """Return the files of a revision, without the harness's own; in words why there are none."""
    if git is None:
        return "there is no git, or no repository here"
    if revision.startswith("-") or ":" in revision:
        return f"`{revision}` is no revision"
    found = git(("rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}"))
    if found is None:
        return f"there is no revision `{revision}` here"
    name = found.decode("ascii").strip()
    said = git(("ls-tree", "-r", "-z", "--full-tree", f"{name}:{folder}"))
    if said is None:
        return f"`{folder}` is not in `{revision}`" if folder else f"`{revision}` cannot be read"
    files: dict[bytes, tuple[str, str]] = {}
    for line in said.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        if path and path != OWN_FOLDER and not path.startswith(OWN_FOLDER + b"/"):
            mode, _, blob = facts.decode("ascii").split(" ")
            files[path] = (mode, blob)
    return files


def _judges(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the judges that are not of the work itself, with what git calls their content."""
    return list(
        dict.fromkeys(
            (judge["path"], judge["git_blob"])
            for item in run["items"]
            for judge in item["judges"]
            if judge["git_blob"] is not None
            and not judge["editable"]
            and not judge["path"].startswith(".harness/")
        )
    )


def _blob(files: Mapping[bytes, tuple[str, str]], path: str, *, links: bool = True) -> str | None:
    """Return what git calls a file's content; a link with the same text is no such file."""
    mode, found = files.get(path.encode("utf-8", "surrogateescape"), ("", None))
    return found if links or mode in (FILE, PROGRAM) else None


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more


# ======== check_facts ==============================================================================

Values = Mapping[str, Any]
VERSION = "0.1"
LEVELS = ("E0", "E1", "E2", "E3", "E4")
"""What a run can reach; E5 is the word of somebody else, who judged again."""
WALLS = ("I0", "I1", "I2", "I3", "I4")
STRENGTHS = {
    "terminal": "word",
    "digest": "word",
    "elicitation": "word",
    "page": "word",
    "signature": "proof",
    "policy": "rule",
}
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z")
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_DOLLARS = re.compile(r"\d{1,30}(?:\.\d{1,30})?")
_LONGEST_NAME = 255
_TO_SECONDS = 19
_COUNTED = re.compile(r"(tests >=|failed <=) (\d{1,18})")

_OTHER_ENDS = ("exit_code", "failed", "no new")
"""Expectations with which a command may end otherwise than with 0."""


def is_slug(name: str) -> bool:
    """Say whether a name can be a plan's: one part of a path, and nothing that hides."""
    plain = not any(unicodedata.category(each) == "Cc" for each in name)
    fits = 0 < len(name.encode("utf-8", "surrogateescape")) <= _LONGEST_NAME
    return plain and fits and not set(name) & {"/", "\\"} and name not in {".", ".."}


def is_time(text: str) -> bool:
    """Say whether a text is a time in UTC, as receipts write it."""
    return bool(_TIME.fullmatch(text))


def is_fingerprint(text: str) -> bool:
    """Say whether a text is the fingerprint of a key: each key has one only."""
    # 43 digits are two bits more than 32 bytes.
    return bool(_FINGERPRINT.fullmatch(text)) and text[-1] in "AEIMQUYcgkosw048"


# -- an item --------------------------------------------------------------------------------------


def number_faults(item: Values) -> Iterator[str]:
    """Yield numbers of an item that cannot be, or that are not what its contract expects."""
    counts = [item["attempts"], item["repeat"], item["seconds"] or 0]
    for part, names in (
        ("tests", ("passed", "failed", "skipped")),
        ("mutated", ("tests", "sensitive")),
        ("output", ("bytes",)),
    ):
        counts += [(item[part] or {}).get(name) or 0 for name in names]
    if any(count < 0 for count in counts):
        yield "a count is less than nothing"
    tests, wanted = item["tests"], item["expectations"]
    if item["result"] not in GREEN:
        return
    if tests is None:
        plain = item["form"] == "command" and not any(
            said.startswith(_OTHER_ENDS) for said in wanted
        )
        if plain and item["exit_code"] not in (0, None):
            yield f"it passes with exit code {item['exit_code']}, and expects no other than 0"
        return
    for said in wanted:
        match = _COUNTED.fullmatch(said)
        if match is None:
            continue
        few = match[1] == "tests >=" and tests["passed"] + tests["skipped"] < int(match[2])
        if few or (match[1] == "failed <=" and tests["failed"] > int(match[2])):
            yield f"it passes, its tests were {_tests_told(tests)}, and it expects `{said}`"


def _tests_told(tests: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {name}" for name, count in tests.items())


def event_faults(items: Sequence[Values], cited: Mapping[int, str]) -> Iterator[str]:
    """Yield events that items rest on, and that tell something else or of another item."""
    green = [item for item in items if item["result"] in GREEN]
    for field, those in (("seq", items), ("settled_by", green)):
        used = Counter(item[field] for item in those if item[field] is not None)
        yield from (f"event {seq} tells of {n} items" for seq, n in used.items() if n > 1)
    for item in items:
        name, look = item_name(item), item["baseline"]
        if item["seq"] is not None and item["seq"] not in cited:
            yield f"{name}: event {item['seq']} is not cited"
        if look is None or look["seq"] is None:
            continue
        if cited.get(look["seq"]) != "BASELINE_OBSERVED":
            yield f"{name}: event {look['seq']} tells of no baseline"
        elif look["at"] == "attempt" and (item["seq"] or look["seq"] + 1) <= look["seq"]:
            yield f"{name}: its baseline was seen after the work"


def level_faults(item: Values) -> Iterator[str]:
    """Yield levels that there are none of, or that no run reaches."""
    for field, known in (("evidence", LEVELS), ("isolation", WALLS)):
        if item[field] is not None and item[field] not in known:
            yield f"`{item[field]}` is nothing that a run reaches"
    if item["demanded_evidence"] not in (None, *LEVELS, "E5"):
        yield f"nobody can demand `{item['demanded_evidence']}`"


# -- the approval, deviations, agents -------------------------------------------------------------


def approval_fault(run: Values) -> str | None:
    """Return what an approval says otherwise than what it rests on; None: nothing."""
    given = run["approval"]
    cited = {event["seq"]: event["event"] for event in run["journal"]["events"]}
    if STRENGTHS.get(given["method"]) != given["strength"]:
        return f"`{given['method']}` is not worth `{given['strength']}`"
    if cited.get(given["seq"]) != "GATE_APPROVED":
        return f"event {given['seq']} tells of no approval"
    if not is_time(given["at"]) or given["at"][:_TO_SECONDS] > run["made"]:
        return "it is of a time that was not yet, or is none"
    if list(cited.values()).count("GATE_APPROVED") > 1:
        return None  # Approved again on the way: earlier items rest on what was frozen then.
    return _judge_fault(run)


def _judge_fault(run: Values) -> str | None:
    approved = run["approval"]["judges"]
    frozen = {judge["path"]: judge for item in run["items"] for judge in item["judges"]}
    # Of the same files judges are the same, whoever may change them later.
    same = run["base"]["tree"] is not None and run["base"]["tree"] == run["approval"]["tree"]
    for path, judge in frozen.items():
        known = approved.get(path)
        if known != judge["sha256"] and (same or not (judge["editable"] or known is None)):
            return f"`{path}` is not a judge that was approved"
    for path in approved.keys() - frozen.keys() if same else ():
        return f"`{path}` was approved as a judge, and no item has it"
    return None


def deviation_faults(run: Values) -> Iterator[str]:
    """Yield what deviations say otherwise than the items, the approval and the agents."""
    items = {item_name(item): item for item in run["items"]}
    for each in run["deviations"]:
        kind, item = each["deviation"], items.get(each.get("item") or "")
        if each.get("item") is not None and item is None:
            yield f"`{kind}` is told of {each['item']}, which is no item"
        for field, wanted in _same_as(kind, item, run):
            if each[field] != wanted:
                yield f"`{kind}` says {field} `{each[field]}`, and it is `{wanted}`"


def _same_as(kind: str, item: Values | None, run: Values) -> Iterator[tuple[str, object]]:
    if kind == "unknown-cost":
        yield "attempts", sum(agent["unknown"] for agent in run["agents"])
    elif kind == "approved-by-policy" and run["approval"] is not None:
        yield "seq", run["approval"]["seq"]
    elif item is None:
        return
    elif kind in ("waived", "attested", "skipped", "claimed"):
        yield "seq", item["settled_by"]
    elif kind == "unsettled":
        yield "result", item["result"]
    elif kind == "bare-run":
        yield "isolation", item["isolation"]
    elif kind == "little-evidence":
        yield "evidence", item["evidence"]
    elif kind == "reused":
        yield "of", item["reused"]


def agent_faults(agents: Sequence[Values]) -> Iterator[str]:
    """Yield what agents cannot have said of themselves."""
    for each in agents:
        counts = (each["attempts"], each["unknown"], each["tokens"])
        if not each["claimed"]:
            yield f"agent `{each['name']}`: nobody measured what it says of itself"
        if min(counts) < 0 or each["unknown"] > each["attempts"]:
            yield f"agent `{each['name']}`: its numbers cannot be"
        if not _DOLLARS.fullmatch(each["dollars"]):
            yield f"agent `{each['name']}`: `{each['dollars']}` is no amount"


# ======== check_claims =============================================================================

_TOLD = 5
_LITTLE = (None, "E0", "E1")
_STATUSES = ("pending", "in-progress", "waiting", "failed", "blocked", *SETTLED)
_KINDS = ("precondition", "step", "postcondition")
_SETTLES = {
    "proved": ("TASK_COMPLETED", "CONTRACT_EVALUATED"),
    "holds": ("TASK_COMPLETED", "CONTRACT_EVALUATED"),
    "claimed": ("TASK_COMPLETED", "PRECONDITION_CLAIMED", "POSTCONDITION_CLAIMED"),
    "attested": ("ATTESTED", "TASK_COMPLETED"),
    "waived": ("WAIVED",),
    "skipped": ("TASK_SKIPPED",),
}
_TELLS = {
    "waived": ("WAIVED",),
    "attested": ("ATTESTED", "TASK_COMPLETED"),
    "skipped": ("TASK_SKIPPED",),
    "claimed": _SETTLES["claimed"],
    "amended": ("PLAN_AMENDED",),
    "edited": ("PLAN_EDITED", "PLAN_REWRITTEN"),
    "approved-by-policy": ("GATE_APPROVED",),
    "approved-in-spite": ("GATE_APPROVED",),
    "approved-gates": ("GATE_APPROVED",),
    "approved-with-changes": ("GATE_APPROVED",),
    "tampered": ("JUDGE_TAMPERED",),
    "out-of-scope": ("SCOPE_VIOLATED",),
    "anyway": ("EXECUTION_STARTED",),
    "edited-meanwhile": ("EXECUTION_STARTED",),
    "budget-raised": ("BUDGET_RAISED",),
    "late": ("CONTRACT_EVALUATED",),
}
"""By deviation the kinds of events that it may rest on."""


def check_claims(run: Mapping[str, Any]) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    items = run["items"]
    cited = {event["seq"]: event["event"] for event in run["journal"]["events"]}
    yield "items", *_told(_item_faults(items, cited), "each word follows from its own fields")
    yield "evidence", *_told(_evidence_faults(items), "each level has what it takes")
    yield "counts", *_counts(run)
    deviations = _told(_deviation_faults(run, cited), _complete(run["deviations"]))
    yield "deviations", *deviations


def _told(faults: Iterator[str], well: str) -> tuple[bool, str]:
    found = list(faults)
    more = f" and {len(found) - _TOLD} more" if len(found) > _TOLD else ""
    return not found, "; ".join(found[:_TOLD]) + more if found else well


def _counts(run: Mapping[str, Any]) -> tuple[bool, str]:
    counts, outcome = counts_of(run["items"]), outcome_of(run["status"], run["items"])
    if run["counts"] != counts:
        return False, "they are not those of the items"
    if run["outcome"] != outcome:
        return False, f"the outcome is `{run['outcome']}`, and from the items follows `{outcome}`"
    green = counts["proved"] + counts["holds"]
    return True, f"{outcome}: {green} of {counts['items']} pass, {counts['proved']} of them proved"


# -- the word of each item ------------------------------------------------------------------------


def _item_faults(items: Sequence[Values], cited: Mapping[int, str]) -> Iterator[str]:
    names = Counter(item_name(item) for item in items)
    yield from (f"{name} stands there {count} times" for name, count in names.items() if count > 1)
    for item in items:
        yield from (f"{item_name(item)}: {fault}" for fault in _word_faults(item, cited))
    yield from event_faults(items, cited)


def _word_faults(item: Values, cited: Mapping[int, str]) -> Iterator[str]:
    result, verdict = item["result"], item["verdict"]
    if item["kind"] not in _KINDS or result not in _STATUSES:
        yield f"`{item['kind']}` that is `{result}` is none"
    if verdict is not None and cited.get(item["seq"]) != "CONTRACT_EVALUATED":
        yield "no event tells its verdict"
    if (item["contract"] is None) != (item["form"] in ("none", "probe")):
        yield "it has a contract, and none"
    if result in GREEN:
        yield from _green_faults(item)
    yield from number_faults(item)
    settled_by = item["settled_by"]
    if result not in SETTLED:
        if settled_by is not None:
            yield f"it is `{result}`, and something settled it"
    elif settled_by is None:
        if result != "skipped":
            yield "no event settled it"
    elif cited.get(settled_by) not in _SETTLES[result]:
        yield f"event {settled_by} does not make it `{result}`"


def _green_faults(item: Values) -> Iterator[str]:
    result, baseline = item["result"], item["baseline"]
    if item["verdict"] != "pass":
        yield f"it is `{result}` without a pass"
    if item["form"] not in ("command", "cases", "probe"):
        yield f"it is `{result}`, and nothing can be run for it"
    if result == "proved" and (baseline is None or not baseline["red"]):
        yield "it is `proved`, and nobody saw it red before"
    for said in item["expectations"]:
        if said.startswith("exit_code == ") and said != f"exit_code == {item['exit_code']}":
            yield f"it passes with exit code {item['exit_code']}, and expects `{said}`"
    if item["reused"] is not None and item["seq"] is not None and item["reused"] >= item["seq"]:
        yield "it rests on runs that came after it"
    if baseline is not None and baseline["red"] == (baseline["verdict"] in ("pass", *_UNSEEN)):
        yield f"its baseline is `{baseline['verdict']}`, which is another colour"


_UNSEEN = ("tampered", "out-of-scope")
"""Of these nobody knows what the contract said."""


def _evidence_faults(items: Sequence[Values]) -> Iterator[str]:
    for item in items:
        yield from (f"{item_name(item)}: {fault}" for fault in _unfounded(item))


def _unfounded(item: Values) -> Iterator[str]:
    yield from level_faults(item)
    level, canary, baseline = item["evidence"], item["canary"], item["baseline"]
    mutated = item["mutated"]
    if mutated is not None and mutated["sensitive"] + len(mutated["blind"]) > mutated["tests"]:
        yield "more tests were changed than there are"
    if item["verdict"] != "pass" or level is None:
        if item["result"] in GREEN and item["form"] != "probe":
            yield "it has no level of evidence"
        return
    if level > "E1" and (item["isolation"] or "I0") < "I1":
        yield f"{level} without a cell"
    if level > "E2" and canary != "red":
        red = baseline is not None and baseline["verdict"] in ("fail", "vacuous")
        if not red or canary in ("unclear", "green", "lost"):
            yield f"{level}, and nobody saw it fail"
    if item["demanded_evidence"] is not None and level < item["demanded_evidence"]:
        yield f"{level}, and the plan demands {item['demanded_evidence']}"


# -- what must not be left out --------------------------------------------------------------------


def _complete(deviations: Sequence[Values]) -> str:
    kinds = Counter(each["deviation"] for each in deviations)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    return f"told, and none left out: {listed}" if kinds else "none, and none is to be told"


def _deviation_faults(run: Mapping[str, Any], cited: Mapping[int, str]) -> Iterator[str]:
    told = [_mark(each) for each in run["deviations"]]
    wanted = [*_of_items(run["items"]), *_of_plan(run)]
    for mark in wanted:
        if mark not in told:
            yield f"`{mark[0]}` is left out{f' of {mark[1]}' if mark[1] else ''}"
    named = ({kind for kind, _ in wanted} | set(_MARKED)) - set(_OF_AN_APPROVAL)
    for mark in told:
        if mark == ("editable-judge", ""):
            continue  # of which items is not known
        if mark[0] in named and mark not in wanted:
            yield f"`{mark[0]}` is told{f' of {mark[1]}' if mark[1] else ''}, and nothing shows it"
    for each in run["deviations"]:
        seq = each.get("seq")
        if seq is not None and cited.get(seq) not in _TELLS.get(each["deviation"], ()):
            yield f"`{each['deviation']}` rests on event {seq}, which tells something else"
    yield from deviation_faults(run)
    yield from agent_faults(run["agents"])
    yield from _untold(run, cited)


_MARKED = (
    *BY_WORD,
    *("unsettled", "editable-judge", "bare-run", "little-evidence", "reused", "unknown-cost"),
    *("holds", "without-approval"),
)
"""Deviations that the items, the approval or the agents show, too."""
_OF_AN_APPROVAL = ("approved-by-policy", "approved-with-changes")
"""Deviations that the approval shows; an earlier one, whose event is cited, may have them, too."""


def _mark(deviation: Values) -> tuple[str, str]:
    """Return what has to be the same in a deviation and in what shows it."""
    kind = deviation["deviation"]
    if kind == "editable-judge":
        return kind, f"{deviation['item']} {deviation['path']}" if deviation["item"] else ""
    if kind in _OF_AN_APPROVAL:
        return kind, f"event {deviation['seq']}"
    return kind, (deviation.get("item") or "") if kind in _MARKED else ""


def _of_items(items: Sequence[Values]) -> Iterator[tuple[str, str]]:
    for item in items:
        name, result = item_name(item), item["result"]
        if result not in SETTLED:
            yield "unsettled", name
        elif result != "proved":
            yield result, name
        for judge in item["judges"]:
            if judge["editable"]:
                yield "editable-judge", f"{name} {judge['path']}"
        if item["isolation"] == "I0":
            yield "bare-run", name
        if result in GREEN and item["evidence"] in _LITTLE:
            yield "little-evidence", name
        if item["reused"] is not None:
            yield "reused", name


def _of_plan(run: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    if run["approval"] is None:
        yield "without-approval", ""
    else:
        event = f"event {run['approval']['seq']}"
        if run["approval"]["method"] == "policy":
            yield "approved-by-policy", event
        if run["approval"]["modifications"]:
            yield "approved-with-changes", event
    if any(agent["unknown"] for agent in run["agents"]) or (run["loop"] and not run["agents"]):
        yield "unknown-cost", ""


_ALWAYS_TOLD = {
    "PLAN_AMENDED": "amended",
    "PLAN_EDITED": "edited",
    "PLAN_REWRITTEN": "edited",
    "JUDGE_TAMPERED": "tampered",
    "SCOPE_VIOLATED": "out-of-scope",
    "BUDGET_RAISED": "budget-raised",
}
"""Events that are cited only because they are told as deviations."""


def _untold(run: Mapping[str, Any], cited: Mapping[int, str]) -> Iterator[str]:
    """Yield events that are cited and that no deviation tells."""
    rest = {each.get("seq") for each in run["deviations"]}
    for seq, event in cited.items():
        if event in _ALWAYS_TOLD and seq not in rest:
            yield f"event {seq} is `{event}`, and no deviation tells it"
    people = {item["settled_by"] for item in run["items"]}
    for seq, event in cited.items():
        if event in ("WAIVED", "ATTESTED", "TASK_SKIPPED") and seq not in rest | people:
            yield f"event {seq} is `{event}`, and no item and no deviation tells it"


# ======== check_replay =============================================================================

_REPLAY_OUTCOMES = (
    *("same", "differs", "flaky", "unrunnable", "inconclusive", "missing judge"),
    "not judged",
)
_WALLS = ("I2", "I3", "I4")
_INDEPENDENT = "E5"


def check_replay(
    run: Mapping[str, Any], subjects: Sequence[Mapping[str, Any]]
) -> Iterator[Checked]:
    """Yield each check: its name, whether it holds, and why."""
    given = run["receipt"]
    by = f"signed by {given['key']}" if given["key"] else "not signed"
    yield "receipt", OPEN, f"it judged again the receipt with SHA-256 {given['sha256']}, {by}"
    right = [each["digest"].get("gitTree") for each in subjects[:1]] == [run["tree"]["git_tree"]]
    yield "subject", right, "the tree that was judged" if right else "not the tree that it names"
    faults = list(_replay_faults(run))
    yield "items", not faults, "; ".join(faults[:5]) or "each word follows from its own fields"
    yield "same", *_passed_again(run)


def _replay_faults(run: Mapping[str, Any]) -> Iterator[str]:
    names = [item_name(item) for item in run["items"]]
    if len(set(names)) != len(names):
        yield "an item stands there twice"
    own, given = run["harness"]["key"], run["receipt"]
    if given["key"] is not None and not is_fingerprint(given["key"]):
        yield f"`{given['key']}` is no fingerprint of a key"
    if given["unsigned"] != bool(given["refused"] or given["key"] is None):
        yield "whether the receipt checks does not follow from what was refused"
    others = own is not None and given["key"] not in (None, own["fingerprint"])
    others = others and not given["unsigned"]
    judged = [item for item in run["items"] if item["verdict"] is not None]
    if run["independent"] and not (others and all(i["isolation"] in _WALLS for i in judged)):
        words = "it is the same key, there are no walls, or the receipt does not check"
        yield f"it is called independent, and {words}"
    for name, item in zip(names, run["items"], strict=True):
        yield from (f"{name}: {fault}" for fault in _item_faults_again(item))
        if item["evidence"] == _INDEPENDENT and not run["independent"]:
            yield f"{name}: E5 takes an independent verdict"


def _item_faults_again(item: Mapping[str, Any]) -> Iterator[str]:
    if item["evidence"] not in (None, *LEVELS, _INDEPENDENT):
        yield f"`{item['evidence']}` is no level"
    if item["isolation"] not in (None, *WALLS):
        yield f"`{item['isolation']}` is no isolation"
    if item["evidence"] == _INDEPENDENT and item["verdict"] != "pass":
        yield f"{_INDEPENDENT} takes a pass"
    if item["outcome"] not in _REPLAY_OUTCOMES:
        yield f"`{item['outcome']}` is no outcome"
    if (item["outcome"] == "same") != (item["verdict"] == "pass"):
        yield f"`{item['outcome']}` does not follow from `{item['verdict']}`"
    if item["outcome"] == "same" and item["recorded"] not in GREEN:
        yield f"`{item['recorded']}` is nothing that could be seen again"


def _passed_again(run: Mapping[str, Any]) -> tuple[bool | None, str]:
    judged = [item for item in run["items"] if item["outcome"] != "not judged"]
    passed = [item for item in judged if item["outcome"] == "same"]
    if run["same"] != (bool(judged) and len(passed) == len(judged)):
        return FAILS, "it does not follow from the items"
    words = f"{len(passed)} of {len(judged)} pass again"
    words += "" if run["whole"] else ", of the steps that were chosen"
    return (OK, words) if run["same"] else (OPEN, words)


# ======== check ====================================================================================

PLAN_RUN_KIND = "https://planbound.dev/attestation/plan-run/v0.1"
TEST_RESULT_KIND = "https://in-toto.io/attestation/test-result/v0.1"
REPLAY_KIND = "https://planbound.dev/attestation/replay/v0.1"
OUR_KINDS = "https://planbound.dev/attestation/plan-run/"
REQUIRABLE = re.compile(r"E[0-5]|I[0-4]|signed|proof|no-waiver|proved")


class CheckLine(NamedTuple):
    """One thing that was looked at."""

    name: str
    holds: bool | None
    """None: it cannot be told here, or there is nothing to tell."""
    words: str


class PlanMeaning(NamedTuple):
    """What a plan's text means, to who can read plans."""

    digest: str
    contracts: Mapping[str, str | None]
    """By item, such as `step 2`, the digest of its contract."""
    facts: Mapping[str, Mapping[str, object]] = {}
    """By item what else the text says of it, as an item of a receipt has it."""


Keygen = Callable[[Sequence[str], bytes, str], tuple[int, str]]
"""Runs `ssh-keygen` with words, a message and an armored signature; how it ended, what it said."""


class Doors(NamedTuple):
    """What a check may ask outside of itself; what is None is not there."""

    keygen: Keygen | None = None
    git: Git | None = None
    meaning: Callable[[str], PlanMeaning] | None = None
    verify: Callable[[bytes, bytes, bytes], bool] = is_signed_raw
    """Says of a raw ed25519 key, signature and message whether it holds."""


class CheckRules(NamedTuple):
    """What a receipt is held against."""

    signers: str | None = None
    """The file of those who may sign."""
    revoked: str | None = None
    """The file of keys that may not any more."""
    tree: str | None = None
    """The revision whose files are to be those that were judged."""
    require: tuple[str, ...] = ()
    earlier: bytes | None = None
    """An earlier receipt, which this one is to continue."""


class ReadReceipt(NamedTuple):
    """A receipt that can be read: nothing of it is believed yet."""

    envelopes: tuple[Envelope, ...]
    statements: tuple[Mapping[str, Any], ...]

    @property
    def run(self) -> Mapping[str, Any]:
        """Return the predicate of the first line."""
        found: Mapping[str, Any] = self.statements[0]["predicate"]
        return found

    @property
    def is_replay(self) -> bool:
        """Whether it tells of a receipt that was judged again."""
        return bool(self.statements[0]["predicateType"] == REPLAY_KIND)


def read_receipt(data: bytes) -> ReadReceipt:
    """Return a receipt; raise ReceiptError where it is none, or of another version."""
    envelopes = read_envelopes(data)
    statements = [read_statement(each, number) for number, each in enumerate(envelopes, 1)]
    kind = statements[0]["predicateType"]
    if kind not in (PLAN_RUN_KIND, REPLAY_KIND):
        if kind.startswith(OUR_KINDS):
            raise ReceiptError(f"it is of version {kind[len(OUR_KINDS) :]}, and this checks v0.1")
        raise ReceiptError(f"it is no receipt of a plan: the first line is `{kind}`")
    for number, each in enumerate(statements[1:], 2):
        if each["predicateType"] != TEST_RESULT_KIND or kind == REPLAY_KIND:
            raise ReceiptError(f"line {number} is `{each['predicateType']}`, not a test result")
    shape = "PlanReplay" if kind == REPLAY_KIND else "PlanRun"
    faults = list(faults_of(statements[0]["predicate"], shape))
    if faults:
        more = f" and {len(faults) - 1} more" if len(faults) > 1 else ""
        raise ReceiptError(f"line 1: {faults[0]}{more}")
    run = statements[0]["predicate"]
    if run["version"] != VERSION:
        raise ReceiptError(f"it is of version {run['version']}, and this checks v{VERSION}")
    slug = run.get("plan", run)["slug"]  # the receipt of a replay names it at its top
    if not is_slug(slug):
        raise ReceiptError(f"line 1: `{slug}` is no name of a plan")
    if not is_time(run["made"]):
        raise ReceiptError(f"line 1: `{run['made']}` is no time, as receipts write it")
    for path in _paths(statements[0]):
        if not _is_plain(path):
            raise ReceiptError(f"line 1: `{path}` is no path in a workspace")
    return ReadReceipt(tuple(envelopes), tuple(statements))


def _paths(statement: Mapping[str, Any]) -> Iterator[str]:
    run = statement["predicate"]
    for subject in statement["subject"]:
        if subject["name"] not in ("tree", "commit"):
            yield subject["name"]
    for item in run["items"]:
        yield from (judge["path"] for judge in item["judges"])
    if statement["predicateType"] == REPLAY_KIND:
        return
    yield from run["tree"]["removed"]
    if run["base"]["folder"]:
        yield run["base"]["folder"]


def _is_plain(path: str) -> bool:
    names = path.split("/")
    return "\0" not in path and not any(name in ("", ".", "..", ".git") for name in names)


# -- all checks -----------------------------------------------------------------------------------


def check(data: bytes, doors: Doors, rules: CheckRules) -> list[CheckLine]:
    """Return each check; raise ReceiptError for what is no receipt, or is of another version."""
    receipt = read_receipt(data)
    lines = [CheckLine("envelopes", OK, f"{len(receipt.envelopes)} lines, whole")]
    if receipt.is_replay:
        return [*lines, *_of_replay(receipt, doors, rules)]
    lines += _statements(receipt)
    lines += _signatures(receipt, doors, rules)
    lines += _approval(receipt.run, doors, rules)
    lines += _plan(receipt.run, doors)
    lines += (CheckLine(*each) for each in check_journal(receipt.run))
    if rules.earlier is not None:
        lines.append(_continues(receipt, _read_earlier(rules.earlier)))
    lines += (CheckLine(*each) for each in check_claims(receipt.run))
    if rules.tree is not None:
        subjects = receipt.statements[0]["subject"]
        lines.append(CheckLine(*check_tree(receipt.run, subjects, rules.tree, doors.git)))
    for word in rules.require:
        lines.append(_required(word, receipt.run, lines))
    return lines


def _of_replay(receipt: ReadReceipt, doors: Doors, rules: CheckRules) -> list[CheckLine]:
    lines = list(_signatures(receipt, doors, rules))
    subjects = receipt.statements[0]["subject"]
    lines += (CheckLine(*each) for each in check_replay(receipt.run, subjects))
    if rules.earlier is not None:
        lines.append(_is_about(receipt, rules.earlier))
    if rules.tree is not None:
        lines.append(CheckLine(*check_replayed_tree(receipt.run, rules.tree, doors.git)))
    for word in rules.require:
        lines.append(_required_again(word, receipt.run, lines))
    return lines


def holds(lines: Sequence[CheckLine]) -> bool:
    """Say whether nothing fails."""
    return all(line.holds is not False for line in lines)


_WORDS = {OK: "ok", FAILS: "FAILS", OPEN: "--"}


def shown_line(line: CheckLine) -> str:
    """Return a check as a line for people."""
    return f"{_WORDS[line.holds]:<5}  {line.name}: {plain(line.words)}"


def plain(text: str) -> str:
    """Return a text in which nothing acts on a terminal or hides from a reader."""
    return "".join(each if each.isprintable() else f"\\u{ord(each):04x}" for each in text)


def required(words: str) -> tuple[str, ...]:
    """Return what is demanded, such as `E3,signed`; raise ReceiptError for what cannot be."""
    found = tuple(word.strip() for word in words.split(",") if word.strip())
    for word in found:
        if not REQUIRABLE.fullmatch(word):
            known = "E0 to E5, I0 to I4, signed, proof, no-waiver and proved"
            raise ReceiptError(f"nobody can demand `{word}`: there are {known}")
    return found


# -- the lines among themselves -------------------------------------------------------------------


def _statements(receipt: ReadReceipt) -> Iterator[CheckLine]:
    run, (first, *others) = receipt.run, receipt.statements
    digests = [each.sha256 for each in receipt.envelopes[1:]]
    same = digests == run["statements"]
    words = f"{len(others)} test results, those that line 1 names"
    yield CheckLine("statements", same, words if same else "not those that line 1 names")
    yield CheckLine("subjects", *_subjects(first, others))
    tested = [test_result(item) for item in run["items"] if is_tested(item)]
    agree = [each["predicate"] for each in others] == tested
    said = "the test results say what the items say"
    yield CheckLine("results", agree, said if agree else "the test results say something else")


def _subjects(first: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> tuple[bool, str]:
    run, subjects = first["predicate"], first["subject"]
    names = [each["name"] for each in subjects]
    tree = {"sha256": run["tree"]["tree"], "gitTree": run["tree"]["git_tree"]}
    wanted = {name: value for name, value in tree.items() if value is not None}
    if names[0] != "tree" or subjects[0]["digest"] != wanted:
        return FAILS, "the first subject is not the tree that the receipt speaks of"
    if len(set(names)) != len(names):
        return FAILS, "a subject stands there twice"
    if any(each["subject"] != subjects[:1] for each in others):
        return FAILS, "a test result is about something else"
    return OK, f"a tree and {len(names) - 1} more, the same in every line"


def _continues(receipt: ReadReceipt, before: ReadReceipt) -> CheckLine:
    """Say whether a receipt follows another one: its journal begins with that one's."""
    if before.is_replay:
        return CheckLine("earlier-receipt", FAILS, "that one tells of a replay")
    from_there = before.run["journal"]["checkpoint"].split("\n")
    here = receipt.run["journal"]["checkpoint"].split("\n")
    said = receipt.run["journal"]["earlier"]
    if from_there[0] != here[0]:
        return CheckLine("earlier-receipt", FAILS, "it is of another journal")
    if from_there == here:
        return CheckLine("earlier-receipt", OK, "both are of the same moment")
    if said is None or [str(said["size"]), said["root"]] != from_there[1:3]:
        words = "this receipt does not continue that one: another was made between, or the"
        return CheckLine("earlier-receipt", FAILS, f"{words} journal was rewritten")
    return CheckLine("earlier-receipt", OK, "this receipt continues that one")


def _read_earlier(data: bytes) -> ReadReceipt:
    try:
        return read_receipt(data)
    except ReceiptError as error:
        raise ReceiptError(f"the receipt that it is compared with: {error}") from error


def _is_about(replay: ReadReceipt, given: bytes) -> CheckLine:
    """Say whether a replay is of this receipt, and tells what stands in it."""
    name, run, before = "earlier-receipt", replay.run, _read_earlier(given)
    if before.is_replay or hashlib.sha256(given).hexdigest() != run["receipt"]["sha256"]:
        return CheckLine(name, FAILS, "it is not the receipt that was judged again")
    key, other = before.run["harness"]["key"], run["receipt"]["key"]
    if other is not None and (key is None or key["fingerprint"] != other):
        return CheckLine(name, FAILS, f"{other} is not the key that it names")
    plan = before.run["plan"]
    if any(run[field] != plan[field] for field in ("slug", "revision", "digest")):
        return CheckLine(name, FAILS, "it is of another plan")
    recorded = {item_name(item): _recorded(item, "result") for item in before.run["items"]}
    found = {item_name(item): _recorded(item, "recorded") for item in run["items"]}
    wrong = [each for each, said in found.items() if recorded.get(each) != said]
    wrong += [each for each in recorded if run["whole"] and each not in found]
    if wrong:
        return CheckLine(name, FAILS, f"it says something else of {wrong[0]}")
    return CheckLine(name, OK, "this is the receipt that was judged again, and says the same")


def _recorded(item: Mapping[str, Any], field: str) -> tuple[object, ...]:
    return item[field], item["contract"], item["title"]


# -- signatures -----------------------------------------------------------------------------------


def _signatures(receipt: ReadReceipt, doors: Doors, rules: CheckRules) -> Iterator[CheckLine]:
    said = receipt.run["harness"]["key"]
    signed = any(each.signatures for each in receipt.envelopes)
    if said is None or not signed:
        whole = said is None and not signed
        words = "not signed: whoever has the file can change it" if whole else "it was taken away"
        yield CheckLine("signature", OPEN if whole else FAILS, words)
        if rules.signers is not None:
            yield CheckLine("signer", FAILS, "nobody signed it")
        return
    first, *others = receipt.envelopes
    try:
        found = read_signature(first.signatures[0].sig)
    except (ValueError, IndexError, UnicodeError) as error:
        yield CheckLine("signature", FAILS, f"line 1 has no SSH signature: {error}")
        return
    name = fingerprint(found.key)
    stated = {"type": key_type(found.key), "fingerprint": name, "public": key_line(found.key)}
    if first.signatures[0].keyid != name or any(said[key] != stated[key] for key in stated):
        yield CheckLine("signature", FAILS, "it is not by the key that the receipt names")
        return
    yield CheckLine("signature", *_ssh(first.signatures[0].sig, pae(first.payload), doors))
    yield CheckLine("signer", *_signer(receipt, first, name, doors, rules))
    raw = [list(first.signatures[1:]), *(list(each.signatures) for each in others)]
    if any(raw):
        yield CheckLine("raw-signatures", *_raw(receipt, raw, raw_key(found.key), doors))


def _ssh(
    blob: bytes, message: bytes, doors: Doors, space: str = NAMESPACE
) -> tuple[bool | None, str]:
    """Say whether an SSH signature holds, whoever made it."""
    found = read_signature(blob)
    name = fingerprint(found.key)
    if found.namespace != space:
        return FAILS, f"it is for `{found.namespace}`, and not for `{space}`"
    key, signature = raw_key(found.key), ed25519_part(found)
    if key is not None:
        if signature and doors.verify(key, signature, signed_bytes(found, message)):
            return OK, f"signed by {name}"
        return FAILS, f"the signature of {name} does not hold"
    if doors.keygen is None:
        return OPEN, f"there is no ssh-keygen, which checks `{key_type(found.key)}`"
    words = ("-Y", "check-novalidate", "-n", space)
    code, said = doors.keygen(words, message, armored(blob))
    return (True, f"signed by {name}") if code == 0 else (False, f"it does not hold: {said}")


def _signer(
    receipt: ReadReceipt, first: Envelope, name: str, doors: Doors, rules: CheckRules
) -> tuple[bool | None, str]:
    if rules.signers is None:
        return OPEN, f"{name}, whom you do not know: `--signers FILE` says who may sign"
    blob, message = first.signatures[0].sig, pae(first.payload)
    return _known(blob, message, receipt.run["made"], doors, rules, (NAMESPACE, None))


def _known(
    blob: bytes,
    message: bytes,
    when: str,
    doors: Doors,
    rules: CheckRules,
    wanted: tuple[str, str | None],
) -> tuple[bool | None, str]:
    """Say whether a signer is in the list; `wanted` is what for, and who, if only one may."""
    if doors.keygen is None:
        return OPEN, "there is no ssh-keygen, which reads lists of signers"
    space, who = wanted
    if who is not None and "\0" in who:
        return FAILS, "nobody has such a name"
    signers = str(rules.signers)
    moment = "".join(re.findall(r"\d", when[:19]))
    at = (f"-Overify-time={moment}",)
    if who is None:
        words = ("-Y", "find-principals", *at, "-f", signers)
        code, said = doors.keygen(words, message, armored(blob))
        if code != 0:
            return FAILS, f"{fingerprint(read_signature(blob).key)} is not in {signers}"
        who = said.split("\n")[0].strip()
    revoked = ("-r", rules.revoked) if rules.revoked is not None else ()
    words = ("-Y", "verify", *at, "-f", signers, "-I", who, "-n", space, *revoked)
    code, said = doors.keygen(words, message, armored(blob))
    return (True, f"{who}, who may sign") if code == 0 else (False, f"{who}: {said}")


def _raw(
    receipt: ReadReceipt, found: Sequence[Sequence[Any]], key: bytes | None, doors: Doors
) -> tuple[bool, str]:
    if key is None or any(len(each) != 1 for each in found):
        return FAILS, "not every line has one, or the key is of another kind"
    for number, (envelope, (each,)) in enumerate(zip(receipt.envelopes, found, strict=True), 1):
        if each.keyid != raw_keyid(key):
            return FAILS, f"that of line {number} is by another key"
        if not doors.verify(key, each.sig, pae(envelope.payload)):
            return FAILS, f"that of line {number} does not hold"
    return OK, f"{len(found)}, by the same key"


# -- the approval and the plan --------------------------------------------------------------------


def _approval(run: Mapping[str, Any], doors: Doors, rules: CheckRules) -> Iterator[CheckLine]:
    given = run["approval"]
    if given is None:
        yield CheckLine("approval", OPEN, "nobody approved this text")
        return
    if given["digest"] != run["plan"]["digest"]:
        yield CheckLine("approval", FAILS, "it is of another plan")
        return
    fault = approval_fault(run)
    if fault is not None:
        yield CheckLine("approval", FAILS, fault)
        return
    words = f"by {given['by']}, {given['method']}: {given['strength']}"
    if given["signature"] is None or given["statement"] is None:
        claimed = given["method"] == "signature"
        why = f"{words}; the signature is not kept" if claimed else words
        yield CheckLine("approval", None if claimed else True, why)
        return
    wrong = _misstated(given, run["plan"]["slug"])
    if wrong is not None:
        yield CheckLine("approval", FAILS, f"what was signed has another `{wrong}`")
        return
    message = given["statement"].encode("utf-8", "surrogateescape")
    try:
        blob = dearmored(given["signature"])
        yield CheckLine("approval", *_ssh(blob, message, doors, APPROVAL_NAMESPACE))
    except (ValueError, UnicodeError) as error:
        yield CheckLine("approval", FAILS, f"its signature is none: {error}")
        return
    if rules.signers is not None:
        wanted = (APPROVAL_NAMESPACE, given["by"])
        yield CheckLine("approver", *_known(blob, message, given["at"], doors, rules, wanted))


def _misstated(given: Mapping[str, Any], slug: str) -> str | None:
    """Return what a signed statement says otherwise than the receipt; None: nothing."""
    try:
        said = json.loads(given["statement"])
    except (ValueError, RecursionError):
        return "form"
    judges = json.dumps(given["judges"], sort_keys=True).encode("ascii")
    wanted = {
        "configuration": given["configuration"],
        "digest": given["digest"],
        "judges": hashlib.sha256(judges).hexdigest(),
        "plan": slug,
        "project": given["project"],
        "tree": given["tree"],
        "namespace": APPROVAL_NAMESPACE,
    }
    if not isinstance(said, dict):
        return "form"
    return next((name for name, value in wanted.items() if said.get(name) != value), None)


def _plan(run: Mapping[str, Any], doors: Doors) -> Iterator[CheckLine]:
    plan = run["plan"]
    if plan["text"] is None:
        yield CheckLine("plan", OPEN, "its text cannot be compared: it is not there")
        return
    text = plan["text"].encode("utf-8", "surrogateescape")
    form = "sha256" if plan["git_blob"] and len(plan["git_blob"]) == 64 else "sha1"
    same = hashlib.sha256(text).hexdigest() == plan["sha256"]
    if plan["redacted"]:
        why = "its text cannot be compared: secrets were taken out of it"
        yield CheckLine("plan", FAILS if same else OPEN, "nothing was taken out" if same else why)
    else:
        same = same and plan["git_blob"] in (None, blob_id(text, form))
        yield CheckLine("plan", same, "its text has its digests" if same else "its text is another")
    if doors.meaning is None:
        why = "cannot be reckoned here: it takes planbound's reader of plans"
        yield CheckLine("digest", OPEN, why)
        yield CheckLine("contracts", OPEN, why)
        return
    meaning = doors.meaning(plan["text"])
    if plan["redacted"]:
        yield CheckLine("digest", OPEN, "cannot be reckoned: secrets were taken out of the text")
    else:
        right = meaning.digest == plan["digest"]
        word = "the text means what its digest says"
        yield CheckLine("digest", right, word if right else f"the text means {meaning.digest[:12]}")
    yield CheckLine("contracts", *_contracts(run, meaning))


def _contracts(run: Mapping[str, Any], meaning: PlanMeaning) -> tuple[bool, str]:
    """Say whether the items are those of the text, and say what it says of them."""
    said = {item_name(item): item["contract"] for item in run["items"]}
    whole = not run["plan"]["redacted"]
    for name in (*meaning.contracts, *said):
        if (name in said) != (name in meaning.contracts):
            return FAILS, f"not those of the text: {name}"
        if whole and said[name] != meaning.contracts[name]:
            return FAILS, f"not those of the text: {name}"
    for item in run["items"] if whole else ():
        facts = meaning.facts.get(item_name(item), {})
        for field, wanted in facts.items():
            probe = item["form"] == "probe" and field in ("form", "command")
            if item[field] != wanted and not (probe and facts["form"] == "none"):
                return FAILS, f"the text says another `{field}` of {item_name(item)}"
    if list(said) != list(meaning.contracts):
        return FAILS, "in another order"
    return OK, "those of the text, none left out"


# -- what somebody demands ------------------------------------------------------------------------


def _required_again(word: str, run: Mapping[str, Any], lines: Sequence[CheckLine]) -> CheckLine:
    """Say whether a replay comes to what somebody demands."""
    if word == "signed":
        return _required(word, run, lines)
    name = f"require {word}"
    if word[0] not in "EI":
        return CheckLine(name, FAILS, "a replay cannot say it: check the receipt that it judged")
    field = "evidence" if word[0] == "E" else "isolation"
    below = [
        f"{item_name(item)} has {item[field] or 'none'}"
        for item in run["items"]
        if item["outcome"] != "same" or (item[field] or "") < word
    ]
    return CheckLine(name, not below, "; ".join(below[:5]) or f"every item has {word}")


def _required(word: str, run: Mapping[str, Any], lines: Sequence[CheckLine]) -> CheckLine:
    name = f"require {word}"
    by_name = {line.name: line.holds for line in lines}
    match word:
        case "signed":
            known = by_name.get("signature") is True and by_name.get("signer") is True
            return CheckLine(name, known, "by who may sign" if known else "not by who may sign")
        case "proof":
            known = by_name.get("approval") is True and by_name.get("approver") is True
            words = "the approval is signed by who may"
            return CheckLine(name, known, words if known else "nobody can tell who approved it")
        case "proved":
            found = run["outcome"]
            return CheckLine(name, found == "proved", f"it is `{found}`")
        case "no-waiver":
            waived = [item_name(item) for item in run["items"] if item["result"] == "waived"]
            words = f"waived: {', '.join(waived)}" if waived else "nothing is waived"
            return CheckLine(name, not waived, words)
    field = "evidence" if word[0] == "E" else "isolation"
    below = [
        f"{item_name(item)} has {item[field] or 'none'}"
        for item in run["items"]
        if item["result"] not in GREEN or (item[field] or "") < word
    ]
    return CheckLine(name, not below, "; ".join(below[:5]) or f"every item has {word}")


# ======== the command line =========================================================================

SECONDS = 60
CLEAN = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "TZ": "UTC",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
}


def run_keygen(words: Sequence[str], message: bytes, signature: str) -> tuple[int, str]:
    """Run ssh-keygen on a message and its signature."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "signature")
        with open(path, "w", encoding="ascii") as file:
            file.write(signature)
        command = ["ssh-keygen", *words, "-s", path]
        done = subprocess.run(
            command, input=message, capture_output=True, timeout=SECONDS, check=False, env=CLEAN
        )
    said = (done.stdout + b"\n" + done.stderr).decode("utf-8", "replace").strip()
    return done.returncode, said


def run_git(words: Sequence[str]) -> bytes | None:
    """Run git in the repository here; nothing that it names is run."""
    quiet = ["-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"]
    command = ["git", *quiet, *words]
    done = subprocess.run(command, capture_output=True, timeout=SECONDS, check=False, env=CLEAN)
    return done.stdout if done.returncode == 0 else None


def is_git_here(places: str) -> bool:
    """Say whether there is git, and a repository around this folder."""
    there = shutil.which("git", path=places) is not None
    return there and run_git(["rev-parse", "--git-dir"]) is not None


def read_file(path: str) -> bytes:
    """Return a file's content, up to a byte more than is allowed."""
    if path == "-":
        return sys.stdin.buffer.read(MOST_BYTES + 1)
    with open(path, "rb") as file:
        return file.read(MOST_BYTES + 1)


def parsed(argv: Sequence[str]) -> argparse.Namespace:
    """Return what the words of the command line say."""
    parser = argparse.ArgumentParser(description="Checks a receipt of planbound.")
    add = parser.add_argument
    add("file", metavar="FILE", help="the receipt; `-` is standard input")
    add("--signers", metavar="FILE", help="who may sign, as in `man ssh-keygen`")
    add("--revoked", metavar="FILE", help="keys that may not sign any more")
    add("--tree", metavar="REV", help="the revision whose files are to be those that were judged")
    add("--previous", metavar="FILE", help="an earlier receipt, which this one continues")
    add("--require", metavar="WORDS", default="", help="as E3,I2,signed,proof,no-waiver,proved")
    return parser.parse_args(argv)


def rules_of(given: argparse.Namespace) -> CheckRules:
    """Return what the receipt is held against."""
    for path in (given.signers, given.revoked):
        if path is not None and not os.path.isfile(path):
            raise ReceiptError(f"there is no file `{path}`")
    return CheckRules(
        signers=given.signers and os.path.abspath(given.signers),
        revoked=given.revoked and os.path.abspath(given.revoked),
        tree=given.tree,
        require=required(given.require),
        earlier=read_file(given.previous) if given.previous else None,
    )


def main(argv: Sequence[str]) -> int:
    """Check a receipt: 0 where all holds, 1 where something does not, 2 where it is none."""
    given = parsed(argv)
    places = CLEAN["PATH"]
    doors = Doors(
        keygen=run_keygen if shutil.which("ssh-keygen", path=places) else None,
        git=run_git if is_git_here(places) else None,
    )
    try:
        lines = check(read_file(given.file), doors, rules_of(given))
        for line in lines:
            print(shown_line(line))
    except (ReceiptError, OSError, subprocess.SubprocessError) as error:
        print(f"error: {plain(str(error))}", file=sys.stderr)
        return 2
    return 0 if holds(lines) else 1


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
