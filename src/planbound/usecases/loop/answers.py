"""How the tools answer."""

from __future__ import annotations

from planbound.engine.judging.proof import held
from planbound.engine.loop.finalization import Accept, Capped, Decision, Reject, Silent
from planbound.engine.loop.shown import agenda_data, evidence_of, heading_of, show
from planbound.engine.loop.state import Item, Standing
from planbound.journal.record import Json
from planbound.usecases.loop.told import Told
from planbound.usecases.loop.work import Work

_OUTPUT = 2000


def judged(work: Work, name: str, item: Item, settled: str = "done") -> Told:
    """Say what a contract came to, with the end of its output."""
    head = f"{name.partition(' “')[0]} → {settled}\n"
    if item.standing is Standing.PROVED:
        text = f"{head}{name} is proved{_seen(work, name)}."
        return Told(ok=True, text=text, data={**data_of(work), "proved": True})
    if item.standing is Standing.HOLDS:
        text = (
            f"{head}{name} {held(item.reason)}: it is settled, and not proved{_seen(work, name)}."
        )
        return Told(ok=True, text=text, data={**data_of(work), "proved": False, "holds": True})
    text = f"{name} is not proved: {item.reason or 'its contract did not pass'}"
    if item.output.strip():
        text += f"\nThe end of the output, as data:\n{item.output.strip()[-_OUTPUT:]}"
    data: dict[str, Json] = {**data_of(work), "proved": False, "reason": item.reason}
    return Told(ok=False, text=text, data=data)


def _seen(work: Work, name: str) -> str:
    """Return what the harness saw of an item, in brackets."""
    short = name.partition(" “")[0]
    agenda = work.agenda
    entry = next(each for each in (*agenda.steps, *agenda.conditions) if each.name == short)
    evidence = evidence_of(entry)
    return f" ({evidence})" if evidence else ""


def created(work: Work, what: str) -> Told:
    """Say that a plan was written, with how much of what, and show it."""
    plan = work.plan
    counted = [
        f"{count} {kind}{'' if count == 1 else 's'}"
        for kind, count in (
            ("step", len(plan.steps)),
            ("precondition", len(plan.preconditions)),
            ("postcondition", len(plan.postconditions)),
        )
        if count
    ]
    listed = ", ".join(counted[:-1]) + (" and " if counted[1:] else "") + counted[-1]
    return shown(work, f"plan {what} with {listed}: `{work.file.shown}`")


def finished(decision: Decision | Silent, *, done: bool, dropped: str) -> Told:
    """Say what the gate decided; `done`: it accepted the plan before."""
    match decision:
        case Accept():
            text = f"Accepted: {decision.outcome}."
            for what, items in (
                ("Only claimed", decision.claimed),
                ("Only blocked", decision.blocked),
                ("Holds, and is not proved", decision.holds),
                ("Of the start", decision.preconditions),
            ):
                text += f"\n{what}: {'; '.join(items)}" if items else ""
            data: dict[str, Json] = {
                "accepted": True,
                "outcome": decision.outcome,
                "claimed": list(decision.claimed),
                "blocked": list(decision.blocked),
                "holds": list(decision.holds),
                "preconditions": list(decision.preconditions),
            }
            return Told(ok=True, text=text + dropped, data=data)
        case Reject() | Capped():
            refused: dict[str, Json] = {
                "accepted": False,
                "outcome": "incomplete" if isinstance(decision, Capped) else None,
                "missing": list(decision.missing),
            }
            return Told(ok=False, text=decision.message, data=refused)
        case Silent():
            silent: dict[str, Json] = {"accepted": done, "waiting": decision.reason}
            return Told(ok=done, text=decision.reason, data=silent)


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
