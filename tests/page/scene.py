"""A project with three plans: one that ran and ended badly, one that is proved, one draft."""

from __future__ import annotations

from pathlib import Path

from tests.program import SOUND
from tests.run.bench import Bench, Step

HOSTILE = '<script>alert(1)</script><img src="https://evil.example/x"> \u202eevil \x1b[2J'
"""What an agent prints that would rather be run than read."""


def lay_scene(folder: Path) -> Bench:
    """Return a project whose plans `again`, `fine` and `hello` are where they are in each test."""
    bench = Bench(folder)
    again = (
        Step("Make a", target="coder-again"),
        Step(
            "Make b",
            target="coder-again",
            work=(
                "echo wrong > src/b; echo stray > src/stray",
                f"echo nearly > src/b; printf '%s\\n' '{HOSTILE}'; echo 'I look at src/b'",
                "echo still > src/b",
            ),
            contract="cat src/b; grep -qx right src/b",
            fields="**on_fail:** retry(2), then escalate",
        ),
        Step("Make c", target="coder-again"),
    )
    bench.prepare(*again, name="again")
    bench.run("run", "again")
    bench.prepare(Step("Make d", target="coder-fine"), name="fine")
    bench.run("run", "fine")
    bench.plan("hello", SOUND.replace("coder", "coder-fine").replace("reviewer", "coder-fine"))
    return bench


if __name__ == "__main__":
    import sys

    lay_scene(Path(sys.argv[1]))
