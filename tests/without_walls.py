"""`planbound` on a machine that has only the weakest cell: a copy of the tree, and no walls."""

from __future__ import annotations

import sys

from planbound.cells import choose
from planbound.cells.choose import CopyCell
from planbound.cli.main import main

if __name__ == "__main__":
    choose._KINDS = (CopyCell,)
    sys.exit(main(sys.argv[1:]))
