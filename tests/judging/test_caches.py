"""Caches are dropped before judging."""

from __future__ import annotations

import pytest

from planbound.judging.case import CACHE_NAMES, is_cache


@pytest.mark.parametrize(
    "path",
    [
        "__pycache__",
        "src/app/__pycache__/a.cpython-311.pyc",
        ".pytest_cache/v/cache/lastfailed",
        "web/node_modules/.cache/babel/x.json",
        "node_modules/.cache",
        ".coverage",
        ".coverage.host.123",
        "web/tsconfig.tsbuildinfo",
        ".hypothesis/examples/a",
        ".tox/py311/bin/pytest",
        ".eslintcache",
    ],
)
def test_what_makes_tools_faster_is_a_cache(path: str) -> None:
    assert is_cache(path)


@pytest.mark.parametrize(
    "path",
    [
        "json.pyc",
        "src/app/cache.py",
        ".coveragerc",
        "node_modules/left-pad/index.js",
        ".cache/x",
        "src/.cache/node_modules",
        "docs/__pycache__.md",
        "tests/test_a.py",
    ],
)
def test_what_somebody_wrote_is_no_cache(path: str) -> None:
    assert not is_cache(path)


def test_every_name_of_a_cache_is_one_at_any_depth() -> None:
    assert all(is_cache(name) and is_cache(f"a/b/{name}/c") for name in CACHE_NAMES)
