"""What an approval names: files of a branch's gates that a plan may change although they judge."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from planbound.approval.sheet import Sheet
from planbound.page.forms import button
from planbound.page.visit import address
from planbound.receipts.html import Html, element, served
from planbound.receipts.pieces import said

_FIELD = "gate-"
_SHOWN = 200


def named_gates(sheet: Sheet, fields: Mapping[str, str]) -> tuple[str, ...]:
    """Return the files that somebody named, of those that the sheet showed."""
    named = {value for name, value in fields.items() if name.startswith(_FIELD)}
    return tuple(path for path in sheet.gate_files if path in named)


def gate_doubts(sheet: Sheet) -> Iterator[str]:
    """Yield what is to be seen before a plan may change what gates of the branch judge by."""
    for path in sheet.gate_files[:_SHOWN]:
        yield (
            f"a gate of the branch judges by `{path}`: if a step changes that, the plan is not"
            " merged, unless its approval names it"
        )


def gate_boxes(sheet: Sheet, fields: Mapping[str, str]) -> Html | None:
    """Return the choice of what is named."""
    if not sheet.gate_files:
        return None
    named = named_gates(sheet, fields)
    boxes = (
        served("label", served("input", type="checkbox", name=f"{_FIELD}{place}", value=path,
                               checked=path in named or None),
               " it may change ", said(path, 200), ", by which a gate of the branch judges")
        for place, path in enumerate(sheet.gate_files[:_SHOWN])
    )  # fmt: skip
    return element(
        "details", element("summary", "Approve changes of gates"), boxes, open=bool(named)
    )


def gate_choice(slug: str, sheet: Sheet, fields: Mapping[str, str]) -> Html | None:
    """Return the form that writes what is named into the statement that is to be signed."""
    boxes = gate_boxes(sheet, fields)
    if boxes is None:
        return None
    return served(
        "form",
        boxes,
        button("Write these into the statement"),
        method="get",
        action=address("plan", slug, "gate"),
        aria_label="Changes of gates that the statement names",
    )


def kept_gates(sheet: Sheet, fields: Mapping[str, str]) -> Iterator[Html]:
    """Yield the fields by which a signature comes back with what its statement names."""
    for place, path in enumerate(named_gates(sheet, fields)):
        yield served("input", type="hidden", name=f"{_FIELD}{place}", value=path)


def statement_query(sheet: Sheet, fields: Mapping[str, str]) -> dict[str, str]:
    """Return what the address of the statement says of them."""
    named = named_gates(sheet, fields)
    return {f"{_FIELD}{place}": path for place, path in enumerate(named)}
