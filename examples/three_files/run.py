"""Three files: an agent that skips one, without a gate and with one, and what the plan costs.

Runs offline, with a scripted model: `python examples/three_files/run.py`.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from agent import Agent, Tool, Usage
from scripts import FILES, with_a_plan, without_a_plan

import planbound

SIZES = dict(zip(FILES, (1200, 3400, 9800), strict=True))
LARGEST = max(SIZES, key=lambda name: SIZES[name])


class Shown(NamedTuple):
    """One line of the table."""

    name: str
    usage: Usage
    refusals: int
    ended: str
    reported: str


def own_tools(folder: Path) -> dict[str, Tool]:
    """Return what the agent works with."""

    def measure(path: str) -> str:
        """Measure a file, and note its size in `sizes.json`."""
        size = (folder / path).stat().st_size
        noted = folder / "sizes.json"
        known = json.loads(noted.read_text()) if noted.exists() else {}
        noted.write_text(json.dumps({**known, path: size}))
        return f"{path} has {size} bytes"

    def report(path: str) -> str:
        """Write the name of the largest file to `report.txt`."""
        (folder / "report.txt").write_text(f"{path}\n")
        return "reported"

    return {"measure": measure, "report": report}


def verifiers(folder: Path) -> dict[str, planbound.Verifier]:
    """Return what looks at the work itself: None where it is so, else what is found instead."""

    def measured(path: str) -> str | None:
        noted = folder / "sizes.json"
        known = json.loads(noted.read_text()) if noted.exists() else {}
        size = (folder / path).stat().st_size
        return None if known.get(path) == size else f"sizes.json says {known.get(path)} of {path}"

    def largest_reported() -> str | None:
        report = folder / "report.txt"
        said = report.read_text().strip() if report.exists() else "nothing"
        largest = max(FILES, key=lambda name: (folder / name).stat().st_size)
        return None if said == largest else f"report.txt says {said}"

    return {"measured": measured, "largest_reported": largest_reported}


def without(name: str, files: list[str]) -> Shown:
    """Let an agent work that is believed."""
    with workspace() as folder:
        agent = Agent(without_a_plan(files), own_tools(folder))
        text = agent.turn(None)
        print(f"\n{name}\n  it says: {text}\n  nobody asks")
        return Shown(name, agent.usage, 0, "as it says", reported(folder))


def gated(name: str, files: list[str]) -> Shown:
    """Let an agent work that ends when the gate lets it."""
    with workspace() as folder:
        session = planbound.open_session(str(folder), verifiers=verifiers(folder))
        plan_tools = {tool.__name__: tool for tool in planbound.tools(session)}
        agent = Agent(with_a_plan(files), {**own_tools(folder), **plan_tools})
        print(f"\n{name}")

        def turn(refusal: str | None) -> str:
            if refusal is not None:
                print("  the gate: " + refusal.partition("\n\n")[0].replace("\n", "\n    "))
            text = agent.turn(refusal)
            print(f"  it says: {text}")
            return text

        ending = planbound.run_gated(turn, planbound.gate(session), max_turns=10)
        print(f"  the gate: {ending.outcome}")
        return Shown(name, agent.usage, ending.turns - 1, ending.outcome, reported(folder))


def reported(folder: Path) -> str:
    """Return what was reported, and whether it is true."""
    said = (folder / "report.txt").read_text().strip()
    return said if said == LARGEST else f"{said}, false"


@contextmanager
def workspace() -> Iterator[Path]:
    """Make the three files in a folder of their own, with the harness's state beside it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "workspace")
        folder.mkdir()
        os.environ["PLANBOUND_STATE"] = str(Path(scratch, "state"))
        for name, size in SIZES.items():
            (folder / name).write_bytes(b"x" * size)
        yield folder


def main() -> None:
    """Show all of them, then the table."""
    lines = [
        without("no plan, skips a file", FILES[:2]),
        without("no plan, careful", FILES),
        gated("plan and gate, skips a file", FILES[:2]),
        gated("plan and gate, careful", FILES),
    ]
    print(
        f"\n{'':28} {'turns':>5} {'tokens in':>9} {'tokens out':>10} {'refused':>7}"
        f"  {'ended':10}  reported"
    )
    for line in lines:
        usage = line.usage
        print(
            f"{line.name:28} {usage.turns:5} {usage.tokens_in:9} {usage.tokens_out:10}"
            f" {line.refusals:7}  {line.ended:10}  {line.reported}"
        )
    print(
        "\nTokens are estimated, four characters each; every turn reads all that was said before."
    )


if __name__ == "__main__":
    main()
