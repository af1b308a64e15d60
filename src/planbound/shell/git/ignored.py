"""Which folders of a worktree git is told to pass by."""

from __future__ import annotations

import os
import shutil
import subprocess

from planbound.shell.git.program import ENVIRONMENT, PATH

_SECONDS = 60.0
_WORDS = (
    # What a repository names there would be run.
    *("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null"),
    *("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z"),
)


def ignored_folders(root: str) -> tuple[bytes, ...]:
    """Return the folders below a root that git ignores as a whole; none where git cannot tell.

    What is tracked is never among them, whatever a `.gitignore` says.
    """
    git = shutil.which("git", path=PATH) or shutil.which("git")
    if git is None:
        return ()
    try:
        done = subprocess.run(  # noqa: S603 - git, with our own environment
            [git, *_WORDS],
            cwd=root,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    if done.returncode:
        return ()
    names = (name for name in done.stdout.split(b"\0") if name.endswith(b"/"))
    return tuple(os.path.normpath(name) for name in names if name.strip(b"./"))
