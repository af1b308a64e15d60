"""What there is to judge in a plan."""

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from posixpath import basename, dirname, normpath
from typing import NamedTuple

from planbound.journal.words import SubjectKind
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import (
    Baseline,
    Command,
    Condition,
    Contract,
    Evidence,
    Plan,
    Rejected,
    Step,
    Wrapping,
)
from planbound.source import Span, lazy_pattern
from planbound.verify.task_scope import TaskScope, task_scope
from planbound.workspace.configuration import BranchGate
from planbound.workspace.manifest import CACHES, ChangeKind, Entry, EntryType, TreeChange

# -- what a step changed although it may not -----------------------------------------------------


# With these git runs code, or looks away. Everything else is what a commit writes.
_GIT_MOVES = lazy_pattern(r"\.git/(?:modules/.+/|worktrees/[^/]+/)?HEAD", re.DOTALL)
"""What changes when people switch branches. The rest that a manifest shows makes git run programs,
or is nothing that git has put there."""
_HARNESS_OPEN = lazy_pattern(r"\.harness/(?:progress[^/]*\.md|topics(?:/.+)?)", re.DOTALL)
_SPECIAL = lazy_pattern(r"[*?\[{]")
_GIT = lazy_pattern(r"(?<![\w.-])git(?![\w./])")


class Scope(NamedTuple):
    """What may be changed."""

    patterns: tuple[Glob, ...] | None
    """None: no touches are declared anywhere, everything is allowed."""
    also: tuple[Glob, ...] | None = None
    """What a role may change: a change has to be allowed by both; None: the role has no limit."""
    by_task: TaskScope = TaskScope()
    """Where no touches are declared: which judges the task tells to change, or to add to."""


def covers(scope: Scope, path: str) -> bool:
    """Say whether a file is named by what may be changed: by touches, or by the task."""
    named = scope.by_task.named if scope.patterns is None else scope.patterns
    if not any(glob.matches(path) for glob in named):
        return False
    return scope.also is None or any(glob.matches(path) for glob in scope.also)


def may_add(scope: Scope, path: str) -> bool:
    """Say whether the task tells to add files here, where no touches say what may be changed."""
    if scope.patterns is not None or not any(glob.matches(path) for glob in scope.by_task.added):
        return False
    return scope.also is None or any(glob.matches(path) for glob in scope.also)


def outside(changes: Sequence[TreeChange], scope: Scope) -> tuple[TreeChange, ...]:
    """Return the changes that the scope does not allow.

    The plan itself is never in scope: what is in `.harness` belongs to the harness, apart from
    progress and topics.
    """
    return tuple(change for change in changes if not _allowed(change, scope))


def _allowed(change: TreeChange, scope: Scope) -> bool:
    path = change.path
    if path == ".harness" or path.startswith(".harness/"):
        return _harness_allowed(change, scope)
    # A `.git` further down is no place of ours: anything could be hidden in it.
    if _GIT_MOVES.fullmatch(path):
        return True
    if _is_git_summary(change):
        return True
    return _covered(change, scope)


def _harness_allowed(change: TreeChange, scope: Scope) -> bool:
    if change.path == ".harness":
        # It comes to be with the first topic, but nobody may take it away.
        return change.kind is ChangeKind.ADDED and _is_folder(change) and _covered(change, scope)
    return _HARNESS_OPEN.fullmatch(change.path) is not None and _covered(change, scope)


def _is_git_summary(change: TreeChange) -> bool:
    """Say whether git's own directory only looks different: people commit."""
    if change.path != ".git" or change.kind is not ChangeKind.CHANGED:
        return False
    kinds = {entry.type for entry in (change.before, change.after) if entry is not None}
    return kinds == {EntryType.SUMMARY}


def _covered(change: TreeChange, scope: Scope) -> bool:
    return _named(change, scope.patterns) and _named(change, scope.also)


def _named(change: TreeChange, patterns: Sequence[Glob] | None) -> bool:
    if patterns is None:
        return True
    path = change.path
    if any(glob.matches(path) for glob in patterns):
        return True
    entry = change.after or change.before
    if entry is not None and entry.type is EntryType.SUMMARY:
        return any(_reaches_into(glob, path) for glob in patterns)
    if change.kind is not ChangeKind.CHANGED and _is_folder(change):
        return _may_hold(path, patterns)
    return False


def _is_folder(change: TreeChange) -> bool:
    entry = change.after or change.before
    return entry is not None and entry.type is EntryType.DIRECTORY


def _reaches_into(glob: Glob, path: str) -> bool:
    """Say whether a pattern speaks of a summarised directory.

    `**/*.py` could match in `.venv` too, but nobody who wrote it meant that, and the summary does
    not say whether it was a `.py`.
    """
    names = tuple(path.split("/"))
    return glob.literal_prefix[: len(names)] == names or glob.matches(f"{path}/x")


