"""A model writes a plan and the verifier looks at it: the rounds, with a scripted model."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from planbound.agents.conversation import Conversation
from planbound.cells.isolation import Isolation
from planbound.drafting.answer import Remark, Weight
from planbound.drafting.draft import (
    READINGS,
    ROUNDS,
    Proposal,
    Trial,
    Wanted,
    fill_template,
    free_name,
    name_of,
    propose,
)
from planbound.errors import CellProblem, Refused
from planbound.journal.event import VerdictKind
from planbound.journal.redact import Redactor
from planbound.judging.case import Case
from planbound.judging.verdict import Verdict
from planbound.plan.expand import Expansion
from planbound.plan.model import Evidence, Plan, PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.run.prompt import Excerpt
from planbound.workspace.context import Context
from planbound.workspace.tree import Workspace
from tests.program import SOUND

BAD = SOUND.replace("**target:** reviewer", "**target:** nobody")
VAGUE = SOUND.replace("Write `hello` to `hello.txt`.", "Improve the code.")
SECRET = "ghp_" + "a1B2" * 9
TEMPLATE = SOUND.replace("### 2. Say it in French", "### 2–N. Say it in the words of {batch}")


class Scripted(Conversation):
    """Says what it was told to say, the last thing again and again; remembers what it heard."""

    def __init__(self, *answers: str | Refused) -> None:
        self.answers = answers
        self.heard: list[str] = []

    @property
    def name(self) -> str:
        return "scripted"

    def ask(self, text: str) -> str:
        answer = self.answers[min(len(self.heard), len(self.answers) - 1)]
        self.heard.append(text)
        if isinstance(answer, Refused):
            raise answer
        return answer


class Table:
    """Drafting in a workspace of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.told: list[str] = []
        self.tried: list[list[str]] = []

    @property
    def rounds(self) -> int:
        """Return how many rounds a person was told of."""
        return sum("asking" in line for line in self.told)

    def context(self, **environment: str) -> Context:
        context = Context(workspace=str(self.folder))
        context.redactor = Redactor(environment)
        return context

    def propose(
        self,
        drafter: Scripted,
        opening: str = "hello",
        *,
        wanted: Wanted | None = None,
        trial: Trial | None = None,
        **environment: str,
    ) -> Proposal | None:
        return propose(
            self.context(**environment),
            drafter,
            opening,
            wanted,
            tell=self.told.append,
            trial=trial,
        )

    def fill(self, drafter: Scripted, plan: Plan, source: Excerpt) -> Expansion:
        return fill_template(self.context(), drafter, plan, "2-N", source, self.told.append)

    def trial(self, *green: str, kind: VerdictKind = VerdictKind.PASS) -> Trial:
        """Return what finds contracts that name one of these words green, all others red."""

        def run(cases: Sequence[Case]) -> Iterator[Verdict]:
            self.tried.append([case.title for case in cases])
            for case in cases:
                yield Verdict(
                    kind=kind if case.title in green else VerdictKind.FAIL,
                    reason="so it is",
                    subject=case.subject,
                    number=case.number,
                    id=case.id,
                    title=case.title,
                    contract="c",
                    tree="t",
                    isolation=Isolation.I2,
                    evidence=Evidence.E1,
                )

        return run


@pytest.fixture
def table(tmp_path: Path) -> Table:
    return Table(tmp_path)


def test_a_sound_plan_takes_one_round(table: Table) -> None:
    drafter = Scripted(f"`````markdown\n{SOUND}`````")
    proposal = table.propose(drafter)
    assert proposal is not None
    assert proposal.is_ready
    assert proposal.plan.source.text == SOUND
    assert drafter.heard == ["hello"]


def test_diagnostics_go_back_and_the_cured_plan_is_taken(table: Table) -> None:
    drafter = Scripted(BAD, SOUND)
    proposal = table.propose(drafter)
    assert proposal is not None
    assert proposal.is_ready
    assert table.rounds == 2
    assert "PB204" in drafter.heard[1]


def test_five_rounds_are_the_end_and_what_is_left_is_returned_with_its_faults(
    table: Table,
) -> None:
    drafter = Scripted(*(BAD.replace("# ", f"# {number}: ", 1) for number in range(9)))
    proposal = table.propose(drafter)
    assert proposal is not None
    assert not proposal.is_ready
    assert [item.code for item in proposal.diagnostics] == ["PB204"]
    assert len(drafter.heard) == ROUNDS


@pytest.mark.requirement("draft.same-answer")
def test_a_model_that_answers_the_same_again_is_not_asked_any_more(table: Table) -> None:
    other = BAD.replace("# ", "# Another: ", 1)
    drafter = Scripted(BAD, other, f"Here it is again:\n\n{BAD}\n", SOUND)
    proposal = table.propose(drafter)
    assert proposal is not None
    assert not proposal.is_ready
    assert len(drafter.heard) == 3
    assert "round 3 of 5: the same answer again, so no more" in table.told


