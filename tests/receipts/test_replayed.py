"""What a verdict here makes of what a receipt says: decided from values alone."""

from __future__ import annotations

from typing import Any

import pytest

from planbound.cells.isolation import Isolation
from planbound.journal.words import SubjectKind, VerdictKind
from planbound.judging.verdict import Verdict
from planbound.plan.model import Evidence
from planbound.plan.parse import parse
from planbound.receipts.predicate import RunItem, RunSettings
from planbound.receipts.replayed import (
    ReplayOutcome,
    commit_of,
    compared,
    replay_evidence,
    touched_judges,
    why_not_judged,
)
from planbound.receipts.settings import LONGEST, replay_settings
from tests.tables import one_fact


def verdict(kind: VerdictKind, evidence: Evidence = Evidence.E3) -> Verdict:
    return Verdict(
        kind=kind,
        reason="so it is",
        subject=SubjectKind.STEP,
        number="1",
        id=None,
        title="x",
        contract="c",
        tree="t",
        isolation=Isolation.I2,
        evidence=evidence,
        short_of=("the product's process can read the judges while it runs",),
    )


PASS, FAIL = VerdictKind.PASS, VerdictKind.FAIL
OUTCOMES: list[tuple[VerdictKind, VerdictKind | None, ReplayOutcome]] = [
    (PASS, None, ReplayOutcome.SAME),
    (FAIL, None, ReplayOutcome.DIFFERS),
    (FAIL, FAIL, ReplayOutcome.DIFFERS),
    (FAIL, PASS, ReplayOutcome.FLAKY),
    (VerdictKind.FLAKY, None, ReplayOutcome.FLAKY),
    (VerdictKind.UNRUNNABLE, None, ReplayOutcome.UNRUNNABLE),
    (VerdictKind.TIMEOUT, None, ReplayOutcome.INCONCLUSIVE),
    (VerdictKind.KILLED, None, ReplayOutcome.INCONCLUSIVE),
    (VerdictKind.TAMPERED, None, ReplayOutcome.DIFFERS),
    (VerdictKind.VACUOUS, None, ReplayOutcome.DIFFERS),
]


@one_fact("found, again, outcome", OUTCOMES)
def test_each_verdict_has_its_word(
    found: VerdictKind, again: VerdictKind | None, outcome: ReplayOutcome
) -> None:
    second = None if again is None else verdict(again)
    assert compared(verdict(found), second).outcome is outcome


LEVELS: list[tuple[VerdictKind, Evidence, bool, Evidence]] = [
    (PASS, Evidence.E3, True, Evidence.E5),
    (PASS, Evidence.E4, True, Evidence.E5),
    (PASS, Evidence.E3, False, Evidence.E3),
    (PASS, Evidence.E2, True, Evidence.E2),
    (PASS, Evidence.E1, True, Evidence.E1),
    (FAIL, Evidence.E2, True, Evidence.E2),
]


@one_fact("kind, reached, independent, level", LEVELS)
def test_e5_takes_a_pass_with_e3_and_somebody_else(
    kind: VerdictKind,
    reached: Evidence,
    independent: bool,  # noqa: FBT001 - a row of the table
    level: Evidence,
) -> None:
    assert replay_evidence(verdict(kind, reached), independent=independent).level is level


def test_what_keeps_a_contract_from_e4_is_said_with_e5() -> None:
    said = replay_evidence(verdict(PASS), independent=True)
    assert said.short_of == verdict(PASS).short_of
    assert replay_evidence(verdict(PASS, Evidence.E4), independent=True).short_of == ()
    held_out = replay_evidence(verdict(PASS), independent=True, by_all_judges=False)
    assert held_out.level is Evidence.E3


def item(**values: Any) -> RunItem:
    fields: dict[str, Any] = dict.fromkeys(RunItem.__struct_fields__)
    return RunItem(**{**fields, "kind": "step", "number": "1", "result": "proved", **values})


CONTRACT = """\
# X

## Steps

### 1. Say it

**contract:**
```shell
{command}
```
exit_code == {code}
"""


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"kind": "precondition"}, "it was about the files before the work"),
        ({"result": "waived"}, "a person went on without a pass"),
        ({"result": "claimed"}, "an agent says so"),
        ({"result": "failed"}, "it is `failed` in the receipt"),
        ({}, None),
    ],
)
def test_only_what_passed_is_judged_again(said: dict[str, str], why: str | None) -> None:
    contract = parse(CONTRACT.format(command="true", code=0).encode()).steps[0].contract
    found = why_not_judged(item(**said), contract)
    assert found is None if why is None else why in (found or "")


def test_a_step_that_shows_a_fault_is_not_judged_on_the_mended_files() -> None:
    contract = parse(CONTRACT.format(command="pytest tests", code=1).encode()).steps[0].contract
    assert why_not_judged(item(), contract) == "it shows a fault that later work mended"
    assert why_not_judged(item(), None) == "it has no contract to run"


def test_files_of_the_work_are_known_by_their_digests_and_not_by_their_names() -> None:
    subjects = [
        {"name": "tree", "digest": {"sha256": "1", "gitTree": "2"}},
        {"name": "commit", "digest": {"gitCommit": "3"}},
        {"name": "src/a", "digest": {"sha256": "4", "gitBlob": "5"}},
        {"name": "commit", "digest": {"sha256": "6"}},
    ]
    assert commit_of(subjects) == "3"
    found = touched_judges(subjects)
    assert {name: (each.sha256, each.git_blob) for name, each in found.items()} == {
        "src/a": ("4", "5"),
        "commit": ("6", None),
    }
    assert commit_of(subjects[:1]) is None


def settings(**values: Any) -> RunSettings:
    usual: dict[str, Any] = {
        "digest": "v2:",
        "env": ("TOKEN",),
        "path": ("bin",),
        "network": True,
        "seconds": 300.0,
        "memory": 1 << 30,
        "processes": 10,
        "file_size": 1 << 30,
        "temporary": 1 << 30,
        "canary": False,
        "mutate": False,
        "held_out": 0,
        "summarise": (),
        "caches": (),
    }
    return RunSettings(**{**usual, **values})


def test_a_receipt_gives_nothing_of_this_machine_and_takes_no_evidence_away() -> None:
    given = replay_settings(settings(), ("/here/bin",), as_recorded=False)
    contracts, judging = given.configuration.contracts, given.configuration.judging
    assert (contracts.env, contracts.network) == ((), False)
    assert contracts.path == ("bin", "/here/bin")
    assert (judging.canary, judging.mutate, judging.reuse) == (True, True, False)
    assert given.not_given == ("the variable `TOKEN`", "the network")
    allowed = replay_settings(settings(), (), as_recorded=True)
    assert allowed.configuration.contracts.env == ("TOKEN",)
    assert allowed.configuration.contracts.network
    assert allowed.not_given == ()


def test_folders_outside_and_endless_contracts_are_not_taken_from_a_receipt() -> None:
    said = settings(path=("/etc", "~/bin", "a/../../b", "tools/bin"), seconds=1e12)
    contracts = replay_settings(said, (), as_recorded=True).configuration.contracts
    assert contracts.path == ("tools/bin",)
    assert contracts.seconds == LONGEST
    none = replay_settings(settings(seconds=-1.0), (), as_recorded=False)
    assert none.configuration.contracts.seconds == 1.0
