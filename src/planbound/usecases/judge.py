"""Judge contracts: run them where nobody can reach them, and say what was seen."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from planbound.engine.judging.case import Case, demands_red
from planbound.engine.judging.evidence import Founded, Grounds, founded
from planbound.engine.judging.frozen import Frozen
from planbound.engine.judging.judges import Judges
from planbound.engine.judging.level import evidence_reaches
from planbound.engine.judging.meaning import meaning
from planbound.engine.judging.outcome import Ending, Outcome
from planbound.engine.judging.proof import Before, Look, Proof, Result, proof_of
from planbound.engine.judging.protection import Protection, new_caches, protect
from planbound.engine.judging.scope import Scope, covers
from planbound.engine.judging.summary import Case as TestCase
from planbound.engine.judging.summary import Summary, read_summary
from planbound.engine.judging.unrunnable import (
    Surroundings,
    asks_only_git,
    asks_outside,
    examined,
    may_use_python,
)
from planbound.engine.judging.verdict import (
    CanaryRun,
    Finding,
    Subject,
    Tampering,
    Verdict,
    VerdictKind,
)
from planbound.engine.manifest import EntryType, Manifest, changes, path_text
from planbound.errors import CellProblem
from planbound.plan.command import read_script
from planbound.plan.digest import contract_digest
from planbound.plan.model import Command, Evidence
from planbound.ports.cell import Laid, Request
from planbound.source.pattern import lazy_pattern
from planbound.usecases.bench import Bench, Stage
from planbound.usecases.contract_request import contract_request
from planbound.usecases.corroboration import Corroboration
from planbound.usecases.frozen_judges import judges_of, read_frozen
from planbound.usecases.named_tests import (
    CURE,
    NamedRun,
    are_named,
    count_named,
    fewest,
    kept,
    run_named,
    summary_of,
)

if TYPE_CHECKING:  # what knows all runners takes its time to load
    from planbound.engine.judging.reporters import Reporter

LANGUAGES = frozenset({"", "shell", "bash", "sh", "console", "shell-session", "shellscript"})
_SHOWN = 20
_UNSEEN = Manifest({}, digest="")
"""Of a tree that nobody looked at."""
_NO_PARSE = lazy_pattern(
    r"(?m)^/bin/bash: -c: (line \d{1,9}: (?:syntax error|unexpected EOF)[^\n]{0,300})$"
)


class Setting(NamedTuple):
    """What is the same for all contracts that are judged together."""

    frozen: Frozen | None
    scope: Scope
    plan_changed: str | None = None
    """Why nothing can pass: the plan or the configuration is not the one that was frozen."""
    earlier: Callable[[str, str], frozenset[str]] = lambda _contract, _tree: frozenset()
    """The verdicts that a contract had on a tree before, by their digests."""
    before: Callable[[Case], Before] | None = None
    """What is known of a contract before the work; None: what the frozen tree remembers."""
    tests: Callable[[str], str | None] = lambda _contract: None
    """Where the tests of a contract's baseline are kept, by its digest."""
    observing: bool = False
    """Whether this is the baseline itself: there is nothing to compare with."""


def judge(bench: Bench, cases: Iterable[Case], setting: Setting) -> Iterator[Verdict]:
    """Yield a verdict for every case with a command, each as soon as it is there."""
    if setting.frozen is not None:
        # A folder does not become a cache by saying so.
        known = setting.frozen.manifest.entries.items()
        folders = frozenset(path for path, entry in known if entry.type is EntryType.DIRECTORY)
        bench = bench._replace(rules=bench.rules._replace(not_caches=folders))
    before = _UNSEEN if bench.bare else bench.tree.manifest(bench.rules)
    judged = (case for case in cases if isinstance(case.contract, Command))
    for place, case in enumerate(judged, 1):
        assert isinstance(case.contract, Command)
        stage = Stage(place, _count(cases), _first_line(case.contract.text))
        verdict = _Judgement(bench, case, case.contract, setting, before, stage).verdict()
        if bench.bare:
            yield verdict
            continue
        after = bench.tree.manifest(bench.rules)
        yield _meanwhile(verdict, before, after) if after.digest != before.digest else verdict
        before = after


