"""The project's own environment: where contracts and agents find their programs.

Nothing of the environment that Planbound itself is installed in is part of it. But where that one
is the project's own, because somebody installed Planbound into it, it is used: for being the
project's.
"""

import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec import Struct

from planbound.errors import BindingError
from planbound.source import lazy_pattern
from planbound.workspace.configuration import Configuration
from planbound.workspace.root import GitPlace, find_git

# -- the project's own environment: where contracts and agents find their programs ---------------


SYSTEM_PATH = ("/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin")
_IN_WORKSPACE = (".venv", "venv")
_HATCH = ".hatch"
_NODE = "node_modules/.bin"
_ACTIVE = "`$VIRTUAL_ENV`"
_NAMED = ("VIRTUAL_ENV", "CONDA_PREFIX", "PYTHONHOME")
"""Variables whose value is the place of an environment."""
_PATHS = lazy_pattern(r"(?m)(?:^|['\"])(/[^'\"\r\n]+)")
_OF_TOOLS = ("UV_", "PIPX_", "CONDA_", "PYTHON", "VIRTUAL_ENV")


class EnvironmentFault(NamedTuple):
    """Why programs of an environment cannot be used, and what to do about it."""

    message: str
    hint: str


class Found(Struct, frozen=True):
    """One environment, and how it was found."""

    prefix: str
    """Its folder, as it was named: the one with `bin` in it."""
    origin: str
    """How people call it: `.venv`, `$VIRTUAL_ENV`, `[contracts] path`."""
    is_of_main: bool = False
    """Whether it is the main worktree's, and this is another one."""


class ProjectEnvironment(Struct, frozen=True):
    """Where the programs of a project are."""

    path: tuple[str, ...]
    """The folders of PATH, in order."""
    found: Found | None = None
    """The environment that was found; None: there are only the system's programs."""
    variables: Mapping[str, str] = {}
    """What activating it would set, besides PATH."""
    shown: tuple[str, ...] = ()
    """What has to be seen for its programs to start, wherever it is installed."""
    fault: EnvironmentFault | None = None
    """Why its Python cannot be used. Nobody may take another one instead."""
    passed_over: str | None = None
    """An environment that is active and was not taken, because it is Planbound's own."""


def find_environment(
    configuration: Configuration, root: str, variables: Mapping[str, str] | None = None
) -> ProjectEnvironment:
    """Return where the programs of the project in a folder are; `variables` are the caller's."""
    given = os.environ if variables is None else variables
    contracts = configuration.contracts
    named = [os.path.join(root, os.path.expanduser(path)) for path in contracts.path]
    found = _of_folders(named) or _search(root, given)
    system: Iterable[str] = SYSTEM_PATH
    between = [os.path.join(root, _NODE)] if os.path.isdir(os.path.join(root, _NODE)) else []
    if "PATH" in contracts.env and given.get("PATH"):
        # Who passes it decides about all of it: only what is ours is taken out.
        system = without_ours(given, root)["PATH"].split(os.pathsep)
        between = []
        found = found if found and _bin(found.prefix) in (*named, *system) else None
    elif found is not None:
        between = [_bin(found.prefix), *between]
    path = tuple(dict.fromkeys((*named, *between, *system)))
    if found is None:
        return ProjectEnvironment(path, passed_over=_passed_over(given, root))
    return ProjectEnvironment(
        path=path,
        found=found,
        variables=_variables(found.prefix),
        shown=tuple(dict.fromkeys(_needed(found.prefix))),
        fault=_fault(found, root),
    )


def hidden_fault(environment: ProjectEnvironment, masked: Iterable[str]) -> EnvironmentFault | None:
    """Return why an environment cannot be shown in a cell; None where it can."""
    walls = [os.path.realpath(path) for path in masked]
    if environment.found is None:
        return None
    for path in environment.shown:
        real = os.path.realpath(path)
        for wall in walls:
            if _is_below(real, wall):
                return EnvironmentFault(
                    f"the environment `{environment.found.prefix}` needs `{path}`,"
                    " which no cell shows",
                    "make one elsewhere, such as `.venv` in the workspace, or name its `bin` in"
                    " `[contracts] path`",
                )
    return None


