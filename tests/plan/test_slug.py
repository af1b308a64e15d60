"""Names of plans."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.slug import (
    UNNAMED,
    SlugError,
    file_name,
    is_plan_file,
    look_alikes,
    parse_slug,
    progress_name,
    slug_of,
)
from tests.tables import one_fact


@pytest.mark.parametrize("name", ["Foo", "Foo.md", "PLAN-Foo.md", "PLAN-Foo", " Foo\r\n", "\tFoo"])
def test_all_ways_to_write_a_name_mean_one_slug_and_case_is_kept(name: str) -> None:
    assert parse_slug(name) == "Foo"
    assert file_name("Foo") == "PLAN-Foo.md"
    assert progress_name("Foo") == "progress-Foo.md"


def test_the_plan_without_a_name_has_its_own() -> None:
    assert parse_slug("PLAN") == parse_slug("PLAN.md") == UNNAMED
    assert (file_name(UNNAMED), progress_name(UNNAMED)) == ("PLAN.md", "progress.md")


@one_fact(
    "name",
    [
        "", " ", "\n", ".md", "PLAN-", "PLAN-.md", ".", "..", "...", ".md.md", "PLAN-..",
        "a/b", "../a", "a/..", "/a", "a/", "..\\a", "a\\b", "C:\\a", "PLAN-../a.md", "PLAN-a/b.md",
        "a\0b", "\0", "a\nb", "a\x1b[2Jb", "a\u202eb", "\ufeffa", "a\udc80", ".a", "-a", "--plan",
        "PLAN-PLAN", "PLAN-PLAN.md", "PLAN-PLAN-a.md", "a.md.md", "PLAN-a .md", "\u00a0a",
        "a\x0c", "x" * 101, "é" * 51,
    ],
)  # fmt: skip
def test_what_is_not_one_path_component_is_no_name(name: str) -> None:
    with pytest.raises(SlugError):
        parse_slug(name)
    assert not is_plan_file(name)


@given(st.text(max_size=30))
def test_a_slug_leads_to_one_file_in_the_folder_and_back(name: str) -> None:
    try:
        slug = parse_slug(name)
    except SlugError:
        return
    file = file_name(slug)
    assert "/" not in file
    assert "\0" not in file
    assert is_plan_file(file)
    assert parse_slug(slug) == parse_slug(file) == slug_of(file) == slug


@pytest.mark.parametrize(
    "file",
    ["plan.md", "PLAN.txt", "PLAN-a.MD", "PLAN-a.md~", ".PLAN-a.md.1f.tmp", "progress-a.md",
     "PLAN.archive.20260102-a.md", "Plan-a.md", "a.md", "PLAN"],
)  # fmt: skip
def test_other_files_hold_no_plan(file: str) -> None:
    assert not is_plan_file(file)


def test_look_alikes_differ_in_case_or_in_the_encoding_of_accents() -> None:
    names = ["PLAN-foo.md", "PLAN-FOO.md", "plan-foo.md", "PLAN-food.md", "progress-foo.md"]
    assert look_alikes("PLAN-foo.md", names) == ["PLAN-FOO.md", "plan-foo.md"]
    assert look_alikes("PLAN-é.md", ["PLAN-é.md", "PLAN-e\u0301.md"]) == ["PLAN-e\u0301.md"]
    assert look_alikes("PLAN-foo.md", ["PLAN-foo.md"]) == []
