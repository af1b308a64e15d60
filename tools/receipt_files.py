"""Writes what is made from the modules of receipts, and checks that it is current.

`python -m tools.receipt_files` writes; with `--check` it only says which file is stale:

- `src/planbound/receipts/shape.py`: the predicate's shape, for checkers without a library
- `docs/reference/plan-run.schema.json`: the same as a JSON schema
- `planbound-check-receipt.py`: the checker as one file of standard library
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec

from planbound.receipts import predicate
from planbound.receipts.predicate import Deviation, PlanRun
from planbound.receipts.replayed import PlanReplay

ROOT = Path(__file__).resolve().parent.parent
SHAPE = "src/planbound/receipts/shape.py"
SCHEMA = "docs/reference/plan-run.schema.json"
CHECKER = "planbound-check-receipt.py"
MAIN = ROOT / "tools/receipt_checker.py"
FOLDER = ROOT / "src/planbound/receipts"
PARTS = (
    "envelope",
    "ssh_signature",
    "merkle",
    "git_tree",
    "shape",
    "claims",
    "check_journal",
    "check_tree",
    "check_facts",
    "check_claims",
    "check_replay",
    "check",
)
"""The modules of the checker, each behind those that it uses."""


def main(argv: list[str]) -> int:
    """Write the files, or check that they are current."""
    parser = argparse.ArgumentParser(prog="python -m tools.receipt_files", description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if one is stale"
    )
    arguments = parser.parse_args(argv)
    stale = 0
    for name, make in {SHAPE: shape, SCHEMA: schema, CHECKER: checker}.items():
        text, path = make(), ROOT / name
        if path.exists() and path.read_text(encoding="utf-8") == text:
            continue
        stale += 1
        if arguments.check:
            print(f"{name}: stale; run `make docs`")
        else:
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if stale and arguments.check else 0


# -- the shape ------------------------------------------------------------------------------------


def shape() -> str:
    """Return the module that knows the keys and types of the predicate."""
    structs: dict[str, dict[str, str]] = {}
    _collect(PlanRun, structs)
    _collect(PlanReplay, structs)
    tagged = {
        str(each.__struct_config__.tag): _fields(each, structs) for each in get_args(Deviation)
    }
    text = "\n".join(
        [
            '"""The shape of the predicate, made from `predicate.py` by `make docs`."""',
            "",
            "from __future__ import annotations",
            "",
            "from collections.abc import Iterator",
            "",
            "SHAPES = {",
            *_table(structs),
            "}",
            '"""By part its keys with types: `T?` may be null, `[T]` a list, `{T}` by name."""',
            "DEVIATIONS = {",
            *_table(tagged),
            "}",
            '"""The same by the word that stands in `deviation`."""',
            _READER.strip("\n"),
            "",
        ]
    )
    command = [sys.executable, "-m", "ruff", "format", "--stdin-filename", SHAPE, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True, cwd=ROOT)
    return done.stdout


def _table(parts: dict[str, dict[str, str]]) -> list[str]:
    """Return a line or a few for each part: its keys, each with its type."""
    lines = []
    for name, fields in parts.items():
        words = [f"{key}:{kind}" for key, kind in fields.items()]
        text = textwrap.wrap(" ".join(words), 84 - len(name) if len(name) > 12 else 78)
        if len(text) < 2:
            lines.append(f'    "{name}": "{"".join(text)}",')
            continue
        lines.append(f'    "{name}": (')
        lines += [f'        "{each} "' for each in text[:-1]]
        lines += [f'        "{text[-1]}"', "    ),"]
    return lines


def _collect(kind: type[msgspec.Struct], found: dict[str, dict[str, str]]) -> None:
    found[kind.__name__] = {}
    found[kind.__name__] = _fields(kind, found)


def _fields(kind: type[msgspec.Struct], found: dict[str, dict[str, str]]) -> dict[str, str]:
    hints = get_type_hints(kind)
    return {name: _word(hints[name], found) for name in kind.__struct_fields__}


_PLAIN = {str: "str", int: "int", bool: "bool", float: "number"}


def _word(hint: Any, found: dict[str, dict[str, str]]) -> str:
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in {Union, UnionType}:
        rest = [each for each in inner if each is not NoneType]
        if len(rest) == 1:
            return f"{_word(rest[0], found)}?"
        return "Deviation"
    if origin is tuple:
        return f"[{_word(inner[0], found)}]"
    if origin is dict:
        return f"{{{_word(inner[1], found)}}}"
    if hint.__name__ not in found:
        _collect(hint, found)
    name: str = hint.__name__
    return name


_READER = '''
_PLAIN: dict[str, type | tuple[type, ...]] = {
    "str": str,
    "int": int,
    "bool": bool,
    "number": (int, float),
}


def faults_of(run: object, kind: str = "PlanRun") -> Iterator[str]:
    """Yield where a predicate has not its shape: unknown keys, missing ones, other types."""
    yield from _misshapen(run, kind, "the predicate")


def _misshapen(value: object, kind: str, where: str) -> Iterator[str]:
    if kind.endswith("?"):
        if value is not None:
            yield from _misshapen(value, kind[:-1], where)
    elif kind[0] in "[{":
        yield from _several(value, kind, where)
    elif kind in _PLAIN:
        if not isinstance(value, _PLAIN[kind]) or isinstance(value, bool) != (kind == "bool"):
            yield f"{where} is not of type `{kind}`"
    elif not isinstance(value, dict):
        yield f"{where} is no object"
    else:
        yield from _part(value, kind, where)


def _several(value: object, kind: str, where: str) -> Iterator[str]:
    if kind[0] == "[" and isinstance(value, list):
        for place, each in enumerate(value):
            yield from _misshapen(each, kind[1:-1], f"{where}[{place}]")
    elif kind[0] == "{" and isinstance(value, dict):
        for name, each in value.items():
            yield from _misshapen(each, kind[1:-1], f"{where}.{name}")
    else:
        yield f"{where} is no {'list' if kind[0] == '[' else 'object'}"


def _part(value: dict[str, object], kind: str, where: str) -> Iterator[str]:
    said = SHAPES.get(kind, "")
    if kind == "Deviation":
        word = value.get("deviation")
        if not isinstance(word, str) or word not in DEVIATIONS:
            yield f"{where} is an unknown deviation"
            return
        said = f"deviation:str {DEVIATIONS[word]}"
    keys = dict(each.split(":") for each in said.split())
    for name in value:
        if name not in keys:
            yield f"{where} has an unknown key `{name}`: a newer version may know it"
    for name, inner in keys.items():
        if name in value:
            yield from _misshapen(value[name], inner, f"{where}.{name}")
        else:
            yield f"{where} has no `{name}`"
'''


def schema() -> str:
    """Return the JSON schema of the predicate."""
    found = msgspec.json.schema(PlanRun)
    said = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": predicate.PLAN_RUN,
        "title": "plan-run v0.1",
        **found,
    }
    for name, part in said.get("$defs", {}).items():
        part.pop("title", None)
        documented = getattr(predicate, name, None)
        if documented is not None and documented.__doc__:
            part["description"] = documented.__doc__.strip().split("\n")[0]
    return json.dumps(said, indent=2, sort_keys=False) + "\n"


# -- the checker in one file ----------------------------------------------------------------------


def checker() -> str:
    """Return the checker: its modules one behind the other, and a small command line."""
    sources = {part: (FOLDER / f"{part}.py").read_text(encoding="utf-8") for part in PARTS}
    sources |= {"shape": shape(), "the command line": MAIN.read_text(encoding="utf-8")}
    _refuse_twice(sources)
    used = _used(sources)
    imports: set[str] = set()
    parts = []
    for part, source in sources.items():
        text = _kept(source, used)
        imports |= _imported(source)
        parts.append(f"# {'=' * 8} {part} {'=' * (89 - len(part))}\n\n{text}")
    body = "\n\n\n".join(parts)
    needed = [line for line in imports if re.search(rf"\b{line.split()[-1]}\b", body)]
    listed = "\n".join(sorted(needed, key=_import_place))
    return f"{_HEAD}\nfrom __future__ import annotations\n\n{listed}\n\n\n{body}\n"


_HEAD = '''#!/usr/bin/env python3
# ruff: noqa
# mypy: ignore-errors
"""Checks a receipt of planbound: this one file, Python 3.11 or newer, and nothing else.

    python3 planbound-check-receipt.py FILE [--signers FILE] [--tree REV] [--require WORDS]

