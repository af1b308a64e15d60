"""Writes the README's performance table from what was measured last."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

from benchmarks.measure import RESULTS

README = Path(__file__).parents[1] / "README.md"
_TABLE = re.compile(r"(<!-- performance -->\n).*?(<!-- /performance -->)", re.DOTALL)


def table() -> str:
    """Return the table as Markdown."""
    results = json.loads(RESULTS.read_text(encoding="utf-8"))
    start, plan = results["start"], results["plan"]
    tokenizer = plan["markdown-it-py 1000"]
    rows = [
        ("`python -c pass` (the floor)", start["python -c pass"], ""),
        (
            "`planbound --version`",
            start["planbound --version"],
            _times(start, "planbound --version"),
        ),
        (
            "`planbound verify`, 10 steps, whole process",
            start["planbound verify (10 steps)"],
            _times(start, "planbound verify (10 steps)"),
        ),
        ("markdown-it-py alone, 1,000 steps", tokenizer, ""),
    ]
    for kind in ("parse", "verify"):
        for size in (10, 100, 1000, 5000):
            seconds = plan[f"{kind} {size}"]
            note = f"{seconds / size * 1e6:.0f} µs a step"
            if size == 1000:
                note += f", {seconds / tokenizer:.2f} x markdown-it-py alone"
            rows.append((f"{kind}, {size:,} steps", seconds, note))
    rows += _hook_rows(results["hook"]) if "hook" in results else []
    rows += _manifest_rows(results["manifest"]) + _judge_rows(results["judge"])
    rows += _run_rows(results["run"]) if "run" in results else []
    rows += _fleet_rows(results["fleet"]) if "fleet" in results else []
    lines = ["| what | median | |", "| --- | ---: | --- |"]
    lines += [f"| {name} | {seconds * 1000:.1f} ms | {note} |" for name, seconds, note in rows]
    return "\n".join(lines) + "\n"


def _hook_rows(found: dict[str, float]) -> list[tuple[str, float, str]]:
    floor = found["python -c pass"]
    return [
        (f"hook: {name}", seconds, f"{(seconds - floor) * 1000:.0f} ms over the floor, limit 80")
        for name, seconds in found.items()
        if name not in {"python -c pass", "limit"}
    ]


def _manifest_rows(found: dict[str, float]) -> list[tuple[str, float, str]]:
    return [
        (
            f"freeze a tree of {count:,} files",
            found[f"manifest {count}"],
            f"{found[f'manifest {count}'] / found[f'read and hash {count}']:.2f} x a bare loop",
        )
        for count in (10_000, 100_000)
    ]


def _judge_rows(found: dict[str, float]) -> list[tuple[str, float, str]]:
    rows = [("`bash -c true`", found["bash 100"], "")]
    for count, limit in ((100, 60), (10_000, 500)):
        added = found[f"judge {count}"] - found[f"bash {count}"]
        note = f"adds {added * 1000:.0f} ms, limit {limit}"
        rows.append((f"the same judged, {count:,} files", found[f"judge {count}"], note))
    return rows


def _run_rows(found: dict[str, float]) -> list[tuple[str, float, str]]:
    plain = found["plain loop step"]
    rows = [("a step of two processes, in a plain loop", plain, "")]
    for name, key, limit in (
        ("`planbound run`, durable", "planbound, inline", "limit 2"),
        ("`planbound run` on DBOS", "planbound, dbos", "limit 5"),
        ("GNU make", "GNU make", ""),
        ("LangGraph with its SQLite checkpointer", "LangGraph", ""),
        ("DBOS on SQLite", "DBOS", ""),
        ("Prefect", "Prefect", ""),
    ):
        if f"{key} step" in found:  # a peer that could not be installed has no row
            step = found[f"{key} step"]
            note = f"adds {(step - plain) * 1000:.1f} ms{', ' if limit else ''}{limit}; "
            note += f"starts in {found[f'{key} start']:.2f} s, {found[f'{key} megabytes']:.0f} MB"
            rows.append((f"the same in {name}", step, note))
    steps = int(found["resume steps"])
    proved = found["proved step"]
    return [
        *rows,
        ("the same judged in a cell, frozen, E2", proved, f"adds {(proved - plain) * 1000:.0f} ms"),
        ("`planbound run` to the first agent", found["planbound, inline start"], "limit 250 ms"),
        (f"resume after a kill, {steps - 1:,} of {steps:,} proved", found["resume"], "limit 3 s"),
        ("8 steps of 1 s, together", found["parallel"], "limit 3 s"),
    ]


def _fleet_rows(found: dict[str, float]) -> list[tuple[str, float, str]]:
    plans, steps, jobs = (int(found[name]) for name in ("plans", "steps", "jobs"))
    plain, fleet = found["xargs -P"], found["planbound fleet"]
    rows = [
        (f"{plans} times {steps} agents of 1 s in `xargs -P {jobs}`", plain, ""),
        (
            f"the same {plans} plans in `planbound fleet --jobs {jobs}`, in worktrees and cells",
            fleet,
            f"{fleet / plain:.2f} x xargs",
        ),
    ]
    for ours, theirs in (
        ("planbound spawn", "git worktree add"),
        ("planbound integrate", "git merge and contract"),
    ):
        seconds = found[ours]
        note = f"adds {(seconds - found[theirs]) * 1000:.0f} ms to {theirs}"
        rows.append((f"`{ours}`, {int(found['files']):,} files", seconds, note))
    return rows


def _times(start: dict[str, float], name: str) -> str:
    ratio = start[name] / start["python -c pass"]
    return f"{ratio:.1f} x the floor, limit {start['limit'] * 1000:.0f} ms"


def main() -> int:
    """Put the table into the README."""
    text = README.read_text(encoding="utf-8")
    new = _TABLE.sub(lambda match: match[1] + table() + match[2], text)
    README.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
