"""See a contract fail whose runner cannot be told by how it is called, or that has none.

The contract is run again as it stands, with every process of Python watched (see
`planbound.script.runners.watched`), and with the shell's own end made to fail where a script takes
code of the product into itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import pairwise, takewhile
from posixpath import basename
from typing import TYPE_CHECKING

from planbound.cells.cell import Laid, Outcome, Request
from planbound.judging.canary import canary_for, replaces
from planbound.judging.corroborate import (
    Corroboration,
    not_seen_to_fail,
    not_shown,
    with_added,
)
from planbound.judging.meaning import is_test_file
from planbound.judging.own_end import (
    is_continued,
    other_ends,
    shell_end,
    takes_in,
    taking_in,
    unsure_end,
)
from planbound.judging.reach import reach, unchanged, unreached
from planbound.judging.reference import judges_of
from planbound.judging.untried import untried
from planbound.judging.verdict import CanaryRun
from planbound.plan.model import ExitCodeIs
from planbound.script import Call, Script
from planbound.script.project import ProjectTree
from planbound.script.runners import BY_NAME, missing_tests, programs, runner_of
from planbound.script.runners.runner import (
    Canary,
    JudgedTree,
    Language,
    ReportedOutcome,
    ReportedTest,
    Summary,
    joined,
)
from planbound.script.runners.watched import (
    MOST_PROCESSES,
    Watch,
    WatchedProcess,
    mark_of,
    marked_program,
    read_notes,
    watch_for,
)
from planbound.script.status import deciding_calls
from planbound.script.tree import Redirect, Word, words
from planbound.script.understood import (
    PYTHONS,
    Place,
    Surrounding,
    inline_text,
    reads_program,
    unknown_call,
    why_unknown,
)
from planbound.script.walk import (
    Entered,
    Executed,
    ExecutedBy,
    Ran,
    make_call,
    only_reads_looped,
    walk,
)
from planbound.script.wrapper import SHELLS, program_of
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract

_MOST_RUNS = 4
_ALL = 1_000_000
"""No process has such a number: all of them are left alone."""
_RANKS = (
    CanaryRun.CUT,
    CanaryRun.GREEN,
    CanaryRun.UNCLEAR,
    CanaryRun.LOST,
    CanaryRun.NONE,
    CanaryRun.OVER,
    CanaryRun.RED,
)
"""From the worst to the best."""
# They start a Python themselves, or stand in front of what does.
_STARTERS = words("coverage uv uvx poetry hatch pdm pipenv pipx rye nox tox nose2 invoke doit")
_INTERPRETERS = PYTHONS | words("node deno bun tsx ts-node ruby perl php lua Rscript julia")
_STOPS = words("kill pkill killall")
_PYTHON_FILE = lazy_pattern(r"\A#![^\n]{0,200}\bpython")
_PYTHON_WORD = lazy_pattern(r"\bpy(?:thon|test|py)?3?\b|unittest")
_SHELL_FILE = lazy_pattern(r"\A#![^\n]{0,200}\b(?:ba|da|k|z)?sh\b")
_READING_SHELL = SHELLS | {".", "source"}
_RECIPES = words("make gmake just npm pnpm yarn bun")
_KEEPING_APART = frozenset({"tox", "nox"})
_STARTS = lazy_pattern(r"\b(?:subprocess|system|popen|spawn\w*|exec[lv]\w*|fork|Process)\b")
_CLEARED = lazy_pattern(
    r"\benv\s+(?:-[a-z]*i|-(?=\s)|--ignore)|\b(?:sudo|doas)\s|\bunset\s+PYTHONPATH"
)
_CODE_OPTION = lazy_pattern(r"-[A-Za-z]*c")


class WalkedContract:
    """What of a contract has to do with Python and with the end of its shells."""

    def __init__(self, contract: JudgedContract) -> None:
        self.contract = contract
        paths, read = contract.laid
        self.project = JudgedTree(paths, read, os.urandom(8).hex())
        self.scripts: list[Script] = []
        self._places: list[tuple[Script, str]] = []
        self.calls: list[Call] = []
        self.files: dict[str, None] = {}
        self._unsure: list[Call] = []
        self.is_cut = False
        """Whether a runner prints something that may not come out whole."""
        for item in walk([contract.script], ProjectTree(paths, read)):
            match item:
                case Entered():
                    self.scripts.append(item.script)
                    self._places.append((item.script, item.path))
                case Ran():
                    self.calls.append(item.call)
                    self.is_cut |= item.is_cut and _is_met(item.call)
                    if not (item.is_sure or _decides(item)):
                        self._unsure.append(item.call)
                case Executed() if item.by is not ExecutedBy.LOOP or not only_reads_looped(
                    item.script, item.word
                ):
                    self.files.setdefault(item.path)

    @cached_property
    def pythons(self) -> int:
        """How many calls may start a Python."""
        files = sum(self._is_python(path) for path in self.files)
        calls = sum(map(_may_start_python, self.calls))
        # What make puts into its variables is run, too, and cannot be followed.
        recipes = 2 * any(self._mentions_python(script) for script in self.makers())
        texts = (script.text for script in self.scripts) if self.not_understood else ()
        return max(files, calls, recipes, any(map(_PYTHON_WORD.search, texts)))

    def makers(self) -> Iterator[str]:
        """Yield the texts of the files that make and its like read."""
        for call in self.calls:
            made = make_call(call)
            names = () if made is None else (made.file,) if made.file else made.names
            for name in names:
                yield self.text(joined(made.base if made else "", name or ""))

    @cached_property
    def has_runner(self) -> bool:
        """Whether a call names a test runner of Python."""
        known = programs(Language.PYTHON)
        return any(runner_of(call) is not None and call.program in known for call in self.calls)

    @cached_property
    def lost(self) -> CanaryRun | None:
        """What is to be seen where a failure of Python need not arrive; None: each one does."""
        calls = [call for call in self._unsure if _may_start_python(call)]
        if not calls:
            return None
        return CanaryRun.NONE if all(call.optional for call in calls) else CanaryRun.LOST

    @cached_property
    def is_apart(self) -> bool:
        """Whether a Python is started that sees nothing of what is laid for it."""
        cleared = any(_CLEARED.search(script.text) for script in self.scripts)
        return cleared or any(map(_keeps_apart, self.calls))

    @cached_property
    def starts_others(self) -> bool:
        """Whether a judge in Python starts programs: what these judge is not seen."""
        texts = map(self.text, self.mains)
        inline = (word.text for script in self.scripts for word in _programs_in(script))
        return any(_STARTS.search(text) for text in (*texts, *inline))

    @cached_property
    def mains(self) -> tuple[str, ...]:
        """The programs in Python that are judges."""
        return tuple(path for path in self.files if self._is_python(path) and self.is_judge(path))

    @cached_property
    def judges(self) -> frozenset[str]:
        """The files that judge; before anything is frozen those that are there."""
        contract = self.contract
        return (
            contract.judges.files
            or judges_of([contract.case], contract.manifest, contract.read_now).files
        )

    def is_judge(self, path: str) -> bool:
        return path in self.judges if self.judges else is_test_file(path)

    def is_shell(self, path: str) -> bool:
        """Say whether a file is a shell script: by its name, its first line, or who runs it."""
        if path.endswith((".sh", ".bash")) or _SHELL_FILE.match(self.text(path)[:300]):
            return True
        return any(
            call.program in _READING_SHELL
            and any(path.endswith(value.removeprefix("./")) for value in call.values() if value)
            for call in self.calls
        )

    def text(self, path: str) -> str:
        return (self.project.read(path) or b"").decode("utf-8", "replace")

    def _mentions_python(self, text: str) -> bool:
        return "$(shell" in text and _PYTHON_WORD.search(text) is not None

    def _is_python(self, path: str) -> bool:
        if path.endswith(".py"):
            return True
        content = self.project.read(path) if "." not in basename(path) else None
        first = (content or b"")[:300].decode("latin-1")
        return _PYTHON_FILE.match(first) is not None

    @cached_property
    def runner_calls(self) -> list[tuple[str, Call]]:
        """The calls of test runners, each with the name of its runner, or of its program."""
        found = ((runner_of(call), call) for call in self.calls)
        every = [(row.name or call.program, call) for row, call in found if row is not None]
        # What they run is among the calls, or among the files, where it can be followed.
        own = [each for each in every if each[1].program not in _RECIPES]
        return own if own or self.mains or self.foreign_mains else every

    @cached_property
    def others(self) -> list[str]:
        """The runners that are none of Python's, as often as they are called."""
        known = programs(Language.PYTHON)
        return [name for name, call in self.runner_calls if call.program not in known]

    @cached_property
    def unwatched(self) -> str:
        """A program that judges, and that nobody can watch; empty: there is none."""
        for path in self.foreign_mains:
            if not is_continued(self, path):
                return path
        for call in self.calls:
            if call.program in _INTERPRETERS - PYTHONS and call.has("-e", "-c", "-p", "--eval"):
                return call.program
        return ""

    @cached_property
    def expected_failing(self) -> Canary | None:
        """The failing tests that will be added; None where none can be."""
        return _expected_failing(self)

    @cached_property
    def untried(self) -> str:
        """Why nobody knows whether all that judges can fail; empty: it can be seen."""
        return untried(self) or unreached(self) or unchanged(self)

    @cached_property
    def not_understood(self) -> str:
        """Why nobody knows what some call of a judge runs; empty: it is known of each."""
        return why_unknown(self.unknown_call) if self.unknown_call else ""

    @cached_property
    def unknown_call(self) -> str:
        """A call of a judge of which nobody knows what it runs; empty: it is known of each.

        What the product's own scripts call does not count: they are the product.
        """
        known = Surrounding(
            tuple(self.scripts), frozenset(self.project.paths), self.is_judge, is_test_file
        )
        places = [
            Place(
                script,
                takes_in=takes_in(self, script),
                is_recipe=bool(path) and not path.endswith((".sh", ".bash", ".json")),
            )
            for script, path in self._places
            if not path or self.is_judge(path)
        ]
        return unknown_call(places, known)

    @cached_property
    def has_inline(self) -> bool:
        """Whether a Python runs a program that is no file."""
        pythons = [call for call in self.calls if call.program in PYTHONS]
        return any(inline_text(call) is not None or reads_program(call) for call in pythons)

    @cached_property
    def is_single(self) -> bool:
        """Whether one call of a runner is all that judges: a failure in it is one of everything."""
        more = self.mains or self.foreign_mains or self.unwatched or self.untried
        is_more = bool(more) or self.has_inline or taking_in(self)
        return len(self.runner_calls) == 1 and not is_more

    @cached_property
    def foreign_mains(self) -> tuple[str, ...]:
        """The programs that are judges, in other languages than Python and the shell's."""
        return tuple(
            path
            for path in self.files
            if self.is_judge(path) and not self.is_shell(path) and not self._is_python(path)
        )

    def is_product(self, process: WatchedProcess) -> bool:
        """Say whether a process is the product itself: its output is judged, not its end."""
        module = _named_module(process)
        main = self._of_module(module) if module else process.main
        return main in self.project.paths and not self.is_judge(main)

    def _of_module(self, name: str) -> str:
        """Return the file of a module that is run by its name; empty: it is not the project's."""
        path = name.replace(".", "/")
        ends = (f"/{path}.py", f"/{path}/__main__.py")
        return next((each for each in self.project.paths if f"/{each}".endswith(ends)), "")

    def is_tolerated(self, process: WatchedProcess) -> bool:
        """Say whether the contract does without the success of a process."""
        return any(call.optional and _is_of(call, process) for call in self.calls)

    def may_be_stopped(self, process: WatchedProcess) -> bool:
        """Say whether a process may be ended by the contract itself, or by itself."""
        if self.is_product(process):
            return True
        behind = [
            call for call in self.calls if call.background or (call.limited and call.optional)
        ]
        if any(_is_of(call, process) for call in behind):
            return True
        if not behind and not any(call.program in _STOPS for call in self.calls):
            return False
        # Who is started by something that cannot be followed: no judge, and no runner of tests.
        known = programs(Language.PYTHON)
        runs_tests = any(program_of(word) in known for word in process.words)
        return not runs_tests and not self.is_judge(process.main)


