"""Which files are copies of others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.slug import conflict_of, is_left_by_editor
from tests.tables import one_fact

NAMES = frozenset({"PLAN.md", "PLAN-foo.md", "progress-foo.md", "active-plan"})


@one_fact(
    ("name", "original"),
    [
        ("PLAN-foo (conflicted copy 2026-01-02).md", "PLAN-foo.md"),
        ("PLAN-foo (conflicted copy).md", "PLAN-foo.md"),
        ("PLAN-foo (Ana's conflicted copy 2026-01-02).md", "PLAN-foo.md"),
        ("PLAN-foo (Ana’s Conflicted Copy 2026-01-02 (1)).md", "PLAN-foo.md"),
        ("PLAN-foo (Ana (work)'s conflicted copy 2026-01-02).md", "PLAN-foo.md"),
        ("PLAN-foo.md (conflicted copy 2026-01-02)", "PLAN-foo.md"),
        ("PLAN-foo (Case Conflict).md", "PLAN-foo.md"),
        ("PLAN-foo [Conflict].md", "PLAN-foo.md"),
        ("PLAN-foo[conflict 2].md", "PLAN-foo.md"),
        ("[Conflict] PLAN-foo.md", "PLAN-foo.md"),
        ("PLAN-foo_conflict-20260102-030405.md", "PLAN-foo.md"),
        ("PLAN-foo.sync-conflict-20260102-030405-ABCDEFG.md", "PLAN-foo.md"),
        ("active-plan.sync-conflict-20260102-030405-ABCDEFG", "active-plan"),
        ("active-plan (1)", "active-plan"),
        ("Copy of PLAN-foo.md", "PLAN-foo.md"),
        ("Copy (2) of PLAN-foo.md", "PLAN-foo.md"),
        ("copy of Copy of PLAN.md", "PLAN.md"),
        ("PLAN-foo - Copy.md", "PLAN-foo.md"),
        ("PLAN-foo - Copy (2).md", "PLAN-foo.md"),
        ("PLAN-foo copy.md", "PLAN-foo.md"),
        ("PLAN-foo copy 2.md", "PLAN-foo.md"),
        ("PLAN-foo (1).md", "PLAN-foo.md"),
        ("PLAN-foo(12).md", "PLAN-foo.md"),
        ("PLAN (1).md", "PLAN.md"),
        ("progress-foo (1).md", "progress-foo.md"),
        ("PLAN-foo (1) (conflicted copy 2026-01-02).md", "PLAN-foo.md"),
        ("PLAN-foo.md~", "PLAN-foo.md"),
        (".#PLAN-foo.md", "PLAN-foo.md"),
        # The original may be gone.
        ("PLAN-bar (conflicted copy 2026-01-02).md", "PLAN-bar.md"),
        ("PLAN-bar - Copy.md", "PLAN-bar.md"),
        ("PLAN-bar.sync-conflict-20260102-030405-ABCDEFG.md", "PLAN-bar.md"),
        ("Copy of PLAN-bar.md", "PLAN-bar.md"),
    ],
)
def test_a_copy_is_known_with_its_original(name: str, original: str) -> None:
    assert conflict_of(name, NAMES | {name}) == original


@one_fact(
    "name",
    [
        *sorted(NAMES),
        "PLAN-copy-of-data.md",
        "PLAN-Copy of data.md",
        "PLAN-conflicted-copy.md",
        "PLAN-conflict.md",
        "PLAN-merge-conflicts (git).md",
        "PLAN-[conflicts].md",
        "PLAN-sync-conflict-handling.md",
        "PLAN-bar (1).md",
        "PLAN-bar copy.md",
        "PLAN-foo-copy.md",
        "PLAN-foo-1.md",
        "PLAN-foo 2.md",
        "PLAN-foo (1) more.md",
        "PLAN-photocopy.md",
        "PLAN-foocopy.md",
        "PLAN- - Copying.md",
        "Copy of ",
        "(conflicted copy).md",
        "~",
        ".#",
        "",
        " PLAN-foo.md",
    ],
)
def test_a_false_alarm_is_none(name: str) -> None:
    assert conflict_of(name, NAMES | {name}) is None


def test_only_editors_copies_cast_no_doubt_on_the_file() -> None:
    assert is_left_by_editor("PLAN-foo.md~")
    assert is_left_by_editor(".#PLAN-foo.md")
    assert not is_left_by_editor("PLAN-foo (1).md")
    assert not is_left_by_editor("Copy of PLAN-foo.md")


@given(st.text(alphabet="aP-(). ~#[]12copyfnlitd_", max_size=255))
def test_any_name_gets_an_answer_and_no_copy_is_its_own_original(name: str) -> None:
    original = conflict_of(name, frozenset({name}))
    assert original is None or (original and original != name)
