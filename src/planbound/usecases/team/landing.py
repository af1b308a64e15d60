"""The last steps of a merge: what is recorded, what moves, and what follows the branch."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from planbound.engine.fence import Fence
from planbound.engine.team.integration import Result, Stopped, listed
from planbound.engine.team.state import Binding, Integration
from planbound.errors import GitProblem, Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.ports.git import Registered
from planbound.usecases.bench import Bench
from planbound.usecases.run.control import Control
from planbound.usecases.team.commit import CommitDesk
from planbound.usecases.team.judge_merge import Demand


class Scratch(Protocol):
    """A worktree that nobody works in."""

    def show(self, commit: str) -> str:
        """Check a commit out; return where."""

    def bench(self) -> Bench:
        """Return what judges the files that it shows."""


class IntegrateDesk(NamedTuple):
    """What integrating needs, put together once."""

    commits: CommitDesk
    fence: Fence
    """By which nobody writes who was overtaken."""
    control: Control
    scratch: Scratch
    machine: str
    demand: Callable[[str], Demand | None]
    """Returns what an active plan demands; None where there is none of this name."""
    lease: Callable[[Binding], AbstractContextManager[None]]
    """Keeps everybody from running a plan; raises Refused where somebody does."""
    busy: Callable[[str], str | None]
    """Returns the plan that is run in a worktree now."""
    fold_in: Callable[[str, str], None]
    """Adds a plan's progress to that of all, once for each merge."""
    report: Callable[[Result], None]


class Landing:
    """The branch that plans are brought together in, and everything that shows it."""

    def __init__(self, desk: IntegrateDesk, into: str) -> None:
        self.desk = desk
        self.into = into
        self._repository = desk.commits.repository

    def target(self) -> str:
        """Return what the branch leads to now."""
        commit = self._repository.commit_of(f"refs/heads/{self.into}")
        if commit is None:
            raise Refused(f"the branch `{self.into}` is gone")
        return commit

    def record(self, kind: EventKind, plan: str, details: Mapping[str, Json]) -> None:
        """Put an event into the journal, unless somebody else integrates by now."""
        draft = self.desk.commits.recorder.draft(kind, plan, details)
        self.desk.commits.recorder.journal.append([draft], fence=self.desk.fence)

    def stop(self, stopped: Stopped) -> Stopped:
        """Note that a plan is not merged, and why."""
        details: dict[str, Json] = {
            "into": self.into,
            "kind": stopped.kind.value,
            "reason": stopped.reason,
            "target": stopped.target,
            "tip": stopped.tip,
        }
        if stopped.files:
            details["files"] = list(stopped.files)
        if stopped.verdicts:
            details["verdicts"] = dict(stopped.verdicts)
        if stopped.about is not None:
            details["about"] = stopped.about
        if stopped.output:
            details["output_tail"] = stopped.output
        self.record(EventKind.INTEGRATION_STOPPED, stopped.plan, details)
        return stopped

    def in_the_way(self, target: str, commit: str) -> tuple[str, tuple[str, ...]] | None:
        """Return what is not committed and would be written over where the branch is shown."""
        for shown in self._showing(self.into):
            busy = self.desk.busy(shown.path)
            if busy is not None:
                return f"`{busy}` is run in {shown.path}, whose files would change under it", ()
            text = self._repository.check_out(shown.path, target, commit, try_only=True)
            if text is None:
                continue
            left = self._repository.leftovers(shown.path, target)
            changed = set(self._repository.differences(target, commit))
            files = tuple(name for name in (*left.changed, *left.untracked) if name in changed)
            named = listed(files) if files else text
            return f"uncommitted changes in {shown.path} are in the way: {named}", files
        return None

    def land(self, plan: str, merge: Integration) -> str | None:
        """Move the branch and all that show it; return a note, None where the branch moved."""
        reason = f"planbound: merge {plan}"
        if not self._repository.move(merge.into, merge.commit, merge.before, reason):
            return None
        note = self.follow(merge)
        self.settle(plan, merge)
        return note

    def _showing(self, branch: str) -> list[Registered]:
        found = self._repository.registered()
        return [each for each in found if each.branch == branch and not each.missing]

    def follow(self, merge: Integration) -> str:
        """Let the files of worktrees follow their branch; return what could not."""
        said = ""
        try:
            for each in self._showing(merge.into):
                text = self._repository.check_out(each.path, merge.before, merge.commit)
                if text is not None:
                    said += f"; the files in {each.path} do not show it yet: {text}"
        except GitProblem as problem:  # the branch has moved: that stays
            said += f"; {problem.message}"
        return said

    def settle(self, plan: str, merge: Integration, *, by: str | None = None) -> None:
        """Note that a plan is merged; `by` is the plan that resolved its conflicts."""
        details: dict[str, Json] = {
            "into": merge.into,
            "tip": merge.tip,
            "before": merge.before,
            "commit": merge.commit,
        }
        if by is not None:
            details["with"] = by
        self.record(EventKind.PLAN_INTEGRATED, plan, details)
        self.desk.fold_in(plan, merge.commit)
