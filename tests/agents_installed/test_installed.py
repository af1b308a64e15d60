"""Real agent programs do a plan of two steps: they lie once, are caught, and then do it.

`make test-agents` installs the programs and runs this; the model behind them follows a script.
"""

import json
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.install import installed
from tests.agents.model_server import ModelServer
from tests.agents.script import Reply, Usage
from tests.run.bench import Bench, Log, Step

KEY = "LOOP_API_KEY"
LIE = "All done!"
FIRST, SECOND, THIRD = Usage(1000, 50, 400), Usage(1200, 30, 1000), Usage(1500, 10, 1200)
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def right(name: str) -> str:
    return f"echo right > src/{name}"


SHELL = (
    Reply(LIE, usage=FIRST),
    Reply(shell=right("one"), usage=SECOND),
    Reply("Now it is really done.", usage=THIRD),
    Reply(shell=right("two"), usage=SECOND),
    Reply("The second one is there.", usage=THIRD),
)
"""An agent that has a tool for the shell."""
SUBMITTING = (
    Reply(LIE, shell=SUBMIT, usage=FIRST),
    Reply(shell=right("one"), usage=SECOND),
    Reply("Now it is really done.", shell=SUBMIT, usage=THIRD),
    Reply(shell=right("two"), usage=SECOND),
    Reply("The second one is there.", shell=SUBMIT, usage=THIRD),
)
"""One that ends by a command."""
WRITING = (
    Reply(LIE, usage=FIRST),
    Reply("src/one\n```\nright\n```\n", usage=SECOND),
    Reply("src/two\n```\nright\n```\n", usage=SECOND),
)
"""One that writes files by what it says."""


class Case(NamedTuple):
    """An agent program, and what is different about it."""

    kind: str
    script: Sequence[Reply] = SHELL
    path: str = "/v1"
    model: str = "scripted"
    resumes: bool = True
    tokens: tuple[int, int, int] = (1050, 1230 + 1510, 1230 + 1510)
    """Of each attempt, in their order."""


CASES = (
    Case("codex"),
    Case("opencode"),
    Case("gemini", path="", model="gemini-2.5-flash"),
    Case("qwen"),
    Case("goose"),
    Case("aider", WRITING, resumes=False, tokens=(1050, 1230, 1230)),
    Case("mini", SUBMITTING, resumes=False),
)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    (bench.workspace / ".git").rmdir()
    for command in (
        "git init -q -b main",
        "git add .",
        "git -c user.name=tester -c user.email=tester@example.org commit -q -m start",
    ):
        subprocess.run(command.split(), cwd=bench.workspace, check=True)
    return bench


@pytest.mark.parametrize("case", CASES, ids=[case.kind for case in CASES])
def test_an_installed_agent_that_lies_is_caught_and_then_does_the_plan(
    bench: Bench, case: Case
) -> None:
    program = installed(case.kind)
    with ModelServer(case.script, key="dummy") as model:
        table = (
            f'kind = "{case.kind}"\ncommand = ["{program}"]\nmodel = "{case.model}"\n'
            f'base_url = "{model.url}{case.path}"\nenv = ["{KEY}"]\n'
        )
        bench.extra[KEY] = "dummy"
        ended = caught_and_mended(bench, table)
    assert [event["tokens"] for event in ended] == list(case.tokens)
    if case.resumes:
        lied, mended, other = (event["session"] for event in ended)
        assert lied == mended
        assert other != lied


class _Everywhere(ModelServer):
    """Listens on every address of 127.0.0.0/8."""

    address = "0.0.0.0"


@pytest.mark.requirement("cell.egress")
@pytest.mark.parametrize("case", CASES, ids=[case.kind for case in CASES])
@pytest.mark.parametrize("address", ["127.0.0.1", "127.0.0.2"])
def test_an_installed_agent_that_reaches_its_model_alone_does_the_plan(
    bench: Bench, case: Case, address: str
) -> None:
    """The first address is excepted from proxies and found in the cell; the other one is not."""
    program = installed(case.kind)
    with _Everywhere(case.script, key="dummy") as model:
        url = model.url.replace("127.0.0.1", address)
        table = (
            f'kind = "{case.kind}"\ncommand = ["{program}"]\nmodel = "{case.model}"\n'
            f'base_url = "{url}{case.path}"\nenv = ["{KEY}"]\nnetwork = []\n'
        )
        bench.extra[KEY] = "dummy"
        ended = caught_and_mended(bench, table)
    place = url.removeprefix("http://")
    for event in ended:
        reached = [line for line in event["network"] if "connection" in line]
        assert [line.partition(": ")[0] for line in reached] == [place]


