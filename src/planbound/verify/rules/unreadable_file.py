"""The file is not text that can be read.

## What it does
Reports a file that is not UTF-8, is binary, or is far too large to be a plan.

## Why it matters
What cannot be read cannot be approved: the person at the gate and the agent would see two
different texts.

## Example
A plan saved as UTF-16 or Latin-1.

## Instead
The same plan saved as UTF-8.
"""

from __future__ import annotations

from planbound.source import Severity
from planbound.verify.rule import Rule, faults_of

RULE = Rule(
    code="PB113",
    name="unreadable-file",
    severity=Severity.ERROR,
    check=faults_of("unreadable-file"),
)
