"""Who gets a step, and what an agent is given beside the prompt."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from functools import partial

from planbound.agents.agent import Agent, Usage
from planbound.errors import Refused
from planbound.journal.event import AttemptEnded, EventKind
from planbound.journal.record import Query
from planbound.judging.case import Scope
from planbound.plan.glob import Glob
from planbound.plan.limits import Budget
from planbound.plan.model import USUAL_TARGET
from planbound.plan.vocabulary import nearest
from planbound.run.attempt import Brief, over_role
from planbound.run.budget import NOBODY, Allowance, Expected, room
from planbound.run.prompt import Given, write_follow_up
from planbound.run.session import RunSession
from planbound.state.run import Slot
from planbound.state.step import Use, used_in
from planbound.verify.task_scope import TaskScope, task_scope
from planbound.workspace.agents import Role, agent_seconds, estimate_of

_LOOKED_BACK = 100
"""So many attempts of all plans say what one of a role is likely to use."""


class Staff:
    """Finds agents for the steps of a run."""

    def __init__(self, session: RunSession) -> None:
        self.session = session
        self._turns: dict[int, int] = {}

    def agent_for(self, slot: Slot) -> Agent | None:
        """Return who gets a step; None where a person answers for it and nobody works on it."""
        target = slot.step.target.value if slot.step.target else None
        agent = self._find(slot, target)
        if agent is None and not slot.is_attested:
            wanted = target or USUAL_TARGET
            hint = (
                f"name one in planbound.toml: `[agents.{wanted}]`, `command = [...]`;"
                " `planbound agents` says what is installed"
            )
            meant = nearest(wanted, self.session.context.agents)
            if meant is not None and meant != wanted:
                hint = f"did you mean it by `[agents.{meant}]`? else {hint}"
            raise Refused(f"there is no agent for `{target or 'step ' + slot.label}`", hint=hint)
        return agent

    def _find(self, slot: Slot, target: str | None) -> Agent | None:
        context = self.session.context
        usual = context.configuration.run.agent
        able = self._able(target)
        if not able and usual is not None:
            able = [usual]
        if not able and target is None and len(context.agents) == 1:
            able = list(context.agents)
        return context.agents.get(able[self._turn(slot) % len(able)]) if able else None

    def expected(self) -> dict[int, Expected]:
        """Return by step what is known of an attempt at it, whatever the plan has seen so far."""
        elsewhere = self._elsewhere()
        alike: dict[tuple[str | None, str, float], Expected] = {}
        found: dict[int, Expected] = {}
        for slot in self.session.layout.slots:
            target = slot.step.target.value if slot.step.target else None
            agent = self._find(slot, target)
            if agent is None:
                found[slot.place] = NOBODY
                continue
            key = (target, agent.name, self.seconds(slot, agent))
            if key not in alike:
                alike[key] = self._expect(slot, agent, elsewhere)
            found[slot.place] = alike[key]
        return found

    def _expect(
        self, slot: Slot, agent: Agent, elsewhere: Mapping[str, tuple[Use, ...]]
    ) -> Expected:
        target = slot.step.target.value if slot.step.target else None
        configuration = self.session.context.configuration
        rules, budget = configuration.agents.get(agent.name), configuration.budget
        role = self.role(slot)
        limits = Budget() if role is None else role.budget
        costs = [each for each in (limits.dollars, self.max_cost(agent)) if each is not None]
        seconds = Decimal(str(self.seconds(slot, agent)))
        return Expected(
            usual=estimate_of(rules, budget.estimate, budget.usual),
            most=Budget(
                tokens=limits.tokens,
                dollars=min(costs, default=None),
                seconds=min(seconds, limits.seconds or seconds),
            ),
            elsewhere=elsewhere.get(target or USUAL_TARGET, ()),
        )

    def _elsewhere(self) -> dict[str, tuple[Use, ...]]:
        """Return by role what the last attempts used in other plans."""
        context = self.session.context
        found: dict[str, tuple[Use, ...]] = {}
        query = Query(events=(EventKind.ATTEMPT_ENDED,), last=_LOOKED_BACK)
        for record in context.journal.read(query):
            event = record.event
            if record.draft.plan == context.slug or not isinstance(event, AttemptEnded):
                continue
            used = used_in(event)
            if used is not None:
                found[used[0]] = (*found.get(used[0], ()), used[1])
        return found

    def room(self, slot: Slot, agent: Agent) -> Allowance:
        """Return what an attempt may use: of the budgets, and of what agent and role may."""
        left = room(self.session.state, slot)
        role = self.role(slot)
        most = Budget() if role is None else role.budget
        own = self.max_cost(agent)
        dollars = [each for each in (left.dollars, own, most.dollars) if each is not None]
        return Allowance(
            tokens=left.tokens if most.tokens is None else min(left.tokens, most.tokens),
            dollars=min(dollars),
            seconds=left.seconds
            if most.seconds is None
            else min(left.seconds, float(most.seconds)),
        )

    def role(self, slot: Slot) -> Role | None:
        """Return as what an agent works on a step; None where its target is no role."""
        target = slot.step.target.value if slot.step.target else None
        return self.session.context.configuration.role(target)

    def scope(self, slot: Slot, beside: tuple[Glob, ...]) -> Scope:
        """Return what a step may change, and its role, while others change something beside it."""
        role = self.role(slot)
        limit = None if role is None else role.scope(declared=slot.touches is not None)
        return Scope(
            None if slot.touches is None else (*slot.touches, *beside),
            None if limit is None else (*limit, *beside),
            task_scope(slot.step) if slot.touches is None else TaskScope(),
        )

    def max_cost(self, agent: Agent | None) -> Decimal | None:
        """Return what an attempt of an agent may cost; None where nothing is said."""
        rules = self.session.context.configuration.agents
        return rules[agent.name].max_cost if agent is not None and agent.name in rules else None

    def seconds(self, slot: Slot, agent: Agent) -> float:
        """Return how long an agent may take for a step, whatever is left of the budget."""
        return agent_seconds(slot.step, self.session.context.configuration.agents.get(agent.name))

    def brief(self, slot: Slot, agent: Agent, given: Given, attempt: int) -> Brief:
        """Return what an agent is given beside the prompt."""
        session = self.session
        step = session.state.steps[slot.place]
        left, role = self.room(slot, agent), self.role(slot)
        known = None
        if step.session is not None and step.session[0] == agent.name:
            known = step.session[1]
        return Brief(
            follow_up=write_follow_up(slot, step, attempt=attempt, diff=given.diff),
            session=known,
            session_usage=Usage(step.session_tokens, step.session_dollars),
            home=partial(session.context.homes.of, self._home(slot)),
            limit=Usage(left.tokens, left.dollars),
            note=partial(session.tell, slot),
            role=role,
            overtime=over_time(role, min(left.seconds, self.seconds(slot, agent))),
            subscriptions=tuple(each.record for each in given.excerpts),
        )

    def remove_homes(self, slots: Iterable[Slot]) -> None:
        """Remove what the agents of some steps left in their homes."""
        homes = self.session.context.homes
        for name in homes.names().intersection(map(self._home, slots)):
            homes.remove(name)

    def _home(self, slot: Slot) -> str:
        return f"{self.session.notes.run}-{slot.label}"

    def _able(self, target: str | None) -> list[str]:
        if target is None:
            return []
        context = self.session.context
        found = context.configuration.agents_for(target)
        return [name for name in found if name in context.agents]

    def _turn(self, slot: Slot) -> int:
        """Return which step of its target it is, so that those who share a role take turns.

        A matter of the plan alone: whoever resumes a run finds the same agent for a step, and a
        retry goes to who had the step before.
        """
        if not self._turns:
            counts: dict[str | None, int] = {}
            for each in self.session.layout.slots:
                target = each.step.target.value if each.step.target else None
                self._turns[each.place] = counts.get(target, 0)
                counts[target] = counts.get(target, 0) + 1
        return self._turns[slot.place]


def over_time(role: Role | None, seconds: float) -> str | None:
    """Return what it means that an attempt's time is up; None where its role does not limit it."""
    if role is None or role.budget.seconds is None or seconds < float(role.budget.seconds):
        return None
    return over_role(role, Budget(seconds=role.budget.seconds))
