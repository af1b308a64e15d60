"""The configuration as a value, and how it is read from a TOML document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from planbound.engine.configuration_table import Table
from planbound.engine.judging.level import Isolation
from planbound.errors import ConfigurationError
from planbound.plan.model import Evidence
from planbound.verify.facts import DEFAULT_ROLES

PROFILES = ("default", "strict")
_KEYS = (
    *("profile", "verify", "agents", "roles", "redact", "contracts", "judging", "workspace"),
    "gate",
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


class TreeRules(NamedTuple):
    """What of the workspace is not looked at file by file."""

    summarise: tuple[str, ...] = ()
    caches: tuple[str, ...] = ()


class GateRules(NamedTuple):
    """Who may approve, and how."""

    signed: bool = False
    """Whether only a signature counts."""


class Configuration(NamedTuple):
    """What a workspace says about itself."""

    profile: str = "default"
    roles: frozenset[str] = DEFAULT_ROLES
    redact: tuple[str, ...] = ()
    """Regular expressions of what must not reach the journal."""
    contracts: Contracts = Contracts()
    judging: Judging = Judging()
    tree: TreeRules = TreeRules()
    gate: GateRules = GateRules()
    path: str | None = None
    """Where it was read from."""


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
    named = frozenset({*top.table("agents").values, *top.table("roles").values})
    # Who names agents or roles names all of them: a step for another one could not be run.
    return Configuration(
        profile=profile,
        roles=named or DEFAULT_ROLES,
        redact=top.texts("redact", "a list of patterns"),
        contracts=_contracts(top.table("contracts")),
        judging=_judging(top.table("judging")),
        tree=_tree(top.table("workspace")),
        gate=_gate(top.table("gate")),
        path=path,
    )


def _contracts(table: Table) -> Contracts:
    table.allow(*(name for name in Contracts._fields if name != "seconds"), "timeout")
    usual = Contracts()
    for name in (names := table.texts("env", "a list of names of variables")):
        if not name.replace("_", "a").isalnum() or name[:1].isdigit():
            table.refuse("env", f"holds `{name}`", 'write names only, such as `env = ["LANG"]`')
    return Contracts(
        env=names,
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
    return Judging(
        evidence=table.choice("evidence", Evidence, None),
        isolation=table.choice("isolation", Isolation, Isolation.I0) or Isolation.I0,
        canary=table.flag("canary", default=True),
        held_out=tuple(_held_out(table)),
    )


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


def _gate(table: Table) -> GateRules:
    table.allow(*GateRules._fields)
    return GateRules(signed=table.flag("signed", default=False))


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
