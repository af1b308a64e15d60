"""Which code this is: what it made before may be read by no other one."""

from __future__ import annotations

import hashlib
import os
import sys
from functools import cache

import planbound
from planbound import __version__


@cache
def own_code(*parts: str) -> str:
    """Return a digest that is another one as soon as code of these folders, or Python, is."""
    here = os.path.dirname(os.path.abspath(planbound.__file__))
    files = [os.path.join(here, "source.py")]
    for part in parts:
        with os.scandir(os.path.join(here, part)) as entries:
            files += sorted(each.path for each in entries if each.name.endswith(".py"))
    said = [__version__, sys.version]
    for path in files:
        found = os.stat(path)
        said.append(f"{path} {found.st_size} {found.st_mtime_ns}")
    return hashlib.sha256("\n".join(said).encode("utf-8", "surrogateescape")).hexdigest()


@cache
def program_digest() -> str:
    """Return the SHA-256 over all files of the program: the names, and what is in them."""
    here = os.path.dirname(os.path.abspath(planbound.__file__))
    digest = hashlib.sha256()
    for folder, below, names in os.walk(here):
        below[:] = sorted(name for name in below if name != "__pycache__")
        for name in sorted(names):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                content = hashlib.sha256(file.read()).hexdigest()
            said = os.path.relpath(path, here)
            digest.update(f"{content}  {said}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()
