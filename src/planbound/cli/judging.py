"""`planbound judge` and `baseline`."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress

from msgspec.structs import asdict

from planbound.approval.judge_now import BaselineNow, JudgeNow, PlanToJudge, choose_cases
from planbound.cells.cell import Captured
from planbound.cells.isolation import Isolation
from planbound.cli.named_plans import excuse, read_bound_plan
from planbound.cli.parser import configure_fresh
from planbound.cli.person import refuse_agents
from planbound.cli.progress import live_line
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, PlanboundError, UsageError
from planbound.journal.event import Result, VerdictKind
from planbound.journal.fields import ControlResult
from planbound.journal.redact import Redactor
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, demands_red
from planbound.judging.reference import FrozenTree
from planbound.judging.tools import cautions
from planbound.judging.unrunnable import Tool
from planbound.judging.verdict import CanaryRun, ControlRun, Verdict
from planbound.plan.digest import digest
from planbound.plan.model import Attest, Evidence, Judged, Plan
from planbound.script.runners.mutated import MutatedTests
from planbound.source import visible
from planbound.state.plan import known_plan
from planbound.state.step import foretold
from planbound.workspace.configuration import Configuration
from planbound.workspace.context import Context
from planbound.workspace.surroundings import verify

# -- verdicts for people and for programs --------------------------------------------------------


_TAIL_LINES = 12
_SHOWN_BYTES = 8_000
_COLOURS = {VerdictKind.PASS: "green", VerdictKind.FAIL: "red", VerdictKind.TAMPERED: "red"}
_NAMES = {SubjectKind.PRECONDITION: "precondition ", SubjectKind.POSTCONDITION: "postcondition "}


class OutputSeen(JsonObject, frozen=True):
    """What a contract printed, without secrets."""

    length: int
    """Of all of it, in bytes."""
    sha256: str
    head: str
    tail: str


class TestsRun(JsonObject, frozen=True):
    """How many tests ran, and how they ended."""

    runner: str
    passed: int
    failed: int
    skipped: int
    deselected: int


class TestsMutated(JsonObject, frozen=True):
    """What became of tests whose expected values were changed."""

    sensitive: int
    """How many failed then, as they should."""
    total: int
    blind: list[str]
    """Those that passed all the same."""
    silent: list[str]
    """Those without an equality that could be changed: nothing is known of them."""
    answered: list[str]
    """Those that code under test answers with what it reads in their source."""


class TamperedJudge(JsonObject, frozen=True):
    """A judge that is not as it was frozen."""

    path: str
    what: str
    diff: str


class VerdictFound(JsonObject, frozen=True):
    """What the harness found."""

    step: int | None
    """The number of a step; null for a condition."""
    subject: SubjectKind
    number: str
    id: str | None
    title: str
    verdict: VerdictKind
    reason: str
    exit_code: int | None
    signal: int | None
    duration: float
    evidence: Evidence
    short_of: list[str]
    """What keeps the evidence from the next level."""
    isolation: Isolation
    contract: str
    """The digest of the command and what is expected of it."""
    tree: str
    """The digest of the tree that was judged."""
    baseline: VerdictKind | None
    """The verdict before the work; null where nobody looked."""
    result: Result | None
    """`proved` or `holds`, where there is a baseline."""
    runs: int
    reused: int | None
    """The event that told of these runs first, where nothing was run again."""
    canary: CanaryRun
    mutated: TestsMutated | None
    """What became of tests with other expected values; null where that was not tried."""
    tests: TestsRun | None
    leftovers: int
    """Processes that it left running, and that were ended."""
    written: list[str]
    """Files that the contract wrote, the first of them."""
    written_count: int
    stdout: OutputSeen | None
    stderr: OutputSeen | None
    tampered: list[TamperedJudge]
    outside: list[str]
    """Files outside of `touches` that were changed."""
    new_failures: list[str]
    disappeared: list[str]
    """Tests that were there before."""
    notes: list[str]


def verdict_found(verdict: Verdict, redactor: Redactor) -> VerdictFound:
    """Return a verdict for programs."""
    outcome = verdict.outcome
    return VerdictFound(
        step=int(verdict.number) if _is_numbered_step(verdict) else None,
        subject=verdict.subject,
        number=verdict.number,
        id=verdict.id,
        title=verdict.title,
        verdict=verdict.kind,
        reason=verdict.reason,
        exit_code=outcome.exit_code if outcome else None,
        signal=outcome.signal if outcome else None,
        duration=round(outcome.duration, 3) if outcome else 0.0,
        evidence=verdict.evidence,
        short_of=list(verdict.short_of),
        isolation=verdict.isolation,
        contract=verdict.contract,
        tree=verdict.tree,
        baseline=verdict.baseline,
        result=verdict.proof.result if verdict.proof and verdict.baseline else None,
        runs=verdict.runs,
        reused=verdict.reused,
        canary=verdict.canary,
        mutated=_mutated(verdict),
        tests=TestsRun(*verdict.summary) if verdict.summary else None,
        leftovers=outcome.leftovers if outcome else 0,
        written=list(outcome.written) if outcome else [],
        written_count=outcome.written_count if outcome else 0,
        stdout=_stream(outcome.stdout, redactor) if outcome else None,
        stderr=_stream(outcome.stderr, redactor) if outcome else None,
        tampered=[TamperedJudge(*item) for item in verdict.tampered],
        outside=list(verdict.outside),
        new_failures=list(verdict.new_failures),
        disappeared=list(verdict.disappeared),
        notes=list(verdict.notes),
    )


def _mutated(verdict: Verdict) -> TestsMutated | None:
    found = verdict.mutated
    if found is None:
        return None
    return TestsMutated(
        sensitive=len(found.sensitive),
        total=found.total,
        blind=list(found.blind),
        silent=list(found.silent),
        answered=list(found.answered),
    )


def _is_numbered_step(verdict: Verdict) -> bool:
    return verdict.subject is SubjectKind.STEP and verdict.number.isdigit()


def _stream(captured: Captured, redactor: Redactor) -> OutputSeen:
    text = redactor.redact(captured.text()).text
    return OutputSeen(
        length=captured.length,
        sha256=captured.sha256,
        head=text[:_SHOWN_BYTES],
        tail=text[_SHOWN_BYTES:][-_SHOWN_BYTES:],
    )


class NotJudged(JsonObject, frozen=True):
    """Something that has no command to run."""

    subject: SubjectKind
    number: str
    title: str
    reason: str


def unjudged(case: Case) -> NotJudged:
    """Return for programs what has no command to run."""
    return NotJudged(
        subject=case.subject, number=case.number, title=case.title, reason=why_unjudged(case)
    )


class ToolUsed(JsonObject, frozen=True):
    """A program that contracts use."""

    name: str
    version: str
    """Empty where it does not say."""
    path: str


def why_unjudged(case: Case) -> str:
    """Return why there is no verdict."""
    return "a person attests it" if isinstance(case.contract, Attest) else "it has no contract"


def render(verdict: Verdict, terminal: Terminal, redactor: Redactor) -> Iterator[str]:
    """Yield a verdict for people."""
    mark = "✓" if verdict.kind is VerdictKind.PASS else "✗"
    name = f"{_NAMES.get(verdict.subject, '')}{verdict.number}. {visible(verdict.title)}"
    colour = _COLOURS.get(verdict.kind, "yellow")
    found = terminal.style(f"{mark} {verdict.kind.value}", colour)
    yield f"{found} {terminal.style(name, 'bold')}"
    seconds = f", {verdict.outcome.duration:.1f} s" if verdict.outcome else ""
    yield f"    {visible(verdict.reason)}{seconds}"
    about = [f"evidence {verdict.evidence.value}", f"isolation {verdict.isolation.value}"]
    if verdict.canary.value != "none":
        about.append(f"canary {verdict.canary.value}")
    if verdict.mutated is not None and verdict.mutated.total:
        about.append(sensitivity(verdict.mutated))
    if verdict.baseline:
        about.append(f"before the work: {verdict.baseline.value}")
    if verdict.reused is not None:
        about.append(f"reused from #{verdict.reused}")
    if verdict.outcome and (left := verdict.outcome.leftovers):
        about.append(f"{left} process{'' if left == 1 else 'es'} left running, now ended")
    yield f"    {terminal.style(' · '.join(about), 'dim')}"
    for note in verdict.notes:
        yield f"    {terminal.style(f'note: {visible(note)}', 'dim')}"
    if verdict.kind is VerdictKind.PASS:
        return
    for item in verdict.tampered:
        yield f"    {visible(item.path)}: {visible(item.what)}"
        yield from (f"      {visible(line)}" for line in item.diff.splitlines())
    yield from _tail(verdict, redactor)


def sensitivity(found: MutatedTests) -> str:
    """Return how many tests notice a wrong answer."""
    said = f"{len(found.sensitive)} of {found.total} {found.kind}s notice other values"
    if found.silent:
        untried = "not tried" if found.comparisons else "without an equality"
        said += f"; {len(found.silent)} {untried}"
    return said


def _tail(verdict: Verdict, redactor: Redactor) -> Iterator[str]:
    if verdict.outcome is None:
        return
    for captured in (verdict.outcome.stdout, verdict.outcome.stderr):
        lines = redactor.redact(captured.text()).text.splitlines()
        if len(lines) > _TAIL_LINES:
            hidden = len(lines) - _TAIL_LINES
            yield f"    | ... {hidden} line{'' if hidden == 1 else 's'} before"
        # What a contract prints is not to be trusted with a terminal.
        yield from (f"    | {visible(line)[:400]}" for line in lines[-_TAIL_LINES:])


def conclusion(verdicts: Sequence[Verdict], waiting: int, terminal: Terminal) -> str:
    """Return one line about all of them."""
    passed = sum(item.kind is VerdictKind.PASS for item in verdicts)
    text = f"{passed} of {len(verdicts)} contract{'' if len(verdicts) == 1 else 's'} pass"
    if waiting:
        text += f", {waiting} not for the harness to judge"
    return terminal.style(text, "green" if passed == len(verdicts) and not waiting else "red")


# -- what `judge` and `baseline` share: the plan, what is asked about, and the way to say it -----


def configure_plan(parser: argparse.ArgumentParser) -> None:
    """Add the arguments that both have."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    configure_fresh(parser)
    parser.add_argument("--json", action="store_true", help="for programs")
    parser.set_defaults(step=None, postconditions=False)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what chooses a part of a plan, too."""
    configure_plan(parser)
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--step", action="append", metavar="N", help="only this step; repeatable")
    which.add_argument("--postconditions", action="store_true", help="only the postconditions")


def ask(arguments: argparse.Namespace, context: Context, terminal: Terminal) -> PlanToJudge:
    """Return what is to be judged.

    A plan with errors is judged too, for a look is not a run: the gate is stricter.
    """
    context, file, data = read_bound_plan(arguments.plan, context)
    verified = verify(data, path=file.shown, surroundings=context.surroundings())
    chosen = choose_cases(verified.plan, arguments.step, postconditions=arguments.postconditions)
    with suppress(PlanboundError):  # that a verdict is not on record is said where it is noted
        context.see(file, verified.plan)
    if not any(isinstance(case.contract, Judged) for case in chosen):
        raise UsageError(
            f"there is no contract to run in {file.shown}", hint="`planbound verify` says more"
        )
    if verified.errors:
        count = f"{verified.errors} error{'' if verified.errors == 1 else 's'}"
        terminal.note(f"note: the plan has {count}; `planbound verify` says which")
    return PlanToJudge(file, verified.plan, chosen, context.holds(file.path), context)


def tell_tools(
    tools: tuple[Tool, ...], context: Context, terminal: Terminal, *, silent: bool
) -> None:
    """Say which programs the contracts will use, and what they were to get and will not."""
    if tools and not silent:
        terminal.out(f"contracts use {visible(', '.join(map(str, tools)))}")
    for caution in cautions(context):
        terminal.note(f"note: {caution}")


# -- `planbound judge` ---------------------------------------------------------------------------


class ContractsJudged(JsonObject, frozen=True):
    slug: str
    digest: str
    isolation: Isolation
    cell: str
    baseline: str | None
    """Which baseline it was compared with."""
    tools: list[ToolUsed]
    passed: bool
    """Whether every contract passed, and none is left to a person."""
    hint: str | None
    verdicts: list[VerdictFound]
    unjudged: list[NotJudged]


FORMATS = ("text", "json", "sarif", "github")


def configure_judge(parser: argparse.ArgumentParser) -> None:
    configure(parser)
    parser.add_argument(
        "--format",
        choices=FORMATS,
        help="default: text; `sarif` and `github` have what is no pass, at its line in the plan",
    )


def run_judge(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Judge the workspace as it is, without an agent."""
    if arguments.json and arguments.format not in {None, "json"}:
        raise UsageError(f"`--json` and `--format {arguments.format}` do not go together")
    form = "json" if arguments.json else arguments.format or "text"
    for_programs = form != "text"
    given = Context(workspace=arguments.workspace, state=arguments.state)
    given.fresh = arguments.fresh
    given.on_stage = live_line(quiet=for_programs).judging
    asked = ask(arguments, given, terminal)
    judging = JudgeNow(asked)
    redactor = asked.context.redactor
    tell_tools(judging.tools, asked.context, terminal, silent=for_programs)
    for verdict, unrecorded in judging.verdicts():
        excuse(unrecorded, terminal)
        if not for_programs:
            for line in render(verdict, terminal, redactor):
                terminal.out(line)
    if form == "json":
        terminal.json(_contracts_judged(asked, judging))
    elif for_programs:
        from planbound.cli.verdict_annotations import show_annotations  # noqa: PLC0415 - seldom needed

        show_annotations(judging, form, terminal)
    else:
        for case in asked.waiting:
            terminal.out(f"- {case.number}. {case.title}: {why_unjudged(case)}")
        terminal.out(conclusion(judging.found, len(asked.waiting), terminal))
    if form != "json":
        _tell_cures(judging, terminal)
    return ExitCode.DONE if judging.passed else ExitCode.FAILED


