"""The comparisons that decide what a contract in shell says.

A comparison decides where it is reached in any case, and where its failure is the contract's. That
is told from what is written: rather a comparison too few than one that an honest run passes by.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from posixpath import basename, dirname
from typing import NamedTuple

from planbound.script import Script, read_script
from planbound.script.comparison import (
    COMPARING_FILES,
    GLOB,
    GREPS,
    WANTED,
    Comparison,
    ExpectedKind,
    expectations,
)
from planbound.script.ends import (
    DEEPEST,
    RunningShell,
    ShellFunction,
    ShellSource,
    gives_up,
    loosens,
    may_leave,
    strict_after,
)
from planbound.script.known_programs import grep_files
from planbound.script.project import ProjectTree
from planbound.script.runners.runner import joined
from planbound.script.tree import (
    Background,
    Branches,
    Call,
    Chain,
    Function,
    Loop,
    Pipeline,
    Statement,
    StatementList,
    Subshell,
    Unread,
    Word,
    below,
    words,
)
from planbound.script.walk import BUILD_FILES, Ran, make_call, walk
from planbound.script.wrapper import SHELLS
from planbound.source import lazy_pattern


class Comparisons(NamedTuple):
    """What there is of comparisons."""

    deciding: tuple[Comparison, ...] = ()
    others: tuple[Comparison, ...] = ()
    """They may not be reached, or may fail without the contract."""


_MOST_LOOKS = 2_000
_PLAIN_WRAPPERS = words("timeout time env nice command builtin nohup stdbuf exec")
_SHEBANG = lazy_pattern(r"\A#![^\n]{0,200}\b(?:ba|da|k)?sh\b[ \t]*(-\w*)?")
_HERE = lazy_pattern(
    r"\"?\$(?:\(dirname \"?\$(?:0|\{?BASH_SOURCE(?:\[0\])?\}?)\"?\)|\{(?:0|BASH_SOURCE)%/\*\})\"?"
    r"(/[\w./-]+)\"?"
)
_CHANGE_THE_SHELL = words("set . source")
# They print what is run, with what it expects.
_SHOW_IT = words("ps pgrep pidof top htop history fc declare typeset compgen type jobs git")
_SEARCH = words("find xargs rg ag ack set export env printenv")
_READS = words("cat head tail sed awk gawk tac nl sort grep egrep fgrep tar zip")
_PARAMETER = lazy_pattern(r"\"?\$(?:([1-9])|\{([1-9])\})\"?")
_CASE = lazy_pattern(r"case\s.*?\sin\s+\(?((?:[\w./:,@%+=-]+|'[^'\\*?\[]+'|\"[^\"$`\\*?\[]+\"))\)")
_OF_LINES = lazy_pattern(r"\A\w+(?: -[uqsbwB]+)* [^\n]*(?<=\s)-\s[^\n]*\n\Z")
_MOVES = lazy_pattern(r"\bshift\b|\bset\s+--")
_TRACES = lazy_pattern(r"\b(?:set|bash|sh)[ \t]+-[a-zA-Z]*[xv]")
_SELF = lazy_pattern(r"\$0|\$\{0|BASH_SOURCE|BASH_EXECUTION_STRING|/proc/")


class _GivenArgument(NamedTuple):
    """An argument of a function, and where it is written."""

    word: Word
    call: Call
    source: ShellSource


class _StatementPlace(NamedTuple):
    """Where a statement stands."""

    source: ShellSource
    decides: bool
    """Whether the contract fails where it does."""
    whole: bool
    """Whether its exit code is that of all around it, however it comes about."""
    heeded: bool = True
    """Whether `-e` is heeded there."""
    returns: bool = False
    """Whether the contract fails where `return 1` is called."""
    given: tuple[_GivenArgument, ...] = ()
    """The arguments of the function that it stands in."""

    def gives_up(self, item: Statement, shell: RunningShell) -> bool:
        """Say whether the contract fails where a statement is reached there."""
        return gives_up(item, shell, decides=self.decides, returns=self.returns)


def find_comparisons(
    script: Script, tree: ProjectTree, is_judge: Callable[[str], bool]
) -> Comparisons:
    """Return the comparisons of a contract and of its scripts that judge; `bash -e` runs it."""
    finder = _ComparisonFinder(tree, is_judge)
    finder.contract(script)
    return finder.comparisons()


class _ComparisonFinder:
    def __init__(self, tree: ProjectTree, is_judge: Callable[[str], bool]) -> None:
        self._tree = tree
        self._is_judge = is_judge
        self._found: dict[tuple[str | None, int], Comparison] = {}
        self._reached: set[tuple[str | None, int]] = set()
        """Where those stand that decide: in a function the value may be its caller's."""
        self._sources: dict[str | None, ShellSource] = {}
        self._texts: dict[str, None] = {}
        """All that is run, also what is not looked into."""
        self._looks = [_MOST_LOOKS]
        self._depth = 0

    def contract(self, script: Script) -> None:
        source = self._opened(ShellSource(None, script))
        reached = _Reached(self, source)
        shell = RunningShell(strict=True, looks=self._looks)
        reached.block(script.block, shell, _StatementPlace(source, decides=True, whole=True))
        # A recipe or a package script is reached where the call of make or npm is.
        is_reached = True
        for item in walk([script], self._tree, through=BUILD_FILES):
            self._texts.setdefault(item.script.text)
            if not isinstance(item, Ran):
                continue
            if item.script is script:
                is_reached = item.call.start in reached.calls and not self._is_made(item.call)
            elif is_reached and item.is_sure and not item.script.broken:
                fixed = ShellSource(None, item.script, is_fixed=True)
                place = _StatementPlace(fixed, decides=True, whole=True)
                _Reached(self, fixed).block(
                    item.script.block, RunningShell(strict=False, looks=self._looks), place
                )

    def _is_made(self, call: Call) -> bool:
        """Say whether what make is asked for may be there, and up to date."""
        made = make_call(call)
        if made is None:
            return False
        names = (made.file,) if made.file else made.names
        texts = [self._tree.text(joined(made.base, name or "")) or "" for name in names]
        there = [
            target
            for target in made.targets
            if joined(made.base, target) in self._tree.files | self._tree.folders
        ]
        phony = {word for text in texts for word in _phony(text)}
        return not phony.issuperset(there)

    def _opened(self, source: ShellSource) -> ShellSource:
        self._texts.setdefault(source.script.text)
        return self._sources.setdefault(source.path, source)

    def note(self, comparison: Comparison, given: Sequence[_GivenArgument] = ()) -> None:
        """Take notice of a comparison that decides, and of the literal that it gets."""
        self._reached.add((comparison.path, comparison.word.start))
        comparison = _of_caller(comparison, given)
        self._found.setdefault((comparison.path, comparison.word.start), comparison)

    def comparisons(self) -> Comparisons:
        """Return what was found; files that are expected are looked for elsewhere, too."""
        deciding = [self._with_mentions(each) for each in self._found.values()]
        others = [
            comparison
            for source in self._sources.values()
            for call in source.script.calls
            for comparison in self.compared(call, source)
            if (comparison.path, comparison.word.start) not in self._reached
        ]
        return Comparisons(tuple(deciding), tuple(others))

    def _with_mentions(self, comparison: Comparison) -> Comparison:
        """Say of a file that is expected whether it may be more than that."""
        if not comparison.file:
            return comparison
        mentions = sum(text.count(basename(comparison.file)) for text in self._texts)
        around = set[str]()
        parent = dirname(comparison.file)
        while parent:
            around.add(parent)
            parent = dirname(parent)
        named = {
            (word.value or "").removeprefix("./").rstrip("/")
            for source in self._sources.values()
            for call in source.script.calls
            for word in call.arguments
        }
        is_said = any(each in comparison.file.lower() for each in WANTED)
        return comparison._replace(is_only=is_said and mentions == 1 and not around & named)

    def compared(
        self, call: Call, source: ShellSource, *, unequal: bool = False
    ) -> Iterator[Comparison]:
        """Yield what a call compares, where the expected value can be changed in its text."""
        text = source.script.text
        wrapped = any(word.value not in _PLAIN_WRAPPERS for word in call.wrappers)
        if wrapped or source.is_fixed or call.program in source.script.functions:
            return
        expected = list(expectations(call, unequal=unequal))
        lines = _here_lines(call, source) if call.program in COMPARING_FILES else None
        if lines is not None:
            is_judged = any(self._judge_file(call, word, source) for word, _kind in expected)
            expected = [] if is_judged else [(lines, ExpectedKind.LINES)]
        elif expected and expected[0][1] is ExpectedKind.FILE:
            judged = [(word, self._judge_file(call, word, source)) for word, _kind in expected]
            expected = [(word, ExpectedKind.FILE) for word, path in judged if path]
            # Two judges that are compared with each other expect nothing of the product.
            expected = expected if len(expected) == 1 else []
        for word, kind in expected:
            if text[word.start : word.end] != word.text or not word.text:
                continue
            line = text.count("\n", 0, call.start) + 1
            file = self._judge_file(call, word, source) if kind is ExpectedKind.FILE else ""
            written = text[call.start : call.end]
            yield Comparison(call, word, kind, source.path, line, written, file)

    def _judge_file(self, call: Call, word: Word, source: ShellSource) -> str:
        path = self.path_of(word, call, source)
        return path if path is not None and self._is_judge(path) else ""

    # -- files ---------------------------------------------------------------------------------

    def path_of(self, word: Word, call: Call, source: ShellSource) -> str | None:
        """Return the file of the tree that a word names; None where there is none."""
        found = None
        if word.value is None:
            match = _HERE.fullmatch(word.text)
            if match is not None and source.path is not None:
                found = below(dirname(source.path), match[1][1:])
        elif word.value != "-" and call.directory is not None and GLOB.isdisjoint(word.text):
            found = below(joined(source.base, call.directory), word.value)
        return found if found is not None and found in self._tree.files else None

    def is_folder(self, name: str) -> bool:
        return name.removeprefix("./").rstrip("/") in self._tree.folders

    def may_judge(self, name: str) -> bool:
        """Say whether a judge is called so, wherever it lies."""
        return any(
            basename(path) == basename(name) and self._is_judge(path) for path in self._tree.files
        )

    def judge_of(self, path: str | None, base: str) -> ShellSource | None:
        """Return a script that judges."""
        text = self._tree.text(path) if path is not None and self._is_judge(path) else None
        if text is None or "\ufffd" in text:
            return None
        script = read_script(text)
        return None if script.broken else self._opened(ShellSource(path, script, base))

    def run_file(self, call: Call, place: _StatementPlace) -> None:
        """Look into the script that a call runs as a program of its own."""
        if any(word.value not in _PLAIN_WRAPPERS for word in call.wrappers):
            return
        strict, word = False, call.word
        if call.program in SHELLS:
            options, word = _shell_words(call)
            strict = any("e" in option for option in options)
        if word is None or (call.program not in SHELLS and "/" not in word.text):
            return
        path = self.path_of(word, call, place.source)
        base = joined(place.source.base, call.directory or "")
        source = self.judge_of(path, base) if call.directory is not None else None
        self._looks[0] -= 1
        if source is None or self._depth >= DEEPEST or self._looks[0] < 0:
            return
        if call.program not in SHELLS:
            match = _SHEBANG.match(source.script.text)
            if match is None:
                return
            strict = "e" in (match[1] or "")
        self._depth += 1
        inner = _StatementPlace(source, decides=True, whole=True)
        _Reached(self, source).block(
            source.script.block, RunningShell(strict=strict, looks=self._looks), inner
        )
        self._depth -= 1


