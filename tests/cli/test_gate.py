"""The gate, from outside: approve, reject, ask, decide."""

from __future__ import annotations

import json
import os
import pty
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.test_judge import Project, plan_text
from tests.needs import need
from tests.tables import first_always
from tests.terminal import Typed


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path)
    made.plan("it", plan_text("test -e src/one", "test -e src/two", "test -e src/three"))
    return made


def digest_of(project: Project) -> str:
    return str(project.run("show", "it", "--json").json["digest"])


def events(project: Project, kind: str) -> list[dict[str, Any]]:
    lines = project.run("log", "it", "--json").out.splitlines()
    found = [json.loads(line) for line in lines]
    return [item for item in found if item["event"] == kind]


def status(project: Project) -> str:
    return str(project.run("show", "it", "--json").json["status"])


@pytest.mark.thorough
@pytest.mark.requirement("command.approve", "gate.bound")
def test_an_approval_names_the_digest_and_binds_what_it_was_shown(project: Project) -> None:
    digest = digest_of(project)
    done = project.run("approve", "it", "--digest", digest[:12], "--as", "mara")
    assert done.code == 0, done.err
    assert "$ test -e src/one" in done.out
    assert "red now: exit 1" in done.out
    (approved,) = events(project, "GATE_APPROVED")
    details = approved["details"]
    assert details["digest"] == digest
    assert details["by"] == "mara"
    assert details["method"] == "digest"
    assert {"nonce", "judges", "tree", "configuration", "text"} <= set(details)
    assert status(project) == "approved"
    assert digest_of(project) == digest


@pytest.mark.thorough
@pytest.mark.requirement("command.approve")
def test_without_a_digest_and_a_terminal_the_plan_waits(project: Project) -> None:
    done = project.run("approve", "it")
    assert done.code == 4
    assert "waits for approval" in done.err
    assert events(project, "GATE_APPROVED") == []
    assert len(events(project, "GATE_APPROVAL_REQUESTED")) == 1
    # It was found clean, and whoever finds that says so, once.
    assert status(project) == "verified"
    assert project.run("approve", "it").code == 4
    assert len(events(project, "PLAN_VERIFIED")) == 1
    assert len(events(project, "GATE_APPROVAL_REQUESTED")) == 1
    assert "it  [verified]" in project.run("list").out
    assert "status: verified" in (project.workspace / ".harness/PLAN-it.md").read_text()


@pytest.mark.requirement("command.approve", "gate.bound")
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--digest", "0123456789ab", "--as", "mara"], "digest changed"),
        (["--digest", "0123", "--as", "mara"], "12 digits or more"),
        (["--digest", "{digest}"], "say who"),
        (["--digest", "{digest}", "--as", "mara", "--expires", "soon"], "--expires"),
    ],
)
def test_what_does_not_name_the_plan_or_the_person_is_refused(
    project: Project, arguments: list[str], said: str
) -> None:
    given = [item.replace("{digest}", digest_of(project)) for item in arguments]
    done = project.run("approve", "it", *given)
    assert done.code == 2
    assert said in done.err + done.out
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.thorough
@pytest.mark.requirement("gate.bound")
def test_the_same_plan_is_approved_once(project: Project) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("approve", "it", *given).code == 0
    done = project.run("approve", "it", *given)
    assert done.code == 3
    assert "approved already, by mara" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("gate.bound")
def test_a_plan_that_changed_shows_what_is_different_from_the_approved_one(
    project: Project,
) -> None:
    project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    path = project.workspace / ".harness/PLAN-it.md"
    path.write_text(path.read_text().replace("test -e src/two", "test -d src"))
    done = project.run("approve", "it")
    assert "digest changed" in done.err
    assert "the contract of step 2 is another" in done.out
    assert "-test -e src/two" in done.out


@pytest.mark.thorough
@pytest.mark.requirement("gate.bound")
def test_a_judge_that_changed_ends_an_approval(project: Project) -> None:
    project.write("tests/check.sh", "test -e src/one\n")
    project.plan("it", plan_text("bash tests/check.sh"))
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("approve", "it", *given).code == 0
    project.write("tests/check.sh", "true\n")
    done = project.run("approve", "it", *given)
    assert "judge changed: tests/check.sh" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("gate.bound")
def test_an_approval_expires(project: Project) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("approve", "it", *given, "--expires", "1ms").code == 0
    done = project.run("approve", "it")
    assert "expired" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("command.approve")
