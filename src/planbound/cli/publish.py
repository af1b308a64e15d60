"""`planbound publish`."""

from __future__ import annotations

import argparse

from planbound.cli.shape import JsonObject, Shapes
from planbound.cli.terminal import Terminal
from planbound.errors import ExitCode, UsageError
from planbound.receipts.collect import which_plan
from planbound.receipts.publication import Change, PublishPart, PublishStep
from planbound.receipts.publish import Publication, PublishOrder, publish
from planbound.source import visible
from planbound.workspace.context import Context

_DONE = {
    (PublishPart.BRANCH, Change.CREATE): "push the branch",
    (PublishPart.BRANCH, Change.UPDATE): "push to the branch",
    (PublishPart.BRANCH, Change.UNKNOWN): "push the branch",
    (PublishPart.RECEIPT, Change.CREATE): "push the receipt",
    (PublishPart.RECEIPT, Change.UNKNOWN): "push the receipt",
    (PublishPart.PULL_REQUEST, Change.CREATE): "open the pull request",
    (PublishPart.PULL_REQUEST, Change.UNKNOWN): "open the pull request, unless there is one",
    (PublishPart.COMMENT, Change.CREATE): "write the comment",
    (PublishPart.COMMENT, Change.UPDATE): "edit the comment",
    (PublishPart.COMMENT, Change.UNKNOWN): "write the comment, or edit the one that is there",
}


class StepPublished(JsonObject, frozen=True):
    """A part of the publication."""

    part: PublishPart
    change: Change
    """What was done with it, or would be."""
    about: str


class PlanPublished(JsonObject, frozen=True):
    """What stands in a pull request now, or would."""

    slug: str
    repository: str
    commit: str
    branch: str
    base: str | None
    """Null where GitHub could not be asked for its main branch."""
    outcome: str
    """`proved`, `holds`, or `settled`: then people took something on."""
    by_word: list[str]
    """What people took on, and no contract shows."""
    done: bool
    """Whether everything stands there; false for a dry run, too, if anything is to be done."""
    obstacle: str | None
    """Why GitHub could not be asked."""
    steps: list[StepPublished]
    pull_request: str | None
    """Its address."""
    comment: str | None
    """Its address."""
    text: str
    """Of the comment."""


def configure_publish(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", metavar="PLAN", help="a plan's name or file")
    parser.add_argument("--github", action="store_true", help="in a pull request, by `gh`")
    parser.add_argument(
        "--remote", metavar="NAME", help="the remote to push to (default: `[receipts] remote`)"
    )
    parser.add_argument(
        "--repository", metavar="OWNER/NAME", help="the repository (default: by the remote)"
    )
    parser.add_argument(
        "--branch", metavar="NAME", help="name of the branch there (default: the plan's)"
    )
    parser.add_argument(
        "--base", metavar="NAME", help="the branch to merge into (default: the main branch)"
    )
    parser.add_argument("--draft", action="store_true", help="open the pull request as a draft")
    parser.add_argument("--dry-run", action="store_true", help="say what would be done")
    parser.add_argument("--json", action="store_true", help="for programs")


def run_publish(arguments: argparse.Namespace, terminal: Terminal) -> ExitCode:
    """Let proved work and its receipt stand in a pull request."""
    if not arguments.github:
        raise UsageError("it is not said where to publish", hint="say it: `--github`")
    given = Context(workspace=arguments.workspace, state=arguments.state)
    context, slug = which_plan(given, arguments.plan)
    order = PublishOrder(
        remote=arguments.remote or context.configuration.receipts.remote,
        repository=arguments.repository,
        branch=arguments.branch,
        base=arguments.base,
        draft=arguments.draft,
        dry_run=arguments.dry_run,
    )

    def tell(step: PublishStep) -> None:
        if not arguments.json:
            terminal.out(f"{_DONE[step.part, step.change]}: {visible(step.about)}")

    found = publish(context, slug, order, tell)
    to_do = [step for step in found.steps if step.change is not Change.NONE]
    looked = arguments.dry_run or found.obstacle is not None
    if arguments.json:
        terminal.json(_published(found, done=not (looked and to_do)))
    else:
        _show(found, to_do if looked else [], terminal)
    for said in found.by_word:
        terminal.note(f"warning: {said}: no contract shows it, and the comment says so")
    if found.obstacle is not None:
        if not arguments.json:
            terminal.problem(
                f"nothing was published: {visible(found.obstacle)}",
                "install it, and `gh auth login`; above stands what would be done",
            )
        return ExitCode.DONE if arguments.dry_run else ExitCode.USAGE
    if not to_do:
        if not arguments.json:
            terminal.note("nothing to do: all of it stands there already")
        return ExitCode.NOTHING_TO_DO
    return ExitCode.DONE


def _show(found: Publication, to_do: list[PublishStep], terminal: Terminal) -> None:
    for step in to_do:
        terminal.out(f"would {_DONE[step.part, step.change]}: {visible(step.about)}")
        if step.part is PublishPart.COMMENT:
            for line in found.wanted.comment.splitlines():
                terminal.out(f"    {line}".rstrip())
    if found.request is not None:
        terminal.out(visible(found.request))


def _published(found: Publication, *, done: bool) -> PlanPublished:
    wanted = found.wanted
    return PlanPublished(
        slug=wanted.slug,
        repository=wanted.repository,
        commit=wanted.commit,
        branch=wanted.branch,
        base=wanted.base,
        outcome=found.outcome,
        by_word=list(found.by_word),
        done=done,
        obstacle=found.obstacle,
        steps=[StepPublished(part=s.part, change=s.change, about=s.about) for s in found.steps],
        pull_request=found.request,
        comment=found.comment,
        text=wanted.comment,
    )


SHAPES: dict[str, Shapes] = {"publish": {"": PlanPublished}}
