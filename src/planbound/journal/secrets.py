"""Secrets that can be told by how they look: tokens of well-known services, keys, URLs.

Every pattern is linear: a repeat without a bound is the last thing in it, or it can only start
where the run of its characters starts. None is compiled before one of its needles was seen.
"""

import enum
import re
from collections.abc import Iterable, Iterator
from functools import cache, lru_cache
from itertools import zip_longest
from typing import NamedTuple

from msgspec import Struct

from planbound.journal.fields import SecretKind

# -- secrets that can be told by how they look: tokens of well-known services, keys, URLs --------


class Secret(NamedTuple):
    """Where a secret stands."""

    start: int
    end: int
    kind: SecretKind


class SecretShape(Struct, frozen=True):
    """How a kind of secret looks; a group `secret` says which part of it is one."""

    kind: SecretKind
    needles: str
    """Words in lower case, one of which is in every text that holds such a secret."""
    pattern: str
    leads: tuple[int, ...] = ()
    """How many characters before a needle it begins, where that is known: then it is looked for
    there alone. A pattern with a look behind it is slow where it is tried at every character."""


# Where a token can begin: not inside a word, but behind `\n` in escaped text, behind `%3D`, and
# behind the code of a colour.
_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_DIGIT_SOON = "(?=[A-Za-z_-]{0,60}[0-9])"
_SIGN = r"""["'\\]{0,3}\s{0,3}(?:=>|[:=])\s{0,3}["'\\]{0,3}"""

