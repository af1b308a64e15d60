"""`planbound claims`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.terminal import Terminal
from planbound.engine.claims import Held
from planbound.errors import ExitCode
from planbound.source.visible import visible
from planbound.wiring.parts import Parts


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say who works on which plan, and what nobody else may touch meanwhile."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    found = parts.leases().held() if parts.existing_journal() is not None else ()
    if arguments.json:
        terminal.json({"claims": [_data(held) for held in found]})
        return ExitCode.DONE
    if not found:
        terminal.out("nobody works on anything")
    for held in found:
        for line in _lines(held, terminal):
            terminal.out(line)
    return ExitCode.DONE


def _data(held: Held) -> dict[str, object]:
    claim = held.claim
    return {
        "plan": claim.plan,
        "holder": claim.holder,
        "worktree": claim.worktree,
        "touches": None if claim.touches is None else list(claim.touches),
        "number": held.number,
        "expires_in": round(held.expires_in, 1),
        "expired": held.expired,
    }


def _lines(held: Held, terminal: Terminal) -> Iterator[str]:
    claim = held.claim
    name = terminal.style(visible(claim.plan), "bold")
    yield f"{name}  {visible(claim.holder)}, lease {held.number}, {_time(held)}"
    yield f"  worktree {visible(claim.worktree)}"
    if claim.touches is None:
        yield "  touches nobody knows what"
    else:
        yield f"  touches {visible(', '.join(claim.touches)) or 'nothing'}"


def _time(held: Held) -> str:
    if not held.expired:
        return f"{held.expires_in:.0f} s left unless it is renewed"
    why = "its holder is dead" if held.expires_in else "its time is up"
    return f"expired: {why}; anybody may take it over"
