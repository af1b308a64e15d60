"""What was changed outside of its scope comes back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from planbound.judging.reference import freeze
from planbound.judging.restore import restore
from planbound.workspace.contents import RealTree
from planbound.workspace.manifest import ScanRules, changes
from planbound.workspace.vault import Vault


@pytest.mark.requirement("workspace.manifest")
def test_whatever_was_done_to_a_tree_can_be_undone(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    for name in ("src/a.py", "tests/test_a.py", "docs/guide/one.md", "data/table.csv", "run.sh"):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"content of {name}\n")
    os.symlink("src/a.py", root / "link")
    (root / "run.sh").chmod(0o755)
    (root / "empty").mkdir()
    tree, vault = RealTree(str(root)), Vault(str(tmp_path / "vault.sqlite"))
    frozen = freeze(tree, vault, ScanRules()).manifest

    (root / "src/a.py").write_text("other\n")
    (root / "tests/test_a.py").unlink()
    (root / "tests").rmdir()
    os.symlink("docs", root / "tests")
    (root / "docs/guide/one.md").rename(root / "docs/two.md")
    (root / "run.sh").chmod(0o644)
    (root / "link").unlink()
    (root / "link").mkdir()
    (root / "link/inside").write_text("x")
    (root / "empty").rmdir()
    (root / "new/deep").mkdir(parents=True)
    (root / "new/deep/file").write_text("x")

    now = tree.manifest(ScanRules())
    result = restore(tree, vault, changes(frozen, now))
    assert result.lost == ()
    assert tree.manifest(ScanRules()).digest == frozen.digest


@pytest.mark.requirement("workspace.manifest")
def test_what_cannot_be_put_back_is_named(tmp_path: Path) -> None:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "a").write_text("a")
    tree = RealTree(str(root))
    frozen = tree.manifest(ScanRules())
    (root / "a").write_text("b")
    found = changes(frozen, tree.manifest(ScanRules()))
    result = restore(tree, Vault(str(tmp_path / "vault.sqlite")), found)
    assert result.lost == (("a", "no copy of it was kept"),)
