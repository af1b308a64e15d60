"""Commits what the contracts of a proved plan saw: exactly that, and nothing else."""

from __future__ import annotations

import os.path
import re
import shlex
from collections.abc import Callable
from functools import cached_property
from typing import NamedTuple

from planbound.cells.cell import Cell
from planbound.errors import FileProblem, Refused
from planbound.git.place import git_place, make_repository, mismatch
from planbound.git.repository import Repository
from planbound.journal.event import AttemptEnded, EventKind, WorkCommitted
from planbound.journal.record import Query
from planbound.judging.case import Scope, covers, plan_scope
from planbound.judging.context import JudgingContext, judging_context, strongest_cell
from planbound.plan.glob import parse_glob
from planbound.plan.parse import parse
from planbound.state.place import HARNESS_OWN, Binding, Proof, TeamState
from planbound.state.plan import known_of
from planbound.workspace.configuration import CommitTrailer
from planbound.workspace.context import Context
from planbound.workspace.measured import ScreenedTree
from planbound.workspace.worktrees import WorktreeRules

_RECEIPT = "Planbound-Receipt"
_NAMED = re.compile(rf"(?m)^{_RECEIPT}: sha256:([0-9a-f]{{64}})$")


class Commits:
    """What committing proved work needs of the workspace."""

    def __init__(self, context: Context, cell: Cell | None = None) -> None:
        """`cell` is the strongest one, where it was chosen already."""
        self._context = context
        self._cell = cell
        self.repository: Repository = make_repository(context)
        self.recorder = context.recorder()
        self.rules: WorktreeRules = context.configuration.worktrees
        self.inside = git_place(context).inside
        """The workspace as seen from a worktree's top."""
        self._judged: dict[str, JudgingContext] = {}

    @cached_property
    def cell(self) -> Cell:
        """The strongest cell, tried once for all workspaces."""
        return self._cell or strongest_cell(self._context)

    def trailers(self, plan: str, digest: str | None, receipt: str | None) -> str:
        """Return what the end of a commit's message says about its plan."""
        lines = [f"Planbound-Plan: {plan}"]
        if digest is not None:
            lines.append(f"Planbound-Digest: {digest}")
        if receipt is not None:
            lines.append(f"{_RECEIPT}: sha256:{receipt}")
        if CommitTrailer.ASSISTED_BY in self._context.configuration.receipts.trailers:
            name = CommitTrailer.ASSISTED_BY.value
            lines += [f"{name}: {kind}" for kind in self._kinds(plan)]
        return "\n".join(lines)

    def receipt_of(self, commit: str) -> str | None:
        """Return the receipt that a commit of the harness names."""
        found = _NAMED.search(self.repository.message(commit))
        return found[1] if found is not None else None

    def _kinds(self, plan: str) -> list[str]:
        """Return the kinds of the agents that worked at a plan."""
        agents = self._context.configuration.agents
        ended = self.recorder.journal.read(Query(plan=plan, events=(EventKind.ATTEMPT_ENDED,)))
        events = (record.event for record in ended)
        names = [event.agent for event in events if isinstance(event, AttemptEnded) and event.agent]
        return list(dict.fromkeys(agents[name].kind for name in names if name in agents))

    def tree_of(self, workspace: str) -> str:
        """Return what a workspace holds, as verdicts name it."""
        judging = self._judged.get(workspace)
        if judging is None:
            judging = judging_context(self._context.at(workspace), self.cell)
            self._judged[workspace] = judging
        return ScreenedTree(judging.tree).manifest(judging.rules).digest

    def scope(self, slug: str) -> Scope:
        """Return what a plan may change; everything, where its file is not there any more."""
        file = self._context.tree.planned_path(slug)
        try:
            return plan_scope(parse(self._context.reader.read(file.path), path=file.shown))
        except FileProblem:
            return Scope(None)


