"""Where a run is: the fold of what the journal says about one plan."""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple

from planbound.engine.gate.approval import Approval, approval_of, is_noticed, takes_back
from planbound.engine.judging.proof import Look
from planbound.engine.recovery.failure import FailureClass
from planbound.engine.recovery.outcome import Recovery, recovery_of
from planbound.engine.run.layout import Layout, Slot, needed_by
from planbound.engine.run.question import Question, QuestionKind, question_of
from planbound.engine.run.step_state import (
    CUT_OFF,
    Feedback,
    Phase,
    Raised,
    Spent,
    StepState,
    Told,
    Use,
    decimal_of,
    raised_limits,
    used_in,
)
from planbound.journal.event import EventKind
from planbound.journal.record import Json, Provenance, Record
from planbound.journal.redact import was_redacted

BLOCKED_RULE = "agent-blocked"
"""The rule that says that an agent calls itself blocked."""
_REMEMBERED = 50
"""So many of the last attempts of a role say what the next one is likely to use."""
_RESULTS = {"holds": Phase.HOLDS, "attested": Phase.ATTESTED}
"""How a step may be completed besides being proved."""
_BY_PEOPLE = frozenset({"waived", "attested"})
_NO_WORK = frozenset(
    {
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_CANCELLED,
        EventKind.WAIVED,
        EventKind.ATTESTED,
    }
)
"""Events that do not show that somebody was at work until then."""
_TELLING = frozenset(
    {
        EventKind.RECOVERY_OUTCOME,
        EventKind.RECOVERY_ESCALATION,
        EventKind.TASK_COMPLETED,
        EventKind.TASK_FAILED,
        EventKind.TASK_SKIPPED,
        EventKind.WAIVED,
        EventKind.ATTESTED,
    }
)
"""Events about a step after which it is known what came of its recovery."""


class Amended(NamedTuple):
    """A revision that waits for its approval."""

    kept: tuple[str, ...]
    """The steps that stay settled, if exactly this revision is approved."""
    digest: str | None


