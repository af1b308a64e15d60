"""The events of a plan, of its gate, and of an agent in the loop."""

from __future__ import annotations

from typing import Annotated

from msgspec import field

from planbound.journal.fields import (
    By,
    Configuration,
    Digest,
    Event,
    Exact,
    Free,
    FreeValues,
    HowGiven,
    Late,
    Notes,
    Person,
    ProbeCall,
    Reason,
    Revision,
    Run,
    Session,
    StepNumber,
    Tree,
    Why,
)
from planbound.journal.words import (
    Method,
    PersonMethod,
    SessionOutcome,
    StatusThen,
    Strength,
    SubjectKind,
    ToolStatus,
)

# -- the events of a plan and of its gate --------------------------------------------------------


PlanPath = Annotated[str | None, Exact("the plan's file, relative to the workspace")]
Probes = Annotated[
    dict[str, ProbeCall] | None, Free("what the harness looks at without a contract, by item")
]
PlanText = Annotated[str | None, Exact("where the plan's text is kept: the SHA-256 in the vault")]
Judges = Annotated[dict[str, str] | None, Exact("for each judge's path the digest of its content")]


class PlanCreated(Event, frozen=True, kw_only=True, tag="PLAN_CREATED"):
    """A plan was written for the first time."""

    task_count: Annotated[int, Exact("how many steps it has")]
    dependencies: Annotated[
        dict[str, tuple[str, ...]], Exact("for each step's id the ids that it depends on")
    ]
    digest: Digest = None
    revision: Revision = None
    path: PlanPath = None
    by: By = None
    origin: Annotated[
        str | None,
        Exact(
            "what made it: `init`, `new`, `draft`, `import`, `tools` or"
            " `integrate`; `file`: it was written by hand, and is seen for the first time"
        ),
    ] = None
    text: Annotated[str | None, Exact("where the text is kept: its SHA-256 in the vault")] = None
    manifest: Annotated[str | None, Exact("the tree before the work: the SHA-256 in the vault")] = (
        None
    )
    probes: Probes = None
    session: Session = None


class PlanVerified(Event, frozen=True, kw_only=True, tag="PLAN_VERIFIED"):
    """A plan was verified, and its digest was a new one."""

    digest: Digest = None
    revision: Revision = None
    path: PlanPath = None
    errors: Annotated[int | None, Exact("how many errors were found")] = None
    warnings: Annotated[int | None, Exact("how many warnings were found")] = None
    task_count: Annotated[int | None, Exact("how many steps it has")] = None
    dependencies: Annotated[
        dict[str, tuple[str, ...]] | None, Exact("for each step's id the ids that it depends on")
    ] = None


class PlanEdited(Event, frozen=True, kw_only=True, tag="PLAN_EDITED"):
    """Somebody had changed the meaning of a plan in its file, so that its status is another."""

    from_: Annotated[str, Exact("the digest that was known before")] = field(name="from")
    to: Annotated[str, Exact("the digest that the file has now")]
    status: Annotated[
        StatusThen | None,
        Exact("the plan's status from now on: `draft`, or what it was, if undone"),
    ] = None


class PlanRewritten(Event, frozen=True, kw_only=True, tag="PLAN_REWRITTEN"):
    """The meaning of a plan changed, so that it is a draft again."""

    from_: Annotated[str, Exact("the digest before")] = field(name="from")
    to: Annotated[str, Exact("the digest after")]
    revision: Revision = None
    by: By = None
    reason: Reason = None
    session: Session = None
    changes: Annotated[tuple[str, ...] | None, Free("what was changed at the gate, one by one")] = (
        None
    )
    text_before: Annotated[
        str | None, Exact("where the text before is kept: its SHA-256 in the vault")
    ] = None
    text: Annotated[str | None, Exact("where the new text is kept: its SHA-256 in the vault")] = (
        None
    )
    diff: Annotated[str | None, Free("what is different, line by line")] = None
    kept: Annotated[
        tuple[str, ...] | None, Exact("the ids of the steps whose meaning is the same")
    ] = None
    kept_conditions: Annotated[
        tuple[str, ...] | None, Exact("the numbers of the postconditions that are the same")
    ] = None
    kept_preconditions: Annotated[
        tuple[str, ...] | None, Exact("the numbers of the preconditions that are the same")
    ] = None
    dropped: Annotated[
        dict[str, str] | None, FreeValues("for each step or precondition that is gone its title")
    ] = None
    probes: Probes = None
    method: HowGiven = None


