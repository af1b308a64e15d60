"""The quick reader of frontmatter agrees with the YAML library wherever it dares to answer."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from planbound.plan.frontmatter import Other, Pairs, WordList, read_plain
from planbound.plan.frontmatter_yaml import FrontmatterError, read_yaml
from planbound.source import Located, Source

SCALAR = st.sampled_from(
    [
        *("plan", "draft", "a b", '"src/**"', "'docs/*'", "[a, b]", '["src/**", docs/x.md]', "[]"),
        *("", "x-1", "1", "no", "null", "~", "*a", "&a b", "a: b", "a #b", "a#b", '"a # b"'),
        *("{a: b}", "- a", "[a, [b]]", "'it''s'", '"\\n"', ".x", "a,b", "(x)", "@a", "src/**"),
        *("2026-11-15", "[a,b,]", "| x", "> y", "!x"),
    ]
)
KEY = st.sampled_from(["type", "status", "owner", "touches", "bogus", "a b", '"q"', "1"])
LINE = st.one_of(
    st.builds("{}: {}".format, KEY, SCALAR),
    st.builds("{}:".format, KEY),
    st.builds("{}- {}".format, st.sampled_from(["", "  ", "    "]), SCALAR),
    st.builds("{}: {} # note".format, KEY, SCALAR),
    st.sampled_from(["", "# comment", "  # comment", "\t", "type : x", " owner: x", "..", "a:b"]),
)


def plain(pairs: Pairs) -> list[object]:
    """Return keys and values without their places."""
    found: list[object] = []
    for key, value in pairs:
        match value:
            case WordList():
                found.append((key.value, [item.value for item in value.items]))
            case Located():
                found.append((key.value, value.value))
            case Other():
                found.append((key.value, Other))
    return found


@given(st.lists(LINE, max_size=6))
@example(["touches:", "- a", "- b"])
@example(["touches: [a, 'b'] # x", "owner:   me  "])
def test_both_readers_agree(lines: list[str]) -> None:
    source = Source(path="x", text="\n".join(["---", *lines, "---", ""]))
    quick = read_plain(source, 1, len(lines) + 1)
    if quick is None:
        return
    span = source.lines_span(1, len(lines) + 1)
    try:
        slow = read_yaml(source, span)
    except FrontmatterError as error:
        raise AssertionError(f"the library refuses {lines}: {error.reason}") from error
    assert plain(quick) == plain(slow)
    for (key, value), (slow_key, slow_value) in zip(quick, slow, strict=True):
        assert key.span == slow_key.span
        if isinstance(value, Located) and value.value:
            assert value.span == slow_value.span


def test_the_usual_forms_do_not_need_the_library() -> None:
    text = (
        '---\ntype: plan\nstatus: draft   # x\nowner: orchestrator\ndepends_on: [a, "b-c"]\n'
        "touches:\n  - src/**\n  - 'docs/*.md'\nexpected_artifacts: []\n---\n"
    )
    source = Source(path="x", text=text)
    pairs = read_plain(source, 1, 9)
    assert pairs is not None
    assert plain(pairs)[4] == ("touches", ["src/**", "docs/*.md"])
    assert plain(pairs)[5] == ("expected_artifacts", [])
