"""What was used over time, as a drawing: known amounts as a line, what nobody knows hatched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from planbound.receipts.html import Html, element, identity

_WIDTH, _HEIGHT, _EDGE = 640, 160, 6
_NARROWEST = 4.0
_FAR = 20.0
"""A limit so many times above all that was used is not drawn: it is said to be above."""


class Used(NamedTuple):
    """What one attempt used."""

    begun: float
    """In seconds, from any beginning."""
    ended: float
    amount: float | None
    """None: nobody knows."""


class Scale(NamedTuple):
    """Where times and amounts are drawn."""

    first: float
    last: float
    most: float

    def x(self, moment: float) -> float:
        """Return where a time is."""
        span = self.last - self.first
        share = (moment - self.first) / span if span > 0 else 1.0
        return round(_EDGE + min(1.0, max(0.0, share)) * (_WIDTH - 2 * _EDGE), 1)

    def y(self, amount: float) -> float:
        """Return where an amount is."""
        share = min(1.0, amount / self.most) if self.most > 0 else 0.0
        return round(_HEIGHT - _EDGE - share * (_HEIGHT - 2 * _EDGE), 1)


def moments(when: str, seconds: float | None) -> tuple[float, float]:
    """Return when an attempt began and ended, from its end and how long it took."""
    ended = datetime.fromisoformat(when).timestamp()
    return ended - (seconds or 0.0), ended


def is_far(total: float, limit: float | None) -> bool:
    """Say whether a limit is so far above that a line at its height would leave nothing to see."""
    return limit is not None and total > 0 and limit > _FAR * total


def chart(name: str, summary: str, used: Sequence[Used], limit: float | None) -> Html:
    """Return a drawing of a sum that grows; `summary` says it in words."""
    total = sum(each.amount or 0.0 for each in used)
    far = is_far(total, limit)
    most = max(total * 1.1, 0.0 if far or limit is None else limit * 1.05) or 1.0
    scale = Scale(
        min((each.begun for each in used), default=0.0),
        max((each.ended for each in used), default=1.0),
        most,
    )
    hatch, title = identity(name, "hatch"), identity(name, "title")
    return element(
        "svg",
        element("title", summary, id=title),
        element(
            "defs",
            element(
                "pattern",
                element("path", d="M0 8 L8 0", class_="hatch-line"),
                id=hatch,
                width=8,
                height=8,
                patternUnits="userSpaceOnUse",
            ),
        ),
        element("rect", x=0, y=0, width=_WIDTH, height=_HEIGHT, class_="chart-ground"),
        (_unknown(each, scale, hatch) for each in used if each.amount is None),
        _line(used, scale),
        None if far or limit is None else _limit(limit, scale),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_labelledby=title,
        class_="chart",
    )


def _unknown(each: Used, scale: Scale, hatch: str) -> Html:
    left, right = scale.x(each.begun), scale.x(each.ended)
    width = max(_NARROWEST, right - left)
    left = min(left, _WIDTH - _EDGE - width)
    return element(
        "rect",
        x=str(round(left, 1)),
        y=_EDGE,
        width=str(round(width, 1)),
        height=_HEIGHT - 2 * _EDGE,
        fill=f"url(#{hatch})",
        class_="chart-unknown",
    )


def _line(used: Sequence[Used], scale: Scale) -> Html | None:
    """Return the sum of what is known as steps, each at the end of its attempt."""
    known = [each for each in sorted(used, key=lambda each: each.ended) if each.amount is not None]
    if not known:
        return None
    total, path = 0.0, [f"M{scale.x(scale.first)} {scale.y(0)}"]
    for each in known:
        path.append(f"H{scale.x(each.ended)}")
        total += each.amount or 0.0
        path.append(f"V{scale.y(total)}")
    path.append(f"H{scale.x(scale.last)}")
    return element("path", d=" ".join(path), fill="none", class_="chart-line")


def _limit(limit: float, scale: Scale) -> Html:
    height = str(scale.y(limit))
    return element("line", x1=0, x2=_WIDTH, y1=height, y2=height, class_="chart-limit")