def _contracts_judged(asked: PlanToJudge, judging: JudgeNow) -> ContractsJudged:
    frozen, cell, redactor = judging.setting.frozen, judging.judging.cell, asked.context.redactor
    return ContractsJudged(
        slug=asked.file.slug,
        digest=digest(asked.plan),
        isolation=cell.isolation,
        cell=cell.name,
        baseline=frozen.id if frozen else None,
        tools=[ToolUsed(*tool) for tool in judging.tools],
        passed=judging.passed,
        hint=judging.cure(),
        verdicts=[verdict_found(item, redactor) for item in judging.found],
        unjudged=[unjudged(case) for case in asked.waiting],
    )


def _tell_cures(judging: JudgeNow, terminal: Terminal) -> None:
    cure = judging.cure()
    if cure is not None:
        terminal.note(f"hint: {cure}")
    if judging.setting.frozen is None:
        terminal.note(
            "note: there is no baseline, so judges are as the workspace has them;"
            " take one with `planbound baseline` before the work"
        )


class ControlShown(JsonObject, frozen=True):
    """What a contract said with a change that it has to fail with."""

    name: str
    """The file of the diff; `diff 1` where it stands in the plan."""
    patch: str
    """The SHA-256 of the diff; empty where it could not be read."""
    result: ControlResult
    verdict: VerdictKind | None
    """What the contract came to; null where it was not run."""
    reason: str


