"""What a tool answers: the text that the model reads, and the same for programs."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, Literal, TypeVar

import anyio
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, TextContent, ToolAnnotations
from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

from planbound.cells.stages import Stages
from planbound.disk.space import disk_problem
from planbound.errors import PlanboundError
from planbound.session.answers import Told
from planbound.session.tools import PlanTools
from planbound.source import storable, storable_json

# -- what a tool answers: the text that the model reads, and the same for programs ---------------


class Answer(BaseModel):
    """The structured content of every tool; what else there is depends on the tool."""

    model_config = ConfigDict(extra="allow")

    ok: bool = Field(description="false: refused, or not proved; the text says why")
    text: str = Field(description="what happened, and what to do next")


def answered(told: Told) -> CallToolResult:
    """Return what was told; only a call that was wrong in itself is an error.

    A contract that failed is a normal answer: the call was right, the work is not done yet.
    """
    # Some clients show the model nothing but the structured content: the text is in it too.
    text = storable(told.text)
    data = {name: storable_json(value) for name, value in told.data.items()}
    return CallToolResult(
        content=[TextContent(type="text", text=text)],
        structured_content={**data, "ok": told.ok, "text": text},
        is_error="error" in told.data,
    )


def failed(message: str, hint: str | None = None) -> CallToolResult:
    """Return an error that the model can read and mend."""
    return answered(refusal(message, hint))


def refusal(message: str, hint: str | None = None) -> Told:
    """Return what is told of a call that was wrong, or could not be done."""
    text = f"{message}\nhint: {hint}" if hint else message
    return Told(ok=False, text=text, data={"error": message, "hint": hint})


# -- where the calls of tools are done: one after the other, in a thread, with signs of life -----


_T = TypeVar("_T")
EVERY = 1.0
"""Seconds between two signs of life."""


class Calls:
    """Does one thing at a time with the loop of this session.

    The loop is opened by the first call, and again after a failure: a plan may be made, or a
    configuration mended, while the server runs.
    """

    def __init__(
        self, open_tools: Callable[[], PlanTools], stages: Stages, *, every: float = EVERY
    ) -> None:
        self._open_loop = open_tools
        self._every = every
        self._loop: PlanTools | None = None
        self._stages = stages
        # One thread, for as long as the server lives: what a contract starts is tied to the life
        # of the thread that started it, and calls that come together are done one by one.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planbound")

    async def tell(
        self, context: Context, doing: str, act: Callable[[PlanTools], Told]
    ) -> CallToolResult:
        """Do something with the loop; return what is told, as an error where it cannot be done."""

        def call() -> CallToolResult:
            try:
                return answered(act(self.loop()))
            except PlanboundError as error:
                return failed(error.message, error.hint)
            except Exception as error:  # noqa: BLE001 - the server outlives a bug of ours
                disk = disk_problem(error)
                if disk is not None:
                    return failed(disk.message, disk.hint)
                traceback.print_exc(file=sys.stderr)
                return failed(f"this is a bug in Planbound: {type(error).__name__}: {error}")

        return await self.run(context, doing, call)

    async def run(self, context: Context, doing: str, act: Callable[[], _T]) -> _T:
        """Run something in the thread, and say every second or so that it goes on."""
        future = asyncio.wrap_future(self._thread.submit(act))
        async with anyio.create_task_group() as group:
            group.start_soon(self._say, context, doing)
            try:
                await asyncio.wait([future])
            finally:
                future.cancel()  # a call that was taken back and not begun is not begun
                group.cancel_scope.cancel()
        return future.result()

    async def _say(self, context: Context[Any, Any], doing: str) -> None:
        gone = (anyio.ClosedResourceError, anyio.BrokenResourceError)
        for count in range(1, sys.maxsize):
            await anyio.sleep(self._every)
            with contextlib.suppress(*gone):  # nobody listens any more
                await context.report_progress(count, None, "; ".join(self._stages.lines()) or doing)

    def loop(self) -> PlanTools:
        """Return the loop; for what runs in the thread."""
        if self._loop is None:
            self._loop = self._open_loop()
        return self._loop

    def begin(self) -> None:
        """See which plans are here before any call comes; nobody waits for it, or is told."""
        self._thread.submit(lambda: self.loop().look_around())

    def close(self) -> None:
        """Wait for what is being done; begin nothing more."""
        self._thread.shutdown(wait=True, cancel_futures=True)


# -- the arguments of the tools: their types, their limits, and what a model reads about them ----


LONGEST = 20_000
"""How many characters a text may have."""
MOST = 200
"""How many steps or postconditions one call may give."""
LARGEST = 400_000
"""How many characters all arguments of one call may have, written as JSON."""

_CHECK = {
    "type": "object",
    "description": "a verifier that needs no shell, such as "
    '{"file_exists": {"path": "a.txt", "contains": "x"}}; others: command(cmd), http_ok(url), '
    "json_path(file, path, equals), git_committed(paths), tests_pass(selector)",
}
_CONTRACT = {
    "type": "string",
    "description": "a shell command that exits with 0 exactly when this is really done",
}
_EXPECT = {
    "type": "array",
    "items": {"type": "string"},
    "description": 'more that must hold, such as `stdout contains "ok"` or `tests >= 3`',
}
_REJECTS = {
    "type": "array",
    "items": {"type": "string"},
    "description": "wrong work that the contract must fail with, tried before the work: unified"
    " diffs, or paths of files with one; never of a test",
}
_STEP: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "the title alone; such a step is claimed, never proved"},
        {
            "type": "object",
            "properties": {
                "title": {"type": "string"},
                "task": {"type": "string", "description": "what is to be done, in full"},
                "contract": _CONTRACT,
                "expect": _EXPECT,
                "rejects": _REJECTS,
                "touches": {
                    "type": "array",
                    "items": {"type": "string"},
                    "description": "patterns of the files that it may change",
                },
                "depends": {
                    "type": "array",
                    "items": {"type": "integer"},
                    "description": "numbers of the steps that come before it",
                },
                "check": _CHECK,
            },
            "required": ["title"],
        },
    ]
}
_CONDITION: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "description": "the statement alone; it is claimed, never proved"},
        {
            "type": "object",
            "properties": {
                "statement": {"type": "string"},
                "contract": _CONTRACT,
                "check": _CHECK,
                "expect": _EXPECT,
                "rejects": _REJECTS,
            },
            "required": ["statement"],
        },
    ]
}

Text = Annotated[str, Field(max_length=LONGEST)]
Name = Annotated[str, Field(max_length=200)]
Which = Annotated[str, Field(max_length=200)] | int
"""A step or postcondition: its id or its number."""
Item = Annotated[str, Field(max_length=LONGEST)] | dict[str, Any]
Step = Annotated[Item, WithJsonSchema(_STEP)]
Condition = Annotated[Item, WithJsonSchema(_CONDITION)]
Steps = Annotated[list[Step], Field(max_length=MOST)]
Conditions = Annotated[list[Condition], Field(max_length=MOST)]
Edits = Annotated[
    dict[str, Item],
    WithJsonSchema({"type": "object", "additionalProperties": _STEP}),
    Field(max_length=MOST),
]


def items(given: Sequence[str | dict[str, Any]]) -> list[str | Mapping[str, object]]:
    """Return what was given; an object that a client wrote as text is an object again."""
    return [item(each) for each in given]


def item(given: str | dict[str, Any]) -> str | Mapping[str, object]:
    """Return one of them."""
    if isinstance(given, str) and given.lstrip().startswith("{"):
        try:
            read = json.loads(given)
        except (ValueError, RecursionError):
            return given
        return read if isinstance(read, dict) else given
    return given


def trouble(*given: object) -> str | None:
    """Return why arguments cannot be taken; None where they can."""
    try:
        written = json.dumps(given, ensure_ascii=False)
        written.encode()
    except UnicodeEncodeError:
        return "an argument holds half of a character (a lone surrogate); write plain Unicode"
    except RecursionError:
        return "an argument is nested too deeply"
    if len(written) > LARGEST:
        return f"the arguments have {len(written):,} characters, at most {LARGEST:,} are taken"
    return None


# -- the plan tools as a model sees them: their docstrings say when to call what -----------------


Answered = Annotated[CallToolResult, Answer]

READS = ToolAnnotations(
    read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
WRITES = ToolAnnotations(
    # Nothing is ever taken away: the journal keeps every revision and every answer.
    read_only_hint=False,
    destructive_hint=False,
    idempotent_hint=False,
    open_world_hint=False,
)
REPEATABLE = WRITES.model_copy(update={"idempotent_hint": True})


class McpTools:
    """The tools of one session; the harness, not the caller, says what is proved."""

    def __init__(self, calls: Calls) -> None:
        self.calls = calls

    async def plan_create(
        self,
        context: Context,
        objective: Annotated[Text, Field(description="what is to be reached, in a sentence")],
        steps: Annotated[Steps, Field(description="the work, in its order")],
        postconditions: Annotated[
            Conditions, Field(description="what must be true at the end, whatever was done")
        ] = [],  # noqa: B006 - the client is told this default; nobody changes it
        name: Annotated[Name | None, Field(description="a short name for the plan")] = None,
        preconditions: Annotated[
            Conditions,
            Field(description="what must be true before the first step; else none may begin"),
        ] = [],  # noqa: B006 - see postconditions
    ) -> Answered:
        """Write down the plan before you begin any task of more than one step.

        Give a step a `contract` (a shell command that fails now and passes when the step is done)
        or a `check` wherever one is possible: only those steps can be proved. Called again this
        rewrites the plan: what is proved and unchanged stays proved, dropped steps stay visible.
        """
        given = (objective, steps, postconditions, name, preconditions)
        start = {"preconditions": items(preconditions)} if preconditions else {}
        return await self._do(
            context,
            "writing the plan",
            given,
            lambda loop: loop.plan_create(
                objective, items(steps), items(postconditions), name, **start
            ),
        )

    async def plan_show(
        self,
        context: Context,
        only: Annotated[
            Literal["open"] | None, Field(description="`open` leaves out what is settled")
        ] = None,
    ) -> Answered:
        """Show the plan: `[ ]` open, `[.]` begun, `[x]` proved, `[=]` holds, `[~]` claimed.

        `[!]` is blocked; what holds is green now and was so before the work.
        Call it at the start of a session, after your context was compacted, and whenever you are
        not sure what is next.
        """
        return await self._do(
            context, "reading the plan", (only,), lambda loop: loop.plan_show(only)
        )

    async def step_update(
        self,
        context: Context,
        *,
        step: Annotated[Which | None, Field(description="the step's id or its number")] = None,
        status: Literal["pending", "in_progress", "done", "blocked"],
        evidence: Annotated[
            Text,
            Field(
                description="for `done`: what you did and what you saw, demanded where the step has"
                " no contract; for `blocked`: why"
            ),
        ] = "",
        notes: Annotated[Text, Field(description="whatever helps later")] = "",
        step_number: Annotated[Which | None, Field(description="the same as `step`")] = None,
    ) -> Answered:
        """Say where a step is: `in_progress` when you begin it, `done` when it is done.

        `done` makes the harness run the step's contract at once, which may take a while; the answer
        says whether it is proved, or holds (it was green before), or what failed with the end of
        the output. Then mend the work and call this again. `blocked` is for what is missing outside
        of the workspace, never for tests that fail; it demands the reason.
        """
        name, more = _called("step", step, step_number)
        return await self._do(
            context,
            f"judging step {name}" if status == "done" else f"noting step {name}",
            (step, status, evidence, notes, step_number),
            lambda loop: loop.step_update(name, status, evidence, notes, **more),
        )

    async def postcondition_verify(
        self,
        context: Context,
        *,
        postcondition: Annotated[Which | None, Field(description="its number")] = None,
        evidence: Annotated[Text, Field(description="how it can be seen that it holds")] = "",
        postcondition_number: Annotated[
            Which | None, Field(description="the same as `postcondition`")
        ] = None,
    ) -> Answered:
        """Have a postcondition judged when the steps are done.

        Where it has a contract the harness runs it; where it has none, evidence is demanded and it
        counts as claimed.
        """
        name, more = _called("postcondition", postcondition, postcondition_number)
        return await self._do(
            context,
            f"judging postcondition {name}",
            (postcondition, evidence, postcondition_number),
            lambda loop: loop.postcondition_verify(name, evidence, **more),
        )

    async def postcondition_block(
        self,
        context: Context,
        *,
        postcondition: Annotated[Which | None, Field(description="its number")] = None,
        reason: Annotated[Text, Field(description="why it cannot be reached")],
        postcondition_number: Annotated[
            Which | None, Field(description="the same as `postcondition`")
        ] = None,
    ) -> Answered:
        """Say that a postcondition cannot be reached, and why.

        The plan then ends as `finished with blocked items`, never as `done`.
        """
        name, more = _called("postcondition", postcondition, postcondition_number)
        return await self._do(
            context,
            f"noting postcondition {name}",
            (postcondition, reason, postcondition_number),
            lambda loop: loop.postcondition_block(name, reason, **more),
        )

    async def plan_amend(
        self,
        context: Context,
        reason: Annotated[Text, Field(description="why the plan has to be another one")],
        add: Annotated[Steps, Field(description="steps that are added at the end")] = [],  # noqa: B006 - see plan_create
        edit: Annotated[
            Edits | None, Field(description="by id or number: the step as it is to be")
        ] = None,
        remove: Annotated[
            list[Name], Field(max_length=200, description="ids or numbers of steps")
        ] = [],  # noqa: B006 - see plan_create
    ) -> Answered:
        """Change some steps of the plan when the work shows that it was wrong.

        What is proved and not changed stays proved; a step that is changed has to be proved anew.
        Removed steps stay visible for ever. Where plans need approval, this one needs it again.
        """
        changed = {which: item(step) for which, step in (edit or {}).items()}
        return await self._do(
            context,
            "amending the plan",
            (reason, add, edit, remove),
            lambda loop: loop.plan_amend(
                add=items(add), edit=changed or None, remove=remove, reason=reason
            ),
        )

    async def plan_finish(
        self,
        context: Context,
        summary: Annotated[
            Text, Field(description="what you would tell the user as your last word")
        ],
    ) -> Answered:
        """Call this before you say that you are done, with your last word as the summary.

        The gate judges what has to be judged. Where it refuses, the answer lists exactly what is
        missing and the calls that settle it: do the work, then call this again. Only after it
        accepted may you tell the user that the task is complete.
        """
        return await self._do(
            context,
            "the gate looks at the plan",
            (summary,),
            lambda loop: loop.plan_finish(summary),
        )

    async def plan_status(self, context: Context) -> Answered:
        """Say in a few lines where the plan is: proved, holds, claimed, blocked, open."""
        return await self._do(context, "reading the plan", (), lambda loop: loop.plan_status())

    async def plan_log(
        self,
        context: Context,
        last: Annotated[int, Field(ge=1, le=200, description="how many events")] = 20,
    ) -> Answered:
        """Show the last events of the plan's journal: what was judged when, and how it went."""
        return await self._do(
            context, "reading the journal", (last,), lambda loop: loop.plan_log(last)
        )

    async def _do(
        self,
        context: Context,
        doing: str,
        given: tuple[object, ...],
        act: Callable[[PlanTools], Told],
    ) -> CallToolResult:
        wrong = trouble(*given)
        return failed(wrong) if wrong else await self.calls.tell(context, doing, act)


def _called(
    kind: str, name: str | int | None, number: str | int | None
) -> tuple[str | int | None, dict[str, Any]]:
    """Return how an item is called; where both names are given, the loop says whether they fit."""
    if name is None:
        return number, {}
    return name, {} if number is None else {f"{kind}_number": number}
