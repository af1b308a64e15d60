"""Progress files: lines are added and never lost."""

from __future__ import annotations

import os
import re
import resource
import signal
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from planbound.errors import FileProblem, UsageError
from planbound.workspace.progress_file import TAIL_BYTES, ProgressAppender, last_line

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "progress.md"


def _append(path: Path, text: str, who: str = "coder") -> None:
    ProgressAppender(str(path)).append(who, text, NOW)


def test_a_line_has_time_name_and_text(path: Path) -> None:
    _append(path, "step 1 proved")
    _append(path, "step 2 begun", who="ana")
    assert path.read_text(encoding="utf-8") == (
        "2026-03-04 05:06 coder — step 1 proved\n2026-03-04 05:06 ana — step 2 begun\n"
    )


def test_a_line_that_somebody_left_open_is_closed_first(path: Path) -> None:
    path.write_bytes(b"# Progress\r\nby hand, no end")
    _append(path, "more")
    assert path.read_bytes() == (
        b"# Progress\r\nby hand, no end\n2026-03-04 05:06 coder \xe2\x80\x94 more\n"
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("two\nlines\r\nand\ttabs", "two lines and tabs"),
        ("\x1b[31mred\x00", "\\x1b[31mred\\x00"),
        ("\u202eleft\ud800", "\\u202eleft\\ud800"),
        ("para\u2028graph", "para graph"),
        ("  ", ""),
        ("é" * 500, "é" * 500),
        ("é" * 501, "é" * 499 + "…"),
    ],
)
def test_a_text_is_one_line_in_which_nothing_is_hidden(path: Path, text: str, shown: str) -> None:
    _append(path, text, who="co\nder")
    line = f"2026-03-04 05:06 co der — {shown}".rstrip()
    assert path.read_bytes() == f"{line}\n".encode()


def test_what_is_there_is_never_rewritten(path: Path) -> None:
    _append(path, "first")
    before, inode = path.read_bytes(), path.stat().st_ino
    _append(path, "second")
    assert path.read_bytes().startswith(before)
    assert path.stat().st_ino == inode
    assert os.listdir(path.parent) == ["progress.md"]


def test_what_is_no_file_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(UsageError, match="a FIFO, expected a progress file"):
        _append(path, "x")
    with pytest.raises(UsageError, match="a FIFO, expected a progress file"):
        last_line(str(path))
    with pytest.raises(FileProblem, match="No such file"):
        _append(path.parent / "nowhere/progress.md", "x")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", None),
        (b"\n\n  \n", None),
        (b"one", "one"),
        (b"one\ntwo\n", "two"),
        (b"one\r\ntwo\r\n\r\n \r\n", "two"),
        (b"one\n\xfftwo\n", "\ufffdtwo"),
        (b"x" * (3 * TAIL_BYTES) + b"\nlast\n", "last"),
        (b"x" * (3 * TAIL_BYTES), "x" * TAIL_BYTES),
    ],
)
def test_the_last_line_is_the_last_that_is_not_blank(
    path: Path, content: bytes, line: str | None
) -> None:
    path.write_bytes(content)
    assert last_line(str(path)) == line


def test_no_file_has_no_last_line(path: Path) -> None:
    assert last_line(str(path)) is None


APPEND = """
import sys
from datetime import UTC, datetime
from planbound.workspace.progress_file import ProgressAppender
path, who = sys.argv[1:]
appender = ProgressAppender(path)
for number in range(250):
    appender.append(who, f"{number} " + "x" * (number % 97), datetime(2026, 1, 2, tzinfo=UTC))
"""


@pytest.mark.requirement("store.append-only-progress")
def test_four_appenders_lose_no_line(path: Path) -> None:
    path.write_text("opened by hand")
    processes = [
        subprocess.Popen([sys.executable, "-B", "-c", APPEND, str(path), f"worker-{number}"])
        for number in range(4)
    ]
    for process in processes:
        assert process.wait(timeout=300) == 0
    first, *lines = path.read_text(encoding="utf-8").split("\n")
    assert first == "opened by hand"
    assert lines.pop() == ""
    found = [
        re.fullmatch(r"2026-01-02 00:00 worker-(\d) — (\d+)(?: (x+))?", line) for line in lines
    ]
    assert all(found)
    whole = [(int(m[1]), int(m[2]), len(m[3] or "")) for m in found if m]
    # No line lost, none twice, none cut.
    assert sorted(whole) == [(who, n, n % 97) for who in range(4) for n in range(250)]
    # Each one's own lines are in its order.
    for who in range(4):
        assert [n for w, n, _ in whole if w == who] == list(range(250))


def test_a_full_disk_is_said_and_the_next_line_stands_alone(path: Path) -> None:
    _append(path, "whole")
    script = APPEND.replace("range(250)", "range(1)").replace('f"{number} "', '"y" * 200')

    def no_room() -> None:
        # A write beyond the limit is cut short, as on a disk that is nearly full.
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))

    done = subprocess.run(
        [sys.executable, "-B", "-c", script, str(path), "coder"],
        capture_output=True, text=True, check=False, preexec_fn=no_room,
    )  # fmt: skip
    assert "FileProblem: cannot write all of a line" in done.stderr
    _append(path, "next")
    lines = path.read_text(encoding="utf-8").splitlines()
    assert lines[0] == "2026-03-04 05:06 coder — whole"
    assert lines[2] == "2026-03-04 05:06 coder — next"
