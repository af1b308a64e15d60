"""cargo: one more integration test of the package."""

from __future__ import annotations

import tomllib

from planbound.engine.judging.canary.model import Canary, Found, Project, joined, parent
from planbound.plan.command.word import words

_ALLOWED = words(
    "-q --quiet -v --verbose -vv --offline --locked --frozen --workspace --all --release -r "
    "--no-fail-fast --all-features --no-default-features --tests --all-targets --color --nocapture "
    "--test-threads --show-output -- --ignore-rust-version --include-ignored"
)
_VALUED = words("-F --features -j --jobs --target-dir --profile")
_TEST = """\
#[test]
fn {name}() {{
    panic!("{name} fails, as it should");
}}
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a file in `tests` of a package that is tested."""
    operands = [word for word in found.operands(_VALUED) if word[:1] != "+"]
    own = [word for word in operands if word[:1] != "-"]
    if own not in (["test"], ["t"]) or found.unknown(_ALLOWED, _VALUED):
        return None
    package = _package(found.directory, project)
    if package is None:
        return None
    path = joined(package, f"tests/{project.name}.rs")
    return Canary(((path, _TEST.format(name=project.name).encode()),), project.name)


def _package(directory: str, project: Project) -> str | None:
    """Return the directory of a package that cargo tests when it is called there."""
    while (manifest := _manifest(directory, project)) is None:
        if not directory:
            return None
        directory = parent(directory)
    if "package" in manifest:
        return directory if _takes_tests(manifest) else None
    workspace = manifest.get("workspace")
    if not isinstance(workspace, dict) or "default-members" in workspace:
        return None
    members = workspace.get("members")
    for member in members if isinstance(members, list) else []:
        place = joined(directory, str(member).strip("/"))
        inner = _manifest(place, project)
        if inner is not None and _takes_tests(inner):
            return place
    return None


def _manifest(directory: str, project: Project) -> dict[str, object] | None:
    text = project.text(joined(directory, "Cargo.toml"))
    try:
        return None if text is None else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _takes_tests(manifest: dict[str, object]) -> bool:
    package = manifest.get("package")
    return isinstance(package, dict) and package.get("autotests", True) is True
