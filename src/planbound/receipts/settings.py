"""What contracts run under: told in a receipt, and taken from it by who judges again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from planbound.receipts.predicate import RunSettings
from planbound.workspace.configuration import Configuration, Contracts, Judging, TreeRules
from planbound.workspace.configuration_digest import configuration_digest

LONGEST = 6 * 3600.0
"""No contract of somebody else's runs for longer than this, whatever a receipt says."""


def run_settings(configuration: Configuration) -> RunSettings:
    """Return what a configuration says of contracts."""
    contracts, judging, tree = configuration.contracts, configuration.judging, configuration.tree
    return RunSettings(
        digest=configuration_digest(configuration),
        env=contracts.env,
        path=tuple(path for path in contracts.path if _is_inside(path)),
        network=contracts.network,
        seconds=contracts.seconds,
        memory=contracts.memory,
        processes=contracts.processes,
        file_size=contracts.file_size,
        temporary=contracts.temporary,
        canary=judging.canary,
        mutate=judging.mutate,
        held_out=len(judging.held_out),
        summarise=tree.summarise,
        caches=tree.caches,
    )


class GivenSettings(NamedTuple):
    """What contracts of a receipt run under here, and what they do not get."""

    configuration: Configuration
    not_given: tuple[str, ...]


def replay_settings(
    said: RunSettings, path: tuple[str, ...], *, as_recorded: bool
) -> GivenSettings:
    """Return the configuration for judging again; nothing of the clone's own is in it.

    A receipt alone gives no variable of this machine and no network to anybody: whoever judges
    again says so. Evidence is always looked for, whatever the receipt did without. `path` are
    folders with programs of this machine.
    """
    given = Contracts(
        env=said.env if as_recorded else (),
        path=(*(each for each in said.path if _is_inside(each)), *path),
        network=said.network and as_recorded,
        seconds=min(max(said.seconds, 1.0), LONGEST),
        memory=said.memory,
        processes=said.processes,
        file_size=said.file_size,
        temporary=said.temporary,
    )
    configuration = Configuration(
        contracts=given,
        judging=Judging(reuse=False),
        tree=TreeRules(summarise=said.summarise, caches=said.caches),
    )
    return GivenSettings(configuration, tuple(_lacking(said, as_recorded=as_recorded)))


def _lacking(said: RunSettings, *, as_recorded: bool) -> Iterator[str]:
    if not as_recorded:
        yield from (f"the variable `{name}`" for name in said.env)
        if said.network:
            yield "the network"
    if said.held_out:
        yield f"{said.held_out} judge{'' if said.held_out == 1 else 's'} held out"


def _is_inside(path: str) -> bool:
    """Say whether a folder of PATH is one of the workspace, as it is written."""
    return not path.startswith(("/", "~")) and ".." not in path.split("/")
