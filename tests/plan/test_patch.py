"""Unified diffs: what `git diff` and `diff -u` print is applied, or refused at its line."""

from __future__ import annotations

import difflib
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planbound.plan.patch import PatchError, apply_patch, read_patch
from tests.examples import examples
from tests.tables import one_fact

LINES = st.lists(st.sampled_from(["a", "b", "", " c", "-d", "+e", "@@", "--- x"]), max_size=12)


def applied(diff: str, **files: str) -> dict[str, str | None]:
    """Return the files that a diff changes, by name; `_` in names stands for a dot."""
    known = {name.replace("_", "."): text.encode() for name, text in files.items()}
    found = apply_patch(read_patch(diff), known.get)
    return {
        each.path: None if each.content is None else each.content.decode("utf-8", "surrogateescape")
        for each in found
    }


@given(before=LINES, after=LINES, around=st.integers(0, 3), shift=st.integers(0, 5))
@examples(200)
def test_what_diff_prints_makes_one_text_of_the_other(
    before: list[str], after: list[str], around: int, shift: int
) -> None:
    old, new = ("".join(f"{line}\n" for line in lines) for lines in (before, after))
    if old == new or not before:
        return
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), "a/x.py", "b/x.py", n=around
    )
    diff = "".join(lines)
    assert applied(diff, x_py=old) == {"x.py": new}
    if around == 3 and len(before) > 8:
        # Lines that came to be above: a hunk goes where its lines are.
        moved = "new\n" * shift
        try:
            found = applied(diff, x_py=moved + old)["x.py"]
        except PatchError:
            return
        assert found is not None
        assert found.startswith(moved[:4])


def test_what_git_prints_is_applied_as_git_applies_it(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        call = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *arguments]
        done = subprocess.run(call, cwd=tmp_path, check=True, capture_output=True, text=True)
        return done.stdout

    before = {"a b.txt": "one\ntwo\nthree", "gone.txt": "x\n", "old.txt": "1\n2\n3\n4\n5\n6\n"}
    after = {
        "a b.txt": "one\n2\nthree\n",
        "new.txt": "no end",
        "empty.txt": "",
        "moved.txt": "1\n2\n3\n4\n5\nsix\n",
        "ä.txt": "umlaut\n",
    }
    git("init", "-q")
    for name, text in before.items():
        (tmp_path / name).write_text(text)
    git("add", "-A")
    git("commit", "-qm", "before")
    for name in before:
        (tmp_path / name).unlink()
    for name, text in after.items():
        (tmp_path / name).write_text(text)
    git("add", "-A")
    for options in ((), ("-M",), ("--no-renames",), ("--no-prefix",)):
        diff = git("diff", "--cached", *options)
        known = {name: text.encode() for name, text in before.items()}
        found = {each.path: each.content for each in apply_patch(read_patch(diff), known.get)}
        wanted: dict[str, bytes | None] = {name: text.encode() for name, text in after.items()}
        assert found == {**wanted, "gone.txt": None, "old.txt": None}, options


HUNK = "@@ -1 +1 @@\n-a\n+b\n"


@one_fact(
    ("diff", "line", "said"),
    [
        ("", 0, "it is empty"),
        ("words\n", 0, "it is no diff"),
        (f"--- a/../x\n+++ b/../x\n{HUNK}", 0, "outside of the workspace"),
        (f"--- /etc/x\n+++ /etc/x\n{HUNK}", 0, "outside of the workspace"),
        (f"--- a/.git/config\n+++ b/.git/config\n{HUNK}", 0, "not part of the work"),
        (f"--- a/sub/.GIT/x\n+++ b/sub/.GIT/x\n{HUNK}", 0, "not part of the work"),
        (f"--- a/.harness/x\n+++ b/.harness/x\n{HUNK}", 0, "not part of the work"),
        ("diff --git a/x b/x\nnew file mode 120000\n", 1, "a link"),
        ("diff --git a/x b/x\nnew file mode 160000\n", 1, "a submodule"),
        ("diff --git a/x b/x\nindex 1..2\nGIT binary patch\n", 2, "a binary file"),
        ("diff --git a/x b/x\ncopy from x\ncopy to y\n", 1, "copies a file"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1,2 +1 @@\n-a\n", 2, "ends before its last line"),
        (f"--- a/x.py\n+++ b/x.py\n{HUNK}+c\n", 5, "belongs to no hunk"),
        ("--- a/x.py\n+++ b/x.py\n@@ nowhere @@\n", 2, "a hunk begins with"),
        (f"--- a/y.py\n+++ b/y.py\n{HUNK}", 0, "there is no file `y.py`"),
        ("--- /dev/null\n+++ b/x.py\n@@ -0,0 +1 @@\n+b\n", 0, "`x.py` is there already"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-z\n+b\n", 2, "has other lines"),
        ("--- a/x.py\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", 0, "more lines than the diff removes"),
        ("--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\n+a\n", 0, "it changes nothing"),
    ],
)
def test_what_no_control_may_be_is_refused_at_its_line(diff: str, line: int, said: str) -> None:
    with pytest.raises(PatchError, match=said) as caught:
        applied(diff, x_py="a\nmore\n")
    assert caught.value.line == line


def test_lines_that_differ_in_their_ends_are_different() -> None:
    diff = "--- a/x.py\n+++ b/x.py\n@@ -1 +1 @@\n-a\r\n+b\r\n"
    assert applied(diff, x_py="a\r\n") == {"x.py": "b\r\n"}
    with pytest.raises(PatchError, match="other lines"):
        applied(diff, x_py="a\n")
