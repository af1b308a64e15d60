"""What the rules for plans say of one that an agent wrote."""

from __future__ import annotations

from planbound.errors import Refused, UsageError
from planbound.source import Diagnostic, Severity
from planbound.usecases.loop.desk import LoopDesk

_ABOUT_COMMANDS = "PB60"
"""The rules about commands: a contract that breaks one says nothing, or cannot run."""
_MOST = 5


def refuse_unsound_contracts(desk: LoopDesk, data: bytes) -> None:
    """Refuse contracts that cannot fail, cannot run, or are no commands."""
    for fault in _errors(desk, data):
        if fault.code.startswith(_ABOUT_COMMANDS):
            raise UsageError(fault.message, hint=fault.hint)


def refuse_unapprovable(desk: LoopDesk, data: bytes) -> None:
    """Refuse to ask a person for what no person can give: a plan with faults."""
    found = _errors(desk, data)
    if found:
        listed = "; ".join(f"line {each.line}: {each.message}" for each in found[:_MOST])
        raise Refused(
            f"a person could not approve the plan as it is: {listed}",
            hint="mend it by `plan_amend`; each step needs a contract or a check",
        )


def _errors(desk: LoopDesk, data: bytes) -> list[Diagnostic]:
    from planbound.usecases.verify import verify  # noqa: PLC0415 - start-up: hooks do not write

    found = verify(data, path="PLAN.md", surroundings=desk.surroundings())
    return [each for each in found.diagnostics if each.severity is Severity.ERROR]
