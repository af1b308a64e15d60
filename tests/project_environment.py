"""An environment of a project's own, with the packages that the tests' contracts use.

Planbound gives nothing of its own environment to a contract. So the tests of contracts that call
`python` or `pytest` activate this one. It is made by hand, in a moment and without a network.
"""

from __future__ import annotations

import compileall
import hashlib
import os
import py_compile
import shutil
import sys
import sysconfig
import tempfile
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

_PACKAGES = "pytest pluggy iniconfig packaging pygments pytest-xdist execnet".split()
"""No more than what pytest needs: at each start of pytest in a contract it would load all plugins
that the tests have for themselves, and that took four times as long."""
_UNUSED = "ensurepip idlelib lib2to3 pydoc_data site-packages test tests tkinter turtledemo".split()
"""Folders of the standard library that no contract needs."""
_SCRIPT = """\
#!{python}
import sys
from pytest import console_main
sys.exit(console_main())
"""


def make_environment(prefix: Path, *, packages: bool = True, shared: Path | None = None) -> Path:
    """Make an environment; with `packages` it has pytest.

    With `shared` it is for that folder, to which it is moved: scripts have paths in them.
    """
    binaries = prefix / "bin"
    site = prefix / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    site = site / "site-packages"
    for folder in (binaries, site):
        folder.mkdir(parents=True)
    base = Path(sys.base_prefix) / "bin" / f"python{sys.version_info.major}"
    for name in ("python", "python3"):
        (binaries / name).symlink_to(base)
    version = ".".join(map(str, sys.version_info[:3]))
    (prefix / "pyvenv.cfg").write_text(
        f"home = {base.parent}\nversion = {version}\ninclude-system-site-packages = false\n"
    )
    if packages:
        # In a contract Python compiles all that it finds as source; see `_shared`.
        found = shared or _shared()
        first = f"import sys; sys.path.insert(0, {str(found / 'standard')!r})"
        (site / "tests.pth").write_text(f"{first}\n{found}/packages\n")
        script = binaries / "pytest"
        script.write_text(
            _SCRIPT.format(python=(shared or prefix.parent) / prefix.name / "bin/python")
        )
        script.chmod(0o755)
    return prefix


def active_environment() -> str:
    """Return the environment that tests activate."""
    return str(_shared() / "environment")


@cache
def _shared() -> Path:
    """Return the folder of what all tests of this user share; made once, and kept.

    In it pytest and the standard library are compiled and have no source: a contract reads no
    other compiled files than its own, and to compile these takes three times as long as a test.
    """
    versions = [distribution(name).version for name in _PACKAGES]
    known = f"{sys.prefix} {sys.version} {os.getuid()} {versions}".encode()
    known += Path(__file__).read_bytes()
    name = f"planbound-project-{hashlib.sha256(known).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()) / name
    if not place.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        _copy_packages(made / "packages")
        _copy_library(made / "standard")
        make_environment(made / "environment", shared=place)
        try:
            made.rename(place)
        except OSError:  # somebody else was faster
            shutil.rmtree(made)
    return place


def _copy_packages(folder: Path) -> None:
    for name in _PACKAGES:
        found = distribution(name)
        for file in found.files or ():
            if ".." not in file.parts:  # a script
                (folder / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(str(found.locate_file(file)), folder / file)
    compileall.compile_dir(folder, quiet=2, legacy=True)
    for source in folder.rglob("*.py"):
        # These send their own source to the workers of `pytest -n`.
        if not {"execnet", "xdist"} & {*source.parts}:
            source.unlink()


def _copy_library(folder: Path) -> None:
    library = Path(sysconfig.get_path("stdlib"))
    for place, folders, files in os.walk(library):
        folders[:] = [name for name in folders if name not in {"__pycache__", *_UNUSED}]
        for name in files:
            source = Path(place, name)
            target = (folder / source.relative_to(library)).with_suffix(".pyc")
            if source.suffix == ".py":
                py_compile.compile(str(source), cfile=str(target), quiet=2)
