"""What is made from the modules of receipts is as they are, and the key stays where it is."""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path

import jsonschema
import pytest

from planbound.receipts import predicate
from planbound.receipts.check import PLAN_RUN_KIND, TEST_RESULT_KIND
from planbound.receipts.predicate import PlanRun
from tests.receipts.scene import ONE_FILE, Receipts, run_of
from tests.run.bench import Step
from tools import receipt_files


@pytest.mark.requirement("receipt.current")
def test_the_files_that_are_made_are_current(capsys: pytest.CaptureFixture[str]) -> None:
    assert receipt_files.main(["--check"]) == 0
    assert capsys.readouterr().out == ""


@pytest.mark.requirement("receipt.current")
def test_the_checker_and_the_structs_speak_of_the_same_predicates() -> None:
    assert (PLAN_RUN_KIND, TEST_RESULT_KIND) == (predicate.PLAN_RUN, predicate.TEST_RESULT)


@pytest.mark.requirement("receipt.current")
def test_a_receipt_is_what_the_schema_says(signed: bytes) -> None:
    schema = json.loads((receipt_files.ROOT / receipt_files.SCHEMA).read_text())
    run = run_of(signed)
    jsonschema.Draft202012Validator(schema).validate(run)
    run["more"] = 1
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(schema).validate(run)
    assert set(PlanRun.__struct_fields__) == set(run) - {"more"}


@pytest.mark.requirement("receipt.one-file")
def test_the_one_file_imports_only_what_comes_with_python() -> None:
    tree = ast.parse(ONE_FILE.read_text())
    imported = {
        name.split(".")[0]
        for node in ast.walk(tree)
        for name in (
            [each.name for each in node.names]
            if isinstance(node, ast.Import)
            else [node.module or ""]
            if isinstance(node, ast.ImportFrom)
            else []
        )
    }
    assert imported <= set(sys.stdlib_module_names)


@pytest.mark.thorough
@pytest.mark.requirement("receipt.key")
def test_neither_an_agent_nor_a_contract_can_read_the_key(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.lay(Step("Make a"))
    bench.goes("keys", "new")
    key = bench.folder / "state/keys/receipts"
    assert key.read_bytes().startswith(b"-----BEGIN OPENSSH PRIVATE KEY-----")
    look = f"cat {key} {key}.pub || ls {key.parent} || find / -name receipts -path '*keys*' -type f"
    contract = (
        f"! ({look}) 2>/dev/null | grep -q OPENSSH && ! test -e {key} && grep -qx right src/a"
    )
    bench.prepare(
        Step(
            "Make a",
            work=f"({look}) > src/stolen 2>&1; echo right > src/a",
            contract=contract,
            touches="src/**",
        )
    )
    bench.goes("run", "PLAN")
    assert "PRIVATE KEY" not in bench.read("src/stolen")
    assert "ssh-ed25519" not in bench.read("src/stolen")
    assert run_of(receipts.make("PLAN"))["items"][0]["verdict"] == "pass"


@pytest.mark.requirement("receipt.key")
def test_inside_a_cell_nothing_is_signed_and_no_key_is_made(receipts: Receipts) -> None:
    bench = receipts.bench
    bench.prepare(Step("Make a"))
    bench.goes("run", "PLAN")
    for words in (("receipt", "PLAN"), ("keys", "new"), ("keys", "rotate")):
        done = bench.goes(*words, code=2, PLANBOUND_ATTEMPT="1")
        assert "this is the inside of a cell" in done.err
    assert not Path(bench.folder / "state/keys").exists()
