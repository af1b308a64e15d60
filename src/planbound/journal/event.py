"""The closed set of events, and what each of them tells.

A kind has a version. Its details may grow by optional ones; any other change of their meaning is a
new version, and records of the old one are decoded as they were written.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Mapping
from typing import NamedTuple, assert_never

EXTRA_PREFIX = "x_"
"""How a detail begins that no kind knows: somebody's own, which the harness only keeps."""


class EventKind(enum.Enum):
    """What can happen to a plan."""

    PLAN_CREATED = "PLAN_CREATED"
    PLAN_VERIFIED = "PLAN_VERIFIED"
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
    POSTCONDITION_CLAIMED = "POSTCONDITION_CLAIMED"
    POSTCONDITION_BLOCKED = "POSTCONDITION_BLOCKED"
    FAILURE_DETECTED = "FAILURE_DETECTED"
    FAILURE_CLASSIFIED = "FAILURE_CLASSIFIED"
    RECOVERY_APPLIED = "RECOVERY_APPLIED"
    RECOVERY_ESCALATION = "RECOVERY_ESCALATION"
    PERMISSION_REQUIRED = "PERMISSION_REQUIRED"
    SCOPE_VIOLATED = "SCOPE_VIOLATED"
    JUDGE_TAMPERED = "JUDGE_TAMPERED"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    BUDGET_RAISED = "BUDGET_RAISED"
    WAIVED = "WAIVED"
    ATTESTED = "ATTESTED"
    FINALIZATION_REJECTED = "FINALIZATION_REJECTED"
    FINALIZATION_ACCEPTED = "FINALIZATION_ACCEPTED"
    FINALIZATION_CAPPED = "FINALIZATION_CAPPED"
    SESSION_RELEASED = "SESSION_RELEASED"
    EXECUTION_PAUSED = "EXECUTION_PAUSED"
    EXECUTION_CANCELLED = "EXECUTION_CANCELLED"
    EXECUTION_COMPLETE = "EXECUTION_COMPLETE"


class DetailType(enum.Enum):
    """What a detail's value is; the text is how pages and messages call it."""

    TEXT = "text"
    TEXT_OR_NULL = "text or null"
    TEXTS = "list of texts"
    INTEGER = "integer"
    INTEGER_OR_NULL = "integer or null"
    NUMBER = "number"
    FLAG = "true or false"
    OBJECT = "object"


class DetailSpec(NamedTuple):
    """One thing that an event tells."""

    name: str
    type: DetailType
    required: bool
    meaning: str


class EventSpec(NamedTuple):
    """What a kind of event means and tells."""

    version: int
    meaning: str
    details: tuple[DetailSpec, ...]


def validate(kind: EventKind, details: Mapping[str, object]) -> list[str]:
    """Return what is wrong with the details of a new event, a sentence each."""
    specs = {spec.name: spec for spec in EVENTS[kind].details}
    problems = [
        f"`{name}` is missing from `{kind.value}`"
        for name, spec in specs.items()
        if spec.required and name not in details
    ]
    for name, value in details.items():
        spec = specs.get(name)
        if spec is None:
            if not name.startswith(EXTRA_PREFIX):
                problems.append(
                    f"`{name}` is not a detail of `{kind.value}`;"
                    f" one of your own begins with `{EXTRA_PREFIX}`"
                )
        elif not _has_type(value, spec.type):
            problems.append(
                f"`{name}` of `{kind.value}` is {_describe(value)}, expected: {spec.type.value}"
            )
    return problems


def _has_type(value: object, wanted: DetailType) -> bool:  # noqa: PLR0911 - one for each type
    match wanted:
        case DetailType.TEXT:
            return isinstance(value, str)
        case DetailType.TEXT_OR_NULL:
            return value is None or isinstance(value, str)
        case DetailType.TEXTS:
            return isinstance(value, list) and all(isinstance(item, str) for item in value)
        case DetailType.INTEGER:
            return _is_integer(value)
        case DetailType.INTEGER_OR_NULL:
            return value is None or _is_integer(value)
        case DetailType.NUMBER:
            return _is_integer(value) or (isinstance(value, float) and math.isfinite(value))
        case DetailType.FLAG:
            return isinstance(value, bool)
        case DetailType.OBJECT:
            return isinstance(value, dict)
        case _:
            assert_never(wanted)