def _named_module(process: WatchedProcess) -> str:
    """Return the module that a process was told to run; empty: it is a file, or a text."""
    for option, name in pairwise(process.words[1:6]):
        if option == "-m":
            return name
        if not option.startswith("-"):
            break
    return ""


def _is_of(call: Call, process: WatchedProcess) -> bool:
    """Say whether a process may be what a call started: it has the same words."""
    given = [value for value in (call.program, *call.values()) if value]
    held = {basename(process.words[0]) if process.words else "", *process.words}
    names = held | {program_of(word) for word in process.words}
    return bool(call.arguments) and all(value in names for value in given)


def _is_met(call: Call) -> bool:
    """Say whether a runner is called, or it will be seen that it is not."""
    row = runner_of(call)
    is_seen = row is not None and row.naming is not None and row.naming.apart
    return row is not None and (is_seen or not call.optional)


def _may_start_python(call: Call) -> bool:
    if call.name is None:
        # A variable, a substitution: who knows.
        return call.word is not None
    names = {call.program, *(program_of(word.value or "") for word in call.wrappers)}
    return bool(names & (PYTHONS | _STARTERS | programs(Language.PYTHON)))


def _decides(item: Ran) -> bool:
    """Say whether the failure of a call in a file is that file's."""
    call = item.call
    if call.negated or call.optional or call.background or call.nested:
        return False
    return call.start in {each.start for each in deciding_calls(item.script)}


