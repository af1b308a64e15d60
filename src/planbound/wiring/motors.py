"""Puts together what drives runs: this process alone, or DBOS."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING, Protocol

from planbound.engine.configuration import Motor as MotorKind
from planbound.errors import Refused
from planbound.ports.motor import Motor
from planbound.runtime.inline import InlineMotor
from planbound.usecases.run.session import Session
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.runtime.dbos_database import DbosDatabase
    from planbound.runtime.dbos_motor import DbosHost

_PAUSE = 0.1
_LOOK_SECONDS = 1.0
_LAUNCH_SECONDS = 60.0


class Motors(Protocol):
    """Makes a motor for each run."""

    @property
    def kind(self) -> MotorKind:
        """Return which one."""

    def make(self, session: Session, ask: Callable[[], bool], *, stay: bool) -> Motor:
        """Return a motor; `stay`: it waits for answers that come by other ways."""


def make_motors(parts: Parts) -> Motors:
    """Return what the configuration asks for."""
    if parts.configuration.run.motor is MotorKind.DBOS:
        return DbosMotors(parts)
    return InlineMotors()


class InlineMotors:
    """This process, turn after turn."""

    kind = MotorKind.INLINE

    def make(self, session: Session, ask: Callable[[], bool], *, stay: bool) -> Motor:  # noqa: ARG002 - the face waits
        """Return a motor."""
        return InlineMotor(wait_until=partial(wait_until, session), ask=ask)


class DbosMotors:
    """DBOS workflows, all in the one DBOS of this process, which starts with the first."""

    kind = MotorKind.DBOS

    def __init__(self, parts: Parts, *, executor: str | None = None) -> None:
        # Now, so that it is refused before anything begins where it is not installed.
        from planbound.runtime import dbos_motor  # noqa: PLC0415 - half a second

        self.parts = parts
        self._module = dbos_motor
        self._executor = executor
        self._host: DbosHost | None = None

    def host(self, executor: str | None = None) -> DbosHost:
        """Return DBOS, launched under the name that was given first."""
        if self._host is None:
            name = self._executor or executor or f"{self.parts.state.project}/{os.getpid()}"
            host = self._module.DbosHost(make_dbos_database(self.parts), name)
            host.launch()
            self._host = host
        return self._host

    def make(self, session: Session, ask: Callable[[], bool], *, stay: bool) -> Motor:
        """Return a motor."""
        plan = self._name(session.desk.slug)
        waits = self._module.Waits(
            stopped=partial(_is_stopped, session),
            ask=ask,
            news=partial(_news, session) if stay else None,
        )
        # Whoever holds the lease is the only process of that name.
        host = self.host(f"{plan}/{session.notes.run}")
        driver = f"{session.notes.run}/{session.fence.number}"
        return self._module.DbosMotor(host, plan=plan, driver=driver, waits=waits)

    def forget(self, slug: str) -> None:
        """Remove what drivers of a plan left with DBOS; nobody drives it."""
        self.host().forget(f"{self._name(slug)}/")

    def _name(self, slug: str) -> str:
        return f"run/{self.parts.state.project}/{slug}"


def make_dbos_database(parts: Parts) -> DbosDatabase:
    """Return where DBOS keeps its own things."""
    from planbound.runtime.dbos_database import DbosDatabase  # noqa: PLC0415 - half a second
    from planbound.store.lock import kernel_lock  # noqa: PLC0415

    folder = parts.state.folder

    def busy() -> Refused:
        return Refused("the database of the motor `dbos` is being made by others for too long")

    def lock() -> AbstractContextManager[object]:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        path = os.path.join(folder, "dbos.lock")
        return kernel_lock(path, mode=0o600, seconds=_LAUNCH_SECONDS, busy=busy)

    return DbosDatabase(
        path=os.path.join(folder, "dbos.sqlite"),
        url=os.environ.get("PLANBOUND_DATABASE_URL") or None,
        lock=lock,
    )


def wait_until(session: Session, until: str) -> None:
    """Wait, in small pieces: somebody may want it to stop, or decide something meanwhile."""
    known = session.state.plan_seq
    while session.now() < until and not _is_stopped(session) and session.state.plan_seq == known:
        time.sleep(_PAUSE)


def _is_stopped(session: Session) -> bool:
    session.refresh()
    return session.control.reason is not None or session.state.cancelled


def _news(session: Session) -> Callable[[], bool]:
    """Begin to wait for a person: the lease is kept, the clock of the budget stands."""
    if session.state.paused is None:
        session.note_pause("waiting")
    before, journal = session.state.seq, session.desk.journal
    head = journal.head().seq

    def news() -> bool:
        nonlocal head
        if journal.wait(head, _LOOK_SECONDS):
            head = journal.head().seq
            session.refresh(at_once=True)
        return session.control.reason is not None or session.state.seq != before

    return news
