"""The tree without what the harness writes: as if that were not there, and without reading it."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.workspace.contents import RealTree
from planbound.workspace.known import KnownFiles
from planbound.workspace.manifest import ScanRules
from planbound.workspace.measured import ScreenedTree, screened

pytestmark = pytest.mark.requirement("workspace.manifest")

LARGE = 100_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("src/a", ".harness/topics/rounding.md", ".harness/queued-plans/PLAN-b.md", "b"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    (tmp_path / ".harness/PLAN-a.md").write_text("x" * LARGE)
    return tmp_path


@pytest.mark.parametrize("known", [None, KnownFiles()])
def test_it_is_the_whole_tree_without_what_is_taken_out(
    root: Path, known: KnownFiles | None
) -> None:
    tree = RealTree(str(root), known)
    for _ in range(2):  # the second time something is known
        whole, found = tree.manifest(ScanRules()), ScreenedTree(tree).manifest(ScanRules())
        assert found.digest == screened(whole).digest != whole.digest
        assert found.entries == screened(whole).entries
        assert found.looks == whole.looks
    assert {path for path in found.entries if path.startswith(b".harness")} == {
        b".harness",
        b".harness/topics",
        b".harness/topics/rounding.md",
    }


def test_what_the_harness_writes_is_not_read(root: Path) -> None:
    tree, rules = RealTree(str(root)), ScanRules(max_bytes=LARGE)
    assert tree.manifest(rules).truncated is not None
    assert ScreenedTree(tree).manifest(rules).truncated is None


def test_what_was_left_unread_is_read_by_who_asks_for_it(root: Path) -> None:
    tree = RealTree(str(root), KnownFiles())
    whole = tree.manifest(ScanRules())
    ScreenedTree(tree).manifest(ScanRules())
    assert tree.manifest(ScanRules()).entries == whole.entries
