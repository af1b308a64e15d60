"""What deviates is found once: a receipt, its check, a comment and a page tell the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from planbound.journal.event import AttemptEnded, details_of
from planbound.journal.record import Details, Record, decode
from planbound.receipts.deviation_words import plain, words_of
from planbound.receipts.deviations import agents_of
from planbound.receipts.items import both_ends
from planbound.receipts.predicate import ClaimedItem, Deviation, EditableJudge, HeldItem
from tests.receipts.pages import look_at
from tests.receipts.scene import HELD, RED, SIGNED, Receipts, failing, run_of, unsigned
from tests.run.bench import NOTHING, Step

GOLDEN = sorted((Path(__file__).parents[1] / "fixtures" / "journal").glob("*.jsonl"))


@pytest.mark.thorough
@pytest.mark.requirement("command.receipt")
@pytest.mark.requirement("command.report")
def test_a_page_tells_each_deviation_of_the_receipt(receipts: Receipts) -> None:
    bench = receipts.bench
    ask = Step("ask b", work=NOTHING, attest="the numbers are right")
    bench.prepare(RED, ask, *SIGNED, HELD)
    bench.goes("waive", "PLAN", "1", "--reason", "known trouble", "--as", "ada")
    bench.goes("run", "PLAN", code=4)
    bench.goes("attest", "PLAN", "2", "--as", "bob")
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert failing(data) == []
    told = msgspec.convert(run_of(data)["deviations"], list[Deviation])
    tags = {str(each.__struct_config__.tag) for each in told}
    assert {"waived", "attested", "holds", "editable-judge", "unknown-cost"} <= tags
    bench.goes("report", "PLAN", "-o", "run.html")
    text = look_at((bench.workspace / "run.html").read_text()).text
    for each in told:
        words = words_of(each)
        about = f" {words.item}" if words.item else ""
        assert f"{plain(words.kind)}{about}" in text
        assert plain(words.said).removeprefix(": ") in text
    comment = bench.goes("receipt", "PLAN", "--markdown").out
    assert "- one step was green before the work, or nobody looked: 5" in comment


def _without_holds(statements: list[dict[str, Any]]) -> None:
    run = statements[0]["predicate"]
    run["deviations"] = [each for each in run["deviations"] if each["deviation"] != "holds"]


def _holds_invented(statements: list[dict[str, Any]]) -> None:
    said = {"deviation": "holds", "item": "step 1", "reason": None}
    statements[0]["predicate"]["deviations"].append(said)


def _changed_at_the_gate(statements: list[dict[str, Any]]) -> None:
    statements[0]["predicate"]["approval"]["modifications"] = ["skip 1"]


def _edited_by_nobody(statements: list[dict[str, Any]]) -> None:
    run = statements[0]["predicate"]
    run["deviations"].append({"deviation": "edited", "seq": run["approval"]["seq"]})


@pytest.mark.thorough
@pytest.mark.requirement("command.check-receipt")
def test_what_the_items_and_the_approval_show_cannot_be_left_out_or_invented(
    receipts: Receipts,
) -> None:
    receipts.bench.prepare(*SIGNED, HELD)
    receipts.bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert failing(unsigned(data)) == []
    for lie in (_without_holds, _holds_invented, _changed_at_the_gate, _edited_by_nobody):
        assert "deviations" in failing(unsigned(data, lie)), lie.__name__


@pytest.mark.thorough
def test_changes_at_the_gate_are_told(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.lay(*SIGNED)
    seen = bench.digest()[:16]
    bench.goes("decide", "PLAN", "approved, but skip 1", "--digest", seen, "--as", "tester")
    bench.goes("run", "PLAN")
    run = run_of(receipts.make("PLAN"))
    (told,) = (each for each in run["deviations"] if each["deviation"] == "approved-with-changes")
    assert told["seq"] == run["approval"]["seq"]
    assert told["changes"] == run["approval"]["modifications"] != []


@pytest.mark.thorough
def test_gates_that_a_plan_may_change_are_told(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.lay(*SIGNED)
    words = ("--digest", bench.digest()[:16], "--as", "tester", "--gate", "tests/check.*")
    bench.goes("approve", "PLAN", *words)
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    (told,) = (each for each in run_of(data)["deviations"] if each["deviation"] == "approved-gates")
    assert told["gates"] == ["tests/check.*"]
    assert failing(unsigned(data)) == []
    assert "It may change gates of the branch" in bench.goes("receipt", "PLAN", "--markdown").out


@pytest.mark.thorough
def test_both_ends_of_an_output_are_told_without_secrets(receipts: Receipts) -> None:
    secret = "ghp_" + "a1B2" * 9
    loud = f"cat src/a; echo {secret}; seq 100000 100999; echo last"
    receipts.bench.prepare(Step("Make a", contract=loud), Step("Make b", contract="cat src/b"))
    receipts.bench.goes("run", "PLAN")
    first, second = (item["output"] for item in run_of(receipts.make("PLAN"))["items"][:2])
    assert first["begin"].startswith("right\n")
    assert first["begin"].splitlines()[2] == "100000"
    assert first["end"].endswith("100999\nlast\n")
    assert secret not in f"{first}"
    assert (second["begin"], second["end"]) == (None, "right\n")


@pytest.mark.parametrize("length", [0, 600, 601, 1199, 1200, 5000])
def test_the_ends_of_an_output_share_nothing(length: int) -> None:
    text = "".join(chr(0x100 + place) for place in range(length))
    begin, end = both_ends(text)
    assert (begin is None) == (length <= 600)
    assert text.startswith(begin or "")
    assert text.endswith(end)
    assert len(begin or "") + len(end) == min(length, 1200)


def _ended() -> Record:
    lines = (line for file in GOLDEN for line in file.read_text("ascii").splitlines())
    found = (each for each in map(decode, lines) if each.draft.task_id is not None)
    return next(each for each in found if isinstance(each.event, AttemptEnded))


def test_an_agent_is_told_as_it_was_and_only_of_old_events_as_it_is_now() -> None:
    record = _ended()

    def told(kind: str | None, model: str | None) -> tuple[str | None, str | None]:
        event = msgspec.structs.replace(record.event, kind=kind, model=model)
        draft = record.draft._replace(details=Details.of(details_of(event)))
        (agent,) = agents_of([record._replace(draft=draft)], lambda _: ("now", "new"))
        return agent.kind, agent.model

    assert told("claude", "then") == ("claude", "then")
    assert told("command", None) == ("command", None)
    assert told(None, None) == ("now", "new")


def test_words_name_nothing_that_is_not_known() -> None:
    assert words_of(HeldItem(item="step 1", reason=None)).said
    assert words_of(EditableJudge(item=None, path="a")).item is None
    claimed = words_of(ClaimedItem(item="step 1", evidence="it works", seq=3))
    assert plain(claimed.said) == " by the agent, judged by nobody: it works"
