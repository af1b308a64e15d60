"""Which files a contract judges by.

Too many is better than too few: `touches` decides what honest work may change. But what the step
is to make or mend is no judge, or a plan without `touches` could not be done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from planbound.engine.judging.finder import Finder
from planbound.engine.judging.listing import Listing
from planbound.plan.command import Script
from planbound.plan.glob import Glob


class Judges(NamedTuple):
    """What must be as it was when a contract runs."""

    files: frozenset[str]
    """The paths of the tree that are judges."""
    directories: frozenset[str]
    """Where a new file would be a judge too."""
    names: frozenset[str]
    """What is not there, but would be read if it appeared."""


def judge_paths(
    contracts: Sequence[Script],
    declared: Sequence[Glob],
    tree: Sequence[str],
    read: Callable[[str], bytes | None],
) -> Judges:
    """Return the judges of contracts: declared, named in the command, or read by what it runs."""
    listing = Listing(tree)
    finder = Finder(listing, read)
    for glob in declared:
        _declare(glob, listing, finder)
    for script in contracts:
        finder.script(script)
    finder.follow()
    return Judges(
        files=frozenset(finder.files),
        directories=frozenset(finder.directories),
        names=frozenset(finder.names - listing.files),
    )


def _declare(glob: Glob, listing: Listing, finder: Finder) -> None:
    finder.files.update(path for path in listing.files if glob.matches(path))
    prefix = "/".join(glob.literal_prefix)
    if glob.is_literal and prefix in listing.folders:
        finder.directory(prefix)
    elif glob.is_literal:
        finder.names.add(prefix)
    elif prefix and glob.matches(f"{prefix}/x") and glob.matches(f"{prefix}/x/x"):
        finder.directories.add(prefix)
