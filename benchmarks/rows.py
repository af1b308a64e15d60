"""The rows of the performance page: what was measured, what stands beside it, what it should be.

Each goal has its reason beside it. A reader sees it only where the goal is missed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

from benchmarks import fleet, hook, life, manifest, page, receipt, run, start, step, suite
from benchmarks.row import FLOOR, Goal, Measured, Row, adds, in_ms, joined, of_floor, ratio


def sections(results: Mapping[str, Mapping[str, float]]) -> dict[str, list[Row]]:
    """Return everything that was measured, by headings."""

    def of(name: str) -> Measured:
        return Measured(results.get(name, {}))

    found = {
        "Commands": _command_rows(of("start")),
        "Hooks": _hook_rows(of("hook")),
        "The plan language": _plan_rows(of("plan")),
        "The journal": _journal_rows(of("journal"), of("fold")),
        "The journal in PostgreSQL": _database_rows(of("database")),
        "Receipts": _receipt_rows(of("receipt")),
        "The page": _page_rows(of("page")),
        "Looking at the tree": _manifest_rows(of("manifest")),
        "Judging": _judge_rows(of("judge")),
        "Judging a suite of 15 seconds": _suite_rows(of("suite")),
        "The life of a plan": _life_rows(of("life")),
        "A whole step": _step_rows(of("step")),
        "Beside others that run steps": _peer_rows(of("run")),
        "The engine alone": _engine_rows(of("run")),
        "Several plans": _fleet_rows(of("fleet")),
    }
    measured = {
        heading: [row for row in rows if not math.isnan(row.value)]
        for heading, rows in found.items()
    }
    return {heading: rows for heading, rows in measured.items() if rows}


# -- commands, hooks, the language, the journal ------------------------------------------------


def _command_rows(found: Measured) -> list[Row]:
    floor = found[FLOOR]
    verify = found[start.VERIFY]

    def limited(name: str) -> str:
        return f"{ratio(found[name], floor, f'`{FLOOR}`')}, limit {found['limit'] * 1000:.0f} ms"

    version = "planbound --version"
    return [
        Row(f"`{FLOOR}` (the floor)", floor),
        Row(f"`{version}`", found[version], limited(version), short=f"`{version}`", spare=True),
        Row(
            "`planbound verify`, 10 steps, whole process",
            verify,
            ratio(verify, floor, f"`{FLOOR}`"),
            of_floor(
                start.GOALS[start.VERIFY],
                "a third of it is loading libraries, above all msgspec, and typing_extensions"
                " with it, because the Markdown parser demands that",
            ),
            held=verify / floor,
            short="`planbound verify`, a plan of 10 steps",
        ),
        *(
            Row(f"`{name}`, a plan of 10 steps", found[name], limited(name))
            for name in ("planbound list", "planbound status")
        ),
    ]


def _hook_rows(found: Measured) -> list[Row]:
    floor = found[FLOOR]
    reasons = {
        hook.NO_PLAN: "the rest is loading the few modules that find out that there is no plan",
        hook.JUDGED: "it ends the plan, and so loads msgspec, the journal's events, the state and"
        " the plan language; msgspec and SQLite alone use up the goal",
    }
    shown = {
        hook.JUDGED: ("`planbound hook stop`, a judged tree", False),
        "session-start, open plan": ("`planbound hook session-start`", True),
    }
    rows = []
    for name in (
        hook.NO_PLAN,
        hook.JUDGED,
        "stop, a task in the background",
        "pre-tool-use, open plan",
        "user-prompt-submit, open plan",
        "session-start, open plan",
    ):
        seconds = found[name]
        short, spare = shown.get(name, ("", False))
        goal = hook.GOALS.get(name)
        limited = f"{(seconds - floor) * 1000:.0f} ms over `{FLOOR}`, limit 80"
        rows.append(
            Row(
                f"hook: {name}",
                seconds,
                ratio(seconds, floor, f"`{FLOOR}`") if goal else limited,
                of_floor(goal, reasons[name]) if goal else None,
                held=seconds / floor,
                short=short,
                spare=spare,
            )
        )
    return rows


def _plan_rows(found: Measured) -> list[Row]:
    tokenizer = found["markdown-it-py 1000"]
    rows = [Row("markdown-it-py alone, 1,000 steps", tokenizer)]
    for kind in ("parse", "verify"):
        for size in (10, 100, 1000, 5000):
            seconds = found[f"{kind} {size}"]
            note, short = f"{seconds / size * 1e6:.0f} µs a step", ""
            if size == 1000:
                note = joined(note, ratio(seconds, tokenizer, "markdown-it-py alone", 2))
                short = "verify a plan of 1,000 steps, in process" if kind == "verify" else ""
            rows.append(Row(f"{kind}, {size:,} steps", seconds, note, short=short, spare=True))
    return rows


def _journal_rows(found: Measured, fold: Measured) -> list[Row]:
    append, bare = found["append"], found["bare commit"]
    return [
        Row(
            "append an event, synced to the disk",
            append,
            ratio(append, bare, "a bare commit of the same row"),
        ),
        Row("a question by task to 1,000,000 events", found["query by task"], "limit 50 ms"),
        Row("verify the chain of 1,000,000 events", found["verify"], "limit 15 s"),
        Row("fold the events of 5,000 steps", fold["fold 5000"], "limit 500 ms"),
    ]


def _database_rows(found: Measured) -> list[Row]:
    if math.isnan(found["events"]):
        return []
    events, cores, unit = int(found["events"]), int(found["cores"]), "events a second"
    one = found["1 writer"]
    return [
        Row("one writer appends", one, _best(found, "1 writer"), unit=unit),
        Row("the same, 10 events at once", found["1 writer, 10 events at once"], unit=unit),
        *(
            Row(f"{writers} write into one chain", found[name], _best(found, name), unit=unit)
            for writers, name in ((8, "8 writers"), (64, "64 writers"))
        ),
        Row(
            "8 write, each into a repository of its own",
            found["8 writers, 8 repositories"],
            unit=unit,
        ),
        Row("one writes, 1 ms away from the server", found["1 writer, 1 ms away"], unit=unit),
        Row("8 write into one chain, 1 ms away", found["8 writers, 1 ms away"], unit=unit),
        Row(f"one appends to a journal of {events:,} events", found["appends on it"], unit=unit),
        Row(f"a plan's events of {events:,}", found["query by plan"]),
        Row("the last 100", found["query the last 100"]),
        Row("checking its chain", found["verify, events a second"], unit=unit),
        Row("the checkpoint of a receipt", found["checkpoint, events a second"], unit=unit),
        Row("memory of that for each event", found["checkpoint, bytes an event"], unit="bytes"),
        Row("an event in the database, with its indexes", found["bytes an event"], unit="bytes"),
        Row("a new repository in the database", found["new repository"]),
        Row("what it takes there", found["its bytes"] / 1024, unit="kB"),
        Row("the load of the machine meanwhile", found["load"], unit=f"on {cores} cores"),
    ]


def _best(found: Measured, name: str) -> str:
    best = found[f"{name}, best"]
    return "" if math.isnan(best) else f"best of all rounds: {best:.0f}"


def _receipt_rows(found: Measured) -> list[Row]:
    floor = found[FLOOR]
    plan = "100 steps, on a journal of 100,000 events"
    return [
        Row(
            f"`planbound receipt`, {plan}",
            found["make"],
            ratio(found["make"], floor, f"`{FLOOR}`"),
            in_ms(receipt.MAKE_SECONDS, "half of it reads and hashes all events"),
        ),
        Row(
            "`planbound check-receipt` of it",
            found["check"],
            ratio(found["check"], floor, f"`{FLOOR}`"),
            in_ms(receipt.CHECK_SECONDS, "two thirds of it are loading Python and OpenSSL"),
        ),
        Row(
            "the same by `planbound-check-receipt.py`, in Python alone",
            found["check, one file"],
            ratio(found["check, one file"], floor, f"`{FLOOR}`"),
        ),
        Row("how large it is", found["bytes"] / 1024, unit="kB"),
    ]


def _page_rows(found: Measured) -> list[Row]:
    bare = found[page.BARE]
    busy = "a page is Python's work, and whatever else runs takes its turns"
    limit = in_ms(page.FIRST_BYTE_SECONDS, busy)
    follows = "an event to its part of a page"
    alone, crowd = found["an append, followed by nobody"], f"an append, {page.FOLLOWERS} follow"
    start, bare_start = found["start"], found[f"start of {page.BARE}"]
    rows = [
        Row("start, until it listens", start, ratio(start, bare_start, page.BARE)),
        Row(
            "the first page after that, which folds 100,000 events",
            found["first page after the start"],
        ),
        Row(f"first byte of {page.BARE}, 95th of 100", bare),
    ]
    for name in (*page.ADDRESSES, "/journal, 1,000,000 events"):
        note = ratio(found[name], bare, "that")
        rows.append(Row(f"first byte of `{name}`, 95th of 100", found[name], note, limit))
    return [
        *rows,
        Row(
            "an event, until a browser has the part that shows it, 95th of 100",
            found[follows],
            goal=in_ms(page.FOLLOWS_SECONDS, busy),
        ),
        Row(
            f"an append to the journal while {page.FOLLOWERS} browsers follow",
            found[crowd],
            ratio(found[crowd], alone, "one that nobody follows", 2),
        ),
    ]


# -- the tree and its judgement ----------------------------------------------------------------


def _manifest_rows(found: Measured) -> list[Row]:
    rows = []
    for count in (10_000, 100_000):
        first, again = found[f"manifest {count}"], found[f"manifest again {count}"]
        bare, walk = found[f"read and hash {count}"], found[f"walk and stat by descriptor {count}"]
        files = f"{count:,} files"
        goal = None
        if count == max(manifest.SIZES):
            reason = "nearly all of it asks the kernel for the times of every file"
            goal = in_ms(manifest.AGAIN, reason)
        name = f"freeze a tree of {files}"
        rows += [
            Row(name, first, ratio(first, bare, "a bare loop that reads and hashes", 2)),
            Row(
                f"the same, unchanged, {files}",
                again,
                ratio(again, walk, "a bare walk that asks for their times", 2),
                goal,
                short=f"freeze an unchanged tree of {files}" if goal else "",
            ),
        ]
    return rows


def _judge_rows(found: Measured) -> list[Row]:
    bash = found["bash 100"]
    rows = [Row("`bash -c true`", bash)]
    for name, shown, limit in (
        ("cell", "the same in a cell, by a launcher that is warm", 15),
        ("cold cell", "the same in a cell, by a fresh interpreter", 40),
    ):
        seconds = found[f"{name} 100"]
        note = joined(adds(seconds, bash, "`bash -c true`"), f"limit {limit} ms more")
        rows.append(Row(shown, seconds, note))
    for count in (100, 10_000, 100_000):
        seconds = found[f"judge {count}"]
        note = adds(seconds, found[f"bash {count}"], "`bash -c true`")
        name, short = "the same judged, one of", "judge the contract `true`, one of"
        files = f"{count:,} files changed"
        rows.append(Row(f"{name} {files}", seconds, note, short=f"{short} {files}", spare=True))
    tests = found["pytest"]
    rows.append(Row("20 tests of pytest by themselves", tests))
    for name, shown in (
        ("pytest judged", "the same judged, at `E2`"),
        ("pytest and a canary", "with a test that must fail, at `E3`"),
        ("pytest, a canary, other values", "and with other expected values, as without settings"),
    ):
        rows.append(Row(shown, found[name], ratio(found[name], tests, "the tests")))
    return rows


def _suite_rows(found: Measured) -> list[Row]:
    reasons = {
        2: "the run with failing tests and the one with other values share two cores with the"
        " contract, and begin only after a core was seen to be free",
        1: "three runs that each compute for half of their time share one core, which is 1.5 x"
        " by itself",
    }
    rows = []
    for name, shown in (("waits", "waits half of its time"), ("computes", "only computes")):
        for cores, most in suite.GOALS.items():
            key, on = f"{name} {cores}", f"{cores} core{'s' * (cores > 1)}"
            bare = found[f"{key} {suite.BARE}"]
            rows.append(Row(f"a suite that {shown}, by itself, {on}", bare))
            for way, how in (
                (suite.MAKE, "the same under `make`"),
                (suite.PASSED, "the same by `pytest --lf`, after a run in which all passed"),
                (suite.FAILED, "the same by `pytest --lf`, after a run in which one test failed"),
                (suite.E2, "judged at `E2`"),
                (suite.ALL, f"judged with all evidence, {on}"),
                (suite.IN_TURN, "the same with `jobs = 1`"),
            ):
                seconds = found[f"{key} {way}"]
                row = Row(how, seconds, ratio(seconds, bare, "the tests", 2), held=seconds / bare)
                if way == suite.ALL and name == "waits":
                    goal = Goal(most, f"{most} x the tests", reasons[cores])
                    short = f"a suite of 15 s judged with all evidence, {on}"
                    row = row._replace(goal=goal, short=short if cores > 1 else "")
                rows.append(row)
    return rows


# -- plans and steps ---------------------------------------------------------------------------


def _life_rows(found: Measured) -> list[Row]:
    bare, yes = found["bare"], "`planbound approve`, the yes after a look"
    few, many = found["fewest runs of three"], found["runs of three"]
    three = "runs of each contract in a plan of three steps"
    return [
        Row(
            "runs of each contract in a plan of one step, to its end",
            found["runs"],
            "once red, once green",
            Goal(life.RUNS, "2", "something that the contract can see has changed in between"),
            unit="runs",
        ),
        Row(
            three,
            many,
            f"{few:.0f} to {many:.0f}, the postcondition among them",
            Goal(
                life.RUNS,
                "2",
                "a change that a contract never read still voids what was measured,"
                " because the whole tree counts",
            ),
            unit="runs",
            short=three,
        ),
        Row("a suite of 2 s by itself", bare),
        Row("`planbound approve`, the look", found["approve, a look"]),
        Row(
            yes,
            found["approve, the yes"],
            "runs nothing again",
            in_ms(life.YES, "the program starts, and reads the plan and the tree again"),
            short=yes,
        ),
        Row(
            "look, yes and run of a plan with a suite of 2 s",
            found["whole"],
            ratio(found["whole"], bare, "the suite"),
        ),
    ]


def _step_rows(found: Measured) -> list[Row]:
    cells = (
        "a step that changes the tree has four cells: one for its agent, and three for its"
        " contract, before the work, after it, and when the plan ends"
    )
    walks = (
        "a step that changes the tree asks the kernel for the times of every file at least twice:"
        " after its agent, and after its contract, beside which the next one is looked at"
    )
    largest = max(step.GOALS)
    rows = []
    for count, goal in step.GOALS.items():
        step_of, files = "a trivial step in a cell, judged at `E2`", f"one of {count:,} files"
        rows += [
            Row(
                f"{step_of}, {files} changed",
                found[f"step {count}"],
                "agent, contract, and all that is written",
                in_ms(goal, walks if count > 100 else cells),
                short="" if count == 10_000 else f"{step_of}, {files} changed",
            ),
            Row(
                f"the same, the first step of a plan, {files}",
                found[f"first step {count}"],
                "from its beginning to its verdict; its baseline is the approval's",
            ),
        ]
    reason = "a path, a digest and the times of each file are kept, most of them once"
    memory = Goal(step.MEGABYTES_GOAL, f"{step.MEGABYTES_GOAL:g} MB", reason)
    rows.append(
        Row(
            f"memory of a run on {largest:,} files",
            found[f"megabytes {largest}"],
            f"limit {step.MEGABYTES:g} MB",
            memory,
            unit="MB",
        )
    )
    return rows


def _peer_rows(found: Measured) -> list[Row]:
    plain = found["plain loop step"]
    rows = [Row("a step of two processes, in a plain loop", plain)]
    for name, key in (
        ("`planbound run`, durable, in a cell", run.INLINE),
        ("`planbound run` on DBOS, in a cell", run.ON_DBOS),
        ("GNU make", "GNU make"),
        ("LangGraph with its SQLite checkpointer", "LangGraph"),
        ("DBOS on SQLite", "DBOS"),
        ("Prefect", "Prefect"),
    ):
        took, begins, most = (found[f"{key} {what}"] for what in ("step", "start", "megabytes"))
        note = adds(took, plain, "a plain loop", 1)
        if not math.isnan(begins):
            note += f"; starts in {begins:.2f} s, {most:.0f} MB"
        short = "a step in `planbound run`, durable, in a cell" if key == run.INLINE else ""
        rows.append(Row(f"the same in {name}", took, note, short=short, spare=True))
    first = "`planbound run` to the first agent"
    begins = found[f"{run.INLINE} start"]
    rows.append(Row(first, begins, f"limit {run.START * 1000:g} ms", short=first, spare=True))
    rows.append(Row("8 steps of 1 s, together", found["parallel"], f"limit {run.PARALLEL:g} s"))
    return rows


def _engine_rows(found: Measured) -> list[Row]:
    own = "the engine's own part of a step, plan of"
    spread = (
        "nearly half of it is judging: looks at machine and tree before and after the contract;"
        " the rest is spread over four events in two commits, and the agent's request"
    )
    growing = "marking the plan's file and choosing the next step take longer in a longer plan"
    first, *_, longest = lengths = run.FULL.lengths[1:]
    rows = [
        Row(f"{own} {size:,}", found[f"step of {size}"], "", in_ms(run.ENGINE_GOAL, spread))
        for size in lengths
    ]
    resume = f"resume after a kill, {longest - 1:,} of {longest:,} settled"
    return [
        *rows,
        Row(
            f"a step of {longest:,} to one of {first}",
            found[f"step of {longest}"] / found[f"step of {first}"],
            "limit and goal are the same",
            Goal(run.FLAT, f"flat, at most {run.FLAT} x", growing),
            unit="x",
        ),
        Row(f"memory of a run of {longest:,} steps", found["engine megabytes"], unit="MB"),
        Row("the same step in a repository, which is kept safe", found["step in a repository"]),
        Row(
            resume,
            found["resume"],
            ratio(found["resume"], found["resume floor"], f"`{FLOOR}`", 0),
            in_ms(
                run.RESUME_GOAL,
                "a quarter of it is starting and loading the program; the plan's digest is reckoned"
                " anew and its settled steps are asked for, so that no snapshot has to be believed",
            ),
            short=resume,
        ),
    ]


_SIDE_BY_SIDE = Goal(
    fleet.TIMES_GOAL,
    f"{fleet.TIMES_GOAL} x",
    "every plan is a process of its own, which loads the program and tries its cell before the"
    " first step; four of these begin at once and share two cores",
)
_MERGED = Goal(
    fleet.INTEGRATE_GOAL,
    f"{fleet.INTEGRATE_GOAL} s more",
    "the files that were proved and those that are judged are looked at twice each, and git reads"
    " all of them by content, because no index is believed",
)


def _fleet_rows(found: Measured) -> list[Row]:
    plain, ours = found[fleet.XARGS], found[fleet.FLEET]
    if math.isnan(ours):
        return []
    plans, steps, jobs = (int(found[name]) for name in ("plans", "steps", "jobs"))
    rows = [
        Row(f"{plans} times {steps} agents of 1 s in `xargs -P {jobs}`", plain),
        Row(
            f"the same {plans} plans in `planbound fleet --jobs {jobs}`, in worktrees and cells",
            ours,
            ratio(ours, plain, "xargs", 2),
            _SIDE_BY_SIDE,
            ours / plain,
            short=f"{plans} plans of {steps} steps of 1 s in `planbound fleet --jobs {jobs}`",
        ),
    ]
    files = f"{int(found['files']):,} files"
    spawn, merge = found[fleet.SPAWN], found[fleet.INTEGRATE]
    name = f"`{fleet.INTEGRATE}`, {files}"
    note = adds(merge, found[fleet.MERGE], fleet.MERGE)
    more = merge - found[fleet.MERGE]
    rows += [
        Row(f"`{fleet.SPAWN}`, {files}", spawn, adds(spawn, found[fleet.ADD], fleet.ADD)),
        Row(name, merge, note, _MERGED, more, short=name, spare=True),
    ]
    return rows
