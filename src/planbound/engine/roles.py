"""Roles: who does the steps of a target, what he is for, and what he may do."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import NamedTuple

from planbound.engine.agents import AgentRules, seats_of
from planbound.engine.configuration_table import Table
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.limits import Budget, format_budget
from planbound.plan.suggest import nearest
from planbound.source.pattern import lazy_pattern

USUAL = "coder"
"""The role of a step that names none."""
TOOLS = ("list", "read", "search", "edit", "write", "shell", "blocked")
"""What an agent of ours can be given."""
_LONGEST_PURPOSE = 500
_PROGRAM = lazy_pattern(r"[^\s\x00-\x1f\x7f-\x9f$`'\"\\;&|<>(){}*?\[\]]+")


class Role(NamedTuple):
    """One role; None stands for no limit."""

    name: str
    agents: tuple[str, ...] = ()
    """Who shares it; nobody: it is found by the name of an agent, or by a skill."""
    touches: tuple[str, ...] | None = None
    """What it may change, as patterns."""
    commands: tuple[str, ...] | None = None
    """The programs that it may call."""
    tools: tuple[str, ...] | None = None
    budget: Budget = Budget()
    """What an attempt may use."""
    purpose: str = ""
    """A sentence that its agents are told."""
    is_firm: bool = False
    """Whether `touches` hold for steps, too, that declare their own: a person wrote them."""

    def scope(self, *, declared: bool) -> tuple[Glob, ...] | None:
        """Return what it may change in a step that declares its own touches, or does not."""
        if self.touches is None or (declared and not self.is_firm):
            return None
        return tuple(parse_glob(text) for text in self.touches)

    @property
    def limits(self) -> tuple[tuple[str, str], ...]:
        """Return what it may do, as pairs of a key and its value in words."""
        found: list[tuple[str, str]] = []
        if self.touches is not None:
            where = "" if self.is_firm else " (steps that declare none)"
            found.append(("touches", f"{_listed(self.touches)}{where}"))
        lists = (("commands", self.commands), ("tools", self.tools))
        found += [(key, _listed(names)) for key, names in lists if names is not None]
        if self.budget != Budget():
            found.append(("budget", f"{format_budget(self.budget)} an attempt"))
        return tuple(found)


_DOCUMENTS = ("docs/**", "**/*.md", "**/*.rst")
SHIPPED: Mapping[str, Role] = {
    role.name: role
    for role in (
        Role(
            "coder",
            purpose="Make the change that is asked for, and see for yourself that it works.",
        ),
        Role(
            "project-manager",
            touches=_DOCUMENTS,
            purpose="Keep what is to be done, and what is done, in order and in writing;"
            " leave the code to others.",
        ),
        Role(
            "researcher",
            touches=_DOCUMENTS,
            purpose="Find out what is asked, and write it down with where it stands;"
            " leave the code as it is.",
        ),
        Role(
            "reviewer",
            touches=_DOCUMENTS,
            purpose="Look for what is wrong with work that others did, and write it down;"
            " leave the repair to them.",
        ),
        Role(
            "tech-lead",
            purpose="Decide how the parts fit together, and leave it so that others can build on"
            " it.",
        ),
        Role("tester", purpose="Write what would fail if the work were wrong, and run it."),
        Role("worker", purpose="Do the one task that is asked for, and nothing beside it."),
    )
}
"""The roles that have a purpose, and perhaps a limit, without any configuration."""
_SEATS = ("agent", "agents", "skills")
_KEYS = (*_SEATS, "touches", "commands", "tools", "budget", "purpose")


def role_of(target: str | None, roster: Mapping[str, Role]) -> Role | None:
    """Return the role that a target names: as configured, else as shipped; None: it is none."""
    name = target or USUAL
    return roster.get(name) or SHIPPED.get(name)


def known_roles(
    names: Iterable[str], agents: Mapping[str, AgentRules], roster: Mapping[str, Role]
) -> list[Role]:
    """Return the roles among some targets, each with who gets its steps."""
    seats = {name: role.agents for name, role in roster.items() if role.agents}
    found = (role_of(name, roster) for name in sorted(names))
    return [
        role._replace(agents=seats_of(role.name, agents, seats))
        for role in found
        if role is not None
    ]


def read_roles(table: Table, agents: Mapping[str, AgentRules]) -> dict[str, Role]:
    """Return the roles that are configured; what they do not say is as shipped."""
    return {name: _role(name, table.table(name), agents) for name in table.values}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _role(name: str, table: Table, agents: Mapping[str, AgentRules]) -> Role:
    table.allow(*_KEYS)
    given = [key for key in _SEATS if key in table.values]
    if len(given) > 1:
        table.refuse(max(given), "is one too many", "write `agent`, `agents` or `skills`")
    role = SHIPPED.get(name, Role(name))._replace(agents=_seated(table, agents))
    values = table.values
    if "touches" in values:
        role = role._replace(touches=_touches(table), is_firm=True)
    if "commands" in values:
        role = role._replace(commands=_commands(table))
    if "tools" in values:
        role = role._replace(tools=_tools(table))
    if "budget" in values:
        role = role._replace(budget=_budget(table))
    if "purpose" in values:
        role = role._replace(purpose=_purpose(table))
    return role


def _seated(role: Table, agents: Mapping[str, AgentRules]) -> tuple[str, ...]:
    if "skills" in role.values:
        skills = set(role.texts("skills", "a list of skills"))
        able = tuple(name for name, rules in agents.items() if skills and skills <= {*rules.skills})
        if not able:
            role.refuse("skills", "are no agent's", "give an agent `skills = [...]` that has them")
        return able
    one = role.values.get("agent")
    wanted = role.texts("agents", "a list of agents") if one is None else (one,)
    for agent in wanted:
        if agent not in agents or not isinstance(agent, str):
            known = ", ".join(agents) or "none"
            key = "agents" if one is None else "agent"
            role.refuse(key, f"is {agent!r}", f"agents that are configured: {known}")
    return tuple(dict.fromkeys(str(agent) for agent in wanted))


def _touches(table: Table) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(table.texts("touches", "a list of patterns")))
    for text in found:
        try:
            parse_glob(text)
        except GlobError as error:
            hint = error.hint or "write patterns as seen from the workspace, such as `docs/**`"
            table.refuse("touches", f"holds {text!r}: {error.reason}", hint)
    return found


def _commands(table: Table) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(table.texts("commands", "a list of programs")))
    for name in found:
        if not _PROGRAM.fullmatch(name):
            hint = 'name programs without their arguments, such as `commands = ["git", "pytest"]`'
            table.refuse("commands", f"holds {name!r}", hint)
    return found


def _tools(table: Table) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(table.texts("tools", "a list of tools")))
    for name in found:
        if name not in TOOLS:
            near = nearest(name, TOOLS)
            guess = f"did you mean `{near}`? " if near else ""
            table.refuse("tools", f"holds {name!r}", f"{guess}tools are {', '.join(TOOLS)}")
    return found


def _budget(table: Table) -> Budget:
    budget = table.budget("budget", "what an attempt may use")
    if any(part is not None and Decimal(part) <= 0 for part in budget):
        example = 'write what an attempt may use, such as `budget = "50k tokens, $0.50"`'
        table.refuse("budget", f"is {table.values['budget']!r}, which leaves nothing", example)
    return budget


def _purpose(table: Table) -> str:
    value = table.values["purpose"]
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST_PURPOSE:
        shown = f"has {len(text):,} characters" if text else f"is {value!r}"
        table.refuse("purpose", shown, f"write a sentence of at most {_LONGEST_PURPOSE} characters")
    return text
