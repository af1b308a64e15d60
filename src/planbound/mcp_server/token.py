"""The token of the server over HTTP; read before anything that takes long to start."""

from __future__ import annotations

import os

from planbound.errors import UsageError

SHORTEST = 20
"""How many characters a token has at least."""


def read_token(path: str) -> str:
    """Return the token in a file that nobody else can read."""
    try:
        with open(path, encoding="utf-8") as file:
            others = os.fstat(file.fileno()).st_mode & 0o077
            token = file.read(4096).strip()
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not text"
        raise UsageError(f"the token in `{path}` cannot be read: {reason}") from error
    if others:
        raise UsageError(f"others can read `{path}`", hint=f"`chmod 600 {path}`")
    if len(token) < SHORTEST or not token.isascii() or not token.isprintable() or " " in token:
        raise UsageError(
            f"`{path}` holds no token: {SHORTEST} or more printable characters, no blanks",
            hint=f"`(umask 077; openssl rand -hex 32 > {path})`",
        )
    return token
