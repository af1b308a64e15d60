"""Walks through contracts and what they run, and collects the judges on the way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from posixpath import basename, dirname

from planbound.engine.judging.habits import (
    BUILT_SETTINGS,
    Habits,
    built_folders,
    habits_of,
    is_pytest,
)
from planbound.engine.judging.listing import Listing, chain, joined
from planbound.engine.judging.mentions import mentioned
from planbound.engine.judging.places import (
    SUPPORT,
    is_judging,
    is_source,
    place_of_tests,
    says_judge,
)
from planbound.engine.judging.recipes import (
    configured_paths,
    needed,
    package_commands,
    read_recipes,
)
from planbound.engine.judging.wording import (
    Making,
    broken_lines,
    compared,
    executed_module,
    fed_program,
    making,
    output_is_examined,
    package_script,
    program_files,
    tested_operands,
)
from planbound.plan.command import Call, FileReference, FileUse, Script, read_script
from planbound.plan.command.directory import below
from planbound.plan.glob import GlobError, parse_glob
from planbound.source.pattern import lazy_pattern

_MAXIMUM_DEPTH = 5
_MAXIMUM_FOLLOWED = 5000
_SHELL = lazy_pattern(r"#!.*\b(?:ba|da|k|z)?sh\b")
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
_LOOP = lazy_pattern(r"\bfor\s+\w+\s+in\s+([^;\n]+)")
_PLAIN = lazy_pattern(r"[\w./*?+@-]+")


class Finder:
    """What was found so far."""

    def __init__(self, listing: Listing, read: Callable[[str], bytes | None]) -> None:
        self.files: set[str] = set()
        self.directories: set[str] = set()
        self.names: set[str] = set()
        self.calls: list[Call] = []
        """Every call on the way, also in recipes and scripts."""
        self._listing = listing
        self._read = read
        self._done: set[tuple[str, ...]] = set()
        self._chained: set[tuple[str, Habits]] = set()

    def script(self, script: Script, depth: int = 0) -> None:
        """Take the judges of a command."""
        if depth > _MAXIMUM_DEPTH:
            return
        for call in script.calls:
            self._call(call, depth)
        for word in looped_words(script):
            self._looped(word, depth)
        for reference in script.files:
            if reference.use is FileUse.CONFIGURED:
                self._name(reference.path)
            elif reference.use is FileUse.EXECUTED:
                self._executed(reference, script, depth)

    def directory(self, folder: str) -> None:
        """Take everything below a directory, also what will come."""
        if folder not in self.directories:
            self.directories.add(folder)
            self.files.update(self._listing.under(folder))

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
                if (data := self._read(path)) is not None:
                    self.files.update(mentioned(path, data, self._listing))

    # -- calls ---------------------------------------------------------------------------------

    def _call(self, call: Call, depth: int) -> None:
        self.calls.append(call)
        base = call.directory or ""
        if (made := making(call)) is not None:
            self._make(made, depth)
            return
        habits = habits_of(call)
        if habits is not None:
            self._settings(base, habits)
            for folder in built_folders(call):
                for name in BUILT_SETTINGS:
                    self._name(joined(below(base, folder) or base, name))
            if habits.tests is not None:
                self._tested(call, base, habits)
        if (script := package_script(call)) is not None:
            self._package(*script, depth)
        for path in compared(call):
            self._expected(path)
        self.files.update(path for path in program_files(call) if path in self._listing.files)
        for path in (*executed_module(call), *fed_program(call)):
            if path in self._listing.files and (is_judging(path) or says_judge(path)):
                self._run(path, base, depth)

    def _settings(self, base: str, habits: Habits) -> None:
        for folder in chain(base):
            for name in habits.settings:
                self._name(joined(folder, name))
        self.directories.update(joined(base, name) for name in habits.folders)

    def _name(self, path: str) -> None:
        (self.files if path in self._listing.files else self.names).add(path)

    def _absent(self, path: str) -> None:
        if path not in self._listing.files and path not in self._listing.folders:
            self.names.add(path)

    def _expected(self, path: str) -> None:
        if path in self._listing.files:
            self.files.add(path)
        elif path in self._listing.folders:
            self.directory(path)

    # -- tests ---------------------------------------------------------------------------------

    def _tested(self, call: Call, base: str, habits: Habits) -> None:
        operands, certain = tested_operands(call)
        paths = [path for operand in operands for path in self._paths(base, operand)]
        if not certain or not paths:
            paths += self._configured_paths(base) if is_pytest(call) else []
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
        for path in (*self._listing.files, *self._listing.folders):
            if glob.matches(path):
                yield path

    def _configured_paths(self, base: str) -> list[str]:
        for name in ("pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg"):
            path = joined(base, name)
            data = self._read(path) if path in self._listing.files else None
            given = configured_paths(name, data) if data is not None else []
            found = [path for each in given for path in self._paths(base, each)]
            if found := [path for path in found if path in self._listing.folders]:
                return found
        return []

    def _tested_path(self, path: str, habits: Habits) -> None:
        if path in self._listing.files:
            self.files.add(path)
            self._beside(dirname(path), habits)
        elif path in self._listing.folders and place_of_tests(path) is not None:
            self.directory(path)
            self._beside(path, habits)
        elif path in self._listing.folders:
            self._default_tests(path, habits)

    def _default_tests(self, base: str, habits: Habits) -> None:
        """Take what the runner takes for tests below a directory of other things."""
        assert habits.tests is not None
        skip = len(base) + 1 if base else 0
        folders = {base}
        for path in self._listing.under(base):
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
        for each in chain(folder):
            for name in habits.chained:
                self._name(joined(each, name))
            if place_of_tests(each) is None:
                continue
            if habits.chained:
                self._name(joined(each, "__init__.py"))
            for name in SUPPORT:
                if joined(each, name) in self._listing.folders:
                    self.directory(joined(each, name))

    def _looped(self, word: str, depth: int) -> None:
        """Take the scripts that a loop goes through, and all that lies beside them."""
        place = place_of_tests(dirname(word[: _first_special(word)] + "x"))
        if place is None:
            return
        self.directory(place)
        for path in self._paths("", word):
            if path in self._listing.files:
                self._run(path, "", depth)

    # -- what is run -----------------------------------------------------------------------------

    def _executed(self, reference: FileReference, script: Script, depth: int) -> None:
        """Take a script whose word counts.

        One that lies among scripts or is named like a check judges. Another one that is there
        before the work judges by its exit code, but where its output is looked at, it is the work.
        """
        path = reference.path
        if path not in self._listing.files:
            return
        known = is_judging(path) or says_judge(path)
        if known or not (is_source(path) or output_is_examined(script, reference)):
            self._run(path, "", depth)

    def _run(self, path: str, base: str, depth: int) -> None:
        self.files.add(path)
        if ("run", path) in self._done:
            return
        self._done.add(("run", path))
        data = self._read(path)
        text = (data or b"").decode("utf-8", "replace")
        if path.endswith((".sh", ".bash")) or _SHELL.match(text):
            self._commands([text], base, depth)

    def _commands(self, commands: list[str], base: str, depth: int) -> None:
        for command in commands:
            script = read_script(_placed(command, base))
            if not script.broken:
                self.script(script, depth + 1)
                continue
            for line in broken_lines(command):
                self.script(read_script(_placed(line, base)), depth + 1)

    def _make(self, made: Making, depth: int) -> None:
        names = (made.file,) if made.file else made.names
        for folder in chain(made.base) if made.climbs else [made.base]:
            for name in names:
                self._name(joined(folder, name))
        for target in made.targets:
            # A file of that name would be all that make looks for.
            if says_judge(target) and "/" not in target:
                self._absent(joined(made.base, target))
        paths = [joined(made.base, name) for name in names]
        file = next((path for path in paths if path in self._listing.files), None)
        key = ("make", file or "", *made.targets)
        if file is None or key in self._done or depth > _MAXIMUM_DEPTH:
            return
        self._done.add(key)
        text = self._included(file, made)
        commands, files = needed(read_recipes(text, just=made.just), made.targets)
        for path in (joined(made.base, each) for each in files):
            if path in self._listing.files and is_judging(path):
                self.files.add(path)
        self._commands(commands, made.base, depth)

    def _included(self, file: str, made: Making) -> str:
        """Return the text of a Makefile together with what it includes."""
        waiting, seen, texts = [file], set[str](), list[str]()
        while waiting and len(seen) < 50:
            path = waiting.pop(0)
            data = self._read(path) if path not in seen else None
            seen.add(path)
            if data is None:
                continue
            texts.append(data.decode("utf-8", "replace"))
            for each in read_recipes(texts[-1], just=made.just).includes:
                found = list(self._paths(made.base, each.strip("'\"")))
                self.files.update(path for path in found if path in self._listing.files)
                self.names.update(path for path in found if path not in self._listing.folders)
                waiting += found
        return "\n".join(texts)

    def _package(self, base: str, script: str, depth: int) -> None:
        path = joined(base, "package.json")
        self._name(path)
        data = self._read(path) if path in self._listing.files else None
        if data is not None and ("npm", path, script) not in self._done:
            self._done.add(("npm", path, script))
            self._commands(package_commands(data, script), base, depth)


def _first_special(word: str) -> int:
    return next((index for index, sign in enumerate(word) if sign in _SPECIAL), len(word))


def looped_words(script: Script) -> Iterator[str]:
    """Yield the words that loops of a script go through."""
    for match in _LOOP.finditer(script.text):
        for word in match[1].split():
            if _PLAIN.fullmatch(word):
                yield word.removeprefix("./")


def _placed(command: str, base: str) -> str:
    """Return a command that starts in a directory."""
    return f"cd '{base}'\n{command}" if base and "'" not in base else command
