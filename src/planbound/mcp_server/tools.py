"""The plan tools as a model sees them: their docstrings say when to call what."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

from mcp.server.mcpserver import Context
from mcp_types import CallToolResult, ToolAnnotations
from pydantic import Field

from planbound.mcp_server.answer import Answer, failed
from planbound.mcp_server.arguments import (
    Conditions,
    Edits,
    Name,
    Steps,
    Text,
    Which,
    item,
    items,
    trouble,
)
from planbound.mcp_server.calls import Calls
from planbound.usecases.loop.loop import Loop
from planbound.usecases.loop.told import Told

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


class PlanTools:
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
        act: Callable[[Loop], Told],
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
