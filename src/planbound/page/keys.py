"""What lets a browser in: an address with a token, which is good for one of them."""

from __future__ import annotations

import secrets
import time

from planbound.page.guard import new_token
from planbound.workspace.page_home import RunningPage


def entry_address(running: RunningPage, key: bytes) -> str:
    """Return an address that lets one browser in, once."""
    token = new_token(key, running.start, secrets.token_urlsafe(18), time.time())
    return f"{running.address}/enter?token={token}"
