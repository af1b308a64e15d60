"""The kinds of agent that are command lines: how each is called, read, and gone on with."""

import importlib
import itertools
import json
import os
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from planbound.agents.agent import Usage
from planbound.agents.cli import CliAgent, CliCall, Start, Transcript, with_cut_off
from planbound.agents.program import put, read_object, remove
from planbound.cells.cell import Captured, CommandEnding, Outcome
from planbound.errors import ConfigurationError
from planbound.journal.event import VerdictKind
from planbound.plan.model import Stream
from planbound.run.classify import Failure, classify
from planbound.workspace.agents import AgentRules, Home
from tests.agents.fake_cli import Called, Turn, calls, install
from tests.agents.streams_of import STREAMS, TRAJECTORY, stream, turn
from tests.program import WITHOUT_WALLS
from tests.run.bench import Bench, Step
from tests.tables import first_always, one_fact

STREAMING = ("codex", "claude", "opencode", "gemini", "qwen", "goose")
KINDS = (*STREAMING, "aider", "mini")
SHELL = "runs printf 'good bye\\n' > greeting.txt"
KEY = "LOOP_API_KEY"


def agent_of(kind: str, **rules: Any) -> CliAgent:
    made = importlib.import_module(f"planbound.agents.kinds.{kind}").KIND.make(
        AgentRules("coder", kind=kind, **rules), {}
    )
    assert isinstance(made, CliAgent)
    return made


def call_of(kind: str, prompt: str = "Do it.", session: str | None = None, **rules: Any) -> CliCall:
    return CliCall(
        rules=AgentRules("coder", kind=kind, **rules),
        prompt=prompt,
        session=session,
        attempt=1,
        workspace="/workspace",
        seconds=60.0,
        fresh="0123456789abcdef",
        home="/nowhere",
        folder="/folder",
    )


def start_of(kind: str, prompt: str = "Do it.", session: str | None = None, **rules: Any) -> Start:
    return agent_of(kind, **rules).kind.start(call_of(kind, prompt, session, **rules))


class Heard(NamedTuple):
    transcript: Transcript
    notes: list[str]

    @property
    def counted(self) -> tuple[int | None, Decimal | None]:
        usage = self.transcript.tokens.usage(None)
        return usage.tokens, usage.dollars


def hear(kind: str, story: str, home: Path, *, session: str | None = None, **ended: Any) -> Heard:
    notes: list[str] = []
    call = call_of(kind, session=session)._replace(home=str(home))
    transcript = agent_of(kind).kind.transcript(call, notes.append)
    played = turn(kind, story)
    for path, content in played.home.items():
        (home / path).parent.mkdir(parents=True, exist_ok=True)
        (home / path).write_text(content)
    for line in played.stdout.encode().split(b"\n"):
        transcript.hear(Stream.STDOUT, line)
    transcript.end(Outcome(CommandEnding.EXITED, **ended))
    return Heard(transcript, notes)


# -- reading ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_story_that_ends_well_is_read_whole(kind: str, tmp_path: Path) -> None:
    heard = hear(kind, "edit", tmp_path)
    transcript = heard.transcript
    dollars = {"opencode": Decimal("0.0031"), "claude": Decimal("0.005")}.get(kind)
    tokens = 1050 if kind == "aider" else 2280
    assert heard.counted == (tokens, dollars)
    assert transcript.tokens.cached == (0 if kind == "aider" else 1400)
    assert transcript.error is None
    assert (transcript.session is not None) == (kind in STREAMING)
    if kind == "aider":
        assert heard.notes == ["edits greeting.txt"]
        assert "good bye" in transcript.said
        assert "Tokens:" not in transcript.said
    else:
        assert heard.notes[0] == ("runs make" if kind == "claude" else SHELL)
        assert transcript.said.startswith("I changed greeting.txt.")


@pytest.mark.parametrize("kind", STREAMING)
def test_a_session_goes_on_under_its_name(kind: str, tmp_path: Path) -> None:
    lied = hear(kind, "lie", tmp_path).transcript
    again = hear(kind, "resume", tmp_path, session=lied.session).transcript
    assert (lied.said, again.said.splitlines()[-1]) == ("All done!", "Now it is really done.")
    assert lied.session is not None
    assert lied.session == again.session
    # Some count all of the session: what was used before is taken off where that is known.
    whole = again.tokens.usage(None).tokens
    assert whole == (1050 + 2740 if again.is_cumulative else 2740)
    assert again.is_cumulative == (kind in {"codex", "goose"})


