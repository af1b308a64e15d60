"""Where a command runs, and what its relative paths mean there."""

from __future__ import annotations

from collections.abc import Sequence

from planbound.plan.command.tree import Word
from planbound.source.pattern import lazy_pattern

_PLAIN = lazy_pattern(r"[^./][^/]*(?:/[^./][^/]*)*")


def below(directory: str | None, path: str) -> str | None:
    """Return a path as seen from the workspace root; None where it is not certain or outside."""
    if directory is None or path.startswith(("/", "~")):
        return None
    if not directory and _PLAIN.fullmatch(path):
        return path
    parts: list[str] = []
    for part in f"{directory}/{path}".split("/") if directory else path.split("/"):
        if part == "..":
            if not parts:
                return None
            parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def change_directory(directory: str | None, name: str, arguments: Sequence[Word]) -> str | None:
    """Return where `cd` leads to."""
    given = [word for word in arguments if word.text not in {"--", "-P", "-L"}]
    if name == "popd" or len(given) != 1 or given[0].value is None:
        return None
    target = given[0].value
    return None if target[:1] in {"", "-", "+"} or "*" in target else below(directory, target)
