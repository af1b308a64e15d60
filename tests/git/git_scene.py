"""A repository with everything that can be lost, and what it holds."""

from __future__ import annotations

import subprocess
from pathlib import Path

_MADE = """
git init -q -b main .
git config user.email a@example.org; git config user.name A
for i in 1 2 3; do echo $i > f$i; git add .; git commit -qm c$i; done
git branch other HEAD~1; git tag v1 HEAD~1
echo stashed > f1; git stash -q; git gc -q
echo 4 > f4; git add f4; git commit -qm c4
echo staged > f2; git add f2
"""


def make(folder: Path) -> None:
    """Make a repository: branches, a tag, a stash, a pack, loose objects, something staged."""
    folder.mkdir(parents=True, exist_ok=True)
    sh(folder, _MADE)


def sh(folder: Path, script: str) -> str:
    """Run a script there; return what it prints."""
    done = subprocess.run(
        ["bash", "-ec", script], cwd=folder, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def facts(folder: Path) -> dict[str, str]:
    """Return what must not be lost; the repository is whole."""
    script = """
    git for-each-ref; echo @; git stash list; echo @; git ls-files -s
    echo @; cat "$(git rev-parse --git-dir)/HEAD"
    echo @; git log -g --format='%H %gs' HEAD; echo @; git log --format=%H --all
    echo @; find "$(git rev-parse --git-common-dir)/hooks" -type f | sort
    echo @; cat "$(git rev-parse --git-common-dir)/config"; echo @; git fsck --no-dangling 2>&1
    """
    names = ("refs", "stashes", "index", "HEAD", "reflog", "commits", "hooks", "config", "fsck")
    return dict(zip(names, sh(folder, script).split("@\n"), strict=True))
