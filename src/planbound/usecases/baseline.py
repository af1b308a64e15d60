"""Freeze the tree before any work, and look which contracts are red."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Container, Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.engine.configuration import Configuration
from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.judging.case import Case
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.scope import Scope
from planbound.engine.judging.verdict import Verdict
from planbound.engine.manifest import EntryType, Manifest, ScanRules, decode, encode
from planbound.errors import FileProblem
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.model import Baseline
from planbound.ports.journal import Journal, Query
from planbound.ports.tree import Tree, Vault
from planbound.usecases.bench import Bench
from planbound.usecases.judge import Setting, judge
from planbound.usecases.record import Recorder
from planbound.usecases.unkept import Unkept
from planbound.usecases.verdict_events import note_verdict

MUCH = 1 << 20
"""So many bytes are kept without asking whether anybody needs them."""


class FrozenTree(NamedTuple):
    """A tree whose files are kept, and where its manifest is."""

    manifest: Manifest
    key: str
    """The SHA-256 of the manifest in the vault."""


class Taken(NamedTuple):
    """What a baseline is of."""

    tree: FrozenTree
    plan: str
    """The digest of the plan."""
    configuration: str
    """The digest of the configuration that contracts run under."""


def freeze(tree: Tree, vault: Vault, rules: ScanRules, unkept: Unkept | None = None) -> FrozenTree:
    """Keep a copy of every file of the tree that is not too large; return what is there.

    Where much is new, what need not be kept is left out.
    """
    manifest = tree.manifest(rules)
    if manifest.truncated:
        raise FileProblem(
            f"the workspace cannot be frozen: {manifest.truncated}",
            hint="name large folders in `[workspace] summarise` or `caches`",
        )
    files = {entry.content for entry in manifest.entries.values() if entry.type is EntryType.FILE}
    missing = vault.missing(files)
    if missing and unkept is not None and _size(manifest, missing) > MUCH:
        missing -= unkept(manifest)
    if missing:
        vault.keep(tree.contents(manifest, missing))
    data = encode(manifest)
    key = hashlib.sha256(data)
    vault.keep([(key.digest(), data)])
    return FrozenTree(manifest, key.hexdigest())


def _size(manifest: Manifest, contents: Container[bytes]) -> int:
    return sum(
        entry.size
        for entry in manifest.entries.values()
        if entry.type is EntryType.FILE and entry.content in contents
    )


def observe(bench: Bench, cases: Iterable[Case]) -> Iterator[Verdict]:
    """Yield what every contract says now; nothing is demanded of it yet."""
    judging = bench.configuration.judging._replace(canary=False, evidence=None)
    bench = bench._replace(configuration=bench.configuration._replace(judging=judging))
    plain: Iterable[Case] = (case._replace(evidence=None, baseline=Baseline.ANY) for case in cases)
    if isinstance(cases, Sequence):
        plain = list(plain)  # who is told of the progress knows how many there are
    yield from judge(bench, plain, Setting(frozen=None, scope=Scope(None), observing=True))


def note_baseline(recorder: Recorder, slug: str, taken: Taken, verdicts: Iterable[Verdict]) -> None:
    """Put a baseline on record: from now on it is what the workspace is compared with."""
    shared: dict[str, Json] = {
        "baseline": os.urandom(16).hex(),
        "plan_digest": taken.plan,
        "configuration": taken.configuration,
        "manifest": taken.tree.key,
    }
    for verdict in verdicts:
        note_verdict(recorder, EventKind.BASELINE_OBSERVED, slug, verdict, shared)


def changed_since(frozen: Frozen, plan: str, configuration: Configuration) -> str | None:
    """Return why nothing can pass: not the plan, or not the configuration, that was frozen."""
    if frozen.plan != plan:
        return (
            "the plan is not the one that its baseline was taken of"
            f" ({frozen.plan[:12]}, now {plan[:12]})"
        )
    if frozen.configuration != configuration_digest(configuration, like=frozen.configuration):
        return "the configuration is not the one that the baseline was taken under"
    return None


def last_baseline(journal: Journal, vault: Vault, slug: str) -> Frozen | None:
    """Return the newest baseline of a plan; None where none was taken."""
    kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_CREATED)
    found: dict[str, object] = {}
    verdicts: dict[str, str] = {}
    for record in journal.read(Query(plan=slug, events=kinds)):
        details = record.draft.details
        if record.draft.event is EventKind.PLAN_CREATED:
            found, verdicts = {}, {}  # another plan by the same name
            continue
        if not isinstance(details.get("manifest"), str):
            continue
        if details.get("baseline") != found.get("baseline"):
            verdicts = {}
        found = dict(details)
        verdicts[str(details.get("contract"))] = str(details.get("verdict"))
    if not found:
        return None
    return Frozen(
        id=str(found.get("baseline")),
        manifest=_manifest(vault, str(found["manifest"])),
        plan=str(found.get("plan_digest")),
        configuration=str(found.get("configuration")),
        verdicts=verdicts,
    )


def baseline_tests(journal: Journal | None, slug: str, contract: str) -> str | None:
    """Return where the tests are kept that a contract's last baseline saw."""
    found = None
    kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_CREATED)
    for record in journal.read(Query(plan=slug, events=kinds)) if journal else ():
        details = record.draft.details
        tests = details.get("tests")
        if record.draft.event is EventKind.PLAN_CREATED:
            found = None
        elif details.get("contract") == contract and isinstance(tests, dict):
            found = str(tests.get("list"))
    return found


def _manifest(vault: Vault, key: str) -> Manifest:
    reason = "its tree is not in the vault"
    try:
        data = vault.content(bytes.fromhex(key))
        if data is not None:
            return decode(data)
    except (ValueError, FileProblem) as error:
        reason = str(error)
    raise FileProblem(
        f"the baseline cannot be used: {reason}",
        hint="look into the state home, then take a new one with `planbound baseline`",
    )
