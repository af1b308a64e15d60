"""ctest: what it says is read, as in `67% tests passed, 1 tests failed out of 3`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Declared,
    Habits,
    Runner,
    Summary,
    added,
    counted,
    joined,
    names,
    number,
)
from planbound.script.tree import Call, below
from planbound.source import lazy_pattern

_LAST = lazy_pattern(
    rf"^[0-9]{{1,3}}% tests passed, ({COUNT}) tests? failed out of ({COUNT})$"
    r"|^No tests were found!!!$"
    rf"|^\t {{0,9}}{COUNT} - .{{1,500}} \((Skipped|Disabled)\)$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what ctest says, all its runs together."""
    runs: list[Summary] = []
    for failed, total, left_out in _LAST.findall(text):
        if not left_out:
            passed = max(0, number(total) - number(failed))
            runs.append(Summary("ctest", passed, number(failed)))
        elif runs:
            # What is skipped was counted as passed; what is disabled was not counted.
            last = runs[-1]
            passed = max(0, last.passed - (left_out == "Skipped"))
            runs[-1] = last._replace(passed=passed, skipped=last.skipped + 1)
    return added("ctest", runs)


# What cmake itself writes into the folder that it builds in it writes anew: these it does not.
_BUILT = ("CTestCustom.cmake", "CTestCustom.ctest")


def built_settings(call: Call) -> Iterator[str]:
    """Yield the settings that ctest reads in the folder that cmake builds in."""
    if call.program not in {"cmake", "ctest"}:
        return
    for option, following in pairwise([*call.values(), ""]):
        name, given, value = option.partition("=")
        if name in {"--test-dir", "-B", "--build"}:
            folder = value if given else following
        else:
            folder = name[2:] if name.startswith("-B") else ""
        if folder:
            place = below(call.directory or "", folder) or call.directory or ""
            yield from (joined(place, each) for each in _BUILT)


CMAKE = names("CMakeLists.txt CMakePresets.json CMakeUserPresets.json CTestCustom.cmake")

RUNNER = Runner(
    programs=("ctest",),
    name="ctest",
    words=CallWords(paths=False),
    habits=Habits(CMAKE, lazy_pattern(r"tests?/.*|(?:.*/)?CMakeLists\.txt\Z")),
    read=read,
    silent=True,
    declared=Declared(
        ("CMakeLists.txt",),
        counted(lazy_pattern(r"(?mi)^\s{0,40}add_test\s{0,9}\(")),
        anywhere=True,
    ),
)
