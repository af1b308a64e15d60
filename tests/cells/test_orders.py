"""What a cell is told of places: links are resolved as the system does it, of many at once."""

from __future__ import annotations

import itertools
import os
from pathlib import Path

from planbound.cells.inside.order import ROOMS
from planbound.cells.orders import _outermost, _resolved, in_walls


def places(top: Path) -> list[str]:
    """Make folders, files and links, and return ways to name them."""
    (top / "a/b/c").mkdir(parents=True)
    (top / "a-b/c").mkdir(parents=True)
    (top / "a/file").write_text("x")
    (top / "to-a").symlink_to("a")
    (top / "a/b/up").symlink_to("../..")
    (top / "a/chain").symlink_to("../to-a/b")
    (top / "a/loop").symlink_to("loop")
    (top / "a/dead").symlink_to("nowhere")
    names = ["a", "a-b", "a/b", "a/b/c", "to-a", "to-a/b", "to-a/file", "a/b/up", "a/b/up/a-b/c"]
    names += ["a/chain", "a/chain/c", "a/loop", "a/dead", "a/none", "to-a/b/up/to-a/chain/c"]
    odd = ["to-a/b/..", "a/chain/../file", "a//b", "a/b/", "./a"]
    return [*(str(top / name) for name in names), *(f"{top}/{name}" for name in odd), "/", str(top)]


def test_many_places_are_resolved_like_each_of_them(tmp_path: Path) -> None:
    paths = places(tmp_path)
    assert [real for _, real in _resolved(paths)] == [os.path.realpath(path) for path in paths]
    for path, (named, _) in zip(paths, _resolved(paths), strict=True):
        if path == os.path.normpath(path):
            folder, name = os.path.split(path)
            assert named == os.path.join(os.path.realpath(folder), name)


def test_what_lies_in_walls_is_found_by_its_place_and_by_its_link(tmp_path: Path) -> None:
    top = Path(os.path.realpath(tmp_path))
    places(top)
    walls = (*ROOMS, f"{top}/a")
    found = in_walls([str(top / "to-a/b"), str(top / "a/chain"), str(top / "a/none"), "/"], walls)
    assert found == [f"{top}/a/b", f"{top}/a/chain"]


def test_the_outermost_of_places_are_those_that_lie_in_no_other() -> None:
    names = ["/a", "/a/b", "/a-b", "/a/b/c", "/a-b/c", "/", "/ab", "/a.b/c"]
    for count in range(len(names) + 1):
        for some in itertools.combinations(names, count):
            within = {each for each in some for other in some if each.startswith(f"{other}/")}
            assert _outermost(some) == tuple(sorted(set(some) - within))
