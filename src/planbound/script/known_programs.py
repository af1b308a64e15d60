"""What is known of single programs: how grep looks, who fetches, whose exit code says nothing."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator

from msgspec import Struct

from planbound.script.tree import Call, Word, words
from planbound.script.waiting import operands
from planbound.source import lazy_pattern

# -- programs whose exit code does not say what they found ---------------------------------------


_COMPARE = 'compare what it prints: `test "$(...)" = ...`, or add `stdout contains "..."`'
_DOCKER_LISTS = words("ps images stats info version ls")
_GIT_LISTS = words("branch log stash tag remote")
_VALID_JSON = words(". empty type")


def _subcommands(call: Call) -> list[str]:
    return [word.value or "" for word in call.operands(words("-C -c"))]


_IN_EVERY_LINE = ("", "^", "$", ".*", "^.*$", "^.*", ".*$")


def _greps(call: Call) -> str | None:
    if call.has("-c", "--count"):
        return _COMPARE
    if call.has("-x", "-v", "-w", "-L", "--line-regexp", "--invert-match", "--word-regexp"):
        return None
    every = [word for word in grep_patterns(call) if word.value in _IN_EVERY_LINE]
    return "look for what has to be there: this is in every line" if every else None


def _prints(_call: Call) -> str | None:
    return _COMPARE


def _finds(call: Call) -> str | None:
    values = call.values()
    if "-exec" in values and "+" in values:
        return None  # fails where the command does
    return "let `| grep -q .` follow, which fails where nothing is found"


def _git_says_nothing(call: Call) -> str | None:
    given = _subcommands(call)
    if given[:1] == ["diff"] and not call.has("--exit-code", "--quiet", "--check"):
        return "use `git diff --exit-code`, which fails where there are changes"
    if given[:1] == ["status"]:
        return 'use `test -z "$(git status --porcelain)"`, which fails where there are changes'
    return _COMPARE if len(given) == 1 and given[0] in _GIT_LISTS else None


def _docker_says_nothing(call: Call) -> str | None:
    given = _subcommands(call)
    groups = {"compose", "container", "image", "volume", "network"}
    listed = given[1:2] if given[:1] and given[0] in groups else given[:1]
    return _COMPARE if listed and listed[0] in _DOCKER_LISTS else None


def _pip(call: Call) -> str | None:
    return _COMPARE if _subcommands(call)[:1] in (["list"], ["freeze"]) else None


def _jq(call: Call) -> str | None:
    if call.has("-e", "--exit-status"):
        return None
    program = next((word.value or "" for word in call.operands()), ".")
    if program in _VALID_JSON or "error" in program:
        return None  # fails where the input is not valid
    return "use `jq -e`, which fails where the result is `false` or `null`"


def _curl(call: Call) -> str | None:
    if call.has("-f", "--fail", "--fail-with-body", "-V", "--version", "-h", "--help"):
        return None
    return "use `curl --fail`, which fails where the server answers with an error"


_SILENT: dict[str, Callable[[Call], str | None]] = {
    "grep": _greps,
    "egrep": _greps,
    "fgrep": _greps,
    "rg": _greps,
    "wc": _prints,
    "du": _prints,
    "df": _prints,
    "ps": _prints,
    "find": _finds,
    "git": _git_says_nothing,
    "docker": _docker_says_nothing,
    "docker-compose": _docker_says_nothing,
    "pip": _pip,
    "pip3": _pip,
    "jq": _jq,
    "curl": _curl,
}


def better_call(call: Call) -> str | None:
    """Return how to do better, where a call's exit code says nothing."""
    judge = _SILENT.get(call.program)
    return judge(call) if judge and not call.negated and not call.optional else None


# -- calls that fetch something from elsewhere, and need a network for it ------------------------


_OFFLINE = words(
    "--offline --no-index --no-sync --no-install --no-venv --help --version --dry-run "
    "--prefer-offline -h"
)
_FETCHED = frozenset({"npx", "bunx"})
_SYNCED = frozenset({"uv", "poetry", "pdm", "pipenv"})
"""What runs a program in the project's environment, and makes that where there is none."""
_ADDED = frozenset({"--with", "--with-requirements", "--isolated"})
"""What lets `uv run` fetch more than the environment has."""
_URL = lazy_pattern(r"(?:https?|ftp|git|ssh)://(?:[^/@]*@)?([^/:]+|\[[^\]]*\])")
_HERE = frozenset({"localhost", "127.0.0.1", "[::1]", "0.0.0.0"})  # noqa: S104 - a name, no socket


