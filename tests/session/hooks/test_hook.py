"""`planbound hook`, asked as the hosts ask it."""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from planbound.plan.model import PlanStatus
from planbound.session.shown import PlanChoice, offer
from tests.program import SOUND
from tests.session.hooks.session import Session, answer_of
from tests.tables import first_always, one_fact

HOSTS = ("claude", "codex", "qwen", "gemini")
MOMENTS = ("stop", "subagent-stop", "session-start", "pre-tool-use", "user-prompt-submit")
_TEXT = {"type": "string", "pattern": r"\S"}
_COMMON = {
    "continue": {"type": "boolean"},
    "stopReason": _TEXT,
    "suppressOutput": {"type": "boolean"},
    "systemMessage": _TEXT,
}


def closed(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "additionalProperties": False, "properties": properties}


STOP = {
    **closed(**_COMMON, decision={"const": "block"}, reason=_TEXT),
    "dependentRequired": {"decision": ["reason"]},
}
"""As Codex has it: an answer with any other field is dropped, and the agent stops."""


def specific(name: str, **properties: Any) -> dict[str, Any]:
    inner = closed(hookEventName={"const": name}, **properties)
    return closed(**_COMMON, hookSpecificOutput={**inner, "required": ["hookEventName"]})


CODEX = {
    "stop": STOP,
    "subagent-stop": STOP,
    "session-start": specific("SessionStart", additionalContext=_TEXT),
    "user-prompt-submit": specific("UserPromptSubmit", additionalContext=_TEXT),
    "pre-tool-use": specific(
        "PreToolUse", permissionDecision={"const": "deny"}, permissionDecisionReason=_TEXT
    ),
}
PROTECTED = {"tool_name": "Bash", "tool_input": {"command": "planbound approve PLAN"}}

SLOW = {"title": "Wait", "contract": "test ! -e slow || sleep 900; test -e never"}
"""Slow where `slow` is, so that creating the plan is not."""


def last_words(host: str, text: str) -> dict[str, str]:
    return {"prompt_response" if host == "gemini" else "last_assistant_message": text}


@pytest.fixture
def planned(session: Session) -> Session:
    """Return a session that owes a plan."""
    session.create()
    return session


@pytest.mark.requirement("hook.false-done")
@pytest.mark.parametrize("host", first_always(list(HOSTS)))
def test_an_agent_that_says_done_twice_is_refused_twice_and_then_accepted(
    session: Session, host: str
) -> None:
    session.create()
    word = "deny" if host == "gemini" else "block"
    for lie in ("All done!", "really done, trust me"):
        answer = session.ask("stop", host, stop_hook_active=True, **last_words(host, lie))
        assert answer["decision"] == word
        assert "Make one" in answer["reason"]
    session.write("one.txt", "right\n")
    accepted = session.ask("stop", host, **last_words(host, "Now it is right."))
    assert "decision" not in accepted
    assert "the plan is done" in accepted["systemMessage"]
    assert len(session.events("FINALIZATION_REJECTED")) == 2
    (event,) = session.events("FINALIZATION_ACCEPTED")
    assert event["details"]["session"] == f"{host}:s-1"
    assert session.ask("stop", host) == {}


@pytest.mark.thorough
def test_a_judged_tree_is_not_enough_where_a_judge_that_is_demanded_is_gone(
    session: Session, tmp_path: Path
) -> None:
    held = tmp_path / "held_out.txt"
    held.write_text("kept elsewhere\n")
    session.write("planbound.toml", f'[judging]\nheld_out = ["{held}"]\n')
    session.create()
    session.write("one.txt", "right\n")
    session.finish_step()
    held.unlink()
    refused = session.ask("stop", "claude")
    assert refused["decision"] == "block"
    assert "which is not there" in refused["reason"]
    held.write_text("kept elsewhere\n")
    assert "the plan is done" in session.ask("stop", "claude")["systemMessage"]


@pytest.mark.requirement("hook.bounded")
def test_an_agent_that_never_does_it_is_given_up_and_not_called_done(session: Session) -> None:
    session.create()
    answers = [session.ask("stop", "codex") for _ in range(7)]
    refused = [answer for answer in answers if answer.get("decision") == "block"]
    assert len(refused) == 5
    assert set(answers[5]) == {"systemMessage"}
    assert "NOT DONE" in answers[5]["systemMessage"]
    assert "decision" not in answers[6]


