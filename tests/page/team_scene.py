"""A repository with plans in every lane of the board."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.run.bench import NOTHING, Step
from tests.team.repo import Team

HOSTILE = "<script>alert(1)</script> \u202eevil"


def lay_team(folder: Path) -> Team:
    """Return a repository: `money` merged, `round` done, `rates` asked about, others begin later.

    `money` is merged, `round` is done in its worktree, `rates` waits for a person, `export` is
    approved and ready, `report` waits for `round` and `export`, `site` is approved by nobody.
    """
    team = Team(folder)
    for name in ("money", "round"):
        team.named(name, depends_on="money" if name == "round" else "")
        team.goes("spawn", name)
        team.goes("run", name)
        if name == "money":
            team.goes("integrate", name)
    team.named("rates", Step("make rates", work=NOTHING, fields="**on_fail:** escalate"))
    team.goes("run", "rates", code=4)
    team.named("export", depends_on="money")
    team.named("report", depends_on="round, export, money")
    team.named("site", Step(f"make site {HOSTILE}", touches="src/site"), approve=False)
    return team


if __name__ == "__main__":
    lay_team(Path(sys.argv[1]))
