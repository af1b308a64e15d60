"""The one way to decide about a plan, for every face: approve, reject, ask, change, amend."""

from __future__ import annotations

import os
import secrets
import shlex
from collections.abc import Sequence
from typing import NamedTuple

from planbound.approval.modify import (
    Amendment,
    NotUnderWay,
    TextChange,
    examine,
    modify,
    new_errors,
    record_amendment,
    say_change,
)
from planbound.approval.record import (
    KeptSignature,
    Rewriting,
    changes_since_approval,
    differences,
    keep_signature,
    keep_text,
    last_text,
    record_approval,
    record_change,
    record_question,
    record_rejection,
    record_request,
    show_status,
)
from planbound.approval.sheet import (
    NAMESPACE,
    Sheet,
    controls_of,
    judge_digests,
    missing_programs,
    refuse_missing,
    refuse_unnoticed,
    refuse_unseen,
    statement,
    unseen_files,
)
from planbound.disk.files import PlanFile
from planbound.errors import ConcurrentModification, FileProblem, NothingToDo, Refused, UsageError
from planbound.journal.event import EventKind, ExecutionComplete
from planbound.journal.fields import ControlResult
from planbound.journal.leases import while_nobody_runs
from planbound.journal.record import Journal, Query
from planbound.journal.words import Method, PersonMethod
from planbound.judging.case import cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.control import observe_controls
from planbound.judging.judge import Taken, note_baseline
from planbound.judging.reference import FrozenTree, freeze_for
from planbound.judging.tools import contract_tools, said_tools
from planbound.plan.digest import digest
from planbound.plan.edit import set_plan_status
from planbound.plan.model import Plan, PlanStatus
from planbound.plan.parse import parse, write
from planbound.source import Diagnostic, visible
from planbound.state.append import Recorder
from planbound.state.approval import KINDS, Approval, CurrentPlan, mismatch
from planbound.state.plan import plan_state
from planbound.verify.examine import Verified
from planbound.workspace.configuration import Configuration, GateRules
from planbound.workspace.configuration_digest import configuration_digest
from planbound.workspace.context import Context
from planbound.workspace.manifest import digest_without
from planbound.workspace.measured import progress_files
from planbound.workspace.overview import look
from planbound.workspace.surroundings import verify
from planbound.workspace.vault import open_vault

# -- somebody's yes, or a policy's: how it is given, and whether it holds for what it is given to


SHORTEST = 12
"""How many digits of a digest say that somebody saw the plan, where nobody sits at a terminal."""
TYPED = 6
"""How many characters of the digest a person types who was just shown it."""


class Consent(NamedTuple):
    """A yes: by whom, how it is known, to what, in spite of what and until when."""

    by: str
    method: Method
    digest: str = ""
    """How the digest begins of what was seen."""
    signature: str | None = None
    """The file that `ssh-keygen -Y sign` made of the statement."""
    policy: str | None = None
    expires: str | None = None
    modifications: tuple[str, ...] = ()
    """What is part of this yes and of no text: steps that are skipped."""
    missing_tools: bool = False
    """Whether it is a yes in spite of programs that are not there."""
    through: PersonMethod | None = None
    """Where a signature was handed in: the key says who it was, wherever that is."""


def choose_method(consent: Consent, rules: GateRules) -> Method:
    """Return how a plan would be approved, by what is given and what the configuration demands."""
    if consent.policy is not None:
        return Method.POLICY
    if consent.signature or rules.signed:
        return Method.SIGNATURE
    return Method.DIGEST if consent.digest else consent.method


def check_consent(consent: Consent, plan: Plan, configuration: Configuration) -> None:
    """Refuse what cannot become an approval, before anything is frozen or run."""
    if consent.digest and len(consent.digest) < SHORTEST:
        raise UsageError(f"`--digest` needs {SHORTEST} digits or more")
    now = digest(plan)
    if not now.startswith(consent.digest):
        raise Refused(
            f"digest changed: `{consent.digest}` is not this plan, {now[:SHORTEST]} is",
            hint="look at the plan again before you approve it",
        )
    if consent.signature and not os.path.isfile(consent.signature):
        raise UsageError(f"there is no signature `{consent.signature}`")
    unsigned = not consent.signature and bool(consent.digest or consent.policy is not None)
    if configuration.gate.signed and unsigned:
        raise _unsigned()
    if consent.policy is not None:
        if consent.by or consent.signature:
            raise UsageError(
                "a policy approves, or a person does", hint="leave `--policy` or the name out"
            )
        if consent.missing_tools:
            raise UsageError(
                "no policy approves over missing tools", hint="leave `--missing-tools` out"
            )
        _refuse_objections(consent.policy, plan, configuration)


