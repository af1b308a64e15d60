"""`planbound verify`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.inputs import read_plan, references
from planbound.cli.journalling import note_verified
from planbound.cli.terminal import Terminal
from planbound.engine.configuration import PROFILES
from planbound.errors import ExitCode, PlanboundError
from planbound.plan.digest import digest
from planbound.usecases.verify import Verified, verify
from planbound.wiring.agents import misfits
from planbound.wiring.parts import Parts

FORMATS = ("text", "json", "sarif", "github")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument(
        "plans", nargs="*", metavar="PLAN", help="a name or a file, `-` for standard input"
    )
    parser.add_argument("--all", action="store_true", help="every plan of the workspace")
    parser.add_argument("--format", choices=FORMATS, default="text", help="default: text")
    parser.add_argument(
        "--json", action="store_const", const="json", dest="format", help="same as --format json"
    )
    parser.add_argument("--profile", choices=PROFILES, help="instead of the configured one")
    parser.add_argument(
        "--check", action="store_true", help="only look: neither record it nor mark the file"
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Verify the plans and report in the format asked for."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    missing = 0
    results: list[Verified] = []
    surroundings = parts.surroundings(profile=arguments.profile)
    for reference in references(arguments, parts):
        try:
            file, data = read_plan(reference, parts)
        except PlanboundError as error:
            # The other plans are still worth a look.
            terminal.problem(error.message, error.hint)
            missing += 1
            continue
        results.append(verify(data, path=file.shown, surroundings=surroundings))
        if not arguments.check:
            note_verified(parts, file, results[-1], terminal)
    for misfit in misfits(parts.configuration):
        terminal.problem(misfit.message, misfit.hint)
        missing += 1
    _report(results, arguments.format, terminal)
    if missing:
        return ExitCode.USAGE
    return ExitCode.FAILED if any(result.errors for result in results) else ExitCode.DONE


def _report(results: list[Verified], form: str, terminal: Terminal) -> None:
    found = [item for result in results for item in result.diagnostics]
    if form == "json":
        from planbound.cli.reports import data  # noqa: PLC0415 - one format a call

        terminal.json(data.as_data(found))
    elif form == "sarif":
        from planbound.cli.reports import sarif  # noqa: PLC0415

        terminal.json(sarif.as_data(found))
    elif form == "github":
        from planbound.cli.reports import github  # noqa: PLC0415

        for item in found:
            terminal.out(github.render(item))
    else:
        for line in _text(results, terminal):
            terminal.out(line)


def _text(results: list[Verified], terminal: Terminal) -> Iterator[str]:
    from planbound.cli.reports import text  # noqa: PLC0415

    for result in results:
        for item in result.diagnostics:
            yield from text.render(result.plan.source, item, terminal)
            yield ""
        plan = result.plan
        steps = f"{len(plan.steps)} step{'' if len(plan.steps) == 1 else 's'}"
        if result.errors:
            verdict = terminal.style(text.summary(result.errors, result.warnings), "red")
        elif result.warnings:
            verdict = terminal.style(text.summary(0, result.warnings), "yellow")
        else:
            verdict = terminal.style("no problems", "green")
        yield f"{plan.source.path}: {steps}, {verdict}, digest {digest(plan)[:12]}"
