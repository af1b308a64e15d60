"""A fleet: runs many plans at once, each in a process and a worktree of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from planbound.engine.readiness import FINISHED, PlanInfo
from planbound.engine.team.fleet import Decision, Outcome, Scene, decide, needs_approval
from planbound.engine.team.row import Row, State
from planbound.engine.team.state import Binding, TeamState
from planbound.errors import ExitCode, PlanboundError
from planbound.ports.children import Child
from planbound.usecases.team.following import Following

_MOST_TRIES = 3
_LINES = 8
_PAUSE = 0.1
_OUTCOMES = {
    ExitCode.FAILED: Outcome.FAILED,
    ExitCode.WAITING: Outcome.ASKING,
    ExitCode.INTERRUPTED: Outcome.INTERRUPTED,
    ExitCode.BUG: Outcome.FAILED,
}


class Sight(NamedTuple):
    """What is known of all plans at a moment."""

    plans: Mapping[str, PlanInfo]
    team: Mapping[str, TeamState]


class FleetDesk(NamedTuple):
    """What a fleet needs, put together once."""

    look: Callable[[], Sight]
    holders: Callable[[], Mapping[str, str]]
    """Returns who runs which plan now."""
    following: Following
    place: Callable[[PlanInfo, Sight], Binding]
    """Returns the worktree of a plan, made where it has none; raises where that cannot be."""
    start: Callable[[str], Child]
    log_of: Callable[[str], str]
    clock: Callable[[], float]


class _Job(NamedTuple):
    child: Child
    since: float
    seq: int
    """The last event of the plan before it was started."""


class _End(NamedTuple):
    outcome: Outcome
    reason: str = ""
    exit_code: int | None = None
    tail: tuple[str, ...] = ()


class Fleet:
    """Runs plans until nothing more can be done without a person."""

    def __init__(
        self,
        desk: FleetDesk,
        asked: Sequence[str],
        *,
        jobs: int,
        watch: Callable[[Sequence[Row]], None],
    ) -> None:
        """`watch` is told where all plans are, whenever something may have changed."""
        self.desk = desk
        self.asked = tuple(asked)
        self.jobs = jobs
        self.started = False
        """Whether any plan was started."""
        self._watch = watch
        self._sight = self._look()
        self._running: dict[str, _Job] = {}
        self._ended: dict[str, _End] = {}
        self._spent: dict[str, float] = {}
        self._tries: dict[str, int] = {}
        self._elsewhere: Mapping[str, str] = {}
        self._before: dict[str, str | None] = {}
        """When the last event was of plans that somebody else runs, as they were first seen."""
        self._reasons: Mapping[str, str] = {}
        self._chosen: tuple[str, ...] = ()
        self._stop: str | None = None
        self._told = False

    @property
    def is_stopped(self) -> bool:
        """Whether it was asked to end."""
        return self._stop is not None

    def stop(self, reason: str) -> None:
        """Ask all runs to end in peace; from any signal handler."""
        self._stop = self._stop or reason

    def run(self) -> tuple[Row, ...]:
        """Run until it is over; return where every plan is then."""
        try:
            over = self._step(anew=True)
            while not over:
                self.desk.following.wait(_PAUSE)
                over = self._step()
        finally:
            for job in self._running.values():
                job.child.kill()
        rows = self.rows()
        self._watch(rows)
        return rows

    def rows(self) -> tuple[Row, ...]:
        """Return where every plan is that is asked for."""
        return tuple(self._row(slug) for slug in self.asked)

    # -- one turn ------------------------------------------------------------------------------

    def _step(self, *, anew: bool = False) -> bool:
        """Take in what happened, start what may start; return whether it is over."""
        if self._stop is not None and not self._told:
            self._told = True
            for job in self._running.values():
                job.child.stop()
        gone = {
            slug: code
            for slug, job in self._running.items()
            if (code := job.child.exit_code()) is not None
        }
        news = self.desk.following.read_on()
        # Who runs a plan elsewhere may let go of it without a word.
        others = self._others() if self._elsewhere or gone or news or anew else self._elsewhere
        changed = anew or news or bool(gone) or others != self._elsewhere
        over = False
        if changed:
            self._sight = self._look()
            self._part(self._elsewhere, others)
            self._elsewhere = others
            for slug, code in gone.items():
                self._reap(slug, code)
            over = self._go_on()
        self._watch(self.rows())
        return not self._running if self._stop is not None else over

    def _look(self) -> Sight:
        sight = self.desk.look()
        lost = {slug: PlanInfo(slug, problem="it is gone") for slug in self.asked}
        return sight._replace(plans={**lost, **sight.plans})

    def _others(self) -> Mapping[str, str]:
        held = self.desk.holders()
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

    def _decide(self) -> Decision:
        return decide(
            Scene(
                plans=self._sight.plans,
                team=self._sight.team,
                asked=self.asked,
                running=frozenset(self._running),
                elsewhere=frozenset(self._elsewhere),
                ended={slug: end.outcome for slug, end in self._ended.items()},
                jobs=self.jobs,
            )
        )

    def _start(self, slug: str) -> None:
        try:
            binding = self.desk.place(self._sight.plans[slug], self._sight)
            state = self._sight.team.get(slug) or TeamState(slug)
            team = {**self._sight.team, slug: state._replace(binding=binding)}
            self._sight = self._sight._replace(team=team)
            seq = self.desk.following.last_seq(slug)
            child = self.desk.start(slug)
        except PlanboundError as error:
            hint = f" ({error.hint})" if error.hint else ""
            self._ended[slug] = _End(Outcome.UNPLACED, f"{error.message}{hint}")
            return
        self.started = True
        self._running[slug] = _Job(child, self.desk.clock(), seq)
        self._watch(self.rows())

    # -- what ended ----------------------------------------------------------------------------

    def _reap(self, slug: str, code: int) -> None:
        job = self._running.pop(slug)
        self._spent[slug] = self._spent.get(slug, 0.0) + self.desk.clock() - job.since
        if self._sight.plans[slug].status in FINISHED:
            return
        if code == ExitCode.USAGE and self._stop is None and self._was_taken(slug, job):
            return
        outcome = _OUTCOMES.get(ExitCode(code), Outcome.REFUSED) if code in _CODES else None
        tail = tuple(job.child.last_lines(_LINES))
        if outcome is None and self._stop is not None:
            outcome = Outcome.INTERRUPTED  # it was stopped before it could listen to that
        self._ended[slug] = _End(
            outcome or Outcome.FAILED,
            self._why(slug, outcome, code),
            code,
            () if outcome in {Outcome.ASKING, Outcome.INTERRUPTED} else tail,
        )

    def _was_taken(self, slug: str, job: _Job) -> bool:
        """Say whether it was refused because somebody else had it: then it is looked at again."""
        held = self.desk.holders()
        if slug in held:
            self._elsewhere = {**self._elsewhere, slug: held[slug]}
            self._before.setdefault(slug, None)
            return True
        # Who had it may be gone by now; then they left events, which who is refused does not.
        self._tries[slug] = self._tries.get(slug, 0) + 1
        return self._tries[slug] < _MOST_TRIES and self.desk.following.last_seq(slug) > job.seq

    def _why(self, slug: str, outcome: Outcome | None, code: int) -> str:
        if outcome is None:
            return f"its process ended with signal {-code}" if code < 0 else f"exit code {code}"
        if outcome is Outcome.ASKING:
            return self.desk.following.progress(slug).asked or "`planbound inbox` has the question"
        if outcome is Outcome.FAILED:
            return self.desk.following.progress(slug).why_ended or ""
        return ""

    def _part(self, before: Mapping[str, str], after: Mapping[str, str]) -> None:
        """Take in how plans ended that somebody else ran: what failed there is not begun again."""
        for slug in self.asked:
            plan = self._sight.plans[slug]
            if slug in after:
                self._before.setdefault(slug, plan.last)
            if slug in after or slug not in before:
                continue
            if self._before.pop(slug, plan.last) == plan.last:
                continue  # held for a moment by who decides something, and nothing was run
            if plan.status == "failed":
                self._ended[slug] = _End(Outcome.FAILED, self._why(slug, Outcome.FAILED, 0))
            elif plan.status == "in-progress" and plan.waiting is not None:
                self._ended[slug] = _End(Outcome.ASKING, self._why(slug, Outcome.ASKING, 0))

    # -- in rows -------------------------------------------------------------------------------

    def _row(self, slug: str) -> Row:
        state, reason = self._standing(slug)
        end, job = self._ended.get(slug), self._running.get(slug)
        binding = self._binding(slug)
        progress = self.desk.following.progress(slug)
        has_run = job is not None or slug in self._spent
        spent = self._spent.get(slug, 0.0)
        return Row(
            plan=slug,
            state=state,
            reason=reason,
            proved=progress.proved,
            holds=progress.holds,
            attested=progress.attested,
            steps=progress.steps,
            current=progress.current if state in {State.RUNNING, State.ELSEWHERE} else "",
            seconds=spent + (self.desk.clock() - job.since if job is not None else 0.0),
            worktree=binding.path if binding else None,
            branch=binding.branch if binding else None,
            exit_code=_exit_code(state, end) if has_run else None,
            log=self.desk.log_of(slug) if has_run else None,
            tail=end.tail if end is not None else (),
            needs_approval=state is State.HELD and needs_approval(self._sight.plans[slug]),
        )

    def _standing(self, slug: str) -> tuple[State, str]:
        if slug in self._running:
            return State.RUNNING, ""
        if slug in self._elsewhere and slug not in self._ended:
            return State.ELSEWHERE, self._elsewhere[slug]
        status = self._sight.plans[slug].status
        if status in FINISHED:
            return State.DONE, "" if status == "done" else status
        end = self._ended.get(slug)
        if end is not None:
            return _STATES[end.outcome], end.reason
        if slug in self._chosen:
            return State.STARTING, ""
        return State.HELD, self._reasons.get(slug, "")

    def _binding(self, slug: str) -> Binding | None:
        state = self._sight.team.get(slug)
        return state.binding if state is not None else None


_CODES = frozenset(ExitCode)
_STATES = {
    Outcome.FAILED: State.FAILED,
    Outcome.REFUSED: State.REFUSED,
    Outcome.ASKING: State.ASKING,
    Outcome.INTERRUPTED: State.INTERRUPTED,
    Outcome.UNPLACED: State.HELD,
}


def _exit_code(state: State, end: _End | None) -> int | None:
    if state is State.DONE:
        return ExitCode.DONE
    return end.exit_code if end is not None else None
