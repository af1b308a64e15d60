"""The closed set of events.

A kind has a version, and records of an old one are decoded as they were written: its class stays.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import UNSET, Struct, UnsetType

from planbound.disk.decoders import json_decoder
from planbound.errors import JournalProblem
from planbound.journal.fields import Event, EventKind, Exact, Free, FreeNames, FreeValues, Marker
from planbound.journal.plan_events import (
    ContractStarted,
    FinalizationAccepted,
    FinalizationCapped,
    FinalizationDeferred,
    FinalizationRejected,
    GateApprovalRequested,
    GateApproved,
    GateClarificationAsked,
    GateRejected,
    LeaseReleased,
    PlanActivated,
    PlanAmended,
    PlanArchived,
    PlanCreated,
    PlanEdited,
    PlanRewritten,
    PlanStaged,
    PlanVerified,
    PostconditionBlocked,
    PostconditionClaimed,
    PreconditionClaimed,
    SessionReleased,
    TaskBlocked,
    TaskReopened,
)
from planbound.journal.recovery_events import (
    Attested,
    BudgetExceeded,
    BudgetRaised,
    FailureClassified,
    FailureDetected,
    JudgeTampered,
    PermissionRequired,
    RecoveryApplied,
    RecoveryEscalation,
    RecoveryOutcome,
    ScopeViolated,
    Waived,
)
from planbound.journal.run_events import (
    AttemptEnded,
    BaselineObserved,
    ContractEvaluated,
    ExecutionCancelled,
    ExecutionComplete,
    ExecutionPaused,
    ExecutionStarted,
    IntegrationJudged,
    IntegrationStarted,
    IntegrationStopped,
    PlanIntegrated,
    TaskCompleted,
    TaskFailed,
    TaskSkipped,
    TaskStarted,
    WorkCommitted,
    WorktreeRemoved,
    WorktreeRequested,
    WorktreeSpawned,
)
from planbound.journal.words import (
    AttemptEnding,
    EventWord,
    QuestionSubject,
    Result,
    RunOutcome,
    SessionOutcome,
    StopKind,
    SubjectKind,
    VerdictKind,
)

__all__ = [
    "EVENTS",
    "EXTRA_PREFIX",
    "AttemptEnded",
    "AttemptEnding",
    "Attested",
    "BaselineObserved",
    "BudgetExceeded",
    "BudgetRaised",
    "ContractEvaluated",
    "ContractStarted",
    "Event",
    "EventKind",
    "ExecutionCancelled",
    "ExecutionComplete",
    "ExecutionPaused",
    "ExecutionStarted",
    "FailureClassified",
    "FailureDetected",
    "FinalizationAccepted",
    "FinalizationCapped",
    "FinalizationDeferred",
    "FinalizationRejected",
    "GateApprovalRequested",
    "GateApproved",
    "GateClarificationAsked",
    "GateRejected",
    "IntegrationJudged",
    "IntegrationStarted",
    "IntegrationStopped",
    "JudgeTampered",
    "LeaseReleased",
    "PermissionRequired",
    "PlanActivated",
    "PlanAmended",
    "PlanArchived",
    "PlanCreated",
    "PlanEdited",
    "PlanIntegrated",
    "PlanRewritten",
    "PlanStaged",
    "PlanVerified",
    "PostconditionBlocked",
    "PostconditionClaimed",
    "PreconditionClaimed",
    "RecoveryApplied",
    "RecoveryEscalation",
    "RecoveryOutcome",
    "Result",
    "RunOutcome",
    "ScopeViolated",
    "SessionOutcome",
    "SessionReleased",
    "StopKind",
    "TaskBlocked",
    "TaskCompleted",
    "TaskFailed",
    "TaskReopened",
    "TaskSkipped",
    "TaskStarted",
    "VerdictKind",
    "Waived",
    "WorkCommitted",
    "WorktreeRemoved",
    "WorktreeRequested",
    "WorktreeSpawned",
]

E = TypeVar("E", bound=Event)
EXTRA_PREFIX = "x_"
"""How a detail begins that no kind knows: somebody's own, which the harness only keeps."""


class EventField(Struct, frozen=True):
    """One thing that a kind tells."""

    name: str
    """As it is written, which is not always how it is called here: `from`."""
    attribute: str
    words: str
    """What its value is, as pages and messages call it."""
    required: bool
    marker: Marker
    null: bool
    """Whether null is one of its values."""


def kind_of(event: Event | type[Event]) -> EventKind:
    """Return which kind of event it is."""
    return EventKind(event.__struct_config__.tag)


def details_of(event: Event) -> dict[str, Any]:
    """Return what an event tells as JSON has it, without what was not told."""
    details: dict[str, Any] = {}
    for field in fields_of(type(event)):
        value = getattr(event, field.attribute)
        if value is UNSET or (value is None and not field.null):
            continue
        details[field.name] = _json(value)
    return details


def _json(value: Any) -> Any:
    """Return a value as JSON has it: with lists, and objects by their written names."""
    if isinstance(value, tuple | list):
        return [_json(each) for each in value]
    if isinstance(value, dict):
        return {name: _json(each) for name, each in value.items()}
    if isinstance(value, EventWord):
        return value.value
    return _json(msgspec.to_builtins(value)) if isinstance(value, Struct) else value


