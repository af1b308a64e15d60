"""Proved is red before and green after; what was green before the work holds, everywhere."""

from __future__ import annotations

import pytest

from tests.git.git_scene import sh
from tests.run.bench import NOTHING, Bench, Step
from tests.tables import first_always

GREEN = "it was green before the work"
LINT = Step("Check the lint", work=NOTHING, contract="test -f src/readme")
FIRST = Step("Make a", work="echo right > src/a; echo right > src/c", touches="src/a src/c")
LATER = Step("Make c", work=NOTHING)
"""Its contract is red at the gate, and an earlier step turns it green."""


@pytest.fixture
def quick(bench: Bench) -> Bench:
    return bench


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_what_was_green_before_the_work_holds_in_every_view(bench: Bench) -> None:
    bench.prepare(FIRST, LINT, LATER)
    digest = bench.run("show", "PLAN", "--json").json["digest"]
    told = bench.goes("run", "PLAN").out
    assert f"[Task 2/3] = Check the lint: holds ({GREEN}), contract passed" in told
    assert "[Task 3/3] ✓ Make c: contract passed" in told
    assert "attempt 1, it was red when the plan was approved" in told
    assert told.splitlines()[-1].startswith("2/3 proved, 1 holds, 0 waived, 1/1 postconditions.")
    status = bench.status()
    assert [step["status"] for step in status["steps"]] == ["done", "holds", "done"]
    assert [step["result"] for step in status["steps"]] == ["proved", "holds", "proved"]
    assert (status["status"], status["proved"], status["holds"]) == ("done", 2, 1)
    shown = bench.goes("status", "PLAN").out
    assert f"[=] 2. Check the lint: holds ({GREEN}), attempt 1, pass" in shown
    assert "[✓] 3. Make c: done, attempt 1, pass, it was red when the plan was approved" in shown
    assert "2/3 proved, 1 holds" in shown
    assert f"result holds ({GREEN})" in bench.goes("log", "PLAN").out
    assert "2/3 steps, 1 holds" in bench.goes("list").out
    # Its own mark, which is read, and no part of the meaning.
    assert "### 2. 🆗 Check the lint" in bench.read(".harness/PLAN.md")
    known = bench.run("show", "PLAN", "--json").json
    assert [step["status"] for step in known["steps"]] == ["done", "holds", "done"]
    assert known["digest"] == digest
    assert "they agree about every active plan" in bench.run("doctor").out
    done = bench.log().of("TASK_COMPLETED")
    assert [event["result"] for event in done] == ["proved", "holds", "proved"]
    assert [event["baseline"] for event in done] == ["fail", "pass", "fail"]
    assert done[2]["baseline_at"] == "approval"


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_a_run_in_which_everything_holds_is_done_and_proves_nothing(bench: Bench) -> None:
    bench.prepare(LINT)
    told = bench.goes("run", "PLAN").out.splitlines()
    assert told[-2].startswith(f"[Postcondition 1] ✓ Condition 1 holds: holds ({GREEN}), contract")
    assert told[-1].startswith("0/1 proved, 1 holds, 0 waived, 1/1 postconditions.")
    assert bench.log().last["holds"] == 1
    assert bench.status()["postconditions"] == [{"number": 1, "verdict": "pass", "result": "holds"}]
    assert bench.run("run", "PLAN").code == 3


@pytest.mark.thorough
@pytest.mark.requirement("run.holds-red")
@pytest.mark.parametrize(
    ("field", "settings"),
    first_always(
        [
            ("**baseline:** red\n", ""),
            ("", '[judging]\nbaseline = "red"\n'),
            ("", 'profile = "strict"\n'),
        ],
        fields=2,
    ),
    ids=["step", "judging", "strict"],
)
def test_where_red_is_demanded_green_before_is_vacuous(
    bench: Bench, field: str, settings: str
) -> None:
    top, below = (settings, "") if settings.startswith("profile") else ("", settings)
    step = LINT.__class__(**{**vars(LINT), "fields": field, "work": "echo x > src/lint"})
    bench.lay(FIRST, LATER, step, settings=below)
    bench.write("planbound.toml", top + bench.settings)
    digest = bench.run("show", "PLAN", "--json").json["digest"][:16]
    sheet = bench.goes("approve", "PLAN", "--digest", digest, "--as", "tester").out
    assert "green now, and red is demanded: it will be `vacuous`, and a person is asked" in sheet
    bench.goes("run", "PLAN", code=4)
    assert bench.phases() == ["done", "done", "waiting"]
    found = bench.log().one("CONTRACT_EVALUATED", number="3")
    assert (found["verdict"], found["reason"]) == ("vacuous", f"{GREEN}, and red is demanded")
    assert bench.log().one("FAILURE_CLASSIFIED")["failure_type"] == "vacuous"
    assert f"{GREEN}, and red is demanded" in bench.goes("inbox").out


@pytest.mark.thorough
@pytest.mark.requirement("run.holds-red")
def test_a_step_may_say_that_any_baseline_will_do_where_the_rest_must_be_red(bench: Bench) -> None:
    lint = Step("Check the lint", NOTHING, LINT.contract, fields="**baseline:** any")
    bench.lay(lint, FIRST, LATER)
    bench.write("planbound.toml", 'profile = "strict"\n' + bench.settings)
    bench.approve()
    assert "2/3 proved, 1 holds" in bench.goes("run", "PLAN").out


