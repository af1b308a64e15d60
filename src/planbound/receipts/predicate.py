"""What a receipt claims: the predicate `plan-run/v0.1`, as frozen values.

Names are written as they stand here. A field that is null was not known or does not apply; what
is not true is never left out, but said in `deviations`.
"""

from __future__ import annotations

from msgspec import Struct

PLAN_RUN = "https://planbound.dev/attestation/plan-run/v0.1"
TEST_RESULT = "https://in-toto.io/attestation/test-result/v0.1"
VERSION = "0.1"


class _Part(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A part of the predicate: what it does not know is refused."""


# -- the plan, and who approved it ---------------------------------------------------------------


class RunPlan(_Part, frozen=True, kw_only=True):
    """The plan, by the text that was approved; by the text that it began with, where nobody did."""

    slug: str
    path: str | None
    """Its file, relative to the workspace."""
    revision: int
    digest: str
    """Of its meaning."""
    text: str | None
    """Word for word; null where it is not kept, or is not UTF-8."""
    sha256: str | None
    """Of the text."""
    git_blob: str | None
    redacted: bool
    """Whether secrets were taken out of `text`: then neither digest can be reckoned from it."""


class RunApproval(_Part, frozen=True, kw_only=True):
    """The approval that the run rests on."""

    by: str
    method: str
    """`terminal`, `digest`, `signature`, `policy`, `elicitation` or `page`."""
    strength: str
    """`proof`, `word` or `rule`."""
    at: str
    """When, in UTC."""
    expires: str | None
    policy: str | None
    nonce: str
    project: str | None
    digest: str
    """Of the plan's meaning, as it was approved."""
    configuration: str
    """The digest of what contracts run under."""
    tree: str | None
    """The digest of the files, as they were then."""
    judges: dict[str, str]
    """For each judge's path the SHA-256 of its content."""
    tools: dict[str, str]
    """For each program of a contract its version and place."""
    modifications: tuple[str, ...]
    statement: str | None
    """What was signed, word for word."""
    signature: str | None
    """The armored SSH signature of it."""
    seq: int
    """The event in the journal."""


# -- the trees -----------------------------------------------------------------------------------


class RunBase(_Part, frozen=True, kw_only=True):
    """What the work began with."""

    tree: str | None
    """The digest of our manifest."""
    git_tree: str | None
    commit: str | None
    """The commit that was checked out when the receipt was made, or that the worktree began with:
    a hint."""
    folder: str
    """The workspace, seen from the top of the repository; empty: the top itself."""


class RunTree(_Part, frozen=True, kw_only=True):
    """The files that were judged last; what belongs to the harness (`.harness`) is not in them."""

    tree: str | None
    """The digest of our manifest, with everything."""
    git_tree: str | None
    """The id that git gives these files, without what it ignores and without `.harness`."""
    no_git_tree: str | None
    """Why there is no such id."""
    removed: tuple[str, ...]
    """Files that the work took away: they are no subjects."""


# -- what contracts ran under ---------------------------------------------------------------------


class RunSettings(_Part, frozen=True, kw_only=True):
    """What the configuration says of contracts: who judges again has to know it."""

    digest: str
    """Of all of it; that of the approval where nothing was changed since."""
    env: tuple[str, ...]
    """The names of variables that are passed; their values are nobody's business."""
    path: tuple[str, ...]
    """Folders of PATH; those outside of the workspace are left out."""
    network: bool
    seconds: float
    memory: int
    processes: int
    file_size: int
    temporary: int
    canary: bool
    mutate: bool
    held_out: int
    """How many judges are held out: they are in no tree and in no receipt."""
    summarise: tuple[str, ...]
    caches: tuple[str, ...]


# -- what was judged -----------------------------------------------------------------------------


class ItemJudge(_Part, frozen=True, kw_only=True):
    """A file that a contract judges by."""

    path: str
    sha256: str
    git_blob: str | None
    editable: bool
    """Whether the plan lets its steps change it."""


class ItemBaseline(_Part, frozen=True, kw_only=True):
    """What a contract said before the work."""

    verdict: str
    red: bool
    at: str
    """`attempt`: before the first attempt; `approval`: when the plan was approved."""
    seq: int | None


class ItemTests(_Part, frozen=True, kw_only=True):
    """How the tests of a contract ended that are judged by name."""

    passed: int
    failed: int
    skipped: int


class ItemMutated(_Part, frozen=True, kw_only=True):
    """What became of tests whose expected values were changed."""

    tests: int
    sensitive: int
    blind: tuple[str, ...]


class ItemOutput(_Part, frozen=True, kw_only=True):
    """What a contract printed, without secrets."""

    bytes: int | None
    """How much; null where an older version did not note it."""
    stdout_sha256: str
    stderr_sha256: str
    begin: str | None
    """The beginning of it, redacted; null where `end` has all of it, or it was not kept."""
    end: str
    """The end of it, redacted."""


class RunItem(_Part, frozen=True, kw_only=True):
    """A step, a precondition or a postcondition, and what the harness found about it."""

    kind: str
    """`step`, `precondition` or `postcondition`."""
    number: str
    id: str | None
    title: str
    form: str
    """`command`, `cases`, `attest`; `probe`: the harness looks by itself, with no contract and no
    cell; `none`: nobody can judge it."""
    contract: str | None
    """The digest of the command and of what is expected of it."""
    command: str | None
    """The command or the table, as it stands in the plan; what is to be attested."""
    expectations: tuple[str, ...]
    timeout: float | None
    """Of the contract, in seconds, where the plan says it."""
    repeat: int
    demanded_evidence: str | None
    demanded_baseline: str | None
    touches: tuple[str, ...]
    judges: tuple[ItemJudge, ...]
    result: str
    """`proved`, `holds`, `claimed`, `attested`, `waived`, `skipped`, or where else it is:
    `pending`, `in-progress`, `waiting`, `failed`, `blocked`."""
    verdict: str | None
    """What its contract came to last."""
    reason: str | None
    evidence: str | None
    isolation: str | None
    exit_code: int | None
    seconds: float | None
    baseline: ItemBaseline | None
    canary: str | None
    tests: ItemTests | None
    mutated: ItemMutated | None
    tree: str | None
    """The digest of the files that it was judged on."""
    output: ItemOutput | None
    attempts: int
    reused: int | None
    """The event that told of these runs first, where nothing was run again."""
    seq: int | None
    """The event that the verdict stands in."""
    settled_by: int | None
    """The event that settled it: a completion, a waiver, an attestation, a skip, a claim."""


class RunCounts(_Part, frozen=True, kw_only=True):
    """How many items there are of each result, steps and conditions together."""

    items: int
    proved: int
    holds: int
    claimed: int
    attested: int
    waived: int
    skipped: int
    open: int
    """Not settled: failed, blocked, or never done."""


# -- what is not as it should be: never left out -------------------------------------------------


class _Deviation(
    Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="deviation"
):
    """Something that a reader must not overlook.

    `item` is `KIND NUMBER`, such as `step 2`; `seq` is the event of the journal that tells it.
    """


class WaivedItem(_Deviation, frozen=True, kw_only=True, tag="waived"):
    """A person decided to go on without a pass."""

    item: str
    by: str
    reason: str
    seq: int


class AttestedItem(_Deviation, frozen=True, kw_only=True, tag="attested"):
    """A person answers for it, and no contract."""

    item: str
    by: str
    statement: str
    seq: int


class SkippedItem(_Deviation, frozen=True, kw_only=True, tag="skipped"):
    """A person left it out; `seq` is null where the approval already did."""

    item: str
    by: str | None
    reason: str | None
    seq: int | None


class ClaimedItem(_Deviation, frozen=True, kw_only=True, tag="claimed"):
    """The agent says so; nobody judged it."""

    item: str
    evidence: str | None = None
    """What it says."""
    seq: int | None


class UnsettledItem(_Deviation, frozen=True, kw_only=True, tag="unsettled"):
    """It is not done."""

    item: str
    result: str
    reason: str | None


class HeldItem(_Deviation, frozen=True, kw_only=True, tag="holds"):
    """It is green, and nobody saw it red before the work."""

    item: str
    reason: str | None


class AmendedPlan(_Deviation, frozen=True, kw_only=True, tag="amended"):
    """The approved plan was changed while it was under way, and approved again."""

    revision: int | None
    by: str | None
    reason: str | None
    seq: int


class EditedPlan(_Deviation, frozen=True, kw_only=True, tag="edited"):
    """The meaning of the plan was changed in its file, by unknown hands."""

    seq: int


class WithoutApproval(_Deviation, frozen=True, kw_only=True, tag="without-approval"):
    """No approval of this text is on record."""


class NobodyLooked(_Deviation, frozen=True, kw_only=True, tag="approved-by-policy"):
    """A rule of the configuration approved it, and no person."""

    policy: str
    seq: int


class ApprovedInSpite(_Deviation, frozen=True, kw_only=True, tag="approved-in-spite"):
    """Warnings and missing programs that it was approved in spite of."""

    warnings: tuple[str, ...]
    missing_tools: tuple[str, ...]
    seq: int


class ApprovedGates(_Deviation, frozen=True, kw_only=True, tag="approved-gates"):
    """What gates of the branch judge by, and the plan may change because its approval names it."""

    gates: tuple[str, ...]
    """Patterns of files."""
    seq: int


class ApprovedWithChanges(_Deviation, frozen=True, kw_only=True, tag="approved-with-changes"):
    """What was approved is the plan with these changes."""

    changes: tuple[str, ...]
    seq: int


class EditableJudge(_Deviation, frozen=True, kw_only=True, tag="editable-judge"):
    """The agent was allowed to change a file that judges it.

    `item` is null where nobody knows any more which items it judges.
    """

    item: str | None
    path: str


class TouchedJudge(_Deviation, frozen=True, kw_only=True, tag="tampered"):
    """A judge was changed under a step, and put back or not."""

    item: str | None
    files: tuple[str, ...]
    restored: bool
    seq: int


class LeftScope(_Deviation, frozen=True, kw_only=True, tag="out-of-scope"):
    """Files were changed that the step may not touch."""

    item: str | None
    files: tuple[str, ...]
    restored: bool
    seq: int


class BareRun(_Deviation, frozen=True, kw_only=True, tag="bare-run"):
    """The contract was not kept apart from the agent."""

    item: str
    isolation: str


class LittleEvidence(_Deviation, frozen=True, kw_only=True, tag="little-evidence"):
    """A pass that is founded on less than E2; null: on a look of the harness, without a level."""

    item: str
    evidence: str | None


class ReusedRuns(_Deviation, frozen=True, kw_only=True, tag="reused"):
    """Nothing was run for this verdict: it rests on the runs of an earlier event."""

    item: str
    of: int


class RunAnyway(_Deviation, frozen=True, kw_only=True, tag="anyway"):
    """It was run although what it depends on is not proved."""

    what: str
    seq: int


class EditedMeanwhile(_Deviation, frozen=True, kw_only=True, tag="edited-meanwhile"):
    """Somebody changed files between two parts of the run."""

    files: tuple[str, ...]
    seq: int


class RaisedBudget(_Deviation, frozen=True, kw_only=True, tag="budget-raised"):
    """A person allowed more to be spent."""

    by: str
    tokens: int | None = None
    dollars: str | None = None
    seconds: float | None = None
    seq: int


class UnknownCost(_Deviation, frozen=True, kw_only=True, tag="unknown-cost"):
    """Attempts of which nobody knows what they used; 0: of an agent in the loop not even those."""

    attempts: int


class LateCondition(_Deviation, frozen=True, kw_only=True, tag="late"):
    """A precondition that was seen to hold only when work had begun."""

    item: str
    seq: int


class EarlierPlan(_Deviation, frozen=True, kw_only=True, tag="earlier-plan"):
    """Another plan had this name before: its events are in the journal, and not meant here."""

    events: int


class NotKept(_Deviation, frozen=True, kw_only=True, tag="not-kept"):
    """Something that a receipt says and this one cannot."""

    what: str


Deviation = (
    WaivedItem
    | AttestedItem
    | SkippedItem
    | ClaimedItem
    | UnsettledItem
    | HeldItem
    | AmendedPlan
    | EditedPlan
    | WithoutApproval
    | NobodyLooked
    | ApprovedInSpite
    | ApprovedGates
    | ApprovedWithChanges
    | EditableJudge
    | TouchedJudge
    | LeftScope
    | BareRun
    | LittleEvidence
    | ReusedRuns
    | RunAnyway
    | EditedMeanwhile
    | RaisedBudget
    | UnknownCost
    | LateCondition
    | EarlierPlan
    | NotKept
)


# -- who worked, and what looked at it -----------------------------------------------------------


class RunAgent(_Part, frozen=True, kw_only=True):
    """An agent, with what it says of itself: nobody has checked that."""

    name: str
    kind: str | None
    """Such as `claude` or `command`, as it was then; as it is configured now where an older version
    did not note it."""
    model: str | None
    """The same of its model."""
    attempts: int
    unknown: int
    """How many attempts did not say what they used."""
    tokens: int
    dollars: str
    claimed: bool = True
    """Always: it is the agent's word."""


class SigningKey(_Part, frozen=True, kw_only=True):
    """Whose key signs, by its own words; a list of allowed signers says whether that is so."""

    owner: str
    """`harness`: in the state home; `person`: named in the configuration or the command."""
    type: str
    """Such as `ssh-ed25519`."""
    fingerprint: str
    """`SHA256:...`, as ssh-keygen writes it."""
    public: str
    """`TYPE BASE64`, as in `authorized_keys`."""


class RunHarness(_Part, frozen=True, kw_only=True):
    """What judged."""

    version: str
    digest: str
    """SHA-256 over the files of the program."""
    python: str
    system: str
    key: SigningKey | None
    """Null where the receipt is not signed."""


# -- where it stands in the journal --------------------------------------------------------------


class CitedEvent(_Part, frozen=True, kw_only=True):
    """An event that the receipt speaks of, with the proof that the journal holds it."""

    seq: int
    event: str
    hash: str
    path: tuple[int, ...]
    """The audit path of RFC 6962 from the leaf up, as places in `RunJournal.nodes`."""


class EarlierCheckpoint(_Part, frozen=True, kw_only=True):
    """The checkpoint of the receipt that was made before this one, in the same state home."""

    size: int
    root: str
    """Base64."""
    proof: tuple[str, ...]
    """The consistency proof of RFC 6962, in base64: nothing before it was rewritten."""


class RunJournal(_Part, frozen=True, kw_only=True):
    """The journal as it was when the receipt was made."""

    checkpoint: str
    """As in C2SP's tlog-checkpoint, without its own signature: origin, size, root in base64."""
    nodes: tuple[str, ...]
    """Hashes, in base64, that the paths of several events share."""
    events: tuple[CitedEvent, ...]
    """By their numbers: the leaf of number N has the index N - 1."""
    earlier: EarlierCheckpoint | None


class PlanRun(_Part, frozen=True, kw_only=True):
    """The predicate."""

    version: str
    made: str
    """When the receipt was made, in UTC."""
    outcome: str
    """`proved`: done, every step proved, every condition proved or holding; `holds`: the same,
    with steps that only hold; `settled`: done, but not all of it by passes; `unfinished`."""
    status: str
    """Where the plan is: `done`, `failed`, `in-progress`, ..."""
    archived: bool
    loop: bool
    """Whether an agent worked by itself with the plan tools, and no run drove it."""
    plan: RunPlan
    approval: RunApproval | None
    base: RunBase
    tree: RunTree
    settings: RunSettings
    items: tuple[RunItem, ...]
    counts: RunCounts
    deviations: tuple[Deviation, ...]
    agents: tuple[RunAgent, ...]
    harness: RunHarness
    journal: RunJournal
    statements: tuple[str, ...]
    """The SHA-256 of the payload of each line that follows."""
