"""Every known way in which an agent slips past its plan, each closed."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from planbound.journal.record import Json
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.session.answers import Told
from planbound.session.decide import Accept, Capped, LoopOutcome, Reject, Silent
from planbound.session.tools import PlanTools
from planbound.session.work import leased
from tests.run.bench import Step
from tests.session.scratch import SHOWN, A, B, Given, Scratch
from tests.tables import first_always


def listed(told: Told, what: str) -> list[dict[str, Json]]:
    found = told.data[what]
    assert isinstance(found, list)
    return [each for each in found if isinstance(each, dict)]


def statuses(loop: PlanTools) -> list[object]:
    return [each["status"] for each in listed(loop.plan_status(), "steps")]


def refused(loop: PlanTools, text: str = "All done!") -> Reject:
    found = loop.check(text)
    assert isinstance(found, Reject), found
    return found


# -- what counts as ready ----------------------------------------------------------------------


def test_an_empty_plan_cannot_be_made_and_does_not_count_as_ready(bench: Scratch) -> None:
    loop = bench.loop()
    assert not loop.plan_create("Do nothing", []).ok
    assert isinstance(loop.check("done"), Silent)
    assert loop.plan_create("Do it", ["Say it"]).ok
    assert not loop.plan_amend(remove=["say-it"], reason="shorter").ok


def test_a_plan_whose_file_lost_its_steps_does_not_count_as_ready(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"])
    loop.step_update(1, "done", SHOWN)
    bench.file.write_text(bench.file.read_text().split("## Steps")[0])
    found = refused(loop).missing
    assert "people had a hand in this plan" in found[0]
    assert "no step" in found[1]
    assert bench.log().one("PLAN_REWRITTEN")["dropped"] == {"say-it": "Say it"}


def test_a_plan_whose_steps_are_all_blocked_does_not_count_as_ready(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it", "Sing it"])
    for number in (1, 2):
        assert loop.step_update(number, "blocked", "the machine has no loudspeaker").ok
    assert refused(loop).missing == (
        "every step is blocked: at least one has to be proved or claimed",
    )


@pytest.mark.parametrize(
    "evidence",
    [
        "",
        "   ",
        "\n\t",
        " ",
        "\u200b",
        "done",
        "It is done.",
        "OK!",
        "say it",
        "Said: say it, done",
        None,
    ],
)
def test_white_space_and_the_title_again_do_not_pass_as_evidence(
    bench: Scratch, evidence: str
) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"], ["It was said"])
    if evidence != "Said: say it, done":
        assert not loop.step_update(1, "done", evidence).ok
        assert statuses(loop) == ["pending"]
    assert not loop.postcondition_verify(1, (evidence or "").replace("say it", "it was said")).ok
    assert bench.log().of("TASK_COMPLETED", "POSTCONDITION_CLAIMED") == []


@pytest.mark.parametrize("reason", ["", "  \n", "done", "say it"])
def test_blocked_demands_a_reason(bench: Scratch, reason: str) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"], ["Say it"])
    assert not loop.step_update(1, "blocked", reason).ok
    assert not loop.postcondition_block(1, reason).ok
    assert bench.log().of("TASK_BLOCKED", "POSTCONDITION_BLOCKED") == []


def test_a_blocked_postcondition_is_finished_with_blocked_items_not_done(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"], ["Everybody heard it"])
    loop.step_update(1, "done", SHOWN)
    assert loop.postcondition_block(1, "nobody is at home today").ok
    told = loop.plan_finish("All done!")
    assert told.data["outcome"] == "finished with blocked items"
    assert "nobody is at home" in told.text
    assert bench.status("do-it")["status"] == "finished with blocked items"
    assert "[finished with blocked items]" in bench.run("list").out
    assert "mergeable (0)" in bench.run("standup").out


@pytest.mark.thorough
def test_require_proved_refuses_what_is_only_claimed(tmp_path: Path) -> None:
    bench = Scratch(tmp_path, '[gate]\nrequire = "proved"\n')
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it", A])
    bench.right("a")
    assert loop.step_update(1, "done", SHOWN).ok
    (missing,) = refused(loop).missing
    assert "only claimed" in missing
    edited = loop.plan_amend(
        edit={"say-it": {"title": "Say it", "contract": "test -s src/said"}}, reason="as demanded"
    )
    assert edited.ok, edited.text
    bench.write("src/said", "it\n")
    assert loop.check("done") == Accept(LoopOutcome.DONE)


def test_require_claimed_accepts_it_and_says_so(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"])
    loop.step_update(1, "done", SHOWN)
    told = loop.plan_finish("done")
    assert told.ok
    assert "Only claimed: step 1 “Say it”" in told.text
    assert bench.log().one("FINALIZATION_ACCEPTED")["claimed"] == ["step 1 “Say it”"]
    assert bench.status("do-it")["status"] == "done"


# -- history -----------------------------------------------------------------------------------


@pytest.mark.requirement("loop.rewrite")
def test_creating_the_plan_again_keeps_its_history(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B, "Say it"])
    bench.right("a")
    assert loop.step_update("make-a", "done", SHOWN).ok
    loop.step_update("say-it", "done", SHOWN)
    before = bench.file.read_bytes()
    told = loop.plan_create("Do it", ["Sing it", A, {**B, "contract": "test -s src/b"}])
    assert told.ok, told.text
    # Proved stays proved wherever it stands; what means something else now is open.
    assert statuses(loop) == ["pending", "proved", "pending"]
    event = bench.log().one("PLAN_REWRITTEN")
    assert (event["kept"], event["dropped"]) == (["make-a"], {"say-it": "Say it"})
    assert "-### 3. Say it" in event["diff"]
    assert bench.log().one("PLAN_CREATED")["text"] != event["text"]
    key = bytes.fromhex(bench.log().one("PLAN_CREATED")["text"])
    # As it was written: marks of progress are no part of what it says.
    assert digest(parse(loop.session.vault.content(key) or b"")) == digest(parse(before))


def test_dropped_steps_are_shown_for_ever(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it", "Sing it"])
    loop.plan_create("Do it", ["Say it"])
    loop.plan_amend(add=["Hum it"], reason="one more")
    assert "Dropped by a rewrite: “Sing it” (pending)" in loop.plan_show().text
    for name in ("say-it", "hum-it"):
        loop.step_update(name, "done", SHOWN)
    assert "Dropped on the way: “Sing it” (pending)" in loop.plan_finish("done").text
    assert "Sing it" in loop.plan_show().text
    assert "“Sing it”" in bench.run("status", "do-it").out


def test_ids_are_never_used_again(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it", "Sing it"])
    assert not loop.plan_create("Do it", ["Say it", "say it!"]).ok
    assert loop.plan_amend(remove=["sing-it"], reason="too loud").ok
    told = loop.plan_amend(add=["Sing it"], reason="again")
    assert not told.ok
    assert "not used again" in told.text
    assert "a rewrite dropped it" in loop.step_update("sing-it", "done", SHOWN).text


def test_done_back_to_pending_keeps_the_evidence(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"])
    loop.step_update(1, "done", SHOWN, notes="in the hall")
    told = loop.step_update(1, "pending", "it was too quiet")
    (step,) = listed(told, "steps")
    assert (step["status"], step["evidence"], step["notes"]) == ("pending", SHOWN, "in the hall")
    assert bench.log().one("TASK_REOPENED")["before"] == "claimed"
    assert refused(loop).missing


def test_a_number_that_means_another_step_after_a_rewrite_is_refused(bench: Scratch) -> None:
    loop, other = bench.loop(), bench.loop("s2")
    loop.plan_create("Do it", ["Say it", "Sing it"])
    assert other.plan_amend(remove=["say-it"], reason="nobody listens").ok
    told = loop.step_update(1, "done", SHOWN)
    assert not told.ok
    assert "step 1 is another one now: “Sing it”" in told.text
    assert loop.step_update("sing-it", "done", SHOWN).ok
    assert loop.step_update(1, "pending").ok  # it has seen the plan since


def test_dependencies_follow_their_steps_when_others_are_removed(bench: Scratch) -> None:
    loop = bench.loop()
    steps: list[str | Given] = ["Zero it", "Say it", {"title": "Sing it", "depends": [2]}]
    assert loop.plan_create("Do it", steps).ok
    assert loop.plan_amend(remove=["zero-it"], reason="not needed").ok
    assert "waits for step 1" in loop.step_update("sing-it", "in_progress").text
    loop.step_update("say-it", "done", SHOWN)
    assert loop.step_update("sing-it", "in_progress").ok
    assert not loop.plan_create("Do it", [{"title": "Hum it", "depends": [7]}]).ok


def test_what_a_person_waived_is_not_the_agents_to_change(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, "Say it"], [{"statement": "b is", "contract": "test -s src/b"}])
    bench.goes("waive", "do-it", "1", "--reason", "not needed", "--as", "ann")
    bench.goes("waive", "do-it", "postcondition:1", "--reason", "not needed", "--as", "ann")
    for status in ("in_progress", "pending", "blocked"):
        assert not loop.step_update(1, status, "I would rather do it myself").ok
    loop.step_update(1, "done", SHOWN)
    loop.postcondition_verify(1)
    loop.step_update(2, "done", SHOWN)
    assert statuses(loop) == ["waived", "claimed"]
    assert loop.check("done") == Accept(LoopOutcome.DONE, claimed=("step 2 “Say it”",))
    assert bench.log().of("CONTRACT_STARTED") == []


# -- the last word -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", first_always(["", "   ", "All done!", "\x00\x1b[2J", "x" * 100_000])
)
def test_an_empty_final_answer_does_not_slip_past_the_gate(bench: Scratch, text: str) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    assert "step 1 “Make a” is not proved" in refused(loop, text).message
    bench.right("a")
    assert loop.check(text) == Accept(LoopOutcome.DONE)


@pytest.mark.thorough
@pytest.mark.requirement("loop.holes")
def test_the_false_done_scenario_two_refusals_one_acceptance(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B])
    bench.right("a")
    loop.step_update(1, "done", SHOWN)
    for text in ("All done!", "really done, trust me"):
        assert "step_update('make-b', \"done\"" in refused(loop, text).missing[0]
    bench.right("b")
    assert loop.check("now it is") == Accept(LoopOutcome.DONE)
    kinds = [kind for kind in bench.log().kinds if kind.startswith("FINALIZATION")]
    assert kinds == ["FINALIZATION_REJECTED"] * 2 + ["FINALIZATION_ACCEPTED"]
    assert isinstance(loop.check("again"), Silent)


def test_the_gate_does_not_refuse_for_ever(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    found = [type(loop.check("done")) for _ in range(8)]
    assert found == [Reject] * 5 + [Capped] * 3
    assert len(bench.log().of("FINALIZATION_CAPPED")) == 1
    (waiting,) = bench.run("inbox", "--json").json["waiting"]
    assert (waiting["kind"], waiting["plan"]) == ("incomplete", "do-it")


@pytest.mark.thorough
def test_progress_and_another_tree_begin_the_count_anew(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, "Say it"])
    for _ in range(4):
        refused(loop)
    loop.step_update("say-it", "done", SHOWN)
    for _ in range(4):
        refused(loop)
    bench.write("src/other", "something else\n")
    assert [type(loop.check("done")) for _ in range(6)] == [Reject] * 5 + [Capped]


@pytest.mark.requirement("loop.progress")
def test_toggling_statuses_and_rewriting_to_and_fro_is_no_progress(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, "Say it"], ["It was heard"])
    toggles: list[Callable[[], Told]] = [
        lambda: loop.step_update("say-it", "done", SHOWN),
        lambda: loop.step_update("say-it", "pending"),
        lambda: loop.step_update("say-it", "blocked", "the hall is closed"),
        lambda: loop.step_update("say-it", "in_progress"),
        lambda: loop.postcondition_verify(1, SHOWN),
        lambda: loop.postcondition_block(1, "the hall is closed"),
        lambda: loop.plan_amend(
            edit={"make-a": {**A, "task": "Write it, and say so"}}, reason="words"
        ),
        lambda: loop.plan_amend(edit={"make-a": A}, reason="other words"),
    ]
    for toggle in toggles:
        assert toggle().ok
    found = []
    for toggle in toggles:
        toggle()
        found.append(type(loop.check("done")))
    assert found[:5] == [Reject] * 5
    assert found[5] is Capped


@pytest.mark.thorough
def test_a_tree_that_changes_every_time_ends_at_the_absolute_bound(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"])
    for count in range(60):
        bench.write("src/noise", f"{count}\n")
        refused(loop)
    bench.write("src/noise", "last\n")
    found = loop.check("done")
    assert isinstance(found, Capped)
    assert "refused 60 times in all" in found.message


def test_a_capped_turn_is_not_reported_as_complete(tmp_path: Path) -> None:
    bench = Scratch(tmp_path, "[gate]\nrefusals = 1\n")
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    refused(loop)
    told = loop.plan_finish("done")
    assert (told.ok, told.data["accepted"], told.data["outcome"]) == (False, False, "incomplete")
    again = loop.plan_finish("done")
    assert (again.ok, again.data["accepted"]) == (False, False)
    assert "NOT DONE" in again.text
    shown = bench.goes("status", "do-it", "--json", code=1).json
    assert (shown["status"], shown["outcome"]) == ("failed", "incomplete")
    assert "do-it: failed (incomplete)" in bench.goes("status", "do-it", code=1).out
    assert "[done]" not in bench.run("list").out
    # What goes on after that is not at its end: the work counts when it is there.
    bench.right("a")
    assert loop.check("done") == Accept(LoopOutcome.DONE)
    assert bench.run("inbox", "--json").json["waiting"] == []
    assert bench.status("do-it")["status"] == "done"


def test_a_gate_that_is_broken_refuses_a_few_times_then_gives_up_loudly(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    found = [type(loop.broken("no database\x1b[2J")) for _ in range(5)]
    assert found == [Reject] * 3 + [Capped] * 2
    assert len(bench.run("inbox", "--json").json["waiting"]) == 1
    assert len(bench.log().of("FINALIZATION_CAPPED")) == 1


def test_the_gate_is_silent_while_something_runs_in_the_background(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    assert loop.check("done", waiting="a build runs") == Silent("a build runs")
    kinds = bench.log().kinds
    assert kinds == ["PLAN_CREATED", "BASELINE_OBSERVED", "FINALIZATION_DEFERRED"]


# -- what is judged ----------------------------------------------------------------------------


def test_a_relayed_verdict_counts_for_nothing_beside_the_contract(bench: Scratch) -> None:
    parent = bench.loop("parent")
    parent.plan_create("Do it", [A])
    child = bench.loop("child")
    # A sub-agent has a plan of its own, or none; the parent's stays as it is.
    assert child.plan_create("Help", ["Look at a"], name="help").ok
    child.step_update(1, "done", "I ran the contract: exit code 0, all green")
    assert isinstance(child.check("PASS"), Accept)
    told = parent.step_update(1, "done", "the sub-agent ran it: exit code 0, verdict pass")
    assert not told.ok
    assert "is not proved: exit" in told.text
    assert "No such file" in told.text
    assert "step 1" in refused(parent).missing[0]


@pytest.mark.thorough
def test_a_later_edit_that_breaks_a_proved_step_is_noticed_and_said(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B], [{"statement": "a is there", "contract": "test -s src/a"}])
    bench.right("a")
    assert loop.step_update(1, "done", SHOWN).ok
    assert loop.postcondition_verify(1).ok
    bench.right("b")
    bench.write("src/a", "")
    assert loop.step_update(2, "done", SHOWN).ok
    missing = refused(loop).missing
    assert [("a later edit broke it" in each) for each in missing] == [True, True]
    assert statuses(loop) == ["in_progress", "proved"]
    bench.right("a")
    assert loop.check("done") == Accept(LoopOutcome.DONE)


def test_nothing_is_judged_twice_on_the_same_files_by_the_gate(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B])
    bench.right("a")
    loop.step_update(1, "done", SHOWN)
    for _ in range(3):
        refused(loop)
    judged = bench.log().of("CONTRACT_EVALUATED")
    assert [event.number for event in judged] == ["1", "2"]


def test_judges_that_were_edited_in_the_loop_are_seen(bench: Scratch) -> None:
    bench.write("tests/check.sh", "grep -qx right src/a\n")
    loop = bench.loop()
    loop.plan_create("Do it", [{**A, "contract": "bash tests/check.sh"}])
    bench.write("tests/check.sh", "true\n")
    told = loop.step_update(1, "done", SHOWN)
    assert not told.ok
    assert statuses(loop) == ["pending"]
    assert bench.log().one("CONTRACT_EVALUATED")["verdict"] in {"tampered", "fail", "out-of-scope"}
    assert refused(loop).missing


def test_files_outside_touches_are_no_pass(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    bench.right("a", "elsewhere")
    told = loop.step_update(1, "done", SHOWN)
    assert not told.ok
    assert "src/elsewhere" in told.text
    assert bench.log().one("CONTRACT_EVALUATED")["verdict"] == "out-of-scope"


@pytest.mark.parametrize("contract", ["true", "test -s src/a || true", "echo ok", "if then"])
def test_a_contract_that_proves_nothing_does_not_get_into_a_plan(
    bench: Scratch, contract: str
) -> None:
    loop = bench.loop()
    assert not loop.plan_create("Do it", [{"title": "Make a", "contract": contract}]).ok
    condition = {"statement": "a is there", "check": {"command": contract}}
    assert not loop.plan_create("Do it", [A], [condition]).ok
    assert bench.log() == []


# -- approval ----------------------------------------------------------------------------------


@pytest.fixture
def gated(tmp_path: Path) -> Scratch:
    return Scratch(tmp_path, "[gate]\napproval = true\n")


@pytest.mark.requirement("loop.approval")
def test_nothing_starts_before_a_person_approves(gated: Scratch) -> None:
    loop = gated.loop()
    loop.plan_create("Do it", [A], [{"statement": "a is there", "contract": "test -s src/a"}])
    gated.right("a")
    for told in (
        loop.step_update(1, "in_progress"),
        loop.step_update(1, "done", SHOWN),
        loop.postcondition_verify(1),
    ):
        assert not told.ok
        assert "planbound approve do-it" in told.text
    assert "plan_request_approval()" in refused(loop).missing[0]
    ran = ("BASELINE_OBSERVED", "CONTRACT_STARTED", "CONTRACT_EVALUATED")
    assert gated.log().of(*ran) == []
    assert loop.plan_request_approval().ok
    assert isinstance(loop.check("waiting for you"), Silent)
    assert "waiting for approval" in loop.step_update(1, "done", SHOWN).text
    gated.write("src/a", "wrong\n")
    gated.approve("do-it")
    gated.right("a")
    assert loop.plan_request_approval().data["approved"]
    assert loop.step_update(1, "done", SHOWN).ok
    assert loop.check("done") == Accept(LoopOutcome.DONE)


@pytest.mark.thorough
def test_a_plan_that_changed_after_its_approval_waits_again(gated: Scratch) -> None:
    loop = gated.loop()
    loop.plan_create("Do it", [A])
    loop.plan_request_approval()
    gated.approve("do-it")
    assert loop.plan_amend(add=[B], reason="more").ok
    assert not loop.step_update("make-a", "in_progress").ok
    gated.approve("do-it")
    assert loop.step_update("make-a", "in_progress").ok
    text = gated.file.read_text()
    gated.file.write_text(text.replace("grep -qx right src/b", "true"))
    assert not loop.step_update("make-b", "in_progress").ok


def test_a_rejection_reaches_the_agent_with_its_reason(gated: Scratch) -> None:
    loop = gated.loop()
    loop.plan_create("Do it", [A])
    loop.plan_request_approval()
    gated.goes("reject", "do-it", "--reason", "far too small", "--as", "ann")
    assert "far too small" in loop.step_update(1, "in_progress").text
    assert "far too small" in refused(loop).message


def test_a_person_is_not_asked_for_what_nobody_can_approve(tmp_path: Path) -> None:
    gated = Scratch(tmp_path, '[gate]\napproval = true\nrequire = "proved"\n')
    loop = gated.loop()
    loop.plan_create("Do it", ["Say it", A], ["It was heard"])
    told = loop.plan_request_approval()
    assert not told.ok
    assert "the step has no contract" in told.text
    assert gated.log().of("GATE_APPROVAL_REQUESTED") == []


# -- the file ----------------------------------------------------------------------------------


@pytest.mark.requirement("loop.by-hand")
def test_a_plan_that_was_edited_by_hand_is_noticed_before_anything_else(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B, "Say it"])
    bench.right("a", "b")
    for number in (1, 2):
        assert loop.step_update(number, "done", SHOWN).ok
    text = bench.file.read_text()
    bench.file.write_text(text.replace("grep -qx right src/b", "true").split("### 3.")[0])
    assert "changed, not by the plan tools" in bench.run("status", "do-it").out.replace(
        "somebody changed it, not", "changed, not"
    )
    assert loop.plan_show().ok
    event = bench.log().one("PLAN_REWRITTEN")
    assert (event["kept"], event["dropped"]) == (["make-a"], {"say-it": "Say it"})
    assert "+true" in event["diff"]
    assert "by the plan tools" in event["reason"]
    assert statuses(loop) == ["proved", "pending"]
    assert len(bench.log().of("PLAN_REWRITTEN")) == 1


@pytest.mark.thorough
def test_what_a_person_wrote_is_not_written_over_by_the_tools(bench: Scratch) -> None:
    bench.prepare(Step("Make a", contract="grep -qx right src/a"))
    loop = bench.loop()
    assert "This session works on the plan `PLAN`" in (loop.orientation() or "")
    before = bench.plan_file.read_bytes()
    for told in (
        loop.plan_create("Do less", ["Say it"]),
        loop.plan_amend(add=["Say it"], reason="more"),
        loop.plan_amend(remove=["make-a"], reason="less"),
    ):
        assert not told.ok
        assert "holds what people wrote" in told.text
    assert bench.plan_file.read_bytes() == before
    bench.right("a")
    assert loop.check("done") == Accept(LoopOutcome.DONE)


@pytest.mark.thorough
def test_an_attestation_that_a_person_adds_cannot_be_amended_away(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it", A])
    text = bench.file.read_text()
    head, _, tail = text.partition("### 2.")
    bench.file.write_text(f'{head}**contract:** attest "I heard it"\n\n### 2.{tail}')
    assert "planbound approve do-it" in loop.step_update(1, "done", SHOWN).text
    bench.approve("do-it")
    assert not loop.step_update(1, "done", SHOWN).ok
    assert "a person has to attest" in refused(loop).missing[0]
    bench.goes("attest", "do-it", "1", "--as", "ann")
    assert statuses(loop) == ["attested", "pending"]
    assert "[x] 1 Say it: attested by ann" in loop.plan_show().text
    assert "0/2 proved, 1 attested" in loop.plan_show().text
    assert "what people wrote" in loop.plan_amend(add=["Sing it"], reason="more").text


@pytest.mark.thorough
def test_an_approved_plan_that_an_agent_edits_still_binds_it(bench: Scratch) -> None:
    bench.prepare(Step("Make a", contract="grep -qx right src/a"))
    loop = bench.loop()
    text = bench.plan_file.read_text()
    bench.plan_file.write_text(text.replace("grep -qx right src/a", "test -d src"))
    for _ in range(2):
        assert "changed since a person approved it" in refused(loop).missing[0]
    assert len(bench.log().of("PLAN_REWRITTEN")) == 1
    assert not loop.step_update(1, "done", SHOWN).ok
    assert bench.log().of("CONTRACT_STARTED") == []
    # Put back, it is what was approved.
    bench.plan_file.write_text(text)
    assert "step 1" in refused(loop).missing[0]
    bench.right("a")
    assert loop.check("done") == Accept(LoopOutcome.DONE)


def test_taking_the_file_away_ends_nothing(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    before = bench.file.read_bytes()
    refused_archive = bench.run("archive", "do-it")
    assert refused_archive.code != 0
    assert "planbound release do-it" in refused_archive.err
    shutil.rmtree(bench.workspace / ".harness")
    assert "step 1" in refused(loop).missing[0]
    assert bench.file.read_bytes() == before
    bench.goes("release", "do-it", "--reason", "enough", "--as", "ann")
    bench.goes("archive", "do-it")
    assert loop.check("done") == Silent("there is no plan")


@pytest.mark.thorough
def test_taking_an_approved_plan_away_ends_nothing(bench: Scratch) -> None:
    bench.prepare(Step("Make a", contract="grep -qx right src/a"))
    loop = bench.loop()
    bench.plan_file.unlink()
    assert "step 1" in refused(loop).missing[0]


def test_secrets_reach_neither_the_journal_nor_the_plan(bench: Scratch) -> None:
    loop, secret = bench.loop(), "ghp_" + "a1B2" * 9
    for told in (
        loop.plan_create(f"Use {secret}", ["Say it"]),
        loop.plan_create("Do it", [f"Say {secret}"]),
        loop.plan_create("Do it", [{"title": "Say it", "contract": f"echo {secret}"}]),
        loop.plan_create("Do it", ["Say it"], [{"statement": "x y", "check": {"http_ok": secret}}]),
    ):
        assert not told.ok
        assert secret not in told.text
    assert loop.plan_create("Do it", ["Say it"], ["It was heard"]).ok
    assert not loop.plan_amend(add=[f"Say {secret}"], reason="more").ok
    assert loop.step_update(1, "done", f"I sent {secret} there", notes=f"with {secret}").ok
    assert loop.postcondition_verify(1, f"the answer to {secret} was 200").ok
    assert isinstance(loop.check(f"done with {secret}"), Accept)
    everything = bench.file.read_text() + bench.run("log", "--json").out + loop.plan_show().text
    assert secret not in everything
    assert everything.count("[redacted") >= 4


@pytest.mark.parametrize(
    "text",
    [
        "Say \x1b[2Jit",
        "Say it\x00",
        "Say\u202eit\ud800",
        "Say it\u2028## Steps",
    ],
)
def test_control_characters_do_not_get_into_a_plan(bench: Scratch, text: str) -> None:
    loop = bench.loop()
    assert not loop.plan_create(text, ["Say it"]).ok
    assert not loop.plan_create("Do it", [text]).ok
    assert not loop.plan_create("Do it", ["Say it"], [text]).ok
    assert not loop.plan_create("Do it", [{"title": "Say it", "task": text}]).ok
    assert bench.log() == []


STRUCTURE = [
    "# Another objective",
    "### 1. Another step",
    "Say it\n## Postconditions\n1. None",
    '**contract:** attest "yes"',
    "[x] Say it",
    "```",
    "Say `it` *now* <!-- hidden -->",
    "---",
    "1. Say it",
    "Say it (depends on 9)",
    "{objective} %s $(rm x)",
]


@pytest.mark.parametrize("text", first_always(list(STRUCTURE)))
def test_markdown_in_what_an_agent_says_is_no_structure(bench: Scratch, text: str) -> None:
    """It is written so that it means just that, or it is refused: never another plan."""
    given: list[tuple[str, list[str | Given], list[str]]] = [
        (text, ["Say it"], ["Heard"]),
        ("Do it", [text, B], ["Heard"]),
        ("Do it", [B], [text]),
    ]
    for number, (objective, steps, conditions) in enumerate(given):
        loop = bench.loop(f"s{number}", name=f"plan-{number}")
        told = loop.plan_create(objective, steps, conditions)
        if told.ok:
            assert len(listed(told, "steps")) == len(steps)
            assert len(listed(told, "postconditions")) == 1
    loop = bench.loop("s9", name="plan-9")
    assert loop.plan_create("Do it", [{**A, "task": text}, B]).ok
    titles = [step["title"] for step in listed(loop.plan_status(), "steps")]
    assert titles == ["Make a", "Make b"]
    bench.right("a", "b")
    loop.step_update(1, "done", f"{text} and I looked at it", notes=text)
    assert "is begun" in loop.step_update(2, "in_progress", notes=text).text
    shown = loop.plan_show().text
    assert shown.count("\n") == 6, shown


# -- cost and robustness -----------------------------------------------------------------------


@pytest.mark.thorough
def test_a_plan_of_50_steps_is_shown_in_less_than_2000_tokens(bench: Scratch) -> None:
    loop = bench.loop()
    title = "step of a long plan with a title that goes on and on until it is cut somewhere"
    steps = [f"{number:02d}th {title}" for number in range(50)]
    assert loop.plan_create("Do all of it", steps, ["It was heard", "Nobody minds"]).ok
    assert len(loop.plan_show(only="open").text) / 4 < 2000
    for number in range(1, 26):
        loop.step_update(number, "in_progress")
    assert len(loop.plan_show(only="open").text) / 4 < 2000
    assert len(refused(loop).message) / 4 < 8000


ODD: list[object] = [
    *(None, 7, 1.5, True, [], {}, [None], {"a": 1}, object(), b"bytes", "", "\0", "\ud800"),
    *(
        "x" * 1_000_000,
        {"title": 1},
        {"titel": "x"},
        [[["x"]]],
        float("nan"),
        [{"title": "x", "x": 1}],
    ),
    [{"title": "x", "check": {"json_path": {"file": "a", "path": "b", "equals": {1, 2}}}}],
    [{"title": "x", "check": {"nothing_like": {}}}],
    [{"title": "x", "check": {"http_ok": {"url": "http://127.0.0.1", "more": 1}}}],
    [{"title": "x", "check": {"file_exists": {"path": "../x"}}}],
    [{"title": "x", "contract": "true", "check": {"command": "true"}}],
    [{"title": "x", "depends": ["1-3"]}],
    ["x"] * 501,
]


@pytest.mark.thorough
def test_every_tool_answers_whatever_it_is_given(bench: Scratch) -> None:
    loop = bench.loop()
    assert loop.plan_create("Do it", [A, "Say it"], ["It was heard"]).ok
    before = bench.file.read_bytes()
    for odd in ODD:
        what: Any = odd
        short: Any = what if what != "\ud800" and len(str(what)) < 9000 else ""
        some: Any = what or 3
        calls: dict[str, Told] = {
            "objective": loop.plan_create(what, [A]),
            "steps": loop.plan_create("Do it", what),
            "postconditions": loop.plan_create("Do it", [A], some),
            "only": loop.plan_show("none" if what in (None, "") else what),
            "step": loop.step_update(what, "done", SHOWN),
            "status": loop.step_update(1, what),
            "evidence": loop.step_update("say-it", "done", short),
            "notes": loop.step_update(1, "done", "", what),
            "condition": loop.postcondition_verify(what, SHOWN),
            "said": loop.postcondition_verify(1, short),
            "block": loop.postcondition_block(1, short),
            "without a reason": loop.plan_amend(add=some, reason=""),
            "add": loop.plan_amend(add=some, reason="more of it"),
            "edit": loop.plan_amend(edit=some, reason="more of it"),
            "remove": loop.plan_amend(remove=some, reason="more of it"),
            "reason": loop.plan_amend(add=["Sing it"], reason=short),
        }
        if not isinstance(what, str | None):
            calls["summary"] = loop.plan_finish(what)
        wrong = {name: told.text for name, told in calls.items() if told.ok}
        assert wrong == {}, repr(odd)[:200]
        loop.plan_log(what)
    assert bench.file.read_bytes() == before


# -- two agents, and a death -------------------------------------------------------------------


@pytest.mark.requirement("loop.lease")
def test_two_agents_on_one_plan_come_one_after_the_other(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [{"title": f"Say {word}"} for word in "abcdefgh"])
    with ThreadPoolExecutor(2) as pool:
        found = list(
            pool.map(
                lambda word: bench.call(
                    word,
                    "step_update",
                    {"step": f"say-{word}", "status": "done", "evidence": SHOWN},
                ).json[0],
                "abcdefgh",
            )
        )
    assert found == [True] * 8
    assert statuses(loop) == ["claimed"] * 8
    assert bench.verifies()


@pytest.mark.thorough
def test_threads_of_one_session_come_one_after_the_other(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [{"title": f"Say {word}"} for word in "abcdefgh"])
    with ThreadPoolExecutor(4) as pool:
        told = list(
            pool.map(lambda word: loop.step_update(f"say-{word}", "done", SHOWN), "abcdefgh")
        )
    assert [each.ok for each in told] == [True] * 8, told
    assert statuses(loop) == ["claimed"] * 8


def test_a_second_agent_is_refused_while_a_judgement_takes_long(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", ["Say it"])
    with leased(loop.session, "do-it"):
        other = bench.loop("s2")
        other.session.patience = 0.2
        told = other.step_update(1, "done", SHOWN)
    assert not told.ok
    assert "`do-it`" in told.text
    assert "s1" in told.text


@pytest.mark.requirement("loop.crash")
@pytest.mark.parametrize("when", first_always(["before", "after"]))
@pytest.mark.parametrize(
    "kind", first_always(["CONTRACT_STARTED", "CONTRACT_EVALUATED", "TASK_COMPLETED"])
)
def test_a_death_between_judging_and_the_answer_hides_nothing(
    bench: Scratch, when: str, kind: str
) -> None:
    bench.loop().plan_create("Do it", [A])
    bench.right("a")
    given = {"step": 1, "status": "done", "evidence": SHOWN}
    died = bench.call("s1", "step_update", given, PLANBOUND_FAILPOINT=f"{when}:{kind}:1")
    assert died.code == -9, died
    before = bench.log()
    runs_before = len(before.of("CONTRACT_STARTED"))
    # Whatever ran is on record: a contract never runs before its beginning is.
    assert runs_before == (0 if (when, kind) == ("before", "CONTRACT_STARTED") else 1)
    after = bench.call("s1", "step_update", given)
    assert after.json[0], after
    log = bench.log()
    assert len(log.of("CONTRACT_STARTED")) == runs_before + 1
    assert len(log.of("TASK_COMPLETED")) == 1
    assert statuses(bench.loop()) == ["proved"]
    assert bench.verifies()


def test_what_passed_before_a_death_is_settled_by_the_gate(bench: Scratch) -> None:
    bench.loop().plan_create("Do it", [A])
    bench.right("a")
    given = {"step": 1, "status": "done", "evidence": SHOWN}
    bench.call("s1", "step_update", given, PLANBOUND_FAILPOINT="before:TASK_COMPLETED:1")
    assert bench.loop().check("done") == Accept(LoopOutcome.DONE)
    assert len(bench.log().of("CONTRACT_EVALUATED")) == 1


@pytest.mark.requirement("loop.crash")
def test_a_death_between_the_record_of_a_rewrite_and_its_file_is_mended(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, "Say it"])
    loop.step_update("say-it", "done", SHOWN)
    given = {"objective": "Do it", "steps": ["Say it", B]}
    died = bench.call("s1", "plan_create", given, PLANBOUND_FAILPOINT="after:PLAN_REWRITTEN:1")
    assert died.code == -9
    assert "Make a" in bench.file.read_text()
    shown = bench.loop().plan_show().text
    assert "[~] 1 Say it" in shown
    assert "Make b" in bench.file.read_text()
    assert len(bench.log().of("PLAN_REWRITTEN")) == 1


# -- which plan --------------------------------------------------------------------------------


def test_a_session_has_its_own_plan_before_others(bench: Scratch) -> None:
    one, two = bench.loop("one"), bench.loop("two")
    one.plan_create("Do it", ["Say it"])
    assert two.plan_create("Help", ["Sing it"], name="help").ok
    assert one.plan_status().data["plan"] == "do-it"
    assert two.plan_status().data["plan"] == "help"
    told = bench.loop("three").plan_status()
    assert not told.ok
    assert "`do-it`, `help`" in told.text


def test_a_plan_that_is_named_and_not_there_yet_can_be_created(bench: Scratch) -> None:
    loop = bench.loop(name="fresh")
    assert loop.plan_create("Do it", ["Say it"]).data["plan"] == "fresh"
    assert loop.plan_create("Do it", ["Sing it"]).data["revision"] == 2


# -- verifiers of one's own --------------------------------------------------------------------


def test_amending_keeps_what_the_harness_looks_at_itself(bench: Scratch) -> None:
    seen: list[str] = []

    def lamp(room: str) -> str | None:
        seen.append(room)
        return None if room == "hall" else f"it is dark in the {room}"

    loop = bench.loop(lamp=lamp)
    steps: list[str | Given] = [
        "Zero it",
        {"title": "Light it", "check": {"lamp": {"room": "attic"}}},
    ]
    assert loop.plan_create("Do it", steps).ok
    assert loop.plan_amend(remove=["zero-it"], add=["Say it"], reason="fewer").ok
    told = loop.step_update("light-it", "done", SHOWN)
    assert not told.ok
    assert "dark in the attic" in told.text
    assert loop.plan_amend(
        edit={"light-it": {"title": "Light it", "check": {"lamp": {"room": "hall"}}}},
        reason="there is no attic",
    ).ok
    assert loop.step_update("light-it", "done", SHOWN).ok
    assert statuses(loop) == ["holds", "pending"]  # it was light in the hall
    # The same title with another look is another meaning.
    assert loop.plan_amend(
        edit={"light-it": {"title": "Light it", "check": {"lamp": {"room": "cellar"}}}},
        reason="no hall either",
    ).ok
    assert statuses(loop) == ["pending", "pending"]
    # Each is looked at before the work, and judged when it is said to be done.
    assert seen == ["attic", "attic", "hall", "hall", "cellar"]


def test_a_verifier_that_nobody_has_is_refused_at_once(bench: Scratch) -> None:
    loop = bench.loop()
    told = loop.plan_create("Do it", [{"title": "Say it", "check": {"file_exist": {"path": "a"}}}])
    assert "did you mean `file_exists`" in told.text
    assert not told.ok


# -- release -----------------------------------------------------------------------------------


@pytest.mark.requirement("command.release")
def test_a_person_releases_a_session_and_an_agent_does_not(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    refused(loop)
    nobody = bench.run("release", "do-it", "--reason", "enough")
    assert (nobody.code, bench.log().of("SESSION_RELEASED")) == (2, [])
    cell = bench.run("release", "do-it", "--reason", "x", "--as", "me", PLANBOUND_ATTEMPT="1")
    assert cell.code != 0
    assert bench.run("release", "do-it", "--reason", " ", "--as", "ann").code == 2
    bench.goes("release", "do-it", "--reason", "enough of it", "--as", "ann")
    event = bench.log().one("SESSION_RELEASED")
    assert (event["by"], event["reason"], event["session"]) == ("ann", "enough of it", "s1")
    assert isinstance(loop.check("done"), Silent)
    assert not loop.plan_finish("done").ok
    assert "released by ann: enough of it" in bench.run("status", "do-it").out
    told = bench.status("do-it")
    assert (told["status"], told["outcome"]) == ("failed", "released")
    assert "status: failed" in bench.file.read_text()
    assert "nothing to do" in bench.run("release", "do-it", "--reason", "x", "--as", "ann").err


def test_a_release_closes_what_waits_in_the_inbox(tmp_path: Path) -> None:
    bench = Scratch(tmp_path, "[gate]\nrefusals = 1\n")
    loop = bench.loop()
    loop.plan_create("Do it", [A])
    refused(loop)
    assert isinstance(loop.check("done"), Capped)
    assert "planbound release do-it" in bench.run("inbox").out
    assert "waiting for a person (1)" in bench.run("standup").out
    bench.goes("release", "do-it", "--reason", "enough", "--as", "ann", "--json")
    assert bench.run("inbox", "--json").json["waiting"] == []
    assert "waiting for a person (0)" in bench.run("standup").out


def test_a_claimed_step_can_be_approved_where_people_see_it(tmp_path: Path) -> None:
    scratch = Scratch(tmp_path)
    scratch.write("planbound.toml", '[gate]\napproval = true\nrequire = "claimed"\n')
    loop = scratch.loop()
    assert loop.plan_create("Say hello", ["Write a greeting by hand"]).ok
    assert loop.plan_request_approval().ok


def test_the_file_shows_where_the_steps_are(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, "Say it"])
    bench.right("a")
    loop.step_update(1, "done", SHOWN)
    assert "### 1. ✅ Make a" in bench.file.read_text()
    loop.step_update(2, "done", SHOWN)
    assert "### 2. ☑️ Say it" in bench.file.read_text()
    assert isinstance(loop.check("done"), Accept)
    assert "status: done" in bench.file.read_text()
    assert "file against journal: they agree" in bench.run("doctor").out


def test_a_plan_that_no_agent_works_on_is_not_released(bench: Scratch) -> None:
    bench.goes("new", "mine")
    done = bench.goes("release", "mine", "--reason", "enough", "--as", "tester", code=3)
    assert "no agent works on `mine` by itself" in done.err
    assert not bench.log().of("SESSION_RELEASED")


@pytest.mark.thorough
def test_a_loop_that_never_calls_the_gate_is_not_done(bench: Scratch) -> None:
    loop = bench.loop()
    loop.plan_create("Do it", [A, B])
    bench.right("a")
    loop.step_update(1, "done", SHOWN)
    # The host says "complete" and goes; nobody asked the gate.
    assert bench.status("do-it")["status"] not in {"done", "incomplete"}
    assert "[done]" not in bench.goes("list").out
    assert bench.goes("judge", "do-it", code=1).out.count("✓ pass") == 1
    assert "Make b" in (bench.loop("another").orientation() or "")