@pytest.mark.thorough
@one_fact("moment", MOMENTS)
def test_what_codex_is_answered_fits_its_schemas(planned: Session, moment: str) -> None:
    answer = planned.ask(moment, "codex", **PROTECTED)
    jsonschema.validate(answer, CODEX[moment])
    assert bool(answer) == (moment != "subagent-stop")


@pytest.mark.requirement("hook.orientation")
@one_fact("host", HOSTS)
def test_a_session_that_begins_is_told_its_plan(planned: Session, host: str) -> None:
    for source in ("startup", "compact"):
        answer = planned.ask("session-start", host, source=source)["hookSpecificOutput"]
        assert answer["hookEventName"] == "SessionStart"
        assert "Make one" in answer["additionalContext"]


@pytest.mark.thorough
@pytest.mark.requirement("hook.unbound")
def test_a_session_without_a_plan_is_told_which_there_are(session: Session) -> None:
    for name in ("one", "two"):
        session.write(f".harness/PLAN-{name}.md", SOUND)
    session.write(".harness/PLAN-blank.md", "\n")
    # Nothing was ever recorded, and nothing is by being asked.
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    assert "- `one`: draft, 0/3 steps proved\n- `two`: draft" in told
    assert "echo one > .harness/active-plan" in told
    assert "PLANBOUND_PLAN=one" in told
    assert "blank" not in told
    assert not list(session.home.glob(".local/state/planbound/*/journal.sqlite"))
    assert session.ask("stop", "claude") == {}
    digest = session.run("show", "two", "--json").json["digest"]
    session.run("approve", "two", "--digest", digest[:16], "--as", "x")
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    assert "- `two`: approved, 0/3 steps proved" in told
    session.write(".harness/active-plan", "gone\n")
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    assert "`gone`" in told
    assert "- `one`: draft" in told
    session.write(".harness/active-plan", "two\n")
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    assert told.startswith("This session works on the plan `two`.")


@pytest.mark.requirement("hook.unbound")
def test_every_plan_is_told_open_ones_first_in_a_bounded_text(session: Session) -> None:
    done = SOUND.replace("status: draft", "status: done")
    session.write(".harness/PLAN-a done one.md", done)
    for number in range(30):
        session.write(f".harness/PLAN-my plan {number:02}.md", SOUND)
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    lines = [line for line in told.splitlines() if line.startswith("- ")]
    assert len(lines) == 31
    assert lines[0].startswith("- `my plan 00`: draft")
    assert lines[-1].startswith("- `a done one`: done")
    # A command can be copied as it is.
    assert "`echo 'my plan 00' > .harness/active-plan`" in told
    assert "`PLANBOUND_PLAN='my plan 00'`" in told


def test_more_plans_than_can_be_read_are_counted() -> None:
    plans = [
        PlanChoice("long-name-" * 9 + f"{number:03}", PlanStatus.DRAFT, 3, 0)
        for number in range(150)
    ]
    told = offer(plans, 7)
    assert len(told) < 8000
    named = told.count("\n- `long")
    assert 40 < named < 100
    assert f"- and {157 - named} more: `planbound list`" in told
    assert "more" not in offer(plans[:40], 0)


@pytest.mark.thorough
@pytest.mark.requirement("hook.unbound")
def test_a_session_without_a_plan_is_the_first_to_see_one_changed(session: Session) -> None:
    path = session.workspace / ".harness/PLAN-one.md"
    session.write(".harness/PLAN-one.md", SOUND)
    digest = session.run("show", "one", "--json").json["digest"]
    session.run("approve", "one", "--digest", digest[:16], "--as", "x")
    path.write_text(path.read_text().replace("three", "four"))
    assert "status: approved" in path.read_text()
    for _ in range(2):
        told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
        assert "- `one`: draft, 0/3 steps proved" in told
    assert "status: draft" in path.read_text()
    assert [event["details"]["status"] for event in session.events("PLAN_EDITED")] == ["draft"]


@one_fact("host", HOSTS)
def test_a_prompt_is_preceded_by_a_short_reminder(planned: Session, host: str) -> None:
    answer = planned.ask("user-prompt-submit", host, prompt="go on")["hookSpecificOutput"]
    named = "BeforeAgent" if host == "gemini" else "UserPromptSubmit"
    assert answer["hookEventName"] == named
    assert "`make-one-right` is open" in answer["additionalContext"]
    assert len(answer["additionalContext"]) < 200


def test_a_marker_that_leads_nowhere_is_said_and_is_not_fatal(session: Session) -> None:
    session.create()
    session.write(".harness/active-plan", "gone\n")
    told = session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    assert "`gone`" in told
    assert session.ask("stop", "claude")["decision"] == "block"


