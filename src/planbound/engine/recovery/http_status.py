"""A pattern for a status of HTTP as programs print it."""

from __future__ import annotations

# A number is a status only behind such a word and in front of such an end: `line 429`,
# `403 tests passed` and `error: 500 files` are none.
_BEFORE = (
    r"(?<![a-z])(?:http(?:/[\d.]{1,3})?(?:[ _-](?:status|error|code|response|request)){0,3}"
    r"|(?<!exit[ _])(?:status(?:[ _-]?code)?|code)|error(?:[ _-](?:code|status))?"
    r"|response(?:[ _-](?:code|status))?|returned|answered|failed with)"
    r"[\"']?\s{0,2}(?:[:=(](?!=)|of\b|is\b)?\s{0,2}[\"'(]?"
)
_AFTER = (
    r"(?=\s{0,2}(?:$|[{(\"'\])},;|<]|[.:](?!\w)|[-–—](?!\w))"
    r"|\s(?:for|from|on|when|while|response|error|status)\b)"
)


def http_status(codes: str, phrases: str) -> str:
    """Return a pattern of these codes with a reason, or behind a word that announces a status."""
    return (
        rf"{_BEFORE}(?:{codes})(?!\w)(?:{_AFTER}|\s(?:{phrases}))"
        rf"|(?<![\w.:/-])(?:{codes})(?:,? ?message=['\"]|[ :,]{{1,2}})(?:{phrases})"
        rf"|(?<![a-z])code E(?:{codes})(?!\w)"
    )
