"""The file tools, as a program of their own that runs in the cell.

A request comes as JSON on the standard input, the answer goes as JSON to the standard output. The
workspace is the folder in which it starts. It imports nothing of ours: it starts with `-I -S`.
"""

from __future__ import annotations

import fnmatch
import json
import os
import re
import stat
import sys

# typing is not imported: that would double the time this takes to start.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

MOST = 30_000
"""Characters in an answer."""
LARGEST = 16 << 20
"""Bytes of a file that is read."""
LONGEST_LINE = 1000
MOST_LINES = 1000
MOST_ENTRIES = 500
MOST_FOUND = 200
DEEPEST = 8
_SEARCHED = 4 << 20
_LOOKED_AT = 8192
_PASSED_OVER = frozenset(
    ".git .hg .svn .venv venv node_modules __pycache__ .mypy_cache .ruff_cache .pytest_cache"
    " .tox .nox".split()
)


class ToolRefusedError(Exception):
    """What was asked for is not done, and why."""


def resolve(root: str, path: str) -> str:
    """Return where a path leads, links followed; refuse what is not in the workspace."""
    found = os.path.realpath(os.path.join(root, path))
    if found != root and not found.startswith(root.rstrip(os.sep) + os.sep):
        raise ToolRefusedError(f"`{path}` is outside the workspace")
    return found


def list_files(root: str, request: dict[str, Any]) -> str:
    """Return what is in a folder."""
    path = str(request.get("path") or ".")
    folder = resolve(root, path)
    if not os.path.isdir(folder):
        raise ToolRefusedError(
            f"`{path}` is not a folder" if os.path.exists(folder) else _nothing(path)
        )
    depth = min(max(int(request.get("depth") or 1), 1), DEEPEST)
    lines: list[str] = []
    for line in _entries(folder, "", depth):
        if len(lines) == MOST_ENTRIES:
            lines.append(f"[cut: more than {MOST_ENTRIES} entries; list a folder of it]")
            break
        lines.append(line)
    return "\n".join(lines) or "[empty]"


def _entries(folder: str, before: str, depth: int) -> Iterator[str]:
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield f"{before}[cannot be listed: {error.strerror}]"
        return
    for entry in entries:
        name = before + entry.name
        if entry.is_symlink():
            yield f"{name} -> {os.readlink(entry.path)}"
        elif entry.is_dir():
            yield f"{name}/"
            if depth > 1 and entry.name not in _PASSED_OVER:
                yield from _entries(entry.path, f"{name}/", depth - 1)
        elif entry.is_file():  # A mask over what must not come to be is none.
            yield f"{name} ({entry.stat().st_size} bytes)"


def read(root: str, request: dict[str, Any]) -> str:
    """Return lines of a file, with their numbers."""
    path = str(request["path"])
    lines = _text(path, _content(root, path)).splitlines()
    first = max(int(request.get("start") or 1), 1)
    count = min(max(int(request.get("lines") or 400), 1), MOST_LINES)
    if not lines:
        return "[empty]"
    if first > len(lines):
        raise ToolRefusedError(f"`{path}` has {len(lines)} lines, and none at {first}")
    shown: list[str] = []
    size = 0
    for number, line in enumerate(lines[first - 1 : first - 1 + count], first):
        text = f"{number}\t{_short(line)}"
        size += len(text) + 1
        if size > MOST:
            break
        shown.append(text)
    last = first + len(shown) - 1
    if first > 1 or last < len(lines):
        more = f"; read on with start={last + 1}" if last < len(lines) else ""
        shown.append(f"[lines {first} to {last} of {len(lines)}{more}]")
    return "\n".join(shown)


def search(root: str, request: dict[str, Any]) -> str:
    """Return the lines of files that a pattern matches."""
    path = str(request.get("path") or ".")
    start = resolve(root, path)
    if not os.path.exists(start):
        raise ToolRefusedError(_nothing(path))
    try:
        pattern = re.compile(str(request["pattern"]))
    except re.error as error:
        raise ToolRefusedError(f"the pattern is no regular expression: {error}") from error
    glob = str(request.get("glob") or "")
    found: list[str] = []
    size = 0
    for file in _files(root, start):
        name = os.path.relpath(file, root)
        if glob and not _fits(name, glob):
            continue
        for line in _matches(name, file, pattern):
            size += len(line) + 1
            if len(found) == MOST_FOUND or size > MOST:
                found.append(f"[cut: more than {len(found)} lines match; search for less]")
                return "\n".join(found)
            found.append(line)
    return "\n".join(found) or "[nothing found]"


def _fits(name: str, glob: str) -> bool:
    return any(
        fnmatch.fnmatchcase(text, glob.removeprefix("**/"))
        for text in (name, os.path.basename(name))
    )


