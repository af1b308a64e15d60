"""Commits what the contracts of a proved plan saw: exactly that, and nothing else."""

from __future__ import annotations

import os.path
import shlex
from collections.abc import Callable
from typing import NamedTuple

from planbound.engine.judging.scope import Scope, covers
from planbound.engine.team.rules import WorktreeRules
from planbound.engine.team.slot import HARNESS_OWN
from planbound.engine.team.state import Binding, Proof, TeamState
from planbound.errors import Refused
from planbound.journal.event import EventKind
from planbound.journal.record import Json
from planbound.plan.glob import parse_glob
from planbound.ports.git import Repository
from planbound.usecases.record import Recorder
from planbound.usecases.team.bindings import mismatch


class CommitDesk(NamedTuple):
    """What committing needs, put together once."""

    repository: Repository
    recorder: Recorder
    rules: WorktreeRules
    tree_of: Callable[[str], str]
    """Returns what a workspace holds, as verdicts name it."""
    inside: str
    """The workspace as seen from a worktree's top."""
    scope: Callable[[str], Scope]
    """Returns what a plan may change."""


def commit_proved(desk: CommitDesk, state: TeamState, objective: str) -> str:
    """Return the commit that a proved plan's branch leads to, with all that was proved in it.

    Raise Refused where the plan is not proved, or its worktree holds something else.
    """
    work = proved_work(desk, state)
    tip = work.parents[0]
    if len(work.parents) == 1 and work.tree == desk.repository.tree_of(tip):
        if tip not in {state.commit, work.binding.base}:
            # By somebody else; or by the harness, which was cut off before it could note it.
            _note(desk, work, tip)
        return tip
    commit = _write(desk, work, objective)
    _note(desk, work, commit)
    return commit


class Work(NamedTuple):
    """What a proved plan did, ready to be committed."""

    binding: Binding
    proof: Proof
    tree: str
    parents: tuple[str, ...]
    """What its branch leads to, and what it brings in beside its work."""


def proved_work(desk: CommitDesk, state: TeamState) -> Work:
    """Return what a proved plan did; raise Refused where its worktree holds something else."""
    binding, proof = state.binding, state.proof
    if binding is None or not binding.is_whole:
        raise Refused(
            f"`{state.plan}` has no worktree of its own",
            hint=f"`planbound spawn {shlex.quote(state.plan)}` makes one, then run it there",
        )
    if proof is None:
        raise Refused(
            f"`{state.plan}` is not proved",
            hint=f"`planbound status {shlex.quote(state.plan)}` tells more",
        )
    wrong = mismatch(binding, desk.repository)
    if wrong is not None:
        raise Refused(f"workspace-mismatch: {wrong}")
    tip = desk.repository.commit_of(f"refs/heads/{binding.branch}")
    if tip is None:
        raise Refused(f"the branch `{binding.branch}` of `{state.plan}` leads to no commit")
    _refuse_changed(desk, binding, proof)
    tree = desk.repository.snapshot(binding.path, tip, _is_work(desk, binding))
    # Once more: what changed while it was taken in was seen by no contract.
    _refuse_changed(desk, binding, proof)
    brought = binding.merges
    if brought is None or not desk.repository.missing(brought, [tip], remotes=False):
        return Work(binding, proof, tree, (tip,))
    return Work(binding, proof, tree, (tip, brought))


def _is_work(desk: CommitDesk, binding: Binding) -> Callable[[str], bool]:
    """Return what says whether a change, seen from the worktree's top, is the plan's work."""
    own = [parse_glob(text) for text in HARNESS_OWN]
    # A merge brings in all of the other side, whatever the plan that resolves it may touch.
    scope = Scope(None) if binding.merges is not None else desk.scope(binding.plan)

    def is_work(name: str) -> bool:
        if any(name == each.rstrip("/") or name.startswith(_folder(each)) for each in binding.made):
            return False
        inside = os.path.relpath(name, desk.inside)
        if any(inside == each or inside.startswith(_folder(each)) for each in binding.copied):
            return False
        if any(glob.matches(inside) for glob in own):
            return False
        return scope.patterns is None or covers(scope, inside)

    return is_work


def _folder(name: str) -> str:
    return f"{name.rstrip('/')}/"


def trailers(plan: str, digest: str | None) -> str:
    """Return what the end of a commit's message says about its plan."""
    lines = [f"Planbound-Plan: {plan}"]
    if digest is not None:
        lines.append(f"Planbound-Digest: {digest}")
    return "\n".join(lines)


def _refuse_changed(desk: CommitDesk, binding: Binding, proof: Proof) -> None:
    if desk.tree_of(binding.workspace) != proof.tree:
        raise Refused(
            f"the files of `{binding.plan}` are not those that were proved: somebody changed"
            f" something in {binding.workspace}",
            hint=f"put it back, or prove it again:"
            f" `planbound approve {shlex.quote(binding.plan)}`, then run it",
        )


def _write(desk: CommitDesk, work: Work, objective: str) -> str:
    binding, proof, tree, parents = work
    plan = binding.plan
    message = f"{objective or plan}\n\n{trailers(plan, proof.digest)}\n"
    repository = desk.repository
    commit = repository.commit(tree, parents, message, desk.rules.author)
    if not repository.move(binding.branch, commit, parents[0], "planbound: proved work"):
        raise Refused(f"the branch `{binding.branch}` moved while its work was committed")
    repository.take_as_it_is(binding.path, commit)
    return commit


def _note(desk: CommitDesk, work: Work, commit: str) -> None:
    details: dict[str, Json] = {
        "commit": commit,
        "branch": work.binding.branch,
        "tree": work.proof.tree,
    }
    if work.proof.digest is not None:
        details["digest"] = work.proof.digest
    if work.binding.merges is not None:
        details["merges"] = work.binding.merges
    plan = work.binding.plan
    desk.recorder.record(EventKind.WORK_COMMITTED, plan, details, key=f"{commit} {work.proof.tree}")
