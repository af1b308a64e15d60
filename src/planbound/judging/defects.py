"""Generated defects: what a contract is to notice in each function that was written or changed."""

from __future__ import annotations

import ast
import enum
import io
import tokenize
import warnings
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple


class DefectKind(enum.Enum):
    """What is wrong with a function."""

    CONSTANT = "constant"
    """It returns always the same, yields nothing, or does nothing."""
    RAISES = "raises"
    DELETED = "deleted"


class Defect(NamedTuple):
    """One function of one file, made wrong."""

    path: str
    line: int
    """Where the function begins."""
    function: str
    """Its name, behind those of the classes that it stands in."""
    kind: DefectKind
    what: str
    """In words: `returns 0`, `does nothing`, `raises`, `is deleted`."""
    start: int
    """Which bytes of the source, in UTF-8, are replaced."""
    end: int
    text: str

    def __str__(self) -> str:
        return f"{self.path}:{self.line} {self.function} {self.what}"


class FileDefects(NamedTuple):
    """What can be made wrong in one file."""

    functions: int = 0
    """How many functions were changed, apart from those that say nothing, such as `...`."""
    defects: tuple[Defect, ...] = ()
    fault: str = ""
    """Why nobody knows: the source cannot be read."""


def is_python(path: str, content: bytes) -> bool:
    """Say whether a file is a program in Python, by its name or by its first line."""
    name = path.rpartition("/")[2]
    if "." in name:
        return name.endswith(".py")
    return content.startswith(b"#!") and b"python" in content.partition(b"\n")[0]


def defects_of(path: str, now: bytes, before: bytes | None) -> FileDefects:
    """Return the defects of every function that is not as it was; all where there was no file."""
    try:
        source = _read(now)
    except _UNREADABLE as error:
        return FileDefects(fault=f"Python cannot read it: {_reason(error)}")
    known = _shapes(before)
    found = [
        function
        for function in _functions(source.tree.body)
        if not _says_nothing(function.node)
        and _shape(function.node) not in known.get(function.name, ())
    ]
    made = tuple(
        Defect(path, function.node.lineno, function.name, *each)
        for function in found
        for each in _defects(function.node, source)
    )
    return FileDefects(len(found), made)


def applied(content: bytes, defect: Defect) -> bytes:
    """Return a file with a defect in it; all lines stay where they are."""
    encoding = _encoding(content)
    source = content.decode(encoding).encode()
    changed = source[: defect.start] + defect.text.encode() + source[defect.end :]
    return changed.decode().encode(encoding)


# -- sources and the functions in them -----------------------------------------------------------


_Function = ast.FunctionDef | ast.AsyncFunctionDef
_UNREADABLE = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError)


class _NamedFunction(NamedTuple):
    name: str
    node: _Function


class _PythonFile(NamedTuple):
    data: bytes
    """In UTF-8, as the offsets of the tree count."""
    starts: tuple[int, ...]
    """Where each line begins."""
    tree: ast.Module

    def offset(self, line: int, column: int) -> int:
        return self.starts[line - 1] + column


def _encoding(content: bytes) -> str:
    return tokenize.detect_encoding(io.BytesIO(content).readline)[0]


def _read(content: bytes) -> _PythonFile:
    text = content.decode(_encoding(content))
    data = text.encode()
    # Of bytes only the ends of lines that Python knows are ends.
    lengths = (len(line) for line in data.splitlines(keepends=True))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what Python would say of this source is for its author
        return _PythonFile(data, (0, *accumulate(lengths)), ast.parse(text))


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError) and error.lineno is not None:
        return f"line {error.lineno}: {error.msg}"
    return str(error) or type(error).__name__


def _shapes(before: bytes | None) -> dict[str, set[str]]:
    """Return how the functions of each name were before."""
    found: dict[str, set[str]] = {}
    try:
        body = _read(before).tree.body if before is not None else []
    except _UNREADABLE:
        body = []
    for function in _functions(body):
        found.setdefault(function.name, set()).add(_shape(function.node))
    return found


def _functions(body: Sequence[ast.stmt], prefix: str = "") -> Iterator[_NamedFunction]:
    """Yield functions and methods; what is within a function is a part of it."""
    for node in body:
        if isinstance(node, _Function):
            yield _NamedFunction(prefix + node.name, node)
        elif isinstance(node, ast.ClassDef):
            yield from _functions(node.body, f"{prefix}{node.name}.")
        else:
            for name in ("body", "orelse", "finalbody"):
                yield from _functions(getattr(node, name, ()), prefix)
            for handler in getattr(node, "handlers", ()):
                yield from _functions(handler.body, prefix)


def _work(node: _Function) -> list[ast.stmt]:
    """Return what a function does, without its docstring."""
    return node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body


def _shape(node: _Function) -> str:
    """Return what makes two functions the same: neither where they stand nor what they tell."""
    parts = [node.args, *node.decorator_list, *_work(node)]
    returns = ast.dump(node.returns) if node.returns is not None else ""
    return "\n".join([type(node).__name__, returns, *map(ast.dump, parts)])


def _says_nothing(node: _Function) -> bool:
    """Say whether a function is a place for one: nothing could be wrong with it."""
    work = _work(node)
    if len(work) > 1:
        return False
    match work:
        case [] | [ast.Pass()] | [ast.Expr(ast.Constant())]:
            return True
        case [ast.Return(None | ast.Constant(None))]:
            return True
        case [ast.Raise(ast.Name(name) | ast.Call(ast.Name(name)))]:
            return name == "NotImplementedError"
        case _:
            return False


# -- what is put instead of a function, or of what it does ---------------------------------------