def wrong_digest(typed: str, whole: str) -> str | None:
    """Return what is wrong with what somebody typed as the beginning of a digest."""
    typed = typed.strip().lower()
    if not whole.startswith(typed):
        return "is not how the digest begins"
    return f"is too short: type {TYPED} characters or more" if len(typed) < TYPED else None


def refuse_consent(
    consent: Consent, sheet: Sheet, configuration: Configuration, project: str
) -> None:
    """Refuse a yes that does not hold for exactly this sheet."""
    if configuration.gate.signed and consent.method is not Method.SIGNATURE:
        raise _unsigned()
    match consent.method:
        case Method.POLICY:
            name = consent.policy or consent.by
            _refuse_objections(name, sheet.plan, configuration)
            refuse_doubts(name, sheet.warnings, sheet.missing)
            refuse_empty_controls(name, sheet)
        case Method.SIGNATURE:
            from planbound.cells.signatures import check_signature  # noqa: PLC0415 - seldom

            if not consent.signature:
                raise UsageError("there is no signature")
            check_signature(
                statement(sheet, project, missing=consent.missing_tools),
                signature=consent.signature,
                signer=consent.by,
                namespace=NAMESPACE,
            )
        case Method.DIGEST | Method.TERMINAL | Method.ELICITATION | Method.PAGE:
            if wrong := wrong_digest(consent.digest, sheet.digest):
                raise Refused(f"that {wrong}: nothing was approved")
    if not consent.missing_tools and consent.method is not Method.POLICY:
        refuse_missing(sheet)


def _unsigned() -> Refused:
    return Refused(
        "only a signature approves here (`gate.signed`)",
        hint="`--statement` prints what to sign; docs/concepts/gate.md shows how",
    )


def _refuse_objections(name: str, plan: Plan, configuration: Configuration) -> None:
    from planbound.workspace.policy import objections  # noqa: PLC0415 - seldom

    policies = {policy.name: policy for policy in configuration.gate.policies}
    if name not in policies:
        known = ", ".join(f"`{known}`" for known in policies) or "none"
        raise UsageError(f"there is no policy `{name}`", hint=f"policies: {known}")
    reasons = objections(policies[name], plan, configuration.path)
    if reasons:
        raise Refused(
            f"the policy `{name}` does not approve this plan:\n"
            + "\n".join(f"  {visible(reason)}" for reason in reasons),
            hint="a person can: `planbound approve`",
        )


def refuse_doubts(policy: str, warnings: Sequence[Diagnostic], missing: Sequence[str]) -> None:
    """Refuse to let a policy approve what somebody has to have seen."""
    reasons = [f"{item.code}: {item.message}" for item in warnings]
    reasons += [f"there is no program `{name}`, which a contract calls" for name in missing]
    if reasons:
        raise Refused(
            f"the policy `{policy}` does not approve this plan; no policy approves over\n"
            + "\n".join(f"  {visible(reason)}" for reason in reasons),
            hint="a person can: `planbound approve`",
        )


def refuse_empty_controls(policy: str, sheet: Sheet) -> None:
    """Refuse to let a policy approve over controls that show nothing: a person may."""
    empty = [
        f"{name}: the contract says the same without `{run.name}`"
        for name, run in controls_of(sheet)
        if run.result is ControlResult.SAME
    ]
    if empty:
        raise Refused(
            f"the policy `{policy}` does not approve this plan; no policy approves over\n"
            + "\n".join(f"  {visible(reason)}" for reason in empty),
            hint="a person can: `planbound approve`",
        )


# -- the one way to decide about a plan, for every face: approve, reject, ask, change, amend -----


