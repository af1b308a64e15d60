"""Comments on lines of a plan: sent as one review, and each shown with what it was answered."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.errors import Refused, UsageError
from planbound.journal.event import (
    Event,
    EventKind,
    GateClarificationAsked,
    PlanAmended,
    PlanCreated,
    PlanEdited,
    PlanRewritten,
    PlanVerified,
)
from planbound.journal.record import Record
from planbound.journal.words import PersonMethod
from planbound.plan.digest import digest
from planbound.state.approval import is_noticed
from planbound.state.question import ID_LENGTH

if TYPE_CHECKING:
    from planbound.approval.approve import Candidate

KINDS = (
    EventKind.PLAN_CREATED,
    EventKind.PLAN_VERIFIED,
    EventKind.PLAN_EDITED,
    EventKind.PLAN_REWRITTEN,
    EventKind.PLAN_AMENDED,
    EventKind.GATE_CLARIFICATION_ASKED,
)
"""The events that comments and their answers are made of."""
MOST = 50
"""Comments in one review: who has more to say writes another plan."""
LONGEST = 4_000
"""Characters in one comment."""


class LineComment(NamedTuple):
    """What somebody says about a line of a plan."""

    line: int
    """From 1."""
    words: str


class CommentReply(NamedTuple):
    """What came of a comment: somebody's word, or another text of the plan."""

    at: str
    by: str
    words: str
    is_change: bool = False


class ReviewComment(NamedTuple):
    """A comment that was sent, where it stands now, and what it was answered."""

    id: str
    review: str
    line: int | None
    """Where its line was; None for a question about the whole plan."""
    quoted: str
    words: str
    by: str
    at: str
    replies: tuple[CommentReply, ...] = ()

    @property
    def is_open(self) -> bool:
        """Whether it has no answer."""
        return not self.replies

    def place(self, lines: Sequence[str]) -> int | None:
        """Return the line that it is about in another text, from 1; None where it is gone."""
        if self.line is None:
            return None
        same = [number for number, text in enumerate(lines, 1) if text == self.quoted]
        return min(same, key=lambda number: abs(number - (self.line or 0)), default=None)


def send_review(
    candidate: Candidate,
    comments: Sequence[LineComment],
    *,
    by: str,
    method: PersonMethod | None = None,
) -> str:
    """Ask about lines of a plan, all in one; return the id of the review. The plan waits."""
    context, file, _, plan = candidate
    lines = plan.source.lines
    said = [each._replace(words=each.words.strip()) for each in comments if each.words.strip()]
    _refuse_faulty(said, len(lines))
    context.real_files.refuse_unwritable(file.path)
    recorder = context.recorder()
    now = recorder.now()
    name = f"{file.slug}\0{by}\0{now}".encode("utf-8", "backslashreplace")
    review = hashlib.sha256(name).hexdigest()[:ID_LENGTH]
    recorder.journal.append(
        [
            recorder.draft(
                GateClarificationAsked(
                    question=each.words,
                    by=by,
                    digest=digest(plan),
                    method=method,
                    line=each.line,
                    quoted=lines[each.line - 1],
                    review=review,
                ),
                file.slug,
                key=f"{review} {number}",
            )
            for number, each in enumerate(said)
        ]
    )
    return review


def _refuse_faulty(comments: Sequence[LineComment], lines: int) -> None:
    if not comments:
        raise UsageError("there is no comment", hint="write one beside a line of the plan")
    if len(comments) > MOST:
        raise Refused(f"a review has {MOST} comments at most, not {len(comments)}")
    for each in comments:
        if not 1 <= each.line <= lines:
            raise UsageError(f"the plan has no line {each.line}: it has {lines}")
        if len(each.words) > LONGEST:
            raise Refused(f"the comment on line {each.line} is longer than {LONGEST:,} characters")


def comments_of(records: Iterable[Record]) -> tuple[ReviewComment, ...]:
    """Return what was asked about a plan since it is there, with the answers, the oldest first."""
    found: dict[str, ReviewComment] = {}
    texts: dict[str, str | None] = {}
    for record in records:
        event, name = record.event, record.draft.id[:ID_LENGTH]
        match event:
            case PlanCreated():
                found, texts = {}, {}
            case GateClarificationAsked(answer=None):
                found[name] = ReviewComment(
                    id=name,
                    review=event.review or name,
                    line=event.line,
                    quoted=event.quoted or "",
                    words=event.question,
                    by=event.by or "",
                    at=record.draft.timestamp,
                )
                texts[name] = event.digest
            case GateClarificationAsked():
                reply = CommentReply(record.draft.timestamp, event.by or "", event.answer or "")
                _reply(found, [event.answers] if event.answers else list(found), reply)
            case _:
                now = _another_text(event)
                asked = [key for key in found if texts[key] not in {None, now}]
                if now is not None:
                    _reply(found, asked, _changed(record, event))
    return tuple(found.values())


def _reply(found: dict[str, ReviewComment], names: Iterable[str], reply: CommentReply) -> None:
    for name in names:
        comment = found.get(name)
        # Whoever was answered already is told of a change once, and not of each that follows.
        if comment is not None and not any(each.is_change for each in comment.replies):
            found[name] = comment._replace(replies=(*comment.replies, reply))


def _another_text(event: Event) -> str | None:
    match event:
        case PlanVerified(digest=digest):
            return digest
        case PlanAmended(to=to) | PlanEdited(to=to):
            return to
        case PlanRewritten(to=to) if not is_noticed(event):
            return to
        case _:
            return None


def _changed(record: Record, event: Event) -> CommentReply:
    by, words = "", "the plan was changed"
    match event:
        case PlanAmended(by=str(name)) | PlanRewritten(by=str(name)):
            by = name
        case _:
            pass
    match event:
        case PlanAmended(revision=revision):
            words = f"amended to revision {revision}"
        case PlanRewritten(changes=tuple(changes)) if changes:
            words = f"the plan was changed: {', '.join(changes)}"
        case _:
            pass
    return CommentReply(record.draft.timestamp, by, words, is_change=True)
