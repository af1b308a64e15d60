"""A fleet: runs many plans at once, each in a process and a worktree of its own."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planbound.cells.processes import ChildProcess
from planbound.errors import ExitCode, NothingToDo, PlanboundError
from planbound.git.place import git_place
from planbound.plan.model import PlanStatus
from planbound.state.place import Binding, TeamState
from planbound.team.fleet_decision import (
    FleetDecision,
    FleetOutcome,
    FleetRow,
    FleetScene,
    FleetState,
    asked_for,
    decide,
)
from planbound.team.fleet_plans import FleetPlans, PlansNow
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.readiness import FINISHED, PlanInfo, needs_approval
from planbound.workspace.root import plans_root

_MOST_TRIES = 3
_LINES = 8
_PAUSE = 0.1
_OUTCOMES = {
    ExitCode.FAILED: FleetOutcome.FAILED,
    ExitCode.WAITING: FleetOutcome.ASKING,
    ExitCode.INTERRUPTED: FleetOutcome.INTERRUPTED,
    ExitCode.BUG: FleetOutcome.FAILED,
}


class _RunningPlan(NamedTuple):
    child: ChildProcess
    since: float
    seq: int
    """The last event of the plan before it was started."""


class _End(NamedTuple):
    outcome: FleetOutcome
    reason: str = ""
    exit_code: int | None = None
    tail: tuple[str, ...] = ()


class Fleet:
    """Runs plans until nothing more can be done without a person."""

    def __init__(
        self,
        plans: FleetPlans,
        asked: Sequence[str],
        *,
        jobs: int,
        watch: Callable[[Sequence[FleetRow]], None],
    ) -> None:
        """`watch` is told where all plans are, whenever something may have changed."""
        self.plans = plans
        self.asked = tuple(asked)
        self.jobs = jobs
        self.started = False
        """Whether any plan was started."""
        self._watch = watch
        self._now = self._look()
        self._running: dict[str, _RunningPlan] = {}
        self._ended: dict[str, _End] = {}
        self._spent: dict[str, float] = {}
        self._tries: dict[str, int] = {}
        self._elsewhere: Mapping[str, str] = {}
        self._before: dict[str, str | None] = {}
        """When the last event was of plans that somebody else runs, as they were first seen."""
        self._reasons: Mapping[str, str] = {}
        self._chosen: tuple[str, ...] = ()
        self._stop: str | None = None
        self._passed_on = False

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to end."""
        return self._stop is not None

    def stop(self, reason: str) -> None:
        """Ask all runs to end in peace; from any signal handler."""
        self._stop = self._stop or reason

    def run(self) -> tuple[FleetRow, ...]:
        """Run until it is over; return where every plan is then."""
        try:
            over = self._step(anew=True)
            while not over:
                self.plans.wait(_PAUSE)
                over = self._step()
        finally:
            for job in self._running.values():
                job.child.kill()
        rows = self.rows()
        self._watch(rows)
        return rows

    def rows(self) -> tuple[FleetRow, ...]:
        """Return where every plan is that is asked for."""
        return tuple(self._row(slug) for slug in self.asked)

    # -- one turn ------------------------------------------------------------------------------

    def _step(self, *, anew: bool = False) -> bool:
        """Take in what happened, start what may start; return whether it is over."""
        if self._stop is not None and not self._passed_on:
            self._passed_on = True
            for job in self._running.values():
                job.child.stop()
        gone = {
            slug: code
            for slug, job in self._running.items()
            if (code := job.child.exit_code()) is not None
        }
        decisive = self.plans.read_on()
        # Who runs a plan elsewhere may let go of it without a word.
        others = self._others() if self._elsewhere or gone or decisive or anew else self._elsewhere
        changed = anew or decisive or bool(gone) or others != self._elsewhere
        over = False
        if changed:
            self._now = self._look()
            self._notice_ended(self._elsewhere, others)
            self._elsewhere = others
            for slug, code in gone.items():
                self._reap(slug, code)
            over = self._go_on()
        self._watch(self.rows())
        return not self._running if self._stop is not None else over

    def _look(self) -> PlansNow:
        now = self.plans.look()
        lost = {slug: PlanInfo(slug, problem="it is gone") for slug in self.asked}
        return now._replace(plans={**lost, **now.plans})

    def _others(self) -> Mapping[str, str]:
        held = self.plans.holders()
        return {slug: holder for slug, holder in held.items() if slug not in self._running}

    def _go_on(self) -> bool:
        """Start what may start now; return whether it is over."""
        while self._stop is None:
            decision = self._decide()
            self._reasons, self._chosen = dict(decision.held), decision.start
            for slug in decision.start:
                if self._stop is None:
                    self._start(slug)
            if not decision.start:
                return decision.over
        return False

    def _decide(self) -> FleetDecision:
        return decide(
            FleetScene(
                plans=self._now.plans,
                team=self._now.team,
                asked=self.asked,
                running=frozenset(self._running),
                elsewhere=frozenset(self._elsewhere),
                ended={slug: end.outcome for slug, end in self._ended.items()},
                jobs=self.jobs,
            )
        )

    def _start(self, slug: str) -> None:
        try:
            binding = self.plans.worktree_of(self._now.plans[slug], self._now)
            state = self._now.team.get(slug) or TeamState(slug)
            team = {**self._now.team, slug: state._replace(binding=binding)}
            self._now = self._now._replace(team=team)
            seq = self.plans.last_seq(slug)
            child = self.plans.start(slug)
        except PlanboundError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self._ended[slug] = _End(FleetOutcome.UNPLACED, f"{error.message}{hint}")
            return
        self.started = True
        self._running[slug] = _RunningPlan(child, time.monotonic(), seq)
        self._watch(self.rows())

    # -- what ended ----------------------------------------------------------------------------

    def _reap(self, slug: str, code: int) -> None:
        job = self._running.pop(slug)
        self._spent[slug] = self._spent.get(slug, 0.0) + time.monotonic() - job.since
        if self._now.plans[slug].status in FINISHED:
            return
        if code == ExitCode.USAGE and self._stop is None and self._was_taken(slug, job):
            return
        outcome = _OUTCOMES.get(ExitCode(code), FleetOutcome.REFUSED) if code in _CODES else None
        tail = tuple(job.child.last_lines(_LINES))
        if outcome is None and self._stop is not None:
            outcome = FleetOutcome.INTERRUPTED  # it was stopped before it could listen to that
        self._ended[slug] = _End(
            outcome or FleetOutcome.FAILED,
            self._why(slug, outcome, code),
            code,
            () if outcome in {FleetOutcome.ASKING, FleetOutcome.INTERRUPTED} else tail,
        )

    def _was_taken(self, slug: str, job: _RunningPlan) -> bool:
        """Say whether it was refused because somebody else had it: then it is looked at again."""
        held = self.plans.holders()
        if slug in held:
            self._elsewhere = {**self._elsewhere, slug: held[slug]}
            self._before.setdefault(slug, None)
            return True
        # Who had it may be gone by now; then they left events, which who is refused does not.
        self._tries[slug] = self._tries.get(slug, 0) + 1
        return self._tries[slug] < _MOST_TRIES and self.plans.last_seq(slug) > job.seq

    def _why(self, slug: str, outcome: FleetOutcome | None, code: int) -> str:
        if outcome is None:
            return f"its process ended with signal {-code}" if code < 0 else f"exit code {code}"
        if outcome is FleetOutcome.ASKING:
            return self.plans.progress(slug).asked or "`planbound inbox` has the question"
        if outcome is FleetOutcome.FAILED:
            return self.plans.progress(slug).why_ended or ""
        return ""

    def _notice_ended(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Take in how plans ended that somebody else ran: what failed there is not begun again."""
        for slug in self.asked:
            plan = self._now.plans[slug]
            if slug in after:
                self._before.setdefault(slug, plan.last)
            if slug in after or slug not in before:
                continue
            if self._before.pop(slug, plan.last) == plan.last:
                continue  # held for a moment by who decides something, and nothing was run
            if plan.status is PlanStatus.FAILED:
                self._ended[slug] = _End(
                    FleetOutcome.FAILED, self._why(slug, FleetOutcome.FAILED, 0)
                )
            elif plan.status is PlanStatus.IN_PROGRESS and plan.waiting is not None:
                self._ended[slug] = _End(
                    FleetOutcome.ASKING, self._why(slug, FleetOutcome.ASKING, 0)
                )

    # -- in rows -------------------------------------------------------------------------------

    def _row(self, slug: str) -> FleetRow:
        state, reason = self._state_of(slug)
        end, job = self._ended.get(slug), self._running.get(slug)
        binding = self._binding(slug)
        progress = self.plans.progress(slug)
        has_run = job is not None or slug in self._spent
        spent = self._spent.get(slug, 0.0)
        return FleetRow(
            plan=slug,
            state=state,
            reason=reason,
            proved=progress.proved,
            holds=progress.holds,
            attested=progress.attested,
            steps=progress.steps,
            current=progress.current if state in {FleetState.RUNNING, FleetState.ELSEWHERE} else "",
            seconds=spent + (time.monotonic() - job.since if job is not None else 0.0),
            worktree=binding.path if binding else None,
            branch=binding.branch if binding else None,
            exit_code=_exit_code(state, end) if has_run else None,
            log=self.plans.log_of(slug) if has_run else None,
            tail=end.tail if end is not None else (),
            needs_approval=state is FleetState.HELD and needs_approval(self._now.plans[slug]),
        )

    def _state_of(self, slug: str) -> tuple[FleetState, str]:
        if slug in self._running:
            return FleetState.RUNNING, ""
        if slug in self._elsewhere and slug not in self._ended:
            return FleetState.ELSEWHERE, self._elsewhere[slug]
        status = self._now.plans[slug].status
        if status in FINISHED:
            return FleetState.DONE, "" if status is PlanStatus.DONE else status.value
        end = self._ended.get(slug)
        if end is not None:
            return _STATES[end.outcome], end.reason
        if slug in self._chosen:
            return FleetState.STARTING, ""
        return FleetState.HELD, self._reasons.get(slug, "")

    def _binding(self, slug: str) -> Binding | None:
        state = self._now.team.get(slug)
        return state.binding if state is not None else None


_CODES = frozenset(ExitCode)
_STATES = {
    FleetOutcome.FAILED: FleetState.FAILED,
    FleetOutcome.REFUSED: FleetState.REFUSED,
    FleetOutcome.ASKING: FleetState.ASKING,
    FleetOutcome.INTERRUPTED: FleetState.INTERRUPTED,
    FleetOutcome.UNPLACED: FleetState.HELD,
}


def _exit_code(state: FleetState, end: _End | None) -> int | None:
    if state is FleetState.DONE:
        return ExitCode.DONE
    return end.exit_code if end is not None else None


def make_fleet(
    context: Context,
    names: Sequence[str],
    *,
    jobs: int,
    watch: Callable[[Sequence[FleetRow]], None],
) -> Fleet:
    """Return a fleet for the plans that are named, for all that are not done where none are."""
    # Plans, configuration and journal are those of the main worktree, wherever we are called.
    main = context.at(plans_root(context.root))
    git_place(main)
    named = tuple(dict.fromkeys(_slug_of(main, name) for name in names))
    plans = FleetPlans(main)
    asked = named or asked_for(plans.look().plans)
    if not asked:
        raise NothingToDo("no plan waits to be run")
    return Fleet(plans, asked, jobs=jobs, watch=watch)


def _slug_of(context: Context, name: str) -> str:
    file = locate(name, context.tree)
    context.demand_own(file)
    return file.slug