SHAPES: tuple[SecretShape, ...] = (
    SecretShape(
        SecretKind.AWS,
        "akia asia abia acca a3t",
        "(?:(?<![A-Z0-9])|(?<=%[0-9A-F]{2}))(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Z0-9])",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.AWS,
        "akia asia",
        r"""(?:AKIA|ASIA)[A-Z0-9]{16}[\s"',:;|]{1,8}"""
        "(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.AWS,
        "secret",
        rf"(?i:secret[_ -]?(?:access[_ -]?)?key|aws[_ -]?secret)(?:{_SIGN}|\s{{1,3}})"
        "(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    SecretShape(
        SecretKind.GOOGLE,
        "aiza gocspx- ya29.",
        r"(?:AIza[0-9A-Za-z_-]{10}|GOCSPX-|ya29\.)[0-9A-Za-z_-]{20,}",
    ),
    SecretShape(
        SecretKind.AZURE,
        "accountkey= sharedaccesskey=",
        "(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    ),
    SecretShape(SecretKind.AZURE, "sig=", "[?&]sig=(?P<secret>[A-Za-z0-9%/+]{30,}={0,2})"),
    SecretShape(SecretKind.AZURE, "q~", "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    SecretShape(
        SecretKind.GITHUB,
        "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_",
        rf"{_START}gh[oprsu]_{_DIGIT_SOON}[A-Za-z0-9_]{{20,}}(?:\.[A-Za-z0-9_-]{{8,}}){{0,2}}"
        "|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.GITLAB,
        "glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-",
        "gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,}"
        r"(?:\.[A-Za-z0-9_-]{2,}){0,2}",
    ),
    SecretShape(
        SecretKind.SLACK,
        "xox xapp-",
        rf"(?:xox[abeoprs](?:\.xox[bp])?|xapp)-{_DIGIT_SOON}[A-Za-z0-9-]{{10,}}",
    ),
    SecretShape(
        SecretKind.WEBHOOK,
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        "(?P<secret>[A-Za-z0-9/_+-]{20,})",
    ),
    SecretShape(
        SecretKind.WEBHOOK,
        "webhooks/",
        r"discord(?:app)?\.com/api/(?:v[0-9]{1,3}/)?webhooks/"
        "(?P<secret>[0-9]{10,30}/[A-Za-z0-9_-]{20,})",
    ),
    SecretShape(SecretKind.ANTHROPIC, "sk-ant-", "sk-ant-[A-Za-z0-9_-]{20,}"),
    SecretShape(
        SecretKind.OPENAI,
        "sk-",
        rf"{_START}sk-(?:(?:proj|svcacct|admin|service|or-v1)-{_DIGIT_SOON}[A-Za-z0-9_-]{{20,}}"
        "|[A-Za-z0-9]{20,})",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.STRIPE,
        "sk_ rk_",
        rf"{_START}[rs]k_(?:live|test|prod)_{_DIGIT_SOON}[A-Za-z0-9]{{10,}}",
        leads=(0,),
    ),
    SecretShape(SecretKind.STRIPE, "whsec_", "whsec_[A-Za-z0-9+/]{24,}"),
    SecretShape(SecretKind.NPM, "npm_", f"{_START}npm_[A-Za-z0-9]{{30,}}", leads=(0,)),
    SecretShape(SecretKind.PYPI, "pypi-", "pypi-(?:Ag[A-Za-z0-9_-]{20,}|[A-Za-z0-9_]{40,})"),
    SecretShape(
        SecretKind.HUGGING_FACE,
        "hf_ api_org_",
        f"{_START}(?:hf|api_org)_[A-Za-z0-9]{{30,}}",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.SENDGRID,
        "sg.",
        rf"{_START}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{16,64}}",
        leads=(0,),
    ),
    SecretShape(SecretKind.TWILIO, "sk", f"{_START}SK[0-9a-f]{{32}}(?![0-9A-Za-z])", leads=(0,)),
    SecretShape(
        SecretKind.SERVICE,
        "doo_v1_ dop_v1_ dor_v1_ dckr_ hvb. hvr. hvs. dapi shpat_ shpca_ shppa_ shpss_ lin_api_",
        rf"{_START}(?:do[opr]_v1_[a-f0-9]{{40,}}|dckr_[op]at_[A-Za-z0-9_-]{{20,}}"
        r"|hv[brs]\.[A-Za-z0-9_-]{24,}|dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
        "|lin_api_[A-Za-z0-9]{32,})",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.SERVICE,
        "atatt3 glsa_ glc_ gsk_ xai- r8_ pplx- sbp_ nrak- ntn_ age-secret-key- key-",
        rf"{_START}(?:ATATT3[A-Za-z0-9_=-]{{40,}}|gl(?:sa|c)_[A-Za-z0-9_=+/]{{32,}}"
        "|(?:gsk_|xai-|pplx-|ntn_)[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}|sbp_[0-9a-f]{40}"
        "|NRAK-[A-Z0-9]{27}|AGE-SECRET-KEY-1[0-9A-Z]{50,}|key-[0-9a-f]{32})(?![A-Za-z0-9])",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.SERVICE,
        "-us",
        rf"{_START}[0-9a-f]{{32}}-us[0-9]{{1,2}}(?![A-Za-z0-9])",
        leads=(32,),
    ),
    SecretShape(
        SecretKind.SERVICE,
        ":aa",
        rf"{_START}[0-9]{{8,10}}:AA[A-Za-z0-9_-]{{33}}(?![A-Za-z0-9])",
        leads=(10, 9, 8),
    ),
    SecretShape(
        SecretKind.JWT,
        "eyj",
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{8,}}+){{1,3}}",
        leads=(0,),
    ),
    SecretShape(
        SecretKind.AUTHORIZATION,
        "authorization",
        rf"(?i:authorization){_SIGN}(?i:bearer|basic|token|digest|negotiate|api-?key)\s{{1,3}}"
        r"""(?=\S{0,60}[0-9A-Z]|\S{16})(?P<secret>[^\s"'\\,;<>{}$%\[\]*][^\s"'\\,;<>]{5,})""",
    ),
    SecretShape(
        SecretKind.AUTHORIZATION,
        "authorization",
        rf"(?i:authorization){_SIGN}(?!AWS4){_DIGIT_SOON}"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,}+={0,2})(?!\()",
    ),
    SecretShape(
        SecretKind.AUTHORIZATION,
        "bearer",
        rf"(?i:bearer)\s{{1,3}}{_DIGIT_SOON}(?P<secret>[A-Za-z0-9._~+/-]{{16,}}={{0,2}})",
    ),
    SecretShape(
        SecretKind.URL_PASSWORD,
        "://",
        r"""://[^\s/:@'"<>\\`\[]{0,128}:(?![0-9]{1,5}[?#])(?P<secret>[^\s/'"<>`]+)@""",
    ),
    SecretShape(  # a token in the place of the user
        SecretKind.URL_PASSWORD,
        "://",
        rf"""://(?P<secret>{_DIGIT_SOON}[A-Za-z0-9_-]{{20,}})(?::[^\s/@'"<>`]*)?@""",
    ),
)

_PLACEHOLDER = (
    r"(?s)\$\{?[A-Za-z_][\w.]*\}?|\$[({].*|\{[A-Za-z_{%].*|<.*>|\(.*\)|\[[^\]]*\]|%[(\w{].*"
    r"|\*+|[xX]{3,}|\.{3,}|…+|#\{.*|.*\{[\w.]*\}.*"
)
_NEEDLES = [(needle, shape) for shape in SHAPES for needle in shape.needles.split(" ")]


def is_placeholder(value: str) -> bool:
    """Say whether a value only stands for a secret: `$TOKEN`, `<password>`, `{key}`, `***`."""
    return _compiled(_PLACEHOLDER).fullmatch(value) is not None


_TOKENS = frozenset(
    {
        *(SecretKind.AWS, SecretKind.GOOGLE, SecretKind.GITHUB, SecretKind.GITLAB),
        *(SecretKind.SLACK, SecretKind.ANTHROPIC, SecretKind.OPENAI, SecretKind.STRIPE),
        *(SecretKind.NPM, SecretKind.PYPI, SecretKind.HUGGING_FACE, SecretKind.SENDGRID),
        *(SecretKind.SERVICE, SecretKind.JWT),
    }
)
_TOKEN_NEEDLES = [(needle, shape) for needle, shape in _NEEDLES if shape.kind in _TOKENS]


