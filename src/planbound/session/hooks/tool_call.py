"""Whether an agent in the loop may make a call of a tool: hooks are asked at every one."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from typing import TYPE_CHECKING

from planbound.session.guard import ToolCall, denial, written_paths
from planbound.session.hooks.event import session_at

if TYPE_CHECKING:
    from planbound.session.context import BoundPlan
    from planbound.session.hooks.event import HookCall, HookWorkspace
    from planbound.session.work import Work


SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
    ".mcp.json",
    "opencode.json",
)
"""Where hooks and plan tools stand: an agent that may change them can end its own watch."""


def refused_call(bound: BoundPlan, event: HookCall, place: HookWorkspace) -> str | None:
    """Return why a host may not make this call; None where it may, and where nothing is owed."""
    if bound.state.is_over:
        return None
    call = event.call
    reason = denial(call, SETTINGS, place.root)
    if reason is None and bound.state.manifest is not None:
        judges = _known_judges(bound, event, place)
        reason = denial(call, judges, place.root)
    return reason or _unapproved(bound, event, call, place)


def _unapproved(
    bound: BoundPlan, event: HookCall, call: ToolCall, place: HookWorkspace
) -> str | None:
    """Return why a call would be work on a plan that waits for a yes; None elsewhere.

    Also one that was approved waits, where its file says something else since.
    That is to write what the plan's steps touch; where one of them may touch anything, any file of
    the workspace.
    """
    if not (bound.state.by_people or bound.state.owes_yes):
        return None
    paths = list(written_paths(call, place.root))
    if not paths:
        return None
    from planbound.judging.case import covers, plan_scope  # noqa: PLC0415 - start-up
    from planbound.session.view import waits_for  # noqa: PLC0415 - start-up

    work = _work(bound, event, place)
    waiting = waits_for(work)
    if waiting is None:
        return None
    scope = plan_scope(work.plan)
    if scope.patterns is None or any(covers(scope, path) for path in paths):
        return waiting
    return None


def _work(bound: BoundPlan, event: HookCall, place: HookWorkspace) -> Work:
    from planbound.session.work import Work  # noqa: PLC0415 - seldom needed

    return Work(session_at(place, event), bound.file)


def _known_judges(bound: BoundPlan, event: HookCall, place: HookWorkspace) -> list[str]:
    """Return the files that were frozen to judge by.

    They take long to find out, and are kept from one call of a hook to the next.
    """
    if place.state is None:
        return frozen_judges(_work(bound, event, place))
    folder = os.path.join(place.state, "hooks")
    key = f"{bound.state.digest}-{bound.state.manifest}"
    path = os.path.join(folder, f"{hashlib.sha256(key.encode()).hexdigest()[:32]}.json")
    with contextlib.suppress(OSError, ValueError), open(path, encoding="utf-8") as file:
        found = json.load(file)
        if isinstance(found, list):
            return [str(each) for each in found]
    made = frozen_judges(_work(bound, event, place))
    with contextlib.suppress(OSError):
        os.makedirs(folder, mode=0o700, exist_ok=True)
        beside = f"{path}.{os.getpid()}"
        with open(beside, "w", encoding="utf-8") as file:
            json.dump(made, file)
        os.replace(beside, path)
    return made


def frozen_judges(work: Work) -> list[str]:
    """Return the files that were frozen to judge by, without those that the plan may change."""
    from planbound.judging.case import (  # noqa: PLC0415 - seldom asked
        cases,
        covers,
        plan_scope,
    )
    from planbound.judging.reference import judges_of, read_frozen  # noqa: PLC0415 - the same

    frozen = work.frozen()
    if frozen is None:
        return []
    vault, scope = work.session.vault, plan_scope(work.plan)
    manifest = frozen.manifest
    found = judges_of(cases(work.plan), manifest, lambda path: read_frozen(manifest, vault, path))
    return sorted(path for path in found.files if not covers(scope, path))
