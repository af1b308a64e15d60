"""The plan tools and the gate of one session, on one workspace.

Nothing here lets an agent waive, attest, answer, approve, or shorten a plan unseen.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from planbound.disk.files import PlanFile
from planbound.errors import (
    CellProblem,
    FileProblem,
    NothingToDo,
    PlanboundError,
    Refused,
    UsageError,
)
from planbound.journal.event import EventKind, SessionOutcome
from planbound.journal.record import Json, Query
from planbound.journal.words import SubjectKind
from planbound.judging.case import cases
from planbound.plan.model import Step
from planbound.plan.parse import parse
from planbound.session.answers import Told, created, finished, logged, shown, status_line
from planbound.session.context import (
    Probe,
    SessionContext,
    bound_plan,
    is_absent,
    plan_of,
    state_of,
    unbound,
)
from planbound.session.contracts import http_ok, judge_open, look_before
from planbound.session.decide import Accept, Capped, Decision, Reject, Silent, line_of
from planbound.session.gate import broken, check_final, request_approval
from planbound.session.given import (
    GivenPlan,
    differing,
    read_amendment,
    read_conditions,
    read_name,
    read_names,
    read_note,
    read_objective,
    read_postcondition,
    read_step_names,
    read_steps,
)
from planbound.session.steps import (
    amend_steps,
    begin_step,
    block_postcondition,
    block_step,
    finish_step,
    reopen_step,
    verify_postcondition,
)
from planbound.session.view import orientation, waits_for
from planbound.session.work import Work, leased, show_marks
from planbound.session.writing import create_plan, reconcile, refuse_of_people, rewrite_plan
from planbound.workspace.context import Context

if TYPE_CHECKING:
    from planbound.cells.stages import Stages
    from planbound.judging.verdict import Verdict
_LOOKING = 20.0
"""So many seconds are spent on the contracts of a plan that was just written."""


class SaidStatus(enum.Enum):
    """Where an agent says that a step is."""

    PENDING = "pending"
    IN_PROGRESS = "in_progress"
    DONE = "done"
    BLOCKED = "blocked"


class PlanTools:
    """What an agent in the loop is given."""

    def __init__(self, session: SessionContext) -> None:
        self.session = session
        self._seen: dict[str, dict[str, str]] = {}
        """By plan the ids by number, as the agent was shown them last."""
        self._has_looked = False
        """Whether the plans were seen that were here before the agent's first call."""

    def look_around(self) -> None:
        """See which plans are here, once: when the session opens, and at the latest when it acts.

        What an agent takes away after that is known to have been there.
        """
        if not self._has_looked:
            see_plans(self.session)
            self._has_looked = True

    # -- the plan ------------------------------------------------------------------------------

    def plan_create(
        self,
        objective: str,
        steps: Sequence[str | Mapping[str, object]],
        postconditions: Sequence[str | Mapping[str, object]] = (),
        name: str | None = None,
        preconditions: Sequence[str | Mapping[str, object]] = (),
    ) -> Told:
        """Write the plan; where there is one already, write it anew and keep what was."""

        def create() -> Told:
            given = GivenPlan(
                read_objective(objective),
                read_steps(steps),
                read_conditions(postconditions),
                read_conditions(preconditions, "precondition"),
            )
            if not given.steps:
                raise UsageError("a plan has at least one step")
            called = read_name(name)
            absent = is_absent(self.session)
            file = None if absent else bound_plan(self.session)
            if file is None or called not in {None, file.slug}:
                called = self.session.bound_to if absent else called
                file = create_plan(self.session, given, called)
                work = Work(self.session, file)
                return created(work, "created", _look_before(work))
            with self._working() as work:
                rewrite_plan(work, given, "plan_create was called again")
                return created(work, "rewritten, and the old one kept,", _look_before(work))

        return self._answered(create)

    def plan_show(self, only: str | None = None) -> Told:
        """Show the plan: `[.]` begun, `[x]` proved, `[=]` holds, `[~]` claimed, `[!]` blocked."""

        def look() -> Told:
            if only not in (None, "open", "all"):
                raise UsageError(f"`only` is {only!r}", hint='write "open", or leave it out')
            with self._looking() as work:
                return shown(work, only_open=only == "open")

        return self._answered(look)

    def plan_amend(
        self,
        *,
        add: Sequence[str | Mapping[str, object]] = (),
        edit: Mapping[str, str | Mapping[str, object]] | None = None,
        remove: Sequence[str] = (),
        reason: str = "",
    ) -> Told:
        """Change some steps: what is changed or dropped is on record for ever."""

        def amend() -> Told:
            said = read_note(reason, "`reason`")
            if not said:
                raise UsageError("say why: `reason`")
            if not isinstance(edit or {}, Mapping):
                raise UsageError("`edit` is an object: by the id of a step what it becomes")
            with self._working() as work:
                gone = read_step_names(remove)
                refuse_of_people(work)
                amend_steps(work, read_amendment(add, edit or {}, gone), said)
                return created(work, "amended, and the old one kept,", _look_before(work))

        return self._answered(amend)

    def plan_request_approval(self) -> Told:
        """Ask a person to approve the plan."""

        def ask() -> Told:
            with self._working() as work:
                said = request_approval(work)
                done = work.state.approved == work.digest
                return Told(ok=True, text=said, data={"approved": done, "plan": work.slug})

        return self._answered(ask)

    def plan_status(self) -> Told:
        """Say in a line where the plan is."""

        def look() -> Told:
            with self._looking() as work:
                return status_line(work, waits_for(work))

        return self._answered(look)

    def plan_log(self, last: int = 20) -> Told:
        """Show the last events of the plan."""

        def look() -> Told:
            if not isinstance(last, int):
                raise UsageError("`last` is a number")
            with self._looking() as work:
                slug = work.slug
            return logged(self.session, slug, last)

        return self._answered(look)

    # -- steps and postconditions --------------------------------------------------------------

    def step_update(
        self,
        step: str | int | None = None,
        status: str = "",
        evidence: str = "",
        notes: str = "",
        *,
        step_number: str | int | None = None,
    ) -> Told:
        """Say where a step is; `done` makes the harness judge it now."""

        def update() -> Told:
            said_status = _read_status(status)
            name, *others = read_names("step", step, step_number)
            said, beside = read_note(evidence, "`evidence`"), read_note(notes, "`notes`")
            with self._working() as work:
                found = work.step(name)
                self._refuse_moved(work, found, name)
                for other in others:
                    if work.step(other) is not found:
                        message, hint = differing("step", name, other)
                        raise UsageError(message, hint=hint)
                waiting = waits_for(work)
                if waiting is not None and said_status is not SaidStatus.BLOCKED:
                    raise Refused(waiting)
                match said_status:
                    case SaidStatus.PENDING:
                        return reopen_step(work, found, said, beside or None)
                    case SaidStatus.IN_PROGRESS:
                        return begin_step(work, found, said, beside or None)
                    case SaidStatus.BLOCKED:
                        return block_step(work, found, said or beside, beside or None)
                    case SaidStatus.DONE:
                        return finish_step(work, found, said, beside or None)

        return self._answered(update)

    def postcondition_verify(
        self,
        postcondition: str | int | None = None,
        evidence: str = "",
        *,
        postcondition_number: str | int | None = None,
    ) -> Told:
        """Let the harness verify a postcondition now, or claim it with evidence."""

        def verify() -> Told:
            with self._working() as work:
                number = read_postcondition(postcondition, postcondition_number)
                case = work.case(SubjectKind.POSTCONDITION, number)
                return verify_postcondition(work, case, read_note(evidence, "`evidence`"))

        return self._answered(verify)

    def postcondition_block(
        self,
        postcondition: str | int | None = None,
        reason: str = "",
        *,
        postcondition_number: str | int | None = None,
    ) -> Told:
        """Say that a postcondition cannot be reached, and why."""

        def block() -> Told:
            with self._working() as work:
                number = read_postcondition(postcondition, postcondition_number)
                case = work.case(SubjectKind.POSTCONDITION, number)
                return block_postcondition(work, case, read_note(reason, "`reason`"))

        return self._answered(block)

    # -- the last word -------------------------------------------------------------------------

    def plan_finish(self, summary: str) -> Told:
        """Say that everything is done; the harness decides whether it is."""

        def finish() -> Told:
            decision = self.check(read_note(summary, "`summary`"))
            dropped = self._dropped() if isinstance(decision, Accept) else ""
            return finished(decision, done=self._is_done(), dropped=dropped)

        return self._answered(finish)

    def check(self, final_text: str, *, waiting: str | None = None) -> Decision | Silent:
        """Decide about an agent's last word, also about an empty one; record it.

        `waiting`: what of its own the agent still waits for. It is not asked meanwhile, for a time.
        """
        file = bound_plan(self.session)
        if file is None:
            ended = bound_plan(self.session, ended=True)
            if ended is None:
                return Silent("there is no plan")
            end = state_of(self.session, ended.slug).outcome
            return Silent(f"the plan is at its end: {end.value if end else 'open'}")
        with self._at(file) as work:
            return check_final(work, final_text, runs=waiting)

    def broken(self, error: str) -> Reject | Capped | Silent:
        """Decide where the gate itself failed."""
        file = bound_plan(self.session)
        if file is None:
            return Silent("there is no plan")
        with leased(self.session, file.slug) as held_lease:
            work = Work(self.session, file, held_lease)
            end = work.state.outcome
            if end is not None and end.is_final:
                return Silent(f"the plan is at its end: {end.value}")
            decision = broken(work, error)
            show_marks(work)
            return decision

    def orientation(self) -> str | None:
        """Return what an agent has to know that begins, or begins anew; None without a plan."""
        bound = plan_of(self.session)
        return orientation(self.session, bound) if bound is not None else None

    # -- parts ---------------------------------------------------------------------------------

    def _remembered(self, told: Told) -> Told:
        """Keep in mind which number means which step to the agent now."""
        plan, steps = told.data.get("plan"), told.data.get("steps")
        if isinstance(plan, str) and isinstance(steps, list):
            self._seen[plan] = {
                str(each["number"]): str(each["id"]) for each in steps if isinstance(each, dict)
            }
        return told

    def _is_done(self) -> bool:
        """Say whether the gate accepted the plan of this session before."""
        file = bound_plan(self.session, ended=True)
        outcome = state_of(self.session, file.slug).outcome if file is not None else None
        return outcome not in {None, SessionOutcome.INCOMPLETE, SessionOutcome.RELEASED}

    def _dropped(self) -> str:
        """Return what is said of steps that are gone, for ever."""
        file = bound_plan(self.session, ended=True)
        dropped = state_of(self.session, file.slug).dropped if file is not None else []
        listed = "; ".join(f"“{line_of(each.title, 60)}” ({each.status.value})" for each in dropped)
        return f"\nDropped on the way: {listed}" if listed else ""

    def _refuse_moved(self, work: Work, step: Step, name: object) -> None:
        """Refuse a number that meant another step when the agent saw the plan last."""
        seen, label = self._seen.get(work.slug), step.label
        if seen is None or str(name).strip() == work.ids[label] or seen.get(label) is None:
            return
        if seen[label] != work.ids[label]:
            raise Refused(
                f"the plan was rewritten, and step {label} is another one now: “{step.title}”",
                hint=f"say which one by its id; that one is `{work.ids[label]}`",
            )

    @contextmanager
    def _looking(self) -> Iterator[Work]:
        """Look at a plan, also at one that is at its end; nobody is kept waiting by it."""
        file = bound_plan(self.session, ended=True)
        if file is None:
            raise unbound(self.session)
        work = Work(self.session, file)
        if work.state.digest not in {None, work.digest}:
            with self._at(file) as work:
                yield work
            return
        yield work

    @contextmanager
    def _working(self) -> Iterator[Work]:
        file = bound_plan(self.session)
        if file is None:
            raise unbound(self.session)
        with self._at(file) as work:
            yield work

    @contextmanager
    def _at(self, file: PlanFile) -> Iterator[Work]:
        with leased(self.session, file.slug) as held_lease:
            work = Work(self.session, file, held_lease)
            before = work.state.seq
            reconcile(work)
            try:
                yield work
            finally:
                if work.state.seq != before:
                    show_marks(work)

    def _answered(self, act: Callable[[], Told]) -> Told:
        """Turn what is wrong with a call into an answer: an agent can mend it."""
        try:
            self.look_around()
            return self._remembered(act())
        except NothingToDo as nothing:
            return Told(ok=True, text=nothing.message)
        except PlanboundError as error:
            text = f"{error.message}. {error.hint}" if error.hint else error.message
            data: dict[str, Json] = {"error": error.message, "hint": error.hint}
            return Told(ok=False, text=text, data=data)


