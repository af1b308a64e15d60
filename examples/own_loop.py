"""The smallest loop with a gate: no framework, and a script in the place of the model.

Runs offline: `python examples/own_loop.py`.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import planbound


def main() -> None:
    """Let an agent say twice that it is done before it is."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch, "workspace")
        folder.mkdir()
        os.environ["PLANBOUND_STATE"] = str(Path(scratch, "state"))

        session = planbound.open_session(str(folder))
        prompt = planbound.instructions()  # what a model is told first, beside its own task
        print(prompt.splitlines()[0])
        said = session.call(
            "plan_create",
            objective="Say hello",
            steps=[{"title": "Write the greeting", "contract": "grep -qx hello hello.txt"}],
        )
        print(said.text)

        words = iter(["All done!", "Really done, trust me.", ""])

        def turn(refusal: str | None) -> str:
            print(f"\n> {refusal.splitlines()[1] if refusal else 'Follow the plan.'}")
            text = next(words)
            if not text:  # at last it does the work, and forgets to say so
                (folder / "hello.txt").write_text("hello\n")
            print(text or "(nothing)")
            return text

        ending = planbound.run_gated(turn, planbound.gate(session))
        print(f"\n{ending.outcome} after {ending.turns} turns")


if __name__ == "__main__":
    main()
