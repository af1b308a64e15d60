"""The address of a SQLite file."""

from __future__ import annotations

import os

_SPECIAL = {b"%": b"%25", b"?": b"%3f", b"#": b"%23"}


def file_address(path: str, options: str) -> str:
    """Return a file's address with options, such as `mode=ro`; any path can be written so.

    `urllib` could do it, and takes longer to load than a small journal takes to read.
    """
    name = os.fsencode(os.path.abspath(path))
    for plain, written in _SPECIAL.items():
        name = name.replace(plain, written)
    # SQLite reads bytes; those that are no text are written as the numbers that they are.
    text = "".join(chr(byte) if byte < 0x80 else f"%{byte:02x}" for byte in name)
    return f"file:{text}?{options}"
