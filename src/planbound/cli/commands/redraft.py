"""`planbound redraft`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli import drafting
from planbound.cli.inputs import read_plan
from planbound.cli.journalling import note_created
from planbound.cli.terminal import Terminal
from planbound.engine.drafting.prompt import Request, write_redraft_prompt
from planbound.errors import ExitCode, Refused, UsageError
from planbound.plan.parse import write
from planbound.source.visible import visible
from planbound.usecases import draft as drafts
from planbound.usecases import redraft as redrafts
from planbound.usecases.differences import difference
from planbound.usecases.verify import verify
from planbound.wiring.judging import refuse_in_cell, vault
from planbound.wiring.parts import Parts
from planbound.wiring.people import holder_of, stillness


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--reason",
        metavar="TEXT",
        help="what is wrong with it (default: why it was rejected or is to be revised)",
    )


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let a model write a plan anew; what is proved stays."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, parts)
    parts.demand_own(file)
    reason = _reason(arguments, parts, file.slug)
    holder = holder_of(parts, file.slug)
    if holder is not None:  # before anybody is paid
        raise Refused(f"{holder} runs `{file.slug}` now", hint="wait, or cancel the run")
    recorder = parts.recorder()
    present = redrafts.find_present(recorder, vault(parts), file, data)
    wanted = redrafts.demands(recorder, present)
    with drafting.drafter_for(parts, drafting.PLANNER, terminal) as drafter:
        desk = drafting.make_desk(parts, drafter, terminal)
        request = Request(
            goal="",
            roles=drafting.roles(parts),
            overview=drafts.look_around(desk.repository, desk.clean),
            tries=desk.trial is not None,
        )
        prompt = write_redraft_prompt(request, present.plan.source.text, reason, present.names)
        proposal = drafts.propose(desk, prompt, wanted)
    if proposal is None:
        terminal.problem(
            f"`{drafter.name}` wrote no plan; nothing was changed",
            "say what is wrong more clearly with `--reason`",
        )
        return ExitCode.FAILED
    if not redrafts.is_placeable(proposal, wanted):
        return _put_beside(parts, present, proposal, terminal)
    return _put(parts, present, proposal, redrafts.Origin(drafter.name, reason), terminal)


def _reason(arguments: argparse.Namespace, parts: Parts, slug: str) -> str:
    if arguments.reason is not None:
        if not arguments.reason.strip():
            raise UsageError("the reason is empty", hint='write `--reason "..."`')
        return str(arguments.reason.strip())
    journal = parts.existing_journal()
    reason = redrafts.last_reason(journal, slug) if journal is not None else None
    if reason is None:
        raise UsageError(
            f"nobody sent `{slug}` back: it was not rejected, and no question of its run was"
            " answered with `revise`",
            hint='say what is wrong with it: `--reason "..."`',
        )
    if not reason:
        raise UsageError(
            f"`{slug}` was rejected without a reason",
            hint='say what is wrong with it: `--reason "..."`',
        )
    return reason


def _put(
    parts: Parts,
    present: redrafts.Present,
    proposal: drafts.Proposal,
    origin: redrafts.Origin,
    terminal: Terminal,
) -> ExitCode:
    file = present.file
    amendment = redrafts.put_in_place(
        parts.recorder(),
        present,
        proposal.plan,
        origin,
        files=parts.files,
        stillness=stillness(parts, file.slug),
    )
    what = f"revision {amendment.revision}" if amendment is not None else "drafted anew"
    data = write(proposal.plan)
    for line in difference(file.shown, present.data, data).splitlines():
        terminal.out(visible(line))
    found = verify(data, path=file.shown, surroundings=parts.surroundings())
    drafting.show_faults(found, proposal, terminal)
    terminal.out(f"{file.shown}: {what}, a draft again")
    if amendment is not None and amendment.kept:
        terminal.out(f"  stay settled: {visible(', '.join(amendment.kept))}")
    if not proposal.is_ready:
        terminal.problem("the draft is not ready: see above what is open", "mend it")
        return ExitCode.FAILED
    terminal.note(f"look at it and decide: `planbound approve {shlex.quote(file.slug)}`")
    return ExitCode.DONE


def _put_beside(
    parts: Parts, present: redrafts.Present, proposal: drafts.Proposal, terminal: Terminal
) -> ExitCode:
    """Write what cannot take the plan's place as a draft of its own: nothing paid for is lost."""
    slug = present.file.slug
    name = drafts.free_name(f"{slug}-redraft", parts.tree)
    file = drafts.write_draft(
        proposal, name, workspace=parts.tree, files=parts.files, folders=parts.real_files
    )
    note_created(parts, file, terminal, origin="draft")
    found = verify(write(proposal.plan), path=file.shown, surroundings=parts.surroundings())
    drafting.show_faults(found, proposal, terminal)
    terminal.out(f"wrote {file.shown}; {present.file.shown} stays as it was")
    terminal.problem(
        f"the draft cannot take the place of `{slug}`: see above what is open",
        f"mend it, then `planbound amend {shlex.quote(slug)} --with {shlex.quote(file.shown)}`"
        if present.settled
        else f"mend it, and put it in the place of {present.file.shown}",
    )
    return ExitCode.FAILED
