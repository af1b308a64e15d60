"""The plan language, described for a model: from the same tables that the parser reads with."""

from __future__ import annotations

from collections.abc import Iterable
from enum import Enum
from typing import get_args

from planbound.plan.model import (
    Baseline,
    Contains,
    Evidence,
    Exhausted,
    ExitCodeIs,
    Expectation,
    MaximumFailures,
    MinimumTests,
    NoNewFailures,
    OutputIs,
    Priority,
    Stream,
    SubscriptionKind,
)
from planbound.plan.vocabulary import CONDITION_FIELDS, PLAN_FIELDS, STEP_FIELDS
from planbound.verify.rules.step_count import FEWEST, MOST

_ROLE = "coder"
HARNESS_FIELDS = frozenset({"status"})
"""What the harness alone writes."""

EXPECTATIONS: dict[type[Expectation], tuple[str, ...]] = {
    ExitCodeIs: ("exit_code == 0",),
    Contains: tuple(f'{stream.value} contains "..."' for stream in Stream),
    OutputIs: ('stdout == "..."',),
    MinimumTests: ("tests >= 1",),
    MaximumFailures: ("failed <= 0",),
    NoNewFailures: ("no new failures",),
}
"""How each expectation is written."""


def _either(words: type[Enum]) -> str:
    return " or ".join(f"`{word.value}`" for word in words)


def _span(words: type[Enum]) -> str:
    values = [word.value for word in words]
    return f"`{values[0]}` to `{values[-1]}`"


STEP_HELP = {
    "target": "the role that does it, one of the roles named below.",
    "depends": "numbers of the steps that it waits for, or `none`; without it a step waits for "
    "the one before it. The same in the title: `### 3. Title (depends on 1, 2)`.",
    "subscriptions": "list of context that the step is given: "
    + " or ".join(f"`{kind.value}:...`" for kind in SubscriptionKind)
    + ". A file is there now, or an earlier step writes it; a topic is `.harness/topics/NAME.md`.",
    "touches": "list of the files that the step may change, as glob patterns from the root of the "
    "repository, as narrow as can be.",
    "judges": "list of the files that the contract judges by, such as tests. Never among the "
    "`touches` of the same step.",
    "timeout": "for the work, such as `20m`; 10 minutes without it.",
    "contract_timeout": "for one run of the contract; 5 minutes without it.",
    "budget": "for this step, such as `50k tokens, $0.50, 10 minutes`.",
    "baseline": f"{_either(Baseline)}: how the contract must be before the work. `any` only where "
    "it passes already and that is meant so: the step then holds, and is not proved.",
    "evidence": f"{_span(Evidence)}: how well a verdict must be founded at least. Leave it out.",
    "repeat": "how often the contract is run, such as `3`; once without it.",
    "task": "what to do, where, and how one sees that it is done. Name files and functions. "
    "Whoever does the step sees this text and nothing else of the plan.",
    "contract": "a shell command in one ```shell fence, and what is expected of it below the "
    "fence.",
    "on_fail": "; ".join(f"`retry(2), then {word.value}`, `{word.value}`" for word in Exhausted)
    + ". `retry(2), then escalate` without it.",
}
"""What each field of a step is for."""

PLAN_HELP = {
    "context": "why, and what somebody who does a step has to know.",
    "budget": "for the whole plan, such as `max 200k tokens, $1.50, 20 minutes`.",
    "priority": f"{_either(Priority)}; may be left out.",
}
"""What each field below the title is for."""

FRONTMATTER_HELP = {
    "depends_on": "a list of plans that must be done before",
    "touches": "for steps that say nothing about theirs",
    "expected_artifacts": "a list of files that are there at the end",
}
"""What may stand in the frontmatter beside the keys that every plan has."""

