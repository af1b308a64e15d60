"""`planbound install`, as a process, on settings that people have."""

import json
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.program import Outcome
from tests.session.hooks.session import Session

HOSTS = ("claude", "codex", "gemini", "qwen", "opencode", "goose")
GATED = ("claude", "codex", "gemini", "qwen")
SETTINGS = {
    "claude": ".claude/settings.json",
    "codex": ".codex/hooks.json",
    "gemini": ".gemini/settings.json",
    "qwen": ".qwen/settings.json",
    "opencode": "opencode.json",
    "goose": ".config/goose/config.yaml",
}
OTHER = '[{"hooks": [{"type": "command", "command": "other-tool check"}]}]'
THEIRS = {
    ".claude/settings.json": f'{{"model":"x",\n "hooks": {{"Stop": {OTHER}}}}}',
    ".mcp.json": '{\r\n\t"mcpServers": {\r\n\t\t"mine": {"command": "m"}\r\n\t}\r\n}\r\n',
    ".codex/hooks.json": f'{{"hooks": {{"PreToolUse": {OTHER}}}}}',
    ".codex/config.toml": '# mine\nmodel = "m" # why\n\n[mcp_servers.mine]\ncommand = "m"',
    ".gemini/settings.json": '{\n    "ui": {"thème": "é"},\n    "hooks": {}\n}',
    ".qwen/settings.json": "{}",
    "opencode.json": '{\n  "$schema": "https://example.org/x.json",\n  "mcp": {}\n}\n',
    ".config/goose/config.yaml": "# mine\nextensions:\n    memory:\n        enabled: true\nX: 1\n",
    ".agents/skills/other/SKILL.md": "---\nname: other\n---\n",
}


def everything(folder: Path) -> dict[str, bytes | None]:
    """Return all that lies below a folder, apart from the state home."""
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
        if ".local" not in path.parts
    }


def base_of(session: Session, host: str) -> Path:
    return session.home if host == "goose" else session.workspace


def lay(session: Session, host: str) -> None:
    for name, text in THEIRS.items():
        path = base_of(session, host) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def done(outcome: Outcome) -> Outcome:
    assert outcome.code == 0, outcome
    return outcome


def commands(settings: Any) -> list[str]:
    return [
        handler["command"]
        for groups in settings["hooks"].values()
        for group in groups
        for handler in group["hooks"]
    ]


@pytest.mark.requirement("command.install")
@pytest.mark.parametrize("laid", [True, False])
@pytest.mark.parametrize("host", HOSTS)
def test_what_was_there_comes_back_byte_for_byte(
    session: Session, host: str, *, laid: bool
) -> None:
    base = base_of(session, host)
    if laid:
        lay(session, host)
    before = everything(base)
    shown = done(session.run("install", host)).out
    assert "+++ b/" in shown or "+++ " in shown
    installed = everything(base)
    assert installed != before
    again = session.run("install", host)
    assert again.code == 3
    assert everything(base) == installed
    done(session.run("install", host, "--uninstall"))
    assert everything(base) == before
    assert session.run("install", host, "--uninstall").code == 3


@pytest.mark.parametrize("host", GATED)
def test_hooks_are_merged_beside_those_of_others(session: Session, host: str) -> None:
    lay(session, host)
    done(session.run("install", host))
    settings = json.loads((session.workspace / SETTINGS[host]).read_text(encoding="utf-8"))
    found = commands(settings)
    moments = ["session-start", "user-prompt-submit", "pre-tool-use", "stop"]
    for moment in moments + ([] if host == "gemini" else ["subagent-stop"]):
        ours = [each for each in found if f"planbound hook {moment} --host {host}" in each]
        assert len(ours) == 1
    if "other-tool" in THEIRS[SETTINGS[host]]:
        assert "other-tool check" in found
    gate = settings["hooks"]["AfterAgent" if host == "gemini" else "Stop"][-1]["hooks"][0]
    assert gate["timeout"] == (1_800_000 if host in {"gemini", "qwen"} else 1800)


