"""How well a command is kept apart: a word that plans, configurations and verdicts use.

And whether this process is: asked where nothing has to be run.
"""

from __future__ import annotations

import enum
import os

from planbound.errors import Refused


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


# -- whether this is the inside of one -----------------------------------------------------------


_CELL_MARK = "/run/planbound-cell"
AGENT_MARK = "PLANBOUND_ATTEMPT"
"""What every agent finds in its environment."""
KEEPER_MARK = "from planbound.cells.inside."
"""What every process of a cell that is ours, and their launcher, has in its command line."""


def refuse_in_cell() -> None:
    """Refuse to decide anything from inside a cell."""
    # Where there is no cell an agent could take the variable away: no wall, only a sign.
    if os.path.exists(_CELL_MARK) or os.environ.get(AGENT_MARK):
        raise Refused(
            "this is the inside of a cell: nothing is judged, approved or answered from here",
            hint="run it where the harness runs",
        )
