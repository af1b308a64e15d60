"""Run a contract again with another value in one of its shell's comparisons: it must not pass.

Each run changes one comparison, in the contract's own text or in a script that judges. A script is
laid with the other value in it, and so is the plan with a contract's: whoever reads them to know
what to answer gives the other answer, and the contract passes where it must not.
"""

from __future__ import annotations

import random
import string
import time
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import Laid, Request
from planbound.judging.watched import WalkedContract
from planbound.plan.model import CaseTable, ExitCodeIs
from planbound.script.comparison import Comparison, ExpectedKind, is_number
from planbound.script.deciding import find_comparisons
from planbound.script.project import ProjectTree
from planbound.script.runners.mutated import MutatedTests
from planbound.script.tree import Word
from planbound.source import lazy_pattern

if TYPE_CHECKING:
    from planbound.judging.contract import JudgedContract

_MOST_RUNS = 4
_MOST_SECONDS = 20.0
_PLANS = ".harness/"
_OPERATORS = frozenset("|\\[](){}*+?")
_PLAIN = lazy_pattern(r"[\w./:,+@%=^-]+")
_LAST = lazy_pattern(r"[0-9A-Za-z](?=[^0-9A-Za-z]*\Z)")


class _Changed(NamedTuple):
    """What is different in a run: texts by their paths, the contract's own by None."""

    texts: dict[str | None, str]


def mutate_shell(contract: JudgedContract) -> MutatedTests | None:
    """Return which comparisons notice another value; None where there is none."""
    codes = [item.code for item in contract.expectations if isinstance(item, ExitCodeIs)]
    is_odd = contract.by_name or contract.wants_failures or contract.script.broken
    if is_odd or any(codes) or isinstance(contract.command, CaseTable):
        return None
    walked = WalkedContract(contract)
    own = frozenset(contract.protection.own)
    found = find_comparisons(
        contract.script,
        ProjectTree(walked.project.paths, walked.project.read),
        lambda path: path not in own and walked.is_judge(path),
    )
    if not found.deciding and not found.others:
        return None
    runs = _Runs(walked)
    sensitive, blind = list[Comparison](), list[Comparison]()
    untried = [*found.others]
    ends = time.monotonic() + _MOST_SECONDS
    # Which of many are tried cannot be known beforehand.
    for comparison in random.SystemRandom().sample(found.deciding, len(found.deciding)):
        tried = len(sensitive) + len(blind)
        if tried and (tried >= _MOST_RUNS or time.monotonic() > ends):
            untried.append(comparison)
            continue
        passed = runs.passes(comparison)
        if passed is None:
            untried.append(comparison)
        # By chance the product may answer the other value, too; hardly twice.
        elif passed and runs.passes(comparison):
            blind.append(comparison)
        else:
            sensitive.append(comparison)
    return MutatedTests(
        _shown(sensitive),
        _shown(blind),
        _shown(untried),
        comparisons=len(found.deciding) + len(found.others),
    )


def _shown(comparisons: list[Comparison]) -> tuple[str, ...]:
    return tuple(sorted(comparison.shown for comparison in comparisons))


def together(tests: MutatedTests | None, shell: MutatedTests | None) -> MutatedTests | None:
    """Return what became of tests and of comparisons."""
    if tests is None or shell is None:
        return tests or shell
    return tests._replace(
        sensitive=(*tests.sensitive, *shell.sensitive),
        blind=(*tests.blind, *shell.blind),
        silent=(*tests.silent, *shell.silent),
        comparisons=shell.comparisons,
    )


