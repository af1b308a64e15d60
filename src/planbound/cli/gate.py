"""`planbound approve`, and what the commands of the gate share."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from planbound.approval.approve import (
    SHORTEST,
    TYPED,
    Consent,
    FaultyText,
    Shown,
    approve,
    bring,
    change,
    check_consent,
    choose_method,
    present,
    wrong_digest,
)
from planbound.approval.modify import TextChange
from planbound.approval.record import last_text
from planbound.approval.sheet import (
    Sheet,
    find_faults,
    in_spite_of,
    refuse_missing,
    refuse_unnoticed,
    refuse_unseen,
    statement,
    unnoticed,
)
from planbound.cells.isolation import refuse_in_cell
from planbound.cli import gate_sheet
from planbound.cli import verify as text
from planbound.cli.named_plans import mend, note_verified, read_bound_plan
from planbound.cli.parser import configure_fresh
from planbound.cli.person import (
    configure_person,
    is_terminal,
    name_of_person,
    prompt,
    refuse_agents,
)
from planbound.cli.progress import live_line
from planbound.cli.shape import Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, FaultyPlan, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import Query
from planbound.journal.words import Method
from planbound.judging.restore import difference
from planbound.judging.tools import cautions
from planbound.plan.limits import LimitError, parse_duration
from planbound.plan.model import Plan
from planbound.receipts.costs import LOOKED_BACK, PastCost, attempts, past_costs
from planbound.source import Diagnostic, visible
from planbound.state.approval import Approval
from planbound.verify.examine import Verified
from planbound.workspace.configuration import GateRules
from planbound.workspace.context import Context
from planbound.workspace.home import in_home

# -- what the command line says about a decision: who, how, and for how long ---------------------


def configure_plan(parser: argparse.ArgumentParser) -> None:
    """Add what names a plan and who decides."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    configure_person(parser)


def configure_approval(parser: argparse.ArgumentParser) -> None:
    """Add what an approval needs without a terminal."""
    parser.add_argument(
        "--digest", metavar="PREFIX", help="12 or more digits of the digest that you saw"
    )
    parser.add_argument(
        "--statement", action="store_true", help="print what is to be signed, and approve nothing"
    )
    parser.add_argument(
        "--signature", metavar="FILE", help="what `ssh-keygen -Y sign` made of the statement"
    )
    configure_terms(parser)


def configure_terms(parser: argparse.ArgumentParser) -> None:
    """Add until when an approval holds, and in spite of what."""
    parser.add_argument("--expires", metavar="DURATION", help="how long it holds, such as `7d`")
    parser.add_argument(
        "--missing-tools",
        action="store_true",
        help="approve although contracts call programs that are not there; the record names them",
    )
    configure_fresh(parser)


class ApprovalArguments(NamedTuple):
    """What the command line says about an approval."""

    by: str | None = None
    digest: str = ""
    statement: bool = False
    signature: str | None = None
    policy: str | None = None
    expires: str | None = None
    missing_tools: bool = False
    json: bool = False

    @classmethod
    def of(cls, arguments: argparse.Namespace) -> ApprovalArguments:
        """Return what was said; a command that has no such option says nothing."""
        said = {name: getattr(arguments, name, None) for name in cls._fields}
        given = cls(**{name: value for name, value in said.items() if value is not None})
        return given._replace(digest=given.digest.lower())

    @property
    def person(self) -> str:
        """Return who decides; refuse where nobody is named and nobody sits there."""
        if self.policy is not None:
            return f"policy {self.policy}"
        return name_of_person(self.by)

    def consent(self, rules: GateRules) -> Consent:
        """Return the yes that it may become; who gives it may still be unknown."""
        asked = Consent(
            by=self.by or "",
            method=Method.TERMINAL if is_terminal() else Method.DIGEST,
            digest=self.digest,
            signature=self.signature,
            policy=self.policy,
            missing_tools=self.missing_tools,
        )
        method = choose_method(asked, rules)
        if self.statement and method is not Method.POLICY:
            method = Method.SIGNATURE
        return asked._replace(method=method)

    def until(self) -> str | None:
        """Return when the approval ends, in UTC as the journal writes times."""
        if not self.expires:
            return None
        try:
            seconds = float(parse_duration(self.expires))
        except LimitError as error:
            raise UsageError(f"`--expires`: {error.reason}", hint=error.hint) from error
        end = datetime.now(UTC) + timedelta(seconds=seconds)
        return end.strftime("%Y-%m-%dT%H:%M:%S.%fZ")


# -- what the commands of the gate share: the plan, the sheet that is approved, and the consent --


