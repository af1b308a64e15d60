"""Put what happened into the journal, without its secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from planbound.engine.fold import fold, plan_status
from planbound.errors import Stale
from planbound.journal.event import EventKind, validate
from planbound.journal.record import Draft, Json, Provenance, Record
from planbound.journal.redact import Redactor
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.ports.journal import Journal, Query

if TYPE_CHECKING:
    from planbound.engine.recovery.outcome import Recovery


BY_HAND = "file"
"""The origin of plans that somebody wrote by hand."""
_TRIES = 20


class Recorder:
    """Appends events of one project."""

    def __init__(
        self,
        journal: Journal,
        *,
        redactor: Redactor,
        now: Callable[[], str],
        provenance: Provenance = Provenance.LIVE,
    ) -> None:
        self.journal = journal
        self.redactor = redactor
        self.now = now
        self.provenance = provenance

    def draft(
        self,
        kind: EventKind,
        plan: str,
        details: Mapping[str, Json],
        *,
        key: str | None = None,
        task: tuple[str, str] | None = None,
    ) -> Draft:
        """Return an event that is to be appended, without its secrets.

        `task` is the id and the title of the step that it is about.
        """
        problems = validate(kind, details)
        if problems:
            raise ValueError("; ".join(problems))
        cleaned = self.redactor.redact_details(kind, details)
        name, in_name = self.redactor.redact(task[1]) if task else (None, 0)
        now = self.now()
        return Draft(
            id=_identity(plan, kind, key if key is not None else now),
            timestamp=now,
            event=kind,
            plan=plan,
            task_id=task[0] if task else None,
            task_name=name,
            details=cleaned.details,
            provenance=self.provenance,
            redactions=cleaned.redactions + in_name,
        )

    def record(
        self,
        kind: EventKind,
        plan: str,
        details: Mapping[str, Json],
        *,
        key: str | None = None,
        task: tuple[str, str] | None = None,
    ) -> Record:
        """Append one event; the same `key` is appended once only."""
        return self.journal.append([self.draft(kind, plan, details, key=key, task=task)])[0]

    def created(self, slug: str, plan: Plan, *, path: str, origin: str) -> Record:
        """Note that a plan was written for the first time."""
        details: dict[str, Json] = {
            **self.shape(plan),
            "digest": digest(plan),
            "revision": 1,
            "path": path,
            "origin": origin,
        }
        last = self._last(slug)
        if last is not None and _is_first_look(last, details["digest"]):
            return last  # somebody saw the file before this was said
        return self.record(EventKind.PLAN_CREATED, slug, details)

    def first_seen(self, slug: str, plan: Plan, *, path: str) -> bool:
        """Note a plan that somebody wrote by hand, once; say whether that was done now.

        Any event about the plan says that it was seen; where the last one is that it was put
        away, this is another plan by the same name.
        """
        details: dict[str, Json] = {
            **self.shape(plan),
            "digest": digest(plan),
            "revision": 1,
            "path": path,
            "origin": BY_HAND,
        }
        for _ in range(_TRIES):
            head = self.journal.head()
            last = self._last(slug)
            if last is not None and last.draft.event is not EventKind.PLAN_ARCHIVED:
                return False
            draft = self.draft(EventKind.PLAN_CREATED, slug, details)
            try:
                self.journal.append([draft], expected=head)
            except Stale:
                continue  # it may have been about this very plan
            return True
        return False

    def _last(self, slug: str) -> Record | None:
        return next(iter(self.journal.read(Query(plan=slug, last=1))), None)

    def verified(self, slug: str, plan: Plan, *, path: str, warnings: int) -> None:
        """Note that a plan was verified, where that makes more of it than a draft."""
        found = digest(plan)
        records = list(self.journal.read(Query(plan=slug)))
        state = fold(records).get(slug)
        known = any(
            record.draft.event is EventKind.PLAN_VERIFIED
            and record.draft.details.get("digest") == found
            for record in records
        )
        if plan_status(state, found) is not PlanStatus.DRAFT:
            return
        # Again after it was sent back: two who look at once put it on record once.
        key = found if not known or state is None else f"{found} {state.seq}"
        details: dict[str, Json] = {
            **self.shape(plan),
            "digest": found,
            "path": path,
            "errors": 0,
            "warnings": warnings,
        }
        self.record(EventKind.PLAN_VERIFIED, slug, details, key=key)

    def with_outcomes(
        self, plan: str, pending: Mapping[str, Recovery], drafts: Sequence[Draft]
    ) -> list[Draft]:
        """Return events with what they say about recoveries, each of which is told once."""
        found = list(drafts)
        if not pending:
            return found
        from planbound.engine.recovery.outcome import ended  # noqa: PLC0415 - start-up

        for recovery, outcome, place in sorted(
            ended(pending, drafts), key=lambda each: each.place, reverse=True
        ):
            details: dict[str, Json] = {
                "recovery": recovery.id,
                "outcome": outcome.value,
                "recipe_name": recovery.recipe,
                "number": recovery.number,
                "run": recovery.run,
            }
            if recovery.attempt is not None:
                details["attempt"] = recovery.attempt
            kind = EventKind.RECOVERY_OUTCOME
            draft = self.draft(kind, plan, details, key=recovery.id, task=recovery.task)
            found.insert(place, draft)
        return found

    def moved(
        self, kind: EventKind, slug: str, plan: Plan, *, path: str, status: str | None = None
    ) -> Record:
        """Note that a plan was staged, activated or archived."""
        details: dict[str, Json] = {"digest": digest(plan), "path": path}
        if status is not None:
            details["status"] = status
        return self.record(kind, slug, details)

    def step_ids(self, plan: Plan) -> dict[str, str]:
        """Return by label how the journal calls the steps."""
        return {
            step.label: self.step_id(step.id, step.label, step.title)
            for step in reversed(plan.steps)
        }

    def step_id(self, own: str, label: str, title: str) -> str:
        """Return how the journal calls a step: by its own id, unless that tells a secret."""
        # An id is made of the title's words: where these hold a secret, so does the id.
        return f"step-{label}" if self.redactor.redact(title).redactions else own

    def shape(self, plan: Plan) -> dict[str, Json]:
        """Return how many steps a plan has, and what each depends on."""
        ids = self.step_ids(plan)
        dependencies: dict[str, Json] = {
            ids[step.label]: [ids[label] for label in labels if label in ids]
            for step, labels in zip(plan.steps, plan.dependencies(), strict=True)
        }
        return {"task_count": len(plan.steps), "dependencies": dependencies}


def _is_first_look(record: Record, digest: Json) -> bool:
    details = record.draft.details
    created = record.draft.event is EventKind.PLAN_CREATED and details.get("origin") == BY_HAND
    return created and details.get("digest") == digest


def _identity(plan: str, kind: EventKind, key: str) -> str:
    text = f"{plan}\0{kind.value}\0{key}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
