"""What is said in the Test Anything Protocol: `1..2`, `ok 1 - one`, `not ok 2 - two`."""

from __future__ import annotations

import re

from planbound.script.runners.runner import COUNT, Summary, number
from planbound.source import lazy_pattern

# Only what stands at the start of a line: the tests inside of a test are not counted.
_LINE = lazy_pattern(
    rf"^(?:(ok|not ok)(?: {COUNT})?(?: (.{{0,2000}}))?|1\.\.({COUNT})(?: #.{{0,500}})?"
    r"|(TAP version 1[0-9])|(Bail out!).{0,500})$",
    re.MULTILINE,
)
_LEFT_OUT = lazy_pattern(r"(?i)(?:^|[^\\])# ?(?:skip|todo)")


def read(text: str) -> Summary | None:
    """Return what is said in TAP; None where there is no plan (`1..2`)."""
    passed = failed = skipped = planned = 0
    plans = spoken = False
    for result, description, plan, version, bail in _LINE.findall(text):
        if plan:
            plans = True
            planned += number(plan)
            spoken = spoken or not number(plan)
        elif version:
            spoken = True
        elif bail:
            failed += 1
        elif _LEFT_OUT.search(description):
            skipped += 1
        else:
            passed += result == "ok"
            failed += result != "ok"
    if not plans or not (spoken or passed or failed or skipped):
        return None
    # What was planned and did not come has failed.
    missing = max(0, planned - passed - failed - skipped)
    return Summary("tap", passed, failed + missing, skipped)
