"""Plan tools and gate for your own loop.

`planbound.loop.pydantic_ai` has the same for agents of pydantic-ai.
"""

from __future__ import annotations

from planbound.session.answers import Told
from planbound.session.decide import Accept, Capped, Reject, Silent
from planbound.session.python import (
    Ending,
    FinalizationGate,
    IncompletePlan,
    Session,
    Verifier,
    gate,
    instructions,
    open_session,
    run_gated,
    tools,
)

__all__ = [
    "Accept",
    "Capped",
    "Ending",
    "FinalizationGate",
    "IncompletePlan",
    "Reject",
    "Session",
    "Silent",
    "Told",
    "Verifier",
    "gate",
    "instructions",
    "open_session",
    "run_gated",
    "tools",
]
