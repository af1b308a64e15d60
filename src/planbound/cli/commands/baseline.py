"""`planbound baseline`."""

from __future__ import annotations

import argparse

from planbound.cli import judging
from planbound.cli.live import live_line
from planbound.cli.reports import verdicts as reports
from planbound.cli.terminal import Terminal
from planbound.engine.configuration import Configuration
from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.judging.case import demands_red
from planbound.engine.judging.proof import foretold
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.errors import ExitCode, UsageError
from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.source.visible import visible
from planbound.usecases.baseline import (
    FrozenTree,
    Taken,
    freeze,
    note_baseline,
    observe,
)
from planbound.usecases.unkept import unkept
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts

_COLOURS = {VerdictKind.PASS: "green", VerdictKind.FAIL: "red", VerdictKind.VACUOUS: "red"}


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    # Always the whole plan: a part would put a new tree in the place of the frozen one, and
    # forget how the other contracts looked.
    judging.configure_plan(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Freeze the tree and run every contract once, before any work."""
    given = Parts(workspace=arguments.workspace, state=arguments.state)
    given.told = live_line(quiet=arguments.json).judging
    asked = judging.ask(arguments, given, terminal)
    parts = asked.parts
    if not asked.held:
        raise UsageError("a baseline is kept for a plan in `.harness/`, and this is none")
    bench = make_bench(parts)
    redactor = parts.redactor
    tree = freeze(bench.tree, bench.vault, bench.rules, unkept(bench, asked.plan))
    tools = judging.tell_tools(asked, bench, tree.manifest, terminal, silent=arguments.json)
    found: list[Verdict] = []
    for verdict in observe(bench, asked.judged):
        found.append(verdict)
        if not arguments.json:
            terminal.out(_line(verdict, terminal, _demands(asked.plan, parts.configuration)))
    taken = Taken(tree, digest(asked.plan), configuration_digest(parts.configuration))
    note_baseline(parts.recorder(), asked.file.slug, taken, found)
    if arguments.json:
        terminal.json(
            {
                "slug": asked.file.slug,
                "digest": digest(asked.plan),
                "tree": tree.manifest.digest,
                "isolation": bench.cell.isolation.value,
                "tools": [tool._asdict() for tool in tools],
                "verdicts": [
                    {**reports.as_data(item, redactor), "colour": _colour(item)} for item in found
                ],
                "unjudged": [reports.unjudged(case) for case in asked.waiting],
            }
        )
        return ExitCode.DONE
    for case in asked.waiting:
        terminal.out(f"- {case.number}. {visible(case.title)}: {reports.why_unjudged(case)}")
    terminal.out(_conclusion(found, tree))
    return ExitCode.DONE


def _colour(verdict: Verdict) -> str:
    return _COLOURS.get(verdict.kind, verdict.kind.value)


def _demands(plan: Plan, configuration: Configuration) -> frozenset[str]:
    """Return the steps that must be red before the work."""
    return frozenset(
        step.label
        for step in plan.steps
        if demands_red(step.baseline.value if step.baseline else None, configuration.baseline)
    )


def _line(verdict: Verdict, terminal: Terminal, demanded: frozenset[str]) -> str:
    colour = terminal.style(_colour(verdict).ljust(10), _COLOURS.get(verdict.kind, "yellow"))
    name = f"{verdict.number}. {visible(verdict.title)}"
    if verdict.subject.value != "step":
        name = f"{verdict.subject.value} {name}"
    warning = ""
    if verdict.kind is VerdictKind.PASS and verdict.subject is Subject.STEP:
        warning = f" ({foretold(red=verdict.number in demanded)})"
    return f"{colour} {name}: {visible(verdict.reason)}{warning}"


def _conclusion(found: list[Verdict], tree: FrozenTree) -> str:
    counts: dict[str, int] = {}
    for verdict in found:
        counts[_colour(verdict)] = counts.get(_colour(verdict), 0) + 1
    said = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no contract"
    files = len(tree.manifest.entries)
    return f"{said}; {files} entries frozen, tree {tree.manifest.digest[:12]}"
