"""What the rules look at: a plan, the facts, and what is worked out once for all rules."""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property, lru_cache

from msgspec import Struct
from msgspec.structs import replace

from planbound.plan.check import CheckKind, read_table
from planbound.plan.contract import lacks_table
from planbound.plan.glob import Glob, GlobError, parse_glob
from planbound.plan.model import (
    CaseTable,
    Command,
    Condition,
    Contains,
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OutputIs,
    Plan,
    Rejected,
    Step,
    Wrapping,
)
from planbound.plan.slug import SlugError, parse_slug
from planbound.plan.vocabulary import (
    SHELL_SYNONYMS,
    SHELL_TAGS,
    STEP_FIELDS,
    placeholder_in,
    suggest_field,
)
from planbound.script import Script, read_script
from planbound.script.call import Prefix, find_prefixes, without_prefixes
from planbound.script.tree import words
from planbound.source import Finding, Located, Severity, Span, lazy_pattern, visible
from planbound.verify.facts import Facts

# -- which step depends on which -----------------------------------------------------------------


MAX_CYCLES = 50
"""More are not worth telling, and finding them all takes for ever."""


class StepGraph:
    """Dependencies as indices of steps; unknown ones and the step itself are left out."""

    def __init__(self, edges: tuple[tuple[int, ...], ...]) -> None:
        self.edges = edges

    @classmethod
    def of(cls, plan: Plan) -> StepGraph:
        """Return the graph of a plan."""
        index = {step.label: place for place, step in reversed(list(enumerate(plan.steps)))}
        edges: list[tuple[int, ...]] = []
        for place, step in enumerate(plan.steps):
            if step.depends is None:
                edges.append((place - 1,) if place else ())
            else:
                found = (index.get(item.value, place) for item in step.depends)
                known = tuple(dict.fromkeys(other for other in found if other != place))
                # A step whose dependencies are all unknown is not free of them: it waits.
                edges.append(known or ((place - 1,) if step.depends and place else ()))
        return cls(tuple(edges))

    @cached_property
    def cycles(self) -> list[list[int]]:
        """One path for each knot of steps that wait for each other: `[1, 3, 1]`."""
        # Depth first without recursion: a chain may be thousands of steps long.
        found: list[list[int]] = []
        state = [0] * len(self.edges)  # 0 not seen, 1 on the path, 2 done
        for root in range(len(self.edges)):
            if state[root]:
                continue
            path, pending = [root], [iter(self.edges[root])]
            state[root] = 1
            while pending:
                following = next(pending[-1], None)
                if following is None:
                    state[path.pop()] = 2
                    pending.pop()
                elif state[following] == 1 and len(found) < MAX_CYCLES:
                    found.append([*path[path.index(following) :], following])
                elif state[following] == 0:
                    state[following] = 1
                    path.append(following)
                    pending.append(iter(self.edges[following]))
        return found

    @cached_property
    def ancestors(self) -> list[int]:
        """For each step the set of steps before it, as bits; for a graph without cycles."""
        return _closure(self.edges)

    @cached_property
    def descendants(self) -> list[int]:
        """For each step the set of steps that wait for it, as bits."""
        turned: list[list[int]] = [[] for _ in self.edges]
        for step, edges in enumerate(self.edges):
            for edge in edges:
                turned[edge].append(step)
        return _closure(turned)

    @cached_property
    def parallel(self) -> list[bool]:
        """For each step whether some other step may run at the same time."""
        others = len(self.edges) - 1
        return [
            before.bit_count() + after.bit_count() < others
            for before, after in zip(self.ancestors, self.descendants, strict=True)
        ]


def _closure(edges: Sequence[Sequence[int]]) -> list[int]:
    result = [0] * len(edges)
    done = [False] * len(edges)
    for root in range(len(edges)):
        stack = [root]
        while stack:
            step = stack[-1]
            waiting = [edge for edge in edges[step] if not done[edge]]
            if waiting and not done[step]:
                stack += waiting
                continue
            stack.pop()
            done[step] = True
            for edge in edges[step]:
                result[step] |= result[edge] | (1 << edge)
    return result


# -- what the rules look at: a plan, the facts, and what is worked out once for all rules --------


class ContractCase(Struct, frozen=True):
    """A command to be looked at, with the step or condition that it belongs to."""

    owner: Step | Condition
    place: int
    """Of a step: its place in the plan; of a condition: the number of steps."""
    command: Command
    script: Script


