"""Put what happened into the journal, without its secrets."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from msgspec import Struct

from planbound.errors import JournalProblem, Stale
from planbound.journal.event import (
    EVENTS,
    EXTRA_PREFIX,
    Event,
    EventKind,
    PlanCreated,
    PlanVerified,
    RecoveryOutcome,
    details_of,
    digest_of,
    kind_of,
)
from planbound.journal.record import (
    Details,
    Draft,
    Journal,
    Json,
    Provenance,
    Query,
    Record,
)
from planbound.plan.digest import digest
from planbound.plan.model import Plan, PlanStatus
from planbound.source import storable, storable_json
from planbound.state.plan import fold, plan_status
from planbound.state.run_facts import ended

if TYPE_CHECKING:
    from planbound.journal.redact import Redactor
    from planbound.state.run_facts import Recovery


BY_HAND = "file"
"""The origin of plans that somebody wrote by hand."""
_TRIES = 20


class Shape(Struct, frozen=True):
    """What is known of a plan's steps."""

    task_count: int
    dependencies: dict[str, tuple[str, ...]]
    """For each step's id the ids that it depends on."""


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
        event: Event,
        plan: str,
        *,
        key: str | None = None,
        task: tuple[str, str] | None = None,
        extras: Mapping[str, Json] | None = None,
    ) -> Draft:
        """Return an event that is to be appended, without its secrets.

        `task` is the id and the title of the step that it is about; `extras` are somebody's own
        details, which begin with `x_`.
        """
        kind = kind_of(event)
        for name in extras or ():
            if not name.startswith(EXTRA_PREFIX):
                raise ValueError(
                    f"`{name}` is not a detail of `{kind.value}`;"
                    f" one of your own begins with `{EXTRA_PREFIX}`"
                )
        # A file may be called by any bytes, and events, reasons and titles name it.
        told = cast("dict[str, Json]", storable_json({**details_of(event), **(extras or {})}))
        cleaned = self.redactor.redact_details(kind, told)
        title, in_title = self.redactor.redact(storable(task[1])) if task else (None, 0)
        now = self.now()
        return Draft(
            id=_identity(plan, kind, key if key is not None else now),
            timestamp=now,
            kind=kind,
            plan=plan,
            task_id=task[0] if task else None,
            task_name=title,
            details=_readable(kind, cleaned.details),
            provenance=self.provenance,
            redactions=cleaned.redactions + in_title,
        )

    def record(
        self,
        event: Event,
        plan: str,
        *,
        key: str | None = None,
        task: tuple[str, str] | None = None,
    ) -> Record:
        """Append one event; the same `key` is appended once only."""
        return self.journal.append([self.draft(event, plan, key=key, task=task)])[0]

    def created(self, slug: str, plan: Plan, *, path: str, origin: str) -> Record:
        """Note that a plan was written for the first time."""
        event = self._created(plan, path=path, origin=origin)
        last = self._last(slug)
        if last is not None and _is_first_look(last, event.digest):
            return last  # somebody saw the file before this was said
        return self.record(event, slug)

    def _created(self, plan: Plan, *, path: str, origin: str) -> PlanCreated:
        shape = self.shape(plan)
        return PlanCreated(
            task_count=shape.task_count,
            dependencies=shape.dependencies,
            digest=digest(plan),
            revision=1,
            path=path,
            origin=origin,
        )

    def first_seen(self, slug: str, plan: Plan, *, path: str) -> bool:
        """Note a plan that somebody wrote by hand, once; say whether that was done now.

        Any event about the plan says that it was seen; where the last one is that it was put
        away, this is another plan by the same name.
        """
        event = self._created(plan, path=path, origin=BY_HAND)
        for _ in range(_TRIES):
            head = self.journal.head()
            last = self._last(slug)
            if last is not None and last.kind is not EventKind.PLAN_ARCHIVED:
                return False
            draft = self.draft(event, slug)
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
            record.kind is EventKind.PLAN_VERIFIED and digest_of(record.event) == found
            for record in records
        )
        if plan_status(state, found) is not PlanStatus.DRAFT:
            return
        # Again after it was sent back: two who look at once put it on record once.
        key = found if not known or state is None else f"{found} {state.seq}"
        shape = self.shape(plan)
        event = PlanVerified(
            task_count=shape.task_count,
            dependencies=shape.dependencies,
            digest=found,
            path=path,
            errors=0,
            warnings=warnings,
        )
        self.record(event, slug, key=key)

    def with_outcomes(
        self, plan: str, pending: Mapping[str, Recovery], drafts: Sequence[Draft]
    ) -> list[Draft]:
        """Return events with what they say about recoveries, each of which is told once."""
        found = list(drafts)
        if not pending:
            return found
        for recovery, outcome, place in sorted(
            ended(pending, drafts), key=lambda each: each.place, reverse=True
        ):
            event = RecoveryOutcome(
                recovery=recovery.id,
                outcome=outcome,
                recipe_name=recovery.recipe,
                number=recovery.number,
                run=recovery.run,
                attempt=recovery.attempt,
            )
            found.insert(place, self.draft(event, plan, key=recovery.id, task=recovery.task))
        return found

    def step_ids(self, plan: Plan) -> dict[str, str]:
        """Return by label how the journal calls the steps."""
        if not self.redactor.may_hide(step.title for step in plan.steps):
            return {step.label: step.id for step in reversed(plan.steps)}
        return {
            step.label: self.step_id(step.id, step.label, step.title)
            for step in reversed(plan.steps)
        }

    def step_id(self, own: str, label: str, title: str) -> str:
        """Return how the journal calls a step: by its own id, unless that tells a secret."""
        # An id is made of the title's words: where these hold a secret, so does the id.
        return f"step-{label}" if self.redactor.redact(title).redactions else own

    def shape(self, plan: Plan) -> Shape:
        """Return how many steps a plan has, and what each depends on."""
        ids = self.step_ids(plan)
        dependencies = {
            ids[step.label]: tuple(ids[label] for label in labels if label in ids)
            for step, labels in zip(plan.steps, plan.dependencies(), strict=True)
        }
        return Shape(len(plan.steps), dependencies)


def _readable(kind: EventKind, values: Mapping[str, Json]) -> Details:
    """Return details as they are written; raise ValueError where nobody could read them again."""
    details = Details.of(values)
    try:
        details.event(kind, EVENTS[kind].VERSION)
    except JournalProblem as error:
        raise ValueError(error.message) from error
    return details


def _is_first_look(record: Record, digest: str | None) -> bool:
    event = record.event
    return isinstance(event, PlanCreated) and (event.origin, event.digest) == (BY_HAND, digest)


def _identity(plan: str, kind: EventKind, key: str) -> str:
    text = f"{plan}\0{kind.value}\0{key}"
    return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:32]
