"""What a repository says of itself: in which languages it is written, and how it is tested."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from planbound.script.runners import RUNNERS
from planbound.script.runners.pytest import is_configured, is_plain_test
from planbound.source import lazy_pattern

# -- the tests of a project, as its files tell ---------------------------------------------------


_PLAIN = lazy_pattern(r"[A-Za-z0-9_@%+=:,./-]+")


class ProjectFiles:
    """What there is to look at."""

    def __init__(
        self,
        paths: Sequence[str],
        read: Callable[[str], bytes | None],
        *,
        made: Iterable[str] = (),
        has_environment: bool = False,
        programs: Iterable[str] = (),
        elsewhere: Mapping[str, str] | None = None,
    ) -> None:
        self.paths = paths
        """The files of the workspace, without environments, caches and plans."""
        self.names = frozenset(paths)
        self.made = frozenset(made)
        """Folders that tools made: virtual environments, `node_modules`.

        One outside of the workspace, which only its tool knows of, has its whole path.
        """
        self.has_environment = has_environment
        """Whether a contract has a virtual environment without a word about it."""
        self.programs = frozenset(programs)
        """Which programs a contract would find, of those that matter here."""
        self.elsewhere = elsewhere or {}
        """Of the others those that the caller would find: the folder of each."""
        self._read = read

    def text(self, path: str) -> str:
        """Return a file as text; nothing where there is none."""
        data = self._read(path) if path in self.names else None
        return (data or b"").decode("utf-8", "replace")


class Suite(NamedTuple):
    """How the tests of one place are run."""

    language: str
    place: str
    """The folder, seen from the workspace; empty for the workspace itself."""
    signs: tuple[str, ...]
    """The files that told of it."""
    commands: tuple[str, ...] = ()
    """The first is proposed; the others are for where it does not start. None: no tests."""
    work: tuple[str, ...] = ()
    """Patterns of the files that work on it changes: sources and tests."""
    setup: str = ""
    """The command that makes its environment."""
    is_set_up: bool = True
    """Whether there is an environment, as far as one is needed."""
    path: tuple[str, ...] = ()
    """What contracts need in front of their `PATH` for it, that is not found by itself."""

    @property
    def title(self) -> str:
        """Return what it is called: the language, and where."""
        return f"{self.language} in {self.place}/" if self.place else self.language


def below(place: str, name: str) -> str:
    """Return a path of a place, seen from the workspace."""
    return f"{place}/{name}" if place else name


def at(place: str, command: str) -> str:
    """Return a command as it is run from the workspace."""
    return f"cd {quoted(place)} && {command}" if place else command


def quoted(word: str) -> str:
    """Return a word as bash takes it for one."""
    return word if _PLAIN.fullmatch(word) else "'" + word.replace("'", "'\\''") + "'"


def inside(seen: ProjectFiles, place: str) -> list[str]:
    """Return the files of a place, seen from it."""
    if not place:
        return list(seen.paths)
    start = f"{place}/"
    return [path[len(start) :] for path in seen.paths if path.startswith(start)]


def folders_of(paths: Sequence[str], place: str, otherwise: str = "") -> tuple[str, ...]:
    """Return patterns for the folders that files are in, seen from the workspace."""
    tops = dict.fromkeys(path.split("/", 1)[0] for path in paths if "/" in path)
    found = [below(place, f"{top}/**") for top in tops]
    if any("/" not in path for path in paths) and otherwise:
        found.append(below(place, otherwise))
    return tuple(found)


# -- node projects: which script tests them, by which of the package managers --------------------


NODE_SIGNS = frozenset({"package.json"})
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_SETUP = {
    "pnpm": "pnpm install --frozen-lockfile",
    "yarn": "yarn install",
    "bun": "bun install",
    "npm": "npm ci",
}
_RUN = {"pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test", "npm": "npm test"}
_RUNNERS = {runner.programs[0]: runner.proposed for runner in RUNNERS if runner.proposed}
_TEST = lazy_pattern(
    r"(?:.*/)?(?:tests?|__tests__|spec)/.*\.[cm]?[jt]sx?|(?:.*/)?[^/]+\.(?:test|spec)\.[cm]?[jt]sx?"
)
_SOURCES = ("src", "lib")
_NO_TEST = "no test specified"
"""What `npm init` writes."""


def propose_node(seen: ProjectFiles, place: str) -> Suite | None:
    """Return how a folder's Node tests are run; None where there is no `package.json`."""
    if below(place, "package.json") not in seen.names:
        return None
    package = _package(seen.text(below(place, "package.json")))
    files = inside(seen, place)
    lock = next((name for name in _LOCKS if name in files), None)
    manager = _LOCKS[lock] if lock else "npm"
    tests = [path for path in files if _TEST.fullmatch(path)]
    return Suite(
        "Node",
        place,
        tuple(below(place, name) for name in ("package.json", lock) if name),
        tuple(at(place, command) for command in _commands(package, manager, tests)),
        tuple(dict.fromkeys((*_sources(files, place), *folders_of(tests, place, "*.test.*")))),
        setup=at(place, _SETUP[manager] if lock else "npm install"),
        is_set_up=below(place, "node_modules") in seen.made or not _needs(package),
    )


