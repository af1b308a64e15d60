"""The languages in which programs talk to a model, and those of OpenAI."""

import itertools
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Protocol

from tests.agents.script import Asked, Reply

Json = dict[str, Any]

_numbers = itertools.count(1)

COMMAND_FIELDS = ("command", "cmd", "script", "input")
SHELL_NAMES = ("exec_command", "shell", "bash", "command")
ERRORS = {
    401: ("invalid_api_key", "UNAUTHENTICATED", "Incorrect API key provided."),
    429: ("rate_limit_exceeded", "RESOURCE_EXHAUSTED", "Rate limit reached, try again later."),
    500: ("server_error", "INTERNAL", "The server had an error while processing your request."),
}


class Tool(NamedTuple):
    """A tool that a request offers."""

    name: str
    schema: Mapping[str, Any]


class Call(NamedTuple):
    """A tool call that a reply makes."""

    name: str
    arguments: Mapping[str, Any]
    id: str


class Dialect(Protocol):
    """Reads a request and words a reply to it."""

    name: str

    def read(self, path: str, headers: Mapping[str, str], body: Json) -> Asked:
        """Return what a request said."""
        ...

    def offered(self, body: Json) -> list[Tool]:
        """Return the tools of a request."""
        ...

    def whole(self, body: Json, reply: Reply, call: Call | None, /) -> Json:
        """Return the reply in one piece."""
        ...

    def pieces(self, body: Json, reply: Reply, call: Call | None, /) -> list[str]:
        """Return the reply as server-sent events."""
        ...

    def error(self, reply: Reply) -> Json:
        """Return the body of an error."""
        ...


def call_of(reply: Reply, tools: Iterable[Tool]) -> Call | None:
    """Return the call that a reply makes with the tools that are offered."""
    number = f"call_{next(_numbers)}"
    if reply.tool is not None:
        return Call(reply.tool, reply.arguments, number)
    if reply.shell is None:
        return None
    tool = shell_of(tools)
    if tool is None:
        return None
    return Call(tool.name, _filled(tool.schema, reply.shell), number)


def shell_of(tools: Iterable[Tool]) -> Tool | None:
    """Return the tool that runs command lines: by its name, then by what it takes."""
    fit = [tool for tool in tools if _command_field(tool.schema) is not None]
    for part in SHELL_NAMES:
        for tool in fit:
            if part in tool.name:
                return tool
    return fit[0] if fit else None


def _command_field(schema: Mapping[str, Any]) -> str | None:
    properties = schema.get("properties") or {}
    return next((name for name in COMMAND_FIELDS if name in properties), None)


def _filled(schema: Mapping[str, Any], command: str) -> Json:
    field = _command_field(schema)
    assert field is not None
    properties = schema["properties"]
    is_list = str(properties[field].get("type")).lower() == "array"
    filled: Json = {field: ["bash", "-lc", command] if is_list else command}
    for name in schema.get("required", ()):
        filled.setdefault(name, _something(properties.get(name, {})))
    return filled


def _something(schema: Mapping[str, Any]) -> Any:
    match str(schema.get("type")).lower():
        case "boolean":
            return False
        case "integer" | "number":
            return 60000
        case "array":
            return []
        case "object":
            return {}
        case _:
            return "run a command"


def event(data: Json, name: str | None = None) -> str:
    """Word one server-sent event."""
    head = f"event: {name}\n" if name else ""
    return f"{head}data: {json.dumps(data)}\n\n"


