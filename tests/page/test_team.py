"""`/team`: the board, what waits for what, and worktrees that come, are merged and go."""

from __future__ import annotations

import re
import shutil
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.page.browser import Answer, RunningServer, serving
from tests.page.team_scene import lay_team
from tests.run.bench import Step, until
from tests.team.repo import Team

pytestmark = pytest.mark.requirement("page.team")


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Team:
    return lay_team(Path(tmp_path_factory.mktemp("team")))


@pytest.fixture(scope="module")
def shown(team: Team) -> Iterator[RunningServer]:
    """Serve it to somebody who only looks."""
    with serving(team) as running:
        running.enter()
        yield running


@pytest.fixture(scope="module")
def page(team: Team) -> Iterator[RunningServer]:
    """Serve it to somebody who may decide."""
    with serving(team, "--decide-anyway") as running:
        running.enter()
        yield running


def lane(text: str, name: str) -> str:
    """Return the part of a page with the plans of a lane."""
    found = re.search(
        rf'<section aria-labelledby="lane-{name}"[^>]*>(.*?)</section>', text, re.DOTALL
    )
    assert found is not None, name
    return found[1]


def is_changed(answer: Answer) -> bool:
    return answer.status == 409 and "Something changed since this was shown" in answer.text


# -- looking -------------------------------------------------------------------------------------


def test_every_plan_is_in_its_lane_with_the_reason(shown: RunningServer) -> None:
    text = shown.get("/team").text
    assert "/plan/money" in lane(text, "merged")
    assert "1/1 proved" in lane(text, "done")
    assert "/plan/export" in lane(text, "ready")
    held = lane(text, "held-back")
    assert "waits for <code>export</code> (approved)" in held
    assert "not approved yet: <code>planbound approve site</code>" in held
    waits = lane(text, "waits-for-a-person")
    assert "the contract failed" in waits
    anchor = re.search(r'href="/inbox#(question-[0-9a-f]+)"', waits)
    assert anchor is not None
    assert f'id="{anchor[1]}"' in shown.get("/inbox").text
    assert "nothing" in lane(text, "running")
    assert "6 plans, 2 held back, 1 ready, 1 waits for a person, 1 done, 1 merged" in text


def test_what_waits_for_what_is_drawn_and_said(shown: RunningServer) -> None:
    text = shown.get("/team").text
    drawing = text[text.index("<svg") : text.index("</svg>")]
    assert drawing.count("graph-plan") == 4
    assert drawing.count("graph-line") == 4, "money to report is said by longer ways"
    assert "style=" not in drawing
    table = text[text.index("What waits for what</caption>") :]
    assert "money</a> (merged)" in table
    assert "export</a> (ready)" in table


def test_who_only_looks_finds_no_form_and_can_send_none(shown: RunningServer, team: Team) -> None:
    before = len(team.log())
    assert "<form" not in shown.get("/team").text
    for place in ("/team/integrate", "/team/prune"):
        text = shown.get(place).text
        assert "<form" not in text
        assert shown.post(place, {"nonce": "x"}).status == 403
    assert shown.post("/team/spawn/export", {"nonce": "x"}).status == 403
    assert len(team.log()) == before
    assert not team.worktree("export").exists()


def test_a_script_gets_the_part_that_stays_as_the_journal_is(shown: RunningServer) -> None:
    answer = shown.get("/team", **{"HX-Request": "true"})
    assert answer.text.startswith("<div")
    assert 'id="team"' in answer.text[:200]
    assert "<html" not in answer.text


def test_text_of_plans_is_only_text(shown: RunningServer, team: Team) -> None:
    team.named("evil", Step("make evil", touches="src/evil"), approve=False)
    file = team.workspace / ".harness" / "PLAN-evil.md"
    file.write_text(
        file.read_text().replace("# Do the work", "# <script>alert(1)</script> \u202eevil")
    )
    text = shown.get("/team").text
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "\u202e" not in text
    file.unlink()


# -- deciding ------------------------------------------------------------------------------------


def test_a_worktree_is_made_once(page: RunningServer, team: Team) -> None:
    text = page.get("/team").text
    assert "/team/spawn/export" in lane(text, "ready")
    assert "/team/spawn/site" not in text, "nobody approved it"
    made = page.submit("/team", "/team/spawn/export")
    assert made.status == 200, made.text
    assert str(team.worktree("export")) in made.text
    assert team.worktree("export").is_dir()
    assert len(team.log("export").of("WORKTREE_SPAWNED")) == 1
    assert "/team/spawn/export" not in page.get("/team").text


def test_a_plan_that_something_happened_to_gets_no_worktree(
    page: RunningServer, team: Team
) -> None:
    team.named("later", Step("make later"))
    text = page.get("/team").text
    nonce = re.search(r'action="/team/spawn/later".*?name="nonce" value="([^"]+)"', text, re.DOTALL)
    assert nonce is not None
    team.goes("reject", "later", "--reason", "not now", "--as", "tester")
    answer = page.post("/team/spawn/later", {"nonce": nonce[1]})
    assert answer.status == 409
    assert "nothing was made" in answer.text
    assert not team.worktree("later").exists()
    other = page.post("/team/spawn/report", {"nonce": nonce[1]})
    assert other.status == 409, "a nonce is for one action"


