"""A repository on this machine: its worktrees, branches, commits and files."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import NamedTuple

from planbound.errors import AlreadyExists, GitProblem
from planbound.git.program import ENVIRONMENT, PATH, Git, GitOutput, checked, make_view

MOVES = "moves"
"""The file of a view with what the harness itself moved or removed, and when."""
_BRANCHES = "refs/heads/"
_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_AUTHOR = re.compile(r"\s*([^<>\n]*?)\s*<([^<>\n]*)>\s*")
_NOBODY = "0" * 40
_NO_SUCH = "fatal: Needed a single revision"
_SUBMODULE = "160000 "
_REGULAR = "100"
_LINK = "120000"
_OBJECT = re.compile(rb"[0-9a-f]{40,64} (\w+) (\d+)")
_LED_AWAY = re.compile(rb"(symlink|dangling|loop|notdir) (\d+)")


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


class TreeEntry(NamedTuple):
    """A file, folder, link or submodule of a tree."""

    mode: str
    id: str
    name: str


class TreeFile(NamedTuple):
    """A regular file or symbolic link of a tree."""

    size: int
    is_link: bool


class GitChange(NamedTuple):
    """A path that is not the same in two trees; a mode of 0: nothing is there."""

    path: str
    before: int
    after: int


class Repository:
    """Works by git's own plumbing, through a view of ours."""

    def __init__(self, common: str, main: str, folder: str, *, to_write: bool = True) -> None:
        """Know the common directory, the main worktree, and where the view is to be."""
        self.common = os.path.realpath(common)
        self.main = os.path.realpath(main)
        self._folder = folder
        self._to_write = to_write

    @cached_property
    def _git(self) -> Git:
        make_view(self.common, self._folder, to_write=self._to_write)
        return Git(self.common, self._folder)

    # -- worktrees -----------------------------------------------------------------------------

    def registered(self) -> list[Registered]:
        """Return what `git worktree list` says, the main one first."""
        said = checked(self._git.bare("worktree", "list", "--porcelain", "-z"), "list worktrees")
        found = [_registered(block) for block in said.out.split(b"\0\0") if block.strip(b"\0")]
        # The first is our view, which stands for the main one.
        main = Registered(self.main, self._head(self.main), self.branch(self.main), is_main=True)
        return [main, *(each for each in found[1:] if each.path != self.main)]

    def add(self, path: str, branch: str | None, base: str, *, new: bool = True) -> None:
        """Make a worktree at a path where nothing is, and check the commit `base` out.

        On a new branch, or on one that is there and leads to `base`, or detached for None. Raise
        AlreadyExists where anything is at the path.
        """
        if os.path.lexists(path):
            raise AlreadyExists(f"`{path}` is there already")
        words = ["--", path, base]
        if branch is None:
            words.insert(0, "--detach")
        elif new:
            words[:0] = ["-b", branch]
        else:
            words[2] = branch
        added = self._git.bare("worktree", "add", "--no-checkout", *words)
        checked(added, f"make the worktree `{path}`")
        pointer = os.path.join(path, ".git")
        try:
            with open(pointer, encoding="utf-8", errors="surrogateescape") as file:
                name = os.path.basename(file.read().strip())
            # By the repository's own path: our view is nobody else's business.
            with open(pointer, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"gitdir: {os.path.join(self.common, 'worktrees', name)}\n")
        except OSError as error:
            raise GitProblem(f"cannot write `{pointer}`: {error.strerror}") from error
        filled = self._within(path, "read-tree", "-m", "-u", base)
        checked(filled, f"check `{base[:12]}` out in `{path}`")

    def remove(self, path: str, *, force: bool = False) -> None:
        """Remove a registered worktree without uncommitted or untracked files, or a missing one.

        `force` is for what the harness itself has just made, and nobody has worked in.
        """
        with contextlib.suppress(GitProblem):
            self._note(os.path.relpath(self._folder_of(path), self.common))
        words = ("worktree", "remove", *(["--force"] if force else []), "--", path)
        checked(self._git.bare(*words), f"remove the worktree `{path}`")

    def leftovers(self, path: str, commit: str, *, fold: bool = False) -> Leftovers:
        """Return how a worktree differs from a commit.

        `fold`: a folder in which nothing is tracked is one name, with `/` behind it.
        """
        # By an index of our own: in the worktree's one files may be marked as unchanged.
        with self._index(path, commit) as more:
            return self._compared(path, more, fold=fold)

    def renew(self, path: str, commit: str) -> bool:
        """Let a worktree without a branch show a commit as if that had just been checked out.

        Say whether it holds that commit, and nothing else. What it showed is read again, whatever
        its index says of it.
        """
        folder = self._folder_of(path)
        shown = self._head(path)
        with open(os.path.join(folder, "gitdir"), encoding="utf-8", errors="surrogateescape") as at:
            whose = at.read().strip()
        if shown is None or whose != os.path.join(path, ".git") or self.branch(path) is not None:
            return False
        self.take_as_it_is(path, shown)
        if shown != commit:
            if self.check_out(path, shown, commit, refresh=False) is not None:
                return False
            self.detach(path, shown, commit)
        return not any(self._compared(path))

    def _compared(
        self, path: str, more: Mapping[str, str] | None = None, *, fold: bool = False
    ) -> Leftovers:
        """Return how a worktree differs from its index, or from the one in `more`."""
        said = self._git.within(
            path,
            self._folder_of(path),
            *("status", "--porcelain=v1", "-z", "--no-renames"),
            f"--untracked-files={'normal' if fold else 'all'}",
            *("--ignored=traditional", "--ignore-submodules=none"),
            more=more,
        )
        changed: list[str] = []
        untracked: list[str] = []
        ignored: list[str] = []
        for line in checked(said, f"look at `{path}`").lines:
            state, name = line[:2], line[3:]
            kept = {"??": untracked, "!!": ignored}.get(state, changed)
            if state[1] != " ":  # the first place compares with HEAD, which may be elsewhere
                kept.append(name)
        return Leftovers(tuple(changed), tuple(untracked), tuple(ignored))

    # -- refs ----------------------------------------------------------------------------------

    def checked_out(self, path: str) -> str | None:
        """Return the commit that a worktree has checked out; None where there is none yet."""
        return self._head(path)

    def commit_of(self, revision: str) -> str | None:
        """Return the id of the commit that a revision names; None where it names none."""
        if revision == "HEAD":
            return self._head(self.main)
        said = self._git.bare("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return said.text if said.code == 0 and _COMMIT.fullmatch(said.text) else None

    def tip(self, branch: str) -> str | None:
        """Return the commit that a branch leads to; None where there is no such branch.

        Raise GitProblem where there is one that cannot be read, or leads to nothing.
        """
        name = f"{_BRANCHES}{branch}"
        said = self._git.bare("rev-parse", "--verify", name)
        if said.code != 0 and said.error == _NO_SUCH:
            return None
        commit = self.commit_of(name) if said.code == 0 else None
        if commit is None:
            reason = said.error.splitlines()[0] if said.error else f"there is no `{said.text}`"
            raise GitProblem(f"the branch `{branch}` cannot be read: {reason}")
        return commit

    def branches(self) -> list[str]:
        said = self._git.bare("for-each-ref", "--format=%(refname)", _BRANCHES)
        names = checked(said, "list branches").text.splitlines()
        return [name.removeprefix(_BRANCHES) for name in names]

    def branch(self, path: str) -> str | None:
        """Return the branch that a worktree has checked out; None where it is detached."""
        try:
            with open(
                os.path.join(self._folder_of(path), "HEAD"), encoding="utf-8", errors="replace"
            ) as file:
                text = file.read(4096).strip()
        except OSError as error:
            raise GitProblem(f"the HEAD of `{path}` cannot be read: {error.strerror}") from error
        name = text.removeprefix("ref:").strip()
        return name.removeprefix(_BRANCHES) if text.startswith("ref:") else None

    def move(self, branch: str, new: str | None, old: str | None, reason: str) -> bool:
        """Let a branch lead to `new`, if it leads to `old` still; say whether it does now.

        `old` None: the branch must not be there. `new` None: the branch is deleted.
        """
        name = f"{_BRANCHES}{branch}"
        before = old or _NOBODY
        if new is None:
            said = self._git.bare("update-ref", "--no-deref", "-m", reason, "-d", name, before)
        else:
            said = self._git.bare("update-ref", "-m", reason, name, new, before)
        if said.code == 0:
            self._note(name)
            return True
        if self.commit_of(name) == old:
            checked(said, f"move `{branch}`")
        return False

    def refs(self, prefix: str) -> list[tuple[str, str]]:
        """Return the refs below a name, each with what it leads to."""
        words = ("for-each-ref", "--format=%(refname) %(objectname)", prefix)
        lines = checked(self._git.bare(*words), f"list `{prefix}`").text.splitlines()
        return [(name, leads) for name, _, leads in (line.partition(" ") for line in lines)]

    def keep_blob(self, ref: str, content: bytes, reason: str) -> str:
        """Write a content, and let a ref lead to it; return its id. A ref that is there stays."""
        written = self._git.bare("hash-object", "-w", "--stdin", input=content)
        blob = checked(written, "write a file").text
        if dict(self.refs(ref)).get(ref) == blob:
            return blob
        # Not noted as a move of ours: it is new, and an agent may not take it away.
        checked(self._git.bare("update-ref", "-m", reason, ref, blob, _NOBODY), f"make `{ref}`")
        return blob

    def address_of(self, remote: str) -> str | None:
        """Return where a remote is, as the repository itself says; None where there is none."""
        config = os.path.join(self.common, "config")
        for key in ("pushurl", "url"):
            words = ("config", "--file", config, "--no-includes", "--get", f"remote.{remote}.{key}")
            said = self._git.bare(*words)
            if said.code == 0 and said.text:
                return said.text
        return None

    def as_person(self, words: Sequence[str], *, seconds: float) -> GitOutput:
        """Run git as the person would: for what only their settings and keys can reach."""
        return self._git.as_person(words, seconds=seconds)

    def message(self, commit: str) -> str:
        """Return what a commit says of itself."""
        said = self._git.bare("log", "-1", "--format=%B", "--end-of-options", commit)
        return checked(said, f"read `{commit[:12]}`").text

    def missing(self, commit: str, present: Sequence[str], *, remotes: bool) -> list[str]:
        """Return the commits that lead to one and are in none of `present`, nor on a remote."""
        words = ["rev-list", commit, "--not", *present, *(["--remotes"] if remotes else [])]
        return checked(self._git.bare(*words), f"read the commits of `{commit}`").text.split()

    # -- trees ---------------------------------------------------------------------------------

    def snapshot(self, path: str, base: str, keep: Callable[[str], bool]) -> str:
        """Return the tree of a worktree, without what git ignores.

        `keep` says which changes are taken in, each a path seen from the worktree's top; what it
        refuses stays as in `base`.
        """
        what = f"take in `{path}`"
        with self._index(path, base) as more:
            run = partial(self._git.within, path, self._folder_of(path), more=more)
            checked(run("add", "--all", "--", ":(top)"), what)
            changed = checked(
                run("diff", "--cached", "--name-only", "-z", "--no-renames", base), what
            )
            refused = [name for name in changed.lines if not keep(name)]
            if refused:
                names = b"\0".join(os.fsencode(name) for name in refused)
                unstage = (
                    "reset",
                    "--quiet",
                    "--pathspec-from-file=-",
                    "--pathspec-file-nul",
                    base,
                )
                checked(run("--literal-pathspecs", *unstage, input=names), what)
            said = run("write-tree")
        return checked(said, f"write the tree of `{path}`").text

    def differences(self, before: str, after: str) -> list[str]:
        """Return the paths that are not the same in two commits or trees."""
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", before, after)
        return checked(self._git.bare(*words), f"compare `{before[:12]}` with others").lines

    def changes(self, before: str, after: str) -> list[GitChange]:
        """Return what is not the same in two commits or trees, with the modes on both sides."""
        words = ("diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", before, after)
        lines = checked(self._git.bare(*words), f"compare `{before[:12]}` with others").lines
        return [
            GitChange(path, *(int(mode, 8) for mode in head.lstrip(":").split()[:2]))
            for head, path in zip(lines[::2], lines[1::2], strict=True)
        ]

    def files(self, commit: str) -> dict[str, TreeFile]:
        """Return the regular files and symbolic links of a commit or tree."""
        said = self._git.bare("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
        found = {}
        for line in checked(said, f"list the files of `{commit[:12]}`").lines:
            head, _, path = line.partition("\t")
            if head.startswith((_REGULAR, _LINK)):
                found[path] = TreeFile(int(head.rpartition(" ")[2]), head.startswith(_LINK))
        return found

    def tree_without(self, path: str, commit: str, names: Sequence[str]) -> str:
        """Return the tree of a commit without some of its files; `path` is any worktree."""
        what = f"leave files out of `{commit[:12]}`"
        given = b"".join(os.fsencode(name) + b"\0" for name in names)
        with self._index(path, commit) as more:
            run = partial(self._git.within, path, self._folder_of(path), more=more)
            checked(run("update-index", "--force-remove", "-z", "--stdin", input=given), what)
            said = run("write-tree")
        return checked(said, what).text

    def commit(self, tree: str, parents: Sequence[str], message: str, author: str) -> str:
        """Write a commit; return its id. Nothing leads to it yet. `author` is `Name <address>`."""
        match = _AUTHOR.fullmatch(author)
        name, address = (match[1], match[2]) if match else (author, "")
        own = ("-c", f"user.name={name}", "-c", f"user.email={address}")
        links = [word for parent in parents for word in ("-p", parent)]
        said = self._git.bare(
            *own, "commit-tree", "--no-gpg-sign", *links, tree, input=message.encode()
        )
        return checked(said, "write a commit").text

    def merge(self, path: str, ours: str, theirs: str) -> Merged:
        """Bring two commits together without touching any file; attributes are those at `path`."""
        said = self._within(
            path, "merge-tree", "--write-tree", "-z", "--name-only", "--messages", ours, theirs
        )
        checked(said, f"merge `{theirs[:12]}` into `{ours[:12]}`", 1)
        tree, *rest = said.out.split(b"\0")
        # The names of files with conflicts, an empty field, then the messages in fields of four.
        end = rest.index(b"") if b"" in rest else len(rest)
        conflicts = tuple(dict.fromkeys(os.fsdecode(name) for name in rest[:end]))
        messages = [os.fsdecode(field).strip() for field in rest[end:] if b"\n" in field]
        return Merged(
            tree.decode(), conflicts if said.code else (), "\n".join(messages) if said.code else ""
        )

    def check_out(
        self, path: str, before: str, after: str, *, try_only: bool = False, refresh: bool = True
    ) -> str | None:
        """Turn the files of a worktree from one commit or tree into another.

        Changes that do not meet stay. Return what is in the way, with nothing changed; None where
        nothing is. `try_only` only looks. HEAD stays what it is. `refresh`: files may have
        other times than when they were checked out.
        """
        folder = self._folder_of(path)
        if refresh:
            self._git.within(path, folder, "update-index", "-q", "--refresh")
        words = ["read-tree", "-m", *(["-n"] if try_only else []), "-u", before, after]
        said = self._git.within(path, folder, *words)
        if said.code == 0:
            return None
        lines = [line.removeprefix("error: ").strip() for line in said.error.splitlines()]
        return "; ".join(line for line in lines if line and line != "Aborting") or "git refuses"

    def take_as_it_is(self, path: str, commit: str) -> None:
        """Let the index of a worktree say what a commit says; no file is touched."""
        checked(self._within(path, "read-tree", commit), f"read `{commit[:12]}` into an index")
        self._within(path, "update-index", "-q", "--refresh")

    def detach(self, path: str, before: str, after: str) -> None:
        """Let the HEAD of a worktree without a branch lead to another commit."""
        checked(
            self._within(path, "update-ref", "--no-deref", "HEAD", after, before),
            f"move the HEAD of `{path}`",
        )

    def tree_of(self, commit: str) -> str:
        said = self._git.bare("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
        return checked(said, f"read `{commit[:12]}`").text

    def tree_at(self, path: str, revision: str) -> str | None:
        """Return the tree that a revision names as seen from a worktree; None: it names none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{tree}}")
        said = self._within(path, *words)
        return said.text if said.code == 0 and _COMMIT.fullmatch(said.text) else None

    def commit_at(self, path: str, revision: str) -> str | None:
        """Return the commit that a revision names as seen from a worktree; None: it names none."""
        words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
        said = self._within(path, *words)
        return said.text if said.code == 0 and _COMMIT.fullmatch(said.text) else None

    def ancestors(self, path: str, revision: str, most: int) -> list[str]:
        """Return the last commits before one that a revision names; none where it names none."""
        words = ("rev-list", f"--max-count={most}", "--skip=1", "--end-of-options", revision)
        said = self._within(path, *words)
        return said.text.split() if said.code == 0 else []

    def entries(self, tree: str) -> list[TreeEntry]:
        """Return what stands in a tree itself, in git's order; nothing where it is not there."""
        said = self._git.bare("ls-tree", "-z", "--full-tree", "--end-of-options", tree)
        found = []
        for line in said.lines if said.code == 0 else ():
            head, _, name = line.partition("\t")
            mode, _, rest = head.partition(" ")
            found.append(TreeEntry(mode, rest.rpartition(" ")[2], name))
        return found

    def blob(self, name: str, limit: int) -> bytes | None:
        """Return the content of a file by its id; None where it is not there, or is larger."""
        if _COMMIT.fullmatch(name) is None:
            return None
        said = self._git.bare("cat-file", "-s", name)
        if said.code != 0 or not said.text.isdigit() or int(said.text) > limit:
            return None
        said = self._git.bare("cat-file", "blob", name)
        return said.out if said.code == 0 else None

    def submodules(self, commit: str) -> list[str]:
        """Return where a commit has other repositories in it."""
        said = self._git.bare("ls-tree", "-r", "-z", "--full-tree", commit)
        lines = checked(said, f"list the files of `{commit[:12]}`").lines
        return [line.partition("\t")[2] for line in lines if line.startswith(_SUBMODULE)]

    def contents(self, commit: str, paths: Sequence[str]) -> dict[str, bytes]:
        """Return the files that a commit has at some paths; each is seen from the top."""
        found = self._contents(commit, paths)
        return {path: data for path, data in found.items() if data is not None}

    def contents_behind_links(self, commit: str, paths: Sequence[str]) -> dict[str, bytes | None]:
        """Return what is at some paths of a commit; None for a link that leads to no file of it."""
        return self._contents(commit, paths, "--follow-symlinks")

    def _contents(
        self, commit: str, paths: Sequence[str], *options: str
    ) -> dict[str, bytes | None]:
        asked = [path for path in paths if "\n" not in path]
        words = os.fsencode("".join(f"{commit}:{path}\n" for path in asked))
        said = self._git.bare("cat-file", "--batch", *options, input=words)
        left = checked(said, f"read the files of `{commit[:12]}`").out
        found: dict[str, bytes | None] = {}
        for path in asked:
            head, _, left = left.partition(b"\n")
            # `ID TYPE SIZE`, `symlink SIZE`, or what was asked for and why there is nothing.
            match = _OBJECT.fullmatch(head) or _LED_AWAY.fullmatch(head)
            if match is None:
                continue
            size = int(match[2])
            if match.re is _LED_AWAY:
                found[path] = None
            elif match[1] == b"blob":
                found[path] = left[:size]
            left = left[size + 1 :]
        return found

    def size(self, base: str, tip: str) -> int:
        """Return how many lines are added and removed since the commits parted."""
        said = self._git.bare("diff", "--numstat", "-z", "--no-renames", f"{base}...{tip}")
        total = 0
        for line in checked(said, f"compare `{tip[:12]}` with `{base[:12]}`").lines:
            added, removed, _ = line.split("\t", 2)
            total += sum(int(count) for count in (added, removed) if count != "-")
        return total

    # -- parts ---------------------------------------------------------------------------------

    def _note(self, name: str) -> None:
        """Note that this was the harness, and not an agent that is at work meanwhile."""
        with contextlib.suppress(OSError):
            path = os.path.join(self._folder, MOVES)
            with open(path, "a", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{time.time_ns()}\t{name}\n")

    def _head(self, path: str) -> str | None:
        said = self._within(path, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
        return said.text if said.code == 0 else None

    def _within(self, path: str, *words: str) -> GitOutput:
        return self._git.within(path, self._folder_of(path), *words)

    def _folder_of(self, path: str) -> str:
        """Return where git keeps the HEAD and index of a worktree of this very repository."""
        pointer = os.path.join(path, ".git")
        if os.path.realpath(pointer) == self.common or path == self.main:
            return self.common
        try:
            with open(pointer, encoding="utf-8", errors="surrogateescape") as file:
                text = file.read(16 * 1024)
        except OSError as error:
            raise GitProblem(
                f"`{path}` is no worktree: `{pointer}`: {error.strerror}",
                hint="nothing is done there: git would act on the repository around it",
            ) from error
        folder = os.path.realpath(os.path.join(path, text.removeprefix("gitdir:").strip()))
        if os.path.dirname(folder) != os.path.join(self.common, "worktrees"):
            raise GitProblem(f"`{path}` is no worktree of `{self.main}`")
        return folder

    @contextlib.contextmanager
    def _index(self, path: str, commit: str) -> Iterator[dict[str, str]]:
        """Give an index that holds a commit, and nothing that anybody else wrote into one."""
        import tempfile  # noqa: PLC0415 - start-up: most commands run no git

        git = self._git  # makes the folder, too
        with tempfile.TemporaryDirectory(dir=self._folder, prefix="index-") as folder:
            more = {"GIT_INDEX_FILE": os.path.join(folder, "index")}
            said = git.within(path, self._folder_of(path), "read-tree", commit, more=more)
            checked(said, f"read `{commit[:12]}`")
            yield more


def _registered(block: bytes) -> Registered:
    values: dict[str, str] = {}
    for field in block.split(b"\0"):
        key, _, value = os.fsdecode(field).partition(" ")
        values[key] = value
    head = values.get("HEAD")
    path = values["worktree"]
    return Registered(
        path=path,
        head=head if head and set(head) != {"0"} else None,
        branch=values["branch"].removeprefix(_BRANCHES) if "branch" in values else None,
        locked=values.get("locked"),
        missing="prunable" in values or not os.path.isfile(os.path.join(path, ".git")),
    )


# -- which files of a worktree are under git's control, and which folders it is told to pass by --


_SECONDS = 60.0
# What a repository names there would be run.
_NOTHING_RUN = ("-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null")
_IGNORED = ("ls-files", "--others", "--ignored", "--exclude-standard", "--directory", "-z")
# Whatever the repository's own settings say: an agent may have written those.
_IGNORED_BY_FILES = (
    *("ls-files", "--others", "--ignored", "--exclude-per-directory=.gitignore"),
    *("--directory", "-z"),
)
_TRACKED = ("ls-files", "--cached", "--stage", "-z")
_GITLINK = b"160000"


def ignored_folders(root: str) -> tuple[bytes, ...]:
    """Return the folders below a root that git ignores as a whole; none where git cannot tell.

    What is tracked is never among them, whatever a `.gitignore` says.
    """
    names = (name for name in _listed(root, _IGNORED) if name.endswith(b"/"))
    return tuple(os.path.normpath(name) for name in names if name.strip(b"./"))


def ignored_by_files(root: str) -> tuple[str, ...]:
    """Return what the `.gitignore` files below a root leave out: files, and folders with a `/`."""
    return tuple(os.fsdecode(name) for name in _listed(root, _IGNORED_BY_FILES))


def would_ignore(root: str, paths: Sequence[str]) -> tuple[str, ...]:
    """Return which of some paths git would ignore, whether they are there or not."""
    if not paths:
        return ()
    asked = b"".join(os.fsencode(path) + b"\0" for path in paths)
    words = ("check-ignore", "--no-index", "--stdin", "-z")
    return tuple(os.fsdecode(name) for name in _listed(root, words, asked))


def tracked_files(top: str) -> frozenset[str]:
    """Return the files of a worktree that git tracks, without submodules; none where it fails."""
    entries = (entry.partition(b"\t") for entry in _listed(top, _TRACKED))
    return frozenset(
        os.fsdecode(name) for mode, _, name in entries if not mode.startswith(_GITLINK)
    )


def object_form(root: str) -> str | None:
    """Return how git hashes here, `sha1` or `sha256`; None where there is no repository."""
    said = _listed(root, ("rev-parse", "--show-object-format"))
    return os.fsdecode(said[0]).strip() if said else None


def head_commit(root: str) -> str | None:
    """Return the commit that is checked out; None where there is none."""
    said = _listed(root, ("rev-parse", "--verify", "--quiet", "HEAD^{commit}"))
    return os.fsdecode(said[0]).strip() if said else None


def read_git(folder: str, words: tuple[str, ...]) -> bytes | None:
    """Return what git prints that only reads; None where it failed, or is not there."""
    done = _asked(folder, words, b"")
    return None if done is None or done.returncode else done.stdout


def _listed(folder: str, words: tuple[str, ...], given: bytes = b"") -> list[bytes]:
    done = _asked(folder, words, given)
    if done is None or done.returncode:
        return []
    return [name for name in done.stdout.split(b"\0") if name]


def _asked(
    folder: str, words: tuple[str, ...], given: bytes
) -> subprocess.CompletedProcess[bytes] | None:
    git = shutil.which("git", path=PATH) or shutil.which("git")
    if git is None:
        return None
    try:
        return subprocess.run(  # noqa: S603 - git, with our own environment
            [git, *_NOTHING_RUN, *words],
            cwd=folder,
            env=ENVIRONMENT,
            input=given,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            start_new_session=True,
        )
    except (OSError, subprocess.SubprocessError):
        return None
