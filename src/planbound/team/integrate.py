"""Integrate: merge proved plans into a branch, each judged once more on the merged files."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planbound.agents.control import StopSignal
from planbound.errors import (
    INTERRUPTED,
    GitProblem,
    LeaseLost,
    NothingToDo,
    PlanboundError,
    Refused,
    UsageError,
)
from planbound.git.place import git_place, make_repository
from planbound.git.repository import Repository
from planbound.journal.event import StopKind
from planbound.journal.leases import hold_lease, my_claim
from planbound.run.commit import Commits, proved_work
from planbound.state.place import Integration, TeamState
from planbound.state.plan import known_team
from planbound.team.gates import GateReader
from planbound.team.judge_merge import quietly_leave
from planbound.team.merge import (
    LEASE,
    Integrated,
    Landed,
    MergeNotTried,
    MergeResult,
    Note,
    Stopped,
    after_its_base,
    choose,
    conflict_reason,
    describe_cycle,
    gate_reason,
    is_merged,
    merge_order,
)
from planbound.team.merger import Merger
from planbound.team.target import Branch, contains, find_target, plan_sizes, waits_for
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.overview import overview, plan_infos


class _Chosen(NamedTuple):
    order: list[str]
    not_tried: list[MergeNotTried]
    depends_on: Mapping[str, Sequence[str]]
    team: Mapping[str, TeamState]


class Integrator:
    """One `planbound integrate`, from the lease to its release."""

    def __init__(
        self,
        context: Context,
        names: Sequence[str] | None,
        into: str | None,
        tell: Callable[[MergeResult | Note], None],
    ) -> None:
        """`tell` is called with what becomes of each plan, and with what else is to be known."""
        self.context = context
        self.names = names
        self.given = into
        self.tell = tell
        self.control = StopSignal()
        self.repository: Repository = make_repository(context)

    def stop(self, reason: str) -> None:
        """Ask it to end; from any thread or signal handler."""
        self.control.stop(reason)

    def foresee(self) -> Integrated:
        """Return what would come of it; nothing is judged, moved or recorded."""
        branch = self.branch()
        chosen = self._choose(branch)
        if not chosen.order:
            held = tuple(chosen.not_tried)
            return Integrated(branch.name, branch.commit, branch.commit, held)
        foresight = _Foresight(self.context, branch, chosen)
        seen = foresight.see()
        self._tell_of_gates(branch, foresight.gates)
        return seen._replace(results=(*chosen.not_tried, *seen.results))

    def execute(self) -> Integrated:
        """Merge plans, when nobody else does; raise NothingToDo where there is nothing."""
        self.branch()  # what cannot be is said before anybody is waited for
        context = self.context
        leases, seconds = context.leases(), context.configuration.run.lease
        claim = my_claim(LEASE, os.path.join(context.state.folder, "scratch"))
        told: set[str] = set()

        def waits(_refused: Refused) -> bool:
            """Wait until nobody else integrates, and say once for whom."""
            if not told:
                holders = (held for held in leases.held() if held.claim.plan == LEASE)
                who = next((held.claim.holder for held in holders), "somebody else")
                self.tell(Note(f"note: waits for {who}, which integrates now"))
                told.add(who)
            if self.control.reason is not None:
                raise KeyboardInterrupt
            return True

        with hold_lease(leases, claim, seconds=seconds, waits=waits) as held_lease:
            branch = self.branch()
            merger = Merger(context, branch.name, held_lease, self.control, self.tell)
            try:
                with merger.keep(held_lease):
                    merger.scratch.sweep()
                    return self._execute(merger, branch)
            finally:
                left = quietly_leave(merger.scratch)
                if left is not None:
                    self.tell(Note(f"note: {left}"))

    def _execute(self, merger: Merger, branch: Branch) -> Integrated:
        merger.finish_cut_off()
        self._tell_of_gates(branch, merger.gates)
        chosen = self._choose(branch)
        for each in chosen.not_tried:
            merger.report(each)
        merger.merge_all(chosen.order, chosen.depends_on)
        reason = self.control.reason
        if reason is not None and reason != INTERRUPTED:
            raise LeaseLost(reason)
        if not merger.results and reason is None:
            raise NothingToDo(self._nothing(branch))
        return Integrated(
            branch.name,
            branch.commit,
            merger.target(),
            tuple(merger.results),
            interrupted=reason is not None,
        )

    def _nothing(self, branch: Branch) -> str:
        if not self.names:
            return f"no proved plan waits to be merged into `{branch.name}`"
        named = ", ".join(f"`{name}`" for name in self.names)
        return f"{named} {'is' if len(self.names) == 1 else 'are'} in `{branch.name}` already"

    def _tell_of_gates(self, branch: Branch, gates: GateReader) -> None:
        """Say where the gates are not those that somebody sees here, or judge by nothing known."""
        shows = self.repository.branch(git_place(self.context).main)
        committed = gates.at(branch.commit, f"`{branch.name}`")
        for number in gates.without_judges(committed):
            said = f"gate {number} has no judges that can be found: name them with `judges`"
            self.tell(Note(f"note: {said}, or a plan can change them unseen"))
        if shows == branch.name and gates.is_behind(committed):
            said = f"the gates count that are committed in `{branch.name}`, not those written here"
            self.tell(Note(f"note: {said}: commit the configuration"))

    # -- which ---------------------------------------------------------------------------------

    def branch(self) -> Branch:
        """Return the branch that plans are brought together in."""
        branch = find_target(self.context, self.repository, self.given)
        for state in known_team(self.context.existing_journal()).values():
            if state.binding is not None and state.binding.branch == branch.name:
                raise UsageError(f"`{branch.name}` is the branch of `{state.plan}` itself")
        return branch

    def _choose(self, branch: Branch) -> _Chosen:
        context = self.context
        team = known_team(context.existing_journal())
        infos = [
            after_its_base(info, team)
            for info in plan_infos(
                overview(context.tree, context.files, context.existing_journal),
                [],
                context.configuration.gate.require,
            )
        ]
        slugs, held = self._named()
        # What decides between two plans is asked only of those that are to be merged.
        wanted = team if slugs is None else slugs
        mine = {slug for slug in wanted if not _is_done(team, slug, branch.name)}
        sizes = plan_sizes(context, mine) if len(mine) > 1 else {}
        ordered = merge_order(infos, sizes, merged=True)
        if ordered.cycle:
            raise Refused(
                describe_cycle(ordered.cycle), hint="take one of them out of a `depends_on`"
            )
        turns = [turn.slug for turn in ordered.turns]
        unproved = {info.slug: info.unproved for info in infos if info.unproved is not None}
        order, unfit = choose(slugs, team, turns, branch.name, unproved)
        depends_on = {info.slug: info.depends_on for info in infos}
        return _Chosen(order, [*held, *unfit], depends_on, team)

    def _named(self) -> tuple[list[str] | None, list[MergeNotTried]]:
        """Return the plans that were named, and the names of none."""
        if self.names is None:
            return None, []
        slugs, held = [], []
        for name in self.names:
            try:
                file = locate(name, self.context.tree)
                self.context.demand_own(file)
                slugs.append(file.slug)
            except PlanboundError as problem:
                hint = f"; {problem.hint}" if problem.hint else ""
                held.append(MergeNotTried(name, problem.message + hint))
        return slugs, held


def _is_done(team: Mapping[str, TeamState], slug: str, into: str) -> bool:
    state = team.get(slug)
    return state is not None and is_merged(state, into)


# -- what an integration would come to: nothing is judged, moved or recorded ---------------------


class _Foresight:
    """Which plans could be merged one after the other, and what would stop the others."""

    def __init__(self, context: Context, branch: Branch, chosen: _Chosen) -> None:
        self._branch = branch
        self._chosen = chosen
        self._team = dict(chosen.team)
        self._commits = Commits(context)
        self._repository = self._commits.repository
        self.gates = GateReader(context, self._repository)
        self._main = git_place(context).main
        """A worktree whose attributes hold."""

    def see(self) -> Integrated:
        results: list[MergeResult] = []
        into, begin = self._branch.name, self._branch.commit
        now = self._branch
        for slug in self._chosen.order:
            try:
                now, result = self._one(now, self._team[slug])
            except (Refused, GitProblem) as problem:
                result = MergeNotTried(slug, problem.message)
            results.append(result)
            if isinstance(result, Landed):
                merge = Integration(into, begin, now.commit, now.commit)
                self._team[slug] = self._team[slug]._replace(integrated=merge)
        return Integrated(into, begin, begin, tuple(results))

    def _one(self, branch: Branch, state: TeamState) -> tuple[Branch, MergeResult]:
        repository, author = self._repository, self._commits.rules.author
        waits = waits_for(repository, branch, state.plan, self._chosen.depends_on, self._team)
        if waits is not None:
            return branch, MergeNotTried(state.plan, waits)
        work = proved_work(self._commits, state)
        tip = work.parents[0]
        if work.tree != repository.tree_of(tip) or len(work.parents) > 1:
            # Commits that nothing leads to, so that the next plan meets the ones before it.
            tip = repository.commit(work.tree, work.parents, "foreseen", author)
        if contains(repository, branch.commit, tip):
            return branch, Landed(state.plan, None, note=f"is in `{branch.name}` already")
        merged = repository.merge(self._main, branch.commit, tip)
        if merged.conflicts:
            reason = conflict_reason(branch.name, merged.conflicts)
            kind = StopKind.CONFLICT
            return branch, Stopped(
                *(state.plan, kind, reason, branch.commit, tip),
                files=merged.conflicts,
                output=merged.said,
                tree=merged.tree,
            )
        gates = self.gates.at(branch.commit, f"`{branch.name}`")
        unnamed = self.gates.look(gates, merged.tree, self.gates.named(state)).unnamed
        if unnamed:
            reason = gate_reason(state.plan, branch.name, unnamed)
            kind = StopKind.GATE
            return branch, Stopped(*(state.plan, kind, reason, branch.commit, tip), files=unnamed)
        commit = repository.commit(merged.tree, [branch.commit, tip], "foreseen", author)
        return branch._replace(commit=commit), Landed(state.plan, None)