def cure_of(environment: ProjectEnvironment) -> str:
    """Return what to do about a program or module that contracts do not find."""
    if environment.found is not None:
        return (
            f"install it into the project's environment {environment.found.origin},"
            " or name another folder in `[contracts] path`"
        )
    if environment.passed_over is not None:
        return (
            "install it where the project has its environment (`.venv`); the active one,"
            f" `{environment.passed_over}`, is Planbound's own: where it is the project's, too, say"
            f' `[contracts] path = ["{_bin(environment.passed_over)}"]`'
        )
    return (
        "install it where the project has its environment (`.venv`),"
        " or name its folder in `[contracts] path`"
    )


def without_ours(variables: Mapping[str, str], root: str) -> dict[str, str]:
    """Return variables without what leads to the environment that Planbound runs in."""
    cleaned = dict(variables)
    if not _is_apart(root):
        return cleaned
    ours = _own_folders()
    if "PATH" in cleaned:
        kept = [path for path in cleaned["PATH"].split(os.pathsep) if not _is_one_of(path, ours)]
        cleaned["PATH"] = os.pathsep.join(kept)
    if "PYTHONPATH" in cleaned:
        kept = [path for path in cleaned["PYTHONPATH"].split(os.pathsep) if not _is_own(path)]
        cleaned["PYTHONPATH"] = os.pathsep.join(kept)
    for name in variables:
        of_tool = name.startswith(_OF_TOOLS) and not name.endswith("PATH")
        if of_tool and os.path.isabs(variables[name]) and _is_own(variables[name]):
            del cleaned[name]
    return cleaned


def agent_variables(
    configuration: Configuration, root: str, variables: Mapping[str, str]
) -> dict[str, str]:
    """Return the caller's variables as an agent may have them: with the project's environment."""
    cleaned = without_ours(variables, root)
    environment = find_environment(configuration, root, variables)
    if environment.found is not None and environment.fault is None:
        for name in _NAMED:
            cleaned.pop(name, None)
        cleaned.update(environment.variables)
    first = [path for path in environment.path if path not in SYSTEM_PATH]
    rest = cleaned.get("PATH", os.pathsep.join(SYSTEM_PATH)).split(os.pathsep)
    cleaned["PATH"] = os.pathsep.join(dict.fromkeys((*first, *rest)))
    return cleaned


# -- what is ours ----------------------------------------------------------------------------------


def _own_folders() -> tuple[str, ...]:
    """Return the folders with programs of the environment that Planbound runs in."""
    folders = (os.path.dirname(os.path.abspath(sys.executable)), _bin(sys.prefix))
    system = {os.path.realpath(path) for path in SYSTEM_PATH}
    return tuple(path for path in map(os.path.realpath, folders) if path not in system)


def _is_own(path: str) -> bool:
    """Say whether a path lies in the environment that Planbound runs in."""
    prefix = os.path.realpath(sys.prefix)
    package = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    if not _own_folders():
        return False  # the system's: everybody's
    return _is_below(os.path.realpath(path), prefix) or os.path.realpath(path) == package


def _is_apart(root: str) -> bool:
    """Say whether the project has nothing to do with Planbound's environment."""
    prefix = os.path.realpath(sys.prefix)
    return all(os.path.realpath(os.path.join(root, name)) != prefix for name in _IN_WORKSPACE)


def _passed_over(given: Mapping[str, str], root: str) -> str | None:
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if given.get(name) and _is_own(given[name]) and _is_apart(root):
            return given[name]
    return None


# -- where to look ---------------------------------------------------------------------------------


def _of_folders(folders: Iterable[str]) -> Found | None:
    """Return the environment that a configured folder belongs to."""
    for folder in folders:
        prefix = os.path.dirname(os.path.normpath(folder))
        if is_environment(prefix) and os.path.basename(os.path.normpath(folder)) == "bin":
            return Found(prefix, "`[contracts] path`")
    return None


