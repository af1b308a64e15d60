"""Glob patterns of `touches`: which files may a step change.

A pattern is relative to the workspace root; `/` separates its segments.

| written         | means                                                                     |
| --------------- | ------------------------------------------------------------------------- |
| `*`             | any run of characters, also none, inside one segment                      |
| `?`             | one character                                                             |
| `[abc]` `[a-z]` | one of these characters; a `]` that comes first is a member, not the end  |
| `[!abc]`        | one character that is none of these                                       |
| `**`            | as a whole segment: any number of segments, also none                     |
| `docs/**`       | everything below `docs`, at any depth, but not `docs` itself              |
| `**/x`          | `x` and `a/x` and `a/b/x`                                                 |
| `docs/`         | the same as `docs/**`                                                     |
| `{a,b}`         | either; may be nested and may hold `/`; at most 256 expansions            |
| `./a`           | the same as `a`                                                           |

Braces are expanded first, as text, and each expansion is read as a pattern of its own: `a{/,b}`
is `a/` (so `a/**`) and `ab`. A brace inside a class is an ordinary character, and a class of one
character is how to write a special character literally: `pages/[[]id].tsx`.

Dotfiles are not special, case matters, and characters are compared by code point. `?`, `*` and
classes never match `/`. A path is a possible path: its segments are not empty, not `.`, not `..`
and hold no NUL, so `.?` and `?.` do not meet: only `..` would fit both.

Not a pattern: the empty text; an absolute path (`/x`, `C:/x`, `~/x`); a `..` segment; an empty
segment; a `.` segment other than the leading one; `**` glued to other characters; an unclosed `[`
or `{`; `{}`; a reversed range; a class that starts with `^`; a backslash; a control character; a
leading `!`.

How it works: a segment is a chain of character sets with gaps (`*`), and a path is a chain of
segments with gaps (`**`). Two chains meet when a walk through both at once reaches both ends, so
one walk answers all four questions: character or segment, match or intersection. The walk keeps
every position that it can be at as one bit of an integer. It never backtracks.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import takewhile
from typing import TypeVar

from msgspec import Struct

from planbound.plan.glob_segment import (
    ANY,
    Characters,
    GapSequence,
    GlobError,
    GlobProblem,
    Segment,
    class_end,
    invalid,
    meet,
    name_fits,
    parse_segment,
    segments_meet,
)
from planbound.source import lazy_pattern

__all__ = ["Glob", "GlobError", "GlobProblem", "meeting_pairs", "parse_glob", "within"]

# -- glob patterns of `touches`: which files may a step change -----------------------------------


MAXIMUM_EXPANSIONS = 256

_IMPOSSIBLE_NAMES = frozenset({"", ".", ".."})
_END = "\0"
"""Marks the end of a whole path. No name holds it, so `a` does not look like the start of `ab`."""
_WHOLE_WORKSPACE = "`**` is every file of the workspace"
_FROM_THE_ROOT = "write the path as seen from the workspace root, such as `src/**`"
_CONTROL = lazy_pattern(r"[\x00-\x1f\x7f-\x9f]")
_ORDINARY = lazy_pattern(r"[^\[{},]+")


class _Alternative(Struct, frozen=True):
    """One brace expansion of a pattern."""

    path: GapSequence[Segment]
    key: str
    """How every matched path starts, or the whole path and an end mark: if two alternatives meet,
    the key of one is a prefix of the key of the other."""


class Glob:
    """A pattern, as made by `parse_glob`. Two globs are equal when they are written the same."""

    __slots__ = ("alternatives", "text")

    def __init__(self, text: str, alternatives: tuple[_Alternative, ...]) -> None:
        self.text = text
        self.alternatives = alternatives

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Glob) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)

    def __repr__(self) -> str:
        return f"Glob({self.text!r})"

    def matches(self, path: str) -> bool:
        """Whether `path`, relative to the workspace root, matches. An impossible path does not."""
        path = path.removeprefix("./")
        names = tuple(path.split("/"))
        if _END in path or any(name in _IMPOSSIBLE_NAMES for name in names):
            return False
        walked = GapSequence(items=names, gaps=0)
        return any(
            f"{path}{_END}".startswith(each.key) and meet(walked, each.path, name_fits)
            for each in self.alternatives
        )

    def intersects(self, other: Glob) -> bool:
        """Whether there is any path that both match. Exact."""
        return any(
            _keys_agree(mine.key, theirs.key) and meet(mine.path, theirs.path, segments_meet)
            for mine in self.alternatives
            for theirs in other.alternatives
        )

    @property
    def is_literal(self) -> bool:
        """Whether it names one path, which then is its literal prefix."""
        return len(self.alternatives) == 1 and self.alternatives[0].key.endswith(_END)

    @property
    def literal_prefix(self) -> tuple[str, ...]:
        """The leading segments without a wildcard, as far as all brace alternatives share them."""
        prefixes = [_literal_names(each.path) for each in self.alternatives]
        # What the first and the last in order share, all between them share too.
        first, last = min(prefixes), max(prefixes)
        shared = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
        return tuple(name for name, _ in shared)


def parse_glob(text: str) -> Glob:
    """Read a pattern, or raise `GlobError`."""
    if not text:
        raise invalid("the pattern is empty; expected a path or a pattern", _WHOLE_WORKSPACE)
    if "\\" in text:
        raise invalid(f"found a backslash in `{text}`; expected `/` between segments", "use `/`")
    if control := _CONTROL.search(text):
        found = f"found the control character U+{ord(control[0]):04X}"
        raise invalid(f"{found}; expected characters that can be seen")
    return Glob(text, tuple(_parse_alternative(each) for each in _expand(text)))


def meeting_pairs(
    groups: Sequence[Sequence[Glob]], may_meet: Callable[[int, int], bool]
) -> Iterator[tuple[int, int, Glob, Glob]]:
    """For groups i < j that `may_meet`, in order: the first pair of their globs that intersect.

    Only pairs whose literal beginnings agree are looked at, and `may_meet` is asked once for each
    such pair: groups that begin differently cost next to nothing.
    """
    index = _index(groups)
    ordered = sorted(index)
    for first, globs in enumerate(groups):
        candidates = _candidates(first, globs, index, ordered)
        for second in sorted(candidates):
            if not may_meet(first, second):
                continue
            for mine, theirs in sorted(candidates[second]):
                if globs[mine].intersects(groups[second][theirs]):
                    yield first, second, globs[mine], groups[second][theirs]
                    break


_Index = dict[str, list[tuple[int, int]]]
"""By key of an alternative: the places (group, position in it) of the globs, in order."""


def _index(groups: Sequence[Sequence[Glob]]) -> _Index:
    index: _Index = {}
    for group, globs in enumerate(groups):
        for position, glob in enumerate(globs):
            for key in {each.key for each in glob.alternatives}:
                index.setdefault(key, []).append((group, position))
    return index


def _candidates(
    group: int, globs: Sequence[Glob], index: _Index, ordered: Sequence[str]
) -> dict[int, set[tuple[int, int]]]:
    """By later group: the positions, here and there, of globs whose keys agree."""
    candidates: dict[int, set[tuple[int, int]]] = {}
    for position, glob in enumerate(globs):
        for key in {each.key for each in glob.alternatives}:
            for agreeing in _agreeing_keys(key, index, ordered):
                places = index[agreeing]
                for other, there in places[bisect_left(places, (group + 1, 0)) :]:
                    candidates.setdefault(other, set()).add((position, there))
    return candidates


def _agreeing_keys(key: str, index: _Index, ordered: Sequence[str]) -> Iterator[str]:
    """The keys that are a prefix of `key`, and those that `key` is a prefix of."""
    for length in range(len(key)):
        if key[:length] in index:
            yield key[:length]
    for position in range(bisect_left(ordered, key), len(ordered)):
        if not ordered[position].startswith(key):
            return
        yield ordered[position]


def _keys_agree(left: str, right: str) -> bool:
    return left.startswith(right) or right.startswith(left)


def _expand(text: str) -> list[str]:
    """Expand the braces. The stack is its own: text may nest deeper than Python's calls."""
    stack: list[tuple[list[str], list[str]]] = []
    done: list[str] = []  # the expansions of the finished alternatives of the innermost brace
    current = [""]  # the expansions, so far, of the alternative at hand
    position = 0
    while position < len(text):
        character, end = text[position], position + 1
        if character == "{":
            if text.startswith("{}", position):
                raise invalid(f"found `{{}}` in `{text}`; expected alternatives, as in `{{a,b}}`")
            stack.append((done, current))
            done, current = [], [""]
        elif character in ",}" and stack:
            done, current = done + current, [""]
            if character == "}":
                alternatives, (done, before) = done, stack.pop()
                current = [start + each for start in before for each in alternatives]
        else:
            end = _ordinary_end(text, position)
            current = [each + text[position:end] for each in current]
        if len(done) + len(current) > MAXIMUM_EXPANSIONS:
            found = f"the braces of `{text}` have more than {MAXIMUM_EXPANSIONS} expansions"
            raise invalid(f"{found}; expected at most that many", "use `*`, or several patterns")
        position = end
    if stack:
        raise invalid(f"found `{{` without its `}}` in `{text}`", "write a literal brace as `[{]`")
    return list(dict.fromkeys(current))


