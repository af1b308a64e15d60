"""What an agent reads to learn the plan tools."""

from planbound.engine.loop.instructions import INSTRUCTIONS

SKILL = f"""\
---
name: planbound
description: >-
  Keep a plan outside of the conversation and have every step proved. Use it when a task has more
  than two steps, when a plan is open in this workspace, or when stopping was refused.
---

# Planbound

{INSTRUCTIONS}"""
