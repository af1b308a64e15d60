"""What people decide about a run, and how they follow it."""

from __future__ import annotations

import json
import re
import shutil
import signal
import sys
from dataclasses import replace

import pytest

from planbound.journal.event import EVENTS, EventKind, RunOutcome, fields_of
from planbound.journal.record import Details, Draft
from planbound.journal.sqlite import SqliteJournal
from planbound.session.tools import open_tools
from planbound.state.plan import plan_state
from tests.journal import sample
from tests.run.bench import NOTHING, Bench, Step, until
from tests.tables import first_always


@pytest.mark.thorough
@pytest.mark.requirement("command.inbox", "command.answer")
def test_a_question_is_in_the_inbox_until_it_is_answered_once(bench: Bench) -> None:
    bench.prepare(
        Step("make a"),
        Step("make b", work=(NOTHING, "told 'try harder' && echo right > src/b")),
        fields="",
    )
    text = bench.plan_file.read_text().replace(
        "**task:** Write", "**on_fail:** escalate\n**task:** Write"
    )
    bench.write(".harness/PLAN.md", text)
    bench.approve()
    bench.goes("run", code=4)
    listed = bench.goes("inbox")
    (item,) = bench.goes("inbox", "--json").json["waiting"]
    assert item["id"] in listed.out
    assert item["choices"] == ["retry", "skip", "abort", "revise"]
    shown = bench.goes("inbox", item["id"][:5])
    assert "make b" in shown.out
    bench.goes("answer", item["id"], "nonsense", "--as", "tester", code=2)
    assert "it is not said who decides" in bench.goes("answer", item["id"], "retry", code=2).err
    bench.goes("answer", item["id"], "retry", "--guidance", "try harder", "--as", "tester")
    assert "it was answered" in bench.goes("answer", item["id"], "abort", "--as", "x", code=2).err
    assert bench.goes("inbox").out == "nothing waits for a person\n"
    bench.goes("resume")
    assert bench.phases() == ["done", "done"]
    assert "try harder" in bench.log().of("ATTEMPT_ENDED", number="2")[-1]["prompt"]


