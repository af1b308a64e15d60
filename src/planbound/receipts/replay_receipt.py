"""The receipt of a replay: what was found on this machine, signed by this machine's key."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import msgspec

from planbound.errors import PlanboundError
from planbound.journal.redact import Redactor
from planbound.judging.verdict import Verdict
from planbound.receipts.collect import harness
from planbound.receipts.envelope import Envelope, envelope_line, statement_json
from planbound.receipts.items import both_ends
from planbound.receipts.keys import KeyFolder, Signer, signer_of
from planbound.receipts.predicate import (
    VERSION,
    ItemBaseline,
    ItemMutated,
    ItemOutput,
    ItemTests,
    PlanRun,
)
from planbound.receipts.receipt import line_signatures
from planbound.receipts.replay import JudgedAgain, Replaying, ReplayTerms
from planbound.receipts.replayed import (
    REPLAY,
    PlanReplay,
    ReplayedItem,
    ReplayedJudge,
    ReplayedReceipt,
    ReplayedTree,
    ReplayEvidence,
    is_independent,
    is_same,
    replay_evidence,
)
from planbound.receipts.settings import run_settings
from planbound.receipts.ssh_signature import fingerprint
from planbound.workspace.context import Context


class OwnKey(NamedTuple):
    """The key of this machine, or why there is none."""

    signer: Signer | None
    why: str = ""
    earlier: tuple[str, ...] = ()
    """The fingerprints of all keys that this machine's harness has had here."""


def own_key(context: Context) -> OwnKey:
    """Return the key that a replay is signed with; without one it is not signed."""
    try:
        known = KeyFolder(context).known()
        return OwnKey(signer_of(context), earlier=tuple(fingerprint(each.key) for each in known))
    except PlanboundError as problem:
        return OwnKey(None, problem.message)


class ReplayFacts(NamedTuple):
    """What a replay was about."""

    run: PlanRun
    receipt: ReplayedReceipt
    keys: tuple[str, ...]
    """The keys that signed the receipt, where that was checked."""
    terms: ReplayTerms
    replaying: Replaying


def replay_statement(
    context: Context, facts: ReplayFacts, found: Sequence[JudgedAgain], key: OwnKey
) -> PlanReplay:
    """Return what is said of a replay."""
    run, replaying = facts.run, facts.replaying
    mine = None if key.signer is None else fingerprint(key.signer.key)
    keys = () if facts.receipt.unsigned else facts.keys
    independent = is_independent(keys, mine, replaying.cell.isolation)
    independent = independent and not set(keys) & set(key.earlier)
    reaches = partial(
        replay_evidence, independent=independent, by_all_judges=not run.settings.held_out
    )
    items = tuple(_item(each, context.redactor, reaches) for each in found)
    tree = replaying.tree
    return PlanReplay(
        version=VERSION,
        made=context.now(),
        slug=run.plan.slug,
        revision=run.plan.revision,
        digest=run.plan.digest,
        receipt=facts.receipt,
        tree=ReplayedTree(
            git_tree=tree.own,
            folder=run.base.folder,
            recorded=run.tree.git_tree,
            revision=facts.terms.revision,
            commit=tree.commit,
            base=None if replaying.base is None else replaying.base.own,
        ),
        whole=not facts.terms.steps,
        same=is_same(items),
        independent=independent,
        items=items,
        settings=run_settings(replaying.settings.configuration),
        not_given=replaying.settings.not_given,
        tools=replaying.tools,
        harness=harness(None if key.signer is None else key.signer.said),
    )


def replay_lines(said: PlanReplay, key: OwnKey) -> bytes:
    """Return the receipt of a replay: one signed line, about the tree that was judged."""
    tree = said.tree
    subjects: list[dict[str, object]] = [{"name": "tree", "digest": {"gitTree": tree.git_tree}}]
    if tree.commit is not None:
        subjects.append({"name": "commit", "digest": {"gitCommit": tree.commit}})
    payload = statement_json(REPLAY, subjects, msgspec.to_builtins(said))
    (signed,), _ = line_signatures((payload,), key.signer)
    return envelope_line(Envelope(payload, tuple(signed)))


def sha256_of(data: bytes) -> str:
    """Return the digest by which a receipt is named."""
    return hashlib.sha256(data).hexdigest()


def _item(
    judged: JudgedAgain, redactor: Redactor, reaches: Callable[[Verdict], ReplayEvidence]
) -> ReplayedItem:
    item, verdict = judged.item, judged.verdict
    reached = None if verdict is None else reaches(verdict)
    outcome = None if verdict is None else verdict.outcome
    return ReplayedItem(
        kind=item.kind,
        number=item.number,
        title=item.title,
        contract=item.contract,
        recorded=item.result,
        recorded_evidence=item.evidence,
        recorded_isolation=item.isolation,
        outcome=judged.found.outcome.value,
        reason=redactor.redact(judged.found.reason).text,
        verdict=None if verdict is None else verdict.kind.value,
        evidence=None if reached is None else reached.level.value,
        short_of=() if reached is None else reached.short_of,
        isolation=None if verdict is None else verdict.isolation.value,
        baseline=_baseline(judged.baseline),
        exit_code=None if outcome is None else outcome.exit_code,
        seconds=None if outcome is None else round(outcome.duration, 3),
        canary=None if verdict is None else verdict.canary.value,
        tests=_tests(verdict),
        mutated=_mutated(verdict),
        judges=tuple(
            ReplayedJudge(
                path=each.judge.path,
                sha256=each.judge.sha256,
                found=each.content is not None,
                laid=each.content is not None and not each.there,
            )
            for each in judged.judges
        ),
        output=_output(verdict, redactor),
    )


def _baseline(found: Verdict | None) -> ItemBaseline | None:
    if found is None:
        return None
    red = found.kind.value in {"fail", "vacuous"}
    return ItemBaseline(verdict=found.kind.value, red=red, at="replay", seq=None)


def _tests(verdict: Verdict | None) -> ItemTests | None:
    if verdict is None or verdict.summary is None:
        return None
    found = verdict.summary
    return ItemTests(passed=found.passed, failed=found.failed, skipped=found.skipped)


def _mutated(verdict: Verdict | None) -> ItemMutated | None:
    if verdict is None or verdict.mutated is None:
        return None
    found = verdict.mutated
    return ItemMutated(tests=found.total, sensitive=len(found.sensitive), blind=tuple(found.blind))


def _output(verdict: Verdict | None, redactor: Redactor) -> ItemOutput | None:
    if verdict is None or verdict.outcome is None:
        return None
    outcome = verdict.outcome
    text = outcome.stdout.text() + outcome.stderr.text()
    begin, end = both_ends(redactor.redact(text).text)
    return ItemOutput(
        bytes=outcome.stdout.length + outcome.stderr.length,
        stdout_sha256=outcome.stdout.sha256,
        stderr_sha256=outcome.stderr.sha256,
        begin=begin,
        end=end,
    )
