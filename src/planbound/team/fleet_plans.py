"""The plans of a fleet: how far each is, the worktree that it gets, and how its run is started."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.cells.processes import ChildProcess
from planbound.errors import Refused
from planbound.git.repository import Repository
from planbound.journal.event import EventKind
from planbound.journal.record import Query
from planbound.plan.model import Plan, PlanStatus, StepStatus
from planbound.run.commit import Commits, commit_proved
from planbound.state.place import Binding, TeamState
from planbound.state.plan import PlanState, known_team
from planbound.state.run import RunState, lay_out
from planbound.team.fleet_decision import builds_on
from planbound.team.spawn import AlreadySpawned, spawn_plan
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.overview import notice_lines, overview, plan_infos
from planbound.workspace.readiness import PlanInfo

_ANEW = frozenset(
    {
        EventKind.PLAN_CREATED,
        EventKind.PLAN_AMENDED,
        EventKind.PLAN_REWRITTEN,
        EventKind.GATE_APPROVED,
    }
)
"""What may have changed the steps of a plan."""
_DECISIVE = _ANEW | {
    EventKind.PLAN_ACTIVATED,
    EventKind.PLAN_ARCHIVED,
    EventKind.GATE_REJECTED,
    EventKind.EXECUTION_COMPLETE,
    EventKind.FINALIZATION_ACCEPTED,
}
"""What may let a plan begin, or keep it from that."""
_BY_EVENTS = frozenset({PlanStatus.APPROVED, PlanStatus.IN_PROGRESS, PlanStatus.FAILED})


class PlansNow(NamedTuple):
    """What is known of all plans at a moment."""

    plans: Mapping[str, PlanInfo]
    team: Mapping[str, TeamState]


class FleetProgress(NamedTuple):
    """How far a run is."""

    proved: int = 0
    holds: int = 0
    """How many steps are green, and were so before the work."""
    attested: int = 0
    steps: int = 0
    current: str = ""
    """The title of the step that is worked on."""
    why_ended: str | None = None
    asked: str = ""
    """Why a person is asked first, in words."""


class FleetPlans:
    """The plans of a fleet, over one connection to the journal: looks at them and starts them."""

    def __init__(self, context: Context) -> None:
        self.context = context
        self.journal = context.journal()
        self.leases = context.leases()
        self.recorder = context.recorder(self.journal)
        self._plans: dict[str, Plan] = {}
        self._states: dict[str, RunState | None] = {}
        self._seq = self.journal.head().seq

    def look(self) -> PlansNow:
        """Return what is known of all plans now."""
        seen = overview(self.context.tree, self.context.files, lambda: self.journal)
        notice_lines(self.context, seen.lines)
        spoken = {line.file.slug for line in seen.lines if line.state is not None}
        self._plans = {}
        for line in seen.lines:
            if line.plan is not None:
                self._plans.setdefault(line.file.slug, line.plan)
        infos = plan_infos(seen, [], self.context.configuration.gate.require)
        plans = {info.slug: _trusted(info, known=info.slug in spoken) for info in infos}
        return PlansNow(plans, known_team(self.journal))

    def holders(self) -> dict[str, str]:
        """Return who runs which plan now."""
        return {
            held.claim.plan: held.claim.holder for held in self.leases.held() if not held.expired
        }

    def worktree_of(self, plan: PlanInfo, now: PlansNow) -> Binding:
        """Return the worktree of a plan, made where it has none; raise where that cannot be."""
        state = now.team.get(plan.slug)
        binding = state.binding if state is not None else None
        if binding is not None and binding.is_whole and os.path.isdir(binding.path):
            return binding
        base: str | None = None
        before: tuple[str, ...] = ()
        if binding is None or not binding.is_whole:
            commits = Commits(self.context)
            before = builds_on(now.plans, plan)
            base = _base_of(commits, plan.slug, before, now.team, self._objectives(before))
        file = locate(plan.slug, self.context.tree)
        try:
            return spawn_plan(self.context, file, base, builds_on=before).binding
        except AlreadySpawned as there:
            return there.binding

    def start(self, slug: str) -> ChildProcess:
        """Start the run of a plan, in a process of its own."""
        words = ["--workspace", self.context.root]
        if self.context.given_state:
            words += ["--state", os.path.abspath(self.context.given_state)]
        # By its path: a file of the plan's name may be in the current folder.
        path = self.context.tree.planned_path(slug).path
        return ChildProcess([*words, "run", path, "--no-input"], log=self.log_of(slug))

    def log_of(self, slug: str) -> str:
        """Return the file with what the run of a plan said."""
        return os.path.join(self.context.state.folder, "runs", f"{slug}.log")

    def _objectives(self, slugs: Sequence[str]) -> dict[str, str]:
        found = {slug: self._plans.get(slug) for slug in slugs}
        return {
            slug: plan.objective.value if plan is not None and plan.objective else slug
            for slug, plan in found.items()
        }

    # -- how far they are ----------------------------------------------------------------------

    def wait(self, seconds: float) -> None:
        """Wait until something happens, but not for longer."""
        self.journal.wait(self._seq, seconds)

    def read_on(self) -> bool:
        """Take in what happened; say whether it may change what a fleet does next."""
        decisive = False
        for record in self.journal.read(Query(after=self._seq)):
            self._seq = record.seq
            slug, kind = record.draft.plan, record.kind
            decisive = decisive or kind in _DECISIVE
            if kind in _ANEW:
                self._states.pop(slug, None)
            state = self._states.get(slug)
            if state is not None and record.seq > state.seq:
                state.apply(record)
        return decisive

    def last_seq(self, slug: str) -> int:
        """Return the number of the last event of a plan."""
        last = [record.seq for record in self.journal.read(Query(plan=slug, last=1))]
        return last[0] if last else 0

    def progress(self, slug: str) -> FleetProgress:
        state = self._state(slug)
        if state is None:
            return FleetProgress()
        slots = zip(state.layout.slots, state.steps, strict=True)
        working = [slot.title for slot, step in slots if step.status is StepStatus.IN_PROGRESS]
        return FleetProgress(
            proved=state.count(StepStatus.DONE),
            holds=state.count(StepStatus.HOLDS),
            attested=state.count(StepStatus.ATTESTED),
            steps=len(state.steps),
            current=", ".join(working),
            why_ended=state.why_ended,
            asked=next((each.reason for each in state.questions.values()), ""),
        )

    def _state(self, slug: str) -> RunState | None:
        if slug not in self._states:
            state = self._fresh_state(slug)
            if state is not None:
                state.apply_all(self.journal.read(Query(plan=slug)))
            self._states[slug] = state
        return self._states[slug]

    def _fresh_state(self, slug: str) -> RunState | None:
        """Return the state of a plan to which no event was applied; None: it cannot be read."""
        plan = self._plans.get(slug)
        if plan is None:
            return None
        return RunState(lay_out(plan, self.recorder.step_ids(plan)), PlanState(slug))


def _trusted(info: PlanInfo, *, known: bool) -> PlanInfo:
    """Return what is known of a plan; what only its file says approves nothing."""
    if known or info.status not in _BY_EVENTS:
        return info
    return info._replace(status=PlanStatus.DRAFT)


# -- what a plan's worktree begins with: the target, and the work of all that the plan depends on


def _base_of(
    commits: Commits,
    slug: str,
    depends_on: Sequence[str],
    team: Mapping[str, TeamState],
    objectives: Mapping[str, str],
) -> str:
    """Return the commit that a plan is to begin with.

    Finished dependencies that are not in the target yet are merged into it; raise Refused where
    they conflict, or where the work of one cannot be committed.
    """
    base = _target(commits)
    into = commits.rules.into or "HEAD"
    taken: list[str] = []
    for name in depends_on:
        state = team.get(name)
        if state is None or state.binding is None or _is_inside(commits.repository, state, base):
            continue  # its work is in the target, or was done there
        try:
            tip = commit_proved(commits, state, objectives[name])
        except Refused as refused:
            raise Refused(
                f"the work of `{name}` cannot be its base: {refused.message}", hint=refused.hint
            ) from refused
        base = _joined(commits, (slug, into), [*taken, name], base, tip)
        taken.append(name)
    return base


def _target(commits: Commits) -> str:
    """Return the commit that plans are brought together in."""
    into = commits.rules.into
    commit = commits.repository.commit_of("HEAD" if into is None else f"refs/heads/{into}")
    if commit is not None:
        return commit
    if into is not None:
        raise Refused(f"`[worktrees] into` names `{into}`, and there is no such branch")
    raise Refused(
        "the repository has no commit yet, and a worktree begins with one",
        hint="commit something first",
    )


def _is_inside(repository: Repository, state: TeamState, base: str) -> bool:
    done = state.integrated
    return done is not None and not repository.missing(done.tip, [base], remotes=False)


def _joined(
    commits: Commits, about: tuple[str, str], names: Sequence[str], base: str, tip: str
) -> str:
    """Return a commit that holds both; `names` are the plans whose work is in it."""
    slug, into = about
    repository = commits.repository
    if not repository.missing(tip, [base], remotes=False):
        return base
    if not repository.missing(base, [tip], remotes=False):
        return tip
    state = repository.registered()[0]
    merged = repository.merge(state.path, base, tip)
    quoted = [f"`{name}`" for name in names]
    if merged.conflicts:
        shown = ", ".join(merged.conflicts[:5])
        if len(names) == 1:
            what = f"its dependency {quoted[0]} conflicts with `{into}` in {shown}"
            raise Refused(
                f"{what}: integrate it first", hint=f"`planbound integrate {shlex.quote(names[0])}`"
            )
        raise Refused(
            f"its dependencies {_listed(quoted)} conflict in {shown}: integrate them first",
            hint=f"`planbound integrate {shlex.join(names)}`",
        )
    message = f"Base of plan `{slug}`: {_listed(quoted)}\n"
    return repository.commit(merged.tree, [base, tip], message, commits.rules.author)


def _listed(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
