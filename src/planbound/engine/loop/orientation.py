"""What an agent is told that begins, or begins anew after its context was compacted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.loop.line import line_of

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


class Choice(NamedTuple):
    """A plan that a session could be bound to."""

    slug: str
    status: str
    steps: int
    proved: int


def offer(plans: Sequence[Choice], more: int) -> str:
    """Return which plans there are for a session that is bound to none, and how it gets one."""
    lines = ["This session is bound to no plan. The plans here:"]
    for plan in plans:
        steps = f"{plan.proved}/{plan.steps} steps proved" if plan.steps else "no steps"
        lines.append(f"- `{line_of(plan.slug, 100)}`: {plan.status}, {steps}")
    if more:
        lines.append(f"- and {more} more: `planbound list` names them all")
    name = line_of(plans[0].slug, 100) if plans else "NAME"
    lines.append(
        "None of them is yours before a person binds this worktree to one: by its name in"
        f" `.harness/active-plan` (`echo {name} > .harness/active-plan`), or by"
        f" `PLANBOUND_PLAN={name}` in the environment of the session. Ask which one is meant;"
        " do not choose by yourself."
    )
    return "\n".join(lines)
