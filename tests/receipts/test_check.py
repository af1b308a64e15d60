"""What a check notices in a receipt that somebody wrote so that the rest fits."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from planbound.receipts.check import required
from planbound.receipts.envelope import (
    MOST_BYTES,
    Envelope,
    ReceiptError,
    envelope_line,
    read_envelopes,
)
from tests.receipts.scene import (
    Receipts,
    checked,
    failing,
    kinds_of,
    one_file,
    rewritten,
    run_of,
    unsigned,
)
from tests.tables import first_always

pytestmark = pytest.mark.requirement("command.check-receipt")
Statements = list[dict[str, Any]]


def item(statements: Statements, place: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = statements[0]["predicate"]["items"][place]
    return found


def test_what_nobody_signed_and_nobody_changed_has_no_fault(signed: bytes) -> None:
    lines = checked(unsigned(signed))
    assert [line.name for line in lines.values() if line.holds is False] == []
    assert lines["signature"].holds is None
    # Who names those who may sign wants it signed.
    assert failing(unsigned(signed), signers="/nowhere") == ["signer"]


def test_a_change_under_a_signature_is_no_longer_signed(signed: bytes) -> None:
    def change(statements: Statements) -> None:
        item(statements)["title"] = "Another one"

    assert set(failing(rewritten(signed, change))) >= {"signature", "raw-signatures"}


def test_a_signature_that_was_taken_away_is_missed(signed: bytes) -> None:
    first, *others = read_envelopes(signed)
    bare = [Envelope(each.payload, ()) for each in (first, *others)]
    assert "signature" in failing(b"".join(map(envelope_line, bare)))
    less = [first, *bare[1:]]
    assert failing(b"".join(map(envelope_line, less))) == ["raw-signatures"]


# Each is a lie that fits all digests, by whoever can sign or needs no signature.
def _proved_without_red(run: dict[str, Any]) -> None:
    run["items"][0]["baseline"] = {"verdict": "pass", "red": False, "at": "approval", "seq": None}


def _proved_without_pass(run: dict[str, Any]) -> None:
    run["items"][0]["verdict"] = "fail"


def _red_that_was_green(run: dict[str, Any]) -> None:
    run["items"][0]["baseline"]["verdict"] = "pass"


def _no_event(run: dict[str, Any]) -> None:
    run["items"][0]["seq"] = run["approval"]["seq"]


def _settled_by_nothing(run: dict[str, Any]) -> None:
    run["items"][0]["settled_by"] = None


def _wrong_exit(run: dict[str, Any]) -> None:
    run["items"][0]["expectations"] = ["exit_code == 1"]


def _twice(run: dict[str, Any]) -> None:
    run["items"].append(dict(run["items"][0]))


def _level_without_cell(run: dict[str, Any]) -> None:
    run["items"][0]["isolation"] = "I0"


def _level_without_failure(run: dict[str, Any]) -> None:
    run["items"][0] |= {"evidence": "E3", "canary": "none", "baseline": None, "result": "holds"}


def _more_than_demanded(run: dict[str, Any]) -> None:
    run["items"][0]["demanded_evidence"] = "E4"


def _count(run: dict[str, Any]) -> None:
    run["counts"]["proved"] += 1


def _outcome(run: dict[str, Any]) -> None:
    run["outcome"] = "settled"


def _unknown_cost(run: dict[str, Any]) -> None:
    run["deviations"] = [d for d in run["deviations"] if d["deviation"] != "unknown-cost"]


def _editable(run: dict[str, Any]) -> None:
    run["deviations"] = [d for d in run["deviations"] if d["deviation"] != "editable-judge"]


def _invented(run: dict[str, Any]) -> None:
    seq = run["items"][0]["settled_by"]
    said = {"item": "step 1", "by": "ada", "reason": "x", "seq": seq}
    run["deviations"].append({"deviation": "waived", **said})


def _policy(run: dict[str, Any]) -> None:
    run["approval"]["method"] = "policy"


def _no_approval(run: dict[str, Any]) -> None:
    run["approval"] = None


def _waived_silently(run: dict[str, Any]) -> None:
    run["items"][0]["result"] = "waived"


def _bare(run: dict[str, Any]) -> None:
    run["items"][0] |= {"isolation": "I0", "evidence": "E1"}


def _reused(run: dict[str, Any]) -> None:
    run["items"][0]["reused"] = 1


def _other_hash(run: dict[str, Any]) -> None:
    run["journal"]["events"][0]["hash"] = "0" * 64


def _other_place(run: dict[str, Any]) -> None:
    run["journal"]["events"][0]["seq"] -= 1


def _spare_node(run: dict[str, Any]) -> None:
    run["journal"]["nodes"].append(base64.b64encode(bytes(32)).decode())


def _outside_node(run: dict[str, Any]) -> None:
    run["journal"]["events"][0]["path"][0] = 10_000


def _other_root(run: dict[str, Any]) -> None:
    origin, size, _ = run["journal"]["checkpoint"].split("\n")[:3]
    root = base64.b64encode(bytes(32)).decode()
    run["journal"]["checkpoint"] = f"{origin}\n{size}\n{root}\n"


def _no_checkpoint(run: dict[str, Any]) -> None:
    run["journal"]["checkpoint"] = "nothing"


def _rewritten_journal(run: dict[str, Any]) -> None:
    root = base64.b64encode(bytes(32)).decode()
    run["journal"]["earlier"] = {"size": 3, "root": root, "proof": []}


def _other_text(run: dict[str, Any]) -> None:
    run["plan"]["text"] = run["plan"]["text"].replace("grep -qx right src/a", "true")


def _other_approval(run: dict[str, Any]) -> None:
    run["approval"]["digest"] = "0" * 64


def _left_out_step(run: dict[str, Any]) -> None:
    del run["items"][1]


def _other_tree(run: dict[str, Any]) -> None:
    run["tree"]["tree"] = "0" * 64


LIES = {
    _proved_without_red: "items",
    _proved_without_pass: "items",
    _red_that_was_green: "items",
    _no_event: "items",
    _settled_by_nothing: "items",
    _wrong_exit: "items",
    _twice: "items",
    _level_without_cell: "evidence",
    _level_without_failure: "evidence",
    _more_than_demanded: "evidence",
    _count: "counts",
    _outcome: "counts",
    _unknown_cost: "deviations",
    _editable: "deviations",
    _invented: "deviations",
    _policy: "deviations",
    _no_approval: "deviations",
    _waived_silently: "deviations",
    _bare: "deviations",
    _reused: "deviations",
    _other_hash: "events",
    _other_place: "events",
    _spare_node: "events",
    _outside_node: "events",
    _other_root: "events",
    _no_checkpoint: "journal",
    _rewritten_journal: "earlier",
    _other_text: "plan",
    _other_approval: "approval",
    _left_out_step: "contracts",
    _other_tree: "subjects",
}


@pytest.mark.parametrize("lie", LIES, ids=lambda lie: lie.__name__.strip("_"))
def test_a_lie_that_fits_all_digests_is_noticed(signed: bytes, lie: Any) -> None:
    assert LIES[lie] in failing(unsigned(signed, lambda all_: lie(all_[0]["predicate"])))


def test_a_test_result_that_says_something_else_is_noticed(signed: bytes) -> None:
    def better(statements: Statements) -> None:
        statements[1]["predicate"]["result"] = "WARNED"

    def elsewhere(statements: Statements) -> None:
        statements[1]["subject"] = [{"name": "tree", "digest": {"sha256": "0" * 64}}]

    def fewer(statements: Statements) -> None:
        del statements[1]

    assert failing(unsigned(signed, better)) == ["results"]
    assert "subjects" in failing(unsigned(signed, elsewhere))
    assert "results" in failing(unsigned(signed, fewer))
    first, *others = read_envelopes(unsigned(signed))
    swapped = b"".join(map(envelope_line, [first, *others[::-1]]))
    assert "statements" in failing(swapped)


def test_an_earlier_receipt_of_another_journal_is_not_continued(signed: bytes) -> None:
    def other(statements: Statements) -> None:
        journal = statements[0]["predicate"]["journal"]
        journal["checkpoint"] = journal["checkpoint"].replace("journal/", "journal/other-")

    assert checked(signed, earlier=signed)["earlier-receipt"].holds
    line = checked(signed, earlier=unsigned(signed, other))["earlier-receipt"]
    assert (line.holds, line.words) == (False, "it is of another journal")


def test_a_waiver_that_was_cut_out_is_missed(signed: bytes) -> None:
    # The forger took the waiver away, and made its item look proved.
    def waived(run: dict[str, Any]) -> None:
        event = next(
            e for e in run["journal"]["events"] if e["seq"] == run["items"][0]["settled_by"]
        )
        event["event"] = "WAIVED"

    cut = unsigned(signed, lambda all_: waived(all_[0]["predicate"]))
    assert {"items", "deviations"} & set(failing(cut))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda run: run.update(more=1), "unknown key `more`"),
        (lambda run: run.pop("made"), "has no `made`"),
        (lambda run: run.update(made=7), "made is not of type `str`"),
        (lambda run: run["counts"].update(proved=True), "proved is not of type `int`"),
        (lambda run: run["items"][0].update(tests=[]), "tests is no object"),
        (lambda run: run["deviations"].append({"deviation": "new"}), "is an unknown deviation"),
        (lambda run: run["deviations"].append("x"), "is no object"),
        (lambda run: run.update(items={}), "items is no list"),
        (lambda run: run["tree"].update(removed=["../up"]), "`../up` is no path in a workspace"),
        (lambda run: run["tree"].update(removed=["/etc/x"]), "is no path in a workspace"),
        (lambda run: run["tree"].update(removed=["a/.git/hooks"]), "is no path in a workspace"),
        (lambda run: run["base"].update(folder=".."), "is no path in a workspace"),
    ],
)
def test_what_has_not_the_shape_of_a_receipt_is_unreadable(
    signed: bytes, change: Any, said: str
) -> None:
    with pytest.raises(ReceiptError) as refused:
        checked(unsigned(signed, lambda all_: change(all_[0]["predicate"])))
    assert said in str(refused.value)


ODD: tuple[Any, ...] = (
    *("", "\0", "\ud800", "\udc80", "-f", "../..", "E9", "\x1b[2J", '{"a":' * 3000),
    *(-1, 0, 2**70, 1e308, True, None, [], {}, [None], {"a": "b"}),
)


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the way to every value that holds no others."""
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    for key, each in inner if isinstance(value, dict | list) else ():
        if isinstance(each, dict | list) and each:
            yield from leaves(each, (*path, key))
        else:
            yield (*path, key)


