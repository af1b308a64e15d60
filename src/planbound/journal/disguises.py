"""Secrets in disguise: split by colours, escaped, wrapped, encoded, backwards.

A text is looked at again as it is meant, and what is found there is taken out where it stands.
Each of these looks is taken only where the text has something that calls for it.
"""

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cache, cached_property
from typing import NamedTuple

from planbound.journal.fields import SecretKind
from planbound.journal.secrets import Secret, find_tokens

Find = Callable[[str], Iterable[Secret]]
Span = tuple[int, int]


# -- a text as it is meant: without colours and what cannot be seen, with escapes resolved ---------


_HIDDEN = "\x1b\x00\x08\x7f\u00ad\u200b\u200c\u200d\u2060\ufeff"
_COLOURED = ("\\u001b[", "\\x1b[", "\\033[", "\\e[")
_UNSEEN = (
    r"(?i:\x1b|\\u001b|\\x1b|\\033|\\e)"
    r"(?:\[[0-9;:?]{0,40}[ -/]?[@-~]|\](?P<said>[^\x07\x1b]{0,400})(?:\x07|\x1b\\)|[()][0-9AB])"
    "|[\x00\x08\x7f\u00ad\u200b-\u200d\u2060\ufeff]"
)
_ESCAPE = (
    r"%(?P<percent>[0-9A-Fa-f]{2})|\\{1,4}u(?P<u>[0-9A-Fa-f]{4})|\\{1,4}x(?P<x>[0-9A-Fa-f]{2})"
    r"|\\{1,4}(?P<octal>[0-3][0-7]{2})|&#x(?P<hex>[0-9A-Fa-f]{1,6});|&#(?P<number>[0-9]{1,7});"
)
_ESCAPES = {  # each by the sign that calls for it, to be seen fast
    "%": "%[0-9A-Fa-f]{2}",
    "\\": r"\\[ux][0-9A-Fa-f]{2}|\\[0-3][0-7]{2}",
    "&#": "&#x?[0-9A-Fa-f]{1,7};",
}
_BASES = {"percent": 16, "u": 16, "x": 16, "octal": 8, "hex": 16, "number": 10}
_LEVELS = 3
"""So often is looked below escapes: what is escaped may have been escaped before."""
_AROUND = 300
"""So far around escapes is looked, and further to the next blank."""
_HIGHEST = 0x10FFFF


class OtherForm(NamedTuple):
    """Another form of a text, and where its parts stand in that text."""

    text: str
    at: tuple[int, ...] = (0,)
    """Where each piece begins here ..."""
    from_: tuple[int, ...] = (0,)
    """... and there; from one to the next both go on alike."""

    def place(self, secret: Secret) -> Secret:
        """Return a secret of the view where it stands in the text."""
        return Secret(self.place_of(secret.start), self.place_of(secret.end - 1) + 1, secret.kind)

    def place_of(self, position: int) -> int:
        """Return where a letter of the view stands in the text."""
        piece = bisect_right(self.at, position) - 1
        return self.from_[piece] + position - self.at[piece]


class ShownText:
    """A text as a terminal shows it."""

    def __init__(self, text: str) -> None:
        self._whole = text
        self.text = _compiled(_UNSEEN).sub("", text)

    @cached_property
    def _view(self) -> OtherForm:
        """Where its parts stand: most texts have no secret, and nobody asks."""
        matches = _compiled(_UNSEEN).finditer(self._whole)
        return _replaced(self._whole, matches, lambda _: "") or OtherForm(self._whole)

    @property
    def unshown(self) -> Iterator[OtherForm]:
        """Yield what is said and not shown: where a link leads, what a window is called."""
        for match in _compiled(_UNSEEN).finditer(self._whole):
            if match["said"]:
                yield OtherForm(match["said"], (0,), (match.start("said"),))

    def place(self, secret: Secret) -> Secret:
        """Return a secret where it stands in the whole text."""
        return self._view.place(secret)


def without_unseen(text: str) -> ShownText | None:
    """Return a text as a terminal shows it; None where it shows all of it."""
    if not any(sign in text for sign in _HIDDEN) and not any(sign in text for sign in _COLOURED):
        return None
    return ShownText(text)


def escaped_parts(text: str) -> Iterator[OtherForm]:
    """Yield the parts of a text in which something is escaped, as they are meant."""
    if not any(sign in text and _compiled(few).search(text) for sign, few in _ESCAPES.items()):
        return
    begin = end = -1
    for match in _compiled(_ESCAPE).finditer(text):
        if match.start() > end >= 0:
            yield from _resolved(text, begin, end)
            begin = -1
        if begin < 0:
            begin = _blank_before(text, match.start(), max(0, end))
        end = match.end() + _AROUND
    if begin >= 0:
        yield from _resolved(text, begin, end)


def _blank_before(text: str, place: int, least: int) -> int:
    """Return where to begin, so that no word is cut."""
    least = max(least, place - _AROUND)
    found = max(text.rfind(blank, least, place) for blank in " \n\t")
    return found + 1 if found >= 0 else least


