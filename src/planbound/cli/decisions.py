"""What can be said at the gate: `planbound reject`, `ask`, `decide`, and the dialogue `gate`."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from typing import assert_never

from planbound.approval.approve import (
    Shown,
    ask,
    reject,
)
from planbound.approval.decision import (
    Add,
    Approve,
    Ask,
    EditStep,
    Modification,
    Rejection,
    Skip,
    Unclear,
    read_changes,
    read_decision,
)
from planbound.approval.modify import TextChange, refuse_needed, say_change
from planbound.approval.remind import remind_waiting, still_waits
from planbound.approval.review import LineComment, send_review
from planbound.cells.processes import edit_text
from planbound.cli import gate_sheet
from planbound.cli.gate import Gate, configure_approval, configure_plan, configure_terms
from planbound.cli.named_plans import STANDARD_INPUT
from planbound.cli.person import configure_person, is_terminal, prompt
from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import (
    ConcurrentModification,
    ExitCode,
    FileProblem,
    Refused,
    UsageError,
)
from planbound.journal.words import Method
from planbound.plan.digest import digest
from planbound.plan.parse import MAX_BYTES
from planbound.plan.revise import step_text
from planbound.plan.skeleton import step_skeleton
from planbound.source import visible, visible_lines

# -- `planbound reject` --------------------------------------------------------------------------


class PlanRejected(JsonObject, frozen=True):
    plan: str
    rejected: bool
    by: str
    reason: str | None


def configure_reject(parser: argparse.ArgumentParser) -> None:
    configure_plan(parser)
    parser.add_argument("--reason", metavar="TEXT", help="why; asked for at a terminal")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_reject(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Refuse a plan: back to draft."""
    if arguments.reason is not None and not arguments.reason.strip():
        raise UsageError("the reason is empty", hint='write `--reason "..."`, or leave it out')
    return refuse(Gate(arguments, terminal), arguments.reason or "", terminal)


def refuse(before: Gate, reason: str, terminal: Terminal) -> ExitCode:
    """Record a refusal; who gives no reason is asked for one, and refuses all the same."""
    slug, by = before.slug, before.by
    why = reason.strip() or _asked()
    reject(before.candidate, by=by, reason=why)
    if before.given.json:
        terminal.json(PlanRejected(plan=slug, rejected=True, by=by, reason=why or None))
        return ExitCode.DONE
    terminal.out(f"rejected `{slug}`{f': {visible(why)}' if why else ''}")
    if why:
        terminal.note(
            f"change the plan, or let a model do it: `planbound redraft {shlex.quote(slug)}`"
        )
    else:
        terminal.note(
            f'why? `planbound reject {shlex.quote(slug)} --reason "..."` puts it on record, too'
        )
    return ExitCode.DONE


def _asked() -> str:
    if not is_terminal():
        return ""
    try:
        return prompt("why? ") or ""
    except KeyboardInterrupt:  # the no was said already
        return ""


# -- `planbound ask` -----------------------------------------------------------------------------


class QuestionPut(JsonObject, frozen=True):
    plan: str
    asked: str | None
    """The plan's owner; null where the plan names none."""
    by: str
    question: str


