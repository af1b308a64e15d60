"""Patterns that say what a step may touch: PB501 to PB599."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice

from planbound.plan.glob import Glob, GlobError, GlobProblem, meeting_pairs, parse_glob
from planbound.plan.model import Attest
from planbound.source import Finding, Located, Severity, Span
from planbound.verify.subject import Subject, rule


@rule("PB501", Severity.ERROR)
def malformed_glob(subject: Subject) -> Iterable[Finding]:
    """A pattern cannot be read.

    ## What it does
    Reports patterns of `touches`, `judges` and `expected_artifacts` that cannot be read: an unclosed
    bracket, a backslash, `**` glued to other characters.

    ## Why it matters
    A pattern that cannot be read would allow nothing, or everything. Neither is what was meant.

    ## Example
    ```markdown
    **touches:** src/**.py
    ```

    ## Instead
    ```markdown
    **touches:** src/**/*.py
    ```
    """
    return glob_problems(subject, GlobProblem.INVALID)


def glob_problems(subject: Subject, problem: GlobProblem) -> Iterator[Finding]:
    """Yield the patterns that have one problem."""
    for pattern in _patterns(subject):
        if pattern.value in subject.globs:
            continue
        error = _error(pattern.value)
        if error is not None and error.problem is problem:
            yield Finding(pattern.span, error.reason, error.hint)


def _patterns(subject: Subject) -> Iterator[Located[str]]:
    plan = subject.plan
    yield from plan.frontmatter.touches
    yield from plan.frontmatter.expected_artifacts
    for step in plan.steps:
        yield from step.touches or ()
        yield from step.judges
    for condition in (*plan.preconditions, *plan.postconditions):
        yield from condition.judges


@lru_cache(maxsize=1024)
def _error(text: str) -> GlobError | None:
    try:
        parse_glob(text)
    except GlobError as error:
        return error
    return None


@rule("PB502", Severity.ERROR)
def absolute_pattern(subject: Subject) -> Iterable[Finding]:
    """A pattern is absolute.

    ## What it does
    Reports patterns of `touches`, `judges` and `expected_artifacts` that do not start at the
    workspace root: `/etc/**`, `C:/x`, `~/x`.

    ## Why it matters
    The harness looks at the workspace and nowhere else, and a plan must mean the same on every
    machine.

    ## Example
    ```markdown
    **touches:** /home/anna/project/src/**
    ```

    ## Instead
    ```markdown
    **touches:** src/**
    ```
    """
    return glob_problems(subject, GlobProblem.ABSOLUTE)


@rule("PB503", Severity.ERROR)
def escaping_pattern(subject: Subject) -> Iterable[Finding]:
    """A pattern climbs with `..`.

    ## What it does
    Reports patterns of `touches`, `judges` and `expected_artifacts` with a `..` in them.

    ## Why it matters
    Where such a pattern leads depends on symbolic links on the way. The pattern alone must show what a
    step may change, and that must never lie outside the workspace.

    ## Example
    ```markdown
    **touches:** ../shared/**
    ```

    ## Instead
    ```markdown
    **touches:** shared/**
    ```
    """
    return glob_problems(subject, GlobProblem.ESCAPES)


MAX_FINDINGS = 20


@rule("PB504", Severity.WARNING)
def overlapping_touches(subject: Subject) -> Iterable[Finding]:
    """Two steps that may run at the same time may change the same file.

    ## What it does
    Reports pairs of steps where neither waits for the other and whose own `touches` overlap, up to
    twenty pairs.

    ## Why it matters
    Each would change the files of the other, and a contract would judge the work of two steps at once.

    ## Example
    ```markdown
    ### 2. Round once (depends on 1)

    **touches:** src/billing/**

    ### 3. Rename the module (depends on 1)

    **touches:** src/**
    ```

    ## Instead
    ```markdown
    ### 2. Round once (depends on 1)

    **touches:** src/billing/**

    ### 3. Rename the module (depends on 2)

    **touches:** src/**
    ```
    """
    if subject.graph.cycles or not any(subject.graph.parallel):
        return
    for earlier, later, mine, theirs in islice(_Overlaps(subject).pairs(), MAX_FINDINGS):
        other = subject.plan.steps[earlier]
        message = (
            f"`{theirs}` meets `{mine}` of step `{other.label or other.title}`, which may run at "
            "the same time"
        )
        hint = "let one of the two steps depend on the other, or narrow the patterns"
        yield Finding(_place(subject, later, theirs), message, hint)


def _place(subject: Subject, step: int, text: str) -> Span:
    touches = subject.plan.steps[step].touches or ()
    return next(pattern.span for pattern in touches if pattern.value == text)


class _Overlaps:
    """Patterns are compared once however many steps have them; sets of steps are bits."""

    def __init__(self, subject: Subject) -> None:
        self.graph = subject.graph
        self.own = [
            [pattern.value for pattern in step.touches or () if pattern.value in subject.globs]
            if self.graph.parallel[place]
            else []
            for place, step in enumerate(subject.plan.steps)
        ]
        self.together = [self._partners(place) if own else 0 for place, own in enumerate(self.own)]
        self.holders: dict[str, int] = {}
        """By pattern: the steps that have it."""
        self.reached: dict[str, int] = {}
        """By pattern: the steps that may run at the same time as one of them."""
        for place, own in enumerate(self.own):
            for text in own:
                self.holders[text] = self.holders.get(text, 0) | 1 << place
                self.reached[text] = self.reached.get(text, 0) | self.together[place]
        self.meeting = self._meeting([subject.globs[text] for text in self.holders])

    def _partners(self, place: int) -> int:
        everyone = (1 << len(self.own)) - 1
        waiting = self.graph.ancestors[place] | self.graph.descendants[place] | 1 << place
        return everyone & ~waiting

    def _meeting(self, globs: list[Glob]) -> dict[str, list[str]]:
        """Return by pattern the patterns that meet it, itself among them."""
        meeting = {glob.text: [glob.text] for glob in globs}
        pairs = meeting_pairs(
            [[glob] for glob in globs],
            lambda left, right: bool(
                self.reached[globs[left].text] & self.holders[globs[right].text]
            ),
        )
        for _, _, left, right in pairs:
            meeting[left.text].append(right.text)
            meeting[right.text].append(left.text)
        return meeting

    def pairs(self) -> Iterator[tuple[int, int, str, str]]:
        """Yield two steps and the first two patterns of theirs that meet, in order."""
        for place, own in enumerate(self.own):
            behind = self.together[place] >> place << place
            found: dict[int, tuple[str, str]] = {}
            for mine in own:
                for theirs in self.meeting[mine]:
                    for other in islice(_bits(behind & self.holders[theirs]), MAX_FINDINGS):
                        found.setdefault(other, (mine, theirs))
            for other in sorted(found):
                yield place, other, *found[other]


def _bits(mask: int) -> Iterator[int]:
    while mask:
        lowest = mask & -mask
        yield lowest.bit_length() - 1
        mask ^= lowest


@rule("PB505", Severity.WARNING)
def parallel_without_touches(subject: Subject) -> Iterable[Finding]:
    """A step that may run beside others does not say what it changes.

    ## What it does
    Reports a step without `touches` of its own that may run at the same time as another step.

    ## Why it matters
    Two steps at the same time are safe only if they change different files. Without `touches`
    nobody can tell.

    ## Example
    ```markdown
    ### 2. Round once (depends on 1)
    ### 3. Document it (depends on 1)
    ```

    ## Instead
    ```markdown
    ### 2. Round once (depends on 1)

    **touches:** src/billing/**

    ### 3. Document it (depends on 1)

    **touches:** docs/**
    ```
    """
    if subject.graph.cycles:
        return
    for step, parallel in zip(subject.plan.steps, subject.graph.parallel, strict=True):
        if not parallel or isinstance(step.contract, Attest):
            continue
        if any(field.name == "touches" for field in step.fields):
            continue
        message = "the step may run at the same time as another and has no `touches` of its own"
        hint = "write the files that it may change to `**touches:**`, or depend on the other"
        yield Finding(step.heading, message, hint)


RULES = (
    malformed_glob,
    absolute_pattern,
    escaping_pattern,
    overlapping_touches,
    parallel_without_touches,
)
