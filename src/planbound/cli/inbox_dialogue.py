"""`planbound inbox --next`: one question after the other, with its evidence, until all is said."""

from __future__ import annotations

import argparse
import shlex
from typing import NamedTuple

from planbound.cli.evidence import evidence_lines, evidence_of
from planbound.cli.named_plans import read_own_plan, read_plan
from planbound.cli.people import note_after
from planbound.cli.person import is_terminal, prompt, question_lines, subject_asked, the_person
from planbound.cli.status import note_next
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, NothingToDo, PlanboundError, UsageError
from planbound.journal.record import Journal
from planbound.journal.words import Choice, QuestionKind
from planbound.run import people as answers
from planbound.run.people import decided_state, find_question, questions
from planbound.run.reply import PersonsAnswer, reply
from planbound.session.people import release_plan
from planbound.source import visible
from planbound.state.question import Question
from planbound.workspace.context import Context
from planbound.workspace.overview import show


class AnswerWay(NamedTuple):
    """Something that can be said to a question."""

    word: str
    meaning: str


_LATER = (
    AnswerWay("later", "leave it open, and see the next question"),
    AnswerWay("quit", "leave everything open that is open"),
)
_QUIT = frozenset({"quit", "q", "exit"})
_NEXT = frozenset({"later", "next", "n"})
_BY_CHOICE = {
    Choice.RETRY: "let it be tried again, with a word for the next attempt",
    Choice.SKIP: "leave the step out: a decision, on record",
    Choice.ABORT: "end the run as failed",
    Choice.REVISE: "send the plan back to be changed",
    Choice.RAISE: "allow it to use more",
}
_BY_KIND = {
    QuestionKind.APPROVAL: AnswerWay("gate", "see what would run, and decide about the plan"),
    QuestionKind.CLARIFICATION: AnswerWay("answer", "answer what was asked about the plan"),
    QuestionKind.INCOMPLETE: AnswerWay(
        "release", "let its agent go; what is not done stays undone"
    ),
    QuestionKind.INTEGRATION: AnswerWay(
        "integrate", "try to merge it again, once the cause is removed"
    ),
    QuestionKind.ATTESTATION: AnswerWay("attest", "put your name to the statement"),
}
_WAIVABLE = frozenset(
    {
        QuestionKind.FAILURE,
        QuestionKind.PERMISSION,
        QuestionKind.REGRESSION,
        QuestionKind.CONDITION,
        QuestionKind.ATTESTATION,
    }
)


def ways_of(question: Question) -> tuple[AnswerWay, ...]:
    """Return what can be said to a question, what settles it first."""
    ways = [_BY_KIND[question.kind]] if question.kind in _BY_KIND else []
    ways += [AnswerWay(choice.value, _BY_CHOICE[choice]) for choice in question.choices]
    if question.kind in _WAIVABLE and question.number is not None:
        ways.append(AnswerWay("waive", "go on without a pass; it is shown as waived for ever"))
    return (*ways, *_LATER)


def refuse_without_terminal() -> None:
    """Refuse to hold a dialogue where nobody can be asked."""
    if not is_terminal():
        raise UsageError(
            "a dialogue needs a terminal",
            hint="without one: `planbound inbox`, then `planbound answer ID ...`",
        )


