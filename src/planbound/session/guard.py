"""What an agent in the loop may not do with the tools of its host.

This is a fence, not a wall: it stops what agents do by habit. What it does not see is seen by the
journal, by the digests of plans, and by the judges as they were frozen.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.source import lazy_pattern

PROTECTED = (".harness/", "planbound.toml", ".git/hooks/", ".git/config")
"""What only people and the harness write."""
DECISIONS = "approve waive answer attest release decide gate reject amend install cancel".split()
"""Commands by which a person decides."""
_EDITING = lazy_pattern(r"edit|write|create|replace|patch|multiedit|notebook|delete|remove|move")
_RUNNING = lazy_pattern(r"bash|shell|exec|command|terminal|run")
_SEPARATORS = lazy_pattern(r"[;&|()\n]+")
_INNER = lazy_pattern(r"\$\(([^()]*)\)|`([^`]*)`|<\(([^()]*)\)")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=.*")
_SCRIPT_WRITES = lazy_pattern(
    r"write|['\"][wax]b?\+?['\"]|unlink|remove|rename|replace|rmtree|copy|truncate|chmod|\bsed\b"
    r"|>|\bs/"
)
_WRAPPERS = frozenset(
    "sudo env nohup setsid time exec command builtin timeout nice ionice stdbuf xargs uv uvx run"
    " poetry pipx then do else ! { ( if while until".split()
)
_SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh", "fish", "eval"})
_SCRIPTS = frozenset({"python", "python3", "perl", "ruby", "node", "awk"})
_CHANGING = frozenset(
    "rm rmdir unlink mv tee truncate chmod chown ln dd patch touch shred rsync install".split()
)
_GIT_CHANGING = frozenset("checkout restore clean stash rm mv reset apply".split())
_EXECUTES = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_WHOLE = frozenset("rm rmdir mv chmod chown shred git".split())
"""What changes a folder with all that is in it."""
_COPYING = frozenset({"cp"})
_SURELY = frozenset({"approve", "waive", "attest"})
"""Words that hardly any other program has: they decide, whatever variable names the program."""
_ENDS = frozenset({";", "&", "&&", "|", "||", "|&", "\n", "(", ")", ";;"})
_PATHS = ("file_path", "path", "filePath", "notebook_path", "absolute_path", "target_file", "file")
_COMMANDS = ("command", "cmd", "script", "code")
_PATCHED = re.compile(
    r"^(?:\*\*\* (?:Update|Add|Delete) File: |\*\*\* Move to: |(?:\+\+\+|---) (?:[ab]/)?)(.+)$",
    re.MULTILINE,
)
_DEPTH = 4


class ToolCall(NamedTuple):
    """What a call of a tool would do, as far as its name and its arguments show."""

    commands: tuple[str, ...]
    """What it would run."""
    edited: tuple[str, ...]
    """The files that it would edit."""


def read_call(tool: str, arguments: Mapping[str, object]) -> ToolCall:
    """Return what a call would do; each host calls its tools, and what they get, otherwise."""
    name = tool.rsplit("__", 1)[-1].lower()
    return ToolCall(
        commands=tuple(_texts(arguments, _COMMANDS)) if _RUNNING.search(name) else (),
        edited=tuple(_edited(arguments)) if _EDITING.search(name) else (),
    )


def denial(call: ToolCall, judges: Collection[str], root: str = "") -> str | None:
    """Return why a call of a tool is not allowed; None where it is."""
    for command in call.commands:
        if (reason := _command_denial(command, judges, root)) is not None:
            return reason
    for path in call.edited:
        if (reason := _path_denial(_inside(path.strip(), root), judges)) is not None:
            return reason
    return None


def written_paths(call: ToolCall, root: str = "") -> Iterator[str]:
    """Yield the files of the workspace that a call of a tool would write, as far as it shows."""
    found: list[str] = []
    for command in call.commands:
        found += _written_by(command)
    found += call.edited
    for path in map(str.strip, found):
        elsewhere = path.startswith("/") and not path.startswith(root.rstrip("/") + "/")
        if path and not elsewhere and not path.isdecimal():  # `2>&1` writes no file called 1
            yield _inside(path, root)


def _written_by(command: str, depth: int = 0) -> Iterator[str]:
    if depth >= _DEPTH:
        return
    for inner in _INNER.findall(command):
        yield from _written_by("".join(inner), depth + 1)
    for words in _simple_commands(command):
        yield from _written(words)
        if (inner_command := _inner_command(words)) is not None:
            yield from _written_by(inner_command, depth + 1)


def _edited(arguments: Mapping[str, object]) -> Iterator[str]:
    yield from _texts(arguments, _PATHS)
    for text in _texts(arguments, ("patch", "input", "diff", *_COMMANDS)):
        yield from _PATCHED.findall(text)


def _command_denial(command: str, judges: Collection[str], root: str, depth: int = 0) -> str | None:
    for inner in _INNER.findall(command) if depth < _DEPTH else ():
        found = _command_denial("".join(inner), judges, root, depth + 1)
        if found is not None:
            return found
    for words in _simple_commands(command):
        reason = _decision(words) or _change(words, judges, root)
        if reason is None and depth < _DEPTH:
            inner_command = _inner_command(words)
            if inner_command is not None:
                reason = _command_denial(inner_command, judges, root, depth + 1)
        if reason is not None:
            return reason
    return None


def _simple_commands(command: str) -> Iterator[list[str]]:
    """Yield the words of each command in a line of a shell, redirections among them."""
    # A line break ends a command as `;` does, outside quotes; inside it does no harm.
    lexer = shlex.shlex(command, posix=True, punctuation_chars=";&|()<>\n")
    lexer.whitespace = " \t\r"
    lexer.commenters = ""
    words: list[str] = []
    try:
        for word in lexer:
            if word in _ENDS or (word and set(word) <= set(";&|()\n") and word != ">|"):
                if words:
                    yield _unwrapped(words)
                words = []
            else:
                words.append(word)
    except ValueError:  # quotes that do not match: then none of them counts
        words = []
        for part in _SEPARATORS.split(command):
            yield _unwrapped(part.split())
    if words:
        yield _unwrapped(words)


def _unwrapped(words: list[str]) -> list[str]:
    """Return a command without what stands before it and only says how it runs."""
    index = 0
    while index < len(words):
        word = words[index]
        wraps = index and words[index - 1] in _WRAPPERS
        if word in _WRAPPERS or _ASSIGNMENT.fullmatch(word):
            index += 1
        elif wraps and (word.startswith("-") or word.rstrip("smhd").isdecimal()):
            words[index] = "env"  # its options may have options behind them
            index += 1
        else:
            break
    # An option of a wrapper may have a value behind it, such as a user: what is wrapped counts.
    names = [word.rpartition("/")[2] for word in words]
    if "env" in names[:index] and "planbound" in names[index:]:
        index = names.index("planbound", index)
    return words[index:]


def _decision(words: Sequence[str]) -> str | None:
    """Return why a person, and no agent, runs this."""
    if not words:
        return None
    name, rest = words[0].rpartition("/")[2], list(words[1:])
    if name in _SCRIPTS and rest[:2] == ["-m", "planbound"]:
        name, rest = "planbound", rest[2:]
    if name.startswith("$"):  # `$PB`, `${PB}`: in words of their own
        named = next((word for word in rest[:4] if word in _SURELY), None)
        return f"`{named}` is for a person to decide, not for an agent" if named else None
    if name != "planbound":
        return None
    # An option may have a value behind it, which looks like a command: then both are one.
    for index, word in enumerate(rest):
        if word in DECISIONS and (index == 0 or rest[index - 1].startswith("-") or index == 2):
            return f"`planbound {word}` is for a person to decide, not for an agent"
        if not word.startswith("-") and (index == 0 or not rest[index - 1].startswith("-")):
            return None
    return None


def _change(words: Sequence[str], judges: Collection[str], root: str) -> str | None:
    """Return why the files that a command writes are not an agent's."""
    for path in _written(words):
        if (reason := _path_denial(_inside(path, root), judges)) is not None:
            return reason
        name = words[0].rpartition("/")[2] if words else ""
        moved_to = name == "mv" and path == words[-1]
        if name in _WHOLE and not moved_to and _holds(path, judges, root):
            return f"`{path}` holds what says whether the work is right, so it stays as it is"
    if words and words[0].rpartition("/")[2] in _SCRIPTS and "-c" in words[:4]:
        script = " ".join(words)
        for path in (*PROTECTED, *judges):
            if path in script and _SCRIPT_WRITES.search(script):
                return f"`{path}` is not an agent's to change: it says whether the work is right"
    return None


