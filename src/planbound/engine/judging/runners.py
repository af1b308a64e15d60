"""The test runner that a contract's words name."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from planbound.engine.judging.canary.find import all_calls
from planbound.engine.judging.canary.model import Project
from planbound.plan.command import Script
from planbound.plan.command.runner import runner_of

NAMES = {
    "pytest": "pytest",
    "py.test": "pytest",
    "unittest": "unittest",
    "go": "go test",
    "cargo": "cargo test",
    "jest": "jest",
    "vitest": "vitest",
    "mocha": "mocha",
    "node": "node --test",
    "rspec": "rspec",
    "phpunit": "phpunit",
    "ctest": "ctest",
}
"""By the program that is called: what its summary is called."""


def runner_named(
    script: Script,
    paths: Sequence[str] = (),
    read: Callable[[str], bytes | None] | None = None,
) -> str | None:
    """Return the runner that a contract starts by name, as its summary is called.

    With a tree to read it is also found behind `npm test` and `make test`.
    """
    project = Project(paths, read, "") if read is not None else None
    for call in all_calls(script, project) if project is not None else script.calls:
        name = NAMES.get(call.program)
        if name is not None and runner_of(call) is not None:
            return name
    return None