class Candidate(NamedTuple):
    """A plan before its gate, as its file reads."""

    context: Context
    """Of the worktree that the plan is bound to."""
    file: PlanFile
    data: bytes
    plan: Plan

    def with_text(self, data: bytes) -> Candidate:
        return self._replace(data=data, plan=parse(data, path=self.file.shown))

    def read_again(self) -> Candidate:
        """Return it as its file reads now: somebody else wrote to it."""
        return self.with_text(self.context.reader.read(self.file.path))

    def verified(self) -> Verified:
        """Return what is wrong with it."""
        return verify(self.data, path=self.file.shown, surroundings=self.context.surroundings())


class Shown(NamedTuple):
    """A plan as it lies before whoever decides, all of it from one reading."""

    candidate: Candidate
    found: Verified
    judging: JudgingContext
    tree: FrozenTree
    sheet: Sheet
    overruled: str | None = None
    """Why the last approval does not hold; None where it was never approved."""

    def looked_at(self) -> Shown:
        """Run every contract once, to see which are red before the work, and which lack a tool."""
        plan = self.found.plan
        baseline = tuple(observe_controls(self.judging, plan, tuple(cases(plan))))
        missing = missing_programs(self.found, baseline)
        return self._replace(sheet=self.sheet._replace(baseline=baseline, missing=missing))


class Approved(NamedTuple):
    """An approval that is on record."""

    approval: Approval
    sheet: Sheet
    notes: tuple[str, ...]
    """What came of it besides."""


class FaultyText(Refused):
    """A text of the plan that has errors, so it cannot take the place of the one that is there."""

    def __init__(self, message: str, found: Verified, errors: Sequence[Diagnostic]) -> None:
        super().__init__(message)
        self.found = found
        self.errors = errors


# -- a plan comes before its gate -----------------------------------------------------------------


def bring(context: Context, file: PlanFile, data: bytes) -> Candidate:
    """Return a plan of this workspace that is to be decided about."""
    context.demand_own(file)
    data = look(context, file, data).data
    plan = parse(data, path=file.shown)
    context.see(file, plan)
    return Candidate(context, file, data, plan)


def lay_before(candidate: Candidate, found: Verified) -> Shown:
    """Freeze the tree, and say what an approval would bind; no contract is run."""
    context, plan = candidate.context, found.plan
    judging = judging_context(context)
    tree = freeze_for(judging, plan)
    contracts = tuple(cases(plan))
    sheet = Sheet(
        plan=plan,
        slug=candidate.file.slug,
        digest=digest(plan),
        tree=digest_without(tree.manifest, progress_files(judging.tree.root)),
        judges=judge_digests(contracts, tree.manifest, judging.vault),
        configuration=configuration_digest(context.configuration),
        baseline=(),
        tools=contract_tools(context, judging, contracts, tree.manifest),
        warnings=found.doubts,
        missing=missing_programs(found),
        left_out=unseen_files(plan, tree.manifest, judging.tree.root),
    )
    return Shown(candidate, found, judging, tree, sheet)


def present(candidate: Candidate, found: Verified, policy: str | None = None) -> Shown:
    """Freeze the tree, look at every contract, and note that somebody is asked."""
    if policy is not None:
        refuse_doubts(policy, found.doubts, missing_programs(found))
    shown = lay_before(candidate, found)
    shown = shown._replace(overruled=_refuse_approved(candidate.context, shown.sheet)).looked_at()
    kept = keep_text(shown.judging.vault, candidate.data)
    known = shown.judging.measurements
    measured = () if known is None else known.told
    record_request(candidate.context.recorder(), shown.sheet, text=kept, measured=measured)
    return shown


def _refuse_approved(context: Context, sheet: Sheet) -> str | None:
    """Refuse a plan whose approval holds; return why the last one does not."""
    journal = context.existing_journal()
    state = plan_state(journal, sheet.slug, KINDS) if journal else None
    approval = state.approval.given if state is not None else None
    if journal is None or state is None or approval is None:
        return None
    current = CurrentPlan(
        sheet.digest,
        sheet.judges,
        configuration_digest(context.configuration, like=approval.configuration),
        context.now(),
        project=context.state.project,
        used=state.approval.used.get(approval.nonce),
        tools=said_tools(sheet.tools),
    )
    # A run that is under way may have made the environment itself.
    meanwhile = current._replace(used=None, tools=None)
    if current.used is not None and mismatch(approval, meanwhile) is None:
        _refuse_under_way(journal, sheet.slug, current.used)
    reason = mismatch(approval, current)
    if reason is None:
        raise NothingToDo(f"`{sheet.slug}` is approved already, by {approval.by}")
    return reason


