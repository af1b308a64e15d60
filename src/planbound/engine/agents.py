"""Agents as the configuration names them, and who has a role."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal
from typing import NamedTuple

from planbound.engine.configuration_table import Table
from planbound.plan.limits import Budget
from planbound.source.pattern import lazy_pattern

_DOLLARS = lazy_pattern(r"\s*\$?\s*(\d{1,6}(?:\.\d{1,6})?)\s*")
_WORD = lazy_pattern(r"[a-z][a-z0-9_-]{0,39}")


_METERED = frozenset(
    {"acp", "aider", "claude", "codex", "gemini", "goose", "mini", "model", "opencode", "qwen"}
)
"""Kinds that work with a model; what others are, nobody knows before they worked."""
_PRICED = frozenset({"claude"})
"""Those that always say what an attempt cost."""


class Home(enum.Enum):
    """What an agent finds as its home."""

    MASKED = "masked"
    """An empty one that is gone when the step is over."""
    PASS = "pass"  # noqa: S105 - the user's own, as the configuration calls it


class Price(NamedTuple):
    """What a million tokens cost, in dollars."""

    input: Decimal
    output: Decimal
    cached: Decimal
    """Of input that the model knows already."""


class AgentRules(NamedTuple):
    """One agent: what it is and what it may have."""

    name: str
    kind: str = "command"
    command: tuple[str, ...] = ()
    """The program and its first words; empty: what the kind itself knows."""
    env: tuple[str, ...] = ()
    """Names of variables that are passed."""
    network: bool = True
    home: Home = Home.MASKED
    seconds: float | None = None
    """How long it may take for a step that does not say; None: ten minutes."""
    model: str | None = None
    base_url: str | None = None
    """Where an OpenAI-compatible model is served."""
    tools: tuple[str, ...] | None = None
    """What an agent of ours may do; None: everything."""
    skills: tuple[str, ...] = ()
    max_cost: Decimal | None = None
    """What an attempt may cost."""
    price: Price | None = None
    """For an agent that says how many tokens it used, and not what they cost."""
    options: Mapping[str, object] = {}
    """What only the kind understands."""


_KEYS = (
    "kind", "command", "env", "network", "home", "timeout", "model", "base_url", "tools",
    "skills", "max_cost", "price", "options",
)  # fmt: skip


def estimate_of(rules: AgentRules | None, told: Budget, usual: Budget) -> Budget:
    """Return what an attempt of an agent is taken to use before any was seen; None: who knows.

    `told` is what the configuration says of every agent, `usual` also what is shipped.
    """
    if rules is None or rules.kind not in _METERED:
        return told
    is_priced = rules.kind in _PRICED or rules.price is not None
    return usual._replace(dollars=usual.dollars if is_priced else told.dollars)


def read_agents(table: Table) -> dict[str, AgentRules]:
    """Return the agents by name."""
    return {name: _agent(name, table.table(name)) for name in table.values}


def seats_of(
    target: str, agents: Mapping[str, AgentRules], seats: Mapping[str, tuple[str, ...]]
) -> tuple[str, ...]:
    """Return who can do the steps of a target: a role, else an agent's name, else a skill."""
    if target in seats:
        return seats[target]
    if target in agents:
        return (target,)
    return tuple(name for name, rules in agents.items() if target in rules.skills)


_TYPES = {"coder": "code", "reviewer": "review", "tester": "test", "researcher": "research"}


def work_type(target: str | None) -> str:
    """Return what kind of work a role does, for the record."""
    return _TYPES.get(target or "coder", target or "code")


def _agent(name: str, table: Table) -> AgentRules:
    table.allow(*_KEYS)
    kind = table.values.get("kind", "command")
    if not isinstance(kind, str) or not _WORD.fullmatch(kind):
        table.refuse("kind", f"is {kind!r}", "`planbound agents` lists the kinds")
    command = table.texts("command", "a list of words")
    if command and not command[0]:
        table.refuse(
            "command", "is empty", 'write `command = ["my-agent", "--prompt", "{prompt}"]`'
        )
    timeout = table.seconds("timeout", 0.0)
    return AgentRules(
        name=name,
        kind=kind,
        command=command,
        env=table.names("env"),
        network=table.flag("network", default=True),
        home=table.choice("home", Home, Home.MASKED) or Home.MASKED,
        seconds=timeout or None,
        model=_text(table, "model", "anthropic:claude-sonnet-4-5"),
        base_url=_text(table, "base_url", "http://localhost:8080/v1"),
        tools=table.texts("tools", "a list of tools") if "tools" in table.values else None,
        skills=table.texts("skills", "a list of skills"),
        max_cost=_dollars(table, "max_cost"),
        price=_price(table),
        options=table.table("options").values,
    )


def _text(table: Table, key: str, example: str) -> str | None:
    value = table.values.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        table.refuse(key, f"is {value!r}", f'write `{key} = "{example}"`')
    return value if isinstance(value, str) else None


def _dollars(table: Table, key: str) -> Decimal | None:
    value = table.values.get(key)
    if value is None:
        return None
    match = None if isinstance(value, bool) else _DOLLARS.fullmatch(str(value))
    if match is None or not Decimal(match[1]):
        table.refuse(key, f"is {value!r}", f'write an amount, such as `{key} = "$2"`')
    return Decimal(match[1])


def _price(table: Table) -> Price | None:
    if "price" not in table.values:
        return None
    price = table.table("price")
    price.allow("input", "output", "cached")
    given, produced = _dollars(price, "input"), _dollars(price, "output")
    if given is None or produced is None:
        table.refuse(
            "price", "names no `input` or no `output`", "write dollars for a million tokens of each"
        )
    return Price(given, produced, _dollars(price, "cached") or given)
