"""`planbound hook`: always prints one JSON object, and always ends with 0.

Hosts let an agent stop where a hook crashes, is too slow, ends with another code or prints
anything else. So whatever happens here ends in an answer.
"""

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, NoReturn

from planbound.session.hooks.event import (
    NOTHING,
    Answer,
    HookCall,
    HookMoment,
    Host,
    read_event,
    said,
)

if TYPE_CHECKING:
    import argparse


# -- `planbound hook`: always prints one JSON object, and always ends with 0 ---------------------


SECONDS = 1740
"""So long may an answer take; a host waits for 1800 s, as `planbound install` tells it."""
_GRACE = 3.0
"""So many seconds are left to put on record that there is no other answer."""
_AGAIN = 1.0
"""After so many seconds who was told to end and goes on is told again."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGALRM)
_MOMENTS = [moment.value for moment in HookMoment]
_HOSTS = [host.value for host in Host]


class HookArguments(NamedTuple):
    """What stands on the command line."""

    moment: HookMoment | None
    host: Host | None
    workspace: str | None
    state: str | None
    problem: str | None = None


class Interrupted(BaseException):
    """The process was told to end, or took too long."""


def configure_hook(parser: "argparse.ArgumentParser") -> None:
    """Add the command's arguments; they are for the help, see `parse_words`."""
    parser.add_argument("event", choices=_MOMENTS, help="what the host asks about")
    parser.add_argument(
        "--host", choices=_HOSTS, help="the host (default: recognised from what it sends)"
    )


def answer_host(arguments: Sequence[str]) -> int:
    """Answer the host whose event is on standard input; return 0."""
    with _own_output() as output:
        words = parse_words(arguments)
        heard: list[HookCall] = []
        answer: Answer
        try:
            with _interruptible(SECONDS):
                answer = _answer(words, heard)
        except Interrupted as cut:
            answer = _late(words, heard, str(cut))
        except BaseException as error:  # noqa: BLE001 - a hook that fails lets the agent go
            answer = _late(words, heard, f"{type(error).__name__}: {error}")
        _write(output, answer)
    return 0


def _answer(words: HookArguments, heard: list[HookCall]) -> Answer:
    if words.moment is None:
        return said(f"Planbound: {words.problem}")
    event = read_event(words.host, os.environ)
    heard.append(event)
    from planbound.session.hooks.response import respond  # noqa: PLC0415 - what breaks in it is caught

    return respond(words.moment, event, workspace=words.workspace, state=words.state)


def _late(words: HookArguments, heard: list[HookCall], why: str) -> Answer:
    """Answer where the answer broke down: on record if that goes quickly, else without."""
    try:
        from planbound.session.hooks.response import respond, unread_call, without_gate  # noqa: PLC0415 - it may be what broke

        event = heard[0]._replace(problem=why) if heard else unread_call(words.host, why)
        moment = words.moment or HookMoment.STOP
        with contextlib.suppress(BaseException), _interruptible(_GRACE):
            return respond(moment, event, workspace=words.workspace, state=words.state)
        return without_gate(moment, event, words.state, why)
    except BaseException:  # noqa: BLE001 - nothing is left to try
        return said(f"Planbound: NOT DONE: the gate does not work ({why})")


def parse_words(arguments: Sequence[str]) -> HookArguments:
    """Read the command line; no mistake in it ends the program."""
    values: dict[str, str] = {}
    plain: list[str] = []
    rest = list(arguments)
    problem = None
    while rest:
        word = rest.pop(0)
        name, given, value = word.partition("=")
        if name in {"--host", "--workspace", "--state"}:
            if not given and not rest:
                problem = f"`{name}` has no value"
            else:
                values[name] = value if given else rest.pop(0)
        elif word.startswith("-"):
            problem = f"`planbound hook` has no option `{word}`"
        else:
            plain.append(word)
    moment = plain[1] if len(plain) == 2 and plain[0] == "hook" else None
    if moment not in _MOMENTS:
        problem = f"the event has to be one of {', '.join(_MOMENTS)}"
    host = values.get("--host")
    return HookArguments(
        moment=HookMoment(moment) if moment in _MOMENTS else None,
        host=Host(host) if host in _HOSTS else None,
        workspace=values.get("--workspace"),
        state=values.get("--state"),
        problem=problem,
    )


@contextmanager
def _own_output() -> Iterator[int]:
    """Keep standard output for the answer: whatever else is printed goes to standard error."""
    try:
        output = _output_again()
    except OSError:  # closed: nobody reads the answer
        yield -1
        return
    with contextlib.suppress(OSError):
        os.dup2(2, 1)
    try:
        yield output
    finally:
        os.close(output)


def _output_again() -> int:
    """Return standard output by another number, and not by one of a stream that is closed.

    What is standard input by its number would be waited for.
    """
    found = [os.dup(1)]
    while found[-1] <= 2:
        found.append(os.dup(1))
    *streams, output = found
    for number in streams:
        os.close(number)
    return output


def _write(output: int, answer: Answer) -> None:
    # Signals that come now would leave half an answer.
    with contextlib.suppress(ValueError):
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    data = json.dumps(answer or NOTHING, ensure_ascii=True).encode("ascii") + b"\n"
    with contextlib.suppress(OSError):
        while data:
            data = data[os.write(output, data) :]


@contextmanager
def _interruptible(seconds: float) -> Iterator[None]:
    """Let signals and the clock end the work by an exception, so that there is an answer."""
    told: list[str] = []

    def cut(number: int, frame: FrameType | None) -> NoReturn:
        del frame
        told.append(_reason(number))
        # Python drops what is raised while it calls back, as it does at an import: once more.
        signal.setitimer(signal.ITIMER_REAL, _AGAIN)
        raise Interrupted(told[0])

    try:
        before = {number: signal.signal(number, cut) for number in _SIGNALS}
    except ValueError:  # not the main thread
        yield
        return
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for number in before:
            signal.signal(number, signal.SIG_IGN)


def _reason(number: int) -> str:
    if number == signal.SIGALRM:
        return f"it took longer than {SECONDS} s"
    return f"it was told to end by {signal.Signals(number).name}"
