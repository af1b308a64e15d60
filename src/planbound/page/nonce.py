"""What a person saw when they decided: it goes with the form, and nobody else can write it."""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import re
from collections.abc import Mapping
from typing import NamedTuple

import msgspec
from msgspec import Struct

from planbound.disk.decoders import json_decoder
from planbound.workspace.sealed import opened, seal

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
    look: str = ""
    """A digest of what the contracts said before the work, where that was shown."""
    text: str = ""
    """A digest of all that was shown of the plan's text, where its lines count."""
    seq: int = 0
    """The last decision about it that was on record, or the event that asked the question."""
    question: str = ""
    """Its id; of a run that may be cancelled, the run's."""


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


class Difference(NamedTuple):
    """Something that is not any more as it was shown."""

    what: str
    then: str
    now: str


_WORDS = {
    "plan": "the plan",
    "digest": "the digest of what the plan means",
    "look": "what the contracts said before the work",
    "text": "the text, line by line",
    "judges": "the files that judge it",
    "configuration": "the configuration that contracts run under",
    "seq": "the last decision in the journal",
    "question": "the question",
}
_SHORT = 12


def differences(then: ShownState, now: ShownState) -> tuple[Difference, ...]:
    """Return what is not any more as it was shown: a decision about it is not taken."""
    found = ((words, getattr(then, name), getattr(now, name)) for name, words in _WORDS.items())
    return tuple(
        Difference(words, _said(before), _said(after))
        for words, before, after in found
        if before != after
    )


def _said(value: str | int) -> str:
    if isinstance(value, int):
        return f"event #{value}" if value else "none"
    return value[:_SHORT] or "none"


def judge_differences(then: Mapping[str, str], now: Mapping[str, str]) -> tuple[Difference, ...]:
    """Return each judge that is another one now, or is gone, or is new."""
    return tuple(
        Difference(f"the judge {path}", _said(then.get(path, "")), _said(now.get(path, "")))
        for path in sorted({*then, *now})
        if then.get(path) != now.get(path)
    )


def judges_digest(judges: Mapping[str, str]) -> str:
    """Return one digest over the judges of a plan: their paths, and what is in them."""
    said = json.dumps(dict(judges), sort_keys=True)
    return hashlib.sha256(said.encode("ascii")).hexdigest()