def _files(root: str, start: str) -> Iterator[str]:
    """Yield the plain files below a folder; links are not followed out of the workspace."""
    if not os.path.isdir(start):
        yield start
        return
    for folder, names, files in os.walk(start):
        names[:] = sorted(name for name in names if name not in _PASSED_OVER)
        for name in sorted(files):
            path = os.path.join(folder, name)
            if not os.path.islink(path) or os.path.realpath(path).startswith(root + os.sep):
                yield path


def _matches(name: str, file: str, pattern: re.Pattern[str]) -> Iterator[str]:
    try:
        status = os.stat(file)
        if not stat.S_ISREG(status.st_mode) or status.st_size > _SEARCHED:
            return
        with open(file, "rb") as opened:
            content = opened.read()
    except OSError:
        return
    if b"\0" in content[:_LOOKED_AT]:
        return
    for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), 1):
        if pattern.search(line):
            yield f"{name}:{number}: {_short(line.strip())}"


def edit(root: str, request: dict[str, Any]) -> str:
    """Replace a text that is there exactly once, or everywhere where that is asked for."""
    path, old, new = str(request["path"]), str(request["old"]), str(request["new"])
    if not old:
        raise ToolRefusedError("`old` is empty: use `write` for a new file")
    if old == new:
        raise ToolRefusedError("`old` and `new` are the same")
    text = _text(path, _content(root, path))
    if old not in text and "\r\n" in text:
        old, new = (part.replace("\r\n", "\n").replace("\n", "\r\n") for part in (old, new))
    count = text.count(old)
    if not count:
        raise ToolRefusedError(f"`old` is not in `{path}`: read it, and copy what is there exactly")
    if count > 1 and not request.get("everywhere"):
        numbers = ", ".join(str(number) for number in _places(text, old)[:10])
        raise ToolRefusedError(
            f"`old` is in `{path}` {count} times (lines {numbers}): give more of what is around the"
            " one that you mean, or set `everywhere`"
        )
    _put(root, path, text.replace(old, new))
    return f"replaced {count} time{'s' if count > 1 else ''} in `{path}`"


def _places(text: str, part: str) -> list[int]:
    found, start = [], text.find(part)
    while start >= 0:
        found.append(text.count("\n", 0, start) + 1)
        start = text.find(part, start + len(part))
    return found


def write(root: str, request: dict[str, Any]) -> str:
    """Write a whole file, and the folders that it is in."""
    path, content = str(request["path"]), str(request["content"])
    existed = os.path.exists(resolve(root, path))
    _put(root, path, content)
    size = len(content.encode("utf-8", "replace"))
    return f"{'overwrote' if existed else 'made'} `{path}` ({size} bytes)"


def _put(root: str, path: str, content: str) -> None:
    target = resolve(root, path)
    if os.path.isdir(target):
        raise ToolRefusedError(f"`{path}` is a folder")
    os.makedirs(os.path.dirname(target), exist_ok=True)
    # In place: a file that is mounted cannot be replaced, and its mode and its links stay.
    with open(target, "wb") as file:
        file.write(content.encode("utf-8", "replace"))


def _content(root: str, path: str) -> bytes:
    target = resolve(root, path)
    try:
        status = os.stat(target)
    except FileNotFoundError as error:
        raise ToolRefusedError(_nothing(path)) from error
    if stat.S_ISDIR(status.st_mode):
        raise ToolRefusedError(f"`{path}` is a folder: use `list`")
    if not stat.S_ISREG(status.st_mode):
        raise ToolRefusedError(f"`{path}` is not a plain file")
    if status.st_size > LARGEST:
        raise ToolRefusedError(
            f"`{path}` is too large ({status.st_size} bytes): look at parts of it with `shell`"
        )
    with open(target, "rb") as file:
        return file.read()


def _text(path: str, content: bytes) -> str:
    if b"\0" in content[:_LOOKED_AT]:
        raise ToolRefusedError(f"`{path}` is a binary file ({len(content)} bytes)")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ToolRefusedError(f"`{path}` is not UTF-8 text ({len(content)} bytes)") from error


def _short(line: str) -> str:
    if len(line) <= LONGEST_LINE:
        return line
    return f"{line[:LONGEST_LINE]} [cut: {len(line)} characters]"


def _nothing(path: str) -> str:
    return f"there is no `{path}`"


TOOLS: dict[str, Callable[[str, dict[str, Any]], str]] = {
    "list": list_files,
    "read": read,
    "search": search,
    "edit": edit,
    "write": write,
}


def answer(request: dict[str, Any]) -> dict[str, str]:
    """Do what is asked for."""
    try:
        return {"text": TOOLS[request["tool"]](os.path.realpath("."), request)}
    except ToolRefusedError as error:
        return {"refused": str(error)}
    except OSError as error:
        return {"refused": f"`{request.get('path')}`: {error.strerror or error}"}
    except ValueError as error:  # such as a path with a zero byte
        return {"refused": str(error)}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(answer(json.load(sys.stdin))))
