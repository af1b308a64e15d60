"""What judges a step is what was approved, whatever earlier steps have made of it."""

from __future__ import annotations

from functools import partial

from planbound.engine.judging.case import Case, plan_scope
from planbound.engine.judging.scope import covers
from planbound.engine.manifest import Manifest, manifest_of
from planbound.usecases.frozen_judges import judges_of, read_frozen
from planbound.usecases.run.session import Session


def with_approved_judges(session: Session, case: Case, manifest: Manifest) -> Manifest:
    """Return a tree in which the judges of a contract are as they were approved.

    A step that is compared with it finds a judge changed that an earlier one has changed. What some
    step of the plan may change is taken as it is.
    """
    approved = session.approved
    if approved is None or approved.manifest.digest == manifest.digest:
        return manifest
    read = partial(read_frozen, approved.manifest, session.bench.vault)
    scope = plan_scope(session.layout.plan)
    entries = dict(manifest.entries)
    for path in judges_of([case], approved.manifest, read).files:
        if not covers(scope, path):
            key = path.encode("utf-8", "surrogateescape")
            entries[key] = approved.manifest.entries[key]
    if entries == manifest.entries:
        return manifest
    return manifest_of(
        entries,
        truncated=manifest.truncated,
        tagged=manifest.tagged,
        left_out=manifest.left_out,
    )
