"""What a step changed, file by file, from the trees and contents that the vault keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from planbound.errors import PlanboundError
from planbound.journal.event import ExecutionComplete, GateApproved, TaskCompleted, TaskStarted
from planbound.journal.record import Record
from planbound.judging.restore import difference
from planbound.plan.glob import Glob
from planbound.plan.model import Plan
from planbound.state.run import lay_out
from planbound.workspace.contents import RealTree
from planbound.workspace.manifest import Entry, EntryType, Manifest, TreeChange, changes
from planbound.workspace.measured import kept_manifest

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault

_FILES = 20
"""So many files of a step are shown line by line; of all others the names."""
_NAMES = 200
_CHARACTERS = 8_000
"""So much of the difference in one file is shown."""
_IN_ALL = 1_200_000
"""So much of all differences of a report."""
_OWN = ".harness/"


class FileDifference(NamedTuple):
    """A file that is not as it was."""

    path: str
    how: str
    """`added`, `changed` or `removed`."""
    lines: str
    """The difference, or why there is none to show."""


class TreeDiff(NamedTuple):
    """What changed between two trees."""

    within: tuple[FileDifference, ...] = ()
    """What `touches` covers; everything, where nothing is declared."""
    outside: tuple[FileDifference, ...] = ()
    more: int = 0
    """How many more files changed."""
    unknown: str = ""
    """Why it is not known; empty where it is."""


class Ration:
    """How many characters of differences a report may still show, in all of its plans."""

    def __init__(self, left: int = _IN_ALL) -> None:
        self.left = left


class TreeHistory:
    """The trees of one plan's work, as far as they are kept."""

    def __init__(
        self, vault: Vault, root: str, clean: Callable[[str], str], ration: Ration
    ) -> None:
        self._vault = vault
        self._tree = RealTree(root)
        """Where the work was done: what nobody froze yet may still be there as it was."""
        self._clean = clean
        """Takes secrets out of a text: what the vault keeps is as it was."""
        self._known: dict[str, Manifest | None] = {}
        self._ration = ration

    def of_steps(
        self, plan: Plan, ids: Mapping[str, str], records: Sequence[Record]
    ) -> dict[str, TreeDiff]:
        """Return by label what each step that was completed changed."""
        before: dict[str, str] = {}
        after: dict[str, str] = {}
        for record in records:
            event, task = record.event, record.draft.task_id
            if task is None:
                continue
            if isinstance(event, TaskStarted) and event.manifest is not None:
                before.setdefault(task, event.manifest)
            elif isinstance(event, TaskCompleted) and event.manifest is not None:
                after[task] = event.manifest
        found = {}
        for slot in lay_out(plan, ids).slots:
            if slot.id in before and slot.id in after:
                found[slot.label] = self._between(before[slot.id], after[slot.id], slot.touches)
        return found

    def of_judges(self, records: Sequence[Record]) -> TreeDiff:
        """Return which judges are not as they were when the plan was approved."""
        judges: Mapping[str, str] = {}
        last = None
        for record in records:
            event = record.event
            if isinstance(event, GateApproved):
                judges, last = event.judges or {}, None
            elif isinstance(event, TaskCompleted | ExecutionComplete) and event.manifest:
                last = event.manifest
        if last is None or not judges:
            return TreeDiff()
        tree = self._manifest(last)
        if tree is None:
            return TreeDiff(unknown="the tree at the end is not kept any more")
        return TreeDiff(within=tuple(self._judges(judges, tree)))

    def _judges(self, judges: Mapping[str, str], tree: Manifest) -> Iterator[FileDifference]:
        for path, digest in judges.items():
            entry = tree.entry(path)
            if entry is not None and entry.content.hex() == digest:
                continue
            try:
                old = self._vault.content(bytes.fromhex(digest))
                new = None if entry is None else self._content(path, entry)
            except (PlanboundError, ValueError) as error:
                yield FileDifference(path, "changed", f"not to be read: {error}")
                continue
            how = "removed" if entry is None else "changed"
            if old is None or (entry is not None and new is None):
                yield FileDifference(path, how, "its content is not kept")
            else:
                yield FileDifference(path, how, self._shown(path, old, new))

    def _between(self, before: str, after: str, touches: Sequence[Glob] | None) -> TreeDiff:
        old, new = self._manifest(before), self._manifest(after)
        if old is None or new is None:
            return TreeDiff(unknown="the trees before and after are not kept any more")
        found = [each for each in changes(old, new) if _is_file(each)]
        within: list[FileDifference] = []
        outside: list[FileDifference] = []
        for number, change in enumerate(found[:_NAMES]):
            is_within = touches is None or any(glob.matches(change.path) for glob in touches)
            shown = self._change(change) if number < _FILES else ""
            said = FileDifference(
                change.path, change.kind.value, shown or "not shown: too many files"
            )
            (within if is_within else outside).append(said)
        return TreeDiff(tuple(within), tuple(outside), max(0, len(found) - _NAMES))

    def _content(self, path: str, entry: Entry) -> bytes | None:
        """Return what a file held: as it is kept, or as it is there still."""
        if entry.type is not EntryType.FILE:
            return None
        found = self._vault.content(entry.content)
        return self._tree.content(path, entry) if found is None else found

    def _change(self, change: TreeChange) -> str:
        try:
            before = self._content(change.path, change.before) if change.before else b""
            after = self._content(change.path, change.after) if change.after else b""
        except PlanboundError as error:
            return f"not to be read: {error.message}"
        if before is None or after is None:
            return "its content is not kept"
        if before == after:
            return "only its mode changed"
        return self._shown(
            change.path, before if change.before else None, after if change.after else None
        )

    def _shown(self, path: str, before: bytes | None, after: bytes | None) -> str:
        if self._ration.left <= 0:
            return "not shown: the report would be too large"
        lines = self._clean(difference(path, before, after))
        if len(lines) > _CHARACTERS:
            lines = f"{lines[:_CHARACTERS]}\n... {len(lines) - _CHARACTERS} more characters"
        self._ration.left -= len(lines)
        return lines

    def _manifest(self, key: str) -> Manifest | None:
        if key not in self._known:
            while len(self._known) > _AT_HAND:
                self._known.pop(next(iter(self._known)))
            try:
                self._known[key] = kept_manifest(self._vault, key)
            except PlanboundError:
                self._known[key] = None
        return self._known[key]


_AT_HAND = 4
"""A step begins where the one before ended: so many trees are asked for again."""


def _is_file(change: TreeChange) -> bool:
    entry = change.after or change.before
    is_file = entry is not None and entry.type is EntryType.FILE
    return is_file and not change.path.startswith(_OWN)
