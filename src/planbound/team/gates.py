"""The gates of a branch: what it demands of every merge, and by which judges.

Both are those of the commit that a merge begins with. So a plan cannot weaken what it is merged by,
and two plans cannot do it together: what a gate judges by stays as it is, unless an approval names
it. Tests that a plan adds count, too, and the gates have to pass without them as well.
"""

from __future__ import annotations

import stat
from collections.abc import Callable, Sequence
from posixpath import dirname, splitext
from typing import NamedTuple

from planbound.errors import ConfigurationError, Refused
from planbound.git.place import git_place
from planbound.git.repository import GitChange, Repository
from planbound.judging.case import Case, Scope, covers, gate_cases
from planbound.judging.judges import Judges, judge_paths
from planbound.judging.protection import protect, runs_by_itself
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import Judged
from planbound.script import read_script
from planbound.state.approval import KINDS
from planbound.state.place import TeamState
from planbound.state.plan import plan_state
from planbound.workspace.configuration import BranchGate, Configuration
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.configuration_file import NAMES, configuration_in
from planbound.workspace.context import Context
from planbound.workspace.manifest import ChangeKind, Entry, EntryType, TreeChange

_LARGE = 1 << 20
"""Larger files are read alone, and only when they are asked for."""
_LARGEST = 64 << 20


class BranchGates(NamedTuple):
    """What a commit of a branch demands of what is merged with it."""

    commit: str
    rules: tuple[BranchGate, ...]
    terms: str
    """The digest of the configuration that contracts run under."""
    file: str | None
    """Which says so, seen from the workspace; None: no file of the commit does."""

    @property
    def cases(self) -> list[Case]:
        return gate_cases(self.rules)


class GateChanges(NamedTuple):
    """What a merge does to the gates of its branch."""

    unnamed: tuple[str, ...] = ()
    """What it changes, and its approval does not name."""
    added: tuple[str, ...] = ()
    """New files among the judges of gates, seen from the top of the repository."""


