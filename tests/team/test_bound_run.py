"""A plan with a worktree is run, judged and committed there, and nowhere else."""

from __future__ import annotations

import json

import pytest

import planbound
from tests.forked import Place, run_tool
from tests.program import WITHOUT_WALLS
from tests.run.bench import NOTHING, Step
from tests.team.repo import Team


@pytest.mark.requirement("run.bound")
def test_run_finds_the_worktree_by_the_binding_and_commits_what_was_proved(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    before = team.tip()
    done = team.goes("run", "rounding")
    path = team.worktree("rounding")
    assert (path / "src/rounding").read_text() == "right\n"
    assert not (team.workspace / "src/rounding").exists()
    assert team.tip() == before
    commit = team.log().one("WORK_COMMITTED")
    assert commit["commit"] == team.tip("planbound/rounding")
    assert commit["commit"][:12] in done.err
    message = team.git("show", "--no-patch", "--format=%an <%ae>%n%B", "planbound/rounding")
    digest = team.goes("show", "rounding", "--json").json["digest"]
    assert f"Planbound-Plan: rounding\nPlanbound-Digest: {digest}" in message
    assert message.startswith("Planbound <planbound@localhost>")
    assert team.git("status", "--porcelain", cwd=path) == ""
    changed = team.git("diff", "--name-only", f"{before}..planbound/rounding")
    assert changed == "src/rounding"


@pytest.mark.thorough
def test_the_author_is_configurable_and_setup_files_are_not_committed(team: Team) -> None:
    team.write("secrets.env", "TOKEN=1\n")
    team.settings = '[worktrees]\nsetup = ["secrets.env"]\nauthor = "Bot <bot@example.org>"\n'
    team.named("rounding")
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    assert team.git("show", "--no-patch", "--format=%an <%ae>", "planbound/rounding") == (
        "Bot <bot@example.org>"
    )
    files = team.git("ls-tree", "-r", "--name-only", "planbound/rounding").split()
    assert "src/rounding" in files
    assert "secrets.env" not in files
    assert not [name for name in files if name.startswith(".harness")]


@pytest.mark.thorough
def test_only_the_plans_own_work_is_committed(team: Team) -> None:
    team.settings = '[worktrees]\nsetup = ["mkdir -p made && touch made/here [odd]*"]\n'
    team.named("bounded")
    team.named("open", Step("make open", touches=""), touches="")
    for name in ("bounded", "open"):
        team.goes("spawn", name)
        (team.worktree(name) / "src/note").write_text("a person's own\n")
        team.goes("run", name)
    files = {
        name: set(team.git("diff", "--name-only", f"main..planbound/{name}").split())
        for name in ("bounded", "open")
    }
    assert files == {"bounded": {"src/bounded"}, "open": {"src/open", "src/note"}}
    assert team.log("open").one("WORKTREE_SPAWNED")["made"] == ["[odd]*", "made/"]
    assert (team.worktree("bounded") / "src/note").exists()


@pytest.mark.thorough
def test_it_runs_from_inside_the_worktree_too_by_the_marker(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    done = team.run("run", cwd=path)
    assert done.code == 0, done.err
    assert team.log().one("WORK_COMMITTED").plan == "rounding"
    judged = team.run("judge", cwd=path)
    assert judged.code == 0, judged.out


@pytest.mark.thorough
@pytest.mark.requirement("run.workspace-mismatch")
def test_no_plan_is_run_or_judged_in_the_worktree_of_another(team: Team) -> None:
    for name in ("one", "two", "three"):
        team.named(name)
    for name in ("one", "two"):
        team.goes("spawn", name)
    for command in ("run", "judge", "approve", "baseline"):
        bound = team.run(command, "two", cwd=team.worktree("one"))
        assert (bound.code, "workspace-mismatch: `two` belongs to" in bound.err) == (2, True)
        unbound = team.run(command, "three", cwd=team.worktree("one"))
        assert (unbound.code, "this worktree belongs to `one`" in unbound.err) == (2, True)
    assert not team.log().of("EXECUTION_STARTED", "CONTRACT_EVALUATED")


@pytest.mark.thorough
@pytest.mark.requirement("run.workspace-mismatch")
def test_no_plan_of_an_agent_in_the_loop_is_judged_in_another_worktree(team: Team) -> None:
    for name in ("one", "two", "three"):
        team.named(name)
    for name in ("one", "two"):
        team.goes("spawn", name)
    for name, folder, found in (
        ("two", team.worktree("one"), "workspace-mismatch: `two` belongs to"),
        ("two", team.workspace, "workspace-mismatch: `two` belongs to"),
        ("three", team.worktree("one"), "this worktree belongs to `one`"),
    ):
        place = Place(folder, team.environment(PLANBOUND_PLAN=name))
        done = run_tool("s", "step_update", {"step": 1, "status": "done"}, place)
        went, text, _ = json.loads(done[1])
        assert (went, found in text) == (False, True), text
        # The last word is asked by the gate, which looks at the files first.
        ended = run_tool("s", "plan_finish", {"summary": "It is done."}, place)
        assert (json.loads(ended[1])[0], found in json.loads(ended[1])[1]) == (False, True)
    assert not team.log().of("CONTRACT_EVALUATED", "FINALIZATION_ACCEPTED")


@pytest.mark.thorough
@pytest.mark.requirement("run.workspace-mismatch")
def test_a_folder_that_is_not_the_recorded_worktree_is_refused(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    team.git("checkout", "--quiet", "--detach", cwd=path)
    detached = team.goes("run", "rounding", code=2)
    assert "workspace-mismatch" in detached.err
    assert "HEAD is detached" in detached.err
    team.git("checkout", "--quiet", "-b", "other", cwd=path)
    assert "has `other` checked out" in team.goes("run", "rounding", code=2).err
    pointer = (path / ".git").read_text()
    (path / ".git").unlink()
    fake = team.goes("run", "rounding", code=2)
    assert "is no worktree" in fake.err
    (path / ".git").write_text(pointer)
    team.git("checkout", "--quiet", "planbound/rounding", cwd=path)
    team.goes("run", "rounding")


@pytest.mark.thorough
@pytest.mark.requirement("run.workspace-mismatch")
def test_a_verdict_on_another_tree_than_the_plans_own_does_not_count(team: Team) -> None:
    team.program = WITHOUT_WALLS
    path = team.worktree("rounding")
    head = f"{team.workspace}/.git/worktrees/rounding/HEAD"
    moves = f"echo right > src/rounding; echo ref: refs/heads/main > '{head}'"
    team.named("rounding", Step("make rounding", work=moves))
    team.goes("spawn", "rounding")
    done = team.run("run", "rounding", "--no-input")
    assert done.code in {2, 4}, done.out + done.err
    assert "workspace-mismatch" in done.err
    assert not team.log().of("TASK_COMPLETED", "WORK_COMMITTED")
    found = team.log().one("FAILURE_CLASSIFIED")
    assert (found["failure_type"], found["rule"]) == ("workspace-mismatch", "another-worktree")
    assert path.is_dir()


@pytest.mark.thorough
@pytest.mark.requirement("run.workspace-mismatch")
@pytest.mark.parametrize("where", ["main", "other"])
def test_edits_in_another_worktree_are_a_workspace_mismatch(team: Team, where: str) -> None:
    team.program = WITHOUT_WALLS
    elsewhere = team.workspace if where == "main" else team.worktree("other")
    work = f"echo right > '{elsewhere}/src/rounding'; echo right > src/rounding"
    team.named("rounding", Step("make rounding", work=work))
    team.named("other")
    team.goes("spawn", "other")
    team.goes("spawn", "rounding")
    done = team.goes("run", "rounding", "--no-input", code=4)
    assert f"{elsewhere}/src/rounding" in done.err
    found = team.log().one("FAILURE_CLASSIFIED")
    assert found["failure_type"] == "workspace-mismatch"
    assert found["rule"] == "edits-in-another-worktree"
    assert not team.log().of("TASK_COMPLETED")


@pytest.mark.thorough
def test_in_a_cell_an_agent_cannot_write_to_another_worktree_or_to_git(team: Team) -> None:
    work = (
        f"echo x > '{team.workspace}/src/stray'; git log --oneline > src/log 2>&1;"
        f" echo x > '{team.workspace}/.git/config'; echo gitdir: /tmp > .git;"
        " echo right > src/rounding"
    )
    team.named("rounding", Step("make rounding", work=work, touches="src/** .git"))
    team.goes("spawn", "rounding")
    config = (team.workspace / ".git/config").read_text()
    team.goes("run", "rounding")
    assert not (team.workspace / "src/stray").exists()
    assert (team.workspace / ".git/config").read_text() == config
    assert "begin" in (team.worktree("rounding") / "src/log").read_text()


@pytest.mark.thorough
@pytest.mark.requirement("run.holds", "gate.require-proved")
def test_what_was_green_before_holds_in_a_worktree_as_everywhere(team: Team) -> None:
    lint = Step("check the lint", work=NOTHING, contract="test -d src")
    team.named("rounding", Step("make rounding"), lint, after=["test -d src"])
    team.named("later", depends_on="rounding")
    team.goes("spawn", "rounding")
    told = team.goes("run", "rounding", "--no-input").out
    assert "holds (it was green before the work)" in told
    assert told.splitlines()[-1].startswith("1/2 proved, 1 holds, 0 waived")
    assert team.goes("ready", "--json").json["ready"] == ["later"]
    assert [each["slug"] for each in team.goes("standup", "--json").json["mergeable"]] == [
        "rounding"
    ]
    settings = team.read("planbound.toml")
    team.write("planbound.toml", settings + '[gate]\nrequire = "proved"\n')
    why = '1 step holds and is not proved, which `[gate] require = "proved"` demands'
    assert f"waits for `rounding`: {why}" in team.run("ready").out
    assert team.goes("standup", "--json").json["waiting"][0]["about"] == why
    assert why in team.run("integrate").out
    assert why in team.goes("integrate", "rounding", code=2).out
    assert why in team.run("fleet", "later").out
    team.write("planbound.toml", settings + '[gate]\nrequire = "holds"\n')
    assert [each["plan"] for each in team.goes("integrate", "--json").json["merged"]] == [
        "rounding"
    ]


@pytest.mark.requirement("run.phantom-completion")
def test_an_agent_that_is_content_and_changed_nothing_is_named(team: Team) -> None:
    team.named("rounding", Step("make rounding", work=(NOTHING, "echo right > src/rounding")))
    team.goes("spawn", "rounding")
    ran = team.goes("run", "rounding")
    complaint = "grep: src/rounding: No such file or directory; phantom completion: nothing changed"
    assert f"contract failed (exit 2): {complaint}" in ran.out + ran.err
    first = team.log().of("FAILURE_DETECTED")[0]
    assert first["error_message"].endswith("phantom completion: nothing changed in its scope")
    assert team.log().of("FAILURE_CLASSIFIED")[0]["rule"] == "phantom-completion"
    prompt = team.log().of("ATTEMPT_ENDED")[1]["prompt"]
    assert "phantom completion" in prompt


@pytest.mark.thorough
def test_configuration_and_topics_are_those_of_the_main_side(team: Team) -> None:
    team.write(".harness/topics/money.md", "Round half to even.\n")
    team.named("rounding", Step("make rounding", fields="**subscriptions:**\n- topic:money\n"))
    team.goes("spawn", "rounding")
    path = team.worktree("rounding")
    (path / "planbound.toml").write_text('[judging]\nisolation = "I4"\n')
    team.run("run", "rounding")
    ended = team.log().of("ATTEMPT_ENDED")[0]
    assert "Round half to even." in ended["prompt"]
    assert team.log().of("CONTRACT_EVALUATED"), "nothing here reaches I4"


@pytest.mark.thorough
def test_what_changes_after_the_proof_is_not_committed_unseen(team: Team) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    team.goes("run", "rounding")
    again = team.goes("run", "rounding", code=3)
    assert "done already" in again.err


@pytest.mark.thorough
def test_a_workspace_below_the_top_of_the_repository_has_its_counterpart(team: Team) -> None:
    inner = team.workspace / "app"
    (inner / "src").mkdir(parents=True)
    (inner / "src/readme").write_text("inner\n")
    team.named("rounding")
    (team.workspace / ".harness").rename(inner / ".harness")
    (team.workspace / "planbound.toml").rename(inner / "planbound.toml")
    team.commit("app")
    made = team.run("spawn", "rounding", "--json", cwd=inner)
    assert made.code == 0, made.err
    assert made.json["workspace"] == str(team.worktree("rounding") / "app")
    digest = team.run("show", "rounding", "--json", cwd=inner).json["digest"][:16]
    assert team.run("approve", "rounding", "--digest", digest, "--as", "me", cwd=inner).code == 0
    done = team.run("run", "rounding", cwd=inner)
    assert done.code == 0, done.err
    assert (team.worktree("rounding") / "app/src/rounding").exists()
    assert "app/src/rounding" in team.git("ls-tree", "-r", "--name-only", "planbound/rounding")


@pytest.mark.thorough
def test_people_in_their_own_linked_worktrees_are_not_disturbed(team: Team) -> None:
    team.named("rounding")
    mine = team.folder / "mine"
    team.git("worktree", "add", "--quiet", str(mine), "-b", "mine")
    done = team.run("run", "rounding", cwd=mine)
    assert done.code == 0, done.err
    assert (mine / "src/rounding").exists()
    assert not team.log().of("WORK_COMMITTED")


@pytest.mark.requirement("run.workspace-mismatch")
def test_no_agent_in_the_loop_is_judged_in_another_worktree(
    team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    team.named("rounding")
    team.goes("spawn", "rounding")
    for name, value in team.environment().items():
        monkeypatch.setenv(name, value)
    (team.workspace / "src/rounding").write_text("right\n")
    session = planbound.open_session(str(team.workspace), plan="rounding")
    told = session.call("step_update", step="1", status="done", evidence="it is there")
    assert not told.ok
    assert "workspace-mismatch" in told.text
    assert not team.log("rounding").of("CONTRACT_EVALUATED", "TASK_COMPLETED")
