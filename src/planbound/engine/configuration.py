"""The configuration as a value, and how it is read from a TOML document."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from planbound.engine.configuration_table import Table
from planbound.engine.judging.level import Isolation
from planbound.errors import ConfigurationError
from planbound.plan.limits import Budget
from planbound.plan.model import Baseline, Evidence
from planbound.verify.facts import DEFAULT_ROLES, ESTIMATE

if TYPE_CHECKING:
    from planbound.engine.agents import AgentRules
    from planbound.engine.gate.policy import Policy
    from planbound.engine.notify import Notify
    from planbound.engine.recovery.recipe import Recipe
    from planbound.engine.roles import Role
    from planbound.engine.team.rules import WorktreeRules

STRICT = "strict"
PROFILES = ("default", STRICT)
_KEYS = (
    *("profile", "verify", "agents", "roles", "redact", "contracts", "judging", "workspace"),
    *("gate", "notify", "run", "recovery", "recipes", "worktrees", "budget"),
)


class Contracts(NamedTuple):
    """How contracts are run."""

    env: tuple[str, ...] = ()
    """Names of variables that are passed."""
    path: tuple[str, ...] = ()
    """Folders that come first on PATH; a relative one is seen from the workspace."""
    read: tuple[str, ...] = ()
    """What can be read in folders that a cell has of its own, such as /tmp."""
    network: bool = False
    seconds: float = 300.0
    memory: int = 4 << 30
    processes: int = 1024
    file_size: int = 2 << 30
    temporary: int = 2 << 30


class HeldOut(NamedTuple):
    """A judge that is kept outside the workspace."""

    source: str
    target: str | None = None
    """Where it is laid, seen from the workspace; None: where its kind belongs."""


class Judging(NamedTuple):
    """What a verdict must be founded on."""

    evidence: Evidence | None = None
    isolation: Isolation = Isolation.I0
    canary: bool = True
    held_out: tuple[HeldOut, ...] = ()
    bare: bool = False
    """Whether contracts run in the workspace itself, without a cell."""
    baseline: Baseline | None = None
    """How the contracts of steps must be before the work; None: see `Configuration.baseline`."""


class TreeRules(NamedTuple):
    """What of the workspace is not looked at file by file."""

    summarise: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()


class Require(enum.Enum):
    """What a step must have come to for an agent to end, and for others to build on its plan."""

    PROVED = "proved"
    """Only red before and green after; a step without a contract cannot be."""
    HOLDS = "holds"
    """All that the harness saw pass, also what was green before the work."""
    CLAIMED = "claimed"
    """Also what an agent says, with evidence."""


class ApprovalDemand(enum.Enum):
    """Which plans a person has to approve before an agent in the loop may begin."""

    PEOPLE = "people"
    """Those that agents did not make themselves by the tools."""
    ALL = True
    NONE = False


class GateRules(NamedTuple):
    """Who may approve, and how."""

    signed: bool = False
    """Whether only a signature counts."""
    remind: float | None = None
    """After how many seconds without an answer the question is asked again."""
    policies: tuple[Policy, ...] = ()
    """What approves plans beforehand, for who asks for it by name."""
    require: Require = Require.CLAIMED
    """What has to be shown before an agent in the loop may end, or a plan is merged."""
    approval: ApprovalDemand = ApprovalDemand.PEOPLE
    """Which plans a person has to approve before an agent in the loop may begin."""
    refusals: int = 5
    """How often in a row, without progress, an agent's last word is refused."""
    elicitation: bool = False
    """Whether a person may approve in the client of an agent."""


class Motor(enum.Enum):
    """What drives a run."""

    INLINE = "inline"
    """This process."""
    DBOS = "dbos"
    """A DBOS workflow, with queues and workers."""


class RunRules(NamedTuple):
    """How plans are run."""

    motor: Motor = Motor.INLINE
    jobs: int = 1
    """How many steps may run at once, where they cannot disturb each other."""
    agent: str | None = None
    """Who gets a step whose target is no agent's name."""
    lease: float = 30.0
    """For how many seconds a runner that is not heard of any more keeps its plan."""


class BudgetRules(NamedTuple):
    """What is known of the use of agents before any was seen at work."""

    estimate: Budget = Budget()
    """What somebody wrote that an attempt uses; what is None is as shipped."""

    @property
    def usual(self) -> Budget:
        """Return what an attempt of a coding agent is taken to use."""
        tokens, dollars, seconds = self.estimate
        return Budget(
            tokens=ESTIMATE.tokens if tokens is None else tokens,
            dollars=ESTIMATE.dollars if dollars is None else dollars,
            seconds=ESTIMATE.seconds if seconds is None else seconds,
        )