def _resolved(text: str, begin: int, end: int) -> Iterator[OtherForm]:
    view = OtherForm(text[begin:end], (0,), (begin,))
    for _ in range(_LEVELS):
        below = _replaced(view.text, _compiled(_ESCAPE).finditer(view.text), _meant)
        if below is None:
            return
        view = OtherForm(below.text, below.at, tuple(view.place_of(place) for place in below.from_))
        yield view


def _replaced(
    text: str, matches: Iterable[re.Match[str]], meant: Callable[[re.Match[str]], str]
) -> OtherForm | None:
    """Return a text with other words for what matches; None where nothing does."""
    pieces: list[str] = []
    at, from_, length, position = [0], [0], 0, 0
    for match in matches:
        before, shown = text[position : match.start()], meant(match)
        pieces += (before, shown)
        length += len(before)
        if shown:  # it stands where its escape ends: the whole of it goes, if it is the last
            at.append(length)
            from_.append(match.end() - 1)
            length += len(shown)
        position = match.end()
        at.append(length)
        from_.append(position)
    if not position:
        return None
    pieces.append(text[position:])
    return OtherForm("".join(pieces), tuple(at), tuple(from_))


def _meant(match: re.Match[str]) -> str:
    name = match.lastgroup or ""
    number = int(match[name], _BASES[name])
    # A line break or a blank would end a secret that goes on behind it.
    return chr(number) if 0x20 < number <= _HIGHEST and not 0xD800 <= number <= 0xDFFF else ""


def find_dressed(text: str, find: Find, spellings: Iterable[bytes]) -> Iterator[Secret]:
    """Yield the secrets that are in a text in other clothes; `find` finds those in none."""
    for part in escaped_parts(text):
        for found in (*find(part.text), *_find_worn(part.text, find, spellings)):
            yield part.place(found)
    yield from _find_worn(text, find, spellings)


def _find_worn(text: str, find: Find, spellings: Iterable[bytes]) -> Iterator[Secret]:
    """Yield what is wrapped, encoded or backwards."""
    folded = text.lower()
    for start, end in find_squeezed(text, spellings):
        yield Secret(start, end, SecretKind.ENVIRONMENT)
    for start, end in find_encoded(text, find):
        yield Secret(start, end, SecretKind.CREDENTIAL)
    for start, end in find_backwards(text, folded):
        yield Secret(start, end, SecretKind.CREDENTIAL)
    yield from find_wrapped(text, folded)


# -- values that are known: without what stands between their parts, encoded, backwards ------------


_BETWEEN = b" \t\r\n\"'\\|>,"
_LONG, _LETTERS = 10, 16
"""A value is found in parts if it is as long as this; of letters alone, as the second."""
_SHORTEST = 8
_JOINTS = (b"", b":", b"x", b"0x", b"-")
"""What stands between two digits of hexadecimal, once blanks and commas are gone."""


def squeezed_spellings(values: Iterable[str]) -> frozenset[bytes]:
    """Return how values read without anything between their parts, in every way to encode them."""
    return frozenset(
        squeezed
        for value in values
        for spelling in _encodings(value.strip())
        if len(squeezed := spelling.translate(None, _BETWEEN)) >= _SHORTEST
    )


