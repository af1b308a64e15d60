"""Draws which feature imports which, as SVG: boxes in rows, and arrows that point down.

An arrow that follows from others is left out: where `a` imports `b`, and `b` imports `c`, nothing
more is said by an arrow from `a` to `c`. An arrow that passes a row gets a place between its boxes.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import NamedTuple

WIDTH = 960
MARGIN = 16
WIDEST = 310
LETTER = 6.5
LINE = 15
GAP = 14
BETWEEN = 32
PASSING = 8
SWEEPS = 30
CENTRE = 0.2
"""How strongly the middle of the drawing draws."""

_STYLE = """\
  <style>
    .ground { fill: #ffffff; }
    .box { fill: #f1f5fb; stroke: #47608a; stroke-width: 1.2; }
    .arrow { fill: none; stroke: #64748b; stroke-width: 1.3; }
    .head { fill: #64748b; }
    text { font-family: system-ui, "Segoe UI", "DejaVu Sans", Arial, sans-serif; }
    .name { font-size: 15px; font-weight: 600; fill: #14213d; }
    .purpose { font-size: 12px; fill: #334155; }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #0d1117; }
      .box { fill: #1b2638; stroke: #8fb0e6; }
      .arrow { stroke: #9aa8bd; }
      .head { fill: #9aa8bd; }
      .name { fill: #eef4ff; }
      .purpose { fill: #c6d2e4; }
    }
  </style>
  <marker id="end" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8"
    orient="auto" markerUnits="userSpaceOnUse">
    <path class="head" d="M0 0.8 8 4 0 7.2z"/>
  </marker>"""


class Box(NamedTuple):
    """One feature."""

    name: str
    purpose: str
    imports: frozenset[str]

    def lines(self, width: float) -> list[str]:
        """Return its purpose as it is written into the box: the first sentence."""
        sentence = self.purpose.partition(". ")[0].rstrip(".")
        return textwrap.wrap(sentence, int(width / LETTER), max_lines=4, placeholder=" …")


class Spot:
    """A place in a row: of a box, or of an arrow that passes."""

    def __init__(self, box: Box | None = None) -> None:
        self.box = box
        self.x = 0.0
        self.width = float(PASSING)
        self.above: list[Spot] = []
        self.below: list[Spot] = []


def drawing(boxes: Sequence[Box]) -> str:
    """Return the map; a box comes before those that it imports."""
    spots, arrows = _spots(boxes)
    _widen(spots)
    width = _place(spots)
    tops, heights, bottom = _heights(spots)
    level = {
        id(spot): (top, top + height)
        for row, top, height in zip(spots, tops, heights, strict=True)
        for spot in row
    }
    view = f'viewBox="0 0 {width} {bottom}"'
    size = f'width="{width}" height="{bottom}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" {view}>',
        "  <title>Which feature imports which</title>",
        _STYLE,
        f'  <rect class="ground" {size}/>',
        *(_arrow(arrow, level) for arrow in arrows),
    ]
    for row, top, height in zip(spots, tops, heights, strict=True):
        for spot in row:
            if spot.box:
                parts += _drawn(spot.box, spot, top, height)
    return "\n".join([*parts, "</svg>"]) + "\n"


def rows(boxes: Sequence[Box]) -> list[list[Box]]:
    """Return the boxes in rows: each as high as those allow that import it."""
    row = {box.name: 0 for box in boxes}
    for box in boxes:
        for goal in box.imports:
            row[goal] = max(row[goal], row[box.name] + 1)
    return [[box for box in boxes if row[box.name] == each] for each in sorted(set(row.values()))]


def shown(boxes: Sequence[Box]) -> list[tuple[str, str]]:
    """Return the imports that are drawn: those that follow from no others."""
    by_name = {box.name: box for box in boxes}
    reached: dict[str, frozenset[str]] = {}

    def below(name: str) -> frozenset[str]:
        if name not in reached:
            goals = by_name[name].imports
            reached[name] = goals.union(*(below(goal) for goal in goals))
        return reached[name]

    return [
        (name, goal)
        for name, box in by_name.items()
        for goal in sorted(box.imports)
        if not any(goal in below(other) for other in box.imports if other != goal)
    ]


# -- layout ------------------------------------------------------------------------------------


def _spots(boxes: Sequence[Box]) -> tuple[list[list[Spot]], list[list[Spot]]]:
    """Return the rows with the places of passing arrows, and the arrows as ways through them."""
    spots = [[Spot(box) for box in row] for row in rows(boxes)]
    home = {
        spot.box.name: (number, spot)
        for number, row in enumerate(spots)
        for spot in row
        if spot.box
    }
    arrows = []
    for name, goal in shown(boxes):
        (first, start), (last, end) = home[name], home[goal]
        way = [start, *(Spot() for _ in range(first + 1, last)), end]
        for number, spot in enumerate(way[1:-1], first + 1):
            spots[number].append(spot)
        for upper, lower in pairwise(way):
            upper.below.append(lower)
            lower.above.append(upper)
        arrows.append(way)
    return spots, arrows


def _widen(rows: list[list[Spot]]) -> None:
    """Make all boxes as wide as the fullest row allows."""
    room = float(WIDEST)
    for row in rows:
        boxes = [spot for spot in row if spot.box]
        passing = (len(row) - len(boxes)) * (PASSING + GAP)
        room = min(room, (WIDTH - 2 * MARGIN - passing + GAP) / len(boxes) - GAP)
    for spot in (spot for row in rows for spot in row if spot.box):
        spot.width = room // 2 * 2


def _place(rows: list[list[Spot]]) -> int:
    """Give every place its x, near to those that it is joined to; return the width of all."""
    for row in rows:
        _spread(row, [WIDTH * (number + 1) / (len(row) + 1) for number in range(len(row))])
    for sweep in range(SWEEPS):
        for row in reversed(rows) if sweep % 2 else rows:
            targets = [_target(spot, sweep) for spot in row]
            order = sorted(range(len(row)), key=lambda index: (targets[index], index))
            row[:] = [row[index] for index in order]
            _spread(row, [targets[index] for index in order])
    spots = [spot for row in rows for spot in row]
    left = min(spot.x - spot.width / 2 for spot in spots)
    right = max(spot.x + spot.width / 2 for spot in spots)
    for spot in spots:
        spot.x += MARGIN - left
    return round(right - left) + 2 * MARGIN


def _target(spot: Spot, sweep: int) -> float:
    """Return where a place would like to be: first by one side, at last between both."""
    sides = spot.below if sweep % 2 else spot.above
    late = sweep > SWEEPS * 2 // 3
    if late or not sides:
        sides = [*spot.above, *spot.below]
    target = sum(each.x for each in sides) / len(sides) if sides else spot.x
    return target + (WIDTH / 2 - target) * CENTRE if late else target


def _spread(row: list[Spot], targets: list[float]) -> None:
    """Set the places of a row as near to their targets as the width allows."""
    edge = float(MARGIN)
    for spot, target in zip(row, targets, strict=True):
        spot.x = max(target, edge + spot.width / 2)
        edge = spot.x + spot.width / 2 + GAP
    edge = float(WIDTH - MARGIN)
    for spot in reversed(row):
        spot.x = min(spot.x, edge - spot.width / 2)
        edge = spot.x - spot.width / 2 - GAP


def _heights(rows: list[list[Spot]]) -> tuple[list[int], list[int], int]:
    """Return the top and the height of each row, and where the drawing ends."""
    tops, heights, top = [], [], MARGIN
    for row in rows:
        height = 30 + LINE * max(len(spot.box.lines(spot.width)) for spot in row if spot.box)
        tops.append(top)
        heights.append(height)
        top += height + BETWEEN
    return tops, heights, top - BETWEEN + MARGIN


# -- drawing -----------------------------------------------------------------------------------


def _drawn(box: Box, spot: Spot, top: int, height: int) -> Iterator[str]:
    left = f"{spot.x - spot.width / 2:.0f}"
    yield (
        f'  <rect class="box" x="{left}" y="{top}" width="{spot.width:.0f}" '
        f'height="{height}" rx="6"/>'
    )
    yield _line("name", box.name, spot.x, top + 20)
    for number, line in enumerate(box.lines(spot.width)):
        yield _line("purpose", line, spot.x, top + 37 + LINE * number)


def _line(kind: str, text: str, x: float, y: int) -> str:
    return f'  <text class="{kind}" x="{x:.0f}" y="{y}" text-anchor="middle">{escape(text)}</text>'


def _arrow(way: list[Spot], level: dict[int, tuple[int, int]]) -> str:
    start = _port(way[0], way[1], way[0].below)
    end = _port(way[-1], way[-2], way[-1].above)
    x, y = start, float(level[id(way[0])][1])
    path = [f"M{x:.0f} {y:.0f}"]
    for spot in way[1:]:
        goal = end if spot is way[-1] else spot.x
        top, bottom = level[id(spot)]
        half = (top - y) / 2
        path.append(f"C{x:.0f} {y + half:.0f} {goal:.0f} {top - half:.0f} {goal:.0f} {top:.0f}")
        if spot is not way[-1]:
            path.append(f"V{bottom}")
        x, y = goal, float(bottom)
    return f'  <path class="arrow" d="{" ".join(path)}" marker-end="url(#end)"/>'


def _port(spot: Spot, other: Spot, joined: list[Spot]) -> float:
    """Return where at a box an arrow begins or ends: side by side, in the order of the others."""
    order = sorted(range(len(joined)), key=lambda index: (joined[index].x, index))
    place = next(number for number, index in enumerate(order) if joined[index] is other)
    step = min(22.0, (spot.width - 30) / max(1, len(joined)))
    return spot.x + (place - (len(joined) - 1) / 2) * step
