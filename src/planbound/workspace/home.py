"""What cells show of the home and of the machine: a list, and nothing that is not on it.

A home holds keys, other projects and what other programs remember. So a cell's home is empty but
for toolchains and caches; an agent's log-in and what the configuration names come on top of that.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from planbound.cells.cell import HostView
from planbound.cells.orders import is_below

_TOOLS = """
    .cargo .rustup .nvm .fnm .volta .nodenv .bun .deno .n
    .pyenv .rye .pixi .conda/envs .conda/pkgs miniconda3 anaconda3 miniforge3 mambaforge micromamba
    .virtualenvs .local/share/virtualenvs .local/share/hatch .local/share/pypoetry
    .local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv .local/share/pnpm
    .local/share/fnm .local/share/mise .local/share/rtx .local/share/claude .local/share/gem
    .local/state/nix/profiles .nix-profile .npm-global .npm-packages .yarn/bin .yarn/berry
    go/bin go/pkg .goenv .rbenv .rvm .gem .jenv .sdkman .asdf .ghcup .cabal/bin
    .cabal/packages .cabal/store .stack .opam .elan .juliaup .julia/packages .julia/artifacts
    .julia/compiled .julia/registries .swiftly .dotnet
    .nuget/packages .mix .hex/packages .composer/vendor .config/composer/vendor .pub-cache flutter
    .foundry/bin .wasmtime .wasmer/bin .linuxbrew .krew/bin .tfenv .opencode/bin
    Android/Sdk .platformio/packages .espressif .arduino15/packages
    """.split()
"""Where people install what builds and runs projects, seen from the home."""
_CACHES = """
    .cache/pip .cache/uv .cache/pypoetry .cache/pipenv .cache/pre-commit .cache/hatch
    .cache/go-build .cache/yarn .cache/pnpm .cache/node .cache/node-gyp .cache/deno .cache/Cypress
    .cache/ms-playwright .cache/puppeteer .cache/ccache .cache/sccache .cache/bazelisk
    .cache/composer .cache/rebar3 .cache/coursier .npm/_cacache .ccache
    .m2/repository .m2/wrapper .gradle/caches .gradle/wrapper .gradle/jdks .ivy2/cache .sbt/boot
    """.split()
_OF_SYSTEM = frozenset(
    "bin boot dev etc gnu lib lib32 lib64 libx32 nix opt proc run sbin snap sw sys tmp usr".split()
)
"""The folders of the root that belong to the system; all others are somebody's."""
_OF_VAR = "lib/dpkg lib/apt lib/rpm lib/pacman lib/alternatives lib/gems lib/ghc lib/texmf".split()
_OF_VAR += "lib/mecab lib/snapd/snap lib/flatpak/exports cache/fontconfig cache/man".split()
_USUAL_HOMEBREW = os.path.join("/home", "linuxbrew", ".linuxbrew")
_MOST_LINKS = 500
_MOST_NAMED = 3
"""Programs of one folder that are named one by one."""
_BINS = frozenset({"bin", "sbin", "shims", "cmd"})
_PARTS = _BINS | frozenset("lib lib32 lib64 libexec share include".split())
_PARTS |= {"pyvenv.cfg", "conda-meta", "ssl"}
_DISTRIBUTIONS = ("pkg/tool", "jmods", "lib/jrt-fs.jar", "jre/lib/rt.jar")
"""What only a Go or a JDK has, whose programs need all of their prefix."""


def host_view(root: str, folders: Iterable[str], environment: Mapping[str, str]) -> HostView:
    """Return what cells show for a workspace; `folders` are those of the caller's PATH."""
    home = os.path.realpath(environment.get("HOME") or os.path.expanduser("~"))
    tools = [os.path.join(home, name) for name in _TOOLS]
    tools += [_USUAL_HOMEBREW, *(os.path.join("/var", name) for name in _OF_VAR)]
    for folder in folders:
        tools += _with_tools(folder, home)
    caches = [os.path.join(home, name) for name in _CACHES]
    keep = (home, os.path.realpath(root))
    return HostView(
        # Where somebody's home is the workspace, or lies in it, there is no place for another one.
        home=home if os.path.isdir(home) and home != "/" and not is_below(home, keep[1]) else None,
        closed=tuple(_closed(home)),
        sealed=tuple(_loose_files()),
        tools=tuple(dict.fromkeys(narrow(filter(os.path.exists, tools), keep))),
        caches=tuple(dict.fromkeys(path for path in caches if os.path.isdir(path))),
    )


def in_home(view: HostView) -> tuple[str, ...]:
    """Return what a view shows of the home, as people write it; what lies in another part once."""
    home = f"{view.home}/" if view.home is not None else "/"
    found = sorted(path for path in (*view.tools, *view.caches) if path.startswith(home))
    outer = [path for path in found if not any(path.startswith(f"{each}/") for each in found)]
    beside = Counter(os.path.dirname(path) for path in outer if os.path.isfile(path))
    named = (
        f"{folder} ({beside[folder]} programs)"
        if beside[folder := os.path.dirname(path)] > _MOST_NAMED and os.path.isfile(path)
        else path
        for path in (outer if view.home is not None else ())
    )
    return tuple(dict.fromkeys(f"~/{path.removeprefix(home)}" for path in named))


