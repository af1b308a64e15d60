"""Collects what a report tells: of each plan its text, its events, and the trees of its work."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from planbound import __version__
from planbound.disk.files import PlanFile, Shelf
from planbound.errors import PlanboundError
from planbound.journal.event import GateApproved, PlanCreated
from planbound.journal.record import GENESIS, Journal, Query, Record
from planbound.plan.digest import digest
from planbound.plan.model import Plan
from planbound.plan.parse import parse
from planbound.receipts.html import Html
from planbound.receipts.page import Made, PageOf, report, summary_page
from planbound.receipts.story import PlanText, begun_anew, story_of
from planbound.receipts.tree_changes import Ration, TreeHistory
from planbound.state.plan import fold, plan_states, plan_status
from planbound.workspace.context import Context
from planbound.workspace.overview import overview
from planbound.workspace.vault import open_vault

_GONE = b"# The text of this plan is not kept any more\n"


def report_page(context: Context, slugs: Sequence[str]) -> Html:
    """Return the report of some plans; of none named: of all."""
    reader = ReportReader(context)
    found = [reader.page(slug) for slug in (slugs or reader.slugs())]
    return report(found, reader.made())


def receipt_page(context: Context, slug: str) -> Html:
    """Return one page of what a plan came to, for `receipt --html`."""
    reader = ReportReader(context)
    return summary_page(reader.page(slug), reader.made())


class _Text(NamedTuple):
    """A plan's text, and which one that is."""

    plan: Plan
    words: str


class ReportReader:
    """Reads what is known of plans; it writes nothing."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._journal: Journal | None = context.existing_journal()
        self._vault = open_vault(context)
        self._ration = Ration()

    def _clean(self, text: str) -> str:
        return self._context.redactor.redact(text).text

    def made(self) -> Made:
        """Return when and from what the page is made."""
        head = self._journal.head() if self._journal is not None else GENESIS
        return Made(self._context.now(), __version__, head.seq, head.hash)

    def slugs(self) -> list[str]:
        """Return every plan: those with a file, then those that only the journal knows."""
        found = [file.slug for file in self._files()]
        if self._journal is not None:
            found += plan_states(self._journal)
        return list(dict.fromkeys((*found, *self._archived)))

    def page(self, slug: str) -> PageOf:
        """Return what is known of a plan."""
        records = [] if self._journal is None else list(self._journal.read(Query(plan=slug)))
        own = records[begun_anew(records) :]
        state = fold(records).get(slug)
        file = self._read(slug)
        text = self._text(own, file)
        status = text.plan.status
        if state is not None:
            status = plan_status(state, digest(file)) if file is not None else state.status
        # Nothing of ours stands in a file that a secret was written into. Its steps are called as
        # the journal calls them: an id is made of a title, which may hold one.
        source = text.plan.source.to_bytes().decode("utf-8", "surrogateescape")
        shown = self._clean(source)
        plan = text.plan if shown == source else _parsed(shown, slug)
        ids: dict[str, str] = {}
        if self._journal is not None:
            ids = self._context.recorder(self._journal).step_ids(text.plan)
        binding = state.place.binding if state is not None else None
        root = binding.workspace if binding is not None else self._context.root
        trees = TreeHistory(self._vault, root, self._clean, self._ration)
        return PageOf(
            story=story_of(slug, PlanText(plan, text.words, status.value, ids), records),
            source=shown,
            diffs=trees.of_steps(plan, ids, own),
            judges=trees.of_judges(own),
        )

    def _text(self, records: Sequence[Record], file: Plan | None) -> _Text:
        """Return a plan's text: as it was approved, else as its file reads, else as it began."""
        approved = begun = None
        for record in records:
            match record.event:
                case GateApproved(text=str(key)):
                    approved = key
                case PlanCreated(text=str(key)):
                    begun = key
        plan = self._kept(approved)
        if plan is not None:
            differs = file is not None and digest(file) != digest(plan)
            other = "; its file reads otherwise now" if differs else ""
            return _Text(plan, f"as it was approved{other}")
        if file is not None:
            return _Text(file, "as its file reads now")
        plan = self._kept(begun)
        if plan is not None:
            return _Text(plan, "as it was first written")
        return _Text(parse(_GONE, path="gone"), "no more: neither its file nor a copy is there")

    def _kept(self, key: str | None) -> Plan | None:
        try:
            data = None if key is None else self._vault.content(bytes.fromhex(key))
        except (PlanboundError, ValueError):
            return None
        return None if data is None else parse(data, path="kept")

    def _files(self) -> list[PlanFile]:
        tree = self._context.tree
        return [file for shelf in (Shelf.ACTIVE, Shelf.STAGED) for file in tree.plans(shelf)]

    def _read(self, slug: str) -> Plan | None:
        """Return the plan as its file reads, also where it is in the archive."""
        for file in self._files():
            if file.slug == slug:
                try:
                    return parse(self._context.reader.read(file.path), path=file.shown)
                except PlanboundError:
                    return None
        return self._archived.get(slug)

    @cached_property
    def _archived(self) -> dict[str, Plan]:
        """The plans in the archive, the last one of each name."""
        seen = overview(self._context.tree, self._context.reader, lambda: None)
        lines = (line for line in seen.lines if line.shelf is Shelf.ARCHIVE)
        found: dict[str, Plan] = {}
        for line in lines:  # the last one that was put away comes first
            if line.plan is not None:
                found.setdefault(line.file.slug, line.plan)
        return found


def _parsed(text: str, slug: str) -> Plan:
    return parse(text.encode("utf-8", "surrogateescape"), path=slug)
