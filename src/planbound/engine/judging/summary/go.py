"""What `go test` says: a line for each package, and under `-v` one for each test."""

from __future__ import annotations

from collections import Counter

from planbound.engine.judging.summary.model import Summary, added
from planbound.source.pattern import lazy_pattern

_TEST = lazy_pattern(r"--- (PASS|FAIL|SKIP): \S{1,500} \([0-9.]{1,20}s\)")
_PACKAGE = lazy_pattern(
    r"(?:(ok)  \t\S{1,500}\t(?:\(cached\)|[0-9.]{1,20}s)(?:[ \t].{0,500})?"
    r"|(FAIL)\t\S{1,500}(?:[ \t].{0,500})?"
    r"|(\?)   \t\S{1,500}\t\[no test files\])"
)
_EVENT = lazy_pattern(
    r'\{(?:"Time":"[^"]{0,60}",)?"Action":"(pass|fail|skip)","Package":"([^"]{0,500})"'
    r'(?:,"Test":"([^"]{0,500})")?[,}].{0,500}'
)


def read(text: str) -> Summary | None:
    """Return what `go test` says, all packages together."""
    lines = text.split("\n")
    runs = [*_packages(lines), *_events(lines)]
    return added("go test", runs)


def _packages(lines: list[str]) -> list[Summary]:
    runs: list[Summary] = []
    seen: Counter[str] = Counter()
    verbose = False
    for line in lines:
        if line.startswith("=== RUN "):
            verbose = True
        elif match := _TEST.fullmatch(line):
            seen[match[1]] += 1
        elif match := _PACKAGE.fullmatch(line):
            passed = seen["PASS"]
            if match[1] and not verbose and not passed and "[no tests to run]" not in line:
                # Without `-v` the package is all that is said.
                passed = 1
            failed = max(seen["FAIL"], 1) if match[2] else seen["FAIL"]
            runs.append(Summary("go test", passed, failed, seen["SKIP"]))
            seen.clear()
            verbose = False
    return runs


def _events(lines: list[str]) -> list[Summary]:
    """Read what `-json` writes."""
    runs: list[Summary] = []
    failed: set[str] = set()
    for line in lines:
        if line[:2] != '{"' or not (match := _EVENT.fullmatch(line)):
            continue
        action, package, test = match.groups()
        if test is None:
            broken = action == "fail" and package not in failed
            runs.append(Summary("go test", failed=int(broken)))
        elif "/" not in test:
            if action == "fail":
                failed.add(package)
            runs.append(
                Summary(
                    "go test", int(action == "pass"), int(action == "fail"), int(action == "skip")
                )
            )
    return runs
