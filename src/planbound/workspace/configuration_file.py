"""Reads `planbound.toml`, or `[tool.planbound]` in `pyproject.toml`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from planbound.cells.isolation import Isolation
from planbound.errors import ConfigurationError
from planbound.journal.words import MotorKind
from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.limits import Budget
from planbound.plan.model import Baseline, Evidence
from planbound.plan.vocabulary import DEFAULT_ROLES
from planbound.workspace.configuration import (
    PROFILES,
    STRICT,
    USUAL_PAGE_PORT,
    ApprovalDemand,
    BranchGate,
    BudgetRules,
    CommitTrailer,
    Configuration,
    Contracts,
    GateRules,
    HeldOut,
    IntegrateRules,
    Judging,
    PageRules,
    ReceiptRules,
    Require,
    RunRules,
    TreeRules,
)
from planbound.workspace.configuration_table import Table

if TYPE_CHECKING:
    from planbound.workspace.agents import AgentRules, Role
    from planbound.workspace.notify import Notify
    from planbound.workspace.policy import Policy
    from planbound.workspace.recipes import Recipe
    from planbound.workspace.worktrees import WorktreeRules

_MAX_BYTES = 1024 * 1024
_KEYS = (
    *("profile", "verify", "agents", "roles", "redact", "contracts", "judging", "workspace"),
    *("gate", "notify", "run", "recovery", "recipes", "worktrees", "fleet", "budget"),
    *("receipts", "page", "integrate"),
)
_OWN, _PROJECT = "planbound.toml", "pyproject.toml"
NAMES = (_OWN, _PROJECT)
"""The files that may hold a configuration; the first that does counts."""


def load_configuration(root: str) -> Configuration:
    """Return the configuration of a workspace; the defaults where it has none."""
    if os.path.lexists(os.path.join(root, _OWN)):
        names = (_OWN,)
    elif os.path.isfile(os.path.join(root, _PROJECT)):
        names = (_PROJECT,)
    else:
        return Configuration()
    found = configuration_in({name: _read(os.path.join(root, name), name) for name in names})
    return found or Configuration()


def configuration_in(files: Mapping[str, bytes]) -> Configuration | None:
    """Return the configuration in the files of `NAMES` that there are; None where none says one."""
    if _OWN in files:
        return read_configuration(_parsed(files[_OWN], _OWN), path=_OWN)
    if b"planbound" in files.get(_PROJECT, b""):
        tools = _parsed(files[_PROJECT], _PROJECT).get("tool", {})
        table = tools.get("planbound", {}) if isinstance(tools, dict) else {}
        if isinstance(table, dict) and table:
            return read_configuration(table, path="pyproject.toml [tool.planbound]")
    return None


def _read(path: str, shown: str) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(_MAX_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"cannot read {shown}: {error.strerror}") from error


def _parsed(data: bytes, shown: str) -> dict[str, object]:
    import tomllib  # noqa: PLC0415 - most workspaces have no configuration

    if len(data) > _MAX_BYTES:
        raise ConfigurationError(f"{shown} is larger than {_MAX_BYTES:,} bytes")
    try:
        return tomllib.loads(data.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ConfigurationError(f"{shown} is not valid TOML: {error}") from error


def read_configuration(document: Mapping[str, object], *, path: str) -> Configuration:
    """Return the configuration in a document; raise ConfigurationError with the key."""
    top = Table(document, "", path)
    top.allow(*_KEYS)
    verify = top.table("verify")
    verify.allow("profile")
    profile = verify.get("profile", top.get("profile", "default"))
    if profile not in PROFILES or not isinstance(profile, str):
        raise ConfigurationError(
            f"`profile` is {profile!r} in {path}", hint='write "default" or "strict"'
        )
    agents = _agents(top.table("agents"))
    skills = {skill for rules in agents.values() for skill in rules.skills}
    named = frozenset({*agents, *top.table("roles"), *skills})
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
        is_strict=top.get("profile") == STRICT,
        tree=_tree(top.table("workspace")),
        gate=_gate(top.table("gate"), roles),
        notify=_notify(top) if "notify" in top else (),
        agents=agents,
        roster=_roster(top.table("roles"), agents),
        run=run,
        budget=_budget(top.table("budget")),
        receipts=_receipts(top.table("receipts")),
        page=_page(top.table("page")),
        integrate=_integrate(top.table("integrate")),
        own_recipes=_recipes(top),
        own_worktrees=_worktrees(top.table("worktrees")) if "worktrees" in top else None,
        repository=_repository(top.table("fleet")),
        path=path,
    )


def _agents(table: Table) -> Mapping[str, AgentRules]:
    if not table:
        return {}
    from planbound.workspace.agents import read_agents  # noqa: PLC0415 - start-up

    return read_agents(table)


def _roster(table: Table, agents: Mapping[str, AgentRules]) -> Mapping[str, Role]:
    if not table:
        return {}
    from planbound.workspace.agents import read_roles  # noqa: PLC0415 - start-up

    return read_roles(table, agents)


def _run(table: Table, agents: Mapping[str, AgentRules]) -> RunRules:
    table.allow(*RunRules.__struct_fields__)
    agent = table.get("agent")
    if agent is not None and (not isinstance(agent, str) or agent not in agents):
        known = ", ".join(agents) or "none"
        table.refuse("agent", f"is {agent!r}", f"agents that are configured: {known}")
    return RunRules(
        motor=table.choice("motor", MotorKind, MotorKind.INLINE) or MotorKind.INLINE,
        jobs=table.count("jobs", 1),
        agent=agent if isinstance(agent, str) else None,
        lease=table.seconds("lease", RunRules().lease),
    )


def _budget(table: Table) -> BudgetRules:
    table.allow(*BudgetRules.__struct_fields__)
    what = "what an attempt is likely to use"
    return BudgetRules(table.budget("estimate", what) if "estimate" in table else Budget())


def _page(table: Table) -> PageRules:
    table.allow(*PageRules.__struct_fields__)
    port = table.count("port", USUAL_PAGE_PORT) if "port" in table else None
    if port is not None and port > 65535:
        table.refuse(
            "port", f"is {port}", f"write a number up to 65535: `port = {USUAL_PAGE_PORT}`"
        )
    return PageRules(port=port, links=table.flag("links", default=False))


def _receipts(table: Table) -> ReceiptRules:
    table.allow(*ReceiptRules.__struct_fields__)
    usual = ReceiptRules()
    key = table.get("key")
    if key is not None and (not isinstance(key, str) or not key):
        table.refuse("key", f"is {key!r}", 'write a path, such as `key = "~/.ssh/id_ed25519"`')
    remote = table.get("remote", usual.remote)
    # It becomes a word of a command line of git's.
    if not isinstance(remote, str) or not re.fullmatch(r"\w[\w./-]*", remote):
        table.refuse("remote", f"is {remote!r}", f'write the name of a remote: `"{usual.remote}"`')
    known = {each.value: each for each in CommitTrailer}
    trailers = table.texts("trailers", "a list of trailers")
    for name in trailers:
        if name not in known:
            listed = ", ".join(f'"{each}"' for each in known)
            table.refuse("trailers", f"holds `{name}`", f"known trailers are {listed}")
    return ReceiptRules(
        key=key if isinstance(key, str) else None,
        keep=table.flag("keep", usual.keep),
        push=table.flag("push", usual.push),
        remote=remote,
        trailers=tuple(known[name] for name in dict.fromkeys(trailers)),
    )


def _contracts(table: Table) -> Contracts:
    table.allow(*(name for name in Contracts.__struct_fields__ if name != "seconds"), "timeout")
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
    table.allow(*Judging.__struct_fields__, "bare")
    if table.flag("bare", default=False):
        table.refuse(
            "bare",
            "is true",
            "remove the line: every contract runs in a cell now; what the engine itself costs is"
            " measured with the fakes of `planbound.testing`",
        )
    return Judging(
        evidence=table.choice("evidence", Evidence, None),
        isolation=table.choice("isolation", Isolation, Isolation.I0) or Isolation.I0,
        canary=table.flag("canary", default=True),
        mutate=table.flag("mutate", default=True),
        reuse=table.flag("reuse", default=True),
        held_out=tuple(_held_out(table)),
        baseline=table.choice("baseline", Baseline, None),
        jobs=table.count("jobs", 1) if "jobs" in table else None,
    )


def _held_out(table: Table) -> list[HeldOut]:
    found: list[HeldOut] = []
    example = (
        'write `held_out = ["/judges/rounding"]`, or `{ source = "...", target = "tests/x.py" }`'
    )
    value = table.get("held_out", [])
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
    table.allow(*GateRules.__struct_fields__)
    policies: tuple[Policy, ...] = ()
    if tables := table.table("policies"):
        # Few have policies, and reading contracts costs a start.
        from planbound.workspace.policy import read_policies  # noqa: PLC0415 - start-up

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
    value = table.get("approval", ApprovalDemand.PEOPLE.value)
    for member in ApprovalDemand:
        # In Python `1` equals `True`, and in a configuration it is a mistake.
        if type(value) is type(member.value) and value == member.value:
            return member
    hint = 'write `"people"`, `true` (every plan) or `false` (no plan)'
    return table.refuse("approval", f"is {value!r}", hint)


def _notify(top: Table) -> tuple[Notify, ...]:
    from planbound.workspace.notify import read_notify  # noqa: PLC0415 - few are told anything

    return read_notify(top)


_GATES = 'write `gates = ["make check", { run = "pytest tests", judges = ["tests/**"] }]`'


def _integrate(table: Table) -> IntegrateRules:
    table.allow(*IntegrateRules.__struct_fields__)
    value = table.get("gates", [])
    if not isinstance(value, list):
        table.refuse("gates", "is not a list", _GATES)
    return IntegrateRules(tuple(_branch_gate(table, item) for item in value))


def _branch_gate(table: Table, item: object) -> BranchGate:
    given = {"run": item} if isinstance(item, str) else item
    if not isinstance(given, dict) or not given.keys() <= {"run", "judges"}:
        table.refuse("gates", f"holds {item!r}", _GATES)
    run, judges = given.get("run"), given.get("judges", [])
    if not isinstance(run, str) or not run.strip() or "\0" in run:
        table.refuse("gates", f"holds {item!r}", _GATES)
    if not isinstance(judges, list) or not all(isinstance(each, str) for each in judges):
        table.refuse("gates", f"has {judges!r} for `judges`", _GATES)
    for text in judges:
        try:
            parse_glob(text)
        except GlobError as error:
            table.refuse("gates", f"has the pattern {text!r} for `judges`: {error}", _GATES)
    return BranchGate(run, tuple(judges))


def _recipes(top: Table) -> tuple[Recipe, ...] | None:
    """Return the recipes of `[recovery]`, which may also be called `[recipes]`."""
    named = [name for name in ("recovery", "recipes") if name in top]
    if not named:
        return None
    if len(named) > 1:
        top.refuse("recipes", "is another name for `recovery`, which is there, too,", "use one")
    from planbound.workspace.recipes import read_recipes  # noqa: PLC0415 - start-up

    return read_recipes(top.table(named[0]))


def _repository(table: Table) -> str | None:
    table.allow("repository")
    name = table.get("repository")
    if name is None:
        return None
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,99}", name):
        table.refuse(
            "repository",
            f"is {name!r}",
            "write a name of at most 100 of letters, digits, `.`, `_`, `/` and `-`, such as"
            ' `repository = "acme/billing"`',
        )
    return name


def _worktrees(table: Table) -> WorktreeRules:
    from planbound.workspace.worktrees import read_worktrees  # noqa: PLC0415 - start-up

    return read_worktrees(table)


def _tree(table: Table) -> TreeRules:
    table.allow(*TreeRules.__struct_fields__)
    for key in TreeRules.__struct_fields__:
        for item in table.texts(key, "a list of folders"):
            if item.startswith("/") or ".." in item.split("/"):
                table.refuse(key, f"holds `{item}`", "name folders as seen from the workspace")
    return TreeRules(
        summarise=tuple(item.strip("/") for item in table.texts("summarise", "a list of folders")),
        caches=tuple(item.strip("/") for item in table.texts("caches", "a list of folders")),
    )
