"""Starts git with a clean environment and our view of the repository."""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from planbound.errors import GitProblem

PATH = "/usr/local/bin:/usr/bin:/bin"
_SECONDS = 1800.0
_OLDEST = (2, 38)
"""The first git that brings two commits together without a worktree."""
ENVIRONMENT = {
    "PATH": PATH,
    "HOME": "/nonexistent",
    "LC_ALL": "C.UTF-8",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
}


_PERSONAL = ("HOME", "GIT_CONFIG_NOSYSTEM", "GIT_CONFIG_GLOBAL")
_OF_PERSON = ("HOME", "XDG_CONFIG_HOME", "SSH_AUTH_SOCK", "GIT_CONFIG_GLOBAL", "GIT_SSL_CAINFO")
"""What leads to the settings and keys by which a person reaches a remote."""
_NEW_ENOUGH: set[str] = set()
"""The programs that this process has asked for their version."""


class GitOutput(NamedTuple):
    """What git printed, and how it ended."""

    code: int
    out: bytes
    error: str

    @property
    def text(self) -> str:
        """Return what it printed, without the end of the last line."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def lines(self) -> list[str]:
        """Return the texts between NUL bytes."""
        return [os.fsdecode(part) for part in self.out.split(b"\0") if part]


class Git:
    """The git of this machine, on one repository."""

    def __init__(self, common: str, view: str) -> None:
        self.common = common
        """Where the repository keeps everything that its worktrees share."""
        self._view = view
        self._program: str | None = None

    def bare(
        self,
        *words: str,
        input: bytes = b"",  # noqa: A002 - as subprocess calls it
        more: Mapping[str, str] | None = None,
    ) -> GitOutput:
        """Run git on the repository, in no worktree."""
        place = {"GIT_DIR": self._view, "GIT_COMMON_DIR": self._view}
        return self._run(words, place | dict(more or {}), self._view, input)

    def within(
        self,
        path: str,
        folder: str,
        *words: str,
        input: bytes = b"",  # noqa: A002 - as subprocess calls it
        more: Mapping[str, str] | None = None,
    ) -> GitOutput:
        """Run git in a worktree; `folder` is where git keeps its HEAD and index."""
        place = {"GIT_DIR": folder, "GIT_COMMON_DIR": self._view, "GIT_WORK_TREE": path}
        return self._run(("-c", "core.bare=false", *words), place | dict(more or {}), path, input)

    def as_person(self, words: Sequence[str], *, seconds: float) -> GitOutput:
        """Run git on the repository with a person's own settings and keys, and nobody to ask."""
        kept = {name: os.environ[name] for name in _OF_PERSON if name in os.environ}
        place = {**kept, "GIT_DIR": self._view, "GIT_COMMON_DIR": self._view}
        clean = {name: value for name, value in ENVIRONMENT.items() if name not in _PERSONAL}
        return self._run(words, clean | place, self._view, b"", seconds=seconds, whole=True)

    def _run(
        self,
        words: Sequence[str],
        place: Mapping[str, str],
        current: str,
        given: bytes,
        *,
        seconds: float = _SECONDS,
        whole: bool = False,
    ) -> GitOutput:
        """Run git; `whole`: `place` is all of its environment."""
        try:
            done = subprocess.run(  # noqa: S603 - git, with our own environment
                [self._found(), *words],
                input=given,
                capture_output=True,
                env=dict(place) if whole else ENVIRONMENT | dict(place),
                cwd=current,
                timeout=seconds,
                check=False,
                # Ctrl-C is for the harness, which lets git come to its end.
                start_new_session=True,
            )
        except subprocess.TimeoutExpired as error:
            raise GitProblem(f"`git {' '.join(words[:4])}` did not end in {seconds:g} s") from error
        except OSError as error:
            raise GitProblem(f"git cannot be run: {error.strerror}: {error.filename}") from error
        return GitOutput(
            done.returncode, done.stdout, done.stderr.decode("utf-8", "replace").strip()
        )

    def _found(self) -> str:
        if self._program is None:
            import shutil  # noqa: PLC0415 - start-up: most commands run no git

            found = shutil.which("git", path=PATH) or shutil.which("git")
            if found is None:
                raise GitProblem("`git` is not on the PATH", hint="install git 2.38 or newer")
            self._program = found
            self._refuse_old(found)
        return self._program

    def _refuse_old(self, program: str) -> None:
        if program in _NEW_ENOUGH:
            return
        said = self._run(["version"], {}, "/", b"")
        match = re.search(r"(\d+)\.(\d+)", said.text)
        if match is None or (int(match[1]), int(match[2])) < _OLDEST:
            raise GitProblem(
                f"`{said.text or program}` is too old: worktrees need git 2.38 or newer"
            )
        _NEW_ENOUGH.add(program)