@pytest.mark.parametrize("kind", ["claude", "qwen"])
def test_a_message_that_comes_in_parts_counts_once_while_it_works(kind: str) -> None:
    transcript = agent_of(kind).kind.transcript(call_of(kind), lambda _: None)
    for line in stream(kind, "resume").splitlines()[:-1]:
        transcript.hear(Stream.STDOUT, line.encode())
    assert transcript.tokens.usage(None).tokens == 2740


ERRORS = [
    ("codex", "401", "permission", "agent-http-401"),
    ("codex", "429", "transient", "agent-http-429"),
    ("codex", "500", "transient", "agent-error-service"),
    ("codex", "cut", "transient", "agent-network"),
    ("codex", "no-key", "permission", "agent-missing-credential"),
    ("claude", "401", "permission", "agent-authentication"),
    ("claude", "529", "transient", "agent-http-5xx"),
    ("claude", "turns", "agent", "agent-error-turns"),
    ("claude", "budget", "budget", "agent-error-budget"),
    ("opencode", "401", "permission", "agent-http-401"),
    ("opencode", "429", "transient", "agent-http-429"),
    ("opencode", "500", "transient", "agent-http-5xx"),
    ("opencode", "cut", "transient", "agent-network"),
    ("gemini", "401", "permission", "agent-http-401"),
    ("gemini", "429", "transient", "agent-rate-limit"),
    ("gemini", "500", "transient", "agent-http-5xx"),
    ("gemini", "cut", "transient", "agent-network"),
    ("qwen", "401", "permission", "agent-http-401"),
    ("qwen", "500", "transient", "agent-http-5xx"),
    ("qwen", "cut", "transient", "agent-network"),
    ("qwen", "no-key", "permission", "agent-missing-credential"),
    ("goose", "401", "permission", "agent-http-401"),
    ("goose", "429", "transient", "agent-rate-limit"),
    ("goose", "500", "transient", "agent-http-5xx"),
    ("goose", "cut", "transient", "agent-network"),
    ("aider", "401", "permission", "agent-authentication"),
    ("aider", "429", "transient", "agent-rate-limit"),
    ("aider", "500", "transient", "agent-service"),
    ("aider", "cut", "transient", "agent-service"),
    ("aider", "no-key", "permission", "agent-authentication"),
    ("mini", "401", "permission", "agent-authentication"),
    ("mini", "429", "transient", "agent-rate-limit"),
    ("mini", "500", "transient", "agent-service"),
    ("mini", "lie", "agent", "agent-error-format"),
]


@pytest.mark.requirement("agent-cli.errors")
@pytest.mark.parametrize(("kind", "story", "failure", "rule"), ERRORS)
def test_an_error_is_known_by_its_name_even_where_the_exit_code_is_0(
    kind: str, story: str, failure: str, rule: str, tmp_path: Path
) -> None:
    transcript = hear(kind, story, tmp_path, exit_code=0).transcript
    assert transcript.error is not None
    found = classify(
        Failure(
            verdict=VerdictKind.FAIL,
            agent_ending=CommandEnding.EXITED,
            agent_exit=0,
            agent_output=transcript.said,
            agent_error=transcript.error,
        )
    )
    assert (found.kind.value, found.rule) == (failure, rule)


@pytest.mark.parametrize("kind", ["codex", "opencode", "aider"])
def test_an_error_that_was_overcome_is_none(kind: str, tmp_path: Path) -> None:
    assert hear(kind, "cut-once", tmp_path).transcript.error is None


def test_the_exit_codes_of_gemini_tell_what_it_does_not_print(tmp_path: Path) -> None:
    told = (STREAMS / "gemini-no-key.stderr.txt").read_bytes()
    unset = hear(
        "gemini", "no-key", tmp_path, exit_code=41, stderr=Captured(told, length=len(told))
    )
    assert unset.transcript.error == "missing-credential"
    for code, name in {41: "authentication", 42: "invalid-request", 53: "max-turns"}.items():
        assert hear("gemini", "no-key", tmp_path, exit_code=code).transcript.error == name


