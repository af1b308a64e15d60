"""What nobody can make up: a text with what only who has the key could put behind it."""

from __future__ import annotations

import hashlib
import hmac


def seal(key: bytes, purpose: str, text: str) -> str:
    """Return a text with what only who has the key could put behind it."""
    return f"{text}.{_mac(key, purpose, text)}"


def opened(key: bytes, purpose: str, sealed: str) -> str | None:
    """Return what was sealed for a purpose; None for anything else."""
    text, _, mac = sealed.rpartition(".")
    if not text or not sealed.isascii():
        return None
    return text if hmac.compare_digest(mac, _mac(key, purpose, text)) else None


def _mac(key: bytes, purpose: str, text: str) -> str:
    said = f"{purpose}\0{text}".encode()
    return hmac.new(key, said, hashlib.sha256).hexdigest()