def test_a_plan_with_errors_or_templates_is_not_approved(project: Project) -> None:
    project.plan("it", plan_text("pytest || true"))
    done = project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    assert done.code == 1
    assert events(project, "GATE_APPROVED") == []
    text = plan_text("test -e src/one").replace("### 3. Do part 3", "### 3–N. Do the rest")
    project.plan("it", text)
    done = project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    assert done.code == 1
    assert "template" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("command.approve")
def test_a_person_at_a_terminal_types_the_digest(project: Project) -> None:
    digest = digest_of(project)
    for typed, code in (("yes", 4), (digest[:6], 0)):
        main, side = pty.openpty()
        process = subprocess.Popen(
            [sys.executable, "-m", "planbound", "approve", "it"],
            cwd=project.workspace,
            env=project.environment(),
            stdin=side,
            stdout=subprocess.DEVNULL,
            stderr=side,
        )
        os.close(side)
        os.write(main, f"{typed}\n".encode())
        assert process.wait(timeout=300) == code
        os.close(main)
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["method"] == "terminal"


@pytest.mark.thorough
@pytest.mark.requirement("command.approve")
def test_each_contract_that_is_looked_at_has_a_line_of_its_own(project: Project) -> None:
    waits = [f"sleep 4; test -e src/{name}" for name in ("one", "two")]
    project.plan("it", plan_text(*waits, "test -e src/three"))
    person = Typed(project.workspace, project.environment(NO_COLOR="1"), "approve", "it")
    seen = person.until("to approve")
    person.interrupt()
    person.end()
    assert re.search(r"  judging 1/3: sleep 4[^\n]*\n  judging 2/3: sleep 4", seen), seen


@pytest.mark.thorough
@pytest.mark.requirement("command.approve", "verdict.tampered")
@pytest.mark.parametrize(
    "arguments", first_always([[], ["--digest", "0123456789ab", "--as", "mara"]])
)
def test_who_only_looks_does_not_replace_what_was_frozen(
    project: Project, arguments: list[str]
) -> None:
    project.write("tests/check.sh", "test -e src/one\n")
    project.plan("it", plan_text("bash tests/check.sh"))
    project.baseline()
    project.write("tests/check.sh", "true\n")
    assert project.run("approve", "it", *arguments).code in {2, 4}
    assert project.first()["verdict"] == "tampered"


@pytest.mark.thorough
@pytest.mark.requirement("command.approve")
def test_the_bound_plan_is_meant_where_none_is_named(project: Project) -> None:
    project.write(".harness/active-plan", "it\n")
    done = project.run("approve", "--digest", digest_of(project)[:12], "--as", "mara")
    assert done.code == 0, done.err


@pytest.mark.requirement("command.reject")
def test_a_refusal_puts_the_plan_back_to_draft(project: Project) -> None:
    project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    done = project.run("reject", "it", "--reason", "too broad", "--as", "mara")
    assert done.code == 0, done.err
    assert status(project) == "draft"
    (rejected,) = events(project, "GATE_REJECTED")
    assert rejected["details"]["reason"] == "too broad"
    assert project.run("reject", "it", "--reason", " ", "--as", "mara").code == 2


@pytest.mark.requirement("gate.bare-no")
@pytest.mark.parametrize(
    "command", [["decide", "it", "no"], ["decide", "it", "REJECTED"], ["reject", "it"]]
)
def test_a_no_without_a_reason_is_a_refusal(project: Project, command: list[str]) -> None:
    done = project.run(*command, "--as", "mara")
    assert done.code == 0, done.err
    assert done.out == "rejected `it`\n"
    assert "why? `planbound reject it --reason" in done.err
    (rejected,) = events(project, "GATE_REJECTED")
    assert rejected["details"]["reason"] == ""
    assert status(project) == "draft"
    refused = project.run("redraft", "it")
    assert (refused.code, "without a reason" in refused.err) == (2, True)


@pytest.mark.requirement("command.ask")
def test_a_question_is_on_record(project: Project) -> None:
    done = project.run("ask", "it", "why three files?", "--as", "mara")
    assert done.code == 0, done.err
    (asked,) = events(project, "GATE_CLARIFICATION_ASKED")
    assert asked["details"]["question"] == "why three files?"


