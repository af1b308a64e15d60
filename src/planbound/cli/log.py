"""`planbound log`."""

from __future__ import annotations

import argparse
import re
import sys
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.journal.event import EventKind
from planbound.journal.record import GENESIS, Journal, Query, Record
from planbound.plan.limits import LimitError, parse_duration
from planbound.plan.slug import SlugError, parse_slug
from planbound.plan.vocabulary import nearest
from planbound.source import visible
from planbound.state.step import held
from planbound.workspace.context import Context

_DIGEST = re.compile(r"[0-9a-f]{64}")
_VERDICT = ("verdict", "reason", "number", "duration", "evidence", "isolation", "reused")
_BRIEF = {
    "CONTRACT_EVALUATED": _VERDICT,
    "BASELINE_OBSERVED": (*_VERDICT, "controls"),
    "GATE_APPROVED": (
        *("by", "method", "strength", "digest", "modifications", "seen", "missing_tools"),
        "expires",
    ),
    "EXECUTION_STARTED": (
        *("run", "resumed", "revision", "anyway", "holder", "motor", "jobs", "edited"),
    ),
    "TASK_STARTED": ("attempt", "agent", "baseline", "copy"),
    "ATTEMPT_ENDED": (
        *("attempt", "agent", "ending", "exit_code", "reason", "duration"),
        *("changed", "tokens", "dollars"),
    ),
    "TASK_COMPLETED": ("attempt", "result", "reason"),
    "FAILURE_DETECTED": ("attempt", "failed", "verdict", "error_message"),
    "FAILURE_CLASSIFIED": ("failure_type", "rule"),
    "RECOVERY_APPLIED": ("recipe_name", "retry", "of", "until", "reason"),
    "RECOVERY_OUTCOME": ("recipe_name", "outcome", "recovery"),
    "RECOVERY_ESCALATION": ("escalation", "kind", "user_decision", "by", "guidance", "reason"),
    "EXECUTION_PAUSED": ("reason",),
    "EXECUTION_COMPLETE": (
        *("status", "reason", "completed", "holds", "attested", "waived", "skipped", "failed"),
        *("postconditions", "recoveries", "tokens", "estimated", "dollars", "unmetered"),
        "duration",
    ),
}
"""What a line tells of events that know much more; `--json` has all of it."""


class JournalFault(JsonObject, frozen=True):
    """Something in the journal that is not as it was written."""

    seq: int
    kind: str
    message: str


class JournalCheck(JsonObject, frozen=True):
    sound: bool
    seq: int
    """Of the last event."""
    hash: str
    anchor: str
    """How the journal stands to the anchor, which is kept apart from it."""
    faults: list[JournalFault]


class JournalHead(JsonObject, frozen=True):
    seq: int
    hash: str
    project: str


class EventLine(JsonObject, frozen=True):
    """One event; [Events](events.md) says what the details of each kind are."""

    seq: int
    id: str
    plan: str
    plan_seq: int
    timestamp: str
    event: str
    task_id: str | None
    task_name: str | None
    version: int
    provenance: str
    details: dict[str, object]
    redactions: int
    prev: str
    hash: str


def configure_log(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "plan", nargs="?", metavar="PLAN", help="a plan's name (default: all plans)"
    )
    parser.add_argument("--task", metavar="T", help="a step's id or number")
    parser.add_argument(
        "--event", action="append", default=[], metavar="E", help="an event's name; may be repeated"
    )
    parser.add_argument("--since", metavar="T", help="a time, or how long ago: `2h`")
    parser.add_argument("--until", metavar="T", help="a time, or how long ago")
    parser.add_argument("--last", type=int, metavar="N", help="only the last N")
    parser.add_argument(
        "--not-passed", action="store_true", help="only what failed, was refused or is asked"
    )
    parser.add_argument("--follow", action="store_true", help="go on, and print what happens")
    parser.add_argument("--json", action="store_true", help="one event a line, for programs")
    parser.add_argument(
        "--verify", action="store_true", help="check the chain, and compare it with the anchor"
    )
    parser.add_argument("--anchor", action="store_true", help="print the head of the journal")