It ends with 0 where all holds, 1 where something does not, 2 where the file is no receipt. Nothing
of the receipt is run. `ssh-keygen` is asked who may sign, `git` for the files of a revision.

What it cannot do: reckon the digest of a plan from its text. It compares the text with its
SHA-256, and says so; `planbound check-receipt` does both.

Made from `src/planbound/receipts/` by `python -m tools.receipt_files`: read it from the end, where
`main` is, then `check`, which names all checks in their order.
"""
'''


def _import_place(line: str) -> tuple[bool, str]:
    return line.startswith("from "), line


def _refuse_twice(sources: dict[str, str]) -> None:
    names: dict[str, str] = {}
    for part, source in sources.items():
        for node in ast.parse(source).body:
            for name in _defined(node):
                if names.setdefault(name, part) != part:
                    raise SystemExit(f"`{name}` is in {names[name]} and in {part}")


def _used(sources: dict[str, str]) -> set[str]:
    """Return the names that the command line leads to, through whatever they use."""
    wants: dict[str, set[str]] = {}
    for source in sources.values():
        for node in ast.parse(source).body:
            inner = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            # Annotations in quotes do not occur: every module has them unquoted.
            for name in _defined(node):
                wants[name] = wants.get(name, set()) | inner
    found, new = set[str](), {"main"}
    while new:
        found |= new
        new = {each for name in new for each in wants.get(name, ()) if each in wants} - found
    return found


def _kept(source: str, used: set[str]) -> str:
    """Return a module's text without its docstring, its imports, and what nobody uses."""
    tree, lines = ast.parse(source), source.splitlines()
    gone: set[int] = set()
    dropped = False
    for place, node in enumerate(tree.body):
        names = _defined(node)
        text = isinstance(node, ast.Expr)
        dropped = (
            place == 0
            if text and place == 0
            else dropped
            if text
            else isinstance(node, ast.Import | ast.ImportFrom) or bool(names and not names & used)
        )
        if dropped:
            assert node.end_lineno is not None
            first = min(
                [node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]
            )
            gone.update(range(first - 1, node.end_lineno))
    kept = "\n".join(line for number, line in enumerate(lines) if number not in gone)
    return re.sub(r"\n{4,}", "\n\n\n", kept).strip("\n")


def _imported(source: str) -> set[str]:
    """Return what a module imports of the standard library, a line for each name."""
    found: set[str] = set()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Import):
            found |= _single(node)
        elif isinstance(node, ast.ImportFrom) and node.module != "__future__":
            found |= set() if (node.module or "").startswith("planbound") else _single(node)
    return found


def _single(node: ast.Import | ast.ImportFrom) -> set[str]:
    if isinstance(node, ast.Import):
        return {f"import {each.name}" for each in node.names}
    return {f"from {node.module} import {each.name}" for each in node.names}


def _defined(node: ast.stmt) -> set[str]:
    """Return the names that a statement gives a meaning."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return {node.target.id}
    if isinstance(node, ast.Assign):
        inner = (each for target in node.targets for each in ast.walk(target))
        return {each.id for each in inner if isinstance(each, ast.Name)}
    return set()


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
