"""The plan tools and the gate as a capability for agents of pydantic-ai.

Under a durability capability, such as `DBOSDurability`, every call of a tool and every decision of
the gate is an operation of its own: after a crash it is not done again, only read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import wraps
from typing import Any

from pydantic_ai import ModelResponse, ModelRetry, RunContext, Tool
from pydantic_ai.capabilities import AbstractCapability, durable_operation
from pydantic_ai.capabilities.abstract import AgentNode, NodeResult
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.output import OutputContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, DeferredToolRequests
from pydantic_ai.toolsets import FunctionToolset
from pydantic_graph import End

from planbound.session.decide import Capped, Reject
from planbound.session.python import IncompletePlan, Session, tools
from planbound.session.shown import INSTRUCTIONS

_REJECTED, _CAPPED, _PASSED = "rejected", "capped", "passed"


class PlanCapability(AbstractCapability[AgentDepsT]):
    """Gives an agent the plan tools, says how to use them, and lets it end when the gate does.

    A refusal goes back to the model as `ModelRetry`; where the agent's own number of output retries
    is used up, as a message: only the gate decides how often. A run whose plan is not done raises
    `IncompletePlan`, also where a limit or the model's failure ends it.
    """

    id: str | None = "planbound"

    def __init__(self, session: Session) -> None:
        self.session = session
        self._oriented: str | None = None
        self._asked = False
        """Whether the gate was asked about the output that would end the run."""

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> PlanCapability[AgentDepsT]:
        """Return the capability for one run."""
        del ctx
        return type(self)(self.session)

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a session cannot be written down in a specification."""
        return None

    # -- what the model is given ---------------------------------------------------------------

    def get_instructions(self) -> list[Any]:
        """Return how the tools are used, and where the plan is when a run begins."""
        return [INSTRUCTIONS, self._orientation]

    def get_toolset(self) -> FunctionToolset[AgentDepsT]:
        """Return the plan tools."""
        # One after the other: what one answers depends on the one before.
        found: list[Any] = [
            Tool(self._asynchronous(each), takes_ctx=False, sequential=True)
            for each in tools(self.session)
        ]
        return FunctionToolset(found, id=self.id)

    async def _orientation(self, ctx: RunContext[AgentDepsT]) -> str:
        del ctx
        # The same during a run: another text with every request would undo the service's caching.
        if self._oriented is None:
            self._oriented = await asyncio.to_thread(self.session.orientation) or ""
        return self._oriented

    def _asynchronous(self, tool: Callable[..., str]) -> Callable[..., Any]:
        @wraps(tool)
        async def call(**arguments: Any) -> str:
            return await self.call_tool(tool.__name__, arguments)

        return call

    # -- what happens once, also after a crash -------------------------------------------------

    @durable_operation(name="call_tool")
    async def call_tool(self, name: str, arguments: dict[str, Any]) -> str:
        """Call a plan tool."""
        told = await asyncio.to_thread(self.session.call, name, **arguments)
        return told.text

    @durable_operation(name="check")
    async def check(self, final_text: str) -> tuple[str, str, list[str]]:
        """Ask the gate; return what it came to, its message, and what is missing."""
        decision = await asyncio.to_thread(self.session.check, final_text)
        if isinstance(decision, Reject | Capped):
            kind = _CAPPED if isinstance(decision, Capped) else _REJECTED
            return kind, decision.message, list(decision.missing)
        return _PASSED, "", []

    # -- the gate ------------------------------------------------------------------------------

    async def after_output_process(
        self, ctx: RunContext[AgentDepsT], *, output_context: OutputContext, output: Any
    ) -> Any:
        """Send the model back where the gate refuses its output."""
        del output_context
        # What is still streamed is not in the history yet: it is looked at again when it is.
        if ctx.partial_output or not isinstance(ctx.messages[-1], ModelResponse):
            return output
        kind, message, missing = await self.check(_words(output))
        if kind == _CAPPED:
            raise IncompletePlan(message, tuple(missing))
        if kind == _REJECTED:
            if ctx.retry < ctx.max_retries:
                raise ModelRetry(message)
            ctx.enqueue(message)
        self._asked = True
        return output

    async def after_node_run(
        self,
        ctx: RunContext[AgentDepsT],
        *,
        node: AgentNode[AgentDepsT],
        result: NodeResult[AgentDepsT],
    ) -> NodeResult[AgentDepsT]:
        """Let no run end unasked: `run_stream` ends with what was streamed, and sends none back.

        A run that only waits, for approvals or for tools that others run, is not at its end.
        """
        del ctx, node
        asked, self._asked = self._asked, False
        if asked or not isinstance(result, End):
            return result
        if not isinstance(result.data.output, DeferredToolRequests):
            kind, message, missing = await self.check(_words(result.data.output))
            if kind != _PASSED:
                raise IncompletePlan(message, tuple(missing))
        return result

    async def on_run_error(
        self, ctx: RunContext[AgentDepsT], *, error: BaseException
    ) -> AgentRunResult[Any]:
        """Ask the gate also where a limit or the model's failure ends the run."""
        del ctx
        if not isinstance(error, UnexpectedModelBehavior | UsageLimitExceeded):
            raise error
        kind, message, missing = await self.check("")
        if kind == _PASSED:
            raise error
        raise IncompletePlan(f"{error}\n\n{message}", tuple(missing)) from error


def _words(output: object) -> str:
    return "" if output is None else str(output)
