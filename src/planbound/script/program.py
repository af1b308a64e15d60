"""What the programs that contracts are made of do with the files that they are given."""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from planbound.script.runners import BY_PROGRAM, runner_of
from planbound.script.runners.runner import tested_words
from planbound.script.tree import Call, FileReference, FileUse, Redirect, Word, below, words
from planbound.script.wrapper import BUILTINS, SHELLS
from planbound.source import has_surrogate, lazy_pattern

# -- what the programs that contracts are made of do with the files that they are given ----------


class NamedFile(NamedTuple):
    """One word that names a file."""

    word: Word
    path: str
    use: FileUse
    sure: bool = False
    """Whether it is a path even where it does not look like one."""
    optional: bool = False


class _Operands(Struct, frozen=True):
    """A program whose operands are files."""

    use: FileUse
    valued: frozenset[str] = frozenset()
    """Options that take the next word."""
    instead: frozenset[str] = frozenset()
    """Options that take the place of the first operand, which is a pattern or a program."""
    first: bool = True
    """Whether the first operand is a file too."""


class _Interpreter(Struct, frozen=True):
    """A program whose first operand is a program."""

    valued: frozenset[str] = frozenset()
    code: tuple[str, ...] = ()
    """Options that give the program itself."""
    checks: tuple[str, ...] = ()
    """Options that only read the file."""
    subcommand: str = ""


