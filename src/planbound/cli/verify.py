"""`planbound verify`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator

from planbound.cli.annotations import SarifRule, as_sarif, render_annotation
from planbound.cli.named_plans import note_verified, read_plan, references
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ConfigurationError, ExitCode, PlanboundError
from planbound.plan.digest import digest
from planbound.source import Diagnostic, Severity, Source, excerpt, visible
from planbound.verify.examine import Verified, documentation, find_rule
from planbound.verify.rules import RULES
from planbound.verify.subject import Rule
from planbound.workspace.configuration import PROFILES
from planbound.workspace.context import Context
from planbound.workspace.surroundings import verify

# -- diagnostics as JSON -------------------------------------------------------------------------


class DiagnosticFound(JsonObject, frozen=True):
    """Something that is wrong with a plan."""

    code: str
    """`planbound explain CODE` tells more."""
    severity: Severity
    path: str
    line: int
    """Counted from 1, as the columns are."""
    column: int
    end_line: int
    end_column: int
    message: str
    hint: str | None


def as_data(diagnostics: Iterable[Diagnostic]) -> list[DiagnosticFound]:
    """Return diagnostics for programs."""
    return [
        DiagnosticFound(
            code=item.code,
            severity=item.severity,
            path=item.path,
            line=item.line,
            column=item.column,
            end_line=item.end_line,
            end_column=item.end_column,
            message=item.message,
            hint=item.hint,
        )
        for item in diagnostics
    ]


# -- diagnostics for people: place, message, the quoted line with a caret, the cure --------------


_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def render_text(source: Source, diagnostic: Diagnostic, terminal: Terminal) -> Iterator[str]:
    """Yield the lines that show one diagnostic."""
    place = f"{diagnostic.path}:{diagnostic.line}:{diagnostic.column}"
    kind = terminal.style(
        f"{diagnostic.severity.value}[{diagnostic.code}]", "bold", _COLOURS[diagnostic.severity]
    )
    yield f"{terminal.style(visible(place), 'bold')}: {kind}: {visible(diagnostic.message)}"
    quoted, carets = excerpt(source, diagnostic)
    yield f"  {quoted}"
    yield f"  {terminal.style(carets, _COLOURS[diagnostic.severity])}"
    if diagnostic.hint:
        yield f"  {terminal.style('hint:', 'cyan')} {visible(diagnostic.hint)}"


def summary(errors: int, warnings: int) -> str:
    """Return the counts in words."""
    return f"{_count(errors, 'error')}, {_count(warnings, 'warning')}"


def _count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


# -- `planbound verify` --------------------------------------------------------------------------


FORMATS = ("text", "json", "sarif", "github")


def configure_verify(parser: argparse.ArgumentParser) -> None:
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
        "--check", action="store_true", help="record nothing, and do not mark the file"
    )


def run_verify(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Verify the plans and report in the format asked for."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    missing = 0
    results: list[Verified] = []
    surroundings = context.surroundings(profile=arguments.profile)
    wanted = references(arguments, context)
    for reference in wanted:
        try:
            file, data = read_plan(reference, context)
        except PlanboundError as error:
            if len(wanted) == 1:
                raise
            # The other plans are still worth a look.
            terminal.problem(error.message, error.hint)
            missing += 1
            continue
        results.append(verify(data, path=file.shown, surroundings=surroundings))
        if not arguments.check:
            note_verified(context, file, results[-1], terminal)
    for misfit in _misfits(context):
        terminal.problem(misfit.message, misfit.hint)
        missing += 1
    _report(results, arguments.format, terminal)
    if missing:
        return ExitCode.USAGE
    return ExitCode.FAILED if any(result.errors for result in results) else ExitCode.DONE


def _misfits(context: Context) -> Iterator[ConfigurationError]:
    if not context.configuration.agents:
        return
    from planbound.agents.kind import misfits  # noqa: PLC0415 - only where there are agents

    yield from misfits(context.configuration)


def _report(results: list[Verified], form: str, terminal: Terminal) -> None:
    found = [item for result in results for item in result.diagnostics]
    if form == "json":
        terminal.json(as_data(found))
    elif form == "sarif":
        terminal.json(as_sarif(found, sarif_rules()))
    elif form == "github":
        for item in found:
            terminal.out(render_annotation(item))
    else:
        for line in _text(results, terminal):
            terminal.out(line)


def sarif_rules() -> list[SarifRule]:
    """Return all rules for code scanning."""
    return [SarifRule(rule.code, rule.name, rule.page, rule.severity) for rule in RULES]


def _text(results: list[Verified], terminal: Terminal) -> Iterator[str]:
    for result in results:
        for item in result.diagnostics:
            yield from render_text(result.plan.source, item, terminal)
            yield ""
        plan = result.plan
        steps = f"{len(plan.steps)} step{'' if len(plan.steps) == 1 else 's'}"
        if result.errors:
            verdict = terminal.style(summary(result.errors, result.warnings), "red")
        elif result.warnings:
            verdict = terminal.style(summary(0, result.warnings), "yellow")
        else:
            verdict = terminal.style("no problems", "green")
        yield f"{plan.source.path}: {steps}, {verdict}, digest {digest(plan)[:12]}"


# -- `planbound explain` -------------------------------------------------------------------------


class RulePage(JsonObject, frozen=True):
    """A rule with its page."""

    code: str
    name: str
    severity: Severity
    strict: Severity
    """Its severity under the profile `strict`."""
    documentation: str


SHAPES: dict[str, Shapes] = {
    "verify": {"": list[DiagnosticFound]},
    "explain": {"": list[RulePage], "CODE": RulePage},
}


def configure_explain(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "code", nargs="?", metavar="CODE", help="such as PB101; without it, list all"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_explain(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print the page of a rule, or the list of all rules."""
    rules = RULES if arguments.code is None else (find_rule(arguments.code),)
    if arguments.json:
        pages = [_page(rule) for rule in rules]
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


def _page(rule: Rule) -> RulePage:
    return RulePage(
        code=rule.code,
        name=rule.name,
        severity=rule.severity,
        strict=rule.strict or rule.severity,
        documentation=documentation(rule),
    )
