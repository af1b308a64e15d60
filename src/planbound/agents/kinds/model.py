"""The agent that is any model: our own loop asks it, and runs its tools in the cell.

The loop is in this process, so that the credential of the service never is in the cell.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from planbound.agents.kind import Kind
from planbound.agents.model.options import read_options
from planbound.agents.program import Program
from planbound.engine.agents import AgentRules
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.ports.agent import Assignment, Worked

EXTRA = "model"
_LIBRARY = "pydantic_ai"


class ModelAgent:
    """A model that works with tools of ours."""

    def __init__(self, rules: AgentRules, environment: Mapping[str, str]) -> None:
        self.options = read_options(rules)
        self.rules = rules
        self.program = Program(rules, environment)

    @property
    def name(self) -> str:
        """Return how the configuration calls it."""
        return self.rules.name

    def work(self, assignment: Assignment) -> Worked:
        """Ask the model until it says no more."""
        if (trouble := self.program.trouble()) is not None:
            return trouble
        begun = time.monotonic()
        from importlib.util import find_spec  # noqa: PLC0415 - start-up

        if find_spec(_LIBRARY) is None:
            cure = f"`pip install 'planbound[{EXTRA}]'`"
            return _not_installed(f"`{_LIBRARY}` is not installed: {cure}")
        # The library takes seconds to import.
        from planbound.agents.model import loop, service  # noqa: PLC0415 - start-up

        environment = self.program.environment
        attempt = loop.ModelAttempt(self.rules, self.options, environment, assignment, begun)
        try:
            found = service.find_service(self.rules, environment)
        except service.MissingKeyError as error:
            reason = f"`{error}` is not set, and `{self.rules.model}` needs it"
            return Worked(Outcome(Ending.NOT_STARTED, reason=reason), missing=str(error))
        except service.UnknownModelError as error:
            outcome = Outcome(Ending.NOT_STARTED, reason=str(error))
            return Worked(outcome, error="model-not-found")
        except ImportError as error:
            return _not_installed(str(error))
        return attempt.run(found)


def _not_installed(reason: str) -> Worked:
    return Worked(Outcome(Ending.NOT_STARTED, reason=reason), error="not-installed")


KIND = Kind(
    "model",
    "any model, with tools of ours",
    ModelAgent,
    credentials=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
    extra=EXTRA,
    modules=(_LIBRARY,),
)
