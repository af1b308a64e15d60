"""Small parts that several pages have: what stays as the journal is, bars, pages of a list."""

from __future__ import annotations

import re

from planbound.page.visit import address
from planbound.receipts.html import Content, Html, element, join, served

_TICKED = re.compile(r"`([^`]*)`")
_CUT_OFF = "The server of this page is not reached: what is shown may be old."
_REFUSED = "The server cannot show this page anew now: what is shown may be old."


def kept_live(identity: str, own: str, *content: Content) -> Html:
    """Return a part that is asked for again whenever the journal tells of something new.

    Its address gives the part alone to who asks with our script, and the page to everybody.
    """
    return served(
        "div",
        *content,
        id=identity,
        **{"hx-get": own, "hx-trigger": "changed from:#live delay:30ms", "hx-swap": "outerMorph"},
    )


def again(part: str, own: str) -> Html:
    """Return what asks for a part again every few seconds, as long as it is in the part itself."""
    trigger = {"hx-get": own, "hx-trigger": "every 3s", "hx-target": f"#{part}"}
    return served("div", id=f"{part}-again", hidden=True, **trigger, **{"hx-swap": "outerMorph"})


def live_source(stream: str, *, tells: bool) -> Html:
    """Return what follows the journal; with `tells` each event gets its line in `#events`.

    A script says where it is cut off, or a part is refused: what is shown then may be old.
    """
    lost = served("p", id="cut-off", role="status", class_="cut-off",
                  data_says=_CUT_OFF, data_refused=_REFUSED)  # fmt: skip
    follower = served(
        "div",
        id="live",
        class_="live",
        **{
            "hx-sse:connect": stream,
            "hx-target": "#events" if tells else "#live",
            "hx-swap": "beforeend" if tells else "none",
        },
    )
    return join(lost, follower)


def say(sentence: str) -> Html:
    """Return a sentence that stands apart."""
    return element("p", sentence, class_="notice")


def ticked(words: str) -> Html:
    """Return a sentence with what stands between backticks as code."""
    pieces = _TICKED.split(words)
    return join(*(element("code", each) if at % 2 else each for at, each in enumerate(pieces)))


def bar(name: str, words: str, used: float, limit: float | None) -> Html:
    """Return how much of something is used; without a limit only the words."""
    if limit is None or limit <= 0:
        return element("div", element("span", f"{name}: {words}, no limit"), class_="bar-of")
    return element(
        "div",
        element("span", f"{name}: {words}"),
        served("progress", max="1", value=f"{min(1.0, used / limit):.3f}",
               aria_label=f"{name}: {words}"),
        class_="bar-of",
    )  # fmt: skip


def links(label: str, *pairs: tuple[str, str], here: str = "") -> Html:
    """Return a row of links, each with where it leads; `here` is the one that is shown."""
    found = (
        element("li", served("a", name, href=href, aria_current="true" if href == here else None))
        for name, href in pairs
    )
    return served("nav", element("ul", found), class_="choices", aria_label=label)


def plan_links(slug: str, here: str) -> Html:
    """Return the ways to all pages about a plan."""
    return links(
        "About this plan",
        ("Plan", address("plan", slug)),
        ("Run", address("plan", slug, "run")),
        ("Gate", address("plan", slug, "gate")),
        ("Comments", address("plan", slug, "review")),
        ("Edit", address("plan", slug, "edit")),
        ("Sheet", address("plan", slug, "sheet")),
        ("Inbox", address("inbox", plan=slug)),
        ("Journal", address("journal", plan=slug)),
        here=here,
    )


def older_newer(older: str | None, newer: str | None, *, newer_says: str = "Newer") -> Html | None:
    """Return the links to the pages of a list before and after this one."""
    if older is None and newer is None:
        return None
    return served(
        "nav",
        served("a", newer_says, href=newer, rel="prev") if newer else None,
        " " if newer and older else None,
        served("a", "Older", href=older, rel="next") if older else None,
        aria_label="Pages of the list",
    )


def labelled(name: str, content: Content) -> Html:
    """Return something with its name before it."""
    return join(element("strong", f"{name}: "), content)
