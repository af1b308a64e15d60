"""Judges in JavaScript by their text: which tests surely come to an assertion, and other values.

Nothing is parsed: strings, comments, templates and expressions are told apart, brackets are paired,
and of everything else nothing is said.
"""

from __future__ import annotations

import random
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from planbound.script.runners import JAVASCRIPT
from planbound.script.runners.runner import JavaScriptTests
from planbound.source import lazy_pattern


def _modules(runners: Iterable[JavaScriptTests]) -> str:
    """Return an expression for the modules of runners, as they are named in quotes."""
    names = "|".join(re.escape(name) for runner in runners for name in runner.modules)
    return rf"(?:{names})['\"]"


_OF_RUNNERS = _modules(JAVASCRIPT.values())
_WITH_EXPECT = _modules(runner for runner in JAVASCRIPT.values() if runner.has_expect)
_TOKEN = lazy_pattern(
    r"(?P<space>\s+|//[^\n]*|/\*.*?\*/)"
    r"|(?P<text>'(?:[^'\\\n]|\\.)*'|\"(?:[^\"\\\n]|\\.)*\")"
    r"|(?P<number>(?:0[xXbBoO]\w+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?n?|\.\d+(?:[eE][+-]?\d+)?)\b)"
    r"|(?P<name>[\w$#\u0080-\uffff]+)"
    r"|(?P<mark>=>|\?\.|\.\.\.|[=!]==?|&&|\|\||\+\+|--|[^\s])",
    re.DOTALL,
)
_EXPRESSION = lazy_pattern(r"/(?:[^/\\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+/\w*")
_BEFORE_AN_EXPRESSION = frozenset(
    {"return", "typeof", "case", "in", "of", "delete", "void", "throw", "new", "do", "else"}
    | {"await", "yield"}
)
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_TESTS, _GROUPS = frozenset({"test", "it"}), frozenset({"describe", "suite", "context"})
_EQUALITIES = frozenset({"equal", "strictEqual", "deepEqual", "deepStrictEqual"})
_OTHERS = frozenset(
    {"ok", "throws", "rejects", "doesNotThrow", "doesNotReject", "match", "doesNotMatch"}
    | {"notEqual", "notStrictEqual", "notDeepEqual", "notDeepStrictEqual"}
)
"""They are told when they are reached, and are not changed."""
_MATCHERS = frozenset({"toBe", "toEqual", "toStrictEqual"})
_LEAVES = frozenset({"skip", "todo", "pending", "exit", "abort", "kill"})
"""Behind such a word nobody knows whether the rest of a test runs."""
_RETURNS = frozenset({"return", "yield"})
_HEADS = frozenset({"if", "for", "while", "with"})
_ASSERT_OF_NODE = lazy_pattern(
    r"\b(?:const|let|var|import)\s+"
    r"(?:\*\s*as\s+assert|\{\s*strict\s*(?::|as)\s*assert\s*\}|assert)\s*"
    r"(?:=\s*require\(|from)\s*['\"](?:node:)?assert(?:/strict)?['\"]"
)
_OWN_EXPECT = lazy_pattern(
    r"\b(?:import|const|let|var)\b[^;'\"=]*\bexpect\b[^;'\"]*?"
    r"(?:\bfrom\b|=\s*require\(|=\s*await import\()\s*['\"]"
    rf"(?!{_WITH_EXPECT})"
    r"|[{,]\s*expect\s*[,}][^;'\"]*=\s*\w+\s*;"
)
_OTHER_RUNNER = lazy_pattern(
    r"\b(?:import|const|let|var)\b[^;'\"=]*\b(?:it|test|describe|suite|context)\b[^;'\"]*?"
    r"(?:\bfrom\b|=\s*require\(|=\s*await import\()\s*"
    rf"['\"](?!{_OF_RUNNERS})"
)
"""Tests are registered by something else, of which nobody knows when it calls them."""
_OWN_TEST = lazy_pattern(
    r"\b(?:function|class)\s+(?:it|test|describe|assert|expect)\b"
    r"|\b(?:const|let|var)\s+(?:it|test|describe|expect)\s*=(?!\s*require\()"
    r"|\bassert(?:\.strict)?(?:\.\w+)?\s*=(?!\s*require\()[^=>]"
)
_PLAIN_NUMBER = lazy_pattern(r"\d{1,15}(?:\.\d{1,15})?")
_ESCAPE = lazy_pattern(r"\\(?:u\{[0-9a-fA-F]+\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)|.", re.DOTALL)
_SIZE = 1_000_000
_ANY = -2
"""In the place of a function: nobody knows which one is left."""


class SureTest(NamedTuple):
    """A test that passes only behind an assertion at the top of its body."""

    name: str
    """As runners name it: with the groups around it. A program has no name."""
    is_at_once: bool
    """Nothing is awaited before."""
    is_retold: bool
    """One of these assertions expects something else in the changed text."""