class Configuration(NamedTuple):
    """What a workspace says about itself."""

    profile: str = "default"
    roles: frozenset[str] = DEFAULT_ROLES
    redact: tuple[str, ...] = ()
    """Regular expressions of what must not reach the journal."""
    contracts: Contracts = Contracts()
    judging: Judging = Judging()
    is_strict: bool = False
    """Whether `profile` is strict for everything, and not for `verify` alone."""
    tree: TreeRules = TreeRules()
    gate: GateRules = GateRules()
    notify: tuple[Notify, ...] = ()
    agents: Mapping[str, AgentRules] = {}
    roster: Mapping[str, Role] = {}
    """The roles that are configured; see `role_of` for those that are shipped."""
    run: RunRules = RunRules()
    budget: BudgetRules = BudgetRules()
    own_recipes: tuple[Recipe, ...] | None = None
    """None: nothing is said about recovery; see `recipes`."""
    own_worktrees: WorktreeRules | None = None
    """None: nothing is said about worktrees; see `worktrees`."""
    path: str | None = None
    """Where it was read from."""

    @property
    def baseline(self) -> Baseline:
        """Return how the contracts of steps must be before the work that do not say it."""
        usual = Baseline.RED if self.is_strict else Baseline.ANY
        return self.judging.baseline or usual

    @property
    def worktrees(self) -> WorktreeRules:
        """Return how worktrees for plans are made."""
        if self.own_worktrees is not None:
            return self.own_worktrees
        from planbound.engine.team.rules import WorktreeRules  # noqa: PLC0415 - start-up

        return WorktreeRules()

    @property
    def seats(self) -> dict[str, tuple[str, ...]]:
        """Return for each role the agents that share it."""
        return {name: role.agents for name, role in self.roster.items() if role.agents}

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Return how failures are answered."""
        if self.own_recipes is not None:
            return self.own_recipes
        from planbound.engine.recovery.recipe import DEFAULT_RECIPES  # noqa: PLC0415 - start-up

        return DEFAULT_RECIPES


def read_configuration(document: Mapping[str, object], *, path: str) -> Configuration:
    """Return the configuration in a document; raise ConfigurationError with the key."""
    top = Table(document, "", path)
    top.allow(*_KEYS)
    verify = top.table("verify")
    verify.allow("profile")
    profile = verify.values.get("profile", document.get("profile", "default"))
    if profile not in PROFILES or not isinstance(profile, str):
        raise ConfigurationError(
            f"`profile` is {profile!r} in {path}", hint='write "default" or "strict"'
        )
    agents = _agents(top.table("agents"))
    skills = {skill for rules in agents.values() for skill in rules.skills}
    named = frozenset({*agents, *top.table("roles").values, *skills})
    run = _run(top.table("run"), agents)
    # Who names agents or roles names all of them: a step for another one could not be run. But
    # where one agent takes all others, the shipped roles are his.
    roles = named | DEFAULT_ROLES if run.agent else named or DEFAULT_ROLES
    return Configuration(
        profile=profile,
        roles=roles,
        redact=top.texts("redact", "a list of patterns"),
        contracts=_contracts(top.table("contracts")),
        judging=_judging(top.table("judging")),
        is_strict=document.get("profile") == STRICT,
        tree=_tree(top.table("workspace")),
        gate=_gate(top.table("gate"), roles),
        notify=_notify(top) if "notify" in document else (),
        agents=agents,
        roster=_roster(top.table("roles"), agents),
        run=run,
        budget=_budget(top.table("budget")),
        own_recipes=_recipes(top),
        own_worktrees=_worktrees(top.table("worktrees")) if "worktrees" in document else None,
        path=path,
    )


def _agents(table: Table) -> Mapping[str, AgentRules]:
    if not table.values:
        return {}
    from planbound.engine.agents import read_agents  # noqa: PLC0415 - start-up

    return read_agents(table)


def _roster(table: Table, agents: Mapping[str, AgentRules]) -> Mapping[str, Role]:
    if not table.values:
        return {}
    from planbound.engine.roles import read_roles  # noqa: PLC0415 - start-up

    return read_roles(table, agents)


def _run(table: Table, agents: Mapping[str, AgentRules]) -> RunRules:
    table.allow(*RunRules._fields)
    agent = table.values.get("agent")
    if agent is not None and (not isinstance(agent, str) or agent not in agents):
        known = ", ".join(agents) or "none"
        table.refuse("agent", f"is {agent!r}", f"agents that are configured: {known}")
    return RunRules(
        motor=table.choice("motor", Motor, Motor.INLINE) or Motor.INLINE,
        jobs=table.count("jobs", 1),
        agent=agent if isinstance(agent, str) else None,
        lease=table.seconds("lease", RunRules().lease),
    )


def _budget(table: Table) -> BudgetRules:
    table.allow(*BudgetRules._fields)
    what = "what an attempt is likely to use"
    return BudgetRules(table.budget("estimate", what) if "estimate" in table.values else Budget())


def _contracts(table: Table) -> Contracts:
    table.allow(*(name for name in Contracts._fields if name != "seconds"), "timeout")
    usual = Contracts()
    return Contracts(
        env=table.names("env"),
        path=table.texts("path", "a list of folders"),
        read=table.texts("read", "a list of paths"),
        network=table.flag("network", usual.network),
        seconds=table.seconds("timeout", usual.seconds),
        memory=table.size("memory", usual.memory),
        processes=table.count("processes", usual.processes),
        file_size=table.size("file_size", usual.file_size),
        temporary=table.size("temporary", usual.temporary),
    )


def _judging(table: Table) -> Judging:
    table.allow(*Judging._fields)
    judging = Judging(
        evidence=table.choice("evidence", Evidence, None),
        isolation=table.choice("isolation", Isolation, Isolation.I0) or Isolation.I0,
        canary=table.flag("canary", default=True),
        held_out=tuple(_held_out(table)),
        bare=table.flag("bare", default=False),
        baseline=table.choice("baseline", Baseline, None),
    )
    if judging.bare:
        for key, too_much in (
            ("isolation", judging.isolation is not Isolation.I0),
            ("evidence", judging.evidence not in {None, Evidence.E0, Evidence.E1}),
            ("held_out", bool(judging.held_out)),
        ):
            if too_much:
                table.refuse(
                    "bare",
                    f"is true, and `{key}` demands a cell",
                    f"take `bare` or `{key}` out: without a cell there is I0 and E1 at best",
                )
    return judging


def _held_out(table: Table) -> list[HeldOut]:
    found: list[HeldOut] = []
    example = (
        'write `held_out = ["/judges/rounding"]`, or `{ source = "...", target = "tests/x.py" }`'
    )
    value = table.values.get("held_out", [])
    if not isinstance(value, list):
        table.refuse("held_out", "is not a list", example)
    for item in value:
        if isinstance(item, str) and item:
            found.append(HeldOut(item))
            continue
        source = item.get("source") if isinstance(item, dict) else None
        target = item.get("target") if isinstance(item, dict) else None
        if not isinstance(source, str) or not isinstance(target, str) or len(item) != 2:
            table.refuse("held_out", f"holds {item!r}", example)
        if target.startswith("/") or ".." in target.split("/"):
            table.refuse("held_out", f"lays a file at `{target}`", "a target lies in the workspace")
        found.append(HeldOut(source, target))
    return found


def _gate(table: Table, roles: frozenset[str]) -> GateRules:
    table.allow(*GateRules._fields)
    policies: tuple[Policy, ...] = ()
    if (tables := table.table("policies")).values:
        # Few have policies, and reading contracts costs a start.
        from planbound.engine.gate.policy import read_policies  # noqa: PLC0415 - start-up

        policies = read_policies(tables, roles)
    return GateRules(
        signed=table.flag("signed", default=False),
        remind=table.seconds("remind", 0.0) or None,
        policies=policies,
        require=table.choice("require", Require, Require.CLAIMED) or Require.CLAIMED,
        approval=_approval(table),
        refusals=table.count("refusals", GateRules().refusals),
        elicitation=table.flag("elicitation", default=False),
    )


def _approval(table: Table) -> ApprovalDemand:
    value = table.values.get("approval", ApprovalDemand.PEOPLE.value)
    for member in ApprovalDemand:
        # In Python `1` equals `True`, and in a configuration it is a mistake.
        if type(value) is type(member.value) and value == member.value:
            return member
    hint = 'write `"people"`, `true` (every plan) or `false` (no plan)'
    return table.refuse("approval", f"is {value!r}", hint)


def _notify(top: Table) -> tuple[Notify, ...]:
    from planbound.engine.notify import read_notify  # noqa: PLC0415 - few are told anything

    return read_notify(top)


def _recipes(top: Table) -> tuple[Recipe, ...] | None:
    """Return the recipes of `[recovery]`, which may also be called `[recipes]`."""
    named = [name for name in ("recovery", "recipes") if name in top.values]
    if not named:
        return None
    if len(named) > 1:
        top.refuse("recipes", "is another name for `recovery`, which is there, too,", "use one")
    from planbound.engine.recovery.configuration import read_recipes  # noqa: PLC0415 - start-up

    return read_recipes(top.table(named[0]))


def _worktrees(table: Table) -> WorktreeRules:
    from planbound.engine.team.rules import read_worktrees  # noqa: PLC0415 - start-up

    return read_worktrees(table)


def _tree(table: Table) -> TreeRules:
    table.allow(*TreeRules._fields)
    for key in TreeRules._fields:
        for item in table.texts(key, "a list of folders"):
            if item.startswith("/") or ".." in item.split("/"):
                table.refuse(key, f"holds `{item}`", "name folders as seen from the workspace")
    return TreeRules(
        summarise=tuple(item.strip("/") for item in table.texts("summarise", "a list of folders")),
        caches=tuple(item.strip("/") for item in table.texts("caches", "a list of folders")),
    )
