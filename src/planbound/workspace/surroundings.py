"""Finds out what verification asks: files, topics, tools, shell syntax."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping

from planbound.cells.syntax import BashSyntax
from planbound.disk.files import Shelf
from planbound.errors import PlanboundError
from planbound.plan.limits import Budget
from planbound.plan.parse import parse
from planbound.plan.slug import slug_of
from planbound.source import lazy_pattern
from planbound.verify.examine import Examination, Verified
from planbound.verify.facts import (
    Facts,
    FaultyPatch,
    HeldOutCases,
    Neighbours,
    PatchFault,
    PathKind,
    WorldQuestions,
)
from planbound.workspace.configuration import ApprovalDemand, Configuration, Require
from planbound.workspace.environment import find_environment, without_ours

_PYTHON_LISTS = (
    *("pyproject.toml", "requirements.txt", "requirements-dev.txt", "setup.py", "setup.cfg"),
    *("Pipfile", "uv.lock", "poetry.lock"),
)
_NODE_LISTS = ("package.json", "package-lock.json", "yarn.lock", "pnpm-lock.yaml")
_LONGEST_LIST = 4_000_000
# A line of a lock, or the name of a script: what is not one does no harm, for it is compared only.
_LOCKED = lazy_pattern(
    r"""(?m)^\s*["']?(?:name\s*=\s*"|node_modules/|/)?((?:@[\w.~-]+/)?[\w.~-]+)(?:["']?\s*[:=@]|")"""
)
_NO_PATCH = {PathKind.MISSING: "missing", PathKind.DIRECTORY: "folder"}
_STANDARD_INPUT = "<stdin>"
"""How a plan is shown that has no file."""


class Surroundings:
    """The workspace on this machine."""

    def __init__(
        self,
        *,
        root: str,
        harness: str,
        configuration: Configuration,
        syntax: BashSyntax,
        plans: Callable[[Iterable[str]], Mapping[str, tuple[str, ...]]] | None = None,
    ) -> None:
        """Take `plans`, which returns every plan and what the named ones wait for."""
        self.root = os.path.realpath(root)
        self.plans = plans
        self.harness = harness
        self.configuration = configuration
        self.syntax = syntax

    def answer(self, questions: WorldQuestions) -> Facts:
        """Return what is known about what was asked."""
        project = find_environment(self.configuration, self.root)
        missing = frozenset(tool for tool in questions.tools if not _find(tool, project.path))
        callers = without_ours(os.environ, self.root).get("PATH", "").split(os.pathsep)
        gate = self.configuration.gate
        return Facts(
            roles=self.configuration.roles,
            paths={path: self._kind(path) for path in questions.paths},
            missing_topics=frozenset(
                topic for topic in questions.topics if not self._has_topic(topic)
            ),
            missing_tools=missing,
            elsewhere={tool: found for tool in missing if (found := _find(tool, callers))},
            declared=_declared(self.root) if missing else {},
            setup=tuple(each.run for each in self.configuration.worktrees.setup if each.run),
            syntax=self.syntax.faults(questions.commands),
            held_out={name: self._held_out(name) for name in questions.held_out},
            patches={
                each: fault for each in questions.patches if (fault := self._faulty_patch(*each))
            },
            plans=self._neighbours(questions) if questions.plans else None,
            profile=self.configuration.profile,
            # Where people approve what agents in the loop want to do, they see what is claimed.
            claims=gate.approval is ApprovalDemand.ALL and gate.require is Require.CLAIMED,
            network=self.configuration.contracts.network,
            evidence=self.configuration.judging.evidence,
            has_environment=project.found is not None,
            node_programs=frozenset(_listed(os.path.join(self.root, "node_modules", ".bin"))),
            estimate=self.configuration.budget.usual,
            estimates=self._estimates(),
        )

    def _estimates(self) -> dict[str, Budget]:
        """Return by target what an attempt of its agents is taken to use."""
        agents, budget = self.configuration.agents, self.configuration.budget
        if not agents:
            return {}
        from planbound.workspace.agents import estimate_of  # noqa: PLC0415 - start-up

        found: dict[str, Budget] = {}
        for target in self.configuration.roles:
            names = self.configuration.agents_for(target)
            usual = self.configuration.run.agent
            for name in names or ((usual,) if usual else ()):
                estimate = estimate_of(agents[name], budget.estimate, budget.usual)
                # Where nothing is known of one who shares a role, nothing is known of the role.
                if found.get(target) != budget.estimate:
                    found[target] = estimate
        return found

    def _neighbours(self, questions: WorldQuestions) -> Neighbours | None:
        """Return the plans of the workspace; None where the plan is none of them."""
        own = None
        if questions.path != _STANDARD_INPUT:
            folder, name = os.path.split(os.path.realpath(questions.path))
            shelves = (Shelf.ACTIVE, Shelf.STAGED)
            if folder not in {
                os.path.realpath(os.path.join(self.harness, shelf.value)) for shelf in shelves
            }:
                return None
            own = slug_of(name)
        if self.plans is None or not os.path.isdir(self.harness):
            return None
        try:
            return Neighbours(own, self.plans(questions.plans))
        except PlanboundError:
            return None  # a folder that cannot be listed: `doctor` tells of it

    def _kind(self, path: str) -> PathKind:
        if "\0" in path:
            return PathKind.MISSING
        try:
            joined = os.path.join(self.root, os.path.expanduser(path))
            real = os.path.realpath(joined)
            if real != self.root and not real.startswith(self.root.rstrip("/") + os.sep):
                return PathKind.OUTSIDE
            mode = os.stat(real).st_mode
        except (OSError, ValueError):
            # Missing, unreadable, or a name that this system cannot have.
            return PathKind.MISSING
        return PathKind.DIRECTORY if stat.S_ISDIR(mode) else PathKind.FILE

    def _held_out(self, name: str) -> HeldOutCases:
        from planbound.workspace.held_out import read_held_out_cases  # noqa: PLC0415 - few plans ask

        paths = []
        for item in self.configuration.judging.held_out:
            path = os.path.realpath(os.path.join(self.root, os.path.expanduser(item.source)))
            inside = path == self.root or path.startswith(self.root.rstrip("/") + os.sep)
            if path.endswith(f"/{name}") and inside:
                return HeldOutCases(None, f"`{name}` lies in the workspace, where agents read it")
            paths += [] if inside else [path]
        return read_held_out_cases(self.root, paths, name)

    def _faulty_patch(self, path: str | None, text: str) -> FaultyPatch | None:
        """Return why a diff cannot be applied to the workspace; None where it can."""
        from planbound.plan.patch import PatchError, apply_patch, read_patch  # noqa: PLC0415 - few plans ask

        if path is not None:
            kind = self._kind(path)
            if kind is not PathKind.FILE or os.path.isabs(os.path.expanduser(path)):
                return FaultyPatch(PatchFault.NO_FILE, _NO_PATCH.get(kind, "outside"))
            data = self._read(path)
            if data is None:
                return FaultyPatch(PatchFault.NO_FILE, "link")
            text = data.decode("utf-8", "surrogateescape")
        fault = PatchFault.NO_DIFF
        try:
            patches = read_patch(text)
            fault = PatchFault.DOES_NOT_APPLY
            apply_patch(patches, self._read)
        except PatchError as error:
            return FaultyPatch(fault, error.reason, error.line, error.hint)
        return None

    def _read(self, path: str) -> bytes | None:
        """Return a file of the workspace, not through a link."""
        joined = os.path.normpath(os.path.join(self.root, path))
        try:
            if os.path.realpath(joined) != joined:
                return None
            with open(joined, "rb") as file:
                return file.read()
        except (OSError, ValueError):
            return None

    def _has_topic(self, topic: str) -> bool:
        if "/" in topic or "\0" in topic or topic in {".", ".."}:
            return False
        try:
            return os.path.isfile(os.path.join(self.harness, "topics", f"{topic}.md"))
        except ValueError:
            return False


def _find(tool: str, folders: Iterable[str]) -> str | None:
    """Return where a program is, along folders."""
    try:
        paths = (os.path.join(folder, tool) for folder in folders if folder)
        return next((p for p in paths if os.path.isfile(p) and os.access(p, os.X_OK)), None)
    except ValueError:
        return None


def _declared(root: str) -> dict[str, frozenset[str]]:
    """Return what the project says it needs, with what its locks say comes along."""
    from planbound.workspace.declared import declared_by_node, declared_by_python  # noqa: PLC0415 - only where one is missing

    def read(name: str) -> bytes | None:
        try:
            with open(os.path.join(root, name), "rb") as file:
                return file.read(_LONGEST_LIST)
        except (OSError, ValueError):
            return None

    found = {}
    for family, lists, named in (
        ("python", _PYTHON_LISTS, declared_by_python),
        ("node", _NODE_LISTS, declared_by_node),
    ):
        texts = [text for name in lists if (text := read(name)) is not None]
        if texts:
            found[family] = named(read).union(
                *(_LOCKED.findall(text.decode("utf-8", "replace")) for text in texts)
            )
    return found


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


# -- say everything that is wrong with a plan, without running anything --------------------------


def verify(data: bytes, *, path: str, surroundings: Surroundings) -> Verified:
    """Return what is wrong with the plan in a file's content."""
    plan = parse(data, path=path)
    examination = Examination(plan)
    facts = surroundings.answer(examination.questions())
    return Verified(plan, tuple(examination.diagnostics(facts)), facts)
