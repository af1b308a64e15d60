"""Runs the contracts of a plan in the loop, and records what they came to."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from planbound.errors import Refused
from planbound.journal.event import (
    BaselineObserved,
    ContractEvaluated,
    ContractStarted,
    Event,
    PreconditionClaimed,
    Result,
    VerdictKind,
    replaced,
)
from planbound.journal.fields import ProbeCall
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, Scope, cases, demands_red, judge_scope, plan_scope
from planbound.plan.model import Attest, Judged, Step, StepStatus
from planbound.session.context import Probe
from planbound.session.decide import AgendaItem, lack_of_start, lack_of_substance
from planbound.session.given import read_note, unknown_probe
from planbound.session.work import Work
from planbound.state.item import Item
from planbound.state.owner import TOOLS
from planbound.state.step import Before, proof_of
from planbound.workspace.measured import rules_beside

if TYPE_CHECKING:
    from planbound.judging.verdict import Verdict

# -- runs the contracts of a plan in the loop, and records what they came to ---------------------


_LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
_SECONDS = 10.0
"""So long is waited for a service's answer."""


def judge_contracts(work: Work, wanted: Sequence[Case]) -> list[Verdict]:
    """Run contracts now, and record what they came to."""
    found: list[Verdict] = []
    judging = work.judging()
    from planbound.judging.context import earlier_verdicts  # noqa: PLC0415 - start-up
    from planbound.judging.contract import Setting  # noqa: PLC0415 - start-up
    from planbound.judging.events import evaluated, shown_proof, verdict_draft  # noqa: PLC0415 - start-up
    from planbound.judging.judge import baseline_tests, judge  # noqa: PLC0415 - start-up

    setting = Setting(
        frozen=work.frozen(),
        # What people and other plans changed since an approval, before the agent came, is not
        # the agent's: of their plans the judges are compared, and not every file.
        scope=(plan_scope if work.state.origin == TOOLS else judge_scope)(work.plan),
        earlier=earlier_verdicts(work.session.context, work.slug),
        before=partial(seen_before, work),
        tests=baseline_tests(work.session.journal, work.slug),
    )
    work.forget_tree()
    for verdict in judge(judging, _announced(work, wanted), setting):
        named = verdict
        if verdict.subject is SubjectKind.STEP:
            named = verdict._replace(id=work.ids[verdict.number])
        found.append(named)
        event = evaluated(verdict, work.session.recorder.redactor)
        if verdict.subject is SubjectKind.POSTCONDITION and verdict.proof is not None:
            proof = shown_proof(verdict.proof)
            event = replaced(
                event,
                result=proof.result,
                baseline=proof.baseline,
                baseline_at=proof.baseline_at,
            )
        work.append(verdict_draft(work.session.recorder, work.slug, named, event))
    for case in wanted:
        probe = work.state.probes.get(f"{case.subject.value} {case.number}")
        if probe is not None and not _has_command(case):
            _announce(work, case)
            _probe(work, case, probe)
    return found


def judge_preconditions(
    work: Work, wanted: Sequence[Case], *, within: float | None = None, late: bool = False
) -> None:
    """Judge preconditions, and record what they came to; not for longer than `within` seconds.

    What is cut off then was judged by nobody. A precondition may be about what is not in the
    files, so that red and green on the same files is not flaky, but a service that came up.
    """
    judging, end = work.judging(), None if within is None else time.monotonic() + within
    if within is not None:
        from planbound.judging.beside import in_turn  # noqa: PLC0415 - start-up

        judging = in_turn(judging)  # beside others a contract may take longer than its limit
    from planbound.judging.contract import Setting  # noqa: PLC0415 - start-up
    from planbound.judging.events import evaluated, verdict_draft  # noqa: PLC0415 - start-up
    from planbound.judging.judge import judge  # noqa: PLC0415 - start-up

    setting = Setting(frozen=work.frozen(), scope=Scope(None))
    for verdict in judge(judging, _announced(work, _until(work, wanted, end)), setting):
        if end is None or verdict.kind is not VerdictKind.TIMEOUT:
            event = evaluated(verdict, work.session.recorder.redactor)
            event = replaced(event, late=True) if late else event
            work.append(verdict_draft(work.session.recorder, work.slug, verdict, event))
    for case in wanted:
        probe = work.state.probes.get(f"precondition {case.number}")
        if probe is not None and not _has_command(case):
            _announce(work, case)
            _probe(work, case, probe, late=late)


def seen_before(work: Work, case: Case) -> Before:
    """Return what is known of a contract before the work."""
    return work.state.looks.get(_looked_at(work, case), Before())


