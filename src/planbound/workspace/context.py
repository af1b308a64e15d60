"""The one context: the files, configuration, state home and journal of a workspace."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from planbound.disk.files import Files, PlanFile
from planbound.errors import BindingError, PlanboundError, UsageError
from planbound.plan.slug import file_name, progress_name
from planbound.workspace.root import find_root, plans_root
from planbound.workspace.tree import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from planbound.cells.cell import Stage
    from planbound.journal.anchored import AnchoredJournal, AnchorFile
    from planbound.journal.leases import SqlLeases
    from planbound.journal.postgres import PostgresJournal
    from planbound.journal.record import Journal, Record
    from planbound.journal.redact import Redactor
    from planbound.journal.repository import RepositoryName
    from planbound.journal.sqlite import SqliteJournal
    from planbound.plan.model import Plan
    from planbound.state.append import Recorder
    from planbound.workspace.configuration import Configuration
    from planbound.workspace.progress import ProgressLines
    from planbound.workspace.state_home import StateHome
    from planbound.workspace.surroundings import Surroundings


USED: dict[str, Context] = {}
"""The state homes whose journal this process looked into."""


class Context:
    """What commands need of one workspace, each part made when it is first asked for."""

    def __init__(self, *, workspace: str | None = None, state: str | None = None) -> None:
        self.given_state = state
        self.on_stage: Callable[[Stage | None], None] = lambda _stage: None
        """Is told which contract is judged now, for whoever waits for it."""
        self.fresh = False
        """Whether every contract is run, also on what it was run on before."""
        self._opened: list[PostgresJournal | SqliteJournal] = []
        self._first: PostgresJournal | None = None
        try:
            self.current = os.getcwd()
        except OSError as error:
            raise UsageError(f"the current directory is not there: {error.strerror}") from error
        if workspace is not None and not os.path.isdir(workspace):
            raise UsageError(f"`{workspace}` is not a directory")
        # A workspace that is named is taken as it is; without a name the nearest one is found.
        self.root = (
            os.path.realpath(workspace) if workspace is not None else find_root(self.current)
        )

    def at(self, workspace: str) -> Context:
        """Return the context of another worktree of the same project."""
        there = Context(workspace=workspace, state=self.given_state)
        there.on_stage = self.on_stage
        there.fresh = self.fresh
        return there

    @cached_property
    def real_files(self) -> Files:
        """Files, written under locks that stand outside the workspace."""
        try:
            return Files(self.state.locks)
        except BindingError:
            # A worktree whose main one is lost: files can still be looked at.
            return Files()

    @cached_property
    def files(self) -> Files:
        """Reading and writing whole files."""
        return self.real_files

    @cached_property
    def reader(self) -> Files:
        """Reading whole files: no lock is needed, and the state home is not looked for."""
        return Files()

    @cached_property
    def tree(self) -> Workspace:
        """The plans of the workspace."""
        return Workspace(self.root, current=self.current)

    @cached_property
    def configuration(self) -> Configuration:
        """What the workspace says about itself."""
        return self.configuration_now()

    def configuration_now(self) -> Configuration:
        """Return what the workspace says about itself at this moment: somebody may live long."""
        from planbound.workspace.configuration_file import (  # noqa: PLC0415 - not every command
            load_configuration,
        )

        try:
            # What an agent does in a worktree of its own must not change its rules.
            return load_configuration(plans_root(self.root))
        except BindingError:
            return load_configuration(self.root)

    def surroundings(self, *, profile: str | None = None) -> Surroundings:
        """What verification asks about; a profile may be given for this once."""
        from planbound.cells.syntax import BashSyntax  # noqa: PLC0415 - not every command
        from planbound.workspace.surroundings import Surroundings  # noqa: PLC0415 - the same

        configuration = self.configuration
        if profile is not None:
            from msgspec.structs import replace  # noqa: PLC0415 - start-up

            configuration = replace(configuration, profile=profile)
        return Surroundings(
            root=self.root,
            harness=self._readable_harness(),
            configuration=configuration,
            syntax=BashSyntax(),
            plans=self._open_dependencies,
        )

    def _open_dependencies(self, wanted: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        from planbound.workspace.overview import open_dependencies  # noqa: PLC0415 - seldom

        return open_dependencies(self.tree, self.reader, wanted)

    def _readable_harness(self) -> str:
        try:
            return self.tree.harness
        except BindingError:
            return os.path.join(self.root, ".harness")

    @cached_property
    def state(self) -> StateHome:
        """Where the harness keeps its own things."""
        from planbound.workspace.state_home import find_state_home  # noqa: PLC0415 - start-up

        root = plans_root(self.root)
        return find_state_home(root, given=self.given_state, environment=os.environ)

    def holds(self, path: str) -> bool:
        """Say whether a file is one of the plans of this workspace."""
        if path == "-":  # standard input, wherever somebody stands
            return False
        harness = os.path.realpath(self._readable_harness())
        return os.path.dirname(os.path.realpath(path)) == harness

    def demand_own(self, file: PlanFile) -> None:
        """Raise where a file is none of the plans that this workspace approves and runs."""
        if not self.holds(file.path):
            from planbound.workspace.shelves import refuse_outside  # noqa: PLC0415 - seldom

            refuse_outside(file, self._readable_harness())

    def see(self, file: PlanFile, plan: Plan, *, only_look: bool = False) -> None:
        """Note a plan that was written by hand when it is first seen; raises JournalProblem.

        Who only looks makes no journal, and leaves alone what says more of itself than a draft.
        """
        if not self.holds(file.path) or not plan.source.text.strip():
            return
        if only_look and (plan.status.is_past_gate or self.existing_journal() is None):
            return
        self.recorder().first_seen(file.slug, plan, path=self.relative(file.path))

    def relative(self, path: str) -> str:
        """Return a path as it is seen from the root of the project."""
        return os.path.relpath(os.path.realpath(path), os.path.realpath(plans_root(self.root)))

    def now(self) -> str:
        """Return the time, in UTC, as the journal writes it."""
        from datetime import UTC, datetime  # noqa: PLC0415 - start-up

        return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    @cached_property
    def repository(self) -> RepositoryName:
        """By what a database that serves many repositories knows this one."""
        from planbound.journal.repository import RepositoryName  # noqa: PLC0415 - not on SQLite

        project = self.state.project
        return RepositoryName(self.configuration.repository or project, project)

    @cached_property
    def queue_name(self) -> str:
        """By what the queue knows this repository, on all machines that share its journal.

        It is one part of longer names that `/` divides, so it holds none; a name holds no `:`.
        """
        url = os.environ.get("PLANBOUND_DATABASE_URL")
        if not url:
            return self.state.project
        journal = self._postgres(url)
        try:
            return journal.name.replace("/", ":")
        finally:
            journal.close()

    def anchors(self) -> AnchorFile:
        """Return where the head of the journal is noted."""
        from planbound.journal.anchored import AnchorFile  # noqa: PLC0415 - start-up

        return AnchorFile(self.state.anchor)

    def guards_stand(self) -> bool | None:
        """Say whether what keeps the journal append-only is as we made it."""
        if os.environ.get("PLANBOUND_DATABASE_URL"):
            return None
        from planbound.journal.sqlite_file import guards_stand  # noqa: PLC0415 - start-up

        return guards_stand(self.state.journal)

    def journal(self, *, anchor_every: float = 0.0) -> AnchoredJournal:
        """Return the journal, made where there is none.

        Who appends often may let its head be noted less often, and settles that at the end.
        """
        from planbound.journal.anchored import AnchoredJournal  # noqa: PLC0415 - start-up

        journal: Journal = self._bare_journal()
        failpoint = os.environ.get("PLANBOUND_FAILPOINT")
        if failpoint:
            from planbound.journal.failpoints import (  # noqa: PLC0415 - only in tests
                FailingJournal,
                parse_failpoint,
            )

            journal = FailingJournal(journal, parse_failpoint(failpoint))
        anchored = AnchoredJournal(
            journal, self.anchors(), project=self.state.project, every=anchor_every
        )
        anchored.added = self.show_progress
        return anchored

    def existing_journal(self) -> PostgresJournal | SqliteJournal | None:
        """Return the journal to read; None where nothing was ever written."""
        if not os.environ.get("PLANBOUND_DATABASE_URL") and not os.path.exists(self.state.journal):
            return None
        return self._bare_journal()

    def journals(self) -> list[Journal]:
        """Return every journal that this state home belongs to, and that is at hand."""
        found: list[Journal] = []
        if os.path.exists(self.state.journal):
            found.append(self._sqlite())
        if os.environ.get("PLANBOUND_DATABASE_URL"):
            found.append(self._bare_journal())
        return found

    def leases(self) -> SqlLeases:
        """Return the leases of the journal's plans, by a connection of their own."""
        return self._bare_journal().leases()

    def holder_of(self, slug: str) -> str | None:
        """Return who drives a plan now."""
        for held in self.leases().held():
            if held.claim.plan == slug and not held.expired:
                return held.claim.holder
        return None

    def close(self) -> None:
        """Let go of every journal that was opened here; for who outlives a run."""
        while self._opened:
            self._opened.pop().close()

    def shared_journal(self) -> PostgresJournal:
        """Return the journal in PostgreSQL; raise UsageError where the journal is a file."""
        url = os.environ.get("PLANBOUND_DATABASE_URL")
        if not url:
            raise UsageError(
                "the journal of this repository is a file: there is no database",
                hint="say where it is by `PLANBOUND_DATABASE_URL`",
            )
        return self._postgres(url)

    def _bare_journal(self) -> PostgresJournal | SqliteJournal:
        USED.setdefault(self.state.folder, self)
        url = os.environ.get("PLANBOUND_DATABASE_URL")
        return self._postgres(url) if url else self._sqlite()

    def _postgres(self, url: str) -> PostgresJournal:
        from planbound.journal.postgres import PostgresJournal  # noqa: PLC0415 - one of two

        journal = PostgresJournal(url, self.repository, beside=self._first)
        self._first = self._first or journal
        self._opened.append(journal)
        return journal

    def _sqlite(self) -> SqliteJournal:
        from planbound.journal.sqlite import SqliteJournal  # noqa: PLC0415 - the other

        journal = SqliteJournal(self.state.journal)
        self._opened.append(journal)
        return journal

    def show_progress(self, records: Sequence[Record]) -> None:
        """Add what events tell to what people read about the plans: it follows the journal."""
        from datetime import datetime  # noqa: PLC0415 - not every command writes

        from planbound.workspace.progress import is_drafted, may_begin  # noqa: PLC0415 - the same
        from planbound.workspace.progress_file import ProgressAppender  # noqa: PLC0415 - the same

        said: dict[str, list[tuple[str, datetime]]] = {}
        begun: set[str] = set()
        drafted: set[str] = set()
        for record in records:
            line = self._lines.line(record)
            if line is not None:
                when = datetime.fromisoformat(record.draft.timestamp)
                said.setdefault(record.draft.plan, []).append((line, when))
                begun |= {record.draft.plan} if may_begin(record) else set()
                drafted |= {record.draft.plan} if is_drafted(record) else set()
        for slug, lines in said.items():
            # The journal has it: what people read must not end a run.
            with suppress(PlanboundError):
                path = os.path.join(self.tree.harness, progress_name(slug))
                plan = os.path.join(self.tree.harness, file_name(slug))
                # The plan may be put away. What an agent drafts is on record before its file is.
                is_there = os.path.exists(plan) or slug in drafted
                if os.path.exists(path) or (slug in begun and is_there):
                    ProgressAppender(path).append_all("planbound", lines)

    @cached_property
    def _lines(self) -> ProgressLines:
        from planbound.workspace.progress import ProgressLines  # noqa: PLC0415 - start-up

        return ProgressLines()

    def recorder(self, journal: Journal | None = None) -> Recorder:
        """Return what puts events into the journal."""
        from planbound.state.append import Recorder  # noqa: PLC0415 - start-up

        return Recorder(journal or self.journal(), redactor=self.redactor, now=self.now)

    @cached_property
    def redactor(self) -> Redactor:
        """What takes secrets out of texts."""
        from planbound.journal.redact import Redactor  # noqa: PLC0415 - start-up

        return Redactor(os.environ, self.configuration.redact)
