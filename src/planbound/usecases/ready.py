"""Ready: which plans may begin now, and which of them side by side."""

from __future__ import annotations

from planbound.engine.configuration import Require
from planbound.engine.readiness import Readiness, readiness
from planbound.usecases.overview import Overview, plan_infos


def ready(seen: Overview, require: Require = Require.CLAIMED) -> Readiness:
    """Return what is ready; the warnings also tell what could not be found out."""
    warnings = list(seen.warnings)
    found = readiness(plan_infos(seen, warnings, require))
    return found._replace(warnings=(*warnings, *found.warnings))