def _encodings(value: str) -> Iterator[bytes]:
    plain = _bytes(value)
    if "?" in value or b"?" not in plain:
        bare = plain.translate(None, _BETWEEN)
        if len(bare) >= (_LETTERS if bare.isalpha() else _LONG):
            yield plain
        yield plain[::-1]
    data = value.encode("utf-8", "surrogatepass")
    if data != plain and len(data.translate(None, _BETWEEN)) >= _LONG:
        yield data  # each of its bytes was escaped by itself
    digits = [f"{byte:02x}".encode() for byte in data]
    for joint in _JOINTS:
        yield joint.join(digits)
        yield joint.join(digits).upper().replace(b"X", b"x")
    for before in range(3):  # it may begin anywhere in what was encoded
        padded = b"\0" * before + data
        encoded = binascii.b2a_base64(padded[: len(padded) // 3 * 3], newline=False)
        encoded = encoded[(0, 2, 3)[before] :]
        yield encoded
        yield encoded.replace(b"+", b"-").replace(b"/", b"_")


def _bytes(text: str) -> bytes:
    """Return a byte for each character, so that places are the same; `?` for most of them."""
    return text.encode("latin-1", "replace")


def find_squeezed(text: str, spellings: Iterable[bytes]) -> Iterator[Span]:
    """Yield where values stand in a text, whatever stands between their parts."""
    data = _bytes(text)
    squeezed = data.translate(None, _BETWEEN)
    places: list[int] = []
    for spelling in spellings:
        start = squeezed.find(spelling)
        while start >= 0:
            if not places:
                places = [place for place, byte in enumerate(data) if byte not in _BETWEEN]
            end = start + len(spelling)
            yield places[start], places[end - 1] + 1
            start = squeezed.find(spelling, end)


# -- tokens that nobody knows: encoded, backwards, wrapped -----------------------------------------


_RUN = r"[A-Za-z0-9+/_-]{24,}+={0,2}"
_HEX_RUN = r"(?:[0-9a-f]{2}){12,}|(?:[0-9A-F]{2}){12,}"
_LETTER = frozenset("234567")
"""How a letter of ASCII begins in hexadecimal."""
_PRINTABLE = bytes(range(0x20, 0x7F)) + b"\t\r\n"
_STARTS = (
    "akia asia aiza ghp_ gho_ ghs_ ghu_ github_pat_ glpat- sk-ant- sk-proj- xoxb- xoxp- _live_"
    " npm_ pypi- hf_".split()
)
"""How tokens begin that are common, and words are not."""
_BACKWARDS = tuple(needle[::-1] for needle in _STARTS)
_WRAP = r"[ \t]{0,40}\\?\r?\n[ \t|>#*+\"']{0,40}"
_TO_THE_END = r"[\w.+/=~-]{1,300}+[ \t]{0,40}+\\?\r?\n"
_MORE = rf"{_WRAP}(?=[A-Za-z_-]{{0,40}}[0-9])[A-Za-z0-9_-]{{8,}}+(?![^\s\\\"'|])"
_LONGEST_WRAP, _MOST_LINES = 400, 12
_MOST_TRIED = 500


def find_encoded(text: str, find: Find) -> Iterator[Span]:
    """Yield the runs of Base64 or hexadecimal in which something is found."""
    runs = [
        (match.span(), inner)
        for match in _compiled(_RUN).finditer(text)
        # What is no text is no token: digests and paths, read as Base64, are none.
        if not (inner := _decoded(match[0])).translate(None, _PRINTABLE)
    ]
    if runs and any(find("\n".join(inner.decode("ascii") for _, inner in runs))):
        for span, inner in runs:
            if any(find(inner.decode("ascii"))):
                yield span


def _decoded(run: str) -> bytes:
    try:
        if _compiled(_HEX_RUN).fullmatch(run):
            # Of a digest the first letters tell already that it is no text.
            is_text = run[0] in _LETTER and run[2] in _LETTER and run[4] in _LETTER
            return bytes.fromhex(run) if is_text else b"\0"
        plain = run.rstrip("=").replace("-", "+").replace("_", "/")
        return binascii.a2b_base64(plain[: len(plain) // 4 * 4])
    except ValueError:
        return b"\0"


def find_backwards(text: str, folded: str) -> Iterator[Span]:
    """Yield what is a token if it is read from its end."""
    if any(needle in folded for needle in _BACKWARDS):
        length = len(text)
        for start, end, _ in find_tokens(text[::-1], folded[::-1]):
            yield length - end, length - start


def find_wrapped(text: str, folded: str) -> Iterator[Secret]:
    """Yield the tokens that go on in the next line.

    Where a token is whole at the end of a line, the next line is none of it.
    """
    if "\n" not in text or len(text) != len(folded):
        return
    tried = 0
    for needle in _STARTS:
        start = folded.find(needle)
        while start >= 0:
            if match := _compiled(_TO_THE_END).match(text, start):
                tried += 1
                if tried <= _MOST_TRIED:
                    yield from _wrapped(text, start)
                else:  # nobody prints so many: all of them go, with the next line
                    end = text.find("\n", match.end())
                    end = min(end, start + _LONGEST_WRAP) if end >= 0 else match.end()
                    yield Secret(start, end, SecretKind.CREDENTIAL)
            start = folded.find(needle, start + len(needle))


def _wrapped(text: str, start: int) -> Iterator[Secret]:
    """Yield a token that is whole only together with the lines below, and no line too many."""
    start = max(0, start - 1)  # a token begins where no word goes on
    for end in _line_ends(text, start):
        joined, places = _joined(text, start, end)
        found = next(iter(find_tokens(joined, joined.lower())), None)
        if found is not None and found.start <= 1:
            last = places[found.end - 1] + 1
            if "\n" in text[places[found.start] : last]:
                yield Secret(places[found.start], _gone_on(text, last), found.kind)
            return


def _line_ends(text: str, start: int) -> Iterator[int]:
    end = start
    for _ in range(_MOST_LINES):
        end = text.find("\n", end + 1)
        if not 0 <= end - start <= _LONGEST_WRAP:
            break
        yield end
    else:
        return
    yield min(len(text), start + _LONGEST_WRAP)


def _gone_on(text: str, end: int) -> int:
    """Return where a token ends that was whole at the end of a line, and may go on below it."""
    for _ in range(_MOST_LINES):
        match = _compiled(_MORE).match(text, end)
        if match is None:
            break
        end = match.end()
    return end


def _joined(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """Return what stands there without its line breaks, and where each letter stands."""
    places = list(range(start, end))
    for match in reversed(list(_compiled(_WRAP).finditer(text, start, end))):
        del places[match.start() - start : match.end() - start]
    return "".join(text[place] for place in places), places


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
