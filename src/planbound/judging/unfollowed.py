"""The tests of programs that load them in ways which nobody can follow.

A program of the project that a contract runs (`scripts/run_tests.py`, `run.js`, `./t/run`) may look
for its tests by itself. What it names is taken, and where it may run what it does not name, every
test of the tree: whoever edits one of these edits a judge.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from posixpath import basename, dirname
from typing import NamedTuple

from planbound.judging.case import is_source, place_of_tests, says_expected
from planbound.script import Call, FileUse, Script
from planbound.script.program import uses
from planbound.script.project import ProjectTree, above
from planbound.script.tree import Word, below, words
from planbound.script.walk import plain_loops
from planbound.script.wrapper import SHELLS, program_of
from planbound.source import lazy_pattern

# -- which files are tests, by their names or folders --------------------------------------------


# `inspect.py`, `latest.js` and `testing.py` are none: nobody but a test is called like these.
_TEST_FILE = lazy_pattern(
    r"(?i:(?:.+[._-])?(?:tests?|specs?)(?:[._-].+)?\.\w+)|test(?!ing|util|lib|help)[a-z0-9]+\.py"
    r"|\w+(?:Tests?|TestCase|Spec|IT)\.(?:java|kt|kts|scala|groovy|cs|fs|php|swift|m|dart)"
    r"|.+\.(?:t|bats|feature)"
)
_MAY_BE_TEST = lazy_pattern(r"(?i)test|spec|it\.|\.t\Z|\.bats|\.feature")
_NO_PROGRAM = (
    *(".md", ".rst", ".txt", ".adoc", ".html"),
    *(".yml", ".yaml", ".json", ".toml", ".ini", ".cfg", ".lock", ".log"),
)
_DOCUMENTS = (".md", ".rst", ".adoc")
_SHOWN = frozenset("examples example samples sample demos demo docs doc tutorials".split())
"""Folders of programs that people read: the work, where nothing else says what judges."""
_SURE_FOLDERS = frozenset("tests test __tests__ e2e".split())
"""What holds tests even among the sources."""


def _is_named_test(path: str) -> bool:
    name = basename(path)
    if _MAY_BE_TEST.search(name) is None:
        return False
    return _TEST_FILE.fullmatch(name) is not None and _is_program(name)


def place_of_judges(folder: str) -> str | None:
    """Return the topmost folder of tests that a folder is or lies in; among sources a sure one."""
    place = place_of_tests(folder)
    if place is None or not is_source(f"{place}/"):
        return place
    names = folder.split("/")
    ends = (index for index, name in enumerate(names) if name in _SURE_FOLDERS)
    return next(("/".join(names[: index + 1]) for index in ends), None)


def every_test(tree: ProjectTree) -> set[str]:
    """Return the files of a tree that are tests by their names or folders, and what lies there."""
    found: set[str] = set()
    folders: set[str] = set()
    places: set[str] = set()
    for path in tree.under(""):
        if path.startswith(".harness/"):
            continue
        folder = dirname(path)
        folders.add(folder)
        if _is_named_test(path):
            found.add(path)
            places.add(place_of_tests(folder) or "")
    places.update(place_of_judges(folder) or "" for folder in folders)
    places.discard("")
    for place in places:
        below_it = [path for path in tree.under(place) if not path.endswith(_DOCUMENTS)]
        # A folder of specifications or of data alone is no folder of tests.
        if any(map(_is_program, below_it)):
            found.update(below_it)
    return found


def _is_program(path: str) -> bool:
    return not path.endswith(_NO_PROGRAM)


# -- what a program says of its tests ------------------------------------------------------------


_MAXIMUM_LENGTH = 200_000
_MOST_WORDS = 2_000
_MOST_PATTERNS = 30
_RUNS_TESTS = lazy_pattern(
    r"\b(?:discover|\w*TestLoader|loadTests\w*|TestProgram|pytest|nose2?|testmod|testfile|"
    r"DocTestSuite|jest|mocha|vitest|jasmine|tape|RSpec|Minitest|prove|busted|bats|phpunit)\b"
    r"|-m['\"]?,?\s*['\"]?unittest\b|['\"]unittest['\"]|--test\b|node:test\b[^\0]{0,2000}?\brun\s*\("
    r"|\brun\b[^;\n]{0,100}\bnode:test\b"
    r"|\bunittest\.main\([^)]*(?:module|argv|['\"])"
)
"""Words of a program that lets a test runner look for tests."""
_RUNS_OTHERS = lazy_pattern(
    r"\b(?:subprocess|popen|os\.(?:system|exec\w+|spawn\w+|posix_spawn)|importlib|runpy|pkgutil|"
    r"__import__|exec|eval|execfile|child_process|spawn\w*|fork|Worker|multiprocessing|"
    r"create_subprocess\w*|execute_from_command_line|runInThisContext|runInNewContext|"
    r"Deno\.\w*[cC]ommand)\b"
    r"|^\s*(?:from|import)\s+(?:\w+\.)*test(?:s|ing|\w*_\w+)?\b"
    r"|\b(?:require|import)\s*\(\s*(?!\s*['\"][^'\"\n]*['\"]\s*\))",
    re.MULTILINE,
)
"""Words of a program that may run files which it does not name."""
READ_LANGUAGES = (".py", ".js", ".cjs", ".mjs", ".ts", ".cts", ".mts", ".jsx", ".tsx")
_LOOKS = lazy_pattern(
    r"\b(?:i?glob\w*|listdir|scandir|r?walk\w*|iterdir|readdir\w*|opendir|Dir|find|ls|for)\b"
)
_ELSEWHERE = lazy_pattern(r"(?m)^.*(?:path\.(?:insert|append|extend)|PATH|chdir|cwd|\bcd\s).*$")
"""Lines that say where something works, or where it is loaded from."""
_SEARCHES = words("find fd ls echo printf")
_LITERAL = lazy_pattern(r"([\"'`])([\w.*?\[\]{},@+/-]{1,200})\1")
_SHELL_WORD = lazy_pattern(r"[\w.*?@+/-]{2,200}")
_SPECIAL = frozenset("*?[")


def runs_tests(text: str) -> bool:
    """Say whether a program has a test runner look for tests."""
    return _RUNS_TESTS.search(text[:_MAXIMUM_LENGTH]) is not None


def runs_unnamed(path: str, text: str) -> bool:
    """Say whether a program may run what it does not name; one in a language not read here does."""
    first = text[:100]
    if not path.endswith(READ_LANGUAGES) and "python" not in first and "node" not in first:
        return True
    return runs_tests(text) or _RUNS_OTHERS.search(text[:_MAXIMUM_LENGTH]) is not None


class FoundTests(NamedTuple):
    """What a program names."""

    files: frozenset[str]
    folders: frozenset[str]


def named_tests(path: str, text: str, tree: ProjectTree, *, is_shell: bool) -> FoundTests:
    """Return the files and folders of tests that a program names by words that are paths.

    They may be seen from the root, or from a folder that the program lies in.
    """
    files: set[str] = set()
    folders: set[str] = set()
    for word in _words(text, is_shell=is_shell):
        for base in above(dirname(path)):
            for found in _meant(base, word, tree):
                if found in tree.folders:
                    if _holds_tests(found, tree):
                        folders.add(found)
                elif found in tree.files and _is_test(found):
                    files.add(found)
    return FoundTests(frozenset(files), frozenset(folders))


def named_others(path: str, text: str, tree: ProjectTree, *, is_shell: bool) -> set[str]:
    """Return the files in folders that a program looks through, however these are called."""
    if _LOOKS.search(text[:_MAXIMUM_LENGTH]) is None:
        return set()
    words = list(_words(_ELSEWHERE.sub("", text[:_MAXIMUM_LENGTH]), is_shell=is_shell))
    return {
        found
        for word in words
        for base in above(dirname(path))
        for found in _looked_through(base, word, tree)
    }


def searched(script: Script, tree: ProjectTree) -> set[str]:
    """Return the files in the folders that `find` and its like look through in a script."""
    return {
        found
        for call in script.calls
        if call.program in _SEARCHES
        for word in call.arguments
        if (given := word.value or word.text) and given[0] != "-"
        for found in _looked_through(call.directory or "", given.rstrip("/"), tree)
    }


def _looked_through(base: str, word: str, tree: ProjectTree) -> Iterator[str]:
    """Yield the files of a folder or pattern, but for what holds sources or a package."""
    for found in _meant(base, word, tree):
        is_folder = found in tree.folders
        folder = found if is_folder else dirname(found)
        plain = not is_folder and _SPECIAL.isdisjoint(word)
        if plain or not _may_judge(folder) or f"{folder}/__init__.py" in tree.files:
            continue
        yield from tree.under(found) if is_folder else (found,)


def _may_judge(folder: str) -> bool:
    """Say whether programs in a folder may judge: it holds no sources, and no examples."""
    names = folder.split("/")
    return bool(folder) and not is_source(f"{folder}/") and _SHOWN.isdisjoint(names)


def _holds_tests(folder: str, tree: ProjectTree) -> bool:
    if place_of_judges(folder) is None:
        return False
    return says_expected(folder) or any(map(_is_program, tree.under(folder)))


def _is_test(path: str) -> bool:
    return _is_named_test(path) or place_of_judges(dirname(path)) is not None


def _words(text: str, *, is_shell: bool) -> Iterator[str]:
    text = text[:_MAXIMUM_LENGTH]
    if is_shell:
        found = dict.fromkeys(match[0] for match in _SHELL_WORD.finditer(text))
    else:
        found = dict.fromkeys(match[2] for match in _LITERAL.finditer(text))
    patterns = 0
    for word in list(found)[:_MOST_WORDS]:
        if not _SPECIAL.isdisjoint(word):
            patterns += 1
            if patterns > _MOST_PATTERNS or not {"/", "."} & {*word}:
                continue
        yield word.strip("/") if is_shell else word.removesuffix("/")


def _meant(base: str, word: str, tree: ProjectTree) -> list[str]:
    path = below(base, word) if _SPECIAL.isdisjoint(word) else None
    return [path] if path else tree.matching(base, word)


# -- calls of a shell whose program nobody knows -------------------------------------------------


_ONLY_CHECK = frozenset({"-n", "--check"})
_INTERPRETERS = SHELLS | words("python pypy node ruby perl php lua bun deno tsx ts-node")


def is_lost(script: Script) -> bool:
    """Say whether a shell runs what only a variable, a pipe or a search names.

    What a loop over plain words runs is known.
    """
    known = _mention(plain_loops(script))
    return script.broken or any(_runs_unknown(call, known) for call in script.calls)


def runs_looped(script: Script, path: str, names: Iterable[str]) -> bool:
    """Say whether a loop over these variables runs a file of it, which is no work."""
    if not _may_judge(dirname(path)):
        return False
    mention = _mention(names)
    return any(mention.search(word.text) for call in script.calls for word in _run_by(call))


def _mention(names: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"\$\{{?(?:{'|'.join(map(re.escape, names)) or '(?!)'})\b")


def _run_by(call: Call) -> Iterator[Word]:
    """Yield the words of a call that name what it runs, and that the shell puts in."""
    if call.name is None and call.word is not None:
        yield call.word
    for named in uses(call):
        if named.use is FileUse.EXECUTED and named.word.value is None:
            yield named.word


def _runs_unknown(call: Call, known: re.Pattern[str]) -> bool:
    is_placed = call.directory is not None
    if any(not (is_placed and known.search(word.text)) for word in _run_by(call)):
        return True
    is_put_in = any(word.value is None for word in call.arguments)
    if call.program == "eval":
        return is_put_in
    if call.program in {"find", "fd"}:
        values = [*call.values(), "", ""]
        return any(
            option in {"-exec", "-execdir", "-x", "--exec"}
            and (program_of(program) in _INTERPRETERS or program == "{}")
            and first not in _ONLY_CHECK
            for option, program, first in zip(values, values[1:], values[2:], strict=False)
        )
    if call.program not in _INTERPRETERS:
        return False
    if call.body is None and call.has("-c", "-e"):
        return is_put_in
    return any(word.value == "xargs" for word in call.wrappers) and not any(call.operands())
