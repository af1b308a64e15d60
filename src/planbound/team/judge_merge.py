"""Judge a merged tree: everything that the plan demands, and what others reached before it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from planbound.agents.control import ControlledCell, StopSignal
from planbound.disk.lock import is_gone, this_process
from planbound.errors import AlreadyExists, FileProblem, GitProblem, Refused
from planbound.git.place import git_place, make_repository
from planbound.git.repository import Repository
from planbound.journal.event import StopKind, VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import Setting
from planbound.judging.judge import judge
from planbound.judging.reference import tree_as_it_is
from planbound.judging.reproduction import is_reproduction
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest
from planbound.plan.model import Baseline, Judged, StepStatus
from planbound.state.run import RunState
from planbound.team.worktree import WorktreeFiles, run_setup
from planbound.workspace.context import Context
from planbound.workspace.root import plans_root

_RED = frozenset(
    {VerdictKind.FAIL, VerdictKind.TAMPERED, VerdictKind.VACUOUS, VerdictKind.OUT_OF_SCOPE}
)
_BY_PEOPLE = frozenset({VerdictKind.WAIVED, VerdictKind.ATTESTED})


class Demand(NamedTuple):
    """What a plan demands of a tree, without what a person decided to do without."""

    plan: str
    objective: str
    steps: tuple[Case, ...]
    conditions: tuple[Case, ...]


class OwnedContract(NamedTuple):
    """One contract, and whose it is."""

    plan: str
    case: Case
    command: Judged


class JudgedMerge(NamedTuple):
    """What was found on a merged tree."""

    found: tuple[tuple[str, Verdict], ...]
    """Each with the plan whose contract it is."""

    def verdicts(self, own: str) -> dict[str, VerdictKind]:
        """Return the verdicts by what they are about, for the journal."""
        return {_label(plan, verdict, own): verdict.kind for plan, verdict in self.found}

    @property
    def seconds(self) -> float:
        outcomes = (verdict.outcome for _, verdict in self.found)
        return round(sum(outcome.duration for outcome in outcomes if outcome is not None), 3)

    def worst(self) -> tuple[str, Verdict] | None:
        """Return what to tell first about; None where everything passed."""
        bad = [each for each in self.found if each[1].kind is not VerdictKind.PASS]
        return next((each for each in bad if _is_red(each[1].kind)), bad[0] if bad else None)


def demand_of(slug: str, state: RunState) -> Demand:
    """Return what a plan demands, by the text that was approved and the run of it."""
    plan = state.layout.plan
    found = [case._replace(baseline=Baseline.ANY, evidence=None) for case in cases(plan)]
    steps = [case for case in found if case.subject is SubjectKind.STEP]
    kept = [
        case
        for case, step in zip(steps, state.steps, strict=True)
        if not (step.status.is_by_person or step.status is StepStatus.SKIPPED)
        and not is_reproduction(case.contract)
    ]
    conditions = [
        case
        for case in found
        if case.subject is SubjectKind.POSTCONDITION
        and state.conditions.get(case.number) not in _BY_PEOPLE
    ]
    objective = plan.objective.value if plan.objective else ""
    return Demand(slug, objective, tuple(kept), tuple(conditions))


def demanded(own: Demand, others: Iterable[Demand]) -> list[OwnedContract]:
    """Return what to judge: all of the plan's own, and the postconditions of others, each once."""
    named = [(own.plan, case) for case in (*own.steps, *own.conditions)]
    named += [(other.plan, case) for other in others for case in other.conditions]
    found: dict[tuple[str, tuple[str, ...]], OwnedContract] = {}
    for plan, case in named:
        if isinstance(case.contract, Judged):
            key = (contract_digest(case.contract), case.judges)
            found.setdefault(key, OwnedContract(plan, case, case.contract))
    return list(found.values())


def judge_merge(
    judging: JudgingContext, wanted: Sequence[OwnedContract], control: StopSignal
) -> JudgedMerge | None:
    """Judge a tree by contracts; the tree itself says what their judges are. None: stopped."""
    rules = replace(judging.configuration.judging, evidence=None)
    judging = judging._replace(configuration=replace(judging.configuration, judging=rules))
    # What failed before the merge is known to the branches only.
    setting = Setting(frozen=tree_as_it_is(judging), scope=Scope(None), observing=True)
    found = []
    verdicts = judge(judging, [each.case for each in wanted], setting)
    for each, verdict in zip(wanted, verdicts, strict=True):
        if control.reason is not None:  # what it says then is only that it was ended
            return None
        found.append((each.plan, verdict))
    return JudgedMerge(tuple(found))


def stop_kind(verdicts: Sequence[VerdictKind]) -> StopKind | None:
    """Return why verdicts on a merged tree stop the merge; None where all of them pass."""
    if any(verdict in _RED for verdict in verdicts):
        return StopKind.RED
    if any(verdict is not VerdictKind.PASS for verdict in verdicts):
        return StopKind.INCONCLUSIVE
    return None