def _keeps_apart(call: Call) -> bool:
    """Say whether a Python looks at no variable of its own, or has another environment."""
    if call.program in _KEEPING_APART:
        return True
    return call.program in PYTHONS and any(
        value[:1] == "-" and value[1:2] != "-" and not {"I", "E"}.isdisjoint(value)
        for value in takewhile(lambda each: each[:1] == "-", call.values())
    )


def corroborate_watched(
    contract: JudgedContract, required: Sequence[str], held_out_tests: Sequence[str]
) -> Corroboration:
    """Return what a contract shows in which whatever runs is made to fail."""
    walked = WalkedContract(contract)
    end, why, unseen = shell_end(walked)
    if end is CanaryRun.CUT:
        return Corroboration(end, why=why)
    for path, arrives in other_ends(walked):
        if not arrives:
            return Corroboration(CanaryRun.CUT, why=f"`{path}` was ended before its own end")
        if is_continued(walked, path):
            end = CanaryRun.OVER
    if not walked.pythons:
        return Corroboration(end, unseen=unseen)
    found = _PythonRuns(walked).seen(required, held_out_tests)
    found = found._replace(unseen=found.unseen or unseen)
    return found._replace(canary=end) if found.canary is CanaryRun.NONE else found


def combined(found: Sequence[Corroboration]) -> Corroboration:
    """Return what several runs show together: no more than the least of them."""
    first, *rest = found
    for each in rest:
        worse = min((first.canary, each.canary), key=_RANKS.index)
        first = first._replace(
            canary=worse,
            why=first.why or each.why,
            unseen=first.unseen or each.unseen,
            missing=(*first.missing, *each.missing),
            summary=first.summary or each.summary,
            counted=None
            if first.counted is None or each.counted is None
            else first.counted + each.counted,
            held_out_seen=first.held_out_seen or each.held_out_seen,
        )
    return first


