"""Tables: one fact, told by many rows, is one test, or the first row stands for the others."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pytest

Test = Callable[..., None]
_SHOWN = 200


def one_fact(
    names: str | Sequence[str], rows: Iterable[Any], ids: object = None
) -> Callable[[Test], Test]:
    """Let a test look at all rows of a table, and name those that do not hold.

    It is written like `pytest.mark.parametrize`, which makes a test of each row: right where each
    has a setting of its own, and slow where there are hundreds. `ids` are not needed here: a row
    is told as it is.
    """
    fields = [name.strip() for name in (names.split(",") if isinstance(names, str) else names)]
    table = [_values(row, len(fields)) for row in rows]
    assert table, "a table without rows says nothing"

    def decorate(test: Test) -> Test:
        @functools.wraps(test)
        def looks_at_all(**given: Any) -> None:
            wrong = []
            for values in table:
                row = dict(zip(fields, values, strict=True))
                try:
                    test(**given, **row)
                except Exception as error:  # noqa: BLE001 - whatever it is, the next row is tried
                    error.add_note(f"in the row {str(row)[:_SHOWN]}")
                    wrong.append(error)
            if wrong:
                raise ExceptionGroup(f"{len(wrong)} of {len(table)} rows do not hold", wrong)

        signature = inspect.signature(test)
        others = [each for each in signature.parameters.values() if each.name not in fields]
        looks_at_all.__signature__ = signature.replace(parameters=others)  # type: ignore[attr-defined]
        return looks_at_all

    return decorate


def first_always(rows: Sequence[Any], *, fields: int = 1) -> list[Any]:
    """Return parameters of which the first is for `make test`, the others for `make test-all`.

    A row has as many values as there are names of parameters: say how many, if not one.
    """
    return [
        rows[0],
        *(pytest.param(*_values(row, fields), marks=pytest.mark.thorough) for row in rows[1:]),
    ]


def _values(row: Any, width: int) -> tuple[Any, ...]:
    values = getattr(row, "values", None)
    if isinstance(values, tuple):  # `pytest.param(...)`
        return values
    return tuple(row) if width > 1 else (row,)
