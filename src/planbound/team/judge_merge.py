"""Judge a merged tree: everything that the plan demands, and what others reached before it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from threading import Thread
from typing import NamedTuple

from msgspec.structs import replace

from planbound.agents.control import ControlledCell, StopSignal
from planbound.cells.cell import Cell
from planbound.cells.inside.tree import remove_entry
from planbound.cells.isolation import Isolation
from planbound.disk.lock import is_gone, this_process
from planbound.errors import AlreadyExists, FileProblem, GitProblem, PlanboundError, Refused
from planbound.git.place import git_place, make_repository
from planbound.git.repository import Repository
from planbound.journal.event import StopKind, VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import Setting
from planbound.judging.reference import tree_as_it_is
from planbound.judging.reproduction import is_reproduction
from planbound.judging.together import judge_together
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest
from planbound.plan.model import Baseline, Judged, StepStatus
from planbound.state.run import RunState
from planbound.team.merge import GATES
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


def demanded(own: Demand, others: Iterable[Demand], gates: Iterable[Case]) -> list[OwnedContract]:
    """Return what to judge, each once: the plan's own, the postconditions of others, and gates."""
    named = [(own.plan, case) for case in (*own.steps, *own.conditions)]
    named += [(other.plan, case) for other in others for case in other.conditions]
    named += [(GATES, case) for case in gates]
    found: dict[tuple[str, tuple[str, ...]], OwnedContract] = {}
    for plan, case in named:
        if isinstance(case.contract, Judged):
            key = (contract_digest(case.contract), case.judges)
            found.setdefault(key, OwnedContract(plan, case, case.contract))
    return list(found.values())


def only_gates(gates: Iterable[Case]) -> list[OwnedContract]:
    """Return what to judge where only the gates of the branch are asked."""
    return demanded(Demand(GATES, "", (), ()), (), gates)


def judge_merge(
    judging: JudgingContext, wanted: Sequence[OwnedContract], control: StopSignal
) -> JudgedMerge | None:
    """Judge a tree by contracts; the tree itself says what their judges are. None: stopped."""
    rules = replace(judging.configuration.judging, evidence=None)
    judging = judging._replace(configuration=replace(judging.configuration, judging=rules))
    # What failed before the merge is known to the branches only.
    frozen = tree_as_it_is(judging)
    setting = Setting(frozen=frozen, scope=Scope(None), observing=True)
    found = []
    cases_of_it = [each.case for each in wanted]
    verdicts = judge_together(judging, cases_of_it, setting, frozen.manifest)
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
    if plan == GATES:
        return f"gate {verdict.number}"
    label = f"{verdict.subject.value} {verdict.number}"
    return label if plan == own else f"{label} of `{plan}`"


# -- the worktree in which merges are judged: nobody works in it, and the next merge takes it over


_NAME, _OWNER = "integrate-", ".owner"
_KEPT = os.path.join("merged", "checkout")
"""In the state home: what is left there for the next merge."""
_LONGEST_MARK = 4096
_LEFT = "left for the next merge"


