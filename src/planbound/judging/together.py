"""Contracts that are judged beside each other, with one look at the tree for all of them.

What that says counts only where no neighbour can be the reason for it; all else is judged alone.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

from planbound.cells.cell import CommandEnding, Stage
from planbound.journal.event import VerdictKind
from planbound.judging.beside import Companion, StoppableCell, found_together, in_turn, jobs
from planbound.judging.case import Case
from planbound.judging.context import JudgingContext
from planbound.judging.contract import JudgedContract, Setting
from planbound.judging.judge import (
    Judgement,
    by_rules_of,
    first_line,
    judge,
    judgement_of,
    look_setting,
    meanwhile,
    undemanded,
    undemanding,
)
from planbound.judging.reference import as_it_is
from planbound.judging.verdict import Verdict
from planbound.plan.digest import contract_digest
from planbound.plan.model import Judged
from planbound.workspace.manifest import Manifest

_LOOK_EVERY = 1.0
"""So many seconds of contracts side by side share one look at the tree."""
_MOMENT = 0.25
"""So many seconds what the next contract says is waited for."""
_MOST_TOGETHER = 50
"""So many of them at most."""


def judge_together(
    judging: JudgingContext, cases: Sequence[Case], setting: Setting, seen: Manifest
) -> Iterator[Verdict]:
    """Yield a verdict for every case, in their order, side by side; `seen` is as in `judge`.

    Behind walls no contract can write to the tree, so one look at it stands for several of them.
    Where that finds another tree nobody knows which of them it is about: each is judged again by
    itself, between two looks of its own. So is whatever did not pass: its neighbours may be the
    reason, by the time and the memory that they took. So is what could have met its neighbours.
    """
    if len(cases) < 2 or jobs(judging) < 2:
        yield from judge(judging, cases, setting, seen)
        return
    judging = by_rules_of(setting, judging)
    before, done = as_it_is(judging, seen), 0
    while done < len(cases):
        found = _side_by_side(judging, cases, done, setting, before)
        after = judging.tree.manifest(judging.rules)
        is_same = (after.digest, after.looks) == (before.digest, before.looks)
        for case, (judgement, verdict, could_meet) in zip(cases[done:], found, strict=False):
            stands = is_same and not could_meet and verdict.kind is VerdictKind.PASS
            if judgement.is_recalled or stands:
                yield judgement.noted(verdict)
            else:
                yield _alone(judging, case, setting, verdict)
                is_same = False  # time went by since the look
        before = after if is_same else judging.tree.manifest(judging.rules)
        done += len(found)


def _alone(judging: JudgingContext, case: Case, setting: Setting, beside: Verdict) -> Verdict:
    """Return what a contract comes to by itself, of which nobody knows it beside others.

    Where it failed there one pass is not enough: the reason may as well be its own.
    """
    verdict = next(judge(judging, [case], setting))
    if beside.kind is VerdictKind.FAIL and verdict.kind is VerdictKind.PASS:
        return next(judge(judging, [case._replace(repeat=max(2, case.repeat))], setting))
    return verdict


def _side_by_side(
    judging: JudgingContext, cases: Sequence[Case], first: int, setting: Setting, before: Manifest
) -> list[tuple[Judgement, Verdict, bool]]:
    """Return what contracts come to on one tree, from one of them on: of as many as time allows.

    And of each whether its runs could have met those of another one.

    What stands there twice waits until its first is told: then it need not be run.
    """
    until = time.monotonic() + _LOOK_EVERY
    chosen: dict[str, Case] = {}
    for case in cases[first : first + _MOST_TOGETHER]:
        assert isinstance(case.contract, Judged)
        if chosen.setdefault(contract_digest(case.contract), case) is not case:
            break

    def find(there: JudgingContext, place: int) -> tuple[Judgement, Verdict] | None:
        if place > first and time.monotonic() > until:
            return None
        case = cases[place]
        assert isinstance(case.contract, Judged)
        stage = Stage(place + 1, len(cases), first_line(case.contract.text))
        contract = JudgedContract(there, case, case.contract, setting, before, stage)
        judgement = Judgement(contract)
        return judgement, judgement.verdict()

    told: list[tuple[Judgement, Verdict, bool]] = []
    for one, could_meet in found_together(judging, range(first, first + len(chosen)), find):
        if one is None:
            break
        told.append((*one, could_meet))
    return told


def judge_with_next(
    judging: JudgingContext, case: Case, setting: Setting, upcoming: Case | None
) -> tuple[Verdict, Verdict | None]:
    """Return a verdict, and what the contract of the next step says on the very same tree.

    That step begins with the tree on which this one ends. So both run side by side, and one look
    at the tree stands for both. What the next one says counts only where this one passes, nothing
    changed meanwhile, and it came to its own end in as much time and a moment. None: it has to be
    asked by itself. One that could have found out that the other is there is asked alone, too.
    """
    before = None
    if upcoming is not None and jobs(judging) > 1:
        judging = by_rules_of(setting, judging)
        before = as_it_is(judging, None)
    if upcoming is None or before is None or before.truncated is not None or before.has_tags:
        return next(judge(judging, [case], setting, before)), None
    over = threading.Event()
    look = Companion(partial(_looked_at, judging, upcoming, before, over))
    cell = StoppableCell(judging.cell, threading.Event())
    judgement = judgement_of(judging._replace(cell=cell), case, setting, before)
    look.begin()
    try:
        verdict = judgement.verdict()
        if verdict.kind is VerdictKind.PASS:
            look.wait(_MOMENT)
    finally:
        over.set()
        found = look.found()
        for each in (judgement, *(looked for looked, _ in found or ())):
            each.contract.let_go()
    if verdict.kind is not VerdictKind.PASS or cell.could_meet:
        return _alone(judging, case, setting, verdict), None
    if found is None and judgement.is_recalled:
        return judgement.noted(verdict), None
    after = judging.tree.manifest(judging.rules)
    is_same = after.looks == before.looks
    if after.digest != before.digest:
        verdict, found = meanwhile(verdict, before, after), None
    verdict = judgement.noted(verdict, is_same=is_same)
    if found is None or not is_same:
        return verdict, None
    ((looked, seen),) = found
    if not _came_to_its_end(seen) or _could_meet(looked):
        return verdict, None
    return verdict, looked.noted(seen)


def _could_meet(judgement: Judgement) -> bool:
    cell = judgement.contract.judging.cell
    return isinstance(cell, StoppableCell) and cell.could_meet


def _looked_at(
    judging: JudgingContext, case: Case, before: Manifest, over: threading.Event
) -> tuple[Judgement, Verdict]:
    """Return what a contract says before its work; nobody is told of it, and it can be stopped."""
    there = in_turn(undemanding(judging))._replace(on_stage=lambda _stage: None)
    there = there._replace(cell=StoppableCell(judging.cell, over))
    judgement = judgement_of(there, undemanded(case), look_setting(judging), before)
    return judgement, judgement.verdict()


def _came_to_its_end(verdict: Verdict) -> bool:
    """Say whether a contract ran to its own end, and no neighbour can be the reason for that."""
    is_whole = verdict.outcome is not None and verdict.outcome.ending is CommandEnding.EXITED
    return is_whole and verdict.kind in {VerdictKind.PASS, VerdictKind.FAIL}