def replaced(event: E, **fields: object) -> E:
    """Return an event that tells some of its fields otherwise."""
    return msgspec.structs.replace(event, **fields)


def event_of(kind: EventKind, version: int, text: str) -> Event:
    """Return the event that these details tell; raise JournalProblem where they cannot.

    What this version does not know is left out: a newer one may tell more.
    """
    try:
        return _reader(kind, version)(text)
    except msgspec.DecodeError as error:
        raise JournalProblem(
            f"the details of a `{kind.value}` are not what it tells: {error}",
            hint="if a newer version of planbound wrote this journal, read it with that one",
        ) from error


def run_of(event: Event) -> str | None:
    """Return the run that an event belongs to, where its kind tells one."""
    run: str | None = getattr(event, "run", None)
    return run


def digest_of(event: Event) -> str | None:
    """Return the digest of the plan's meaning, where its kind tells one."""
    digest: str | None = getattr(event, "digest", None)
    return digest


def revision_of(event: Event) -> int | None:
    """Return the plan's revision, where its kind tells one."""
    revision: int | None = getattr(event, "revision", None)
    return revision


def number_of(event: Event) -> str | None:
    """Return the number that people call a step or condition by, where its kind tells one."""
    number: object = getattr(event, "number", None)
    return None if number is None else str(number)


def subject_of(event: Event) -> SubjectKind | QuestionSubject | None:
    """Return what it is about, such as a step, where its kind tells it."""
    subject: SubjectKind | QuestionSubject | None = getattr(event, "subject", None)
    return subject


def reason_of(event: Event) -> str | None:
    """Return why it happened, where its kind tells it."""
    reason: str | None = getattr(event, "reason", None)
    return reason


@cache
def _reader(kind: EventKind, version: int) -> Callable[[str], Event]:
    assert version == EVENTS[kind].VERSION  # there is no kind yet with an old version
    return json_decoder(EVENTS[kind]).decode


@cache
def fields_of(event: type[Event]) -> tuple[EventField, ...]:
    """Return all that a kind tells."""
    hints = get_type_hints(event, include_extras=True)
    return tuple(
        _field(each.name, each.encode_name, hints[each.name], required=each.required)
        for each in msgspec.structs.fields(event)
    )


def _field(attribute: str, name: str, hint: Any, *, required: bool) -> EventField:
    value, marker = get_args(hint)
    options = set(get_args(value)) if get_origin(value) in {Union, UnionType} else {value}
    null = NoneType in options and (required or UnsetType in options)
    words = _words(options - {NoneType, UnsetType}, marker)
    return EventField(
        name, attribute, f"{words} or null" if null else words, required, marker, null
    )


def _words(options: set[Any], marker: Marker) -> str:
    if options == {int, float}:
        return "number"
    (only,) = options
    if only in _PLAIN:
        return _PLAIN[only]
    shape = get_origin(only) or only
    inner = next(iter(get_args(only)), None)
    if shape is tuple and isinstance(inner, type) and issubclass(inner, Struct):
        return "list of objects"
    return next(
        words for kind, of, words in _WORDS if isinstance(marker, kind) and issubclass(shape, of)
    )


_PLAIN = {int: "integer", bool: "true or false"}
_WORDS: tuple[tuple[type[Marker], type[Any], str], ...] = (
    (FreeNames, tuple, "list of names with digests"),
    (FreeValues, dict, "object of texts by id"),
    (Exact, str, "exact text"),
    (Exact, EventWord, "exact text"),
    (Exact, tuple, "list of exact texts"),
    (Exact, object, "exact object"),
    (Free, str, "text"),
    (Free, tuple, "list of texts"),
    (Free, object, "object"),
)

EVENTS: dict[EventKind, type[Event]] = {
    kind_of(event): event
    for event in (
        PlanCreated,
        PlanVerified,
        PlanEdited,
        PlanRewritten,
        PlanAmended,
        PlanStaged,
        PlanActivated,
        PlanArchived,
        GateApprovalRequested,
        GateApproved,
        GateRejected,
        GateClarificationAsked,
        ExecutionStarted,
        TaskStarted,
        AttemptEnded,
        BaselineObserved,
        ContractStarted,
        ContractEvaluated,
        TaskCompleted,
        TaskFailed,
        TaskSkipped,
        TaskBlocked,
        TaskReopened,
        PreconditionClaimed,
        PostconditionClaimed,
        PostconditionBlocked,
        FailureDetected,
        FailureClassified,
        RecoveryApplied,
        RecoveryOutcome,
        RecoveryEscalation,
        PermissionRequired,
        ScopeViolated,
        JudgeTampered,
        BudgetExceeded,
        BudgetRaised,
        Waived,
        Attested,
        FinalizationDeferred,
        FinalizationRejected,
        FinalizationAccepted,
        SessionReleased,
        LeaseReleased,
        FinalizationCapped,
        ExecutionPaused,
        ExecutionCancelled,
        ExecutionComplete,
        WorktreeRequested,
        WorktreeSpawned,
        WorktreeRemoved,
        WorkCommitted,
        IntegrationStarted,
        IntegrationJudged,
        IntegrationStopped,
        PlanIntegrated,
    )
}
"""The newest version of each kind."""
