"""The names of variables that hold credentials, as outputs mention them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from planbound.source.pattern import lazy_pattern

CREDENTIAL = (
    r"(?-i:(?<![A-Za-z0-9_])(?:[A-Z][A-Z0-9]{0,30}_){1,6}"
    r"(?:KEY|KEY_ID|TOKEN|SECRET|PASSWORD|PASSWD|PAT|CREDENTIALS?|APIKEY)(?![A-Za-z0-9_]))"
)
"""Matches such a name in any pattern: `OPENAI_API_KEY`, `GH_TOKEN`."""
_NAME = lazy_pattern(CREDENTIAL)
_ANNOUNCED = lazy_pattern(
    r"(?:environment|env) var(?:iable)?s?:? [\"'`$]{0,2}"
    r"(?-i:([A-Z][A-Z0-9_]{2,63}))(?![A-Za-z0-9_])",
    re.IGNORECASE,
)
_AROUND = 3


def is_credential(name: str) -> bool:
    """Say whether a variable of this name holds a credential."""
    return _NAME.fullmatch(name) is not None


def credential_near(lines: Sequence[str], index: int) -> str | None:
    """Return the variable that a line, or one of the few around it, names."""
    around = lines[max(0, index - _AROUND) : index + _AROUND + 1]
    for line in (lines[index], *around):
        if match := _NAME.search(line):
            return match.group()
        if match := _ANNOUNCED.search(line):
            return match[1]
    return None