def _first(*subcommands: str) -> Callable[[Call], bool]:
    """Judge by the words behind the program."""
    known = {tuple(each.split()) for each in subcommands}
    return lambda call: any(operands(call)[: len(each)] == [*each] for each in known)


def _yarn(call: Call) -> bool:
    found = operands(call)
    return not found or found[0] in {"install", "add", "dlx", "up", "upgrade"}


def _elsewhere(call: Call) -> bool:
    hosts = [match[1] for value in call.values() if (match := _URL.match(value))]
    return any(host not in _HERE and not host.startswith("$") for host in hosts)


def _clones(call: Call) -> bool:
    return operands(call)[:1] in (["clone"], ["ls-remote"]) and _elsewhere(call)


_INSTALLS: dict[str, Callable[[Call], bool]] = {
    "pip": _first("install", "download", "wheel"),
    "pipx": _first("install", "run", "upgrade"),
    "uv": _first("sync", "add", "lock", "pip install", "pip sync", "tool install", "tool run"),
    "uvx": lambda _call: True,
    "poetry": _first("install", "add", "update", "lock", "sync"),
    "pdm": _first("install", "sync", "add", "update", "lock"),
    "pipenv": _first("install", "sync", "update", "lock"),
    "hatch": _first("env create"),
    "conda": _first("install", "create", "update", "env create"),
    "mamba": _first("install", "create", "update", "env create"),
    "tox": lambda call: operands(call)[:1] not in (["list"], ["l"], ["config"]),
    "nox": lambda call: not call.has("-l", "--list", "--list-sessions"),
    "npm": _first("ci", "install", "i", "add", "update", "clean-install", "install-test", "it"),
    "pnpm": _first("install", "i", "add", "update", "dlx", "fetch"),
    "yarn": _yarn,
    "bun": _first("install", "i", "add", "update"),
    "go": _first("get", "install", "mod download", "mod tidy"),
    "cargo": _first("install", "fetch", "add", "update"),
    "gem": _first("install", "update"),
    "bundle": _first("install", "update"),
    "composer": _first("install", "update", "require"),
    "apt": _first("install", "update"),
    "apt-get": _first("install", "update"),
    "brew": _first("install", "update"),
    "rustup": _first("update", "toolchain install", "component add"),
    "git": _clones,
    "curl": _elsewhere,
    "wget": _elsewhere,
}
_SERVICES = frozenset({"gh", "glab", "hub", "tea"})
"""What asks a service for everything that it says."""
_ALIASES = dict.fromkeys(words("pip3"), "pip")
_TASKS = words("tox nox uvx pipx")
"""What runs what it fetched."""


def installs(call: Call) -> bool:
    """Say whether a call installs packages."""
    judge = _INSTALLS.get(_ALIASES.get(call.program, call.program))
    return call.program not in _TASKS and judge is not None and judge(call)


def asks_service(call: Call, text: str) -> bool:
    """Say whether a call asks a service for everything that it says, as `gh` does."""
    return call.program in _SERVICES and _OFFLINE.isdisjoint(text.split())


def fetches(call: Call, text: str, *, node_programs: Container[str], has_environment: bool) -> bool:
    """Say whether a call, with the text that it stands in, gets something from elsewhere.

    What the project has already is not fetched: programs of its `node_modules`, an environment.
    """
    if not _OFFLINE.isdisjoint(text.split()):
        return False
    for word in call.wrappers:
        name = word.value or ""
        if name == "uvx" or (name in {"npm", "pnpm", "yarn", "uv"} and _is_fetched(name, text)):
            return name in {"uvx", "uv"} or call.program not in node_programs
        if name in _FETCHED:
            return call.program not in node_programs
        if name in _SYNCED:
            return not has_environment or any(each in _ADDED for each in _names(text))
    judge = _INSTALLS.get(_ALIASES.get(call.program, call.program))
    return judge is not None and judge(call)


def _names(text: str) -> list[str]:
    return [word.partition("=")[0] for word in text.split()]


def _is_fetched(name: str, text: str) -> bool:
    """Say whether a wrapper gets a program from elsewhere: `npm exec`, `pnpm dlx`."""
    behind = text.partition(name)[2].split()[:2]
    return behind[:1] in (["exec"], ["x"], ["dlx"]) or behind == ["tool", "run"]


# -- what it is told to look for, and where ------------------------------------------------------