def test_a_todo_list_is_the_plan_of_an_agent(tmp_path: Path) -> None:
    del tmp_path
    transcript = agent_of("codex").kind.transcript(call_of("codex"), lambda _: None)
    item = {"type": "todo_list", "items": [{"text": "Look"}, {"text": "Mend"}]}
    transcript.event({"type": "item.updated", "item": item})
    assert transcript.plan == ("Look", "Mend")


@one_fact("value", [-5, float("nan"), "1000", True, None, [], {}])
@one_fact("kind", STREAMING)
def test_usage_that_is_no_count_is_not_counted(kind: str, value: object) -> None:
    transcript = agent_of(kind).kind.transcript(call_of(kind), lambda _: None)
    for line in stream(kind, "lie").splitlines():
        transcript.event(_spoiled(json.loads(line), value))
    usage = transcript.tokens.usage(None)
    assert not usage.tokens
    assert not usage.dollars


def _spoiled(event: Any, value: object) -> Any:
    if isinstance(event, dict):
        return {name: _spoiled(each, value) for name, each in event.items()}
    if isinstance(event, list):
        return [_spoiled(each, value) for each in event]
    return value if isinstance(event, int | float) and not isinstance(event, bool) else event


WORDS = st.sampled_from(
    "type item usage message content part state input error result stats role assistant text"
    " tool_use toolRequest toolCall value arguments id properties event message_send tokens cache"
    " item.completed item.started turn.completed turn.failed thread.started agent_message complete"
    " file_change changes command_execution command step_finish init system subtype total_cost_usd"
    " modelUsage session_id sessionID delta tool_name parameters metadata todos info".split()
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | WORDS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)
LINES = st.lists(
    st.binary(max_size=40)
    | st.dictionaries(WORDS, JSON, max_size=6).map(json.dumps).map(str.encode)
)


@pytest.mark.requirement("agent-cli.readers")
@pytest.mark.parametrize("kind", KINDS)
@given(lines=LINES)
def test_no_output_whatever_breaks_a_reader(kind: str, lines: list[bytes]) -> None:
    notes: list[str] = []
    transcript = agent_of(kind).kind.transcript(call_of(kind, session="s"), notes.append)
    for line in lines:
        transcript.hear(Stream.STDOUT, line)
        transcript.hear(Stream.STDERR, line)
    transcript.end(Outcome(CommandEnding.EXITED, exit_code=1))
    usage = transcript.tokens.usage(None)
    assert (usage.tokens or 0) >= 0
    "".join((transcript.said, transcript.error or "", *notes, *transcript.plan)).encode()


def test_a_line_that_is_broken_or_huge_is_passed_over() -> None:
    transcript = agent_of("codex").kind.transcript(call_of("codex"), lambda _: None)
    whole = stream("codex", "lie").encode().splitlines()
    for line in (b'{"type": "turn.comp', b"[" * 100_000, b'{"a": "' + b"x" * 4_000_000, *whole):
        transcript.hear(Stream.STDOUT, line)
    assert transcript.said == "All done!"


@pytest.mark.parametrize("name", ["--config=x", "a b", "", "x" * 500, 7, "a\nb"])
def test_a_session_whose_name_could_be_an_option_is_none(name: object) -> None:
    transcript = agent_of("codex").kind.transcript(call_of("codex"), lambda _: None)
    transcript.event({"type": "thread.started", "thread_id": name})
    assert transcript.session is None


# -- calling ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_of_any_length_and_spelling_reaches_the_program(kind: str) -> None:
    prompt = "Ärger \U0001f600 \u2028 \x85 \x7f {home} {{task}}\n" + "long " * 100_000
    start = start_of(kind, prompt)
    assert max(len(word.encode()) for word in start.words) < 1000
    if kind == "mini":
        assert yaml.safe_load(start.files["task.yaml"]) == {"run": {"task": prompt}}
    else:
        assert start.stdin.decode() == prompt


