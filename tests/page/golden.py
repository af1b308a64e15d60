"""What pages say to a screen reader, as files that a person can read.

`PLANBOUND_GOLDEN=1 pytest tests/page/test_browser_views.py` writes them anew.
"""

from __future__ import annotations

import difflib
import os
import re
from pathlib import Path

FOLDER = Path(__file__).parent / "golden"
WRITE = "PLANBOUND_GOLDEN"
_UNSTEADY = (
    (re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?"), "MOMENT"),
    (re.compile(r"\b\d\d:\d\d:\d\d UTC"), "MOMENT"),
    (re.compile(r"\b[0-9a-f]{8,64}\b"), "DIGEST"),
    # A digest that could be a number is quoted in YAML.
    (re.compile(r'(?m)(?<=: )"DIGEST"$'), "DIGEST"),
    (re.compile(r"\bsed[A-Za-z0-9]{6}\b"), "sedXXXXXX"),
    # What Python says differs from version to version.
    (re.compile(r"(?m)^( *- (?:'?group|text|code)).*(?:Traceback|Ran \d+ test).*$"), r"\1: OUTPUT"),
    (re.compile(r"python3 \d[\d.]+ \(\S+\)"), "python3 VERSION"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:ms|s|min)\b(?: \d+ s\b)?"), "SECONDS"),
    (re.compile(r"(?<=in )\d+\.\d+s\b"), "SECONDS"),
    (re.compile(r"(?:/[\w.-]+)+/billing/(?=tests)"), "PROJECT/"),
)


def steady(said: str) -> str:
    """Return what a page says without moments, digests and times."""
    for pattern, name in _UNSTEADY:
        said = pattern.sub(name, said)
    return said + "\n"


def changes(name: str, said: str) -> list[str]:
    """Return the lines that a page says otherwise than when somebody last looked at it."""
    file = FOLDER / f"{name}.yaml"
    if os.environ.get(WRITE):
        FOLDER.mkdir(exist_ok=True)
        file.write_text(said, encoding="utf-8")
    before = file.read_text(encoding="utf-8").splitlines()
    found = difflib.unified_diff(before, said.splitlines(), str(file.name), "now", n=2, lineterm="")
    return list(found)
