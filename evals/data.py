"""The data folder: where the sets are, and whether they are what the table was made with."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from evals.exercise import Exercise
from evals.sets import SETS, PublicSet

VARIABLE = "PLANBOUND_EVALS"


class DataError(Exception):
    """The data cannot be used; says what to do."""


def data_folder() -> Path:
    """Return the folder that the environment names."""
    named = os.environ.get(VARIABLE)
    if not named:
        raise DataError(
            f"`{VARIABLE}` is not set: it names the folder with the public sets\n"
            "hint: evals/README.md says how to get them"
        )
    folder = Path(named).expanduser().resolve()
    if not folder.is_dir():
        raise DataError(
            f"`{VARIABLE}` names `{named}`, which is no folder\n"
            "hint: evals/README.md says how to get the sets"
        )
    return folder


def exercises(folder: Path, name: str, seed: int) -> list[Exercise]:
    """Return the exercises of a set whose bytes are the expected ones."""
    wanted = SETS[name]
    place = folder / wanted.place
    if not place.exists():
        raise DataError(
            f"`{name}` is not in the data folder: there is no `{wanted.place}`\n"
            f"hint: get it as evals/README.md says, or leave it out with `--set`"
        )
    if wanted.needs and not (folder / wanted.needs).exists():
        raise DataError(
            f"`{name}` needs `{wanted.needs}` in the data folder\n"
            f"hint: install it as evals/README.md says, or leave the set out with `--set`"
        )
    check_digest(name, wanted, place)
    return list(wanted.read(name, place, seed))


def check_digest(name: str, wanted: PublicSet, place: Path) -> None:
    """Refuse other bytes than those that the table was made with."""
    found = digest_of(place)
    if found != wanted.digest:
        raise DataError(
            f"`{name}` has the digest `{found}`, and not `{wanted.digest}`\n"
            f"hint: get the version that evals/README.md names, with nothing else in "
            f"`{wanted.place}`"
        )


def digest_of(place: Path) -> str:
    """Return the SHA-256 of a file; for a folder, of what `sha256sum` prints for its files."""
    if place.is_file():
        return hashlib.sha256(place.read_bytes()).hexdigest()
    return hashlib.sha256("".join(_sums(place)).encode()).hexdigest()


def _sums(place: Path) -> Iterator[str]:
    files = (Path(parent) / name for parent, _, names in os.walk(place) for name in names)
    for path in sorted(files, key=lambda path: os.fsencode(path.relative_to(place))):
        if ".git" in path.relative_to(place).parts:
            continue
        content = os.fsencode(os.readlink(path)) if path.is_symlink() else path.read_bytes()
        yield f"{hashlib.sha256(content).hexdigest()}  ./{path.relative_to(place)}\n"
