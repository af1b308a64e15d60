"""Glob patterns of `touches`: reading, matching, and whether two patterns meet."""

import pickle
import re
from functools import cache
from itertools import combinations, product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbound.plan.glob import Glob, GlobError, GlobProblem, meeting_pairs, parse_glob
from tests.examples import examples
from tests.tables import one_fact

# --- An independent reading of the rules: naive, exponential, over text. ---


def brute_expand(pattern: str) -> list[str]:
    """Expand the innermost brace first, until none is left."""
    brace = re.search(r"\{([^{}]*)\}", pattern)
    if brace is None:
        return [pattern]
    return [
        expansion
        for alternative in brace[1].split(",")
        for expansion in brute_expand(
            pattern[: brace.start()] + alternative + pattern[brace.end() :]
        )
    ]


def brute_matches(pattern: str, path: str) -> bool:
    names = path.split("/")
    if any(name in ("", ".", "..") for name in names):
        return False
    for expansion in brute_expand(pattern):
        segments = expansion.removeprefix("./").split("/")
        if segments[-1] == "":
            segments[-1] = "**"
        if brute_segments(segments, names):
            return True
    return False


def brute_segments(segments: list[str], names: list[str]) -> bool:
    if not segments:
        return not names
    if set(segments) == {"**"}:
        return bool(names)
    if segments[0] == "**":
        return any(brute_segments(segments[1:], names[start:]) for start in range(len(names) + 1))
    if not names or not brute_name(segments[0], names[0]):
        return False
    return brute_segments(segments[1:], names[1:])


@cache
def brute_name(segment: str, name: str) -> bool:
    if not segment:
        return not name
    if segment[0] == "*":
        return any(brute_name(segment[1:], name[start:]) for start in range(len(name) + 1))
    if not name:
        return False
    if segment[0] == "[":
        end = segment.index("]", 2)
        fits = re.fullmatch(segment[: end + 1].replace("[!", "[^"), name[0]) is not None
        return fits and brute_name(segment[end + 1 :], name[1:])
    return segment[0] in ("?", name[0]) and brute_name(segment[1:], name[1:])


def words(alphabet: str, longest: int) -> list[str]:
    sizes = range(1, longest + 1)
    return ["".join(word) for size in sizes for word in product(alphabet, repeat=size)]


# `c` is named by no generated pattern: it stands for every other character.
NAMES = [name for name in words("abc.", 5) if name not in (".", "..")]
PATHS = ["/".join(word) for word in words("abc", 6)]

CLASSES = ["[ab]", "[a-b]", "[!a]", "[!b]", "[!ab]", "[!.]", "[.a]"]


def is_pattern(text: str) -> bool:
    try:
        parse_glob(text)
    except GlobError:
        return False
    return True


def segments_of(longest: int) -> st.SearchStrategy[str]:
    pieces = st.sampled_from(["a", "b", ".", "?", "*", "*", *CLASSES])
    joined = st.lists(pieces, min_size=1, max_size=longest).map("".join)
    return joined.map(lambda text: re.sub(r"\*+", "*", text)).filter(is_pattern)


def paths_of(segment: st.SearchStrategy[str], longest: int) -> st.SearchStrategy[str]:
    deep = st.one_of(segment, st.just("**"))
    return st.lists(deep, min_size=1, max_size=longest).map("/".join)