@pytest.mark.thorough
def test_every_host_gets_the_server_and_keeps_its_own(session: Session) -> None:
    lay(session, "claude")
    lay(session, "goose")
    for host in HOSTS:
        done(session.run("install", host))
    read = {
        name: (session.workspace / name).read_text(encoding="utf-8")
        for name in THEIRS
        if not name.startswith(".config")
    }
    claude = json.loads(read[".mcp.json"])["mcpServers"]
    assert set(claude) == {"mine", "planbound"}
    codex = tomllib.loads(read[".codex/config.toml"])
    assert codex["mcp_servers"]["planbound"]["required"] is True
    assert codex["mcp_servers"]["mine"] == {"command": "m"}
    assert read[".codex/config.toml"].startswith('# mine\nmodel = "m" # why\n')
    assert "planbound" in json.loads(read[".gemini/settings.json"])["mcpServers"]
    assert "thème" in read[".gemini/settings.json"]
    assert json.loads(read["opencode.json"])["mcp"]["planbound"]["type"] == "local"
    goose = yaml.safe_load((session.home / SETTINGS["goose"]).read_text(encoding="utf-8"))
    assert goose["extensions"]["memory"] == {"enabled": True}
    assert goose["extensions"]["planbound"]["args"][-1] == "mcp"
    assert goose["X"] == 1


@pytest.mark.thorough
def test_a_skill_that_two_hosts_share_stays_until_both_are_taken_away(session: Session) -> None:
    skill = session.workspace / ".agents/skills/planbound/SKILL.md"
    for host in ("codex", "gemini"):
        done(session.run("install", host))
    assert skill.read_text(encoding="utf-8").startswith("---\nname: planbound\n")
    done(session.run("install", "codex", "--uninstall"))
    assert skill.exists()
    done(session.run("install", "gemini", "--uninstall"))
    assert everything(session.workspace) == {".git": None}


@pytest.mark.parametrize("host", ["claude", "codex", "goose"])
def test_what_was_edited_since_keeps_the_edits_and_loses_our_entries(
    session: Session, host: str
) -> None:
    lay(session, host)
    done(session.run("install", host))
    path = base_of(session, host) / SETTINGS[host]
    text = path.read_text(encoding="utf-8")
    edited = f"# an edit\n{text}" if host == "goose" else text.replace("{", '{"edited": 1, ', 1)
    path.write_text(edited, encoding="utf-8")
    told = done(session.run("install", host, "--uninstall"))
    left = path.read_text(encoding="utf-8")
    assert "only our entries" in told.err
    assert "planbound" not in left
    assert ("# an edit" if host == "goose" else '"edited": 1') in left
    assert ("memory" if host == "goose" else "other-tool") in left


@pytest.mark.parametrize(
    ("host", "name", "text"),
    [
        ("claude", ".claude/settings.json", '{\n  // a comment\n  "hooks": {}\n}\n'),
        ("gemini", ".gemini/settings.json", '{"a": 1, "a": 2}'),
        ("qwen", ".qwen/settings.json", '{"hooks": ["no object"]}'),
        ("codex", ".codex/config.toml", "not toml = = ="),
        ("codex", ".codex/config.toml", '[mcp_servers.planbound]\ncommand = "mine"\n'),
        ("claude", ".claude/skills/planbound/SKILL.md", "somebody else's\n"),
    ],
)
def test_a_file_that_cannot_be_merged_is_refused_and_nothing_is_written(
    session: Session, host: str, name: str, text: str
) -> None:
    session.write(name, text)
    before = everything(session.workspace)
    refused = session.run("install", host)
    assert refused.code == 2
    assert name in refused.err
    assert "--print" in refused.err
    assert everything(session.workspace) == before


@pytest.mark.parametrize("host", HOSTS)
def test_print_shows_what_to_put_in_and_writes_nothing(session: Session, host: str) -> None:
    shown = done(session.run("install", host, "--print")).out
    assert SETTINGS[host] in shown
    assert "mcp" in shown
    assert everything(session.workspace) == {".git": None}
    assert everything(session.home) == {}