def _of_caller(comparison: Comparison, given: Sequence[_GivenArgument]) -> Comparison:
    """Return a comparison of a function's argument as one with what the caller wrote there."""
    if comparison.call is None or not given:
        return comparison
    words = [each for each in comparison.call.arguments if _PARAMETER.fullmatch(each.text)]
    # Of `[ "$1" = "$2" ]` either may be what is expected; the first one seldom is.
    for word in [comparison.word, *words]:
        found = _argument(word, given)
        if found is not None and found.word.value is not None and not found.source.is_fixed:
            text = found.source.script.text
            return comparison._replace(
                word=found.word,
                path=found.source.path,
                line=text.count("\n", 0, found.call.start) + 1,
                text=text[found.call.start : found.call.end],
            )
    return comparison


def _text_of(defined: ShellFunction) -> str:
    body = defined.body
    return defined.source.script.text[body.start : body.end]


def _argument(word: Word, given: Sequence[_GivenArgument]) -> _GivenArgument | None:
    match = _PARAMETER.fullmatch(word.text)
    number = int(match[1] or match[2]) if match is not None else 0
    return given[number - 1] if 0 < number <= len(given) else None


def _here_lines(call: Call, source: ShellSource) -> Word | None:
    """Return the lines of a here-document that a call compares with."""
    operators = [each.operator for each in call.redirects if each.feeds]
    if operators not in (["<<"], ["<<-"]):
        return None
    text = source.script.text
    behind = [span for span in source.script.heredocs if span[0] > call.start]
    first = text[call.start : behind[0][0]] if behind else ""
    if _OF_LINES.search(first) is None:
        return None
    start, end = behind[0]
    return Word(text[start:end], text[start:end], start, end) if text[start:end].strip() else None


