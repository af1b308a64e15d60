"""Run a contract once more with other expected values: who does not notice cannot judge."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING

from planbound.cells.cell import CommandEnding, Laid, Outcome
from planbound.judging.canary import replaces
from planbound.judging.corroborate import with_added
from planbound.judging.meaning import is_test_file
from planbound.judging.reached import (
    compares,
    made_to_fail,
    not_reached,
    not_reached_in_javascript,
)
from planbound.judging.watched import WalkedContract, passes, text_inside
from planbound.script import Call
from planbound.script.runners import programs
from planbound.script.runners.javascript import DECLARED
from planbound.script.runners.mutated import (
    MutatedTests,
    looked,
    mutated_node_run,
    mutated_run,
    read_answered,
    read_mutated,
)
from planbound.script.runners.runner import JudgedTree, Language
from planbound.script.tree import words
from planbound.script.wrapper import program_of

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract
    from planbound.judging.retold import RetoldJudge

_JAVASCRIPT = DECLARED.endings
_NODES = words("node nodejs npm npx pnpm yarn corepack tsx ts-node c8 nyc")


def mutate(contract: JudgedContract) -> MutatedTests | None:
    """Return what became of the tests; None where nothing of the contract can be changed."""
    walked = WalkedContract(contract)
    tree = walked.project
    known = {*contract.judges.files, *(item.path for item in contract.held_out)}
    judges = sorted(known) or [path for path in tree.paths if is_test_file(path)]
    in_python = [path for path in judges if path.endswith(".py") and walked.pythons]
    in_javascript = [path for path in judges if path.endswith(_JAVASCRIPT) and _runs_node(walked)]
    outcome, notes = _run(walked, in_python, {}, in_javascript)
    if outcome is None:
        return None
    judged = {path: walked.project.read(path) or b"" for path in in_python}
    scripts = {path: walked.project.read(path) or b"" for path in in_javascript}

    def unreached(passed: Sequence[str], reached: Collection[str]) -> Sequence[str]:
        mains = [path for path in walked.mains if path in judged]
        is_sure = len(mains) == 1 and compares(judged[mains[0]])
        program = [""] if "" in passed and is_sure else []
        tests = [name for name in passed if name]
        found = not_reached_in_javascript(scripts, tests, reached)
        return [*not_reached(judged, tests), *found, *program]

    found = read_mutated(
        outcome.collected, notes, passes=passes(contract, outcome), not_reached=unreached
    )
    found = found._replace(is_cut_off=outcome.ending is CommandEnding.TIMED_OUT)
    if found.blind or found.unreached or not in_python or not looked(outcome.collected, notes):
        return found
    answered, is_cut_off = _answered(walked, in_python)
    return found._replace(answered=answered, is_cut_off=found.is_cut_off or is_cut_off)


def _runs_node(walked: WalkedContract) -> bool:
    names = _NODES | programs(Language.JAVASCRIPT)
    return any(path.endswith(_JAVASCRIPT) for path in walked.files) or any(
        _may_be(call, names) for call in walked.calls
    )


def _may_be(call: Call, names: frozenset[str]) -> bool:
    if call.name is None:
        # A variable, a substitution: who knows.
        return call.word is not None
    wrappers = {program_of(word.value or "") for word in call.wrappers}
    return not names.isdisjoint({call.program, *wrappers})


def _answered(walked: WalkedContract, judges: Sequence[str]) -> tuple[tuple[str, ...], bool]:
    """Return the tests whose answers follow what their text expects, whatever that is.

    Also return whether a run of these ran out of time.
    """
    import random  # noqa: PLC0415 - seldom needed

    from planbound.judging.retold import retell  # noqa: PLC0415 - seldom needed

    kept: frozenset[str] | None = None
    # By chance an answer may be what is expected now; hardly twice.
    for _ in range(2):
        chance = random.Random(os.urandom(8))  # noqa: S311 - values for tests
        retold = {
            path: told
            for path in judges
            if (text := walked.project.read(path)) and (told := retell(text, chance))
        }
        outcome, notes = _run(walked, judges, retold) if retold else (None, ())
        if outcome is None:
            return (), False
        found = read_answered(outcome.collected, notes)
        kept = found if kept is None else kept & found
        if not kept:
            return (), outcome.ending is CommandEnding.TIMED_OUT
    return tuple(sorted(kept or ())), False


def _run(
    walked: WalkedContract,
    judges: Sequence[str],
    retold: Mapping[str, RetoldJudge],
    in_javascript: Sequence[str] = (),
) -> tuple[Outcome | None, tuple[str, ...]]:
    """Run the contract with other values; None where something of the tree would be replaced.

    Also return where it is written down what was seen.
    """
    contract, tree = walked.contract, walked.project
    project = JudgedTree(tree.paths, tree.read, os.urandom(8).hex())
    settings = {path: told.settings for path, told in retold.items()}
    runs = []
    if judges:
        lines = {path: made_to_fail(tree.read(path) or b"").values() for path in judges}
        tests = {path: sorted({*chain.from_iterable(found)}) for path, found in lines.items()}
        places = list(walked.places())
        runs.append(mutated_run(project, judges, text_inside, places, settings, tests))
    if in_javascript:
        runs.append(mutated_node_run(project, in_javascript, text_inside("node", ".cjs")))
    runs = [run for run in runs if not replaces(run.added, project, contract.is_taken)]
    if not runs:
        return None, ()
    request = contract.request
    for run in runs:
        request = with_added(request, run.added)
    notes = tuple(path for run in runs for path in run.notes)
    request = request._replace(collect=notes, needles=())
    kept = [item for item in request.lay if item.path not in retold]
    modes = {path: contract.manifest.entry(path) for path in retold}
    laid = [
        Laid(path, told.text, entry.mode if (entry := modes[path]) else 0o644)
        for path, told in retold.items()
    ]
    return contract.judging.cell.run(request._replace(lay=(*kept, *laid))), notes
