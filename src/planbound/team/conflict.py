"""A conflict as a plan of one step, which goes through the gate as any other."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from itertools import count
from typing import NamedTuple

from planbound.disk.files import PlanFile, Shelf
from planbound.errors import PlanboundError, Refused
from planbound.journal.event import GateApprovalRequested
from planbound.plan.contract import DEFAULT_TARGET, expectation_text
from planbound.plan.digest import digest
from planbound.plan.model import CaseTable, Judged, Plan
from planbound.plan.parse import parse
from planbound.plan.vocabulary import CHECK_TAG
from planbound.source import fenced
from planbound.state.plan import known_team
from planbound.team.merge import Stopped, resolved_by
from planbound.team.spawn import spawn_plan
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.shelves import write_plan

_PREFIX = "resolve-"
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


class Resolution(NamedTuple):
    """A plan that resolves the conflicts of another one."""

    plan: str
    of: str
    worktree: str
    is_new: bool


def plan_resolution(context: Context, stopped: Stopped, into: str) -> Resolution:
    """Write the plan that resolves a conflict, in a worktree that holds it."""
    team = known_team(context.existing_journal())
    known = resolved_by(stopped.plan, team)
    if known is not None and (binding := team[known].binding) is not None:
        return Resolution(known, stopped.plan, binding.path, is_new=False)
    if stopped.tree is None:
        raise Refused(f"nothing is known of the conflicts of `{stopped.plan}`")
    file = _write(context, stopped, into)
    try:
        spawned = spawn_plan(context, file, stopped.target, merges=(stopped.tip, stopped.tree))
    except BaseException:
        os.unlink(file.path)  # written a moment ago, and nobody has seen it
        raise
    return Resolution(file.slug, stopped.plan, spawned.binding.path, is_new=True)


def _write(context: Context, stopped: Stopped, into: str) -> PlanFile:
    source = locate(stopped.plan, context.tree)
    plan = parse(context.reader.read(source.path), path=source.shown)
    text = _resolution_text(stopped.plan, plan, into=into, files=stopped.files, said=stopped.output)
    taken = [each.slug for shelf in Shelf for each in context.tree.plans(shelf)]
    taken += known_team(context.existing_journal())
    data = text.encode("utf-8", "surrogateescape")
    file = write_plan(context, _resolution_name(stopped.plan, taken), data)
    try:
        _note(context, file)
    except PlanboundError:
        os.unlink(file.path)
        raise
    return file


def _note(context: Context, file: PlanFile) -> None:
    made = parse(context.reader.read(file.path), path=file.shown)
    recorder = context.recorder()
    recorder.created(file.slug, made, path=context.relative(file.path), origin="integrate")
    recorder.record(GateApprovalRequested(plan_id=file.slug, digest=digest(made)), file.slug)


def _resolution_text(slug: str, plan: Plan, *, into: str, files: Sequence[str], said: str) -> str:
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
        if not isinstance(contract, Judged):
            continue
        expected = tuple(expectation_text(each.value) for each in contract.expectations)
        if (contract.text, expected) in seen:
            continue
        seen.add((contract.text, expected))
        number += 1
        lines = [
            f"{number}. {' '.join(title.split())}",
            *_fenced(contract).splitlines(),
            *(expected or (() if isinstance(contract, CaseTable) else ("exit_code == 0",))),
        ]
        yield "\n".join([lines[0], *(f"   {line}" if line else "" for line in lines[1:])]) + "\n"


def _fenced(contract: Judged) -> str:
    is_check = isinstance(contract, CaseTable)
    return fenced(contract.text, CHECK_TAG if is_check else contract.language or "shell")


def _literal(path: str) -> str:
    """Return a pattern that matches exactly this path."""
    return _SPECIAL.sub(r"[\g<0>]", path)


def _yaml(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _resolution_name(slug: str, taken: Iterable[str]) -> str:
    """Return a free name for the plan that resolves the conflicts of another one."""
    known = set(taken)
    plain = slug.removeprefix(_PREFIX)[:_LONGEST]
    for number in count(1):
        name = f"{_PREFIX}{plain}" if number == 1 else f"{_PREFIX}{plain}-{number}"
        if name not in known:
            return name
    raise AssertionError(slug)
