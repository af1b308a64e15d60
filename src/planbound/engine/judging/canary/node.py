"""`node --test`: one more test file beside another.

Each file has its own process. The canary loads some of the other files first, so that what ends
their process early ends the canary's too.
"""

from __future__ import annotations

from planbound.engine.judging.canary.javascript import is_glob, matches
from planbound.engine.judging.canary.model import Canary, Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_ALLOWED = words(
    "--test --no-warnings --enable-source-maps --experimental-strip-types --test-force-exit "
    "--experimental-test-coverage --experimental-vm-modules --experimental-test-module-mocks "
    "--trace-warnings --test-reporter --test-concurrency --test-timeout --import"
)
_VALUED = words("--import -r --require --test-reporter --test-reporter-destination --loader")
# What every version finds by itself.
_FOUND = lazy_pattern(r"(?:.{1,200}[._-]test|test-.{1,200}|test)\.[cm]?js")
_SKIPPED = lazy_pattern(r"(?:^|/)(?:node_modules|\.[^/]*)/")
_MODULES = (".js", ".cjs", ".mjs")
_MOST_LOADED = 8
_TEST = """\
{imports}import {{ test }} from 'node:test';

test('{name}', () => {{
  throw new Error('{name} fails, as it should');
}});
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a module that node finds, or that the command's globs match."""
    if not found.call.has("--test") or found.unknown(_ALLOWED, _VALUED):
        return None
    operands = found.operands(_VALUED)
    for operand in operands or [""]:
        selected = _selected(found, operand, project)
        if not selected:
            continue
        place = _place(found, operand, selected, project)
        if place is not None:
            content = _content(place, selected[:_MOST_LOADED], project.name)
            return Canary(((place, content),), project.name)
    return None


def _selected(found: Found, operand: str, project: Project) -> list[str]:
    """Return the test files that an operand stands for, those on top first."""
    target = below(found.directory, operand)
    if target is None:
        return []
    if is_glob(target):
        kept = [path for path in project.paths if matches(path, target)]
    elif operand and any(
        project.read(joined(target, f"index{kind}")) is not None for kind in _MODULES
    ):
        # New versions take a directory for a module.
        return []
    else:
        kept = [path for path in project.below(target) if _is_test(path, target)]
    kept = [path for path in kept if path.endswith(_MODULES) and not _SKIPPED.search(path)]
    return sorted(kept, key=lambda path: (path.count("/"), path))


def _is_test(path: str, directory: str) -> bool:
    inside = path.removeprefix(f"{directory}/") if directory else path
    return _FOUND.fullmatch(base(path)) is not None or "/test/" in f"/{parent(inside)}/"


def _place(found: Found, operand: str, selected: list[str], project: Project) -> str | None:
    """Return where the canary is found, in a name that says it is a module if it can."""
    start = f"planbound-canary-{project.nonce}"
    target = below(found.directory, operand) or ""
    # A shell's `**` is `*`: both readings have to match.
    shell = target if found.is_quoted(operand) else target.replace("**/", "*/")
    both = (target, shell)
    for sibling in selected:
        for kind in (".test.mjs", "." + base(sibling).partition(".")[2]):
            place = joined(parent(sibling), start + kind)
            if kind.endswith(".mjs") and (
                not is_glob(target) or all(matches(place, glob) for glob in both)
            ):
                return place
            if is_glob(target) and all(matches(place, glob) for glob in both):
                return place
    return None


def _content(place: str, others: list[str], name: str) -> bytes:
    if not place.endswith(".mjs"):
        # Whether it is a module is not sure: both kinds can throw, and then the file fails.
        return f"throw new Error('{name} fails, as it should');\n".encode()
    up = "../" * place.count("/") or "./"
    imports = "".join(f"import '{up}{other}';\n" for other in others if "'" not in other)
    return _TEST.format(imports=imports, name=name).encode()
