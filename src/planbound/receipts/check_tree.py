"""Compares the files of a revision with those that were judged."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from planbound.receipts.claims import FAILS, OK, Checked
from planbound.receipts.git_tree import FILE, PROGRAM, tree_id

Git = Callable[[Sequence[str]], bytes | None]
"""Runs git in the repository here, only to read: what it printed, None where it failed."""
OWN_FOLDER = b".harness"
_SHOWN = 5


def check_tree(
    run: Mapping[str, Any], subjects: Sequence[Mapping[str, Any]], revision: str, git: Git | None
) -> Checked:
    """Return whether the files of a revision are those that were judged, and how they differ."""
    files = _files(run["base"]["folder"], revision, git)
    if isinstance(files, str):
        return "tree", FAILS, files
    wanted = run["tree"]["git_tree"]
    form = "sha256" if any(len(name) == 64 for _, name in files.values()) else "sha1"
    if wanted is not None and tree_id(files, form) == wanted:
        return "tree", OK, "same tree: all files are those that were judged"
    other = [each for each in _judges(run) if _blob(files, each[0], links=False) != each[1]]
    if other:
        return "tree", FAILS, f"judges changed: {_listed([path for path, _ in other])}"
    touched = {
        each["name"]: each["digest"].get("gitBlob")
        for each in subjects
        if each["name"] not in ("tree", "commit")
    }
    differ = [path for path, blob in touched.items() if blob is None or _blob(files, path) != blob]
    differ += [path for path in run["tree"]["removed"] if _blob(files, path) is not None]
    if differ:
        return "tree", FAILS, f"another tree; not as they were judged: {_listed(differ)}"
    if not touched and not run["tree"]["removed"]:
        return "tree", FAILS, "another tree, and the receipt names no file that the work changed"
    count = len(touched) + len(run["tree"]["removed"])
    return "tree", OK, f"another tree; the {count} files of this work are the judged ones"


def check_replayed_tree(run: Mapping[str, Any], revision: str, git: Git | None) -> Checked:
    """Return whether a replay judged the files of a revision: exactly these, or it says nothing."""
    files = _files(run["tree"]["folder"], revision, git)
    if isinstance(files, str):
        return "tree", FAILS, files
    form = "sha256" if any(len(name) == 64 for _, name in files.values()) else "sha1"
    same = tree_id(files, form) == run["tree"]["git_tree"]
    words = "same tree: all files are those that were judged again"
    return "tree", same, words if same else "another tree than the one that was judged again"


def _files(folder: str, revision: str, git: Git | None) -> dict[bytes, tuple[str, str]] | str:
    """Return the files of a revision, without the harness's own; in words why there are none."""
    if git is None:
        return "there is no git, or no repository here"
    if revision.startswith("-") or ":" in revision:
        return f"`{revision}` is no revision"
    found = git(("rev-parse", "--verify", "--quiet", f"{revision}^{{tree}}"))
    if found is None:
        return f"there is no revision `{revision}` here"
    name = found.decode("ascii").strip()
    said = git(("ls-tree", "-r", "-z", "--full-tree", f"{name}:{folder}"))
    if said is None:
        return f"`{folder}` is not in `{revision}`" if folder else f"`{revision}` cannot be read"
    files: dict[bytes, tuple[str, str]] = {}
    for line in said.split(b"\0"):
        facts, _, path = line.partition(b"\t")
        if path and path != OWN_FOLDER and not path.startswith(OWN_FOLDER + b"/"):
            mode, _, blob = facts.decode("ascii").split(" ")
            files[path] = (mode, blob)
    return files


def _judges(run: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the judges that are not of the work itself, with what git calls their content."""
    return list(
        dict.fromkeys(
            (judge["path"], judge["git_blob"])
            for item in run["items"]
            for judge in item["judges"]
            if judge["git_blob"] is not None
            and not judge["editable"]
            and not judge["path"].startswith(".harness/")
        )
    )


def _blob(files: Mapping[bytes, tuple[str, str]], path: str, *, links: bool = True) -> str | None:
    """Return what git calls a file's content; a link with the same text is no such file."""
    mode, found = files.get(path.encode("utf-8", "surrogateescape"), ("", None))
    return found if links or mode in (FILE, PROGRAM) else None


def _listed(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _SHOWN} more" if len(paths) > _SHOWN else ""
    return ", ".join(paths[:_SHOWN]) + more