def expected_canary(contract: JudgedContract) -> CanaryRun:
    """Return what a run with failing tests will show where everything is as it should be."""
    if contract.wants_failures or contract.script.broken:
        return CanaryRun.NONE
    walked = foreseen(contract)
    if walked.has_runner and not walked.is_apart:
        return walked.lost or CanaryRun.RED
    is_ended = any(is_continued(walked, path) for path in walked.foreign_mains)
    if walked.expected_failing is not None:
        # What comes to its end besides was not seen to fail.
        return CanaryRun.OVER if is_ended else CanaryRun.RED
    if _wants_an_error(walked):
        return CanaryRun.NONE
    return walked.lost or CanaryRun.OVER if walked.pythons or is_ended else CanaryRun.NONE


def foreseen(contract: JudgedContract) -> WalkedContract:
    """Return the contract as it was walked for what is expected of it, by which nothing is run."""
    if contract.foreseen is None:
        contract.foreseen = WalkedContract(contract)
    return contract.foreseen


def _expected_failing(walked: WalkedContract) -> Canary | None:
    """Return the failing tests that will be added; None where none can be."""
    contract, tree = walked.contract, walked.project
    runner = contract.runner(None)
    called = {call.program for call in walked.calls}
    for name in (runner, *(name for name, row in BY_NAME.items() if called & {*row.programs})):
        found = name and canary_for(
            name,
            contract.script,
            tree.paths,
            tree.read,
            tree.nonce,
            contract.is_taken,
            anywhere=name != runner,
        )
        if found:
            return found
    return None


