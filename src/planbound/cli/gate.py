"""What the commands of the gate share: the plan, the sheet that is approved, and the signature."""

from __future__ import annotations

import argparse
import os
import secrets
import sys
from collections.abc import Iterator

from planbound.cli.inputs import read_plan
from planbound.cli.reports import text
from planbound.cli.terminal import Terminal
from planbound.engine.gate.approval import Approval, Method, Standing, mismatch
from planbound.engine.judging.case import cases
from planbound.engine.judging.verdict import Verdict, VerdictKind
from planbound.errors import ExitCode, NothingToDo, Refused, UsageError
from planbound.plan.digest import contract_digest, digest
from planbound.plan.limits import format_budget
from planbound.plan.model import Attest, Command, Plan, PlanStatus, Step
from planbound.plan.parse import parse
from planbound.source.visible import visible
from planbound.usecases import gate
from planbound.usecases.baseline import (
    Taken,
    configuration_digest,
    freeze,
    note_baseline,
    observe,
)
from planbound.usecases.bench import Bench
from planbound.usecases.differences import difference
from planbound.usecases.verify import verify
from planbound.wiring.judging import make_bench, refuse_in_cell
from planbound.wiring.parts import Parts

_SHORTEST = 12
_TYPED = 6
_SHOWN = 8


