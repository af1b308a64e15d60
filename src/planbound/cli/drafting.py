"""What the commands share that talk with a model about a plan."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager

from planbound.cli.reports import text
from planbound.cli.terminal import Terminal
from planbound.engine.prompt import Context
from planbound.errors import Refused, UsageError
from planbound.ports.drafter import Drafter
from planbound.source.visible import visible
from planbound.usecases.draft import Desk, Proposal
from planbound.usecases.verify import Verified
from planbound.wiring.parts import Parts
from planbound.wiring.proposing import open_repository, open_trial

PLANNER, REVIEWER = "planner", "reviewer"
"""The roles of who is asked for plans, and for comments."""
LONGEST_GOAL = 50_000
LONGEST_FILE = 100_000
"""Bytes of a file that is given to a model whole."""
_PASTE = "or paste what `planbound draft --print-prompt GOAL` prints into any agent"


def cleaner(parts: Parts) -> Callable[[str], str]:
    """Return what takes secrets out of what is sent, shown or written."""
    return lambda said: parts.redactor.redact(said).text


def roles(parts: Parts) -> frozenset[str]:
    """Return who steps can be given to: not to who writes plans, where there is anybody else."""
    known = parts.configuration.roles
    return known - {PLANNER} or known


@contextmanager
def drafter_for(
    parts: Parts, role: str, terminal: Terminal, *, paste: bool = False
) -> Iterator[Drafter]:
    """Open a conversation; where nobody is configured for it, say what else can be done."""
    from planbound.wiring.drafting import open_drafter  # noqa: PLC0415 - agents cost a start

    clean = cleaner(parts)
    with ExitStack() as stack:
        try:
            opened = open_drafter(parts, role, lambda said: terminal.note(visible(clean(said))))
            drafter = stack.enter_context(opened)
        except Refused as refusal:
            if not paste:
                raise
            hint = f"{refusal.hint}; {_PASTE}" if refusal.hint else _PASTE
            raise Refused(refusal.message, hint=hint) from refusal
        yield drafter


def make_desk(parts: Parts, drafter: Drafter, terminal: Terminal, *, tries: bool = True) -> Desk:
    """Return everything that drafting needs."""
    trial = None
    if tries:
        trial, reason = open_trial(parts)
        if trial is None:
            terminal.note(f"note: contracts are not tried before any work: {visible(reason)}")
    return Desk(
        drafter=drafter,
        surroundings=parts.surroundings(),
        repository=open_repository(parts),
        clean=cleaner(parts),
        tell=lambda said: terminal.note(visible(said)),
        trial=trial,
    )


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
            hint="say it shortly, and give the rest with `--context FILE`",
        )
    return given.strip()


def read_context(path: str, parts: Parts, clean: Callable[[str], str]) -> Context:
    """Return a file that is given whole, without its secrets."""
    data = parts.reader.read(path)
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
    return Context(visible(path), clean(said))


def read_contexts(
    paths: Sequence[str], parts: Parts, clean: Callable[[str], str]
) -> tuple[Context, ...]:
    """Return the files that are given whole, each once."""
    return tuple(read_context(path, parts, clean) for path in dict.fromkeys(paths))


def show_faults(found: Verified, proposal: Proposal, terminal: Terminal) -> None:
    """Show what is open: diagnostics on standard output, what else there is to know beside it."""
    for item in found.diagnostics:
        for line in text.render(found.plan.source, item, terminal):
            terminal.out(line)
        terminal.out()
    for remark in proposal.remarks:
        terminal.note(f"{remark.weight.value}: {visible(remark.text)}")
    if proposal.redactions:
        terminal.note("note: what looked like a secret was taken out of the plan")
