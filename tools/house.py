"""Prints how the source is built: its files, its names, and which feature imports which.

`python -m tools.house` prints the numbers and the import map, `--json` the same for programs,
`--names` the class names that are used more than once, `--modules` the modules that are small,
large, or have one importer. `--svg FILE` draws the map. `--write` writes what is generated in the
docs: the drawing of the architecture page, and the list of decisions in CONTRIBUTING. `--check`
says whether these are current, and whether the files and functions that both pages name exist.

How it counts: a code line holds something else than blanks, comments and docstrings (a string
that stands alone is one, wherever it stands). A file with no code line is not counted. Class names
are compared without a leading underscore. An importer of a module is a module that names it in an
import, wherever that stands. A feature is what stands directly in `src/planbound`; the order comes
from the layers of import-linter in `pyproject.toml`. How commands are walked is told in
`tools/house_walk.py`.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import statistics
import sys
import tokenize
import tomllib
from collections import Counter, defaultdict
from collections.abc import Container, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import grimp

from tools.house_map import Box, drawing
from tools.house_walk import Walks, walks

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = "planbound"
SOURCE = ROOT / "src" / PACKAGE
PAGE = "docs/architecture.md"
DRAWING = "docs/architecture.svg"
CONTRIBUTING = "CONTRIBUTING.md"
SMALL, LARGE = 80, 400

_SILENT = {
    tokenize.COMMENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
    tokenize.INDENT,
    tokenize.NEWLINE,
    tokenize.NL,
}


class Module(NamedTuple):
    """One file with code."""

    name: str
    """Without the package: `plan.digest`; a package's own file has the name of the package."""
    lines: int
    classes: tuple[str, ...]
    protocols: tuple[str, ...]

    @property
    def feature(self) -> str:
        """Return the first part of its name."""
        return self.name.partition(".")[0]


class Imports(NamedTuple):
    """Which part imports which."""

    order: tuple[tuple[str, ...], ...]
    """Features, from the faces down; those on one line do not import each other."""
    counts: dict[str, dict[str, int]]
    """By feature, how many of its imports name a module of which other feature."""
    single: dict[str, str]
    """Modules with one importer, and who that is."""

    def features(self) -> list[str]:
        """Return the features in their order."""
        return [name for line in self.order for name in line]


class House(NamedTuple):
    """The source, as it is built."""

    modules: tuple[Module, ...]
    imports: Imports

    def names(self) -> dict[str, list[str]]:
        """Return the class names that are used more than once, and the modules."""
        found = defaultdict(list)
        for module in self.modules:
            for name in module.classes:
                found[name.lstrip("_")].append(module.name)
        return {name: places for name, places in sorted(found.items()) if len(places) > 1}


def main(argv: list[str]) -> int:
    """Print, draw or check."""
    parser = argparse.ArgumentParser(prog="python -m tools.house", description=__doc__)
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--json", action="store_true", help="print the numbers as JSON")
    what.add_argument("--names", action="store_true", help="list class names that are used twice")
    what.add_argument("--modules", action="store_true", help="list small, large and lone modules")
    what.add_argument("--svg", metavar="FILE", help="draw the import map of the features")
    what.add_argument("--write", action="store_true", help="write what is generated in the docs")
    what.add_argument("--check", action="store_true", help="exit 1 if page or drawing are stale")
    parser.add_argument("--no-run", action="store_true", help="leave out what needs commands run")
    arguments = parser.parse_args(argv)
    imports = read_imports()
    if arguments.check:
        return _check(imports)
    if arguments.write:
        return _write(imports)
    if arguments.svg:
        Path(arguments.svg).write_text(draw(imports), encoding="utf-8")
        return 0
    house = House(read_modules(), imports)
    if arguments.names:
        _print(f"{name}: {', '.join(places)}" for name, places in house.names().items())
    elif arguments.modules:
        _print(_modules(house))
    else:
        walked = None if arguments.no_run else walks(SOURCE)
        found = numbers(house, walked)
        _print([json.dumps(found, indent=2)] if arguments.json else _text(house, found, walked))
    return 0


# -- counting ----------------------------------------------------------------------------------


def read_modules() -> tuple[Module, ...]:
    """Return the files with code."""
    found = map(_read, sorted(SOURCE.rglob("*.py")))
    return tuple(module for module in found if module.lines)


