"""Files that steps and contracts name: PB401 to PB499."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from msgspec import Struct

from planbound.plan.glob import Glob
from planbound.plan.model import Step, Subscription, SubscriptionKind
from planbound.source import Finding, Located, Severity, lazy_pattern
from planbound.verify.facts import PathKind
from planbound.verify.subject import Subject, rule
from planbound.verify.task_scope import NamedFiles

_ABSOLUTE = lazy_pattern(r"[/\\]|[A-Za-z]:|~(?:$|[^/]*/)")


@rule("PB403", Severity.ERROR)
def outside_workspace(subject: Subject) -> Iterable[Finding]:
    """A subscription does not name a file of the workspace.

    ## What it does
    Reports a `file:` that is absolute, climbs out of the workspace with `..`, is reached through a
    symbolic link that leaves it, or is a directory.

    ## Why it matters
    A plan must mean the same on every machine, and an agent must see nothing but its workspace. What
    a step gets is the content of one file.

    ## Example
    ```markdown
    **subscriptions:**
    - file:/etc/hosts
    - file:../other/notes.md
    - file:src
    ```

    ## Instead
    ```markdown
    **subscriptions:**
    - file:docs/hosts.md
    - file:src/billing/invoice.py
    ```
    """
    for step in subject.plan.steps:
        for item in step.subscriptions:
            if item.value.kind is not SubscriptionKind.FILE:
                continue
            name = item.value.name
            kind = subject.facts.paths.get(name)
            if workspace_path(name) is None or kind is PathKind.OUTSIDE:
                message = f"`{name}` is outside the workspace"
                hint = "copy what the step needs into the workspace, or into a topic"
                yield Finding(item.span, message, hint)
            elif kind is PathKind.DIRECTORY:
                message = f"`{name}` is a directory; a subscription names one file"
                yield Finding(item.span, message, "write one `file:` for each file")


def workspace_path(path: str) -> str | None:
    """Return a path without detours; None for one that is not below the workspace root."""
    if _ABSOLUTE.match(path):
        return None
    names: list[str] = []
    for name in path.split("/"):
        if name == "..":
            if not names:
                return None
            names.pop()
        elif name not in {"", "."}:
            names.append(name)
    return "/".join(names)


_PLACEHOLDER = lazy_pattern(r"\{\w+\}")
"""What `expand` fills in: `file:{batch}` of a template names no file yet."""
_LINES = lazy_pattern(r"(?P<path>.+?)(?:#L?|:)\d+(?:[-:]L?\d+)?", re.ASCII)


@rule("PB401", Severity.ERROR)
def missing_file(subject: Subject) -> Iterable[Finding]:
    """A subscription names a file that is not there.

    ## What it does
    Reports a `file:` that does not exist and that no step before could write: none has it in its
    `touches`, no contract names it, it is no expected artifact, and no title or task names it as what
    is written. A path in a task counts as written ("move the config code to `src/config.py`"), also
    below a folder that is made, unless the words around it say that it is only read, left alone or
    deleted ("taken from `x`", "without changing `x`"), or the `touches` of that step leave it out.

    ## Why it matters
    The step would start without what it was promised, and the agent would guess.

    ## Example
    ```markdown
    **subscriptions:**
    - file:src/biling/invoice.py
    ```

    ## Instead
    ```markdown
    **subscriptions:**
    - file:src/billing/invoice.py
    ```
    """
    for missing in missing_files(subject):
        if not missing.is_written_before and missing.later is None:
            name = missing.item.value.name
            message = f"there is no file `{name}`, and no step before this one writes it"
            yield Finding(missing.item.span, message, _hint(missing, name))


def _hint(missing: MissingFile, name: str) -> str:
    if match := _LINES.fullmatch(name):
        return f"a subscription names a whole file: `file:{match['path']}`"
    if _is_pattern(name):
        return "a subscription names one file, not a pattern"
    if missing.is_written_here:
        return "a step gets its subscriptions before it starts: what it writes itself is not there"
    if missing.left_out is not None:
        step = missing.left_out.label or missing.left_out.title
        return f"step `{step}` is told to write it, and may not: put it into its `touches`"
    return (
        "correct the path, or let a step before this one write it: say so in its task or `touches`"
    )


class MissingFile(Struct, frozen=True):
    """A file that a step subscribes to and that is not there, with who could write it."""

    item: Located[Subscription]
    is_written_before: bool
    is_written_here: bool
    later: Step | None
    """The first step behind this one that could write it."""
    left_out: Step | None
    """A step before this one whose task names it, and whose touches leave it out.

    Looked for where no step could write it.
    """


def missing_files(subject: Subject) -> Iterator[MissingFile]:
    """Yield every subscription to a file of the workspace that is not there."""
    wanted = [
        (place, item, path)
        for place, step in enumerate(subject.plan.steps)
        for item in step.subscriptions
        if item.value.kind is SubscriptionKind.FILE
        and not (step.is_template and _PLACEHOLDER.search(item.value.name))
        and subject.facts.paths.get(item.value.name) is PathKind.MISSING
        and (path := workspace_path(item.value.name)) is not None
    ]
    if not wanted:
        return
    writers = _Writers(subject, {path for _, _, path in wanted})
    for place, item, path in wanted:
        unwritable = _is_pattern(path) or _LINES.fullmatch(path)
        found = frozenset[int]() if unwritable else writers.of(path)
        later = min((writer for writer in found if writer > place), default=None)
        named = () if found or unwritable else writers.barred(path)
        barred = min((each for each in named if each < place), default=None)
        yield MissingFile(
            item=item,
            is_written_before=any(writer < place for writer in found),
            is_written_here=place in found,
            later=None if later is None else subject.plan.steps[later],
            left_out=None if barred is None else subject.plan.steps[barred],
        )


def _is_pattern(name: str) -> bool:
    return "*" in name or "?" in name


class _Writers:
    """Which steps could write a file; of those with the same pattern only the first two.

    Who asks is one step and wants another: the first two always hold the answer.
    """

    def __init__(self, subject: Subject, wanted: set[str]) -> None:
        self.steps = subject.plan.steps
        self.wanted = wanted
        self.named: dict[str, list[int]] = {}
        """By path: the steps whose touches or contracts name it."""
        self.touching: dict[str, list[int]] = {}
        """By pattern: the steps that have it."""
        for place, step in enumerate(subject.plan.steps):
            for glob in subject.touches(step):
                _note(self.touching, glob.text, place)
        self.patterns: dict[tuple[str, ...], list[Glob]] = {}
        """By the names that a pattern starts with; a literal one is a path."""
        for text, places in self.touching.items():
            glob = subject.globs[text]
            if glob.is_literal:
                for place in places:
                    _note(self.named, "/".join(glob.literal_prefix), place)
            else:
                self.patterns.setdefault(glob.literal_prefix, []).append(glob)
        self.bounded = {
            place
            for place, step in enumerate(subject.plan.steps)
            if step.touches is not None or subject.plan.frontmatter.touches
        }
        """The steps that say what they may change."""
        self.unbounded = {*range(len(subject.plan.steps))} - self.bounded
        self.artifacts = {item.value for item in subject.plan.frontmatter.expected_artifacts}
        for case in subject.contracts:
            if isinstance(case.owner, Step):
                for reference in case.script.files:
                    if path := workspace_path(reference.path):
                        _note(self.named, path, case.place)

    # What the words of a step name is read only where that decides something: it takes longest.

    @cached_property
    def told(self) -> NamedFiles:
        """What the steps name that do not say what they may change."""
        return self._words_of(self.unbounded)

    @cached_property
    def told_in_vain(self) -> NamedFiles:
        """What the steps name that say what they may change."""
        return self._words_of(self.bounded)

    def _words_of(self, places: Iterable[int]) -> NamedFiles:
        words = NamedFiles(self.wanted)
        for place in sorted(places):
            step = self.steps[place]
            prose = (each.text for each in (step.task, step.notes) if each)
            words.take(place, (step.title, *prose))
        return words

    def barred(self, path: str) -> set[int]:
        """Return the steps whose words name a file and whose touches leave it out."""
        return self.told_in_vain.of(path) - self.of(path)

    def of(self, path: str) -> frozenset[int]:
        """Return the steps that could write a file."""
        found = {*self.named.get(path, ())} | self.told.of(path)
        if path in self.artifacts:
            found |= self.unbounded
        names = tuple(path.split("/"))
        for length in range(len(names) + 1):
            for glob in self.patterns.get(names[:length], ()):
                if glob.matches(path):
                    found.update(self.touching[glob.text])
        return frozenset(found)


def _note(steps: dict[str, list[int]], key: str, place: int) -> None:
    known = steps.setdefault(key, [])
    if len(known) < 2 and place not in known:
        known.append(place)


@rule("PB402", Severity.ERROR)
def produced_later(subject: Subject) -> Iterable[Finding]:
    """A step gets a file that only a later step writes.

    ## What it does
    Reports a `file:` that does not exist, that no step before could write, and that a later one
    could: it has it in its `touches`, its contract names it, or its task names it as what it writes.

    ## Why it matters
    The file is not there when the step starts. The steps are in the wrong order, or the subscription
    belongs to another step.

    ## Example
    ```markdown
    ### 1. Write the migration

    **subscriptions:** file:docs/schema.md

    ### 2. Describe the schema

    **touches:** docs/schema.md
    ```

    ## Instead
    ```markdown
    ### 1. Describe the schema

    **touches:** docs/schema.md

    ### 2. Write the migration

    **subscriptions:** file:docs/schema.md
    ```
    """
    for missing in missing_files(subject):
        if missing.later is None or missing.is_written_before:
            continue
        name = missing.item.value.name
        writer = missing.later.label or missing.later.title
        message = f"there is no file `{name}` yet: the first step to write it is `{writer}`"
        hint = f"put step `{writer}` before this one, or drop the subscription"
        yield Finding(missing.item.span, message, hint)


_NAME = lazy_pattern(r"(?!\.\.?$)[^/\\\x00-\x1f\x7f]+")


@rule("PB404", Severity.ERROR)
def unknown_topic(subject: Subject) -> Iterable[Finding]:
    """A subscription names a topic that is not there.

    ## What it does
    Reports a `topic:` without a page in `.harness/topics/`, or whose name is not a plain name.

    ## Why it matters
    The step would start without what it was promised, and the agent would guess.

    ## Example
    ```markdown
    **subscriptions:** topic:../secrets
    ```

    ## Instead
    ```markdown
    **subscriptions:** topic:rounding
    ```
    """
    for step in subject.plan.steps:
        for item in step.subscriptions:
            if item.value.kind is not SubscriptionKind.TOPIC:
                continue
            name = item.value.name
            if not _NAME.fullmatch(name):
                message = f"`{name}` is not the name of a topic; expected one plain name"
                yield Finding(item.span, message, "write `topic:rounding`, without a path")
            elif name in subject.facts.missing_topics:
                plain = name.removesuffix(".md")
                hint = f"write `.harness/topics/{plain}.md`"
                if plain != name:
                    hint = f"leave out the ending: `topic:{plain}`"
                yield Finding(item.span, f"there is no topic `{name}`", hint)


RULES = (
    missing_file,
    produced_later,
    outside_workspace,
    unknown_topic,
)
