"""Labels of steps: `3`, the templates `3-N` and `N+1`, and references to them."""

from __future__ import annotations

import re

from planbound.source.pattern import lazy_pattern


def is_template(label: str) -> bool:
    """Say whether a label stands for steps that are still to be written out."""
    return label == "N" or label.endswith("-N") or label.startswith("N+")


def normalise_label(written: str) -> str:
    """Return `3-N` for `3 – n`, `N+1` for `N + 1`, `3` for `03`."""
    compact = re.sub(r"\s+", "", written)
    compact = re.sub(r"[–—−]|\.\.+|…|to", "-", compact, flags=re.IGNORECASE)
    if compact.isdecimal():
        return str(int(compact))
    return re.sub(r"n", "N", compact) if re.search(r"n", compact, re.IGNORECASE) else compact


_REFERENCE = lazy_pattern(
    r"(?P<none>none|nothing|n/a|[-–—](?!\d)|no\b)"
    r"|(?P<template>\d{1,6}\s*[-–—−]\s*N\b|N\s*\+\s*\d{1,4}|N\b)"
    r"|(?P<low>\d{1,6})\s*(?:[-–—−]|\.\.+|\bto\b)\s*(?P<high>\d{1,6})"
    r"|(?P<one>\d{1,6})(?![.\d]\d)(?!\w)"
    r"|(?P<filler>steps?\b|tasks?\b|and\b|[\s,;&#.+])"
    r"|(?P<junk>[^\s,;]+)",
    re.IGNORECASE | re.ASCII,
)
MAX_RANGE = 10_000


def read_references(text: str) -> tuple[list[tuple[str, int, int]], list[tuple[str, int, int]]]:
    """Return the step labels that a text names, and what in it is no label, with their ranges."""
    labels: list[tuple[str, int, int]] = []
    junk: list[tuple[str, int, int]] = []
    for match in _REFERENCE.finditer(text):
        place = (match.start(), match.end())
        if match["low"] is not None:
            low, high = int(match["low"]), int(match["high"])
            if low < high <= low + MAX_RANGE:
                labels += [(str(number), *place) for number in range(low, high + 1)]
            else:
                junk.append((match.group(), *place))
        elif match["one"] or match["template"]:
            labels.append((normalise_label(match.group()), *place))
        elif match["junk"]:
            junk.append((match.group(), *place))
    return labels, junk
