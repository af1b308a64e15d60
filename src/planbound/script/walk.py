"""What a contract runs: its own calls, and those of recipes, package scripts and shell scripts.

This is the one walk over it. Who wants to know which files judge, which programs have to be there,
or which call runs the tests, looks at what comes by, and says how far it trusts what it sees.
"""

import enum
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from planbound.script import Call, FileReference, FileUse, Script, read_script
from planbound.script.cut import cut_calls
from planbound.script.project import ProjectTree, RecipeLine, needed, package_commands, read_recipes
from planbound.script.runners import BY_PROGRAM
from planbound.script.runners.runner import JudgedTree, RunnerCall, joined
from planbound.script.status import deciding_calls
from planbound.script.tree import below, words
from planbound.script.wrapper import SHELLS, program_of
from planbound.source import lazy_pattern

# -- calls that run what is written elsewhere ----------------------------------------------------


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
_QUIET = frozenset("-s --silent -q --quiet".split())
_INTERPRETERS = SHELLS | frozenset("python pypy node ruby perl php lua".split())
_ASSIGNMENT = lazy_pattern(r"\w+\s*:?=")
_LOOP = lazy_pattern(r"\bfor\s+\w+\s+in\s+([^;\n]+)")
_LOOP_OVER = lazy_pattern(r"\bfor\s+(\w+)\s+in\s+([^;\n]+)")
_PLAIN = lazy_pattern(r"[\w./*?+@-]+")
_READERS = words("basename cat cmp comm cut diff dirname echo grep head printf sort tail tr wc")
"""Programs that run no file that they are given."""
_SHELL_WORDS = lazy_pattern(r"#!.*\b(?:ba|da|k|z)?sh\b")


class MakeCall(NamedTuple):
    """A call of make or just."""

    base: str
    file: str | None
    names: tuple[str, ...]
    """What it looks for where no file is given, the first first."""
    targets: tuple[str, ...]
    just: bool
    climbs: bool
    """Whether it looks in the directories above too."""
    plain: bool
    """Whether it is make with one target and nothing else that changes what is run."""


def make_call(call: Call) -> MakeCall | None:
    """Read a call of make or just."""
    names = _MAKERS.get(call.program)
    if names is None:
        return None
    file = None
    for option, following in pairwise([*call.values(), ""]):
        if option in _MAKE_FILES:
            file = following
        elif option.startswith(("--file=", "--makefile=", "--justfile=")):
            file = option.partition("=")[2]
    operands = [word.value or "" for word in call.operands(_MAKE_VALUED)]
    targets = tuple(each for each in operands if each and not _ASSIGNMENT.match(each))
    just = call.program == "just"
    given = [value for value in call.values() if value not in _QUIET]
    return MakeCall(
        base=_base(call),
        file=file,
        names=names,
        targets=targets[:1] if just else targets,
        just=just,
        climbs=just,
        plain=call.program == "make" and len(given) == 1 and given == list(targets),
    )


class PackageCall(NamedTuple):
    """A call of a script of `package.json`."""

    base: str
    script: str
    plain: bool
    """Whether nothing else is said that changes what is run."""


def package_call(call: Call) -> PackageCall | None:
    """Read a call of npm and its like."""
    if call.program not in _MANAGERS:
        return None
    words = [word.value or "" for word in call.operands(_MOVES | {"-w", "--filter", "-F"})]
    given = [value for value in call.values() if value not in _QUIET]
    plain = call.program != "bun" and given == words
    if words and words[0] in _RUN_WORDS and len(words) > 1:
        return PackageCall(_base(call), words[1], plain and len(words) == 2)
    if not words or call.program == "bun":
        return None
    if words[0] in _TEST_WORDS:
        return PackageCall(_base(call), "test", plain and len(words) == 1)
    # `yarn lint` and `pnpm lint` run a script without saying so.
    return PackageCall(_base(call), words[0], plain=False) if call.program != "npm" else None


def _base(call: Call) -> str:
    """Return where a call works: where it is, or where its option leads."""
    base = call.directory or ""
    for option, following in pairwise([*call.values(), ""]):
        name, given, value = option.partition("=")
        if name in _MOVES:
            return below(base, value if given else following) or base
    return base