def thirds(text: str) -> list[str]:
    """Split a text in three, so that a stream can break inside it."""
    size = max(1, -(-len(text) // 3))
    return [text[start : start + size] for start in range(0, len(text), size)]


def texts(content: Any) -> str:
    """Return the plain text of a content, which is a string or a list of parts."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))


class Chat:
    """OpenAI chat completions."""

    name = "chat"

    def read(self, path: str, headers: Mapping[str, str], body: Json) -> Asked:
        said = [(line["role"], texts(line.get("content"))) for line in body.get("messages", [])]
        return Asked(
            self.name,
            path,
            headers,
            body,
            system="\n".join(text for role, text in said if role in {"system", "developer"}),
            users=tuple(text for role, text in said if role == "user"),
            tools=tuple(tool.name for tool in self.offered(body)),
            results=tuple(text for role, text in said if role == "tool"),
        )

    def offered(self, body: Json) -> list[Tool]:
        tools = [tool["function"] for tool in body.get("tools") or () if "function" in tool]
        return [Tool(tool["name"], tool.get("parameters") or {}) for tool in tools]

    def whole(self, body: Json, reply: Reply, call: Call | None, /) -> Json:
        message: Json = {"role": "assistant", "content": reply.text or None}
        if call is not None:
            message["tool_calls"] = [_chat_call(call)]
        return self._head(body, "chat.completion") | {
            "choices": [{"index": 0, "message": message, "finish_reason": _chat_reason(call)}],
            "usage": _chat_usage(reply),
        }

    def pieces(self, body: Json, reply: Reply, call: Call | None, /) -> list[str]:
        head = self._head(body, "chat.completion.chunk")
        deltas: list[Json] = [{"role": "assistant", "content": ""}]
        deltas += [{"content": part} for part in thirds(reply.text)]
        if call is not None:
            deltas.append({"tool_calls": [{"index": 0} | _chat_call(call)]})
        choices: list[list[Json]] = [
            [{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas
        ]
        choices.append([{"index": 0, "delta": {}, "finish_reason": _chat_reason(call)}])
        events = [event(head | {"choices": choice}) for choice in choices]
        if (body.get("stream_options") or {}).get("include_usage"):
            events.append(event(head | {"choices": [], "usage": _chat_usage(reply)}))
        return [*events, "data: [DONE]\n\n"]

    def error(self, reply: Reply) -> Json:
        code, _, usual = ERRORS.get(reply.status, ERRORS[500])
        return {"error": {"message": reply.message or usual, "type": code, "code": code}}

    @staticmethod
    def _head(body: Json, kind: str) -> Json:
        model = body.get("model", "scripted")
        return {"id": f"chat-{next(_numbers)}", "object": kind, "created": 1, "model": model}


def _chat_call(call: Call) -> Json:
    function = {"name": call.name, "arguments": json.dumps(call.arguments)}
    return {"id": call.id, "type": "function", "function": function}


def _chat_reason(call: Call | None) -> str:
    return "stop" if call is None else "tool_calls"


def _chat_usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "prompt_tokens": usage.input,
        "completion_tokens": usage.output,
        "total_tokens": usage.input + usage.output,
        "prompt_tokens_details": {"cached_tokens": usage.cached},
    }


class Responses:
    """OpenAI responses."""

    name = "responses"

    def read(self, path: str, headers: Mapping[str, str], body: Json) -> Asked:
        given = body.get("input") or []
        items = [{"role": "user", "content": given}] if isinstance(given, str) else given
        said = [(item.get("role"), texts(item.get("content"))) for item in items]
        system = [text for role, text in said if role in {"system", "developer"}]
        outputs = [item["output"] for item in items if "output" in item]
        return Asked(
            self.name,
            path,
            headers,
            body,
            system="\n".join([str(body.get("instructions") or ""), *system]),
            users=tuple(text for role, text in said if role == "user"),
            tools=tuple(tool.name for tool in self.offered(body)),
            results=tuple(texts(output) for output in outputs),
        )

    def offered(self, body: Json) -> list[Tool]:
        tools = body.get("tools") or ()
        return [
            Tool(str(tool.get("name") or tool.get("type")), tool.get("parameters") or {})
            for tool in tools
        ]

    def whole(self, body: Json, reply: Reply, call: Call | None, /) -> Json:
        return {
            "id": f"resp_{next(_numbers)}",
            "object": "response",
            "created_at": 1,
            "status": "completed",
            "model": body.get("model", "scripted"),
            "output": self._items(reply, call),
            "usage": _responses_usage(reply),
        }

    def pieces(self, body: Json, reply: Reply, call: Call | None, /) -> list[str]:
        response = self.whole(body, reply, call)
        begun = response | {"status": "in_progress", "output": [], "usage": None}
        events: list[Json] = [{"type": "response.created", "response": begun}]
        for index, item in enumerate(response["output"]):
            place = {"output_index": index, "item_id": item["id"]}
            empty: Json = {"content": []} if item["type"] == "message" else {"arguments": ""}
            started = item | empty | {"status": "in_progress"}
            events.append({"type": "response.output_item.added", "item": started} | place)
            if item["type"] == "message":
                deltas = [
                    {"type": "response.output_text.delta", "content_index": 0, "delta": part}
                    for part in thirds(reply.text)
                ]
            else:
                kind = "response.function_call_arguments.delta"
                deltas = [{"type": kind, "delta": part} for part in thirds(item["arguments"])]
            events += [delta | place for delta in deltas]
            events.append({"type": "response.output_item.done", "item": item} | place)
        events.append({"type": "response.completed", "response": response})
        numbered = [line | {"sequence_number": index} for index, line in enumerate(events)]
        return [event(line, line["type"]) for line in numbered]

    def error(self, reply: Reply) -> Json:
        return Chat().error(reply)

    @staticmethod
    def _items(reply: Reply, call: Call | None) -> list[Json]:
        items: list[Json] = []
        if reply.text or call is None:
            content = [{"type": "output_text", "text": reply.text, "annotations": []}]
            items.append({"type": "message", "role": "assistant", "content": content})
        if call is not None:
            arguments = json.dumps(call.arguments)
            # Tools of an MCP server are in a namespace of their own: `mcp__NAME/TOOL`.
            space, _, name = call.name.rpartition("/")
            function = {"type": "function_call", "name": name, "arguments": arguments}
            named = {"namespace": space} if space else {}
            items.append(function | named | {"call_id": call.id})
        return [item | {"id": f"item_{next(_numbers)}", "status": "completed"} for item in items]


def _responses_usage(reply: Reply) -> Json:
    usage = reply.usage
    return {
        "input_tokens": usage.input,
        "input_tokens_details": {"cached_tokens": usage.cached},
        "output_tokens": usage.output,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.input + usage.output,
    }