@pytest.mark.requirement("hook.guard")
@one_fact("host", HOSTS)
def test_what_is_not_an_agents_is_denied(planned: Session, host: str) -> None:
    for tool, arguments in (
        ("Bash", {"command": "planbound waive 1 --as me"}),
        ("run_shell_command", {"command": "cd x && planbound attest 1"}),
        ("Bash", {"command": "planbound install claude --uninstall"}),
        ("Write", {"file_path": ".harness/PLAN-make-one-right.md"}),
        ("replace", {"file_path": str(planned.workspace / "planbound.toml")}),
        ("Edit", {"file_path": "check.sh"}),
        ("Write", {"file_path": str(planned.workspace / ".claude/settings.json")}),
    ):
        answer = planned.ask("pre-tool-use", host, tool_name=tool, tool_input=arguments)
        if host == "gemini":
            assert answer["decision"] == "deny", arguments
            assert answer["reason"]
        else:
            assert answer["hookSpecificOutput"]["permissionDecision"] == "deny", arguments
            assert answer["hookSpecificOutput"]["permissionDecisionReason"]


def test_honest_work_is_not_denied(session: Session) -> None:
    session.create()
    for tool, arguments in (
        ("Write", {"file_path": "one.txt"}),
        ("Bash", {"command": "sh check.sh && planbound status"}),
        ("Read", {"file_path": "check.sh"}),
    ):
        assert session.ask("pre-tool-use", "claude", tool_name=tool, tool_input=arguments) == {}


@pytest.mark.requirement("hook.silent")
@pytest.mark.parametrize("moment", MOMENTS)
def test_nothing_is_said_and_nothing_is_made_where_there_is_no_plan(
    session: Session, moment: str
) -> None:
    assert session.ask(moment, **PROTECTED) == {}
    session.plan("later")
    # Who begins is told which plans there are.
    assert bool(session.ask(moment, **PROTECTED)) == (moment == "session-start")
    assert not list(session.home.iterdir())


@one_fact("moment", MOMENTS)
def test_nothing_is_said_in_a_child_that_we_started(planned: Session, moment: str) -> None:
    done = planned.hook(moment, stdin=json.dumps(planned.event()), PLANBOUND_ATTEMPT="1")
    assert answer_of(done) == {}


@pytest.mark.thorough
@pytest.mark.requirement("hook.silent")
def test_nothing_is_demanded_while_background_tasks_run(session: Session) -> None:
    session.create()
    task = {"id": "b1", "type": "shell", "status": "running", "description": "the tests"}
    assert session.ask("stop", "claude", background_tasks=[task]) == {}
    assert not session.events("FINALIZATION_REJECTED")
    (waits,) = session.events("FINALIZATION_DEFERRED")
    assert waits["details"]["waits_for"] == "in the background: the tests"
    ended = [{**task, "status": "completed"}]
    assert session.ask("stop", "claude", background_tasks=ended)["decision"] == "block"


@pytest.mark.requirement("hook.sub-agent")
def test_nothing_is_demanded_of_a_sub_agent_without_a_plan_of_its_own(session: Session) -> None:
    session.create()
    assert session.ask("subagent-stop", "claude", agent_id="a-1") == {}
    assert session.ask("stop", "claude", agent_id="a-1") == {}
    assert session.ask("stop", "claude")["decision"] == "block"


@pytest.mark.requirement("hook.sub-agent")
def test_a_sub_agent_in_a_worktree_of_its_own_is_held_to_that_plan(session: Session) -> None:
    session.create()
    worktree = session.workspace.parent / "worktree"
    git = session.workspace / ".git/worktrees/worktree"
    git.mkdir(parents=True)
    (git / "commondir").write_text("../..\n", encoding="utf-8")
    (worktree / ".harness").mkdir(parents=True)
    (worktree / ".git").write_text(f"gitdir: {git}\n", encoding="utf-8")
    (worktree / ".harness/active-plan").write_text("make-one-right\n", encoding="utf-8")
    answer = session.ask("subagent-stop", "claude", agent_id="a-1", cwd=str(worktree))
    assert answer["decision"] == "block"
    (event,) = session.events("FINALIZATION_REJECTED")
    assert event["details"]["session"] == "claude:s-1:a-1"


def test_an_agent_that_removes_its_plan_still_owes_it(session: Session) -> None:
    session.create()
    shutil.rmtree(session.workspace / ".harness")
    assert session.ask("stop", "claude")["decision"] == "block"


