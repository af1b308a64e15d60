"""What verification asks about the world, and the answers.

The rules are pure: they say what they would need to know (`Questions`), an edge finds it out
(`Facts`).
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from decimal import Decimal
from types import MappingProxyType
from typing import NamedTuple

from planbound.plan.limits import Budget

DEFAULT_ROLES = frozenset(
    {"coder", "reviewer", "researcher", "tech-lead", "worker", "tester", "project-manager"}
)
"""The roles that a workspace without configuration has."""
ESTIMATE = Budget(tokens=5_000, dollars=Decimal("0.02"), seconds=Decimal(30))
"""What an attempt of a coding agent is taken to use at the least that one can count on."""
MINIMUM = Budget(tokens=50, dollars=Decimal("0.00001"), seconds=Decimal("0.5"))
"""Below this no attempt is possible: the prompt alone is longer, no agent starts that fast."""


class PathKind(enum.Enum):
    """What is at a path of the workspace."""

    MISSING = "missing"
    FILE = "file"
    DIRECTORY = "directory"
    OUTSIDE = "outside"
    """Outside the workspace, or through a symbolic link out of it."""


class SyntaxFault(NamedTuple):
    """What the shell says about a command: line (from 0) and message."""

    line: int
    message: str


class Neighbours(NamedTuple):
    """The plans that a plan stands beside."""

    slug: str | None
    """Its own name; None where it has none yet."""
    waits: Mapping[str, tuple[str, ...]]
    """For every plan, archived ones included, those that it waits for; nothing where it is done."""


class Questions(NamedTuple):
    """What the rules need to know about one plan."""

    path: str = ""
    """Where it is, as it is shown."""
    plans: frozenset[str] = frozenset()
    """The plans that it depends on."""
    paths: frozenset[str] = frozenset()
    topics: frozenset[str] = frozenset()
    tools: frozenset[str] = frozenset()
    commands: tuple[str, ...] = ()


class Facts(NamedTuple):
    """The answers. What was not asked, or could not be found out, is not in here."""

    roles: frozenset[str] = DEFAULT_ROLES
    paths: Mapping[str, PathKind] = MappingProxyType({})
    missing_topics: frozenset[str] = frozenset()
    missing_tools: frozenset[str] = frozenset()
    syntax: Mapping[str, SyntaxFault] = MappingProxyType({})
    """By command; a command that is not here has no fault that the shell knows of."""
    plans: Neighbours | None = None
    profile: str = "default"
    claims: bool = False
    """Whether a step may be claimed with evidence, where it has no contract."""
    network: bool = True
    """Whether contracts have one."""
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
