"""One plan on its way into the branch: merged beside everything, judged, and then moved."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.journal.event import IntegrationJudged, IntegrationStarted, StopKind
from planbound.state.place import Integration
from planbound.team.judge_merge import (
    Demand,
    JudgedMerge,
    demanded,
    describe,
    judge_merge,
    only_gates,
    stop_kind,
)
from planbound.team.merge import (
    GATES,
    Landed,
    MergeResult,
    Stopped,
    conflict_reason,
    gate_reason,
    named_cure,
    without_reason,
)

if TYPE_CHECKING:
    from planbound.team.gates import BranchGates
    from planbound.team.merger import Merger

_TAIL = 4000


class Proposed(NamedTuple):
    """What a plan brings."""

    plan: str
    tip: str
    message: str
    """Of the merge."""
    named: tuple[str, ...]
    """Which files of gates it may change, by its approval."""


class MergeAttempt:
    """Merges one plan with what a branch leads to, as often as that moves meanwhile."""

    def __init__(
        self, merger: Merger, proposed: Proposed, own: Demand, others: Sequence[Demand]
    ) -> None:
        """`own` is what the plan demands, `others` what those demand that were merged before."""
        self.merger = merger
        self.plan = proposed.plan
        self.tip = proposed.tip
        self.proposed = proposed
        self.own = own
        self.others = others

    def on(self, target: str) -> MergeResult | None:
        """Merge with what the branch leads to; None where it moved, or everything was stopped."""
        merger, repository = self.merger, self.merger.repository
        begun = IntegrationStarted(into=merger.into, target=target, tip=self.tip)
        merger.record(begun, self.plan)
        merged = repository.merge(merger.scratch.show(target), target, self.tip)
        if merged.conflicts:
            reason = conflict_reason(merger.into, merged.conflicts)
            return merger.record_stop(
                Stopped(
                    *(self.plan, StopKind.CONFLICT, reason, target, self.tip),
                    files=merged.conflicts,
                    output=merged.said[-_TAIL:],
                    tree=merged.tree,
                )
            )
        gates = merger.gates.at(target, f"`{merger.into}`")
        changes = merger.gates.look(gates, merged.tree, self.proposed.named)
        if changes.unnamed:
            reason = gate_reason(self.plan, merger.into, changes.unnamed)
            return merger.record_stop(
                Stopped(
                    *(self.plan, StopKind.GATE, reason, target, self.tip), files=changes.unnamed
                )
            )
        author = merger.commits.rules.author
        message = self.proposed.message
        commit = repository.commit(merged.tree, [target, self.tip], message, author)
        return self._judged(target, commit, gates, changes.added)

    def _judged(
        self, target: str, commit: str, gates: BranchGates, added: Sequence[str]
    ) -> MergeResult | None:
        """Judge a merge, and move the branch to it where all of it passes."""
        merger = self.merger
        contracts = demanded(self.own, self.others, gates.cases)
        merger.scratch.show(commit)
        judging = merger.scratch.judging(merger.commits.cell)
        judged = judge_merge(judging, contracts, merger.control)
        if judged is None or merger.control.reason is not None:
            return None
        stopped = self._stopped_by(judged, target)
        if stopped is None and added:
            alone = self._by_their_own_judges(commit, gates, added)
            if alone is None or merger.control.reason is not None:
                return None
            stopped = self._stopped_by(alone, target, added)
        if stopped is not None:
            return merger.record_stop(stopped)
        event = IntegrationJudged(
            into=merger.into,
            target=target,
            tip=self.tip,
            commit=commit,
            verdicts=judged.verdicts(self.plan),
            duration=judged.seconds,
        )
        merger.record(event, self.plan)
        return self._land(target, commit, len(contracts))

    def _by_their_own_judges(
        self, commit: str, gates: BranchGates, added: Sequence[str]
    ) -> JudgedMerge | None:
        """Judge a merge by the gates once more, without what the plan adds to their judges."""
        merger, repository = self.merger, self.merger.repository
        tree = repository.tree_without(merger.scratch.show(commit), commit, added)
        author = merger.commits.rules.author
        bare = repository.commit(tree, [commit], without_reason(added), author)
        merger.scratch.show(bare)
        judging = merger.scratch.judging(merger.commits.cell)
        return judge_merge(judging, only_gates(gates.cases), merger.control)

    def _stopped_by(
        self, judged: JudgedMerge, target: str, added: Sequence[str] = ()
    ) -> Stopped | None:
        kind = stop_kind([verdict.kind for _, verdict in judged.found])
        worst = judged.worst()
        if kind is None or worst is None:
            return None
        plan, verdict = worst
        text = ""
        if verdict.outcome is not None:
            # Before it is cut: half a secret would not be recognised.
            said = verdict.outcome.stdout.text() + verdict.outcome.stderr.text()
            text = self.merger.commits.recorder.redactor.redact(said).text[-_TAIL:]
        reason = describe(plan, verdict, self.plan)
        if added:
            cure = named_cure(self.plan, self.merger.gates.seen_from_workspace(added))
            reason += f", {without_reason(added)}: {cure}"
        return Stopped(
            *(self.plan, kind, reason, target, self.tip),
            files=tuple(added),
            verdicts=judged.verdicts(self.plan),
            about=plan if plan not in {self.plan, GATES} else None,
            output=text,
        )

    def _land(self, target: str, commit: str, contracts: int) -> MergeResult | None:
        merger = self.merger
        worktrees = merger.shown_in()
        found = merger.in_the_way(worktrees, target, commit)
        if found is not None:
            reason, files = found
            kind = StopKind.IN_THE_WAY
            return merger.record_stop(
                Stopped(self.plan, kind, reason, target, self.tip, files=files)
            )
        merge = Integration(merger.into, target, commit, self.tip)
        note = merger.move(self.plan, merge, worktrees)
        if note is None:
            return None
        return Landed(self.plan, commit, contracts, note.removeprefix("; "))
