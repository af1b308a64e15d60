"""What the kernel offers, asked without changing anything."""

from __future__ import annotations


def is_there() -> bool:
    """Say whether the numbers of this machine's system calls are known."""
    from planbound.shell.cell.inside.seccomp import is_supported  # noqa: PLC0415 - loads ctypes

    return is_supported()


def landlock_version() -> int:
    """Return how much the kernel's Landlock can do; 0 where there is none."""
    from planbound.shell.cell.inside.landlock import version  # noqa: PLC0415 - loads ctypes

    return version()
