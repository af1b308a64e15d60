"""What is missing and is not the work's to make: `unrunnable`, with its cure."""

from __future__ import annotations

import pytest

from planbound.cells.cell import Captured, CommandEnding, Outcome
from planbound.journal.event import VerdictKind
from planbound.judging.case import Scope
from planbound.judging.meaning import meaning
from planbound.judging.unrunnable import WhereItRan, examined, may_use_python
from planbound.judging.verdict import VerdictReason
from planbound.plan.glob import parse_glob
from planbound.script import read_script
from planbound.script.runners import read_summary

PYPROJECT = """\
[project]
name = "billing"
dependencies = ["httpx>=0.27", "PyYAML"]
[dependency-groups]
dev = ["pytest-asyncio", {include-group = "other"}]
[tool.poetry.group.test.dependencies]
respx = "*"
[tool.setuptools]
packages = ["billing"]
"""
PACKAGE = '{"name": "shop", "devDependencies": {"@scope/checks": "1", "vite": "5"}}'


def judged(
    said: str,
    code: int = 1,
    *,
    touches: tuple[str, ...] | None = ("src/**",),
    files: tuple[str, ...] = (),
    network: bool = False,
) -> VerdictReason:
    kept = {"pyproject.toml": PYPROJECT.encode(), "package.json": PACKAGE.encode()}
    data = said.encode()
    outcome = Outcome(
        ending=CommandEnding.EXITED,
        exit_code=code,
        stderr=Captured(head=data, tail=b"", length=len(data), sha256=""),
    )
    scope = Scope(None if touches is None else tuple(map(parse_glob, touches)))
    around = WhereItRan(network, "do something", scope, frozenset(files), kept.get)
    summary = read_summary(said)
    return examined(meaning(outcome, [], summary), outcome, summary, around)


@pytest.mark.requirement("verdict.unrunnable")
@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("/usr/bin/python3: No module named pytest", 1, "Python has no module `pytest`"),
        ("/x/.venv/bin/python: No module named mypy.dmypy", 1, "no module `mypy.dmypy`"),
        ("/usr/bin/python3: No module named respx", 1, "Python has no module `respx`"),
        ("bash: line 1: pytest: command not found", 127, "`pytest` was not found"),
        ("sh: 1: jest: not found", 127, "`jest` was not found"),
        (
            "bash: line 1: /x/.venv/bin/pytest: cannot execute: required file not found",
            127,
            "`pytest` is there, and the interpreter in its first line is not",
        ),
        (
            "bash: /x/bin/pytest: /old/bin/python: bad interpreter: No such file or directory",
            127,
            "`pytest` is there, and `/old/bin/python` is not",
        ),
        ("tests/run.sh: line 8: ./tools/sum: No such file or directory", 127, "was not found"),
        ("tests/run.sh: line 8: /opt/sum: No such file or directory", 127, "was not found"),
        ("tests/run.sh: line 8: ../sum: No such file or directory", 127, "was not found"),
        ("/usr/bin/env: 'node': No such file or directory", 127, "was not found"),
        ("E   ModuleNotFoundError: No module named 'httpx'", 2, "`httpx` is declared"),
        ("ModuleNotFoundError: No module named 'yaml'", 1, "`pyyaml` is declared"),
        ("Error: Cannot find module 'vite'\nRequire stack:", 1, "`vite` is declared"),
        ("Cannot find package '@scope/checks' imported from /x", 1, "`@scope/checks` is declared"),
    ],
)
def test_what_the_environment_lacks_is_unrunnable(said: str, code: int, reason: str) -> None:
    found = judged(said, code)
    assert found.kind.value == "unrunnable", found
    assert reason in found.reason
    assert found.reason.endswith("; do something")