class RetoldScript(NamedTuple):
    """A judge in JavaScript whose text expects other values."""

    text: bytes
    values: tuple[str, ...]
    """The literals that stand in it now."""
    names: frozenset[str]
    """The tests that cannot pass with it."""


class _ScriptToken(NamedTuple):
    kind: str
    text: str
    start: int
    is_first: bool
    """Whether it is the first one of its line."""


class _Body(NamedTuple):
    """The callback of a test or a group."""

    name: str | None
    is_test: bool
    start: int
    end: int
    """The places of its first token, and behind its last one."""
    is_expression: bool = False


def sure_tests(data: bytes, *, has_expect: bool) -> tuple[SureTest, ...]:
    """Return the tests that surely come to an assertion when they pass.

    `has_expect`: it is known who calls `expect`.
    """
    return _ScriptedTests(data, has_expect=has_expect).tests if len(data) < _SIZE else ()


def retell_script(data: bytes, chance: random.Random) -> RetoldScript | None:
    """Return a judge that expects other values; None where nothing of it can be changed."""
    judge = _ScriptedTests(data) if len(data) < _SIZE else None
    names = frozenset(test.name for test in judge.tests if test.is_retold) if judge else None
    if judge is None or not names:
        return None
    text, values = judge.text, list[str]()
    for place in sorted(judge.literals, reverse=True):
        token = judge.tokens[place]
        changed = _other(token, chance)
        values.append(changed)
        text = text[: token.start] + changed + text[token.start + len(token.text) :]
    return RetoldScript(text.encode(), tuple(dict.fromkeys(values)), names)