def _refuse_under_way(journal: Journal, slug: str, run: str) -> None:
    """Refuse to approve what is approved and being worked on: all proofs would be lost."""
    ended = None
    for record in journal.read(Query(plan=slug, events=(EventKind.EXECUTION_COMPLETE,))):
        event = record.event
        if isinstance(event, ExecutionComplete) and event.run == run:
            ended = event.status
    if ended is None:
        raise NothingToDo(
            f"`{slug}` is approved already, and run {run} is under way:"
            f" `planbound resume {shlex.quote(slug)}`"
        )


# -- it is decided about --------------------------------------------------------------------------


def approve(shown: Shown, consent: Consent) -> Approved:
    """Record the approval of exactly what was shown, all of it or nothing."""
    (context, file, data, _), sheet = shown.candidate, shown.sheet
    if context.reader.read(file.path) != data:
        raise ConcurrentModification(
            "the plan was changed while it was looked at: nothing was approved",
            hint="look at it again",
        )
    refuse_unseen(sheet)
    refuse_unnoticed(sheet)
    refuse_consent(consent, sheet, context.configuration, context.state.project)
    # Where the file cannot show it, nothing goes on record.
    context.real_files.refuse_unwritable(file.path)
    approval = Approval(
        nonce=secrets.token_hex(16),
        digest=sheet.digest,
        judges=sheet.judges,
        configuration=sheet.configuration,
        by=consent.by,
        method=consent.method,
        expires=consent.expires,
        project=context.state.project,
        policy=consent.policy,
        tools=said_tools(sheet.tools),
    )
    recorder = context.recorder()
    with while_nobody_runs(context.leases(), sheet.slug):
        kept_proofs = _keep_proofs(recorder, shown, consent.by)
        changes = changes_since_approval(
            recorder.journal, shown.judging.vault.content, sheet.slug, sheet.plan
        )
        approval = approval._replace(modifications=(*changes, *consent.modifications))
        kept = keep_text(shown.judging.vault, data)
        # Only now: a look, or a refusal, must not put a new tree in the place of the frozen one.
        taken = Taken(shown.tree, sheet.digest, sheet.configuration)
        note_baseline(recorder, sheet.slug, taken, sheet.baseline)
        signed = _keep_signed(shown, consent)
        record_approval(recorder, sheet, approval, text=kept, signed=signed)
    return Approved(approval, sheet, (*kept_proofs, *_mark(shown)))


def _keep_signed(shown: Shown, consent: Consent) -> KeptSignature | None:
    if consent.method is not Method.SIGNATURE or consent.signature is None:
        return None
    project = shown.candidate.context.state.project
    said = statement(shown.sheet, project, missing=consent.missing_tools)
    kept = keep_signature(shown.judging.vault, said, consent.signature)
    return kept._replace(through=consent.through)


def _mark(shown: Shown) -> tuple[str, ...]:
    context, file, data, _ = shown.candidate
    try:
        show_status(context.files, file, data, shown.found.plan, PlanStatus.APPROVED)
    except FileProblem as problem:
        # It is on record, so it counts: what people read comes after.
        return (f"the file does not show it yet: {problem.message}",)
    return ()


def _keep_proofs(recorder: Recorder, shown: Shown, by: str) -> tuple[str, ...]:
    """Take a plan that was changed while its run was under way as its next revision."""
    slug, wanted = shown.sheet.slug, shown.found.plan
    before = last_text(recorder.journal, shown.judging.vault, slug)
    if before is None:
        return ()
    approved = parse(before, path="approved")
    try:
        amendment = examine(recorder, slug, approved, wanted)
    except NotUnderWay:
        return ()
    except Refused as refusal:
        return (f"nothing that was proved is kept: {refusal.message}",)
    plans = (approved, wanted)
    said = Rewriting(by, "approved as changed")
    record_amendment(recorder, slug, plans, amendment, said)
    if not amendment.kept:
        return ()
    return (f"revision {amendment.revision}, {len(amendment.kept)} steps stay settled",)


