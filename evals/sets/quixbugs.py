"""QuixBugs: small programs with one wrong line each, and a `conftest.py` of the set's own."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

from evals.exercise import Exercise, Language, Layout, split_python

_TESTS = "python_testcases"
_CASES = "json_testcases"


def quixbugs(name: str, place: Path, seed: int) -> Iterator[Exercise]:
    """Yield the programs that have tests."""
    for path in sorted((place / _TESTS).glob("test_*.py")):
        program = path.stem.removeprefix("test_")
        product = f"python_programs/{program}.py"
        support = {
            file: _text(place / file)
            for file in ("conftest.py", f"{_TESTS}/load_testdata.py", f"{_TESTS}/node.py")
        }
        cases = place / _CASES / f"{program}.json"
        data = {f"{_CASES}/{program}.json": _text(cases)} if cases.is_file() else {}
        test = f"{_TESTS}/test_{program}.py"
        chance = random.Random(f"{seed} {program}")
        yield Exercise(
            name,
            program,
            Language.PYTHON,
            {product: _text(place / product)},
            {product: _text(place / f"correct_python_programs/{program}.py")},
            support,
            Layout({test: _text(path), **data}, f"python3 -m pytest -q {test}"),
            _by_data(program, _text(path), data, chance) if data else _by_tests(test, path, chance),
        )


def _by_data(program: str, text: str, data: dict[str, str], chance: random.Random) -> Layout | None:
    ((path, content),) = data.items()
    lines = [line for line in content.splitlines(keepends=True) if line.strip()]
    if len(lines) < 2:
        return None
    hidden = set(chance.sample(range(len(lines)), len(lines) // 2))
    visible = "".join(line for number, line in enumerate(lines) if number not in hidden)
    held_out = "".join(line for number, line in enumerate(lines) if number in hidden)
    loaded = f"load_json_testcases({program}.__name__)"
    other = text.replace(loaded, f'load_json_testcases("{program}_held_out")')
    assert other != text
    return Layout(
        {f"{_TESTS}/test_{program}.py": text, path: visible},
        f"python3 -m pytest -q {_TESTS}",
        {
            f"{_TESTS}/test_{program}_held_out.py": other,
            f"{_CASES}/{program}_held_out.json": held_out,
        },
    )


def _by_tests(test: str, path: Path, chance: random.Random) -> Layout | None:
    halves = split_python(_text(path), chance)
    if halves is None:
        return None
    held_out = test.replace(".py", "_held_out.py")
    return Layout({test: halves[0]}, f"python3 -m pytest -q {_TESTS}", {held_out: halves[1]})


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
