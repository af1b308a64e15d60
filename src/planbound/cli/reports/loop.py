"""Where a plan is that an agent works on by itself, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator

from planbound.cli.terminal import Terminal
from planbound.engine.loop.shown import agenda_data, heading_of, show
from planbound.wiring.looped import LoopView

_CHANGED = "the file is not as the journal knows it: somebody changed it, not by the plan tools"


def loop_data(view: LoopView) -> dict[str, object]:
    """Return where it is, for programs."""
    return {
        "status": view.status.value,
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
    where = view.status.value
    if view.state.outcome not in {None, where}:
        where += f" ({view.state.outcome})"
    yield terminal.style(f"{slug}: {where}, in the loop{session}{refused}", "bold")
    heading = heading_of(slug, view.plan, view.status)
    shown = show(heading, view.state, view.agenda, only_open=False)
    yield from (f"  {line}" for line in shown.splitlines())
    if view.is_changed:
        yield f"  {_CHANGED}"
