"""The repository that plans change, as far as the harness itself works with it.

Whoever implements this reads no configuration, hook, filter or attribute file that an agent could
have written. A failure is a `GitProblem`; what cannot be read is never taken for "nothing there".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol


class Registered(NamedTuple):
    """A worktree that git knows."""

    path: str
    head: str | None
    """The commit that is checked out; None where there is none yet."""
    branch: str | None
    """Its branch without `refs/heads/`; None where HEAD is detached."""
    locked: str | None = None
    """Why it is locked, maybe empty; None where it is not."""
    missing: bool = False
    """Whether the folder is not there, or is no worktree any more."""
    is_main: bool = False


class Leftovers(NamedTuple):
    """What a worktree holds that a commit does not; each path seen from its top."""

    changed: tuple[str, ...] = ()
    untracked: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()
    """Files and folders (with `/` behind them) that `.gitignore` leaves out."""


class Merged(NamedTuple):
    """What comes of bringing two commits together."""

    tree: str
    """The tree; where there are conflicts their marks are in its files."""
    conflicts: tuple[str, ...] = ()
    said: str = ""
    """What git says about them."""


class Worktrees(Protocol):
    """The worktrees of a repository."""

    def registered(self) -> Sequence[Registered]:
        """Return what `git worktree list` says, the main one first."""

    def add(self, path: str, branch: str | None, base: str, *, new: bool = True) -> None:
        """Make a worktree at a path where nothing is, and check the commit `base` out.

        On a new branch, or on one that is there and leads to `base`, or detached for None. Raise
        AlreadyExists where anything is at the path.
        """

    def remove(self, path: str, *, force: bool = False) -> None:
        """Remove a registered worktree without uncommitted or untracked files, or a missing one.

        `force` is for what the harness itself has just made, and nobody has worked in.
        """

    def leftovers(self, path: str, commit: str, *, fold: bool = False) -> Leftovers:
        """Return how a worktree differs from a commit.

        `fold`: a folder in which nothing is tracked is one name, with `/` behind it.
        """


class Refs(Protocol):
    """Branches and the commits that they lead to."""

    def commit_of(self, revision: str) -> str | None:
        """Return the id of the commit that a revision names; None where it names none."""

    def tip(self, branch: str) -> str | None:
        """Return the commit that a branch leads to; None where there is no such branch.

        Raise GitProblem where there is one that cannot be read, or leads to nothing.
        """

    def branches(self) -> Sequence[str]:
        """Return all branches."""

    def branch(self, path: str) -> str | None:
        """Return the branch that a worktree has checked out; None where it is detached."""

    def move(self, branch: str, new: str | None, old: str | None, reason: str) -> bool:
        """Let a branch lead to `new`, if it leads to `old` still; say whether it does now.

        `old` None: the branch must not be there. `new` None: the branch is deleted.
        """

    def missing(self, commit: str, present: Sequence[str], *, remotes: bool) -> Sequence[str]:
        """Return the commits that lead to one and are in none of `present`, nor on a remote."""


class Trees(Protocol):
    """Contents: what a worktree holds, and what commits hold."""

    def snapshot(self, path: str, base: str, keep: Callable[[str], bool]) -> str:
        """Return the tree of a worktree, without what git ignores.

        `keep` says which changes are taken in, each a path seen from the worktree's top; what it
        refuses stays as in `base`.
        """

    def differences(self, before: str, after: str) -> Sequence[str]:
        """Return the paths that are not the same in two commits or trees."""

    def commit(self, tree: str, parents: Sequence[str], message: str, author: str) -> str:
        """Write a commit; return its id. Nothing leads to it yet. `author` is `Name <address>`."""

    def merge(self, path: str, ours: str, theirs: str) -> Merged:
        """Bring two commits together without touching any file; attributes are those at `path`."""

    def check_out(
        self, path: str, before: str, after: str, *, try_only: bool = False
    ) -> str | None:
        """Turn the files of a worktree from one commit or tree into another.

        Changes that do not meet stay. Return what is in the way, with nothing changed; None where
        nothing is. `try_only` only looks. HEAD stays what it is.
        """


class Repository(Worktrees, Refs, Trees, Protocol):
    """All of it."""

    def take_as_it_is(self, path: str, commit: str) -> None:
        """Let the index of a worktree say what a commit says; no file is touched."""

    def detach(self, path: str, before: str, after: str) -> None:
        """Let the HEAD of a worktree without a branch lead to another commit."""

    def tree_of(self, commit: str) -> str:
        """Return the tree of a commit."""

    def submodules(self, commit: str) -> Sequence[str]:
        """Return where a commit has other repositories in it."""

    def size(self, base: str, tip: str) -> int:
        """Return how many lines are added and removed since the commits parted."""


class Damage(NamedTuple):
    """What an agent did to the repository, all of it put back."""

    destroyed: tuple[str, ...] = ()
    """What was lost: commits, refs, stashes, reflogs, the index."""
    mended: tuple[str, ...] = ()
    """What was changed and may not be, with nothing lost."""


class Guard(Protocol):
    """Keeps repositories from being lost to an agent."""

    def keep(self, root: str, nested: Iterable[str] | None, run: str) -> tuple[str, ...]:
        """Keep a copy of every repository that an agent in a workspace can write to.

        `nested` are folders of it with repositories of their own; None: they are looked for.
        Return which files of the workspace the agent's cell must not let it write.
        """

    def look(self, root: str, *, last: bool = True) -> Damage:
        """Put back what was destroyed since the copy was made; say what.

        Who asks again is told again, until it is settled. After the last look what happens to the
        repository is nobody's concern any more.
        """

    def settle(self, root: str, *, ended: bool = True) -> None:
        """Forget what was found: the journal has it, or no agent was there.

        `ended`: an agent for which something was kept is no longer at work.
        """

    def unstage(self, root: str, paths: Sequence[str]) -> None:
        """Let the index say of paths of the workspace what it said when the copy was made."""


class NoGuard:
    """For a workspace without a repository."""

    def keep(self, root: str, nested: Iterable[str] | None, run: str) -> tuple[str, ...]:  # noqa: ARG002 - as the port has it
        """Keep nothing."""
        return ()

    def look(self, root: str, *, last: bool = True) -> Damage:  # noqa: ARG002 - as the port has it
        """Find nothing."""
        return Damage()

    def settle(self, root: str, *, ended: bool = True) -> None:
        """Do nothing."""

    def unstage(self, root: str, paths: Sequence[str]) -> None:
        """Do nothing."""
