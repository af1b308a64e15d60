"""Unified diffs: read, and applied to the files of a tree. Nothing is guessed, and nothing written.

What `git diff` and `diff -u` print is read. Positions may be off, as with `git apply`: a hunk goes
where its lines are, and nowhere where they are not. Links, binary files, and paths that are not of
the work are refused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from planbound.source import lazy_pattern

_RANGE = lazy_pattern(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@")
_GIT = lazy_pattern(
    r"diff --git (?P<old>\"(?:[^\"\\]|\\.)*\"|\S.*?) (?P<new>\"(?:[^\"\\]|\\.)*\"|\S.*)"
)
_PREFIX = lazy_pattern(r"[abciow12]/")
_NOWHERE = "/dev/null"
_LINK, _MODULE, _RUN = "120000", "160000", "100755"
_HARNESS = frozenset({".git", ".harness"})
_ESCAPES = {"n": 10, "t": 9, "r": 13, "a": 7, "b": 8, "f": 12, "v": 11, '"': 34, "\\": 92}


class PatchError(ValueError):
    """A text is no diff, or does not fit the files that it is about."""

    def __init__(self, reason: str, line: int = 0, hint: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line = line
        """Of the diff, from 0."""
        self.hint = hint


class _Hunk(NamedTuple):
    """Lines that are there before, and what is there instead."""

    line: int
    start: int
    before: tuple[str, ...]
    """With their ends."""
    after: tuple[str, ...]


class FilePatch(NamedTuple):
    """What a diff does to one file."""

    line: int
    old: str | None
    """None: there is none before."""
    new: str | None
    """None: there is none after."""
    hunks: tuple[_Hunk, ...]
    executable: bool | None = None
    """None: as it was."""

    @property
    def path(self) -> str:
        """Return how the file is called, afterwards where it is there."""
        return self.new or self.old or ""


class PatchedFile(NamedTuple):
    """A file as it is with a diff applied."""

    path: str
    content: bytes | None
    """None: it is not there any more."""
    executable: bool | None = None


# -- reading ---------------------------------------------------------------------------------------


def read_patch(text: str) -> tuple[FilePatch, ...]:
    """Return what a diff does, file by file; raise `PatchError` where it is none."""
    found = tuple(_PatchReader(text).files())
    if not found:
        reason = "it is empty" if not text.strip() else "it is no diff: it changes no file"
        raise PatchError(reason, hint="`git diff > bad.patch` writes one")
    for each in found:
        for path in (each.old, each.new):
            if path is not None:
                _refuse_path(path, each.line)
    return found


class _Header:
    """What the lines above the hunks of one file say."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.old: str | None = None
        self.new: str | None = None
        self.is_new = False
        self.is_gone = False
        self.executable: bool | None = None

    def patch(self, hunks: Sequence[_Hunk]) -> FilePatch:
        old = None if self.is_new else self.old
        new = None if self.is_gone else self.new
        return FilePatch(self.line, old, new, tuple(hunks), self.executable)


