"""What happened to the tree since it was frozen, as far as it concerns a contract."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from posixpath import basename, dirname
from types import MappingProxyType
from typing import NamedTuple

from planbound.judging.case import SUPPORT, Scope, covers, is_cache, is_disguised, may_add, outside
from planbound.judging.judges import Judges
from planbound.judging.verdict import Tampering
from planbound.script.runners import BY_NAME, MODULES, RUNNERS
from planbound.source import lazy_pattern
from planbound.workspace.manifest import (
    ChangeKind,
    Entry,
    EntryType,
    Manifest,
    TreeChange,
    path_text,
)

# -- files that run by themselves: it is enough that they are there ------------------------------


_AT_START = "Python runs it at every start"
_JUDGING_MODULES = MODULES | frozenset("coverage hypothesis mypy ruff".split())
_TESTS = frozenset("tests test".split())
_TOOLS = frozenset(
    "python python3 make gmake git npm npx pnpm yarn bun deno ruby php bash sh env uv poetry tox "
    "tsc java mvn gradle cmake diff cmp grep test true false cat jq".split()
) | frozenset(
    program for runner in BY_NAME.values() if runner.in_folder for program in runner.programs
)

_BY_NAME = {
    "sitecustomize.py": _AT_START,
    "usercustomize.py": _AT_START,
    ".envrc": "direnv runs it",
    ".env": "runners and plugins take their environment from it",
    ".npmrc": "npm takes its settings from it",
    ".pnp.cjs": "yarn loads it into every process",
    ".pnpmfile.cjs": "pnpm runs it",
    "GNUmakefile": "make takes it instead of the Makefile",
    "makefile": "make takes it instead of the Makefile",
    ".gitattributes": "git runs the filters that it names",
    ".python-version": "it chooses another Python",
    ".tool-versions": "it chooses other tools",
    "go.work": "go takes modules from where it says",
}
_AT_ROOT = {
    ".bashrc": "a shell runs it",
    ".bash_env": "a shell runs it",
    ".bash_profile": "a shell runs it",
    ".profile": "a shell runs it",
    ".zshenv": "a shell runs it",
}
_BY_PATTERN = (
    (lazy_pattern(r".*\.pth"), _AT_START),
    (lazy_pattern(r"entry_points\.txt"), "Python finds plugins by it"),
    (lazy_pattern(r"\.yarnrc.*"), "yarn takes its settings from it"),
    *(loaded for runner in RUNNERS for loaded in runner.loaded),
    (lazy_pattern(r"babel\.config\..+|\.babelrc.*"), "babel rewrites the code as it says"),
)
_EXTENSION_MODULE = lazy_pattern(r"(\w+)(?:\.[\w-]+)*\.(?:so|pyd)")


def runs_by_itself(path: str, *, stdlib: frozenset[str] = sys.stdlib_module_names) -> str | None:
    """Return why a file takes effect as soon as it is there, None where it does not."""
    name, folder = basename(path), dirname(path)
    if (reason := _BY_NAME.get(name)) is not None:
        return reason
    if not folder and name in _AT_ROOT:
        return _AT_ROOT[name]
    for pattern, why in _BY_PATTERN:
        if pattern.fullmatch(name):
            return why
    if not folder or _among_tests(folder):
        for runner in RUNNERS:
            if name in runner.planted:
                return f"it changes what {runner.name} runs"
    if name.endswith(".pyc") and basename(folder) != "__pycache__":
        return "Python imports it as a module without a source"
    return _by_place(path, name, folder) or _shadows(name, folder, stdlib)


def _by_place(path: str, name: str, folder: str) -> str | None:
    git = f"/{path}".partition("/.git/")[2]
    if git.startswith("hooks/") and not name.endswith(".sample"):
        return "git runs it"
    if git in {"config", "config.worktree"}:
        return "git runs what it names"
    if basename(folder) == ".cargo" and name.startswith("config"):
        return "cargo takes its settings from it"
    if folder.endswith("node_modules/.bin"):
        return "package scripts run it as a command"
    if basename(folder) in {"bin", ".bin"} and name in _TOOLS:
        return f"it runs in place of `{name}`"
    return None


def _shadows(name: str, folder: str, stdlib: frozenset[str]) -> str | None:
    """Say which module is imported from here instead, where imports start."""
    module = _module(name)
    if module == "__init__":
        # `json/__init__.py`: the package is named by its directory.
        module, folder = basename(folder), dirname(folder)
    # `test` is what half of all projects call their tests.
    if not module or module == "test" or not _imports_start(folder):
        return None
    if module in _JUDGING_MODULES:
        return f"it is imported in place of `{module}`, which runs the tests"
    if module in stdlib:
        return f"it is imported in place of Python's own `{module}`"
    return None


def _module(name: str) -> str | None:
    if name.endswith(".py"):
        return name.removesuffix(".py")
    compiled = _EXTENSION_MODULE.fullmatch(name)
    return compiled[1] if compiled else None


def _imports_start(folder: str) -> bool:
    return folder in {"", "src"} or (_among_tests(folder) and basename(folder) not in SUPPORT)


def _among_tests(folder: str) -> bool:
    return not _TESTS.isdisjoint(folder.split("/"))


# -- what happened to the tree since it was frozen, as far as it concerns a contract -------------


_HARNESS = ".harness/"
_MARKER = ".harness/active-plan"
_BY_ITSELF = "added: "
_SHOWN = 20
_DISGUISED = "added: it is called as a cache is, and is none"
_BUILT = frozenset(
    b"target build dist out coverage htmlcov .cache .gradle zig-cache .zig-cache .uv-cache".split()
)
"""What tools that tag their folders call them."""


class Protection(NamedTuple):
    """What a contract is judged by instead of what is there, and what is wrong with that."""

    tampered: tuple[Tampering, ...] = ()
    outside: tuple[str, ...] = ()
    restored: tuple[tuple[str, Entry], ...] = ()
    """Judges that are laid from their frozen copies."""
    removed: tuple[str, ...] = ()
    """What is taken out of the contract's tree."""
    own: tuple[str, ...] = ()
    """Judges that changed, as `touches` allows."""
    flagged: tuple[Tampering, ...] = ()
    """What runs by itself and came to be where nothing says what may: only taken out."""
    ignored: tuple[str, ...] = ()
    """What was made outside of the scope and git ignores: taken out, too."""