def _is_integer(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _describe(value: object) -> str:
    names = {bool: "true or false", int: "an integer", float: "a number", str: "text"}
    names |= {list: "a list", dict: "an object", type(None): "null"}
    return names.get(type(value), f"a `{type(value).__name__}`")


def _must(name: str, kind: DetailType, meaning: str) -> DetailSpec:
    return DetailSpec(name, kind, True, meaning)  # noqa: FBT003 - the functions are its names


def _may(name: str, kind: DetailType, meaning: str) -> DetailSpec:
    return DetailSpec(name, kind, False, meaning)  # noqa: FBT003 - the functions are its names


def _spec(meaning: str, *details: DetailSpec) -> EventSpec:
    return EventSpec(1, meaning, details)


_TEXT = DetailType.TEXT
_TEXTS = DetailType.TEXTS
_INTEGER = DetailType.INTEGER
_NUMBER = DetailType.NUMBER
_FLAG = DetailType.FLAG
_OBJECT = DetailType.OBJECT

_DIGEST = _may("digest", _TEXT, "the digest of the plan's meaning")
_REVISION = _may("revision", _INTEGER, "the plan's revision")
_RUN = _may("run", _TEXT, "the id of the run")
_PLACE = _may("number", _TEXT, "the number of the step in the plan")
_ATTEMPT = _may("attempt", _INTEGER, "which attempt at the step it was, from 1")
_BY = _may("by", _TEXT, "who did it")
_BY_WHOM = _must("by", _TEXT, "the person who decided")
_REASON = _may("reason", _TEXT, "why")
_TREE = _may("tree", _TEXT, "the digest of the files as they were then")
_PATH = _may("path", _TEXT, "the plan's file, relative to the workspace")
_NOTES = _may("notes", _TEXT, "what the agent wants to be kept beside it")
_SESSION = _may("session", _TEXT, "the session of the agent, as its host calls it")
_PROBES = _may("probes", _OBJECT, "what the harness looks at without a contract, by item")
_SAID = _may("said", _TEXT, "the end of the agent's last message")
_JUDGES = _may("judges", _OBJECT, "for each judge's path the digest of its content")
_VERDICT = _may("verdict", _TEXT, "what the harness found")
_DURATION = _may("duration", _NUMBER, "how many seconds it took")
_FILES = _must("files", _TEXTS, "the files, relative to the workspace")
_RESTORED = _may("restored", _FLAG, "whether they were put back as they had been")
_MISSING = _must("missing", _TEXTS, "what the plan still lacks")
_OUTPUT = (
    _may("output_digest", _TEXT, "the digest of all that the contract printed"),
    _may("output_tail", _TEXT, "the end of what the contract printed"),
)
_JUDGED = (
    _may("subject", _TEXT, "what was judged: `step`, `precondition` or `postcondition`"),
    _may("number", _TEXT, "the number of the step or condition in the plan"),
    _may("contract", _TEXT, "the digest of the command and what is expected of it"),
    _may("evidence", _TEXT, "the level of the evidence"),
    _may("isolation", _TEXT, "how the contract was kept apart from the agent"),
)

EVENTS: dict[EventKind, EventSpec] = {
    EventKind.PLAN_CREATED: _spec(
        "A plan was written for the first time.",
        _must("task_count", _INTEGER, "how many steps it has"),
        _must("dependencies", _OBJECT, "for each step's id the ids that it depends on"),
        *(_DIGEST, _REVISION, _PATH, _BY),
        _may("origin", _TEXT, "what made it: `init`, `new`, `draft`, `import` or `tools`"),
        _may("text", _TEXT, "where the text is kept: its SHA-256 in the vault"),
        _may("manifest", _TEXT, "the tree before the work: the SHA-256 in the vault"),
        *(_PROBES, _SESSION),
    ),
    EventKind.PLAN_VERIFIED: _spec(
        "A plan was verified, and its digest was a new one.",
        *(_DIGEST, _REVISION, _PATH),
        _may("errors", _INTEGER, "how many errors were found"),
        _may("warnings", _INTEGER, "how many warnings were found"),
        _may("task_count", _INTEGER, "how many steps it has"),
        _may("dependencies", _OBJECT, "for each step's id the ids that it depends on"),
    ),
    EventKind.PLAN_REWRITTEN: _spec(
        "The meaning of a plan changed, so that it is a draft again.",
        _must("from", _TEXT, "the digest before"),
        _must("to", _TEXT, "the digest after"),
        *(_REVISION, _BY, _REASON, _SESSION),
        _may("text", _TEXT, "where the new text is kept: its SHA-256 in the vault"),
        _may("diff", _TEXT, "what is different, line by line"),
        _may("kept", _TEXTS, "the ids of the steps whose meaning is the same"),
        _may("kept_conditions", _TEXTS, "the numbers of the postconditions that are the same"),
        _may("dropped", _OBJECT, "for the id of each step that is gone its title"),
        _PROBES,
    ),
    EventKind.PLAN_AMENDED: _spec(
        "An approved plan was changed on purpose and got a new revision.",
        *(_DIGEST, _REVISION, _BY, _REASON),
        _may("from", _TEXT, "the digest before"),
        _may("to", _TEXT, "the digest after"),
        _may("kept", _TEXTS, "the ids of the steps that stay proved"),
    ),
    EventKind.PLAN_STAGED: _spec(
        "A plan was put into the queue.",
        *(_PATH, _DIGEST, _BY),
    ),
    EventKind.PLAN_ACTIVATED: _spec(
        "A queued plan was made an active one.",
        *(_PATH, _DIGEST, _BY),
    ),
    EventKind.PLAN_ARCHIVED: _spec(
        "A plan was put into the archive.",
        *(_PATH, _DIGEST, _BY),
        _may("status", _TEXT, "the plan's status when it was archived"),
    ),
    EventKind.GATE_APPROVAL_REQUESTED: _spec(
        "A person was asked to approve a plan.",
        _must("plan_id", _TEXT, "the plan's slug"),
        _must("digest", _TEXT, "the digest of the meaning that is to be approved"),
        _may("reminder", _INTEGER, "which reminder this is, from 1"),
        *(_REVISION, _JUDGES, _TREE),
    ),
    EventKind.GATE_APPROVED: _spec(
        "A person approved exactly this plan.",
        _must("modifications", _TEXTS, "what the person changed on the way; empty for nothing"),
        *(_DIGEST, _REVISION, _BY, _REASON, _JUDGES, _TREE),
        _may("nonce", _TEXT, "what makes this approval unlike any other"),
        _may("method", _TEXT, "how it was given: `terminal`, `digest`, `signature` or `policy`"),
        _may("strength", _TEXT, "how well it is known who it was: `proof`, `word` or `rule`"),
        _may("policy", _TEXT, "the policy of the configuration that approved it"),
        _may("project", _TEXT, "the id of the repository that it was given in"),
        _may("configuration", _TEXT, "the digest of the configuration that contracts run under"),
        _may("expires", _TEXT, "until when it holds"),
        _may("text", _TEXT, "where the plan's text is kept: the SHA-256 in the vault"),
    ),
    EventKind.GATE_REJECTED: _spec(
        "A person refused a plan.",
        _must("reason", _TEXT, "why"),
        *(_DIGEST, _REVISION, _BY),
    ),
    EventKind.GATE_CLARIFICATION_ASKED: _spec(
        "A person asked something about a plan before deciding.",
        _must("question", _TEXT, "what was asked"),
        _may("answer", _TEXT, "what was answered"),
        *(_DIGEST, _REVISION, _BY),
    ),
    EventKind.EXECUTION_STARTED: _spec(
        "A run of an approved plan began, or went on after a stop.",
        _must("run", _TEXT, "the id of the run"),
        _must("nonce", _TEXT, "the approval that this run consumes"),
        _may("resumed", _FLAG, "whether it went on; false: it began"),
        _may("task_count", _INTEGER, "how many steps the plan has"),
        _may("motor", _TEXT, "what drives it: `inline` or `dbos`"),
        _may("holder", _TEXT, "who holds the plan's lease"),
        _may("jobs", _INTEGER, "how many steps may run at once"),
        _may("budget", _OBJECT, "what may be spent: `tokens`, `dollars`, `seconds`"),
        _may("version", _TEXT, "the version of planbound"),
        _may("edited", _TEXTS, "files that somebody changed since the run stopped"),
        *(_REVISION, _DIGEST, _TREE),
        _may("manifest", _TEXT, "where the whole tree is kept: the SHA-256 in the vault"),
    ),
    EventKind.TASK_STARTED: _spec(
        "An attempt at a step began; recorded before anything happened.",
        _must("attempt", _INTEGER, "which attempt at the step it is, from 1"),
        _may("agent", _TEXT, "the agent that gets the step"),
        _may("target", _TEXT, "the role that the step names"),
        *(_PLACE, _RUN, _REVISION, _DIGEST, _TREE),
        _may("manifest", _TEXT, "the tree before the step: the SHA-256 in the vault"),
        _may("baseline", _TEXT, "what the contract said before the step, where that is known"),
        _may("copy", _TEXT, "the name of the copy of the workspace that it works in"),
        *(_NOTES, _SESSION),
    ),
    EventKind.ATTEMPT_ENDED: _spec(
        "The agent's part of an attempt is over, and everything that it started is dead.",
        _must("attempt", _INTEGER, "which attempt at the step it is, from 1"),
        _must("ending", _TEXT, "how: `exited`, `timed out`, `interrupted`, `stopped`, `lost`, ..."),
        _may("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        _may("tokens", DetailType.INTEGER_OR_NULL, "how many were used; null: nobody knows"),
        _may("dollars", DetailType.TEXT_OR_NULL, "what it cost; null: nobody knows"),
        _may("agent", _TEXT, "the agent that had the step"),
        _may("role", _TEXT, "the target of the step"),
        _may("type", _TEXT, "what kind of work it was: `code`, `review`, `test`, ..."),
        _may("session", _TEXT, "the agent's own name for its session"),
        _may(
            "subscriptions", _TEXTS, "the context that it got, each with its SHA-256 or `missing`"
        ),
        _may("agent_plan", _TEXTS, "what the agent itself noted as its plan, at last"),
        _may("error", _TEXT, "the kind of error that the agent reports of itself"),
        _may("leftovers", _INTEGER, "how many processes it left behind, which were ended"),
        _may("prompt", _TEXT, "all that the agent was told"),
        _may("output_digest", _TEXT, "the digest of all that the agent printed"),
        _may("output_tail", _TEXT, "the end of what the agent printed"),
        _may("changed", _TEXTS, "the files that changed since the step began"),
        *(_PLACE, _RUN, _DURATION, _REASON),
    ),
    EventKind.BASELINE_OBSERVED: _spec(
        "A contract was run before any work was done.",
        _must("verdict", _TEXT, "what the harness found: a fail is a red baseline"),
        _may("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        *(_RUN, _ATTEMPT, _DURATION, _TREE, _REASON, *_OUTPUT, *_JUDGED),
        _may("baseline", _TEXT, "the id that all contracts of one baseline share"),
        _may("plan_digest", _TEXT, "the digest of the plan that the baseline is of"),
        _may("configuration", _TEXT, "the digest of the configuration that contracts run under"),
        _may("manifest", _TEXT, "where the whole tree is kept: the SHA-256 in the vault"),
    ),
    EventKind.CONTRACT_STARTED: _spec(
        "For an agent in the loop a contract is about to run; without a verdict it was cut off.",
        _must("subject", _TEXT, "what is judged, such as `step`"),
        _must("number", _TEXT, "its number in the plan"),
        _SESSION,
    ),
    EventKind.CONTRACT_EVALUATED: _spec(
        "The harness ran a contract and came to a verdict.",
        _must("verdict", _TEXT, "what the harness found"),
        _must("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        *(_RUN, _ATTEMPT, _DURATION, _TREE, _REASON, *_OUTPUT, *_JUDGED),
        _may("canary", _TEXT, "what came of a run with a failing test added"),
        _may("tampered", _TEXTS, "judges that are not as they were frozen"),
        _may("outside", _TEXTS, "files outside `touches` that changed"),
        _may("leftovers", _INTEGER, "how many processes the contract left running"),
        _may("final", _FLAG, "whether it was judged once more at the end of the run"),
    ),
    EventKind.TASK_COMPLETED: _spec(
        "A step is done.",
        _must("result", _TEXT, "how it was settled, such as `proved`, `claimed` or `attested`"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, _TREE),
        _may("manifest", _TEXT, "the tree after the step: the SHA-256 in the vault"),
        _may("evidence", _TEXT, "what the agent says that shows it"),
        *(_NOTES, _SESSION),
    ),
    EventKind.TASK_FAILED: _spec(
        "A step failed, and nothing more will be tried by itself.",
        _must("error_message", _TEXT, "what went wrong"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT),
    ),
    EventKind.TASK_SKIPPED: _spec(
        "A step was left out by a person's decision.",
        *(_PLACE, _REASON, _BY, _RUN),
    ),
    EventKind.TASK_BLOCKED: _spec(
        "An agent in the loop says that a step cannot be done.",
        _must("reason", _TEXT, "why"),
        *(_PLACE, _NOTES, _SESSION),
    ),
    EventKind.TASK_REOPENED: _spec(
        "An agent in the loop takes a step back to pending; its evidence stays on record.",
        _must("before", _TEXT, "where it was"),
        *(_PLACE, _REASON, _NOTES, _SESSION),
    ),
    EventKind.POSTCONDITION_CLAIMED: _spec(
        "An agent in the loop says that a postcondition holds, which has no contract.",
        _must("number", _TEXT, "the number of the postcondition"),
        _must("evidence", _TEXT, "what the agent says that shows it"),
        _SESSION,
    ),
    EventKind.POSTCONDITION_BLOCKED: _spec(
        "An agent in the loop says that a postcondition cannot be reached.",
        _must("number", _TEXT, "the number of the postcondition"),
        _must("reason", _TEXT, "why"),
        _SESSION,
    ),
    EventKind.FAILURE_DETECTED: _spec(
        "Something went wrong with an attempt.",
        _may("error_message", _TEXT, "what went wrong"),
        _may("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        _may("signature", _TEXT, "the same for the same failure on the same tree"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, _REASON),
    ),
    EventKind.FAILURE_CLASSIFIED: _spec(
        "A failure got its type.",
        _must(
            "failure_type",
            _TEXT,
            "`transient`, `permission`, `invalid-input`, `logic`, `unrecoverable`, `unknown`, ...",
        ),
        _may("rule", _TEXT, "the rule that says so"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, _REASON),
    ),
    EventKind.RECOVERY_APPLIED: _spec(
        "A recipe was followed.",
        _must("recipe_name", _TEXT, "the recipe"),
        _must("outcome", _TEXT, "what came of it"),
        _may("backoff", _NUMBER, "how many seconds are waited"),
        _may("until", _TEXT, "when it goes on"),
        _may("failure_type", _TEXT, "the type of the failure that it answers"),
        _may("retry", _INTEGER, "which retry of this recipe it is, from 1"),
        _may("of", _INTEGER, "how many retries there are"),
        *(_PLACE, _RUN, _ATTEMPT, _REASON),
    ),
    EventKind.RECOVERY_ESCALATION: _spec(
        "A question went to a person, or came back answered.",
        _must("reason", _TEXT, "why a person is asked"),
        _must(
            "user_decision",
            DetailType.TEXT_OR_NULL,
            "`retry`, `skip`, `abort`, `revise`, ...; null while the question waits",
        ),
        _may("escalation", _TEXT, "the id of the question in the inbox"),
        _may("kind", _TEXT, "what is asked: `failure`, `permission`, `budget`, `attestation`, ..."),
        _may("choices", _TEXTS, "what can be answered"),
        _may("guidance", _TEXT, "what the person says for the next attempt"),
        _may("failure_type", _TEXT, "the type of the failure"),
        _may("exhausted", _FLAG, "whether retries were used up; false: none was tried"),
        _may("output_tail", _TEXT, "the end of the last output"),
        _may("diff", _TEXT, "what the step has changed so far"),
        _may("subject", _TEXT, "what it is about: `step`, `precondition`, `postcondition`, `plan`"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, _BY),
    ),
    EventKind.PERMISSION_REQUIRED: _spec(
        "The work needs a permission or a credential that is not there.",
        _must("reason", _TEXT, "what was refused"),
        _may("credential", _TEXT, "the name, never the value, of what has to be configured"),
        *(_PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.SCOPE_VIOLATED: _spec(
        "Files were changed that the step may not touch.",
        *(_FILES, _RESTORED, _PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.JUDGE_TAMPERED: _spec(
        "Files that a contract judges by were changed under the step.",
        *(_FILES, _RESTORED, _PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.BUDGET_EXCEEDED: _spec(
        "A limit was reached.",
        _must("limit", _TEXT, "which one: `tokens`, `cost` or `time`"),
        _may("allowed", _NUMBER, "how much there was"),
        _may("spent", _NUMBER, "how much was used"),
        _may("remaining", _INTEGER, "how many steps are not settled"),
        _may("needed", _NUMBER, "how much more they are likely to need"),
        *(_PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.BUDGET_RAISED: _spec(
        "A person allowed more to be spent.",
        _BY_WHOM,
        _may("tokens", _INTEGER, "how many more tokens"),
        _may("dollars", _TEXT, "how many more dollars"),
        _may("seconds", _NUMBER, "how many more seconds"),
        *(_RUN, _REASON),
    ),
    EventKind.WAIVED: _spec(
        "A person decided to go on without a pass.",
        _BY_WHOM,
        _must("reason", _TEXT, "why"),
        _may("subject", _TEXT, "what is waived: `step`, `precondition` or `postcondition`"),
        _may("method", _TEXT, "how it was given"),
        *(_PLACE, _RUN, _VERDICT, _DIGEST, _REVISION, _TREE),
    ),
    EventKind.ATTESTED: _spec(
        "A named person signed a statement.",
        _BY_WHOM,
        _must("statement", _TEXT, "what was signed"),
        _may("subject", _TEXT, "what is attested: `step`, `precondition` or `postcondition`"),
        _may("method", _TEXT, "how it was given"),
        *(_PLACE, _RUN, _DIGEST, _REVISION, _TREE),
    ),
    EventKind.FINALIZATION_REJECTED: _spec(
        "An agent said that it was done, and the plan was not.",
        _MISSING,
        _may("refusals", _INTEGER, "how often in a row, without progress"),
        _may("broken", _FLAG, "whether the gate itself could not tell"),
        *(_RUN, _TREE, _REASON, _SAID, _SESSION),
    ),
    EventKind.FINALIZATION_ACCEPTED: _spec(
        "An agent said that it was done, and the plan was.",
        *(_RUN, _DIGEST, _REVISION, _TREE, _SAID, _SESSION),
        _may("outcome", _TEXT, "`done`, or `finished with blocked items`"),
        _may("claimed", _TEXTS, "what is only claimed, and proved by nobody"),
        _may("blocked", _TEXTS, "what could not be done, each with its reason"),
    ),
    EventKind.SESSION_RELEASED: _spec(
        "A person ended an agent's duty to a plan.",
        _BY_WHOM,
        *(_REASON, _SESSION),
        _may("method", _TEXT, "how it was given"),
    ),
    EventKind.FINALIZATION_CAPPED: _spec(
        "An agent was refused too often without progress; the run ends as incomplete.",
        _MISSING,
        _may("refusals", _INTEGER, "how often in a row, without progress"),
        *(_RUN, _SESSION),
    ),
    EventKind.EXECUTION_PAUSED: _spec(
        "A run stopped before its end, and can go on.",
        _must("reason", _TEXT, "why: `interrupted`, `waiting`, ..."),
        *(_RUN, _TREE),
        _may("manifest", _TEXT, "the tree as it was then: the SHA-256 in the vault"),
    ),
    EventKind.EXECUTION_CANCELLED: _spec(
        "A person ended a run.",
        _BY_WHOM,
        *(_RUN, _REASON),
    ),
    EventKind.EXECUTION_COMPLETE: _spec(
        "A run came to its end, whatever that end is.",
        _must("completed", _INTEGER, "how many steps are done"),
        _must("failed", _INTEGER, "how many steps failed"),
        _must("skipped", _INTEGER, "how many steps were left out"),
        _must("waived", _INTEGER, "how many steps went on without a pass"),
        _may("status", _TEXT, "the plan's status after the run"),
        _may("postconditions", _INTEGER, "how many postconditions hold"),
        _may("conditions", _INTEGER, "how many postconditions there are"),
        _may("recoveries", _INTEGER, "how many times a recipe was followed"),
        _may("tokens", _INTEGER, "how many tokens are known to have been used"),
        _may("dollars", _TEXT, "what it is known to have cost"),
        _may("unmetered", _INTEGER, "how many attempts did not say what they used"),
        *(_RUN, _REVISION, _DIGEST, _DURATION, _TREE, _REASON),
        _may("manifest", _TEXT, "the tree at the end: the SHA-256 in the vault"),
    ),
}