class GateReader:
    """Reads the gates of a branch out of its commits; no file is checked out for that."""

    def __init__(self, context: Context, repository: Repository) -> None:
        self._context = context
        self._repository = repository
        inside = git_place(context).inside
        self._prefix = "" if inside == "." else f"{inside}/"
        self._known: dict[str, BranchGates] = {}

    def at(self, commit: str, shown: str) -> BranchGates:
        """Return the gates of a commit; `shown` says whose it is.

        Where it has no configuration, nobody can change one by a merge: that of the main worktree
        counts.
        """
        if commit not in self._known:
            self._known[commit] = self._read(commit, shown)
        return self._known[commit]

    def _read(self, commit: str, shown: str) -> BranchGates:
        paths = {f"{self._prefix}{name}": name for name in NAMES}
        found = self._repository.contents(commit, list(paths))
        files = {paths[path]: data for path, data in found.items()}
        try:
            own = configuration_in(files)
        except ConfigurationError as error:
            raise Refused(
                f"the configuration of {shown} cannot be read: {error.message}",
                hint="mend it there, and commit it",
            ) from error
        said: Configuration = own or self._context.configuration
        file = None if own is None else next(name for name in NAMES if name in files)
        return BranchGates(commit, said.integrate.gates, configuration_digest(said), file)

    def is_behind(self, gates: BranchGates) -> bool:
        """Say whether the main worktree has other gates, which nobody has committed."""
        here = self._context.configuration
        return gates.file is not None and here.integrate.gates != gates.rules

    def named(self, state: TeamState) -> tuple[str, ...]:
        """Return what the approval names under which a plan was proved."""
        journal = self._context.existing_journal()
        found = plan_state(journal, state.plan, KINDS) if journal is not None else None
        given = found.approval.given if found is not None else None
        if given is None or state.proof is None or given.digest != state.proof.digest:
            return ()
        return given.gates

    def look(self, gates: BranchGates, tree: str, named: Sequence[str]) -> GateChanges:
        """Return what a merged tree changes of the gates; `named` is what it may."""
        if not gates.rules:
            return GateChanges()
        allowed = Scope(tuple(_globs(named)))
        changes = [
            _change(each, each.path.removeprefix(self._prefix))
            for each in self._repository.changes(gates.commit, tree)
            if each.path.startswith(self._prefix)
        ]
        judges = self._judges(gates)
        unnamed: list[str] = []
        added: list[str] = []
        for each in protect(changes, judges, allowed).tampered:
            is_test = each.what == "added" and each.path not in judges.names
            soft = is_test and runs_by_itself(each.path) is None
            (added if soft else unnamed).append(each.path)
        if any(change.path in NAMES for change in changes):
            unnamed += self._other_rules(gates, tree, allowed)
        found = sorted(f"{self._prefix}{path}" for path in added)
        return GateChanges(tuple(sorted({*unnamed})), tuple(found))

    def _other_rules(self, gates: BranchGates, tree: str, allowed: Scope) -> list[str]:
        """Return the configuration, where a merge changes the gates or how they run."""
        merged = self.at(tree, "the merged files")
        if (merged.rules, merged.terms) == (gates.rules, gates.terms):
            return []
        file = merged.file or gates.file or NAMES[0]
        return [] if covers(allowed, file) else [file]

    def _judges(self, gates: BranchGates) -> Judges:
        sizes = self._repository.files(gates.commit)
        size = len(self._prefix)
        files = {path[size:]: n for path, n in sizes.items() if path.startswith(self._prefix)}
        read = _Contents(lambda paths: self._contents(gates.commit, paths), files).read
        commands = [case.contract.text for case in gates.cases if isinstance(case.contract, Judged)]
        scripts = [read_script(text) for text in dict.fromkeys(commands)]
        globs = [parse_glob(text) for rule in gates.rules for text in rule.judges]
        return judge_paths(scripts, globs, list(files), read)

    def _contents(self, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
        found = self._repository.contents(commit, [f"{self._prefix}{path}" for path in paths])
        return {path.removeprefix(self._prefix): data for path, data in found.items()}


class _Contents:
    """The files of a commit: with one, those beside it are read that are called alike."""

    def __init__(
        self, fetch: Callable[[Sequence[str]], dict[str, bytes]], sizes: dict[str, int]
    ) -> None:
        self._fetch = fetch
        self._sizes = sizes
        self._known: dict[str, bytes] = {}
        self._beside: dict[tuple[str, str], list[str]] = {}
        for path, size in sizes.items():
            if size <= _LARGE:
                self._beside.setdefault(_kind(path), []).append(path)

    def read(self, path: str) -> bytes | None:
        size = self._sizes.get(path)
        if size is None or size > _LARGEST:
            return None
        if path not in self._known:
            beside = self._beside.pop(_kind(path), []) if size <= _LARGE else []
            self._known |= self._fetch(beside or [path])
        return self._known.get(path)


def _kind(path: str) -> tuple[str, str]:
    return dirname(path), splitext(path)[1]


def _globs(texts: Sequence[str]) -> list[Glob]:
    found = []
    for text in texts:
        try:
            found.append(parse_glob(text))
        except GlobError:  # taken for a secret when it was written: it names nothing
            continue
    return found


def _change(change: GitChange, path: str) -> TreeChange:
    before, after = _entry(change.before), _entry(change.after)
    kind = ChangeKind.CHANGED
    if before is None or after is None:
        kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED
    return TreeChange(path, kind, before, after)


def _entry(mode: int) -> Entry | None:
    if mode == 0:
        return None
    kinds = {stat.S_IFREG: EntryType.FILE, stat.S_IFLNK: EntryType.LINK}
    return Entry(kinds.get(stat.S_IFMT(mode), EntryType.OTHER), mode & 0o777, 0, b"")
