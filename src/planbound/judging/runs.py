"""The runs of one contract on one tree: its own, and those that follow its pass."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from planbound.cells.cell import CommandEnding, Outcome, Request
from planbound.errors import CellProblem
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.beside import Beside, Companion, StageTeller, UnclearError, jobs
from planbound.judging.canary import calls_runner
from planbound.judging.contract import JudgedContract
from planbound.judging.corroborate import (
    CanaryTrial,
    Corroboration,
    NamedRun,
    count_named,
    kept,
    not_seen_to_fail,
    run_named,
    with_added,
)
from planbound.judging.meaning import declared_tests, may_declare, meaning, required_names
from planbound.judging.mutated import mutate
from planbound.judging.unrunnable import WhereItRan, asks_only_git, asks_outside, examined
from planbound.judging.verdict import CanaryRun, VerdictReason
from planbound.judging.watched import (
    WalkedContract,
    combined,
    corroborate_watched,
    foreseen,
)
from planbound.plan.model import CaseTable
from planbound.script.project import ProjectTree
from planbound.script.runners import read_summary, required_tests, runner_of
from planbound.script.runners.mutated import MutatedTests
from planbound.script.runners.runner import (
    Canary,
    ReportedOutcome,
    ReportedTest,
    Summary,
    summary_of,
)

if TYPE_CHECKING:
    from planbound.judging.measurement import Measured

# -- run a contract as often as it takes: once or more, and once more with failing tests added ---


class Heard(NamedTuple):
    """What the contract's own run told."""

    runner: str | None
    summary: bool
    """Whether a runner said how its run went."""
    text: str | None
    """All that it printed; None: it still runs, and the others are as they are likely to be."""


_OF_ITSELF = (CommandEnding.TIMED_OUT, CommandEnding.STOPPED)
"""How a contract ends with neighbours as it does without; for all else these may be the reason."""


