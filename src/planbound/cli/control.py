"""`planbound control`."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import closing

from planbound.approval.control_now import (
    Against,
    ControlNow,
    DefectResult,
    Notice,
    left_out,
)
from planbound.cli.judging import ask, configure_plan, render, tell_tools
from planbound.cli.progress import live_line
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.journal.event import VerdictKind
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case
from planbound.judging.defects import DefectKind
from planbound.judging.verdict import Verdict
from planbound.plan.digest import digest
from planbound.source import visible
from planbound.workspace.context import Context

_MOST = 60
_SHOWN = 5
_COLOURS = {Notice.NOTICED: "green", Notice.MISSED: "red", Notice.UNCLEAR: "yellow"}


class ContractAsItIs(JsonObject, frozen=True):
    """What a contract says without a defect."""

    subject: SubjectKind
    number: str
    title: str
    verdict: VerdictKind
    reason: str


class DefectTried(JsonObject, frozen=True):
    """A defect, and whether it is noticed."""

    path: str
    line: int
    """Where the function begins."""
    function: str
    """Its name, behind those of its classes."""
    kind: DefectKind
    what: str
    """The same in words, such as `returns 0`."""
    notice: Notice
    by: str | None
    """Whose contract noticed it: `step 1`, `postcondition 2`."""
    verdict: VerdictKind | None
    """The verdict by which it did: all but a pass."""
    reason: str
    """What that contract said, or why nobody knows."""


class FileNotTried(JsonObject, frozen=True):
    """A changed file in which no defects were made."""

    path: str
    reason: str


class DefectsTried(JsonObject, frozen=True):
    slug: str
    digest: str
    against: Against
    """What says which functions were changed; `nothing`: all of them were asked for."""
    compared_with: str | None
    """Which baseline or commit that is."""
    functions: int
    made: int
    """How many defects these functions have."""
    tried: int
    """How many were tried: fewer where there are more than `--most`, or where it was stopped."""
    noticed: int
    seed: int
    """What chose them, where there are more than `--most`."""
    passes: bool
    """Whether the contracts pass without a defect. Where one does not, none is tried."""
    interrupted: bool
    seconds: float
    contracts: list[ContractAsItIs]
    defects: list[DefectTried]
    not_tried: list[FileNotTried]
    hint: str | None


def configure_control(parser: argparse.ArgumentParser) -> None:
    configure_plan(parser)
    parser.add_argument(
        "--step", action="append", metavar="N", help="only the contract of this step; repeatable"
    )
    parser.add_argument("--all", action="store_true", help="functions that were not changed, too")
    parser.add_argument(
        "--most", type=int, default=_MOST, metavar="N",
        help=f"try so many defects, chosen at random where there are more; {_MOST} otherwise",
    )  # fmt: skip
    parser.add_argument(
        "--seed", type=int, metavar="N", help="choose the same ones as the run that showed it"
    )


def run_control(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Try defects in what was changed; say which the contracts do not notice."""
    if arguments.most < 1:
        raise UsageError(f"`--most` is at least 1, not {arguments.most}")
    began = time.monotonic()
    given = Context(workspace=arguments.workspace, state=arguments.state)
    given.on_stage = live_line(quiet=arguments.json).judging
    asked = ask(arguments, given, terminal)
    seed = int.from_bytes(os.urandom(3)) if arguments.seed is None else arguments.seed
    control = ControlNow(asked, everything=arguments.all, most=arguments.most, seed=seed)
    if not arguments.json:
        tell_tools(control.now.tools, asked.context, terminal, silent=False)
        terminal.out(_introduction(control))
    report = _ControlReport(control, began)
    report.interrupted = not _tried(control)
    if arguments.json:
        terminal.json(report.document())
    else:
        report.show(terminal)
    return report.code


def _tried(control: ControlNow) -> bool:
    """Try all defects, where the contracts pass without; False where somebody stopped it."""
    try:
        verdicts = list(control.as_it_is())
        if all(verdict.kind is VerdictKind.PASS for verdict in verdicts):
            with closing(control.results()) as results:
                for _ in results:
                    pass
    except KeyboardInterrupt:
        return False
    return True


def _introduction(control: ControlNow) -> str:
    count, made = control.functions, len(control.made)
    said = f"{count} function{'' if count == 1 else 's'}"
    match control.against:
        case Against.FROZEN:
            said += " changed since the tree was frozen"
        case Against.COMMIT:
            said += f" changed since the commit {str(control.compared_with)[:12]}"
        case Against.NOTHING:
            said += " in files that the steps may change"
    said += f", {made} defect{'' if made == 1 else 's'}"
    if len(control.chosen) < made:
        said += f"; {len(control.chosen)} are tried, `--seed {control.seed}` chooses the same"
    return said


# -- what came of it, for people and for programs ------------------------------------------------


