"""Raw ed25519 signatures by the key of an OpenSSH file, for other tools of DSSE.

Only with `planbound[receipts]`; the one place that knows the library.
"""

from __future__ import annotations

from collections.abc import Callable

from planbound.errors import FileProblem
from planbound.receipts.ssh_signature import is_signed_raw

Sign = Callable[[bytes], bytes]
Verify = Callable[[bytes, bytes, bytes], bool]


def raw_signer(path: str) -> Sign | None:
    """Return what signs with the key of a file; None without the library, or for another kind."""
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - an extra
            Ed25519PrivateKey,
        )
        from cryptography.hazmat.primitives.serialization import (  # noqa: PLC0415 - the same
            load_ssh_private_key,
        )
    except ImportError:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
        key = load_ssh_private_key(data, None)
    except OSError as error:
        raise FileProblem(f"cannot read `{path}`: {error.strerror}") from error
    except (ValueError, TypeError):
        return None  # behind a passphrase, or on a token: OpenSSH alone can use it
    return key.sign if isinstance(key, Ed25519PrivateKey) else None


def raw_verifier() -> Verify:
    """Return what checks a raw signature: the library's way where it is there, else our own."""
    try:
        from cryptography.exceptions import InvalidSignature  # noqa: PLC0415 - an extra
        from cryptography.hazmat.primitives.asymmetric.ed25519 import (  # noqa: PLC0415 - the same
            Ed25519PublicKey,
        )
    except ImportError:
        return is_signed_raw

    def verify(key: bytes, signature: bytes, message: bytes) -> bool:
        try:
            Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True

    return verify