def _search(root: str, given: Mapping[str, str]) -> Found | None:
    """Return the first environment there is, or was to be; by the order of the docs."""
    return next((found for found in _candidates(root, given) if _is_meant(found)), None)


def _candidates(root: str, given: Mapping[str, str]) -> Iterator[Found]:
    if (named := given.get("UV_PROJECT_ENVIRONMENT")) and _has_project(root):
        path = os.path.join(root, os.path.expanduser(named))
        if not (_is_own(path) and _is_apart(root)):
            yield Found(path, "`$UV_PROJECT_ENVIRONMENT`")
    for name in _IN_WORKSPACE:
        yield Found(os.path.join(root, name), f"`{name}`")
    yield from _of_hatch(root)
    for name, origin in (("VIRTUAL_ENV", _ACTIVE), ("CONDA_PREFIX", "`$CONDA_PREFIX`")):
        active = given.get(name, "")
        if os.path.isabs(active) and not _is_own(active):
            yield Found(os.path.normpath(active), origin)
    if (main := _main_of(root)) is not None:
        for name in _IN_WORKSPACE:
            yield Found(os.path.join(main, name), f"`{name}` of the main worktree", is_of_main=True)


def _of_hatch(root: str) -> Iterator[Found]:
    """Yield hatch's environment, where it keeps them in the project: `default`, or the only one."""
    folder = os.path.join(root, _HATCH)
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return
    made = [name for name in names if is_environment(os.path.join(folder, name))]
    usual = [name for name in made if name in {"default", os.path.basename(root)}]
    for name in usual or (made if len(made) == 1 else []):
        yield Found(os.path.join(folder, name), f"`{_HATCH}/{name}`")


def _has_project(root: str) -> bool:
    return any(os.path.isfile(os.path.join(root, name)) for name in ("pyproject.toml", "uv.lock"))


def _main_of(root: str) -> str | None:
    """Return the same folder in the main worktree, where this is a linked one."""
    place = _place_of(root)
    if place is None or not place.is_linked:
        return None
    return os.path.normpath(os.path.join(place.main, place.inside))


def _is_meant(found: Found) -> bool:
    """Say whether there is an environment, or what is left of one."""
    if is_environment(found.prefix) or found.origin == _ACTIVE:
        return True
    dangling = os.path.islink(found.prefix) and not os.path.exists(found.prefix)
    return dangling or os.path.lexists(os.path.join(_bin(found.prefix), "python"))


def _place_of(path: str) -> GitPlace | None:
    try:
        return find_git(path)
    except BindingError:  # told by who looks for the plans
        return None


def is_environment(prefix: str) -> bool:
    """Say whether a folder is a virtual environment, or one of conda."""
    return os.path.isfile(os.path.join(prefix, "pyvenv.cfg")) or os.path.isdir(
        os.path.join(prefix, "conda-meta")
    )


# -- what it needs ---------------------------------------------------------------------------------


def _variables(prefix: str) -> dict[str, str]:
    is_conda = os.path.isdir(os.path.join(prefix, "conda-meta"))
    return {"CONDA_PREFIX" if is_conda else "VIRTUAL_ENV": prefix}


def _needed(prefix: str) -> Iterator[str]:
    """Yield the environment, the interpreter that it links to, and what is installed by a link."""
    yield prefix
    yield from _interpreters(prefix)
    for file in _links_of_packages(prefix):
        for line in _read(file).splitlines():
            if os.path.isabs(line) and os.path.exists(line):
                yield line


def _interpreters(prefix: str) -> Iterator[str]:
    """Yield where the interpreter of an environment really is, with all that links lead through."""
    if home := _setting(prefix, "home"):
        yield _above_bin(home)
    path, seen = _python(prefix), set[str]()
    while os.path.islink(path) and path not in seen:
        seen.add(path)
        path = os.path.normpath(os.path.join(os.path.dirname(path), os.readlink(path)))
        yield _above_bin(os.path.dirname(path))
    yield _above_bin(os.path.dirname(os.path.realpath(path)))


def _above_bin(folder: str) -> str:
    folder = os.path.normpath(folder)
    return os.path.dirname(folder) if os.path.basename(folder) == "bin" else folder


