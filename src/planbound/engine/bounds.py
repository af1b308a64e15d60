"""Which number wins: how long an agent and a contract may take, how often a failure is retried.

Time: what the step says, else what the configuration says, else what is shipped. Retries: none
where `on_fail` or the recipe wants none; else as many as the recipe says; where it says nothing, as
many as `on_fail` does. A contract that ran past its limit is a failure like others, of the class
`hung`, whose recipe says nothing: it is tried again as often as work that does not pass.
"""

from __future__ import annotations

from planbound.engine.agents import AgentRules
from planbound.engine.configuration import Contracts
from planbound.engine.recovery.recipe import Recipe
from planbound.plan.model import OnFail, Step

AGENT_SECONDS = 600.0
"""How long an agent has where nobody says it."""


def agent_seconds(step: Step, rules: AgentRules | None) -> float:
    """Return how long an agent may take for a step, whatever is left of the budget."""
    own = float(step.timeout.value) if step.timeout else None
    return _first(own, rules.seconds if rules else None, AGENT_SECONDS)


def contract_seconds(own: float | None, contracts: Contracts) -> float:
    """Return how long a contract may take each time that it runs; `own` is what stands with it."""
    return _first(own, contracts.seconds)


def retries(recipe: Recipe, on_fail: OnFail) -> int:
    """Return how often a failure that a recipe answers is tried again."""
    if on_fail.retries == 0 or not recipe.retries:
        return 0
    return on_fail.retries if recipe.max is None else recipe.max


def _first(*seconds: float | None) -> float:
    return next(each for each in seconds if each)
