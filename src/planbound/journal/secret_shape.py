"""Secrets that can be told by how they look: tokens of well-known services, keys, URLs.

Every pattern is linear: a repeat without a bound is the last thing in it, or it can only start
where the run of its characters starts. None is compiled before one of its needles was seen.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterator
from functools import cache
from itertools import zip_longest
from typing import NamedTuple


class SecretKind(enum.Enum):
    """What a secret was; stands in the text in its place. The more telling ones come first."""

    ENVIRONMENT = "environment"
    CONFIGURED = "configured"
    PRIVATE_KEY = "private-key"
    AWS = "aws-key"
    GOOGLE = "google-key"
    AZURE = "azure-key"
    GITHUB = "github-token"
    GITLAB = "gitlab-token"
    SLACK = "slack-token"
    WEBHOOK = "webhook"
    ANTHROPIC = "anthropic-key"
    OPENAI = "openai-key"
    STRIPE = "stripe-key"
    NPM = "npm-token"
    PYPI = "pypi-token"
    HUGGING_FACE = "huggingface-token"
    SENDGRID = "sendgrid-key"
    TWILIO = "twilio-key"
    SERVICE = "service-token"
    JWT = "jwt"
    AUTHORIZATION = "authorization"
    URL_PASSWORD = "url-password"  # noqa: S105 - the name of a kind
    CREDENTIAL = "credential"


class Secret(NamedTuple):
    """Where a secret stands."""

    start: int
    end: int
    kind: SecretKind


class Shape(NamedTuple):
    """How a kind of secret looks; a group `secret` says which part of it is one."""

    kind: SecretKind
    needles: str
    """Words in lower case, one of which is in every text that holds such a secret."""
    pattern: str


# Where a token can begin: not inside a word, but behind `\n` in escaped text, behind `%3D`, and
# behind the code of a colour.
_START = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})"
    r"|(?<=[\[;][0-9]m)|(?<=[\[;][0-9]{2}m))"
)
_DIGIT_SOON = "(?=[A-Za-z_-]{0,60}[0-9])"
_SIGN = r"""["'\\]{0,3}\s{0,3}(?:=>|[:=])\s{0,3}["'\\]{0,3}"""

SHAPES: tuple[Shape, ...] = (
    Shape(
        SecretKind.AWS,
        "akia asia abia acca a3t",
        "(?:(?<![A-Z0-9])|(?<=%[0-9A-F]{2}))(?:AKIA|ASIA|ABIA|ACCA|A3T[A-Z0-9])[A-Z0-9]{16}(?![A-Z0-9])",
    ),
    Shape(
        SecretKind.AWS,
        "akia asia",
        r"""(?:AKIA|ASIA)[A-Z0-9]{16}[\s"',:;|]{1,8}"""
        "(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Shape(
        SecretKind.AWS,
        "secret",
        rf"(?i:secret[_ -]?(?:access[_ -]?)?key|aws[_ -]?secret)(?:{_SIGN}|\s{{1,3}})"
        "(?P<secret>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])",
    ),
    Shape(
        SecretKind.GOOGLE,
        "aiza gocspx- ya29.",
        r"(?:AIza[0-9A-Za-z_-]{10}|GOCSPX-|ya29\.)[0-9A-Za-z_-]{20,}",
    ),
    Shape(
        SecretKind.AZURE,
        "accountkey= sharedaccesskey=",
        "(?:AccountKey|SharedAccessKey)=(?P<secret>[A-Za-z0-9+/]{32,}={0,2})",
    ),
    Shape(SecretKind.AZURE, "sig=", "[?&]sig=(?P<secret>[A-Za-z0-9%/+]{30,}={0,2})"),
    Shape(SecretKind.AZURE, "q~", "[A-Za-z0-9_~.]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}"),
    Shape(
        SecretKind.GITHUB,
        "gho_ ghp_ ghr_ ghs_ ghu_ github_pat_",
        rf"{_START}gh[oprsu]_{_DIGIT_SOON}[A-Za-z0-9_]{{20,}}(?:\.[A-Za-z0-9_-]{{8,}}){{0,2}}"
        "|gh[oprsu]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{20,}",
    ),
    Shape(
        SecretKind.GITLAB,
        "glpat- glptt- gldt- glrt- glcbt- glsoat- glft- glimt- glagent- gloas- glffct-",
        "gl(?:pat|ptt|dt|rt|cbt|soat|ft|imt|agent|oas|ffct)-[A-Za-z0-9_-]{20,}"
        r"(?:\.[A-Za-z0-9_-]{2,}){0,2}",
    ),
    Shape(
        SecretKind.SLACK,
        "xox xapp-",
        rf"(?:xox[abeoprs](?:\.xox[bp])?|xapp)-{_DIGIT_SOON}[A-Za-z0-9-]{{10,}}",
    ),
    Shape(
        SecretKind.WEBHOOK,
        "hooks.slack",
        r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/"
        "(?P<secret>[A-Za-z0-9/_+-]{20,})",
    ),
    Shape(
        SecretKind.WEBHOOK,
        "webhooks/",
        r"discord(?:app)?\.com/api/(?:v[0-9]{1,3}/)?webhooks/"
        "(?P<secret>[0-9]{10,30}/[A-Za-z0-9_-]{20,})",
    ),
    Shape(SecretKind.ANTHROPIC, "sk-ant-", "sk-ant-[A-Za-z0-9_-]{20,}"),
    Shape(
        SecretKind.OPENAI,
        "sk-",
        rf"{_START}sk-(?:(?:proj|svcacct|admin|service|or-v1)-{_DIGIT_SOON}[A-Za-z0-9_-]{{20,}}"
        "|[A-Za-z0-9]{20,})",
    ),
    Shape(
        SecretKind.STRIPE,
        "sk_ rk_",
        rf"{_START}[rs]k_(?:live|test|prod)_{_DIGIT_SOON}[A-Za-z0-9]{{10,}}",
    ),
    Shape(SecretKind.STRIPE, "whsec_", "whsec_[A-Za-z0-9+/]{24,}"),
    Shape(SecretKind.NPM, "npm_", f"{_START}npm_[A-Za-z0-9]{{30,}}"),
    Shape(SecretKind.PYPI, "pypi-", "pypi-(?:Ag[A-Za-z0-9_-]{20,}|[A-Za-z0-9_]{40,})"),
    Shape(SecretKind.HUGGING_FACE, "hf_ api_org_", f"{_START}(?:hf|api_org)_[A-Za-z0-9]{{30,}}"),
    Shape(
        SecretKind.SENDGRID,
        "sg.",
        rf"{_START}SG\.[A-Za-z0-9_-]{{16,32}}\.[A-Za-z0-9_-]{{16,64}}",
    ),
    Shape(SecretKind.TWILIO, "sk", f"{_START}SK[0-9a-f]{{32}}(?![0-9A-Za-z])"),
    Shape(
        SecretKind.SERVICE,
        "doo_v1_ dop_v1_ dor_v1_ dckr_ hvb. hvr. hvs. dapi shpat_ shpca_ shppa_ shpss_ lin_api_",
        rf"{_START}(?:do[opr]_v1_[a-f0-9]{{40,}}|dckr_[op]at_[A-Za-z0-9_-]{{20,}}"
        r"|hv[brs]\.[A-Za-z0-9_-]{24,}|dapi[0-9a-f]{32}|shp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}"
        "|lin_api_[A-Za-z0-9]{32,})",
    ),
    Shape(
        SecretKind.SERVICE,
        "atatt3 glsa_ glc_ gsk_ xai- r8_ pplx- sbp_ nrak- ntn_ age-secret-key- key- -us :aa",
        rf"{_START}(?:ATATT3[A-Za-z0-9_=-]{{40,}}|gl(?:sa|c)_[A-Za-z0-9_=+/]{{32,}}"
        "|(?:gsk_|xai-|pplx-|ntn_)[A-Za-z0-9]{40,}|r8_[A-Za-z0-9]{37}|sbp_[0-9a-f]{40}"
        "|NRAK-[A-Z0-9]{27}|AGE-SECRET-KEY-1[0-9A-Z]{50,}|key-[0-9a-f]{32}"
        "|[0-9a-f]{32}-us[0-9]{1,2}|[0-9]{8,10}:AA[A-Za-z0-9_-]{33})(?![A-Za-z0-9])",
    ),
    Shape(
        SecretKind.JWT,
        "eyj",
        rf"{_START}eyJ[A-Za-z0-9_-]{{8,}}+\.[A-Za-z0-9_-]*+(?:\.[A-Za-z0-9_-]{{8,}}+){{1,3}}",
    ),
    Shape(
        SecretKind.AUTHORIZATION,
        "authorization",
        rf"(?i:authorization){_SIGN}(?i:bearer|basic|token|digest|negotiate|api-?key)\s{{1,3}}"
        r"""(?=\S{0,60}[0-9A-Z]|\S{16})(?P<secret>[^\s"'\\,;<>{}$%\[\]*][^\s"'\\,;<>]{5,})""",
    ),
    Shape(
        SecretKind.AUTHORIZATION,
        "authorization",
        rf"(?i:authorization){_SIGN}(?!AWS4){_DIGIT_SOON}"
        r"(?P<secret>[A-Za-z0-9._~+/-]{16,}+={0,2})(?!\()",
    ),
    Shape(
        SecretKind.AUTHORIZATION,
        "bearer",
        rf"(?i:bearer)\s{{1,3}}{_DIGIT_SOON}(?P<secret>[A-Za-z0-9._~+/-]{{16,}}={{0,2}})",
    ),
    Shape(
        SecretKind.URL_PASSWORD,
        "://",
        r"""://[^\s/:@'"<>\\`\[]{0,128}:(?![0-9]{1,5}[?#])(?P<secret>[^\s/'"<>`]+)@""",
    ),
    Shape(  # a token in the place of the user
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


def find_shapes(text: str, folded: str) -> Iterator[Secret]:
    """Yield the secrets in a text, which comes in lower case, too; some may overlap."""
    seen = {shape: None for needle, shape in _NEEDLES if needle in folded}
    for shape in seen:
        for match in _compiled(shape.pattern).finditer(text):
            start, end = match.span("secret" if "secret" in match.re.groupindex else 0)
            if shape.kind is SecretKind.URL_PASSWORD and is_placeholder(text[start:end]):
                continue
            yield Secret(start, end, shape.kind)
    if "private key" in folded:
        yield from _private_keys(text)


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
