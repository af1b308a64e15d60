"""The text that a new plan begins with."""

from __future__ import annotations

from typing import NamedTuple

from planbound.errors import UsageError
from planbound.plan.slug import UNNAMED
from planbound.source.visible import INVISIBLE


class Known(NamedTuple):
    """What is known of a project before its first plan is written."""

    command: str
    """What the first step is judged by."""
    expected: tuple[str, ...]
    """What is expected of it."""
    conditions: tuple[tuple[str, str, tuple[str, ...]], ...]
    """What is true at the end: a statement, a command, and what is expected of it."""
    touches: tuple[str, ...]
    context: str
    notes: tuple[str, ...]
    """Lines of Markdown, for people."""


_STEP = """\
### {number}. {title}

**target:** coder
**touches:**
{touches}

**task:**
{task}

**contract:**
```shell
{contract}
```
{expected}
**on_fail:** retry(2), then escalate

"""

_CONDITION = """\
{number}. {statement}
   ```shell
   {command}
   ```
   {expected}
"""
_UNKNOWN = (
    "TODO: what is true at the end, whatever the steps did",
    "TODO: a command that shows it",
    ("exit_code == 0",),
)

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
    return _step(number, "TODO: what is done", touches, task, contract).rstrip() + "\n"


def _step(
    number: str, title: str, touches: str, task: str, contract: str, known: Known | None = None
) -> str:
    patterns = (known and known.touches) or (touches,)
    return _STEP.format(
        number=number,
        title=title,
        touches="\n".join(f"- {pattern}" for pattern in patterns),
        task=task,
        contract=known.command if known else contract,
        expected="\n".join(known.expected) if known else "exit_code == 0",
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


def skeleton(objective: str, *, owner: str = "orchestrator", known: Known | None = None) -> str:
    """Return a draft with three steps to fill in; it does not verify until they are."""
    steps = "".join(
        _step(str(number), *words, known if number == 1 else None)
        for number, words in enumerate(_PLACEHOLDERS, 1)
    )
    conditions = "".join(
        _CONDITION.format(
            number=number, statement=statement, command=command, expected="\n   ".join(expected)
        )
        for number, (statement, command, expected) in enumerate(
            (known.conditions if known else ()) or (_UNKNOWN,), 1
        )
    )
    context = "TODO: why this is needed, and what somebody who does it has to know."
    notes = "\n## Notes\n\n" + "\n".join(known.notes) + "\n" if known else ""
    return f"""\
---
type: plan
status: draft
owner: {owner}
---

# {objective}

**Context:** {context}{f" {known.context}" if known else ""}
**Budget:** max 200k tokens, $2.00, 60 minutes wall clock

## Steps

{steps}\
## Postconditions

{conditions}{notes}"""
