"""Which files a task names as what it writes: sentences as people and models write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.verify.named_files import NamedFiles

CONFIG = "src/config.py"

SENTENCES = (Path(__file__).parent / "named-files.md").read_text(encoding="utf-8")


def tasks(kind: str) -> list[str]:
    _, _, rest = SENTENCES.partition(f"```{kind}\n")
    return [line.replace("\\n", "\n") for line in rest.partition("\n```")[0].splitlines()]


def writers(text: str, path: str = CONFIG) -> set[int]:
    named = NamedFiles([path])
    named.take(0, [text])
    return named.of(path)


@pytest.mark.requirement("verify.written-by-task")
@pytest.mark.parametrize("text", tasks("written"))
def test_a_path_that_a_task_writes_counts_as_written(text: str) -> None:
    assert writers(text) == {0}


@pytest.mark.parametrize("text", tasks("read"))
def test_a_path_that_a_task_only_reads_does_not(text: str) -> None:
    assert writers(text) == set()


@pytest.mark.parametrize(
    ("text", "path", "is_written"),
    [
        ("Create the package `src/money/` with `round`.", "src/money/__init__.py", True),
        ("Create a `src/money` package.", "src/money/split.py", True),
        ("Move the arithmetic into `money/`.", "src/money/split.py", True),
        ("Fix rounding in `src/billing/invoice.py`.", "src/billing/other.py", False),
        ("Read what is in `src/money/`.", "src/money/split.py", False),
        ("Write tests for `src/money/` in `tests/money/`.", "src/money/split.py", False),
        ("Write tests for `src/money/` in `tests/money/`.", "tests/money/test_split.py", True),
        ("Create `src/money.py`.", "src/money/split.py", False),
    ],
)
def test_a_folder_that_is_made_holds_what_is_below_it(
    text: str, path: str, *, is_written: bool
) -> None:
    assert bool(writers(text, path)) is is_written
