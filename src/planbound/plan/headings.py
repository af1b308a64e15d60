"""What the heading of a step says: number, status mark, title, dependencies."""

from __future__ import annotations

import re
from dataclasses import dataclass

from planbound.plan.model import StepStatus

# How people write `N` templates: `3–N`, `3-N`, `3..N`, `N`, `N+1`; and plain numbers.
_NUMBER = (
    r"(?P<number>\d{1,6}\s*(?:[-–—−]|\.\.+|…|to)\s*N|N\s*\+\s*\d{1,4}|N"
    r"|\d{1,6}(?:\.\d{1,6})*[a-z]?)"
)
_WORD = (
    r"(?:(?:step|task|phase|schritt|étape|etape|paso|passo|шаг|步骤|步驟|第|ステップ|手順|단계)"
    r"\s*(?:#|no\.?|nr\.?)?\s*)?"
)
_SIGN = r"(?:\[(?P<box{n}>[ xX~!-])\]|(?P<sign{n}>✅|✔️|✔|☑️|☑|❌|✖️|⏳|🔄|🚧|⏭️|⏭|⛔|🟡|⬜|◻️))"
_STEP = re.compile(
    rf"(?:{_SIGN.format(n=1)}\s*)?(?P<word>{_WORD})#?{_NUMBER}\s*(?:步|단계)?"
    rf"(?P<separator>[.)．。、](?!\d)|\s*[:：]|\s+[-–—]+(?=\s)|(?=\s|$))\s*"
    rf"(?:{_SIGN.format(n=2)}\s*)?(?P<title>.*)",
    re.IGNORECASE | re.DOTALL | re.ASCII,
)
_DEPENDS = re.compile(r"\s*[(\[（]\s*depends?(?:\s+on)?\s*:?\s*(?P<what>[^()（）\[\]]*)[)\]）]\s*$", re.I)
_BOLD = re.compile(r"(\*\*|__)(?P<text>.+)\1\s*$", re.DOTALL)

_STATUS_OF = {
    **dict.fromkeys(("✅", "✔️", "✔", "x", "X"), StepStatus.DONE),
    **dict.fromkeys(("☑️", "☑", "~"), StepStatus.CLAIMED),
    **dict.fromkeys(("❌", "✖️"), StepStatus.FAILED),
    **dict.fromkeys(("⏳", "🔄", "🚧", "-"), StepStatus.IN_PROGRESS),
    **dict.fromkeys(("⏭️", "⏭"), StepStatus.SKIPPED),
    **dict.fromkeys(("⛔", "!"), StepStatus.BLOCKED),
    "🟡": StepStatus.WAIVED,
    **dict.fromkeys((" ", "⬜", "◻️"), StepStatus.PENDING),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StepHeading:
    """A heading read as a step's. Offsets are into the heading's text."""

    label: str
    number: int | None
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
    if match is None or (not match["separator"].strip() and not _is_spoken(match)):
        return None
    label = normalise_label(match["number"])
    title = match["title"]
    depends = _DEPENDS.search(title)
    sign = next((n for n in ("sign2", "box2", "sign1", "box1") if match[n] is not None), None)
    mark = _mark_range(match, sign, shift) if sign else None
    return StepHeading(
        label=label,
        number=int(label) if label.isdecimal() else None,
        title=(title[: depends.start()] if depends else title).strip(),
        title_start=shift + match.start("title"),
        canonical=not bold
        and not match["word"]
        and match["separator"] == "."
        and (sign in {None, "sign2"}),
        status=_STATUS_OF[match[sign]] if sign else None,
        mark=mark,
        depends=depends["what"] if depends else None,
        depends_start=shift + match.start("title") + (depends.start("what") if depends else 0),
    )


def _is_spoken(match: re.Match[str]) -> bool:
    """`Step 3` needs no sign behind the number; `3 blind mice` is not a step."""
    return bool(match["word"])


def _mark_range(match: re.Match[str], sign: str, shift: int) -> tuple[int, int]:
    around = 1 if sign.startswith("box") else 0
    return match.start(sign) - around + shift, match.end(sign) + around + shift


def normalise_label(written: str) -> str:
    """Return `3-N` for `3 – n`, `N+1` for `N + 1`, `3` for `03`."""
    compact = re.sub(r"\s+", "", written)
    compact = re.sub(r"[–—−]|\.\.+|…|to", "-", compact, flags=re.IGNORECASE)
    if compact.isdecimal():
        return str(int(compact))
    return re.sub(r"n", "N", compact) if re.search(r"n", compact, re.IGNORECASE) else compact


_REFERENCE = re.compile(
    r"(?P<template>\d{1,6}\s*[-–—−]\s*N\b|N\s*\+\s*\d{1,4}|N\b)"
    r"|(?P<low>\d{1,6})\s*(?:[-–—−]|\.\.+|\bto\b)\s*(?P<high>\d{1,6})"
    r"|(?P<one>\d{1,6})"
    r"|(?P<none>none|nothing|n/a|[-–—]|no\b)"
    r"|(?P<filler>steps?\b|tasks?\b|and\b|[\s,;&#.+])"
    r"|(?P<junk>[^\s,;]+)",
    re.IGNORECASE | re.ASCII,
)
MAX_RANGE = 10_000


def read_references(text: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """Return the step labels that a text names, and what in it is no label, with their ranges."""
    labels: list[tuple[str, int, int]] = []
    junk: list[tuple[str, int, int]] = []
    for match in _REFERENCE.finditer(text):
        place = (match.start(), match.end())
        if match["low"] is not None:
            low, high = int(match["low"]), int(match["high"])
            if low < high <= low + MAX_RANGE:
                labels += [(str(number), *place) for number in range(low, high + 1)]
            else:
                junk.append((match.group(), *place))
        elif match["one"] or match["template"]:
            labels.append((normalise_label(match.group()), *place))
        elif match["junk"]:
            junk.append((match.group(), *place))
    return labels, junk
