"""How the contracts of a plan are written: what is no shell is reported once, not by every rule."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from functools import lru_cache
from typing import NamedTuple

from planbound.plan.command import read_script
from planbound.plan.command.prompt import Prefix, find_prefixes, without_prefixes
from planbound.plan.model import Wrapping
from planbound.plan.vocabulary import SHELL_SYNONYMS, SHELL_TAGS, placeholder_in
from planbound.verify.prose import find_prose
from planbound.verify.subject import ContractCase, Subject


class Writing(enum.Enum):
    """What a contract is, by the look of it."""

    SHELL = "shell"
    PREFIXED = "shell behind a prompt or label"
    PROSE = "prose"
    FOREIGN = "another language"
    PLACEHOLDER = "still to be filled in"


class Written(NamedTuple):
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
    return tuple(_judge(case, subject.facts.missing_tools) for case in subject.contracts)


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
            case=case._replace(script=script), writing=Writing.PREFIXED, prefixes=prefixes
        )
    if place := find_prose(case.script, missing_tools):
        return Written(case=case, writing=Writing.PROSE, prose=place)
    return Written(case=case, writing=Writing.SHELL)