def _may_hold(path: str, patterns: Sequence[Glob]) -> bool:
    """Say whether a path below a directory could match."""
    try:
        below = parse_glob(exactly(path) + "/**")
    except GlobError:
        # A name that no pattern can write: only wildcards could match below it.
        return any(glob.matches(f"{path}/x") for glob in patterns)
    return any(glob.intersects(below) for glob in patterns)


# -- what tools leave behind to be faster next time: dropped before judging, for it may lie ------


CACHE_NAMES = frozenset(name.decode() for name in CACHES)
"""Directories that are caches wherever they are."""

_CACHE_FILE = lazy_pattern(r"\.coverage|\.coverage\..+|\.eslintcache|.*\.tsbuildinfo")


def is_cache_file(name: bytes) -> bool:
    """Say whether a file of that name is a cache."""
    return (
        name == b".coverage"
        or name.startswith((b".coverage.", b".eslintcache"))
        or name.endswith(b".tsbuildinfo")
    )


def is_disguised(path: str, entry: Entry | None) -> bool:
    """Say whether something is called as a cache is, and is none: a link, or a file for a folder.

    Programs would read through it what somebody else put there.
    """
    if entry is None:
        return False
    name = path.rpartition("/")[2]
    if name in CACHE_NAMES or path.endswith("node_modules/.cache"):
        return entry.type is not EntryType.DIRECTORY
    return _CACHE_FILE.fullmatch(name) is not None and entry.type is not EntryType.FILE


def is_cache(path: str) -> bool:
    """Say whether a path is a cache or lies in one.

    A `.pyc` outside `__pycache__` is none: Python runs it as a module, so somebody must see it.
    """
    names = path.split("/")
    if not CACHE_NAMES.isdisjoint(names) or _CACHE_FILE.fullmatch(names[-1]):
        return True
    return ("node_modules", ".cache") in pairwise(names)


# -- what there is to judge in a plan ------------------------------------------------------------


class Case(NamedTuple):
    """One contract and what the plan demands of it."""

    subject: SubjectKind
    number: str
    id: str | None
    title: str
    contract: Contract | None
    judges: tuple[str, ...] = ()
    seconds: float | None = None
    evidence: Evidence | None = None
    repeat: int = 1
    baseline: Baseline | None = None
    """How it must have been before the work; None: the plan does not say."""
    rejects: tuple[Rejected, ...] = ()
    """What it has to fail with."""
    touches: tuple[str, ...] = ()
    """What its step may change; empty: nobody says, or it is no step's."""


def demands_red(step: Baseline | None, usual: Baseline) -> bool:
    """Say whether a step must have been red before; its own word counts before the usual one."""
    return (step or usual) is Baseline.RED


def cases(plan: Plan) -> Iterator[Case]:
    """Yield everything that has or should have a contract, in the order of the plan."""
    for condition in plan.preconditions:
        yield _condition(condition, SubjectKind.PRECONDITION)
    for step in plan.steps:
        touches = tuple(item.value for item in plan.touches_of(step))
        yield _step(step)._replace(touches=touches)
    for condition in plan.postconditions:
        yield _condition(condition, SubjectKind.POSTCONDITION)


def gate_cases(gates: Iterable[BranchGate]) -> list[Case]:
    """Return the gates of a branch as what there is to judge."""
    return [
        Case(
            subject=SubjectKind.POSTCONDITION,
            number=str(number),
            id=None,
            title="",
            contract=Command(gate.run, "shell", Wrapping.FENCE, (), (), Span(0, 0)),
            judges=gate.judges,
            baseline=Baseline.ANY,
        )
        for number, gate in enumerate(gates, 1)
    ]


def asks_git(contract: Contract | None) -> bool:
    """Say whether the same files are not enough for the same answer: an index, a commit, a tag.

    By its text: who reads `git` there for nothing lets a contract be run once more.
    """
    return isinstance(contract, Command) and names_git(contract.text)


def names_git(text: str) -> bool:
    """Say whether the word stands in a text."""
    return _GIT.search(text) is not None


def _step(step: Step) -> Case:
    return Case(
        subject=SubjectKind.STEP,
        number=step.label,
        id=step.id,
        title=step.title,
        contract=step.contract,
        judges=_judges(step),
        seconds=float(step.contract_timeout.value) if step.contract_timeout else None,
        evidence=step.evidence.value if step.evidence else None,
        repeat=step.repeat.value if step.repeat else 1,
        baseline=step.baseline.value if step.baseline else None,
        rejects=step.rejects,
    )


def _condition(condition: Condition, subject: SubjectKind) -> Case:
    return Case(
        subject=subject,
        number=str(condition.number),
        id=None,
        title=condition.statement,
        contract=condition.contract,
        judges=_judges(condition),
        seconds=float(condition.contract_timeout.value) if condition.contract_timeout else None,
        evidence=condition.evidence.value if condition.evidence else None,
        repeat=condition.repeat.value if condition.repeat else 1,
        rejects=condition.rejects,
    )