UNASKED = {
    "codex": "--dangerously-bypass-approvals-and-sandbox --skip-git-repo-check --json",
    "claude": "--print --permission-mode bypassPermissions IS_SANDBOX=1 DISABLE_AUTOUPDATER=1",
    "opencode": "--auto --format json OPENCODE_DISABLE_AUTOUPDATE=1",
    "gemini": "--approval-mode yolo --skip-trust GEMINI_CLI_TRUST_WORKSPACE=true",
    "qwen": "--approval-mode yolo --output-format stream-json",
    "goose": "GOOSE_MODE=auto GOOSE_DISABLE_KEYRING=1 GOOSE_TELEMETRY_OFF=1",
    "aider": "--yes-always AIDER_AUTO_COMMITS=false AIDER_CHECK_UPDATE=false AIDER_ANALYTICS=false",
    "mini": "--yolo --exit-immediately MSWEA_CONFIGURED=true",
}


@pytest.mark.requirement("agent-cli.silent")
@pytest.mark.parametrize("kind", KINDS)
def test_a_program_asks_nobody_anything(kind: str) -> None:
    start = start_of(kind)
    said = {*start.words, *(f"{name}={value}" for name, value in start.environment.items())}
    assert set(UNASKED[kind].split()) <= said


@pytest.mark.requirement("run.estimated")
def test_what_a_program_would_spend_uncounted_is_switched_off() -> None:
    assert int(start_of("aider").environment["AIDER_MAX_CHAT_HISTORY_TOKENS"]) > 10**6
    assert "--title" in start_of("opencode").words


