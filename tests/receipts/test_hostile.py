"""Receipts that somebody would like to be believed: each is refused by name, and runs nothing."""

from __future__ import annotations

import base64
import json
import os
import shutil
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbound.receipts.envelope import MOST_BYTES, Envelope, envelope_line, read_envelopes
from tests.program import Outcome
from tests.receipts.replaying import Elsewhere, Origin, outcomes, stripped
from tests.receipts.scene import one_file, rewritten, unsigned
from tests.run.bench import Step
from tests.tables import one_fact

pytestmark = pytest.mark.requirement("receipts.hostile")

Statements = list[dict[str, Any]]


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """Return where the plan was run; no test changes it."""
    origin = Origin(tmp_path_factory.mktemp("origin"))
    origin.done()
    return origin


@pytest.fixture(scope="module")
def there(origin: Origin) -> Elsewhere:
    """Return another machine; no test changes it."""
    return Elsewhere(origin)


class Asked:
    """One file, as each of those takes it who read receipts."""

    def __init__(self, there: Elsewhere, path: Path) -> None:
        self.checked = there.run("check-receipt", str(path))
        self.replayed = there.replay(path, "-o", f"{path}.replay")
        self.alone = one_file(path)
        self.written = os.path.exists(f"{path}.replay")

    def refused(self, code: int, words: str) -> list[str]:
        """Return what was not as it is to be: refused with this code, for this reason."""
        wrong = []
        for name, done in (("check-receipt", self.checked), ("replay", self.replayed)):
            said = done.out + done.err
            if done.code != code or words not in said or "Traceback" in said:
                wrong.append(f"{name}: exit {done.code}: {said[-600:]}")
        said = self.alone.stdout + self.alone.stderr
        if self.alone.returncode != code or words not in said or "Traceback" in said:
            wrong.append(f"one file: exit {self.alone.returncode}: {said[-600:]}")
        if self.written or "-> pass" in self.replayed.out:
            wrong.append("something was run")
        return wrong


def asked(there: Elsewhere, data: bytes, name: str = "given.jsonl") -> Asked:
    path = there.home / name
    path.write_bytes(data)
    return Asked(there, path)


# -- files that are no receipt ---------------------------------------------------------------------


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def huge(data: bytes) -> bytes:
    return data + b" " * (MOST_BYTES + 1 - len(data))


def newer(data: bytes) -> bytes:
    return data_with(data, lambda said: said.update(predicateType=f"{KIND}/v0.2"))


KIND = "https://planbound.dev/attestation/plan-run"


