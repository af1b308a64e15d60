"""What the protocol does to a call, with a loop that is made up, in a real process."""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from mcp import Client, MCPError
from mcp_types import TextContent, TextResourceContents

from planbound.cells.cell import Stage
from planbound.cells.stages import Stages
from tests.session.mcp.fake import fake_server
from tests.session.mcp.raw import NEWEST, OLDER, RawClient, made_up, spoken_to
from tests.tables import first_always

TOOLS: dict[str, dict[str, Any]] = {
    "plan_create": {"objective": "o", "steps": ["one", {"title": "two", "contract": "false"}]},
    "plan_show": {"only": "open"},
    "step_update": {"step": 1, "status": "done", "evidence": "right"},
    "postcondition_verify": {"postcondition": "1", "evidence": "seen"},
    "postcondition_block": {"postcondition": 1, "reason": "no network"},
    "plan_amend": {"reason": "r", "add": ["three"], "edit": {"1": "other"}, "remove": ["2"]},
    "plan_request_approval": {},
    "plan_finish": {"summary": "All done!"},
    "plan_status": {},
    "plan_log": {"last": 3},
}
READING = {"plan_show", "plan_status", "plan_log"}
ERAS = ("legacy", NEWEST)

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@asynccontextmanager
async def client(folder: Path, mode: str = "auto") -> AsyncIterator[Client]:
    async with Client(spoken_to(made_up(folder)), mode=mode, read_timeout_seconds=30) as connected:
        yield connected


@asynccontextmanager
async def near(
    folder: Path, mode: str = NEWEST, stages: Stages | None = None
) -> AsyncIterator[Client]:
    """Connect to a server in this process: for what does not depend on the way to it."""
    server = fake_server(folder, stages)
    try:
        async with Client(server, mode=mode) as connected:
            yield connected
    finally:
        server.calls.close()


@pytest.fixture
def raw(tmp_path: Path) -> Iterator[RawClient]:
    with RawClient(made_up(tmp_path)) as server:
        yield server


@pytest.mark.thorough
@pytest.mark.parametrize("mode", first_always(list(ERAS)))
async def test_every_tool_is_there_and_answers_by_its_schema(tmp_path: Path, mode: str) -> None:
    async with client(tmp_path, mode) as connected:
        listed = {tool.name: tool for tool in (await connected.list_tools()).tools}
        assert set(listed) == set(TOOLS)
        for name, arguments in TOOLS.items():
            tool = listed[name]
            assert len(tool.description or "") > 60
            jsonschema.validate(arguments, tool.input_schema)
            result = await connected.call_tool(name, arguments)
            assert not result.is_error, name
            assert tool.output_schema is not None
            jsonschema.validate(result.structured_content, tool.output_schema)
            [content] = result.content
            assert isinstance(content, TextContent)
            assert result.structured_content["text"] == content.text


@pytest.mark.requirement("command.mcp")
async def test_tools_say_what_they_do_and_none_decides_for_people(tmp_path: Path) -> None:
    async with near(tmp_path) as connected:
        tools = (await connected.list_tools()).tools
    for tool in tools:
        assert tool.annotations is not None
        assert tool.annotations.read_only_hint == (tool.name in READING)
        assert tool.annotations.destructive_hint is False
        # Not every client hands a reference on to its model.
        assert "$ref" not in json.dumps(tool.input_schema), tool.name
    names = " ".join(tool.name for tool in tools).replace("plan_request_approval", "")
    for word in ("appro", "waive", "attest", "answer", "release"):
        assert word not in names


async def test_a_contract_that_failed_is_a_normal_answer(tmp_path: Path) -> None:
    async with near(tmp_path) as connected:
        result = await connected.call_tool(
            "step_update", {"step": 1, "status": "done", "evidence": "wrong"}
        )
        assert not result.is_error
        assert result.structured_content == {"ok": False, "proved": False, "text": "exit 1"}
        finish = await connected.call_tool("plan_finish", {"summary": "All done!"})
        assert not finish.is_error
        assert finish.structured_content["ok"] is False


@pytest.mark.thorough
async def test_an_object_that_a_client_wrote_as_text_is_an_object_again(tmp_path: Path) -> None:
    async with near(tmp_path) as connected:
        step = {"title": "two", "contract": "false"}
        result = await connected.call_tool(
            "plan_create", {"objective": "o", "steps": [json.dumps(step), "{three"]}
        )
        assert result.structured_content["steps"] == [step, "{three"]


WRONG: dict[str, tuple[str, dict[str, Any], str]] = {
    "an unknown step": ("step_update", {"step": 99, "status": "done"}, "no step `99`"),
    "a status that is none": ("step_update", {"step": 1, "status": "finished"}, "in_progress"),
    "an argument that is missing": ("step_update", {"step": 1}, "status"),
    "an argument of another type": ("plan_create", {"objective": "o", "steps": 7}, "steps"),
    "a tool that is none": ("plan_approve", {}, "plan_approve"),
    "a text that is too long": ("plan_finish", {"summary": "x" * 30_000}, "20000"),
    "too many steps": ("plan_create", {"objective": "o", "steps": ["s"] * 201}, "200"),
    "too much in all": (
        "plan_create",
        {"objective": "o", "steps": [{"title": "t", "task": "x" * 500_000}]},
        "at most 400,000",
    ),
    "a bug of ours": ("step_update", {"step": "crash", "status": "done"}, "a bug in Planbound"),
}


@pytest.mark.requirement("loop.mcp.errors")
async def test_a_wrong_call_is_a_clear_error_and_the_server_goes_on(tmp_path: Path) -> None:
    async with client(tmp_path) as connected:
        for case, (name, arguments, words) in WRONG.items():
            result = await connected.call_tool(name, arguments)
            assert result.is_error, case
            [content] = result.content
            assert isinstance(content, TextContent)
            assert words in content.text, case
            assert "Traceback" not in content.text
            assert len(content.text) < 2000
            assert not (await connected.call_tool("plan_status", {})).is_error, case


