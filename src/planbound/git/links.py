"""Where the symbolic links of a tree lead, told by their text alone."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

_HOPS = 40
_ROUNDS = 4
"""A name may lead through so many links, one after the other."""
_MOST = 100_000


class OtherNames(NamedTuple):
    """By which other names the files of a tree can be reached."""

    files: dict[str, str]
    """Behind which name that leads through links which file is."""
    left: frozenset[str]
    """Folders behind links of which not all names were told: there are too many."""


def follow_links(path: str, links: Mapping[str, str]) -> str | None:
    """Return what a path of a tree leads to; None where that is outside of it, or a loop."""
    waiting = path.split("/")[::-1]
    done: list[str] = []
    hops = 0
    while waiting:
        name = waiting.pop()
        if name in {"", "."}:
            continue
        if name == "..":
            if not done:
                return None
            done.pop()
            continue
        done.append(name)
        target = links.get("/".join(done))
        if target is None:
            continue
        hops += 1
        if hops > _HOPS or target.startswith("/"):
            return None
        done.pop()
        waiting += target.split("/")[::-1]
    return "/".join(done)


def other_names(files: Collection[str], links: Mapping[str, str], most: int = _MOST) -> OtherNames:
    """Return the names that links give to files, also through several links."""
    found: dict[str, str] = {}
    folders: dict[str, str] = {}
    known = frozenset(files)
    for link in sorted(links):
        target = follow_links(link, links)
        if target in known:
            found[link] = target
        elif target is not None:
            folders[link] = target
    new = {**dict.fromkeys(known, ""), **found}
    for _ in range(_ROUNDS):
        more: dict[str, str] = {}
        ordered = sorted(new)
        for link, target in folders.items():
            inside = f"{target}/" if target else ""
            for name in _beginning(ordered, inside):
                other = f"{link}/{name[len(inside) :]}"
                if other not in found and other not in known:
                    more[other] = found.get(name, name)
            if len(found) + len(more) > most:
                return OtherNames(found, frozenset(folders.values()))
        if not more:
            break
        found |= more
        new = more
    return OtherNames(found, frozenset())


def _beginning(ordered: Sequence[str], start: str) -> Iterator[str]:
    after = (ordered[place] for place in range(bisect_left(ordered, start), len(ordered)))
    return takewhile(lambda name: name.startswith(start), after)
