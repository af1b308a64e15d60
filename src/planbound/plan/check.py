"""Tables of cases: what a product is given, and what it has to answer.

A table has lines `name: value` that say what is started, and one JSON object for each case. What
is expected is data, or a predicate on data: an object whose names begin with `$`.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache

from msgspec import Struct

from planbound.plan.data import (
    BLANKS,
    PREDICATES,
    Data,
    DataError,
    decode_at,
    is_predicate,
    predicate_faults,
)
from planbound.plan.limits import LimitError, parse_duration
from planbound.plan.vocabulary import nearest
from planbound.source import lazy_pattern, visible

# -- the table -----------------------------------------------------------------------------------


class CheckKind(enum.Enum):
    """What is started for a case."""

    COMMAND = "command"
    SERVICE = "service"
    FUNCTION = "function"


class TableFault(Struct, frozen=True):
    """What is wrong with a table, and where in its text."""

    rule: str
    start: int
    end: int
    message: str
    hint: str | None = None


class CheckCase(Struct, frozen=True):
    """One case: what the product is given, and what it has to answer."""

    number: int
    given: Mapping[str, Data]
    expected: Mapping[str, Data]

    @property
    def name(self) -> str:
        """What the table calls it; empty where it has no name."""
        return str(self.given.get("name", ""))


class CheckTable(Struct, frozen=True):
    """All that a table says."""

    kind: CheckKind | None = None
    start: str = ""
    """The command, the service's command, or `module:function`."""
    start_place: tuple[int, int] = (0, 0)
    port: int | None = None
    seconds: Decimal | None = None
    """How long one case may take."""
    held_out: str | None = None
    """The name of a file with more cases, which is held out."""
    held_out_place: tuple[int, int] = (0, 0)
    cases: tuple[CheckCase, ...] = ()
    faults: tuple[TableFault, ...] = ()


HELD_OUT_SUFFIX = ".cases.jsonl"
"""How a file of cases is called: what is called so is laid into no cell."""
MOST_CASES = 10_000
UNREADABLE, UNEXPECTED, BAD_PREDICATE, TOO_FEW = (
    "unreadable-table",
    "case-without-expectation",
    "unknown-predicate",
    "table-without-cases",
)
_HEADER = lazy_pattern(r"(?P<name>[A-Za-z_]+)[ \t]*:[ \t]*(?P<value>[^\n]*)")
_FUNCTION = lazy_pattern(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_REQUEST = lazy_pattern(r"[A-Z]{3,10} /[!-~]*")
_OPTIONS = ("port", "case_timeout", "cases")
_EXAMPLE = "write `command: python3 -m slug`, `service: ...` or `function: slug:slugify`"


def _is_text(value: Data) -> bool:
    return isinstance(value, str)


def _are_words(value: Data) -> bool:
    # No program can be given a word with a zero byte.
    return isinstance(value, list) and all(
        isinstance(word, str) and "\0" not in word for word in value
    )


def _is_table_of_texts(value: Data) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value.values()))


def _are_files(value: Data) -> bool:
    return (
        isinstance(value, dict)
        and _is_table_of_texts(value)
        and not any(
            path.startswith("/") or not path or "\0" in path or ".." in path.split("/")
            for path in value
        )
    )


def _is_request(value: Data) -> bool:
    return isinstance(value, str) and _REQUEST.fullmatch(value) is not None


def _are_requests(value: Data) -> bool:
    known = {"request", "send", "headers"}
    return isinstance(value, list) and all(
        _is_request(item)
        or (
            isinstance(item, dict)
            and _is_request(item.get("request"))
            and _are_headers(item.get("headers", {}))
            and known.issuperset(item)
        )
        for item in value
    )


def _are_headers(value: Data) -> bool:
    return (
        isinstance(value, dict)
        and _is_table_of_texts(value)
        and all(text.isprintable() for item in value.items() for text in map(str, item))
    )


