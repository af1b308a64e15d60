"""Answering questions of runs on the page."""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.page.browser import RunningServer, hidden_fields, serving
from tests.run.bench import NOTHING, Bench, Step, until

USAGE = """echo 'planbound-usage: {"tokens": 900, "dollars": 0.09}'; echo right > src/"""


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return Bench(tmp_path_factory.mktemp("asked"))


@pytest.fixture(scope="module")
def page(bench: Bench) -> Iterator[RunningServer]:
    with serving(bench, "--decide-anyway") as running:
        running.enter()
        yield running


def stuck(bench: Bench, name: str) -> str:
    """Let a run come to a question about its step; return the id of the question."""
    step = Step(f"make {name}", target=f"coder-{name}", fields="**on_fail:** escalate",
                work=("echo nearly > src/x; echo tried hard",
                      f"told 'try harder' && echo right > src/{name}"),
                touches=f"src/{name} src/x",
                contract=f"cat src/x; grep -qx right src/{name}")  # fmt: skip
    bench.prepare(step, name=name)
    bench.goes("run", name, code=4)
    return str(bench.question(name)["id"])


@pytest.mark.requirement("page.inbox")
def test_a_question_has_its_evidence_beside_it_and_is_answered_with_guidance(
    bench: Bench, page: RunningServer
) -> None:
    question = stuck(bench, "one")
    shown = page.get("/inbox?plan=one").text
    assert "1 question waits for a person" in shown
    assert "nearly" in shown, "the end of the output is there"
    done = page.submit("/inbox", f"/inbox/{question}", choice="retry", guidance="try harder",
                       by="mara")  # fmt: skip
    assert done.status == 303, done.text
    said = bench.log("one").of("RECOVERY_ESCALATION")[-1].details
    assert (said["user_decision"], said["by"], said["method"]) == ("retry", "mara", "page")
    answered = page.get("/inbox?plan=one").text
    assert "Nothing waits for a person" in answered
    assert "planbound resume one" in answered, "what is to be done next is said"
    assert "<code>planbound resume one</code> goes on" in page.get("/plan/one/run").text
    bench.goes("resume", "one")
    assert bench.phases("one") == ["done"]
    assert "planbound resume" not in page.get("/inbox?plan=one").text


@pytest.mark.requirement("page.inbox")
def test_of_two_who_answer_at_once_one_is_told_what_became(
    bench: Bench, page: RunningServer
) -> None:
    question = stuck(bench, "two")
    action = f"/inbox/{question}"
    fields = hidden_fields(page.get("/inbox").text, action)
    forms = [{**fields, "by": who, "choice": what}
             for who, what in (("mara", "retry"), ("ben", "abort"))]  # fmt: skip
    with ThreadPoolExecutor(2) as together:
        answers = list(together.map(lambda form: page.post(action, form), forms))
    assert sorted(each.status for each in answers) == [303, 409]
    (late,) = (each for each in answers if each.status == 409)
    assert "does not wait any more" in late.text
    assert "What happened meanwhile" in late.text
    decided = [each for each in bench.log("two").of("RECOVERY_ESCALATION")
               if each.details.get("user_decision")]  # fmt: skip
    assert len(decided) == 1


@pytest.mark.requirement("page.inbox")
def test_a_waiver_asks_for_its_reason_twice(bench: Bench, page: RunningServer) -> None:
    question = stuck(bench, "three")
    action = f"/inbox/{question}/waive"
    once = page.submit("/inbox", action, reason="the vendor is gone", by="mara")
    assert once.status == 200
    assert "once more" in once.text
    fields = {**hidden_fields(once.text, action), "by": "mara"}
    assert fields["reason"] == "the vendor is gone"
    assert 'name="by" value="mara"' in once.text, "the name that was typed stays"
    other = page.post(action, {**fields, "again": "whatever"})
    assert other.status == 422
    assert bench.log("three").of("WAIVED") == []
    done = page.post(action, {**fields, "again": "the vendor is gone"})
    assert done.status == 303, done.text
    waived = bench.log("three").one("WAIVED").details
    assert (waived["by"], waived["method"], waived["reason"]) == (
        "mara", "page", "the vendor is gone",
    )  # fmt: skip


