"""One plan while a tool works on it, under the plan's lease."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

from planbound.engine.bounds import contract_seconds
from planbound.engine.fence import Fence
from planbound.engine.fold import fold, plan_status
from planbound.engine.judging.case import Case, cases, demands_red, judge_scope, plan_scope
from planbound.engine.judging.proof import Before, Result, proof_of
from planbound.engine.judging.scope import Scope
from planbound.engine.judging.verdict import Subject, Verdict, VerdictKind
from planbound.engine.loop.finalization import Agenda
from planbound.engine.loop.owner import TOOLS
from planbound.engine.loop.shown import agenda_of
from planbound.engine.loop.state import Item, LoopState
from planbound.errors import AlreadyExists, FileProblem, Refused, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Draft, Json
from planbound.plan.digest import digest
from planbound.plan.model import Command, Plan, PlanStatus, Step
from planbound.plan.parse import parse
from planbound.plan.slug import file_name
from planbound.ports.files import PlanFile, Shelf
from planbound.ports.journal import Query
from planbound.ports.lease import Claim
from planbound.usecases.loop.desk import LoopDesk
from planbound.usecases.marks import is_news, look_at, notice

if TYPE_CHECKING:  # what judges takes its time to load, and hooks seldom judge
    from planbound.engine.judging.frozen import Frozen
    from planbound.engine.manifest import ScanRules
    from planbound.usecases.bench import Bench

_LEASE = 3600.0
"""A call may judge for long; a process that dies is known to be dead at once."""
_PAUSE = 0.1


@contextmanager
def leased(desk: LoopDesk, slug: str) -> Iterator[Fence]:
    """Hold the lease of a plan: calls of two agents come one after the other, or are refused."""
    claim = Claim(
        slug,
        worktree=f"the loop of {slug}",
        touches=None,
        holder=desk.holder,
        process=desk.process,
    )
    deadline = time.monotonic() + desk.patience
    while True:
        try:
            fence = desk.leases.acquire(claim, seconds=_LEASE)
            break
        except Refused:
            if time.monotonic() > deadline:
                raise
            time.sleep(_PAUSE)
    try:
        yield fence
    finally:
        desk.leases.release(fence)


class Work:
    """A plan, where it is, and the one way to add to its events."""

    def __init__(self, desk: LoopDesk, file: PlanFile, fence: Fence | None = None) -> None:
        self.desk = desk
        self.file = file
        self.fence = fence
        self.state = LoopState()
        self._catch_up()
        self.load()
        self._bench: Bench | None = None
        self._tree: str | None = None

    def load(self) -> None:
        """Read the file; put it back where it is gone, since taking it away ends nothing."""
        if file_name(self.slug) not in self.desk.workspace.names(Shelf.ACTIVE):
            self._put_back()
        self.data = self.desk.files.read(self.file.path)
        self.plan: Plan = parse(self.data, path=self.file.shown)
        self.ids = self.desk.recorder.step_ids(self.plan)

    def _put_back(self) -> None:
        key = self.state.text if self.state.is_owed else None
        data = self.desk.vault.content(bytes.fromhex(key)) if key is not None else None
        if data is None:
            return  # then reading it says what is wrong
        self.desk.folders.make_folder(self.file.path.rsplit("/", 1)[0])
        with suppress(AlreadyExists):  # another session was faster
            self.desk.files.create(self.file.path, data)

    @property
    def slug(self) -> str:
        """Return the plan's name."""
        return self.file.slug

    @property
    def agenda(self) -> Agenda:
        """Return all that the plan asks for, with where it is."""
        return agenda_of(self.plan, self.ids, self.state, tuple(self.state.probes))

    @property
    def digest(self) -> str:
        """Return what the plan means."""
        return digest(self.plan)

    @property
    def status(self) -> PlanStatus:
        """Return where the plan is, in the word that every view has for it."""
        state = fold(self.desk.journal.read(Query(plan=self.slug))).get(self.slug)
        return plan_status(state, self.digest)

    def notice(self) -> None:
        """Put on record, and into the file, that somebody changed the plan, where that is so."""
        look = look_at(self.desk.journal, self.file, self.data)
        if is_news(look):
            self.data = notice(self.desk.recorder, self.desk.files, look).data
            self._catch_up()

    def append(self, *drafts: Draft) -> None:
        """Add events, all or none."""
        self.desk.journal.append(drafts, fence=self.fence)
        self._catch_up()

    def draft(self, kind: EventKind, details: dict[str, Json], step: Step | None = None) -> Draft:
        """Return an event of this session."""
        task = None
        if step is not None:
            details.setdefault("number", step.label)
            task = (self.ids[step.label], step.title)
        details["session"] = self.desk.session
        return self.desk.recorder.draft(kind, self.slug, details, task=task)

    def _catch_up(self) -> None:
        self.state.apply_all(self.desk.journal.read(Query(plan=self.slug, after=self.state.seq)))

    # -- finding -------------------------------------------------------------------------------

    def step(self, name: str | int) -> Step:
        """Return a step by its id or number; raise UsageError where there is none."""
        wanted = str(name).strip().removeprefix("step ").lstrip("#")
        for step in self.plan.steps:
            if wanted in {self.ids[step.label], step.label}:
                return step
        dropped = next((each for each in self.state.dropped if each.id == wanted), None)
        if dropped is not None:
            raise UsageError(f"step `{wanted}` is not in the plan any more: a rewrite dropped it")
        known = ", ".join(f"{step.label} `{self.ids[step.label]}`" for step in self.plan.steps[:30])
        hint = f"the steps are {known}" if known else "the plan has no steps"
        raise UsageError(f"there is no step `{wanted}`", hint=hint)

    def case(self, subject: Subject, number: str) -> Case:
        """Return what is judged of an item."""
        for case in cases(self.plan):
            if case.subject is subject and case.number == number:
                return case
        known = ", ".join(str(each.number) for each in self.plan.postconditions)
        hint = f"the postconditions are {known}" if known else "the plan has no postconditions"
        raise UsageError(f"there is no {subject.value} {number}", hint=hint)

    # -- judging -------------------------------------------------------------------------------

    @property
    def tree(self) -> str:
        """Return the digest of the files as they are now."""
        if self._tree is None:
            bench = self._judging()
            self._tree = bench.tree.manifest(rules_of(bench, self._frozen())).digest
        return self._tree

    def judge(self, wanted: Sequence[Case]) -> list[Verdict]:
        """Run contracts now, and record what they came to."""
        found: list[Verdict] = []
        bench = self._judging()
        from planbound.usecases.baseline import baseline_tests  # noqa: PLC0415 - start-up
        from planbound.usecases.judge import Setting, judge  # noqa: PLC0415
        from planbound.usecases.verdict_events import proof_details, verdict_draft  # noqa: PLC0415

        setting = Setting(
            frozen=self._frozen(),
            # What people and other plans changed since an approval, before the agent came, is not
            # the agent's: of their plans the judges are compared, and not every file.
            scope=(plan_scope if self.state.origin == TOOLS else judge_scope)(self.plan),
            earlier=self.desk.earlier(self.slug),
            before=self.before,
            tests=partial(baseline_tests, self.desk.journal, self.slug),
        )
        self._tree = None
        for verdict in judge(bench, self._announced(wanted), setting):
            named = verdict
            if verdict.subject is Subject.STEP:
                named = verdict._replace(id=self.ids[verdict.number])
            found.append(named)
            extra: dict[str, Json] = {}
            if verdict.subject is Subject.POSTCONDITION and verdict.proof is not None:
                extra = {**proof_details(verdict.proof), "reason": verdict.reason}
            kind = EventKind.CONTRACT_EVALUATED
            self.append(verdict_draft(self.desk.recorder, kind, self.slug, named, extra))
        for case in wanted:
            probe = self.state.probes.get(f"{case.subject.value} {case.number}")
            if probe is not None and not _has_command(case):
                self._announce(case)
                self._probe(case, probe)
        return found

    def judge_start(
        self, wanted: Sequence[Case], *, within: float | None = None, late: bool = False
    ) -> None:
        """Judge preconditions, and record what they came to; not for longer than `within` seconds.

        What is cut off then was judged by nobody. A precondition may be about what is not in the
        files, so that red and green on the same files is not flaky, but a service that came up.
        """
        bench, end = self._judging(), None if within is None else time.monotonic() + within
        from planbound.usecases.judge import Setting, judge  # noqa: PLC0415 - start-up
        from planbound.usecases.verdict_events import verdict_draft  # noqa: PLC0415

        setting = Setting(frozen=self._frozen(), scope=Scope(None))
        extra: dict[str, Json] = {"late": True} if late else {}
        for verdict in judge(bench, self._announced(self._until(wanted, end)), setting):
            if end is None or verdict.kind is not VerdictKind.TIMEOUT:
                kind = EventKind.CONTRACT_EVALUATED
                self.append(verdict_draft(self.desk.recorder, kind, self.slug, verdict, extra))
        for case in wanted:
            probe = self.state.probes.get(f"precondition {case.number}")
            if probe is not None and not _has_command(case):
                self._announce(case)
                self._probe(case, probe, late=late)

    def before(self, case: Case) -> Before:
        """Return what is known of a contract before the work."""
        return self.state.looks.get(self._looked_at(case), Before())

    def _looked_at(self, case: Case) -> str:
        if case.subject is Subject.STEP:
            return self.ids[case.number]
        return f"{case.subject.value} {case.number}"

    def look(self, wanted: Sequence[Case], *, within: float | None = None) -> None:
        """See how contracts are before the work, as far as nobody has; not for longer than that.

        What is cut off then has been seen by nobody.
        """
        unseen = [case for case in wanted if self._is_unseen(case)]
        commands = [case for case in unseen if _has_command(case)]
        end = None if within is None else time.monotonic() + within
        if commands:
            from planbound.usecases.baseline import observe  # noqa: PLC0415 - start-up
            from planbound.usecases.verdict_events import verdict_draft  # noqa: PLC0415

            bench = self._judging()
            bench = bench._replace(rules=rules_of(bench, self._frozen()))
            for verdict in observe(bench, self._until(commands, end)):
                if end is not None and verdict.kind is VerdictKind.TIMEOUT:
                    continue
                named = verdict
                if verdict.subject is Subject.STEP:
                    named = verdict._replace(id=self.ids[verdict.number])
                kind = EventKind.BASELINE_OBSERVED
                self.append(verdict_draft(self.desk.recorder, kind, self.slug, named))
        for case in unseen:
            probe = self.state.probes.get(f"{case.subject.value} {case.number}")
            if probe is not None and not _has_command(case):
                self._probe(case, probe, EventKind.BASELINE_OBSERVED)

    def _is_unseen(self, case: Case) -> bool:
        if case.subject is Subject.PRECONDITION or self.before(case).attempt is not None:
            return False
        states = self.state.steps if case.subject is Subject.STEP else self.state.conditions
        name = self.ids[case.number] if case.subject is Subject.STEP else case.number
        return states.get(name, Item()).passed is None

    def _until(self, wanted: Sequence[Case], end: float | None) -> Iterator[Case]:
        contracts = self.desk.configuration.contracts
        for case in wanted:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            limit = contract_seconds(case.seconds, contracts)
            yield case if left is None else case._replace(seconds=min(limit, left))

    def _announced(self, wanted: Iterable[Case]) -> Iterator[Case]:
        for case in wanted:
            if _has_command(case):
                self._announce(case)
                yield case

    def _announce(self, case: Case) -> None:
        """Note that a contract is about to run: a crash must not hide that it did."""
        step = self.step(case.number) if case.subject is Subject.STEP else None
        details: dict[str, Json] = {"subject": case.subject.value, "number": case.number}
        self.append(self.draft(EventKind.CONTRACT_STARTED, details, step))

    def _probe(
        self,
        case: Case,
        probe: Mapping[str, Json],
        kind: EventKind = EventKind.CONTRACT_EVALUATED,
        *,
        late: bool = False,
    ) -> None:
        """Look at something that is no contract, and record what was found."""
        from planbound.usecases.loop.probes import look  # noqa: PLC0415 - few plans have any

        trouble = look(self.desk.probes, probe)
        found = VerdictKind.PASS if trouble is None else VerdictKind.FAIL
        details: dict[str, Json] = {"exit_code": None, "subject": case.subject.value}
        reason = trouble or f"`{probe.get('name')}` holds"
        if kind is EventKind.CONTRACT_EVALUATED:
            # What it looks at is not in the tree: before the work that says nothing about it.
            details["tree"] = self.tree
            proof = proof_of(self.before(case), self.tree)
            usual = self.desk.configuration.baseline
            if late:
                details["late"] = True
            if trouble is not None or case.subject is Subject.PRECONDITION:
                pass
            elif case.subject is Subject.POSTCONDITION:
                from planbound.usecases.verdict_events import proof_details  # noqa: PLC0415

                details |= proof_details(proof)
            elif demands_red(case.baseline, usual) and proof.result is Result.HOLDS:
                found, reason = VerdictKind.VACUOUS, f"{proof.reason}, and red is demanded"
        details |= {"verdict": found.value, "number": case.number, "reason": reason}
        step = self.step(case.number) if case.subject is Subject.STEP else None
        task = (self.ids[step.label], step.title) if step is not None else None
        self.append(self.desk.recorder.draft(kind, self.slug, details, task=task))

    def _judging(self) -> Bench:
        if self._bench is None:
            self.desk.refuse_misplaced(self.file)
            bench = self.desk.bench()
            from planbound.usecases.run.screen import ScreenedTree  # noqa: PLC0415 - start-up

            self._bench = bench._replace(tree=ScreenedTree(bench.tree))
        return self._bench

    def _frozen(self) -> Frozen | None:
        """Return the tree before the work, with the judges as they were then."""
        from planbound.engine.judging.frozen import Frozen  # noqa: PLC0415 - start-up
        from planbound.engine.manifest import decode  # noqa: PLC0415

        key = self.state.manifest
        data = self.desk.vault.content(bytes.fromhex(key)) if key is not None else None
        if data is None:
            return None
        try:
            manifest = decode(data)
        except ValueError as error:
            raise FileProblem(f"the tree before the work cannot be used: {error}") from error
        from planbound.engine.configuration_digest import configuration_digest  # noqa: PLC0415 - start-up

        return Frozen(
            id=str(key),
            manifest=manifest,
            plan=self.digest,
            configuration=configuration_digest(self.desk.configuration),
            verdicts={},
        )


def rules_of(bench: Bench, frozen: Frozen | None) -> ScanRules:
    """Return by which rules a judgement looks at the tree, so that digests can be compared."""
    if frozen is None:
        return bench.rules
    known = frozen.manifest.entries.items()
    from planbound.engine.manifest import EntryType  # noqa: PLC0415 - start-up

    folders = frozenset(path for path, entry in known if entry.type is EntryType.DIRECTORY)
    return bench.rules._replace(not_caches=folders)


def _has_command(case: Case) -> bool:
    return isinstance(case.contract, Command)