@pytest.mark.requirement("command.decide", "gate.grammar")
@pytest.mark.parametrize(
    ("said", "code", "kind"),
    [
        ("approved, but skip task 3", 0, "GATE_APPROVED"),
        ("no, it is too broad", 0, "GATE_REJECTED"),
        ("why does step 2 come first?", 0, "GATE_CLARIFICATION_ASKED"),
    ],
)
def test_what_is_said_is_done(project: Project, said: str, code: int, kind: str) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("decide", "it", said, *given)
    assert done.code == code, done.out + done.err
    (found,) = events(project, kind)
    if kind == "GATE_APPROVED":
        assert found["details"]["modifications"] == ["skip 3"]


@pytest.mark.requirement("command.decide", "gate.grammar")
@pytest.mark.parametrize("said", ["approved?", "not approved yet", "", "sure, why not", "skip 2"])
def test_what_is_not_surely_a_decision_is_asked_back(project: Project, said: str) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("decide", "it", said, *given)
    assert done.code in {0, 4}
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.thorough
@pytest.mark.requirement("command.decide", "language.revise")
def test_a_change_of_the_plan_is_shown_and_approves_nothing(project: Project) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("decide", "it", "approved, but remove task 2", *given)
    assert done.code == 4, done.out + done.err
    assert "-test -e src/two" in done.out
    assert events(project, "GATE_APPROVED") == []
    steps = project.run("show", "it", "--json").json["steps"]
    assert [step["number"] for step in steps] == [1, 2]
    done = project.run("decide", "it", "approved", *given)
    assert done.code == 2
    assert "digest changed" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("gate.reorder", "gate.modifications")
@pytest.mark.parametrize(
    "said", first_always(["APPROVED_MODIFIED: reorder Task 2 and 3", "swap steps 2 and 3"])
)
def test_two_steps_change_places_and_the_yes_names_it(project: Project, said: str) -> None:
    before = project.run("show", "it", "--json").json
    given = ["--digest", before["digest"][:12], "--as", "mara"]
    assert project.run("decide", "it", said, *given).code == 4
    after = project.run("show", "it", "--json").json
    ids = [[step["id"] for step in each["steps"]] for each in (before, after)]
    assert ids[1] == [ids[0][0], ids[0][2], ids[0][1]], "a step keeps its id"
    assert [step["number"] for step in after["steps"]] == [1, 2, 3]
    assert after["digest"] != before["digest"]
    assert project.run("approve", "it", *given).code == 2, "what was shown is another plan"
    done = project.run("approve", "it", "--digest", after["digest"][:12], "--as", "mara")
    assert done.code == 0, done.err
    assert "with swap 2 and 3" in done.out
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["modifications"] == ["swap 2 and 3"]
    assert approved["details"]["digest"] == after["digest"]


@pytest.mark.requirement("gate.reorder")
def test_a_swap_that_breaks_a_declared_dependency_is_refused_with_the_reason(
    project: Project,
) -> None:
    text = plan_text("test -e src/one", "test -e src/two", "test -e src/three")
    path = project.plan("it", text.replace("Do part 3\n", "Do part 3 (depends on 2)\n"))
    before = path.read_bytes()
    done = project.run("decide", "it", "approved, but reorder task 2 and 3", "--as", "mara")
    assert done.code == 2
    assert "step 3 depends on step 2" in done.err
    assert path.read_bytes() == before


@pytest.mark.thorough
@pytest.mark.requirement("gate.modifications")
def test_the_yes_names_every_change_on_its_way(project: Project) -> None:
    project.write(
        "new.md",
        "### 9. Do part four\n\n**target:** coder\n**task:** Write `src/four`.\n\n"
        "**contract:**\n```shell\ntest -e src/four\n```\n",
    )
    project.run("approve", "it")
    path = project.workspace / ".harness/PLAN-it.md"
    path.write_text(path.read_text().replace("test -e src/two", "test -s src/two"))
    for said in ("approved, but swap 1 and 2", "add a step last"):
        file = ["--with", "new.md"] if "add" in said else []
        done = project.run("decide", "it", said, *file, "--as", "mara")
        assert done.code == 4, done.err
    path.write_text(path.read_text().replace("test -s src/two", "test -f src/two"))
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("decide", "it", "approved, but skip 4", *given).code == 0
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["modifications"] == [
        "edit 2 in the file",
        "swap 1 and 2",
        "add last",
        "edit 1 in the file",
        "skip 4",
    ]


