"""The closed set of events, and what each of them tells.

A kind has a version. Its details may grow by optional ones; any other change of their meaning is a
new version, and records of the old one are decoded as they were written.
"""

from __future__ import annotations

from collections.abc import Mapping

from planbound.journal.detail import (
    BY,
    DIGEST,
    DURATION,
    REASON,
    REVISION,
    TREE,
    DetailSpec,
    DetailType,
    EventSpec,
    describe,
    has_type,
    may,
    must,
    spec,
)
from planbound.journal.kind import EventKind
from planbound.journal.team_events import TEAM_EVENTS

__all__ = [
    "EVENTS",
    "EXTRA_PREFIX",
    "DetailSpec",
    "DetailType",
    "EventKind",
    "EventSpec",
    "validate",
]
EXTRA_PREFIX = "x_"
"""How a detail begins that no kind knows: somebody's own, which the harness only keeps."""


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
        elif not has_type(value, spec.type):
            problems.append(
                f"`{name}` of `{kind.value}` is {describe(value)}, expected: {spec.type.value}"
            )
    return problems


_TEXT = DetailType.TEXT
_TEXTS = DetailType.TEXTS
_EXACT = DetailType.EXACT
_EXACTS = DetailType.EXACTS
_EXACT_OBJECT = DetailType.EXACT_OBJECT
_INTEGER = DetailType.INTEGER
_NUMBER = DetailType.NUMBER
_FLAG = DetailType.FLAG
_OBJECT = DetailType.OBJECT

_RUN = may("run", _EXACT, "the id of the run")
_PLACE = may("number", _EXACT, "the number of the step in the plan")
_ATTEMPT = may("attempt", _INTEGER, "which attempt at the step it was, from 1")
_BY_WHOM = must("by", _TEXT, "the person who decided")
_PATH = may("path", _EXACT, "the plan's file, relative to the workspace")
_NOTES = may("notes", _TEXT, "what the agent wants to be kept beside it")
_SESSION = may("session", _TEXT, "the session of the agent, as its host calls it")
_PROBES = may("probes", _OBJECT, "what the harness looks at without a contract, by item")
_SAID = may("said", _TEXT, "the end of the agent's last message")
_JUDGES = may("judges", _EXACT_OBJECT, "for each judge's path the digest of its content")
_VERDICT = may("verdict", _EXACT, "what the harness found")
_BEFORE = (
    may("baseline", _EXACT, "what the contract said before the work, where anybody looked"),
    may("baseline_at", _EXACT, "when that was: before the first `attempt`, or at the `approval`"),
)
_FILES = must("files", _TEXTS, "the files, relative to the workspace")
_RESTORED = may("restored", _FLAG, "whether they were put back as they had been")
_LATE = may("late", _FLAG, "of a precondition: whether it was seen only when work had begun")
_MISSING = must("missing", _TEXTS, "what the plan still lacks")
_OUTPUT = (
    may("output_digest", _EXACT, "the digest of all that the contract printed"),
    may("output_tail", _TEXT, "the end of what the contract printed"),
)
_JUDGED = (
    may("subject", _EXACT, "what was judged: `step`, `precondition` or `postcondition`"),
    may("number", _EXACT, "the number of the step or condition in the plan"),
    may("contract", _EXACT, "the digest of the command and what is expected of it"),
    may("evidence", _EXACT, "the level of the evidence"),
    may("isolation", _EXACT, "how the contract was kept apart from the agent"),
    may(
        "tests",
        _EXACT_OBJECT,
        "where they are judged by name: how many `passed`, `failed` and `skipped`, and `list`, the"
        " SHA-256 of their names in the vault",
    ),
)

