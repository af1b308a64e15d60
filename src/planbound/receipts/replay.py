"""Judge again what a receipt claims: on its files, by its judges, in the cells of this machine."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from planbound.cells.cell import Cell
from planbound.cells.choose import choose
from planbound.cells.isolation import Isolation
from planbound.cells.scratch import Scratch
from planbound.errors import Refused, UsageError
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import Setting
from planbound.judging.corroborate import are_named
from planbound.judging.judge import judge, observe
from planbound.judging.reference import judges_of, tree_as_it_is
from planbound.judging.together import judge_together
from planbound.judging.tools import contract_tools
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest, digest
from planbound.plan.model import Baseline, Judged, Plan
from planbound.plan.parse import parse
from planbound.receipts.predicate import ItemJudge, PlanRun, RunItem
from planbound.receipts.replay_tree import (
    FoundTree,
    LaidJudge,
    ReplayClone,
    ReplayTree,
    refuse_missing,
    replay_room,
)
from planbound.receipts.replayed import (
    ItemOutcome,
    ReplayOutcome,
    commit_of,
    compared,
    touched_judges,
    why_not_judged,
)
from planbound.receipts.settings import LONGEST, GivenSettings, replay_settings
from planbound.state.step import Before, Look
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context
from planbound.workspace.environment import find_environment
from planbound.workspace.measured import own_folders


class ReplayTerms(NamedTuple):
    """How a receipt is to be judged again."""

    steps: tuple[str, ...] = ()
    """Only these; empty: all of it."""
    revision: str | None = None
    """What to judge by the receipt's judges; None: the tree of the receipt."""
    as_recorded: bool = False
    """Whether contracts get the variables and the network that the receipt names."""
    isolation: Isolation = Isolation.I0
    """The weakest cell that will do."""


class JudgedAgain(NamedTuple):
    """One item of a receipt, and what was found."""

    item: RunItem
    found: ItemOutcome
    verdict: Verdict | None = None
    judges: tuple[LaidJudge, ...] = ()
    baseline: Verdict | None = None
    """On the files that the work began with."""


class Replaying(NamedTuple):
    """What is judged again, before anything is."""

    tree: FoundTree
    base: FoundTree | None
    settings: GivenSettings
    cell: Cell
    tools: tuple[str, ...]
    copied: tuple[str, ...]
    """Folders of the clone that git does not have."""
    submodules: tuple[str, ...]


class _ChosenItem(NamedTuple):
    item: RunItem
    case: Case | None


_Found = dict[tuple[str, str], JudgedAgain]


def _key(item: RunItem) -> tuple[str, str]:
    return item.kind, item.number


class _ToJudge(NamedTuple):
    item: RunItem
    case: Case
    judges: tuple[LaidJudge, ...]

    @property
    def over(self) -> dict[str, bytes]:
        """Return what is to be laid over the tree."""
        return {
            each.judge.path: each.content
            for each in self.judges
            if not each.there and each.content is not None
        }


def plan_of(run: PlanRun) -> Plan:
    """Return the plan of a receipt; refuse one whose text is not what its digest says."""
    said = run.plan
    if said.text is None:
        raise Refused("the receipt does not have the text of its plan: there is nothing to judge")
    plan = parse(said.text.encode("utf-8"), path=said.path or "PLAN.md")
    if not said.redacted and digest(plan) != said.digest:
        raise Refused(
            f"the text of the plan is not what was approved: its digest is {digest(plan)[:12]},"
            f" and the receipt says {said.digest[:12]}"
        )
    return plan


def choose_items(run: PlanRun, plan: Plan, steps: Sequence[str]) -> list[_ChosenItem]:
    """Return the items of a receipt with their contracts, as the plan's own text has them."""
    known = {(each.subject.value, each.number): each for each in cases(plan)}
    chosen = [item for item in run.items if not steps or _is_named(item, steps)]
    numbers = [item.number for item in run.items if item.kind == SubjectKind.STEP.value]
    for name in steps:
        if not any(_is_named(item, [name]) for item in run.items):
            raise UsageError(
                f"the receipt has no step `{name}`", hint=f"it has the steps {', '.join(numbers)}"
            )
    return [_ChosenItem(item, known.get((item.kind, item.number))) for item in chosen]


def _is_named(item: RunItem, steps: Sequence[str]) -> bool:
    return item.kind == SubjectKind.STEP.value and (item.number in steps or item.id in steps)


