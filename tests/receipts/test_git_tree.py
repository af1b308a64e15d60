"""Ids of contents and folders are those that git gives them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from planbound.receipts.git_tree import blob_id, tree_id


@pytest.mark.requirement("receipt.subjects")
@pytest.mark.parametrize("form", ["sha1", "sha256"])
def test_a_tree_has_the_id_that_git_gives_it(tmp_path: Path, form: str) -> None:
    def git(*words: str) -> bytes:
        return subprocess.run(["git", *words], cwd=tmp_path, check=True, capture_output=True).stdout

    git("init", "-q", f"--object-format={form}")
    # A folder sorts as if its name ended with a slash.
    for name in ("a", "b/c", "b.txt", "b0", "deep/er/still", "ünï"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{name}\n")
    (tmp_path / "run").write_text("#!/bin/sh\n")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("a")
    git("add", "-A")
    files = {}
    for line in git("ls-files", "--stage", "-z").split(b"\0")[:-1]:
        facts, _, found = line.partition(b"\t")
        files[found] = (facts.split()[0].decode(), facts.split()[1].decode())
    assert files[b"a"][1] == blob_id(b"a\n", form)
    assert files[b"link"] == ("120000", blob_id(b"a", form))
    assert tree_id(files, form) == git("write-tree").decode().strip()
