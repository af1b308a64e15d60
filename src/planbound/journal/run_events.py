"""The events of a run: attempts, contracts, steps; and of several workers on one repository."""

from __future__ import annotations

from typing import Annotated, ClassVar

from msgspec import UNSET, UnsetType, field

from planbound.journal.fields import (
    Allowed,
    Attempt,
    By,
    Configuration,
    ControlSeen,
    Digest,
    Duration,
    Event,
    Exact,
    Free,
    FreeNames,
    HowGiven,
    Late,
    MutatedJudges,
    NamedTests,
    Notes,
    Person,
    Reason,
    Revision,
    Run,
    Session,
    StepNumber,
    Tree,
    Verdict,
    Why,
)
from planbound.journal.words import (
    AttemptEnding,
    BaselineMoment,
    MotorKind,
    Result,
    RunOutcome,
    StopKind,
    SubjectKind,
    VerdictKind,
)

# -- the events of a run: attempts, contracts, steps ---------------------------------------------


Manifest = Annotated[str | None, Exact("where the whole tree is kept: the SHA-256 in the vault")]
ThisAttempt = Annotated[int, Exact("which attempt at the step it is, from 1")]
ExitCode = Annotated[int | UnsetType | None, Exact("the exit code, null if there was none")]
OutputDigest = Annotated[str | None, Exact("the digest of all that the contract printed")]
OutputSize = Annotated[int | None, Exact("how many bytes the contract printed")]
OutputTail = Annotated[str | None, Free("the end of what the contract printed")]
OutputHead = Annotated[
    str | None, Free("how that began, where it printed more than `output_tail` holds")
]
Subject = Annotated[
    SubjectKind | None, Exact("what was judged: `step`, `precondition` or `postcondition`")
]
ItemNumber = Annotated[str | None, Exact("the number of the step or condition in the plan")]
Contract = Annotated[str | None, Exact("the digest of the command and what is expected of it")]
Evidence = Annotated[str | None, Exact("the level of the evidence")]
Isolation = Annotated[str | None, Exact("how the contract was kept apart from the agent")]
Tests = Annotated[
    NamedTests | None,
    Exact(
        "where they are judged by name: how many `passed`, `failed` and `skipped`, and `list`,"
        " the SHA-256 of their names in the vault"
    ),
]
Baseline = Annotated[
    VerdictKind | None, Exact("what the contract said before the work, where anybody looked")
]
BaselineAt = Annotated[
    BaselineMoment | None,
    Exact("when that was: before the first `attempt`, or at the `approval`"),
]


Measurement = Annotated[
    str | None, Exact("the SHA-256 of what the runs showed, as it is kept to be taken over")
]
Reused = Annotated[
    int | None, Exact("the event that told of these runs first: nothing was run again for this one")
]


class ExecutionStarted(Event, frozen=True, kw_only=True, tag="EXECUTION_STARTED"):
    """A run of an approved plan began, or went on after a stop."""

    run: Annotated[str, Exact("the id of the run")]
    nonce: Annotated[str, Exact("the approval that this run consumes")]
    resumed: Annotated[bool | None, Exact("whether it went on; false: it began")] = None
    task_count: Annotated[int | None, Exact("how many steps the plan has")] = None
    motor: Annotated[MotorKind | None, Exact("what drives it: `inline` or `dbos`")] = None
    holder: Annotated[str | None, Free("who holds the plan's lease")] = None
    jobs: Annotated[int | None, Exact("how many steps may run at once")] = None
    budget: Annotated[
        Allowed | None, Exact("what may be spent: `tokens`, `dollars`, `seconds`")
    ] = None
    version: Annotated[str | None, Exact("the version of planbound")] = None
    edited: Annotated[
        tuple[str, ...] | None, Free("files that somebody changed since the run stopped")
    ] = None
    anyway: Annotated[
        str | None, Free("what it depends on and is not proved, where it is run all the same")
    ] = None
    revision: Revision = None
    digest: Digest = None
    tree: Tree = None
    manifest: Manifest = None


class TaskStarted(Event, frozen=True, kw_only=True, tag="TASK_STARTED"):
    """An attempt at a step began; recorded before anything happened."""

    attempt: ThisAttempt
    agent: Annotated[str | None, Exact("the agent that gets the step")] = None
    target: Annotated[str | None, Free("the role that the step names")] = None
    number: StepNumber = None
    run: Run = None
    revision: Revision = None
    digest: Digest = None
    tree: Tree = None
    manifest: Annotated[str | None, Exact("the tree before the step: the SHA-256 in the vault")] = (
        None
    )
    baseline: Annotated[
        VerdictKind | None, Exact("what the contract said before the step, where that is known")
    ] = None
    copy: Annotated[str | None, Exact("the name of the copy of the workspace that it works in")] = (
        None
    )
    notes: Notes = None
    session: Session = None


