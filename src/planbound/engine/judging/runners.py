"""The test runner that a contract's words name."""

from __future__ import annotations

from planbound.plan.command import Script
from planbound.plan.command.runner import runner_of

_NAMES = {
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


def runner_named(script: Script) -> str | None:
    """Return the runner that a contract starts by name, as its summary is called."""
    for call in script.calls:
        name = _NAMES.get(call.program)
        if name is not None and runner_of(call) is not None:
            return name
    return None