class _ScriptedTests:
    """What is known of one text."""

    def __init__(self, data: bytes, *, has_expect: bool = True) -> None:
        try:
            self.text = data.decode("utf-8")
        except UnicodeDecodeError:
            self.text = ""
        self.tokens = _tokens(self.text) or []
        self.ends = _paired(self.tokens)
        self.starts = {end: start for start, end in self.ends.items()}
        self.literals: set[int] = set()
        """The places of literals that tests expect."""
        self.has_assert = bool(_ASSERT_OF_NODE.search(self.text))
        self.has_expect = has_expect and not _OWN_EXPECT.search(self.text)
        self.left = self._left()
        is_other = _OWN_TEST.search(self.text) or _OTHER_RUNNER.search(self.text)
        self.tests = self._tests() if self.ends and not is_other else ()

    def _left(self) -> list[tuple[int, int]]:
        """Return where something may be left, with the bracket of the function that is left."""
        found, functions = list[tuple[int, int]](), [-1]
        for place, token in enumerate(self.tokens):
            while functions[-1] >= 0 and place > self.ends.get(functions[-1], place):
                functions.pop()
            if self._is_at(place, "{") and self._is_function(place):
                functions.append(place)
            elif token.text in _RETURNS:
                found.append((place, functions[-1]))
            elif token.text in _LEAVES and token.kind == "name":
                found.append((place, _ANY))
        return found

    def _is_function(self, place: int) -> bool:
        if self._is_at(place - 1, "=>"):
            return True
        opening = self.starts.get(place - 1)
        if not self._is_at(place - 1, ")") or opening is None:
            return False
        return not self._is_at(opening - 1, *_HEADS, "switch", "catch", "await")

    def _tests(self) -> tuple[SureTest, ...]:
        bodies = list(self._bodies())
        found: dict[str, SureTest | None] = {}
        if not any(body.is_test for body in bodies):
            bodies = [_Body("", is_test=True, start=0, end=len(self.tokens))]
        for body in bodies:
            if not body.is_test:
                continue
            around = [each for each in bodies if each.start < body.start < each.end]
            titles = [each.name for each in (*around, body)]
            name = " ".join(title for title in titles if title is not None)
            for place in range(body.start, body.end):
                self.literals.update(self._expected(place))
            sure = self._sure(body, name)
            is_known = None not in titles and not any(each.is_test for each in around)
            # Of two tests with one name nobody knows which it is.
            found[name] = sure if is_known and name not in found else None
        return tuple(test for test in found.values() if test is not None)

    def _bodies(self) -> Iterator[_Body]:
        """Yield the callbacks of tests and groups, the outer ones first."""
        for place, token in enumerate(self.tokens):
            if token.text not in _TESTS | _GROUPS or self._is_at(place - 1, ".", "?."):
                continue
            if not self._is_at(place + 1, "("):
                # `test.each(...)`, `it.skip`, `describe.only`: who knows how they are called.
                body = self._called_otherwise(place)
                if body is not None:
                    yield body
                continue
            end = self.ends.get(place + 1)
            title = self._title(place + 2)
            start = self._callback(place + 4) if end is not None and title is not None else None
            is_test = token.text in _TESTS
            if end is None:
                continue
            if title is None or start is None:
                yield _Body(title, is_test, place + 2, end, is_expression=True)
            elif self._is_at(start, "{"):
                yield _Body(title, is_test, start + 1, self.ends.get(start, start))
            else:
                yield _Body(title, is_test, start, end, is_expression=True)

    def _called_otherwise(self, place: int) -> _Body | None:
        at = place + 1
        while self._is_at(at, ".", "?."):
            at += 2
        end = self.ends.get(at)
        if at == place + 1 or end is None:
            return None
        if self._is_at(end + 1, "("):
            end = self.ends.get(end + 1, end)
        return _Body(None, self.tokens[place].text in _TESTS, at + 1, end, is_expression=True)

    def _is_at(self, place: int, *texts: str) -> bool:
        return 0 <= place < len(self.tokens) and self.tokens[place].text in texts

    def _title(self, place: int) -> str | None:
        if not self._is_at(place + 1, ","):
            return None
        token = self.tokens[place]
        inner = token.text[1:-1]
        is_plain = token.kind in {"text", "template"} and "\\" not in inner and "${" not in inner
        return inner if is_plain and inner.strip() == inner and "\n" not in inner else None

    def _callback(self, place: int) -> int | None:
        """Return where the body of a function begins, which is the last argument but a number."""
        if self._is_at(place, "async"):
            place += 1
        if self._is_at(place, "function"):
            place += 1 if self._is_at(place + 1, "(") else 2
            end = self.ends.get(place)
            return end + 1 if end is not None and self._is_at(end + 1, "{") else None
        end = self.ends.get(place, place)
        return end + 2 if self._is_at(end + 1, "=>") else None

    def _sure(self, body: _Body, name: str) -> SureTest | None:
        """Say what surely happens in a test that passes."""
        is_sure, is_at_once, is_retold, waits = False, False, False, False
        place = body.start
        left = [at for at, whose in self.left if whose in {_ANY, body.start - 1} and at > place]
        end = min([body.end, *left])
        while place < end:
            token = self.tokens[place]
            at = place + 1 if token.text == "await" else place
            if self._is_statement(place, body) and self._is_assertion(at):
                opening = at + 1 if self._is_at(at, "expect") else at + 3
                waits = waits or "await" in self._texts(opening)
                is_sure, is_at_once = True, is_at_once or not waits
                is_retold = is_retold or (at == place and bool(self._expected(place)))
            if body.is_expression:
                break
            waits = waits or token.text == "await" or "await" in self._texts(place)
            place = self.ends.get(place, place + 1)
        return SureTest(name, is_at_once, is_retold) if is_sure else None

    def _texts(self, place: int) -> set[str]:
        """Return what stands within a bracket."""
        return {token.text for token in self.tokens[place : self.ends.get(place, place)]}

    def _is_statement(self, place: int, body: _Body) -> bool:
        if place == body.start:
            return True
        before = self.tokens[place - 1]
        if before.text in {";", "}"}:
            return True
        if not self.tokens[place].is_first:
            return False
        if before.text == ")":
            return not self._is_at(self.starts[place - 1] - 1, *_HEADS, "await")
        if before.kind == "mark":
            return before.text == "]"
        return before.text not in _BEFORE_AN_EXPRESSION

    def _is_assertion(self, place: int) -> bool:
        if self.has_expect and self._is_at(place, "expect"):
            return self._is_at(place + 1, "(")
        return (
            self.has_assert
            and self._is_at(place, "assert")
            and self._is_at(place + 1, ".")
            and self._is_at(place + 2, *_EQUALITIES, *_OTHERS)
            and self._is_at(place + 3, "(")
        )

    def _expected(self, place: int) -> list[int]:
        """Return the places of literals that an assertion expects which stands here."""
        if self._is_at(place - 1, "."):
            return []
        if self.has_expect and self._is_at(place, "expect") and self._is_at(place + 1, "("):
            end = self.ends.get(place + 1, place)
            is_one = self._is_at(end + 1, ".") and self._is_at(end + 2, *_MATCHERS)
            if not is_one or not self._is_at(end + 3, "("):
                return []
            return self._leaves(end + 4, self.ends.get(end + 3, end))
        if not self._is_assertion(place) or not self._is_at(place + 2, *_EQUALITIES):
            return []
        end = self.ends.get(place + 3, place)
        at = place + 4
        while at < end and not self._is_at(at, ","):
            at = self.ends.get(at, at) + 1
        return self._leaves(at + 1, end)

    def _leaves(self, place: int, end: int) -> list[int]:
        """Return the places of what can be changed in an argument that is all literal."""
        found = list[int]()
        depth = 0
        for at in range(place, end):
            token = self.tokens[at]
            if token.text == "," and not depth:
                break
            depth += (token.text in _PAIRS) - (token.text in _PAIRS.values())
            is_key = self._is_at(at + 1, ":")
            if token.kind in {"text", "number"}:
                if not is_key and _can_change(token):
                    found.append(at)
            elif token.kind == "name":
                if not is_key and token.text not in {"true", "false", "null", "undefined"}:
                    return []
            elif token.text not in {",", "[", "]", "{", "}", ":", "-"}:
                return []
        return found