def _python(prefix: str) -> str:
    first = os.path.join(_bin(prefix), "python")
    return first if os.path.lexists(first) else f"{first}3"


def _bin(prefix: str) -> str:
    return os.path.join(prefix, "bin")


def _setting(prefix: str, name: str) -> str | None:
    for line in _read(os.path.join(prefix, "pyvenv.cfg")).splitlines():
        key, _, value = line.partition("=")
        if key.strip().lower() == name:
            return value.strip() or None
    return None


def _links_of_packages(prefix: str) -> Iterator[str]:
    """Yield the files by which packages are installed from where they are written."""
    for folder in packages_of(prefix):
        with os.scandir(folder) as entries:
            for entry in entries:
                if is_link_of_packages(entry.name):
                    yield entry.path


def is_link_of_packages(name: str) -> bool:
    """Say whether a file among packages says by its name where others are written."""
    is_finder = name.startswith("__editable__") and name.endswith(".py")
    return is_finder or name.endswith((".pth", ".egg-link"))


def packages_of(prefix: str) -> Iterator[str]:
    """Yield the folders in which an environment has its Python packages."""
    library = os.path.join(prefix, "lib")
    try:
        names = sorted(os.listdir(library))
    except OSError:
        return
    for name in names:
        folder = os.path.join(library, name, "site-packages")
        if name.startswith("python") and os.path.isdir(folder):
            yield folder


def installed_copies(environment: ProjectEnvironment, root: str) -> list[tuple[str, str]]:
    """Return packages of the workspace that the environment has a copy of, each with its folder.

    Contracts import the copy: what is written in the workspace is then not what is judged.
    """
    if environment.found is None:
        return []
    found: list[tuple[str, str]] = []
    for site in packages_of(environment.found.prefix):
        for folder in ("src", "."):
            for name in _packages_in(os.path.join(root, folder)):
                copy = os.path.join(site, name)
                if os.path.isfile(os.path.join(copy, "__init__.py")) and not os.path.islink(copy):
                    found.append((name, os.path.normpath(os.path.join(folder, name))))
    return found


def _packages_in(folder: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))
    except OSError:
        return []
    return [name for name in names if os.path.isfile(os.path.join(folder, name, "__init__.py"))]


# -- what is wrong with it -------------------------------------------------------------------------


def _fault(found: Found, root: str) -> EnvironmentFault | None:
    other = "or name another one in `[contracts] path`"
    if (lack := _lack(found.prefix)) is not None:
        return EnvironmentFault(
            f"the environment {found.origin} is broken: {lack}",
            f"make it again, such as `python3 -m venv --clear {found.prefix}`, {other}",
        )
    if (place := _other_worktree(found.prefix, root)) is not None:
        return EnvironmentFault(
            f"the environment {found.origin} has the project installed from another worktree,"
            f" `{place}`: contracts would judge the files there",
            "make one in this worktree: `[worktrees] setup` runs a command in every new one,"
            f" {other}",
        )
    return None


def _other_worktree(prefix: str, root: str) -> str | None:
    """Return another worktree of the same repository that an environment has packages from."""
    here = _place_of(root)
    if here is None:
        return None
    for path in linked_places(prefix):
        there = _place_of(path)
        if there is not None and there.common == here.common and there.top != here.top:
            return there.top
    return None


def linked_places(prefix: str) -> Iterator[str]:
    """Yield where packages of an environment lie that are only linked in it (`pip install -e`)."""
    for file in _links_of_packages(prefix):
        yield from (match[1] for match in _PATHS.finditer(_read(file)))


def _lack(prefix: str) -> str | None:
    """Return what an environment cannot do without, and does not have."""
    if not os.path.isdir(prefix):
        return f"there is no folder `{os.path.realpath(prefix)}`"
    if os.path.isdir(os.path.join(prefix, "conda-meta")):
        return None  # it need not have a Python
    if not os.path.isfile(os.path.join(prefix, "pyvenv.cfg")):
        return "it has no `pyvenv.cfg`"
    python = _python(prefix)
    return None if os.access(python, os.X_OK) else f"there is no `{os.path.realpath(python)}`"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""


