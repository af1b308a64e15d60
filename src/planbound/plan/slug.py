"""Names of plans: `foo`, `foo.md` and `PLAN-foo.md` mean the same plan."""

from __future__ import annotations

import unicodedata

UNNAMED = "PLAN"
"""What the plan in `PLAN.md` is called."""
MAX_LENGTH = 100


class SlugError(ValueError):
    """A name that cannot be a plan's; the message says why."""


def parse_slug(name: str) -> str:
    """Return the slug that a name means; raise SlugError where it is none."""
    slug = name.strip().removesuffix(".md")
    if slug.startswith("PLAN-"):
        slug = slug.removeprefix("PLAN-")
    if not slug:
        raise SlugError("the name is empty")
    if slug in {".", ".."} or "/" in slug or "\\" in slug:
        raise SlugError(f"`{name}` is not one path component")
    bad = next((c for c in slug if unicodedata.category(c)[0] == "C"), None)
    if bad is not None:
        raise SlugError(f"the name holds the character U+{ord(bad):04X}")
    if slug.startswith((".", "-")) or len(slug.encode()) > MAX_LENGTH:
        raise SlugError(
            f"`{slug[:40]}` begins with `{slug[0]}`"
            if slug[0] in ".-"
            else f"the name is longer than {MAX_LENGTH} bytes"
        )
    return slug


def file_name(slug: str) -> str:
    """Return the name of a plan's file."""
    return "PLAN.md" if slug == UNNAMED else f"PLAN-{slug}.md"


def slug_of(file: str) -> str:
    """Return the slug of a plan's file, whatever it is called."""
    return UNNAMED if file == "PLAN.md" else file.removesuffix(".md").removeprefix("PLAN-") or file


def is_plan_file(file: str) -> bool:
    """Say whether a file of `.harness/` holds a plan by its name."""
    return file == "PLAN.md" or (
        file.startswith("PLAN-") and file.endswith(".md") and len(file) > len("PLAN-.md")
    )
