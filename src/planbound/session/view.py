"""What a session sees of its plan, by the file and the journal: read, and judged by nobody."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from contextlib import suppress

from planbound.disk.files import PlanFile, Shelf
from planbound.errors import AlreadyExists
from planbound.journal.record import Query
from planbound.journal.words import QuestionKind
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse
from planbound.plan.slug import file_name
from planbound.session.context import BoundPlan, SessionContext
from planbound.session.decide import Agenda
from planbound.session.shown import agenda_of, heading_of, orient, show
from planbound.state.owner import TOOLS
from planbound.state.plan import PlanState, plan_status
from planbound.state.question import Question
from planbound.state.session import LoopState
from planbound.workspace.configuration import ApprovalDemand
from planbound.workspace.marks import is_news, look_at, notice


class SessionPlan:
    """A plan, and where it is."""

    def __init__(
        self, session: SessionContext, file: PlanFile, known: PlanState | None = None
    ) -> None:
        self.session = session
        self.file = file
        self.known = known or PlanState(file.slug)
        """What has become of the plan."""
        self._catch_up()
        self.load()

    def load(self) -> None:
        """Read the file; put it back where it is gone, since taking it away ends nothing."""
        if file_name(self.slug) not in self.session.context.tree.names(Shelf.ACTIVE):
            self._put_back()
        self.data = self.session.context.files.read(self.file.path)
        self.plan: Plan = parse(self.data, path=self.file.shown)
        self.ids = self.session.recorder.step_ids(self.plan)

    def _put_back(self) -> None:
        key = self.state.text if self.state.is_owed else None
        data = self.session.vault.content(bytes.fromhex(key)) if key is not None else None
        if data is None:
            return  # then reading it says what is wrong
        self.session.context.files.make_folder(self.file.path.rsplit("/", 1)[0])
        with suppress(AlreadyExists):  # another session was faster
            self.session.context.files.create(self.file.path, data)

    @property
    def state(self) -> LoopState:
        """Return what the agent in the loop has come to."""
        return self.known.session

    @property
    def slug(self) -> str:
        return self.file.slug

    @property
    def agenda(self) -> Agenda:
        """Return all that the plan asks for, with where it is."""
        return agenda_of(self.plan, self.ids, self.state, tuple(self.state.probes))

    @property
    def comments(self) -> tuple[Question, ...]:
        """Return what people ask about the plan, and nobody has answered."""
        self._catch_up()
        found = self.known.questions.open.values()
        return tuple(each for each in found if each.kind is QuestionKind.CLARIFICATION)

    @property
    def digest(self) -> str:
        """Return what the plan means."""
        return digest(self.plan)

    @property
    def status(self) -> PlanStatus:
        """Return where the plan is, in the word that every view has for it."""
        self._catch_up()
        return plan_status(self.known, self.digest)

    def notice(self) -> None:
        """Put on record, and into the file, that somebody changed the plan, where that is so."""
        look = look_at(self.session.journal, self.file, self.data, self.plan)
        if is_news(look):
            self.data = notice(self.session.recorder, self.session.context.files, look).data
            self._catch_up()

    def _catch_up(self) -> None:
        for record in self.session.journal.read(Query(plan=self.slug, after=self.known.seq)):
            self.known.apply(record)


def orientation(session: SessionContext, bound: BoundPlan) -> str | None:
    """Return what an agent has to know that begins, or begins anew; None at the plan's end."""
    if bound.state.is_over:
        return None
    view = SessionPlan(session, bound.file, bound.known)
    view.notice()
    heading = heading_of(view.slug, view.plan, view.status)
    shown = show(heading, view.state, view.agenda, only_open=False)
    names = [each.slug for each in session.context.tree.plans()]
    return orient(view.slug, shown, names, waiting=waits_for(view))


# -- where a person has to approve the plan before an agent may begin ----------------------------


def waits_for(view: SessionPlan) -> str | None:
    """Return what a person has to do before a step may start; None where nothing."""
    state, how = view.state, f"a person runs `planbound approve {shlex.quote(view.slug)}`"
    if state.was_changed and not state.asked:
        return (
            "the plan was changed since a person approved it: put it back as it was, or"
            f" `plan_request_approval()`, then {how}"
        )
    demanded = _is_demanded(view.session.context.configuration.gate.approval, state)
    if not demanded or state.approved == view.digest:
        return None
    said = _commented(view.comments)
    if state.asked:
        return f"waiting for approval: {how}{said}"
    if state.rejected is not None:
        return (
            f"a person rejected the plan: {state.rejected}; change it by `plan_amend`, then"
            " `plan_request_approval()`"
        )
    if state.approved is not None:
        return f"the plan is not the one that was approved: `plan_request_approval()`, then {how}"
    return f"{_why(state)}: `plan_request_approval()`, then {how}{said}"


def _commented(comments: Sequence[Question]) -> str:
    """Return what people ask about lines of the plan, for whoever can write it anew."""
    if not comments:
        return ""
    said = "; ".join(
        (f"line {each.line} (`{each.quoted.strip()}`): " if each.line is not None else "")
        + each.reason
        for each in comments
    )
    return f"; before, a person asks: {said}. Another text by `plan_amend` answers it"


def _is_demanded(demand: ApprovalDemand, state: LoopState) -> bool:
    # What a person was asked for, or said no to, waits for a yes, whoever else needs none.
    if state.was_changed or state.owes_yes or demand is ApprovalDemand.ALL:
        return True
    return demand is ApprovalDemand.PEOPLE and state.by_people


def _why(state: LoopState) -> str:
    if not state.by_people:
        return "nothing may start before the plan is approved"
    if state.origin == TOOLS:
        return "people had a hand in this plan, so nothing may start before it is approved"
    return "a person wrote this plan and nobody approved it, so nothing may start"
