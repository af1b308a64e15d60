"""A terminal that is drawn on as a whole, and is afterwards as it was, however this ends."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from types import FrameType, TracebackType
from typing import Self

_ENTER = "\x1b[?1049h\x1b[?25l"
_LEAVE = "\x1b[?25h\x1b[?1049l"
_ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_LONGEST_KEY = 64
_USUAL = (80, 24)


class FullScreen:
    """The screen of standard output, and the keys of standard input.

    Signals only set a flag: who draws looks at `ended`, leaves, and the terminal is as before.
    """

    def __init__(self) -> None:
        self._input = sys.stdin.fileno()
        self._output = sys.stdout.fileno()
        self._before: list[object] | None = None
        self._handlers: dict[int, object] = {}
        self._drawn: list[str] | None = None
        self._wake, self._woken = os.pipe()
        os.set_blocking(self._wake, False)
        os.set_blocking(self._woken, False)
        self.ended: int | None = None
        """The signal that asks for an end."""

    def __enter__(self) -> Self:
        self._before = termios.tcgetattr(self._input)
        wanted = dict.fromkeys(_ENDS, self._end)
        for number, handler in (*wanted.items(), (signal.SIGWINCH, self._changed),
                                (signal.SIGTSTP, self._rest)):  # fmt: skip
            before = signal.getsignal(number)
            # Whoever starts us with a signal ignored, as `nohup` does, wants it to stay so.
            if before is not signal.SIG_IGN:
                self._handlers[number] = before
                signal.signal(number, handler)
        self._wakeup = signal.set_wakeup_fd(self._woken, warn_on_full_buffer=False)
        self._take()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._give_back()
        signal.set_wakeup_fd(self._wakeup)
        for number, handler in self._handlers.items():
            signal.signal(number, handler)  # type: ignore[arg-type]  # what `getsignal` returned
        os.close(self._wake)
        os.close(self._woken)

    # -- signals ---------------------------------------------------------------------------------

    def _end(self, number: int, _frame: FrameType | None) -> None:
        self.ended = number

    def _changed(self, _number: int, _frame: FrameType | None) -> None:
        self._drawn = None

    def _rest(self, number: int, _frame: FrameType | None) -> None:
        """Leave the terminal to the shell for as long as it has us stopped."""
        self._give_back()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGTSTP)
        signal.signal(number, self._rest)
        self._take()

    # -- the terminal ----------------------------------------------------------------------------

    def _take(self) -> None:
        with contextlib.suppress(termios.error):
            tty.setcbreak(self._input)
        self._write(_ENTER)
        self._drawn = None

    def _give_back(self) -> None:
        self._write(_LEAVE)
        if self._before is not None:
            with contextlib.suppress(termios.error, OSError):
                termios.tcsetattr(self._input, termios.TCSADRAIN, self._before)  # type: ignore[arg-type]  # as it was read

    def _write(self, text: str) -> None:
        sys.stdout.flush()
        data = text.encode(sys.stdout.encoding or "utf-8", "backslashreplace")
        try:
            while data:
                data = data[os.write(self._output, data) :]
        except OSError:  # the terminal is gone
            self.ended = self.ended or signal.SIGHUP

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """Lend the terminal to another program for as long as the block lasts."""
        self._give_back()
        # An interrupt is that program's now; whoever ends us finds the terminal as it was.
        kept = {number: signal.getsignal(number) for number in _ENDS}
        for number in _ENDS:
            handler = _nothing if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, handler)
        try:
            yield
        finally:
            for number, before in kept.items():
                signal.signal(number, before)
            self._take()

    @property
    def size(self) -> tuple[int, int]:
        """Return how many columns and lines there are."""
        try:
            size = os.get_terminal_size(self._output)
        except OSError:
            return _USUAL
        # Some terminals do not know how large they are.
        return size.columns or _USUAL[0], size.lines or _USUAL[1]

    def draw(self, lines: Sequence[str]) -> None:
        """Show these lines, and nothing else; what is there already is not written again."""
        if self._drawn == list(lines):
            return
        # The last line has no line end: it would move everything up.
        text = "\r\n".join(f"{line}\x1b[K" for line in lines)
        wipe = "\x1b[2J" if self._drawn is None else ""
        self._drawn = list(lines)
        self._write(f"\x1b[?2026h\x1b[H{wipe}{text}\x1b[J\x1b[?2026l")

    def key(self, seconds: float) -> str | None:
        """Return what is typed within a time; "" at the end of the input, None for nothing."""
        ready, _, _ = select.select([self._input, self._wake], [], [], seconds)
        if self._wake in ready:
            with contextlib.suppress(OSError):
                os.read(self._wake, 4096)
        if self.ended is not None or self._input not in ready:
            return None
        try:
            data = os.read(self._input, _LONGEST_KEY)
        except OSError:  # the terminal is gone
            return ""
        return data.decode("utf-8", "replace")


def _nothing(_number: int, _frame: FrameType | None) -> None:
    """Hear a signal that is for somebody else."""
