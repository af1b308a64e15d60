"""All attacks there are."""

from __future__ import annotations

from tests.attacks import (
    compiled_projects,
    doors_left_open,
    edited_tests,
    git_tricks,
    node_projects,
    outside_scope,
    processes,
    python_tricks,
    runner_hooks,
    secrets_and_state,
    shell_projects,
)

MODULES = (
    edited_tests,
    runner_hooks,
    python_tricks,
    processes,
    secrets_and_state,
    outside_scope,
    git_tricks,
    node_projects,
    shell_projects,
    compiled_projects,
    doors_left_open,
)
ATTACKS = tuple(attack for module in MODULES for attack in module.ATTACKS)
OTHER_LANGUAGES = tuple(
    attack
    for module in (node_projects, shell_projects, compiled_projects)
    for attack in module.ATTACKS
)