def _wants_an_error(walked: WalkedContract) -> bool:
    """Say whether a program of Python is to end with an error: then it comes to no other end."""
    codes = (each for each in walked.contract.expectations if isinstance(each, ExitCodeIs))
    negated = (call for call in walked.calls if call.negated)
    return any(each.code != 0 for each in codes) or any(map(_may_start_python, negated))


def is_promised(contract: JudgedContract) -> bool:
    """Say whether it is known before the work what the run with failing tests will show."""
    walked = foreseen(contract)
    return not (walked.is_apart or walked.starts_others)


def unseen_program(contract: JudgedContract) -> str:
    """Return a program that judges by running code of the tree, and can be ended by it.

    A product that is started as a program of its own ends nobody but itself.
    """
    walked = foreseen(contract)
    # A runner that says nothing may have been ended before it could.
    if found := next(
        (name for name, call in walked.runner_calls if call.program not in _RECIPES), ""
    ):
        return found
    judging = (path for path in walked.files if walked.is_judge(path))
    ending = (path for path in judging if not walked.is_shell(path))
    if found := next((path for path in ending if not is_continued(walked, path)), ""):
        return found
    for call in walked.calls:
        on_the_line = call.program in _INTERPRETERS and call.has("-e", "-c", "-p", "--eval")
        if on_the_line or call.program in _KEEPING_APART:
            return call.program
    return walked.unknown_call


def expected_unseen(contract: JudgedContract) -> str:
    """Return why it will not be seen that all that judges can fail; empty: it will be."""
    walked = foreseen(contract)
    canary = walked.expected_failing
    hidden = "" if canary is None else not_shown(canary)
    if hidden:
        return hidden
    if walked.is_single:
        return walked.not_understood
    twice = next((name for name in walked.others if walked.others.count(name) > 1), "")
    name = walked.unwatched or twice
    if name:
        return not_seen_to_fail(name)
    return unsure_end(walked) or walked.untried or walked.not_understood


def text_inside(name: str, ending: str = ".py") -> str:
    """Return the text of a module that is laid into cells."""
    here = os.path.dirname(os.path.abspath(__file__))
    with open(os.path.join(here, "inside", name + ending), encoding="utf-8") as file:
        return file.read()


# -- processes of Python -------------------------------------------------------------------------


