"""Of which calls it is known what they run: E3 needs that of every call of a contract.

A list of what is known, and not of what is forbidden. A call is understood where its program runs
nothing but itself, where what it runs is followed by the walk, or where its end is looked for: a
Python, a runner that can have a failing test, a judge that gets a failure at its end. A program of
the product that is started as a program of its own ends nobody but itself.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from msgspec.structs import replace

from planbound.script.known_programs import installs
from planbound.script.runners import BY_PROGRAM, runner_of
from planbound.script.runners.runner import Language
from planbound.script.tree import Call, Script, Word, below, words
from planbound.script.walk import make_call, package_call
from planbound.script.wrapper import BUILTINS, SHELLS, program_of
from planbound.source import lazy_pattern

# -- programs of which it is known what they run -------------------------------------------------


PYTHONS = frozenset({"python", "pypy", "py"})
_RUNS_OTHERS = words(". source eval exec command builtin coproc time enable bind")
_NOTHING_ELSE = (BUILTINS - _RUNS_OTHERS) | words("""
    cat tac ls dir tree stat file wc du df head tail nl sort tsort uniq cut tr paste join comm cmp
    diff diff3 sdiff colordiff icdiff wdiff patch grep egrep fgrep zgrep rg ag ack sed jq yq xq
    fold fmt pr rev column expand unexpand seq yes shuf split csplit tee touch mkdir rmdir rm cp mv
    ln install rsync mktemp mkfifo chmod chown chgrp truncate dd sync readlink realpath basename
    dirname pathchk date cal sleep expr bc dc factor numfmt id whoami groups uname hostname nproc
    printenv which whereis tty pgrep pkill killall ps free uptime lsof ss netstat ping host dig
    nslookup curl wget http nc ncat netcat md5sum sha1sum sha224sum sha256sum sha384sum sha512sum
    b2sum cksum sum base64 base32 xxd hexdump od strings iconv dos2unix unix2dos zcat gzip gunzip
    bzip2 bunzip2 bzcat xz unxz xzcat zstd unzstd zip unzip zipinfo ar nm objdump readelf ldd size
    strip c++filt openssl gpg sqlite3 psql mysql mariadb redis-cli xmllint xsltproc xmlstarlet
    tidy pandoc identify convert dot ffprobe getconf locale tput clear less more xargs
    """)
"""What runs nothing but itself, whatever it is told. `xargs` without a program prints."""
_CHECKERS = words("""
    shellcheck shfmt yamllint markdownlint markdownlint-cli2 mdl vale codespell cspell typos
    hadolint actionlint jsonlint ajv check-jsonschema jsonschema taplo ruff black isort autopep8
    yapf flake8 pylint mypy pyright basedpyright bandit pyflakes pycodestyle pydocstyle vulture ty
    eslint prettier tsc vue-tsc stylelint biome oxlint htmlhint golangci-lint gofmt goimports
    gofumpt staticcheck revive rustfmt cppcheck clang-format clang-tidy swiftlint ktlint rubocop
    standardrb tflint kubeconform kubeval editorconfig-checker ec gitleaks py_compile compileall
    json.tool luacheck stylua buf protoc promtool nginx
    """)
"""What reads files and says what is wrong with them."""
_COMPILERS = words("cc gcc g++ c++ clang clang++ rustc javac kotlinc swiftc ghc nvcc ld as tcc c99")
_SUBCOMMANDS: Mapping[str, frozenset[str]] = {
    "cargo": words(
        "build b check c clippy fmt doc d run r tree metadata fetch clean update version add remove"
    ),
    "go": words("build vet fmt run mod version env list doc get install clean"),
    "deno": words("run lint fmt check info cache"),
    "bun": words("run"),
    "docker": words("ps images stats info version inspect build"),
    "docker-compose": words("config ps images version"),
    "podman": words("ps images stats info version inspect build"),
    "kubectl": words("version explain config"),
    "terraform": words("fmt validate version init"),
    "helm": words("lint template version"),
    "coverage": words("report xml html json lcov combine erase debug"),
    "pip": words("list freeze show check"),
    "uv": words("build lock export tree version venv"),
    "poetry": words("check build show version export"),
    "npm": words("ls list audit view version pack prune rebuild root prefix config"),
    "pnpm": words("ls list audit why root"),
    "yarn": words("list audit why version"),
    "gh": words("api pr issue run release repo auth"),
}
"""Of programs that can run others what they do without."""
_STARTS_OTHERS = words("tox nox invoke doit pre_commit")
_GIT_RUNS_OTHERS = words("bisect foreach difftool mergetool filter-branch -x --exec")
_FIND_RUNS_OTHERS = words("-exec -execdir -ok -okdir")
_AWK_RUNS_OTHERS = lazy_pattern(r"\bsystem\s*\(|\bgetline\b|\|")
_INTERPRETERS = words("node bun deno tsx ts-node ruby perl php lua Rscript julia")
_ON_THE_LINE = ("-e", "-c", "-p", "-r", "-E", "--eval", "--print", "--check", "-v", "--version")
_INTERPRETER_VALUED = words("-o -O -I -r -M -d -P -l --require --import --loader --env-file")
_BUILDERS = words("make gmake just")
_MANAGERS = words("npm pnpm yarn bun")
_MAKE_FUNCTIONS = words(
    "wildcard patsubst subst strip sort dir notdir basename addprefix addsuffix filter filter-out "
    "foreach if or and words word firstword lastword realpath abspath info error warning value"
)
_MAKE_NAME = lazy_pattern(r"[A-Z_][A-Z0-9_]*")
_VARIABLE = lazy_pattern(r'"?\$(?:(\w+)|\{(\w+)(?::?[-=]([\w./-]+))?\})"?')
_HERE = lazy_pattern(r"\"?(?:\$PWD|\$\{PWD\}|\$\(pwd\)|`pwd`|\$\(CURDIR\))/([\w./-]+)\"?")
_OF_THE_HOME = lazy_pattern(r"\"?(?:~|\$HOME|\$\{HOME\})/|/(?:etc|usr|opt|nix)/")
_LOOPED = lazy_pattern(r"\bfor\s+(\w+)\s+in\b")
_ON_PATH = lazy_pattern(r"\bPATH=[\"']?(?:\$PWD/|\$\{PWD\}/|\$\(pwd\)/|`pwd`/|\./)?([\w./-]+):")


class Surrounding(NamedTuple):
    """What is known of the project around a call."""

    scripts: tuple[Script, ...] = ()
    """All that the contract runs, with what it runs itself."""
    files: Collection[str] = ()
    is_judge: Callable[[str], bool] = lambda _path: False
    says_test: Callable[[str], bool] = lambda _path: False
    """Whether a file that is not there would be a test, by its name."""


class Place(NamedTuple):
    """A script in which calls stand."""

    script: Script
    takes_in: bool = False
    """Whether it takes code of the product into itself: calls may be functions of that."""
    is_recipe: bool = False


def why_unknown(shown: str) -> str:
    """Return why a contract with a call that is not understood shows less, and what to write."""
    return f"nobody knows what `{shown}` runs: call the tests by their runner, by itself"


def unknown_call(places: Iterable[Place], known: Surrounding) -> str:
    """Return a call of which it is not known what it runs; empty: it is known of each."""
    functions = frozenset(name for script in known.scripts for name in script.functions)
    for place in places:
        reader = _UnderstandingReader(place, known, functions)
        for call in place.script.calls:
            if not reader.is_understood(call):
                text = place.script.text[call.start : call.end].partition("\n")[0][:80]
                return text.strip() or call.program
    return ""


class _UnderstandingReader:
    """Says of the calls of a script whether it is known what they run."""

    def __init__(self, place: Place, known: Surrounding, functions: frozenset[str]) -> None:
        self.place = place
        self.known = known
        self.functions = functions

    def is_understood(self, call: Call) -> bool:
        if call.word is None or call.body is not None:
            return True  # nothing is run, or its script is read
        if call.name is None:
            return self._is_understood_behind(call)
        return self._is_known(call)

    def _is_known(self, call: Call) -> bool:
        name, program = call.name or "", call.program
        if name in self.functions or self._is_known_program(call):
            return True
        if "/" in name:
            return not name.startswith("/") and self._is_followed(call.directory, name)
        if self.place.is_recipe and call.nested:
            return self._is_of_make(call)
        if self._on_path(program):
            return True
        return self.place.takes_in and not any(map(self._names_program, call.arguments))

    def _is_known_program(self, call: Call) -> bool:
        program = call.program
        if any(program_of(word.value or "") in PYTHONS for word in call.wrappers[-1:]):
            return program not in _STARTS_OTHERS  # a module: its Python is watched
        if program in PYTHONS or program in _NOTHING_ELSE or program in _CHECKERS:
            return True
        if (runner := runner_of(call)) is not None and program not in _BUILDERS | _MANAGERS:
            compiles = program == "go" and call.has("-c", "-exec")
            is_seen = runner.canary is not None or runner.language is Language.PYTHON
            return is_seen and bool(runner.name) and not compiles
        if program in _COMPILERS:
            return not any(map(self._is_judge_of, call.operands()))
        if program in SHELLS or program in {".", "source"} or program in _INTERPRETERS:
            return self._runs_followed(call)
        return _does_without_others(call)

    def _is_judge_of(self, word: Word) -> bool:
        """Say whether a compiler makes a program of a judge, with code under test in it."""
        return word.value is not None and self._judges(word.value)

    def _judges(self, path: str) -> bool:
        seen = below("", path)
        return seen is not None and (self.known.is_judge(seen) or self.known.says_test(seen))

    def _runs_followed(self, call: Call) -> bool:
        """Say whether it is known which file a shell or an interpreter runs."""
        program = call.program
        if program in SHELLS and call.has("-c"):
            return False  # what it holds could not be read
        if program in {"deno", "bun"}:
            return _does_without_others(call)
        checks = ("-n",) if program in SHELLS else _ON_THE_LINE
        if program not in {".", "source"} and call.has(*checks):
            return True  # a check, or looked at elsewhere
        word = next(call.operands(_INTERPRETER_VALUED), None)
        if word is None:
            return any(each.operator == "<" for each in call.redirects)
        return self._is_followed_word(call, word)

    def _is_followed_word(self, call: Call, word: Word) -> bool:
        if _OF_THE_HOME.match(word.text):
            return call.program in {".", "source"}
        if word.value is None:
            here = _HERE.fullmatch(word.text)
            return self._is_followed("", here[1]) if here else self._is_looped(word)
        return self._is_followed(call.directory, word.value)

    def _is_looped(self, word: Word) -> bool:
        """Say whether a word is what a loop goes through: those files are followed."""
        variable = _VARIABLE.fullmatch(word.text)
        return variable is not None and (variable[1] or variable[2]) in _LOOPED.findall(
            self.place.script.text
        )

    def _is_followed(self, directory: str | None, name: str) -> bool:
        """Say whether a file is followed, or is a program of the product, there or not."""
        path = below(directory, name)
        if path is None:
            return False
        return path in self.known.files or not self.known.says_test(path)

    def _on_path(self, name: str) -> bool:
        """Say whether the contract has a program of the project on the PATH."""
        texts = (script.text for script in self.known.scripts)
        folders = (match[1].strip("/") for text in texts for match in _ON_PATH.finditer(text))
        return any(f"{folder}/{name}" in self.known.files for folder in folders)

    def _is_of_make(self, call: Call) -> bool:
        """Say whether a substitution in a recipe is make's: a variable, or a function."""
        if call.program == "shell" and call.arguments:
            first, *rest = call.arguments
            inner = replace(
                call,
                name=first.value,
                program=program_of(first.value or ""),
                word=first,
                arguments=tuple(rest),
            )
            return self.is_understood(inner)
        is_name = not call.arguments and _MAKE_NAME.fullmatch(call.program) is not None
        return is_name or call.program in _MAKE_FUNCTIONS

    def _is_understood_behind(self, call: Call) -> bool:
        """Say whether it is known what stands in a variable, or what a substitution says."""
        assert call.word is not None
        if any(value == "-m" for value in call.values()[:1]):
            return True  # only a Python takes that: it is watched
        if here := _HERE.fullmatch(call.word.text):
            return self._is_followed("", here[1])
        variable = _VARIABLE.fullmatch(call.word.text)
        if variable is None:
            return False
        values = list(self._values(variable[1] or variable[2]))
        if variable[3]:
            values.append(variable[3])
        return bool(values) and all(self._is_simple(call, value) for value in values)

    def _is_simple(self, call: Call, value: str | None) -> bool:
        """Say whether a program is a Python, or one of the project that is no judge."""
        first, _, rest = (value or "").partition(" ")
        if program_of(first) in PYTHONS:
            return not rest or rest.startswith("-m")
        if rest or not first:
            return False
        inner = replace(call, name=first, program=program_of(first))
        is_own = "/" in first and not first.startswith("/")
        return (is_own and not self._judges(first) and self._is_followed("", first)) or (
            not is_own and program_of(first) in _NOTHING_ELSE | _CHECKERS and self._is_known(inner)
        )

    def _values(self, name: str) -> Iterator[str | None]:
        for script in self.known.scripts:
            for call in script.calls:
                for each in call.assignments:
                    if each.name == name:
                        here = _HERE.fullmatch(each.value.text) if each.value else None
                        yield here[1] if here else each.value.value if each.value else None

    def _names_program(self, word: Word) -> bool:
        """Say whether a word may be a program that a call starts."""
        if word.value is None:
            return "$" not in word.text
        program = program_of(word.value.split()[0]) if word.value.split() else ""
        if program in PYTHONS | SHELLS | _INTERPRETERS | _BUILDERS | _MANAGERS:
            return True
        return program in BY_PROGRAM or ("/" in word.value and self._judges(word.value))


