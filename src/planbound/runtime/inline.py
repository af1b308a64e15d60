"""The motor that is this process: turn after turn, nothing else."""

from __future__ import annotations

from collections.abc import Callable

from planbound.ports.motor import Asking, Ended, Halted, Later, Next, Turn


class InlineMotor:
    """Drives a run as long as there is something to do."""

    def __init__(self, *, wait_until: Callable[[str], None], ask: Callable[[], bool]) -> None:
        self.wait_until = wait_until
        """Waits until a time, or until somebody wants it to stop."""
        self.ask = ask
        """Asks a person, or waits for one; says whether there is an answer."""

    def drive(self, turn: Turn) -> Next:
        """Return what the last turn said."""
        while True:
            said = turn()
            match said:
                case Ended() | Halted():
                    return said
                case Later():
                    self.wait_until(said.until)
                case Asking():
                    if not self.ask():
                        return said
                case _:
                    pass
