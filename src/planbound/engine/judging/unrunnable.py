"""What keeps a contract from saying anything: a program, a module, the network that is not there.

Careful: what the work is still to make is missing, too, and that is an honest red. So only what
cannot be the work's counts.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.judging.summary import Summary
from planbound.engine.judging.verdict import Finding, VerdictKind
from planbound.plan.command import Script
from planbound.plan.command.tool import BUILTINS
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_WITHOUT_PYTHON = BUILTINS | words("""
    awk base64 basename bun cargo cat chmod cmp comm composer cp cut date deno diff dirname du
    egrep env expr fgrep file find gawk git go grep gunzip gzip head java javac jest jq ls ln mawk
    md5sum mkdir mktemp mocha mv node npm npx nl od paste php phpunit pnpm realpath readlink rg rm
    rmdir rspec ruby rustc sed seq sha1sum sha256sum sleep sort stat tac tail tar tee timeout touch
    tr tsc uname uniq vitest wc which xargs yarn zcat
    """)
_ASK_GIT = BUILTINS | words("awk cat cut egrep expr fgrep git grep head sed sort tail tr uniq wc")
_ASK_OUTSIDE = words("""
    acli aws az curl docker doctl flyctl gcloud gh glab helm heroku http https hub jira kubectl
    mongosh mysql nc netlify oc pg_isready podman psql redis-cli scp sftp ssh systemctl tea
    terraform tofu vercel wget wrangler xh
    """)
"""What is asked of services, and not of files."""
_RUNNERS = words("""
    alembic bandit behave black build celery coverage django flake8 flask green gunicorn hatch
    hypothesis isort jupyter mkdocs mypy nose nose2 nox pdm pip pipenv poetry pre_commit pydocstyle
    pylint pyright pytest robot ruff setuptools sphinx tox trial twine twisted uv uvicorn
    virtualenv wheel xdist
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


class Surroundings(NamedTuple):
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


def asks_only_git(script: Script) -> bool:
    """Say whether a contract asks git, whose answers depend on more than files, and nobody else."""
    names = _called(script)
    return not script.broken and "git" in names and names <= _ASK_GIT


def asks_outside(script: Script) -> bool:
    """Say whether a contract asks a service: a pull request that was opened changes no file."""
    names = _called(script)
    asks = not names.isdisjoint(_ASK_OUTSIDE)
    # Together with a test it would hide that the test is flaky.
    return (
        not script.broken and asks and names <= _ASK_OUTSIDE | _ASK_GIT | {"jq", "timeout", "env"}
    )


def _called(script: Script) -> set[str]:
    return {
        (word.value or "/").rpartition("/")[2]
        for call in script.calls
        for word in (call.word, *call.wrappers)
        if word is not None
    }


def examined(
    finding: Finding, outcome: Outcome, summary: Summary | None, around: Surroundings
) -> Finding:
    """Return the finding, or that the contract lacks what the work cannot make, and the cure."""
    ran = outcome.ending is Ending.EXITED and outcome.exit_code
    could_say = finding.kind is VerdictKind.PASS or (summary is not None and summary.passed)
    if not ran or could_say:
        return finding
    return next(_lacks(finding, outcome, around), finding)


def _lacks(finding: Finding, outcome: Outcome, around: Surroundings) -> Iterator[Finding]:
    """Yield what the contract lacks, the surest first."""
    said = f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
    code = outcome.exit_code
    if not around.network and _NO_NETWORK.search(said):
        yield Finding(
            VerdictKind.UNRUNNABLE,
            f"exit {code}: it needs the network, and contracts have none; install what it fetches"
            " before the run (`uv sync`, `npm ci`), or say `[contracts] network = true`",
        )
    if found := _NO_SIGN_IN.search(said):
        yield Finding(
            VerdictKind.UNRUNNABLE,
            f"exit {code}: it is not signed in; name the variable of its token in"
            f" `[contracts] env`, such as `{found[1] or 'GH_TOKEN'}`",
        )
    if found := _RUN_BY_PYTHON.search(outcome.stderr.text()):
        yield _run_by_python(found[1], code, around)
    if code == _NOT_FOUND and finding.kind is VerdictKind.UNRUNNABLE:
        named = _NO_PROGRAM.search(said)
        what = f"`{named[1]}` was not found" if named else "a program was not found"
        # A file that is not there may be the work's; so may be what is named by its path.
        lacks = named[1] if named and named[2] and "/" not in named[1] else ""
        yield Finding(VerdictKind.UNRUNNABLE, f"exit {code}: {what}; {around.cure}", lacks)
    if finding.kind is VerdictKind.UNRUNNABLE:
        yield finding
    if (package := _undelivered(said, around)) is not None:
        reason = f"exit {code}: `{package}` is declared, and not installed; {around.cure}"
        yield Finding(VerdictKind.UNRUNNABLE, reason, package)


