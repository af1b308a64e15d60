"""What must hold of every journal, read from the journal alone: no code of the loop is asked.

What a plan says is known by its digest from who wrote it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import median
from typing import Any, NamedTuple

from planbound.journal.event import ContractEvaluated, VerdictKind
from planbound.journal.event import EventKind as Kind
from planbound.journal.record import Record
from tests.run_model.plans import RETRIES, PlanShape

SETTLED = frozenset({"proved", "holds", "attested", "waived", "skipped"})
_NOT_RED = frozenset({"pass", "tampered", "out-of-scope"})
"""What a look may find that shows no red."""
_ENDS = frozenset({"done", "done with skips", "failed", "cancelled", "revised"})
_MOST_LOST = 5
_OTHER_CLASSES = 3
"""Classes that are retried once, whatever `on_fail` says: hung, invalid input, tampered."""
_SAFE_TOKENS = 2_000_000
_REMEMBERED = 50
_CUT_OFF = frozenset({"lost", "interrupted"})


class BrokenInvariantError(AssertionError):
    """The journal says what it must never say."""


class Task:
    """One step, as far as its events tell."""

    def __init__(self) -> None:
        self.phase = "pending"
        self.attempts = 0
        self.judged = False
        """Whether there is a verdict, or a known loss, since the attempt began."""
        self.copy = False
        self.recoveries = 0
        self.until = ""
        self.classified: str | None = None
        self.question: str | None = None
        self.regressed = False
        self.passes: set[str] = set()
        """The trees on which it was seen to pass, in this run."""
        self.own: tuple[str, str] | None = None
        """What was seen before the first attempt, and on which tree."""
        self.tokens = 0
        self.covered = False
        """Whether a person allowed more for its next attempt."""


class Approval(NamedTuple):
    """An approval that nothing has overruled."""

    nonce: str
    digest: str
    skipped: frozenset[str]


class Checker:
    """Reads record after record, and raises at the first that breaks an invariant."""

    def __init__(
        self, shapes: Mapping[str, PlanShape], secrets: tuple[str, ...], *, subverted: str | None
    ) -> None:
        self.subverted = subverted
        """What a contract prints that is judged by what an agent wrote; None without a cell."""
        self.shapes = shapes
        """By digest every text that the plan ever had."""
        self.secrets = secrets
        self.approval: Approval | None = None
        self.ground: Approval | None = None
        """The approval by which the run began, whatever became of it."""
        self.used: dict[str, str] = {}
        self.ids: set[str] = set()
        """Of all steps that an approved revision had."""
        self.current: frozenset[str] = frozenset()
        self.run: str | None = None
        self.ended: str | None = None
        self.tasks: dict[str, Task] = {}
        self.kept: frozenset[str] = frozenset()
        self.conditions: dict[str, dict[str, str]] = {}
        """By postcondition, by tree the verdict; by `by` what a person decided."""
        self.answered: set[str] = set()
        self.left_out: set[str] = set()
        """The steps that people skipped in this run."""
        self.before: set[str] = set()
        self.stopped: set[str] = set()
        """Why people want the run to end."""
        self.late = 0
        """How many attempts began although a person had ended the run."""
        self.jobs = 1
        self.gate: dict[str, str] = {}
        """By step what was seen at the gate, until somebody decides."""
        self.red: frozenset[str] = frozenset()
        """The steps that were red when the plan was approved."""
        self.red_before: frozenset[str] = frozenset()
        """Those that were seen red before an amendment."""
        self.amended: frozenset[str] | None = None
        self.amended_to = ""
        self.last: Record | None = None
        self.recoveries: dict[str, str | None] = {}
        """By the id of each recovery the step that waits for what comes of it; None: it is told."""
        self.owed: str | None = None
        """What the next record has to be about: a failure that has no answer yet."""
        self.tokens = self.raised = 0
        self.uses: list[int | None] = []
        """The tokens of all attempts that came to their end; None: nobody knows."""

    # -- reading -------------------------------------------------------------------------------

    def read(self, record: Record) -> None:
        """Take one record."""
        self.record = record
        for secret in self.secrets:
            self._demand(secret not in repr(record), 8, f"`{secret}` is in the journal")
        kind = record.kind
        self._failures_in_order(kind)
        handler = _HANDLERS.get(kind)
        if handler is not None:
            handler(self)
        self.last = record

    def _demand(self, holds: object, number: int, what: str) -> None:
        if not holds:
            draft = self.record.draft
            raise BrokenInvariantError(
                f"invariant {number}: {what}: {self.record.seq} {draft.kind.value}"
                f" {draft.task_id} {draft.details.text}"
            )

    @property
    def _details(self) -> Mapping[str, Any]:
        return self.record.draft.details.json()

    @property
    def shape(self) -> PlanShape:
        """The plan that is run, or may be."""
        ground = self.ground or self.approval
        self._demand(ground is not None, 2, "there is no approval")
        assert ground is not None
        return self.shapes[ground.digest]

    def _task(self) -> Task:
        name = self.record.draft.task_id
        self._demand(name is not None, 4, "it is about no step")
        assert name is not None
        return self.tasks.setdefault(name, Task())

    # -- the gate ------------------------------------------------------------------------------

    def _approved(self) -> None:
        details = self._details
        shape = self.shapes[details["digest"]]
        labels = {f"skip {number}": step.id for number, step in enumerate(shape.steps, 1)}
        skipped = frozenset(labels[change] for change in details["modifications"])
        self.approval = Approval(details["nonce"], details["digest"], skipped)
        self._demand(details["nonce"] not in self.used, 2, "the approval was there before")
        ids = frozenset(step.id for step in shape.steps)
        if self.amended_to != details["digest"]:
            self.amended = None
        if self.amended is not None:
            again = ids & self.ids - self.current
            self._demand(not again, 3, f"the ids {sorted(again)} are used again")
            self._demand(self.amended <= ids, 3, "a step that was settled is gone")
        self.red_before = self._seen_red() if self.amended is not None else frozenset()
        self.red = frozenset(name for name, seen in self.gate.items() if seen not in _NOT_RED)
        self.gate = {}
        kept = self.amended or frozenset()
        self.tasks = {name: task for name, task in self.tasks.items() if name in kept}
        self.current = ids
        self.ids |= ids
        self.run = self.ended = self.ground = None
        self.stopped, self.left_out = set(), set()
        self.conditions, self.answered, self.amended, self.late = {}, set(), None, 0
        self.tokens = self.raised = 0
        for name in skipped:
            self.tasks.setdefault(name, Task()).phase = "skipped"

    def _seen_red(self) -> frozenset[str]:
        own = {
            name for name, task in self.tasks.items() if task.own and task.own[0] not in _NOT_RED
        }
        return self.red | self.red_before | own

    def _looked(self) -> None:
        details, name = self._details, self.record.draft.task_id
        if name is None:
            return
        if "baseline" in details:
            self.gate[name] = details["verdict"]
        else:
            self._task().own = (details["verdict"], details["tree"])

    def _rejected(self) -> None:
        self.approval = None
        self.stopped.add("rejected")

    def _rewritten(self) -> None:
        if "session" not in self._details:  # else it is another text, and nobody decided
            self._rejected()

    def _amended(self) -> None:
        kept = frozenset(str(name) for name in self._details["kept"])
        for name in kept:
            phase = self.tasks[name].phase if name in self.tasks else "pending"
            self._demand(phase in SETTLED, 3, f"`{name}` is kept, and is {phase}")
        old, new = self.shapes[self._details["from"]], self.shapes[self._details["to"]]
        for name in kept:
            before = next(step for step in old.steps if step.id == name)
            after = next((step for step in new.steps if step.id == name), None)
            same = after is not None and before._replace(depends=()) == after._replace(depends=())
            self._demand(same, 3, f"`{name}` is settled, and was changed")
        self.approval = self.ground = self.run = None
        self.amended, self.amended_to = kept, self._details["to"]

    # -- the run -------------------------------------------------------------------------------

    def _started(self) -> None:
        details, approval = self._details, self.approval
        self._demand(approval is not None, 2, "a run of what is not approved")
        assert approval is not None
        self._demand(approval.nonce == details["nonce"], 2, "a run by another approval")
        self._demand(approval.digest == details["digest"], 2, "a run of another plan")
        run = details["run"]
        before = self.used.get(approval.nonce)
        self._demand(before in {None, run}, 2, f"run {before} has the approval")
        if before is None:
            self._demand(run not in self.used.values(), 2, "the run was there before")
        self._demand(self.ended in {None, "failed"}, 2, f"the run ended as {self.ended}")
        self.used[approval.nonce] = run
        self.ground = approval
        if self.ended is not None:
            self.stopped -= {"abort"}  # a person lets it go on
            for task in self.tasks.values():
                if task.phase in {"failed", "waiting"}:
                    task.phase, task.recoveries = "pending", 0
        self.run, self.ended, self.jobs = run, None, details["jobs"]
        self.before = set()

    def _completed(self) -> None:
        details = self._details
        self._is_of_the_run()
        status = details["status"]
        self._demand(status in _ENDS, 9, "no end that there is")
        phases = [self.tasks.get(step.id, Task()).phase for step in self.shape.steps]
        counts = {
            "completed": phases.count("proved"),
            "holds": phases.count("holds"),
            "attested": phases.count("attested"),
            "failed": phases.count("failed"),
            "skipped": phases.count("skipped"),
            "waived": phases.count("waived"),
        }
        told = {name: details[name] for name in counts}
        self._demand(told == counts, 9, f"the summary says {told}, the events {counts}")
        if status.startswith("done"):
            self._done(details, phases)
        if status == "cancelled":
            self._demand("cancelled" in self.stopped, 9, "nobody cancelled it")
        if status == "revised":
            self._demand("revise" in self.stopped, 9, "nobody sent it back")
        self.ended = status
        open_ones = [name for name in self.recoveries.values() if name is not None]
        self._demand(not open_ones, 5, f"nobody says what came of the recoveries of {open_ones}")
        for task in self.tasks.values():
            if task.phase == "waiting":
                task.phase = "failed"
            task.question = None

    def _done(self, details: Mapping[str, Any], phases: list[str]) -> None:
        status = details["status"]
        self._demand(all(phase in SETTLED for phase in phases), 9, f"the steps are {phases}")
        self._demand(("skipped" in phases) == (status == "done with skips"), 9, "skips are told")
        proved = [self.tasks[step.id] for step in self.shape.steps]
        trees = [task.passes for task in proved if task.phase in {"proved", "holds"}]
        for number, attested in enumerate(self.shape.after, 1):
            found = self.conditions.get(str(number), {})
            if "by" not in found:
                self._demand(not attested, 9, f"nobody attested postcondition {number}")
                trees.append({tree for tree, verdict in found.items() if verdict == "pass"})
        if trees:
            judged = set.intersection(*trees)
            # Without a cell a contract may write to the tree that it is judged on.
            holds = bool(judged) if self.subverted is None else details["tree"] in judged
            self._demand(holds, 9, "not everything was seen to hold on the final tree")

    def _is_of_the_run(self) -> None:
        self._demand(self._details.get("run") == self.run, 7, f"it is not of the run {self.run}")
        self._demand(self.run is not None and self.ended is None, 2, "there is no run")

    def _cancelled(self) -> None:
        self.stopped.add("cancelled")

    # -- attempts ------------------------------------------------------------------------------

    def _begun(self) -> None:
        details, task, name = self._details, self._task(), self.record.draft.task_id
        self._is_of_the_run()
        assert self.ground is not None
        self._demand(details["digest"] == self.ground.digest, 2, "the plan is another")
        self._demand(name in self.current, 3, "the plan has no such step")
        self._demand(task.phase == "pending", 10, f"the step is {task.phase}")
        self._demand(task.attempts + 1 == details["attempt"], 4, "attempts are counted wrong")
        self._in_order(str(name))
        self._affordable(str(name))
        if self.stopped:
            self.late += 1
            self._demand(self.late <= self.jobs, 3, f"it goes on after {self.stopped}")
        self._demand(
            self.before | self.answered >= {str(each + 1) for each in range(self.shape.before)}
            or any(each.attempts for each in self.tasks.values()),
            3,
            "a precondition was not seen to hold",
        )
        task.phase, task.attempts = "started", details["attempt"]
        task.judged, task.copy, task.until = False, "copy" in details, ""
        task.classified, task.regressed = None, False
        # Green at the gate is green before the work, also where nobody looked at the files again.
        known = "tree" in details or details.get("baseline") == "pass"
        if "baseline" in details and known and task.own is None:
            task.own = (details["baseline"], details.get("tree", ""))

    def _in_order(self, name: str) -> None:
        depends = self.shape.depends()
        waiting = [other for other in depends[name] if self._phase(other) not in SETTLED]
        self._demand(not waiting, 3, f"it depends on {waiting}")
        without = self.shape.declared(name) & self.left_out
        self._demand(not without, 3, f"it cannot do without {sorted(without)}")
        if self.jobs > 1:
            return
        for step in self.shape.steps:
            if step.id == name:
                return
            other = self.tasks.get(step.id, Task())
            ready = all(self._phase(each) in SETTLED for each in depends[step.id])
            early = other.until > self.record.draft.timestamp
            self._demand(
                not (ready and other.phase == "pending" and not early), 3, f"`{step.id}` is first"
            )

    def _affordable(self, name: str) -> None:
        """What is left covers the step's own budget, else the median of what attempts used."""
        task = self.tasks[name]
        left: float = (self.shape.budget or _SAFE_TOKENS) + self.raised - self.tokens
        own = self._own_rest(name)
        self._demand(left > 0 and (own is None or own > 0), 9, "it begins with nothing")
        if task.covered:
            return
        if own is not None and task.attempts:
            each = task.tokens / task.attempts
            self._demand(own >= each, 9, f"it begins with {own} of its own, and needs {each}")
        started = [other for other, each in self.tasks.items() if each.phase == "started"]
        left -= sum(self._need(other) for other in started)
        need = self._need(name)
        self._demand(left >= need, 9, f"it begins with {left} tokens, and needs {need}")

    def _own_rest(self, name: str) -> int | None:
        budget = next(step.budget for step in self.shape.steps if step.id == name)
        return None if budget is None else budget + self.raised - self.tasks[name].tokens

    def _need(self, name: str) -> float:
        own = self._own_rest(name)
        known = [tokens for tokens in self.uses[-_REMEMBERED:] if tokens is not None]
        told = 2 * len(known) > len(self.uses[-_REMEMBERED:])
        declared = None if own is None else own - self.raised
        if declared is not None and declared > 0:
            return declared
        return median(known) if told else 0

    def _phase(self, name: str) -> str:
        return self.tasks.get(name, Task()).phase

    def _attempt_ended(self) -> None:
        task, ending = self._task(), self._details["ending"]
        if ending == "lost" and task.copy:
            task.judged = True
        tokens = self._details.get("tokens")
        task.tokens += tokens or 0
        self.tokens += tokens or 0
        if ending not in _CUT_OFF:
            task.covered = False
            self.uses.append(tokens)

    def _evaluated(self) -> None:
        details = self._details
        self._is_of_the_run()
        verdict, tree = details["verdict"], details["tree"]
        if details["subject"] == "step":
            task, name = self._task(), self.record.draft.task_id
            task.judged = True
            if task.own is None and name not in self.red and verdict != "pass":
                task.own = (verdict, tree)
            if verdict == "pass":
                task.passes.add(tree)
            else:
                task.passes.discard(tree)
        elif details["subject"] == "postcondition":
            self.conditions.setdefault(details["number"], {})[tree] = verdict
        elif verdict == "pass":
            self.before.add(details["number"])
        else:
            self.before.discard(details["number"])

    def _proved(self) -> None:
        details, task, last = self._details, self._task(), self.last
        self._is_of_the_run()
        result = details["result"]
        self._demand(result in {"proved", "holds"}, 1, "the harness claims nothing")
        verdict = last.event if last is not None else None
        self._demand(
            last is not None
            and last.plan_seq + 1 == self.record.plan_seq
            and last.kind is Kind.CONTRACT_EVALUATED
            and last.draft.task_id == self.record.draft.task_id
            and isinstance(verdict, ContractEvaluated)
            and (verdict.verdict, verdict.run) == (VerdictKind.PASS, self.run)
            and verdict.attempt == details["attempt"] == task.attempts,
            1,
            "there is no verdict right before it",
        )
        self._demand(task.phase == "started", 1, f"the step is {task.phase}")
        assert isinstance(verdict, ContractEvaluated)
        said = str(verdict.output_tail)
        fair = self.subverted is None or self.subverted not in said
        self._demand(fair, 1, "it was judged by what an agent wrote")
        name = str(self.record.draft.task_id)
        if result == "proved":
            self._demand(name in self._seen_red(), 10, "proved, and nobody saw it red")
        elif task.own is not None and task.own[0] not in _NOT_RED:
            same = task.own[1] == verdict.tree
            self._demand(same, 10, "it was red before, on other files: that is proved")
        else:
            self._demand(name not in self.red, 10, "it was red when it was approved")
        task.phase = result

    def _failed(self) -> None:
        self._task().phase = "failed"

    # -- people --------------------------------------------------------------------------------

    def _skipped(self) -> None:
        name, task = self.record.draft.task_id, self._task()
        self._demand(bool(self._details.get("by")), 3, "nobody decided it")
        # What declares to depend on a step goes with it, and nothing else does.
        asked = task.question == "skip" or self.shape.declared(str(name)) & self.left_out
        approved = self.ground is not None and name in self.ground.skipped
        self._demand(asked or approved, 3, "nobody decided it")
        if not approved:
            self.left_out.add(str(name))
        task.phase, task.question = "skipped", None

    def _waived(self) -> None:
        self._by_a_person("waived")

    def _attested(self) -> None:
        name = self.record.draft.task_id
        if name is not None:
            attested = any(step.id == name and step.attested for step in self.shape.steps)
            self._demand(attested, 1, "the step has a contract")
        self._by_a_person("attested")

    def _by_a_person(self, phase: str) -> None:
        details = self._details
        self._demand(bool(details["by"]), 1, "nobody decided it")
        if details["subject"] == "step":
            task = self._task()
            self._demand(task.phase != "started" or self.ended is not None, 1, "it is at work")
            task.phase, task.question = phase, None
        elif details["subject"] == "postcondition":
            self.conditions[details["number"]] = {"by": phase}
        else:
            self.answered.add(details["number"])

    def _escalated(self) -> None:
        details = self._details
        decision = details["user_decision"]
        name = self.record.draft.task_id
        task = self._task() if name is not None else None
        if decision is None:
            self._is_of_the_run()
            if task is not None:
                again = task.phase == "waiting" and task.question == details["kind"]
                self._demand(not again, 9, "what waits for an answer is asked again")
                task.phase, task.question = "waiting", details["kind"]
            return
        self._demand(bool(details.get("by")), 3, "nobody decided it")
        if decision in {"abort", "revise"}:
            self.stopped.add(decision)
        if task is None:
            return
        task.question = decision
        if decision in {"retry", "raise"}:
            task.phase, task.recoveries = "pending", 0

    def _raised(self) -> None:
        """More budget is an answer to all who asked for it."""
        self._demand(bool(self._details["by"]), 9, "nobody decided it")
        self.raised += self._details.get("tokens", 0)
        for task in self.tasks.values():
            if task.phase == "waiting" and task.question == "budget":
                task.phase, task.recoveries = "pending", 0
                task.covered = "tokens" in self._details

    def _exceeded(self) -> None:
        details = self._details
        if "left" in details:
            self._demand(details["left"] < details["needed"], 9, "there was enough")

    # -- failures ------------------------------------------------------------------------------

    def _failures_in_order(self, kind: Kind) -> None:
        """A failure gets its type at once, and then its answer: all that in one append."""
        last = self.last
        name = self.record.draft.task_id
        if last is not None and last.kind is Kind.FAILURE_DETECTED:
            right = kind in {Kind.FAILURE_CLASSIFIED, Kind.TASK_FAILED}
            same = name == last.draft.task_id
            self._demand(right and same, 5, "a failure was not classified")
        if last is not None and last.kind is Kind.TASK_FAILED:
            self._demand(kind is Kind.FAILURE_CLASSIFIED, 5, "a failure was not classified")
        if self.owed is not None:
            answers = {
                Kind.RECOVERY_APPLIED,
                Kind.RECOVERY_ESCALATION,
                Kind.PERMISSION_REQUIRED,
                Kind.BUDGET_EXCEEDED,
            }
            about = name == self.owed or not self.owed
            self._demand(kind in answers and about, 5, "a failure has no answer")
            self.owed = None
        if kind is Kind.FAILURE_CLASSIFIED and last is not None:
            if last.kind is Kind.FAILURE_DETECTED:
                self.owed = name or ""
            if name is not None:
                self._task().classified = self._details["failure_type"]

    def _detected(self) -> None:
        if self._details.get("reason") == "regressed":
            task = self._task()
            task.regressed = True
            task.phase = "pending"

    def _recovered(self) -> None:
        details, task = self._details, self._task()
        self._is_of_the_run()
        self._demand(task.classified == details["failure_type"], 5, "it is of no known type")
        self._demand(task.judged, 10, "what the attempt left was not judged")
        task.recoveries += 1
        name = self.record.draft.task_id
        self._demand(name not in self.recoveries.values(), 5, "nobody says what came of the last")
        self.recoveries[self.record.draft.id] = name
        on_fail = next(step.on_fail for step in self.shape.steps if step.id == name)
        most = _MOST_LOST + _OTHER_CLASSES + 2 * RETRIES[on_fail]
        self._demand(task.recoveries <= most, 5, f"{task.recoveries} recoveries without a person")
        task.phase, task.until = "pending", details.get("until", "")

    def _recovery_ended(self) -> None:
        details = self._details
        recovery, outcome = details["recovery"], details["outcome"]
        self._demand(self.recoveries.get(recovery), 5, "it is told twice, or was never applied")
        same = self.recoveries[recovery] == self.record.draft.task_id
        self._demand(same, 5, "it is about another step")
        task = self._task()
        if outcome == "success":
            self._demand(task.phase in {"proved", "holds"}, 5, "the step does not pass")
        else:
            self._demand(outcome in {"failed", "escalated"}, 5, "no outcome that there is")
            self._demand(task.phase not in {"proved", "holds"}, 5, "the step passes")
        self.recoveries[recovery] = None

    def counts(self) -> dict[str, str]:
        """Return where each step of the approved plan is."""
        if self.approval is None and self.ground is None:
            return {}
        return {step.id: self._phase(step.id) for step in self.shape.steps}


