"""A plan's contracts, run on the workspace with one generated defect in it at a time."""

from __future__ import annotations

import enum
import os
import random
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from functools import cached_property, partial
from typing import NamedTuple

from planbound.agents.control import ControlledCell, StopSignal
from planbound.approval.judge_now import JudgeNow, PlanToJudge
from planbound.cells.cell import CommandEnding, Laid, Stage
from planbound.cells.isolation import Isolation
from planbound.errors import BindingError, GitProblem, NothingToDo, UsageError
from planbound.git.repository import Repository
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, plan_scope
from planbound.judging.context import JudgingContext
from planbound.judging.control import with_files
from planbound.judging.defects import Defect, applied, defects_of, is_python
from planbound.judging.judge import judge, undemanding
from planbound.judging.meaning import is_test_file
from planbound.judging.reference import judges_of, read_frozen
from planbound.judging.verdict import Verdict
from planbound.plan.glob import parse_glob
from planbound.plan.model import Baseline
from planbound.workspace.manifest import Manifest
from planbound.workspace.root import GitPlace, find_git

_AT_ONCE = 2
"""So many contracts run at the same time, where there are as many cores."""
_SECONDS = 10.0
"""A contract with a defect may take ten times as long as without, and so much longer."""
_UNCLEAR = frozenset({VerdictKind.TAMPERED, VerdictKind.OUT_OF_SCOPE})
"""What no defect can be the reason of."""
_CODE = frozenset(
    "js jsx mjs cjs ts tsx mts cts vue svelte go rs java kt kts scala c cc cpp cxx h hpp cs rb php "
    "swift sh bash pl lua ex exs erl clj hs ml dart zig jl r".split()
)
"""Endings of sources in other languages."""


_NOT_PYTHON = "it is not Python"
_SHOWN_FILES = 5


class Against(enum.Enum):
    """What says which functions were changed."""

    FROZEN = "frozen"
    """The tree that was frozen at the approval, or by `planbound baseline`."""
    COMMIT = "commit"
    """The commit that is checked out."""
    NOTHING = "nothing"
    """Every function counts."""


class UntriedFile(NamedTuple):
    """A changed file in which no defects are made."""

    path: str
    reason: str


class Notice(enum.Enum):
    """Whether some contract does not pass because of a defect."""

    NOTICED = "noticed"
    MISSED = "not noticed"
    UNCLEAR = "unclear"
    """Nobody knows: the contract could not be run, or files were changed meanwhile."""


class DefectResult(NamedTuple):
    """What the contracts said of a defect."""

    defect: Defect
    notice: Notice
    case: Case | None = None
    """Whose contract noticed it."""
    verdict: VerdictKind | None = None
    """The verdict by which it did."""
    reason: str = ""
    """What that one said, or why nobody knows."""


