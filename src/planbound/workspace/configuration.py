"""The configuration of a workspace, as a value."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from planbound.cells.isolation import Isolation
from planbound.journal.words import MotorKind
from planbound.plan.limits import ESTIMATE, Budget
from planbound.plan.model import USUAL_TARGET, Baseline, Evidence
from planbound.plan.vocabulary import DEFAULT_ROLES

if TYPE_CHECKING:
    from planbound.workspace.agents import AgentRules, Role
    from planbound.workspace.notify import Notify
    from planbound.workspace.policy import Policy
    from planbound.workspace.recipes import Recipe
    from planbound.workspace.worktrees import WorktreeRules

STRICT = "strict"
PROFILES = ("default", STRICT)


class Contracts(Struct, frozen=True):
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

    def seconds_for(self, own: float | None) -> float:
        """Return how long a contract may take each time it runs; `own` is what stands with it."""
        return own or self.seconds


class HeldOut(Struct, frozen=True):
    """A judge that is kept outside the workspace."""

    source: str
    target: str | None = None
    """Where it is laid, seen from the workspace; None: where its kind belongs."""


class Judging(Struct, frozen=True):
    """What a verdict must be founded on."""

    evidence: Evidence | None = None
    isolation: Isolation = Isolation.I0
    canary: bool = True
    held_out: tuple[HeldOut, ...] = ()
    baseline: Baseline | None = None
    """How the contracts of steps must be before the work; None: see `Configuration.baseline`."""
    mutate: bool = True
    """Whether tests are run once more with other expected values."""
    reuse: bool = True
    """Whether a contract is spared a run on what it was run on before."""
    jobs: int | None = None
    """How many runs may go on at once; None: as many as there are cores, and at least two."""


class TreeRules(Struct, frozen=True):
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


class GateRules(Struct, frozen=True):
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


class RunRules(Struct, frozen=True):
    """How plans are run."""

    motor: MotorKind = MotorKind.INLINE
    jobs: int = 1
    """How many steps may run at once, where they cannot disturb each other."""
    agent: str | None = None
    """Who gets a step whose target is no agent's name."""
    lease: float = 30.0
    """For how many seconds a runner that is not heard of any more keeps its plan."""


class CommitTrailer(enum.Enum):
    """What commits of the harness may say about who worked."""

    ASSISTED_BY = "Assisted-by"
    """The kinds of the agents. Some projects ask for it, and some forbid it."""


USUAL_PAGE_PORT = 7465
"""Where the page listens where nothing is said: an address that stays the same from day to day."""


class PageRules(Struct, frozen=True):
    """How the page in a browser is served."""

    port: int | None = None
    """None: the usual one, or a free one where that is taken."""
    links: bool = False
    """Whether a notification brings a link that decides one question, once."""


class ReceiptRules(Struct, frozen=True):
    """How receipts are made, and what becomes of them by itself."""

    key: str | None = None
    """The file of a person's key that signs them; None: the harness's own does."""
    keep: bool = False
    """Whether a plan that is done leaves a receipt in the repository."""
    push: bool = False
    """Whether it is sent to `remote`, too."""
    remote: str = "origin"
    trailers: tuple[CommitTrailer, ...] = ()

    @property
    def are_kept(self) -> bool:
        """Whether there is anything to keep: what is sent is kept."""
        return self.keep or self.push


class BudgetRules(Struct, frozen=True):
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


class BranchGate(Struct, frozen=True):
    """A command that has to pass on the merged files before a branch moves."""

    run: str
    judges: tuple[str, ...] = ()
    """Patterns of what it judges by, besides what is found by its text."""


class IntegrateRules(Struct, frozen=True):
    """What a branch demands of every plan that is merged into it."""

    gates: tuple[BranchGate, ...] = ()


class Configuration(Struct, frozen=True):
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
    """The roles that are configured; see `role` for those that are shipped."""
    run: RunRules = RunRules()
    budget: BudgetRules = BudgetRules()
    receipts: ReceiptRules = ReceiptRules()
    page: PageRules = PageRules()
    integrate: IntegrateRules = IntegrateRules()
    """What this tree says; a merge asks the commit that it begins with."""
    own_recipes: tuple[Recipe, ...] | None = None
    """None: nothing is said about recovery; see `recipes`."""
    own_worktrees: WorktreeRules | None = None
    """None: nothing is said about worktrees; see `worktrees`."""
    repository: str | None = None
    """By what all machines of a fleet know this repository; None: by its place on this one."""
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
        from planbound.workspace.worktrees import WorktreeRules  # noqa: PLC0415 - start-up

        return WorktreeRules()

    def agents_for(self, target: str) -> tuple[str, ...]:
        """Return who can do the steps of a target: a role, else an agent's name, else a skill."""
        role = self.roster.get(target)
        if role is not None and role.agents:
            return role.agents
        if target in self.agents:
            return (target,)
        return tuple(name for name, rules in self.agents.items() if target in rules.skills)

    def roles_of(self, agent: str) -> tuple[str, ...]:
        """Return the roles that an agent was given by name or by its skills."""
        return tuple(name for name, role in self.roster.items() if agent in role.agents)

    def role(self, target: str | None) -> Role | None:
        """Return the role that a target names: as configured, else as shipped; None: it is none."""
        from planbound.workspace.agents import SHIPPED  # noqa: PLC0415 - start-up

        name = target or USUAL_TARGET
        return self.roster.get(name) or SHIPPED.get(name)

    def known_roles(self) -> list[Role]:
        """Return the roles that steps can be for, with who gets them; none if none is named."""
        if not self.agents and not self.roster:
            return []
        found = (self.role(name) for name in sorted(self.roles))
        return [
            replace(role, agents=self.agents_for(role.name)) for role in found if role is not None
        ]

    @property
    def recipes(self) -> tuple[Recipe, ...]:
        """Return how failures are answered."""
        if self.own_recipes is not None:
            return self.own_recipes
        from planbound.workspace.recipes import DEFAULT_RECIPES  # noqa: PLC0415 - start-up

        return DEFAULT_RECIPES