def _ordinary_end(text: str, start: int) -> int:
    """Where the run of characters that means nothing to braces ends."""
    if text[start] == "[":
        return class_end(text, start)
    run = _ORDINARY.match(text, start)
    return run.end() if run else start + 1


def _parse_alternative(text: str) -> _Alternative:
    _refuse_other_roots(text)
    body = text.removeprefix("./")
    items: list[Segment] = []
    gaps = 0
    for segment in (body + "**" if body.endswith("/") else body).split("/"):
        if segment == "**":
            gaps |= 1 << len(items)
        else:
            items.append(_parse_name(segment, text))
    if gaps >> len(items) & 1:
        # What ends in `**` is below something: at least one segment must follow.
        items.append(parse_segment("*"))
    path = GapSequence(items=tuple(items), gaps=gaps)
    return _Alternative(path=path, key=_key(path))


def _refuse_other_roots(text: str) -> None:
    if not text:
        raise invalid("an alternative of the braces is the empty pattern; expected a path")
    if text.startswith("!"):
        found = f"found a leading `!` in `{text}`; expected what may change, negation is unknown"
        raise invalid(found, "a name that starts with `!` is written `./!name`")
    drive = text[0].isascii() and text[0].isalpha() and text[1:2] == ":"
    if drive or text[0] == "/" or text == "~" or text.startswith("~/"):
        found = f"`{text}` is absolute; expected a path relative to the workspace root"
        raise GlobError(GlobProblem.ABSOLUTE, found, _FROM_THE_ROOT)


