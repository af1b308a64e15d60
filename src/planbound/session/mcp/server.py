"""The server: the plan tools, what can be read, and the prompts, put together; and over HTTP."""

from __future__ import annotations

import hmac
import inspect
import os
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
import uvicorn
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError
from mcp.server.mcpserver.prompts import Prompt
from mcp_types import Resource, ToolAnnotations
from starlette.datastructures import Headers
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from planbound import __version__
from planbound.approval.elicitation import ElicitedApprovals
from planbound.cells.stages import Stages
from planbound.errors import PlanboundError, UsageError
from planbound.journal.record import Query, encode
from planbound.plan.slug import SlugError, parse_slug
from planbound.session.mcp.approval import request_tool
from planbound.session.mcp.tools import EVERY, READS, REPEATABLE, WRITES, Calls, McpTools
from planbound.session.shown import INSTRUCTIONS
from planbound.session.tools import PlanTools
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

# -- prompts that a person picks in the client: they tell the agent how to use the tools ---------


WORK = """\
Work on the plan of this workspace until it is finished.

1. Call `plan_show`. Where there is no plan, make one with `plan_create`.
2. Take the first open step. Call `step_update` with `in_progress`, do the work, then call
   `step_update` with `done` and your evidence. The harness judges at once.
3. Where it is not proved, read what failed, mend the work, and call `step_update` again. Never
   change a test or a contract to make it pass. `blocked` is only for what is missing outside of
   the workspace, with the reason; a test that fails is the work.
4. When all steps are settled, settle every postcondition with `postcondition_verify`.
5. Call `plan_finish` with your summary. Where it refuses, do what is missing and call it again.
   Say that you are done only after it accepted.
"""

WRITE = """\
Write a plan for this goal, and do nothing else yet:

{goal}

1. Look at the workspace first: what is there, how it is built and tested.
2. Call `plan_create`: an objective of one sentence; steps that one person could do in an hour or
   less, each with a title, a task that says what is to be done, the files that it touches, and a
   contract: a shell command that fails now and passes exactly when the step is done. `true`,
   `echo` and commands that cannot fail prove nothing.
3. Add preconditions for what must be true before the first step, and postconditions for what must
   hold at the end, whatever the steps did.
4. Read the answer, mend what it finds wrong, and show the plan with `plan_show`.
"""


def work_the_plan() -> str:
    """Go on with the plan of this workspace until the gate accepts it."""
    return WORK


def write_a_plan(goal: str) -> str:
    """Make a plan for a goal, with contracts that can be proved."""
    return WRITE.format(goal=goal)


# -- what can be read without a tool: the text of a plan, and the end of its journal -------------


LARGEST = 200_000
"""How many bytes of a document are shown."""
EVENTS = 200
"""How many events of a journal are shown."""


class Documents:
    """The plans and the journal of a workspace; the context is made anew for each reading."""

    def __init__(self, context: Callable[[], Context]) -> None:
        self._context = context

    def names(self) -> list[str]:
        """Return the names of the plans that are there."""
        return [plan.slug for plan in self._context().tree.plans()]

    def plan(self, name: str) -> str:
        """Return the text of a plan, its end left out where it is very long."""
        context = self._context()
        data = context.reader.read(locate(_slug(name), context.tree).path)
        text = data[:LARGEST].decode("utf-8", "replace")
        return text if len(data) <= LARGEST else f"{text}\n[cut: {len(data):,} bytes in all]\n"

    def journal(self, name: str) -> str:
        """Return the last events of a plan as the journal holds them, in JSON, one a line."""
        context = self._context()
        slug = locate(_slug(name), context.tree).slug
        journal = context.existing_journal()
        if journal is None:
            return ""
        try:
            lines = [encode(record) for record in journal.read(Query(plan=slug, last=EVENTS))]
        finally:
            context.close()
        while len(lines) > 1 and sum(map(len, lines)) > LARGEST:
            del lines[0]
        return "".join(f"{line}\n" for line in lines)


def _slug(name: str) -> str:
    """Return a plan's name; a path is none."""
    try:
        return parse_slug(name)
    except SlugError as error:
        raise UsageError(f"not a plan's name: {error}") from error


# -- the server: the plan tools, what can be read, and the prompts, put together -----------------


class PlanServer(MCPServer[Any]):
    """The Model Context Protocol's side of a session."""

    def __init__(
        self,
        open_tools: Callable[[], PlanTools],
        documents: Documents,
        approvals: ElicitedApprovals | None = None,
        *,
        stages: Stages | None = None,
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
        self.calls = Calls(open_tools, stages or Stages(), every=every)
        self._add_tools(approvals)
        self._add_documents()
        self._add_prompts()

    def _add_tools(self, approvals: ElicitedApprovals | None) -> None:
        tools = McpTools(self.calls)
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
        self.add_prompt(Prompt.from_function(work_the_plan, name="work-the-plan"))
        self.add_prompt(Prompt.from_function(write_a_plan, name="write-a-plan"))

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


# -- the server over HTTP: on loopback only, and only for who has the token ----------------------


HOST = "127.0.0.1"
PATH = "/mcp"
_LARGEST_BODY = 4 * 1024 * 1024


class Bearer:
    """Lets nobody through without the token."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app = app
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand a request on, or refuse it."""
        if scope["type"] == "http":
            given = Headers(scope=scope).get("authorization", "").encode("latin-1")
            if not hmac.compare_digest(given, self._expected):
                refusal = JSONResponse(
                    {"error": "the token is missing or wrong"},
                    status_code=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )
                await refusal(scope, receive, send)
                return
        await self._app(scope, receive, send)


def serve_http(
    server: PlanServer, *, port: int, token: str, listening: Callable[[str], None]
) -> None:
    """Serve until the process is told to stop; `listening` gets the address."""
    app = server.streamable_http_app(
        streamable_http_path=PATH, host=HOST, max_request_body_size=_LARGEST_BODY
    )
    try:
        door = socket.create_server((HOST, port))
    except OSError as error:
        raise UsageError(f"port {port} cannot be listened on: {error.strerror}") from error
    config = uvicorn.Config(Bearer(app, token), log_level="warning", lifespan="on", ws="none")
    try:
        server.calls.begin()
        listening(f"http://{HOST}:{door.getsockname()[1]}{PATH}")
        anyio.run(partial(uvicorn.Server(config).serve, sockets=[door]))
    finally:
        door.close()
        server.calls.close()


# -- the server over standard input and output, as most clients start it -------------------------


def serve_stdio(server: PlanServer) -> None:
    """Serve one client until it closes our standard input."""
    try:
        server.calls.begin()
        anyio.run(server.run_stdio_async)
    finally:
        server.calls.close()


# -- the token of the server over HTTP; read before anything that takes long to start ------------


SHORTEST = 20
"""How many characters a token has at least."""


def read_token(path: str) -> str:
    """Return the token in a file that nobody else can read."""
    try:
        with open(path, encoding="utf-8") as file:
            others = os.fstat(file.fileno()).st_mode & 0o077
            token = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"the token in `{path}` cannot be read: {reason}") from error
    if others:
        raise UsageError(f"others can read `{path}`", hint=f"`chmod 600 {path}`")
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"`{path}` holds no token: {SHORTEST} or more printable characters, no blanks",
            hint=f"`(umask 077; openssl rand -hex 32 > {path})`",
        )
    return token
