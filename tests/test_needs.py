"""A test that needs a program is left out where it is missing, and in CI it fails."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import bare

HERE = Path(__file__).parent

OTHER_REASONS = {
    "cli/test_full_disk.py": "who may not mount",
    "cells/cell_bench.py": "a kernel without Landlock",
    "cells/test_processes.py": "a kind of cell that makes no such promise",
    "cells/test_running.py": "who is no root",
    "test_needs.py": "who is no root",
    "workspace/test_known.py": "a file system that notes not every change, who may not mount",
    "page/test_security_ends.py": "who is no root, a machine that is no Linux",
    "cells/test_launcher.py": "who is no root",
    "needs.py": "a program that is missing",
}
"""Where tests are left out, and for what: all but one for something that no package mends."""

NEEDY = """
from tests.needs import need, need_working
def test_one(): need("no-such-program", "it does the work")
def test_two(): need_working("no-such-program", "--version")
def test_three(): need("sh", "it is everywhere")
"""


@pytest.mark.requirement("tests.bare-machine")
def test_without_a_program_a_test_is_left_out_and_in_ci_it_fails(tmp_path: Path) -> None:
    (tmp_path / "test_needy.py").write_text(NEEDY)
    said = []
    for ci in ("", "1"):
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-rsf", "-p", "no:cacheprovider", tmp_path],
            env={
                "PATH": os.environ["PATH"],
                "PYTHONPATH": str(HERE.parent),
                "CI": ci,
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # none of them is needed, and they are slow
            },
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        said.append((done.returncode, done.stdout))
    (alone, skipped), (checked, failed) = said
    assert alone == 0
    assert "1 passed, 2 skipped" in skipped
    assert "`no-such-program` is not here: it does the work" in skipped
    assert checked == 1
    assert "2 failed, 1 passed" in failed


@pytest.mark.thorough
def test_only_needs_leaves_tests_out_for_a_program() -> None:
    found = set()
    for path in HERE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        for node in ast.walk(ast.parse(text)) if "skip" in text else ():
            named = isinstance(node, ast.Attribute) and node.attr in {
                "skip",
                "skipif",
                "importorskip",
            }
            if named and "pytest" in ast.unparse(node):
                found.add(str(path.relative_to(HERE)))
    assert found == set(OTHER_REASONS)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can hide programs")
def test_what_is_hidden_cannot_be_found_by_name_or_by_path(tmp_path: Path) -> None:
    tool = tmp_path / "strace"
    tool.write_text("#!/bin/sh\necho seen\n")
    tool.chmod(0o755)
    (tmp_path / "kept").touch()
    look = f"command -v {tool} && exit 1; [ -e {tool} ] && exit 2; [ -e {tmp_path}/kept ]"
    assert bare.run(["/bin/sh", "-c", look], {tmp_path: {"strace"}}) == 0
    assert tool.exists()