def data_with(data: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Return a receipt whose first statement is another one."""

    def first(statements: Statements) -> None:
        change(statements[0])

    return rewritten(data, first)


def unknown_key(data: bytes) -> bytes:
    return data_with(data, lambda said: said["predicate"].update(trusted=True))


def unknown_in_envelope(data: bytes) -> bytes:
    first, rest = data.split(b"\n", 1)
    return json.dumps({**json.loads(first), "trusted": True}).encode() + b"\n" + rest


def judge_at(path: str) -> Callable[[bytes], bytes]:
    def change(said: dict[str, Any]) -> None:
        item = next(item for item in said["predicate"]["items"] if item["judges"])
        item["judges"][0]["path"] = path

    return lambda data: data_with(data, change)


def subject_at(path: str) -> Callable[[bytes], bytes]:
    return lambda data: data_with(data, lambda said: said["subject"][-1].update(name=path))


NO_RECEIPTS: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda _: b"", "the file is empty"),
    (lambda _: b"\0\xff\xfe binary \n", "line 1"),
    (lambda _: b"[" * 5000 + b"\n", "line 1"),
    (lambda _: b'{"a": 1}\n', "unknown key"),
    (cut, "cut off"),
    (huge, "larger than"),
    (newer, "it is of version v0.2, and this checks v0.1"),
    (lambda data: data_with(data, lambda said: said.update(predicateType="x")), "no receipt"),
    (unknown_key, "unknown key `trusted`"),
    (unknown_in_envelope, "unknown key `trusted`"),
    (judge_at("../../etc/passwd"), "is no path in a workspace"),
    (judge_at("/etc/passwd"), "is no path in a workspace"),
    (judge_at(".git/config"), "is no path in a workspace"),
    (judge_at("tests/../../x"), "is no path in a workspace"),
    (judge_at("a\0b"), "is no path in a workspace"),
    (subject_at("../x"), "is no path in a workspace"),
    (
        lambda data: data_with(data, lambda said: said["predicate"]["base"].update(folder="..")),
        "is no path in a workspace",
    ),
]


@pytest.mark.thorough
@one_fact("forge, words", NO_RECEIPTS)
def test_what_is_no_receipt_is_unreadable(
    origin: Origin, there: Elsewhere, forge: Callable[[bytes], bytes], words: str
) -> None:
    wrong = asked(there, forge(origin.receipt.read_bytes())).refused(2, words)
    assert wrong == []


def test_a_file_that_is_not_there_or_none_is_told(there: Elsewhere) -> None:
    fifo = there.home / "fifo"
    os.mkfifo(fifo)
    for path in (there.home / "nothing", there.home, fifo):
        for command in ("check-receipt", "replay"):
            said = there.run(command, str(path))
            assert said.code == 2, said.out
            assert "expected a receipt" in said.err


# -- receipts that say something else --------------------------------------------------------------


def in_plan(old: str, new: str) -> Callable[[Statements], None]:
    def change(statements: Statements) -> None:
        plan = statements[0]["predicate"]["plan"]
        assert old in plan["text"]
        plan["text"] = plan["text"].replace(old, new)

    return change


def swapped(data: bytes) -> bytes:
    """Return the payload of one envelope under the signatures of another one."""
    first, second, *rest = read_envelopes(data)
    lines = (
        Envelope(first.payload, second.signatures),
        Envelope(second.payload, first.signatures),
        *rest,
    )
    return b"".join(map(envelope_line, lines))


def without_line(data: bytes) -> bytes:
    return b"\n".join(data.split(b"\n")[:-2]) + b"\n"


def waived_away(statements: Statements) -> None:
    statements[0]["predicate"]["deviations"] = []


LIES: list[tuple[Callable[[bytes], bytes], str]] = [
    (lambda data: rewritten(data, in_plan("sh tests/check.sh", "rm -rf ~")), "FAILS  signature"),
    (lambda data: unsigned(data, in_plan("sh tests/check.sh", "rm -rf ~")), "FAILS  plan"),
    (swapped, "FAILS  signature"),
    (without_line, "FAILS  statements"),
    (stripped, "FAILS  signature"),
    (lambda data: unsigned(data, waived_away), "FAILS  deviations"),
]


@pytest.mark.thorough
@one_fact("forge, words", LIES)
def test_what_was_changed_does_not_check_and_nothing_runs(
    origin: Origin, there: Elsewhere, forge: Callable[[bytes], bytes], words: str
) -> None:
    found = asked(there, forge(origin.receipt.read_bytes()))
    assert words in found.checked.out
    assert found.checked.code == 1
    assert found.replayed.code == 1
    assert "nothing was run: the receipt does not check" in found.replayed.err
    assert "-> pass" not in found.replayed.out
    assert not found.written
    assert found.alone.returncode == 1


def test_a_command_of_a_forged_receipt_does_no_harm_even_where_it_may_run(
    origin: Origin, there: Elsewhere
) -> None:
    precious = there.home / "precious"
    precious.write_text("mine\n")
    wreck = f"rm -rf ~/* {there.home} /tmp/*; echo wrecked"
    forged = there.home.parent / "forged.jsonl"
    forged.write_bytes(unsigned(origin.receipt.read_bytes(), in_plan("sh tests/check.sh", wreck)))
    assert there.replay(forged).code == 1
    # Even with a word: the text is not the plan that the digest names.
    said = there.replay(forged, "--unsigned")
    assert said.code == 2
    assert "the text of the plan is not what was approved" in said.err
    assert precious.read_text() == "mine\n"


# -- who signed ------------------------------------------------------------------------------------


def key_of(origin: Origin) -> str:
    return origin.goes("keys", "export").out.strip()


def told(there: Elsewhere, origin: Origin, signers: str, *words: str) -> tuple[Outcome, Outcome]:
    """Return what check-receipt and replay say with a list of signers."""
    path = there.home / "signers"
    path.write_text(signers)
    given = ("--signers", str(path), *words)
    checked = there.run("check-receipt", str(origin.receipt), *given)
    replayed = there.replay(origin.receipt, "-o", str(there.home / "out.jsonl"), *given)
    return checked, replayed


@pytest.mark.thorough
def test_a_key_that_nobody_listed_is_refused(
    origin: Origin, there: Elsewhere, tmp_path: Path
) -> None:
    key = tmp_path / "other"
    subprocess.run(
        ["/usr/bin/ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True
    )
    eve = f"eve {key.with_suffix('.pub').read_text()}"
    for done in told(there, origin, eve):
        assert done.code == 1
        assert "is not in" in done.out
        assert "-> pass" not in done.out
    words = ("--signers", str(there.home / "signers"), "-o", str(there.home / "out.jsonl"))
    allowed = there.replayed(origin.receipt, *words, "--unsigned")
    assert allowed["same"]
    assert not allowed["independent"]


def test_a_key_whose_time_was_over_is_refused(origin: Origin, there: Elsewhere) -> None:
    principal, options, rest = key_of(origin).split(" ", 2)
    over = options.split(",valid-after")[0] + ',valid-before="20200101Z"'
    for done in told(there, origin, f"{principal} {over} {rest}\n"):
        assert done.code == 1, done.out
        assert "signer" in done.out
        assert "-> pass" not in done.out


def test_a_key_for_another_purpose_is_refused(origin: Origin, there: Elsewhere) -> None:
    principal, _, rest = key_of(origin).split(" ", 2)
    for done in told(there, origin, f'{principal} namespaces="git" {rest}\n'):
        assert done.code == 1
        assert "-> pass" not in done.out


@pytest.mark.thorough
def test_a_key_that_was_revoked_is_refused(
    origin: Origin, there: Elsewhere, tmp_path: Path
) -> None:
    public, revoked = tmp_path / "key.pub", tmp_path / "revoked"
    public.write_text(" ".join(key_of(origin).split(" ")[2:]) + "\n")
    subprocess.run(["/usr/bin/ssh-keygen", "-q", "-k", "-f", str(revoked), str(public)], check=True)
    fine = told(there, origin, key_of(origin) + "\n")
    assert [done.code for done in fine] == [0, 0]
    for done in told(there, origin, key_of(origin) + "\n", "--revoked", str(revoked)):
        assert done.code == 1
        assert "FAILS  signer" in done.out
        assert "-> pass" not in done.out


# -- the journal and the repository ----------------------------------------------------------------


@pytest.mark.thorough
def test_a_journal_that_was_rewritten_after_the_receipt_is_noticed(tmp_path: Path) -> None:
    origin = Origin(tmp_path)
    origin.done()
    first = origin.folder / "first.jsonl"
    first.write_bytes(origin.receipt.read_bytes())
    origin.write_receipt()
    words = ("check-receipt", str(origin.receipt), "--previous", str(first))
    assert origin.run(*words).code == 0
    rewrite(origin.folder / "state" / "journal.sqlite")
    refused = origin.run("receipt", "alpha", "-o", str(origin.receipt))
    assert refused.code != 0
    assert "the journal is not the one that the last receipt speaks of" in refused.err
    # Who takes away what the harness noted of it is found out by the receipt that is out already.
    shutil.rmtree(origin.folder / "state" / "receipts")
    origin.write_receipt()
    said = origin.run(*words)
    assert said.code == 1
    assert "FAILS  earlier-receipt" in said.out


def rewrite(path: Path) -> None:
    """Change the hash of an early event, as somebody can who has the file."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for (name,) in list(
            connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        ):
            connection.execute(f'DROP TRIGGER "{name}"')
        connection.execute("UPDATE journal SET hash = ? WHERE seq = 3", ("0" * 64,))


