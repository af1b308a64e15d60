"""What one view says of a plan, all say: status, list, inbox, standup, queue-status, ready."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.run.bench import Bench, Step


def told(bench: Bench) -> dict[str, Any]:
    """Return what the views tell about the one plan."""
    (listed,) = bench.goes("list", "--json").json
    status = bench.goes("status", "--json").json
    groups = bench.goes("standup", "--json").json
    inbox = bench.goes("inbox", "--json").json["waiting"]
    assert [each["id"] for each in status["waiting"]] == [each["id"] for each in inbox]
    assert bool(groups["waiting"]) == bool(inbox) == (listed["waiting"] is not None)
    assert listed["status"] == status["status"]
    return {"status": listed["status"], "waiting": listed["waiting"], "inbox": inbox}


@pytest.mark.requirement("views.agree")
def test_an_approval_that_waits_is_told_by_every_view_until_it_is_decided(tmp_path: Path) -> None:
    bench = Bench(tmp_path)
    bench.lay(Step("Write out"))
    before = bench.plan_file.read_text()
    bench.goes("approve", code=4)
    bench.goes("verify")
    assert told(bench)["waiting"] == "approval"
    # Another text is another question, and the first text again is asked about again.
    bench.write(".harness/PLAN.md", before.replace("# Do the work", "# Do other work"))
    bench.goes("verify")
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "verified")
    bench.write(".harness/PLAN.md", before)
    bench.goes("approve", code=4)
    assert told(bench)["waiting"] == "approval"
    bench.approve()
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "approved")
    # To look at another text takes no approval away.
    bench.write(".harness/PLAN.md", before.replace("# Do the work", "# Do other work"))
    bench.goes("verify")
    assert told(bench)["status"] == "verified"
    bench.write(".harness/PLAN.md", before)
    assert told(bench)["status"] == "approved"
    bench.goes("run")
    assert (told(bench)["waiting"], told(bench)["status"]) == (None, "done")
