"""What programs read: the shape of `--json`, and of an error."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

Shapes = dict[str, Any]
"""What a command prints with `--json`, by the options with which it is asked for that.

A module of commands has them in `SHAPES`, by command. Where the words end in `a line each`, every
line is such a document.
"""


class JsonObject(Struct, frozen=True, forbid_unknown_fields=True):
    """An object that `--json` prints; the reference page is made of its fields."""


class ErrorAbout(JsonObject, frozen=True):
    """Why a command did not do what it was asked for."""

    code: str
    """One of the words below; it never changes."""
    message: str
    """What was found, for people; its wording may change."""
    hint: str | None
    """What to do about it."""


class ErrorPrinted(JsonObject, frozen=True):
    """What a command prints with `--json` that ends with an error: one line."""

    error: ErrorAbout
