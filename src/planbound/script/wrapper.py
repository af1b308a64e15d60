"""Programs that only start another one: what is behind `env X=1 timeout 10 npx tsc`?"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from planbound.script.runners import RUNNERS
from planbound.script.runners.runner import Language
from planbound.script.tree import Call, ShellAssignment, ToolReference, Word, words
from planbound.source import has_surrogate, lazy_pattern

# -- programs that only start another one: what is behind `env X=1 timeout 10 npx tsc`? ----------


SHELLS = frozenset({"bash", "sh", "zsh", "dash", "ksh"})

_MOVES = lazy_pattern(r"-C$|--(?:directory|cwd|chdir|dir|project|prefix)\b")
_ASSIGNMENT = lazy_pattern(r"[A-Za-z_]\w*=")


class _Module(enum.Enum):
    """Whether `-m` names the command."""

    NEVER = "never"
    ALSO = "also"
    ONLY = "only"


class _Wrapper(Struct, frozen=True):
    """How a wrapper's own words end and the command's begin."""

    subcommands: tuple[tuple[str, ...], ...] = ()
    """The words that make it a wrapper, such as `run` of `uv run`."""
    valued: frozenset[str] = frozenset()
    """Options that take the next word."""
    operands: int = 0
    """How many words of its own it takes."""
    assignments: bool = False
    limited: bool = False
    provided: bool = False
    module: _Module = _Module.NEVER
    unless: frozenset[str] = frozenset()
    """Options that make it something else."""
    only: frozenset[str] = frozenset()
    """The only commands that it is known to start; empty: any."""


# What package managers run from the project without `run` or `exec` in front.
_BINARIES = words(
    "tsc eslint prettier vite next nuxt webpack rollup parcel esbuild nodemon ng nx turbo tsx "
    "ts-node react-scripts http-server serve json-server live-server astro svelte-check vue-tsc "
    "biome oxlint stylelint c8 nyc"
) | frozenset(
    program
    for runner in RUNNERS
    if runner.language is Language.JAVASCRIPT and runner.name != "node --test"
    for program in runner.programs
)
_UV = words(
    "--with --with-editable --with-requirements --extra --group --only-group --python -p "
    "--package --directory --project --env-file --index-url --index --cache-dir --no-group "
    "--no-extra --from --config-file --refresh-package"
)
_NPX = words("-p --package -w --workspace --prefix")

_PLAIN = _Wrapper()
_PYTHON = _Wrapper(valued=words("-W -X"), module=_Module.ONLY, unless=words("-c -"))
_WRAPPERS: dict[str, tuple[_Wrapper, ...]] = {
    "env": (_Wrapper(valued=words("-u -C -S --unset --chdir"), assignments=True),),
    "time": (_Wrapper(valued=words("-f -o --format --output"), assignments=True),),
    "timeout": (_Wrapper(valued=words("-s -k --signal --kill-after"), operands=1, limited=True),),
    "gtimeout": (_Wrapper(valued=words("-s -k"), operands=1, limited=True),),
    "nice": (_Wrapper(valued=words("-n --adjustment")),),
    "ionice": (_Wrapper(valued=words("-c -n")),),
    "nohup": (_PLAIN,),
    "setsid": (_PLAIN,),
    "stdbuf": (_Wrapper(valued=words("-i -o -e")),),
    "unbuffer": (_PLAIN,),
    "chronic": (_PLAIN,),
    "exec": (_Wrapper(valued=words("-a")),),
    "command": (_Wrapper(unless=words("-v -V")),),
    "builtin": (_PLAIN,),
    "sudo": (_Wrapper(valued=words("-u -g -h -p -C -D -R -T"), assignments=True),),
    "doas": (_Wrapper(valued=words("-u -C")),),
    "xargs": (
        _Wrapper(valued=words("-n -I -P -d -L -s -a -E --max-args --max-procs --delimiter")),
    ),
    "xvfb-run": (_Wrapper(valued=words("-n -s -e -f -p")),),
    "dotenv": (_Wrapper(subcommands=(("run",), ()), valued=words("-f -e"), only=_BINARIES),),
    "cross-env": (_Wrapper(assignments=True, provided=True),),
    "npx": (_Wrapper(valued=_NPX, provided=True, unless=words("-c --call")),),
    "bunx": (_Wrapper(provided=True),),
    "npm": (_Wrapper(subcommands=(("exec",), ("x",)), valued=_NPX, provided=True),),
    "pnpm": (
        _Wrapper(subcommands=(("exec",), ("dlx",)), valued=_NPX, provided=True),
        _Wrapper(
            subcommands=(("run",), ()),
            valued=words("-C --dir --filter -F"),
            provided=True,
            only=_BINARIES,
        ),
    ),
    "yarn": (
        _Wrapper(subcommands=(("exec",), ("dlx",)), valued=_NPX, provided=True),
        _Wrapper(subcommands=(("run",), ()), valued=words("--cwd"), provided=True, only=_BINARIES),
    ),
    "bun": (_Wrapper(subcommands=(("x",),), provided=True),),
    "uv": (
        _Wrapper(
            subcommands=(("run",), ("tool", "run")),
            valued=_UV,
            provided=True,
            module=_Module.ALSO,
        ),
    ),
    "uvx": (_Wrapper(valued=_UV, provided=True),),
    "pipx": (_Wrapper(subcommands=(("run",),), valued=words("--spec"), provided=True),),
    "poetry": (_Wrapper(subcommands=(("run",),), valued=words("-C -P"), provided=True),),
    "pipenv": (_Wrapper(subcommands=(("run",),), provided=True),),
    "pdm": (_Wrapper(subcommands=(("run",),), valued=words("-p"), provided=True),),
    "rye": (_Wrapper(subcommands=(("run",),), provided=True),),
    "pixi": (_Wrapper(subcommands=(("run",),), valued=words("-e"), provided=True),),
    "conda": (_Wrapper(subcommands=(("run",),), valued=words("-n -p --name"), provided=True),),
    "mise": (_Wrapper(subcommands=(("exec",), ("x",)), provided=True),),
    "bundle": (_Wrapper(subcommands=(("exec",),), provided=True),),
    "coverage": (
        _Wrapper(
            subcommands=(("run",),),
            valued=words("--source --omit --include --rcfile --data-file --context"),
            provided=True,
            module=_Module.ONLY,
        ),
    ),
    "python": (_PYTHON,),
    "pypy": (_PYTHON,),
    "py": (_PYTHON,),
}


class Unwrapped(Struct, frozen=True):
    """The command behind its wrappers."""

    place: int
    """Which word is the command's name."""
    name: str
    wrappers: tuple[Word, ...]
    assignments: tuple[ShellAssignment, ...]
    limited: bool
    provided: bool
    moved: bool
    """Whether a wrapper changes the directory."""


