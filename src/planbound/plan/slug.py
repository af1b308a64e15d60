"""Names of plans: `foo`, `foo.md` and `PLAN-foo.md` mean the same plan."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection, Iterable

from planbound.source import lazy_pattern

# -- names of plans: `foo`, `foo.md` and `PLAN-foo.md` mean the same plan ------------------------


UNNAMED = "PLAN"
"""What the plan in `PLAN.md` is called."""
MAX_LENGTH = 100
_PREFIX, _SUFFIX = "PLAN-", ".md"
_BLANKS = " \t\r\n"


class SlugError(ValueError):
    """A name that cannot be a plan's; the message says why."""


def parse_slug(name: str) -> str:
    """Return the slug that a name means; raise SlugError where it is none."""
    written = name.strip(_BLANKS)
    slug = written.removesuffix(_SUFFIX).removeprefix(_PREFIX)
    if not slug:
        raise SlugError("the name is empty")
    bad = next((c for c in slug if unicodedata.category(c)[0] == "C"), None)
    if bad is not None:
        raise SlugError(f"the name holds the character U+{ord(bad):04X}")
    if slug in {".", ".."} or "/" in slug or "\\" in slug:
        raise SlugError(f"`{written[:MAX_LENGTH]}` is not one path component")
    if slug[0] in ".-":
        raise SlugError(f"`{slug[:40]}` begins with `{slug[0]}`")
    if slug != slug.strip():
        raise SlugError(f"`{slug[:40]}` begins or ends with white space")
    if len(slug.encode()) > MAX_LENGTH:
        raise SlugError(f"the name is longer than {MAX_LENGTH} bytes")
    # Taken apart once more it would mean another plan: such a name is nobody's.
    if slug.startswith(_PREFIX) or slug.endswith(_SUFFIX):
        raise SlugError(f"`{written}` has `{_PREFIX}` or `{_SUFFIX}` twice")
    if slug == UNNAMED and written.startswith(_PREFIX):
        raise SlugError(f"`{UNNAMED}` is the name of the plan in `PLAN.md`")
    return slug


def file_name(slug: str) -> str:
    """Return the name of a plan's file."""
    return "PLAN.md" if slug == UNNAMED else f"{_PREFIX}{slug}{_SUFFIX}"


def progress_name(slug: str) -> str:
    """Return the name of the file with a plan's progress."""
    return "progress.md" if slug == UNNAMED else f"progress-{slug}.md"


def is_progress_name(name: str) -> bool:
    """Say whether a file is called as one with a plan's progress."""
    return name == "progress.md" or (name.startswith("progress-") and name.endswith(".md"))


def slug_of(file: str) -> str:
    """Return the slug of a plan's file, whatever it is called."""
    if file == "PLAN.md":
        return UNNAMED
    return file.removesuffix(_SUFFIX).removeprefix(_PREFIX) or file


def is_plan_file(file: str) -> bool:
    """Say whether a file of `.harness/` holds a plan by its name."""
    try:
        return file == file_name(parse_slug(file))
    except SlugError:
        return False


def look_alikes(file: str, files: Iterable[str]) -> list[str]:
    """Return the other files whose names differ only in case or in how accents are encoded."""
    folded = _folded(file)
    return sorted(other for other in files if other != file and _folded(other) == folded)


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


# -- copies that file synchronisers, file managers and editors leave beside a file ---------------


_INSIDE = r"(?:[^()]|\([^()]*\))*"
_MARKS = lazy_pattern(
    rf"\s*\({_INSIDE}\b(?:conflicted copy|case conflict)\b{_INSIDE}\)"
    r"|\s*\[conflict(?:ed)?(?![^\s\]])[^\]]*\]"
    r"|\.sync-conflict-[0-9A-Za-z-]*"
    r"|_conflict-\d{8}-\d{6}"
    r"|\ - copy(?:\ \(\d+\))?(?=\.\w+$|$)",
    re.IGNORECASE,
)
"""What no plan is called: a copy, whether or not the original is still there."""
_COPY_PREFIX = lazy_pattern(r"copy (?:\(\d+\) )?of (?=\S)", re.IGNORECASE)
_BESIDE = lazy_pattern(r"(?: ?\(\d+\)| copy(?: \d+)?)(?=\.\w+$|$)")
"""What a plan may well be called: a copy only beside the original."""
_EDITOR = lazy_pattern(r"\.#(.+)|(.+?)~+", re.DOTALL)


def conflict_of(name: str, names: Collection[str]) -> str | None:
    """Return the name of the file that a file is a copy of; None where it is no copy.

    `names` are the files in the same folder.
    """
    original = name
    # A copy of a copy leads to the file that both are of. Every turn makes the name shorter.
    while (shorter := _original(original, names)) is not None:
        original = shorter
    return original if original != name else None


def is_left_by_editor(name: str) -> bool:
    """Say whether a copy is an editor's own: it casts no doubt on the file itself."""
    return _EDITOR.fullmatch(name) is not None


def _original(name: str, names: Collection[str]) -> str | None:
    by_editor = _EDITOR.fullmatch(name)
    if by_editor:
        return by_editor[1] or by_editor[2]
    if prefix := _COPY_PREFIX.match(name):
        return name[prefix.end() :]
    without, marks = _MARKS.subn("", name)
    if marks and _has_stem(without.strip()):
        return without.strip()
    beside = _BESIDE.sub("", name)
    return beside if beside != name and beside in names else None


def _has_stem(name: str) -> bool:
    return bool(name) and not re.fullmatch(r"\.\w+", name)
