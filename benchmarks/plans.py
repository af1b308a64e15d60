"""Plans of any length, sound and with everything that a step usually has."""

from __future__ import annotations

_STEP = """\
### {number}. Round the amounts of ledger {number}

**target:** coder
**subscriptions:**
- file:ledger/{before}.csv
**touches:**
- ledger/{number}.csv

**task:**
Round every amount in `ledger/{number}.csv` to whole cents, half to even, and keep the order of
the lines. The sum must not move by more than one cent.

**contract:**
```shell
test -s ledger/{number}.csv && test "$(grep -c ';' ledger/{number}.csv)" -ge {number}
```
exit_code == 0
**on_fail:** retry(2), then escalate

"""


def plan_text(steps: int) -> str:
    """Return a plan with that many steps."""
    head = (
        "---\ntype: plan\nstatus: draft\nowner: orchestrator\n---\n\n# Round the ledgers\n\n"
        "**Context:** Totals differ by a cent.\n**Budget:** max 1M tokens, $8.00, 2h\n\n"
        "## Steps\n\n"
    )
    body = "".join(_STEP.format(number=n, before=max(1, n - 1)) for n in range(1, steps + 1))
    return (
        head + body + "## Postconditions\n\n1. All there\n   ```shell\n   ls ledger/1.csv\n   ```\n"
    )
