"""Judge contracts: run them where nobody can reach them, and say what was seen."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from planbound.cells.cell import CommandEnding, Outcome, Stage, evidence_reaches
from planbound.cells.isolation import Isolation
from planbound.errors import CellProblem
from planbound.journal.event import BaselineObserved, EventKind, Result, VerdictKind, replaced
from planbound.journal.record import Journal, Query
from planbound.journal.words import SubjectKind
from planbound.judging.beside import (
    StoppableCell,
    jobs,
    judged_together,
)
from planbound.judging.case import Case, Scope, covers, demands_red
from planbound.judging.context import JudgingContext
from planbound.judging.contract import JudgedContract, Setting, started_text
from planbound.judging.corroborate import CURE, Corroboration, fewest
from planbound.judging.events import note_verdict, observed
from planbound.judging.meaning import is_skipping
from planbound.judging.measurement import Recalling
from planbound.judging.outside import ANYTHING, beyond_files
from planbound.judging.reference import FrozenTree, as_it_is
from planbound.judging.runs import ContractRuns
from planbound.judging.unrunnable import may_use_python
from planbound.judging.verdict import (
    READABLE,
    CanaryRun,
    EvidenceGrounds,
    ReachedEvidence,
    Tampering,
    Verdict,
    VerdictReason,
    reached_evidence,
)
from planbound.judging.watched import (
    expected_canary,
    expected_unseen,
    foreseen,
    is_promised,
    unseen_program,
)
from planbound.plan.digest import contract_digest
from planbound.plan.model import Baseline, CaseTable, Evidence, Judged
from planbound.script.project import ProjectTree
from planbound.script.runners import required_tests
from planbound.script.runners.mutated import MutatedTests
from planbound.script.runners.runner import Summary
from planbound.script.walk import all_calls
from planbound.state.append import Recorder
from planbound.state.step import Before, Look, StepProof, proof_of
from planbound.workspace.manifest import EntryType, Manifest, changes, path_text

# -- judge contracts: run them where nobody can reach them, and say what was seen ----------------


LANGUAGES = frozenset({"", "shell", "bash", "sh", "console", "shell-session", "shellscript"})
_SHOWN = 20


def judge(
    judging: JudgingContext,
    cases: Iterable[Case],
    setting: Setting,
    seen: Manifest | None = None,
) -> Iterator[Verdict]:
    """Yield a verdict for every case with a command, each as soon as it is there.

    `seen` is the tree, where it was read and nothing was alive since that could have written to it.
    """
    judging = by_rules_of(setting, judging)
    before = as_it_is(judging, seen)
    judged = (case for case in cases if isinstance(case.contract, Judged))
    for place, case in enumerate(judged, 1):
        assert isinstance(case.contract, Judged)
        stage = Stage(place, _count(cases), first_line(case.contract.text))
        judgement = Judgement(JudgedContract(judging, case, case.contract, setting, before, stage))
        verdict = judgement.verdict()
        if judgement.is_recalled:
            yield judgement.noted(verdict)  # nothing ran that could have changed anything
            continue
        after = judging.tree.manifest(judging.rules)
        if after.digest != before.digest:
            verdict = meanwhile(verdict, before, after)
        yield judgement.noted(verdict, is_same=after.looks == before.looks)
        before = after


def judgement_of(
    judging: JudgingContext, case: Case, setting: Setting, before: Manifest
) -> Judgement:
    assert isinstance(case.contract, Judged)
    stage = Stage(1, 1, first_line(case.contract.text))
    return Judgement(JudgedContract(judging, case, case.contract, setting, before, stage))


def by_rules_of(setting: Setting, judging: JudgingContext) -> JudgingContext:
    """Return the same, but that a folder does not become a cache by saying so."""
    if setting.frozen is None:
        return judging
    folders = setting.frozen.manifest.folders()
    return judging._replace(rules=judging.rules._replace(not_caches=folders))


def _count(cases: Iterable[Case]) -> int:
    """Return how many contracts there are; 0 where that is not known beforehand."""
    if not isinstance(cases, Sequence):
        return 0
    return sum(isinstance(case.contract, Judged) for case in cases)


def first_line(command: str) -> str:
    lines = command.strip().splitlines()
    return lines[0] + (" …" if len(lines) > 1 else "") if lines else ""


def meanwhile(verdict: Verdict, before: Manifest, after: Manifest) -> Verdict:
    """Return a verdict on a tree that was another one afterwards: nobody knows what it is about.

    What git does by itself, such as packing, is about no file that anybody works on.
    """
    summaries = {EntryType.SUMMARY}
    paths = [
        change.path
        for change in changes(before, after)
        if not (
            f"/{change.path}".endswith("/.git")
            and {each.type for each in (change.before, change.after) if each} == summaries
        )
    ]
    if not paths and before.truncated == after.truncated:
        return verdict
    return verdict._replace(
        kind=VerdictKind.TAMPERED,
        reason=f"the workspace changed while it was judged: {_listed(paths)}",
        tampered=(
            *verdict.tampered,
            *(Tampering(path, "changed meanwhile") for path in paths[:_SHOWN]),
        ),
    )


def _runs_of(contract: JudgedContract) -> ContractRuns:
    if not isinstance(contract.command, CaseTable):
        return ContractRuns(contract)
    from planbound.judging.check import CheckRuns  # noqa: PLC0415 - few plans have one

    return CheckRuns(contract)


class Judgement:
    """What the runs of a contract come to."""

    def __init__(self, contract: JudgedContract) -> None:
        self.contract = contract
        self.runs = _runs_of(contract)
        self.support = Corroboration()
        self.recalling: Recalling | None = None
        self.counted: int | None = None
        """How many tests passed, where that was asked."""
        self.beyond: str | None = None
        """What it depends on besides files, as it was before it ran."""

    @property
    def is_recalled(self) -> bool:
        """Whether nothing was run, because it was on the same before."""
        return self.runs.known is not None

    def noted(self, verdict: Verdict, *, is_same: bool = True) -> Verdict:
        """Return a verdict that says what it is founded on; keep that, if nothing changed since."""
        if self.recalling is not None:
            cell = self.contract.judging.cell
            if isinstance(cell, StoppableCell) and cell.could_meet:
                is_same = False  # it is judged again alone, and may end otherwise there
            given = (verdict, self.support, self.counted)
            verdict = self.recalling.noted_in(*given, is_same=is_same)
        self.contract.let_go()
        return verdict

    def verdict(self) -> Verdict:
        self.contract.judging.on_stage(self.contract.stage)
        try:
            return self._verdict()
        finally:
            self.contract.judging.on_stage(None)

    def _verdict(self) -> Verdict:
        refusal = self._refusal() or self._unnamed()
        if refusal is not None:
            return self._made(
                refusal, None, None, ReachedEvidence(Evidence.E0, ()), Corroboration()
            )
        support, few = Corroboration(), None
        if not self.contract.setting.observing:
            self.beyond = beyond_files(self.contract)
        recalling = Recalling(self.contract, self.runs)
        try:
            outcome, finding, summary, runs = self.runs.runs()
            if finding.kind is VerdictKind.PASS:
                support = self.runs.corroborate(summary)
                few = self._too_few(support)
        except CellProblem as problem:
            # Cells can be made here, but not of this tree: nobody can say what the contract says.
            refusal = VerdictReason(VerdictKind.UNRUNNABLE, problem.message)
            return self._made(
                refusal, None, None, ReachedEvidence(Evidence.E0, ()), Corroboration()
            )
        runner = self.contract.runner(summary)
        summary = summary or support.summary
        basis = reached_evidence(
            EvidenceGrounds(
                isolation=self.contract.judging.cell.isolation,
                baseline=self.contract.baseline(),
                runner=runner,
                summary=summary,
                missing_tests=support.missing,
                fewer_tests=self._fewer_tests() if finding.kind is VerdictKind.PASS else 0,
                skipped_tests=self._skips(summary),
                canary=support.canary,
                unseen=self._unseen(finding),
                unseen_part=support.unseen,
                untried=_untried(support),
                held_out=self.runs.has_held_out,
                apart=isinstance(self.contract.command, CaseTable),
                held_out_seen=support.held_out_seen,
            )
        )
        if finding.kind is VerdictKind.PASS:
            finding = self._doubts(finding, summary, runner, support, basis)
        if finding.kind is VerdictKind.PASS:
            finding = few or finding
        if outcome.ending is CommandEnding.NOT_STARTED:
            basis = ReachedEvidence(Evidence.E0, ())
        finding = self._violation(finding, outcome)
        if finding.kind is not VerdictKind.PASS:
            basis = ReachedEvidence(min(basis.level, Evidence.E2, key=_value), ())
        self.recalling, self.support = recalling, support
        return self._made(finding, outcome, summary, basis, support)._replace(runs=runs)

    def _unseen(self, finding: VerdictReason) -> str:
        """Return a program that its own code could have ended; of a table all is seen."""
        is_check = isinstance(self.contract.command, CaseTable)
        if is_check or finding.kind is not VerdictKind.PASS:
            return ""
        return unseen_program(self.contract)

    def _refusal(self) -> VerdictReason | None:
        """Return why the contract is not run at all."""
        if self.contract.manifest.truncated:
            return VerdictReason(
                VerdictKind.UNRUNNABLE,
                f"the workspace could not be read to its end: {self.contract.manifest.truncated}",
            )
        is_check = isinstance(self.contract.command, CaseTable)
        if self.contract.command.language not in LANGUAGES and not is_check:
            return VerdictReason(
                VerdictKind.UNRUNNABLE, f"`{self.contract.command.language}` is not run by bash"
            )
        if self.contract.judging.fault is not None and may_use_python(self.contract.script):
            # Never silently another Python than the project's.
            return VerdictReason(VerdictKind.UNRUNNABLE, self.contract.judging.fault[0])
        started = started_text(self.contract.command)
        fault = self.contract.judging.syntax.faults([started]).get(started)
        if fault is not None:
            return VerdictReason(VerdictKind.UNRUNNABLE, f"line {fault.line + 1}: {fault.message}")
        return None

    def _unnamed(self) -> VerdictReason | None:
        """Return that tests are to be judged by their names, and nothing has these."""
        if not self.contract.by_name or self.contract.reporter is not None:
            return None
        return VerdictReason(VerdictKind.UNRUNNABLE, "nothing names the tests of this command")

    def _fewer_tests(self) -> int:
        """Return how many tests the step took away, of those that it may change."""
        if self.contract.left_judges == self.contract.frozen_judges:
            return 0
        before = required_tests(self.contract.script.calls, self.contract.frozen_judges)
        return len(before) - len(
            required_tests(self.contract.script.calls, self.contract.left_judges)
        )

    def _skips(self, summary: Summary | None) -> int:
        """Return how many tests were skipped, where no judge speaks of skipping."""
        if summary is None or not summary.skipped or self.contract.setting.frozen is None:
            return 0
        said = any(is_skipping(content) for content in self.contract.frozen_judges.values())
        return 0 if said else summary.skipped

    def _doubts(
        self,
        finding: VerdictReason,
        summary: Summary | None,
        runner: str | None,
        support: Corroboration,
        basis: ReachedEvidence,
    ) -> VerdictReason:
        """Return the finding, or why a pass is none."""
        doubt = _of_canary(support, runner)
        if doubt is not None:
            return doubt
        if runner is not None and summary is None and self._speaks():
            return VerdictReason(VerdictKind.VACUOUS, f"{runner} does not say that any test passed")
        if support.missing:
            return VerdictReason(
                VerdictKind.VACUOUS, f"required tests did not pass: {_listed(support.missing)}"
            )
        proof = self._proof(finding)
        if proof is not None and proof.result is Result.HOLDS and self._demands_red():
            return VerdictReason(VerdictKind.VACUOUS, f"{proof.reason}, and red is demanded")
        wanted = self._wanted(support)
        if wanted is not None and not evidence_reaches(basis.level, wanted):
            return VerdictReason(
                VerdictKind.VACUOUS,
                f"{wanted.value} is demanded, {basis.level.value} reached: "
                + "; ".join(basis.short_of),
            )
        return finding

    def _wanted(self, support: Corroboration) -> Evidence | None:
        """Return the level that is demanded: where nobody says, what can be reached.

        That is what a failing test showed, and what the gate's sheet said that it would show.
        """
        rules = self.contract.judging.configuration.judging
        demanded = self.contract.case.evidence or rules.evidence
        if demanded or not self.contract.judging.cell.isolation.reaches(Isolation.I1):
            return demanded
        shows = support.canary in {CanaryRun.RED, CanaryRun.UNCLEAR} and not support.unseen
        return Evidence.E3 if shows or self._is_promised() else None

    def _is_promised(self) -> bool:
        """Say whether E3 can be reached by all that was known before the work."""
        contract = self.contract
        if not contract.judging.configuration.judging.canary:
            return False
        is_check = isinstance(contract.command, CaseTable)
        if is_check or contract.by_name or not is_promised(contract):
            return False
        reachable = self._reachable(contract.baseline())
        return evidence_reaches(reachable.level, Evidence.E3)

    def _too_few(self, support: Corroboration) -> VerdictReason | None:
        """Return that fewer tests can be counted than are expected, whatever was printed."""
        minimum = fewest(self.contract.expectations)
        # At the baseline nothing is demanded, and nobody has worked yet.
        demanded = (
            self.contract.judging.configuration.judging.canary
            or not self.contract.setting.observing
        )
        if not minimum or not demanded:
            return None
        counted = self.counted = self.runs.counted(support)
        reason = f"{minimum} tests or more are expected, and it prints so; {counted} can be counted"
        return VerdictReason(VerdictKind.VACUOUS, reason) if counted < minimum else None

    def _speaks(self) -> bool:
        """Say whether what the runner prints is to be seen."""
        tree = ProjectTree(self.contract.manifest.files(), self.contract.read_now)
        return not foreseen(self.contract).is_cut and not any(
            redirect.operator.startswith((">", "&"))
            for call in all_calls(self.contract.script, tree)
            for redirect in call.redirects
        )

    def _violation(self, finding: VerdictReason, outcome: Outcome | None) -> VerdictReason:
        """Return the finding, or what the work did that it may not do."""
        if self.contract.setting.plan_changed:
            return VerdictReason(VerdictKind.TAMPERED, self.contract.setting.plan_changed)
        if outcome is not None and outcome.trespassed:
            named = _listed(outcome.trespassed)
            return VerdictReason(VerdictKind.TAMPERED, f"the run wrote to its own judges: {named}")
        protection = self.contract.protection
        # What was done is said by its file, rather than by what came of it.
        if protection.tampered:
            named = _listed([f"{item.path} ({item.what})" for item in protection.tampered])
            return VerdictReason(
                VerdictKind.TAMPERED, f"judges are not as they were frozen: {named}"
            )
        if protection.outside:
            return VerdictReason(
                VerdictKind.OUT_OF_SCOPE,
                f"changed outside `touches`: {_listed(protection.outside)}",
            )
        return finding

    def _made(
        self,
        finding: VerdictReason,
        outcome: Outcome | None,
        summary: Summary | None,
        basis: ReachedEvidence,
        support: Corroboration,
    ) -> Verdict:
        case = self.contract.case
        verdict = Verdict(
            kind=finding.kind,
            reason=finding.reason,
            subject=case.subject,
            number=case.number,
            id=case.id,
            title=case.title,
            contract=self.contract.digest,
            tree=self.contract.manifest.digest,
            isolation=self.contract.judging.cell.isolation,
            evidence=basis.level,
            short_of=basis.short_of,
            outcome=outcome,
            summary=summary,
            canary=support.canary,
            baseline=self.contract.baseline(),
            proof=self._proof(finding),
            tampered=tuple(self._with_diff(item) for item in self.contract.protection.tampered),
            outside=self.contract.protection.outside,
            left_out=self.contract.protection.ignored,
            notes=(*self._notes(finding), *_cut_off(support)),
            mutated=support.mutated,
            lacks=finding.lacks,
            reachable=self._reachable(finding.kind) if self.contract.setting.observing else None,
        )
        if self.beyond is not None:
            is_same = beyond_files(self.contract) == self.beyond
            verdict = verdict._replace(beyond=self.beyond if is_same else ANYTHING)
        named = self.runs.named
        return verdict if named is None else named.noted_in(verdict, self.contract.judging.vault)

    def _reachable(self, before: VerdictKind | None) -> ReachedEvidence:
        """Return the level that a pass can have after the work; `before`: what was said then."""
        contract = self.contract
        apart = isinstance(contract.command, CaseTable)
        adds = contract.setting.adds_tests and not contract.by_name and not apart
        runner = contract.runner(None)
        return reached_evidence(
            EvidenceGrounds(
                isolation=contract.judging.cell.isolation,
                baseline=before,
                runner=runner,
                summary=Summary(runner or "", passed=1),
                canary=expected_canary(contract) if adds else CanaryRun.NONE,
                unseen="" if apart else unseen_program(contract),
                unseen_part=expected_unseen(contract) if adds else "",
                held_out=self.runs.has_held_out,
                apart=apart,
                held_out_seen=True,
            )
        )

    def _notes(self, finding: VerdictReason) -> Iterator[str]:
        if (
            self.contract.judging.fault is not None
            and finding.reason == self.contract.judging.fault[0]
        ):
            yield self.contract.judging.fault[1]
        if "names the tests" in finding.reason or "can be counted" in finding.reason:
            yield CURE
        if READABLE in finding.reason:
            yield "a `check` with cases that are held out reaches E4"
        open_ = sorted(
            path for path in self.contract.judges.files if covers(self.contract.setting.scope, path)
        )
        if open_:
            yield f"`touches` lets the step edit its own judges: {_listed(open_)}"
        if self.contract.protection.own:
            yield f"it did edit its own judges: {_listed(self.contract.protection.own)}"
        for item in self.contract.protection.flagged[:_SHOWN]:
            yield f"left out of the tree: {item.path} ({item.what.removeprefix('added: ')})"
        named = {
            item.path
            for item in (*self.contract.protection.flagged, *self.contract.protection.tampered)
        }
        for path in sorted(
            map(path_text, self.contract.manifest.left_out & self.contract.manifest.entries.keys())
        ):
            if path not in named:
                yield f"left out of the tree: {path} (it is called as a cache is, and is none)"

    def _proof(self, finding: VerdictReason) -> StepProof | None:
        """Return what a pass shows about the work; a precondition is about none."""
        if (
            finding.kind is not VerdictKind.PASS
            or self.contract.case.subject is SubjectKind.PRECONDITION
        ):
            return None
        if self.contract.failed_here:
            failed = Look(VerdictKind.FAIL, self.contract.manifest.digest)
            return proof_of(Before(failed), self.contract.manifest.digest)
        if self.contract.setting.before is not None:
            return proof_of(
                self.contract.setting.before(self.contract.case), self.contract.manifest.digest
            )
        known, frozen = self.contract.baseline(), self.contract.setting.frozen
        look = Look(known, frozen.manifest.digest) if known and frozen else None
        return proof_of(Before(look), self.contract.manifest.digest)

    def _demands_red(self) -> bool:
        if self.contract.case.subject is not SubjectKind.STEP:
            return False
        usual = self.contract.judging.configuration.baseline
        return demands_red(self.contract.case.baseline, usual)

    def _with_diff(self, item: Tampering) -> Tampering:
        from planbound.judging.restore import difference  # noqa: PLC0415 - seldom needed

        return item._replace(
            diff=difference(
                item.path, self.contract.read(item.path), self.contract.read_now(item.path)
            )
        )


def _of_canary(support: Corroboration, runner: str | None) -> VerdictReason | None:
    """Return why a pass is none, by the run in which something was made to fail."""
    match support.canary:
        case CanaryRun.GREEN:
            who = f"{runner} is subverted" if runner else "it cannot fail"
            reason = f"it still passes with a failing test added: {who}"
            return VerdictReason(VerdictKind.TAMPERED, reason)
        case CanaryRun.CUT:
            return VerdictReason(VerdictKind.TAMPERED, support.why)
        case _:
            return _of_changed_values(support)


def _cut_off(support: Corroboration) -> Iterator[str]:
    """Yield that nobody knows whether the tests notice other values, where that is so."""
    if why := _untried(support):
        yield f"{why}: whether the tests notice is not known"


def _untried(support: Corroboration) -> str:
    """Return why a run with other values shows nothing; empty where it does."""
    found = support.mutated or MutatedTests()
    if found.is_cut_off:
        return "with other expected values it ran out of time"
    if found.unfinished:
        return f"with other expected values it ended in the middle of {found.unfinished[0]}"
    if found.is_empty:
        return "with other expected values nobody saw a test or a program that judges"
    if found.is_full:
        return "with other expected values it started more processes than are watched"
    if found.uncompared and not found.sensitive:
        return "with other expected values no test came to its comparisons"
    return ""


def _of_changed_values(support: Corroboration) -> VerdictReason | None:
    """Return that there are tests which pass whatever they expect."""
    found = support.mutated or MutatedTests()
    if found.answered and not found.blind:
        count = len(found.answered)
        who, own = ("1 test was", "its own") if count == 1 else (f"{count} tests were", "their own")
        reason = f"{who} answered from {own} source: {_listed(found.answered)}"
        return VerdictReason(VerdictKind.TAMPERED, reason)
    if found.unreached:
        count = len(found.unreached)
        who = "1 test passed although it was made to fail"
        if count > 1:
            who = f"{count} tests passed although they were made to fail"
        return VerdictReason(VerdictKind.TAMPERED, f"{who}: {_listed(found.unreached)}")
    blind = found.blind
    if not blind:
        return None
    kind = found.kind
    who = f"1 {kind} cannot fail" if len(blind) == 1 else f"{len(blind)} {kind}s cannot fail"
    return VerdictReason(VerdictKind.TAMPERED, f"{who}: {_listed(blind)}")


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:5])
    return shown if len(items) <= 5 else f"{shown} and {len(items) - 5} more"


def _value(level: Evidence) -> str:
    return level.value


# -- look which contracts are red before any work, and put that on record ------------------------


class Taken(NamedTuple):
    """What a baseline is of."""

    tree: FrozenTree
    plan: str
    """The digest of the plan."""
    configuration: str
    """The digest of the configuration that contracts run under."""


def observe(
    judging: JudgingContext, cases: Iterable[Case], seen: Manifest | None = None
) -> Iterator[Verdict]:
    """Yield what every contract says now, of which nothing is demanded; `seen` is as in `judge`."""
    plain: Iterable[Case] = map(undemanded, cases)
    if isinstance(cases, Sequence):
        plain = list(plain)  # who is told of the progress knows how many there are
    setting = look_setting(judging)
    judging = undemanding(judging)
    judged = (
        [case for case in plain if isinstance(case.contract, Judged)]
        if isinstance(plain, list)
        else []
    )
    if len(judged) > 1 and jobs(judging) > 1:
        yield from _together(judging, judged, setting)
    else:
        yield from judge(judging, plain, setting, seen)


def undemanded(case: Case) -> Case:
    return case._replace(evidence=None, baseline=Baseline.ANY)


def look_setting(judging: JudgingContext) -> Setting:
    """Return the setting of a look before the work: there is nothing to compare with."""
    adds = judging.configuration.judging.canary
    return Setting(frozen=None, scope=Scope(None), observing=True, adds_tests=adds)


def _together(
    judging: JudgingContext, cases: Sequence[Case], setting: Setting
) -> Iterator[Verdict]:
    """Yield what contracts say that run side by side; what stands there twice follows its first."""
    firsts = {
        contract_digest(case.contract): case
        for case in reversed(cases)
        if isinstance(case.contract, Judged)
    }
    chosen = [case for case in cases if case in firsts.values()]
    found = judged_together(
        judging, chosen, lambda there, case: next(judge(there, [case], setting))
    )
    for case in cases:
        yield next(found) if case in chosen else next(judge(judging, [case], setting))


def undemanding(judging: JudgingContext) -> JudgingContext:
    """Return the same, but that no evidence is demanded, and no failing tests are added."""
    rules = replace(judging.configuration.judging, canary=False, evidence=None)
    return judging._replace(configuration=replace(judging.configuration, judging=rules))


def note_baseline(recorder: Recorder, slug: str, taken: Taken, verdicts: Iterable[Verdict]) -> None:
    """Put a baseline on record: from now on it is what the workspace is compared with."""
    shared = os.urandom(16).hex()
    for verdict in verdicts:
        event = replaced(
            observed(verdict, recorder.redactor),
            baseline=shared,
            plan_digest=taken.plan,
            configuration=taken.configuration,
            manifest=taken.tree.key,
        )
        note_verdict(recorder, slug, verdict, event)


def baseline_tests(journal: Journal | None, slug: str) -> Mapping[str, str | None]:
    """Return where the tests are kept that the last baseline saw, by the contract's digest."""
    found: dict[str, str | None] = {}
    kinds = (EventKind.BASELINE_OBSERVED, EventKind.PLAN_CREATED)
    for record in journal.read(Query(plan=slug, events=kinds)) if journal else ():
        event = record.event
        if not isinstance(event, BaselineObserved):
            found = {}
        elif event.tests is not None:
            found[str(event.contract)] = event.tests.names
    return found
