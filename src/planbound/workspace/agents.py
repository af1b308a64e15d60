"""Agents as the configuration names them, and who has a role."""

from __future__ import annotations

import enum
from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal

from msgspec import Struct
from msgspec.structs import replace

from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.limits import Budget, format_budget
from planbound.plan.model import OnFail, Step
from planbound.plan.vocabulary import nearest
from planbound.script import Call, read_script
from planbound.script.wrapper import SHELLS, provides
from planbound.source import lazy_pattern
from planbound.workspace.configuration_table import Table
from planbound.workspace.recipes import Recipe

# -- agents as the configuration names them, and who has a role ----------------------------------


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


class Price(Struct, frozen=True):
    """What a million tokens cost, in dollars."""

    input: Decimal
    output: Decimal
    cached: Decimal
    """Of input that the model knows already."""


class AgentRules(Struct, frozen=True):
    """One agent: what it is and what it may have."""

    name: str
    kind: str = "command"
    command: tuple[str, ...] = ()
    """The program and its first words; empty: what the kind itself knows."""
    env: tuple[str, ...] = ()
    """Names of variables that are passed."""
    network: bool = True
    hosts: tuple[str, ...] | None = None
    """What it can reach beside the hosts of its kind, where it has no other network."""
    home: Home = Home.MASKED
    shown: tuple[str, ...] = ()
    """What of the user's home it can read, or elsewhere; `~` is not filled in yet."""
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
    return {name: _agent(name, table.table(name)) for name in table}


_TYPES = {"coder": "code", "reviewer": "review", "tester": "test", "researcher": "research"}


def work_type(target: str | None) -> str:
    """Return what kind of work a role does, for the record."""
    return _TYPES.get(target or "coder", target or "code")


def _agent(name: str, table: Table) -> AgentRules:
    table.allow(*_KEYS)
    kind = table.get("kind", "command")
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
        network=not isinstance(table.get("network"), list) and table.flag("network", default=True),
        hosts=_hosts(table),
        home=_home(table),
        shown=_shown(table),
        seconds=timeout or None,
        model=_text(table, "model", "anthropic:claude-sonnet-4-5"),
        base_url=_text(table, "base_url", "http://localhost:8080/v1"),
        tools=table.texts("tools", "a list of tools") if "tools" in table else None,
        skills=table.texts("skills", "a list of skills"),
        max_cost=_dollars(table, "max_cost"),
        price=_price(table),
        options=table.table("options").copy(),
    )


def _hosts(table: Table) -> tuple[str, ...] | None:
    """Return the hosts that an agent can reach; None where `network` is no list of them."""
    if not isinstance(table.get("network"), list):
        return None
    from planbound.cells.egress import parse_destination  # noqa: PLC0415 - start-up

    found = tuple(dict.fromkeys(table.texts("network", "a list of hosts")))
    for text in found:
        try:
            parse_destination(text)
        except ValueError as error:
            example = (
                'write hosts with their port, such as `network = ["packages.example.org:443"]`'
            )
            table.refuse("network", f"holds {text!r}, which {error}", example)
    return tuple(str(parse_destination(text)) for text in found)


def _home(table: Table) -> Home:
    value = table.get("home")
    if isinstance(value, list):
        return Home.PASS if Home.PASS.value in value else Home.MASKED
    return table.choice("home", Home, Home.MASKED) or Home.MASKED


def _shown(table: Table) -> tuple[str, ...]:
    """Return the paths that an agent is shown, where `home` is a list."""
    if not isinstance(table.get("home"), list):
        return ()
    found = [path for path in table.texts("home", "a list of paths") if path != Home.PASS.value]
    for path in found:
        trouble = _trouble_of(path)
        if trouble is not None:
            example = 'write paths of files and folders, such as `home = ["~/.config/my-agent"]`'
            table.refuse("home", f"holds {path!r}, which {trouble}", example)
    return tuple(dict.fromkeys(path.rstrip("/") for path in found))


def _trouble_of(path: str) -> str | None:
    """Return why a path is not shown to an agent, whatever is there."""
    parts = [part for part in path.split("/") if part]
    if not path.startswith(("/", "~/")) or "\0" in path:
        return "does not begin with `/` or `~/`"
    if ".." in parts or "." in parts:
        return "is no plain path"
    if parts in ([], ["~"]):
        return "is all there is"
    if path.startswith("~/") and "planbound" in parts[1:4] and parts[1] in {".local", ".config"}:
        return "is Planbound's own"
    return None


def _text(table: Table, key: str, example: str) -> str | None:
    value = table.get(key)
    if value is not None and (not isinstance(value, str) or not value.strip()):
        table.refuse(key, f"is {value!r}", f'write `{key} = "{example}"`')
    return value if isinstance(value, str) else None


def _dollars(table: Table, key: str) -> Decimal | None:
    value = table.get(key)
    if value is None:
        return None
    match = None if isinstance(value, bool) else _DOLLARS.fullmatch(str(value))
    if match is None or not Decimal(match[1]):
        table.refuse(key, f"is {value!r}", f'write an amount, such as `{key} = "$2"`')
    return Decimal(match[1])


