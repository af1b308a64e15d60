"""Secrets that can be told by what stands before them: `password=...`, `"api_key": "..."`.

Code and prose are full of such names without a secret behind them (`password: str`,
`token=None`), and taking those for secrets would spoil what people and agents read. So a value is
judged by how it is written: in quotes, behind a bare `=`, or loosely behind a colon.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from functools import cache, lru_cache

from planbound.journal.secret_shape import Secret, SecretKind, is_placeholder

SHORTEST = 6
_JUDGED = 128
"""How much of a value is looked at to judge it."""

_NEEDLES = (
    "passw passphrase _pass -pass pwd secret token credential _auth _key -key apikey accesskey"
    " privatekey sessionkey encryptionkey signingkey masterkey accountkey sharedkey".split()
)
_NAME = (
    "(?i)(?:(?P<password>password|passwd|passphrase|(?<![a-z])pwd|(?<=[_-])pass)"
    "|secret|token|credentials?|(?<=_)auth"
    "|(?:api|access|private|session|encryption|signing|master|account|shared)[_-]?key)"
    "(?:[_-]?(?:key|base|value|text|raw|plain|[0-9]{1,2})(?![a-z])){0,2}"
)
_ASSIGNMENT = (
    rf"{_NAME}(?:(?:\\{{0,2}}[\"'`])?(?P<before>[ \t]{{0,4}})"
    r"(?P<sign>:=|=>|=(?![=~])|:(?!:)|>)(?P<after>[ \t]{0,4})|(?P<space>[ \t]{1,4}))"
    r"(?:[a-z&][\w.|\[\] ]{0,30}=[ \t]{0,4}(?=[bru]{0,2}[\"']))?"  # the type, where code has one
    r"(?:[bru]{0,2}(?P<quote>\\{0,2}[\"'`]))?"
)
_FLAG = r"(?<![\w-])--[a-z-]*\Z"
_UNQUOTED = r"""(?:(?!\\[nrt]|[&,;][ \t]{0,2}[\w.-]{1,40}=)[^\s"'`<])"""
_QUOTED = {
    '"': r'(?:[^"\\\r\n]|\\.)',
    "'": r"(?:[^'\\\r\n]|\\.)",
    "`": r"(?:[^`\\\r\n]|\\.)",
}
_HARMLESS = frozenset(
    "absent accepted anonymous bearer boolean changed configured correct default disabled empty"
    " enabled encrypted expired hashed hidden identifier incorrect inherit integer invalid keyring"
    " keyword masked missing number object optional plaintext present prompt provided redacted"
    " refresh rejected removed required string undefined unknown updated".split()
)
_VOCABULARY = "(?i)pass|secret|token|key|credential|auth|your|example|placeholder|dummy|redact"
_WORDS = r"[^\W\d_]+(?:[_.-]+[^\W\d_]+)*[_.-]*"
_CODE = r"[A-Za-z_$][\w$]*(?:(?:\.|->|::|\?\.)[A-Za-z_$][\w$]*)*(?:[(\[{]|\.[A-Za-z_]\w*\Z)"
_REFERENCE = (
    r"(?:arn|vault|op|ssm|file|env|ref|https?)::?.*|[!@].*|/(?:Users|home)/.*"
    r"|(?:~|\.{1,2})?(?:/[a-z0-9._-]+)+/?"
)
_NAMED = r"[a-z]+[0-9]{0,2}(?:[-_.][a-z]*[0-9]{0,2})+|(?:[A-Z][a-z]{2,}[0-9]{0,3}){1,4}"
"""What things are called: `my-app-v2`, `Base64String`."""


class _Style(enum.Enum):
    QUOTED = enum.auto()
    """`token="..."`, `"token": "..."`: a value, certainly."""
    BARE = enum.auto()
    """`token=...`: a shell's, a URL's, or an argument in code."""
    LOOSE = enum.auto()
    """`token: ...`, `token = ...`, `--token ...`: also types, code and prose."""


def find_assignments(text: str, folded: str) -> Iterator[Secret]:
    """Yield the values in a text, which comes in lower case, too, behind names of credentials."""
    if not any(needle in folded for needle in _NEEDLES):
        return
    position = 0
    while match := _compiled(_ASSIGNMENT).search(text, position):
        position = match.end()
        end = _value_end(text, match)
        if end is not None:
            yield Secret(match.end(), end, SecretKind.CREDENTIAL)
            position = end


def is_assigned_secret(name: str, value: str) -> bool:
    """Say whether a value of JSON is a secret because of its name."""
    password = _names_password(name)
    return password is not None and _is_secret(
        value[:_JUDGED], "", password=password, style=_Style.QUOTED
    )


@lru_cache(maxsize=1024)  # the names of details are always the same few
def _names_password(name: str) -> bool | None:
    """Say whether a name is that of a password; None where it is no credential's at all."""
    folded = name.lower()
    if not any(needle in folded for needle in _NEEDLES):
        return None
    match = _compiled(rf"{_NAME}\Z").search(name)
    return None if match is None else match["password"] is not None


def _value_end(text: str, match: re.Match[str]) -> int | None:
    """Return where the secret ends that begins behind the match; None if it is none."""
    if match["sign"] == ":" and not match["after"] and text.endswith(":", 0, match.start()):
        return None  # a part of a name such as `arn:aws:...:secret:...`
    before = text[max(0, match.start() - 40) : match.start()]
    if match["space"] is not None and not _compiled(_FLAG).search(before):
        return None
    quote = match["quote"]
    if quote is None:
        bare = match["sign"] in {"=", ":="} and not match["before"] and not match["after"]
        style, character = _Style.BARE if bare else _Style.LOOSE, _UNQUOTED
    else:
        style = _Style.QUOTED
        character = _QUOTED[quote] if len(quote) == 1 else r"""[^"'`\\\r\n]"""
    if match["sign"] == ">":  # an element of XML
        style, character = _Style.QUOTED, r"[^\s<]"
    start = match.end()
    end = _run_end(f"{character}{{0,{_JUDGED}}}+", text, start)
    value = text[start:end]
    if style is not _Style.QUOTED:
        value = value.rstrip(",;:.)]}")
    following = text[start + len(value) : start + len(value) + 2]
    if match["sign"] == ">" and following != "</":
        return None
    if not _is_secret(value, following, password=match["password"] is not None, style=style):
        return None
    if end - start >= _JUDGED:
        return _run_end(f"{character}*+", text, start)
    return start + len(value)


def _is_secret(value: str, following: str, *, password: bool, style: _Style) -> bool:
    if len(value) < SHORTEST or is_placeholder(value) or value.lower() in _HARMLESS:
        return False
    if _compiled(r"\s").search(value) or _compiled(_REFERENCE).fullmatch(value):
        return False
    if style is not _Style.QUOTED and _compiled(_CODE).match(value):
        return False
    if _compiled(_WORDS).fullmatch(value):
        return _is_secret_word(value, following, password=password, style=style)
    if password:
        return style is not _Style.LOOSE or bool(_compiled("[0-9!#$%^&*+=?@~]").search(value))
    mixed = _compiled("[0-9]").search(value) and _compiled("[A-Za-z]").search(value)
    return bool(mixed and len(value) >= 8) and not _is_name(value, style)


def _is_name(value: str, style: _Style) -> bool:
    if style is _Style.LOOSE and value.isidentifier() and _compiled(_VOCABULARY).search(value):
        return True  # a type: `private_key: PKCS7PrivateKeyTypes`
    return _compiled(_NAMED).fullmatch(value) is not None


def _is_secret_word(value: str, following: str, *, password: bool, style: _Style) -> bool:
    """Judge a value of nothing but letters."""
    if style is _Style.LOOSE or _compiled(_VOCABULARY).search(value):
        return False
    if password:
        return style is _Style.QUOTED or (len(value) >= 8 and following[:1] not in {",", ")", "."})
    return len(value) >= 24 and value.isalpha()


def _run_end(pattern: str, text: str, start: int) -> int:
    match = _compiled(pattern).match(text, start)
    return match.end() if match else start


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)