def test_an_agent_that_goes_elsewhere_takes_its_plan_along(session: Session) -> None:
    session.create()
    event = session.event(cwd="/")
    done = session.hook(
        "stop", stdin=json.dumps(event), cwd=Path("/"), CLAUDE_PROJECT_DIR=str(session.workspace)
    )
    assert answer_of(done)["decision"] == "block"


@pytest.mark.thorough
@one_fact(
    ("fields", "extra", "host"),
    [
        ({"hook_event_name": "AfterAgent", "prompt_response": "x"}, {}, "gemini"),
        ({"hook_event_name": "Stop", "turn_id": "t", "model": "m"}, {}, "codex"),
        ({"hook_event_name": "Stop"}, {"QWEN_PROJECT_DIR": "", "GEMINI_PROJECT_DIR": ""}, "claude"),
        ({"hook_event_name": "Stop"}, {"QWEN_PROJECT_DIR": ".", "GEMINI_PROJECT_DIR": "."}, "qwen"),
    ],
)
def test_the_host_is_found_out(
    planned: Session, fields: dict[str, str], extra: dict[str, str], host: str
) -> None:
    answer_of(planned.hook("stop", stdin=json.dumps(planned.event(**fields)), **extra))
    event = planned.events("FINALIZATION_REJECTED")[-1]
    assert event["details"]["session"] == f"{host}:s-1"


GARBAGE: tuple[bytes, ...] = (
    b"",
    b"not json",
    b"[1, 2]",
    b'"text"',
    b"\xff\xfe\x00",
    b"[" * 100_000,
    b'{"session_id": 7, "cwd": ["x"], "tool_input": "rm", "background_tasks": "many"}',
    b'{"session_id": "\\ud800", "cwd": "/\\u0000"}',
)


@pytest.mark.requirement("command.hook")
@one_fact("moment", MOMENTS)
def test_garbage_is_answered_with_json(planned: Session, moment: str) -> None:
    for garbage in GARBAGE:
        answer_of(planned.hook(moment, stdin=garbage))


@pytest.mark.thorough
@pytest.mark.requirement("hook.broken-gate")
def test_an_event_that_cannot_be_read_holds_the_agent_up_a_bounded_number_of_times(
    session: Session,
) -> None:
    session.create()
    answers = [answer_of(session.hook("stop", stdin=b"not json")) for _ in range(5)]
    assert [answer.get("decision") for answer in answers[:3]] == ["block"] * 3
    assert "NOT DONE" in answers[3]["systemMessage"]
    assert "decision" not in answers[4]


@one_fact(
    "words",
    [
        (),
        ("nonsense",),
        ("stop", "more"),
        ("stop", "--bogus"),
        ("--host",),
        ("stop", "--host", "x"),
    ],
)
def test_a_wrong_command_line_is_answered_with_json(
    session: Session, words: tuple[str, ...]
) -> None:
    answer_of(session.hook(*words, stdin=b"{}"))


def test_a_workspace_that_is_not_there_holds_the_agent_up_a_bounded_number_of_times(
    session: Session,
) -> None:
    answers = [session.ask("stop", "claude", "--workspace", "/nonexistent/x") for _ in range(4)]
    assert [answer.get("decision") for answer in answers] == ["block"] * 3 + [None]
    assert "NOT DONE" in answers[3]["systemMessage"]


def journal_of(session: Session) -> Path:
    (path,) = session.home.glob(".local/state/planbound/*/journal.sqlite")
    return path


@pytest.mark.requirement("hook.broken-gate")
def test_a_broken_journal_holds_the_agent_up_a_bounded_number_of_times(session: Session) -> None:
    session.create()
    journal_of(session).write_bytes(b"this is no database" * 1000)
    answers = [session.ask("stop", "claude") for _ in range(5)]
    assert [answer.get("decision") for answer in answers] == ["block"] * 3 + [None] * 2
    assert "NOT DONE" in answers[3]["systemMessage"]
    assert session.ask("session-start", "claude")["hookSpecificOutput"]["additionalContext"]
    denied = session.ask("pre-tool-use", "claude", **PROTECTED)
    assert denied["hookSpecificOutput"]["permissionDecision"] == "deny"