def _no_words(call: Call) -> bool:
    return not call.arguments


def _awk(call: Call) -> bool:
    return not any(_AWK_RUNS_OTHERS.search(word.text) for word in call.arguments)


def _tar(call: Call) -> bool:
    options = ("--to-command", "--checkpoint-action")
    return not any(value.startswith(options) for value in call.values())


def _cmake(call: Call) -> bool:
    if call.has("--build"):
        return not call.has("--target", "-t")
    return any(value[:2] in {"-S", "-B", "-D"} for value in call.values())


_WITHOUT_OTHERS: Mapping[str, Callable[[Call], bool]] = {
    "find": lambda call: _FIND_RUNS_OTHERS.isdisjoint(call.values()),
    "git": lambda call: _GIT_RUNS_OTHERS.isdisjoint(call.values()),
    **dict.fromkeys(words("awk gawk mawk nawk"), _awk),
    **dict.fromkeys(words("env exec"), _no_words),
    "command": lambda call: call.has("-v", "-V"),
    # A lock on what is open already.
    "flock": lambda call: all(each[:1] == "-" or each.isdigit() for each in call.values()),
    "tar": _tar,
    "cmake": _cmake,
    **dict.fromkeys(_BUILDERS, lambda call: make_call(call) is not None),
}


def _does_without_others(call: Call) -> bool:
    """Say whether a program that can run others does without, or runs what is followed."""
    program = call.program
    if program in _WITHOUT_OTHERS:
        return _WITHOUT_OTHERS[program](call)
    if installs(call) or call.has("--version", "--help"):
        return True
    if program in _MANAGERS and (package := package_call(call)) is not None:
        return package.script not in {"exec", "x", "dlx"}
    first = next((word.value or "" for word in call.operands(words("-C -f -n"))), "")
    return first in _SUBCOMMANDS.get(program, frozenset())


