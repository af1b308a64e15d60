"""What an approval is bound to, and when it holds no longer."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from planbound.journal.event import EventKind
from planbound.journal.redact import was_redacted


class Strength(enum.Enum):
    """How well it is known who approved."""

    PROOF = "proof"
    """A key that nobody else has."""
    WORD = "word"
    """Somebody said so; another program of the same user could have said it too."""
    RULE = "rule"
    """Nobody: a rule said so."""


class Method(enum.Enum):
    """How somebody approved."""

    TERMINAL = "terminal"
    """Somebody typed it at a terminal. A program can pretend to be one: no wall by itself."""
    DIGEST = "digest"
    """Somebody named the digest and themselves, without a terminal."""
    SIGNATURE = "signature"
    """A key that is allowed to signed the statement: proof of who it was."""
    POLICY = "policy"
    """A rule of the configuration allows plans like this one: nobody looked at it."""
    ELICITATION = "elicitation"
    """Somebody typed it into a form that the client of an agent showed."""

    @property
    def strength(self) -> Strength:
        """How well it is known who it was."""
        return _STRENGTHS[self]

    @property
    def caution(self) -> str:
        """What the method is worth, in a few words."""
        return _CAUTIONS[self]


_STRENGTHS = {
    Method.TERMINAL: Strength.WORD,
    Method.DIGEST: Strength.WORD,
    Method.SIGNATURE: Strength.PROOF,
    Method.POLICY: Strength.RULE,
    Method.ELICITATION: Strength.WORD,
}
_CAUTIONS = {
    Method.TERMINAL: "anybody who can type as you could have done this",
    Method.DIGEST: "anybody who can run a command as you could have done this",
    Method.SIGNATURE: "the key proves who it was",
    Method.POLICY: "a rule of the configuration; nobody looked",
    Method.ELICITATION: "a client that answers for people could have done this",
}


class Approval(NamedTuple):
    """Somebody's yes to exactly one plan, judged by exactly these judges."""

    nonce: str
    digest: str
    judges: Mapping[str, str]
    configuration: str
    by: str
    method: str
    expires: str | None = None
    """In UTC, as the journal writes times."""
    modifications: tuple[str, ...] = ()
    project: str | None = None
    """The repository that it was given in; None in records that are older than that."""
    policy: str | None = None
    tools: Mapping[str, str] | None = None
    """The programs that contracts call, with version and place; None in older records."""


class Standing(NamedTuple):
    """How things are when an approval is looked at."""

    digest: str
    judges: Mapping[str, str]
    configuration: str
    now: str
    project: str | None = None
    used: str | None = None
    """The run that consumed the approval, unless it is the one that asks."""
    tools: Mapping[str, str] | None = None
    """None: not looked at."""


def approval_of(details: Mapping[str, object]) -> Approval | None:
    """Return the approval in the details of a `GATE_APPROVED`; None where it is not whole."""
    judges, changes = details.get("judges"), details.get("modifications")
    texts = [details.get(name) for name in ("nonce", "digest", "configuration", "by", "method")]
    if not isinstance(judges, dict) or not isinstance(changes, list):
        return None
    if not all(isinstance(text, str) for text in texts):
        return None
    nonce, digest, configuration, by, method = map(str, texts)
    expires, project, policy = (details.get(name) for name in ("expires", "project", "policy"))
    tools = details.get("tools")
    return Approval(
        nonce=nonce,
        digest=digest,
        judges={str(path): str(content) for path, content in judges.items()},
        configuration=configuration,
        by=by,
        method=method,
        expires=expires if isinstance(expires, str) else None,
        modifications=tuple(str(change) for change in changes),
        project=project if isinstance(project, str) else None,
        policy=policy if isinstance(policy, str) else None,
        tools={str(name): str(tools[name]) for name in tools} if isinstance(tools, dict) else None,
    )


def takes_back(rewritten: Mapping[str, object]) -> bool:
    """Say whether the `PLAN_REWRITTEN` with these details takes an approval back for good.

    Whoever rewrites a plan at the gate decides about it. What the session of an agent rewrote or
    found changed is another text, for which the approval does not hold: if it is undone, it does.
    """
    return "session" not in rewritten


def is_noticed(kind: EventKind, details: Mapping[str, object]) -> bool:
    """Say whether an event is a `PLAN_REWRITTEN` that only tells that a file was changed.

    The session of an agent found it so, and nobody knows by whom: nothing was decided, and if it
    is undone, everything is as it was.
    """
    by_unknown_hands = "session" in details and "by" not in details
    return kind is EventKind.PLAN_REWRITTEN and by_unknown_hands


def mismatch(approval: Approval, standing: Standing) -> str | None:
    """Return why an approval does not hold, None where it does."""
    return next(_mismatches(approval, standing), None)


def _mismatches(approval: Approval, standing: Standing) -> Iterator[str]:
    """Yield every reason, the one that says most first."""
    known = approval.project is not None and standing.project is not None
    if known and approval.project != standing.project:
        yield f"other repository: it was given in {approval.project}, this is {standing.project}"
    if standing.used is not None:
        yield f"already used: run {standing.used} has it"
    if lost := _lost(approval, standing):
        yield (
            f"its record is not whole: {lost} was taken for a secret when it was written,"
            " so nobody can tell what was approved"
        )
    if approval.digest != standing.digest:
        yield f"digest changed: {approval.digest[:12]} was approved, this is {standing.digest[:12]}"
    if approval.configuration != standing.configuration:
        yield "configuration changed: contracts would run otherwise than was approved"
    for path in sorted({*approval.judges, *standing.judges}):
        if approval.judges.get(path) != standing.judges.get(path):
            yield f"judge changed: {path}"
    if approval.tools is not None and standing.tools is not None:
        changed = list(_changed_tools(approval.tools, standing.tools))
        if changed:
            yield f"judge changed: {', '.join(changed)}"
    # Both are in UTC and written alike.
    if approval.expires is not None and approval.expires <= standing.now:
        yield f"expired: it held until {approval.expires}"


def _lost(approval: Approval, standing: Standing) -> str | None:
    """Return what is missing from a record of an older version, which hid more than secrets."""
    for path, content in approval.judges.items():
        hidden = was_redacted(content) or (was_redacted(path) and path not in standing.judges)
        if hidden and standing.judges.get(path) != content:
            return f"the digest of the judge `{path}`"
    for name in ("digest", "configuration"):
        if was_redacted(getattr(approval, name)):
            return f"the digest of the {'plan' if name == 'digest' else name}"
    return None


def _changed_tools(approved: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    """Yield the programs that are not those which were approved, and how they changed."""
    for name in sorted(approved):
        before, after = approved[name], now.get(name, "gone")
        if before != after:
            versions = [text.partition(" ")[0] for text in (before, after)]
            shown = versions if versions[0] != versions[1] else [before, after]
            yield f"{name} {shown[0]} → {shown[1]}"
