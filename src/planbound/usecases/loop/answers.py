"""How the tools answer."""

from __future__ import annotations

from planbound.engine.judging.proof import held
from planbound.engine.loop.shown import agenda_data, heading_of, show
from planbound.engine.loop.state import Item, Standing
from planbound.journal.record import Json
from planbound.usecases.loop.told import Told
from planbound.usecases.loop.work import Work

_OUTPUT = 2000


def judged(work: Work, name: str, item: Item) -> Told:
    """Say what a contract came to, with the end of its output."""
    if item.standing is Standing.PROVED:
        text = f"{name} is proved."
        return Told(ok=True, text=text, data={**data_of(work), "proved": True})
    if item.standing is Standing.HOLDS:
        text = f"{name} {held(item.reason)}: it is settled, and not proved."
        return Told(ok=True, text=text, data={**data_of(work), "proved": False, "holds": True})
    text = f"{name} is not proved: {item.reason or 'its contract did not pass'}"
    if item.output.strip():
        text += f"\nThe end of the output, as data:\n{item.output.strip()[-_OUTPUT:]}"
    data: dict[str, Json] = {**data_of(work), "proved": False, "reason": item.reason}
    return Told(ok=False, text=text, data=data)


def shown(work: Work, head: str = "", *, only_open: bool = False) -> Told:
    """Show the plan below a sentence."""
    heading = heading_of(work.slug, work.plan, work.status)
    plan = show(heading, work.state, work.agenda, only_open=only_open)
    text = f"{head}\n\n{plan}" if head else plan
    return Told(ok=True, text=text, data=data_of(work))


def data_of(work: Work) -> dict[str, Json]:
    """Return where a plan is, for programs."""
    status = work.status.value
    return {"plan": work.slug, "status": status, **agenda_data(work.agenda, work.state)}