def _price(table: Table) -> Price | None:
    if "price" not in table:
        return None
    price = table.table("price")
    price.allow("input", "output", "cached")
    given, produced = _dollars(price, "input"), _dollars(price, "output")
    if given is None or produced is None:
        table.refuse(
            "price", "names no `input` or no `output`", "write dollars for a million tokens of each"
        )
    return Price(given, produced, _dollars(price, "cached") or given)


# -- roles: who does the steps of a target, what he is for, and what he may do -------------------


TOOLS = ("list", "read", "search", "edit", "write", "shell", "blocked")
"""What an agent of ours can be given."""
_LONGEST_PURPOSE = 500
_PROGRAM = lazy_pattern(r"[^\s\x00-\x1f\x7f-\x9f$`'\"\\;&|<>(){}*?\[\]]+")


class Role(Struct, frozen=True):
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
_ROLE_KEYS = (*_SEATS, "touches", "commands", "tools", "budget", "purpose")


def read_roles(table: Table, agents: Mapping[str, AgentRules]) -> dict[str, Role]:
    """Return the roles that are configured; what they do not say is as shipped."""
    return {name: _role(name, table.table(name), agents) for name in table}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _role(name: str, table: Table, agents: Mapping[str, AgentRules]) -> Role:
    table.allow(*_ROLE_KEYS)
    given = [key for key in _SEATS if key in table]
    if len(given) > 1:
        table.refuse(max(given), "is one too many", "write `agent`, `agents` or `skills`")
    role = replace(SHIPPED.get(name) or Role(name), agents=_seated(table, agents))
    if "touches" in table:
        role = replace(role, touches=_touches(table), is_firm=True)
    if "commands" in table:
        role = replace(role, commands=_commands(table))
    if "tools" in table:
        role = replace(role, tools=_tools(table))
    if "budget" in table:
        role = replace(role, budget=_budget(table))
    if "purpose" in table:
        role = replace(role, purpose=_purpose(table))
    return role


def _seated(role: Table, agents: Mapping[str, AgentRules]) -> tuple[str, ...]:
    if "skills" in role:
        skills = set(role.texts("skills", "a list of skills"))
        able = tuple(name for name, rules in agents.items() if skills and skills <= {*rules.skills})
        if not able:
            role.refuse("skills", "are no agent's", "give an agent `skills = [...]` that has them")
        return able
    one = role.get("agent")
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
        table.refuse("budget", f"is {table.get('budget')!r}, which leaves nothing", example)
    return budget


def _purpose(table: Table) -> str:
    value = table.get("purpose")
    text = " ".join(value.split()) if isinstance(value, str) else ""
    if not text or len(text) > _LONGEST_PURPOSE:
        shown = f"has {len(text):,} characters" if text else f"is {value!r}"
        table.refuse("purpose", shown, f"write a sentence of at most {_LONGEST_PURPOSE} characters")
    return text


# -- whether a command line calls only programs that a role may call -----------------------------


_HARMLESS = frozenset(
    ": [ [[ (( break builtin cd command continue declare dirs echo exec exit export false getopts"
    " let local popd printf pushd pwd read readonly return set shift test time times true type"
    " typeset ulimit umask unset wait".split()
)
"""What the shell does itself without running anything; what is behind `exec` is a call, too."""
_READ = frozenset(
    f"{folder}{shell}" for folder in ("", "/bin/", "/usr/bin/") for shell in SHELLS
) | {"eval"}
"""What only runs a script: where that can be read, its calls count instead."""


def command_objection(text: str, allowed: Collection[str]) -> str | None:
    """Return why a command line is refused; None where it calls only what is allowed."""
    script = read_script(text)
    if script.broken:
        return "it cannot be read as a command line, so that nobody knows which programs it calls"
    known = {*allowed, *script.functions}
    for call in script.calls:
        if _changes_path(call):
            return "it changes `PATH`, so that nobody knows which programs it calls"
        for name in _programs(call):
            if name is None:
                return "it names a program by what the shell puts in, which nobody can know before"
            if name not in known and name not in _HARMLESS:
                listed = ", ".join(f"`{each}`" for each in allowed) or "none"
                return f"`{name}` is not among the programs that may be called: {listed}"
    return None


def _programs(call: Call) -> Iterator[str | None]:
    """Yield what a call starts, as it is written; None where that cannot be said."""
    for wrapper in call.wrappers:
        yield wrapper.value
        if provides(wrapper.value or ""):
            return  # what it brings along is its own
    if call.word is not None and not (call.name in _READ and call.body is not None):
        yield call.name


def _changes_path(call: Call) -> bool:
    named = any(each.name == "PATH" for each in call.assignments)
    return named or any(word.text.startswith("PATH=") for word in call.arguments)


# -- which number wins: how long an agent may take, how often a failure is retried --------------


AGENT_SECONDS = 600.0
"""How long an agent has where nobody says it."""


def agent_seconds(step: Step, rules: AgentRules | None) -> float:
    """Return how long an agent may take for a step, whatever is left of the budget."""
    own = float(step.timeout.value) if step.timeout else None
    return own or (rules.seconds if rules else None) or AGENT_SECONDS


def retries(recipe: Recipe, on_fail: OnFail) -> int:
    """Return how often a failure that a recipe answers is tried again."""
    if on_fail.retries == 0 or not recipe.retries:
        return 0
    return on_fail.retries if recipe.max is None else recipe.max
