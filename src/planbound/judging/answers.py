"""What a product answered, held against what its case expects."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planbound.cells.cell import Captured, Outcome
from planbound.cells.host import HEAD, TAIL
from planbound.cells.processes import found_within
from planbound.judging.compare import difference
from planbound.judging.service import Reply
from planbound.plan.check import CheckCase
from planbound.plan.data import Data, DataError, data_text, read_data

_PATTERN_SECONDS = 5.0
_LONGEST = 160
_NOT_RUN = {126, 127}


def listed_data(value: Data) -> list[Data]:
    """Return a list of a table or an answer; none where it is something else."""
    return value if isinstance(value, list) else []


def whole_output(captured: Captured) -> bytes:
    """Return all that was printed; raise DataError where it was too much to be kept."""
    if captured.dropped:
        raise DataError(f"it is longer than {(HEAD + TAIL) >> 10} KB")
    return captured.head + captured.tail


def _text(captured: Captured) -> str:
    try:
        return whole_output(captured).decode("utf-8")
    except UnicodeDecodeError:
        raise DataError("it is not UTF-8") from None


def _found(pattern: str, text: str) -> bool | None:
    return found_within(pattern, text, _PATTERN_SECONDS)


def _differs(expected: Data, actual: Data) -> str | None:
    return difference(expected, actual, _found)


def _of_text(name: str, expected: Data, read: Callable[[], str]) -> str | None:
    """Compare text; a program ends its last line, and whoever writes a case seldom does."""
    try:
        text = read()
    except DataError as error:
        return f"{name} is no data: {error.reason}"
    if isinstance(expected, str) and text.removesuffix("\n").removesuffix("\r") == expected:
        return None
    reason = _differs(expected, text)
    return f"{name}: {reason}" if reason else None


def _of_json(name: str, expected: Data, read: Callable[[], str]) -> str | None:
    try:
        value = read_data(read())
    except DataError as error:
        return f"{name} is no data: {error.reason}"
    reason = _differs(expected, value)
    return f"{name}: {reason}" if reason else None


def wrong_output(case: CheckCase, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with what a command printed, and with how it ended."""
    expected, code = case.expected, outcome.exit_code
    assert code is not None
    if "error" in expected and code == 0:
        yield "expected an error, got exit code 0"
    if "error" in expected and "exit_code" not in expected and code in _NOT_RUN:
        yield f"exit code {code}: it could not be run, which is no error of its own"
    wanted = expected.get("exit_code", None if "error" in expected else 0)
    if wanted is not None and _differs(wanted, code):
        yield f"exit code {code}, expected {data_text(wanted)}"
    for name, captured in (("stdout", outcome.stdout), ("stderr", outcome.stderr)):
        if name in expected and (
            reason := _of_text(name, expected[name], lambda c=captured: _text(c))  # type: ignore[misc]  # the loop's own
        ):
            yield reason
    if "json" in expected and (
        reason := _of_json("stdout", expected["json"], lambda: _text(outcome.stdout))
    ):
        yield reason


def wrong_return(case: CheckCase, outcome: Outcome) -> Iterator[str]:
    """Yield what is wrong with what the driver wrote, or with whoever wrote in its place."""
    if outcome.exit_code:
        yield f"exit {outcome.exit_code}: the function could not be called"
        return
    try:
        said = read_data(_text(outcome.stdout))
    except DataError as error:
        yield f"the process ended without an answer that is data: {error.reason}"
        return
    if isinstance(said, dict) and "no_data" in said:
        yield f"the function returned what is no data: {str(said['no_data'])[:_LONGEST]}"
    elif isinstance(said, dict) and "raised" in said:
        yield from _wrong_error(case, said)
    elif isinstance(said, dict) and "returned" in said:
        returned = said["returned"]
        if "returns" not in case.expected:
            yield f"expected an error, it returned {data_text(returned)[:_LONGEST]}"
        elif reason := _differs(case.expected["returns"], returned):
            yield reason
        elif len(case.expected) > 1:
            yield "expected an error, too, and it returned"
    else:
        yield "the process ended without an answer"


def _wrong_error(case: CheckCase, said: dict[str, Data]) -> Iterator[str]:
    expected = case.expected
    names = [str(name) for name in listed_data(said["raised"])] or ["nothing that has a name"]
    message = str(said.get("message", ""))
    if "returns" in expected:
        yield f"it raised {names[0]}: {message[:_LONGEST]}"
    wanted = expected.get("error", True)
    if wanted is not True and wanted not in names:
        yield f"expected {wanted}, it raised {names[0]}: {message[:_LONGEST]}"
    if "message" in expected and (reason := _differs(expected["message"], message)):
        yield f"message: {reason}"


def wrong_reply(case: CheckCase, reply: Reply) -> Iterator[str]:
    """Yield what is wrong with what a service replied."""
    expected = case.expected
    if "error" in expected and reply.status < 400:
        yield f"expected an error, got status {reply.status}"
    usual: Data = None if "error" in expected else {"$between": [200, 299]}
    wanted = expected.get("status", usual)
    if wanted is not None and _differs(wanted, reply.status):
        yield f"status {reply.status}, expected " + (
            data_text(wanted) if "status" in expected else "200 to 299"
        )
    if "json" in expected and (reason := _of_json("the body", expected["json"], reply.text)):
        yield reason
    if "text" in expected and (reason := _of_text("the body", expected["text"], reply.text)):
        yield reason
