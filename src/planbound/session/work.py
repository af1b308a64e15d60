"""One plan while a tool works on it, under the plan's lease."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from planbound.cells.isolation import Isolation, refuse_in_cell
from planbound.disk.files import PlanFile
from planbound.disk.lock import this_process
from planbound.errors import ConcurrentModification, FileProblem, Refused, UsageError
from planbound.journal.event import Event, replaced
from planbound.journal.leases import Claim, hold_lease
from planbound.journal.record import Draft, HeldLease
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, cases
from planbound.plan.edit import mark_progress
from planbound.plan.model import Step
from planbound.plan.parse import parse
from planbound.session.context import SessionContext
from planbound.session.view import SessionPlan
from planbound.state.item import Item
from planbound.workspace.measured import (
    ScreenedTree,
    kept_manifest,
    measured_tree,
    rules_beside,
)
from planbound.workspace.root import find_git

if TYPE_CHECKING:
    from planbound.judging.context import JudgingContext
    from planbound.judging.reference import Frozen
    from planbound.workspace.manifest import Manifest


_LEASE = 3600.0
"""A call may judge for long; a process that dies is known to be dead at once."""


@contextmanager
def leased(session: SessionContext, slug: str) -> Iterator[HeldLease]:
    """Hold the lease of a plan: calls of two agents come one after the other, or are refused."""
    me = this_process()
    claim = Claim(
        slug,
        worktree=f"the loop of {slug}",
        touches=None,
        holder=f"{session.id} ({me.name})",
        process=me.mark,
    )
    deadline = time.monotonic() + session.patience

    def waits(_refused: Refused) -> bool:
        return time.monotonic() <= deadline

    with hold_lease(session.leases, claim, seconds=_LEASE, waits=waits) as held_lease:
        yield held_lease


class Work(SessionPlan):
    """A plan, where it is, and the one way to add to its events."""

    def __init__(
        self, session: SessionContext, file: PlanFile, held_lease: HeldLease | None = None
    ) -> None:
        super().__init__(session, file)
        self.held_lease = held_lease
        self._judging: JudgingContext | None = None
        self._tree: Manifest | None = None

    def append(self, *drafts: Draft) -> None:
        """Add events, all or none."""
        self.session.journal.append(drafts, held_lease=self.held_lease)
        self._catch_up()

    def draft(self, event: Event, step: Step | None = None) -> Draft:
        """Return an event of this session."""
        task = None
        if step is not None:
            event = replaced(event, number=step.label)
            task = (self.ids[step.label], step.title)
        event = replaced(event, session=self.session.id)
        return self.session.recorder.draft(event, self.slug, task=task)

    # -- finding -------------------------------------------------------------------------------

    def step(self, name: str | int) -> Step:
        """Return a step by its id or number; raise UsageError where there is none."""
        wanted = str(name).strip().removeprefix("step ").lstrip("#")
        for step in self.plan.steps:
            if wanted in {self.ids[step.label], step.label}:
                return step
        dropped = next((each for each in self.state.dropped if each.id == wanted), None)
        if dropped is not None:
            raise UsageError(f"step `{wanted}` is not in the plan any more: a rewrite dropped it")
        known = ", ".join(f"{step.label} `{self.ids[step.label]}`" for step in self.plan.steps[:30])
        hint = f"the steps are {known}" if known else "the plan has no steps"
        raise UsageError(f"there is no step `{wanted}`", hint=hint)

    def case(self, subject: SubjectKind, number: str) -> Case:
        """Return what is judged of an item."""
        for case in cases(self.plan):
            if case.subject is subject and case.number == number:
                return case
        known = ", ".join(str(each.number) for each in self.plan.postconditions)
        hint = f"the postconditions are {known}" if known else "the plan has no postconditions"
        raise UsageError(f"there is no {subject.value} {number}", hint=hint)

    # -- judging -----------------------------------------------------------------------------

    @property
    def tree(self) -> str:
        """Return the digest of the files as they are now."""
        if self._tree is None:
            self._refuse_misplaced()
            refuse_in_cell()
            demanded = self.session.context.configuration.judging
            if demanded.held_out or demanded.isolation is not Isolation.I0:
                self.judging()  # refuses where that cannot be had any more
            tree, rules = measured_tree(self.session.context)
            key = self.state.manifest
            before = kept_manifest(self.session.vault, key) if key is not None else None
            self._tree = ScreenedTree(tree).manifest(rules_beside(rules, before))
        return self._tree.digest

    def is_as_it_was(self, beyond: str | None) -> bool:
        """Say whether what a contract depended on besides files is as it was when it passed."""
        if beyond is None:
            return True
        from planbound.judging.outside import ANYTHING, known_to_git  # noqa: PLC0415 - few ask git

        if beyond == ANYTHING or not self.tree or self._tree is None:
            return False
        return known_to_git(os.path.realpath(self.session.context.root), self._tree) == beyond

    def forget_tree(self) -> None:
        """Look at the files anew when their digest is asked for: a contract may change some."""
        self._tree = None

    def judging(self) -> JudgingContext:
        """Return what is needed for judging; refuse to judge in another worktree."""
        if self._judging is None:
            self._refuse_misplaced()
            judging = self.session.judging
            self._judging = judging._replace(tree=ScreenedTree(judging.tree))
        return self._judging

    def frozen(self) -> Frozen | None:
        """Return the tree before the work, with the judges as they were then."""
        from planbound.judging.reference import kept_tree  # noqa: PLC0415 - start-up

        key = self.state.manifest
        if key is None:
            return None
        return kept_tree(self.session.vault, key, self.digest, self.session.context.configuration)

    def _refuse_misplaced(self) -> None:
        """Raise where the workspace is another worktree than the plan's own."""
        self._catch_up()
        context, place = self.session.context, find_git(self.session.context.root)
        if place is None or (not place.is_linked and self.known.place.binding is None):
            return  # there is no other one, or none that is the plan's
        from planbound.git.place import at_worktree  # noqa: PLC0415 - only where there are several

        there = at_worktree(context, self.file)
        if there is not context:
            raise Refused(
                f"workspace-mismatch: `{self.slug}` belongs to {there.root}, and this session is"
                f" in {context.root}",
                hint="work there, and open the session there",
            )


def show_marks(work: Work) -> None:
    """Write where the steps are into the plan's file; a file in other hands is left as it is."""
    with suppress(ConcurrentModification, FileProblem):
        data = work.session.context.files.read(work.file.path)
        plan = parse(data, path=work.file.shown)
        ids = work.session.recorder.step_ids(plan)
        steps = [work.state.steps.get(ids[step.label], Item()).status for step in plan.steps]
        written = mark_progress(plan, work.status, steps).to_bytes()
        if written != data:
            work.session.context.files.replace(work.file.path, written, expected=data)
