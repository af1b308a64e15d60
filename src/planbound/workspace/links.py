"""Links that decide one question, once: what is sealed in them, and whether one still holds."""

from __future__ import annotations

import base64
import binascii
import re

import msgspec
from msgspec import Struct

from planbound.disk.decoders import json_decoder
from planbound.journal.words import QuestionKind
from planbound.state.question import Question
from planbound.workspace.sealed import opened, seal

LINK_SECONDS = 600
"""How long a link holds: who wants longer opens the page."""
NOT_BY_LINK = frozenset({QuestionKind.INCOMPLETE, QuestionKind.INTEGRATION})
"""The questions that no single word decides: a message about one leads to the inbox."""
_PURPOSE = "decide"
_BASE = re.compile(r"[A-Za-z0-9_-]{1,4000}")


class DecisionLink(Struct, frozen=True):
    """What a link lets one person do: decide this question, as it was asked, until then."""

    plan: str
    question: str
    seq: int
    """The number of the event that asked."""
    digest: str
    """Of the text that the question is about; empty where it is about none."""
    person: str
    until: int
    """In seconds since 1970."""

    def is_about(self, question: Question) -> bool:
        """Say whether a question is the very one that it was made for."""
        return (self.plan, self.question, self.seq, self.digest) == (
            question.plan,
            question.id,
            question.seq,
            question.digest or "",
        )


def link_for(question: Question, person: str, now: float) -> DecisionLink:
    """Return what lets one person decide a question."""
    return DecisionLink(
        plan=question.plan,
        question=question.id,
        seq=question.seq,
        digest=question.digest or "",
        person=person,
        until=int(now) + LINK_SECONDS,
    )


def write_link(key: bytes, link: DecisionLink) -> str:
    """Return the token that stands in an address."""
    text = base64.urlsafe_b64encode(msgspec.json.encode(link)).decode("ascii").rstrip("=")
    return seal(key, _PURPOSE, text)


def read_link(key: bytes, token: str) -> DecisionLink | None:
    """Return what a token lets somebody do; None for what nobody of ours wrote."""
    text = opened(key, _PURPOSE, token)
    if text is None or not _BASE.fullmatch(text):
        return None
    try:
        data = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        return json_decoder(DecisionLink).decode(data)
    except (binascii.Error, msgspec.MsgspecError):
        return None
