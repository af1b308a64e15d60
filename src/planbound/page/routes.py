"""Every address of the page: each module has its own list."""

from __future__ import annotations

from planbound.page import (
    cancel,
    costs,
    edit,
    evidence,
    gate,
    inbox,
    journal,
    link,
    plan,
    plans,
    review,
    run,
    sheet,
    team,
)
from planbound.page.visit import Beside, PageRoute

MODULES = (
    plans,
    plan,
    sheet,
    run,
    evidence,
    journal,
    costs,
    inbox,
    gate,
    review,
    edit,
    cancel,
    link,
    team,
)

ROUTES: tuple[PageRoute, ...] = tuple(route for module in MODULES for route in module.ROUTES)

PLACES = ("plan", "sheet", "run")
"""Where a module may put something on the page of a plan, by its `BESIDE`: at the top of
`/plan/X`, below the gate's sheet, at the top of `/plan/X/run`."""

BESIDE: dict[str, tuple[Beside, ...]] = {
    place: tuple(
        module.BESIDE[place] for module in MODULES if place in getattr(module, "BESIDE", {})
    )
    for place in PLACES
}
