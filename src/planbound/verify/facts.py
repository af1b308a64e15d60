"""What verification asks about the world, and the answers."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType

from msgspec import Struct

from planbound.plan.limits import ESTIMATE, Budget
from planbound.plan.model import Evidence
from planbound.plan.vocabulary import DEFAULT_ROLES

MINIMUM = Budget(tokens=50, dollars=Decimal("0.00001"), seconds=Decimal("0.5"))
"""Below this no attempt is possible: the prompt alone is longer, no agent starts that fast."""


class PathKind(enum.Enum):
    """What is at a path of the workspace."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"
    OUTSIDE = "outside"
    """Outside the workspace, or through a symbolic link out of it."""


class SyntaxFault(Struct, frozen=True):
    """What the shell says about a command: line (from 0) and message."""

    line: int
    message: str


class Neighbours(Struct, frozen=True):
    """The plans that a plan stands beside."""

    slug: str | None
    """Its own name; None where it has none yet."""
    waits: Mapping[str, tuple[str, ...]]
    """For every plan, archived ones included, those that it waits for; nothing where it is done."""


class HeldOutCases(Struct, frozen=True):
    """A file of cases that is held out, or why there is none."""

    text: str | None
    problem: str = ""
    hint: str = ""
    """What to do about it, where that is not to name it in the configuration."""


class PatchFault(enum.Enum):
    """What can be wrong with a diff that a contract has to reject."""

    NO_FILE = "no file"
    """It is not there, or not in the workspace."""
    NO_DIFF = "no diff"
    DOES_NOT_APPLY = "does not apply"


class FaultyPatch(Struct, frozen=True):
    """Why a diff cannot be applied to the workspace."""

    fault: PatchFault
    reason: str
    line: int = 0
    """Of the diff, from 0."""
    hint: str | None = None


class WorldQuestions(Struct, frozen=True):
    """What the rules need to know about one plan."""

    path: str = ""
    """Where it is, as it is shown."""
    plans: frozenset[str] = frozenset()
    """The plans that it depends on."""
    paths: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()
    held_out: frozenset[str] = frozenset()
    """The files of cases that tables name."""
    patches: tuple[tuple[str | None, str], ...] = ()
    """The diffs that contracts have to reject: the path, or None and the diff itself."""


class Facts(Struct, frozen=True):
    """The answers. What was not asked, or could not be found out, is not in here."""

    roles: frozenset[str] = DEFAULT_ROLES
    paths: Mapping[str, PathKind] = MappingProxyType({})
    missing_topics: frozenset[str] = frozenset()
    missing_tools: frozenset[str] = frozenset()
    syntax: Mapping[str, SyntaxFault] = MappingProxyType({})
    """By command; a command that is not here has no fault that the shell knows of."""
    held_out: Mapping[str, HeldOutCases] = MappingProxyType({})
    """The files of cases that tables name."""
    patches: Mapping[tuple[str | None, str], FaultyPatch] = MappingProxyType({})
    """What is wrong with diffs that contracts have to reject; nothing where they apply."""
    plans: Neighbours | None = None
    profile: str = "default"
    claims: bool = False
    """Whether a step may be claimed with evidence, where it has no contract."""
    network: bool = True
    """Whether contracts have one."""
    evidence: Evidence | None = None
    """The level that is demanded of contracts which do not say it themselves."""
    has_environment: bool = False
    """Whether the project has a Python environment already."""
    node_programs: frozenset[str] = frozenset()
    """What is in `node_modules/.bin`."""
    declared: Mapping[str, frozenset[str]] = MappingProxyType({})
    """By `python` and `node`, the packages that the project declares; nothing where it has no such
    list. Asked only where a tool is missing."""
    setup: tuple[str, ...] = ()
    """The commands that make a worktree ready."""
    elsewhere: Mapping[str, str] = MappingProxyType({})
    """For missing tools where the caller's PATH has them."""
    estimate: Budget = ESTIMATE
    """What an attempt is taken to use, where nothing is known of it."""
    estimates: Mapping[str, Budget] = MappingProxyType({})
    """The same by target, where it is known who does its steps; None: nobody knows."""
