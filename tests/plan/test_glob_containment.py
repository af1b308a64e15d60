"""Whether one pattern of `touches` lies within others: yes only where it is certain."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.glob import parse_glob, within
from tests.plan.test_glob import DEEP, PATHS, SHALLOW, SOME_PATHS, thorough


def lies_within(inner: str, *outers: str) -> bool:
    return within(parse_glob(inner), [parse_glob(outer) for outer in outers])


@pytest.mark.parametrize(
    ("inner", "outers"),
    [
        ("src/a.py", ["src/a.py"]),
        ("src/a.py", ["src/*"]),
        ("src/a.py", ["src/**"]),
        ("src/a/b.py", ["src/**"]),
        ("src/**", ["src/**"]),
        ("src/", ["src/**"]),
        ("src/*", ["src/**"]),
        ("src/**/x.py", ["src/**"]),
        ("src/**/x.py", ["**/x.py"]),
        ("src/**/*.py", ["src/**/*.p?"]),
        ("src/{a,b}/*", ["src/a/**", "src/b/*"]),
        ("{docs,src}/**", ["{src,docs,tests}/**"]),
        ("a[b-d]e", ["a?e"]),
        ("a[b-d]e", ["a[a-z]*"]),
        ("??", ["??"]),
        ("**", ["**"]),
        ("**", ["*", "*/**"]),
        ("docs/[[]id].md", ["docs/*.md"]),
        (".github/**", ["**"]),
    ],
)
def test_what_lies_within(inner: str, outers: list[str]) -> None:
    assert lies_within(inner, *outers)


@pytest.mark.parametrize(
    ("inner", "outers"),
    [
        ("src/a.py", []),
        ("src/a.py", ["src/b.py"]),
        ("src/**", ["src/*"]),
        ("src/**", ["src/**/*.py"]),
        ("src*/**", ["src/**"]),
        ("src", ["src/**"]),
        ("**", ["src/**", "docs/**"]),
        ("**", ["*"]),
        ("**/x.py", ["src/**"]),
        ("a?e", ["a[b-d]e"]),
        ("{src,etc}/**", ["src/**"]),
        ("*", ["a*", "b*"]),
    ],
)
def test_what_does_not(inner: str, outers: list[str]) -> None:
    assert not lies_within(inner, *outers)


@thorough
@given(DEEP, st.lists(DEEP, min_size=1, max_size=3), st.lists(SOME_PATHS, max_size=20))
def test_a_yes_holds_for_every_path(inner: str, outers: list[str], paths: list[str]) -> None:
    if lies_within(inner, *outers):
        for path in paths:
            if parse_glob(inner).matches(path):
                assert any(parse_glob(outer).matches(path) for outer in outers), path


@thorough
@given(SHALLOW, st.lists(SHALLOW, min_size=1, max_size=2))
def test_a_yes_holds_for_all_short_paths(inner: str, outers: list[str]) -> None:
    own, others = parse_glob(inner), [parse_glob(outer) for outer in outers]
    found = [path for path in PATHS if len(path) <= 7 and own.matches(path)]
    outside = [path for path in found if not any(other.matches(path) for other in others)]
    if lies_within(inner, *outers):
        assert not outside


@thorough
@given(DEEP, st.lists(DEEP, max_size=2))
def test_a_pattern_lies_within_itself_and_within_everything(inner: str, others: list[str]) -> None:
    assert lies_within(inner, *others, inner)
    assert lies_within(inner, *others, "**")


@thorough
@given(st.lists(st.sampled_from("ab"), min_size=1, max_size=4), SHALLOW)
def test_a_path_lies_within_exactly_what_matches_it(names: list[str], outer: str) -> None:
    path = "/".join(names)
    assert lies_within(path, outer) == parse_glob(outer).matches(path)


def test_hostile_patterns_end() -> None:
    hostile = "/".join(["**", "*a*"] * 40)
    assert lies_within(hostile, hostile) in {True, False}
