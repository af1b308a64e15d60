"""One request to the page and what is answered: values, without the library of the server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import quote, urlencode

from planbound.page.nonce import ShownState, write_nonce
from planbound.receipts.html import Content

if TYPE_CHECKING:
    from planbound.page.board import Board
    from planbound.workspace.context import Context


class PageRights(NamedTuple):
    """What may be done on this page."""

    why_not: str | None
    """Why nothing is decided here; None: a person may decide."""

    @property
    def decides(self) -> bool:
        """Whether a person may decide here."""
        return self.why_not is None


class Visit(NamedTuple):
    """What somebody asks of the page."""

    context: Context
    """Of this request alone."""
    board: Board
    """What the journal says, as it is kept for all requests."""
    address: str
    """The path that was asked for."""
    path: Mapping[str, str]
    """The parts of it that the route names."""
    query: Mapping[str, str]
    form: Mapping[str, str]
    """Of a POST; of each field the last."""
    rights: PageRights
    session: str
    key: bytes
    is_change: bool = False
    """Whether it may change something: a POST."""
    shown: ShownState = ShownState()
    """Of a POST: what the person saw who decided."""
    accepts_part: bool = False
    """Whether a part of a page is asked for, by a script of ours."""
    says_site: bool = True
    """Whether the browser says from which site something is asked: old ones do not, nor does any
    of an address without encryption that is not on this machine."""
    beside: Mapping[str, tuple[Beside, ...]] = {}
    """By the name of a place on a page what other modules put there."""

    def nonce(self, action: str, shown: ShownState) -> str:
        """Return what a form for an action has to bring back."""
        return write_nonce(self.key, self.session, action, shown)

    def more(self, place: str, slug: str) -> list[Content]:
        """Return what other modules put in a place of the page of a plan."""
        return [each(self, slug) for each in self.beside.get(place, ())]


Beside = Callable[[Visit, str], Content]
"""Returns what a module has to say about a plan on the page of another one."""


class ShownPage(NamedTuple):
    """A page, without its frame."""

    title: str
    content: Content
    status: int = 200
    at: str = ""
    """Which entry of the navigation it belongs to, by its address."""
    live: str | None = None
    """The address of the stream that keeps it as the journal is."""
    is_alone: bool = False
    """Whether whoever sees it may not know of anything else: they came with a link, or nothing."""
    tells: bool = False
    """Whether each event gets a line of its own, in what has the id `events`."""


class GoTo(NamedTuple):
    """Another page, after something was done."""

    address: str


class PartOfPage(NamedTuple):
    """A piece of a page, for a script that puts it in its place."""

    content: Content
    status: int = 200


class PlainFile(NamedTuple):
    """A text that is shown as it is, and never run."""

    data: bytes
    name: str
    is_to_keep: bool = False
    """Whether it is for the disk, and not for looking at."""

    def named(self) -> dict[str, str]:
        """Return the header that tells a browser its name, whatever stands in it."""
        how = "attachment" if self.is_to_keep else "inline"
        return {"content-disposition": f"{how}; filename*=UTF-8''{_part(self.name)}"}


PageAnswer = ShownPage | GoTo | PartOfPage | PlainFile


class PageRoute(NamedTuple):
    """An address, and who answers it."""

    method: Literal["GET", "POST"]
    pattern: str
    """Such as `/plan/{plan}/step/{step}`."""
    answer: Callable[[Visit], PageAnswer]
    is_open: bool = False
    """Whether it asks for no cookie, because its address is a secret by itself."""
    reads_fold: bool = True
    """Whether the fold stands still for it; without, it takes the lock by itself if it needs it."""


class NoSuchPage(Exception):  # noqa: N818 - it is an answer, not an error
    """There is nothing at this address; `why` says what was looked for."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


def address(*parts: object, **query: object) -> str:
    """Return an address on our server, whatever stands in its parts; None is left out."""
    path = "/" + "/".join(_part(str(each)) for each in parts)
    asked = {name.rstrip("_"): str(value) for name, value in query.items() if value is not None}
    return path + (f"?{urlencode(asked, quote_via=quote, safe='')}" if asked else "")


def _part(text: str) -> str:
    return quote(text.encode("utf-8", "surrogateescape"), safe="")