def _count(cases: Iterable[Case]) -> int:
    """Return how many contracts there are; 0 where that is not known beforehand."""
    if not isinstance(cases, Sequence):
        return 0
    return sum(isinstance(case.contract, Command) for case in cases)


def _first_line(command: str) -> str:
    lines = command.strip().splitlines()
    return lines[0] + (" …" if len(lines) > 1 else "") if lines else ""


def _meanwhile(verdict: Verdict, before: Manifest, after: Manifest) -> Verdict:
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


class _Judgement:
    """One contract on one tree."""

    def __init__(
        self,
        bench: Bench,
        case: Case,
        command: Command,
        setting: Setting,
        before: Manifest,
        stage: Stage,
    ) -> None:
        self.bench = bench
        self.case = case
        self.command = command
        self.setting = setting
        self.before = before
        self.stage = stage
        self.expectations = [item.value for item in command.expectations]
        self.script = read_script(command.text)
        self.digest = contract_digest(command)
        self.held_out = bench.held_out(self.script)
        self.by_name = are_named(self.expectations)
        self.named: NamedRun | None = None
        self.judges = self._judges()
        self.protection = self._protection()

    @cached_property
    def request(self) -> Request:
        """Return what the cell is asked to run."""
        restored = [
            Laid(path, content, entry.mode)
            for path, entry in self.protection.restored
            if (content := self._read(path)) is not None
        ]
        return contract_request(
            self.bench,
            self.case,
            self.command,
            before=self.before,
            lay=(*restored, *self.held_out),
            remove=self.protection.removed,
        )._replace(watched=tuple(sorted(self.judges.files - set(self.protection.own))))

    # -- what it is judged by ------------------------------------------------------------------

    def _judges(self) -> Judges:
        frozen = self.setting.frozen
        if frozen is None or self.bench.bare or self.before.truncated:
            return Judges(frozenset(), frozenset(), frozenset())
        return judges_of([self.case], frozen.manifest, self._read)

    def _read(self, path: str) -> bytes | None:
        """Return a file as it was frozen; as it is now where nothing was."""
        frozen = self.setting.frozen
        if frozen is None:
            return self._read_now(path)
        content = read_frozen(frozen.manifest, self.bench.vault, path)
        entry = frozen.manifest.entry(path)
        # What is too large for the vault may still be as it was.
        return self.bench.tree.content(path, entry) if content is None and entry else content

    def _protection(self) -> Protection:
        frozen = self.setting.frozen
        if frozen is None or self.bench.bare or self.before.truncated:
            return Protection()
        found = (*changes(frozen.manifest, self.before), *new_caches(frozen.manifest, self.before))
        return protect(found, self.judges, self.setting.scope)

    # -- the verdict ---------------------------------------------------------------------------

    def verdict(self) -> Verdict:
        self.bench.told(self.stage)
        try:
            return self._verdict()
        finally:
            self.bench.told(None)

    def _verdict(self) -> Verdict:
        refusal = self._refusal() or self._unnamed()
        if refusal is not None:
            return self._made(refusal, None, None, Founded(Evidence.E0, ()), Corroboration())
        support, few = Corroboration(), None
        try:
            outcome, finding, summary, runs = self._runs()
            if finding.kind is VerdictKind.PASS:
                support = self._corroborate(summary)
                few = self._too_few(support)
        except CellProblem as problem:
            # Cells can be made here, but not of this tree: nobody can say what the contract says.
            refusal = Finding(VerdictKind.UNRUNNABLE, problem.message)
            return self._made(refusal, None, None, Founded(Evidence.E0, ()), Corroboration())
        runner = self._runner(summary)
        summary = summary or support.summary
        basis = founded(
            Grounds(
                isolation=self.bench.cell.isolation,
                baseline=self._baseline(),
                runner=runner,
                summary=summary,
                missing_tests=support.missing,
                fewer_tests=self._fewer_tests() if finding.kind is VerdictKind.PASS else 0,
                skipped_tests=self._skips(summary),
                canary=support.canary,
                held_out=bool(self.held_out),
                held_out_seen=support.held_out_seen,
            )
        )
        if finding.kind is VerdictKind.PASS:
            finding = self._doubts(finding, summary, runner, support, basis)
        if finding.kind is VerdictKind.PASS:
            finding = few or finding
        if outcome.ending is Ending.NOT_STARTED:
            basis = Founded(Evidence.E0, ())
        finding = self._trespass(finding, outcome)
        if finding.kind is not VerdictKind.PASS:
            basis = Founded(min(basis.level, Evidence.E2, key=_value), ())
        return self._made(finding, outcome, summary, basis, support)._replace(runs=runs)

    def _refusal(self) -> Finding | None:
        """Return why the contract is not run at all."""
        if self.before.truncated:
            return Finding(
                VerdictKind.UNRUNNABLE,
                f"the workspace could not be read to its end: {self.before.truncated}",
            )
        if self.command.language not in LANGUAGES:
            return Finding(VerdictKind.UNRUNNABLE, f"`{self.command.language}` is not run by bash")
        if self.bench.fault is not None and may_use_python(self.script):
            # Never silently another Python than the project's.
            return Finding(VerdictKind.UNRUNNABLE, self.bench.fault[0])
        if self.bench.bare:
            return None  # a process for bash's opinion takes longer than most contracts
        fault = self.bench.syntax.faults([self.command.text]).get(self.command.text)
        if fault is not None:
            return Finding(VerdictKind.UNRUNNABLE, f"line {fault.line + 1}: {fault.message}")
        return None

    def _unnamed(self) -> Finding | None:
        """Return that tests are to be judged by their names, and nothing has these."""
        if not self.by_name or not (self.bench.bare or self.reporter is None):
            return None
        where = "a plain process" if self.bench.bare else "this command"
        return Finding(VerdictKind.UNRUNNABLE, f"nothing names the tests of {where}")

    def _runs(self) -> tuple[Outcome, Finding, Summary | None, int]:
        """Run the contract as often as is asked for; unlike ends are flaky."""
        kinds: list[VerdictKind] = []
        for number in range(self.case.repeat):
            outcome, summary, finding = self._run()
            finding = self._parsed(finding, outcome)
            finding = examined(finding, outcome, summary, self._around())
            kinds.append(finding.kind)
            if finding.kind is not VerdictKind.PASS and number and VerdictKind.PASS in kinds:
                break
        if VerdictKind.PASS in kinds and len(set(kinds)) > 1:
            passed = kinds.count(VerdictKind.PASS)
            finding = Finding(
                VerdictKind.FLAKY, f"{passed} of {len(kinds)} runs passed on one tree"
            )
        elif (
            finding.kind is VerdictKind.PASS
            and self._failed_here
            # A commit, a tag or a pull request may have made it green: the files do not say.
            and not (asks_only_git(self.script) or asks_outside(self.script))
        ):
            finding = Finding(VerdictKind.FLAKY, "passed, and failed before on the same tree")
        return outcome, finding, summary, len(kinds)

    @cached_property
    def _failed_here(self) -> bool:
        """Whether the contract failed before on this very tree."""
        if self.bench.bare:
            return False
        earlier = self.setting.earlier(self.digest, self.before.digest)
        if self._looked_here():
            earlier |= {self._baseline() or ""}
        return VerdictKind.FAIL.value in earlier

    def _around(self) -> Surroundings:
        return Surroundings(
            network=self.bench.configuration.contracts.network,
            cure=self.bench.cure,
            scope=self.setting.scope,
            files=frozenset(self.before.files()),
            read=self._read,
        )

    def _run(self) -> tuple[Outcome, Summary | None, Finding]:
        if not self.by_name or self.reporter is None:
            outcome = self.bench.cell.run(self.request)
            summary = read_summary(_said(outcome))
            red = self.wants_failures
            return (
                outcome,
                summary,
                meaning(outcome, self.expectations, summary, wants_failures=red),
            )
        named = self.named = run_named(
            self.bench.cell.run, self.request, self.reporter, self.expectations, self._tests_before
        )
        return named.outcome, named.summary, named.finding

    @cached_property
    def wants_failures(self) -> bool:
        """Whether it passes because tests fail."""
        from planbound.engine.judging.reproduction import wants_failures  # noqa: PLC0415

        return wants_failures(self.script, self.expectations)

    def _tests_before(self, now: Sequence[TestCase]) -> Sequence[TestCase] | None:
        if self.setting.observing:
            return now
        return kept(self.bench.vault, self.setting.tests(self.digest))

    @cached_property
    def reporter(self) -> Reporter | None:
        """What makes the runner name its tests."""
        from planbound.engine.judging.reporters import reporter_for  # noqa: PLC0415 - start-up

        runner, paths, nonce = self._runner(None), self.before.files(), os.urandom(8).hex()
        if runner is None:
            return None
        return reporter_for(runner, self.script, paths, self._read_now, nonce, self._is_taken)

    def _counted(self, support: Corroboration) -> int:
        """Return how many tests passed by what nobody can print: a report, or the sources."""
        if self.named is not None and self.named.cases is not None:
            return summary_of("", self.named.cases).passed
        if support.counted is not None:
            return support.counted
        if self.reporter is not None:
            return count_named(self.bench.cell.run, self.request, self.reporter)
        from planbound.engine.judging.declared import declared_tests, may_declare  # noqa: PLC0415

        paths = filter(may_declare, self.before.files())
        now = {path: self._read_now(path) or b"" for path in paths}
        return declared_tests({**now, **self.left_judges})

    def _parsed(self, finding: Finding, outcome: Outcome) -> Finding:
        """Return the finding, or that bash could not parse the contract, where nobody asked it."""
        if not self.bench.bare or finding.kind is not VerdictKind.FAIL or not outcome.exit_code:
            return finding
        fault = _NO_PARSE.search(outcome.stderr.text())
        return Finding(VerdictKind.UNRUNNABLE, fault[1]) if fault else finding

    def _corroborate(self, summary: Summary | None) -> Corroboration:
        runner = self._runner(summary)
        wanted = self.bench.configuration.judging.canary and not self.bench.bare
        # One more failing test says nothing where tests are to fail.
        if runner is None or not wanted or self.wants_failures:
            return Corroboration()
        # What knows all runners takes longer to load than most contracts take.
        from planbound.engine.judging.required import required_tests  # noqa: PLC0415
        from planbound.usecases.corroborate import corroborate  # noqa: PLC0415

        self.bench.told(self.stage._replace(part="canary"))
        judges = self.left_judges
        held_out = {item.path: item.content for item in self.held_out}
        return corroborate(
            run=self.bench.cell.run,
            request=self.request,
            expectations=self.expectations,
            runner=runner,
            script=self.script,
            paths=self.before.files(),
            read=self._read_now,
            required=() if self.by_name else required_tests(self.script, judges),
            held_out=tuple(held_out),
            held_out_tests=required_tests(self.script, held_out),
            judges=judges,
            taken=self._is_taken,
            by_name=self.by_name,
        )

    def _is_taken(self, path: str) -> bool:
        return path.encode("utf-8", "surrogateescape") in self.before.entries

    @cached_property
    def frozen_judges(self) -> dict[str, bytes]:
        """The judges as they were frozen."""
        wanted = {path: self._read(path) for path in self.judges.files}
        return {path: content for path, content in wanted.items() if content is not None}

    @cached_property
    def left_judges(self) -> dict[str, bytes]:
        """The judges, with the tests that the step may change as it left them.

        What says which tests run stays as it was frozen.
        """
        from planbound.engine.judging.required import is_test_file  # noqa: PLC0415 - start-up

        own = [path for path in self.protection.own if is_test_file(path)]
        now = {path: content for path in own if (content := self._read_now(path)) is not None}
        kept = {path: data for path, data in self.frozen_judges.items() if path not in own}
        return kept | now

    def _fewer_tests(self) -> int:
        """Return how many tests the step took away, of those that it may change."""
        if self.left_judges == self.frozen_judges:
            return 0
        from planbound.engine.judging.required import required_tests  # noqa: PLC0415 - start-up

        before = required_tests(self.script, self.frozen_judges)
        return len(before) - len(required_tests(self.script, self.left_judges))

    def _skips(self, summary: Summary | None) -> int:
        """Return how many tests were skipped, where no judge speaks of skipping."""
        if summary is None or not summary.skipped or self.setting.frozen is None:
            return 0
        from planbound.engine.judging.required import is_skipping  # noqa: PLC0415 - start-up

        said = any(is_skipping(content) for content in self.frozen_judges.values())
        return 0 if said else summary.skipped

    def _read_now(self, path: str) -> bytes | None:
        entry = self.before.entry(path)
        return self.bench.tree.content(path, entry) if entry is not None else None

    def _doubts(
        self,
        finding: Finding,
        summary: Summary | None,
        runner: str | None,
        support: Corroboration,
        basis: Founded,
    ) -> Finding:
        """Return the finding, or why a pass is none."""
        if support.canary is CanaryRun.GREEN:
            return Finding(
                VerdictKind.TAMPERED,
                f"it still passes with a failing test added: {runner} is subverted",
            )
        if runner is not None and summary is None and self._speaks():
            return Finding(VerdictKind.VACUOUS, f"{runner} does not say that any test passed")
        if support.missing:
            return Finding(
                VerdictKind.VACUOUS, f"required tests did not pass: {_listed(support.missing)}"
            )
        proof = self._proof(finding)
        if proof is not None and proof.result is Result.HOLDS and self._demands_red():
            return Finding(VerdictKind.VACUOUS, f"{proof.reason}, and red is demanded")
        wanted = self.case.evidence or self.bench.configuration.judging.evidence
        if wanted is not None and not evidence_reaches(basis.level, wanted):
            return Finding(
                VerdictKind.VACUOUS,
                f"{wanted.value} is demanded, {basis.level.value} reached: "
                + "; ".join(basis.short_of),
            )
        return finding

    def _too_few(self, support: Corroboration) -> Finding | None:
        """Return that fewer tests can be counted than are expected, whatever was printed."""
        minimum = fewest(self.expectations)
        # At the baseline nothing is demanded, and nobody has worked yet.
        demanded = self.bench.configuration.judging.canary or not self.setting.observing
        if not minimum or self.bench.bare or not demanded:
            return None
        counted = self._counted(support)
        reason = f"{minimum} tests or more are expected, and it prints so; {counted} can be counted"
        return Finding(VerdictKind.VACUOUS, reason) if counted < minimum else None

    def _speaks(self) -> bool:
        """Say whether what the runner prints is to be seen."""
        return not any(
            redirect.operator.startswith(">") or redirect.operator.startswith("&")
            for call in self.script.calls
            for redirect in call.redirects
        )

    def _trespass(self, finding: Finding, outcome: Outcome | None) -> Finding:
        """Return the finding, or what the work did that it may not do."""
        if self.setting.plan_changed:
            return Finding(VerdictKind.TAMPERED, self.setting.plan_changed)
        if outcome is not None and outcome.trespassed:
            named = _listed(outcome.trespassed)
            return Finding(VerdictKind.TAMPERED, f"the run wrote to its own judges: {named}")
        protection = self.protection
        if protection.tampered and finding.kind is not VerdictKind.TAMPERED:
            named = _listed([f"{item.path} ({item.what})" for item in protection.tampered])
            return Finding(VerdictKind.TAMPERED, f"judges are not as they were frozen: {named}")
        if protection.outside and finding.kind is not VerdictKind.TAMPERED:
            return Finding(
                VerdictKind.OUT_OF_SCOPE,
                f"changed outside `touches`: {_listed(protection.outside)}",
            )
        return finding

    def _made(
        self,
        finding: Finding,
        outcome: Outcome | None,
        summary: Summary | None,
        basis: Founded,
        support: Corroboration,
    ) -> Verdict:
        case = self.case
        return Verdict(
            kind=finding.kind,
            reason=finding.reason,
            subject=case.subject,
            number=case.number,
            id=case.id,
            title=case.title,
            contract=self.digest,
            tree=self.before.digest,
            isolation=self.bench.cell.isolation,
            evidence=basis.level,
            short_of=basis.short_of,
            outcome=outcome,
            summary=summary,
            canary=support.canary,
            baseline=self._baseline(),
            proof=self._proof(finding),
            tampered=tuple(self._with_diff(item) for item in self.protection.tampered),
            outside=self.protection.outside,
            notes=tuple(self._notes(finding)),
            lacks=finding.lacks,
        )._replace(**(self.named.told(self.bench.vault) if self.named is not None else {}))

    def _notes(self, finding: Finding) -> Iterator[str]:
        if self.bench.fault is not None and finding.reason == self.bench.fault[0]:
            yield self.bench.fault[1]
        if "names the tests" in finding.reason or "can be counted" in finding.reason:
            yield CURE
        open_ = sorted(path for path in self.judges.files if covers(self.setting.scope, path))
        if open_:
            yield f"`touches` lets the step edit its own judges: {_listed(open_)}"
        if self.protection.own:
            yield f"it did edit its own judges: {_listed(self.protection.own)}"
        for item in self.protection.flagged[:_SHOWN]:
            yield f"left out of the tree: {item.path} ({item.what.removeprefix('added: ')})"
        named = {item.path for item in (*self.protection.flagged, *self.protection.tampered)}
        for path in sorted(map(path_text, self.before.left_out & self.before.entries.keys())):
            if path not in named:
                yield f"left out of the tree: {path} (it is called as a cache is, and is none)"

    def _baseline(self) -> str | None:
        frozen = self.setting.frozen
        return frozen.verdicts.get(self.digest) if frozen else None

    def _looked_here(self) -> bool:
        """Say whether the contract was looked at before on this very tree."""
        if self.setting.before is not None:
            # A person may have answered since: then the step is compared with a later tree.
            look = self.setting.before(self.case).attempt
            return look is not None and look.tree == self.before.digest
        frozen = self.setting.frozen
        return frozen is not None and frozen.manifest.digest == self.before.digest

    def _proof(self, finding: Finding) -> Proof | None:
        """Return what a pass shows about the work; a precondition is about none."""
        if finding.kind is not VerdictKind.PASS or self.case.subject is Subject.PRECONDITION:
            return None
        if self._failed_here:
            failed = Look(VerdictKind.FAIL.value, self.before.digest)
            return proof_of(Before(failed), self.before.digest)
        if self.setting.before is not None:
            return proof_of(self.setting.before(self.case), self.before.digest)
        known, frozen = self._baseline(), self.setting.frozen
        look = Look(known, frozen.manifest.digest) if known and frozen else None
        return proof_of(Before(look), self.before.digest)

    def _demands_red(self) -> bool:
        if self.case.subject is not Subject.STEP:
            return False
        usual = self.bench.configuration.baseline
        return demands_red(self.case.baseline, usual)

    def _runner(self, summary: Summary | None) -> str | None:
        if summary is not None:
            return summary.runner
        if self.bench.bare:
            return None  # nobody would do anything about it
        from planbound.engine.judging.runners import runner_named  # noqa: PLC0415 - start-up

        return runner_named(self.script, self.before.files(), self._read_now)

    def _with_diff(self, item: Tampering) -> Tampering:
        from planbound.usecases.differences import difference  # noqa: PLC0415 - seldom needed

        return item._replace(
            diff=difference(item.path, self._read(item.path), self._read_now(item.path))
        )


def _said(outcome: Outcome) -> str:
    return f"{outcome.stdout.text()}\n{outcome.stderr.text()}"


def _listed(items: Sequence[str]) -> str:
    shown = ", ".join(items[:5])
    return shown if len(items) <= 5 else f"{shown} and {len(items) - 5} more"


def _value(level: Evidence) -> str:
    return level.value
