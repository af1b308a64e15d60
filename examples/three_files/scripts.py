"""What the scripted models do."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from agent import Call, Say, Script

FILES = ["alpha.bin", "beta.bin", "gamma.bin"]
_STEPS: list[dict[str, Any]] = [
    {"title": f"Measure {name}", "check": {"measured": {"path": name}}} for name in FILES
]
_POSTCONDITION = {"statement": "The largest file is reported", "check": {"largest_reported": {}}}


def without_a_plan(files: list[str]) -> Script:
    """Measure some files, and report the largest of those."""
    yield from _measure(files, planned=False)
    yield from _report(files)


def with_a_plan(files: list[str]) -> Script:
    """Do the same with a plan, and what is left when sent back."""
    yield Call(
        "plan_create",
        {
            "objective": "Report the largest of three files",
            "steps": _STEPS,
            "postconditions": [_POSTCONDITION],
        },
    )
    yield from _measure(files, planned=True)
    yield from _report(files)
    left = [name for name in FILES if name not in files]
    yield from _measure(left, planned=True)
    yield from _report(FILES)


def _measure(files: list[str], *, planned: bool) -> Generator[Call | Say, str, None]:
    for name in files:
        size = yield Call("measure", {"path": name})
        if planned:
            evidence = f"measure answered: {size}"
            number = FILES.index(name) + 1
            yield Call("step_update", {"step": number, "status": "done", "evidence": evidence})


def _report(files: list[str]) -> Generator[Call | Say, str, None]:
    yield Call("report", {"path": files[-1]})
    yield Say(f"All three files exist and are measured. The largest is {files[-1]}.")
