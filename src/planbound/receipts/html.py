"""HTML that cannot say more than it is meant to: elements from functions, and text that is text.

A `Html` is made here and nowhere else. Whatever is not one is text: it is escaped, and characters
that hide or turn round what stands beside them are shown as their code points. Names of elements
and attributes are those of two short lists; there is no element that runs, loads or embeds
anything, no attribute that does, and no link that leaves the page.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Final

from planbound.source import told_apart, visible

_HTML = frozenset(
    "a article b body br caption code dd del details div dl dt em footer h1 h2 h3 h4 h5 h6 head"
    " header hr html ins li main meta nav ol p pre section small span strong style summary table"
    " tbody td th thead time title tr ul".split()
)
_SVG = frozenset("circle defs desc g line path pattern polyline rect svg text".split())
_VOID = frozenset({"br", "hr", "meta"})
_ATTRIBUTES = frozenset(
    "charset class colspan content d datetime dir fill height href http-equiv id lang name open"
    " role scope stroke tabindex transform type viewBox width x x1 x2 y y1 y2 cx cy r points"
    " patternUnits text-anchor".split()
) | frozenset(f"aria-{name}" for name in "describedby hidden label labelledby".split())
_ID = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,79}")
_INNER = re.compile(r"url\(#[A-Za-z][A-Za-z0-9_.-]{0,79}\)|none|currentColor")


class Html:
    """A piece of a page; only this module makes one."""

    __slots__ = ("_text",)

    def __init__(self, text: str, key: object) -> None:
        if key is not _KEY:
            raise TypeError("HTML is made of elements and text, and never of a string")
        self._text = text

    def __str__(self) -> str:
        """Return it as it stands in a page."""
        return self._text

    def __len__(self) -> int:
        return len(self._text)


_KEY: Final = object()
Content = Html | str | int | None | Iterable["Html | str | int | None"]
"""What stands in an element: what is no `Html` is text, and None is nothing."""
NOTHING: Final = Html("", _KEY)


def text(value: str) -> Html:
    """Return a text, with every character that cannot be seen as its code point."""
    return Html("".join(_told(value)), _KEY)


def _told(value: str) -> Iterator[str]:
    for plain, hidden in told_apart(value):
        yield _escaped(plain)
        for character, count in _runs(hidden):
            times = f" ×{count}" if count > 1 else ""
            yield f'<span class="unseen">{_code_point(character)}{times}</span>'


def _runs(hidden: str) -> Iterator[tuple[str, int]]:
    for match in re.finditer(r"(.)\1*", hidden, re.DOTALL):
        yield match[1], len(match[0])


def _code_point(character: str) -> str:
    """Return how a character is called; a byte that is no text by its number."""
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF or 0xEF80 <= code <= 0xEFFF:
        return f"byte {code & 0xFF:02X}"
    return f"U+{code:04X}"


def _escaped(value: str) -> str:
    value = value.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return value.replace('"', "&quot;").replace("'", "&#39;")


def join(*content: Content) -> Html:
    """Return pieces one after the other."""
    return Html("".join(map(_piece, _flat(content))), _KEY)


def _flat(content: Iterable[Content]) -> Iterator[Html | str | int | None]:
    for each in content:
        if each is None or isinstance(each, Html | str | int):
            yield each
        else:
            yield from each


def _piece(each: Html | str | int | None) -> str:
    match each:
        case None:
            return ""
        case Html():
            return str(each)
        case str():
            return str(text(each))
        case int():
            return str(int(each))
        case _:
            raise TypeError(f"a `{type(each).__name__}` is no part of a page")


def element(name: str, /, *content: Content, **attributes: str | int | bool | None) -> Html:
    """Return an element.

    An attribute that is None or False is left out, and True stands for one without a value. A
    trailing `_` is dropped, other `_` are `-`: `class_`, `aria_label`.
    """
    if name not in _HTML and name not in _SVG:
        raise ValueError(f"there is no element `{name}` in our pages")
    if name == "style":
        raise ValueError("a style is made by `style`")
    return _element(name, "".join(map(_piece, _flat(content))), attributes)


def _element(name: str, inner: str, attributes: dict[str, str | int | bool | None]) -> Html:
    given = "".join(chain.from_iterable(_attribute(*each) for each in attributes.items()))
    if name in _VOID:
        if inner:
            raise ValueError(f"nothing stands in `{name}`")
        return Html(f"<{name}{given}>", _KEY)
    return Html(f"<{name}{given}>{inner}</{name}>", _KEY)


def _attribute(written: str, value: str | int | bool | None) -> Iterator[str]:  # noqa: FBT001
    name = written.rstrip("_").replace("_", "-")
    if name not in _ATTRIBUTES:
        raise ValueError(f"there is no attribute `{name}` in our pages")
    if value is None or value is False:
        return
    if value is True:
        yield f" {name}"
        return
    said = str(value)
    if name == "href" and not (said.startswith("#") and _ID.fullmatch(said[1:])):
        raise ValueError("a link leads to a place of the same page")
    if name in {"id", "aria-labelledby", "aria-describedby"} and not _ID.fullmatch(said):
        raise ValueError(f"`{visible(said)}` is no id")
    if name in {"fill", "stroke"} and not _INNER.fullmatch(said):
        raise ValueError("colours stand in the style sheet")
    yield f' {name}="{_escaped(visible(said))}"'


def identity(*parts: object) -> str:
    """Return an id for a place in a page: readable where it can be, and unlike all others."""
    plain = "-".join(str(part) for part in parts)
    if _ID.fullmatch(plain):
        return plain
    kept = re.sub(r"[^A-Za-z0-9_.-]+", "-", plain)[:40].strip("-.") or "place"
    digest = hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return f"at-{kept}-{digest}"


# -- a whole page --------------------------------------------------------------------------------


class StyleSheet:
    """A style sheet that stands in our own code: the one text that goes into a page as it is."""

    def __init__(self, constant: str) -> None:
        if "<" in constant or "url(" in constant or "@import" in constant:
            raise ValueError("a style sheet loads nothing, and ends where it ends")
        self.text = constant

    @property
    def source(self) -> str:
        """Return by what a policy allows it."""
        digest = hashlib.sha256(self.text.encode("utf-8")).digest()
        return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def policy(style: StyleSheet) -> str:
    """Return what a browser may do with a page: show it, in this style, and nothing else."""
    return (
        f"default-src 'none'; script-src 'none'; style-src {style.source};"
        " base-uri 'none'; form-action 'none'"
    )


def document(title: str, style: StyleSheet, *content: Content) -> Html:
    """Return a page of one file, which loads nothing and runs nothing."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", visible(title)),
        _element("style", style.text, {}),
    )
    page = element("html", head, element("body", *content), lang="en")
    return Html(f"<!DOCTYPE html>\n{page}\n", _KEY)