class Gate:
    """A plan before its gate, and somebody at the command line."""

    def __init__(self, arguments: argparse.Namespace, terminal: Terminal) -> None:
        refuse_in_cell()
        self.given = ApprovalArguments.of(arguments)
        self.terminal = terminal
        context = Context(workspace=arguments.workspace, state=arguments.state)
        context.on_stage = live_line().judging
        context.fresh = getattr(arguments, "fresh", False)  # `reject` and `ask` run nothing
        self.candidate = bring(*read_bound_plan(arguments.plan, context))
        self.context = self.candidate.context
        signed = bool(self.given.signature or self.given.statement)
        refuse_agents(self.context.root, arguments.state, signed=signed)
        self.slug = self.candidate.file.slug
        self.consent = self.given.consent(self.context.configuration.gate)

    @property
    def plan(self) -> Plan:
        """Return the plan as its file reads."""
        return self.candidate.plan

    @property
    def by(self) -> str:
        """Return who decides."""
        return self.given.person

    # -- what is wrong with it -----------------------------------------------------------------

    def check(self) -> None:
        """Refuse what cannot become an approval, before anything is frozen or run."""
        if not self.given.statement:
            check_consent(self.consent, self.plan, self.context.configuration)
            if self.given.digest or self.given.signature:
                _ = self.by
        self.consent = self.consent._replace(expires=self.given.until())

    def fault(self) -> FaultyPlan | None:
        """Tell what is wrong; return why the plan cannot be approved, where it cannot."""
        found = self.found = self._noted(self.candidate.verified())
        faults = find_faults(found, missing_tools=self.given.missing_tools)
        first = found.doubts if faults.is_sound else ()
        for line in gate_sheet.doubts(first, self.terminal):
            self._note_or_out(line)
        self._tell(found, [item for item in faults.shown if item not in first])
        if faults.templates:
            return FaultyPlan(
                f"step {faults.templates[0]} is a template",
                hint="write it out with `planbound expand`",
            )
        if faults.errors:
            hint = mend(self.slug, json=self.given.json)
            return FaultyPlan("the plan has errors, so it cannot be approved", hint=hint)
        return None

    def refuse_faulty(self) -> None:
        """Refuse a plan that cannot be approved."""
        fault = self.fault()
        if fault is not None:
            raise fault

    def _noted(self, found: Verified) -> Verified:
        """Put on record that the plan was verified, unless a yes says more in a moment."""
        given = self.given
        if given.digest or given.signature or given.policy is not None:
            return found
        data = note_verified(self.context, self.candidate.file, found, self.terminal)
        if data == self.candidate.data:
            return found
        self.candidate = self.candidate.with_text(data)
        return self.candidate.verified()

    def _tell(self, found: Verified, diagnostics: Sequence[Diagnostic]) -> None:
        for item in diagnostics:
            for line in text.render_text(found.plan.source, item, self.terminal):
                self._note_or_out(line)
            self._note_or_out("")

    def _note_or_out(self, line: str) -> None:
        # A statement is all that standard output may hold: it is signed as it is. So is JSON.
        silent = self.given.statement or self.given.json
        (self.terminal.note if silent else self.terminal.out)(line)

    # -- what is shown -------------------------------------------------------------------------

    def show(self, skipped: Sequence[str] = ()) -> Shown:
        """Look at every contract, and show what would be approved."""
        shown = present(self.candidate, self.found, self.given.policy)
        if shown.overruled is not None:
            self.terminal.note(f"note: the last approval does not hold: {shown.overruled}")
        if not self.given.statement and not self.given.json:
            for line in gate_sheet.lines(self._view(shown, skipped), self.terminal):
                self.terminal.out(line)
            for caution in cautions(self.context):
                self.terminal.note(f"note: {caution}")
        return shown

    def _view(self, shown: Shown, skipped: Sequence[str]) -> gate_sheet.View:
        journal = self.context.existing_journal()
        cell, kept = shown.judging.cell, shown.judging.vault
        return gate_sheet.View(
            sheet=shown.sheet,
            shown=self.candidate.file.shown,
            data=self.candidate.data,
            before=last_text(journal, kept, self.slug) if journal else None,
            configuration=self.context.configuration,
            cell=f"isolation {cell.isolation.value} ({cell.name})",
            home=in_home(shown.judging.view),
            method=self.consent.method,
            skipped=tuple(skipped),
            past=self._past(shown.sheet.plan),
        )

    def _past(self, plan: Plan) -> tuple[PastCost, ...]:
        """Return what steps of the plan's roles cost before: one question to the journal."""
        journal = self.context.existing_journal()
        staff = tuple(gate_sheet.staff_of(plan, self.context.configuration))
        if journal is None or not staff:
            return ()
        query = Query(events=(EventKind.ATTEMPT_ENDED,), last=LOOKED_BACK)
        return tuple(past_costs(attempts(journal.read(query)), staff))

    def _sheet(self, sheet: Sheet, approval: Approval | None = None) -> gate_sheet.ApprovalSheet:
        return gate_sheet.sheet_shown(sheet, approval, self._past(sheet.plan))

    # -- what is decided -----------------------------------------------------------------------

    def decide(self, shown: Shown, modifications: tuple[str, ...] = ()) -> ExitCode:
        """Ask for the approval, or take it from the arguments; record it."""
        sheet = shown.sheet
        self.refuse_missing(sheet)
        if self.given.statement:
            self.refuse_unnoticed(sheet)
            missing = self.given.missing_tools
            said = statement(sheet, self.context.state.project, missing=missing)
            self.terminal.raw(said.decode("ascii"))
            return ExitCode.WAITING
        refuse_unseen(sheet)
        self.refuse_unnoticed(sheet)
        if self._is_given(sheet):
            self.approve(shown, modifications)
            return ExitCode.DONE
        if self.given.json:
            self.terminal.json(self._sheet(sheet))
        signed = self.context.configuration.gate.signed
        way = "--signature FILE" if signed else f"--digest {sheet.digest[:SHORTEST]}"
        way += " --missing-tools" if sheet.missing else ""
        self.terminal.note(
            f"`{self.slug}` waits for approval:"
            f" `planbound approve {shlex.quote(self.slug)} {way} --as NAME`"
        )
        return ExitCode.WAITING

    def refuse_missing(self, sheet: Sheet) -> None:
        """Refuse a plan whose contracts lack a program, unless that was said to be all right."""
        if sheet.missing and not self.given.missing_tools:
            if self.given.json:
                self.terminal.json(self._sheet(sheet))
            refuse_missing(sheet)

    def refuse_unnoticed(self, sheet: Sheet) -> None:
        """Refuse a plan with a contract that passes with what it has to reject."""
        if self.given.json and any(unnoticed(sheet)):
            self.terminal.json(self._sheet(sheet))
        refuse_unnoticed(sheet)

    def approve(self, shown: Shown, modifications: tuple[str, ...]) -> None:
        """Record the approval of exactly what was shown."""
        consent = self.consent._replace(by=self.by, modifications=modifications)
        approval, sheet, notes = approve(shown, consent)
        for note in notes:
            self.terminal.note(f"note: {note}")
        if self.given.json:
            self.terminal.json(self._sheet(sheet, approval))
            return
        said = visible(", ".join(approval.modifications))
        changes = f", with {said}" if said else ""
        self.terminal.out(
            f"approved {approval.digest[:SHORTEST]} by {visible(approval.by)}"
            f" ({consent.method.value}; {consent.method.caution}){changes}"
            + "".join(f"; {visible(said)}" for said in in_spite_of(sheet))
        )

    def _is_given(self, sheet: Sheet) -> bool:
        """Say whether there is a yes: in the arguments, or typed now."""
        match self.consent.method:
            case Method.POLICY:
                return True
            case Method.DIGEST:
                return bool(self.given.digest)
            case Method.TERMINAL:
                return self.types_digest(sheet)
            case Method.SIGNATURE:
                return bool(self.given.signature)
            case Method.ELICITATION | Method.PAGE:
                raise AssertionError("only a form consents like that")

    def types_digest(self, sheet: Sheet) -> bool:
        """Say whether whoever sits at the terminal types the beginning of the digest."""
        typed = prompt(f"to approve, type the first {TYPED} characters of the digest: ")
        if not typed:
            return False
        if wrong := wrong_digest(typed, sheet.digest):
            self.terminal.note(f"`{visible(typed)}` {wrong}")
            return False
        self.consent = self.consent._replace(digest=typed)
        return True

    # -- what is changed -----------------------------------------------------------------------

    def change(self, changes: Sequence[TextChange], step_text: str | None = None) -> None:
        """Change the plan's text, and show the difference."""
        before = self.candidate
        try:
            self.candidate = change(before, changes, by=self.by, step_text=step_text)
        except FaultyText as fault:
            self._tell(fault.found, fault.errors)
            raise
        now = self.candidate.data
        for line in difference(before.file.shown, before.data, now).splitlines():
            self._note_or_out(visible(line))


# -- `planbound approve` -------------------------------------------------------------------------


def configure_approve(parser: argparse.ArgumentParser) -> None:
    configure_plan(parser)
    configure_approval(parser)
    parser.add_argument(
        "--policy", metavar="NAME", help="let `[gate.policies.NAME]` of the configuration approve"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_approve(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show what would run, and take the approval."""
    before = Gate(arguments, terminal)
    before.check()
    before.refuse_faulty()
    return before.decide(before.show())


SHAPES: dict[str, Shapes] = {
    "approve": {"": gate_sheet.ApprovalSheet},
}
