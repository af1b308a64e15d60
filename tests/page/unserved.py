"""A visit to the page without a server: what a route answers, and what its form brings back."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace
from typing import Any

from planbound.page.nonce import read_nonce
from planbound.page.visit import PageRights, Visit

KEY = b"k" * 32


def visit(board: Any = None, **given: Any) -> Visit:
    """Return a visit of somebody who may decide; the board is a made-up one, unless given."""
    made: dict[str, Any] = {
        "context": SimpleNamespace(root="/nowhere", given_state=None),
        "board": board or SimpleNamespace(lock=threading.RLock(), refresh=lambda: None),
        "address": "/", "path": {}, "query": {}, "form": {},
        "rights": PageRights(None), "session": "s", "key": KEY,
    }  # fmt: skip
    return Visit(**(made | given))


def sent_back(text: str, action: str, at: Visit) -> Visit:
    """Return the visit that sends the one form of a page back."""
    (nonce,) = re.findall(r'name="nonce" value="([^"]+)"', text)
    shown = read_nonce(KEY, at.session, action, nonce)
    assert shown is not None
    return at._replace(shown=shown, is_change=True)