Named = Mapping[str, tuple[str, ...] | None]
"""By summarised folder which files of it changed; None where nobody knows."""
_NOBODY: Named = MappingProxyType({})


def protect(
    changes: Sequence[TreeChange],
    judges: Judges,
    scope: Scope,
    named: Named = _NOBODY,
    ignored: Sequence[str] = (),
) -> Protection:
    """Return what has to be done about the changes since the tree was frozen.

    `ignored` are files and folders that git leaves out: what came to be there outside of the scope
    is taken out of the contract's tree, and nobody is blamed for it.
    """
    tampered: list[Tampering] = []
    restored: list[tuple[str, Entry]] = []
    removed: list[str] = []
    own: list[str] = []
    flagged: list[Tampering] = []
    rest: list[TreeChange] = []
    for change in changes:
        reason = None if _is_cache(change) else _concern(change, judges)
        if reason is None:
            rest.append(change)
        elif reason == _DISGUISED and not outside((change,), scope):
            flagged.append(Tampering(change.path, reason))
            removed.append(change.path)
        elif _is_own(change, scope):
            own.append(change.path)
        elif _is_only_flagged(change, reason, scope):
            flagged.append(Tampering(change.path, reason))
            removed.append(change.path)
        else:
            tampered.append(Tampering(change.path, reason))
            if change.before is None:
                removed.append(change.path)
            else:
                restored.append((change.path, change.before))
    beyond = outside([item for item in rest if _counts(item)], scope)
    left = [item.path for item in beyond if _is_left(item, ignored)]
    beyond = tuple(item for item in beyond if not _is_left(item, ignored))
    unseen = tuple(_topmost(left))
    for path in unseen:
        flagged.append(Tampering(path, f"{_BY_ITSELF}git ignores it"))
        removed.append(path)
    if scope.patterns is None:
        for path in _run_at_start(named):
            flagged.append(Tampering(path, f"{_BY_ITSELF}{_AT_START}"))
            removed.append(path)
    return Protection(
        tampered=tuple(tampered),
        outside=tuple(path for item in beyond for path in _with_files(item.path, named)),
        restored=tuple(restored),
        removed=tuple(removed),
        own=tuple(own),
        flagged=tuple(flagged),
        ignored=unseen,
    )


