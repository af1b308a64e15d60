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

import enum
import re
import sys
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import takewhile
from typing import Generic, TypeVar

MAXIMUM_EXPANSIONS = 256

_IMPOSSIBLE_NAMES = frozenset({"", ".", ".."})
_END = "\0"
"""Marks the end of a whole path. No name holds it, so `a` does not look like the start of `ab`."""
_WHOLE_WORKSPACE = "`**` is every file of the workspace"
_FROM_THE_ROOT = "write the path as seen from the workspace root, such as `src/**`"
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_ORDINARY = re.compile(r"[^\[{},]+")


class GlobProblem(enum.Enum):
    """What is wrong with a pattern."""

    INVALID = "invalid"
    """It is not written as a pattern is."""
    ABSOLUTE = "absolute"
    """It does not start at the workspace root."""
    ESCAPES = "escapes"
    """It climbs with `..`."""


class GlobError(ValueError):
    """A text that is not a pattern: the problem, what was found and expected, and the cure."""

    def __init__(self, problem: GlobProblem, reason: str, hint: str | None = None) -> None:
        super().__init__(problem, reason, hint)
        self.problem = problem
        self.reason = reason
        self.hint = hint

    def __str__(self) -> str:
        return self.reason


Item = TypeVar("Item")
Other = TypeVar("Other")