class RunState:
    """Everything that is decided from; changed by `apply` alone."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.seq = 0
        self.plan_seq = 0
        self.revision = 1
        self.used: dict[str, str] = {}
        """By the nonce of each approval the run that has it."""
        self.uses: dict[str, deque[Use]] = {}
        """By role what its last attempts used, in earlier runs of the plan, too."""
        self.recovering: dict[str, Recovery] = {}
        """By step what was done about its last failure, until it is told what came of it."""
        self._begin_plan()

    def _begin_plan(self) -> None:
        self.approval: Approval | None = None
        self._colours: dict[str, tuple[Look, Json]] = {}
        """What the contracts said at the gate, and of which plan."""
        self._seen_red: dict[str, Look] = {}
        """What an amendment does not make unseen: of steps that are not settled yet."""
        self.amended: Amended | None = None
        self.tests: dict[str, str] = {}
        """Where the tests of each contract's last baseline are kept in the vault."""
        self.approved_tests: dict[str, str] = {}
        self._begin_run()

    def _begin_run(self, kept: Iterable[str] = ()) -> None:
        old = getattr(self, "steps", None)
        by_id = self.layout.by_id
        steps = [StepState() for _ in self.layout.slots]
        for name in kept:
            index = by_id.get(name)
            if index is not None and old is not None:
                steps[index] = old[index]
        self.steps = steps
        self.run: str | None = None
        self.begun_by: str | None = None
        """The version of planbound that began the run."""
        self.anyway: str | None = None
        """What it depends on and was not proved when somebody ran it all the same."""
        self.ended: str | None = None
        self.why_ended: str | None = None
        self.paused: str | None = None
        self.cancelled = False
        self.aborted: str | None = None
        self.revised = False
        self.preconditions: dict[str, str] = {}
        """By the number of a precondition what was found in this session."""
        self.conditions: dict[str, str] = {}
        """By the number of a postcondition what was found last, `waived` and `attested` too."""
        self.condition_looks: dict[str, Look] = {}
        """By the number of a postcondition what its contract said when the plan was approved."""
        self.condition_results: dict[str, str] = {}
        """By the number of a postcondition whether it is `proved` or `holds`."""
        self.condition_trees: dict[str, str] = {}
        """By the number of a postcondition the tree on which it was judged last."""
        self.answered: dict[str, str] = {}
        """Conditions that a person answers for, as `postcondition 2`: `waived` or `attested`."""
        self.regressed: set[int] = set()
        self.final: dict[int, str] = {}
        """By step the tree on which it was judged once more at the end."""
        self.questions: dict[str, Question] = {}
        self.spent = Spent()
        self.raised = Raised()
        self.recoveries = 0
        self.tree: str | None = None
        """The last tree that the harness saw, and where it is in the vault."""
        self.manifest: str | None = None
        self.earlier: dict[tuple[str, str], set[str]] = {}
        self._session: tuple[datetime, datetime] | None = None
        self._before_session = 0.0
        self._count()

    def _count(self) -> None:
        self.unsettled = sum(not step.phase.is_settled for step in self.steps)
        self.unmet = [
            sum(not self.steps[other].phase.is_settled for other in slot.depends)
            for slot in self.layout.slots
        ]
        self.open = [
            slot.place
            for slot in self.layout.slots
            if not self.unmet[slot.place] and not self.steps[slot.place].phase.is_settled
        ]
        """Sorted: unsettled steps whose dependencies are settled: what can be worked on at all."""

    # -- reading -------------------------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Whether a run has begun that has not come to its end."""
        return self.run is not None and self.ended is None

    def failed(self) -> Iterator[int]:
        """Yield the steps that failed for good."""
        return (index for index in self.open if self.steps[index].phase is Phase.FAILED)

    def count(self, phase: Phase) -> int:
        """Return how many steps are there."""
        return sum(step.phase is phase for step in self.steps)

    def left_out_with(self, index: int) -> tuple[Slot, ...]:
        """Return the steps that cannot be done where one is skipped: they declare to need it."""
        slots = self.layout.slots
        settled = {slot.label for slot in slots if self.steps[slot.place].phase.is_settled}
        held = needed_by(self.layout.plan, (slots[index].label,), settled)
        return tuple(slots[self.layout.by_name[step.label]] for step in held)

    # -- applying ------------------------------------------------------------------------------

    def apply_all(self, records: Iterable[Record]) -> None:
        """Add what happened, in its order."""
        for record in records:
            self.apply(record)

    def apply(self, record: Record) -> None:
        """Add one event of this plan."""
        self.seq, self.plan_seq = record.seq, record.plan_seq
        draft = record.draft
        if draft.provenance is not Provenance.LIVE:
            return
        if self._session is not None and self._waits():
            self._stand_still(draft.timestamp)
        if draft.event not in _NO_WORK:
            self._time(draft.timestamp, draft.details.get("run"))
        handler = _HANDLERS.get(draft.event)
        if handler is not None:
            handler(self, record)
        if self.recovering and draft.event in _TELLING:
            # Older journals do not say what came of a recovery, only what happened then.
            self.recovering.pop(draft.task_id or "", None)

    def _time(self, stamp: str, run: Json) -> None:
        if self._session is None or run is None or run != self.run or self.paused:
            return
        self._session = (self._session[0], _moment(stamp))

    def _waits(self) -> bool:
        """Say whether nothing is at work, and a person is asked."""
        return bool(self.questions) and not any(
            self.steps[index].phase is Phase.STARTED for index in self.open
        )

    def _stand_still(self, stamp: str) -> None:
        """Count nothing since the last event: waiting for a person is free."""
        assert self._session is not None
        begun, last = self._session
        now = max(last, _moment(stamp))
        self._session = (begun + (now - last), now)

    def session_seconds(self) -> float:
        """Return how long the run was at work, up to its last event."""
        if self._session is None:
            return self._before_session
        begun, last = self._session
        return self._before_session + max(0.0, (last - begun).total_seconds())

    def _step(self, record: Record) -> tuple[int, StepState] | None:
        index = self.layout.by_id.get(record.draft.task_id or "")
        return None if index is None else (index, self.steps[index])

    def _settle(self, index: int, phase: Phase) -> None:
        was = self.steps[index].phase
        self.steps[index].phase = phase
        if phase.is_settled == was.is_settled:
            return
        change = -1 if phase.is_settled else 1
        self.unsettled += change
        slot = self.layout.slots[index]
        for other in slot.dependents:
            self.unmet[other] += change
            self._open(other)
        self._open(index)

    def _open(self, index: int) -> None:
        place = bisect_left(self.open, index)
        is_open = place < len(self.open) and self.open[place] == index
        wanted = not self.unmet[index] and not self.steps[index].phase.is_settled
        if wanted and not is_open:
            self.open.insert(place, index)
        elif is_open and not wanted:
            del self.open[place]

    # -- the plan and its gate -----------------------------------------------------------------

    def _created(self, _record: Record) -> None:
        self.revision = 1
        self._begin_plan()

    def _rewritten(self, record: Record) -> None:
        # What was proved is not forgotten: the next approval may be that of an amendment.
        details = record.draft.details
        revision = details.get("revision")
        if isinstance(revision, int) and not is_noticed(record.draft.event, details):
            self.revision = revision
        if takes_back(details):
            self.approval = None

    def _amended(self, record: Record) -> None:
        details = record.draft.details
        kept = details.get("kept")
        revision = details.get("revision")
        if isinstance(revision, int):
            self.revision = revision
        names = tuple(str(name) for name in kept) if isinstance(kept, list) else ()
        self._seen_red = {
            slot.id: look
            for slot, step in zip(self.layout.slots, self.steps, strict=True)
            for look in (step.baseline, step.approved)
            if look is not None and look.is_red and not step.phase.is_settled
        }
        self.amended = Amended(names, _text(details.get("to")))
        self.approval = None
        self._begin_run(names)

    def _approved(self, record: Record) -> None:
        self.approval = approval_of(record.draft.details)
        amended, digest = self.amended, record.draft.details.get("digest")
        # What was changed once more since is another plan than the one that keeps its proofs.
        is_amended = amended is not None and amended.digest == digest
        self._begin_run(amended.kept if amended is not None and is_amended else ())
        self._approve_looks(digest, self._seen_red if is_amended else {})
        self.amended = None
        if self.approval is not None:
            for index in _skipped(self.layout, self.approval):
                self._settle(index, Phase.SKIPPED)

    def _approve_looks(self, digest: Json, seen_red: Mapping[str, Look]) -> None:
        """Remember what the contracts said when exactly this plan was approved."""
        for key, (look, plan) in self._colours.items():
            if plan != digest:
                continue  # a look at another text
            subject, _, number = key.partition(" ")
            if subject == "postcondition":
                self.condition_looks[number] = look
            slot = self.layout.find(number) if subject == "step" else None
            if slot is None or self.steps[slot.place].phase.is_settled:
                continue
            earlier = seen_red.get(slot.id)
            # The work on a step that is not settled began before the plan was amended.
            begun = earlier if earlier and earlier.contract == look.contract else None
            self.steps[slot.place].approved = look if look.is_red else begun or look
        self._colours, self._seen_red = {}, {}

    def _rejected(self, _record: Record) -> None:
        self.approval = None

    def _baseline(self, record: Record) -> None:
        details = record.draft.details
        self._remember(record)
        self._remember_tests(details)
        look = _look(details)
        if "baseline" in details:
            key = f"{details.get('subject')} {details.get('number')}"
            self._colours[key] = (look, details.get("plan_digest"))
            return
        found = self._step(record)
        if found is not None:
            found[1].baseline = look

    # -- the run -------------------------------------------------------------------------------

    def _begun(self, record: Record) -> None:
        details = record.draft.details
        self.run = str(details.get("run"))
        self.used[str(details.get("nonce"))] = self.run
        self.begun_by = self.begun_by or _text(details.get("version"))
        self.anyway = _text(details.get("anyway")) or self.anyway
        ended, self.ended, self.paused = self.ended, None, None
        self.preconditions = {}
        # What a person decided before the run came to its end still holds.
        if ended is not None:
            self.aborted = None
            for index, step in enumerate(self.steps):
                if step.phase is Phase.FAILED:
                    step.reset_recovery()
                    self._settle(index, Phase.PENDING)
        self._seen(details.get("tree"), details.get("manifest"))
        now = _moment(record.draft.timestamp)
        self._before_session = self.session_seconds()
        self._session = (now, now)

    def _seen(self, tree: Json, manifest: Json) -> None:
        if isinstance(tree, str):
            self.tree = tree
            self.manifest = manifest if isinstance(manifest, str) else None

    def _paused(self, record: Record) -> None:
        details = record.draft.details
        self._before_session = self.session_seconds()
        self._session = None
        self.paused = str(details.get("reason"))
        self._seen(details.get("tree"), details.get("manifest"))

    def _cancelled(self, _record: Record) -> None:
        self.cancelled = True

    def _completed_run(self, record: Record) -> None:
        details = record.draft.details
        self._before_session = self.session_seconds()
        self._session = None
        self.ended = _text(details.get("status")) or "failed"
        self.why_ended = _text(details.get("reason"))
        self.cancelled = False
        self.questions.clear()
        self.recovering.clear()
        for step in self.steps:
            if step.phase is Phase.WAITING:
                step.phase, step.question = Phase.FAILED, None
        self._seen(details.get("tree"), details.get("manifest"))

    # -- attempts ------------------------------------------------------------------------------

    def _started(self, record: Record) -> None:
        found = self._step(record)
        if found is None:
            return
        index, step = found
        if self._session is None:  # it waited for a person in this very process
            now = _moment(record.draft.timestamp)
            self._session, self.paused = (now, now), None
        details = record.draft.details
        attempt = details.get("attempt")
        step.attempts = attempt if isinstance(attempt, int) else step.attempts + 1
        step.ended, step.question, step.not_before = None, None, None
        step.manifest = _text(details.get("manifest"))
        step.copy = _text(details.get("copy"))
        baseline, tree = _text(details.get("baseline")), _text(details.get("tree"))
        # Without a tree it is what was seen at the gate, which is known already.
        if baseline is not None and step.baseline is None and (tree or step.approved is None):
            step.baseline = Look(baseline, tree or "")
        self._forget_end()
        self._settle(index, Phase.STARTED)

    def _ended(self, record: Record) -> None:
        found = self._step(record)
        details = record.draft.details
        tokens, dollars = details.get("tokens"), details.get("dollars")
        ending = str(details.get("ending"))
        cost, duration = decimal_of(dollars), details.get("duration")
        estimated = details.get("estimated")
        guessed = estimated if isinstance(estimated, int) else 0
        if found is not None:
            step = found[1]
            step.ended = ending
            step.said = _text(details.get("output_tail"))
            step.tokens += tokens if isinstance(tokens, int) else 0
            step.dollars += cost or Decimal(0)
            step.seconds += duration if isinstance(duration, int | float) else 0.0
            # What was estimated may be in what the session reports the next time.
            told = max(0, (tokens if isinstance(tokens, int) else 0) - guessed)
            _follow(step, details, told, cost or Decimal(0))
            if ending not in CUT_OFF:
                step.covered = frozenset()
        ended = used_in(details)
        if ended is not None:
            role, use = ended
            self.uses.setdefault(role, deque(maxlen=_REMEMBERED)).append(use)
        self.spent = self.spent._replace(
            estimated=self.spent.estimated + guessed,
            tokens=self.spent.tokens + (tokens if isinstance(tokens, int) else 0),
            dollars=self.spent.dollars + (cost or Decimal(0)),
            unmetered=self.spent.unmetered + (tokens is None or cost is None),
        )

    def _evaluated(self, record: Record) -> None:
        details = record.draft.details
        self._remember(record)
        verdict = str(details.get("verdict"))
        subject, number = details.get("subject"), str(details.get("number"))
        found = self._step(record)
        if found is not None and details.get("run") == self.run:
            index, step = found
            step.verdict = verdict
            step.judged_tree = _text(details.get("tree"))
            is_unseen = step.approved is None or not step.approved.is_seen
            if step.baseline is None and is_unseen and verdict != "pass":
                step.baseline = _look(details)  # the first time that anybody saw anything
            code = details.get("exit_code")
            step.feedback = Feedback(
                verdict=verdict,
                reason=str(details.get("reason") or ""),
                exit_code=code if isinstance(code, int) else None,
                output=str(details.get("output_tail") or ""),
                outside=_texts(details.get("outside")),
                tampered=_texts(details.get("tampered")),
            )
            if details.get("final") and verdict == "pass":
                self.final[index] = step.judged_tree or ""
        elif subject == "postcondition" and details.get("run") == self.run:
            self.conditions[number] = verdict
            self.condition_results[number] = _text(details.get("result")) or ""
            self.condition_trees[number] = _text(details.get("tree")) or ""
        elif subject == "precondition" and details.get("run") == self.run:
            self.preconditions[number] = verdict

    def _remember(self, record: Record) -> None:
        details = record.draft.details
        contract, tree = _text(details.get("contract")), _text(details.get("tree"))
        if contract and tree:
            verdicts = self.earlier.setdefault((contract, tree), set())
            verdicts.add(str(details.get("verdict")))

    def _remember_tests(self, details: Mapping[str, Json]) -> None:
        contract, tests = _text(details.get("contract")), details.get("tests")
        key = _text(tests.get("list")) if isinstance(tests, dict) else None
        if contract and key:
            self.tests[contract] = key
            if "baseline" in details:  # of all contracts at once, at the gate
                self.approved_tests[contract] = key

    def _done(self, record: Record) -> None:
        found = self._step(record)
        if found is not None:
            index, step = found
            self._close_of(step)
            step.trouble = None
            step.result = _text(record.draft.details.get("result"))
            step.reason = _text(record.draft.details.get("reason"))
            self._settle(index, _RESULTS.get(step.result or "", Phase.PROVED))
            self.regressed.discard(index)
        details = record.draft.details
        self._seen(details.get("tree"), details.get("manifest"))

    def _failed(self, record: Record) -> None:
        found = self._step(record)
        if found is not None:
            self._close_of(found[1])
            self._settle(found[0], Phase.FAILED)

    def _skipped(self, record: Record) -> None:
        found = self._step(record)
        if found is not None:
            self._close_of(found[1])
            found[1].result = "skipped"
            self._settle(found[0], Phase.SKIPPED)

    def _waived(self, record: Record) -> None:
        found = self._step(record)
        details = record.draft.details
        if found is not None:
            self._close_of(found[1])
            self.regressed.discard(found[0])
            self._settle(found[0], Phase.WAIVED)
        else:
            self._condition(details.get("subject"), details.get("number"), "waived")

    def _attested(self, record: Record) -> None:
        found = self._step(record)
        details = record.draft.details
        if found is not None:
            self._close_of(found[1])
            found[1].result = "attested"
            found[1].verdict = "attested"
            self._settle(found[0], Phase.ATTESTED)
        else:
            self._condition(details.get("subject"), details.get("number"), "attested")

    def _condition(self, subject: Json, number: Json, answer: str) -> None:
        self.answered[f"{subject} {number}"] = answer
        if subject == "postcondition":
            self.conditions[str(number)] = answer
        for key, question in list(self.questions.items()):
            if question.subject == subject and question.number in {None, str(number)}:
                self._close(key)

    # -- failures and their answers ------------------------------------------------------------

    def _detected(self, record: Record) -> None:
        found = self._step(record)
        if found is None:
            return
        details, step = record.draft.details, found[1]
        signature = _text(details.get("signature"))
        step.repeated = step.repeated + 1 if signature and signature == step.signature else 1
        step.signature = signature
        code = details.get("exit_code")
        step.trouble = Told(
            _text(details.get("failed")),
            _text(details.get("error_message")) or "",
            code if isinstance(code, int) else None,
        )
        if details.get("reason") == "regressed":
            self.regressed.add(found[0])
            self._settle(found[0], Phase.PENDING)

    def _classified(self, record: Record) -> None:
        found = self._step(record)
        if found is not None and record.draft.details.get("rule") == BLOCKED_RULE:
            found[1].blocked += 1

    def _recovered(self, record: Record) -> None:
        found = self._step(record)
        details = record.draft.details
        self.recoveries += 1
        if record.draft.task_id is not None:
            self.recovering[record.draft.task_id] = recovery_of(record)
        if found is None:
            return
        index, step = found
        kind = details.get("failure_type")
        if kind in {item.value for item in FailureClass}:
            known = FailureClass(kind)
            step.recovered[known] = step.recovered.get(known, 0) + 1
        if (warning := _text(details.get("reason"))) is not None:
            step.feedback = (step.feedback or Feedback())._replace(warning=warning)
        step.retries += 1
        step.not_before = _text(details.get("until"))
        self._settle(index, Phase.PENDING)

    def _escalated(self, record: Record) -> None:
        details = record.draft.details
        key = _text(details.get("escalation")) or ""
        decision = details.get("user_decision")
        found = self._step(record)
        if decision is None:
            if found is not None:
                self._close(found[1].question)
                found[1].question = key
            question = question_of(record)
            if question is not None:
                self.questions[question.id] = question
            if found is not None:
                self._settle(found[0], Phase.WAITING)
            return
        if key not in self.questions:
            return  # it was settled by another way: an answer to it means nothing any more
        self._close(key)
        if decision == "retry":
            if found is not None:
                index, step = found
                step.reset_recovery()
                step.question = None
                guidance = _text(details.get("guidance"))
                step.guidance = (*step.guidance, guidance) if guidance else step.guidance
                self._settle(index, Phase.PENDING)
            self._forget_end()
        elif decision == "abort":
            self.aborted = f"aborted by {details.get('by')}"
        elif decision == "revise":
            self.revised = True

    def _forget_end(self) -> None:
        """What was judged at the end is judged anew: the tree will be another one."""
        if self.final:
            self.final = {}
        if self.conditions:
            kept = self.conditions.items()
            self.conditions = {number: found for number, found in kept if found in _BY_PEOPLE}

    def _close_of(self, step: StepState) -> None:
        """Take back what is asked about a step that is settled."""
        self._close(step.question)
        step.question = None

    def _close(self, key: str | None) -> None:
        if key is not None:
            self.questions.pop(key, None)

    def _raised(self, record: Record) -> None:
        details = record.draft.details
        tokens, seconds = details.get("tokens"), details.get("seconds")
        self.raised = Raised(
            tokens=self.raised.tokens + (tokens if isinstance(tokens, int) else 0),
            dollars=self.raised.dollars + (decimal_of(details.get("dollars")) or Decimal(0)),
            seconds=self.raised.seconds
            + (float(seconds) if isinstance(seconds, int | float) else 0.0),
        )
        covered = raised_limits(details)
        for key, question in list(self.questions.items()):
            if question.kind is QuestionKind.BUDGET:
                self._close(key)
                index = self.layout.by_id.get(question.task_id or "")
                if index is not None:
                    self.steps[index].covered |= covered
                    self.steps[index].reset_recovery()
                    self._settle(index, Phase.PENDING)


