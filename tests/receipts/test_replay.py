"""`planbound replay`: what a receipt claims is judged again, on another machine."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from planbound.cells.isolation import Isolation
from planbound.cells.scratch import mark
from planbound.plan.model import Evidence
from planbound.receipts.replayed import is_independent
from tests.receipts.replaying import (
    CHECK,
    ELSEWHERE,
    TOTAL,
    Elsewhere,
    Origin,
    item_of,
    outcomes,
    statement,
    stripped,
)
from tests.receipts.scene import checked, one_file, rewritten, unsigned
from tests.run.bench import Step

READ = "def test_a():\n    assert open('src/total').read() == '42\\n'\n"
SAME = {"step 1": "same", "step 2": "same", "postcondition 1": "same"}


@pytest.fixture
def origin(tmp_path: Path) -> Origin:
    return Origin(tmp_path)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Origin:
    """Return where the usual plan was run; no test changes it."""
    origin = Origin(tmp_path_factory.mktemp("done"))
    origin.done()
    return origin


@pytest.fixture
def own(done: Origin, tmp_path: Path) -> Origin:
    """Return a copy of it, to be changed."""
    return done.copied(tmp_path / "own")


def everything(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in sorted(folder.rglob("*"))
    }


# -- the same, and what is said of it -------------------------------------------------------------


@pytest.mark.requirement("command.replay")
def test_what_was_proved_passes_on_another_machine_which_is_e5(done: Origin) -> None:
    there = Elsewhere(done)
    before = everything(there.workspace / ".git")
    said = there.replay(done.receipt)
    assert said.code == 0, said.err
    assert "step 1. sum up total: proved E3 -> pass E5" in said.out
    assert "postcondition 1. Condition 1 holds: proved E3 -> pass E5" in said.out
    assert "3 of 3 pass here, too; an independent verdict" in said.out
    assert everything(there.workspace / ".git") == before
    assert there.git("status", "--porcelain", cwd=there.workspace) == "?? alpha.replay.jsonl"


@pytest.mark.thorough
def test_the_replay_has_a_receipt_of_its_own(done: Origin) -> None:
    there = Elsewhere(done)
    said = there.replayed(done.receipt, "-o", "mine.jsonl")
    first = json.loads((there.workspace / "mine.jsonl").read_text().splitlines()[0])
    assert next(each["keyid"] for each in first["signatures"]) == said["signed"]
    found = statement((there.workspace / "mine.jsonl").read_bytes())
    predicate = found["predicate"]
    assert found["predicateType"] == "https://planbound.dev/attestation/replay/v0.1"
    assert found["subject"][0]["digest"] == {
        "gitTree": done.git("rev-parse", "HEAD^{tree}"),
    }
    assert predicate["receipt"]["sha256"] == said["receipt"]
    assert (
        predicate["receipt"]["key"]
        == statement(done.receipt.read_bytes())["predicate"]["harness"]["key"]["fingerprint"]
    )
    assert predicate["independent"]
    assert predicate["same"]
    assert predicate["whole"]
    assert [item["evidence"] for item in predicate["items"]] == ["E5", "E5", "E5"]
    readable = "the product's process can read the judges while it runs"
    assert predicate["items"][0]["short_of"] == [readable]
    assert predicate["items"][0]["baseline"] == {
        "verdict": "fail",
        "red": True,
        "at": "replay",
        "seq": None,
    }


@pytest.mark.thorough
def test_the_receipt_of_a_replay_is_checked_as_others_are(done: Origin) -> None:
    there = Elsewhere(done)
    there.replay(done.receipt, "-o", "mine.jsonl")
    path = there.workspace / "mine.jsonl"
    mine = there.home / "signers"
    mine.write_text(there.run("keys", "export").out)
    words = ("--signers", str(mine), "--require", "E5,I2,signed")
    said = there.run("check-receipt", str(path), *words)
    assert said.code == 0, said.out
    alone = one_file(path, *words)
    assert (alone.returncode, alone.stdout) == (0, said.out)
    # With the receipt that was judged, and with the files: both are asked, and not passed over.
    both = ("--previous", str(done.receipt), "--tree", "HEAD")
    said = there.run("check-receipt", str(path), *both)
    assert said.code == 0, said.out
    assert "this is the receipt that was judged again" in said.out
    assert "same tree" in said.out
    assert there.run("check-receipt", str(path), "--tree", "HEAD~1").code == 1
    assert there.run("check-receipt", str(path), "--previous", str(path)).code == 1
    assert there.run("check-receipt", str(done.receipt), "--previous", str(path)).code == 1
    told = there.run("check-receipt", str(path), "--json").json
    assert (told["slug"], told["outcome"]) == ("alpha", "same")
    refused = there.replay(path)
    assert refused.code == 2
    assert "it tells of a replay" in refused.err


@pytest.mark.thorough
def test_a_replay_that_says_more_than_it_saw_does_not_check(done: Origin) -> None:
    there = Elsewhere(done)
    there.write("src/total", "41\n")
    there.commit("broken")
    there.replay(done.receipt, "--tree", "HEAD", "-o", "mine.jsonl")
    data = (there.workspace / "mine.jsonl").read_bytes()
    assert not [name for name, line in checked(data).items() if line.holds is False]

    def pretend(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["same"] = True

    def invent(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["items"][0]["outcome"] = "same"

    def promote(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["independent"] = False

    def exalt(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["items"][0]["evidence"] = "F"

    def wall(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["items"][0]["isolation"] = "Z"

    def rename(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["receipt"]["key"] += "="

    def forgive(statements: list[dict[str, Any]]) -> None:
        statements[0]["predicate"]["receipt"]["refused"] = ["approval"]

    values = [(change, "items") for change in (exalt, wall, rename, forgive)]
    for change, name in ((pretend, "same"), (invent, "items"), (promote, "items"), *values):
        assert checked(unsigned(data, change))[name].holds is False
        assert checked(rewritten(data, change))["signature"].holds is False
    assert not checked(data, require=("E3",))["require E3"].holds
    assert not checked(data, require=("proved",))["require proved"].holds


@pytest.mark.thorough
def test_with_the_key_that_signed_the_receipt_it_is_no_e5(done: Origin) -> None:
    said = done.goes("replay", str(done.receipt), "--json").json
    assert said["same"]
    assert not said["independent"]
    assert [item["evidence"] for item in said["items"]] == ["E3", "E3", "E3"]


@pytest.mark.thorough
def test_a_key_that_was_rotated_away_is_still_ones_own(own: Origin) -> None:
    own.goes("keys", "rotate")
    said = own.goes("replay", str(own.receipt), "--json").json
    assert said["same"]
    assert not said["independent"]
    assert [item["evidence"] for item in said["items"]] == ["E3", "E3", "E3"]


def test_independent_takes_another_key_and_walls() -> None:
    assert is_independent(("a",), "b", Isolation.I2)
    assert not is_independent(("a",), "a", Isolation.I2)
    assert not is_independent(("a",), "b", Isolation.I1)
    assert not is_independent((), "b", Isolation.I2)
    assert not is_independent(("a",), None, Isolation.I4)


@pytest.mark.thorough
def test_one_step_is_judged_alone(done: Origin) -> None:
    there = Elsewhere(done)
    assert outcomes(there.replayed(done.receipt, "--step", "2")) == {"step 2": "same"}
    wrong = there.replay(done.receipt, "--step", "7")
    assert wrong.code == 2
    assert "no step `7`" in wrong.err


@pytest.mark.thorough
def test_neither_journal_nor_state_nor_settings_of_the_first_machine_are_needed(
    own: Origin,
) -> None:
    there = Elsewhere(own)
    for name in ("state", "home"):
        os.rename(own.folder / name, own.folder / f"{name}-gone")
    there.write("planbound.toml", "this is [ no TOML")
    assert outcomes(there.replayed(own.receipt)) == SAME


@pytest.mark.thorough
def test_what_nobody_judged_is_not_judged_here(origin: Origin) -> None:
    steps = (TOTAL, Step("look at c", attest="I looked at it"))
    origin.named("alpha", *steps, after=["test -d src"])
    origin.run("run", "alpha", "--no-input")
    origin.goes("attest", "alpha", "2", "--as", "Ann")
    origin.goes("resume", "alpha", "--no-input")
    origin.write_receipt()
    origin.commit("work")
    said = Elsewhere(origin).replayed(origin.receipt)
    assert outcomes(said)["step 2"] == "not judged"
    assert item_of(said, "step 2")["reason"] == "a person answers for it"
    assert said["same"]


# -- which tree ------------------------------------------------------------------------------------


@pytest.mark.thorough
def test_squash_the_tree_is_found_whatever_commit_has_it(own: Origin) -> None:
    own.git("checkout", "--quiet", "--orphan", "squashed")
    own.git("commit", "--quiet", "-m", "all at once")
    there = Elsewhere(own)
    there.git("remote", "remove", "origin", cwd=there.workspace)
    there.git("gc", "--quiet", "--prune=now", cwd=there.workspace)
    said = there.replayed(own.receipt)
    assert outcomes(said) == SAME
    assert said["tree"] == said["recorded_tree"]
    text = there.replay(own.receipt)
    assert "note: the files that the work began with are not here" in text.err


def moved(origin: Origin) -> Elsewhere:
    """Return a clone in which the work stands on another base."""
    origin.git("checkout", "--quiet", "-b", "rebased", "HEAD~1")
    origin.write("src/other", "somebody else's\n")
    origin.commit("other work")
    origin.git("cherry-pick", "main")
    there = origin.folder / "bare.git"
    words = ("clone", "--quiet", "--bare", "--single-branch")
    origin.git(*words, f"file://{origin.workspace}", str(there))
    origin.workspace = there  # what is cloned has this branch alone
    return Elsewhere(origin)


@pytest.mark.thorough
def test_rebase_the_tree_is_missing_by_name_and_another_can_be_judged(own: Origin) -> None:
    there = moved(own)
    refused = there.replay(own.receipt)
    assert refused.code == 2
    assert "no such tree" in refused.err
    assert "--tree REV" in refused.err
    said = there.replayed(own.receipt, "--tree", "HEAD")
    assert outcomes(said) == SAME
    assert said["tree"] != said["recorded_tree"]
    assert "not that of the receipt" in there.replay(own.receipt, "--tree", "HEAD").out


@pytest.mark.thorough
def test_amend_with_other_work_differs(done: Origin) -> None:
    there = Elsewhere(done)
    there.write("src/total", "41\n")
    there.git("commit", "--quiet", "--all", "--amend", "-m", "work", cwd=there.workspace)
    said = there.replayed(done.receipt, "--tree", "HEAD", code=1)
    assert outcomes(said) == {**SAME, "step 1": "differs"}
    assert not said["same"]


@pytest.mark.thorough
def test_amend_of_the_message_alone_changes_nothing(done: Origin) -> None:
    there = Elsewhere(done)
    there.git("commit", "--quiet", "--amend", "-m", "better words", cwd=there.workspace)
    assert outcomes(there.replayed(done.receipt)) == SAME


def test_a_receipt_of_another_repository_is_told(done: Origin, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    other = Origin(tmp_path / "second")
    refused = Elsewhere(other).replay(done.receipt)
    assert refused.code == 2
    assert "no such tree: this repository does not have" in refused.err


def test_a_revision_that_is_none_is_a_mistake(done: Origin) -> None:
    there = Elsewhere(done)
    for name in ("nothing", "--output=x", "HEAD:src/total", ""):
        said = there.replay(done.receipt, f"--tree={name}")
        assert said.code == 2, said.out
        assert "names no tree" in said.err


def test_without_a_repository_there_is_nothing_to_judge(done: Origin, tmp_path: Path) -> None:
    there = Elsewhere(done)
    plain = tmp_path / "plain"
    plain.mkdir()
    said = there.run("replay", str(done.receipt), cwd=plain)
    assert said.code == 2
    assert "is in no git repository" in said.err


# -- judges ----------------------------------------------------------------------------------------


@pytest.mark.requirement("receipts.judges")
def test_a_judge_that_was_weakened_on_the_branch_does_not_judge(done: Origin) -> None:
    there = Elsewhere(done)
    there.write("tests/check.sh", "#!/bin/sh\ntrue\n")
    there.write("src/total", "41\n")
    there.commit("make it green")
    said = there.replayed(done.receipt, "--tree", "HEAD", code=1)
    assert outcomes(said) == {**SAME, "step 1": "differs"}
    assert item_of(said, "step 1")["laid"] == ["tests/check.sh"]


@pytest.mark.thorough
def test_a_judge_that_is_gone_from_the_branch_is_laid_over_it(done: Origin) -> None:
    there = Elsewhere(done)
    there.git("rm", "--quiet", "tests/check.sh", cwd=there.workspace)
    there.commit("no judge")
    said = there.replay(done.receipt, "--tree", "HEAD")
    assert said.code == 0, said.out
    assert "judged by the receipt's: tests/check.sh" in said.out
    assert not (there.workspace / "tests").exists()


@pytest.mark.thorough
def test_a_judge_that_is_nowhere_is_missing_by_name(done: Origin, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir()
    other = Origin(tmp_path / "second")
    other.write("src/total", "42\n")
    other.write("tests/check.sh", "#!/bin/sh\ntrue\n")
    other.git("checkout", "--quiet", "--orphan", "alone")
    other.commit("no such judge")
    other.git("branch", "-D", "main")
    there = Elsewhere(other)
    said = there.replayed(done.receipt, "--tree", "HEAD", code=1)
    assert outcomes(said)["step 1"] == "missing judge"
    assert item_of(said, "step 1")["missing"] == ["tests/check.sh"]
    assert "missing judge: tests/check.sh" in there.replay(done.receipt, "--tree", "HEAD").out
    # It may lie in the files here: by its digest nobody can mistake another one for it.
    there.write("tests/check.sh", CHECK)
    found = there.replayed(done.receipt, "--tree", "HEAD", code=1)  # its tree has no `src/b`
    assert outcomes(found) == {**SAME, "step 2": "differs"}


@pytest.mark.thorough
def test_tests_that_the_work_itself_wrote_are_as_it_left_them(origin: Origin) -> None:
    write = "printf 'from src.total import total\\ndef test_it():\\n    assert total() == 42\\n'"
    work = f"{write} > tests/test_it.py; echo 'def total(): return 42' > src/total.py"
    step = Step(
        "test it", work, "python -m pytest -q tests", touches="tests/test_it.py src/total.py"
    )
    origin.write("src/__init__.py", "")
    origin.commit("a package")
    origin.done(step, after=["test -f src/total.py"])
    there = Elsewhere(origin)
    there.write("tests/test_it.py", "def test_it():\n    pass\n")
    there.write("src/total.py", "def total(): return 1\n")
    there.commit("weaker")
    said = there.replayed(origin.receipt, "--tree", "HEAD", code=1)
    assert outcomes(said)["step 1"] == "differs"
    there.git("rm", "--quiet", "tests/test_it.py", cwd=there.workspace)
    there.commit("weaker still")
    assert there.replayed(origin.receipt, "--tree", "HEAD", code=1)["same"] is False


@pytest.mark.thorough
def test_a_link_in_the_tree_leads_no_judge_out_of_it(done: Origin) -> None:
    there = Elsewhere(done)
    outside = done.folder / "outside"
    outside.mkdir()
    there.git("rm", "--quiet", "-r", "tests", cwd=there.workspace)
    (there.workspace / "tests").symlink_to(outside)
    there.commit("a way out")
    said = there.replay(done.receipt, "--tree", "HEAD")
    assert said.code != 0
    assert list(outside.iterdir()) == []


# -- what is not here ------------------------------------------------------------------------------


@pytest.mark.thorough
def test_a_tool_that_is_not_here_is_unrunnable(origin: Origin) -> None:
    origin.write(
        "tests/test_a.py", "def test_a():\n    assert open('src/total').read() == '42\\n'\n"
    )
    origin.commit("tests")
    origin.done(Step("sum up total", TOTAL.work, "python -m pytest -q tests", touches="src/total"))
    there = Elsewhere(origin)
    said = there.replayed(origin.receipt, code=1, VIRTUAL_ENV="", PATH="/usr/bin:/bin")
    assert outcomes(said)["step 1"] == "unrunnable"
    assert outcomes(said)["postcondition 1"] == "same"


@pytest.mark.thorough
def test_the_environment_of_the_clone_is_used_where_git_ignores_it(origin: Origin) -> None:
    origin.write(".gitignore", ".harness/\nplanbound.toml\nnode_modules/\n")
    origin.write("package.json", "{}\n")
    origin.write("node_modules/it/answer", "42\n")
    origin.commit("a package that is installed")
    origin.done(
        Step(
            "sum up total", TOTAL.work, "cmp node_modules/it/answer src/total", touches="src/total"
        )
    )
    there = Elsewhere(origin)
    assert outcomes(there.replayed(origin.receipt, code=1))["step 1"] in {"differs", "unrunnable"}
    there.write("node_modules/it/answer", "42\n")
    said = there.replay(origin.receipt)
    assert said.code == 0, said.out
    assert "note: `node_modules` is as this clone has it installed" in said.err


@pytest.mark.thorough
def test_without_the_judges_that_were_held_out_it_is_no_e5(origin: Origin) -> None:
    held_out = origin.folder / "held-out"
    held_out.mkdir()
    (held_out / "test_more.py").write_text("def test_more():\n    assert True is not False\n")
    origin.write(
        "tests/test_a.py", "def test_a():\n    assert open('src/total').read() == '42\\n'\n"
    )
    origin.commit("tests")
    origin.settings = f'[judging]\nheld_out = ["{held_out}"]\n'
    origin.done(Step("sum up total", TOTAL.work, "python -m pytest -q tests", touches="src/total"))
    there = Elsewhere(origin)
    said = there.replay(origin.receipt)
    assert "contracts do not get 1 judge held out, which the receipt names" in said.err
    assert item_of(there.replayed(origin.receipt), "step 1")["evidence"] == "E3"


NAMED = 'test "$ANSWER" = 42'


@pytest.mark.thorough
def test_variables_are_named_and_given_only_to_whom_somebody_vouches_for(origin: Origin) -> None:
    origin.settings = '[contracts]\nenv = ["ANSWER"]\n'
    origin.extra["ANSWER"] = "42"
    origin.done(TOTAL, after=[NAMED])
    there = Elsewhere(origin)
    said = there.replay(origin.receipt, ANSWER="42")
    assert said.code == 1
    assert "contracts do not get the variable `ANSWER`, which the receipt names" in said.err
    refused = there.replay(origin.receipt, "--as-recorded", ANSWER="42")
    assert refused.code == 2
    assert "nobody here vouches for" in refused.err
    words = ("--as-recorded", "--signers", str(origin.signers()))
    assert there.replay(origin.receipt, *words, ANSWER="42").code == 0


# -- hostile contracts -----------------------------------------------------------------------------


@contextmanager
def listening() -> Iterator[tuple[int, list[str]]]:
    """Listen on a port of this machine; yield it, and what was asked."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server.server_port, asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.requirement("receipts.walls")
