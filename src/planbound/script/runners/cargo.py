"""cargo: one more test in every program of tests, of the library and of `tests`.

A program of its own would say nothing about the others. cargo stops at the first program that
fails, unless it is told not to: a program that stands in for it does so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from msgspec import Struct

from planbound.script.runners.runner import (
    COUNT,
    CallWords,
    Canary,
    Declared,
    Habits,
    JudgedTree,
    Language,
    Naming,
    ReportedOutcome,
    ReportedTest,
    RequiredTest,
    Runner,
    RunnerCall,
    Summary,
    Variable,
    added,
    base,
    counted,
    joined,
    names,
    parent,
    source_text,
)
from planbound.script.tree import words
from planbound.source import lazy_pattern

# -- cargo: one more test in every program of tests, of the library and of `tests` ---------------


_ALLOWED = words(
    "-q --quiet -v --verbose -vv --offline --locked --frozen --workspace --all --release -r "
    "--no-fail-fast --all-features --no-default-features --tests --all-targets --color --nocapture "
    "--test-threads --show-output -- --ignore-rust-version --include-ignored"
)
_VALUED = words("-F --features -j --jobs --target-dir --profile")
_TEST = """
#[test]
fn {name}() {{
    panic!("{name}");
}}
"""
_INNER = """
#[cfg(test)]
mod {name} {{
    #[test]
    fn {name}() {{
        panic!("{name}");
    }}
}}
"""
_CARGO = """\
#!/bin/sh
echo {marker} >&2
here=${{0%/*}}
rest=
IFS=:
for each in $PATH; do
    [ "$each" = "$here" ] || rest=$rest${{rest:+:}}$each
done
unset IFS
PATH=$rest
first=1
for word do
    shift
    set -- "$@" "$word"
    case $word in
    [+-]*) ;;
    test | t) [ -z "$first" ] || set -- "$@" --no-fail-fast; first= ;;
    *) first= ;;
    esac
done
exec cargo "$@"
"""
_MOST_FILES = 20
# Such a file may be compiled to nothing, or has no harness that finds tests.
_UNSURE = lazy_pattern(r"#!\[\s*(?:cfg|no_main|feature\s*\(\s*custom_test)")
FAILING = r"^(?:test (?:\S+::)?{name} \.\.\. .{0,200}FAILED|---- (?:\S+::)?{name} stdout ----|"
FAILING += r"    (?:\S+::)?{name}$)"
PASSING = r"^test (?:\S+::)?{name} \.\.\. ok"


class CargoProgram(Struct, frozen=True):
    """A program of tests."""

    path: str
    """Its source."""
    option: str
    """How cargo names it: `--lib`, `--bin name`, `--test name`."""
    package: str


def make(found: RunnerCall, project: JudgedTree) -> Canary | None:
    """Return the sources of the tests of a package, each with a failing test at its end."""
    if not runs_all(found):
        return None
    packages = packages_of(found, project)
    made = [target for package in packages for target in targets(package, project)]
    if not packages or len(made) > _MOST_FILES:
        return None
    files: list[tuple[str, bytes]] = []
    names: list[str] = []
    for target in made:
        name = project.called(target.path)
        text = _TEST if target.option.startswith("--test") else _INNER
        data = (project.read(target.path) or b"") + text.format(name=name).encode()
        files.append((target.path, data))
        names.append(name)
    if not any(target.option.startswith("--test") for target in made):
        path = joined(packages[0], f"tests/{project.name}.rs")
        files.append((path, _TEST.format(name=project.name).encode()))
        names.append(project.name)
    canary = Canary(tuple(files), tuple(names), failing=FAILING, passing=PASSING)
    several = len(packages) > 1
    besides = tuple(
        rf"`{_of_package(target, several=several)}{re.escape(target.option)}`" for target in made
    )
    return to_its_end(canary._replace(besides=besides), found, project)


def _of_package(target: CargoProgram, *, several: bool) -> str:
    return rf"-p {re.escape(target.package)}(?:@\S+)? " if several else r"(?:-p \S+ )?"


def to_its_end(canary: Canary, found: RunnerCall, project: JudgedTree) -> Canary:
    """Return the canary with what keeps cargo from stopping at the first failure."""
    if found.call.has("--no-fail-fast"):
        return canary
    marker = project.called("marker")
    folder = f".{project.called('folder')}"
    return canary._replace(
        environment=(Variable("PATH", f"{{workspace}}/{folder}"),),
        programs=((f"{folder}/cargo", _CARGO.format(marker=marker).encode()),),
        marker=marker,
    )


def runs_all(found: RunnerCall) -> bool:
    """Say whether all tests are run."""
    operands = [word for word in found.operands(_VALUED) if word[:1] != "+"]
    own = [word for word in operands if word[:1] != "-"]
    return own in (["test"], ["t"]) and not found.unknown(_ALLOWED, _VALUED)


def targets(package: str, project: JudgedTree) -> list[CargoProgram]:
    """Return the programs of tests of a package whose source is surely compiled."""
    manifest = _manifest(package, project) or {}
    name = _name(manifest)
    library = manifest.get("lib", {})
    plain = isinstance(library, dict) and not {"path", "test", "harness"} & library.keys()
    found = [CargoProgram(joined(package, "src/lib.rs"), "--lib", name)] if plain else []
    if "bin" not in manifest:
        found.append(CargoProgram(joined(package, "src/main.rs"), f"--bin {name}", name))
    declared = manifest.get("test", [])
    entries = declared if isinstance(declared, list) else []
    known = {each.get("name") for each in entries if isinstance(each, dict)}
    folder = joined(package, "tests")
    for path in sorted(project.below(folder)):
        stem = path.removeprefix(f"{folder}/").removesuffix(".rs")
        if path.endswith(".rs") and "/" not in stem and stem not in known:
            found.append(CargoProgram(path, f"--test {stem}", name))
    return [target for target in found if _is_sure(project.text(target.path))]


def _is_sure(text: str | None) -> bool:
    return text is not None and not _UNSURE.search(text)


def packages_of(found: RunnerCall, project: JudgedTree) -> list[str]:
    """Return the directories of the packages that cargo tests when it is called there."""
    directory = found.directory
    while (manifest := _manifest(directory, project)) is None:
        if not directory:
            return []
        directory = parent(directory)
    if "package" in manifest and not found.call.has("--workspace", "--all"):
        return [directory] if _takes_tests(manifest) else []
    workspace = manifest.get("workspace", {})
    if not isinstance(workspace, dict) or {"default-members", "exclude"} & workspace.keys():
        return []
    places = [directory] if "package" in manifest else []
    for member in workspace.get("members") or []:
        places += _places(joined(directory, str(member).strip("/")), project)
    manifests = {place: _manifest(place, project) for place in places}
    return [place for place, each in manifests.items() if each is not None and _takes_tests(each)]


def _places(member: str, project: JudgedTree) -> list[str]:
    """Return the directories that a member of a workspace stands for: it may end in `/*`."""
    if not member.endswith("/*"):
        return [member]
    packages = sorted(parent(path) for path in project.paths if base(path) == "Cargo.toml")
    return [place for place in packages if parent(place) == member[:-2]]


def _manifest(directory: str, project: JudgedTree) -> dict[str, object] | None:
    import tomllib  # noqa: PLC0415 - start-up

    text = project.text(joined(directory, "Cargo.toml"))
    try:
        return None if text is None else tomllib.loads(text)
    except (ValueError, RecursionError):
        return {}


def _name(manifest: dict[str, object]) -> str:
    package = manifest.get("package")
    return str(package.get("name")) if isinstance(package, dict) else ""


def _takes_tests(manifest: dict[str, object]) -> bool:
    package = manifest.get("package")
    return isinstance(package, dict) and package.get("autotests", True) is True


# -- what `cargo test` says: a line `test result:` for each binary, and one for the doc tests ----


_LAST = lazy_pattern(
    rf"^test result: (?:ok|FAILED)\. ({COUNT}) passed; ({COUNT}) failed; ({COUNT}) ignored; "
    rf"({COUNT}) measured; ({COUNT}) filtered out(?:; finished in [0-9.]{{1,20}}s)?$",
    re.MULTILINE,
)


def read(text: str) -> Summary | None:
    """Return what `cargo test` says, all binaries together."""
    runs = (
        Summary("cargo test", int(passed) + int(measured), int(failed), int(ignored), int(filtered))
        for passed, failed, ignored, measured, filtered in _LAST.findall(text)
    )
    return added("cargo test", runs)


# -- the tests by their names, in what cargo prints and in the sources ---------------------------


_NAMED = lazy_pattern(r"(?m)^test (\S.{0,500}?)(?: - should panic)? \.\.\. (ok|FAILED|ignored)\b")
_ENDS = {
    "ok": ReportedOutcome.PASSED,
    "FAILED": ReportedOutcome.FAILED,
    "ignored": ReportedOutcome.SKIPPED,
}
_QUIET = ("-q", "--quiet", "--nocapture", "--show-output", "--test-threads")
_SOURCE_TEST = lazy_pattern(r"(?m)^[ \t]*#\[test\]\s*\n[ \t]*(?:pub )?fn (\w+)\(\)")
_SOURCE_UNSURE = lazy_pattern(r"#!?\[\s*(?:cfg(?!\(test\)\])|cfg_attr|ignore)|macro_rules!|\br#\"")


def named(text: str) -> tuple[ReportedTest, ...]:
    """Return the tests that an output names."""
    return tuple(ReportedTest(name, _ENDS[word]) for name, word in _NAMED.findall(text))


def _naming(found: RunnerCall, project: JudgedTree) -> Canary | None:
    return None if _is_quiet(found) else to_its_end(Canary((), ()), found, project)


def _is_quiet(found: RunnerCall) -> bool:
    return any(value.startswith(_QUIET) for value in found.call.values())


def required(
    found: RunnerCall, project: JudgedTree, judges: Mapping[str, bytes]
) -> Iterator[RequiredTest]:
    """Yield the tests in `tests` that surely run, as the frozen judges declare them."""
    if not runs_all(found) or _is_quiet(found):
        return
    known = {
        target.path
        for package in packages_of(found, project)
        for target in targets(package, project)
        if target.option.startswith("--test")
    }
    for path, data in sorted(judges.items()):
        text = source_text(data)
        if path in known and not _SOURCE_UNSURE.search(text):
            for name in _SOURCE_TEST.findall(text):
                yield RequiredTest(path, name, PASSING + "$")


RUNNER = Runner(
    programs=("cargo",),
    name="cargo test",
    language=Language.RUST,
    words=CallWords(subcommand="test", paths=False),
    habits=Habits(
        names("Cargo.toml build.rs .cargo/config.toml .cargo/config rust-toolchain{,.toml}"),
        lazy_pattern(r"(?:.*/)?tests/.*|(?:.*/)?(?:Cargo\.toml|build\.rs)\Z"),
    ),
    also_tests=frozenset({"nextest"}),
    loaded=(
        (lazy_pattern(r"build\.rs"), "cargo runs it before the build"),
        (lazy_pattern(r"rust-toolchain.*"), "it chooses another Rust"),
    ),
    failed=r"test result: FAILED\b",
    read=read,
    canary=make,
    naming=Naming(_naming, frozenset({101}), named),
    required=required,
    declared=Declared((".rs",), counted(lazy_pattern(r"#\[(?:\w{1,40}::)?test\b")), anywhere=True),
)