def controls_shown(runs: Iterable[ControlRun]) -> list[ControlShown]:
    """Return controls for programs."""
    return [
        ControlShown(
            name=run.name,
            patch=run.patch,
            result=run.result,
            verdict=run.verdict,
            reason=run.reason,
        )
        for run in runs
    ]


_RESULT_COLOURS = {ControlResult.NOTICED: "dim", ControlResult.SAME: "yellow"}


def control_lines(found: Verdict | None, indent: str, terminal: Terminal) -> Iterator[str]:
    """Yield what a contract said with each change that it has to reject."""
    for run in found.controls if found else ():
        name = f"rejects {run.name} ({run.patch[:12]})" if run.patch else f"rejects {run.name}"
        noticed = run.result is ControlResult.NOTICED
        said = f"red with it: {run.reason}" if noticed else run.reason
        colour = _RESULT_COLOURS.get(run.result, "red")
        yield f"{indent}{visible(name)}: {terminal.style(visible(said), colour)}"


# -- `planbound baseline` ------------------------------------------------------------------------


_BASELINE_COLOURS = {VerdictKind.PASS: "green", VerdictKind.FAIL: "red", VerdictKind.VACUOUS: "red"}


class FirstLook(VerdictFound, frozen=True):
    """A verdict before any work."""

    colour: str
    """`red`, `green`, or the verdict where it is neither."""
    controls: list[ControlShown]
    """What it said with each change that it has to fail with."""


