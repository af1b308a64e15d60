"""What the commands share that talk with a model about a plan."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import asdict

from planbound.agents.conversation import Conversation
from planbound.cells.isolation import refuse_in_cell
from planbound.cli import verify as text
from planbound.cli.named_plans import PlanWritten, excuse, plan_written, read_plan
from planbound.cli.progress import live_line
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.disk.files import PlanFile, Shelf
from planbound.drafting import draft as drafts
from planbound.drafting import redraft as redrafts
from planbound.drafting.draft import Proposal, Trial, review
from planbound.drafting.prompt import PlanRequest, write_draft_prompt, write_redraft_prompt
from planbound.drafting.redraft import open_drafter, open_trial
from planbound.errors import ExitCode, NoPlanProposed, Refused, UsageError
from planbound.judging.restore import difference
from planbound.plan.digest import digest
from planbound.plan.parse import write
from planbound.run.prompt import Excerpt
from planbound.source import visible, visible_lines
from planbound.verify.examine import Verified
from planbound.workspace.context import Context
from planbound.workspace.shelves import refuse_taken
from planbound.workspace.surroundings import verify
from planbound.workspace.vault import open_vault

if TYPE_CHECKING:
    from planbound.approval.modify import Amendment

# -- what the commands share that talk with a model about a plan ---------------------------------


PLANNER, REVIEWER = "planner", "reviewer"
"""The roles of who is asked for plans, and for comments."""
LONGEST_GOAL = 50_000
LONGEST_FILE = 100_000
"""Bytes of a file that is given to a model whole."""
_PASTE = "or paste what `planbound draft --print-prompt GOAL` prints into any agent"


def cleaner(context: Context) -> Callable[[str], str]:
    """Return what takes secrets out of what is sent, shown or written."""
    return lambda said: context.redactor.redact(said).text


def roles(context: Context) -> frozenset[str]:
    """Return who steps can be given to: not to who writes plans, where there is anybody else."""
    known = context.configuration.roles
    return known - {PLANNER} or known


@contextmanager
def drafter_for(
    context: Context, role: str, terminal: Terminal, *, paste: bool = False
) -> Iterator[Conversation]:
    """Open a conversation; where nobody is configured for it, say what else can be done."""
    clean = cleaner(context)
    with ExitStack() as stack:
        try:
            opened = open_drafter(context, role, lambda said: tell(terminal, clean(said)))
            drafter = stack.enter_context(opened)
        except Refused as refusal:
            if not paste:
                raise
            hint = f"{refusal.hint}; {_PASTE}" if refusal.hint else _PASTE
            raise Refused(refusal.message, hint=hint) from refusal
        yield drafter


def tell(terminal: Terminal, said: str) -> None:
    """Say how a talk with a model goes."""
    terminal.note(visible_lines(said))


def find_trial(context: Context, terminal: Terminal) -> Trial | None:
    """Return what runs the contracts of a draft; where nothing can, say why."""
    trial, reason = open_trial(context)
    if trial is None:
        terminal.note(f"note: contracts are not tried before any work: {visible(reason)}")
    return trial


def read_goal(given: str) -> str:
    """Return the goal; `-` is standard input."""
    if given == "-":
        data = sys.stdin.buffer.read(LONGEST_GOAL * 4 + 1)
        try:
            given = data.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise UsageError("the goal on standard input is not UTF-8 text") from error
    if not given.strip():
        raise UsageError("the goal is empty", hint="say what is to be reached")
    if len(given) > LONGEST_GOAL:
        raise UsageError(
            f"the goal is longer than {LONGEST_GOAL:,} characters",
            hint="write a shorter goal, and give the rest with `--context FILE`",
        )
    return given.strip()


def read_context(path: str, context: Context, clean: Callable[[str], str]) -> Excerpt:
    """Return a file that is given whole, without its secrets."""
    data = context.reader.read(path)
    if len(data) > LONGEST_FILE:
        raise UsageError(
            f"`{path}` is too large: a file that a model gets has at most {LONGEST_FILE:,} bytes",
            hint="give the part that matters",
        )
    try:
        said = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UsageError(f"`{path}` is not UTF-8 text") from error
    if "\0" in said:
        raise UsageError(f"`{path}` is not text")
    if not said.strip():
        raise UsageError(f"`{path}` is empty")
    return Excerpt(visible(path), clean(said))


def read_contexts(
    paths: Sequence[str], context: Context, clean: Callable[[str], str]
) -> tuple[Excerpt, ...]:
    """Return the files that are given whole, each once."""
    return tuple(read_context(path, context, clean) for path in dict.fromkeys(paths))


def show_faults(found: Verified, proposal: Proposal, terminal: Terminal) -> None:
    """Show what is open: diagnostics on standard output, what else there is to know beside it."""
    for item in found.diagnostics:
        for line in text.render_text(found.plan.source, item, terminal):
            terminal.out(line)
        terminal.out()
    for remark in proposal.remarks:
        terminal.note(f"{remark.weight.value}: {visible(remark.text)}")
    if proposal.redactions:
        terminal.note("note: what looked like a secret was taken out of the plan")


class DraftWritten(PlanWritten, frozen=True):
    """A plan that a model wrote."""

    steps: int
    ready: bool
    """Whether nothing is open: no errors, and no remark that has to be dealt with."""
    diagnostics: list[text.DiagnosticFound]
    remarks: list[str]
    """What else there is to know, such as contracts that are green before any work."""


def _about_draft(file: PlanFile, found: Verified, proposal: Proposal) -> DraftWritten:
    return DraftWritten(
        **asdict(plan_written(file, found.plan)),
        steps=len(found.plan.steps),
        ready=proposal.is_ready,
        diagnostics=text.as_data(found.diagnostics),
        remarks=[remark.text for remark in proposal.remarks],
    )


# -- `planbound draft` ---------------------------------------------------------------------------


class PromptWritten(JsonObject, frozen=True):
    prompt: str


def configure_draft(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("goal", metavar="GOAL", help="what is to be reached; `-` for stdin")
    parser.add_argument("--name", metavar="NAME", help="the plan's name (default: from its title)")
    parser.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="FILE",
        help="give the model this whole file; repeatable",
    )
    parser.add_argument(
        "--print-prompt",
        action="store_true",
        help="print a prompt to paste into any agent; ask no agent",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_draft(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let a model write a plan, and write it as a draft."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    context.on_stage = live_line(quiet=arguments.json).judging
    goal = read_goal(arguments.goal)
    if arguments.name is not None:  # before anybody is paid
        refuse_taken(context.tree.planned_path(arguments.name).slug, Shelf.ACTIVE, context.tree)
    clean = cleaner(context)
    contexts = read_contexts(arguments.context, context, clean)
    request = PlanRequest(
        goal=goal,
        roles=roles(context),
        overview=drafts.look_around(context),
        contexts=contexts,
    )
    if arguments.print_prompt:
        prompt = clean(write_draft_prompt(request, answered=False))
        if arguments.json:
            terminal.json(PromptWritten(prompt=prompt))
            return ExitCode.DONE
        terminal.raw(prompt)
        terminal.note("then: save the plan, and say what is wrong: `planbound verify FILE`")
        return ExitCode.DONE
    refuse_in_cell()
    with drafter_for(context, PLANNER, terminal, paste=True) as drafter:
        trial = find_trial(context, terminal)
        prompt = write_draft_prompt(request._replace(tries=trial is not None))
        said = partial(tell, terminal)
        proposal = drafts.propose(context, drafter, prompt, tell=said, trial=trial)
    if proposal is None:
        raise NoPlanProposed(
            f"`{drafter.name}` wrote no plan; nothing was written",
            hint="say the goal more clearly, or give more with `--context FILE`",
        )
    return _write(context, proposal, arguments, goal, terminal)


def _write(
    context: Context,
    proposal: drafts.Proposal,
    arguments: argparse.Namespace,
    goal: str,
    terminal: Terminal,
) -> ExitCode:
    name = arguments.name or drafts.name_of(proposal.plan, goal, context.tree)
    file, _, unrecorded = drafts.write_draft(context, proposal, name)
    excuse(unrecorded, terminal)
    found = verify(
        context.files.read(file.path), path=file.shown, surroundings=context.surroundings()
    )
    if arguments.json:
        terminal.json(_about_draft(file, found, proposal))
    else:
        show_faults(found, proposal, terminal)
        steps = len(found.plan.steps)
        count = text.summary(found.errors, found.warnings)
        terminal.out(f"wrote {file.shown}: {steps} steps, {count}")
    if not proposal.is_ready:
        terminal.problem(
            "the draft is not ready: see above what is open",
            f"mend it, then `planbound verify {shlex.quote(file.slug)}`",
        )
        return ExitCode.FAILED
    terminal.note("it is a draft: nothing runs before somebody approved it")
    terminal.note(
        f"next: read it, then `planbound approve {shlex.quote(file.slug)}`,"
        f" or have it commented on: `planbound review {shlex.quote(file.slug)}`"
    )
    return ExitCode.DONE


# -- `planbound redraft` -------------------------------------------------------------------------


class RedraftWritten(DraftWritten, frozen=True):
    placed: bool
    """Whether it took the place of the plan; otherwise it is a draft beside it."""
    revision: int | None
    """The number of the amendment; null where nothing was approved before."""
    kept: list[str]
    """The steps that stay settled."""


def configure_redraft(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--reason",
        metavar="TEXT",
        help="what is wrong with it (default: why it was rejected or is to be revised)",
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_redraft(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let a model write a plan anew; what is proved stays."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, context)
    context.demand_own(file)
    reason = redrafts.reason_for(context.existing_journal(), file.slug, arguments.reason)
    holder = context.holder_of(file.slug)
    if holder is not None:  # before anybody is paid
        raise Refused(f"{holder} runs `{file.slug}` now", hint="wait, or cancel the run")
    recorder = context.recorder()
    present = redrafts.find_present(recorder, open_vault(context), file, data)
    wanted = redrafts.demands(recorder, present)
    with drafter_for(context, PLANNER, terminal) as drafter:
        trial = find_trial(context, terminal)
        request = PlanRequest(
            goal="",
            roles=roles(context),
            overview=drafts.look_around(context),
            tries=trial is not None,
        )
        prompt = write_redraft_prompt(request, present.plan.source.text, reason, present.names)
        said = partial(tell, terminal)
        proposal = drafts.propose(context, drafter, prompt, wanted, tell=said, trial=trial)
    if proposal is None:
        raise NoPlanProposed(
            f"`{drafter.name}` wrote no plan; nothing was changed",
            hint="say what is wrong more clearly with `--reason`",
        )
    screen = _RedraftScreen(terminal, proposal, for_programs=arguments.json)
    if not redrafts.is_placeable(proposal, wanted):
        return _put_beside(context, present, screen)
    return _put(context, present, redrafts.Origin(drafter.name, reason), screen)


class _RedraftScreen:
    """Shows what became of a plan that was written anew."""

    def __init__(self, terminal: Terminal, proposal: Proposal, *, for_programs: bool) -> None:
        self.terminal = terminal
        self.proposal = proposal
        self.for_programs = for_programs

    def show(self, file: PlanFile, found: Verified, line: str, amendment: Amendment | None) -> None:
        """Show a draft that was put in place, and `line`, which says so."""
        if self.for_programs:
            self._json(file, found, amendment, placed=True)
            return
        show_faults(found, self.proposal, self.terminal)
        self.terminal.out(line)
        if amendment is not None and amendment.kept:
            self.terminal.out(f"  stay settled: {visible(', '.join(amendment.kept))}")

    def show_beside(self, file: PlanFile, found: Verified, line: str) -> None:
        """Show a draft that was written beside the plan, and `line`, which says so."""
        if self.for_programs:
            self._json(file, found, None, placed=False)
            return
        show_faults(found, self.proposal, self.terminal)
        self.terminal.out(line)

    def _json(
        self, file: PlanFile, found: Verified, amendment: Amendment | None, *, placed: bool
    ) -> None:
        self.terminal.json(
            RedraftWritten(
                **asdict(_about_draft(file, found, self.proposal)),
                placed=placed,
                revision=None if amendment is None else amendment.revision,
                kept=[] if amendment is None else list(amendment.kept),
            )
        )


def _put(
    context: Context, present: redrafts.Present, origin: redrafts.Origin, screen: _RedraftScreen
) -> ExitCode:
    file, proposal, terminal = present.file, screen.proposal, screen.terminal
    amendment = redrafts.put_in_place(
        context.recorder(),
        present,
        proposal.plan,
        origin,
        files=context.files,
        leases=context.leases(),
    )
    what = f"revision {amendment.revision}" if amendment is not None else "drafted anew"
    data = write(proposal.plan)
    if not screen.for_programs:
        for line in difference(file.shown, present.data, data).splitlines():
            terminal.out(visible(line))
    found = verify(data, path=file.shown, surroundings=context.surroundings())
    screen.show(file, found, f"{file.shown}: {what}, a draft again", amendment)
    if not proposal.is_ready:
        terminal.problem("the draft is not ready: see above what is open", "mend it")
        return ExitCode.FAILED
    terminal.note(f"look at it and decide: `planbound approve {shlex.quote(file.slug)}`")
    return ExitCode.DONE


def _put_beside(context: Context, present: redrafts.Present, screen: _RedraftScreen) -> ExitCode:
    """Write what cannot take the plan's place as a draft of its own: nothing paid for is lost."""
    slug, proposal = present.file.slug, screen.proposal
    name = drafts.free_name(f"{slug}-redraft", context.tree)
    file, _, unrecorded = drafts.write_draft(context, proposal, name)
    excuse(unrecorded, screen.terminal)
    found = verify(write(proposal.plan), path=file.shown, surroundings=context.surroundings())
    screen.show_beside(file, found, f"wrote {file.shown}; {present.file.shown} stays as it was")
    screen.terminal.problem(
        f"the draft cannot take the place of `{slug}`: see above what is open",
        f"mend it, then `planbound amend {shlex.quote(slug)} --with {shlex.quote(file.shown)}`"
        if present.settled
        else f"mend it, and put it in the place of {present.file.shown}",
    )
    return ExitCode.FAILED