def _holds(folder: str, judges: Collection[str], root: str) -> bool:
    """Say whether a folder has judges in it, or a part of the harness."""
    inside = _inside(folder, root)
    if inside == "":  # all of the workspace, or what lies around it
        return folder in {".", "./", ":/", root} and bool(judges)
    return any(path.startswith(f"{inside}/") for path in (*PROTECTED, *judges))


def _written(words: Sequence[str]) -> Iterator[str]:
    for index, word in enumerate(words[:-1]):
        if ">" in word and set(word) <= set("<>&|"):
            yield words[index + 1]
    plain = _without_redirections(words)
    if not plain:
        return
    name, rest = plain[0].rpartition("/")[2], plain[1:]
    named = [word for word in rest if not word.startswith("-")]
    in_place = any(word.startswith(("-i", "--in-place", "-pi", "-ni")) for word in rest)
    if name in _COPYING:
        yield from named[-1:]
    elif name == "dd":
        yield from (word.removeprefix("of=") for word in rest if word.startswith("of="))
    elif (
        name in _CHANGING
        or (name in {"sed", "perl", "ruby"} and in_place)
        or (name == "git" and named and named[0] in _GIT_CHANGING)
    ):
        yield from named


def _without_redirections(words: Sequence[str]) -> list[str]:
    plain: list[str] = []
    skip = False
    for word in words:
        if skip:
            skip = False
        elif word and set(word) <= set("<>&|"):
            skip = True
        else:
            plain.append(word)
    return plain