def _looked_at(work: Work, case: Case) -> str:
    if case.subject is SubjectKind.STEP:
        return work.ids[case.number]
    return f"{case.subject.value} {case.number}"


def look_before(
    work: Work, wanted: Sequence[Case], *, within: float | None = None
) -> tuple[Verdict, ...]:
    """See how contracts are before the work, as far as nobody has; not for longer than that.

    What is cut off then has been seen by nobody. Controls are tried, too.
    """
    found: list[Verdict] = []
    unseen = [case for case in wanted if _is_unseen(work, case)]
    commands = [case for case in unseen if _has_command(case)]
    end = None if within is None else time.monotonic() + within
    if commands:
        from planbound.judging.control import with_controls  # noqa: PLC0415 - start-up
        from planbound.judging.events import observed, verdict_draft  # noqa: PLC0415 - start-up
        from planbound.judging.judge import observe  # noqa: PLC0415 - start-up

        judging = work.judging()
        frozen = work.frozen()
        before = frozen.manifest if frozen is not None else None
        judging = judging._replace(rules=rules_beside(judging.rules, before))
        for verdict in observe(judging, _until(work, commands, end)):
            if end is not None and verdict.kind is VerdictKind.TIMEOUT:
                continue
            place = (verdict.subject, verdict.number)
            case = next(each for each in commands if (each.subject, each.number) == place)
            limited = next(_until(work, [case], end), None)
            named = (
                verdict if limited is None else with_controls(judging, work.plan, limited, verdict)
            )
            found.append(named)
            if verdict.subject is SubjectKind.STEP:
                named = named._replace(id=work.ids[verdict.number])
            event = observed(named, work.session.recorder.redactor)
            work.append(verdict_draft(work.session.recorder, work.slug, named, event))
    for case in unseen:
        probe = work.state.probes.get(f"{case.subject.value} {case.number}")
        if probe is not None and not _has_command(case):
            _probe_before(work, case, probe)
    return tuple(found)


def _is_unseen(work: Work, case: Case) -> bool:
    if case.subject is SubjectKind.PRECONDITION or seen_before(work, case).attempt is not None:
        return False
    states = work.state.steps if case.subject is SubjectKind.STEP else work.state.conditions
    name = work.ids[case.number] if case.subject is SubjectKind.STEP else case.number
    return states.get(name, Item()).passed is None


def _until(work: Work, wanted: Sequence[Case], end: float | None) -> Iterator[Case]:
    contracts = work.session.context.configuration.contracts
    for case in wanted:
        left = None if end is None else end - time.monotonic()
        if left is not None and left <= 0:
            return
        limit = contracts.seconds_for(case.seconds)
        yield case if left is None else case._replace(seconds=min(limit, left))


def _announced(work: Work, wanted: Iterable[Case]) -> Iterator[Case]:
    for case in wanted:
        if _has_command(case):
            _announce(work, case)
            yield case


def _announce(work: Work, case: Case) -> None:
    """Note that a contract is about to run: a crash must not hide that it did."""
    step = work.step(case.number) if case.subject is SubjectKind.STEP else None
    event = ContractStarted(subject=case.subject, number=case.number)
    work.append(work.draft(event, step))


def _probe_before(work: Work, case: Case, probe: ProbeCall) -> None:
    """Look before the work at something that is no contract, and record what was found."""
    found, reason = _probed(work, probe)
    event = BaselineObserved(
        verdict=found,
        exit_code=None,
        subject=case.subject,
        number=case.number,
        reason=reason,
    )
    _append_about(work, case, event)


def _probe(work: Work, case: Case, probe: ProbeCall, *, late: bool = False) -> None:
    """Look at something that is no contract, and record what was found."""
    found, reason = _probed(work, probe)
    # What it looks at is not in the tree: before the work that says nothing about it.
    proof, shown = proof_of(seen_before(work, case), work.tree), None
    usual = work.session.context.configuration.baseline
    if found is not VerdictKind.PASS or case.subject is SubjectKind.PRECONDITION:
        pass
    elif case.subject is SubjectKind.POSTCONDITION:
        from planbound.judging.events import shown_proof  # noqa: PLC0415 - start-up

        shown = shown_proof(proof)
    elif demands_red(case.baseline, usual) and proof.result is Result.HOLDS:
        found, reason = VerdictKind.VACUOUS, f"{proof.reason}, and red is demanded"
    event = ContractEvaluated(
        verdict=found,
        exit_code=None,
        subject=case.subject,
        number=case.number,
        reason=reason,
        tree=work.tree,
        late=True if late else None,
        result=shown.result if shown else None,
        baseline=shown.baseline if shown else None,
        baseline_at=shown.baseline_at if shown else None,
    )
    _append_about(work, case, event)


