"""Which programs a plan brings along, by the words of its tasks."""

from __future__ import annotations

import pytest

from planbound.plan.parse import parse
from planbound.verify.examine import Examination
from planbound.verify.facts import Facts
from planbound.verify.provided import is_of

pytestmark = pytest.mark.requirement("gate.missing-tool")

PLAN = """\
---
type: plan
status: draft
owner: tester
---

# Do it

## Steps

### 1. Do it

**target:** coder
**task:** {task}

**contract:**
```shell
{contract}
```
"""
BROUGHT = [
    ("Add ruff as a development dependency.", "ruff check ."),
    ("Install the GitHub CLI (`gh`), then open a pull request.", "gh pr view"),
    ("Configure eslint by `npm init @eslint/config`.", "eslint ."),
    ("Run `npm i -D eslint@9` and mend what it finds.", "eslint ."),
    ("Migrate to TypeScript; add `typescript` to devDependencies.", "tsc --noEmit"),
    ("Set up the tests with pytest and ruff.", "ruff check . && pytest"),
    ("Create `requirements.txt` with pytest in it, and a `.venv` for it.", "pytest -q"),
    ("`python3 -m venv .venv && .venv/bin/pip install pytest`", "pytest -q"),
    ("```shell\nuv venv\nuv pip install ruff\n```", "ruff check ."),
    ("Do what `make setup` does not do yet.", "jq . a.json"),
    ("Run `sudo apt-get install -y jq`.", "jq . a.json"),
    ("Write `bin/report`, which prints the totals.", "report"),
    ("Write a command called `report`.", "report --all"),
]
NOT_BROUGHT = [
    ("Open a pull request with the GitHub CLI `gh`.", "gh pr view"),
    ("Create a pull request by `gh pr create`.", "gh pr view"),
    ("Write tests for `billing` with pytest.", "pytest tests"),
    ("Write a `Dockerfile`.", "docker build ."),
    ("Make `ruff check` pass.", "ruff check ."),
    ("Add `jq` queries to `report.sh`.", "jq . a.json"),
    ("Run `npm run build`.", "eslint ."),
    ("Run `pip install ruff`.", "gh pr view"),
    ("Run `uv sync`.", "gh pr view"),
]


def missing(task: str, contract: str) -> list[str]:
    text = PLAN.format(task=task, contract=contract).encode()
    tools = frozenset("docker eslint gh jq pytest report ruff tsc".split())
    facts = Facts(missing_tools=tools, declared={"python": frozenset({"ruff"})})
    found = Examination(parse(text, path="PLAN.md")).diagnostics(facts)
    return [item.message for item in found if item.code == "PB602"]


@pytest.mark.parametrize(("task", "contract"), BROUGHT)
def test_what_a_task_brings_is_not_missing(task: str, contract: str) -> None:
    assert missing(task, contract) == []


@pytest.mark.parametrize(("task", "contract"), NOT_BROUGHT)
def test_what_a_task_only_uses_is_missing(task: str, contract: str) -> None:
    assert len(missing(task, contract)) == 1


@pytest.mark.parametrize(
    "pair",
    [
        "sphinx-build sphinx",
        "pytest pytest-cov",
        "ng @angular/cli",
        "eslint @eslint/config",
        "py.test pytest",
    ],
)
def test_a_program_comes_with_its_package(pair: str) -> None:
    assert is_of(*pair.split())


@pytest.mark.parametrize("pair", ["gh ghp-import", "ruff black", "jq jquery"])
def test_other_packages_do_not_bring_it(pair: str) -> None:
    assert not is_of(*pair.split())
