"""Which files a task names as what it writes: sentences as people and models write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from planbound.plan.parse import parse
from planbound.verify.task_scope import NamedFiles, task_scope
from tests.tables import one_fact

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
@one_fact("text", tasks("written"))
def test_a_path_that_a_task_writes_counts_as_written(text: str) -> None:
    assert writers(text) == {0}


@one_fact("text", tasks("read"))
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


def told(text: str) -> tuple[bool, bool]:
    """Say whether a task lets its step change a test, and add one."""
    plan = parse(f"# X\n\n## Steps\n\n### 1. A\n\n**task:**\n{text}\n".encode())
    found, path = task_scope(plan.steps[0]), "tests/test_x.py"
    return any(each.matches(path) for each in found.named), any(
        each.matches(path) for each in found.added
    )


@pytest.mark.requirement("judging.told")
@one_fact("text", tasks("change"))
def test_a_task_that_is_about_a_test_lets_its_step_change_it(text: str) -> None:
    assert told(text)[0]


@pytest.mark.requirement("judging.told")
@one_fact("text", tasks("keep"))
def test_a_task_that_is_judged_by_a_test_does_not(text: str) -> None:
    assert told(text) == (False, False)


@pytest.mark.parametrize("text", tasks("add"))
def test_a_task_that_asks_for_tests_lets_its_step_add_some(text: str) -> None:
    assert told(text) == (False, True)
