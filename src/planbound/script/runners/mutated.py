"""A run in which the values that tests expect are changed, however they are started.

What `judging/inside` has is loaded by each Python that a contract starts. It changes the judges
while they are loaded, and leaves their files alone: every value that an equality expects goes
through a function that makes another value of the same type of it. A test whose equality was
reached and that stays green cannot tell right from wrong. Node loads one file of that folder, which
stands in front of the assertions instead.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from planbound.script.runners.runner import Canary, JudgedTree, Variable, joined
from planbound.script.runners.watched import BY_PATH, FIRST, Reach

_MOST_PROCESSES = 64
# `node --test` has a process for each file.
_MOST_OF_NODE = 64
_MOST_TESTS = 20_000

_NOTHING: Mapping[str, object] = MappingProxyType({})
_NO_TESTS: Mapping[str, Sequence[int]] = MappingProxyType({})
_PIECES = (
    "notes values equalities retelling comparing peering looking genuine failing noted loading"
).split()
"""What the hook is made of, in this order; the first one imports for all."""
_IMPORT = re.compile(r"^(?:import|from) [^(\n]*(?:\([^)]*\))?\n", re.MULTILINE)
_OF_OURS = re.compile(r"^from planbound[^(\n]*(?:\([^)]*\))?\n", re.MULTILINE)
_LAST = """
main = {hook}.main_judge()
if main is not None:
    {hook}.run_main(main)