def test_a_contract_reaches_neither_the_key_nor_the_network(origin: Origin) -> None:
    home = origin.folder / ELSEWHERE.format(0) / "home"
    with listening() as (port, asked):
        key = f"! cat {home}/.local/state/planbound/*/keys/receipts {home}/secret 2>/dev/null"
        web = f"! (exec 3<>/dev/tcp/127.0.0.1/{port} && printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3)"
        origin.done(TOTAL, after=[f"{key}\n   {web}"])
        there = Elsewhere(origin)
        (home / "secret").write_text("secret\n")
        there.run("keys", "new")
        asked.clear()
        said = there.replayed(origin.receipt)
    assert outcomes(said)["postcondition 1"] == "same"
    assert asked == []
    assert list((home / ".local" / "state" / "planbound").glob("*/keys/receipts"))


@pytest.mark.requirement("receipts.nothing-runs")
def test_of_a_receipt_that_nobody_signed_nothing_runs(origin: Origin) -> None:
    home = origin.folder / ELSEWHERE.format(0) / "home"
    origin.done(TOTAL, signed=False, after=[f"rm -rf ~/* {home}/mine; test -f src/total"])
    there = Elsewhere(origin)
    (home / "mine").write_text("mine\n")
    said = there.replay(origin.receipt)
    assert said.code == 1
    assert "nothing was run: nobody signed the receipt" in said.err
    assert not list(there.workspace.glob("*.jsonl"))
    assert there.replayed(origin.receipt, code=1)["ran"] is False
    # With a word it is judged, where it can do no harm.
    allowed = there.replayed(origin.receipt, "--unsigned")
    assert allowed["ran"]
    assert allowed["isolation"] == "I2"
    assert not allowed["independent"]
    assert all(item["evidence"] != "E5" for item in allowed["items"])
    assert (home / "mine").read_text() == "mine\n"


