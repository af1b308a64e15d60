"""What pytest says: `=== 1 failed, 2 passed in 0.12s ===`, without the frame under `-q`."""

from __future__ import annotations

from planbound.engine.judging.summary.model import COUNT, Summary, added, counts
from planbound.source.pattern import lazy_pattern

_LAST = lazy_pattern(
    rf"(={{1,500}} )?(no tests ran|{COUNT} [a-z]{{1,20}}(?:, {COUNT} [a-z]{{1,20}}){{0,12}}"
    rf"|(?:no tests|{COUNT}(?:/{COUNT})? tests?) collected(?: \({COUNT} deselected\))?"
    rf"(?:, {COUNT} [a-z]{{1,20}}){{0,2}})"
    r" in [0-9]{1,9}\.[0-9]{2}s(?: \([0-9:, a-z]{1,40}\))?(?: =+)?"
)
_STARTS = lazy_pattern(r"={1,500} test session starts .*")
_PROGRESS = lazy_pattern(r"(?:\S{1,500} )?[.FEsxXR]{1,500}(?: +\[[ 0-9]{3}%\])?")
# The words that a summary may hold; another line that looks alike is no summary.
_WORDS = frozenset({
    "failed", "passed", "skipped", "deselected", "xfailed", "xpassed", "warning", "warnings",
    "error", "errors", "rerun", "subtests", "tests", "test",
})  # fmt: skip


def read(text: str) -> Summary | None:
    """Return what pytest says, all its runs together."""
    if "s" not in text or " in " not in text:
        return None
    runs: list[Summary] = []
    framed = fresh = False
    for line in text.split("\n"):
        if line[:1] == "=" and _STARTS.fullmatch(line):
            framed = fresh = True
        elif match := _LAST.fullmatch(line):
            # What a test printed may look like the summary: the frame says which it is.
            # Without frames the last one says it, until the next run shows its progress.
            if framed and not match[1]:
                continue
            run = _run(match[2])
            if run is None:
                continue
            if not (framed or fresh) and runs:
                runs.pop()
            runs.append(run)
            framed = fresh = False
        elif not framed and _PROGRESS.fullmatch(line):
            fresh = True
    return added("pytest", runs)


def _run(text: str) -> Summary | None:
    found = counts(text)
    if "collected" in text:
        # Only listed: nothing ran.
        return Summary(
            "pytest",
            failed=found.get("error", 0) + found.get("errors", 0),
            deselected=found.get("deselected", 0),
        )
    if not found.keys() <= _WORDS:
        return None
    return Summary(
        "pytest",
        passed=found.get("passed", 0) + found.get("xpassed", 0),
        failed=found.get("failed", 0) + found.get("error", 0) + found.get("errors", 0),
        skipped=found.get("skipped", 0) + found.get("xfailed", 0),
        deselected=found.get("deselected", 0),
    )