class PlanAmended(Event, frozen=True, kw_only=True, tag="PLAN_AMENDED"):
    """An approved plan was changed on purpose and got a new revision."""

    digest: Digest = None
    revision: Revision = None
    by: By = None
    reason: Reason = None
    from_: Annotated[str | None, Exact("the digest before")] = field(name="from", default=None)
    to: Annotated[str | None, Exact("the digest after")] = None
    kept: Annotated[tuple[str, ...] | None, Exact("the ids of the steps that stay settled")] = None
    method: HowGiven = None


class PlanStaged(Event, frozen=True, kw_only=True, tag="PLAN_STAGED"):
    """A plan was put into the queue."""

    path: PlanPath = None
    digest: Digest = None
    by: By = None


class PlanActivated(Event, frozen=True, kw_only=True, tag="PLAN_ACTIVATED"):
    """A queued plan was made an active one."""

    path: PlanPath = None
    digest: Digest = None
    by: By = None


class PlanArchived(Event, frozen=True, kw_only=True, tag="PLAN_ARCHIVED"):
    """A plan was put into the archive."""

    path: PlanPath = None
    digest: Digest = None
    by: By = None
    status: Annotated[StatusThen | None, Exact("the plan's status when it was archived")] = None


class GateApprovalRequested(Event, frozen=True, kw_only=True, tag="GATE_APPROVAL_REQUESTED"):
    """A person was asked to approve a plan."""

    plan_id: Annotated[str, Exact("the plan's slug")]
    digest: Annotated[str, Exact("the digest of the meaning that is to be approved")]
    reminder: Annotated[int | None, Exact("which reminder this is, from 1")] = None
    text: PlanText = None
    revision: Revision = None
    judges: Judges = None
    tree: Tree = None
    measured: Annotated[
        tuple[str, ...] | None,
        Exact("the SHA-256 of what the runs of each contract showed, as it is kept"),
    ] = None


class GateApproved(Event, frozen=True, kw_only=True, tag="GATE_APPROVED"):
    """A person approved exactly this plan."""

    modifications: Annotated[
        tuple[str, ...], Free("what was changed on the way to it; empty for nothing")
    ]
    digest: Digest = None
    revision: Revision = None
    by: By = None
    reason: Reason = None
    judges: Judges = None
    tree: Tree = None
    nonce: Annotated[str | None, Exact("what makes this approval unlike any other")] = None
    method: Annotated[
        Method | None, Exact("how it was given, such as `terminal`, `signature` or `page`")
    ] = None
    strength: Annotated[
        Strength | None, Exact("how well it is known who it was: `proof`, `word` or `rule`")
    ] = None
    policy: Annotated[str | None, Exact("the policy of the configuration that approved it")] = None
    project: Annotated[str | None, Exact("the id of the repository that it was given in")] = None
    configuration: Configuration = None
    expires: Annotated[str | None, Exact("until when it holds")] = None
    tools: Annotated[
        dict[str, str] | None, Exact("for each program of a contract its version and place")
    ] = None
    seen: Annotated[
        tuple[str, ...] | None,
        Exact("the codes of warnings that the plan was approved in spite of"),
    ] = None
    missing_tools: Annotated[
        tuple[str, ...] | None, Free("programs of contracts that were not there")
    ] = None
    text: PlanText = None
    statement: Annotated[
        str | None, Exact("where what was signed is kept: its SHA-256 in the vault")
    ] = None
    signature: Annotated[
        str | None, Exact("where the signature is kept: its SHA-256 in the vault")
    ] = None
    through: Annotated[
        PersonMethod | None, Exact("where a signature was handed in, such as `page`")
    ] = None


class GateRejected(Event, frozen=True, kw_only=True, tag="GATE_REJECTED"):
    """A person refused a plan."""

    reason: Annotated[str, Free("why; empty where nobody said")]
    digest: Digest = None
    revision: Revision = None
    by: By = None
    method: HowGiven = None


class GateClarificationAsked(Event, frozen=True, kw_only=True, tag="GATE_CLARIFICATION_ASKED"):
    """A person asked something about a plan before deciding."""

    question: Annotated[str, Free("what was asked")]
    answer: Annotated[str | None, Free("what was answered")] = None
    digest: Digest = None
    revision: Revision = None
    by: By = None
    method: HowGiven = None
    line: Annotated[int | None, Exact("the line of the plan that it is about, from 1")] = None
    quoted: Annotated[str | None, Free("what stands in that line")] = None
    review: Annotated[str | None, Exact("what joins the comments that were sent as one")] = None
    answers: Annotated[
        str | None, Exact("the id of the question that is answered; left out: of all of them")
    ] = None


# -- the events of an agent in the loop ----------------------------------------------------------


