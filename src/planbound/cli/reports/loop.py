"""Where a plan is that an agent works on by itself, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.cli.terminal import Terminal
from planbound.engine.loop.shown import agenda_data, show
from planbound.wiring.looped import LoopView

_CHANGED = "the file is not as the journal knows it: somebody changed it, not by the plan tools"


def loop_data(view: LoopView) -> dict[str, object]:
    """Return where it is, for programs."""
    return {
        "status": view.status,
        **agenda_data(view.agenda, view.state),
        "session": view.state.session,
        "refusals": view.state.all_refusals,
        "changed": view.is_changed,
    }


def loop_lines(slug: str, view: LoopView, terminal: Terminal) -> Iterator[str]:
    """Yield where it is, for people."""
    count = view.state.all_refusals
    refused = f", refused {count} time{'' if count == 1 else 's'}" if count else ""
    session = f" (session {view.state.session})" if view.state.session else ""
    yield terminal.style(f"{slug}: {view.status}, in the loop{session}{refused}", "bold")
    shown = show(slug, view.plan, view.state, view.agenda, only_open=False)
    yield from (f"  {line}" for line in shown.splitlines())
    if view.is_changed:
        yield f"  {_CHANGED}"
