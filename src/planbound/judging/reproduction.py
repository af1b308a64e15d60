"""Contracts that want tests to fail: a step that shows a fault before anybody mends it.

Such a step is done while the fault is there. So it is no less done when a later step has mended
the fault, and its contract fails on the final tree as it should.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from planbound.plan.model import Command, Contains, Contract, ExitCodeIs, Expectation
from planbound.script import Call, Script, read_script
from planbound.script.runners import is_named
from planbound.script.status import deciding_calls
from planbound.script.tree import Branches, Chain, Pipeline, Statement, StatementList, Subshell
from planbound.source import lazy_pattern

_TELLS_OF_FAILURE = lazy_pattern(
    r"FAILED(?!\W*0)|^\W*AssertionError\W*$|(?<![\d.])[1-9]\d* (?:tests? )?fail|^failed?$"
)
_TELLS_OF_PASS = lazy_pattern(r"(?i)pass|\bok\b")
_IS_FAILURE = lazy_pattern(r"\$\?\S*\s+(?:-ne|-gt|!=)\s+\S?0|\$\?\S*\s+(?:-eq|==?)\s+\S?1\b")
_SAYS_NOTHING = frozenset({0, 5, 126, 127})
"""Codes that tell of no failed test: pytest found none, or nothing was started."""
_STARTERS = frozenset({"npm", "pnpm", "yarn", "bun", "make", "just", "tox", "nox"})
"""What starts a runner by another name."""
_GREPS = frozenset({"grep", "egrep", "fgrep", "rg"})


def is_reproduction(contract: Contract | None) -> bool:
    """Say whether a contract shows a fault: it passes because tests fail."""
    if not isinstance(contract, Command):
        return False
    expectations = [item.value for item in contract.expectations]
    return wants_failures(read_script(contract.text), expectations)


def wants_failures(script: Script, expectations: Sequence[Expectation]) -> bool:
    """Say whether a contract passes because tests fail; where in doubt, it does not."""
    runs = [call for call in script.calls if _is_run(call)]
    # One run, and nothing else of which the failure counts: whatever is to pass has a canary.
    if script.broken or len(runs) != 1 or runs[0].nested:
        return False
    codes = [item.code for item in expectations if isinstance(item, ExitCodeIs)]
    if any(codes):
        return not _SAYS_NOTHING.intersection(codes) and runs[0] in deciding_calls(script)
    if any(isinstance(each, Contains) and _tells(each.text) for each in expectations):
        return True
    return any(map(_turns, _statements(script.block)))


def _is_run(call: Call) -> bool:
    if call.program in _STARTERS:
        return any("test" in value for value in call.values())
    return is_named(call)


def _tells(text: str) -> bool:
    return bool(_TELLS_OF_FAILURE.search(text)) and not _TELLS_OF_PASS.search(text)


def _statements(statement: Statement) -> Iterator[Statement]:
    """Yield the statements that decide, those in `if` as a whole."""
    yield statement
    match statement:
        case StatementList() | Chain():
            for item in statement.items:
                yield from _statements(item)
        case Subshell():
            yield from _statements(statement.body)
        case _:
            pass


def _turns(statement: Statement) -> bool:
    """Say whether a statement turns the failure of tests into a success."""
    match statement:
        case Pipeline(items=[Call() as call], negated=True):
            return _is_run(call)
        case Pipeline(
            items=[Subshell(body=StatementList(items=[*_, Call() as call]))], negated=True
        ):
            return _is_run(call)
        case Pipeline(items=[*before, Call() as last], negated=False):
            fed = any(isinstance(each, Call) and _is_run(each) for each in before)
            return fed and last.program in _GREPS and not last.has("-v", "-L") and _finds(last)
        case Chain():
            return _chain_turns(statement)
        case Branches(conditions=[StatementList(items=[Call() as call]), *_], bodies=[first, *_]):
            return _is_run(call) and _fails(first)
        case _:
            return False


def _finds(call: Call) -> bool:
    return any(map(_tells, call.values()))


def _chain_turns(chain: Chain) -> bool:
    """Look for `pytest && exit 1`, and for `pytest || test $? -eq 1`."""
    for before, operator, behind in zip(
        chain.items, chain.operators, chain.items[1:], strict=False
    ):
        if isinstance(before, Call) and _is_run(before) and isinstance(behind, Call):
            if operator == "&&" and _ends_badly(behind):
                return True
            if operator == "||" and _asks_for_failure(behind):
                return True
    return False


def _fails(block: StatementList) -> bool:
    return bool(block.items) and isinstance(block.items[-1], Call) and _ends_badly(block.items[-1])


def _ends_badly(call: Call) -> bool:
    return call.name == "false" or (call.name == "exit" and call.values() not in ([], ["0"]))


def _asks_for_failure(call: Call) -> bool:
    text = " ".join(word.text for word in call.arguments)
    return call.name in {"test", "[", "[["} and _IS_FAILURE.search(text) is not None