class BaselineTaken(JsonObject, frozen=True):
    slug: str
    digest: str
    tree: str
    """The digest of the tree that was frozen."""
    isolation: Isolation
    tools: list[ToolUsed]
    verdicts: list[FirstLook]
    unjudged: list[NotJudged]


def configure_baseline(parser: argparse.ArgumentParser) -> None:
    # Always the whole plan: a part would put a new tree in the place of the frozen one, and
    # forget how the other contracts looked.
    configure_plan(parser)


def run_baseline(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Freeze the tree and run every contract once, before any work."""
    given = Context(workspace=arguments.workspace, state=arguments.state)
    given.fresh = arguments.fresh
    given.on_stage = live_line(quiet=arguments.json).judging
    asked = ask(arguments, given, terminal)
    redactor = asked.context.redactor
    if _is_approved(asked.context, asked.file.slug):
        # It would put other judges in the place of those that a person approved.
        refuse_agents(asked.context.root, arguments.state)
    baseline = BaselineNow(asked)
    tell_tools(baseline.tools, asked.context, terminal, silent=arguments.json)
    demanded = _demands(asked.plan, asked.context.configuration)
    for verdict in baseline.verdicts():
        if not arguments.json:
            terminal.out(_line(verdict, terminal, demanded))
            for line in control_lines(verdict, " " * 11, terminal):
                terminal.out(line)
    if arguments.json:
        terminal.json(
            BaselineTaken(
                slug=asked.file.slug,
                digest=digest(asked.plan),
                tree=baseline.tree.manifest.digest,
                isolation=baseline.judging.cell.isolation,
                tools=[ToolUsed(*tool) for tool in baseline.tools],
                verdicts=[
                    FirstLook(
                        **asdict(verdict_found(item, redactor)),
                        colour=_colour(item),
                        controls=controls_shown(item.controls),
                    )
                    for item in baseline.found
                ],
                unjudged=[unjudged(case) for case in asked.waiting],
            )
        )
        return ExitCode.DONE
    for case in asked.waiting:
        terminal.out(f"- {case.number}. {visible(case.title)}: {why_unjudged(case)}")
    terminal.out(_conclusion(baseline.found, baseline.tree))
    return ExitCode.DONE


def _is_approved(context: Context, slug: str) -> bool:
    journal = context.existing_journal()
    return journal is not None and known_plan(journal, slug).approval.given is not None


def _colour(verdict: Verdict) -> str:
    return _BASELINE_COLOURS.get(verdict.kind, verdict.kind.value)


def _demands(plan: Plan, configuration: Configuration) -> frozenset[str]:
    """Return the steps that must be red before the work."""
    return frozenset(
        step.label
        for step in plan.steps
        if demands_red(step.baseline.value if step.baseline else None, configuration.baseline)
    )


def _line(verdict: Verdict, terminal: Terminal, demanded: frozenset[str]) -> str:
    colour = terminal.style(
        _colour(verdict).ljust(10), _BASELINE_COLOURS.get(verdict.kind, "yellow")
    )
    name = f"{verdict.number}. {visible(verdict.title)}"
    if verdict.subject is not SubjectKind.STEP:
        name = f"{verdict.subject.value} {name}"
    warning = ""
    if verdict.kind is VerdictKind.PASS and verdict.subject is SubjectKind.STEP:
        warning = f" ({foretold(red=verdict.number in demanded)})"
    return f"{colour} {name}: {visible(verdict.reason)}{warning}"


def _conclusion(found: list[Verdict], tree: FrozenTree) -> str:
    counts: dict[str, int] = {}
    for verdict in found:
        counts[_colour(verdict)] = counts.get(_colour(verdict), 0) + 1
    said = ", ".join(f"{count} {name}" for name, count in counts.items()) or "no contract"
    files = len(tree.manifest.entries)
    return f"{said}; {files} entries frozen, tree {tree.manifest.digest[:12]}"


SHAPES: dict[str, Shapes] = {
    "judge": {"": ContractsJudged},
    "baseline": {"": BaselineTaken},
}
