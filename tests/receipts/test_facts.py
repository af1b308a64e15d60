"""Lies in values that nothing else in a receipt rests on, by whoever can sign."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from planbound.git.repository import read_git
from planbound.receipts import claims
from planbound.receipts.check_facts import is_fingerprint, is_slug, is_time
from planbound.receipts.check_tree import check_tree
from planbound.receipts.envelope import ReceiptError
from planbound.receipts.git_tree import FILE, LINK, PROGRAM
from tests.receipts.scene import Receipts, failing, one_file, run_of, unsigned
from tests.tables import one_fact
from tools.receipt_checker import run_git

pytestmark = pytest.mark.requirement("command.check-receipt")
Run = dict[str, Any]


def lied(data: bytes, lie: Any) -> bytes:
    """Return a receipt with a lie in it, and test results that fit."""

    def change(statements: list[Run]) -> None:
        run, model = statements[0]["predicate"], statements[1]
        lie(run)
        tested = [claims.test_result(item) for item in run["items"] if claims.is_tested(item)]
        statements[1:] = [{**model, "predicate": each} for each in tested]

    return unsigned(data, change)


def of_item(**values: Any) -> Any:
    return lambda run: run["items"][0].update(values)


def of_approval(**values: Any) -> Any:
    return lambda run: run["approval"].update(values)


def of_agent(**values: Any) -> Any:
    return lambda run: run["agents"][0].update(values)


def _other_judge(run: Run) -> None:
    for item in run["items"]:
        for judge in item["judges"]:
            judge["sha256"] = "0" * 64


def _no_judges(run: Run) -> None:
    for item in run["items"]:
        item["judges"] = []
    run["deviations"] = [d for d in run["deviations"] if d["deviation"] != "editable-judge"]


def _one_event_for_two(run: Run) -> None:
    run["items"][1]["seq"] = run["items"][0]["seq"]


def _baseline_of_nothing(run: Run) -> None:
    run["items"][0]["baseline"]["seq"] = run["items"][0]["settled_by"]


def _baseline_not_cited(run: Run) -> None:
    run["items"][0]["baseline"]["seq"] = 9999


def _less_unknown(run: Run) -> None:
    said = next(d for d in run["deviations"] if d["deviation"] == "unknown-cost")
    said["attempts"] -= 1


def _late_of_nothing(run: Run) -> None:
    said = {"deviation": "late", "item": "step 99", "seq": run["items"][0]["seq"]}
    run["deviations"].append(said)


def _nothing_redacted(run: Run) -> None:
    run["plan"]["redacted"] = True


def _fewer_because_redacted(run: Run) -> None:
    run["plan"] |= {"redacted": True, "text": run["plan"]["text"] + "\n"}
    gone = run["items"].pop(1)
    run["counts"]["items"] -= 1
    run["counts"][gone["result"]] -= 1


FEW = {"passed": 1, "failed": 0, "skipped": 0}
RED = {"passed": 9, "failed": 2, "skipped": 0}
LIES: list[tuple[str, Any, str]] = [
    ("a level that there is none of", of_item(evidence="Z"), "evidence"),
    ("E5 by who made the receipt", of_item(evidence="E5"), "evidence"),
    ("walls that there are none of", of_item(isolation="Z"), "evidence"),
    ("a demand that there is none of", of_item(demanded_evidence="A"), "evidence"),
    ("another exit code", of_item(exit_code=7), "items"),
    ("too few tests", of_item(expectations=["tests >= 2"], tests=FEW), "items"),
    ("tests that failed", of_item(expectations=["failed <= 1"], tests=RED), "items"),
    ("less than nothing", of_item(attempts=-1), "items"),
    ("time that ran backwards", of_item(seconds=-1.0), "items"),
    ("an event of two items", _one_event_for_two, "items"),
    ("a baseline that was none", _baseline_of_nothing, "items"),
    ("a baseline without an event", _baseline_not_cited, "items"),
    ("an approval without an event", of_approval(seq=9999), "approval"),
    ("a proof without a key", of_approval(strength="proof"), "approval"),
    ("an approval yet to come", of_approval(at="2999-01-01T00:00:00Z"), "approval"),
    ("judges that nobody approved", _other_judge, "approval"),
    ("judges that were left out", _no_judges, "approval"),
    ("a measured agent", of_agent(claimed=False), "deviations"),
    ("a gift", of_agent(dollars="-5"), "deviations"),
    ("an amount in words", of_agent(dollars="[free](https://x)"), "deviations"),
    ("attempts that are known", _less_unknown, "deviations"),
    ("a deviation of no item", _late_of_nothing, "deviations"),
    ("another title", of_item(title="Another"), "contracts"),
    ("another command", of_item(command="pytest -q --all"), "contracts"),
    ("another form", of_item(form="cases"), "contracts"),
    ("more expected", of_item(expectations=["exit_code == 0"]), "contracts"),
    ("another scope", of_item(touches=["docs/**"]), "contracts"),
    ("another demand", of_item(demanded_evidence="E2"), "contracts"),
    ("secrets that were none", _nothing_redacted, "plan"),
    ("a step left out with the secrets", _fewer_because_redacted, "contracts"),
]


@pytest.mark.parametrize(("lie", "name"), [row[1:] for row in LIES], ids=[row[0] for row in LIES])
def test_a_value_that_cannot_be_is_noticed(signed: bytes, lie: Any, name: str) -> None:
    assert failing(lied(signed, lambda _: None)) == []
    assert name in failing(lied(signed, lie))


@pytest.mark.parametrize(
    ("lie", "said"),
    [
        (lambda run: run["plan"].update(slug="../../etc/x"), "is no name of a plan"),
        (lambda run: run["plan"].update(slug="a\nb"), "is no name of a plan"),
        (lambda run: run.update(version="7"), "it is of version 7"),
        (lambda run: run.update(made="yesterday"), "is no time"),
    ],
)
def test_names_times_and_versions_that_are_none_are_unreadable(
    signed: bytes, lie: Any, said: str
) -> None:
    with pytest.raises(ReceiptError, match=said):
        failing(lied(signed, lie))


@one_fact(
    "name, plain",
    [
        ("PLAN", True),
        ("größe.v2", True),
        ("..", False),
        ("", False),
        ("a/b", False),
        ("a\\b", False),
        ("a\x1b", False),
        ("x" * 256, False),
    ],
)
def test_a_slug_is_one_part_of_a_path(name: str, plain: bool) -> None:  # noqa: FBT001 - a table's column
    assert is_slug(name) is plain


def test_a_link_with_the_text_of_a_judge_is_no_judge(signed: bytes) -> None:
    run = run_of(signed)
    judge = {"path": "tests/b.sh", "sha256": "0" * 64, "git_blob": "1" * 40, "editable": False}
    run["items"][0]["judges"] = [judge]

    def at(mode: str) -> bool | None:
        def git(words: Sequence[str]) -> bytes:
            listed = f"{mode} blob {'1' * 40}\ttests/b.sh\0{FILE} blob {'2' * 40}\tsrc/a\0"
            return b"3" * 40 if words[0] == "rev-parse" else listed.encode()

        touched = [{"name": "src/a", "digest": {"gitBlob": "2" * 40}}]
        return check_tree(run, touched, "HEAD", git)[1]

    assert at(FILE)
    assert at(PROGRAM)
    assert at(LINK) is False


def test_a_commit_is_what_its_name_says_and_not_what_it_was_replaced_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        named = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"]
        command = ["git", *named, *words]
        done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "-m", "judged")
    (tmp_path / "other").write_text("x")
    git("add", "other")
    git("commit", "--quiet", "-m", "other")
    wanted = git("rev-parse", "HEAD^{tree}")
    git("replace", "HEAD", "HEAD~1")
    assert git("rev-parse", "HEAD^{tree}") != wanted
    words = ("rev-parse", "HEAD^{tree}")
    assert read_git(str(tmp_path), words) == f"{wanted}\n".encode()
    monkeypatch.chdir(tmp_path)
    assert run_git(words) == f"{wanted}\n".encode()


def test_without_a_repository_both_checkers_say_the_same(
    receipts: Receipts, signed: bytes, tmp_path: Path
) -> None:
    path, bare = receipts.path(signed), tmp_path / "bare"
    bare.mkdir()
    said = receipts.bench.run(
        "--workspace", str(bare), "check-receipt", str(path), "--tree", "HEAD"
    )
    alone = one_file(path, "--tree", "HEAD", cwd=bare)
    wanted = "FAILS  tree: there is no git, or no repository here"
    assert wanted in said.out
    assert wanted in alone.stdout


def test_a_key_has_one_fingerprint_and_a_time_one_form() -> None:
    assert is_fingerprint(f"SHA256:{'A' * 43}")
    # The last digit has two bits that belong to no byte.
    assert not is_fingerprint(f"SHA256:{'A' * 42}B")
    assert not is_fingerprint(f"SHA256:{'A' * 43}=")
    assert not is_fingerprint("MD5:00:11")
    assert is_time("2026-11-19T21:49:58.770972Z")
    assert not is_time("2026-11-19T21:49:58+01:00")