def find_tokens(text: str, folded: str) -> Iterator[Secret]:
    """Yield the tokens in a text that no other word has to stand beside."""
    return _find_shapes(text, folded, _TOKEN_NEEDLES)


def find_shapes(text: str, folded: str) -> Iterator[Secret]:
    """Yield the secrets in a text, which comes in lower case, too; some may overlap."""
    yield from _find_shapes(text, folded, _NEEDLES)
    if "private key" in folded:
        yield from _private_keys(text)


def _find_shapes(
    text: str, folded: str, needles: Iterable[tuple[str, SecretShape]]
) -> Iterator[Secret]:
    seen: dict[SecretShape, list[str]] = {}
    for needle, shape in needles:
        if needle in folded:
            seen.setdefault(shape, []).append(needle)
    alike = len(text) == len(folded)  # else places in the one are none in the other
    for shape, found in seen.items():
        pattern = _compiled(shape.pattern)
        near = shape.leads and alike
        for match in _near(shape, text, folded, found) if near else pattern.finditer(text):
            start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
            if shape.kind is SecretKind.URL_PASSWORD and is_placeholder(text[start:end]):
                continue
            yield Secret(start, end, shape.kind)


def _near(
    shape: SecretShape, text: str, folded: str, needles: Iterable[str]
) -> Iterator[re.Match[str]]:
    """Yield the matches that begin at a needle, or as far before it as they do."""
    pattern = _compiled(shape.pattern)
    for needle in needles:
        end, place = 0, folded.find(needle)
        while place >= 0:
            for lead in shape.leads:
                match = pattern.match(text, place - lead) if place - lead >= end else None
                if match is not None:
                    yield match
                    end = match.end()
                    break
            place = folded.find(needle, max(end, place + 1))


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern)


# -- private keys ------------------------------------------------------------------------------

_EDGE = r"-{4,5} ?(BEGIN|END) [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?(?: ?-{4,5})?"
_BETWEEN_LINES = r"""(?:[\s"'+,|>#*]|\\[nrt])"""
_BODY = (  # header lines and lines of Base64, however they were joined, with a short last one
    rf"(?:{_BETWEEN_LINES}{{0,8}}"
    r"(?:[A-Za-z-]{4,20}: [^\r\n\\]{1,80}|[A-Za-z0-9+/=]{16,}+))*+"
    rf"(?:{_BETWEEN_LINES}{{1,8}}[A-Za-z0-9+/]{{1,63}}(?:={{1,2}}|\Z))?"
)
_LINE = "[A-Za-z0-9+/=]{16}"  # without one, a key is only talked about
_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/="
_LONGEST_KEY = 65_536


def _private_keys(text: str) -> Iterator[Secret]:
    previous_end, inside = 0, False
    edges = list(_compiled(_EDGE).finditer(text))
    for edge, following in zip_longest(edges, edges[1:]):
        start, end = edge.span()
        if edge[1] == "BEGIN":
            inside = following is not None and following[1] == "END"
            body_end = _after(text, end)
            if inside and following is not None:
                gap = following.start() - end
                inside = gap <= _LONGEST_KEY
                if inside and (body_end > end or _compiled(_LINE).search(text, end, end + gap)):
                    body_end = following.end()
            if body_end > end:
                yield Secret(start, body_end, SecretKind.PRIVATE_KEY)
        elif not inside:  # the beginning was cut off
            body_start = _before(text, previous_end, start)
            if body_start < start:
                yield Secret(body_start, end, SecretKind.PRIVATE_KEY)
        else:
            inside = False
        previous_end = end


def _after(text: str, start: int) -> int:
    match = _compiled(_BODY).match(text, start)
    return match.end() if match else start


def _before(text: str, floor: int, end: int) -> int:
    floor = max(floor, end - _LONGEST_KEY)
    breaks = [match.span() for match in _compiled(f"{_BETWEEN_LINES}+").finditer(text, floor, end)]
    start = line_end = end
    for break_start, break_end in [*reversed(breaks), (floor, floor)]:
        line = text[break_end:line_end]
        line_end = break_start
        if line:
            body = len(line) - len(line.rstrip(_BASE64))
            if body < 16 and start < end:  # only the last line may be short
                break
            start = break_end + len(line) - body
            if body < len(line):
                break
    return start


# -- secrets that can be told by what stands before them: `password=...`, `"api_key": "..."` -----


SHORTEST = 6
_JUDGED = 128
"""How much of a value is looked at to judge it."""

_ASSIGNMENT_NEEDLES = (
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
    if not any(needle in folded for needle in _ASSIGNMENT_NEEDLES):
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
    if not any(needle in folded for needle in _ASSIGNMENT_NEEDLES):
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
