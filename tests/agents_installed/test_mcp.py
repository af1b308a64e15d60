"""Real agent programs work with the plan tools over MCP: they lie twice, and are sent back.

`make test-agents` installs the programs and runs this; the model behind them follows a script.
"""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.agents.install import installed
from tests.agents.model_server import ModelServer
from tests.agents.script import Asked, Reply
from tests.program import Program

SERVER = [sys.executable, "-m", "planbound", "mcp"]
SEEN = "wrote the file and read it again with cat"
PLAN = {
    "objective": "Say it twice",
    "steps": [
        {"title": "Write one", "contract": "grep -qx right one.txt"},
        {"title": "Write two", "check": {"file_exists": {"path": "two.txt", "contains": "right"}}},
    ],
    "postconditions": [{"statement": "Both say the same", "contract": "cmp one.txt two.txt"}],
}


class Setting(NamedTuple):
    """How an agent program is started."""

    words: Sequence[str]
    environment: Mapping[str, str]


def codex(home: Path, url: str) -> Setting:
    text = f"""\
model = "scripted"
model_provider = "loop"
[model_providers.loop]
name = "loop"
base_url = "{url}/v1"
env_key = "LOOP_API_KEY"
wire_api = "responses"
[mcp_servers.planbound]
command = {json.dumps(SERVER[0])}
args = {json.dumps(SERVER[1:])}
required = true
tool_timeout_sec = 900
env_vars = ["PLANBOUND_STATE"]
"""
    (home / "config.toml").write_text(text, encoding="utf-8")
    return Setting(
        ("exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "Say it twice."),
        {"CODEX_HOME": str(home), "LOOP_API_KEY": "dummy"},
    )


def opencode(_home: Path, url: str) -> Setting:
    options = {"baseURL": f"{url}/v1", "apiKey": "dummy"}
    models = {"scripted": {"name": "scripted", "tool_call": True}}
    loop = {"npm": "@ai-sdk/openai-compatible", "name": "loop", "options": options}
    content = {
        "model": "loop/scripted",
        "provider": {"loop": loop | {"models": models}},
        "mcp": {"planbound": {"type": "local", "command": SERVER, "enabled": True}},
    }
    return Setting(
        ("run", "--format", "json", "--auto", "Say it twice."),
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(content),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        },
    )


def gemini(home: Path, url: str) -> Setting:
    server = {"command": SERVER[0], "args": SERVER[1:], "trust": True}
    settings = {
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "mcpServers": {"planbound": server},
    }
    (home / ".gemini").mkdir()
    (home / ".gemini/settings.json").write_text(json.dumps(settings), encoding="utf-8")
    return Setting(
        (
            *("-m", "gemini-2.5-flash", "-p", "Say it twice.", "--approval-mode", "yolo"),
            *("--skip-trust", "-o", "stream-json"),
        ),
        {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": url,
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
    )


def goose(_home: Path, url: str) -> Setting:
    return Setting(
        (
            *("run", "--no-session", "--with-builtin", "developer"),
            *("--with-extension", " ".join(SERVER)),
            *("-q", "--output-format", "stream-json", "-t", "Say it twice."),
        ),
        {
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "scripted",
            "GOOSE_MODE": "auto",
            "OPENAI_API_KEY": "dummy",
            "OPENAI_HOST": url,
        },
    )


class Case(NamedTuple):
    """An agent program, and how its model has to call the tools of the server."""

    setting: Callable[[Path, str], Setting]
    tool: str

    @property
    def name(self) -> str:
        return self.setting.__name__


CASES = (
    Case(codex, "mcp__planbound/{}"),
    Case(opencode, "planbound_{}"),
    Case(gemini, "mcp_planbound_{}"),
    Case(goose, "python__{}"),
)


def script(case: Case) -> list[Reply]:
    def call(tool: str, **arguments: Any) -> Reply:
        return Reply(tool=case.tool.format(tool), arguments=arguments)

    return [
        call("plan_create", **PLAN),
        call("plan_finish", summary="All done!"),
        call("step_update", step=1, status="done", evidence=SEEN),
        call("plan_finish", summary="really done, trust me"),
        Reply(shell="echo right > one.txt; echo right > two.txt"),
        call("step_update", step=1, status="done", evidence=SEEN),
        call("step_update", step=2, status="done", evidence=SEEN),
        call("postcondition_verify", postcondition=1),
        call("plan_finish", summary="Both files say right."),
        Reply("Both files say right."),
    ]


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_an_installed_agent_is_refused_twice_and_then_accepted(
    program: Program, tmp_path_factory: pytest.TempPathFactory, case: Case
) -> None:
    path = installed(case.name)
    home = tmp_path_factory.mktemp("home")
    (program.workspace / ".git").rmdir()
    subprocess.run(["git", "init", "-q"], cwd=program.workspace, check=True)
    program.write(".gitignore", ".home/\n")
    with ModelServer(script(case)) as model:
        setting = case.setting(home, model.url)
        done = subprocess.run(
            [str(path), *setting.words],
            cwd=program.workspace,
            env=program.environment() | {"HOME": str(home), **setting.environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=180,
            check=False,
        )
        told = results(model.asked)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "is not proved" in told
    assert "Accepted: done" in told, told[-3000:]
    # Not every program hands variables on to its servers, but they all have a home.
    log = program.run("log", "--json", XDG_STATE_HOME=str(home / ".local/state")).out
    kinds = [json.loads(line)["event"] for line in log.splitlines()]
    finals = [kind for kind in kinds if kind.startswith("FINALIZATION")]
    assert finals == ["FINALIZATION_REJECTED"] * 2 + ["FINALIZATION_ACCEPTED"]


def results(asked: Sequence[Asked]) -> str:
    """Return what the tools told the model, all in all."""
    return "\n".join(asked[-1].results)
