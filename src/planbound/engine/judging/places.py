"""What a path says about itself: is it what judges, or is it what is judged?"""

from __future__ import annotations

from posixpath import basename, dirname

from planbound.source.pattern import lazy_pattern

SUPPORT = tuple(
    "fixtures fixture testdata test_data data golden goldens snapshots __snapshots__ expected "
    "helpers support __mocks__ resources".split()
)
"""Directories beside tests that tests read."""

_TESTS = frozenset(
    "tests test __tests__ spec specs e2e fixtures testdata golden goldens snapshots "
    "__snapshots__ __fixtures__".split()
)
_TEST_WORD = lazy_pattern(r"(?i)(?:.*[._-])?(?:tests?|specs?)(?:[._-].*)?")
_SCRIPTS = frozenset("scripts script tools tool ci .ci bin hack .github".split())
_SOURCES = frozenset("src lib app apps pkg cmd internal packages source sources".split())
_SAYS_JUDGE = lazy_pattern(
    r"(?i)(?:.*[._-])?(?:(?:run[_-]?)?tests?|check(?:s|er)?|verif(?:y|ier|ication)|lint(?:er)?|ci|"
    r"specs?|validat(?:e|or|ion)|assert|e2e|smoke|accept(?:ance)?|grade(?:r)?|judge|oracle)"
    r"(?:[._-].*)?"
)
_SAYS_EXPECTED = lazy_pattern(
    r"(?i)(?:.*[._-])?(?:expect(?:ed|ations?)?|golden|fixtures?|snapshots?|snap|reference|"
    r"baseline|approved|oracle|want(?:ed)?)(?:[._-].*)?"
)


def place_of_tests(path: str) -> str | None:
    """Return the topmost directory of tests that a path is or lies in, None where there is none.

    The last name counts too: ask with the directory of a file, not with the file.
    """
    names = path.split("/") if path else []
    for index, name in enumerate(names):
        if name in _TESTS or (_TEST_WORD.fullmatch(name) and "." not in name):
            return "/".join(names[: index + 1])
    return None


def is_judging(path: str) -> bool:
    """Say whether a file lies where tests and scripts are, or is named like what is expected."""
    folder = dirname(path)
    return place_of_tests(folder) is not None or _among_scripts(folder) or says_expected(path)


def says_judge(path: str) -> bool:
    """Say whether a file is named like a check: `check_api.py`, `run-tests.sh`, `ci`."""
    return _SAYS_JUDGE.fullmatch(basename(path)) is not None


def says_expected(path: str) -> bool:
    """Say whether a file is, by its name or directory, what an output is compared with."""
    if any(_SAYS_EXPECTED.fullmatch(name) for name in path.split("/")):
        return True
    return place_of_tests(dirname(path)) is not None


def is_source(path: str) -> bool:
    """Say whether a file lies where the work itself is kept."""
    return path.partition("/")[0] in _SOURCES and "/" in path


def _among_scripts(folder: str) -> bool:
    # `src/tools` is a part of the product.
    names = folder.split("/")
    return names[0] not in _SOURCES and not _SCRIPTS.isdisjoint(names)
