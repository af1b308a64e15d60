"""Receipts in a repository: one ref for each, below the id of the tree that it is about.

A ref leads to the file itself, a blob, and is called by the SHA-256 of it. So many receipts of one
tree stand side by side, no two have one name, and nothing is ever written over or forced.
"""

from __future__ import annotations

import hashlib
import os
import re
from typing import NamedTuple

from planbound.errors import GitProblem
from planbound.git.repository import Repository

RECEIPTS = "refs/planbound/receipts/"
_REF = re.compile(re.escape(RECEIPTS) + r"([0-9a-f]{40}|[0-9a-f]{64})/([0-9a-f]{64})")
_TREE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_SENT_BY = ("https", "ssh", "file")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.IGNORECASE)
_HELPER = re.compile(r"[\w+.-]+::")
_ELSEWHERE = re.compile(r"[^/:]+:")
"""`ann@host:path`: a colon before any slash."""
_SECONDS = 120.0


class KeptReceipt(NamedTuple):
    """A receipt that the repository has."""

    ref: str
    tree: str
    sha256: str
    """Of the file."""
    blob: str


def receipt_ref(tree: str, data: bytes) -> str:
    """Return the ref under which a receipt is kept."""
    if _TREE.fullmatch(tree) is None:
        raise GitProblem(f"`{tree}` is no id of a tree")
    return f"{RECEIPTS}{tree}/{hashlib.sha256(data).hexdigest()}"


def keep_receipt(repository: Repository, tree: str, data: bytes) -> str:
    """Keep a receipt under a tree; return its ref. One that is there already stays."""
    ref = receipt_ref(tree, data)
    repository.keep_blob(ref, data, "planbound: receipt")
    return ref


def kept_receipts(repository: Repository, tree: str | None = None) -> list[KeptReceipt]:
    """Return the receipts of a tree that are kept; of every tree where none is named."""
    found = []
    for name, blob in repository.refs(RECEIPTS if tree is None else f"{RECEIPTS}{tree}/"):
        match = _REF.fullmatch(name)
        if match is not None:
            found.append(KeptReceipt(name, match[1], match[2], blob))
    return found


def read_receipt(repository: Repository, kept: KeptReceipt, limit: int) -> bytes | None:
    """Return a kept receipt; None where it is not what its name says, or larger."""
    data = repository.blob(kept.blob, limit)
    return data if data is not None and hashlib.sha256(data).hexdigest() == kept.sha256 else None


def send_receipts(repository: Repository, remote: str, refs: list[str]) -> str | None:
    """Push kept receipts; return why that failed, None where they are there.

    With the settings and keys of the person, and none of the repository's: an agent may have
    written those. No hook is run, on this machine not even by a remote that is a folder here.
    """
    address = repository.address_of(remote)
    if address is None:
        return f"there is no remote `{remote}`"
    problem = _unfit(address)
    if problem is not None:
        return f"the remote `{remote}` {problem}"
    words = [word for name in _SENT_BY for word in ("-c", f"protocol.{name}.allow=always")]
    words += ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-force"]
    words += ["--no-recurse-submodules", "--no-signed"]
    if _is_here(address):
        words.append("--receive-pack=git -c core.hooksPath=/dev/null receive-pack")
        if not _SCHEME.match(address):
            address = os.path.join(repository.main, address)
    said = repository.as_person(
        [*words, "--", address, *(f"{ref}:{ref}" for ref in refs)], seconds=_SECONDS
    )
    if said.code == 0:
        return None
    refused = [line.split("\t")[-1] for line in said.text.splitlines() if line.startswith("!")]
    # What git says first is why; what follows is advice.
    lines = [line for line in said.error.splitlines() if line.startswith(("fatal:", "error:"))]
    return next(iter((*refused, *lines)), f"git push ended with {said.code}")


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
