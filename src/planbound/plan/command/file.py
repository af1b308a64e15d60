"""The files of the workspace that a command names, and what it does with them.

Only words that are surely paths count; what is not certain is left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.command.directory import below
from planbound.plan.command.program import is_inert, uses
from planbound.plan.command.tree import Call, FileReference, FileUse, Redirect, Word
from planbound.source.pattern import lazy_pattern

_NOT_A_PATH = lazy_pattern(r"[\s*?\[\]{}$`:=@%^|<>\\\"'#!,;()\x00-\x1f\ud800-\udfff]|^[-+~]|^\.*$")
_LOOKS_LIKE_A_PATH = lazy_pattern(
    r"/|\.[A-Za-z][A-Za-z0-9_]{0,11}$|^(?:[Mm]akefile|Dockerfile|LICENSE|README|CHANGELOG|"
    r"Procfile|Gemfile|Rakefile|[Jj]ustfile|VERSION|CODEOWNERS)$"
)
# What is installed is not part of the work.
_INSTALLED = lazy_pattern(r"(?:^|/)(?:node_modules|\.?venv|\.git|vendor/bin)(?:/|$)")
# What a program of unknown effect may have made before.
_MAY_BE_MADE = frozenset({FileUse.READ, FileUse.EXISTS, FileUse.EXECUTED})


def find_files(
    calls: Iterable[Call], redirects: Iterable[Redirect], functions: frozenset[str]
) -> tuple[FileReference, ...]:
    """Return the files that calls and redirects name."""
    found: list[FileReference] = []
    unknown = False
    for call in calls:
        directory = call.directory
        for word, path, use, sure, turned in uses(call):
            if sure or _LOOKS_LIKE_A_PATH.search(path):
                optional = turned or call.optional or (unknown and use in _MAY_BE_MADE)
                found += _reference(word, path, use, directory, optional=optional)
        for redirect in call.redirects:
            found += _redirected(redirect, made=unknown)
        unknown = unknown or not (is_inert(call) or call.name in functions)
    for redirect in redirects:
        found += _redirected(redirect, made=unknown)
    return tuple(found)


def _reference(
    word: Word, path: str, use: FileUse, directory: str | None, *, optional: bool
) -> Iterator[FileReference]:
    if _NOT_A_PATH.search(path):
        return
    seen = below(directory, path)
    if seen and not _INSTALLED.search(seen):
        yield FileReference(path=seen, use=use, start=word.start, end=word.end, optional=optional)


def _redirected(redirect: Redirect, *, made: bool) -> Iterator[FileReference]:
    operator, word = redirect.operator, redirect.target
    if operator in {"<<", "<<-", "<<<"} or word.value is None or word.value.isdigit():
        return
    use = FileUse.READ if redirect.feeds else FileUse.WRITTEN
    optional = redirect.optional or (made and use is FileUse.READ)
    yield from _reference(word, word.value, use, redirect.directory, optional=optional)