def alternatives_of(pattern: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    braced = st.lists(pattern, min_size=1, max_size=3).map(lambda each: "{" + ",".join(each) + "}")
    return st.one_of(pattern, braced)


# One letter is a segment, so that all short paths can be listed.
SHALLOW = paths_of(st.sampled_from(["a", "b", "?", "*", "[!a]", "[!b]", "[ab]"]), 4)
DEEP = alternatives_of(paths_of(segments_of(4), 4))
SOME_PATHS = st.lists(
    st.text("abc.", min_size=1, max_size=4).filter(lambda name: name not in (".", "..")),
    min_size=1,
    max_size=5,
).map("/".join)

thorough = examples(400)


def intersect(left: str, right: str) -> bool:
    return parse_glob(left).intersects(parse_glob(right))


# --- Examples. ---


@one_fact(
    ("pattern", "matched", "unmatched"),
    [
        ("a.py", ["a.py", "./a.py"], ["A.py", "aXpy", "b/a.py", "a.py/b", "a.py/"]),
        ("./a.py", ["a.py"], ["b/a.py"]),
        ("*", ["a", ".hidden"], ["a/b", "", ".", "..", "./"]),
        ("*.py", ["a.py", ".py", "..py"], ["a.pyc", "b/a.py"]),
        ("src/*/x", ["src/a/x", "src/.a/x"], ["src/x", "src/a/b/x"]),
        ("docs/**", ["docs/a", "docs/a/b"], ["docs", "docs/", "docsy/a", "a/docs/b"]),
        ("docs/", ["docs/a", "docs/a/b"], ["docs", "doc/a"]),
        ("docs/**/**", ["docs/a", "docs/a/b"], ["docs"]),
        ("**", ["a", "a/b/c", ".git/config"], ["", "a//b", "../a", "a/./b", "/a", "a\0"]),
        ("**/x", ["x", "a/x", "a/b/x"], ["ax", "x/a"]),
        ("a/**/x", ["a/x", "a/b/x", "a/b/c/x"], ["a", "x", "b/a/x"]),
        ("a?c", ["abc", "a.c", "a\nc"], ["ac", "abbc", "a/c"]),
        ("[abc]", ["a", "c"], ["d", "ab", "[abc]"]),
        ("[a-cx]", ["b", "x"], ["d", "-"]),
        ("[!a-c]", ["d", "-"], ["b", "."]),
        ("[a-]", ["a", "-"], ["b"]),
        ("[-a]", ["a", "-"], ["b"]),
        ("[]a]", ["]", "a"], ["b"]),
        ("[!]a]", ["b"], ["]", "a"]),
        ("x[+-9]y", ["x+y", "x.y", "x9y"], ["x/y"]),
        ("x[!a]y", ["xby"], ["x/y", "xay"]),
        ("pages/[[]id].tsx", ["pages/[id].tsx"], ["pages/i.tsx"]),
        ("a[*?]b", ["a*b", "a?b"], ["acb"]),
        ("a[{,}]b", ["a{b", "a,b", "a}b"], ["ab"]),
        ("a,b}", ["a,b}"], ["a"]),
        ("{a,b}/c", ["a/c", "b/c"], ["c", "{a,b}/c"]),
        ("a{b,c{d,e}}.py", ["ab.py", "acd.py", "ace.py"], ["a.py", "ac.py", "acde.py"]),
        ("{src/**/*.py,docs}", ["src/a.py", "src/b/a.py", "docs"], ["docs/a.py", "src"]),
        ("a{,b}", ["a", "ab"], ["b"]),
        ("{a/,b}", ["a/x", "b"], ["a", "b/x"]),
        ("ü*", ["über"], ["uber"]),
        ("./!a", ["!a"], ["a"]),
        ("./~/a", ["~/a"], ["a"]),
    ],
)
def test_a_pattern_matches_what_its_wildcards_say(
    pattern: str, matched: list[str], unmatched: list[str]
) -> None:
    glob = parse_glob(pattern)

    assert [path for path in matched if not glob.matches(path)] == []
    assert [path for path in unmatched if glob.matches(path)] == []


@one_fact(
    ("text", "problem"),
    [
        ("", GlobProblem.INVALID),
        (".", GlobProblem.INVALID),
        ("./", GlobProblem.INVALID),
        ("././a", GlobProblem.INVALID),
        ("a/./b", GlobProblem.INVALID),
        ("a/.", GlobProblem.INVALID),
        ("a/[.]/b", GlobProblem.INVALID),
        ("a//b", GlobProblem.INVALID),
        (".//a", GlobProblem.INVALID),
        ("a//", GlobProblem.INVALID),
        ("a\\b", GlobProblem.INVALID),
        ("a**", GlobProblem.INVALID),
        ("**a", GlobProblem.INVALID),
        ("a/**.py", GlobProblem.INVALID),
        ("***", GlobProblem.INVALID),
        ("a{*,b}*", GlobProblem.INVALID),
        ("[ab", GlobProblem.INVALID),
        ("[]", GlobProblem.INVALID),
        ("[!]", GlobProblem.INVALID),
        ("[a/b]", GlobProblem.INVALID),
        ("[z-a]", GlobProblem.INVALID),
        ("[^a]", GlobProblem.INVALID),
        ("{a,b", GlobProblem.INVALID),
        ("{a,{b}", GlobProblem.INVALID),
        ("a{}", GlobProblem.INVALID),
        ("{a,}", GlobProblem.INVALID),
        ("a\0b", GlobProblem.INVALID),
        ("a\nb", GlobProblem.INVALID),
        ("a\x7fb", GlobProblem.INVALID),
        ("!a", GlobProblem.INVALID),
        ("{a,!b}", GlobProblem.INVALID),
        ("/x", GlobProblem.ABSOLUTE),
        ("//x", GlobProblem.ABSOLUTE),
        ("C:/x", GlobProblem.ABSOLUTE),
        ("c:", GlobProblem.ABSOLUTE),
        ("~/x", GlobProblem.ABSOLUTE),
        ("~", GlobProblem.ABSOLUTE),
        ("{a,/b}", GlobProblem.ABSOLUTE),
        ("{,a}/b", GlobProblem.ABSOLUTE),
        ("..", GlobProblem.ESCAPES),
        ("../x", GlobProblem.ESCAPES),
        ("a/../b", GlobProblem.ESCAPES),
        ("./../a", GlobProblem.ESCAPES),
        ("a/.{.,b}/c", GlobProblem.ESCAPES),
        ("[.]./a", GlobProblem.ESCAPES),
    ],
)
def test_what_is_not_a_pattern_is_refused_with_its_problem(text: str, problem: GlobProblem) -> None:
    with pytest.raises(GlobError) as caught:
        parse_glob(text)

    assert caught.value.problem is problem
    assert caught.value.reason == str(caught.value)
    assert caught.value.reason[0] == "`" or caught.value.reason[0].islower()


def test_a_backslash_is_answered_with_the_slash() -> None:
    with pytest.raises(GlobError) as caught:
        parse_glob("src\\*.py")

    assert caught.value.reason == (
        "found a backslash in `src\\*.py`; expected `/` between segments"
    )
    assert caught.value.hint == "use `/`"


def test_an_error_survives_pickling() -> None:
    with pytest.raises(GlobError) as caught:
        parse_glob("../x")

    copy = pickle.loads(pickle.dumps(caught.value))

    assert (copy.problem, copy.reason, copy.hint) == (
        caught.value.problem,
        caught.value.reason,
        caught.value.hint,
    )


def test_braces_expand_to_256_alternatives_and_no_more() -> None:
    assert parse_glob("{a,b}" * 8).matches("abababab")
    assert parse_glob("{" + ",".join(f"f{number}" for number in range(256)) + "}").matches("f255")
    for text in ("{a,b}" * 9, "{a,b}" * 4000, "{" + "a," * 256 + "b}"):
        with pytest.raises(GlobError, match="more than 256 expansions"):
            parse_glob(text)


@pytest.mark.parametrize(
    ("pattern", "literal", "prefix"),
    [
        ("src/a.py", True, ("src", "a.py")),
        ("./src/a.py", True, ("src", "a.py")),
        ("pages/[[]id].tsx", True, ("pages", "[id].tsx")),
        ("src/*.py", False, ("src",)),
        ("src/**", False, ("src",)),
        ("src/", False, ("src",)),
        ("src/**/a.py", False, ("src",)),
        ("src/*/b", False, ("src",)),
        ("**", False, ()),
        ("[ab]", False, ()),
        ("a?", False, ()),
        ("src/{a,b}.py", False, ("src",)),
        ("{a,a/b}", False, ("a",)),
        ("{a/b/c,a/b/d/*,a/b}", False, ("a", "b")),
        ("{a,b}/c", False, ()),
        ("{a}/c", True, ("a", "c")),
    ],
)
def test_the_literal_prefix_ends_before_the_first_wildcard(
    pattern: str, *, literal: bool, prefix: tuple[str, ...]
) -> None:
    glob = parse_glob(pattern)

    assert glob.is_literal is literal
    assert glob.literal_prefix == prefix


def test_globs_are_values_known_by_their_text() -> None:
    assert parse_glob("a/*") == parse_glob("a/*")
    assert len({parse_glob("a/*"), parse_glob("a/*"), parse_glob("a/b")}) == 2
    assert repr(parse_glob("a/*")) == "Glob('a/*')"
    assert parse_glob("./a").text == "./a"


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("src/*/foo.py", "src/bar/*"),
        ("src/**", "**/test_*.py"),
        ("**", "a"),
        ("**", "**"),
        ("*", "?"),
        ("a*", "*a"),
        ("a*b", "*ab*"),
        ("[a-m]*", "[!a-l]x"),
        ("[!a]", "[!b]"),
        (".*", "*."),
        (".?", "?a"),
        ("??", "[!a]."),
        ("a/**/b", "**/c/**"),
        ("a/**/b", "a/b"),
        ("{a,b}/x", "{b,c}/*"),
        ("docs/", "docs/a/b"),
        ("[[]", "?"),
    ],
)
def test_patterns_with_a_common_path_meet(left: str, right: str) -> None:
    assert intersect(left, right)
    assert intersect(right, left)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a", "A"),
        ("docs/**", "docs"),
        ("docs/", "docs"),
        ("src/*", "src/a/b"),
        ("src/*.py", "src/*.md"),
        ("a*", "b*"),
        ("a*", "[!a]*"),
        ("[a-c]", "[d-f]"),
        ("[!a]", "a"),
        ("??", "a"),
        ("??*", "?"),
        (".?", "?."),
        ("[.a]", "[.b]"),
        ("[.a][.a]", "[.b][.b]"),
        ("a/**/b", "a/**/c"),
        ("**/a", "**/b"),
        ("*/*/**", "a/*"),
        ("{a,b}", "{c,d}"),
        ("x[!a]y", "x/y"),
    ],
)
def test_patterns_without_a_common_path_do_not_meet(left: str, right: str) -> None:
    assert not intersect(left, right)
    assert not intersect(right, left)


