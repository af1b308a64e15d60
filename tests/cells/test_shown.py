"""A copy of a workspace is seen at the original's path, where a cell has mounts of its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from planbound.cells.cell import Laid
from tests.cells import cell_bench
from tests.cells.cell_bench import APART, COPIED, Bench, cells

pytestmark = pytest.mark.requirement("cell.agent", "cell.shown-at")

bench = cell_bench.bench


@pytest.fixture(name="original")
def _original(tmp_path: Path) -> Path:
    original = tmp_path / "original"
    original.mkdir()
    (original / "only-here").write_text("original\n")
    (original / "file").write_text("original\n")
    return original


def _shown(original: Path, **changes: Any) -> dict[str, Any]:
    return {"shown_at": str(original), **changes}


@pytest.mark.parametrize("writable", [False, True])
@cells(*APART)
def test_a_copy_is_seen_at_the_originals_path(
    bench: Bench, original: Path, *, writable: bool
) -> None:
    bench.write("file", "copy\n")
    said = bench.says(
        'pwd -P; echo $W; cat file; cat "$W/file"; ls "$W"',
        **_shown(original, writable=writable, environment={"W": "{workspace}", "PATH": "/bin"}),
    )
    assert said.splitlines() == [str(original), str(original), "copy", "copy", "file"]


@cells(*APART)
def test_an_agent_writes_to_the_copy_and_not_to_the_original(bench: Bench, original: Path) -> None:
    bench.write("file", "copy\n")
    said = bench.says(
        f"echo new > {original}/file; echo x > made; cat file", **_shown(original, writable=True)
    )
    assert said == "new\n"
    assert bench.names() == ["file", "made"]
    assert (bench.workspace / "file").read_text() == "new\n"
    assert sorted(path.name for path in original.iterdir()) == ["file", "only-here"]
    assert (original / "file").read_text() == "original\n"


@cells(*APART)
def test_a_contract_leaves_both_as_they_were(bench: Bench, original: Path) -> None:
    bench.write("file", "copy\n")
    outcome = bench.run("echo new > file; echo x > made", **_shown(original, watched=("file",)))
    assert outcome.trespassed == ("file",)
    assert bench.names() == ["file"]
    assert (bench.workspace / "file").read_text() == "copy\n"
    assert (original / "file").read_text() == "original\n"


@cells(*APART)
def test_what_is_kept_from_an_agent_is_kept_in_the_copy(bench: Bench, original: Path) -> None:
    bench.write("deep/judge", "judge\n")
    bench.write("secret/key", "secret\n")
    said = bench.says(
        "(echo x > deep/judge) 2> /dev/null || echo kept; mv deep away 2> /dev/null || echo there; "
        "(echo x > planted && test -s planted) 2> /dev/null || echo absent; ls secret; "
        "cat deep/judge",
        **_shown(
            original,
            writable=True,
            read_only=("deep/judge",),
            absent=("planted",),
            masked=(str(bench.workspace / "secret"),),
        ),
    )
    assert said.splitlines() == ["kept", "there", "absent", "judge"]
    assert bench.names() == ["deep", "deep/judge", "secret", "secret/key"]


@pytest.mark.parametrize("writable", [False, True])
@cells(*APART)
def test_what_is_masked_in_the_original_is_masked_in_the_copy(
    bench: Bench, original: Path, *, writable: bool
) -> None:
    bench.write("secret/key", "secret\n")
    (original / "secret").mkdir()
    (original / "other").mkdir()
    masked = (str(original / "secret"), str(original / "other"))
    said = bench.says("ls; ls secret", **_shown(original, masked=masked, writable=writable))
    assert said.split() == ["secret"]
    assert bench.names() == ["secret", "secret/key"]


@cells(*APART)
def test_what_is_laid_and_taken_out_follows(bench: Bench, original: Path) -> None:
    bench.write("gone")
    said = bench.says(
        "ls; cat laid/x; echo report > out",
        **_shown(original, lay=(Laid("laid/x", b"laid\n"),), remove=("gone",), collect=("out",)),
    )
    assert said.split() == ["laid", "laid"]


@cells(*APART)
def test_the_copy_may_lie_in_a_masked_folder(bench: Bench, original: Path) -> None:
    bench.write("file", "copy\n")
    said = bench.says(
        f"cat file; ls {bench.workspace} 2> /dev/null; true",
        **_shown(original, writable=True, masked=(str(bench.workspace.parent / "scratch"),)),
    )
    assert said.splitlines()[0] == "copy"


@cells(*COPIED)
def test_without_mounts_the_command_runs_at_the_real_path(bench: Bench, original: Path) -> None:
    bench.write("file", "copy\n")
    said = bench.says("pwd -P; cat file", **_shown(original, writable=True))
    assert said.splitlines() == [str(bench.workspace), "copy"]
    assert bench.says("cat file", **_shown(original)) == "copy\n"