# -- programs in Python that are no files --------------------------------------------------------


_VALUED = words("-W -X --check-hash-based-pycs")
_JUDGES = lazy_pattern(
    r"\b(?:assert\w*|raises?|exit|_exit|quit|abort|kill|unittest|doctest|pytest|runpy|exec|eval"
    r"|if|and|or|not|except|suppress|(?:check|verify|test)\w*|main)\b|[=!<>]=|[<>]"
)
"""What a text that judges has in it."""


def inline_text(call: Call) -> str | None:
    """Return the program behind `-c`; None where a Python runs another one."""
    values = iter(zip(call.values(), call.arguments, strict=True))
    for value, _word in values:
        if value in _VALUED:
            next(values, None)
        elif _is_cluster(value) and "c" in value:
            rest = value.partition("c")[2]
            following = next(values, None)
            if rest or following is None:
                return rest
            return following[1].value or following[1].text
        elif not _is_cluster(value):
            break
    return None


def reads_program(call: Call) -> bool:
    """Say whether a Python reads its program from its input."""
    values = iter(call.values())
    for value in values:
        if value in _VALUED:
            next(values, None)
        elif value.startswith("--") or (_is_cluster(value) and not {"c", "m", "V"} & {*value}):
            if value in {"--version", "--help", "-h"}:
                return False
        else:
            return value in {"-", "/dev/stdin"}
    return True


def _is_cluster(value: str) -> bool:
    return len(value) > 1 and value[0] == "-" and value[1] != "-"


def inline_programs(calls: Iterable[Call]) -> Iterator[str]:
    """Yield which programs in Python are no files and judge: nobody can lay them otherwise."""
    for call in calls:
        if call.program not in PYTHONS:
            continue
        name = call.name or call.program
        text = inline_text(call)
        if text is not None:
            # What only prints judges nothing: its output is compared elsewhere.
            if _JUDGES.search(text):
                yield f"what `{name} -c` expects cannot be changed: write it into a file"
        elif reads_program(call):
            yield f"what `{name}` reads as its program cannot be changed: write it into a file"
