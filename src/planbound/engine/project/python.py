"""Python projects: by which runner they are tested, and how their environment is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from planbound.engine.project.suite import Seen, Suite, at, below, folders_of, inside
from planbound.source.pattern import lazy_pattern

SIGNS = frozenset(
    "pyproject.toml setup.py setup.cfg uv.lock poetry.lock pdm.lock Pipfile requirements.txt"
    " tox.ini noxfile.py pytest.ini manage.py".split()
)
FOUND_BY_ITSELF = (".venv", "venv")
"""Environments that need no word in the configuration."""
_TEST = lazy_pattern(r"(?:.*/)?(?:test_[^/]*|[^/]*_test|tests?)\.py")
_REQUIREMENTS = lazy_pattern(
    r"(?:requirements/)?(?:[\w.-]*requirements[\w.-]*|dev|tests?)\.(?:txt|in)"
)
_FOR_TESTS = lazy_pattern(r"(?i).*(?:dev|test).*")
_PYTEST_FILES = ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml")
_PLAIN_TEST = lazy_pattern(r"(?m)^(?:async )?def test_|^(?:from|import) pytest\b")
_READ = 20
"""So many test files say how the others are written."""


def propose(seen: Seen, place: str) -> Suite | None:
    """Return how a folder's Python tests are run; None where there is no Python."""
    files = inside(seen, place)
    signs = [name for name in files if name in SIGNS or _is_requirements(name)]
    tests = [path for path in files if _TEST.fullmatch(path)]
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


def _environment(seen: Seen, place: str) -> tuple[str | None, tuple[str, ...]]:
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


def _interpreters(seen: Seen) -> list[str]:
    return [name for name in ("python3", "python") if name in seen.programs] or ["python3"]


def _runners(
    seen: Seen, place: str, files: Sequence[str], tests: Sequence[str], settings: Mapping[str, str]
) -> tuple[str, ...]:
    said = any("pytest" in text for text in settings.values())
    own = any(name in files for name in _PYTEST_FILES) or any(
        path.rpartition("/")[2] == "conftest.py" for path in files
    )
    if said or own:
        return ("-m pytest",)
    if "manage.py" in files:
        return ("manage.py test",)
    if any(_PLAIN_TEST.search(seen.text(below(place, path))) for path in tests[:_READ]):
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