def _judges(owner: Step | Condition) -> tuple[str, ...]:
    """Return what is named as a judge, and the files of controls: nobody changes those either."""
    named = [item.value for item in owner.judges]
    patches = [exactly(normpath(each.path)) for each in owner.rejects if each.path is not None]
    # What no pattern can name is no file of the workspace: the verifier says so.
    return (*named, *(glob.text for glob in _valid(patches)))


def exactly(path: str) -> str:
    """Return the pattern that matches one path only."""
    return "./" + _SPECIAL.sub(r"[\g<0>]", path)


def plan_touches(plan: Plan) -> tuple[Glob, ...] | None:
    """Return what the steps of a plan declare together; None where one declares nothing."""
    if any(_is_free(plan, step) for step in plan.steps):
        return None
    return tuple(parse_glob(item) for item in dict.fromkeys(_declared(plan)))


def _declared(plan: Plan) -> list[str]:
    return [item.value for step in plan.steps for item in plan.touches_of(step)]


def _is_free(plan: Plan, step: Step) -> bool:
    """Say whether a step may change anything."""
    return step.touches is None and not plan.touches_of(step)


def plan_scope(plan: Plan) -> Scope:
    """Return what the steps of a plan may change together."""
    touches = plan_touches(plan)
    if touches is not None:
        return Scope(touches)
    tasks = [task_scope(step) for step in plan.steps if _is_free(plan, step)]
    named = (*_valid(_declared(plan)), *(glob for each in tasks for glob in each.named))
    return Scope(
        None, by_task=TaskScope(named, tuple(glob for each in tasks for glob in each.added))
    )


def judge_scope(plan: Plan) -> Scope:
    """Return what the steps of a plan may change of its judges, where other files do not count."""
    try:
        scope = plan_scope(plan)
    except GlobError:
        return Scope(None)  # nobody approved that, where nobody has to
    return scope if scope.patterns is None else Scope(None, by_task=TaskScope(scope.patterns))


def _valid(patterns: Iterable[str]) -> Iterator[Glob]:
    for text in dict.fromkeys(patterns):
        with suppress(GlobError):
            yield parse_glob(text)


# -- what a path says about itself: is it what judges, or is it what is judged? ------------------


SUPPORT = tuple(
    "fixtures fixture testdata test_data data golden goldens snapshots __snapshots__ expected "
    "helpers support __mocks__ resources".split()
)
"""Directories beside tests that tests read."""

_TESTS = frozenset(
    "tests test __tests__ spec specs e2e fixtures testdata golden goldens snapshots "
    "__snapshots__ __fixtures__".split()
)
_TEST_WORD = lazy_pattern(r"(?i)(?:.*[._-])?(?:tests?|specs?)(?:[._-].*)?")
_SCRIPTS = frozenset("scripts script tools tool ci .ci bin hack .github".split())
_SOURCES = frozenset("src lib app apps pkg cmd internal packages source sources".split())
_SAYS_JUDGE = lazy_pattern(
    r"(?i)(?:.*[._-])?(?:(?:run[_-]?)?tests?|check(?:s|er)?|verif(?:y|ier|ication)|lint(?:er)?|ci|"
    r"specs?|validat(?:e|or|ion)|assert|e2e|smoke|accept(?:ance)?|grade(?:r)?|judge|oracle)"
    r"(?:[._-].*)?"
)
_SAYS_EXPECTED = lazy_pattern(
    r"(?i)(?:.*[._-])?(?:expect(?:ed|ations?)?|golden|fixtures?|snapshots?|snap|reference|"
    r"baseline|approved|oracle|want(?:ed)?)(?:[._-].*)?"
)


def place_of_tests(path: str) -> str | None:
    """Return the topmost directory of tests that a path is or lies in, None where there is none.

    The last name counts too: ask with the directory of a file, not with the file.
    """
    names = path.split("/") if path else []
    for index, name in enumerate(names):
        if name in _TESTS or (_TEST_WORD.fullmatch(name) and "." not in name):
            return "/".join(names[: index + 1])
    return None


def is_judging(path: str) -> bool:
    """Say whether a file lies where tests and scripts are, or is named like what is expected."""
    folder = dirname(path)
    return place_of_tests(folder) is not None or _among_scripts(folder) or says_expected(path)


def says_judge(path: str) -> bool:
    """Say whether a file is named like a check: `check_api.py`, `run-tests.sh`, `ci`."""
    return _SAYS_JUDGE.fullmatch(basename(path)) is not None


def says_expected(path: str) -> bool:
    """Say whether a file is, by its name or directory, what an output is compared with."""
    if any(_SAYS_EXPECTED.fullmatch(name) for name in path.split("/")):
        return True
    return place_of_tests(dirname(path)) is not None


def is_source(path: str) -> bool:
    """Say whether a file lies where the work itself is kept."""
    return path.partition("/")[0] in _SOURCES and "/" in path


def _among_scripts(folder: str) -> bool:
    # `src/tools` is a part of the product.
    names = folder.split("/")
    return names[0] not in _SOURCES and not _SCRIPTS.isdisjoint(names)
