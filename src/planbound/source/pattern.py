"""Regular expressions that are compiled when they are first used.

Compiling takes a fifth of the time that a short command has, and most patterns are for what most
plans do not hold.
"""

from __future__ import annotations

import re
from typing import Any, cast


class _Lazy:
    """Stands for a compiled pattern; each method is looked up once."""

    def __init__(self, text: str, flags: int) -> None:
        self._text = text
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        value = getattr(re.compile(self._text, self._flags), name)
        self.__dict__[name] = value
        return value


def lazy_pattern(text: str, flags: int = 0) -> re.Pattern[str]:
    """Return what behaves like `re.compile(text, flags)`."""
    return cast("re.Pattern[str]", _Lazy(text, flags))
