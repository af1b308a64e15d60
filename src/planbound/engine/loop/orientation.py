"""What an agent is told that begins, or begins anew after its context was compacted."""

from __future__ import annotations

from collections.abc import Sequence

_HOW = (
    "Work on the first open step. Call `step_update` when you begin one and when it is done: the"
    " harness then runs its contract itself. You may end when the plan is done. Only what is"
    " missing outside of the workspace is set to blocked, with the reason; tests that fail are the"
    " work."
)


def orient(slug: str, shown: str, names: Sequence[str], *, waiting: str | None) -> str:
    """Return the plan, what is next, and which other plans there are."""
    parts = [f"This session works on the plan `{slug}`.", shown, waiting or _HOW]
    others = [name for name in names if name != slug]
    if others:
        listed = ", ".join(f"`{name}`" for name in others)
        parts.append(f"Other plans here, which are not yours: {listed}.")
    return "\n\n".join(parts)
