"""The plan tools and the gate of one session, on one workspace.

Nothing here lets an agent waive, attest, answer, approve, or shorten a plan unseen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from planbound.engine.judging.case import cases
from planbound.engine.judging.verdict import Subject
from planbound.engine.loop.finalization import Accept, Capped, Decision, Reject, Silent
from planbound.engine.loop.given import (
    GivenPlan,
    differing,
    read_conditions,
    read_names,
    read_note,
    read_objective,
    read_steps,
)
from planbound.engine.loop.line import line_of
from planbound.engine.loop.orientation import orient
from planbound.engine.loop.shown import heading_of, show, tallied
from planbound.engine.loop.state import INCOMPLETE, RELEASED, Item
from planbound.engine.loop.substance import lack_of_substance
from planbound.errors import (
    CellProblem,
    FileProblem,
    NothingToDo,
    PlanboundError,
    Refused,
    UsageError,
)
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Attest, Step
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.usecases.loop import approval, final, writing
from planbound.usecases.loop import preconditions as preconditions_of
from planbound.usecases.loop import steps as steps_of
from planbound.usecases.loop.answers import created, data_of, finished, judged, shown
from planbound.usecases.loop.binding import bound_plan, is_absent, see_plans, state_of, unbound
from planbound.usecases.loop.desk import LoopDesk
from planbound.usecases.loop.projection import show_marks
from planbound.usecases.loop.told import Told
from planbound.usecases.loop.work import Work, leased

STATUSES = ("pending", "in_progress", "done", "blocked")
_MOST_LOGGED = 200
_LOOKING = 20.0
"""So many seconds are spent on the contracts of a plan that was just written."""


class Loop:
    """What an agent in the loop is given."""

    def __init__(self, desk: LoopDesk) -> None:
        self.desk = desk
        self._seen: dict[str, dict[str, str]] = {}
        """By plan the ids by number, as the agent was shown them last."""
        self._has_looked = False
        """Whether the plans were seen that were here before the agent's first call."""

    @property
    def session(self) -> str:
        """Return the session's name."""
        return self.desk.session

    def look_around(self) -> None:
        """See which plans are here, once: when the session opens, and at the latest when it acts.

        What an agent takes away after that is known to have been there.
        """
        if not self._has_looked:
            see_plans(self.desk)
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
            called = _name(name)
            absent = is_absent(self.desk)
            file = None if absent else bound_plan(self.desk)
            if file is None or called not in {None, file.slug}:
                called = self.desk.name if absent else called
                file = writing.create(self.desk, given, called)
                work = Work(self.desk, file)
                _look_before(work)
                return created(work, "created")
            with self._working() as work:
                writing.rewrite(work, given, "plan_create was called again")
                _look_before(work)
                return created(work, "rewritten, and the old one kept,")

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
                steps_of.amend(work, add, edit or {}, _names(remove), said)
                _look_before(work)
                return created(work, "amended, and the old one kept,")

        return self._answered(amend)

    def plan_request_approval(self) -> Told:
        """Ask a person to approve the plan."""

        def ask() -> Told:
            with self._working() as work:
                said = approval.request(work)
                done = work.state.approved == work.digest
                return Told(ok=True, text=said, data={"approved": done, "plan": work.slug})

        return self._answered(ask)

    def plan_status(self) -> Told:
        """Say in a line where the plan is."""

        def look() -> Told:
            with self._looking() as work:
                agenda = work.agenda
                settled = sum(each.item.standing.is_settled for each in agenda.steps)
                held = sum(each.item.standing.is_settled for each in agenda.conditions)
                outcome = work.state.outcome or approval.waits_for(work) or "open"
                status = work.status.value
                where = outcome if outcome == status else f"{status}, {outcome}"
                standings = [each.item.standing for each in agenda.steps]
                told = tallied(standings)
                told = f" ({told})" if told else ""
                text = (
                    f"`{work.slug}`: {settled}/{len(agenda.steps)} steps{told},"
                    f" {held}/{len(agenda.conditions)} postconditions, {where}"
                )
                return Told(ok=True, text=text, data=data_of(work))

        return self._answered(look)

    def plan_log(self, last: int = 20) -> Told:
        """Show the last events of the plan."""

        def look() -> Told:
            if not isinstance(last, int):
                raise UsageError("`last` is a number")
            with self._looking() as work:
                slug = work.slug
            most = max(1, min(last, _MOST_LOGGED))
            records = list(self.desk.journal.read(Query(plan=slug)))[-most:]
            lines = [
                f"{each.draft.timestamp[:19]}Z {each.draft.event.value}"
                f"{' ' + each.draft.task_id if each.draft.task_id else ''}"
                for each in records
            ]
            events: list[Json] = [
                {
                    "time": each.draft.timestamp,
                    "event": each.draft.event.value,
                    "step": each.draft.task_id,
                    "reason": each.draft.details.get("reason"),
                }
                for each in records
            ]
            data: dict[str, Json] = {"plan": slug, "events": events}
            return Told(ok=True, text="\n".join(lines), data=data)

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
            if status not in STATUSES:
                what = f"is {status!r}" if status else "is missing"
                raise UsageError(f"`status` {what}", hint=f"one of {', '.join(STATUSES)}")
            name, *others = read_names("step", step, step_number)
            said, beside = read_note(evidence, "`evidence`"), read_note(notes, "`notes`")
            more = {"notes": beside} if beside else {}
            with self._working() as work:
                found = work.step(name)
                self._refuse_moved(work, found, name)
                for other in others:
                    if work.step(other) is not found:
                        message, hint = differing("step", name, other)
                        raise UsageError(message, hint=hint)
                waiting = approval.waits_for(work)
                if waiting is not None and status != "blocked":
                    raise Refused(waiting)
                match status:
                    case "pending":
                        return steps_of.reopen(work, found, said, more)
                    case "in_progress":
                        return steps_of.begin(work, found, said, more)
                    case "blocked":
                        return steps_of.block(work, found, said or beside, more)
                    case _:
                        return steps_of.finish(work, found, said, more)

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
                number = _number(postcondition, postcondition_number)
                case = work.case(Subject.POSTCONDITION, number)
                name = f"postcondition {number}"
                if (waiting := approval.waits_for(work)) is not None:
                    raise Refused(waiting)
                item = work.state.conditions.get(number, Item())
                if item.standing.is_by_person:
                    return shown(work, f"a person settled {name} already.")
                if isinstance(case.contract, Attest):
                    raise Refused(f"{name} is attested by a person, not by an agent")
                if case.contract is not None or name in work.state.probes:
                    work.judge([case])
                    item = work.state.conditions.get(number, Item())
                    return judged(work, f"{name} “{case.title}”", item, "verified")
                said = read_note(evidence, "`evidence`")
                if (lack := lack_of_substance(said, case.title)) is not None:
                    raise UsageError(lack, hint="say what you ran or looked at, and what you saw")
                details: dict[str, Json] = {"number": number, "evidence": said}
                work.append(work.draft(EventKind.POSTCONDITION_CLAIMED, details))
                return shown(work, f"{name} → claimed\n{name} is claimed, which nobody has proved.")

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
                number = _number(postcondition, postcondition_number)
                case = work.case(Subject.POSTCONDITION, number)
                said = read_note(reason, "`reason`")
                if lack_of_substance(said, case.title) is not None:
                    raise UsageError("a postcondition is blocked for a reason: say which one")
                details: dict[str, Json] = {"number": number, "reason": said}
                work.append(work.draft(EventKind.POSTCONDITION_BLOCKED, details))
                return shown(work, f"postcondition {number} → blocked\nA person sees why.")

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
        """Decide about an agent's last word, also about an empty one; record it."""
        if waiting is not None:
            return Silent(waiting)
        file = bound_plan(self.desk)
        if file is None:
            ended = bound_plan(self.desk, ended=True)
            if ended is None:
                return Silent("there is no plan")
            return Silent(f"the plan is at its end: {state_of(self.desk, ended.slug).outcome}")
        with self._at(file) as work:
            return final.check(work, final_text)

    def broken(self, error: str) -> Reject | Capped | Silent:
        """Decide where the gate itself failed."""
        file = bound_plan(self.desk)
        if file is None:
            return Silent("there is no plan")
        with leased(self.desk, file.slug) as fence:
            work = Work(self.desk, file, fence)
            if work.state.outcome not in {None, INCOMPLETE}:
                return Silent(f"the plan is at its end: {work.state.outcome}")
            decision = final.broken(work, error)
            show_marks(work)
            return decision

    def orientation(self) -> str | None:
        """Return what an agent has to know that begins, or begins anew; None without a plan."""
        file = bound_plan(self.desk)
        if file is None:
            return None
        work = Work(self.desk, file)
        if work.state.outcome not in {None, INCOMPLETE}:
            return None
        work.notice()
        heading = heading_of(work.slug, work.plan, work.status)
        shown = show(heading, work.state, work.agenda, only_open=False)
        names = [each.slug for each in self.desk.workspace.plans()]
        return orient(work.slug, shown, names, waiting=approval.waits_for(work))

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
        file = bound_plan(self.desk, ended=True)
        outcome = state_of(self.desk, file.slug).outcome if file is not None else None
        return outcome not in {None, INCOMPLETE, RELEASED}

    def _dropped(self) -> str:
        """Return what is said of steps that are gone, for ever."""
        file = bound_plan(self.desk, ended=True)
        dropped = state_of(self.desk, file.slug).dropped if file is not None else []
        listed = "; ".join(f"“{line_of(each.title, 60)}” ({each.standing})" for each in dropped)
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
        file = bound_plan(self.desk, ended=True)
        if file is None:
            raise unbound(self.desk)
        work = Work(self.desk, file)
        if work.state.digest not in {None, work.digest}:
            with self._at(file) as work:
                yield work
            return
        yield work

    @contextmanager
    def _working(self) -> Iterator[Work]:
        file = bound_plan(self.desk)
        if file is None:
            raise unbound(self.desk)
        with self._at(file) as work:
            yield work

    @contextmanager
    def _at(self, file: PlanFile) -> Iterator[Work]:
        with leased(self.desk, file.slug) as fence:
            work = Work(self.desk, file, fence)
            before = work.state.seq
            writing.reconcile(work)
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