class InboxDialogue:
    """Somebody at a terminal, and what waits for a person."""

    def __init__(
        self, context: Context, journal: Journal, arguments: argparse.Namespace, terminal: Terminal
    ) -> None:
        self.context = context
        self.journal = journal
        self.arguments = arguments
        self.terminal = terminal
        self.who = the_person(arguments.by, context.root, arguments.state)
        named = arguments.id
        self.only = None if named is None else find_question(journal, named).id
        self.seen: set[str] = set()
        """What was left for later."""

    def hold(self) -> ExitCode:
        """Ask until nothing waits that was not left for later; say whether something does."""
        waiting = self._waiting()
        if not waiting:
            self.terminal.out("nothing waits for a person")
        while fresh := [each for each in waiting if each.id not in self.seen]:
            left = f", {len(fresh) - 1} after it" if len(fresh) > 1 else ""
            self._show(fresh[0], left)
            if not self._ask(fresh[0]):
                break
            waiting = self._waiting()
        open_now = self._waiting()
        if open_now:
            count = len(open_now)
            self.terminal.note(f"{count} {'waits' if count == 1 else 'wait'}: `planbound inbox`")
        return ExitCode.WAITING if open_now else ExitCode.DONE

    def _waiting(self) -> list[Question]:
        if self.only is None:
            return questions(self.journal, self.arguments.plan)
        return [each for each in questions(self.journal) if each.id == self.only]

    def _show(self, question: Question, left: str) -> None:
        style, out = self.terminal.style, self.terminal.out
        out()
        first = next(question_lines(question))
        name, _, rest = first.partition("  ")
        out(f"{style(name, 'bold')}  {rest}")
        out(f"  since {question.since[:19]}Z, {question.kind.value}{left}")
        for line in evidence_lines(evidence_of(self.context, self.journal, question)):
            out(line)
        if question.leaves_out:
            out(f"  `skip` leaves out {', '.join(question.leaves_out)}, too: they depend on it")
        ways = ways_of(question)
        width = max(len(way.word) for way in ways)
        for way in ways:
            out(f"  {style(f'{way.word:{width}}', 'bold')}  {way.meaning}")

    def _ask(self, question: Question) -> bool:
        """Ask until it is settled or left; say whether the next one is to be shown."""
        words = [way.word for way in ways_of(question)]
        while True:
            typed = prompt(f"{', '.join(words)}? ")
            if typed is None or typed.lower() in _QUIT:
                return False
            word, _, rest = typed.partition(" ")
            word, rest = word.rstrip(":,.;").lower(), rest.strip(" :,")
            if word in _NEXT:
                self.seen.add(question.id)
                return True
            if word not in words:
                if word:
                    told = f"`{visible(word)}` is not an answer here: {', '.join(words)}"
                    self.terminal.note(told)
                continue
            try:
                if self._decide(question, word, rest):
                    return True
            except NothingToDo as error:  # somebody was faster, by another way
                self.terminal.note(visible(error.message))
                self.seen.add(question.id)
                return True
            except PlanboundError as error:
                self.terminal.problem(visible(error.message), error.hint)

    def _decide(self, question: Question, word: str, rest: str) -> bool:
        """Do what was said; say whether the question is through."""
        match word:
            case "gate":
                return self._gate(question)
            case "integrate":
                return self._integrate(question)
            case "release":
                return self._release(question, rest)
            case "attest":
                return self._attest(question)
            case "waive":
                return self._waive(question, rest)
            case _:
                return self._answer(question, word, rest)

    def _answer(self, question: Question, word: str, rest: str) -> bool:
        said = PersonsAnswer(word)
        if word == "answer":
            text = rest or prompt("your answer: ") or ""
            if not text:
                self.terminal.note("nothing was answered")
                return False
            said = PersonsAnswer(text=text)
        elif word == Choice.RAISE.value:
            more = rest or prompt("how much more? (100k tokens, $2, 1h) ") or ""
            said = PersonsAnswer(word, budget=more)
        elif word == Choice.RETRY.value and question.task_id is not None:
            guidance = rest or prompt("what should the next attempt know? (enter: nothing) ")
            if guidance is None:
                return False
            said = PersonsAnswer(word, guidance=guidance)
        elif rest:
            said = PersonsAnswer(word, guidance=rest)
        done = reply(self.context, question, said, self.who)
        self.terminal.out(f"{question.id}: {done}, by {visible(self.who.name)}")
        note_after(self.context, question, done, self.terminal)
        return True

    def _attest(self, question: Question) -> bool:
        file, data = read_own_plan(question.plan, self.context)
        state = decided_state(self.context, file, data)
        subject = subject_asked(question)
        statement = answers.attest(self.context.recorder(), file.slug, state, subject, self.who)
        self.terminal.out(f"attested by {visible(self.who.name)}: {visible(statement)}")
        note_next(self.context, file.slug, self.terminal)
        return True

    def _waive(self, question: Question, rest: str) -> bool:
        reason = rest or prompt("why does it go on without a pass? ") or ""
        if not reason.strip():
            self.terminal.note("nothing was waived: a waiver needs a reason")
            return False
        if prompt(f"on record for ever: “{visible(reason)}”; waive it? (yes/no) ") != "yes":
            self.terminal.note("nothing was waived")
            return False
        file, data = read_own_plan(question.plan, self.context)
        state = decided_state(self.context, file, data)
        subject = subject_asked(question)
        recorder = self.context.recorder()
        said = answers.waive(recorder, file.slug, state, subject, reason.strip(), self.who)
        self.terminal.out(f"{said} of `{file.slug}` waived by {visible(self.who.name)}")
        note_next(self.context, file.slug, self.terminal)
        return True

    def _release(self, question: Question, rest: str) -> bool:
        reason = rest or prompt("why is it taken away? ") or ""
        if not reason.strip():
            self.terminal.note("nothing was released: that needs a reason")
            return False
        file, _ = read_own_plan(question.plan, self.context)
        release_plan(self.context, file, self.who, reason.strip())
        show(self.context, file)
        self.terminal.out(f"`{file.slug}` released by {visible(self.who.name)}")
        return True

    def _gate(self, question: Question) -> bool:
        """Hold the dialogue of the gate about its plan."""
        from planbound.cli.decisions import run_gate  # noqa: PLC0415 - it loads what judges

        read_plan(question.plan, self.context)  # refused here, it is asked again
        given = self._arguments(plan=question.plan, by=self.arguments.by)
        code = run_gate(given, self.terminal)
        if code is ExitCode.WAITING:
            self.seen.add(question.id)
        return True

    def _integrate(self, question: Question) -> bool:
        from planbound.cli.worktrees import run_integrate  # noqa: PLC0415 - needs git

        wanted = {"plans": [question.plan], "into": None, "json": False}
        given = self._arguments(**wanted, dry_run=False, resolve=False)
        if run_integrate(given, self.terminal) is not ExitCode.DONE:
            self.terminal.note(f"look at it: `planbound inbox {shlex.quote(question.id)}`")
            self.seen.add(question.id)
        return True

    def _arguments(self, **given: object) -> argparse.Namespace:
        workspace, state = self.arguments.workspace, self.arguments.state
        return argparse.Namespace(workspace=workspace, state=state, **given)
