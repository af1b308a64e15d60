"""HTML that cannot say more than it is meant to: elements from functions, and text that is text.

A `Html` is made here and nowhere else. Whatever is not one is text: it is escaped, and characters
that hide or turn round what stands beside them are shown as their code points. Names of elements
and attributes are those of short lists; in what `element` makes there is nothing that runs, loads
or embeds anything, and no link that leaves the page. `served` is for pages that come from our own
server: it has forms, our own scripts, and links to other places of the same server.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Iterator
from functools import partial
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
_SERVED = frozenset(
    "button fieldset form input kbd label legend link main mark nav option output progress script"
    " select textarea".split()
)
_SERVED_VOID = frozenset({"input", "link"})
_SERVED_ATTRIBUTES = frozenset(
    "accept-charset action autocapitalize autocomplete autofocus checked cols defer disabled for"
    " form formaction hidden inputmode label max maxlength method min minlength multiple"
    " placeholder readonly rel required rows selected size spellcheck src step title value wrap"
    " aria-atomic aria-busy aria-controls aria-current aria-expanded aria-invalid aria-live"
    " data-key data-refused data-says data-verify hx-config hx-get hx-post hx-select"
    " hx-sse:close hx-sse:connect hx-status:40x hx-status:50x hx-swap hx-swap-oob hx-target"
    " hx-trigger".split()
)
_ADDRESSES = frozenset(
    {"action", "formaction", "href", "src", "hx-get", "hx-post", "hx-sse:connect"}
)
_LOCAL = re.compile(
    r"/(?:[A-Za-z0-9_.~%:@!,;=+-][A-Za-z0-9_.~%:@!,;=+/-]*)?(?:\?[A-Za-z0-9_.~%:@!,;=+&/-]*)?(?:#[A-Za-z][A-Za-z0-9_.-]{0,79})?"
)
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
_NEW_LINE: Final = Html("\n", _KEY)


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


def served(name: str, /, *content: Content, **attributes: str | int | bool | None) -> Html:
    """Return an element of a page that our own server gives out; attributes as for `element`.

    Addresses are places of that server: they begin with one `/`.
    """
    if name not in _HTML and name not in _SVG and name not in _SERVED:
        raise ValueError(f"there is no element `{name}` in our pages")
    if name == "style":
        raise ValueError("a style is made by `style`")
    if name == "script" and (content or not attributes.get("src")):
        raise ValueError("a script is a file of our own")
    if name == "textarea":
        # The first line end in it is no part of it.
        content = (_NEW_LINE, *content)
    inner = "".join(map(_piece, _flat(content)))
    return _element(name, inner, attributes, is_served=True)


def _element(
    name: str,
    inner: str,
    attributes: dict[str, str | int | bool | None],
    *,
    is_served: bool = False,
) -> Html:
    each_of = partial(_attribute, is_served=is_served)
    given = "".join(chain.from_iterable(each_of(*each) for each in attributes.items()))
    if name in _VOID or (is_served and name in _SERVED_VOID):
        if inner:
            raise ValueError(f"nothing stands in `{name}`")
        return Html(f"<{name}{given}>", _KEY)
    return Html(f"<{name}{given}>{inner}</{name}>", _KEY)


def _attribute(
    written: str,
    value: str | int | bool | None,  # noqa: FBT001
    *,
    is_served: bool,
) -> Iterator[str]:
    name = written.rstrip("_").replace("_", "-")
    if name not in _ATTRIBUTES and not (is_served and name in _SERVED_ATTRIBUTES):
        raise ValueError(f"there is no attribute `{name}` in our pages")
    if value is None or value is False:
        return
    if value is True:
        yield f" {name}"
        return
    said = str(value)
    if name in _ADDRESSES:
        _check_address(said, is_served=is_served)
    if name in {"id", "aria-labelledby", "aria-describedby"} and not _ID.fullmatch(said):
        raise ValueError(f"`{visible(said)}` is no id")
    if name in {"fill", "stroke"} and not _INNER.fullmatch(said):
        raise ValueError("colours stand in the style sheet")
    # What a person edits goes back as it was; everything else shows what cannot be seen.
    shown = said if name == "value" else visible(said)
    yield f' {name}="{_escaped(shown)}"'


def _check_address(said: str, *, is_served: bool) -> None:
    if said.startswith("#") and _ID.fullmatch(said[1:]):
        return
    if not is_served:
        raise ValueError("a link leads to a place of the same page")
    if not _LOCAL.fullmatch(said):
        raise ValueError(f"`{visible(said)}` is no place of our own server")


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
    return _whole(_file_head(title, style), element("body", *content))


def _file_head(title: str, style: StyleSheet) -> Html:
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(style)),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", visible(title)),
        _element("style", style.text, {}),
    )


def _whole(head: Html, body: Html) -> Html:
    page = element("html", head, body, lang="en")
    return Html(f"<!DOCTYPE html>\n{page}\n", _KEY)


def served_document(title: str, files: Iterable[Html], *content: Content) -> Html:
    """Return a page of our own server; `files` are the links to its styles and scripts."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", visible(title)),
        *files,
    )
    return _whole(head, element("body", *content))


def raw_text(value: str) -> Html:
    """Return a text that somebody edits: escaped, and otherwise as it is."""
    return Html(_escaped(value), _KEY)