def _inner_command(words: Sequence[str]) -> str | None:
    """Return what a shell, or `find`, is given to run."""
    if words and words[0].rpartition("/")[2] == "find":
        given = next((n for n, word in enumerate(words) if word in _EXECUTES), len(words))
        return shlex.join(words[given + 1 :])
    if not words or words[0].rpartition("/")[2] not in _SHELLS:
        return None
    if words[0] == "eval":
        return " ".join(words[1:])
    for index, word in enumerate(words[1:-1], 1):
        if word.startswith("-") and not word.startswith("--") and "c" in word:
            return words[index + 1]
    return None


def _path_denial(path: str, judges: Collection[str]) -> str | None:
    for known in PROTECTED:
        folder = known.endswith("/") and path.startswith(known)
        if path == known.rstrip("/") or folder:
            return f"`{path}` is the harness's: change the plan by `plan_amend`"
    if path in judges:
        return f"`{path}` says whether the work is right, so it stays as it was frozen"
    return None


def _inside(path: str, root: str) -> str:
    """Return a path as it is seen from the workspace, without detours."""
    if root and (path == root or path.startswith(root.rstrip("/") + "/")):
        path = path[len(root.rstrip("/")) + 1 :]
    parts: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if parts:
                parts.pop()
        elif part not in {"", "."}:
            parts.append(part)
    return "/".join(parts)


def _texts(arguments: Mapping[str, object], keys: Collection[str]) -> Iterator[str]:
    for key in keys:
        value = arguments.get(key)
        if isinstance(value, str):
            yield value
        elif isinstance(value, list):
            # As a program gets it: a shell that is given one text reads that again.
            yield " ".join(shlex.quote(str(each)) for each in value)
