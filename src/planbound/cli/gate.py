"""What the commands of the gate share: the plan, the sheet that is approved, and the consent."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence

from planbound.cli.gate_arguments import SHORTEST, Given, prompt
from planbound.cli.inputs import read_bound_plan
from planbound.cli.journalling import note_verified
from planbound.cli.live import live_line
from planbound.cli.reports import gate_sheet, text
from planbound.cli.terminal import Terminal
from planbound.engine.configuration_digest import configuration_digest
from planbound.engine.gate.approval import Method, Standing, mismatch
from planbound.errors import (
    ExitCode,
    NothingToDo,
    Refused,
)
from planbound.journal.event import EventKind
from planbound.plan.digest import digest
from planbound.plan.model import PlanStatus
from planbound.plan.parse import parse, write
from planbound.ports.journal import Query
from planbound.source import Diagnostic, Severity
from planbound.source.visible import visible
from planbound.usecases import gate
from planbound.usecases.differences import difference
from planbound.usecases.modify import TextChange, modify, new_errors, say_change
from planbound.usecases.verify import Verified, verify
from planbound.wiring.approving import (
    Consent,
    approve,
    in_spite_of,
    lay_before,
    refuse_missing,
    refuse_policy,
    refuse_unseen,
)
from planbound.wiring.judging import refuse_in_cell, vault
from planbound.wiring.marking import look
from planbound.wiring.parts import Parts
from planbound.wiring.tools import cautions, said_tools

_TYPED = 6


class Gate:
    """A plan before its gate."""

    def __init__(self, arguments: argparse.Namespace, terminal: Terminal) -> None:
        refuse_in_cell()
        self.given = Given.of(arguments)
        self.terminal = terminal
        parts = Parts(workspace=arguments.workspace, state=arguments.state)
        parts.told = live_line().judging
        self.parts, self.file, self.data = read_bound_plan(arguments.plan, parts)
        self.parts.demand_own(self.file)
        seen = look(self.parts, self.file, self.data)
        self.data = seen.data
        self.plan = parse(self.data, path=self.file.shown)
        self.parts.see(self.file, self.plan)
        self.expires: str | None = None

    def read_again(self) -> None:
        """Read the plan as it is now: somebody else wrote to it."""
        self.data = self.parts.reader.read(self.file.path)
        self.plan = parse(self.data, path=self.file.shown)

    @property
    def by(self) -> str:
        """Return who decides."""
        return self.given.person

    @property
    def method(self) -> Method:
        """Return how the plan would be approved."""
        return self.given.method(self.parts.configuration.gate)

    # -- what is wrong with it -----------------------------------------------------------------

    def verified(self, data: bytes) -> Verified:
        """Return what is wrong with a text of the plan."""
        return verify(data, path=self.file.shown, surroundings=self.parts.surroundings())

    def is_sound(self) -> bool:
        """Say whether the plan may be approved at all; tell what is wrong where it may not."""
        found = self.found = self._noted(self.verified(self.data))
        templates = [step.label for step in self.plan.steps if step.is_template]
        missing = found.missing_tools if self.given.missing_tools else ()
        errors = [
            item
            for item in found.diagnostics
            if item.severity is Severity.ERROR and item not in missing
        ]
        sound = not errors and not templates
        first = found.doubts if sound else ()
        for line in gate_sheet.doubts(first, self.terminal):
            self._note_or_out(line)
        # A missing tool is an error here, whatever `verify` calls it.
        wrong = () if missing else found.missing_tools
        others = [item for item in found.diagnostics if item not in first]
        self._tell(
            found,
            [item._replace(severity=Severity.ERROR) if item in wrong else item for item in others],
        )
        if templates:
            self.terminal.problem(
                f"step {templates[0]} is a template", "write it out with `planbound expand`"
            )
        elif errors:
            self.terminal.problem("the plan has errors, so it cannot be approved", "mend them")
        elif self.given.policy is not None:
            refuse_policy(self.given.policy, found.doubts, found.missing())
        return sound

    def _noted(self, found: Verified) -> Verified:
        """Put on record that the plan was verified, unless a yes says more in a moment."""
        given = self.given
        if given.digest or given.signature or given.policy is not None:
            return found
        data = note_verified(self.parts, self.file, found, self.terminal)
        if data == self.data:
            return found
        self.data = data
        self.plan = parse(data, path=self.file.shown)
        return self.verified(data)

    def _tell(self, found: Verified, diagnostics: Sequence[Diagnostic]) -> None:
        for item in diagnostics:
            for line in text.render(found.plan.source, item, self.terminal):
                self._note_or_out(line)
            self._note_or_out("")

    def _note_or_out(self, line: str) -> None:
        # A statement is all that standard output may hold: it is signed as it is. So is JSON.
        silent = self.given.statement or self.given.json
        (self.terminal.note if silent else self.terminal.out)(line)

    def check(self) -> None:
        """Refuse what cannot become an approval, before anything is frozen or run."""
        self.given.check(self.plan, self.parts.configuration)
        self.expires = self.given.until()

    # -- what is shown -------------------------------------------------------------------------

    def sheet(self, skipped: Sequence[str] = ()) -> gate.Sheet:
        """Freeze the tree, look at every contract, and show what would be approved."""
        shown = lay_before(self.parts, self.file, self.data, self.found)
        self.shown = shown
        self._refuse_again(shown.sheet)
        self.shown = shown.looked_at()
        sheet = self.shown.sheet
        kept = gate.keep_text(self.shown.bench.vault, self.data)
        gate.request(self.parts.recorder(), sheet, text=kept)
        if not self.given.statement and not self.given.json:
            for line in gate_sheet.lines(self._view(sheet, skipped), self.terminal):
                self.terminal.out(line)
            for caution in cautions(self.parts):
                self.terminal.note(f"note: {caution}")
        return sheet

    def _view(self, sheet: gate.Sheet, skipped: Sequence[str]) -> gate_sheet.View:
        journal = self.parts.existing_journal()
        cell, vault = self.shown.bench.cell, self.shown.bench.vault
        return gate_sheet.View(
            sheet=sheet,
            shown=self.file.shown,
            data=self.data,
            before=gate.last_text(journal, vault, sheet.slug) if journal else None,
            configuration=self.parts.configuration,
            cell=f"isolation {cell.isolation.value} ({cell.name})",
            method=self.method,
            skipped=tuple(skipped),
        )

    def _refuse_again(self, sheet: gate.Sheet) -> None:
        journal = self.parts.existing_journal()
        approval = gate.last_approval(journal, sheet.slug) if journal else None
        if journal is None or approval is None:
            return
        standing = Standing(
            sheet.digest,
            sheet.judges,
            configuration_digest(self.parts.configuration, like=approval.configuration),
            self.parts.now(),
            project=self.parts.state.project,
            used=gate.consumer(journal, sheet.slug, approval.nonce),
            tools=said_tools(sheet.tools),
        )
        # A run that is under way may have made the environment itself.
        meanwhile = standing._replace(used=None, tools=None)
        if standing.used is not None and mismatch(approval, meanwhile) is None:
            self._refuse_under_way(sheet.slug, standing.used)
        reason = mismatch(approval, standing)
        if reason is None:
            raise NothingToDo(f"`{sheet.slug}` is approved already, by {approval.by}")
        self.terminal.note(f"note: the last approval does not hold: {reason}")

    def _refuse_under_way(self, slug: str, run: str) -> None:
        """Refuse to approve what is approved and being worked on: all proofs would be lost."""
        journal = self.parts.existing_journal()
        ends = (EventKind.EXECUTION_COMPLETE,)
        ended = None
        for record in journal.read(Query(plan=slug, events=ends)) if journal else ():
            if record.draft.details.get("run") == run:
                ended = record.draft.details.get("status")
        if ended is None:
            raise NothingToDo(
                f"`{slug}` is approved already, and run {run} is under way:"
                f" `planbound resume {shlex.quote(slug)}`"
            )

    # -- what is decided -----------------------------------------------------------------------

    def decide(self, sheet: gate.Sheet, modifications: tuple[str, ...] = ()) -> ExitCode:
        """Ask for the approval, or take it from the arguments; record it."""
        self.refuse_missing(sheet)
        if self.given.statement:
            self.terminal.raw(self._statement(sheet).decode("ascii"))
            return ExitCode.WAITING
        refuse_unseen(sheet)
        if self._consents(sheet):
            self.approve(modifications)
            return ExitCode.DONE
        if self.given.json:
            self.terminal.json(gate_sheet.as_json(sheet))
        name = sheet.slug
        signed = self.parts.configuration.gate.signed
        way = "--signature FILE" if signed else f"--digest {sheet.digest[:SHORTEST]}"
        way += " --missing-tools" if sheet.missing else ""
        self.terminal.note(
            f"`{name}` waits for approval: `planbound approve {shlex.quote(name)} {way} --as NAME`"
        )
        return ExitCode.WAITING

    def refuse_missing(self, sheet: gate.Sheet) -> None:
        """Refuse a plan whose contracts lack a program, unless that was said to be all right."""
        if sheet.missing and not self.given.missing_tools:
            if self.given.json:
                self.terminal.json(gate_sheet.as_json(sheet))
            refuse_missing(sheet)

    def approve(self, modifications: tuple[str, ...]) -> None:
        """Record the approval of exactly what was shown."""
        method = self.method
        consent = Consent(
            self.by,
            method,
            self.expires,
            modifications,
            self.given.policy,
            self.given.missing_tools,
        )
        approval = approve(self.shown, consent, self.terminal.note)
        if self.given.json:
            sheet = self.shown.sheet
            self.terminal.json({**gate_sheet.as_json(sheet), **gate_sheet.yes_as_json(approval)})
            return
        said = visible(", ".join(approval.modifications))
        changes = f", with {said}" if said else ""
        self.terminal.out(
            f"approved {approval.digest[:SHORTEST]} by {visible(approval.by)}"
            f" ({method.value}; {method.caution}){changes}"
            + "".join(f"; {visible(said)}" for said in in_spite_of(self.shown.sheet))
        )

    def _statement(self, sheet: gate.Sheet) -> bytes:
        missing = self.given.missing_tools
        return gate.statement(sheet, self.parts.state.project, missing=missing)

    def _consents(self, sheet: gate.Sheet) -> bool:
        match self.method:
            case Method.POLICY:
                return True
            case Method.DIGEST:
                return bool(self.given.digest)
            case Method.TERMINAL:
                return self.types_digest(sheet)
            case Method.SIGNATURE:
                return self._signs(sheet)
            case Method.ELICITATION:
                raise AssertionError("only a client's form consents like that")

    def _signs(self, sheet: gate.Sheet) -> bool:
        if not self.given.signature:
            return False
        from planbound.shell.signature import check_signature  # noqa: PLC0415 - seldom

        check_signature(
            self._statement(sheet),
            signature=self.given.signature,
            signer=self.by,
            namespace=gate.NAMESPACE,
        )
        return True

    def types_digest(self, sheet: gate.Sheet) -> bool:
        """Say whether whoever sits at the terminal types the beginning of the digest."""
        typed = prompt(f"to approve, type the first {_TYPED} characters of the digest: ")
        if not typed:
            return False
        if len(typed) >= _TYPED and sheet.digest.startswith(typed.lower()):
            return True
        self.terminal.note(f"`{visible(typed)}` is not how the digest begins")
        return False

    # -- what is changed -----------------------------------------------------------------------

    def change(self, changes: Sequence[TextChange], step_text: str | None = None) -> None:
        """Change the plan's text, show the difference, and put on record what was done.

        A change that cannot be made, or that brings errors, leaves the file as it is.
        """
        by = self.by
        plan = modify(self.plan, changes, step_text)
        data = write(plan)
        after = self.verified(data)
        wrong = new_errors(self.verified(self.data), after)
        if wrong:
            self._tell(after, wrong)
            raise Refused("the plan cannot be changed like that: it would have errors")
        self.parts.files.replace(self.file.path, data, expected=self.data)
        said = [say_change(change) for change in changes]
        texts = [gate.keep_text(vault(self.parts), each) for each in (self.data, data)]
        rewriting = gate.Rewriting(by, ", ".join(said), tuple(said), *texts)
        before, now = digest(self.plan), digest(plan)
        gate.rewrite(self.parts.recorder(), self.file.slug, before, now, rewriting)
        for line in difference(self.file.shown, self.data, data).splitlines():
            self.terminal.out(visible(line))
        self.plan, self.data = plan, data

    def show(self, status: PlanStatus) -> None:
        """Write the status into the file, for people."""
        gate.show_status(self.parts.files, self.file, self.data, self.plan, status)
