"""A contract is not run again on what it was run on; and never taken over where it would differ."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from planbound.cells.cell import Captured
from planbound.journal.event import BaselineObserved, VerdictKind
from planbound.journal.redact import Redactor
from planbound.judging.corroborate import Corroboration
from planbound.judging.measurement import Measured, Measurements, outdated
from planbound.state.append import Recorder
from planbound.testing.journal import MemoryJournal
from tests.cli.test_judge import Project, plan_text
from tests.program import WITHOUT_WALLS
from tests.project_environment import make_environment
from tests.run.bench import Bench, Step

# It prints all that it sees of its tree, and something that no other run prints.
TELLING = (
    "find . -mindepth 1 \\( -name .git -o -name .harness \\) -prune"
    " -o -printf '%M %n %U %G %T@ %p %l\\n' | sort;"
    " find . -name .git -prune -o -type f -print0 | sort -z | xargs -0 sha256sum; env | sort;"
    " git show-ref; git ls-files -s; git log -g --oneline;"
    " git --no-optional-locks status --porcelain src; cat ../aside"
)
ONCE = "head -c 9 /dev/urandom | base64; "


@pytest.fixture
def project(tmp_path: Path) -> Project:
    found = Project(tmp_path)
    found.write("src/a", "right\n")
    found.plan("it", plan_text(f"{ONCE}grep -q right src/a"))
    found.judge()  # the first look at a plan writes into its file
    return found


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def printed(found: dict[str, Any]) -> str:
    said: str = found["stdout"]["sha256"]
    return said


# -- what is taken over ---------------------------------------------------------------------------


@pytest.mark.requirement("judging.reuse")
def test_a_contract_is_not_run_again_on_the_same(project: Project) -> None:
    first, second = project.first(), project.first()
    assert printed(first) == printed(second)
    assert second["reused"] is not None
    assert second["verdict"] == "pass"
    told = project.judge("--step", "1").out
    assert f"reused from #{second['reused']}" in told
    assert f"reused from #{second['reused']}" in project.run("log", "it").out


def test_who_asks_for_it_sees_it_run_again(project: Project) -> None:
    first, anew = project.first(), project.first("--fresh")
    assert anew["reused"] is None
    assert printed(first) != printed(anew)


@pytest.mark.thorough
def test_a_configuration_can_have_everything_run(project: Project) -> None:
    project.write("planbound.toml", "[judging]\nreuse = false\n")
    first, second = project.first(), project.first()
    assert printed(first) != printed(second)
    assert (first["reused"], second["reused"]) == (None, None)


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
def test_in_the_life_of_a_plan_a_contract_runs_once_red_and_once_green(bench: Bench) -> None:
    contract = f"{ONCE}grep -qx right src/a"
    bench.lay(Step("Make a", contract=contract), after=[contract])
    bench.run("approve", "PLAN")
    bench.approve()
    bench.goes("run", "PLAN")
    looks = bench.log().of("BASELINE_OBSERVED", "CONTRACT_EVALUATED")
    assert [look["verdict"] for look in looks] == ["fail", "fail", "pass", "pass"]
    assert len({look["output_digest"] for look in looks}) == 2
    assert bench.log().last["status"] == "done"


def test_a_yes_runs_nothing_again(bench: Bench) -> None:
    bench.lay(Step("Make a", contract=f"{ONCE}grep -qx right src/a"))
    bench.run("approve", "PLAN")
    asked = bench.log().one("GATE_APPROVAL_REQUESTED")
    bench.approve()
    looks = bench.log().of("BASELINE_OBSERVED")
    assert [look["reused"] for look in looks] == [asked.seq] * len(looks)
    assert {look["measured"] for look in looks} <= set(asked["measured"])


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse", "gate.bound")
def test_what_people_read_of_a_look_makes_no_other_look_of_the_next(bench: Bench) -> None:
    bench.lay(Step("Make a", contract=f"{ONCE}grep -qx right src/a"))
    bench.goes("reject", "--as", "ann", "--reason", "too vague")
    assert (bench.workspace / ".harness/progress.md").exists()
    said = [bench.goes("approve", "--statement", code=4).out for _ in range(2)]
    assert said[0] == said[1]
    for _ in range(2):
        bench.run("approve", "PLAN")
    asked = bench.log().one("GATE_APPROVAL_REQUESTED")
    bench.approve()
    looks = bench.log().of("BASELINE_OBSERVED")
    assert looks
    assert [look["reused"] for look in looks] == [asked.seq] * len(looks)


@pytest.mark.thorough
def test_tests_that_are_judged_by_their_names_are_taken_over_with_them(project: Project) -> None:
    project.pytest_project(expect="no new failures\ntests >= 1")
    project.write(
        "tests/test_calc.py", "def test_red():\n    assert 0\n\n\ndef test_green():\n    pass\n"
    )
    project.baseline()
    first, second = project.first(), project.first()
    assert (first["verdict"], first["reused"]) == ("pass", None)
    assert (second["verdict"], second["tests"]) == ("pass", first["tests"])
    assert second["reused"] is not None


# -- what is not ----------------------------------------------------------------------------------


def test_what_failed_is_judged_again(project: Project) -> None:
    project.write("src/a", "wrong\n")
    first, second = project.first(), project.first()
    assert (first["verdict"], second["verdict"]) == ("fail", "fail")
    assert printed(first) != printed(second)


@pytest.mark.thorough
def test_what_is_wanted_several_times_is_run_so_often(project: Project) -> None:
    project.plan("it", plan_text(f"{ONCE}test -f src/a", fields="**repeat:** 2"))
    project.judge()
    assert [project.first()["reused"] for _ in range(2)] == [None, None]


@pytest.mark.thorough
def test_what_may_ask_the_network_is_run_again(project: Project) -> None:
    project.write("planbound.toml", "[contracts]\nnetwork = true\n")
    project.judge()
    assert [project.first()["reused"] for _ in range(2)] == [None, None]


@pytest.mark.thorough
def test_beside_a_plain_process_nothing_is_sure(project: Project) -> None:
    project.program = WITHOUT_WALLS
    project.judge()
    assert [project.first()["reused"] for _ in range(2)] == [None, None]


@pytest.mark.thorough
def test_what_a_stronger_cell_saw_says_nothing_of_a_weaker_one(project: Project) -> None:
    project.first()
    project.program = WITHOUT_WALLS
    assert project.first()["reused"] is None


# -- what tries to make it lie --------------------------------------------------------------------


def kept(project: Project) -> list[Path]:
    return sorted(project.home.glob(".local/state/planbound/*/measured/*"))


def test_a_file_with_restored_times_is_another_file(project: Project) -> None:
    path = project.workspace / "src/a"
    before = path.stat()
    project.first()
    path.write_text("wrong\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.first()["verdict"] == "fail"


@pytest.mark.thorough
def test_what_is_kept_counts_for_its_own_key_only(project: Project) -> None:
    project.first()
    before = set(kept(project))
    project.write("src/a", "right, but other\n")
    project.first()
    (other,) = set(kept(project)) - before
    for path in before:
        shutil.copy(path, other)
        assert project.first()["reused"] is None


@pytest.mark.thorough
def test_what_was_changed_after_it_was_told_does_not_count(project: Project) -> None:
    project.first()
    for path in kept(project):
        path.write_bytes(path.read_bytes().replace(b"\xa4pass", b"\xa4fail")[:-1] + b"\x00")
    assert project.first()["reused"] is None


@pytest.mark.thorough
def test_what_no_event_tells_of_does_not_count(project: Project, tmp_path: Path) -> None:
    project.first()
    (state,) = project.home.glob(".local/state/planbound/*")
    shutil.copytree(state / "measured", tmp_path / "aside")
    shutil.rmtree(state)
    project.judge("--fresh")
    shutil.rmtree(state / "measured")
    shutil.copytree(tmp_path / "aside", state / "measured")
    assert project.first()["reused"] is None


@pytest.mark.thorough
def test_a_package_that_came_to_the_environment_is_seen(project: Project, tmp_path: Path) -> None:
    environment = make_environment(tmp_path / "environment", packages=False)
    (packages,) = environment.glob("lib/*/site-packages")
    extra = {"VIRTUAL_ENV": str(environment)}
    project.first(**extra)
    assert project.first(**extra)["reused"] is not None
    (packages / "helper.py").write_text("")
    assert project.first(**extra)["reused"] is None
    # A package that lies elsewhere is seen, too.
    (tmp_path / "linked").mkdir()
    (packages / "elsewhere.pth").write_text(f"{tmp_path}/linked\n")
    project.first(**extra)
    assert project.first(**extra)["reused"] is not None
    (tmp_path / "linked/module.py").write_text("")
    assert project.first(**extra)["reused"] is None


@pytest.mark.thorough
def test_what_a_link_leads_to_out_of_the_tree_is_seen(project: Project, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.write_text("right\n")
    (project.workspace / "src/a").unlink()
    (project.workspace / "src/a").symlink_to(aside)
    first = project.first()
    aside.write_text("right, but other\n")
    second = project.first()
    assert second["reused"] is None
    assert printed(first) != printed(second)


@pytest.mark.thorough
def test_what_a_contract_names_by_its_place_is_seen(project: Project, tmp_path: Path) -> None:
    aside = tmp_path / "aside"
    aside.write_text("right\n")
    project.write("planbound.toml", f'[contracts]\nread = ["{aside}"]\n')
    project.plan("it", plan_text(f"{ONCE}grep -q right {aside}"))
    project.judge()
    project.first()
    assert project.first()["reused"] is not None
    aside.write_text("wrong\n")
    assert project.first()["verdict"] == "fail"


def test_it_lasts_a_day_and_no_clock_that_went_back_makes_it_longer(tmp_path: Path) -> None:
    journal = MemoryJournal()
    now = ["2026-11-18T10:00:00.000000Z"]
    recorder = Recorder(journal, redactor=Redactor({}), now=lambda: now[0])
    known = Measurements(str(tmp_path), lambda: journal, lambda: now[0])
    made = Measured(
        key="ab", made=now[0], after=0, exit_code=0, duration=1.0, stdout=Captured(),
        stderr=Captured(), leftovers=0, written=(), written_count=0, report=None,
        support=Corroboration(), counted=None,
    )  # fmt: skip
    digest = known.keep(made)
    later = Measurements(str(tmp_path), lambda: journal, lambda: now[0])
    assert later.recall("ab") is None
    recorder.record(BaselineObserved(verdict=VerdictKind.FAIL, measured=digest), "it")
    found = later.recall("ab")
    assert found is not None
    assert (found.measured, found.seq) == (made, 1)
    assert later.recall("cd") is None
    for time, lasts in [("19T09:59", True), ("19T10:01", False), ("18T09:59", False)]:
        now[0] = f"2026-11-{time}:00.000000Z"
        assert (later.recall("ab") is not None) == lasts
    now[0] = made.made
    known.forget("ab")
    assert known.recall("ab") is None
    assert Measurements(str(tmp_path), lambda: journal, lambda: now[0]).recall("ab") is None
    path = tmp_path / "measured" / "ab"
    path.parent.mkdir()
    path.write_bytes(b"")
    written = path.stat().st_mtime
    assert outdated(str(tmp_path), written + 86_000) == []
    assert outdated(str(tmp_path), written + 87_000) == [str(path)]


# -- whatever is changed in between ---------------------------------------------------------------


def _edits(project: Project) -> dict[str, Any]:
    root = project.workspace
    number = iter(range(10_000))
    return {
        "a file": lambda: (root / "src/a").write_text(f"right {next(number)}\n"),
        "back": lambda: (root / "src/a").write_text("right\n"),
        "a mode": lambda: (root / "src/a").chmod(random.choice([0o644, 0o755, 0o600])),
        "a new file": lambda: (root / f"src/{random.randrange(3)}").write_text("new\n"),
        "no file": lambda: (root / f"src/{random.randrange(3)}").unlink(missing_ok=True),
        "a link": lambda: _relink(root / "src/link", random.choice(["a", "0", "nowhere"])),
        "a folder": lambda: (root / "src/folder").mkdir(exist_ok=True),
        "a judge": lambda: (root / "tests/t.sh").write_text(f"true {random.randrange(2)}\n"),
        "a cache": lambda: (root / "__pycache__").mkdir(exist_ok=True),
        "the time": lambda: os.utime(root / "src/a", (1, random.randrange(9))),
        "another name": lambda: (root.parent / f"name{next(number)}").hardlink_to(root / "src/b"),
        "a tag": lambda: _git(root, "tag", "-f", f"v{random.randrange(2)}"),
        "a commit": lambda: _git(root, "commit", "-q", "--allow-empty", "-m", "more"),
        "staged": lambda: _git(root, "add", "src/a"),
        "unstaged": lambda: _git(root, "rm", "-q", "-r", "--cached", "--ignore-unmatch", "src/a"),
        "a look by git": lambda: _git(root, "status"),
        "beside the workspace": lambda: (root.parent / "aside").write_text(f"{next(number)}\n"),
        "the configuration": lambda: (root / "planbound.toml").write_text(
            f'[contracts]\nenv = ["SEEN"]\nmemory = "{random.choice([1, 2])}GB"\n'
            'read = ["../aside"]\n'
        ),
        "the contract": lambda: project.plan(
            "it", plan_text(f"sh tests/t.sh; {TELLING}; true {random.randrange(2)}")
        ),
        "nothing": lambda: None,
    }


def _git(root: Path, *arguments: str) -> None:
    identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True)


def _relink(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


@pytest.mark.thorough
@pytest.mark.requirement("judging.reuse")
@pytest.mark.parametrize(
    "seed", [1, *(pytest.param(seed, marks=pytest.mark.thorough) for seed in range(2, 6))]
)
def test_whenever_a_fresh_judgement_would_differ_nothing_is_taken_over(
    project: Project, seed: int
) -> None:
    random.seed(seed)
    project.write("tests/t.sh", "true\n")
    project.write("src/b", "beside\n")
    (project.workspace.parent / "aside").write_text("aside\n")
    _git(project.workspace, "init", "-q", "-b", "main")
    _git(project.workspace, "add", "src")
    _git(project.workspace, "commit", "-q", "-m", "first")
    edits = _edits(project)
    edits["the configuration"]()
    edits["the contract"]()
    seen, reused = "one", 0
    for _ in range(18):
        edits[random.choice(list(edits))]()
        seen = random.choice([seen, seen, seen, "another"])
        taken = project.first(SEEN=seen)
        fresh = project.first("--fresh", SEEN=seen)
        reused += taken["reused"] is not None
        for name in ("verdict", "reason", "exit_code", "evidence", "canary", "tree", "written"):
            assert taken[name] == fresh[name]
        assert printed(taken) == printed(fresh), json.dumps([taken, fresh])
    assert reused  # or it would say nothing