@pytest.mark.requirement("verdict.unrunnable", "verdict.fail")
@pytest.mark.parametrize(
    ("said", "files"),
    [
        # The work is to make it: at the root, in its touches, or below them.
        ("/usr/bin/python3: No module named billing", ()),
        ("ModuleNotFoundError: No module named 'billing'", ()),
        ("ModuleNotFoundError: No module named 'billing.rates'", ("src/billing/__init__.py",)),
        ("/usr/bin/python3: No module named pytest.extra", ("src/pytest/__init__.py",)),
        ("ModuleNotFoundError: No module named 'numpy'", ()),
        ("Error: Cannot find module './total'", ()),
        ("Error: Cannot find module 'lodash'", ()),
        # It ran, and could say something.
        (
            "ModuleNotFoundError: No module named 'httpx'\n===== 3 passed, 1 error in 0.10s =====",
            (),
        ),
    ],
)
def test_what_is_yet_to_be_written_is_an_honest_red(said: str, files: tuple[str, ...]) -> None:
    assert judged(said, files=files).kind.value == "fail"
    assert judged(said, files=files, touches=None).kind.value == "fail"


@pytest.mark.requirement("verdict.unrunnable")
def test_a_module_that_no_touches_allow_is_not_the_works() -> None:
    said = "/usr/bin/python3: No module named frobnicate"
    assert judged(said, touches=("docs/*.md",)).kind.value == "unrunnable"
    assert judged(said, touches=("frobnicate.py",)).kind.value == "fail"
    assert judged(said, touches=("lib/*.py",)).kind.value == "fail"


# As uv 0.9, npm 10, pip 25, poetry 2, go 1.22, cargo 1.80 and git print it without a network.
OFFLINE = [
    "error: Failed to fetch: `https://index.example/simple/ruff/`\n  Caused by: dns error",
    "  cause: error sending request for url (https://index.example/ruff/)\n  cause: dns error",
    "npm error code EAI_AGAIN\nnpm error syscall getaddrinfo",
    "npm ERR! code ENOTFOUND",
    "Retrying (Retry(total=4)) after connection broken by 'NewConnectionError(': /simple/requests/",
    "All attempts to connect to index.example failed.",
    'go: example.org/x@v1.0.0: Get "https://proxy.golang.org/x": dial tcp: lookup proxy.golang.org',
    "warning: spurious network error: [6] Couldn't resolve host name",
    "fatal: unable to access 'https://example.org/x.git/': Could not resolve host: example.org",
    " ERR_PNPM_META_FETCH_FAIL  GET https://registry.example/x: request failed",
]


@pytest.mark.requirement("verdict.unrunnable")
@pytest.mark.parametrize("said", OFFLINE)
def test_what_needs_the_network_is_unrunnable_without_one(said: str) -> None:
    found = judged(said)
    assert found.kind.value == "unrunnable"
    assert "`[contracts] network = true`" in found.reason
    assert judged(said, network=True).kind.value == "fail"
    assert judged(f"{said}\n=== 1 failed, 4 passed in 0.12s ===").kind.value == "fail"


@pytest.mark.requirement("environment.broken")
def test_only_what_surely_needs_no_python_goes_on_without_one() -> None:
    assert not may_use_python(read_script("grep -q x y && test -f z | head -1; npm test"))
    for command in ("make test", "python x", "./check.sh", "$RUN", "env pytest"):
        assert may_use_python(read_script(command)), command


@pytest.mark.requirement("verdict.unrunnable")
@pytest.mark.parametrize(
    ("said", "code", "reason"),
    [
        ("error connecting to api.github.com\ncheck your internet connection", 1, "the network"),
        ("To get started with GitHub CLI, please run:  gh auth login", 4, "not signed in"),
        ("gh: set the GH_TOKEN environment variable. Example:", 4, "such as `GH_TOKEN`"),
    ],
)
def test_a_service_that_cannot_be_asked_is_unrunnable(said: str, code: int, reason: str) -> None:
    found = judged(said, code)
    assert found.kind is VerdictKind.UNRUNNABLE
    assert reason in found.reason
    assert "[contracts]" in found.reason


@pytest.mark.requirement("verdict.unrunnable", "verdict.fail")
@pytest.mark.parametrize("touches", [None, ("bin/sum",), ("bin/**",)])
def test_a_program_that_the_work_may_write_is_not_there_yet(
    touches: tuple[str, ...] | None,
) -> None:
    said = "tests/run.sh: line 8: ./bin/sum: No such file or directory"
    found = judged(said, 127, touches=touches)
    assert (found.kind.value, found.reason) == ("fail", "exit 127: there is no `./bin/sum` yet")
    assert judged(said, 127, touches=touches, files=("bin/sum",)).kind.value == "unrunnable"