_RAISES = 'raise RuntimeError("a defect made by planbound control")'
_Made = tuple[DefectKind, str, int, int, str]


def _defects(node: _Function, source: _PythonFile) -> Iterator[_Made]:
    work = _work(node)
    start = _begin(work[0], source)
    end = source.offset(work[-1].end_lineno or 0, work[-1].end_col_offset or 0)
    blank = "\n" * source.data[start:end].count(b"\n")
    what, code = _constant(node)
    yield DefectKind.CONSTANT, what, start, end, code + blank
    if not (len(work) == 1 and isinstance(work[0], ast.Raise)):
        yield DefectKind.RAISES, "raises", start, end, _RAISES + blank
    start = _begin(node, source)
    blank = "\n" * source.data[start:end].count(b"\n")
    yield DefectKind.DELETED, "is deleted", start, end, f"pass{blank}"


def _begin(node: ast.stmt, source: _PythonFile) -> int:
    """Return where a statement begins, with its decorators."""
    for decorator in getattr(node, "decorator_list", ())[:1]:
        return source.data.rindex(b"@", 0, source.offset(decorator.lineno, decorator.col_offset))
    return source.offset(node.lineno, node.col_offset)


def _constant(node: _Function) -> tuple[str, str]:
    """Return in words and as code how a function answers always the same."""
    own = list(_own(node))
    if any(isinstance(each, ast.Yield | ast.YieldFrom) for each in own):
        return "yields nothing", "return; yield"
    values = [each.value for each in own if isinstance(each, ast.Return) and each.value]
    if all(isinstance(value, ast.Constant) and value.value is None for value in values):
        return "does nothing", "return None"
    answers = [ast.unparse(value) for value in values]
    likely = _by_annotation(node.returns) or _by_value(values[0]) or "None"
    for candidate in _CONSTANTS[likely]:
        if any(answer != candidate for answer in answers):
            return f"returns {candidate}", f"return {candidate}"
    return "returns None", "return None"


def _own(node: _Function) -> Iterator[ast.AST]:
    """Yield what belongs to a function itself, and not to one within it."""
    waiting: list[ast.AST] = list(node.body)
    while waiting:
        each = waiting.pop(0)
        yield each
        if not isinstance(each, _Function | ast.Lambda | ast.ClassDef):
            waiting.extend(ast.iter_child_nodes(each))


_CONSTANTS: Mapping[str, tuple[str, ...]] = {
    "None": ("None",),
    "bool": ("False", "True"),
    "int": ("0", "1"),
    "float": ("0.0", "1.0"),
    "complex": ("0j", "1j"),
    "str": ("''", "'x'"),
    "bytes": ("b''", "b'x'"),
    "list": ("[]", "[None]"),
    "tuple": ("()", "(None,)"),
    "dict": ("{}", "{None: None}"),
    "set": ("set()", "{None}"),
    "frozenset": ("frozenset()", "frozenset({None})"),
}
_LIKE = {
    "List": "list", "Sequence": "list", "MutableSequence": "list", "Iterable": "list",
    "Collection": "list", "Tuple": "tuple", "Dict": "dict", "Mapping": "dict",
    "MutableMapping": "dict", "Set": "set", "AbstractSet": "set", "FrozenSet": "frozenset",
    "Optional": "None",
}  # fmt: skip
_CALLS = {
    "sorted": "list", "len": "int", "sum": "int", "ord": "int", "any": "bool", "all": "bool",
    "isinstance": "bool", "repr": "str", "chr": "str", "round": "int",
}  # fmt: skip
_METHODS = {
    "join": "str", "format": "str", "strip": "str", "lower": "str", "upper": "str",
    "startswith": "bool", "endswith": "bool", "split": "list", "splitlines": "list",
    "encode": "bytes", "decode": "str",
}  # fmt: skip
_NODES: Mapping[type[ast.expr], str] = {
    ast.JoinedStr: "str",
    ast.List: "list",
    ast.ListComp: "list",
    ast.Tuple: "tuple",
    ast.Dict: "dict",
    ast.DictComp: "dict",
    ast.Set: "set",
    ast.SetComp: "set",
    ast.Compare: "bool",
}


def _by_annotation(node: ast.expr | None) -> str | None:
    """Return the kind of value that is promised, where one of ours is."""
    match node:
        case ast.Constant(str() as text):
            return _by_annotation(_parsed(text))
        case ast.BinOp(left, ast.BitOr(), right):
            kinds = (_by_annotation(left), _by_annotation(right))
            return "None" if "None" in kinds else kinds[0]
        case ast.Subscript(ast.Name("Annotated") | ast.Attribute(_, "Annotated"), ast.Tuple(inner)):
            return _by_annotation(inner[0])
        case ast.Subscript(value):
            return _by_annotation(value)
        case ast.Name(name) | ast.Attribute(_, name):
            return _LIKE.get(name, name if name in _CONSTANTS else None)
        case _:
            return "None" if isinstance(node, ast.Constant) and node.value is None else None


def _parsed(annotation: str) -> ast.expr | None:
    try:
        return ast.parse(annotation, mode="eval").body
    except _UNREADABLE:
        return None


def _by_value(node: ast.expr) -> str | None:
    """Return the kind of value that something written in a `return` has, where it can be seen."""
    match node:
        case ast.Constant(value):
            return type(value).__name__ if type(value).__name__ in _CONSTANTS else None
        case ast.UnaryOp(ast.Not()):
            return "bool"
        case ast.Call(ast.Name(name)):
            return _CALLS.get(name, name if name in _CONSTANTS else None)
        case ast.Call(ast.Attribute(_, name)):
            return _METHODS.get(name)
        case _:
            return _NODES.get(type(node))
