"""What the tests of receipts share: plans that ran, and their receipts."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.needs import need
from tests.receipts.scene import SIGNED, Receipts
from tests.run.bench import Bench


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@pytest.fixture
def receipts(bench: Bench) -> Receipts:
    need("ssh-keygen", "receipts are signed by it")
    return Receipts(bench)


@pytest.fixture(scope="session")
def signed(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """Return the receipt of a plan that was proved, signed by the harness's key."""
    need("ssh-keygen", "receipts are signed by it")
    scene = Receipts(Bench(tmp_path_factory.mktemp("signed")))
    (scene.bench.workspace / ".git").rmdir()
    for words in (["init", "-q"], ["add", "src"], ["commit", "-qm", "base"]):
        named = ["-c", "user.name=a", "-c", "user.email=a@b"]
        subprocess.run(["git", *named, *words], cwd=scene.bench.workspace, check=True)
    scene.bench.prepare(*SIGNED)
    scene.bench.goes("run", "PLAN")
    return scene.make("PLAN")
