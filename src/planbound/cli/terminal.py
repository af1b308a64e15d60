"""Writing to the terminal: styles where they help, no crash where they cannot be.

Every command pays for importing this, `--version` too: it knows nothing of plans.
"""

from __future__ import annotations

import contextlib
import os
import sys
from typing import TextIO

_STYLES = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "cyan": "36",
}


class Terminal:
    """Standard output and error of this process."""

    def __init__(self) -> None:
        for stream in (sys.stdout, sys.stderr):
            # A plan may hold what the terminal's encoding has not.
            reconfigure = getattr(stream, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(errors="backslashreplace")
        self.colour = _wants_colour(sys.stdout)
        self.error_colour = _wants_colour(sys.stderr)
        self.for_programs = False
        """Whether standard output is read by a program, which wants an error as JSON, too."""
        self._has_told = False

    def out(self, text: str = "") -> None:
        """Write a line of the result."""
        sys.stdout.write(text + "\n")

    def json(self, value: object) -> None:
        """Write a result for programs."""
        import json  # noqa: PLC0415 - only for who asks for it

        from msgspec import to_builtins  # noqa: PLC0415 - the same

        from planbound.source import storable_json  # noqa: PLC0415 - the same

        self._has_told = True
        self.out(json.dumps(storable_json(to_builtins(value)), indent=2))

    def failure(self, code: str, message: str, hint: str | None) -> None:
        """Write an error for programs, in a line, unless the result is written already."""
        if not self.for_programs or self._has_told:
            return
        from msgspec import json  # noqa: PLC0415 - only for who asks for it

        from planbound.cli.shape import ErrorAbout, ErrorPrinted  # noqa: PLC0415 - the same
        from planbound.source import storable  # noqa: PLC0415 - the same

        hint = None if hint is None else storable(hint)
        about = ErrorAbout(code=code, message=storable(message), hint=hint)
        self.out(json.encode(ErrorPrinted(error=about)).decode())

    def raw(self, text: str) -> None:
        """Write a result as it is."""
        sys.stdout.write(text)

    def note(self, text: str) -> None:
        """Write a line about the result."""
        sys.stderr.write(text + "\n")

    def problem(self, message: str, hint: str | None = None) -> None:
        """Write what went wrong and what to do."""
        # Both may go to a disk that is full; the end of the process looks once more.
        with contextlib.suppress(OSError):
            sys.stdout.flush()
        with contextlib.suppress(OSError):
            self.note(f"{self._paint('error:', 'red', colour=self.error_colour)} {message}")
            if hint:
                self.note(f"hint: {hint}")

    def style(self, text: str, *names: str) -> str:
        """Return the text in a style, if standard output shows styles."""
        return self._paint(text, *names, colour=self.colour)

    def error_style(self, text: str, *names: str) -> str:
        """Return the text in a style, if standard error shows styles."""
        return self._paint(text, *names, colour=self.error_colour)

    def _paint(self, text: str, *names: str, colour: bool) -> str:
        if not colour:
            return text
        codes = ";".join(_STYLES[name] for name in names)
        return f"\x1b[{codes}m{text}\x1b[0m"


def _wants_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return False
    return bool(os.environ.get("FORCE_COLOR")) or stream.isatty()
