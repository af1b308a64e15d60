"""The agent that is any model: our own loop asks it, and runs its tools in the cell.

The loop is in this process, so that the credential of the service never is in the cell.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from planbound.agents.agent import Assignment, Worked
from planbound.agents.kind import Kind
from planbound.agents.model.options import APIS, read_options
from planbound.agents.probe import ProbeResult
from planbound.agents.program import Program
from planbound.cells.cell import CommandEnding, Outcome
from planbound.disk.extras import install_extra
from planbound.workspace.agents import AgentRules

EXTRA = "model"
_LIBRARY = "pydantic_ai"
_SPEAKS = "speaks"
_API_NAMES = {"chat": "chat completions", "responses": "responses"}
_LONGEST = 500


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
            return _not_installed(f"`{_LIBRARY}` is not installed: `{install_extra(EXTRA)}`")
        # The library takes seconds to import.
        from planbound.agents.model import service  # noqa: PLC0415 - start-up
        from planbound.agents.model.attempt import ModelAttempt  # noqa: PLC0415 - see above

        environment = self.program.environment
        attempt = ModelAttempt(self.rules, self.options, environment, assignment, begun)
        try:
            found = service.find_service(self.rules, environment, self.options.api)
        except service.MissingKeyError as error:
            reason = f"`{error}` is not set, and `{self.rules.model}` needs it"
            return Worked(Outcome(CommandEnding.NOT_STARTED, reason=reason), missing=str(error))
        except service.UnknownModelError as error:
            outcome = Outcome(CommandEnding.NOT_STARTED, reason=str(error))
            return Worked(outcome, error="model-not-found")
        except ImportError as error:
            return _not_installed(str(error))
        return attempt.run(found)


def _not_installed(reason: str) -> Worked:
    return Worked(Outcome(CommandEnding.NOT_STARTED, reason=reason), error="not-installed")


def examine(rules: AgentRules, environment: Mapping[str, str]) -> ProbeResult | None:
    """Find out how a server is spoken to; None where that is not in question."""
    if rules.base_url is None:
        return None
    from planbound.agents.model import service  # noqa: PLC0415 - start-up

    wanted = read_options(rules).api or APIS[0]
    try:
        found = service.spoken(rules, environment)
    except service.MissingKeyError as error:
        return ProbeResult(_SPEAKS, f"`{error}` is not set")
    except Exception as error:  # noqa: BLE001 - the clients of a dozen services raise anything
        return ProbeResult(_SPEAKS, " ".join(str(error).split())[:_LONGEST])
    names = " and ".join(_API_NAMES[api] for api in found)
    if wanted in found:
        return ProbeResult(_SPEAKS, None, f"{names}; asked by {_API_NAMES[wanted]}")
    if not found:
        return ProbeResult(
            _SPEAKS, f"`{rules.base_url}` answers neither chat completions nor responses"
        )
    cure = f'write `options = {{ api = "{found[0]}" }}` in `[agents.{rules.name}]`'
    return ProbeResult(_SPEAKS, f"the server speaks {names}, not {_API_NAMES[wanted]}: {cure}")


KIND = Kind(
    "model",
    "any model, with tools of ours",
    ModelAgent,
    credentials=("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY"),
    extra=EXTRA,
    modules=(_LIBRARY,),
    examine=examine,
    logins=(),
)
