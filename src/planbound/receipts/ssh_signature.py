"""SSH signatures (SSHSIG) and ed25519 keys as OpenSSH writes them."""

from __future__ import annotations

import base64
import hashlib
from typing import NamedTuple

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


def read_key(line: str) -> bytes:
    """Return the key of `TYPE BASE64 COMMENT`; raise ValueError where it is none."""
    words = line.split()
    if len(words) < 2:
        raise ValueError("a public key is `TYPE BASE64`")
    found = base64.b64decode(words[1].encode("ascii"), validate=True)
    if key_type(found) != words[0]:
        raise ValueError("the key is not of the type that it says")
    return found


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
