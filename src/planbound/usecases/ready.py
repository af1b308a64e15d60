"""Ready: which plans may begin now, and which of them side by side."""

from __future__ import annotations

from planbound.engine.configuration import Require
from planbound.engine.readiness import Readiness, readiness
from planbound.ports.files import Files, Workspace
from planbound.usecases.overview import OpenJournal, overview, plan_infos


def ready(
    workspace: Workspace,
    files: Files,
    open_journal: OpenJournal,
    require: Require = Require.CLAIMED,
) -> Readiness:
    """Return what is ready; the warnings also tell what could not be found out."""
    seen = overview(workspace, files, open_journal)
    warnings = list(seen.warnings)
    found = readiness(plan_infos(seen, warnings, require))
    return found._replace(warnings=(*warnings, *found.warnings))