@pytest.mark.thorough
@pytest.mark.requirement("loop.undone")
def test_a_question_stays_while_an_agent_looks_at_a_file_that_was_changed(bench: Bench) -> None:
    bench.prepare(Step("make a", work="exit 3", fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    question, text = bench.question(), bench.plan_file.read_text()
    loop = open_tools(
        workspace=str(bench.workspace), state=str(bench.folder / "state"), session="s", name="PLAN"
    )
    for words in ("# Do other work", "# Do the work"):
        bench.write(".harness/PLAN.md", text.replace("# Do the work", words))
        assert loop.plan_show().ok
        assert bench.question() == question
    assert len(bench.log().of("PLAN_REWRITTEN")) == 2
    bench.agent("coder", Step("make a"))
    bench.answer("retry", "--as", "tester")
    bench.goes("resume")
    assert bench.phases() == ["done"]


@pytest.mark.thorough
def test_an_answer_that_is_not_among_the_choices_is_refused(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=NOTHING, fields="**on_fail:** escalate"),
        Step("make b"),
    )
    bench.goes("run", code=4)
    assert bench.question()["choices"] == ["retry", "skip", "abort", "revise"]
    assert "cannot be answered with `raise`" in bench.answer("raise", code=2).err
    assert bench.phases() == ["waiting", "pending"]


@pytest.mark.requirement("command.amend", "run.amended")
def test_an_amendment_keeps_what_is_proved_and_goes_through_the_gate(bench: Bench) -> None:
    bench.prepare(
        Step("make a"),
        Step("make b", work=NOTHING, fields="**on_fail:** escalate"),
    )
    bench.goes("run", code=4)
    assert "as it was approved" in bench.goes("amend", "--as", "tester", code=3).err
    before = bench.plan_file.read_text()
    # What is proved cannot be changed.
    bench.write(".harness/PLAN.md", before.replace("grep -qx right src/a", "grep -q r src/a"))
    assert "is settled and cannot be changed" in bench.goes("amend", "--as", "me", code=2).err
    bench.write(".harness/PLAN.md", before.replace("src/b", "src/c").replace("make b", "make c"))
    assert "digest changed" in bench.goes("run", code=2).err
    said = bench.goes("amend", "--as", "tester", "--json").json
    assert (said["revision"], said["kept"]) == (2, ["make-a"])
    assert (said["added"], said["dropped"]) == (["make-c"], ["make-b"])
    assert "is not approved" in bench.goes("run", code=2).err
    # The id of the step that is gone is not used again.
    bench.agent("coder", Step("make a"), Step("make c"))
    bench.approve()
    bench.goes("run")
    log = bench.log()
    assert [each["modifications"] for each in log.of("GATE_APPROVED")] == [
        [],
        ["amend to revision 2"],
    ]
    assert len(log.of("TASK_STARTED", number="1")) == 1
    assert log.of("EXECUTION_COMPLETE")[-1]["completed"] == 2
    assert bench.status()["revision"] == 2
    assert bench.verifies()


@pytest.mark.thorough
@pytest.mark.requirement("run.amended")
def test_ids_of_steps_that_are_gone_are_not_used_again(bench: Bench) -> None:
    bench.prepare(Step("make a"), Step("make b", work=NOTHING, fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    first = bench.plan_file.read_text()
    bench.write(".harness/PLAN.md", first.replace("make b", "make c").replace("src/b", "src/c"))
    bench.goes("amend", "--as", "tester")
    bench.agent("coder", Step("make a"), Step("make c", work=NOTHING))
    bench.approve()
    bench.goes("run", code=4)
    again = bench.plan_file.read_text()
    bench.write(".harness/PLAN.md", again.replace("make c", "make b"))
    assert "ids are not used again" in bench.goes("amend", "--as", "tester", code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("run.amended")
def test_who_approves_a_changed_plan_under_way_keeps_what_is_proved(bench: Bench) -> None:
    bench.prepare(Step("make a"), Step("make b", work=NOTHING, fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    assert "is under way" in bench.goes("approve", "PLAN", "--as", "me", code=3).err
    text = bench.plan_file.read_text()
    bench.write(".harness/PLAN.md", text.replace("src/b", "src/c").replace("make b", "make c"))
    bench.agent("coder", Step("make a"), Step("make c"))
    bench.approve()
    assert bench.phases() == ["done", "pending"]
    bench.goes("run")
    assert len(bench.log().of("TASK_STARTED", number="1")) == 1


@pytest.mark.thorough
@pytest.mark.requirement("command.cancel")
def test_a_cancelled_run_stops_its_agent_and_is_over(bench: Bench) -> None:
    bench.prepare(Step("make a", work="touch src/a; sleep 900"), Step("make b"))
    with bench.start("run") as process:
        until((bench.workspace / "src" / "a").exists)
        said = bench.goes("cancel", "--as", "tester", "--json").json
        assert "process" in said["holder"]
        assert process.wait(20) == 1
    bench.ends_all()
    log = bench.log()
    assert log.last.kind == "EXECUTION_COMPLETE"
    assert log.last["status"] == "cancelled"
    assert "already used" in bench.goes("run", code=2).err
    assert bench.goes("cancel", "--as", "tester", code=3).err.startswith("nothing to do")
    bench.approve()
    assert bench.status()["status"] == "approved"


@pytest.mark.requirement("command.cancel")
def test_a_run_that_nobody_drives_is_cancelled_too(bench: Bench) -> None:
    bench.prepare(Step("make a", work=NOTHING, fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    bench.goes("cancel", "--as", "tester")
    log = bench.log()
    assert log.kinds[-3:] == ["TASK_FAILED", "FAILURE_CLASSIFIED", "EXECUTION_COMPLETE"]
    assert bench.goes("inbox").out == "nothing waits for a person\n"


@pytest.mark.requirement("command.attach")
def test_a_run_goes_to_the_background_and_is_followed(bench: Bench) -> None:
    waits = "until [ -e src/go ]; do sleep 0.05; done; echo right > src/a"
    bench.prepare(Step("make a", work=waits, touches="src/a src/go"), Step("make b"))
    pid = bench.goes("run", "--detach", "--json").json["pid"]
    assert bench.status()["holder"].startswith(f"process {pid} ")
    bench.write("src/go", "")
    followed = bench.goes("attach")
    assert re.search(r"\[Task 2/2\] ✓ make b: contract passed", followed.out)
    assert "2/2 proved" in followed.out.splitlines()[-1]
    events = [json.loads(line)["event"] for line in bench.goes("attach", "--json").out.splitlines()]
    assert events[0] == "EXECUTION_STARTED"
    assert events[-1] == "EXECUTION_COMPLETE"


@pytest.mark.thorough
@pytest.mark.requirement("command.attach")
def test_a_run_in_the_background_waits_for_its_answer(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=(NOTHING, "echo right > src/a"), fields="**on_fail:** escalate"),
    )
    bench.goes("run", "--detach")
    until(lambda: bool(bench.status()["waiting"]))
    bench.answer("retry")
    until(lambda: bench.status()["status"] == "done")
    # The time that it waited for a person is not counted as work.
    log = bench.log()
    assert log.of("EXECUTION_PAUSED", reason="waiting")


def test_a_refusal_of_a_run_in_the_background_is_told(bench: Bench) -> None:
    bench.lay(Step("make a"))
    assert "is not approved" in bench.goes("run", "--detach", code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("command.attach")
def test_leaving_a_run_that_is_followed_does_not_end_it(bench: Bench) -> None:
    bench.prepare(Step("make a", work="sleep 1.5; echo right > src/a"))
    bench.goes("run", "--detach")
    with bench.start("attach") as process:
        assert process.stdout is not None
        assert b"[Task 1/1]" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 130
    until(lambda: bench.status()["status"] == "done")


@pytest.mark.requirement("command.waive", "command.attest", "run.attested")
def test_waivers_and_attestations_are_peoples_and_named(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=NOTHING, fields="**on_fail:** escalate"),
        Step("ask b", work=NOTHING, attest="the numbers are right"),
    )
    bench.goes("run", code=4)
    assert "no step" in bench.goes("waive", "PLAN", "7", "--reason", "r", "--as", "x", code=2).err
    bench.goes("waive", "PLAN", "1", "--reason", " ", "--as", "x", code=2)
    assert "nobody attests" in bench.goes("attest", "PLAN", "1", "--as", "x", code=2).err
    bench.goes("waive", "PLAN", "1", "--reason", "known trouble", "--as", "ada")
    assert "already" in bench.goes("waive", "PLAN", "1", "--reason", "r", "--as", "x", code=3).err
    bench.goes("resume", code=4)
    assert "the numbers are right" in bench.goes("attest", "PLAN", "2", "--as", "bob").out
    last = bench.goes("resume").out.splitlines()[-1]
    assert last.startswith("0/2 proved, 1 attested, 1 waived")
    log = bench.log()
    assert log.one("WAIVED")["by"] == "ada"
    assert log.one("ATTESTED")["statement"] == "the numbers are right"
    assert "🟡 make a" in bench.plan_file.read_text()
    # One word each, everywhere: what a person took on is attested, and not proved.
    assert "🖋️ ask b" in bench.plan_file.read_text()
    assert (log.last["completed"], log.last["attested"], log.last["waived"]) == (0, 1, 1)
    assert "0/2 proved, 1 attested" in bench.goes("status").out
    told = bench.status()
    assert (told["proved"], told["attested"]) == (0, 1)
    assert bench.phases() == ["waived", "attested"]
    assert "[done]  0/2 steps, 1 attested" in bench.goes("list").out
    (line,) = bench.goes("list", "--json").json
    assert (line["done"], line["holds"], line["attested"], line["status"]) == (0, 0, 1, "done")
    assert "1 attested" in bench.read(".harness/progress.md")


@pytest.mark.requirement("command.status", "command.resume")
def test_status_and_resume_find_what_was_stopped(bench: Bench) -> None:
    assert bench.goes("resume", code=3).err.startswith("nothing to do")
    slow = Step("make a", work="touch src/x; sleep 900", target="coder-one")
    bench.prepare(slow, name="one")
    bench.prepare(Step("make b", target="coder-two"), name="two")
    with bench.start("run", "one") as process:
        until((bench.workspace / "src" / "x").exists)
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 130
    found = bench.goes("status", "one")
    assert "in-progress (interrupted)" in found.out
    said = bench.goes("status", "one", "--json").json
    assert {"slug", "status", "revision", "steps", "waiting"} <= said.keys()
    assert {"number", "status", "attempts", "verdict"} <= said["steps"][0].keys()
    assert "`planbound resume one`" in bench.goes("run", "two").err
    bench.agent("coder-one", replace(slow, work=""))
    assert "going on with run" in bench.goes("resume").err


@pytest.mark.thorough
@pytest.mark.requirement("command.run")
def test_lines_on_a_pipe_are_plain_and_have_the_promised_form(bench: Bench) -> None:
    bench.prepare(Step("make a"), Step("make b", work=(NOTHING, "echo right > src/b")))
    out = bench.goes("run").out
    form = re.compile(r"\[(?:Task \d+/2|Postcondition \d+)\] [✓✗↻…] .+")
    *lines, last = out.splitlines()
    assert all(form.fullmatch(line) for line in lines), out
    assert "↻ make b: logic error, retry 1 of 2 with the failure in the prompt" in out
    assert re.fullmatch(r"2/2 proved, 0 waived, 1/1 postconditions\. 1 recovery\. .+ s\.", last)
    assert "\x1b" not in out
    assert bench.goes("run", code=3).err.startswith("nothing to do")


@pytest.mark.thorough
@pytest.mark.requirement("command.run")
def test_run_for_programs_says_where_the_plan_is(bench: Bench) -> None:
    bench.prepare(Step("make a"))
    said = bench.goes("run", "--json").json
    assert (said["status"], said["exit_code"]) == ("done", 0)


def test_a_step_without_an_agent_is_refused_before_anything_runs(bench: Bench) -> None:
    bench.lay(Step("make a"), Step("make b", target="reviewer"))
    bench.write("planbound.toml", bench.settings + "[roles.reviewer]\n")
    bench.approve()
    done = bench.goes("run", code=2)
    assert "there is no agent for `reviewer`" in done.err
    assert "EXECUTION_STARTED" not in bench.log().kinds


def test_a_number_of_jobs_that_cannot_be_is_refused(bench: Bench) -> None:
    bench.prepare(Step("make a"))
    for jobs in ("0", "-1", "65", "many"):
        bench.goes("run", "--jobs", jobs, code=2)


@pytest.mark.requirement("inbox.agent-output")
def test_what_an_agent_printed_is_live_on_demand_and_its_end_in_the_inbox(bench: Bench) -> None:
    says = "echo '    I  look at it'; echo 'not quite there' >&2; yes blah | head -5000"
    says += "; echo wrong > src/a"
    bench.prepare(
        Step("make a", work=says, contract="echo judged; grep -qx right src/a",
             fields="**on_fail:** escalate"),
    )  # fmt: skip
    done = bench.goes("run", "--verbose", code=4)
    assert "step 1:     I  look at it" in done.err, "code can be read"
    assert "step 1: not quite there" in done.err
    assert done.err.count("blah") < 1000, "nobody can read all of it"
    question = bench.question()
    assert question["output_tail"].strip() == "judged"
    assert question["agent_tail"].strip().endswith("not quite there")
    shown = bench.goes("inbox", question["id"]).out
    assert "  the agent printed:\n" in shown
    assert "    blah\n" in shown


@pytest.mark.requirement("dispatch.blocked")
def test_an_agent_that_says_it_is_blocked_has_to_try_once_and_then_a_person_is_asked(
    bench: Bench,
) -> None:
    says = "echo 'BLOCKED: the price list is not in the repository'"
    bench.prepare(Step("make a", work=says, fields="**on_fail:** retry(5)"))
    shown = bench.goes("run", code=4).out
    assert "is blocked: the price list is not in the repository, retry 1 of" in shown
    question = bench.question()
    assert "blocked: the price list is not in the repository" in question["reason"]
    assert "BLOCKED: the price list" in question["output_tail"]
    log = bench.log()
    first, second = log.of("FAILURE_CLASSIFIED")
    assert (first["failure_type"], second["failure_type"]) == ("logic", "blocked")
    assert first["rule"] == second["rule"] == "agent-blocked"
    assert "answered BLOCKED, and changed nothing" in log.of("ATTEMPT_ENDED")[1]["prompt"]
    bench.answer("retry")
    bench.goes("resume", code=4)
    assert len(bench.log().of("TASK_STARTED")) == 4, "counted anew after an answer"


@pytest.mark.thorough
def test_an_agent_that_gave_up_may_still_do_it_and_work_that_fails_is_work(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=("echo BLOCKED: the test fails", "echo right > src/a")),
        Step("make b", work="echo $attempt > src/b; echo BLOCKED: it fails"),
    )
    bench.goes("run", code=4)
    log = bench.log()
    assert len(log.of("TASK_STARTED", number="1")) == 2
    assert [each["rule"] for each in log.of("FAILURE_CLASSIFIED", number="2")] == [
        "contract-failed"
    ] * 3


@pytest.mark.thorough
def test_a_pass_counts_whatever_the_agent_says(bench: Bench) -> None:
    bench.prepare(Step("make a", work="echo right > src/a; echo BLOCKED; exit 7"))
    bench.goes("run")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("choice", "status"),
    first_always([("abort", "failed"), ("revise", "draft")], fields=2),
    ids=["abort", "revise"],
)
def test_a_decision_that_ends_a_run_needs_nobody_to_drive_it(
    bench: Bench, choice: str, status: str
) -> None:
    bench.prepare(Step("make a", work=NOTHING, fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    bench.answer(choice)
    assert bench.log().last.kind == "EXECUTION_COMPLETE"
    assert bench.status()["status"] == status
    assert f"status: {status}" in bench.plan_file.read_text()


@pytest.mark.thorough
@pytest.mark.requirement("run.amended")
def test_a_judge_that_a_person_changed_is_approved_anew_and_proofs_stay(bench: Bench) -> None:
    bench.write("check.sh", "grep -qx right src/a\n")
    bench.prepare(
        Step("make a", contract="bash check.sh"),
        Step("make b", work=(NOTHING, "echo right > src/b"), fields="**on_fail:** escalate"),
    )
    bench.goes("run", code=4)
    bench.write("check.sh", "grep -q right src/a\n")
    bench.answer("retry")
    assert "judge changed: check.sh" in bench.goes("resume", code=2).err
    bench.agent("coder", Step("make a"), Step("make b"))
    bench.approve()
    assert bench.phases() == ["done", "pending"]
    bench.goes("run")
    log = bench.log()
    assert len(log.of("TASK_STARTED", number="1")) == 1
    assert log.of("CONTRACT_EVALUATED", number="1", final=True)[-1]["verdict"] == "pass"


@pytest.mark.thorough
def test_an_answer_to_a_question_that_was_settled_otherwise_changes_nothing(bench: Bench) -> None:
    bench.prepare(
        Step("make a", work=NOTHING, fields="**on_fail:** escalate"),
        Step("make b", depends="none"),
    )
    bench.goes("run", code=4)
    asked = bench.question()["id"]
    bench.goes("waive", "PLAN", "1", "--reason", "known", "--as", "ada")
    bench.goes("answer", asked, "abort", "--as", "bob", code=2)
    bench.goes("resume")
    assert bench.phases() == ["waived", "done"]


@pytest.mark.thorough
def test_an_agent_decides_nothing(bench: Bench) -> None:
    program = f"{sys.executable} -m planbound"
    tries = (
        f"{program} approve PLAN --digest 000000000000 --as me",
        f"{program} answer x retry --as me",
        f"{program} waive PLAN 1 --reason r --as me",
        f"{program} attest PLAN 1 --as me",
        f"{program} amend --as me",
        f"{program} cancel --as me",
        f"{program} run",
    )
    work = "; ".join(f"{each} 2>&1 | head -1" for each in tries)
    bench.prepare(Step("make a", work=f"{work}; echo right > src/a"))
    bench.goes("run")
    said = bench.log().one("ATTEMPT_ENDED")["output_tail"]
    assert said.count("this is the inside of a cell") == len(tries), said


@pytest.mark.requirement("status.cancelled")
def test_a_cancelled_plan_is_not_listed_as_failed(bench: Bench) -> None:
    bench.prepare(Step("make a", work="true", fields="**on_fail:** escalate"), after=())
    bench.goes("run", code=4)
    bench.goes("cancel", "--as", "tester")
    (listed,) = bench.goes("list", "--json").json
    assert listed["status"] == "cancelled"
    assert "cancelled" in bench.goes("standup").out
    assert "status: cancelled\n" in bench.plan_file.read_text()
    assert "failed" not in bench.goes("list").out
    assert "`planbound approve PLAN`" in bench.goes("run", code=2).err
    bench.approve()
    assert bench.goes("list", "--json").json[0]["status"] == "approved"


@pytest.mark.thorough
def test_other_runs_are_told_by_what_they_wait_for_and_by_a_name_that_can_be_copied(
    bench: Bench,
) -> None:
    for name, end in (("asks", "escalate"), ("cut off", "abort")):
        step = Step("Make it", work=NOTHING, fields=f"**on_fail:** {end}")
        bench.lay(step)
        bench.plan_file.rename(bench.workspace / f".harness/PLAN-{name}.md")
        bench.approve(name)
    bench.goes("run", "asks", code=4)
    bench.goes("run", "cut off", PLANBOUND_FAILPOINT="before:TASK_STARTED:1", code=-9)
    question = bench.question("asks")["id"]
    bench.prepare(Step("Make a"))
    said = bench.goes("run").err
    assert (
        f"note: a run of `asks` waits for a person (question {question}): `planbound inbox`" in said
    )
    assert "`cut off` stopped before its end: `planbound resume 'cut off'`" in said
    assert "resume asks" not in said
    waits = bench.goes("approve", "cut off", code=3).err
    assert "`planbound resume 'cut off'`" in waits


def _also_happened(bench: Bench, kind: EventKind) -> str:
    """Return a copy of the state home, in which one more thing happened to the plan."""
    folder = bench.folder / f"state-{kind.value}"
    shutil.copytree(bench.folder / "state", folder)
    journal = SqliteJournal(str(folder / "journal.sqlite"))
    details = {field.name: sample(field) for field in fields_of(EVENTS[kind])}
    when = "2099-01-01T00:00:00.000000Z"
    draft = Draft(
        id=kind.value, timestamp=when, kind=kind, plan="PLAN", details=Details.of(details)
    )
    journal.append([draft])
    journal.close()
    return str(folder)


def _ended(folder: str) -> RunOutcome | None:
    journal = SqliteJournal(f"{folder}/journal.sqlite")
    state = plan_state(journal, "PLAN")
    journal.close()
    return state.run.ended if state is not None else None


@pytest.mark.thorough
@pytest.mark.requirement("command.attach", "views.agree")
def test_what_happens_to_a_plan_after_its_run_does_not_change_how_the_run_ended(
    bench: Bench,
) -> None:
    bench.prepare(Step("make a"))
    bench.goes("run")
    before, events = bench.goes("attach"), bench.goes("attach", "--json").out
    otherwise = set()
    for kind in EventKind:
        folder = _also_happened(bench, kind)
        if _ended(folder) is not RunOutcome.DONE:
            otherwise.add(kind)
            continue
        assert bench.goes("attach", PLANBOUND_STATE=folder) == before, kind
    assert bench.goes("attach", "--json", PLANBOUND_STATE=folder).out == events
    # A new run, another end, and what makes another plan of it, which has no run.
    assert otherwise == {
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_COMPLETE,
        EventKind.PLAN_CREATED,
        EventKind.PLAN_AMENDED,
        EventKind.GATE_APPROVED,
    }


@pytest.mark.thorough
@pytest.mark.requirement("command.attach", "views.agree")
def test_who_follows_a_run_is_told_what_status_says(bench: Bench) -> None:
    bench.prepare(Step("make a"), Step("make b", work=NOTHING, fields="**on_fail:** escalate"))
    bench.goes("run", code=4)
    assert "nobody drives it" not in bench.goes("attach", code=4).err
    bench.goes("verify")
    bench.answer("retry")
    assert "nobody drives it now" in bench.goes("status").out
    assert "planbound resume PLAN" in bench.goes("attach", code=1).err
    bench.goes("cancel", "--as", "tester")
    assert bench.goes("attach", code=1).err == ""
    bench.goes("decide", "PLAN", "approved, but skip 2", code=4)
    assert bench.status()["status"] == "cancelled"
    assert bench.goes("attach", code=1).err == ""