def reject(
    candidate: Candidate, *, by: str, reason: str, method: PersonMethod | None = None
) -> None:
    """Refuse a plan: it is a draft again."""
    context, file, data, plan = candidate
    context.real_files.refuse_unwritable(file.path)
    record_rejection(context.recorder(), file.slug, plan, by=by, reason=reason, method=method)
    show_status(context.files, file, data, plan, PlanStatus.DRAFT)


def ask(candidate: Candidate, *, by: str, question: str) -> None:
    """Ask its owner something; the plan waits."""
    if not question:
        raise UsageError("there is no question")
    context, file, _, plan = candidate
    context.real_files.refuse_unwritable(file.path)
    record_question(context.recorder(), file.slug, plan, by=by, question=question)


def change(
    candidate: Candidate, changes: Sequence[TextChange], *, by: str, step_text: str | None = None
) -> Candidate:
    """Change the text of a plan, and put on record what was done; return the plan as it is then.

    A change that cannot be made, or that brings errors (`FaultyText`), leaves the file alone.
    """
    after = modify(candidate.plan, changes, step_text)
    changed = candidate._replace(data=write(after), plan=after)
    said = [say_change(each) for each in changes]
    return _changed(candidate, changed, Rewriting(by, ", ".join(said), tuple(said)))


def change_text(
    candidate: Candidate, data: bytes, *, by: str, method: PersonMethod | None = None
) -> Candidate:
    """Give a plan another text as a whole; return the plan as it is then.

    As with `change`, a text that brings errors leaves the file alone.
    """
    changed = candidate.with_text(data)
    if digest(changed.plan) == digest(candidate.plan):
        if data == candidate.data:
            raise NothingToDo("the text is as it was: nothing was changed")
        # Words around the steps: nobody has to decide about them again.
        candidate.context.files.replace(candidate.file.path, data, expected=candidate.data)
        return changed
    if changed.plan.status is not PlanStatus.DRAFT:
        drafted = set_plan_status(changed.plan, PlanStatus.DRAFT)
        changed = changed.with_text(write(drafted))
    said = tuple(differences(candidate.plan, changed.plan)) or ("edit the text",)
    return _changed(candidate, changed, Rewriting(by, ", ".join(said), said, method=method))


def _changed(candidate: Candidate, changed: Candidate, said: Rewriting) -> Candidate:
    context, file, data, plan = candidate
    found = changed.verified()
    wrong = new_errors(candidate.verified(), found)
    if wrong:
        message = "the plan cannot be changed like that: it would have errors"
        raise FaultyText(message, found, wrong)
    context.files.replace(file.path, changed.data, expected=data)
    vault = open_vault(context)
    said = said._replace(text_before=keep_text(vault, data), text=keep_text(vault, changed.data))
    record_change(context.recorder(), file.slug, digest(plan), digest(changed.plan), said)
    return changed


def amend(
    context: Context,
    file: PlanFile,
    texts: tuple[bytes, bytes],
    *,
    by: str,
    reason: str,
    method: PersonMethod | None = None,
) -> Amendment:
    """Take another text of a plan as the next revision of the run that is under way.

    `texts` are what its file holds, and what it is to hold.
    """
    data, wanted = texts
    journal = context.existing_journal()
    before = last_text(journal, open_vault(context), file.slug) if journal is not None else None
    if before is None:
        raise Refused(f"`{file.slug}` was never approved", hint="change it, then approve it")
    found = verify(wanted, path=file.shown, surroundings=context.surroundings())
    if found.errors:
        message = "the plan has errors, so it cannot be amended"
        raise FaultyText(message, found, found.diagnostics)
    plans = (parse(before, path="approved"), found.plan)
    if digest(plans[0]) == digest(plans[1]):
        raise NothingToDo(f"`{file.slug}` is as it was approved")
    context.real_files.refuse_unwritable(file.path)
    recorder = context.recorder()
    with while_nobody_runs(context.leases(), file.slug):
        amendment = examine(recorder, file.slug, *plans)
        if wanted != data:
            context.files.replace(file.path, wanted, expected=data)
        said = Rewriting(by, reason, method=method)
        record_amendment(recorder, file.slug, plans, amendment, said)
    show_status(context.files, file, wanted, found.plan, PlanStatus.DRAFT)
    return amendment