def _look_before(work: Work) -> tuple[Verdict, ...]:
    """See how the contracts are before the work, where nobody has to approve the plan first."""
    if waits_for(work) is None:
        # The plan is written, whatever comes of this: then nobody has seen it red.
        with suppress(CellProblem, FileProblem):
            judge_open(work, within=_LOOKING)
            return look_before(work, list(cases(work.plan)), within=_LOOKING)
    return ()


def see_plans(session: SessionContext) -> None:
    """Note the plans that were written by hand, so that an agent cannot make them its own.

    Whatever their mark says: an agent may have written it.
    """
    for file in session.context.tree.plans():
        last = list(session.journal.read(Query(plan=file.slug, last=1)))
        if last and last[0].kind is not EventKind.PLAN_ARCHIVED:
            continue
        with suppress(PlanboundError):  # whoever works with it is told what is wrong with it
            plan = parse(session.context.files.read(file.path), path=file.shown)
            if plan.source.text.strip():
                session.recorder.first_seen(
                    file.slug, plan, path=session.context.relative(file.path)
                )


def open_tools(
    *,
    workspace: str | None = None,
    state: str | None = None,
    session: str,
    name: str | None = None,
    probes: Mapping[str, Probe] | None = None,
    stages: Stages | None = None,
) -> PlanTools:
    """Return the plan tools and the gate for a session.

    `probes` are verifiers of one's own, `stages` are told which contract is judged now.
    """
    context = Context(workspace=workspace, state=state)
    if stages is not None:
        context.on_stage = stages.notice
    known = {"http_ok": http_ok, **(probes or {})}
    return PlanTools(
        SessionContext(context, session, name, journal=context.journal(), probes=known)
    )


def _read_status(text: str) -> SaidStatus:
    """Return the status that an agent gave; raise UsageError where it is none."""
    for each in SaidStatus:
        if each.value == text:  # whatever an agent gave, and be it a list
            return each
    what = f"is {text!r}" if text else "is missing"
    names = ", ".join(each.value for each in SaidStatus)
    raise UsageError(f"`status` {what}", hint=f"one of {names}")
