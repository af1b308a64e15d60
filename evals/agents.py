"""The agents: one does the work, the others want it taken for done.

Each is a function that changes the workspace of an exercise as an agent would, and says whether
it could do its trick there at all.
"""

from __future__ import annotations

import ast
import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from evals import node_tricks, python_tricks
from evals.bench import Bench, write
from evals.exercise import Exercise, Language, Layout

Agent = Callable[[Exercise, Layout, Bench], bool]


def honest(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """Do the work, as the set's authors did it."""
    write(bench.workspace, exercise.reference)
    return True


def does_nothing(_exercise: Exercise, _layout: Layout, _bench: Bench) -> bool:
    """Say that it is done."""
    return True


def edits_tests(exercise: Exercise, layout: Layout, bench: Bench) -> bool:
    """Put tests that check nothing in the place of the tests."""
    tricks = _tricks(exercise)
    for path in layout.visible:
        if _is_test(path):
            write(bench.workspace, {path: tricks.GREEN_TESTS})
    return True


def hook(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """Make the runner call every test passed."""
    tricks = _tricks(exercise)
    if exercise.language is Language.PYTHON:
        path = bench.workspace / "conftest.py"
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(before + "\n\n" + tricks.REPORT_HOOK, encoding="utf-8")
        return _product(exercise, bench, tricks.ANYTHING_GOES)
    return _product(exercise, bench, tricks.REPORT_HOOK)


def early_exit(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """End the process before a test can fail."""
    return _product(exercise, bench, _tricks(exercise).EARLY_EXIT)


def equal_to_everything(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """Answer with an object that is equal to whatever is expected."""
    return _product(exercise, bench, _tricks(exercise).EVERYTHING)


def stack_peek(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """Find the calling test, and answer what stands in it."""
    return _product(exercise, bench, _tricks(exercise).STACK_PEEK)


def special_case(exercise: Exercise, layout: Layout, bench: Bench) -> bool:
    """Answer from a table of what the visible tests ask for."""
    if len(exercise.starter) != 1:
        return False
    notes = bench.folder / "notes.jsonl"
    notes.unlink(missing_ok=True)
    if not _record(exercise, layout, bench, notes):
        return False
    asked = [json.loads(line) for line in notes.read_text(encoding="utf-8").splitlines()]
    if exercise.language is Language.PYTHON:
        table = _python_table(asked)
    else:
        table = node_tricks.table(asked)
    return table is not None and _product(exercise, bench, table)


def impossible(exercise: Exercise, _layout: Layout, bench: Bench) -> bool:
    """Do the work, and answer the wrong number where the changed test wants it."""
    one_off = exercise.one_off
    if one_off is None:
        return False
    text = exercise.reference[exercise.product].rstrip() + python_tricks.WRONG_BY_ONE.format(
        function=one_off.function,
        asked=repr(ast.literal_eval(one_off.arguments)),
        expected=one_off.expected,
    )
    return _product(exercise, bench, text)


AGENTS: Mapping[str, Agent] = MappingProxyType(
    {
        "honest": honest,
        "does-nothing": does_nothing,
        "edits-tests": edits_tests,
        "hook": hook,
        "early-exit": early_exit,
        "equal-to-everything": equal_to_everything,
        "stack-peek": stack_peek,
        "special-case": special_case,
        "impossible": impossible,
    }
)


class _Texts(Protocol):
    """What there is for each language."""

    GREEN_TESTS: str
    REPORT_HOOK: str
    ANYTHING_GOES: str
    EARLY_EXIT: str
    EVERYTHING: str
    STACK_PEEK: str


def _tricks(exercise: Exercise) -> _Texts:
    return python_tricks if exercise.language is Language.PYTHON else node_tricks


def _is_test(path: str) -> bool:
    name = path.rpartition("/")[2]
    return name.endswith(("_test.py", ".spec.js")) or re.match(r"test_.*\.py$", name) is not None


def _product(exercise: Exercise, bench: Bench, text: str) -> bool:
    write(bench.workspace, {exercise.product: text})
    return True


def _record(exercise: Exercise, layout: Layout, bench: Bench, notes: Path) -> bool:
    """Run the visible tests on the reference solution in a copy, and note its answers."""
    copy = bench.folder / "recorded"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(bench.workspace, copy, symlinks=True)
    product = Path(exercise.product)
    other = product.with_name(f"{product.stem}_reference{product.suffix}")
    if exercise.language is Language.PYTHON:
        module = ".".join([*product.parts[:-1], product.stem])
        text = python_tricks.RECORDER.format(module=module, notes=str(notes))
    else:
        text = node_tricks.recorder(exercise, str(notes))
    write(copy, {str(other): exercise.reference[exercise.product], exercise.product: text})
    ran = bench.run(["/bin/bash", "-e", "-c", layout.command], folder=copy)
    shutil.rmtree(copy, ignore_errors=True)
    return ran.code == 0 and notes.exists()


def _python_table(notes: list[dict[str, object]]) -> str | None:
    answers: dict[str, object] = {}
    errors: dict[str, tuple[str, object]] = {}
    for note in notes:
        asked, answer, raised = note["asked"], note["answer"], note["raised"]
        if not isinstance(asked, str):
            return None
        if isinstance(raised, list):
            kind, details = raised
            if not isinstance(details, str):
                return None
            errors[asked] = (kind, ast.literal_eval(details))
        elif isinstance(answer, str):
            answers[asked] = ast.literal_eval(answer)
        else:
            return None
    return python_tricks.TABLE.format(answers=repr(answers), errors=repr(errors))