@pytest.mark.requirement("page.inbox")
def test_somebody_attests_by_a_button(bench: Bench, page: RunningServer) -> None:
    step = Step("make sure", target="coder-four", work=NOTHING, attest="the label is right")
    bench.prepare(step, name="four")
    bench.goes("run", "four", code=4)
    question = bench.question("four")["id"]
    done = page.submit("/inbox", f"/inbox/{question}", choice="attest", by="mara")
    assert done.status == 303, done.text
    said = bench.log("four").one("ATTESTED").details
    assert (said["by"], said["method"], said["statement"]) == (
        "mara", "page", "the label is right",
    )  # fmt: skip


@pytest.mark.requirement("page.inbox")
def test_more_of_the_budget_is_allowed_where_it_is_said_how_much(
    bench: Bench, page: RunningServer
) -> None:
    steps = [Step(f"make {name}", target="coder-five", work=USAGE + name) for name in ("f", "g")]
    bench.prepare(*steps, name="five", fields="**Budget:** 1,000 tokens")
    bench.goes("run", "five", code=4)
    action = f"/inbox/{bench.question('five')['id']}"
    empty = page.submit("/inbox", action, choice="raise", by="mara")
    assert (empty.status, "how much more?" in empty.text) == (409, True)
    wrong = page.submit("/inbox", action, choice="raise", by="mara", budget="lots")
    assert wrong.status == 409
    done = page.submit("/inbox", action, choice="raise", by="mara", budget="10k tokens")
    assert done.status == 303, done.text
    raised = bench.log("five").one("BUDGET_RAISED").details
    assert (raised["tokens"], raised["method"]) == (10_000, "page")


@pytest.mark.requirement("page.inbox")
def test_a_run_is_cancelled_on_its_page(bench: Bench, page: RunningServer) -> None:
    waits = Step("make six", target="coder-six", work="touch src/begun; exec sleep 600",
                 touches="src/six src/begun")  # fmt: skip
    bench.prepare(waits, name="six")
    with bench.start("run", "six") as run:
        until(lambda: bool(bench.log("six").of("TASK_STARTED")))
        done = page.submit("/plan/six/run", "/plan/six/cancel", by="mara", reason="wrong plan")
        assert done.status == 303, done.text
        run.wait(timeout=60)
    said = bench.log("six").one("EXECUTION_CANCELLED").details
    assert (said["by"], said["method"], said["reason"]) == ("mara", "page", "wrong plan")
    assert 'action="/plan/six/cancel"' not in page.get("/plan/six/run").text


@pytest.mark.requirement("page.inbox")
def test_an_approval_that_waits_leads_to_the_gate(bench: Bench, page: RunningServer) -> None:
    bench.lay(Step("make seven", target="coder-seven"), name="seven")
    bench.goes("approve", "seven", code=4)
    shown = page.get("/inbox?plan=seven").text
    assert 'href="/plan/seven/gate"' in shown
    assert re.search(r'action="/inbox/\w+"', shown) is None


@pytest.mark.requirement("page.decides")
def test_a_plan_that_was_put_away_is_shown_and_not_decided_about(
    bench: Bench, page: RunningServer
) -> None:
    step = Step("make away", target="coder-away", work=("echo x > src/away",),
                touches="src/away", contract="test -e src/away")  # fmt: skip
    bench.prepare(step, name="away")
    bench.goes("run", "away")
    bench.goes("archive", "away")
    assert page.get("/plan/away").status == 200
    for place in ("gate", "edit", "review"):
        answer = page.get(f"/plan/away/{place}")
        assert answer.status == 404
        assert "was put away: nothing is decided about it any more" in answer.text
    assert "There is no plan `nobody`" in page.get("/plan/nobody/gate").text
