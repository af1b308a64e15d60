"""Somebody with a browser who entered the page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tests.browser import LIGHT, Chromium, View, Window
from tests.page.browser import RunningServer


@contextmanager
def visiting(
    chromium: Chromium, running: RunningServer, view: View = LIGHT, path: str = ""
) -> Iterator[Window]:
    """Open a window of somebody who holds the cookie, at a page where one is named."""
    name, _, value = running.cookie.partition("=")
    with chromium.window(view) as window:
        window.context.add_cookies([{"name": name, "value": value, "url": running.address}])
        if path:
            window.page.goto(running.address + path)
        yield window
