"""A look at a plan that nobody waits for any more lets go of what it opened."""

from __future__ import annotations

import threading
from types import SimpleNamespace
from typing import Any, cast

import pytest

from planbound.disk.files import PlanFile
from planbound.page.looks import LookDesk, LookJob, LookResult
from planbound.workspace.context import Context

pytestmark = pytest.mark.requirement("page.decides")


@pytest.mark.parametrize("while_it_goes_on", [True, False])
def test_a_look_that_is_forgotten_is_closed_once(
    monkeypatch: pytest.MonkeyPatch, *, while_it_goes_on: bool
) -> None:
    closed: list[str] = []
    go_on = threading.Event()

    def look(_job: LookJob) -> LookResult:
        assert go_on.wait(60)
        return LookResult(None, "nothing to see")

    monkeypatch.setattr(LookJob, "_look", look)
    desk, context = LookDesk(), SimpleNamespace(close=lambda: closed.append("closed"))
    file = cast("PlanFile", SimpleNamespace(slug="hello"))
    job = desk.begin(cast("Context", cast("Any", context)), file, missing_tools=False)
    if while_it_goes_on:
        desk.forget("hello")
        assert closed == []
    go_on.set()
    assert job.ended.wait(60)
    desk.forget("hello")
    assert closed == ["closed"]