def _tokens(text: str) -> list[_ScriptToken] | None:
    """Return what a text is made of; None where that cannot be told."""
    found = list[_ScriptToken]()
    place, is_first = len(text.split("\n", 1)[0]) if text.startswith("#!") else 0, True
    while place < len(text):
        if text[place] == "`":
            end = _behind_template(text, place)
            if end is None:
                return None
            found.append(_ScriptToken("template", text[place:end], place, is_first))
            place, is_first = end, False
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        kind, said = match.lastgroup or "", match[0]
        if kind == "mark" and said == "/" and _may_be_expression(found):
            match = _EXPRESSION.match(text, place)
            if match is None:
                return None
            kind, said = "expression", match[0]
        if kind == "mark" and said in "'\"":
            return None
        if kind == "space":
            is_first = is_first or "\n" in said
        else:
            found.append(_ScriptToken(kind, said, place, is_first))
            is_first = False
        place += len(said)
    return found


def _may_be_expression(found: list[_ScriptToken]) -> bool:
    if not found:
        return True
    last = found[-1]
    if last.kind == "name":
        return last.text in _BEFORE_AN_EXPRESSION
    return last.kind == "mark" and last.text not in {")", "]", "}", "++", "--"}


def _behind_template(text: str, place: int) -> int | None:
    """Return where a template ends, whatever stands in it."""
    place += 1
    while place < len(text):
        if text[place] == "\\":
            place += 2
        elif text[place] == "`":
            return place + 1
        elif text.startswith("${", place):
            end = _behind_brace(text, place + 2)
            if end is None:
                return None
            place = end
        else:
            place += 1
    return None


def _behind_brace(text: str, place: int) -> int | None:
    depth = 1
    while place < len(text):
        if text[place] == "`":
            end = _behind_template(text, place)
            if end is None:
                return None
            place = end
            continue
        match = _TOKEN.match(text, place)
        if match is None:
            return None
        depth += (match[0] == "{") - (match[0] == "}")
        place = match.end()
        if not depth:
            return place
    return None


def _paired(tokens: list[_ScriptToken]) -> dict[int, int]:
    """Return by the place of each bracket that of the one that closes it; empty if some do not."""
    found, opened = dict[int, int](), list[int]()
    for place, token in enumerate(tokens):
        if token.kind != "mark":
            continue
        if token.text in _PAIRS:
            opened.append(place)
        elif token.text in _PAIRS.values():
            if not opened or _PAIRS[tokens[opened[-1]].text] != token.text:
                return {}
            found[opened.pop()] = place
    return {} if opened else found


# -- literals --------------------------------------------------------------------------------------


def _can_change(token: _ScriptToken) -> bool:
    if token.kind == "number":
        return bool(_PLAIN_NUMBER.fullmatch(token.text)) and not re.match(r"0\d", token.text)
    return any(len(each) == 1 and each.isascii() and each.isalnum() for each in _parts(token))


def _parts(token: _ScriptToken) -> list[str]:
    return _ESCAPE.findall(token.text[1:-1])


def _other(token: _ScriptToken, chance: random.Random) -> str:
    """Return another literal that looks the same: letters for letters, digits for digits."""
    if token.kind == "number":
        # Never 0 for a digit that was not: 10 may not become 01, nor 5 become 0.
        return "".join(_another(each, chance, "123456789") for each in token.text)
    quote = token.text[0]
    return quote + "".join(_another(each, chance, "0123456789") for each in _parts(token)) + quote


def _another(part: str, chance: random.Random, digits: str) -> str:
    if len(part) != 1 or not part.isascii() or not part.isalnum():
        return part
    letters = "abcdefghijklmnopqrstuvwxyz"
    choices = digits if part.isdigit() else letters if part.islower() else letters.upper()
    return chance.choice([each for each in choices if each != part])


def answered(
    scripts: Mapping[str, RetoldScript], taken: Collection[str], passed: Collection[str]
) -> frozenset[str]:
    """Return the tests that passed with a text that expects what is not right."""
    sure = {f"{path}::{name}" for path, script in scripts.items() for name in script.names}
    return frozenset(name.removesuffix("::") for name in sure.intersection(taken, passed))