@pytest.mark.requirement("command.decide")
def test_a_step_that_another_needs_is_not_skipped(project: Project) -> None:
    text = plan_text("test -e src/one", "test -e src/two", "test -e src/three")
    project.plan("it", text.replace("### 3. Do part 3", "### 3. Do part 3 (depends on 2)"))
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("decide", "it", "approved, but skip task 2", *given)
    assert done.code == 2
    assert "step 3 depends on it" in done.err


@pytest.mark.requirement("command.decide")
def test_a_change_that_breaks_the_order_is_refused(project: Project) -> None:
    text = plan_text("test -e src/one", "test -e src/two", "test -e src/three")
    project.plan("it", text.replace("### 3. Do part 3", "### 3. Do part 3 (depends on 2)"))
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("decide", "it", "approved, but move 3 before 2", *given)
    assert done.code == 2
    assert "cannot be changed like that" in done.err


@pytest.mark.thorough
@pytest.mark.requirement("invariant.only-the-harness-proves")
@pytest.mark.parametrize(
    "command", first_always(["approve it --as me", "approve it --policy p", "gate it"])
)
def test_nothing_is_approved_from_inside_a_cell(project: Project, command: str) -> None:
    inside = f"{sys.executable} -m planbound --workspace . {command} || echo code $?"
    project.plan("it", plan_text(inside))
    found = project.first()
    assert "code 2" in found["stdout"]["head"]
    assert "inside of a cell" in found["stderr"]["head"]


class Signer:
    """Somebody with a key."""

    def __init__(self, project: Project, name: str) -> None:
        self.project = project
        self.name = name
        self.key = project.home / f"{name}-key"
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", name, "-f", str(self.key)],
            check=True,
        )

    def allow(self) -> None:
        path = self.project.home / ".config/planbound/allowed_signers"
        path.parent.mkdir(parents=True, exist_ok=True)
        public = self.key.with_suffix(".pub").read_text()
        with path.open("a") as file:
            file.write(f"{self.name} {public}")

    def sign(self, *, namespace: str = "planbound-approval@v1") -> str:
        done = self.project.run("approve", "it", "--statement")
        assert done.code == 4, done.err
        statement = self.project.home / f"{self.name}-statement.json"
        statement.write_text(done.out)
        signed = statement.with_suffix(".json.sig")
        signed.unlink(missing_ok=True)
        subprocess.run(
            [
                "ssh-keygen",
                "-q",
                "-Y",
                "sign",
                "-f",
                str(self.key),
                "-n",
                namespace,
                str(statement),
            ],
            check=True,
            capture_output=True,
        )
        return str(signed)


@pytest.fixture
def signer(project: Project) -> Signer:
    need("ssh-keygen", "signatures are made by it")
    project.write("planbound.toml", "[gate]\nsigned = true\n")
    return Signer(project, "mara")


@pytest.mark.thorough
@pytest.mark.requirement("command.approve", "gate.signature")
def test_a_signature_of_an_allowed_key_approves(project: Project, signer: Signer) -> None:
    signer.allow()
    done = project.run("approve", "it", "--signature", signer.sign(), "--as", "mara")
    assert done.code == 0, done.err
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["method"] == "signature"


@pytest.mark.thorough
@pytest.mark.requirement("gate.signature")
def test_a_statement_is_all_that_is_printed_whatever_verify_says(
    project: Project, signer: Signer
) -> None:
    signer.allow()
    project.write("tests/check.sh", "test -e src/one\n")
    project.plan("it", plan_text("bash tests/check.sh", touches='"src/**", "tests/**"'))
    done = project.run("approve", "it", "--statement")
    assert done.json["plan"] == "it"
    assert "PB609" in done.err
    done = project.run("approve", "it", "--signature", signer.sign(), "--as", "mara")
    assert done.code == 0, done.err


