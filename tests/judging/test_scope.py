"""What a step changed although it may not."""

from __future__ import annotations

import pytest

from planbound.judging.case import Scope, outside
from planbound.plan.glob import parse_glob
from planbound.workspace.manifest import ChangeKind, Entry, EntryType, TreeChange

FILE = EntryType.FILE
FOLDER = EntryType.DIRECTORY
SUMMARY = EntryType.SUMMARY


def change(
    path: str, kind: ChangeKind = ChangeKind.ADDED, type_: EntryType = EntryType.FILE
) -> TreeChange:
    entry = Entry(type_, 0o644, 1, b"x")
    before = None if kind is ChangeKind.ADDED else entry._replace(content=b"w")
    return TreeChange(path, kind, before, None if kind is ChangeKind.REMOVED else entry)


def is_outside(item: TreeChange, *patterns: str) -> bool:
    return bool(outside([item], Scope(tuple(parse_glob(each) for each in patterns))))


@pytest.mark.parametrize("kind", list(ChangeKind))
def test_only_what_a_pattern_matches_may_change(kind: ChangeKind) -> None:
    assert not is_outside(change("src/a.py", kind), "docs/**", "src/**")
    assert is_outside(change("tests/a.py", kind), "docs/**", "src/**")
    assert is_outside(change("src/a.py", kind))


def test_without_touches_anywhere_everything_is_allowed() -> None:
    paths = ["a", "src/b", ".git/hooks/pre-commit", ".harness/topics/a.md"]
    assert outside([change(path) for path in paths], Scope(None)) == ()


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        ("src", "src/new/a.py", False),
        ("src/new", "src/new/a.py", False),
        ("src/new", "src/**", False),
        ("src/other", "src/new/a.py", True),
        ("empty", "src/**", True),
        ("src/[id]", "src/**", False),
        ("src/[id]", "src/i/**", True),
        ("a\\b", "src/**", True),
        ("a\\b", "**", False),
    ],
)
@pytest.mark.parametrize("kind", [ChangeKind.ADDED, ChangeKind.REMOVED])
def test_a_directory_is_allowed_where_an_allowed_file_can_be_in_it(
    path: str, pattern: str, kind: ChangeKind, *, expected: bool
) -> None:
    assert is_outside(change(path, kind, FOLDER), pattern) is expected


def test_a_directory_that_became_something_else_needs_a_pattern_for_itself() -> None:
    assert is_outside(change("src", ChangeKind.CHANGED, FOLDER), "src/**")
    assert is_outside(change("src", ChangeKind.ADDED, EntryType.LINK), "src/**")


@pytest.mark.parametrize("path", [".git/HEAD", ".git/modules/lib/HEAD"])
def test_people_switch_branches(path: str) -> None:
    assert not is_outside(change(path), "src/**")


@pytest.mark.parametrize("path", [".git/commondir", ".git/lib/calc.py"])
def test_what_git_has_not_put_there_is_outside(path: str) -> None:
    assert is_outside(change(path), "src/**")


@pytest.mark.parametrize(
    "path",
    [
        ".git/config",
        ".git/hooks/pre-commit",
        ".git/info/exclude",
        ".git/config.worktree",
        ".git/modules/lib/hooks/post-checkout",
        "sub/.git/config",
    ],
)
def test_what_makes_git_run_code_is_outside_unless_it_is_covered(path: str) -> None:
    assert is_outside(change(path), "src/**")
    assert not is_outside(change(path), "**")


def test_nothing_hides_in_a_git_directory_further_down() -> None:
    assert is_outside(change("docs/.git/index"), "src/**")
    assert is_outside(change(".git/hooks/.git/x"), "src/**")
    assert is_outside(change(".git/hooks/a\nb"), "src/**")


def test_the_summary_of_git_changes_with_every_commit_but_does_not_vanish() -> None:
    assert not is_outside(change(".git", ChangeKind.CHANGED, SUMMARY), "src/**")
    assert is_outside(change(".git", ChangeKind.REMOVED, SUMMARY), "src/**")
    assert is_outside(change(".git", ChangeKind.CHANGED, FILE), "src/**")


@pytest.mark.parametrize(
    ("path", "pattern", "expected"),
    [
        (".harness/PLAN.md", "**", True),
        (".harness/PLAN.md", ".harness/**", True),
        (".harness/active-plan", ".harness/**", True),
        (".harness/progress.md", "src/**", True),
        (".harness/progress.md", ".harness/**", False),
        (".harness/progress-auth.md", ".harness/progress*.md", False),
        (".harness/topics/rounding.md", ".harness/topics/**", False),
        (".harness/topics/rounding.md", "src/**", True),
        (".harness/progress/x.md", "**", True),
    ],
)
def test_the_harness_keeps_its_own_files(path: str, pattern: str, *, expected: bool) -> None:
    assert is_outside(change(path), pattern) is expected


def test_the_plan_is_outside_even_where_no_touches_are_declared() -> None:
    assert outside([change(".harness/PLAN.md")], Scope(None))


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("src/**", True),
        ("**/*.py", True),
        (".venv/**", False),
        (".venv/lib/x/**", False),
        ("{.venv,src}/**", False),
        ("**", False),
    ],
)
def test_an_installed_tree_is_outside_unless_a_pattern_speaks_of_it(
    pattern: str, *, expected: bool
) -> None:
    assert is_outside(change(".venv", ChangeKind.CHANGED, SUMMARY), pattern) is expected