def _is_one_of(path: str, folders: tuple[str, ...]) -> bool:
    return bool(path) and os.path.realpath(path) in folders


def _is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


# -- what tools have made for a project: virtual environments, `node_modules`, toolchains --------


_SIGNS = frozenset(
    "pyproject.toml setup.py setup.cfg uv.lock poetry.lock Pipfile requirements.txt package.json"
    " tox.ini noxfile.py manage.py".split()
)
_PLACES = 100
_NAME = re.compile(r"""(?m)^name\s*=\s*["']([^"'\n]+)["']""")


def made_folders(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the environments of a workspace's projects, seen from it; one outside by its path."""
    places = dict.fromkeys(
        folder for folder, _, name in (path.rpartition("/") for path in paths) if name in _SIGNS
    )
    for place in list(dict.fromkeys(("", *places)))[:_PLACES]:
        for name in _folders(os.path.join(root, place)):
            path = f"{place}/{name}" if place else name
            if name == "node_modules" or _is_environment(os.path.join(root, path)):
                yield path
    yield from _of_poetry(root)


def _folders(path: str) -> list[str]:
    try:
        with os.scandir(path) as entries:
            return sorted(entry.name for entry in entries if entry.is_dir())
    except OSError:
        return []


def _is_environment(path: str) -> bool:
    return os.path.isfile(os.path.join(path, "pyvenv.cfg"))


def _of_poetry(root: str) -> Iterator[str]:
    """Yield the environment that poetry keeps in its cache: by the project's name and place."""
    try:
        with open(os.path.join(root, "pyproject.toml"), encoding="utf-8") as file:
            text = file.read(1 << 20)
    except (OSError, ValueError):
        return
    named = _NAME.search(text)
    if named is None or "poetry" not in text:
        return
    import base64  # noqa: PLC0415 - only for projects of poetry

    cache = os.environ.get("POETRY_CACHE_DIR") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "pypoetry"
    )
    name = re.sub(r'[ $`!*@"\\\r\n\t]', "_", named[1].lower())[:42]
    digest = hashlib.sha256(os.fsencode(os.path.normcase(os.path.realpath(root)))).digest()
    start = f"{name}-{base64.urlsafe_b64encode(digest).decode()[:8]}-py"
    folder = os.path.join(cache, "virtualenvs")
    for each in reversed(_folders(folder)):
        if each.startswith(start) and _is_environment(os.path.join(folder, each)):
            yield _shown(os.path.join(folder, each))
            return


def program_folder(name: str, variables: Mapping[str, str]) -> str | None:
    """Return where the caller would find a program; nothing that a cell could not start."""
    own = os.path.realpath(os.path.dirname(sys.executable))
    for folder in variables.get("PATH", "").split(os.pathsep):
        path = os.path.join(folder, name)
        if not os.path.isabs(folder) or not os.access(path, os.X_OK) or os.path.isdir(path):
            continue
        # What only asks another program which one is meant finds no home in a cell to look in.
        if os.path.realpath(folder) == own or os.path.basename(folder) == "shims":
            continue
        if os.path.basename(os.path.realpath(path)) == "rustup":
            return _toolchain(name, variables)
        return _shown(folder)
    return None


def _toolchain(name: str, variables: Mapping[str, str]) -> str | None:
    home = variables.get("RUSTUP_HOME") or os.path.expanduser("~/.rustup")
    try:
        with open(os.path.join(home, "settings.toml"), encoding="utf-8") as file:
            found = re.search(r'(?m)^default_toolchain = "([^"/\n]+)"', file.read(1 << 20))
    except (OSError, ValueError):
        return None
    folder = os.path.join(home, "toolchains", found[1], "bin") if found else ""
    return _shown(folder) if folder and os.path.exists(os.path.join(folder, name)) else None


def _shown(folder: str) -> str:
    """Return a folder as it is written down: without the name of somebody's home."""
    home = os.path.expanduser("~").rstrip("/")
    return f"~{folder.removeprefix(home)}" if folder.startswith(f"{home}/") else folder