class _ControlReport:
    """What the contracts say with and without defects."""

    def __init__(self, control: ControlNow, began: float) -> None:
        self.control = control
        self.began = began
        self.interrupted = False

    @property
    def results(self) -> list[DefectResult]:
        """Return what was found, in the order of the files."""
        order = {defect: place for place, defect in enumerate(self.control.chosen)}
        return sorted(self.control.found, key=lambda result: order[result.defect])

    def _with(self, notice: Notice) -> list[DefectResult]:
        return [result for result in self.results if result.notice is notice]

    @property
    def failing(self) -> list[Verdict]:
        """Return what does not pass without a defect."""
        return [each for each in self.control.now.found if each.kind is not VerdictKind.PASS]

    @property
    def code(self) -> ExitCode:
        if self.interrupted:
            return ExitCode.INTERRUPTED
        all_noticed = len(self._with(Notice.NOTICED)) == len(self.control.chosen)
        return ExitCode.DONE if all_noticed else ExitCode.FAILED

    @property
    def hint(self) -> str | None:
        """Return what to do where a contract does not pass without a defect."""
        if not self.failing:
            return None
        usual = "do the work first, or ask about a step that is done with `--step N`"
        return self.control.now.cure() or usual

    def document(self) -> DefectsTried:
        """Return it for programs."""
        control = self.control
        asked = control.asked
        redact = asked.context.redactor.redact
        return DefectsTried(
            slug=asked.file.slug,
            digest=digest(asked.plan),
            against=control.against,
            compared_with=control.compared_with,
            functions=control.functions,
            made=len(control.made),
            tried=len(control.found),
            noticed=len(self._with(Notice.NOTICED)),
            seed=control.seed,
            passes=not self.failing,
            interrupted=self.interrupted,
            seconds=round(time.monotonic() - self.began, 3),
            contracts=[
                ContractAsItIs(
                    subject=verdict.subject,
                    number=verdict.number,
                    title=verdict.title,
                    verdict=verdict.kind,
                    reason=redact(verdict.reason).text,
                )
                for verdict in control.now.found
            ],
            defects=[
                DefectTried(
                    path=result.defect.path,
                    line=result.defect.line,
                    function=result.defect.function,
                    kind=result.defect.kind,
                    what=result.defect.what,
                    notice=result.notice,
                    by=_name(result.case) if result.case is not None else None,
                    verdict=result.verdict,
                    reason=redact(result.reason).text,
                )
                for result in self.results
            ],
            not_tried=[FileNotTried(*each) for each in control.not_tried],
            hint=self.hint,
        )

    def show(self, terminal: Terminal) -> None:
        """Say it to people."""
        redactor = self.control.asked.context.redactor
        for verdict in self.failing:
            for line in render(verdict, terminal, redactor):
                terminal.out(line)
        for line in self._table(terminal):
            terminal.out(line)
        terminal.out(self._conclusion(terminal))
        for line in left_out(self.control.not_tried):
            terminal.note(f"note: {visible(line)}")
        for result in self._with(Notice.UNCLEAR)[:_SHOWN]:
            terminal.note(f"note: {visible(str(result.defect))}: {visible(result.reason)}")
        if self.hint is not None:
            terminal.note(f"hint: {self.hint}")

    def _table(self, terminal: Terminal) -> Iterator[str]:
        """Yield a line for each function."""
        rows: dict[str, dict[DefectKind, DefectResult]] = {}
        for result in self.results:
            defect = result.defect
            name = visible(f"{defect.path}:{defect.line} {defect.function}")
            rows.setdefault(name, {})[defect.kind] = result
        width = max(map(len, rows), default=0)
        for name, row in rows.items():
            said = [
                f"{visible(result.defect.what)}: "
                + terminal.style(_words(result), _COLOURS[result.notice])
                for result in row.values()
            ]
            good = all(result.notice is Notice.NOTICED for result in row.values())
            mark = terminal.style("✓", "green") if good else terminal.style("✗", "red")
            yield f"{mark} {name.ljust(width)}  {', '.join(said)}"

    def _conclusion(self, terminal: Terminal) -> str:
        """Return one line about all of them."""
        if self.failing:
            return terminal.style("no defect is tried: the contracts do not pass as it is", "red")
        noticed, tried = self._with(Notice.NOTICED), len(self.control.found)
        said = f"{len(noticed)} of {tried} defects are noticed"
        said += f", in {time.monotonic() - self.began:.1f} s"
        if self.interrupted:
            said += f", interrupted before {len(self.control.chosen) - tried} more"
        if missed := [str(result.defect) for result in self._with(Notice.MISSED)]:
            more = f" and {len(missed) - _SHOWN} more" if len(missed) > _SHOWN else ""
            said += f"; not noticed: {visible(', '.join(missed[:_SHOWN]))}{more}"
        good = len(noticed) == len(self.control.chosen)
        return terminal.style(said, "green" if good else "red")


def _words(result: DefectResult) -> str:
    """Return whether a defect is noticed; where only the time ran out, that is said, too."""
    late = result.verdict is VerdictKind.TIMEOUT
    return f"{result.notice.value} (timeout)" if late else result.notice.value


def _name(case: Case) -> str:
    return f"{case.subject.value} {case.number}"


SHAPES: dict[str, Shapes] = {"control": {"": DefectsTried}}