class _PatchReader:
    def __init__(self, text: str) -> None:
        # Only these are ends of lines: a file may hold others.
        self.lines = text.split("\n")
        if self.lines and not self.lines[-1]:
            self.lines.pop()
        self.at = 0

    def files(self) -> Iterator[FilePatch]:
        began = False
        while self.at < len(self.lines):
            line = self.lines[self.at]
            header = self._header()
            if header is not None:
                began = True
                yield header.patch(list(self._hunks()))
                continue
            if began and line[:1] in {"+", "-", "@"} and line.rstrip() != "--":
                self._fail(
                    "this line belongs to no hunk",
                    "the numbers between `@@` say how many lines a hunk has",
                )
            self.at += 1

    def _header(self) -> _Header | None:
        line = self.lines[self.at].rstrip("\r")
        if line.startswith("diff --git "):
            return self._of_git(line)
        if line.startswith("--- ") and self._next().startswith("+++ "):
            header = _Header(self.at)
            self._names(header)
            return header
        return None

    def _next(self) -> str:
        return self.lines[self.at + 1] if self.at + 1 < len(self.lines) else ""

    def _of_git(self, line: str) -> _Header:
        header = _Header(self.at)
        header.old, header.new = _git_names(line)
        self.at += 1
        while self.at < len(self.lines):
            line = self.lines[self.at].rstrip("\r")
            if line.startswith("--- ") and self._next().startswith("+++ "):
                self._names(header)
                return header
            if not self._takes(header, line):
                break
            self.at += 1
        if header.old is None or header.new is None:
            self._fail("no line says which file is changed", at=header.line)
        return header

    def _takes(self, header: _Header, line: str) -> bool:
        """Read one line between a file's name and its hunks; say whether it is one."""
        word, _, mode = line.rpartition(" ")
        if word in {"new file mode", "deleted file mode", "old mode", "new mode"}:
            if mode in {_LINK, _MODULE}:
                what = "a link" if mode == _LINK else "a submodule"
                self._fail(f"it is about {what}", "only files can be other ones")
            header.is_new = header.is_new or word == "new file mode"
            header.is_gone = header.is_gone or word == "deleted file mode"
            if word in {"new file mode", "new mode"}:
                header.executable = mode == _RUN
            return True
        if line.startswith(("GIT binary patch", "Binary files ")):
            self._fail("it changes a binary file", "a control is a diff of text")
        if line.startswith("rename from "):
            header.old = _name(line[len("rename from ") :])
        elif line.startswith("rename to "):
            header.new = _name(line[len("rename to ") :])
        elif line.startswith("copy "):
            self._fail("it copies a file", "`git diff --no-renames` writes the file in full")
        elif not line.startswith(("index ", "similarity index ", "dissimilarity index ")):
            return False
        return True

    def _names(self, header: _Header) -> None:
        old, new = (self.lines[self.at + place].rstrip("\r")[4:] for place in (0, 1))
        names = _stripped(_name(old.split("\t")[0]), _name(new.split("\t")[0]))
        if header.line == self.at and None not in names:
            names = (names[1], names[1])  # `diff -u app.py.orig app.py` renames nothing
        header.old, header.new = names
        header.is_new = header.is_new or names[0] is None
        header.is_gone = header.is_gone or names[1] is None
        if names == (None, None):
            self._fail("no line says which file is changed")
        self.at += 2

    def _hunks(self) -> Iterator[_Hunk]:
        while self.at < len(self.lines):
            match = _RANGE.match(self.lines[self.at])
            if match is None:
                if self.lines[self.at].startswith("@@"):
                    self._fail("a hunk begins with `@@ -1,3 +1,4 @@`")
                return
            yield self._hunk(match)

    def _hunk(self, match: re.Match[str]) -> _Hunk:
        line, start = self.at, int(match[1])
        left, right = (int(match[place]) if match[place] else 1 for place in (2, 4))
        before: list[str] = []
        after: list[str] = []
        self.at += 1
        while left or right or (self.at < len(self.lines) and self._ends_here()):
            if self.at >= len(self.lines):
                self._fail(
                    "the hunk ends before its last line",
                    "the numbers between `@@` say how many lines a hunk has",
                    at=line,
                )
            text = self.lines[self.at]
            sign, rest = (text[:1], text[1:]) if text.strip("\r") else (" ", text)
            if sign == "\\":
                self._without_end(before, after)
            elif sign == " " and left and right:
                before.append(rest + "\n")
                after.append(rest + "\n")
                left, right = left - 1, right - 1
            elif sign == "-" and left:
                before.append(rest + "\n")
                left -= 1
            elif sign == "+" and right:
                after.append(rest + "\n")
                right -= 1
            else:
                self._fail(
                    "this line is none of the hunk above it",
                    "the numbers between `@@` say how many lines a hunk has",
                )
            self.at += 1
        return _Hunk(line, start, tuple(before), tuple(after))

    def _ends_here(self) -> bool:
        return self.lines[self.at].startswith("\\")

    def _without_end(self, before: list[str], after: list[str]) -> None:
        """Take the end off the line above: the file has none there."""
        sign = self.lines[self.at - 1][:1]
        for side, signs in ((before, "- "), (after, "+ ")):
            if sign in signs and side:
                side[-1] = side[-1].removesuffix("\n")

    def _fail(self, reason: str, hint: str | None = None, at: int | None = None) -> None:
        raise PatchError(reason, self.at if at is None else at, hint)


def _git_names(line: str) -> tuple[str | None, str | None]:
    """Return the names in `diff --git a/x b/x`; blanks in them leave it to the lines below."""
    match = _GIT.fullmatch(line)
    if match is None:
        return None, None
    rest = line[len("diff --git ") :]
    half = len(rest) // 2
    # Without a rename both are the same but for their prefix, also where they hold blanks.
    if rest[half : half + 1] == " " and rest[:half][1:] == rest[half + 1 :][1:]:
        return _stripped(_name(rest[:half]), _name(rest[half + 1 :]))
    return _stripped(_name(match["old"]), _name(match["new"]))


