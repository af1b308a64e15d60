"""What a plan means: frozen values, each with its place in the file."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal

from msgspec import Struct

from planbound.plan.limits import Budget
from planbound.source import Finding, Located, Source, Span, lazy_pattern

# -- labels of steps: `3`, the templates `3-N` and `N+1`, and references to them -----------------


def is_template(label: str) -> bool:
    """Say whether a label stands for steps that are still to be written out."""
    return label == "N" or label.endswith("-N") or label.startswith("N+")


def normalise_label(written: str) -> str:
    """Return `3-N` for `3 – n`, `N+1` for `N + 1`, `3` for `03`."""
    compact = re.sub(r"\s+", "", written)
    compact = re.sub(r"[–—−]|\.\.+|…|to", "-", compact, flags=re.IGNORECASE)
    if compact.isdecimal():
        return str(int(compact))
    return re.sub(r"n", "N", compact) if re.search(r"n", compact, re.IGNORECASE) else compact


_REFERENCE = lazy_pattern(
    r"(?P<none>none|nothing|n/a|[-–—](?!\d)|no\b)"
    r"|(?P<template>\d{1,6}\s*[-–—−]\s*N\b|N\s*\+\s*\d{1,4}|N\b)"
    r"|(?P<low>\d{1,6})\s*(?:[-–—−]|\.\.+|\bto\b)\s*(?P<high>\d{1,6})"
    r"|(?P<one>\d{1,6})(?![.\d]\d)(?!\w)"
    r"|(?P<filler>steps?\b|tasks?\b|and\b|[\s,;&#.+])"
    r"|(?P<junk>[^\s,;]+)",
    re.IGNORECASE | re.ASCII,
)
MAX_RANGE = 10_000


def read_references(text: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """Return the step labels that a text names, and what in it is no label, with their ranges."""
    labels: list[tuple[str, int, int]] = []
    junk: list[tuple[str, int, int]] = []
    for match in _REFERENCE.finditer(text):
        place = (match.start(), match.end())
        if match["low"] is not None:
            low, high = int(match["low"]), int(match["high"])
            if low < high <= low + MAX_RANGE:
                labels += [(str(number), *place) for number in range(low, high + 1)]
            else:
                junk.append((match.group(), *place))
        elif match["one"] or match["template"]:
            labels.append((normalise_label(match.group()), *place))
        elif match["junk"]:
            junk.append((match.group(), *place))
    return labels, junk


# -- what a plan means: frozen values, each with its place in the file ---------------------------


USUAL_TARGET = "coder"
"""The target of a step that names none."""


class PlanStatus(enum.Enum):
    """Where a plan is in its life; written by the harness alone."""

    DRAFT = "draft"
    VERIFIED = "verified"
    APPROVED = "approved"
    IN_PROGRESS = "in-progress"
    DONE = "done"
    DONE_WITH_SKIPS = "done with skips"
    FINISHED_BLOCKED = "finished with blocked items"
    """An agent in the loop ended, and some of it could not be done."""
    FAILED = "failed"
    CANCELLED = "cancelled"
    """A person ended its run; it goes through the gate again."""

    @property
    def is_finished(self) -> bool:
        """Whether it came to its end, with or without all of its steps."""
        return self in {
            PlanStatus.DONE,
            PlanStatus.DONE_WITH_SKIPS,
            PlanStatus.FINISHED_BLOCKED,
        }

    @property
    def is_past_gate(self) -> bool:
        """Whether somebody must have approved it to be there."""
        return self not in {PlanStatus.DRAFT, PlanStatus.VERIFIED}


class StepStatus(enum.Enum):
    """Where a step, or a condition of an agent in the loop, is; written by the harness alone."""

    __hash__ = object.__hash__  # an enum's own is slow, and folds ask sets of these all the time

    PENDING = "pending"
    IN_PROGRESS = "in-progress"
    """An attempt began, and nothing is known of its end."""
    WAITING = "waiting"
    """A person is asked."""
    DONE = "done"
    """It is proved: its contract was red before the work, and passes after it."""
    HOLDS = "holds"
    """Its contract passes, and nobody saw it red before the work."""
    FAILED = "failed"
    SKIPPED = "skipped"
    ATTESTED = "attested"
    """A named person answers for it."""
    WAIVED = "waived"
    """A person decided to go on without a pass."""
    BLOCKED = "blocked"
    """An agent in the loop says that it cannot be done."""
    CLAIMED = "claimed"
    """It has no contract: somebody says so, with evidence."""

    @property
    def is_green(self) -> bool:
        """Whether the harness saw its contract pass."""
        return self in _GREEN

    @property
    def is_by_person(self) -> bool:
        """Whether a person settled it instead of a pass, so that no agent changes it."""
        return self in _BY_PERSON

    @property
    def is_settled(self) -> bool:
        """Whether nothing is left to do, and what depends on it can go on."""
        return self in _SETTLED

    @property
    def in_file(self) -> StepStatus:
        """How the plan's file shows it: a step that waits for a person is blocked there."""
        return StepStatus.BLOCKED if self is StepStatus.WAITING else self

    @property
    def mark(self) -> str:
        """Return the sign in front of the step's title."""
        return _MARKS[self.in_file]


