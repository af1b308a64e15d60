"""Judge by a table of cases: start the product for each, and compare its answers out here.

Every case has a cell of its own, so that nothing is left of one when the next begins. The product
gets what a case gives it, and nothing else of the table: not what is expected, not the plan, not
the file that is held out. What comes back over its pipes is data, whoever wrote it.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple, assert_never

from planbound.cells.cell import Captured, CommandEnding, Laid, Outcome, Request
from planbound.cells.host import HEAD, TAIL
from planbound.cells.isolation import Isolation
from planbound.journal.words import VerdictKind
from planbound.judging.answers import (
    listed_data,
    whole_output,
    wrong_output,
    wrong_reply,
    wrong_return,
)
from planbound.judging.contract import BASH, JudgedContract
from planbound.judging.corroborate import Corroboration
from planbound.judging.meaning import meaning
from planbound.judging.runs import ContractRuns
from planbound.judging.service import (
    LISTENS,
    PORT_TAKEN,
    SERVICE_ENDED,
    ReplyError,
    read_reply,
    request_bytes,
    service_script,
)
from planbound.judging.unrunnable import examined
from planbound.judging.verdict import VerdictReason
from planbound.plan.check import CheckCase, CheckKind, CheckTable, read_cases, read_table
from planbound.plan.data import Data, DataError, data_text
from planbound.script.runners.runner import Summary
from planbound.source import lazy_pattern, visible
from planbound.workspace.held_out import read_held_out_cases

USUAL_SECONDS = 30.0
"""How long a case may take where its table does not say."""
_ENOUGH = 20
"""After so many cases that fail nobody needs more."""
_LONGEST = 160
_TAIL = 600
_TABLE_PLACES = (".harness", ".git")
"""Where the table stands: the plan's folder, and the history that it may be in."""
_FUNCTION = (
    'program=$(command -v python3 || command -v python) || { echo "check: python3: '
    'command not found" >&2; exit 127; }; exec "$program" -c "$1" "$2"'
)
_NO_FILE = lazy_pattern(r"(?m): (\S{1,600}): No such file or directory$")


class _NumberedCase(NamedTuple):
    """A case, and whether anybody but the harness may see it."""

    case: CheckCase
    held_out: bool = False

    @property
    def shown(self) -> str:
        """How it is named: one that is held out by its number alone."""
        if self.held_out:
            return f"held-out case {self.case.number}"
        name = f" ({visible(self.case.name)[:_LONGEST]})" if self.case.name else ""
        return f"case {self.case.number}{name}"


class _Answered(NamedTuple):
    """What came of one case."""

    case: _NumberedCase
    finding: VerdictReason
    outcome: Outcome

    @property
    def line(self) -> str:
        """What is said of it; of one that is held out nothing that it was given or answered."""
        if not self.case.held_out:
            return f"{self.case.shown}: {self.finding.reason}"
        what = "fails" if self.finding.kind is VerdictKind.FAIL else self.finding.kind.value
        return f"{self.case.shown} {what}" if what == "fails" else f"{self.case.shown}: {what}"

    @property
    def lacks(self) -> str:
        """What is not there; a product could let a case that is held out say anything here."""
        return "" if self.case.held_out else self.finding.lacks

    @property
    def told(self) -> Outcome:
        """What its cell saw, as far as it is told.

        Signals, processes that are left, files that are written and time are a product's to
        choose: each could carry what a case that is held out gave it.
        """
        if not self.case.held_out:
            return self.outcome
        if self.finding.kind is VerdictKind.TIMEOUT:
            return Outcome(CommandEnding.TIMED_OUT, reason=self.finding.kind.value)
        return Outcome(CommandEnding.EXITED, exit_code=1)


