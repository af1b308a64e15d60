"""The gates of a branch: what it demands of every merge, and by which judges.

Both are those of the commit that a merge begins with. So a plan cannot weaken what it is merged by,
and two plans cannot do it together: what a gate judges by stays as it is, unless an approval names
it. Tests that a plan adds count, too, and the gates have to pass without them as well.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import ConfigurationError, Refused
from planbound.git.place import git_place
from planbound.git.repository import GitChange, Repository
from planbound.judging.case import Case, Scope, covers, gate_cases
from planbound.judging.protection import protect, runs_by_itself
from planbound.plan.glob import Glob, parse_glob
from planbound.plan.model import Judged
from planbound.script import Script, read_script
from planbound.state.approval import KINDS
from planbound.state.place import TeamState
from planbound.state.plan import plan_state
from planbound.team.gate_judges import GateSettings, GateTree, readable_globs
from planbound.workspace.configuration import BranchGate, Configuration
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.configuration_file import NAMES, configuration_in
from planbound.workspace.context import Context
from planbound.workspace.manifest import ChangeKind, Entry, EntryType, TreeChange


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
        found = self._repository.contents_behind_links(commit, list(paths))
        files = {paths[path]: data for path, data in found.items() if data is not None}
        away = [paths[path] for path, data in found.items() if data is None]
        if away:
            raise Refused(
                f"the configuration of {shown} cannot be read: `{away[0]}` is a link to no file"
                " of the repository",
                hint="put the file itself there, and commit it",
            )
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
        allowed = Scope(tuple(readable_globs(named)))
        changes = [
            _change(each, each.path.removeprefix(self._prefix))
            for each in self._repository.changes(gates.commit, tree)
            if each.path.startswith(self._prefix)
        ]
        tree_then = self._tree(gates.commit)
        scripts = [script for script, _ in _contracts(gates)]
        judges = tree_then.judges(
            scripts, [glob for _, globs in _contracts(gates) for glob in globs]
        )
        settings = GateSettings(
            *(tree_then.paths, judges, tree_then.nested(scripts)),
            lambda path: b"".join(
                text
                for commit in (gates.commit, tree)
                for text in self._contents(commit, [path]).values()
            ),
        )
        # What lies behind a link is looked for in the commit that a merge begins with.
        hard = [each.path for each in changes if _is_link(each) or settings.takes_effect(each)]
        unnamed = [path for path in hard if not covers(allowed, path)]
        added: list[str] = []
        for each in protect(changes, judges, allowed).tampered:
            is_test = each.what == "added" and each.path not in judges.names
            soft = is_test and runs_by_itself(each.path) is None
            (added if soft else unnamed).append(each.path)
        if tree_then.links or any(change.path in NAMES for change in changes):
            unnamed += self._other_rules(gates, tree, allowed)
        found = sorted(f"{self._prefix}{path}" for path in {*added}.difference(unnamed))
        return GateChanges(tuple(sorted({*unnamed})), tuple(found))

    def _other_rules(self, gates: BranchGates, tree: str, allowed: Scope) -> list[str]:
        """Return the configuration, where a merge changes the gates or how they run."""
        merged = self.at(tree, "the merged files")
        if (merged.rules, merged.terms) == (gates.rules, gates.terms):
            return []
        file = merged.file or gates.file or NAMES[0]
        return [] if covers(allowed, file) else [file]

    def _tree(self, commit: str) -> GateTree:
        listed = self._repository.files(commit)
        size = len(self._prefix)
        inside = {
            path[size:]: each for path, each in listed.items() if path.startswith(self._prefix)
        }
        links = [path for path, each in inside.items() if each.is_link]
        texts = self._contents(commit, links) if links else {}
        return GateTree(
            {path: each.size for path, each in inside.items() if not each.is_link},
            {path: os.fsdecode(text) for path, text in texts.items()},
            lambda paths: self._contents(commit, paths),
        )

    def seen_from_workspace(self, paths: Sequence[str]) -> list[str]:
        """Return paths as an approval names them, from those seen from the top."""
        return [path.removeprefix(self._prefix) for path in paths]

    def without_judges(self, gates: BranchGates) -> list[int]:
        """Return the numbers of the gates of which nobody can tell by which files they judge."""
        if not gates.rules:
            return []
        tree = self._tree(gates.commit)
        found = (tree.judges([script], globs) for script, globs in _contracts(gates))
        return [
            number
            for number, judges in enumerate(found, 1)
            if not (judges.files or judges.directories or judges.names or judges.patterns)
        ]

    def _contents(self, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
        found = self._repository.contents(commit, [f"{self._prefix}{path}" for path in paths])
        return {path.removeprefix(self._prefix): data for path, data in found.items()}


def _contracts(gates: BranchGates) -> list[tuple[Script, list[Glob]]]:
    """Return each gate's script, with the patterns of judges that its rule names."""
    texts = [case.contract.text for case in gates.cases if isinstance(case.contract, Judged)]
    return [
        (read_script(text), [parse_glob(each) for each in rule.judges])
        for text, rule in zip(texts, gates.rules, strict=True)
    ]


def _change(change: GitChange, path: str) -> TreeChange:
    before, after = _entry(change.before), _entry(change.after)
    kind = ChangeKind.CHANGED
    if before is None or after is None:
        kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED
    return TreeChange(path, kind, before, after)


def _is_link(change: TreeChange) -> bool:
    """Say whether something is, or was, a symbolic link or a submodule."""
    kinds = {each.type for each in (change.before, change.after) if each is not None}
    return not kinds <= {EntryType.FILE}


def _entry(mode: int) -> Entry | None:
    if mode == 0:
        return None
    kinds = {stat.S_IFREG: EntryType.FILE, stat.S_IFLNK: EntryType.LINK}
    return Entry(kinds.get(stat.S_IFMT(mode), EntryType.OTHER), mode & 0o777, 0, b"")
