"""Looks at the files of a repository, and says how it is tested."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from planbound.engine.project import node, python
from planbound.engine.project.suite import Seen, Suite, at, below, folders_of, inside
from planbound.source.pattern import lazy_pattern

PROGRAMS = (
    *("python", "python3", "npm", "pnpm", "yarn", "bun", "node", "cargo", "go", "make"),
    *("uv", "poetry", "pdm", "pipenv"),
)
"""What the proposals below ask for."""
DEEPEST = 3
MOST = 20
"""So many places are looked into, of each language."""
_MAKEFILES = ("GNUmakefile", "makefile", "Makefile")
_TARGETS = ("test", "tests", "check")
_ASIDE = lazy_pattern(
    r"(?:.*/)?(?:examples?|samples?|demos?|docs?|fixtures?|testdata|tests?|__tests__|spec|vendor"
    r"|third[_-]party|templates?|benchmarks?|\.[^/]*)(?:/.*)?"
)
"""Folders with projects that are no part of the product."""

_Look = Callable[[Seen, str], Suite | None]


def look(seen: Seen) -> list[Suite]:
    """Return how the workspace is tested: its own suites, then those of the projects in it."""
    found: list[Suite] = []
    for propose, signs in _LANGUAGES:
        own = propose(seen, "")
        if own is not None:
            found.append(own)
        if own is None or not own.commands:
            # One above that runs nothing does not speak for those below.
            found += [each for place in _places(seen, signs) if (each := propose(seen, place))]
    if not any(suite.commands for suite in found):
        made = _make(seen, "")
        found += [made] if made is not None else []
    # What can be tried comes first, and of that what is nearest to the top.
    found.sort(key=lambda suite: (not suite.commands, suite.place.count("/"), suite.place != ""))
    return [_equipped(seen, suite) for suite in found]


def _equipped(seen: Seen, suite: Suite) -> Suite:
    """Return a suite with what has to be on PATH for it, and first what is installed at all."""
    needed = {name: _needed(name, suite) for name in suite.commands}
    known = {*seen.programs, *seen.elsewhere}
    commands = sorted(suite.commands, key=lambda name: not known.issuperset(needed[name]))
    missing = (
        [name for name in needed[commands[0]] if name not in seen.programs] if commands else []
    )
    folders = [seen.elsewhere[name] for name in missing if name in seen.elsewhere]
    return suite._replace(
        commands=tuple(commands), path=tuple(dict.fromkeys((*suite.path, *folders)))
    )


def _needed(command: str, suite: Suite) -> list[str]:
    """Return the programs that a command needs, of those that are looked for."""
    program = command.rpartition(" && ")[2].split(" ", 1)[0]
    names = [program, "node"] if suite.language == "Node" else [program]
    found_by_itself = suite.language == "Python" and suite.is_set_up
    return [] if found_by_itself else [name for name in names if name in PROGRAMS]


def _places(seen: Seen, signs: frozenset[str]) -> list[str]:
    folders = {
        folder
        for path in seen.paths
        for folder, _, name in (path.rpartition("/"),)
        if folder and name in signs and folder.count("/") < DEEPEST and _is_part(folder)
    }
    ordered = sorted(folders, key=lambda folder: (folder.count("/"), folder))
    # A project within another one belongs to it.
    return [
        folder
        for folder in ordered
        if not any(folder.startswith(f"{other}/") for other in ordered if other != folder)
    ][:MOST]


def _is_part(folder: str) -> bool:
    """Say whether a folder belongs to the product, and can be written down."""
    return not _ASIDE.fullmatch(folder) and folder.isprintable() and "`" not in folder


def _rust(seen: Seen, place: str) -> Suite | None:
    if below(place, "Cargo.toml") not in seen.names:
        return None
    signs = [name for name in ("Cargo.toml", "Cargo.lock") if below(place, name) in seen.names]
    sources = [path for path in inside(seen, place) if path.endswith(".rs")]
    # Behind a lock nothing is looked up that is here already; without one cargo writes it.
    return Suite(
        "Rust",
        place,
        tuple(below(place, name) for name in signs),
        (at(place, "cargo test"),) if sources else (),
        folders_of(sources, place),
        setup=at(place, "cargo vendor"),
    )


def _go(seen: Seen, place: str) -> Suite | None:
    if below(place, "go.mod") not in seen.names:
        return None
    files = inside(seen, place)
    has_tests = any(path.endswith("_test.go") for path in files)
    sources = [path for path in files if path.endswith(".go")]
    return Suite(
        "Go",
        place,
        (below(place, "go.mod"),),
        (at(place, "go test ./..."),) if has_tests else (),
        folders_of(sources, place, "*.go"),
        setup=at(place, "go mod vendor"),
    )


def _make(seen: Seen, place: str) -> Suite | None:
    """Propose a target of the Makefile: for projects that none of the other files speaks for."""
    name = next((name for name in _MAKEFILES if below(place, name) in seen.names), None)
    if name is None:
        return None
    from planbound.engine.judging.recipes import read_recipes  # noqa: PLC0415 - only here

    recipes = read_recipes(seen.text(below(place, name)))
    targets = [target for target in _TARGETS if target in recipes.by_target]
    return Suite(
        "make",
        place,
        (below(place, name),),
        tuple(at(place, f"make {target}") for target in targets),
        tuple(_sources(seen, place)),
    )


def _sources(seen: Seen, place: str) -> Iterator[str]:
    tops = {path.split("/", 1)[0] for path in inside(seen, place) if "/" in path}
    yield from (below(place, f"{top}/**") for top in ("src", "lib", "test", "tests") if top in tops)


_LANGUAGES: tuple[tuple[_Look, frozenset[str]], ...] = (
    (python.propose, python.SIGNS),
    (node.propose, node.SIGNS),
    (_rust, frozenset({"Cargo.toml"})),
    (_go, frozenset({"go.mod"})),
)