@pytest.mark.requirement("gate.signature")
def test_where_signatures_are_demanded_nothing_else_approves(
    project: Project, signer: Signer
) -> None:
    done = project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    assert done.code == 2
    assert "only a signature" in done.err
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.thorough
@pytest.mark.requirement("gate.signature")
@pytest.mark.parametrize(
    "wrong", first_always(["nobody allowed", "key", "name", "purpose", "plan", "missing"])
)
def test_a_signature_that_does_not_hold_approves_nothing(
    project: Project, signer: Signer, wrong: str
) -> None:
    other = Signer(project, "eve")
    if wrong != "nobody allowed":
        signer.allow()
    by = "eve" if wrong == "name" else "mara"
    who = other if wrong == "key" else signer
    signed = who.sign(namespace="file" if wrong == "purpose" else "planbound-approval@v1")
    if wrong == "plan":
        path = project.workspace / ".harness/PLAN-it.md"
        path.write_text(path.read_text().replace("test -e src/two", "test -d src"))
    given = "/nowhere.sig" if wrong == "missing" else signed
    done = project.run("approve", "it", "--signature", given, "--as", by)
    assert done.code == 2, done.out
    assert events(project, "GATE_APPROVED") == []


# -- policies ----------------------------------------------------------------------------------

POLICY = '[gate.policies.small]\ntouches = ["src/**"]\ntargets = ["coder"]\nsteps = 3\n'


def test_a_policy_approves_what_it_matches_and_is_named_in_the_record(project: Project) -> None:
    project.write("planbound.toml", POLICY)
    done = project.run("approve", "it", "--policy", "small")
    assert done.code == 0, done.err
    assert "approval by policy: a rule of the configuration" in done.out
    assert "by policy small (policy; a rule of the configuration; nobody looked)" in done.out
    (approved,) = events(project, "GATE_APPROVED")
    details = approved["details"]
    assert (details["method"], details["policy"]) == ("policy", "small")
    assert (details["by"], details["strength"]) == ("policy small", "rule")
    assert status(project) == "approved"


@pytest.mark.thorough
def test_a_policy_is_used_only_where_it_is_asked_for(project: Project) -> None:
    project.write("planbound.toml", POLICY)
    assert project.run("approve", "it").code == 4
    assert events(project, "GATE_APPROVED") == []


@pytest.mark.parametrize(
    ("configured", "arguments", "said"),
    [
        (POLICY.replace("src", "docs"), ["--policy", "small"], "step 3 may touch `src/**`"),
        (POLICY.replace("coder", "tester"), ["--policy", "small"], "step 1 is for `coder`"),
        (POLICY + 'contracts = ["pytest"]\n', ["--policy", "small"], "of the kind command"),
        (POLICY + "max_tokens = 5\n", ["--policy", "small"], "sets no tokens"),
        (POLICY, ["--policy", "large"], "there is no policy `large`"),
        (POLICY, ["--policy", "small", "--as", "mara"], "a policy approves, or a person does"),
        (POLICY + "[gate]\nsigned = true\n", ["--policy", "small"], "only a signature"),
        ('[gate.policies.all]\ntouches = ["**"]\n', ["--policy", "all"], "approve every plan"),
        ("[gate.policies.all]\n", ["--policy", "all"], "approve every plan"),
        ("[gate.policies.all]\ntuches = []\n", ["--policy", "all"], "did you mean `touches`?"),
    ],
)
def test_a_policy_that_does_not_match_or_cannot_be_meant_is_refused(
    project: Project, configured: str, arguments: list[str], said: str
) -> None:
    project.write("planbound.toml", configured)
    done = project.run("approve", "it", *arguments)
    assert done.code == 2
    assert said in done.err
    (project.workspace / "planbound.toml").unlink()
    assert events(project, "GATE_APPROVED") == []


# -- what is shown -----------------------------------------------------------------------------


@pytest.mark.thorough
def test_the_sheet_shows_what_is_shown_of_the_home_and_which_hosts_are_reached(
    project: Project,
) -> None:
    project.write(
        "planbound.toml",
        '[agents.coder]\nkind = "codex"\nnetwork = ["packages.example.org"]\n'
        'home = ["pass", "~/.config/mine"]\n',
    )
    home = Path(project.environment()["HOME"])
    for name in (".cargo/bin", ".cache/uv", ".aws"):
        (home / name).mkdir(parents=True)
    project.plan("it", plan_text("test -e src/one"))
    said = project.run("approve", "it").out
    for line in (
        (
            "passed to the agent `coder`: nothing; network to api.openai.com:443, chatgpt.com:443,"
            " auth.openai.com:443, packages.example.org:443 only; home pass"
        ),
        "shown to the agent `coder`: ~/.codex, ~/.config/mine",
        "shown of the home to contracts and agents: ~/.cache/uv, ~/.cargo",
    ):
        assert line in said, said