_ANY: tuple[str, Callable[[Data], bool]] = ("data", lambda _: True)
_TRUE: tuple[str, Callable[[Data], bool]] = ("`true`", lambda value: value is True)
_WHOLE: tuple[str, Callable[[Data], bool]] = (
    "a whole number, or a predicate",
    lambda v: is_predicate(v) or (isinstance(v, int) and not isinstance(v, bool)),
)
_TEXT_OR_PREDICATE: tuple[str, Callable[[Data], bool]] = (
    "a text, or a predicate",
    lambda v: isinstance(v, str | dict),
)
_SENT: tuple[str, Callable[[Data], bool]] = ("`GET /path`", _is_request)
_GIVEN: Mapping[CheckKind, Mapping[str, tuple[str, Callable[[Data], bool]]]] = {
    CheckKind.COMMAND: {
        "argv": ("a list of texts", _are_words),
        "stdin": _ANY,
        "files": ("texts by their paths in the workspace", _are_files),
    },
    CheckKind.SERVICE: {
        "request": _SENT,
        "send": _ANY,
        "headers": ("texts by their names", _are_headers),
        "before": ("a list of requests", _are_requests),
    },
    CheckKind.FUNCTION: {
        "args": ("a list", lambda v: isinstance(v, list)),
        "kwargs": ("values by their names", lambda v: isinstance(v, dict)),
    },
}
_EXPECTED: Mapping[CheckKind, Mapping[str, tuple[str, Callable[[Data], bool]]]] = {
    CheckKind.COMMAND: {
        "stdout": _TEXT_OR_PREDICATE,
        "stderr": _TEXT_OR_PREDICATE,
        "json": _ANY,
        "exit_code": _WHOLE,
        "error": _TRUE,
    },
    CheckKind.SERVICE: {
        "status": _WHOLE,
        "json": _ANY,
        "text": _TEXT_OR_PREDICATE,
        "error": _TRUE,
    },
    CheckKind.FUNCTION: {
        "returns": _ANY,
        "error": (
            "`true`, or the name of an exception",
            lambda value: value is True or (isinstance(value, str) and value.isidentifier()),
        ),
        "message": _TEXT_OR_PREDICATE,
    },
}


@lru_cache(maxsize=64)
def read_table(text: str) -> CheckTable:
    """Return what a table says; what cannot be read is among its faults."""
    reader = _TableReader(text)
    reader.read()
    return reader.table()


def say_table(text: str) -> str:
    """Return in a line what a table checks, and by how many cases."""
    table = read_table(text)
    count = len(table.cases)
    cases = f"{count} case" if count == 1 else f"{count} cases"
    more = f", and those of `{visible(table.held_out)}`, held out" if table.held_out else ""
    return f"compared outside the product's process: {cases}{more}"


def read_cases(text: str, kind: CheckKind) -> tuple[tuple[CheckCase, ...], tuple[TableFault, ...]]:
    """Return the cases of a file that holds nothing else."""
    reader = _TableReader(text, kind)
    reader.read()
    return tuple(reader.cases), tuple(reader.faults)