class Subject:
    """One plan under examination."""

    def __init__(self, plan: Plan, facts: Facts, contracts: tuple[ContractCase, ...]) -> None:
        self.plan = plan
        self.facts = facts
        self.contracts = contracts
        """Every command of the plan, in order."""

    @cached_property
    def faults(self) -> dict[str, list[Finding]]:
        """What the parser noticed, by the rule that reports it."""
        found: dict[str, list[Finding]] = {}
        for fault in self.plan.faults:
            found.setdefault(fault.rule, []).append(fault.finding)
        return found

    @cached_property
    def is_no_text(self) -> bool:
        """Whether it could not be read at all: then nothing is said of what it lacks."""
        whole = (finding.span.start == finding.span.end for finding in self.unreadable)
        return any(whole) and not self.plan.steps and self.plan.objective is None

    @property
    def unreadable(self) -> Sequence[Finding]:
        """What could not be read as text: a place of the file, or at no place all of it."""
        return self.faults.get("unreadable-file", ())

    @cached_property
    def started(self) -> tuple[ContractCase, ...]:
        """What its tables have the shell start."""
        return tuple(started_cases(self.plan))

    @cached_property
    def graph(self) -> StepGraph:
        """Which step depends on which."""
        return StepGraph.of(self.plan)

    @cached_property
    def globs(self) -> dict[str, Glob]:
        """The valid ones among all `touches` of the plan, by text."""
        patterns = [*self.plan.frontmatter.touches]
        patterns += [pattern for step in self.plan.steps for pattern in step.touches or ()]
        return {glob.text: glob for glob in _valid(patterns)}

    def is_misspelt(self, step: Step, name: str) -> bool:
        """Say whether a step has an unknown field that likely is this one."""
        return any(
            field.name not in STEP_FIELDS and suggest_field(field.written, STEP_FIELDS) == name
            for field in step.fields
            if not field.read
        )

    def touches(self, step: Step) -> list[Glob]:
        """Return the valid patterns of what a step may change."""
        return [
            self.globs[pattern.value]
            for pattern in self.plan.touches_of(step)
            if pattern.value in self.globs
        ]


def contract_cases(plan: Plan) -> Iterator[ContractCase]:
    """Yield every command of a plan: preconditions, steps, postconditions."""
    owners: list[tuple[int, Step | Condition]] = [
        *((0, condition) for condition in plan.preconditions),
        *enumerate(plan.steps),
        *((len(plan.steps), condition) for condition in plan.postconditions),
    ]
    for place, owner in owners:
        if isinstance(owner.contract, Command):
            script = read_script(owner.contract.text)
            yield ContractCase(owner=owner, place=place, command=owner.contract, script=script)


def started_cases(plan: Plan) -> Iterator[ContractCase]:
    """Yield what the tables of a plan have the shell start, as commands."""
    owners: list[tuple[int, Step | Condition]] = [
        *((0, condition) for condition in plan.preconditions),
        *enumerate(plan.steps),
        *((len(plan.steps), condition) for condition in plan.postconditions),
    ]
    for place, owner in owners:
        contract = owner.contract
        if not isinstance(contract, CaseTable):
            continue
        table = read_table(contract.text)
        if table.kind in {CheckKind.COMMAND, CheckKind.SERVICE}:
            command = Command(
                text=table.start,
                language="shell",
                wrapping=Wrapping.FENCE,
                expectations=(),
                lines=(contract.locate(*table.start_place),),
                span=contract.span,
            )
            yield ContractCase(owner, place, command, read_script(table.start))


def checks_of(plan: Plan) -> Iterator[CaseTable]:
    """Yield every table of cases of a plan."""
    contracts = [condition.contract for condition in plan.preconditions]
    contracts += [step.contract for step in plan.steps]
    contracts += [condition.contract for condition in plan.postconditions]
    yield from (contract for contract in contracts if isinstance(contract, CaseTable))


def controls_of(plan: Plan) -> Iterator[tuple[Step | Condition, Rejected]]:
    """Yield every change that a contract of a plan has to fail with, and whose contract it is."""
    owners: list[Step | Condition] = [*plan.preconditions, *plan.steps, *plan.postconditions]
    for owner in owners:
        for each in owner.rejects:
            yield owner, each


def needed_plans(plan: Plan) -> Iterator[tuple[str, Span]]:
    """Yield every plan that a plan still waits for, once, and where it is named."""
    if plan.status.is_finished:
        return
    found: dict[str, Span] = {}
    for item in plan.frontmatter.depends_on:
        try:
            slug = parse_slug(item.value)
        except SlugError:
            slug = item.value
        found.setdefault(slug, item.span)
    yield from found.items()


def _valid(patterns: list[Located[str]]) -> Iterator[Glob]:
    for pattern in patterns:
        try:
            yield parse_glob(pattern.value)
        except GlobError:
            continue


# -- what a rule is ------------------------------------------------------------------------------


Finder = Callable[[Subject], Iterable[Finding]]


