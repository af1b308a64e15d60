"""go: one more test in a package that has tests."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from planbound.engine.judging.canary.model import Canary, Found, Project, base, joined, parent
from planbound.plan.command.directory import below
from planbound.plan.command.word import words
from planbound.source.pattern import lazy_pattern

_ALLOWED = words(
    "-v -race -short -cover -json -failfast -a -x -trimpath -count -timeout -parallel -p -cpu "
    "-covermode -coverpkg -coverprofile -shuffle -mod -vet -tags -ldflags -gcflags"
)
_VALUED = words(
    "-count -timeout -parallel -p -cpu -covermode -coverpkg -coverprofile -shuffle -mod -vet -tags "
    "-ldflags -gcflags"
)
_PACKAGE = lazy_pattern(r"(?m)^package[ \t]+(\w+)")
# Such a file may not be part of the package on this machine.
_CONSTRAINT = lazy_pattern(r"(?m)^//(?:go:build| ?\+build) ")
_SYSTEMS = lazy_pattern(
    r"_(?:aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|netbsd|openbsd|plan9|solaris"
    r"|wasip1|windows|386|amd64|arm|arm64|loong64|mips\w*|ppc64\w*|riscv64|s390x|wasm)_test\.go$"
)
_LEFT_OUT = lazy_pattern(r"(?:^|/)(?:[._][^/]*|testdata|vendor)/")
_MOST_READ = 300
_TEST = """\
package {package}

import "testing"

func TestPlanboundCanary{nonce}(t *testing.T) {{
\tt.Fatal("{name} fails, as it should")
}}
"""


def make(found: Found, project: Project) -> Canary | None:
    """Return a file beside an existing test; best where `TestMain` decides how the run ends."""
    operands = found.operands(_VALUED)
    if operands[:1] != ["test"] or found.unknown(_ALLOWED, _VALUED):
        return None
    chosen: tuple[str, str] | None = None
    for path in islice(_tests(found, operands[1:] or ["."], project), _MOST_READ):
        text = project.text(path) or ""
        clause = _PACKAGE.search(text)
        if clause is None or _CONSTRAINT.search(text):
            continue
        if "func TestMain(" in text:
            chosen = (path, clause[1])
            break
        chosen = chosen or (path, clause[1])
    if chosen is None:
        return None
    path, package = chosen
    content = _TEST.format(package=package, nonce=project.nonce, name=project.name)
    file = joined(parent(path), f"{project.name}_test.go")
    return Canary(((file, content.encode()),), f"TestPlanboundCanary{project.nonce}")


def _tests(found: Found, patterns: list[str], project: Project) -> Iterator[str]:
    """Yield the test files of the packages that are named."""
    modules = {parent(path) for path in project.paths if base(path) == "go.mod"}
    module = _module(found.directory, modules)
    for pattern in patterns:
        deep = pattern.endswith("/...")
        written = pattern.removesuffix("/...")
        if not (written == "." or written.startswith(("./", "../"))):
            continue
        directory = below(found.directory, written)
        if directory is None:
            continue
        for path in project.below(directory):
            inside = path.removeprefix(f"{directory}/") if directory else path
            if (
                path.endswith("_test.go")
                and (deep or "/" not in inside)
                and not _LEFT_OUT.search(inside)
                and not _SYSTEMS.search(path)
                and _module(parent(path), modules) == module
            ):
                yield path


def _module(directory: str, modules: set[str]) -> str | None:
    """Return the directory of the module that a directory is part of."""
    while directory not in modules:
        if not directory:
            return None
        directory = parent(directory)
    return directory
