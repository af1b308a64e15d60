"""A run that goes to the background."""

from __future__ import annotations

import argparse
import os
import shlex
import time

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.journal.event import EventKind
from planbound.ports.files import PlanFile
from planbound.ports.journal import Query
from planbound.shell.background import Background
from planbound.wiring.parts import Parts

_PATIENCE = 20.0
_PAUSE = 0.05


def detach(
    arguments: argparse.Namespace, parts: Parts, file: PlanFile, terminal: Terminal
) -> ExitCode:
    """Start the run apart from this process; return when it has begun, or why it has not."""
    journal = parts.journal()
    before = journal.head().seq
    log = os.path.join(parts.state.folder, "runs", f"{file.slug}.log")
    background = Background(_words(arguments, parts, file), log=log)
    end = time.monotonic() + _PATIENCE
    begun = Query(plan=file.slug, events=(EventKind.EXECUTION_STARTED,), after=before)
    while time.monotonic() < end:
        if any(True for _ in journal.read(begun)):
            break
        code = background.exit_code()
        if code is not None:
            terminal.note(background.said().rstrip())
            return ExitCode(code)
        time.sleep(_PAUSE)
    if arguments.json:
        terminal.json({"slug": file.slug, "pid": background.pid, "log": log})
    else:
        terminal.out(f"`{file.slug}` runs in the background, process {background.pid}")
        terminal.note(f"follow it with `planbound attach {shlex.quote(file.slug)}`")
    return ExitCode.DONE


def _words(arguments: argparse.Namespace, parts: Parts, file: PlanFile) -> list[str]:
    words = ["--workspace", parts.root]
    if arguments.state:
        words += ["--state", os.path.abspath(arguments.state)]
    words += ["run", file.path, "--stay", "--no-input"]
    if arguments.jobs:
        words += ["--jobs", str(arguments.jobs)]
    if arguments.wait is not None:
        words.append("--wait" if arguments.wait else "--no-wait")
    if arguments.anyway:
        words.append("--anyway")
    return words
