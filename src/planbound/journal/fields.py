"""What an event is made of: its kind, its fields, and where the value of a field comes from."""

from __future__ import annotations

import enum
from typing import Annotated, Any, ClassVar

from msgspec import Struct, field

from planbound.journal.words import PersonMethod, VerdictKind

# -- what an event is made of: its kind, its fields, and where the value of a field comes from ---


class EventKind(enum.Enum):
    """What can happen to a plan."""

    __hash__ = object.__hash__  # an enum's own is slow, and folds ask sets of kinds all the time

    PLAN_CREATED = "PLAN_CREATED"
    PLAN_VERIFIED = "PLAN_VERIFIED"
    PLAN_EDITED = "PLAN_EDITED"
    PLAN_REWRITTEN = "PLAN_REWRITTEN"
    PLAN_AMENDED = "PLAN_AMENDED"
    PLAN_STAGED = "PLAN_STAGED"
    PLAN_ACTIVATED = "PLAN_ACTIVATED"
    PLAN_ARCHIVED = "PLAN_ARCHIVED"
    GATE_APPROVAL_REQUESTED = "GATE_APPROVAL_REQUESTED"
    GATE_APPROVED = "GATE_APPROVED"
    GATE_REJECTED = "GATE_REJECTED"
    GATE_CLARIFICATION_ASKED = "GATE_CLARIFICATION_ASKED"
    EXECUTION_STARTED = "EXECUTION_STARTED"
    TASK_STARTED = "TASK_STARTED"
    ATTEMPT_ENDED = "ATTEMPT_ENDED"
    BASELINE_OBSERVED = "BASELINE_OBSERVED"
    CONTRACT_STARTED = "CONTRACT_STARTED"
    CONTRACT_EVALUATED = "CONTRACT_EVALUATED"
    TASK_COMPLETED = "TASK_COMPLETED"
    TASK_FAILED = "TASK_FAILED"
    TASK_SKIPPED = "TASK_SKIPPED"
    TASK_BLOCKED = "TASK_BLOCKED"
    TASK_REOPENED = "TASK_REOPENED"
    PRECONDITION_CLAIMED = "PRECONDITION_CLAIMED"
    POSTCONDITION_CLAIMED = "POSTCONDITION_CLAIMED"
    POSTCONDITION_BLOCKED = "POSTCONDITION_BLOCKED"
    FAILURE_DETECTED = "FAILURE_DETECTED"
    FAILURE_CLASSIFIED = "FAILURE_CLASSIFIED"
    RECOVERY_APPLIED = "RECOVERY_APPLIED"
    RECOVERY_OUTCOME = "RECOVERY_OUTCOME"
    RECOVERY_ESCALATION = "RECOVERY_ESCALATION"
    PERMISSION_REQUIRED = "PERMISSION_REQUIRED"
    SCOPE_VIOLATED = "SCOPE_VIOLATED"
    JUDGE_TAMPERED = "JUDGE_TAMPERED"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    BUDGET_RAISED = "BUDGET_RAISED"
    WAIVED = "WAIVED"
    ATTESTED = "ATTESTED"
    FINALIZATION_DEFERRED = "FINALIZATION_DEFERRED"
    FINALIZATION_REJECTED = "FINALIZATION_REJECTED"
    FINALIZATION_ACCEPTED = "FINALIZATION_ACCEPTED"
    FINALIZATION_CAPPED = "FINALIZATION_CAPPED"
    SESSION_RELEASED = "SESSION_RELEASED"
    LEASE_RELEASED = "LEASE_RELEASED"
    EXECUTION_PAUSED = "EXECUTION_PAUSED"
    EXECUTION_CANCELLED = "EXECUTION_CANCELLED"
    EXECUTION_COMPLETE = "EXECUTION_COMPLETE"
    WORKTREE_REQUESTED = "WORKTREE_REQUESTED"
    WORKTREE_SPAWNED = "WORKTREE_SPAWNED"
    WORKTREE_REMOVED = "WORKTREE_REMOVED"
    WORK_COMMITTED = "WORK_COMMITTED"
    INTEGRATION_STARTED = "INTEGRATION_STARTED"
    INTEGRATION_JUDGED = "INTEGRATION_JUDGED"
    INTEGRATION_STOPPED = "INTEGRATION_STOPPED"
    PLAN_INTEGRATED = "PLAN_INTEGRATED"


class Event(Struct, frozen=True, kw_only=True, tag_field="event"):
    """Something that happened; its tag is the name of its kind.

    A field that is None was not told and is not in the record, unless null is one of its values:
    then UNSET says that it was not told. The tag stands beside the details, never among them.
    """

    VERSION: ClassVar[int] = 1
    """A kind may grow by optional fields; any other change of what it means is a new version."""


class Exact(Struct, frozen=True):
    """A value that the harness made or compares: a digest, an id, a path, a word of its own.

    It is kept as it was written.
    """

    meaning: str


