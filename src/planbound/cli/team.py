"""What all plans do: `planbound claims`, `ready`, `merge-order`, `queue-status`, `standup`."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, PlanboundError
from planbound.journal.leases import Held
from planbound.source import visible
from planbound.team.merge import describe_cycle
from planbound.team.standup import Queue, Standup, find_standup, queue_status
from planbound.workspace.context import Context
from planbound.workspace.overview import look_at_all, overview, ready

# -- `planbound claims` --------------------------------------------------------------------------


class ClaimHeld(JsonObject, frozen=True):
    """A plan that somebody works on."""

    plan: str
    holder: str
    worktree: str
    touches: list[str] | None
    """What nobody else may touch meanwhile; null where nobody knows."""
    number: int
    """Of the lease: each holder has a higher one."""
    expires_in: float
    """Seconds until it ends, unless it is renewed."""
    expired: bool


class Claims(JsonObject, frozen=True):
    claims: list[ClaimHeld]


def configure_claims(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_claims(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say who works on which plan, and what nobody else may touch meanwhile."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    found = context.leases().held() if context.existing_journal() is not None else ()
    if arguments.json:
        terminal.json(Claims(claims=[_claim(held) for held in found]))
        return ExitCode.DONE
    if not found:
        terminal.out("nobody works on anything")
    for held in found:
        for line in _lines(held, terminal):
            terminal.out(line)
    return ExitCode.DONE


def _claim(held: Held) -> ClaimHeld:
    claim = held.claim
    return ClaimHeld(
        plan=claim.plan,
        holder=claim.holder,
        worktree=claim.worktree,
        touches=None if claim.touches is None else list(claim.touches),
        number=held.number,
        expires_in=round(held.expires_in, 1),
        expired=held.expired,
    )


def _lines(held: Held, terminal: Terminal) -> Iterator[str]:
    claim = held.claim
    name = terminal.style(visible(claim.plan), "bold")
    yield f"{name}  {visible(claim.holder)}, lease {held.number}, {_claim_time(held)}"
    yield f"  worktree {visible(claim.worktree)}"
    if claim.touches is None:
        yield "  touches nobody knows what"
    else:
        yield f"  touches {visible(', '.join(claim.touches)) or 'nothing'}"


def _claim_time(held: Held) -> str:
    if not held.expired:
        return f"{held.expires_in:.0f} s left unless it is renewed"
    why = "its holder is dead" if held.expires_in else "its time is up"
    return f"expired: {why}; anybody may take it over"


# -- `planbound ready` ---------------------------------------------------------------------------


class HeldPlan(JsonObject, frozen=True):
    """A plan that is not to be begun now."""

    slug: str
    reason: str


class ReadyPlans(JsonObject, frozen=True):
    ready: list[str]
    safe_together: list[str]
    """Those of them that can be run at the same time."""
    held_back: list[HeldPlan]
    degrade_warnings: list[str]
    """What could not be found out."""


def configure_ready(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_ready(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say which plans may begin now."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    require = context.configuration.gate.require
    found = ready(look_at_all(context), require)
    if arguments.json:
        terminal.json(
            ReadyPlans(
                ready=list(found.ready),
                safe_together=list(found.safe_together),
                held_back=[HeldPlan(*held) for held in found.held_back],
                degrade_warnings=list(found.warnings),
            )
        )
        return ExitCode.DONE
    for warning in found.warnings:
        terminal.note(f"warning: {visible(warning)}")
    safe = frozenset(found.safe_together)
    undecided = dict(found.undecided)
    for slug in found.safe_together:
        when = f", but {visible(undecided[slug])}" if slug in undecided else " now"
        terminal.out(f"{terminal.style(visible(slug), 'bold')}  safe to begin{when}")
    ready_slugs = frozenset(found.ready)
    for held in found.held_back:
        state = "ready, held back" if held.slug in ready_slugs else "held back"
        name = terminal.style(visible(held.slug), "bold")
        terminal.out(f"{name}  {state}: {visible(held.reason)}")
    if not safe and not found.held_back:
        terminal.note(f"no plan waits to begin in {visible(context.root)}/.harness")
    return ExitCode.DONE


# -- `planbound merge-order` ---------------------------------------------------------------------


class MergeTurn(JsonObject, frozen=True):
    """One plan's place in the order."""

    slug: str
    level: int
    """The longest chain of plans that come before it."""
    size: int | None
    """How many lines it changes; null where that is not known."""
    reason: str