def program_of(name: str) -> str:
    """Return a program's name without its directory and without Python's version."""
    if "/" in name:
        name = name[name.rfind("/") + 1 :]
    return name.rstrip("0123456789.") if name.startswith("py") else name


def provides(name: str) -> bool:
    """Say whether a wrapper brings along what it starts."""
    return any(
        wrapper.provided or wrapper.module is _Module.ONLY
        for wrapper in _WRAPPERS.get(program_of(name), ())
    )


def unwrap(line: Sequence[Word]) -> Unwrapped | None:
    """Look through wrappers; None where the first word is the command itself."""
    index = 0
    wrappers: list[Word] = []
    assignments: list[ShellAssignment] = []
    limited = provided = moved = False
    name = line[0].value
    while name is not None and (known := _WRAPPERS.get(program_of(name))):
        for wrapper in known:
            behind = _behind(wrapper, line, index + 1, assignments)
            if behind is not None:
                break
        else:
            break
        wrappers.append(line[index])
        limited = limited or wrapper.limited
        # A module that Python runs is no program of its own.
        provided = provided or wrapper.provided or wrapper.module is _Module.ONLY
        moved = moved or any(_MOVES.match(word.text) for word in line[index + 1 : behind])
        index = behind
        name = line[index].value
    if not wrappers:
        return None
    name = name or ""
    if provided and "@" in name[1:]:
        name = name[: name.index("@", 1)]
    return Unwrapped(index, name, tuple(wrappers), tuple(assignments), limited, provided, moved)


def _behind(
    wrapper: _Wrapper, line: Sequence[Word], start: int, assignments: list[ShellAssignment]
) -> int | None:
    """Return where the wrapped command starts."""
    for subcommand in wrapper.subcommands or ((),):
        found: list[ShellAssignment] = []
        index = _after_options(wrapper, line, start) if subcommand else start
        if index is None or tuple(word.value for word in line[index:][: len(subcommand)]) != (
            subcommand
        ):
            continue
        index = _command_after(wrapper, line, index + len(subcommand), found)
        if index is not None and (not wrapper.only or line[index].value in wrapper.only):
            assignments += found
            return index
    return None