class Rule(Struct, frozen=True):
    """One kind of fault."""

    code: str
    """Stable for ever: a code is never given to another rule."""
    name: str
    """Named for the fault, not for the cure."""
    severity: Severity
    check: Finder
    strict: Severity | None = None
    """The severity under the profile `strict`, where it differs."""

    def severity_for(self, profile: str) -> Severity:
        """Return how bad the fault is under a profile."""
        return self.strict if profile == "strict" and self.strict else self.severity

    @property
    def page(self) -> str:
        """What the reference says of it: the docstring of its function."""
        from inspect import cleandoc  # noqa: PLC0415 - takes longer to load than most rules to check

        return cleandoc(self.check.__doc__ or "")


def rule(code: str, severity: Severity, strict: Severity | None = None) -> Callable[[Finder], Rule]:
    """Make a rule of a function: its name is the rule's, its docstring the rule's page."""

    def made(check: Finder) -> Rule:
        name = check.__name__.replace("_", "-")
        return Rule(code, name, severity, check, strict)

    return made


# -- is a line of a contract a sentence? Judged by its words alone -------------------------------


# Words of sentences; hardly anybody gives one to a program.
_STRONG = words(
    "the that sure should is are was were be been must shall will pass passes passed passing they "
    "it its when works work exist exists correctly successfully properly has have there errors "
    "warnings failures failing fails still happens returns shows contains green clean this these "
    "if then else than because after before "
    "der die das und sind ist werden wird muss el los las que deben debe son está le les sont doit "
    "doivent est il lo gli devono os são devem"
)
# Words of sentences that may well be a target or an operand.
_WEAK = words(
    "a an all and or of to no not any with without in on for from by at only each every as new "
    "alle todos todas tous toutes tutti"
)
# What sentences begin with and no program is called.
_STARTS = words(
    "all the run verify ensure confirm validate every each no there this that these when after "
    "before should must tests code it they we you please output result results manually manual "
    "review inspect everything nothing only any both new existing documentation function user a an"
)
_TWO = [["pass"], ["passes"], ["passed"], ["works"], ["work"], ["exists"], ["exist"], ["green"]]
_NOT_ALONE = frozenset({"pass", "done", "yes"})  # a program and a keyword
_ALONE = words("done manual manually none todo tbd pass passes success yes works n/a nothing")
# Programs with a capital letter, and programs that are given any text.
_CAPITALS = words("R Rscript Xvfb MSBuild Xcodebuild")
_TAKES_TEXT = words(
    "echo printf grep egrep fgrep rg ag export set trap for while until case function select "
    "declare local readonly typeset alias awk sed say logger"
)
_BULLET = lazy_pattern(r"(?:[-*+•]|\d{1,2}[.)])\s+(?=[^\W\d_])")
_WORD = lazy_pattern(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
_CODE = lazy_pattern(r"`[^`]*`")
_QUOTED = lazy_pattern(r"'[^']*'|\"[^\"]*\"")
_SHELL = lazy_pattern(r"&&|\|\||\$[\w({]|[<>]|\s\|\s|;\s|;$|\\$|^\w+=|\)\s*\{")
_OPTION = lazy_pattern(r"(?:^|\s)-{1,2}[A-Za-z]")
_PUNCTUATION = '.,:;!?)(*_"“”…'


def find_prose(script: Script, missing_tools: frozenset[str]) -> tuple[int, int] | None:
    """Return the place of the first line of a script that is a sentence."""
    starts = {call.start for call in script.calls if not call.nested}
    offset = 0
    first = True
    for line in script.text.split("\n"):
        text = line.strip()
        start = offset + len(line) - len(line.lstrip())
        offset += len(line) + 1
        if not text or text.startswith("#"):
            continue
        if (first or start in starts) and _is_prose(text, script.functions, missing_tools):
            return start, start + len(text)
        first = False
    return None


def _is_prose(line: str, functions: frozenset[str], missing: frozenset[str]) -> bool:
    line = _BULLET.sub("", line)
    name, _, rest = line.partition(" ")
    name = name.strip(_PUNCTUATION)
    if line[:1] == "`":
        return _is_sentence(_CODE.sub("it", line), 2)
    if name in functions or name in _CAPITALS or not _WORD.fullmatch(name):
        return False
    if not rest:
        return not name.isascii() or (name.lower() in _ALONE and name not in _NOT_ALONE)
    if not name.isascii():
        return True
    if name[0].isupper() and not name[1:].isupper():
        return _is_capital_prose(_CODE.sub("it", line))
    return _is_small_prose(line, name, missing)


def _is_capital_prose(line: str) -> bool:
    """Judge a line that starts with a capital letter: no usual program does."""
    if _SHELL.search(_QUOTED.sub("", line)) and not _has_words(line, 2):
        return False
    tokens = [token.strip(_PUNCTUATION) for token in line.split()]
    plain = [token for token in tokens if _WORD.fullmatch(token)]
    return len(plain) >= 2 and 5 * len(plain) >= 3 * len(tokens)


def _is_small_prose(line: str, name: str, missing: frozenset[str]) -> bool:
    """Judge a line that may well be a command."""
    if name in _TAKES_TEXT or _OPTION.search(line):
        return False
    if name in _STARTS:
        return _is_sentence(line, 1) or line.split()[1:] in _TWO
    if name in missing:
        return _is_sentence(line, 2, strong=True)
    return _is_sentence(_QUOTED.sub("", line), 2, strong=True)


def _is_sentence(line: str, count: int, *, strong: bool = False) -> bool:
    """Say whether a line without shell in it has so many words of sentences."""
    return (
        not _SHELL.search(line) and len(line.split()) > 2 and _has_words(line, count, strong=strong)
    )


def _has_words(line: str, count: int, *, strong: bool = False) -> bool:
    tokens = [token.strip(_PUNCTUATION) for token in line.split()]
    plain = [token.lower() for token in tokens if _WORD.fullmatch(token)]
    if 5 * len(plain) < 3 * len(tokens):
        return False
    sure = sum(token in _STRONG for token in plain)
    weak = sum(token in _WEAK for token in plain)
    return sure + weak >= count and (sure > 0 or not strong)


# -- how the contracts of a plan are written: what is no shell is reported once, not by every rule


class Writing(enum.Enum):
    """What a contract is, by the look of it."""

    SHELL = "shell"
    PREFIXED = "shell behind a prompt or label"
    PROSE = "prose"
    FOREIGN = "another language"
    PLACEHOLDER = "still to be filled in"


class Written(Struct, frozen=True):
    """A contract, and how it is written."""

    case: ContractCase
    """With blanks for prompts and labels."""
    writing: Writing
    prefixes: tuple[Prefix, ...] = ()
    prose: tuple[int, int] = (0, 0)
    """The line that is a sentence."""


@lru_cache(maxsize=1)
def written_contracts(subject: Subject) -> tuple[Written, ...]:
    """Return the contracts of a plan, each with how it is written."""
    return tuple(
        _judge(case, subject.facts.missing_tools)
        for case in subject.contracts
        if not lacks_table(subject.plan, case.command)
    )


def shell_contracts(subject: Subject) -> Iterator[ContractCase]:
    """Yield the contracts that are shell; prompts and labels are blanked out."""
    for written in written_contracts(subject):
        if written.writing in {Writing.SHELL, Writing.PREFIXED}:
            yield written.case


def plain_contracts(subject: Subject) -> Iterator[ContractCase]:
    """Yield the contracts that are shell as they stand."""
    for written in written_contracts(subject):
        if written.writing is Writing.SHELL:
            yield written.case


def _judge(case: ContractCase, missing_tools: frozenset[str]) -> Written:
    command = case.command
    if command.wrapping is Wrapping.FENCE and (
        command.language not in SHELL_TAGS and command.language not in SHELL_SYNONYMS
    ):
        return Written(case=case, writing=Writing.FOREIGN)
    if placeholder_in(command.text):
        return Written(case=case, writing=Writing.PLACEHOLDER)
    if prefixes := find_prefixes(case.script):
        script = read_script(without_prefixes(case.script, prefixes))
        return Written(
            case=replace(case, script=script), writing=Writing.PREFIXED, prefixes=prefixes
        )
    if place := find_prose(case.script, missing_tools):
        return Written(case=case, writing=Writing.PROSE, prose=place)
    return Written(case=case, writing=Writing.SHELL)


# -- pieces of commands in messages --------------------------------------------------------------


_WIDTH = 50


def shortened(text: str) -> str:
    """Return a piece of a command as one short line that can stand in backticks."""
    line = visible(" ".join(text.split())).replace("`", "'")
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 1].rstrip()}…"


# -- what the expectations of a contract demand beyond exit code 0 -------------------------------


_READS_OUTPUT = (Contains, OutputIs, MinimumTests, MaximumFailures, NoNewFailures)


def demands_nothing(expectation: Expectation) -> bool:
    """Say whether an expectation always holds: `stdout contains ""`, `tests >= 0`."""
    match expectation:
        case Contains(text=""):
            return True
        case MinimumTests(minimum=0):
            return True
        case _:
            return False


def demands_output(command: Command) -> bool:
    """Say whether a contract looks at what the command prints."""
    return any(
        isinstance(item.value, _READS_OUTPUT) and not demands_nothing(item.value)
        for item in command.expectations
    )


def demands_failure(command: Command) -> bool:
    """Say whether the command is to end with a code other than 0."""
    return any(
        isinstance(item.value, ExitCodeIs) and item.value.code for item in command.expectations
    )
