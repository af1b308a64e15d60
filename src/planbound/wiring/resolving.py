"""Hands a conflict to an agent: as a plan of one step, which goes through the gate as any other."""

from __future__ import annotations

import os
from typing import NamedTuple

from planbound.engine.team.integration import Stopped
from planbound.engine.team.resolution import resolution_name, resolution_text, resolved_by
from planbound.errors import PlanboundError, Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.digest import digest
from planbound.plan.parse import parse
from planbound.ports.files import PlanFile, Shelf
from planbound.usecases.create import write_plan
from planbound.usecases.locate import locate
from planbound.usecases.team.bindings import known_team
from planbound.wiring.parts import Parts
from planbound.wiring.team import spawn_plan


class Resolution(NamedTuple):
    """A plan that resolves the conflicts of another one."""

    plan: str
    of: str
    worktree: str
    is_new: bool


def hand_over(parts: Parts, stopped: Stopped, into: str) -> Resolution:
    """Write the plan that resolves a conflict, in a worktree that holds it."""
    team = known_team(parts.existing_journal())
    known = resolved_by(stopped.plan, team)
    if known is not None and (binding := team[known].binding) is not None:
        return Resolution(known, stopped.plan, binding.path, is_new=False)
    if stopped.tree is None:
        raise Refused(f"nothing is known of the conflicts of `{stopped.plan}`")
    file = _write(parts, stopped, into)
    try:
        spawned = spawn_plan(parts, file, stopped.target, merges=(stopped.tip, stopped.tree))
    except BaseException:
        os.unlink(file.path)  # written a moment ago, and nobody has seen it
        raise
    return Resolution(file.slug, stopped.plan, spawned.binding.path, is_new=True)


def _write(parts: Parts, stopped: Stopped, into: str) -> PlanFile:
    source = locate(stopped.plan, parts.tree)
    plan = parse(parts.reader.read(source.path), path=source.shown)
    text = resolution_text(stopped.plan, plan, into=into, files=stopped.files, said=stopped.output)
    taken = [each.slug for shelf in Shelf for each in parts.tree.plans(shelf)]
    taken += known_team(parts.existing_journal())
    file = write_plan(
        resolution_name(stopped.plan, taken),
        text.encode("utf-8", "surrogateescape"),
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
    )
    try:
        _note(parts, file)
    except PlanboundError:
        os.unlink(file.path)
        raise
    return file


def _note(parts: Parts, file: PlanFile) -> None:
    made = parse(parts.reader.read(file.path), path=file.shown)
    recorder = parts.recorder()
    recorder.created(file.slug, made, path=parts.relative(file.path), origin="integrate")
    details: dict[str, Json] = {"plan_id": file.slug, "digest": digest(made)}
    recorder.record(EventKind.GATE_APPROVAL_REQUESTED, file.slug, details)