class _Runs:
    def __init__(self, walked: WalkedContract) -> None:
        self._walked = walked
        self._contract = walked.contract

    def passes(self, comparison: Comparison) -> bool | None:
        """Say whether the contract passes with another value; None where it cannot be changed."""
        request = self._request(comparison)
        if request is None:
            return None
        return self._contract.passes(self._contract.judging.cell.run(request))

    def _request(self, comparison: Comparison) -> Request | None:
        changed = self._changed(comparison)
        request = self._contract.request
        *start, text = request.command
        if changed is None or (None in changed.texts and text != self._contract.command.text):
            return None
        laid = [self._laid(path, new) for path, new in changed.texts.items() if path is not None]
        paths = {item.path for item in laid}
        kept = [item for item in request.lay if item.path not in paths]
        return request._replace(
            command=(*start, changed.texts.get(None, text)),
            lay=(*kept, *laid),
            collect=(),
            needles=(),
        )

    def _laid(self, path: str, text: str) -> Laid:
        known = next((item for item in self._contract.request.lay if item.path == path), None)
        entry = self._contract.manifest.entry(path)
        mode = known.mode if known is not None else entry.mode if entry is not None else 0o644
        return Laid(path, text.encode(), mode)

    def _text(self, path: str) -> str | None:
        try:
            return (self._walked.project.read(path) or b"").decode()
        except UnicodeDecodeError:
            return None

    def _changed(self, comparison: Comparison) -> _Changed | None:
        chance = random.SystemRandom()
        texts: dict[str | None, str] = {}
        new = ""
        if comparison.expects is ExpectedKind.FILE:
            content = self._text(comparison.file)
            if content is None:
                return None
            other = _other_content(content, chance)
            if comparison.is_only:
                return _Changed({comparison.file: other})
            # The product may have to read the file: then it is compared with another one.
            name = _letters(chance, 10)
            folder, between, _name = comparison.file.rpartition("/")
            texts[f"{folder}{between}{name}"] = other
            before, between, _name = (comparison.word.value or "").rpartition("/")
            new = f"'{before}{between}{name}'" if "'" not in before else ""
        else:
            is_here = comparison.expects is ExpectedKind.LINES
            new = (_other_lines if is_here else other_word)(comparison, chance)
        old = self._contract.script.text
        if comparison.path is not None:
            old = self._text(comparison.path) or ""
        start, end = comparison.word.start, comparison.word.end
        if not new or old[start:end] != comparison.word.text:
            return None
        texts[comparison.path] = f"{old[:start]}{new}{old[end:]}"
        if comparison.path is None:
            texts |= self._plans(old, texts[None])
        return _Changed(texts)

    def _plans(self, old: str, new: str) -> dict[str | None, str]:
        """Return the plans that a contract stands in, with the other one."""
        found: dict[str | None, str] = {}
        for path in self._walked.project.paths:
            if path.startswith(_PLANS) and path.endswith(".md"):
                text = self._text(path) or ""
                if old.strip() in text:
                    found[path] = text.replace(old.strip(), new.strip())
        return found


def other_word(comparison: Comparison, chance: random.Random) -> str:
    """Return a word that expects something else; empty where there is none."""
    word, value = comparison.word, comparison.word.value
    match comparison.expects:
        case ExpectedKind.NUMBER if is_number(value):
            return _other_number(value or "", chance)
        case ExpectedKind.NUMBER:
            return f'{word.text}"{chance.randint(1, 9)}"'
        case ExpectedKind.PATTERN:
            call = comparison.call
            is_fixed = call is not None and (call.program == "fgrep" or call.has("-F"))
            return _written(_other_pattern(value, chance, is_fixed=is_fixed), word)
        case ExpectedKind.EXPRESSION:
            return _letters(chance, 10)
        case _:
            pass
    # A variable, or a pattern of `[[`: whatever it is, something more is another value.
    program = comparison.call.program if comparison.call is not None else ""
    if value is None or (program == "[[" and not {"*", "?", "["}.isdisjoint(value)):
        return f'{word.text}"{_letters(chance, 4)}"'
    return _written(_other_text(value, chance), word)


def _other_lines(comparison: Comparison, chance: random.Random) -> str:
    """Return other lines of a here-document."""
    return _other_content(comparison.word.text, chance)


def _other_number(value: str, chance: random.Random) -> str:
    while True:
        found = str(chance.randint(10 ** (len(value) - 1), 10 ** len(value) - 1))
        if int(found) != int(value):
            return found


def _other_text(value: str, chance: random.Random) -> str:
    """Return a text that looks alike, and differs also where case does not count."""
    if is_number(value):
        return _other_number(value, chance)
    found = _LAST.search(value)
    if found is None:
        return value + _letters(chance, 4)
    known = string.digits if found[0].isdigit() else string.ascii_lowercase
    new = chance.choice([each for each in known if each != found[0].lower()])
    new = new.upper() if found[0].isupper() else new
    return value[: found.start()] + new + value[found.end() :]


def _other_pattern(value: str | None, chance: random.Random, *, is_fixed: bool) -> str:
    """Return a pattern for what nobody prints by chance."""
    if value is None or (not is_fixed and not _OPERATORS.isdisjoint(value)):
        return _letters(chance, 10)
    ends = "" if is_fixed or not value.endswith("$") else "$"
    begins = value.removesuffix("$") if ends else value
    if begins[-1:].isdigit():
        return f"{begins}{chance.randint(10**6, 10**7 - 1)}{ends}"
    return f"{begins}{_letters(chance, 8)}{ends}"


def _other_content(content: str, chance: random.Random) -> str:
    new = _other_text(content, chance)
    return new if _LAST.search(content) else f"{content}{_letters(chance, 8)}\n"


def _letters(chance: random.Random, number: int) -> str:
    return "".join(chance.choice(string.ascii_lowercase) for _ in range(number))


def _written(text: str, word: Word) -> str:
    """Return a text with the quotes of another one: who reads scripts is to read this, too."""
    if word.text == word.value and _PLAIN.fullmatch(text):
        return text
    if word.text == f'"{word.value}"' and _PLAIN.fullmatch(text.replace(" ", "")):
        return f'"{text}"'
    return "'" + text.replace("'", "'\\''") + "'"