class _PythonRuns:
    """Runs in which one process after the other is made to fail, and what all of them showed."""

    def __init__(self, walked: WalkedContract) -> None:
        self.walked = walked
        self.contract = walked.contract
        self.project = walked.project
        self.cases: list[ReportedTest] = []
        self.best = CanaryRun.NONE

    def seen(self, required: Sequence[str], held_out_tests: Sequence[str]) -> Corroboration:
        """Return what came of it."""
        shown, found = 0, None
        for _ in range(_MOST_RUNS):
            watch = self._watch(shown)
            if watch is None:
                return Corroboration()
            outcome = self.contract.judging.cell.run(self._request(watch))
            processes = read_notes(outcome.collected, watch.notes)
            found = self._doubt(watch, outcome, processes, shown)
            if found is None and len(processes) >= MOST_PROCESSES:
                why = f"more than {MOST_PROCESSES} processes of Python ran: not all were watched"
                found = Corroboration(CanaryRun.UNCLEAR, unseen=why)
            if found is not None or len(processes) <= shown or self.walked.pythons == 1:
                break
            if self.contract.passes(outcome):
                break
            shown = len(processes)
        else:
            found = self._only_watched()
        passed = [case.id for case in self.cases if case.outcome is ReportedOutcome.PASSED]
        others = [case.id for case in self.cases if case.outcome is not ReportedOutcome.PASSED]
        missing = set[str]()
        if self.cases:
            missing = set(missing_tests(required, passed))
            missing |= set(required) - set(missing_tests(required, others))
        return Corroboration(
            canary=self.best if found is None else found.canary,
            why="" if found is None else found.why,
            unseen="" if found is None else found.unseen,
            summary=Summary("python", passed=len(passed)) if passed else None,
            counted=len(passed) if self.cases else None,
            missing=tuple(test for test in required if test in missing),
            held_out_seen=bool(held_out_tests) and not missing_tests(held_out_tests, passed),
        )

    def _only_watched(self) -> Corroboration | None:
        """Look at all processes where there are too many to let each fail: all have to end."""
        watch = self._watch(_ALL)
        if watch is None:
            return Corroboration()
        outcome = self.contract.judging.cell.run(self._request(watch))
        processes = read_notes(outcome.collected, watch.notes)
        if why := self._cut(processes, is_green=self.contract.passes(outcome)):
            return Corroboration(CanaryRun.CUT, why=why)
        if len(processes) >= MOST_PROCESSES:
            why = f"more than {MOST_PROCESSES} processes of Python ran: not all were watched"
            return Corroboration(CanaryRun.UNCLEAR, unseen=why)
        self.best = CanaryRun.OVER
        return None

    def _watch(self, skip: int) -> Watch | None:
        tree = self.walked.project
        project = self.project = JudgedTree(tree.paths, tree.read, os.urandom(8).hex())
        judges = {path: tree.read(path) or b"" for path in self.walked.judges}
        watch = watch_for(
            project,
            noted=text_inside("noted"),
            skip=skip,
            tail=not self.walked.has_runner,
            mains=self.walked.mains,
            judges=judges | {path: self._marked(path).content for path in self.walked.mains},
            stdin=self._marks_input(),
            reach=reach(self.walked),
        )
        return None if replaces(watch.canary, project, self.contract.is_taken) else watch

    def _marks_input(self) -> bool:
        """Say whether every program that Python reads from its input gets the mark."""
        fed = [call for call in self.walked.calls if reads_program(call)]
        own = {call.start for call, _end in _here_documents(self.contract.script)}
        calls = [call for call in fed if call.program in PYTHONS]
        return bool(calls) and all(
            (call in self.contract.script.calls and call.start in own)
            or any(_target(each) in self.walked.mains for each in call.redirects)
            for call in calls
        )

    def _request(self, watch: Watch) -> Request:
        request = with_added(self.contract.request, watch.canary)
        marked = [self._marked(path) for path in self.walked.mains]
        *start, text = request.command
        if text == self.contract.command.text:
            text = _marked_text(self.contract.script, mark_of(self.project))
        paths = {item.path for item in marked}
        kept = [item for item in request.lay if item.path not in paths]
        return request._replace(
            command=(*start, text), lay=(*kept, *marked), collect=watch.notes, needles=()
        )

    def _marked(self, path: str) -> Laid:
        content = self.walked.project.read(path) or b""
        entry = self.contract.manifest.entry(path)
        mode = entry.mode if entry else 0o644
        return Laid(path, marked_program(content, self.project), mode)

    def _doubt(
        self,
        watch: Watch,
        outcome: Outcome,
        processes: Sequence[WatchedProcess],
        shown: int,
    ) -> Corroboration | None:
        """Return why a run is no proof that the contract can fail; None where it is one."""
        is_green = self.contract.passes(outcome)
        if why := self._cut(processes, is_green=is_green):
            return Corroboration(CanaryRun.CUT, why=why)
        made_to_fail = [
            process
            for process in processes[shown:]
            if process.was_failed or process.cases is not None
        ]
        all_failed = [self._all_failed(watch, process) for process in made_to_fail]
        if not all(all_failed):
            return Corroboration(CanaryRun.GREEN)
        judging = [
            process
            for process in made_to_fail
            if not self.walked.is_product(process) and not self.walked.is_tolerated(process)
        ]
        if is_green and judging:
            why = f"`{judging[-1].shown}` can fail, and the contract does not"
            return Corroboration(CanaryRun.LOST, why=why)
        if not is_green and not made_to_fail:
            return Corroboration(CanaryRun.UNCLEAR)
        if any(process.cases is not None for process in judging):
            self.best = CanaryRun.RED
        elif judging and self.best is CanaryRun.NONE:
            self.best = CanaryRun.OVER
        return None

    def _cut(self, processes: Sequence[WatchedProcess], *, is_green: bool) -> str:
        """Return which process was ended early, and by whom; empty where none was."""
        stopped = {pid for process in processes for pid in process.stopped}
        for process in processes:
            if process.left_by and self._is_foreign(process):
                return f"`{process.shown}` was ended by `{process.left_by}` before its own end"
            if process.is_cut and not self.walked.is_product(process):
                return f"`{process.shown}` was ended before its own end"
        for process in processes:
            if process.pid in stopped or self.walked.may_be_stopped(process):
                continue
            failed = process.has_raised and self._has_to_succeed(process)
            is_open = not process.has_ended or failed
            # What one of Python started is over before that is, which fails at its own end only.
            if is_open and (is_green or (process.is_nested and not process.has_ended)):
                return f"`{process.shown}` was ended before its own end"
        return ""

    def _has_to_succeed(self, process: WatchedProcess) -> bool:
        """Say whether the contract fails where a process does."""
        codes = [each for each in self.contract.expectations if isinstance(each, ExitCodeIs)]
        expected = all(each.code == 0 for each in codes) and self.walked.lost is None
        may_fail = any(call.negated and _is_of(call, process) for call in self.walked.calls)
        tolerated = process.is_nested or may_fail or self.walked.is_tolerated(process)
        return expected and not tolerated

    def _is_foreign(self, process: WatchedProcess) -> bool:
        """Say whether a process was ended by code that is not its own program's, nor a judge's."""
        return not self.walked.is_product(process) and not self.walked.is_judge(process.left_by)

    def _all_failed(self, watch: Watch, process: WatchedProcess) -> bool:
        """Say whether the tests that were added failed, all of a file; the others are kept."""
        if process.cases is None:
            return True
        ends = {case.id.rpartition("::")[2]: case.outcome for case in process.cases}
        groups = [group for group in watch.groups if not ends.keys().isdisjoint(group)]
        names = {name for group in watch.groups for name in group}
        self.cases += (case for case in process.cases if case.id.rpartition("::")[2] not in names)
        return any(
            all(ends.get(name) is ReportedOutcome.FAILED for name in group) for group in groups
        ) and all(
            ends[name] is ReportedOutcome.FAILED
            for group in groups
            for name in group
            if name in ends
        )