@pytest.mark.requirement("run.estimated")
@pytest.mark.parametrize(
    "ending", [CommandEnding.TIMED_OUT, CommandEnding.STOPPED, CommandEnding.EXITED]
)
def test_what_a_program_used_that_was_ended_is_estimated(
    tmp_path: Path, ending: CommandEnding
) -> None:
    transcript = hear("codex", "lie", tmp_path).transcript
    used = with_cut_off(Usage(7, None), transcript, Outcome(ending, exit_code=0))
    said = len(transcript.call.prompt) + len(transcript.said)
    guess = 0 if ending is CommandEnding.EXITED else max(1, said // 4)
    assert used == Usage(7 + guess, None, guess)


@pytest.mark.parametrize("kind", KINDS)
def test_a_model_is_passed_only_where_it_is_named(kind: str) -> None:
    words = start_of(kind, model="m").words
    assert ("--model", "m") in set(itertools.pairwise(words))
    assert "--model" not in start_of(kind).words


SERVERS = {
    "claude": {"ANTHROPIC_BASE_URL": "http://s/v1"},
    "gemini": {"GOOGLE_GEMINI_BASE_URL": "http://s/v1"},
    "qwen": {"OPENAI_BASE_URL": "http://s/v1"},
    "goose": {"OPENAI_HOST": "http://s", "OPENAI_BASE_PATH": "v1/chat/completions"},
    "aider": {"OPENAI_API_BASE": "http://s/v1"},
    "mini": {"OPENAI_API_BASE": "http://s/v1"},
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_is_named_in_the_programs_own_way(kind: str) -> None:
    start = start_of(kind, model="m", base_url="http://s/v1", env=("HOST", KEY))
    if kind == "codex":
        assert 'model_providers.planbound.base_url="http://s/v1"' in start.words
        assert f'model_providers.planbound.env_key="{KEY}"' in start.words
    elif kind == "opencode":
        (provider,) = json.loads(start.environment["OPENCODE_CONFIG_CONTENT"])["provider"].values()
        assert provider["options"] == {"baseURL": "http://s/v1", "apiKey": f"{{env:{KEY}}}"}
        assert "planbound/m" in start.words
    else:
        assert SERVERS[kind].items() <= start.environment.items()
        assert set(start.aliases.values()) == (set() if kind == "claude" else {KEY})


def test_what_an_attempt_may_cost_is_told_to_those_who_can_stop_themselves() -> None:
    cost = Decimal("1.5")
    assert start_of("claude", max_cost=cost).words[-2:] == ("--max-budget-usd", "1.5")
    words = start_of("mini", max_cost=cost).words
    assert words[words.index("--cost-limit") + 1] == "1.5"


def test_a_configuration_of_the_users_stands_for_minis_own() -> None:
    assert "mini.yaml" in start_of("mini").words
    assert "mini.yaml" not in start_of("mini", command=("mini", "-c", "own.yaml")).words


@pytest.mark.parametrize("kind", KINDS)
def test_an_option_that_a_kind_does_not_know_is_refused(kind: str) -> None:
    with pytest.raises(ConfigurationError, match="colour"):
        agent_of(kind, options={"colour": "red"})


def test_opencode_wants_a_model_for_a_server() -> None:
    with pytest.raises(ConfigurationError, match="no `model`"):
        agent_of("opencode", base_url="http://s/v1")


def test_no_link_in_a_home_is_followed(tmp_path: Path) -> None:
    home, other = tmp_path / "home", tmp_path / "other"
    home.mkdir()
    other.mkdir()
    (other / "file").write_text('{"secret": 1}')
    (home / "linked").symlink_to(other)
    (home / "link").symlink_to(other / "file")
    os.mkfifo(home / "pipe")
    put(str(home), "linked/new", b"x")
    remove(str(home), "linked/file")
    assert [path.name for path in other.iterdir()] == ["file"]
    for name in ("linked/file", "link", "pipe", "missing", "linked"):
        assert read_object(str(home), name) == {}
    put(str(home), "a/b", b'{"x": 1}')
    put(str(home), "a/b", b"not again")
    assert read_object(str(home), "a/b") == {"x": 1}


# -- as processes ----------------------------------------------------------------------------------

RIGHT = "echo right > src/one"


def prepare(bench: Bench, kind: str, *turns: Turn, settings: str = "", command: str = "") -> None:
    folder = bench.folder / "agents"
    install(folder, kind, turns)
    bench.lay(Step("Make one"))
    words = f"command = {command}\n" if command else ""
    bench.write("planbound.toml", f'[agents.coder]\nkind = "{kind}"\n{words}{settings}')
    bench.extra["PATH"] = f"{folder}:{os.environ['PATH']}"
    bench.approve()


def called(bench: Bench, kind: str) -> list[Called]:
    return calls(bench.folder / "agents", kind)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.mark.requirement("agent-cli.session")
@pytest.mark.parametrize("kind", first_always(STREAMING))
def test_who_lies_is_told_what_failed_in_the_same_session_and_pays_once(
    bench: Bench, kind: str
) -> None:
    bench.program = WITHOUT_WALLS
    lie, mend = turn(kind, "lie"), turn(kind, "resume", shell=RIGHT)
    prepare(bench, kind, lie, mend)
    bench.goes("run", "PLAN")
    first, second = called(bench, kind)
    ended = bench.log().of("ATTEMPT_ENDED")
    session = ended[0]["session"]
    assert [event["session"] for event in ended] == [session, session]
    assert [event["tokens"] for event in ended] == [1050, 2740]
    assert session in second.words
    assert (session in first.words) == (kind == "goose")
    assert "# Make one" in first.told
    assert "src/one: No such file" in second.told
    assert "# Make one" not in second.told
    assert bench.log().one("FAILURE_CLASSIFIED")["failure_type"] == "logic"


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_always(["aider", "mini"]))
def test_who_has_no_session_is_told_everything_again(bench: Bench, kind: str) -> None:
    bench.program = WITHOUT_WALLS
    lie = turn(kind, "lie" if kind == "aider" else "submit")
    mend = turn(kind, "edit", shell=RIGHT)
    prepare(bench, kind, lie, mend)
    bench.goes("run", "PLAN")
    first, second = called(bench, kind)
    assert "# Make one" in first.told
    assert "# Make one" in second.told
    assert "src/one: No such file" in second.told
    tokens = [event["tokens"] for event in bench.log().of("ATTEMPT_ENDED")]
    assert tokens[1] == (1050 if kind == "aider" else 2280)


@pytest.mark.thorough
@pytest.mark.parametrize("kind", first_always(KINDS))
def test_every_kind_works_in_a_cell(bench: Bench, kind: str) -> None:
    prepare(bench, kind, turn(kind, "edit", shell=RIGHT))
    bench.goes("run", "PLAN")
    ended = bench.log().one("ATTEMPT_ENDED")
    assert ended["tokens"] == (1050 if kind == "aider" else 2280)
    assert "Make greeting.txt" not in ended["output_tail"]


def test_the_name_that_opencode_keeps_in_git_is_not_out_of_scope(bench: Bench) -> None:
    work = f"{RIGHT}; echo name > .git/opencode"
    prepare(bench, "opencode", turn("opencode", "edit", shell=work))
    bench.goes("run", "PLAN")
    assert not bench.log().of("SCOPE_VIOLATED")


EXITS = {"codex": 1, "claude": 1, "opencode": 1, "gemini": 145, "goose": 1, "mini": 1}


@pytest.mark.parametrize("kind", first_always(KINDS))
def test_a_key_that_is_refused_ends_as_a_matter_of_permission(bench: Bench, kind: str) -> None:
    prepare(bench, kind, turn(kind, "401", exit_code=EXITS.get(kind, 0)))
    bench.goes("run", "PLAN", code=4)
    log = bench.log()
    assert log.one("FAILURE_CLASSIFIED")["failure_type"] == "permission"
    # A session in which nobody said a word is not gone on with.
    assert "session" not in log.one("ATTEMPT_ENDED").details or kind == "claude"


LOST = {
    "codex": Turn(stderr="Error: thread/resume failed: no rollout found\n", exit_code=1),
    "claude": turn("claude", "lost", exit_code=1),
    "gemini": Turn(stderr="Error resuming session: No previous sessions found\n", exit_code=42),
    "goose": Turn(stderr="Error: No session found with name 'x'\n", exit_code=1),
}


@pytest.mark.requirement("agent-cli.lost")
@pytest.mark.parametrize("kind", first_always(list(LOST)))
def test_a_session_that_is_lost_is_begun_anew_with_the_whole_prompt(
    bench: Bench, kind: str
) -> None:
    bench.program = WITHOUT_WALLS
    prepare(bench, kind, turn(kind, "lie"), LOST[kind], turn(kind, "edit", shell=RIGHT))
    bench.goes("run", "PLAN")
    _, lost, anew = called(bench, kind)
    assert "# Make one" not in lost.told
    assert "# Make one" in anew.told
    assert "src/one: No such file" in anew.told
    ended = bench.log().of("ATTEMPT_ENDED")
    assert [event["tokens"] for event in ended] == [1050, 2280]
    assert "# Make one" in ended[1]["prompt"]


@pytest.mark.thorough
def test_words_of_the_users_go_before_the_kinds_own(bench: Bench) -> None:
    bench.program = WITHOUT_WALLS
    prepare(
        bench,
        "codex",
        turn("codex", "edit", shell=RIGHT),
        command='["codex", "--profile", "mine"]',
        settings=f'env = ["{KEY}"]\n',
    )
    bench.extra[KEY] = "a value"
    bench.goes("run", "PLAN")
    (only,) = called(bench, "codex")
    assert only.words[:3] == ["--profile", "mine", "exec"]
    assert only.environment[KEY] == "a value"


@pytest.mark.thorough
def test_a_key_for_a_server_goes_under_the_name_that_the_program_wants(bench: Bench) -> None:
    bench.program = WITHOUT_WALLS
    prepare(
        bench,
        "qwen",
        turn("qwen", "edit", shell=RIGHT),
        settings=f'model = "m"\nbase_url = "http://s/v1"\nenv = ["{KEY}"]\n',
    )
    bench.extra[KEY] = "a value"
    bench.goes("run", "PLAN")
    (only,) = called(bench, "qwen")
    assert only.environment["OPENAI_API_KEY"] == "a value"
    assert only.after("--auth-type") == "openai"
    assert "a value" not in " ".join(only.words)


@pytest.mark.thorough
def test_the_trajectory_of_an_attempt_before_is_not_counted_again(bench: Bench) -> None:
    crash = Turn(stderr="Traceback: no such thing\n", exit_code=1)
    prepare(
        bench, "mini", turn("mini", "submit"), crash, turn("mini", "edit", shell=RIGHT),
    )  # fmt: skip
    bench.run("run", "PLAN")
    counted = [event["tokens"] for event in bench.log().of("ATTEMPT_ENDED")]
    assert counted[0]
    assert counted[1] is None


@pytest.mark.thorough
def test_a_passed_home_gets_no_file_of_ours(bench: Bench) -> None:
    home = bench.folder / "home"
    edited = turn("gemini", "edit", shell=RIGHT)
    prepare(bench, "gemini", edited, settings='home = "pass"\n')
    bench.goes("run", "PLAN")
    assert not (home / ".gemini").exists()
    assert agent_of("mini", home=Home.PASS).kind.start(call_of("mini", home=Home.PASS)).words[
        -2:
    ] == ("--output", "/nowhere/.config/mini-swe-agent/planbound-0123456789abcdef.traj.json")
    assert TRAJECTORY.startswith(".config/mini-swe-agent/")