_HANDLERS: dict[Kind, Callable[[Checker], None]] = {
    Kind.BASELINE_OBSERVED: Checker._looked,
    Kind.GATE_APPROVED: Checker._approved,
    Kind.GATE_REJECTED: Checker._rejected,
    Kind.PLAN_REWRITTEN: Checker._rewritten,
    Kind.PLAN_AMENDED: Checker._amended,
    Kind.EXECUTION_STARTED: Checker._started,
    Kind.EXECUTION_COMPLETE: Checker._completed,
    Kind.EXECUTION_CANCELLED: Checker._cancelled,
    Kind.TASK_STARTED: Checker._begun,
    Kind.ATTEMPT_ENDED: Checker._attempt_ended,
    Kind.CONTRACT_EVALUATED: Checker._evaluated,
    Kind.TASK_COMPLETED: Checker._proved,
    Kind.TASK_FAILED: Checker._failed,
    Kind.TASK_SKIPPED: Checker._skipped,
    Kind.WAIVED: Checker._waived,
    Kind.ATTESTED: Checker._attested,
    Kind.RECOVERY_ESCALATION: Checker._escalated,
    Kind.BUDGET_RAISED: Checker._raised,
    Kind.BUDGET_EXCEEDED: Checker._exceeded,
    Kind.FAILURE_DETECTED: Checker._detected,
    Kind.RECOVERY_APPLIED: Checker._recovered,
    Kind.RECOVERY_OUTCOME: Checker._recovery_ended,
}
