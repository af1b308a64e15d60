"""The receipt of every kind of story checks, and leaves out nothing that went otherwise."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import stat
import subprocess
from pathlib import Path

import pytest

from planbound.receipts.git_tree import blob_id
from tests.git.git_scene import sh
from tests.needs import need
from tests.receipts.scene import (
    HELD,
    RED,
    SIGNED,
    Receipts,
    failing,
    kinds_of,
    one_file,
    run_of,
)
from tests.run.bench import NOTHING, Step

pytestmark = pytest.mark.requirement("command.receipt")

MADE = "git init -q && git config user.email a@example.org && git config user.name A"


def results(data: bytes) -> list[str]:
    return [item["result"] for item in run_of(data)["items"]]


@pytest.mark.thorough
def test_what_was_proved_is_told_with_everything_that_shows_it(receipts: Receipts) -> None:
    receipts.bench.prepare(*SIGNED, HELD)
    receipts.bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    run = run_of(data)
    assert failing(data) == []
    assert results(data) == ["proved", "proved", "holds", "holds"]
    assert (run["outcome"], run["status"], run["loop"]) == ("holds", "done", False)
    assert run["plan"]["text"] in receipts.bench.read(".harness/PLAN.md") or run["plan"]["text"]
    assert run["approval"]["by"] == "tester"
    first, second, held, after = run["items"]
    assert first["command"] == "grep -qx right src/a"
    assert (first["evidence"], first["isolation"], first["exit_code"]) == ("E3", "I2", 0)
    assert first["baseline"]["red"]
    assert [judge["path"] for judge in second["judges"]] == ["tests/b.sh"]
    content = (receipts.bench.workspace / "tests/b.sh").read_bytes()
    assert second["judges"][0]["git_blob"] == blob_id(content)
    # Somebody let the agent write to what judges it: that is told.
    assert {"deviation": "editable-judge", "item": "step 2", "path": "tests/b.sh"} in run[
        "deviations"
    ]
    assert not held["baseline"]["red"]
    assert after["kind"] == "postcondition"
    journal = {event.seq: event for event in receipts.bench.log()}
    for item in run["items"]:
        assert journal[item["seq"]].kind == "CONTRACT_EVALUATED"
    assert not any(
        event.kind == "ATTEMPT_ENDED" for event in map(journal.get, _cited(run)) if event
    )


def _cited(run: dict[str, object]) -> list[int]:
    events = run["journal"]["events"]  # type: ignore[index]
    return [event["seq"] for event in events]


@pytest.mark.thorough
def test_a_waiver_an_attestation_and_a_skip_are_told_by_name(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(
        RED, Step("ask b", work=NOTHING, attest="the numbers are right"), Step("Leave out d")
    )
    bench.goes("waive", "PLAN", "1", "--reason", "known trouble", "--as", "ada")
    bench.goes("run", "PLAN", code=4)
    bench.goes("attest", "PLAN", "2", "--as", "bob")
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert failing(data) == []
    assert results(data)[:2] == ["waived", "attested"]
    run = run_of(data)
    assert run["outcome"] == "settled"
    told = {each["deviation"]: each for each in run["deviations"]}
    assert (told["waived"]["by"], told["waived"]["reason"]) == ("ada", "known trouble")
    assert (told["attested"]["by"], told["attested"]["item"]) == ("bob", "step 2")
    required = receipts.bench.goes(
        "check-receipt", str(receipts.path(data)), "--require", "no-waiver,proved", code=1
    )
    assert "FAILS  require no-waiver: waived: step 1" in required.out
    assert "FAILS  require proved: it is `settled`" in required.out


@pytest.mark.thorough
def test_a_step_that_the_approval_leaves_out_is_told(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.lay(*SIGNED)
    seen = bench.digest()[:16]
    bench.goes("decide", "PLAN", "approved, but skip 1", "--digest", seen, "--as", "tester")
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert failing(data) == []
    assert results(data)[0] == "skipped"
    assert "skipped" in kinds_of(data)


@pytest.mark.thorough
def test_a_failed_plan_has_a_receipt_that_says_what_is_not_proved(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(SIGNED[0], RED)
    bench.goes("run", "PLAN", code=1)
    data = receipts.make("PLAN")
    assert failing(data) == []
    run = run_of(data)
    assert (run["outcome"], run["status"]) == ("unfinished", "failed")
    assert results(data)[:2] == ["proved", "failed"]
    assert run["items"][1]["verdict"] == "fail"
    unsettled = [each["item"] for each in run["deviations"] if each["deviation"] == "unsettled"]
    assert unsettled[0] == "step 2"


@pytest.mark.thorough
def test_a_plan_in_progress_and_an_archived_one_have_receipts(receipts: Receipts) -> None:
    bench = receipts.bench
    who = "coder-it"
    asked = Step("ask b", work=NOTHING, attest="the numbers are right", target=who)
    bench.prepare(Step("Make a", target=who), asked, name="it")
    bench.goes("run", "it", code=4)
    data = receipts.make("it")
    assert failing(data) == []
    assert (run_of(data)["outcome"], results(data)[1]) == ("unfinished", "waiting")
    bench.goes("attest", "it", "2", "--as", "bob")
    bench.goes("run", "it")
    bench.goes("archive", "it")
    later = receipts.make("it")
    assert failing(later) == []
    assert run_of(later)["archived"]
    assert run_of(later)["journal"]["earlier"]["size"] < len(bench.log()) + 1


@pytest.mark.thorough
def test_what_never_ran_has_no_receipt_and_nothing_is_made_for_it(receipts: Receipts) -> None:
    bench = receipts.bench
    done = bench.goes("receipt", "PLAN", code=2)
    assert "there is no plan" in done.err
    bench.prepare(*SIGNED)
    done = bench.goes("receipt", "PLAN", code=2)
    assert "`PLAN` never ran" in done.err
    assert done.out == ""
    assert "there is no plan `nope`" in bench.goes("receipt", "nope", code=2).err


@pytest.mark.thorough
def test_a_verdict_that_was_taken_over_says_from_where(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(SIGNED[0], HELD, Step("Check it again", work=NOTHING, contract=HELD.contract))
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert failing(data) == []
    reused = [item["reused"] for item in run_of(data)["items"]]
    assert any(reused) == ("reused" in kinds_of(data))


@pytest.mark.thorough
def test_secrets_and_prompts_stay_out(receipts: Receipts) -> None:
    bench = receipts.bench
    secret = "ghp_" + "a1B2" * 9
    step = Step("Make a", work=f"echo right > src/a; echo {secret}", contract="cat src/a; echo out")
    bench.prepare(step)
    bench.goes("run", "PLAN", PLANBOUND_NOTE="x")
    data = receipts.make("PLAN")
    text = json.dumps(run_of(data))
    assert secret not in text
    assert "Write what the contract of this step asks for" in run_of(data)["plan"]["text"]
    assert text.count("Write what the contract of this step asks for") == 1
    assert run_of(data)["items"][0]["output"]["end"] == "right\nout\n"
    assert run_of(data)["items"][0]["output"]["bytes"] == 10


@pytest.mark.thorough
def test_a_secret_in_the_plan_itself_is_taken_out_and_that_is_said(receipts: Receipts) -> None:
    bench = receipts.bench
    secret = "ghp_" + "a1B2" * 9
    bench.prepare(Step("Make a", contract=f"test {secret} && grep -qx right src/a"))
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    assert secret.encode() not in data
    assert secret not in json.dumps(run_of(data))
    assert run_of(data)["plan"]["redacted"]
    assert "plan" not in failing(data)


@pytest.mark.thorough
def test_without_ssh_keygen_it_is_refused_and_unsigned_says_so(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(*SIGNED)
    bench.goes("run", "PLAN")
    done = bench.goes("receipt", "PLAN", "--unsigned")
    assert "not signed: whoever has it can change it" in done.err
    data = done.out.encode()
    assert run_of(data)["harness"]["key"] is None
    assert failing(data) == []
    assert not (bench.folder / "state/keys").exists()
    shown = bench.goes("check-receipt", str(receipts.path(data)))
    assert "--     signature: not signed: whoever has the file can change it" in shown.out
    bench.goes("check-receipt", str(receipts.path(data)), "--require", "signed", code=1)


@pytest.mark.thorough
def test_the_harness_says_that_it_made_a_key_once(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(*SIGNED)
    bench.goes("run", "PLAN")
    assert "made a key that signs receipts" in bench.goes("receipt", "PLAN").err
    assert "made a key" not in bench.goes("receipt", "PLAN").err


@pytest.mark.thorough
def test_the_file_is_written_whole_or_not_at_all(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(*SIGNED)
    bench.goes("run", "PLAN")
    told = bench.goes("receipt", "PLAN", "-o", str(bench.folder / "r.jsonl"), "--json").json
    data = (bench.folder / "r.jsonl").read_bytes()
    assert (told["slug"], told["size"], told["outcome"]) == ("PLAN", len(data), "proved")
    assert "is a directory" in bench.goes("receipt", "PLAN", "-o", str(bench.folder), code=2).err
    os.mkfifo(bench.folder / "pipe")
    pipe = str(bench.folder / "pipe")
    assert "is a FIFO" in bench.goes("receipt", "PLAN", "-o", pipe, code=2).err
    assert stat.S_ISFIFO(os.stat(pipe).st_mode)
    missing = str(bench.folder / "no/where.jsonl")
    assert "No such file" in bench.goes("receipt", "PLAN", "-o", missing, code=2).err
    assert "needs `--output FILE`" in bench.goes("receipt", "PLAN", "--json", code=2).err


@pytest.mark.thorough
def test_a_journal_that_was_rewritten_since_the_last_receipt_gets_no_other(
    receipts: Receipts,
) -> None:
    bench = receipts.bench
    bench.prepare(*SIGNED)
    bench.goes("run", "PLAN")
    before = receipts.make("PLAN")
    bench.prepare(SIGNED[0], name="more")
    bench.goes("run", "more")
    after = receipts.make("more")
    earlier, later = receipts.path(before, "a.jsonl"), receipts.path(after, "b.jsonl")
    shown = bench.goes("check-receipt", str(later), "--previous", str(earlier))
    assert "ok     earlier-receipt: this receipt continues that one" in shown.out
    assert "ok     earlier: the" in shown.out
    wrong = bench.goes("check-receipt", str(earlier), "--previous", str(later), code=1)
    assert "FAILS  earlier-receipt: this receipt does not continue that one" in wrong.out
    with sqlite3.connect(bench.folder / "state/journal.sqlite") as journal:
        for (name,) in journal.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'"):
            journal.execute(f"DROP TRIGGER {name}")
        journal.execute("UPDATE journal SET hash = ? WHERE seq = 2", ("0" * 64,))
    done = bench.goes("receipt", "PLAN", code=2)
    assert "the journal is not the one that the last receipt speaks of" in done.err
    assert "remove" in done.err


@pytest.fixture
def repository(receipts: Receipts) -> Receipts:
    bench = receipts.bench
    (bench.workspace / ".git").rmdir()
    bench.write(".gitignore", ".harness\n*.log\n")
    sh(
        bench.workspace,
        f"{MADE} && git add -A && git commit -qm base",
    )
    bench.prepare(*SIGNED)
    bench.write("left.log", "no part of it\n")
    bench.goes("run", "PLAN")
    return receipts


def tree_line(receipts: Receipts, path: Path, revision: str, code: int = 0) -> str:
    """Return what both checkers say of a revision."""
    done = receipts.bench.goes("check-receipt", str(path), "--tree", revision, code=code)
    other = one_file(path, "--tree", revision, cwd=receipts.bench.workspace)
    (line,) = [each for each in done.out.splitlines() if each[7:].startswith("tree:")]
    assert line in other.stdout.splitlines()
    assert other.returncode == code
    return line


@pytest.mark.thorough
@pytest.mark.requirement("receipt.subjects")
def test_a_tree_survives_commit_squash_rebase_and_amend(repository: Receipts) -> None:
    bench = repository.bench
    path = repository.path(repository.make("PLAN"))
    sh(bench.workspace, "git add src/a && git commit -qm one && git add -A && git commit -qm two")
    same = "ok     tree: same tree: all files are those that were judged"
    assert tree_line(repository, path, "HEAD") == same
    sh(bench.workspace, "git reset -q --soft HEAD~2 && git commit -qm squashed")
    assert tree_line(repository, path, "HEAD") == same
    sh(bench.workspace, "git commit -q --amend -m other")
    assert tree_line(repository, path, "HEAD") == same
    # Others work on: the tree is another one, the files of this work are not.
    bench.write("src/others", "more\n")
    sh(bench.workspace, "git add -A && git commit -qm others")
    assert "another tree; the 2 files of this work are the judged ones" in tree_line(
        repository, path, "HEAD"
    )
    assert "there is no revision `nowhere` here" in tree_line(repository, path, "nowhere", 1)
    assert "not as they were judged: src/a, src/b" in tree_line(repository, path, "HEAD~2", 1)
    bench.write("src/a", "right\nand more\n")
    sh(bench.workspace, "git commit -qam change")
    assert "FAILS  tree: another tree; not as they were judged: src/a" in tree_line(
        repository, path, "HEAD", 1
    )


@pytest.mark.thorough
@pytest.mark.requirement("receipt.subjects")
def test_a_judge_that_was_changed_on_the_branch_is_named(receipts: Receipts) -> None:
    bench = receipts.bench
    (bench.workspace / ".git").rmdir()
    sh(
        bench.workspace,
        f"{MADE} && git add -A && git commit -qm base",
    )
    judged = Step("Make b", contract="sh tests/b.sh", work="echo ok > src/b")
    bench.prepare(judged)
    bench.goes("run", "PLAN")
    path = receipts.path(receipts.make("PLAN"))
    bench.write("tests/b.sh", "true\n")
    sh(bench.workspace, "git add -A && git commit -qm weaker")
    assert tree_line(receipts, path, "HEAD", 1) == "FAILS  tree: judges changed: tests/b.sh"


@pytest.mark.requirement("receipt.subjects")
def test_a_receipt_of_another_repository_is_not_about_this_one(
    repository: Receipts, tmp_path: Path
) -> None:
    path = repository.path(repository.make("PLAN"))
    other = tmp_path / "other"
    other.mkdir()
    sh(
        other,
        f"{MADE} && echo x > y && git add -A && git commit -qm base",
    )
    done = repository.bench.goes(
        "--workspace", str(other), "check-receipt", str(path), "--tree", "HEAD", code=1
    )
    assert "FAILS  tree: judges changed: " in done.out or "not as they were judged" in done.out
    nowhere = tmp_path / "nowhere"
    nowhere.mkdir()
    done = repository.bench.goes(
        "--workspace", str(nowhere), "check-receipt", str(path), "--tree", "HEAD", code=1
    )
    assert "there is no git, or no repository here" in done.out


@pytest.mark.requirement("command.keys", "receipt.signers")
def test_who_may_sign_is_looked_up_and_a_rotated_key_signs_no_more(
    repository: Receipts,
) -> None:
    bench = repository.bench
    path, signers = repository.path(repository.make("PLAN")), repository.signers()
    words = ("check-receipt", str(path), "--signers", str(signers), "--require", "signed")
    assert "who may sign" in bench.goes(*words).out
    key = bench.folder / "state/keys/receipts"
    assert key.stat().st_mode & 0o777 == 0o600
    assert key.parent.stat().st_mode & 0o777 == 0o700
    before = key.read_bytes()
    shown = bench.goes("keys", "rotate").out.splitlines()
    assert [line.split()[0] for line in shown] == ["signs", "earlier"]
    assert before not in [each.read_bytes() for each in key.parent.iterdir()]
    # What the old key signed while it did still holds; by the new one alone it is nobody's.
    signers = repository.signers()
    assert signers.read_text().count('namespaces="planbound-receipt@v1"') == 2
    bench.goes("check-receipt", str(path), "--signers", str(signers), "--require", "signed")
    new = bench.folder / "new"
    new.write_text(signers.read_text().splitlines()[0] + "\n")
    done = bench.goes("check-receipt", str(path), "--signers", str(new), code=1)
    assert "FAILS  signer: SHA256:" in done.out
    later = repository.path(repository.make("PLAN"), "later.jsonl")
    bench.goes("check-receipt", str(later), "--signers", str(new), "--require", "signed")
    revoked = bench.folder / "revoked"
    revoked.write_text((key.parent / "receipts.pub").read_text())
    words = ("check-receipt", str(later), "--signers", str(new), "--revoked", str(revoked))
    assert "FAILS  signer: " in bench.goes(*words, code=1).out
    other = one_file(later, "--signers", new, "--revoked", revoked, cwd=bench.workspace)
    assert other.returncode == 1


@pytest.mark.requirement("command.keys")
def test_keys_are_made_shown_and_handed_out(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.lay(*SIGNED)
    assert "there is no key yet" in bench.goes("keys", code=3).err
    assert "there is no key yet" in bench.goes("keys", "rotate", code=2).err
    assert bench.goes("keys", "new").out.startswith("signs    SHA256:")
    assert "there is a key already" in bench.goes("keys", "new", code=3).err
    (key,) = bench.goes("keys", "--json").json["keys"]
    assert (key["signs"], key["owner"], key["until"]) == (True, "harness", None)
    assert bench.goes("keys", "export").out == f"{key['line']}\n"
    assert "expected one of" in bench.goes("keys", "steal", code=2).err


@pytest.mark.thorough
@pytest.mark.requirement("command.keys")
def test_a_persons_own_key_signs_where_it_is_configured(receipts: Receipts) -> None:
    bench = receipts.bench
    key = bench.folder / "home/mine"
    make = ["ssh-keygen", "-q", "-t", "ecdsa", "-N", "", "-C", "mara", "-f", str(key)]
    subprocess.run(make, check=True)
    bench.prepare(*SIGNED, settings='[receipts]\nkey = "~/mine"\n')
    bench.goes("run", "PLAN")
    data = receipts.make("PLAN")
    said = run_of(data)["harness"]["key"]
    assert (said["owner"], said["type"]) == ("person", "ecdsa-sha2-nistp256")
    signers = bench.folder / "signers"
    public = key.with_suffix(".pub").read_text()
    signers.write_text(f'mara namespaces="planbound-receipt@v1" {public}')
    path = receipts.path(data)
    words = ("check-receipt", str(path), "--signers", str(signers), "--require", "signed")
    assert "ok     signer: mara, who may sign" in bench.goes(*words).out
    assert "raw-signatures" not in bench.goes(*words).out
    # A key that is allowed for something else may not sign receipts.
    signers.write_text(f'mara namespaces="git" {public}')
    assert "FAILS  signer: " in bench.goes(*words, code=1).out
    key.unlink()
    key.with_suffix(".pub").unlink()
    assert "is not there" in bench.goes("receipt", "PLAN", code=2).err
    receipts.bench.write("planbound.toml", bench.settings.replace("~/mine", "planbound.toml"))
    assert "is no key that can be used" in bench.goes("receipt", "PLAN", code=2).err


@pytest.mark.requirement("receipt.approval")
def test_a_signed_approval_goes_along_word_for_word(receipts: Receipts) -> None:
    bench = receipts.bench
    key = bench.folder / "mara"
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    allowed = bench.folder / "home/.config/planbound/allowed_signers"
    allowed.parent.mkdir(parents=True)
    allowed.write_text(f"mara {key.with_suffix('.pub').read_text()}")
    bench.lay(*SIGNED, settings="[gate]\nsigned = true\n")
    statement = bench.folder / "statement.json"
    statement.write_text(bench.goes("approve", "PLAN", "--statement", code=4).out)
    command = ["ssh-keygen", "-Y", "sign", "-f", str(key), "-n", "planbound-approval@v1"]
    subprocess.run([*command, str(statement)], check=True, capture_output=True)
    bench.goes("approve", "PLAN", "--signature", f"{statement}.sig", "--as", "mara")
    bench.goes("run", "PLAN")
    bench.goes("gc")
    data = receipts.make("PLAN")
    given = run_of(data)["approval"]
    assert given["statement"] == statement.read_text()
    assert given["strength"] == "proof"
    assert "not-kept" not in kinds_of(data)
    assert failing(data) == []
    path = receipts.path(data)
    signers = receipts.signers()
    with signers.open("a") as file:
        file.write(allowed.read_text())
    words = ("check-receipt", str(path), "--signers", str(signers), "--require", "proof,signed")
    assert "ok     approver: mara, who may sign" in bench.goes(*words).out
    assert one_file(*words[1:], cwd=bench.workspace).returncode == 0


@pytest.mark.requirement("receipt.one-file")
def test_the_checker_of_one_file_says_the_same_lines(signed: bytes, receipts: Receipts) -> None:
    path = receipts.path(signed)
    ours = receipts.bench.goes("check-receipt", str(path)).out.splitlines()
    theirs = one_file(path, cwd=receipts.bench.workspace)
    assert theirs.returncode == 0
    assert theirs.stderr == ""
    other = theirs.stdout.splitlines()
    assert len(ours) == len(other)
    differ = [one[7:].partition(":")[0] for one, two in zip(ours, other, strict=True) if one != two]
    assert differ == ["digest", "contracts"]
    assert "cannot be reckoned here" in theirs.stdout


@pytest.mark.requirement("receipt.one-file")
def test_the_checker_of_one_file_needs_no_ssh_keygen_for_plain_keys(
    signed: bytes, receipts: Receipts
) -> None:
    need("ssh-keygen", "the receipt was signed by it")
    assert shutil.which("ssh-keygen")
    path = receipts.path(signed)
    assert os.path.exists(path)
    text = one_file(path, cwd=receipts.bench.workspace).stdout
    assert "ok     signature: signed by SHA256:" in text