def _marked_text(script: Script, mark: str) -> str:
    """Return a command whose programs in Python say when they come to their end."""
    changes = [(end, f"{mark}\n") for _call, end in _here_documents(script)]
    for word in _programs_in(script):
        line = mark.replace('"', "'") if word.text[0] == '"' else mark
        changes.append((word.end - 1, f"\n{line}\n"))
    text = script.text
    for at, added in sorted(changes, reverse=True):
        text = f"{text[:at]}{added}{text[at:]}"
    return text


def _programs_in(script: Script) -> Iterator[Word]:
    """Yield the words that hold programs in Python, in plain quotes."""
    for call in script.calls:
        if call.program not in PYTHONS:
            continue
        for option, word in pairwise(call.arguments):
            is_plain = word.text[:1] in {"'", '"'} and word.text[-1:] == word.text[0]
            at_its_place = script.text[word.start : word.end] == word.text
            is_code = _CODE_OPTION.fullmatch(option.value or "") is not None
            if is_code and is_plain and at_its_place and len(word.text) > 1:
                yield word


def _here_documents(script: Script) -> Iterator[tuple[Call, int]]:
    """Yield the calls of Python that read their program from a here-document, and its end."""
    for call in script.calls:
        if call.program not in PYTHONS or not reads_program(call):
            continue
        if any(each.operator in {"<<", "<<-"} for each in call.redirects):
            behind = [end for start, end in script.heredocs if start > call.start]
            if behind and script.text[behind[0] - 1 : behind[0]] == "\n":
                yield call, behind[0]


def _target(redirect: Redirect) -> str:
    path = (redirect.target.value or "").removeprefix("./")
    return joined(redirect.directory or "", path) if redirect.operator == "<" else ""
