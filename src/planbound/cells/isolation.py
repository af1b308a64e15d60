"""How well a command is kept apart: a word that plans, configurations and verdicts use."""

from __future__ import annotations

import enum


class Isolation(enum.Enum):
    """How a command was kept apart from everything else."""

    I0 = "I0"
    """A plain process in a copy of the tree."""
    I1 = "I1"
    """Landlock, seccomp and a subreaper, in a copy of the tree."""
    I2 = "I2"
    """Namespaces, an overlay, masks, no capabilities, seccomp."""
    I3 = "I3"
    """Another user, a container or a virtual machine."""
    I4 = "I4"
    """Another machine."""

    def reaches(self, wanted: Isolation) -> bool:
        """Say whether this is as much as is wanted."""
        return self.value >= wanted.value
