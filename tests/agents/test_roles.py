"""What a role may do in a run, whoever has it: files, budget, tools and commands."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.model_server import ModelServer
from tests.agents.script import ACP_AGENT, Reply
from tests.run.bench import Bench, Step, plan_text
from tests.tables import first_always

ABORT = "**on_fail:** abort"


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    yield bench
    bench.ends_all()


def _prepare(bench: Bench, *steps: Step, roles: str = "") -> None:
    """Write the plan, one agent that has every role, and what is said of the roles."""
    bench.prepare(*steps, settings=f'{roles}\n[run]\nagent = "coder"\n')


# -- files -------------------------------------------------------------------------------------


@pytest.mark.thorough
@pytest.mark.requirement("roles.touches")
def test_a_change_beyond_the_touches_of_a_role_is_out_of_scope_and_put_back(bench: Bench) -> None:
    bench.write("src/code.py", "old\n")
    beyond = "echo right > src/one.md; echo new > src/code.py; echo x > src/new.py"
    _prepare(
        bench,
        Step(
            "Make one.md",
            (beyond, "echo right > src/one.md"),
            touches="src/**",
            target="writer",
        ),
        roles='[roles.writer]\nagent = "coder"\ntouches = ["**/*.md"]\n',
    )
    bench.goes("run")
    log = bench.log()
    first, second = log.of("CONTRACT_EVALUATED", number="1")
    assert (first["verdict"], second["verdict"]) == ("out-of-scope", "pass")
    assert sorted(log.one("SCOPE_VIOLATED")["files"]) == ["src/code.py", "src/new.py"]
    assert bench.read("src/code.py") == "old\n"
    assert not (bench.workspace / "src/new.py").exists()
    asked, again = (event["prompt"] for event in log.of("ATTEMPT_ENDED"))
    assert "As `writer` you may change only `**/*.md`." in asked
    assert "These files may not be changed, and were put back" in again


@pytest.mark.thorough
@pytest.mark.requirement("roles.touches")
def test_what_is_shipped_limits_a_step_that_declares_nothing_and_no_other(bench: Bench) -> None:
    _prepare(
        bench,
        Step(
            "Make one",
            ("echo right > src/one", "mkdir docs; echo right > docs/one"),
            contract="cat src/one docs/one 2>/dev/null | grep -qx right",
            touches="",
            target="reviewer",
        ),
        Step("Make two", target="reviewer"),
        roles='[roles.reviewer]\nagent = "coder"\n',
    )
    bench.goes("run")
    log = bench.log()
    verdicts = [event["verdict"] for event in log.of("CONTRACT_EVALUATED", number="1")]
    assert verdicts[:2] == ["out-of-scope", "pass"]
    assert len(log.of("ATTEMPT_ENDED", number="2")) == 1
    first, _, second = (event["prompt"] for event in log.of("ATTEMPT_ENDED"))
    for prompt in (first, second):
        assert "Your role is `reviewer`: Look for what is wrong" in prompt
    assert "As `reviewer` you may change only `docs/**`" in first
    assert "As `reviewer` you may change only" not in second
    assert not (bench.workspace / "src/one").exists()


@pytest.mark.thorough
def test_a_table_can_lift_what_is_shipped(bench: Bench) -> None:
    _prepare(
        bench,
        Step("Make one", touches="", target="reviewer"),
        roles='[roles.reviewer]\nagent = "coder"\ntouches = ["**"]\n',
    )
    bench.goes("run")
    assert bench.phases() == ["done"]


@pytest.mark.thorough
def test_what_runs_by_itself_beyond_a_role_does_not_stay(bench: Bench) -> None:
    _prepare(
        bench,
        Step(
            "Make one",
            ("mkdir -p docs; echo right > docs/one; echo 1 > conftest.py", "true"),
            contract="grep -qx right docs/one",
            touches="",
            target="researcher",
        ),
        roles='[roles.researcher]\nagent = "coder"\n',
    )
    bench.goes("run")
    assert not (bench.workspace / "conftest.py").exists()


@pytest.mark.requirement("roles.touches")
def test_a_judge_that_the_step_may_edit_and_its_role_may_not_is_read_only(bench: Bench) -> None:
    judge = "grep -qx right src/one\n"
    bench.write("tests/check.sh", judge)
    work = "(echo true > tests/check.sh) 2>/dev/null && touch src/wrote; echo right > src/one"
    _prepare(
        bench,
        Step("Make one", work, "sh tests/check.sh", touches="src/** tests/**", target="worker"),
        roles='[roles.worker]\nagent = "coder"\ntouches = ["src/**"]\n',
    )
    bench.goes("run")
    assert not (bench.workspace / "src/wrote").exists()
    assert bench.read("tests/check.sh") == judge


@pytest.mark.thorough
def test_a_step_without_a_target_does_not_escape_the_role_of_a_coder(bench: Bench) -> None:
    step = Step("Make one", touches="**", fields=ABORT)
    bench.prepare(step, settings='[roles.coder]\nagent = "coder"\ntouches = ["docs/**"]\n')
    bench.write(".harness/PLAN.md", plan_text(step).replace("**target:** coder\n", ""))
    bench.approve()
    bench.goes("run", code=1)
    assert bench.log().one("CONTRACT_EVALUATED", number="1")["verdict"] == "out-of-scope"


# -- budget ------------------------------------------------------------------------------------


@pytest.mark.requirement("roles.budget")
@pytest.mark.parametrize(
    ("budget", "work", "said"),
    first_always(
        [
            ("100 tokens", "echo 'planbound-usage: {\"tokens\": 101}'; sleep 600", "100 tokens"),
            ("$0.50", "echo 'planbound-usage: {\"dollars\": 0.6}'; sleep 600", "$0.50"),
            ("1 second", "sleep 600", "1s wall clock"),
        ],
        fields=3,
    ),
)
def test_an_attempt_ends_where_the_budget_of_its_role_does_and_a_person_is_asked(
    bench: Bench, budget: str, work: str, said: str
) -> None:
    _prepare(
        bench,
        Step("Make one", (work, "echo right > src/one"), target="worker"),
        roles=f'[roles.worker]\nagent = "coder"\nbudget = "{budget}"\n',
    )
    bench.goes("run", "--no-input", code=4)
    log = bench.log()
    assert log.one("FAILURE_CLASSIFIED")["rule"] == "agent-over-role-budget"
    message = log.one("FAILURE_DETECTED")["error_message"]
    assert f"the role `worker` has {said} for an attempt" in message
    assert f"You may use at most {said}." in log.one("ATTEMPT_ENDED")["prompt"]
    bench.answer("retry")
    bench.goes("run")


@pytest.mark.thorough
def test_what_is_left_of_a_smaller_budget_is_not_laid_to_the_role(bench: Bench) -> None:
    spends = "echo 'planbound-usage: {\"tokens\": 80}'; sleep 600"
    _prepare(
        bench,
        Step("Make one", spends, fields="**budget:** 50 tokens", target="worker"),
        roles='[roles.worker]\nagent = "coder"\nbudget = "70 tokens"\n',
    )
    bench.goes("run", "--no-input", code=4)
    assert bench.log().one("FAILURE_CLASSIFIED")["rule"] == "agent-over-budget"


# -- tools and commands ------------------------------------------------------------------------


@pytest.mark.requirement("roles.commands")
def test_a_model_has_the_tools_and_the_commands_that_its_role_may_have(bench: Bench) -> None:
    script = [
        Reply(tool="shell", arguments={"command": "touch src/evil"}),
        Reply(tool="shell", arguments={"command": "grep -c some src/readme"}),
        Reply(tool="write", arguments={"path": "src/one", "content": "right\n"}),
        Reply("Done."),
    ]
    with ModelServer(script) as model:
        bench.write(
            "planbound.toml",
            f'[agents.small]\nkind = "model"\nmodel = "scripted"\nbase_url = "{model.url}/v1"\n'
            'tools = ["read", "shell", "write"]\noptions = { retries = 0 }\n'
            '[roles.worker]\nagent = "small"\ncommands = ["grep"]\n'
            'tools = ["shell", "write", "edit"]\n',
        )
        bench.write(".harness/PLAN.md", plan_text(Step("Make one", target="worker")))
        bench.approve()
        bench.goes("run")
    assert model.asked[0].tools == ("write", "shell", "blocked")
    refused, allowed, _ = model.asked[-1].results
    assert refused == "refused: `touch` is not among the programs that may be called: `grep`"
    assert allowed.startswith("[exit code 0]\n1")
    assert not (bench.workspace / "src/evil").exists()
    prompt = bench.log().one("ATTEMPT_ENDED")["prompt"]
    assert "The only programs that you may call: `grep`." in prompt
    assert "The only tools that you may use: `shell`, `write`, `edit`." in prompt


@pytest.mark.thorough
@pytest.mark.requirement("roles.commands")
@pytest.mark.parametrize("permissions", first_always(["policy", "allow"]))
def test_an_agent_that_asks_whether_it_may_run_a_command_is_told_by_its_role(
    bench: Bench, permissions: str
) -> None:
    asked = [
        {"title": "fine", "kind": "execute", "raw_input": {"command": "git log | head"}},
        {"title": "list", "kind": "execute", "raw_input": {"command": ["bash", "-lc", "git log"]}},
        {"title": "other", "kind": "execute", "raw_input": {"command": "git log; make"}},
        {"title": "words", "kind": "execute", "raw_input": {"cmd": ["sh", "-c", "rm -r src"]}},
        {"title": "unsaid", "kind": "execute"},
        {"title": "edit", "kind": "edit", "locations": [{"path": "src/one"}]},
    ]
    script = bench.folder / "agents" / "script.json"
    turns = [[*({"ask": each} for each in asked), {"shell": "echo right > src/one"}]]
    script.write_text(json.dumps({"turns": {"Make one": turns}}))
    command = [sys.executable, ACP_AGENT, str(script)]
    bench.write(
        "planbound.toml",
        f'[agents.other]\nkind = "acp"\ncommand = {json.dumps(command)}\n'
        f'options = {{ permissions = "{permissions}" }}\n'
        '[roles.worker]\nagent = "other"\ncommands = ["git", "head"]\n',
    )
    bench.write(".harness/PLAN.md", plan_text(Step("Make one", target="worker")))
    bench.approve()
    bench.goes("run")
    said = bench.log().one("ATTEMPT_ENDED")["output_tail"]
    assert said.count("(answer: my-allow_once)") == 3, said
    assert said.count("(answer: my-reject_once)") == 3, said
    assert "refused, `make` is not among the programs that may be called: `git`, `head`]" in said
    assert "refused, `rm` is not among the programs" in said
    assert "refused, it does not say which command it runs]" in said


# -- what is shown -----------------------------------------------------------------------------


@pytest.mark.requirement("roles.shown")
def test_agents_shows_the_roles_with_who_has_them_and_what_they_may_do(bench: Bench) -> None:
    bench.lay(
        Step("Make one"),
        settings='[roles.reviewer]\nagent = "coder"\ncommands = []\nbudget = "5k tokens"\n'
        "[roles.release-manager]\n",
    )
    done = bench.goes("agents")
    assert (
        "roles\n"
        "  coder: coder\n"
        "  release-manager: nobody\n"
        "  reviewer: coder\n"
        "    touches: docs/**, **/*.md, **/*.rst (steps that declare none)\n"
        "    commands: none\n"
        "    budget: 5,000 tokens an attempt\n"
    ) in done.out
    roles = {each["name"]: each for each in bench.goes("agents", "--json").json["roles"]}
    assert roles["reviewer"] == {
        "name": "reviewer",
        "agents": ["coder"],
        "touches": ["docs/**", "**/*.md", "**/*.rst"],
        "firm": False,
        "commands": [],
        "tools": None,
        "budget": "5,000 tokens",
        "purpose": roles["reviewer"]["purpose"],
    }


@pytest.mark.thorough
def test_a_wrong_role_is_refused_before_anything_runs(bench: Bench) -> None:
    bench.lay(Step("Make one"))
    bench.approve()
    settings = bench.read("planbound.toml")
    bench.write("planbound.toml", f'{settings}[roles.writer]\ntouches = ["docs/[x"]\n')
    done = bench.goes("run", "--no-input", code=2)
    assert "`roles.writer.touches` holds 'docs/[x'" in done.err


@pytest.mark.thorough
def test_one_agent_for_all_targets_has_the_shipped_roles(bench: Bench) -> None:
    bench.lay(Step("make a", target="worker"))
    assert "unknown target `worker`" in bench.goes("verify", code=1).out
    bench.write("planbound.toml", bench.settings + '[run]\nagent = "coder"\n')
    bench.goes("verify")
    bench.approve()
    bench.goes("run")
    ended = bench.log().one("ATTEMPT_ENDED")
    assert (ended["agent"], ended["role"]) == ("coder", "worker")
    assert "Your role is `worker`" in ended["prompt"]
