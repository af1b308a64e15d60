"""The text that a new plan begins with."""

from collections.abc import Iterable
from typing import NamedTuple

from planbound.errors import UsageError
from planbound.plan.markdown import LABEL, Block, BlockKind, read_blocks
from planbound.plan.slug import UNNAMED
from planbound.plan.vocabulary import PLAN_FIELDS, STEP_FIELDS, known_field
from planbound.source import INVISIBLE, Source, lazy_pattern


class ProjectFacts(NamedTuple):
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
    number: str,
    title: str,
    touches: str,
    task: str,
    contract: str,
    known: ProjectFacts | None = None,
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


def skeleton(
    objective: str, *, owner: str = "orchestrator", known: ProjectFacts | None = None
) -> str:
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


_OPAQUE = frozenset({BlockKind.FENCE, BlockKind.INDENTED, BlockKind.HTML})
_TICK = lazy_pattern(r"(?P<mark>\s*(?:[-*+]|\d{1,9}[.)])\s+)\[[xX]\](?P<rest>(?:\s.*)?)$")
_HEADING = lazy_pattern(r" {0,3}(?P<marks>#{1,6})(?P<rest>[ \t].*)?$")
_FIELDS = (*STEP_FIELDS, *PLAN_FIELDS)


def opaque_lines(blocks: Iterable[Block]) -> set[int]:
    """Return the lines of code and comments, in which nothing is a task, a label or a tick."""
    return {
        line
        for top in blocks
        for block in top.walk()
        if block.kind in _OPAQUE
        for line in range(block.line, block.after)
    }


def softened(text: str) -> str:
    """Return Markdown whose headings, labels and ticks mean nothing in our language."""
    source = Source(path="", text=text)
    opaque = opaque_lines(read_blocks(source))
    lines = (
        line if number in opaque else _soft_line(line) for number, line in enumerate(source.lines)
    )
    return "\n".join(lines).strip("\n")


def _soft_line(line: str) -> str:
    if tick := _TICK.match(line):
        return f"{tick['mark']}[ ]{tick['rest']} (was ticked)"
    if (heading := _HEADING.match(line)) and len(heading["marks"]) < 4:
        return f"####{heading['rest'] or ''}"
    start = len(line) - len(line.lstrip(" "))
    label = LABEL.match(line, start)
    if label is None or (label["inside"] and not known_field(label["name"], _FIELDS)):
        return line
    value = f" {label['inside']}" if label["inside"] else ""
    return f"{line[:start]}{label['name'].strip()}:{value}{line[label.end() :]}"
