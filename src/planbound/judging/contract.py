"""One contract on one tree: what it judges by, what was changed, and what its cell runs."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import cached_property
from posixpath import basename
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import Cell, Laid, Limits, Outcome, Request, Stage
from planbound.git.directory import foreign_files
from planbound.git.repository import ignored_by_files
from planbound.journal.event import VerdictKind
from planbound.judging.canary import canary_for, reporter_for, runner_named
from planbound.judging.case import Case, Scope, is_cache_file
from planbound.judging.context import JudgingContext, laid_for
from planbound.judging.corroborate import (
    are_named,
    as_laid,
)
from planbound.judging.judges import Judges
from planbound.judging.meaning import is_test_file, meaning, needles
from planbound.judging.protection import Protection, are_summaries, new_caches, protect
from planbound.judging.reference import Frozen, judges_of, read_frozen
from planbound.plan.check import CheckKind, read_table
from planbound.plan.digest import contract_digest
from planbound.plan.glob import GlobError, parse_glob
from planbound.plan.model import CaseTable, ExitCodeIs, Judged
from planbound.script import Script, read_script
from planbound.script.runners.runner import Canary, Summary
from planbound.state.step import Before
from planbound.workspace.held_out import files_of_cases
from planbound.workspace.home import installed_in, narrow
from planbound.workspace.manifest import Manifest, changes, is_housekeeping, path_text
from planbound.workspace.measured import progress_files

if TYPE_CHECKING:
    from planbound.judging.canary import Reporter
    from planbound.judging.watched import WalkedContract


# -- what a contract's cell is asked to run, and what it sees ------------------------------------


BASH = ("/bin/bash", "--noprofile", "--norc", "-e")
_MAX_ARGUMENT = 100_000
_GIT = ".git"


def contract_request(
    judging: JudgingContext,
    case: Case,
    command: Judged,
    *,
    before: Manifest,
    lay: tuple[Laid, ...],
    remove: tuple[str, ...],
) -> Request:
    """Return the request for one contract on one tree."""
    contracts = judging.configuration.contracts
    words: tuple[str, ...] = (*BASH, "-c", command.text)
    if len(command.text) > _MAX_ARGUMENT:
        name = f".planbound-contract-{os.urandom(6).hex()}"
        lay = (*lay, Laid(name, command.text.encode("utf-8", "surrogateescape")))
        words = (*BASH, name)
    return Request(
        command=words,
        workspace=judging.tree.root,
        environment=judging.environment,
        limits=Limits(
            seconds=contracts.seconds_for(case.seconds),
            memory=contracts.memory,
            processes=contracts.processes,
            file_size=contracts.file_size,
            temporary=contracts.temporary,
        ),
        network=contracts.network,
        lay=lay,
        remove=(*remove, *_not_in_manifest(judging.tree.root, before)),
        masked=(*judging.masked, *files_of_cases([judge.path for judge in judging.held_out])),
        exposed=(*judging.exposed, *_of_programs(judging, command)),
        view=judging.view,
        needles=needles([item.value for item in command.expectations]),
    )


def started_text(contract: Judged) -> str:
    """Return what a contract has the shell start: of a table what it says at its top."""
    if not isinstance(contract, CaseTable):
        return contract.text
    table = read_table(contract.text)
    return "python3" if table.kind is CheckKind.FUNCTION else table.start


def _not_in_manifest(root: str, manifest: Manifest) -> tuple[str, ...]:
    """Return what nobody compares with what was there before: it is not there for a contract.

    Caches, of which a contract makes its own, what is in git's folder without being git's, and
    the files in which people read what happens: the harness adds to them while it judges.
    """
    found = {path_text(path) for path in (*manifest.left_out, *manifest.named(_is_cache))}
    found.update(progress_files(root))
    folder = os.path.join(root, _GIT)
    if os.path.isdir(folder) and not os.path.islink(folder):
        top = f"{_GIT}/".encode()
        inside = manifest.named(_is_in_git)
        known = {path_text(path[len(top) :]) for path in inside if not is_housekeeping(path)}
        found.update(f"{_GIT}/{name}" for name in foreign_files(folder, known))
    return tuple(sorted(found))


def _is_cache(path: bytes) -> bool:
    return is_cache_file(path.rpartition(b"/")[2])


def _is_in_git(path: bytes) -> bool:
    return path.startswith(b".git/")


def _of_programs(judging: JudgingContext, command: Judged) -> Iterator[str]:
    """Yield what a contract names by its path, but not all of a home for one program in it."""
    yield from narrow(
        _programs(read_script(started_text(command))), (judging.tree.root, judging.view.home or "")
    )


def _programs(script: Script) -> Iterator[str]:
    """Yield programs that the contract calls by their absolute path, and what they belong to."""
    for call in script.calls:
        for word in (call.word, *call.wrappers):
            if word is not None and word.value and word.value.startswith("/"):
                folder = os.path.dirname(word.value)
                is_prefix = os.path.basename(folder) == "bin"
                yield from installed_in(os.path.dirname(folder)) if is_prefix else [folder]
                yield word.value


# -- one contract on one tree --------------------------------------------------------------------


class Setting(NamedTuple):
    """What is the same for all contracts that are judged together."""

    frozen: Frozen | None
    scope: Scope
    plan_changed: str | None = None
    """Why nothing can pass: the plan or the configuration is not the one that was frozen."""
    earlier: Mapping[tuple[str, str], Collection[VerdictKind]] = MappingProxyType({})
    """The verdicts that a contract had on a tree before, by the digests of both."""
    before: Callable[[Case], Before] | None = None
    """What is known of a contract before the work; None: what the frozen tree remembers."""
    tests: Mapping[str, str | None] = MappingProxyType({})
    """Where the tests of a contract's baseline are kept, by its digest."""
    observing: bool = False
    """Whether this is the baseline itself: there is nothing to compare with."""
    adds_tests: bool = True
    """Whether failing tests are added when the work is judged."""


