"""A conflict as a plan of one step, with the judges of the plan that could not be merged."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import count

from planbound.engine.prompt import fenced
from planbound.engine.readiness import PlanInfo
from planbound.engine.team.state import TeamState
from planbound.plan.model import Command, Plan
from planbound.plan.render import DEFAULT_TARGET, expectation_text

PREFIX = "resolve-"
"""How a plan is called that resolves the conflicts of another one."""
_LONGEST = 60
_SPECIAL = re.compile(r"[*?\[{]")
_HEAD = """\
---
type: plan
status: draft
owner: orchestrator
touches: [{touches}]
---

# Resolve the conflict of {slug} with {into}

**Context:** The plan {slug} is proved, and cannot be merged into {into}: both changed the same
lines. Its worktree holds the merge with the conflicts marked in it. What judges this plan is what
judges {slug}.

## Steps

### 1. Resolve the conflict

**target:** {target}

**task:**
Both sides changed the same lines of the files below. Look at what each side means, write what
keeps both meanings, and take every conflict mark (`<<<<<<<`, `=======`, `>>>>>>>`) out. The upper
part of each conflict is {into}, the lower part is the work of {slug}. Change nothing else.

{files}

What {slug} is about: {objective}

{said}

**contract:**
{contract}
exit_code == 0

## Postconditions

"""


def resolution_text(slug: str, plan: Plan, *, into: str, files: Sequence[str], said: str) -> str:
    """Return the plan that resolves the conflicts of another one, in these files.

    `said` is what git says about them.
    """
    target = next((step.target.value for step in plan.steps if step.target), DEFAULT_TARGET)
    objective = plan.objective.value if plan.objective else slug
    head = _HEAD.format(
        touches=", ".join(_yaml(_literal(name)) for name in files),
        slug=f"`{slug}`",
        into=f"`{into}`",
        target=target,
        files="\n".join(f"- `{name}`" for name in files),
        objective=" ".join(objective.split()),
        said=fenced(said) if said else "",
        contract=fenced(_no_marks(files), "shell"),
    )
    return head + "\n".join(_conditions(plan))


def _no_marks(files: Sequence[str]) -> str:
    listed = " ".join(shlex.quote(f"./{name}") for name in files)
    # `grep` ends with 1 where it finds none; a file that was deleted has none either.
    return f"! grep -nE '^(<<<<<<<|>>>>>>>)( |$)' -- {listed}"


def _conditions(plan: Plan) -> Iterator[str]:
    number = 0
    seen: set[tuple[str, tuple[str, ...]]] = set()
    found = [(step.title, step.contract) for step in plan.steps]
    found += [(each.statement, each.contract) for each in plan.postconditions]
    for title, contract in found:
        if not isinstance(contract, Command):
            continue
        expected = tuple(expectation_text(each.value) for each in contract.expectations)
        if (contract.text, expected) in seen:
            continue
        seen.add((contract.text, expected))
        number += 1
        lines = [
            f"{number}. {' '.join(title.split())}",
            *fenced(contract.text, contract.language or "shell").splitlines(),
            *(expected or ("exit_code == 0",)),
        ]
        yield "\n".join([lines[0], *(f"   {line}" if line else "" for line in lines[1:])]) + "\n"


def _literal(path: str) -> str:
    """Return a pattern that matches exactly this path."""
    return _SPECIAL.sub(r"[\g<0>]", path)


def _yaml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def resolution_name(slug: str, taken: Iterable[str]) -> str:
    """Return a free name for the plan that resolves the conflicts of another one."""
    known = set(taken)
    plain = slug.removeprefix(PREFIX)[:_LONGEST]
    for number in count(1):
        name = f"{PREFIX}{plain}" if number == 1 else f"{PREFIX}{plain}-{number}"
        if name not in known:
            return name
    raise AssertionError(slug)


def after_its_base(plan: PlanInfo, team: Mapping[str, TeamState]) -> PlanInfo:
    """Return a plan with all that is merged before it, whatever its text says of that."""
    state = team.get(plan.slug)
    before = state.binding.builds_on if state is not None and state.binding is not None else ()
    # What resolves the conflicts of a plan comes before it, and brings it in.
    resolving = resolved_by(plan.slug, team)
    more = (*before, *((resolving,) if resolving is not None else ()))
    return plan._replace(depends_on=tuple(dict.fromkeys((*plan.depends_on, *more))))


def resolved_by(slug: str, team: Mapping[str, TeamState]) -> str | None:
    """Return the plan in whose worktree the conflicts of this one are resolved, as it is now."""
    state = team.get(slug)
    if state is None or state.stop is None or state.stop.tip is None:
        return None
    for other in team.values():
        if other.binding is not None and other.binding.merges == state.stop.tip:
            return other.plan
    return None