@pytest.mark.thorough
def test_the_settings_of_the_user_are_apart_from_those_of_the_project(session: Session) -> None:
    for host in HOSTS:
        done(session.run("install", host, "--user"))
    assert everything(session.workspace) == {".git": None}
    assert (session.home / ".claude/settings.json").exists()
    assert (session.home / ".codex/config.toml").exists()
    for host in HOSTS:
        done(session.run("install", host, "--user", "--uninstall"))
    assert everything(session.home) == {}


def test_a_link_out_of_the_project_is_not_followed(session: Session) -> None:
    outside = session.home / "outside"
    outside.mkdir()
    (session.workspace / ".claude").symlink_to(outside)
    refused = session.run("install", "claude")
    assert refused.code == 2
    assert "leads out of the project" in refused.err
    assert not list(outside.iterdir())


def test_a_host_without_a_blocking_hook_says_so(session: Session) -> None:
    for host in ("opencode", "goose"):
        assert "no hook that can refuse" in done(session.run("install", host)).err
    assert session.run("install", "goose", "--project").code == 2


# -- doctor ------------------------------------------------------------------------------------


def hooks(session: Session) -> list[dict[str, str]]:
    checks = session.run("doctor", "--json").json["checks"]
    return [check for check in checks if check["name"] == "hooks"]


@pytest.mark.requirement("doctor.hooks")
def test_doctor_proves_that_installed_hooks_answer(session: Session) -> None:
    (none,) = hooks(session)
    assert none["message"] == "none installed"
    done(session.run("install", "claude"))
    (fine,) = hooks(session)
    assert fine["health"] == "OK"
    assert "they answer: claude" in fine["message"]


def change(session: Session, name: str, old: str, new: str) -> None:
    path = session.workspace / name
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.mark.requirement("doctor.hooks")
@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('{\n  "hooks"', '{\n  "disableAllHooks": true,\n  "hooks"', "switches all hooks off"),
        ('"timeout": 1800', '"timeout": 5', "waits only 5 seconds"),
        ('"Stop":', '"Other":', "no hook of ours for `Stop`"),
        (" hook stop", " hook stop --host x; echo no json #", "not JSON"),
        (" hook session-start", " hook session-start; exit 3 #", "ended with 3"),
    ],
)
def test_doctor_tells_why_a_hook_would_not_hold(
    session: Session, old: str, new: str, message: str
) -> None:
    done(session.run("install", "claude"))
    change(session, ".claude/settings.json", old, new)
    found = hooks(session)
    assert any(message in check["message"] and check["cure"] for check in found), found
    assert all(check["health"] == "WARN" for check in found)


@pytest.mark.requirement("doctor.hooks")
def test_doctor_tells_of_a_command_that_is_not_there(session: Session) -> None:
    done(session.run("install", "claude"))
    beside = str(Path(sys.executable).with_name("planbound"))
    change(session, ".claude/settings.json", beside, "/nonexistent/planbound")
    assert any("cannot be started" in check["message"] for check in hooks(session))


@pytest.mark.thorough
def test_doctor_tells_of_hooks_that_codex_does_not_trust(session: Session) -> None:
    done(session.run("install", "codex"))
    messages = [check["message"] for check in hooks(session)]
    assert any("does not trust the project" in each for each in messages)
    assert any("skips them silently" in each for each in messages)
    place = session.workspace.resolve()
    trust = (
        f'[projects."{place}"]\ntrust_level = "trusted"\n'
        f'[hooks.state."{place}/.codex/hooks.json:stop:0:0"]\ntrusted_hash = "sha256:x"\n'
    )
    (session.home / ".codex").mkdir()
    (session.home / ".codex/config.toml").write_text(trust, encoding="utf-8")
    (fine,) = hooks(session)
    assert "they answer: codex" in fine["message"]