def _stripped(old: str, new: str) -> tuple[str | None, str | None]:
    """Return two names without the `a/` and `b/` of git, None for `/dev/null`."""
    named = [name for name in (old, new) if name != _NOWHERE]
    prefixed = bool(named) and all(_PREFIX.match(name) for name in named)
    if len(named) == 2 and prefixed and named[0][2:] != named[1][2:]:
        prefixed = (old[:2], new[:2]) == ("a/", "b/")  # renamed
    first, second = (
        None if name == _NOWHERE else name[2:] if prefixed else name for name in (old, new)
    )
    return first, second


def _name(written: str) -> str:
    """Return a path, of which git writes other letters than ASCII in quotation marks."""
    written = written.strip()
    if len(written) < 2 or not (written.startswith('"') and written.endswith('"')):
        return written
    data = bytearray()
    for match in re.finditer(r"\\([0-7]{3})|\\(.)|([^\\]+)", written[1:-1]):
        if match[1]:
            data.append(int(match[1], 8) & 0xFF)
        elif match[2]:
            data.append(_ESCAPES.get(match[2], ord(match[2]) & 0xFF))
        else:
            data += match[3].encode("utf-8", "surrogateescape")
    return data.decode("utf-8", "surrogateescape")


def _refuse_path(path: str, line: int) -> None:
    names = path.split("/")
    if path.startswith("/") or ".." in names or "\\" in path:
        raise PatchError(f"`{path}` lies outside of the workspace", line)
    if not path or "." in names or "" in names or any(ord(letter) < 32 for letter in path):
        raise PatchError(f"`{path}` is no path of a file", line)
    if any(name.lower() == ".git" for name in names) or names[0].lower() in _HARNESS:
        raise PatchError(
            f"`{path}` is not part of the work", line, "a control changes files of the project"
        )


# -- applying --------------------------------------------------------------------------------------


def apply_patch(
    patches: Sequence[FilePatch], read: Callable[[str], bytes | None]
) -> tuple[PatchedFile, ...]:
    """Return the files that are others with a diff applied; raise `PatchError` where it is not.

    `read` returns a file of the tree, None where there is none.
    """
    found: dict[str, PatchedFile] = {}

    def now(path: str) -> bytes | None:
        return found[path].content if path in found else read(path)

    for patch in patches:
        content = _patched(patch, now)
        if patch.old is not None and patch.old != patch.new:
            found[patch.old] = PatchedFile(patch.old, None)
        if patch.new is not None:
            found[patch.new] = PatchedFile(patch.new, content, patch.executable)
    changed = tuple(
        each
        for each in found.values()
        if each.content != read(each.path) or each.executable is not None
    )
    if not changed:
        raise PatchError("it changes nothing", patches[0].line)
    return changed


def _patched(patch: FilePatch, read: Callable[[str], bytes | None]) -> bytes:
    there = read(patch.path)
    if patch.old is None:
        if there is not None:
            raise PatchError(f"`{patch.path}` is there already", patch.line)
        before = b""
    else:
        content = read(patch.old)
        if content is None:
            raise PatchError(f"there is no file `{patch.old}`", patch.line)
        if patch.new not in {None, patch.old} and there is not None:
            raise PatchError(f"`{patch.new}` is there already", patch.line)
        before = content
    lines = _cut(before.decode("utf-8", "surrogateescape"))
    shift = 0
    reached = 0
    for hunk in patch.hunks:
        # Behind the line that is named where nothing is there before.
        wanted = (hunk.start if not hunk.before else hunk.start - 1) + shift
        place = _find(lines, hunk.before, max(wanted, 0), reached)
        if place is None:
            raise PatchError(
                f"`{patch.old or patch.path}` has other lines than the diff says",
                hunk.line,
                "make it anew: `git diff` on the files as they are now",
            )
        lines[place : place + len(hunk.before)] = hunk.after
        shift += place - wanted + len(hunk.after) - len(hunk.before)
        reached = place + len(hunk.after)
    if patch.new is None and lines:
        raise PatchError(f"`{patch.old}` has more lines than the diff removes", patch.line)
    return "".join(lines).encode("utf-8", "surrogateescape")


def _cut(text: str) -> list[str]:
    """Return lines with their ends; only a line feed is one."""
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _find(lines: list[str], wanted: Sequence[str], near: int, first: int) -> int | None:
    """Return where lines stand, as near to a place as can be and not before what was changed."""
    last = len(lines) - len(wanted)
    if not wanted:
        return min(max(near, first), len(lines))
    places = range(first, last + 1)
    for place in sorted(places, key=lambda each: abs(each - near)):
        if lines[place] == wanted[0] and lines[place : place + len(wanted)] == [*wanted]:
            return place
    return None