@pytest.mark.thorough
@pytest.mark.parametrize("part", first_always(range(12)))
def test_whatever_stands_at_a_place_a_check_comes_to_its_end(signed: bytes, part: int) -> None:
    ways = list(leaves(run_of(unsigned(signed))))
    assert len(ways) > 200
    odd = [(way, value) for way in ways for value in ODD][part::12]
    for way, value in odd:

        def change(statements: Statements, way: Any = way, value: Any = value) -> None:
            place = statements[0]["predicate"]
            for key in way[:-1]:
                place = place[key]
            place[way[-1]] = value

        with suppress(ReceiptError):
            assert checked(unsigned(signed, change))


def test_another_version_and_something_else_are_named(signed: bytes) -> None:
    def newer(statements: Statements) -> None:
        statements[0]["predicateType"] = "https://planbound.dev/attestation/plan-run/v0.9"

    def foreign(statements: Statements) -> None:
        statements[0]["predicateType"] = "https://slsa.dev/provenance/v1"

    with pytest.raises(ReceiptError, match=r"of version v0\.9, and this checks v0\.1"):
        checked(unsigned(signed, newer))
    with pytest.raises(ReceiptError, match="no receipt of a plan"):
        checked(unsigned(signed, foreign))


LINE = b'{"payloadType":"application/vnd.in-toto+json","payload":"%b","signatures":[]}\n'
UNREADABLE = {
    "empty": b"",
    "binary": bytes(range(256)) * 4,
    "text": b"hello\n",
    "list": b"[]\n",
    "cut off": LINE[:40],
    "a program": b"\x7fELF\x02\x01\x01\x00" + bytes(40),
    "keys twice": LINE.replace(b'"signatures":[]', b'"signatures":[],"signatures":[]') % b"e30=",
    "no number": LINE.replace(b"[]", b"[NaN]") % b"e30=",
    "deep": b"[" * 100_000 + b"\n",
    "deep payload": LINE % base64.b64encode(b'{"a":' * 900 + b"1" + b"}" * 900),
    "other base64": LINE % b"e31=",
    "not base64": LINE % b"%%%",
    "empty object": LINE % b"e30=",
    "another type": LINE.replace(b"in-toto", b"other") % b"e30=",
    "spaces": LINE.replace(b":", b": ") % b"e30=",
    "many lines": b"\n" * 30_000,
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_what_is_no_receipt_is_refused_in_a_line(name: str, receipts: Receipts) -> None:
    path = receipts.path(UNREADABLE[name])
    done = receipts.bench.goes("check-receipt", str(path), code=2)
    assert done.out == ""
    assert done.err.startswith("error: ")
    other = one_file(path, cwd=receipts.bench.workspace)
    assert other.returncode == 2
    assert other.stdout == ""
    assert done.err.splitlines()[0] in other.stderr


@pytest.mark.thorough
def test_what_is_huge_missing_or_no_file_is_refused(receipts: Receipts) -> None:
    bench = receipts.bench
    huge = bench.folder / "huge"
    with huge.open("wb") as file:
        file.truncate(MOST_BYTES + 10)
    assert "larger than 67,108,864 bytes" in bench.goes("check-receipt", str(huge), code=2).err
    assert "larger than" in one_file(huge).stderr
    assert "is not there" in bench.goes("check-receipt", "nowhere", code=2).err
    assert "is a directory" in bench.goes("check-receipt", str(bench.folder), code=2).err
    assert one_file("nowhere").returncode == 2
    assert one_file(bench.folder).returncode == 2


def test_demands_and_lists_that_are_none_are_usage(signed: bytes, receipts: Receipts) -> None:
    bench, path = receipts.bench, receipts.path(signed)
    done = bench.goes("check-receipt", str(path), "--require", "E3,E9", code=2)
    assert "nobody can demand `E9`" in done.err
    assert one_file(path, "--require", "E9").returncode == 2
    done = bench.goes("check-receipt", str(path), "--signers", "nowhere", code=2)
    assert "there is no file `nowhere`" in done.err
    assert one_file(path, "--signers", "nowhere").returncode == 2
    assert required(" E3, signed,") == ("E3", "signed")


def test_levels_are_demanded_of_every_item(signed: bytes) -> None:
    lines = checked(signed, require=("E1", "I2", "E4", "proved", "no-waiver"))
    assert lines["require E1"].holds
    assert lines["require I2"].holds
    assert lines["require E4"].holds is False
    assert "step 1 has E3" in lines["require E4"].words
    assert lines["require no-waiver"].holds
    assert lines["require proved"].holds == (run_of(signed)["outcome"] == "proved")


def test_nothing_in_a_receipt_acts_on_a_terminal(signed: bytes, receipts: Receipts) -> None:
    def loud(statements: Statements) -> None:
        run = statements[0]["predicate"]
        run["approval"]["by"] = "mara\x1b[2J\u202e"
        run["outcome"] = "\x1b[31mproved"

    path = receipts.path(unsigned(signed, loud))
    for said in (
        receipts.bench.goes("check-receipt", str(path), code=1).out,
        one_file(path).stdout,
    ):
        assert "\x1b" not in said
        assert "\u202e" not in said
        assert "\\u001b" in said


def test_programs_read_the_checks_as_json(signed: bytes, receipts: Receipts) -> None:
    path = receipts.path(signed)
    told = receipts.bench.goes("check-receipt", str(path), "--json").json
    assert told["holds"]
    assert told["slug"] == "PLAN"
    assert {each["name"]: each["holds"] for each in told["checks"]}["signer"] is None
    assert json.dumps(kinds_of(signed))