@pytest.mark.thorough
@pytest.mark.requirement("loop.mcp.progress")
@pytest.mark.parametrize("mode", first_always(["legacy", NEWEST]))
async def test_progress_arrives_while_a_step_is_judged(tmp_path: Path, mode: str) -> None:
    told: list[tuple[float, str | None]] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, message))
        if len(told) == 3:
            (tmp_path / "go").touch()

    async with client(tmp_path, mode) as connected:
        result = await connected.call_tool(
            "step_update", {"step": "slow", "status": "done"}, progress_callback=hear
        )
    assert not result.is_error
    assert told[:3] == [(n, "judging step slow") for n in (1, 2, 3)]


@pytest.mark.requirement("loop.mcp.progress")
async def test_progress_says_which_contract_is_judged_as_the_command_line_does(
    tmp_path: Path,
) -> None:
    told: list[str | None] = []

    async def hear(progress: float, total: float | None, message: str | None) -> None:
        del progress, total
        told.append(message)
        (tmp_path / "go").touch()

    stages = Stages()
    stages.notice(Stage(3, 4, "npm test", part="canary red"))
    async with near(tmp_path, stages=stages) as connected:
        given = {"step": "slow", "status": "done"}
        await connected.call_tool("step_update", given, progress_callback=hear)
    assert told[0] is not None
    assert re.fullmatch(r"judging 3/4: npm test, [0-9.]+ s, canary red", told[0])


@pytest.mark.thorough
@pytest.mark.parametrize("mode", first_always(list(ERAS)))
async def test_plans_can_be_read(tmp_path: Path, mode: str) -> None:
    async with client(tmp_path, mode) as connected:
        listed = [str(item.uri) for item in (await connected.list_resources()).resources]
        assert listed == ["plan://one", "journal://one"]
        templates = (await connected.list_resource_templates()).resource_templates
        assert {item.uri_template for item in templates} == {"plan://{name}", "journal://{name}"}
        [content] = (await connected.read_resource("plan://one")).contents
        assert isinstance(content, TextResourceContents)
        assert (content.text, content.mime_type) == ("# One\n", "text/markdown")
        with pytest.raises(MCPError, match="there is no plan `two`"):
            await connected.read_resource("plan://two")
        with pytest.raises(MCPError, match="the main worktree of one is lost"):
            await connected.read_resource("journal://one")


@pytest.mark.parametrize("mode", first_always(list(ERAS)))
async def test_prompts_teach_the_tools(tmp_path: Path, mode: str) -> None:
    async with near(tmp_path, mode) as connected:
        listed = {prompt.name for prompt in (await connected.list_prompts()).prompts}
        assert listed == {"work-the-plan", "write-a-plan"}
        work = await connected.get_prompt("work-the-plan")
        assert "plan_finish" in str(work.messages[0].content)
        write = await connected.get_prompt("write-a-plan", {"goal": "a {brace} and 5 %"})
        assert "a {brace} and 5 %" in str(write.messages[0].content)


@pytest.mark.parametrize("version", first_always(list(OLDER)))
async def test_older_clients_are_served_in_their_version(raw: RawClient, version: str) -> None:
    told = raw.greet(version)
    assert told["protocolVersion"] == version
    assert told["serverInfo"]["name"] == "planbound"
    result = raw.call("step_update", step=1, status="done", evidence="right")
    assert result["content"] == [{"type": "text", "text": "proved"}]
    assert raw.end() == 0


NONSENSE = {
    "no JSON": b"hello",
    "invalid UTF-8": b'{"jsonrpc": "2.0", "id": 7, "method": "\xff\xfe"}',
    "no request": b"[1, 2]",
    "a lone surrogate": b'{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":'
    b'"plan_finish","arguments":{"summary":"\\ud800"}}}',
    "deep nesting": b"[" * 100_000,
}


async def test_the_server_survives_nonsense(raw: RawClient) -> None:
    raw.greet()
    for case, line in NONSENSE.items():
        raw.write(line)
        assert raw.call("plan_status")["content"][0]["text"] == "0 of 1 proved", case
    assert raw.end() == 0


@pytest.mark.thorough
async def test_calls_that_come_together_are_done_one_after_the_other(
    raw: RawClient, tmp_path: Path
) -> None:
    raw.greet()
    slow = {"step": "slow", "status": "done", "evidence": "right"}
    numbers = [raw.send("tools/call", {"name": "step_update", "arguments": slow}) for _ in range(3)]
    (tmp_path / "go").touch()
    for number in numbers:
        result = raw.answer(number)["result"]
        assert result["structuredContent"]["proved"] is True, result


async def test_a_plan_can_be_read_while_a_step_is_judged(raw: RawClient, tmp_path: Path) -> None:
    raw.greet()
    slow = {"step": "slow", "status": "done", "evidence": "right"}
    number = raw.send("tools/call", {"name": "step_update", "arguments": slow})
    read = raw.ask("resources/read", {"uri": "plan://one"})
    assert read["result"]["contents"][0]["text"] == "# One\n"
    assert not any(note.get("id") == number for note in raw.notes)
    (tmp_path / "go").touch()
    assert "result" in raw.answer(number)


@pytest.mark.thorough
async def test_nothing_but_messages_is_written_to_standard_output(raw: RawClient) -> None:
    raw.greet()
    result = raw.call("step_update", step="crash", status="done")
    assert result["isError"] is True
    assert raw.end() == 0
    assert raw.process.stdout is not None
    assert raw.process.stdout.read() == b""
