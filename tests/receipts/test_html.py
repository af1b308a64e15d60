"""Pages are built so that a text is never more than text."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.receipts.html import (
    Html,
    StyleSheet,
    document,
    element,
    identity,
    join,
    policy,
    text,
)
from planbound.receipts.page_style import STYLE
from planbound.source import INVISIBLE, visible
from tests.examples import examples
from tests.receipts.hostile_plan import HOSTILE, UNSEEN
from tests.receipts.pages import Page, look_at

ANYTHING = st.text(st.characters(codec=None), max_size=60) | st.sampled_from([HOSTILE, UNSEEN])


@pytest.mark.requirement("receipts.escaped")
@given(ANYTHING, ANYTHING)
@examples(300)
def test_any_text_is_text_wherever_it_stands(content: str, value: str) -> None:
    made = str(element("p", content, element("b", content), class_=value, aria_label=value))
    page = Page(made)
    assert page.wrong == []
    assert set(page.count) <= {"p", "b", "span"}
    assert (page.count["p"], page.count["b"]) == (1, 1)
    if not INVISIBLE.search(content) and visible(content).replace("\\n", "\n") == content:
        assert page.text == content * 2
    made.encode("utf-8")  # no half of a character is left


@pytest.mark.requirement("receipts.escaped")
@pytest.mark.parametrize(
    ("hidden", "shown"),
    [
        ("\u202e", "U+202E"),
        ("\u200b\u200b\u200b", "U+200B ×3"),
        ("\x1b[31m", "U+001B[31m"),
        ("\x00", "U+0000"),
        ("\r", "U+000D"),
        ("\udcff", "byte FF"),
        ("\uef80", "byte 80"),
        ("\U000e0041", "U+E0041"),
        ("\ud800", "U+D800"),
    ],
)
def test_what_cannot_be_seen_is_shown_as_its_code_point(hidden: str, shown: str) -> None:
    assert Page(str(text(f"a{hidden}b"))).text == f"a{shown}b"


def test_what_can_be_seen_stays_as_it_is() -> None:
    assert str(text("żółw, 亀 — naïve\n\tb")) == "żółw, 亀 — naïve\n\tb"
    assert str(join("a", None, 3, [text("<"), "&"])) == "a3&lt;&amp;"


@pytest.mark.parametrize("name", ["script", "iframe", "a b", "p onclick", "style", "IMG", ""])
def test_only_known_elements_are_made(name: str) -> None:
    with pytest.raises(ValueError, match=r"style|no element"):
        element(name)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("onclick", "x"),
        ("style", "x"),
        ("src", "x"),
        ("href", "https://example.org"),
        ("href", "javascript:alert(1)"),
        ("href", "#a b"),
        ("id", "a b"),
        ("id", ""),
        ("fill", "url(https://example.org)"),
        ("a b", "x"),
    ],
)
def test_only_known_attributes_are_set_and_no_link_leaves_the_page(name: str, value: str) -> None:
    with pytest.raises(ValueError, match=r"attribute|link|id|colours"):
        element("a", "x", **{name: value})


def test_nobody_else_makes_html_of_a_string() -> None:
    with pytest.raises(TypeError):
        Html("<script>", object())
    with pytest.raises(TypeError):
        join([b"bytes"])  # type: ignore[list-item]  # what a caller without a type checker does


@pytest.mark.parametrize("bad", ["</style>", "a { background: url(x) }", "@import 'x'"])
def test_a_style_sheet_loads_nothing_and_does_not_end_early(bad: str) -> None:
    with pytest.raises(ValueError, match="style sheet"):
        StyleSheet(bad)


def test_a_document_has_a_policy_that_names_its_own_style_only() -> None:
    made = str(document(HOSTILE, STYLE, element("main", element("h1", HOSTILE))))
    page = look_at(made)
    assert page.policy == policy(STYLE)
    assert "unsafe" not in page.policy
    assert page.styles == [STYLE.text]
    assert page.text.count("alert(1)") == 2


@given(st.lists(ANYTHING, min_size=1, max_size=3))
@examples(200)
def test_an_id_is_an_id_whatever_it_is_made_of(parts: list[str]) -> None:
    assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_.-]{0,79}", identity(*parts))


def test_ids_of_different_places_differ() -> None:
    names = ["a b", "a-b", "a  b", "ä", "ö", "-", "a" * 100, "a" * 101]
    assert len({identity(name) for name in names}) == len(names)


def test_every_colour_has_enough_contrast_in_light_and_dark() -> None:
    parts = STYLE.text.split("@media (prefers-color-scheme: dark)", 1)
    light, dark = (dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part)) for part in parts)
    for colours in (light, {**light, **dark}):
        pairs = [(name, f"{name}-ground") for name in ("good", "soft", "warn", "bad")]
        pairs += [
            (name, on) for name in ("ink", "dim", "link", "bad") for on in ("ground", "raised")
        ]
        for ink, ground in pairs:
            assert _contrast(colours[ink], colours[ground]) >= 4.5, (ink, ground, colours[ink])


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_light(one), _light(other)))
    return (high + 0.05) / (low + 0.05)


def _light(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