@pytest.mark.thorough
def test_without_walls_an_unsigned_receipt_is_refused(origin: Origin) -> None:
    origin.done(signed=False)
    there = Elsewhere(origin, walls=False)
    said = there.replay(origin.receipt, "--unsigned")
    assert said.code == 2
    assert "isolation I2 is demanded" in said.err
    assert "pass" not in said.out


@pytest.mark.thorough
def test_without_walls_only_who_is_known_is_believed(done: Origin) -> None:
    there = Elsewhere(done, walls=False)
    said = there.replay(done.receipt)
    assert said.code == 2
    assert "isolation I2 is demanded" in said.err
    known = there.replayed(done.receipt, "--signers", str(done.signers()))
    assert known["isolation"] == "I0"
    assert not known["independent"]
    levels = {Evidence(item["evidence"]) for item in known["items"]}
    assert Evidence.E5 not in levels


def test_a_receipt_whose_signature_was_cut_out_does_not_check(done: Origin) -> None:
    there = Elsewhere(done)
    bare = done.folder / "bare.jsonl"
    bare.write_bytes(stripped(done.receipt.read_bytes()))
    said = there.replay(bare)
    assert said.code == 1
    assert "FAILS  signature: it was taken away" in said.out
    assert "nothing was run: the receipt does not check" in said.err


