"""Exercises of Exercism's tracks; the sets of Aider's polyglot benchmark have the same form."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from pathlib import Path

from evals.exercise import Exercise, Language, Layout, split_python


def exercism_python(name: str, place: Path, seed: int) -> Iterator[Exercise]:
    """Yield the Python exercises; their tests are classes of unittest, run by pytest."""
    for folder in sorted(place.iterdir()):
        parts = _parts(folder)
        if parts is None:
            continue
        starter, reference, tests, support = parts
        main = next(iter(tests))
        halves = split_python(tests[main], random.Random(f"{seed} {folder.name}"))
        beside = {path: text for path, text in tests.items() if path != main}
        split = None
        if halves is not None:
            split = Layout(
                {main: halves[0], **beside},
                "python3 -m pytest -q",
                {main.replace("_test.py", "_held_out_test.py"): halves[1]},
            )
        yield Exercise(
            name,
            folder.name,
            Language.PYTHON,
            starter,
            reference,
            support,
            Layout(tests, f"python3 -m pytest -q {main}"),
            split,
        )


_CASE = re.compile(
    r"^(?P<indent> *)(?:test|it)(?:\.each\b.*)?\(.*?^(?P=indent)\}(?:, \d+)?\);\n",
    re.MULTILINE | re.DOTALL,
)


def exercism_javascript(name: str, place: Path, seed: int) -> Iterator[Exercise]:
    """Yield the JavaScript exercises; jest runs their tests, babel reads them."""
    for folder in sorted(place.iterdir()):
        parts = _parts(folder)
        if parts is None:
            continue
        starter, reference, tests, support = parts
        main = next(iter(tests))
        # All but the first test are switched off for learners.
        tests = {path: _switched_on(text) for path, text in tests.items()}
        split = None
        if (
            halves := _split_cases(tests[main], random.Random(f"{seed} {folder.name}"))
        ) is not None:
            split = Layout(
                {**tests, main: halves[0]},
                "jest",
                {main.replace(".spec.js", ".held-out.spec.js"): halves[1]},
            )
        yield Exercise(
            name,
            folder.name,
            Language.JAVASCRIPT,
            starter,
            reference,
            support,
            Layout(tests, f"jest {main}"),
            split,
        )


def _switched_on(text: str) -> str:
    text = re.sub(r"\bx(test|it|describe)\b(?=[.(])", r"\1", text)
    return re.sub(r"\b(test|it|describe)\.skip\b", r"\1", text)


def _split_cases(text: str, chance: random.Random) -> tuple[str, str] | None:
    found = list(_CASE.finditer(text))
    if len(found) < 2:
        return None
    hidden = set(chance.sample(range(len(found)), len(found) // 2))

    def without(*, dropped: bool) -> str:
        numbers = iter(range(len(found)))
        return _CASE.sub(
            lambda match: "" if (next(numbers) in hidden) is dropped else match[0], text
        )

    return without(dropped=True), without(dropped=False)


_SUFFIXES = (".py", ".js", ".json", ".txt", ".dat")


def _parts(
    folder: Path,
) -> tuple[dict[str, str], dict[str, str], dict[str, str], dict[str, str]] | None:
    """Return the starter, the reference, the tests and the rest; None: no exercise."""
    configuration = folder / ".meta/config.json"
    if not configuration.is_file():
        return None
    files = json.loads(configuration.read_text(encoding="utf-8"))["files"]
    if len(files["solution"]) != len(files["example"]):
        return None
    starter = {path: _text(folder / path) for path in files["solution"]}
    pairs = zip(files["solution"], files["example"], strict=True)
    reference = {path: _text(folder / example) for path, example in pairs}
    tests = {path: _text(folder / path) for path in files["test"]}
    support = {
        path.name: _text(path)
        for path in sorted(folder.iterdir())
        if path.name.endswith(_SUFFIXES) and path.name not in (*starter, *tests)
    }
    return starter, reference, tests, support


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
