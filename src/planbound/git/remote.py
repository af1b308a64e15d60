"""A repository elsewhere that commits and receipts are sent to: without force, and without hooks.

Git goes there with the settings and keys of the person, and with none of the repository's: an
agent may have written those. Only the address of a remote is taken from there.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from typing import NamedTuple

from planbound.errors import GitProblem
from planbound.git.program import GitOutput
from planbound.git.repository import Repository

_SENT_BY = ("https", "ssh", "file")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_HELPER = re.compile(r"[\w+.-]+::")
_ELSEWHERE = re.compile(r"[^/:]+:")
"""`ann@host:path`: a colon before any slash."""
_ACCOUNT = re.compile(r"://[^/\s]*@")
_SECONDS = 120.0
_ID = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64})\t(\S+)")
_NO_HOOKS = "git -c core.hooksPath=/dev/null receive-pack"


class _Way(NamedTuple):
    """How git gets to a remote."""

    options: tuple[str, ...]
    address: str
    here: bool
    """Whether it is a folder of this machine, whose hooks would run here."""


def push(repository: Repository, remote: str, names: Sequence[str]) -> str | None:
    """Push `SOURCE:REF` for each name; return why that failed, None where they are there.

    What is not a fast-forward is refused by the remote and stays as it is there. No hook is run,
    on this machine not even by a remote that is a folder here.
    """
    way = _way(repository, remote)
    if isinstance(way, str):
        return way
    words = [*way.options, "push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-force"]
    words += ["--no-recurse-submodules", "--no-signed"]
    if way.here:
        words.append(f"--receive-pack={_NO_HOOKS}")
    said = repository.as_person([*words, "--", way.address, *names], seconds=_SECONDS)
    if said.code == 0:
        return None
    refused = [line.split("\t")[-1] for line in said.text.splitlines() if line.startswith("!")]
    return refused[0] if refused else _why(said, "git push")


def refs_at(repository: Repository, remote: str, names: Sequence[str]) -> dict[str, str]:
    """Return what refs of a remote lead to, without those that it has not; raise GitProblem."""
    way = _way(repository, remote)
    if isinstance(way, str):
        raise GitProblem(way)
    words = [*way.options, "ls-remote", "--refs", "--", way.address, *names]
    said = repository.as_person(words, seconds=_SECONDS)
    if said.code != 0:
        raise GitProblem(f"the remote `{remote}` cannot be read: {_why(said, 'git ls-remote')}")
    found = (_ID.fullmatch(line) for line in said.text.splitlines())
    return {match[2]: match[1] for match in found if match is not None and match[2] in names}


def _why(said: GitOutput, what: str) -> str:
    """Return why git failed: what it says first, for what follows is advice.

    Without the account in an address: a password may stand there.
    """
    lines = [line for line in said.error.splitlines() if line.startswith(("fatal:", "error:"))]
    why = lines[0].removeprefix("fatal: ") if lines else f"{what} ended with {said.code}"
    return _ACCOUNT.sub("://", why)


def _way(repository: Repository, remote: str) -> _Way | str:
    """Return how to get to a remote, or why nobody goes there."""
    address = repository.address_of(remote)
    if address is None:
        return f"there is no remote `{remote}`"
    problem = _unfit(address)
    if problem is not None:
        return f"the remote `{remote}` {problem}"
    options = tuple(word for name in _SENT_BY for word in ("-c", f"protocol.{name}.allow=always"))
    here = _is_here(address)
    if here and not _SCHEME.match(address):
        address = os.path.join(repository.main, address)
    return _Way(options, address, here)


def _unfit(address: str) -> str | None:
    """Return why nothing is sent to an address."""
    if _HELPER.match(address) or address.startswith("-"):
        return "is reached by a program of its own, and none is run"
    scheme = _SCHEME.match(address)
    if scheme is not None and scheme[1].lower() not in _SENT_BY:
        return f"is reached by `{scheme[1]}`: receipts are sent by {', '.join(_SENT_BY)}"
    return None


def _is_here(address: str) -> bool:
    """Say whether an address is a folder of this machine."""
    if _SCHEME.match(address):
        return address.lower().startswith("file://")
    return not _ELSEWHERE.match(address)