def configure_ask(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    configure_person(parser)
    parser.add_argument("question", metavar="QUESTION", help="what is not clear")
    parser.add_argument(
        "--line", type=int, metavar="N", help="the line of the plan that it is about"
    )
    parser.add_argument("--json", action="store_true", help="for programs")


def run_ask(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Ask the owner of a plan before deciding."""
    return question(Gate(arguments, terminal), arguments.question, terminal, arguments.line)


def question(before: Gate, text: str, terminal: Terminal, line: int | None = None) -> ExitCode:
    """Record a question, perhaps about one line; the plan waits."""
    if line is None:
        ask(before.candidate, by=before.by, question=text.strip())
    else:
        send_review(before.candidate, [LineComment(line, text)], by=before.by)
    owner = before.plan.frontmatter.owner
    if before.given.json:
        whom = owner.value if owner else None
        said = QuestionPut(plan=before.slug, asked=whom, by=before.by, question=text.strip())
        terminal.json(said)
        return ExitCode.DONE
    whom = visible(owner.value) if owner else "its owner"
    terminal.out(f"asked {whom} about `{before.slug}`: {visible(text.strip())}")
    return ExitCode.DONE


# -- `planbound gate` ----------------------------------------------------------------------------


_QUESTION = "approve, skip/remove/move/swap/reorder/edit/add ..., ask, reject, quit? "
_QUIT = frozenset({"quit", "q", "exit"})


def configure_gate(parser: argparse.ArgumentParser) -> None:
    configure_plan(parser)
    configure_terms(parser)


def run_gate(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show a plan, and do what is said about it until it is decided."""
    before = Gate(arguments, terminal)
    if not is_terminal():
        raise UsageError(
            "a dialogue needs a terminal",
            hint=f"without one: `planbound approve {shlex.quote(before.slug)}"
            " --digest PREFIX --as NAME`",
        )
    for slug in remind_waiting(before.context):
        terminal.note(f"note: {still_waits(slug)}")
    before.check()
    return _Dialogue(before, terminal).hold()


class _Dialogue:
    """Somebody and a plan, until one of them is through."""

    def __init__(self, before: Gate, terminal: Terminal) -> None:
        self.before = before
        self.terminal = terminal
        self.shown: Shown | None = None
        """What was shown last; None where the plan cannot be approved."""
        self.skipped: list[str] = []
        """The ids of steps: their numbers may change."""
        self.draft: tuple[EditStep | Add, str] | None = None
        """A text that was refused, so that nobody has to write it twice."""

    def hold(self) -> ExitCode:
        self._look()
        while True:
            said = prompt(_QUESTION)
            if said is None or said.lower() in _QUIT:
                self.terminal.note("nothing was approved")
                return ExitCode.WAITING
            try:
                code = self._answer(said)
            except (Refused, UsageError, FileProblem) as error:
                self.terminal.problem(error.message, error.hint)
                code = None
                if isinstance(error, ConcurrentModification):
                    self.before.candidate = self.before.candidate.read_again()
                    self._look()
            if code is not None:
                return code

    def _look(self) -> None:
        self.shown = None
        fault = self.before.fault()
        if fault is not None:
            self.terminal.problem(fault.message, fault.hint)
        else:
            self.shown = self.before.show(self._skipped_labels())

    def _labels(self) -> list[str]:
        return [step.label for step in self.before.plan.steps]

    def _skipped_labels(self) -> list[str]:
        return [step.label for step in self.before.plan.steps if step.id in self.skipped]

    def _answer(self, said: str) -> ExitCode | None:
        """Do what was said; return the exit code where that ends the dialogue."""
        word, _, rest = said.partition(" ")
        if word.lower() == "ask":
            return self._ask(rest)
        if changes := read_changes(said, self._labels()):
            self._change(changes)
        elif word:
            return self._decide(said)
        return None

    def _decide(self, said: str) -> ExitCode | None:
        decision = read_decision(said, self._labels())
        match decision:
            case Approve(()):
                return self._approve()
            case Approve():
                self._change(decision.modifications)
            case Rejection():
                return refuse(self.before, decision.reason, self.terminal)
            case Ask():
                return self._ask(decision.question)
            case Unclear():
                self.terminal.note(visible_lines(decision.question))
            case _:
                assert_never(decision)
        return None

    def _ask(self, text: str) -> ExitCode:
        question(self.before, text or prompt("what is not clear? ") or "", self.terminal)
        return ExitCode.WAITING

    def _approve(self) -> ExitCode:
        if self.shown is None:
            raise Refused("the plan has errors, so it cannot be approved", hint="`edit` the steps")
        if self.before.consent.method is not Method.TERMINAL:
            raise Refused(
                "only a signature approves here (`gate.signed`)",
                hint=f"`planbound approve {shlex.quote(self.before.slug)} --statement`"
                " prints what to sign",
            )
        self.before.refuse_missing(self.shown.sheet)
        if not self.before.types_digest(self.shown.sheet):
            raise Refused("nothing was approved")
        self.before.approve(self.shown, tuple(f"skip {label}" for label in self._skipped_labels()))
        return ExitCode.DONE

    def _change(self, modifications: Sequence[Modification]) -> None:
        """Do what was said, and show what came of it; nothing is approved by that."""
        plan = self.before.plan
        texts: list[TextChange] = [item for item in modifications if not isinstance(item, Skip)]
        named = [item.step for item in modifications if isinstance(item, Skip)]
        refuse_needed(plan, [*self._skipped_labels(), *named])
        if texts:
            self._rewrite(texts)
        self.skipped += [step.id for step in plan.steps if step.label in named]
        self._look()

    def _rewrite(self, changes: list[TextChange]) -> None:
        written = [change for change in changes if isinstance(change, EditStep | Add)]
        text = self._edited(written[0]) if len(written) == 1 else None
        try:
            self.before.change(changes, text)
        except Refused:
            if text is not None:
                self.draft = (written[0], text)
                self.terminal.note("note: the text is kept; say the same again to go on with it")
            raise
        self.draft = None

    def _edited(self, change: EditStep | Add) -> str:
        plan = self.before.plan
        if isinstance(change, EditStep):
            place = next(
                place for place, step in enumerate(plan.steps) if step.label == change.step
            )
            there = step_text(plan, place)
        else:
            there = step_skeleton(str(len(plan.steps) + 1))
        kept = self.draft[1] if self.draft is not None and self.draft[0] == change else there
        text = edit_text(kept)
        if text.strip() == there.strip():
            raise Refused("the text is as it was: nothing was changed")
        return text


# -- `planbound decide` --------------------------------------------------------------------------


class PlanChanged(JsonObject, frozen=True):
    """A change approves nothing: the plan has to be looked at again."""

    plan: str
    changes: list[str]
    digest: str
    """Of the plan as it is now."""
    approved: bool


class AskedBack(JsonObject, frozen=True):
    plan: str
    decided: bool
    asks: str
    """What was not understood, and what can be said."""


def configure_decide(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", metavar="PLAN", help="a name or a file")
    configure_person(parser)
    parser.add_argument("said", metavar="TEXT", help='such as "approved, but skip task 2"')
    parser.add_argument(
        "--with",
        dest="file",
        metavar="FILE",
        help="the text of the step that is edited or added; `-` is standard input",
    )
    configure_approval(parser)
    parser.add_argument("--json", action="store_true", help="for programs")


def run_decide(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Do what somebody says about a plan; what is not understood is asked back."""
    before = Gate(arguments, terminal)
    labels = [step.label for step in before.plan.steps]
    changes = read_changes(arguments.said, labels)
    # A change of the text approves nothing, so it needs no yes: the plan is shown again.
    if changes and not any(isinstance(change, Skip) for change in changes):
        return _approve(before, changes, arguments.file, terminal)
    decision = read_decision(arguments.said, labels)
    match decision:
        case Approve():
            return _approve(before, decision.modifications, arguments.file, terminal)
        case Rejection():
            return refuse(before, decision.reason, terminal)
        case Ask():
            return question(before, decision.question, terminal)
        case Unclear():
            if before.given.json:
                terminal.json(AskedBack(plan=before.slug, decided=False, asks=decision.question))
            terminal.note(f"not decided: {visible_lines(decision.question)}")
            return ExitCode.WAITING
        case _:
            assert_never(decision)


def _approve(
    before: Gate, modifications: tuple[Modification, ...], file: str | None, terminal: Terminal
) -> ExitCode:
    skipped = [item for item in modifications if isinstance(item, Skip)]
    changes: list[TextChange] = [item for item in modifications if not isinstance(item, Skip)]
    if file is not None and not any(isinstance(item, EditStep | Add) for item in changes):
        raise UsageError("`--with` is for a step that is edited or added")
    if changes:
        before.change(changes, _read(before, file))
        if before.given.json:
            said = [say_change(item) for item in changes]
            now = digest(before.plan)
            terminal.json(PlanChanged(plan=before.slug, changes=said, digest=now, approved=False))
        terminal.note(
            "the plan was changed and is not approved yet: look at it again with "
            f"`planbound approve {shlex.quote(before.slug)}`;"
            f" its digest is {digest(before.plan)[:12]}"
        )
        return ExitCode.WAITING
    labels = [item.step for item in skipped]
    refuse_needed(before.plan, labels)
    before.check()
    before.refuse_faulty()
    return before.decide(before.show(labels), tuple(say_change(item) for item in skipped))


def _read(before: Gate, file: str | None) -> str | None:
    if file is None:
        return None
    data = (
        sys.stdin.buffer.read(MAX_BYTES)
        if file == STANDARD_INPUT
        else before.context.reader.read(file)
    )
    return data.decode("utf-8", "surrogateescape")


SHAPES: dict[str, Shapes] = {
    "reject": {"": PlanRejected},
    "ask": {"": QuestionPut},
    "decide": {
        "approved": gate_sheet.ApprovalSheet,
        "rejected": PlanRejected,
        "a question": QuestionPut,
        "a change": PlanChanged,
        "anything else": AskedBack,
    },
}
