"""Publishes a plan: its branch, a pull request, and the one comment with its receipt."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from planbound.cells.isolation import refuse_in_cell
from planbound.disk.decoders import json_decoder
from planbound.errors import ExitCode, Refused, UsageError
from planbound.git.github import GitHub, HostedRepository, hosted_at, hosted_by_name
from planbound.git.place import binding_of, make_repository
from planbound.git.receipts import (
    RECEIPTS,
    keep_receipt,
    kept_receipts,
    read_receipt,
    receipt_ref,
    send_receipts,
)
from planbound.git.remote import push, refs_at
from planbound.git.repository import Repository
from planbound.plan.parse import parse
from planbound.receipts.collect import collect
from planbound.receipts.comment import receipt_comment
from planbound.receipts.envelope import MOST_BYTES, ReceiptError, read_envelopes, read_statement
from planbound.receipts.predicate import PLAN_RUN, PlanRun
from planbound.receipts.publication import (
    Change,
    Published,
    PublishPart,
    PublishStep,
    WantedPublication,
    by_word,
    check_command,
    not_proved,
    own_comment,
    publish_steps,
    request_body,
    request_title,
    same_claims,
)
from planbound.receipts.receipt import make_receipt
from planbound.receipts.replay_tree import ReplayClone
from planbound.state.place import branch_names
from planbound.workspace.context import Context
from planbound.workspace.root import find_git

_BRANCHES = "refs/heads/"


class NotPublished(Refused):
    """The plan is not proved, or the work that is there is not the work that was proved."""

    code = "not-published"
    exit_code = ExitCode.FAILED


class PublishOrder(NamedTuple):
    """What somebody asks for."""

    remote: str
    repository: str | None = None
    """`OWNER/NAME`; None: by the remote's address."""
    branch: str | None = None
    """What the branch is called there; None: as here."""
    base: str | None = None
    """What the pull request goes into; None: the main branch."""
    draft: bool = False
    dry_run: bool = False


class Publication(NamedTuple):
    """What was done, or would be."""

    wanted: WantedPublication
    outcome: str
    by_word: tuple[str, ...]
    """What people took on, and no contract shows."""
    steps: tuple[PublishStep, ...]
    obstacle: str | None
    """Why GitHub could not be asked; None: it was."""
    request: str | None
    """Where the pull request is."""
    comment: str | None


class FoundWork(NamedTuple):
    """The commit with the files that were judged, and the branch that it is on here."""

    commit: str
    branch: str | None


def find_work(context: Context, run: PlanRun) -> FoundWork | None:
    """Return the last commit of a plan's branch; None where it has not just what was judged.

    A plan without a worktree of its own is on the branch that is checked out.
    """
    place = find_git(context.root)
    if place is None or run.tree.git_tree is None:
        return None
    repository = make_repository(context)
    binding = binding_of(context, run.plan.slug)
    if binding is not None:
        branch: str | None = binding.branch
        commit = repository.tip(binding.branch)
    else:
        branch, commit = repository.branch(place.top), repository.checked_out(place.top)
    if commit is None:
        return None
    own = ReplayClone(context, place).named(commit, run.base.folder)
    return FoundWork(commit, branch) if own is not None and own.own == run.tree.git_tree else None


def publish(
    context: Context, slug: str, order: PublishOrder, tell: Callable[[PublishStep], None]
) -> Publication:
    """Let a plan's work and its receipt stand in a pull request; nothing that is not proved.

    `tell` is told of each step that is done, before it is done.
    """
    refuse_in_cell()
    return _Publishing(context, slug, order).publish(tell)