class ContractRuns:
    """The runs of one contract on one tree."""

    def __init__(self, contract: JudgedContract) -> None:
        self.contract = contract
        self.told = StageTeller(contract.judging, contract.stage)
        self.named: NamedRun | None = None
        self.said = ""
        """What it printed in its last run."""
        self._request = contract.request
        self._ends: list[Outcome] = []
        self.support: Corroboration | None = None
        """What was found beside the contract's own runs."""
        self.known: Measured | None = None
        """What was measured before, and is taken instead of running it."""

    def runs(self) -> tuple[Outcome, VerdictReason, Summary | None, int]:
        """Run the contract as often as is asked for; unlike ends are flaky.

        What follows a pass is run meanwhile, where that can be.
        """
        if not self._may_have_companions():
            return self._runs()
        ahead = _Ahead(self)
        self._ends.clear()
        with ahead.beside as beside:
            self._request = beside.lenient(self.contract.request)
            try:
                found = self._runs()
            except CellProblem:
                beside.contract_ended()
                if not beside.has_begun:
                    raise
                found = None
            finally:
                self._request = self.contract.request
            beside.contract_ended()
            if not self._kept_to_its_limits():
                found = None
            if found is not None and beside.has_begun:
                is_pass = found[1].kind is VerdictKind.PASS
                if self._could_meet() or (is_pass and not beside.kept_apart()):
                    found = None
                elif is_pass:
                    self.support = self._supported(found[2], ahead)
        return self._runs() if found is None else found

    def _kept_to_its_limits(self) -> bool:
        """Say whether the contract ended as it does alone, whatever it lost to its neighbours."""
        seconds = self.contract.request.limits.seconds
        return all(
            outcome.ending in _OF_ITSELF
            or (outcome.ending is CommandEnding.EXITED and outcome.duration <= seconds)
            for outcome in self._ends
        )

    def _could_meet(self) -> bool:
        """Say whether it could find out that it had neighbours, or failed for a lock of theirs.

        A pass says as little as a fail then: alone it may end otherwise.
        """
        return any(outcome.could_meet for outcome in self._ends)

    def _may_have_companions(self) -> bool:
        contract = self.contract
        if isinstance(contract.command, CaseTable) or contract.wants_failures:
            return False
        if self.known is not None:
            return False  # nothing is run
        return contract.judging.configuration.judging.canary and jobs(contract.judging) > 1

    def _runs(self) -> tuple[Outcome, VerdictReason, Summary | None, int]:
        kinds: list[VerdictKind] = []
        for number in range(self.contract.case.repeat):
            outcome, summary, finding = self._run()
            self._ends.append(outcome)
            self.said = _said(outcome)
            finding = self._examined(finding, outcome, summary)
            kinds.append(finding.kind)
            if finding.kind is not VerdictKind.PASS and number and VerdictKind.PASS in kinds:
                break
        if VerdictKind.PASS in kinds and len(set(kinds)) > 1:
            passed = kinds.count(VerdictKind.PASS)
            finding = VerdictReason(
                VerdictKind.FLAKY, f"{passed} of {len(kinds)} runs passed on one tree"
            )
        elif (
            finding.kind is VerdictKind.PASS
            and self.contract.failed_here
            # A commit, a tag or a pull request may have made it green: the files do not say.
            and not (self._asks_only_git() or asks_outside(self.contract.script))
        ):
            finding = VerdictReason(VerdictKind.FLAKY, "passed, and failed before on the same tree")
        return outcome, finding, summary, len(kinds)

    def _asks_only_git(self) -> bool:
        contract = self.contract
        tree = ProjectTree(contract.manifest.files(), contract.read_now)
        return asks_only_git(contract.script, tree)

    @property
    def has_held_out(self) -> bool:
        """Whether it judges by something that no agent ever saw."""
        return bool(self.contract.held_out)

    def _examined(
        self, finding: VerdictReason, outcome: Outcome, summary: Summary | None
    ) -> VerdictReason:
        return examined(finding, outcome, summary, self._around())

    def _run(self) -> tuple[Outcome, Summary | None, VerdictReason]:
        if not self.contract.by_name or self.contract.reporter is None:
            outcome = self._run_contract(self._request)
            summary = read_summary(_said(outcome))
            red = self.contract.wants_failures
            return (
                outcome,
                summary,
                meaning(outcome, self.contract.expectations, summary, wants_failures=red),
            )
        named = self.named = run_named(
            self._run_contract,
            self._request,
            self.contract.reporter,
            self.contract.expectations,
            self._tests_before,
        )
        return named.outcome, named.summary, named.finding

    @property
    def report(self) -> str | None:
        """Where the names of the tests are written down."""
        reporter = self.contract.reporter if self.contract.by_name else None
        return reporter.added.reports if reporter is not None else None

    def _run_contract(self, request: Request) -> Outcome:
        """Run the contract, or take what was seen when it was run on the same."""
        if self.known is not None:
            return self.known.outcome(self.report)
        outcome = self.contract.judging.cell.run(request)
        limit = self.contract.request.limits.seconds
        if outcome.ending is not CommandEnding.TIMED_OUT or request.limits.seconds == limit:
            return outcome
        # It had more time for what it lost to its neighbours: alone it takes longer than that, too.
        return outcome._replace(reason=f"ran past {limit:g} s")

    def _around(self) -> WhereItRan:
        return WhereItRan(
            network=self.contract.judging.configuration.contracts.network,
            cure=self.contract.judging.cure,
            scope=self.contract.scope,
            files=frozenset(self.contract.manifest.files()),
            read=self.contract.read,
        )

    def _tests_before(self, now: Sequence[ReportedTest]) -> Sequence[ReportedTest] | None:
        if self.contract.setting.observing:
            return now
        return kept(
            self.contract.judging.vault, self.contract.setting.tests.get(self.contract.digest)
        )

    def corroborate(self, summary: Summary | None) -> Corroboration:
        """Return what the runs show in which tests are made to fail."""
        if self.known is not None:
            return self.known.support
        return self.support or self._supported(summary, None)

    def _supported(self, summary: Summary | None, ahead: _Ahead | None) -> Corroboration:
        """Return that, with what was found ahead of the contract's end where it holds."""
        heard = Heard(self.contract.runner(summary), summary is not None, self.said)
        found = None if ahead is None else ahead.seen(heard)
        if found is None:
            found = self.tell_canary(self.seen_to_fail(heard))
        is_doubtful = found.canary in {CanaryRun.GREEN, CanaryRun.CUT}
        if not self.tries_values or is_doubtful:
            return found
        # What knows how shells compare is needed for a pass only.
        from planbound.judging.mutated_shell import mutate_shell, together  # noqa: PLC0415 - see above

        self.told.tell("values", "changed values")
        # Whether tests can tell right from wrong is asked where a failure is seen to arrive, and
        # where no failing test could be added.
        rules = self.contract.judging.configuration.judging
        asked = {CanaryRun.RED, CanaryRun.OVER, CanaryRun.LOST}
        if rules.canary and not self.contract.wants_failures:
            asked.add(CanaryRun.NONE)
        tests = None
        if found.canary in asked:
            known = None if ahead is None else ahead.tests()
            tests = known[0] if known else mutate(self.contract)
            tests = self._of_passing(tests) if tests is not None else None
        # A precondition says nothing of the work.
        is_before = self.contract.case.subject is SubjectKind.PRECONDITION
        # Not beside others: they have only so many seconds.
        shell = None if is_before else mutate_shell(self.contract)
        return found._replace(mutated=together(tests, shell))

    def _of_passing(self, found: MutatedTests) -> MutatedTests:
        """Leave out who failed anyway: a wrong answer may by chance be what is expected now."""
        cases = (self.named.cases if self.named is not None else None) or ()
        passed = {
            case.id.rpartition("::")[2] for case in cases if case.outcome is ReportedOutcome.PASSED
        }
        failed = {
            case.id.rpartition("::")[2] for case in cases if case.outcome is ReportedOutcome.FAILED
        } - passed
        blind, unreached = (
            tuple(name for name in names if name.rpartition("::")[2] not in failed)
            for names in (found.blind, found.unreached)
        )
        return found._replace(blind=blind, unreached=unreached)

    def tell_canary(self, found: Corroboration) -> Corroboration:
        """Tell who waits what became of the failing tests, where there were any."""
        was_made = found.canary is not CanaryRun.NONE
        self.told.tell("canary", f"canary {found.canary.value}" if was_made else "")
        return found

    @property
    def tries_values(self) -> bool:
        """Whether tests that pass are run again with other expected values."""
        rules = self.contract.judging.configuration.judging
        return rules.mutate and not self.contract.setting.observing

    def seen_to_fail(self, heard: Heard) -> Corroboration:
        """Return what the runs show with failing tests added, and what they do not show."""
        found = self._seen_to_fail(heard)
        wanted = self.contract.judging.configuration.judging.canary
        if not wanted or self.contract.wants_failures or self.contract.by_name:
            return found
        walked = foreseen(self.contract)
        return found._replace(unseen=found.unseen or walked.untried or walked.not_understood)

    def _seen_to_fail(self, heard: Heard) -> Corroboration:
        wanted = self.contract.judging.configuration.judging.canary
        # One more failing test says nothing where tests are to fail.
        if not wanted or self.contract.wants_failures:
            return Corroboration()
        # What knows all runners takes longer to load than most contracts take.
        self.told.tell("canary", "canary")
        held_out = {item.path: item.content for item in self.contract.held_out}
        held_out_tests = required_tests(self.contract.script.calls, held_out)
        walked = foreseen(self.contract)
        runner = heard.runner
        if self.contract.by_name or walked.is_single:
            found = self._with_canary(runner, heard, held_out_tests) if runner is not None else None
            # Where the runner does not find what is laid for it, every Python is watched.
            is_lost = found is not None and found.canary is CanaryRun.UNCLEAR and walked.has_runner
            if (found is not None and not is_lost) or self.contract.by_name:
                return found or Corroboration()
        seen = corroborate_watched(self.contract, self._required(), held_out_tests)
        if walked.others and not walked.is_single:
            return self._with_each(walked, seen, heard, held_out_tests)
        if walked.unwatched and not walked.is_single:
            seen = seen._replace(unseen=seen.unseen or not_seen_to_fail(walked.unwatched))
        speaks = heard.summary or walked.is_cut
        runner = runner or next(iter(walked.others), None)
        if seen.canary is CanaryRun.NONE and runner is not None and speaks:
            # The runner spoke, or could not be heard: it ran, wherever it was called.
            return self._with_canary(runner, heard, held_out_tests, anywhere=True) or seen
        return seen

    def _with_each(
        self,
        walked: WalkedContract,
        seen: Corroboration,
        heard: Heard,
        held_out_tests: Sequence[str],
    ) -> Corroboration:
        """Return what is seen where several programs judge: of each one that it can fail."""
        parts = [seen] if walked.pythons or seen.canary is not CanaryRun.NONE else []
        unseen = seen.unseen
        if walked.unwatched:
            unseen = unseen or not_seen_to_fail(walked.unwatched)
        for name in dict.fromkeys(walked.others):
            found = self._with_canary(name, heard, held_out_tests, anywhere=True)
            if found is None:
                unseen = unseen or not_seen_to_fail(name)
            else:
                parts.append(found._replace(missing=()))
        whole = combined(parts) if parts else Corroboration()
        return whole._replace(unseen=whole.unseen or unseen)

    def _required(self) -> tuple[str, ...]:
        """Return the tests that must have passed; none of a call that the contract does without."""
        # Also in scripts and recipes.
        calls = foreseen(self.contract).calls
        sure = [call for call in calls if not call.optional]
        if any(runner_of(call) is not None for call in sure):
            calls = sure
        return tuple(required_tests(calls, self.contract.required_judges))

    def _with_canary(
        self, runner: str, heard: Heard, held_out_tests: Sequence[str], *, anywhere: bool = False
    ) -> Corroboration | None:
        contract, nonce = self.contract, os.urandom(8).hex()
        self._assume(runner, nonce, heard, anywhere=anywhere)
        required = () if contract.by_name else self._required()
        canary = contract.failing_test(runner, nonce, heard.text, anywhere=anywhere)
        if canary is None:
            return None
        trial = CanaryTrial(
            runner,
            canary,
            contract.judging.cell.run(with_added(contract.request, canary)),
            contract.expectations,
            required,
            held_out=tuple(item.path for item in contract.held_out),
            held_out_tests=held_out_tests,
            by_name=contract.by_name,
            anywhere=anywhere,
        )
        if (found := trial.reported()) is not None:
            return found
        # The judges are as they were frozen: from them comes which tests must have passed.
        paths, read = contract.laid
        judges = contract.required_judges
        named = (
            () if contract.by_name else required_names(runner, contract.script, paths, read, judges)
        )
        return trial.printed(named)

    def _assume(self, runner: str, nonce: str, heard: Heard, *, anywhere: bool) -> None:
        """Take notice of which failing tests are added; see `_Ahead`."""

    def counted(self, support: Corroboration) -> int:
        """Return how many tests passed by what nobody can print: a report, or the sources."""
        if self.known is not None and self.known.counted is not None:
            return self.known.counted
        if self.named is not None and self.named.cases is not None:
            return summary_of("", self.named.cases).passed
        if support.counted is not None:
            return support.counted
        if self.contract.reporter is not None:
            return count_named(
                self.contract.judging.cell.run, self.contract.request, self.contract.reporter
            )

        if not calls_runner(
            self.contract.script, self.contract.manifest.files(), self.contract.read_now
        ):
            # Whatever was printed, nobody ran tests.
            return 0
        paths = filter(may_declare, self.contract.manifest.files())
        now = {path: self.contract.read_now(path) or b"" for path in paths}
        return declared_tests({**now, **self.contract.left_judges})


