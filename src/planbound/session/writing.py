"""Write the plan of a session: the first time, and anew without losing what was."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence

from planbound.disk.files import PlanFile, Shelf
from planbound.errors import NothingToDo, Refused, UsageError
from planbound.journal.event import PlanCreated, PlanRewritten, replaced
from planbound.journal.fields import ProbeCall
from planbound.plan.contract import expectation_text
from planbound.plan.digest import contract_digest, digest, step_digest
from planbound.plan.edit import mark_progress
from planbound.plan.model import Command, Condition, Plan, PlanStatus, StepStatus
from planbound.plan.parse import parse
from planbound.session.context import SessionContext
from planbound.session.given import (
    GivenCondition,
    GivenPlan,
    GivenStep,
    as_given,
    refuse_tangled,
    unknown_probe,
    write_plan,
)
from planbound.session.work import Work, leased
from planbound.source import Diagnostic, Severity
from planbound.state.owner import TOOLS
from planbound.workspace.measured import ScreenedTree

_DIFF = 6000
_NAME_WORDS = 5


def create_plan(
    session: SessionContext,
    given: GivenPlan,
    name: str | None,
) -> PlanFile:
    """Write a new plan and put it on record, with the tree as it is before any work."""
    # These take their time to load, and a hook that is asked at every prompt does not write.
    from planbound.approval.record import keep_text  # noqa: PLC0415 - see above
    from planbound.drafting.draft import free_name  # noqa: PLC0415 - see above
    from planbound.judging.reference import freeze_for  # noqa: PLC0415 - see above
    from planbound.workspace.shelves import refuse_taken  # noqa: PLC0415 - see above

    data = _text(session, given).encode()
    judging = session.judging
    judging = judging._replace(tree=ScreenedTree(judging.tree), vault=session.vault)
    tree = freeze_for(judging, parse(data, path=""))
    plans = session.context.tree
    file = plans.planned_path(name or free_name(_name(given.objective), plans))
    plan = parse(data, path=file.shown)
    shape = session.recorder.shape(plan)
    event = PlanCreated(
        task_count=shape.task_count,
        dependencies=shape.dependencies,
        digest=digest(plan),
        revision=1,
        path=session.context.relative(file.path),
        origin=TOOLS,
        session=session.id,
        text=keep_text(session.vault, data),
        manifest=tree.key,
        probes=_probes(given),
    )
    with leased(session, file.slug):
        refuse_taken(file.slug, Shelf.ACTIVE, plans)
        session.context.files.make_folder(file.path.rsplit("/", 1)[0])
        # First the record, then the file: whoever sees the file knows whose it is.
        session.recorder.record(event, file.slug)
        session.context.files.create(file.path, data)
    return file


def rewrite_plan(work: Work, given: GivenPlan, reason: str) -> None:
    """Put other steps in the place of a plan's; what means the same stays as it is."""
    refuse_of_people(work)
    data = _text(work.session, given).encode()
    new, probes = parse(data, path=work.file.shown), _probes(given)
    if digest(new) == work.digest and probes == work.state.probes:
        raise NothingToDo("the plan says exactly this already")
    _refuse_reused(work, new)
    event = replaced(_difference(work, work.data, data, probes), reason=reason or None)
    # First the record, then the file: what a crash leaves in between is finished by `reconcile`.
    work.append(work.draft(event))
    work.session.context.files.replace(work.file.path, data, expected=work.data)
    work.load()


def reconcile(work: Work) -> None:
    """Bring a file and the journal together: what was changed by unknown hands is on record."""
    state, session = work.state, work.session
    if state.digest is None or state.digest == work.digest:
        return
    key = state.text
    known = session.vault.content(bytes.fromhex(key)) if key is not None else None
    if known is not None and work.digest == state.before and state.seq == state.rewritten:
        # A rewrite was cut off between its record and its file, and nothing happened since.
        session.context.files.replace(work.file.path, known, expected=work.data)
        work.load()
        return
    before = known if known is not None else b""
    event = replaced(
        _difference(work, before, work.data, _carried(work, before)),
        from_=state.digest,
        reason="the file was changed, not by the plan tools",
        # Nobody made another revision, and whose hands it were is not known.
        by=None,
        revision=None,
    )
    work.append(work.draft(event))


