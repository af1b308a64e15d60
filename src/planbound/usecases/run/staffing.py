"""Who gets a step, and what he is given beside the prompt."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import partial

from planbound.engine.agents import estimate_of
from planbound.engine.bounds import agent_seconds
from planbound.engine.judging.scope import Scope
from planbound.engine.prompt import Given, write_follow_up
from planbound.engine.roles import USUAL, Role, role_of
from planbound.engine.run.budget import NOBODY, Allowance, Expected, room
from planbound.engine.run.layout import Slot
from planbound.engine.run.step_state import Use, used_in
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.plan.glob import Glob
from planbound.plan.limits import Budget, format_budget
from planbound.ports.agent import Agent, Usage
from planbound.ports.journal import Query
from planbound.usecases.run.attempt import Brief
from planbound.usecases.run.session import Session
from planbound.verify.told_to_change import Told, told_by

_LOOKED_BACK = 100
"""So many attempts of all plans say what one of a role is likely to use."""
OVER_MAX_COST = "budget: the agent's own"
"""How the reason begins for which an agent is stopped that costs more than it may."""
OVER_ROLE = "budget: the role"
"""How the reason begins for which an agent is stopped that uses more than its role may."""


class Staffing:
    """Finds agents for the steps of a run."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self._turns: dict[int, int] = {}

    def agent_for(self, slot: Slot) -> Agent | None:
        """Return who gets a step; None where a person answers for it and nobody works on it."""
        target = slot.step.target.value if slot.step.target else None
        agent = self._find(slot, target)
        if agent is None and not slot.is_attested:
            wanted = target or "coder"
            raise Refused(
                f"there is no agent for `{target or 'step ' + slot.label}`",
                hint=f"name one in planbound.toml: `[agents.{wanted}]`, `command = [...]`;"
                " `planbound agents` says what is installed",
            )
        return agent

    def _find(self, slot: Slot, target: str | None) -> Agent | None:
        desk = self.session.desk
        usual = desk.configuration.run.agent
        able = self._able(target)
        if not able and usual is not None:
            able = [usual]
        if not able and target is None and len(desk.agents) == 1:
            able = list(desk.agents)
        return desk.agents.get(able[self._turn(slot) % len(able)]) if able else None

    def expected(self) -> dict[int, Expected]:
        """Return by step what is known of an attempt at it, whatever the plan has seen so far."""
        elsewhere = self._elsewhere()
        return {slot.place: self._expect(slot, elsewhere) for slot in self.session.layout.slots}

    def _expect(self, slot: Slot, elsewhere: Mapping[str, tuple[Use, ...]]) -> Expected:
        target = slot.step.target.value if slot.step.target else None
        agent = self._find(slot, target)
        if agent is None:
            return NOBODY
        configuration = self.session.desk.configuration
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
            elsewhere=elsewhere.get(target or USUAL, ()),
        )

    def _elsewhere(self) -> dict[str, tuple[Use, ...]]:
        """Return by role what the last attempts used in other plans."""
        desk = self.session.desk
        found: dict[str, tuple[Use, ...]] = {}
        query = Query(events=(EventKind.ATTEMPT_ENDED,), last=_LOOKED_BACK)
        for record in desk.journal.read(query):
            used = used_in(record.draft.details) if record.draft.plan != desk.slug else None
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
        return role_of(target, self.session.desk.configuration.roster)

    def scope(self, slot: Slot, beside: tuple[Glob, ...]) -> Scope:
        """Return what a step may change, and its role, while others change something beside it."""
        role = self.role(slot)
        limit = None if role is None else role.scope(declared=slot.touches is not None)
        return Scope(
            None if slot.touches is None else (*slot.touches, *beside),
            None if limit is None else (*limit, *beside),
            told_by(slot.step) if slot.touches is None else Told(),
        )

    def max_cost(self, agent: Agent | None) -> Decimal | None:
        """Return what an attempt of an agent may cost; None where nothing is said."""
        rules = self.session.desk.configuration.agents
        return rules[agent.name].max_cost if agent is not None and agent.name in rules else None

    def seconds(self, slot: Slot, agent: Agent) -> float:
        """Return how long an agent may take for a step, whatever is left of the budget."""
        return agent_seconds(slot.step, self.session.desk.configuration.agents.get(agent.name))

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
            home=partial(session.desk.homes.of, self._home(slot)),
            limit=Usage(left.tokens, left.dollars),
            note=partial(session.tell, slot),
            role=role,
            overtime=over_time(role, min(left.seconds, self.seconds(slot, agent))),
            subscriptions=tuple(context.record for context in given.contexts),
        )

    def send_home(self, slot: Slot) -> None:
        """Remove what the agents of a step left in their home."""
        self.session.desk.homes.remove(self._home(slot))

    def _home(self, slot: Slot) -> str:
        return f"{self.session.notes.run}-{slot.label}"

    def _able(self, target: str | None) -> list[str]:
        if target is None:
            return []
        from planbound.engine.agents import seats_of  # noqa: PLC0415 - start-up

        desk = self.session.desk
        found = seats_of(target, desk.configuration.agents, desk.configuration.seats)
        return [name for name in found if name in desk.agents]

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


def limit(left: Allowance, own: Decimal | None, role: Role | None) -> Callable[[Usage], str | None]:
    """Return what says which limit is reached by what an attempt has used so far."""
    most = Budget() if role is None else role.budget

    def over(usage: Usage) -> str | None:
        if usage.tokens is not None and usage.tokens > left.tokens:
            if left.tokens == most.tokens:
                return _over_role(role, Budget(tokens=most.tokens))
            return "budget: tokens"
        if usage.dollars is None or usage.dollars <= left.dollars:
            return None
        if left.dollars == most.dollars:
            return _over_role(role, Budget(dollars=most.dollars))
        if own is not None and left.dollars == own:
            return f"{OVER_MAX_COST} `max_cost` of ${own} an attempt"
        return "budget: cost"

    return over


def over_time(role: Role | None, seconds: float) -> str | None:
    """Return what it means that an attempt's time is up; None where its role does not limit it."""
    if role is None or role.budget.seconds is None or seconds < float(role.budget.seconds):
        return None
    return _over_role(role, Budget(seconds=role.budget.seconds))


def _over_role(role: Role | None, part: Budget) -> str:
    assert role is not None
    return f"{OVER_ROLE} `{role.name}` has {format_budget(part)} for an attempt"
