"""Asking a person through the client: its form, and what becomes of the answer.

Annotations are not postponed here: the SDK reads them, and one names a function of the moment.
"""

from collections.abc import Awaitable, Callable
from typing import Annotated, NamedTuple, Protocol

from mcp.server.mcpserver import (
    AcceptedElicitation,
    Context,
    Elicit,
    ElicitationResult,
    Resolve,
)
from mcp_types import CallToolResult
from pydantic import BaseModel, Field

from planbound.errors import PlanboundError
from planbound.mcp_server.answer import Answer, answered, refusal
from planbound.mcp_server.calls import Calls
from planbound.usecases.loop.told import Told
from planbound.wiring.elicited import TYPED, Question


class Approvals(Protocol):
    """How a person is asked, and how the yes is recorded."""

    def question(self, slug: str) -> Question | None:
        """Return what to ask; None where a client may not be asked."""

    def approve(self, question: Question, by: str) -> None:
        """Record a person's yes to exactly what they were shown."""


class Consent(BaseModel):
    """What a person fills in."""

    digest: str = Field(description=f"the first {TYPED} characters of the digest, to approve")
    name: str = Field(description="who you are", max_length=100)


class Asked(NamedTuple):
    """What was told about the request, and what a person is asked, where one can be."""

    told: Told
    question: Question | None = None


def request_tool(
    calls: Calls, approvals: Approvals | None
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
                return Asked(told, approvals.question(str(told.data["plan"])))
            except PlanboundError as error:
                return Asked(refusal(error.message, error.hint))

        return await calls.run(context, "asking for approval", asked)

    async def ask(asked: Annotated[Asked, Resolve(look)]) -> Elicit[Consent] | None:
        """Ask where that is possible."""
        return Elicit(asked.question.text, Consent) if asked.question is not None else None

    async def plan_request_approval(
        context: Context,
        asked: Annotated[Asked, Resolve(look)],
        answer: Annotated[ElicitationResult[Consent], Resolve(ask)],
    ) -> Annotated[CallToolResult, Answer]:
        """Ask a person to approve the plan, where the answer of a tool says that it waits for that.

        You cannot approve it yourself. The answer says whether it is approved, or which command the
        person has to run: tell them, and wait.
        """
        told, question = asked
        if question is None or approvals is None:
            return answered(told)
        consent = answer.data if isinstance(answer, AcceptedElicitation) else None
        if consent is None:
            return _not_yet(told, "the person did not approve it here")
        if consent.digest.strip().lower() != question.digest[:TYPED] or not consent.name.strip():
            return _not_yet(told, "what was typed is not the digest, or nobody was named")

        def approve() -> Told:
            try:
                approvals.approve(question, consent.name.strip())
            except PlanboundError as error:
                return refusal(error.message, error.hint)
            text = f"`{question.slug}` is approved by {consent.name.strip()}: go on."
            return Told(ok=True, text=text, data={"approved": True, "plan": question.slug})

        return answered(await calls.run(context, "noting the approval", approve))

    return plan_request_approval


def _not_yet(told: Told, why: str) -> CallToolResult:
    return answered(told._replace(text=f"{why}. {told.text}"))


def _can_ask(context: Context) -> bool:
    """Say whether the client has forms; one that has only addresses cannot ask."""
    capabilities = context.client_capabilities
    forms = capabilities.elicitation if capabilities is not None else None
    return forms is not None and (forms.form is not None or forms.url is None)
