"""How programs talk to a model of Google."""

import json
from collections.abc import Mapping

from tests.agents.dialects import ERRORS, Call, Json, Tool, event, texts, thirds
from tests.agents.script import Asked, Reply


class Gemini:
    """Gemini's generateContent."""

    name = "gemini"

    def read(self, path: str, headers: Mapping[str, str], body: Json) -> Asked:
        system = body.get("systemInstruction") or {}
        contents = body.get("contents") or []
        parts = [(line.get("role"), part) for line in contents for part in line["parts"]]
        users = [texts(line["parts"]) for line in contents if line.get("role") != "model"]
        results = [part["functionResponse"] for _, part in parts if "functionResponse" in part]
        return Asked(
            self.name,
            path,
            headers,
            body,
            system=texts(system.get("parts", [])),
            users=tuple(text for text in users if text.strip()),
            tools=tuple(tool.name for tool in self.offered(body)),
            results=tuple(json.dumps(result.get("response")) for result in results),
        )

    def offered(self, body: Json) -> list[Tool]:
        declared = [
            declaration
            for tool in body.get("tools") or ()
            for declaration in tool.get("functionDeclarations", ())
        ]
        return [
            Tool(tool["name"], tool.get("parametersJsonSchema") or tool.get("parameters") or {})
            for tool in declared
        ]

    def whole(self, _body: Json, reply: Reply, call: Call | None, /) -> Json:
        return self._chunk(self._parts(reply, call), reply, last=True)

    def pieces(self, _body: Json, reply: Reply, call: Call | None, /) -> list[str]:
        chunks = [self._chunk([{"text": part}], reply, last=False) for part in thirds(reply.text)]
        rest = self._parts(reply._replace(text=""), call) or [{"text": ""}]
        return [event(chunk) for chunk in (*chunks, self._chunk(rest, reply, last=True))]

    def error(self, reply: Reply) -> Json:
        _, status, usual = ERRORS.get(reply.status, ERRORS[500])
        message = reply.message or usual
        return {"error": {"code": reply.status, "message": message, "status": status}}

    @staticmethod
    def _parts(reply: Reply, call: Call | None) -> list[Json]:
        parts: list[Json] = [{"text": reply.text}] if reply.text else []
        if call is not None:
            arguments = dict(call.arguments)
            parts.append({"functionCall": {"id": call.id, "name": call.name, "args": arguments}})
        return parts

    @staticmethod
    def _chunk(parts: list[Json], reply: Reply, *, last: bool) -> Json:
        candidate: Json = {"content": {"role": "model", "parts": parts}, "index": 0}
        usage = reply.usage
        return {
            "candidates": [candidate | {"finishReason": "STOP"} if last else candidate],
            "usageMetadata": {
                "promptTokenCount": usage.input,
                "candidatesTokenCount": usage.output,
                "cachedContentTokenCount": usage.cached,
                "totalTokenCount": usage.input + usage.output,
            },
            "modelVersion": "scripted",
        }