def _difference(
    work: Work, before: bytes, after: bytes, probes: dict[str, ProbeCall]
) -> PlanRewritten:
    """Return what became of a plan's items, and keep the new text."""
    from planbound.approval.record import keep_text  # noqa: PLC0415 - start-up

    session, shown = work.session, work.file.shown
    old, new = parse(before, path=shown), parse(after, path=shown)
    ids = session.recorder.step_ids(new)
    old_ids = session.recorder.step_ids(old)
    known = {old_ids[step.label]: step for step in old.steps}
    kept = [
        name
        for step in new.steps
        if (name := ids[step.label]) in known
        and step_digest(new, step) == step_digest(old, known[name])
        and work.state.probes.get(f"step {known[name].label}") == probes.get(f"step {step.label}")
    ]
    dropped = {name: step.title for name, step in known.items() if name not in set(ids.values())}
    gone = {_condition(each) for each in new.preconditions}
    dropped |= {
        f"precondition {each.number}": each.statement
        for each in old.preconditions
        if _condition(each) not in gone
    }
    # What the text before is not known of, and yet was at work.
    dropped |= {name: name for name in work.state.steps if name not in {*ids.values(), *known}}
    return PlanRewritten(
        from_=digest(old),
        to=digest(new),
        revision=work.state.revision + 1,
        by=session.id,
        text=keep_text(session.vault, after),
        diff=session.recorder.redactor.redact(_diff(_unmarked(old), _unmarked(new))).text[:_DIFF],
        kept=tuple(kept),
        kept_conditions=tuple(
            _kept_conditions(
                work, "postcondition", (old.postconditions, new.postconditions), probes
            )
        ),
        kept_preconditions=tuple(
            _kept_conditions(work, "precondition", (old.preconditions, new.preconditions), probes)
        ),
        dropped=dropped,
        probes=probes,
    )


def _text(session: SessionContext, given: GivenPlan) -> str:
    """Return the text of a plan; refuse what nobody could keep."""
    refuse_tangled(given.steps)
    for _, probe in given.probes():
        if probe.name not in session.probes:
            raise UsageError(unknown_probe(probe.name, tuple(session.probes)))
    text = write_plan(given)
    known = json.dumps(
        {item: {"name": probe.name, "arguments": probe.arguments} for item, probe in given.probes()}
    )
    if any(session.recorder.redactor.redact(each).redactions for each in (text, known)):
        raise UsageError(
            "the plan holds what looks like a secret, and a plan is read by many",
            hint="say where it is found, such as the name of a variable, not what it is",
        )
    refuse_unsound_contracts(session, text.encode())
    return text


def refuse_of_people(work: Work) -> None:
    """Refuse to write over what people wrote: an agent's words would take its place."""
    given = given_of(work)
    if work.state.origin == TOOLS:
        text = write_plan(given) if given.objective and given.steps else ""
        if digest(parse(text.encode(), path=work.file.shown)) == work.digest:
            return
    raise Refused(
        f"`{work.slug}` holds what people wrote, so the tools do not change it",
        hint=f"a person changes it, and then `planbound amend {shlex.quote(work.slug)}`",
    )


def _carried(work: Work, before: bytes) -> dict[str, ProbeCall]:
    """Return what the harness looks at itself, at the places where the items are now."""
    old = parse(before, path=work.file.shown)
    old_ids = work.session.recorder.step_ids(old)
    now = {name: label for label, name in work.ids.items()}
    found: dict[str, ProbeCall] = {}
    for step in old.steps:
        probe = work.state.probes.get(f"step {step.label}")
        if probe is not None and old_ids[step.label] in now:
            found[f"step {now[old_ids[step.label]]}"] = probe
    for kind, before_, after in (
        ("precondition", old.preconditions, work.plan.preconditions),
        ("postcondition", old.postconditions, work.plan.postconditions),
    ):
        statements = {each.statement: each.number for each in after}
        for each in before_:
            probe = work.state.probes.get(f"{kind} {each.number}")
            if probe is not None and each.statement in statements:
                found[f"{kind} {statements[each.statement]}"] = probe
    return found


def _refuse_reused(work: Work, new: Plan) -> None:
    """Refuse a title that makes the id of a step that is gone: it would have its history."""
    gone = {each.id for each in work.state.dropped}
    ids = work.session.recorder.step_ids(new)
    for step in new.steps:
        if ids[step.label] in gone:
            raise UsageError(
                f"`{ids[step.label]}` was the id of a step that was dropped, and is not used again",
                hint=f"give step {step.label} another title",
            )