_GREEN = frozenset({StepStatus.DONE, StepStatus.HOLDS})
_BY_PERSON = frozenset({StepStatus.WAIVED, StepStatus.ATTESTED})
_SETTLED = _GREEN | _BY_PERSON | {StepStatus.SKIPPED, StepStatus.CLAIMED}


_MARKS = {
    StepStatus.PENDING: "",
    StepStatus.IN_PROGRESS: "⏳",
    StepStatus.DONE: "✅",
    StepStatus.HOLDS: "🆗",
    StepStatus.FAILED: "❌",
    StepStatus.SKIPPED: "⏭️",
    StepStatus.ATTESTED: "🖋️",
    StepStatus.WAIVED: "🟡",
    StepStatus.BLOCKED: "⛔",
    StepStatus.CLAIMED: "☑️",
}


class Priority(enum.Enum):
    """Which plan a worker takes first."""

    LOW = "low"
    NORMAL = "normal"
    HIGH = "high"
    URGENT = "urgent"


class Stream(enum.Enum):
    """What a command writes to."""

    STDOUT = "stdout"
    STDERR = "stderr"


class Baseline(enum.Enum):
    """How a contract must look before the work: red, or any colour."""

    RED = "red"
    ANY = "any"


class Evidence(enum.Enum):
    """How well a verdict must be founded at least."""

    E0 = "E0"
    E1 = "E1"
    E2 = "E2"
    E3 = "E3"
    E4 = "E4"
    E5 = "E5"


class Exhausted(enum.Enum):
    """What happens to a step when its retries are used up."""

    ESCALATE = "escalate"
    ABORT = "abort"


class OnFail(Struct, frozen=True):
    """How a failed step is answered: so many retries, then a person or the end."""

    retries: int = 2
    then: Exhausted = Exhausted.ESCALATE


class ExitCodeIs(Struct, frozen=True):
    """`exit_code == N`."""

    code: int


class Contains(Struct, frozen=True):
    """`stdout contains "..."`, `stderr contains "..."`."""

    stream: Stream
    text: str


class OutputIs(Struct, frozen=True):
    """`stdout == "..."`."""

    text: str


class MinimumTests(Struct, frozen=True):
    """`tests >= N`."""

    minimum: int


class MaximumFailures(Struct, frozen=True):
    """`failed <= N`."""

    maximum: int


class NoNewFailures(Struct, frozen=True):
    """`no new failures`: what passed at the baseline passes, and no test disappeared."""


Expectation = ExitCodeIs | Contains | OutputIs | MinimumTests | MaximumFailures | NoNewFailures


class Wrapping(enum.Enum):
    """How the command of a contract is written in the file."""

    FENCE = "fence"
    INLINE = "inline code"
    INDENTED = "indented code"
    BARE = "bare text"


class _Fenced(Struct, frozen=True):
    """What the harness is to run, as it stands in the file."""

    text: str
    """What stands there, line ends as `\\n`, without the last one."""
    language: str
    """The tag of the fence, lower case; empty where there is none."""
    wrapping: Wrapping
    expectations: tuple[Located[Expectation], ...]
    lines: tuple[Span, ...]
    """Where each line of the text stands in the file."""
    span: Span

    def locate(self, start: int, end: int) -> Span:
        """Return the place in the file of a range of the text."""
        first, last = self._offset(start), self._offset(end)
        return Span(first, max(first, last))

    def _offset(self, position: int) -> int:
        line = self.text.count("\n", 0, position)
        column = position - (self.text.rfind("\n", 0, position) + 1)
        if line >= len(self.lines):
            return self.span.end
        return min(self.lines[line].start + column, self.lines[line].end)


class Command(_Fenced, frozen=True):
    """A contract that is a shell command."""


class CaseTable(_Fenced, frozen=True):
    """A contract that is a table of cases; `plan/check.py` reads it.

    The product is started for each case, and what it answers is compared outside its process.
    """


class Attest(Struct, frozen=True):
    """A contract that a named person attests."""

    statement: str
    span: Span


Judged = Command | CaseTable
"""What the harness runs; an attestation is a person's."""
Contract = Judged | Attest


class Rejected(Struct, frozen=True):
    """A change that a contract has to fail with: a control. `plan/patch.py` reads it."""

    path: str | None
    """The file that holds the diff; None: it stands in the plan."""
    text: str
    """The diff in the plan, line ends as `\\n`."""
    lines: tuple[Span, ...]
    """Where each of its lines stands in the file."""
    span: Span


def named_controls(rejects: Iterable[Rejected]) -> Iterator[tuple[str, Rejected]]:
    """Yield each control with what it is called: its file, or `diff 1`."""
    count = 0
    for each in rejects:
        count += each.path is None
        yield each.path or f"diff {count}", each


