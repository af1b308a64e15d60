"""What a shell is like before and after it takes in code of the product: the same, or it lies.

What is taken in can say what `exit`, `set` and the script's own functions mean. A few words look at
that from within: they are special builtins, which no function replaces once the shell is told to
follow POSIX.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.script import Script, read_script
from planbound.script.tree import words
from planbound.source import lazy_pattern

_NAME = lazy_pattern(r"(?:\[|:|[A-Za-z_][\w.+-]*)")
_SECTION = lazy_pattern(r"(?m)^== (\w+)$\n")
_TRAP = lazy_pattern(r"trap -- ('(?:[^']|'\\'')*'|\S+) (\w+)$", re.MULTILINE)
_VARIABLE = lazy_pattern(r"(?m)^declare -([A-Za-z-]+) (\w+)")
_DEFINED = lazy_pattern(r"(?m)^(\S+) \(\) *\n")
_HARMLESS = words(
    "rm rmdir echo printf : true wait popd pushd cd cat date tput sleep stty local [ [[ test"
)
_ENDING = words("EXIT 0 ERR DEBUG RETURN")
_TYPED = frozenset("rinlu")
_SECTIONS = words("options traps readonly meanings variables functions")


class ShellState(NamedTuple):
    """What a shell is like."""

    letters: str
    options: frozenset[str]
    traps: Mapping[str, str]
    fixed: frozenset[str]
    """The functions that cannot be defined again."""
    meanings: Mapping[str, str]
    """What names mean that a script calls."""
    variables: Mapping[str, str]
    """The attributes of variables."""
    functions: Mapping[str, str]


def look(names: Collection[str], place: str) -> str:
    """Return the words with which a shell writes down what it is like; `place` is a variable."""
    asked = " ".join(f"'{name}'" for name in sorted(names) if _NAME.fullmatch(name))
    return (
        f'! (__o="$-:${{SHELLOPTS-}}:${{BASHOPTS-}}"; POSIXLY_CORRECT=1; ! unset -f command; '
        f'{{ command echo "== options"; command echo "$__o"; command echo "== traps"; trap; '
        f'command echo "== readonly"; case ${{BASH_VERSION-}} in ?*) readonly -pf;; esac; '
        f'command echo "== meanings"; for __n in {asked}; do command echo "== of"; '
        f'command echo "$__n"; ! command -V "$__n"; done; command echo "== variables"; '
        f'! command declare -p; command echo "== functions"; ! command declare -f; '
        f'command echo "== end"; }} >| "${place}" 2>/dev/null; exit 1)'
    )


def read_state(data: bytes) -> ShellState | None:
    """Read what a shell wrote down; None where it is not whole."""
    text = data.decode("utf-8", "replace")
    parts = _SECTION.split(text)
    if parts[-2:-1] != ["end"]:
        return None
    found: dict[str, str] = {}
    meanings: dict[str, str] = {}
    for name, content in zip(parts[1::2], parts[2::2], strict=True):
        if name == "of":
            asked, _, meaning = content.partition("\n")
            meanings[asked] = _meaning(asked, meaning)
        else:
            found[name] = content
    if not found.keys() >= _SECTIONS:
        return None
    letters, _, options = found["options"].strip().partition(":")
    return ShellState(
        letters=letters,
        options=frozenset(options.split(":")),
        traps={name: _unquoted(text) for text, name in _TRAP.findall(found["traps"])},
        fixed=frozenset(re.findall(r"(?m)^(?:declare|readonly) -\w*f\w* (\S+)", found["readonly"])),
        meanings=meanings,
        variables={name: flags for flags, name in _VARIABLE.findall(found["variables"])},
        functions=_functions(found["functions"]),
    )


def _meaning(name: str, text: str) -> str:
    """Return what a name means, however the shell found that out."""
    path = re.search(r"(/[^\s)]*)\)?\s*\Z", text)
    is_file = path is not None and "function" not in text.partition("\n")[0]
    return path[1] if path is not None and is_file else text.removeprefix(name).strip()


def _functions(text: str) -> Mapping[str, str]:
    starts = list(_DEFINED.finditer(text))
    ends = [each.start() for each in starts[1:]] + [len(text)]
    return {each[1]: text[each.end() : end] for each, end in zip(starts, ends, strict=False)}


def _unquoted(text: str) -> str:
    return text[1:-1].replace("'\\''", "'") if text[:1] == "'" else text


def changes(
    before: ShellState, after: ShellState, script: Script, since: int | None
) -> Iterator[str]:
    """Yield what was changed of a shell by what a script took in at a place of its text.

    At its end, which is None, there is also what the script itself has changed meanwhile.
    """
    yield from _switched(before, after, script, is_end=since is None)
    for name in sorted((after.fixed - before.fixed) & script.functions):
        if since is not None or "readonly" not in script.text:
            yield f"`{name}` can no longer be defined"
    for name, meaning in before.meanings.items():
        if _is_other(name, meaning, after, script, is_end=since is None):
            yield f"`{name}` means something else"
    assigned = _assigned(script, 0)
    for name, text in after.traps.items():
        if name not in _ENDING or before.traps.get(name) == text or _is_own_trap(script, text):
            continue
        if not _is_harmless(text, after.functions, assigned, ()):
            yield f"a trap of {name} was set"
    for name in sorted(_assigned(script, since)) if since is not None else ():
        was, now = before.variables.get(name, ""), after.variables.get(name, "")
        if _TYPED & set(now) - set(was):
            yield f"`{name}` was made a variable of another kind"


def _switched(
    before: ShellState, after: ShellState, script: Script, *, is_end: bool
) -> Iterator[str]:
    """Yield the options that keep a shell from ending, or from telling things apart."""
    weakens = any(
        call.program == "set" and any(value[:1] == "+" for value in call.values())
        for call in script.calls
    )
    if not (is_end and weakens):
        lost = "e" in before.letters and "e" not in after.letters
        if lost or "pipefail" in before.options - after.options:
            yield "what ends it at a failure was turned off"
    for option in sorted((after.options - before.options) & {"extdebug", "nocasematch", "noexec"}):
        if option not in script.text:
            yield f"`{option}` was turned on"


def _is_other(name: str, was: str, after: ShellState, script: Script, *, is_end: bool) -> bool:
    """Say whether a name that meant something means something else that nobody gave it there."""
    now = after.meanings.get(name, "")
    if not was or "not found" in was or was == now:
        return False
    if now.startswith("is aliased") and "expand_aliases" not in after.options:
        return False
    return not (is_end and _defines(script, name, again=was.startswith("is a function")))


def _defines(script: Script, name: str, *, again: bool) -> bool:
    """Say whether the script itself says what a name means: at all, or more than once."""
    plain = re.escape(name)
    pattern = rf"(?m)(?:^|[\s;{{]){plain}\s*\(\)|function\s+{plain}(?!\w)"
    return name in script.functions and len(re.findall(pattern, script.text)) > again


def _is_own_trap(script: Script, text: str) -> bool:
    for call in script.calls:
        if call.program == "trap" and call.arguments:
            word = call.arguments[0]
            # What the shell puts in is not known; what stands around it is.
            parts = re.split(r"\$\{?\w+\}?|\$\([^)]*\)", word.text.strip("\"'"))
            pattern = ".*".join(map(re.escape, parts))
            if word.value == text or (word.value is None and re.fullmatch(pattern, text)):
                return True
    return False


def _assigned(script: Script, since: int) -> frozenset[str]:
    found = (each.name for call in script.calls for each in call.assignments if each.start >= since)
    return frozenset(found)


def _is_harmless(
    text: str, functions: Mapping[str, str], kept: Collection[str], seen: Sequence[str]
) -> bool:
    """Say whether a trap, with the functions that it calls, changes nothing of what is judged."""
    script = read_script(text)
    if script.broken:
        return False
    for call in script.calls:
        if any(each.name in kept for each in call.assignments):
            return False
        if call.word is None or call.program in _HARMLESS or call.program in seen:
            continue
        body = functions.get(call.program)
        if body is None or not _is_harmless(body, functions, kept, (*seen, call.program)):
            return False
    return True
