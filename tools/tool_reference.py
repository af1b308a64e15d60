"""The page of the plan tools, from what the server tells its clients about them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import anyio
from mcp_types import Tool

from planbound.session.mcp import server as documents
from planbound.session.mcp.server import Documents, PlanServer
from planbound.session.mcp.tools import LARGEST, LONGEST, MOST
from planbound.session.tools import PlanTools
from planbound.workspace.context import Context

INTRODUCTION = f"""\
# Plan tools

Look up here the tools that `planbound mcp` offers to an agent.
[Use the plan tools over MCP](../how-to/mcp.md) says how to set it up.

Every answer has `ok` and `text` in its structured content, and the text as its content.
`ok` is false where something is refused or not proved, and the text says why and what to do.
A call that cannot be done (an unknown step, no evidence, a plan that waits for approval) is an \
error with `error` and `hint`.
A contract that failed is not an error: `proved` is false, and the text has the end of its output.

A text has at most {LONGEST:,} characters, a list at most {MOST} items, all arguments of a call at \
most {LARGEST:,} characters.

No tool approves, waives, attests, answers a question or releases a session: people do that.

| tool | reads only | may be repeated |
| --- | --- | --- |"""

DOCUMENTS = f"""\
## Resources and prompts

| resource | is |
| --- | --- |
| `plan://NAME` | the text of a plan, at most {documents.LARGEST:,} bytes of it |
| `journal://NAME` | the last {documents.EVENTS} events of a plan, as `planbound log --json` |

| prompt | does |
| --- | --- |
| `work-the-plan` | tells the agent to go on until the gate accepts |
| `write-a-plan` | tells the agent to write a plan for `goal`, and no more |"""


def tools_page() -> Iterator[str]:
    """Yield the lines of the page."""
    server = PlanServer(_no_loop, Documents(Context))
    tools = anyio.run(server.list_tools)
    server.calls.close()
    yield from INTRODUCTION.splitlines()
    for tool in tools:
        assert tool.annotations is not None
        reads, repeats = tool.annotations.read_only_hint, tool.annotations.idempotent_hint
        row = (f"[`{tool.name}`](#{tool.name})", _yes(reads), _yes(repeats))
        yield f"| {' | '.join(row)} |"
    for tool in tools:
        yield ""
        yield from _tool(tool)
    yield ""
    yield from DOCUMENTS.splitlines()


def _no_loop() -> PlanTools:
    raise AssertionError("nothing is called here")


def _yes(hint: bool | None) -> str:  # noqa: FBT001 - a hint of the protocol
    return "yes" if hint else ""


def _tool(tool: Tool) -> Iterator[str]:
    yield f"## {tool.name}"
    yield ""
    # A line of a docstring is cut where the editor ends, a line of a page with a sentence.
    for paragraph in (tool.description or "").split("\n\n"):
        yield paragraph.replace("\n", " ")
        yield ""
    properties = tool.input_schema.get("properties", {})
    if not properties:
        yield "It has no arguments."
        return
    yield "| argument | type | needed | is |"
    yield "| --- | --- | --- | --- |"
    for name, schema in properties.items():
        needed = _yes(name in tool.input_schema.get("required", ()))
        cells = (f"`{name}`", _type(schema), needed, schema.get("description", ""))
        yield f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"
    for name, schema in properties.items():
        yield from _items(name, schema)


def _items(name: str, schema: Mapping[str, Any]) -> Iterator[str]:
    """Yield what an item of a list may be, where it may be an object."""
    for option in schema.get("items", {}).get("anyOf", ()):
        if option.get("type") != "object":
            continue
        yield ""
        yield f"Instead of a text, an item of `{name}` may be an object:"
        yield ""
        yield "| key | type | is |"
        yield "| --- | --- | --- |"
        for key, inner in option["properties"].items():
            yield f"| `{key}` | {_type(inner)} | {inner.get('description', '')} |"


def _type(schema: Mapping[str, Any]) -> str:
    if "enum" in schema:
        return " or ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    if "anyOf" in schema:
        found = [_type(each) for each in schema["anyOf"] if each.get("type") != "null"]
        return " or ".join(found)
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    names = {"string": "text", "integer": "number", "object": "object"}
    return names[schema["type"]]