class Replay:
    """One receipt, judged again."""

    def __init__(
        self,
        clone: ReplayClone,
        run: PlanRun,
        subjects: Sequence[Mapping[str, Any]],
        terms: ReplayTerms,
    ) -> None:
        """`subjects` are what the receipt says it is about, by their digests."""
        self.clone = clone
        self.run = run
        self.touched = touched_judges(subjects)
        self.commit = commit_of(subjects)
        self.terms = terms
        self.plan = plan_of(run)
        self.chosen = choose_items(run, self.plan, terms.steps)
        self.tree = self._find_tree()
        self.base = self._find_base()
        self.settings = replay_settings(
            run.settings, self._programs(), as_recorded=terms.as_recorded
        )

    @property
    def is_recorded_tree(self) -> bool:
        """Whether the files are those of the receipt."""
        return self.tree.own == self.run.tree.git_tree

    def judged(self, begun: Callable[[Replaying], None]) -> Iterator[JudgedAgain]:
        """Yield what became of each item, in the order of the receipt."""
        with replay_room() as room:
            cell = choose(Scratch(os.path.join(room, "cells")), demanded=self.terms.isolation)
            hint = self.base.commit if self.base is not None else None
            laid = ReplayTree(self.clone, self.tree, os.path.join(room, "tree"), hint)
            context = self._context(room, laid.workspace)
            judging = self._judging(context, cell)
            wanted = [each.case for each in self.chosen if each.case is not None]
            tools = contract_tools(context, judging, wanted, keep=False)
            begun(
                Replaying(
                    tree=self.tree,
                    base=self.base,
                    settings=self.settings,
                    cell=cell,
                    tools=tuple(map(str, tools)),
                    copied=laid.copied,
                    submodules=laid.laid.submodules,
                )
            )
            open_, found = self._sorted(laid)
            found |= self._all_judged(room, judging, laid, open_)
            for each in self.chosen:
                yield found[_key(each.item)]

    # -- what is judged, and where -----------------------------------------------------------------

    def _find_tree(self) -> FoundTree:
        run, folder = self.run, self.run.base.folder
        if self.terms.revision is not None:
            found = self.clone.named(self.terms.revision, folder)
            if found is None:
                raise UsageError(f"`{self.terms.revision}` names no tree of this repository")
            return found
        found = self.clone.recorded(run.tree.git_tree, folder, (self.commit, "HEAD"))
        if found is None:
            raise refuse_missing(run.tree.git_tree, run.tree.no_git_tree)
        return found

    def _find_base(self) -> FoundTree | None:
        """Return the files that the work began with, where they are here and others."""
        base = self.run.base
        found = self.clone.recorded(base.git_tree, base.folder, (base.commit,))
        if found is None and base.git_tree is not None:
            earlier = self.clone.before(base.commit)
            found = self.clone.recorded(base.git_tree, base.folder, earlier)
        return None if found is None or found.own == self.tree.own else found

    def _programs(self) -> tuple[str, ...]:
        """Return the folder with the programs of the environment that this clone has."""
        environment = find_environment(Configuration(), self.clone.context.root)
        found = environment.found
        if found is None or environment.fault is not None:
            return ()
        return (os.path.join(found.prefix, "bin"),)

    def _context(self, room: str, workspace: str) -> Context:
        """Return a context with a state home of its own, and nothing of the clone's settings."""
        context = Context(workspace=workspace, state=os.path.join(room, "state"))
        context.configuration = self.settings.configuration
        context.on_stage = self.clone.context.on_stage
        return context

    def _judging(self, context: Context, cell: Cell) -> JudgingContext:
        judging = judging_context(context, cell)
        own = own_folders(self.clone.context)  # with this machine's key
        view = judging.view._replace(sealed=(*judging.view.sealed, *own))
        return judging._replace(masked=(*judging.masked, *own), view=view, measurements=None)

    # -- which items -------------------------------------------------------------------------------

    def _sorted(self, laid: ReplayTree) -> tuple[list[_ToJudge], _Found]:
        """Return what can be judged, and what came of the rest."""
        open_: list[_ToJudge] = []
        found: _Found = {}
        for item, case in self.chosen:
            contract = case.contract if case is not None else None
            why = why_not_judged(item, contract)
            if why is not None:
                found[_key(item)] = JudgedAgain(item, ItemOutcome(ReplayOutcome.NOT_JUDGED, why))
                continue
            assert case is not None
            assert isinstance(contract, Judged)
            if contract_digest(contract) != item.contract:
                reason = "its contract in the plan is not the one that was judged"
                found[_key(item)] = JudgedAgain(item, ItemOutcome(ReplayOutcome.UNRUNNABLE, reason))
                continue
            judges = tuple(laid.judges(self._judges(item, case, laid)))
            missing = [each.judge.path for each in judges if each.content is None]
            if missing:
                reason = f"missing judge: {', '.join(missing[:5])}"
                what = ItemOutcome(ReplayOutcome.MISSING_JUDGE, reason)
                found[_key(item)] = JudgedAgain(item, what, judges=judges)
                continue
            seconds = None if case.seconds is None else min(case.seconds, LONGEST)
            plain = case._replace(baseline=Baseline.ANY, evidence=None, seconds=seconds)
            open_.append(_ToJudge(item, plain, judges))
        return open_, found

    def _judges(self, item: RunItem, case: Case, laid: ReplayTree) -> list[ItemJudge]:
        """Return what an item is judged by, as it was when the receipt was made.

        What the plan was allowed to change counts as the work left it. On other files than those
        of the receipt that holds for the tests that came with the work, too.
        """
        own = {each.path: self._as_left(each) for each in item.judges}
        if not self.is_recorded_tree:
            more = judges_of([case], laid.with_files(self.touched), laid.read).files
            own |= {path: self.touched[path] for path in more & self.touched.keys() - own.keys()}
        return [own[path] for path in sorted(own)]

    def _as_left(self, judge: ItemJudge) -> ItemJudge:
        return self.touched.get(judge.path, judge) if judge.editable else judge

    # -- judging -----------------------------------------------------------------------------------

    def _all_judged(
        self, room: str, judging: JudgingContext, laid: ReplayTree, wanted: Sequence[_ToJudge]
    ) -> _Found:
        before = self._looked_before(room, judging.cell, wanted)
        found: _Found = {}
        for group in _groups(wanted):
            with laid.with_judges(group[0].over):
                for each, verdict, again in self._judged_group(judging, group, before):
                    found[_key(each.item)] = JudgedAgain(
                        each.item,
                        compared(verdict, again),
                        verdict,
                        each.judges,
                        before.get(contract_digest_of(each.case)),
                    )
        return found

    def _judged_group(
        self, judging: JudgingContext, group: Sequence[_ToJudge], before: Mapping[str, Verdict]
    ) -> Iterator[tuple[_ToJudge, Verdict, Verdict | None]]:
        setting = _setting(judging, before)
        seen = judging.tree.manifest(judging.rules)
        # Where nobody looked before there is nothing to compare the names of tests with.
        named = [each for each in group if _needs_names(each.case, before)]
        others = [each for each in group if each not in named]
        verdicts = judge_together(judging, [each.case for each in others], setting, seen)
        for each, verdict in zip(others, verdicts, strict=True):
            again = None
            if verdict.kind is VerdictKind.FAIL and self.is_recorded_tree:
                again = next(judge(judging, [each.case], setting))
            yield each, verdict, again
        looking = setting._replace(observing=True)
        for each in named:
            yield each, next(judge(judging, [each.case], looking)), None

    def _looked_before(
        self, room: str, cell: Cell, wanted: Sequence[_ToJudge]
    ) -> dict[str, Verdict]:
        """Return what contracts say on the files that the work began with, by their digests."""
        if self.base is None or not wanted:
            return {}
        found: dict[str, Verdict] = {}
        laid = ReplayTree(self.clone, self.base, os.path.join(room, "base"), None)
        judging = self._judging(self._context(room, laid.workspace), cell)
        for group in _groups(wanted):
            # By the judges of the receipt: those that were frozen before the work.
            with laid.with_judges({k: v for each in group for k, v in _over(laid, each).items()}):
                for verdict in observe(judging, [each.case for each in group]):
                    found[verdict.contract] = verdict
        return found