def _is_left(change: TreeChange, ignored: Sequence[str]) -> bool:
    """Say whether something new is what git ignores: programs leave such things behind."""
    path = change.path
    is_new = change.kind is ChangeKind.ADDED
    return is_new and any(
        f"{path}/".startswith(name) if name.endswith("/") else path == name for name in ignored
    )


def _topmost(paths: Sequence[str]) -> Iterator[str]:
    """Yield paths without those that lie in one of the others."""
    last = None
    for path in sorted(paths, key=lambda each: each.split("/")):
        if last is None or not path.startswith(f"{last}/"):
            last = path
            yield path


def are_summaries(change: TreeChange) -> bool:
    """Say whether a folder that is summarised looks different: one that is not git's own."""
    kinds = {each.type if each else None for each in (change.before, change.after)}
    return kinds == {EntryType.SUMMARY} and not f"/{change.path}".endswith("/.git")


def _with_files(path: str, named: Named) -> Iterator[str]:
    """Yield a path, and of a summarised folder the files that changed."""
    yield path
    yield from (named.get(path) or ())[:_SHOWN]


def _run_at_start(named: Named) -> Iterator[str]:
    """Yield what Python runs at every start, wherever it is installed, of files that changed."""
    for files in named.values():
        yield from (path for path in files or () if _BY_NAME.get(basename(path)) == _AT_START)


def new_caches(before: Manifest, after: Manifest) -> Iterator[TreeChange]:
    """Yield new folders that say they are caches, and are not called as any tool's are."""
    for path in sorted(after.tagged - before.tagged):
        if path.rpartition(b"/")[2] not in _BUILT:
            entry = Entry(EntryType.SUMMARY, 0, 0, b"CACHEDIR.TAG")
            yield TreeChange(path_text(path), ChangeKind.ADDED, None, entry)


def _concern(change: TreeChange, judges: Judges) -> str | None:
    """Return how a change concerns the judges, where it does."""
    path = change.path
    if change.kind is not ChangeKind.ADDED:
        if path in judges.files or _holds(path, change, judges):
            return "changed" if change.kind is ChangeKind.CHANGED else "removed"
        return runs_by_itself(path) if path.startswith(".git/") else None
    if is_disguised(path, change.after):
        return _DISGUISED
    if change.after is not None and change.after.type is EntryType.DIRECTORY:
        return None  # what is in it is a change of its own
    if path in judges.names or any(path.startswith(f"{each}/") for each in judges.directories):
        return "added"
    reason = runs_by_itself(path)
    return f"{_BY_ITSELF}{reason}" if reason else None


def _is_own(change: TreeChange, scope: Scope) -> bool:
    """Say whether a step may change a judge: by touches, or where there are none by its task."""
    if scope.patterns is not None:
        return not outside((change,), scope)
    if outside((change,), scope):
        return False
    if covers(scope, change.path):
        return True
    is_new = change.kind is ChangeKind.ADDED and runs_by_itself(change.path) is None
    return is_new and may_add(scope, change.path)


def _is_only_flagged(change: TreeChange, reason: str, scope: Scope) -> bool:
    """Say whether what runs by itself came to be where nothing says that it may not."""
    if scope.patterns is not None or not reason.startswith(_BY_ITSELF):
        return False
    return scope.also is None or not outside((change,), scope)


def _holds(path: str, change: TreeChange, judges: Judges) -> bool:
    """Say whether a folder of judges became something else, such as a link."""
    was_folder = change.before is not None and change.before.type is EntryType.DIRECTORY
    is_folder = change.after is not None and change.after.type is EntryType.DIRECTORY
    return was_folder and not is_folder and path in judges.directories


def _counts(change: TreeChange) -> bool:
    """Say whether a change can be outside of the scope at all.

    People stage, archive and note progress in `.harness/` between a baseline and a look; the plan
    itself is compared by its digest. The marker alone says whose plan this is.
    """
    if change.path.startswith(_HARNESS) or change.path == _HARNESS.rstrip("/"):
        return change.path == _MARKER
    return not _is_cache(change)


def _is_cache(change: TreeChange) -> bool:
    """Say whether only a cache changed: a real one, for anything can be hidden behind a link."""
    disguised = any(is_disguised(change.path, each) for each in (change.before, change.after))
    return is_cache(change.path) and not disguised
