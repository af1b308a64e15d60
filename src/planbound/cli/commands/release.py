"""`planbound release`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli import person
from planbound.cli.inputs import read_own_plan
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.source.visible import visible
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.looped import Released, release_plan
from planbound.wiring.marking import show
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--reason", metavar="TEXT", help="why; needed where an agent works by itself"
    )
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take a plan from whoever works on it: a person's decision; nothing is done by it."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, _ = read_own_plan(arguments.plan, parts)
    reason = None if arguments.reason is None else arguments.reason.strip()
    if reason == "":
        raise UsageError("the reason is empty", hint="say why it is taken away")
    who = person.the_person(arguments.by)
    released = release_plan(parts, file, who, reason)
    show(parts, file)
    if arguments.json:
        terminal.json(_data(file.slug, who.name, released))
    else:
        for what in _told(released):
            terminal.out(f"`{file.slug}` released by {visible(who.name)}: {what}")
    return ExitCode.DONE


def _data(slug: str, name: str, released: Released) -> dict[str, object]:
    lease = released.lease
    holder = None if lease is None else lease.claim.holder
    return {
        "plan": slug,
        "released": True,
        "by": name,
        "session": released.session,
        "holder": holder,
    }


def _told(released: Released) -> Iterator[str]:
    lease = released.lease
    if lease is not None:
        yield f"{visible(lease.claim.holder)} has lost its lease and writes nothing more"
    if released.session:
        yield "no agent owes anything to it"