def _probed(work: Work, probe: ProbeCall) -> tuple[VerdictKind, str]:
    trouble = _ask(work.session.probes, probe)
    if trouble is not None:
        return VerdictKind.FAIL, trouble
    return VerdictKind.PASS, f"`{probe.name}` holds"


def _append_about(work: Work, case: Case, event: Event) -> None:
    step = work.step(case.number) if case.subject is SubjectKind.STEP else None
    task = (work.ids[step.label], step.title) if step is not None else None
    work.append(work.session.recorder.draft(event, work.slug, task=task))


def _has_command(case: Case) -> bool:
    return isinstance(case.contract, Judged)


def _ask(probes: Mapping[str, Probe], wanted: ProbeCall) -> str | None:
    """Return what is found instead; None where it is so."""
    probe = probes.get(wanted.name)
    if probe is None:
        return unknown_probe(wanted.name, tuple(probes))
    try:
        return probe(**wanted.arguments)
    except Exception as error:  # noqa: BLE001 - somebody's own code: whatever it raises is no pass
        return f"`{wanted.name}` failed: {type(error).__name__}: {error}"


def http_ok(url: str) -> str | None:
    """Say what is wrong with an address on this machine; None where it answers well."""
    import http.client  # noqa: PLC0415 - few plans look at services
    from urllib.parse import urlsplit  # noqa: PLC0415 - the same

    address = urlsplit(url)
    if address.scheme not in {"http", "https"} or address.hostname not in _LOOPBACK:
        return f"`{url}` is not on this machine: only loopback is asked"
    kind = http.client.HTTPSConnection if address.scheme == "https" else http.client.HTTPConnection
    connection = kind(address.hostname, address.port, timeout=_SECONDS)
    try:
        # Without redirections: they may lead elsewhere.
        connection.request(
            "GET", f"{address.path or '/'}{'?' + address.query if address.query else ''}"
        )
        status = connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return f"`{url}` does not answer: {error}"
    finally:
        connection.close()
    return None if 200 <= status < 300 else f"`{url}` answers {status}"


# -- what must be true before the first step: judged by the harness, once, and as early as it can


_OUTPUT = 1500


def demand_preconditions(work: Work, step: Step, evidence: str, *, begun: bool = False) -> None:
    """Raise Refused where a precondition does not hold, so that no step begins.

    `begun`: a step is said to be done, so that the work has begun whatever the journal says.
    """
    judge_open(work, begun=begun)
    _claim(work, read_note(evidence, "`evidence`"), begun=begun)
    require = work.session.context.configuration.gate.require
    missing = [
        f"{entry.name} “{entry.title}” {lack}"
        for entry in work.agenda.preconditions
        if (lack := lack_of_start(entry, require, step=work.ids[step.label])) is not None
    ]
    if missing:
        printed = next(filter(None, map(_printed, work.agenda.preconditions)), "")
        raise Refused("; ".join(missing) + printed)


def judge_open(work: Work, *, within: float | None = None, begun: bool = False) -> None:
    """Judge what has a contract and was not seen to hold; what held once is not looked at again."""
    wanted = [case for case in _open(work) if _is_judged(work, case)]
    if wanted:
        judge_preconditions(work, wanted, within=within, late=begun or _has_begun(work))


def preconditions_hold(work: Work) -> bool:
    """Say whether nothing is left of the preconditions."""
    return not _open(work)


def _claim(work: Work, evidence: str, *, begun: bool) -> None:
    """Note what is claimed of the preconditions that nobody can judge."""
    for case in _open(work):
        said_nothing = lack_of_substance(evidence, case.title) is not None
        if case.contract is not None or _is_judged(work, case) or said_nothing:
            continue
        late = True if begun or _has_begun(work) else None
        event = PreconditionClaimed(number=case.number, evidence=evidence, late=late)
        work.append(work.draft(event))


def _open(work: Work) -> list[Case]:
    return [
        case
        for case in cases(work.plan)
        if case.subject is SubjectKind.PRECONDITION
        and not work.state.preconditions.get(case.number, Item()).status.is_settled
    ]


def _is_judged(work: Work, case: Case) -> bool:
    if isinstance(case.contract, Attest):
        return False
    return isinstance(case.contract, Judged) or f"precondition {case.number}" in work.state.probes


def _has_begun(work: Work) -> bool:
    """Say whether any step was begun or settled already."""
    untouched = (StepStatus.PENDING, StepStatus.BLOCKED)
    items = work.state.steps.values()
    return any(each.attempts or each.status not in untouched for each in items)


def _printed(entry: AgendaItem) -> str:
    output = entry.item.output.strip()[-_OUTPUT:]
    return f"\nThe end of the output, as data:\n{output}" if output else ""