_READ = _Operands(use=FileUse.READ)
_GREP = _Operands(
    use=FileUse.READ,
    first=False,
    valued=words(
        "-e -f -m -A -B -C -g -t -T --regexp --file --include --exclude --exclude-dir "
        "--max-count --glob --type --color"
    ),
    instead=words("-e -f --regexp --file --files"),
)
_OPERANDS: dict[str, _Operands] = {
    **dict.fromkeys(
        words(
            "cat wc uniq nl tac rev xxd hexdump strings md5sum sha1sum sha256sum sha512sum cmp "
            "comm less more column base64 xmllint shellcheck yamllint markdownlint hadolint mypy "
            "flake8 pylint black isort eslint prettier pyright bandit ruff py_compile json.tool "
            "compileall zcat rst2html jsonlint actionlint"
        ),
        _READ,
    ),
    **dict.fromkeys(
        ["head", "tail"], _Operands(use=FileUse.READ, valued=words("-n -c --lines --bytes"))
    ),
    "sort": _Operands(use=FileUse.READ, valued=words("-k -t -o --key --field-separator")),
    "cut": _Operands(use=FileUse.READ, valued=words("-d -f -c -b")),
    "diff": _Operands(use=FileUse.READ, valued=words("-I -x -U -C --exclude --label")),
    **dict.fromkeys(["grep", "egrep", "fgrep", "rg", "ag", "zgrep"], _GREP),
    "sed": _Operands(
        use=FileUse.READ,
        first=False,
        valued=words("-e -f --expression --file"),
        instead=words("-e -f --expression --file"),
    ),
    **dict.fromkeys(
        ["awk", "gawk", "mawk"],
        _Operands(
            use=FileUse.READ, first=False, valued=words("-F -v -f"), instead=words("-f --file")
        ),
    ),
    **dict.fromkeys(
        ["jq", "yq"],
        _Operands(use=FileUse.READ, first=False, valued=words("-f --indent"), instead=words("-f")),
    ),
    **dict.fromkeys(
        ["ls", "stat", "file", "readlink", "realpath", "du", "tree"],
        _Operands(use=FileUse.EXISTS, valued=words("-c -f -I -L --format --printf")),
    ),
    **dict.fromkeys(
        ["tee", "touch", "mkdir"],
        _Operands(use=FileUse.WRITTEN, valued=words("-m -d -t -r --mode --date --reference")),
    ),
}
_INTERPRETERS: dict[str, _Interpreter] = {
    **dict.fromkeys(SHELLS, _Interpreter(valued=words("-o -O"), code=("-c", "-s"), checks=("-n",))),
    "source": _Interpreter(),
    ".": _Interpreter(),
    "python": _Interpreter(valued=words("-W -X"), code=("-c", "-m")),
    "pypy": _Interpreter(valued=words("-W -X"), code=("-c", "-m")),
    "node": _Interpreter(
        valued=words("-r --require --import --loader --env-file"),
        code=("-e", "--eval", "-p", "--print"),
        checks=("-c", "--check"),
    ),
    "ruby": _Interpreter(valued=words("-I -r"), code=("-e",), checks=("-c",)),
    "perl": _Interpreter(valued=words("-I -M"), code=("-e", "-E"), checks=("-c",)),
    "php": _Interpreter(valued=words("-d"), code=("-r",), checks=("-l",)),
    "deno": _Interpreter(subcommand="run"),
    "bun": _Interpreter(),
    "go": _Interpreter(subcommand="run", valued=words("-tags -exec")),
    "tsx": _Interpreter(),
    "ts-node": _Interpreter(valued=words("-P --project")),
    "lua": _Interpreter(valued=words("-l"), code=("-e",)),
    "Rscript": _Interpreter(code=("-e",)),
    "julia": _Interpreter(code=("-e", "-E")),
    "streamlit": _Interpreter(subcommand="run"),
}
_MADE_BY = {"make": "Makefile", "gmake": "Makefile", "just": "justfile", "rake": "Rakefile"}
_PACKAGE_MANAGERS = frozenset({"npm", "pnpm", "yarn", "bun"})
_SCRIPTED = _PACKAGE_MANAGERS | frozenset(_MADE_BY)
_PACKAGE_SCRIPTS = words("test t tst run run-script start restart stop")
_CONFIGURATIONS = words("--config --config-file --configuration --rcfile --project --tsconfig")
_SHORT_CONFIGURATIONS = {
    "-c": words("eslint coverage yamllint"),
    "-p": words("tsc"),
    "-f": words("gmake docker-compose"),
}
_CONFIGURABLE = words("tsc webpack vite coverage")
_OUTPUTS = words(
    "--output --out --outfile --output-file --junitxml --junit-xml --outputFile --out-file "
    "--html --output-junit --junitfile"
)
_SHORT_OUTPUTS = {
    "-o": words("gcc cc g++ clang clang++ c++ go curl sort pandoc rustc ld nvcc dot esbuild"),
    "-O": words("wget"),
}
_FILE_OPTIONS = (
    _OUTPUTS | _CONFIGURATIONS | frozenset(_SHORT_OUTPUTS) | frozenset(_SHORT_CONFIGURATIONS)
)
_TESTS = frozenset({"test", "[", "[["})
_FILE_TESTS = words("-f -e -d -h -L -r -w -x -p -S -b -c -g -k -u -O -G -N")
_COMPARISONS = words("-nt -ot -ef")
_TAKE_TWO = words("--arg --argjson --slurpfile --rawfile")
_COPIES = words("cp mv install ln rsync")
_COPY_OPTIONS = words("-t -m -o -g -S --target-directory --mode")
# These make no files but those that their words name.
_INERT = (
    BUILTINS
    | words(
        "rm rmdir chmod find sleep date tr which seq expr basename dirname uname id env xargs "
        "curl wget pgrep pkill kill printenv whoami nproc cp mv ln install timeout"
    )
    | frozenset(_OPERANDS)
)
_HARMLESS_GIT = words(
    "diff status log show ls-files ls-tree grep rev-parse cat-file rev-list config check-ignore "
    "branch tag merge-base describe blame diff-index diff-tree add commit"
)


def is_inert(call: Call) -> bool:
    """Say whether a call makes no files other than those that its words name."""
    program = call.program
    if not program:
        return call.word is None
    if program == "git":
        return not _HARMLESS_GIT.isdisjoint(call.values()[:3])
    if program == "make" or program in _PACKAGE_MANAGERS:
        return False
    if program in SHELLS:
        return call.body is not None or call.has("-n")
    return program in _INERT or runner_of(call) is not None


