"""Asking a person through the client: its form, and what becomes of the answer.

Annotations are not postponed here: the SDK reads them, and one names a function of the moment.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, NamedTuple

from mcp.server.mcpserver import AcceptedElicitation, Context, Elicit, ElicitationResult, Resolve
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from planbound.approval.approve import TYPED, wrong_digest
from planbound.approval.elicitation import ElicitedApprovals, Form
from planbound.errors import PlanboundError
from planbound.session.answers import Told
from planbound.session.mcp.tools import Answer, Calls, answered, refusal


class Filled(BaseModel):
    """What a person fills in."""

    digest: str = Field(description=f"the first {TYPED} characters of the digest, to approve")
    name: str = Field(description="who you are", max_length=100)


class Asked(NamedTuple):
    """What was told about the request, and what a person is asked, where one can be."""

    told: Told
    form: Form | None = None


def request_tool(
    calls: Calls, approvals: ElicitedApprovals | None
) -> Callable[..., Awaitable[CallToolResult]]:
    """Return the tool `plan_request_approval`."""

    async def look(context: Context) -> Asked:
        """Note the request, and find out whether the client may ask."""

        def asked() -> Asked:
            try:
                told = calls.loop().plan_request_approval()
                waits = told.data.get("approved") is False
                if approvals is None or not waits or not _can_ask(context):
                    return Asked(told)
                return Asked(told, approvals.form(str(told.data["plan"])))
            except PlanboundError as error:
                return Asked(refusal(error.message, error.hint))

        return await calls.run(context, "asking for approval", asked)

    async def ask(asked: Annotated[Asked, Resolve(look)]) -> Elicit[Filled] | None:
        """Ask where that is possible."""
        return Elicit(asked.form.text, Filled) if asked.form is not None else None

    async def plan_request_approval(
        context: Context,
        asked: Annotated[Asked, Resolve(look)],
        answer: Annotated[ElicitationResult[Filled], Resolve(ask)],
    ) -> Annotated[CallToolResult, Answer]:
        """Ask a person to approve the plan, where the answer of a tool says that it waits for that.

        You cannot approve it yourself. The answer says whether it is approved, or which command the
        person has to run: tell them, and wait.
        """
        told, form = asked
        if form is None or approvals is None:
            return answered(told)
        filled = answer.data if isinstance(answer, AcceptedElicitation) else None
        if filled is None:
            return _not_yet(told, "the person did not approve it here")
        if wrong_digest(filled.digest, form.digest) or not filled.name.strip():
            return _not_yet(told, "what was typed is not the digest, or nobody was named")

        def approve() -> Told:
            try:
                approvals.approve(form, filled.name.strip(), filled.digest)
            except PlanboundError as error:
                return refusal(error.message, error.hint)
            text = f"`{form.slug}` is approved by {filled.name.strip()}: go on."
            return Told(ok=True, text=text, data={"approved": True, "plan": form.slug})

        return answered(await calls.run(context, "noting the approval", approve))

    return plan_request_approval


def _not_yet(told: Told, why: str) -> CallToolResult:
    return answered(told._replace(text=f"{why}. {told.text}"))


def _can_ask(context: Context) -> bool:
    """Say whether the client has forms; one that has only addresses cannot ask."""
    capabilities = context.client_capabilities
    forms = capabilities.elicitation if capabilities is not None else None
    return forms is not None and (forms.form is not None or forms.url is None)
