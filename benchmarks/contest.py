"""The peers of `planbound run`: what each is, how it is installed and what it takes.

LangGraph, Prefect and DBOS get an environment each below `.tools/peers`, which `make clean`
removes; they are no dependency of this project.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.process import Launch, clean_environment, launch

ROOT = Path(__file__).parents[1]
ENVIRONMENTS = ROOT / ".tools" / "peers"
_UV = ROOT / ".tools" / "bin" / "uv"
_SETTINGS = {
    "PREFECT_LOGGING_LEVEL": "CRITICAL",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "PREFECT_SERVER_EPHEMERAL_STARTUP_TIMEOUT_SECONDS": "120",
    "DO_NOT_TRACK": "1",
}
"""Nobody's console is measured, and nothing is told to anybody."""


class Lap(NamedTuple):
    """What a contestant took: seconds a step, seconds to the first step, megabytes at most."""

    step: float
    start: float
    megabytes: float


class Peer(NamedTuple):
    """A script in `benchmarks/peers`, and what it needs besides Python."""

    name: str
    module: str
    requirements: tuple[str, ...] = ()


PLAIN = Peer("plain loop", "plain_loop")
PEERS = (
    PLAIN,
    Peer("plain loop with a journal", "own_journal"),
    Peer(
        "LangGraph",
        "langgraph_graph",
        ("langgraph==1.2.20", "langgraph-checkpoint-sqlite==3.1.2"),
    ),
    # This Prefect does not start with the FastAPI of today.
    Peer("Prefect", "prefect_flow", ("prefect==3.8.8", "fastapi==0.139.2")),
    Peer("DBOS", "dbos_workflow", ("dbos==3.3.0",)),
)
MAKE = "GNU make"


class NotInstalledError(Exception):
    """A peer that this machine cannot get; the message says why."""


def interpreter(peer: Peer) -> str:
    """Return the Python that has the peer, installed where it was not; else NotInstalledError."""
    if not peer.requirements:
        return sys.executable
    home = ENVIRONMENTS / peer.module
    python = home / "bin" / "python"
    ready = home / ".ready"  # what is in there, written last
    wanted = "\n".join(peer.requirements)
    if ready.exists() and ready.read_text(encoding="utf-8") == wanted:
        return str(python)
    _uv("venv", "--clear", "--python", sys.executable, str(home))
    _uv("pip", "install", "--compile-bytecode", "--python", str(python), *peer.requirements)
    ready.write_text(wanted, encoding="utf-8")
    return str(python)


def _uv(*words: str) -> None:
    try:
        subprocess.run([str(_UV), *words, "--quiet"], check=True, capture_output=True, text=True)
    except FileNotFoundError:
        raise NotInstalledError("there is no uv; `make setup` gets it") from None
    except subprocess.CalledProcessError as error:
        reason = str(error.stderr).strip().splitlines() or ["uv failed"]
        raise NotInstalledError(reason[0]) from None


def run_peer(peer: Peer, python: str, folder: str, steps: int) -> Lap:
    """Run a peer's script once, in a new folder within `folder`, and return its lap."""
    place = _new_folder(folder)
    environment = clean_environment(folder, PYTHONPATH=str(ROOT), **_SETTINGS)
    command = [python, "-m", f"benchmarks.peers.{peer.module}", str(steps), place]
    found = launch(command, place, environment)
    laps = json.loads(Path(place, "laps.json").read_text(encoding="utf-8"))
    if laps["steps"] != steps:
        sys.exit(f"{peer.name} ran {laps['steps']} steps of {steps}")
    seconds = laps["last"] - laps["first"]
    return Lap(seconds / steps, laps["first"] - found.start, found.megabytes)


def run_make(folder: str, steps: int) -> Lap:
    """Run as many chained targets with GNU make.

    Each has two processes, and the second leaves the file by which make knows that it is done.
    """
    place = _new_folder(folder)
    rules = [
        f"s{number}: s{number - 1}\n\t@/bin/sh -c true\n\t@: > $@\n"
        for number in range(1, steps + 1)
    ]
    first = "s0:\n\t@date +%s%N > first\n\t@: > $@\n"
    text = f"all: s{steps}\n{first}{''.join(rules)}"
    Path(place, "Makefile").write_text(text, encoding="utf-8")
    found = launch(["make", "--silent"], place, clean_environment(folder))
    start = stamp(os.path.join(place, "first"), found)
    return Lap((found.seconds - start) / steps, start, found.megabytes)


def stamp(path: str, found: Launch) -> float:
    """Return how long after the start of a program `date +%s%N` wrote this file."""
    return int(Path(path).read_text(encoding="ascii")) / 1e9 - found.wall


def _new_folder(folder: str) -> str:
    place = os.path.join(folder, os.urandom(4).hex())
    os.mkdir(place)
    return place
