"""`planbound agents`: who is there, and whether they can do anything."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.model_server import ModelServer
from tests.agents.script import Reply
from tests.run.bench import Bench, until

EDITS = """\
#!/bin/bash
prompt=$(cat)
case "$prompt" in
*sleep*) sleep 600 ;;
*)
    word=$(grep -o 'probe-[0-9a-f]*' <<<"$prompt" | head -1)
    test -d .git && echo "$word" > probe.txt ;;
esac
"""


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def _agent(bench: Bench, name: str, script: str) -> Path:
    path = bench.folder / "agents" / name
    path.write_text(script)
    path.chmod(0o755)
    return path


def _program(bench: Bench, name: str) -> None:
    """Put a program of that name on the PATH."""
    folder = bench.folder / "bin"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text("#!/bin/sh\nexit 0\n")
    (folder / name).chmod(0o755)
    bench.extra["PATH"] = f"{folder}:/usr/local/bin:/usr/bin:/bin"


@pytest.mark.requirement("command.agents")
def test_without_configuration_it_says_what_is_installed_and_what_it_would_use(
    bench: Bench,
) -> None:
    _program(bench, "codex")
    done = bench.goes("agents", OPENAI_API_KEY="sk-test-not-real")
    assert f"codex{' ' * 4}" in done.out or "codex  " in done.out
    assert str(bench.folder / "bin" / "codex") in done.out
    assert '[agents.coder]\n    kind = "codex"\n    env = ["OPENAI_API_KEY"]' in done.out
    assert "sk-test" not in done.out
    done = bench.goes("agents")
    assert 'home = "pass"' in done.out
    kinds = {each["name"]: each for each in bench.goes("agents", "--json").json["kinds"]}
    assert kinds["command"]["missing"] is None
    assert kinds["codex"]["program"] == str(bench.folder / "bin" / "codex")
    assert {
        "acp", "aider", "claude", "codex", "command", "gemini", "goose", "mini", "model",
        "opencode", "qwen",
    } <= set(kinds)  # fmt: skip


@pytest.mark.requirement("command.agents")
def test_what_is_wrong_with_a_configured_agent_is_said(bench: Bench) -> None:
    bench.write(
        "planbound.toml",
        '[agents.coder]\ncommand = ["no-such-program"]\nenv = ["THEIR_TOKEN"]\n'
        '[agents.other]\nkind = "nonsense"\n[roles.reviewer]\nagent = "coder"\n',
    )
    done = bench.goes("agents", code=1)
    assert "✗ coder: kind command, roles reviewer" in done.out
    assert "`no-such-program` is not installed" in done.out
    assert "`THEIR_TOKEN` is not set" in done.out
    assert "there is no such kind" in done.out


def test_a_model_without_its_credential_is_said_to_lack_it(bench: Bench) -> None:
    bench.write("planbound.toml", '[agents.a]\nkind = "model"\nmodel = "anthropic:some-model"\n')
    assert "`ANTHROPIC_API_KEY` is not set" in bench.goes("agents", code=1).out
    bench.goes("agents", ANTHROPIC_API_KEY="not-a-real-one")


@pytest.mark.thorough
@pytest.mark.requirement("command.agents")
def test_the_probe_lets_an_agent_start_edit_and_be_stopped(bench: Bench) -> None:
    good = _agent(bench, "good", EDITS)
    idle = _agent(bench, "idle", "#!/bin/sh\necho 'all done'\n")
    bench.write(
        "planbound.toml",
        f'[agents.good]\ncommand = ["{good}"]\n[agents.idle]\ncommand = ["{idle}"]\n'
        '[agents.gone]\ncommand = ["no-such-program"]\n',
    )
    before = sorted(path.name for path in bench.workspace.iterdir())
    done = bench.goes("agents", "--probe", code=1)
    assert "✓ good" in done.out
    assert "nothing of it is left" in done.out
    assert "✗ idle" in done.out
    assert "it ended without an error, and `probe.txt` is not there" in done.out
    assert "`no-such-program` is not installed" in done.out
    bench.ends_all()
    assert sorted(path.name for path in bench.workspace.iterdir()) == before
    until(lambda: not any((bench.folder / "state").rglob("talk-*")))
    only = bench.goes("agents", "--probe", "good", "--json").json["probed"]
    assert [(each["name"], each["fit"]) for each in only] == [("good", True)]


@pytest.mark.thorough
@pytest.mark.requirement("command.agents")
def test_the_probe_finds_a_program_that_stands_in_the_workspace(bench: Bench) -> None:
    (bench.workspace / "tools").mkdir()
    for name in ("own", "tools/script"):
        bench.write(name, EDITS)
        (bench.workspace / name).chmod(0o755)
    bench.write(
        "planbound.toml",
        '[agents.own]\ncommand = ["./own"]\n[agents.script]\ncommand = ["bash", "tools/script"]\n',
    )
    done = bench.goes("agents", "--probe")
    assert "✓ own" in done.out
    assert "✓ script" in done.out
    bench.ends_all()


NEEDS = """\
#!/bin/bash
mkdir -p ~/.config/needy-made ~/.needy.d
cat ~/.config/needy-made/token ~/.needy.json > /dev/null || exit 3
"""


@pytest.mark.thorough
@pytest.mark.requirement("command.agents", "agents.probe-home")
def test_the_probe_finds_out_what_an_agent_needs_of_the_home(bench: Bench) -> None:
    home = bench.folder / "home"
    for name in (".config/needy-made/token", ".needy.json", ".needy.d/other", ".needyrc"):
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("{}\n")
    needy = _agent(bench, "needy", NEEDS + EDITS.partition("\n")[2])
    bench.write("planbound.toml", f'[agents.coder]\ncommand = ["{needy}"]\n')
    done = bench.goes("agents", "--probe", code=1)
    line = 'home = ["~/.config/needy-made", "~/.needy.json"]'
    assert f"hint: write `{line}` in `[agents.coder]`" in done.out
    with (bench.workspace / "planbound.toml").open("a") as file:
        file.write(f"{line}\n")
    assert "✓ coder" in bench.goes("agents", "--probe").out


@pytest.mark.requirement("agents.probe-home")
def test_the_probe_names_the_hosts_that_an_agent_was_refused(bench: Bench) -> None:
    asks = "curl -sf https://models.example.org/ || exit 3\n"
    asker = _agent(bench, "asker", "#!/bin/bash\n" + asks)
    bench.write("planbound.toml", f'[agents.coder]\ncommand = ["{asker}"]\nnetwork = []\n')
    done = bench.goes("agents", "--probe", code=1)
    assert 'write `network = [..., "models.example.org:443"]` in `[agents.coder]`' in done.out


@pytest.mark.thorough
@pytest.mark.requirement("command.agents")
def test_the_probe_finds_out_how_a_server_is_spoken_to(bench: Bench) -> None:
    bench.libraries = "models"
    rules = '[agents.a]\nkind = "model"\nmodel = "scripted"\nbase_url = "{url}/v1"\n'
    with ModelServer([Reply("ok")], without="/chat/completions") as model:
        bench.write("planbound.toml", rules.format(url=model.url))
        done = bench.goes("agents", "--probe", code=1)
    assert "speaks: no: the server speaks responses, not chat completions" in done.out
    assert 'write `options = { api = "responses" }` in `[agents.a]`' in done.out
    with ModelServer([Reply("ok")]) as model:
        bench.write("planbound.toml", rules.format(url=model.url))
        done = bench.goes("agents", "--probe", code=1)
    assert "speaks: chat completions and responses; asked by chat completions" in done.out
    assert "`probe.txt` is not there" in done.out


def test_bad_arguments_are_refused(bench: Bench) -> None:
    assert "nothing to probe" in bench.goes("agents", "--probe", code=2).err
    bench.write("planbound.toml", '[agents.coder]\ncommand = ["true"]\n')
    assert "names go with `--probe`" in bench.goes("agents", "coder", code=2).err
    assert "there is no agent `nobody`" in bench.goes("agents", "--probe", "nobody", code=2).err
