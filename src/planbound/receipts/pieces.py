"""Small pieces of pages: words, times, amounts, lists, tables, outputs and differences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal

from planbound.receipts.html import Content, Html, element, join, text
from planbound.receipts.tree_changes import FileDifference, TreeDiff

SAID = 2_000
"""So many characters are shown of what somebody says in one place."""


ROWS = 400
"""So many rows of a table or a list are shown."""


# -- words ---------------------------------------------------------------------------------------


_COLOURS = {
    "proved": "good", "done": "good", "pass": "good", "holds": "soft", "approved": "soft",
    "verified": "soft", "in-progress": "soft", "done with skips": "warn", "claimed": "warn",
    "attested": "warn", "waived": "warn", "skipped": "warn", "waiting": "warn", "vacuous": "warn",
    "finished with blocked items": "warn", "failed": "bad", "fail": "bad", "blocked": "bad",
    "timeout": "bad", "unrunnable": "bad", "killed": "bad", "flaky": "bad", "tampered": "bad",
    "out-of-scope": "bad", "weaker": "bad", "rejected": "bad", "cancelled": "bad",
}  # fmt: skip

_NEARLY = 30
"""So many characters more than there is room for take no more of it than the word for a gap."""


def colour_of(word: str) -> str:
    """Return the colour of a word: it says no more than the word does."""
    return _COLOURS.get(word, "none")


def word(said: str) -> Html:
    """Return a word that says where something is."""
    return element("span", said, class_=f"word {colour_of(said)}")


def heading(level: int, *content: Content, id: str | None = None) -> Html:  # noqa: A002 - HTML's word
    """Return a heading; below the sixth there is no other."""
    return element(f"h{min(level, 6)}", *content, id=id)


def moment(when: str) -> Html:
    """Return a time of the journal."""
    return element("time", f"{when[:19].replace('T', ' ')} UTC", datetime=f"{when[:19]}Z")


def said(value: str, most: int = SAID) -> Html:
    """Return what somebody says, as part of a line; of very much only both ends."""
    line = " ".join(value.split())
    begin, left_out, end = cut(line, most if len(line) > most + _NEARLY else len(line))
    gap = f" [… {left_out:,} characters left out …] " if left_out else ""
    return element("span", text(begin), gap or None, text(end), class_="said")


def cut(value: str, most: int) -> tuple[str, int, str]:
    """Return both ends of a text, and how many characters between them are left out."""
    if len(value) <= most:
        return value, 0, ""
    head = most // 3
    return value[:head], len(value) - most, value[len(value) - (most - head) :]


def facts(*pairs: tuple[str, Content]) -> Html | None:
    """Return what is known of something, each with its name; None where nothing is."""
    known = [(name, value) for name, value in pairs if value is not None and value != ""]
    if not known:
        return None
    listed = (join(element("dt", name), element("dd", value)) for name, value in known)
    return element("dl", listed, class_="facts")


def listed(items: Iterable[Content]) -> Html | None:
    """Return a list; None where there is nothing in it."""
    found = [element("li", each) for each in items]
    return element("ul", found) if found else None


def fold_away(title: Content, *content: Content, open: bool = False) -> Html:  # noqa: A002 - HTML's word
    """Return what can be folded away; on paper it is there."""
    return element("details", element("summary", title), *content, open=open)


def amount(tokens: int | None, dollars: Decimal | None) -> str:
    """Return what was used; what nobody knows is said to be unknown."""
    parts = (
        "tokens unknown" if tokens is None else f"{tokens:,} tokens",
        "cost unknown" if dollars is None else f"${dollars:.4f}".rstrip("0").rstrip("."),
    )
    return ", ".join(parts)


def table(caption: str, titles: Sequence[str], rows: Sequence[Content]) -> Html:
    """Return a table that can be moved where it is too wide; very long ones are cut with a word."""
    left_out = max(0, len(rows) - ROWS)
    head = element("tr", (element("th", each, scope="col") for each in titles))
    more = element("p", f"{left_out:,} more rows are left out.") if left_out else None
    return join(
        element(
            "div",
            element(
                "table",
                element("caption", caption),
                element("thead", head),
                element("tbody", join(*rows[:ROWS])),
            ),
            class_="scroll",
            tabindex=0,
            role="region",
            aria_label=caption,
        ),
        more,
    )


# -- outputs and differences ---------------------------------------------------------------------


def output(head: str | None, tail: str | None, size: int | None, most: int) -> Html | None:
    """Return what was printed, both ends of it, and in a line of its own that there is more."""
    end = tail or ""
    if not head:
        begin, left_out, end = cut(end, most)
        gap = f"{left_out:,} characters" if left_out else ""
    else:
        share = most // 3
        begin, end = head[:share], end[-(most - share) :]
        gap = f"of {size:,} bytes in all, the middle" if size is not None else "the middle"
    if not begin and not end:
        return None
    middle = element("em", f"\n[… {gap} is left out …]\n") if gap else None
    return element("pre", text(begin), middle, text(end))


def diff(lines: str) -> Html:
    """Return a difference; the signs at the beginnings of the lines say what the colours do."""
    return element("pre", _diff_lines(lines))


def _diff_lines(lines: str) -> Iterator[Html]:
    for line in lines.split("\n"):
        if line.startswith("+") and not line.startswith("+++"):
            yield element("ins", text(line) if line else "")
        elif line.startswith("-") and not line.startswith("---"):
            yield element("del", text(line))
        else:
            yield join(text(line), "\n")


def tree_diff(found: TreeDiff, level: int) -> Html | None:
    """Return what changed, within and outside of what may be changed."""
    if found.unknown:
        return element("p", f"What changed is not known: {found.unknown}.")
    if not found.within and not found.outside:
        return None
    within, outside = len(found.within), len(found.outside)
    more = f", and {found.more} more" if found.more else ""
    title = f"Changed files: {within} within what it may touch, {outside} outside{more}"
    return fold_away(
        title,
        _files("Outside of what it may touch", found.outside, level) if found.outside else None,
        _files("Within what it may touch", found.within, level) if found.within else None,
        open=bool(found.outside),
    )


def _files(title: str, files: Sequence[FileDifference], level: int) -> Html:
    return join(
        heading(level, title),
        (
            join(element("p", element("code", text(each.path)), f" {each.how}"), diff(each.lines))
            for each in files
        ),
    )
