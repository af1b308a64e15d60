"""Attempts of the kind `model`: how they end, what they use, and how a session goes on."""

import json
import threading
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from planbound.agents.agent import Dispatch, Usage, Worked
from planbound.agents.kind import make_agent
from planbound.agents.model.attempt import ModelAttempt
from planbound.agents.model.options import Options
from planbound.agents.model.service import Service
from planbound.agents.model.tools import miswritten_call
from planbound.agents.output import error_kind
from planbound.cells.cell import CommandEnding, Outcome
from planbound.errors import CellProblem, ConfigurationError
from planbound.journal.words import FailureClass
from planbound.run.classify import retry_after
from planbound.workspace.agents import AgentRules, Price
from tests.agents.model_scene import KEY, ModelScene
from tests.agents.model_server import ModelServer
from tests.agents.script import Reply
from tests.agents.script import Usage as Tokens
from tests.run.bench import until

READ = Reply(tool="read", arguments={"path": "a"})


@pytest.fixture
def scene(tmp_path: Path) -> ModelScene:
    scene = ModelScene(tmp_path)
    scene.put("a", "some text\n")
    return scene


# -- how an attempt ends ---------------------------------------------------------------------------


@pytest.mark.thorough
def test_what_the_model_says_is_what_the_agent_said(scene: ModelScene) -> None:
    worked = scene.works(Reply("I look.", tool="read", arguments={"path": "a"}), Reply("Done."))

    assert worked.outcome.ending is CommandEnding.EXITED
    assert worked.outcome.exit_code == 0
    assert worked.said is not None
    assert worked.said.endswith("Done.")
    assert worked.outcome.stdout.text() == worked.said
    assert worked.told == scene.asked[0].last_user == "# Do it\n\nAll that is to know."


def test_a_blocked_model_is_not_asked_again(scene: ModelScene) -> None:
    reason = "There is no\nnetwork."
    worked = scene.works(Reply(tool="blocked", arguments={"reason": reason}), Reply("More."))

    assert worked.said == "BLOCKED: There is no network."
    assert worked.outcome.exit_code == 0
    assert len(scene.asked) == 1
    assert scene.notes == ["is blocked: There is no network."]


@pytest.mark.parametrize(
    ("reply", "error", "kind"),
    [
        (Reply(status=401), "authentication", FailureClass.PERMISSION),
        (Reply(status=403), "authentication", FailureClass.PERMISSION),
        (Reply(status=429, retry_after=7), "rate-limit", FailureClass.TRANSIENT),
        (Reply(status=500), "server-error", FailureClass.TRANSIENT),
        (Reply(status=503), "service-unavailable", FailureClass.TRANSIENT),
        (Reply("half", cut=True), "connection", FailureClass.TRANSIENT),
        (Reply(status=400, message="no such field"), "invalid-request", FailureClass.INVALID_INPUT),
        (Reply(status=404, message="no such model"), "model-not-found", FailureClass.INVALID_INPUT),
        (
            Reply(status=400, message="This model's maximum context length is 8 tokens."),
            "context-length",
            FailureClass.INVALID_INPUT,
        ),
    ],
)
def test_an_error_of_the_service_has_its_name(
    scene: ModelScene, reply: Reply, error: str, kind: FailureClass
) -> None:
    worked = scene.works(
        reply, env=("SCRIPTED_API_KEY",), environment={"SCRIPTED_API_KEY": KEY, "PATH": "/bin"}
    )

    assert worked.error == error
    known = error_kind(worked.error)
    assert known is not None
    assert known.kind is kind
    assert worked.outcome.ending is CommandEnding.EXITED
    assert worked.outcome.exit_code == 1
    assert len(scene.asked) == 1
    lines = worked.outcome.stderr.text().splitlines()
    assert retry_after(lines) == reply.retry_after
    assert ("SCRIPTED_API_KEY" in lines[-1]) == (error == "authentication")


@pytest.mark.requirement("run.estimated")
def test_a_request_that_was_cut_off_is_estimated_and_one_that_was_refused_is_not(
    scene: ModelScene,
) -> None:
    assert scene.works(Reply("half", cut=True)).usage.estimated > 0
    refused = scene.works(Reply(status=401)).usage
    assert (refused.tokens or 0, refused.estimated) == (0, 0)


