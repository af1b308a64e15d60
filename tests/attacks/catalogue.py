"""All attacks there are."""

from __future__ import annotations

from tests.attacks import (
    blind_judges,
    compiled_projects,
    doors_left_open,
    edited_tests,
    failing_once,
    forged_ends,
    git_tricks,
    hidden_places,
    home_and_network,
    node_projects,
    not_run,
    other_process,
    outside_scope,
    processes,
    python_tricks,
    runner_hooks,
    secrets_and_state,
    shell_projects,
    unfollowed_tests,
    ways_to_call,
)

MODULES = (
    edited_tests,
    runner_hooks,
    python_tricks,
    processes,
    secrets_and_state,
    home_and_network,
    outside_scope,
    git_tricks,
    node_projects,
    shell_projects,
    blind_judges,
    not_run,
    forged_ends,
    failing_once,
    compiled_projects,
    doors_left_open,
    ways_to_call,
    unfollowed_tests,
    other_process,
    hidden_places,
)
ATTACKS = tuple(attack for module in MODULES for attack in module.ATTACKS)
OTHER_LANGUAGES = tuple(
    attack
    for module in (node_projects, shell_projects, compiled_projects)
    for attack in module.ATTACKS
)
