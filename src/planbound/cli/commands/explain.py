"""`planbound explain`."""

from __future__ import annotations

import argparse

from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode
from planbound.usecases.explain import documentation, find_rule
from planbound.verify.rule import Rule
from planbound.verify.rules import RULES


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("code", nargs="?", metavar="CODE", help="such as PB101; none: list all")
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the page of a rule, or the list of all rules."""
    rules = RULES if arguments.code is None else (find_rule(arguments.code),)
    if arguments.json:
        pages = [_data(rule) for rule in rules]
        terminal.json(pages if arguments.code is None else pages[0])
    elif arguments.code is None:
        width = max(len(rule.name) for rule in rules)
        for rule in rules:
            severity = rule.severity.value.ljust(len("warning"))
            summary = documentation(rule).split("\n")[0]
            terminal.out(f"{rule.code}  {severity}  {rule.name.ljust(width)}  {summary}")
    else:
        (rule,) = rules
        terminal.out(terminal.style(f"{rule.code} {rule.name} ({_severity(rule)})", "bold"))
        terminal.out()
        terminal.out(documentation(rule))
    return ExitCode.DONE


def _severity(rule: Rule) -> str:
    if rule.strict and rule.strict is not rule.severity:
        return f"{rule.severity.value}; {rule.strict.value} under the profile strict"
    return rule.severity.value


def _data(rule: Rule) -> dict[str, object]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity.value,
        "strict": (rule.strict or rule.severity).value,
        "documentation": documentation(rule),
    }