# -- where the replay's receipt goes ---------------------------------------------------------------


@pytest.mark.thorough
def test_nothing_but_a_receipt_is_written_over(done: Origin) -> None:
    there = Elsewhere(done)
    there.write("alpha.replay.jsonl", "my notes\n")
    said = there.replay(done.receipt)
    assert said.code == 2
    assert "is there, and is no receipt" in said.err
    assert (there.workspace / "alpha.replay.jsonl").read_text() == "my notes\n"
    assert there.replay(done.receipt, "-o", "again.jsonl").code == 0
    assert there.replay(done.receipt, "-o", "again.jsonl").code == 0
    for place in ("src", "nowhere/mine.jsonl"):
        said = there.replay(done.receipt, "-o", place)
        assert said.code == 2
        assert "is no place for a file" in said.err
        assert "tree" not in said.out  # before anything was judged


@pytest.mark.thorough
def test_a_receipt_comes_over_standard_input_too(done: Origin) -> None:
    there = Elsewhere(done)
    said = there.run("replay", "-", stdin=done.receipt.read_bytes())
    assert said.code == 0, said.err


# -- other shapes of repositories ------------------------------------------------------------------


@pytest.mark.thorough
def test_a_repository_that_commits_its_plans_has_the_tree_in_a_commit(origin: Origin) -> None:
    origin.write(".gitignore", "planbound.toml\n")
    origin.done()
    there = Elsewhere(origin)
    assert (there.workspace / ".harness").exists()
    said = there.replayed(origin.receipt)
    assert outcomes(said) == SAME
    assert said["tree"] == said["recorded_tree"]
    assert said["tree"] != origin.git("rev-parse", "HEAD^{tree}")