def run_log(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Show, follow or check the journal."""
    context = Context(workspace=arguments.workspace, state=arguments.state)
    journal = context.existing_journal()
    if arguments.verify:
        return _verify(context, journal, arguments, terminal)
    if arguments.anchor:
        return _anchor(context, journal, arguments, terminal)
    if journal is None:
        terminal.note(f"nothing has happened yet: there is no journal in {context.state.folder}")
        return ExitCode.DONE
    query = _query(arguments, context.now())
    for record in _records(journal, query, arguments):
        terminal.out(_json(record) if arguments.json else _text(record, terminal))
        if arguments.follow:
            sys.stdout.flush()
    return ExitCode.DONE


def _records(journal: Journal, query: Query, arguments: argparse.Namespace) -> Iterator[Record]:
    """Yield what was asked for; with `--follow` for ever."""
    if arguments.not_passed:
        yield from _short(journal, query, arguments)
    elif arguments.follow:
        from planbound.journal.log import follow  # noqa: PLC0415 - only to follow

        yield from follow(journal, query)
    else:
        yield from journal.read(query)


def _short(journal: Journal, query: Query, arguments: argparse.Namespace) -> Iterator[Record]:
    """Yield what is no pass; the last of it are counted after everything else is left out."""
    from planbound.journal.log import follow  # noqa: PLC0415 - only to follow
    from planbound.journal.shortfall import KINDS, falls_short  # noqa: PLC0415 - seldom

    kinds = tuple(kind for kind in KINDS if kind in query.events or not query.events)
    if not kinds:
        asked = ", ".join(f"`{kind.value}`" for kind in query.events)
        raise UsageError(f"{asked} never tells of anything that did not pass")
    head = journal.head().seq
    found = (each for each in journal.read(replace(query, events=kinds, last=None)))
    short = (each for each in found if each.seq <= head and falls_short(each))
    yield from short if query.last is None else deque(short, maxlen=query.last)
    if arguments.follow:
        further = follow(journal, replace(query, events=kinds, last=None, after=head))
        yield from (each for each in further if falls_short(each))


def _query(arguments: argparse.Namespace, now: str) -> Query:
    kinds = []
    for name in arguments.event:
        wanted = name.upper().replace("-", "_")
        if wanted not in EventKind.__members__:
            near = nearest(wanted, EventKind.__members__)
            raise UsageError(
                f"there is no event `{name}`", hint=f"did you mean `{near}`?" if near else None
            )
        kinds.append(EventKind[wanted])
    if arguments.last is not None and arguments.last < 0:
        raise UsageError(f"`--last` is {arguments.last}, expected 0 or more")
    plan = arguments.plan
    if plan is not None and plan not in {"PLAN", "PLAN.md"}:
        try:
            plan = parse_slug(plan)
        except SlugError as error:
            raise UsageError(f"not a plan's name: {error}") from error
    return Query(
        plan="PLAN" if plan == "PLAN.md" else plan,
        task=arguments.task,
        events=tuple(kinds),
        since=_time(arguments.since, now) if arguments.since else None,
        until=_time(arguments.until, now) if arguments.until else None,
        last=arguments.last,
    )


def _time(text: str, now: str) -> str:
    """Return a time as the journal writes it: from a duration, a date, or a time."""
    try:
        ago = timedelta(seconds=float(parse_duration(text)))
        moment = datetime.fromisoformat(now) - ago
    except LimitError:
        try:
            moment = datetime.fromisoformat(re.sub(r"(?i)z$", "+00:00", text.strip()))
        except ValueError as error:
            raise UsageError(
                f"`{text}` is not a time", hint="write `2h`, `2026-11-15` or `2026-11-15T09:00Z`"
            ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _json(record: Record) -> str:
    from planbound.journal.record import encode  # noqa: PLC0415 - only for who asks for it

    return encode(record)


def _text(record: Record, terminal: Terminal) -> str:
    draft = record.draft
    when = terminal.style(draft.timestamp[:19].replace("T", " ") + "Z", "dim")
    where = visible(draft.plan) or "-"
    if draft.task_id is not None:
        where += f"/{visible(draft.task_id)}"
    details = draft.details.json()
    told = _BRIEF.get(draft.kind.value, tuple(details))
    found = {name: details[name] for name in told if details.get(name) is not None}
    if found.get("result") == "holds":
        found["result"] = held(found.pop("reason", None))
    if "reused" in found:
        found["reused"] = f"from #{found['reused']}"
    shown = ", ".join(f"{name} {_brief(value)}" for name, value in found.items())
    line = f"{record.seq:>6}  {when}  {terminal.style(draft.kind.value, 'bold')}  {where}"
    return f"{line}  {terminal.style(visible(shown), 'dim')}" if shown else line


def _brief(value: object) -> str:
    if isinstance(value, (list, dict)):
        return f"({len(value)})"
    text = " ".join(str(value).split())
    if _DIGEST.fullmatch(text):
        return text[:12]
    return text if len(text) <= 60 else f"{text[:57]}..."


def _verify(
    context: Context, journal: Journal | None, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    from planbound.cli.progress import waiting  # noqa: PLC0415 - only to check
    from planbound.journal.log import check  # noqa: PLC0415 - only to check

    with waiting("checking", "the chain", quiet=arguments.json):
        checked = check(
            journal,
            context.anchors().read(),
            guarded=context.guards_stand,
            folder=context.state.folder,
        )
    if arguments.json:
        terminal.json(
            JournalCheck(
                sound=checked.sound,
                seq=checked.head.seq,
                hash=checked.head.hash,
                anchor=checked.anchor.value,
                faults=[
                    JournalFault(seq=fault.seq, kind=fault.kind.value, message=fault.message)
                    for fault in checked.faults
                ],
            )
        )
    else:
        for fault in checked.faults:
            terminal.out(f"{fault.seq:>6}  {fault.kind.value}: {visible(fault.message)}")
        state = checked.anchor.value
        noted = f" (noted at {checked.anchored.seq})" if checked.anchored else ""
        terminal.out(
            f"{checked.head.seq} events, "
            f"{'the chain is whole' if not checked.faults else f'{len(checked.faults)} faults'}, "
            f"the journal is {state}{noted}"
        )
    return ExitCode.DONE if checked.sound else ExitCode.FAILED


def _anchor(
    context: Context, journal: Journal | None, arguments: argparse.Namespace, terminal: Terminal
) -> ExitCode:
    head = journal.head() if journal else GENESIS
    if arguments.json:
        terminal.json(JournalHead(seq=head.seq, hash=head.hash, project=context.state.project))
    else:
        terminal.out(f"{head.seq} {head.hash}")
    return ExitCode.DONE


SHAPES: dict[str, Shapes] = {
    "log": {
        "a line each": EventLine,
        "--verify": JournalCheck,
        "--anchor": JournalHead,
    },
}
