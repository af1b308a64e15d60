"""Call one function of a project, and write what it returned, as data.

The harness hands this text to the project's own interpreter, in the cell of one case; so it needs
nothing but an old Python. It knows what the function is given, and not what is expected of it:
whoever gets hold of it can only make it give another answer.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_LARGEST = 14_000
"""More bits than that have more digits than Python writes."""


def answer_of(name: str) -> None:
    """Read arguments from standard input, call the function, write the answer and end."""
    here = sys.path.pop(0)
    # Before the project's modules can stand in for any of these.
    import importlib  # noqa: PLC0415 - see above
    import json  # noqa: PLC0415 - see above

    given = json.loads(sys.stdin.buffer.read().decode("utf-8"))
    answers = os.dup(1)
    os.dup2(2, 1)  # what the project prints is no answer
    sys.path[:0] = [here, "src"] if os.path.isdir("src") else [here]
    module, _, path = name.partition(":")
    function: Any = importlib.import_module(module)
    for part in path.split("."):
        function = getattr(function, part)
    said = _called(function, given)
    text = json.dumps(said).encode("ascii")
    while text:
        text = text[os.write(answers, text) :]
    # Nothing that waits for the end of the process has a say any more.
    os._exit(0)


def _called(function: Any, given: Any) -> dict[str, Any]:
    try:
        value = function(*given["args"], **given["kwargs"])
    except BaseException as error:  # noqa: BLE001 - whatever it raises is its answer
        names = [str(kind.__name__) for kind in type(error).__mro__]
        try:
            message = str(error)
        except Exception:  # noqa: BLE001 - the project's own
            message = ""
        return {"raised": names, "message": message}
    try:
        return {"returned": _data(value)}
    except TypeError as error:
        return {"no_data": str(error)}
    except RecursionError:
        return {"no_data": "something that holds itself, or is nested too deeply"}


def _data(value: Any) -> Any:
    """Return a value as plain data, by what it holds and not by what it says of itself."""
    kind = type(value)
    if value is None or kind in (bool, str):
        return value
    if issubclass(kind, float):
        number = float.__add__(value, 0.0)
        if number - number != 0:
            raise TypeError("a number that is not finite")
        return number
    if issubclass(kind, (list, tuple)):
        items = list.__iter__(value) if issubclass(kind, list) else tuple.__iter__(value)
        return [_data(item) for item in items]
    if issubclass(kind, dict):
        members = {}
        for name, item in dict.items(value):
            if not issubclass(type(name), str):
                raise TypeError(f"a key of type {type(name).__name__}")
            members[str.__add__(name, "")] = _data(item)
        return members
    if issubclass(kind, int):
        number = int.__add__(value, 0)
        if number.bit_length() > _LARGEST:
            raise TypeError("a number with more digits than JSON is read with")
        return number
    if issubclass(kind, str):
        return str.__add__(value, "")
    raise TypeError(f"a value of type {kind.__name__}")


if __name__ == "__main__":
    answer_of(sys.argv[1])