EVENTS: dict[EventKind, EventSpec] = {
    EventKind.PLAN_CREATED: spec(
        "A plan was written for the first time.",
        must("task_count", _INTEGER, "how many steps it has"),
        must("dependencies", _EXACT_OBJECT, "for each step's id the ids that it depends on"),
        *(DIGEST, REVISION, _PATH, BY),
        may(
            "origin",
            _EXACT,
            "what made it: `init`, `new`, `draft`, `import`, `tools` or `integrate`; `file`: it was"
            " written by hand, and is seen for the first time",
        ),
        may("text", _EXACT, "where the text is kept: its SHA-256 in the vault"),
        may("manifest", _EXACT, "the tree before the work: the SHA-256 in the vault"),
        *(_PROBES, _SESSION),
    ),
    EventKind.PLAN_VERIFIED: spec(
        "A plan was verified, and its digest was a new one.",
        *(DIGEST, REVISION, _PATH),
        may("errors", _INTEGER, "how many errors were found"),
        may("warnings", _INTEGER, "how many warnings were found"),
        may("task_count", _INTEGER, "how many steps it has"),
        may("dependencies", _EXACT_OBJECT, "for each step's id the ids that it depends on"),
    ),
    EventKind.PLAN_EDITED: spec(
        "Somebody had changed the meaning of a plan in its file, so that its status is another.",
        must("from", _EXACT, "the digest that was known before"),
        must("to", _EXACT, "the digest that the file has now"),
        may("status", _EXACT, "the plan's status from now on: `draft`, or what it was, if undone"),
    ),
    EventKind.PLAN_REWRITTEN: spec(
        "The meaning of a plan changed, so that it is a draft again.",
        must("from", _EXACT, "the digest before"),
        must("to", _EXACT, "the digest after"),
        *(REVISION, BY, REASON, _SESSION),
        may("changes", _TEXTS, "what was changed at the gate, one by one"),
        may("text_before", _EXACT, "where the text before is kept: its SHA-256 in the vault"),
        may("text", _EXACT, "where the new text is kept: its SHA-256 in the vault"),
        may("diff", _TEXT, "what is different, line by line"),
        may("kept", _EXACTS, "the ids of the steps whose meaning is the same"),
        may("kept_conditions", _EXACTS, "the numbers of the postconditions that are the same"),
        may("kept_preconditions", _EXACTS, "the numbers of the preconditions that are the same"),
        may(
            "dropped",
            DetailType.TEXTS_BY_ID,
            "for each step or precondition that is gone its title",
        ),
        _PROBES,
    ),
    EventKind.PLAN_AMENDED: spec(
        "An approved plan was changed on purpose and got a new revision.",
        *(DIGEST, REVISION, BY, REASON),
        may("from", _EXACT, "the digest before"),
        may("to", _EXACT, "the digest after"),
        may("kept", _EXACTS, "the ids of the steps that stay settled"),
    ),
    EventKind.PLAN_STAGED: spec(
        "A plan was put into the queue.",
        *(_PATH, DIGEST, BY),
    ),
    EventKind.PLAN_ACTIVATED: spec(
        "A queued plan was made an active one.",
        *(_PATH, DIGEST, BY),
    ),
    EventKind.PLAN_ARCHIVED: spec(
        "A plan was put into the archive.",
        *(_PATH, DIGEST, BY),
        may("status", _EXACT, "the plan's status when it was archived"),
    ),
    EventKind.GATE_APPROVAL_REQUESTED: spec(
        "A person was asked to approve a plan.",
        must("plan_id", _EXACT, "the plan's slug"),
        must("digest", _EXACT, "the digest of the meaning that is to be approved"),
        may("reminder", _INTEGER, "which reminder this is, from 1"),
        may("text", _EXACT, "where the plan's text is kept: the SHA-256 in the vault"),
        *(REVISION, _JUDGES, TREE),
    ),
    EventKind.GATE_APPROVED: spec(
        "A person approved exactly this plan.",
        must("modifications", _TEXTS, "what was changed on the way to it; empty for nothing"),
        *(DIGEST, REVISION, BY, REASON, _JUDGES, TREE),
        may("nonce", _EXACT, "what makes this approval unlike any other"),
        may("method", _EXACT, "how it was given: `terminal`, `digest`, `signature` or `policy`"),
        may("strength", _EXACT, "how well it is known who it was: `proof`, `word` or `rule`"),
        may("policy", _EXACT, "the policy of the configuration that approved it"),
        may("project", _EXACT, "the id of the repository that it was given in"),
        may("configuration", _EXACT, "the digest of the configuration that contracts run under"),
        may("expires", _EXACT, "until when it holds"),
        may("tools", _EXACT_OBJECT, "for each program of a contract its version and place"),
        may("seen", _EXACTS, "the codes of warnings that the plan was approved in spite of"),
        may("missing_tools", _TEXTS, "programs of contracts that were not there"),
        may("text", _EXACT, "where the plan's text is kept: the SHA-256 in the vault"),
    ),
    EventKind.GATE_REJECTED: spec(
        "A person refused a plan.",
        must("reason", _TEXT, "why; empty where nobody said"),
        *(DIGEST, REVISION, BY),
    ),
    EventKind.GATE_CLARIFICATION_ASKED: spec(
        "A person asked something about a plan before deciding.",
        must("question", _TEXT, "what was asked"),
        may("answer", _TEXT, "what was answered"),
        *(DIGEST, REVISION, BY),
    ),
    EventKind.EXECUTION_STARTED: spec(
        "A run of an approved plan began, or went on after a stop.",
        must("run", _EXACT, "the id of the run"),
        must("nonce", _EXACT, "the approval that this run consumes"),
        may("resumed", _FLAG, "whether it went on; false: it began"),
        may("task_count", _INTEGER, "how many steps the plan has"),
        may("motor", _EXACT, "what drives it: `inline` or `dbos`"),
        may("holder", _TEXT, "who holds the plan's lease"),
        may("jobs", _INTEGER, "how many steps may run at once"),
        may("budget", _EXACT_OBJECT, "what may be spent: `tokens`, `dollars`, `seconds`"),
        may("version", _EXACT, "the version of planbound"),
        may("edited", _TEXTS, "files that somebody changed since the run stopped"),
        may("anyway", _TEXT, "what it depends on and is not proved, where it is run all the same"),
        *(REVISION, DIGEST, TREE),
        may("manifest", _EXACT, "where the whole tree is kept: the SHA-256 in the vault"),
    ),
    EventKind.TASK_STARTED: spec(
        "An attempt at a step began; recorded before anything happened.",
        must("attempt", _INTEGER, "which attempt at the step it is, from 1"),
        may("agent", _EXACT, "the agent that gets the step"),
        may("target", _TEXT, "the role that the step names"),
        *(_PLACE, _RUN, REVISION, DIGEST, TREE),
        may("manifest", _EXACT, "the tree before the step: the SHA-256 in the vault"),
        may("baseline", _EXACT, "what the contract said before the step, where that is known"),
        may("copy", _EXACT, "the name of the copy of the workspace that it works in"),
        *(_NOTES, _SESSION),
    ),
    EventKind.ATTEMPT_ENDED: spec(
        "The agent's part of an attempt is over, and everything that it started is dead.",
        must("attempt", _INTEGER, "which attempt at the step it is, from 1"),
        must("ending", _EXACT, "how: `exited`, `timed out`, `interrupted`, `stopped`, `lost`, ..."),
        may("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        may("tokens", DetailType.INTEGER_OR_NULL, "how many were used; null: nobody knows"),
        may("estimated", _INTEGER, "how many of the tokens are estimated: a request was cut off"),
        may("dollars", DetailType.EXACT_OR_NULL, "what it cost; null: nobody knows"),
        may("agent", _EXACT, "the agent that had the step"),
        may("role", _TEXT, "the target of the step"),
        may("type", _EXACT, "what kind of work it was: `code`, `review`, `test`, ..."),
        may("session", _TEXT, "the agent's own name for its session"),
        may(
            "subscriptions",
            DetailType.SOURCES,
            "the context that it got, each with its SHA-256 or `missing`",
        ),
        may("agent_plan", _TEXTS, "what the agent itself noted as its plan, at last"),
        may("error", _TEXT, "the kind of error that the agent reports of itself"),
        may("mended", _TEXTS, "what it changed in the repository and was put back, nothing lost"),
        may("leftovers", _INTEGER, "how many processes it left behind, which were ended"),
        may("prompt", _TEXT, "all that the agent was told"),
        may("output_digest", _EXACT, "the digest of all that the agent printed"),
        may("output_tail", _TEXT, "the end of what the agent printed"),
        may("changed", _TEXTS, "the files that changed since the step began"),
        *(_PLACE, _RUN, DURATION, REASON),
    ),
    EventKind.BASELINE_OBSERVED: spec(
        "A contract was run before any work was done.",
        must("verdict", _EXACT, "what the harness found: a fail is a red baseline"),
        may("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        *(_RUN, _ATTEMPT, DURATION, TREE, REASON, *_OUTPUT, *_JUDGED),
        may("baseline", _EXACT, "the id that all contracts of one baseline share"),
        may("plan_digest", _EXACT, "the digest of the plan that the baseline is of"),
        may("configuration", _EXACT, "the digest of the configuration that contracts run under"),
        may("manifest", _EXACT, "where the whole tree is kept: the SHA-256 in the vault"),
    ),
    EventKind.CONTRACT_STARTED: spec(
        "For an agent in the loop a contract is about to run; without a verdict it was cut off.",
        must("subject", _EXACT, "what is judged, such as `step`"),
        must("number", _EXACT, "its number in the plan"),
        _SESSION,
    ),
    EventKind.CONTRACT_EVALUATED: spec(
        "The harness ran a contract and came to a verdict.",
        must("verdict", _EXACT, "what the harness found"),
        must("exit_code", DetailType.INTEGER_OR_NULL, "the exit code, null if there was none"),
        *(_RUN, _ATTEMPT, DURATION, TREE, REASON, *_OUTPUT, *_JUDGED),
        may("canary", _EXACT, "what came of a run with a failing test added"),
        may("tampered", _TEXTS, "judges that are not as they were frozen"),
        may("outside", _TEXTS, "files outside `touches` that changed"),
        may("new_failures", _TEXTS, "tests that fail or are skipped, and did not at the baseline"),
        may("disappeared", _TEXTS, "tests of the baseline that did not run"),
        may("leftovers", _INTEGER, "how many processes the contract left running"),
        may("final", _FLAG, "whether it was judged once more at the end of the run"),
        may("result", _EXACT, "what a pass makes of a postcondition: `proved` or `holds`"),
        _LATE,
        *_BEFORE,
    ),
    EventKind.TASK_COMPLETED: spec(
        "A step is done.",
        must("result", _EXACT, "how it was settled: `proved`, `holds`, `claimed` or `attested`"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, TREE, *_BEFORE, REASON),
        may("manifest", _EXACT, "the tree after the step: the SHA-256 in the vault"),
        may("evidence", _TEXT, "what the agent says that shows it"),
        *(_NOTES, _SESSION),
    ),
    EventKind.TASK_FAILED: spec(
        "A step failed, and nothing more will be tried by itself.",
        must("error_message", _TEXT, "what went wrong"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT),
    ),
    EventKind.TASK_SKIPPED: spec(
        "A step was left out by a person's decision.",
        *(_PLACE, REASON, BY, _RUN),
    ),
    EventKind.TASK_BLOCKED: spec(
        "An agent in the loop says that a step cannot be done.",
        must("reason", _TEXT, "why"),
        *(_PLACE, _NOTES, _SESSION),
    ),
    EventKind.TASK_REOPENED: spec(
        "An agent in the loop takes a step back to pending; its evidence stays on record.",
        must("before", _EXACT, "where it was"),
        *(_PLACE, REASON, _NOTES, _SESSION),
    ),
    EventKind.PRECONDITION_CLAIMED: spec(
        "An agent in the loop says that a precondition holds, which has no contract.",
        must("number", _EXACT, "the number of the precondition"),
        must("evidence", _TEXT, "what the agent says that shows it"),
        *(_LATE, _SESSION),
    ),
    EventKind.POSTCONDITION_CLAIMED: spec(
        "An agent in the loop says that a postcondition holds, which has no contract.",
        must("number", _EXACT, "the number of the postcondition"),
        must("evidence", _TEXT, "what the agent says that shows it"),
        _SESSION,
    ),
    EventKind.POSTCONDITION_BLOCKED: spec(
        "An agent in the loop says that a postcondition cannot be reached.",
        must("number", _EXACT, "the number of the postcondition"),
        must("reason", _TEXT, "why"),
        _SESSION,
    ),
    EventKind.FAILURE_DETECTED: spec(
        "Something went wrong with an attempt.",
        may("error_message", _TEXT, "the error itself, in the words of what failed if it had any"),
        may("failed", _EXACT, "what failed: `agent`, `time limit` or `contract`"),
        may("exit_code", DetailType.INTEGER_OR_NULL, "that of what failed, null if there is none"),
        may("signature", _EXACT, "the same for the same failure on the same tree"),
        may("destroyed", _TEXTS, "what the agent destroyed, and was put back"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, REASON),
    ),
    EventKind.FAILURE_CLASSIFIED: spec(
        "A failure got its type.",
        must(
            "failure_type",
            _EXACT,
            "`transient`, `permission`, `invalid-input`, `logic`, `unrecoverable`, `unknown`, ...",
        ),
        may("rule", _EXACT, "the rule that says so"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, REASON),
    ),
    EventKind.RECOVERY_APPLIED: spec(
        "A recipe was followed.",
        must("recipe_name", _EXACT, "the recipe"),
        must(
            "outcome", _EXACT, "what follows: `retry`; see `RECOVERY_OUTCOME` for what came of it"
        ),
        may("backoff", _NUMBER, "how many seconds are waited"),
        may("until", _EXACT, "when it goes on"),
        may("failure_type", _EXACT, "the type of the failure that it answers"),
        may("retry", _INTEGER, "which retry of this recipe it is, from 1"),
        may("of", _INTEGER, "how many retries there are"),
        *(_PLACE, _RUN, _ATTEMPT, REASON),
    ),
    EventKind.RECOVERY_OUTCOME: spec(
        "What came of a recipe that was followed; once for each `RECOVERY_APPLIED`.",
        must("recovery", _EXACT, "the id of the `RECOVERY_APPLIED`"),
        must("outcome", _EXACT, "`success`, `failed` or `escalated`"),
        may("recipe_name", _EXACT, "the recipe"),
        *(_PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.RECOVERY_ESCALATION: spec(
        "A question went to a person, or came back answered.",
        must("reason", _TEXT, "why a person is asked"),
        must(
            "user_decision",
            DetailType.EXACT_OR_NULL,
            "`retry`, `skip`, `abort`, `revise`, ...; null while the question waits",
        ),
        may("escalation", _EXACT, "the id of the question in the inbox"),
        may("kind", _EXACT, "what is asked: `failure`, `permission`, `budget`, `attestation`, ..."),
        may("choices", _EXACTS, "what can be answered"),
        may("leaves_out", _EXACTS, "the numbers of the steps that `skip` leaves out, too"),
        may("guidance", _TEXT, "what the person says for the next attempt"),
        may("failure_type", _EXACT, "the type of the failure"),
        may("question", _TEXT, "what the recipe asks in words of its own"),
        may("exhausted", _FLAG, "whether retries were used up; false: none was tried"),
        may("output_tail", _TEXT, "the end of the last output"),
        may("agent_tail", _TEXT, "the end of what the agent printed"),
        may("diff", _TEXT, "what the step has changed so far"),
        may("subject", _EXACT, "what it is about: `step`, `precondition`, `postcondition`, `plan`"),
        *(_PLACE, _RUN, _ATTEMPT, _VERDICT, BY),
    ),
    EventKind.PERMISSION_REQUIRED: spec(
        "The work needs a permission or a credential that is not there.",
        must("reason", _TEXT, "what was refused"),
        may("credential", _TEXT, "the name, never the value, of what has to be configured"),
        *(_PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.SCOPE_VIOLATED: spec(
        "Files were changed that the step may not touch.",
        *(_FILES, _RESTORED, _PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.JUDGE_TAMPERED: spec(
        "Files that a contract judges by were changed under the step.",
        *(_FILES, _RESTORED, _PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.BUDGET_EXCEEDED: spec(
        "A limit was reached, or leaves too little for an attempt that was to begin.",
        must("limit", _EXACT, "which one: `tokens`, `cost` or `time`"),
        may("allowed", _NUMBER, "how much there was"),
        may("spent", _NUMBER, "how much was used"),
        may("remaining", _INTEGER, "how many steps are not settled"),
        may("needed", _NUMBER, "how much more they are likely to need; with `left`: the attempt"),
        may("left", _NUMBER, "how much there still is, where the attempt did not begin"),
        may("basis", _TEXT, "where the number of what the attempt needs comes from"),
        *(_PLACE, _RUN, _ATTEMPT),
    ),
    EventKind.BUDGET_RAISED: spec(
        "A person allowed more to be spent.",
        _BY_WHOM,
        may("tokens", _INTEGER, "how many more tokens"),
        may("dollars", _EXACT, "how many more dollars"),
        may("seconds", _NUMBER, "how many more seconds"),
        *(_RUN, REASON),
    ),
    EventKind.WAIVED: spec(
        "A person decided to go on without a pass.",
        _BY_WHOM,
        must("reason", _TEXT, "why"),
        may("subject", _EXACT, "what is waived: `step`, `precondition` or `postcondition`"),
        may("method", _EXACT, "how it was given"),
        *(_PLACE, _RUN, _VERDICT, DIGEST, REVISION, TREE),
    ),
    EventKind.ATTESTED: spec(
        "A named person signed a statement.",
        _BY_WHOM,
        must("statement", _TEXT, "what was signed"),
        may("subject", _EXACT, "what is attested: `step`, `precondition` or `postcondition`"),
        may("method", _EXACT, "how it was given"),
        *(_PLACE, _RUN, DIGEST, REVISION, TREE),
    ),
    EventKind.FINALIZATION_REJECTED: spec(
        "An agent said that it was done, and the plan was not.",
        _MISSING,
        may("refusals", _INTEGER, "how often in a row, without progress"),
        may("broken", _FLAG, "whether the gate itself could not tell"),
        *(_RUN, TREE, REASON, _SAID, _SESSION),
    ),
    EventKind.FINALIZATION_ACCEPTED: spec(
        "An agent said that it was done, and the plan was.",
        *(_RUN, DIGEST, REVISION, TREE, _SAID, _SESSION),
        may("outcome", _EXACT, "`done`, or `finished with blocked items`"),
        may("claimed", _TEXTS, "what is only claimed, and proved by nobody"),
        may("blocked", _TEXTS, "what could not be done, each with its reason"),
        may("holds", _TEXTS, "the steps that pass, and that nobody saw red before the work"),
        may("preconditions", _TEXTS, "those that were red first, or seen to hold too late"),
    ),
    EventKind.SESSION_RELEASED: spec(
        "A person ended an agent's duty to a plan.",
        _BY_WHOM,
        *(REASON, _SESSION),
        may("method", _EXACT, "how it was given"),
    ),
    EventKind.LEASE_RELEASED: spec(
        "A person took the lease of a plan away; its holder writes nothing from then on.",
        _BY_WHOM,
        may("holder", _TEXT, "who held it"),
        may("number", _INTEGER, "the number of the lease that was taken away"),
        REASON,
        may("method", _EXACT, "how it was given"),
    ),
    EventKind.FINALIZATION_CAPPED: spec(
        "An agent was refused too often without progress; the run ends as incomplete.",
        _MISSING,
        may("refusals", _INTEGER, "how often in a row, without progress"),
        *(_RUN, _SESSION),
    ),
    EventKind.EXECUTION_PAUSED: spec(
        "A run stopped before its end, and can go on.",
        must("reason", _TEXT, "why: `interrupted`, `waiting`, ..."),
        *(_RUN, TREE),
        may("manifest", _EXACT, "the tree as it was then: the SHA-256 in the vault"),
    ),
    EventKind.EXECUTION_CANCELLED: spec(
        "A person ended a run.",
        _BY_WHOM,
        *(_RUN, REASON),
    ),
    EventKind.EXECUTION_COMPLETE: spec(
        "A run came to its end, whatever that end is.",
        must(
            "completed",
            _INTEGER,
            "how many steps are proved; without `attested`, also those",
        ),
        may("holds", _INTEGER, "how many steps hold: green now, and seen red by nobody before"),
        may("attested", _INTEGER, "how many steps a person answers for"),
        must("failed", _INTEGER, "how many steps failed"),
        must("skipped", _INTEGER, "how many steps were left out"),
        must("waived", _INTEGER, "how many steps went on without a pass"),
        may("status", _EXACT, "the plan's status after the run"),
        may("postconditions", _INTEGER, "how many postconditions hold"),
        may("conditions", _INTEGER, "how many postconditions there are"),
        may("recoveries", _INTEGER, "how many times a recipe was followed"),
        may("tokens", _INTEGER, "how many tokens are known to have been used"),
        may("estimated", _INTEGER, "how many of these are estimated"),
        may("dollars", _EXACT, "what it is known to have cost"),
        may("unmetered", _INTEGER, "how many attempts did not say what they used"),
        *(_RUN, REVISION, DIGEST, DURATION, TREE, REASON),
        may("manifest", _EXACT, "the tree at the end: the SHA-256 in the vault"),
    ),
    **TEAM_EVENTS,
}