@pytest.mark.requirement("run.holds")
def test_the_sheet_says_before_the_yes_what_will_come_of_a_green_step(bench: Bench) -> None:
    bench.lay(FIRST, LINT)
    sheet = bench.run("approve", "PLAN").out
    said = "green now: if it is green after the work it `holds`, and is not proved"
    assert sheet.count(said) == 1
    assert "   red now: exit 2" in sheet


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_a_contract_that_could_not_even_run_was_not_green(bench: Bench) -> None:
    script = Step("Make a", work="echo true > src/a", contract="bash src/a", touches="src/a")
    tool = Step("Make b", work="echo true > src/b; chmod +x src/b", contract="src/b")
    bench.prepare(script, tool)
    assert "2/2 proved, 0 waived" in bench.goes("run", "PLAN").out
    done = bench.log().of("TASK_COMPLETED")
    # What the step is to write, and is not there yet, is red.
    assert [event["baseline"] for event in done] == ["fail", "fail"]


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_red_and_green_on_the_same_files_is_no_proof(bench: Bench, tmp_path: object) -> None:
    # What is slow once and quick then is green on the very files on which it was not.
    slow = f"if test -e {tmp_path}/quick; then exit 0; fi; sleep 60; exit 1"
    settings = f'[contracts]\ntimeout = "1s"\nread = ["{tmp_path}"]\n'
    bench.lay(Step("Make a", work=NOTHING, contract=slow), settings=settings)
    bench.approve()
    (bench.folder / "quick").write_text("")
    told = bench.goes("run", "PLAN").out
    assert "holds (it was `timeout` before, and no file changed since)" in told


@pytest.mark.thorough
@pytest.mark.requirement("run.regressed")
def test_what_only_git_forgot_since_is_found_at_the_end(bench: Bench) -> None:
    own = "git -c user.name=a -c user.email=a@b"
    sh(bench.workspace, f"git init -q .; git add src; {own} commit -qm first")
    commits = f"echo right > src/a; git add src/a; {own} commit -qm second"
    forgets = f"git rm -q --cached src/a; {own} commit -qm third"
    bench.lay(
        Step("Commit a", work=commits, contract="git ls-files --error-unmatch src/a"),
        Step("Look at a", work=forgets, contract="test -s src/a"),
    )
    bench.approve()
    bench.run("run", "PLAN")
    judged = bench.log().one("CONTRACT_EVALUATED", final=True, subject="step")
    assert (judged["number"], judged["verdict"]) == ("1", "fail")
    assert bench.question()["reason"].startswith("regressed: step 1")


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_what_is_done_in_git_alone_is_not_called_chance(bench: Bench) -> None:
    own = "git -c user.name=a -c user.email=a@b"
    sh(bench.workspace, f"git init -q .; git add src; {own} commit -qm first")
    commit = f"{own} commit -qm 'feat: a' -- src/a"
    steps = (
        Step("Tag it", work="git tag rel", contract="git rev-parse -q --verify rel"),
        # The second attempt leaves the files on which the first one failed.
        Step(
            "Commit a",
            work=("echo right > src/a", f"git add src/a; {commit}"),
            contract="git log -1 --format=%s | grep -q feat",
            fields="**on_fail:** retry(1), then escalate",
        ),
    )
    bench.prepare(*steps)
    told = bench.goes("run", "PLAN").out
    assert told.count("holds (it was `fail` before, and no file changed since)") == 2
    assert "0/2 proved, 2 hold" in told


@pytest.mark.requirement("run.holds-resume")
@pytest.mark.parametrize(
    "point",
    first_always(["after:TASK_STARTED:1", "before:CONTRACT_EVALUATED:1", "after:ATTEMPT_ENDED:1"]),
)
@pytest.mark.parametrize("step", first_always([LINT, Step("Make a")]), ids=["holds", "proved"])
def test_a_crash_does_not_lose_the_colour(quick: Bench, step: Step, point: str) -> None:
    quick.prepare(step)
    quick.run("run", "PLAN", PLANBOUND_FAILPOINT=point)
    quick.goes("resume", "PLAN")
    assert quick.phases() == ["holds" if step is LINT else "done"]


@pytest.mark.thorough
@pytest.mark.requirement("run.holds")
def test_steps_in_copies_are_told_apart_by_the_same_rule(bench: Bench) -> None:
    lint = Step("Check the lint", NOTHING, LINT.contract, depends="none")
    bench.prepare(Step("Make a", depends="none"), lint, Step("Make b", depends="none"))
    assert "2/3 proved, 1 holds" in bench.goes("run", "PLAN", "--jobs", "3").out
    assert bench.phases() == ["done", "holds", "done"]


@pytest.mark.thorough
@pytest.mark.requirement("run.holds-resume")
def test_an_amendment_keeps_what_holds_and_what_was_seen_red(bench: Bench) -> None:
    # The step does what its contract asks for, and more than it may; then it may do that, too.
    more = Step("Make b", work="echo right > src/b; echo more > src/d", touches="src/b")
    bench.prepare(LINT, more, Step("Make c"), fields="")
    bench.goes("run", "PLAN", code=4)
    assert bench.phases() == ["holds", "waiting", "pending"]
    assert f"    “Check the lint” holds ({GREEN})" in bench.goes("inbox").out.splitlines()
    text = bench.read(".harness/PLAN.md").replace("- src/b\n", "- src/b\n- src/d\n")
    bench.write(".harness/PLAN.md", text)
    bench.goes("amend", "PLAN", "--reason", "it needs both", "--as", "tester")
    bench.approve()
    assert bench.log().of("BASELINE_OBSERVED", number="2")[-1]["verdict"] == "pass"
    told = bench.goes("run", "PLAN").out
    assert "Make b: contract passed (exit 0, 0.0 s), attempt 1, it was red when" in told
    assert bench.phases() == ["holds", "done", "done"]
