"""Generated defects: which functions they are made in, and what they look like."""

from __future__ import annotations

import ast
import textwrap
from pathlib import Path

import pytest

from planbound.judging.defects import DefectKind, applied, defects_of, is_python

BOM = b"\xef\xbb\xbf"


def made(source: str, before: str | None = None) -> list[str]:
    """Return the defects of a file in words."""
    found = defects_of("a.py", source.encode(), None if before is None else before.encode())
    assert not found.fault
    return [str(each).removeprefix("a.py:") for each in found.defects]


def constant(source: str) -> str:
    """Return what the only function of a source always answers then."""
    found = defects_of("a.py", source.encode(), None)
    (defect,) = (each for each in found.defects if each.kind is DefectKind.CONSTANT)
    return defect.what


@pytest.mark.parametrize(
    ("source", "what"),
    [
        ("def f(a) -> int: return a", "returns 0"),
        ("def f(a) -> int: return 0", "returns 1"),
        ("def f(a) -> 'list[int]': return a", "returns []"),
        ("def f(a) -> int | None: return a", "returns None"),
        ("def f(a) -> typing.Optional[int]: return a", "returns None"),
        ("def f(a) -> Annotated[str, 1]: return a", "returns ''"),
        ("def f(a): return a == 1", "returns False"),
        ("def f(a): return False", "returns True"),
        ("def f(a): return f'{a}'", "returns ''"),
        ("def f(a): return {x for x in a}", "returns set()"),
        ("def f(a): return sorted(a)", "returns []"),
        ("def f(a): return ', '.join(a)", "returns ''"),
        ("def f(a): return a", "returns None"),
        ("def f(a) -> Thing: return Thing(a)", "returns None"),
        ("def f(a): a.append(1)", "does nothing"),
        ("def f(a):\n    a.append(1)\n    return", "does nothing"),
        ("def f(a):\n    for x in a:\n        yield x", "yields nothing"),
        ("def f(a):\n    def g():\n        yield 1\n    return 3", "returns 0"),
        ("async def f(a): return 'x'", "returns ''"),
    ],
)
def test_a_function_answers_always_the_same_within_its_type(source: str, what: str) -> None:
    assert constant(source) == what


def test_a_place_for_a_function_has_no_defects() -> None:
    stubs = [
        "def f(): ...",
        "def f(): pass",
        "def f():\n    'it says what'",
        "def f(): raise NotImplementedError",
        "def f():\n    'what'\n    raise NotImplementedError('yet')",
        "def f(): return None",
    ]
    assert [made(source) for source in stubs] == [[]] * len(stubs)


def test_only_functions_that_differ_have_defects() -> None:
    before = 'def same(a):\n    "old words"\n    return a\n\n\ndef other(a):\n    return a\n'
    after = (
        'LIMIT = 3\n\n\ndef other(a):\n    return a + 1\n\n\nclass A:\n    def m(self):\n'
        '        return 1\n\n\ndef same(a):\n    "new words"\n\n    return a  # as before\n'
    )  # fmt: skip
    assert made(after, before) == [
        "4 other returns None",
        "4 other raises",
        "4 other is deleted",
        "9 A.m returns 0",
        "9 A.m raises",
        "9 A.m is deleted",
    ]
    assert made(after, after) == []
    assert len(made(after, "def broken(:\n")) == 9  # what cannot be read tells nothing


def test_a_function_that_only_raises_is_not_made_to_raise() -> None:
    assert made("def f(): raise ValueError('no')") == ["1 f does nothing", "1 f is deleted"]


def test_decorators_go_with_their_function_and_stay_otherwise() -> None:
    head = b"@one\n@two(\n    3)\ndef f(g):\n"
    source = head + b"    @wraps(g)\n    def h():\n        return g()\n    return h\nx = 1\n"
    constant_, raising, deleted = (
        applied(source, each).decode() for each in defects_of("a.py", source, None).defects
    )
    assert constant_ == "@one\n@two(\n    3)\ndef f(g):\n    return None\n\n\n\nx = 1\n"
    assert "wraps" not in raising
    assert deleted == "pass\n\n\n\n\n\n\n\nx = 1\n"


@pytest.mark.parametrize(
    "source",
    [
        "\ufeffdef f(a):\n    return 'é', a  # é\n".encode(),
        "# coding: latin-1\ndef f(a):\n    return 'é', a  # é\n".encode("latin-1"),
        "def f(a):\r\n    x = 'é'; return x  # é\r\ny = 1\r\n".encode(),
        "é = 1\ndef f(a): return 'é' + a  # é\n".encode(),
    ],
)
def test_sources_keep_their_encoding_and_their_lines(source: bytes) -> None:
    defects = defects_of("a.py", source, None).defects
    assert len(defects) == 3
    for defect in defects:
        changed = applied(source, defect)
        ast.parse(changed)
        assert changed != source
        assert changed.endswith(source[-5:])
        assert (changed[:3] == BOM) == (source[:3] == BOM)
        assert len(changed.splitlines()) == len(source.splitlines())


def test_every_defect_of_a_real_module_can_be_read() -> None:
    source = Path(textwrap.__file__).read_bytes()
    found = defects_of("textwrap.py", source, None)
    assert found.functions > 10
    for defect in found.defects:
        changed = applied(source, defect)
        assert changed != source
        assert len(changed.splitlines()) == len(source.splitlines())
        ast.parse(changed)


@pytest.mark.parametrize("source", [b"def f(:\n", b"x = '\0'\n", b"# coding: nope\n", b"\xff\n"])
def test_what_python_cannot_read_is_said(source: bytes) -> None:
    found = defects_of("a.py", source, None)
    assert found.fault.startswith("Python cannot read it: ")
    assert not found.defects


def test_programs_without_an_ending_are_known_by_their_first_line() -> None:
    assert is_python("bin/tool", b"#!/usr/bin/env python3\n")
    assert is_python("src/a.py", b"")
    assert not is_python("bin/tool", b"#!/bin/sh\npython3\n")
    assert not is_python("a.js", b"#!/usr/bin/env python3\n")