def test_the_best_plan_is_kept_when_a_later_one_is_worse(table: Table) -> None:
    worse = BAD.replace("**target:** coder", "**target:** nobody")
    proposal = table.propose(Scripted(BAD, worse, "sorry"))
    assert proposal is not None
    assert proposal.errors == 1


def test_a_warning_is_told_once_and_then_left_to_the_person(table: Table) -> None:
    drafter = Scripted(VAGUE)
    proposal = table.propose(drafter)
    assert proposal is not None
    assert proposal.is_ready
    assert [item.code for item in proposal.diagnostics] == ["PB203"]
    assert len(drafter.heard) == 2


def test_no_plan_in_any_answer_is_none(table: Table) -> None:
    drafter = Scripted("I would rather not.")
    assert table.propose(drafter) is None
    assert len(drafter.heard) == 2
    assert any("I would rather not." in line for line in table.told)


def test_an_agent_that_fails_says_so_and_what_there_was_is_kept(table: Table) -> None:
    failure = Refused("no credit", hint="pay")
    with pytest.raises(Refused, match="no credit"):
        table.propose(Scripted(failure))
    proposal = table.propose(Scripted(BAD, failure))
    assert proposal is not None
    assert not proposal.is_ready


def test_what_needs_no_thought_is_mended_without_a_round(table: Table) -> None:
    sloppy = SOUND.replace("### 1. Say", "## Step 1: Say").partition("---\n\n")[2]
    drafter = Scripted(sloppy)
    proposal = table.propose(drafter)
    assert proposal is not None
    assert proposal.is_ready
    assert len(drafter.heard) == 1
    assert "### 1. Say" in proposal.plan.source.text


def test_whatever_a_plan_says_of_itself_it_is_a_draft_and_nothing_is_done(table: Table) -> None:
    boastful = SOUND.replace("status: draft", "status: approved")
    boastful = boastful.replace("### 1. Say", "### 1. ✅ Say")
    boastful = boastful.replace("### 2. Say it in French\n", "### 2. Say it\n\n**status: done**\n")
    proposal = table.propose(Scripted(boastful))
    assert proposal is not None
    assert proposal.plan.status is PlanStatus.DRAFT
    said = {step.status.value for step in proposal.plan.steps if step.status}
    assert said <= {StepStatus.PENDING}
    assert "✅" not in proposal.plan.source.text


# -- contracts before any work -----------------------------------------------------------------


def test_a_contract_that_is_green_already_goes_back(table: Table) -> None:
    said = SOUND.replace("- bonjour.txt\n", "- bonjour.txt\n**baseline:** any\n")
    drafter = Scripted(SOUND, said)
    proposal = table.propose(drafter, trial=table.trial("Say it in French"))
    assert proposal is not None
    assert proposal.is_ready
    assert "the contract of step 2 passes before any work" in drafter.heard[1]
    assert len(drafter.heard) == 2


def test_a_contract_that_stays_green_stays_open(table: Table) -> None:
    proposal = table.propose(Scripted(SOUND), trial=table.trial("Say it in French"))
    assert proposal is not None
    assert not proposal.errors
    assert not proposal.is_ready


def test_a_contract_that_cannot_be_run_is_named_once(table: Table) -> None:
    drafter = Scripted(SOUND)
    trial = table.trial("Say it in French", kind=VerdictKind.UNRUNNABLE)
    proposal = table.propose(drafter, trial=trial)
    assert proposal is not None
    assert proposal.is_ready
    assert "step 2 cannot be run" in drafter.heard[1]
    assert [remark.weight for remark in proposal.remarks] == [Weight.REMARK]
    assert len(drafter.heard) == 2


def test_a_plan_with_errors_is_not_run(table: Table) -> None:
    table.propose(Scripted(BAD), trial=table.trial())
    assert table.tried == []


def test_settled_steps_are_not_tried_and_keep_their_marks(table: Table) -> None:
    wanted = Wanted(
        settled=frozenset({"say-it-in-english"}), marks=(("say-it-in-english", StepStatus.DONE),)
    )
    proposal = table.propose(Scripted(SOUND), wanted=wanted, trial=table.trial())
    assert proposal is not None
    (tried,) = table.tried
    assert "Say it in English" not in tried
    assert "Say it in French" in tried
    assert "### 1. ✅ Say it in English" in proposal.plan.source.text


def test_contracts_that_could_not_be_tried_are_no_fault_of_the_plan(table: Table) -> None:
    def trial(_: Sequence[Case]) -> list[Verdict]:
        raise CellProblem("no cell")

    proposal = table.propose(Scripted(SOUND), trial=trial)
    assert proposal is not None
    assert proposal.is_ready
    assert any("no cell" in line for line in table.told)