def uses(call: Call) -> Iterator[NamedFile]:
    """Yield the files that the words of a call name."""
    program = call.program
    if call.name is None or call.word is None:
        return
    if "/" in call.name or (call.provided and program.endswith(".py")):
        yield NamedFile(call.word, call.name, FileUse.EXECUTED)
    if program in _TESTS:
        yield from _file_tests(call)
    elif (runner := runner_of(call)) is not None:
        yield from (
            NamedFile(word, path, FileUse.TESTED, sure=True)
            for word, path in tested_words(call, runner)
        )
    elif program in _OPERANDS:
        yield from _operand_uses(call, _OPERANDS[program])
    elif program in _INTERPRETERS:
        yield from _interpreted(call, _INTERPRETERS[program])
    elif program in _COPIES:
        yield from _copied(call)
    if program in _SCRIPTED:
        yield from _configured(call, program)
    for index, word in enumerate(call.arguments):
        value = word.value
        if value and value[0] == "-" and value.partition("=")[0] in _FILE_OPTIONS:
            yield from _option_uses(call, index)


def _file_tests(call: Call) -> Iterator[NamedFile]:
    given = call.arguments
    for index, word in enumerate(given[:-1]):
        operator, operand = word.value, given[index + 1]
        if operator in _FILE_TESTS or operator == "-s":
            turned = call.negated != (index > 0 and given[index - 1].value == "!")
            use = FileUse.READ if operator == "-s" else FileUse.EXISTS
            yield NamedFile(operand, operand.value or "", use, sure=True, optional=turned)
        elif operator in _COMPARISONS and index > 0:
            for each in (given[index - 1], operand):
                yield NamedFile(each, each.value or "", FileUse.READ, sure=True)


def _operand_uses(call: Call, operands: _Operands) -> Iterator[NamedFile]:
    given = list(call.operands(operands.valued))
    if not operands.first:
        values = [word.value for word in call.arguments]
        if operands.instead.isdisjoint(values):
            del given[:1]
        if not _TAKE_TWO.isdisjoint(values):
            given = given[-1:]
    use = FileUse.WRITTEN if call.name == "sed" and call.has("-i", "--in-place") else operands.use
    turned = call.negated and use is FileUse.EXISTS
    for word in given:
        yield NamedFile(word, word.value or "", use, use is FileUse.WRITTEN, turned)


def _interpreted(call: Call, interpreter: _Interpreter) -> Iterator[NamedFile]:
    given = list(call.operands(interpreter.valued))
    if given:  # what follows is for the program that it runs
        call = replace(call, arguments=call.arguments[: call.arguments.index(given[0])])
    if interpreter.code and call.has(*interpreter.code):
        return
    if given and interpreter.subcommand:
        if given[0].value != interpreter.subcommand:
            return
        given = given[1:]
    if given and given[0].value == "run" and call.name == "bun":
        given = given[1:]
    if given:
        reads = bool(interpreter.checks) and call.has(*interpreter.checks)
        yield NamedFile(given[0], given[0].value or "", FileUse.READ if reads else FileUse.EXECUTED)


def _copied(call: Call) -> Iterator[NamedFile]:
    given = list(call.operands(_COPY_OPTIONS))
    for word in given[:-1]:
        yield NamedFile(word, word.value or "", FileUse.READ)
    if len(given) > 1:
        yield NamedFile(given[-1], given[-1].value or "", FileUse.WRITTEN, sure=True)


def _configured(call: Call, program: str) -> Iterator[NamedFile]:
    """Yield the file that says what a build tool or package manager does."""
    assert call.word is not None
    values = call.values()
    if program in _MADE_BY:
        if call.has("-f", "--file", "--makefile", "--justfile"):
            return
        name = _MADE_BY[program]
    elif program in _PACKAGE_MANAGERS and not _PACKAGE_SCRIPTS.isdisjoint(values):
        if program == "bun" and "run" not in values:
            return
        name = "package.json"
    else:
        return
    directory = next(
        (
            following
            for option, following in pairwise(values)
            if option in {"-C", "--directory", "--prefix", "--cwd", "--dir"}
        ),
        "",
    )
    if not any(value.startswith(("--prefix=", "--directory=", "--cwd=", "-w")) for value in values):
        yield NamedFile(
            call.word, f"{directory}/{name}" if directory else name, FileUse.CONFIGURED, sure=True
        )


