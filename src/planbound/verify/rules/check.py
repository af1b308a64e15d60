"""Faults of tables of cases: PB215 to PB219."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from planbound.plan.check import (
    BAD_PREDICATE,
    HELD_OUT_SUFFIX,
    TOO_FEW,
    UNEXPECTED,
    UNREADABLE,
    CheckTable,
    TableFault,
    read_cases,
    read_table,
)
from planbound.plan.model import CaseTable, MinimumTests
from planbound.plan.vocabulary import NO_TABLE
from planbound.source import Finding, Severity
from planbound.verify.facts import HeldOutCases
from planbound.verify.subject import Subject, checks_of, rule


def _found(subject: Subject, name: str) -> Iterator[Finding]:
    """Yield what the reader of tables noticed of one kind, in the plan and in what is held out."""
    for check in checks_of(subject.plan):
        table = read_table(check.text)
        for fault in table.faults:
            if fault.rule == name:
                place = check.locate(fault.start, fault.end)
                yield Finding(place, fault.message, fault.hint)
        for line, fault in _held_out_faults(subject, table):
            if fault.rule == name:
                # Nothing of what a case holds: a plan's diagnostics are read by agents, too.
                where = f"line {line} of `{table.held_out}`"
                yield Finding(check.locate(*table.held_out_place), f"{where}: {_WHAT[name]}")


_WHAT = {
    UNREADABLE: "no case can be read there",
    UNEXPECTED: "the case expects nothing",
    BAD_PREDICATE: "a predicate of the case is unknown, or takes something else",
    TOO_FEW: "there is no case",
}


def _held_out(subject: Subject, table: CheckTable) -> HeldOutCases | None:
    return subject.facts.held_out.get(table.held_out) if table.held_out is not None else None


def _held_out_faults(subject: Subject, table: CheckTable) -> Iterator[tuple[int, TableFault]]:
    held_out = _held_out(subject, table)
    if held_out is None or held_out.text is None or table.kind is None:
        return
    for fault in read_cases(held_out.text, table.kind)[1]:
        yield held_out.text.count("\n", 0, fault.start) + 1, fault


@rule("PB215", Severity.ERROR)
def unreadable_table(subject: Subject) -> Iterable[Finding]:
    """A table of cases cannot be read.

    ## What it does
    Reports a line of a `check` that is neither `name: value` nor a JSON object, names that a table
    or a case does not have, values of another kind than a name takes, JSON in which a name is there
    twice, a table that does not say what is started, and a `check` without a table. What is held out is read, too; of that only
    the line is told.

    ## Why it matters
    What the harness does not understand it cannot compare: the contract would be `unrunnable`.

    ## Example
    ````markdown
    ```check
    comand: python3 -m slug
    {"argv": ["Hello"], "stdout": "hello"}
    ```
    ````

    ## Instead
    ````markdown
    ```check
    command: python3 -m slug
    {"argv": ["Hello"], "stdout": "hello"}
    ```
    ````
    """
    yield from subject.faults.get(NO_TABLE, ())
    yield from _found(subject, UNREADABLE)


@rule("PB216", Severity.ERROR)
def case_without_expectation(subject: Subject) -> Iterable[Finding]:
    """A case says what the product is given, and not what it has to answer.

    ## What it does
    Reports each case that expects nothing: no output, no status, no value, no error.

    ## Why it matters
    Whatever the product answers, such a case passes.

    ## Example
    ````markdown
    ```check
    command: python3 -m slug
    {"argv": ["Hello"]}
    ```
    ````

    ## Instead
    ````markdown
    ```check
    command: python3 -m slug
    {"argv": ["Hello"], "stdout": "hello"}
    ```
    ````
    """
    yield from _found(subject, UNEXPECTED)


@rule("PB217", Severity.ERROR)
def unknown_predicate(subject: Subject) -> Iterable[Finding]:
    """A case expects something by a predicate that there is not.

    ## What it does
    Reports predicates that are unknown, that are given something else than they take, or that stand
    beside names of data. A predicate is an object whose names begin with `$`.

    ## Why it matters
    A misspelt predicate would be data that no product ever answers, or would hold for everything.

    ## Example
    ````markdown
    ```check
    function: shop:total
    {"args": [[1, 2]], "returns": {"$beetween": [2, 4]}}
    ```
    ````

    ## Instead
    ````markdown
    ```check
    function: shop:total
    {"args": [[1, 2]], "returns": {"$between": [2, 4]}}
    ```
    ````
    """
    yield from _found(subject, BAD_PREDICATE)


@rule("PB218", Severity.ERROR)
def table_without_cases(subject: Subject) -> Iterable[Finding]:
    """A table has no case, or fewer than it expects.

    ## What it does
    Reports a table without a case, and `tests >= N` behind a table with fewer cases, those that are
    held out counted.

    ## Why it matters
    Without a case nothing is compared; and with fewer than are expected it can never pass.

    ## Example
    ````markdown
    ```check
    command: python3 -m slug
    {"argv": ["Hello"], "stdout": "hello"}
    ```
    tests >= 3
    ````

    ## Instead
    ````markdown
    ```check
    command: python3 -m slug
    {"argv": ["Hello"], "stdout": "hello"}
    {"argv": ["A  B"], "stdout": "a-b"}
    {"argv": [], "exit_code": 2}
    ```
    tests >= 3
    ````
    """
    yield from _found(subject, TOO_FEW)
    for check in checks_of(subject.plan):
        yield from _uncounted(subject, check)


def _uncounted(subject: Subject, check: CaseTable) -> Iterator[Finding]:
    table = read_table(check.text)
    held_out = _held_out(subject, table)
    count = len(table.cases)
    if table.held_out is not None:
        if held_out is None or held_out.text is None or table.kind is None:
            return  # another rule's matter
        more = len(read_cases(held_out.text, table.kind)[0])
        if not more:
            place = check.locate(*table.held_out_place)
            yield Finding(place, f"`{table.held_out}` has no case", "write one in each line")
        count += more
    for item in check.expectations:
        if isinstance(item.value, MinimumTests) and item.value.minimum > count:
            message = f"`tests >= {item.value.minimum}` is expected, and the table has {count}"
            yield Finding(item.span, message, "write more cases, or expect fewer")


@rule("PB219", Severity.ERROR)
def cases_not_held_out(subject: Subject) -> Iterable[Finding]:
    """A table names a file of cases that is not held out.

    ## What it does
    Reports `cases: NAME` where no file of this name is in `[judging] held_out` of `planbound.toml`,
    where it lies in the workspace, cannot be read, or is not called `*.cases.jsonl`; and where the
    git repository of the workspace has it: a folder beside the workspace in the same repository is
    read by `git show`. Such a file is read by the harness only: no agent and no contract sees it.

    ## Why it matters
    Cases that an agent can read are no evidence against a product that knows the answers by heart.

    ## Example
    ````markdown
    ```check
    command: python3 -m slug
    cases: tests/slug.cases.jsonl
    ```
    ````

    ## Instead
    ````markdown
    ```check
    command: python3 -m slug
    cases: slug.cases.jsonl
    ```
    ````

    ```toml
    [judging]
    held_out = ["../judges/slug.cases.jsonl"]
    ```
    """
    for check in checks_of(subject.plan):
        table = read_table(check.text)
        held_out = _held_out(subject, table)
        if held_out is not None and held_out.text is None:
            name = (table.held_out or "").rpartition("/")[2]
            name = name if name.endswith(HELD_OUT_SUFFIX) else f"NAME{HELD_OUT_SUFFIX}"
            hint = f'keep it outside, and say `held_out = ["../judges/{name}"]` in `[judging]`'
            place = check.locate(*table.held_out_place)
            yield Finding(place, held_out.problem, held_out.hint or hint)


RULES = (
    unreadable_table,
    case_without_expectation,
    unknown_predicate,
    table_without_cases,
    cases_not_held_out,
)
