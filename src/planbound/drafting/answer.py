"""Finds in an answer what was asked for: a plan, files to see, batches."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice
from typing import NamedTuple

from planbound.drafting.overview import write_file
from planbound.drafting.prompt import MOST_FILES, READ
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.verdict import Verdict
from planbound.plan.expand import Batch
from planbound.plan.model import Baseline, Plan
from planbound.plan.parse import parse
from planbound.run.prompt import Excerpt
from planbound.source import Diagnostic, Severity, fenced, lazy_pattern, visible

# -- finds in an answer what was asked for: a plan, files to see, batches ------------------------


_FENCE = lazy_pattern(r"[ \t]{0,3}(?P<marks>`{3,}|~{3,})[ \t]*(?P<info>[^\n`]*?)[ \t]*\Z")
_MARKDOWN = frozenset({"markdown", "md"})
_READ_LINE = lazy_pattern(rf"(?m)^[ \t>*-]*`?{READ}`?[ \t]*`?(?P<path>[^`\n]+?)`?[ \t]*$")
_START = lazy_pattern(r"(?m)^(?:---[ \t]*\n(?=(?:[^\n]*\n){0,40}?type:[ \t]*plan)|#[ \t]+\S)")
_MARK = lazy_pattern(r"^[-*+]\s+(?:\[[ xX]\]\s+)?")
_LONGEST = 400_000
_MOST_READ = 2_000_000
"""Characters of all that is tried together: a flood of fences is no plan."""
_MOST_STARTS = 10
_MOST_OPENINGS = 40
_MOST_CLOSINGS = 80


def find_plan(answer: str) -> str | None:
    """Return the text of the plan in an answer; None where there is none.

    A plan is full of fences, so it is looked for in every way in which it could be wrapped: the
    one that holds most of a plan is taken.
    """
    text = _normal(answer)
    best, most = None, (0, 0, 0)
    left = _MOST_READ
    for candidate in _candidates(text):
        left -= len(candidate)
        if left < 0:
            break
        worth = _worth(candidate)
        if worth > most:
            best, most = candidate, worth
    return best.strip("\n") + "\n" if best is not None else None


def wanted_files(answer: str) -> list[str]:
    """Return the files that an answer asks for, each once and no more than are given."""
    found = (match["path"].strip() for match in _READ_LINE.finditer(_normal(answer)))
    return list(dict.fromkeys(path for path in found if path))[:MOST_FILES]


def find_batches(answer: str) -> list[Batch]:
    """Return the batches in an answer: groups of lines in its longest block, one item a line."""
    text = _normal(answer)
    blocks = list(_simple_blocks(text))
    found: list[list[str]] = [[]]
    for line in (max(blocks, key=len) if blocks else text).split("\n"):
        item = _MARK.sub("", line.strip())
        if not item:
            found.append([])
        elif not item.startswith("#"):
            found[-1].append(item)
    return [tuple(group) for group in found if group]


def _normal(answer: str) -> str:
    return answer[:_LONGEST].replace("\r\n", "\n").replace("\r", "\n")


def _candidates(text: str) -> Iterator[str]:
    yield from _blocks(text)
    # Without a fence, or with one that ends too early: from where it begins to the end.
    for start in islice(_START.finditer(text), _MOST_STARTS):
        rest = text[start.start() :]
        yield rest
        lines = rest.rstrip().split("\n")
        if _FENCE.fullmatch(lines[-1]):
            yield "\n".join(lines[:-1])


def _blocks(text: str) -> Iterator[str]:
    """Yield what the fences may hold: from each that could open a plan to those that close it."""
    lines = text.split("\n")
    fences = [(place, match) for place, line in enumerate(lines) if (match := _FENCE.match(line))]
    openings = [
        (index, place, match)
        for index, (place, match) in enumerate(fences)
        # Three marks and another tag: a command, not a document.
        if _tag(match) in _MARKDOWN or (len(match["marks"]) > 3 or not match["info"])
    ]
    # Those that say what they hold first, then the longest: the number of tries is bounded.
    openings.sort(key=lambda each: (_tag(each[2]) not in _MARKDOWN, -len(each[2]["marks"])))
    for index, place, opening in openings[:_MOST_OPENINGS]:
        closings = [end for end, match in fences[index + 1 :] if _closes(match, opening)]
        if _tag(opening) not in _MARKDOWN:
            closings = [*closings[:1], *closings[1:][-1:]]
        for end in closings[:_MOST_CLOSINGS] or [len(lines)]:
            yield "\n".join(lines[place + 1 : end])


def _simple_blocks(text: str) -> Iterator[str]:
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        opening = _FENCE.match(lines[place])
        place += 1
        if opening is None:
            continue
        start = place
        while place < len(lines):
            match = _FENCE.match(lines[place])
            if match is not None and _closes(match, opening):
                break
            place += 1
        yield "\n".join(lines[start:place])
        place += 1


def _tag(fence: re.Match[str]) -> str:
    return fence["info"].split(" ")[0].lower()


def _closes(fence: re.Match[str], opening: re.Match[str]) -> bool:
    marks = opening["marks"]
    return not fence["info"] and fence["marks"].startswith(marks)


def _worth(text: str) -> tuple[int, int, int]:
    """Return how much of a plan a text is: its steps with a contract first, then what is else."""
    plan = parse(text)
    whole = sum(step.contract is not None and step.task is not None for step in plan.steps)
    if not plan.steps and not _is_headed(plan):
        return (0, 0, 0)
    parts = [
        plan.frontmatter.type is not None,
        plan.objective is not None,
        bool(plan.postconditions),
        *(True for _ in plan.steps),
    ]
    # Of two that hold the same, the one with less around it.
    return (whole, sum(parts), -len(plan.faults) * _LONGEST - len(text))


def _is_headed(plan: Plan) -> bool:
    return plan.frontmatter.type is not None and plan.objective is not None


# -- what goes back to a model about its plan: diagnostics, and how its contracts look before work


_LONGEST_FEEDBACK = 1500
_MOST = 60
_AGAIN = (
    "Answer with the whole plan again, in one fenced block that begins with `````markdown and ends "
    "with `````. Change what is named, and nothing else."
)


class Weight(enum.Enum):
    """Whether a plan is ready while something is still so."""

    OPEN = "open"
    """It is not ready."""
    REMARK = "remark"
    """Said once: there may be a reason for it."""


class Remark(NamedTuple):
    """Something about a draft that the verifier does not know."""

    text: str
    weight: Weight
    output: str = ""
    """What a contract printed."""


def shortcomings(plan: Plan) -> Iterator[Remark]:
    """Yield what a draft is asked for beyond what every plan must have."""
    for step in plan.steps:
        if not plan.touches_of(step):
            yield Remark(
                f"step {step.label} has no `touches`: say which files it may change", Weight.OPEN
            )
    if plan.steps and not plan.postconditions:
        yield Remark(
            "the plan has no postconditions: say by commands when the goal is reached", Weight.OPEN
        )


def contract_remarks(
    plan: Plan, verdicts: Sequence[Verdict], clean: Callable[[str], str]
) -> Iterator[Remark]:
    """Yield what is odd about the contracts before any work; `clean` takes secrets out."""
    tolerated = {
        step.label
        for step in plan.steps
        if step.baseline is not None and step.baseline.value is Baseline.ANY
    }
    last = [verdict for verdict in verdicts if verdict.subject is SubjectKind.POSTCONDITION]
    for verdict in verdicts:
        remark = _colour(verdict, tolerated)
        if remark is not None and remark.weight is Weight.REMARK:
            remark = remark._replace(output=_output(verdict, clean))
        if remark is not None:
            yield remark
    if last and all(verdict.kind is VerdictKind.PASS for verdict in last):
        yield Remark(
            "every postcondition passes before any work: none of them shows that the goal is "
            "reached",
            Weight.REMARK,
        )


def _colour(verdict: Verdict, tolerated: set[str]) -> Remark | None:
    name = f"{verdict.subject.value} {verdict.number}"
    step = verdict.subject is SubjectKind.STEP
    reason = visible(verdict.reason)
    match verdict.kind:
        case VerdictKind.PASS if step and verdict.number not in tolerated:
            return Remark(
                f"the contract of {name} passes before any work, so it proves nothing: let it fail "
                "now, or say `**baseline:** any` in the step where it is meant so",
                Weight.OPEN,
            )
        case VerdictKind.FAIL if verdict.subject is SubjectKind.PRECONDITION:
            return Remark(f"{name} does not hold now: {reason}", Weight.REMARK)
        case VerdictKind.UNRUNNABLE:
            return Remark(
                f"the contract of {name} cannot be run: {reason}; use what is there, unless a step "
                "before it brings what is missing",
                Weight.REMARK,
            )
        case VerdictKind.TIMEOUT | VerdictKind.KILLED | VerdictKind.FLAKY:
            return Remark(
                f"the contract of {name} came to no answer before any work: {reason}",
                Weight.REMARK,
            )
        case _:
            return None


def _output(verdict: Verdict, clean: Callable[[str], str]) -> str:
    if verdict.outcome is None:
        return ""
    # Before it is cut: half a secret would not be recognised.
    said = clean(verdict.outcome.stdout.text() + verdict.outcome.stderr.text())
    return said[-_LONGEST_FEEDBACK:].strip()


def write_diagnostics(plan: Plan, diagnostics: Sequence[Diagnostic]) -> str:
    """Return diagnostics as text: place, code, message, the line, the cure."""
    if not diagnostics:
        return "No problems."
    lines: list[str] = []
    for item in diagnostics[:_MOST]:
        severity = item.severity.value
        lines.append(f"{item.line}:{item.column}: {severity}[{item.code}]: {visible(item.message)}")
        lines.append(f"    {visible(plan.source.lines[item.line - 1])[:200]}")
        if item.hint:
            lines.append(f"    hint: {visible(item.hint)}")
    if len(diagnostics) > _MOST:
        lines.append(f"... and {len(diagnostics) - _MOST} more")
    return fenced("\n".join(lines))


def write_feedback(plan: Plan, diagnostics: Sequence[Diagnostic], remarks: Sequence[Remark]) -> str:
    """Return what to say about a plan that is not ready."""
    parts = [f"This is the plan as it was understood:\n\n{fenced(plan.source.text, 'markdown')}"]
    if diagnostics:
        errors = sum(item.severity is Severity.ERROR for item in diagnostics)
        parts.append(
            f"`planbound verify` says this about it, as LINE:COLUMN ({errors} errors, "
            f"{len(diagnostics) - errors} warnings):\n\n{write_diagnostics(plan, diagnostics)}"
        )
    if remarks:
        parts.append("What else is to be said:\n\n" + "\n".join(map(_write_remark, remarks)))
    return "\n\n".join([*parts, _AGAIN]) + "\n"


def _write_remark(remark: Remark) -> str:
    if not remark.output:
        return f"- {remark.text}"
    return f"- {remark.text}. It printed, as data:\n\n{fenced(remark.output)}\n"


def write_no_plan() -> str:
    """Return what to say to an answer without a plan."""
    return (
        "There is no plan in this answer. Answer with the whole plan in one fenced block that "
        "begins with `````markdown (five backticks) and ends with `````.\n"
    )


def write_files(contexts: Sequence[Excerpt], *, last: bool) -> str:
    files = "\n\n".join(write_file(context) for context in contexts)
    then = "No more files are given. " if last else ""
    return f"{files}\n\n{then}Go on: write the plan, or ask for what else you need.\n"


def write_no_files() -> str:
    """Return what to say to who goes on asking for files."""
    return "No more files are given. Write the plan from what you know.\n"


def write_bad_batches(faults: Mapping[str, Sequence[str]]) -> str:
    """Return what to say about batches that cannot be taken."""
    parts = [
        f"{what}:\n\n{fenced(chr(10).join(lines[:_MOST]))}" if lines else f"{what}."
        for what, lines in faults.items()
    ]
    return "\n\n".join([*parts, "Answer with all batches again, in one fenced block."]) + "\n"