def _run_by_python(module: str, code: int | None, around: Surroundings) -> Finding:
    """Return what it means that `python -m` does not find a module."""
    top = module.partition(".")[0]
    if _is_there(top, around.files) or (
        top not in _RUNNERS
        and top not in declared_by_python(around.read)
        and _may_be_made(top, around)
    ):
        return Finding(VerdictKind.FAIL, f"exit {code}: there is no module `{module}`")
    return Finding(
        VerdictKind.UNRUNNABLE, f"exit {code}: Python has no module `{module}`; {around.cure}", top
    )


def _undelivered(said: str, around: Surroundings) -> str | None:
    """Return a package that the project declares, and that its environment does not have."""
    for match in _IMPORTED.finditer(said):
        top = match[1].partition(".")[0]
        name = _OTHER_NAMES.get(_normal(top), _normal(top))
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


def _may_be_made(module: str, around: Surroundings) -> bool:
    """Say whether the work may make a module; where it may touch anything it may."""
    patterns = around.scope.patterns
    if patterns is None:
        return True
    folders = {"", "src/", *(f"{'/'.join(glob.literal_prefix)}/" for glob in patterns)}
    names = (f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
    return any(covers(around.scope, f"{folder}{name}") for folder in folders for name in names)


# -- what is declared ------------------------------------------------------------------------------


def declared_by_python(read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Return the packages that a Python project says it depends on."""
    found = set(_of_pyproject(_toml(read("pyproject.toml"))))
    for name in ("requirements.txt", "requirements-dev.txt", "requirements/dev.txt"):
        lines = (read(name) or b"").decode("utf-8", "replace").splitlines()
        found.update(_names(line for line in lines if not line.startswith(("-", "#"))))
    return frozenset(found)


def _of_pyproject(document: Mapping[str, Any]) -> Iterator[str]:
    project, tool = _table(document, "project"), _table(document, "tool")
    groups = (
        project.get("dependencies"),
        *_table(project, "optional-dependencies").values(),
        *_table(document, "dependency-groups").values(),
        *_table(_table(tool, "pdm"), "dev-dependencies").values(),
        _table(tool, "uv").get("dev-dependencies"),
    )
    for group in groups:
        if isinstance(group, list):
            yield from _names(item for item in group if isinstance(item, str))
    poetry = _table(tool, "poetry")
    tables = [poetry, *(_table(_table(poetry, "group"), name) for name in _table(poetry, "group"))]
    for table in tables:
        for key in ("dependencies", "dev-dependencies"):
            yield from (_normal(name) for name in _table(table, key) if name != "python")


def _names(requirements: Iterable[str]) -> Iterator[str]:
    for text in requirements:
        if match := re.match(r"\s*([A-Za-z0-9][\w.-]*)", text):
            yield _normal(match[1])


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _toml(data: bytes | None) -> Mapping[str, Any]:
    try:
        return tomllib.loads((data or b"").decode("utf-8", "replace"))
    except tomllib.TOMLDecodeError:
        return {}


def declared_by_node(read: Callable[[str], bytes | None]) -> frozenset[str]:
    """Return the packages that a `package.json` says it depends on."""
    try:
        document = json.loads(read("package.json") or b"{}")
    except ValueError:
        return frozenset()
    keys = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
    return frozenset(name for key in keys for name in _table(document, key))


def _table(document: object, key: str) -> Mapping[str, Any]:
    value = document.get(key) if isinstance(document, dict) else None
    return value if isinstance(value, dict) else {}
