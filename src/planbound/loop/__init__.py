"""The plan tools and the gate for a loop of one's own, in Python, with any framework or none.

`planbound.loop.pydantic_ai` has the same for agents of pydantic-ai.
"""

from __future__ import annotations

from planbound.engine.loop.finalization import Accept, Capped, Reject, Silent
from planbound.loop.gate import Ending, FinalizationGate, IncompletePlan, gate, run_gated
from planbound.loop.session import Session, Verifier, instructions, open_session
from planbound.loop.tools import tools
from planbound.usecases.loop.told import Told

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