EXAMPLE = """\
---
type: plan
status: draft
owner: orchestrator
---

# Round invoices to whole cents

**Context:** Totals differ from the bank's by a cent on invoices with many lines.
**Budget:** max 150k tokens, $1.20, 25 minutes

## Steps

### 1. Find where rounding happens

**target:** coder
**touches:**
- docs/rounding.md

**task:**
List every place below `src/billing/` that rounds an amount in `docs/rounding.md`, as `- path:line`.

**contract:**
```shell
grep -q '^- src/billing/' docs/rounding.md
```
exit_code == 0
**on_fail:** retry(2), then escalate

### 2. Write a test that fails

**target:** coder
**subscriptions:**
- file:docs/rounding.md
**touches:**
- tests/test_rounding.py

**task:**
Add `tests/test_rounding.py`: an invoice of a hundred lines at 0.335 adds up to 33.50.

**contract:**
```shell
grep -q '33.50' tests/test_rounding.py
```
exit_code == 0

### 3. Round once, at the end

**target:** coder
**subscriptions:**
- file:docs/rounding.md
**touches:**
- src/billing/**
**judges:**
- tests/**

**task:**
Round in `total()` only. Remove the other places that `docs/rounding.md` names.

**contract:**
```shell
python3 tests/test_rounding.py
```
exit_code == 0

## Postconditions

1. A hundred lines add up
   ```shell
   python3 tests/test_rounding.py
   ```
   exit_code == 0
"""
"""A whole plan, without a fault under any profile."""


def describe(roles: Iterable[str]) -> str:
    """Return the language in words, with the roles that there are."""
    known = sorted(roles)
    expectations = [f"`{way}`" for kind in get_args(Expectation) for way in EXPECTATIONS[kind]]
    example = EXAMPLE
    if known and _ROLE not in known:
        example = example.replace(f"**target:** {_ROLE}", f"**target:** {known[0]}")
    return _TEXT.format(
        frontmatter="; ".join(f"`{name}`, {text}" for name, text in FRONTMATTER_HELP.items()),
        plan_fields=_listed(PLAN_FIELDS, PLAN_HELP),
        step_fields=_listed(STEP_FIELDS, STEP_HELP),
        condition_fields=", ".join(
            f"`{name}`" for name in CONDITION_FIELDS if name not in {"contract", *HARNESS_FIELDS}
        ),
        expectations=", ".join(expectations),
        roles=", ".join(f"`{role}`" for role in known),
        fewest=FEWEST,
        most=MOST,
        example=example.rstrip(),
    )


def _listed(names: Iterable[str], helps: dict[str, str]) -> str:
    return "\n".join(f"- **{name}:** {helps[name]}" for name in names if name not in HARNESS_FIELDS)


_TEXT = """\
A plan is one Markdown file: frontmatter, a title, a few fields, steps, postconditions.

Frontmatter: the keys `type`, `status` and `owner` as in the example; `status` stays `draft`.
May be left out: {frontmatter}.
Title: one heading of level 1 that says what is to be reached.
A field is a bold label with a colon at the start of a line: `**target:** coder`

Fields below the title. There are no others:
{plan_fields}

Then `## Steps` with {fewest} to {most} steps. A step begins with `### 1. Title`, numbered 1, 2, 3
without gaps. Fields of a step. There are no others:
{step_fields}

The roles for `target`: {roles}.

Every step has a target, touches, a task and a contract. The command of a contract
- is for bash, run from the root of the repository, with no prompt sign in front of it;
- fails before the work and passes after it;
- ends by itself: no watch mode, no server, no editor, no question;
- can fail: no `|| true`, no `; true`, no pipe into tee, cat, head or tail, no bare echo;
- looks at the result, not at what somebody says about it;
- judges by files that the step itself does not write, wherever that can be.
Expectations, one a line below the fence, all must hold: {expectations}.
Where no command can tell, a person does: `**contract:** attest "what the person confirms"`

Where nobody knows yet how many steps there will be, write one template, such as
`### 3–N. Migrate batch {{n}}` with `{{batch}}` for its part of the work, and `### N+1. Title`
behind it. A person has it written out before the plan is approved: write none without need.

Two steps of which neither waits for the other may run at once: their touches must not meet.

`## Preconditions` (may be left out) and `## Postconditions` are numbered lists: what is true
before the first step, and at the end whatever the steps did. Each item has its command in a
```shell fence below it, indented by three blanks, and may have {condition_fields}.

An example of a whole plan:

`````markdown
{example}
`````"""
