"""A fleet as a table and as lines."""

from __future__ import annotations

from planbound.cli.fleet import change_lines, end_lines, table_lines
from planbound.team.fleet_decision import FleetRow, FleetState


def plain(text: str, _style: str) -> str:
    return text


def marked(text: str, style: str) -> str:
    return f"<{style}>{text}</>"


ROWS = (
    FleetRow(
        "rounding",
        FleetState.RUNNING,
        proved=1,
        steps=3,
        current="Round once\nat the end",
        seconds=61,
    ),
    FleetRow("running", FleetState.DONE, proved=2, steps=2, seconds=4.25),
    FleetRow("later", FleetState.HELD, reason="waits for `rounding` (in-progress)", steps=1),
    FleetRow(
        "shy", FleetState.ASKING, reason="`planbound inbox` has the question", steps=1, seconds=2
    ),
)


def test_a_table_has_a_row_for_each_plan() -> None:
    assert table_lines(ROWS, width=100, height=24, paint=plain) == [
        "rounding  running        1/3  1 min 1 s  Round once at the end",
        "running   done           2/2      4.2 s",
        "later     held back      0/1             waits for `rounding` (in-progress)",
        "shy       waits for you  0/1      2.0 s  `planbound inbox` has the question",
    ]
    painted = table_lines(ROWS, width=100, height=24, paint=marked)
    assert painted[1].startswith("running   <green>done</>           2/2")


def test_a_table_is_no_wider_and_no_longer_than_the_terminal() -> None:
    lines = table_lines(ROWS, width=40, height=4, paint=plain)
    assert max(map(len, lines)) < 40
    assert lines[0].endswith("…")
    assert [line.split()[0] for line in lines] == ["rounding", "shy", "…"]
    assert lines[-1] == "… and 2 more: 1 done, 1 held back"
    many = [row._replace(plan=f"{row.plan}-{at}") for at in range(20) for row in ROWS]
    assert len(table_lines(many, width=5, height=1, paint=plain)) == 3
    assert table_lines((), width=80, height=24, paint=plain) == []


def test_what_a_terminal_would_obey_is_shown_as_text() -> None:
    row = FleetRow("one", FleetState.RUNNING, current="evil \x1b[2J", steps=1)
    (line,) = table_lines([row], width=80, height=24, paint=plain)
    assert "\x1b" not in line
    assert "evil \\x1b[2J" in line


def test_lines_say_what_changed() -> None:
    before = [
        FleetRow("one", FleetState.STARTING, steps=2),
        FleetRow("two", FleetState.HELD, reason="waits", steps=1),
    ]
    assert list(change_lines((), before)) == ["two: held back: waits"]
    after = [FleetRow("one", FleetState.RUNNING, steps=2, worktree="/w/one"), before[1]]
    assert list(change_lines(before, after)) == ["one: started in /w/one"]
    end = [FleetRow("one", FleetState.DONE, proved=2, steps=2), before[1]]
    assert list(change_lines(after, end)) == ["one: 2/2 proved", "one: done"]
    assert list(change_lines(end, end)) == []


def test_the_end_tells_what_waits_and_what_was_said_last() -> None:
    failed = FleetRow(
        "bad", FleetState.FAILED, reason="step 1", log="/l/bad.log", tail=("a", "b\x1b")
    )
    assert list(end_lines([*ROWS[1:], failed], stopped=False)) == [
        "`later` is held back: waits for `rounding` (in-progress)",
        "`bad` failed: step 1; all it said is in /l/bad.log",
        "    a",
        "    b\\x1b",
        "`shy` waits for you: `planbound inbox`",
        "1 of 4 done: `planbound integrate` brings them together",
    ]