def _command_after(
    wrapper: _Wrapper, line: Sequence[Word], start: int, found: list[ShellAssignment]
) -> int | None:
    index = _after_options(wrapper, line, start)
    while index is not None and wrapper.assignments and index < len(line):
        if not _ASSIGNMENT.match(line[index].text):
            break
        found.append(_assignment(line[index]))
        index = _after_options(wrapper, line, index + 1)
    if index is None:
        return None
    if wrapper.module is not _Module.NEVER and line[index : index + 1]:
        if line[index].value == "-m":
            return index + 1 if index + 1 < len(line) else None
        if wrapper.module is _Module.ONLY:
            return None
    index += wrapper.operands
    return index if index < len(line) else None


def _assignment(word: Word) -> ShellAssignment:
    name, _, value = (word.value or word.text).partition("=")
    given = Word(text=value, value=value, start=word.start + len(name) + 1, end=word.end)
    return ShellAssignment(name=name, value=given, start=word.start, end=word.end)


def _after_options(wrapper: _Wrapper, line: Sequence[Word], start: int) -> int | None:
    """Return the first word that is no option; None where an option makes it no wrapper."""
    index = start
    while index < len(line):
        value = line[index].value
        if value is None or not value.startswith("-"):
            return index
        if value in wrapper.unless:
            return None
        if value == "-m" and wrapper.module is not _Module.NEVER:
            return index
        index += 2 if value in wrapper.valued else 1
        if value == "--":
            return index
    return index


# -- the programs that a command needs on PATH ---------------------------------------------------


BUILTINS = words("""
    ! . : [ [[ ]] (( alias bg bind break builtin caller case cd command compgen complete compopt
    continue coproc declare dirs disown do done echo elif else enable esac eval exec exit export
    false fc fg fi for function getopts hash help history if in jobs kill let local logout mapfile
    popd printf pushd pwd read readarray readonly return select set shift shopt source suspend test
    then time times trap true type typeset ulimit umask unalias unset until wait while { }
    """)
"""What `compgen -b -k` of bash prints."""

_PROGRAM = lazy_pattern(r"[^\s/=\x00-\x20\x7f-\x9f]+")
_LOOKUPS = frozenset({"which", "type", "hash", "whence", "command"})
_INSTALLS = frozenset({"install", "add", "get", "i"})
_INSTALLERS = words("""
    apt apt-get apk dnf yum pacman zypper brew port pip pip3 pipx uv npm pnpm yarn bun cargo go gem
    conda mamba snap nix-env choco
    """)

_LOOKS = _LOOKUPS | _INSTALLERS


def find_tools(calls: Iterable[Call], functions: frozenset[str]) -> tuple[ToolReference, ...]:
    """Return every program that must be on PATH, each once, where it is first named.

    Where the script changes PATH, what comes behind it is not known.
    """
    found: dict[str, ToolReference] = {}
    excused: set[str] = set()
    for call in calls:
        if call.name in _LOOKS:
            excused.update(_looked_for(call))
        if call.assignments and any(each.name == "PATH" for each in call.assignments):
            if call.word is None:
                break
            continue
        programs = _programs(call) if call.wrappers else (call.word,) if call.word else ()
        for word in programs:
            name = word.value
            if name and name not in BUILTINS and name not in found and _is_program(name):
                found[name] = ToolReference(name=name, start=word.start, end=word.end)
        if call.name in {"source", "."} or (call.name == "export" and _sets_path(call)):
            break
    if excused or functions:
        return tuple(
            tool
            for tool in found.values()
            if tool.name not in excused and tool.name not in functions
        )
    return tuple(found.values())


def _is_program(name: str) -> bool:
    return _PROGRAM.fullmatch(name) is not None and not has_surrogate(name)


def _programs(call: Call) -> Iterator[Word]:
    """Yield the words of a call that name programs."""
    for wrapper in call.wrappers:
        yield wrapper
        if provides(wrapper.value or ""):
            return
    if call.word is not None and not call.provided:
        yield call.word


def _looked_for(call: Call) -> Iterator[str]:
    """Yield the programs that the script looks for or installs itself."""
    values = call.values()
    if call.name not in _INSTALLERS:
        yield from values
    elif not _INSTALLS.isdisjoint(values):
        for value in values:
            yield re.split(r"[=<>@\[]", value.rsplit("/", 1)[-1], maxsplit=1)[0]


def _sets_path(call: Call) -> bool:
    return any(word.text.startswith("PATH=") for word in call.arguments)
