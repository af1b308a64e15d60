"""All rules, in the order of their codes: one file for each group of codes.

Rules of contracts stand in two: what cannot be run as it is written in `contracts`, what runs and
shows too little in `evidence`. A new rule is a function in the file of its group, and a line in
that file's list.
"""

from planbound.verify.rules import (
    check,
    contracts,
    controls,
    dependencies,
    evidence,
    files,
    steps,
    structure,
    touches,
)
from planbound.verify.subject import Rule

_GROUPS = (structure, steps, check, dependencies, files, touches, contracts, controls, evidence)
RULES: tuple[Rule, ...] = tuple(
    sorted((rule for group in _GROUPS for rule in group.RULES), key=lambda rule: rule.code)
)