class Words(Struct, frozen=True):
    """Text of a task: only its words count, not how it is wrapped."""

    text: str


class Code(Struct, frozen=True):
    """Code in a task: every character counts."""

    info: str
    text: str


class Prose(Struct, frozen=True):
    """Free text with code in it."""

    text: str
    parts: tuple[Words | Code, ...]
    span: Span


class SubscriptionKind(enum.Enum):
    """What a step can be given as context."""

    FILE = "file"
    TOPIC = "topic"


class Subscription(Struct, frozen=True):
    """Context that a step gets."""

    kind: SubscriptionKind
    name: str


class Field(Struct, frozen=True):
    """A label and what stands behind it, as written."""

    name: str
    """The known name where the label is one, else the label in lower case."""
    written: str
    label: Span
    span: Span
    text: str
    """The value as one line: what the digest takes where the value could not be read."""
    read: bool
    """Whether the value was understood; a field that was not is reported, never dropped."""


class Step(Struct, frozen=True):
    """One unit of work."""

    label: str
    """The number as written, normalised: `3`, `3-N`, `N+1`; empty where there is none."""
    number: int | None
    id: str
    title: str
    status: Located[StepStatus] | None
    target: Located[str] | None
    depends: tuple[Located[str], ...] | None
    """Labels of steps; None: the step before this one."""
    subscriptions: tuple[Located[Subscription], ...]
    touches: tuple[Located[str], ...] | None
    """None: what the plan may change; empty: nothing."""
    judges: tuple[Located[str], ...]
    timeout: Located[Decimal] | None
    contract_timeout: Located[Decimal] | None
    budget: Located[Budget] | None
    baseline: Located[Baseline] | None
    evidence: Located[Evidence] | None
    repeat: Located[int] | None
    task: Prose | None
    contract: Contract | None
    rejects: tuple[Rejected, ...]
    """What the contract has to fail with."""
    on_fail: Located[OnFail] | None
    notes: Prose | None
    """Text that belongs to no field."""
    fields: tuple[Field, ...]
    heading: Span
    """The text of the heading."""
    span: Span

    @property
    def is_template(self) -> bool:
        """Whether this stands for steps that are still to be written out."""
        return is_template(self.label)


class Condition(Struct, frozen=True):
    """A precondition or postcondition."""

    number: int
    statement: str
    contract: Contract | None
    rejects: tuple[Rejected, ...]
    judges: tuple[Located[str], ...]
    contract_timeout: Located[Decimal] | None
    evidence: Located[Evidence] | None
    repeat: Located[int] | None
    fields: tuple[Field, ...]
    heading: Span
    """The statement."""
    span: Span


class Frontmatter(Struct, frozen=True):
    """The part for machines."""

    type: Located[str] | None = None
    status: Located[PlanStatus] | None = None
    owner: Located[str] | None = None
    depends_on: tuple[Located[str], ...] = ()
    touches: tuple[Located[str], ...] = ()
    expected_artifacts: tuple[Located[str], ...] = ()
    unread: tuple[tuple[str, str], ...] = ()
    """Keys that are unknown or whose value was not understood, with the value as written."""
    span: Span | None = None
    """Between the two marks; None where there is no frontmatter."""


class Plan(Struct, frozen=True):
    """A whole plan: its meaning, its text, and what the parser could not make sense of."""

    source: Source
    frontmatter: Frontmatter
    objective: Located[str] | None
    preamble: Prose | None
    """Text between the objective and the first section that belongs to no field."""
    context: Prose | None
    budget: Located[Budget] | None
    priority: Located[Priority] | None
    fields: tuple[Field, ...]
    preconditions: tuple[Condition, ...]
    steps: tuple[Step, ...]
    postconditions: tuple[Condition, ...]
    notes: tuple[str, ...]
    """Headings of sections that are not part of the language: people's own notes."""
    faults: tuple[Fault, ...]

    @property
    def status(self) -> PlanStatus:
        """Return the status that the file shows."""
        return self.frontmatter.status.value if self.frontmatter.status else PlanStatus.DRAFT

    def dependencies(self) -> tuple[tuple[str, ...], ...]:
        """Return for each step the labels that it depends on, the default filled in."""
        result: list[tuple[str, ...]] = []
        for index, step in enumerate(self.steps):
            if step.depends is not None:
                result.append(tuple(dict.fromkeys(item.value for item in step.depends)))
            else:
                result.append((self.steps[index - 1].label,) if index else ())
        return tuple(result)

    def touches_of(self, step: Step) -> tuple[Located[str], ...]:
        """Return what a step may change: its own patterns, else the plan's."""
        return self.frontmatter.touches if step.touches is None else step.touches


class Fault(Struct, frozen=True):
    """What the parser noticed; `rule` names the rule that reports it."""

    rule: str
    finding: Finding
