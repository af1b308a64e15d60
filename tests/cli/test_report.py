"""`planbound report`, and the page of `receipt --html`."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from planbound.journal.event import (
    AttemptEnded,
    AttemptEnding,
    ContractEvaluated,
    ExecutionStarted,
    TaskStarted,
    VerdictKind,
)
from planbound.journal.redact import Redactor
from planbound.journal.sqlite import SqliteJournal
from planbound.plan.parse import parse
from planbound.session.tools import open_tools
from planbound.state.append import Recorder
from tests.receipts.hostile_plan import play
from tests.receipts.pages import Page, look_at
from tests.run.bench import Bench, Step
from tests.terminal import Typed


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    return play(tmp_path_factory.mktemp("played"))


def report_of(bench: Bench, *words: str) -> Page:
    return look_at(bench.goes("report", *words).out)


@pytest.mark.requirement("command.report")
@pytest.mark.requirement("receipts.escaped")
def test_a_report_tells_everything_and_no_text_in_it_is_more_than_text(played: Bench) -> None:
    page = report_of(played, "PLAN")
    for said in (
        "2 proved, 1 waived, 1 attested",
        "When it was approved: fail exit 2",
        "evidence E3 · isolation I2",
        "41,000 tokens, $0.041 (claimed)",
        "U+202E",
        "recipe logic 1 of 2: retry",
        "What the contracts said at the gate",
        "approved by tester",
        "by ann<b>",
        "attested: the notes are <i>right</i>",
        "+right",
        "the dashed line is the limit of 250,000",
        "hatched: 3 of 6 attempts, unknown",
        "EXECUTION_COMPLETE",
    ):
        assert said in page.text, said
    assert page.text.count("alert(1)") > 10
    assert page.count["svg"] == 2
    assert "make <b onclick=x>two</b> two" in page.text


@pytest.mark.requirement("command.report")
def test_what_is_not_proved_comes_before_everything_that_is(played: Bench) -> None:
    text = report_of(played).text
    places = [text.index(said) for said in (
        "What is not proved, and what deviates", "waived step 3 by ann<b>", "attested step 4 by",
        "holds postcondition 1", "Unknown cost: 3 attempts did not say what was used", "The plan",
    )]  # fmt: skip
    assert places == sorted(places)


@pytest.mark.requirement("receipts.escaped")
def test_an_output_of_ten_megabytes_is_shown_by_both_ends(played: Bench) -> None:
    done = played.goes("report", "PLAN")
    assert len(done.out) < 200_000
    text = look_at(done.out).text
    assert "[… of 20,000," in text or "[… of 10,000," in text
    assert text.count("alert(6)") < 1_000


@pytest.mark.requirement("command.report")
def test_the_page_of_a_receipt_is_short_and_says_the_same(played: Bench) -> None:
    done = played.goes("receipt", "--html")
    page = look_at(done.out)
    assert len(done.out) < 25_000
    for said in ("waived step 3", "step 1 make one", "pass E3 I2", "approved by tester"):
        assert said in page.text, said


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_without_a_plan_all_are_told_with_an_index_also_those_put_away(bench: Bench) -> None:
    assert "There is no plan" in report_of(bench).text
    bench.prepare(Step("make one", target="coder-one"), name="one")
    bench.goes("run", "one")
    bench.goes("archive", "one")
    bench.lay(Step("make two"), name="two")
    page = report_of(bench)
    assert "Report: 2 plans" in page.text
    assert "1 step: 1 proved" in page.text
    assert {"plan-one", "plan-two"} <= set(page.targets)
    assert "make one" in report_of(bench, "one").text


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_report_is_written_whole_or_not_at_all(bench: Bench, tmp_path: Path) -> None:
    bench.lay(Step("make one"))
    file = tmp_path / "run.html"
    file.write_text("old")
    done = bench.goes("report", "-o", str(file))
    assert (done.out, look_at(file.read_text()).levels[0]) == ("", 1)
    assert f"{file.stat().st_size:,} bytes" in done.err
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    nowhere = (tmp_path / "nowhere" / "run.html", Path("/proc/run.html"), file / "under")
    for wrong in (tmp_path, fifo, *nowhere):
        done = bench.goes("report", "-o", str(wrong), code=2)
        assert "error: " in done.err
        assert "Traceback" not in done.err
    assert fifo.is_fifo()
    assert [path.name for path in tmp_path.iterdir() if path.name.endswith(".tmp")] == []


@pytest.mark.requirement("command.report")
@pytest.mark.parametrize("words", [("report",), ("receipt", "--html")])
def test_a_page_is_not_printed_to_a_terminal(bench: Bench, words: tuple[str, ...]) -> None:
    bench.lay(Step("make one"))
    code, said = Typed(bench.workspace, bench.environment(), *words).end()
    assert code == 2
    assert "a page is nothing for a terminal" in said
    assert "-o run.html" in said
    assert "<html" not in said


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("report", "nobody"), "there is no plan `nobody`"),
        (("report", "planbound.toml"), "planbound.toml"),
        (("costs", "planbound.toml"), "planbound.toml"),
        (("report", "--json"), "--json"),
        (("receipt", "--html", "--json", "-o", "x"), "has no `--json`"),
        (("receipt", "--html", "nobody"), "nobody"),
    ],
)
def test_a_report_refuses_what_it_does_not_know(
    bench: Bench, words: tuple[str, ...], said: str
) -> None:
    bench.lay(Step("make one"))
    assert said in bench.goes(*words, code=2).err


@pytest.mark.requirement("command.report")
def test_a_report_of_a_plan_that_nobody_began_says_so(bench: Bench) -> None:
    bench.lay(Step("make one"))
    text = report_of(bench, "PLAN").text
    assert "no approval of it is on record" in text
    assert "Nothing was done about it yet." in text
    assert "as its file reads now" in text


@pytest.mark.requirement("command.report")
def test_a_report_looks_and_writes_nothing(bench: Bench) -> None:
    bench.lay(Step("make one"))
    before = bench.plan_file.read_bytes()
    report_of(bench, "PLAN")
    assert bench.plan_file.read_bytes() == before
    assert bench.log() == []


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_plan_in_the_loop_is_told_with_what_is_only_claimed(bench: Bench) -> None:
    state = str(bench.folder / "state")
    loop = open_tools(workspace=str(bench.workspace), state=state, session="s", name="mine")
    steps = [{"title": "make one", "contract": "test -e one"}, {"title": "say it"}]
    loop.plan_create("say it", steps, ["it is there"])
    (bench.workspace / "one").write_text("x")
    loop.step_update("1", "done")
    loop.step_update("2", "done", evidence="I <b>looked</b>")
    page = report_of(bench, "mine")
    for said in (
        "claimed step 2 by the agent, judged by nobody: I <b>looked</b>",
        "Not approved: no approval of it is on record",
        "not done postcondition 1",
        "Unknown cost: an agent works by itself, and nobody says what it uses",
    ):
        assert said in page.text, said
    loop.step_update("2", "in_progress")
    costs = bench.goes("costs", "mine", "--by", "agent").out
    assert "in the loop" in costs
    assert "1 unknown" in costs
    assert "Unknown cost: 1 attempt did not say what was used" in report_of(bench, "mine").text


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_an_amended_plan_is_shown_as_it_was_approved_last(bench: Bench) -> None:
    bench.prepare(Step("make one"), Step("make two", work="false"))
    bench.goes("run", "--no-input", code=4)
    bench.answer("revise")
    bench.lay(Step("make one"), Step("make three"))
    bench.goes("amend", "--as", "ann", "--reason", "two was wrong")
    bench.approve()
    bench.goes("run")
    page = report_of(bench)
    assert "The approved plan was changed on the way: revision 2 by ann: two was wrong" in page.text
    assert "revise by tester" in page.text
    assert "2. make three" in page.text
    assert "2. make two" not in page.text


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_judge_that_a_step_changed_is_shown_with_its_difference(bench: Bench) -> None:
    bench.write("src/check.sh", "grep -qx right src/one\n")
    work = "echo right > src/one; echo '# <b>weaker</b>' >> src/check.sh"
    contract = "sh src/check.sh"
    bench.prepare(Step("make one", work=work, contract=contract, touches="src/one src/check.sh"))
    bench.goes("run")
    page = report_of(bench)
    said = "The agent could edit a judge step 1: src/check.sh"
    assert said in page.text
    assert "Judges that changed since the approval: 1" in page.text
    assert page.text.count("+# <b>weaker</b>") == 2  # of the step, and of the judges


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_of_very_many_events_and_attempts_both_ends_are_shown(bench: Bench) -> None:
    bench.lay(*(Step(f"make n{number}") for number in range(120)))
    tell_of_many(bench, attempts=30)
    done = bench.goes("report")
    text = look_at(done.out).text
    assert len(done.out) < 3_000_000
    assert "events are left out" in text
    assert "attempts in between are left out" in text
    assert "more rows are left out" in text
    assert "the middle is left out" in text


def tell_of_many(bench: Bench, attempts: int) -> None:
    """Put on record that the first steps were tried very often, and printed very much."""
    journal = SqliteJournal(str(bench.folder / "state" / "journal.sqlite"))
    redactor = Redactor({}, ())
    recorder = Recorder(journal, redactor=redactor, now=lambda: "2026-11-15T09:00:00.000000Z")
    plan = parse(bench.plan_file.read_bytes(), path="PLAN")
    ids = recorder.step_ids(plan)
    drafts = [recorder.draft(ExecutionStarted(run="r", nonce="n"), "PLAN", key="begun")]
    tail = "x" * 60 + " <b>\u202e</b>\n"
    for step in plan.steps[:30]:
        task = (ids[step.label], step.title)
        for number in range(1, attempts + 1):
            key = f"{step.label} {number}"
            about: dict[str, Any] = {"number": step.label, "run": "r", "attempt": number}
            begun = TaskStarted(agent="coder", **about)
            ended = AttemptEnded(ending=AttemptEnding.EXITED, agent="coder", tokens=9, **about)
            judged = ContractEvaluated(
                verdict=VerdictKind.FAIL, exit_code=1, output_head=tail * 15,
                output_tail=tail * 60, output_size=10_000_000, **about,
            )  # fmt: skip
            drafts += [recorder.draft(each, "PLAN", key=key, task=task)
                       for each in (begun, ended, judged)]  # fmt: skip
    journal.append(drafts)
    journal.close()


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_secrets_of_files_and_plans_stay_out_of_a_report(bench: Bench) -> None:
    secret = "ghp_" + "a1B2" * 9
    bench.prepare(
        Step("make one", work=f"echo {secret} > src/one", contract="test -s src/one"),
        fields=f"**Context:** The token is {secret}.\n",
    )
    bench.goes("run")
    done = bench.goes("report")
    assert secret not in done.out
    assert done.out.count("[redacted:github-token]") >= 3  # context, text, difference


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_text_that_is_lost_is_said_to_be_lost(bench: Bench) -> None:
    bench.prepare(Step("make one"))
    bench.goes("run")
    for name in ("vault.sqlite", "vault.sqlite.lock"):
        (bench.folder / "state" / name).unlink(missing_ok=True)
    text = report_of(bench).text
    assert "as its file reads now" in text
    assert "not kept any more" in text
    shutil.rmtree(bench.workspace / ".harness")
    text = report_of(bench, "PLAN").text
    assert "neither its file nor a copy is there" in text
    assert "EXECUTION_COMPLETE" in text


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_file_with_a_name_of_any_bytes_is_in_a_report(bench: Bench) -> None:
    bench.prepare(
        Step("make one", work=r"""printf x > $'src/\xff<b>\e\n'""", touches="src/*",
             contract=r"""test -e $'src/\xff<b>\e\n'"""),
    )  # fmt: skip
    bench.goes("run")
    assert "<b>U+001B" in report_of(bench).text


@pytest.mark.thorough
@pytest.mark.requirement("command.report")
def test_a_plan_of_many_steps_gives_a_page_of_a_size_that_opens(bench: Bench) -> None:
    steps = [Step(f"make n{number}", work="true") for number in range(300)]
    bench.lay(*steps)
    done = bench.goes("report")
    page = look_at(done.out)
    assert page.count["article"] == 301
    assert len(done.out) < 1_000_000


@pytest.mark.requirement("command.report")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe\x00binary",
        b"---\ntype: plan\n",
        b"# T\n\n## Steps\n\n### 3-N. Many\n\n### 1. a\n\n### 1. a\n\n### . <b>\n",
        b"# " + b"x" * 200_000,
        b"# T\n\n## Steps\n\n### 1. a\n\n**touches:**\n- ../x\n- /etc/[a\n",
    ],
)
def test_a_plan_that_is_wrong_is_shown_as_far_as_it_can_be(bench: Bench, data: bytes) -> None:
    bench.lay(Step("make one"))
    bench.plan_file.write_bytes(data)
    report_of(bench, "PLAN")
    report_of(bench)
    look_at(bench.goes("receipt", "--html", "PLAN").out)
    bench.goes("status", "PLAN")