def _option_uses(call: Call, index: int) -> Iterator[NamedFile]:
    """Yield the file behind an option: a configuration or an output."""
    word = call.arguments[index]
    option, given, path = (word.value or "").partition("=")
    use = _option_use(option, call.program)
    if use is not None and given:
        yield NamedFile(word, path, use, use is FileUse.WRITTEN)
    elif use is not None and index + 1 < len(call.arguments):
        following = call.arguments[index + 1]
        yield NamedFile(following, following.value or "", use, use is FileUse.WRITTEN)


def _option_use(option: str, program: str) -> FileUse | None:
    if option in _OUTPUTS or program in _SHORT_OUTPUTS.get(option, ()):
        return FileUse.WRITTEN
    runner = BY_PROGRAM.get(program)
    given = runner.words.configurations if runner is not None else None
    if program in _SHORT_CONFIGURATIONS.get(option, ()) or (given and option in given):
        return FileUse.CONFIGURED
    configurable = program in _INERT or program in _CONFIGURABLE or given is not None
    if option in _CONFIGURATIONS and configurable:
        return FileUse.CONFIGURED
    return None


# -- the files of the workspace that a command names, and what it does with them -----------------


_NOT_A_PATH = lazy_pattern(r"[\s*?\[\]{}$`:=@%^|<>\\\"'#!,;()\x00-\x1f]|^[-+~]|^\.*$")
_LOOKS_LIKE_A_PATH = lazy_pattern(
    r"/|\.[A-Za-z][A-Za-z0-9_]{0,11}$|^(?:[Mm]akefile|Dockerfile|LICENSE|README|CHANGELOG|"
    r"Procfile|Gemfile|Rakefile|[Jj]ustfile|VERSION|CODEOWNERS)$"
)
# What is installed is not part of the work.
_INSTALLED = lazy_pattern(r"(?:^|/)(?:node_modules|\.?venv|\.git|vendor/bin)(?:/|$)")
# What a program of unknown effect may have made before.
_MAY_BE_MADE = frozenset({FileUse.READ, FileUse.EXISTS, FileUse.EXECUTED})


def find_files(
    calls: Iterable[Call], redirects: Iterable[Redirect], functions: frozenset[str]
) -> tuple[FileReference, ...]:
    """Return the files that calls and redirects name."""
    found: list[FileReference] = []
    unknown = False
    for call in calls:
        directory = call.directory
        for word, path, use, sure, turned in uses(call):
            if sure or _LOOKS_LIKE_A_PATH.search(path):
                optional = turned or call.optional or (unknown and use in _MAY_BE_MADE)
                found += _reference(word, path, use, directory, optional=optional)
        for redirect in call.redirects:
            found += _redirected(redirect, made=unknown)
        unknown = unknown or not (is_inert(call) or call.name in functions)
    for redirect in redirects:
        found += _redirected(redirect, made=unknown)
    return tuple(found)


def _reference(
    word: Word, path: str, use: FileUse, directory: str | None, *, optional: bool
) -> Iterator[FileReference]:
    if _NOT_A_PATH.search(path) or has_surrogate(path):
        return
    seen = below(directory, path)
    if seen and not _INSTALLED.search(seen):
        yield FileReference(path=seen, use=use, start=word.start, end=word.end, optional=optional)


def _redirected(redirect: Redirect, *, made: bool) -> Iterator[FileReference]:
    operator, word = redirect.operator, redirect.target
    if operator in {"<<", "<<-", "<<<"} or word.value is None or word.value.isdigit():
        return
    use = FileUse.READ if redirect.feeds else FileUse.WRITTEN
    optional = redirect.optional or (made and use is FileUse.READ)
    yield from _reference(word, word.value, use, redirect.directory, optional=optional)
