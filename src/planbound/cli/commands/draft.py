"""`planbound draft`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli import drafting
from planbound.cli.journalling import note_created
from planbound.cli.live import live_line
from planbound.cli.reports import text
from planbound.cli.terminal import Terminal
from planbound.engine.drafting.prompt import Request, write_draft_prompt
from planbound.errors import ExitCode
from planbound.ports.files import Shelf
from planbound.usecases import draft as drafts
from planbound.usecases.stage import refuse_taken
from planbound.usecases.verify import verify
from planbound.wiring.judging import refuse_in_cell
from planbound.wiring.parts import Parts
from planbound.wiring.proposing import open_repository


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("goal", metavar="GOAL", help="what is to be reached; `-` for stdin")
    parser.add_argument("--name", metavar="NAME", help="the plan's name (default: from its title)")
    parser.add_argument(
        "--context",
        action="append",
        default=[],
        metavar="FILE",
        help="a file that the model gets whole; repeatable",
    )
    parser.add_argument(
        "--print-prompt",
        action="store_true",
        help="print what to paste into any agent, and ask nobody",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let a model write a plan, and write it as a draft."""
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    parts.told = live_line().judging
    goal = drafting.read_goal(arguments.goal)
    if arguments.name is not None:  # before anybody is paid
        refuse_taken(parts.tree.planned_path(arguments.name).slug, Shelf.ACTIVE, parts.tree)
    clean = drafting.cleaner(parts)
    contexts = drafting.read_contexts(arguments.context, parts, clean)
    request = Request(
        goal=goal,
        roles=drafting.roles(parts),
        overview=drafts.look_around(open_repository(parts), clean),
        contexts=contexts,
    )
    if arguments.print_prompt:
        terminal.raw(clean(write_draft_prompt(request, answered=False)))
        terminal.note("then: save the plan, and say what is wrong: `planbound verify FILE`")
        return ExitCode.DONE
    refuse_in_cell()
    with drafting.drafter_for(parts, drafting.PLANNER, terminal, paste=True) as drafter:
        desk = drafting.make_desk(parts, drafter, terminal)
        request = request._replace(tries=desk.trial is not None)
        proposal = drafts.propose(desk, write_draft_prompt(request))
    if proposal is None:
        terminal.problem(
            f"`{drafter.name}` wrote no plan; nothing was written",
            "say the goal more clearly, or give more with `--context FILE`",
        )
        return ExitCode.FAILED
    return _write(parts, proposal, arguments.name or "", goal, terminal)


def _write(
    parts: Parts, proposal: drafts.Proposal, name: str, goal: str, terminal: Terminal
) -> ExitCode:
    file = drafts.write_draft(
        proposal,
        name or drafts.name_of(proposal.plan, goal, parts.tree),
        workspace=parts.tree,
        files=parts.files,
        folders=parts.real_files,
    )
    note_created(parts, file, terminal, origin="draft")
    found = verify(parts.files.read(file.path), path=file.shown, surroundings=parts.surroundings())
    drafting.show_faults(found, proposal, terminal)
    steps = len(found.plan.steps)
    terminal.out(f"wrote {file.shown}: {steps} steps, {text.summary(found.errors, found.warnings)}")
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
