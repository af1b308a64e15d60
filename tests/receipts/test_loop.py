"""The receipt of a plan that an agent worked on by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.session.decide import Accept
from tests.needs import need
from tests.receipts.scene import failing, kinds_of, run_of
from tests.session.scratch import SHOWN, A, B, Scratch


@pytest.mark.requirement("command.receipt")
def test_what_an_agent_in_the_loop_did_is_told_by_the_same_words(tmp_path: Path) -> None:
    need("ssh-keygen", "receipts are signed by it")
    scratch = Scratch(tmp_path)
    loop = scratch.loop()
    loop.plan_create("Make three", [A, B, {"title": "Look at c"}])
    scratch.right("a", "b")
    for number in (1, 2):
        assert loop.step_update(number, "done", evidence=SHOWN).ok
    slug = scratch.file.stem.removeprefix("PLAN-")
    path = tmp_path / "receipt.jsonl"
    scratch.goes("receipt", slug, "-o", str(path))
    half = path.read_bytes()
    assert failing(half) == []
    assert (run_of(half)["outcome"], run_of(half)["loop"]) == ("unfinished", True)
    assert loop.step_update(3, "done", evidence=SHOWN).ok
    assert isinstance(loop.check("all done"), Accept)
    scratch.goes("receipt", slug, "-o", str(path))
    data = path.read_bytes()
    assert failing(data) == []
    run = run_of(data)
    assert [item["result"] for item in run["items"]] == ["proved", "proved", "claimed"]
    assert (run["outcome"], run["status"], run["approval"]) == ("settled", "done", None)
    assert {"without-approval", "claimed"} <= set(kinds_of(data))
    assert run["tree"]["git_tree"] is not None
    assert run["plan"]["text"] is not None
