"""`planbound agents`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.agents.probe import (
    AgentReadiness,
    Installed,
    Probed,
    configured_agents,
    installed_kinds,
    probe_agents,
)
from planbound.cli.progress import money
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.plan.limits import Budget, format_budget
from planbound.source import visible
from planbound.workspace.agents import Role
from planbound.workspace.context import Context

# -- `planbound agents` --------------------------------------------------------------------------


class ConfiguredAgent(JsonObject, frozen=True):
    """An agent of the configuration."""

    name: str
    kind: str
    model: str | None
    program: str | None
    """Where it is; null where nothing is started."""
    roles: list[str]
    skills: list[str]
    problems: list[str]
    """Why it cannot be used as it is."""


class RoleKnown(JsonObject, frozen=True):
    """A role, and what whoever has it may do."""

    name: str
    agents: list[str]
    touches: list[str] | None
    firm: bool
    """Whether a plan cannot widen it."""
    commands: list[str] | None
    tools: list[str] | None
    budget: str | None
    purpose: str | None


class AgentKind(JsonObject, frozen=True):
    """A kind of agent, and whether it is on this machine."""

    name: str
    summary: str
    program: str | None
    missing: str | None
    """What is not here."""
    credentials: list[str]
    """The variables of the environment that are set."""


class AgentsKnown(JsonObject, frozen=True):
    agents: list[ConfiguredAgent]
    roles: list[RoleKnown]
    kinds: list[AgentKind]


class ProbeFinding(JsonObject, frozen=True):
    """One thing that was tried with an agent."""

    what: str
    ok: bool
    said: str | None


class ProbedAgent(JsonObject, frozen=True):
    """What came of trying an agent."""

    name: str
    fit: bool
    findings: list[ProbeFinding]
    tokens: int | None
    dollars: str | None
    proposed: list[str]
    """Lines for its table in the configuration with which it could do its task."""


class AgentsProbed(JsonObject, frozen=True):
    probed: list[ProbedAgent]


def configure_agents(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("names", nargs="*", metavar="NAME", help="with --probe: only these")
    parser.add_argument(
        "--probe",
        action="store_true",
        help="let each start, edit a file in a scratch repository and be stopped; costs tokens",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_agents(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say who is configured, what is installed, and what would be used."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    if arguments.probe:
        return _probe(arguments, context, terminal)
    if arguments.names:
        raise UsageError("names go with `--probe`")
    configured, kinds = list(configured_agents(context)), list(installed_kinds())
    roles = context.configuration.known_roles()
    if arguments.json:
        terminal.json(
            AgentsKnown(
                agents=[_configured(each) for each in configured],
                roles=[_role(each) for each in roles],
                kinds=[_kind(each) for each in kinds],
            )
        )
    else:
        for line in _standing_lines(configured, terminal):
            terminal.out(line)
        for line in (*_role_lines(roles, terminal), *_kind_lines(kinds, terminal)):
            terminal.out(line)
        if not configured:
            _propose(kinds, terminal)
    return ExitCode.FAILED if any(each.problems for each in configured) else ExitCode.DONE


def _probe(arguments: argparse.Namespace, context: Context, terminal: Terminal) -> ExitCode:
    names = tuple(dict.fromkeys(arguments.names))
    if not context.configuration.agents:
        raise UsageError(
            "no agent is configured, so there is nothing to probe",
            hint="`planbound agents` says what is installed",
        )
    found: list[Probed] = []
    for probed in probe_agents(context, names):
        found.append(probed)
        if not arguments.json:
            for line in _probed_lines(probed, terminal):
                terminal.out(line)
    if arguments.json:
        terminal.json(AgentsProbed(probed=[_probed(each) for each in found]))
    return ExitCode.DONE if all(each.is_fit for each in found) else ExitCode.FAILED


def _standing_lines(configured: list[AgentReadiness], terminal: Terminal) -> Iterator[str]:
    for each in configured:
        rules = each.rules
        mark = terminal.style("✗", "red") if each.problems else terminal.style("✓", "green")
        words = [f"kind {rules.kind}"]
        if rules.model:
            words.append(f"model {visible(rules.model)}")
        if each.program:
            words.append(visible(each.program))
        if each.roles:
            words.append(f"roles {', '.join(map(visible, each.roles))}")
        if rules.skills:
            words.append(f"skills {', '.join(map(visible, rules.skills))}")
        yield f"{mark} {visible(rules.name)}: {', '.join(words)}"
        for problem in each.problems:
            yield f"    {visible(problem)}"
    if configured:
        yield ""


def _role_lines(roles: list[Role], terminal: Terminal) -> Iterator[str]:
    if not roles:
        return
    yield terminal.style("roles", "bold")
    for each in roles:
        who = ", ".join(map(visible, each.agents)) or "nobody"
        yield f"  {visible(each.name)}: {who}"
        for key, value in each.limits:
            yield f"    {key}: {visible(value)}"
    yield ""


def _kind_lines(kinds: list[Installed], terminal: Terminal) -> Iterator[str]:
    yield terminal.style("kinds of agents on this machine", "bold")
    width = max(len(each.kind.name) for each in kinds)
    for each in kinds:
        state = each.program or "ready"
        if each.missing is not None:
            state = terminal.style(f"not here: {each.missing}", "dim")
        elif each.credentials:
            state += f", {' and '.join(each.credentials)} set"
        yield f"  {each.kind.name:<{width}}  {each.kind.summary}: {state}"


def _propose(kinds: list[Installed], terminal: Terminal) -> None:
    """Say what would be used, where nothing is configured."""
    here = [each for each in kinds if each.missing is None and each.program is not None]
    best = next((each for each in here if each.credentials), here[0] if here else None)
    terminal.out("")
    if best is None:
        terminal.out("no agent is configured, and none of these programs is installed")
        terminal.note("any program will do: `[agents.coder]`, `command = [...]` in planbound.toml")
        return
    terminal.out(f"no agent is configured; `{best.kind.name}` is here. In planbound.toml:")
    terminal.out("")
    terminal.out("    [agents.coder]")
    terminal.out(f'    kind = "{best.kind.name}"')
    if best.credentials:
        terminal.out(f'    env = ["{best.credentials[0]}"]')
    else:
        terminal.out('    home = "pass"    # where it has its own log-in')
    terminal.out("")
    terminal.note("then `planbound agents --probe` tries it")


def _probed_lines(probed: Probed, terminal: Terminal) -> Iterator[str]:
    mark = terminal.style("✓", "green") if probed.is_fit else terminal.style("✗", "red")
    used = []
    if probed.usage.tokens:
        used.append(f"{probed.usage.tokens:,} tokens")
    if probed.usage.dollars:
        used.append(money(float(probed.usage.dollars)))
    yield f"{mark} {visible(probed.name)}{': ' + ', '.join(used) if used else ''}"
    for finding in probed.findings:
        said = finding.note if finding.trouble is None else f"no: {finding.trouble}"
        yield f"    {finding.what}{': ' + visible(said) if said else ''}"
    for line in probed.proposed:
        yield f"    hint: write `{visible(line)}` in `[agents.{visible(probed.name)}]`"


def _configured(each: AgentReadiness) -> ConfiguredAgent:
    rules = each.rules
    return ConfiguredAgent(
        name=rules.name,
        kind=rules.kind,
        model=rules.model,
        program=each.program,
        roles=list(each.roles),
        skills=list(rules.skills),
        problems=list(each.problems),
    )


def _role(each: Role) -> RoleKnown:
    budget = None if each.budget == Budget() else format_budget(each.budget)
    return RoleKnown(
        name=each.name,
        agents=list(each.agents),
        touches=None if each.touches is None else list(each.touches),
        firm=each.is_firm,
        commands=None if each.commands is None else list(each.commands),
        tools=None if each.tools is None else list(each.tools),
        budget=budget,
        purpose=each.purpose,
    )


def _kind(each: Installed) -> AgentKind:
    return AgentKind(
        name=each.kind.name,
        summary=each.kind.summary,
        program=each.program,
        missing=each.missing,
        credentials=list(each.credentials),
    )


def _probed(each: Probed) -> ProbedAgent:
    dollars = each.usage.dollars
    return ProbedAgent(
        name=each.name,
        fit=each.is_fit,
        findings=[
            ProbeFinding(
                what=finding.what,
                ok=finding.trouble is None,
                said=finding.trouble or finding.note,
            )
            for finding in each.findings
        ],
        tokens=each.usage.tokens,
        dollars=None if dollars is None else str(dollars),
        proposed=list(each.proposed),
    )


SHAPES: dict[str, Shapes] = {"agents": {"": AgentsKnown, "--probe": AgentsProbed}}
