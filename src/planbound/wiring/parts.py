"""Puts the real parts together."""

from __future__ import annotations

import os
from functools import cached_property

from planbound.engine.configuration import Configuration
from planbound.errors import UsageError
from planbound.ports.files import Files, Workspace
from planbound.ports.surroundings import Surroundings
from planbound.store.files import RealFiles
from planbound.workspace.tree import WorkspaceTree, find_root


class Parts:
    """The parts for one workspace, each made when it is first asked for."""

    def __init__(self, *, workspace: str | None = None) -> None:
        try:
            self.current = os.getcwd()
        except OSError as error:
            raise UsageError(f"the current directory is not there: {error.strerror}") from error
        if workspace is not None and not os.path.isdir(workspace):
            raise UsageError(f"`{workspace}` is not a directory")
        # A workspace that is named is taken as it is; without a name the nearest one is found.
        self.root = (
            os.path.realpath(workspace) if workspace is not None else find_root(self.current)
        )
        self.real_files = RealFiles()

    @cached_property
    def files(self) -> Files:
        """Reading and writing whole files."""
        return self.real_files

    @cached_property
    def tree(self) -> Workspace:
        """The plans of the workspace."""
        return WorkspaceTree(self.root, current=self.current)

    @cached_property
    def configuration(self) -> Configuration:
        """What the workspace says about itself."""
        from planbound.workspace.configuration_file import (  # noqa: PLC0415 - not every command
            load_configuration,
        )

        return load_configuration(self.root)

    def surroundings(self, *, profile: str | None = None) -> Surroundings:
        """What verification asks about; a profile may be given for this once."""
        from planbound.shell.syntax import BashSyntax  # noqa: PLC0415 - not every command
        from planbound.workspace.surroundings import RealSurroundings  # noqa: PLC0415

        configuration = self.configuration
        if profile is not None:
            configuration = configuration._replace(profile=profile)
        return RealSurroundings(
            root=self.root,
            harness=os.path.join(self.root, ".harness"),
            configuration=configuration,
            syntax=BashSyntax(),
        )