def test_what_would_be_merged_is_shown_first_and_exactly_that_is_merged(
    page: RunningServer, team: Team
) -> None:
    before, tip = len(team.log()), team.tip()
    text = page.get("/team/integrate").text
    assert "merges cleanly" in text
    assert "Judge and merge round" in text
    assert (len(team.log()), team.tip()) == (before, tip), "looking moves nothing"
    nonce = re.search(r'name="nonce" value="([^"]+)"', text)
    assert nonce is not None
    team.write("src/elsewhere", "new\n")
    moved = team.commit("somebody was faster")
    stale = page.post("/team/integrate", {"nonce": nonce[1]})
    assert is_changed(stale), stale.text
    assert team.tip() == moved
    begun = page.submit("/team/integrate", "/team/integrate")
    assert (begun.status, begun.header("location")) == (303, "/team/merges")
    until(lambda: "It is over: 1 merged" in page.get("/team/merges").text)
    assert team.contains("main", team.log("round").one("PLAN_INTEGRATED")["commit"])
    assert "/plan/round" in lane(page.get("/team").text, "merged")
    text = page.get("/team/integrate").text
    assert "No proved plan waits to be merged into main" in text
    assert "<form" not in text


def test_what_is_stopped_is_told_with_its_reason(page: RunningServer, team: Team) -> None:
    team.named("clash", Step("make clash", contract="! test -e src/theirs", touches="src/clash",
                             work="echo right > src/clash", fields="**baseline:** any"),
               after=["test -e src/clash && ! test -e src/theirs"])  # fmt: skip
    team.goes("spawn", "clash")
    team.goes("run", "clash")
    team.write("src/theirs", "here\n")
    team.commit("what the contract does not stand")
    tip = team.tip()
    page.submit("/team/integrate", "/team/integrate")
    until(lambda: "0 merged, 1 stopped" in page.get("/team/merges").text)
    assert "red" in page.get("/team/merges").text
    assert team.tip() == tip
    assert "/plan/clash" in lane(page.get("/team").text, "waits-for-a-person")


def test_only_the_worktrees_that_were_shown_are_removed(page: RunningServer, team: Team) -> None:
    text = page.get("/team/prune").text
    assert "would go" in text
    assert "stays" in text
    assert team.worktree("money").exists()
    nonce = re.search(r'name="nonce" value="([^"]+)"', text)
    assert nonce is not None
    (team.worktree("money") / "notes").write_text("mine\n")
    assert is_changed(page.post("/team/prune", {"nonce": nonce[1]}))
    assert team.worktree("money").exists()
    (team.worktree("money") / "notes").unlink()
    done = page.submit("/team/prune", "/team/prune")
    assert done.status == 200
    assert "removed" in done.text
    assert not team.worktree("money").exists()
    assert team.worktree("export").exists(), "it is not merged"


def test_a_folder_without_git_has_a_board_and_no_worktrees(tmp_path: Path) -> None:
    bench = Team(tmp_path)
    bench.named("alone")
    shutil.rmtree(bench.workspace / ".git")
    with serving(bench, "--decide-anyway") as running:
        running.enter()
        text = running.get("/team").text
        assert "/plan/alone" in text
        assert "<form" not in text
        answer = running.get("/team/integrate")
        assert answer.status == 500
        assert "git" in answer.text


@pytest.mark.thorough
def test_a_page_that_is_told_to_end_stops_its_merge_and_leaves_nothing_behind(
    tmp_path: Path,
) -> None:
    team = Team(tmp_path)
    # It is quick in its worktree, and takes for ever on the branch.
    contract = 'sleep "$(if test -e src/slow; then echo 6173; else echo 0; fi)" && test -e src/late'
    team.named("late", Step("make late", contract=contract, touches="src/late",
                            work="echo right > src/late", fields="**baseline:** any"),
               after=["test -e src/late"])  # fmt: skip
    team.goes("spawn", "late")
    team.goes("run", "late")
    team.write("src/slow", "here\n")
    team.commit("what makes it slow")
    tip = team.tip()
    with serving(team, "--decide-anyway") as running:
        running.enter()
        running.submit("/team/integrate", "/team/integrate")
        until(lambda: "sleep 6173" in commands())
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(timeout=60) == 0
    assert "sleep 6173" not in commands()
    said = Path(team.workspace, ".page-log").read_text()
    assert "stopping to merge into `main`" in said
    assert "Traceback" not in said
    assert team.tip() == tip
    assert "merges cleanly" in team.goes("integrate", "--dry-run").out, "nobody holds the branch"


def commands() -> str:
    """Return what runs on this machine."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            found.append(path.read_bytes().replace(b"\0", b" ").decode("utf-8", "replace"))
    # Shells have the whole command in their own.
    return "\n".join(each for each in found if each.startswith("sleep"))