def _setting(judging: JudgingContext, before: Mapping[str, Verdict]) -> Setting:
    """Return what contracts are compared with: the laid tree itself, and how they were before."""
    looks = {name: Look(verdict.kind, verdict.tree) for name, verdict in before.items()}
    frozen = tree_as_it_is(judging)._replace(
        verdicts={name: verdict.kind for name, verdict in before.items()}
    )
    tests = {name: verdict.tests.key for name, verdict in before.items() if verdict.tests}

    def known(case: Case) -> Before:
        return Before(approval=looks.get(contract_digest_of(case)))

    return Setting(frozen=frozen, scope=Scope(None), before=known, tests=tests)


def _needs_names(case: Case, before: Mapping[str, Verdict]) -> bool:
    contract = case.contract
    assert isinstance(contract, Judged)
    named = are_named([item.value for item in contract.expectations])
    return named and contract_digest(contract) not in before


def contract_digest_of(case: Case) -> str:
    """Return the digest of a case's contract; empty where it has none."""
    return contract_digest(case.contract) if case.contract is not None else ""


def _groups(wanted: Sequence[_ToJudge]) -> list[list[_ToJudge]]:
    """Return those together that are judged by the same files: mostly that is all of them."""
    found: list[tuple[dict[str, bytes], list[_ToJudge]]] = []
    for each in wanted:
        over = each.over
        group = next((members for files, members in found if files == over), None)
        if group is None:
            found.append((over, [each]))
        else:
            group.append(each)
    return [members for _, members in found]


def _over(laid: ReplayTree, first: _ToJudge) -> dict[str, bytes]:
    """Return which judges the tree before the work does not have as they were frozen."""
    found = laid.judges(first.item.judges)
    return {
        each.judge.path: each.content
        for each in found
        if not each.there and each.content is not None
    }
