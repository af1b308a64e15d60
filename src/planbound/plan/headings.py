"""What the heading of a step says: number, status mark, title, dependencies."""

from __future__ import annotations

import re
from typing import NamedTuple

from planbound.plan.labels import is_template, normalise_label
from planbound.plan.model import StepStatus
from planbound.source.pattern import lazy_pattern

# How people write `N` templates: `3–N`, `3-N`, `3..N`, `N`, `N+1`; and plain numbers.
_NUMBER = (
    r"(?P<number>\d{1,6}\s*(?:[-–—−]|\.\.+|…|to)\s*N|N\s*\+\s*\d{1,4}|N"
    r"|\d{1,6}(?:\.\d{1,6})*[a-z]?)"
)
_WORD = (
    r"(?:(?:step|task|phase|schritt|étape|etape|paso|passo|шаг|步骤|步驟|第|ステップ|手順|단계)"
    r"\s*(?:#|no\.?|nr\.?)?\s*)?"
)
_SIGNS = "✅|✔️|✔|☑️|☑|🆗|❌|✖️|⏳|🔄|🚧|⏭️|⏭|⛔|🖋️|🖋|🟡|⬜|◻️"
_ONE_MARK = rf"\[[ xX~=!-]\]|{_SIGNS}"
_MARKS = rf"(?:(?:{_ONE_MARK})\s*)*"
_STEP = lazy_pattern(
    rf"(?P<before>{_MARKS})(?P<word>{_WORD})(?P<open>[#(]?){_NUMBER}\s*(?:步|단계)?"
    rf"(?P<separator>[.)．。、](?!\d)|\s*[:：]|\s+[-–—]+(?=\s)|(?=\s|$))\s*"
    rf"(?P<behind>{_MARKS})(?P<title>.*)",
    re.IGNORECASE | re.DOTALL,
)
_FIRST_MARK = lazy_pattern(_ONE_MARK)
_DEPENDS = lazy_pattern(
    r"\s*[(\[（]\s*depends?(?:\s+on)?\s*:?\s*(?P<what>[^()（）\[\]]*)[)\]）]", re.IGNORECASE
)
_SIGN_BEHIND = lazy_pattern(rf"\s*(?P<sign>{_SIGNS})\s*$")
_BOLD = lazy_pattern(r"(\*\*|__)(?P<text>.+)\1\s*$", re.DOTALL)

_STATUS_OF = {
    **dict.fromkeys(("✅", "✔️", "✔", "[x]", "[X]"), StepStatus.DONE),
    **dict.fromkeys(("☑️", "☑", "[~]"), StepStatus.CLAIMED),
    **dict.fromkeys(("🆗", "[=]"), StepStatus.HOLDS),
    **dict.fromkeys(("❌", "✖️"), StepStatus.FAILED),
    **dict.fromkeys(("⏳", "🔄", "🚧", "[-]"), StepStatus.IN_PROGRESS),
    **dict.fromkeys(("⏭️", "⏭"), StepStatus.SKIPPED),
    **dict.fromkeys(("⛔", "[!]"), StepStatus.BLOCKED),
    **dict.fromkeys(("🖋️", "🖋"), StepStatus.ATTESTED),
    "🟡": StepStatus.WAIVED,
    **dict.fromkeys(("[ ]", "⬜", "◻️"), StepStatus.PENDING),
}


class StepHeading(NamedTuple):
    """A heading read as a step's. Offsets are into the heading's text."""

    label: str
    number: int | None
    number_range: tuple[int, int]
    """Where the number stands."""
    title: str
    title_start: int
    canonical: bool
    """Whether it is written as `N. title`, with the status mark behind the number."""
    status: StepStatus | None
    mark: tuple[int, int] | None
    """Where the status mark stands."""
    depends: str | None
    depends_start: int


def read_step_heading(text: str) -> StepHeading | None:
    """Return what a heading says if it can be a step's."""
    bold = _BOLD.match(text)
    shift = bold.start("text") if bold else 0
    match = _STEP.match(bold["text"] if bold else text)
    if match is None:
        return None
    label = normalise_label(match["number"])
    # `Step 3` and `3–N` need no sign behind the number; `3 blind mice` is not a step.
    if not match["separator"].strip() and not match["word"] and not is_template(label):
        return None
    title, title_start = match["title"], shift + match.start("title")
    depends = _DEPENDS.search(title)
    mark = _mark(match, shift)
    behind = _SIGN_BEHIND.search(title) if mark is None else None
    if behind:
        place = (title_start + behind.start("sign"), title_start + behind.end("sign"))
        mark = _Mark(_STATUS_OF[behind["sign"]], place)
    rest = title[: behind.start()] if behind else title
    if depends:
        rest = rest[: depends.start()] + rest[depends.end() :]
    return StepHeading(
        label=label,
        number=int(label) if label.isdecimal() else None,
        number_range=(shift + match.start("number"), shift + match.end("number")),
        title=rest.strip(),
        title_start=title_start,
        canonical=_is_canonical(match, text, title_start, rest, depends),
        status=mark.status if mark else None,
        mark=mark.range if mark else None,
        depends=depends["what"] if depends else None,
        depends_start=title_start + (depends.start("what") if depends else 0),
    )


class _Mark(NamedTuple):
    """Status marks that were found: what the first says, where all of them stand."""

    status: StepStatus
    range: tuple[int, int]


def _mark(match: re.Match[str], shift: int) -> _Mark | None:
    """Return the marks behind the number or, failing that, those before it."""
    for name in ("behind", "before"):
        first = _FIRST_MARK.match(match[name])
        if first:
            end = match.start(name) + len(match[name].rstrip())
            return _Mark(_STATUS_OF[first.group()], (match.start(name) + shift, end + shift))
    return None


def _is_canonical(
    match: re.Match[str],
    text: str,
    title_start: int,
    title: str,
    depends: re.Match[str] | None,
) -> bool:
    """Say whether a heading is written as `N. title (depends on M)`."""
    sign = match["behind"]
    if sign.strip().startswith("[") or match["before"]:
        return False
    front = f"{match['number']}. {sign}" if title.strip() or depends else f"{match['number']}."
    ends_well = depends is None or not match["title"][depends.end() :].strip()
    return (
        text[:title_start].rstrip() == front.rstrip()
        and ends_well
        and (not title.strip() or text[:title_start] == front)
    )
