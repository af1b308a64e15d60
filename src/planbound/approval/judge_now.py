"""A plan's contracts, run on the workspace as it is: before any work, or outside of a run."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from planbound.disk.files import PlanFile
from planbound.errors import JournalProblem, UsageError
from planbound.git.place import make_place
from planbound.journal.event import EventKind, VerdictKind
from planbound.journal.record import Query
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, cases, plan_scope
from planbound.judging.context import earlier_verdicts, judging_context
from planbound.judging.contract import Setting
from planbound.judging.control import observe_controls
from planbound.judging.events import evaluated, note_verdict
from planbound.judging.judge import Taken, baseline_tests, judge, note_baseline
from planbound.judging.reference import (
    Frozen,
    approved_tree,
    changed_terms,
    freeze_for,
    with_changes_of_others,
)
from planbound.judging.tools import contract_tools
from planbound.judging.unrunnable import Tool
from planbound.judging.verdict import Verdict
from planbound.plan.digest import digest
from planbound.plan.model import Baseline, Judged, Plan
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.context import Context
from planbound.workspace.measured import ScreenedTree, screened

_BEYOND = frozenset({VerdictKind.OUT_OF_SCOPE, VerdictKind.TAMPERED})


class PlanToJudge(NamedTuple):
    """A plan that can be judged, and what of it."""

    file: PlanFile
    plan: Plan
    cases: tuple[Case, ...]
    held: bool
    """Whether it is a plan of this workspace, so that the journal speaks of it."""
    context: Context
    """For the worktree that the plan is bound to."""

    @property
    def judged(self) -> list[Case]:
        """Return what has a command."""
        return [case for case in self.cases if isinstance(case.contract, Judged)]

    @property
    def waiting(self) -> list[Case]:
        """Return what has none."""
        return [case for case in self.cases if not isinstance(case.contract, Judged)]


def choose_cases(
    plan: Plan, steps: Sequence[str] | None, *, postconditions: bool
) -> tuple[Case, ...]:
    """Return the contracts that are asked for: of some steps, of the postconditions, or all."""
    found = tuple(cases(plan))
    if postconditions:
        chosen = tuple(case for case in found if case.subject is SubjectKind.POSTCONDITION)
        if not chosen:
            raise UsageError("the plan has no postconditions")
        return chosen
    if not steps:
        return found
    by_name = {case.number: case for case in found if case.subject is SubjectKind.STEP}
    by_name |= {case.id: case for case in by_name.values() if case.id}
    for name in steps:
        if name not in by_name:
            numbers = ", ".join(case.number for case in found if case.subject is SubjectKind.STEP)
            raise UsageError(f"the plan has no step `{name}`", hint=f"it has the steps {numbers}")
    wanted = [by_name[name] for name in dict.fromkeys(steps)]
    return tuple(case for case in found if case in wanted)


# -- judging what is there, against what was approved --------------------------------------------


class JudgedNow(NamedTuple):
    """A verdict outside of a run."""

    verdict: Verdict
    unrecorded: str | None = None
    """Why the journal does not know of it; None: it does, or is not asked."""


class JudgeNow:
    """Judges a plan's contracts, and says what to do where the work is not why one fails."""

    def __init__(self, asked: PlanToJudge) -> None:
        self.asked = asked
        self.context = asked.context
        self.judging = judging_context(self.context)
        self._linked = make_place(self.context, asked.file.slug).is_linked
        if self._linked:
            # The marker and what else is the harness's came after the tree was frozen.
            self.judging = self.judging._replace(tree=ScreenedTree(self.judging.tree))
        self.found: list[Verdict] = []
        self.setting = self._setting()

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The programs that the contracts use."""
        frozen = self.setting.frozen
        tree = frozen.manifest if frozen else None
        return contract_tools(self.context, self.judging, self.asked.judged, tree)

    def verdicts(self) -> Iterator[JudgedNow]:
        """Judge one contract after the other, and record each verdict."""
        wanted = self.asked.judged
        if self.setting.frozen is None:
            # Nobody looked before the work, as in a fresh checkout: nobody can demand a colour.
            wanted = [case._replace(baseline=Baseline.ANY) for case in wanted]
        for verdict in judge(self.judging, wanted, self.setting):
            self.found.append(verdict)
            yield JudgedNow(verdict, self._record(verdict) if self.asked.held else None)

    def _record(self, verdict: Verdict) -> str | None:
        try:
            recorder = self.context.recorder()
            event = evaluated(verdict, recorder.redactor)
            note_verdict(recorder, self.asked.file.slug, verdict, event)
        except JournalProblem as error:
            return error.message
        return None

    @property
    def passed(self) -> bool:
        """Whether every contract passed, and none is left to a person."""
        return not self.asked.waiting and all(v.kind is VerdictKind.PASS for v in self.found)

    def cure(self) -> str | None:
        """Return what to do where the baseline, and not the work, is why nothing passes."""
        slug = self.asked.file.slug
        name = shlex.quote(slug)
        anew = f"`planbound approve {name}`, or `planbound baseline {name}` before any work"
        if self.setting.plan_changed is not None:
            return f"look at it as it is now: {anew}"
        if self.setting.frozen is None or not any(v.kind in _BEYOND for v in self.found):
            return None
        others = [f"`{name}`" for name in self._merged_since() if name != slug]
        if not others:
            return self._put_back()
        what = f"{', '.join(others)} {'was' if len(others) == 1 else 'were'} merged"
        return f"{what} since the baseline was taken: {anew}"

    def _merged_since(self) -> list[str]:
        """Return the plans that were merged after the baseline was taken."""
        journal = self.context.existing_journal()
        merged: list[str] = []
        kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_INTEGRATED)
        for record in journal.read(Query(events=kinds)) if journal is not None else ():
            draft = record.draft
            if draft.kind is EventKind.PLAN_INTEGRATED:
                merged.append(draft.plan)
            elif draft.plan == self.asked.file.slug:
                merged = []
        return list(dict.fromkeys(merged))

    def _put_back(self) -> str | None:
        """Return what to do about files that a person may have changed: the configuration, say."""
        if not any(verdict.outside for verdict in self.found):
            return None
        slug = shlex.quote(self.asked.file.slug)
        anew = f"`planbound baseline {slug}` takes the files as they are now"
        return f"put back what was not to be changed; where you changed it on purpose, {anew}"

    def _setting(self) -> Setting:
        asked, context = self.asked, self.context
        frozen = self._frozen()
        changed = None
        if frozen is not None:
            changed = changed_terms(frozen, digest(asked.plan), context.configuration)
        return Setting(
            frozen=frozen,
            scope=plan_scope(asked.plan),
            plan_changed=changed,
            earlier=earlier_verdicts(context, asked.file.slug),
            tests=baseline_tests(context.existing_journal(), asked.file.slug),
        )

    def _frozen(self) -> Frozen | None:
        asked, judging = self.asked, self.judging
        journal = self.context.existing_journal() if asked.held else None
        now = judging.tree.manifest(judging.rules) if journal is not None and self._linked else None
        frozen = approved_tree(journal, judging.vault, asked.file.slug, now)
        if frozen is None or now is None:
            return frozen
        frozen = frozen._replace(manifest=screened(frozen.manifest))
        # What was approved in the main worktree came here by git, which leaves files behind.
        return with_changes_of_others(
            frozen, now, asked.judged, plan_scope(asked.plan), judging.vault
        )


# -- the look before any work --------------------------------------------------------------------


class BaselineNow:
    """Freezes the tree, and runs every contract of a plan once, before any work."""

    def __init__(self, asked: PlanToJudge) -> None:
        if not asked.held:
            raise UsageError("a baseline is kept for a plan in `.harness/`, and this is none")
        self.asked = asked
        self.judging = judging_context(asked.context)
        self.tree = freeze_for(self.judging, asked.plan)
        self.found: list[Verdict] = []

    @cached_property
    def tools(self) -> tuple[Tool, ...]:
        """The programs that the contracts use."""
        asked = self.asked
        return contract_tools(asked.context, self.judging, asked.judged, self.tree.manifest)

    def verdicts(self) -> Iterator[Verdict]:
        """Run one contract after the other; after the last one the baseline is on record."""
        asked = self.asked
        for verdict in observe_controls(self.judging, asked.plan, asked.judged):
            self.found.append(verdict)
            yield verdict
        configuration = configuration_digest(asked.context.configuration)
        taken = Taken(self.tree, digest(asked.plan), configuration)
        note_baseline(asked.context.recorder(), asked.file.slug, taken, self.found)
