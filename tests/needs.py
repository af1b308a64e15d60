"""Programs that some tests cannot do without."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest


def need(program: str, reason: str) -> None:
    """Leave a test out where a program is missing, and say so; in CI that is a failure."""
    if shutil.which(program) is not None:
        return
    message = f"`{program}` is not here: {reason}"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


def need_working(program: str, *arguments: str) -> None:
    """Leave a test out where a program that is not everybody's cannot be started, also in CI."""
    try:
        subprocess.run([program, *arguments], check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        pytest.skip(f"`{program}` does not work here")