def configure(parser: argparse.ArgumentParser) -> None:
    """Add what names a plan and who decides."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    configure_person(parser)


def configure_person(parser: argparse.ArgumentParser) -> None:
    """Add who decides."""
    parser.add_argument("--as", dest="by", metavar="NAME", help="who decides")


def configure_approval(parser: argparse.ArgumentParser) -> None:
    """Add what an approval needs without a terminal."""
    parser.add_argument(
        "--digest", metavar="PREFIX", help="12 or more digits: says that exactly this was seen"
    )
    parser.add_argument(
        "--statement", action="store_true", help="print what is to be signed, and approve nothing"
    )
    parser.add_argument(
        "--signature", metavar="FILE", help="what `ssh-keygen -Y sign` made of the statement"
    )
    parser.add_argument("--expires", metavar="DURATION", help="how long it holds, such as `7d`")


class Gate:
    """A plan before its gate."""

    def __init__(self, arguments: argparse.Namespace, terminal: Terminal) -> None:
        refuse_in_cell()
        self.arguments = arguments
        self.terminal = terminal
        self.parts = Parts(workspace=arguments.workspace, state=arguments.state)
        self.file, self.data = read_plan(arguments.plan, self.parts)
        if not self.parts.holds(self.file.path):
            raise UsageError("only a plan in `.harness/` goes through the gate")
        self.plan = parse(self.data, path=self.file.shown)

    @property
    def statement_only(self) -> bool:
        """Whether somebody only wants to see what is to be signed."""
        return bool(getattr(self.arguments, "statement", False))

    @property
    def by(self) -> str:
        """Return who decides."""
        if self.arguments.by:
            return str(self.arguments.by)
        if not _is_terminal():
            raise UsageError("nobody decides", hint="without a terminal say who: `--as NAME`")
        import getpass  # noqa: PLC0415 - only here

        return getpass.getuser()

    def is_sound(self) -> bool:
        """Say whether the plan may be approved at all; tell what is wrong where it may not."""
        surroundings = self.parts.surroundings()
        found = verify(self.data, path=self.file.shown, surroundings=surroundings)
        # A statement is all that standard output may hold: it is signed as it is.
        say = self.terminal.note if self.statement_only else self.terminal.out
        for item in found.diagnostics:
            for line in text.render(found.plan.source, item, self.terminal):
                say(line)
            say("")
        templates = [step.label for step in self.plan.steps if step.is_template]
        if templates:
            self.terminal.problem(
                f"step {templates[0]} is a template", "write it out with `planbound expand`"
            )
        elif found.errors:
            self.terminal.problem("the plan has errors, so it cannot be approved", "mend them")
        return not found.errors and not templates

    def check(self) -> None:
        """Refuse what cannot become an approval, before anything is frozen or run."""
        if self.statement_only:
            return
        prefix = (self.arguments.digest or "").lower()
        if prefix and len(prefix) < _SHORTEST:
            raise UsageError(f"`--digest` needs {_SHORTEST} digits or more")
        now = digest(self.plan)
        if not now.startswith(prefix):
            raise Refused(
                f"digest changed: `{prefix}` is not this plan, {now[:_SHORTEST]} is",
                hint="look at the plan again before you approve it",
            )
        signature = self.arguments.signature
        if signature and not os.path.isfile(signature):
            raise UsageError(f"there is no signature `{signature}`")
        if self.parts.configuration.gate.signed and prefix and not signature:
            raise Refused(
                "only a signature approves here (`gate.signed`)",
                hint="`--statement` prints what to sign; docs/concepts/gate.md shows how",
            )
        if prefix or signature:
            _ = self.by
        self.expires = self._expires()

    def sheet(self) -> gate.Sheet:
        """Freeze the tree, look at every contract, and show what would be approved."""
        bench = make_bench(self.parts)
        self.bench = bench
        tree = freeze(bench.tree, bench.vault, bench.rules)
        found = tuple(cases(self.plan))
        sheet = gate.Sheet(
            plan=self.plan,
            slug=self.file.slug,
            digest=digest(self.plan),
            tree=tree.manifest.digest,
            judges=gate.judge_digests(found, tree.manifest, bench.vault),
            configuration=configuration_digest(self.parts.configuration),
            baseline=(),
        )
        self._refuse_again(sheet)
        self.frozen = tree
        sheet = sheet._replace(baseline=tuple(observe(bench, found)))
        gate.request(self.parts.recorder(), sheet)
        if not self.statement_only:
            for line in self._lines(sheet, bench):
                self.terminal.out(line)
        return sheet

    def _refuse_again(self, sheet: gate.Sheet) -> None:
        journal = self.parts.existing_journal()
        approval = gate.last_approval(journal, sheet.slug) if journal else None
        if approval is None:
            return
        standing = Standing(sheet.digest, sheet.judges, sheet.configuration, self.parts.now())
        reason = mismatch(approval, standing)
        if reason is None:
            raise NothingToDo(f"`{sheet.slug}` is approved already, by {approval.by}")
        self.terminal.note(f"note: the last approval does not hold: {reason}")

    def decide(self, sheet: gate.Sheet, modifications: tuple[str, ...] = ()) -> ExitCode:
        """Ask for the approval, or take it from the arguments; record it."""
        if self.statement_only:
            self.terminal.raw(self._statement(sheet).decode("ascii"))
            return ExitCode.WAITING
        method = self._consent(sheet)
        if method is None:
            name = sheet.slug
            way = f"--digest {sheet.digest[:_SHORTEST]}"
            if self.parts.configuration.gate.signed:
                way = "--signature FILE"
            self.terminal.note(
                f"`{name}` waits for approval: `planbound approve {name} {way} --as NAME`"
            )
            return ExitCode.WAITING
        approval = Approval(
            nonce=secrets.token_hex(16),
            digest=sheet.digest,
            judges=sheet.judges,
            configuration=sheet.configuration,
            by=self.by,
            method=method.value,
            expires=self.expires,
            modifications=modifications,
        )
        kept = gate.keep_text(self.bench.vault, self.data)
        recorder = self.parts.recorder()
        # Only now: a look, or a refusal, must not put a new tree in the place of the frozen one.
        taken = Taken(self.frozen, sheet.digest, sheet.configuration)
        note_baseline(recorder, sheet.slug, taken, sheet.baseline)
        gate.approve(recorder, sheet, approval, text=kept)
        self.show(PlanStatus.APPROVED)
        changes = f", with {', '.join(modifications)}" if modifications else ""
        self.parts.progress(sheet.slug, f"approved by {approval.by}{changes}")
        self.terminal.out(
            f"approved {sheet.digest[:_SHORTEST]} by {visible(approval.by)}"
            f" ({method.value}){changes}"
        )
        return ExitCode.DONE

    def _statement(self, sheet: gate.Sheet) -> bytes:
        return gate.statement(sheet, self.parts.state.project)

    def _consent(self, sheet: gate.Sheet) -> Method | None:
        if self.arguments.signature:
            from planbound.shell.signature import check_signature  # noqa: PLC0415 - seldom

            check_signature(
                self._statement(sheet),
                signature=self.arguments.signature,
                signer=self.by,
                namespace=gate.NAMESPACE,
            )
            return Method.SIGNATURE
        if self.parts.configuration.gate.signed:
            return None
        if self.arguments.digest:
            return Method.DIGEST
        if not _is_terminal():
            return None
        sys.stderr.write(f"to approve, type the first {_TYPED} characters of the digest: ")
        sys.stderr.flush()
        return Method.TERMINAL if _typed() == sheet.digest[:_TYPED] else None

    def _expires(self) -> str | None:
        if not self.arguments.expires:
            return None
        from datetime import UTC, datetime, timedelta  # noqa: PLC0415 - only here

        from planbound.plan.limits import LimitError, parse_duration  # noqa: PLC0415

        try:
            seconds = float(parse_duration(self.arguments.expires))
        except LimitError as error:
            raise UsageError(f"`--expires`: {error.reason}", hint=error.hint) from error
        until = datetime.now(UTC) + timedelta(seconds=seconds)
        return until.strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def show(self, status: PlanStatus) -> None:
        """Write the status into the file, for people."""
        gate.show_status(self.parts.files, self.file, self.data, self.plan, status)

    # -- the sheet -----------------------------------------------------------------------------

    def _lines(self, sheet: gate.Sheet, bench: Bench) -> Iterator[str]:
        plan, terminal = sheet.plan, self.terminal
        title = visible(plan.objective.value) if plan.objective else sheet.slug
        yield terminal.style(title, "bold")
        yield f"digest {sheet.digest[:_SHORTEST]}, tree {sheet.tree[:_SHORTEST]}"
        yield from self._differences(sheet)
        yield ""
        colours = {(item.subject.value, item.number): item for item in sheet.baseline}
        for step in plan.steps:
            yield from _step(step, plan, colours.get(("step", step.label)), terminal)
        for condition in plan.postconditions:
            found = colours.get(("postcondition", str(condition.number)))
            yield f"at the end: {visible(condition.statement)} {_now(found, terminal)}".rstrip()
        yield ""
        contracts = bench.configuration.contracts
        judges = list(sheet.judges)
        named = ", ".join(visible(path) for path in judges[:_SHOWN])
        more = f" and {len(judges) - _SHOWN} more" if len(judges) > _SHOWN else ""
        count = f"{len(judges)} file{'' if len(judges) == 1 else 's'}"
        yield f"judged by {count}: {named}{more}" if judges else "judged by no file"
        passed = ", ".join(contracts.env) or "nothing"
        yield f"passed to contracts: {passed}; network {'on' if contracts.network else 'off'}"
        yield f"budget: {format_budget(plan.budget.value) if plan.budget else 'none is set'}"
        wanted = bench.configuration.judging.evidence
        level = f"isolation {bench.cell.isolation.value} ({bench.cell.name})"
        yield f"{level}, evidence {wanted.value if wanted else 'as it comes'}"
        yield ""

    def _differences(self, sheet: gate.Sheet) -> Iterator[str]:
        journal = self.parts.existing_journal()
        before = gate.last_text(journal, self.bench.vault, sheet.slug) if journal else None
        if before is None or before == self.data:
            return
        old = {step.id: step for step in parse(before, path="approved").steps}
        for step in sheet.plan.steps:
            was = old.get(step.id)
            if was is not None and _contract(was) != _contract(step):
                yield self.terminal.style(f"the contract of step {step.label} is another", "red")
        for lost in old.keys() - {step.id for step in sheet.plan.steps}:
            yield self.terminal.style(f"the step `{visible(lost)}` is gone", "red")
        for line in difference(self.file.shown, before, self.data).splitlines():
            yield f"  {visible(line)}"


def _contract(step: Step) -> str | None:
    return contract_digest(step.contract) if step.contract is not None else None


def _step(step: Step, plan: Plan, found: Verdict | None, terminal: Terminal) -> Iterator[str]:
    target = f" ({visible(step.target.value)})" if step.target else ""
    yield f"{step.label}. {terminal.style(visible(step.title), 'bold')}{target}"
    touches = ", ".join(visible(item.value) for item in plan.touches_of(step))
    yield f"   may touch {touches or ('anything' if step.touches is None else 'nothing')}"
    if isinstance(step.contract, Command):
        for number, line in enumerate(step.contract.text.split("\n")):
            yield f"   {'$' if number == 0 else ' '} {visible(line)}"
        yield f"   {_now(found, terminal)}"
    elif isinstance(step.contract, Attest):
        yield f"   attested by a person: {visible(step.contract.statement)}"


def _now(found: Verdict | None, terminal: Terminal) -> str:
    if found is None:
        return ""
    if found.kind is VerdictKind.PASS:
        return terminal.style("green already: passing proves nothing about the work", "yellow")
    if found.kind in {VerdictKind.FAIL, VerdictKind.VACUOUS}:
        return terminal.style(f"red now: {visible(found.reason)}", "dim")
    return terminal.style(f"{found.kind.value} now: {visible(found.reason)}", "yellow")


def _is_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _typed() -> str:
    return sys.stdin.readline().strip().lower()
