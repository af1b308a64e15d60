"""Lets a model write a plan, comment on one, or write out a template: all of it proposals."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from planbound.approval.modify import new_errors
from planbound.disk.files import Shelf
from planbound.drafting.answer import (
    Remark,
    Weight,
    contract_remarks,
    find_batches,
    find_plan,
    shortcomings,
    wanted_files,
    write_bad_batches,
    write_diagnostics,
    write_feedback,
    write_files,
    write_no_files,
    write_no_plan,
)
from planbound.drafting.overview import Overview, draw_tree, judges_among, read_files, worth_reading
from planbound.drafting.prompt import write_expand_prompt, write_review_prompt
from planbound.errors import CellProblem, FileProblem, Refused, UsageError
from planbound.journal.words import SubjectKind
from planbound.judging.case import Case, cases
from planbound.judging.verdict import Verdict
from planbound.plan.edit import mark_progress
from planbound.plan.expand import Batch, Expansion, expand
from planbound.plan.model import Judged, Plan, PlanStatus, StepStatus
from planbound.plan.parse import parse, parse_source, write
from planbound.plan.repair import repair
from planbound.run.prompt import Excerpt
from planbound.source import Diagnostic, Severity
from planbound.verify.examine import Verified
from planbound.workspace.repository import RealRepository
from planbound.workspace.shelves import NewPlan, add_plan
from planbound.workspace.surroundings import verify

if TYPE_CHECKING:
    from planbound.agents.conversation import Conversation
    from planbound.workspace.context import Context
    from planbound.workspace.tree import Workspace


ROUNDS = 5
"""How often a plan is asked for."""
READINGS = 5
"""How often files are given in between."""
Trial = Callable[[Sequence[Case]], Iterable[Verdict]]
"""Runs contracts before any work, apart from everything else."""
_WORD = re.compile(r"\w+")
_NAME_WORDS, _NAME_LENGTH = 5, 40
_SHOWN = 300


class Wanted(NamedTuple):
    """What a plan is held to beyond the rules for every plan."""

    settled: frozenset[str] = frozenset()
    """The ids of the steps that are settled: their contracts are green, and their marks stay."""
    marks: tuple[tuple[str, StepStatus], ...] = ()
    """For settled steps the status that the file shows."""
    objections: Callable[[Plan], Iterable[Remark]] = lambda _: ()
    """What speaks against a plan in the place of the one that is there."""


class Proposal(NamedTuple):
    """A plan that a model wrote, and what is still to be said about it."""

    plan: Plan
    diagnostics: tuple[Diagnostic, ...]
    remarks: tuple[Remark, ...]
    redactions: bool = False
    """Whether secrets were taken out of it."""

    @property
    def errors(self) -> int:
        """Return how many of the diagnostics are errors."""
        return sum(item.severity is Severity.ERROR for item in self.diagnostics)

    @property
    def open(self) -> list[Remark]:
        """Return what has to be dealt with, apart from the diagnostics."""
        return [remark for remark in self.remarks if remark.weight is Weight.OPEN]

    @property
    def is_ready(self) -> bool:
        """Whether nothing is left that has to be dealt with."""
        return not self.errors and not self.open


def look_around(context: Context) -> Overview:
    """Return what is shown of the repository, without secrets."""
    repository, clean = RealRepository(context.root), partial(_clean, context)
    listing = repository.listing()
    return Overview(
        tree=clean(draw_tree(listing.paths, left_out=listing.left_out)),
        judges=tuple(clean(path) for path in judges_among(listing.paths)),
        files=read_files(worth_reading(listing.paths), repository.read, clean),
    )


def propose(
    context: Context,
    drafter: Conversation,
    opening: str,
    wanted: Wanted | None = None,
    *,
    tell: Callable[[str], None],
    trial: Trial | None = None,
) -> Proposal | None:
    """Ask until the plan is ready or the rounds are used up; return the best one, None for none.

    `tell` says to a person how it goes. Without a `trial`, contracts that nobody has looked at are
    not run here.
    """
    return _Talk(context, drafter, wanted or Wanted(), tell, trial).run(opening)


def _clean(context: Context, text: str) -> str:
    return context.redactor.redact(text).text


class _Talk:
    """One conversation about one plan."""

    def __init__(
        self,
        context: Context,
        drafter: Conversation,
        wanted: Wanted,
        tell: Callable[[str], None],
        trial: Trial | None,
    ) -> None:
        self.context = context
        self.drafter = drafter
        self.wanted = wanted
        self.tell = tell
        self.trial = trial
        self.clean = partial(_clean, context)
        self.surroundings = context.surroundings()
        self.readings = READINGS
        self.told: set[str] = set()
        self.heard: set[str] = set()

    def run(self, opening: str) -> Proposal | None:
        best: Proposal | None = None
        message = opening
        for number in range(1, ROUNDS + 1):
            self.tell(f"round {number} of {ROUNDS}: asking `{self.drafter.name}`")
            try:
                answer, text = self._hear(message)
            except Refused as refusal:
                if best is None:
                    raise
                # What there is is not lost, and shown with what is open.
                self.tell(f"round {number} of {ROUNDS}: {refusal.message}")
                break
            if self._is_repeated(text or answer):
                self.tell(f"round {number} of {ROUNDS}: the same answer again, so no more")
                break
            if text is None:
                said = " ".join(self.clean(answer)[:_SHOWN].split())
                self.tell(f"round {number} of {ROUNDS}: no plan in the answer: {said}")
                message = write_no_files() if wanted_files(answer) else write_no_plan()
                continue
            proposal = self._examine(text)
            if best is None or _rank(proposal) <= _rank(best):
                best = proposal
            self.tell(f"round {number} of {ROUNDS}: {_summary(proposal)}")
            if proposal.is_ready and not self._news(proposal):
                break
            message = write_feedback(proposal.plan, proposal.diagnostics, proposal.remarks)
            self.told.update(_said(proposal))
        return best

    def _is_repeated(self, answer: str) -> bool:
        """Say whether the model answers what it answered before: it would do so for ever."""
        before = len(self.heard)
        self.heard.add(" ".join(answer.split()))
        return len(self.heard) == before

    def _hear(self, message: str) -> tuple[str, str | None]:
        """Return an answer and the plan in it; files that it asks for are given in between."""
        answer = self.drafter.ask(self.clean(message))
        while (text := find_plan(answer)) is None and self.readings:
            paths = wanted_files(answer)
            if not paths:
                break
            self.readings -= 1
            files = f"{len(paths)} file{'' if len(paths) == 1 else 's'}"
            self.tell(f"`{self.drafter.name}` asks for {files}")
            found = read_files(paths, RealRepository(self.context.root).read, self.clean)
            given = write_files(found, last=not self.readings)
            before, answer = answer, self.drafter.ask(self.clean(given))
            if answer == before:
                break
        return answer, text

    def _examine(self, text: str) -> Proposal:
        cleaned = self.clean(text)
        plan = self._as_draft(repair(parse(cleaned)).plan)
        found = verify(write(plan), path="PLAN.md", surroundings=self.surroundings)
        remarks = [*shortcomings(found.plan), *self.wanted.objections(found.plan)]
        if not found.errors:
            remarks += self._tried(found.plan)
        return Proposal(
            plan=found.plan,
            diagnostics=found.diagnostics,
            remarks=tuple(remarks),
            redactions=cleaned != text,
        )

    def _as_draft(self, plan: Plan) -> Plan:
        """Return the plan as a draft: whatever it says of itself, nothing in it is done."""
        marks = dict(self.wanted.marks)
        statuses = [marks.get(step.id, StepStatus.PENDING) for step in plan.steps]
        return parse_source(mark_progress(plan, PlanStatus.DRAFT, statuses))

    def _tried(self, plan: Plan) -> Iterator[Remark]:
        if self.trial is None:
            return
        chosen = [
            case
            for case in cases(plan)
            if isinstance(case.contract, Judged)
            and not (case.subject is SubjectKind.STEP and case.id in self.wanted.settled)
        ]
        try:
            verdicts = list(self.trial(chosen))
        except (CellProblem, FileProblem) as problem:
            self.tell(f"note: the contracts could not be tried: {problem.message}")
            return
        yield from contract_remarks(plan, verdicts, self.clean)

    def _news(self, proposal: Proposal) -> bool:
        """Say whether there is anything that the model was not told before."""
        return bool(_said(proposal) - self.told)


def _said(proposal: Proposal) -> set[str]:
    # Without their places, which move with every line.
    found = {f"{item.code} {item.message}" for item in proposal.diagnostics}
    return found | {remark.text for remark in proposal.remarks}


def _rank(proposal: Proposal) -> tuple[int, int, int]:
    remarks = len(proposal.remarks) - len(proposal.open)
    return (
        proposal.errors,
        len(proposal.open),
        len(proposal.diagnostics) - proposal.errors + remarks,
    )


def _summary(proposal: Proposal) -> str:
    warnings = len(proposal.diagnostics) - proposal.errors
    counts = [
        (proposal.errors, "error"),
        (warnings, "warning"),
        (len(proposal.remarks), "remark"),
    ]
    said = [f"{count} {word}{'' if count == 1 else 's'}" for count, word in counts if count]
    count = len(proposal.plan.steps)
    steps = f"{count} step{'' if count == 1 else 's'}"
    return f"{steps}, {', '.join(said) or 'no problems'}"


def name_of(plan: Plan, goal: str, workspace: Workspace) -> str:
    """Return a name that is free, made of what the plan is to reach."""
    objective = plan.objective.value if plan.objective else goal
    words = [word.lower() for word in _WORD.findall(objective)][:_NAME_WORDS]
    while words and len("-".join(words).encode()) > _NAME_LENGTH:
        words.pop()
    return free_name("-".join(words).strip("_-") or "draft", workspace)


def free_name(name: str, workspace: Workspace) -> str:
    """Return the name, with a number behind it where it is taken."""
    taken = {each.casefold() for each in workspace.names(Shelf.ACTIVE)}
    for number in range(1, 1000):
        candidate = name if number == 1 else f"{name}-{number}"
        planned = workspace.planned_path(candidate)
        if planned.path.rsplit("/", 1)[-1].casefold() not in taken:
            return candidate
    raise UsageError(f"there are too many plans named `{name}`", hint="archive some of them")


def write_draft(context: Context, proposal: Proposal, name: str) -> NewPlan:
    """Write the plan as a new draft; never over anything."""
    return add_plan(context, name, write(proposal.plan), origin="draft")


def review(context: Context, drafter: Conversation, found: Verified) -> str:
    """Return what somebody says about a plan, without secrets."""
    prompt = write_review_prompt(
        found.plan.source.text,
        write_diagnostics(found.plan, found.diagnostics),
        look_around(context),
    )
    answer = drafter.ask(_clean(context, prompt))
    comments = _clean(context, answer).replace("\r\n", "\n").strip()
    if not comments:
        raise Refused(f"`{drafter.name}` said nothing about the plan", hint="ask again")
    return comments


def fill_template(
    context: Context,
    drafter: Conversation,
    plan: Plan,
    label: str,
    source: Excerpt,
    tell: Callable[[str], None],
) -> Expansion:
    """Return the plan with a template written out; refuse where no batches could be used."""
    message = write_expand_prompt(plan.source.text, label, source)
    faults: dict[str, Sequence[str]] = {}
    for number in range(1, ROUNDS + 1):
        tell(f"round {number} of {ROUNDS}: asking `{drafter.name}`")
        batches = find_batches(drafter.ask(_clean(context, message)))
        faults = _faults(batches, source.content or "")
        if not faults:
            try:
                expansion = expand(plan, label, batches)
            except UsageError as error:
                faults = {error.message: ()}
            else:
                faults = _new_faults(context, plan, expansion)
                if not faults:
                    return expansion
        tell(f"round {number} of {ROUNDS}: {'; '.join(faults)}")
        message = write_bad_batches(faults)
    raise Refused(
        f"no batches that could be used in {ROUNDS} rounds: {'; '.join(faults)}",
        hint="write them yourself: `--batches FILE`",
    )


def _faults(batches: Sequence[Batch], text: str) -> dict[str, Sequence[str]]:
    items = [item for batch in batches for item in batch]
    if not items:
        return {"there are no batches in the answer": ()}
    found: dict[str, Sequence[str]] = {}
    # A model that lists from memory invents: only what the file says is taken.
    invented = [item for item in items if item not in text]
    if invented:
        found["these are not in the file, to the letter"] = invented
    twice = [item for item, count in Counter(items).items() if count > 1]
    if twice:
        found["these are named twice"] = twice
    return found


def _new_faults(context: Context, plan: Plan, expansion: Expansion) -> dict[str, Sequence[str]]:
    path = plan.source.path
    surroundings = context.surroundings()
    before = verify(write(plan), path=path, surroundings=surroundings)
    after = verify(write(expansion.plan), path=path, surroundings=surroundings)
    wrong = new_errors(before, after)
    if not wrong:
        return {}
    said = write_diagnostics(after.plan, wrong)
    return {"the steps that come of it have errors": said.split("\n")[1:-1]}
