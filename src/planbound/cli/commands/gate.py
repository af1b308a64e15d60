"""`planbound gate`."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Sequence
from typing import assert_never

from planbound.cli.commands.ask import question
from planbound.cli.commands.reject import refuse
from planbound.cli.gate import Gate
from planbound.cli.gate_arguments import configure_plan, configure_terms, is_terminal, prompt
from planbound.cli.terminal import Terminal
from planbound.engine.gate.approval import Method
from planbound.engine.gate.decision import (
    Add,
    Approve,
    Ask,
    Edit,
    Modification,
    Reject,
    Skip,
    Unclear,
    read_changes,
    read_decision,
)
from planbound.errors import ConcurrentModification, ExitCode, FileProblem, Refused, UsageError
from planbound.plan.revise.step_text import step_text
from planbound.plan.skeleton import step_skeleton
from planbound.shell.editor import edit_text
from planbound.source.visible import visible
from planbound.usecases.gate import Sheet
from planbound.usecases.modify import TextChange, refuse_needed
from planbound.wiring.reminding import remind_waiting, still_waits

_QUESTION = "approve, skip/remove/move/swap/reorder/edit/add ..., ask, reject, quit? "
_QUIT = frozenset({"quit", "q", "exit"})


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    configure_plan(parser)
    configure_terms(parser)


def run(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show a plan, and do what is said about it until it is decided."""
    before = Gate(arguments, terminal)
    if not is_terminal():
        raise UsageError(
            "a dialogue needs a terminal",
            hint=f"without one: `planbound approve {shlex.quote(before.file.slug)}"
            " --digest PREFIX --as NAME`",
        )
    for slug in remind_waiting(before.parts):
        terminal.note(f"note: {still_waits(slug)}")
    before.check()
    return _Dialogue(before, terminal).hold()


class _Dialogue:
    """Somebody and a plan, until one of them is through."""

    def __init__(self, before: Gate, terminal: Terminal) -> None:
        self.before = before
        self.terminal = terminal
        self.sheet: Sheet | None = None
        """What was shown last; None where the plan cannot be approved."""
        self.skipped: list[str] = []
        """The ids of steps: their numbers may change."""
        self.draft: tuple[Edit | Add, str] | None = None
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
                    self.before.read_again()
                    self._look()
            if code is not None:
                return code

    def _look(self) -> None:
        self.sheet = None
        if self.before.is_sound():
            self.sheet = self.before.sheet(self._skipped_labels())

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
            case Reject():
                return refuse(self.before, decision.reason, self.terminal)
            case Ask():
                return self._ask(decision.question)
            case Unclear():
                self.terminal.note(visible(decision.question))
            case _:
                assert_never(decision)
        return None

    def _ask(self, text: str) -> ExitCode:
        question(self.before, text or prompt("what is not clear? ") or "", self.terminal)
        return ExitCode.WAITING

    def _approve(self) -> ExitCode:
        if self.sheet is None:
            raise Refused("the plan has errors, so it cannot be approved", hint="`edit` the steps")
        if self.before.method is not Method.TERMINAL:
            raise Refused(
                "only a signature approves here (`gate.signed`)",
                hint=f"`planbound approve {shlex.quote(self.before.file.slug)} --statement`"
                " prints what to sign",
            )
        self.before.refuse_missing(self.sheet)
        if not self.before.types_digest(self.sheet):
            raise Refused("that is not how the digest begins: nothing was approved")
        self.before.approve(tuple(f"skip {label}" for label in self._skipped_labels()))
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
        written = [change for change in changes if isinstance(change, Edit | Add)]
        text = self._edited(written[0]) if len(written) == 1 else None
        try:
            self.before.change(changes, text)
        except Refused:
            if text is not None:
                self.draft = (written[0], text)
                self.terminal.note("note: the text is kept; say the same again to go on with it")
            raise
        self.draft = None

    def _edited(self, change: Edit | Add) -> str:
        plan = self.before.plan
        if isinstance(change, Edit):
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