def _package(text: str) -> Mapping[str, object]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _commands(package: Mapping[str, object], manager: str, tests: list[str]) -> tuple[str, ...]:
    scripts = package.get("scripts")
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if isinstance(script, str) and script.strip() and _NO_TEST not in script:
        # What the manager of the lock file does, npm does as well, where only that is there.
        return tuple(dict.fromkeys((_RUN[manager], _RUN["npm"])))
    if not tests:
        return ()
    needed = _needs(package)
    runner = next((name for name in _RUNNERS if name in needed), None)
    return (f"node_modules/.bin/{_RUNNERS[runner]}",) if runner else ("node --test",)


def _needs(package: Mapping[str, object]) -> frozenset[str]:
    found: set[str] = set()
    for key in ("dependencies", "devDependencies"):
        table = package.get(key)
        found.update(table if isinstance(table, dict) else ())
    return frozenset(found)


def _sources(files: list[str], place: str) -> tuple[str, ...]:
    tops = {path.split("/", 1)[0] for path in files if "/" in path}
    found = tuple(below(place, f"{top}/**") for top in _SOURCES if top in tops)
    return found or ((below(place, "*.js"),) if any(p.endswith(".js") for p in files) else ())


# -- python projects: by which runner they are tested, and how their environment is made ---------


PYTHON_SIGNS = frozenset(
    "pyproject.toml setup.py setup.cfg uv.lock poetry.lock pdm.lock Pipfile requirements.txt"
    " tox.ini noxfile.py pytest.ini manage.py".split()
)
FOUND_BY_ITSELF = (".venv", "venv")
"""Environments that need no word in the configuration."""
_PYTHON_TEST = lazy_pattern(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests?)\.py")
_REQUIREMENTS = lazy_pattern(
    r"(?:requirements/)?(?:[\w.-]*requirements[\w.-]*|dev|tests?)\.(?:txt|in)"
)
_FOR_TESTS = lazy_pattern(r"(?i).*(?:dev|test).*")
_READ = 20
"""So many test files say how the others are written."""


def propose_python(seen: ProjectFiles, place: str) -> Suite | None:
    """Return how a folder's Python tests are run; None where there is no Python."""
    files = inside(seen, place)
    signs = [name for name in files if name in PYTHON_SIGNS or _is_requirements(name)]
    tests = [path for path in files if _PYTHON_TEST.fullmatch(path)]
    if not signs and (place or not any(_is_at_top(path) for path in tests)):
        return None
    environment, path = _environment(seen, place)
    settings = {name: seen.text(below(place, name)) for name in signs}
    runners = _runners(seen, place, files, tests, settings) if tests else ()
    interpreters = [environment] if environment else _interpreters(seen)
    return Suite(
        "Python",
        place,
        tuple(below(place, name) for name in signs),
        tuple(at(place, f"{python} {words}") for words in runners for python in interpreters),
        _work(files, tests, place),
        setup=at(place, _setup(signs, settings)),
        is_set_up=environment is not None,
        path=path,
    )


def _is_at_top(path: str) -> bool:
    return "/" not in path or path.split("/", 1)[0] in {"test", "tests"}


def _is_requirements(name: str) -> bool:
    return _REQUIREMENTS.fullmatch(name) is not None


def _environment(seen: ProjectFiles, place: str) -> tuple[str | None, tuple[str, ...]]:
    """Return what Python is called there, and what has to be on PATH for it."""
    if not place and seen.has_environment:
        return "python", ()
    start = f"{place}/" if place else ""
    inside = [path.removeprefix(start) for path in sorted(seen.made) if path.startswith(start)]
    found = [path for path in inside if _is_environment(path)]
    for folder in sorted(found, key=lambda path: path not in FOUND_BY_ITSELF):
        # Of a project in a folder nothing is found by itself: its name says which one.
        return (f"{folder}/bin/python", ()) if place else ("python", (f"{folder}/bin",))
    # One at the top may be there for all projects below.
    return ("python", ()) if seen.has_environment else (None, ())


def _is_environment(path: str) -> bool:
    """Say whether a folder is an environment of a place: in it, or outside of the workspace."""
    return path != "node_modules" and ("/" not in path or path.startswith(("/", "~")))


def _interpreters(seen: ProjectFiles) -> list[str]:
    return [name for name in ("python3", "python") if name in seen.programs] or ["python3"]


def _runners(
    seen: ProjectFiles,
    place: str,
    files: Sequence[str],
    tests: Sequence[str],
    settings: Mapping[str, str],
) -> tuple[str, ...]:
    if is_configured(files, settings.values()):
        return ("-m pytest",)
    if "manage.py" in files:
        return ("manage.py test",)
    if any(is_plain_test(seen.text(below(place, path))) for path in tests[:_READ]):
        return ("-m pytest",)
    return (_unittest(files, tests),)