class AttemptEnded(Event, frozen=True, kw_only=True, tag="ATTEMPT_ENDED"):
    """The agent's part of an attempt is over, and everything that it started is dead."""

    attempt: ThisAttempt
    ending: Annotated[
        AttemptEnding, Exact("how: `exited`, `timed out`, `interrupted`, `stopped`, `lost`, ...")
    ]
    exit_code: ExitCode = UNSET
    tokens: Annotated[int | UnsetType | None, Exact("how many were used; null: nobody knows")] = (
        UNSET
    )
    estimated: Annotated[
        int | None, Exact("how many of the tokens are estimated: a request was cut off")
    ] = None
    dollars: Annotated[str | UnsetType | None, Exact("what it cost; null: nobody knows")] = UNSET
    agent: Annotated[str | None, Exact("the agent that had the step")] = None
    kind: Annotated[str | None, Exact("the kind of that agent, such as `claude`")] = None
    model: Annotated[str | None, Free("the model that the configuration names for it")] = None
    role: Annotated[str | None, Free("the target of the step")] = None
    type: Annotated[
        str | None, Exact("what kind of work it was: `code`, `review`, `test`, ...")
    ] = None
    session: Annotated[str | None, Free("the agent's own name for its session")] = None
    subscriptions: Annotated[
        tuple[str, ...] | None,
        FreeNames("the context that it got, each with its SHA-256 or `missing`"),
    ] = None
    agent_plan: Annotated[
        tuple[str, ...] | None, Free("what the agent itself noted as its plan, at last")
    ] = None
    error: Annotated[str | None, Free("the kind of error that the agent reports of itself")] = None
    mended: Annotated[
        tuple[str, ...] | None,
        Free("what it changed in the repository and was put back, nothing lost"),
    ] = None
    leftovers: Annotated[
        int | None, Exact("how many processes it left behind, which were ended")
    ] = None
    network: Annotated[
        tuple[str, ...] | None,
        Free("what it sent to which host, and what it was refused, where `network` is a list"),
    ] = None
    prompt: Annotated[str | None, Free("all that the agent was told")] = None
    output_digest: Annotated[str | None, Exact("the digest of all that the agent printed")] = None
    output_tail: Annotated[str | None, Free("the end of what the agent printed")] = None
    changed: Annotated[
        tuple[str, ...] | None, Free("the files that changed since the step began")
    ] = None
    number: StepNumber = None
    run: Run = None
    duration: Duration = None
    reason: Reason = None


class BaselineObserved(Event, frozen=True, kw_only=True, tag="BASELINE_OBSERVED"):
    """A contract was run before any work was done."""

    verdict: Annotated[VerdictKind, Exact("what the harness found: a fail is a red baseline")]
    exit_code: ExitCode = UNSET
    run: Run = None
    attempt: Attempt = None
    duration: Duration = None
    tree: Tree = None
    reason: Reason = None
    output_digest: OutputDigest = None
    output_size: OutputSize = None
    output_tail: OutputTail = None
    output_head: OutputHead = None
    subject: Subject = None
    number: ItemNumber = None
    contract: Contract = None
    evidence: Evidence = None
    isolation: Isolation = None
    tests: Tests = None
    baseline: Annotated[str | None, Exact("the id that all contracts of one baseline share")] = None
    plan_digest: Annotated[str | None, Exact("the digest of the plan that the baseline is of")] = (
        None
    )
    configuration: Configuration = None
    manifest: Manifest = None
    controls: Annotated[
        tuple[ControlSeen, ...] | None,
        Free("what it said with each change that it has to fail with (`rejects`)"),
    ] = None
    measured: Measurement = None
    reused: Reused = None


