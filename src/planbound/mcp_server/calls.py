"""Where the calls of tools are done: one after the other, in a thread, with signs of life."""

from __future__ import annotations

import asyncio
import contextlib
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import anyio
from mcp.server.mcpserver import Context
from mcp_types import CallToolResult

from planbound.errors import PlanboundError
from planbound.mcp_server.answer import answered, failed
from planbound.store.disk import disk_problem
from planbound.usecases.loop.loop import Loop
from planbound.usecases.loop.told import Told

_T = TypeVar("_T")
EVERY = 1.0
"""Seconds between two signs of life."""


class Calls:
    """Does one thing at a time with the loop of this session.

    The loop is opened by the first call, and again after a failure: a plan may be made, or a
    configuration mended, while the server runs.
    """

    def __init__(self, open_loop: Callable[[], Loop], *, every: float = EVERY) -> None:
        self._open_loop = open_loop
        self._every = every
        self._loop: Loop | None = None
        # One thread, for as long as the server lives: what a contract starts is tied to the life
        # of the thread that started it, and calls that come together are done one by one.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="planbound")

    async def tell(
        self, context: Context, doing: str, act: Callable[[Loop], Told]
    ) -> CallToolResult:
        """Do something with the loop; return what is told, as an error where it cannot be done."""

        def call() -> CallToolResult:
            try:
                return answered(act(self.loop()))
            except PlanboundError as error:
                return failed(error.message, error.hint)
            except Exception as error:  # noqa: BLE001 - the server outlives a bug of ours
                disk = disk_problem(error)
                if disk is not None:
                    return failed(disk.message, disk.hint)
                traceback.print_exc(file=sys.stderr)
                return failed(f"this is a bug in Planbound: {type(error).__name__}: {error}")

        return await self.run(context, doing, call)

    async def run(self, context: Context, doing: str, act: Callable[[], _T]) -> _T:
        """Run something in the thread, and say every second or so that it goes on."""
        future = asyncio.wrap_future(self._thread.submit(act))
        async with anyio.create_task_group() as group:
            group.start_soon(self._say, context, doing)
            try:
                await asyncio.wait([future])
            finally:
                future.cancel()  # a call that was taken back and not begun is not begun
                group.cancel_scope.cancel()
        return future.result()

    async def _say(self, context: Context[Any, Any], doing: str) -> None:
        gone = (anyio.ClosedResourceError, anyio.BrokenResourceError)
        for count in range(1, sys.maxsize):
            await anyio.sleep(self._every)
            with contextlib.suppress(*gone):  # nobody listens any more
                await context.report_progress(count, None, doing)

    def loop(self) -> Loop:
        """Return the loop; for what runs in the thread."""
        if self._loop is None:
            self._loop = self._open_loop()
        return self._loop

    def begin(self) -> None:
        """See which plans are here before any call comes; nobody waits for it, or is told."""
        self._thread.submit(lambda: self.loop().look_around())

    def close(self) -> None:
        """Wait for what is being done; begin nothing more."""
        self._thread.shutdown(wait=True, cancel_futures=True)
