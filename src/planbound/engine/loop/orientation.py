"""What an agent is told that begins, or begins anew after its context was compacted."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from typing import NamedTuple

from planbound.engine.loop.line import line_of

_HOW = (
    "Work on the first open step. Call `step_update` when you begin one and when it is done: the"
    " harness then runs its contract itself. You may end when the plan is done. Only what is"
    " missing outside of the workspace is set to blocked, with the reason; tests that fail are the"
    " work."
)

_MOST_TEXT = 7000
"""So many characters say which plans there are; what is said around them is short."""


def orient(slug: str, shown: str, names: Sequence[str], *, waiting: str | None) -> str:
    """Return the plan, what is next, and which other plans there are."""
    parts = [f"This session works on the plan `{slug}`.", shown, waiting or _HOW]
    others = [name for name in names if name != slug]
    if others:
        listed = ", ".join(f"`{name}`" for name in others)
        parts.append(f"Other plans here, which are not yours: {listed}.")
    return "\n\n".join(parts)


OWN = (
    "`plan_create(objective, steps, postconditions)` goes on with none of them: it makes a new plan"
    " of your own beside them, where that is what is wanted."
)
"""What an agent that has the plan tools has to know, too."""


class Choice(NamedTuple):
    """A plan that a session could be bound to."""

    slug: str
    status: str
    steps: int
    proved: int


def offer(plans: Sequence[Choice], more: int) -> str:
    """Return which plans there are for a session that is bound to none, and how it gets one.

    All that there are, as far as that stays a text that can be read.
    """
    listed: list[str] = []
    room = _MOST_TEXT
    for plan in plans:
        steps = f"{plan.proved}/{plan.steps} steps proved" if plan.steps else "no steps"
        line = f"- `{line_of(plan.slug, 100)}`: {plan.status}, {steps}"
        room -= len(line) + 1
        if room < 0:
            break
        listed.append(line)
    more += len(plans) - len(listed)
    if more:
        listed.append(f"- and {more} more: `planbound list` names them all")
    name = shlex.quote(line_of(plans[0].slug, 100)) if plans else "NAME"
    how = (
        "None of them is yours before a person binds this worktree to one: by its name in"
        f" `.harness/active-plan` (`echo {name} > .harness/active-plan`), or by"
        f" `PLANBOUND_PLAN={name}` in the environment of the session. Ask which one is meant;"
        " do not choose by yourself."
    )
    return "\n".join(["This session is bound to no plan. The plans here:", *listed, how])