def test_a_service_that_nobody_answers_for_is_a_failed_connection(scene: ModelScene) -> None:
    worked = scene.works(Reply("?"), base_url="http://127.0.0.1:9/v1")

    assert worked.error == "connection"


def test_a_service_that_repeats_the_credential_does_not_bring_it_into_the_record(
    scene: ModelScene,
) -> None:
    worked = scene.works(
        Reply(status=401, message=f"{KEY} is wrong"),
        env=("SCRIPTED_API_KEY",),
        environment={"SCRIPTED_API_KEY": KEY, "PATH": "/bin"},
    )

    assert KEY not in repr(worked)
    assert "[SCRIPTED_API_KEY] is wrong" in worked.outcome.stderr.text()


@pytest.mark.thorough
def test_a_service_that_stumbles_once_is_asked_again_by_the_client(scene: ModelScene) -> None:
    worked = scene.works(Reply(status=500), Reply("Done."), options={"retries": 1})

    assert worked.said == "Done."
    assert len(scene.asked) == 2


@pytest.mark.thorough
def test_a_slow_model_ends_when_the_time_is_up(scene: ModelScene) -> None:
    worked = scene.works(READ, Reply("Late.", delay=20), seconds=3)

    assert worked.outcome.ending is CommandEnding.TIMED_OUT
    assert worked.outcome.duration < 15
    assert worked.usage.estimated > 0
    assert worked.usage.tokens == 120 + worked.usage.estimated


@pytest.mark.thorough
def test_a_slow_command_ends_when_the_time_is_up(scene: ModelScene) -> None:
    worked = scene.works(Reply(shell="sleep 30"), Reply("Late."), seconds=3)

    assert worked.outcome.ending is CommandEnding.TIMED_OUT
    assert len(scene.asked) == 1


def test_a_run_that_has_to_stop_does_not_wait_for_the_model(scene: ModelScene) -> None:
    def stop_soon() -> None:
        model.wait_for(1)
        scene.stop.set()

    with ModelServer([Reply("Late.", delay=20)]) as model:
        waiting = threading.Thread(target=stop_soon)
        waiting.start()
        worked = scene.works(Reply("?"), base_url=f"{model.url}/v1")
        waiting.join()

    assert worked.outcome.ending is CommandEnding.STOPPED
    assert worked.outcome.reason == "told to stop"


@pytest.mark.thorough
def test_a_run_that_has_to_stop_ends_after_the_tool_that_was_at_work(scene: ModelScene) -> None:
    def stop_soon() -> None:
        until((scene.workspace / "begun").exists)
        scene.stop.set()

    waiting = threading.Thread(target=stop_soon)
    waiting.start()
    worked = scene.works(Reply(shell="touch begun; sleep 1"), Reply("Late."))
    waiting.join()

    assert worked.outcome.ending is CommandEnding.STOPPED
    assert len(scene.asked) == 1


def test_several_calls_in_one_answer_are_made_in_order_and_kept_one_by_one(
    scene: ModelScene,
) -> None:
    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        if len(messages) > 1:
            return ModelResponse([TextPart("Done.")])
        commands = ("echo one >> b", "cat b; echo two >> b", f"cat b {scene.home}/session.json")
        return ModelResponse([ToolCallPart("shell", {"command": each}) for each in commands])

    worked = converse(scene, FunctionModel(answer))

    stored = json.loads((scene.home / "session.json").read_text())
    parts = stored["messages"][2]["parts"]
    assert worked.said == "Done."
    assert parts[0]["content"] == "[exit code 0]"
    assert parts[1]["content"] == "[exit code 0]\none"
    # No tool sees what is stored.
    assert parts[2]["content"].startswith("[exit code 1]\none\ntwo\ncat: ")