def read_imports() -> Imports:
    """Return who imports whom."""
    order = _order()
    counts: dict[str, Counter[str]] = {name: Counter() for line in order for name in line}
    single = {}
    graph = grimp.build_graph(PACKAGE, cache_dir=None)
    for name in sorted(graph.modules):
        importers = sorted(map(_short, graph.find_modules_that_directly_import(name)))
        if len(importers) == 1:
            single[_short(name)] = importers[0]
        goal = _short(name).partition(".")[0]
        for importer in importers:
            feature = importer.partition(".")[0]
            if feature != goal and {feature, goal} <= counts.keys():
                counts[feature][goal] += 1
    return Imports(order, {name: dict(goals) for name, goals in counts.items()}, single)


def _order() -> tuple[tuple[str, ...], ...]:
    """Return the features as import-linter is told to keep them."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    for contract in settings["tool"]["importlinter"]["contracts"]:
        if contract["type"] == "layers" and PACKAGE in contract.get("containers", ()):
            return tuple(
                tuple(name.strip(" ()") for name in re.split(r"[|:]", line))
                for line in contract["layers"]
            )
    sys.exit("pyproject.toml: there are no layers of the whole package")


def _short(module: str) -> str:
    return module.removeprefix(PACKAGE).lstrip(".") or PACKAGE


def _read(path: Path) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    parts = path.relative_to(SOURCE).with_suffix("").parts
    if parts[-1] == "__init__":
        parts = parts[:-1]
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return Module(
        name=".".join(parts) or PACKAGE,
        lines=code_lines(text, tree),
        classes=tuple(node.name for node in classes),
        protocols=tuple(node.name for node in classes if _is_protocol(node)),
    )


def code_lines(text: str, tree: ast.Module) -> int:
    """Return how many lines hold something else than blanks, comments and docstrings."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in _SILENT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def _is_protocol(node: ast.ClassDef) -> bool:
    bases = [base.value if isinstance(base, ast.Subscript) else base for base in node.bases]
    return any(ast.unparse(base).rpartition(".")[2] == "Protocol" for base in bases)


# -- telling -----------------------------------------------------------------------------------

Numbers = dict[str, object]


def numbers(house: House, walked: Walks | None) -> Numbers:
    """Return everything that is counted."""
    lines = [module.lines for module in house.modules]
    found: Numbers = {
        "files": len(lines),
        "lines": sum(lines),
        "median": statistics.median(lines),
        f"below {SMALL} lines": sum(count < SMALL for count in lines),
        f"above {LARGE} lines": sum(count > LARGE for count in lines),
        "protocols": sum(len(module.protocols) for module in house.modules),
        "class names used twice or more": len(house.names()),
        "modules with one importer": len(house.imports.single),
    }
    if walked:
        found |= {
            "files of `run`": len(walked.run.own),
            "changes of file in `run`": walked.run.changes,
            "files of `approve`": len(walked.approve.own),
            "changes of file in `approve`": walked.approve.changes,
            "files of `integrate` alone": len(walked.integrate),
        }
    found["features"] = {
        name: {
            "files": len(mine := [each.lines for each in house.modules if each.feature == name]),
            "lines": sum(mine),
            "imports": dict(sorted(house.imports.counts[name].items())),
        }
        for name in house.imports.features()
    }
    return found


def _text(house: House, found: Numbers, walked: Walks | None) -> Iterator[str]:
    for name, value in found.items():
        if name != "features":
            yield f"{name:<34}{value:>8,}"
    if walked:
        yield f"  of `integrate` alone: {', '.join(sorted(walked.integrate))}"
    yield ""
    yield f"{'feature':<16}{'files':>6}{'lines':>8}  imports (how often)"
    place = {name: number for number, name in enumerate(house.imports.features())}
    for name in house.imports.features():
        mine = [module.lines for module in house.modules if module.feature == name]
        goals = sorted(house.imports.counts[name].items(), key=lambda goal: place[goal[0]])
        told = ", ".join(f"{goal} {count}" for goal, count in goals)
        yield f"{name:<16}{len(mine):>6}{sum(mine):>8,}  {told}".rstrip()


