"""What the words of a call say about the files that it judges by."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from planbound.engine.judging.places import says_expected
from planbound.plan.command import Call, FileReference, Script
from planbound.plan.command.directory import below
from planbound.plan.command.runner import runner_of, tested_words
from planbound.plan.command.wrapper import SHELLS, program_of
from planbound.source.pattern import lazy_pattern

_MAKERS = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "gmake": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", ".justfile", "Justfile"),
}
_MAKE_VALUED = frozenset("-C -f -I -o -W --directory --file --makefile --justfile -d".split())
_MAKE_FILES = frozenset("-f --file --makefile --justfile".split())
_MOVES = frozenset("-C --directory --prefix --cwd --dir --working-directory -d".split())
_MANAGERS = frozenset("npm pnpm yarn bun".split())
_TEST_WORDS = frozenset("test t tst".split())
_RUN_WORDS = frozenset("run run-script".split())
_COMPARING = frozenset("diff cmp comm colordiff sdiff diff3 icdiff".split())
_PROGRAM_OPTIONS = {
    "jq": ("-f", "--from-file"),
    "yq": ("--from-file",),
    "grep": ("-f", "--file"),
    "egrep": ("-f", "--file"),
    "fgrep": ("-f", "--file"),
    "rg": ("-f", "--file"),
    "awk": ("-f", "--file"),
    "gawk": ("-f", "--file"),
    "mawk": ("-f", "--file"),
    "sed": ("-f", "--file"),
    "ajv": ("-s", "--schema"),
    "check-jsonschema": ("--schemafile",),
    "jsonschema": ("-s", "--schema"),
    "xmllint": ("--schema", "--relaxng", "--dtdvalid"),
    "sha256sum": ("-c", "--check"),
    "sha1sum": ("-c", "--check"),
    "sha512sum": ("-c", "--check"),
    "md5sum": ("-c", "--check"),
}
"""Options behind which stands what to look for, rather than what to look at."""
_INTERPRETERS = SHELLS | frozenset("python pypy node ruby perl php lua".split())
_ASSIGNMENT = lazy_pattern(r"\w+\s*:?=")
_PUT_IN = lazy_pattern(r"[$`\"'\\]")
_PIPE = lazy_pattern(r"[^\S\n]*(?:\d?>&\d[^\S\n]*)*\|(?!\|)")


class Making(NamedTuple):
    """A call of make or just."""

    base: str
    file: str | None
    names: tuple[str, ...]
    """What it looks for where no file is given, the first first."""
    targets: tuple[str, ...]
    just: bool
    climbs: bool
    """Whether it looks in the directories above too."""


def making(call: Call) -> Making | None:
    """Read a call of make or just."""
    names = _MAKERS.get(call.program)
    if names is None:
        return None
    base, file = _base(call), None
    for option, following in pairwise([*call.values(), ""]):
        if option in _MAKE_FILES:
            file = following
        elif option.startswith(("--file=", "--makefile=", "--justfile=")):
            file = option.partition("=")[2]
    operands = [word.value or "" for word in call.operands(_MAKE_VALUED)]
    targets = tuple(each for each in operands if each and not _ASSIGNMENT.match(each))
    just = call.program == "just"
    return Making(base, file, names, targets[:1] if just else targets, just, just)


def package_script(call: Call) -> tuple[str, str] | None:
    """Return the directory and the name of the package script that a call runs."""
    if call.program not in _MANAGERS:
        return None
    words = [word.value or "" for word in call.operands(_MOVES | {"-w", "--filter", "-F"})]
    if words and words[0] in _RUN_WORDS and len(words) > 1:
        return _base(call), words[1]
    if not words or call.program == "bun":
        return None
    if words[0] in _TEST_WORDS:
        return _base(call), "test"
    # `yarn lint` and `pnpm lint` run a script without saying so.
    return (_base(call), words[0]) if call.program != "npm" else None


def tested_operands(call: Call) -> tuple[list[str], bool]:
    """Return the paths given to a test runner, and whether there are surely no others."""
    runner = runner_of(call)
    if runner is None:
        return [], True
    found = [path for _, path in tested_words(call, runner)]
    certain = True
    for word in call.arguments:
        if word.value is None and not word.text.startswith("-"):
            if _PUT_IN.search(word.text):
                certain = False
            else:
                found.append(word.text)
    return found, certain


def compared(call: Call) -> Iterator[str]:
    """Yield what an output is compared with, as its name says."""
    compares = call.program in _COMPARING
    if not compares and not (call.program == "git" and call.has("--no-index")):
        return
    for word in call.operands(frozenset("-I -x -U -C --exclude --label".split())):
        path = below(call.directory or "", word.value) if word.value else None
        if path and says_expected(path):
            yield path


def program_files(call: Call) -> Iterator[str]:
    """Yield the files that say what to look for: patterns, filters, schemas, sums."""
    options = _PROGRAM_OPTIONS.get(call.program, ())
    for option, following in pairwise([*call.values(), ""]):
        name, given, value = option.partition("=")
        if name in options and (path := value if given else following):
            seen = below(call.directory or "", path)
            if seen:
                yield seen


def executed_module(call: Call) -> Iterator[str]:
    """Yield the files that `python -m tools.check` may mean, and `pytest -p tests.plugin`."""
    base = call.directory or ""
    names: list[str] = []
    if any(program_of(word.value or "") in {"python", "pypy", "py"} for word in call.wrappers):
        names.append(call.name or "")
    if call.program in {"pytest", "py.test"}:
        names += [value for option, value in pairwise(call.values()) if option == "-p"]
    for name in names:
        path = below(base, name.replace(".", "/")) if name.replace(".", "").isidentifier() else None
        if path:
            yield from (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def fed_program(call: Call) -> Iterator[str]:
    """Yield the program that an interpreter gets as input: `python - < check.py`."""
    if call.program not in _INTERPRETERS:
        return
    for redirect in call.redirects:
        if redirect.operator == "<" and redirect.target.value:
            path = below(redirect.directory or "", redirect.target.value)
            if path:
                yield path


def output_is_examined(script: Script, reference: FileReference) -> bool:
    """Say whether the output of a program is looked at, rather than its exit code."""
    around = [
        call
        for call in script.calls
        if call.body is None and call.start <= reference.start and reference.end <= call.end
    ]
    if not around:
        return False
    call = max(around, key=_start)
    if call.nested or any(not each.feeds and each.target.value for each in call.redirects):
        return True
    return _PIPE.match(script.text, call.end) is not None


def broken_lines(text: str) -> list[str]:
    """Return the lines of a script that cannot be read as a whole, to be read one by one."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and line[0] != "#"][:500]


def _base(call: Call) -> str:
    """Return where a call works: where it is, or where its option leads."""
    base = call.directory or ""
    for option, following in pairwise([*call.values(), ""]):
        name, given, value = option.partition("=")
        if name in _MOVES:
            return below(base, value if given else following) or base
    return base


def _start(call: Call) -> int:
    return call.start
