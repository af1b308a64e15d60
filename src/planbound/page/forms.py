"""Forms: each brings back what was shown with it, and works without any script."""

from __future__ import annotations

from planbound.page.nonce import ShownState
from planbound.page.visit import Visit
from planbound.receipts.html import Content, Html, element, raw_text, served

NONCE = "nonce"
"""The field in which a form says what was shown with it."""


def form(
    visit: Visit,
    action: str,
    shown: ShownState,
    *fields: Content,
    label: str | None = None,
) -> Html:
    """Return a form that decides something; where nothing is decided here, why not."""
    if visit.rights.why_not is not None:
        return element("p", visit.rights.why_not, class_="dim")
    return served(
        "form",
        served("input", type="hidden", name=NONCE, value=visit.nonce(action, shown)),
        *fields,
        method="post",
        action=action,
        accept_charset="utf-8",
        aria_label=label,
    )


def button(text: str, *, name: str | None = None, value: str | None = None,
           class_: str | None = None) -> Html:  # fmt: skip
    """Return a button that sends its form."""
    return served("button", text, type="submit", name=name, value=value, class_=class_)


def text_field(
    name: str,
    label: str,
    *,
    value: str = "",
    required: bool = False,
    placeholder: str | None = None,
    most: int = 500,
) -> Html:
    """Return a field for one line."""
    return served(
        "label",
        element("span", label),
        served("input", type="text", name=name, value=value, required=required, maxlength=most,
               placeholder=placeholder, autocomplete="off"),
    )  # fmt: skip


def text_area(
    name: str, label: str, *, value: str = "", required: bool = False, rows: int = 4
) -> Html:
    """Return a field for a text."""
    return served(
        "label",
        element("span", label),
        served("textarea", raw_text(value), name=name, rows=rows, required=required),
    )
