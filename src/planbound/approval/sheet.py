"""The sheet: everything that an approval binds, and what keeps a plan from being approved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.errors import Refused
from planbound.git.repository import would_ignore
from planbound.journal.fields import ControlResult
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, covers, gate_cases, plan_scope
from planbound.judging.reference import judges_of, read_frozen
from planbound.judging.unrunnable import Tool
from planbound.judging.verdict import ControlRun, Verdict
from planbound.plan.model import Plan
from planbound.script import FileUse
from planbound.source import Diagnostic, Severity, visible
from planbound.state.step import Look
from planbound.verify.examine import Verified
from planbound.verify.provided import Providers
from planbound.verify.subject import Subject, contract_cases
from planbound.workspace.configuration import BranchGate
from planbound.workspace.manifest import Manifest

if TYPE_CHECKING:
    from planbound.workspace.vault import Vault


class Sheet(NamedTuple):
    """Everything that an approval binds, taken from one reading of the plan."""

    plan: Plan
    slug: str
    digest: str
    tree: str
    judges: Mapping[str, str]
    configuration: str
    baseline: tuple[Verdict, ...]
    tools: tuple[Tool, ...] = ()
    """The programs that contracts call."""
    warnings: tuple[Diagnostic, ...] = ()
    """What makes a plan doubtful as a whole: whoever approves it has seen them."""
    missing: tuple[str, ...] = ()
    """The programs that contracts call, that are not there, and that no step brings."""
    left_out: tuple[str, ...] = ()
    """What contracts read that is not there yet, and that they would not see if a step made it."""
    gate_files: tuple[str, ...] = ()
    """What gates of the branch judge by, and `touches` lets a step change."""

    @property
    def seen(self) -> tuple[str, ...]:
        """Return the codes of the warnings."""
        return tuple(sorted({item.code for item in self.warnings}))


NAMESPACE = "planbound-approval@v1"
"""What a signature is for: one that was made for something else approves nothing."""


def statement(
    sheet: Sheet, project: str, *, missing: bool = False, gates: Sequence[str] = ()
) -> bytes:
    """Return what is signed: the same bytes for the same plan, judges, tree and configuration.

    With `missing` it says which programs are not there, and that it is approved all the same.
    `gates` is what the plan may change of the gates of a branch.
    """
    said = {
        "configuration": sheet.configuration,
        "digest": sheet.digest,
        "judges": hashlib.sha256(
            json.dumps(dict(sheet.judges), sort_keys=True).encode("ascii")
        ).hexdigest(),
        "namespace": NAMESPACE,
        "plan": sheet.slug,
        "project": project,
        "tree": sheet.tree,
    }
    if missing and sheet.missing:
        said["missing_tools"] = ", ".join(sheet.missing)
    if gates:
        said["gates"] = json.dumps(list(gates))
    if sheet.tools:
        said["tools"] = ", ".join(str(tool) for tool in sheet.tools)
    return json.dumps(said, sort_keys=True, indent=2).encode("ascii") + b"\n"


def judge_digests(cases: Sequence[Case], manifest: Manifest, vault: Vault) -> dict[str, str]:
    """Return every file that a contract judges by, with the digest of its content."""
    found = judges_of(cases, manifest, partial(read_frozen, manifest, vault)).files
    entries = {path: manifest.entry(path) for path in sorted(found)}
    return {path: entry.content.hex() for path, entry in entries.items() if entry is not None}


def in_spite_of(sheet: Sheet, gates: Sequence[str] = ()) -> Iterator[str]:
    """Yield what a plan is approved in spite of; `gates` are those that it may change."""
    if sheet.warnings:
        yield f"seen: {', '.join(sheet.seen)}"
    if sheet.missing:
        yield f"not there: {', '.join(sheet.missing)}"
    empty = [run.name for _, run in controls_of(sheet) if run.result is ControlResult.SAME]
    if empty:
        yield f"shows nothing: {', '.join(empty)}"
    if gates:
        yield f"may change gates: {', '.join(gates)}"


def unseen_files(plan: Plan, manifest: Manifest, root: str) -> tuple[str, ...]:
    """Return what contracts read, git ignores and no `touches` names, where it is yet to be made.

    What a step leaves there is taken out of the contract's tree.
    """
    scope = plan_scope(plan)
    if scope.patterns is None:
        return ()
    files = {
        each.path
        for case in contract_cases(plan)
        for each in case.script.files
        if each.use is not FileUse.WRITTEN
    }
    wanted = sorted(
        path for path in files if manifest.entry(path) is None and not covers(scope, path)
    )
    return would_ignore(root, wanted)


def gate_files(
    plan: Plan, gates: Sequence[BranchGate], manifest: Manifest, vault: Vault
) -> tuple[str, ...]:
    """Return what gates judge by, and the steps of a plan may change by its `touches`."""
    scope = plan_scope(plan)
    if not gates or scope.patterns is None:
        return ()
    found = judges_of(gate_cases(gates), manifest, partial(read_frozen, manifest, vault)).files
    return tuple(sorted(path for path in found if covers(scope, path)))


class Faults(NamedTuple):
    """What keeps a plan from being approved: nothing where it is empty."""

    templates: tuple[str, ...]
    """The labels of steps that are still to be written out."""
    errors: tuple[Diagnostic, ...]
    shown: tuple[Diagnostic, ...]
    """Everything that was found: at the gate a missing tool is an error."""

    @property
    def is_sound(self) -> bool:
        """Whether the plan may be approved at all."""
        return not self.errors and not self.templates


def find_faults(found: Verified, *, missing_tools: bool) -> Faults:
    """Return what is wrong with a plan; with `missing_tools` it may lack programs."""
    lacking = found.missing_tools
    allowed = lacking if missing_tools else ()
    errors = tuple(
        item
        for item in found.diagnostics
        if item.severity is Severity.ERROR and item not in allowed
    )
    shown = tuple(
        item._replace(severity=Severity.ERROR) if item in lacking and item not in allowed else item
        for item in found.diagnostics
    )
    templates = tuple(step.label for step in found.plan.steps if step.is_template)
    return Faults(templates, errors, shown)


def refuse_unseen(sheet: Sheet) -> None:
    """Refuse to approve over a baseline that could not be taken."""
    for verdict in sheet.baseline:
        if not Look(verdict.kind).is_seen:
            raise Refused(
                f"the baseline of `{sheet.slug}` could not be taken: {verdict.subject.value}"
                f" {verdict.number} is `{verdict.kind.value}`: {verdict.reason};"
                " nothing was approved",
                hint="let nothing else write to the workspace meanwhile, and approve again",
            )


_NEEDLESS = frozenset({ControlResult.UNNOTICED, ControlResult.UNKNOWN})


def controls_of(sheet: Sheet) -> Iterator[tuple[str, ControlRun]]:
    """Yield every control with whose contract it is about."""
    for verdict in sheet.baseline:
        for run in verdict.controls:
            yield f"{verdict.subject.value} {verdict.number}", run


def unnoticed(sheet: Sheet) -> Iterator[str]:
    """Yield which changes no contract notices, or nobody knows of: nothing is approved then."""
    for name, run in controls_of(sheet):
        if run.result is ControlResult.UNNOTICED:
            yield f"{name}: the contract does not notice `{run.name}`: it passes with it"
        elif run.result is ControlResult.UNKNOWN:
            yield f"{name}: the control `{run.name}` says nothing: {run.reason}"


def refuse_unnoticed(sheet: Sheet) -> None:
    """Refuse a plan with a contract that passes with what it has to reject."""
    found = list(unnoticed(sheet))
    if found:
        hints = (run.hint for _, run in controls_of(sheet) if run.result in _NEEDLESS)
        usual = "let the contract see the difference, or take the control out of the plan"
        raise Refused(
            f"{'; '.join(map(visible, found))}; nothing was approved",
            hint=next(filter(None, hints), usual),
        )


def refuse_missing(sheet: Sheet) -> None:
    """Refuse contracts that could not run for want of a program."""
    if sheet.missing:
        named = ", ".join(f"`{name}`" for name in sheet.missing)
        many = len(sheet.missing) > 1
        raise Refused(
            f"contracts of `{sheet.slug}` need {named}, which {'are' if many else 'is'} not there;"
            " nothing was approved",
            hint=f"install {'them' if many else 'it'} where contracts look (`planbound doctor`),"
            " or let a step do it; `--missing-tools` approves all the same",
        )


def missing_programs(found: Verified, baseline: Sequence[Verdict] = ()) -> tuple[str, ...]:
    """Return the programs without which a contract cannot run, by its text or a look at it."""
    written = (found.plan.source.slice(item.span) for item in found.missing_tools)
    names = [name.strip("'\"") for name in written]
    names += (item.lacks for item in baseline if item.lacks and not _brings(found, item))
    return tuple(dict.fromkeys(names))


def _brings(found: Verified, verdict: Verdict) -> bool:
    """Say whether a step writes or installs what a contract lacks now."""
    steps = [step.label for step in found.plan.steps]
    before, after = {SubjectKind.PRECONDITION: -1}, len(steps)
    place = before.get(verdict.subject, after)
    if verdict.subject is SubjectKind.STEP:
        place = steps.index(verdict.number)
    subject = Subject(found.plan, found.facts, tuple(contract_cases(found.plan)))
    return Providers(subject).provides(verdict.lacks, place)