Shown = Annotated[str, Free("what the agent says that shows it")]
ConditionNumber = Annotated[str, Exact("the number of the postcondition")]
Missing = Annotated[tuple[str, ...], Free("what the plan still lacks")]
Refusals = Annotated[int | None, Exact("how often in a row, without progress")]
Said = Annotated[str | None, Free("the end of the agent's last message")]


class ContractStarted(Event, frozen=True, kw_only=True, tag="CONTRACT_STARTED"):
    """For an agent in the loop a contract is about to run; without a verdict it was cut off."""

    subject: Annotated[SubjectKind, Exact("what is judged, such as `step`")]
    number: Annotated[str, Exact("its number in the plan")]
    session: Session = None


class TaskBlocked(Event, frozen=True, kw_only=True, tag="TASK_BLOCKED"):
    """An agent in the loop says that a step cannot be done."""

    reason: Why
    number: StepNumber = None
    notes: Notes = None
    session: Session = None


class TaskReopened(Event, frozen=True, kw_only=True, tag="TASK_REOPENED"):
    """An agent in the loop takes a step back to pending; its evidence stays on record."""

    before: Annotated[ToolStatus, Exact("where it was")]
    number: StepNumber = None
    reason: Reason = None
    notes: Notes = None
    session: Session = None


class PreconditionClaimed(Event, frozen=True, kw_only=True, tag="PRECONDITION_CLAIMED"):
    """An agent in the loop says that a precondition holds, which has no contract."""

    number: Annotated[str, Exact("the number of the precondition")]
    evidence: Shown
    late: Late = None
    session: Session = None


class PostconditionClaimed(Event, frozen=True, kw_only=True, tag="POSTCONDITION_CLAIMED"):
    """An agent in the loop says that a postcondition holds, which has no contract."""

    number: ConditionNumber
    evidence: Shown
    session: Session = None


class PostconditionBlocked(Event, frozen=True, kw_only=True, tag="POSTCONDITION_BLOCKED"):
    """An agent in the loop says that a postcondition cannot be reached."""

    number: ConditionNumber
    reason: Why
    session: Session = None


class FinalizationDeferred(Event, frozen=True, kw_only=True, tag="FINALIZATION_DEFERRED"):
    """An agent stopped while something of its own still ran; nothing was decided yet."""

    waits_for: Annotated[str, Free("what runs, as the agent's host calls it")]
    stops: Annotated[int | None, Exact("how often in a row, without progress")] = None
    session: Session = None


class FinalizationRejected(Event, frozen=True, kw_only=True, tag="FINALIZATION_REJECTED"):
    """An agent said that it was done, and the plan was not."""

    missing: Missing
    refusals: Refusals = None
    broken: Annotated[bool | None, Exact("whether the gate itself could not tell")] = None
    run: Run = None
    tree: Tree = None
    reason: Reason = None
    said: Said = None
    session: Session = None


class FinalizationAccepted(Event, frozen=True, kw_only=True, tag="FINALIZATION_ACCEPTED"):
    """An agent said that it was done, and the plan was."""

    run: Run = None
    digest: Digest = None
    revision: Revision = None
    tree: Tree = None
    said: Said = None
    session: Session = None
    outcome: Annotated[SessionOutcome | None, Exact("`done`, or `finished with blocked items`")] = (
        None
    )
    claimed: Annotated[
        tuple[str, ...] | None, Free("what is only claimed, and proved by nobody")
    ] = None
    blocked: Annotated[
        tuple[str, ...] | None, Free("what could not be done, each with its reason")
    ] = None
    holds: Annotated[
        tuple[str, ...] | None, Free("the steps that pass, and that nobody saw red before the work")
    ] = None
    preconditions: Annotated[
        tuple[str, ...] | None, Free("those that were red first, or seen to hold too late")
    ] = None


class FinalizationCapped(Event, frozen=True, kw_only=True, tag="FINALIZATION_CAPPED"):
    """An agent was refused too often without progress; the run ends as incomplete."""

    missing: Missing
    refusals: Refusals = None
    run: Run = None
    session: Session = None


class SessionReleased(Event, frozen=True, kw_only=True, tag="SESSION_RELEASED"):
    """A person ended an agent's duty to a plan."""

    by: Person
    reason: Reason = None
    session: Session = None
    method: HowGiven = None


class LeaseReleased(Event, frozen=True, kw_only=True, tag="LEASE_RELEASED"):
    """A person took the lease of a plan away; its holder writes nothing from then on."""

    by: Person
    holder: Annotated[str | None, Free("who held it")] = None
    number: Annotated[int | None, Exact("the number of the lease that was taken away")] = None
    reason: Reason = None
    method: HowGiven = None