class _TableReader:
    def __init__(self, text: str, kind: CheckKind | None = None) -> None:
        self.text = text
        self.only_cases = kind is not None
        self.kind = kind
        self.start = ""
        self.options: dict[str, tuple[str, int, int]] = {}
        self.cases: list[CheckCase] = []
        self.faults: list[TableFault] = []
        self.objects: list[tuple[Data, int, int]] = []

    def read(self) -> None:
        position = 0
        while position < len(self.text):
            if self.text[position] in BLANKS:
                position += 1
            elif self.text[position] == "#":
                position = self._line_end(position)
            elif self.text[position] in "{[":
                position = self._object(position)
            else:
                position = self._header(position)
        for value, start, end in self.objects[:MOST_CASES]:
            self._case(value, start, end)
        if len(self.objects) > MOST_CASES:
            self._fault(UNREADABLE, *self.objects[MOST_CASES][1:], f"over {MOST_CASES:,} cases")

    def table(self) -> CheckTable:
        if self.kind is None and not self.faults:
            end = self._line_end(0)
            self._fault(UNREADABLE, 0, end, "the table does not say what is started", _EXAMPLE)
        if self.kind is CheckKind.FUNCTION and not _FUNCTION.fullmatch(self.start):
            message = f"`{self.start}` is no function"
            self._fault(UNREADABLE, *self._place("function"), message, "write `module:function`")
        held_out = self.options.get("cases")
        if not self.objects and held_out is None:
            end = self._line_end(0)
            hint = "write one JSON object in a line for each case, or name a file by `cases:`"
            self._fault(TOO_FEW, 0, end, "the table has no case", hint)
        return CheckTable(
            kind=self.kind,
            start=self.start,
            start_place=self._place(self.kind.value) if self.kind else (0, 0),
            port=self._port(),
            seconds=self._seconds(),
            held_out=held_out[0] if held_out else None,
            held_out_place=held_out[1:] if held_out else (0, 0),
            cases=tuple(self.cases),
            faults=tuple(self.faults),
        )

    # -- what is started ---------------------------------------------------------------------

    def _header(self, position: int) -> int:
        end = self._line_end(position)
        match = _HEADER.fullmatch(self.text, position, end)
        kinds = [kind.value for kind in CheckKind]
        if match is None or self.only_cases:
            shown = self.text[position:end].strip()[:40]
            message = f"`{shown}` is no case"
            hint = "a case is a JSON object in a line"
            self._fault(UNREADABLE, position, end, message, hint)
            return end
        name, value = match["name"].lower(), match["value"].strip()
        if name not in (*kinds, *_OPTIONS):
            near = nearest(name, (*kinds, *_OPTIONS))
            hint = f"did you mean `{near}:`?" if near else _EXAMPLE
            self._fault(UNREADABLE, position, end, f"a table has no `{name}`", hint)
        elif not value:
            self._fault(UNREADABLE, position, end, f"`{name}` has no value")
        elif name in self.options or (name in kinds and self.kind is not None):
            other = name if name in self.options else "what is started"
            self._fault(UNREADABLE, position, end, f"`{other}` is given twice", "keep one of them")
        else:
            self.options[name] = (value, match.start("value"), match.start("value") + len(value))
            if name in kinds:
                self.kind, self.start = CheckKind(name), value
        return end

    def _port(self) -> int | None:
        value = self.options.get("port")
        if value is None:
            return None
        if self.kind is not CheckKind.SERVICE:
            self._fault(UNREADABLE, *value[1:], "only a service has a port")
        elif value[0].isdecimal() and 1 <= int(value[0][:6]) <= 65535:
            return int(value[0])
        else:
            self._fault(UNREADABLE, *value[1:], f"`{value[0]}` is no port", "write 1 to 65535")
        return None

    def _seconds(self) -> Decimal | None:
        value = self.options.get("case_timeout")
        if value is None:
            return None
        try:
            return parse_duration(value[0])
        except LimitError as error:
            self._fault(UNREADABLE, *value[1:], f"`case_timeout`: {error.reason}", error.hint)
            return None

    def _place(self, name: str) -> tuple[int, int]:
        return self.options[name][1:]

    # -- cases -------------------------------------------------------------------------------

    def _object(self, position: int) -> int:
        try:
            value, end = decode_at(self.text, position)
        except DataError as error:
            end = self._line_end(position)
            start = error.position if position <= error.position < end else position
            self._fault(UNREADABLE, start, end, f"a case cannot be read: {error.reason}", _ONE_LINE)
            return end
        if not isinstance(value, dict):
            self._fault(UNREADABLE, position, end, "a case is no JSON object", _ONE_LINE)
        else:
            self.objects.append((value, position, end))
        return end

    def _case(self, value: Data, start: int, end: int) -> None:
        assert isinstance(value, dict)
        number = len(self.cases) + 1
        if self.kind is None:
            self.cases.append(CheckCase(number, value, {}))
            return
        given, expected = _GIVEN[self.kind], _EXPECTED[self.kind]
        for name, content in value.items():
            self._member(name, content, (start, end), number)
        if self.kind is CheckKind.SERVICE and "request" not in value:
            message, hint = f"case {number} sends no request", 'write `"request": "GET /path"`'
            self._fault(UNREADABLE, start, end, message, hint)
        wanted = {name: item for name, item in value.items() if name in expected}
        if not wanted:
            hint = f"write one of {_listed(expected)}"
            self._fault(UNEXPECTED, start, end, f"case {number} expects nothing", hint)
        self.cases.append(
            CheckCase(number, {n: v for n, v in value.items() if n in given or n == "name"}, wanted)
        )

    def _member(self, name: str, content: Data, place: tuple[int, int], number: int) -> None:
        assert self.kind is not None
        expected = _EXPECTED[self.kind]
        known = {"name": ("a text", _is_text), **_GIVEN[self.kind], **expected}
        if name not in known:
            near = nearest(name, known)
            hint = f"did you mean `{near}`?" if near else f"there are {_listed(known)}"
            message = f"a {self.kind.value}'s case has no `{name}`"
            self._fault(UNREADABLE, *place, f"case {number}: {message}", hint)
            return
        takes, is_right = known[name]
        if not is_right(content):
            self._fault(UNREADABLE, *place, f"case {number}: `{name}` takes {takes}")
        elif name in expected:
            is_text = expected[name] is _TEXT_OR_PREDICATE
            if is_text and isinstance(content, dict) and not is_predicate(content):
                first = next(iter(content), "")
                message = f"case {number}: there is no predicate `{first}`"
                near = nearest(f"${first}", PREDICATES)
                cure = f"did you mean `{near}`?" if near else None
                self._fault(BAD_PREDICATE, *place, message, cure)
                return
            for wrong, cure in predicate_faults(content):
                self._fault(BAD_PREDICATE, *place, f"case {number}: {wrong}", cure)

    # -- pieces ------------------------------------------------------------------------------

    def _line_end(self, position: int) -> int:
        end = self.text.find("\n", position)
        return len(self.text) if end < 0 else end

    def _fault(
        self, rule: str, start: int, end: int, message: str, hint: str | None = None
    ) -> None:
        line = min(end, self._line_end(start))
        self.faults.append(TableFault(rule, start, line, message, hint))


_ONE_LINE = 'a case is one JSON object, as in `{"argv": ["--help"], "exit_code": 0}`'


def _listed(names: Mapping[str, object]) -> str:
    return ", ".join(f"`{name}`" for name in names)
