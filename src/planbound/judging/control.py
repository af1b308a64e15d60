"""A contract on a tree with other files in it: what it says where the work is known to be wrong."""

from __future__ import annotations

import hashlib
import posixpath
from collections.abc import Container, Iterator, Sequence
from functools import cached_property

from msgspec.structs import replace

from planbound.cells.cell import Laid, Outcome
from planbound.journal.event import VerdictKind
from planbound.journal.fields import ControlResult
from planbound.judging.case import Case, Scope, covers, judge_scope
from planbound.judging.context import JudgingContext
from planbound.judging.contract import Setting
from planbound.judging.judge import judge, observe
from planbound.judging.reference import judges_of, tree_as_it_is
from planbound.judging.verdict import ControlRun, Verdict
from planbound.plan.model import Baseline, Judged, Plan, Rejected, named_controls
from planbound.plan.patch import PatchedFile, PatchError, apply_patch, read_patch
from planbound.source import lazy_pattern
from planbound.state.step import Look
from planbound.workspace.contents import Tree
from planbound.workspace.manifest import Entry, EntryType, Manifest, ScanRules, manifest_of

# -- a tree that differs from the workspace in some files, and lies nowhere but in cells ----------


class ChangedTree:
    """A tree with some other files: the workspace itself stays as it is."""

    def __init__(self, tree: Tree, lay: Sequence[Laid], remove: Sequence[str]) -> None:
        self.root = tree.root
        self.put_back = tree.put_back
        self._tree = tree
        self._laid = {_key(item.path): item for item in lay}
        self._removed = frozenset(map(_key, remove))

    def manifest(self, rules: ScanRules) -> Manifest:
        """Return what is there now, with the other files in it."""
        found = self._tree.manifest(rules)
        entries = {
            path: entry for path, entry in found.entries.items() if path not in self._removed
        }
        entries |= {path: _entry(item) for path, item in self._laid.items()}
        return manifest_of(
            entries,
            truncated=found.truncated,
            tagged=found.tagged,
            left_out=found.left_out,
            held=found.held,
        )

    def contents(
        self, manifest: Manifest, wanted: Container[bytes] | None = None
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield digest and content of files, the other ones first."""
        for item in self._laid.values():
            digest = _digest(item)
            if wanted is None or digest in wanted:
                yield digest, item.content
        yield from self._tree.contents(manifest, wanted)

    def content(self, path: str, entry: Entry) -> bytes | None:
        """Return the content of a file that is as the entry says."""
        item = self._laid.get(_key(path))
        if item is None:
            return self._tree.content(path, entry)
        return item.content if entry.content == _digest(item) else None


def with_files(
    judging: JudgingContext, lay: Sequence[Laid], remove: Sequence[str] = ()
) -> JudgingContext:
    """Return the parts for judging a tree with other files in it: `observe` it, or `judge` it.

    Manifests, what a contract is found to run, and its cell show these files. Nothing is written.
    """
    gone = tuple(path for path in remove if path not in {item.path for item in lay})
    return judging._replace(tree=ChangedTree(judging.tree, lay, gone), lay=tuple(lay), remove=gone)


def _key(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _digest(item: Laid) -> bytes:
    return hashlib.sha256(item.content).digest()


def _entry(item: Laid) -> Entry:
    return Entry(EntryType.FILE, item.mode, len(item.content), _digest(item))


# -- controls: changes that a contract has to fail with --------------------------------------------


MAX_PATCH = 1 << 20
"""So many bytes a diff has at most."""
_RED = frozenset({VerdictKind.FAIL, VerdictKind.VACUOUS})
# What differs from run to run and says nothing: times, addresses, temporary folders, rulers.
_PASSING = lazy_pattern(
    r"\d+(?:\.\d+)?\s*(?:ms|s|sec|secs|seconds?)\b|0x[0-9a-fA-F]+|/tmp/[^\s'\"]+|[=_-]{3,}"
)


def observe_controls(
    judging: JudgingContext, plan: Plan, cases: Sequence[Case]
) -> Iterator[Verdict]:
    """Yield what every contract says now, and with each change that it has to fail with."""
    by_name = {(case.subject, case.number): case for case in cases}
    for verdict in observe(judging, cases):
        yield with_controls(judging, plan, by_name[verdict.subject, verdict.number], verdict)


def with_controls(judging: JudgingContext, plan: Plan, case: Case, verdict: Verdict) -> Verdict:
    """Return a look at a contract with what it says of the changes that it has to reject."""
    seen = Look(verdict.kind).is_seen and isinstance(case.contract, Judged)
    if not case.rejects or not seen:
        return verdict
    controls = _Controls(judging, judge_scope(plan), case, verdict)
    return verdict._replace(
        controls=tuple(controls.run(name, each) for name, each in named_controls(case.rejects))
    )


class _DoesNotApplyError(PatchError):
    """The files are not what a diff speaks of."""


class _Controls:
    """The controls of one contract."""

    def __init__(self, judging: JudgingContext, scope: Scope, case: Case, without: Verdict) -> None:
        self.judging = judging
        self.scope = scope
        self.case = case._replace(evidence=None, baseline=Baseline.ANY)
        self.without = without
        self.manifest = judging.tree.manifest(judging.rules)

    def run(self, name: str, control: Rejected) -> ControlRun:
        """Judge the contract on the tree with a change."""
        digest = ""
        try:
            data = self._diff(control)
            digest = hashlib.sha256(data).hexdigest()
            changed = self._changed(data)
        except PatchError as error:
            result, reason = ControlResult.UNKNOWN, error.reason
            is_late = isinstance(error, _DoesNotApplyError)
            if is_late and self.without.kind is VerdictKind.PASS:
                # The work may be done: what is approved once more shows nothing of it.
                result, reason = ControlResult.SAME, f"the contract is green now, and {reason}"
            return ControlRun(name, digest, result, reason, hint=error.hint)
        (found,) = observe(changed, [self.case])
        result, reason = self._result(found)
        if result is ControlResult.UNNOTICED and (told := self._told(changed)) is not None:
            # The command passes, and no work that is judged would: the harness sees through it.
            found, result, reason = told, ControlResult.NOTICED, told.reason
        hint = None
        if result is ControlResult.UNKNOWN:
            hint = "a control has to let the contract run to its end"
        return ControlRun(name, digest, result, reason, found.kind, found.outcome, hint)

    def _diff(self, control: Rejected) -> bytes:
        if control.path is None:
            return control.text.encode("utf-8", "surrogateescape")
        data = self._read(posixpath.normpath(control.path))
        if data is None:
            raise PatchError("there is no such file in the tree")
        return data

    def _read(self, path: str) -> bytes | None:
        entry = self.manifest.entry(path)
        return self.judging.tree.content(path, entry) if entry is not None else None

    def _changed(self, data: bytes) -> JudgingContext:
        """Return the parts for judging the tree with a diff applied."""
        if len(data) > MAX_PATCH:
            raise PatchError(f"it has more than {MAX_PATCH >> 20} MB")
        patches = read_patch(data.decode("utf-8", "surrogateescape"))
        try:
            files = apply_patch(patches, self._read)
        except PatchError as error:
            raise _DoesNotApplyError(error.reason, error.line, error.hint) from error
        for each in files:
            self._refuse(each)
        lay = [
            Laid(each.path, each.content, self._mode(each))
            for each in files
            if each.content is not None
        ]
        return with_files(self.judging, lay, [each.path for each in files if each.content is None])

    def _refuse(self, file: PatchedFile) -> None:
        names = file.path.split("/")
        for count in range(1, len(names) + 1):
            path = "/".join(names[:count])
            entry = self.manifest.entries.get(_key(path))
            wanted = EntryType.FILE if count == len(names) else EntryType.DIRECTORY
            if entry is not None and entry.type is not wanted:
                raise PatchError(f"`{path}` is a link, or not compared file by file")
        if file.path in self._judges and not covers(self.scope, file.path):
            raise PatchError(
                f"it changes `{file.path}`, which judges",
                hint="let a control change what is judged: the contract has to notice",
            )

    @cached_property
    def _judges(self) -> frozenset[str]:
        return frozenset(judges_of([self.case], self.manifest, self._read).files)

    def _mode(self, file: PatchedFile) -> int:
        if file.executable is not None:
            return 0o755 if file.executable else 0o644
        entry = self.manifest.entry(file.path)
        return 0o644 if entry is None else entry.mode

    def _result(self, found: Verdict) -> tuple[ControlResult, str]:
        if found.kind is VerdictKind.PASS:
            return ControlResult.UNNOTICED, "the contract passes with it"
        if found.kind not in _RED:
            return ControlResult.UNKNOWN, f"{found.kind.value} with it: {found.reason}"
        if found.kind is self.without.kind and _said(found.outcome) == _said(self.without.outcome):
            return ControlResult.SAME, f"{found.reason}; the contract says the same without it"
        return ControlResult.NOTICED, found.reason

    def _told(self, changed: JudgingContext) -> Verdict | None:
        """Return why work like this is refused although its contract passes, if it is."""
        rules = changed.configuration.judging
        if not rules.canary:
            return None
        configuration = replace(changed.configuration, judging=replace(rules, evidence=None))
        changed = changed._replace(configuration=configuration)
        setting = Setting(frozen=tree_as_it_is(changed), scope=Scope(None))
        (found,) = judge(changed, [self.case], setting)
        return found if found.kind is VerdictKind.TAMPERED and not found.tampered else None


def _said(outcome: Outcome | None) -> tuple[int | None, str]:
    """Return what a run said, without what differs from run to run."""
    if outcome is None:
        return None, ""
    text = f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
    return outcome.exit_code, _PASSING.sub("", text)