# --- Properties. ---


@given(pattern=DEEP, path=SOME_PATHS)
@thorough
def test_matching_agrees_with_a_naive_matcher(pattern: str, path: str) -> None:
    assert parse_glob(pattern).matches(path) == brute_matches(pattern, path)


@given(pattern=SHALLOW, path=st.sampled_from(PATHS))
@thorough
def test_matching_short_names_agrees_with_a_naive_matcher(pattern: str, path: str) -> None:
    assert parse_glob(pattern).matches(path) == brute_matches(pattern, path)


@given(left=segments_of(3), right=segments_of(3))
@thorough
def test_segments_meet_exactly_when_a_listed_name_fits_both(left: str, right: str) -> None:
    # Five characters suffice. With `*` in both, a segment has at most two other items, and the
    # shortest common name holds these and one more; else the one without `*` sets the length.
    common = any(brute_name(left, name) and brute_name(right, name) for name in NAMES)

    assert intersect(left, right) == common


@given(left=SHALLOW, right=SHALLOW)
@thorough
def test_paths_meet_exactly_when_a_listed_path_fits_both(left: str, right: str) -> None:
    # Six segments suffice: with `**` in both, at most three others in each need a place of their
    # own, and a last `**` only needs one more where another `**` has left room for it.
    common = any(brute_matches(left, path) and brute_matches(right, path) for path in PATHS)

    assert intersect(left, right) == common


