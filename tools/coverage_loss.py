"""Says how much `make test` covers less than `make test-all`, branch by branch.

`python -m tools.coverage_loss [--folder FOLDER] [--only PART ...] [OPTION OF PYTEST ...]` runs
`make test` and then what that leaves out, and compares `make test` with both on the modules that
decide and do nothing else: those that import-linter keeps pure. What a fork does counts; 1 where
more than `MOST` points are lost.

It takes as long as the whole suite and more. With `--folder` every part of the tests, a folder of
`tests/`, is kept there once it was measured: whoever calls it again goes on with the next one.
With `--only` only some parts are looked at, such as `--only plan verify`.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST = 3.0
_SETTINGS = """\
[run]
branch = true
parallel = true
source_pkgs =
    {modules}
data_file = {folder}/data
patch = subprocess, fork, _exit
disable_warnings = module-not-imported, no-data-collected
"""


def pure_modules() -> list[str]:
    """Return the modules that have no clock, files or processes."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    (pure,) = (each for each in contracts if each["id"] == "pure")
    return list(pure["source_modules"])


def parts() -> list[str]:
    """Return the folders and files of the tests that can be run by themselves."""
    tests = ROOT / "tests"
    folders = {path.relative_to(tests).parts[0] for path in tests.rglob("test_*.py")}
    return sorted(folders - {"agents_installed", "fixtures"})


def measure(part: str, option: str, folder: Path, options: list[str]) -> None:
    """Run one part of the tests, unless that was done before; what it reaches is in `folder`."""
    done = folder / "done"
    if done.exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    workers = str((os.cpu_count() or 1) + 1)
    tests = ["-m", "pytest", f"tests/{part}", option, "-q", "-n", workers, "--dist", "worksteal"]
    # What a test asserts is looked at by others: a red test covers what it has reached.
    subprocess.run(
        [sys.executable, "-m", "coverage", "run", _settings(folder), *tests, *options],
        cwd=ROOT,
        check=False,
    )
    done.touch()


def covered(folder: Path, measured: Iterable[Path]) -> dict[str, tuple[int, int]]:
    """Return what was reached of each file, of how much: lines and branches."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    coverage, which = [sys.executable, "-m", "coverage"], _settings(folder)
    data = [str(each) for each in measured if any(each.glob("data*"))]
    subprocess.run([*coverage, "combine", "-q", "--keep", which, *data], cwd=ROOT, check=True)
    told = folder / "told.json"
    subprocess.run([*coverage, "json", "-q", which, "-o", str(told)], cwd=ROOT, check=True)
    return {
        name: _reached(each["summary"])
        for name, each in json.loads(told.read_text())["files"].items()
    }


def _settings(folder: Path) -> str:
    """Write how it is measured; return the option that says so."""
    path = folder / "settings"
    path.write_text(_SETTINGS.format(modules="\n    ".join(pure_modules()), folder=folder))
    return f"--rcfile={path}"


def _reached(summary: dict[str, int]) -> tuple[int, int]:
    return (
        summary["covered_lines"] + summary["covered_branches"],
        summary["num_statements"] + summary["num_branches"],
    )


def main() -> int:
    """Run both, and print what is lost where."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, help="keep there what was measured, and go on")
    parser.add_argument("--only", nargs="+", choices=parts(), metavar="PART")
    arguments, options = parser.parse_known_args()
    chosen = arguments.only or parts()
    with tempfile.TemporaryDirectory(prefix="coverage-") as name:
        folder = (arguments.folder or Path(name)).resolve()
        for option in ("quick", "left-out"):
            for part in chosen:
                measure(part, f"--{option}", folder / option / part, options)
        some = [folder / "quick" / part for part in chosen]
        quick = covered(folder / "some", some)
        everything = covered(folder / "all", some + [folder / "left-out" / part for part in chosen])
    for file, (reached, of) in sorted(everything.items()):
        few, _ = quick.get(file, (0, of))
        if few < reached:
            print(f"{file}: {_points(few, of):.1f} of {_points(reached, of):.1f} %")
    lower, upper = _total(quick), _total(everything)
    lost = upper - lower
    print(
        f"`make test` covers {lower:.1f} %, `make test-all` {upper:.1f} %: {lost:.1f} points less"
    )
    return 1 if lost > MOST else 0


def _total(files: dict[str, tuple[int, int]]) -> float:
    return _points(sum(each[0] for each in files.values()), sum(each[1] for each in files.values()))


def _points(reached: int, of: int) -> float:
    return 100 * reached / of if of else 100.0


if __name__ == "__main__":
    sys.exit(main())
