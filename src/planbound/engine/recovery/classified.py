"""A failure as it is known, and what it was classified as."""

from __future__ import annotations

from typing import NamedTuple

from planbound.engine.judging.outcome import Ending
from planbound.engine.judging.verdict import VerdictKind
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.recipe import Recipe

_BY_RECIPE = "recipe-"


class Failure(NamedTuple):
    """All that is known about a failed attempt."""

    verdict: VerdictKind | None = None
    agent_ending: Ending | None = None
    agent_exit: int | None = None
    agent_signal: int | None = None
    agent_output: str = ""
    agent_error: str | None = None
    """The kind of error that an agent reports by itself, such as `rate_limit`."""
    contract_exit: int | None = None
    contract_signal: int | None = None
    contract_output: str = ""
    exhausted_memory: bool = False
    missing_credential: str | None = None
    """The name of a variable that the agent needs and that is not set."""

    @property
    def is_of_agent(self) -> bool:
        """Whether the agent did not run to its end in peace.

        What a contented agent printed is about its work, and no sign of a failure.
        """
        return (
            self.agent_ending not in {None, Ending.EXITED}
            or self.agent_exit not in {None, 0}
            or self.agent_signal is not None
            or self.agent_error is not None
            or self.missing_credential is not None
            or (self.verdict, self.contract_exit, self.contract_signal) == (None, None, None)
        )


class Classified(NamedTuple):
    """What kind of failure it is, and how that is known."""

    kind: FailureClass
    rule: str
    """The stable name of the rule that matched."""
    credential: str | None = None
    """The variable that is missing or refused, where one is named."""
    retry_after: float | None = None
    """The seconds that a service asks to wait."""

    @property
    def recipe(self) -> str | None:
        """The recipe whose pattern matched, if that is how it was classified."""
        return self.rule.removeprefix(_BY_RECIPE) if self.rule.startswith(_BY_RECIPE) else None


class Pattern(NamedTuple):
    """A regular expression of a recipe, and what it makes of a failure."""

    recipe: str
    text: str
    kind: FailureClass | None
    """None: the failure keeps the class that it has without the pattern."""

    @property
    def rule(self) -> str:
        """The name under which a match is recorded."""
        return f"{_BY_RECIPE}{self.recipe}"


def patterns_of(recipes: tuple[Recipe, ...]) -> tuple[Pattern, ...]:
    """Return the patterns that failures are looked through for, in order.

    A recipe for exactly one class widens that class; any other only answers.
    """
    return tuple(
        Pattern(recipe.name, text, next(iter(recipe.classes)) if len(recipe.classes) == 1 else None)
        for recipe in recipes
        for text in recipe.patterns
    )
