"""What people decide: `planbound answer`, `waive`, `attest`, `amend`, `release`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Iterator

from planbound.approval.approve import FaultyText, amend
from planbound.approval.modify import Amendment
from planbound.cells.isolation import refuse_in_cell
from planbound.cli import verify as text
from planbound.cli.named_plans import mend, read_own_plan, read_plan
from planbound.cli.person import configure_person, the_person
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.status import note_next
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, FaultyPlan, UsageError
from planbound.journal.words import Choice, QuestionKind
from planbound.run import people as answers
from planbound.run.people import decided_state
from planbound.run.reply import ENDS, PersonsAnswer, reply
from planbound.session.people import Released, release_plan
from planbound.source import visible
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.overview import show

# -- `planbound answer` --------------------------------------------------------------------------


_CHOICES = [choice.value for choice in Choice]


class AnswerGiven(JsonObject, frozen=True):
    id: str
    """The question."""
    plan: str
    answer: str
    by: str


def configure_answer(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "id",
        metavar="ID",
        help="the question, as `planbound inbox` shows it; its plan, if that has only one",
    )
    parser.add_argument("choice", nargs="?", choices=_CHOICES, help="what to do")
    parser.add_argument("--guidance", metavar="TEXT", default="", help="for the next attempt")
    parser.add_argument("--budget", metavar="BUDGET", help="with `raise`: how much more")
    parser.add_argument("--text", metavar="TEXT", help="the answer to a question about a plan")
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_answer(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Answer a question that waits in the inbox."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    journal = context.existing_journal()
    if journal is None:
        raise UsageError("nothing waits for a person")
    question = answers.find_question(journal, arguments.id)
    who = the_person(arguments.by, context.root, arguments.state)
    given = PersonsAnswer(
        arguments.choice, arguments.guidance, arguments.budget or "", arguments.text or ""
    )
    said = reply(context, question, given, who)
    if arguments.json:
        terminal.json(AnswerGiven(id=question.id, plan=question.plan, answer=said, by=who.name))
        return ExitCode.DONE
    terminal.out(f"{question.id}: {said}, by {who.name}")
    note_after(context, question, said, terminal)
    return ExitCode.DONE


def note_after(context: Context, question: Question, said: str, terminal: Terminal) -> None:
    """Say how it goes on after an answer."""
    if question.kind is not QuestionKind.CLARIFICATION and said not in ENDS:
        note_next(context, question.plan, terminal)
    elif said == Choice.REVISE.value:
        terminal.note(
            f"change the plan, then `planbound amend {shlex.quote(question.plan)}`;"
            f" or let a model do both: `planbound redraft {shlex.quote(question.plan)}`"
        )


# -- `planbound waive` ---------------------------------------------------------------------------


class WaiverGiven(JsonObject, frozen=True):
    plan: str
    waived: str
    """The step or condition, in words."""
    by: str


def configure_waive(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    parser.add_argument("subject", metavar="STEP", help="its number, or `postcondition:2`")
    parser.add_argument("--reason", metavar="TEXT", required=True, help="why")
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_waive(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Go on without a pass: a person's decision, on record for ever."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, context)
    if not arguments.reason.strip():
        raise UsageError("the reason is empty", hint="say why it goes on without a pass")
    who = the_person(arguments.by, context.root, arguments.state)
    state = decided_state(context, file, data)
    said = answers.waive(
        context.recorder(), file.slug, state, arguments.subject, arguments.reason, who
    )
    if arguments.json:
        terminal.json(WaiverGiven(plan=file.slug, waived=said, by=who.name))
    else:
        terminal.out(f"{said} of `{file.slug}` waived by {who.name}")
        note_next(context, file.slug, terminal)
    return ExitCode.DONE


# -- `planbound attest` --------------------------------------------------------------------------


class AttestationGiven(JsonObject, frozen=True):
    plan: str
    statement: str
    by: str


def configure_attest(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    parser.add_argument("subject", metavar="STEP", help="its number, or `postcondition:2`")
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_attest(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Sign a statement with one's name."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_own_plan(arguments.plan, context)
    who = the_person(arguments.by, context.root, arguments.state)
    state = decided_state(context, file, data)
    statement = answers.attest(context.recorder(), file.slug, state, arguments.subject, who)
    if arguments.json:
        terminal.json(AttestationGiven(plan=file.slug, statement=statement, by=who.name))
    else:
        terminal.out(f"attested by {who.name}: {visible(statement)}")
        note_next(context, file.slug, terminal)
    return ExitCode.DONE


# -- `planbound amend` ---------------------------------------------------------------------------


class AmendmentMade(JsonObject, frozen=True):
    """What the new revision keeps and changes: the ids of steps."""

    slug: str
    revision: int
    kept: list[str]
    """These stay settled."""
    added: list[str]
    dropped: list[str]
    changed: list[str]


def configure_amend(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument("--with", dest="wanted", metavar="FILE", help="the new text of the plan")
    parser.add_argument("--reason", metavar="TEXT", default="", help="why")
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_amend(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take a plan that was changed while its run was under way as its next revision."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, data = read_plan(arguments.plan, context)
    context.demand_own(file)
    who = the_person(arguments.by, context.root, arguments.state)
    wanted = context.reader.read(arguments.wanted) if arguments.wanted else data
    try:
        amendment = amend(context, file, (data, wanted), by=who.name, reason=arguments.reason)
    except FaultyText as fault:
        tell = terminal.note if arguments.json else terminal.out
        for item in fault.errors:
            for line in text.render_text(fault.found.plan.source, item, terminal):
                tell(line)
        hint = mend(arguments.wanted or file.slug, json=arguments.json)
        raise FaultyPlan(fault.message, hint=hint) from fault
    _say(arguments, terminal, file.slug, amendment)
    return ExitCode.DONE


def _say(
    arguments: argparse.Namespace, terminal: Terminal, slug: str, amendment: Amendment
) -> None:
    if arguments.json:
        told = {name: value for name, value in amendment._asdict().items() if name != "revision"}
        steps = {name: list(value) for name, value in told.items()}
        terminal.json(AmendmentMade(slug=slug, revision=amendment.revision, **steps))
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


# -- `planbound release` -------------------------------------------------------------------------


class ReleaseMade(JsonObject, frozen=True):
    plan: str
    released: bool
    by: str
    session: bool
    """Whether an agent owed something to it."""
    holder: str | None
    """Who has lost its lease."""


def configure_release(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a name or a file")
    parser.add_argument(
        "--reason", metavar="TEXT", help="why; required where an agent works by itself"
    )
    configure_person(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_release(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Take a plan from whoever works on it: a person's decision; nothing is done by it."""
    refuse_in_cell()
    context = Context(workspace=arguments.workspace, state=arguments.state)
    file, _ = read_own_plan(arguments.plan, context)
    reason = None if arguments.reason is None else arguments.reason.strip()
    if reason == "":
        raise UsageError("the reason is empty", hint="say why it is taken away")
    who = the_person(arguments.by, context.root, arguments.state)
    released = release_plan(context, file, who, reason)
    show(context, file)
    if arguments.json:
        terminal.json(_release(file.slug, who.name, released))
    else:
        for what in _told(released):
            terminal.out(f"`{file.slug}` released by {visible(who.name)}: {what}")
    return ExitCode.DONE


def _release(slug: str, name: str, released: Released) -> ReleaseMade:
    lease = released.lease
    holder = None if lease is None else lease.claim.holder
    return ReleaseMade(plan=slug, released=True, by=name, session=released.session, holder=holder)


def _told(released: Released) -> Iterator[str]:
    lease = released.lease
    if lease is not None:
        yield f"{visible(lease.claim.holder)} has lost its lease and writes nothing more"
    if released.session:
        yield "no agent owes anything to it"


SHAPES: dict[str, Shapes] = {
    "answer": {"": AnswerGiven},
    "waive": {"": WaiverGiven},
    "attest": {"": AttestationGiven},
    "amend": {"": AmendmentMade},
    "release": {"": ReleaseMade},
}