class ContractEvaluated(Event, frozen=True, kw_only=True, tag="CONTRACT_EVALUATED"):
    """The harness ran a contract and came to a verdict."""

    verdict: Annotated[VerdictKind, Exact("what the harness found")]
    exit_code: Annotated[int | None, Exact("the exit code, null if there was none")]
    run: Run = None
    attempt: Attempt = None
    duration: Duration = None
    tree: Tree = None
    reason: Reason = None
    output_digest: OutputDigest = None
    output_size: OutputSize = None
    output_tail: OutputTail = None
    output_head: OutputHead = None
    subject: Subject = None
    number: ItemNumber = None
    contract: Contract = None
    evidence: Evidence = None
    isolation: Isolation = None
    tests: Tests = None
    canary: Annotated[str | None, Exact("what came of a run with a failing test added")] = None
    tampered: Annotated[tuple[str, ...] | None, Free("judges that are not as they were frozen")] = (
        None
    )
    outside: Annotated[tuple[str, ...] | None, Free("files outside `touches` that changed")] = None
    new_failures: Annotated[
        tuple[str, ...] | None, Free("tests that fail or are skipped, and did not at the baseline")
    ] = None
    disappeared: Annotated[
        tuple[str, ...] | None, Free("tests of the baseline that did not run")
    ] = None
    leftovers: Annotated[int | None, Exact("how many processes the contract left running")] = None
    mutated: Annotated[
        MutatedJudges | None, Free("how many tests noticed that their expected values were changed")
    ] = None
    final: Annotated[
        bool | None, Exact("whether it was judged once more at the end of the run")
    ] = None
    result: Annotated[
        Result | None, Exact("what a pass makes of a postcondition: `proved` or `holds`")
    ] = None
    late: Late = None
    baseline: Baseline = None
    baseline_at: BaselineAt = None
    measured: Measurement = None
    reused: Reused = None
    left_out: Annotated[
        tuple[str, ...] | None,
        Free("what the contract did not see: git ignores it, and `touches` does not name it"),
    ] = None
    beyond: Annotated[
        str | None,
        Exact("of what asks git a digest of what git knew; `any`: it may be another at any time"),
    ] = None


class TaskCompleted(Event, frozen=True, kw_only=True, tag="TASK_COMPLETED"):
    """A step is done."""

    result: Annotated[
        Result, Exact("how it was settled: `proved`, `holds`, `claimed` or `attested`")
    ]
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    verdict: Verdict = None
    tree: Tree = None
    baseline: Baseline = None
    baseline_at: BaselineAt = None
    reason: Reason = None
    manifest: Annotated[str | None, Exact("the tree after the step: the SHA-256 in the vault")] = (
        None
    )
    evidence: Annotated[str | None, Free("what the agent says that shows it")] = None
    notes: Notes = None
    session: Session = None


class TaskFailed(Event, frozen=True, kw_only=True, tag="TASK_FAILED"):
    """A step failed, and nothing more will be tried by itself."""

    error_message: Annotated[str, Free("what went wrong")]
    number: StepNumber = None
    run: Run = None
    attempt: Attempt = None
    verdict: Verdict = None


class TaskSkipped(Event, frozen=True, kw_only=True, tag="TASK_SKIPPED"):
    """A step was left out by a person's decision."""

    number: StepNumber = None
    reason: Reason = None
    by: By = None
    run: Run = None


class ExecutionPaused(Event, frozen=True, kw_only=True, tag="EXECUTION_PAUSED"):
    """A run stopped before its end, and can go on."""

    WAITING: ClassVar[str] = "waiting"
    """The one reason that is a word and no text: a person is asked."""

    reason: Annotated[str, Free("why: `interrupted`, `waiting`, ...")]
    run: Run = None
    tree: Tree = None
    manifest: Annotated[str | None, Exact("the tree as it was then: the SHA-256 in the vault")] = (
        None
    )

    @property
    def is_waiting(self) -> bool:
        """Whether it stopped because a person is asked."""
        return self.reason == self.WAITING


class ExecutionCancelled(Event, frozen=True, kw_only=True, tag="EXECUTION_CANCELLED"):
    """A person ended a run."""

    by: Person
    run: Run = None
    reason: Reason = None
    method: HowGiven = None


class ExecutionComplete(Event, frozen=True, kw_only=True, tag="EXECUTION_COMPLETE"):
    """A run came to its end, whatever that end is."""

    completed: Annotated[int, Exact("how many steps are proved; without `attested`, also those")]
    holds: Annotated[
        int | None, Exact("how many steps hold: green now, and seen red by nobody before")
    ] = None
    attested: Annotated[int | None, Exact("how many steps a person answers for")] = None
    failed: Annotated[int, Exact("how many steps failed")]
    skipped: Annotated[int, Exact("how many steps were left out")]
    waived: Annotated[int, Exact("how many steps went on without a pass")]
    status: Annotated[RunOutcome | None, Exact("the plan's status after the run")] = None
    postconditions: Annotated[int | None, Exact("how many postconditions hold")] = None
    conditions: Annotated[int | None, Exact("how many postconditions there are")] = None
    recoveries: Annotated[int | None, Exact("how many times a recipe was followed")] = None
    tokens: Annotated[int | None, Exact("how many tokens are known to have been used")] = None
    estimated: Annotated[int | None, Exact("how many of these are estimated")] = None
    dollars: Annotated[str | None, Exact("what it is known to have cost")] = None
    unmetered: Annotated[int | None, Exact("how many attempts did not say what they used")] = None
    run: Run = None
    revision: Revision = None
    digest: Digest = None
    duration: Duration = None
    tree: Tree = None
    reason: Reason = None
    manifest: Annotated[str | None, Exact("the tree at the end: the SHA-256 in the vault")] = None


