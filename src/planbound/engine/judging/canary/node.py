"""`node --test`: more tests at the end of every test file.

Each file has its own process. Tests in a file of their own would say nothing about the others, and
the product could tell that process from theirs.
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
_MOST_FILES = 40
_MODULE_KINDS = (*_MODULES, ".ts", ".mts", ".cts")
# Each fails in another way that a product might undo in its own process.
_CHECKS = (
    "throw new Error(name);",
    "assert(false);",
    "assert.ok(false);",
    "assert.equal(1, 2);",
    "assert.strictEqual(1, 2);",
    "assert.notStrictEqual(1, 1);",
    "assert.deepEqual([1], [2]);",
    "assert.deepStrictEqual([1], [2]);",
    "assert.throws(() => {});",
    "assert.strict.equal(1, 2);",
    "assert.strict.deepEqual([1], [2]);",
)
# It has to run in both kinds of modules, and at once where that is possible: the runner may be told
# not to wait. What is thrown has no stack, so that the output stays short.
_TESTS = """
;(() => {{
  const load = typeof require === 'function' ? require : process.getBuiltinModule;
  const add = (runner, assert, entries) => {{
    for (const [name, check] of entries) {{
      runner.test(name, () => {{
        try {{
          check(assert, name);
        }} catch {{
          throw name;
        }}
      }});
    }}
  }};
  const entries = [
{entries}  ];
  if (load) add(load('node:test'), load('node:assert'), entries);
{later}}})();
"""
_LATER = """\
  const later = [
{entries}  ];
  Promise.all([import('node:test'), import('node:assert')]).then(([runner, assert]) => {{
    add(runner, assert.default, load ? later : [...entries, ...later]);
  }});
"""
FAILING = r"^\s*(?:not ok \d+ - |✖ ){name}\b"
PASSING = r"^\s*(?:ok \d+ - |✔ ){name}\b"


def make(found: Found, project: Project) -> Canary | None:
    """Return the test files that are run, each with failing tests at its end."""
    if not runs_all(found):
        return None
    selected = selected_files(found, project)
    if not 0 < len(selected) <= _MOST_FILES:
        return None
    hurried = found.call.has("--test-force-exit")
    files: list[tuple[str, bytes]] = []
    names: list[str] = []
    for path in selected:
        added = project.several(len(_CHECKS), path)
        later = () if hurried else project.several(2, path, "later")
        names += [*added, *later]
        files.append((path, (project.read(path) or b"") + _tests(added, later).encode()))
    plain = found.call.has("--test-reporter")
    return Canary(
        tuple(files),
        tuple(names),
        failing="{name}" if plain else FAILING,
        passing=PASSING,
    )


def runs_all(found: Found) -> bool:
    """Say whether all tests of the files are run."""
    return found.call.has("--test") and not found.unknown(_ALLOWED, _VALUED)


def _tests(names: tuple[str, ...], later: tuple[str, ...]) -> str:
    more = _LATER.format(entries=_entries(later)) if later else ""
    return _TESTS.format(entries=_entries(names), later=more)


def _entries(names: tuple[str, ...]) -> str:
    pairs = zip(names, _CHECKS, strict=False)
    return "".join(f"    ['{name}', (assert, name) => {{ {check} }}],\n" for name, check in pairs)


def selected_files(found: Found, project: Project) -> list[str]:
    """Return the test files that surely run, those on top first."""
    kept: dict[str, None] = {}
    for operand in found.operands(_VALUED) or [""]:
        kept.update(dict.fromkeys(_selected(found, operand, project)))
    return sorted(kept, key=lambda path: (path.count("/"), path))


def _selected(found: Found, operand: str, project: Project) -> list[str]:
    """Return the test files that an operand stands for."""
    target = below(found.directory, operand)
    if target is None:
        return []
    if is_glob(target):
        # A shell's `**` is `*`: both readings have to match.
        shell = target if found.is_quoted(operand) else target.replace("**/", "*/")
        kept = [path for path in project.paths if matches(path, target) and matches(path, shell)]
    elif operand and project.read(target) is not None:
        kept = [target]
    elif operand and any(
        project.read(joined(target, f"index{kind}")) is not None for kind in _MODULES
    ):
        # New versions take a directory for a module.
        return []
    else:
        kept = [path for path in project.below(target) if _is_test(path, target, project)]
        kept = [path for path in kept if path.endswith(_MODULES)]
    return [path for path in kept if path.endswith(_MODULE_KINDS) and not _SKIPPED.search(path)]


def _is_test(path: str, directory: str, project: Project) -> bool:
    """Say whether node takes a file for a test; what only helps tests is left alone."""
    inside = path.removeprefix(f"{directory}/") if directory else path
    if _FOUND.fullmatch(base(path)) is not None:
        return True
    return "/test/" in f"/{parent(inside)}/" and "node:test" in (project.text(path) or "")