def _loaded_modules(call: Call) -> Iterator[str]:
    """Yield the files that `python -m tools.check` may mean, and `pytest -p tests.plugin`."""
    base = call.directory or ""
    names: list[str] = []
    if any(program_of(word.value or "") in {"python", "pypy", "py"} for word in call.wrappers):
        names.append(call.name or "")
    runner = BY_PROGRAM.get(call.program)
    options = frozenset[str]() if runner is None else runner.plugin_options
    names += [value for option, value in pairwise(call.values()) if option in options]
    for name in names:
        path = below(base, name.replace(".", "/")) if name.replace(".", "").isidentifier() else None
        if path:
            yield from (f"{path}.py", f"{path}/__main__.py", f"{path}/__init__.py")


def _fed_program(call: Call) -> Iterator[str]:
    """Yield the program that an interpreter gets as input: `python - < check.py`."""
    if call.program not in _INTERPRETERS:
        return
    for redirect in call.redirects:
        if redirect.operator == "<" and redirect.target.value:
            path = below(redirect.directory or "", redirect.target.value)
            if path:
                yield path


def looped_words(script: Script) -> Iterator[str]:
    """Yield the words that loops of a script go through."""
    for match in _LOOP.finditer(script.text):
        for word in match[1].split():
            if _PLAIN.fullmatch(word):
                yield word.removeprefix("./")


def _looped_places(script: Script) -> Iterator[tuple[str, str]]:
    """Yield the words that loops go through, each with the folder that it is seen from."""
    for match in _LOOP.finditer(script.text):
        inside = (call.directory for call in script.calls if call.start >= match.end())
        base = next(inside, None) or ""
        for word in match[1].split():
            if _PLAIN.fullmatch(word):
                yield word.removeprefix("./"), base


def loop_names(script: Script, word: str) -> tuple[str, ...]:
    """Return the variables of the loops that go through a word."""
    found = _LOOP_OVER.finditer(script.text)
    return tuple(match[1] for match in found if word in _plain(match[2]))


def plain_loops(script: Script) -> tuple[str, ...]:
    """Return the variables of loops that go through nothing but plain words."""
    found = _LOOP_OVER.finditer(script.text)
    return tuple(match[1] for match in found if all(map(_PLAIN.fullmatch, match[2].split())))


def only_reads_looped(script: Script, word: str) -> bool:
    """Say whether a loop surely hands the files that it goes through to readers, as data.

    A variable may be read by `< "$case"`, by programs that run no files, and into another variable
    of the same kind. Anything else may run the file.
    """
    names = list(loop_names(script, word))
    fed = any(call.fed and _runs(call) for call in script.calls)  # `cat "$case" | sh`
    if script.broken or fed or not names:
        return False
    seen: set[str] = set()
    while names:
        name = names.pop()
        if name in seen:
            continue
        seen.add(name)
        into = _read_into(script, name)
        if into is None:
            return False
        names += into
    return True


def _plain(words: str) -> list[str]:
    return [word.removeprefix("./") for word in words.split()]


def _read_into(script: Script, name: str) -> set[str] | None:
    """Return the variables that get something of a variable; None where it may be run."""
    mentions = [found.start() for found in re.finditer(rf"\$\{{?{name}\b", script.text)]
    harmless: list[tuple[int, int]] = []
    other: list[tuple[int, int]] = []
    into: set[str] = set()
    for call in script.calls:
        for redirect in call.redirects:
            target = (redirect.target.start, redirect.target.end)
            (harmless if redirect.operator == "<" and not _runs(call) else other).append(target)
        written = any(each.operator.startswith((">", "&")) for each in call.redirects)
        reads = call.program in _READERS and not call.wrappers and not written
        spans = harmless if reads else other
        spans += [(each.start, each.end) for each in call.arguments]
        other += [(each.start, each.end) for each in (call.word, *call.wrappers) if each]
        for each in call.assignments:
            span = (each.start, each.end)
            alone = call.word is None
            (harmless if alone else other).append(span)
            if alone and any(span[0] <= at < span[1] for at in mentions):
                into.add(each.name)
    for at in mentions:
        if not _within(at, harmless) or _within(at, other):
            return None
    return into


def _runs(call: Call) -> bool:
    return call.program in _INTERPRETERS or call.name is None