class JudgedContract:
    """One contract on one tree."""

    def __init__(
        self,
        judging: JudgingContext,
        case: Case,
        command: Judged,
        setting: Setting,
        manifest: Manifest,
        stage: Stage,
    ) -> None:
        self.judging = judging
        self.case = case
        self.command = command
        self.setting = setting
        self.manifest = manifest
        self.stage = stage
        self.expectations = [item.value for item in command.expectations]
        self.script = read_script(started_text(command))
        self.digest = contract_digest(command)
        # What is held out from a table's product is read by the harness only.
        self.held_out = (
            () if isinstance(command, CaseTable) else laid_for(self.script, judging.held_out)
        )
        self.by_name = are_named(self.expectations)
        self.judges = self._judges()
        self.protection = self._protection()
        self.foreseen: WalkedContract | None = None
        """The contract as it was walked for what is expected of it; `watched.py` keeps it here."""

    @cached_property
    def scope(self) -> Scope:
        """What the work may change; of a look before it, what its step may."""
        if not self.setting.observing or not self.case.touches:
            return self.setting.scope
        try:
            return Scope(tuple(map(parse_glob, self.case.touches)))
        except GlobError:  # the verifier says so
            return self.setting.scope

    @cached_property
    def request(self) -> Request:
        """Return what the cell is asked to run."""
        restored = [
            Laid(path, content, entry.mode)
            for path, entry in self.protection.restored
            if (content := self.read(path)) is not None
        ]
        return contract_request(
            self.judging,
            self.case,
            self.command,
            before=self.manifest,
            lay=(*self.judging.lay, *restored, *self.held_out),
            remove=(*self.judging.remove, *self.protection.removed),
        )._replace(watched=tuple(sorted(self.judges.files - set(self.protection.own))))

    def _judges(self) -> Judges:
        frozen = self.setting.frozen
        if frozen is None or self.manifest.truncated:
            return Judges(frozenset(), frozenset(), frozenset())
        return judges_of([self.case], frozen.manifest, self.read)

    def _protection(self) -> Protection:
        frozen = self.setting.frozen
        if frozen is None or self.manifest.truncated:
            return Protection()
        named: dict[str, tuple[str, ...] | None] = {}
        for change in (found := changes(frozen.manifest, self.manifest)):
            if are_summaries(change) and change.before is not None:
                summaries, root = self.judging.vault.summaries, self.judging.tree.root
                files = summaries.changed(root, change.path, change.before.content, self.manifest)
                named[change.path] = files
        # What only looks different, because somebody else links to it, is no change.
        real = [change for change in found if named.get(change.path) != ()]
        caches = new_caches(frozen.manifest, self.manifest)
        every = (*real, *caches)
        first = protect(every, self.judges, self.setting.scope, named)
        if not first.outside or any(
            basename(change.path) == ".gitignore" for change in every
        ):  # by rules that came with the work nothing is left out
            return first
        ignored = ignored_by_files(self.judging.tree.root)
        return protect(every, self.judges, self.setting.scope, named, ignored)

    def read(self, path: str) -> bytes | None:
        """Return a file as it was frozen; as it is now where nothing was."""
        frozen = self.setting.frozen
        if frozen is None:
            return self.read_now(path)
        content = read_frozen(frozen.manifest, self.judging.vault, path)
        entry = frozen.manifest.entry(path)
        # What is too large for the vault may still be as it was.
        return self.judging.tree.content(path, entry) if content is None and entry else content

    def read_now(self, path: str) -> bytes | None:
        entry = self.manifest.entry(path)
        return self.judging.tree.content(path, entry) if entry is not None else None

    @cached_property
    def laid(self) -> tuple[Sequence[str], Callable[[str], bytes | None]]:
        """The files as the command sees them: with what is laid over the tree."""
        return as_laid(self.request, self.manifest.files(), self.read_now)

    def let_go(self) -> None:
        """Forget what leads back here: nobody collects what holds itself, and it holds a tree."""
        vars(self).pop("laid", None)

    def failing_test(
        self, runner: str, nonce: str, said: str | None, *, anywhere: bool
    ) -> Canary | None:
        """Return a failing test to add to a run; see `canary_for`."""
        paths, read = self.laid
        taken = self.is_taken
        return canary_for(
            runner, self.script, paths, read, nonce, taken, anywhere=anywhere, said=said
        )

    def is_taken(self, path: str) -> bool:
        return path.encode("utf-8", "surrogateescape") in self.manifest.entries

    @cached_property
    def frozen_judges(self) -> dict[str, bytes]:
        """The judges as they were frozen."""
        wanted = {path: self.read(path) for path in self.judges.files}
        return {path: content for path, content in wanted.items() if content is not None}

    @cached_property
    def left_judges(self) -> dict[str, bytes]:
        """The judges, with the tests that the step may change as it left them.

        What says which tests run stays as it was frozen.
        """
        own = [path for path in self.protection.own if is_test_file(path)]
        now = {path: content for path in own if (content := self.read_now(path)) is not None}
        kept = {path: data for path, data in self.frozen_judges.items() if path not in own}
        return kept | now

    @property
    def required_judges(self) -> dict[str, bytes]:
        """The judges whose tests must pass: those that are held out, too."""
        # Of what nobody could follow it is not known whether it is run.
        known = {
            path: data
            for path, data in self.left_judges.items()
            if path not in self.judges.unfollowed
        }
        return known | {item.path: item.content for item in self.held_out}

    def baseline(self) -> VerdictKind | None:
        frozen = self.setting.frozen
        return frozen.verdicts.get(self.digest) if frozen else None

    def looked_here(self) -> bool:
        """Say whether the contract was looked at before on this very tree."""
        if self.setting.before is not None:
            # A person may have answered since: then the step is compared with a later tree.
            look = self.setting.before(self.case).attempt
            return look is not None and look.tree == self.manifest.digest
        frozen = self.setting.frozen
        return frozen is not None and frozen.manifest.digest == self.manifest.digest

    @cached_property
    def failed_here(self) -> bool:
        """Whether the contract failed before on this very tree."""
        earlier = self.setting.earlier.get((self.digest, self.manifest.digest), ())
        known = self.baseline() if self.looked_here() else None
        return VerdictKind.FAIL in (*earlier, known)

    @cached_property
    def wants_failures(self) -> bool:
        """Whether it passes because tests fail."""
        from planbound.judging.reproduction import wants_failures  # noqa: PLC0415 - start-up: it knows all runners

        if isinstance(self.command, CaseTable):
            return False
        return wants_failures(self.script, self.expectations)

    def passes(self, outcome: Outcome) -> bool:
        """Say whether a run ends as the contract wants it to end, whatever it printed."""
        codes = [item for item in self.expectations if isinstance(item, ExitCodeIs)]
        return meaning(outcome, codes, None).kind is VerdictKind.PASS

    def in_cell(self, cell: Cell) -> JudgedContract:
        """Return the same contract, to be run in other cells."""
        other = copy.copy(self)
        other.judging = self.judging._replace(cell=cell)
        return other

    def runner(self, summary: Summary | None) -> str | None:
        if isinstance(self.command, CaseTable):
            return None  # the harness itself counts, and compares
        if summary is not None:
            return summary.runner
        return runner_named(self.script, self.manifest.files(), self.read_now)

    @cached_property
    def reporter(self) -> Reporter | None:
        """What makes the runner name its tests."""
        runner, paths, nonce = self.runner(None), self.manifest.files(), os.urandom(8).hex()
        if runner is None:
            return None
        return reporter_for(runner, self.script, paths, self.read_now, nonce, self.is_taken)