def _modules(house: House) -> Iterator[str]:
    for title, chosen in (
        (f"above {LARGE} lines", [each for each in house.modules if each.lines > LARGE]),
        (f"below {SMALL} lines", [each for each in house.modules if each.lines < SMALL]),
    ):
        yield f"{title}:"
        for module in sorted(chosen, key=lambda each: -each.lines):
            yield f"  {module.lines:>4} {module.name}"
    yield "imported by one module:"
    for name, importer in house.imports.single.items():
        yield f"  {name} by {importer}"


def _print(lines: Iterable[str]) -> None:
    for line in lines:
        print(line)


# -- the page ----------------------------------------------------------------------------------


def draw(imports: Imports) -> str:
    """Return the import map of the features, drawn."""
    return drawing(
        [Box(name, _purpose(name), frozenset(imports.counts[name])) for name in imports.features()]
    )


def _purpose(feature: str) -> str:
    """Return the first paragraph of its docstring."""
    path = SOURCE / feature / "__init__.py"
    text = (path if path.is_file() else SOURCE / f"{feature}.py").read_text(encoding="utf-8")
    return " ".join((ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0].split())


def written(imports: Imports) -> dict[str, str]:
    """Return what is generated, by the path of the file."""
    text = (ROOT / CONTRIBUTING).read_text(encoding="utf-8")
    listed = _DECISIONS.sub(lambda match: f"{match[1]}{_decisions()}{match[2]}", text)
    return {DRAWING: draw(imports), CONTRIBUTING: listed}


def _write(imports: Imports) -> int:
    for name, text in written(imports).items():
        if _text_of(name) != text:
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 0


def _check(imports: Imports) -> int:
    found = [
        f"{name}: stale; run `make docs`"
        for name, text in written(imports).items()
        if _text_of(name) != text
    ]
    for page in (PAGE, CONTRIBUTING):
        found += missing(page)
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        found += missing(str(path.relative_to(ROOT)), of=imports.features())
    _print(found)
    return 1 if found else 0


def _text_of(name: str, root: Path = ROOT) -> str:
    path = root / name
    return path.read_text(encoding="utf-8") if path.is_file() else ""


_DECISIONS = re.compile(r"(<!-- decisions -->\n).*?(<!-- /decisions -->)", re.DOTALL)


def _decisions() -> str:
    """Return the titles of all decisions as a list of links."""
    lines = []
    for path in sorted((ROOT / "docs" / "decisions").glob("*.md")):
        title = path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ")
        number, _, title = title.partition(": ")
        lines.append(f"- [{number}](docs/decisions/{path.name}): {title}\n")
    return "".join(lines)


_NAMED = re.compile(
    r"`((?:[A-Za-z_0-9]+/)*(?:[A-Za-z_0-9*]+/|[A-Za-z_0-9*]+\.(?:py|md|svg|toml)))`"
)
WALKED = re.compile(r"\| `([a-z_/]+\.py)` \| (`[^|]+`) \|")


def missing(page: str, root: Path = ROOT, of: Container[str] | None = None) -> Iterator[str]:
    """Yield the files and folders that a page names and that are not there.

    They are looked for in the repository and in the source; with `of`, only those in the folders
    of these features. In a table with a file in its first column, the names in the second have to
    stand in that file.
    """
    for number, line in enumerate(_text_of(page, root).split("\n"), 1):
        for match in _NAMED.finditer(line):
            name = match[1].rstrip("/")
            folder, _, inner = match[1].partition("/")
            if of is not None and not (inner and folder in of):
                continue
            if not any(any(base.glob(name)) for base in (root, root / "src" / PACKAGE)):
                yield f"{page}:{number}: there is no `{match[1]}`"
        if walked := WALKED.match(line):
            defined = _defined(_text_of(f"src/{PACKAGE}/{walked[1]}", root))
            for name in re.findall(r"`([\w.]+)`", walked[2]):
                if name not in defined:
                    yield f"{page}:{number}: there is no `{name}` in `{walked[1]}`"


def _defined(text: str) -> set[str]:
    """Return the functions, classes and methods of a module; a method as `Class.method`."""
    found = set()
    for node in ast.parse(text).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}.{e.name}" for e in node.body if isinstance(e, ast.FunctionDef)}
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
