"""What deviates, in words: the same for a comment and a page, which each escape it in their way.

What a plan, an agent or a person wrote is a `Quoted`; all else is ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from planbound.receipts.conversation import raise_words
from planbound.receipts.predicate import (
    AmendedPlan,
    ApprovedGates,
    ApprovedInSpite,
    ApprovedWithChanges,
    AttestedItem,
    BareRun,
    ClaimedItem,
    Deviation,
    EarlierPlan,
    EditableJudge,
    EditedMeanwhile,
    EditedPlan,
    HeldItem,
    LateCondition,
    LeftScope,
    LittleEvidence,
    NobodyLooked,
    NotKept,
    RaisedBudget,
    ReusedRuns,
    RunAnyway,
    SkippedItem,
    TouchedJudge,
    UnknownCost,
    UnsettledItem,
    WaivedItem,
    WithoutApproval,
)

PATH, REASON, NAME = 60, 120, 40
"""How much of a text is shown where there is little room."""
_SHOWN = 3


class Quoted(NamedTuple):
    """A text of somebody else."""

    text: str
    longest: int


class Strong(NamedTuple):
    """Words of ours that must not be overlooked."""

    text: str


Part = str | Strong | Quoted


class DeviationWords(NamedTuple):
    """What is said of a deviation."""

    kind: tuple[Part, ...]
    """What kind of thing it is: the same for all of a kind."""
    said: tuple[Part, ...] = ()
    """What is special about this one."""
    item: str | None = None
    """The item that it is about."""
    seq: int | None = None


RESULTS: dict[str, Part] = {
    "proved": "proved",
    "holds": "holds",
    "claimed": Strong("claimed"),
    "attested": Strong("attested"),
    "waived": Strong("waived"),
    "skipped": Strong("skipped"),
    "pending": Strong("not done"),
    "in-progress": Strong("in progress"),
    "waiting": Strong("waits for a person"),
    "failed": Strong("failed"),
    "blocked": Strong("blocked"),
}
"""What we say for where an item is."""


def words_of(deviation: Deviation) -> DeviationWords:
    """Return what is said of a deviation."""
    kind, said = _kind_and_words(deviation)
    item, seq = getattr(deviation, "item", None), getattr(deviation, "seq", None)
    return DeviationWords((kind,), tuple(said), item, seq)


def plain(parts: Sequence[Part]) -> str:
    """Return words as nothing but text, whosever they are."""
    return "".join(part if isinstance(part, str) else part.text for part in parts)


def result_word(result: str) -> Part:
    """Return what we say for where an item is, and the word itself where it is new."""
    return RESULTS.get(result) or Quoted(result, NAME)


def _kind_and_words(deviation: Deviation) -> tuple[Part, Sequence[Part]]:  # noqa: C901, PLR0911, PLR0912 - one case for each
    match deviation:
        case WaivedItem(by=by, reason=why):
            return Strong("waived"), (*_by(by), *_why(why))
        case AttestedItem(by=by, statement=said):
            return "attested", (*_by(by), *_why(said))
        case SkippedItem(by=by, reason=why):
            return Strong("skipped"), (*_by(by), *_why(why))
        case ClaimedItem(evidence=said):
            return Strong("claimed"), (" by the agent, judged by nobody", *_why(said))
        case UnsettledItem(result=result, reason=why):
            return result_word(result), tuple(_why(why))
        case HeldItem(reason=why):
            return "holds", tuple(_why(why)) or (": green, and nobody saw it red before the work",)
        case AmendedPlan(revision=number, by=by, reason=why):
            revision = ("revision ", Quoted(str(number), NAME)) if number is not None else ()
            return "The approved plan was changed on the way", (*revision, *_by(by), *_why(why))
        case EditedPlan():
            return "The file of the plan was changed by unknown hands", ()
        case WithoutApproval():
            return Strong("Not approved"), ("no approval of it is on record",)
        case NobodyLooked(policy=policy):
            return Strong("A rule approved it, and no person"), (Quoted(policy, NAME),)
        case ApprovedInSpite(warnings=warnings, missing_tools=tools):
            return "Approved in spite of warnings", _list((*warnings, *tools), NAME)
        case ApprovedGates(gates=gates):
            return Strong("It may change gates of the branch"), _list(gates, PATH)
        case ApprovedWithChanges(changes=changes):
            return "Approved with changes", _list(changes, PATH)
        case EditableJudge(path=path):
            return Strong("The agent could edit a judge"), (Quoted(path, PATH),)
        case TouchedJudge():
            return Strong("A judge was changed under a step"), _put_back(deviation)
        case LeftScope():
            return "Files out of scope were changed", _put_back(deviation)
        case BareRun():
            return Strong("Not kept apart from the agent"), ()
        case LittleEvidence(evidence=level):
            return "Evidence below E2", (Quoted(level, NAME) if level else "no level",)
        case ReusedRuns(of=seq):
            return "Not run again, earlier runs count", ("those of event ", Quoted(str(seq), NAME))
        case RunAnyway(what=what):
            return "Run although not all before it is proved", (Quoted(what, REASON),)
        case EditedMeanwhile(files=files):
            return "Files were edited between two parts of the run", _list(files, PATH)
        case RaisedBudget(by=by, tokens=tokens, dollars=dollars, seconds=seconds):
            more = raise_words(tokens, dollars, seconds)
            told = (Quoted(more, NAME),) if more else ()
            return "The budget was raised", (*told, *_by(by))
        case UnknownCost(attempts=0):
            return Strong("Unknown cost"), (
                "an agent works by itself, and nobody says what it uses",
            )
        case UnknownCost(attempts=count):
            attempts = "1 attempt" if count == 1 else f"{count} attempts"
            return Strong("Unknown cost"), (f"{attempts} did not say what was used",)
        case LateCondition():
            return "Seen to hold only when work had begun", ()
        case EarlierPlan(events=count):
            its = (Quoted(str(count), NAME), " events in the journal are its own")
            return "Another plan had this name before", its
        case NotKept(what=what):
            return "Not in this receipt", (Quoted(what, REASON),)
        case _:
            assert_never(deviation)


def _by(name: str | None) -> Iterator[Part]:
    if name:
        yield from (" by ", Quoted(name, NAME))


def _why(text: str | None) -> Iterator[Part]:
    if text:
        yield from (": ", Quoted(text, REASON))


def _list(texts: Sequence[str], longest: int) -> tuple[Part, ...]:
    found: list[Part] = []
    for text in texts[:_SHOWN]:
        found += [", ", Quoted(text, longest)] if found else [Quoted(text, longest)]
    more = len(texts) - _SHOWN
    return (*found, f" and {more} more") if more > 0 else tuple(found)


def _put_back(deviation: TouchedJudge | LeftScope) -> tuple[Part, ...]:
    back: Part = "put back" if deviation.restored else Strong("not put back")
    return (*_list(deviation.files, PATH), " (", back, ")")
