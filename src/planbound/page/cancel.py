"""The button on the page of a run that ends it."""

from __future__ import annotations

from planbound.journal.words import RunOutcome
from planbound.page.decide import ChangedMeanwhile, decision, find_plan, the_person, who_field
from planbound.page.forms import button, form, text_field
from planbound.page.nonce import ShownState, differences
from planbound.page.visit import GoTo, PageAnswer, PageRoute, Visit, address
from planbound.receipts.html import Content, element, served
from planbound.receipts.pieces import fold_away
from planbound.run.start import cancel_run
from planbound.state.plan import PlanState, known_plan


def _bound_to(state: PlanState) -> ShownState:
    """Return what the end of a run is bound to: this run, and that it goes on."""
    over = state.run.ended is not None
    return ShownState(plan=state.slug, question="" if over else state.run.run or "")


def _beside_run(visit: Visit, slug: str) -> Content:
    state = visit.board.states.get(slug)
    if state is None or not _bound_to(state).question or not visit.rights.decides:
        return None
    return fold_away(
        "Cancel this run",
        form(
            visit, address("plan", slug, "cancel"), _bound_to(state),
            element("p", "The agent at work is stopped; what was proved stays on record."),
            who_field(), text_field("reason", "Why", most=2000), button("Cancel the run"),
            label="Cancel this run",
        ),
    )  # fmt: skip


def cancel(visit: Visit) -> PageAnswer:
    """End a run; the agent at work is stopped."""
    file = find_plan(visit)
    state = known_plan(visit.context.existing_journal(), file.slug)
    if differences(visit.shown, _bound_to(state)):
        ended = state.run.ended
        how = ended.value if isinstance(ended, RunOutcome) else "another one goes on"
        raise ChangedMeanwhile(
            "That run is not under way any more: nothing was done",
            element("p", f"How it is now: {how}."),
            element("p", served("a", "The run", href=address("plan", file.slug, "run"))),
        )
    data = visit.context.reader.read(file.path)
    reason = visit.form.get("reason", "").strip()
    cancel_run(visit.context, file, data, the_person(visit), reason)
    return GoTo(address("plan", file.slug, "run"))


ROUTES = [PageRoute("POST", "/plan/{plan}/cancel", decision(cancel))]
BESIDE = {"run": _beside_run}