def named_paths(names: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield what variables that are passed lead to: certificates, a toolchain, folders of code."""
    for name in names:
        value = environment.get(name, "") if name != "PATH" else ""
        for path in dict.fromkeys((value, *value.split(os.pathsep))):
            if os.path.isabs(path) and os.path.exists(path):
                yield path


def own_places(environment: Mapping[str, str]) -> list[str]:
    """Return where Planbound keeps what it remembers, of any project."""
    home = environment.get("HOME") or os.path.expanduser("~")
    states = environment.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    shares = environment.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    return [os.path.join(states, "planbound"), os.path.join(shares, "planbound")]


def narrow(paths: Iterable[str], keep: Iterable[str]) -> Iterator[str]:
    """Yield paths without those that hold all of a home, or what lies beside the workspace."""
    places: list[str] | None = None
    for path in paths:
        if places is None:
            places = [os.path.realpath(place) for place in keep if place]
        real = os.path.realpath(path)
        if not any(is_below(place, real) for place in places):
            yield path


def _closed(home: str) -> Iterator[str]:
    """Yield the folders of the machine that are not the system's."""
    with os.scandir("/") as entries:
        for entry in entries:
            if entry.name not in _OF_SYSTEM and entry.is_dir(follow_symlinks=False):
                yield entry.path
    for place in (home, os.path.realpath(os.path.expanduser("~"))):
        if place != "/":
            yield place


def _loose_files() -> Iterator[str]:
    """Yield files that lie in the root itself, where the system has none."""
    with os.scandir("/") as entries:
        for entry in entries:
            if entry.is_file(follow_symlinks=False) and entry.name != ".dockerenv":
                yield entry.path


def _with_tools(folder: str, home: str) -> Iterator[str]:
    """Yield what a folder of PATH has of programs, and what they come with."""
    if not os.path.isabs(folder) or folder.startswith(("/usr/", "/bin", "/sbin")):
        return
    own = _is_in_home(folder, home)
    if os.path.basename(folder) in _BINS:
        yield folder
        yield from _unit(os.path.join(folder, "program"), home)
    else:
        # A folder of scripts, or a toolchain by itself: people keep other things beside them.
        yield from [*_programs(folder), *installed_in(folder)] if own else [folder]
    try:
        with os.scandir(folder) as entries:
            links = [entry.path for entry in entries if entry.is_symlink()][:_MOST_LINKS]
    except OSError:
        return
    for link in links:
        real = os.path.realpath(link)
        if not real.startswith("/usr/") and os.path.isfile(real):
            yield from _unit(real, home)


def _is_in_home(path: str, home: str) -> bool:
    return is_below(os.path.realpath(path), home)


def _programs(folder: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            found = [entry.path for entry in entries if entry.is_file()]
    except OSError:
        return
    yield from [path for path in sorted(found) if os.access(path, os.X_OK)][:_MOST_LINKS]


def installed_in(prefix: str) -> Iterator[str]:
    """Yield what installers put into a prefix; people and programs keep other things beside it.

    A prefix such as `~/.foundry` or `~/.fly` holds keys and log-ins, too.
    """
    whole = any(os.path.lexists(os.path.join(prefix, sign)) for sign in _DISTRIBUTIONS)
    if whole:
        yield prefix
        return
    try:
        names = sorted(os.listdir(prefix))
    except OSError:
        return
    for name in names:
        if name in _PARTS:
            yield os.path.join(prefix, name)


def _unit(program: str, home: str) -> Iterator[str]:
    """Yield what a program is installed with: parts of its prefix, its packages, or only itself."""
    packages = f"{os.sep}node_modules{os.sep}"
    if packages in program:
        yield program.partition(packages)[0] + packages.rstrip(os.sep)
        return
    folder = os.path.dirname(program)
    prefix = os.path.dirname(folder)
    # In a prefix that many share, and in somebody's project, there is more than the program.
    is_shared = prefix in {home, os.path.join(home, ".local"), os.path.join(home, "go")}
    if os.path.basename(folder) in _BINS and not is_shared and not _is_in_project(prefix, home):
        yield from installed_in(prefix)
    else:
        yield program


def _is_in_project(path: str, home: str) -> bool:
    # Some people keep their whole home in a repository.
    while not is_below(home, path) and path != os.path.dirname(path):
        if any(os.path.lexists(os.path.join(path, name)) for name in (".git", ".env")):
            return True
        path = os.path.dirname(path)
    return False


def hidden_parts(paths: Iterable[str], view: HostView) -> Iterator[str]:
    """Yield what an environment names in the home that nobody would install anything in.

    What an environment names stands in files that an agent may have written.
    """
    for path in paths if view.home is not None else ():
        name = os.path.relpath(os.path.realpath(path), view.home)
        known = any(is_below(path, each) for each in (*view.tools, *view.caches))
        hidden = name.startswith(".") and not name.startswith("..") and name != "."
        if hidden and not known and not _has_python(path):
            yield path


# -- what people and programs keep in toolchains, and no cell shows ------------------------------


_SECRET_NAME = re.compile(
    r"""(?ix) credentials?(\..*)? | auth[\w-]*\.(json|toml|ya?ml) | \.?npmrc | pip\.conf | \.condarc
      | (.*\.)?env | \.env\..* | \.netrc | \.git-credentials | \.pypirc | keystores?(\..*)?
      | .*\.(pfx|p12|jks|keystore|kdbx) | id_(rsa|dsa|ecdsa|ed25519)(_\w+)?
      | (.*[._-])?tokens?([._-](json|toml|ya?ml|txt|ini|conf|dat))? """
)
"""How files are called that hold nothing but secrets, or settings with them."""
_PUBLIC = frozenset({"env", ".env.example", ".env.sample"})
"""`~/.cargo/env` sets the PATH."""
_KEY_NAME = re.compile(r"(?i).*\.(pem|key|crt)")
_GIT_NAMES = frozenset({"config", "FETCH_HEAD", "HEAD", "packed-refs"})
_SETTINGS = re.compile(
    r"(?i)(?!package).*\.(toml|json|ya?ml|ini|conf|cfg|properties)|config|settings"
)
_PRIVATE = re.compile(rb"-----BEGIN [A-Z ]*PRIVATE KEY")
_IN_ADDRESS = re.compile(rb"://[^/\s:@]+(:[^/\s@]*)?@")
_SET_SECRET = re.compile(
    rb"""(?mix) ^ [^#\n]* \b (\w*(token|password|passwd|secret|api_?key)) ["']? \s* [:=] \s*
    ["']? [^\s"'\[\]{},]{6,} """
)
_LIBRARIES = frozenset(
    """
    site-packages dist-packages node_modules lib lib64 libexec include share src doc docs man mod
    registry pkgs objects hooks __pycache__ repository gems packages toolchains test tests artifacts
    compiled registries _cacache index-v5 content-v2 archive-v0 wheels http http-v2 sdk
    """.split()
)
"""Folders in which toolchains keep code of others, and nobody a secret."""
_DIGEST = re.compile(r"[0-9a-f]{2}|[0-9a-f]{32,}")
_BY_DIGEST = 100
"""A folder with more entries than that may have them by digest; `db` in another one is a word."""
_DEEPEST, _DEEPEST_SETTINGS = 6, 2
_MOST_ENTRIES = 50_000
_MOST_READ = 256 << 10


def kept_in_tools(view: HostView) -> tuple[str, ...]:
    """Return files and folders of toolchains and caches that hold secrets, by name or content."""
    found: list[str] = []
    left = _MOST_ENTRIES
    folders = [(path, 0) for path in view.tools if _is_looked_at(path, view)]
    # Of a cache only its upper folders: below are packages, by the names of their digests.
    folders += [(path, _DEEPEST - 3) for path in view.caches if _is_looked_at(path, view)]
    while folders and left > 0:
        folder, depth = folders.pop(0)
        try:
            with os.scandir(folder) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError:
            continue
        left -= len(listed)
        for entry in listed:
            if entry.is_dir(follow_symlinks=False):
                if _SECRET_NAME.fullmatch(entry.name) and entry.name != "env":
                    found.append(entry.path)
                elif depth < _DEEPEST and not _is_library(entry.name, len(listed)):
                    folders.append((entry.path, depth + 1))
            elif entry.is_file() and _is_secret(entry.path, entry.name, depth):
                found.append(entry.path)
    return tuple(found)


def _is_looked_at(path: str, view: HostView) -> bool:
    """Say whether something lies in the home, where people keep their things."""
    own = view.home is not None and is_below(path, view.home)
    nested = any(path != each and is_below(path, each) for each in view.tools)
    return own and not nested and not _is_library(os.path.basename(path))


def _is_library(name: str, neighbours: int = 0) -> bool:
    return name in _LIBRARIES or (neighbours > _BY_DIGEST and _DIGEST.fullmatch(name) is not None)


def _is_secret(path: str, name: str, depth: int) -> bool:
    if _SECRET_NAME.fullmatch(name) and name not in _PUBLIC:
        return True
    wanted = []
    if _KEY_NAME.fullmatch(name):
        wanted.append(_PRIVATE)
    if name in _GIT_NAMES:
        wanted.append(_IN_ADDRESS)
    if depth <= _DEEPEST_SETTINGS and _SETTINGS.fullmatch(name):
        wanted += [_IN_ADDRESS, _SET_SECRET]
    if not wanted:
        return False
    try:
        with open(path, "rb") as file:
            content = file.read(_MOST_READ)
    except OSError:
        return False
    return any(pattern.search(content) for pattern in wanted)


def _has_python(prefix: str) -> bool:
    names = ("pyvenv.cfg", "conda-meta", "bin/python", "bin/python3")
    return any(os.path.lexists(os.path.join(prefix, name)) for name in names)