def _look_before(work: Work) -> None:
    """See how the contracts are before the work, where nobody has to approve the plan first."""
    if approval.waits_for(work) is None:
        # The plan is written, whatever comes of this: then nobody has seen it red.
        with suppress(CellProblem, FileProblem):
            preconditions_of.judge_open(work, within=_LOOKING)
            work.look(list(cases(work.plan)), within=_LOOKING)


def _number(name: str | int | None, number: str | int | None) -> str:
    found = [
        str(each).strip().removeprefix("postcondition ").lstrip("#")
        for each in read_names("postcondition", name, number)
    ]
    if found[0] != found[-1]:
        message, hint = differing("postcondition", found[0], found[-1])
        raise UsageError(message, hint=hint)
    return found[0]


def _name(name: object) -> str | None:
    if name is None or (isinstance(name, str) and not name.strip()):
        return None
    if not isinstance(name, str):
        raise UsageError("`name` is no text")
    return name.strip()


def _names(values: object) -> list[str]:
    """Return the names of steps; one alone is a list of one, and no text is a list of letters."""
    found = [values] if isinstance(values, str | int) else values
    if not isinstance(found, Sequence) or not all(isinstance(each, str | int) for each in found):
        raise UsageError("`remove` is a list of ids of steps")
    return [str(each) for each in found]
