"""Programs that some tests cannot do without.

On a machine without one of them its tests are left out, and say why. CI has all of them
(`.ci/run` installs them), so that there a test which is left out for a program is a failure.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import NoReturn

import pytest


def need(program: str, reason: str) -> None:
    """Leave a test out where a program is missing, and say so."""
    if shutil.which(program) is None:
        leave_out(f"`{program}` is not here: {reason}")


def need_working(program: str, *arguments: str) -> None:
    """Leave a test out where a program is missing, or is one that can do nothing."""
    try:
        subprocess.run([program, *arguments], check=True, capture_output=True, timeout=300)
    except (OSError, subprocess.SubprocessError):
        leave_out(f"`{program}` does not work here: its runs are looked at")


def leave_out(message: str) -> NoReturn:
    """Leave a test out for a program; in CI that is a failure."""
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
