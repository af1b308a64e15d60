"""Over HTTP: on loopback, with the token, and for nobody else."""

import json
import os
import re
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from tests.program import Program
from tests.session.mcp.raw import NEWEST, serving

TOKEN = "a-token-of-at-least-twenty-characters"

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@contextmanager
def over_http(program: Program, *arguments: str) -> Iterator[IO[str]]:
    """Start `planbound mcp --http`; give what it says."""
    process = serving(program, "--http", *arguments)
    assert process.stderr is not None
    with process, TextIOWrapper(process.stderr) as said:
        try:
            yield said
        finally:
            process.kill()


@pytest.fixture
def token_file(program: Program) -> Path:
    path = program.write("token", TOKEN + "\n")
    path.chmod(0o600)
    return path


def address(said: IO[str]) -> str:
    found = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+/mcp)\n", said.readline())
    assert found
    return found[1]


def status(url: str, **headers: str) -> int:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(
        url,
        json.dumps(body).encode(),
        {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **names,
        },
    )
    try:
        with urllib.request.urlopen(request, timeout=20) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.requirement("loop.mcp.http")
async def test_only_who_has_the_token_is_served(program: Program, token_file: Path) -> None:
    with over_http(program, "--token-file", str(token_file)) as said:
        url = address(said)
        assert status(url) == 401
        assert status(url, Authorization="Bearer wrong") == 401
        assert status(url, Authorization=f"Basic {TOKEN}") == 401
        assert status(url, Authorization="Bearer ") == 401
        good = f"Bearer {TOKEN}"
        assert status(url, Authorization=good, Host="evil.example") == 421
        assert status(url, Authorization=good, Origin="http://evil.example") == 403
        for mode in ("legacy", NEWEST):
            async with (
                httpx2.AsyncClient(headers={"Authorization": good}) as http,
                Client(streamable_http_client(url, http_client=http), mode=mode) as client,
            ):
                made = await client.call_tool(
                    "plan_create", {"objective": f"Say {mode}", "steps": [f"Say {mode} aloud"]}
                )
                assert not made.is_error
                assert len((await client.list_resources()).resources) == 2


async def test_a_token_is_made_and_shown_where_none_is_given(program: Program) -> None:
    with over_http(program, "--port", "0") as said:
        found = re.fullmatch(r"token: (\S{40,})\n", said.readline())
        assert found
        url = address(said)
        assert status(url) == 401
        assert status(url, Authorization=f"Bearer {found[1]}") != 401


@pytest.mark.thorough
def test_a_token_that_others_can_read_or_guess_is_refused(
    program: Program, token_file: Path
) -> None:
    token_file.chmod(0o644)
    done = program.run("mcp", "--http", "--token-file", str(token_file))
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        f"error: others can read `{token_file}`",
    )
    token_file.chmod(0o600)
    token_file.write_text("short\n")
    done = program.run("mcp", "--http", "--token-file", str(token_file))
    assert done.code == 2
    assert "holds no token" in done.err
    done = program.run("mcp", "--http", "--token-file", str(token_file) + "-not-there")
    assert done.code == 2
    assert "cannot be read" in done.err


def test_options_of_http_are_refused_without_it(program: Program) -> None:
    assert program.run("mcp", "--port", "1").code == 2
    assert program.run("mcp", "--http", "--port", "70000").code == 2


@pytest.mark.thorough
def test_a_missing_extra_is_told_with_its_cure(program: Program) -> None:
    program.write("away/mcp/__init__.py", "raise ModuleNotFoundError(name='mcp')\n")
    path = os.pathsep.join([str(program.workspace / "away"), os.environ.get("PYTHONPATH", "")])
    done = program.run("mcp", PYTHONPATH=path)
    assert done.code == 2
    assert "pip install 'planbound[mcp]'" in done.err


def test_there_is_no_server_inside_a_cell(program: Program) -> None:
    done = program.run("mcp", PLANBOUND_ATTEMPT="1")
    assert done.code == 2
    assert "inside of a cell" in done.err
