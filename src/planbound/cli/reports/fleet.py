"""A fleet as a table that is drawn anew, and as lines that stay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence

from planbound.cli.reports.progress import spoken
from planbound.engine.judging.proof import tally
from planbound.engine.team.row import Row, State
from planbound.source.visible import visible

Paint = Callable[[str, str], str]
"""Returns a text in a style, such as `green`."""

_STYLES = {
    State.STARTING: "cyan",
    State.RUNNING: "cyan",
    State.DONE: "green",
    State.ASKING: "yellow",
    State.FAILED: "red",
    State.REFUSED: "red",
    State.INTERRUPTED: "yellow",
    State.ELSEWHERE: "cyan",
    State.HELD: "dim",
}
_AT_WORK = frozenset({State.STARTING, State.RUNNING})
_BAD = frozenset({State.FAILED, State.REFUSED})
_NARROWEST = 20
_SHORTEST = 3


def table_lines(rows: Sequence[Row], *, width: int, height: int, paint: Paint) -> list[str]:
    """Return the table, none of it wider or longer than the terminal."""
    width, height = max(width - 1, _NARROWEST), max(height - 1, _SHORTEST)
    shown = rows if len(rows) <= height else _weightiest(rows, height - 1)
    columns = [(visible(row.plan), row.state.value, _count(row), _time(row)) for row in shown]
    sizes = [max((len(each[at]) for each in columns), default=0) for at in range(4)]
    sizes[0] = min(sizes[0], max(8, width // 3))
    lines = []
    for row, (name, state, count, time) in zip(shown, columns, strict=True):
        start = f"{_cut(name, sizes[0]):{sizes[0]}}  "
        text = f"{count:>{sizes[2]}}  {time:>{sizes[3]}}  {_about(row)}".rstrip()
        line = _cut(f"{start}{state:{sizes[1]}}  {text}".rstrip(), width)
        # Painted when it is cut: what styles a text takes no room.
        at, end = len(start), len(start) + len(state)
        lines.append(line[:at] + paint(line[at:end], _STYLES[row.state]) + line[end:])
    if len(shown) < len(rows):
        lines.append(_cut(_rest(rows, shown), width))
    return lines


def change_lines(before: Sequence[Row], after: Sequence[Row]) -> Iterator[str]:
    """Yield what happened between two moments, a line for each."""
    known = {row.plan: row for row in before}
    for row in after:
        old = known.get(row.plan)
        name = visible(row.plan)
        is_new = old is None or old.state is not row.state
        if row.state is State.RUNNING and is_new:
            yield f"{name}: started in {visible(row.worktree or '')}"
        if old is not None and _settled(row) > _settled(old):
            yield f"{name}: {tally(row.proved, row.steps, row.holds, row.attested)}"
        if row.state not in _AT_WORK and is_new:
            reason = f": {visible(row.reason)}" if row.reason else ""
            yield f"{name}: {row.state.value}{reason}"


def end_lines(rows: Sequence[Row], *, stopped: bool) -> Iterator[str]:
    """Yield what a person should know at the end, and what to do next."""
    for row in rows:
        if row.state in _BAD:
            yield f"`{visible(row.plan)}` {_ended(row)}"
            yield from (f"    {visible(line)}" for line in row.tail)
        elif row.state is State.HELD:
            yield f"`{visible(row.plan)}` is held back: {visible(row.reason)}"
    asking = [row.plan for row in rows if row.state is State.ASKING]
    if asking:
        yield f"{_quoted(asking)} wait{'s' if len(asking) == 1 else ''} for you: `planbound inbox`"
    done = sum(row.state is State.DONE for row in rows)
    if stopped:
        yield "interrupted; go on with `planbound fleet`"
    elif done:
        yield f"{done} of {len(rows)} done: `planbound integrate` brings them together"


def fleet_data(rows: Sequence[Row]) -> list[dict[str, object]]:
    """Return the plans of a fleet for programs."""
    return [
        {
            "plan": row.plan,
            "state": row.state.value,
            "reason": row.reason or None,
            "worktree": row.worktree,
            "branch": row.branch,
            "proved": row.proved,
            "holds": row.holds,
            "attested": row.attested,
            "steps": row.steps,
            "exit_code": row.exit_code,
            "log": row.log,
        }
        for row in rows
    ]


def _ended(row: Row) -> str:
    reason = f": {visible(row.reason)}" if row.reason else ""
    verb = "failed" if row.state is State.FAILED else "was refused"
    return f"{verb}{reason}" + (f"; all it said is in {visible(row.log)}" if row.log else "")


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(f"`{visible(name)}`" for name in names)


def _count(row: Row) -> str:
    holds = f", {row.holds} hold{'s' if row.holds == 1 else ''}" if row.holds else ""
    holds += f", {row.attested} attested" if row.attested else ""
    return f"{row.proved}/{row.steps}{holds}" if row.steps else ""


def _settled(row: Row) -> tuple[int, int, int]:
    return row.proved, row.holds, row.attested


def _time(row: Row) -> str:
    return spoken(row.seconds) if row.seconds else ""


def _about(row: Row) -> str:
    return visible(" ".join((row.current or row.reason).split()))


def _weightiest(rows: Sequence[Row], most: int) -> list[Row]:
    """Return those that a person wants to see, in their order: what is done is known."""
    least = {State.DONE: 2, State.HELD: 1}
    ranked = sorted(rows, key=lambda row: least.get(row.state, 0))[:most]
    return [row for row in rows if row in ranked]


def _rest(rows: Sequence[Row], shown: Sequence[Row]) -> str:
    hidden = Counter(row.state for row in rows if row not in shown)
    said = ", ".join(f"{count} {state.value}" for state, count in hidden.items())
    return f"… and {sum(hidden.values())} more: {said}"


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"