@given(left=DEEP, right=DEEP)
@thorough
def test_meeting_is_symmetric_and_a_pattern_meets_itself(left: str, right: str) -> None:
    assert intersect(left, right) == intersect(right, left)
    assert intersect(left, left)


@given(left=DEEP, right=DEEP, path=SOME_PATHS)
@thorough
def test_a_path_that_fits_both_makes_them_meet(left: str, right: str, path: str) -> None:
    if parse_glob(left).matches(path) and parse_glob(right).matches(path):
        assert intersect(left, right)


@given(pattern=DEEP, path=SOME_PATHS)
@thorough
def test_a_pattern_meets_a_literal_exactly_when_it_matches_it(pattern: str, path: str) -> None:
    assert intersect(pattern, path) == parse_glob(pattern).matches(path)


@given(pattern=DEEP, path=SOME_PATHS)
@thorough
def test_every_match_lies_below_the_literal_prefix(pattern: str, path: str) -> None:
    glob = parse_glob(pattern)
    if glob.matches(path):
        assert tuple(path.split("/"))[: len(glob.literal_prefix)] == glob.literal_prefix
    if glob.is_literal:
        assert glob.matches("/".join(glob.literal_prefix))


@given(text=st.one_of(st.text(), st.text("ab.*?[]!^-{},/~:\\")), path=st.text("ab./\0"))
@thorough
def test_any_text_is_a_pattern_or_a_glob_error(text: str, path: str) -> None:
    try:
        glob = parse_glob(text)
    except GlobError:
        return
    glob.matches(path)
    assert glob.intersects(glob)
    assert glob.intersects(parse_glob("**"))


# --- Pathological input: these complete, and that is the test. ---


