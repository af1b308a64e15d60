"""Is a line of a contract a sentence? Judged by its words alone."""

from __future__ import annotations

from planbound.plan.command import Script
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

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
