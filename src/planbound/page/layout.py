"""The frame of every page: where one can go, what the page is, and what it may do."""

from __future__ import annotations

from planbound.page.parts import live_source
from planbound.page.visit import PageRights, ShownPage
from planbound.receipts.html import Html, element, join, served, served_document
from planbound.receipts.page_style import STYLE

PLACES = (
    ("/", "Plans"),
    ("/inbox", "Inbox"),
    ("/team", "Team"),
    ("/journal", "Journal"),
    ("/costs", "Costs"),
)
STYLE_ADDRESS = "/static/style.css"
SCRIPTS = ("/static/htmx.min.js", "/static/hx-sse.min.js", "/static/keys.js")
_CONFIGURATION = (
    '{"includeIndicatorCSS":false,"history":false,"mode":"same-origin","extensions":"sse",'
    # What a person opened or folded away stays so while the page is kept live.
    '"transitions":false,"morphIgnore":["data-htmx-powered","open"],'
    # A refusal is a whole page: put into a part of one it would end that part for ever.
    '"noSwap":[204,304,"4xx","5xx"]}'
)


def style_sheet(own: str) -> str:
    """Return how pages look: as reports do, and what only pages of a server have."""
    return f"{STYLE.text}\n{own}"


def framed(
    page: ShownPage,
    rights: PageRights,
    *,
    waiting: int | None = None,
    leads_on: bool = True,
    tells_origin: bool = False,
) -> Html:
    """Return a whole page; one that leads nowhere has no way to the others."""
    files = (
        served("link", rel="stylesheet", href=STYLE_ADDRESS),
        served("link", rel="icon", href="/static/icon.svg"),
        # Whoever does not say from which site a form comes has to say where it began, and does so
        # only if it may tell our own server; every other one is told nothing, as the header says.
        *((element("meta", name="referrer", content="same-origin"),) if tells_origin else ()),
        element("meta", name="htmx-config", content=_CONFIGURATION),
    )
    # At the end and not deferred: htmx begins when the page is parsed, and a deferred extension
    # would now and then come after that, so that the page does not follow the journal.
    scripts = (served("script", src=each) for each in SCRIPTS)
    return served_document(
        f"{page.title} · Planbound",
        files,
        element("a", "Skip to the content", href="#content", class_="skip"),
        element("header", _navigation(page.at, waiting), class_="bar") if leads_on else None,
        served("main", page.content, id="content", tabindex=-1),
        live_source(page.live, tells=page.tells) if page.live is not None else None,
        element(
            "footer",
            element("p", rights.why_not) if rights.why_not is not None else None,
            _keys_hint() if leads_on else None,
        ),
        _keys() if leads_on else None,
        *scripts,
    )  # fmt: skip


def _navigation(at: str, waiting: int | None) -> Html:
    links = (
        element(
            "li",
            served("a", name, _count(waiting) if href == "/inbox" else None, href=href,
                   aria_current="page" if href == at else None),
        )
        for href, name in PLACES
    )  # fmt: skip
    return served("nav", element("ul", links), aria_label="Pages")


def _count(waiting: int | None) -> Html | None:
    if not waiting:
        return None
    return join(" ", element("span", waiting, class_="word warn"))


KEYS = (
    ("j", "the next thing in the list"),
    ("k", "the one before"),
    ("Enter", "open it"),
    ("o", "open or fold away what it says"),
    ("g p", "plans"),
    ("g i", "inbox"),
    ("g t", "team"),
    ("g j", "journal"),
    ("g c", "costs"),
    ("/", "search"),
    ("?", "show or hide these keys"),
)


def _keys_hint() -> Html:
    return element(
        "p", "Keys: ", served("kbd", "j"), " and ", served("kbd", "k"), " go from one thing to the"
        " next, ", served("kbd", "Enter"), " opens it, ", served("kbd", "?"), " shows all keys.",
        class_="keys-hint",
    )  # fmt: skip


def _keys() -> Html:
    rows = (join(element("dt", served("kbd", key)), element("dd", what)) for key, what in KEYS)
    return element(
        "section",
        element("h2", "Keys"),
        element("dl", rows, class_="facts"),
        id="keys",
        tabindex=-1,
        aria_label="Keys",
        class_="keys",
    )
