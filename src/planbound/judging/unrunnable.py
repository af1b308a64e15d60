"""What keeps a contract from saying anything: a program, a module, the network that is not there.

Careful: what the work is still to make is missing, too, and that is an honest red. So only what
cannot be the work's counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planbound.cells.cell import CommandEnding, Outcome
from planbound.journal.event import VerdictKind
from planbound.judging.case import Scope, covers
from planbound.judging.judges import runs_judge
from planbound.judging.verdict import VerdictReason
from planbound.script import Call, Script
from planbound.script.project import ProjectTree
from planbound.script.runners import BY_NAME, BY_PROGRAM, MODULES, programs
from planbound.script.runners.runner import Language, Summary
from planbound.script.tree import below, words
from planbound.script.walk import Entered, Ran, walk
from planbound.script.wrapper import BUILTINS, SHELLS
from planbound.source import lazy_pattern
from planbound.workspace.declared import declared_by_node, declared_by_python, normal_name

# -- what keeps a contract from saying anything: a program, a module, the network that is not ther


_OTHER_LANGUAGES = (
    Language.JAVASCRIPT, Language.GO, Language.RUST, Language.RUBY, Language.PHP,
)  # fmt: skip
_WITHOUT_PYTHON = (
    BUILTINS
    | programs(*_OTHER_LANGUAGES)
    | words("""
    awk base64 basename bun cat chmod cmp comm composer cp cut date deno diff dirname du
    egrep env expr fgrep file find gawk git grep gunzip gzip head java javac jq ls ln mawk md5sum
    mkdir mktemp mv npm npx nl od paste php pnpm realpath readlink rg rm rmdir ruby rustc sed seq
    sha1sum sha256sum sleep sort stat tac tail tar tee timeout touch tr tsc uname uniq wc which
    xargs yarn zcat
    """)
)
_ASK_GIT = BUILTINS | words("awk cat cut egrep expr fgrep git grep head sed sort tail tr uniq wc")
_ASK_OUTSIDE = words("""
    acli aws az curl docker doctl flyctl gcloud gh glab helm heroku http https hub jira kubectl
    mongosh mysql nc netlify oc pg_isready podman psql redis-cli scp sftp ssh systemctl tea
    terraform tofu vercel wget wrangler xh
    """)
"""What is asked of services, and not of files."""
_TOOL_MODULES = MODULES | words("""
    alembic bandit behave black build celery coverage django flake8 flask green gunicorn hatch
    hypothesis isort jupyter mkdocs mypy pdm pip pipenv poetry pre_commit pydocstyle pylint pyright
    robot ruff setuptools sphinx trial twine twisted uv uvicorn virtualenv wheel
    """)
"""Modules that people run by `python -m`, and that no plan is about to write."""
_OTHER_NAMES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "crypto": "pycryptodome",
    "cv2": "opencv-python",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "git": "gitpython",
    "jwt": "pyjwt",
    "openssl": "pyopenssl",
    "pil": "pillow",
    "pkg-resources": "setuptools",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
    "serial": "pyserial",
}
_NOT_FOUND = 127
_NO_PROGRAM = lazy_pattern(
    r"(?m)^[^:\n]{0,300}: (?:line )?(?:\d{1,9}: )?(\S{1,200}): "
    r"(?:((?:command )?not found)|No such file.{0,80})$"
)
_NO_INTERPRETER = lazy_pattern(
    r"(?m): (\S{1,600}): (?:cannot execute: required file not found"
    r"|(\S{1,600}): bad interpreter: No such file.{0,80})$"
)
_RUN_BY_PYTHON = lazy_pattern(
    r"(?m)^\S{0,300}?(?:python|pypy)[\d.]{0,10}: No module named '?([\w.]{1,200})'?$"
)
_IMPORTED = lazy_pattern(r"(?m)^(?:E\s+)?ModuleNotFoundError: No module named '([\w.]{1,200})'")
_REQUIRED = lazy_pattern(
    r"Cannot find (?:module|package) '((?:@[\w.~-]{1,100}/)?[\w~-][\w.~-]{0,100})"
)
# Each by the words of the tool itself: a project's own tests speak of names that cannot be
# resolved, too.
_NO_NETWORK = lazy_pattern(
    r"(?m)(?:"
    r"^npm (?:error|ERR!) code (?:EAI_AGAIN|ENOTFOUND|ENETUNREACH|ECONNREFUSED|ENOTCACHED)"
    r"|ERR_PNPM_META_FETCH_FAIL|getaddrinfo (?:EAI_AGAIN|ENOTFOUND) registry\."
    r"|Failed to fetch: [`\"]?https?://|error sending request for url \(http"
    r"|Retrying \(Retry\(total=\d.{0,200}(?:NameResolutionError|NewConnectionError|ProxyError)"
    r"|All attempts to connect to \S{1,200} failed"
    r"|dial tcp: lookup \S{1,200}"
    r"|Could(?: not|n't) resolve host(?:name)?\b|unable to resolve host address"
    r"|Could not reach host \S{1,200}|Could not transfer artifact|UnknownHostException"
    r"|curl error 6 while downloading|could not download file from 'https?:"
    r"|^error connecting to \S{1,200}$"
    r")"
)
_NO_SIGN_IN = lazy_pattern(
    r"(?m)please run:\s+gh auth login|set the (G[HL]_TOKEN|GITHUB_TOKEN) environment variable"
    r"|glab auth login"
)


class WhereItRan(NamedTuple):
    """What is known about where a contract ran."""

    network: bool
    """Whether it had one."""
    cure: str
    """What to do about a program that is not there."""
    scope: Scope
    """What the work may make."""
    files: frozenset[str]
    """The files of the tree."""
    read: Callable[[str], bytes | None]
    """Returns a file as it was before the work."""


def may_use_python(script: Script) -> bool:
    """Say whether a contract may need a Python: all but what is known to need none."""
    return script.broken or any(
        word is not None and (word.value or "/").rpartition("/")[2] not in _WITHOUT_PYTHON
        for call in script.calls
        for word in (call.word, *call.wrappers)
    )


def asks_only_git(script: Script, tree: ProjectTree) -> bool:
    """Say whether a contract asks git, whose answers depend on more than files, and nobody else.

    Nor do the scripts and recipes that it runs, all of which could be read.
    """
    met = list(walk([script], tree))
    entered = [item for item in met if isinstance(item, Entered)]
    ran = [item for item in met if isinstance(item, Ran)]
    names = _called(item.call for item in ran)
    if "git" not in names or not names <= _ASK_GIT | SHELLS:
        return False
    shells = sum(not SHELLS.isdisjoint(_called([item.call])) for item in ran)
    is_followed = shells <= sum(bool(item.path) for item in entered)
    unread = any(item.is_unread for item in ran) or any(item.script.broken for item in entered)
    return is_followed and not unread


def asks_outside(script: Script) -> bool:
    """Say whether a contract asks a service: a pull request that was opened changes no file."""
    names = _called(script.calls)
    asks = not names.isdisjoint(_ASK_OUTSIDE)
    # Together with a test it would hide that the test is flaky.
    return (
        not script.broken and asks and names <= _ASK_OUTSIDE | _ASK_GIT | {"jq", "timeout", "env"}
    )


def _called(calls: Iterable[Call]) -> set[str]:
    return {
        (word.value or "/").rpartition("/")[2]
        for call in calls
        for word in (call.word, *call.wrappers)
        if word is not None
    }


def examined(
    finding: VerdictReason, outcome: Outcome, summary: Summary | None, around: WhereItRan
) -> VerdictReason:
    """Return the finding, or that the contract lacks what the work cannot make, and the cure."""
    ran = outcome.ending is CommandEnding.EXITED and outcome.exit_code
    could_say = finding.kind is VerdictKind.PASS or (summary is not None and summary.passed)
    if not ran or could_say:
        return finding
    return next(_lacks(finding, outcome, around), finding)


def _lacks(finding: VerdictReason, outcome: Outcome, around: WhereItRan) -> Iterator[VerdictReason]:
    """Yield what the contract lacks, the surest first."""
    said = f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
    code = outcome.exit_code
    if not around.network and _NO_NETWORK.search(said):
        yield VerdictReason(
            VerdictKind.UNRUNNABLE,
            f"exit {code}: it needs the network, and contracts have none; install what it fetches"
            " before the run (`uv sync`, `npm ci`), or say `[contracts] network = true`",
        )
    if found := _NO_SIGN_IN.search(said):
        yield VerdictReason(
            VerdictKind.UNRUNNABLE,
            f"exit {code}: it is not signed in; name the variable of its token in"
            f" `[contracts] env`, such as `{found[1] or 'GH_TOKEN'}`",
        )
    if found := _RUN_BY_PYTHON.search(outcome.stderr.text()):
        yield _run_by_python(found[1], code, around)
    if code == _NOT_FOUND and finding.kind is VerdictKind.UNRUNNABLE:
        if found := _NO_INTERPRETER.search(said):
            yield _without_interpreter(found[1], found[2], code, around)
        named = _NO_PROGRAM.search(said)
        if named and _is_yet_to_be_made(named[1], around):
            yield VerdictReason(VerdictKind.FAIL, f"exit {code}: there is no `{named[1]}` yet")
        what = f"`{named[1]}` was not found" if named else "a program was not found"
        # A file that is not there may be the work's; so may be what is named by its path.
        lacks = named[1] if named and named[2] and "/" not in named[1] else ""
        yield VerdictReason(VerdictKind.UNRUNNABLE, f"exit {code}: {what}; {around.cure}", lacks)
    if finding.kind is VerdictKind.UNRUNNABLE:
        yield finding
    if (package := _undelivered(said, around)) is not None:
        reason = f"exit {code}: `{package}` is declared, and not installed; {around.cure}"
        yield VerdictReason(VerdictKind.UNRUNNABLE, reason, package)


def _without_interpreter(
    program: str, wanted: str | None, code: int | None, around: WhereItRan
) -> VerdictReason:
    """Return that a script is there, and what it is to be run by is not."""
    name = program.rpartition("/")[2]
    by = f"`{wanted}`" if wanted else "the interpreter in its first line"
    reason = f"exit {code}: `{name}` is there, and {by} is not: was `{program}` moved?"
    return VerdictReason(VerdictKind.UNRUNNABLE, f"{reason}; {around.cure}", name)


def _run_by_python(module: str, code: int | None, around: WhereItRan) -> VerdictReason:
    """Return what it means that `python -m` does not find a module."""
    top = module.partition(".")[0]
    if _is_there(top, around.files) or (
        top not in _TOOL_MODULES
        and top not in declared_by_python(around.read)
        and _may_be_made(top, around)
    ):
        return VerdictReason(VerdictKind.FAIL, f"exit {code}: there is no module `{module}`")
    return VerdictReason(
        VerdictKind.UNRUNNABLE, f"exit {code}: Python has no module `{module}`; {around.cure}", top
    )


def _undelivered(said: str, around: WhereItRan) -> str | None:
    """Return a package that the project declares, and that its environment does not have."""
    for match in _IMPORTED.finditer(said):
        top = match[1].partition(".")[0]
        name = _OTHER_NAMES.get(normal_name(top), normal_name(top))
        if not _is_there(top, around.files) and name in declared_by_python(around.read):
            return name
    for match in _REQUIRED.finditer(said):
        if match[1] in declared_by_node(around.read):
            return match[1]
    return None


# -- what is the work's own ------------------------------------------------------------------------


def _is_there(module: str, files: frozenset[str]) -> bool:
    return any(
        path in files
        for folder in ("", "src/")
        for path in (f"{folder}{module}.py", f"{folder}{module}/__init__.py")
    )


def _is_yet_to_be_made(name: str, around: WhereItRan) -> bool:
    """Say whether a program is named by its path, and the work may write it there."""
    path = below("", name) if "/" in name else None
    if path is None or path in around.files:
        return False
    return around.scope.patterns is None or covers(around.scope, path)


def _may_be_made(module: str, around: WhereItRan) -> bool:
    """Say whether the work may make a module; where it may touch anything it may."""
    patterns = around.scope.patterns
    if patterns is None:
        return True
    folders = {"", "src/", *(f"{'/'.join(glob.literal_prefix)}/" for glob in patterns)}
    names = (f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
    return any(covers(around.scope, f"{folder}{name}") for folder in folders for name in names)


# -- the programs whose version a verdict depends on: interpreters, test runners, what builds ----


_KNOWN = words("""
    bun bundle clang cmake composer coverage deno dotnet elixir eslint flake8 gcc gradle hatch java
    javac julia mix mvn mypy nox npm npx pdm perl php pip pipenv pnpm poetry pyright pypy python
    rake ruby ruff rustc swift tox tsc uv uvx yarn
    """) | frozenset(
    program for runner in BY_NAME.values() if runner.versioned for program in runner.programs
)
_READS = words("bash bun dash gmake just make npm pnpm sh source yarn zsh .")
_ARGUMENTS = {"go": "version", "java": "-version"}
_PYTHON = lazy_pattern(r"(?:python|pypy)[\d.]*")
_VERSION = lazy_pattern(r"\d+(?:\.\d+)+[\w.+-]*")
_LONGEST = 60


class CalledProgram(NamedTuple):
    """A program that contracts call."""

    word: str
    """As it is called."""
    module_of: str | None = None
    """The interpreter that runs it by `-m`."""


class Tool(NamedTuple):
    """A program that contracts will use."""

    name: str
    version: str
    """Empty where it does not say."""
    path: str
    """Where it is, as seen from the workspace; or how it is run."""

    @property
    def said(self) -> str:
        """Return what an approval is bound to."""
        return f"{self.version} {self.path}".strip()

    def __str__(self) -> str:
        """Return it for people."""
        return f"{self.name} {self.version} ({self.path})".replace("  ", " ")


def called_programs(
    contracts: Iterable[Script], tree: Sequence[str], read: Callable[[str], bytes | None]
) -> tuple[CalledProgram, ...]:
    """Return the programs that contracts call, also in recipes and scripts that they run."""
    seen = walk(contracts, ProjectTree(tree, read), follows=runs_judge)
    wanted = dict.fromkeys(
        program for item in seen if isinstance(item, Ran) for program in _of_call(item.call)
    )
    return tuple(sorted(wanted, key=lambda item: (item.module_of is not None, item)))


def needed_programs(contracts: Iterable[Script]) -> tuple[CalledProgram, ...]:
    """Return those without which a contract cannot start: what it calls itself, in any case."""
    found: dict[CalledProgram, None] = {}
    for script in contracts:
        for call in script.calls:
            if call.optional or call.name in script.functions:
                continue
            # What a wrapper runs, it finds by itself.
            wanted = list(_of_call(call))
            for first in wanted[:1]:
                if first.word.startswith("/"):
                    continue  # also what the contract makes in a folder of its own
                found[first] = None
                found |= dict.fromkeys(
                    each for each in wanted if each.module_of == first.word and _is_runner(each)
                )
    return tuple(found)


def runs_files(script: Script) -> bool:
    """Say whether what a contract calls is also written in files: recipes, scripts."""
    return any(
        call.program in _READS or "/" in (call.name or "/") or call.program.endswith(".sh")
        for call in script.calls
    )


def _of_call(call: Call) -> Iterator[CalledProgram]:
    named = [word.value for word in (*call.wrappers, call.word) if word is not None and word.value]
    for before, name in zip([None, *named], named, strict=False):
        if not _is_known(name):
            continue
        if before is not None and _PYTHON.fullmatch(_base(before)) and "/" not in name:
            yield CalledProgram(name, module_of=before)
        else:
            yield CalledProgram(name)


def _is_runner(wanted: CalledProgram) -> bool:
    runner = BY_PROGRAM.get(wanted.word)
    return runner is not None and bool(runner.name) and runner.versioned


def _is_known(name: str) -> bool:
    base = _base(name)
    return base in _KNOWN or _PYTHON.fullmatch(base) is not None


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def version_words(wanted: CalledProgram) -> tuple[str, ...]:
    """Return the command that says the version of a program."""
    if wanted.module_of is not None:
        runner = BY_PROGRAM.get(wanted.word)
        name = wanted.word if runner is None else runner.programs[0]
        code = f"import importlib.metadata as m; print(m.version({name!r}))"
        # Isolated: what lies in the workspace is no module of it.
        return (wanted.module_of, "-I", "-c", code)
    return (wanted.word, _ARGUMENTS.get(_base(wanted.word), "--version"))


def read_version(output: str) -> str:
    """Return the version in what a program said about itself."""
    if found := _VERSION.search(output):
        return found[0][:_LONGEST]
    return ""


class ContractTools(NamedTuple):
    """What contracts will use, and what they were to get and will not."""

    tools: str
    """Programs with their versions and places; empty where none has any."""
    cautions: tuple[str, ...] = ()
    fault: tuple[str, str] | None = None
    """Why the project's own programs cannot be used, and what to do about it."""
    missing: tuple[str, ...] = ()
    """Runners and interpreters that a contract calls, and that are not there."""
