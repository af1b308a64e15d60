"""How a failing test is added to a contract's run, to see that the run goes red.

A run that stays green with such a test in it does not judge anything.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from planbound.engine.judging.canary import (
    cargo,
    go,
    jest,
    mocha,
    node,
    phpunit,
    pytest,
    rspec,
    unittest,
    vitest,
)
from planbound.engine.judging.canary.find import find_call
from planbound.engine.judging.canary.model import Canary, Found, Project
from planbound.plan.command import Script

__all__ = ["Canary", "canary_for", "replaces"]

# By the runner's name in a summary: the program that is called, and who makes the canary.
_MAKERS: Mapping[str, tuple[str, Callable[[Found, Project], Canary | None]]] = {
    "pytest": ("pytest", pytest.make),
    "unittest": ("unittest", unittest.make),
    "node --test": ("node", node.make),
    "jest": ("jest", jest.make),
    "vitest": ("vitest", vitest.make),
    "mocha": ("mocha", mocha.make),
    "cargo test": ("cargo", cargo.make),
    "go test": ("go", go.make),
    "rspec": ("rspec", rspec.make),
    "phpunit": ("phpunit", phpunit.make),
}


def canary_for(
    runner: str,
    script: Script,
    paths: Sequence[str],
    read: Callable[[str], bytes | None],
    nonce: str,
    taken: Callable[[str], bool] = lambda _path: False,
) -> Canary | None:
    """Return a failing test for a runner; None where an honest run might not go red with it.

    Where several runners were seen (`pytest + jest`), it is for the first that can have one.
    `taken` says what else there is besides the files: links, folders, caches.
    """
    plain = "".join(sign for sign in nonce.lower() if sign.isascii() and sign.isalnum())
    project = Project(paths, read, plain)
    for name in runner.split(" + "):
        if name not in _MAKERS:
            continue
        program, make = _MAKERS[name]
        found = find_call(script, program, project)
        canary = make(found, project) if found is not None else None
        if canary is not None and not replaces(canary, project, taken):
            return canary
    return None


def replaces(canary: Canary, project: Project, taken: Callable[[str], bool]) -> bool:
    """Say whether something would be gone that is there: then it does not meet the product.

    More tests at the end of a file of tests are none that replace it.
    """
    known = set(project.paths)
    for path, content in (*canary.files, *canary.programs):
        before = project.read(path) if path in known else None
        if before is None and (path in known or taken(path)):
            return True
        if before is not None and not content.startswith(before):
            return True
    return False
