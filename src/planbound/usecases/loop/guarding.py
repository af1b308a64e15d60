"""What an agent in the loop may not do to the files that say whether its work is right."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from planbound.engine.loop.guard import denial, written_paths
from planbound.engine.loop.state import INCOMPLETE, LoopState

if TYPE_CHECKING:
    from planbound.usecases.loop.work import Work

Kept = Callable[[str, Callable[[], list[str]]], list[str]]
"""Returns what is kept under a key, or makes and keeps it: hooks are asked at every call."""
SETTINGS = (
    ".claude/settings.json",
    ".claude/settings.local.json",
    ".codex/hooks.json",
    ".codex/config.toml",
    ".gemini/settings.json",
    ".qwen/settings.json",
)
"""Where hooks stand: an agent that may change them can end its own watch."""


def denied(
    state: LoopState,
    tool: str,
    arguments: Mapping[str, object],
    *,
    root: str,
    judges: Callable[[str], list[str]],
) -> str | None:
    """Return why a host may not make this call; None where it may, and where nothing is owed.

    `judges` returns the files that were frozen to judge by, for a key that changes with them.
    """
    if state.outcome not in {None, INCOMPLETE}:
        return None
    reason = denial(tool, arguments, SETTINGS, root)
    if reason is not None or state.manifest is None:
        return reason
    return denial(tool, arguments, judges(f"{state.digest}-{state.manifest}"), root)


def frozen_judges(work: Work) -> list[str]:
    """Return the files that were frozen to judge by, without those that the plan may change."""
    from planbound.engine.judging.case import cases, plan_scope  # noqa: PLC0415 - seldom asked
    from planbound.engine.judging.scope import covers  # noqa: PLC0415
    from planbound.usecases.frozen_judges import judges_of, read_frozen  # noqa: PLC0415

    frozen = work._frozen()  # noqa: SLF001 - of this package
    if frozen is None:
        return []
    vault, scope = work.desk.vault, plan_scope(work.plan)
    manifest = frozen.manifest
    found = judges_of(cases(work.plan), manifest, lambda path: read_frozen(manifest, vault, path))
    return sorted(path for path in found.files if not covers(scope, path))


def unapproved(
    state: LoopState,
    tool: str,
    arguments: Mapping[str, object],
    *,
    root: str,
    work: Callable[[], Work],
) -> str | None:
    """Return why a call would be work on a plan that waits for a yes; None elsewhere.

    Also one that was approved waits, where its file says something else since.
    That is to write what the plan's steps touch; where one of them may touch anything, any file of
    the workspace.
    """
    if not (state.by_people or state.owes_yes) or state.outcome not in {None, INCOMPLETE}:
        return None
    paths = list(written_paths(tool, arguments, root))
    if not paths:
        return None
    from planbound.engine.judging.case import plan_scope  # noqa: PLC0415 - seldom asked
    from planbound.engine.judging.scope import covers  # noqa: PLC0415
    from planbound.usecases.loop.approval import waits_for  # noqa: PLC0415

    found = work()
    waiting = waits_for(found)
    if waiting is None:
        return None
    scope = plan_scope(found.plan)
    if scope.patterns is None or any(covers(scope, path) for path in paths):
        return waiting
    return None