class UnreadableTableError(Exception):
    """A table that cannot be judged by; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class CheckRuns(ContractRuns):
    """The runs of one table on one tree."""

    def __init__(self, contract: JudgedContract) -> None:
        super().__init__(contract)
        self.table: CheckTable = read_table(contract.command.text)
        self.passed = 0

    @property
    def has_held_out(self) -> bool:
        """Whether there are cases that no agent ever saw."""
        return self.table.held_out is not None

    def corroborate(self, _summary: Summary | None) -> Corroboration:
        """Return what a pass rests on: every case was answered, those held out among them."""
        return Corroboration(held_out_seen=self.has_held_out)

    def counted(self, _support: Corroboration) -> int:
        """Return how many cases passed; the harness itself counted them."""
        return self.passed

    # -- one run -----------------------------------------------------------------------------

    def _examined(
        self, finding: VerdictReason, _outcome: Outcome, _summary: Summary | None
    ) -> VerdictReason:
        return finding  # each case was looked at by itself

    def _run(self) -> tuple[Outcome, Summary | None, VerdictReason]:
        try:
            cases = self._cases
        except UnreadableTableError as problem:
            outcome = Outcome(CommandEnding.NOT_STARTED, reason=problem.reason)
            return outcome, None, VerdictReason(VerdictKind.UNRUNNABLE, problem.reason)
        self.passed, wrong, begun, told = 0, [], time.monotonic(), 0.0
        for case in cases:
            started = time.monotonic()
            answered = self._answered(case, begun + self._seconds - started)
            told += 0.0 if case.held_out else time.monotonic() - started
            if answered.finding.kind is VerdictKind.PASS:
                self.passed += 1
                continue
            wrong.append(answered)
            if answered.finding.kind is not VerdictKind.FAIL or len(wrong) >= _ENOUGH:
                break
        summary = Summary("check", self.passed, len(wrong))
        outcome = _whole(wrong, self.passed, len(cases), told)
        return outcome, summary, self._finding(wrong, len(cases))

    def _finding(self, wrong: Sequence[_Answered], count: int) -> VerdictReason:
        if not wrong:
            held_out = count - len(self.table.cases)
            more = f", {held_out} of them held out" if held_out else ""
            return VerdictReason(VerdictKind.PASS, f"{_cases(count)}{more}")
        # Where one failed before another could not be judged, that is what the work has to mend.
        first = wrong[0]
        others = f"; {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return VerdictReason(first.finding.kind, first.line + others, first.lacks)

    @cached_property
    def _cases(self) -> list[_NumberedCase]:
        table = self.table
        if table.faults or table.kind is None:
            raise UnreadableTableError(
                f"the table cannot be read: {table.faults[0].message if table.faults else ''}"
            )
        found = [_NumberedCase(case) for case in table.cases]
        if table.held_out is not None:
            judging = self.contract.judging
            paths = [judge.path for judge in judging.held_out]
            held_out = read_held_out_cases(
                judging.git_root or judging.tree.root, paths, table.held_out
            )
            if held_out.text is None:
                raise UnreadableTableError(held_out.problem)
            cases, faults = read_cases(held_out.text, table.kind)
            if faults or not cases:
                line = held_out.text.count("\n", 0, faults[0].start) + 1 if faults else 0
                where = f"line {line} cannot be used" if faults else "it has no case"
                raise UnreadableTableError(f"`{table.held_out}`: {where}")
            found += [_NumberedCase(case, held_out=True) for case in cases]
        return found

    @property
    def _seconds(self) -> float:
        """How long all cases may take together: as a contract may, or a second for each."""
        own = self.contract.case.seconds
        limit = self.contract.judging.configuration.contracts.seconds_for(own)
        return limit if own else max(limit, float(len(self._cases)))

    # -- one case ----------------------------------------------------------------------------

    def _answered(self, case: _NumberedCase, left: float) -> _Answered:
        own = float(self.table.seconds or USUAL_SECONDS)
        seconds = min(own, left)
        if seconds <= 0:
            outcome = Outcome(
                CommandEnding.TIMED_OUT, reason="the limit of the contract was used up"
            )
            return _Answered(case, VerdictReason(VerdictKind.TIMEOUT, outcome.reason), outcome)
        request = self._base._replace(limits=self._base.limits._replace(seconds=seconds))
        match self.table.kind:
            case CheckKind.COMMAND:
                answered = self._command(case.case, request)
            case CheckKind.FUNCTION:
                answered = self._function(case.case, request)
            case CheckKind.SERVICE:
                answered = self._service(case.case, request)
            case None:
                raise AssertionError("a table without a kind has faults")
            case _:
                assert_never(self.table.kind)
        return _Answered(case, *answered)

    @cached_property
    def _base(self) -> Request:
        """What the cells of all cases have in common."""
        contract, judging = self.contract, self.contract.judging
        request = contract.request
        hidden = [*judging.recorded, *(judge.path for judge in judging.held_out)]
        return request._replace(
            remove=(*request.remove, *_TABLE_PLACES),
            masked=(*request.masked, *hidden),
            exposed=tuple(path for path in request.exposed if path not in hidden),
        )

    def _ran(self, request: Request) -> tuple[Outcome, VerdictReason | None]:
        """Run one case; return why there is no answer, where there is none."""
        outcome = self.contract.judging.cell.run(request)
        if outcome.ending is CommandEnding.EXITED:
            return outcome, None
        finding = meaning(outcome, (), None)
        if outcome.ending is CommandEnding.TIMED_OUT:
            finding = finding._replace(reason=f"it ran past {request.limits.seconds:g} s")
        return outcome, finding

    def _refused(self, reason: str, outcome: Outcome) -> VerdictReason:
        """Return that a case fails, or that something is missing that the work cannot make."""
        failed = VerdictReason(VerdictKind.FAIL, reason)
        if not outcome.exit_code:
            return failed
        found = examined(meaning(outcome, (), None), outcome, None, self._around())
        made = found.kind is VerdictKind.UNRUNNABLE and not found.lacks
        if made and any(map(self._is_file, _NO_FILE.findall(outcome.stderr.text()))):
            return failed  # a file of the work, which is not there yet
        return found if found.kind in {VerdictKind.UNRUNNABLE, VerdictKind.KILLED} else failed

    def _is_file(self, name: str) -> bool:
        """Say whether what is not there is a file: one by its path, or that the table starts."""
        return "/" in name or name in self.table.start.split()

    # -- a command ---------------------------------------------------------------------------

    def _command(self, case: CheckCase, request: Request) -> tuple[VerdictReason, Outcome]:
        start, given = self.table.start, case.given
        text = start if '"$@"' in start else f'{start} "$@"'
        argv = [str(word) for word in listed_data(given.get("argv"))]
        files = given.get("files")
        lay = files.items() if isinstance(files, dict) else ()
        outcome, finding = self._ran(
            request._replace(
                command=(*BASH, "-c", text, "check", *argv),
                stdin=_sent(given["stdin"]) if "stdin" in given else b"",
                lay=(*request.lay, *(Laid(path, _bytes(str(text))) for path, text in lay)),
            )
        )
        if finding is None:
            reason = next(wrong_output(case, outcome), None)
            finding = _PASSED if reason is None else self._refused(reason, outcome)
        return finding, outcome

    # -- a function --------------------------------------------------------------------------

    def _function(self, case: CheckCase, request: Request) -> tuple[VerdictReason, Outcome]:
        given: dict[str, Data] = {
            "args": case.given.get("args", []),
            "kwargs": case.given.get("kwargs", {}),
        }
        outcome, finding = self._ran(
            request._replace(
                command=(*BASH, "-c", _FUNCTION, "check", _driver(), self.table.start),
                stdin=data_text(given, ascii_only=True).encode("ascii"),
            )
        )
        if finding is None:
            reason = next(wrong_return(case, outcome), None)
            finding = _PASSED if reason is None else self._refused(reason, outcome)
        return finding, outcome

    # -- a service ---------------------------------------------------------------------------

    def _service(self, case: CheckCase, request: Request) -> tuple[VerdictReason, Outcome]:
        cell = self.contract.judging.cell
        if cell.isolation is Isolation.I1 and not request.network:
            outcome = Outcome(
                CommandEnding.NOT_STARTED,
                reason=f"a cell of {cell.name} has no network of its own for a service",
            )
            return VerdictReason(VerdictKind.UNRUNNABLE, outcome.reason), outcome
        port = self.table.port or 20_000 + int.from_bytes(os.urandom(2)) % 40_000
        sent = [*listed_data(case.given.get("before")), dict(case.given)]
        requests = [request_bytes(each, port) for each in sent]
        mark = os.urandom(8).hex()
        sizes = [str(len(each)) for each in requests]
        outcome, finding = self._ran(
            request._replace(
                command=(*BASH, "-c", service_script(), "check", self.table.start, mark, *sizes),
                stdin=b"".join(requests),
                environment={**request.environment, "PORT": str(port)},
            )
        )
        if finding is not None:
            if outcome.ending is CommandEnding.TIMED_OUT and not outcome.stdout.head.startswith(
                LISTENS
            ):
                seconds = request.limits.seconds
                finding = finding._replace(
                    reason=f"the service did not listen on port {port} within {seconds:g} s"
                )
            return finding, outcome
        if outcome.exit_code == PORT_TAKEN:
            taken = f"something listens on port {port} already"
            return VerdictReason(VerdictKind.UNRUNNABLE, taken), outcome
        return self._replied(case, outcome, mark, len(requests)), outcome

    def _replied(self, case: CheckCase, outcome: Outcome, mark: str, count: int) -> VerdictReason:
        if outcome.exit_code == SERVICE_ENDED:
            code = outcome.stdout.text().strip()
            code = code if code.isdecimal() and len(code) < 4 else "a failure"
            reason = f"the service ended with {code} before it listened"
            ended = outcome._replace(exit_code=int(code) if code.isdecimal() else 1)
            return self._refused(reason, ended)
        try:
            reply = read_reply(
                whole_output(outcome.stdout), mark, count, str(case.given["request"])
            )
        except (ReplyError, DataError) as error:
            return VerdictReason(VerdictKind.FAIL, f"the answer is no data: {error.reason}")
        wrong = next(wrong_reply(case, reply), None)
        return _PASSED if wrong is None else VerdictReason(VerdictKind.FAIL, wrong)


_PASSED = VerdictReason(VerdictKind.PASS, "")


# -- what is sent --------------------------------------------------------------------------------


def _sent(value: Data) -> bytes:
    """Return what is written to a process: a text as it is, anything else as JSON."""
    return _bytes(value) if isinstance(value, str) else data_text(value, ascii_only=True).encode()


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _driver() -> str:
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "function_driver.py")
    with open(path, encoding="utf-8") as file:
        return file.read()


# -- what is said of all of them -----------------------------------------------------------------


def _cases(count: int) -> str:
    return "1 case" if count == 1 else f"{count} cases"


def _whole(wrong: Sequence[_Answered], passed: int, count: int, seconds: float) -> Outcome:
    """Return what all cases came to, told as if one command had."""
    lines = [f"{passed} of {_cases(count)} passed"]
    if untried := count - passed - len(wrong):
        lines.append(f"not tried any more: {untried}")
    for answered in wrong:
        lines.append(answered.line)
        said = answered.told.stderr.text().strip()
        if said:
            lines += [f"    {line}" for line in said[-_TAIL:].splitlines()]
    text = "".join(f"{line}\n" for line in lines).encode("utf-8", "replace")
    last = wrong[-1].told if wrong else None
    ended = CommandEnding.EXITED if last is None else last.ending
    kept = Captured(text[:HEAD], text[HEAD:][-TAIL:], len(text), hashlib.sha256(text).hexdigest())
    return Outcome(
        ending=ended,
        exit_code=int(bool(wrong)) if ended is CommandEnding.EXITED else None,
        signal=last.signal if last else None,
        duration=seconds,
        stdout=kept,
        leftovers=max((each.told.leftovers for each in wrong), default=0),
        trespassed=tuple(sorted({path for each in wrong for path in each.told.trespassed})),
        reason=last.reason if last else "",
    )