class Free(Struct, frozen=True):
    """A value that may come from outside: it goes into the journal without its secrets."""

    meaning: str


class FreeValues(Struct, frozen=True):
    """Texts from outside by ids of the harness: the ids are exact."""

    meaning: str


class FreeNames(Struct, frozen=True):
    """`NAME DIGEST` each: the name is from outside, the digest is exact."""

    meaning: str


Marker = Exact | Free | FreeValues | FreeNames


class Allowed(Struct, frozen=True):
    """What a run may spend."""

    tokens: int | None = None
    dollars: str | None = None
    seconds: int | float | None = None


class NamedTests(Struct, frozen=True):
    """How the tests of a contract ended that are judged by name."""

    passed: int
    failed: int
    skipped: int
    names: str = field(name="list")
    """Where their names are kept: the SHA-256 in the vault."""


class MutatedJudges(Struct, frozen=True):
    """What became of tests whose expected values were changed."""

    sensitive: int = 0
    """How many failed then, as they should."""
    tests: int = 0
    """How many there were."""
    blind: tuple[str, ...] = ()
    """Those that passed all the same."""


class ControlResult(enum.Enum):
    """What a change shows that a contract has to fail with."""

    NOTICED = "noticed"
    """The contract does not pass with it."""
    SAME = "same"
    """It does not pass, and says the very same without the change: that shows nothing."""
    UNNOTICED = "unnoticed"
    """The contract passes with it."""
    UNKNOWN = "unknown"
    """Nobody can say: the diff does not apply, or the contract came to no end."""


class ControlSeen(Struct, frozen=True):
    """What a contract said with a change that it has to fail with."""

    name: str
    """The file of the diff; `diff 1` where it stands in the plan."""
    patch: str = ""
    """The SHA-256 of the diff; empty where it could not be read."""
    result: ControlResult = ControlResult.UNKNOWN
    verdict: VerdictKind | None = None
    """What the contract came to; null where it was not run."""
    reason: str = ""
    exit_code: int | None = None
    output_digest: str | None = None
    """The SHA-256 of standard output, and of standard error."""
    output_tail: str | None = None


class ProbeCall(Struct, frozen=True):
    """What the harness looks at where there is no contract."""

    name: str
    arguments: dict[str, Any] = {}


# What several kinds tell.
Digest = Annotated[str | None, Exact("the digest of the plan's meaning")]
Revision = Annotated[int | None, Exact("the plan's revision")]
By = Annotated[str | None, Free("who did it")]
Session = Annotated[str | None, Free("the session of the agent, as its host calls it")]
Reason = Annotated[str | None, Free("why")]
Tree = Annotated[str | None, Exact("the digest of the files as they were then")]
Configuration = Annotated[
    str | None, Exact("the digest of the configuration that contracts run under")
]
StepNumber = Annotated[str | None, Exact("the number of the step in the plan")]
Run = Annotated[str | None, Exact("the id of the run")]
Notes = Annotated[str | None, Free("what the agent wants to be kept beside it")]
Duration = Annotated[int | float | None, Exact("how many seconds it took")]
Attempt = Annotated[int | None, Exact("which attempt at the step it was, from 1")]
Late = Annotated[
    bool | None, Exact("of a precondition: whether it was seen only when work had begun")
]
Verdict = Annotated[VerdictKind | None, Exact("what the harness found")]
Why = Annotated[str, Free("why")]
Person = Annotated[str, Free("the person who decided")]
HowGiven = Annotated[PersonMethod | None, Exact("how it was given")]


# -- what stands in a text where a secret was taken out: readers ask for it, and seek no secrets -


class SecretKind(enum.Enum):
    """What a secret was; stands in the text in its place. The more telling ones come first."""

    ENVIRONMENT = "environment"
    CONFIGURED = "configured"
    PRIVATE_KEY = "private-key"
    AWS = "aws-key"
    GOOGLE = "google-key"
    AZURE = "azure-key"
    GITHUB = "github-token"
    GITLAB = "gitlab-token"
    SLACK = "slack-token"
    WEBHOOK = "webhook"
    ANTHROPIC = "anthropic-key"
    OPENAI = "openai-key"
    STRIPE = "stripe-key"
    NPM = "npm-token"
    PYPI = "pypi-token"
    HUGGING_FACE = "huggingface-token"
    SENDGRID = "sendgrid-key"
    TWILIO = "twilio-key"
    SERVICE = "service-token"
    JWT = "jwt"
    AUTHORIZATION = "authorization"
    URL_PASSWORD = "url-password"  # noqa: S105 - the name of a kind
    CREDENTIAL = "credential"


MARK = "[redacted:"
MARKERS = frozenset(f"{MARK}{kind.value}]" for kind in SecretKind)


def was_redacted(text: str) -> bool:
    """Say whether something was taken out of a text."""
    return MARK in text and any(marker in text for marker in MARKERS)
