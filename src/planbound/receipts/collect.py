"""Collects what a receipt says of a plan: one reading of its events, and one of all hashes."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

import msgspec

from planbound import __version__
from planbound.disk.own_code import program_digest
from planbound.errors import JournalProblem, NoSuchPlan, PlanboundError, Refused
from planbound.git.place import at_worktree
from planbound.journal.event import EventKind, GateApproved, PlanCreated
from planbound.journal.record import Provenance, Query, Record
from planbound.judging.case import Case, Scope, cases, covers, judge_scope
from planbound.judging.reference import judges_of, read_frozen
from planbound.plan.digest import contract_digest, digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.receipts.claims import counts_of, item_name, outcome_of
from planbound.receipts.deviations import agents_of, of_approval, of_cost, of_item, of_run
from planbound.receipts.git_tree import blob_id
from planbound.receipts.items import ItemPlace, StoryOfItems, name_of, places, run_item
from planbound.receipts.journal_proof import JournalProof
from planbound.receipts.predicate import (
    VERSION,
    Deviation,
    ItemJudge,
    NotKept,
    PlanRun,
    RunApproval,
    RunBase,
    RunCounts,
    RunHarness,
    RunItem,
    RunPlan,
    RunTree,
    SigningKey,
)
from planbound.receipts.settings import run_settings
from planbound.receipts.trees import GitIds, first_manifest, judged_files, touched_files
from planbound.state.plan import PlanState, plan_state
from planbound.state.run import RunState, lay_out
from planbound.workspace.context import Context
from planbound.workspace.locate import locate
from planbound.workspace.manifest import Manifest
from planbound.workspace.vault import Vault, open_vault

_TAKES_THE_NAME = frozenset({EventKind.PLAN_STAGED, EventKind.PLAN_ACTIVATED})
_ENDS = frozenset(
    {
        EventKind.GATE_APPROVED,
        EventKind.EXECUTION_STARTED,
        EventKind.EXECUTION_COMPLETE,
        EventKind.EXECUTION_CANCELLED,
        EventKind.FINALIZATION_ACCEPTED,
        EventKind.FINALIZATION_CAPPED,
        EventKind.SESSION_RELEASED,
        EventKind.PLAN_ARCHIVED,
        EventKind.PLAN_INTEGRATED,
    }
)
"""Events that a receipt cites whatever they are about."""


class Collected(NamedTuple):
    """What a receipt says, before it is signed."""

    run: PlanRun
    """Without the digests of the other lines, which are made of its items."""
    subjects: tuple[Mapping[str, object], ...]
    proof: JournalProof


def which_plan(context: Context, reference: str | None) -> tuple[Context, str]:
    """Return the name of the plan that is meant, and the context of the worktree it is bound to.

    A plan whose file is put away is known by its name, as long as the journal knows it.
    """
    try:
        file = locate(reference, context.tree)
    except NoSuchPlan:
        journal = context.existing_journal()
        if reference is None or journal is None or "/" in reference:
            raise
        if plan_state(journal, reference, (EventKind.PLAN_ARCHIVED,)) is None:
            raise
        return context, reference
    return at_worktree(context, file), file.slug


def collect(context: Context, slug: str, key: SigningKey | None = None) -> Collected:
    """Return all that is to be said of a plan by this name; refuse one that never ran.

    `key` is what the receipt will be signed with.
    """
    journal = context.existing_journal()
    if journal is None:
        raise _never_ran(slug)
    life = Life(slug, journal.read(Query(plan=slug)))
    if not life.state.started:
        raise _never_ran(slug)
    vault = open_vault(context)
    try:
        return _Collecting(context, vault, life, JournalProof(context, journal)).collected(key)
    finally:
        vault.close()


def _never_ran(slug: str) -> Refused:
    return Refused(
        f"`{slug}` never ran, so there is nothing to give a receipt for",
        hint="`planbound run` runs an approved plan",
    )


class Life:
    """The events of the plan that has this name now, and its state."""

    def __init__(self, slug: str, records: Iterator[Record]) -> None:
        self.state = PlanState(slug)
        self.records: list[Record] = []
        for record in records:
            if record.draft.provenance is not Provenance.LIVE:
                continue
            taken = self.state.archived and record.kind in _TAKES_THE_NAME
            if record.kind is EventKind.PLAN_CREATED or taken:
                self.records = []
            self.state.apply(record)
            self.records.append(record)

    @property
    def loop(self) -> bool:
        """Whether an agent works by itself on it, and no run."""
        return self.state.run.run is None

    @property
    def approval(self) -> Record | None:
        """Return the last approval, unless an agent in the loop had its plan changed since."""
        found = None
        for record in self.records:
            if record.kind is EventKind.GATE_APPROVED:
                found = record
        session = self.state.session
        if found is None or not self.loop or session.digest is None:
            return found
        event = found.event
        same = isinstance(event, GateApproved) and event.digest == session.digest
        return found if same else None

    @property
    def text(self) -> tuple[str | None, str | None]:
        """Return where the text is kept that the items are of, and its digest."""
        approval = self.approval
        if approval is not None and isinstance(approval.event, GateApproved):
            return approval.event.text, approval.event.digest
        created = next((each.event for each in self.records if each.kind in _CREATED), None)
        first = created.text if isinstance(created, PlanCreated) else None
        session = self.state.session
        return session.text or first, session.digest or self.state.digest


_CREATED = frozenset({EventKind.PLAN_CREATED})


class _Collecting:
    """One receipt, while it is put together."""

    def __init__(self, context: Context, vault: Vault, life: Life, proof: JournalProof) -> None:
        self.context, self.vault, self.life, self.proof = context, vault, life, proof
        self.records = [each for each in life.records if each.seq <= proof.size]
        self.missing: list[Deviation] = []
        """What cannot be said."""
        self.clean = _Cleaner(context)
        self.text, self.plan = self._text()
        self.ids = GitIds(context, vault)

    # -- the plan and its approval ---------------------------------------------------------------

    def _text(self) -> tuple[bytes, Plan]:
        key, wanted = self.life.text
        text = self.vault.content(bytes.fromhex(key)) if key is not None else None
        if text is None:
            text = self._file_of(wanted)
        if text is None:
            raise Refused(
                f"the text of `{self.life.state.slug}` that was worked on is not kept,"
                " so nobody can say what was judged",
                hint="plans that were approved by an older version have none",
            )
        plan = parse(text, path=self.life.state.slug)
        if wanted is not None and digest(plan) != wanted:
            raise JournalProblem(f"the kept text of `{self.life.state.slug}` is another plan")
        return text, plan

    def _file_of(self, wanted: str | None) -> bytes | None:
        """Return what the plan's file holds, where it means what was worked on."""
        with suppress(PlanboundError):
            file = self.context.tree.planned_path(self.life.state.slug)
            data = self.context.reader.read(file.path)
            if wanted is not None and digest(parse(data, path=file.shown)) == wanted:
                return data
        return None

    def _plan(self) -> RunPlan:
        try:
            said: str | None = self.text.decode("utf-8")
        except UnicodeDecodeError:
            said = None
            self._lacks("the text of the plan, which is not UTF-8")
        shown = self.clean(said) if said is not None else None
        path = next((p for each in self.records if (p := getattr(each.event, "path", None))), None)
        return RunPlan(
            slug=self.life.state.slug,
            path=path if isinstance(path, str) else None,
            revision=self.life.state.revision,
            digest=digest(self.plan),
            text=shown,
            sha256=hashlib.sha256(self.text).hexdigest(),
            git_blob=blob_id(self.text, self.ids.form or "sha1"),
            redacted=shown != said,
        )

    def _approval(self) -> RunApproval | None:
        record = self.life.approval
        event = record.event if record is not None else None
        if record is None or not isinstance(event, GateApproved):
            return None
        return RunApproval(
            by=event.by or "",
            method=event.method.value if event.method else "",
            strength=event.strength.value if event.strength else "",
            at=record.draft.timestamp,
            expires=event.expires,
            policy=event.policy,
            nonce=event.nonce or "",
            project=event.project,
            digest=event.digest or "",
            configuration=event.configuration or "",
            tree=event.tree,
            judges=dict(sorted((event.judges or {}).items())),
            tools=dict(sorted((event.tools or {}).items())),
            modifications=event.modifications,
            statement=self._kept(event.statement),
            signature=self._kept(event.signature),
            seq=record.seq,
        )

    def _kept(self, key: str | None) -> str | None:
        found = self.vault.content(bytes.fromhex(key)) if key is not None else None
        return found.decode("utf-8", "replace") if found is not None else None

    # -- the items -------------------------------------------------------------------------------

    def _items(self, base: Manifest | None) -> Iterator[tuple[RunItem, tuple[Deviation, ...]]]:
        recorder = self.context.recorder(self.context.existing_journal())
        state = RunState(lay_out(self.plan, recorder.step_ids(self.plan)), self.life.state)
        everything = tuple(cases(self.plan))
        contracts = {}
        for case in everything:
            slot = state.layout.find(case.number) if case.id is not None else None
            name = slot.id if slot is not None else f"{case.subject} {case.number}"
            contracts[name] = contract_digest(case.contract) if case.contract else None
        story = StoryOfItems(self.records, contracts)
        self.places = tuple(places(everything, state, story, loop=self.life.loop))
        scope = judge_scope(self.plan)
        for place in self.places:
            told = story.of(place.name)
            item = run_item(place, told, self._judges(place.case, base, scope), self.clean)
            yield item, tuple(of_item(item, place, told, self.clean))

    def _judges(self, case: Case, base: Manifest | None, scope: Scope) -> tuple[ItemJudge, ...]:
        if base is None:
            return ()
        read = partial(read_frozen, base, self.vault)
        found = []
        for path in sorted(judges_of((case,), base, read).files):
            entry = base.entry(path)
            if entry is not None:
                found.append(
                    ItemJudge(
                        path=path,
                        sha256=entry.content.hex(),
                        git_blob=self.ids.blob(path, entry),
                        editable=covers(scope, path),
                    )
                )
        return tuple(found)

    # -- all of it -------------------------------------------------------------------------------

    def collected(self, key: SigningKey | None) -> Collected:
        """Return what is to be said."""
        plan = self._plan()
        base = first_manifest(self.vault, self.records)
        if base is None:
            self._lacks("the files as they were before the work, and so which ones it changed")
        found = list(self._items(base))
        items = tuple(item for item, _ in found)
        plain = [msgspec.to_builtins(item) for item in items]
        subjects, tree = self._tree(base, items)
        agents = agents_of(self.records, self._kind_of)
        status = self.life.state.decided_status.value
        deviations = (
            *of_approval(self.life.approval, self.records, self.clean),
            *(each for _, said in found for each in said),
            *of_run(self.records, self._name_of),
            *of_cost(agents),
            *self.missing,
        )
        run = PlanRun(
            version=VERSION,
            made=self.context.now(),
            outcome=outcome_of(status, plain),
            status=status,
            archived=self.life.state.archived,
            loop=self.life.loop,
            plan=plan,
            approval=self._approval(),
            base=self._base(base),
            tree=tree,
            settings=run_settings(self.context.configuration),
            items=items,
            counts=RunCounts(**counts_of(plain)),
            deviations=deviations,
            agents=agents,
            harness=harness(key),
            journal=self.proof.cite(self._cited(plain, deviations)),
            statements=(),
        )
        return Collected(run, subjects, self.proof)

    def _tree(
        self, base: Manifest | None, items: Sequence[RunItem]
    ) -> tuple[tuple[Mapping[str, object], ...], RunTree]:
        judged = [item for item in items if item.tree is not None and item.seq is not None]
        last = max(judged, key=_seq).tree if judged else None
        files = judged_files(self.context, self.vault, self.life.state, last)
        if files.is_now:
            self._lacks("which files were judged: these are the workspace's as they are now")
        git, reason = None, "the tree is not kept"
        removed: tuple[str, ...] = ()
        touched: tuple[Mapping[str, object], ...] = ()
        if files.manifest is not None:
            git, why = self.ids.tree(files.manifest)
            reason = why or ""
            if base is not None:
                found = touched_files(base, files.manifest, self.ids)
                touched, removed = found.subjects, found.removed
        else:
            self._lacks("the files that were judged last, and so which ones the work changed")
        digests = {"sha256": files.digest} | ({"gitTree": git} if git else {})
        subjects: list[Mapping[str, object]] = [{"name": "tree", "digest": digests}]
        commit = self.life.state.place.commit
        if commit:
            subjects.append({"name": "commit", "digest": {"gitCommit": commit}})
        return (*subjects, *touched), RunTree(
            tree=files.digest, git_tree=git, no_git_tree=reason or None, removed=removed
        )

    def _base(self, base: Manifest | None) -> RunBase:
        binding = self.life.state.place.binding
        return RunBase(
            tree=base.digest if base is not None else None,
            git_tree=self.ids.tree(base)[0] if base is not None else None,
            commit=binding.base if binding is not None else self.ids.head,
            folder=self.ids.folder,
        )

    def _cited(
        self, items: Sequence[Mapping[str, Any]], deviations: Sequence[Deviation]
    ) -> list[Record]:
        wanted: set[int | None] = {each.seq for each in self.records if each.kind in _ENDS}
        for item in items:
            baseline = item["baseline"] or {}
            wanted |= {item["seq"], item["settled_by"], baseline.get("seq")}
        wanted |= {getattr(each, "seq", None) for each in deviations}
        return [each for each in self.records if each.seq in wanted]

    def _name_of(self, record: Record) -> str | None:
        name = name_of(record)
        found: ItemPlace | None = next((each for each in self.places if each.name == name), None)
        if found is None:
            return None
        return item_name({"kind": found.case.subject.value, "number": found.case.number})

    def _kind_of(self, agent: str) -> tuple[str | None, str | None]:
        rules = self.context.configuration.agents.get(agent)
        return (None, None) if rules is None else (rules.kind, rules.model)

    def _lacks(self, what: str) -> None:
        self.missing.append(NotKept(what=what))


def _seq(item: RunItem) -> int:
    return item.seq or 0


def harness(key: SigningKey | None) -> RunHarness:
    """Return what is said of this program."""
    return RunHarness(
        version=__version__,
        digest=program_digest(),
        python=platform.python_version(),
        system=f"{platform.system()} {platform.machine()}",
        key=key,
    )


class _Cleaner:
    """Takes secrets out of texts; each text once."""

    def __init__(self, context: Context) -> None:
        self._redactor = context.redactor
        self._known: dict[str, str] = {}

    def __call__(self, text: str) -> str:
        found = self._known.get(text)
        if found is None:
            found = self._known[text] = self._redactor.redact(text).text
        return found