@pytest.mark.thorough
def test_the_files_before_the_work_are_found_where_its_commit_came_first(origin: Origin) -> None:
    origin.write(".gitignore", "planbound.toml\n")
    origin.commit("plans belong to it")
    origin.done()
    origin.write_receipt()
    said = Elsewhere(origin).replayed(origin.receipt)
    assert [item["evidence"] for item in said["items"]] == ["E5", "E5", "E5"]


@pytest.mark.thorough
def test_a_workspace_that_is_a_part_of_its_repository_is_judged_there(
    origin: Origin, tmp_path: Path
) -> None:
    top = origin.workspace
    origin.write("common/answer", "42\n")
    for name in ("src", "tests", "planbound.toml", ".gitignore"):
        (top / "part").mkdir(exist_ok=True)
        os.rename(top / name, top / "part" / name)
    origin.workspace = top / "part"
    origin.commit("a part")
    origin.done(
        Step("sum up total", TOTAL.work, "cmp ../common/answer src/total"), touches='"src/**"'
    )
    origin.workspace = top
    there = Elsewhere(origin)
    done = there.run("replay", str(origin.receipt), "--json", cwd=there.workspace / "part")
    assert done.code == 0, done.out[-900:] + done.err
    assert outcomes(done.json)["step 1"] == "same"
    assert done.json["tree"] == origin.git("rev-parse", "HEAD:part")


@pytest.mark.thorough
def test_a_linked_worktree_is_a_clone_like_any_other(done: Origin) -> None:
    there = Elsewhere(done)
    linked = there.workspace.parent / "linked"
    there.git("worktree", "add", "--quiet", "--detach", str(linked), cwd=there.workspace)
    said = there.run("replay", str(done.receipt), "--tree", "HEAD", cwd=linked)
    assert said.code == 0, said.out + said.err
    assert (linked / "alpha.replay.jsonl").exists()


# -- what is left ----------------------------------------------------------------------------------


@pytest.mark.thorough
def test_nothing_is_left_of_a_replay_nor_of_one_that_was_killed(
    done: Origin, tmp_path: Path
) -> None:
    there = Elsewhere(done)
    place = tmp_path / "tmp"
    _, _, realm = mark().partition(".")
    dead = place / f"planbound-replay-{2**22 + 1}-{realm}-x"
    (dead / "tree").mkdir(parents=True)
    mine = place / f"planbound-replay-{os.getpid()}-{realm}-x"
    mine.mkdir()
    (place / "others").mkdir()
    assert there.replay(done.receipt, TMPDIR=str(place)).code == 0
    assert sorted(each.name for each in place.iterdir()) == ["others", mine.name]
