"""`planbound selftest`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.terminal import Terminal
from planbound.engine.judging.level import Isolation
from planbound.errors import ExitCode
from planbound.shell.cell.choose import Trial, trials
from planbound.wiring.judging import hide_harness, refuse_in_cell, scratch
from planbound.wiring.parts import Parts

_WHOSE = {False: "contract", True: "agent"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Try every kind of cell on this machine."""
    refuse_in_cell()
    hide_harness()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    found = {
        whose: list(trials(scratch(parts), writable=writable)) for writable, whose in _WHOSE.items()
    }
    demanded = parts.configuration.judging.isolation
    best = next((trial for trial in found["contract"] if trial.works), None)
    enough = best is not None and best.cell.isolation.reaches(demanded)
    if arguments.json:
        terminal.json(
            {
                "isolation": best.cell.isolation.value if best else None,
                "cell": best.cell.name if best else None,
                "demanded": demanded.value,
                "cells": [_data(trial, whose) for whose, tried in found.items() for trial in tried],
            }
        )
    else:
        for line in _lines(found, terminal):
            terminal.out(line)
        level = f"{best.cell.isolation.value} ({best.cell.name})" if best else "no cell at all"
        terminal.out(f"contracts are judged at {level}; {demanded.value} is demanded")
    return ExitCode.DONE if enough else ExitCode.FAILED


def _data(trial: Trial, whose: str) -> dict[str, object]:
    return {
        "cell": trial.cell.name,
        "for": whose,
        "isolation": trial.cell.isolation.value,
        "works": trial.works,
        "reason": trial.reason,
        "checks": [
            {
                "check": item.probe.name,
                "held": item.held,
                "promised": trial.cell.isolation.reaches(item.probe.needed),
            }
            for item in trial.findings
        ],
    }


def _lines(found: dict[str, list[Trial]], terminal: Terminal) -> Iterator[str]:
    for whose, tried in found.items():
        yield terminal.style(f"The cell of {'an' if whose == 'agent' else 'a'} {whose}", "bold")
        for trial in tried:
            held = sum(item.held for item in trial.findings)
            level = trial.cell.isolation.value
            if not trial.works:
                yield f"  {terminal.style('✗', 'yellow')} {level} {trial.cell.name}: {trial.reason}"
                continue
            count = f"{held} of {len(trial.findings)} attempts held"
            if trial.cell.isolation is Isolation.I0:
                yield f"  {terminal.style('✓', 'green')} {level} {trial.cell.name}: no walls at all"
                continue
            yield f"  {terminal.style('✓', 'green')} {level} {trial.cell.name}: {count}"
            for item in trial.findings:
                if not item.held:
                    yield f"      open: a program in it {item.probe.name}"
        yield ""
