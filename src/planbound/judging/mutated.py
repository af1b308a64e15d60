"""Run a contract once more with other expected values: who does not notice cannot judge."""

from __future__ import annotations

import os
import random
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import chain
from types import MappingProxyType
from typing import TYPE_CHECKING

from planbound.cells.cell import CommandEnding, Laid, Outcome
from planbound.judging.canary import replaces
from planbound.judging.case import covers
from planbound.judging.corroborate import with_added
from planbound.judging.javascript import RetoldScript, answered, retell_script
from planbound.judging.meaning import is_test_file
from planbound.judging.reach import reach
from planbound.judging.reached import (
    compares,
    has_equalities,
    made_to_fail,
    not_reached,
    not_reached_in_javascript,
    surely_comparing,
)
from planbound.judging.watched import WalkedContract, text_inside
from planbound.script import Call
from planbound.script.runners import programs
from planbound.script.runners.javascript import DECLARED
from planbound.script.runners.mutated import (
    MutatedTests,
    followed,
    has_begun,
    looked,
    mutated_node_run,
    mutated_run,
    read_answered,
    read_mutated,
    read_taken,
    saw_nothing,
)
from planbound.script.runners.runner import JudgedTree, Language
from planbound.script.tree import words
from planbound.script.wrapper import program_of

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract
    from planbound.judging.retold import RetoldJudge

_JAVASCRIPT = DECLARED.endings
_NOTHING: Mapping[str, RetoldScript] = MappingProxyType({})
_NODES = words("node nodejs npm npx pnpm yarn corepack tsx ts-node c8 nyc")


def mutate(contract: JudgedContract) -> MutatedTests | None:
    """Return what became of the tests; None where nothing of the contract can be changed."""
    return _ChangedRuns(contract).found()


class _ChangedRuns:
    """The runs of a contract in which its judges expect other values."""

    def __init__(self, contract: JudgedContract) -> None:
        self.contract = contract
        self.walked = WalkedContract(contract)
        tree = self.walked.project
        known = {*contract.judges.files, *(item.path for item in contract.held_out)}
        pythons, nodes = self.walked.pythons, _runs_node(self.walked)
        judges = sorted(known)
        if not judges and (pythons or nodes):  # there may be a hundred thousand files
            judges = [path for path in tree.paths if is_test_file(path)]
        self.in_python = self._tests(judges, (".py",)) if pythons else []
        self.in_javascript = self._tests(judges, _JAVASCRIPT) if nodes else []
        self.judged = self._texts(self.in_python)
        self.scripts = self._texts(self.in_javascript)

    def _tests(self, judges: Sequence[str], endings: tuple[str, ...]) -> list[str]:
        """Return the judges of a language; where nothing in them can be changed, all tests.

        What the step may change is no judge.
        """
        found = [path for path in judges if path.endswith(endings)]
        if has_equalities(self._texts(found)):
            return found
        scope = self.contract.scope
        tests = (path for path in self.walked.project.paths if path.endswith(endings))
        more = (path for path in tests if is_test_file(path) and not covers(scope, path))
        return sorted({*found, *more})

    def _texts(self, paths: Sequence[str]) -> dict[str, bytes]:
        return {path: self.walked.project.read(path) or b"" for path in paths}

    def found(self) -> MutatedTests | None:
        """Run it as often as it takes to know."""
        retold = self._retold()
        outcome, notes = _run(self.walked, self.in_python, retold, self.in_javascript)
        if outcome is not None and retold and not has_begun(outcome.collected, notes):
            # What stands before the tests looks at their text: a linter, a digest.
            retold = {}
            outcome, notes = _run(self.walked, self.in_python, retold, self.in_javascript)
        if outcome is None:
            return None
        found = self._read(outcome, notes)
        if found.blind or found.unreached:
            return found
        if followed(outcome.collected, notes):
            answers, is_cut_off = _answered_in_javascript(self.walked, self.scripts)
            found = found._replace(answered=answers, is_cut_off=found.is_cut_off or is_cut_off)
            if answers:
                return found
        if answered := self._answered(read_answered(outcome.collected, notes)):
            return found._replace(answered=tuple(sorted(answered)))
        if retold and looked(outcome.collected, notes):
            return self._as_they_are() or found
        return found

    def _answered(self, found: frozenset[str]) -> frozenset[str]:
        """Return the tests that are answered from their text in another run, too."""
        if not found:
            return found
        # By chance an answer may be what is expected now; hardly twice.
        outcome, notes = _run(self.walked, self.in_python, self._retold())
        return found if outcome is None else found & read_answered(outcome.collected, notes)

    def _as_they_are(self) -> MutatedTests | None:
        """Return what is wrong where the text of the judges is as it was.

        Who looks at the tests may know their text, and behave where it is another.
        """
        outcome, notes = _run(self.walked, self.in_python, {})
        found = None if outcome is None else self._read(outcome, notes)
        is_wrong = found is not None and (found.blind or found.unreached or found.is_cut_off)
        return found if is_wrong else None

    def _read(self, outcome: Outcome, notes: Sequence[str]) -> MutatedTests:
        found = read_mutated(
            outcome.collected,
            notes,
            passes=self.contract.passes(outcome),
            not_reached=partial(self._unreached, followed(outcome.collected, notes)),
        )
        return found._replace(
            is_cut_off=outcome.ending is CommandEnding.TIMED_OUT,
            uncompared=surely_comparing(self.judged, found.uncompared),
            is_empty=saw_nothing(outcome.collected, notes)
            and has_equalities(self._due(followed(outcome.collected, notes))),
            # Node has a process for each file: there may be many.
            is_full=found.is_full and not self.in_javascript,
        )

    def _due(self, runners: Mapping[str, str]) -> dict[str, bytes]:
        """Return the judges of which something was to be seen; in JavaScript it is known of some.

        That the runner was started with a file says which one, and not that it ran. Where no runner
        is called, it is those that the contract is known to run: others may judge something else.
        """
        known = {path: data for path, data in self.scripts.items() if path in runners}
        due = self.judged | (known or self.scripts)
        if self.walked.has_runner:
            return due
        judges = self.contract.judges
        return {path: due[path] for path in judges.files - judges.unfollowed if path in due}

    def _unreached(
        self, runners: Mapping[str, str], passed: Sequence[str], reached: Collection[str]
    ) -> Sequence[str]:
        mains = [path for path in self.walked.mains if path in self.judged]
        is_sure = len(mains) == 1 and compares(self.judged[mains[0]])
        program = [""] if "" in passed and is_sure else []
        tests = [name for name in passed if name]
        # In JavaScript a test need not fail: it has to come to an assertion.
        idle = [name for name in tests if name not in reached]
        found = not_reached_in_javascript(self.scripts, idle, reached, runners)
        return [*not_reached(self.judged, tests), *found, *program]

    def _retold(self) -> dict[str, RetoldJudge]:
        """Return the judges whose text can expect other values."""
        from planbound.judging.retold import retell, shared  # noqa: PLC0415 - seldom needed

        known = shared(self.judged.values())
        chance = random.Random(os.urandom(8))  # noqa: S311 - values for tests
        return {
            path: told
            for path, text in self.judged.items()
            if text and (told := retell(text, chance, known))
        }


