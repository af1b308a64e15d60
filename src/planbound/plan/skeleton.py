"""The text that a new plan begins with."""

from __future__ import annotations

from planbound.errors import UsageError
from planbound.plan.slug import UNNAMED
from planbound.source.visible import INVISIBLE

_STEP = """\
### {number}. {title}

**target:** coder
**touches:**
- {touches}

**task:**
{task}

**contract:**
```shell
{contract}
```
exit_code == 0
**on_fail:** retry(2), then escalate

"""

_PLACEHOLDERS = (
    (
        "TODO: what is done first",
        "TODO/**",
        "TODO: say what to do, where, and how one can see that it is done.",
        "TODO: a command that fails now and passes when the step is done",
    ),
    (
        "TODO: what is done next",
        "TODO/**",
        "TODO: say what to do.",
        "TODO: a command that fails now",
    ),
    (
        "TODO: what is done last",
        "TODO/**",
        "TODO: say what to do.",
        "TODO: a command that fails now",
    ),
)


def step_skeleton(number: str) -> str:
    """Return a step to fill in."""
    _, touches, task, contract = _PLACEHOLDERS[0]
    return (
        _STEP.format(
            number=number,
            title="TODO: what is done",
            touches=touches,
            task=task,
            contract=contract,
        ).rstrip()
        + "\n"
    )


def objective_line(objective: str | None, slug: str) -> str:
    """Return the objective of a new plan on one line; raise UsageError where it says nothing."""
    if objective is None:
        name = "this plan" if slug == UNNAMED else slug
        return f"TODO: what {name} is to reach"
    text = " ".join(objective.split())
    if not text or INVISIBLE.search(text):
        raise UsageError("the objective is empty, or holds characters that cannot be seen")
    return text


def skeleton(objective: str, *, owner: str = "orchestrator") -> str:
    """Return a draft with three steps to fill in; it does not verify until they are."""
    steps = "".join(
        _STEP.format(number=number, title=title, touches=touches, task=task, contract=contract)
        for number, (title, touches, task, contract) in enumerate(_PLACEHOLDERS, 1)
    )
    return f"""\
---
type: plan
status: draft
owner: {owner}
---

# {objective}

**Context:** TODO: why this is needed, and what somebody who does it has to know.
**Budget:** max 200k tokens, $2.00, 60 minutes wall clock

## Steps

{steps}\
## Postconditions

1. TODO: what is true at the end, whatever the steps did
   ```shell
   TODO: a command that shows it
   ```
   exit_code == 0
"""
