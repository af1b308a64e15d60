"""Where a plan is that an agent works on by itself: a fold of its events."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from planbound.engine.gate.approval import is_noticed
from planbound.engine.judging.proof import Before, Look, why_held
from planbound.engine.loop.item import Dropped, Item, Standing
from planbound.engine.loop.owner import TOOLS, Owner
from planbound.engine.loop.past import Kept, Moment, Past, Said
from planbound.engine.loop.start import start_claimed, start_judged
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record

__all__ = ["INCOMPLETE", "RELEASED", "Dropped", "Item", "LoopState", "Standing"]
INCOMPLETE, RELEASED = "incomplete", "released"
"""How a session may end besides being done."""


_RESULTS = {"claimed": Standing.CLAIMED, "holds": Standing.HOLDS}
"""How a step may be completed besides being proved."""
_DECIDED = frozenset({Standing.BLOCKED, Standing.WAIVED, Standing.ATTESTED})
"""What a contract that fails does not change: somebody said why."""


class LoopState:
    """What has become of one plan in the loop."""

    def __init__(self) -> None:
        self.steps: dict[str, Item] = {}
        self.conditions: dict[str, Item] = {}
        self.preconditions: dict[str, Item] = {}
        self.dropped: list[Dropped] = []
        self.revision = 0
        self.digest: str | None = None
        """Of the text that the events are about."""
        self.text: str | None = None
        """Where that text is kept."""
        self.manifest: str | None = None
        """Where the tree is kept as it was before the work."""
        self.looks: dict[str, Before] = {}
        """By the id of a step, or as `postcondition 2`: how its contract was before the work."""
        self.probes: dict[str, Mapping[str, Json]] = {}
        """By the name of an item what the harness looks at itself."""
        self.origin: str | None = None
        self.session: str | None = None
        self.approved: str | None = None
        """The digest that a person approved, until the plan is another."""
        self.asked = False
        """Whether a person is asked to approve it."""
        self.rejected: str | None = None
        """Why a person said no."""
        self.refusals = 0
        """How often in a row the last word was refused, without progress."""
        self.all_refusals = 0
        self.refused_tree: str | None = None
        self.broken = 0
        """How often in a row the gate itself could not tell."""
        self.outcome: str | None = None
        """How it ended: accepted, capped, released."""
        self.before: str | None = None
        """The digest before the last rewrite."""
        self.rewritten = 0
        """The number of the event by which the tools rewrote it, where that was the last change."""
        self.owner = Owner()
        self.was_changed = False
        """Whether a plan of people was changed by unknown hands since its approval."""
        self.ended_by = ""
        """Who ended it, and why, where a person did."""
        self.seq = 0
        self._colours: dict[str, tuple[Look, Json, Json]] = {}
        """What contracts said at the gate, of which plan, and where that tree is kept."""
        self._sanctioned: str | None = None
        """The digest that a person approved last, and did not take back."""
        self._reached: set[tuple[str, Standing]] = set()
        """Where each item has been already: to be there again is no progress."""
        self._meanings: set[str | None] = set()
        """What the plan has meant already."""
        self._past = Past()

    @property
    def by_people(self) -> bool:
        """Whether people had a hand in it: it needs their approval, where their plans do."""
        return self.owner.people

    @property
    def owes_yes(self) -> bool:
        """Whether a person was asked, or said no, and nobody said yes since."""
        return self.owner.owes_yes

    @property
    def is_open(self) -> bool:
        """Whether an agent still owes something."""
        return self.revision > 0 and self.outcome is None

    @property
    def is_owed(self) -> bool:
        """Whether it is owed even where its file is gone: the text is known."""
        return self.outcome is None and self.text is not None

    @property
    def is_known(self) -> bool:
        """Whether an agent in the loop has, or may have, anything to do with it."""
        begun = self.steps or self.conditions or self.all_refusals
        return bool(self.text is not None or begun or self.approved is not None)

    def apply_all(self, records: Iterable[Record]) -> None:
        """Take in events, in their order."""
        for record in records:
            self.seq = record.seq
            if record.draft.provenance is Provenance.LIVE:
                handler = _HANDLERS.get(record.draft.event)
                if handler is not None:
                    handler(self, record)
                ended = self.outcome not in {None, INCOMPLETE}
                known = (self.digest, self.before)
                self.owner = self.owner.after(record, ended=ended, known=known)

    # -- the plan ------------------------------------------------------------------------------

    def _created(self, record: Record) -> None:
        seq, owner = self.seq, self.owner
        self.__init__()  # type: ignore[misc]  # another plan by the same name
        self.seq, self.owner = seq, owner
        details = record.draft.details
        self.revision = 1
        self.digest, self.text = _text(details.get("digest")), _text(details.get("text"))
        self.origin, self.session = _text(details.get("origin")), _text(details.get("session"))
        self.manifest = _text(details.get("manifest"))
        self._meanings = {self.digest}
        self._probes(details)

    def _rewritten(self, record: Record) -> None:
        details = record.draft.details
        noticed = is_noticed(record.draft.event, details)
        past, moment = self._past, self._moment()
        self._past = Past()
        kept, before = set(_texts(details.get("kept"))), self.steps
        revision = None if noticed else details.get("revision")
        self.revision = revision if isinstance(revision, int) else max(1, self.revision)
        # Only what the tools write comes after its record; any other text was in the file first.
        by_tools = "session" in details and not noticed
        self.before, self.rewritten = self.digest, record.seq if by_tools else 0
        self.digest, self.text = _text(details.get("to")), _text(details.get("text"))
        # The very text that a person approved is approved wherever it comes back.
        self.approved = self.digest if self.digest == self._sanctioned else None
        by_hand = self.origin != TOOLS and "session" in details and self._sanctioned is not None
        self.was_changed = by_hand and self.approved is None
        self.asked, self.rejected = False, None
        self._probes(details)
        dropped = details.get("dropped")
        for name, title in dropped.items() if isinstance(dropped, dict) else ():
            known = before.get(name) or self.preconditions.get(name.rpartition(" ")[2])
            standing = (known or Item()).standing.value
            self.dropped.append(Dropped(name, str(title), standing, self.revision))
        self.steps = {
            name: item if name in kept else self._begun_anew(name, item)
            for name, item in before.items()
            if not isinstance(dropped, dict) or name not in dropped
        }
        held = set(_texts(details.get("kept_conditions")))
        self.conditions = {name: item for name, item in self.conditions.items() if name in held}
        same = kept | {f"postcondition {number}" for number in held}
        start = set(_texts(details.get("kept_preconditions")))
        self.preconditions = {
            name: item for name, item in self.preconditions.items() if name in start
        }
        same |= {f"precondition {number}" for number in start}
        self.looks = {name: look for name, look in self.looks.items() if name in same}
        if self.digest not in self._meanings:
            self._meanings.add(self.digest)
            self._progressed()
        else:
            self._go_on()
        if noticed:
            self._past = past
            back = past.swap((self.before, self.digest), moment, Kept(kept, held, start, same))
            if back is not None:
                self._bring_back(back)

    def _moment(self) -> Moment:
        said = Said(self.asked, self.rejected, self.outcome)
        known = (dict(self.steps), dict(self.conditions), dict(self.preconditions))
        return Moment(*known, dict(self.looks), tuple(self.dropped), dict(self.probes), said)

    def _bring_back(self, back: Moment) -> None:
        """Go on where the plan was before its file was changed: that is undone."""
        self.steps |= back.steps
        self.conditions |= back.conditions
        self.preconditions |= back.preconditions
        self.looks |= back.looks
        self.dropped, self.probes = list(back.dropped), dict(back.probes)
        self._reached |= {(name, item.standing) for name, item in back.steps.items()}
        if back.said is not None:
            self.asked, self.rejected, self.outcome = back.said

    def _begun_anew(self, name: str, item: Item) -> Item:
        """Return a step that means something else now: what was said stays, nothing is shown."""
        self._reached = {each for each in self._reached if each[0] != name}
        return Item(evidence=item.evidence, notes=item.notes, attempts=item.attempts)

    def _probes(self, details: Mapping[str, Json]) -> None:
        found = details.get("probes")
        if isinstance(found, dict):
            self.probes = {name: each for name, each in found.items() if isinstance(each, dict)}

    def _asked(self, record: Record) -> None:
        self.asked = record.draft.details.get("answer") is None
        self._past.go_on()

    def _approved(self, record: Record) -> None:
        details = record.draft.details
        self.approved = self._sanctioned = _text(details.get("digest"))
        self._past = Past()
        self.asked, self.rejected, self.was_changed = False, None, False
        frozen = None
        for name, (look, plan, tree) in self._colours.items():
            if plan == self.approved:
                frozen = _text(tree)
                self.looks[name] = self.looks.get(name, Before())._replace(approval=look)
        self._colours = {}
        if self.origin != TOOLS:
            # What people write is watched from its approval on.
            self.digest, self.text = self.approved, _text(details.get("text"))
            self.manifest = frozen
        self._progressed()

    def _rejected_by(self, record: Record) -> None:
        self.approved, self.asked, self._sanctioned = None, False, None
        self.rejected = _text(record.draft.details.get("reason")) or "nobody said why"
        self._past.go_on()

    def _looked(self, record: Record) -> None:
        """Remember how a contract was before the work: the first look counts."""
        details, name = record.draft.details, _name(record)
        look = _look(details)
        if "baseline" in details:
            self._colours[name] = (look, details.get("plan_digest"), details.get("manifest"))
            return
        before = self.looks.get(name, Before())
        self.looks[name] = before._replace(attempt=before.attempt or look)

    # -- steps and conditions ------------------------------------------------------------------

    def _started(self, record: Record) -> None:
        name, item = self._step(record)
        self._reach(name, Standing.IN_PROGRESS)
        attempts = item.attempts + 1
        self.steps[name] = item._replace(
            standing=Standing.IN_PROGRESS, attempts=attempts, notes=_notes(record, item)
        )

    def _completed(self, record: Record) -> None:
        name, item = self._step(record)
        details = record.draft.details
        standing = _RESULTS.get(str(details.get("result")), Standing.PROVED)
        self.steps[name] = item._replace(
            standing=standing,
            evidence=_text(details.get("evidence")) or item.evidence,
            notes=_notes(record, item),
            reason=str(details.get("reason") or "") if standing is Standing.HOLDS else "",
            output="",
            tree=_text(details.get("tree")) or item.tree,
            regressed=False,
        )
        self._reach(name, self.steps[name].standing)

    def _blocked(self, record: Record) -> None:
        name, item = self._step(record)
        details = record.draft.details
        self.steps[name] = item._replace(
            standing=Standing.BLOCKED, reason=str(details.get("reason")), notes=_notes(record, item)
        )
        self._reach(name, Standing.BLOCKED)

    def _reopened(self, record: Record) -> None:
        name, item = self._step(record)
        self.steps[name] = item._replace(
            standing=Standing.PENDING,
            tree=None,
            passed=None,
            regressed=False,
            reason=_text(record.draft.details.get("reason")) or "",
            notes=_notes(record, item),
        )
        self._go_on()

    def _evaluated(self, record: Record) -> None:
        """Remember what a contract found; a pass proves a postcondition, a step it does not yet."""
        details = record.draft.details
        subject, passed = details.get("subject"), details.get("verdict") == "pass"
        reason = "" if passed else str(details.get("reason") or details.get("verdict"))
        output = "" if passed else str(details.get("output_tail") or "")
        tree = _text(details.get("tree"))
        if subject == "precondition":
            self._start(record, start_judged)
        if not passed and self.looks.get(_name(record), Before()) == Before():
            self.looks[_name(record)] = Before(_look(details))  # the first time anybody looked
        if subject == "postcondition":
            number = str(details.get("number"))
            item = self.conditions.get(number, Item())
            item = _seen(item, record)._replace(tree=tree, passed=passed, output=output)
            if passed and not item.standing.is_by_person:
                holds = details.get("result") == "holds"
                standing = Standing.HOLDS if holds else Standing.PROVED
                why = why_held(details.get("baseline")) if holds else ""
                item = item._replace(standing=standing, reason=why, regressed=False)
                self._reach(f"postcondition {number}", standing)
            elif item.standing not in _DECIDED:
                regressed = item.regressed or item.standing.is_green
                item = item._replace(standing=Standing.PENDING, reason=reason, regressed=regressed)
            self.conditions[number] = item
        elif record.draft.task_id is not None and subject == "step":
            name, item = self._step(record)
            item = _seen(item, record)._replace(tree=tree, passed=passed, output=output)
            if item.standing not in _DECIDED and not (passed and item.standing.is_green):
                item = item._replace(reason=reason)
            if item.standing.is_green and not passed:
                item = item._replace(standing=Standing.IN_PROGRESS, regressed=True)
            self.steps[name] = item

    def _start(
        self,
        record: Record,
        become: Callable[[Item, Mapping[str, Json], Before], Item],
    ) -> None:
        details = record.draft.details
        number = str(details.get("number"))
        name, item = f"precondition {number}", self.preconditions.get(number, Item())
        found = become(item, details, self.looks.get(name, Before()))
        if found.passed and found != item:
            found = _seen(found, record)
        self.preconditions[number] = found
        if found.standing is not item.standing:
            self._reach(name, found.standing)

    def _claimed_start(self, record: Record) -> None:
        self._start(record, start_claimed)

    def _condition(self, standing: Standing) -> Callable[[Record], None]:
        def apply(record: Record) -> None:
            details = record.draft.details
            number = str(details.get("number"))
            item = self.conditions.get(number, Item())
            self.conditions[number] = item._replace(
                standing=standing,
                evidence=_text(details.get("evidence")) or item.evidence,
                reason=_text(details.get("reason")) or "",
                output="",
                regressed=False,
            )
            self._reach(f"postcondition {number}", standing)

        return apply

    def _claimed_condition(self, record: Record) -> None:
        self._condition(Standing.CLAIMED)(record)

    def _blocked_condition(self, record: Record) -> None:
        self._condition(Standing.BLOCKED)(record)

    def _settled_by_person(self, record: Record) -> None:
        details = record.draft.details
        attested = record.draft.event is EventKind.ATTESTED
        standing = Standing.ATTESTED if attested else Standing.WAIVED
        item = Item(standing, reason=f"{standing.value} by {details.get('by')}")
        if record.draft.task_id is not None:
            self.steps[record.draft.task_id] = item
        elif details.get("subject") == "postcondition":
            self.conditions[str(details.get("number"))] = item
        elif details.get("subject") == "precondition":
            self.preconditions[str(details.get("number"))] = item
        self._progressed()

    # -- the last word -------------------------------------------------------------------------

    def _refused(self, record: Record) -> None:
        details = record.draft.details
        if details.get("broken"):
            self.broken += 1
            return
        tree = _text(details.get("tree"))
        self.refusals = self.refusals + 1 if tree == self.refused_tree else 1
        self.all_refusals += 1
        self.refused_tree, self.broken = tree, 0

    def _accepted(self, record: Record) -> None:
        self.outcome = _text(record.draft.details.get("outcome")) or "done"
        self._past.go_on()

    def _capped(self, record: Record) -> None:
        del record
        self.outcome = INCOMPLETE
        self._past.go_on()

    def _released(self, record: Record) -> None:
        details = record.draft.details
        self.outcome = RELEASED
        self._past.go_on()
        self.ended_by = f"by {details.get('by')}: {details.get('reason') or 'no reason'}"

    def _reach(self, name: str, standing: Standing) -> None:
        """Note where an item is: the first time there is progress, there and back is none."""
        if (name, standing) in self._reached:
            self._go_on()
        else:
            self._reached.add((name, standing))
            self._progressed()

    def _progressed(self) -> None:
        self.refusals, self.broken, self.refused_tree = 0, 0, None
        self._go_on()

    def _go_on(self) -> None:
        """Note that what goes on after its end is not at its end, unless a person said so."""
        if self.outcome != RELEASED:
            self.outcome = None
        self._past.go_on()

    def _step(self, record: Record) -> tuple[str, Item]:
        name = record.draft.task_id or ""
        return name, self.steps.get(name, Item())


_HANDLERS: Mapping[EventKind, Callable[[LoopState, Record], None]] = {
    EventKind.PLAN_CREATED: LoopState._created,  # noqa: SLF001 - its own
    EventKind.PLAN_REWRITTEN: LoopState._rewritten,  # noqa: SLF001
    EventKind.PLAN_AMENDED: LoopState._rewritten,  # noqa: SLF001
    EventKind.GATE_APPROVAL_REQUESTED: LoopState._asked,  # noqa: SLF001
    EventKind.GATE_CLARIFICATION_ASKED: LoopState._asked,  # noqa: SLF001
    EventKind.GATE_APPROVED: LoopState._approved,  # noqa: SLF001
    EventKind.GATE_REJECTED: LoopState._rejected_by,  # noqa: SLF001
    EventKind.BASELINE_OBSERVED: LoopState._looked,  # noqa: SLF001
    EventKind.TASK_STARTED: LoopState._started,  # noqa: SLF001
    EventKind.TASK_COMPLETED: LoopState._completed,  # noqa: SLF001
    EventKind.TASK_BLOCKED: LoopState._blocked,  # noqa: SLF001
    EventKind.TASK_REOPENED: LoopState._reopened,  # noqa: SLF001
    EventKind.CONTRACT_EVALUATED: LoopState._evaluated,  # noqa: SLF001
    EventKind.PRECONDITION_CLAIMED: LoopState._claimed_start,  # noqa: SLF001
    EventKind.POSTCONDITION_CLAIMED: LoopState._claimed_condition,  # noqa: SLF001
    EventKind.POSTCONDITION_BLOCKED: LoopState._blocked_condition,  # noqa: SLF001
    EventKind.WAIVED: LoopState._settled_by_person,  # noqa: SLF001
    EventKind.ATTESTED: LoopState._settled_by_person,  # noqa: SLF001
    EventKind.FINALIZATION_REJECTED: LoopState._refused,  # noqa: SLF001
    EventKind.FINALIZATION_ACCEPTED: LoopState._accepted,  # noqa: SLF001
    EventKind.FINALIZATION_CAPPED: LoopState._capped,  # noqa: SLF001
    EventKind.SESSION_RELEASED: LoopState._released,  # noqa: SLF001
}


def _name(record: Record) -> str:
    """Return how `looks` calls what an event is about."""
    details = record.draft.details
    return record.draft.task_id or f"{details.get('subject')} {details.get('number')}"


def _seen(item: Item, record: Record) -> Item:
    """Return an item with what a contract said that passed, and when."""
    details = record.draft.details
    if details.get("verdict") != "pass":
        return item
    return item._replace(saw=str(details.get("reason") or ""), at=record.draft.timestamp)


def _look(details: Mapping[str, Json]) -> Look:
    tree, contract = _text(details.get("tree")), _text(details.get("contract"))
    return Look(str(details.get("verdict")), tree or "", contract or "")


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _notes(record: Record, item: Item) -> str:
    return _text(record.draft.details.get("notes")) or item.notes
