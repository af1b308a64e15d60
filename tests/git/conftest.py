"""Repositories for the tests of this folder."""

from tests.team.conftest import team

__all__ = ["team"]