@pytest.mark.thorough
def test_the_sheet_shows_all_that_will_run_and_all_that_is_passed(project: Project) -> None:
    project.write(
        "planbound.toml",
        '[contracts]\nenv = ["LANG"]\n\n[agents.coder]\ncommand = ["true"]\n'
        'env = ["MODEL_KEY"]\nnetwork = false\nhome = "pass"\n',
    )
    text = plan_text(
        "test -e src/one", fields="**evidence:** E1\n**repeat:** 2", expect="tests >= 3"
    )
    text = text.replace(
        "## Steps",
        "**Budget:** max 5k tokens\n\n## Preconditions\n\n1. The folder is there\n"
        "   ```shell\n   test -d src\n   ```\n\n## Steps",
    )
    project.plan(
        "it", f"{text}\n## Postconditions\n\n1. All is there\n   ```shell\n   ls src/x\n   ```\n"
    )
    done = project.run("approve", "it")
    assert done.code == 4, done.err
    for line in (
        "before the start: The folder is there",
        "   $ test -d src",
        "   expects tests >= 3, evidence E1, 2 passes",
        "at the end: All is there",
        "   $ ls src/x",
        "passed to contracts: LANG; network off",
        "passed to the agent `coder`: MODEL_KEY; network off; home pass",
        "budget: 5,000 tokens, $20.00, 8h wall clock; the plan sets no dollars and no time",
        "approval by digest: somebody's word, and no proof of who it was",
    ):
        assert f"{line}\n" in done.out, line
    assert done.out.count("red now") == 3


@pytest.mark.requirement("gate.weakened")
def test_what_became_weaker_comes_first(project: Project) -> None:
    text = plan_text("test -e src/one", expect='stdout contains "x"')
    project.plan("it", text)
    project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    project.plan("it", text.replace('stdout contains "x"', "").replace("src/**", "**"))
    lines = project.run("approve", "it").out.splitlines()
    weaker = 'step 1 does not expect stdout contains "x" any more'
    wider = "step 1 may touch `**` now"
    assert lines.index(weaker) < lines.index(wider) < lines.index('  -stdout contains "x"')


@pytest.mark.thorough
@pytest.mark.requirement("gate.bound")
def test_an_approval_of_another_repository_does_not_hold(project: Project, tmp_path: Path) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    shared = ["--state", str(tmp_path / "state")]
    assert project.run("approve", "it", *given, *shared).code == 0
    copied = Project.__new__(Project)
    copied.workspace, copied.home = tmp_path / "copy", project.home
    shutil.copytree(project.workspace, copied.workspace)
    done = copied.run("approve", "it", *shared)
    assert done.code == 4, done.out
    assert "other repository: it was given in workspace-" in done.err


# -- other texts for steps ---------------------------------------------------------------------

STEP = """\
### 7. Make it new

**target:** coder
**task:** Write `src/new`, with one line in it.

**contract:**
```shell
test -e src/new
```
"""


@pytest.mark.requirement("command.decide", "language.revise")
@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("edit step 2", ["one", "new", "three"]),
        ("approved, but edit 2", ["one", "new", "three"]),
        ("add a step after 2", ["one", "two", "new", "three"]),
        ("add a new step first", ["new", "one", "two", "three"]),
        ("insert a step before 2 and remove 3", ["one", "new", "two"]),
    ],
)
def test_a_step_is_edited_or_added_from_a_file(
    project: Project, said: str, expected: list[str]
) -> None:
    done = project.run("decide", "it", said, "--with", "-", "--as", "mara", stdin=STEP)
    assert done.code == 4, done.err
    assert "is not approved yet" in done.err
    steps = project.run("show", "it", "--json").json["steps"]
    assert [step["contract"]["command"] for step in steps] == [
        f"test -e src/{name}" for name in expected
    ]
    assert [step["number"] for step in steps] == list(range(1, len(expected) + 1))
    assert events(project, "GATE_APPROVED") == []
    (rewritten,) = events(project, "PLAN_REWRITTEN")
    assert rewritten["details"]["by"] == "mara"