# -- `planbound review` --------------------------------------------------------------------------


class ReviewGiven(JsonObject, frozen=True):
    slug: str
    digest: str
    reviewer: str
    comments: str
    approves: bool
    """Always false: a model approves nothing."""


SHAPES: dict[str, Shapes] = {
    "draft": {"": DraftWritten, "--print-prompt": PromptWritten},
    "redraft": {"": RedraftWritten},
    "review": {"": ReviewGiven},
}


def configure_review(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file, `-` for stdin")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_review(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask the reviewer for comments on a plan; they decide nothing."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, context)
    found = verify(data, path=file.shown, surroundings=context.surroundings())
    with drafter_for(context, REVIEWER, terminal) as drafter:
        terminal.note(f"asking `{visible(drafter.name)}`")
        comments = review(context, drafter, found)
    if arguments.json:
        terminal.json(
            ReviewGiven(
                slug=file.slug,
                digest=digest(found.plan),
                reviewer=drafter.name,
                comments=comments,
                approves=False,
            )
        )
        return ExitCode.DONE
    for line in comments.split("\n"):
        terminal.out(visible(line))
    terminal.note(
        f"this is the advice of `{visible(drafter.name)}`: it approves nothing, and nothing of it"
        " was recorded"
    )
    return ExitCode.DONE
