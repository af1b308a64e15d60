"""Ask for comments on a plan: advice, which decides nothing and is not recorded."""

from __future__ import annotations

from collections.abc import Callable

from planbound.engine.drafting.feedback import write_diagnostics
from planbound.engine.drafting.prompt import write_review_prompt
from planbound.errors import Refused
from planbound.ports.drafter import Drafter
from planbound.ports.repository import Repository
from planbound.usecases.draft import look_around
from planbound.usecases.verify import Verified


def review(
    drafter: Drafter, found: Verified, repository: Repository, clean: Callable[[str], str]
) -> str:
    """Return what somebody says about a plan, without secrets."""
    prompt = write_review_prompt(
        found.plan.source.text,
        write_diagnostics(found.plan, found.diagnostics),
        look_around(repository, clean),
    )
    comments = clean(drafter.ask(clean(prompt))).replace("\r\n", "\n").strip()
    if not comments:
        raise Refused(f"`{drafter.name}` said nothing about the plan", hint="ask again")
    return comments
