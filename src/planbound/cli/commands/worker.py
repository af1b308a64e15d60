"""`planbound worker`."""

from __future__ import annotations

import argparse
import gc
import json
import sys
import threading
from collections.abc import Sequence

from planbound.cli.reports.progress import ProgressReport
from planbound.cli.running import signals
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.journal.record import Json, Record
from planbound.plan.model import Plan
from planbound.source.visible import visible
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.reminding import Reminding
from planbound.wiring.workers import Ears, Fate, Parting, Rules, Worker

_GOOD = frozenset({"done", "done with skips"})
_MOST = 64


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "--roles", metavar="ROLE,...", help="take only plans whose steps need no other roles"
    )
    parser.add_argument(
        "--concurrency", type=int, default=1, metavar="N", help="how many plans at once (default 1)"
    )
    parser.add_argument("--once", action="store_true", help="end when nothing is left to take")
    parser.add_argument("--json", action="store_true", help="for programs: a line for each plan")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take plans from the queue and run them, until told to stop."""
    refuse_in_cell()
    gc.enable()  # it lives for days
    if not 1 <= arguments.concurrency <= _MOST:
        raise UsageError(f"`--concurrency` is {arguments.concurrency}, expected 1 to {_MOST}")
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    rules = Rules(_roles(arguments.roles, parts), arguments.concurrency, arguments.once)
    voice = _Voice(terminal, json_lines=arguments.json)
    worker = Worker(parts, rules, Ears(voice.took, voice.saw, voice.say, voice.parted))
    with signals(worker), Reminding(parts, lambda text: voice.say("", text)):
        partings = worker.work()
    return _exit_code(partings) if arguments.once else ExitCode.DONE


def _roles(text: str | None, parts: Parts) -> frozenset[str] | None:
    if text is None:
        return None
    roles = frozenset(word.strip() for word in text.split(",") if word.strip())
    known = parts.configuration.roles
    for role in sorted(roles - known) or ([] if roles else [""]):
        raise UsageError(
            f"`--roles` names `{role}`, which is no role", hint=f"roles: {', '.join(sorted(known))}"
        )
    return roles


class _Voice:
    """Says what a worker does, whichever of its threads it happens in."""

    def __init__(self, terminal: Terminal, *, json_lines: bool) -> None:
        self.terminal = terminal
        self.json_lines = json_lines
        self._reports: dict[str, ProgressReport] = {}
        self._lock = threading.Lock()

    def took(self, name: str, plan: Plan) -> None:
        """Say that a plan was taken."""
        with self._lock:
            self._reports[name] = ProgressReport(self.terminal)
            self._reports[name].know(plan)
            self._tell(name, "took it", {"event": "took"})

    def saw(self, plan: str, records: Sequence[Record]) -> None:
        """Say what happens to it."""
        if self.json_lines:
            return
        with self._lock:
            for record in records:
                for line in self._reports[plan].lines(record):
                    self.terminal.out(f"{plan}: {line}")
            sys.stdout.flush()

    def say(self, plan: str, text: str) -> None:
        """Say something else."""
        with self._lock:
            self.terminal.note(f"{plan}: {text}" if plan else text)

    def parted(self, parting: Parting) -> None:
        """Say how it went."""
        with self._lock:
            self._reports.pop(parting.plan, None)
            detail = f": {visible(parting.detail)}" if parting.detail else ""
            said: dict[str, Json] = {"event": parting.fate.value, "detail": parting.detail}
            self._tell(parting.plan, parting.fate.value + detail, said)

    def _tell(self, plan: str, text: str, said: dict[str, Json]) -> None:
        self.terminal.out(
            json.dumps({"plan": plan} | said) if self.json_lines else f"{plan}: {text}"
        )
        sys.stdout.flush()


def _exit_code(partings: list[Parting]) -> ExitCode:
    last = {parting.plan: parting for parting in partings}.values()
    if not last:
        return ExitCode.NOTHING_TO_DO
    if any(each.fate in {Fate.BROKEN, Fate.REFUSED} for each in last):
        return ExitCode.FAILED
    if any(each.fate is Fate.ENDED and each.detail not in _GOOD for each in last):
        return ExitCode.FAILED
    return ExitCode.WAITING if any(each.fate is Fate.WAITING for each in last) else ExitCode.DONE