_HANDLERS = {
    EventKind.PLAN_CREATED: RunState._created,  # noqa: SLF001 - the table of its own methods
    EventKind.PLAN_REWRITTEN: RunState._rewritten,  # noqa: SLF001
    EventKind.PLAN_AMENDED: RunState._amended,  # noqa: SLF001
    EventKind.GATE_APPROVED: RunState._approved,  # noqa: SLF001
    EventKind.GATE_REJECTED: RunState._rejected,  # noqa: SLF001
    EventKind.BASELINE_OBSERVED: RunState._baseline,  # noqa: SLF001
    EventKind.EXECUTION_STARTED: RunState._begun,  # noqa: SLF001
    EventKind.EXECUTION_PAUSED: RunState._paused,  # noqa: SLF001
    EventKind.EXECUTION_CANCELLED: RunState._cancelled,  # noqa: SLF001
    EventKind.EXECUTION_COMPLETE: RunState._completed_run,  # noqa: SLF001
    EventKind.TASK_STARTED: RunState._started,  # noqa: SLF001
    EventKind.ATTEMPT_ENDED: RunState._ended,  # noqa: SLF001
    EventKind.CONTRACT_EVALUATED: RunState._evaluated,  # noqa: SLF001
    EventKind.TASK_COMPLETED: RunState._done,  # noqa: SLF001
    EventKind.TASK_FAILED: RunState._failed,  # noqa: SLF001
    EventKind.TASK_SKIPPED: RunState._skipped,  # noqa: SLF001
    EventKind.WAIVED: RunState._waived,  # noqa: SLF001
    EventKind.ATTESTED: RunState._attested,  # noqa: SLF001
    EventKind.FAILURE_DETECTED: RunState._detected,  # noqa: SLF001
    EventKind.FAILURE_CLASSIFIED: RunState._classified,  # noqa: SLF001
    EventKind.RECOVERY_APPLIED: RunState._recovered,  # noqa: SLF001
    EventKind.RECOVERY_ESCALATION: RunState._escalated,  # noqa: SLF001
    EventKind.BUDGET_RAISED: RunState._raised,  # noqa: SLF001
}


def _follow(step: StepState, details: Mapping[str, Json], tokens: int, cost: Decimal) -> None:
    """Take notice of the session that the agent of an attempt was in."""
    agent, session = details.get("agent"), details.get("session")
    known = isinstance(session, str) and not was_redacted(session)
    if not isinstance(agent, str) or not isinstance(session, str) or not known:
        step.session = None
        return
    if step.session != (agent, session):
        step.session = (agent, session)
        step.session_tokens, step.session_dollars = 0, Decimal(0)
    step.session_tokens += tokens
    step.session_dollars += cost


def _skipped(layout: Layout, approval: Approval) -> Iterator[int]:
    for change in approval.modifications:
        word, _, label = change.partition(" ")
        slot = layout.find(label) if word == "skip" else None
        if slot is not None:
            yield slot.place


def _look(details: Mapping[str, Json]) -> Look:
    tree, contract = _text(details.get("tree")), _text(details.get("contract"))
    return Look(str(details.get("verdict")), tree or "", contract or "")


def _text(value: Json) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: Json) -> tuple[str, ...]:
    return tuple(str(item) for item in value) if isinstance(value, list) else ()


def _moment(stamp: str) -> datetime:
    return datetime.fromisoformat(stamp)
