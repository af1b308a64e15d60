"""What a plan means: frozen values, each with its place in the file."""

from __future__ import annotations

import enum
from decimal import Decimal
from typing import NamedTuple

from planbound.plan.labels import is_template
from planbound.plan.limits import Budget
from planbound.source import Finding, Located, Source, Span


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
    """Where a step is; written by the harness alone."""

    PENDING = "pending"
    IN_PROGRESS = "in-progress"
    DONE = "done"
    HOLDS = "holds"
    """Its contract passes, as it did before the work."""
    FAILED = "failed"
    SKIPPED = "skipped"
    ATTESTED = "attested"
    """A named person answers for it."""
    WAIVED = "waived"
    BLOCKED = "blocked"
    CLAIMED = "claimed"

    @property
    def mark(self) -> str:
        """Return the sign in front of the step's title."""
        return _MARKS[self]


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


class OnFail(NamedTuple):
    """How a failed step is answered: so many retries, then a person or the end."""

    retries: int = 2
    then: Exhausted = Exhausted.ESCALATE


class ExitCodeIs(NamedTuple):
    """`exit_code == N`."""

    code: int


class Contains(NamedTuple):
    """`stdout contains "..."`, `stderr contains "..."`."""

    stream: Stream
    text: str


class OutputIs(NamedTuple):
    """`stdout == "..."`."""

    text: str


class MinimumTests(NamedTuple):
    """`tests >= N`."""

    minimum: int


class MaximumFailures(NamedTuple):
    """`failed <= N`."""

    maximum: int


class NoNewFailures(NamedTuple):
    """`no new failures`: what passed at the baseline passes, and no test disappeared."""


Expectation = ExitCodeIs | Contains | OutputIs | MinimumTests | MaximumFailures | NoNewFailures


class Wrapping(enum.Enum):
    """How the command of a contract is written in the file."""

    FENCE = "fence"
    INLINE = "inline code"
    INDENTED = "indented code"
    BARE = "bare text"


class Command(NamedTuple):
    """A contract that the harness runs."""

    text: str
    """The command, line ends as `\\n`, without the last one."""
    language: str
    """The tag of the fence, lower case; empty where there is none."""
    wrapping: Wrapping
    expectations: tuple[Located[Expectation], ...]
    lines: tuple[Span, ...]
    """Where each line of the command stands in the file."""
    span: Span

    def locate(self, start: int, end: int) -> Span:
        """Return the place in the file of a range of the command's text."""
        first, last = self._offset(start), self._offset(end)
        return Span(first, max(first, last))

    def _offset(self, position: int) -> int:
        line = self.text.count("\n", 0, position)
        column = position - (self.text.rfind("\n", 0, position) + 1)
        if line >= len(self.lines):
            return self.span.end
        return min(self.lines[line].start + column, self.lines[line].end)


class Attest(NamedTuple):
    """A contract that a named person attests."""

    statement: str
    span: Span


Contract = Command | Attest


class Words(NamedTuple):
    """Text of a task: only its words count, not how it is wrapped."""

    text: str


class Code(NamedTuple):
    """Code in a task: every character counts."""

    info: str
    text: str


class Prose(NamedTuple):
    """Free text with code in it."""

    text: str
    parts: tuple[Words | Code, ...]
    span: Span


class SubscriptionKind(enum.Enum):
    """What a step can be given as context."""

    FILE = "file"
    TOPIC = "topic"


class Subscription(NamedTuple):
    """Context that a step gets."""

    kind: SubscriptionKind
    name: str


class Field(NamedTuple):
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


class Step(NamedTuple):
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


class Condition(NamedTuple):
    """A precondition or postcondition."""

    number: int
    statement: str
    contract: Contract | None
    judges: tuple[Located[str], ...]
    contract_timeout: Located[Decimal] | None
    evidence: Located[Evidence] | None
    repeat: Located[int] | None
    fields: tuple[Field, ...]
    heading: Span
    """The statement."""
    span: Span


class Frontmatter(NamedTuple):
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


class Plan(NamedTuple):
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


class Fault(NamedTuple):
    """What the parser noticed; `rule` names the rule that reports it."""

    rule: str
    finding: Finding