class MergeTurns(JsonObject, frozen=True):
    order: list[MergeTurn]
    cycle: list[str]
    """Plans that wait for each other; the exit code is 1 then."""
    degrade_warnings: list[str]


def configure_merge_order(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_merge_order(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say in which order to merge the finished plans."""
    from planbound.team.target import merge_order_now  # noqa: PLC0415 - needs git

    context = Context(workspace=arguments.workspace, state=arguments.state)
    order, warnings = merge_order_now(context)
    if arguments.json:
        terminal.json(
            MergeTurns(
                order=[MergeTurn(*turn) for turn in order.turns],
                cycle=list(order.cycle),
                degrade_warnings=list(warnings),
            )
        )
    else:
        for warning in warnings:
            terminal.note(f"warning: {visible(warning)}")
        for number, turn in enumerate(order.turns, start=1):
            name = terminal.style(visible(turn.slug), "bold")
            terminal.out(f"{number}. {name}  {visible(turn.reason)}")
    if order.cycle:
        terminal.problem(
            visible(describe_cycle(order.cycle)), "take one of them out of a `depends_on`"
        )
        return ExitCode.FAILED
    if not order.turns and not arguments.json:
        terminal.note(f"no finished plan in {visible(context.root)}/.harness")
    return ExitCode.DONE


# -- `planbound queue-status` --------------------------------------------------------------------


class QueuedPlan(JsonObject, frozen=True):
    """One plan of the queue."""

    slug: str
    status: str
    """[Where it is](language.md#status), or `empty`, `staged` (queued), `unreadable`."""
    progress: str
    """The last line of its progress file."""


class QueueNow(JsonObject, frozen=True):
    plans: list[QueuedPlan]
    degrade_warnings: list[str]


def configure_queue_status(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_queue_status(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Print one line for each plan; whatever is broken, the exit code is 0."""
    try:
        context = Context(workspace=arguments.workspace, state=arguments.state)
        seen = overview(context.tree, context.files, context.existing_journal)
        queue = queue_status(seen, context.tree)
    except PlanboundError as error:
        queue = Queue((), (error.message,))
    if arguments.json:
        terminal.json(
            QueueNow(
                plans=[
                    QueuedPlan(slug, status.value, progress)
                    for slug, status, progress in queue.lines
                ],
                degrade_warnings=list(queue.warnings),
            )
        )
        return ExitCode.DONE
    for warning in queue.warnings:
        terminal.note(f"warning: {visible(warning)}")
    for line in queue.lines:
        terminal.out(f"{visible(line.slug)} [{line.status.value}] {line.progress}".rstrip())
    return ExitCode.DONE


# -- `planbound standup` -------------------------------------------------------------------------


_TITLES = {
    "building": "building",
    "mergeable": "mergeable",
    "idle": "idle",
    "waiting": "waiting for a person",
}


class StandupPlan(JsonObject, frozen=True):
    """Where one plan stands, and why it is told so."""

    slug: str
    status: str
    """[Where it is](language.md#status), or `empty`."""
    about: str


class StandupNow(JsonObject, frozen=True):
    building: list[StandupPlan]
    mergeable: list[StandupPlan]
    idle: list[StandupPlan]
    """Nobody works at it: not begun, nothing happened for long, or put down."""
    waiting: list[StandupPlan]
    """For a person."""
    degrade_warnings: list[str]


def configure_standup(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="for programs")


def run_standup(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Say where each plan stands that is not put away."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    require = context.configuration.gate.require
    found, warnings = find_standup(look_at_all(context), context.now(), require)
    groups = dict(zip(Standup._fields, found, strict=True))
    if arguments.json:
        told = {
            name: [StandupPlan(each.slug, each.status.value, each.about) for each in group]
            for name, group in groups.items()
        }
        terminal.json(StandupNow(**told, degrade_warnings=list(warnings)))
        return ExitCode.DONE
    for warning in warnings:
        terminal.note(f"warning: {visible(warning)}")
    for name, group in groups.items():
        terminal.out(terminal.style(f"{_TITLES[name]} ({len(group)})", "bold"))
        for line in group:
            about = f"[{line.status.value}] {visible(line.about)}"
            terminal.out(f"  {visible(line.slug)}  {about}")
    return ExitCode.DONE


SHAPES: dict[str, Shapes] = {
    "claims": {"": Claims},
    "ready": {"": ReadyPlans},
    "merge-order": {"": MergeTurns},
    "queue-status": {"": QueueNow},
    "standup": {"": StandupNow},
}