_GREPS = words("grep egrep fgrep zgrep rg ag ack")
_BASIC = words("grep zgrep")
_OTHER_PATTERNS = ("-E", "-F", "-P", "--extended-regexp", "--fixed-strings", "--perl-regexp")
_VALUED = words(
    "-e -f -m -A -B -C -d -D --regexp --file --max-count --after-context --before-context --context"
    " --include --exclude --exclude-dir --label --color --colour -g --glob -t --type"
)
_PATTERN = words("-e --regexp")
_FILE = words("-f --file")


def is_grep(call: Call) -> bool:
    """Say whether a call looks for lines with a pattern."""
    return call.program in _GREPS or _is_git_grep(call)


def is_basic(call: Call) -> bool:
    """Say whether its patterns are basic regular expressions."""
    if call.program not in _BASIC and not _is_git_grep(call):
        return False
    return not call.has(*_OTHER_PATTERNS)


def grep_patterns(call: Call) -> list[Word]:
    """Return the patterns that a call of `grep` looks for."""
    return _parts(call)[0]


def grep_files(call: Call) -> list[Word]:
    """Return the files and folders that a call of `grep` looks into."""
    return _parts(call)[1]


def _is_git_grep(call: Call) -> bool:
    return call.program == "git" and call.values()[:1] == ["grep"]


def _parts(call: Call) -> tuple[list[Word], list[Word]]:
    patterns: list[Word] = []
    others: list[Word] = []
    is_given = False
    for option, word in _arguments(call):
        if option in _PATTERN:
            patterns.append(word)
            is_given = True
        elif option in _FILE:
            is_given = True
        elif option is None:
            others.append(word)
    if not is_given and others:
        patterns, others = others[:1], others[1:]
    return patterns, others


def _arguments(call: Call) -> Iterator[tuple[str | None, Word]]:
    """Yield the operands, and the values of options each with its option."""
    given = call.arguments[1:] if _is_git_grep(call) else call.arguments
    option: str | None = None
    only = False
    for word in given:
        value = word.value or ""
        if option is not None:
            yield option, word
            option = None
        elif only or not value.startswith("-") or value == "-":
            yield None, word
        elif value == "--":
            only = True
        elif value in _VALUED:
            option = value
        elif not value.startswith("--") and f"-{value[-1]}" in _PATTERN:
            option = "-e"  # at the end of a cluster, such as `-qe`


# -- what is wrong with a pattern ------------------------------------------------------------------


_PART = lazy_pattern(r"\\.|\[\^?\]?(?:\[[:.=].*?[:.=]\]|[^\]])*\]|.", 16)
_INTERVAL = lazy_pattern(r"\\\{\d*(?:,\d*)?\\\}")
_REPEATS = ("*", "\\{", "\\+", "\\?")
_BEGINS = ("", "^", "\\(", "\\|")


class PatternFault(Struct, frozen=True):
    """What is wrong with a pattern."""

    part: str
    what: str


def faults_of(pattern: str) -> Iterator[PatternFault]:
    """Yield what a basic regular expression says that its author hardly means."""
    parts = _PART.findall(pattern)
    opened: list[int] = []
    refers = any(len(part) == 2 and part[0] == "\\" and part[1] in "123456789" for part in parts)
    for index, part in enumerate(parts):
        before = parts[index - 1] if index else ""
        after = parts[index + 1] if index + 1 < len(parts) else ""
        if part == "\\(":
            opened.append(index)
        elif part == "\\)":
            if not opened:
                yield PatternFault(part, "ends a group that does not begin, so that `grep` fails")
                continue
            begin = opened.pop()
            inside = parts[begin + 1 : index]
            is_used = refers or "\\|" in inside or after in _REPEATS
            if not is_used and begin and (parts[begin - 1].isalnum() or parts[begin - 1] == "_"):
                yield PatternFault("\\(", "begins a group, so that no parenthesis is looked for")
        elif part == "\\{" and not _is_interval(parts, index):
            yield PatternFault(part, "begins a repetition that is none, so that `grep` fails")
        elif part == "\\+" and (before in (*_BEGINS, "\\+") or (before, after) == (" ", " ")):
            yield PatternFault(part, "repeats what stands before it, so that no `+` is looked for")
        elif part == "\\|" and (before in _BEGINS or after in {"", "$", "\\)"}):
            yield PatternFault(part, "begins an alternative, and an empty one is in every line")
    if opened:
        yield PatternFault("\\(", "begins a group that does not end, so that `grep` fails")


def _is_interval(parts: list[str], index: int) -> bool:
    return index > 0 and _INTERVAL.match("".join(parts[index : index + 20])) is not None