@pytest.mark.thorough
def test_a_journal_without_permission_and_no_place_to_count_says_not_done_at_once(
    session: Session,
) -> None:
    session.create()
    journal_of(session).chmod(0)
    for folder in (session.home / ".local/state/planbound", journal_of(session).parent):
        folder.chmod(0o555)
    done = session.hook(
        "stop",
        stdin=json.dumps(session.event()),
        obeys_permissions=True,
        TMPDIR=str(journal_of(session).parent),
    )
    for folder in (session.home / ".local/state/planbound", journal_of(session).parent):
        folder.chmod(0o755)
    assert "NOT DONE" in answer_of(done)["systemMessage"]


def begun(session: Session) -> subprocess.Popen[str]:
    """Return a hook that has read its event and is at work on the journal."""
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "hook", "stop", "--host", "claude"],
        cwd=session.workspace,
        env=session.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    process.stdin.write(json.dumps(session.event()))
    process.stdin.close()
    process.stdin = None
    while process.poll() is None and str(journal_of(session)) not in open_files(process.pid):
        time.sleep(0.01)
    return process


@pytest.mark.thorough
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_hook_that_is_told_to_end_answers_first(session: Session, number: int) -> None:
    session.create([SLOW])
    session.write("slow", "")
    process = begun(session)
    process.send_signal(number)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 0
    assert json.loads(out)["decision"] == "block"


@pytest.mark.thorough
def test_a_hook_that_waits_for_a_locked_journal_answers_when_it_is_told_to_end(
    session: Session,
) -> None:
    session.create()
    held = sqlite3.connect(journal_of(session))
    held.execute("BEGIN EXCLUSIVE")
    process = begun(session)
    process.terminate()
    out, _ = process.communicate(timeout=30)
    held.close()
    assert process.returncode == 0
    assert json.loads(out)["decision"] == "block"


@pytest.mark.thorough
def test_a_hook_that_takes_too_long_answers_before_the_host_gives_up(session: Session) -> None:
    session.create([SLOW])
    session.write("slow", "")
    hurried = (
        "import planbound.session.hooks.command as command; command.SECONDS = 1.5;"
        "command.answer_host(['hook', 'stop', '--host', 'claude'])"
    )
    done = subprocess.run(
        [sys.executable, "-c", hurried],
        cwd=session.workspace,
        env=session.environment(),
        input=json.dumps(session.event()).encode(),
        stdout=subprocess.PIPE,
        check=True,
        timeout=30,
    )
    answer = json.loads(done.stdout)
    assert answer["decision"] == "block"
    assert "longer than 1.5 s" in answer["reason"]
    (event,) = session.events("FINALIZATION_REJECTED")
    assert event["details"]["broken"] is True


@pytest.mark.thorough
def test_a_hook_that_is_told_to_end_where_python_drops_exceptions_is_told_again() -> None:
    dropped = """
import os, signal, sys, time
from planbound.session.hooks.command import Interrupted, _interruptible

class Dropping:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.01)

sys.unraisablehook = lambda found: print("dropped", found.exc_type.__name__)
try:
    with _interruptible(60):
        Dropping()
        time.sleep(30)
except Interrupted as told:
    print(told)
"""
    done = subprocess.run(
        [sys.executable, "-c", dropped], stdout=subprocess.PIPE, text=True, check=True, timeout=30
    )
    assert done.stdout == "dropped Interrupted\nit was told to end by SIGTERM\n"


def open_files(pid: int) -> set[str]:
    found = set()
    folder = f"/proc/{pid}/fd"
    for name in os.listdir(folder):
        try:
            found.add(os.readlink(f"{folder}/{name}"))
        except OSError:
            continue
    return found


@pytest.mark.thorough
def test_a_host_that_leaves_its_end_open_still_gets_an_answer(session: Session) -> None:
    session.create()
    process = subprocess.Popen(
        [sys.executable, "-m", "planbound", "hook", "stop", "--host", "claude"],
        cwd=session.workspace,
        env=session.environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(session.event()).encode())
    process.stdin.flush()
    answer = json.loads(process.stdout.readline())
    process.stdin.close()
    process.stdout.close()
    assert process.wait(30) == 0
    assert answer["decision"] == "block"


@pytest.mark.thorough
@one_fact("closed", ["<&-", "2>&-", "<&- 2>&-"])
def test_a_hook_with_closed_streams_still_answers(planned: Session, closed: str) -> None:
    done = subprocess.run(
        ["sh", "-c", f'"$0" -m planbound hook stop --host claude {closed}', sys.executable],
        cwd=planned.workspace,
        env=planned.environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=True,
    )
    answer = json.loads(done.stdout)
    assert answer["decision"] == "block"
    # Nobody is waited for who cannot say anything.
    assert ("Bad file descriptor" in answer["reason"]) == ("<&-" in closed)
