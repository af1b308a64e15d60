"""A server whose loop is made up, as a process: for what the protocol does to a call.

`python -m tests.session.mcp.fake FOLDER`; a call that judges `slow` waits until FOLDER
holds the file `go`.
"""

import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from planbound.cells.stages import Stages
from planbound.errors import BindingError, UsageError
from planbound.session.answers import Told
from planbound.session.mcp.server import Documents, PlanServer, serve_stdio
from planbound.session.tools import PlanTools
from planbound.workspace.context import Context

Given = str | Mapping[str, object]


class FakeLoop:
    """Answers by its arguments alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.session = "mcp:fake"
        self.busy = False

    def plan_create(
        self,
        objective: str,
        steps: Sequence[Given],
        postconditions: Sequence[Given] = (),
        name: str | None = None,
    ) -> Told:
        given = cast("Any", {"steps": list(steps), "postconditions": list(postconditions)})
        return Told(ok=True, text=f"wrote {name}: {objective}", data=given)

    def plan_show(self, only: str | None = None) -> Told:
        return Told(ok=True, text=f"[ ] 1. one ({only})")

    def step_update(
        self, step: str | int, status: str, evidence: str = "", notes: str = ""
    ) -> Told:
        del notes
        assert not self.busy, "two calls at once"
        self.busy = True
        try:
            return self._update(str(step), status, evidence)
        finally:
            self.busy = False

    def _update(self, step: str, status: str, evidence: str) -> Told:
        if step == "slow":
            (self.folder / "begun").touch()
            while not (self.folder / "go").exists():
                time.sleep(0.01)
        if step == "crash":
            raise RuntimeError("out of tune")
        if step == "99":
            raise UsageError("there is no step `99`", hint="the steps are 1 `one`")
        proved = status == "done" and evidence == "right"
        return Told(ok=proved, text="proved" if proved else "exit 1", data={"proved": proved})

    def postcondition_verify(self, postcondition: str | int, evidence: str = "") -> Told:
        return Told(ok=True, text=f"{postcondition} holds: {evidence}", data={"proved": True})

    def postcondition_block(self, postcondition: str | int, reason: str) -> Told:
        return Told(ok=True, text=f"{postcondition} is blocked: {reason}")

    def plan_amend(
        self,
        *,
        add: Sequence[Given] = (),
        edit: Mapping[str, Given] | None = None,
        remove: Sequence[str] = (),
        reason: str = "",
    ) -> Told:
        return Told(ok=True, text=f"{len(add)} {edit} {remove} {reason}")

    def plan_request_approval(self) -> Told:
        return Told(ok=True, text="`planbound approve one`")

    def plan_finish(self, summary: str) -> Told:
        return Told(ok=False, text=f"NOT DONE: {summary}", data={"accepted": False})

    def plan_status(self) -> Told:
        return Told(ok=True, text="0 of 1 proved")

    def plan_log(self, last: int = 20) -> Told:
        return Told(ok=True, text=f"the last {last}")


class FakeDocuments(Documents):
    """Two documents."""

    def names(self) -> list[str]:
        return ["one"]

    def plan(self, name: str) -> str:
        if name != "one":
            raise UsageError(f"there is no plan `{name}`")
        return "# One\n"

    def journal(self, name: str) -> str:
        raise BindingError(f"the main worktree of {name} is lost")


def fake_server(folder: Path, stages: Stages | None = None) -> PlanServer:
    loop = cast("PlanTools", FakeLoop(folder))
    return PlanServer(lambda: loop, FakeDocuments(Context), stages=stages, every=0.05)


if __name__ == "__main__":
    serve_stdio(fake_server(Path(sys.argv[1])))
