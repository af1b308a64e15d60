"""A judge that is changed behind the clock: what is known of a tree lies about no verdict."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from planbound.cells.choose import CopyCell, LandlockCell
from planbound.cells.isolation import Isolation
from planbound.journal.event import VerdictKind
from planbound.judging.case import cases, plan_scope
from planbound.judging.context import JudgingContext, judging_context, scratch
from planbound.judging.contract import Setting
from planbound.judging.judge import judge
from planbound.judging.reference import Frozen, as_it_is, freeze
from planbound.plan.parse import parse
from planbound.workspace.contents import RealTree
from planbound.workspace.context import Context
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import Manifest
from planbound.workspace.measured import is_screened
from planbound.workspace.stamps import Clocks, moment

PLAN = """\
---
touches: ["app.sh"]
---

# Say what is right

## Steps

### 1. Write the program

**task:** Write `app.sh`.

**contract:**
```shell
bash judge.sh
```
"""
JUDGE = b'test "$(bash app.sh)" = right\n'


def _later() -> Clocks:
    now = moment()
    return Clocks(now.wall + 10**10, now.since_boot + 10**10)


def _workspace(folder: Path) -> Path:
    workspace = folder / "workspace"
    (workspace / ".harness").mkdir(parents=True)
    (workspace / "app.sh").write_text("echo wrong\n")
    (workspace / "judge.sh").write_bytes(JUDGE)
    for number in range(400):
        (workspace / f"file{number}").write_text("x")
    return workspace


def _rewrite(judge_file: Path) -> None:
    with judge_file.open("r+b") as file:
        file.write(JUDGE.replace(b"=", b"!"))


def _replace(judge_file: Path) -> None:
    other = judge_file.with_name("other")
    other.write_bytes(JUDGE.replace(b"= right", b"= wrong"))
    os.replace(other, judge_file)


@pytest.mark.requirement("workspace.manifest")
@pytest.mark.parametrize("change", [_rewrite, _replace])
def test_a_judge_whose_times_were_put_back_is_tampered_with(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    workspace = _workspace(tmp_path)
    plan = parse(PLAN)
    judging = judging_context(Context(workspace=str(workspace), state=str(tmp_path / "state")))
    judging = judging._replace(tree=RealTree(str(workspace), KnownFiles(None, _later)))
    freeze(judging.tree, judging.vault, judging.rules)
    tree = freeze(judging.tree, judging.vault, judging.rules)
    setting = Setting(frozen=Frozen("known", tree.manifest, "", "", {}), scope=plan_scope(plan))
    (honest,) = judge(judging, list(cases(plan)), setting)
    assert honest.kind is VerdictKind.FAIL
    before = (workspace / "judge.sh").stat()
    while time.clock_gettime_ns(5) <= before.st_ctime_ns:
        pass
    change(workspace / "judge.sh")
    os.utime(workspace / "judge.sh", ns=(before.st_atime_ns, before.st_mtime_ns))
    (verdict,) = judge(judging, list(cases(plan)), setting)
    assert verdict.kind is VerdictKind.TAMPERED
    assert [each.path for each in verdict.tampered] == ["judge.sh"]


@pytest.mark.parametrize("kind", [CopyCell, LandlockCell])
@pytest.mark.parametrize("beside_agent", [False, True])
def test_where_an_agent_has_no_walls_nothing_is_known(
    tmp_path: Path, kind: type[CopyCell], *, beside_agent: bool
) -> None:
    workspace = _workspace(tmp_path)
    context = Context(workspace=str(workspace), state=str(tmp_path / "state"))
    (tmp_path / "state/known").mkdir(parents=True)
    cell = kind(scratch(context))
    name = _known_file(context, cell)
    name.write_bytes(b"")
    judging_context(context, cell, beside_agent=beside_agent)
    walled = cell.isolation is Isolation.I1 and not beside_agent
    assert name.exists() == walled


def _known_file(context: Context, cell: CopyCell) -> Path:
    """Return where it is kept what is known of the files."""
    walled = LandlockCell(cell.scratch)
    tree = judging_context(context, walled).tree
    assert isinstance(tree, RealTree)
    assert tree.known is not None
    assert tree.known.file is not None
    return Path(tree.known.file)


def test_a_file_in_gits_folder_is_not_known_by_one_of_that_name_beside_it(tmp_path: Path) -> None:
    workspace = _workspace(tmp_path)
    for place in (workspace / ".git", workspace):
        (place / "objects").mkdir(parents=True)
        (place / "objects/calc.py").write_text("right\n")
    (workspace / ".git/HEAD").write_text("ref: refs/heads/main\n")
    judging = judging_context(Context(workspace=str(workspace), state=str(tmp_path / "state")))
    plan = parse(PLAN.replace("bash judge.sh", "cat .git/objects/calc.py"))
    (verdict,) = judge(judging, list(cases(plan)), Setting(None, plan_scope(plan)))
    assert verdict.kind is VerdictKind.FAIL


# -- a tree that is handed on from one look to the next -------------------------------------------


def _handed_on(folder: Path, kind: type[CopyCell] | None = None) -> tuple[JudgingContext, Manifest]:
    context = Context(workspace=str(_workspace(folder)), state=str(folder / "state"))
    judging = judging_context(context, kind(scratch(context)) if kind else None)
    return judging, judging.tree.manifest(judging.rules)


def test_a_tree_that_was_just_seen_is_not_read_again(tmp_path: Path) -> None:
    judging, seen = _handed_on(tmp_path)
    assert as_it_is(judging, seen) is seen
    assert as_it_is(judging, None) is not seen


def test_a_tree_is_handed_on_past_a_mark_only_where_nobody_looks_at_the_plan(
    tmp_path: Path,
) -> None:
    root = str(_workspace(tmp_path))
    (tmp_path / "workspace/.harness/PLAN-linked.md").symlink_to("../PLAN.md")
    (tmp_path / "workspace/.harness/topics").mkdir()
    for name in (".harness/PLAN.md", ".harness/queued-plans/PLAN.md", "../main/.harness/PLAN.md"):
        assert is_screened(root, f"{root}/{name}")
    for name in ("PLAN.md", "plans/PLAN.md", ".harness/PLAN-linked.md", ".harness/topics/PLAN.md"):
        assert not is_screened(root, f"{root}/{name}")


def test_without_walls_a_tree_is_always_read(tmp_path: Path) -> None:
    judging, seen = _handed_on(tmp_path, CopyCell)
    (tmp_path / "workspace/app.sh").write_text("echo right\n")
    assert as_it_is(judging, seen).digest != seen.digest


@pytest.mark.parametrize("is_read", [False, True])
def test_where_a_folder_says_that_it_is_a_cache_a_tree_is_read_by_the_rules_of_who_asks(
    tmp_path: Path, *, is_read: bool
) -> None:
    judging, _ = _handed_on(tmp_path)
    cache = tmp_path / "workspace/cache"
    cache.mkdir()
    (cache / "CACHEDIR.TAG").write_text("Signature: 8a477f597d28d172789f06886806bc55")
    (cache / "judge.sh").write_text("true\n")
    rules = judging.rules._replace(not_caches=frozenset({b"cache"}))
    given, asked = (rules, judging.rules) if is_read else (judging.rules, rules)
    found = as_it_is(judging._replace(rules=asked), judging.tree.manifest(given))
    assert (b"cache/judge.sh" in found.entries) != is_read


def test_a_tree_that_is_handed_on_and_changed_since_is_seen_to_have_changed(tmp_path: Path) -> None:
    judging, seen = _handed_on(tmp_path)
    (tmp_path / "workspace/app.sh").write_text("echo right\n")
    plan = parse(PLAN)
    (verdict,) = judge(judging, list(cases(plan)), Setting(None, plan_scope(plan)), seen)
    assert verdict.kind is VerdictKind.TAMPERED
    assert "changed while it was judged: app.sh" in verdict.reason
