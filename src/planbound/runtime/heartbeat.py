"""Keeps the lease of a run, and looks now and then whether it has to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from planbound.engine.fence import Fence
from planbound.errors import LeaseLost, PlanboundError
from planbound.ports.lease import Leases

_TICK = 0.5


class Heartbeat:
    """A thread that renews a lease until it is told to end."""

    def __init__(
        self,
        leases: Leases,
        fence: Fence,
        *,
        seconds: float,
        lost: Callable[[str], None],
        look: Callable[[], None],
    ) -> None:
        self._leases = leases
        self._fence = fence
        self._seconds = seconds
        self._lost = lost
        self._look = look
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._beat, name="heartbeat", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def end(self) -> None:
        """Stop, and wait until it has."""
        self._over.set()
        self._thread.join(timeout=5)

    def _beat(self) -> None:
        due = time.monotonic() + self._seconds / 3
        while not self._over.wait(_TICK):
            try:
                if time.monotonic() >= due:
                    self._leases.renew(self._fence, seconds=self._seconds)
                    due = time.monotonic() + self._seconds / 3
                self._look()
            except LeaseLost as error:
                self._lost(error.message)
                return
            except PlanboundError:
                # The database is away for a moment: the lease lasts a while, and nothing can be
                # written without it.
                continue
