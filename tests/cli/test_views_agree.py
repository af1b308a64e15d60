"""What one view says of a plan, all say: the views of one plan, of all, and a fleet."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.needs import need
from tests.run.bench import NOTHING, Bench, Step


def told(bench: Bench) -> dict[str, Any]:
    """Return what the views tell about the one plan."""
    (listed,) = bench.goes("list", "--json").json
    status = bench.goes("status", "--json").json
    groups = bench.goes("standup", "--json").json
    inbox = bench.goes("inbox", "--json").json["waiting"]
    assert [each["id"] for each in status["waiting"]] == [each["id"] for each in inbox]
    assert bool(groups["waiting"]) == bool(inbox) == (listed["waiting"] is not None)
    (queued,) = bench.goes("queue-status", "--json").json["plans"]
    assert listed["status"] == status["status"] == queued["status"]
    shown = bench.goes("list").out
    if inbox:
        words = [each["about"] for each in groups["waiting"]]
        assert f"(waits for a person: {words[0]})" in shown
    else:
        assert "waits for a person" not in shown
    text = bench.goes("status").out
    assert bench.goes("inbox").out in text or not inbox
    return {"status": listed["status"], "waiting": listed["waiting"], "inbox": inbox}


@pytest.mark.thorough
@pytest.mark.requirement("views.agree")
def test_an_approval_that_waits_is_told_by_every_view_until_it_is_decided(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("Write out"))
    before = bench.plan_file.read_text()
    bench.goes("approve", code=4)
    bench.goes("verify")
    assert told(bench)["waiting"] == "approval"
    # Another text is another question, and the first text again is asked about again.
    bench.write(".harness/PLAN.md", before.replace("# Do the work", "# Do other work"))
    bench.goes("verify")
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "verified")
    bench.write(".harness/PLAN.md", before)
    bench.goes("approve", code=4)
    assert told(bench)["waiting"] == "approval"
    bench.approve()
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "approved")
    # To look at another text takes no approval away.
    bench.write(".harness/PLAN.md", before.replace("# Do the work", "# Do other work"))
    bench.goes("verify")
    assert told(bench)["status"] == "verified"
    bench.write(".harness/PLAN.md", before)
    assert told(bench)["status"] == "approved"
    bench.goes("run")
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "done")


@pytest.mark.thorough
@pytest.mark.requirement("views.agree")
def test_what_waits_is_told_of_a_plan_that_is_done_and_of_several_questions(
    tmp_path: Path,
) -> None:
    bench = Bench(tmp_path)
    bench.prepare(
        Step("make a", work=NOTHING, fields="**on_fail:** escalate"),
        Step("make b", work=NOTHING, fields="**on_fail:** escalate\n**depends:** none"),
    )
    bench.goes("run", code=4)
    assert told(bench)["waiting"] == "escalation"
    assert "escalation (step 1), escalation (step 2)" in bench.goes("list").out
    for question in bench.goes("inbox", "--json").json["waiting"]:
        bench.goes("answer", question["id"], "skip", "--as", "tester")
    bench.goes("resume")
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "done with skips")
    bench.goes("decide", "PLAN", "approved, but skip 2", code=4)
    assert (told(bench)["waiting"], told(bench)["status"]) == ("approval", "done with skips")


def why_not(bench: Bench, slug: str = "PLAN", *, fleet: int = 4) -> str:
    """Return why the plan cannot be run as it is, as `ready`, `fleet` and `standup` say."""
    (line,) = bench.goes("ready").out.splitlines()
    says = {line.removeprefix(f"{slug}  ").removeprefix("safe to begin, but ")}
    says = {each.removeprefix("held back: ") for each in says}
    (row,) = bench.goes("fleet", "--json", code=fleet).json["plans"]
    assert row["state"] == "held back"
    says.add(row["reason"])
    assert f"`{slug}` is held back: {row['reason']}" in bench.goes("fleet", code=fleet).err
    groups = bench.goes("standup", "--json").json
    if groups["waiting"]:
        assert f"waits for {groups['waiting'][0]['about']}:" in row["reason"]
    else:
        says.add(groups["idle"][0]["about"])
    (said,) = says
    return str(said)


@pytest.fixture
def shared(tmp_path: Path) -> Bench:
    """Return a repository in which a fleet could run."""
    need("git", "worktrees are made with it")
    bench = Bench(tmp_path)
    subprocess.run(["git", "init", "-q", "-b", "main"], cwd=bench.workspace, check=True)
    return bench


@pytest.mark.thorough
@pytest.mark.requirement("views.agree", "command.ready", "fleet.held-back")
def test_why_a_plan_cannot_be_run_is_told_alike_until_it_is_approved(shared: Bench) -> None:
    shared.lay(Step("Write out"), touches='"src/**"')
    assert why_not(shared) == "not approved yet: `planbound approve PLAN`"
    shared.goes("verify")
    assert why_not(shared) == "not approved yet: `planbound approve PLAN`"
    shared.goes("approve", code=4)
    assert why_not(shared) == "waits for approval: `planbound approve PLAN`"
    shared.goes("reject", "--as", "ann", "--reason", "too\nvague")
    assert why_not(shared) == "rejected by ann: too vague"
    # To verify it decides nothing, and to ask again takes the no back.
    shared.goes("verify")
    assert why_not(shared) == "rejected by ann: too vague"
    assert told(shared)["waiting"] is None
    shared.goes("approve", code=4)
    assert why_not(shared) == "waits for approval: `planbound approve PLAN`"
    shared.goes("reject", "--as", "ann")
    assert why_not(shared) == "rejected by ann, without a reason"
    # It was this text that she refused, and no other.
    before = shared.plan_file.read_text()
    shared.write(".harness/PLAN.md", before.replace("# Do the work", "# Do other work"))
    assert why_not(shared) == "not approved yet: `planbound approve PLAN`"
    shared.write(".harness/PLAN.md", before)
    assert why_not(shared) == "rejected by ann, without a reason"
    shared.approve()
    assert shared.goes("ready").out == "PLAN  safe to begin now\n"
    (line,) = shared.goes("standup", "--json").json["idle"]
    assert (line["status"], line["about"]) == ("approved", "to be run")


@pytest.mark.requirement("views.agree", "command.ready", "fleet.held-back")
def test_what_is_still_to_be_written_is_told_alike(shared: Bench) -> None:
    shared.goes("new", "two")
    assert why_not(shared, "two") == "step 1 still says `TODO`"
    shared.goes("approve", "two", code=1)
    assert why_not(shared, "two") == "step 1 still says `TODO`"
    shared.write(".harness/PLAN-two.md", "")
    assert why_not(shared, "two", fleet=1) == "the file holds no plan"


@pytest.mark.thorough
@pytest.mark.requirement("command.standup", "standup.whole")
def test_what_is_built_is_told_in_words(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare(Step("Write out"), Step("Write more"))
    bench.goes("run", code=-9, PLANBOUND_FAILPOINT="after:TASK_COMPLETED:1")
    assert "  PLAN  [in-progress] a step is done\n" in bench.goes("standup").out
