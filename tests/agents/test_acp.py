"""Agents that speak the Agent Client Protocol, with one of ours that follows a script."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from planbound.agents.acp.transcript import AcpTranscript, Permissions
from planbound.agents.agent import Usage
from planbound.agents.cli import CliCall
from planbound.agents.output import error_kind
from planbound.cells.cell import CommandEnding, Outcome
from planbound.journal.words import FailureClass
from planbound.plan.model import Stream
from planbound.workspace.agents import AgentRules
from tests.agents.script import ACP_AGENT
from tests.run.bench import Bench, Event, Step, plan_text

QUICK = '[recovery.transient]\nbackoff = ["0.1s"]\nmax = 0\n'
ONE, TWO = Step("Write one"), Step("Write two")
DO_ONE: dict[str, Any] = {"shell": "echo right > src/one"}
DO_TWO: dict[str, Any] = {"shell": "echo right > src/two"}
Turns = list[list[dict[str, Any]]]


class AcpBench(Bench):
    """A bench whose agent is the scripted one."""

    def lay_acp(
        self,
        *steps: Step,
        turns: dict[str, Turns] | Turns,
        agent: str = "",
        settings: str = QUICK,
        **script: Any,
    ) -> None:
        """Write plan, script and configuration, and approve."""
        by_title = turns if isinstance(turns, dict) else {steps[0].title: turns}
        path = self.folder / "agents" / "script.json"
        path.write_text(json.dumps({"turns": by_title, **script}))
        command = [sys.executable, ACP_AGENT, str(path)]
        table = f'[agents.coder]\nkind = "acp"\ncommand = {json.dumps(command)}\n{agent}\n'
        self.write("planbound.toml", table + settings)
        self.write(".harness/PLAN.md", plan_text(*steps))
        self.approve()

    def ended(self, number: str = "1") -> list[Event]:
        """Return how the attempts at a step ended."""
        return list(self.log().of("ATTEMPT_ENDED", number=number))


@pytest.fixture
def bench(tmp_path: Path) -> AcpBench:
    return AcpBench(tmp_path)


@pytest.mark.requirement("agents.acp")
def test_a_lie_is_caught_and_the_work_is_done_in_the_same_session(bench: AcpBench) -> None:
    bench.lay_acp(ONE, turns=[[{"tokens": 100}, {"say": "All done."}], [{"report": True}, DO_ONE]])

    bench.goes("run")

    assert bench.phases() == ["done"]
    lied, did = bench.ended("1")
    assert "calls: initialize, session/load, session/prompt" in did["output_tail"]
    assert "grep -qx right src/one" in did["output_tail"]
    assert did["session"] == lied["session"]
    assert lied["tokens"] == 100
    bench.ends_all()


@pytest.mark.thorough
@pytest.mark.requirement("agents.acp")
def test_a_lie_is_caught_and_the_same_session_is_told_what_failed(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE,
        TWO,
        turns={
            ONE.title: [
                [{"tokens": 100}, {"cost": 0.25}, {"say": "All done, believe me."}],
                [{"report": True}, DO_ONE, {"tokens": 40}, {"cost": 0.5}],
            ],
            TWO.title: [
                [
                    {"plan": [["completed", "look around"], ["in_progress", "write it"]]},
                    {"report": True},
                    DO_TWO,
                    {"tokens": 7},
                ]
            ],
        },
    )

    bench.goes("run")

    assert bench.phases() == ["done", "done"]
    lied, did = bench.ended("1")
    (second,) = bench.ended("2")
    assert "All done, believe me." in lied["output_tail"]
    assert "calls: initialize, session/load, session/prompt" in did["output_tail"]
    assert "grep -qx right src/one" in did["output_tail"]
    assert did["session"] == lied["session"] != second["session"]
    # What the agent replays when it loads a session was not said now.
    assert "said long ago" not in did["output_tail"]
    assert did["prompt"].strip() in did["output_tail"]
    assert not did["prompt"].startswith(f"# {ONE.title}")
    # Its counts are of the whole session; ours are of the attempt.
    assert (lied["tokens"], lied["dollars"]) == (100, "0.250000")
    assert (did["tokens"], did["dollars"]) == (40, "0.500000")
    assert (second["tokens"], second["dollars"]) == (7, None)
    assert "calls: initialize, session/new, session/prompt" in second["output_tail"]
    assert second["prompt"].startswith(f"# {TWO.title}")
    assert second["agent_plan"] == ["done: look around", "begun: write it"]
    bench.ends_all()


@pytest.mark.thorough
@pytest.mark.requirement("agents.acp")
def test_a_false_done_is_refused_twice_and_then_the_work_is_accepted(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE,
        turns=[[{"say": "All done!"}], [{"say": "Really done, trust me."}], [DO_ONE]],
    )

    bench.goes("run")

    log = bench.log()
    judged = [event["verdict"] for event in log.of("CONTRACT_EVALUATED", number="1")]
    assert judged[:3] == ["fail", "fail", "pass"]
    assert len({event["session"] for event in bench.ended("1")}) == 1
    assert len(log.of("TASK_COMPLETED")) == 1


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("able", "calls"),
    [
        ({"loads": False}, "initialize, session/new, session/prompt"),
        ({"forgets": True}, "initialize, session/load, session/new, session/prompt"),
    ],
    ids=["cannot load", "knows it no more"],
)
def test_an_agent_that_cannot_go_on_is_told_everything_in_a_new_session(
    bench: AcpBench, able: dict[str, Any], calls: str
) -> None:
    bench.lay_acp(
        ONE, turns=[[{"say": "Done."}, {"tokens": 100}], [{"report": True}, DO_ONE]], **able
    )

    bench.goes("run")

    lied, did = bench.ended()
    assert f"calls: {calls}; told: # {ONE.title}" in did["output_tail"]
    assert did["prompt"].startswith(f"# {ONE.title}")
    assert "grep -qx right src/one" in did["prompt"]
    assert did["session"] != lied["session"]
    assert did["tokens"] is None


@pytest.mark.thorough
def test_an_agent_that_can_only_resume_is_resumed(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE, turns=[[{"say": "Done."}], [{"report": True}, DO_ONE]], loads=False, resumes=True
    )

    bench.goes("run")

    assert "initialize, session/resume, session/prompt" in bench.ended()[1]["output_tail"]


@pytest.mark.requirement("agents.acp.permissions")
def test_what_a_request_names_is_held_against_the_policy(tmp_path: Path) -> None:
    # Its library takes a while, which every other test would wait for.
    from planbound.agents.acp.client import ToolPolicy, chosen, paths_in  # noqa: PLC0415

    workspace = tmp_path.resolve()
    (workspace / "src").mkdir()
    (workspace / "src" / "away").symlink_to("/etc")
    policy = ToolPolicy(Permissions.POLICY, str(workspace), (".harness", "planbound.toml"))
    answers = {
        "src/one": None,
        "/etc/passwd": "`/etc/passwd` is outside the workspace",
        "src/../../x": "`src/../../x` is outside the workspace",
        "src/away/x": "`src/away/x` is outside the workspace",
        ".harness/PLAN.md": "`.harness` is protected",
        "planbound.toml": "`planbound.toml` is protected",
    }
    for path, answer in answers.items():
        given = {"edits": [{"file_path": path}]}
        assert policy.objection(paths_in(given)) == answer
        assert policy._replace(permissions=Permissions.ALLOW).objection([path]) is None
        assert policy._replace(permissions=Permissions.REJECT).objection([path]) is not None
    kinds = ["allow_always", "reject_once", "allow_once"]
    assert chosen(kinds, allow=True) == 2
    assert chosen(kinds, allow=False) == 1
    assert chosen(kinds[:1], allow=False) is None


@pytest.mark.thorough
@pytest.mark.requirement("agents.acp.permissions")
def test_a_request_for_permission_is_answered_by_the_policy(bench: AcpBench) -> None:
    asked = [
        {"title": "inside", "kind": "edit", "locations": [{"path": "src/one"}]},
        {"title": "command", "kind": "execute", "raw_input": {"command": "make -C /usr"}},
        {"title": "outside", "kind": "edit", "locations": [{"path": "/etc/passwd"}]},
        {"title": "up", "kind": "edit", "raw_input": {"edits": [{"file_path": "src/../../x"}]}},
        {"title": "link", "kind": "edit", "locations": [{"path": "src/away/x"}]},
        {"title": "plan", "kind": "edit", "locations": [{"path": ".harness/PLAN.md"}]},
        {"title": "rules", "kind": "delete", "raw_input": {"path": "planbound.toml"}},
        {"title": "hook", "kind": "edit", "raw_input": {"filePath": ".git/hooks/pre-commit"}},
    ]
    (bench.workspace / "src" / "away").symlink_to("/etc")
    bench.lay_acp(ONE, turns=[[*({"ask": each} for each in asked), DO_ONE]])

    bench.goes("run")

    said = bench.ended()[0]["output_tail"]
    allowed = said.count("(answer: my-allow_once)")
    refused = said.count("(answer: my-reject_once)")
    assert (allowed, refused) == (2, 6), said
    assert "[asks for permission: edits src/one: allowed]" in said
    assert "[asks for permission: runs make -C /usr: allowed]" in said
    assert "edits /etc/passwd: refused, `/etc/passwd` is outside the workspace]" in said
    assert "edits .harness/PLAN.md: refused, `.harness` is protected]" in said


@pytest.mark.thorough
@pytest.mark.parametrize(("word", "answer"), [("allow", "allow_once"), ("reject", "reject_once")])
def test_permissions_can_all_be_answered_alike(bench: AcpBench, word: str, answer: str) -> None:
    asked = [{"title": path, "kind": "edit", "raw_input": {"path": path}} for path in ("x", "/y")]
    bench.lay_acp(
        ONE,
        turns=[[*({"ask": each} for each in asked), DO_ONE]],
        agent=f'options = {{ permissions = "{word}" }}',
    )

    bench.goes("run")

    assert bench.ended()[0]["output_tail"].count(f"(answer: my-{answer})") == 2


@pytest.mark.thorough
def test_files_are_read_and_written_for_the_agent_in_its_workspace(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE,
        turns=[
            [
                # A line that is no message of the protocol does not end the turn.
                {"print": "debug: here I am"},
                {"read": "src/readme"},
                {"read": "/etc/hostname"},
                {"write": ["planbound.toml", "[run]"]},
                {"write": ["../elsewhere", "x"]},
                {"write": ["src/one", "right\n"]},
            ]
        ],
    )

    bench.goes("run")

    said = bench.ended()[0]["output_tail"]
    assert "(file: some sources\n)" in said
    assert said.count("is outside the workspace'})") == 2
    assert "`planbound.toml` is protected" in said
    assert bench.read("src/one") == "right\n"


@pytest.mark.thorough
@pytest.mark.requirement("agents.acp.failures")
@pytest.mark.parametrize(
    ("turns", "script", "kind", "told"),
    [
        ([[{"exit": 3}]], {}, "agent", "in the middle of the turn, with exit code 3"),
        (
            [[{"complain": "Error: 401 Unauthorized: invalid API key"}, {"kill": 6}]],
            {},
            "permission",
            "in the middle of the turn, with signal 6",
        ),
        ([], {"auth": True}, "permission", "no key is known; it knows these ways to log in: `key`"),
        ([], {"version": 7}, "unrunnable", "it speaks version 7 of the protocol"),
        (
            [],
            {"prints": ["Welcome!", "> "], "exits": 0},
            "unrunnable",
            "does not speak the Agent Client Protocol: it printed `Welcome!`",
        ),
        (
            [[{"fail": [-32603, "Internal error", {"details": "429 Too Many Requests"}]}]],
            {},
            "transient",
            "429 Too Many Requests",
        ),
        ([[{"stop": "refusal"}]], {}, "invalid-input", "refuses to go on"),
    ],
    ids=["crash", "crash with a reason", "login", "version", "garbage", "limit", "refusal"],
)
def test_each_way_to_fail_has_its_type_and_says_what_happened(
    bench: AcpBench, turns: Turns, script: dict[str, Any], kind: str, told: str
) -> None:
    bench.lay_acp(ONE, turns=turns, **script)

    bench.goes("run", code=4)

    log = bench.log()
    assert log.of("FAILURE_CLASSIFIED").last["failure_type"] == kind
    assert told in log.of("FAILURE_DETECTED").last["error_message"]
    bench.ends_all()


@pytest.mark.requirement("agents.acp.failures")
@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"acp": "stopped", "reason": "end_turn"}, None),
        ({"acp": "stopped", "reason": "max_tokens"}, FailureClass.AGENT),
        ({"acp": "stopped", "reason": "max_turn_requests"}, FailureClass.AGENT),
        ({"acp": "error", "kind": "start", "message": "no"}, FailureClass.UNRUNNABLE),
        ({"acp": "error", "kind": "crashed", "message": "gone"}, FailureClass.AGENT),
    ],
    ids=str,
)
def test_how_a_turn_ended_is_an_error_of_a_known_kind(
    line: dict[str, Any], kind: FailureClass | None
) -> None:
    transcript = heard(line)

    found = error_kind(transcript.error) if transcript.error else None
    assert (found.kind if found else None) is kind


def heard(*lines: dict[str, Any], **options: str) -> AcpTranscript:
    """Return what is made of lines of the client."""
    rules = AgentRules("coder", kind="acp", command=("agent",), options=options)
    transcript = AcpTranscript(CliCall(rules, "", None, 1, "/", 1.0), lambda _: None)
    for line in lines:
        transcript.hear(Stream.STDOUT, json.dumps(line).encode())
    transcript.end(Outcome(CommandEnding.EXITED, 0))
    return transcript


SESSION = {"acp": "session", "id": "s", "goes_on": True}
PROMPTED = {"acp": "prompted"}
BEFORE = Usage(100, Decimal(2))


def cost(amount: float, used: int = 0, currency: str = "USD") -> dict[str, Any]:
    return {"acp": "context", "used": used, "cost": amount, "currency": currency}


@pytest.mark.parametrize(
    ("lines", "options", "tokens", "dollars"),
    [
        ([PROMPTED, {"acp": "usage", "total": 150}], {}, 150, None),
        ([PROMPTED, {"acp": "usage", "total": 150}], {"usage": "session"}, 50, None),
        ([PROMPTED, *[{"acp": "call", "input": 3, "output": 4}] * 2], {}, 14, None),
        ([PROMPTED, cost(2.5, used=30), cost(2.75, used=20)], {}, 30, "0.75"),
        ([PROMPTED, cost(0.5)], {}, 0, "0.5"),
        ([cost(2.25), PROMPTED, cost(2.75)], {}, 0, "0.5"),
        ([PROMPTED, cost(2.5, currency="EUR")], {}, 0, None),
        ([PROMPTED, {"acp": "usage", "total": "many", "input": -1}], {}, 0, None),
    ],
    ids=[
        *("a turn", "a session", "calls", "cost of the session", "cost of the process"),
        *("cost when loaded", "another currency", "nonsense"),
    ],
)
def test_what_an_attempt_used_is_found_in_what_agents_count(
    lines: list[dict[str, Any]], options: dict[str, str], tokens: int, dollars: str | None
) -> None:
    used = heard(SESSION, *lines, **options).used(BEFORE)

    assert used == Usage(tokens, None if dollars is None else Decimal(dollars))


@pytest.mark.thorough
def test_login_mode_and_model_are_as_configured(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE,
        turns=[[{"report": True}, DO_ONE]],
        agent='model = "large"\noptions = { authentication = "key", mode = "full" }',
        models=["small", "large"],
        auth=True,
    )

    bench.goes("run")

    assert (
        "authenticate key, session/new, mode=full, the-model=large, session/prompt"
        in bench.ended()[0]["output_tail"]
    )


@pytest.mark.thorough
def test_an_agent_that_never_answers_is_ended_at_its_limit(bench: AcpBench) -> None:
    step = Step("Write one", fields="**timeout:** 6 seconds\n**on_fail:** escalate")
    bench.lay_acp(step, turns=[[{"say": "Let me think."}, {"hang": True}]])

    bench.goes("run", code=4)

    (ended,) = bench.ended()
    assert ended["ending"] == "timed out"
    assert "Let me think." in ended["output_tail"]
    assert bench.log().of("FAILURE_CLASSIFIED").last["failure_type"] == "hung"
    bench.ends_all()


@pytest.mark.thorough
def test_an_agent_that_is_not_installed_is_said_to_be(bench: AcpBench) -> None:
    bench.write("planbound.toml", '[agents.coder]\nkind = "acp"\ncommand = ["no-such-agent"]\n')
    bench.write(".harness/PLAN.md", plan_text(ONE))
    bench.approve()

    bench.goes("run", code=4)

    log = bench.log()
    assert log.of("FAILURE_CLASSIFIED").last["failure_type"] == "unrunnable"
    assert "`no-such-agent` is not installed" in log.of("FAILURE_DETECTED").last["error_message"]


@pytest.mark.thorough
def test_a_crash_is_answered_by_another_attempt_in_the_same_session(bench: AcpBench) -> None:
    bench.lay_acp(
        ONE,
        turns=[[{"say": "Hm."}, {"exit": 9}], [{"report": True}, DO_ONE]],
        settings=QUICK.replace("max = 0", "max = 1"),
    )

    bench.goes("run")

    crashed, did = bench.ended()
    assert crashed["exit_code"] == 9
    assert did["session"] == crashed["session"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("agent", "told"),
    [
        ('model = "large"', "it knows no model `large`, only small"),
        ('options = { mode = "x" }', "it knows no mode `x`, only ask, full"),
    ],
    ids=["model", "mode"],
)
def test_a_model_or_a_mode_that_cannot_be_chosen_is_a_failure(
    bench: AcpBench, agent: str, told: str
) -> None:
    bench.lay_acp(ONE, turns=[], agent=agent, models=["small"])

    bench.goes("run", code=4)

    found = bench.log().of("FAILURE_DETECTED").last
    assert told in found["error_message"]
    assert bench.log().of("FAILURE_CLASSIFIED").last["failure_type"] == "invalid-input"


@pytest.mark.parametrize(
    ("table", "told"),
    [
        ("", "`agents.coder` has no `command`"),
        (
            'command = ["x"]\noptions = { permissions = "ask" }',
            "`agents.coder.options.permissions`",
        ),
        ('command = ["x"]\noptions = { modes = "ask" }', "`agents.coder.options.modes`"),
        ('command = ["x"]\noptions = { authentication = 3 }', "options.authentication` is 3"),
    ],
)
def test_what_is_configured_wrongly_is_refused(bench: AcpBench, table: str, told: str) -> None:
    bench.lay_acp(ONE, turns=[])
    bench.write("planbound.toml", f'[agents.coder]\nkind = "acp"\n{table}\n')

    done = bench.goes("run", code=2)

    assert told in done.err
