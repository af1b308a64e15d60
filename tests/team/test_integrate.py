"""`planbound integrate`: proved plans are merged, each judged once more on the merged files."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.run.bench import PATIENCE, Step
from tests.team.repo import Team

LINES = "one\ntwo\nthree\nfour\nfive\nsix\nseven\n"


class Merging(Team):
    """A repository whose plans change one file that all know, and files of their own."""

    def __init__(self, folder: Path, *, settings: str = "") -> None:
        super().__init__(folder, settings=settings)
        self.write("src/lines", LINES)
        self.commit("lines")

    def proved(self, name: str, *steps: Step, **more: Any) -> str:
        """Write a plan, run it in a worktree of its own, and return its tip."""
        self.named(name, *steps, approve=False, **more)
        self.goes("spawn", name)
        self.approve(name)
        self.goes("run", name, "--no-input")
        return self.tip(f"planbound/{name}")

    def edited(self, name: str, line: str, to: str, **more: Any) -> str:
        """Prove a plan that changes one line of the common file."""
        contract = f"grep -qx '{to}' src/lines"
        work = f"sed -i 's/^{line}$/{to}/' src/lines"
        step = Step(f"edit {name}", work, contract, touches="src/lines")
        return self.proved(name, step, **({"after": [contract]} | more))

    def integrate(self, *arguments: str, code: int = 0, **extra: str) -> Any:
        """Integrate, and return what a program is told."""
        return self.goes("integrate", *arguments, "--json", code=code, process=False, **extra).json

    def merges(self, revision: str = "main") -> list[str]:
        """Return the plans that were merged, the oldest first, by the trailers of the merges."""
        trailer = "--format=%(trailers:key=Planbound-Plan,valueonly,separator=)"
        said = self.git("log", "--first-parent", "--merges", "--reverse", trailer, revision)
        return said.splitlines()

    def inbox(self) -> list[dict[str, Any]]:
        """Return what waits for a person."""
        found: list[dict[str, Any]] = self.goes("inbox", "--json").json["waiting"]
        return found

    def happened(self, plan: str) -> list[str]:
        """Return what integrating did to a plan, by the journal."""
        return [
            event.kind
            for event in self.log(plan)
            if event.kind.startswith(("INTEGRATION", "PLAN_INTEGRATED"))
        ]

    def leftovers(self) -> list[str]:
        """Return what is left of scratch worktrees."""
        scratch = self.folder / "state" / "scratch"
        known = [path for path in self.worktrees() if "scratch" in path]
        return known + (os.listdir(scratch) if scratch.exists() else [])

    def dirt(self) -> str:
        """Return what is not committed in the main worktree."""
        return self.git("status", "--porcelain", check=True)


GO = "for _ in $(seq 300); do test -e {signal}/go && exit 0; sleep 0.1; done; exit 1"
"""A contract that takes as long as the test wants."""


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> tuple[Merging, Path]:
    """Return a repository with plans that are proved, and a copy of all of it."""
    folder = tmp_path_factory.mktemp("integrate") / "world"
    signals = folder / "signal"
    signals.mkdir(parents=True)
    (signals / "go").touch()
    settings = (
        f'[contracts]\nread = ["{signals}"]\n'
        '[worktrees]\nsetup = [".env"]\nauthor = "Robot <robot@example.org>"\n'
    )
    repo = Merging(folder, settings=settings)
    repo.write(".env", "SECRET=1\n")
    with (repo.workspace / ".gitignore").open("a") as file:
        file.write(".env\n")
    repo.commit("ignore")
    repo.proved("limit", after=["test ! -e src/zap", "test -f .env"])
    repo.proved("mid", Step("make mid", contract=GO.format(signal=signals)))
    repo.proved("zap")
    repo.edited("alpha", "one", "ONE")
    repo.edited("clash", "one", "EINS")
    repo.proved("zulu", depends_on="zap")
    repo.named("draft", approve=False)
    kept = folder.parent / "kept"
    shutil.copytree(folder, kept, symlinks=True)
    return repo, kept


@pytest.fixture
def repo(template: tuple[Merging, Path]) -> Iterator[Merging]:
    """Return the repository as it was before anything was merged."""
    yield from as_it_was(*template)


def as_it_was(repo: Merging, kept: Path) -> Iterator[Merging]:
    """Lend a repository to a test, and make it anew from its copy."""
    yield repo
    shutil.rmtree(repo.folder)
    shutil.copytree(kept, repo.folder, symlinks=True)


def names(results: Sequence[dict[str, Any]]) -> list[str]:
    """Return the plans that results are about."""
    return [each["plan"] for each in results]


def until(holds: Callable[[], bool]) -> None:
    """Wait for something, not for ever."""
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def end_of(process: subprocess.Popen[bytes]) -> tuple[int, str, str]:
    """Wait for a process; return its code and what it printed."""
    out, err = process.communicate(timeout=PATIENCE)
    return process.returncode, out.decode(), err.decode()


@pytest.mark.requirement("integrate.nothing-moves")
@pytest.mark.requirement("command.integrate")
def test_plans_are_merged_in_order_and_what_is_red_or_in_conflict_stays_where_it_is(
    repo: Merging,
) -> None:
    before = repo.tip()
    tips = {name: repo.tip(f"planbound/{name}") for name in ("limit", "mid", "alpha", "zap")}
    foreseen = repo.integrate("--dry-run", code=1)
    assert names(foreseen["merged"]) == ["limit", "mid", "zap", "alpha", "zulu"]
    assert (foreseen["stopped"][0]["plan"], foreseen["after"]) == ("clash", before)
    assert (repo.tip(), repo.happened("alpha")) == (before, [])

    done = repo.integrate(code=1)
    assert names(done["merged"]) == ["limit", "mid", "alpha"] == repo.merges()
    assert (done["before"], done["after"]) == (before, repo.tip())
    zap, clash = done["stopped"]
    assert (zap["plan"], zap["kind"], zap["about"]) == ("zap", "red", "limit")
    assert zap["verdicts"]["postcondition 1 of `limit`"] == "fail"
    assert zap["verdicts"]["step 1"] == "pass"
    assert (clash["plan"], clash["kind"], clash["files"]) == ("clash", "conflict", ["src/lines"])
    held = {"plan": "zulu", "reason": "waits for `zap`, which was not merged"}
    assert done["held_back"] == [held]

    # Never by fast-forward, each merge with its plan in the trailer.
    for at, plan in (("main", "alpha"), ("main^1", "mid"), ("main^1^1", "limit")):
        assert repo.git("log", "-1", "--format=%P", at).split()[1] == tips[plan]
    assert repo.tip("main^1^1^1") == before
    message = repo.git("log", "-1", "--format=%an <%ae>%n%B").splitlines()
    digest = repo.log("alpha").of("GATE_APPROVED")[-1]["digest"]
    assert message[:2] == ["Robot <robot@example.org>", "Merge plan `alpha`: Do the work"]
    assert message[-2:] == ["Planbound-Plan: alpha", f"Planbound-Digest: {digest}"]
    # Files, index and branch of the main worktree agree; what was held back is not there.
    assert repo.dirt() == ""
    assert "ONE\n" in repo.read("src/lines")
    assert repo.read("src/mid") == "right\n"
    assert not (repo.workspace / "src/zap").exists()
    assert repo.tip("planbound/zap") == tips["zap"]
    assert repo.leftovers() == []
    done_to = ["INTEGRATION_STARTED", "INTEGRATION_JUDGED", "PLAN_INTEGRATED"]
    assert repo.happened("alpha") == done_to
    assert repo.happened("zap") == ["INTEGRATION_STARTED", "INTEGRATION_STOPPED"]
    assert "Untracked" not in str(repo.log("clash").last.details["output_tail"])
    assert "CONFLICT" in repo.log("clash").last.details["output_tail"]

    # A person sees both, cannot answer them, and mends one by hand.
    waiting = {each["plan"]: each for each in repo.inbox()}
    assert set(waiting) == {"zap", "clash"}
    assert waiting["zap"]["kind"] == "integration"
    assert "`src/lines`" in waiting["clash"]["reason"]
    refused = repo.goes("answer", "clash", "retry", "--as", "tester", code=2)
    assert "planbound integrate clash" in refused.err
    assert repo.goes("list", "--json").json[0]["slug"] == "alpha"
    repo.git("merge", "-q", "-s", "ours", "-m", "by hand", "planbound/clash")
    by_hand = repo.tip()
    said = repo.goes("integrate", "clash")
    assert "is in `main` already" in said.out
    assert repo.tip() == by_hand
    assert [each["plan"] for each in repo.inbox()] == ["zap"]
    assert repo.integrate("clash", code=3)["merged"] == []
    order = repo.goes("merge-order", "--json").json["order"]
    assert [(turn["slug"], turn["size"]) for turn in order] == [("zap", 1), ("zulu", 1)]


@pytest.mark.thorough
def test_names_that_cannot_be_merged_are_refused_and_the_others_go_on(repo: Merging) -> None:
    (repo.worktree("mid") / "src" / "mid").write_text("right\nand more\n")
    done = repo.integrate("nosuch", "draft", "mid", "alpha", code=1)
    assert names(done["merged"]) == ["alpha"]
    reasons = {each["plan"]: each["reason"] for each in done["held_back"]}
    assert set(reasons) == {"nosuch", "draft", "mid"}
    assert "there is no plan" in reasons["nosuch"]
    assert "no worktree" in reasons["draft"]
    assert "not those that were proved" in reasons["mid"]
    assert repo.happened("mid") == []
    assert repo.integrate("nosuch", code=2)["merged"] == []
    assert "is no branch" in repo.goes("integrate", "--into", "main~1", code=2).err


@pytest.mark.requirement("integrate.dirty")
def test_uncommitted_changes_that_do_not_meet_a_merge_stay_and_others_are_in_its_way(
    repo: Merging,
) -> None:
    mine = LINES.replace("two", "TWO")
    repo.write("src/lines", mine)
    repo.write("src/mid", "mine\n")
    repo.write("src/untracked", "mine\n")
    before = repo.tip()
    done = repo.integrate("limit", "mid", "alpha", code=1)
    assert names(done["merged"]) == ["limit"]
    stopped = {each["plan"]: (each["kind"], each["files"]) for each in done["stopped"]}
    assert stopped == {
        "mid": ("in the way", ["src/mid"]),
        "alpha": ("in the way", ["src/lines"]),
    }
    assert repo.happened("mid")[-1] == "INTEGRATION_STOPPED"
    assert repo.tip("main^1") == before
    assert repo.read("src/mid") == repo.read("src/untracked") == "mine\n"
    assert repo.read("src/lines") == mine
    assert repo.dirt().splitlines() == ["M src/lines", "?? src/mid", "?? src/untracked"]
    (repo.workspace / "src/mid").unlink()
    assert names(repo.integrate("mid")["merged"]) == ["mid"]
    assert repo.read("src/lines") == mine


@pytest.mark.requirement("integrate.moved-target")
def test_a_target_that_moves_meanwhile_is_merged_and_judged_again(repo: Merging) -> None:
    go = repo.folder / "signal" / "go"
    go.unlink()
    with repo.start("integrate", "mid", "--json") as process:
        until(lambda: "INTEGRATION_STARTED" in repo.happened("mid"))
        repo.write("src/more", "by somebody\n")
        moved = repo.commit("meanwhile")
        go.touch()
        code, _, err = end_of(process)
    assert code == 0, err
    started = repo.log("mid").of("INTEGRATION_STARTED")
    assert [event["target"] for event in started][1:] == [moved]
    assert repo.tip("main^1") == moved
    assert repo.merges() == ["mid"]
    assert repo.dirt() == ""


@pytest.mark.requirement("integrate.one-at-a-time")
def test_of_two_integrations_one_waits_and_an_interrupt_moves_nothing(repo: Merging) -> None:
    before = repo.tip()
    go = repo.folder / "signal" / "go"
    go.unlink()
    with repo.start("integrate", "mid") as first:
        until(lambda: "INTEGRATION_STARTED" in repo.happened("mid"))
        with repo.start("integrate", "alpha") as second, repo.start("integrate", "alpha") as third:
            for waiting in (second, third):
                assert waiting.stderr is not None
                assert b"waits for process" in waiting.stderr.readline()
            third.send_signal(signal.SIGINT)
            assert end_of(third)[0] == 130
            first.send_signal(signal.SIGINT)
            code, _, _ = end_of(first)
            assert code == 130
            assert repo.happened("mid") == ["INTEGRATION_STARTED"]
            code, out, err = end_of(second)
            assert code == 0, err
            assert "✓ alpha  merged as" in out
    assert repo.tip("main^1") == before
    assert repo.merges() == ["alpha"]
    go.touch()
    assert names(repo.integrate("mid")["merged"]) == ["mid"]
    assert repo.leftovers() == []


@pytest.mark.thorough
def test_a_detached_main_worktree_needs_a_name_and_another_that_shows_the_target_follows(
    repo: Merging,
) -> None:
    repo.git("checkout", "-q", "--detach")
    before = repo.tip("HEAD")
    refused = repo.goes("integrate", "alpha", code=2)
    assert "--into BRANCH" in refused.err
    other = repo.folder / "other place"
    repo.git("worktree", "add", "-q", str(other), "main")
    assert names(repo.integrate("alpha", "--into", "main")["merged"]) == ["alpha"]
    assert repo.tip("HEAD") == before
    assert "ONE" not in repo.read("src/lines")
    assert "ONE" in (other / "src" / "lines").read_text()
    assert repo.git("status", "--porcelain", cwd=other) == ""


@pytest.mark.thorough
@pytest.mark.requirement("git.safety")
def test_no_program_that_the_repository_names_is_run_by_a_merge(repo: Merging) -> None:
    repo.write(".gitattributes", "src/** filter=trap merge=trap\n")
    repo.write("src/lines", LINES.replace("seven", "SEVEN"))
    repo.commit("attributes")
    trace = repo.traps()
    assert names(repo.integrate("alpha", "limit")["merged"]) == ["limit", "alpha"]
    assert not trace.exists()
    assert repo.read("src/lines") == LINES.replace("one", "ONE").replace("seven", "SEVEN")


POINTS = [
    pytest.param(f"{when}:{place}", marks=() if place == 3 else pytest.mark.thorough)
    for place in range(1, 7)
    for when in ("before", "after")
]


@pytest.mark.requirement("integrate.crash")
@pytest.mark.parametrize("point", POINTS)
def test_an_integration_that_is_killed_at_any_event_is_finished_by_the_next(
    repo: Merging, point: str
) -> None:
    before = repo.tip()
    killed = repo.run("integrate", "limit", "alpha", PLANBOUND_FAILPOINT=point)
    assert killed.code == -signal.SIGKILL
    assert bool(repo.leftovers()) == (point not in {"before:1", "after:1"})
    done = repo.run("integrate", "limit", "alpha")
    assert done.code == (3 if point == "after:6" else 0), done.err
    assert repo.merges() == ["limit", "alpha"]
    assert repo.tip("main^1^1") == before
    log = repo.log().of("PLAN_INTEGRATED")
    assert [event.plan for event in log] == ["limit", "alpha"]
    assert {event["commit"] for event in log} < set(repo.git("rev-list", "main").split())
    assert repo.dirt() == ""
    assert "ONE" in repo.read("src/lines")
    folded = repo.read(".harness/progress.md").splitlines()
    merged = [repo.tip("main^1")[:12], repo.tip()[:12]]
    assert [line for line in folded if line.startswith("## ")] == [
        f"## limit, merged as {merged[0]}",
        f"## alpha, merged as {merged[1]}",
    ]
    assert folded.count(repo.read(".harness/progress-alpha.md").splitlines()[0]) >= 1
    assert repo.leftovers() == []


@pytest.mark.thorough
def test_files_that_did_not_follow_their_branch_in_a_crash_do_so_the_next_time(
    repo: Merging,
) -> None:
    repo.run("integrate", "alpha", PLANBOUND_FAILPOINT="after:INTEGRATION_JUDGED:1")
    merge = repo.log("alpha").one("INTEGRATION_JUDGED")["commit"]
    repo.git("update-ref", "refs/heads/main", merge)
    assert repo.dirt() != ""
    repo.write("src/untracked", "mine\n")
    done = repo.integrate("limit")
    assert names(done["merged"]) == ["alpha", "limit"] == repo.merges()
    assert repo.log("alpha").one("PLAN_INTEGRATED")["commit"] == merge
    assert repo.dirt() == "?? src/untracked"
    assert "ONE" in repo.read("src/lines")
