"""Planbound holds agents to the plan.

Importing this package costs nothing: everything lives in its sub-packages.
`planbound.plan` reads and writes plan files, `planbound.verify` finds what is wrong with them.
"""

__version__ = "0.1.0"
