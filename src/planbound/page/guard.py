"""Who may ask the page for what: decided from the request alone, before anything is looked up.

A page on this machine can be reached by every site that a person has open: by requests across
sites, and by names of their own that they let point to 127.0.0.1. So the name by which we are
called counts first, then who somebody is, and what changes something has to come from our own page.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import quote

from planbound.workspace.sealed import opened, seal

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
"""What a browser on this machine may call us."""
HEADERS = (
    (
        "content-security-policy",
        (
            "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self';"
            " img-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
        ),
    ),
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
)
"""What goes with every answer."""
FORM = "application/x-www-form-urlencoded"
SESSION_SECONDS = 7 * 24 * 3600
TOKEN_SECONDS = 600
_MOST_COOKIES = 200
_PATH = re.compile(r"/(?:[^/\\\x00-\x1f\x7f]+(?:/[^/\\\x00-\x1f\x7f]+)*/?)?")


class Refusal(NamedTuple):
    """Why a request goes no further."""

    status: int
    why: str
    allowed: str = ""
    """Which methods would be answered here."""


class Names(NamedTuple):
    """What we are called."""

    port: int
    hosts: tuple[str, ...] = LOOPBACK

    @property
    def allowed(self) -> frozenset[str]:
        """Return what may stand in `Host`."""
        bare = frozenset(self.hosts) if self.port == 80 else frozenset()
        return bare | {f"{host}:{self.port}" for host in self.hosts}

    @property
    def cookie(self) -> str:
        """Return the name of our cookie: browsers do not tell ports of a host apart."""
        return f"planbound-{self.port}"


class PageRequest(NamedTuple):
    """What of a request is decided about."""

    method: str
    path: str
    headers: Sequence[tuple[str, str]]
    """Their names in small letters."""

    def all(self, name: str) -> list[str]:
        """Return each value that a header has."""
        return [value for key, value in self.headers if key == name]

    def one(self, name: str) -> str | None:
        """Return the value of a header that is there once."""
        found = self.all(name)
        return found[0] if len(found) == 1 else None


def refuse_name(asking: PageRequest, names: Names) -> Refusal | None:
    """Refuse who does not call us by our name: it was led here by a name of its own."""
    host = asking.one("host")
    if host is None or host.lower() not in names.allowed:
        return Refusal(403, "this page is not reached by that name")
    return None


def refuse_shape(asking: PageRequest) -> Refusal | None:
    """Refuse what no page of ours asks for."""
    if asking.method not in {"GET", "HEAD", "POST"}:
        return Refusal(405, f"`{asking.method[:20]}` is not done here", "GET, HEAD, POST")
    if asking.all("transfer-encoding"):
        # No browser sends a form in pieces, and two words on where it ends are one too many.
        return Refusal(400, "a form says how long it is")
    if not _PATH.fullmatch(asking.path) or any(
        part in {".", ".."} for part in asking.path.split("/")
    ):
        return Refusal(400, "that is no address of this page")
    return None


def refuse_change(asking: PageRequest, names: Names, *, why_not: str | None) -> Refusal | None:
    """Refuse to change anything for who may not, or does not ask from a page of ours."""
    if why_not is not None:
        return Refusal(403, why_not)
    if not _from_ourselves(asking, names):
        return Refusal(403, "this was not sent by this page itself")
    kind = (asking.one("content-type") or "").partition(";")[0].strip().lower()
    if kind != FORM:
        return Refusal(415, "a decision is sent as a form")
    return None


def _from_ourselves(asking: PageRequest, names: Names) -> bool:
    """Say whether a request came from a page of ours: the browser says so, or where it began.

    Our pages are sent with `no-referrer`: of their forms browsers say that they began at `null`.
    So do frames of others; of those they say that the site is another one.
    """
    sites, origins = asking.all("sec-fetch-site"), asking.all("origin")
    if sites == ["same-origin"] and origins == ["null"]:
        return True
    own = {f"http://{name}" for name in names.allowed}
    host = asking.one("host")
    fits = all(origin in own and origin == f"http://{host}".lower() for origin in origins)
    if len(sites) > 1 or len(origins) > 1 or not fits:
        return False
    if sites:
        return sites[0] == "same-origin"
    return bool(origins)


def written(path: str) -> str:
    """Return a path as our own pages write it: a form is of one address, however it is spelled."""
    return quote(path, safe="/", errors="surrogateescape")


def is_led_here(asking: PageRequest) -> bool:
    """Say whether a link on another site leads here: then a browser keeps the cookie back."""
    return asking.one("sec-fetch-site") in {"cross-site", "same-site"}


# -- what nobody can make up: tokens, cookies and what a form was shown with ----------------------


def cookies(asking: PageRequest, name: str) -> list[str]:
    """Return each value that a cookie came with."""
    parts = (part.strip() for each in asking.all("cookie") for part in each.split(";"))
    pairs = (part.partition("=") for part in parts)
    return [value for key, _, value in pairs if key == name]


def session_of(asking: PageRequest, names: Names, key: bytes, now: float) -> str | None:
    """Return whose session a request belongs to; None where it belongs to none of ours."""
    # Other servers on this machine can set cookies of the same name: they do not lock anybody out.
    for value in cookies(asking, names.cookie)[:_MOST_COOKIES]:
        text = opened(key, f"session {names.port}", value)
        if text is None:
            continue
        session, _, since = text.partition(".")
        if since.isdecimal() and now - int(since) < SESSION_SECONDS:
            return session
    return None


def new_session(names: Names, key: bytes, session: str, now: float) -> str:
    """Return the header that begins a session."""
    value = seal(key, f"session {names.port}", f"{session}.{int(now)}")
    return f"{names.cookie}={value}; Path=/; HttpOnly; SameSite=Strict; Max-Age={SESSION_SECONDS}"


class EntryToken(NamedTuple):
    """What lets a browser in, once."""

    name: str
    until: float


def new_token(key: bytes, start: str, name: str, now: float) -> str:
    """Return a token for the server that was begun as `start`."""
    return seal(key, f"token {start}", f"{name}.{int(now) + TOKEN_SECONDS}")


def read_entry(
    key: bytes, start: str, sealed: str, now: float, used: Collection[str]
) -> EntryToken | None:
    """Return the token that somebody came with; None where it lets nobody in, or not any more."""
    text = opened(key, f"token {start}", sealed)
    name, _, until = (text or "").partition(".")
    if not name or not until.isdecimal() or int(until) < now or name in used:
        return None
    return EntryToken(name, float(until))


def last_event(headers: Mapping[str, str], query: Mapping[str, str]) -> int:
    """Return up to which event somebody who follows has seen everything."""
    found = [headers.get("last-event-id", ""), query.get("after", "")]
    numbers = [int(each) for each in found if each.isdecimal() and len(each) <= 18]
    return max(numbers, default=0)
