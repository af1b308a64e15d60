"""What a judge is called says nothing about secrets."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.store.journal_sqlite import SqliteJournal
from tests.run.bench import Bench, Step

JUDGES = """
tests/fixtures/token .netrc-nopassword api_key password credentials client_secret x.token
""".split()


def laid(tmp_path: Path) -> Bench:
    bench = Bench(tmp_path)
    for name in JUDGES:
        bench.write(name, "right\n")
    compare = " && ".join(f"cmp {name} src/out" for name in JUDGES)
    listed = "\n".join(["**judges:**", *(f"- {name}" for name in JUDGES)])
    bench.prepare(Step("Write out", "echo right > src/out", contract=compare, fields=listed))
    return bench


@pytest.mark.requirement("gate.judge-names")
def test_a_plan_whose_judges_are_called_like_secrets_is_approved_and_runs(tmp_path: Path) -> None:
    bench = laid(tmp_path)
    judges = bench.log().one("GATE_APPROVED")["judges"]
    assert set(judges) >= set(JUDGES)
    assert {len(content) for content in judges.values()} == {64}
    assert "1/1 tasks proved" in bench.goes("run").out


@pytest.mark.requirement("gate.record-not-whole")
def test_an_approval_whose_record_lost_a_digest_names_the_cure_and_the_cure_works(
    tmp_path: Path,
) -> None:
    bench = laid(tmp_path)
    details: dict[str, Json] = dict(bench.log().one("GATE_APPROVED").details)
    judges = details["judges"]
    assert isinstance(judges, dict)
    details |= {"judges": {**judges, "api_key": "[redacted:credential]"}, "nonce": "older"}
    journal = SqliteJournal(str(tmp_path / "state" / "journal.sqlite"))
    journal.append(
        [
            Draft(
                "older",
                "2026-01-01T00:00:00.000000Z",
                EventKind.GATE_APPROVED,
                "PLAN",
                None,
                None,
                details,
            )
        ]
    )
    refused = bench.goes("run", code=2)
    assert "its record is not whole: the digest of the judge `api_key`" in refused.err
    assert "judge changed" not in refused.err
    assert "hint: look at the plan again: `planbound approve PLAN`" in refused.err
    bench.approve()
    assert "1/1 tasks proved" in bench.goes("run").out
