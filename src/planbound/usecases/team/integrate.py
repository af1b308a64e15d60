"""Integrate: bring proved plans together in a branch, each judged once more on the merged tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.engine.team.integration import (
    HeldBack,
    Integrated,
    Landed,
    Result,
    StopKind,
    Stopped,
    is_merged,
)
from planbound.engine.team.resolution import resolved_by
from planbound.engine.team.state import Integration, TeamState
from planbound.errors import GitProblem, LeaseLost, Refused
from planbound.journal.event import EventKind
from planbound.ports.journal import Query
from planbound.usecases.team.bindings import known_of, known_team
from planbound.usecases.team.commit import commit_proved
from planbound.usecases.team.containment import Branch, contains, waits_for
from planbound.usecases.team.landing import IntegrateDesk, Landing
from planbound.usecases.team.merge_attempt import Attempt

_TRIES = 5


class Integrator:
    """Brings plans together, one after the other."""

    def __init__(
        self, desk: IntegrateDesk, into: str, depends_on: Mapping[str, Sequence[str]]
    ) -> None:
        self.desk = desk
        self.landing = Landing(desk, into)
        self.into = into
        self.depends_on = depends_on
        self.results: list[Result] = []
        self._repository = desk.commits.repository
        self._journal = desk.commits.recorder.journal

    def run(self, slugs: Sequence[str]) -> Integrated:
        """Bring plans together in this order; what cannot be is reported, the others go on."""
        before = self.landing.target()
        for slug in slugs:
            if self.desk.control.reason is not None:
                break
            result = self._guarded(slug)
            if result is not None:
                self._report(result)
        stopped = self.desk.control.reason is not None
        results = tuple(self.results)
        return Integrated(self.into, before, self.landing.target(), results, interrupted=stopped)

    def finish_cut_off(self) -> None:
        """Finish what somebody could not who was cut off after the branch had moved."""
        self._fold_last()
        for state in known_team(self._journal).values():
            merge = state.judged
            if merge is None:
                continue
            target = self._repository.commit_of(f"refs/heads/{merge.into}")
            if target is None or not contains(self._repository, target, merge.commit):
                continue
            note = "its merge was cut off, and is finished now"
            if target == merge.commit:
                note += self.landing.follow(merge)
            self.landing.settle(state.plan, merge)
            self._report(Landed(state.plan, merge.commit, note=note))

    def _report(self, result: Result) -> None:
        self.results.append(result)
        self.desk.report(result)

    # -- one plan ------------------------------------------------------------------------------

    def _guarded(self, slug: str) -> Result | None:
        """Merge one plan while nobody can run it; None where everything was stopped."""
        state = known_of(self._journal, slug)
        binding = state.binding
        if is_merged(state, self.into):
            return None
        if binding is None:
            return HeldBack(slug, "has no worktree of its own any more")
        if binding.machine not in {"", self.desk.machine}:
            return HeldBack(slug, f"has its worktree on `{binding.machine}`: integrate it there")
        try:
            with self.desk.lease(binding):
                return self._merge(known_of(self._journal, slug))
        except LeaseLost:
            raise
        except (Refused, GitProblem) as problem:
            cure = f"; {problem.hint}" if problem.hint else ""
            return HeldBack(slug, problem.message + cure)

    def _merge(self, state: TeamState) -> Result | None:
        slug, team = state.plan, known_team(self._journal)
        target = self.landing.target()
        branch = Branch(self.into, target)
        waits = waits_for(self._repository, branch, slug, self.depends_on, team)
        if waits is not None:
            return HeldBack(slug, waits)
        own = self.desk.demand(slug)
        if own is None:
            return HeldBack(slug, "its file is not there")
        tip = commit_proved(self.desk.commits, state, own.objective)
        others = [
            demand
            for other, known in team.items()
            if other != slug and is_merged(known, self.into)
            if (demand := self.desk.demand(other)) is not None
        ]
        digest = state.proof.digest if state.proof else None
        attempt = Attempt(self.landing, own, others, tip, digest)
        for _ in range(_TRIES):
            target = self.landing.target()
            if contains(self._repository, target, tip):
                return self._already(slug, target, tip)
            done = attempt.on(target)
            if done is not None or self.desk.control.reason is not None:
                return done
        reason = f"`{self.into}` was moved by others while the plan was judged, {_TRIES} times"
        return self.landing.stop(Stopped(slug, StopKind.MOVING, reason, target, tip))

    def _already(self, slug: str, target: str, tip: str) -> Landed:
        team = known_team(self._journal)
        resolution = resolved_by(slug, team)
        by = resolution if resolution and is_merged(team[resolution], self.into) else None
        self.landing.settle(slug, Integration(self.into, target, target, tip), by=by)
        note = f"was brought in by `{by}`" if by else f"is in `{self.into}` already"
        return Landed(slug, target, note=note)

    def _fold_last(self) -> None:
        """Add the progress of the plan that was merged last: that may have been cut off, too."""
        merges = list(self._journal.read(Query(events=(EventKind.PLAN_INTEGRATED,))))
        if merges:
            last = merges[-1].draft
            self.desk.fold_in(last.plan, str(last.details["commit"]))