def _phony(text: str) -> Iterator[str]:
    for line in text.split("\n"):
        if line.startswith(".PHONY"):
            yield from line.partition(":")[2].split()


def _shell_words(call: Call) -> tuple[list[str], Word | None]:
    """Return the options of a shell, and the script that it runs."""
    options: list[str] = []
    skip = False
    for word in call.arguments:
        value = word.value or ""
        if skip:
            skip = False
        elif value.startswith("--"):
            continue
        elif value.startswith("-") and len(value) > 1:
            options.append(value[1:])
            if "c" in value or "s" in value:
                return options, None
            skip = "o" in value
        else:
            return options, word
    return options, None


class _Reached:
    """Goes through statements as a shell does, as far as it is sure what it does."""

    def __init__(self, finder: _ComparisonFinder, source: ShellSource) -> None:
        self._finder = finder
        self._top: Statement = source.script.block
        self._depth = 0
        self.calls: set[int] = set()
        """Where the calls of the contract begin that are reached, and decide."""

    def block(self, block: StatementList, shell: RunningShell, place: _StatementPlace) -> None:
        """Go through statements one after the other."""
        for item in block.items:
            is_last = item is block.items[-1]
            whole = place.whole and is_last
            decides = whole or (shell.strict and place.heeded)
            before, self._top = self._top, item
            self.statement(item, shell, place._replace(decides=decides, whole=whole))
            self._top = before
            # What these do is known by now.
            is_plain = isinstance(item, Function) or (
                isinstance(item, Call) and item.name in _CHANGE_THE_SHELL
            )
            shell.is_over = shell.is_over or (not is_plain and may_leave(item, shell))
            if shell.is_over:
                return

    def statement(self, item: Statement, shell: RunningShell, place: _StatementPlace) -> None:
        """Go through one statement."""
        match item:
            case Call():
                self._call(item, shell, place)
            case StatementList():
                self.block(item, shell, place)
            case Subshell() if place.decides:
                self.block(item.body, shell.child(), place._replace(whole=place.decides))
            case Chain():
                self._chain(item, shell, place)
            case Pipeline(negated=False):
                last = item.items[-1]
                if place.decides and isinstance(last, Call):
                    self._call(last, shell.child(), place)
            case Branches():
                self._branches(item, shell, place)
            case Function():
                shell.functions[item.name] = ShellFunction(item.body, place.source)
            case Subshell() | Pipeline() | Loop() | Background() | Unread():
                pass

    # -- single calls ----------------------------------------------------------------------------

    def _call(self, call: Call, shell: RunningShell, place: _StatementPlace) -> None:
        if call.name == "set":
            shell.strict = strict_after(call, strict=shell.strict)
        if call.name in {".", "source"}:
            self._sourced(call, shell, place)
        if not place.decides:
            return
        self.calls.add(call.start)
        defined = shell.functions.get(call.name or "")
        if defined is not None:
            given = (self._given(word, call, place) for word in call.arguments)
            self._entered(defined, shell, place._replace(given=tuple(given)))
            return
        for comparison in self._finder.compared(call, place.source):
            if not self._sees_itself(comparison, place):
                self._finder.note(comparison, place.given)
        self._finder.run_file(call, place)

    def _given(self, word: Word, call: Call, place: _StatementPlace) -> _GivenArgument:
        found = _argument(word, place.given)
        return found if found is not None else _GivenArgument(word, call, place.source)

    def _entered(self, defined: ShellFunction, shell: RunningShell, place: _StatementPlace) -> None:
        """Go through a function that is called."""
        if not shell.looks_on(self._depth) or loosens(defined.body, defined.source, shell):
            return
        inner = shell.within()
        around = _StatementPlace(
            defined.source,
            decides=True,
            whole=True,
            heeded=place.heeded,
            returns=True,
            # Who moves them away has others.
            given=() if _MOVES.search(_text_of(defined)) else place.given,
        )
        body = defined.body
        if isinstance(body, StatementList):
            self._depth += 1
            self.block(body, inner, around)
            self._depth -= 1
            shell.strict = inner.strict

    def _sourced(self, call: Call, shell: RunningShell, place: _StatementPlace) -> None:
        """Go through a file that is taken in, where it judges; what the product does is its own."""
        word = call.arguments[0] if call.arguments else None
        path = self._finder.path_of(word, call, place.source) if word is not None else None
        if path is None and (
            word is None or word.value is None or self._finder.may_judge(word.value)
        ):
            shell.is_over = True
        base = joined(place.source.base, call.directory or "")
        source = self._finder.judge_of(path, base)
        if source is not None and loosens(source.script.block, source, shell):
            shell.is_over = True
        elif source is not None and shell.looks_on(self._depth):
            inner = place._replace(source=source, whole=place.decides, returns=place.decides)
            self._depth += 1
            self.block(source.script.block, shell, inner)
            self._depth -= 1

    def _sees_itself(self, comparison: Comparison, place: _StatementPlace) -> bool:
        """Say whether what is looked through may hold the very text that is looked for."""
        if comparison.expects not in {ExpectedKind.PATTERN, ExpectedKind.EXPRESSION}:
            return False
        text = place.source.script.text
        if _TRACES.search(text) or _SELF.search(text[self._top.start : self._top.end]):
            return True
        own = place.source.path
        for call in place.source.script.calls:
            is_near = self._top.start <= call.start < self._top.end
            if call.program in _SHOW_IT or (is_near and self._shows(call, own)):
                return True
        return False

    def _shows(self, call: Call, own: str | None) -> bool:
        if call.program in _SEARCH or call.has("-r", "-R", "--recursive"):
            return True
        if call.program not in _READS:
            return False
        operands = grep_files(call) if call.program in GREPS else call.operands()
        return any(
            not GLOB.isdisjoint(word.text)
            or ".harness" in word.text
            or self._finder.is_folder(word.value or "?")
            or (own is not None and (word.value or "?").endswith(basename(own)))
            for word in operands
        )

    # -- joined statements -------------------------------------------------------------------------

    def _chain(self, chain: Chain, shell: RunningShell, place: _StatementPlace) -> None:
        *front, last = chain.items
        *before, operator = chain.operators
        if "||" in before:
            return
        inside = place._replace(decides=True, whole=True, heeded=False)
        is_end = place.gives_up(last, shell)
        if operator == "||" and is_end:
            self._joined(front, shell, inside)
        elif operator == "&&" and place.whole:
            if self._joined(front, shell, inside):
                self.statement(last, shell, place._replace(decides=True))
        elif operator == "&&" and len(front) == 1 and is_end:
            self._unequal(front[0], place)

    def _joined(
        self, items: Sequence[Statement], shell: RunningShell, place: _StatementPlace
    ) -> bool:
        """Go through what is joined by `&&`; say whether all of it is reached."""
        for item in items:
            self.statement(item, shell, place)
            if may_leave(item, shell):
                return False
        return True

    def _branches(self, item: Branches, shell: RunningShell, place: _StatementPlace) -> None:
        """Look at `if compared; then ...; else exit 1; fi` and its like."""
        self._cases(item, shell, place)
        if len(item.conditions) != 1 or len(item.conditions[0].items) != 1:
            return
        condition = item.conditions[0].items[0]
        inside = place._replace(decides=True, whole=True, heeded=False)
        if place.gives_up(item.bodies[0], shell):
            if isinstance(condition, Pipeline) and condition.negated and len(condition.items) == 1:
                self.statement(condition.items[0], shell, inside)
            else:
                self._unequal(condition, place)
        elif len(item.bodies) == 2 and place.gives_up(item.bodies[1], shell):
            self.statement(condition, shell, inside)

    def _cases(self, item: Branches, shell: RunningShell, place: _StatementPlace) -> None:
        """Look at `case ... in value) ...;; *) exit 1;; esac`."""
        source = place.source
        written = source.script.text[item.start : item.end]
        match = _CASE.match(written)
        if match is None or len(item.bodies) != 2 or source.is_fixed:
            return
        if not item.complete or place.gives_up(item.bodies[0], shell):
            return
        if place.gives_up(item.bodies[1], shell):
            start, end = item.start + match.start(1), item.start + match.end(1)
            value = match[1].strip("'\"")
            line = source.script.text.count("\n", 0, item.start) + 1
            word = Word(match[1], value, start, end)
            kind = ExpectedKind.TEXT
            self._finder.note(Comparison(None, word, kind, source.path, line, written))

    def _unequal(self, item: Statement, place: _StatementPlace) -> None:
        """Look at `[ a != b ]`, where it is a failure that they are not equal."""
        if isinstance(item, Call):
            for comparison in self._finder.compared(item, place.source, unequal=True):
                self._finder.note(comparison, place.given)