class _Publishing:
    """One plan, on its way to GitHub."""

    def __init__(self, context: Context, slug: str, order: PublishOrder) -> None:
        self.context, self.slug, self.order = context, slug, order
        if find_git(context.root) is None:
            raise Refused(
                f"`{context.root}` is in no git repository, and what is published is a branch",
                hint="`git init`, commit, and prove the plan there",
            )
        self.repository: Repository = make_repository(context)
        self.run = collect(context, slug).run
        missing = not_proved(self.run)
        if missing:
            shown = "; ".join(missing[:5]) + (
                f"; and {len(missing) - 5} more" if missing[5:] else ""
            )
            raise NotPublished(
                f"`{slug}` is not proved, so nothing is published: {shown}",
                hint=f"`planbound status {shlex.quote(slug)}` says where it is",
            )
        self.tree = self.run.tree.git_tree or ""
        self.work = self._work()
        # Agents write to every worktree.
        roots = [context.root, *(each.path for each in self.repository.registered())]
        self.github = GitHub(
            self._hosted(),
            roots=roots,
            environment=os.environ,
            named=self.order.repository is not None,
        )
        text = self.run.plan.text
        plan = parse((text or "").encode(), path=slug)
        self.objective = plan.objective.value if plan.objective is not None else slug

    def publish(self, tell: Callable[[PublishStep], None]) -> Publication:
        obstacle = self.github.obstacle()
        if obstacle is not None:
            wanted = self._wanted(self.order.base, self._known_receipt())
            return self._told(wanted, publish_steps(wanted, None), obstacle, None)
        account = self.github.account()
        base = self.order.base or self.github.default_branch()
        receipt = self._known_receipt()
        if receipt is None and not self.order.dry_run:
            receipt = self._new_receipt()
        wanted = self._wanted(base, receipt)
        if wanted.branch == base:
            raise UsageError(
                f"`{base}` is what the pull request goes into",
                hint="name the branch with the work: `--branch NAME`",
            )
        found = self._published(wanted, account)
        steps = publish_steps(wanted, found)
        if not self.order.dry_run:
            found = self._do(wanted, found, steps, tell)
        return self._told(wanted, steps, None, found)

    # -- what is to stand there ------------------------------------------------------------------

    def _work(self) -> FoundWork:
        if not self.tree:
            why = self.run.tree.no_git_tree
            raise NotPublished(
                f"the files of `{self.slug}` that were judged have no tree of git"
                f"{f': {why}' if why else ''}"
            )
        found = find_work(self.context, self.run)
        if found is None:
            raise NotPublished(
                f"no commit of the branch of `{self.slug}` has the files that were proved"
                f" (tree {self.tree[:12]})",
                hint="commit exactly what was proved, or prove what is there: approve and run it",
            )
        return found

    def _hosted(self) -> HostedRepository:
        if self.order.repository is not None:
            return hosted_by_name(self.order.repository)
        address = self.repository.address_of(self.order.remote)
        if address is None:
            raise UsageError(
                f"there is no remote `{self.order.remote}`",
                hint="`git remote add`, or name another with `--remote`",
            )
        found = hosted_at(address)
        if found is None:
            raise UsageError(
                f"the address of the remote `{self.order.remote}` is none of GitHub's",
                hint="say which repository it is: `--repository OWNER/NAME`",
            )
        return found

    def _wanted(self, base: str | None, receipt: str | None) -> WantedPublication:
        commit, branch = self.work
        if self.order.branch is None and (branch is None or branch == base):
            branch = branch_names(self.slug, ())
        ref = receipt or f"{RECEIPTS}{self.tree}/..."
        return WantedPublication(
            slug=self.slug,
            repository=str(self.github),
            commit=commit,
            branch=self.order.branch or branch or "",
            base=base,
            title=request_title(self.objective),
            comment=receipt_comment(
                self.run, commit=commit, check=check_command(self.slug, ref, commit)
            ),
            receipt=ref,
        )

    def _known_receipt(self) -> str | None:
        """Return the ref of a receipt that is kept and tells the same."""
        for kept in kept_receipts(self.repository, self.tree):
            data = read_receipt(self.repository, kept, MOST_BYTES)
            try:
                said = read_run(data) if data is not None else None
            except UsageError:
                continue  # of another version, or somebody else's file
            if said is not None and same_claims(said, self.run):
                return kept.ref
        return None

    def _new_receipt(self) -> str:
        made = make_receipt(self.context, self.slug)
        if not same_claims(made.run, self.run):
            raise NotPublished(
                f"something happened to `{self.slug}` meanwhile", hint="look at it, and try again"
            )
        ref = keep_receipt(self.repository, self.tree, made.data)
        assert ref == receipt_ref(self.tree, made.data)
        made.note()
        return ref

    # -- what stands there -----------------------------------------------------------------------

    def _published(self, wanted: WantedPublication, account: int) -> Published:
        name = f"{_BRANCHES}{wanted.branch}"
        refs = refs_at(self.repository, self.order.remote, [name, wanted.receipt])
        request = self.github.pull_request(wanted.branch, wanted.base or "")
        comment = None
        if request is not None:
            comment = own_comment(self.github.comments(request.number), self.slug, account)
        return Published(refs.get(name), wanted.receipt in refs, request, comment)

    def _do(
        self,
        wanted: WantedPublication,
        found: Published,
        steps: tuple[PublishStep, ...],
        tell: Callable[[PublishStep], None],
    ) -> Published:
        """Do what is to be done, in this order; what was done before a failure stays."""
        request, comment = found.request, found.comment
        for step in steps:
            if step.change is Change.NONE:
                continue
            tell(step)
            if step.part is PublishPart.BRANCH:
                self._push(wanted)
            elif step.part is PublishPart.RECEIPT:
                problem = send_receipts(self.repository, self.order.remote, [wanted.receipt])
                self._refuse(problem, "the receipt was not sent")
            elif step.part is PublishPart.PULL_REQUEST:
                request = self.github.open_request(
                    {
                        "title": wanted.title,
                        "head": wanted.branch,
                        "base": wanted.base,
                        "body": request_body(self.run, self.objective),
                        "draft": self.order.draft,
                    }
                )
            elif comment is not None:
                comment = self.github.edit_comment(comment.id, wanted.comment)
            elif request is not None:
                comment = self.github.write_comment(request.number, wanted.comment)
        return Published(wanted.commit, receipt=True, request=request, comment=comment)

    def _push(self, wanted: WantedPublication) -> None:
        name = f"{wanted.commit}:{_BRANCHES}{wanted.branch}"
        problem = push(self.repository, self.order.remote, [name])
        if problem is not None and ("non-fast-forward" in problem or "fetch first" in problem):
            raise Refused(
                f"`{wanted.branch}` of {wanted.repository} has commits that are not in"
                f" {wanted.commit[:12]}: nothing was pushed",
                hint="bring both together, and prove the result; nothing is ever forced",
            )
        self._refuse(problem, f"`{wanted.branch}` was not pushed")

    def _refuse(self, problem: str | None, what: str) -> None:
        if problem is not None:
            raise Refused(f"{what}: {self.context.redactor.redact(problem).text}")

    def _told(
        self,
        wanted: WantedPublication,
        steps: tuple[PublishStep, ...],
        obstacle: str | None,
        found: Published | None,
    ) -> Publication:
        return Publication(
            wanted=wanted,
            outcome=self.run.outcome,
            by_word=tuple(by_word(self.run)),
            steps=steps,
            obstacle=obstacle,
            request=found.request.url if found and found.request else None,
            comment=found.comment.url if found and found.comment else None,
        )


# -- a receipt that is a file ----------------------------------------------------------------------


def read_run(data: bytes) -> PlanRun:
    """Return what a receipt claims; nothing of it is checked."""
    try:
        envelopes = read_envelopes(data)
        statement = read_statement(envelopes[0], 1)
    except ReceiptError as error:
        raise UsageError(f"it is no receipt: {error}") from error
    if statement.get("predicateType") != PLAN_RUN:
        raise UsageError("it is no receipt: its first line is about something else")
    try:
        return json_decoder(PlanRun).decode(msgspec.json.encode(statement.get("predicate")))
    except msgspec.ValidationError as error:
        raise UsageError(f"it is no receipt that this version knows: {error}") from error
