"""Puts together what `init` needs: a look at the workspace, and a bench to try its tests on."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence

from planbound.engine.configuration import Configuration
from planbound.engine.project import Seen, Suite, look
from planbound.engine.project.look import PROGRAMS
from planbound.engine.project.python import FOUND_BY_ITSELF
from planbound.engine.project.trial import Trial
from planbound.usecases.try_suite import case_of, try_suite
from planbound.wiring.judging import make_bench
from planbound.wiring.parts import Parts
from planbound.wiring.tools import contract_tools
from planbound.workspace.project_environment import Found, find_environment
from planbound.workspace.project_folders import made_folders, program_folder
from planbound.workspace.repository import RealRepository


def look_around(parts: Parts, configuration: Configuration) -> list[Suite]:
    """Return how the workspace is tested, as far as its files tell."""
    repository = RealRepository(parts.root)
    paths = repository.listing().paths
    environment = find_environment(configuration, parts.root)
    folders = os.pathsep.join(environment.path)
    programs = {name for name in PROGRAMS if shutil.which(name, path=folders)}
    elsewhere = {
        name: folder
        for name in PROGRAMS
        if name not in programs and (folder := program_folder(name, os.environ))
    }
    return look(
        Seen(
            paths,
            repository.read,
            made=made_folders(parts.root, paths),
            has_environment=_is_lasting(environment.found, parts.root),
            programs=programs,
            elsewhere=elsewhere,
        )
    )


def _is_lasting(found: Found | None, root: str) -> bool:
    """Say whether an environment is found without a word, also by who has not activated it."""
    if found is None:
        return False
    inside = os.path.relpath(os.path.realpath(found.prefix), os.path.realpath(root))
    is_outside = inside.startswith("..")
    return is_outside or "/" in inside or inside in FOUND_BY_ITSELF


class TrialBench:
    """Tries suites in a cell, with a configuration that nobody has written yet."""

    def __init__(self, parts: Parts, configuration: Configuration) -> None:
        self._parts = parts.at(parts.root)
        self._parts.configuration = configuration
        self._bench = make_bench(self._parts)

    def trial_of(self, suite: Suite) -> Trial:
        """Return what came of a suite."""
        return try_suite(self._bench, suite, lambda text: self._parts.redactor.redact(text).text)

    def tools_of(self, trials: Sequence[Trial]) -> tuple[str, ...]:
        """Return the programs that the commands use, with their versions."""
        tools = contract_tools(self._parts, self._bench, [case_of(trial) for trial in trials])
        return tuple(map(str, tools))
