"""The server: the plan tools, what can be read, and the prompts, put together."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import anyio.to_thread
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import Resource, ToolAnnotations

from planbound import __version__
from planbound.engine.loop.instructions import INSTRUCTIONS
from planbound.errors import PlanboundError, UsageError
from planbound.mcp_server import prompts
from planbound.mcp_server.approval import Approvals, request_tool
from planbound.mcp_server.calls import EVERY, Calls
from planbound.mcp_server.documents import Documents
from planbound.mcp_server.tools import READS, REPEATABLE, WRITES, PlanTools
from planbound.usecases.loop.loop import Loop


class PlanServer(MCPServer[Any]):
    """The Model Context Protocol's side of a session."""

    def __init__(
        self,
        open_loop: Callable[[], Loop],
        documents: Documents,
        approvals: Approvals | None = None,
        *,
        every: float = EVERY,
    ) -> None:
        super().__init__(
            "planbound",
            title="Planbound",
            instructions=INSTRUCTIONS,
            version=__version__,
            log_level="WARNING",
        )
        self.documents = documents
        self.calls = Calls(open_loop, every=every)
        self._add_tools(approvals)
        self._add_documents()
        self._add_prompts()

    def _add_tools(self, approvals: Approvals | None) -> None:
        tools = PlanTools(self.calls)
        kinds: dict[Callable[..., Any], ToolAnnotations] = {
            tools.plan_create: WRITES,
            tools.plan_show: READS,
            tools.step_update: WRITES,
            tools.postcondition_verify: WRITES,
            tools.postcondition_block: REPEATABLE,
            tools.plan_amend: WRITES,
            request_tool(self.calls, approvals): REPEATABLE,
            tools.plan_finish: WRITES,
            tools.plan_status: READS,
            tools.plan_log: READS,
        }
        for tool, kind in kinds.items():
            self.add_tool(tool, description=inspect.getdoc(tool), annotations=kind)

    def _add_documents(self) -> None:
        @self.resource("plan://{name}", mime_type="text/markdown")
        async def plan(name: str) -> str:
            """Return the text of a plan as it is in the workspace."""
            return await _document(self.documents.plan, name)

        @self.resource("journal://{name}", mime_type="application/jsonl")
        async def journal(name: str) -> str:
            """Return the last events of a plan, one a line."""
            return await _document(self.documents.journal, name)

    def _add_prompts(self) -> None:
        self.add_prompt(Prompt.from_function(prompts.work_the_plan, name="work-the-plan"))
        self.add_prompt(Prompt.from_function(prompts.write_a_plan, name="write-a-plan"))

    async def list_resources(self) -> list[Resource]:
        """List the plans that are there now."""
        try:
            names = await anyio.to_thread.run_sync(self.documents.names)
        except PlanboundError:  # a tool says what is wrong; a list cannot
            names = []
        return [
            Resource(uri=f"{scheme}://{name}", name=f"{scheme} {name}", mime_type=kind)
            for name in names
            for scheme, kind in (("plan", "text/markdown"), ("journal", "application/jsonl"))
        ]


async def _document(read: Callable[[str], str], name: str) -> str:
    """Return a document; it does not wait for what is being judged."""
    try:
        return await anyio.to_thread.run_sync(read, name)
    except UsageError as error:
        raise ResourceNotFoundError(error.message) from error
    except PlanboundError as error:
        raise ResourceError(error.message) from error
