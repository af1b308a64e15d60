"""Programs that some tests cannot do without."""

from __future__ import annotations

import os
import shutil

import pytest


def need(program: str, reason: str) -> None:
    """Leave a test out where a program is missing, and say so; in CI that is a failure."""
    if shutil.which(program) is not None:
        return
    message = f"`{program}` is not here: {reason}"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)