def _is_red(verdict: VerdictKind) -> bool:
    """Say whether a contract ran, and says no."""
    return verdict in _RED


def describe(plan: str, verdict: Verdict, own: str) -> str:
    """Return what is said about a contract that does not hold after a merge."""
    title = f" ({verdict.title})" if verdict.title else ""
    found = f"is {verdict.kind.value} after the merge: {verdict.reason}"
    return f"{_label(plan, verdict, own)}{title} {found}"


def _label(plan: str, verdict: Verdict, own: str) -> str:
    label = f"{verdict.subject.value} {verdict.number}"
    return label if plan == own else f"{label} of `{plan}`"


# -- the worktree in which merges are judged: nobody works in it, and it goes when it is done with


_NAME, _OWNER = "integrate-", ".owner"
_LONGEST_MARK = 4096


class MergeScratch:
    """Made when it is first asked for, and only ever one for a process."""

    def __init__(self, context: Context, repository: Repository, control: StopSignal) -> None:
        self._context = context
        self._repository = repository
        self._control = control
        self._folder = os.path.join(os.path.realpath(context.state.folder), "scratch")
        self.path = os.path.join(self._folder, f"{_NAME}{os.getpid()}")
        self._shown: str | None = None

    def show(self, commit: str) -> str:
        """Check a commit out; return where."""
        if self._shown is not None and self._shown != commit:
            # What a contract or a setup left there may be in the way of the next one.
            if self._repository.check_out(self.path, self._shown, commit) is None:
                self._repository.detach(self.path, self._shown, commit)
                self._shown = commit
            else:
                self.close()
        if self._shown is None:
            self._make(commit)
        return self.path

    def judging(self) -> JudgingContext:
        """Return what judges the files that it shows."""
        judging = judging_context(self._context.at(self._workspace()))
        return judging._replace(cell=ControlledCell(judging.cell, self._control))

    def close(self) -> None:
        """Remove it, if it was made."""
        if os.path.lexists(f"{self.path}{_OWNER}"):
            self.remove(self.path)
        self._shown = None

    def sweep(self) -> None:
        """Remove what processes left that are dead by now."""
        for path in self.abandoned():
            # One that cannot be removed is in nobody's way.
            with contextlib.suppress(OSError, GitProblem):
                self.remove(path)

    def abandoned(self) -> list[str]:
        """Return the worktrees of processes that are dead by now."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        owners = [
            os.path.join(self._folder, name)
            for name in names
            if name.startswith(_NAME) and name.endswith(_OWNER)
        ]
        return [owner.removesuffix(_OWNER) for owner in owners if _is_gone(owner)]

    def _make(self, commit: str) -> None:
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            # Before it is there: whoever is cut off leaves a trace of whose it is.
            with open(f"{self.path}{_OWNER}", "w", encoding="utf-8") as file:
                file.write(this_process().mark)
        except OSError as error:
            raise FileProblem(f"cannot write into `{self._folder}`: {error.strerror}") from error
        self._repository.add(self.path, None, commit)
        self._shown = commit
        self._furnish()

    def _workspace(self) -> str:
        path = os.path.normpath(os.path.join(self.path, git_place(self._context).inside))
        os.makedirs(path, exist_ok=True)
        return path

    def _furnish(self) -> None:
        """Bring in what a checkout does not, and contracts may need."""
        workspace = self._workspace()
        setup = self._context.configuration.worktrees.setup
        files = WorktreeFiles(plans_root(self._context.root))
        for item in setup:
            if item.copy is not None:
                with contextlib.suppress(AlreadyExists):  # this commit brings it tree_as_it_is
                    files.copy(item.copy, workspace)
        for item in setup:
            if item.run is not None and (failed := run_setup(self._context, item.run, workspace)):
                raise Refused(
                    f"`{item.run}` failed in the scratch worktree: {failed}",
                    hint="mend `[worktrees] setup`",
                )

    def remove(self, path: str) -> None:
        """Remove a worktree and the trace of whose it is."""
        registered = {each.path for each in self._repository.registered()}
        if path in registered:
            self._repository.remove(path, force=True)
        with contextlib.suppress(OSError):
            os.rmdir(path)  # git was cut off before it knew it
        if not os.path.lexists(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{_OWNER}")


def _is_gone(owner: str) -> bool:
    try:
        with open(owner, encoding="utf-8", errors="replace") as file:
            return is_gone(file.read(_LONGEST_MARK))
    except OSError:
        return False


def abandoned_merges(context: Context) -> list[tuple[str, Callable[[], None]]]:
    """Return the scratch worktrees that nobody needs any more, each with what removes it."""
    scratch = MergeScratch(context, make_repository(context), StopSignal())
    return [(path, partial(scratch.remove, path)) for path in scratch.abandoned()]


def quietly_close(scratch: MergeScratch) -> str | None:
    """Remove a scratch worktree at the end; return why it stays."""
    try:
        scratch.close()
    except GitProblem as problem:
        return f"{problem.message}; the next `planbound integrate` removes it"
    return None