@pytest.mark.requirement("command.decide")
@pytest.mark.parametrize(
    ("said", "text", "reason"),
    [
        ("edit step 2", None, "--with FILE"),
        ("edit step 2 and add a step after 3", STEP, "at a time"),
        ("skip 2", STEP, "approved with that change"),
        ("approved, but skip 2", STEP, "`--with` is for"),
        ("edit step 2", "no heading", "begins with its heading"),
        ("edit step 2", STEP.replace("coder", "nobody-knows"), "it would have errors"),
        ("edit step 2", STEP.replace("new\n", "new (depends on 3)\n", 1), "wait for each other"),
    ],
)
def test_a_text_that_is_no_step_leaves_the_plan_as_it_is(
    project: Project, said: str, text: str | None, reason: str
) -> None:
    before = digest_of(project)
    given = [] if text is None else ["--with", str(project.write("../step.md", text))]
    done = project.run("decide", "it", said, *given, "--as", "mara")
    assert done.code in {2, 4}
    assert reason in done.err
    assert digest_of(project) == before


# -- what nobody approves unseen ---------------------------------------------------------------

SHORT = (
    plan_text("test -e src/one")
    .partition("### 2.")[0]
    .replace(
        "Write what the contract of part 1 asks for, in the files of the project.",
        "Improve performance.",
    )
)


@pytest.mark.requirement("gate.warnings-seen")
def test_doubts_come_first_and_the_approval_says_that_they_were_seen(project: Project) -> None:
    project.plan("it", SHORT)
    project.write("planbound.toml", POLICY)
    refused = project.run("approve", "it", "--policy", "small")
    assert refused.code == 2
    assert "PB206: the plan has 1 step; expected 3 to 7" in refused.err
    assert "PB203: the task is vague" in refused.err
    assert "hint: a person can" in refused.err
    looked = project.run("approve", "it")
    assert looked.code == 4
    first, second, title = looked.out.splitlines()[:3]
    assert first.startswith("warning[PB206]: the plan has 1 step")
    assert second.startswith("warning[PB203]: the task is vague")
    assert title == "Do the work"
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    done = project.run("approve", "it", *given, "--json")
    assert done.code == 0, done.err
    assert [item["code"] for item in done.json["warnings"]] == ["PB206", "PB203"]
    assert done.json["approved"] is True
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["seen"] == ["PB203", "PB206"]


@pytest.mark.thorough
@pytest.mark.requirement("gate.warnings-seen", "judging.told")
def test_a_test_that_words_open_is_a_doubt_too(project: Project) -> None:
    project.write("tests/test_it.py", "def test_it():\n    assert False\n")
    text = plan_text("python3 -m pytest tests/test_it.py", "test -e src/two", "test -e src/three")
    asked = "Write what the contract of part 1 asks for, in the files of the project."
    text = text.replace(asked, "Update `tests/test_it.py` and `src/it.py`.")
    project.plan("it", text.replace('touches: ["src/**"]\n', ""))
    project.write("planbound.toml", '[gate.policies.small]\ntargets = ["coder"]\n')
    refused = project.run("approve", "it", "--policy", "small")
    assert refused.code == 2
    assert "step 1 declares no `touches`, so it may change anything" in refused.err
    assert project.run("approve", "it").out.startswith("warning[PB642]: the step is judged by")
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("approve", "it", *given).code == 0
    assert events(project, "GATE_APPROVED")[0]["details"]["seen"] == ["PB642"]


@pytest.mark.thorough
@pytest.mark.requirement("gate.warnings-seen")
def test_under_strict_they_are_errors_and_a_plan_without_them_says_nothing(
    project: Project,
) -> None:
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    assert project.run("approve", "it", *given).code == 0
    assert "seen" not in events(project, "GATE_APPROVED")[0]["details"]
    project.plan("it", SHORT)
    project.write("planbound.toml", '[verify]\nprofile = "strict"\n')
    refused = project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    assert refused.code == 1
    assert "it cannot be approved" in refused.err
    assert len(events(project, "GATE_APPROVED")) == 1


@pytest.mark.thorough
@pytest.mark.requirement("gate.missing-tool")
def test_a_program_that_is_not_there_is_approved_only_with_a_word_about_it(
    project: Project,
) -> None:
    project.write("check.sh", "grepp-inside src\n")
    project.plan("it", plan_text("grepp -q x src/one", "bash check.sh", "test -e src/three"))
    project.write("planbound.toml", POLICY)
    given = ["--digest", digest_of(project)[:12], "--as", "mara"]
    for arguments in ([], given, [*given, "--json"], ["--policy", "small"]):
        refused = project.run("approve", "it", *arguments)
        assert refused.code == 2, refused.out
        assert "`grepp`" in refused.err
    assert "--missing-tools" in project.run("approve", "it").err
    refused = project.run("approve", "it", "--policy", "small", "--missing-tools")
    assert "no policy approves over missing tools" in refused.err
    assert events(project, "GATE_APPROVED") == []
    done = project.run("approve", "it", *given, "--missing-tools")
    assert done.code == 0, done.err
    assert "hint: install it, or check the spelling" in done.out
    assert (
        "error[PB602]: a contract needs `grepp`: it is not there, and no step brings it\n"
    ) in done.out
    (approved,) = events(project, "GATE_APPROVED")
    assert approved["details"]["missing_tools"] == ["grepp", "grepp-inside"]


