"""The events of what goes wrong, and of what people decide about it."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType

from planbound.journal.fields import (
    Attempt,
    By,
    Digest,
    Event,
    Exact,
    Free,
    HowGiven,
    Person,
    Reason,
    Revision,
    Run,
    StepNumber,
    Tree,
    Verdict,
    Why,
)
from planbound.journal.words import (
    Choice,
    Failed,
    FailureClass,
    Limit,
    QuestionKind,
    QuestionSubject,
    RecoveryMove,
    RecoveryResult,
    SubjectKind,
)

Files = Annotated[tuple[str, ...], Free("the files, relative to the workspace")]
Restored = Annotated[bool | None, Exact("whether they were put back as they had been")]


class FailureDetected(Event, frozen=True, kw_only=True, tag="FAILURE_DETECTED"):
    """Something went wrong with an attempt."""

    REGRESSED: ClassVar[str] = "regressed"
    """The one reason that is a word and no text: the step was settled, and is red at the end."""

    error_message: Annotated[
        str | None, Free("the error itself, in the words of what failed if it had any")
    ] = None
    failed: Annotated[Failed | None, Exact("what failed: `agent`, `time limit` or `contract`")] = (
        None
    )
    exit_code: Annotated[
        int | UnsetType | None, Exact("that of what failed, null if there is none")
    ] = UNSET
    signature: Annotated[str | None, Exact("the same for the same failure on the same tree")] = None
    destroyed: Annotated[
        tuple[str, ...] | None, Free("what the agent destroyed, and was put back")
    ] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    verdict: Verdict = None
    reason: Reason = None

    @property
    def is_regression(self) -> bool:
        """Whether a step was settled before, and is red on the final tree."""
        return self.reason == self.REGRESSED


class FailureClassified(Event, frozen=True, kw_only=True, tag="FAILURE_CLASSIFIED"):
    """A failure got its type."""

    failure_type: Annotated[
        FailureClass,
        Exact(
            "`transient`, `permission`, `invalid-input`, `logic`, `unrecoverable`, `unknown`, ..."
        ),
    ]
    rule: Annotated[str | None, Exact("the rule that says so")] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    verdict: Verdict = None
    reason: Reason = None


class RecoveryApplied(Event, frozen=True, kw_only=True, tag="RECOVERY_APPLIED"):
    """A recipe was followed."""

    recipe_name: Annotated[str, Exact("the recipe")]
    outcome: Annotated[
        RecoveryMove, Exact("what follows: `retry`; see `RECOVERY_OUTCOME` for what came of it")
    ]
    backoff: Annotated[int | float | None, Exact("how many seconds are waited")] = None
    until: Annotated[str | None, Exact("when it goes on")] = None
    failure_type: Annotated[
        FailureClass | None, Exact("the type of the failure that it answers")
    ] = None
    retry: Annotated[int | None, Exact("which retry of this recipe it is, from 1")] = None
    of: Annotated[int | None, Exact("how many retries there are")] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    reason: Reason = None


class RecoveryOutcome(Event, frozen=True, kw_only=True, tag="RECOVERY_OUTCOME"):
    """What came of a recipe that was followed; once for each `RECOVERY_APPLIED`."""

    recovery: Annotated[str, Exact("the id of the `RECOVERY_APPLIED`")]
    outcome: Annotated[RecoveryResult, Exact("`success`, `failed` or `escalated`")]
    recipe_name: Annotated[str | None, Exact("the recipe")] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None


class RecoveryEscalation(Event, frozen=True, kw_only=True, tag="RECOVERY_ESCALATION"):
    """A question went to a person, or came back answered."""

    reason: Annotated[str, Free("why a person is asked")]
    user_decision: Annotated[
        Choice | None,
        Exact("`retry`, `skip`, `abort`, `revise`, ...; null while the question waits"),
    ]
    escalation: Annotated[str | None, Exact("the id of the question in the inbox")] = None
    kind: Annotated[
        QuestionKind | None,
        Exact("what is asked: `failure`, `permission`, `budget`, `attestation`, ..."),
    ] = None
    choices: Annotated[tuple[Choice, ...] | None, Exact("what can be answered")] = None
    leaves_out: Annotated[
        tuple[str, ...] | None, Exact("the numbers of the steps that `skip` leaves out, too")
    ] = None
    guidance: Annotated[str | None, Free("what the person says for the next attempt")] = None
    failure_type: Annotated[FailureClass | None, Exact("the type of the failure")] = None
    question: Annotated[str | None, Free("what the recipe asks in words of its own")] = None
    exhausted: Annotated[
        bool | None, Exact("whether retries were used up; false: none was tried")
    ] = None
    output_tail: Annotated[str | None, Free("the end of the last output")] = None
    agent_tail: Annotated[str | None, Free("the end of what the agent printed")] = None
    diff: Annotated[str | None, Free("what the step has changed so far")] = None
    subject: Annotated[
        QuestionSubject | None,
        Exact("what it is about: `step`, `precondition`, `postcondition`, `plan`"),
    ] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    verdict: Verdict = None
    by: By = None
    method: HowGiven = None


class PermissionRequired(Event, frozen=True, kw_only=True, tag="PERMISSION_REQUIRED"):
    """The work needs a permission or a credential that is not there."""

    reason: Annotated[str, Free("what was refused")]
    credential: Annotated[
        str | None, Free("the name, never the value, of what has to be configured")
    ] = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None


class ScopeViolated(Event, frozen=True, kw_only=True, tag="SCOPE_VIOLATED"):
    """Files were changed that the step may not touch."""

    files: Files
    restored: Restored = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None


class JudgeTampered(Event, frozen=True, kw_only=True, tag="JUDGE_TAMPERED"):
    """Files that a contract judges by were changed under the step."""

    files: Files
    restored: Restored = None
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None


class BudgetExceeded(Event, frozen=True, kw_only=True, tag="BUDGET_EXCEEDED"):
    """A limit was reached, or leaves too little for an attempt that was to begin."""

    limit: Annotated[Limit, Exact("which one: `tokens`, `cost` or `time`")]
    allowed: Annotated[int | float | None, Exact("how much there was")] = None
    spent: Annotated[int | float | None, Exact("how much was used")] = None
    remaining: Annotated[int | None, Exact("how many steps are not settled")] = None
    needed: Annotated[
        int | float | None, Exact("how much more they are likely to need; with `left`: the attempt")
    ] = None
    left: Annotated[
        int | float | None, Exact("how much there still is, where the attempt did not begin")
    ] = None
    basis: Annotated[str | None, Free("where the number of what the attempt needs comes from")] = (
        None
    )
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None


class BudgetRaised(Event, frozen=True, kw_only=True, tag="BUDGET_RAISED"):
    """A person allowed more to be spent."""

    by: Person
    tokens: Annotated[int | None, Exact("how many more tokens")] = None
    dollars: Annotated[str | None, Exact("how many more dollars")] = None
    seconds: Annotated[int | float | None, Exact("how many more seconds")] = None
    run: Run = None
    reason: Reason = None
    method: HowGiven = None


class Waived(Event, frozen=True, kw_only=True, tag="WAIVED"):
    """A person decided to go on without a pass."""

    by: Person
    reason: Why
    subject: Annotated[
        SubjectKind | None, Exact("what is waived: `step`, `precondition` or `postcondition`")
    ] = None
    method: HowGiven = None
    number: StepNumber = None
    run: Run = None
    verdict: Verdict = None
    digest: Digest = None
    revision: Revision = None
    tree: Tree = None


class Attested(Event, frozen=True, kw_only=True, tag="ATTESTED"):
    """A named person signed a statement."""

    by: Person
    statement: Annotated[str, Free("what was signed")]
    subject: Annotated[
        SubjectKind | None, Exact("what is attested: `step`, `precondition` or `postcondition`")
    ] = None
    method: HowGiven = None
    number: StepNumber = None
    run: Run = None
    digest: Digest = None
    revision: Revision = None
    tree: Tree = None
