import http.client
import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import pytest

from tests.agents import install
from tests.agents.model_server import ModelServer
from tests.agents.script import Reply, Script, Usage
from tests.needs import need

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
GEMINI = "/v1beta/models/gemini-2.5-flash"
SHELLS: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
    ("bash", {"command": {"type": "string"}}, {"command": "make"}),
    ("exec_command", {"cmd": {"type": "string"}}, {"cmd": "make"}),
    ("shell", {"command": {"type": "array"}}, {"command": ["bash", "-lc", "make"]}),
    ("developer__shell", {"command": {"type": "string"}}, {"command": "make"}),
]


class Answer(NamedTuple):
    status: int
    retry_after: str | None
    text: str


def ask(url: str, body: Mapping[str, Any], **headers: str) -> Answer:
    where = urlsplit(url)
    with closing(http.client.HTTPConnection(where.netloc, timeout=10)) as connection:
        target = where.path + (f"?{where.query}" if where.query else "")
        connection.request("POST", target, json.dumps(body), headers)
        with connection.getresponse() as answer:
            text = answer.read().decode()
            return Answer(answer.status, answer.headers["Retry-After"], text)


def post(url: str, body: Mapping[str, Any], **headers: str) -> str:
    answer = ask(url, body, **headers)
    assert answer.status == 200
    return answer.text


