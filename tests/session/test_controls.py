"""In the loop: what an agent's own contracts have to reject is tried when they are seen first."""

from __future__ import annotations

import pytest

from tests.session.scratch import A, Given, Scratch

WRONG = "--- /dev/null\n+++ b/src/{name}\n@@ -0,0 +1 @@\n+wrong\n"
KIND: Given = {"title": "Make b", "contract": "test -f src/b", "touches": ["src/b"]}


@pytest.mark.requirement("loop.controls")
def test_an_agent_is_told_what_its_contract_does_not_notice(bench: Scratch) -> None:
    loop = bench.loop()
    steps = [
        {**A, "rejects": [WRONG.format(name="a")]},
        {**KIND, "rejects": [WRONG.format(name="b")]},
    ]
    told = loop.plan_create("Make it", steps)
    assert told.ok
    assert "step 2: the contract does not notice `diff 1`: it passes with it." in told.text
    assert "step 1: the contract does not notice" not in told.text
    seen = [event["controls"][0]["result"] for event in bench.log().of("BASELINE_OBSERVED")]
    assert seen == ["noticed", "unnoticed"]
    assert not (bench.workspace / "src" / "a").exists()


@pytest.mark.requirement("loop.controls")
def test_a_plan_that_is_amended_keeps_its_controls(bench: Scratch) -> None:
    loop = bench.loop()
    bench.write("wrong.patch", WRONG.format(name="a"))
    conditions: list[Given] = [
        {
            "statement": "a is right",
            "contract": "grep -qx right src/a",
            "rejects": [WRONG.format(name="a")],
        }
    ]
    loop.plan_create("Make it", [{**A, "rejects": ["wrong.patch"]}], conditions)
    assert loop.plan_amend(add=[KIND], reason="b is needed, too").ok
    text = bench.file.read_text()
    assert "**rejects:** wrong.patch" in text
    assert "   **rejects:**\n   ```diff\n   --- /dev/null" in text


def test_a_control_needs_a_contract(bench: Scratch) -> None:
    told = bench.loop().plan_create("Make it", [{"title": "Make a", "rejects": ["wrong.patch"]}])
    assert not told.ok
    assert "step 1 has no `contract` that could reject something" in told.text
