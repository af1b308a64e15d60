"""Planbound holds agents to the plan.

Importing this package costs nothing: everything lives in its sub-packages.
`planbound.plan` reads and writes plan files, `planbound.verify` finds what is wrong with them.
What an agent's own loop needs is here too, and is loaded when it is first asked for: see
`planbound.loop`.
"""

__version__ = "0.1.0"

_OF_THE_LOOP = frozenset(
    "Accept Capped Ending FinalizationGate IncompletePlan Reject Session Silent Told Verifier"
    " gate instructions open_session run_gated tools".split()
)


def __getattr__(name: str) -> object:
    if name not in _OF_THE_LOOP:
        raise AttributeError(f"module `planbound` has no attribute `{name}`")
    from importlib import import_module  # noqa: PLC0415 - importing this package costs nothing

    value = globals()[name] = getattr(import_module("planbound.loop"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_OF_THE_LOOP})
