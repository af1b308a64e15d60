"""Let a model divide what a file lists into the batches that a template is written out with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from planbound.engine.drafting.answer import find_batches
from planbound.engine.drafting.feedback import write_bad_batches, write_diagnostics
from planbound.engine.drafting.prompt import write_expand_prompt
from planbound.engine.prompt import Context
from planbound.errors import Refused, UsageError
from planbound.plan.expand import Batch, Expansion, expand
from planbound.plan.model import Plan
from planbound.plan.parse import write
from planbound.usecases.draft import ROUNDS, Desk
from planbound.usecases.modify import new_errors
from planbound.usecases.verify import verify


def fill_template(desk: Desk, plan: Plan, label: str, source: Context) -> Expansion:
    """Return the plan with a template written out; refuse where no batches could be used."""
    message = write_expand_prompt(plan.source.text, label, source)
    faults: dict[str, Sequence[str]] = {}
    for number in range(1, ROUNDS + 1):
        desk.tell(f"round {number} of {ROUNDS}: asking `{desk.drafter.name}`")
        batches = find_batches(desk.drafter.ask(desk.clean(message)))
        faults = _faults(batches, source.content or "")
        if not faults:
            try:
                expansion = expand(plan, label, batches)
            except UsageError as error:
                faults = {error.message: ()}
            else:
                faults = _new_faults(desk, plan, expansion)
                if not faults:
                    return expansion
        desk.tell(f"round {number} of {ROUNDS}: {'; '.join(faults)}")
        message = write_bad_batches(faults)
    raise Refused(
        f"no batches that could be used in {ROUNDS} rounds: {'; '.join(faults)}",
        hint="write them yourself: `--batches FILE`",
    )


def _faults(batches: Sequence[Batch], text: str) -> dict[str, Sequence[str]]:
    items = [item for batch in batches for item in batch]
    if not items:
        return {"there are no batches in the answer": ()}
    found: dict[str, Sequence[str]] = {}
    # A model that lists from memory invents: only what the file says is taken.
    invented = [item for item in items if item not in text]
    if invented:
        found["these are not in the file, to the letter"] = invented
    twice = [item for item, count in Counter(items).items() if count > 1]
    if twice:
        found["these are named twice"] = twice
    return found


def _new_faults(desk: Desk, plan: Plan, expansion: Expansion) -> dict[str, Sequence[str]]:
    path = plan.source.path
    before = verify(write(plan), path=path, surroundings=desk.surroundings)
    after = verify(write(expansion.plan), path=path, surroundings=desk.surroundings)
    wrong = new_errors(before, after)
    if not wrong:
        return {}
    said = write_diagnostics(after.plan, wrong)
    return {"the steps that come of it have errors": said.split("\n")[1:-1]}