class ControlNow:
    """Tries defects in the functions that were changed, and says which no contract notices.

    A defect is noticed where one of the contracts does not pass that are about its file: those of
    the steps that may change it, and the postconditions. Nothing is written, and nothing recorded.
    """

    def __init__(self, asked: PlanToJudge, *, everything: bool, most: int, seed: int) -> None:
        self.asked = asked
        self.now = JudgeNow(asked)
        self.on_stage = asked.context.on_stage
        self._control = StopSignal()
        self._judging = undemanding(self.now.judging)._replace(
            on_stage=lambda _stage: None,
            cell=ControlledCell(self.now.judging.cell, self._control),
        )
        self._setting = self.now.setting._replace(earlier={})
        self._manifest = self._judging.tree.manifest(self._judging.rules)
        self._scopes = [
            (case._replace(evidence=None, baseline=Baseline.ANY, repeat=1), scope)
            for case, scope in self._scoped()
        ]
        self._contents: dict[str, bytes] = {}
        self.not_tried: list[UntriedFile] = []
        self.functions = 0
        self.against, self.compared_with = self._find_against(everything=everything)
        self.made = list(self._make())
        self.seed = seed
        self.chosen = self._sample(most)
        self.found: list[DefectResult] = []

    # -- which defects -------------------------------------------------------------------------

    def _scoped(self) -> Iterator[tuple[Case, Scope]]:
        """Yield the contracts that are asked, each with the files that it is about."""
        plan = self.asked.plan
        steps = {step.label: step for step in plan.steps}
        for case in self.asked.judged:
            if case.subject is SubjectKind.POSTCONDITION:
                yield case, plan_scope(plan)
            elif case.subject is SubjectKind.STEP:
                step = steps[case.number]
                globs = tuple(parse_glob(item.value) for item in plan.touches_of(step))
                free = step.touches is None and not globs
                yield case, Scope(None if free else globs)

    def _about(self, path: str) -> list[Case]:
        return [case for case, scope in self._scopes if _within(scope, path)]

    def _find_against(self, *, everything: bool) -> tuple[Against, str | None]:
        if everything:
            return Against.NOTHING, None
        if self._setting.frozen is not None:
            return Against.FROZEN, self._setting.frozen.id
        repository = self._repository
        commit = repository.checked_out(self._place.top) if repository is not None else None
        if commit is None:
            raise UsageError(
                "there is no baseline and no commit that tells which functions were changed",
                hint="`--all` tries every function in the files that the steps may change",
            )
        return Against.COMMIT, commit

    @cached_property
    def _place(self) -> GitPlace:
        place = find_git(self._judging.tree.root)
        if place is None:
            raise GitProblem("there is no repository here")
        return place

    @cached_property
    def _repository(self) -> Repository | None:
        with suppress(BindingError, GitProblem):
            folder = os.path.join(self.asked.context.state.folder, "git")
            return Repository(self._place.common, self._place.main, folder)
        return None

    def _make(self) -> Iterator[Defect]:
        """Yield the defects of all functions that were changed."""
        judges = self._judges()
        for path, before in self._changed():
            content = self._contents[path]
            if path in judges or is_test_file(path):
                self.not_tried.append(UntriedFile(path, "it judges"))
                continue
            if not is_python(path, content):
                self.not_tried.append(UntriedFile(path, _NOT_PYTHON))
                continue
            found = defects_of(path, content, before)
            if found.fault:
                self.not_tried.append(UntriedFile(path, found.fault))
            self.functions += found.functions
            yield from found.defects

    def _changed(self) -> Iterator[tuple[str, bytes | None]]:
        """Yield the sources that are not as they were, with what they were."""
        read_before = self._reader()
        for path in self._candidates:
            content = self._contents[path]
            before = read_before(path)
            if before is None or before != content:
                yield path, before

    @cached_property
    def _candidates(self) -> list[str]:
        """The sources that some step may change; their contents are read."""
        found = []
        for path in self._manifest.files():
            name = path.rpartition("/")[2]
            may_be = "." not in name or name.endswith(".py") or name.rpartition(".")[2] in _CODE
            if not may_be or not self._about(path):
                continue
            content = _read(self._judging, self._manifest, path)
            if content is not None and ("." in name or is_python(path, content)):
                self._contents[path] = content
                found.append(path)
        return found

    def _reader(self) -> Callable[[str], bytes | None]:
        """Return what tells how a file was before."""
        if self.against is Against.FROZEN:
            return self._frozen
        committed: Mapping[str, bytes] = {}
        if self.against is Against.COMMIT and self._repository and self.compared_with:
            inside = self._place.inside
            tops = {path: os.path.normpath(os.path.join(inside, path)) for path in self._candidates}
            files = self._repository.contents(self.compared_with, list(tops.values()))
            committed = {path: files[top] for path, top in tops.items() if top in files}
        return committed.get

    def _frozen(self, path: str) -> bytes | None:
        frozen = self._setting.frozen
        now, before = self._manifest.entry(path), frozen.manifest.entry(path) if frozen else None
        if frozen is None or before is None:
            return None
        if now is not None and now.content == before.content:
            return self._contents[path]  # not everything is kept
        return read_frozen(frozen.manifest, self._judging.vault, path)

    def _judges(self) -> frozenset[str]:
        """Return what judges, now or when it was frozen: a defect in it is none of the work."""
        asked, frozen = self.asked.judged, self._setting.frozen
        found = judges_of(
            asked, self._manifest, partial(_read, self._judging, self._manifest)
        ).files
        if frozen is None:
            return found
        read = partial(read_frozen, frozen.manifest, self._judging.vault)
        return found | judges_of(asked, frozen.manifest, read).files

    def _sample(self, most: int) -> list[Defect]:
        if not self.made:
            what, more = "function", ""
            if self.against is not Against.NOTHING:
                what, more = "changed function", "; `--all` tries those that were not changed, too"
            parts = [f"there is no {what} in Python that the steps may change{more}"]
            raise NothingToDo("; ".join([*parts, *left_out(self.not_tried)]))
        if len(self.made) <= most:
            return self.made
        chosen = random.Random(self.seed).sample(range(len(self.made)), most)  # noqa: S311 - no secret
        return [self.made[index] for index in sorted(chosen)]

    # -- what the contracts say ----------------------------------------------------------------

    def as_it_is(self) -> Iterator[Verdict]:
        """Yield what the contracts say without a defect: only a pass tells something with one."""
        paths = {defect.path for defect in self.chosen}
        limited = []
        for case, scope in self._scopes:
            if not any(_within(scope, path) for path in paths):
                continue
            self.on_stage(Stage(0, 0, f"{case.number}. {case.title}, as it is"))
            for verdict in judge(self._judging, [case], self._setting):
                took = verdict.outcome.duration if verdict.outcome else 0.0
                usual = self._judging.configuration.contracts.seconds_for(case.seconds)
                seconds = min(usual, _SECONDS + 10 * took)
                limited.append((case._replace(seconds=seconds), scope))
                self.now.found.append(verdict)
                yield verdict
        self.on_stage(None)
        self._scopes = limited

    def results(self) -> Generator[DefectResult, None, None]:
        """Try one defect after the other, or two at once; yield what came of each."""
        executor = ThreadPoolExecutor(self._at_once(), thread_name_prefix="defect")
        try:
            waiting = [
                executor.submit(self._try, number, defect)
                for number, defect in enumerate(self.chosen, 1)
            ]
            for done in as_completed(waiting):
                self.found.append(done.result())
                yield self.found[-1]
        finally:
            self._control.stop("interrupted")
            executor.shutdown(cancel_futures=True)

    def _at_once(self) -> int:
        cell, contracts = self._judging.cell, self._judging.configuration.contracts
        # Where cells share a network, two of a contract's servers would want one port.
        apart = cell.isolation.reaches(Isolation.I2) and not contracts.network
        return min(_AT_ONCE, len(os.sched_getaffinity(0))) if apart else 1

    def _try(self, number: int, defect: Defect) -> DefectResult:
        self.on_stage(Stage(number, len(self.chosen), str(defect)))
        try:
            return self._tried(defect)
        finally:
            self.on_stage(None)

    def _tried(self, defect: Defect) -> DefectResult:
        entry = self._manifest.entry(defect.path)
        content = applied(self._contents[defect.path], defect)
        wrong = Laid(defect.path, content, entry.mode if entry is not None else 0o644)
        judging = with_files(self._judging, [wrong])
        unclear = ""
        for case in self._about(defect.path):
            for verdict in judge(judging, [case], self._setting):
                if _says_nothing(verdict):
                    unclear = verdict.reason
                elif verdict.kind is not VerdictKind.PASS:
                    return DefectResult(defect, Notice.NOTICED, case, verdict.kind, verdict.reason)
        return DefectResult(defect, Notice.UNCLEAR if unclear else Notice.MISSED, reason=unclear)


