"""What a person saw when they decided: it goes with the form, and nobody else can write it."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct

from planbound.disk.decoders import json_decoder
from planbound.page.guard import opened, seal

_BASE = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 20_000


class ShownState(Struct, frozen=True, omit_defaults=True):
    """What was shown, as far as a decision about it depends on it; empty: it does not."""

    plan: str = ""
    digest: str = ""
    """Of the plan's meaning."""
    judges: str = ""
    """A digest over the paths and digests of the judges."""
    configuration: str = ""
    seq: int = 0
    """The last event that was known."""
    question: str = ""


def write_nonce(key: bytes, session: str, action: str, shown: ShownState) -> str:
    """Return what a form has to bring back, for one session and one action."""
    text = base64.urlsafe_b64encode(msgspec.json.encode(shown)).decode("ascii").rstrip("=")
    return seal(key, f"form {session} {action}", text)


def read_nonce(key: bytes, session: str, action: str, nonce: str) -> ShownState | None:
    """Return what was shown with a form; None where the form was not one of ours for this."""
    if len(nonce) > _LONGEST:
        return None
    text = opened(key, f"form {session} {action}", nonce)
    if text is None or not _BASE.fullmatch(text):
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return json_decoder(ShownState).decode(data)
    except (binascii.Error, msgspec.MsgspecError):
        return None


_WORDS = {
    "plan": "the plan",
    "digest": "what the plan means",
    "judges": "the files that judge it",
    "configuration": "the configuration of the project",
    "seq": "what the journal knows",
    "question": "the question",
}


def differences(then: ShownState, now: ShownState) -> Iterator[str]:
    """Yield what is not any more as it was shown."""
    for name, words in _WORDS.items():
        before, after = getattr(then, name), getattr(now, name)
        if before != after:
            yield words