"""


class MutatedRun(NamedTuple):
    """What is laid for a run in which the expected values are changed."""

    added: Canary
    notes: tuple[str, ...]
    """Where the processes write down what they saw, seen from the workspace root."""


class MutatedTests(NamedTuple):
    """What became of the tests whose expected values were changed."""

    sensitive: tuple[str, ...] = ()
    """They failed."""
    blind: tuple[str, ...] = ()
    """They passed all the same."""
    silent: tuple[str, ...] = ()
    """They reach no equality whose value could be changed: nothing is known of them."""
    answered: tuple[str, ...] = ()
    """What they were answered with follows their own text."""
    comparisons: int = 0
    """How many of all are comparisons of a shell."""
    is_cut_off: bool = False
    """Whether a run with other values ran out of time: of some tests nothing is known."""
    unfinished: tuple[str, ...] = ()
    """They began, and the process was over before they were: nothing is known of them."""
    uncompared: tuple[str, ...] = ()
    """They failed before they came to the equality that surely stands in them."""
    is_empty: bool = False
    """Whether no test and no program was seen, although some have values to be changed."""
    is_full: bool = False
    """Whether there were more processes than are written down."""
    unreached: tuple[str, ...] = ()
    """They passed although they were made to fail: another body ran, or the failure got lost."""

    @property
    def total(self) -> int:
        """Return how many tests there were."""
        return len(self.sensitive) + len(self.blind) + len(self.silent)

    @property
    def kind(self) -> str:
        """Return what they are called."""
        if not self.comparisons:
            return "test"
        return "comparison" if self.comparisons == self.total else "check"


def mutated_run(
    project: JudgedTree,
    judges: Iterable[str],
    text: Callable[[str], str],
    reach: Reach = BY_PATH,
    retold: Mapping[str, object] = _NOTHING,
    tests: Mapping[str, Sequence[int]] = _NO_TESTS,
) -> MutatedRun:
    """Return what changes the values that these judges expect.

    `text` gives the source of a module in `judging/inside`. With `retold`, by judge what was
    changed in its text, nothing else is changed. `tests` are the lines of those that have to fail
    once, by judge.
    """
    hook, plugin = project.called("hook"), project.called("plugin")
    folder = f".{project.called('folder')}"
    first, *others = map(text, _PIECES)
    body = "\n".join([_OF_OURS.sub("", first), *(_IMPORT.sub("", each) for each in others)])
    loading = text("plugin").replace("planbound.judging.inside.loading", hook)
    files: list[tuple[str, bytes]] = []
    for place in dict.fromkeys((folder, *reach.places)):
        settings = {
            "DEPTH": place.count("/") + 1 if place else 0,
            "PLACE": folder,
            "JUDGES": sorted(judges),
            "MOST": _MOST_PROCESSES,
            "HOOK": hook,
            "PLUGIN": plugin,
            "RETOLD": dict(retold),
            "TESTS": {path: list(lines) for path, lines in tests.items()},
        }
        head = "".join(f"{name} = {value!r}\n" for name, value in settings.items())
        files.append((joined(place, f"{hook}.py"), (head + body).encode()))
        files.append((joined(place, f"{plugin}.py"), loading.encode()))
        start = FIRST.format(hook=hook, plugin=plugin) + _LAST.format(hook=hook)
        files.append((joined(place, "sitecustomize.py"), start.encode()))
    found = reach.added(hook, folder)
    notes = tuple(f"{folder}/{number}" for number in range(_MOST_PROCESSES))
    return MutatedRun(Canary((*files, *found.files), (), found.environment), notes)


def mutated_node_run(
    project: JudgedTree,
    judges: Iterable[str],
    hook: str,
    told: Mapping[str, Sequence[str]] | None = None,
) -> MutatedRun:
    """Return what changes the values that these judges in JavaScript expect.

    With `told`, by judge the literals that stand in its changed text, nothing else is changed.
    """
    folder = f".{project.called('node folder')}"
    place = f"{folder}/{project.called('node hook')}.cjs"
    settings = {
        "JUDGES": sorted(judges),
        "MOST": _MOST_OF_NODE,
        "MARK": project.called("node mark").upper(),
        "TOLD": told,
    }
    content = hook.replace("= SETTINGS;", f"= {json.dumps(settings)};").encode()
    variable = Variable("NODE_OPTIONS", f'--require "{{workspace}}/{place}"', " ")
    notes = tuple(f"{folder}/{number}" for number in range(_MOST_OF_NODE))
    return MutatedRun(Canary(((place, content),), (), (variable,)), notes)


def read_mutated(
    collected: Mapping[str, bytes],
    notes: Sequence[str],
    *,
    passes: bool,
    not_reached: Callable[[Sequence[str], Collection[str]], Sequence[str]] = lambda *_names: (),
) -> MutatedTests:
    """Return what the processes wrote down; `passes`: the contract did.

    `not_reached` says which tests have to fail, of those that passed and came to no changed
    equality, with those that came to any. A program has no name.
    """
    found = _NotesRead()
    for path in notes:
        for word, value in _lines(collected.get(path, b"")):
            found.take(word, value)
    sensitive, blind, silent = [], [], []
    for name, end in list(found.ends.items())[:_MOST_TESTS]:
        changed, held = found.seen.get(name, (0, 0))
        if name in found.lied or (name in found.partly and end != "skipped"):
            blind.append(name)
        elif end == "failed" and changed:
            sensitive.append(name)
        elif end == "passed" and held:
            blind.append(name)
        else:
            silent.append(name)
    held = found.seen.get("", (0, 0))[1]
    if not found.ends and ("" in found.lied or (passes and held)):
        blind.append("the program")
    passed = [
        each
        for each in silent
        if found.ends[each] == "passed"
        and found.seen.get(each, (0, 0))[0] <= found.forked.get(each, 0)
    ]
    blind += (f"what asserts by `{name}`" for name in found.patched)
    if passes and found.is_program_without_any:
        passed.append("")
    unreached = () if _is_full(collected, notes) else not_reached(passed, found.reached)
    unreached = tuple(dict.fromkeys((*found.stopped, *unreached)))
    return MutatedTests(
        tuple(sensitive),
        tuple(blind),
        tuple(silent),
        unfinished=tuple(name or "the program" for name in found.unfinished()),
        uncompared=tuple(
            each for each in silent if found.ends[each] == "failed" and each not in found.reached
        ),
        is_full=_is_full(collected, notes),
        unreached=tuple(name or "the program" for name in unreached),
    )


class _NotesRead:
    """What the processes wrote down; the name of a program is empty."""

    def __init__(self) -> None:
        self.ends: dict[str, str] = {}
        self.seen: dict[str, tuple[int, int]] = {}
        self.reached: set[str] = set()
        self.lied: set[str] = set()
        self.began: dict[str, None] = {}
        self.programs: list[int] = []
        self.stopped: dict[str, None] = {}
        self.partly: set[str] = set()
        self.patched: dict[str, None] = {}
        """Assertions of libraries that do not assert any more."""
        self.forked: dict[str, int] = {}

    def take(self, word: str, value: object) -> None:
        match word, value:
            case "ends", dict():
                self.ends |= {str(name): str(end) for name, end in value.items()}
            case "seen", [
                str() as name,
                int() as kept,
                int() as changed,
                int() as held,
                int() as lost,
            ]:
                before = self.seen.get(name, (0, 0))
                self.seen[name] = (before[0] + changed, before[1] + held + lost)
                if kept or changed or held or lost:
                    self.reached.add(name)
            case "lied", str():
                self.lied.add(value)
            case "partly", str():
                self.partly.add(value)
            case "patched", str():
                self.patched.setdefault(value)
            case "forked", [str() as name, int() as count]:
                self.forked[name] = self.forked.get(name, 0) + count
            case "stopped", str():
                self.stopped.setdefault(value)
            case "began", str():
                self.began.setdefault(value)
            case "main", [str(), int() as status]:
                self.programs.append(status)
            case _:
                pass

    @property
    def is_program_without_any(self) -> bool:
        """Whether a program ended well that ran no tests and came to no equality."""
        is_well = bool(self.programs) and not any(self.programs)
        return is_well and not self.ends and not self.reached

    def unfinished(self) -> Iterable[str]:
        """Yield what began and did not come to its end."""
        for name in self.began:
            if not (name in self.ends if name else self.programs):
                yield name


def _is_full(collected: Mapping[str, bytes], notes: Sequence[str]) -> bool:
    """Say whether all places are taken: then some process may have found none."""
    folders = {path.rpartition("/")[0] for path in notes}
    return any(
        all(path in collected for path in notes if path.startswith(f"{folder}/"))
        for folder in folders
    )


def saw_nothing(collected: Mapping[str, bytes], notes: Sequence[str]) -> bool:
    """Say whether no process wrote down that it ran a test, or a program that judges."""
    known = {"began", "ends", "main", "seen"}
    return not any(word in known for path in notes for word, _ in _lines(collected.get(path, b"")))


def has_begun(collected: Mapping[str, bytes], notes: Sequence[str]) -> bool:
    """Say whether any test was begun, or a program of the judges that came to compare.

    A program that failed without may be one that looks at the text of the tests before they run.
    """
    said = [each for path in notes for each in _lines(collected.get(path, b""))]
    begun = [value for word, value in said if word == "began"]
    if any(begun):
        return True
    ends = [value for word, value in said if word == "main" and isinstance(value, list)]
    seen = [value for word, value in said if word == "seen" and isinstance(value, list)]
    has_compared = any(any(counts) for _, *counts in seen)
    return bool(begun) and (has_compared or not any(status for *_, status in ends))


def looked(collected: Mapping[str, bytes], notes: Sequence[str]) -> bool:
    """Say whether code under test looked at its judges."""
    return any(word == "looked" for path in notes for word, _ in _lines(collected.get(path, b"")))


def read_answered(collected: Mapping[str, bytes], notes: Sequence[str]) -> frozenset[str]:
    """Return the tests whose answers follow their text."""
    taken, ends = set[str](), dict[str, object]()
    for path in notes:
        for word, value in _lines(collected.get(path, b"")):
            match word, value:
                case "taken", str():
                    taken.add(value)
                case "ends", dict():
                    ends |= value
                case _:
                    pass
    found = (name for name in taken if ends.get(name) != "skipped")
    # What is expected may be part of a test's name, and that is changed, too.
    return frozenset(name.partition("[")[0] or "the program" for name in found)


def followed(collected: Mapping[str, bytes], notes: Sequence[str]) -> dict[str, str]:
    """Return by file of tests in JavaScript who runs them."""
    found = dict[str, str]()
    for path in notes:
        for word, value in _lines(collected.get(path, b"")):
            match word, value:
                case "follows", [str() as file, str() as who]:
                    found[file] = who
                case _:
                    pass
    return found


def read_taken(
    collected: Mapping[str, bytes], notes: Sequence[str]
) -> tuple[frozenset[str], frozenset[str]]:
    """Return the tests in which an equality held with a changed text, and those that passed."""
    taken, ends = set[str](), dict[str, set[object]]()
    for path in notes:
        for word, value in _lines(collected.get(path, b"")):
            match word, value:
                case "taken", str():
                    taken.add(value)
                case "ends", dict():
                    for name, end in value.items():
                        ends.setdefault(str(name), set()).add(end)
                case _:
                    pass
    # A test of one name is told again where another one of that name ended worse.
    passed = frozenset(name for name, each in ends.items() if each == {"passed"})
    return frozenset(taken), passed


def _lines(data: bytes) -> Iterable[tuple[str, object]]:
    for line in data.decode("utf-8", "replace").splitlines():
        try:
            word, value = json.loads(line)
        except (ValueError, TypeError):
            continue
        if isinstance(word, str):
            yield word, value