def _unittest(files: Sequence[str], tests: Sequence[str]) -> str:
    folder = tests[0].rpartition("/")[0]
    top = folder.split("/", 1)[0]
    is_package = all(
        f"{'/'.join(folder.split('/')[: n + 1])}/__init__.py" in files
        for n in range(folder.count("/") + 1)
    )
    return "-m unittest" if not folder or is_package else f"-m unittest discover -s {top}"


def _work(files: Sequence[str], tests: Sequence[str], place: str) -> tuple[str, ...]:
    packages = _packages(files, place)
    return tuple(dict.fromkeys((*packages, *folders_of(tests, place, "*.py"))))


def _packages(files: Sequence[str], place: str) -> tuple[str, ...]:
    """Return patterns for what is tested."""
    if any(path.startswith("src/") for path in files):
        return (below(place, "src/**"),)
    tops = [path.split("/", 1)[0] for path in files if path.count("/") == 1]
    packages = dict.fromkeys(
        top for top in tops if f"{top}/__init__.py" in files and not _FOR_TESTS.fullmatch(top)
    )
    if packages:
        return tuple(below(place, f"{top}/**") for top in packages)
    modules = [path for path in files if path.endswith(".py") and "/" not in path]
    return (below(place, "*.py"),) if modules else ()


def _setup(signs: Sequence[str], settings: Mapping[str, str]) -> str:
    """Return how the environment is made where the other contracts find it by itself."""
    project = settings.get("pyproject.toml", "")
    if "uv.lock" in signs or "[tool.uv]" in project:
        return "uv sync"
    if "poetry.lock" in signs or "[tool.poetry]" in project:
        return "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"
    if "pdm.lock" in signs:
        return "pdm install"
    if "Pipfile" in signs:
        return "PIPENV_VENV_IN_PROJECT=1 pipenv install --dev"
    if "tox.ini" in signs:
        return "tox devenv .venv"
    requirements = [name for name in signs if _is_requirements(name) and name.endswith(".txt")]
    words = [f"-r {name}" for name in requirements if _FOR_TESTS.fullmatch(name)]
    words = words or [f"-r {name}" for name in requirements[:1]]
    if {"pyproject.toml", "setup.py"}.intersection(signs) and _is_package(project, signs):
        words.append(f"-e {_extra(project)}")
    if any("pytest" in text for text in settings.values()) or not words:
        words.append("pytest")
    return f"python3 -m venv .venv && .venv/bin/pip install {' '.join(words)}"


def _is_package(project: str, signs: Sequence[str]) -> bool:
    return "setup.py" in signs or "[project]" in project or "[build-system]" in project


def _extra(project: str) -> str:
    """Return `.`, with the extra or the group that the tests need, where one is named so."""
    import tomllib  # noqa: PLC0415 - only for who has no environment yet

    try:
        document = tomllib.loads(project)
    except (tomllib.TOMLDecodeError, RecursionError):
        return "."
    about = document.get("project")
    extras = about.get("optional-dependencies") if isinstance(about, dict) else None
    groups = document.get("dependency-groups")
    for name in ("test", "tests", "testing", "dev"):
        if isinstance(extras, dict) and name in extras:
            return f"'.[{name}]'"
        if isinstance(groups, dict) and name in groups:
            return f". --group {name}"
    return "."


# -- looks at the files of a repository, and says how it is tested -------------------------------


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

_Look = Callable[[ProjectFiles, str], Suite | None]


def look_at_project(seen: ProjectFiles) -> list[Suite]:
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


def _equipped(seen: ProjectFiles, suite: Suite) -> Suite:
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


def _places(seen: ProjectFiles, signs: frozenset[str]) -> list[str]:
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


def _rust(seen: ProjectFiles, place: str) -> Suite | None:
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


def _go(seen: ProjectFiles, place: str) -> Suite | None:
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


def _make(seen: ProjectFiles, place: str) -> Suite | None:
    """Propose a target of the Makefile: for projects that none of the other files speaks for."""
    name = next((name for name in _MAKEFILES if below(place, name) in seen.names), None)
    if name is None:
        return None
    from planbound.script.project import read_recipes  # noqa: PLC0415 - only here

    recipes = read_recipes(seen.text(below(place, name)))
    targets = [target for target in _TARGETS if target in recipes.by_target]
    return Suite(
        "make",
        place,
        (below(place, name),),
        tuple(at(place, f"make {target}") for target in targets),
        tuple(_found_sources(seen, place)),
    )


def _found_sources(seen: ProjectFiles, place: str) -> Iterator[str]:
    tops = {path.split("/", 1)[0] for path in inside(seen, place) if "/" in path}
    yield from (below(place, f"{top}/**") for top in ("src", "lib", "test", "tests") if top in tops)


_LANGUAGES: tuple[tuple[_Look, frozenset[str]], ...] = (
    (propose_python, PYTHON_SIGNS),
    (propose_node, NODE_SIGNS),
    (_rust, frozenset({"Cargo.toml"})),
    (_go, frozenset({"go.mod"})),
)