# -- the events of several workers on one repository ---------------------------------------------


Folder = Annotated[str, Exact("the worktree's folder")]
Branch = Annotated[str, Exact("the branch of the plan, as it was recorded when it was made")]
BaseCommit = Annotated[str, Exact("the commit that it begins with")]
Workspace = Annotated[
    str | None, Exact("the folder in it that is worked in, where that is another")
]
Machine = Annotated[str | None, Exact("the machine that it is on")]
BuildsOn = Annotated[
    tuple[str, ...] | None, Exact("the plans whose work it begins with; they are merged before it")
]
Into = Annotated[str, Exact("the branch that plans are brought together in")]
Led = Annotated[str, Exact("the commit that this branch led to")]
Tip = Annotated[str, Exact("the commit that the plan's branch led to")]
Merge = Annotated[str, Exact("the merge")]
Verdicts = Annotated[dict[str, VerdictKind] | None, Exact("what was judged, each with its verdict")]


class WorktreeRequested(Event, frozen=True, kw_only=True, tag="WORKTREE_REQUESTED"):
    """A worktree is about to be made for a plan; recorded before anything happened."""

    path: Folder
    branch: Branch
    base: BaseCommit
    workspace: Workspace = None
    machine: Machine = None
    builds_on: BuildsOn = None
    by: By = None


class WorktreeSpawned(Event, frozen=True, kw_only=True, tag="WORKTREE_SPAWNED"):
    """A plan has a worktree and a branch of its own: git confirms it, and the marker is there."""

    path: Folder
    branch: Branch
    base: BaseCommit
    workspace: Workspace = None
    machine: Machine = None
    builds_on: BuildsOn = None
    by: By = None
    copied: Annotated[
        tuple[str, ...] | None,
        Exact("the names, never the contents, of the files that were copied"),
    ] = None
    made: Annotated[
        tuple[str, ...] | None,
        Exact("what its setup made and git does not ignore; never committed"),
    ] = None
    merges: Annotated[str | None, Exact("the commit whose conflicts are to be resolved in it")] = (
        None
    )


class WorktreeRemoved(Event, frozen=True, kw_only=True, tag="WORKTREE_REMOVED"):
    """A plan's worktree is gone: pruned, or its making was undone."""

    path: Folder
    branch: Annotated[str | None, Exact("the branch that was deleted with it")] = None
    tip: Annotated[str | None, Exact("the commit that the branch led to")] = None
    survived: Annotated[
        tuple[str, ...] | None, Free("what could not be undone, or was left on purpose")
    ] = None
    reason: Reason = None
    by: By = None


class WorkCommitted(Event, frozen=True, kw_only=True, tag="WORK_COMMITTED"):
    """The harness committed what the contracts of a proved plan saw."""

    commit: Annotated[str, Exact("the commit")]
    branch: Branch
    tree: Tree = None
    digest: Digest = None
    revision: Revision = None
    merges: Annotated[str | None, Exact("the commit that it brings in beside its work")] = None


class IntegrationStarted(Event, frozen=True, kw_only=True, tag="INTEGRATION_STARTED"):
    """A proved plan is about to be merged, in a scratch worktree."""

    into: Into
    target: Led
    tip: Tip


class IntegrationJudged(Event, frozen=True, kw_only=True, tag="INTEGRATION_JUDGED"):
    """Everything holds on the merged tree; the branch is about to move."""

    into: Into
    target: Led
    tip: Tip
    commit: Merge
    verdicts: Verdicts = None
    duration: Duration = None


class IntegrationStopped(Event, frozen=True, kw_only=True, tag="INTEGRATION_STOPPED"):
    """A plan was not merged, and nothing moved."""

    into: Into
    kind: Annotated[StopKind, Exact("`conflict`, `red`, `inconclusive`, `moving` or `in the way`")]
    reason: Why
    target: Annotated[str | None, Exact("the commit that the branch led to")] = None
    tip: Annotated[str | None, Exact("the commit that the plan's branch led to")] = None
    files: Annotated[
        tuple[str, ...] | None, Free("the files in which both sides changed the same")
    ] = None
    verdicts: Verdicts = None
    about: Annotated[
        str | None, Exact("the plan whose contract does not hold, where that is another one")
    ] = None
    output_tail: Annotated[str | None, Free("the end of what the contract or git printed")] = None


class PlanIntegrated(Event, frozen=True, kw_only=True, tag="PLAN_INTEGRATED"):
    """A plan's work is in the branch that plans are brought together in."""

    into: Into
    tip: Tip
    before: Annotated[str, Exact("the commit that the branch led to before")]
    commit: Merge
    with_: Annotated[
        str | None, Exact("the plan that brought it in, where that resolved its conflicts")
    ] = field(name="with", default=None)
