"""A contract on a tree with other files in it."""

from __future__ import annotations

from pathlib import Path

from planbound.cells.cell import Laid
from planbound.journal.event import VerdictKind
from planbound.judging.case import cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.control import with_files
from planbound.judging.judge import observe
from planbound.plan.parse import parse
from planbound.workspace.context import Context

PLAN = """\
# Judge other files

## Steps

### 1. Write the program

**task:** Write `app.sh`.

**contract:**
```shell
test "$(bash app.sh)" = right && test ! -e gone
```
"""


def _judging(folder: Path) -> JudgingContext:
    workspace = folder / "workspace"
    (workspace / ".harness").mkdir(parents=True)
    (workspace / "app.sh").write_text("echo right\n")
    (workspace / "gone").write_text("")
    return judging_context(Context(workspace=str(workspace), state=str(folder / "state")))


def _said(judging: JudgingContext) -> VerdictKind:
    (verdict,) = observe(judging, list(cases(parse(PLAN))))
    return verdict.kind


def test_a_contract_sees_other_files_and_the_workspace_stays_as_it_is(tmp_path: Path) -> None:
    judging = _judging(tmp_path)
    assert _said(judging) is VerdictKind.FAIL
    right = with_files(judging, (), ["gone"])
    assert _said(right) is VerdictKind.PASS
    wrong = with_files(judging, [Laid("app.sh", b"echo wrong\n")], ["gone"])
    assert _said(wrong) is VerdictKind.FAIL
    added = with_files(
        judging,
        [Laid("lib/right.sh", b"echo right\n"), Laid("app.sh", b". lib/right.sh\n")],
        ["gone"],
    )
    assert _said(added) is VerdictKind.PASS
    assert (tmp_path / "workspace" / "app.sh").read_text() == "echo right\n"
    assert sorted(each.name for each in (tmp_path / "workspace").iterdir()) == [
        ".harness",
        "app.sh",
        "gone",
    ]


def test_a_tree_with_other_files_has_a_manifest_of_its_own(tmp_path: Path) -> None:
    judging = _judging(tmp_path)
    changed = with_files(judging, [Laid("app.sh", b"echo wrong\n")], ["gone"])
    before, after = (each.tree.manifest(each.rules) for each in (judging, changed))
    assert before.digest != after.digest
    assert list(after.files()) == ["app.sh"]
    entry = after.entry("app.sh")
    assert entry is not None
    assert changed.tree.content("app.sh", entry) == b"echo wrong\n"