def _within(at: int, spans: Iterable[tuple[int, int]]) -> bool:
    return any(start <= at < end for start, end in spans)


# -- the walk ------------------------------------------------------------------------------------


_DEEPEST = 5
_MOST_INCLUDED = 50
_OPEN = frozenset("*?[$")
_MOST_LINES = 500


class Through(enum.Enum):
    """What leads from a call to commands that are written elsewhere."""

    RECIPE = "recipe"
    PACKAGE = "package"
    SCRIPT = "script"


BUILD_FILES = frozenset({Through.RECIPE, Through.PACKAGE})
EVERYTHING = frozenset(Through)


class Entered(NamedTuple):
    """A script begins: the contract itself, a line of a recipe, a file."""

    script: Script
    path: str = ""
    """The file that it stands in; empty: the contract."""


class Ran(NamedTuple):
    """A call, in the contract or in what it runs."""

    call: Call
    script: Script
    """What it stands in."""
    is_sure: bool
    """Whether it is run in any case, and its failure is the contract's."""
    included: tuple[str, ...] = ()
    """What a Makefile includes, there or not."""
    needed: tuple[str, ...] = ()
    """The files that the targets of make are made from."""
    is_unread: bool = False
    """Whether what it runs cannot be followed: it is broken, too deep, or was met before."""
    is_cut: bool = False
    """Whether what it prints may not come out whole: it goes through a pipe, or into a file."""
    patterns: tuple[str, ...] = ()
    """By which a Makefile includes what is there; with a `$` where only make knows what."""


class ExecutedBy(enum.Enum):
    """How a file comes to be run."""

    NAME = "name"
    MODULE = "module"
    INPUT = "input"
    LOOP = "loop"


class Executed(NamedTuple):
    """A file that a script runs as a program."""

    path: str
    by: ExecutedBy
    script: Script
    reference: FileReference | None = None
    """Where it is named, for those that are."""
    word: str = ""
    """What a loop goes through."""


def walk(
    contracts: Iterable[Script],
    tree: ProjectTree,
    *,
    through: Collection[Through] = EVERYTHING,
    follows: Callable[[Executed], bool] = lambda _executed: True,
) -> Iterator[Entered | Ran | Executed]:
    """Yield all that contracts run, in the order in which it is written.

    Files are run only where `follows` says so: others do not come by.
    """
    walker = _Walker(tree, through, follows)
    for script in contracts:
        yield from walker.enter(script, depth=0, is_sure=not script.broken)


class _OpenedScript(NamedTuple):
    """A script that a call runs, and whether its failure is the call's."""

    script: Script
    is_sure: bool


class _WrittenElsewhere(NamedTuple):
    """What a call runs that is written elsewhere."""

    parts: tuple[_OpenedScript, ...] = ()
    included: tuple[str, ...] = ()
    needed: tuple[str, ...] = ()
    is_unread: bool = False
    path: str = ""
    patterns: tuple[str, ...] = ()


