"""The ids that git gives to contents and folders, reckoned without git."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping

FILE, PROGRAM, LINK, FOLDER = "100644", "100755", "120000", "40000"


def object_id(kind: str, content: bytes, form: str = "sha1") -> str:
    """Return the id of an object; `form` is the repository's: `sha1` or `sha256`."""
    head = f"{kind} {len(content)}\0".encode("ascii")
    return hashlib.new(form, head + content, usedforsecurity=False).hexdigest()


def blob_id(content: bytes, form: str = "sha1") -> str:
    """Return the id of a file's content."""
    return object_id("blob", content, form)


def tree_id(files: Mapping[bytes, tuple[str, str]], form: str = "sha1") -> str:
    """Return the id of a folder with these files: by path the mode and the id of each."""
    here: dict[bytes, tuple[str, str]] = {}
    below: dict[bytes, dict[bytes, tuple[str, str]]] = {}
    for path, entry in files.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            below.setdefault(name, {})[rest] = entry
        else:
            here[name] = entry
    for name, inner in below.items():
        here[name] = (FOLDER, tree_id(inner, form))
    return object_id("tree", b"".join(_entries(here)), form)


def _entries(here: Mapping[bytes, tuple[str, str]]) -> Iterable[bytes]:
    # git sorts a folder as if its name ended with a slash.
    def place(name: bytes) -> bytes:
        return name + b"/" if here[name][0] == FOLDER else name

    for name in sorted(here, key=place):
        mode, found = here[name]
        yield mode.encode("ascii") + b" " + name + b"\0" + bytes.fromhex(found)
