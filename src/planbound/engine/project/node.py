"""Node projects: which script tests them, by which of the package managers."""

from __future__ import annotations

import json
from collections.abc import Mapping

from planbound.engine.project.suite import Seen, Suite, at, below, folders_of, inside
from planbound.source.pattern import lazy_pattern

SIGNS = frozenset({"package.json"})
_LOCKS = {
    "pnpm-lock.yaml": "pnpm",
    "yarn.lock": "yarn",
    "bun.lock": "bun",
    "bun.lockb": "bun",
    "package-lock.json": "npm",
    "npm-shrinkwrap.json": "npm",
}
_SETUP = {
    "pnpm": "pnpm install --frozen-lockfile",
    "yarn": "yarn install",
    "bun": "bun install",
    "npm": "npm ci",
}
_RUN = {"pnpm": "pnpm test", "yarn": "yarn test", "bun": "bun run test", "npm": "npm test"}
_RUNNERS = {"vitest": "vitest run", "jest": "jest", "mocha": "mocha", "ava": "ava", "tap": "tap"}
_TEST = lazy_pattern(
    r"(?:.*/)?(?:tests?|__tests__|spec)/.*\.[cm]?[jt]sx?|(?:.*/)?[^/]+\.(?:test|spec)\.[cm]?[jt]sx?"
)
_SOURCES = ("src", "lib")
_NO_TEST = "no test specified"
"""What `npm init` writes."""


def propose(seen: Seen, place: str) -> Suite | None:
    """Return how a folder's Node tests are run; None where there is no `package.json`."""
    if below(place, "package.json") not in seen.names:
        return None
    package = _package(seen.text(below(place, "package.json")))
    files = inside(seen, place)
    lock = next((name for name in _LOCKS if name in files), None)
    manager = _LOCKS[lock] if lock else "npm"
    tests = [path for path in files if _TEST.fullmatch(path)]
    return Suite(
        "Node",
        place,
        tuple(below(place, name) for name in ("package.json", lock) if name),
        tuple(at(place, command) for command in _commands(package, manager, tests)),
        tuple(dict.fromkeys((*_sources(files, place), *folders_of(tests, place, "*.test.*")))),
        setup=at(place, _SETUP[manager] if lock else "npm install"),
        is_set_up=below(place, "node_modules") in seen.made or not _needs(package),
    )


def _package(text: str) -> Mapping[str, object]:
    try:
        package = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return package if isinstance(package, dict) else {}


def _commands(package: Mapping[str, object], manager: str, tests: list[str]) -> tuple[str, ...]:
    scripts = package.get("scripts")
    script = scripts.get("test") if isinstance(scripts, dict) else None
    if isinstance(script, str) and script.strip() and _NO_TEST not in script:
        # What the manager of the lock file does, npm does as well, where only that is there.
        return tuple(dict.fromkeys((_RUN[manager], _RUN["npm"])))
    if not tests:
        return ()
    needed = _needs(package)
    runner = next((name for name in _RUNNERS if name in needed), None)
    return (f"node_modules/.bin/{_RUNNERS[runner]}",) if runner else ("node --test",)


def _needs(package: Mapping[str, object]) -> frozenset[str]:
    found: set[str] = set()
    for key in ("dependencies", "devDependencies"):
        table = package.get(key)
        found.update(table if isinstance(table, dict) else ())
    return frozenset(found)


def _sources(files: list[str], place: str) -> tuple[str, ...]:
    tops = {path.split("/", 1)[0] for path in files if "/" in path}
    found = tuple(below(place, f"{top}/**") for top in _SOURCES if top in tops)
    return found or ((below(place, "*.js"),) if any(p.endswith(".js") for p in files) else ())
