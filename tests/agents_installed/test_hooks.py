"""Real agent programs with our hooks: they lie twice, are refused twice, and then do it.

The model behind them follows a script; `planbound install` sets them up.
"""

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.agents.install import installed
from tests.agents.model_server import ModelServer
from tests.agents.script import Reply
from tests.session.hooks.session import Session

LIES = (Reply("All done!"), Reply("really done, trust me"))
FIX = (Reply(shell="echo right > one.txt"), Reply("Now it is right."))
PROMPT = "Make one.txt right."
SECONDS = 240


class Case(NamedTuple):
    """An agent program, and how it is started; `{url}` is where its model is."""

    host: str
    words: tuple[str, ...]
    environment: Mapping[str, str] = {}
    files: Mapping[str, str] = {}
    """Its own settings in the home; `{workspace}` is where it works."""


CASES = (
    Case(
        "codex",
        (
            *("exec", "--json", "--dangerously-bypass-approvals-and-sandbox"),
            *("--dangerously-bypass-hook-trust", PROMPT),
        ),
        {"LOOP_API_KEY": "dummy"},
        {
            ".codex/config.toml": 'model = "scripted"\nmodel_provider = "loop"\n'
            '[model_providers.loop]\nname = "loop"\nbase_url = "{url}/v1"\n'
            'env_key = "LOOP_API_KEY"\nwire_api = "responses"\n'
            '[projects."{workspace}"]\ntrust_level = "trusted"\n'
        },
    ),
    Case(
        "gemini",
        (
            *("-m", "gemini-2.5-flash", "-p", PROMPT, "--approval-mode", "yolo"),
            *("--skip-trust", "-o", "stream-json"),
        ),
        {
            "GEMINI_API_KEY": "dummy",
            "GOOGLE_GEMINI_BASE_URL": "{url}",
            "GEMINI_CLI_TRUST_WORKSPACE": "true",
        },
        {".gemini/settings.json": '{"security": {"auth": {"selectedType": "gemini-api-key"}}}'},
    ),
    Case(
        "qwen",
        (
            *("--auth-type", "openai", "--openai-api-key", "dummy"),
            *("--openai-base-url", "{url}/v1", "-m", "scripted"),
            *("--approval-mode", "yolo", "-o", "stream-json", PROMPT),
        ),
    ),
)


@pytest.fixture
def session(tmp_path: Path) -> Session:
    session = Session(tmp_path)
    (session.workspace / ".git").rmdir()
    session.write("README.md", "One.\n")
    for command in (
        "git init -q -b main",
        "git add .",
        "git -c user.name=tester -c user.email=tester@example.org commit -q -m start",
    ):
        subprocess.run(command.split(), cwd=session.workspace, check=True)
    return session


def work(session: Session, case: Case, script: Sequence[Reply]) -> tuple[int, str]:
    """Let the program work; return how often its model was asked, and what it printed."""
    program = installed(case.host)
    assert session.run("install", case.host).code == 0
    # Without `touches`: some hosts write into their settings, which are in the project.
    session.create([{"title": "Make one", "contract": "sh check.sh"}])
    with ModelServer(script, key="dummy") as model:

        def filled(text: str) -> str:
            return text.replace("{url}", model.url).replace("{workspace}", str(session.workspace))

        for name, text in case.files.items():
            path = session.home / name
            path.parent.mkdir()
            path.write_text(filled(text), encoding="utf-8")
        extra = {name: filled(value) for name, value in case.environment.items()}
        done = subprocess.run(
            [str(program), *map(filled, case.words)],
            cwd=session.workspace,
            env=session.environment(**extra),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            text=True,
            check=False,
        )
        asked = len([each for each in model.asked if each.tools])
    return asked, done.stdout


@pytest.mark.parametrize("case", CASES, ids=[case.host for case in CASES])
def test_a_false_done_is_refused_twice_by_the_hook_and_accepted_once(
    session: Session, case: Case
) -> None:
    _, printed = work(session, case, (*LIES, *FIX))
    assert len(session.events("FINALIZATION_REJECTED")) == 2, printed
    (accepted,) = session.events("FINALIZATION_ACCEPTED")
    assert accepted["details"]["session"].startswith(f"{case.host}:")
    assert (session.workspace / "one.txt").read_text(encoding="utf-8") == "right\n"


@pytest.mark.parametrize("case", CASES, ids=[case.host for case in CASES])
def test_an_agent_that_never_does_it_ends_incomplete_within_the_bound(
    session: Session, case: Case
) -> None:
    asked, printed = work(session, case, [Reply("All done!")] * 30)
    assert len(session.events("FINALIZATION_REJECTED")) == 5, printed
    assert len(session.events("FINALIZATION_CAPPED")) == 1
    assert asked <= 6
    assert not session.events("FINALIZATION_ACCEPTED")