class _Walker:
    def __init__(
        self,
        tree: ProjectTree,
        through: Collection[Through],
        follows: Callable[[Executed], bool],
    ) -> None:
        self._tree = tree
        self._through = through
        self._follows = follows
        self._met: set[tuple[str, ...]] = set()

    def enter(
        self,
        script: Script,
        *,
        depth: int,
        is_sure: bool,
        is_cut: bool = False,
        path: str = "",
    ) -> Iterator[Entered | Ran | Executed]:
        yield Entered(script, path)
        cut = set() if is_cut else cut_calls(script)
        deciding = {call.start for call in deciding_calls(script)} if is_sure else set[int]()
        for call in script.calls:
            sure = call.start in deciding and not (
                call.negated or call.optional or call.background or call.nested
            )
            opened = self._opened(call, depth)
            kept = is_cut or call.start in cut
            yield Ran(
                *(call, script, sure, opened.included, opened.needed, opened.is_unread, kept),
                patterns=opened.patterns,
            )
            sure = sure and call.directory is not None
            for part in opened.parts:
                certain = sure and part.is_sure
                yield from self.enter(
                    part.script, depth=depth + 1, is_sure=certain, is_cut=kept, path=opened.path
                )
            yield from self._called_files(call, script, depth)
        # Of several scripts nobody looks which one a pipe is behind.
        yield from self._named_files(script, depth, is_cut=is_cut or bool(cut))

    # -- build files -----------------------------------------------------------------------------

    def _opened(self, call: Call, depth: int) -> _WrittenElsewhere:
        """Return the recipes or the package script that a call runs."""
        if Through.RECIPE in self._through and (made := make_call(call)) is not None:
            return self._recipes(made, depth)
        if Through.PACKAGE in self._through and (package := package_call(call)) is not None:
            return self._package(package, depth)
        return _WrittenElsewhere()

    def _recipes(self, made: MakeCall, depth: int) -> _WrittenElsewhere:
        names = (made.file,) if made.file else made.names
        paths = (joined(made.base, name) for name in names)
        file = next((path for path in paths if self._tree.read(path) is not None), None)
        if file is None:
            return _WrittenElsewhere()
        if not self._is_new(depth, "make", file, *made.targets):
            return _WrittenElsewhere(is_unread=True)
        text, included, patterns = self._included(file, made)
        lines, wanted = needed(read_recipes(text, just=made.just), made.targets)
        plain = made.plain and "export" not in text

        def is_sure(line: RecipeLine) -> bool:
            # What a target needs is made only where it is older.
            return plain and line.target in made.targets and not line.may_fail

        found = self._read(
            [(line.text, is_sure(line)) for line in lines],
            made.base,
            path=file,
            included=tuple(included),
            needed=tuple(joined(made.base, each) for each in wanted),
        )
        return found._replace(patterns=tuple(patterns))

    def _included(self, file: str, made: MakeCall) -> tuple[str, list[str], list[str]]:
        """Return the text of a Makefile together with what it includes, and by which patterns."""
        waiting, seen = [file], set[str]()
        texts: list[str] = []
        included: list[str] = []
        patterns: list[str] = []
        while waiting and len(seen) < _MOST_INCLUDED:
            path = waiting.pop(0)
            text = self._tree.text(path) if path not in seen else None
            seen.add(path)
            if text is None:
                continue
            texts.append(text)
            for word in read_recipes(text, just=made.just).includes:
                each = word.strip("'\"")
                if not _OPEN.isdisjoint(each):
                    patterns.append(joined(made.base, each.removeprefix("./")))
                found = [] if "$" in each else self._tree.matching(made.base, each)
                included += found
                waiting += found
        return "\n".join(texts), included, patterns

    def _package(self, called: PackageCall, depth: int) -> _WrittenElsewhere:
        path = joined(called.base, "package.json")
        data = self._tree.read(path)
        if data is None:
            return _WrittenElsewhere()
        if not self._is_new(depth, "npm", path, called.script):
            return _WrittenElsewhere(is_unread=True)
        commands = package_commands(data, called.script)
        parts = [(command, called.plain) for command in commands]
        return self._read(parts, called.base, npm=True, path=path)

    def _read(
        self,
        commands: Sequence[tuple[str, bool]],
        base: str,
        *,
        npm: bool = False,
        path: str = "",
        included: tuple[str, ...] = (),
        needed: tuple[str, ...] = (),
    ) -> _WrittenElsewhere:
        parts: list[_OpenedScript] = []
        is_unread = False
        for command, is_sure in commands:
            script = read_script(_placed(command, base))
            if script.broken:
                is_unread = True
                parts += (
                    _OpenedScript(read_script(_placed(line, base)), is_sure=False)
                    for line in _lines(command)
                )
                continue
            # npm's shell goes on after a failure: only what is one statement is sure to fail.
            single = not npm or len(script.block.items) == (2 if script.text != command else 1)
            parts.append(_OpenedScript(script, is_sure and single))
        return _WrittenElsewhere(tuple(parts), included, needed, is_unread, path)

    # -- files that are run ----------------------------------------------------------------------

    def _called_files(
        self, call: Call, script: Script, depth: int
    ) -> Iterator[Entered | Ran | Executed]:
        if Through.SCRIPT not in self._through or call.program in _MAKERS:
            return
        base = call.directory or ""
        for path in _loaded_modules(call):
            yield from self._run(Executed(path, ExecutedBy.MODULE, script), base, depth)
        for path in _fed_program(call):
            yield from self._run(Executed(path, ExecutedBy.INPUT, script), base, depth)

    def _named_files(
        self, script: Script, depth: int, *, is_cut: bool
    ) -> Iterator[Entered | Ran | Executed]:
        if Through.SCRIPT not in self._through:
            return
        for word, base in _looped_places(script):
            for path in self._tree.matching(base, word):
                found = Executed(path, ExecutedBy.LOOP, script, word=word)
                yield from self._run(found, "", depth, is_cut=is_cut)
        for reference in script.files:
            if reference.use is FileUse.EXECUTED:
                found = Executed(reference.path, ExecutedBy.NAME, script, reference)
                yield from self._run(found, "", depth, is_cut=is_cut)

    def _run(
        self, file: Executed, base: str, depth: int, *, is_cut: bool = False
    ) -> Iterator[Entered | Ran | Executed]:
        if file.path not in self._tree.files or not self._follows(file):
            return
        yield file
        if not self._is_new(depth, "run", file.path):
            return
        text = self._tree.text(file.path) or ""
        if is_shell_file(file.path, text):
            # A script goes on after a failure, unless it says otherwise.
            for part in self._read([(text, False)], base).parts:
                yield from self.enter(
                    part.script, depth=depth + 1, is_sure=False, is_cut=is_cut, path=file.path
                )

    def _is_new(self, depth: int, *what: str) -> bool:
        """Say whether something has to be read; from then on it was."""
        if what in self._met or depth >= _DEEPEST:
            return False
        self._met.add(what)
        return True