def chat(prompt: str, **more: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": prompt}], **more}


def said(model: ModelServer, prompt: str) -> str:
    answer = json.loads(post(model.url + CHAT, chat(prompt)))
    return str(answer["choices"][0]["message"]["content"])


def events(stream: str) -> list[Any]:
    lines = [line.removeprefix("data: ") for line in stream.splitlines() if line[:6] == "data: "]
    return [json.loads(line) for line in lines if line != "[DONE]"]


def function(name: str, properties: Mapping[str, Any]) -> dict[str, Any]:
    return {"name": name, "parameters": {"type": "object", "properties": properties}}


def test_replies_come_in_order_and_the_last_one_stays() -> None:
    with ModelServer([Reply("one"), Reply("two")]) as model:
        assert [said(model, "x") for _ in range(3)] == ["one", "two", "two"]


def test_every_conversation_has_the_script_for_itself() -> None:
    script = Script([Reply("one"), Reply("two")], per_conversation=True)
    with ModelServer(script) as model:
        assert [said(model, "a"), said(model, "b"), said(model, "a")] == ["one", "one", "two"]


def test_a_reply_with_a_when_goes_before_the_others() -> None:
    replies = [Reply("else"), Reply("first", when="red"), Reply("second", when="red")]
    with ModelServer(replies) as model:
        told = [said(model, prompt) for prompt in ("it is red", "no", "red again", "red")]
    assert told == ["first", "else", "second", "second"]


def test_a_question_about_the_title_uses_up_nothing() -> None:
    with ModelServer([Reply("the work"), Reply("more")]) as model:
        system = {"role": "system", "content": "You are a title generator."}
        asked = {"role": "user", "content": "x"}
        title = post(model.url + CHAT, {"messages": [system, asked]})
        assert "the work" not in title
        assert said(model, "x") == "the work"


@pytest.mark.parametrize(("name", "properties", "arguments"), SHELLS)
def test_a_shell_reply_calls_the_shell_that_is_offered(
    name: str, properties: Mapping[str, Any], arguments: Mapping[str, Any]
) -> None:
    reader = function("read_file", {"path": {"type": "string"}})
    tools = [
        {"type": "function", "function": tool} for tool in (reader, function(name, properties))
    ]
    with ModelServer([Reply(shell="make")]) as model:
        answer = json.loads(post(model.url + CHAT, chat("x", tools=tools)))
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert call["function"]["name"] == name
    assert json.loads(call["function"]["arguments"]) == arguments
    assert answer["choices"][0]["finish_reason"] == "tool_calls"


def test_a_shell_reply_without_a_shell_is_refused_and_not_swallowed() -> None:
    with ModelServer([Reply(shell="make")]) as model:
        answer = ask(model.url + CHAT, chat("x"))
    assert answer.status == 400
    assert "no tool of this request runs a shell command" in answer.text


def test_chat_streams_text_and_usage() -> None:
    with ModelServer([Reply("All done!", usage=Usage(10, 2, 4))]) as model:
        body = chat("x", stream=True, stream_options={"include_usage": True})
        chunks = events(post(model.url + CHAT, body))
    deltas = [choice["delta"].get("content", "") for chunk in chunks for choice in chunk["choices"]]
    assert "".join(deltas) == "All done!"
    assert len([delta for delta in deltas if delta]) == 3
    assert chunks[-1]["usage"]["prompt_tokens"] == 10
    assert chunks[-1]["usage"]["prompt_tokens_details"] == {"cached_tokens": 4}


def test_responses_stream_a_tool_call_between_created_and_completed() -> None:
    tool = {"type": "function", **function("exec_command", {"cmd": {"type": "string"}})}
    with ModelServer([Reply("I run it.", shell="make")]) as model:
        body = {"input": "x", "stream": True, "tools": [tool]}
        lines = events(post(model.url + RESPONSES, body))
    kinds = [line["type"] for line in lines]
    assert (kinds[0], kinds[-1]) == ("response.created", "response.completed")
    done = [line["item"] for line in lines if line["type"] == "response.output_item.done"]
    assert [item["type"] for item in done] == ["message", "function_call"]
    assert json.loads(done[1]["arguments"]) == {"cmd": "make"}
    assert lines[-1]["response"]["output"] == done


@pytest.mark.parametrize("verb", ["generateContent", "streamGenerateContent?alt=sse"])
def test_gemini_calls_the_shell_that_is_declared(verb: str) -> None:
    declared = function("run_shell_command", {"command": {"type": "STRING"}})
    body = {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [{"role": "user", "parts": [{"text": "x"}]}],
        "tools": [{"functionDeclarations": [declared]}],
    }
    with ModelServer([Reply(shell="make", usage=Usage(7, 1))]) as model:
        answer = post(f"{model.url}{GEMINI}:{verb}", body)
        (asked,) = model.asked
    chunk = events(answer)[-1] if "alt=sse" in verb else json.loads(answer)
    (candidate,) = chunk["candidates"]
    assert candidate["content"]["parts"][0]["functionCall"]["args"] == {"command": "make"}
    assert chunk["usageMetadata"]["promptTokenCount"] == 7
    assert (asked.system, asked.last_user, asked.tools) == ("be brief", "x", ("run_shell_command",))


@pytest.mark.parametrize("path", [CHAT, RESPONSES, f"{GEMINI}:generateContent"])
def test_an_error_has_its_status_its_words_and_when_to_come_back(path: str) -> None:
    reply = Reply(status=429, retry_after=7, message="not so fast")
    with ModelServer([reply]) as model:
        answer = ask(model.url + path, chat("x"))
    assert (answer.status, answer.retry_after) == (429, "7")
    assert json.loads(answer.text)["error"]["message"] == "not so fast"


@pytest.mark.parametrize("stream", [True, False])
def test_a_cut_reply_breaks_off_where_the_client_notices(*, stream: bool) -> None:
    reply = Reply("A long sentence.", cut=True)
    with ModelServer([reply]) as model, pytest.raises(http.client.IncompleteRead) as raised:
        post(model.url + CHAT, chat("x", stream=stream))
    assert raised.value.partial
    assert b"sentence." not in raised.value.partial


def test_a_request_without_the_key_is_refused() -> None:
    with ModelServer([Reply("hello")], key="secret") as model:
        assert ask(model.url + CHAT, chat("x")).status == 401
        assert "hello" in post(model.url + CHAT, chat("x"), Authorization="Bearer secret")
        assert "hello" in post(model.url + CHAT, chat("x"), **{"x-goog-api-key": "secret"})


def test_all_that_the_model_was_told_is_kept() -> None:
    result = {"role": "tool", "tool_call_id": "1", "content": "exit code 1"}
    messages = [{"role": "system", "content": "be brief"}, *chat("fix it")["messages"], result]
    with ModelServer([Reply("ok")]) as model:
        post(model.url + CHAT, {"messages": messages})
        (asked,) = model.wait_for(1)
    assert (asked.system, asked.users, asked.results) == ("be brief", ("fix it",), ("exit code 1",))
    assert "exit code 1" in asked.everything


def test_the_server_is_a_program_too(tmp_path: Path) -> None:
    script = tmp_path / "script.json"
    script.write_text('["one", {"text": "two", "usage": {"input": 5}}]', encoding="utf-8")
    record = tmp_path / "asked.jsonl"
    command = [sys.executable, "-m", "tests.agents.model_server", str(script)]
    with subprocess.Popen(
        [*command, "--record", str(record)], cwd=install.ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            answers = [json.loads(post(url + CHAT, chat("x"))) for _ in range(2)]
        finally:
            process.terminate()
    assert [answer["choices"][0]["message"]["content"] for answer in answers] == ["one", "two"]
    assert answers[1]["usage"]["prompt_tokens"] == 5
    assert [json.loads(line)["users"] for line in record.read_text().splitlines()] == [["x"]] * 2


@pytest.mark.thorough
def test_an_agent_program_that_cannot_be_installed_is_told_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    need("npm", "it is what cannot install the program")
    broken = install.Npm((f"file:{tmp_path}/there-is-no-such-package",), "bin/nobody")
    monkeypatch.setenv("PLANBOUND_TEST_AGENTS", str(tmp_path / "cache"))
    monkeypatch.setitem(install.PROGRAMS, "nobody", broken)
    assert install.main(["nobody"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("FAILED `nobody` cannot be installed")
    assert "there-is-no-such-package" in printed
