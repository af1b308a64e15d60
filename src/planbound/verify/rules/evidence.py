"""Faults of contracts that run and show too little: PB607 to PB610, PB615, and from PB641 on."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.check import read_table
from planbound.plan.contract import expectation_text
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import (
    CaseTable,
    Command,
    Condition,
    Evidence,
    ExitCodeIs,
    Judged,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    Step,
)
from planbound.script.known_programs import (
    better_call,
    grep_files,
    grep_patterns,
    is_grep,
)
from planbound.script.runners import (
    BY_NAME,
    BY_PROGRAM,
    is_followed,
    is_named,
    may_run_tests,
    naming_runners,
    runner_of,
)
from planbound.script.runners.pytest import is_isolated
from planbound.script.status import ALWAYS_SUCCEED, Reason, Unfailing, deciding_calls, why_unfailing
from planbound.script.tree import Call, FileReference, FileUse, Script, words
from planbound.script.understood import (
    Place,
    Surrounding,
    inline_programs,
    unknown_call,
    why_unknown,
)
from planbound.source import Finding, Located, Severity, lazy_pattern, visible
from planbound.verify.facts import PathKind
from planbound.verify.provided import FileMakers
from planbound.verify.subject import (
    ContractCase,
    Subject,
    demands_failure,
    demands_nothing,
    demands_output,
    rule,
    shell_contracts,
    shortened,
)
from planbound.verify.task_scope import task_scope

_SO = "so the contract cannot fail"
_CURE = "write a command that fails as long as the work is not done"
_WHY_IT_CANNOT_FAIL = {
    Reason.EMPTY: ("there is no command, {so}", _CURE),
    Reason.NOTHING: (
        "`{shown}` at the end always succeeds, {so}",
        "drop it: the command before it decides",
    ),
    Reason.FALLBACK: (
        "`|| {shown}` hides every failure, {so}",
        "drop it: a contract is meant to fail",
    ),
    Reason.PIPE: (
        "the pipe ends in `{shown}`, which always succeeds, {so}",
        "write `set -o pipefail` in the first line, or drop the pipe",
    ),
    Reason.BRANCHES: (
        "no branch at the end fails, {so}",
        "use the condition itself as the command, or `exit 1` in a branch",
    ),
    Reason.BACKGROUND: (
        "`{shown} &` is in the background and not waited for, {so}",
        "drop the `&`, or let a command follow that checks what it does",
    ),
    Reason.CONSTANT: ("`{shown}` compares constants, {so}", _CURE),
    Reason.PRINTS: ("`{shown}` always succeeds, {so}", _CURE),
}


@rule("PB607", Severity.ERROR)
def cannot_fail(subject: Subject) -> Iterable[Finding]:
    """A contract passes whatever the agent does.

    ## What it does
    Reports commands that cannot end with a code other than 0: `true`, `... || true`,
    `... || echo failed`, a pipe into `tee` or `tail` without `pipefail`, an `if` whose branches only
    print, a job in the background, nothing but `echo`, a comparison of constants. Where an expectation
    looks at the output, or demands another code, the command is fine. Expectations that always hold
    (`stdout contains ""`, `tests >= 0`) are reported too.

    ## Why it matters
    A contract that cannot fail proves nothing, but looks as if it did.

    ## Example
    ```shell
    pytest -q | tee report.txt
    ```

    ## Instead
    ```shell
    set -o pipefail
    pytest -q | tee report.txt
    ```
    """
    for case in shell_contracts(subject):
        unfailing = why_it_cannot_fail(case)
        if unfailing is not None:
            yield _finding(case, unfailing)
    for case in subject.contracts:
        for item in case.command.expectations:
            if demands_nothing(item.value):
                written = subject.plan.source.slice(item.span)
                message = f"`{shortened(written)}` always holds"
                yield Finding(item.span, message, "say what must be there, or drop it")


def why_it_cannot_fail(case: ContractCase) -> Unfailing | None:
    """Return why a contract cannot fail; None where it can."""
    unfailing = why_unfailing(case.script)
    if unfailing is None:
        return None
    if demands_output(case.command) or demands_failure(case.command):
        # The output decides; but nothing comes out of nothing.
        nothing = unfailing.reason is Reason.NOTHING and len(case.script.calls) == 1
        return unfailing if nothing or unfailing.reason is Reason.EMPTY else None
    return unfailing


def _finding(case: ContractCase, unfailing: Unfailing) -> Finding:
    message, hint = _WHY_IT_CANNOT_FAIL[unfailing.reason]
    if unfailing.reason is Reason.NOTHING and len(case.script.calls) == 1:
        message, hint = _WHY_IT_CANNOT_FAIL[Reason.PRINTS]
    shown = shortened(case.script.text[unfailing.start : unfailing.end])
    place = case.command.locate(unfailing.start, unfailing.end)
    return Finding(place, message.format(shown=shown, so=_SO), hint)


_PREPARES = ALWAYS_SUCCEED | words("cd mkdir touch rm cp mv chmod source . pushd popd")


@rule("PB608", Severity.WARNING)
def exit_code_says_nothing(subject: Subject) -> Iterable[Finding]:
    """The exit code of the deciding command does not say what the contract is about.

    ## What it does
    Reports a contract that is decided by a command whose exit code is the same for good and bad:
    `grep -c`, `grep` for what is in every line (`grep -q ""`), `wc`, `find`, `git status`, `git diff`
    without `--exit-code`, `jq` without `-e`, `curl` without `--fail`, lists such as `docker ps` and
    `pip list`. Silent where an expectation looks at the output.

    ## Why it matters
    The contract passes as soon as the command runs. `git diff` succeeds with and without changes,
    `curl` succeeds when the server answers 500.

    ## Example
    ```shell
    curl -s http://localhost:8000/health
    ```

    ## Instead
    ```shell
    curl -sf http://localhost:8000/health
    ```
    """
    for case in shell_contracts(subject):
        if not case.script.broken and any(map(better_call, case.script.calls)):
            yield from _examine(case)


def _examine(case: ContractCase) -> Iterable[Finding]:
    if demands_output(case.command) or demands_failure(case.command) or why_it_cannot_fail(case):
        return
    calls = deciding_calls(case.script)
    silent = next((call for call in reversed(calls) if better_call(call)), None)
    if silent is None or not (hint := better_call(silent)):
        return
    others = (call for call in calls if call.word and not better_call(call))
    # Where another command decides this one only prints; but who ends with `curl` means it.
    if any(call.program not in _PREPARES for call in others) and not _is_last_curl(calls):
        return
    shown = shortened(case.script.text[silent.start : silent.end])
    message = f"the exit code of `{shown}` does not say what it found"
    yield Finding(case.command.locate(silent.start, silent.end), message, hint)


def _is_last_curl(calls: list[Call]) -> bool:
    return calls[-1].program == "curl" and better_call(calls[-1]) is not None


_JUDGE_USES = frozenset({FileUse.EXECUTED, FileUse.TESTED, FileUse.CONFIGURED})
_SPECIAL = frozenset("*?[{")
_HINT = "let another step write it, and take it out of this step's `touches`"


@rule("PB609", Severity.WARNING, strict=Severity.ERROR)
def edits_own_judge(subject: Subject) -> Iterable[Finding]:
    """A step may change what it is judged by.

    ## What it does
    Reports a step whose `touches` hold a test, a script or a configuration that its own contract runs,
    or a file that it names under `judges`. Files that the contract only reads are the work itself and
    fine.

    ## Why it matters
    An agent that may edit the test can make it pass without doing the work.

    ## Example
    ````markdown
    **touches:** src/billing/**, tests/**

    **contract:**
    ```shell
    pytest tests/billing
    ```
    ````

    ## Instead
    ````markdown
    **touches:** src/billing/**

    **contract:**
    ```shell
    pytest tests/billing
    ```
    ````
    """
    for case in shell_contracts(subject):
        if isinstance(case.owner, Step):
            judges = [each for each in case.script.files if each.use in _JUDGE_USES]
            if judges and (touches := subject.touches(case.owner)):
                yield from _references(subject, case, judges, touches)
    for step in subject.plan.steps:
        if step.judges:
            yield from _declared(step, subject.touches(step))


def _references(
    subject: Subject, case: ContractCase, judges: list[FileReference], touches: list[Glob]
) -> Iterator[Finding]:
    seen: set[str] = set()
    for reference in judges:
        if reference.path in seen:
            continue
        seen.add(reference.path)
        pattern = touching(subject, reference, touches)
        if pattern is not None:
            message = (
                f"the step is judged by `{visible(reference.path)}`, "
                f"but may change it: `{pattern.text}` is in its `touches`"
            )
            yield Finding(case.command.locate(reference.start, reference.end), message, _HINT)


def touching(subject: Subject, reference: FileReference, touches: list[Glob]) -> Glob | None:
    """Return the pattern that lets the step change a judge, or something below it."""
    path = reference.path
    touches = [pattern for pattern in touches if not _are_apart(pattern.text, path)]
    if not touches:
        return None
    for pattern in touches:
        if pattern.matches(path):
            return pattern
    kind = subject.facts.paths.get(path)
    is_file = "." in path.rsplit("/", 1)[-1] and kind is not PathKind.DIRECTORY
    if is_file or kind is PathKind.FILE or reference.use is FileUse.CONFIGURED:
        return None
    try:
        below = parse_glob(f"{path}/**")
    except GlobError:
        return None
    return next((pattern for pattern in touches if pattern.intersects(below)), None)


def _are_apart(pattern: str, path: str) -> bool:
    """Say whether a pattern and a path start with different names; cheap, and mostly so."""
    first = pattern.partition("/")[0]
    return first != path.partition("/")[0] and first != "." and not _SPECIAL & {*first}


def _declared(step: Step, touches: list[Glob]) -> Iterator[Finding]:
    """Yield what a step names under `judges` and may change all the same."""
    for judge in step.judges:
        try:
            named = parse_glob(judge.value)
        except GlobError:
            continue
        pattern = next((each for each in touches if each.intersects(named)), None)
        if pattern is not None:
            message = (
                f"`{judge.value}` is a judge of the step, "
                f"but may be changed by it: `{pattern.text}` is in its `touches`"
            )
            yield Finding(judge.span, message, _HINT)


@rule("PB610", Severity.WARNING)
def unproduced_file(subject: Subject) -> Iterable[Finding]:
    """A contract needs a file that no step makes.

    ## What it does
    Reports a file that a contract reads, runs or looks for, that does not exist, and that nobody is
    told to make: it is in no `touches` of this step or one before, no task mentions it, no contract
    writes it, and it is not an expected artifact.

    ## Why it matters
    The path is misspelled, or the plan forgot to say who makes the file. Either way the contract
    fails, and the agent has to guess why.

    ## Example
    ````markdown
    **touches:** src/billing/**
    **task:** Round once, at the end.

    **contract:**
    ```shell
    pytest tests/biling
    ```
    ````

    ## Instead
    ````markdown
    **contract:**
    ```shell
    pytest tests/billing
    ```
    ````
    """
    paths = subject.facts.paths
    makers: FileMakers | None = None
    for case in shell_contracts(subject):
        seen: set[str] = set()
        for reference in case.script.files:
            path = reference.path
            if paths.get(path) is not PathKind.MISSING or not _is_needed(reference):
                continue
            makers = makers or FileMakers(subject)
            if path in seen or makers.first(path) <= makers.place(case.owner, case.place):
                continue
            seen.add(path)
            message = f"there is no `{visible(path)}`, and nothing before this contract makes it"
            hint = "correct the path, or let a step have it in its `touches`"
            yield Finding(case.command.locate(reference.start, reference.end), message, hint)


def _is_needed(reference: FileReference) -> bool:
    return reference.use is not FileUse.WRITTEN and not reference.optional


@rule("PB615", Severity.WARNING)
def no_effect_expectation(subject: Subject) -> Iterable[Finding]:
    """An expectation cannot do what it is for.

    ## What it does
    Reports `tests >= N`, `failed <= N` and `no new failures` after a command that runs no tests, the
    last two also after a runner that does not name its tests or is not the last command, and exit
    codes that contradict each other.

    ## Why it matters
    Where nothing runs tests, no test is counted, and the contract can never pass. The same holds where
    tests are to be compared by their names and no report has these, and where two different exit codes
    are demanded. What follows a runner is not run when tests fail.

    ## Example
    ````markdown
    ```shell
    ruff check src
    ```
    tests >= 1
    ````

    ## Instead
    ````markdown
    ```shell
    pytest tests/billing
    ```
    tests >= 1
    ````
    """
    for case in shell_contracts(subject):
        if not case.command.expectations:
            continue
        script = case.script
        if not script.broken and not any(
            may_run_tests(call) for call in script.calls if call.name not in script.functions
        ):
            yield from _uncounted(case.command)
        else:
            yield from _unnamed(case.command, script)
        yield from _contradictions(case.command)


def _unnamed(command: Command, script: Script) -> Iterator[Finding]:
    """Yield what asks for the names of tests that the runner does not tell."""
    runners = [call for call in script.calls if runner_of(call) is not None]
    silent = [call.program for call in runners if BY_PROGRAM[call.program].silent]
    followed = any(is_followed(script.text, call) for call in runners if not call.nested)
    for item in command.expectations:
        if not isinstance(item.value, MaximumFailures | NoNewFailures):
            continue
        shown = expectation_text(item.value)
        if silent:
            message = f"`{shown}` goes by the names of tests, which `{silent[0]}` does not report"
            yield Finding(item.span, message, f"tests are named by {naming_runners()}")
        elif len(runners) > 1 or followed:
            message = f"`{shown}` goes by one report, but more follows the tests"
            yield Finding(item.span, message, "call the test runner once, as the last command")


def _uncounted(command: Command) -> Iterator[Finding]:
    for item in command.expectations:
        if (isinstance(item.value, MinimumTests) and item.value.minimum) or isinstance(
            item.value, MaximumFailures | NoNewFailures
        ):
            message = f"`{expectation_text(item.value)}` counts tests, but the command runs none"
            hint = "call a test runner such as `pytest`, or drop the expectation"
            yield Finding(item.span, message, hint)


def _contradictions(command: Command) -> Iterator[Finding]:
    first: int | None = None
    for item in command.expectations:
        if not isinstance(item.value, ExitCodeIs):
            continue
        if first is None:
            first = item.value.code
        elif item.value.code != first:
            message = f"`exit_code == {item.value.code}` contradicts `exit_code == {first}`"
            yield Finding(item.span, message, "keep one of the two")


_BESIDE = words("test [ [[ cd set echo printf true cat wc head tail sort uniq ls find stat : exit")
_SPACES = lazy_pattern(r"(?:\\s|\[\[:space:\]\]|\[ \\t\]| )(?:\\?[+*]|\\?\{\d*,?\d*\\?\})?")
_DEFINITION = lazy_pattern(
    r"(?:^|[\s^(|>])(?:async )?(?:def|class|function|func|fn|fun|struct|interface|trait|enum|impl"
    r"|sub|module|defmodule|defp) +\(?[\w.\[\\$]"
)
_CODE = tuple(
    ".py .pyi .js .mjs .cjs .jsx .ts .tsx .go .rs .rb .java .kt .kts .swift .c .h .cc .cpp .hpp .cs"
    " .php .scala .ex .exs .lua .pl .pm .dart .vue .svelte".split()
)
_NO_CODE = tuple(".md .txt .rst .html .htm .css .json .toml .yaml .yml .xml .csv .ini".split())
_CALL_IT = "run what is defined: a test, or a call whose result is compared"


@rule("PB641", Severity.WARNING)
def only_a_definition(subject: Subject) -> Iterable[Finding]:
    """A contract only checks whether something is defined.

    ## What it does
    Reports a contract that does nothing but look for a definition in source code: `grep -q 'def total'
    src/invoice.py`, `grep -rn "class Parser" src`, with or without `test -f`. Silent where another
    command runs something, where a definition must *not* be there, and for files that are no code.

    ## Why it matters
    A function of the right name that does nothing passes, and so does a comment that names it. The
    step would be proved although nobody called what it made.

    ## Example
    ```shell
    grep -q 'def total' src/invoice.py
    ```

    ## Instead
    ```shell
    python3 -c 'from invoice import total; assert total([1, 2]) == 3'
    ```
    """
    for case in shell_contracts(subject):
        if not case.script.broken and (found := _definition(case)) is not None:
            shown = shortened(case.script.text[found.start : found.end])
            message = f"`{shown}` is all that is checked: whether it is defined, not what it does"
            yield Finding(case.command.locate(found.start, found.end), message, _CALL_IT)


def _definition(case: ContractCase) -> Call | None:
    """Return the first call that looks for a definition, where nothing else is done."""
    found = None
    for call in case.script.calls:
        if is_grep(call):
            if call.negated or call.has("-v", "-L", "--invert-match", "--files-without-match"):
                return None
            found = found or (call if _looks_for_definition(call) else None)
            if not _looks_for_definition(call):
                return None
        elif call.program not in _BESIDE:
            return None
    return found


def _looks_for_definition(call: Call) -> bool:
    if not any(
        _DEFINITION.search(_SPACES.sub(" ", word.value or "")) for word in grep_patterns(call)
    ):
        return False
    names = [word.value or "" for word in grep_files(call)]
    if any(name.endswith(_NO_CODE) for name in names):
        return False
    # A folder is searched for what is in it; what comes through a pipe may be anything.
    return any(name.endswith(_CODE) for name in names) or (bool(names) and not call.fed)


_NAME_TOUCHES = "declare `touches`, or let another step write the test"


@rule("PB642", Severity.WARNING, strict=Severity.ERROR)
def told_to_edit_judge(subject: Subject) -> Iterable[Finding]:
    """A task tells its step to change what judges it.

    ## What it does
    Reports a step without `touches` whose task orders a change of a test that its own contract runs.
    With such an order the agent may change the test. The gate shows this warning first, the approval
    records that it was seen, and no policy approves the plan.

    ## Why it matters
    An agent that may edit the test can make it pass without doing the work. Planbound reads the words
    of a task by rules, and can misread them; `touches` say the same without a doubt.

    ## Example
    ````markdown
    **task:** Update `tests/test_total.py` and `src/total.py` for the new currency.

    **contract:**
    ```shell
    pytest tests/test_total.py
    ```
    ````

    ## Instead
    ````markdown
    **touches:** src/total.py

    **task:** Let `src/total.py` know the new currency.

    **contract:**
    ```shell
    pytest tests/test_total.py
    ```
    ````
    """
    for case in shell_contracts(subject):
        if not isinstance(case.owner, Step) or subject.touches(case.owner):
            continue
        judges = {
            each.path: each
            for each in case.script.files
            if each.use is FileUse.TESTED
            and subject.facts.paths.get(each.path) is not PathKind.MISSING
        }
        named = list(task_scope(case.owner).named) if judges else []
        for path, reference in judges.items():
            if named and touching(subject, reference, named) is not None:
                message = (
                    f"the step is judged by `{visible(path)}`, and its task tells to change it"
                )
                yield Finding(
                    case.command.locate(reference.start, reference.end), message, _NAME_TOUCHES
                )


_LESS_EVIDENCE = "demand what it can reach, or write a contract that can reach more"
_TABLE = "write a `check` with `cases: NAME.cases.jsonl`, and name the file in `[judging] held_out`"
_NO_RUN = "`E5` is what a replay on another machine finds, and no run"
_Demanded = Located[Evidence]
_OTHERS = words("node deno bun tsx ts-node ruby perl php lua Rscript julia tox nox")
_TAKES_IN = frozenset({".", "source", "eval"})
_SETS_PATH = lazy_pattern(r"(?<!\w)PATH=")
_KEPT_APART = lazy_pattern(r"(?:^|\s)(?:env\s+-i|env\s+-|python[\d.]*\s+-[a-zA-Z]*[IE])(?:\s|$)")


@rule("PB650", Severity.WARNING)
def evidence_out_of_reach(subject: Subject) -> Iterable[Finding]:
    """A level of evidence is demanded that the contract cannot reach.

    ## What it does
    Reports `E5`, which no run can give to itself: it is what a replay on another machine finds.
    Reports `E4` where the contract is no [table of cases](../how-to/judge-in-another-process.md),
    because whatever a command runs can read its judges, also those that are held out; and where the
    table names no file that is held out. Reports `E3` where the contract runs a program that
    Planbound cannot watch: a script in another language than Python without a test runner, `tox`
    and `nox`, or a Python without pytest that is kept apart from its environment (`python -I`,
    `env -i`); where a Python reads its program from its input; and where a call is no program of
    which Planbound knows what it runs (`find -exec`, `bash -c "$CMD"`, a wrapper that it does not
    know).
    A level is demanded by `**evidence:**`, or by `[judging] evidence` for all contracts.

    ## Why it matters
    With less evidence than is demanded every pass is `vacuous`: the run would stop at this step and
    ask a person, whatever the agent does.

    ## Example
    ````markdown
    **evidence:** E3

    **contract:**
    ```shell
    node scripts/check.js
    ```
    ````

    ## Instead
    ````markdown
    **evidence:** E3

    **contract:**
    ```shell
    node --test
    ```
    ````
    """
    for case in shell_contracts(subject):
        demanded = _demanded(subject, case.owner, case.command)
        if demanded is not None and (why := _out_of_reach(demanded.value, case.script)):
            yield _beyond(demanded, why)
    plan = subject.plan
    owners: list[Step | Condition] = [*plan.preconditions, *plan.steps, *plan.postconditions]
    for owner in owners:
        if isinstance(owner.contract, CaseTable):
            demanded = _demanded(subject, owner, owner.contract)
            held_out = read_table(owner.contract.text).held_out is not None
            if demanded is not None and (why := _beyond_tables(demanded.value, held_out=held_out)):
                yield _beyond(demanded, why)


def _demanded(subject: Subject, owner: Step | Condition, contract: Judged) -> _Demanded | None:
    """Return the level that is demanded of a contract, and where it is said."""
    if owner.evidence is not None:
        return owner.evidence
    usual = subject.facts.evidence
    return None if usual is None else Located(usual, contract.span)


def _beyond(demanded: _Demanded, why: str) -> Finding:
    level = demanded.value
    hint = _TABLE if level is Evidence.E4 else _LESS_EVIDENCE
    return Finding(demanded.span, f"{level.value} is demanded and cannot be reached: {why}", hint)


def _beyond_tables(wanted: Evidence, *, held_out: bool) -> str:
    """Return why a table of cases cannot reach a level; empty where it may."""
    if wanted is Evidence.E5:
        return _NO_RUN
    without = wanted is Evidence.E4 and not held_out
    return "the table names no `cases` that are held out" if without else ""


def _out_of_reach(wanted: Evidence, script: Script) -> str:
    """Return why a command cannot reach a level; empty where it may."""
    if wanted is Evidence.E5:
        return _NO_RUN
    if wanted is Evidence.E4:
        return "the product's process can read the judges while it runs"
    if wanted.value < Evidence.E3.value or script.broken:
        return ""
    if apart := _kept_apart(script):
        return f"`{apart}` cannot be watched"
    return next(inline_programs(script.calls), "") or _unseen(script) or _unknown(script)


def _unseen(script: Script) -> str:
    if any(is_named(call) and runner_of(call) is not None for call in script.calls):
        return ""
    unseen = next((call.program for call in script.calls if call.program in _OTHERS), "")
    return f"nobody sees whether `{unseen}` comes to its own end" if unseen else ""


def _unknown(script: Script) -> str:
    """Return why it is not known what a call runs; empty: it is, as far as the text says it."""
    if _SETS_PATH.search(script.text):
        return ""  # a program of the project, perhaps
    takes_in = any(call.program in _TAKES_IN for call in script.calls)
    call = unknown_call([Place(script, takes_in=takes_in)], Surrounding((script,)))
    return why_unknown(call) if call else ""


def _kept_apart(script: Script) -> str:
    """Return what keeps a Python apart from its environment; pytest runs added tests all the same."""
    text = script.text
    for call in reversed(script.calls):
        start = call.word.start if call.word is not None else call.start
        if runner_of(call) is BY_NAME["pytest"] and is_isolated(text[call.start : start]):
            text = text[: call.start] + text[call.end :]
    found = _KEPT_APART.search(text)
    return found[0].strip() if found else ""


RULES = (
    cannot_fail,
    exit_code_says_nothing,
    edits_own_judge,
    unproduced_file,
    no_effect_expectation,
    only_a_definition,
    told_to_edit_judge,
    evidence_out_of_reach,
)
