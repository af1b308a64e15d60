"""What all tests share."""

from __future__ import annotations

import gc
import importlib.util
import multiprocessing
import os
import signal
import sys
from pathlib import Path

import pytest
from _pytest.assertion import rewrite
from hypothesis import HealthCheck, settings

from tests.browser import chromium  # noqa: F401 - a fixture
from tests.examples import QUICK, look_quickly
from tests.program import Program
from tests.project_environment import active_environment

# Machines are noisy: a slow example is not a failure. The same examples each time, so that a
# change is told from luck; with `PLANBOUND_EXPLORE=1` there are new ones.
settings.register_profile(
    "planbound",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=not os.environ.get("PLANBOUND_EXPLORE"),
)
settings.register_profile("quick", settings.get_profile("planbound"), max_examples=QUICK)
settings.load_profile("planbound")

# These install real agent programs first (`make test-agents`), and those are material.
collect_ignore = ["agents_installed", "fixtures"]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--quick", action="store_true", help="what `make test` runs: see tests/README.md"
    )
    parser.addoption(
        "--left-out",
        action="store_true",
        help="what `make test` does not run, or with few examples: for `make coverage`",
    )


def pytest_configure(config: pytest.Config) -> None:
    _hear_signals()
    if config.getoption("quick"):
        settings.load_profile("quick")
        look_quickly()


def _hear_signals() -> None:
    """Let programs that tests start hear Ctrl-C, also where `make test &` was told to ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Do once, before there are workers, what each of them would do by itself."""
    workers = session.config.getoption("numprocesses", None)
    if not workers or hasattr(session.config, "workerinput"):
        return
    active_environment()
    if not sys.dont_write_bytecode:
        _rewrite_assertions(session.config)


def _rewrite_assertions(config: pytest.Config) -> None:
    changed = [path for path in sorted(Path(__file__).parent.rglob("test_*.py")) if _is_new(path)]
    if len(changed) > 20:
        global _config  # noqa: PLW0603 - for the forks, which cannot be given it
        _config = config
        with multiprocessing.get_context("fork").Pool() as pool:
            pool.map(_rewrite, changed)


_config: pytest.Config


def _cache(path: Path) -> Path:
    return rewrite.get_cache_dir(path) / f"{path.stem}{rewrite.PYC_TAIL}"


def _is_new(path: Path) -> bool:
    try:
        known = _cache(path).read_bytes()[8:16]
    except OSError:
        return True
    return known != importlib.util.source_hash(path.read_bytes())


def _rewrite(path: Path) -> None:
    digest, code = rewrite._rewrite_test(path, _config)
    _cache(path).parent.mkdir(exist_ok=True)
    rewrite._write_pyc(_config.stash[rewrite.assertstate_key], code, digest, _cache(path))


def pytest_collection(session: pytest.Session) -> None:
    """Look for no garbage where all is kept; see `pytest_collection_finish`."""
    del session
    gc.disable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """Never look for garbage again in what was imported for all tests."""
    del session
    gc.freeze()
    gc.enable()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("quick"):
        chosen = [item for item in items if not is_thorough(item)]
    elif config.getoption("left_out"):
        chosen = [item for item in items if is_thorough(item) or has_examples(item)]
    else:
        return
    kept = set(chosen)
    config.hook.pytest_deselected(items=[item for item in items if item not in kept])
    items[:] = chosen


def is_thorough(item: pytest.Item) -> bool:
    """Say whether a test is for `make test-all` only: by its mark, or for its database."""
    databases = {"postgres", "postgres_place", "shared_team"}
    needed = databases.intersection(getattr(item, "fixturenames", ()))
    return item.get_closest_marker("thorough") is not None or bool(needed)


def has_examples(item: pytest.Item) -> bool:
    """Say whether a test looks at as many examples as there is time for."""
    return bool(getattr(getattr(item, "obj", None), "is_hypothesis_test", False))


@pytest.fixture
def program(tmp_path: Path) -> Program:
    (tmp_path / ".git").mkdir()
    return Program(tmp_path)