def _within(scope: Scope, path: str) -> bool:
    return scope.patterns is None or any(glob.matches(path) for glob in scope.patterns)


def _read(judging: JudgingContext, manifest: Manifest, path: str) -> bytes | None:
    entry = manifest.entry(path)
    return judging.tree.content(path, entry) if entry is not None else None


def _says_nothing(verdict: Verdict) -> bool:
    """Say whether something else than the defect is why a contract does not pass."""
    if verdict.outcome is None:
        return verdict.kind is not VerdictKind.PASS
    stopped = verdict.outcome.ending in {CommandEnding.STOPPED, CommandEnding.NOT_STARTED}
    return stopped or verdict.kind in _UNCLEAR


def left_out(files: Sequence[UntriedFile]) -> Iterator[str]:
    """Yield in which changed files no defects were made, and why."""
    endings: dict[str, int] = {}
    for path, reason in files:
        if reason == _NOT_PYTHON:
            ending = f".{path.rpartition('.')[2]}"
            endings[ending] = endings.get(ending, 0) + 1
    if endings:
        listed = ", ".join(f"{ending} ({count})" for ending, count in endings.items())
        yield f"no defects are made for {listed}: only functions in Python are tried"
    others = [f"{path} ({reason})" for path, reason in files if reason != _NOT_PYTHON]
    if others:
        more = f" and {len(others) - _SHOWN_FILES} more" if len(others) > _SHOWN_FILES else ""
        yield f"no defects are made in {', '.join(others[:_SHOWN_FILES])}{more}"