# -- what follows a pass, before anybody knows that it is one ------------------------------------


class _Ahead(ContractRuns):
    """The runs that follow a pass, begun while the contract runs.

    They are what they would be afterwards as far as what the contract prints does not matter for
    them: which runner speaks, and which files it names. That is compared when it is known.
    """

    def __init__(self, runs: ContractRuns) -> None:
        contract = runs.contract
        request = contract.request  # made once, and not in two threads
        self.beside = Beside(contract.judging.cell, request.limits.seconds)
        super().__init__(contract.in_cell(self.beside.cell))
        self.told = runs.told
        self._same: list[Callable[[str | None], bool]] = []
        self._canary = self.beside.add(Companion(self._see))
        self._tests = self.beside.add(Companion(self._try)) if runs.tries_values else None

    @cached_property
    def _expected(self) -> Heard:
        runner = self.contract.runner(None)
        return Heard(runner, runner is not None, None)

    def _see(self) -> Corroboration:
        return self.tell_canary(self.seen_to_fail(self._expected))

    def _try(self) -> MutatedTests | None:
        return mutate(self.contract)

    def seen(self, heard: Heard) -> Corroboration | None:
        """Return what the failing tests showed; None where they have to be added once more."""
        found = self._canary.found()
        if found is None or heard[:2] != self._expected[:2]:
            self._alone()
            return None
        if not all(same(heard.text) for same in self._same):
            self._alone()
            return None
        return found[0]

    def tests(self) -> tuple[MutatedTests | None] | None:
        """Return what became of the tests with other values; None where nobody knows."""
        return None if self._tests is None else self._tests.found()

    def _alone(self) -> None:
        """Wait until nothing else runs."""
        self.tests()

    def _assume(self, runner: str, nonce: str, heard: Heard, *, anywhere: bool) -> None:
        def added(said: str | None) -> Canary | None:
            return self.contract.failing_test(runner, nonce, said, anywhere=anywhere)

        known = added(heard.text)
        if known is None:
            raise UnclearError  # perhaps what it prints says where one can be added
        self._same.append(lambda said: added(said) == known)


def _said(outcome: Outcome) -> str:
    return f"{outcome.stdout.text()}\n{outcome.stderr.text()}"
