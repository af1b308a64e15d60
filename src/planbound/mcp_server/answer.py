"""What a tool answers: the text that the model reads, and the same for programs."""

from __future__ import annotations

from mcp_types import CallToolResult, TextContent
from pydantic import BaseModel, ConfigDict, Field

from planbound.usecases.loop.told import Told


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
    return CallToolResult(
        content=[TextContent(type="text", text=told.text)],
        structured_content={**told.data, "ok": told.ok, "text": told.text},
        is_error="error" in told.data,
    )


def failed(message: str, hint: str | None = None) -> CallToolResult:
    """Return an error that the model can read and mend."""
    return answered(refusal(message, hint))


def refusal(message: str, hint: str | None = None) -> Told:
    """Return what is told of a call that was wrong, or could not be done."""
    text = f"{message}\nhint: {hint}" if hint else message
    return Told(ok=False, text=text, data={"error": message, "hint": hint})
