"""Contracts in a `shell` fence, without the prompt that was copied along."""

from __future__ import annotations

import re

from planbound.plan.command import read_script
from planbound.plan.command.prompt import Prefix, find_prefixes
from planbound.plan.edit import Edit
from planbound.plan.model import Command, Condition, Plan, Step, Wrapping
from planbound.plan.vocabulary import SHELL_SYNONYMS, SHELL_TAGS
from planbound.source import Span


def repair(plan: Plan) -> list[Edit]:
    """Return the edits that put each command into a `shell` fence without a prompt."""
    owners: tuple[Step | Condition, ...] = (*plan.steps, *plan.preconditions, *plan.postconditions)
    edits: list[Edit] = []
    for owner in owners:
        if isinstance(owner.contract, Command):
            edits += _repair(plan, owner.contract)
    return edits


def _repair(plan: Plan, command: Command) -> list[Edit]:
    if command.wrapping is Wrapping.FENCE:
        return [*_tag(plan, command), *_unprompted(command)]
    prefixes = find_prefixes(read_script(command.text))
    if command.wrapping is Wrapping.BARE and not prefixes and not _looks_like_command(command.text):
        return []  # prose: a person has to say what to run
    return _fenced(plan, command, prefixes)


def _tag(plan: Plan, command: Command) -> list[Edit]:
    if command.language not in SHELL_SYNONYMS:
        return []
    line = plan.source.position(command.span.start)[0] - 1
    match = re.match(r"[ \t>]*(?:[-*+]|\d+[.)])?[ \t]*(?:`{3,}|~{3,})", plan.source.lines[line])
    if match is None:
        return []
    start = plan.source.line_starts[line] + match.end()
    return [Edit(Span(start, plan.source.line_span(line).end), "shell")]


def _unprompted(command: Command) -> list[Edit]:
    if command.language not in SHELL_TAGS | SHELL_SYNONYMS:
        return []
    prefixes = find_prefixes(read_script(command.text))
    edits = [Edit(command.locate(prefix.start, prefix.end), "") for prefix in prefixes]
    if command.language in _TRANSCRIPTS and any(prefix.text == "$" for prefix in prefixes):
        edits += _without_output(command, {prefix.start for prefix in prefixes})
    return edits


def _without_output(command: Command, prompts: set[int]) -> list[Edit]:
    """Take what the commands printed out of a transcript: lines without a prompt."""
    edits: list[Edit] = []
    position, continued = 0, False
    for number, line in enumerate(command.text.split("\n")):
        start = position + len(line) - len(line.lstrip())
        if start not in prompts and not continued:
            end = command.lines[number + 1].start if number + 1 < len(command.lines) else None
            place = command.lines[number]
            edits.append(Edit(Span(place.start, place.end if end is None else end), ""))
        else:
            continued = line.endswith("\\")
        position += len(line) + 1
    return edits


_TRANSCRIPTS = frozenset({"console", "terminal", "shell-session", "shellsession", "sh-session"})


def _looks_like_command(text: str) -> bool:
    """Say whether text without a fence is surely meant as a command."""
    first = text.split(maxsplit=1)[0] if text.split() else ""
    return bool(re.fullmatch(r"[a-z0-9_./~-]+", first)) and bool(
        re.search(r"[|&;<>$/=\"'.-]|\b(?:test|make|pytest|npm|go|cargo)\b", text)
    )


def _fenced(plan: Plan, command: Command, prefixes: tuple[Prefix, ...]) -> list[Edit]:
    source = plan.source
    text = command.text
    for prefix in sorted(prefixes, key=lambda prefix: prefix.start, reverse=True):
        text = text[: prefix.start] + text[prefix.end :]
    line_start = source.line_starts[source.position(command.span.start)[0] - 1]
    before = source.text[line_start : command.span.start]
    indent = before[: len(before) - len(before.lstrip())]
    start, end = _around(plan, command)
    marks = "`" * max(3, _longest_run(text) + 1)
    lines = "\n".join(indent + line.strip("\r") for line in text.split("\n"))
    block = f"{indent}{marks}shell\n{lines}\n{indent}{marks}"
    opening = "\n" if source.text[line_start:start].strip() else ""
    rest = source.text[end:].split("\n", 1)[0].strip(" \t,;:→")
    closing = f"\n{indent}" if rest else ""
    if rest:
        after = source.text[end:]
        end += len(after) - len(after.lstrip(" \t,;:→"))
    if not opening:
        start = line_start
    return [Edit(Span(start, end), opening + block + closing)]


def _around(plan: Plan, command: Command) -> tuple[int, int]:
    """Return the range to replace: the command with its backticks and the blanks before it."""
    text = plan.source.text
    start, end = command.span.start, command.span.end
    if command.wrapping is Wrapping.INLINE:
        while text[start - 1 : start] == "`":
            start -= 1
        while text[end : end + 1] == "`":
            end += 1
    while text[start - 1 : start] in {" ", "\t"}:
        start -= 1
    return start, end


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)