def test_objections_keep_a_plan_from_being_ready(table: Table) -> None:
    wanted = Wanted(objections=lambda _: [Remark("step 1 is settled", Weight.OPEN)])
    drafter = Scripted(SOUND)
    proposal = table.propose(drafter, wanted=wanted)
    assert proposal is not None
    assert not proposal.is_ready
    assert "step 1 is settled" in drafter.heard[1]


# -- files that are asked for ------------------------------------------------------------------


def test_files_that_are_asked_for_are_given_and_count_as_no_round(table: Table) -> None:
    (table.folder / "a.py").write_text("print('a')\n")
    drafter = Scripted("READ: a.py\nREAD: b.py", SOUND)
    proposal = table.propose(drafter)
    assert proposal is not None
    assert table.rounds == 1
    assert "print('a')" in drafter.heard[1]
    assert "`b.py` is not there" in drafter.heard[1]


def test_who_only_asks_for_files_comes_to_an_end(table: Table) -> None:
    drafter = Scripted(*(f"READ: {number}.py" for number in range(20)))
    assert table.propose(drafter) is None
    assert len(drafter.heard) == ROUNDS + READINGS
    assert "No more files" in drafter.heard[-1]
    stubborn = Scripted("READ: a.py")
    assert table.propose(stubborn) is None
    assert len(stubborn.heard) == 4


def test_no_file_outside_of_the_workspace_is_given(table: Table, tmp_path: Path) -> None:
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("the treasure\n")
    (tmp_path / "link").symlink_to(outside)
    (tmp_path / "file").symlink_to(outside / "secret.txt")
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "config").write_text("the treasure\n")
    paths = [
        f"../{outside.name}/secret.txt",
        str(outside / "secret.txt"),
        "link/secret.txt",
        "file",
        ".git/config",
        ".",
    ]
    drafter = Scripted("\n".join(f"READ: {path}" for path in paths), SOUND)
    table.propose(drafter)
    assert "the treasure" not in drafter.heard[1]
    assert drafter.heard[1].count("is not there") == len(paths)


# -- secrets -----------------------------------------------------------------------------------


def test_no_secret_is_sent_or_written(table: Table) -> None:
    (table.folder / "settings").write_text(f"token = {SECRET}\n")
    leaky = SOUND.replace("Write `hello`", f"Use {SECRET} and hunter2-hunter2 to write `hello`")
    drafter = Scripted("READ: settings", leaky)
    proposal = table.propose(drafter, f"use {SECRET}", MY_PASSWORD="hunter2-hunter2")
    assert proposal is not None
    assert proposal.redactions
    for text in (*drafter.heard, proposal.plan.source.text, *table.told):
        assert SECRET not in text
        assert "hunter2-hunter2" not in text


# -- names -------------------------------------------------------------------------------------


def test_a_name_is_made_of_the_objective_and_is_free(tmp_path: Path) -> None:
    workspace = Workspace(str(tmp_path), current=str(tmp_path))
    plan = parse(SOUND)
    assert name_of(plan, "g", workspace) == "say-hello-in-three-languages"
    (tmp_path / ".harness").mkdir()
    (tmp_path / ".harness" / "PLAN-Say-hello-in-three-languages.md").write_text("x")
    assert name_of(plan, "g", workspace) == "say-hello-in-three-languages-2"
    odd = parse(SOUND.replace("# Say hello in three languages", "# ../../../etc/passwd ☃ \x1b"))
    assert name_of(odd, "g", workspace) == "etc-passwd"
    assert name_of(parse("# ☃"), "g", workspace) == "draft"
    assert free_name("fresh", workspace) == "fresh"


# -- templates ---------------------------------------------------------------------------------


def test_a_template_is_filled_from_what_a_file_lists(table: Table) -> None:
    drafter = Scripted("```\nfr.txt\nbe.txt\n\nca.txt\n```")
    source = Excerpt("words", "fr.txt be.txt\nca.txt\nus.txt")
    found = table.fill(drafter, parse(TEMPLATE), source)
    assert found.numbers == (2, 3)
    assert "Say it in the words of fr.txt, be.txt" in found.plan.source.text
    assert "us.txt" in drafter.heard[0]


def test_what_is_not_in_the_file_is_not_taken(table: Table) -> None:
    source = Excerpt("words", "fr.txt\nca.txt")
    drafter = Scripted(
        "```\nes.txt\n```", "```\nfr.txt\n\nfr.txt\n```", "```\nfr.txt\n\nca.txt\n```"
    )
    found = table.fill(drafter, parse(TEMPLATE), source)
    assert len(found.numbers) == 2
    assert "not in the file" in drafter.heard[1]
    assert "es.txt" in drafter.heard[1]
    assert "named twice" in drafter.heard[2]
    with pytest.raises(Refused, match="no batches that could be used"):
        table.fill(Scripted("```\nes.txt\n```"), parse(TEMPLATE), source)
