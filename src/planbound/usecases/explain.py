"""Tell what a rule is about."""

from __future__ import annotations

from planbound.errors import UsageError
from planbound.plan.suggest import nearest
from planbound.verify.rule import Rule
from planbound.verify.rules import PAGES, RULES


def find_rule(code: str) -> Rule:
    """Return the rule of a code or name."""
    wanted = code.strip().upper()
    for rule in RULES:
        if wanted in {rule.code, rule.name.upper()}:
            return rule
    near = nearest(code, [*(rule.code for rule in RULES), *(rule.name for rule in RULES)])
    hint = f"did you mean `{near}`?" if near else "`planbound explain` lists all rules"
    raise UsageError(f"there is no rule `{code}`", hint=hint)


def documentation(rule: Rule) -> str:
    """Return the page of a rule."""
    return PAGES[rule.code].strip()
