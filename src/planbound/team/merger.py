"""Merges one plan after the other: the branch moves only when the merged files were judged."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import cached_property

from planbound.agents.control import StopSignal
from planbound.approval.record import approved_state
from planbound.errors import GitProblem, LeaseLost, PlanboundError, Refused
from planbound.git.place import machine
from planbound.git.repository import Registered
from planbound.journal.event import (
    Event,
    EventKind,
    IntegrationStopped,
    PlanIntegrated,
    StopKind,
)
from planbound.journal.leases import Leases, hold_lease, keep_renewed, my_claim
from planbound.journal.record import HeldLease, Query
from planbound.plan.slug import UNNAMED, progress_name
from planbound.run.commit import Commits, commit_proved
from planbound.state.place import Binding, Integration, TeamState
from planbound.state.plan import known_of, known_team
from planbound.team.gates import GateReader
from planbound.team.judge_merge import Demand, MergeScratch, demand_of
from planbound.team.merge import (
    LEASE,
    Landed,
    MergeNotTried,
    MergeResult,
    Note,
    Stopped,
    is_merged,
    merge_subject,
    progress_heading,
    resolved_by,
)
from planbound.team.merge_attempt import MergeAttempt, Proposed
from planbound.team.target import (
    Branch,
    contains,
    update_worktrees,
    waits_for,
    worktrees_on,
    would_overwrite,
)
from planbound.workspace.context import Context
from planbound.workspace.progress_file import ProgressAppender
from planbound.workspace.vault import open_vault

_TRIES = 5


class Merger:
    """Merges plans into a branch, while it holds the lease of the integration."""

    def __init__(
        self,
        context: Context,
        into: str,
        held_lease: HeldLease,
        control: StopSignal,
        tell: Callable[[MergeResult | Note], None],
    ) -> None:
        """`held_lease` is by which nobody writes who was overtaken."""
        self.context = context
        self.into = into
        self.held_lease = held_lease
        self.control = control
        self.tell = tell
        self.results: list[MergeResult] = []
        self.commits = Commits(context)
        self.repository = self.commits.repository
        self.scratch = MergeScratch(context, self.repository, control)
        self._journal = self.commits.recorder.journal
        self.gates = GateReader(context, self.repository)
        self._demands: dict[str, Demand | None] = {}

    @cached_property
    def leases(self) -> Leases:
        """Who works on what."""
        return self.context.leases()

    def merge_all(self, slugs: Sequence[str], depends_on: Mapping[str, Sequence[str]]) -> None:
        """Merge plans in this order; what cannot be is reported, the others go on."""
        for slug in slugs:
            if self.control.reason is not None:
                break
            result = self._guarded(slug, depends_on)
            if result is not None:
                self.report(result)

    def finish_cut_off(self) -> None:
        """Finish what somebody could not who was cut off after the branch had moved."""
        self._add_last_progress()
        for state in known_team(self._journal).values():
            merge = state.judged
            if merge is None:
                continue
            target = self.repository.commit_of(f"refs/heads/{merge.into}")
            if target is None or not contains(self.repository, target, merge.commit):
                continue
            note = "its merge was cut off, and is finished now"
            if target == merge.commit:
                note += update_worktrees(self.repository, merge)
            self._record_merged(state.plan, merge)
            self.report(Landed(state.plan, merge.commit, note=note))

    def target(self) -> str:
        """Return what the branch leads to now."""
        commit = self.repository.commit_of(f"refs/heads/{self.into}")
        if commit is None:
            raise Refused(f"the branch `{self.into}` is gone")
        return commit

    def report(self, result: MergeResult) -> None:
        """Tell what became of a plan, and remember it."""
        self.results.append(result)
        self.tell(result)

    # -- one plan ------------------------------------------------------------------------------

    def _guarded(self, slug: str, depends_on: Mapping[str, Sequence[str]]) -> MergeResult | None:
        """Merge one plan while nobody can run it; None where everything was stopped."""
        state = known_of(self._journal, slug)
        binding = state.binding
        if is_merged(state, self.into):
            return None
        if binding is None:
            return MergeNotTried(slug, "has no worktree of its own any more")
        if binding.machine not in {"", machine()}:
            return MergeNotTried(
                slug, f"has its worktree on `{binding.machine}`: integrate it there"
            )
        try:
            with self._plan_lease(binding):
                return self._merge(known_of(self._journal, slug), depends_on)
        except LeaseLost:
            raise
        except (Refused, GitProblem) as problem:
            cure = f"; {problem.hint}" if problem.hint else ""
            return MergeNotTried(slug, problem.message + cure)

    def _merge(
        self, state: TeamState, depends_on: Mapping[str, Sequence[str]]
    ) -> MergeResult | None:
        slug, team = state.plan, known_team(self._journal)
        target = self.target()
        waits = waits_for(self.repository, Branch(self.into, target), slug, depends_on, team)
        if waits is not None:
            return MergeNotTried(slug, waits)
        own = self._demand(slug)
        if own is None:
            return MergeNotTried(slug, "its file is not there")
        with self.scratch.taken_over_meanwhile(target):
            tip = commit_proved(self.commits, state, own.objective)
        others = [
            demand
            for other, known in team.items()
            if other != slug and is_merged(known, self.into)
            if (demand := self._demand(other)) is not None
        ]
        digest = state.proof.digest if state.proof else None
        subject = merge_subject(slug, own.objective)
        receipt = self.commits.receipt_of(tip)
        message = f"{subject}\n\n{self.commits.trailers(slug, digest, receipt)}\n"
        named = self.gates.named(state)
        attempt = MergeAttempt(self, Proposed(slug, tip, message, named), own, others)
        for _ in range(_TRIES):
            target = self.target()
            if contains(self.repository, target, tip):
                return self._already(slug, target, tip)
            done = attempt.on(target)
            if done is not None or self.control.reason is not None:
                return done
        reason = f"`{self.into}` was moved by others while the plan was judged, {_TRIES} times"
        return self.record_stop(Stopped(slug, StopKind.MOVING, reason, target, tip))

    def _already(self, slug: str, target: str, tip: str) -> Landed:
        team = known_team(self._journal)
        resolution = resolved_by(slug, team)
        by = resolution if resolution and is_merged(team[resolution], self.into) else None
        self._record_merged(slug, Integration(self.into, target, target, tip), by=by)
        note = f"was brought in by `{by}`" if by else f"is in `{self.into}` already"
        return Landed(slug, target, note=note)

    def _demand(self, slug: str) -> Demand | None:
        """Return what an active plan demands; None where there is no plan of this name."""
        if slug not in self._demands:
            context = self.context
            file = next((each for each in context.tree.plans() if each.slug == slug), None)
            demand = None
            if file is not None:
                data = context.reader.read(file.path)
                state = approved_state(context.recorder(), open_vault(context), slug, data)
                demand = demand_of(slug, state)
            self._demands[slug] = demand
        return self._demands[slug]

    # -- leases --------------------------------------------------------------------------------

    @contextmanager
    def _plan_lease(self, binding: Binding) -> Iterator[None]:
        """Keep everybody from running a plan; raise Refused where somebody does."""
        # Nothing there is changed: whoever touches the same elsewhere is not in the way.
        claim = my_claim(binding.plan, binding.workspace)
        seconds = self.context.configuration.run.lease
        with hold_lease(self.leases, claim, seconds=seconds) as held_lease, self.keep(held_lease):
            yield

    def keep(self, held_lease: HeldLease) -> AbstractContextManager[None]:
        """Renew a lease for as long as it is needed."""
        seconds = self.context.configuration.run.lease
        return keep_renewed(
            self.context.leases(), held_lease, seconds=seconds, lost=self.control.stop
        )

    def _plan_run_in(self, path: str) -> str | None:
        """Return the plan that is run in a worktree now."""
        for held in self.leases.held():
            inside = f"{held.claim.worktree}/".startswith(f"{path}/")
            if inside and not held.expired and held.claim.plan != LEASE:
                return held.claim.plan
        return None

    # -- the branch and what follows it --------------------------------------------------------

    def in_the_way(
        self, worktrees: Sequence[Registered], target: str, commit: str
    ) -> tuple[str, tuple[str, ...]] | None:
        """Return why the branch cannot move where it is checked out, with the files."""
        for shown in worktrees:
            busy = self._plan_run_in(shown.path)
            if busy is not None:
                return f"`{busy}` is run in {shown.path}, whose files would change under it", ()
            found = would_overwrite(self.repository, shown, target, commit)
            if found is not None:
                return found
        return None

    def shown_in(self) -> list[Registered]:
        """Return the worktrees that have the branch checked out."""
        return worktrees_on(self.repository, self.into)

    def move(self, plan: str, merge: Integration, worktrees: Sequence[Registered]) -> str | None:
        """Move the branch and all that show it; return a note, None where the branch moved."""
        reason = f"planbound: merge {plan}"
        if not self.repository.move(merge.into, merge.commit, merge.before, reason):
            return None
        note = update_worktrees(self.repository, merge, worktrees)
        self._record_merged(plan, merge)
        return note

    # -- the journal ---------------------------------------------------------------------------

    def record(self, event: Event, plan: str) -> None:
        """Put an event into the journal, unless somebody else integrates by now."""
        draft = self.commits.recorder.draft(event, plan)
        self._journal.append([draft], held_lease=self.held_lease)

    def record_stop(self, stopped: Stopped) -> Stopped:
        """Record that a plan is not merged, and why."""
        event = IntegrationStopped(
            into=self.into,
            kind=stopped.kind,
            reason=stopped.reason,
            target=stopped.target,
            tip=stopped.tip,
            files=stopped.files or None,
            verdicts=dict(stopped.verdicts) if stopped.verdicts else None,
            about=stopped.about,
            output_tail=stopped.output or None,
        )
        self.record(event, stopped.plan)
        return stopped

    def _record_merged(self, plan: str, merge: Integration, *, by: str | None = None) -> None:
        """Record that a plan is merged; `by` is the plan that resolved its conflicts."""
        event = PlanIntegrated(
            into=merge.into, tip=merge.tip, before=merge.before, commit=merge.commit, with_=by
        )
        self.record(event, plan)
        self._add_progress(plan, merge.commit)

    def _add_last_progress(self) -> None:
        """Add the progress of the plan that was merged last: that may have been cut off, too."""
        merges = list(self._journal.read(Query(events=(EventKind.PLAN_INTEGRATED,))))
        if merges:
            last = merges[-1].event
            assert isinstance(last, PlanIntegrated)
            self._add_progress(merges[-1].draft.plan, last.commit)

    def _add_progress(self, slug: str, commit: str) -> None:
        """Add a plan's progress to that of all, once for each merge."""
        if slug == UNNAMED:  # its progress is that of all
            return
        harness = self.context.tree.harness
        try:
            ProgressAppender(os.path.join(harness, progress_name(UNNAMED))).fold_in(
                progress_heading(slug, commit), os.path.join(harness, progress_name(slug))
            )
        except PlanboundError as problem:
            said = f"note: the progress of `{slug}` is not in that of all: {problem.message}"
            self.tell(Note(said))
