"""What the expectations of a contract demand beyond exit code 0."""

from __future__ import annotations

from planbound.plan.model import (
    Command,
    Contains,
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OutputIs,
)

_READS_OUTPUT = (Contains, OutputIs, MinimumTests, MaximumFailures, NoNewFailures)


def demands_nothing(expectation: Expectation) -> bool:
    """Say whether an expectation always holds: `stdout contains ""`, `tests >= 0`."""
    match expectation:
        case Contains(text=""):
            return True
        case MinimumTests(minimum=0):
            return True
        case _:
            return False


def demands_output(command: Command) -> bool:
    """Say whether a contract looks at what the command prints."""
    return any(
        isinstance(item.value, _READS_OUTPUT) and not demands_nothing(item.value)
        for item in command.expectations
    )


def demands_failure(command: Command) -> bool:
    """Say whether the command is to end with a code other than 0."""
    return any(
        isinstance(item.value, ExitCodeIs) and item.value.code for item in command.expectations
    )
