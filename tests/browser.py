"""A real browser for tests: Debian's Chromium, steered by playwright, one for each worker.

`chromium` is a fixture of the whole session. What is done with it is done in a `window`: it has a
view (colours, width, JavaScript), remembers what the browser complained of, and is closed at the
end of its block.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import pytest

from tests.agents.install import NO_SCRIPTS, Npm, installed
from tests.needs import need

if TYPE_CHECKING:
    from playwright.sync_api import Browser, BrowserContext, Dialog, Page

AXE = Npm(("axe-core@4.14.1",), "node_modules/axe-core/axe.min.js", NO_SCRIPTS)
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-quic"),
    *("--no-first-run", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--font-render-hinting=none"),
)
PICTURES = "PLANBOUND_PICTURES"
"""A folder for what the pages look like, for whoever wants to see them."""
PATIENCE = 30_000


class View(NamedTuple):
    """How somebody looks at a page."""

    name: str
    width: int = 1100
    height: int = 900
    scheme: Literal["light", "dark"] = "light"
    forced: bool = False
    scripts: bool = True

    def asks(self) -> dict[str, Any]:
        """Return it as playwright wants to be asked."""
        return {
            "viewport": {"width": self.width, "height": self.height},
            "color_scheme": self.scheme,
            "forced_colors": "active" if self.forced else "none",
            "java_script_enabled": self.scripts,
            "reduced_motion": "reduce",
            "locale": "en-GB",
            "timezone_id": "UTC",
        }


LIGHT = View("light")
DARK = View("dark", scheme="dark")
PHONE = View("phone", width=360, height=740)
FORCED = View("forced", width=800, scheme="dark", forced=True)
PLAIN = View("plain", scripts=False)
VIEWS = (LIGHT, DARK, PHONE, FORCED)


class Window:
    """A window with one page, and what the browser said about it."""

    def __init__(self, context: BrowserContext) -> None:
        self.context = context
        self.page = context.new_page()
        self.messages: list[str] = []
        """Whatever stands in the console, errors and dialogs."""
        self.asked: list[str] = []
        """Each address that was asked for."""
        self.listen(self.page)

    def listen(self, page: Page) -> None:
        """Remember what the browser says about a page."""
        page.on("console", lambda message: self.messages.append(message.text))
        page.on("pageerror", lambda error: self.messages.append(str(error)))
        page.on("dialog", self._dismiss)
        page.on("request", lambda request: self.asked.append(request.url))

    def _dismiss(self, dialog: Dialog) -> None:
        self.messages.append(f"a dialog: {dialog.message}")
        dialog.dismiss()

    def faults(self) -> list[str]:
        """Return what axe finds in the page as it is."""
        if not self.page.evaluate("'axe' in window"):
            self.page.evaluate(f"{axe()};0")  # as the debugger does, whatever the policy says
        found = self.page.evaluate(
            "axe.run({ resultTypes: ['violations'] }).then((found) => found.violations.map("
            "(each) => `${each.id}: ${each.nodes.map((node) => node.html.slice(0, 200)"
            " + ' ' + (node.any[0] || node.all[0] || node.none[0] || {}).message).join('; ')}`))"
        )
        return [str(each) for each in found]

    def overflow(self) -> int:
        """Return by how many pixels the page is wider than its window."""
        return int(self.page.evaluate("document.documentElement.scrollWidth - innerWidth"))

    def unfold(self) -> None:
        """Open whatever is folded."""
        self.page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")

    def seen(self) -> str:
        """Return where the window is and what it shows, for whoever looks for a fault."""
        text = self.page.evaluate("document.body?.innerText ?? ''")
        asked = [each.partition("//")[2] for each in self.asked[-8:]]
        return f"{self.page.url}\n{asked}\n{self.messages}\n{text[:3000]}"

    def picture(self, name: str) -> None:
        """Keep what the whole page looks like, where somebody asked for it."""
        folder = os.environ.get(PICTURES)
        if folder:
            self.page.screenshot(path=Path(folder, f"{name}.png"), full_page=True)


class Chromium:
    """The browser of this worker."""

    def __init__(self, browser: Browser) -> None:
        self.browser = browser
        self._loop = asyncio._get_running_loop()

    @contextlib.contextmanager
    def window(self, view: View = LIGHT) -> Iterator[Window]:
        """Open a window that shares nothing with others."""
        with self.steered():
            context = self.browser.new_context(**view.asks())
            context.set_default_timeout(PATIENCE)
            window = Window(context)
            try:
                yield window
            except BaseException as error:
                error.add_note(window.seen())
                raise
            finally:
                context.close()

    @contextlib.contextmanager
    def steered(self) -> Iterator[None]:
        """Let playwright's loop be the one of this thread, in this block only.

        Its synchronous face leaves the loop running in the thread of the tests, where nobody else
        could run one of his own.
        """
        before = asyncio._get_running_loop()
        asyncio._set_running_loop(self._loop)
        try:
            yield
        finally:
            asyncio._set_running_loop(before)


def axe() -> str:
    """Return the program that looks for what keeps people from using a page."""
    need("npm", "it installs axe")
    return installed("axe", AXE).read_text(encoding="utf-8")


@contextlib.contextmanager
def browsing() -> Iterator[Chromium]:
    """Start the browser, and end it."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - only who looks at pages

    with sync_playwright() as playwright:
        program = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=program, args=list(FLAGS))
        found = Chromium(browser)
        asyncio._set_running_loop(None)
        try:
            yield found
        finally:
            asyncio._set_running_loop(found._loop)
            browser.close()


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Return the browser of this worker."""
    need("chromium", "pages are looked at in it")
    with browsing() as found:
        yield found