def is_shell_file(path: str, text: str) -> bool:
    """Say whether a file is a shell script, by its name or its first line."""
    return path.endswith((".sh", ".bash")) or _SHELL_WORDS.match(text) is not None


def _placed(command: str, base: str) -> str:
    """Return a command that starts in a directory."""
    return f"cd '{base}'\n{command}" if base and "'" not in base else command


def _lines(text: str) -> list[str]:
    """Return the lines of a script that cannot be read as a whole, to be read one by one."""
    lines = (line.strip() for line in text.split("\n"))
    return [line for line in lines if line and line[0] != "#"][:_MOST_LINES]


# -- which call runs the tests -------------------------------------------------------------------


def all_calls(script: Script, tree: ProjectTree) -> Iterator[Call]:
    """Yield the calls of a contract, also those behind `npm test` and `make test`."""
    for item in walk([script], tree, through=BUILD_FILES):
        if isinstance(item, Ran):
            yield item.call


def find_call(
    script: Script, programs: Sequence[str], project: JudgedTree, *, anywhere: bool = False
) -> RunnerCall | None:
    """Return the one call of a runner whose failure is the contract's; None where unsure.

    Scripts are not looked into: whether a failure in one arrives is not known. With `anywhere`
    they are, and so are conditions and pipes: then it has to be seen whether it arrives.
    """
    if script.broken:
        return None
    if anywhere:
        return _only_call(script, programs, project)
    found: list[RunnerCall] = []
    tree = ProjectTree(project.paths, project.read)
    for item in walk([script], tree, through=BUILD_FILES):
        if not isinstance(item, Ran):
            continue
        if item.call.program in programs and _may_test(item.call):
            if not item.is_sure or item.call.directory is None:
                return None
            found.append(_runner_call(item, item.call.directory))
        elif item.is_sure and item.is_unread:
            return None
    return found[0] if len(found) == 1 else None


def _only_call(script: Script, programs: Sequence[str], project: JudgedTree) -> RunnerCall | None:
    """Return the one call of a runner, wherever it stands; None where there are several."""
    found = [
        _runner_call(item, item.call.directory)
        for item in walk([script], ProjectTree(project.paths, project.read))
        if isinstance(item, Ran)
        and item.call.program in programs
        and _may_test(item.call)
        and item.call.directory is not None
    ]
    return found[0] if len(found) == 1 else None


def _runner_call(item: Ran, directory: str) -> RunnerCall:
    return RunnerCall(item.call, directory, item.script.text, item.is_cut)


def _may_test(call: Call) -> bool:
    """Say whether a call of a runner may run tests: `node --check` and `go vet` do not."""
    runner = BY_PROGRAM.get(call.program)
    unknown = any(word.value is None for word in call.arguments)
    return runner is None or unknown or runner.runs_tests(call)
