"""Keeps receipts in the repository, finds them there, and sends them to its remote."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import NamedTuple

from planbound.errors import PlanboundError, Refused, UsageError
from planbound.git.place import at_worktree, git_place, make_repository
from planbound.git.receipts import (
    KeptReceipt,
    keep_receipt,
    kept_receipts,
    read_receipt,
    send_receipts,
)
from planbound.git.repository import Repository
from planbound.receipts.envelope import MOST_BYTES
from planbound.receipts.receipt import make_receipt
from planbound.workspace.context import Context
from planbound.workspace.locate import locate

_NAMED = re.compile(r"(?m)^Planbound-Receipt: sha256:([0-9a-f]{64})$")


class KeptNow(NamedTuple):
    """A receipt that was just kept."""

    sha256: str
    refs: tuple[str, ...]
    new_key: str | None = None
    """The file of the key that was made to sign it; None: it was there."""

    @property
    def lines(self) -> tuple[str, ...]:
        """Return what people are told of it."""
        made = () if self.new_key is None else (f"made a key that signs receipts: {self.new_key}",)
        return (*made, f"the receipt is kept: {self.refs[-1]}")


def keep_done(context: Context, slug: str) -> KeptNow:
    """Make the receipt of a plan that is done, and keep it below the tree that was judged."""
    repository = make_repository(context)
    made = make_receipt(context, slug)
    tree = made.run.tree.git_tree
    if tree is None:
        raise Refused(
            f"the receipt of `{slug}` is about no tree of git: {made.run.tree.no_git_tree}"
        )
    ref = keep_receipt(repository, tree, made.data)
    made.note()
    signer = made.signer
    new_key = signer.path if signer is not None and signer.is_new else None
    return KeptNow(made.sha256, (ref,), new_key)


def keep_merged(context: Context, slug: str, commit: str) -> KeptNow:
    """Keep the receipt of a merged plan below the tree of the merge, too.

    It is the one that the merge names; where it names none, or that is gone, one is made now.
    """
    repository = make_repository(context)
    tree = repository.tree_of(commit)
    named = _NAMED.search(repository.message(commit))
    data = _found(repository, named[1]) if named is not None else None
    if data is not None and named is not None:
        return KeptNow(named[1], (keep_receipt(repository, tree, data),))
    kept = keep_done(_own_context(context, slug), slug)
    data = _found(repository, kept.sha256)
    refs = kept.refs if data is None else (*kept.refs, keep_receipt(repository, tree, data))
    return kept._replace(refs=tuple(dict.fromkeys(refs)))


def keep_landed(context: Context, merged: Iterable[tuple[str, str]]) -> list[str]:
    """Keep the receipts of plans by their merges, where the configuration asks for that.

    Return what people are told of it; what goes wrong with a receipt undoes no merge.
    """
    rules = context.configuration.receipts
    said: list[str] = []
    refs: list[str] = []
    for slug, commit in merged if rules.are_kept else ():
        try:
            kept = keep_merged(context, slug, commit)
        except PlanboundError as problem:
            said.append(f"no receipt of `{slug}` is kept: {problem.message}")
            continue
        refs += kept.refs
        said += kept.lines
    if refs and rules.push:
        said.append(send_kept(context, refs))
    return said


def send_kept(context: Context, refs: Sequence[str]) -> str:
    """Send receipts to the remote of the configuration; return what came of it."""
    remote = context.configuration.receipts.remote
    try:
        problem = send_receipts(make_repository(context), remote, list(refs))
    except PlanboundError as error:
        problem = error.message
    if problem is None:
        return f"the receipt is sent to `{remote}`"
    return f"the receipt is not sent: {context.redactor.redact(problem).text}"


def find_kept(context: Context, revision: str | None) -> list[KeptReceipt]:
    """Return the receipts that are kept of a revision's tree, or that its commit names.

    None: all that there are.
    """
    place, repository = git_place(context), make_repository(context)
    if revision is None:
        return kept_receipts(repository)
    tree = repository.tree_at(place.top, revision)
    if tree is None:
        raise UsageError(f"`{revision}` names no commit and no tree of this repository")
    found = kept_receipts(repository, tree)
    commit = repository.commit_at(place.top, revision)
    named = _NAMED.findall(repository.message(commit)) if commit is not None else []
    if named:
        known = {each.ref for each in found}
        others = [each for each in kept_receipts(repository) if each.sha256 in named]
        found += [each for each in others if each.ref not in known]
    return found


def kept_content(context: Context, kept: KeptReceipt) -> bytes:
    """Return a receipt that is kept; refuse one that is not what its name says."""
    data = read_receipt(make_repository(context), kept, MOST_BYTES)
    if data is None:
        raise Refused(f"`{kept.ref}` does not lead to the receipt that its name says")
    return data


def _found(repository: Repository, sha256: str) -> bytes | None:
    for kept in kept_receipts(repository):
        if kept.sha256 == sha256:
            return read_receipt(repository, kept, MOST_BYTES)
    return None


def _own_context(context: Context, slug: str) -> Context:
    """Return the context of the worktree that a plan has; the given one, where it is gone."""
    with suppress(PlanboundError):
        return at_worktree(context, locate(slug, context.tree))
    return context