def _kept_conditions(
    work: Work,
    kind: str,
    texts: tuple[Sequence[Condition], Sequence[Condition]],
    probes: Mapping[str, ProbeCall],
) -> Iterator[str]:
    """Yield the numbers of the conditions that mean what they meant."""
    old, new = texts
    known = {(each.number, _condition(each)) for each in old}
    for each in new:
        name = f"{kind} {each.number}"
        same = work.state.probes.get(name) == probes.get(name)
        if same and (each.number, _condition(each)) in known:
            yield str(each.number)


def _condition(condition: Condition) -> tuple[str, str]:
    contract = condition.contract
    return condition.statement, contract_digest(contract) if contract is not None else ""


def _probes(given: GivenPlan) -> dict[str, ProbeCall]:
    return dict(given.probes())


def _unmarked(plan: Plan) -> bytes:
    """Return the text without the marks that the harness writes."""
    steps = [StepStatus.PENDING] * len(plan.steps)
    return mark_progress(plan, PlanStatus.DRAFT, steps).to_bytes()


def _diff(before: bytes, after: bytes) -> str:
    import difflib  # noqa: PLC0415 - start-up

    lines = difflib.unified_diff(
        before.decode("utf-8", "replace").splitlines(),
        after.decode("utf-8", "replace").splitlines(),
        "before",
        "after",
        lineterm="",
        n=1,
    )
    return "\n".join(lines)


def _name(objective: str) -> str:
    words = re.findall(r"[a-z0-9]+", objective.lower())[:_NAME_WORDS]
    return "-".join(words)[:40].strip("-") or "work"


def given_of(work: Work) -> GivenPlan:
    """Return a plan as an agent would give it, to change some of it."""
    from planbound.verify.subject import checks_of  # noqa: PLC0415 - the rules are not needed to look

    plan, probes = work.plan, work.state.probes
    if any(checks_of(plan)):
        raise Refused(
            "a contract of this plan is a table of cases, which would be lost",
            hint="change the plan's file, and have it approved again",
        )
    steps = [
        GivenStep(
            title=step.title,
            task=step.task.text if step.task is not None else "",
            contract=step.contract.text if isinstance(step.contract, Command) else None,
            expect=_expected(step.contract),
            touches=tuple(item.value for item in step.touches or ()),
            depends=None if step.depends is None else tuple(item.value for item in step.depends),
            target=step.target.value if step.target is not None else "coder",
            probe=probes.get(f"step {step.label}"),
            rejects=as_given(step.rejects),
        )
        for step in plan.steps
    ]
    pre, post = (
        [
            GivenCondition(
                statement=each.statement,
                contract=each.contract.text if isinstance(each.contract, Command) else None,
                expect=_expected(each.contract),
                probe=probes.get(f"{kind} {each.number}"),
                rejects=as_given(each.rejects),
            )
            for each in conditions
        ]
        for kind, conditions in (
            ("precondition", plan.preconditions),
            ("postcondition", plan.postconditions),
        )
    )
    objective = plan.objective.value if plan.objective else ""
    return GivenPlan(objective, steps, post, pre)


def without(steps: Sequence[GivenStep], gone: Collection[int]) -> list[GivenStep]:
    """Return the steps that are left, each waiting for those that it waited for before.

    A number is a place, and the places move: `gone` are indexes from 0.
    """
    places = {
        str(old + 1): str(new)
        for new, old in enumerate((i for i in range(len(steps)) if i not in gone), 1)
    }
    return [
        step
        if step.depends is None
        else step._replace(depends=tuple(places[each] for each in step.depends if each in places))
        for index, step in enumerate(steps)
        if index not in gone
    ]


def _expected(contract: object) -> tuple[str, ...]:
    if not isinstance(contract, Command):
        return ()
    return tuple(expectation_text(item.value) for item in contract.expectations)


_ABOUT_COMMANDS = "PB60"
"""The rules about commands: a contract that breaks one says nothing, or cannot run."""


def refuse_unsound_contracts(session: SessionContext, data: bytes) -> None:
    """Refuse contracts that cannot fail, cannot run, or are no commands."""
    for fault in plan_errors(session, data):
        if fault.code.startswith(_ABOUT_COMMANDS):
            raise UsageError(fault.message, hint=fault.hint)


def plan_errors(session: SessionContext, data: bytes) -> list[Diagnostic]:
    """Return the errors that the rules for plans find in a text."""
    from planbound.workspace.surroundings import verify  # noqa: PLC0415 - start-up: hooks do not write

    found = verify(data, path="PLAN.md", surroundings=session.context.surroundings())
    return [each for each in found.diagnostics if each.severity is Severity.ERROR]