def test_a_cell_that_cannot_be_made_is_no_answer_to_the_model(scene: ModelScene) -> None:
    def answer(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
        return ModelResponse([ToolCallPart("shell", {"command": "true"}) for _ in range(2)])

    def launch(dispatch: Dispatch) -> Outcome:
        if scene.launched:
            raise CellProblem("nothing can be walled off")
        scene.launched.append(dispatch)
        return Outcome(CommandEnding.EXITED, exit_code=0)

    with pytest.raises(CellProblem):
        converse(scene, FunctionModel(answer), launch=launch)

    stored = json.loads((scene.home / "session.json").read_text())
    assert list(stored["answers"].values()) == ["[exit code 0]"]


def converse(scene: ModelScene, model: FunctionModel, **assignment: Any) -> Worked:
    rules = AgentRules(name="coder", kind="model", model="scripted")
    given = scene.assignment()._replace(**assignment)
    environment = {"PATH": "/usr/bin:/bin"}
    attempt = ModelAttempt(rules, Options(), environment, given, time.monotonic())
    return attempt.run(Service(model, None))


def test_a_model_that_goes_on_and_on_ends_at_its_limit(scene: ModelScene) -> None:
    worked = scene.works(READ, Reply(tool="list"), READ, READ, options={"requests": 3})

    assert worked.error == "max-turns"
    assert len(scene.asked) == 3
    known = error_kind(worked.error)
    assert known is not None
    assert known.kind is FailureClass.AGENT


@pytest.mark.thorough
@pytest.mark.requirement("agent-model.calls")
def test_the_same_call_three_times_in_a_row_ends_the_attempt(scene: ModelScene) -> None:
    worked = scene.works(READ, READ, Reply(tool="list"), READ, READ, READ, Reply("Done."))

    assert worked.error == "no-progress"
    assert len(scene.launched) == 5
    assert "the same call 3 times in a row: reads a" in worked.outcome.stderr.text()
    known = error_kind(worked.error)
    assert known is not None
    assert known.kind is FailureClass.AGENT


CALL = '{"name": "write", "arguments": {"path": "b", "content": "right"}}'
BROKEN = '{"name": "write", "arguments": {"path": "b", "content": "ri'


@pytest.mark.requirement("agent-model.calls")
def test_a_call_that_is_written_as_text_is_corrected_and_not_taken_for_the_last_word(
    scene: ModelScene,
) -> None:
    right = Reply(tool="write", arguments={"path": "b", "content": "right"})
    worked = scene.works(Reply(f"<tool_call>{CALL}"), Reply(BROKEN), right, Reply("Done."))

    assert worked.said is not None
    assert worked.said.endswith("Done.")
    assert (scene.workspace / "b").read_text() == "right"
    assert "holds the call of a tool as text" in json.dumps(scene.asked[1].body)


@pytest.mark.requirement("agent-model.calls")
def test_a_model_that_is_corrected_twice_is_not_asked_a_fourth_time(scene: ModelScene) -> None:
    worked = scene.works(Reply(f"```json\n{CALL}\n```"))

    assert worked.error == "unexpected-model-behavior"
    assert len(scene.asked) == 3
    assert not (scene.workspace / "b").exists()
    known = error_kind(worked.error)
    assert known is not None
    assert known.kind is FailureClass.AGENT


@pytest.mark.parametrize(
    ("text", "is_call"),
    [
        (CALL, True),
        (f"I will write it:\n```\n{BROKEN}", True),
        ("{'tool': 'read', 'parameters': {'path': 'a'}}", True),
        ('<function=shell>{"command": "ls"}</function>', True),
        ('write(path="b", content="right")', True),
        ('```python\nshell("make test")\n```', True),
        ("[TOOL_CALLS] [...]", True),
        ("I wrote `b` with `write`, and ran `make test`: 3 passed.", False),
        ('The file holds {"name": "read", "version": "1.0"} now.', False),
        ('It returns {"function": "main", "arguments": []} as asked.', False),
        ("I called read(path) in a loop, and mended the list(x) below.", False),
        ("", False),
    ],
)
def test_a_call_in_text_is_told_from_words_about_the_work(text: str, *, is_call: bool) -> None:
    assert (miswritten_call(text) is not None) is is_call


@pytest.mark.thorough
def test_an_answer_has_a_length_at_most_and_a_server_is_asked_for_chat_completions(
    scene: ModelScene,
) -> None:
    done = Reply("Done.")
    scene.works(done)
    assert (scene.asked[0].dialect, scene.asked[0].body["max_tokens"]) == ("chat", 4096)
    scene.works(done, options={"settings": {"max_tokens": 77}})
    assert scene.asked[0].body["max_tokens"] == 77
    given: dict[str, Any] = {
        "env": ("SCRIPTED_API_KEY",),
        "environment": {"SCRIPTED_API_KEY": KEY},
    }
    scene.works(done, model="openai:scripted", **given)
    assert (scene.asked[0].dialect, scene.asked[0].body["max_completion_tokens"]) == ("chat", 4096)
    for model in ("scripted", "openai:scripted"):
        scene.works(done, model=model, options={"api": "responses"}, **given)
        asked = scene.asked[0]
        assert (asked.dialect, asked.body["max_output_tokens"]) == ("responses", 4096)


def test_arguments_that_do_not_fit_go_back_to_the_model(scene: ModelScene) -> None:
    worked = scene.works(Reply(tool="read", arguments={"file": "a"}), READ, Reply("Done."))

    assert worked.said == "Done."
    assert scene.asked[-1].results[-1] == "1\tsome text"


# -- what it uses ----------------------------------------------------------------------------------


def test_tokens_are_counted_and_end_the_attempt_at_the_limit(scene: ModelScene) -> None:
    scene.limit = Usage(tokens=300)

    worked = scene.works(READ)

    assert worked.outcome.ending is CommandEnding.STOPPED
    assert worked.outcome.reason == "budget: tokens"
    assert worked.usage.tokens == 360
    assert len(scene.asked) == 3


def test_a_price_of_the_configuration_makes_a_cost_and_ends_the_attempt(scene: ModelScene) -> None:
    scene.limit = Usage(dollars=Decimal("0.004"))
    price = Price(input=Decimal(10), output=Decimal(100), cached=Decimal(1))
    reply = READ._replace(usage=Tokens(input=200, output=10, cached=100))

    worked = scene.works(reply, price=price)

    assert worked.usage == Usage(420, Decimal("0.004200"))
    assert worked.outcome.reason == "budget: cost"


def test_a_model_that_nobody_has_a_price_for_has_no_cost(scene: ModelScene) -> None:
    assert scene.works(Reply("Done.")).usage == Usage(120, None)


def test_a_model_that_is_known_has_its_list_price(scene: ModelScene) -> None:
    worked = scene.works(
        Reply("Done."),
        model="openai-chat:gpt-4o",
        env=("OPENAI_API_KEY",),
        environment={"OPENAI_API_KEY": KEY, "PATH": "/bin"},
    )

    assert worked.usage == Usage(120, Decimal("0.000450"))


# -- sessions --------------------------------------------------------------------------------------


def test_a_retry_goes_on_in_the_session_of_the_attempt_before(scene: ModelScene) -> None:
    first = scene.works(READ, Reply("All done."))
    second = scene.works(Reply("Now it is."), attempt=2, session=first.session)

    assert scene.asked[0].users == ("# Do it\n\nAll that is to know.", "That was not it.")
    assert scene.asked[0].results == ("1\tsome text",)
    assert second.told == "That was not it."
    assert second.said == "Now it is."
    assert second.usage.tokens == 120


def test_a_session_of_another_agent_or_model_is_not_gone_on_with(scene: ModelScene) -> None:
    scene.works(Reply("All done."))
    scene.works(Reply("Now it is."), attempt=2, name="other")

    assert scene.asked[0].users == ("# Do it\n\nAll that is to know.",)

    scene.works(Reply("Now it is."), attempt=3, name="other", model="another")

    assert scene.asked[0].users == ("# Do it\n\nAll that is to know.",)


def test_a_session_that_is_too_long_for_the_model_is_not_gone_on_with(scene: ModelScene) -> None:
    message = "This model's maximum context length is 8 tokens."
    first = scene.works(READ, Reply(status=400, message=message))
    scene.works(Reply("Done."), attempt=2)

    assert first.session is None
    assert len(scene.asked[0].users) == 1


def test_a_session_that_cannot_be_read_begins_anew(scene: ModelScene) -> None:
    first = scene.works(Reply("All done."))
    (scene.home / "session.json").write_text("{half")

    worked = scene.works(Reply("Done."), attempt=2, session=first.session)

    assert worked.said == "Done."
    assert worked.told == "# Do it\n\nAll that is to know."


@pytest.mark.thorough
def test_an_attempt_that_was_cut_off_is_gone_on_with_and_what_it_used_is_counted(
    scene: ModelScene,
) -> None:
    first = scene.works(READ, Reply(shell="sleep 30"), seconds=3)
    stored = json.loads((scene.home / "session.json").read_text())
    second = scene.works(Reply("Done."), attempt=2)

    assert first.outcome.ending is CommandEnding.TIMED_OUT
    assert stored["used"] == [240, None]
    assert len(scene.asked) == 1
    assert scene.asked[0].results[0] == "1\tsome text"
    assert scene.asked[0].results[1].startswith("[timed out")
    assert second.usage.tokens == 360


def test_a_call_whose_end_nobody_saw_is_not_made_again(scene: ModelScene) -> None:
    scene.works(Reply(shell="echo once >> a"), Reply("Done."))
    path = scene.home / "session.json"
    stored: dict[str, Any] = json.loads(path.read_text())
    # As it is when the harness dies while the command runs.
    path.write_text(json.dumps({**stored, "messages": stored["messages"][:2], "answers": {}}))

    scene.works(Reply("Done."), attempt=2)

    assert scene.asked[0].results[0].startswith("Nobody saw the end of this call")
    assert (scene.workspace / "a").read_text() == "some text\nonce\n"


# -- what keeps it from starting -------------------------------------------------------------------


@pytest.mark.thorough
def test_a_credential_that_is_not_set_is_named_before_anybody_is_asked(
    scene: ModelScene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    named = scene.works(Reply("?"), env=("SCRIPTED_API_KEY",))
    usual = scene.works(Reply("?"), base_url=None, model="anthropic:claude-sonnet-4-5")

    assert [worked.missing for worked in (named, usual)] == [
        "SCRIPTED_API_KEY",
        "ANTHROPIC_API_KEY",
    ]
    assert named.outcome.ending is usual.outcome.ending is CommandEnding.NOT_STARTED
    assert not scene.asked


@pytest.mark.parametrize("model", ["gpt-4o", "nobody:gpt-4o"])
def test_a_model_without_a_service_does_not_start(scene: ModelScene, model: str) -> None:
    worked = scene.works(Reply("?"), base_url=None, model=model)

    assert worked.outcome.ending is CommandEnding.NOT_STARTED
    assert model in worked.outcome.reason


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of Google's client, when it is compiled
@pytest.mark.parametrize("model", ["qwen3:8b", "openai-responses:gpt-5", "google:gemini-2.5-pro"])
def test_models_are_asked_at_another_address_in_their_own_dialect(
    scene: ModelScene, model: str
) -> None:
    with ModelServer([READ, Reply("Done.")]) as server:
        is_google = model.startswith("google")
        worked = scene.works(
            Reply("?"),
            model=model,
            base_url=server.url if is_google else f"{server.url}/v1",
            env=("SCRIPTED_API_KEY",),
            environment={"SCRIPTED_API_KEY": KEY, "PATH": "/bin"},
        )

    assert worked.said == "Done."
    assert server.asked[-1].results[0].find("some text") >= 0


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"model": None}, "has no `model`"),
        ({"tools": ("read", "serch")}, "`agents.coder.tools` names `serch`"),
        ({"command": ("codex",)}, "`agents.coder.command`"),
        ({"options": {"request": 3}}, "`agents.coder.options.request`"),
        ({"options": {"requests": 0}}, "`agents.coder.options.requests` is 0"),
        ({"options": {"settings": 3}}, "`agents.coder.options.settings` is 3"),
    ],
)
def test_a_configuration_that_does_not_fit_is_refused(rules: dict[str, Any], message: str) -> None:
    given = {"model": "scripted", **rules}
    with pytest.raises(ConfigurationError) as caught:
        make_agent(AgentRules(name="coder", kind="model", **given), {})

    assert message in caught.value.message
    assert caught.value.hint


def test_a_tool_that_is_not_known_is_answered_with_those_that_are() -> None:
    with pytest.raises(ConfigurationError) as caught:
        make_agent(AgentRules(name="coder", kind="model", model="m", tools=("serch",)), {})

    assert caught.value.hint == (
        "did you mean `search`? tools are list, read, search, edit, write, shell, blocked"
    )
