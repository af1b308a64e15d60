"""Which call of a contract runs the tests, seen through `npm test` and `make test`."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

from planbound.engine.judging.canary.model import Found, Project, joined
from planbound.plan.command import Call, Script, read_script
from planbound.plan.command.directory import below
from planbound.plan.command.status import deciding_calls
from planbound.source.pattern import lazy_pattern

_DEEPEST = 4
_MANAGERS = frozenset({"npm", "pnpm", "yarn"})
_QUIET = frozenset({"-s", "--silent", "-q", "--quiet"})
_VARIABLE = lazy_pattern(r"\$[({]([A-Za-z_]\w*)[)}]")
_ASSIGNMENT = lazy_pattern(r"(?m)^([A-Za-z_]\w*)[ \t]*[:?]?=[ \t]*([^\n]*)$")


def find_call(script: Script, program: str, project: Project) -> Found | None:
    """Return the one call of a program whose failure is the script's; None where unsure."""
    found = _find(script, program, project, "", _DEEPEST)
    return found[0] if found is not None and len(found) == 1 else None


def _find(
    script: Script, program: str, project: Project, directory: str, depth: int
) -> list[Found] | None:
    """Return all such calls; None where one of them does not decide."""
    if script.broken or not depth:
        return None
    deciding = {call.start for call in deciding_calls(script)}
    found: list[Found] = []
    for call in script.calls:
        sure = call.start in deciding and not (
            call.negated or call.optional or call.background or call.nested
        )
        place = None if call.directory is None else below(directory, call.directory)
        if call.program == program:
            if not sure or place is None:
                return None
            found.append(Found(call, place, script.text))
        elif sure and place is not None:
            for inner in _inner(call, project, place):
                more = _find(inner, program, project, place, depth - 1)
                if more is None:
                    return None
                found += more
    return found


def all_calls(script: Script, project: Project) -> Iterator[Call]:
    """Yield the calls of a script and of what it runs that is written elsewhere."""
    yield from _all_calls(script, project, "", _DEEPEST)


def _all_calls(script: Script, project: Project, directory: str, depth: int) -> Iterator[Call]:
    for call in script.calls if depth else ():
        yield call
        place = below(directory, call.directory or "")
        if place is not None:
            for inner in _inner(call, project, place, whole=False):
                yield from _all_calls(inner, project, place, depth - 1)


def _inner(call: Call, project: Project, directory: str, *, whole: bool = True) -> list[Script]:
    """Return what a call runs that is written elsewhere; where asked for, only if it decides."""
    if call.program in _MANAGERS:
        text = _package_script(call, project, directory)
        script = None if text is None else read_script(text)
        # npm's shell goes on after a failure: only what is one statement is sure to fail.
        decides = script is not None and len(script.block.items) == 1
        return [script] if script is not None and (decides or not whole) else []
    if call.program == "make":
        return [read_script(line) for line in _recipe(call, project, directory)]
    return []


def _package_script(call: Call, project: Project, directory: str) -> str | None:
    words = [value for value in call.values() if value not in _QUIET]
    if words[:1] in (["run"], ["run-script"]):
        words = words[1:]
    elif words[:1] == ["t"]:
        words = ["test"]
    elif words[:1] != ["test"]:
        return None
    scripts = package(project, directory).get("scripts")
    if len(words) != 1 or not isinstance(scripts, dict):
        return None
    text = scripts.get(words[0])
    return text if isinstance(text, str) else None


def package(project: Project, directory: str) -> dict[str, object]:
    """Return what a directory's `package.json` says."""
    data = project.read(joined(directory, "package.json"))
    try:
        value = json.loads(data or b"{}")
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _recipe(call: Call, project: Project, directory: str) -> list[str]:
    """Return the lines that make runs for its one target."""
    targets = [value for value in call.values() if value not in _QUIET]
    if len(targets) != 1 or targets[0][:1] == "-" or "=" in targets[0]:
        return []
    names = ("GNUmakefile", "makefile", "Makefile")
    texts = (project.text(joined(directory, name)) for name in names)
    text = next((text for text in texts if text is not None), "").replace("\\\n", " ")
    rule = re.search(
        rf"^{re.escape(targets[0])}[ \t]*:(?!=)[^\n]*\n((?:\t[^\n]*(?:\n|\Z))+)", text, re.MULTILINE
    )
    if rule is None or "export" in text:
        return []
    variables = dict(_ASSIGNMENT.findall(text))
    lines = (line.strip().lstrip("@") for line in rule[1].split("\n"))
    # A line that starts with `-` may fail.
    kept = [line for line in lines if line and line[0] != "-"]
    return [_VARIABLE.sub(lambda match: variables.get(match[1], match[0]), line) for line in kept]
