"""Which tree the files are compared with: the one place that says it.

- At the approval and by `planbound baseline` the tree is frozen as it is: `freeze_for`.
- `planbound judge` compares with the newest of those: `approved_tree`.
- An attempt is compared with the tree before the first attempt at its step, in which the judges are
  as they were approved: `before_attempt`.
- The end of a run is compared with the approved tree, apart from what others changed since out of
  the plan's scope: `with_changes_of_others`.
- An agent in the loop is compared with the tree that was frozen when its plan was made, and each
  further attempt with the one before the first: `kept_tree`.
- A merge is compared with itself: its own judges count (`tree_as_it_is`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.isolation import Isolation
from planbound.errors import FileProblem
from planbound.git.repository import ignored_folders
from planbound.journal.event import BaselineObserved, EventKind, VerdictKind
from planbound.journal.record import Journal, Query
from planbound.judging.case import Case, Scope, cases, covers, plan_scope
from planbound.judging.context import JudgingContext
from planbound.judging.judges import Judges, judge_paths
from planbound.judging.protection import protect
from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.model import Command, Judged, Plan
from planbound.script import read_script
from planbound.workspace.configuration import Configuration
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.contents import Tree
from planbound.workspace.manifest import (
    Entry,
    EntryType,
    Manifest,
    ScanRules,
    changes,
    manifest_of,
    path_text,
    with_changes,
)
from planbound.workspace.measured import kept_manifest

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault


class Frozen(NamedTuple):
    """What a baseline remembers."""

    id: str
    manifest: Manifest
    plan: str
    """The digest of the plan."""
    configuration: str
    """The digest of the configuration that contracts run under."""
    verdicts: Mapping[str, VerdictKind]
    """By the digest of the contract."""


def approved_tree(
    journal: Journal | None,
    vault: Vault,
    slug: str,
    now: Manifest | None = None,
    like: Manifest | None = None,
) -> Frozen | None:
    """Return the tree of a plan's newest baseline; None where none was taken.

    It may have been approved in the main worktree, before the plan got its own: `now` is given
    where this may be another worktree than that. With `like` it shares what is the same in both.
    """
    frozen = _last_baseline(journal, vault, slug, like) if journal is not None else None
    return frozen if frozen is None or now is None else _relocated(frozen, now)


def as_it_is(judging: JudgingContext, seen: Manifest | None) -> Manifest:
    """Return the tree as it is: as it was seen, where that is handed on; otherwise it is read.

    A tree may be handed on only where since it was read nothing was alive that could have written
    to it: no agent, no contract, and no other plan. Without walls nobody knows what is alive.
    """
    walled = judging.cell.isolation.reaches(Isolation.I1)
    if seen is None or not walled or seen.truncated is not None or seen.has_tags:
        return judging.tree.manifest(judging.rules)
    return seen


def before_attempt(
    judging: JudgingContext, plan: Plan, case: Case, approved: Frozen | None, now: Manifest
) -> FrozenTree:
    """Freeze the tree that a step is compared with, before the first attempt at it.

    `now` is the tree as it is.
    """
    tree = freeze_for(judging, plan, now)
    if approved is None:
        return tree
    manifest = _with_approved_judges(approved, plan, case, tree.manifest, judging.vault)
    return tree if manifest is tree.manifest else keep_manifest(judging.vault, manifest)


def kept_tree(vault: Vault, key: str, plan: str, configuration: Configuration) -> Frozen | None:
    """Return a tree that was frozen, by the key of its manifest; None where it is not kept.

    `plan` is the digest of the plan that it is compared for.
    """
    manifest = kept_manifest(vault, key)
    if manifest is None:
        return None
    return reference_of(FrozenTree(manifest, key), plan, configuration)


def reference_of(tree: FrozenTree, plan: str, configuration: Configuration) -> Frozen:
    """Return a frozen tree as what is compared with, for a plan by its digest."""
    return Frozen(tree.key, tree.manifest, plan, configuration_digest(configuration), {})


def with_changes_of_others(
    frozen: Frozen, now: Manifest, cases: Iterable[Case], scope: Scope, vault: Vault
) -> Frozen:
    """Return the frozen tree with everything out of scope as it is now; judges stay as they were.

    What a step changed out of scope was seen and put back when the step was judged.
    """
    found = changes(frozen.manifest, now)
    beyond: Sequence[str] = ()
    if found:
        judges = judges_of(cases, frozen.manifest, partial(read_frozen, frozen.manifest, vault))
        beyond = protect(found, judges, scope).outside
    keys = [path.encode("utf-8", "surrogateescape") for path in beyond]
    whole = Manifest(frozen.manifest.entries, frozen.manifest.digest, tagged=now.tagged)
    changed = {key: now.entries.get(key) for key in keys}
    return frozen._replace(manifest=with_changes(whole, changed))


def tree_as_it_is(judging: JudgingContext) -> Frozen:
    """Return the tree as it is now, with its own judges."""
    manifest = judging.tree.manifest(judging.rules)
    return Frozen(id="merge", manifest=manifest, plan="", configuration="", verdicts={})


def changed_terms(frozen: Frozen, plan: str, configuration: Configuration) -> str | None:
    """Return why nothing can pass: not the plan, or not the configuration, that was frozen."""
    if frozen.plan != plan:
        return (
            "the plan is not the one that its baseline was taken of"
            f" ({frozen.plan[:12]}, now {plan[:12]})"
        )
    if frozen.configuration != configuration_digest(configuration, like=frozen.configuration):
        return "the configuration is not the one that the baseline was taken under"
    return None


# -- a tree is frozen ----------------------------------------------------------------------------


MUCH = 1 << 20
"""So many bytes are kept without asking whether anybody needs them."""


class FrozenTree(NamedTuple):
    """A tree whose files are kept, and where its manifest is."""

    manifest: Manifest
    key: str
    """The SHA-256 of the manifest in the vault."""


def freeze_for(judging: JudgingContext, plan: Plan, now: Manifest | None = None) -> FrozenTree:
    """Freeze the tree for a plan: what its contracts speak of is kept in any case."""
    needless = partial(_needless_copies, judging, plan)
    return freeze(judging.tree, judging.vault, judging.rules, needless, now)


def freeze(
    tree: Tree,
    vault: Vault,
    rules: ScanRules,
    needless: NeedlessCopies | None = None,
    now: Manifest | None = None,
) -> FrozenTree:
    """Keep a copy of every file of the tree that is not too large; return what is there.

    Where much is new, what need not be kept is left out. `now` is the tree, where it was just read.
    """
    manifest = tree.manifest(rules) if now is None else now
    if manifest.truncated:
        raise FileProblem(
            f"the workspace cannot be frozen: {manifest.truncated}",
            hint="name large folders in `[workspace] summarise` or `caches`",
        )
    unsure = vault.unsure(manifest)
    missing = vault.lacks(manifest)
    if missing and needless is not None and _size(unsure, missing) > MUCH:
        missing -= needless(manifest)
    if missing:
        vault.keep(tree.contents(unsure, missing))
    if manifest.held:
        vault.summaries.keep(tree.root, manifest)
    return keep_manifest(vault, manifest)


def keep_manifest(vault: Vault, manifest: Manifest) -> FrozenTree:
    """Keep what is there of a tree whose files are kept."""
    return FrozenTree(manifest, vault.keep_manifest(manifest))


def _size(manifest: Manifest, contents: Container[bytes]) -> int:
    return sum(
        entry.size
        for entry in manifest.entries.values()
        if entry.type is EntryType.FILE and entry.content in contents
    )


# -- which contents of a tree need no copy: what git ignores, and no contract speaks of ----------


NeedlessCopies = Callable[[Manifest], set[bytes]]
"""Returns which contents of a tree need no copy."""


def _needless_copies(judging: JudgingContext, plan: Plan, manifest: Manifest) -> set[bytes]:
    """Return which contents need no copy for a plan.

    A change of them is seen like any other, but it cannot be put back.
    """
    ignored = () if judging.git_root is None else ignored_folders(judging.git_root)
    folders = tuple(each + b"/" for each in ignored if not names(plan, path_text(each)))
    if not folders:
        return set()
    asked: set[str] = set()

    def read(path: str) -> bytes | None:
        asked.add(path)
        entry = manifest.entry(path)
        return judging.tree.content(path, entry) if entry is not None else None

    # What a contract judges by, and what tells that, is kept wherever it lies.
    asked |= judges_of(cases(plan), manifest, read).files
    spared: set[bytes] = set()
    needed: set[bytes] = set()
    for path, entry in manifest.entries.items():
        if entry.type is EntryType.FILE:
            inside = path.startswith(folders) and path_text(path) not in asked
            (spared if inside else needed).add(entry.content)
    return spared - needed


def names(plan: Plan, folder: str) -> bool:
    """Say whether a contract, or what may be changed or judges, speaks of a folder."""
    word = re.compile(rf"(?<![\w.-]){re.escape(folder)}(?![\w-])")
    if any(word.search(text) for text in _commands(plan)):
        return True
    parts = tuple(folder.split("/"))
    return any(_literal(glob)[: len(parts)] == parts for glob in _globs(plan))


def _commands(plan: Plan) -> Iterator[str]:
    for case in cases(plan):
        if isinstance(case.contract, Judged):
            yield case.contract.text


def _globs(plan: Plan) -> Iterator[str]:
    for step in plan.steps:
        yield from (item.value for item in plan.touches_of(step))
    for case in cases(plan):
        yield from case.judges


def _literal(text: str) -> tuple[str, ...]:
    try:
        return parse_glob(text).literal_prefix
    except GlobError:
        return ()


# -- a tree that was frozen is read --------------------------------------------------------------


def _last_baseline(
    journal: Journal, vault: Vault, slug: str, like: Manifest | None
) -> Frozen | None:
    """Return the newest baseline of a plan; None where none was taken."""
    kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_CREATED)
    found: BaselineObserved | None = None
    verdicts: dict[str, VerdictKind] = {}
    for record in journal.read(Query(plan=slug, events=kinds)):
        event = record.event
        if not isinstance(event, BaselineObserved):
            found, verdicts = None, {}  # another plan by the same name
            continue
        if event.manifest is None:
            continue
        if found is None or event.baseline != found.baseline:
            verdicts = {}
        found = event
        verdicts[str(event.contract)] = event.verdict
    if found is None:
        return None
    return Frozen(
        id=str(found.baseline),
        manifest=_manifest(vault, str(found.manifest), like),
        plan=str(found.plan_digest),
        configuration=str(found.configuration),
        verdicts=verdicts,
    )


def _manifest(vault: Vault, key: str, like: Manifest | None) -> Manifest:
    reason = "its tree is not in the vault"
    try:
        manifest = vault.manifest(key, like)
        if manifest is not None:
            return manifest
    except (ValueError, FileProblem) as error:
        reason = str(error)
    raise FileProblem(
        f"the baseline cannot be used: {reason}",
        hint="look into the state home, then take a new one with `planbound baseline`",
    )


def _relocated(frozen: Frozen, now: Manifest) -> Frozen:
    """Return what was frozen in one worktree as it looks in another one of the repository.

    A linked worktree has a file where the main one has git's folder, and a checkout keeps of a
    file's mode only whether it can be run.
    """
    entries = {
        path: _checked_out(entry, now.entries.get(path))
        for path, entry in frozen.manifest.entries.items()
        if not _is_git(path)
    }
    entries |= {path: entry for path, entry in now.entries.items() if _is_git(path)}
    manifest = manifest_of(
        entries, truncated=frozen.manifest.truncated, tagged=frozen.manifest.tagged
    )
    return frozen._replace(manifest=manifest)


def _checked_out(entry: Entry, now: Entry | None) -> Entry:
    if now is None or now.type is not entry.type:
        return entry
    if entry.type is EntryType.DIRECTORY:
        return now
    same = now.content == entry.content and bool(now.mode & 0o111) == bool(entry.mode & 0o111)
    return now if same else entry


def _is_git(path: bytes) -> bool:
    return path == b".git" or path.startswith(b".git/")


def _with_approved_judges(
    approved: Frozen, plan: Plan, case: Case, manifest: Manifest, vault: Vault
) -> Manifest:
    """Return a tree in which the judges of a contract are as they were approved.

    A step that is compared with it finds a judge changed that an earlier one has changed. What some
    step of the plan may change is taken as it is.
    """
    if approved.manifest.digest == manifest.digest:
        return manifest
    read = partial(read_frozen, approved.manifest, vault)
    scope = plan_scope(plan)
    changed: dict[bytes, Entry | None] = {}
    for path in judges_of([case], approved.manifest, read).files:
        if not covers(scope, path):
            key = path.encode("utf-8", "surrogateescape")
            changed[key] = approved.manifest.entries[key]
    return with_changes(manifest, changed)


def read_frozen(manifest: Manifest, vault: Vault, path: str) -> bytes | None:
    """Return the kept copy of a file of the tree."""
    entry = manifest.entry(path)
    return vault.content(entry.content) if entry is not None else None


def judges_of(
    cases: Iterable[Case], manifest: Manifest, read: Callable[[str], bytes | None]
) -> Judges:
    """Return what the contracts of the cases judge by."""
    given = [case for case in cases if isinstance(case.contract, Judged)]
    # What a table starts is the product, and no judge of it.
    commands = [case.contract.text for case in given if isinstance(case.contract, Command)]
    scripts = [read_script(text) for text in dict.fromkeys(commands)]
    globs = [parse_glob(text) for case in given for text in case.judges]
    return judge_paths(scripts, globs, manifest.files(), read)
