"""Every address of the page: each module has its own list."""

from __future__ import annotations

from planbound.page import plans
from planbound.page.visit import PageRoute

MODULES = (plans,)

ROUTES: tuple[PageRoute, ...] = tuple(route for module in MODULES for route in module.ROUTES)
