"""An environment of a project's own, with the packages that the tests' contracts use.

Planbound gives nothing of its own environment to a contract. So the tests of contracts that call
`python` or `pytest` activate this one. It is made by hand, in a moment and without a network.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
from functools import cache
from pathlib import Path

_SCRIPT = """\
#!{python}
import sys
from pytest import console_main
sys.exit(console_main())
"""


def make_environment(
    prefix: Path, *, packages: bool = True, pytest: bool = True, at: Path | None = None
) -> Path:
    """Make an environment; with `packages` it has those of the tests' own."""
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
        (site / "tests.pth").write_text(sysconfig.get_path("purelib") + "\n")
    if packages and pytest:
        script = binaries / "pytest"
        script.write_text(_SCRIPT.format(python=(at or prefix) / "bin" / "python"))
        script.chmod(0o755)
    return prefix


@cache
def active_environment() -> str:
    """Return the environment that tests activate; made once, and kept for the next time."""
    known = f"{sys.prefix} {sys.version} {os.getuid()}".encode() + Path(__file__).read_bytes()
    name = f"planbound-project-{hashlib.sha256(known).hexdigest()[:16]}"
    place = Path(tempfile.gettempdir()) / name
    if not place.is_dir():
        made = Path(tempfile.mkdtemp(prefix=f"{name}-"))
        # By its last name: scripts have their interpreter's path in them.
        make_environment(made / "environment", at=place / "environment")
        try:
            made.rename(place)
        except OSError:  # somebody else was faster
            shutil.rmtree(made)
    return str(place / "environment")
