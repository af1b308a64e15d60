"""Which files a contract judges by.

Too many is better than too few: `touches` decides what honest work may change. But what the step
is to make or mend is no judge, or a plan without `touches` could not be done.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from posixpath import basename, dirname
from typing import NamedTuple

from planbound.judging.case import (
    SUPPORT,
    is_judging,
    is_source,
    place_of_tests,
    says_expected,
    says_judge,
)
from planbound.judging.unfollowed import (
    READ_LANGUAGES,
    every_test,
    is_lost,
    named_others,
    named_tests,
    runs_looped,
    runs_tests,
    runs_unnamed,
    searched,
)
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.script import Call, FileReference, FileUse, Script, read_script
from planbound.script.project import ProjectTree, above
from planbound.script.runners import BY_PROGRAM, runner_of
from planbound.script.runners.ctest import CMAKE, built_settings
from planbound.script.runners.runner import Habits, Runner, joined, names, tested_words
from planbound.script.tree import below
from planbound.script.walk import (
    Entered,
    Executed,
    ExecutedBy,
    Ran,
    is_shell_file,
    loop_names,
    looped_words,
    make_call,
    package_call,
    walk,
)
from planbound.source import lazy_pattern

# -- what the words of a call say about the files that it judges by ------------------------------


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
_PUT_IN = lazy_pattern(r"[$`\"'\\]")
_PIPE = lazy_pattern(r"[^\S\n]*(?:\d?>&\d[^\S\n]*)*\|(?!\|)")


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


def _start(call: Call) -> int:
    return call.start


# -- what tools read without being told: their settings ------------------------------------------


_HABITS: dict[str, Habits] = {
    "coverage": Habits(names(".coveragerc pyproject.toml setup.cfg tox.ini")),
    "gmake": Habits(names("GNUmakefile makefile Makefile")),
    "cmake": Habits(CMAKE),
    # Linters judge by their settings alone: what they are given is the work.
    "ruff": Habits(names("ruff.toml .ruff.toml pyproject.toml")),
    "mypy": Habits(names("mypy.ini .mypy.ini pyproject.toml setup.cfg")),
    "pyright": Habits(names("pyrightconfig.json pyproject.toml")),
    "flake8": Habits(names(".flake8 setup.cfg tox.ini")),
    "pylint": Habits(names(".pylintrc pylintrc pyproject.toml setup.cfg")),
    "black": Habits(("pyproject.toml",)),
    "eslint": Habits(
        names(
            "eslint.config.{js,mjs,cjs,ts} .eslintrc .eslintrc.{js,cjs,json,yml,yaml} .eslintignore"
        )
    ),
    "prettier": Habits(names(".prettierrc .prettierrc.{js,json,yml,yaml} .prettierignore")),
    "tsc": Habits(("tsconfig.json",)),
    "shellcheck": Habits((".shellcheckrc",)),
    "pre-commit": Habits((".pre-commit-config.yaml",)),
    "lint-imports": Habits(names("setup.cfg .importlinter pyproject.toml")),
    "golangci-lint": Habits(names(".golangci.{yml,yaml,toml,json}")),
}


def habits_of(call: Call) -> Habits | None:
    """Return what the program of a call reads by itself; its tests only where it runs them."""
    runner = BY_PROGRAM.get(call.program)
    habits = _HABITS.get(call.program) if runner is None else runner.habits
    if habits is None:
        return None
    runs_tests = runner_of(call) is not None
    if runner is not None and not runs_tests:
        runs_tests = not runner.also_tests.isdisjoint(call.values())
        if runner.only_tests and not runs_tests:
            return None
    if call.has("--cov"):
        habits = habits._replace(settings=(*habits.settings, ".coveragerc"))
    return habits if runs_tests else habits._replace(tests=None)


# -- the files that the text of a test or script speaks of: imported, sourced or named -----------


_MAXIMUM_LENGTH = 400_000
_NAME = lazy_pattern(r"(?:\.{1,2}/)*[\w@+-][\w.@+-]*(?:/[\w.@+-]+)*")
_PYTHON_IMPORT = lazy_pattern(
    r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([\w, \t(]*)|import[ \t]+([\w., \t]+))",
    re.MULTILINE,
)
_ENDINGS = ("", ".py", ".js", ".ts", ".mjs", ".cjs", ".sh", ".rb", ".tsx", ".jsx", ".json")
_SHELL = (".sh", ".bash")


def mentioned(path: str, data: bytes, tree: ProjectTree) -> Iterator[str]:
    """Yield the judges that a judge speaks of.

    Only what lies where tests and scripts are: a test names the product too.
    """
    text = data[:_MAXIMUM_LENGTH].decode("utf-8", "replace")
    found = _named(path, text, tree)
    if path.endswith(".py"):
        found |= _imported(path, text, tree)
    for each in sorted(found - {path}):
        sourced = each.endswith(_SHELL) and path.endswith(_SHELL) and not is_source(each)
        if is_judging(each) or sourced:
            yield each


def _named(path: str, text: str, tree: ProjectTree) -> set[str]:
    folder = dirname(path)
    found: set[str] = set()
    for name in set(_NAME.findall(text)):
        if "/" not in name and "." not in name:
            continue
        for place in {folder, ""}:
            seen = below(place, name)
            if seen:
                found |= {seen + end for end in _ENDINGS if seen + end in tree.files}
    return found


def _imported(path: str, text: str, tree: ProjectTree) -> set[str]:
    folder = dirname(path)
    modules: set[str] = set()
    for dots, module, imported, plain in _PYTHON_IMPORT.findall(text):
        place = folder
        for _ in dots[1:]:
            place = dirname(place)
        places = [place] if dots else ["", folder]
        given = [module] if module or dots else re.findall(r"[\w.]+", plain)
        for each in given:
            start = each.replace(".", "/")
            found = [joined(where, start) if start else where for where in places]
            modules.update(found)
            modules.update(joined(f, name) for f in found for name in re.findall(r"\w+", imported))
    files = {end for each in modules for end in (f"{each}.py", f"{each}/__init__.py")}
    return files & tree.files


# -- walks through contracts and what they run, and collects the judges on the way ---------------


_MAXIMUM_DEPTH = 5
_MAXIMUM_FOLLOWED = 5000
_MOST_PARTS = 100
_PLAIN_DATA = (
    ".mk",
    ".toml",
    ".ini",
    ".cfg",
    ".lock",
    ".md",
    ".csv",
    ".png",
    ".gz",
    ".snap",
    ".txt",
)
# Of these only what the contract runs counts, which is read with more care.
_NOT_FOLLOWED = frozenset(
    "package.json tsconfig.json go.mod go.sum GNUmakefile makefile Makefile justfile .justfile "
    "Justfile".split()
)
_SPECIAL = frozenset("*?[{")


def runs_judge(executed: Executed) -> bool:
    """Say whether a file that a contract runs is one whose word counts.

    One that lies among scripts or is named like a check judges. Another one that is there before
    the work judges by its exit code, but where its output is looked at, it is the work.
    """
    path, reference = executed.path, executed.reference
    if executed.by is ExecutedBy.LOOP:
        names = loop_names(executed.script, executed.word)
        return _looped_tests(executed.word) is not None or runs_looped(executed.script, path, names)
    if is_judging(path) or says_judge(path):
        return True
    if reference is None:
        return False
    return not (is_source(path) or output_is_examined(executed.script, reference))


def _looped_tests(word: str) -> str | None:
    """Return the directory of tests that a loop goes through."""
    return place_of_tests(dirname(word[: _first_special(word)] + "x"))


class Finder:
    """What was found so far."""

    def __init__(self, tree: ProjectTree) -> None:
        self.files: set[str] = set()
        self.directories: set[str] = set()
        self.names: set[str] = set()
        self.patterns: set[str] = set()
        self.unfollowed: set[str] = set()
        """What was found although nobody could follow the way to it."""
        self._tree = tree
        self._programs: list[str] = []
        self._is_lost = False
        self._chained: set[tuple[str, Habits]] = set()

    def take(self, contracts: Sequence[Script]) -> None:
        """Take the judges of contracts, and of all that they run."""
        for item in walk(contracts, self._tree, follows=self._judges):
            match item:
                case Entered(script):
                    self._script(script)
                    if is_lost(script):
                        self._is_lost = True
                        self.files |= searched(script, self._tree)
                case Ran():
                    self._ran(item)
                case Executed():
                    self.files.add(item.path)
                    self._programs.append(item.path)

    def _judges(self, executed: Executed) -> bool:
        """Say whether a file judges that a contract runs: its word counts, or it runs tests."""
        if runs_judge(executed):
            return True
        path = executed.path
        if executed.by is ExecutedBy.LOOP or not path.endswith(READ_LANGUAGES):
            return False
        return path in self._tree.files and runs_tests(self._tree.text(path) or "")

    def directory(self, folder: str) -> None:
        """Take everything below a directory, also what will come."""
        if folder not in self.directories:
            self.directories.add(folder)
            self.files.update(self._tree.under(folder))

    def follow(self) -> None:
        """Take what the judges found so far speak of, a bounded number of times."""
        done: set[str] = set()
        for _ in range(_MAXIMUM_DEPTH):
            waiting = sorted(self.files - done)
            if not waiting or len(done) > _MAXIMUM_FOLLOWED:
                return
            done.update(waiting)
            for path in waiting[:_MAXIMUM_FOLLOWED]:
                if path.endswith(_PLAIN_DATA) or basename(path) in _NOT_FOLLOWED:
                    continue
                if (data := self._tree.read(path)) is not None:
                    self.files.update(mentioned(path, data, self._tree))

    def look(self) -> None:
        """Take the tests of programs that nobody can follow: what these name, or every test."""
        before = set(self.files)
        texts = {path: self._tree.text(path) or "" for path in self._parts()}
        shells = {path for path, text in texts.items() if is_shell_file(path, text)}
        open_ = {
            path: text
            for path, text in texts.items()
            if (is_lost(read_script(text)) if path in shells else runs_unnamed(path, text))
        }
        for path, text in texts.items():
            if path in open_ or path not in shells:
                self._named(path, text, is_shell=path in shells)
        if open_ or self._is_lost:
            tests = every_test(self._tree)
            for path, text in open_.items() if tests <= texts.keys() else ():
                is_shell = path in shells or "." not in basename(path)
                tests |= named_others(path, text, self._tree, is_shell=is_shell)
            self.files |= tests
        self.follow()
        self.unfollowed |= self.files - before

    def _named(self, path: str, text: str, *, is_shell: bool) -> None:
        found = named_tests(path, text, self._tree, is_shell=is_shell)
        self.files |= found.files
        for folder in sorted(found.folders):
            self.directory(folder)

    def _parts(self) -> list[str]:
        """Return the programs that contracts run, and the judges that these speak of."""
        found = dict.fromkeys(self._programs)
        waiting = list(found)
        while waiting and len(found) < _MOST_PARTS:
            path = waiting.pop()
            data = self._tree.read(path)
            for each in mentioned(path, data, self._tree) if data is not None else ():
                if each not in found and each.endswith((*READ_LANGUAGES, *_SHELL)):
                    found[each] = None
                    waiting.append(each)
        return list(found)

    # -- calls ---------------------------------------------------------------------------------

    def _script(self, script: Script) -> None:
        for word in looped_words(script):
            # Also what lies beside the scripts that a loop goes through.
            if (place := _looped_tests(word)) is not None:
                self.directory(place)
        for reference in script.files:
            if reference.use is FileUse.CONFIGURED:
                self._name(reference.path)

    def _ran(self, ran: Ran) -> None:
        call = ran.call
        if self._makes(ran):
            return
        base = call.directory or ""
        habits = habits_of(call)
        if habits is not None:
            self._settings(base, habits)
            for path in built_settings(call):
                self._name(path)
            if habits.tests is not None:
                self._tested(call, base, habits)
        if (package := package_call(call)) is not None:
            self._name(joined(package.base, "package.json"))
        for path in compared(call):
            self._expected(path)
        self.files.update(path for path in program_files(call) if path in self._tree.files)

    def _makes(self, ran: Ran) -> bool:
        """Take what make reads, where a call is one of make."""
        made = make_call(ran.call)
        if made is None:
            return False
        for folder in above(made.base) if made.climbs else [made.base]:
            for name in (made.file,) if made.file else made.names:
                self._name(joined(folder, name))
        for target in made.targets:
            # A file of that name would be all that make looks for.
            if says_judge(target) and "/" not in target:
                self._absent(joined(made.base, target))
        self.patterns.update(ran.patterns)
        for path in ran.included:
            if path not in self._tree.folders:
                self._name(path)
        for path in ran.needed:
            if path in self._tree.files and is_judging(path):
                self.files.add(path)
        return True

    def _settings(self, base: str, habits: Habits) -> None:
        for folder in above(base):
            for name in habits.settings:
                self._name(joined(folder, name))
        self.directories.update(joined(base, name) for name in habits.folders)

    def _name(self, path: str) -> None:
        (self.files if path in self._tree.files else self.names).add(path)

    def _absent(self, path: str) -> None:
        if path not in self._tree.files and path not in self._tree.folders:
            self.names.add(path)

    def _expected(self, path: str) -> None:
        if path in self._tree.files:
            self.files.add(path)
        elif path in self._tree.folders:
            self.directory(path)

    # -- tests ---------------------------------------------------------------------------------

    def _tested(self, call: Call, base: str, habits: Habits) -> None:
        operands, certain = tested_operands(call)
        paths = [path for operand in operands for path in self._paths(base, operand)]
        if not certain or not paths:
            paths += self._configured_paths(base, runner_of(call))
            paths = paths or [base]
        for path in paths:
            self._tested_path(path, habits)

    def _paths(self, base: str, operand: str) -> Iterator[str]:
        """Yield the paths that a word of a runner stands for; it may be a pattern."""
        if _SPECIAL.isdisjoint(operand):
            seen = below(base, operand)
            if seen is not None:
                yield seen
            return
        try:
            glob = parse_glob(joined(base, operand.removeprefix("./")))
        except GlobError:
            return
        for path in (*self._tree.files, *self._tree.folders):
            if glob.matches(path):
                yield path

    def _configured_paths(self, base: str, runner: Runner | None) -> list[str]:
        if runner is None or runner.configured is None or runner.habits is None:
            return []
        for name in runner.habits.settings:
            data = self._tree.read(joined(base, name))
            given = runner.configured(name, data) if data is not None else []
            found = [path for each in given for path in self._paths(base, each)]
            if found := [path for path in found if path in self._tree.folders]:
                return found
        return []

    def _tested_path(self, path: str, habits: Habits) -> None:
        if path in self._tree.files:
            self.files.add(path)
            self._beside(dirname(path), habits)
        elif path in self._tree.folders and place_of_tests(path) is not None:
            self.directory(path)
            self._beside(path, habits)
        elif path in self._tree.folders:
            self._default_tests(path, habits)

    def _default_tests(self, base: str, habits: Habits) -> None:
        """Take what the runner takes for tests below a directory of other things."""
        assert habits.tests is not None
        skip = len(base) + 1 if base else 0
        folders = {base}
        for path in self._tree.under(base):
            if habits.tests.match(path, skip):
                self.files.add(path)
                folder = dirname(path)
                place = place_of_tests(folder[skip:])
                folders.add(joined(base, place) if place is not None else folder)
        for folder in folders:
            if place_of_tests(folder[skip:]) is not None:
                self.directory(folder)
            self._beside(folder, habits)

    def _beside(self, folder: str, habits: Habits) -> None:
        """Take what is read on the way from the root to tests."""
        if (folder, habits) in self._chained:
            return
        self._chained.add((folder, habits))
        for each in above(folder):
            for name in habits.chained:
                self._name(joined(each, name))
            if place_of_tests(each) is None:
                continue
            if habits.chained:
                self._name(joined(each, "__init__.py"))
            for name in SUPPORT:
                if joined(each, name) in self._tree.folders:
                    self.directory(joined(each, name))


def _first_special(word: str) -> int:
    return next((index for index, sign in enumerate(word) if sign in _SPECIAL), len(word))


# -- which files a contract judges by ------------------------------------------------------------


class Judges(NamedTuple):
    """What must be as it was when a contract runs."""

    files: frozenset[str]
    """The paths of the tree that are judges."""
    directories: frozenset[str]
    """Where a new file would be a judge too."""
    names: frozenset[str]
    """What is not there, but would be read if it appeared."""
    unfollowed: frozenset[str] = frozenset()
    """The files among them of which nobody knows whether they are run."""
    patterns: frozenset[str] = frozenset()
    """By which Makefiles include what is there; with a `$` where only make knows what."""


def judge_paths(
    contracts: Sequence[Script],
    declared: Sequence[Glob],
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
) -> Judges:
    """Return the judges of contracts: declared, named in the command, or read by what it runs."""
    tree = ProjectTree(paths, read)
    finder = Finder(tree)
    for glob in declared:
        _declare(glob, tree, finder)
    finder.take(contracts)
    finder.follow()
    finder.look()
    return Judges(
        files=frozenset(finder.files),
        directories=frozenset(finder.directories),
        names=frozenset(finder.names - tree.files),
        unfollowed=frozenset(finder.unfollowed),
        patterns=frozenset(finder.patterns),
    )


def _declare(glob: Glob, tree: ProjectTree, finder: Finder) -> None:
    finder.files.update(path for path in tree.files if glob.matches(path))
    prefix = "/".join(glob.literal_prefix)
    if glob.is_literal and prefix in tree.folders:
        finder.directory(prefix)
    elif glob.is_literal:
        finder.names.add(prefix)
    elif prefix and glob.matches(f"{prefix}/x") and glob.matches(f"{prefix}/x/x"):
        finder.directories.add(prefix)