@pytest.mark.thorough
def test_an_agent_does_not_take_receipts_out_of_the_repository(tmp_path: Path) -> None:
    origin = Origin(tmp_path)
    origin.settings += "[receipts]\nkeep = true\n"
    origin.done()
    before = origin.git("for-each-ref", "refs/planbound/receipts/")
    assert before
    gone = "git for-each-ref --format='delete %(refname)' refs/planbound | git update-ref --stdin"
    origin.named("beta", Step("clean up", f"{gone}; echo right > src/up", touches="src/up"))
    origin.run("run", "beta", "--no-input")
    after = origin.git("for-each-ref", "refs/planbound/receipts/").splitlines()
    assert set(before.splitlines()) <= set(after)
    assert "destructive" in origin.log("beta").of("CONTRACT_EVALUATED").last["reason"]


def test_a_base64_payload_with_something_behind_it_is_no_receipt(
    origin: Origin, there: Elsewhere
) -> None:
    first, rest = origin.receipt.read_bytes().split(b"\n", 1)
    said = json.loads(first)
    said["payload"] = base64.b64encode(base64.b64decode(said["payload"]) + b" ").decode()
    line = json.dumps(said, separators=(",", ":")).encode()
    assert asked(there, line + b"\n" + rest).refused(2, "line 1") == []


@pytest.mark.thorough
def test_the_same_receipt_is_fine_meanwhile(origin: Origin, there: Elsewhere) -> None:
    found = Asked(there, origin.receipt)
    assert (found.checked.code, found.replayed.code, found.alone.returncode) == (0, 0, 0)
    assert found.written
    assert set(outcomes(there.replayed(origin.receipt)).values()) == {"same"}