def caught_and_mended(bench: Bench, table: str, more: str = "") -> Log:
    """Run the plan; return how the attempts ended: the first one was a lie."""
    bench.lay(Step("Make one"), Step("Make two", depends="1"))
    bench.write("planbound.toml", f'[agents.coder]\n{table}timeout = "3m"\n{more}')
    bench.approve()
    bench.goes("run", "PLAN")
    log = bench.log()
    assert [bench.read("src/one"), bench.read("src/two")] == ["right\n", "right\n"]
    ended = log.of("ATTEMPT_ENDED")
    assert [event.number for event in ended] == ["1", "1", "2"]
    judged = [event["verdict"] for event in log.of("CONTRACT_EVALUATED", number="1")]
    assert judged[:2] == ["fail", "pass"]
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "logic"
    assert not log.of("SCOPE_VIOLATED")
    assert log.last.kind == "EXECUTION_COMPLETE"
    return ended


CODEX = {
    "model": "scripted",
    "model_provider": "loop",
    "model_providers": {
        "loop": {
            "name": "loop",
            "base_url": "{url}/v1",
            "env_key": "LOOP_API_KEY",
            "wire_api": "responses",
        }
    },
}
OPENCODE = {
    "model": "loop/scripted",
    "provider": {
        "loop": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "loop",
            "options": {"baseURL": "{url}/v1", "apiKey": "{env:LOOP_API_KEY}"},
            "models": {"scripted": {"name": "scripted", "tool_call": True}},
        }
    },
}


class Speaker(NamedTuple):
    """An agent program that speaks the Agent Client Protocol; `{url}` is where its model is."""

    name: str
    words: tuple[str, ...] = ()
    environment: Mapping[str, str] = {}
    options: str = ""
    resumes: bool | None = True
    """None: it goes on with a session only if it has written it down by then, which varies."""


SPEAKERS = (
    Speaker(
        "opencode",
        ("acp",),
        {
            "OPENCODE_CONFIG_CONTENT": json.dumps(OPENCODE),
            "OPENCODE_DISABLE_MODELS_FETCH": "1",
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
        },
    ),
    Speaker(
        "goose",
        ("acp", "--with-builtin", "developer"),
        {
            "GOOSE_DISABLE_KEYRING": "1",
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "scripted",
            "GOOSE_MODE": "auto",
            "OPENAI_API_KEY": "dummy",
            "OPENAI_HOST": "{url}",
        },
    ),
    Speaker(
        "gemini",
        ("--acp", "-m", "gemini-2.5-flash", "--skip-trust"),
        {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        options='mode = "yolo", authentication = "gemini-api-key"',
        resumes=None,
    ),
    Speaker(
        "qwen",
        ("--acp", "--auth-type", "openai", "-m", "scripted"),
        {"OPENAI_API_KEY": "dummy", "OPENAI_BASE_URL": "{url}/v1"},
        options='mode = "yolo"',
    ),
    Speaker(
        "codex-acp",
        (),
        {"CODEX_PATH": "{codex}", "CODEX_CONFIG": json.dumps(CODEX), "MODEL_PROVIDER": "loop"},
        options='mode = "agent-full-access"',
    ),
)


@pytest.mark.parametrize("case", SPEAKERS, ids=[case.name for case in SPEAKERS])
def test_an_installed_agent_that_speaks_the_protocol_does_the_plan(
    bench: Bench, case: Speaker
) -> None:
    program = installed(case.name)
    codex = str(installed("codex")) if case.name == "codex-acp" else ""
    with ModelServer(SHELL, key="dummy") as model:
        for name, value in case.environment.items():
            bench.extra[name] = value.replace("{url}", model.url).replace("{codex}", codex)
        bench.extra[KEY] = "dummy"
        words = json.dumps([str(program), *case.words])
        names = json.dumps([KEY, *case.environment])
        ended = caught_and_mended(
            bench,
            f'kind = "acp"\ncommand = {words}\nenv = {names}\noptions = {{ {case.options} }}\n',
            # The adapter starts another program, which may lie where a cell has its own folder.
            f'[contracts]\nread = ["{Path(codex).parents[1]}"]\n' if codex else "",
        )
    sessions = [event["session"] for event in ended]
    assert case.resumes in {None, sessions[0] == sessions[1]}