def _runs_node(walked: WalkedContract) -> bool:
    names = _NODES | programs(Language.JAVASCRIPT)
    return any(path.endswith(_JAVASCRIPT) for path in walked.files) or any(
        _may_be(call, names) for call in walked.calls
    )


def _has_other_judges(walked: WalkedContract) -> bool:
    """Say whether Python judges by files that are none of its own: by examples in a text."""
    told = (value for call in walked.calls for value in call.values())
    programs = (call.program for call in walked.calls)
    has_examples = any("doctest" in each for each in (*programs, *told))
    return bool(walked.pythons) and (walked.has_runner or has_examples)


def _may_be(call: Call, names: frozenset[str]) -> bool:
    if call.name is None:
        # A variable, a substitution: who knows.
        return call.word is not None
    wrappers = {program_of(word.value or "") for word in call.wrappers}
    return not names.isdisjoint({call.program, *wrappers})


def _answered_in_javascript(
    walked: WalkedContract, scripts: Mapping[str, bytes]
) -> tuple[tuple[str, ...], bool]:
    """Return the tests whose answers follow what their text expects, whatever that is.

    Also return whether a run of these ran out of time.
    """
    kept: frozenset[str] | None = None
    for _ in range(2):
        chance = random.Random(os.urandom(8))  # noqa: S311 - values for tests
        retold = {
            path: told
            for path, data in scripts.items()
            if (told := retell_script(data, chance)) is not None
        }
        outcome, notes = _run(walked, (), {}, tuple(scripts), retold) if retold else (None, ())
        if outcome is None:
            return (), False
        found = answered(retold, *read_taken(outcome.collected, notes))
        kept = found if kept is None else kept & found
        if not kept:
            return (), outcome.ending is CommandEnding.TIMED_OUT
    return tuple(sorted(kept or ())), False


def _run(
    walked: WalkedContract,
    judges: Sequence[str],
    retold: Mapping[str, RetoldJudge],
    in_javascript: Sequence[str] = (),
    scripts: Mapping[str, RetoldScript] = _NOTHING,
) -> tuple[Outcome | None, tuple[str, ...]]:
    """Run the contract with other values; None where something of the tree would be replaced.

    Also return where it is written down what was seen.
    """
    contract, tree = walked.contract, walked.project
    project = JudgedTree(tree.paths, tree.read, os.urandom(8).hex())
    settings = {path: told.settings for path, told in retold.items()}
    runs = []
    if judges or _has_other_judges(walked):
        lines = {path: made_to_fail(tree.read(path) or b"").values() for path in judges}
        tests = {path: sorted({*chain.from_iterable(found)}) for path, found in lines.items()}
        runs.append(mutated_run(project, judges, text_inside, reach(walked), settings, tests))
    if in_javascript:
        told = {path: each.values for path, each in scripts.items()} or None
        hook = text_inside("node", ".cjs")
        runs.append(mutated_node_run(project, in_javascript, hook, told))
    runs = [run for run in runs if not replaces(run.added, project, contract.is_taken)]
    if not runs:
        return None, ()
    request = contract.request
    for run in runs:
        request = with_added(request, run.added)
    notes = tuple(path for run in runs for path in run.notes)
    request = request._replace(collect=notes, needles=())
    texts = {path: each.text for path, each in retold.items()}
    texts |= {path: each.text for path, each in scripts.items()}
    kept = [item for item in request.lay if item.path not in texts]
    modes = {path: contract.manifest.entry(path) for path in texts}
    laid = [
        Laid(path, text, entry.mode if (entry := modes[path]) else 0o644)
        for path, text in texts.items()
    ]
    return contract.judging.cell.run(request._replace(lay=(*kept, *laid))), notes