_Characters = tuple[tuple[int, int], ...]
"""What an item of a segment accepts: sorted, disjoint, inclusive ranges of code points."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Chain(Generic[Item]):
    """Items in order. Bit i of `gaps`: anything may stand before item i (bit n: at the end)."""

    items: tuple[Item, ...]
    gaps: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Segment:
    """One segment other than `**`."""

    text: str
    stem: str = field(compare=False)
    """The literal characters that it starts with."""
    literal: bool = field(compare=False)
    """Whether the stem is all of it."""
    chains: tuple[_Chain[_Characters], ...] = field(compare=False)
    """Together they accept what the segment does, less the impossible names `.` and `..`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Alternative:
    """One brace expansion of a pattern."""

    path: _Chain[_Segment]
    key: str
    """How every matched path starts, or the whole path and an end mark: if two alternatives meet,
    the key of one is a prefix of the key of the other."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Glob:
    """A pattern, as made by `parse_glob`. Two globs are equal when they are written the same."""

    text: str
    alternatives: tuple[_Alternative, ...] = field(compare=False, repr=False)

    def matches(self, path: str) -> bool:
        """Whether `path`, relative to the workspace root, matches. An impossible path does not."""
        path = path.removeprefix("./")
        names = tuple(path.split("/"))
        if _END in path or any(name in _IMPOSSIBLE_NAMES for name in names):
            return False
        walked = _Chain(items=names, gaps=0)
        return any(
            f"{path}{_END}".startswith(each.key) and _meet(walked, each.path, _name_fits)
            for each in self.alternatives
        )

    def intersects(self, other: "Glob") -> bool:
        """Whether there is any path that both match. Exact."""
        return any(
            _keys_agree(mine.key, theirs.key) and _meet(mine.path, theirs.path, _segments_meet)
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
        raise _invalid("the pattern is empty; expected a path or a pattern", _WHOLE_WORKSPACE)
    if "\\" in text:
        raise _invalid(f"found a backslash in `{text}`; expected `/` between segments", "use `/`")
    if control := _CONTROL.search(text):
        found = f"found the control character U+{ord(control[0]):04X}"
        raise _invalid(f"{found}; expected characters that can be seen")
    return Glob(text=text, alternatives=tuple(_parse_alternative(each) for each in _expand(text)))


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


def _meet(
    left: _Chain[Item], right: _Chain[Other], compatible: Callable[[Item, Other], bool]
) -> bool:
    """Whether one sequence fits both chains; every item must accept something.

    Bit j of `reached`: some sequence brings `left` to the item at hand and `right` to its item j.
    """
    places: dict[Other, int] = {}
    for position, other in enumerate(right.items):
        places[other] = places.get(other, 0) | 1 << position
    steps: dict[Item, int] = {}
    reached = 1
    for position, item in enumerate(left.items):
        if left.gaps >> position & 1:
            reached = _all_from_lowest(reached, len(right.items))
        if item not in steps:
            steps[item] = sum(bits for other, bits in places.items() if compatible(item, other))
        reached = (reached & steps[item]) << 1 | reached & right.gaps
        if not reached:
            return False
    if left.gaps >> len(left.items) & 1:
        # In its last gap `left` takes whatever `right` still needs.
        return True
    return bool(reached >> len(right.items) & 1)


def _all_from_lowest(bits: int, highest: int) -> int:
    lowest = bits & -bits
    return (1 << (highest + 1)) - lowest


def _segments_meet(left: _Segment, right: _Segment) -> bool:
    if left.literal and right.literal:
        return left.stem == right.stem
    return any(_meet(mine, theirs, _overlap) for mine in left.chains for theirs in right.chains)


def _name_fits(name: str, segment: _Segment) -> bool:
    if segment.literal:
        return name == segment.stem
    walked = _Chain(items=tuple(name), gaps=0)
    return any(_meet(walked, chain, _is_among) for chain in segment.chains)


def _overlap(left: _Characters, right: _Characters) -> bool:
    return any(mine[0] <= theirs[1] and theirs[0] <= mine[1] for mine in left for theirs in right)


def _is_among(character: str, characters: _Characters) -> bool:
    return any(low <= ord(character) <= high for low, high in characters)


def _complement(ranges: Iterable[tuple[int, int]]) -> _Characters:
    """All characters but these, and but NUL."""
    rest = []
    start = 1
    for low, high in sorted(ranges):
        if start < low:
            rest.append((start, low - 1))
        start = max(start, high + 1)
    if start <= sys.maxunicode:
        rest.append((start, sys.maxunicode))
    return tuple(rest)


def _exactly(character: str) -> _Characters:
    return ((ord(character), ord(character)),)


def _without(character: str, characters: _Characters) -> _Characters:
    return _complement((*_complement(characters), *_exactly(character)))


_ANY = _complement(_exactly("/"))


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
                raise _invalid(f"found `{{}}` in `{text}`; expected alternatives, as in `{{a,b}}`")
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
            raise _invalid(f"{found}; expected at most that many", "use `*`, or several patterns")
        position = end
    if stack:
        raise _invalid(f"found `{{` without its `}}` in `{text}`", "write a literal brace as `[{]`")
    return list(dict.fromkeys(current))


def _ordinary_end(text: str, start: int) -> int:
    """Where the run of characters that means nothing to braces ends."""
    if text[start] == "[":
        return _class_end(text, start)
    run = _ORDINARY.match(text, start)
    return run.end() if run else start + 1


def _parse_alternative(text: str) -> _Alternative:
    _refuse_other_roots(text)
    body = text.removeprefix("./")
    items: list[_Segment] = []
    gaps = 0
    for segment in (body + "**" if body.endswith("/") else body).split("/"):
        if segment == "**":
            gaps |= 1 << len(items)
        else:
            items.append(_parse_name(segment, text))
    if gaps >> len(items) & 1:
        # What ends in `**` is below something: at least one segment must follow.
        items.append(_parse_segment("*"))
    path = _Chain(items=tuple(items), gaps=gaps)
    return _Alternative(path=path, key=_key(path))


def _refuse_other_roots(text: str) -> None:
    if not text:
        raise _invalid("an alternative of the braces is the empty pattern; expected a path")
    if text.startswith("!"):
        found = f"found a leading `!` in `{text}`; expected what may change, negation is unknown"
        raise _invalid(found, "a name that starts with `!` is written `./!name`")
    drive = text[0].isascii() and text[0].isalpha() and text[1:2] == ":"
    if drive or text[0] == "/" or text == "~" or text.startswith("~/"):
        found = f"`{text}` is absolute; expected a path relative to the workspace root"
        raise GlobError(GlobProblem.ABSOLUTE, found, _FROM_THE_ROOT)


def _parse_name(text: str, pattern: str) -> _Segment:
    """Read a segment that must be able to be the name of something."""
    if not text:
        hint = _WHOLE_WORKSPACE if pattern == "./" else "write one `/` between segments"
        raise _invalid(f"found an empty segment in `{pattern}`; expected a name", hint)
    segment = _parse_segment(text)
    if segment.literal and segment.stem == "..":
        found = f"found `..` in `{pattern}`; expected a path that stays in the workspace"
        raise GlobError(GlobProblem.ESCAPES, found, _FROM_THE_ROOT)
    if segment.literal and segment.stem == ".":
        hint = _WHOLE_WORKSPACE if pattern == "." else "leave the `.` out"
        raise _invalid(f"found a `.` segment in `{pattern}`; expected a name", hint)
    return segment


@lru_cache(maxsize=1024)
def _parse_segment(text: str) -> _Segment:
    items: list[_Characters] = []
    gaps = 0
    position = 0
    while position < len(text):
        end = position + 1
        match text[position]:
            case "*":
                if text.startswith("**", position):
                    found = f"found `**` glued to other characters in `{text}`"
                    hint = "write `**` between slashes, or one `*` inside a segment"
                    raise _invalid(f"{found}; expected it to be a whole segment", hint)
                gaps |= 1 << len(items)
            case "?":
                items.append(_ANY)
            case "[":
                end = _class_end(text, position)
                items.append(_parse_class(text[position:end]))
            case character:
                items.append(_exactly(character))
        position = end
    chain = _Chain(items=tuple(items), gaps=gaps)
    stem = _stem(chain)
    literal = not gaps and len(stem) == len(items)
    return _Segment(text=text, stem=stem, literal=literal, chains=_possible_names(chain))


def _class_end(text: str, start: int) -> int:
    """The position after the `]` of the class that starts here."""
    first = start + 2 if text.startswith("!", start + 1) else start + 1
    end = text.find("]", first + 1)
    if end < 0 or "/" in text[start:end]:
        hint = "write a literal bracket as `[[]`"
        raise _invalid(f"found `[` without its `]` in a segment of `{text}`", hint)
    return end + 1


def _parse_class(text: str) -> _Characters:
    negated = text.startswith("[!")
    members = text[2:-1] if negated else text[1:-1]
    if members.startswith("^") and not negated:
        # Half of all tools negate here, and half take it as a member: refuse to guess.
        hint = "write `[!abc]` to negate; as a member, put the `^` after another"
        raise _invalid(f"found `^` at the start of the class `{text}`; expected a member", hint)
    ranges: list[tuple[int, int]] = []
    position = 0
    while position < len(members):
        low = high = members[position]
        if members[position + 1 : position + 2] == "-" and position + 2 < len(members):
            high = members[position + 2]
            position += 2
        if high < low:
            found = f"found the reversed range `{low}-{high}` in `{text}`"
            raise _invalid(f"{found}; expected the lower end first", f"write `{high}-{low}`")
        ranges.append((ord(low), ord(high)))
        position += 1
    return _without("/", _complement(ranges) if negated else _complement(_complement(ranges)))


def _stem(chain: _Chain[_Characters]) -> str:
    """The characters at the start for which there is no choice."""
    stem = ""
    for position, characters in enumerate(chain.items):
        (low, high), *more = characters
        if chain.gaps >> position & 1 or more or low != high:
            break
        stem += chr(low)
    return stem


def _possible_names(chain: _Chain[_Characters]) -> tuple[_Chain[_Characters], ...]:
    """Chains that together accept what this one does, less `.` and `..`.

    Only a chain without gaps can be forced to these names. Two chains with gaps that share any
    name also share a longer one, as there is room for more characters in both.
    """
    items = chain.items
    if chain.gaps or len(items) > 2 or not all(_is_among(".", item) for item in items):
        return (chain,)
    narrowed = ((position, _without(".", item)) for position, item in enumerate(items))
    return tuple(
        _Chain(items=(*items[:position], item, *items[position + 1 :]), gaps=0)
        for position, item in narrowed
        if item
    )


def _literal_names(path: _Chain[_Segment]) -> tuple[str, ...]:
    literal = takewhile(
        lambda place: place[1].literal and not path.gaps >> place[0] & 1, enumerate(path.items)
    )
    return tuple(segment.stem for _, segment in literal)


def _key(path: _Chain[_Segment]) -> str:
    names = _literal_names(path)
    if len(names) == len(path.items):
        return "/".join(names) + _END
    wild = "" if path.gaps >> len(names) & 1 else path.items[len(names)].stem
    return "".join(f"{name}/" for name in names) + wild


def _invalid(reason: str, hint: str | None = None) -> GlobError:
    return GlobError(GlobProblem.INVALID, reason, hint)