def _parse_name(text: str, pattern: str) -> Segment:
    """Read a segment that must be able to be the name of something."""
    if not text:
        hint = _WHOLE_WORKSPACE if pattern == "./" else "write one `/` between segments"
        raise invalid(f"found an empty segment in `{pattern}`; expected a name", hint)
    segment = parse_segment(text)
    if segment.literal and segment.stem == "..":
        found = f"found `..` in `{pattern}`; expected a path that stays in the workspace"
        raise GlobError(GlobProblem.ESCAPES, found, _FROM_THE_ROOT)
    if segment.literal and segment.stem == ".":
        hint = _WHOLE_WORKSPACE if pattern == "." else "leave the `.` out"
        raise invalid(f"found a `.` segment in `{pattern}`; expected a name", hint)
    return segment


def _literal_names(path: GapSequence[Segment]) -> tuple[str, ...]:
    literal = takewhile(
        lambda place: place[1].literal and not path.gaps >> place[0] & 1, enumerate(path.items)
    )
    return tuple(segment.stem for _, segment in literal)


def _key(path: GapSequence[Segment]) -> str:
    names = _literal_names(path)
    if len(names) == len(path.items):
        return "/".join(names) + _END
    wild = "" if path.gaps >> len(names) & 1 else path.items[len(names)].stem
    return "".join(f"{name}/" for name in names) + wild


# -- whether everything that one pattern matches is matched by others: sound, never a guess ------


_MOST_STATES = 20_000
"""Beyond that, the answer is no: a pattern that needs more is not one that people write."""

Item = TypeVar("Item")


def within(inner: Glob, outers: Sequence[Glob]) -> bool:
    """Whether every path that `inner` matches is surely matched by one of `outers`."""
    chains = [each.path for outer in outers for each in outer.alternatives]
    return bool(chains) and all(
        _contained(each.path, chains, _segment_within, parse_segment("*"))
        for each in inner.alternatives
    )


@lru_cache(maxsize=8192)
def _segment_within(inner: Segment, outer: Segment) -> bool:
    """Whether every name that `inner` matches is surely matched by `outer`."""
    if inner == outer or outer.text == "*":
        return True
    if outer.literal:
        return inner.literal and inner.stem == outer.stem
    return all(_contained(each, outer.chains, _among, ANY) for each in inner.chains)


def _among(inner: Characters, outer: Characters) -> bool:
    """Whether a set of characters is part of another; both are sorted and disjoint."""
    return all(any(low <= start and end <= high for low, high in outer) for start, end in inner)


def _contained(
    inner: GapSequence[Item],
    outers: Sequence[GapSequence[Item]],
    fits: Callable[[Item, Item], bool],
    anything: Item,
) -> bool:
    """Walk the inner chain and, for each of its places, all outer ones at once."""
    start = (0, tuple(1 for _ in outers))
    seen, waiting = {start}, [start]
    while waiting:
        place, reached = waiting.pop()
        if place == len(inner.items) and not _ended(reached, outers):
            return False
        for item, following in _moves(inner, place, anything):
            stepped = tuple(
                _step(bits, item, outer, fits) for bits, outer in zip(reached, outers, strict=True)
            )
            state = (following, stepped)
            if not any(stepped) or len(seen) > _MOST_STATES:
                return False
            if state not in seen:
                seen.add(state)
                waiting.append(state)
    return True


def _moves(inner: GapSequence[Item], place: int, anything: Item) -> Iterator[tuple[Item, int]]:
    """Yield what the inner chain may take here, and where it is then."""
    if inner.gaps >> place & 1:
        yield anything, place
    if place < len(inner.items):
        yield inner.items[place], place + 1


def _step(
    bits: int, item: Item, outer: GapSequence[Item], fits: Callable[[Item, Item], bool]
) -> int:
    """Return the places of an outer chain that are surely reached behind an item."""
    after = bits & outer.gaps
    for position, own in enumerate(outer.items):
        if bits >> position & 1 and fits(item, own):
            after |= 1 << position + 1
    return after


def _ended(reached: Sequence[int], outers: Sequence[GapSequence[Item]]) -> bool:
    return any(bits >> len(outer.items) & 1 for bits, outer in zip(reached, outers, strict=True))
