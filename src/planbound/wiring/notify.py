"""Puts together what tells receivers of events."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, assert_never

from planbound.errors import ConfigurationError
from planbound.wiring.parts import Parts

if TYPE_CHECKING:
    from planbound.engine.configuration import Configuration
    from planbound.engine.notify import Notify
    from planbound.ports.notify import Answer, Message
    from planbound.runtime.courier import Courier
    from planbound.store.cursor import CursorFile
    from planbound.usecases.notify import Deliveries

_PASSED = ("HOME", "LANG")


class Outbox(NamedTuple):
    """What there is to deliver with."""

    deliveries: Deliveries
    entries: tuple[Notify, ...]
    """Those that can be delivered to."""
    obstacles: tuple[str, ...]
    """Why nothing can be delivered to the others."""
    new: tuple[Notify, ...]
    """Those that were never seen before."""


def make_courier(parts: Parts) -> Courier | None:
    """Return what tells receivers while a run goes on, not yet started; None without any."""
    if not parts.configuration.notify:
        return None
    from planbound.runtime.courier import Courier  # noqa: PLC0415 - most have no receivers

    outbox = make_outbox(parts)
    return Courier(outbox.deliveries, outbox.entries, obstacles=outbox.obstacles)


def make_outbox(parts: Parts) -> Outbox:
    """Return what delivers; entries that are new begin with what happens from now on."""
    from planbound.usecases.notify import Deliveries, Postman  # noqa: PLC0415 - see above

    entries = parts.configuration.notify
    for entry in entries:
        _refuse_inside(parts.root, entry)
    sender = RealSender(parts.root, os.environ, parts.configuration)
    found = {entry: sender.obstacle(entry) for entry in entries}
    deliveries = Deliveries(
        parts.journal(),
        _cursor_file(parts),
        Postman(sender, sender.redactor, parts.state.project),
        now=time.time,
        place=_place(),
    )
    return Outbox(
        deliveries,
        entries=tuple(entry for entry, obstacle in found.items() if obstacle is None),
        obstacles=tuple(obstacle for obstacle in found.values() if obstacle is not None),
        new=tuple(deliveries.enter(entries)),
    )


def receiver_troubles(parts: Parts) -> list[str]:
    """Return what is wrong with those who are told of events."""
    from planbound.engine.notify import identity  # noqa: PLC0415 - most have no receivers
    from planbound.usecases.notify import troubles  # noqa: PLC0415

    entries = parts.configuration.notify
    sender = RealSender(parts.root, os.environ, parts.configuration)
    obstacles = [obstacle for entry in entries if (obstacle := sender.obstacle(entry))]
    known = _cursor_file(parts).all()
    names = dict.fromkeys(identity(entry, _place()) for entry in entries)
    return [*obstacles, *troubles(known[name] for name in names if name in known)]


def _place() -> str:
    """Return what tells this journal from others that share its state home."""
    return os.environ.get("PLANBOUND_DATABASE_URL", "")


def _cursor_file(parts: Parts) -> CursorFile:
    from planbound.store.cursor import CursorFile  # noqa: PLC0415 - most have no receivers

    state = parts.state
    return CursorFile(os.path.join(state.folder, "notify.json"), locks=state.locks)


class RealSender:
    """Starts commands and posts to addresses."""

    def __init__(
        self, root: str, environment: Mapping[str, str], configuration: Configuration
    ) -> None:
        from planbound.engine.notify import Webhook  # noqa: PLC0415 - most have no receivers
        from planbound.journal.redact import Redactor  # noqa: PLC0415

        self._root = root
        self._environment = environment
        targets = [entry.target for entry in configuration.notify]
        signing = [each.secret_env for each in targets if isinstance(each, Webhook)]
        # Whatever a variable is called: what messages are signed with is a secret.
        named = {f"{name}_SECRET": environment[name] for name in signing if name in environment}
        self.redactor = Redactor({**environment, **named}, configuration.redact)

    def obstacle(self, entry: Notify) -> str | None:
        """Return why nothing can be sent, whatever it is."""
        from planbound.engine.notify import Webhook  # noqa: PLC0415 - most have no receivers

        target = entry.target
        if isinstance(target, Webhook) and not self._environment.get(target.secret_env):
            return (
                f"`{target.secret_env}`, which signs what is sent to `{target.shown}`, is not set"
            )
        return None

    def send(self, entry: Notify, message: Message, hurry: Callable[[], bool]) -> Answer:
        """Hand one message over."""
        answer = self._answer(entry, message, hurry)
        return answer._replace(reason=self.redactor.redact(answer.reason).text)

    def _answer(self, entry: Notify, message: Message, hurry: Callable[[], bool]) -> Answer:
        from planbound.engine.notify import Command, Webhook  # noqa: PLC0415 - see above

        match entry.target:
            case Command():
                from planbound.shell.receiver import run_receiver  # noqa: PLC0415

                return run_receiver(
                    entry.target,
                    message,
                    folder=self._root,
                    environment=self._passed(),
                    seconds=entry.seconds,
                    hurry=hurry,
                )
            case Webhook():
                from planbound.shell.webhook import post  # noqa: PLC0415 - TLS takes long

                return post(
                    entry.target,
                    message,
                    secret=self._environment[entry.target.secret_env],
                    timestamp=str(int(time.time())),
                    seconds=entry.seconds,
                )
            case _:
                assert_never(entry.target)

    def _passed(self) -> dict[str, str]:
        passed = {name: self._environment[name] for name in _PASSED if name in self._environment}
        folders = self._environment.get("PATH", os.defpath).split(os.pathsep)
        # Agents write to the workspace: no program is taken from there.
        outside = (each for each in folders if os.path.isabs(each) and not _is_in(self._root, each))
        return {**passed, "PATH": os.pathsep.join(outside)}


def _refuse_inside(root: str, entry: Notify) -> None:
    from planbound.engine.notify import Command  # noqa: PLC0415 - most have no receivers

    if isinstance(entry.target, Command) and os.path.isabs(entry.target.words[0]):
        program = entry.target.words[0]
        if _is_in(root, program):
            raise ConfigurationError(
                f"`notify` starts `{program}`, which lies in the workspace",
                hint="agents can change it there: put it somewhere else",
            )


def _is_in(root: str, path: str) -> bool:
    inside = os.path.realpath(root)
    return any(
        os.path.commonpath([inside, place]) == inside
        for place in (os.path.normpath(path), os.path.realpath(path))
    )
