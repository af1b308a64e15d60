"""Approvals whose judges are called like secrets, and approvals that older versions recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from planbound.journal.event import EventKind
from planbound.journal.record import Details, Draft, Json
from planbound.journal.sqlite import SqliteJournal
from tests.run.bench import Bench, Step

FIXTURES = Path(__file__).parent.parent / "fixtures"
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


def record_again(bench: Bench, details: dict[str, Json]) -> None:
    """Put an approval into the journal, as an older version may have written it."""
    journal = SqliteJournal(str(bench.folder / "state" / "journal.sqlite"))
    time = "2026-01-01T00:00:00.000000Z"
    journal.append(
        [Draft("older", time, EventKind.GATE_APPROVED, "PLAN", details=Details.of(details))]
    )


@pytest.mark.requirement("gate.judge-names")
def test_a_plan_whose_judges_are_called_like_secrets_is_approved_and_runs(tmp_path: Path) -> None:
    bench = laid(tmp_path)
    judges = bench.log().one("GATE_APPROVED")["judges"]
    assert set(judges) >= set(JUDGES)
    assert {len(content) for content in judges.values()} == {64}
    assert "1/1 proved" in bench.goes("run").out


@pytest.mark.requirement("gate.record-not-whole")
def test_an_approval_whose_record_lost_a_digest_names_the_cure_and_the_cure_works(
    tmp_path: Path,
) -> None:
    bench = laid(tmp_path)
    details: dict[str, Json] = dict(bench.log().one("GATE_APPROVED").details)
    judges = details["judges"]
    assert isinstance(judges, dict)
    details |= {"judges": {**judges, "api_key": "[redacted:credential]"}, "nonce": "older"}
    record_again(bench, details)
    refused = bench.goes("run", code=2)
    assert "its record is not whole: the digest of the judge `api_key`" in refused.err
    assert "judge changed" not in refused.err
    assert "hint: look at the plan again: `planbound approve PLAN`" in refused.err
    bench.approve()
    assert "1/1 proved" in bench.goes("run").out


@pytest.mark.thorough
@pytest.mark.requirement("gate.configuration-form")
def test_an_approval_that_is_bound_to_the_first_form_of_the_digest_holds(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.prepare(Step("Write out"), settings="[judging]\nbare = false\n")
    details: dict[str, Json] = dict(bench.log().one("GATE_APPROVED").details)
    assert str(details["configuration"]).startswith("v2:")
    golden = json.loads((FIXTURES / "configuration-digests.json").read_text())["nothing"]
    record_again(bench, {**details, "nonce": "older", "configuration": golden["v1"]})
    assert "is approved already" in bench.goes("approve", code=3).err
    bench.write("planbound.toml", f"{bench.settings}canary = false\n")
    assert "configuration changed" in bench.goes("run", code=2).err
    bench.write("planbound.toml", bench.settings)
    assert "1/1 proved" in bench.goes("run").out
