"""Receipts in a repository: one ref for each, below the id of the tree that it is about.

A ref leads to the file itself, a blob, and is called by the SHA-256 of it. So many receipts of one
tree stand side by side, no two have one name, and nothing is ever written over or forced.
"""

from __future__ import annotations

import hashlib
import re
from typing import NamedTuple

from planbound.errors import GitProblem
from planbound.git.remote import push
from planbound.git.repository import Repository

RECEIPTS = "refs/planbound/receipts/"
_REF = re.compile(re.escape(RECEIPTS) + r"([0-9a-f]{40}|[0-9a-f]{64})/([0-9a-f]{64})")
_TREE = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


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
    """Push kept receipts; return why that failed, None where they are there."""
    return push(repository, remote, [f"{ref}:{ref}" for ref in refs])