@pytest.mark.thorough
@pytest.mark.requirement("gate.missing-tool")
def test_what_a_step_writes_or_installs_and_what_the_environment_has_is_not_missing(
    project: Project,
) -> None:
    tool = project.write("bin/mine", "#!/bin/sh\nexit 1\n")
    tool.chmod(0o755)
    project.write("planbound.toml", '[contracts]\npath = ["bin"]\n')
    project.write("node_modules/.bin/jester", "#!/bin/sh\nexit 1\n").chmod(0o755)
    text = plan_text("mine src && jester", "pip install grepp", "grepp src && npx jestt")
    project.plan("it", text.replace("Do part 2", "Do part 2, with `uv sync`"))
    done = project.run("approve", "it", "--digest", digest_of(project)[:12], "--as", "mara")
    assert done.code == 0, done.out + done.err
    assert "missing_tools" not in events(project, "GATE_APPROVED")[0]["details"]


@pytest.mark.requirement("gate.missing-tool")
def test_a_sync_brings_what_the_project_declares_or_locks_and_nothing_else(
    project: Project,
) -> None:
    project.write(
        "pyproject.toml",
        '[project]\nname = "it"\ndependencies = ["rufff>=1"]\n\n'
        '[project.scripts]\nown-script = "it:main"\n',
    )
    project.write("uv.lock", '[[package]]\nname = "behind-it"\nversion = "1"\n')
    project.write("package.json", '{"devDependencies": {"typescript": "5", "@scope/eslintt": "1"}}')
    project.write(
        "package-lock.json", '{\n  "node_modules/deep": {\n    "bin": {\n      "deeper": 1}}}'
    )
    text = plan_text(
        "test -e src/one",
        "rufff . && own-script && behind-it && tsc && eslintt . && deep && deeper && ghh pr",
    )
    for bringing in ("Do part 2", "Do part 2 after `uv sync --group dev` and `npm ci`"):
        project.plan("it", text.replace("Do part 2", bringing))
        found = project.run("verify", "it", "--format", "json").out
        missing = [
            each for each in ("rufff", "tsc", "deeper", "ghh") if f"`{each}` on PATH" in found
        ]
        assert missing == (["rufff", "tsc", "deeper", "ghh"] if "sync" not in bringing else ["ghh"])
        assert ("`own-script` on" in found) is ("sync" not in bringing)
        assert ("`behind-it` on" in found) is ("sync" not in bringing)


@pytest.mark.thorough
def test_the_sheet_says_which_evidence_each_contract_can_reach(tmp_path: Path) -> None:
    need("node", "a contract calls it")
    project = Project(tmp_path)
    project.write("check.mjs", "import './src/one.mjs';\nprocess.exit(0);\n")
    project.plan("it", plan_text("test -e src/one", "node check.mjs", "python -m pytest tests"))
    done = project.run("approve", "it", "--json")
    levels = [(item["reachable"], item["short_of"]) for item in done.json["baseline"]]
    assert [level for level, _short_of in levels] == ["E3", "E2", "E3"]
    assert "`check.mjs` can fail" in str(levels[1])
    shown = project.run("approve", "it")
    assert "can reach E2: nobody saw that `check.mjs` can fail" in shown.out


def test_the_sheet_says_that_a_command_does_not_reach_what_is_held_out_from_the_product(
    tmp_path: Path,
) -> None:
    project = Project(tmp_path)
    project.write("planbound.toml", '[judging]\nevidence = "E4"\n')
    project.plan("it", plan_text("test -e src/one"))
    shown = project.run("approve", "it").out
    why = "the product's process can read the judges while it runs"
    assert f"can reach E3: {why}" in shown
    assert "E4 is demanded: no pass will do" in shown
