"""What `grep` is told to look for, and where."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.plan.command.tree import Call, Word
from planbound.plan.command.word import words

_GREPS = words("grep egrep fgrep zgrep rg ag ack")
_BASIC = words("grep zgrep")
_OTHER_PATTERNS = ("-E", "-F", "-P", "--extended-regexp", "--fixed-strings", "--perl-regexp")
_VALUED = words(
    "-e -f -m -A -B -C -d -D --regexp --file --max-count --after-context --before-context --context"
    " --include --exclude --exclude-dir --label --color --colour -g --glob -t --type"
)
_PATTERN = words("-e --regexp")
_FILE = words("-f --file")


def is_grep(call: Call) -> bool:
    """Say whether a call looks for lines with a pattern."""
    return call.program in _GREPS or _is_git_grep(call)


def is_basic(call: Call) -> bool:
    """Say whether its patterns are basic regular expressions."""
    if call.program not in _BASIC and not _is_git_grep(call):
        return False
    return not call.has(*_OTHER_PATTERNS)


def grep_patterns(call: Call) -> list[Word]:
    """Return the patterns that a call of `grep` looks for."""
    return _parts(call)[0]


def grep_files(call: Call) -> list[Word]:
    """Return the files and folders that a call of `grep` looks into."""
    return _parts(call)[1]


def _is_git_grep(call: Call) -> bool:
    return call.program == "git" and call.values()[:1] == ["grep"]


def _parts(call: Call) -> tuple[list[Word], list[Word]]:
    patterns: list[Word] = []
    others: list[Word] = []
    is_given = False
    for option, word in _arguments(call):
        if option in _PATTERN:
            patterns.append(word)
            is_given = True
        elif option in _FILE:
            is_given = True
        elif option is None:
            others.append(word)
    if not is_given and others:
        patterns, others = others[:1], others[1:]
    return patterns, others


def _arguments(call: Call) -> Iterator[tuple[str | None, Word]]:
    """Yield the operands, and the values of options each with its option."""
    given = call.arguments[1:] if _is_git_grep(call) else call.arguments
    option: str | None = None
    only = False
    for word in given:
        value = word.value or ""
        if option is not None:
            yield option, word
            option = None
        elif only or not value.startswith("-") or value == "-":
            yield None, word
        elif value == "--":
            only = True
        elif value in _VALUED:
            option = value
        elif not value.startswith("--") and f"-{value[-1]}" in _PATTERN:
            option = "-e"  # at the end of a cluster, such as `-qe`