def checked(said: GitOutput, what: str, *codes: int) -> GitOutput:
    """Return what git said; raise GitProblem where it ended otherwise than by 0 or these codes."""
    if said.code not in (0, *codes):
        raise GitProblem(f"git cannot {what}: {_reason(said)}")
    return said


def _reason(said: GitOutput) -> str:
    """Return why git failed: the reason, not the advice that comes after it."""
    lines = [line for line in said.error.splitlines() if line.strip()]
    telling = [line for line in lines if line.startswith(("fatal:", "error:"))] or lines
    return (telling[-1] if telling else f"exit code {said.code}").removeprefix("fatal: ")


# -- the harness's own view of a repository: its objects and branches, and nothing that runs code


_SHARED = ("objects", "refs", "packed-refs", "worktrees", "logs", "shallow", "reftable")
_CONFIGURATION = """\
[core]
\trepositoryformatversion = {version}
\tbare = {bare}
\thooksPath = /dev/null
\tfsmonitor = false
\tattributesFile = /dev/null
\texcludesFile = /dev/null
\tlogAllRefUpdates = true
\tquotePath = false
\tprecomposeUnicode = false
[gc]
\tauto = 0
[maintenance]
\tauto = false
[protocol]
\tallow = never
[submodule]
\trecurse = false
[merge]
\trenames = true
[checkout]
\tworkers = 2
\tthresholdForParallelism = 500
[advice]
\tdetachedHead = false
"""
_MAX_SETTINGS = 4 << 20


def make_view(common: str, view: str, *, to_write: bool = True) -> None:
    """Make the view of the repository whose common directory is given, in a folder of ours."""
    try:
        os.makedirs(view, mode=0o700, exist_ok=True)
        # A link to nothing would be in the way of git's making it.
        for name in ("worktrees", "logs") if to_write else ():
            os.makedirs(os.path.join(common, name), exist_ok=True)
        for name in _SHARED:
            _link(os.path.join(common, name), os.path.join(view, name))
        _write(os.path.join(view, "config"), plain_configuration(common, bare=True))
        _write(os.path.join(view, "HEAD"), "ref: refs/heads/planbound-has-none\n")
    except OSError as error:
        raise GitProblem(f"cannot make the view of `{common}`: {error.strerror}") from error


def _link(source: str, target: str) -> None:
    try:
        if os.readlink(target) == source:
            return
        os.unlink(target)
    except FileNotFoundError:
        pass
    try:
        os.symlink(source, target)
    except FileExistsError:
        if os.readlink(target) != source:  # otherwise another process was quicker
            raise


def _write(path: str, text: str) -> None:
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except FileNotFoundError:
        pass
    fresh = f"{path}.{os.getpid()}"
    with open(fresh, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(fresh, path)


def plain_configuration(common: str, *, bare: bool) -> str:
    """Return the configuration of a repository with the same objects, in which no code is run."""
    extensions = _extensions(common)
    text = _CONFIGURATION.format(version=1 if extensions else 0, bare=str(bare).lower())
    if extensions:
        text += "[extensions]\n" + "".join(f"\t{key} = {name}\n" for key, name in extensions)
    return text


def _extensions(common: str) -> list[tuple[str, str]]:
    """Return how the repository stores its objects and refs: nothing of that runs a program."""
    try:
        with open(os.path.join(common, "config"), encoding="utf-8", errors="replace") as file:
            lines = file.read(_MAX_SETTINGS).splitlines()
    except FileNotFoundError:
        return []
    found, section = [], ""
    for line in lines:
        if head := re.match(r"\s*\[\s*([^\]]*?)\s*\]", line):
            section = head[1].lower()
        elif section == "extensions" and (
            pair := re.match(
                r"\s*(objectformat|refstorage)\s*=\s*([a-z0-9]+)\s*$", line, re.IGNORECASE
            )
        ):
            found.append((pair[1], pair[2]))
    return found