def commit_proved(
    commits: Commits, state: TeamState, objective: str, receipt: str | None = None
) -> str:
    """Return the commit that a proved plan's branch leads to, with all that was proved in it.

    `receipt` is the SHA-256 of one that is kept: the commit names it. Raise Refused where the plan
    is not proved, or its worktree holds something else.
    """
    work = proved_work(commits, state)
    tip = work.parents[0]
    if len(work.parents) == 1 and work.tree == commits.repository.tree_of(tip):
        if tip not in {state.commit, work.binding.base}:
            # By somebody else; or by the harness, which was cut off before it could note it.
            _note(commits, work, tip)
        return tip
    commit = _write(commits, work, objective, receipt)
    _note(commits, work, commit)
    return commit


class ProvedWork(NamedTuple):
    """What a proved plan did, ready to be committed."""

    binding: Binding
    proof: Proof
    tree: str
    parents: tuple[str, ...]
    """What its branch leads to, and what it brings in beside its work."""


def proved_work(commits: Commits, state: TeamState) -> ProvedWork:
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
    wrong = mismatch(binding, commits.repository)
    if wrong is not None:
        raise Refused(f"workspace-mismatch: {wrong}")
    tip = commits.repository.commit_of(f"refs/heads/{binding.branch}")
    if tip is None:
        raise Refused(f"the branch `{binding.branch}` of `{state.plan}` leads to no commit")
    _refuse_changed(commits, binding, proof)
    tree = commits.repository.snapshot(binding.path, tip, _is_work(commits, binding))
    # Once more: what changed while it was taken in was seen by no contract.
    _refuse_changed(commits, binding, proof)
    brought = binding.merges
    if brought is None or not commits.repository.missing(brought, [tip], remotes=False):
        return ProvedWork(binding, proof, tree, (tip,))
    return ProvedWork(binding, proof, tree, (tip, brought))


def _is_work(commits: Commits, binding: Binding) -> Callable[[str], bool]:
    """Return what says whether a change, seen from the worktree's top, is the plan's work."""
    own = [parse_glob(text) for text in HARNESS_OWN]
    # A merge brings in all of the other side, whatever the plan that resolves it may touch.
    scope = Scope(None) if binding.merges is not None else commits.scope(binding.plan)

    def is_work(name: str) -> bool:
        if any(name == each.rstrip("/") or name.startswith(_folder(each)) for each in binding.made):
            return False
        inside = os.path.relpath(name, commits.inside)
        if any(inside == each or inside.startswith(_folder(each)) for each in binding.copied):
            return False
        if any(glob.matches(inside) for glob in own):
            return False
        return scope.patterns is None or covers(scope, inside)

    return is_work


def _folder(name: str) -> str:
    return f"{name.rstrip('/')}/"


def _refuse_changed(commits: Commits, binding: Binding, proof: Proof) -> None:
    if commits.tree_of(binding.workspace) != proof.tree:
        raise Refused(
            f"the files of `{binding.plan}` are not those that were proved: somebody changed"
            f" something in {binding.workspace}",
            hint=f"put it back, or prove it again:"
            f" `planbound approve {shlex.quote(binding.plan)}`, then run it",
        )


def _write(commits: Commits, work: ProvedWork, objective: str, receipt: str | None) -> str:
    binding, proof, tree, parents = work
    plan = binding.plan
    message = f"{objective or plan}\n\n{commits.trailers(plan, proof.digest, receipt)}\n"
    repository = commits.repository
    commit = repository.commit(tree, parents, message, commits.rules.author)
    if not repository.move(binding.branch, commit, parents[0], "planbound: proved work"):
        raise Refused(f"the branch `{binding.branch}` moved while its work was committed")
    repository.take_as_it_is(binding.path, commit)
    return commit


def _note(commits: Commits, work: ProvedWork, commit: str) -> None:
    event = WorkCommitted(
        commit=commit,
        branch=work.binding.branch,
        tree=work.proof.tree,
        digest=work.proof.digest,
        merges=work.binding.merges,
    )
    commits.recorder.record(event, work.binding.plan, key=f"{commit} {work.proof.tree}")


def commit_done(commits: Commits, slug: str, objective: str, receipt: str | None) -> str | None:
    """Commit the work of a plan that has just been proved in its own worktree."""
    state = known_of(commits.recorder.journal, slug)
    if state.binding is None or state.proof is None:
        return None
    return commit_proved(commits, state, objective, receipt)
