"""`planbound amend`."""

from __future__ import annotations

import argparse
import shlex

from planbound.cli import person
from planbound.cli.inputs import read_plan
from planbound.cli.reports import text
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, Refused
from planbound.plan.digest import digest
from planbound.plan.model import PlanStatus
from planbound.plan.parse import parse
from planbound.source.visible import visible
from planbound.usecases import amend as amending
from planbound.usecases.gate import last_text, show_status
from planbound.usecases.verify import verify
from planbound.wiring.judging import refuse_in_cell, vault
from planbound.wiring.parts import Parts
from planbound.wiring.people import stillness


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--with", dest="wanted", metavar="FILE", help="the new text of the plan")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why")
    person.configure(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take a plan that was changed while its run was under way as its next revision."""
    refuse_in_cell()
    parts = Parts(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, parts)
    parts.demand_own(file)
    who = person.the_person(arguments.by)
    journal = parts.existing_journal()
    before = last_text(journal, vault(parts), file.slug) if journal is not None else None
    if before is None:
        raise Refused(f"`{file.slug}` was never approved", hint="change it, then approve it")
    wanted = parts.reader.read(arguments.wanted) if arguments.wanted else data
    found = verify(wanted, path=file.shown, surroundings=parts.surroundings())
    if found.errors:
        for item in found.diagnostics:
            for line in text.render(found.plan.source, item, terminal):
                terminal.out(line)
        terminal.problem("the plan has errors, so it cannot be amended", "mend them")
        return ExitCode.FAILED
    plans = (parse(before, path="approved"), found.plan)
    if digest(plans[0]) == digest(plans[1]):
        raise NothingToDo(f"`{file.slug}` is as it was approved")
    parts.real_files.refuse_unwritable(file.path)
    recorder = parts.recorder()
    with stillness(parts, file.slug):
        amendment = amending.examine(recorder, file.slug, *plans)
        if wanted != data:
            parts.files.replace(file.path, wanted, expected=data)
        amending.amend(recorder, file.slug, plans, amendment, by=who.name, reason=arguments.reason)
    show_status(parts.files, file, wanted, found.plan, PlanStatus.DRAFT)
    _say(arguments, terminal, file.slug, amendment)
    return ExitCode.DONE


def _say(
    arguments: argparse.Namespace, terminal: Terminal, slug: str, amendment: amending.Amendment
) -> None:
    if arguments.json:
        terminal.json({"slug": slug, **amendment._asdict()})
        return
    terminal.out(f"`{slug}` is revision {amendment.revision}, a draft again")
    for name, ids in (
        ("stay settled", amendment.kept),
        ("added", amendment.added),
        ("changed", amendment.changed),
        ("dropped", amendment.dropped),
    ):
        if ids:
            terminal.out(f"  {name}: {visible(', '.join(ids))}")
    terminal.note(f"look at it and decide: `planbound approve {shlex.quote(slug)}`")
