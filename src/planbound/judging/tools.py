"""Which programs the contracts of a plan will use: where they are, and which version."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial

from planbound.cells.cell import CommandEnding, Limits, Request
from planbound.errors import CellProblem
from planbound.judging.case import Case, cases
from planbound.judging.context import JudgingContext, judging_context
from planbound.judging.contract import started_text
from planbound.judging.reference import read_frozen
from planbound.judging.unrunnable import (
    CalledProgram,
    ContractTools,
    Tool,
    called_programs,
    needed_programs,
    read_version,
    runs_files,
    version_words,
)
from planbound.plan.model import Judged, Plan
from planbound.script import read_script
from planbound.workspace.context import Context
from planbound.workspace.environment import (
    find_environment,
    installed_copies,
    is_environment,
    packages_of,
)
from planbound.workspace.manifest import Manifest

_SECONDS = 30.0
_MOST_KEPT = 500
_LONGEST = 400
_FILE = "tools.json"
# What fails says no version, whatever numbers are in its complaint.
_SAY = (
    "echo {mark}; said=$(timeout 10 {words} 2>&1 </dev/null | head -c 2000;"
    ' exit "${{PIPESTATUS[0]}}") && echo "$said"'
)


def contract_tools(
    context: Context,
    judging: JudgingContext,
    found: Iterable[Case],
    tree: Manifest | None = None,
    *,
    keep: bool = True,
) -> tuple[Tool, ...]:
    """Return the programs that contracts call and that have a version, where they are there.

    A program is asked once, in a cell, and again when it is another file.
    """
    return _looked_for(context, judging, found, tree, keep=keep)[0]


def _looked_for(
    context: Context,
    judging: JudgingContext,
    found: Iterable[Case],
    tree: Manifest | None,
    *,
    keep: bool,
) -> tuple[tuple[Tool, ...], tuple[str, ...]]:
    """Return the programs that contracts call and that have a version, and those that lack."""
    contracts = [case.contract for case in found if isinstance(case.contract, Judged)]
    scripts = [read_script(started_text(contract)) for contract in contracts]
    if tree is None and not any(map(runs_files, scripts)):
        manifest = Manifest({}, digest="")  # a look at all files takes longer than most contracts
    else:
        manifest = tree or judging.tree.manifest(judging.rules)
    read = partial(_read, judging, manifest)
    wanted = called_programs(scripts, manifest.files(), read)
    places = {item: place for item in wanted if (place := _place(judging, item)) is not None}
    versions = _Versions(context, judging, keep=keep).of(places) if places else {}
    roots = _roots(context)
    # A module that does not say its version is not installed.
    there = {item for item in places if versions[item] or item.module_of is None}
    return (
        tuple(
            Tool(item.word, versions[item], _shown(item, place, roots))
            for item, place in places.items()
            if item in there
        ),
        tuple(item.word for item in needed_programs(scripts) if item not in there),
    )


def tools_of_plans(context: Context, plans: Sequence[Plan]) -> ContractTools:
    """Return what the contracts of plans use, and what is wrong with that."""
    found = [case for plan in plans for case in cases(plan)]
    notes = tuple(cautions(context))
    if not any(isinstance(case.contract, Judged) for case in found):
        return ContractTools("", notes)
    import tempfile  # noqa: PLC0415 - only here

    from planbound.cells.choose import choose  # noqa: PLC0415 - only here
    from planbound.cells.scratch import Scratch  # noqa: PLC0415 - only here

    # Who only looks leaves nothing in the state home.
    with tempfile.TemporaryDirectory(prefix="planbound-look-") as folder:
        judging = judging_context(context, choose(Scratch(os.path.join(folder, "cells"))))
        tools, missing = _looked_for(context, judging, found, None, keep=False)
    return ContractTools(", ".join(map(str, tools)), notes, judging.fault, missing)


def said_tools(tools: Iterable[Tool]) -> dict[str, str]:
    """Return what an approval binds of programs."""
    return {tool.name: tool.said for tool in tools}


def cautions(context: Context) -> Iterator[str]:
    """Yield what contracts were to get and will not."""
    contracts = context.configuration.contracts
    for name in contracts.env:
        if name not in os.environ:
            yield f"`{name}` is named in `[contracts] env`, and is not set"
    for path in contracts.path:
        if not os.path.isdir(os.path.join(context.root, os.path.expanduser(path))):
            yield f"`{path}` is named in `[contracts] path`, and is no folder"
    environment = find_environment(context.configuration, context.root)
    for name, folder in installed_copies(environment, context.root):
        assert environment.found is not None
        yield (
            f"{environment.found.origin} has a copy of `{name}`, which contracts may judge in the"
            f" place of `{folder}`: install it from there, such as `pip install -e .`"
        )


def _read(judging: JudgingContext, manifest: Manifest, path: str) -> bytes | None:
    entry = manifest.entry(path)
    content = judging.tree.content(path, entry) if entry is not None else None
    return content if content is not None else read_frozen(manifest, judging.vault, path)


def _place(judging: JudgingContext, wanted: CalledProgram) -> str | None:
    """Return where a program is, or the one that runs it."""
    word = wanted.module_of or wanted.word
    if "/" in word:
        path = os.path.join(judging.tree.root, word)
        return path if _is_program(path) else None
    folders = judging.environment.get("PATH", "").split(os.pathsep)
    paths = (os.path.join(judging.tree.root, folder, word) for folder in folders if folder)
    return next((path for path in paths if _is_program(path)), None)


def _is_program(path: str) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _roots(context: Context) -> tuple[tuple[str, str], ...]:
    """Return what is left out of paths, so that they are the same in every worktree and home."""
    environment = find_environment(context.configuration, context.root)
    found = [(os.path.realpath(context.root), ""), (context.root, "")]
    if environment.found is not None and environment.found.is_of_main:
        found.append((os.path.dirname(environment.found.prefix), ""))
    return (*found, (os.path.expanduser("~"), "~/"))


def _shown(wanted: CalledProgram, place: str, roots: tuple[tuple[str, str], ...]) -> str:
    if wanted.module_of is not None:
        return f"{wanted.module_of} -m {wanted.word}"
    for root, instead in roots:
        if root != "/" and place.startswith(f"{root}/"):
            return instead + place[len(root) + 1 :]
    return place


class _Versions:
    """Asks programs for their version, and remembers what they said."""

    def __init__(self, context: Context, judging: JudgingContext, *, keep: bool) -> None:
        self.judging = judging
        self.keep = keep
        self.file = os.path.join(context.state.folder, _FILE)

    def of(self, places: Mapping[CalledProgram, str]) -> dict[CalledProgram, str]:
        """Return the version of each; empty where it does not say."""
        keys = {item: _identity(item, place) for item, place in places.items()}
        known = self._known()
        found = {item: known[key] for item, key in keys.items() if key in known}
        missing = [item for item in places if item not in found]
        if missing:
            asked = self._ask(missing)
            found.update(asked)
            news = {key: asked[item] for item, key in keys.items() if key and item in asked}
            if self.keep:
                self._keep({**known, **news})
        return {item: found.get(item, "") for item in places}

    def _ask(self, missing: list[CalledProgram]) -> dict[CalledProgram, str]:
        mark = f"--{os.urandom(8).hex()}--"
        words = [_quoted(version_words(item)) for item in missing]
        lines = [_SAY.format(mark=mark, words=item) for item in words]
        request = Request(
            command=("/bin/bash", "--noprofile", "--norc", "-c", "\n".join([*lines, "true"])),
            workspace=self.judging.tree.root,
            environment=self.judging.environment,
            limits=Limits(seconds=_SECONDS),
            masked=self.judging.masked,
            exposed=self.judging.exposed,
            view=self.judging.view,
        )
        try:
            outcome = self.judging.cell.run(request)
        except CellProblem:
            return {}
        if outcome.ending is not CommandEnding.EXITED:
            return {}
        said = outcome.stdout.text().split(mark)[1:]
        return {item: read_version(text) for item, text in zip(missing, said, strict=False)}

    def _known(self) -> dict[str, str]:
        try:
            with open(self.file, encoding="utf-8") as file:
                known = json.load(file)
        except (OSError, ValueError):
            return {}
        return known if isinstance(known, dict) else {}

    def _keep(self, known: Mapping[str, str]) -> None:
        kept = dict(list(known.items())[-_MOST_KEPT:])
        new = f"{self.file}.{os.getpid()}"
        try:
            with open(new, "w", encoding="utf-8") as file:
                json.dump(kept, file)
            os.replace(new, self.file)
        except OSError:
            return  # it is asked again


def _quoted(words: Iterable[str]) -> str:
    import shlex  # noqa: PLC0415 - start-up

    return shlex.join(words)


def _identity(wanted: CalledProgram, place: str) -> str:
    """Return what changes when a program becomes another one; empty where nobody can tell."""
    real = os.path.realpath(place)
    try:
        state = os.stat(real)
        with open(real, "rb") as file:
            is_script = file.read(2) == b"#!"
    except OSError:
        return ""
    prefix = os.path.dirname(os.path.dirname(place))
    packages = [os.stat(folder) for folder in packages_of(prefix)] if is_environment(prefix) else []
    in_node = f"{os.sep}node_modules{os.sep}" in real
    # A script elsewhere may ask anything at all which version it is to be.
    if (is_script or wanted.module_of is not None) and not packages and not in_node:
        return ""
    if not stat.S_ISREG(state.st_mode):
        return ""
    seen = [place, real, state.st_ino, state.st_size, state.st_ctime_ns]
    seen += [item.st_mtime_ns for item in packages]
    return "\t".join(str(part) for part in (wanted.word, wanted.module_of or "", *seen))