class MergeScratch:
    """Taken over or made when it is first asked for, and only ever one for a process."""

    def __init__(self, context: Context, repository: Repository, control: StopSignal) -> None:
        self._context = context
        self._repository = repository
        self._control = control
        home = os.path.realpath(context.state.folder)
        self._folder = os.path.join(home, "scratch")
        self.kept = os.path.join(home, _KEPT)
        self.path = os.path.join(self._folder, f"{_NAME}{os.getpid()}")
        self._shown: str | None = None
        self._is_untouched = False
        """Nothing ran in it since its files were checked out."""
        self._is_open = False
        """A contract ran in it without walls."""

    def show(self, commit: str) -> str:
        """Check a commit out; return where."""
        if self._shown is None:
            self._take_over(commit)
        if self._shown is not None and self._shown != commit:
            # What a contract or a setup left there may be in the way of the next one.
            refresh = not self._is_untouched
            way = self._repository.check_out(self.path, self._shown, commit, refresh=refresh)
            if way is None:
                self._repository.detach(self.path, self._shown, commit)
                self._shown = commit
            else:
                self.close()
        if self._shown is None:
            self._make(commit)
        return self.path

    @contextlib.contextmanager
    def taken_over_meanwhile(self, commit: str) -> Iterator[None]:
        """Take over what the last merge left, beside something else that has to be done first.

        What goes wrong there is found again, and told, by who asks for a commit to be shown.
        """
        if self._shown is not None or not self.is_left():
            yield
            return
        beside = Thread(target=self._try_to_take_over, args=(commit,))
        beside.start()
        try:
            yield
        finally:
            beside.join()

    def _try_to_take_over(self, commit: str) -> None:
        with contextlib.suppress(OSError, PlanboundError):
            self._take_over(commit)

    def judging(self, cell: Cell) -> JudgingContext:
        """Return what judges the files that it shows, in that cell if it is strong enough."""
        self._is_untouched = False
        there = self._context.at(self._workspace())
        strong = cell.isolation.reaches(there.configuration.judging.isolation)
        judging = judging_context(there, cell if strong else None)
        self._is_open |= not judging.cell.isolation.reaches(Isolation.I1)
        return judging._replace(cell=ControlledCell(judging.cell, self._control))

    def close(self) -> None:
        """Remove it, if it was made."""
        if os.path.lexists(f"{self.path}{_OWNER}"):
            self.remove(self.path)
        self._shown = None

    def leave(self) -> None:
        """Leave it for the next merge; remove it where it can hold more than a commit.

        That is so after a setup, and where nothing kept a contract from writing to it.
        """
        if self._shown is None or self._is_open or self.path != self.kept:
            self.close()
            return
        self._mark(self.path, _LEFT)
        self._shown = None

    @property
    def _has_setup(self) -> bool:
        return bool(self._context.configuration.worktrees.setup)

    def _take_over(self, commit: str) -> None:
        """Take over what the last merge left, if it holds that commit then, and nothing else."""
        if self._has_setup or (_has_owner(self.kept) and not _is_gone(self.kept)):
            return
        mark, fits = self._mark(self.kept), False
        if os.path.lexists(self.kept):
            # Whatever is wrong with it: one that is made anew is as good.
            with contextlib.suppress(OSError, GitProblem):
                fits = self._repository.renew(self.kept, commit)
            if _read_mark(self.kept) != mark:
                return  # somebody else took it meanwhile
            if not fits:
                with contextlib.suppress(OSError, GitProblem):
                    self.remove(self.kept)
                if os.path.lexists(self.kept):
                    return
        self.path = self.kept
        if fits:
            self._shown, self._is_untouched = commit, True

    def sweep(self) -> None:
        """Remove what processes left that are dead by now, and what no merge takes over."""
        useless = [self.kept] if self._has_setup and self.is_left() else []
        for path in (*self.abandoned(), *useless):
            # One that cannot be removed is in nobody's way.
            with contextlib.suppress(OSError, GitProblem):
                self.remove(path)

    def is_left(self) -> bool:
        """Say whether there is one for the next merge, which nobody works in."""
        return _has_owner(self.kept) and _is_gone(self.kept)

    def abandoned(self) -> list[str]:
        """Return the worktrees of processes that are dead by now."""
        try:
            names = sorted(os.listdir(self._folder))
        except FileNotFoundError:
            return []
        paths = [
            os.path.join(self._folder, name.removesuffix(_OWNER))
            for name in names
            if name.startswith(_NAME) and name.endswith(_OWNER)
        ]
        return [path for path in paths if _is_gone(path)]

    def _make(self, commit: str) -> None:
        # Before it is there: whoever is cut off leaves a trace of whose it is.
        self._mark(self.path)
        self._repository.add(self.path, None, commit)
        self._shown, self._is_untouched = commit, True
        self._furnish()

    def _mark(self, path: str, mark: str | None = None) -> str:
        """Say whose a worktree is, by default this process's; return what is said."""
        folder, mark = os.path.dirname(path), mark or this_process().mark
        try:
            os.makedirs(folder, mode=0o700, exist_ok=True)
            with open(f"{path}{_OWNER}", "w", encoding="utf-8") as file:
                file.write(mark)
        except OSError as error:
            raise FileProblem(f"cannot write into `{folder}`: {error.strerror}") from error
        return mark

    def _workspace(self) -> str:
        path = os.path.normpath(os.path.join(self.path, git_place(self._context).inside))
        os.makedirs(path, exist_ok=True)
        return path

    def _furnish(self) -> None:
        """Bring in what a checkout does not, and contracts may need."""
        workspace = self._workspace()
        setup = self._context.configuration.worktrees.setup
        files = WorktreeFiles(plans_root(self._context.root))
        self._is_untouched = not setup
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

    def remove_left(self) -> None:
        """Remove what is left for the next merge, unless one has taken it over."""
        if self.is_left():
            self.remove(self.kept)

    def remove(self, path: str) -> None:
        """Remove a worktree and the trace of whose it is."""
        registered = {each.path for each in self._repository.registered()}
        if path in registered:
            try:
                self._repository.remove(path, force=True)
            except GitProblem:  # git does not take what is there for it
                remove_entry(path)
                self._repository.remove(path, force=True)
        remove_entry(path)  # git was cut off before it knew it, or was made to forget it
        if not os.path.lexists(path):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{path}{_OWNER}")


def _has_owner(path: str) -> bool:
    return os.path.lexists(f"{path}{_OWNER}")


def _is_gone(path: str) -> bool:
    """Say whether nobody works in a worktree."""
    mark = _read_mark(path)
    return mark == _LEFT or is_gone(mark)


def _read_mark(path: str) -> str:
    try:
        with open(f"{path}{_OWNER}", encoding="utf-8", errors="replace") as file:
            return file.read(_LONGEST_MARK)
    except OSError:
        return ""


def abandoned_merges(context: Context) -> list[tuple[str, Callable[[], None]]]:
    """Return the scratch worktrees that nobody needs any more, each with what removes it."""
    scratch = MergeScratch(context, make_repository(context), StopSignal())
    return [(path, partial(scratch.remove, path)) for path in scratch.abandoned()]


def left_merge(context: Context) -> tuple[str, Callable[[], None]] | None:
    """Return what is left for the next merge, with what removes it; None where nothing is."""
    scratch = MergeScratch(context, make_repository(context), StopSignal())
    return (scratch.kept, scratch.remove_left) if scratch.is_left() else None


def quietly_leave(scratch: MergeScratch) -> str | None:
    """Leave or remove a scratch worktree at the end; return why it cannot be removed."""
    try:
        scratch.leave()
    except GitProblem as problem:
        return f"{problem.message}; the next `planbound integrate` removes it"
    return None