def test_many_stars_do_not_backtrack() -> None:
    stars = "a*" * 100 + "b"
    assert not parse_glob(stars).matches("a" * 3000)
    assert parse_glob(stars).matches("a" * 3000 + "b")
    assert not intersect(stars, "*a" * 100)
    assert intersect(stars, "*b" * 100)
    assert not intersect("[!b]*" * 60 + "b", "*[a-c]?" * 60 + "[!b]")


def test_many_double_stars_do_not_backtrack() -> None:
    deep = "**/a/" * 60 + "b"
    assert not parse_glob(deep).matches("/".join("a" * 500))
    assert parse_glob(deep).matches("/".join("a" * 500 + "b"))
    assert intersect(deep, "**/?/" * 60 + "*")
    assert not intersect(deep, "**/[!a]*/" * 60 + "c")


def test_deeply_nested_and_very_long_patterns_are_read() -> None:
    assert parse_glob("{" * 5000 + "a" + "}" * 5000).matches("a")
    assert parse_glob("a/" * 5000 + "b").intersects(parse_glob("**/b"))
    with pytest.raises(GlobError):
        parse_glob("{" * 5000)
    with pytest.raises(GlobError):
        parse_glob("[" * 5000)


def test_all_alternatives_of_both_patterns_are_compared() -> None:
    left = parse_glob("{a,b}" * 8 + "*x")
    right = parse_glob("{c,d}" * 8 + "*x")
    assert not left.intersects(right)
    assert left.intersects(parse_glob("{c,d,?}" * 5 + "*"))


# --- Groups. ---


def always(_first: int, _second: int) -> bool:
    return True


def groups_of(*groups: list[str]) -> list[list[Glob]]:
    return [[parse_glob(text) for text in group] for group in groups]


def meetings(groups: list[list[Glob]]) -> list[tuple[int, int, str, str]]:
    pairs = meeting_pairs(groups, always)
    return [(first, second, left.text, right.text) for first, second, left, right in pairs]


def test_groups_that_meet_are_told_once_with_their_first_meeting_globs() -> None:
    groups = groups_of(
        ["z", "src/*/foo.py", "src/**"],
        ["docs/**"],
        ["other", "src/bar/*", "src/bar/foo.py"],
        [],
        ["**/README.md"],
    )

    assert meetings(groups) == [
        (0, 2, "src/*/foo.py", "src/bar/*"),
        (0, 4, "src/**", "**/README.md"),
        (1, 4, "docs/**", "**/README.md"),
        (2, 4, "src/bar/*", "**/README.md"),
    ]


def test_groups_that_may_not_meet_are_left_out() -> None:
    groups = groups_of(["a"], ["a"], ["a"])

    pairs = meeting_pairs(groups, lambda first, second: (first, second) != (0, 2))

    assert [(first, second) for first, second, _, _ in pairs] == [(0, 1), (1, 2)]


def test_globs_of_one_group_are_not_compared_with_each_other() -> None:
    assert meetings(groups_of(["a", "a", "*"], ["b"])) == [(0, 1, "*", "b")]


@given(groups=st.lists(st.lists(DEEP, max_size=3), max_size=6))
@settings(deadline=None)
def test_the_index_finds_what_comparing_all_pairs_finds(groups: list[list[str]]) -> None:
    expected = []
    for (first, mine), (second, theirs) in combinations(enumerate(groups), 2):
        found = [(left, right) for left, right in product(mine, theirs) if intersect(left, right)]
        expected += [(first, second, *pair) for pair in found[:1]]

    assert meetings(groups_of(*groups)) == expected


@pytest.mark.parametrize(
    "pattern",
    ["module{}/**", "src/file{}.py", "src/deep/file{}_*.py", "src/m{}/*.py", "{{a,b}}/f{}"],
)
def test_groups_that_begin_differently_are_not_even_asked_about(pattern: str) -> None:
    groups = groups_of(*([pattern.format(f"{number:04}")] for number in range(5000)))
    asked = []

    def may_meet(first: int, second: int) -> bool:
        asked.append((first, second))
        return True

    assert list(meeting_pairs(groups, may_meet)) == []
    assert asked == []


def test_literal_names_that_start_alike_are_not_candidates() -> None:
    groups = groups_of(*([f"src/f{number}"] for number in range(2000)), ["src/f1999"])
    asked = []

    def may_meet(first: int, second: int) -> bool:
        asked.append((first, second))
        return True

    assert [pair[:2] for pair in meeting_pairs(groups, may_meet)] == [(1999, 2000)]
    assert asked == [(1999, 2000)]
